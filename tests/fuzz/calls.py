"""Random calls of the library rows on random tensors, for fuzz.py: every tensor is made twice,
once contiguous and once as a view of another layout with the same values. Both calls must end
alike, with results equal to rounding; a script ends with an error at the first difference."""
import glob
import math
import os
import re

DTYPES = ("bool", "i8", "u8", "i32", "i64", "f16", "bf16", "f32", "f32", "f64", "f64", "f64", "c64", "c128", "c128",
          "e4m3", "e5m2", "tf32", "float(4, 9)", "decimal(4)", "mp(70)", "interval")
EXTENTS = (0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33)
LAYOUTS = ("strided", "backward", "turned", "inner", "wide")
FLAVOURS = ("plain", "plain", "plain", "small", "special", "special", "huge", "tiny", "mixed", "zero", "flat")
MATRICES = ("plain", "plain", "spd", "triangle", "lower", "diagonal", "band", "symmetric", "singular", "permuted",
            "special", "huge", "tiny", "mixed", "zero", "small", "nilpotent", "orthogonal", "graded", "late")

PRELUDE = """
fn values(s, flavour, k) {
    seed(k)
    x = randn(s)
    n = size(x)
    if flavour == "small" { x = floor(x * 3) }
    if flavour == "huge" { x = x * 1e300 }
    if flavour == "tiny" { x = x * 1e-310 }
    if flavour == "mixed" { x = x * 10.0 ^ floor(100 * randn(s)) }
    if flavour == "zero" { x = x * 0 }
    if flavour == "flat" { x = x * 0 + 1.5 }
    if flavour == "special" and n > 0 {
        y = flatten(x)
        for v in [nan, inf, -inf, -0.0, 1.7e308, 5e-324][0:1 + k % 6] {
            i = randint(0, n)
            y[i] = v
        }
        x = reshape(y, s)
    }
    x
}
fn matrix(s, flavour, k) {
    x = values(s, flavour, k)
    if len(s) < 2 { return x }
    m = s[-2]
    n = s[-1]
    if flavour == "triangle" { return triu(x) + eye(m, n) }
    if flavour == "lower" { return tril(x) + eye(m, n) }
    if flavour == "diagonal" { return x * eye(m, n) }
    if flavour == "band" { return tril(triu(x, -1), 1) + 3 * eye(m, n) }
    if flavour == "nilpotent" { return triu(x, 1) }
    if flavour == "permuted" { return flip(triu(x) + eye(m, n), axis=-2) }
    if flavour == "singular" { return x[..., 0:1] * x[..., 0:1, :] }
    if flavour == "graded" { return x * 10.0 ^ (0 - reshape(arange(n), (1, n)) % 30) }
    if flavour == "late" { return triu(x) + eye(m, n) * 1e-3 }
    if m != n { return x }
    if flavour == "spd" { return x @ x' + eye(n) }
    if flavour == "symmetric" { return x + x' }
    if flavour == "orthogonal" { return qr(x).Q }
    x
}
fn make(s, dt, flavour, k) {
    x = matrix(s, flavour, k)
    if dt == bool { return x > 0 }
    if dt in [i8, u8, i32, i64] {
        return cast(floor(where(isfinite(x), x, 7.0) % 100) - (if dt == u8 { 0 } else { 50 }), dt)
    }
    if dt in [c64, c128] and k % 3 > 0 {
        y = matrix(s, flavour, k + 1)
        hermitian = flavour in ("spd", "symmetric") and len(s) > 1 and s[-1] == s[-2]
        x = if hermitian { x + 1i * triu(y, 1) - 1i * triu(y, 1)' } else { x + 1i * y }
    }
    cast(x, dt)
}
## The same values in another layout.
fn relaid(x, how) {
    if ndim(x) == 0 { return x }
    s = shape(x)
    r = len(s)
    if how == "strided" {
        w = zeros(tuple_of(s, 2, 1), dtype=dtype(x))
        w[..., 1::2] = x
        return w[..., 1::2]
    }
    if how == "backward" {
        w = zeros(s, dtype=dtype(x))
        w[...] = x[..., ::-1]
        return w[..., ::-1]
    }
    if how == "turned" {
        y = transpose(x)
        w = zeros(shape(y), dtype=dtype(x))
        w[...] = y
        return transpose(w)
    }
    if how == "inner" {
        w = zeros(tuple_of(s, 1, 3), dtype=dtype(x))
        w[..., 1:1 + s[-1]] = x
        return w[..., 1:1 + s[-1]]
    }
    w = zeros((2,) + s + (2,), dtype=dtype(x))
    w[1, ..., 0] = x
    w[1, ..., 0]
}
fn tuple_of(s, times, more) { s[0:len(s) - 1] + (s[-1] * times + more,) }
fn narrow(d) { d in [f16, bf16] }
fn single(d) { d in [f32, c64] }
## Equal to rounding: 0, or a measure of the distance.
fn apart(x, y) {
    if type(x) != type(y) { return "types {type(x)}, {type(y)}" }
    if type(x) == "tuple" {
        if len(x) != len(y) { return "lengths {len(x)}, {len(y)}" }
        for i in 0:len(x) {
            d = apart(x[i], y[i])
            if type(d) == "string" { return "[{i}] {d}" }
        }
        return 0
    }
    if type(x) in ("string", "none", "format") { return if repr(x) == repr(y) { 0 } else { "{repr(x)}, {repr(y)}" } }
    if type(x) == "bool" { return if x == y { 0 } else { "{x}, {y}" } }
    if dtype(x) != dtype(y) { return "dtypes {dtype(x)}, {dtype(y)}" }
    if shape(x) != shape(y) { return "shapes {shape(x)}, {shape(y)}" }
    if size(x) == 0 { return 0 }
    eps = if narrow(dtype(x)) { 1e-2 } else if single(dtype(x)) { 1e-5 } else { 1e-12 }
    p = flatten(cast(x, c128))
    q = flatten(cast(y, c128))
    ok = isfinite(p) & isfinite(q)
    if any(isfinite(p) != isfinite(q)) { return "finite {count(isfinite(p))}, {count(isfinite(q))}" }
    if any(isnan(p) != isnan(q)) { return "nan {count(isnan(p))}, {count(isnan(q))}" }
    if !any(ok) { return 0 }
    p = p[ok]
    q = q[ok]
    top = max(maximum(abs(real(p)), abs(imag(p))))
    if top == 0 { top = 1e-300 }
    d = max(abs(p / top - q / top))
    if d > eps { return "relative {d:.2e} of {top:.2e}" }
    0
}
fn attempt(f) {
    try { ("ok", f()) } catch e { ("{e.kind}: {e.message}", none) }
}
## A product that overflows and an infinity of the other sign make nan; a fused multiply-add leaves the infinity.
fn blurred(x) { if dtype(x) in [f16, bf16, f32, f64, c64, c128] { x + 0 * x } else { x } }
## Of ill-conditioned matrices (lax) only that the calls end is asked.
fn judge(line, lax, sums, first, second) {
    if lax { return none }
    if first[0] != second[0] { throw "{line}: {first[0]}, in another layout {second[0]}" }
    if first[0] != "ok" { return none }
    d = attempt(() -> if sums { apart(blurred(first[1]), blurred(second[1])) } else { apart(first[1], second[1]) })
    if d[0] == "ok" and type(d[1]) == "string" { throw "{line} depends on the layout: {d[1]}" }
}
"""

