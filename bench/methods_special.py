#!/usr/bin/env python3
"""Special functions in f64 beside scipy.special: nanoseconds an element and the ratio (above 1 means Ricci is faster).
Rounds of both alternate, so that a busy moment hits both alike; the best of the rounds.

    RICCI=build/ricci build/venv/bin/python3 bench/methods_special.py [ROUNDS]"""
import os
import subprocess
import sys

import numpy as np
import scipy.special as s

sys.path.insert(1, os.path.dirname(os.path.abspath(__file__)))
from timing import median_of

HERE = os.path.dirname(os.path.abspath(__file__))
RICCI = os.environ.get("RICCI", os.path.join(HERE, "..", "build", "ricci"))
N = 10000
u = (np.arange(N) + 0.5) / N
TWINS = {
    "factorial": lambda: s.factorial(20 * u), "comb": lambda: s.binom(20 + 20 * u, 20 * u),
    "digamma": lambda: s.psi(20 * u), "polygamma": lambda: s.polygamma(1, 20 * u), "beta": lambda: s.beta(20 * u, 2.5),
    "lbeta": lambda: s.betaln(20 * u, 2.5), "erfinv": lambda: s.erfinv(2 * u - 1), "erfcinv": lambda: s.erfcinv(2 * u),
    "zeta": lambda: s.zeta(1 + 20 * u), "bessel_j 0": lambda: s.jv(0, 20 * u), "bessel_j": lambda: s.jv(2.3, 20 * u),
    "bessel_y": lambda: s.yv(2.3, 20 * u), "bessel_i": lambda: s.iv(2.3, 20 * u), "bessel_k": lambda: s.kv(2.3, 20 * u),
    "airy": lambda: s.airy(20 * u - 10), "ellipk": lambda: s.ellipk(u), "ellipe": lambda: s.ellipe(u),
    "gammainc": lambda: s.gammainc(5, 20 * u), "gammaincinv": lambda: s.gammaincinv(5, u),
    "betainc": lambda: s.betainc(2.5, 3.5, u), "betaincinv": lambda: s.betaincinv(2.5, 3.5, u),
    "logit": lambda: s.logit(u), "expit": lambda: s.expit(20 * u - 10), "xlogy": lambda: s.xlogy(u, 20 * u),
    "logaddexp": lambda: np.logaddexp(u, 3 * u), "sinc": lambda: np.sinc(20 * u),
    "legendre": lambda: s.eval_legendre(10, u), "hermite": lambda: s.eval_hermite(10, u),
    "laguerre": lambda: s.eval_laguerre(10, u), "chebyshev_t": lambda: s.eval_chebyt(10, u),
}


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    ours, theirs = {}, {}
    for _ in range(rounds):
        out = subprocess.run([RICCI, os.path.join(HERE, "methods_special.ric")], capture_output=True, text=True, check=True)
        for line in out.stdout.splitlines():
            name, ns = line.rsplit(" ", 1)
            ours.setdefault(name, []).append(float(ns))
        for name, f in TWINS.items():
            theirs.setdefault(name, []).append(1e9 * median_of(f, 5) / N)
    print(f"{'ns an element':14} {'ricci':>10} {'scipy':>10} {'/scipy':>8}")
    for name in TWINS:
        a, b = min(ours[name]), min(theirs[name])
        print(f"{name:14} {a:10.1f} {b:10.1f} {b / a:8.3f}")


main()
