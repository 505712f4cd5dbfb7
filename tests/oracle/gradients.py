#!/usr/bin/env python3
"""Random differentiable programs: their gradients against each other and against differences.

    gradients.py [--cases N] [--seed S] [--ricci PATH] [--show N] [--keep FILE]

A case is a function of a scalar, a tensor or a named tuple, on operands away from kinks. The slope along
a random direction must be the same in reverse mode (grad), forward mode (jvp) and as a central difference:
in `precision mp(200)` where the program runs in it, else in f64 by two steps, whose disagreement bounds
it. A part of the cases does the same to the gradient itself: hessian, forward over reverse, differences.
Where the left and right differences disagree there is a kink: then the two modes alone are compared.
What does not run without a gradient counts as skipped. Ends with `N passed, N failed`."""
import argparse
import math
import os
import random
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
import answered

HEAD = """fn total(g, v) {
    if type(v) != "tuple" { return (sum(g * v), sum(abs(g * v))) }
    a = 0.0; b = 0.0
    for n in 0:len(v) { s, t = total(g[n], v[n]); a += s; b += t }
    a, b
}
fn close(a, b, size) { abs(a - b) <= 1e-8 * (1e-3 + size) }
fn three(f, at, h) { (f(at(-h)), f(at(0.0)), f(at(h))) }
fn slopes(f, at) {
    try {
        precision mp(200) {
            h = 1e-16
            a, b, c = three(f, at, h)
            return (f64((c - a) / (2*h)), f64(norm(flatten((c - 2*b + a) / h))), 0.0, true)
        }
    } catch e { none }
    a, b, c = three(f, at, 1e-3)
    d, _, e = three(f, at, 5e-4)
    coarse = (c - a) / 2e-3
    fine = (e - d) / 1e-3
    ((4*fine - coarse) / 3, norm(flatten((e - 2*b + d) / 5e-4)), norm(flatten(fine - coarse)) / 3 + 1e-11 * norm(flatten(b)), false)
}
fn agree(id, what, f, at, rev, fwd, size) {
    if not close(rev, fwd, size) { print("@{id} differ {what}: reverse {rev} forward {fwd}"); return false }
    d, bend, slack, exact = slopes(f, at)
    if bend > (if exact { 1e-8 } else { 0.05 }) * (1 + size) { print("@{id} kink"); return false }
    if abs(rev - d) > 1e-8 * (1e-3 + size) + slack { print("@{id} differ {what}: modes {rev} difference {d} mp {exact}"); return false }
    true
}

fn check(id, f, at, v, second) {
    x = at(0.0)
    try { y = f(x) } catch e { print("@{id} skip", e.kind, join(split(e.message, "\\n"), " ")); return none }
    if not isfinite(y) or abs(y) > 1e6 { print("@{id} skip large"); return none }
    try {
        r = value_and_grad(f)(x)
        t = jvp(f, x, v)
        if r.value != y or t.value != y { print("@{id} differ value {y} {r.value} {t.value}"); return none }
        s, size = total(r.grad, v)
        if not isfinite(s) or size > 1e6 { print("@{id} skip steep"); return none }
        if not agree(id, "slope", f, at, s, t.tangent, size) { return none }
        if second {
            u = x -> total(grad(f)(x), v)[0]
            s2, size2 = total(grad(u)(x), v)
            f2 = jvp(u, x, v).tangent
            if not isfinite(s2) or size2 > 1e6 { print("@{id} skip steep"); return none }
            if not agree(id, "curvature", u, at, s2, f2, size2 + size) { return none }
            if type(v) != "tuple" {
                H = hessian(f)(x)
                w = flatten(v)
                q = w @ reshape(H, (len(w), len(w))) @ w
                if not close(q, s2, size2 + size) { print("@{id} differ hessian: {q} {s2}"); return none }
            }
        }
        print("@{id} same")
    } catch e {
        if contains("only through", e.message) { print("@{id} skip", e.message); return none }
        print("@{id} error", e.kind, join(split(e.message, "\\n"), " "), e.where)
    }
}
"""
UNARY = ["sin({})", "cos({})", "tanh({})", "exp(-{}^2)", "sqrt(1 + {}^2)", "log(2 + {}^2)", "sigmoid({})", "atan({})",
         "relu({})", "abs({})", "{}^2", "{}^3 / 4", "-{}", "softplus({})", "clamp({}, -0.713, 0.913)", "gelu({})",
         "expm1({} / 3)", "asinh({})", "erf({})", "1 / (1.5 + {}^2)", "(1 + {}^2)^0.75", "silu({})", "cosh({} / 2)",
         "log1p({}^2)", "{} * 0.7", "{} + 0.3", "cbrt(2 + sin({}))", "acos({} / (2 + {}^2))", "1.3^{}", "2 * {}"]
