"""Elimination in a format, every operation rounded: LU with partial pivoting (the first largest), the
solution from it, the determinant and Cholesky's factor, as a textbook has them and element by element
in exact fractions. An accumulator that the header names holds the sums; quotients are the format's."""
import math
import re

import formats
import programs
from formats import Fraction, Rules, Unclear, special


class Elimination:
    def __init__(self, rng):
        while True:
            self.scope = scope(rng)
            n = rng.randint(2, 5)
            self.task = rng.choice(["lu", "lu", "solve", "solve", "det", "chol"])
            whole = rng.random() < 0.2
            number = lambda: float(rng.randint(-5, 5)) if whole else round(rng.uniform(-2, 2), rng.randint(1, 4))
            self.A = [[number() for _ in range(n)] for _ in range(n)]
            self.b = [number() for _ in range(n)]
            if self.task == "chol":
                for i in range(n):
                    for j in range(i):
                        self.A[i][j] = self.A[j][i]
                    self.A[i][i] = 3.0 * n + abs(self.A[i][i])
            try:
                self.wanted = self.value()
            except Unclear:
                continue
            if not any(special(x) for x in self.wanted):
                return

    # ---- the textbook ----
    def minus(self, s, x, y):
        """s - x y in the accumulator."""
        a = self.sums
        return a.sub(s, a.mul(x, y))

    def narrow(self, s):
        return s if self.sums is self.rules else self.rules.load(s)

    def value(self):
        s = self.scope
        self.rules = s.rules
        self.sums = s.sums if s.accumulate else s.rules
        load = self.rules.load
        A, b = [[load(x) for x in row] for row in self.A], [load(x) for x in self.b]
        if self.task == "chol":
            return self.cholesky(A)
        n = len(A)
        triangle = all(A[i][j] == 0 for i in range(n) for j in range(i)) or all(A[i][j] == 0 for i in range(n) for j in range(i + 1, n))
        if triangle and self.task != "lu":
            raise Unclear("nothing to eliminate")
        perm, odd = self.lu(A)
        if self.task == "lu":
            return [A[i][j] for i in range(n) for j in range(n)] + [float(p) for p in perm]
        if self.task == "det":
            d = A[0][0]
            for i in range(1, n):
                d = self.rules.mul(d, A[i][i])
            return [self.rules.neg(d) if odd else d]
        return self.solve(A, [b[p] for p in perm])

    def lu(self, A):
        n, perm, odd = len(A), list(range(len(A))), False
        for k in range(n):
            for i in range(n):              # column k less the finished ones
                s = A[i][k]
                for j in range(min(i, k)):
                    s = self.minus(s, A[i][j], A[j][k])
                A[i][k] = self.narrow(s)
            p = max(range(k, n), key=lambda i: (abs(A[i][k]), -i))
            if any(special(A[i][k]) for i in range(n)) or A[p][k] == 0:
                raise Unclear("no pivot")
            odd ^= p != k
            A[k], A[p] = A[p], A[k]
            perm[k], perm[p] = perm[p], perm[k]
            for i in range(k + 1, n):
                A[i][k] = self.rules.div(A[i][k], A[k][k])
        return perm, odd

    def solve(self, A, x):
        n = len(A)
        for i in range(n):
            s = x[i]
            for j in range(i):
                s = self.minus(s, A[i][j], x[j])
            x[i] = self.narrow(s)
        for i in reversed(range(n)):
            s = x[i]
            for j in range(i + 1, n):
                s = self.minus(s, A[i][j], x[j])
            x[i] = self.rules.div(self.narrow(s), A[i][i])
        return x

    def cholesky(self, A):
        n = len(A)
        for j in range(n):
            for i in range(j, n):
                s = A[i][j]
                for k in range(j):
                    s = self.minus(s, A[i][k], A[j][k])
                A[i][j] = self.narrow(s)
            if special(A[j][j]) or A[j][j] <= 0:
                raise Unclear("no root")
            A[j][j] = self.rules.sqrt(A[j][j])
            for i in range(j + 1, n):
                A[i][j] = self.rules.div(A[i][j], A[j][j])
        return [A[i][j] for i in range(n) for j in range(i + 1)]

    # ---- the program ----
    def script(self, number):
        n = len(self.A)
        rows = "; ".join(", ".join(map(repr, row)) for row in self.A)
        read = {
            "lu": f"[(if i > j {{ t.L[i,j] }} else {{ t.U[i,j] }}) for i in 0:{n}, j in 0:{n}]", "chol": "t", "solve": "t", "det": "t",
        }[self.task]
        call = {"lu": "lu(A)", "chol": "chol(A)", "solve": "A \\ b", "det": "det(A)"}[self.task]
        perm = f' for i in 0:{n} {{ for j in 0:{n} {{ if t.P[j,i] != 0 {{ p = "{{p}} {{j}}" }} }} }};' if self.task == "lu" else ""
        show = f"for i in 0:{n} {{ for j in 0:(i + 1) {{ s = \"{{s}} {{rational(t[i,j])}}\" }} }}" if self.task == "chol" else \
            "for x in flatten(z) { s = \"{s} {rational(x)}\" }"
        return (f"try {{ A = [{rows}]; b = {self.b!r}; t = {self.scope.header()} {{ {call} }}\n"
                f'    s = ""; p = ""; z = {read}; {show};{perm} print("@e{number}", dtype({"t.U" if self.task == "lu" else "t"}), s, p) }} '
                f'catch e {{ print("@e{number} error", e.message) }}\n')

    def compare(self, got):
        name = self.scope.format.name
        if not (got or "").startswith(name + " "):
            return f"{self.task}: {[str(x) for x in self.wanted]} in {name} was expected, got {got}"
        found = got[len(name):].split()
        want = [str(Fraction(x)) for x in self.wanted]
        return None if found == want else f"{self.task}: {want} was expected, got {found}"


def scope(rng):
    while True:
        f = rng.choice(list(formats.NAMED.values()) + [formats.decimal(rng.randint(1, 7)), formats.mp(rng.choice([5, 30, 100])),
                                                         formats.mini(rng.randint(3, 10), rng.randint(1, 52))])
        mode = rng.choice(formats.MODES) if rng.random() < 0.5 else "nearest"
        acc = rng.choice([g for g in formats.NAMED.values() if g.holds(f)] + [f]) if f.binary and rng.random() < 0.4 else None
        if f.name in ("f32", "f64") and mode == "nearest":
            continue                    # LAPACK
        return programs.Scope(f, mode, acc, False, f.binary and rng.random() < 0.1)
