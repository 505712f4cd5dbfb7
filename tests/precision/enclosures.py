#!/usr/bin/env python3
"""Inclusion of what linear algebra gives in a scope of intervals: the exact result of random points of the
operand, in fractions that share nothing with Ricci, must lie in the enclosure. Solutions, inverses,
determinants and least squares by Gauss' elimination; eigenvalues and singular values by the inertia of
A - x 1 (Sylvester), which decides exactly on which side of x they are; vectors to 50 digits.

    enclosures.py [--cases N] [--seed S] [--ricci PATH]

Matrices are dense, Hilbert's, Vandermonde's, of small whole numbers, graded, nearly singular, huge and tiny ones;
points, and intervals of which corners and inner points are tried. What cannot be verified has to say so,
and of dense points of such orders it may not. Ends with `N passed, N failed`."""
import argparse
import math
import os
import random
import subprocess
import sys
import tempfile
from fractions import Fraction

parser = argparse.ArgumentParser()
parser.add_argument("--cases", type=int, default=400)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--ricci", default="ricci")
args = parser.parse_args()
TASKS = ("solve", "inv", "det", "eigvalsh", "eigh", "svdvals", "lstsq")


# ---- exact linear algebra ----
def product(A, B):
    return [[sum(a * b for a, b in zip(row, col)) for col in zip(*B)] for row in A]


def transposed(A):
    return [list(row) for row in zip(*A)]


def eliminated(A, B):
    """(det A, inv(A) B); det 0: none."""
    n, A, B, det = len(A), [row[:] for row in A], [row[:] for row in B], Fraction(1)
    for k in range(n):
        p = next((i for i in range(k, n) if A[i][k]), None)
        if p is None:
            return Fraction(0), None
        if p != k:
            A[k], A[p], B[k], B[p], det = A[p], A[k], B[p], B[k], -det
        det *= A[k][k]
        for i in range(n):
            if i != k and A[i][k]:
                f = A[i][k] / A[k][k]
                A[i] = [x - f * y for x, y in zip(A[i], A[k])]
                B[i] = [x - f * y for x, y in zip(B[i], B[k])]
    return det, [[x / A[i][i] for x in B[i]] for i in range(n)]


def inertia(A, x):
    """How many eigenvalues of a symmetric A are below x, and how many equal it: congruent steps of 1 and 2."""
    M = [[a - (x if i == j else 0) for j, a in enumerate(row)] for i, row in enumerate(A)]
    below = zero = 0
    while M:
        n = len(M)
        p = next((i for i in range(n) if M[i][i]), None)
        if p is not None:
            rest = [i for i in range(n) if i != p]
            below += M[p][p] < 0
            M = [[M[i][j] - M[i][p] * M[p][j] / M[p][p] for j in rest] for i in rest]
            continue
        pair = next(((i, j) for i in range(n) for j in range(i) if M[i][j]), None)
        if pair is None:
            return below, zero + n
        p, q = pair
        below += 1
        rest, c = [i for i in range(n) if i not in pair], M[p][q]
        M = [[M[i][j] - (M[i][p] * M[q][j] + M[i][q] * M[p][j]) / c for j in rest] for i in rest]
    return below, zero


def value_inside(A, i, lo, hi):
    """Is the i-th eigenvalue of A, ascending, in [lo, hi]?"""
    less, _ = inertia(A, lo) if lo > -math.inf else (0, 0)
    most = sum(inertia(A, hi)) if hi < math.inf else len(A)
    return less <= i < most


def vector_of(A, i, lo, hi):
    """The i-th unit eigenvector to 50 digits or so: bisection, then Rayleigh quotients, which have to stay."""
    near, most = lambda x: Fraction(round(x * 10**70), 10**70), max(abs(a) for row in A for a in row) or 1
    A, lo, hi = [[a / most for a in row] for row in A], lo / most, hi / most
    for _ in range(60):
        if hi - lo < Fraction(1, 10**12) * max(abs(lo), abs(hi)):
            break
        x = near((lo + hi) / 2)
        below, equal = inertia(A, x)
        if below <= i < below + equal:
            lo = hi = x
            break
        lo, hi = (lo, x) if i < below else (x, hi)
    shift, n = near((lo + hi) / 2) + Fraction(1, 10**60), len(A)
    v = [[Fraction(1009 + 7919 * k * k % 1013, 1013)] for k in range(n)]     # orthogonal to none that is likely
    for _ in range(5):
        M = [[a - (shift if r == c else 0) for c, a in enumerate(row)] for r, row in enumerate(A)]
        det, w = eliminated(M, v)
        if det == 0:
            break
        most = max(abs(x[0]) for x in w)
        v = [[near(x[0] / most)] for x in w]
        square = sum(x[0] ** 2 for x in v)
        shift = near(sum(x[0] * y[0] for x, y in zip(v, product(A, v))) / square) + Fraction(1, 10**65)
    assert lo - Fraction(1, 10**50) <= shift <= hi + Fraction(1, 10**50)
    length = Fraction(math.isqrt(square.numerator * square.denominator * 10**160), square.denominator * 10**80)
    return [x[0] / length for x in v]


