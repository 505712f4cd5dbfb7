#!/usr/bin/env python3
"""Random programs with loops, run by the evaluator alone (RICCI_JIT=0) and with machine code from
the second iteration on (RICCI_JIT=now, by LLVM, and RICCI_JIT=quick, without and with a terminal): they
must print the same, and end with the same error. So must those of tests/lang/hot, which run first.

What they are made of is what machine code handles and what borders on it: ranges with every kind
of step, conditions, ints near overflow, floats that are nan or infinite, variables that change
kind, elements of tensors of several dtypes and layouts, small functions, errors in the middle.

programs.py [--seed N] [--cases N] [--ricci PATH] [--jobs N] [--show N] [--keep FOLDER] [--ways now,quick,terminal]
--show prints the program of a case and ends. Prints `N passed, N failed` last."""
import argparse
import fcntl
import glob
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import tty
from concurrent.futures import ThreadPoolExecutor

INTS = ["0", "1", "-1", "2", "3", "5", "7", "-3", "10", "100", "1_000_003", "4611686018427387904",
        "9223372036854775807", "(-9223372036854775807 - 1)", "9007199254740993", "9007199254740992", "2147483648"]
SMALL = ["0", "1", "-1", "2", "3", "4", "5", "-2", "-3", "7"]
FLOATS = ["0.0", "-0.0", "0.5", "1.5", "-2.25", "1e308", "-1e308", "1e-310", "inf", "-inf", "nan", "pi",
          "9007199254740992.0", "9.3e18", "0.1", "3.0", "-1.0"]
PLAIN = ["0.0", "0.5", "1.5", "-2.25", "0.1", "3.0", "-1.0", "2.0"]
COMPARE = ["<", "<=", ">", ">=", "==", "!="]
# name, what it is made of, kind: vectors and matrices of each dtype and layout
TENSORS = [
    ("u", "[1.5, -2.0, 0.25, 3.0, -0.5]", "fv"), ("v", "zeros(6)", "fv"), ("w", "(1.0 * (0:12))[::2]", "fv"),
    ("t", "ones(5)", "fv"), ("m", "i64([3, 1, 4, 1, 5, 9])", "iv"), ("k", "[7, -2, 0, 2, 5]", "iv"),
    ("q", "[true, false, true, true, false]", "bv"), ("A", "[1.0, 2.0, 3.0; 4.0, 5.0, 6.0; 7.0, 8.0, 9.5]", "fm"),
    ("B", "reshape(1.0 * (0:20), (4, 5))'", "fm"), ("C", "reshape(0:16, (4, 4))", "im"),
    ("D", "reshape(0.5 * (0:30), (5, 6))[::2, 1:5]", "fm"), ("E", "broadcast_to([1.0, 2.0, 3.0], (3, 3))", "fm"),
    ("F", "f32([1.5, 2.5, 3.5, 4.5])", "fv"), ("G", "reshape(0:12, (4, 3)) % 3 == 0", "bm"),
    ("H", "broadcast_to(0.5, (5,))", "fv"), ("z", "(1.0 * (0:6))[::-1]", "fv"),
    ("X", "zeros(3, 3)", "fm"), ("T", "reshape(0.5 * (0:27), (3, 3, 3))", "ft"), ("Z", "zeros(0)", "fv"),
    ("R", "reshape(0:24, (2, 3, 4))", "it"), ("V", "transpose(reshape(0.25 * (0:24), (2, 4, 3)), (2, 0, 1))", "ft"),
    ("L", "reshape(0.5 * (0:81), (3, 3, 3, 3))[:, ::-1, :, :]", "fq"), ("M", "f32(reshape(0.1 * (0:9), (3, 3)))'", "fm"),
    ("N", "f32(0.3 * (0:10))[::2]", "fv"),
]
# What machine code has not: tensors of other dtypes, scalars of other formats, tuples with names
OTHERS = [
    ("x32", "i32([1, -2, 3])"), ("x8", "u8([250, 3, 4])"), ("xh", "f16([1.5, 2.0, 60000.0])"), ("xc", "cast([1i, 2.0, 3], c64)"),
    ("sh", "f16(1.5)"), ("s8", "i8(100)"), ("s32", "i32(2147483000)"), ("sr", 'rational("1/3")'), ("si", "interval(1, 2)"), ("sm", "cast(1.5, mp(80))"),
    ("rec", "(a=1, b=2.5, v=[1.0, 2.0, 3.0])"), ("tup", "(1, 2.5, [3, 4])"),
]


