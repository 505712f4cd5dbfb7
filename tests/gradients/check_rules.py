#!/usr/bin/env python3
"""Checks every gradient rule against central differences, without a tape.

    tests/gradients/check_rules.py [NAME…]          RICCI says which binary (build/ricci)

The slopes are read from the .def files and the rules from builtins/gradients/rules.ric, as they stand. For a
random cotangent w and a random direction v, Re<rule(w), v> is compared with differences of fourth order of
Re<w, f(x)>: in mp(200) where the operation and the rule run there, in f64 otherwise. Then cotangents are
compared in shape. Second derivatives: the rule's own text is an expression of rows, so that a rule of a rule
is checked by differences of the rule in composition (cases of CHAINS)."""
import ast
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RICCI = os.environ.get("RICCI", os.path.join(ROOT, "build", "ricci"))
RULES = os.path.join(ROOT, "builtins", "gradients", "rules.ric")
TANGENTS = os.path.join(ROOT, "builtins", "gradients", "tangents.ric")

HELPERS = r"""
fn _like_random(x) {
    if type(x) == "tuple" { return map(_like_random, x) }
    if type(x) in ("none", "string", "function", "bool") { return none }
    if type(x) == "int" { return none }
    if dtype(x) in (bool, i8, u8, i32, i64) { return none }
    r = _numbers(shape(x))
    if dtype(x) in (c64, c128) { r = r + 1i * _numbers(shape(x)) }
    return if dtype(x) in (f32, c64) { cast(r, dtype(x)) } else { r }
}
fn _numbers(s) { return 0.5 + 0.25 * round(4 * randn(s)) + 0.125 * round(8 * randn(s)) }
fn _moved(x, h, v) {
    if type(v) == "none" { return x }
    if type(x) == "tuple" {
        y = x
        for k in 0:len(x) { y[k] = _moved(x[k], h, v[k]) }
        return y
    }
    return x + h * v
}
fn _inner(a, b) {
    if type(a) == "none" or type(b) == "none" { return 0.0 }
    if type(a) == "tuple" {
        s = 0.0
        for k in 0:len(a) { s = s + _inner(a[k], b[k]) }
        return s
    }
    return sum(real(conj(a) * b))
}
fn _shapes(x) {
    if type(x) == "tuple" { return map(_shapes, x) }
    return if type(x) == "none" { none } else if type(x) == "string" { none } else { shape(x) }
}
fn _same(g, x, v) {
    if type(v) == "none" or type(g) == "none" { return true }
    if type(x) == "tuple" {
        for k in 0:len(x) { if not _same(g[k], x[k], v[k]) { return false } }
        return true
    }
    return shape(g) == shape(x) or shape(broadcast_to(g, shape(x))) == shape(x)     # the engine spreads it
}
fn _difference(f, x, v, w, h) {
    near = _inner(w, f(_moved(x, h, v))) - _inner(w, f(_moved(x, -h, v)))
    far = _inner(w, f(_moved(x, 2 * h, v))) - _inner(w, f(_moved(x, -2 * h, v)))
    return (8 * near - far) / (12 * h)
}
# The free phases of complex vectors, taken so that the first row is real.
fn _turns(V) { return conj(V[..., :1, :]) / abs(V[..., :1, :]) }
fn _fixed_eigh(A) { l, V = eigh(A); return (values=l, vectors=V * _turns(V)) }
fn _fixed_eig(A) { l, V = eig(A); return (values=l, vectors=V * _turns(V)) }
fn _fixed_svd(A) {
    U, S, Vt = svd(A)
    t = _turns(U)
    return (U=U * t, S=S, Vt=_h(t * _h(Vt)))
}
fn _free(V, W) { return W - V * expand(1i * imag(sum(conj(V) * W, axis=-2) / sum(conj(V) * V, axis=-2)), axis=-2) }
# f64 to f32, c128 to c64, in tuples too; and whether a cotangent is of that width.
fn _narrow(x) {
    if type(x) == "tuple" { return map(_narrow, x) }
    if type(x) in ("none", "string", "function", "bool", "int", "device") { return x }
    if dtype(x) == f64 { return f32(x) }
    if dtype(x) == c128 { return cast(x, c64) }
    return x
}
fn _wide(g) {
    if type(g) == "tuple" { return any([_wide(v) for v in g]) }
    if type(g) == "none" { return false }
    return dtype(g) in (f64, c128)
}
fn _width(name, where_, g) {
    if _wide(g) { print("WRONG", name, where_, "is of f64 for f32 operands") }
    else { print("right", name, where_, "f32") }
}
# What norm(U @ diag(S) @ Vt) sends to svd.
fn _svd_norm(A) {
    U, S, Vt = svd(A)
    M = (U * S) @ Vt
    g = M / norm(M)
    return d_svd(none, (U=U, S=S, Vt=Vt), (U=g @ _h(Vt) * S, S=sum(conj(U) * (g @ _h(Vt)), axis=0), Vt=expand(S, axis=1) * (_h(U) @ g)))
}
fn _equal(name, found, wanted) {
    near = (found == wanted) | (abs(found - wanted) <= 1e-14 * maximum(1, abs(wanted)))
    if shape(found) == shape(wanted) and all(near) and dtype(found) == dtype(wanted) { print("right", name, "value") }
    else { print("WRONG", name, "gives", found, "not", wanted) }
}
fn _none_of(x) { return if type(x) == "tuple" { map(_none_of, x) } else { 0 * x } }
fn _multilinear(f, x, dir) {
    total = 0.0
    for k in 0:len(x) {
        y = x
        y[k] = dir[k]
        total = total + f(y)
    }
    return total
}
fn _report(name, where_, g, x, v, found, wanted, tolerance) {
    error = abs(found - wanted) / maximum(1e-3, abs(wanted))
    if not _same(g, x, v) { print("WRONG", name, where_, "shape", _shapes(g), _shapes(x)) }
    else if not (error < tolerance) { print("WRONG", name, where_, f64(found), f64(wanted), f64(error)) }
    else { print("right", name, where_, f64(error)) }
}
"""


