"""SciPy's side of sparse_products.ric: the same names, seconds, the least of rounds. Columns of its products are unsorted."""
import time

import numpy as np
import scipy.sparse as sp

rng = np.random.default_rng(1)
k = 1000
n = k * k


def row(name, f, rounds):
    times = []
    f()
    for _ in range(rounds):
        start = time.perf_counter()
        f()
        times.append(time.perf_counter() - start)
    print(name, min(times), flush=True)


line = sp.diags([-1.0, 4, -1], [-1, 0, 1], shape=(k, k))
beside = sp.diags([-1.0, -1], [-1, 1], shape=(k, k))
P = (sp.kron(sp.eye(k), line) + sp.kron(beside, sp.eye(k))).tocsr()
i = np.arange(n)
R = sp.csr_matrix((rng.standard_normal(5 * n), (np.repeat(i, 5), rng.integers(0, n, 5 * n))), shape=(n, n))
D = sp.csr_matrix((rng.standard_normal(2 * n - 1), (np.concatenate((0 * i, i[1:])), np.concatenate((i, i[1:])))), shape=(n, n))
x, X = rng.standard_normal(n), rng.standard_normal((n, 8))
for name, A in (("poisson", P), ("random", R), ("full_row", D)):
    A.sum_duplicates()
    B, y = A.astype(np.float32), x.astype(np.float32)
    T = A.T.tocsr()
    row(name + "_vector", lambda: A @ x, 60)
    row(name + "_f32", lambda: B @ y, 60)
    row(name + "_matrix8", lambda: A @ X, 15)
    row(name + "_left", lambda: A.T @ x, 30)
    row(name + "_transposed", lambda: A.T.tocsr(), 6)
    row(name + "_add", lambda: A + T, 6)
    row(name + "_times", lambda: A.multiply(T), 6)
row("poisson_square", lambda: P @ P, 6)
row("random_square", lambda: R @ R, 6)