# ---- cases ----
def matrix(rng, m, n):
    kind = rng.choice(("dense", "dense", "dense", "whole", "hilbert", "vander", "graded", "near", "scaled"))
    if kind == "hilbert":
        return kind, [[1 / (i + j + 1) for j in range(n)] for i in range(m)]
    if kind == "vander":
        x = [rng.uniform(-2, 2) for _ in range(m)]
        return kind, [[x[i] ** j for j in range(n)] for i in range(m)]
    if kind == "whole":
        return kind, [[float(rng.randint(-4, 4)) for _ in range(n)] for _ in range(m)]
    A = [[rng.uniform(-1, 1) for _ in range(n)] for _ in range(m)]
    if kind == "graded":
        A = [[x * 10.0 ** (-2 * i - j) for j, x in enumerate(row)] for i, row in enumerate(A)]
    if kind == "scaled":                    # where products vanish and overflow
        A = [[x * 2.0 ** rng.choice((-1060, -530, -500, 400, 1000)) for x in row] for row in A] if rng.random() < 0.3 else \
            [[x * scale for x in row] for row in A] if (scale := 2.0 ** rng.choice((-1060, -530, -500, 500, 1000))) else A
    if kind == "near" and m > 1:
        A[-1] = [x + 10.0 ** rng.randint(-17, -3) * rng.uniform(-1, 1) for x in A[0]]
    return kind, A


