from math import floor, sqrt

import numpy as np
from numba import njit


@njit
def energy(x, y, z, vx, vy, vz, m):
    e = 0.0
    for i in range(5):
        e += 0.5 * m[i] * (vx[i] * vx[i] + vy[i] * vy[i] + vz[i] * vz[i])
        for j in range(i + 1, 5):
            dx, dy, dz = x[i] - x[j], y[i] - y[j], z[i] - z[j]
            e -= m[i] * m[j] / sqrt(dx * dx + dy * dy + dz * dz)
    return e


@njit
def work(steps):
    x = np.array([0.0, 4.84143144246472090, 8.34336671824457987, 12.8943695621391310, 15.3796971148509165])
    y = np.array([0.0, -1.16032004402742839, 4.12479856412430479, -15.1111514016986312, -25.9193146099879641])
    z = np.array([0.0, -0.103622044471123109, -0.403523417114321381, -0.223307578892655734, 0.179258772950371181])
    vx = np.array([0.0, 0.606326392995832, -1.01077434617879236, 1.08279100644153536, 0.979090732243897976])
    vy = np.array([0.0, 2.81198684491626016, 1.82566237123041186, 0.868713018169608219, 0.594698998647676169])
    vz = np.array([0.0, -0.0252183616598876288, 0.00841576137658415351, -0.0108326374013636358, -0.0347559555078104037])
    m = np.array([39.4784176043574320, 0.0376936749096657755, 0.0112863261319687668, 0.00172372405705971067, 0.00203368686992463041])
    dt = 0.01
    for _ in range(steps):
        for i in range(5):
            for j in range(i + 1, 5):
                dx, dy, dz = x[i] - x[j], y[i] - y[j], z[i] - z[j]
                d2 = dx * dx + dy * dy + dz * dz
                mag = dt / (d2 * sqrt(d2))
                vx[i] -= dx * m[j] * mag
                vy[i] -= dy * m[j] * mag
                vz[i] -= dz * m[j] * mag
                vx[j] += dx * m[i] * mag
                vy[j] += dy * m[i] * mag
                vz[j] += dz * m[i] * mag
        for i in range(5):
            x[i] += dt * vx[i]
            y[i] += dt * vy[i]
            z[i] += dt * vz[i]
    return int(floor(energy(x, y, z, vx, vy, vz, m) * 1e9))


print(work(200000))
