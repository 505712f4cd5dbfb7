"""Beside spectral.ric: the same names, by PyTorch's LAPACK (MKL) or by SciPy's (OpenBLAS), called by its drivers. Seconds,
the least of rounds.
    OMP_NUM_THREADS=2 python3 bench/spectral_peer.py torch|openblas ORDER|NAME..."""
import sys

import numpy as np

from timing import least_of

NAMES = ("eigh", "eigvalsh", "eig", "eigvals", "svd", "svdvals")


def by_torch(a):
    import os
    import torch
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    a = torch.from_numpy(a)
    s, l = a + a.T, torch.linalg
    return {"eigh": lambda: l.eigh(s), "eigvalsh": lambda: l.eigvalsh(s), "eig": lambda: l.eig(a),
            "eigvals": lambda: l.eigvals(a), "svd": lambda: l.svd(a, full_matrices=False),
            "svdvals": lambda: l.svdvals(a)}


def by_openblas(a):
    from scipy.linalg import get_lapack_funcs
    syevd, geev, gesdd = get_lapack_funcs(("syevd", "geev", "gesdd"), (a,))
    a = np.asfortranarray(a)
    s, n = np.asfortranarray(a + a.T), len(a)
    much = 4 * n * n + 100 * n
    return {"eigh": lambda: syevd(s, lwork=much), "eigvalsh": lambda: syevd(s, compute_v=0, lwork=much),
            "eig": lambda: geev(a, compute_vl=0, lwork=70 * n),
            "eigvals": lambda: geev(a, compute_vl=0, compute_vr=0, lwork=70 * n),
            "svd": lambda: gesdd(a, full_matrices=0, lwork=much),
            "svdvals": lambda: gesdd(a, compute_uv=0, lwork=much)}


def main():
    random = np.random.default_rng(1)
    calls = {"torch": by_torch, "openblas": by_openblas}[sys.argv[1]]
    asked = [x for x in sys.argv[2:] if x in NAMES] or NAMES
    for n in (int(x) for x in sys.argv[2:] if x not in NAMES):
        a = random.random((n, n))
        for dtype in ("f64", "f32"):
            given = calls(a.astype(dtype.replace("f", "float")))
            for name in asked:
                print(f"{name}_{n}_{dtype} {least_of(given[name], max(3, min(20, 3000 // n))):.9f}", flush=True)


main()
