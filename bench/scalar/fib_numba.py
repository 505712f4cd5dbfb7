from numba import njit


@njit
def work(n):
    if n < 2:
        return n
    return work(n - 1) + work(n - 2)


print(work(27))
