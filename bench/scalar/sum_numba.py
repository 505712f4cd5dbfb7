from numba import njit


@njit
def work(n):
    s = 0.0
    for i in range(n):
        s += i * 0.5
    return s


print(work(10000000))
