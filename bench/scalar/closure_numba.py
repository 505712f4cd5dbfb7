from numba import njit


@njit
def work(n):
    by = 3

    def add(x):
        return x + by

    total = 0
    for _ in range(n):
        total = add(total)
    return total


print(work(1000000))
