#!/usr/bin/env python3
"""Every row of the registry has a derivative that works, or says why not.

    tests/gradients/registry.py [NAME…]             RICCI says which binary (build/ricci)

A row is one of these, and each kind is tried through the tape:
  a rule     slopes in its row, or d_NAME: on the operands of cases.py and check_rules.py vjp and jvp agree
             with each other to 1e-9 and with central differences; some difference is not 0. Second derivatives
             in three ways, and gradients in fractions, go with it
  passes on  what functions of functions and of tuples do (PASSES): tried in the same way
  a step     .gradient = "step": a grad error in both modes
  without    .no_gradient: a grad error with that reason in both modes
  discrete   bools and ints of floats (DISCRETE): a loss through it is a grad error
  constant   takes no float of which a derivative could be asked (CONSTANT), and why
A row that is none of these fails, and so does one that is two."""
import glob
import os
import re
import subprocess
import sys
import tempfile

import check_rules as rules
from cases import CASES, r

X = "[0.75, -1.5, 2.25]"
M = "[4.0, 1, -0.5; 0.75, 3, 1.25; -1, 0.5, 5]"
S = "[4.0, 1, -0.5; 1, 3, 1.25; -0.5, 1.25, 5]"

# row → (function of x, x)…
PASSES = {
    "map": [("map(v -> v^2, x)", X), ("map((v, u) -> v * u, x, x)", X), ("map(v -> v^2, (x, 2.0 * x))", X)],
    "filter": [("filter(v -> v > 0, x)", X), ("filter(v -> sum(v) > 0, (x, -x, x * x))", X)],
    "reduce": [("reduce((a, b) -> a * b, x)", X), ("reduce((a, b) -> a * b + x[0], x, 2.0)", X)],
    "zip": [("map(p -> p[0] * p[1], zip(x, x[::-1]))", X)],
    "enumerate": [("map(p -> p[0] * p[1]^2, enumerate(x))", X)],
    "mp": [("f64(mp(200)(x)^2)", X), ("f64(mp(80)(x))", "0.75")],
    "decimal": [("f64(decimal(40)(x)^2)", X)],
    "print": [("{ print(x); return x^2 }", X)],
    "grad": [("grad(y -> sum(y^3 * x))(x)", X)],
    "shadow": [("shadow(y -> y^3, x).value", X)],
    "graph": [("graph((y, z) -> sum(y^3 * z), x, x)(x, 2 * x)", X)],
    "value_and_grad": [("value_and_grad(y -> sum(y^3 * x))(x)", X)],
    "jacobian": [("jacobian(y -> y^2 * sum(y), mode=\"reverse\")(x)", X),
                 ("jacobian(y -> y^2 * sum(y), mode=\"forward\")(x)", X)],
    "hessian": [("hessian(y -> prod(y)^2)(x)", X)],
    "jvp": [("jvp(y -> y^3, x, [1.0, 2, 3])", X), ("jvp(y -> y^3, [1.0, 2, 3], x)", X)],
    "vjp": [("vjp(y -> y^3, x, [1.0, 2, 3])", X), ("vjp(y -> y^3, [1.0, 2, 3], x)", X),
            ("vjp(y -> y^3, x).pull(x)", X)],
    "checkpoint": [("checkpoint(y -> tanh(y)^2)(x)", X)],
    "attention": [("attention(x, x + 1, x * x)", M), ("attention(x, [1.0, 2, 3; 0.5, -1, 2], [2.0; -3], window=1)", M)],
    "with_fields": [("with_fields(y -> y^2 * x, (n=1))(x)", X), ("with_fields(y -> y, (cube=y -> y^3 * x)).cube(x)", X)],
    # rows that are written in the language: what they are made of has the rules
    "moveaxis": [("moveaxis(x, 0, 1)^3", M)], "swapaxes": [("swapaxes(x, 0, 1)^3", M)], "rot90": [("rot90(x)^3", M)],
    "insert": [("insert(x, 1, x[0] * [2.0, 3])^3", X)], "delete": [("delete(x, 1)^3", X)], "take_along": [("take_along(x, [1, 0, 1])^3", X)],
    "block_diag": [("block_diag((x, x^2))", X)], "union": [("union(x, x * 5)^3", X)], "setdiff": [("setdiff(x, [])^3", X)],
    "partition": [("partition(x, 1)^3", X)], "ptp": [("ptp(x^2) * x", X)],
    "nanmean": [("nanmean(x^2) * x", X)], "nanvar": [("nanvar(x) * x", X)], "nanstd": [("nanstd(x) * x", X)], "nanmin": [("nanmin(x^2) * x", X)],
    "nanmax": [("nanmax(x^2) * x", X)], "nanmedian": [("nanmedian(x^2) * x", X)], "geomspace": [("geomspace(x[0]^2 + 1, 40 + x[1], 4)", X)],
    "gradient": [("gradient(x^2)^2", X)], "trapezoid": [("trapezoid(x^2) * x", X)], "unwrap": [("unwrap(x * 3)^3", X)], "deg2rad": [("deg2rad(x)^3", X)],
    "rad2deg": [("rad2deg(x)^2", X)], "frexp": [("frexp(x).mantissa^3", X)], 
    "divmod": [("divmod(x, 7.3)[1]^3", X)], "remainder": [("remainder(x, 7.3)^3", X)], "nan_to_num": [("nan_to_num(x)^3", X)],
    "tensordot": [("tensordot(x, x, axes=1)", M)],
    "polar": [("polar(x).U + polar(x).H^2", M)],
    "sylvester": [("sylvester(x, [1.0, 2; 0, 3], [1.0, 2; 3, 4; 5, 6])", M), ("sylvester([1.0, 2, 0; 0, 3, 1; 1, 0, 2], x, [1.0, 2, 0; 3, 4, 1; 5, 6, 2])", M)],
    "lyapunov": [("lyapunov(x, x @ x)", M)], "condest": [("condest(x) * [1.0, 2, -1]", M)],
    "eigs": [("eigs(x + x', 2).values^2", M)], "svds": [("svds(x, 2).S^2", M)], "ilu0": [("ilu0(x + 5 * eye(3)).L", M)], "ic0": [("ic0(x @ x' + x' @ x)", M)],
    "lu_solve": [("lu_solve(lu(x), [1.0, 2, 3])", M)], "chol_solve": [("chol_solve(chol(x @ x' + x' @ x), [1.0, 2, 3])", M)],
    "correlate": [("correlate(x, x)", X)], "lfilter": [("lfilter(x, [1, -0.5], x)", X), ("lfilter([1.0, 2], x, [1.0, 2, -1, 3])", X)],
    "filtfilt": [("filtfilt([1, 0.5], [1, -0.3], x, padlen=2)^2", X)],
    "periodogram": [("periodogram(x).Pxx", X)], "welch": [("welch(x, nperseg=2).Pxx", X)],
    "stft": [("abs(stft(x, nperseg=2).Zxx)^2", X)], "istft": [("istft(stft(x, nperseg=2).Zxx).x^2", X)],
    "dct": [("dct(x)^3", X)], "idct": [("idct(x, 4)^2", X)], "hilbert": [("abs(hilbert(x))^2", X)],
    "find_peaks": [("find_peaks(concat([0.0], x, [0.0])).heights^2", X)],
    "gaussian_filter": [("gaussian_filter(x, 1)^2", X)], "median_filter": [("median_filter(x, 3)^2", X)],
    "custom_rule": [("custom_rule(y -> y^2, vjp=(y, z, w) -> 2 * y * w, jvp=(y, t) -> 2 * y * t)(x)", X)],
}

