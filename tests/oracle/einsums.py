"""Random einsum calls and NumPy's rules as plain loops: implicit output, dots, diagonals, lengths of 1."""
import dtypes
import tensors
from dtypes import Ambiguous
from terms import Wrong, binary, fold

PALETTES = [["f64"]] * 5 + [["f32"], ["f32", "f64"], ["i64"], ["i32", "i64"], ["u8"], ["i8", "bool"],
                            ["bool"], ["c128"], ["c64", "f32"], ["f16"], ["bf16", "f32"], ["f64", "i64"]]


def make(rng):
    """(subscripts, operand shapes, dtypes)"""
    letters = list("abcijkxyzABC")
    rng.shuffle(letters)
    letters = letters[:rng.choice([2, 3, 4, 5])]
    size = {c: rng.choice([0, 1, 1, 2, 2, 3, 3, 4, 5] if rng.random() < 0.5 else [2, 3, 4]) for c in letters}
    if rng.random() < 0.06:
        size[letters[0]] = rng.choice([65, 80])
    dots = [rng.choice([1, 2, 3]) for _ in range(rng.choice([0, 0, 0, 0, 1, 2]))]
    terms, shapes = [], []
    for _ in range(rng.choice([1, 1, 2, 2, 2, 3, 4])):
        term = [rng.choice(letters) for _ in range(rng.choice([0, 1, 2, 2, 3, 3]))]
        shape = [1 if rng.random() < 0.04 else size[c] for c in term]
        if dots and rng.random() < 0.8:
            at, rank = rng.randrange(len(term) + 1), rng.randrange(len(dots) + 1)
            held = [1 if rng.random() < 0.2 else d for d in dots[len(dots) - rank:]]
            term.insert(at, "...")
            shape[at:at] = held
        terms.append("".join(term))
        shapes.append(shape)
    used = sorted({c for t in terms for c in t.replace("...", "")})
    out = None
    if rng.random() < 0.7:
        chosen = [c for c in used if rng.random() < 0.5]
        rng.shuffle(chosen)
        if any("..." in t for t in terms):
            chosen.insert(rng.randrange(len(chosen) + 1), "...")
        out = "".join(chosen)
    if rng.random() < 0.04:
        shapes[0] = shapes[0] + [2]
    palette = rng.choice(PALETTES)
    return terms, out, shapes, [rng.choice(palette) for _ in terms]


def spaced(rng, terms, out):
    text = ",".join(terms) + ("" if out is None else "->" + out)
    return "".join(c + " " if rng.random() < 0.1 and c != "." and c != "-" else c for c in text)


def result(terms, out, operands):
    """(dtype, shape, [(value, bound), …]) by NumPy's rules."""
    dotted = 0
    for term, x in zip(terms, operands):
        rank = len(term.replace("...", ""))
        if "..." not in term and rank != len(x.shape) or rank > len(x.shape):
            raise Wrong("any", "subscripts and rank")
        dotted = max(dotted, len(x.shape) - rank)
    if out is None:
        letters = "".join(terms).replace(".", "")
        out = ("..." if any("..." in t for t in terms) else "") + "".join(c for c in sorted(set(letters)) if letters.count(c) == 1)
    elif dotted and "..." not in out:
        raise Wrong("any", "dots that the result lacks")
    full, size = [], {}
    for term, x in zip(terms, operands):
        held = len(x.shape) - len(term.replace("...", ""))
        labels = spread(term, [f"#{d}" for d in range(dotted - held, dotted)])
        own = {}
        for c, n in zip(labels, x.shape):
            if own.setdefault(c, n) != n:
                raise Wrong("any", "a diagonal of two lengths")
            if size.setdefault(c, n) != n:
                if 1 not in (n, size[c]):
                    raise Wrong("any", "two lengths")
                size[c] = n if size[c] == 1 else size[c]
        full.append(labels)
    dtype = operands[0].dtype
    for x in operands[1:]:
        dtype = dtypes.promote(dtype, x.dtype)
    if any(not x.shape for x in operands) and any(x.dtype != dtype for x in operands):
        raise Ambiguous("whether a scalar widens")
    labels = spread(out, [f"#{d}" for d in range(dotted)])
    summed = [c for c in size if c not in labels]
    values = []
    loop(labels, size, {}, lambda at: values.append(one(dtype, full, operands, summed, size, at)))
    return dtype, tuple(size[c] for c in labels), values


def spread(term, dots):
    before, _, after = term.partition("...")
    return list(before) + (dots if "..." in term else []) + list(after)


def loop(names, size, at, visit):
    if not names:
        visit(at)
        return
    for v in range(size[names[0]]):
        at[names[0]] = v
        loop(names[1:], size, at, visit)
    at.pop(names[0], None)


def one(dtype, full, operands, summed, size, at):
    """One element: the sum over everything that is not in the output. No dtype is widened."""
    terms = []

    def visit(at):
        p = None
        for labels, x in zip(full, operands):
            v = x.at([at[c] if n > 1 else 0 for c, n in zip(labels, x.shape)])
            v = dtypes.cast(dtype, (v, 0.0))
            p = v if p is None else (p[0] and v[0], 0.0) if dtype == "bool" else binary("*", dtype, p, v)
        terms.append(p)
    loop(summed, size, at, visit)
    if dtype == "bool":
        return any(v for v, _ in terms), 0.0
    if dtype in dtypes.INTS:
        return dtypes.wrap(dtype, sum(v for v, _ in terms)), 0.0
    return fold("sum", dtype, dtype, terms, [0] * len(terms))
