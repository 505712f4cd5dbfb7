"""Random programs with precision scopes: a tree of expressions, its text in the language, and its
value by the contract, operation by operation, through formats.py."""
import math
from fractions import Fraction

import formats
from formats import F32, F64, INTERVAL, RATIONAL, Rules, Unclear, minus_sign, special


class Value:
    """kind 'f' with its format, 'i' or 'b'; data row-major."""

    def __init__(self, kind, shape, data, format=None):
        self.kind, self.shape, self.data, self.format = kind, shape, data, format

    def dtype(self):
        return self.format.name if self.kind == "f" else {"i": "i64", "b": "bool"}[self.kind]


class Scope:
    """What a header says; rules() rounds to the format, sums() is the accumulator."""

    def __init__(self, format, mode="nearest", accumulate=None, saturate=False, flush=False, reproducible=False):
        self.format, self.mode, self.accumulate = format, mode, accumulate
        self.saturate, self.flush, self.reproducible = saturate, flush, reproducible
        self.rules = Rules(format, mode, saturate, flush)
        a = accumulate or default_accumulator(format)
        self.sums = self.rules if a is format else Rules(a)

    def header(self):
        return (f"precision {self.format.name}" + (f" accumulate {self.accumulate.name}" if self.accumulate else "")
                + (f" round {self.mode}" if self.mode != "nearest" else "") + (" saturate" if self.saturate else "")
                + (" flush" if self.flush else "") + (" reproducible" if self.reproducible else ""))

    def ordered(self):
        """Does the contract fix the order of sums?"""
        return self.reproducible or self.sums.format not in (F32, F64) or self.sums.mode != "nearest"


def default_accumulator(f):
    if not f.binary:
        return f
    narrow = f is formats.TF32 or f.p + (2 * f.emax).bit_length() <= 16
    return F32 if narrow else f