# what cases.py has not: (row, function of x, x)
MORE = [("nextafter", "nextafter(x, 4.0)", X), ("lu", "lu(x).P @ x", M), ("eig", "eig(x).values", M),
        ("unique", "unique(x, counts=true, inverse=true).values", X)]
# sparse matrices: (row, function of x, x)
ENTRIES = [
    ("sparse", "dense(sparse([0, 1, 1, 1], [0, 2, 0, 2], concat(x, x[:1]^2), (2, 3)))^3", X),
    ("sparse", "dense(sparse(x)^2)", M),
    ("dense", "dense(sparse([0, 1, 1], [0, 2, 0], x, (2, 3)))^3", X),
    ("entries", "entries(sparse([0, 1, 2], [1, 0, 2], x^2, (3, 3))).values * x", X), ("entries", "entries(x).values^2", M),
    ("prune", "dense(prune(sparse([0, 1, 2], [1, 0, 2], x^2, (3, 3))))^2", X),
    ("sampled", "entries(sampled(speye(3), x, x^2)).values", X), ("sampled", "dense(sampled(sparse(x > 0), x, x @ x))", M),
    ("sampled", "dense(sampled(speye(3), x)^2)", M), ("sampled", "dense(sampled(speye(3), x)^2)", X),
    ("spdiags", "dense(spdiags((x^2, x[:2], x[0]), [0, 1, -1], (3, 3)))^2", X), ("spdiags", "dense(spdiags(x, [0, 1], (3, 4)))^2", M.replace("; -1, 0.5, 5", "")),
    ("with_values", "dense(with_values(speye(3), x^2))^2", X)]
