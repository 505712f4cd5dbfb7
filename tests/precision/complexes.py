"""Complex numbers in scopes of binary formats: the textbook formulas in real operations, each of
them rounded. One expression per program; formats whose ordinary kernels may run are left out."""
import re

import formats
import programs
from formats import Fraction, Unclear

EXPRESSIONS = ["u + v", "u - v", "u * v", "u / v", "-u", "u * 0.3", "u[0] * v[1]", "u[0] / v[1]", "abs(u)", "sum(u)", "prod(u)", "u · v", "u @ v",
               "(sum[i] u[i] * v[i])", 'einsum("i,i->", u, v)']


class Complex:
    def __init__(self, rng):
        while True:
            f = rng.choice(list(formats.NAMED.values()) + [formats.mini(rng.randint(3, 10), rng.randint(2, 52))])
            self.scope = programs.Scope(f, rng.choice(formats.MODES), f if rng.random() < 0.6 else None)
            self.scope.reproducible = not self.scope.ordered()
            self.u = [(round(rng.uniform(-3, 3), 3), round(rng.uniform(-3, 3), 3)) for _ in range(3)]
            self.v = [(round(rng.uniform(-3, 3), 3), round(rng.uniform(-3, 3), 3)) for _ in range(3)]
            self.expression = rng.choice(EXPRESSIONS)
            ordinary = f.name in ("f32", "f64") and self.scope.mode == "nearest"
            if ordinary and ("/" in self.expression or "abs" in self.expression):
                continue
            try:
                self.wanted = self.value()
                return
            except Unclear:
                pass

    def value(self):
        r, s = self.scope.rules, self.scope.sums
        u, v = ([(r.load(a), r.load(b)) for a, b in rows] for rows in (self.u, self.v))
        pairs = list(zip(u, v))
        e = self.expression
        if e == "abs(u)":
            return [(r.sqrt(r.add(r.mul(a, a), r.mul(b, b))), 0.0) for a, b in u]
        if e in ("u + v", "u - v"):
            op = r.add if e == "u + v" else r.sub
            return [(op(x[0], y[0]), op(x[1], y[1])) for x, y in pairs]
        single = {"u * v": lambda: [times(r, *p) for p in pairs], "u / v": lambda: [over(r, *p) for p in pairs],
                  "-u": lambda: [(-a, -b) for a, b in u], "u[0] * v[1]": lambda: [times(r, u[0], v[1])], "u[0] / v[1]": lambda: [over(r, u[0], v[1])],
                  "u * 0.3": lambda: [times(r, x, (r.load(Fraction("0.3")), 0.0)) for x in u]}
        if e in single:
            return single[e]()
        if e == "prod(u)":
            total = times(s, times(s, u[0], u[1]), u[2])
        else:
            terms = [(s.load(a), s.load(b)) for a, b in u] if e == "sum(u)" else \
                [times(s, (x[0], -x[1]) if "·" in e else x, y) for x, y in pairs]
            total = terms[0]
            for t in terms[1:]:
                total = (s.add(total[0], t[0]), s.add(total[1], t[1]))
        return [total if s is r else (r.load(total[0]), r.load(total[1]))]

    def script(self, number):
        rows = ["[" + ", ".join(f"{a}{b:+}i" for a, b in x) + "]" for x in (self.u, self.v)]
        return (f"try {{ u = {rows[0]}; v = {rows[1]}; z = {self.scope.header()} {{ {self.expression} }}\n"
                f'    print("@c{number}", repr(f64(flatten(real(z)))), repr(f64(flatten(imag(z))))) }} catch e {{ print("@c{number} error", e.message) }}\n')

    def compare(self, got):
        parts = re.findall(r"\[(.*?)\]", got or "")
        if len(parts) == 2:
            rows = list(zip(*([float(t) for t in p.split(", ")] for p in parts)))
            if len(rows) == len(self.wanted) and all(alike(a, b) for w, g in zip(self.wanted, rows) for a, b in zip(w, g)):
                return None
        return f"{self.wanted} was expected, got {got}"


def alike(a, b):
    return a == b or (a != a and b != b)


def times(r, x, y):
    return (r.sub(r.mul(x[0], y[0]), r.mul(x[1], y[1])), r.add(r.mul(x[0], y[1]), r.mul(x[1], y[0])))


def over(r, x, y):
    d = r.add(r.mul(y[0], y[0]), r.mul(y[1], y[1]))
    return (r.div(r.add(r.mul(x[0], y[0]), r.mul(x[1], y[1])), d), r.div(r.sub(r.mul(x[1], y[0]), r.mul(x[0], y[1])), d))
