"""The cases of tensor.ric in NumPy: prints `name seconds` per case, the median of repeated runs."""
import sys

import numpy as np

sys.path.insert(1, "bench")
from timing import median_of

try:
    from scipy.linalg import lu_factor, lu_solve
except ImportError:
    lu_factor = None


def report(name, f, repeats=7):
    print(name, median_of(f, repeats), flush=True)


rng = np.random.default_rng(1)
m, v = rng.random((4096, 4096)), rng.random(4096)
report("add_row_4096", lambda: m + v)
a, b, c = rng.random(10**7), rng.random(10**7), rng.random(10**7)
report("add_1e7", lambda: a + b)
report("chain_1e7", lambda: np.sqrt(a * a + b * b) * np.exp(-c))
report("exp_1e7", lambda: np.exp(a))
report("log_1e7", lambda: np.log(a))
report("sin_1e7", lambda: np.sin(a))
report("tanh_1e7", lambda: np.tanh(a))
report("sum_1e7", lambda: np.sum(a))
report("sum_axis0_4096", lambda: m.sum(axis=0))
report("sum_axis1_4096", lambda: m.sum(axis=1))
report("max_1e7", lambda: a.max())
report("sort_1e6", lambda: np.sort(a[:10**6]))
report("rand_1e7", lambda: rng.random(10**7))
report("transpose_copy_4096", lambda: m.T + 0.0)
for n in (512, 2048):
    x64, y64 = rng.random((n, n)), rng.random((n, n))
    x32, y32 = x64.astype(np.float32), y64.astype(np.float32)
    report(f"matmul_f64_{n}", lambda: x64 @ y64)
    report(f"matmul_f32_{n}", lambda: x32 @ y32)
A, rhs = rng.random((1000, 1000)), rng.random(1000)
report("solve_1000", lambda: np.linalg.solve(A, rhs))
S = rng.random((500, 500))
short = rng.random(500)


def solves():
    for _ in range(100):
        np.linalg.solve(S, short)


def kept_solves():
    F = lu_factor(S)
    for _ in range(100):
        lu_solve(F, short)


report("solve_500_x100", solves, repeats=5)
if lu_factor:
    report("kept_500_x100", kept_solves, repeats=5)
report("svd_500", lambda: np.linalg.svd(S, full_matrices=False), repeats=5)
report("qr_500", lambda: np.linalg.qr(S), repeats=5)
report("eigh_500", lambda: np.linalg.eigh(S + S.T), repeats=5)
p, q = rng.random(3), rng.random(3)


def adds(count):
    for _ in range(count):
        p + q


report("add3_1e5", lambda: adds(10**5))
P, Q = rng.random((3, 3)), rng.random((3, 3))


def products(count):
    for _ in range(count):
        P @ Q


report("matmul3x3_1e5", lambda: products(10**5))
