from numba import njit


@njit
def inside(n, steps):
    count = 0
    for py in range(n):
        y0 = py / n * 2.0 - 1.0
        for px in range(n):
            x0 = px / n * 3.0 - 2.0
            x, y, k = 0.0, 0.0, 0
            while k < steps and x * x + y * y <= 4.0:
                t = x * x - y * y + x0
                y = 2.0 * x * y + y0
                x = t
                k = k + 1
            if k == steps:
                count += 1
    return count


@njit
def work(n):
    return inside(n, 100)


print(work(200))
