"""bench/methods_ivp.ric by SciPy's solve_ivp: the same problems, tolerances and figures. f works on NumPy's numbers, one by one,
as Python programs write it, and on vectors where that is shorter."""
import statistics
import time
import warnings

import numpy as np
from scipy.integrate import solve_ivp

warnings.simplefilter("ignore")


def line(t, y):
    d = -2 * y
    d[1:] += y[:-1]
    d[:-1] += y[1:]
    return d


def orbit(t, y):
    r = (y[0] ** 2 + y[1] ** 2) ** 1.5
    return [y[2], y[3], -y[0] / r, -y[1] / r]


def hires(t, y):
    u = 280 * y[5] * y[7]
    return [-1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007, 1.71 * y[0] - 8.75 * y[1],
            -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4], 8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3],
            -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6], -u + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6],
            u - 1.81 * y[6], -u + 1.81 * y[6]]


def robertson(t, y):
    a, b = -0.04 * y[0] + 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
    return [a, -a - b, b]


def oregonator(t, y):
    return [77.27 * (y[1] + y[0] * (1 - 8.375e-6 * y[0] - y[1])), (y[2] - (1 + y[0]) * y[1]) / 77.27, 0.161 * (y[0] - y[2])]


def e5(t, y):
    a, b, c = 7.89e-10 * y[0], 1.1e7 * y[0] * y[2], 1.13e9 * y[1] * y[2]
    d = b - 1.13e3 * y[3]
    return [-a - b, a - c, a - c - d, d]


PLAIN = [
    ("B1", lambda t, y: [2 * (y[0] - y[0] * y[1]), -(y[1] - y[0] * y[1])], [1.0, 3],
     [0.67618760085766066, 0.18608160996400298]),
    ("B5", lambda t, y: [y[1] * y[2], -y[0] * y[2], -0.51 * y[0] * y[1]], [0.0, 1, 1],
     [-0.9396570798729204, -0.34211777540007491, 0.7414126596199953]),
    ("C3", line, [1.0] + [0] * 9,
     [0.0029481192110226994, 0.0056353801548452959, 0.0078290725159270383, 0.0093482579085955971, 0.010079436103019805,
      0.009982674171429489, 0.0090886933327653319, 0.007489115195185085, 0.0053229641309526756, 0.0027624343790295144]),
    ("D3", orbit, [0.5, 0, 0, 3 ** 0.5], [-0.57804329530353612, 0.86338400091941928, -0.95950837303807274, -0.065049151267120902]),
    ("E2", lambda t, y: [y[1], (1 - y[0] ** 2) * y[1] - y[0]], [2.0, 0], [2.0081497621749486, -0.042508875273202147]),
]
STIFF = [
    ("van_der_Pol", lambda t, y: [y[1], 1000 * (1 - y[0] ** 2) * y[1] - y[0]], [2.0, 0], 2000, 1e-6,
     [1.706167732170483, -8.928097010247975e-4]),
    ("Robertson", robertson, [1.0, 0, 0], 1e11, 1e-8, [2.083340149701255e-8, 8.333360770334713e-14, 0.9999999791665050]),
    ("HIRES", hires, [1.0, 0, 0, 0, 0, 0, 0, 0.0057], 321.8122, 1e-4,
     [7.371312573325668e-4, 1.442485726316185e-4, 5.888729740967575e-5, 1.175651343283149e-3, 2.386356198831331e-3,
      6.238968252742796e-3, 2.849998395185769e-3, 2.850001604814231e-3]),
    ("Oregonator", oregonator, [1.0, 2, 3], 360, 1e-6, [1.000814870318523, 1228.178521549917, 132.0554942846706]),
    ("E5", e5, [1.76e-3, 0, 0, 0], 1e13, 1e-21, [1.152903278711829e-291, 8.867655517642120e-23, 8.854814626268838e-23, 0]),
]
NAMES = {"rk45": "RK45", "dop853": "DOP853", "radau": "Radau", "bdf": "BDF"}


def measure(name, f, y0, y1, end, method, tol, atol):
    times = []
    for _ in range(5):
        start = time.perf_counter()
        r = solve_ivp(f, (0, end), y0, method=NAMES[method], rtol=tol, atol=atol)
        times.append(time.perf_counter() - start)
    e = np.max(np.abs(r.y[:, -1] - y1) / np.maximum(np.abs(y1), atol))
    print(f"{name}/{method}/{tol:.0e} {statistics.median(times)} {e:.2e} {len(r.t) - 1} {r.nfev}", flush=True)


for name, f, y0, y1 in PLAIN:
    for method in ("rk45", "dop853"):
        for tol in (1e-5, 1e-8):
            measure(name, f, y0, y1, 20, method, tol, tol)
for name, f, y0, end, atol, y1 in STIFF:
    for method in ("radau", "bdf"):
        for tol in (1e-4, 1e-6, 1e-8):
            measure(name, f, y0, y1, end, method, tol, 1e-24 if name == "E5" else tol * atol)
