"""The cases of sparse_notation.ric in SciPy and NumPy: prints `name seconds` per case, the least of repeated runs."""
import time

import numpy as np
import scipy.sparse as sp


def report(name, f):
    f()
    clocks = []
    for _ in range(9):
        start = time.perf_counter()
        f()
        clocks.append(time.perf_counter() - start)
    print(name, min(clocks), flush=True)


for label, n, each in (("poisson", 300, 0), ("random", 200_000, 8)):
    if label == "poisson":
        D = sp.diags([-1, 2, -1], [-1, 0, 1], shape=(n, n))
        S = sp.csr_matrix(sp.kron(D, sp.eye(n)) + sp.kron(sp.eye(n), D))
    else:
        k = np.arange(n * each)
        S = sp.coo_matrix((1.0 + k % 7, (k // each, (k * 7919 + k * k) % n)), shape=(n, n)).tocsr()
    m = S.shape[0]
    u = np.ones(m)
    A = np.sin(np.arange(32.0 * m)).reshape(m, 32)
    B = np.cos(np.arange(32.0 * m)).reshape(m, 32)
    row, column = np.repeat(np.arange(m), np.diff(S.indptr)), S.indices

    def like(values):
        return sp.csr_matrix((values, S.indices, S.indptr), shape=S.shape)

    report(f"{label}_operator", lambda: S @ u)
    report(f"{label}_spmv", lambda: S @ u)
    report(f"{label}_spmv_turned", lambda: S.T @ u)
    report(f"{label}_spmm", lambda: S @ B)
    report(f"{label}_sddmm", lambda: like(S.data * np.einsum("ek,ek->e", A[row], B[column])))
    report(f"{label}_mttkrp", lambda: (S @ B) * A)
    report(f"{label}_form", lambda: u @ (S @ u))
    report(f"{label}_scaled", lambda: like(S.data * (u[column] - 2 * u[row])))