ILL = {"singular", "special", "mixed", "graded", "late", "huge", "tiny", "nilpotent", "plain", "band", "flat"}
SQUARE = set("matpow cond solve inv det slogdet chol eig eigvals eigh eigvalsh expm sqrtm logm schur hess ldl".split())
INVERTING = set("solve inv cond lstsq logm sqrtm matpow expm slogdet det lu ldl eig eigvals schur rref rank pinv null "
                "orth hess".split())
SUMS = {"matmul", "dot"}
HERMITIAN = set("chol eigh eigvalsh ldl".split())
LINALG = SQUARE | set("matmul ctranspose dot outer cross kron trace norm lu lstsq qr svd svdvals pinv rank null orth "
                      "rref".split())


def extent(r, cap):
    return min(r.choice(EXTENTS), cap)


def some_shape(r, ranks=(0, 1, 1, 2, 2, 2, 3, 3, 4)):
    rank = r.choice(ranks)
    cap = 33 if rank < 3 else 9 if rank == 3 else 5
    return [extent(r, cap) for _ in range(rank)]


def batch_shape(r):
    return [r.choice((0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17)) for _ in range(r.choice((0, 0, 0, 1, 1, 1, 2)))]


def text_of(shape):
    return "(%s)" % "".join("%d, " % n for n in shape)


