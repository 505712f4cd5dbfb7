#!/usr/bin/env python3
"""A million small things in one program: names, fields, terms, indices, tests, errors.

    tests/scale.py [--full] [--only WORD,…] [--list] [--factor F] [--time]

Every case makes a program from a size n. By default each runs once, at a size that takes a
moment, and what is judged is that it ends, prints what is right and does not crash; nothing
is timed. --full runs n and 10 n of up to a million and wants the second to take at most
LINEAR times the processor time of the first (10 is linear; 100 would be quadratic).
RICCI names the binary. Ends with `N passed, N failed`."""
import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RICCI = os.path.abspath(os.environ.get("RICCI", os.path.join(ROOT, "build/ricci")))
LINEAR = 24.0            # of ten times the input: room for caches that no longer hold it
LEAST = 0.08             # seconds: below it a time is noise
LIMIT = 600
CASES = []


class Case:
    """One kind of program. `quick` is its size by default, `full` its largest; `args` stand before
    the file's name, `exit` is the status wanted, `err` a text that stderr must hold."""

    def __init__(self, name, make, want, quick, full, **more):
        self.name, self.make, self.want, self.quick, self.full = name, make, want, quick, full
        self.args = more.get("args", [])
        self.exit, self.err, self.stdin = more.get("exit", 0), more.get("err", ""), more.get("stdin", False)


def case(quick=3000, full=10**6, want="", **more):
    def add(make):
        CASES.append(Case(make.__name__, make, want, quick, full, **more))
        return make
    return add


def lines(n, form, last=""):
    return "".join(form.format(k=k, j=max(k - 1, 0)) + "\n" for k in range(n)) + last + "\n"


def joined(n, form, between):
    return between.join(form.format(k=k) for k in range(n))


def total(n):
    return n * (n - 1) // 2


# ---- names ----
@case(want=lambda n: str(n - 1))
def names(n):
    return lines(n, "name{k} = {k}", "print(name%d)" % (n - 1))


@case(want=lambda n: str(n))
def names_chained(n):
    return "name0 = 1\n" + "".join("name%d = name%d + 1\n" % (k, k - 1) for k in range(1, n)) + "print(name%d)\n" % (n - 1)


@case(want=lambda n: str(n - 1))
def locals_of_one(n):
    return "fn f() {\n" + lines(n, "    v{k} = {k}", "    v%d\n}\nprint(f())" % (n - 1))


@case(want=lambda n: str(total(n)))
def functions(n):
    return "s = 0\n" + lines(n, "fn f{k}(x) {{ x + {k} }}\ns += f{k}(0)", "print(s)")


@case(want=lambda n: "1")
def functions_chained(n):
    return "fn f0() { 1 }\n" + "".join("fn f%d() { f%d() }\n" % (k, max(k - 500, 0)) for k in range(1, n)) + \
        "print(f%d())\n" % min(n - 1, 400)


@case(want=lambda n: str(n))
def parameters(n):
    return "fn f(%s) { p0 + p%d + 1 }\nprint(f(%s))\n" % (joined(n, "p{k}", ", "), n - 1, joined(n, "{k}", ", "))


@case(want=lambda n: str(n))
def parameters_named(n):
    return "fn f(%s) { p0 + p%d + 1 }\nprint(f(%s))\n" % (joined(n, "p{k}=0", ", "), n - 1, joined(n, "p{k}={k}", ", "))


@case(want=lambda n: str(n))
def parameters_rest(n):
    return "fn f(rest...) { len(rest) }\nprint(f(%s))\n" % joined(n, "{k}", ", ")


@case(want=lambda n: str(total(n)))
def targets(n):
    return "%s = 0:%d\nprint(sum([%s]))\n" % (joined(n, "t{k}", ", "), n, joined(n, "t{k}", ", "))


@case(want=lambda n: str(n - 1))
def captures(n):
    return "fn f() {\n%s    () -> [%s]\n}\nprint(f()()[-1])\n" % (lines(n, "    v{k} = {k}"), joined(n, "v{k}", ", "))


