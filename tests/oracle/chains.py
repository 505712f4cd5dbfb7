"""Random elementwise chains outside index notation: in one expression, and operation by operation.
Ricci may run the first in one pass; both must agree to the last bit, dtype and shape included."""
import tensors
from make import PALETTES

UNARY = {"float": ["exp", "sqrt", "sin", "tanh", "abs", "-", "log", "floor", "sign", "sigmoid", "relu", "isnan"],
         "int": ["abs", "-", "sign"], "complex": ["-", "conj", "abs", "exp"]}
BINARY = {"float": ["+", "-", "*", "/", "*", "+", "maximum", "minimum", "<", ">="],
          "int": ["+", "-", "*", "*", "maximum", "minimum", "<", "==", "/"], "complex": ["+", "-", "*", "/"]}
SHAPES = [(3,), (70,), (5, 4), (4,), (1, 4), (5, 1), (2, 3, 4), (33, 70), (70,), (33, 1), (4099,), (300, 257), (257,), (0, 4), (1,)]


class Chain:
    """Steps t0 = …, t1 = … of one tree; expression holds the same tree as one text."""

    def __init__(self, rng):
        self.rng, self.steps, self.operands = rng, [], []
        palette = rng.choice([p for p, _ in PALETTES if p != ["bool"]])
        self.palette = palette
        self.family = "complex" if any(d.startswith("c") for d in palette) else \
            "float" if any(d[0] == "f" or d[0] == "b" and d != "bool" for d in palette) else "int"
        shape = rng.choice(SHAPES)
        self.shapes = [shape, shape, shape[-1:], (1,) + shape[1:], ()] if shape else [()]

    def leaf(self):
        rng = self.rng
        if self.operands and rng.random() < 0.35:
            name = f"x{rng.randrange(len(self.operands))}"
            return name, name
        if rng.random() < 0.15:
            text = rng.choice(["2", "0.5", "3", "(-1.5)", "1"] if self.family != "int" else ["2", "3", "1"])
            return text, text
        d = rng.choice(self.palette)
        self.operands.append(tensors.random_tensor(rng, d, rng.choice(self.shapes), gentle=rng.random() < 0.7))
        name = f"x{len(self.operands) - 1}"
        return name, name

    def tree(self, depth):
        """(text as one expression, name of the step that holds it)"""
        rng = self.rng
        if depth == 0 or rng.random() < 0.12:
            return self.leaf()
        r = rng.random()
        if r < 0.3:
            f = rng.choice(UNARY[self.family])
            whole, part = self.tree(depth - 1)
            write = (lambda a: f"(-{a})") if f == "-" else (lambda a: f"{f}({a})")
            return write(whole), self.step(write(part), part)
        if r < 0.36:
            (a, p), (b, q), (c, s) = self.tree(depth - 1), self.tree(depth - 1), self.leaf()
            return f"where({a} > {c}, {b}, {a})" if self.family != "complex" else f"({a} + {b})", \
                self.step(f"where({self.step(f'{p} > {s}')}, {q}, {p})" if self.family != "complex" else f"({p} + {q})")
        f = rng.choice(BINARY[self.family])
        (a, p), (b, q) = self.tree(depth - 1), self.tree(depth - 1)
        if f.isalpha():
            return f"{f}({a}, {b})", self.step(f"{f}({p}, {q})", p, q)
        return f"({a} {f} {b})", self.step(f"({p} {f} {q})", p, q)

    def step(self, text, *parts):
        if parts and not any(p[0] in "xt" for p in parts):
            return text                     # of literals alone: a variable would be none
        self.steps.append(text)
        return f"t{len(self.steps) - 1}"


HEAD = """fn outcome(f) { try { return (true, f()) } catch e { return (false, e.kind) } }
fn like_bits(a, b) {
    if dtype(a) != dtype(b) or shape(a) != shape(b) { return false }
    if dtype(a) == c64 or dtype(a) == c128 { return like_bits(real(a), real(b)) and like_bits(imag(a), imag(b)) }
    same = (a == b) | ((a != a) & (b != b))
    if dtype(a) == f16 or dtype(a) == bf16 or dtype(a) == f32 or dtype(a) == f64 { same = same & ((a != 0) | (1/a == 1/b) | (a != a)) }
    return all(same)
}
fn alike(id, one, many) {
    a = outcome(one); b = outcome(many)
    good = a[0] == b[0] and (if a[0] { like_bits(a[1], b[1]) } else { a[1] == b[1] })
    print("@{id}", if good { "same" } else { "differ" })
    if not good { print("  ", a, "\\n  ", b) }
}
"""


def make(rng):
    """(operand names, operand texts, one expression, steps)"""
    chain = Chain(rng)
    whole, last = chain.tree(rng.choice([2, 2, 3, 3, 4]))
    return [f"x{n}" for n in range(len(chain.operands))], [x.text for x in chain.operands], whole, chain.steps, last