class Tensor:
    """The text of an expression that makes one, and the layout of the second one."""

    def __init__(self, r, shape, dtype=None, flavour=None):
        self.dtype = dtype or r.choice(DTYPES)
        flavour = flavour or r.choice(FLAVOURS)
        self.text = 'make(%s, %s, "%s", %d)' % (text_of(shape), self.dtype, flavour, r.randrange(10**6))
        self.layout = r.choice(LAYOUTS)
        self.ill = flavour in ILL
        self.shape = shape


def odd(r):
    """A value that is no tensor, or a strange scalar."""
    return r.choice(("none", "true", '"x"', "0", "1", "-1", "2", "3", "7", "1.5", "nan", "inf", "-inf", "2i", "(1, 2)",
                     "()", "0:3", "f32", "9223372036854775807", "-9223372036854775808", "1e308", "[]", "x -> x",
                     '"fro"', '"nuc"', "(0, 1)", "(-1,)", "(a=1)", "zeros(0)", "zeros(0, 0)", "[1, 2, 3]", "[true, false]"))


def fitting(r, name, param):
    """A likely value of a parameter that is no tensor."""
    if param == "axis":
        return r.choice(("0", "-1", "1", "2", "-2", "(0, 1)", "(0,)", "(-1, 0)", "none", "(-2, -1)", "(1, 1)"))
    if param == "axes":
        return r.choice(("(0,)", "(0, 1)", "(1, 0)", "(-1,)", "none", "(2, 0, 1)", "(0, 0)", "-1"))
    if param == "ord" or param == "p":
        return r.choice(("1", "2", "inf", "-inf", "0", "-1", "-2", "3", "0.5", "1.5", '"fro"', '"nuc"', "none", "100.0"))
    if param in ("full", "keepdims", "complex", "descending", "counts", "inverse", "equal_nan", "density", "rowvar", "bias"):
        return r.choice(("true", "false"))
    if param == "mode":
        return r.choice(('"full"', '"same"', '"valid"', '"constant"', '"edge"', '"reflect"', '"wrap"', '"symmetric"'))
    if param == "method":
        return r.choice(('"auto"', '"direct"', '"fft"'))
    if param == "norm":
        return r.choice(('"backward"', '"forward"', '"ortho"'))
    if param in ("rtol", "rcond", "atol"):
        return r.choice(("none", "0.0", "1e-3", "0.5", "1.0", "1e-300", "nan", "-1.0"))
    if param == "shape":
        return r.choice(("-1", "2, -1", "(3, 1)", "1, 1, -1", "0", "(2, 3, 4)", "9", "3, 3", "2, 2, 2"))
    if param == "q":
        return r.choice(("0.5", "[0.0, 0.25, 1.0]", "0", "1.5", "nan", "[]"))
    if param == "width":
        return r.choice(("1", "(1, 2)", "((1, 0), (0, 2))", "0", "-1", "40"))
    if param == "range":
        return r.choice(("(0.0, 1.0)", "(-3, 3)", "(1, 1)", "(2, 1)", "(nan, 1)", "(-1e308, 1e308)"))
    if param in ("n", "k", "shift", "parts", "ddof", "digits", "bins", "maxsplit", "minlength", "reps", "period", "d"):
        return r.choice(("0", "1", "2", "3", "4", "5", "7", "8", "16", "-1", "-2", "(1, 2)", "33", "1.5", "none", "300"))
    if param == "side":
        return r.choice(('"left"', '"right"'))
    if param == "indexing":
        return r.choice(('"xy"', '"ij"'))
    return odd(r)


