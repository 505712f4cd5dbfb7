#!/usr/bin/env python3
"""Shapes at the edges: calls of every row of the registry, subscripts, stores, index notation, einsum,
printing, saving and loading, on views and lengths near powers of two, near 2^63 and 2^64 and their
factors, with zeros and negative numbers among them. Each case must end in a value whose size is the
product of its extents, or in an error, without a signal or a word of a sanitizer; one that takes long
must stop at Ctrl-C. What can be counted by hand is compared (kind `counts`).

    shapes.py [--seconds 90] [--seed N] [--ricci build/asan/ricci] [--only KIND,…]

Prints its seed first and `N passed, N failed` last; the cases that failed are kept in build/fuzz.
"""
import argparse
import glob
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import calls  # noqa: E402

SANITIZER = re.compile(rb"ERROR: (Address|Leak)Sanitizer|runtime error:|Sanitizer:DEADLYSIGNAL")
BATCH = 24                  # cases of one process
PATIENCE = 1.5              # seconds of one case before it is interrupted
STOP = 2.0                  # seconds that it has then, times `slow`
MOST = 2**62                # of elements, extents of 0 counted as 1
NEVER = {"exit", "read", "lines", "write", "env", "args", "help", "ptr", "as_tensor", "cstring", "steps",
         "simulate", "time", "warn", "load", "save"}
CELLS = ("[1.0]", "[1.0]", "[1.0]", "[1]", "[true]", "f32([1])", "[1i]", "i8([1])", "u8([200])", "f16([1])", "bf16([0.1])",
         "[nan]", "decimal(4)([1])", "mp(70)([1])", "rational([1])", "interval([1])", "e4m3([1])", "c64([1i])", "1.0", "[[1.0]]")
VIEWS = ("{}", "{}", "{}", "{}[none]", "{}[..., none]", "{}[0]", "{}[1:]", "{}[::-1]", "{}[..., ::2]", "transpose({})", "{}'",
         "flip({})", "{}[..., 0:3]", "expand({}, axis=-1)")
SCOPES = ("{}",) * 12 + ("precision decimal(4) {{ {} }}", "precision mp(80) {{ {} }}", "precision f32 {{ {} }}",
                         "precision rational {{ {} }}", "precision interval {{ {} }}", "autocast f16 {{ {} }}",
                         "on sim.mps {{ {} }}", "on sim.tpu {{ {} }}", "explain {{ {} }}", "profile {{ {} }}")
PRELUDE = """
fn judge(x) {
    if type(x) == "tensor" {
        p = 1.0
        for n in shape(x) {
            if n < 0 { throw "WRONG negative extent {shape(x)}" }
            p = p * n
        }
        n = float(size(x))
        if n < 0 or abs(n - p) > 1e-9 * p or p > 4.7e18 { throw "WRONG size {size(x)} of {shape(x)}" }
    }
    if type(x) == "tuple" { for y in x { judge(y) } }
}
fn mind(e) {
    if e.kind == "internal" or contains("WRONG", e.message) { warn("#!{e.kind} {e.message}#") }
}
fn same(x, y) {
    if abs(float(x) - y) > 1e-6 * abs(y) { throw "WRONG {x}, not {y}" }
}
"""
tried = findings = 0
options = None


# ---- numbers at the edges ----
def factors(n):
    """Prime factors below 10^5, and what is left."""
    out, p = [], 2
    while p * p <= n and p < 100000:
        while n % p == 0:
            out.append(p)
            n //= p
        p += 1
    return out + ([n] if n > 1 else [])


TARGETS = [2**k + d for k in (31, 32, 47, 53, 61, 62, 63, 64) for d in (-1, 0, 1)] + [2**64 + d for d in range(-9, 10)] + \
          [2**65, 2**66, 3 * 2**62, 2**64 + 2**32, 2**80, 2**128 + 1, 5 * 2**61]
KNOWN = {2**64 + 1: (274177, 67280421310721), 2**128 + 1: (59649589127497217, 2**40)}


