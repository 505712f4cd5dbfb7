"""The cases of methods_interp.ric in SciPy: prints `name seconds` per case, the median of repeated runs."""
import statistics
import time

import numpy as np
from scipy.interpolate import (BarycentricInterpolator, BSpline, CubicSpline, PchipInterpolator,
                               RegularGridInterpolator)


def report(name, f, times=1):
    f()
    clocks = []
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(times):
            f()
        clocks.append((time.perf_counter() - start) / times)
    print(name, statistics.median(clocks), flush=True)


for n, times in ((10, 1000), (1000, 300), (100_000, 3)):
    x = np.cumsum(1 + 0.5 * np.sin(np.arange(n)))
    y = np.sin(x)
    y[-1] = y[0]
    t = x[0] + (x[-1] - x[0]) * (0.5 + 0.5 * np.sin(1e6 * np.arange(n)))
    s = CubicSpline(x, y)
    report(f"spline_{n}", lambda: CubicSpline(x, y), times)
    report(f"periodic_{n}", lambda: CubicSpline(x, y, bc_type="periodic"), times)
    report(f"pchip_{n}", lambda: PchipInterpolator(x, y), times)
    report(f"values_{n}", lambda: s(t), times)
    report(f"sorted_values_{n}", lambda: s(x), times)
    report(f"one_value_{n}", lambda: s(3.3), 1000)
    report(f"slopes_{n}", lambda: s.derivative(1)(t), times)
    report(f"integral_{n}", lambda: s.integrate(x[0], x[-1]), times)
for n, times in ((10, 300), (100, 100), (500, 10)):
    x = np.cos(np.pi * (np.arange(n) + 0.5) / n)
    y = np.sin(x)
    t = np.sin(1e6 * np.arange(1000))
    s = BarycentricInterpolator(x, y)
    report(f"lagrange_{n}", lambda: BarycentricInterpolator(x, y), times)
    report(f"lagrange_values_{n}", lambda: s(t), times)
x = np.cumsum(1 + 0.5 * np.sin(np.arange(1000)))
u = np.sin(1e6 * np.arange(100_000))
b = BSpline(x, np.sin(x[:-4]), 3)
t = x[3] + (x[-4] - x[3]) * (0.5 + 0.5 * u)
report("bspline_values", lambda: b(t))
Z = np.sin(x[:500, None] + x[:400])
g = RegularGridInterpolator((x[:500], x[:400]), Z)
p = x[0] + (x[499] - x[0]) * (0.5 + 0.5 * u)
q = x[0] + (x[399] - x[0]) * (0.5 + 0.5 * np.cos(u * 1e4))
report("interp2_values", lambda: g((p, q)))