NOT_TENSOR = set("axis axes ord p full keepdims complex descending counts inverse equal_nan density rowvar bias mode method "
                 "norm rtol rcond atol shape q width range n k shift parts ddof digits bins maxsplit minlength reps "
                 "period side indexing d".split())


def positional(r, name, params):
    """Tensors that fit each other, most of the time."""
    if name == "einsum":
        return einsum(r)
    if name in SQUARE or name in LINALG:
        return matrices(r, name, params)
    first = some_shape(r)
    out = []
    for param in params:
        if param in NOT_TENSOR or r.random() < 0.04:
            out.append(odd(r) if r.random() < 0.08 else fitting(r, name, param))
        elif param == "indices":
            out.append(r.choice(("[0, 0]", "0", "[-1, 0]", "[5]", "[0, 1; 1, 0]", "[true]", "zeros(0, dtype=i64)")))
        else:
            shape = list(first)
            if out and shape and r.random() < 0.3:
                shape[r.randrange(len(shape))] = 1
            if out and shape and r.random() < 0.2:
                shape = shape[r.randrange(len(shape)):]
            if out and r.random() < 0.1:
                shape = some_shape(r)
            out.append(Tensor(r, shape))
    return out


def matrices(r, name, params):
    m, n = extent(r, 33), extent(r, 33)
    if name in SQUARE or r.random() < 0.3:
        n = m if r.random() < 0.95 else n
    if r.random() < 0.15:
        m, n = r.choice(((48, 48), (0, 48), (48, 0), (1, 48), (48, 1), (33, 32), (32, 33), (2, 100), (100, 2)))
        if name in SQUARE:
            n = m
    batch = batch_shape(r)
    flavour = r.choice(("spd", "symmetric", "diagonal", "spd", "zero")) if name in HERMITIAN and r.random() < 0.8 \
        else r.choice(MATRICES)
    if m * n > 400:
        batch = [min(b, 3) for b in batch[:1]]
    out = [Tensor(r, batch + [m, n] if r.random() < 0.95 else some_shape(r), None, flavour)]
    for param in params[1:]:
        if param in NOT_TENSOR:
            out.append(odd(r) if r.random() < 0.1 else fitting(r, name, param))
            continue
        k = extent(r, 33)
        if name == "matmul" and r.random() < 0.15:
            k = r.choice((0, 1, 32, 33, 48, 100))
        rows = m if name in ("solve", "lstsq") else n if name == "matmul" else extent(r, 7)
        other = list(batch)
        if other and r.random() < 0.4:
            other[r.randrange(len(other))] = 1
        if r.random() < 0.3:
            other = other[1:]
        elif not other and r.random() < 0.3:
            other = batch_shape(r)
        shape = [rows] if r.random() < 0.3 else other + [rows, k]
        if r.random() < 0.05:
            shape = some_shape(r)
        while name in ("kron", "outer") and math.prod(out[0].shape) * math.prod(shape) > 2000000:
            shape[shape.index(max(shape))] //= 2        # every element with every other
        out.append(Tensor(r, shape, None if r.random() < 0.5 else out[0].dtype, r.choice(MATRICES)))
    return out