def split(r, n, parts):
    """Extents whose product is n, or near it where its factors do not fit."""
    primes = list(KNOWN.get(n, ())) or factors(n)
    out = [1] * parts
    for p in primes:
        fits = [i for i in range(parts) if out[i] * p < 2**63]
        if fits:
            i = r.choice(fits)
            out[i] *= p
    return out


def edge(r):
    k = r.randrange(8)
    if k == 0:
        return r.choice((0, 1, 2, 3, 5, 7, 16, 33))
    if k == 1:
        return r.choice((-1, -2, 0, 1, 2, -2**31, -2**62, -2**63, -2**63 + 1))
    if k == 2:
        return r.choice((2**63 - 1, 2**63 - 2, 2**62, 2**62 - 1, 2**62 + 1, 2**61))
    return 2**r.randrange(4, 63) + r.choice((-1, 0, 0, 1))


def count(r):
    return abs(edge(r)) if r.random() < 0.9 else edge(r)


def shape(r):
    k = r.randrange(12)
    if k < 1:
        out = split(r, r.choice(TARGETS), r.choice((1, 2, 2, 3, 4)))
    elif k < 4:
        out = split(r, r.choice([t for t in TARGETS if t <= MOST]), r.choice((1, 2, 2, 3, 4)))
    elif k < 6:                                    # takes time, or is refused
        out = split(r, 2**r.randrange(18, 50), r.choice((1, 2, 2, 3)))
    elif k < 7:
        out = [r.choice((0, 1, 2, 3, 4, 7)) for _ in range(r.choice((0, 1, 2, 2, 3)))]
    elif k < 8:
        out = [count(r) for _ in range(r.choice((1, 2, 3)))]
    elif k < 11:
        out = [2] * r.randrange(29, 33) if r.random() < 0.5 else [r.choice((1, 2, 4, 8, 16)) for _ in range(r.randrange(3, 33))]
    else:
        out = split(r, 2**r.randrange(40, 64), 2)
        out.insert(r.randrange(3), 0)
    r.shuffle(out)
    return out


def text_of(extents):
    return "(%s)" % "".join("%s, " % literal(n) for n in extents)


