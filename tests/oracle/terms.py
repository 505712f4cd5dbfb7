"""Index notation as the contract states it: trees, Einstein's rule, ranges, dtypes, plain loops.

A tree is a tuple: ("lit", value), ("num", index), ("var", name), ("load", tensor, subscripts),
("neg", x), ("bin", op, x, y), ("prod", ((op, x), …)), ("call", name, arguments),
("red", kind, ((index, range), …), body), ("inline", name, arguments, what it stands for);
the rule adds ("esum", indices, product).
A subscript is ("lone", i), ("at", number), ("aff", ((c, i), …), constant),
("wrap", "clamp" | "mod" | "pad", terms, constant) or ("gather", load)."""
import math

import dtypes
from dtypes import Ambiguous

ADD, MUL, UNARY, POWER = 4, 5, 6, 7
LEVEL = {"<": 2, "<=": 2, ">": 2, ">=": 2, "==": 2, "!=": 2, "&": 1, "|": 1, "+": ADD, "-": ADD,
         "//": MUL, "%": MUL, "^": POWER}


# ---- text ----

def text(node, level=0, last=True):
    """Ricci's text; `last`: nothing of a product follows it."""
    tag = node[0]
    if tag in ("lit", "num", "var"):
        s = str(node[1])
        return f"({s})" if s.startswith("-") and level > ADD else s
    if tag == "load":
        return f"{node[1]}[{', '.join(map(subscript, node[2]))}]"
    if tag == "call":
        return f"{node[1]}({', '.join(text(a) for a in node[2])})"
    if tag == "inline":
        return f"{node[1]}({', '.join(text(a) for a in node[2])})"
    if tag == "neg":
        return brackets("-" + text(node[1], POWER, last), level > ADD)
    if tag == "red":
        indices = ", ".join(i + (f" in {range_text(r)}" if r else "") for i, r in node[2])
        return brackets(f"{node[1]}[{indices}] {text(node[3], MUL)}", level > MUL or not last)
    if tag == "prod":
        out = ""
        for n, (op, x) in enumerate(node[1]):
            if n or op == "/":
                out = (out or "1") + f"{op}" if op == "/" else out + "*"
            out += text(x, MUL + (x[0] == "prod"), last and n == len(node[1]) - 1)
        return brackets(out, level > MUL)
    op, mine = node[1], LEVEL[node[1]]
    left, right = text(node[2], mine + (op not in "+-")), text(node[3], mine + 1)
    return brackets(f"{left} {op} {right}" if mine <= ADD else f"{left}{op}{right}", level >= mine)


def brackets(s, needed):
    return f"({s})" if needed else s


def subscript(s):
    if s[0] in ("lone", "at"):
        return str(s[1])
    if s[0] == "gather":
        return text(s[1])
    body = affine_text(s[-2], s[-1])
    return body if s[0] == "aff" else f"{s[1]}({body})"


def affine_text(terms, constant):
    out = str(constant) if constant > 0 and terms and terms[0][0] < 0 else ""
    lead = bool(out)
    for c, i in terms:
        sign = ("-" if c < 0 else "+") if out or c < 0 else ""
        out += sign + (f"{abs(c)}*{i}" if abs(c) != 1 else i)
    if constant and not lead or not terms:
        out += f"{constant:+d}" if out else str(constant)
    return out


def range_text(r):
    a, b, s = r
    return f"{a}:{b}" + (f":{s}" if s != 1 else "")


# ---- Einstein's rule ----

class Wrong(Exception):
    """An error that the contract asks for."""

    def __init__(self, kind, why):
        self.kind, self.why = kind, why


def spots(load, bound):
    """Index -> number of subscripts of the load that mention it and leave it to the rule."""
    found = {}
    for s in load[2]:
        if s[0] == "lone":
            mentioned = [s[1]]
        elif s[0] in ("aff", "wrap"):
            mentioned = {i for _, i in s[-2]}
        elif s[0] == "gather":
            mentioned = spots(s[1], bound)
        else:
            mentioned = []
        for i in mentioned:
            if i not in bound:
                found[i] = found.get(i, 0) + (mentioned[i] if isinstance(mentioned, dict) else 1)
    return found


