#!/usr/bin/env python3
"""Writes tests/unit/format_spec.def: what Python's own format() gives for many specs.

Rows are INT(value, spec, text), FLOAT(…), STRING(…), COMPLEX(re, im, spec, text); an
ERROR_ row is a spec that Python refuses. Run it when a case is added."""
import random

random.seed(20)


def quote(text):
    out = ""
    for b in text.encode():
        out += chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else "\\%03o" % b
    return '"' + out + '"'


def row(kind, args, value, spec):
    try:
        text = format(value, spec)
    except (ValueError, OverflowError):
        return "ERROR_%s(%s, %s)" % (kind, args, quote(spec))
    if kind == "COMPLEX":
        text = text.replace("j", "i").replace("(", "").replace(")", "")
    return "%s(%s, %s, %s)" % (kind, args, quote(spec), quote(text))


def specs(count, types, precisions):
    fills = ["", "", "<", ">", "^", "=", "*<", "*^", "0>", "·^", "x=", "0="]
    for _ in range(count):
        yield "".join(random.choice(c) for c in (
            fills, ["", "", "", "+", "-", " "], ["", "", "", "#"], ["", "", "0"],
            ["", "", "1", "8", "12", "25"], ["", "", "", ",", "_"], precisions, types))


def main():
    ints = [0, 1, -1, 7, 42, -1234, 65, 255, 1000000, 123456789, -9223372036854775808]
    floats = [0.0, -0.0, 1.0, -1.5, 0.1, 3.14159265358979, 1234567.891, 1e-7, 123456789012.0,
              2.5, 0.5, 99.995, 1e100, float("inf"), float("-inf"), float("nan"), -12345.678]
    rows = []
    types = ["d", "b", "o", "x", "X", "c", "n", "", "", "e", "f", "g", "%", "s", "q"]
    for spec in specs(300, types, ["", "", "", "", ".2"]):
        value = random.choice(ints[:9] if spec.endswith("c") else ints)
        rows.append(row("INT", "INT64_MIN" if value < -2**62 else value, value, spec))
    types = ["e", "E", "f", "F", "g", "G", "n", "%", "d"]
    for spec in specs(380, types, ["", ".0", ".1", ".3", ".10", ".20"]):
        value = random.choice(floats)
        rows.append(row("FLOAT", c_float(value), value, spec))
    for spec in specs(90, [""], ["", "", ".1", ".3", ".6", ".12"]):
        value = random.choice(floats)
        r = row("FLOAT", c_float(value), value, spec)
        if "e+" not in r and "e-" not in r and not (value == 0 and ".1" in spec):
            rows.append(r)
    for spec in specs(120, ["s", "", "d"], ["", "", ".0", ".2", ".5"]):
        value = random.choice(["", "a", "hello", "naïve", "日本語", "two words"])
        rows.append(row("STRING", quote(value), value, spec))
    for spec in specs(90, ["e", "f", "g", "x"], [".1", ".3", ""]):
        value = complex(random.choice(floats[:10]), random.choice(floats[:10]))
        rows.append(row("COMPLEX", c_float(value.real) + ", " + c_float(value.imag), value, spec))
    rows += ["/* specs that are wrong in themselves */"]
    rows += ['ERROR_INT(5, %s)' % quote(s) for s in
             ["5q", "q5", "..2f", ".f", "d5", "5 d", ",_d", "10.2.3f", "é", "99999999999d"]]
    print("/* Format specs and what Python's format() gives: written by tests/tools/format_table.py. */")
    print("\n".join(dict.fromkeys(rows)))


def c_float(x):
    if x != x:
        return "(double)NAN"
    if x in (float("inf"), float("-inf")):
        return "-(double)INFINITY" if x < 0 else "(double)INFINITY"
    return repr(x)


main()
