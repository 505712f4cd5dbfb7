"""Random statements of index notation and random einsum calls, most of them right."""
import dtypes
import tensors

NAMES = ["i", "j", "k", "l", "m", "n", "p", "q", "r", "s2", "t", "α"]
PALETTES = [(["f64"], 30), (["f64", "i64"], 10), (["f32"], 12), (["f32", "i32", "bool"], 6),
            (["i64"], 8), (["i32", "i8", "u8", "i64", "bool"], 8), (["bool"], 5), (["f16"], 3),
            (["bf16", "f16", "f32"], 3), (["c128"], 5), (["c64", "f32"], 4), (["f64", "f32"], 5),
            (["c128", "f64", "i64"], 3), (["u8"], 2), (["i8", "bool"], 2)]
FUNCTIONS = """fn act(v) { maximum(v, 0) + v*2 }
fn mix(u, v) { u*v - u }
fn least(u, v) { where(u < v, u, v) }
"""
REDUCTIONS = ["sum"] * 5 + ["max", "min", "prod", "mean", "argmax", "argmin", "any", "all"]


class Maker:
    """One random case: a statement and what its operands have to look like."""

    def __init__(self, rng):
        self.rng = rng
        self.palette = rng.choices([p for p, _ in PALETTES], [w for _, w in PALETTES])[0]
        self.kind = max(dtypes.kind(d) for d in self.palette)
        self.operands = {}              # name -> (dtype, axes): an axis is ("ext", index) or a length
        self.scalars = {}
        self.extents = {}
        self.fresh = list(NAMES)
        rng.shuffle(self.fresh)
        self.budget = rng.choice([1, 1, 2, 3])      # reductions that may still be opened

    def index(self, big=False):
        name = self.fresh.pop()
        r = self.rng.random()
        self.extents[name] = (0 if r < 0.03 else 1 if r < 0.12 else
                              self.rng.choice([65, 70, 130]) if big and r > 0.93 else self.rng.choice([2, 2, 3, 3, 4, 5, 7]))
        return name

    def left_and_body(self):
        rng = self.rng
        left = [self.index(big=n == 0) for n in range(rng.choice([0, 1, 1, 1, 2, 2, 2, 3]))]
        body = self.sum_of_terms(left, rng.choice([1, 1, 1, 2, 2, 3]))
        self.ranges = {}
        left_ranges = []
        for i in left:
            r = None
            if rng.random() < 0.12:
                n = self.extents[i]
                r = rng.choice([(0, n, 1), (1, n, 1), (0, n, 2), (n - 1, -1, -1), (0, max(n - 1, 0), 1)])
            left_ranges.append((i, r))
        return left_ranges, body

    # ---- expressions that may use the indices `have` ----

    def sum_of_terms(self, have, terms):
        x = self.term(have, whole=True)
        for _ in range(terms - 1):
            x = ("bin", self.rng.choice("++-"), x, self.term(have))
        return x

    def term(self, have, whole=False):
        r = self.rng.random()
        if r < 0.42:
            return self.einstein(have, whole)
        if r < 0.62 and self.budget:
            return self.reduction(have, whole)
        if r < 0.74:
            return self.call(have)
        if r < 0.80:
            return ("neg", self.load(have, whole))
        if r < 0.93:
            return self.quotient(have, whole)
        return self.load(have, whole)

    def einstein(self, have, whole):
        """A product of one to four operands with summed indices."""
        rng = self.rng
        summed = [self.index(big=True) for _ in range(rng.choice([0, 1, 1, 1, 2])) if len(self.fresh) > 3]
        if rng.random() < 0.05 and have:
            summed = []
        n = rng.choice([1, 2, 2, 2, 3, 3, 4])
        holders = [[] for _ in range(n)]
        for i in summed:
            if n == 1:
                holders[0] += [i, i]
            else:
                for p in rng.sample(range(n), 2 + (n > 2 and rng.random() < 0.25)):
                    holders[p].append(i)
        for i in have:
            places = rng.sample(range(n), 1 + (n > 1 and rng.random() < 0.3)) if whole or rng.random() < 0.8 else []
            for p in places:
                holders[p].append(i)
        loads = []
        for h in holders:
            h = h[:4]
            rng.shuffle(h)
            loads.append(self.load_of(h, affine=rng.random() < 0.2))
        parts = [("*", x) for x in loads]
        if rng.random() < 0.15:
            parts.insert(rng.randrange(len(parts)), ("*", self.number()))
        if rng.random() < 0.12 and len(parts) > 1 and self.kind > 1:
            parts[-1] = ("/", self.away_from_zero(parts[-1][1]))
        if len(parts) > 2 and rng.random() < 0.25:
            parts = parts[:-2] + [("*", ("prod", (("*", parts[-2][1]), parts[-1])))]
        if len(parts) > 1 and rng.random() < 0.15:
            op, x = parts[0]
            parts[0] = (op, self.wrapped(x))
        return ("prod", tuple(parts)) if len(parts) > 1 else parts[0][1]

    def away_from_zero(self, x):
        return x

    def wrapped(self, x):
        """f(x) or x^2: one place, whatever is in it."""
        if self.kind == 2 and self.rng.random() < 0.5:
            return ("call", self.rng.choice(["exp", "tanh", "cos", "abs"]), (x,))
        if self.kind in (1, 2):
            return ("bin", "^", x, ("lit", self.rng.choice([2, 2, 3])))
        return x

    def number(self):
        rng = self.rng
        if rng.random() < 0.3 and self.palette[0] in ("f64", "i64"):
            name = f"c{len(self.scalars)}"
            self.scalars[name] = (self.palette[0], rng.choice([2, 3, -1]) if self.palette[0] == "i64" else rng.choice([0.5, -1.5, 3.0]))
            return ("var", name)
        return ("lit", rng.choice([2, 3, 0.5, -1.5] if self.kind > 1 else [2, 3]))

    def reduction(self, have, whole):
        rng = self.rng
        self.budget -= 1
        kind = rng.choice(REDUCTIONS)
        if self.kind == 3 and kind not in ("sum", "prod", "mean"):
            kind = "sum"
        if self.kind == 0 and kind in ("argmax", "argmin"):
            kind = "any"
        names = [self.index(big=kind != "prod") for _ in range(1 if kind.startswith("arg") else rng.choice([1, 1, 1, 2]))
                 if len(self.fresh) > 3]
        if not names:
            return self.load(have, whole)
        if kind == "prod":
            for i in names:
                self.extents[i] = min(self.extents[i], 3)
        inside = have + names
        if kind in ("any", "all") and self.kind:
            body = ("bin", rng.choice(["<", ">", "<=", ">=", "==", "!="]) if self.kind < 3 else "==",
                    self.load(inside, True), self.load(have) if have and rng.random() < 0.5 else self.number())
        elif rng.random() < 0.35:
            body = ("bin", rng.choice("+-"), self.load(have if have else inside, whole), self.load(inside, True))
            if rng.random() < 0.4:
                body = ("bin", "^", body, ("lit", 2)) if self.kind in (1, 2) else body
        elif rng.random() < 0.5:
            body = self.einstein(inside, True)
        elif rng.random() < 0.5:
            body = self.load_of(inside[-4:], affine=True)
        else:
            body = self.sum_of_terms(inside, rng.choice([1, 2]))
        ranged = tuple((i, self.range(i) if rng.random() < 0.2 else None) for i in names)
        x = ("red", kind, ranged, body)
        if rng.random() < 0.3 and kind not in ("any", "all") and have:
            x = ("prod", (("*", self.load(have)), ("*", x)))
        elif rng.random() < 0.15 and kind == "sum" and self.kind == 2:
            x = ("call", rng.choice(["sqrt", "exp", "abs"]), (x,))
        return x

    def range(self, i):
        n = self.extents[i]
        return self.rng.choice([(0, n, 1), (1, n, 1), (0, n, 2), (n - 1, -1, -1), (0, max(n - 1, 0), 1)])

    def call(self, have):
        rng = self.rng
        x = self.load(have, True) if rng.random() < 0.6 else self.einstein(have, True)
        r = rng.random()
        if self.kind == 3:
            return ("call", "conj", (x,))
        if self.kind == 0:
            return ("bin", rng.choice("&|"), self.load(have, True), self.load(have))
        if r < 0.12:
            return self.inlined(have)
        if r < 0.25:
            return ("call", rng.choice(["maximum", "minimum"]), (x, self.load(have)))
        if r < 0.4:
            return ("call", "where", (("bin", rng.choice(["<", ">=", "=="]), self.load(have), self.number()), x, self.load(have)))
        if r < 0.5:
            return ("bin", "^", x, ("lit", 2))
        if self.kind == 1:
            return ("call", rng.choice(["abs", "sign"]), (x,))
        f = rng.choice(["exp", "sin", "cos", "tanh", "atan", "abs", "sqrt", "log1p"])
        if f in ("sqrt", "log1p"):
            x = ("call", "abs", (x,))
        return ("call", f, (x,))

    def inlined(self, have):
        """A call of one of FUNCTIONS."""
        u, v = self.load(have, True), self.load(have)
        name = self.rng.choice(["act", "mix", "least"])
        if name == "act":
            tree = ("bin", "+", ("call", "maximum", (u, ("lit", 0))), ("prod", (("*", u), ("*", ("lit", 2)))))
            return ("inline", "act", (u,), tree)
        if name == "mix":
            return ("inline", "mix", (u, v), ("bin", "-", ("prod", (("*", u), ("*", v))), u))
        return ("inline", "least", (u, v), ("call", "where", (("bin", "<", u, v), u, v)))

    def quotient(self, have, whole):
        rng = self.rng
        parts = [("*", self.load(have, whole)), (rng.choice("*/") if self.kind > 1 else "*", self.load(have))]
        if rng.random() < 0.3:
            parts.append(("*", self.number()))
        if rng.random() < 0.25 and have and self.palette[0] in ("f64", "i64"):
            i = rng.choice(have)
            return ("prod", (parts[0], ("*", ("bin", "+", ("num", i), ("lit", 1)))))
        return ("prod", tuple(parts))

    # ---- loads ----

    def load(self, have, whole=False):
        rng = self.rng
        some = list(have) if whole else [i for i in have if rng.random() < 0.6]
        rng.shuffle(some)
        return self.load_of(some[:4], affine=rng.random() < 0.15)

    def load_of(self, indices, affine):
        rng = self.rng
        if indices and rng.random() < 0.04:
            indices = indices + [rng.choice(indices)]
        subs, axes = [], []
        for i in indices:
            r = rng.random()
            if not affine or r < 0.45:
                subs.append(("lone", i))
                axes.append(("ext", i))
            elif r < 0.80:
                s, length = self.affine(i, indices)
                subs.append(s)
                axes.append(length)
            elif r < 0.90:
                s, length = self.affine(i, indices)
                subs.append(("wrap", rng.choice(["clamp", "mod", "pad"]), s[1], s[2] - rng.choice([0, 1, 2])))
                axes.append(max(1, length - rng.choice([0, 1, 3])))
            else:
                length = rng.choice([2, 3, 5])
                wild = rng.random() < 0.03
                name = self.operand("i64", [("ext", i)], low=-1 if wild else 0, high=length)
                subs.append(("gather", ("load", name, (("lone", i),))))
                axes.append(length)
        if rng.random() < 0.05 or not subs:
            n = rng.choice([1, 2, 4])
            subs.insert(0, ("at", rng.randrange(n)))
            axes.insert(0, n)
        dtype = rng.choice(self.palette)
        if rng.random() < 0.12:
            for name, (d, old, low, _) in self.operands.items():
                if old == axes and low is None:
                    return ("load", name, tuple(subs))
        return ("load", self.operand(dtype, axes), tuple(subs))

    def affine(self, i, beside):
        """A subscript in i and perhaps another index, and a length that it fits."""
        rng = self.rng
        c = rng.choice([1, 1, 1, 2, 3, -1])
        constant = rng.choice([0, 0, 1, 2])
        terms = [(c, i)]
        others = [j for j in self.extents if j != i and (j in beside or rng.random() < 0.1)]
        if others and rng.random() < 0.6:
            terms.append((rng.choice([1, 1, 1, 2, -1]), rng.choice(others)))
        ends = [c2 * max(self.extents[j] - 1, 0) for c2, j in terms]
        constant -= min(0, sum(min(0, e) for e in ends))
        length = constant + sum(max(0, e) for e in ends) + 1 + rng.choice([0, 0, 0, 1])
        if terms == [(1, i)] and not constant or terms[0][0] < 0 and constant == 0:
            constant, length = 1, length + 1            # `x[i]` alone would be a lone index
        return ("aff", tuple(terms), constant), length

    def operand(self, dtype, axes, low=None, high=None):
        name = f"{'ABDEFGHJKL'[len(self.operands) % 10]}{len(self.operands) // 10 or ''}"
        self.operands[name] = (dtype, axes, low, high)
        return name

    def tensors(self, plain=False, swap=None):
        """Random tensors for the operands; swap: other dtypes than last time."""
        made = {}
        for name, (dtype, axes, low, high) in self.operands.items():
            shape = [self.extents[a[1]] if isinstance(a, tuple) else a for a in axes]
            d = dtype if not swap or low is not None else self.rng.choice(self.palette)
            if tensors.count(shape) > 20000:
                raise dtypes.Ambiguous("large")
            made[name] = tensors.random_tensor(self.rng, d, shape, gentle=True, plain=plain, low=low, high=high)
        return made


