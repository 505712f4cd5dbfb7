#!/usr/bin/env python3
"""Sparse matrices in files beside SciPy: milliseconds and the ratio (above 1 means Ricci is faster). Rounds of both
alternate, and the least of each is shown, on all threads and on one. Ricci's load gives compressed rows; SciPy's
mmread gives coordinates, and the last column adds what tocsr takes.

    RICCI=build/ricci build/venv/bin/python3 bench/sparse_files_scipy.py [ROUNDS]"""
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import scipy.io
import scipy.io._fast_matrix_market as reader
import scipy.sparse as sp

HERE = os.path.dirname(os.path.abspath(__file__))
RICCI = os.environ.get("RICCI", os.path.join(HERE, "..", "build", "ricci"))


def make(folder):
    rng = np.random.default_rng(1)
    n, count, m = 200000, 2000000, 700
    a = sp.coo_array((rng.standard_normal(count), (rng.integers(0, n, count), rng.integers(0, n, count))), shape=(n, n))
    t = sp.diags_array([-1.0, 2, -1], offsets=[-1, 0, 1], shape=(m, m))
    p = sp.kron(sp.eye_array(m), t) + sp.kron(t, sp.eye_array(m))
    for name, matrix, symmetry in (("random", a.tocsc(), "general"), ("rows", a.tocsr(), "general"),
                                   ("poisson", p.tocsc(), "general"), ("symmetric", p.tocsc(), "symmetric")):
        scipy.io.mmwrite(f"{folder}/{name}.mtx", sp.coo_array(matrix), symmetry=symmetry)
    sp.save_npz(f"{folder}/rows.npz", a.tocsr(), compressed=False)


def ricci(folder, threads):
    env = dict(os.environ, RICCI_THREADS=threads) if threads else os.environ
    out = subprocess.run([RICCI, os.path.join(HERE, "sparse_files.ric"), folder], stdout=subprocess.PIPE, text=True, check=True, env=env)
    return {name: float(s) for name, s in (line.rsplit(" ", 1) for line in out.stdout.splitlines())}


def least(f):
    best = float("inf")
    for _ in range(7):
        start = time.perf_counter()
        f()
        best = min(best, time.perf_counter() - start)
    return best


def scipys(folder, threads):
    reader.PARALLELISM = threads
    times, rows = {}, sp.load_npz(f"{folder}/rows.npz")
    for name in ("random", "rows", "poisson", "symmetric"):
        times["load " + name] = least(lambda: scipy.io.mmread(f"{folder}/{name}.mtx"))
        times["rows of " + name] = least(lambda: scipy.io.mmread(f"{folder}/{name}.mtx").tocsr())
    times["load npz"] = least(lambda: sp.load_npz(f"{folder}/rows.npz"))
    times["save mtx"] = least(lambda: scipy.io.mmwrite(f"{folder}/out.mtx", rows))
    times["save npz"] = least(lambda: sp.save_npz(f"{folder}/out.npz", rows, compressed=False))
    return times


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as folder:
        make(folder)
        for title, ours, theirs in (("all threads", "", 0), ("one thread", "1", 1)):
            a, b = [], []
            for _ in range(rounds):
                a.append(ricci(folder, ours))
                b.append(scipys(folder, theirs))
            print(f"{title:16} {'ricci':>9} {'scipy':>9} {'/scipy':>7} {'/tocsr':>7}")
            for name in a[0]:
                r, s, rows = (min(t.get(k, float("nan")) for t in times)
                              for times, k in ((a, name), (b, name), (b, name.replace("load", "rows of"))))
                print(f"{name:16} {1e3 * r:7.1f}ms {1e3 * s:7.1f}ms {s / r:7.2f}" + (f" {rows / r:7.2f}" if rows == rows else ""))


main()
