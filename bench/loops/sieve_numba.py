import numpy as np
from numba import njit


@njit
def work(n):
    composite = np.zeros(n, dtype=np.bool_)
    i = 2
    while i * i < n:
        if not composite[i]:
            for j in range(i * i, n, i):
                composite[j] = True
        i += 1
    count = 0
    for k in range(2, n):
        if not composite[k]:
            count += 1
    return count


print(work(10000000))