def slopes():
    """name → list of the texts (cotangent, tangent) of its operands, of every elementwise row."""
    text = open(os.path.join(ROOT, "builtins", "arrays", "elementwise.def")).read()
    found = {}
    for row in re.split(r"^(?=EW[123]\()", text, flags=re.M)[1:]:
        name = re.match(r'EW(\d)\(\w+, "(\w+)"', row)
        m = re.search(r'\.gradient =\s*((?:"(?:[^"\\]|\\.)*"\s*)+)', row)
        if not m:
            continue
        whole = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', m.group(1)))
        if whole == "step":
            continue
        parts = []
        for part in split_top(whole, ";"):
            halves = split_top(part, " | ") if re.search(r"\b[wt]\b", part) else [part]
            parts.append([h.strip() for h in halves])
        found[name.group(2)] = parts
    return found


def split_top(text, mark):
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        if c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif depth == 0 and text.startswith(mark, i):
            parts.append(text[start:i])
            start = i + len(mark)
    parts.append(text[start:])
    return [p.strip() for p in parts]


def rules(path, letter):
    text = open(path).read()
    return {m.group(1): [p.strip() for p in m.group(2).split(",")]
            for m in re.finditer(rf"^fn {letter}_(\w+)\((.*?)\)", text, flags=re.M)}


def column(pattern):
    """What a column of the rows says, by row."""
    found = {}
    for folder, _, files in os.walk(os.path.join(ROOT, "builtins")):
        for path in (os.path.join(folder, f) for f in files if f.endswith(".def")):
            for row in re.split(r"^(?=OP\(|EW\d\()", open(path).read(), flags=re.M):
                name, said = re.match(r"OP\((\w+)", row), re.search(pattern, row)
                if name and said:
                    found[name.group(1)] = said.groups()
    return found


def linear():
    """name → (LINEAR or MULTILINEAR, operands)."""
    return {name: ("MULTILINEAR" if multi else "LINEAR", operands.split(", "))
            for name, (multi, operands) in column(r'\.(multi)?linear_in = "(.*?)"').items()}


def without():
    """name → why it has no gradient."""
    return {name: why for name, (why,) in column(r'\.no_gradient = "(.*?)",').items()}