class Program:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.lines = []
        self.depth = 0
        self.loops = []              # variables of the loops around
        self.in_function = False
        self.fuel = 0
        self.size = 0
        self.functions = []          # (name, kinds of parameters, kind of result)
        self.vars = {}
        self.calls = 0
        self.pair = None

    # ---- choosing ----
    def p(self, chance):
        return self.r.random() < chance

    def of(self, kind):
        names = [n for n, k in self.vars.items() if k == kind]
        return self.r.choice(names) if names else None

    def out(self, text):
        self.lines.append("    " * self.depth + text)

    # ---- expressions ----
    def int(self, d=0):
        r = self.r.random()
        if self.p(0.003):
            return self.any(d + 1)
        if self.p(0.03):
            c = "c0" if "c0" in self.vars else "cfg"
            return self.r.choice([c + ".n", "pt.n" if c == "cfg" else c + ".n", c + ".w[%s]" % self.subscript(d), "len(%s.v)" % c])
        if d > 3 or r < 0.22:
            return self.r.choice(SMALL if self.p(0.97) else INTS)
        if r < 0.52:
            return (self.of("i") if self.p(0.6) or not self.loops else self.r.choice(self.loops)) or "1"
        if r < 0.82:
            op = self.r.choice(["+", "+", "-", "-", "*", "//", "%", "%", "&", "|"])
            if op in "//%" and self.p(0.7):
                return "(%s %s %s)" % (self.int(d + 1), op, self.r.choice(["2", "3", "5", "-3", "7", "97", "-1", "0"] if self.p(0.3) else ["2", "3", "-5", "97"]))
            return "(%s %s %s)" % (self.int(d + 1), op, self.int(d + 1))
        if r < 0.86:
            return "(-%s)" % self.int(d + 1) if self.p(0.5) else "%s^%s" % (self.of("i") or "3", self.r.choice("2234"))
        if r < 0.90:
            if self.p(0.5):
                return "%s(%s)" % (self.r.choice(["abs", "abs", "sign", "invert", "floor", "ceil", "round", "trunc"]), self.int(d + 1))
            if self.p(0.3):
                return "%s(%s, %s)" % (self.r.choice(["shl", "shr"]), self.int(d + 1), self.r.choice(["0", "1", "7", "63", "64"]) if self.p(0.6) else self.int(d + 1))
            return self.pick(["maximum", "minimum", "bitand", "bitor", "xor"]) % (self.int(d + 1), self.int(d + 1))
        if r < 0.95:
            return self.element(self.r.choice(["iv", "im", "it"]), d) or "2"
        if r < 0.96:
            return "%s(%s)" % (self.r.choice(["i64", "int"]), self.number(d + 1))
        if r < 0.97:
            return self.choice("i", d)
        if r < 0.98:
            of = self.of(self.r.choice(["fv", "iv", "fm"])) or "u"
            return self.r.choice(["len(%s)", "len(%s)", "size(%s)", "ndim(%s)", "size(%s, -1)", "shape(%s)[0]", "shape(%s)[-1]", "shape(%s)[1]"]) % of
        if r < 0.985:
            return self.r.choice(["randint(6)", "randint(-2, 3)", "randint(%s, %s)" % (self.int(d + 2), self.int(d + 2))])
        return self.call("i", d) or "4"

    def choice(self, kind, d):
        """`if` as a value; its branches may be of two kinds."""
        b = self.expr(kind, d + 1) if self.p(0.8) else self.number(d + 1)
        more = "else if %s { %s } " % (self.bool(d + 1), self.expr(kind, d + 1)) if self.p(0.2) else ""
        return "(if %s { %s } %selse { %s })" % (self.bool(d + 1), self.expr(kind, d + 1), more, b)

    def pick(self, names):
        return self.r.choice(names) + "(%s, %s)"

    def float(self, d=0):
        r = self.r.random()
        if self.p(0.003):
            return self.any(d + 1)
        if self.p(0.03):
            c = "c0" if "c0" in self.vars else "cfg"
            return self.r.choice([c + ".x", "pt.x" if c == "cfg" else c + ".x", c + ".v[%s]" % self.subscript(d)])
        if d > 3 or r < 0.15:
            return self.r.choice(PLAIN if self.p(0.85) else FLOATS)
        if r < 0.40:
            return self.of("f") or "0.5"
        if r < 0.68:
            op = self.r.choice(["+", "-", "*", "/", "*", "+", "//", "%"] if self.p(0.2) else ["+", "-", "*", "/"])
            a, b = self.float(d + 1), self.float(d + 1) if self.p(0.7) else self.int(d + 1)
            return "(%s %s %s)" % ((a, op, b) if self.p(0.7) else (b, op, a))
        if r < 0.72:
            return "(-%s)" % self.float(d + 1)
        if r < 0.80:
            f = self.r.choice(["sqrt", "abs", "exp", "floor", "sin", "log", "tanh", "ceil", "round", "sign"])
            return "%s(%s)" % (f, self.float(d + 1) if self.p(0.8) else self.int(d + 1))
        if r < 0.83:
            return self.pick(["maximum", "minimum", "atan2", "hypot", "add", "divide", "multiply", "subtract", "mod", "power"]) % (self.float(d + 1), self.number(d + 1))
        if r < 0.85:
            return "(%s^%s)" % (self.float(d + 1), self.r.choice(["2", "0.5", "-1", "3", "2.0", "i"])) if self.p(0.8) else "(%s^%s)" % (self.int(d + 1), self.r.choice(["-1", "-2", "i", "5"]))
        if r < 0.86:
            return "√%s" % (self.of("f") or "2.0")
        if r < 0.95:
            return self.element(self.r.choice(["fv", "fm", "fv", "fm", "ft", "fq"]), d) or "0.5"
        if r < 0.955:
            return "%s(%s)" % (self.r.choice(["f64", "f32", "float"]), self.number(d + 1)) if self.p(0.6) else self.r.choice(["rand()", "randn()"])
        if r < 0.965:
            return self.choice("f", d)
        if r < 0.97:
            return "pi"
        return self.call("f", d) or "1.5"

    def complex(self, d=0):
        r = self.r.random()
        if d > 3 or r < 0.15:
            if self.p(0.1):
                return "complex(%s, %s)" % (self.number(d + 1), self.number(d + 1))
            return self.r.choice(["1i", "0i", "(0.5 - 2i)", "(2 + 0.25i)", "0.1i"] if self.p(0.9) else ["(inf + 1i)", "(nan + 0i)", "1e300i"])
        if r < 0.45:
            return self.of("c") or "1i"
        if r < 0.75:
            a, b = self.complex(d + 1), self.complex(d + 1) if self.p(0.6) else self.number(d + 1)
            return "(%s %s %s)" % ((a, self.r.choice("++--***/"), b) if self.p(0.7) else (b, self.r.choice("+-*/"), a))
        if r < 0.80:
            return "(-%s)" % self.complex(d + 1)
        if r < 0.86:
            return "%s(%s)" % (self.r.choice(["conj", "exp", "sqrt", "sin", "sign"]), self.complex(d + 1))
        if r < 0.90:
            return "(%s^%s)" % (self.complex(d + 1), self.r.choice(["2", "3", "0.5", "-1", "1i"]))
        if r < 0.93:
            return "(if %s { %s } else { %s })" % (self.bool(d + 1), self.complex(d + 1), self.complex(d + 1))
        return self.element("cv", d) or "2i"

    def complex_statement(self):
        r = self.r.random()
        if r < 0.40:
            self.out("%s %s %s" % (self.of("c") or "z0", self.r.choice(["=", "=", "+=", "*=", "-="]), self.complex(1)))
        elif r < 0.60:
            self.out("%s %s %s" % (self.place("cv", 0) or "z0", self.r.choice(["=", "=", "+=", "*=", "-="]), self.complex(1)))
        elif r < 0.80:
            self.out("%s = %s(%s)" % (self.of("f") or "f", self.r.choice(["abs", "real", "imag", "angle"]), self.complex(1)))
        elif r < 0.90:
            self.out("if abs(%s) > 2 { %s = 0.5i }" % (self.of("c") or "1i", self.of("c") or "z0"))
        elif r < 0.95:
            self.out("%s = %s %s %s" % (self.of("b") or "b", self.complex(2), self.r.choice(["==", "!="]), self.complex(2)))
        else:
            self.out("%s = %s" % (self.of("c") or "z0", self.number(1)))

    def number(self, d=0):
        return self.int(d) if self.p(0.5) else self.float(d)

    def bool(self, d=0):
        r = self.r.random()
        if self.p(0.002):
            return self.any(d + 1)
        if d > 3 or r < 0.08:
            return self.r.choice(["true", "false", self.of("b") or "true"])
        if r < 0.60:
            op = self.r.choice(COMPARE)
            kind = self.r.random()
            a = self.int(d + 1) if kind < 0.6 else self.float(d + 1)
            b = self.int(d + 1) if kind < 0.5 or kind > 0.9 else self.float(d + 1)
            return "%s %s %s" % (a, op, b)
        if r < 0.72:
            return "(%s %s %s)" % (self.bool(d + 1), self.r.choice(["and", "or"]), self.bool(d + 1))
        if r < 0.78:
            return "(not (%s))" % self.bool(d + 1)
        if r < 0.85:
            return "%s %s %s %s %s" % (self.number(d + 1), self.r.choice(COMPARE), self.number(d + 1), self.r.choice(COMPARE), self.number(d + 1))
        if r < 0.90:
            return self.of("b") or "true"
        if r < 0.94:
            return "(%s) %s (%s)" % (self.bool(d + 1), self.r.choice(["==", "!=", "&", "|"]), self.bool(d + 1))
        return self.element(self.r.choice(["bv", "bm"]), d) or "false"

    def any(self, d):
        return self.r.choice([self.int, self.float, self.bool])(d) if self.p(0.8) else "flags().inexact" if self.p(0.1) else \
            self.r.choice(['"s"', "none", "u", "nowhere", "(1, 2)", "1 + 2i", "A", "f32(1.5)", "i8(3)", "sum(u)", "rational(1, 3)"])

    def subscript(self, d):
        r = self.r.random()
        loop = self.r.choice(self.loops) if self.loops else "0"
        if r < 0.20:
            return "%s %% %s" % (loop, self.r.choice(["3", "2", "3", "4"]))
        if r < 0.45:
            return self.r.choice(["0", "1", "2", "-1", "-2"])
        if r < 0.65:
            return loop
        if r < 0.72:
            return "%s %s %s" % (loop, self.r.choice("+-"), self.r.choice(["1", "2", "i", "j"]))
        if r < 0.75:                 # sums of what stays and of a loop's variable
            parts = [loop, self.r.choice(["1", "i", "j", "2"]), self.r.choice(["1", "j", self.r.choice(self.loops or ["2"])])]
            self.r.shuffle(parts)
            return "%s %s %s %s %s" % (parts[0], self.r.choice("+-"), parts[1], self.r.choice("+-"), parts[2])
        if r < 0.98:
            return "(%s) %% 3" % self.int(d + 2)
        return self.r.choice(["100", "-7", "1.5", "true", ":", self.int(d + 2), "i", "0:2"])

    def place(self, kind, d):
        name = self.of(kind)
        if not name:
            return None
        count = {"v": 1, "m": 2, "t": 3, "q": 4}[kind[1]]
        if self.p(0.004):
            count = self.r.choice([1, 2, 3])
        return "%s[%s]" % (name, ", ".join(self.subscript(d) for _ in range(count)))

    def element(self, kind, d):
        return self.place(kind, d + 1)

    def expr(self, kind, d=0):
        if kind in "ifbc":
            return {"i": self.int, "f": self.float, "b": self.bool, "c": self.complex}[kind](d)
        return self.of(kind) or ("1" if kind[0] != "F" else "x -> x")

    def call(self, kind, d):
        if self.calls > 3:
            return None
        names = [f for f in self.functions if f[2] == kind or self.p(0.05)]
        if not names:
            return None
        self.calls += 1
        name, params, _ = self.r.choice(names)
        args = [self.expr(k, d + 2) for k in params]
        if self.p(0.004):
            args = args[:-1] if args and self.p(0.5) else args + ["1"]
        self.calls -= 1
        return "%s(%s)" % (name, ", ".join(args))

    # ---- statements ----
    def block(self, n):
        self.depth += 1
        for _ in range(self.r.randint(1, n)):
            self.statement()
        self.depth -= 1

    def statement(self):
        self.size += 1
        if self.of("c") and self.p(0.3):
            self.complex_statement()
            return
        if "c0" not in self.vars and self.p(0.04) and (not self.in_function or "p" not in self.vars):
            if self.p(0.5):
                self.out(self.r.choice(["pt = %s" % self.point(1), "pt = %s" % self.point(1), "pt = move(pt, %s)" % self.int(2), "pt = move(pt, %s)" % self.int(2),
                                        "pt.n += 1", "pt.x = %s" % self.float(1), "other = pt", "pt = (n=1, x=2.5)", "pt = (x=1.0, n=2, b=true)", "cfg = move(cfg, 1)"]))
                return
            self.out(self.r.choice(["cfg.n %s %s" % (self.r.choice(["=", "+=", "-=", "*="]), self.int(1)), "cfg.x %s %s" % (self.r.choice(["=", "+=", "*=", "/="]), self.number(1)),
                                    "cfg.b = %s" % self.bool(1), "cfg.n = cfg.n + %s" % self.int(2), "other = cfg", "cfg.n, cfg.x = cfg.x, cfg.n"]))
            return
        if self.pair and not self.in_both() and self.p(0.08):
            self.unpacking()
            return
        r = self.r.random()
        if self.size > 60:
            r *= 0.6
        if r < 0.14:
            kind = self.r.choice("iiffb")
            self.out("%s = %s" % (self.of(kind) or "i", self.expr(kind)))
        elif r < 0.30:
            if self.p(0.5):
                self.out("%s %s %s" % (self.of("i") or "i", self.r.choice(["+=", "-=", "+=", "*=", "//=", "%="]), self.int(1)))
            else:
                self.out("%s %s %s" % (self.of("f") or "f", self.r.choice(["+=", "-=", "*=", "/="]), self.number(1)))
        elif r < 0.46:
            kind = self.r.choice(["fv", "fv", "fv", "fm", "fm", "iv", "im", "bv", "bm", "ft", "fq", "it"])
            place = self.place(kind, 0)
            if place:
                value = self.expr({"f": "f", "i": "i", "b": "b"}[kind[0]]) if self.p(0.99) else self.any(1)
                op = "=" if self.p(0.6) or kind[0] == "b" else self.r.choice(["+=", "-=", "*=", "/=", "//=", "^="] if self.p(0.2) else ["+=", "-=", "*="])
                own = self.p(0.2) and kind[0] != "b"
                self.out("%s = %s %s %s" % (place, place, self.r.choice("+-*"), value) if own else "%s %s %s" % (place, op, value))
        elif r < 0.47:
            kinds = [self.r.choice(["fv", "fv", "fm", "iv", "bv"]) for _ in range(self.r.choice([2, 2, 3]))]
            places = [self.place(k, 0) or "u[0]" for k in kinds]
            if self.p(0.05):
                places[-1] = "i"
            values = places[::-1] if self.p(0.5) else [self.expr(k[0], 1) for k in kinds]
            self.out("%s = %s" % (", ".join(places), ", ".join(values)))
        elif r < 0.50:
            a, b = self.r.choice("if"), self.r.choice("if")
            self.out("%s, %s = %s, %s" % (self.of(a) or "i", self.of(b) or "j", self.expr(a, 1), self.expr(b, 1)))
        elif r < 0.53:
            self.odd() if self.p(0.7) else self.exotic()
        elif r < 0.60:
            self.leave()
        elif r < 0.72:
            self.if_()
        elif r < 0.86:
            self.for_()
        elif r < 0.92:
            self.while_()
        elif r < 0.95:
            self.try_()
        else:
            self.out("%s = %s" % (self.of("i") or "i", self.call("i", 0) or "3"))

    def in_both(self):
        return "p" in self.vars and self.in_function

    def shared(self, a, b):
        """Values that have something in common: views, tuples of tensors, functions of the same."""
        r = self.r.random()
        loop = self.r.choice(self.loops or ["1"])
        if r < 0.35:                 # functions that come and go with what they captured
            names = [f[0] for f in self.functions if f[1] in (["i"], ["f"])] or ["h"]
            to, of = self.r.choice(names + ["h", "h"]), self.r.choice(names)
            self.out("%s = %s" % (to, self.r.choice([of, "maker(%s)" % self.number(1), "maker(%s)" % loop, "keeper(%s)" % a,
                                                     "keeper(%s)" % (self.of("iv") or "u"), "chain(%s, %s)" % (of, self.r.choice(names))])))
        elif r < 0.55:
            self.out("%s = %s" % (a, self.r.choice([b + "[::-1]", b + "[1:]", b + "[0:5:2]", b + "'", b + " + 0", "reshape(%s, (len(%s),))" % (b, b)])))
        elif r < 0.65:
            self.out("pair = (%s, %s)" % (a, b))
        elif r < 0.70:
            self.out("pair = append(pair, %s)" % self.number(1))
        elif r < 0.75:
            self.out('text = "{%s}{i}"' % loop)
        elif r < 0.80:
            self.out("%s = reduce((v0, v1) -> v0 + v1 * %s, %s)" % (self.of("f") or "f", self.of("f") or "2", self.of("fv") or "u"))
        elif r < 0.88:
            self.out("%s = map(x -> x + %s, %s)" % (self.of("fv") or "u", self.of("f") or "1", self.of("fv") or "u"))
        elif r < 0.94:
            self.out("%s[:] = %s" % (self.of("fv") or "u", self.number(1)))
        else:
            self.out("i = len(%s)" % self.r.choice(["text", "pair", a]))

    def odd(self):
        if self.p(0.1):
            self.out(self.r.choice(["cfg.n += 1", "cfg.x = %s" % self.number(1), "cfg = (n=2, x=f32(0.5), b=false, v=[1.0, 2.0, 3.0], w=(1, 2))",
                                    "cfg.v[0] = 2.5", "cfg.v = %s" % (self.of("fv") or "u"), "cfg = (x=1, n=2)", "cfg = none"] if self.p(0.2) else ["cfg.n += 1"]))
            return
        r = self.r.random()
        kind = self.r.choice(["fv", "fm", "iv"])
        a, b = self.of(kind) or "u", self.of(kind) or "u"
        if self.p(0.3):
            self.shared(a, b)
        elif r < 0.15:
            self.out("%s = %s" % (a, b))
        elif r < 0.25:
            self.out("%s, %s = %s, %s" % (a, b, b, a))
        elif r < 0.35:
            self.out("%s = %s * 0.5" % (a, b))
        elif r < 0.45:
            self.out("%s = %s" % (self.of("i") or "i", self.float(1)))
        elif r < 0.52:
            self.out("%s = %s" % (self.of("f") or "f", self.int(1)))
        elif r < 0.58:
            self.out("%s = %s" % (self.of("b") or "b", self.r.choice(["1", "0.5", "none", '"b"'])))
        elif r < 0.63:
            self.out('text = text + "%s"' % self.r.choice("abc"))
        elif r < 0.67:
            self.out("pair = (%s, %s)" % (self.int(2), self.float(2)))
        elif r < 0.70 and self.functions:
            self.out("%s = %s" % (self.r.choice(self.functions)[0] if self.p(0.3) else "h", self.r.choice(["x -> x + 1", "x -> x * 0.5", "x -> x", "3"])))
        elif r < 0.73:
            self.out("%s = %s" % (self.r.choice(["sqrt", "abs", "pi", "len", "max"]), self.r.choice(["x -> x", "3", "2.5", "(x, y) -> x"])))
        elif r < 0.78:
            self.out('if %s { print("at", %s, i, f) }' % (self.bool(1), self.number(1)))
        elif r < 0.82:
            self.out("late = %s" % self.number(1))
        elif r < 0.85:
            self.out("if %s { late = %s }" % (self.bool(1), self.number(1)))
        elif r < 0.88:
            self.out("%s += late" % (self.of("f") or "f"))
        elif r < 0.91:
            self.out("%s = %s" % (self.of("fv") or "u", self.r.choice(["(1.0 * (0:12))[::2]", "zeros(5)", "[1, 2, 3, 4, 5]", "broadcast_to(0.5, (5,))", "f32(ones(5))"])))
        elif r < 0.93:
            self.out("%s[%s] += %s[%s]" % (a, self.subscript(1), b, self.subscript(1)))
        elif r < 0.935:
            self.out("assert %s" % self.bool(1))
        elif r < 0.94:
            self.out('if %s { throw "%s" }' % (self.bool(1), self.r.choice("xyz")))
        elif r < 0.98:
            self.out("ai = %s" % self.int(1))
        else:
            self.out("%s = %s" % (self.of("i") or "i", self.r.choice(["f32(2.5)", "none", "i8(3)", "i", "true", '"k"'])))

    def exotic(self):
        """Statements that leave, and what they leave behind for those that do not."""
        i, f, v = self.of("i") or "i", self.of("f") or "f", self.of("fv") or "u"
        others = [n for n, _ in OTHERS if n in self.vars] or ["s8"]
        tensors = [n for n in others if n in ("x32", "x8", "xh", "xc")] or ["u"]
        scalars = [n for n in others if n[0] == "s"] or ["f"]
        x, s = self.r.choice(tensors), self.r.choice(scalars)
        self.out(self.r.choice([
            "%s[%s] %s %s" % (x, self.subscript(1), self.r.choice(["=", "+=", "-=", "*="]), self.number(2)),
            "%s = %s[%s]" % (self.r.choice([i, f, s]), x, self.subscript(1)),
            "%s = %s %s %s" % (self.r.choice([s, s, f, i]), s, self.r.choice("+-*/"), self.r.choice([self.number(2), s])),
            "%s %s %s" % (s, self.r.choice(["+=", "-=", "*="]), self.r.choice([i, f, s])),
            "if %s %s %s { %s = %s }" % (s, self.r.choice(COMPARE), self.r.choice([i, f]), self.r.choice([i, f]), s),
            "%s = %s" % (self.r.choice([f, i]), s),
            "%s = cast(%s, %s)" % (self.r.choice([s, f]), self.number(1), self.r.choice(["f16", "bf16", "i8", "i32", "f32", "c64", "e4m3"])),
            "rec.a %s %s" % (self.r.choice(["=", "+=", "*="]), self.number(1)),
            'rec["b"] = %s' % self.number(1),
            "rec.v[%s] %s %s" % (self.subscript(1), self.r.choice(["=", "+="]), self.number(1)),
            "%s = %s" % (self.r.choice([i, f, v]), self.r.choice(["rec.a", "rec.b", "rec.v", "rec.v[1]", "tup[0]", "tup[1]", "tup[2]"])),
            "rec = (a=%s, b=%s, v=%s)" % (i, f, v),
            "tup[%s] = %s" % (self.r.choice(["0", "1", self.subscript(1)]), self.number(1)),
            "tup = (%s, %s, %s)" % (i, f, v),
            "%s = %s(%s, %s)" % (i, self.r.choice(["shl", "shr", "xor", "bitand", "mod", "power"]), self.int(1), self.int(2)),
            "%s = %s" % (i, "invert(%s)" % self.int(1)),
            "%s = %s(%s)" % (self.of("b") or "b", self.r.choice(["isnan", "isinf", "isfinite"]), self.number(1)),
            "%s = %s" % (f, self.r.choice(["where(%s, %s, %s)" % (self.bool(1), self.number(2), self.number(2)), "clamp(%s, -2, %s)" % (self.number(1), self.number(2)),
                                           "fma(%s, %s, %s)" % (f, self.float(2), self.float(2)), "copysign(%s, %s)" % (self.float(2), self.float(2))])),
            "for %s in %s { %s += 1 }" % (i, self.r.choice(["(1, 2.5, 3)", "A", "(true, %s)" % f, '"ab"', "tup", "x8", "f"]), self.of("i") or "i"),
            "for k, y0 in enumerate(%s) { %s += k * y0 }" % (self.r.choice([v, "(1, 2)"]), f),
            "for p0, q0 in zip(%s, %s) { %s = p0 - q0 }" % (v, self.of("fv") or "u", f),
            "%s = [%s * c0 for c0 in 0:%s if c0 %% 2 == 0]" % (v, f, self.r.choice(["3", "6", "0"])),
            "text = text + \"{%s}\"" % self.r.choice([i, f, s]),
            "if text %s \"%s\" { text = \"\" }" % (self.r.choice(["==", "!=", ">"]), self.r.choice("abc")),
            "%s = optional(%s)" % (self.r.choice([i, f]), self.r.choice(["%s" % self.number(2), "%s, %s" % (i, f), "%s, c=%s" % (i, f), "b=%s, a=%s" % (i, f)])),
            "%s = several(%s)" % (i, ", ".join(self.number(2) for _ in range(self.r.choice([1, 2, 3])))),
            "try { %s = fails(%s, %s) } catch e { print(e.kind, e.message, e.where) }" % (f, self.number(2), self.int(2)),
            "%s = fails(%s, %s)" % (f, self.number(2), self.int(2)),
            "%s = nested(%s)" % (i, self.int(2)),
            "%s, %s = two(%s)" % (i, f, self.number(1)),
            "precision %s { %s = %s }" % (self.r.choice(["f32", "f16", "mp(60)", "rational"]), f, self.float(1)),
            "%s = grad(x -> x * x * %s)(%s)" % (f, f, self.float(2)),
        ]))

    def leave(self):
        r = self.r.random()
        if self.loops and r < 0.75:
            self.out("if %s { %s }" % (self.bool(), self.r.choice(["break", "continue"])))
        elif self.in_function and r < 0.95:
            self.out("if %s { return %s }" % (self.bool(), self.number(1)))
        else:
            self.out("i = i + 1")

    def if_(self):
        self.out("if %s {" % self.bool())
        self.block(3)
        while self.p(0.3):
            self.out("} else if %s {" % self.bool())
            self.block(2)
        if self.p(0.5):
            self.out("} else {")
            self.block(2)
        self.out("}")

    def range(self):
        r = self.r.random()
        if r < 0.45:
            return "0:%s" % self.r.choice(["3", "5", "6", "4", "len(u)", "9"])
        if r < 0.60:
            return "%s:%s" % (self.r.choice(["1", "-2", "2"]), self.r.choice(["4", "6", "8"]))
        if r < 0.70:
            return "%s:%s:-1" % (self.r.choice(["5", "3", "4"]), self.r.choice(["-1", "0"]))
        if r < 0.80:
            return "0:12:%s" % self.r.choice(["2", "3", "5"])
        if r < 0.86:
            return "0:(%s) %% 7" % self.int(2)
        if r < 0.93:
            return "0:9:(%s) %% 4" % self.int(2) if self.p(0.3) else "0:9:abs(%s) %% 4 + 1" % self.int(2)
        if self.p(0.5):
            return "0:%s" % self.int(2) if self.p(0.2) else "0:abs(%s) %% 9" % self.int(2)
        return self.r.choice(["5:0", "0:0", "9223372036854775800:9223372036854775807", "9223372036854775800:9223372036854775807:3",
                              "-9223372036854775807:-9223372036854775800:2", "0:5:0", "0:-5:-2", "u", "0.0:3.0", "0:2.5",
                              "-9223372036854775807:9223372036854775807:4611686018427387904"])

    def for_(self):
        if len(self.loops) >= 3 or self.size > 50:
            self.out("j = j + 1")
            return
        name = "abcdef"[len(self.loops)] + "i" if self.p(0.93) else self.r.choice(["i", "f"])
        over = self.range()
        if self.p(0.15):
            self.for_items()
            return
        if self.p(0.25):                         # the elements of a vector, or of what is none
            kind = self.r.choice(["fv", "fv", "iv", "bv", "fm"])
            over = (self.of(kind) or "u") + self.r.choice(["", "", "", "", "[::-1]", "[1:4]", " * 1"])
            if kind != "iv":
                self.out("for %s in %s {" % (self.of(kind[0]) or "f", over))
                self.loops.append("2")
                self.block(5)
                self.loops.pop()
                self.out("}")
                return
        self.out("for %s in %s {" % (name, over))
        self.loops.append(name)
        self.block(5)
        self.loops.pop()
        self.out("}")

    def item(self, kinds):
        parts = [str(self.expr(k, 3)) if self.p(0.2) else {"i": self.r.choice(SMALL), "f": self.r.choice(PLAIN), "b": "true"}[k] for k in kinds]
        return parts[0] if len(kinds) == 1 else "(%s)" % ", ".join(parts)

    def for_items(self):
        """Over tuples, of numbers or of tuples, written there or in a variable."""
        count = self.r.choice([1, 1, 2, 2, 3])
        kinds = [self.r.choice("iiffb") for _ in range(count)]
        targets = [self.of(k) or k for k in kinds]
        if count > 1 and len(set(targets)) < count:
            targets = ["ai", "bi", "ci"][:count]
        items = [self.item(kinds if self.p(0.97) else kinds[::-1]) for _ in range(self.r.randint(1, 5))]
        over = "(%s,)" % ", ".join(items)
        if self.p(0.3) and self.of("fv"):
            over, targets = "enumerate(%s)" % self.of("fv"), [self.of("i") or "i", self.of("f") or "f"]
        elif self.p(0.15) and self.of("fv"):
            over, targets = "zip(%s, %s)" % (self.of("fv"), self.of("fv")), ["f", "g0"]
        elif self.p(0.3):
            self.out("row = %s" % over)
            over = "row"
        self.out("for %s in %s {" % (", ".join(targets), over))
        self.loops.append(targets[0] if targets[0] in ("ai", "bi", "ci") else "2")
        self.block(4)
        if over == "row" and self.p(0.3):
            self.out("    " + self.r.choice(["row = (1, 2)", "row = append(row, 2.5)", "i += len(row)", "f += row[i % 3]"]))
        self.loops.pop()
        self.out("}")

    def while_(self):
        if len(self.loops) >= 3 or self.size > 50:
            self.out("j = j - 1")
            return
        fuel = "n%d" % self.fuel
        self.fuel += 1
        self.out("%s = 0" % fuel)
        c = self.bool(1)
        self.out("while %s {" % ("%s < %d" % (fuel, self.r.randint(3, 9)) if self.p(0.3) else
                                 "(%s) and %s < %d" % (c, fuel, self.r.randint(3, 9)) if self.p(0.6) else
                                 "%s < 8 and (%s)" % (fuel, c)))
        self.depth += 1
        self.out("%s += 1" % fuel)
        self.depth -= 1
        self.loops.append(fuel)
        self.block(4)
        self.loops.pop()
        self.out("}")

    def try_(self):
        self.out("try {")
        self.block(3)
        self.out("} catch e {")
        self.depth += 1
        self.out('print(e.kind, e.message, e.where)')
        self.depth -= 1
        self.out("}")

    # ---- the whole ----
    def function(self, index):
        kinds = [self.r.choice(["i", "f", "f", "i", "fv", "fm"] if self.p(0.95) else ["c"]) for _ in range(self.r.randint(1, 3))]
        names = ["p", "r", "s"][:len(kinds)]
        kind = self.r.choice("if")
        before = self.vars, self.in_function
        locals_ = dict(zip(names, kinds))
        self.vars = dict(locals_)
        if self.p(0.4):                          # it reads what is outside
            self.vars.update({n: k for n, k in before[0].items() if self.p(0.3) and n not in self.vars})
        name = "g%d" % index
        if self.p(0.35):
            if len(kinds) == 1 and self.p(0.5):
                self.out("%s = %s -> %s" % (name, names[0], self.expr(kind)))
            else:
                self.out("%s = (%s) -> %s" % (name, ", ".join(names), self.expr(kind)))
        else:
            self.in_function = True
            self.out("fn %s(%s) {" % (name, ", ".join(names)))
            self.depth += 1
            own = self.vars
            self.vars = {n: k for n, k in own.items() if n in locals_}
            if "i" not in self.vars.values():
                self.out("i = %s" % self.r.choice(SMALL))
                self.vars["i"] = "i"
            if "f" not in self.vars.values():
                self.out("f = %s" % self.r.choice(PLAIN))
                self.vars["f"] = "f"
            targets = self.vars
            self.vars = {**own, **targets}
            self.size = 45 if self.p(0.7) else 30
            for _ in range(self.r.randint(0, 3)):
                self.statement()
            if self.p(0.1):
                self.out("if %s > 20 or %s < -3 { return 1 }" % (names[0], names[0]))
                self.out("%s = g%d(%s)" % (self.of(kind) or "i", index, ", ".join(n + " - 1" if k in "if" else n for n, k in zip(names, kinds))))
            self.out(("return " if self.p(0.5) else "") + self.expr(kind))
            self.depth -= 1
            self.out("}")
        self.vars, self.in_function = before
        self.functions.append((name, kinds, kind))

    def point(self, d):
        return "(n=%s, x=%s, b=%s)" % (self.int(d + 1), self.float(d + 1), self.bool(d + 1))

    def several(self):
        """A function that gives a tuple."""
        kinds = [self.r.choice("iiffb") for _ in range(self.r.choice([2, 2, 3]))]
        before, self.vars = self.vars, {"p": "i", "r": "f", **({"c0": "R"} if self.p(0.3) else {})}
        params = list(self.vars)
        self.in_function = True
        self.out("fn both(%s) {" % ", ".join(params))
        self.depth += 1
        self.size = 45
        for _ in range(self.r.choice([0, 0, 1, 2])):
            self.statement()
        tuple_ = lambda: "(%s)" % ", ".join(self.expr(k if self.p(0.97) else "f", 2) for k in kinds)
        if self.p(0.5):
            self.out("if %s { return %s }" % (self.bool(1), tuple_() if self.p(0.95) else "7"))
        self.out("return %s" % (tuple_() if self.p(0.8) else "(1, 2.5, true)"))
        self.depth -= 1
        self.out("}")
        self.in_function = False
        self.vars = before
        self.pair = kinds, len(params)

    def unpacking(self):
        kinds, params = self.pair
        targets = [self.of(k) or k for k in kinds]
        self.out("%s = both(%s)" % (", ".join(targets), ", ".join([self.int(2), self.float(2), "cfg"][:params])))

    def recursive(self):
        """A function that calls itself: with arguments of one kind, mostly, so that it is machine code by itself."""
        kind = self.r.choice("if")
        before, self.vars = self.vars, {"n": "i", "a": kind, **({"i": "i"} if self.p(0.3) else {})}
        functions, self.functions = self.functions, self.functions if self.p(0.5) else []
        self.out("fn again(n, a) {")
        self.depth += 1
        self.in_function = True
        self.out("if n %s { return %s }" % (self.r.choice(["<= 0", "< 1", "> 20 or n <= 0", "== 0 or a > 50"]), self.expr(kind, 2)))
        self.size = 50
        for _ in range(self.r.choice([0, 0, 1, 2])):
            self.statement()
        steps = ["n - 1", "n - 1", "n - 2", "(n - 1) // 2"]
        calls = ["again(%s, %s)" % (self.r.choice(steps), self.expr(kind, 3) if self.p(0.95) else self.number(3)) for _ in range(self.r.choice([1, 1, 2]))]
        self.out((" %s " % self.r.choice("+-*")).join(calls + [self.expr(kind, 2)]))
        self.depth -= 1
        self.out("}")
        self.in_function = False
        self.vars, self.functions = before, functions
        self.out("fn deep(k, x) { again(k % 7, x) }")
        self.functions.append(("deep", ["i", kind], kind))

    def declare(self):
        for n in ["i", "j", "c"]:
            self.out("%s = %s" % (n, self.r.choice(SMALL if self.p(0.8) else INTS)))
            self.vars[n] = "i"
        single = self.p(0.4)                     # mostly f32
        for n in ["f", "g", "s"]:
            value = self.r.choice(PLAIN if self.p(0.8) else FLOATS) if self.p(0.9) else "0"
            self.out("%s = %s" % (n, "f32(%s)" % value if single and self.p(0.6) else value))
            self.vars[n] = "f"
        for n in ["b", "o"]:
            self.out("%s = %s" % (n, self.r.choice(["true", "false"])))
            self.vars[n] = "b"
        for n, make, kind in TENSORS:
            if n in ("u", "A", "m") or self.p(0.4):
                self.out("%s = %s" % (n, "f32(%s)" % make if single and kind[0] == "f" and self.p(0.6) else make))
                self.vars[n] = kind
        if self.p(0.25):
            for n in ["z0", "z1"]:
                self.out("%s = %s" % (n, self.r.choice(["0i", "0.5 + 0.25i", "1i", "-1 - 0i"])))
                self.vars[n] = "c"
            self.out("zv = %s" % self.r.choice(["zeros(5, dtype=c128)", "1i * (0:6)", "(1i * (0:12))[::-2]"]))
            self.vars["zv"] = "cv"
        for n, make in OTHERS:
            if n in ("rec", "tup") or self.p(0.3):
                self.out("%s = %s" % (n, make))
                self.vars[n] = "other"
        if self.p(0.3):
            self.out("y = u")
            self.vars["y"] = "fv"
        self.out("seed(%d)" % self.r.randint(0, 99))
        self.out("cfg = (n=%s, x=%s, b=true, v=u, w=(3, 1, 2))" % (self.r.choice(SMALL), self.r.choice(PLAIN)))
        self.out("pt = (n=%s, x=%s, b=false)" % (self.r.choice(SMALL), self.r.choice(PLAIN)))
        self.out('text = ""')
        self.out("pair = (1, 2.5)")
        self.out("h = x -> x + 1")

    def report(self):
        self.out("print(rand())")
        names = list(self.vars) + ["text", "pair", "row", "cfg", "pt", "other", "late", "ai", "bi", "ci"]
        for n in names:
            self.out('try { print("%s", type(%s), repr(%s)) } catch e { print("%s", e.message) }' % (n, n, n, n))

    def make(self):
        self.declare()
        for i in range(self.r.randint(0, 3)):
            self.function(i)
        self.out("fn maker(k) { return x -> x * k + 1 }")
        self.out("fn keeper(v) { return x -> v[0] + x }")
        self.out("fn chain(f, g) { return x -> f(g(x)) }")
        self.out("fn optional(a, b=2, c=0.5) { a * b + c }")
        self.out("fn several(first, rest...) { first + len(rest) }")
        self.out('fn fails(x, n) { if n % 3 == 0 { throw "no {n}" }\n    x / n }')
        self.out("fn nested(n) { fn inner(x) { x + n }\n    t = 0\n    for k in 0:4 { t = inner(t) }\n    t }")
        self.out("fn two(x) { return i64(floor(x)) % 5, x * 0.5 }")
        for name, of in [("m1", "maker(%s)" % self.r.choice(["2", "0.5", "true"])), ("m2", "keeper(u)"), ("m3", "chain(h, h)")]:
            if self.p(0.3):
                self.out("%s = %s" % (name, of))
                self.functions.append((name, ["i" if name == "m1" else "f"], "i" if name == "m1" else "f"))
        if self.p(0.3):
            self.recursive()
        if self.p(0.4):
            self.several()
        before, self.vars = self.vars, {"c0": "R", "p": "i"}
        self.out("fn move(c0, p) { if %s { return %s }\n    %s }" % (self.bool(2), self.point(2), self.point(2) if self.p(0.9) else "c0"))
        self.vars = before
        self.functions.append(("h", ["f"], "f"))
        self.size = 0
        style = self.r.random()
        inside = self.r.choice(["fn main() {", "try {"]) if style < 0.6 else \
            self.r.choice(["precision f32 {", "precision f64 {", "precision f16 {", "precision bf16 {"]) if style < 0.8 else \
            self.r.choice(["precision f32 round up {", "precision f32 reproducible {", "lazy {", "precision f64 round down {",
                           "precision f16 saturate {", "precision tf32 {", "precision mp(80) {"]) if style < 0.84 else None
        if inside == "fn main() {":
            self.lines, head = [], self.lines
            start = next(i for i, x in enumerate(head) if x.startswith("fn ") or " -> " in x)
            self.out(inside)
            self.depth += 1
            self.lines += ["    " + x for x in head[:start]]
            self.lines = head + self.lines
            self.in_function = True
        elif inside:
            self.out(inside)
            self.depth += 1
        for _ in range(self.r.randint(1, 4)):
            self.size = 0
            attempt = self.p(0.7)
            if attempt:
                self.out("try {")
                self.depth += 1
            self.for_() if self.p(0.7) else self.while_()
            if self.p(0.3):
                self.statement()
            if attempt:
                self.depth -= 1
                self.out("} catch e { print(e.kind, e.message, e.where) }")
        if inside == "fn main() {":
            self.report()
            self.depth -= 1
            self.out("}")
            self.out("main()")
            if self.p(0.5):
                self.out("main()" if self.p(0.4) else "precision %s { main()\n    print(flags()) }" % self.r.choice(["f32", "f64", "f16"]))
        elif inside:
            if inside.startswith("precision"):
                self.out("print(flags())")
                self.out("print(%s)" % ", ".join(self.vars))
            self.depth -= 1
            self.out("}" if inside != "try {" else "} catch e { print(e.kind, e.message, e.where) }")
        self.report()
        return "\n".join(self.lines) + "\n"