def einstein(node, bound):
    """(tree with its sums written out, indices left over -> (fewest, most) places, indices summed inside)."""
    tag = node[0]
    if tag in ("lit", "var"):
        return node, {}, set()
    if tag == "num":
        if node[1] not in bound:
            raise Ambiguous("an index that is to be summed, as a number")
        return node, {}, set()
    if tag == "inline":
        tree, free, inner = einstein(node[3], bound)
        if free or inner:
            raise Ambiguous("a sum through the arguments of a function")
        return tree, free, inner
    if tag in ("load", "prod"):
        return product(node, bound)
    if tag == "neg":
        x, free, inner = einstein(node[1], bound)
        return ("neg", x), free, inner
    if tag == "red":
        names = {i for i, _ in node[2]}
        if names & bound:
            raise Ambiguous("a reduction over an index that is bound already")
        body, free, inner = einstein(node[3], bound | names)
        return ("red", node[1], node[2], body), as_one(free), inner | names
    parts = node[2] if tag == "call" else node[2:]
    done = [einstein(p, bound) for p in parts]
    free, inner = {}, set()
    for _, f, n in done:
        for i, (_, most) in f.items():
            free[i] = (1, free.get(i, (1, 0))[1] + most)
        inner |= n
    trees = tuple(d[0] for d in done)
    return (("call", node[1], trees) if tag == "call" else ("bin", node[1]) + trees), free, inner


def as_one(free):
    return {i: (1, most) for i, (_, most) in free.items()}


def factors(node):
    """The chain of * and / through parentheses, each factor alone."""
    if node[0] != "prod":
        return [node]
    return [f for _, x in node[1] for f in factors(x)]


def product(node, bound):
    """The one place where the rule sums: a whole chain, over what occurs in it twice."""
    low, high, inner, free_of, inner_of = {}, {}, set(), [], []
    replaced = {}
    for n, f in enumerate(factors(node)):
        if f[0] == "load":
            tree, free, summed = f, {i: (c, c) for i, c in spots(f, bound).items()}, set()
        else:
            tree, free, summed = einstein(f, bound)
            free = as_one(free)
        replaced[n] = tree
        free_of.append(set(free))
        inner_of.append(summed)
        inner |= summed
        for i, (a, b) in free.items():
            low[i], high[i] = low.get(i, 0) + a, high.get(i, 0) + b
    for i in inner & set(low):
        raise Wrong("index", f"{i} is summed inside and used again around it")
    if any(low[i] < 2 <= high[i] for i in low):
        raise Ambiguous("an index twice in one call")
    summed = [i for i in low if low[i] >= 2]
    tree = rebuild(node, iter([replaced[n] for n in range(len(replaced))]))
    if summed:
        tree = ("esum", tuple(summed), tree)
    return tree, {i: (1, high[i]) for i in low if low[i] < 2}, inner | set(summed)


def rebuild(node, done):
    if node[0] != "prod":
        return next(done)
    return ("prod", tuple((op, rebuild(x, done)) for op, x in node[1]))


# ---- ranges ----

