import numpy as np
from numba import njit


@njit
def work(sweeps):
    n = 500
    u = np.zeros((n, n))
    v = np.zeros((n, n))
    for i in range(n):
        u[0, i] = 1.0
        v[0, i] = 1.0
        u[i, 0] = i * 0.25
        v[i, 0] = i * 0.25
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        u, v = v, u
    total = 0.0
    for i in range(n):
        for j in range(n):
            total += u[i, j]
    return int(np.floor(total * 1e6))


print(work(60))