class Case:
    def __init__(self, rng):
        self.task = rng.choice(TASKS)
        n = rng.randint(1, 6)
        m = rng.randint(1, 6) if self.task in ("svdvals", "lstsq") else n
        self.kind, self.A = matrix(rng, m, n)
        if self.task in ("eigvalsh", "eigh"):
            if rng.random() < 0.3 and self.task == "eigvalsh":      # values that coincide
                self.A = [[float(rng.randint(0, 1) if i == j else 1) for j in range(n)] for i in range(n)]
            self.A = [[self.A[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
        self.b = [[rng.uniform(-1, 1) for _ in range(rng.choice((1, 3)))] for _ in range(1)]
        self.b = [[rng.uniform(-1, 1) for _ in self.b[0]] for _ in range(m)]
        self.wide = rng.choice((0, 0, 0, 1e-14, 1e-8, 1e-3, 0.05))
        self.R = [[abs(x) * self.wide * rng.random() for x in row] for row in self.A]
        if self.task in ("eigvalsh", "eigh"):
            self.R = [[self.R[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
        self.lo = [[x - r for x, r in zip(*rows)] for rows in zip(self.A, self.R)]
        self.hi = [[x + r for x, r in zip(*rows)] for rows in zip(self.A, self.R)]
        self.rng = rng

    def script(self, k):
        text = lambda M: "[" + "; ".join(", ".join(map(repr, row)) for row in M) + ("]" if len(M) > 1 else ";]")
        body = {"solve": "A \\ b", "lstsq": "t = lstsq(A, b); s(t.x); t.residual",
                "eigh": "t = eigh(A); s(t.values); t.vectors"}.get(self.task, f"{self.task}(A)")
        A = text(self.lo) if not self.wide else f"interval({text(self.lo)}, {text(self.hi)})"
        m, n, c = len(self.A), len(self.A[0]), len(self.b[0])
        return (f"try {{ print(\"@{k}\"); A = reshape({A}, {m}, {n}); b = reshape({text(self.b)}, {m}, {c}); "
                f"x = precision interval {{ {body} }}; s(x) }} catch e {{ print(\"error\", e.message) }}\n")

    def point(self):
        """Exact numbers in the intervals: corners or anything between."""
        rng, corner = self.rng, self.rng.random() < 0.5
        def pick(lo, hi):
            lo, hi = Fraction(lo), Fraction(hi)
            return rng.choice((lo, hi)) if corner else lo + (hi - lo) * Fraction(rng.randint(0, 1000), 1000)
        A = [[pick(*ends) for ends in zip(*rows)] for rows in zip(self.lo, self.hi)]
        if self.task in ("eigvalsh", "eigh"):
            A = [[A[max(i, j)][min(i, j)] for j in range(len(A))] for i in range(len(A))]
        return A

    def wrong(self, lines):
        """What is wrong with the enclosures, or none."""
        if lines and lines[0].startswith("error"):
            if "cannot verify" not in lines[0]:
                return lines[0]
            if self.kind == "dense" and not self.wide and self.task in ("solve", "inv", "lstsq", "svdvals", "eigvalsh"):
                return "a dense matrix was not verified: " + lines[0]
            return None
        got = [[tuple(map(end, pair.split(":"))) for pair in line.split()] for line in lines]
        for _ in range(1 if not self.wide else 6):
            text = self.check(self.point(), got)
            if text:
                return text
        return None

    def check(self, A, got):
        b = [[Fraction(x) for x in row] for row in self.b]
        n, inside = len(A[0]), lambda want, x: x[0] <= want <= x[1]
        flat = lambda M: [x for row in M for x in row]
        if self.task == "det":
            want = [eliminated(A, A)[0]]
        elif self.task in ("solve", "inv"):
            one = [[Fraction(i == j) for j in range(n)] for i in range(n)]
            det, want = eliminated(A, b if self.task == "solve" else one)
            if det == 0:
                return "a singular matrix was verified"
            want = flat(want)
        elif self.task == "lstsq":
            return self.check_lstsq(A, b, got)
        else:
            return self.check_values(A, got)
        bad = [i for i, x in enumerate(want) if not inside(x, got[0][i])]
        return f"{float(want[bad[0]])!r} is not in {got[0][bad[0]]}" if bad or len(want) != len(got[0]) else None

    def check_lstsq(self, A, b, got):
        T = transposed(A)
        tall = len(A) >= len(A[0])
        det, x = eliminated(product(T, A) if tall else product(A, T), product(T, b) if tall else b)
        if det == 0:
            return "a matrix of lower rank was verified"
        x = x if tall else product(T, x)
        for want, (lo, hi) in zip((v for row in x for v in row), got[0]):
            if not lo <= want <= hi:
                return f"{float(want)!r} is not in [{lo}, {hi}]"
        rest = [[p - q for p, q in zip(*rows)] for rows in zip(b, product(A, x))]
        for column, (lo, hi) in zip(zip(*rest), got[1]):
            if not lo <= hi or not lo**2 <= sum(v * v for v in column) <= hi**2:
                return f"a residual is not in [{lo}, {hi}]"
        return None

    def check_values(self, A, got):
        values = got[0]
        if self.task == "svdvals":
            T = transposed(A)
            S = product(T, A) if len(A) >= len(T) else product(A, T)
            k = len(S)
            for i, (lo, hi) in enumerate(values):
                if lo < 0 or not value_inside(S, k - 1 - i, Fraction(lo) ** 2, Fraction(hi) ** 2 if hi < math.inf else hi):
                    return f"singular value {i} is not in [{lo}, {hi}]"
            return None
        for i, (lo, hi) in enumerate(values):
            if not value_inside(A, i, lo, hi):
                return f"eigenvalue {i} is not in [{lo}, {hi}]"
        if self.task == "eigh":
            n = len(A)
            for i in range(n):
                column = [got[1][r * n + i] for r in range(n)]
                v = vector_of(A, i, *map(Fraction, values[i]))
                middle = [(lo + hi) / 2 for lo, hi in column]
                sign = -1 if sum(x * y for x, y in zip(v, middle)) < 0 else 1
                for x, (lo, hi) in zip(v, column):
                    if not lo - Fraction(1, 10**40) <= sign * x <= hi + Fraction(1, 10**40):
                        return f"{float(sign * x)!r} of eigenvector {i} is not in [{float(lo)!r}, {float(hi)!r}]"
        return None


def end(text):
    return float(text) if "inf" in text else Fraction(float(text))


def main():
    rng = random.Random(args.seed)
    cases = [Case(rng) for _ in range(args.cases)]
    head = "fn s(x) { t = \"\"; for v in reshape(x, -1) { t = \"{t} {repr(lower(v))}:{repr(upper(v))}\" }; print(t) }\n"
    passed = failed = silent = 0
    for at in range(0, len(cases), 500):
        block = cases[at:at + 500]
        with tempfile.NamedTemporaryFile("w", suffix=".ric") as file:
            file.write(head + "".join(c.script(k) for k, c in enumerate(block)))
            file.flush()
            run = subprocess.run([args.ricci, file.name], capture_output=True, text=True)
        parts = run.stdout.split("@")[1:]
        if run.returncode or len(parts) != len(block):
            print(f"FAIL the program ended early: {run.stderr[-2000:]}")
            failed += 1
            continue
        for c, part in zip(block, parts):
            lines = part.split("\n")[1:]
            lines = [line for line in lines if line.strip()]
            silent += lines[:1] != [] and lines[0].startswith("error")
            wrong = c.wrong(lines)
            if wrong:
                failed += 1
                print(f"FAIL {c.task} of a {c.kind} matrix, intervals {c.wide}: {wrong}\n{c.script(0)}")
            else:
                passed += 1
    print(f"enclosures: {silent} of {len(cases)} were not verified, and say so")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