BINARY = ["{} + {}", "{} - {}", "{} * {}", "{} * {}", "{} / (2 + {}^2)", "maximum({}, {})", "minimum({}, {})",
          "where({} > {}, {c}, 0.5)", "hypot({}, 1 + {}^2)", "atan2({}, 2 + cos({}))", "(1 + {}^2)^sin({})",
          "where({c} > 0.217, {}, {})", "fma({}, {}, {c})"]


def number(rng):
    return f"{rng.choice([-1, 1]) * rng.randrange(101, 1700) / 1000}"


def element(rng):
    """A digit more than constants have, so that none is at the threshold of a step or a kink: where several kinks meet,
    a function may be smooth and differences see none, but its derivative is what each of them was told to have."""
    return f"{float(number(rng)):.3f}7"


def literal(rng, shape):
    if not shape:
        return element(rng)
    n = math.prod(shape)
    flat = "[" + ", ".join(element(rng) for _ in range(n)) + "]"
    return flat if len(shape) == 1 else f"reshape({flat}, {shape_text(shape)})"


def shape_text(shape):
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


class Program:
    """The body of one function; names holds the shape of each variable so far."""

    def __init__(self, rng):
        self.rng, self.lines, self.names, self.count = rng, [], {}, 0

    def new(self, shape, text):
        name = f"y{self.count}"
        self.count += 1
        self.lines.append(f"{name} = {text}")
        self.names[name] = tuple(shape)
        return name

    def pick(self, good=lambda s: True):
        found = [n for n, s in self.names.items() if good(s)]
        if not found:
            return None
        return self.rng.choice(found[-6:] if self.rng.random() < 0.6 else found)

    def want(self, rank, least=1):
        """A variable of that rank, made if there is none."""
        name = self.pick(lambda s: len(s) == rank and all(n >= least for n in s))
        if name and self.rng.random() < 0.9:
            return name
        shape = tuple(self.rng.choice([2, 3, 4]) for _ in range(rank))
        base = self.pick(lambda s: s == ()) or self.scalar()
        return self.new(shape, f"{literal(self.rng, shape)} * {base} + {literal(self.rng, shape)}")

    def scalar(self):
        name = self.pick()
        return self.new((), f"mean({name})")

    def square(self):
        name = self.pick(lambda s: len(s) == 2 and s[0] == s[1])
        if name:
            return name, self.names[name][0]
        a = self.want(2)
        n = self.names[a][0]
        return self.new((n, n), f"{a} @ {a}' / 2"), n

    def leaf(self, shape):
        """Something that broadcasts to shape."""
        rng = self.rng
        def fits(s):
            return len(s) <= len(shape) and all(a in (1, b) for a, b in zip(s[::-1], shape[::-1]))
        if rng.random() < 0.12:
            return literal(rng, shape if rng.random() < 0.3 else ())
        name = self.pick(lambda s: s == shape) if rng.random() < 0.6 else self.pick(fits)
        return name or number(rng)

    def expression(self, shape, depth=None):
        rng = self.rng
        if depth is None:
            depth = rng.choice([1, 2, 2, 3])
        if depth == 0 or rng.random() < 0.1:
            return self.leaf(shape)
        if rng.random() < 0.45:
            return "(" + rng.choice(UNARY).replace("{}", self.atom(self.expression(shape, depth - 1))) + ")"
        a, b, c = (self.atom(self.expression(shape, depth - 1)) for _ in range(3))
        return "(" + rng.choice(BINARY).format(a, b, c=c) + ")"

    def atom(self, text):
        return f"({text})" if text.startswith("-") else text

    # ---- statements ----

    def elementwise(self):
        shape = self.names[self.pick()]
        name = self.pick(lambda s: s == shape)
        self.new(shape, f"{name} * 0.5 + {self.expression(shape)}")

    def broadcast(self):
        a, b = self.want(1), self.want(1)
        n, m = self.names[a][0], self.names[b][0]
        self.new((n, m), self.rng.choice(["{}[:, none] * sin({})", "{}[:, none] + {} / 2", "outer({}, {})", "tanh({}[:, none] - {}[none])"]).format(a, b))

    def reduction(self):
        rng = self.rng
        name = self.pick(lambda s: len(s) >= 1)
        if not name:
            return self.elementwise()
        shape = self.names[name]
        f = rng.choice(["sum", "mean", "max", "min", "prod", "var", "std", "norm", "logsumexp", "median"])
        if rng.random() < 0.35:
            return self.new((), f"{f}({name})")
        axis = rng.randrange(len(shape))
        keep = rng.random() < 0.4
        if f == "std" and shape[axis] < 2 or f == "norm" and keep:
            f = "sum"
        rest = shape[:axis] + ((1,) if keep else ()) + shape[axis + 1:]
        written = axis if rng.random() < 0.7 else axis - len(shape)
        self.new(rest, f"{f}({name}, axis={written}{', keepdims=true' if keep else ''})")

    def scan(self):
        name = self.pick(lambda s: len(s) >= 1)
        if not name:
            return self.reduction()
        shape = self.names[name]
        axis = self.rng.randrange(len(shape))
        f = self.rng.choice(["cumsum", "cumprod", "softmax", "sort", "flip"])
        self.new(shape, f"{f}({name}, axis={axis})")

    def shaping(self):
        rng = self.rng
        name = self.pick(lambda s: len(s) >= 1)
        if not name:
            return self.elementwise()
        s = self.names[name]
        kind = rng.randrange(12)
        if kind == 0:
            self.new((math.prod(s),), f"flatten({name})")
        elif kind == 1:
            self.new(s[::-1], f"transpose({name})")
        elif kind == 2 and math.prod(s) <= 24:
            self.new((2,) + s, f"stack({name}, {self.expression(s, 1)} * ones({shape_text(s)}))")
        elif kind == 3 and math.prod(s) <= 24:
            self.new((2 * s[0],) + s[1:], f"concat({name}, {name}^2)")
        elif kind == 4:
            self.new(s, f"roll({name}, {rng.choice([1, -1, 2])}, axis=0)")
        elif kind == 5 and len(s) == 2:
            self.new(s, f"{rng.choice(['triu', 'tril'])}({name}, {rng.choice([-1, 0, 1])})")
        elif kind == 6 and len(s) == 1:
            self.new(s * 2, f"diag({name})")
        elif kind == 7 and len(s) == 2:
            self.new((min(s),), f"diag({name})")
        elif kind == 8 and math.prod(s) <= 16:
            self.new((3,) + s, f"broadcast_to({name}, {shape_text((3,) + s)})")
        elif kind == 9 and math.prod(s) <= 12:
            self.new((2 * s[0],) + s[1:], f"repeat({name}, 2, axis=0)")
        elif kind == 10 and s[0] >= 2:
            self.new((s[0] - 1,) + s[1:], f"diff({name}, axis=0)")
        else:
            self.new((s[0],) + (math.prod(s[1:]),), f"reshape({name}, {shape_text((s[0], math.prod(s[1:])))})")

    def subscript(self, n):
        """(text, length or None) for one axis of length n."""
        rng = self.rng
        r = rng.random()
        if r < 0.25:
            return str(rng.randrange(-n, n)), None
        if r < 0.45:
            return ":", n
        if r < 0.6:
            a = rng.randrange(n)
            b = rng.randrange(a + 1, n + 1)
            return f"{a}:{b}", b - a
        if r < 0.7:
            return "::-1", n
        if r < 0.8:
            return "::2", (n + 1) // 2
        k = rng.choice([1, 2, 3, 4])
        return "[" + ", ".join(str(rng.randrange(n)) for _ in range(k)) + "]", k

    def place(self, s, lists=1):
        """Subscripts of a tensor of shape s and the shape of what they take."""
        while True:
            parts = [self.subscript(n) for n in s[:self.rng.randrange(1, len(s) + 1)]]
            if sum(t.startswith("[") for t, _ in parts) <= lists and \
                    not (any(t.startswith("[") for t, _ in parts) and any(n is None for _, n in parts)):
                break
        shape = tuple(n for _, n in parts if n is not None) + tuple(s[len(parts):])
        return ", ".join(t for t, _ in parts), shape

    def reading(self):
        name = self.pick(lambda s: len(s) >= 1)
        if not name:
            return self.elementwise()
        if self.rng.random() < 0.12:
            return self.new((), f"sum({name}[{name} > {number(self.rng)}]^2)")
        text, shape = self.place(self.names[name])
        self.new(shape, f"{name}[{text}]")

    def store(self):
        rng = self.rng
        name = self.pick(lambda s: len(s) >= 1)
        if not name:
            return self.broadcast_scalar()
        s = self.names[name]
        if rng.random() < 0.7:
            base = rng.choice([name, name, name, f"{name}^2", f"zeros({shape_text(s)})"])
            name = self.new(s, base)
        op = rng.choice(["=", "=", "+=", "+=", "-=", "*=", "/="])
        value = lambda shape: self.expression(shape, 1)
        if rng.random() < 0.25:
            if rng.random() < 0.3:
                c = number(rng)
                self.lines.append(f"{name}[{name} > {c}] {op if op != '/=' else '*='} {name}[{name} > {c}] * 0.4 + {self.leaf(())}")
            else:
                bound = number(rng)
                right = self.atom(self.leaf(()))
                self.lines.append(f"{name}[{self.pick(lambda t: t == s)} > {bound}] {op} " + (f"(2 + {right}^2)" if op == "/=" else right))
            return
        text, shape = self.place(s)
        if "[" in text and op in ("*=", "/="):
            op = "+="
        right = self.atom(value(shape if rng.random() < 0.7 else ()))
        self.lines.append(f"{name}[{text}] {op} " + (f"(2 + {right}^2)" if op == "/=" else right))

    def broadcast_scalar(self):
        name = self.pick(lambda s: s == ())
        self.new((3,), f"[{name}, {name}^2 / 2, sin({name})]")

    def tuples(self):
        rng = self.rng
        a, b = self.pick(), self.pick(lambda s: len(s) >= 1) or self.want(1)
        t = f"t{self.count}"
        self.count += 1
        self.lines.append(f"{t} = (a={a}, b=({b}, {self.leaf(())}), n=3)")
        r = rng.randrange(4)
        s = self.names[b]
        if r == 0:
            self.lines.append(f"{t}.a = {t}.a * sin({t}.a)")
        elif r == 1:
            self.lines.append(f"{t}.b[0][{rng.randrange(s[0])}] += {self.leaf(())}")
        elif r == 2:
            self.lines.append(f"{t}.c = {t}.b[0] * {t}.b[1]")
            self.new(s, f"{t}.c")
        else:
            self.lines.append(f"u = {t}; u.a = 0.0; {t}.a += u.b[1]")
        self.new(self.names[a], f"{t}.a / {t}.n")
        self.new(s, f"{t}.b[0] * {t}.b[1]")

    def notation(self):
        rng = self.rng
        kind = rng.randrange(20)
        y = f"y{self.count}"
        self.count += 1
        def put(shape, text):
            self.names[y] = tuple(shape)
            self.lines.append(text.replace("Y", y))
        if kind < 4:
            A = self.want(2)
            n, m = self.names[A]
            B = self.pick(lambda s: len(s) == 2 and s[0] == m) or self.new((m, 2), literal(rng, (m, 2)))
            p = self.names[B][1]
            put(*rng.choice([((n, p), f"Y[i,k] := {A}[i,j] * {B}[j,k]"), ((p, n), f"Y[k,i] := {A}[i,j] * {B}[j,k] - {A}[i,m]^2 * {B}[m,k]"),
                             ((), f"Y := {A}[i,j] * {B}[j,k]^2 * {A}[i,j] / (1 + {B}[j,k]^2)"),
                             ((n,), f"Y[i] := sum[k](max[j]({A}[i,j] * {B}[j,k]))"),
                             ((n, p), f"Y[i,k] := sum[j](({A}[i,j] - {B}[j,k])^2) / {m}"),
                             ((n, p), f"Y[i,k] := min[j]({A}[i,j] + {B}[j,k])"),
                             ((n,), f"Y[i] := mean[j, k]({A}[i,j] * sin({B}[j,k]))"),
                             ((n, m, p), f"Y[i,j,k] := {A}[i,j] + {B}[j,k] * i - k * {A}[i,j]^2 / 4")]))
        elif kind < 8:
            x, w = self.want(1, 3), self.want(1)
            n, k = self.names[x][0], self.names[w][0]
            forms = [((n,), f"Y[n] := {x}[pad(n+k-1)] * {w}[k] for n in 0:{n}"), ((n,), f"Y[n] := {x}[clamp(n+k-1)] * {w}[k] for n in 0:{n}"),
                     ((n,), f"Y[n] := {x}[mod(n-k)] * {w}[k] for n in 0:{n}"), ((n,), f"Y[n] := {x}[{n - 1}-n] * {x}[n]"),
                     (((n + 1) // 2,), f"Y[n] := {x}[2*n]^2 for n in 0:{(n + 1) // 2}"), ((n, k), f"Y[n,k] := {x}[n] / (1.5 + {w}[k]^2)"),
                     ((), f"Y := sum[i]({x}[i]^2 * i)"), ((n,), f"Y[i] := exp({x}[i]) / sum[j](exp({x}[j]))"),
                     ((n,), f"Y[i] := where({x}[i] > 0.117, {x}[i]^2, sin({x}[i]))"), ((), f"Y := prod[i]({x}[i])"),
                     ((n,), f"Y[i] := maximum({x}[i], 0.2) * prod[k]({w}[k])"), ((n,), f"Y[i] := {x}[i] * max[j]({x}[j])")]
            if k <= n:
                forms += [((n - k + 1,), f"Y[n] := {x}[n+k] * {w}[k]"), ((n - k + 1,), f"Y[n] := max[k]({x}[n+k] * {w}[k])")]
            put(*rng.choice(forms))
        elif kind < 11:
            E = self.want(2)
            n, d = self.names[E]
            where = [rng.randrange(n) for _ in range(rng.choice([2, 3, 5]))]
            other = [rng.randrange(d) for _ in where]
            self.lines.append(f"g{y} = {where}; h{y} = {other}")
            m = len(where)
            v = self.want(1)
            k = self.names[v][0]
            add = [rng.randrange(2) for _ in range(k)]
            put(*rng.choice([((m, d), f"Y[n,d] := {E}[g{y}[n], d]"), ((m,), f"Y[n] := {E}[g{y}[n], h{y}[n]]^2"),
                             ((m,), f"Y[n] := {E}[g{y}[n], d] * {E}[g{y}[n], d]"), ((d,), f"Y[d] := sum[n]({E}[g{y}[n], d]^2)"),
                             ((2,), f"Y = zeros(2); k{y} = {add}; Y[k{y}[i]] += sin({v}[i])"),
                             ((2,), f"Y = [{self.leaf(())}, 1.0]; k{y} = {add}; Y[k{y}[i]] += {v}[i]^2")]))
        elif kind < 13:
            A, n = self.square()
            put(*rng.choice([((), f"Y := {A}[i,i]"), ((n,), f"Y[i] := {A}[i,i]^2"), ((n, n), f"Y[i,j] := {A}[j,i] * {A}[i,i]"),
                             ((n, n), f"Y[i,j] := where(i == j, {A}[i,j], {A}[j,i]^2)"), ((n, n), f"Y[i,k] := {A}[i,j] * {A}[k,j] / 2")]))
        elif kind < 16:
            A = self.want(2)
            n, m = self.names[A]
            put(*rng.choice([((n, n), f'Y = einsum("ij,kj->ik", {A}, {A}) / 3'), ((m,), f'Y = einsum("ij->j", {A})'), ((n, m), f'Y = einsum("ij,ij->ij", {A}, {A})'),
                             ((), f'Y = einsum("ij,ij->", {A}, {A})'), ((m, n), f'Y = einsum("ij->ji", {A})'), ((n,), f'Y = einsum("ij,kj,kl->i", {A}, {A}, {A}) / 8'),
                             ((n, m, n), f'Y = einsum("...j,kj->...jk", {A}, {A})')]))
        else:
            A = self.want(2)
            n, m = self.names[A]
            put(*rng.choice([((n, m), f"Y = [{A}[i,j] * i - j * {A}[i,j]^2 / 3 for i, j]"), ((n,), f"Y[i] := sqrt(1 + sum[j]({A}[i,j]^2))"),
                             ((n, m), f"q{y} = v -> v^2 + sin(v); Y[i,j] := q{y}({A}[i,j]) / 2"), ((n,), f"Y[i] := sum[j](exp(-({A}[i,j] - {number(rng)})^2))"),
                             ((n, m), f"Y[i,j] := exp({A}[i,j]) / sum[k](exp({A}[i,k]))"), ((n, m), f"Y[i,j] := {A}[i,j]^2 / (1 + sum[k]({A}[k,j]^2))"),
                             ((n,), f"Y[i] := prod[j]({A}[i,j])"), ((n - 1, m), f"Y[i,j] := {A}[i+1,j] - {A}[i,j] for i in 0:{n - 1}") if n > 1 else ((n, m), f"Y[i,j] := 2^{A}[i,j]")]))

    def linear(self):
        rng = self.rng
        A, n = self.square()
        S = self.new((n, n), f"tanh({A}) / {2 * n}.0 + diag([{', '.join(str(round(1 + 0.37 * i, 2)) for i in range(n))}])")
        if rng.random() < 0.5:
            P = self.new((n, n), f"({S} + {S}') / 2")
        else:
            P = self.new((n, n), f"{S} @ {S}'")
        v = self.pick(lambda s: s == (n,)) or self.new((n,), f"{A}[0]")
        one = rng.choice(["S \\ v", "solve(S, v)", "S @ v", "v @ S", "eigvalsh(P)", "svdvals(S)", "diag(chol(P))", "expm(S / 3) @ v", "sqrtm(P) @ v", "lu(S)[2] @ v",
                          "eigh(P)[1]^2 @ v", "lstsq(S, v)[0]", "logm(P) @ v", "diag(qr(S)[1])", "qr(S)[0] @ v"])
        two = rng.choice(["inv(S)", "S @ P", "matpow(S, 2)", "chol(P)", "pinv(S)", "S \\ P", "matpow(S, -1)", "S @ S'", "outer(v, v)", "svd(S)[0] @ diag(svd(S)[1]) @ svd(S)[2]"])
        nil = rng.choice(["det(S)", "slogdet(P).logdet", "trace(S @ P)", "norm(S)", "v' @ P @ v", "v · v", "norm(v)", "norm(S, 2)", 'norm(S, "nuc")', "cond(S)"])
        text, shape = rng.choice([(one, (n,)), (two, (n, n)), (nil, ())])
        text = re.sub(r"\b[SPv]\b", lambda m: {"S": S, "P": P, "v": v}[m[0]], text)
        self.new(shape, text)

    def loop(self):
        rng = self.rng
        kind = rng.randrange(8)
        y = f"y{self.count}"
        self.count += 1
        if kind < 3:
            x = self.want(1, 2)
            n = self.names[x][0]
            text = rng.choice([f"{y} = zeros({n}); {y}[0] = {x}[0]; for i in 1:{n} {{ {y}[i] = sin({y}[i - 1]) + {x}[i] * {y}[i - 1] / 2 }}",
                               f"{y} = {x}; for i in 1:{n} {{ {y}[i] += {y}[i - 1] * {x}[-1] }}",
                               f"{y} = {x}; for i in 0:{n - 1} {{ if {y}[i] > {number(rng)} {{ {y}[i + 1] = {y}[i] * {x}[0] }} else {{ {y}[i] -= {x}[i + 1]^2 }} }}",
                               f"{y} = {x}; for i in 0:{n} {{ {y}[i], {y}[0] = {y}[0], {y}[i] * 1.1 }}",
                               f"{y} = [sin(v) * {x}[0] for v in {x}]"])
            shape = (n,)
        elif kind < 5:
            x, shape = self.pick(lambda s: len(s) >= 1) or self.want(1), ()
            text = f"{y} = 0.3; for v in {x} {{ {y} = tanh({y} * {self.leaf(())} + sum(v)) }}"
        elif kind == 5:
            x = self.pick()
            shape = self.names[x]
            text = f"{y} = {x}; k = 0; while true {{ k += 1; if k > {rng.choice([2, 3])} {{ break }}; {y} = {y} * 0.5 + {self.expression(shape, 1)} }}"
        elif kind == 6:
            x = self.pick()
            shape = self.names[x]
            text = f"{y} = if sum({x}) > {number(rng)} {{ sin({x}) }} else {{ {x}^2 }}"
        else:
            x, shape = self.want(1), ()
            text = rng.choice([f"{y} = reduce((a, b) -> a * sin(b) + b, {x})", f"{y} = sum(map(v -> v^2 / 2, {x}))", f"try {{ {y} = sum({x}); throw \"no\" }} catch e {{ {y} = {x}[0]^2 }}"])
        self.lines.append(text)
        self.names[y] = shape

    def nested(self):
        rng = self.rng
        x = self.pick()
        s = self.names[x]
        c = self.leaf(())
        inner = Program(rng)
        inner.names = {"z": s}
        body, alone = inner.expression(s, 2), inner.expression(s, 2)
        f = f"z -> sum({body} * {x}{' * z' if rng.random() < 0.5 else ''}) * {c}"
        text, shape = rng.choice([(f"grad({f})({x})", s), (f"jvp({f}, {x}, {x}^2).tangent", ()), (f"vjp(z -> {body} * z, {x}, {x}).grad", s),
                                  (f"checkpoint(z -> {alone} * {number(rng)})({x})", None), (f"grad({f})(sin({x}))", s), (f"value_and_grad({f})({x}).value", ()),
                                  (f"grad(z -> jvp({f}, z, {x}).tangent)({x})", s)])
        if shape is None:
            text, shape = f"({text}) * ones({shape_text(s)})" if s else text, s
        self.new(shape, f"0.3 * {text}")

    def complex(self):
        rng = self.rng
        x = self.pick()
        s = self.names[x]
        y = self.pick(lambda t: t == s)
        a, b = f"({x} + 1i * sin({y}))", f"(2 - {y} * {number(rng)}i)"
        text = rng.choice(["abs(a * b)", "real(a / b)", "imag(a * conj(b))", "real(exp(a * 0.5) * b)", "angle(b)", "abs(a)^2", "real(sqrt(b))", "imag(b^2 * a)",
                           "real(log(b)) + imag(a)", "imag(sin(a))", "real(tanh(a / 2))", "abs(b) * real(cos(a))", "abs(where(real(a) > 0.117, a, b))^2"])
        self.new(s, re.sub(r"\b[ab]\b", lambda m: {"a": a, "b": b}[m[0]], text))

    def signals(self):
        rng = self.rng
        x, w = self.want(1, 2), self.want(1)
        n, k = self.names[x][0], self.names[w][0]
        self.new(*rng.choice([((n + k - 1,), f"conv({x}, {w})"), ((n,), f"real(fft({x}))"), ((n,), f"abs(ifft({x}) + 3)"), ((n // 2 + 1,), f"imag(rfft({x})) + real(rfft({x}))"),
                              ((n,), f"irfft(rfft({x}) * 1.5, {n})"), ((), f"abs(fft({x})[1])^2"), ((), f"quantile({x}, 0.3)"), ((n + 3,), f"pad({x}, (1, 2))"),
                              ((2 * n,), f"tile({x}, 2)"), ((n * k,), f"kron({x}, {w})"), ((3,), f"take({x}, [0, {n - 1}, 0])"), ((), f"cov({x})"),
                              ((n,), f"interp({x} / 3, [-9.0, -0.31, 0.47, 9], [1, -0.5, 2, 0.3])"), ((n,), f"where([{', '.join(rng.choice(['true', 'false']) for _ in range(n))}], {x}, {x}^2)"),
                              ((n,), f"nansum(stack({x}, {x}^2), axis=0)"), ((n,), f"sort({x}, descending=true)"), ((), f"median({x})"), ((n, n), f"cov(stack({', '.join([f'{x} * {x}[{i}]' for i in range(n)])}))" if n > 1 else f"outer({x}, {x})")]))

    def places(self):
        """Ways to read and write of which `place` makes none."""
        rng = self.rng
        A = self.want(2, 2)
        n, m = self.names[A]
        i, j, k, l = rng.randrange(n), rng.randrange(m), rng.randrange(n), rng.randrange(m)
        c = self.leaf(())
        reads = [((2,), f"{A}[[{i}, {k}], [{j}, {l}]]"), ((n,), f"{A}[..., {j}]"), ((n, 1, m), f"{A}[:, none]"), ((2, 2, m), f"{A}[[{i}, {k}; {k}, {k}]]"),
                 ((1, m), f"{A}[{i}:{i + 1}]"), ((), f"sum({A}[{A} < {number(rng)}])"), ((n,), f"sum({A}[:, [{j}, {l}]], axis=1)"), ((m,), f"{A}'[:, {i}]")]
        if rng.random() < 0.4:
            return self.new(*rng.choice(reads))
        y = self.new((n, m), rng.choice([A, f"{A} * 2", f"zeros(({n}, {m}))", f"{A}[::-1]"]))
        self.lines.append(rng.choice([
            f"{y}[{i}][{j}] = {c}", f"{y}[{i}][{j}] += {A}[{k}, {l}]", f"{y}[[{i}, {k}], [{j}, {l}]] += {A}[{i}, {l}]", f"{y}[[{i}, {k}], [{j}, {l}]] = {A}[[0, 1], [0, 1]]^2",
            f"{y}[..., {j}] *= {A}[..., {l}]", f"{y}[:, [{j}, {l}]] += {c}", f"{y}[{i}] = {y}[{k}] * {A}[{i}]", f"{y}[:] = {A}[{i}]", f"{y}[:, {j}] = {y}[:, {l}] * {y}[:, {j}]",
            f"{y}[{y} > {number(rng)}] = {c}", f"for q in 0:{n} {{ {y}[q] += {y}[{i}] * 0.5 }}", f"for q in 0:{n} {{ {y}[q, {j}] = {A}[q, {l}] * {y}[{i}, {j}] }}",
            f"{y} += {A}; {y} *= {c}; {y}[{i}, {j}] ^= 2", f"{y}[{i}, {j}], {y}[{k}, {l}] = {A}[{k}, {l}], {A}[{i}, {j}]", f"z = {y}; z[{i}] = {c}; {y}[{k}] -= z[{i}] * {y}[{k}]",
            f"b = {A} > {number(rng)}; {y}[b] += {A}[b]^2", f"b = {A}[:, {j}] > {number(rng)}; {y}[b] = {A}[{i}]", f"{y}[[{i}, {i}]] = {A}[[{k}, {i}]]", f"{y}[[{i}, {i}, {k}]] -= {A}[[{k}, {i}, 0]]"]))

    def batched(self):
        rng = self.rng
        A = self.want(2)
        n, m = self.names[A]
        if n * m > 12:
            return self.linear()
        S = self.new((2, n, n), f"stack({A} @ {A}' / 3 + eye({n}), sin({A} @ {A}') / {n + 1}.0 + 2 * eye({n}))")
        P = f"({S} @ transpose({S}, (0, 2, 1)) + eye({n}))"
        v = self.new((2, n), f"stack({A}[:, 0], {A}[:, -1]^2)")
        self.new(*rng.choice([((2, n, n), f"inv({S})"), ((2,), f"det({S})"), ((2, n, m), f"{S} @ {A}"), ((2, n, n), f"chol({P})"), ((2, n), f"eigvalsh({P})"), ((2, n), f"svdvals({S} * [1, 2][:, none, none])"),
                              ((2, n, m), f"solve({S}, broadcast_to({A}, (2, {n}, {m})))"), ((2,), f"trace({S} @ {S})"), ((2, n, n), f"matpow({S}, 2)"), ((2,), f"norm({S}, axis=(1, 2))"),
                              ((2, n, n), f'einsum("bij,bkj->bik", {S}, {S})'), ((2,), f"slogdet({P}).logdet"), ((2, n), f"({S} @ {v}[:, :, none])[:, :, 0]"), ((2, n, n), f"expm({S} / 4)"), ((2, n, n), f"qr({S})[1]^2")]))

    def deeper(self):
        rng = self.rng
        x = self.want(rng.choice([0, 1]))
        s = self.names[x]
        inner = Program(rng)
        inner.names = {"z": s}
        body = inner.expression(s, 2)
        text, shape = rng.choice([(f"grad(z -> sum(grad(z -> sum({body} * z))(z) * {x}))({x})", s), (f"sum(hessian(z -> sum({body} * z^2))({x}), axis=0)" if s else f"hessian(z -> {body} * z^2)({x})", s),
                                  (f"sum(jacobian(z -> {body} * sum(z), mode=\"{rng.choice(['forward', 'reverse'])}\")({x}), axis=0)" if s else f"jacobian(z -> {body} * z)({x})", s),
                                  (f"jvp(z -> grad(z -> sum({body} * z))(z), {x}, sin({x})).tangent", s), (f"grad((p, q) -> sum({body.replace('z', 'p.a')} * p.b * q), wrt=1)((a={x}, b=sum({x})), {x})", s),
                                  (f"grad(t -> sum({body.replace('z', 't.a')} * t.b))((a={x}, b={x}^2)).b", s), (f"checkpoint(z -> {{ for i in 0:3 {{ z = sin(z) * {number(rng)} + z[0] }}; z }})({x})" if s else f"checkpoint(sin)({x})", s),
                                  (f"custom_rule(z -> z^3, vjp=(z, y, w) -> 3 * w * z^2, jvp=(z, t) -> 3 * z^2 * t)({x})", s)])
        self.new(shape, f"0.2 * {text}")

    def statement(self):
        kinds = [(self.elementwise, 5), (self.broadcast, 1), (self.reduction, 3), (self.scan, 1), (self.shaping, 2), (self.reading, 3),
                 (self.store, 5), (self.tuples, 1), (self.notation, 5), (self.linear, 2), (self.loop, 2), (self.nested, 1.5),
                 (self.complex, 1.5), (self.signals, 1.5), (self.places, 3), (self.batched, 1), (self.deeper, 1.5)]
        self.rng.choices([k for k, _ in kinds], [w for _, w in kinds])[0]()


class Case:
    def __init__(self, rng):
        self.second = rng.random() < 0.25
        p = Program(rng)
        shapes = [rng.choice([(), (3,), (4,), (2, 3), (3, 3), (5,), (3, 2), (2, 2, 3)]) for _ in range(rng.choice([1, 1, 1, 2, 3]))]
        at, along = [literal(rng, s) for s in shapes], [literal(rng, s) for s in shapes]
        if len(shapes) == 1 and rng.random() < 0.8:
            self.head = "x"
            p.names = {"x": shapes[0]}
            self.at, self.along = f"{at[0]} + h * {along[0]}", along[0]
        else:
            fields = "abc"[:len(shapes)]
            self.head = "p"
            p.names = {f"p.{f}": s for f, s in zip(fields, shapes)}
            self.at = "(" + ", ".join(f"{f}={a} + h * {v}" for f, a, v in zip(fields, at, along)) + ")"
            self.along = "(" + ", ".join(f"{f}={v}" for f, v in zip(fields, along)) + ")"
        for _ in range(rng.choice([1, 2, 2, 3, 4, 5])):
            p.statement()
        last = list(p.names)[-1]
        rest = [n for n in p.names if n != last and rng.random() < 0.4]
        terms = [f"sum({n} * {literal(rng, p.names[n])})" if math.prod(p.names[n]) <= 40 else f"mean({n}^2)" for n in [last] + rest[:3]]
        self.lines = p.lines + [" + ".join(terms)]

    def script(self, n):
        body = "\n".join("    " + l for l in self.lines)
        return f"fn case_{n}({self.head}) {{\n{body}\n}}\n" \
               f"check({n}, case_{n}, h -> {self.at}, {self.along}, {'true' if self.second else 'false'})\n"


def run(ricci, script, seconds=120):
    return answered.run(ricci, HEAD + script, seconds)


def answers(stdout):
    return {int(tag): rest for tag, rest in answered.answers(stdout).items()}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--cases", type=int, default=1000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--ricci", default=os.environ.get("RICCI", "build/ricci"))
    p.add_argument("--show", type=int, default=10, help="failing cases to print")
    p.add_argument("--skipped", action="store_true", help="prints why cases were skipped")
    p.add_argument("--keep", help="writes the failing cases to this file")
    p.add_argument("--batch", type=int, default=250)
    a = p.parse_args()
    print(f"gradients: seed {a.seed}, {a.cases} cases", flush=True)
    rng, failures, counts = random.Random(a.seed), [], {"same": 0, "skip": 0, "kink": 0}
    for first in range(0, a.cases, a.batch):
        batch = [Case(rng) for _ in range(min(a.batch, a.cases - first))]
        found = answers(run(a.ricci, "".join(c.script(first + n) for n, c in enumerate(batch)))[0])
        for n, case in enumerate(batch, first):
            got = found.get(n)
            if got is None:
                stdout, stderr, status = run(a.ricci, case.script(n), 20)
                got = answers(stdout).get(n, f"no answer (exit {status}): {stderr.strip()[-300:]}")
            word = got.split()[0]
            if word in counts:
                counts[word] += 1
                if a.skipped and word == "skip":
                    print(f"case {n}: {got}\n" + case.script(n))
            else:
                failures.append((case, n, got))
    idle = counts["skip"] + counts["kink"] > 10 + a.cases // 20        # the cases would no longer be worth much
    if idle:
        print(f"FAIL {counts['skip']} cases did not run, and {counts['kink']} are at kinks")
    failures.sort(key=lambda f: len(f[0].script(0)))
    for case, n, wrong in failures[:a.show]:
        print(f"FAIL case {n}: {wrong}\n" + "\n".join("    " + l for l in case.script(n).splitlines()))
    if a.keep and failures:
        with open(a.keep, "w") as f:
            f.write(HEAD + "".join(f"# {w}\n{c.script(n)}" for c, n, w in failures))
    print(f"{counts['skip']} skipped, {counts['kink']} at kinks")
    print(f"{a.cases - len(failures) - counts['skip']} passed, {len(failures) + idle} failed")
    return 1 if failures or idle else 0


if __name__ == "__main__":
    sys.exit(main())