POSITIVE = "[0.3, 0.75, 1.5, 2.25, 7.5]"
INNER = "[-0.875, -0.25, 0.125, 0.5, 0.9375]"
ANY = "[-3.5, -1.25, -0.125, 0.375, 2.75]"
COMPLEX = "[0.5+0.75i, -1.25+0.5i, 0.25-0.875i, 1.5-0.25i]"
# operands where a row does not take any number
EW = {"sqrt": [POSITIVE], "log": [POSITIVE], "log2": [POSITIVE], "log10": [POSITIVE], "cbrt": [ANY],
      "log1p": [POSITIVE], "asin": [INNER], "acos": [INNER], "atanh": [INNER], "acosh": ["1 + " + POSITIVE],
      "gamma": ["[-2.75, -0.625, 0.25, 1.5, 4.25, 11.5]"], "lgamma": ["[-12.625, -0.625, 0.25, 1.5, 30.25]"],
      "power": [POSITIVE, "[2.0, -1.5, 0.0, 3.25, 1.0]"], "divide": [ANY, "[1.5, -0.25, 3.0, -2.0, 0.75]"],
      "mod": ["[7.25, -3.5, 0.75, 9.125, -0.25]", "[2.0, 1.5, -0.5, -4.0, 3.0]"], "fma": [ANY, POSITIVE, INNER],
      "fmod": ["[7.25, -3.5, 0.75, 9.125, -0.25]", "[2.0, 1.5, -0.5, -4.0, 3.0]"], "ldexp": [ANY, "[1.5, -0.25, 3.0, -2.0, 0.75]"],
      "clamp": [ANY, "[-1.0, -2.0, 0.5, 0.0, 3.0]", "[1.0, 2.0, 2.5, 0.25, 3.5]"],
      "where": ["[true, false, true, true, false]", ANY, POSITIVE],
      "relu6": ["[-1.0, 0.5, 3.0, 7.0]"], "nextafter": None,
      "maximum": [ANY, INNER], "minimum": [ANY, INNER]}
NO_COMPLEX = ("mod fma maximum minimum clamp cbrt atan2 hypot sigmoid relu relu6 gelu silu softplus erf erfc "
              "gamma lgamma nextafter fmod copysign ldexp").split()
OPERANDS = "xyz"


def ew_cases():
    for name, parts in slopes().items():
        operands = EW.get(name, [ANY, POSITIVE, INNER][:len(parts)])
        if operands is None:
            continue
        yield name, parts, operands, False
        if name not in NO_COMPLEX:
            first = "[true, false, true, false]" if name == "where" else COMPLEX
            yield name, parts, [first, "[1.5-0.5i, 0.25+1i, -0.5+0.75i, 2-1i]",
                                "[1.0, 2.0, 3i, 0.5]"][:len(parts)], True


def ew_program(name, parts, operands, is_complex, mp):
    arguments = list(OPERANDS[:len(parts)])
    lines = []
    for a, text in zip(arguments, operands):
        lines.append(f"{a} = {text}" if "true" in text else f"{a} = 1.0 * ({text})")
    call = f"{name}({', '.join(arguments)})"
    lines += [f"r = {call}", "w = _like_random(r)"]
    h = "1e-12" if mp else "1e-3 / 4"
    tolerance = "1e-30" if mp else "1e-8"
    for k, texts in enumerate(parts):
        a = arguments[k]
        if texts[0] == "-":
            continue
        back = texts[0] if re.search(r"\bw\b", texts[0]) else f"w * conj({texts[0]})"
        ahead = texts[1] if len(texts) > 1 else f"t * ({texts[0]})"
        label = f'"by {a}{" complex" if is_complex else ""}"'
        lines += [f"v = _like_random({a})", "t = v", f"g = broadcast_to({back}, shape({a}))",
                  f"wanted = _difference({a} -> {call}, {a}, v, w, {h})",
                  f'_report("{name}", {label}, g, {a}, v, _inner(g, v), wanted, {tolerance})',
                  f'_report("{name}", {label} + " forward", {a}, {a}, v, _inner(w, {ahead}), wanted, {tolerance})']
    return lines


