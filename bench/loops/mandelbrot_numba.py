from numba import njit


@njit
def steps(x0, y0, most):
    x = 0.0
    y = 0.0
    k = 0
    while k < most and x * x + y * y <= 4.0:
        t = x * x - y * y + x0
        y = 2.0 * x * y + y0
        x = t
        k += 1
    return k


@njit
def work(most):
    n = 400
    total = 0
    for i in range(n):
        for j in range(n):
            total += steps(j / n * 3.0 - 2.0, i / n * 2.0 - 1.0, most)
    return total


print(work(400))