@case(quick=1000, full=10**5, want=lambda n: str(n))
def imports(n):
    return lines(n, "import stats as m{k}") + "print(%d)\n" % n


@case(quick=1000, full=10**5, want=lambda n: str(n))
def doc_comments(n):
    return lines(n, "## Help of f{k}.\nfn f{k}() {{ {k} }}") + "print(%d)\n" % n


# ---- named tuples ----
@case(want=lambda n: str(n - 1))
def fields_literal(n):
    return "t = (%s)\nprint(t.f%d)\n" % (joined(n, "f{k}={k}", ", "), n - 1)


@case(want=lambda n: "%d %d" % (n, n - 1))
def fields_added(n):
    return "t = ()\nfor k in 0:%d { t[\"f{k}\"] = k }\nprint(len(keys(t)), t[\"f%d\"])\n" % (n, n - 1)


@case(want=lambda n: "%d %d" % (n, n - 1))
def fields_added_by_statement(n):
    return "t = (f0=0,)\n" + lines(n, "t.f{k} = {k}", "print(len(t), t.f%d)" % (n - 1))


@case(want=lambda n: str(total(n)))
def fields_read(n):
    return "t = ()\nfor k in 0:%d { t[\"f{k}\"] = k }\ns = 0\nfor key in keys(t) { s += t[key] }\nprint(s)\n" % n


@case(want=lambda n: str(total(n)))
def fields_read_by_statement(n):
    return "t = (%s)\ns = 0\n" % joined(n, "f{k}={k}", ", ") + lines(n, "s += t.f{k}", "print(s)")


@case(want=lambda n: "true %d" % n)
def fields_updated(n):
    return "t = ()\nfor k in 0:%d { t[\"f{k}\"] = k }\nfor k in 0:%d { t[\"f{k}\"] += 1 }\n" \
        "print(\"f7\" in t, t[\"f%d\"])\n" % (n, n, n - 1)


@case(want=lambda n: "true false")
def fields_compared(n):
    return "t = ()\nu = ()\nfor k in 0:%d { t[\"f{k}\"] = k }\nfor k in 0:%d { u[\"f{k}\"] = k }\n" \
        "a = t == u\nu[\"f0\"] = -1\nprint(a, t == u)\n" % (n, n)


@case(want=lambda n: "true true")
def fields_shown(n):
    return "t = ()\nfor k in 0:%d { t[\"f{k}\"] = k }\ns = \"{t}\"\nr = repr(t)\nprint(len(s) > 100, len(r) > %d)\n" % (n, n)


@case(want=lambda n: str(n + 1))
def fields_joined(n):
    return "t = ()\nfor k in 0:%d { t = t + (k,) }\nt += (1,)\nprint(len(t))\n" % n


@case(want=lambda n: "caught")
def field_misspelt(n):
    return "t = ()\nfor k in 0:1000 { t[\"field{k}\"] = k }\nfor k in 0:%d { try { t.fielt } catch e { } }\nprint(\"caught\")\n" % n


@case(want=lambda n: str(n))
def updates(n):
    return "t = (a=0, b=0)\nfor k in 0:%d { t.a += 1; t[\"b\"] = k }\nprint(t.a)\n" % n


# ---- one long statement ----
def chain(name, term, between, want, quick=5000, full=10**6, before=""):
    def make(n):
        return "x = 1\ny = true\nv = [1.0, 2.0]\nA = [1.0, 0.0; 0.0, 1.0]\ns = \"a\"\nf = a -> a\nt = (a=1,)\n%sr = %s\nprint(%s)\n" % (
            before, joined(n, term, between), "r" if not name.endswith("_long") else "len(r)")
    make.__name__ = "chain_" + name
    CASES.append(Case(make.__name__, make, want, quick, full))