class Tangent:
    """The tangent of a slope's text, made of the slopes of its own rows: second derivatives, as a tape has them."""

    ROWS = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.Pow: "power"}
    SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "^"}

    def __init__(self, known):
        self.known = known          # name → (value, tangent or None) as Ricci text
        self.slopes = slopes()

    def of(self, text):
        tree = ast.parse(text.replace("^", "**").replace("1i", "I"), mode="eval").body
        return self.walk(tree)

    def walk(self, node):
        if isinstance(node, ast.Constant):
            return repr(node.value), None
        if isinstance(node, ast.Name):
            return self.known.get(node.id, (node.id.replace("I", "1i"), None))
        if isinstance(node, ast.BinOp) and type(node.op) in self.ROWS:
            a, b = self.walk(node.left), self.walk(node.right)
            return self.row(self.ROWS[type(node.op)], f"({a[0]} {self.SIGNS[type(node.op)]} {b[0]})", [a, b])
        if isinstance(node, ast.UnaryOp):
            a = self.walk(node.operand)
            return f"(-{a[0]})", a[1] and f"(-{a[1]})"
        if isinstance(node, ast.Call):
            arguments = [self.walk(a) for a in node.args]
            text = f"{node.func.id}({', '.join(a[0] for a in arguments)})"
            return self.row(node.func.id, text, arguments)
        text = ast.unparse(node).replace("**", "^")
        for name, (value, _) in self.known.items():
            text = re.sub(rf"\b{name}\b", lambda _m: value, text)
        return f"({text})", None

    def row(self, name, result, arguments):
        if name not in self.slopes:
            assert name in ("cast", "dtype") or all(a[1] is None for a in arguments), name
            return result, None
        parts = []
        for (_, tangent), texts in zip(arguments, self.slopes[name]):
            if tangent is None or texts[0] == "-":
                continue
            ahead = texts[1] if len(texts) > 1 else f"t * ({texts[0]})"
            values = dict(zip(OPERANDS, (a[0] for a in arguments)), r=result, t=tangent)
            parts.append(re.sub(r"\b[xyzrt]\b", lambda m: f"({values[m.group(0)]})", ahead))
        return result, f"({' + '.join(parts)})" if parts else None


def second_program(name, parts, operands, mp):
    """Slopes' own slopes, by differences of the slopes."""
    arguments = list(OPERANDS[:len(parts)])
    lines = [f"{a} = {v}" if "true" in v else f"{a} = 1.0 * ({v})" for a, v in zip(arguments, operands)]
    call = f"{name}({', '.join(arguments)})"
    lines += [f"r = {call}", "t = 1.0", "w = 1.0"]
    for k, texts in enumerate(parts):
        slope = re.sub(r"\bw\b", "1.0", texts[0])
        if "digamma" in slope or slope == "-":
            continue
        for a in arguments:
            if "true" in operands[arguments.index(a)]:
                continue
            if name == "power":
                # at y = 0 the slope by x is 0 for every x, which the mixed second slope does not see
                lines[1] = lines[1].replace("0.0", "0.5")
            first = Tangent({b: (b, "1.0" if b == a else None) for b in arguments})
            r_tangent = first.row(name, call, [first.known[b] for b in arguments])[1]
            second = Tangent(dict(first.known, r=("r", r_tangent))).of(slope)[1] or "0.0"
            again = re.sub(r"\br\b", f"({call})", slope)
            h = "1e-12" if mp else "1e-3 / 4"
            lines += [f"f = {a} -> 0 * {a} + ({again})",
                      f"wanted = (8 * (f({a} + {h}) - f({a} - {h})) - (f({a} + 2 * {h}) - f({a} - 2 * {h}))) / (12 * {h})",
                      f"found = 0 * {a} + ({second})", "error = max(abs(found - wanted) / maximum(1, abs(wanted)))",
                      f'if error < {"1e-30" if mp else "1e-7"} {{ print("right", "{name}", "second") }} '
                      f'else {{ print("WRONG", "{name}", "second {arguments[k]}{a}", found, wanted) }}']
    return lines


from cases import CASES, ERRORS, KINKS, VALUES  # noqa: E402


def ew_narrow(name, parts, operands):
    """The slopes of f32 operands are f32, and a scalar's too."""
    lines = []
    for pick in ("", "[0]"):
        for a, text in zip(OPERANDS, operands):
            lines.append(f"{a} = _narrow(({text if 'true' in text else '1.0 * ' + text}){pick})")
        lines += [f"r = {name}({', '.join(OPERANDS[:len(parts)])})", "w = _narrow(_like_random(r))", "t = w"]
        for texts in parts:
            if texts[0] == "-":
                continue
            back = texts[0] if re.search(r"\bw\b", texts[0]) else f"w * conj({texts[0]})"
            lines.append(f'_width("{name}", "slope", {back})')
            if len(texts) > 1:
                lines.append(f'_width("{name}", "slope forward", {texts[1]})')
    return lines