def literal(n):
    return "(-9223372036854775807 - 1)" if n == -2**63 else str(n) if n < 2**63 else "%d * 2" % (n // 2)


def small(r):
    return r.choice(("[1.0, 2, 3]", "[1, 2, 3]", "ones(3, 4)", "eye(3)", "ones(4, 3)", "[true, false]", "zeros(0)", "zeros(0, 3)",
                     "[1i, 2]", "ones(2, 3, 4)", "[2.0]", "3.0", "2", "arange(10.0)", "f32([1, 2])", "ones(1, 5)"))


def huge(r, extents=None):
    text = "broadcast_to(%s, %s)" % (r.choice(CELLS), text_of(extents or shape(r)))
    return r.choice(VIEWS).format(text)


def operand(r):
    k = r.random()
    if k < 0.7:
        return huge(r)
    if k < 0.92:
        return small(r)
    return "0:%s" % literal(count(r)) if k < 0.96 else literal(edge(r))


# ---- the kinds of cases: each gives statements ----
def read_rows(root):
    rows = {}
    for path in sorted(glob.glob(os.path.join(root, "builtins", "*", "*.def"))):
        text = open(path, encoding="utf-8").read()
        for row in re.finditer(r'^OP\((\w+),(?:[^"\n]|\n)*?(?:\.infix = "[^"]*", )?\.params = "((?:[^"\\]|\\.)*)"', text, re.M):
            rows[row[1]] = [p.strip() for p in row[2].split(",") if "=" not in p or p.strip()[-1:] not in ("\\", '"')]
        for row in re.finditer(r'^EW[123]\(\w+, "(\w+)", "([^"]*)"', text, re.M):
            rows[row[1]] = [p.strip() for p in row[2].split(",")]
    return sorted((n, p) for n, p in rows.items() if n not in NEVER)


COUNTS = {"n", "k", "m", "shift", "parts", "digits", "bins", "width", "shape", "reps", "length", "minlength", "size", "num",
          "start", "stop", "step", "rows", "cols", "s", "indices", "period", "maxsplit", "base", "low", "high", "offset"}


def value(r, param):
    if param in ("shape", "reps", "s") and r.random() < 0.8:
        return text_of(shape(r) if r.random() < 0.5 else [edge(r) for _ in range(r.choice((1, 2, 3)))])
    if param in COUNTS and r.random() < 0.7:
        k = r.random()
        return literal(edge(r)) if k < 0.7 else "(%s, %s)" % (literal(edge(r)), literal(edge(r))) if k < 0.85 else \
            "[%s, %s]" % (literal(edge(r)), literal(edge(r)))
    return calls.fitting(r, "", param)


def rows_case(r):
    name, params = r.choice(options.rows)
    args, star = [], False
    shared = shape(r)
    for p in params:
        plain = p.split("=")[0].rstrip(".")
        if p == "*":
            star = True
        elif p.endswith("...") and plain != "shape" and plain != "reps":
            args += [operand(r) for _ in range(r.choice((1, 1, 2, 3)))]
        elif plain in calls.NOT_TENSOR or plain in COUNTS or "=" in p or star:
            if "=" not in p:
                args.append(value(r, plain))
            elif r.random() < 0.35 and plain:
                args.append("%s=%s" % (plain, operand(r) if plain in ("weights", "x", "value") else value(r, plain)))
        elif r.random() < 0.25:
            args.append(huge(r, shared))
        else:
            args.append(operand(r))
    names = [a for a in args if re.match(r"[a-z_]+=", a)]
    return ["r = %s(%s)" % (name, ", ".join([a for a in args if a not in names] + names)), "judge(r)"]


def operators(r):
    op = r.choice(("+", "-", "*", "/", "@", "^", "==", "<", "&", "//", "%", r"\\"[:1]))
    lines = ["a = " + operand(r), "b = " + operand(r)]
    text = r.choice(("a {0} b", "a {0} b {0} a", "sum(a {0} b)", "(a {0} 1) {0} b", "-a {0} b'", "(a {0} b)[0]", "any(a {0} b)",
                     "sqrt(a {0} b) * 2", "a in (b, a)", "a == b", "(a, b) == (a, b)", "sum(a * b, axis=0)"))
    return lines + ["r = " + text.format(op), "judge(r)"]


def subscript(r):
    k = r.randrange(12)
    if k < 3:
        return literal(edge(r))
    if k < 6:
        part = [literal(edge(r)) if r.random() < 0.6 else "" for _ in range(3)]
        return ":".join(part if r.random() < 0.5 else part[:2])
    return (":", "...", "none", "[0, 0]", "broadcast_to([0], %s)" % text_of(shape(r)),
            "broadcast_to([%s], %s)" % (r.choice(("true", "false")), text_of(shape(r))))[k - 6]


def indexing(r):
    subs = ", ".join(subscript(r) for _ in range(r.choice((1, 1, 2, 2, 3))))
    lines = ["x = " + (operand(r) if r.random() < 0.9 else "arange(24)")]
    k = r.random()
    if k < 0.6:
        return lines + ["r = x[%s]" % subs, "print(r)", "judge(r)"]
    if k < 0.8:
        lines[0] = "x = " + r.choice(("zeros(3, 4)", "arange(24.0)", "zeros(2, 3, 4)", "zeros(0, 3)", lines[0][4:]))
        return lines + ["x[%s] %s %s" % (subs, r.choice(("=", "=", "+=", "*=")), operand(r)), "judge(x)"]
    return lines + ["n = 0", "for v in x { n += 1; if n > 3 { break } }",
                    "r = %s" % r.choice(("x[x > 0]", "x[0:2]", "string(x[0])", "len(x)", "(x, x)", '"{x}"', "contains(2.0, x)",
                                         "x[-1]", "map(v -> v, x)", "reduce((a, b) -> a, x)", "filter(v -> true, x)", "zip(x, x)[0]"))]


def notation(r):
    n, m = literal(count(r)), literal(edge(r))
    one, two = huge(r, [count(r)]), huge(r, shape(r)[:2])
    lines = ["a = " + r.choice((one, "arange(10.0)", "[1, 2, 3]")), "b = " + r.choice((one, "ones(7)", huge(r, [count(r)]))),
             "A = " + r.choice((two, "ones(3, 4)")), "n = " + n, "m = " + m]
    text = r.choice((
        "y[i,j] := a[i] * b[j]", "y := sum[i,j] a[i] * b[j]", "y := sum[i,j,k] a[i]*b[j]*a[k]", "y[i] := A[i,j]*a[j]", "y[i,k] := A[i,j]*A[j,k]",
        "y := sum[i] a[i]", "y := max[i,j] (a[i] + b[j])", "y := sum[i,j] (a[i] - b[j])^2", "y[i] := a[i+k]*b[k]",
        "y[i] := a[n*i + m]", "y[i] := a[i] + m for i in 0:n", "y[i] := 1.0*i for i in 0:n", "y[i,j] := i*j for i in 0:n, j in 0:m",
        "y := sum[i in 0:n, j in 0:m] 1.0*i", "y := sum[i in 0:n, j in 0:m] 1", "y := argmax[i] a[i]",
        "y[i] := argmin[j] A[i,j]", "y[i] := a[clamp(i+m)] for i in 0:n", "y[i] := a[mod(i*n+m)] for i in 0:5",
        "y[i] := a[pad(i-m)] for i in 0:n", "y[i] := sum[k in 0:n] a[clamp(i+k-m)] for i in 0:4",
        "y[i,j] := A[i,j]*A[j,i]", "y[i] := A[i,i]", "y := sum[i] A[i,i]", "y[i] := mean[j] A[i,j]", "y[i] := any[j] (A[i,j] > 0)",
        "y[i] := a[i//2]", "y[i] := prod[j] A[j,i]", "y[i,j,k,l] := a[i]*b[j]*a[k]*b[l]", "y := sum[i,j,k] a[i+j+k]*b[j+k]",
        "y[i] := sum[j,k] (a[j]*b[k]*A[i,k])", "y := sum[i,j,k] exp(a[i] + b[j]*a[k])", "y[i] := a[i] / sum[j] a[j]",
        "y[i] := a[i] for i in m:n", "y := sum[i in 0:n] a[0]", "y := sum[i in 0:n, j in 0:n, k in 0:n] a[0]",
        "y[j] := sum[i in 0:n] b[j]", "y[i] := a[i*i % 7] for i in 0:n", "y := min[i in 0:n, j in m:n] i - j", "y[i] := max[j in 0:n, k in 0:n] a[i] + j*k", "y := argmax[i in m:n] i*i"))
    return lines + [text, "judge(y)"]


def einsum(r):
    labels = "ijkl"[:r.choice((1, 2, 3, 4))]
    length = {x: count(r) if r.random() < 0.7 else r.choice((0, 1, 2, 3)) for x in labels}
    terms = ["".join(r.choice(labels) for _ in range(r.choice((0, 1, 1, 2, 2, 3)))) for _ in range(r.choice((1, 2, 2, 3, 4)))]
    used = sorted({x for t in terms for x in t})
    spec = ",".join(terms) + ("->" + "".join(x for x in used if r.random() < 0.35) if r.random() < 0.9 else "")
    cell = r.choice(CELLS)
    args = ["broadcast_to(%s, %s)" % (cell if r.random() < 0.8 else r.choice(CELLS), text_of(length[x] for x in t)) if t else "2.0"
            for t in terms]
    row = r.choice(("einsum", "einsum", "einsum", "einsum_path"))
    return ['r = %s("%s", %s)' % (row, spec, ", ".join(args)), "judge(r)"]


def broadcast(r):
    """The product itself: what fits is made and has that size, what does not is refused."""
    extents = [abs(n) for n in shape(r)] or [1]
    extents = [n for n in extents if n < 2**63][:32]
    full, exact = 1, 1
    for n in extents:
        full, exact = full * max(n, 1), exact * n
    if r.random() < 0.1:
        extents, full, exact = extents + [-1], 2**64, 0
    cell = r.choice(("[1.0]", "[true]", "[1]", "1i"))
    if full > MOST:
        return ["r = none", "try { r = broadcast_to(%s, %s) } catch e { if e.kind not in (\"memory\", \"value\") { throw e } }" %
                (cell, text_of(extents)), 'if r is not none { throw "WRONG: made {shape(r)}" }'.replace("r is not none", 'type(r) != "none"')]
    return ["r = broadcast_to(%s, %s)" % (cell, text_of(extents)),
            "if size(r) != %d or shape(r) != %s { throw \"WRONG {size(r)}\" }" % (exact, text_of(extents)),
            r.choice(("r = transpose(r)", "r = r[none]" if len(extents) < 32 else "r = r", "r = flip(r)", "r = squeeze(r)")),
            "if size(r) != %d { throw \"WRONG {size(r)}\" }" % exact, "print(r)", "judge(r)"]


def counts(r):
    """Of ones: what a reduction gives is the product of the extents."""
    a, b, c, d = (r.choice((2, 3, 7, 31, 2**10, 2**16, 2**16 + 1, 99991)) for _ in range(4))
    total = a * b
    ones = "broadcast_to(%s, (%d, %d))" % (r.choice(("[1.0]", "1.0")), a, b)
    k = r.randrange(6)
    if k == 0 and total <= 2**22:
        return ["same(%s(%s), %d)" % (r.choice(("sum", "count", "nansum")), ones, total)]
    if k == 1:
        return ['same(einsum("i,j,k,l->", %s), %s)' % (", ".join("broadcast_to([1.0], %d)" % n for n in (a, b, c, d)), float(a * b * c * d))]
    if k == 2:
        return ["y := sum[i in 0:%d, j in 0:%d, k in 0:%d, l in 0:%d] 1.0" % (a % 50, b % 50, c % 9, d % 9),
                "same(y, %s)" % float((a % 50) * (b % 50) * (c % 9) * (d % 9))]
    if k == 3:
        return ["p = broadcast_to([1.0], %d); q = broadcast_to([1.0], %d); s = ones(%d)" % (a, b, min(c, 99)),
                "y := sum[i,j,k] p[i]*q[j]*s[k]", "same(y, %s)" % float(a * b * min(c, 99))]
    if k == 4:
        return ["r = broadcast_to([1.0], (2, %d)) @ broadcast_to([1.0], (%d, 3))" % (a, a), "same(r[1, 2], %d)" % a, "judge(r)"]
    return ["x = concat(%s)" % ", ".join("broadcast_to([1.0], %d)" % (n % 5000) for n in (a, b, c)),
            "same(sum(x), %d)" % (a % 5000 + b % 5000 + c % 5000), "same(size(x), %d)" % (a % 5000 + b % 5000 + c % 5000)]


def files(r):
    kind = r.choice(("npy", "npz", "mtx", "csv", "safetensors", "json"))
    name = "f%d.%s" % (r.randrange(10**6), kind)
    if r.random() < 0.5:
        x = operand(r) if r.random() < 0.6 else "(a=%s, b=%s)" % (operand(r), operand(r))
        return ['save("%s", %s)' % (name, x), 'r = load("%s")' % name, "judge(r)"]
    extents = shape(r) if r.random() < 0.8 else [edge(r) for _ in range(r.randrange(1, 4))]
    body = bytes(r.choice((0, 8, 64, 1024)))
    if kind in ("npy", "npz"):
        head = "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }" % (
            r.choice(("<f8", "<f4", "|b1", "<i8", "<c16", "<u2", ">f8")), r.choice(("True", "False")), "".join("%d, " % n for n in extents))
        head += " " * (-(len(head) + 11) % 64) + "\n"
        data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + body
        name = name.replace("npz", "npy")
    elif kind == "mtx":
        pair = (extents + [1, 1])[:2]
        if r.random() < 0.5:
            data = b"%%MatrixMarket matrix coordinate real general\n" + b"%d %d %d\n" % (*pair, r.choice((0, 1, edge(r)))) + b"1 1 1\n"
        else:
            data = b"%%MatrixMarket matrix array real " + r.choice((b"general", b"symmetric")) + b"\n%d %d\n" % tuple(pair) + b"1\n2\n"
    elif kind == "safetensors":
        head = '{"a":{"dtype":"%s","shape":[%s],"data_offsets":[0,%d]}}' % (
            r.choice(("F64", "U8", "BOOL", "F32", "BF16")), ",".join("%d" % n for n in extents), r.choice((0, 8, len(body), abs(edge(r)))))
        data = struct.pack("<Q", r.choice((len(head), len(head), abs(edge(r))))) + head.encode() + body
    else:
        return ['save("%s", %s)' % (name, huge(r))]
    options.files.append((name, data))
    how = r.choice(("", ", sparse=true")) if kind == "mtx" else ""
    return ['r = load("%s"%s)' % (name, how), "judge(r)"]


def printing(r):
    return ["x = " + operand(r), r.choice(("print(x)", 'print("{x}")', 'print(format(x, ".2f"))', "print(repr(x))", "print((x, x))",
                                           'format("full"); print(x)', 'format("latex"); print(x)', 'format("fraction"); print(x)',
                                           'format("hex"); print(x)', "format(dots=true); print(x)", "print([x, x])", "x")), "format()"]


def literals(r):
    return [r.choice(("r = [i for i in 0:%s]", "r = [i*j for i in 0:%s, j in 0:3]", "r = cast(0:%s, f64)", "r = sum(0:%s)", "r = (0:%s)[3]",
                      "r = zeros(%s)", "r = [0:%s, 0:3]", "r = \"ab\" * %s", "r = tile((1, 2), %s)", "r = mean(0:%s)", "r = rand(%s, 2)",
                      "r = 2.0 ^ (0:%s)", "r = f32(0:%s)", "r = string(0:%s)")) % literal(edge(r)), "judge(r)"]


KINDS = {"rows": rows_case, "operators": operators, "indexing": indexing, "notation": notation, "einsum": einsum,
         "broadcast": broadcast, "counts": counts, "files": files, "printing": printing, "literals": literals}
WEIGHTS = {"rows": 12, "operators": 3, "indexing": 4, "notation": 5, "einsum": 3, "broadcast": 2, "counts": 2, "files": 3, "printing": 1,
           "literals": 1}


# ---- running ----
def case(r, kinds):
    kind = r.choices(kinds, [WEIGHTS[k] for k in kinds])[0]
    lines = KINDS[kind](r)
    scope = "{}" if kind in ("broadcast", "counts", "files") else r.choice(SCOPES)
    last = len(lines) - lines[::-1].index(next(x for x in lines[::-1] if not x.startswith("judge(")))
    body = "\n    ".join([scope.format("\n    ".join(lines[:last])), *lines[last:]])   # judged outside of the scope
    return kind, "try {\n    %s\n} catch e { mind(e) }\n" % body


def environment():
    env = dict(os.environ, LC_ALL="C.UTF-8", TERM="dumb", RICCI_PATH="", OPENBLAS_NUM_THREADS="1", RICCI_THREADS="2")
    mine = ("detect_leaks=1:exitcode=99:allocator_may_return_null=1:max_allocation_size_mb=96:"
            "quarantine_size_mb=32:handle_sigill=1:detect_stack_use_after_return=0")
    env["ASAN_OPTIONS"] = ":".join(filter(None, (env.get("ASAN_OPTIONS"), mine)))     # the last one holds
    env.setdefault("LSAN_OPTIONS", "print_suppressions=0:suppressions=" + os.path.join(ROOT, "tests/tools/lsan.supp"))
    env.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    return env


def limits():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 20, 64 << 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if options.data_limit:
        resource.setrlimit(resource.RLIMIT_DATA, (options.data_limit, options.data_limit))


class Watched:
    """One process over cases[begin:]: how far it came is read from its notices."""

    def __init__(self, work, cases, begin):
        text = PRELUDE + "".join('warn("#%d#")\n%s' % (i, cases[i][1]) for i in range(begin, len(cases)))
        path = os.path.join(work, "shapes.ric")
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        self.at, self.since, self.log = begin, time.time(), []
        self.process = subprocess.Popen([options.ricci, path], cwd=work, env=environment(), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=limits)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            mark = re.search(rb"#(\d+)#", line)
            if mark:
                self.at, self.since = int(mark[1]), time.time()
            elif len(self.log) < 400:
                self.log.append((self.at, line))

    def wait(self):
        """None, or what is wrong with case self.at; interrupted says whether it was stopped."""
        self.interrupted = False
        while self.process.poll() is None:
            time.sleep(0.02)
            if time.time() - self.since > options.patience:
                self.interrupted = True
                self.process.send_signal(signal.SIGINT)
                try:
                    self.process.wait(STOP * options.slow)
                except subprocess.TimeoutExpired:
                    self.process.kill()
                    self.process.wait()
                    return "did not stop at Ctrl-C in %g s" % (STOP * options.slow)
        self.reader.join()
        log = b"".join(line for _, line in self.log)
        report = SANITIZER.search(log)
        if report:
            return log[report.start():].split(b"\n")[0].decode(errors="replace")
        if self.process.returncode < 0 and not (self.interrupted and self.process.returncode == -signal.SIGINT):
            return "signal %d" % -self.process.returncode
        return None


def found(kind, name, why, text, log):
    global findings
    findings += 1
    folder = os.path.join(options.keep, name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "case.ric"), "w", encoding="utf-8") as out:
        out.write(PRELUDE + text)
    with open(os.path.join(folder, "log"), "wb") as out:
        out.write(why.encode() + b"\n" + log)
    print("FAIL %s: %s (%s)\n%s" % (kind, why, os.path.relpath(folder, ROOT), text), flush=True)


