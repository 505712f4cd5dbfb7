#!/usr/bin/env python3
"""Random numbers beside numpy.random.Generator (PCG64): nanoseconds a number and the ratio (above 1 means Ricci is faster).
Rounds of both alternate, and the best of each is shown. NumPy draws with one thread, so Ricci is shown with one too.

    RICCI=build/ricci build/venv/bin/python3 bench/methods_random_numpy.py [ROUNDS]"""
import os
import subprocess
import sys

import numpy as np

sys.path.insert(1, os.path.dirname(os.path.abspath(__file__)))
from timing import median_of

HERE = os.path.dirname(os.path.abspath(__file__))
RICCI = os.environ.get("RICCI", os.path.join(HERE, "..", "build", "ricci"))
N = 10**6
rng = np.random.default_rng(1)
lam, w, v = 30 * rng.random(N), rng.random(1000), rng.random(20000)
w, v = w / w.sum(), v / v.sum()
TWINS = {
    "uniform": lambda: rng.uniform(0, 1, N), "normal": lambda: rng.normal(0, 1, N), "exponential": lambda: rng.exponential(2, N),
    "gamma 2.5": lambda: rng.gamma(2.5, 1, N), "gamma 0.5": lambda: rng.gamma(0.5, 1, N), "beta": lambda: rng.beta(2, 3, N),
    "lognormal": lambda: rng.lognormal(0, 1, N), "student": lambda: rng.standard_t(5, N), "poisson 4": lambda: rng.poisson(4, N),
    "poisson 400": lambda: rng.poisson(400, N), "poisson each": lambda: rng.poisson(lam),
    "binomial 10": lambda: rng.binomial(10, 0.3, N), "binomial 1000": lambda: rng.binomial(1000, 0.3, N),
    "geometric": lambda: rng.geometric(0.1, N),
    "vectors of 4": lambda: rng.multivariate_normal(np.zeros(4), np.eye(4) + 1, 250000),
    "permutation": lambda: rng.permutation(N), "sample weighted": lambda: rng.choice(1000, N, p=w),
    "sample once": lambda: rng.choice(20000, 10**4, replace=False, p=v),
}


def drawn(threads):
    env = dict(os.environ, RICCI_THREADS=threads) if threads else os.environ
    out = subprocess.run([RICCI, os.path.join(HERE, "methods_random.ric")], capture_output=True, text=True, check=True, env=env)
    return {name: float(ns) for name, ns in (line.rsplit(" ", 1) for line in out.stdout.splitlines())}


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    ours, one, theirs = [], [], []
    for _ in range(rounds):
        ours.append(drawn(""))
        one.append(drawn("1"))
        theirs.append({name: 1e9 * median_of(f, 7) / (10**4 if name == "sample once" else N) for name, f in TWINS.items()})
    print(f"{'ns a number':16} {'ricci':>8} {'one thread':>11} {'numpy':>8} {'/numpy':>8} {'one thread':>11}")
    for name in TWINS:
        a, b, c = (min(t[name] for t in times) for times in (ours, one, theirs))
        print(f"{name:16} {a:8.1f} {b:11.1f} {c:8.1f} {c / a:8.2f} {c / b:11.2f}")


main()