def rule_program(case, table, mp, narrow=False):
    name, operands, given = case[:3]
    options = case[3] if len(case) > 3 else {}
    if options.get("only") == "registry":
        return None
    if narrow and (options.get("narrow") is False or (options.get("call") or "").startswith("cast")):
        return None
    if mp and options.get("mp") is False:
        return None
    cover = "_narrow(%s)" if narrow else "%s"
    lines = [f"{n} = {cover % text}" for n, text in operands.items()]
    lines += [f"{n} = {text}" for n, text in given.items()]
    call = options.get("call") or f"{name}({', '.join(list(operands) + [f'{n}={n}' for n in given])})"
    lines += [f"result = {call}", "w = _like_random(result)"] + options.get("w", [])
    wanted = options.get("by") or [n for n in operands]
    lines.append("needs = (" + ", ".join(f"{n}={'true' if n in wanted else 'false'}" for n in list(operands) + [
        m for m in ("value", "q", "prepend", "append", "aweights", "bias", "scale", "n", "a", "b", "nu") if m not in operands]) + ",)")
    lines.append(f"g = d_{name}({arguments_of(table[name], operands, given)})")
    if narrow:
        return lines + [f'_width("{name}", "by {n}: {label_of(operands, given)}", g.{n})' for n in wanted]
    h = options.get("h", "1e-12" if mp else "1e-3 / 4")
    tolerance = options.get("tol", "1e-7") if not mp else "1e-25"
    for n in wanted:
        turned = options.get("v", {}).get(n)
        lines += [f"dir = _like_random({n})"] + ([f"dir = {turned}"] if turned else []) + [
            f"wanted = _difference({n} -> {call}, {n}, dir, w, {h})",
            f'_report("{name}", "by {n}: {label_of(operands, given)}", g.{n}, {n}, dir, '
            f'_inner(g.{n}, dir), wanted, {tolerance})',
            f"ahead = {tangent_of(name, n, call, operands, given)}",
            f'_report("{name}", "forward {n}: {label_of(operands, given)}", ahead, result, w, '
            f'_inner(w, ahead), wanted, {tolerance})']
    return lines


def arguments_of(parameters, operands, given, turned=None):
    found = []
    for p in parameters:
        q = p.rstrip("_")
        if q in ("result", "w", "needs") or q in operands or q in given:
            found.append(q)
        elif q.endswith("_shape"):
            found.append(f"_shapes({q[:-6]})")
        else:
            found.append("dir" if q == f"{turned}_t" else "none")
    return ", ".join(found)


def tangent_of(name, n, call, operands, given):
    """The tangent of the result in direction dir of operand n."""
    if name in LINEAR:
        kind, which = LINEAR[name]
        if name == "einsum":
            return "_multilinear(tensors -> " + call + ", tensors, dir)"
        others = [m for m in operands if m != n and m in which] if kind == "LINEAR" else []
        return f"(({', '.join([n] + others)}) -> {call})({', '.join(['dir'] + [f'_none_of({m})' for m in others])})"
    return f"t_{name}({arguments_of(TANGENT_RULES[name], operands, given, n)})"


def label_of(operands, given):
    text = ", ".join(list(operands.values()) + [f"{k}={v}" for k, v in given.items()])
    return text.replace("\\", "\\\\").replace('"', "'").replace("{", "{{").replace("}", "}}")[:70]


LINEAR = linear()
TANGENT_RULES = rules(TANGENTS, "t")

# rows that give no floats, floats that depend on nothing, or derivatives: a rule may use them, though they have
# no rule
CONSTANTS = set("""all any argmax argmin argsort count detach device dtype enumerate eps eye filter find grad int issparse join jvp len lower map ndim nonzero
                ones rank reduce replace searchsorted shape size type upper zeros zip""".split())


def coverage(table):
    """Rows that have neither rule nor slope nor reason, and rows that a rule uses and that have none."""
    rows, bare = set(), set(without())
    for folder, _, files in os.walk(os.path.join(ROOT, "builtins")):
        for f in files:
            if f.endswith(".def"):
                text = open(os.path.join(folder, f)).read()
                rows |= set(re.findall(r"^OP\((\w+)", text, flags=re.M))
    text = open(RULES).read()
    check = text.index("# ---- gradcheck ----")
    text = text[:check] + text[text.index("\n}", text.index("\nfn gradcheck(", check)):] + open(TANGENTS).read()
    text = re.sub(r'#.*|"[^"\n]*"', "", text)
    used = set(re.findall(r"\b([a-z]\w*)\(", text)) & rows
    wrong = [f"{n} is used by a rule, and has none" for n in sorted(used - set(table) - CONSTANTS)]
    wrong += [f"{n} has a rule and is no row" for n in sorted(set(table) - rows)]
    wrong += [f"{n} has a rule and a reason for having none" for n in sorted(bare & set(table))]
    wrong += [f"{n} has a rule and no tangent" for n in sorted(set(table) - set(LINEAR) - set(TANGENT_RULES))]
    return ["WRONG " + w for w in wrong]