def break_something(rng, maker, left, body):
    """One change that mostly makes an error: the evaluator says which."""
    r = rng.random()
    loads = [x for x in walk(body) if x[0] == "load" and x[2]]
    if not loads:
        return left, body
    victim = rng.choice(loads)
    if r < 0.35:                        # an index that is nowhere else
        n = rng.randrange(len(victim[2]))
        new = ("load", victim[1], victim[2][:n] + (("lone", maker.fresh.pop()),) + victim[2][n + 1:])
        return left, replace(body, victim, new)
    if r < 0.55:                        # a subscript too few or too many
        new = victim[2][:-1] if len(victim[2]) > 1 and rng.random() < 0.5 else victim[2] + (("at", 0),)
        return left, replace(body, victim, ("load", victim[1], new))
    if r < 0.8 and maker.operands:      # another length
        name = rng.choice(list(maker.operands))
        dtype, axes, low, high = maker.operands[name]
        n = rng.randrange(max(len(axes), 1))
        if axes and isinstance(axes[n], tuple):
            axes = axes[:n] + [maker.extents[axes[n][1]] + rng.choice([1, 2])] + axes[n + 1:]
            maker.operands[name] = (dtype, axes, low, high)
        return left, body
    if left:                            # a range that goes too far
        i, _ = left[0]
        return [(i, (0, maker.extents[i] + 2, 1))] + left[1:], body
    return left, body


def walk(node):
    yield node
    for child in parts(node):
        yield from walk(child)


def parts(node):
    tag = node[0]
    if tag == "neg":
        return [node[1]]
    if tag == "bin":
        return list(node[2:])
    if tag == "prod":
        return [x for _, x in node[1]]
    if tag == "call":
        return list(node[2])
    if tag == "red":
        return [node[3]]
    return []


def replace(node, old, new):
    if node is old:
        return new
    tag = node[0]
    if tag == "neg":
        return ("neg", replace(node[1], old, new))
    if tag == "bin":
        return node[:2] + tuple(replace(x, old, new) for x in node[2:])
    if tag == "prod":
        return ("prod", tuple((op, replace(x, old, new)) for op, x in node[1]))
    if tag == "call":
        return ("call", node[1], tuple(replace(x, old, new) for x in node[2]))
    if tag == "red":
        return node[:3] + (replace(node[3], old, new),)
    return node