chain("sum", "1", " + ", lambda n: str(n))
chain("sum_of_names", "x", " + ", lambda n: str(n))
chain("difference", "x", " - ", lambda n: str(2 - n))
chain("mixed", "x", " + x - ", lambda n: "1")
chain("product", "x", " * ", lambda n: "1")
chain("division", "1.0", " / ", lambda n: "1.0")
chain("tensors", "v", " + ", lambda n: "[%d.0, %d.0]" % (n, 2 * n), full=10**5)
chain("matrices", "A", " @ ", None, full=10**5)
chain("and", "y", " and ", lambda n: "true")
chain("or", "y", " or ", lambda n: "true")
chain("ampersand", "y", " & ", lambda n: "true")
chain("compared", "{k}", " < ", lambda n: "true")
chain("strings", "s", " + ", None, full=10**5)


def repeated(name, head, part, want, quick=5000, full=10**6, tail="", before="", **more):
    def make(n):
        return before + "r = " + head + part * n + tail + "\nprint(r)\n"
    make.__name__ = "repeated_" + name
    CASES.append(Case(make.__name__, make, want, quick, full, **more))


repeated("pipe", "1", " |> f", lambda n: "1", before="f = a -> a\n")
repeated("transpose", "[1, 2; 3, 4]", "''", None)
repeated("index", "x", "[0:1]", lambda n: "[5]", before="x = [5]\n", full=10**5)
repeated("comprehension_parts", "sum([", "1, ", lambda n: str(n), tail="])")
repeated("interpolation", '"', "{x}", None, before="x = 1\n", tail='"', full=10**6)
repeated("power_too_deep", "1", "^1", "", tail="", exit=1, err="nested too deeply", quick=10**5)
repeated("negation_too_deep", "", "-", "", tail="1", exit=1, err="nested too deeply", quick=10**5)


def nest(name, left, middle, right, quick=10**5, full=10**6, exit=1, err="nested too deeply", want=""):
    def make(n):
        return "f = a -> a\nr = " + left * n + middle + right * n + "\nprint(type(r))\n"
    make.__name__ = "nest_" + name
    CASES.append(Case(make.__name__, make, want, quick, full, exit=exit, err=err))


nest("calls", "f(", "1", ")")
nest("parentheses", "(", "1", ")", exit=0, err="", want=lambda n: "int")
nest("brackets", "[", "1", "]")
nest("tuples", "(", "1", ",)")
nest("blocks", "if true { ", "1", " }")
nest("lambdas", "a -> ", "1", "")
nest("strings", '"{', "1", '}"')


@case(quick=10**5, exit=1, err="")
def nest_unclosed(n):
    return "(" * n + "\n"


@case(quick=10**5, exit=1, err="")
def nest_unclosed_braces(n):
    return "if true {" * n + "\n"


@case(quick=10**5, exit=1, err="")
def nest_unopened(n):
    return ")" * n + "\n"


# ---- long texts ----
@case(want=lambda n: "hit")
def else_ifs(n):
    return "x = %d\nif x == -1 { print(0) }" % (n - 1) + joined(n, " else if x == {k} {{ print(\"hit\") }}", "") + "\n"


@case(want=lambda n: str(n))
def ifs_that_return(n):
    return "fn f(x) {\n" + lines(n, "    if x == {k} {{ return {k} }}", "    -1\n}\nprint(f(%d) + 1)" % (n - 1))


@case(want=lambda n: str(n))
def statements(n):
    return "s = 0\n" + "s += 1\n" * n + "print(s)\n"


@case(want=lambda n: str(n))
def statements_on_one_line(n):
    return "s = 0; " + "s += 1; " * n + "print(s)\n"


@case(want=lambda n: str(n))
def statements_in_a_block(n):
    return "s = 0\nif true {\n" + "s += 1\n" * n + "}\nprint(s)\n"


@case(want=lambda n: str(n))
def statements_in_a_function(n):
    return "fn f() {\ns = 0\n" + "s += 1\n" * n + "s\n}\nprint(f())\n"


