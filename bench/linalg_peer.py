"""The NumPy and SciPy side of bench/linalg.c: reads `routine n batch seconds` from standard
input and answers with the time of one call in seconds, from as many calls as fit."""
import sys
import time

import numpy as np

try:
    import scipy.linalg
    split_lu, split_ldl = scipy.linalg.lu, scipy.linalg.ldl
except ImportError:
    split_lu = split_ldl = None

RUN = {
    "matmul": lambda o: o["A"] @ o["B"],
    "solve": lambda o: np.linalg.solve(o["A"], o["b"]),
    "inv": lambda o: np.linalg.inv(o["A"]),
    "det": lambda o: np.linalg.det(o["A"]),
    "lu": (lambda o: split_lu(o["A"])) if split_lu else None,
    "ldl": (lambda o: split_ldl(o["S"])) if split_ldl else None,
    "chol": lambda o: np.linalg.cholesky(o["S"]),
    "qr": lambda o: np.linalg.qr(o["A"]),
    "svd": lambda o: np.linalg.svd(o["A"], full_matrices=False),
    "eigh": lambda o: np.linalg.eigh(o["S"]),
    "eig": lambda o: np.linalg.eig(o["A"]),
}


def operands(n, batch):
    rng = np.random.default_rng(1)
    lead = (batch,) if batch else ()
    A = rng.uniform(-1, 1, lead + (n, n))
    S = A + np.swapaxes(A, -1, -2) + 2 * n * np.eye(n)
    return {"A": A, "B": rng.uniform(-1, 1, lead + (n, n)), "S": S,
            "b": rng.uniform(-1, 1, lead + ((n, 1) if batch else (n,)))}


def measure(run, o, seconds):
    calls, start = 0, time.perf_counter()
    while True:
        run(o)
        calls += 1
        spent = time.perf_counter() - start
        if spent >= seconds:
            return spent / calls


cache = {}
for line in sys.stdin:
    name, n, batch, seconds = line.split()
    if name == "version":
        print("NumPy", np.__version__, "and SciPy " + scipy.__version__ if split_lu else "",
              flush=True)
        continue
    key = (int(n), int(batch))
    if key not in cache:
        cache = {key: operands(*key)}
    run = RUN[name]
    print(measure(run, cache[key], float(seconds)) if run else "nan", flush=True)