# rows that read no elements: a constant factor or argument
READS = {"shape": "x * shape(x)[0]", "ndim": "x * ndim(x)", "size": "x * size(x)", "len": "x * len(x)",
         "type": "if type(x) == \"tensor\" { x * x } else { x }", "dtype": "cast(x * x, dtype(x))",
         "device": "to(x * x, device(x))", "keys": "if keys((a=x,))[0] == \"a\" { x * x } else { x }",
         "einsum_path": "x * einsum_path(\"i,i->\", x, x).flops",
         "eps": "x * eps()", "bits": "if bits(x)[0] == \"\" { x } else { x * x }"}

# operands of steps
STEPS = {"floor_divide": ("floor_divide(x, 0.5)", X), "int": ("int(x)", "1.75")}

# rows with .no_gradient → (function of x, x, a scope)
WITHOUT = {
    "matmul_i8": ("matmul_i8(x, i8([1, 2; 3, 4; 5, 6]), 0.5, [1.0, 1])", X),
    "product_i8": ("product_i8(x, i8([1, 2]), \"(p0, p1) -> conv(p0, p1)\", 0.5, 1.0)", X),
    "zeta": ("zeta(x)", X), "quantize": ("quantize(x, i8)", X), "calibrate": ("calibrate(x)", X),
    "dequantize": ("dequantize((q=i8([1, 2, 3]), scale=x, zero=0, axis=0))", X),
    "ldl": ("ldl(x)", S), "steps": ("steps(inv, x)", M), "histogram": ("histogram(x)", X),
    "hull": ("hull(x, 2.0)", X), "intersect": ("intersect(x, x)", X),
    "choice": ("choice(x, 2)", X), "digits": ("digits(x, 0.5)", X), "numerator": ("numerator(x)", "rational(3) / 4"),
    "intersect": ("intersect(x, x)", X),
    "denominator": ("denominator(x)", "rational(3) / 4"), "ptr": ("ptr(x)", X), "as_tensor": ("as_tensor(ptr(x))", X),
}
ON_VECTORS = set("shuffle ulp mid radius width lower upper".split())