@case(want=lambda n: str(n))
def comments(n):
    return "# a comment\n\n" * n + "print(%d)\n" % n


@case(want=lambda n: str(n))
def help_comments(n):
    return "## a help comment\n" * n + "fn f() { %d }\nprint(f())\n" % n


@case(want=lambda n: str(10 * n))
def one_long_string(n):
    return "s = \"" + "0123456789" * n + "\"\nprint(len(s))\n"


@case(want=lambda n: "1")
def one_long_name(n):
    return "a" * n + " = 1\nprint(" + "a" * n + ")\n"


@case(want=lambda n: str(n))
def tuple_literal(n):
    return "t = (%s)\nprint(len(t))\n" % joined(n, '"{k}"', ", ")


@case(want=lambda n: str(n))
def vector_literal(n):
    return "v = [%s]\nprint(len(v))\n" % joined(n, "{k}.5", ", ")


@case(want=lambda n: str((n, 2)))
def matrix_literal(n):
    return "v = [%s]\nprint(shape(v))\n" % joined(n, "{k}, {k}", "; ")


@case(want=lambda n: str((n, 2)))
def stacked_literal(n):
    return "v = [%s]\nprint(shape(v))\n" % joined(n, "[{k}, {k}]", ", ")


@case(want=lambda n: str(n))
def interpolations(n):
    return "x = 1\n" + "s = \"{x} is {x + 1:03d}\"\n" * n + "print(%d)\n" % n


@case(want=lambda n: str(n))
def lambdas(n):
    return "x = 1\n" + lines(n, "f = a -> a + x + {k}") + "print(%d)\n" % n


@case(want=lambda n: str(n))
def tries(n):
    return "x = 1\n" + lines(n, "try {{ throw \"{k}\" }} catch e {{ x += 1 }}", "print(x - 1)")


# ---- mistakes ----
@case(exit=1, err="and ")
def syntax_errors(n):
    return "x = = 1\n" * n


@case(exit=1, err="")
def lexical_errors(n):
    return "x = 1 $ 2\n" * n


@case(full=10**5, want=lambda n: "caught")
def misspelt_names(n):
    return lines(1000, "variable{k} = {k}") + lines(n, "try {{ variabel{k} }} catch e {{ }}", "print(\"caught\")")


@case(want=lambda n: str(n))
def many_names_one_mistake(n):
    return lines(n, "variable{k} = {k}") + "try { variabel } catch e { print(%d) }\n" % n


@case(exit=1, err="is not defined")
def many_names_an_error(n):
    return lines(n, "variable{k} = {k}") + "variabel\n"


@case(exit=1, err="")
def deep_calls_error(n):
    return lines(n, "fn f{k}() {{ 1 / g }}") + "fn r(k) { if k == 0 { f0() } else { r(k - 1) } }\nr(1000)\n"


# ---- index notation ----
# Each keeps a plan of 24 kB: a million would need 24 GB.
@case(full=10**5, want=lambda n: "[3.0, 6.0]")
def index_statements(n):
    return "x = [1.0, 2.0]\n" + "y[i] := 3 * x[i]\n" * n + "print(y)\n"


@case(quick=1000, full=3900, want=lambda n: "[%d.0, %d.0]" % (n, 2 * n))
def index_terms(n):
    return "x = [1.0, 2.0]\ny[i] := %s\nprint(y)\n" % joined(n, "x[i]", " + ")


@case(quick=1000, full=3900, want=lambda n: "[1.0, 1.0]")
def index_factors(n):
    return "x = [1.0, 1.0]\ny[i] := %s\nprint(y)\n" % joined(n, "x[i]", " * ")


@case(quick=4100, full=10**5, exit=1, err="name parts of it first")
def index_terms_too_many(n):
    return "x = [1.0, 2.0]\ny[i] := %s\nprint(y)\n" % joined(n, "x[i]", " + ")


