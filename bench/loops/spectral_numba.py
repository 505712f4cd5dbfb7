from math import floor, sqrt

import numpy as np
from numba import njit


@njit
def entry(i, j):
    return 1.0 / ((i + j) * (i + j + 1) / 2 + i + 1)


@njit
def times(v, n):
    out = np.zeros(n)
    for i in range(n):
        s = 0.0
        for j in range(n):
            s += entry(i, j) * v[j]
        out[i] = s
    return out


@njit
def times_transposed(v, n):
    out = np.zeros(n)
    for i in range(n):
        s = 0.0
        for j in range(n):
            s += entry(j, i) * v[j]
        out[i] = s
    return out


@njit
def work(n):
    u = np.ones(n)
    v = u
    for _ in range(10):
        v = times_transposed(times(u, n), n)
        u = times_transposed(times(v, n), n)
    uv = 0.0
    vv = 0.0
    for i in range(n):
        uv += u[i] * v[i]
        vv += v[i] * v[i]
    return int(floor(sqrt(uv / vv) * 1e12))


print(work(600))