# (row, function of x, x): an argument by which a row that has a rule has no derivative
PARAMETERS = [("norm", f"norm({X}, x)", "3.0"), ("cond", f"cond({M}, x)", "2.0"),
              ("logspace", "logspace(0.5, 0.75, 4, base=x)", "3.0"), ("arange", "arange(0.5, x, 0.25)", "2.1"),
              ("interp", "interp([0.5, 7], [1.0, 2, 3], [1.0, 5, 3], period=x)", "5.0"),
              ("var", f"var({X}, ddof=x)", "0.5"), ("std", f"std({X}, ddof=x)", "0.5"),
              ("cov", f"cov({X}, ddof=x)", "0.5"), ("cov", f"cov({X}, aweights=x)", "[1.0, 0.5, 2]"),
              ("bessel_k", "bessel_k(x, 2.0)", "0.5"), ("gammainc", "gammainc(x, 2.0)", "1.5"),
              ("betaincinv", "betaincinv(2.0, x, 0.25)", "1.5"), ("hermite", "hermite(x, 0.5)", "2.0"),
              ("pinv", f"pinv({M}, rtol=x)", "1e-9"), ("lstsq", f"lstsq({M}, {X}, rcond=x).x", "1e-9")]

# rows that give bools or ints of floats → a number made of that (of y = x), x
DISCRETE = {name: (f"{name}(x, 0.5)", X) for name in
            "equal not_equal less less_equal greater greater_equal isclose allclose".split()}
DISCRETE.update({name: (f"{name}(x)", X) for name in
                 "isnan isinf isfinite argmin argmax argsort any all count".split()})
DISCRETE.update(nonzero=("nonzero(x > 1)[0]", X), searchsorted=("searchsorted([0.0, 1, 2], x)", X),
                rank=("rank(x)", M), member=("member(0.75, x)", X), contains=("contains(0.75, x)", X), not_contains=("not_contains(0.75, x)", X))

# reason → rows
CONSTANT = {
    "ints and bools only": "invert bitand bitor xor shl shr gcd lcm isprime primes factor",
    "makes numbers of ints": "zeros ones eye speye seed rand randn randint window",
    "draws": "draw draw_counts draw_vectors streams stream",
    "reads no elements": "issparse nnz shape ndim size len keys type dtype device einsum_path",
    "of a format": "eps realmax realmin flags",
    "a constant by definition": "detach",
    "positions": "tril_indices triu_indices unravel_index ravel_index lexsort",
    "a step": "quantize_decimal",
    "counts": "histogram2d",
    "one answer to one question": "isin issymmetric ishermitian isdefinite",
    "compares derivatives": "gradcheck",
    "gives none where f makes what is differentiated": "kronrod",
    "text": "repr string format bits join replace strip lstrip rstrip find startswith endswith",
    "files": "load save read lines write",
    "pictures": "plot scatter bar hist heat spy contour panels",
    "the program and the machine": "time args env tempdir exit warn progress notices help devices simulate memory release lazy_stats measure",
    "C, which numbers reach through ptr": "cstring errno sizeof offsetof pin unpin",
}