@case(quick=1000, full=10**5, want=None)
def index_names(n):
    return "x = [1.0]\ny = sum[%s] %s\nprint(y)\n" % (joined(min(n, 40), "k{k} in 0:1", ", "), "x[k0]")


@case(quick=300, full=3900, exit=1, err="more than 256 operands")
def index_leaves(n):
    return lines(n, "x{k} = [1.0, 2.0]") + "y[i] := %s\nprint(y)\n" % joined(n, "x{k}[i]", " + ")


@case(quick=300, full=3900, want=lambda n: "2")
def index_common(n):
    return "x = [1.0, 2.0]\ny[i] := %s\nprint(len(y))\n" % joined(n, "x[i] * exp(x[i] + 1)", " + ")


@case(want=lambda n: str(n))
def index_comprehension(n):
    return "x = [k^2 for k in 0:%d]\nprint(len(x))\n" % n


@case(want=lambda n: str(n))
def index_element_loop(n):
    return "x = zeros(%d)\nfor k in 0:%d { x[k] = 1.0 }\nprint(int(sum(x)))\n" % (n, n)


# ---- loops that gather ----
@case(want=lambda n: str(n))
def append_tuple(n):
    return "t = ()\nfor k in 0:%d { t = append(t, k) }\nprint(len(t))\n" % n


@case(want=lambda n: str(n))
def append_vector(n):
    return "t = [0]\nfor k in 1:%d { t = append(t, k) }\nprint(len(t))\n" % n


@case(want=lambda n: str(n))
def append_in_function(n):
    return "fn f(n) {\n    t = ()\n    for k in 0:n { t = append(t, k) }\n    t\n}\nprint(len(f(%d)))\n" % n


@case(want=lambda n: str(n))
def append_field(n):
    return "t = (a=(),)\nfor k in 0:%d { t.a = append(t.a, k) }\nprint(len(t.a))\n" % n


@case(want=lambda n: str(n))
def append_string(n):
    return "s = \"\"\nfor k in 0:%d { s += \"x\" }\nprint(len(s))\n" % n


@case(want=lambda n: str(n))
def append_string_by_sum(n):
    return "s = \"\"\nfor k in 0:%d { s = s + \"x\" }\nprint(len(s))\n" % n


@case(want=lambda n: str(n))
def append_by_sum(n):
    return "t = ()\nfor k in 0:%d { t += (k,) }\nprint(len(t))\n" % n


@case(want=lambda n: str(n))
def append_string_in_function(n):
    return "fn f(n) {\n    s = \"\"\n    for k in 0:n { s += \"x\" }\n    s\n}\nprint(len(f(%d)))\n" % n


@case(want=lambda n: str(n))
def closures(n):
    return "fn make(k) { x -> x + k }\nt = ()\nfor k in 0:%d { t = append(t, make(k)) }\nprint(t[%d](1))\n" % (n, n - 1)


@case(want=lambda n: str(n))
def tensors_alive(n):
    return "t = ()\nfor k in 0:%d { t = append(t, [1.0, k]) }\nprint(len(t))\n" % n


@case(want=lambda n: str(2 * n))
def concat_many(n):
    return "t = ()\nfor k in 0:%d { t = append(t, [1.0, k]) }\nprint(len(concat(t...)))\n" % n


@case(want=lambda n: str((n, 2)))
def stack_many(n):
    return "t = ()\nfor k in 0:%d { t = append(t, [1.0, k]) }\nprint(shape(stack(t...)))\n" % n


@case(want=lambda n: "%d 0 %d" % (n, n - 1))
def sort_vector(n):
    return "t = [(k * 7919) %% %d for k in 0:%d]\ns = sort(t)\nprint(len(unique(t)), s[0], s[-1])\n" % (n, n)


@case(want=lambda n: str(n))
def map_tuple(n):
    return "t = [(k, \"a\") for k in 0:%d]\nu = map(x -> x[0], t)\nprint(len(u))\n" % n