def run_batch(r, name, kinds):
    global tried
    options.files = []
    cases = [case(r, kinds) for _ in range(BATCH)]
    work = tempfile.mkdtemp(prefix="ricci-shapes.")
    try:
        for path, data in options.files:
            with open(os.path.join(work, path), "wb") as out:
                out.write(data)
        begin = 0
        while begin < len(cases) and time.time() < options.end:
            p = Watched(work, cases, begin)
            why = p.wait()
            parsed = p.interrupted or p.process.returncode == 0 or why
            for at, line in p.log:
                if b"#!" in line:
                    found(cases[at][0], "%s-%d" % (name, at), line.decode(errors="replace").strip(), cases[at][1], line)
            if why:
                found(cases[p.at][0], "%s-%d" % (name, p.at), why, cases[p.at][1], b"".join(line for _, line in p.log))
            elif not parsed:
                log = b"".join(line for _, line in p.log[-8:])
                found("script", "%s-%d" % (name, p.at), "ended with status %s" % p.process.returncode, cases[p.at][1], log)
            tried += p.at + 1 - begin
            begin = p.at + 1
    finally:
        shutil.rmtree(work, ignore_errors=True)


def data_limit():
    """Bytes that a build without a sanitizer may have; 0: it reserves more than that."""
    limit = 3 << 30
    done = subprocess.run([options.ricci, "-e", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)))
    return limit if done.returncode == 0 else 0


def main():
    global options
    p = argparse.ArgumentParser()
    p.add_argument("--seconds", type=float, default=90)
    p.add_argument("--seed", type=int, default=None)
    p.add_argument("--ricci", default=os.environ.get("RICCI", os.path.join(ROOT, "build/asan/ricci")))
    p.add_argument("--keep", default=os.environ.get("KEEP", os.path.join(ROOT, "build/fuzz")))
    p.add_argument("--only", default=",".join(KINDS))
    p.add_argument("--patience", type=float, default=PATIENCE)
    p.add_argument("--slow", type=float, default=3, help="how many times slower than a release build all may be")
    options = p.parse_args()
    options.ricci, options.keep = os.path.abspath(options.ricci), os.path.abspath(options.keep)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**31)
    options.rows, options.end = read_rows(ROOT), time.time() + options.seconds
    options.data_limit = data_limit()
    print("seed %d, %d rows" % (seed, len(options.rows)), flush=True)
    for number in range(10**9):
        if time.time() >= options.end:
            break
        name = "shapes-%d-%d" % (seed, number)
        run_batch(random.Random(name), name, options.only.split(","))
    print("%d passed, %d failed" % (tried - findings, findings))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
