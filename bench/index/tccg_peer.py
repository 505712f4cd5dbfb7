"""The contractions of tccg.txt: tccg_peer.py numpy|optimize|torch [SECONDS]. Prints `name way seconds`,
medians; numpy, whose plain nest takes a second and more, is called once, and not at all where one
call is estimated to take over SECONDS (3)."""
import os
import statistics
import sys
import time

import numpy as np

way = sys.argv[1]
most = float(sys.argv[2]) if len(sys.argv) > 2 else 3
rng = np.random.default_rng(1)
if way == "torch":
    import torch
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
rate = 1e9                      # operations a second, learned from the calls


def once(f):
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


for line in open("bench/index/tccg.txt"):
    if line.startswith("#"):
        continue
    _, name, *extents = line.split()
    size = dict(zip("abcdefg", map(int, extents)))
    out, left, right = (part[::-1] for part in name.split("-"))
    A, B = (rng.random([size[c] for c in part]) for part in (left, right))
    text = f"{left},{right}->{out}"
    if way == "numpy":
        flops = 2.0 * np.prod([float(n) for n in size.values()])
        if flops / rate > most:
            print(name, way, "nan", flush=True)
            continue
        spent = once(lambda: np.einsum(text, A, B))
        rate = min(rate, flops / spent)
        print(name, way, spent, flush=True)
        continue
    if way == "torch":
        A, B = torch.from_numpy(A), torch.from_numpy(B)
        f = lambda: torch.einsum(text, A, B)
    else:
        f = lambda: np.einsum(text, A, B, optimize=True)
    f()
    print(name, way, statistics.median(once(f) for _ in range(5)), flush=True)