@case(want=lambda n: "%d %d" % (n, 2 * n - 1))
def join_split(n):
    return "t = [\"a\" for k in 0:%d]\ns = join(t, \",\")\nprint(len(split(s, \",\")), len(s))\n" % n


@case(want=lambda n: str(n))
def string_walked(n):
    return "s = \"%s\"\nc = 0\nfor k in 0:%d { if s[k] == \"é\" { c += 1 } }\nprint(c)\n" % ("é" * n, n)


@case(want=lambda n: str(n))
def string_loop(n):
    return "s = \"%s\"\nc = 0\nfor x in s { c += 1 }\nprint(c)\n" % ("é" * n)


@case(want=lambda n: "%d" % n)
def replace_string(n):
    return "s = \"%s\"\nprint(len(replace(s, \"a\", \"b\")))\n" % ("a" * n)


# ---- deep data ----
@case(quick=10**5, want=lambda n: "made")
def deep_tuple(n):
    return "t = ()\nfor k in 0:%d { t = (t,) }\nprint(\"made\")\n" % n


@case(quick=10**5, want=lambda n: "made")
def deep_named(n):
    return "t = (a=1,)\nfor k in 0:%d { t = (a=t, b=2) }\nprint(\"made\")\n" % n


@case(quick=10**5, want=None, exit=None)
def deep_tuple_printed(n):
    return "t = ()\nfor k in 0:%d { t = (t,) }\nprint(len(\"{t}\"))\n" % n


@case(quick=10**5, want=None, exit=None)
def deep_tuple_repr(n):
    return "t = ()\nfor k in 0:%d { t = (t,) }\nprint(len(repr(t)))\n" % n


@case(quick=10**5, want=None, exit=None)
def deep_tuple_compared(n):
    return "t = ()\nu = ()\nfor k in 0:%d { t = (t,); u = (u,) }\nprint(t == u)\n" % n


@case(quick=10**5, want=None, exit=None)
def deep_tuple_saved(n):
    return "t = ()\nfor k in 0:%d { t = (t,) }\nfor e in (\"json\", \"npz\", \"safetensors\", \"csv\") {\n" \
        "try { save(\"scale-deep.{e}\", t) } catch e { } }\nprint(1)\n" % n


@case(quick=10**5, want=None, exit=None)
def deep_tuple_uses(n):
    return "t = ()\nu = ()\nfor k in 0:%d { t = (t,); u = (u,) }\n" \
        "fn try_it(f) { try { f() } catch e { } }\n" \
        "for f in (x -> sort((x, u)), x -> unique((x, u)), x -> x in (u, x), x -> sum(x), x -> x + 1, x -> [x], x -> x ≈ u,\n" \
        "    x -> json(x), x -> memory(x), x -> bits(x), x -> cast(x, f32), x -> zeros(x), x -> concat(x), x -> flatten(x),\n" \
        "    x -> \"{x:.3f}\", x -> type(x), x -> latex(x), x -> hash(x), x -> profile { x }, x -> explain { x }) { try_it(() -> f(t)) }\nprint(1)\n" % n


@case(quick=10**5, want=None, exit=None)
def deep_closure(n):
    return "f = x -> x\nfn wrap(g) { x -> g(x) }\nfor k in 0:%d { f = wrap(f) }\nprint(type(f))\ntry { f(1) } catch e { print(e.kind) }\n" % n


@case(quick=10**5, want=None, exit=1, err="")
def deep_tuple_thrown(n):
    return "t = ()\nfor k in 0:%d { t = (t,) }\nt.x\n" % n


@case(quick=10**5, want=None, exit=1, err="")
def deep_recursion(n):
    return "fn f(k) { f(k + 1) + 1 }\nf(0)\n"


# ---- the program's other doors ----
@case(args=["fmt"], want=None)
def fmt(n):
    return lines(n, "name{k}=f( {k},x )  # why", "")


@case(args=["fmt"], want=None, quick=5000)
def fmt_terms(n):
    return "x = " + joined(n, "name{k}", " + ") + "\n"


