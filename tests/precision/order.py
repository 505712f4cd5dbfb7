#!/usr/bin/env python3
"""Sums and products in order: random programs with `reproducible` against exact fractions.

Every product and partial sum is rounded to the accumulator, factors from left to right, summed
indices in order of first appearance, the last one fastest; then once to the format. The same sums
are asked for as rows, as einsum and as index notation, in every mode and with every accumulator.

    order.py --cases 60 --seed 1 --ricci build/ricci
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile
from fractions import Fraction

FORMATS = {                      # significand bits, exponents of normal numbers
    "bf16": (8, -126, 127), "f16": (11, -14, 15), "float(6, 9)": (9, -30, 31),
    "float(5, 4)": (4, -14, 15), "f32": (24, -126, 127), "f64": (53, -1022, 1023),
}
WIDE = ("f32", "f64")
MODES = ["nearest", "nearest", "away", "zero", "up", "down", "odd"]


def rounded(x, name, mode):
    """x as a number of the format; exponents beyond the largest are the caller's to leave out."""
    bits, least, _ = FORMATS[name]
    if x == 0:
        return Fraction(0)
    size = abs(x)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    while Fraction(2) ** exponent > size:
        exponent -= 1
    while Fraction(2) ** (exponent + 1) <= size:
        exponent += 1
    unit = Fraction(2) ** (max(exponent, least) - (bits - 1))
    kept = size // unit
    rest = size / unit - kept
    half = Fraction(1, 2)
    up = rest > 0 and {
        "nearest": rest > half or (rest == half and kept % 2 == 1), "away": rest >= half,
        "zero": False, "up": x > 0, "down": x < 0, "odd": kept % 2 == 0,
    }[mode]
    return (kept + up) * unit * (1 if x > 0 else -1)


