"""The cases of expressions.ric in NumPy or torch: expressions_peer.py numpy|torch. Prints
`name way seconds`, the median of repeated calls after a first one."""
import sys

import numpy as np

sys.path.insert(1, "bench")
from timing import median_of


def report(name, way, f, repeats=5):
    print(name, way, median_of(f, repeats, most=3), flush=True)


rng = np.random.default_rng(1)
X, Y = rng.random((2000, 3)), rng.random((2000, 3))
image, taps = rng.random((1024, 1024)), rng.random((7, 7))
W = rng.random((400, 400))
a, b, c = rng.random(10**7), rng.random(10**7), rng.random(10**7)
small, token = rng.random(10**6), rng.integers(0, 10**6, 10**7)
table, word = rng.random((50000, 64)), rng.integers(0, 50000, 10**5)
M = rng.random((4096, 4096))
P, Q = rng.integers(0, 4096, 4096), rng.integers(0, 4096, 4096)
cube = rng.random((256, 256, 256))
A2, B2 = rng.random((2, 2)), rng.random((2, 2))
A, B, C, D = rng.random((10, 2000)), rng.random((2000, 30)), rng.random((30, 1500)), rng.random((1500, 20))
q, r = rng.random((100, 100, 100)), rng.random((100, 100, 100))
t, T = rng.random((128, 32, 64)), rng.random((128, 32, 64))
v, w, K, L = rng.random(200), rng.random(200), rng.random((200, 100, 100)), rng.random((200, 100, 100))
EINSUMS = [("chain_of_4", "ij,jk,kl,lm->im", (A, B, C, D)), ("qij,qjk->qik",) * 2 + ((q, r),),
           ("thd,Thd->thT",) * 2 + ((t, T),), ("i,i,ijk,ilk->ijl",) * 2 + ((v, w, K, L),)]


def with_numpy():
    report("distances_2000", "numpy", lambda: np.sqrt(((X[:, None] - Y[None]) ** 2).sum(-1)), 3)
    windows = np.lib.stride_tricks.sliding_window_view(image, (7, 7))
    report("convolution_7x7", "numpy", lambda: np.tensordot(windows, taps, axes=((2, 3), (0, 1))), 3)
    report("min_plus_400", "numpy", lambda: np.min(W[:, :, None] + W[None], axis=1), 3)
    report("gather_1e7", "numpy", lambda: small[token])
    report("gather_rows", "numpy", lambda: table[word])
    report("gather_2d_4096", "numpy", lambda: M[np.ix_(P, Q)])

    def softmax():
        e = np.exp(M - M.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)
    report("softmax_4096", "numpy", softmax, 3)
    report("chain_1e7", "numpy", lambda: np.sqrt(a * a + b * b) * np.exp(-c), 3)
    report("copy_4096", "numpy", lambda: M.copy())
    report("transpose_4096", "numpy", lambda: np.ascontiguousarray(M.T), 3)
    report("permute_cba_256", "numpy", lambda: np.ascontiguousarray(cube.transpose(2, 1, 0)), 3)
    report("permute_acb_256", "numpy", lambda: np.ascontiguousarray(cube.transpose(0, 2, 1)), 3)
    report("permute_bac_256", "numpy", lambda: np.ascontiguousarray(cube.transpose(1, 0, 2)), 3)

    def products():
        for _ in range(10**4):
            np.einsum("ij,jk->ik", A2, B2)
    start = time.perf_counter()
    products()
    print("product_2x2_warm", "numpy", (time.perf_counter() - start) / 10**4, flush=True)
    for name, text, operands in EINSUMS:
        if name != "chain_of_4":            # 1.8e12 operations in one nest
            report(name, "numpy", lambda: np.einsum(text, *operands), 3)
        report(name, "optimize", lambda: np.einsum(text, *operands, optimize=True))


def with_torch():
    import os
    import torch
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))

    def tensor(x):
        return torch.from_numpy(x)
    tX, tY, tW, tM, tcube = map(tensor, (X, Y, W, M, cube))
    ta, tb, tc, tsmall, ttoken, ttable, tword, tP, tQ = map(tensor, (a, b, c, small, token, table, word, P, Q))
    report("distances_2000", "torch", lambda: torch.cdist(tX, tY, compute_mode="donot_use_mm_for_euclid_dist"))
    timage, ttaps = tensor(image)[None, None], tensor(taps)[None, None]
    report("convolution_7x7", "torch", lambda: torch.nn.functional.conv2d(timage, ttaps), 3)

    def min_plus():
        s = tW[:, :1] + tW[:1]
        for k in range(1, 400):
            torch.minimum(s, tW[:, k:k + 1] + tW[k:k + 1], out=s)
        return s
    report("min_plus_400", "torch", min_plus, 3)
    report("gather_1e7", "torch", lambda: tsmall[ttoken])
    report("gather_rows", "torch", lambda: ttable[tword])
    report("gather_2d_4096", "torch", lambda: tM[tP[:, None], tQ[None]])
    report("softmax_4096", "torch", lambda: torch.softmax(tM, 1))
    report("chain_1e7", "torch", lambda: torch.sqrt(ta * ta + tb * tb) * torch.exp(-tc), 3)
    report("copy_4096", "torch", lambda: tM.clone())
    report("transpose_4096", "torch", lambda: tM.t().contiguous())
    report("permute_cba_256", "torch", lambda: tcube.permute(2, 1, 0).contiguous())
    report("permute_acb_256", "torch", lambda: tcube.permute(0, 2, 1).contiguous())
    report("permute_bac_256", "torch", lambda: tcube.permute(1, 0, 2).contiguous())
    x, y = tensor(A2), tensor(B2)
    start = time.perf_counter()
    for _ in range(10**4):
        torch.einsum("ij,jk->ik", x, y)
    print("product_2x2_warm", "torch", (time.perf_counter() - start) / 10**4, flush=True)
    for name, text, operands in EINSUMS:
        operands = [tensor(o) for o in operands]
        report(name, "torch", lambda: torch.einsum(text, *operands))


if __name__ == "__main__":
    with_torch() if sys.argv[1] == "torch" else with_numpy()
