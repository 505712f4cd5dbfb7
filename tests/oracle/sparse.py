#!/usr/bin/env python3
"""Random operations on sparse matrices, each beside the same operation on the dense matrix that the
sparse one stands for: values, dtypes, shapes and errors must agree, the patterns that come out be
in order, and what went in be as it was."""
import argparse
import os
import random
import sys

sys.dont_write_bytecode = True
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
import answered

HEAD = """
fn outcome(f, x) { try { return (true, f(x)) } catch e { return (false, "{e.kind}: {e.message}") } }
fn sound(r) {
    if not issparse(r) { return true }
    e = entries(r)
    at = e.rows * maximum(shape(r)[1], 1) + e.columns
    return len(at) < 2 or all(at[1:] > at[:-1])
}
fn same(r, w, near) {
    if type(r) == "tuple" { return type(w) == "tuple" and len(r) == len(w) and all([same(r[i], w[i], near) for i in 0:len(r)]) }
    if type(r) == "string" or type(w) == "string" { return r == w }
    a = dense(r)
    if shape(a) != shape(w) or dtype(a) != dtype(w) { return false }
    if size(a) == 0 { return true }
    alike = (a == w) | ((a != a) & (w != w))
    return all(alike) or (near and all(alike | isclose(a, w, rtol=if dtype(a) == f32 or dtype(a) == c64 { 1e-4 } else { 1e-11 }, atol=1e-12)))
}
fn check(id, S, f, keeps, near) {
    D = dense(S)
    a = outcome(f, S); b = outcome(f, D)
    good = a[0] == b[0] and if a[0] { sound(a[1]) and same(a[1], b[1], near) } else { a[1] == b[1] }
    kept = issparse(S) and same(S, D, false)
    sparse = not keeps or not a[0] or ndim(a[1]) != 2 or issparse(a[1])
    print("@{id}", if not good { "differ" } else if not kept { "changed its operand" } else if not sparse { "became dense" } else { "same" })
    if not good { print("  ", if a[0] { dense(a[1]) } else { a[1] }, "\\n  ", b[1]) }
}
"""

SHAPES = [(0, 0), (0, 5), (4, 0), (1, 1), (1, 6), (6, 1), (3, 4), (5, 5), (4, 7), (8, 3), (20, 30), (40, 2)]


def number(rng, kind, special="inf"):
    x = rng.choice(["1.0", "2.0", "-1.0", "0.5", "3.0", "-4.0", "7.0", "1e3", "-0.25", "6.0"])
    if kind == "f" and rng.random() < 0.02:
        x = special
    return f"{x} + {rng.randrange(-3, 4)}i" if kind == "c" and rng.random() < 0.5 else x


