import numpy as np
from numba import njit


@njit
def work(n):
    A = np.zeros((n, n))
    b = np.zeros(n)
    r = 1
    for i in range(n):
        for j in range(n):
            r = r * 16807 % 2147483647
            A[i, j] = r / 2147483647 - 0.5
        b[i] = i % 7 - 3.0
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[p, k]):
                p = i
        if p != k:
            for j in range(k, n):
                A[k, j], A[p, j] = A[p, j], A[k, j]
            b[k], b[p] = b[p], b[k]
        for i in range(k + 1, n):
            m = A[i, k] / A[k, k]
            for j in range(k, n):
                A[i, j] -= m * A[k, j]
            b[i] -= m * b[k]
    total = 0.0
    for i in range(n - 1, -1, -1):
        s = b[i]
        for j in range(i + 1, n):
            s -= A[i, j] * b[j]
        b[i] = s / A[i, i]
        total += abs(b[i])
    return int(np.floor(total * 1e6))


print(work(450))
