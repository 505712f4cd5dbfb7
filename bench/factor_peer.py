"""Beside factor.ric: the same names, by PyTorch's LAPACK (MKL) or by SciPy's (OpenBLAS), which makes no more than the
routines' own results. Seconds, the least of rounds.
    OMP_NUM_THREADS=2 python3 bench/factor_peer.py torch|openblas ORDER..."""
import sys

import numpy as np

from timing import least_of


def by_torch(a, s, b):
    import os
    import torch
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    a, s, b = torch.from_numpy(a), torch.from_numpy(s), torch.from_numpy(b)
    l = torch.linalg
    return [("solve", lambda: l.solve(a, b)), ("det", lambda: l.slogdet(a)), ("lu", lambda: l.lu(a)),
            ("chol", lambda: l.cholesky(s)), ("inv", lambda: l.inv(a)), ("qr", lambda: l.qr(a))]


def by_openblas(a, s, b):
    from scipy.linalg import get_lapack_funcs
    getrf, getri, gesv, potrf, geqrf, orgqr = get_lapack_funcs(
        ("getrf", "getri", "gesv", "potrf", "geqrf", "orgqr"), (a,))
    a, s, b = np.asfortranarray(a), np.asfortranarray(s), b[:, None]

    def inverse():
        lu, pivots, _ = getrf(a)
        return getri(lu, pivots, lwork=64 * len(a), overwrite_lu=1)

    def qr():
        packed, tau, _, _ = geqrf(a, lwork=64 * len(a))
        return orgqr(packed.copy(order="F"), tau, lwork=64 * len(a), overwrite_a=1)
    return [("solve", lambda: gesv(a, b)), ("det", lambda: getrf(a)), ("lu", lambda: getrf(a)),
            ("chol", lambda: potrf(s, lower=1, clean=1)), ("inv", inverse), ("qr", qr)]


def main():
    random = np.random.default_rng(1)
    calls = {"torch": by_torch, "openblas": by_openblas}[sys.argv[1]]
    for n in map(int, sys.argv[2:]):
        a = random.standard_normal((n, n))
        s, b = a @ a.T + n * np.eye(n), random.standard_normal(n)
        for dtype in ("f64", "f32"):
            given = [x.astype(dtype.replace("f", "float")) for x in (a, s, b)]
            for name, f in calls(*given):
                print(f"{name}_{n}_{dtype} {least_of(f, max(3, min(20, 6000 // n))):.9f}", flush=True)


main()