HELPERS = r"""
fn _covector(x) { return type(x) == "tensor" and ndim(x) == 2 and ndim(x') == 1 }
fn _direction(x) {
    if type(x) == "tuple" { return map(_direction, x) }
    return if _covector(x) { (_like_random(x'))' } else { _like_random(x) }
}
fn _filled(w, x) {
    if type(x) == "tuple" and type(w) == "tuple" {
        for k in 0:len(x) { w[k] = _filled(w[k], x[k]) }
        return w
    }
    if type(w) != "none" { return w }
    if type(x) == "tuple" { return map(v -> _filled(none, v), x) }
    return if type(_direction(x)) == "none" { none } else { 0.0 * x }
}
fn _size(a) {
    if type(a) == "tuple" { return sqrt(sum([_size(v)^2 for v in a]) + 0.0) }
    return if type(a) in ("none", "string", "function", "int", "bool") { 0.0 } else { norm(f64(abs(flatten(a + 0.0)))) }
}
fn _try_modes(name, label, f, x, v, w, h, tolerance) {
    try {
        grad = vjp(f, x, w).grad
        tangent = jvp(f, x, v).tangent
        back = _inner(grad, v)
        ahead = _inner(w, tangent)
        scale = maximum(1e-3, maximum(abs(back), 1e-3 * _size(grad) * _size(v)))
        if abs(back - ahead) <= 1e-9 * scale { print("right", name, "modes", label) }
        else { print("WRONG", name, "modes", label, back, ahead) }
        wanted = _difference(f, x, v, w, h)
        if abs(back - wanted) <= tolerance * maximum(1e-3, abs(wanted)) {
            print("right", name, if abs(wanted) > 1e-6 { "differences" } else { "zero" }, label)
        } else { print("WRONG", name, "differences", label, back, wanted) }
    } catch e { print("WRONG", name, "raised", label, e.kind, e.message) }
}
# A tuple's fields one by one, but those without a cotangent.
fn _try_fields(name, label, f, x, v, w, h, tolerance) {
    if type(w) != "tuple" { return none }
    for k in 0:len(w) {
        if type(w[k]) != "none" { _try_modes(name, "field {k} " + label, q -> f(q)[k], x, v, w[k], h, tolerance) }
    }
}
# Second derivatives, each mode over each, against differences of gradients where these do not jump.
fn _try_second(name, label, f, x, v, w, h) {
    try {
        G = q -> vjp(f, q, w).grad
        found = [_inner(v, jvp(G, x, v).tangent),
                 _inner(vjp(q -> _inner(jvp(f, q, v).tangent, w), x, 1.0).grad, v),
                 _inner(vjp(q -> _inner(G(q), v), x, 1.0).grad, v)]
        wanted = _difference(G, x, v, v, h)
        nearer = _difference(G, x, v, v, h / 2)
        scale = maximum(1.0, abs(wanted))
        if abs(nearer - wanted) > 1e-4 * scale { wanted = found[0] }
        if max(abs(found - wanted)) <= 1e-5 * scale { print("right", name, "second", label) }
        else { print("WRONG", name, "second", label, found, wanted) }
    } catch e { print("WRONG", name, "second raised", label, e.kind, e.message) }
}
fn _each_number(g, x) {
    if type(x) == "tuple" { return map(v -> _each_number(g, v), x) }
    return if type(x) in ("none", "string", "function", "bool", "int") { x } else { g(x) }
}
# In fractions, where the row and its rule have them.
fn _try_fractions(name, label, f, x, v, w) {
    back = try { precision rational {
        _each_number(f64, vjp(f, _each_number(exact, x), _each_number(exact, w)).grad)
    } } catch e { if e.kind == "grad" { throw e } else { none } }
    if type(back) == "none" { return none }
    found = _inner(back, v)
    wanted = _inner(vjp(f, x, w).grad, v)
    if abs(found - wanted) <= 1e-9 * maximum(1.0, abs(wanted)) { print("right", name, "fractions", label) }
    else { print("WRONG", name, "fractions", label, found, wanted) }
}
fn _try_refusal(name, label, what, f) {
    try { f(); print("WRONG", name, label, "gives no error") }
    catch e {
        if e.kind == "grad" and what in e.message { print("right", name, label) }
        else { print("WRONG", name, label, "raised", e.kind, e.message) }
    }
}
"""


RULES = set(rules.slopes()) | set(rules.rules(rules.RULES, "d"))


def registry():
    """name → the text of its row."""
    found = {}
    for path in sorted(glob.glob(os.path.join(rules.ROOT, "builtins", "*", "*.def"))):
        text = open(path).read()
        for row in re.split(r"^(?=OP\(|EW[123]\()", text, flags=re.M)[1:]:
            m = re.match(r'OP\((\w+)|EW[123]\(\w+, "(\w+)"', row)
            found[m.group(1) or m.group(2)] = row
    return found


def quoted(text):
    return text[-70:].replace("\\", "\\\\").replace('"', "'").replace("{", "{{").replace("}", "}}")