class Statement:
    """left: ((index, range or None), …); body: a tree; tensors: name -> Tensor; scalars: name -> (dtype, value)."""

    def __init__(self, left, body, tensors, scalars):
        self.left, self.tensors, self.scalars = left, tensors, scalars
        names = [i for i, _ in left]
        for i in variables(body) - set(names):
            raise Wrong("name/index", f"{i} never stands alone: it is a variable")
        tree, free, _ = einstein(body, set(names))
        for i in free:
            raise Wrong("index", f"{i} occurs once and is not on the left")
        self.tree, self.ranges, self.known, self.wide = tree, {}, {}, set()
        self.check_ranks(tree)
        scopes = [(left, tree)] + list(inner_scopes(tree))
        for indices, _ in scopes:
            for i, r in indices:
                if r:
                    self.settle(i, range(*r))
        for indices, part in scopes:
            for i, r in indices:
                if not r:
                    self.lone(i, part)
        for _ in range(8):
            for indices, part in scopes:
                for i, r in indices:
                    if i not in self.ranges:
                        self.fitting(i, part, i in names)
        for indices, _ in scopes:
            for i, _ in indices:
                if i not in self.ranges:
                    raise Wrong("index", f"the range of {i} cannot be inferred")
        for load in loads(tree):
            self.check_bounds(load)
        self.widen(tree)

    def widen(self, node):
        """Ints and bools that a sum or product over an index adds up are multiplied in i64; extremes
        over nothing are errors, as max(zeros(0, 0), axis=1) is."""
        if node[0] == "red" and node[1] in ("min", "max", "argmin", "argmax") and \
                not all(self.ranges[i] for i, _ in node[2]):
            raise Wrong("value", f"{node[1]} of nothing, even where nothing asks for it")
        body = node[2] if node[0] == "esum" else node[3] if node[0] == "red" else None
        if node[0] == "esum" or node[0] == "red" and node[1] in ("sum", "prod", "mean"):
            if all(dtypes.kind(self.dtype(f)[0]) < 2 for f in signed_factors(body)):
                self.wide |= {id(x) for x in chain_nodes(body)}
        for child in children(node):
            self.widen(child)

    def settle(self, i, r):
        if i in self.ranges and self.ranges[i] != r:
            raise Ambiguous("one name for two ranges")
        self.ranges[i] = r

    def check_ranks(self, tree):
        for load in loads(tree):
            if len(load[2]) != len(self.tensors[load[1]].shape):
                raise Wrong("index", "the subscript count is not the rank")

    def lone(self, i, part):
        lengths = {self.tensors[load[1]].shape[axis] for load in loads(part)
                   for axis, s in enumerate(load[2]) if s == ("lone", i)}
        if len(lengths) > 1:
            raise Wrong("shape", f"two lengths for {i}")
        if lengths:
            self.settle(i, range(lengths.pop()))

    def fitting(self, i, part, on_left):
        """Of an index inside affine subscripts only: the i >= 0 where all of them fit."""
        fits, seen = None, False
        for load in loads(part):
            for axis, s in enumerate(load[2]):
                if s[0] != "aff" or i not in [n for _, n in s[1]]:
                    continue
                others = [(c, n) for c, n in s[1] if n != i]
                if any(n not in self.ranges for _, n in others):
                    return
                if any(not self.ranges[n] for _, n in others):
                    raise Ambiguous("an empty range beside one that is inferred")
                seen = True
                low = s[2] + sum(min(c * v for v in self.ranges[n]) for c, n in others)
                high = s[2] + sum(max(c * v for v in self.ranges[n]) for c, n in others)
                c = [c for c, n in s[1] if n == i][0]
                length = self.tensors[load[1]].shape[axis]
                good = {v for v in range(0, length + abs(low) + abs(high) + 1)
                        if 0 <= low + c * v and high + c * v < length}
                fits = good if fits is None else fits & good
        if seen and not fits:
            raise Ambiguous("no value fits")
        if seen:
            if on_left and min(fits) != 0:
                raise Wrong("index", f"0 does not fit for {i}")
            self.settle(i, range(min(fits), max(fits) + 1))

    def check_bounds(self, load):
        shape = self.tensors[load[1]].shape
        for axis, s in enumerate(load[2]):
            n = shape[axis]
            if s[0] == "at" and not 0 <= s[1] < n:
                raise Wrong("index", "a fixed subscript is out of range") if s[1] >= 0 else Ambiguous("negative")
            if s[0] == "wrap":
                if n == 0:
                    raise Ambiguous("wrapped into nothing")
                continue
            if s[0] == "gather":
                inner = s[1]
                self.check_bounds(inner)
                wild = [v for v in self.reached(inner) if not 0 <= v < n]
                if wild and not all(self.ranges.values()):
                    raise Ambiguous("a gather that leaves where nothing is computed")
                if wild:
                    raise Wrong("index", "a gathered subscript is out of range")
                continue
            if s[0] == "at":
                continue
            terms = ((1, s[1]),) if s[0] == "lone" else s[1]
            constant = 0 if s[0] == "lone" else s[2]
            spans = [[c * v for v in self.ranges[i]] for c, i in terms]
            if not all(spans):
                if s[0] == "aff":
                    raise Ambiguous("a bound over an empty range")
                continue
            if constant + sum(map(min, spans)) < 0 or constant + sum(map(max, spans)) >= n:
                raise Wrong("index", "bounds would be exceeded")

    def reached(self, load):
        names = sorted(mentioned(load))
        if any(not self.ranges[i] for i in names):
            raise Ambiguous("a gather over an empty range")
        env = {}

        def walk(k):
            if k == len(names):
                yield self.element(load, env)
                return
            for v in self.ranges[names[k]]:
                env[names[k]] = v
                yield from walk(k + 1)
        return list(walk(0))

    # ---- dtypes ----

    def dtype(self, node):
        """(dtype, adapts, is a scalar) of a subtree, found once."""
        known = self.known.get(id(node))
        if known is None:
            known = self.known[id(node)] = self.find_dtype(node)
        return known

    def find_dtype(self, node):
        tag = node[0]
        if tag == "lit":
            v = node[1]
            return ("i64" if isinstance(v, int) else "f64"), True, True
        if tag == "num":
            return "i64", False, None           # whether it widens is left open: see join
        if tag == "var":
            return self.scalars[node[1]][0], False, True
        if tag == "load":
            return self.tensors[node[1]].dtype, False, not mentioned(node)     # A[0] is a scalar
        if tag == "neg":
            d = self.dtype(node[1])
            return ("i64" if d[0] == "bool" else d[0],) + d[1:]
        if tag == "esum":
            return self.reduced("sum", self.dtype(node[2])[0]), False, None
        if tag == "red":
            return self.reduced(node[1], self.dtype(node[3])[0]), False, None
        if tag == "prod":
            d = None if node[1][0][0] == "*" else ("i64", True, True)
            for op, x in node[1]:
                e = self.dtype(x)
                d = self.multiplied(d, op, e) if d else e
            return d
        if tag == "bin":
            op = node[1]
            d = self.join(self.dtype(node[2]), self.dtype(node[3]))
            if op in ("<", "<=", ">", ">=", "==", "!=", "&", "|"):
                return ("bool",) + d[1:]
            return ("i64" if d[0] == "bool" else d[0],) + d[1:]
        name, args = node[1], [self.dtype(a) for a in node[2]]
        if name == "where":
            args = args[1:]
        d = args[0] if len(args) == 1 else self.join(*args)
        if name in ("abs", "real", "imag") and dtypes.kind(d[0]) == 3:
            return "f32" if d[0] == "c64" else "f64", False, d[2]
        if name in ("abs", "sign", "maximum", "minimum", "where", "conj", "real"):
            if d[0] == "bool" and name != "where":
                raise Ambiguous("of bools")
            return d[0], False, d[2]            # of a literal it is none any more
        return d[0] if dtypes.kind(d[0]) > 1 else "f64", False, d[2]

    def join(self, a, b):
        """Two operands' dtype: literals adapt, a scalar never widens a tensor of its own kind."""
        if a[1] and b[1]:
            raise Ambiguous("literals alone")
        if a[1] or b[1]:
            weak, d = (a, b) if a[1] else (b, a)
            if dtypes.kind(weak[0]) <= max(dtypes.kind(d[0]), 0) and not (dtypes.kind(d[0]) == 0):
                return d
            return ("i64" if dtypes.kind(weak[0]) == 1 else "f64",) + d[1:]
        wide = dtypes.promote(a[0], b[0])
        if {a[2], b[2]} == {True, None} and a[0] != b[0] and dtypes.kind(a[0]) == dtypes.kind(b[0]):
            raise Ambiguous("whether a scalar widens a reduced value")
        if a[2] is not False or b[2] is not False:
            strong = [x for x in (a, b) if x[2] is False]
            if len(strong) == 1:
                scalar = b if strong[0] is a else a
                kept = strong[0][0] if dtypes.kind(scalar[0]) <= dtypes.kind(strong[0][0]) else wide
                if kept != wide and scalar[2] is None:
                    raise Ambiguous("whether a reduced value or an index widens a tensor")
                return kept, False, False
        return wide, False, None if None in (a[2], b[2]) else a[2] and b[2]

    def multiplied(self, a, op, b):
        d = self.join(a, b)
        if op == "/" and dtypes.kind(d[0]) < 2:
            return ("f64",) + d[1:]
        return (("i64",) if d[0] == "bool" else d[:1]) + d[1:]

    @staticmethod
    def reduced(kind, d):
        if kind in ("any", "all"):
            return "bool"
        if kind in ("argmin", "argmax") or kind in ("sum", "prod") and dtypes.kind(d) < 2:
            return "i64"
        return "f64" if kind == "mean" and dtypes.kind(d) < 2 else d

    # ---- the plain loops ----

    def result(self):
        """(dtype, shape, [(value, bound), …]) in row-major order."""
        d = self.dtype(self.tree)[0]
        names = [i for i, _ in self.left]
        out = []
        self.loop(names, {}, lambda env: out.append(dtypes.cast(d, self.value(self.tree, env))))
        return d, tuple(len(self.ranges[i]) for i in names), out

    def loop(self, names, env, visit):
        if not names:
            visit(env)
            return
        for v in self.ranges[names[0]]:
            env[names[0]] = v
            self.loop(names[1:], env, visit)
        env.pop(names[0], None)

    def element(self, load, env):
        tensor, index = self.tensors[load[1]], []
        for axis, s in enumerate(load[2]):
            n = tensor.shape[axis]
            if s[0] == "lone":
                at = env[s[1]]
            elif s[0] == "at":
                at = s[1]
            elif s[0] == "gather":
                at = self.element(s[1], env)
            else:
                at = s[-1] + sum(c * env[i] for c, i in s[-2])
            if s[0] == "wrap":
                if s[1] == "pad" and not 0 <= at < n:
                    return dtypes.store(tensor.dtype, 0)
                at = min(max(at, 0), n - 1) if s[1] == "clamp" else at % n if s[1] == "mod" else at
            index.append(at)
        return tensor.at(index)

    def value(self, node, env):
        tag = node[0]
        if tag == "load":
            return self.element(node, env), 0.0
        if tag == "lit":
            return node[1], 0.0
        if tag == "num":
            return env[node[1]], 0.0
        if tag == "var":
            return self.scalars[node[1]][1], 0.0
        if tag in ("esum", "red"):
            kind, names = ("sum", node[1]) if tag == "esum" else (node[1], [i for i, _ in node[2]])
            seen, at = [], []
            body = node[2] if tag == "esum" else node[3]

            def visit(e):
                seen.append(self.value(body, e))
                at.append(e[names[0]])
            self.loop(names, env, visit)
            return fold(kind, self.dtype(node)[0], self.dtype(body)[0], seen, at)
        d = "i64" if id(node) in self.wide else self.dtype(node)[0]
        if tag == "neg":
            v, e = dtypes.cast(d, self.value(node[1], env))
            if d == "u8" and v and self.dtype(node)[2] is not False:
                raise Ambiguous("a scalar that does not fit")
            return (dtypes.wrap(d, -v) if d in dtypes.INTS else -v), e
        if tag == "prod":
            return self.chain(node, env)
        if tag == "bin":
            common = self.join(self.dtype(node[2]), self.dtype(node[3]))[0]
            x, y = (dtypes.cast(common, self.value(n, env)) for n in node[2:])
            return binary(node[1], d, x, y, narrow=self.dtype(node)[2] is not False)
        args = [dtypes.cast(d, self.value(a, env)) if node[1] not in ("where", "abs", "real", "imag")
                or n and node[1] == "where" else self.value(a, env) for n, a in enumerate(node[2])]
        return function(node[1], d, args)

    def chain(self, node, env):
        """A product from left to right, in the dtype reached so far."""
        x = None if node[1][0][0] == "*" else (1, 0.0)
        for (op, part), d in zip(node[1], self.steps(node)):
            y = self.value(part, env)
            x = y if x is None else binary(op, d, dtypes.cast(d, x), dtypes.cast(d, y), narrow=True)
        return x

    def steps(self, node):
        """The dtypes that a product has reached after each factor."""
        known = self.known.get((id(node), "steps"))
        if known is None:
            d, known = None if node[1][0][0] == "*" else ("i64", True, True), []
            for op, part in node[1]:
                e = self.dtype(part)
                d = self.multiplied(d, op, e) if d else e
                known.append("i64" if id(node) in self.wide else d[0])
            self.known[id(node), "steps"] = known
        return known


