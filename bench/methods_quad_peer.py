"""The twin of methods_quad.ric: SciPy's quad (QUADPACK in C or Fortran) with functions in Python."""
import math
import sys

import numpy as np
from scipy.integrate import quad, quad_vec, simpson

sys.path.insert(1, "bench")
from timing import median_of


def timed(name, times, f):
    def several():
        for _ in range(times):
            f()
    print(f"{name} {median_of(several, 21) / times:.9f}", flush=True)


exp, cos, log, sqrt = math.exp, math.cos, math.log, math.sqrt
timed("smooth", 200, lambda: quad(lambda x: exp(-x**2), 0, 1))
timed("infinite", 100, lambda: quad(lambda x: exp(-x**2), -math.inf, math.inf))
timed("peak", 50, lambda: quad(lambda x: 1 / (0.01 + (x - 0.4)**2), 0, 1))
timed("oscillating", 50, lambda: quad(lambda x: cos(50 * x), 0, 3))
timed("singular", 50, lambda: quad(lambda x: log(x) / sqrt(x), 0, 1))
timed("kink", 50, lambda: quad(lambda x: abs(x - 0.3), 0, 1))
timed("vector", 100, lambda: quad_vec(lambda x: np.array([math.sin(x), cos(x), exp(x)]), 0, 3))
timed("nested", 5, lambda: quad(lambda x: quad(lambda y: exp(x * y), 0, 1)[0], 0, 1))
timed("gauss-20", 5, lambda: np.polynomial.legendre.leggauss(20))
y = np.random.default_rng(1).random(10001)
timed("simpson-10001", 20, lambda: simpson(y, dx=0.1))