def elementwise(rows):
    """Programs of a row with slopes: vectors, scalars, shapes that broadcast; called and as an operator."""
    for name, parts, operands, is_complex in rules.ew_cases():
        infix = re.search(r'\.infix = "(.*?)"', rows[name])
        names = rules.OPERANDS[:len(parts)]
        constant = [a for a, p in zip(names, parts) if p[0] == "-"]
        given = [a for a in names if a not in constant]
        kinds = [("", lambda k: ""), ("scalars ", lambda k: "[1]")]
        if len(parts) > 1 and name not in ("mod", "fmod"):
            kinds += [("broadcast ", lambda k: "[:, none]" if k == 0 else ""),
                      ("scalar x ", lambda k: "[1]" if k == 0 else ""),
                      ("scalar y ", lambda k: "[1]" if k == 1 else "")]
        for label, pick in kinds:
            calls = [f"{name}({', '.join(names)})"]
            if infix and len(parts) < 3:
                calls.append(f"x {infix.group(1)} y" if len(parts) == 2 else f"{infix.group(1)}x")
            for call in calls:
                values = {a: ("" if "true" in v else "1.0 * ") + f"({v}){pick(k)}"
                          for k, (a, v) in enumerate(zip(names, operands))}
                yield name, program(name, f"{label}{call}{' complex' if is_complex else ''}",
                                    {a: values[a] for a in given}, {a: values[a] for a in constant}, call, {})


def program(name, label, operands, given, call, options):
    """The lines that try one call by all its operands at once, or by those of options["by"]."""
    lines = [f"{n} = {text}" for n, text in list(given.items()) + list(operands.items())]
    wanted = options.get("by") or list(operands)
    packed = "(" + "".join(f"{n}={n}, " for n in wanted) + ")"
    inside = "; ".join([f"{n} = p_.{n}" for n in wanted] + [call[1:-1] if call[:1] == "{" else f"return {call}"])
    lines += [f"fn f(p_) {{ {inside} }}", f"x_ = {packed}", "result = f(x_)", "w = _direction(result)"]
    lines += options.get("w", []) + ["some = w", "w = _filled(w, result)", "v_ = _direction(x_)"]
    for n, turned in options.get("v", {}).items():
        lines += [f"dir = v_.{n}", f"v_.{n} = {turned}"]
    h, tolerance = options.get("h", "1e-3 / 4"), options.get("tol", "1e-7")
    what = f'"{name}", "{quoted(label)}", f, x_, v_'
    lines += [f"_try_modes({what}, w, {h}, {tolerance})", f"_try_fields({what}, some, {h}, {tolerance})"]
    if name in RULES:
        lines += [f"_try_fractions({what}, w)"]
        # by x of x^0 the slope is 0 whatever x is, which the mixed one does not see
        lines += [f"_try_second({what}, w, {h})"] if name != "power" else []
    return lines


def by_rule():
    for case in CASES:
        name, operands, given = case[:3]
        options = case[3] if len(case) > 3 else {}
        call = options.get("call") or f"{name}({', '.join(list(operands) + [f'{n}={n}' for n in given])})"
        label = ", ".join(list(operands.values()) + [f"{k}={v}" for k, v in given.items()])
        yield name, program(name, label, operands, given, call, options)


def refused(name, call, x, why):
    if why == "step":
        f, one = f"x -> 1.0 * {call}", f"1.0 + abs({x})"
        ways = {"reverse": f"vjp({f}, {x}, {one})", "forward": f"jvp({f}, {x}, {one})"}
    else:
        ways = {"reverse": f"vjp(x -> {call}, {x})", "forward": f"jvp(x -> {call}, {x}, _direction({x}))"}
    return [f'_try_refusal("{name}", "{way}", "{why}", () -> {text})' for way, text in ways.items()]


def call_at(call, x):
    return f"1.0 + abs((x -> {call})({x}))"