@case(args=["fmt"], want=None, quick=5000)
def fmt_else_ifs(n):
    return "if a { b }" + joined(n, " else if x == {k} {{ print(1) }}", "") + "\n"


@case(args=["fmt"], want=None, quick=5000)
def fmt_calls(n):
    return "x = f(" + joined(n, "name{k}", ", ") + ")\n"


@case(args=["fmt"], want=None, quick=5000)
def fmt_fields(n):
    return "x = (" + joined(n, "name{k}=1", ", ") + ")\n"


@case(args=["test"], want=None, quick=2000, full=10**5)
def tests(n):
    return lines(n, "test \"number {k}\" {{ assert {k} == {k} }}")


@case(args=["test"], want=None, exit=1, quick=500, full=1000)
def tests_failing(n):
    return lines(n, "test \"number {k}\" {{ assert {k} == 0.5 }}")


@case(args=["test"], want=None, quick=500, full=10**4)
def tests_of_names(n):
    return lines(n, "v{k} = {k}") + lines(n, "test \"number {k}\" {{ v{k} += 1; assert v{k} == {k} + 1 }}")


@case(args=["doc"], want=None, quick=2000, exit=None)
def doc(n):
    return lines(n, "## Help of f{k}.\nfn f{k}(x) {{ x }}")


@case(args=["-i"], stdin=True, want=None, quick=2000)
def session(n):
    return lines(n, "name{k} = {k}", "print(name%d)" % (n - 1))


@case(args=["-i"], stdin=True, want=None, quick=2000)
def session_vars(n):
    return "".join("; ".join("name%d = %d" % (k + j, k) for j in range(100)) + "\n" for k in range(0, n, 100)) + ":vars\n"


@case(want=None, quick=2000)
def explained(n):
    return "x = [1.0, 2.0]\nexplain {\nfor k in 0:%d { x = x + 1.0 }\n}\n" % n


@case(want=None, quick=2000)
def explained_statements(n):
    return "x = [1.0, 2.0]\nexplain {\n" + "x = x * 2.0 - x\n" * n + "}\n"


@case(want=None, quick=2000)
def profiled(n):
    return "x = [1.0, 2.0]\nprofile {\nfor k in 0:%d { x = x + 1.0 }\n}\n" % n


@case(want=None, quick=2000)
def profiled_statements(n):
    return "x = [1.0, 2.0]\nprofile {\n" + "x = x * 2.0 - x\n" * n + "}\n"


@case(want=None, quick=2000)
def profiled_to_file(n):
    return "x = [1.0, 2.0]\nprofile to \"scale-trace.json\" {\nfor k in 0:%d { x = x + 1.0 }\n}\n" % n


@case(want=None, quick=500, full=10**4)
def compared_statements(n):
    return "x = [1.0, 2.0]\ncompare f32, f64 {\n" + "x = x * 2.0 - x\n" * n + "}\n"


@case(want=lambda n: "%d" % n, quick=500, full=10**5)
def precision_blocks(n):
    return "x = [1.0, 2.0]\n" + "precision f32 { x = x + 1 }\n" * n + "print(%d)\n" % n


@case(want=None, quick=500, full=10**5)
def device_blocks(n):
    return "x = [1.0, 2.0]\n" + "on cpu { x = x + 1 }\n" * n + "print(%d)\n" % n


@case(want=None, quick=1100, full=10**5)        # after a thousand no more are shown
def notices(n):
    return "x = -1.0\n" + "y = sqrt(x)\n" * n + "print(%d)\n" % n


@case(want=None, quick=300, full=10**5)
def extern_functions(n):
    return "extern \"libc.so.6\" {\n" + lines(n, "    typedef struct S{k} {{ int a; double b; }} S{k}; enum E{k} {{ A{k} = {k} }};") + \
        "int abs(int);\n}\nprint(abs(-3))\n"