class Matrix:
    """A sparse matrix: m, n and the text that makes it."""

    def __init__(self, rng, shape=None, dtype=None, finite=False):
        self.shape = m, n = shape or rng.choice(SHAPES)
        self.dtype = dtype or rng.choice(["f64"] * 5 + ["f32", "c128", "c64"])
        kind = self.dtype[0]
        full = m * n
        count = 0 if full == 0 else rng.choice([0, 1, full // 5, full // 5, full // 3, full // 2, full, full + 3])
        rows = [rng.randrange(m) for _ in range(count)]
        if m > 3 and rng.random() < 0.3:                # empty rows
            rows = [r // 2 * 2 for r in rows]
        places = [(r, rng.randrange(n)) for r in rows]
        if full and rng.random() < 0.2:                 # a dense row
            r = rng.randrange(m)
            places += [(r, j) for j in range(n)]
        kind = "finite" if finite and kind == "f" else kind
        special = rng.choice(["nan", "inf", "-inf"])        # both together are ordered by nobody
        values = [number(rng, kind, special) if rng.random() > 0.08 else "0.0" for _ in places]
        if not places:
            self.text = f"{self.dtype}(sparse(i64([]), i64([]), f64([]), ({m}, {n})))"
        else:
            v = ", ".join(values) + (" + 0i" if kind == "c" else "")
            self.text = (f"{self.dtype}(sparse([{', '.join(str(p[0]) for p in places)}], [{', '.join(str(p[1]) for p in places)}], "
                         f"[{v}], ({m}, {n})))")


class Maker:
    def __init__(self, rng):
        self.rng = rng
        self.matrix = Matrix(rng)
        self.m, self.n = self.matrix.shape
        self.complex = self.matrix.dtype[0] == "c"

    # ---- subscripts ----
    def index(self, n):
        rng = self.rng
        return str(rng.randrange(-n, n)) if n and rng.random() < 0.95 else str(n)

    def slice(self, n):
        rng = self.rng
        if rng.random() < 0.3:
            return ":"
        part = lambda: "" if rng.random() < 0.3 else str(rng.randrange(-n - 1, n + 2))
        step = rng.choice(["", "", ":1", ":2", ":-1", ":-2", ":3"])
        return f"{part()}:{part()}{step}"

    def list(self, n):
        rng = self.rng
        if n == 0:
            return "i64([])"
        r = rng.random()
        if r < 0.1:
            return f"arange({rng.randrange(n + 1)})"
        if r < 0.3:
            mask = [rng.choice(["true", "false"]) for _ in range(n if rng.random() < 0.95 else n + 1)]
            return f"[{', '.join(mask)}]"
        items = [self.index(n) if rng.random() < 0.02 else str(rng.randrange(-n, n)) for _ in range(rng.choice([1, 2, 3, n, 2 * n]))]
        return f"[{', '.join(items)}]"

    def axis(self, n):
        r = self.rng.random()
        return self.index(n) if r < 0.25 else self.slice(n) if r < 0.65 else self.list(n)

    def pair(self):
        """Two lists that go together."""
        rng, k = self.rng, self.rng.choice([1, 2, 3, 6])
        if self.m == 0 or self.n == 0:
            return "i64([]), i64([])"
        of = lambda n: f"[{', '.join(str(rng.randrange(-n, n)) for _ in range(k))}]"
        if rng.random() < 0.15:
            return f"{of(self.m)}[:, none], {of(self.n)}"
        return f"{of(self.m)}, {of(self.n)}"

    def subscripts(self):
        rng, r = self.rng, self.rng.random()
        if r < 0.12:
            return self.axis(self.m)
        if r < 0.65:
            return f"{self.axis(self.m)}, {self.axis(self.n)}"
        if r < 0.75:
            return self.pair()
        if r < 0.83 and not self.complex:
            return rng.choice(["X > 1", "X < 0", "dense(X) > 0.5", "dense(X) <= 0", "X != 0"])
        if r < 0.95:
            return rng.choice([f"..., {self.axis(self.n)}", f"{self.axis(self.m)}, ...", "...", f"none, {self.axis(self.m)}",
                               f"{self.axis(self.m)}, none, {self.axis(self.n)}", f"{self.axis(self.m)}, {self.axis(self.n)}, none"])
        return f"{self.axis(self.m)}, {self.axis(self.n)}, {self.axis(2)}"

    # ---- programs ----
    def stored(self, part):
        """A value for the part, a text in X."""
        rng, r = self.rng, self.rng.random()
        if r < 0.25:
            return number(rng, "c" if rng.random() < 0.1 else "f")
        if r < 0.32:
            return "0"
        if r < 0.5:
            return f"dense(X[{part}]) * 2 + 1"
        if r < 0.75:
            return f"X[{part}] * 3"
        if r < 0.85:
            return f"-X[{part}]"
        return rng.choice(["[1.0, 2.0]", "[0.0, 5.0, 0.0]", "speye(2)", "sparse([0], [1], 4.0, (1, 3))", "true", "7", "zeros(1, 1)"])

    def store(self):
        rng = self.rng
        lines = []
        for _ in range(rng.choice([1, 1, 2, 4])):
            part = self.subscripts() if rng.random() < 0.6 else f"{self.index(self.m)}, {self.index(self.n)}"
            op = rng.choice(["=", "=", "=", "=", "+=", "*=", "-="])
            value = self.stored(part) if op == "=" else rng.choice(["2", "0.5", f"X[{part}]", "[1.0, 2.0]"])
            lines.append(f"X[{part}] {op} {value}")
        return "{ " + "; ".join(lines) + "; return X }", True, False

    def other(self, shape):
        return Matrix(self.rng, shape, self.matrix.dtype if self.rng.random() < 0.7 else None).text

    def finite(self, shape):
        return Matrix(self.rng, shape, finite=True).text

    def blocks(self):
        rng, m, n = self.rng, self.m, self.n
        k = rng.choice([1, 2, n])
        whole = self.finite((m, n))           # 0 times what is not finite is no entry
        right, below = self.other((m, k)), self.other((k, n))
        if rng.random() < 0.3:
            right = f"dense({right})"
        if rng.random() < 0.3:
            below = f"dense({below})"
        # the first operand decides about the notation, the last ones are of either kind
        text = rng.choice([f"[X, {right}]", f"[X; {below}]", f"concat(X, {below})", f"concat(X, {right}, axis=1)", f"concat(X, X, X, axis=-1)",
                           f"[X, {right}; {below}, {self.other((k, k))}]", f"concat(X, {self.other((m + 1, n))}, axis={rng.choice([0, 1, 2])})",
                           f"stack(X, X, axis={rng.choice([0, 1, 2])})", f"[X, X]", f"[X; {self.other((m, n + 1))}]", f"[X, X; X, X]", f"[X, {self.other((m + 1, 2))}; X]",
                           f"kron(if issparse(X) {{ {whole} }} else {{ dense({whole}) }}, {self.finite(rng.choice([(2, 2), (1, 3), (0, 2), (3, 1)]))})"])
        return text, True, False

    def triangle(self):
        rng = self.rng
        k = rng.choice(["", ", 1", ", -1", ", 2", ", -3", ", k=50", ", k=-50"])
        return rng.choice([f"tril(X{k})", f"triu(X{k})"] * 2 + [f"diag(X{k})", "trace(X)"]), True, True

    def reduction(self):
        rng = self.rng
        f = rng.choice(["sum", "prod", "mean", "max", "min", "argmax", "argmin", "any", "all", "count", "nansum", "var", "std"])
        axis = rng.choice(["", "", "0", "1", "-1", "(0, 1)", "(1,)", "none", "2", "()"])
        args = ["X"] + ([f"axis={axis}"] if axis else []) + ([f"keepdims={rng.choice(['true', 'false'])}"] if rng.random() < 0.4 else [])
        return f"{f}({', '.join(args)})", False, True

    def norm(self):
        rng = self.rng
        return rng.choice(["norm(X)", "norm(X, 1)", "norm(X, inf)", 'norm(X, "fro")', "norm(X, -inf)", "norm(X, -1)", "norm(X, axis=0)", "norm(X, axis=1)",
                           "norm(X, 1, axis=1)", "norm(X, inf, axis=0)", "norm(X, 3, axis=0)", "norm(X, 0, axis=1)", "norm(X, 7)"]), False, True

    def rest(self):
        rng = self.rng
        return rng.choice([
            ("{ r = 0; for row in X { r = r + sum(row) }; return r }", False, True), ("len(X), shape(X), size(X), ndim(X)", False, False),
            ("all([sum(r) == sum(r) for r in X])", False, False), ("X == X", False, False), ("allclose(X, X)", False, False), ("X ≈ X * 1.5", False, False),
            ("issymmetric(X)", False, False), ("ishermitian(X)", False, False), ("issymmetric(X, atol=3)", False, False), ("ishermitian(X, 0, 0.5)", False, False),
            ("isnan(X)", True, False), ("isfinite(X)", False, False),
            ("where(X > 1, X, 0)", not self.complex, False), ("X^2", True, True), ("count(X)", False, False),
            ("take(X, 0)", False, False), ("flip(X)", False, False), ("flip(X, axis=1)", False, False), ("roll(X, 1, axis=0)", False, False), ("reshape(X, -1)", False, False), ("flatten(X)", False, False), ("squeeze(X)", False, False), ("expand(X)", False, False),
            ("sort(X)", False, False), ("cumsum(X, axis=0)", False, True), ("nonzero(X)", False, False), ("tile(X, 2)", False, False), ("repeat(X, 2)", False, False),
            ("transpose(X)", False, False), ("unique(X)", False, False), ("split(X, 1)", False, False), ("pad(X, 1)", False, False),
            ("{ Y = X; Y[...] = 5; return X }", False, False), ("{ a = X; f = () -> sum(a); return f() }", False, True), ("(X, 1)", False, False),
            ("{ t = (a=X, b=2); t.a[...] = 1; return t.a }", False, False), ("{ t = (X, X); t[0][...] = 2; return (t[0], t[1]) }", False, False)])

    def system(self):
        """A square system in a format: the bits, or the pivot that is missing, of the dense matrix."""
        rng, n = self.rng, self.rng.choice([0, 1, 2, 3, 4, 5, 8, 12, 20])
        of = rng.choice(["bf16", "f16", "float(6, 9)", "decimal(3)", "mp(60)", "rational", "bf16 round up", "f64 round down", "f32 round zero",
                         "bf16 accumulate f32", "f32 accumulate f64", "decimal(3) accumulate decimal(9)"])
        matrix = Matrix(rng, (n, n), "f64" if of[0] != "b" and "accumulate" in of else None, finite=True)
        whole = matrix.text.replace("1e3", "10.0")          # 0 times an infinity is left out
        if rng.random() < 0.6:
            whole += f" + {rng.choice(['3', '0.5', '10'])} * speye({n})"
        if rng.random() < 0.2:
            whole = f"{rng.choice(['tril', 'triu'])}({whole})"
        b = f"cos(arange({n}) * 1.0)" if rng.random() < 0.5 else f"dense({self.finite((n, rng.choice([0, 1, 3])))}) / 100"
        if of == "rational":
            b = f"arange({n}) - 2"
        f = rng.choice(["A \\ b", "A \\ b", "det(A)" if of not in ("f16", "float(6, 9)") else "A \\ b"] + ["slogdet(A)"] * (of != "rational"))
        return f"{{ W = {whole}; A = if issparse(X) {{ W }} else {{ dense(W) }}; b = {b}; precision {of} {{ return {f} }} }}", False, False

    def case(self):
        r = self.rng.random()
        if r >= 0.96:
            return self.system()
        if r < 0.3:
            return f"X[{self.subscripts()}]", True, False
        return (self.store() if r < 0.55 else self.blocks() if r < 0.67 else self.triangle() if r < 0.74 else
                self.reduction() if r < 0.87 else self.norm() if r < 0.92 else self.rest())


class Case:
    def __init__(self, rng):
        maker = Maker(rng)
        self.matrix = maker.matrix.text
        self.body, self.keeps, self.near = maker.case()

    def script(self, n):
        body = self.body if self.body.startswith("{") else f"{{ return {self.body} }}"
        yes = lambda b: "true" if b else "false"
        return f"fn case_{n}(X) {body}\ncheck({n}, {self.matrix}, case_{n}, {yes(self.keeps)}, {yes(self.near)})\n"


def run(ricci, script, seconds=120):
    return answered.run(ricci, HEAD + script, seconds)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--cases", type=int, default=1000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--ricci", default=os.environ.get("RICCI", "build/ricci"))
    p.add_argument("--show", type=int, default=10, help="failing cases to print")
    p.add_argument("--batch", type=int, default=200)
    a = p.parse_args()
    print(f"sparse matrices: seed {a.seed}, {a.cases} cases", flush=True)
    rng, failures = random.Random(a.seed), []
    for first in range(0, a.cases, a.batch):
        batch = [Case(rng) for _ in range(min(a.batch, a.cases - first))]
        found = answered.answers(run(a.ricci, "".join(c.script(first + n) for n, c in enumerate(batch)))[0])
        for n, case in enumerate(batch, first):
            got = found.get(str(n))
            if got is None:
                stdout, stderr, status = run(a.ricci, case.script(n), 20)
                got = answered.answers(stdout).get(str(n), f"no answer (exit {status}): {stderr.strip()[-300:]}")
            if got.split("\n")[0] != "same":
                failures.append((case, n, got))
    failures.sort(key=lambda f: len(f[0].script(0)))
    for case, n, wrong in failures[:a.show]:
        print(f"FAIL case {n}: {wrong}\n" + "\n".join("    " + l for l in case.script(n).splitlines()))
    print(f"{a.cases - len(failures)} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