def einsum(r):
    """A random specification and operands for it."""
    extents = {}
    terms = []
    for _ in range(r.choice((1, 2, 2, 2, 3))):
        term = [r.choice("ijkl") for _ in range(r.choice((0, 1, 2, 2, 3)))]
        terms.append(term)
    letters = sorted({x for t in terms for x in t})
    for x in letters:
        extents[x] = r.choice((0, 1, 2, 3, 4, 7, 8, 9))
    spec = ",".join("".join(t) for t in terms)
    if r.random() < 0.8:
        kept = [x for x in letters if r.random() < 0.5]
        r.shuffle(kept)
        spec += "->" + "".join(kept)
    kind = r.choice(DTYPES)
    return ['"%s"' % spec] + [Tensor(r, [extents[x] for x in t], kind if r.random() < 0.7 else None) for t in terms]


def arguments(r, name, params):
    """Texts of the arguments with tensors in {}: the call is made twice."""
    before, optional, variadic = [], [], None
    star = False
    for p in params:
        if p == "*":
            star = True
        elif p.endswith("..."):
            variadic = p[:-3]
        elif "=" in p or star or variadic:
            optional.append(p.split("=")[0])
        else:
            before.append(p)
    if variadic and variadic != "shape" and name != "einsum":
        before = before + [variadic] * r.choice((1, 1, 2, 3))
    elif variadic == "shape":
        before = before + ["shape"]
    out = positional(r, name, before)
    if r.random() < 0.02 and out:
        out.pop()
    if r.random() < 0.02:
        out.append(odd(r))
    for i in range(len(out)):
        if r.random() < 0.02:
            out[i] = odd(r)
    for p in optional:
        if r.random() < (0.3 if p in NOT_TENSOR else 0.15):
            value = odd(r) if r.random() < 0.08 else fitting(r, name, p)
            if p not in NOT_TENSOR and r.random() < 0.8:
                tensors = [x for x in out if isinstance(x, Tensor)]
                value = Tensor(r, tensors[0].shape if tensors and r.random() < 0.7 else some_shape(r))
            out.append((p, value))
    return out


def call(r, index, name, params):
    args, lines, again, texts = arguments(r, name, params), [], [], []
    for i, a in enumerate(args):
        label = ""
        if isinstance(a, tuple):
            label, a = a[0] + "=", a[1]
        if isinstance(a, Tensor):
            lines.append("p%d = %s" % (i, a.text))
            again.append('p%d = relaid(p%d, "%s")' % (i, i, a.layout))
            a = "p%d" % i
        texts.append(label + a)
    made = "%s(%s)" % (name, ", ".join(texts))
    lines += ["first = attempt(() -> %s)" % made, *again, "second = attempt(() -> %s)" % made]
    # The product of huge and tiny numbers is finite, infinite or nan by the order of its factors.
    lax = name in INVERTING | {"prod", "cumprod", "einsum"} and any(isinstance(a, Tensor) and a.ill for a in args)
    return 'first = ("", none); second = first; try { %s } catch e { }; judge("%d %s", %s, %s, first, second)' % (
        "; ".join(lines), index, name, "true" if lax else "false", "true" if name in SUMS else "false")


def read_rows(root):
    """Names and parameters of the rows that take tensors."""
    rows = []
    for name in ("linalg", "signals", "reductions", "shape", "rounding"):
        (path,) = glob.glob(os.path.join(root, "builtins", "*", name + ".def"))
        text = open(path, encoding="utf-8").read()
        for row in re.finditer(r'^OP\((\w+),(?:[^"\n]|\n)*?(?:\.infix = "[^"]*", )?\.params = "([^"]*)"', text, re.M):
            rows.append((row[1], [p.strip() for p in row[2].split(",")]))
    return rows


def script(r, rows, count):
    return [call(r, i, *r.choice(rows)) for i in range(count)]