def chain_nodes(node):
    """The products and signs of one chain of `*`."""
    if node[0] == "neg":
        return [node] + chain_nodes(node[1])
    if node[0] == "prod" and all(op == "*" for op, _ in node[1]):
        return [node] + [y for _, x in node[1] for y in chain_nodes(x)]
    return []


def signed_factors(node):
    """What such a chain multiplies."""
    if node[0] == "neg":
        return signed_factors(node[1])
    if node[0] == "prod" and all(op == "*" for op, _ in node[1]):
        return [f for _, x in node[1] for f in signed_factors(x)]
    return [node]


def inner_scopes(tree):
    """((index, range or None), …) and the part it covers, of every reduction and written-out sum."""
    if tree[0] == "esum":
        yield tuple((i, None) for i in tree[1]), tree[2]
    if tree[0] == "red":
        yield tree[2], tree[3]
    for child in children(tree):
        yield from inner_scopes(child)


def variables(tree):
    """Names in subscripts that are bound by no reduction and stand alone nowhere."""
    bound = {i for indices, _ in inner_scopes(tree) for i, _ in indices}
    found = set()
    for load in loads(tree):
        bound |= {s[1] for s in load[2] if s[0] == "lone"}
        found |= mentioned(load)
    return found - bound


def children(tree):
    tag = tree[0]
    if tag == "neg":
        return [tree[1]]
    if tag == "bin":
        return list(tree[2:])
    if tag == "prod":
        return [x for _, x in tree[1]]
    if tag == "inline":
        return [tree[3]]
    if tag == "call":
        return list(tree[2])
    if tag == "red":
        return [tree[3]]
    if tag == "esum":
        return [tree[2]]
    return []