def main():
    only = sys.argv[1:]
    table = rules(RULES, "d")
    blocks = []
    for name, parts, operands, is_complex in ew_cases():
        if only and name not in only:
            continue
        for mp in (False, True):
            if not (mp and is_complex):
                blocks.append((name, mp, ew_program(name, parts, operands, is_complex, mp)))
        for mp in (False, True):
            if not is_complex and name not in ("imag", "angle"):
                blocks.append((name, mp, second_program(name, parts, operands, mp)))
        if name not in ("log2", "log10", "gelu", "erf", "erfc") or not is_complex:
            blocks.append((name, False, ew_narrow(name, parts, operands)))
    for case in CASES:
        if only and case[0] not in only:
            continue
        for mp in (False, True):
            lines = rule_program(case, table, mp)
            if lines:
                blocks.append((case[0], mp, lines))
        lines = rule_program(case, table, False, narrow=True)
        if lines:
            blocks.append((case[0], False, lines))
    program = open(RULES).read() + open(TANGENTS).read() + HELPERS + "seed(1)\n"
    for k, (name, mp, lines) in enumerate(blocks):
        body = "\n    ".join(lines)
        inside = f"precision mp(200) {{ {body} }}" if mp else body
        # what mp has not is checked in f64 alone
        kinds = '"dtype", "numeric"' if mp else '"nothing"'
        program += (f"fn case_{k}() {{\n    {inside}\n}}\n"
                    f"try {{ case_{k}() }} catch e {{\n"
                    f"    if not (e.kind in ({kinds}, \"\")) {{ print(\"WRONG\", \"{name}\", \"raised\", "
                    f"\"{'mp' if mp else 'f64'}\", \"case {k}\", e.kind, e.message) }}\n}}\n")
    for name, operands, wanted in KINKS:
        if only and name not in only:
            continue
        lines = [f"{a} = {v}" for a, v in zip(OPERANDS, operands)]
        lines.append(f"r = {name}({', '.join(OPERANDS[:len(operands)])})")
        lines.append("w = cast(ones(shape(r)), dtype(r))")
        for texts, value in zip(slopes()[name], wanted):
            if value != "-":
                back = texts[0] if re.search(r"\bw\b", texts[0]) else f"w * conj({texts[0]})"
                lines.append(f'_equal("{name}", {back}, {value})')
        program += "fn kink() {\n    " + "\n    ".join(lines) + "\n}\nkink()\n"
    for name, text, value in VALUES:
        if not only or name in only:
            program += (f'try {{ _equal("{name}", {text}, {value}) }} catch e {{\n'
                        f'    print("WRONG", "{name}", "value", e.kind, e.message)\n}}\n')
    for k, (name, text, message) in enumerate(ERRORS):
        if only and name not in only:
            continue
        program += (f"try {{ {text}; print(\"WRONG\", \"{name}\", \"no error\") }} catch e {{\n"
                    f"    if \"{message}\" in e.message {{ print(\"right\", \"{name}\", \"error\") }}\n"
                    f"    else {{ print(\"WRONG\", \"{name}\", \"message\", e.message) }}\n}}\n")
    with tempfile.NamedTemporaryFile("w", suffix=".ric", delete=False) as f:
        f.write(program)
    out = subprocess.run([RICCI, "--no-notices", f.name], capture_output=True, text=True, timeout=1200)
    print(out.stderr, end="")
    wrong = coverage(table) + [x for x in out.stdout.splitlines() if x.startswith("WRONG")]
    right = sum(x.startswith("right") for x in out.stdout.splitlines())
    for line in wrong:
        print("FAIL" + line[len("WRONG"):])
    if os.environ.get("VERBOSE"):
        print(out.stdout)
    names = {x.split()[1] for x in out.stdout.splitlines() if x.startswith("right")}
    if not only:
        for name in sorted(set(table) - names):
            print("not checked:", name)
    if out.returncode:
        print("FAIL the program ended early")
    print(f"{right} passed, {len(wrong) + (out.returncode != 0)} failed")
    os.unlink(f.name)
    sys.exit(1 if wrong or out.returncode else 0)


if __name__ == "__main__":
    main()
