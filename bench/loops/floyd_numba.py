import numpy as np
from numba import njit


@njit
def work(n):
    D = np.zeros((n, n), dtype=np.int64)
    r = 1
    for i in range(n):
        for j in range(n):
            r = r * 16807 % 2147483647
            D[i, j] = r % 1000 + 1
        D[i, i] = 0
    for k in range(n):
        for i in range(n):
            for j in range(n):
                way = D[i, k] + D[k, j]
                if way < D[i, j]:
                    D[i, j] = way
    total = 0
    for i in range(n):
        for j in range(n):
            total += D[i, j]
    return total


print(work(300))