@case(want=None, quick=300, full=10**5)
def extern_members(n):
    return "extern \"libc.so.6\" {\nstruct S {\n" + lines(n, "    int a{k};") + "};\nint abs(int);\n}\nprint(abs(-3))\n"


@case(want=lambda n: str(n - 1), quick=270000)     # more than a module begins with
def extern_enumerators(n):
    return "extern \"libc.so.6\" as c { enum { %s }; }\nprint(c.E%d)\n" % (joined(n, "E{k}", ", "), n - 1)


@case(want=None, quick=300, full=10**5)
def extern_macros(n):
    return "extern \"libc.so.6\" {\n#define M0 1\n" + "".join("#define M%d (M%d + 1)\n" % (k, k % min(k, 50)) for k in range(1, n)) + \
        "int abs(int);\n}\nprint(abs(-3))\n"


@case(want=None, quick=300, full=10**5)
def extern_blocks(n):
    return "extern \"libc.so.6\" { int abs(int); }\n" * n + "print(abs(-3))\n"


# ---- running ----
def run(c, n, work):
    """(what is wrong or None, processor seconds, stdout)."""
    path = os.path.join(work, "scale.ric")
    with open(path, "w", encoding="utf-8") as out:
        out.write(c.make(n))
    env = dict(os.environ, LC_ALL="C.UTF-8", TERM="dumb", RICCI_PATH="", OPENBLAS_NUM_THREADS="1", COLUMNS="80")
    args = [RICCI, *c.args] + ([] if c.stdin else ["scale.ric"])
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(path, "rb") as text:
        try:
            done = subprocess.run(args, cwd=work, env=env, timeout=LIMIT, capture_output=True,
                                  stdin=text if c.stdin else subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return "no end in %d s" % LIMIT, LIMIT
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return judge(c, n, done), spent


def judge(c, n, done):
    shown = done.stderr.decode(errors="replace")
    if done.returncode < 0 or done.returncode >= 126:
        return "ended by a signal (%d) %s" % (done.returncode, shown[-300:])
    if c.exit is not None and done.returncode != c.exit:
        return "exit %d, not %d: %s" % (done.returncode, c.exit, shown[:300])
    if c.err not in shown:
        return "stderr lacks `%s`: %s" % (c.err, shown[:300])
    if callable(c.want) and done.stdout.decode(errors="replace").rstrip("\n") != c.want(n):
        return "printed %r, not %r" % (done.stdout[:200], c.want(n))
    if len(done.stderr) > 200000:
        return "%d bytes of messages" % len(done.stderr)
    return None


def compare(c, work, most, start):
    """n and 10 n; the times and their ratio are shown."""
    n = min(c.full, most)
    why, small = run(c, n // 10, work)
    if why:
        return why, ""
    why, large = run(c, n, work)
    ratio = max(large - start, 0) / max(small - start, LEAST)
    text = "%8d: %6.2f s  %8d: %6.2f s  ratio %5.1f" % (n // 10, small, n, large, ratio)
    return why or ("not linear" if ratio > LINEAR else None), text


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--full", action="store_true")
    options.add_argument("--most", type=int, default=10**6, help="no case larger than this with --full")
    options.add_argument("--only", default="", help="cases whose names hold one of these words")
    options.add_argument("--list", action="store_true")
    chosen = options.parse_args()
    words = [w for w in chosen.only.split(",") if w]
    cases = [c for c in CASES if not words or any(w in c.name for w in words)]
    passed = failed = 0
    work = tempfile.mkdtemp(prefix="ricci-scale.")
    try:
        start = run(Case("", lambda n: "", None, 1, 1), 1, work)[1]
        for c in cases:
            if chosen.list:
                print(c.name)
                continue
            why, text = compare(c, work, chosen.most, start) if chosen.full else (run(c, c.quick, work)[0], "")
            passed, failed = passed + (not why), failed + bool(why)
            if why or text:
                print("%s %-28s %s %s" % ("FAIL" if why else "    ", c.name, text, why or ""), flush=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
