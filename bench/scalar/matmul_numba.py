import numpy as np
from numba import njit


@njit
def product(A, B, n):
    C = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            s = 0.0
            for k in range(n):
                s += A[i, k] * B[k, j]
            C[i, j] = s
    return C


@njit
def work(n):
    A = np.zeros((n, n))
    B = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            A[i, j] = i + 2 * j
            B[i, j] = i - j
    C = product(A, B, n)
    return C[3, 5], C[n - 1, n - 1]


print(*work(120))