class Machine:
    """Evaluates trees. Outside of a scope, operands of one format make a scope of that format."""

    def __init__(self, functions):
        self.functions, self.scope, self.work = functions, None, 0

    def rules(self, *values):
        if self.scope:
            return self.scope.rules
        found = {v.format for v in values if v.kind == "f"}
        if len(found) > 1:
            raise Unclear("a vote")
        return Rules(found.pop()) if found else Rules(F64)

    def loaded(self, v, rules):
        if v.format is INTERVAL and rules.format is not INTERVAL:
            raise Unclear("a number of an interval")
        return [rules.load(x) for x in v.data]

    # ---- expressions ----
    def eval(self, t, env):
        return getattr(self, "do_" + t[0])(env, *t[1:])

    def do_lit(self, env, text):
        if not self.scope:
            raise Unclear("a literal adapts")
        return Value("f", (), [self.scope.rules.load(Fraction(text)) if Fraction(text) else self.scope.rules.zero(False)],
                     self.scope.format)

    def do_int(self, env, n):
        return Value("i", (), [n])

    def do_var(self, env, name):
        return env[name]

    def elementwise(self, values, fn, kind="f"):
        rules = self.rules(*values)
        shape = max((v.shape for v in values), key=len)
        size = 1
        for n in shape:
            size *= n
        rows = []
        for v in values:
            data = self.loaded(v, rules)
            if v.shape == shape:
                rows.append(data)
            elif len(data) == 1:
                rows.append(data * size)
            else:                           # a vector along the last axis of a matrix
                rows.append([data[i % len(data)] for i in range(size)])
        self.work += size
        return Value(kind, shape, [fn(rules, *column) for column in zip(*rows)], rules.format if kind == "f" else None)

    def do_bin(self, env, op, a, b):
        x, y = self.eval(a, env), self.eval(b, env)
        if x.kind == y.kind == "i" and op != "/":
            return self.integers(op, x, y)
        return self.elementwise([x, y], {"+": Rules.add, "-": Rules.sub, "*": Rules.mul, "/": Rules.div}[op])

    def integers(self, op, x, y):
        data = []
        n = max(len(x.data), len(y.data))
        for a, b in zip(x.data * (n // len(x.data)), y.data * (n // len(y.data))):
            data.append(a + b if op == "+" else a - b if op == "-" else a * b)
        if any(abs(d) > 2**50 for d in data):
            raise Unclear("large ints")
        return Value("i", max(x.shape, y.shape, key=len), data)

    def do_cmp(self, env, op, a, b):
        x, y = self.eval(a, env), self.eval(b, env)
        if x.kind == y.kind == "i" or self.rules(x, y).format is INTERVAL:
            raise Unclear("ints, or what is certain")
        answers = {"<": lambda r, p, q: p < q, "<=": lambda r, p, q: p <= q, "==": lambda r, p, q: p == q}
        return self.elementwise([x, y], answers[op], "b")

    def do_neg(self, env, a):
        x = self.eval(a, env)
        return Value("i", x.shape, [-n for n in x.data]) if x.kind == "i" else self.elementwise([x], lambda r, v: -v)

    def do_fn1(self, env, name, a):
        x = self.eval(a, env)
        if name == "abs":
            if x.kind == "i":
                return Value("i", x.shape, [abs(n) for n in x.data])
            return self.elementwise([x], lambda r, v: abs(v))
        return self.elementwise([x], Rules.sqrt if name == "sqrt" else lambda r, v: wide(r, name, v))

    def do_fma(self, env, a, b, c):
        values = [self.eval(t, env) for t in (a, b, c)]
        if not self.scope or all(v.kind == "i" for v in values):
            raise Unclear("fma")
        return self.elementwise(values, Rules.fma)

    def do_extreme(self, env, name, a, b):
        x, y = self.eval(a, env), self.eval(b, env)
        if x.kind == y.kind == "i":
            raise Unclear("ints")

        def pick(r, p, q):
            if p == 0 and q == 0 and minus_sign(p) != minus_sign(q):
                raise Unclear("which zero")
            if p != p or q != q:
                return p if p != p else q
            return (max if name == "maximum" else min)(p, q)
        return self.elementwise([x, y], pick)

    def do_cast(self, env, format, a):
        x = self.eval(a, env)
        s = self.scope
        if s and (s.saturate or s.flush or a[0] != "var"):
            raise Unclear("how a cast ends")
        rules = Rules(format, s.mode if s else "nearest")
        return Value("f", x.shape, self.loaded(x, rules), format)

    def do_if(self, env, cond, a, b):
        return self.eval(a if self.eval(cond, env).data[0] else b, env)

    def do_call(self, env, name, *args):
        params, body = self.functions[name]
        return self.eval(body, dict(zip(params, [self.eval(a, env) for a in args])))

    def do_scope(self, env, scope, body):
        outer, self.scope = self.scope, scope
        try:
            return self.eval(body, env)
        finally:
            self.scope = outer

    # ---- sums ----
    def begin(self, *values):
        if not self.scope or not self.scope.ordered():
            raise Unclear("any order")
        if all(v.kind != "f" for v in values):
            raise Unclear("ints")
        return self.scope.rules, self.scope.sums

    def operand(self, v, rules, sums):
        """Numbers of the format: products and sums of them are exact, then rounded to the accumulator."""
        return self.loaded(v, rules)

    def quotient(self, rules, sums, s, n):
        if sums is not rules and not sums.format.holds(rules.format):
            raise Unclear("what else of a mean is in a narrower accumulator")
        return sums.div(s, sums.load(n))

    def total(self, sums, terms):
        s = None
        for t in terms:
            s = sums.load(t) if s is None else sums.add(s, t)
            self.work += 1
        return s

    def result(self, shape, data, rules, sums):
        return Value("f", shape, data if sums is rules else [rules.load(x) for x in data], rules.format)

    def do_reduce(self, env, name, a):
        x = self.eval(a, env)
        if x.kind == "i" and name == "sum":
            return Value("i", (), [sum(x.data)])
        rules, sums = self.begin(x)
        data = self.operand(x, rules, sums)
        if name == "prod":
            p = data[0]
            for v in data[1:]:
                p = sums.mul(p, v)
            return self.result((), [p], rules, sums)
        s = self.total(sums, data)
        if name == "mean":
            s = self.quotient(rules, sums, s, len(data))
        return self.result((), [s], rules, sums)

    def do_axis(self, env, name, axis, a):
        x = self.eval(a, env)
        rules, sums = self.begin(x)
        data, (m, n) = self.operand(x, rules, sums), x.shape
        rows = [data[i * n:i * n + n] for i in range(m)] if axis else [data[j::n] for j in range(n)]
        out = [self.total(sums, row) for row in rows]
        if name == "mean":
            out = [self.quotient(rules, sums, s, len(rows[0])) for s in out]
        return self.result((len(rows),), out, rules, sums)

    def do_affine(self, env, a, b, c, left):
        """a[i, j] * b[j] + c[i]: each term sums by itself, then they are added in the format."""
        total = self.do_index(env, [(a, "ij"), (b, "j")], "i")
        return self.elementwise([total, self.eval(c, env)], Rules.add)

    def do_scaled(self, env, s, a, b):
        """s * a[i, j] * b[j]: factors from the left."""
        return self.do_index(env, [(s, ""), (a, "ij"), (b, "j")], "i")

    def do_stored(self, env, a, index, b, own):
        """y = a; y[index] = b: rounded to the dtype of a where it is not one of its numbers."""
        x, v = self.eval(a, env), self.eval(b, env)
        if INTERVAL in (x.format, v.format) or x.kind != "f" or (v.kind == "f" and not (x.format is v.format or x.format.holds(v.format))):
            raise Unclear("a store that rounds")
        data = list(x.data)
        if v.kind != "f" and (not x.format.binary or abs(v.data[0]) > 2 or x.format.p < 2):
            raise Unclear("an int in a float")
        data[index] = v.data[0] if v.kind == "f" else float(v.data[0])
        return Value("f", x.shape, data, x.format)

    def do_cumsum(self, env, a):
        x = self.eval(a, env)
        rules, sums = self.begin(x)
        out, s = [], None
        for v in self.operand(x, rules, sums):
            s = sums.load(v) if s is None else sums.add(s, v)
            out.append(s)
        return self.result(x.shape, out, rules, sums)

    def do_dot(self, env, a, b):
        x, y = self.eval(a, env), self.eval(b, env)
        rules, sums = self.begin(x, y)
        p, q = self.operand(x, rules, sums), self.operand(y, rules, sums)
        return self.result((), [self.total(sums, map(sums.mul, p, q))], rules, sums)

    def do_matmul(self, env, a, b):
        x, y = self.eval(a, env), self.eval(b, env)
        rules, sums = self.begin(x, y)
        p, q = self.operand(x, rules, sums), self.operand(y, rules, sums)
        n = x.shape[-1]
        columns = y.shape[1] if len(y.shape) == 2 else 1
        out = [self.total(sums, [sums.mul(p[i * n + k], q[k * columns + j]) for k in range(n)])
               for i in range(len(p) // n) for j in range(columns)]
        return self.result(x.shape[:-1] + y.shape[1:], out, rules, sums)

    def do_index(self, env, factors, left):
        """Σ of products over the indices that `left` does not have; factors (tree, indices)."""
        values = [self.eval(t, env) for t, _ in factors]
        rules, sums = self.begin(*values)
        data = [self.operand(v, rules, sums) for v in values]
        extents, order = {}, []
        for v, (_, letters) in zip(values, factors):
            for c, n in zip(letters, v.shape):
                if c not in extents:
                    order.append(c)
                extents[c] = n
        bound = [c for c in order if c not in left]
        out = []
        for outer in points([extents[c] for c in left]):
            at = dict(zip(left, outer))
            terms = []
            for inner in points([extents[c] for c in bound]):
                at.update(zip(bound, inner))
                p = None
                for d, v, (_, letters) in zip(data, values, factors):
                    k = 0
                    for c, n in zip(letters, v.shape):
                        k = k * n + at[c]
                    p = d[k] if p is None else sums.mul(p, d[k])
                terms.append(p)
            out.append(self.total(sums, terms))
        return self.result(tuple(extents[c] for c in left), out, rules, sums)

    def do_einsum(self, env, spec, a, b):
        inputs, left = spec.split("->")
        return self.do_index(env, list(zip((a, b), inputs.split(","))), left)

    def do_loop(self, env, start, a, own):
        """s = start; for k in … { s = s + a[k] } in the scope where it stands."""
        x, s = self.eval(a, env), self.eval(start, env)
        for v in x.data:
            s = self.elementwise([s, Value(x.kind, (), [v], x.format)], Rules.add)
        return s


def wide(rules, name, v):
    """A function of a narrow format: the double, rounded once."""
    f = rules.format
    ordinary = f is F32 and rules.mode == "nearest" and not rules.saturate and not rules.flush
    if not f.binary or f.p > 26 or ordinary:
        raise Unclear("a function")
    if v != v:
        return v
    try:
        r = {"exp": math.exp, "log": math.log, "sin": math.sin, "cos": math.cos, "tanh": math.tanh, "atan": math.atan}[name](v)
    except OverflowError:
        r = math.inf
    except ValueError:
        r = -math.inf if v == 0 and name == "log" else math.nan
    return rules.load(r)


def points(extents):
    if not extents:
        yield ()
        return
    for i in range(extents[0]):
        for rest in points(extents[1:]):
            yield (i,) + rest


# ---- text ----
def text(t):
    kind, rest = t[0], t[1:]
    if kind == "stored":
        return f"(if true {{ y{rest[3]} = {text(rest[0])}; y{rest[3]}[{rest[1]}] = {text(rest[2])}; y{rest[3]} }})"
    if kind == "lit":
        return rest[0]
    if kind == "int":
        return str(rest[0])
    if kind == "var":
        return rest[0]
    if kind in ("bin", "cmp"):
        return f"({text(rest[1])} {rest[0]} {text(rest[2])})"
    if kind == "neg":
        return f"(-{text(rest[0])})"
    if kind in ("fn1", "reduce"):
        return f"{rest[0]}({text(rest[1])})"
    if kind == "extreme":
        return f"{rest[0]}({text(rest[1])}, {text(rest[2])})"
    if kind == "fma":
        return f"fma({', '.join(map(text, rest))})"
    if kind == "axis":
        return f"{rest[0]}({text(rest[2])}, axis={rest[1]})"
    if kind == "affine":
        return f"[{text(rest[0])}[i,j] * {text(rest[1])}[j] + {text(rest[2])}[i] for i]"
    if kind == "scaled":
        return f"[{text(rest[0])} * {text(rest[1])}[i,j] * {text(rest[2])}[j] for i]"
    if kind == "einsum":
        return f'einsum("{rest[0]}", {text(rest[1])}, {text(rest[2])})'
    if kind == "cumsum":
        return f"cumsum({text(rest[0])})"
    if kind == "cast":
        return f"{rest[0].name}({text(rest[1])})"
    if kind == "if":
        return f"(if {text(rest[0])} {{ {text(rest[1])} }} else {{ {text(rest[2])} }})"
    if kind == "call":
        return f"{rest[0]}({', '.join(map(text, rest[1:]))})"
    if kind == "scope":
        return f"({rest[0].header()} {{ {text(rest[1])} }})"
    if kind == "dot":
        return f"({text(rest[0])} · {text(rest[1])})"
    if kind == "matmul":
        return f"({text(rest[0])} @ {text(rest[1])})"
    if kind == "loop":
        own = rest[2]                   # variables of a block are the function's: each loop has its own
        return (f"(if true {{ s{own} = {text(rest[0])}; x{own} = {text(rest[1])}; "
                f"for k in 0:shape(x{own})[0] {{ s{own} = s{own} + x{own}[k] }}; s{own} }})")
    assert kind == "index", kind
    product = " * ".join(text(a) + (f"[{', '.join(letters)}]" if letters else "") for a, letters in rest[0])
    bound = ", ".join(dict.fromkeys("".join(letters for _, letters in rest[0])))
    return f"[{product} for {', '.join(rest[1])}]" if rest[1] else f"(sum[{bound}] {product})"


# ---- making ----
NAMED = list(formats.NAMED.values())
SAMPLES = ["0.1", "0.2", "0.3", "1.0", "2.0", "3.0", "0.5", "1e-3", "3.14159", "7.0", "100.0", "0.7", "1.5", "10.0", "0.05"]
HARD = ["448.0", "464.0", "465.0", "480.0", "65504.0", "65519.0", "65520.0", "6.1e-5", "6e-8", "3e-8", "5.9604644775390625e-08",
        "2.98e-08", "3.4e38", "3.4028235677973366e38", "1e-38", "1.4e-45", "7e-46", "28.0", "30.0", "7.5", "6.0", "5.0", "0.25",
        "57344.0", "61440.0", "61441.0", "0.015625", "0.0009765625", "1.00390625", "1.001953125", "2049.0", "257.0", "33.0",
        "9.2e-41", "4.6e-41", "0.0", "1e300", "1e-300", "16777217.0", "9007199254740993.0"]


class Maker:
    def __init__(self, rng):
        self.rng, self.functions, self.lines = rng, {}, []
        self.vars = {}                   # name: shape
        self.hard = rng.random() < 0.3

    def format(self):
        r = self.rng.random()
        if r < 0.6:
            return self.rng.choice(NAMED)
        if r < 0.8:
            e = self.rng.randint(2, 11)
            return formats.mini(e, self.rng.randint(1, 53))
        if r < 0.9:
            return formats.decimal(self.rng.choice([1, 2, 3, 4, 5, 7, 16, 18, 19, 25]))
        if r < 0.97:
            return formats.mp(self.rng.choice([2, 3, 8, 24, 53, 64, 65, 113, 200]))
        return RATIONAL if self.rng.random() < 0.4 else INTERVAL

    def scope(self):
        rng, f = self.rng, self.format()
        if f is RATIONAL or f is INTERVAL:
            return Scope(f, reproducible=rng.random() < 0.5)
        mode = rng.choice(formats.MODES) if rng.random() < 0.6 else "nearest"
        acc = None
        if f.binary and rng.random() < 0.4:
            acc = rng.choice([g for g in NAMED if g.holds(f)] + [f] if rng.random() < 0.8 else NAMED)
        s = Scope(f, mode, acc, f.binary and rng.random() < 0.15, f.binary and rng.random() < 0.15)
        s.reproducible = not s.ordered() or rng.random() < 0.1
        return s

    def number(self):
        rng = self.rng
        r = rng.random()
        if self.hard and r < 0.5:
            return rng.choice(HARD)
        if r < 0.75:
            return rng.choice(SAMPLES)
        return repr(round(rng.uniform(0, 10), rng.randint(1, 15)))

    def signed(self):
        return ("-" if self.rng.random() < 0.3 else "") + self.number()

    def leaf(self, shape, scoped):
        rng = self.rng
        names = [n for n, s in self.vars.items() if s == shape]
        if shape == () and scoped and rng.random() < 0.4:
            return ("lit", self.number()) if rng.random() < 0.8 else ("int", rng.choice([1, 2, 3, 7, 10, 257, 2049]))
        if names:
            return ("var", rng.choice(names))
        if shape:
            raise Unclear("no such tensor")
        return ("lit", self.number())

    def expr(self, shape, depth, scoped):
        rng = self.rng
        if depth <= 0 or rng.random() < 0.12:
            return self.leaf(shape, scoped)
        sub = lambda s=shape: self.expr(s, depth - 1, scoped)
        r = rng.random()
        if not scoped:
            return ("bin", rng.choice("+-*/"), sub(), sub()) if r < 0.8 else ("neg", sub())
        if r < 0.42:
            a, b = (sub(), sub()) if rng.random() < 0.7 else (sub(), sub(())) if rng.random() < 0.5 else (sub(()), sub())
            return ("bin", rng.choice("++--**//"), a, b)
        if r < 0.47:
            return ("neg", sub())
        if r < 0.53:
            return ("fn1", rng.choice(["sqrt", "abs", "sqrt", "abs", "exp", "log", "sin", "cos", "tanh", "atan"]), sub())
        if r < 0.57:
            return ("fma", sub(), sub(), sub())
        if r < 0.60:
            return ("extreme", rng.choice(["maximum", "minimum"]), sub(), sub())
        if r < 0.63:
            return ("cast", rng.choice(NAMED), self.leaf(shape, False))
        if r < 0.66:
            return ("scope", self.scope(), sub())
        if r < 0.69:
            return ("if", ("cmp", rng.choice(["<", "<="]), self.expr((), depth - 1, True), self.expr((), 1, True)), sub(), sub())
        if r < 0.75 and self.functions:
            name = rng.choice(list(self.functions))
            if self.functions[name][2] == shape:
                return ("call", name, *[self.expr(s, depth - 2, True) for s in self.functions[name][3]])
        if r < 0.87:
            return self.sum(shape, depth - 1)
        return ("bin", rng.choice("+-*"), sub(), sub())

    def sum(self, shape, depth):
        rng = self.rng
        vector, matrix = (3,), (3, 3)
        sub = lambda s: self.expr(s, depth - 1, True)
        leaf = lambda s: self.leaf(s, False)
        if shape == ():
            return rng.choice([
                lambda: ("reduce", rng.choice(["sum", "sum", "mean", "prod"]), sub(rng.choice([vector, matrix]))),
                lambda: ("dot", sub(vector), sub(vector)), lambda: ("matmul", sub(vector), sub(vector)),
                lambda: ("loop", ("lit", "0.0"), sub(vector), f"_{rng.randrange(10**9)}"),
                lambda: ("index", [(leaf(vector), "i"), (leaf(vector), "i")], ""),
                lambda: ("index", [(leaf(vector), "i"), (leaf(matrix), "ij"), (leaf(vector), "j")], ""),
            ])()
        if shape == vector:
            return rng.choice([
                lambda: ("matmul", sub(matrix), sub(vector)), lambda: ("matmul", sub(vector), sub(matrix)),
                lambda: ("cumsum", sub(vector)),
                lambda: ("stored", sub(vector), rng.randrange(3), sub(()), f"_{rng.randrange(10**9)}"),
                lambda: ("axis", rng.choice(["sum", "sum", "mean"]), rng.choice([0, 1]), sub(matrix)),
                lambda: ("affine", leaf(matrix), leaf(vector), leaf(vector), "i"),
                lambda: ("scaled", self.leaf((), True), leaf(matrix), leaf(vector)),
                lambda: ("einsum", "ij,j->i", sub(matrix), sub(vector)),
                lambda: ("index", [(leaf(matrix), "ij"), (leaf(vector), "j")], "i"),
                lambda: ("index", [(leaf(matrix), "ij"), (leaf(matrix), "jk"), (leaf(vector), "k")], "i"),
            ])()
        return rng.choice([
            lambda: ("matmul", sub(matrix), sub(matrix)),
            lambda: ("einsum", rng.choice(["ij,jk->ik", "ij,kj->ik", "ji,jk->ik"]), sub(matrix), sub(matrix)),
            lambda: ("index", [(leaf(matrix), "ij"), (leaf(matrix), "jk")], "ik"),
        ])()

    def function(self, name):
        rng = self.rng
        saved, self.vars = self.vars, {}
        params = [f"p{n}" for n in range(rng.randint(1, 2))]
        shapes = [rng.choice([(), (3,)]) for _ in params]
        self.vars = dict(zip(params, shapes))
        result = rng.choice(shapes)
        try:
            body = self.expr(result, 2, True)
        except Unclear:
            body = ("var", params[shapes.index(result)])
        if rng.random() < 0.25:
            body = ("scope", self.scope(), body)
        self.vars = saved
        self.functions[name] = (params, body, result, shapes)