class Case:
    """A header, matrices A and B, a vector v, expressions and what each element of them is."""

    def __init__(self, seed):
        rng = random.Random(seed)
        self.seed = seed
        self.format = rng.choice(list(FORMATS))
        self.mode = rng.choice(MODES)
        written = rng.choice([None, self.format, "f64"] + (["f32"] if self.format not in WIDE else []))
        self.accumulator = written or ("f32" if self.format not in WIDE else self.format)
        self.header = " ".join(["precision", self.format] + (["accumulate", written] if written else []) +
                               (["round", self.mode] if self.mode != "nearest" else []) + ["reproducible"])
        self.n = rng.randint(2, 6)

        def number():
            return float(rng.choice([rng.randint(-64, 64) / 16, rng.uniform(-2, 2), rng.uniform(-1, 1)]))
        self.A = [[number() for _ in range(self.n)] for _ in range(self.n)]
        self.B = [[number() for _ in range(self.n)] for _ in range(self.n)]
        self.v = [number() for _ in range(self.n)]
        self.lines, self.wanted = [], []
        self.fill()

    # ---- arithmetic ----
    def of(self, x):
        return rounded(x, self.format, self.mode)

    def acc(self, x):
        own = self.accumulator == self.format
        return rounded(x, self.accumulator, self.mode if own else "nearest")

    def result(self, x):
        return x if self.accumulator == self.format else self.of(x)

    def total(self, terms):
        s = self.acc(terms[0])
        for x in terms[1:]:
            s = self.acc(s + x)
        return s

    def dot(self, x, y):
        return self.result(self.total([self.acc(p * q) for p, q in zip(x, y)]))

    # ---- what is asked for ----
    def want(self, expression, values):
        self.lines.append(f"R{len(self.wanted)} = {expression}")
        self.wanted.append(values)

    def define(self, notation, values):
        self.lines.append(f"R{len(self.wanted)}{notation}")
        self.wanted.append(values)

    def fill(self):
        n, of, acc, result, total = self.n, self.of, self.acc, self.result, self.total
        A = [[of(Fraction(x)) for x in row] for row in self.A]
        B = [[of(Fraction(x)) for x in row] for row in self.B]
        v = [of(Fraction(x)) for x in self.v]
        columns = [[row[j] for row in B] for j in range(n)]
        product = [self.dot(A[i], columns[j]) for i in range(n) for j in range(n)]
        chain = [result(total([acc(acc(A[i][j] * B[j][k]) * v[k]) for j in range(n) for k in range(n)]))
                 for i in range(n)]
        self.want("sum(A)", [result(total([x for row in A for x in row]))])
        self.want("sum(A, axis=0)", [result(total([row[j] for row in A])) for j in range(n)])
        self.want("A @ B", product)
        self.want('einsum("ij,jk->ik", A, B)', product)
        self.define("[i,k] := A[i,j] * B[j,k]", product)
        self.want("v @ B", [self.dot(v, column) for column in columns])
        self.want("v · v", [self.dot(v, v)])
        self.want('einsum("ij,jk,k->i", A, B, v)', chain)
        self.define("[i] := A[i,j] * B[j,k] * v[k]", chain)
        self.define("[i] := sum[k] (A[i,k] - B[i,k])",
                    [result(total([of(A[i][k] - B[i][k]) for k in range(n)])) for i in range(n)])
        running, so_far, times = [], None, acc(v[0])
        for x in v:
            so_far = acc(x) if so_far is None else acc(so_far + x)
            running.append(result(so_far))
        for x in v[1:]:
            times = acc(times * x)
        self.want("cumsum(v)", running)
        self.want("prod(v)", [result(times)])
        mean = acc(total(v) / acc(Fraction(n)))
        squares = [acc(d * d) for d in (acc(x - mean) for x in v)]
        self.want("mean(v)", [result(mean)])
        self.want("var(v)", [result(acc(total(squares) / acc(Fraction(n))))])
        self.want("conv(v, v)", [result(total([acc(v[j] * v[k - j])
                                               for j in range(max(0, k - n + 1), min(n - 1, k) + 1)]))
                                 for k in range(2 * n - 1)])
        self.want("A * B + v", [of(of(A[i][j] * B[i][j]) + v[j]) for i in range(n) for j in range(n)])
        self.want("A / 3", [of(x / of(Fraction(3))) for row in A for x in row])

    # ---- the program ----
    def program(self):
        def rows(m):
            return "[" + "; ".join(", ".join(map(repr, row)) for row in m) + "]"
        out = [f"A = {rows(self.A)}", f"B = {rows(self.B)}", f"v = [{', '.join(map(repr, self.v))}]"]
        out += [self.header + " {"] + self.lines + ["}"]
        out += [f"for x in flatten(stack((f64(R{i}),))) {{ print({i}, x) }}" for i in range(len(self.wanted))]
        return "\n".join(out) + "\n"

    def check(self, ricci, path):
        with open(path, "w") as f:
            f.write(self.program())
        run = subprocess.run([ricci, path], capture_output=True, text=True)
        if run.returncode:
            return 0, [f"FAIL order seed {self.seed}: {self.header}\n{run.stderr}"]
        got = [[] for _ in self.wanted]
        for line in run.stdout.split("\n"):
            if line:
                i, x = line.split()
                got[int(i)].append(x)
        largest, passed, failures = Fraction(2) ** FORMATS[self.format][2], 0, []
        defined = [line.split("=", 1) for line in self.lines]
        for i, values in enumerate(self.wanted):
            if any(abs(x) >= largest for x in values):
                continue
            if [Fraction(float(x)) for x in got[i]] == values:
                passed += 1
            else:
                failures.append(f"FAIL order seed {self.seed}: {self.header} {{ {'='.join(defined[i])} }}\n"
                                f"  is       {got[i]}\n  expected {[float(x) for x in values]}")
        return passed, failures


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--cases", type=int, default=60)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--ricci", default=os.environ.get("RICCI", "build/ricci"))
    args = args.parse_args()
    passed, failures = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for k in range(args.cases):
            more, wrong = Case(args.seed * 1000003 + k).check(os.path.abspath(args.ricci),
                                                              os.path.join(folder, "order.ric"))
            passed += more
            failures += wrong
    print("\n".join(failures[:20]))
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