def kinds(rows):
    """(what each row is, complaints)"""
    steps = {n for n, text in rows.items() if '.gradient = "step"' in text}
    parts = {"a rule": RULES, "a step": steps,
             "without": set(rules.without()), "passed on": set(PASSES), "discrete": set(DISCRETE),
             "constant": set(" ".join(CONSTANT.values()).split())}
    found, wrong = {}, []
    for kind, names in parts.items():
        for name in sorted(names):
            if name not in rows:
                wrong.append(f"{name} is {kind} and no row")
            elif name in found:
                wrong.append(f"{name} is {found[name]} and {kind}")
            found[name] = kind
    wrong += [f"{name} has no rule, and nothing says why" for name in rows if name not in found]
    return found, wrong


def blocks(rows):
    yield from elementwise(rows)
    yield from by_rule()
    for name, call, x in MORE:
        yield name, program(name, call, {"x": x}, {}, call, {})
    for name, call in READS.items():
        yield name, program(name, call, {"x": X}, {}, call, {})
    for name, tried in PASSES.items():
        for call, x in tried:
            yield name, program(name, call, {"x": x}, {}, call, {})
    for name, kind in kinds(rows)[0].items():
        if kind == "a step":
            yield name, refused(name, *STEPS.get(name, (f"{name}(x)", X)), "step")
    for name, why in rules.without().items():
        call, x = WITHOUT.get(name, (f"{name}(x)", X if name in ON_VECTORS else M))
        yield name, refused(name, call, x, why)
    for name, call, x in PARAMETERS:
        yield name, [f'_try_refusal("{name}", "reverse", " by ", () -> vjp(x -> {call}, {x}, {call_at(call, x)}))',
                     f'_try_refusal("{name}", "forward", " by ", () -> jvp(x -> {call}, {x}, {x}))']
    for name, (call, x) in DISCRETE.items():
        f = f"x -> sum(1.0 * {call})"
        yield name, [f'_try_refusal("{name}", "grad", "only through", () -> grad({f})({x}))',
                     f'_try_refusal("{name}", "forward", "only through", () -> jacobian({f}, mode="forward")({x}))']
    for name, call, x in ENTRIES:
        yield name, program(name, call, {"x": x}, {}, call, {})


def main():
    only = sys.argv[1:]
    rows = registry()
    found, wrong = kinds(rows)
    program_text = "seed(1)\n" + rules.HELPERS + "fn _h(A) { return ctranspose(A) }\n" + HELPERS
    tried = [b for b in blocks(rows) if not only or b[0] in only]
    for k, (name, lines) in enumerate(tried):
        body = "\n    ".join(lines)
        program_text += (f"fn case_{k}() {{\n    {body}\n}}\ntry {{ case_{k}() }} catch e {{ "
                         f'print("WRONG", "{name}", "case {k}", e.kind, e.message) }}\n')
    with tempfile.NamedTemporaryFile("w", suffix=".ric", delete=False) as f:
        f.write(program_text)
    out = subprocess.run([rules.RICCI, "--no-notices", f.name], capture_output=True, text=True, timeout=300)
    told = out.stdout.splitlines()
    if out.returncode:
        wrong.append("the program ended early: " + out.stderr[-600:])
    if os.environ.get("KEEP"):
        print(f.name)
    else:
        os.unlink(f.name)
    wrong += [x[6:] for x in told if x.startswith("WRONG")]
    right = sum(x.startswith("right") for x in told)
    # a rule whose differences are all 0 has not been tried
    moved = {x.split()[1] for x in told if x.startswith("right") and x.split()[2] == "differences"}
    wrong += [f"{n} was tried where its derivative is not 0 nowhere" for n in sorted(found)
              if found[n] in ("a rule", "passed on") and n not in moved and not (only and n not in only)]
    for line in wrong:
        print("FAIL", line)
    for kind in sorted(set(found.values())):
        print(f"{sum(k == kind for k in found.values())} {kind}", end="; ")
    print(f"\n{right + len(found)} passed, {len(wrong)} failed")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