def loads(tree):
    if tree[0] == "load":
        yield tree
        for s in tree[2]:
            if s[0] == "gather":
                yield from loads(s[1])
    for child in children(tree):
        yield from loads(child)


def mentioned(load):
    found = set()
    for s in load[2]:
        found |= {s[1]} if s[0] == "lone" else {i for _, i in s[-2]} if s[0] in ("aff", "wrap") else \
            mentioned(s[1]) if s[0] == "gather" else set()
    return found


# ---- arithmetic on (value, bound) ----

def exact_int(d, v):
    if d == "i64" and not -2**62 < v < 2**62:
        raise Ambiguous("an int overflow")
    return dtypes.wrap(d, v)


def binary(op, d, x, y, narrow=False):
    """narrow: in a product or of scalars, where an int that wraps is left open or an error."""
    (a, ea), (b, eb) = x, y
    if op in ("&", "|"):
        return (a and b if op == "&" else a or b), ea + eb
    if op in ("<", "<=", ">", ">=", "==", "!="):
        unsure = ea + eb > 0 and not abs(a - b) > ea + eb
        v = {"<": lambda: a < b, "<=": lambda: a <= b, ">": lambda: a > b, ">=": lambda: a >= b,
             "==": lambda: a == b, "!=": lambda: a != b}[op]()
        return v, math.inf if unsure else 0.0
    if d in dtypes.INTS:
        if op in ("//", "%"):
            if b == 0:
                raise Wrong("value", "division by zero")
            return dtypes.wrap(d, a // b if op == "//" else a % b), 0.0
        if op == "^" and b < 0:
            raise Ambiguous("a negative power of an int")
        v = {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "^": lambda: a ** b}[op]()
        if narrow and dtypes.wrap(d, v) != v:
            raise Ambiguous("a product that wraps")
        return exact_int(d, v), 0.0
    if math.isinf(ea) or math.isinf(eb):
        return a, math.inf
    if op == "+":
        return dtypes.rounded(d, a + b, ea + eb)
    if op == "-":
        return dtypes.rounded(d, a - b, ea + eb)
    if op == "*":
        return dtypes.rounded(d, a * b, abs(a) * eb + abs(b) * ea + ea * eb)
    if op == "/":
        if not abs(b) > 2 * eb:
            return 0.0, math.inf
        return dtypes.rounded(d, a / b, (ea + abs(a / b) * eb) / (abs(b) - eb))
    if op == "^":
        n = int(b)
        slope = abs(n) * (abs(a) + ea) ** (n - 1) if n > 0 else 0.0
        v, e = dtypes.rounded(d, a ** n, slope * ea)
        return v, e * (abs(n) + 1)
    if ea or eb or b == 0:
        return a, math.inf
    return (float(a // b) if op == "//" else a % b), 0.0


SMOOTH = {"exp": math.exp, "sin": math.sin, "cos": math.cos, "tanh": math.tanh, "atan": math.atan,
          "sqrt": lambda v: math.sqrt(max(v, 0.0)), "log1p": lambda v: math.log1p(max(v, -1 + 1e-12)),
          "relu": lambda v: max(v, 0.0)}


def function(name, d, args):
    if name in ("where", "maximum", "minimum") and dtypes.kind(d) == 2:
        args = [x if name == "where" and n == 0 else dtypes.cast(d, x) for n, x in enumerate(args)]
    if name == "where":
        c, x, y = args
        return (x if c[0] else y)[0], math.inf if c[1] else max(x[1], y[1])
    if name in ("maximum", "minimum"):
        pick = max if name == "maximum" else min
        return pick(args[0][0], args[1][0]), max(args[0][1], args[1][1])
    v, e = args[0]
    if name == "abs":
        if isinstance(v, complex):
            return dtypes.rounded(d, abs(v), e)
        return (dtypes.wrap(d, abs(v)) if d in dtypes.INTS else abs(v)), e
    if name == "conj":
        return (v.conjugate() if isinstance(v, complex) else v), e
    if name in ("real", "imag"):
        return (v.real if name == "real" else v.imag), e
    if name == "sign":
        return (v > 0) - (v < 0) if d in dtypes.INTS else float((v > 0) - (v < 0)), math.inf if e and abs(v) <= e else 0.0
    if math.isinf(e) or abs(v) > 80 or d in dtypes.COMPLEX:
        return 0.0, math.inf
    if (name == "sqrt" and v - e < 0) or (name == "log1p" and v - e <= -0.99):
        return 0.0, math.inf
    f = SMOOTH[name]
    y = f(v)
    shift = max(abs(f(v + e) - y), abs(f(v - e) - y)) if e else 0.0
    y, e = dtypes.rounded(d, y, 2 * shift)
    return y, 4 * e


def fold(kind, d, inner, seen, at):
    """A reduction of the pairs seen, in order."""
    values = [v for v, _ in seen]
    spread = max((e for _, e in seen), default=0.0)
    if kind in ("any", "all"):
        return (any if kind == "any" else all)(values), spread
    if kind in ("min", "max", "argmin", "argmax"):
        if not values:
            raise Wrong("value", f"{kind} of nothing")
        none = [i for i, v in enumerate(values) if v != v]
        if none:                                # the first nan is the extreme
            return (values if kind in ("min", "max") else at)[none[0]], spread
        best = (min if kind.endswith("min") else max)(values)
        if kind in ("min", "max"):
            return best, spread
        unsure = [v for v, e in seen if e + spread > 0 and abs(v - best) <= e + spread]
        if len(unsure) > 1 or math.isinf(spread):
            raise Ambiguous("which one is the extreme")
        return at[values.index(best)], 0.0
    if kind == "prod":
        x = (1, 0.0)
        for y in seen:
            x = binary("*", d, dtypes.cast(d, x), dtypes.cast(d, y))
        return dtypes.cast(d, x)
    if d in dtypes.INTS:
        return exact_int("i64", sum(int(v) for v in values)), 0.0
    seen = [dtypes.cast(d, y) for y in seen]
    if math.isinf(max((e for _, e in seen), default=0.0)):
        return 0.0, math.inf
    total = sum_exactly([v for v, _ in seen], d)
    size = sum(abs(v) for v, _ in seen)
    unit = dtypes.UNIT["f32" if d in ("f16", "bf16") else d]
    e = sum(e for _, e in seen) + size * (unit + 2.0**-52) * (len(seen) + 2)
    if kind == "mean":
        if not seen:
            return math.nan, 0.0
        total, e = total / len(seen), e / len(seen)
    return dtypes.rounded(d, total, e)


def sum_exactly(values, d):
    if d in dtypes.COMPLEX:
        return complex(math.fsum(v.real for v in values), math.fsum(v.imag for v in values))
    return math.fsum(values)