def observe(ricci, path, way, folder):
    """What it printed. terminal: as by `quick`, where stderr is a terminal, so that loops show how far they are."""
    env = dict(os.environ, RICCI_JIT="quick" if way == "terminal" else way, TERM="xterm", NO_COLOR="1")
    errors, place = [], subprocess.PIPE
    if way == "terminal":
        screen, place = os.openpty()
        tty.setraw(place)
        fcntl.ioctl(place, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 2000, 0, 0))
        reader = threading.Thread(target=read_all, args=(screen, errors))
        reader.start()
    try:
        r = subprocess.run([ricci, path], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=place, timeout=float(os.environ.get("SLOW", "20")))
    except subprocess.TimeoutExpired:
        return "it did not end"
    finally:
        if way == "terminal":
            os.close(place)
            reader.join()
    text = re.sub(rb"\r[^\r\n]*\x1b\[K|\r(?!\n)", b"", b"".join(errors)) if way == "terminal" else r.stderr
    return "%s--- stderr\n%s--- exit %d\n" % (r.stdout.decode("utf-8", "replace"), text.decode("utf-8", "replace"), r.returncode)


def read_all(screen, parts):
    try:
        while part := os.read(screen, 65536):
            parts.append(part)
    except OSError:                      # nobody has the terminal open any more
        pass
    os.close(screen)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--cases", type=int, default=200)
    a.add_argument("--ricci", default=os.environ.get("RICCI", "build/ricci"))
    a.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    a.add_argument("--show", type=int)
    a.add_argument("--keep")
    a.add_argument("--ways", default="now,quick,terminal")
    a = a.parse_args()
    ricci = os.path.abspath(a.ricci)
    if a.show is not None:
        print(Program(a.show).make(), end="")
        return 0
    folder = a.keep or tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)

    def source(k):
        if isinstance(k, int):
            return Program(k).make()
        with open(k) as f:
            return f.read()

    def case(k):
        name = "p%d.ric" % k if isinstance(k, int) else os.path.basename(k)
        with open(os.path.join(folder, name), "w") as f:
            f.write(source(k))
        want = got = observe(ricci, name, "0", folder)
        same, way = True, "0"
        for way in a.ways.split(",") if want != "it did not end" else []:
            got = observe(ricci, name, way, folder)
            same = want == got
            if not same:
                break
        if same or not a.keep:
            os.unlink(os.path.join(folder, name))
        return k, want, got, same, way

    known = sorted(glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lang/hot/*.ric")))
    passed = failed = 0
    clean = 0
    with ThreadPoolExecutor(a.jobs) as pool:
        for k, want, got, same, way in pool.map(case, [*known, *range(a.seed * 1000, a.seed * 1000 + a.cases)]):
            passed += same
            clean += want.endswith("--- exit 0\n")
            if not same:
                failed += 1
                print("FAIL programs.py --show %s: RICCI_JIT=%s" % (k, way))
                if failed <= 3 and k not in known:
                    print(source(k))
                w, g = want.split("\n"), got.split("\n")
                for x, y in [(x, y) for x, y in zip(w + [""] * len(g), g + [""] * len(w)) if x != y][:6]:
                    print("    without machine code: %s\n    with it:              %s" % (x, y))
                sys.stdout.flush()
    if not a.keep:
        os.rmdir(folder)
    if os.environ.get("VERBOSE"):
        print("%d ended without an error" % clean)
    print("%d passed, %d failed" % (passed, failed))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
