#!/usr/bin/env python3
"""The oracle of precision scopes: random programs run by Ricci and by a model in exact fractions
(programs.py, formats.py) that trusts nothing of Ricci's; every printed value must be the same bits.

    precision.py [--cases N] [--seed S] [--ricci PATH] [--seconds T] [--keep FILE]

With them run programs that leave scopes in every way there is (escapes.py), complex expressions
(complexes.py), stochastic rounding (chance.py) and elimination (elimination.py).
Ends with `N passed, N failed`."""
import argparse
import math
import os
import random
import re
import sys
import time
from fractions import Fraction

sys.dont_write_bytecode = True
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
import answered
import chance
import complexes
import elimination
import escapes
import formats
import programs
from formats import F64, INTERVAL, Unclear
from programs import Machine, Maker, Value, text

HEAD = """fn shown(id, x) { print("@{id}", dtype(x), shape(x), repr(f64(flatten(x)))) }
fn whole(id, x) { print("@{id}", dtype(x), shape(x), repr(flatten(x))) }
fn exact(id, x) {
    t = flatten(x); s = ""
    for k in 0:shape(t)[0] { s = "{s} {rational(t[k])}" }
    print("@{id}", dtype(x), shape(x), s)
}
"""


class Case:
    """Functions, variables, statements in scopes; `wanted` are the values it prints."""

    def __init__(self, rng):
        self.maker = m = Maker(rng)
        self.lines, self.wanted, self.env = [], [], {}
        for n in range(rng.choice([0, 0, 1, 2])):
            m.function(f"g{n}")
        for n in range(rng.randint(2, 4)):
            self.variable(f"a{n}", rng.choice([(), (3,), (3,), (3, 3)]), rng)
        self.machine = Machine({k: v[:2] for k, v in m.functions.items()})
        for _ in range(rng.randint(1, 3)):
            self.statement(rng)

    def variable(self, name, shape, rng):
        size = math.prod(shape)
        if rng.random() < 0.15:
            data = [rng.randint(-9, 300) for _ in range(size)]
            value, items = Value("i", shape, data), list(map(str, data))
            cast = ""
        else:
            items = [self.maker.signed() for _ in range(size)]
            f = F64 if rng.random() < 0.7 else rng.choice(programs.NAMED)
            rules = formats.Rules(f)
            data = [rules.load(float(t)) for t in items]
            value, cast = Value("f", shape, data, f), "" if f is F64 else f.name
        body = items[0] if not shape else "[" + ", ".join(items) + "]" if len(shape) == 1 else \
            "[" + "; ".join(", ".join(items[i:i + 3]) for i in range(0, 9, 3)) + "]"
        self.lines.append(f"{name} = {cast}({body})" if cast else f"{name} = {body}")
        self.env[name] = value
        self.maker.vars[name] = shape

    def assign(self, name, shape, scoped, depth):
        """A statement `name = …`, or nothing when its value is open."""
        try:
            tree = self.maker.expr(shape, depth, scoped)
            value = self.machine.eval(tree, self.env)
        except (Unclear, OverflowError, RecursionError):
            return None
        if value.shape != shape or any(isinstance(d, Fraction) and d.denominator.bit_length() > 4000 for d in value.data):
            return None
        self.env[name] = value
        self.maker.vars[name] = shape
        self.wanted.append((name, value))
        return f"{name} = {text(tree)}"

    def statement(self, rng):
        scoped = rng.random() < 0.9
        scope = self.maker.scope() if scoped else None
        outer, self.machine.scope = self.machine.scope, scope
        made = []
        for _ in range(rng.randint(1, 3) if scoped else 1):
            shape = rng.choice([(), (), (3,), (3,), (3, 3)])
            line = self.assign(f"r{len(self.wanted)}", shape, scoped, rng.randint(1, 4))
            if line:
                made.append(line)
        self.machine.scope = outer
        if made and scoped:
            self.lines.append(scope.header() + " { " + "; ".join(made) + " }")
        else:
            self.lines += made

    def script(self, number):
        out = []
        rename = {k: f"{k}_{number}" for k in self.maker.functions}

        def fix(s):
            return re.sub(r"\bg[01]\b", lambda m: rename[m[0]], s)
        for name, (params, body, _, _) in self.maker.functions.items():
            out.append(f"fn {rename[name]}({', '.join(params)}) {{ {fix(text(body))} }}")
        out.append(f"fn case_{number}() {{")
        out += ["    " + fix(l) for l in self.lines]
        for n, (name, value) in enumerate(self.wanted):
            how = "whole" if value.kind != "f" or value.format is INTERVAL else "shown" if value.format.binary else "exact"
            out.append(f'    {how}("{number}.{n}", {name})')
        out.append("}")
        out.append(f'try {{ case_{number}() }} catch e {{ print("@{number}.e error", e.kind, join(split(e.message, "\\n"), " ")) }}')
        return "\n".join(out) + "\n"


def cases(rng):
    while True:
        case = Case(rng)
        if case.wanted:
            yield case


# ---- running and comparing ----
def run(ricci, script, seconds=120):
    return answered.run(ricci, HEAD + script, seconds)


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return (a != a and b != b) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    return a == b


def contains(value, body):
    found = re.findall(r"interval\(([^,)]+)(?:, ([^)]+))?\)", body)
    for n, (w, (lo, hi)) in enumerate(zip(value.data, found)):
        low, high = float(lo), float(hi or lo)
        if not (low <= w <= high):
            return f"interval element {n}: [{lo}, {hi}] does not contain {w} = {float(w)!r}"
    return None if len(found) == len(value.data) else f"{len(value.data)} intervals were expected, got {body}"


def compare(value, got):
    """None, or what is wrong."""
    want = f"{value.dtype()} {value.shape} {[str(d) for d in value.data]}"
    if got is None:
        return f"no answer, not {want}"
    found = re.fullmatch(r"(.*?) (\([\d, ]*\)) ?(.*)", got)
    for m in re.finditer(r" (\([\d, ]*\)) ", got + " "):       # the dtype may have brackets of its own
        if got[:m.start()] == value.dtype():
            found = (got, got[:m.start()], m[1], got[m.end():])
            break
    if not found or found[1] != value.dtype():
        return f"{want} was expected, got {got}"
    if tuple(int(n) for n in re.findall(r"\d+", found[2])) != value.shape:
        return f"{want} was expected, got {got}"
    body = found[3]
    if value.format is INTERVAL:
        return contains(value, body)
    if value.kind == "f" and not value.format.binary:
        data = [Fraction(t) for t in body.split()]
    else:
        items = body[body.index("[") + 1:body.rindex("]")].split(", ")
        data = [float(t) if value.kind == "f" else t == "true" if value.kind == "b" else int(t) for t in items]
    for n, (w, g) in enumerate(zip(value.data, data)):
        if not same(w, g):
            return f"{value.dtype()} element {n}: {w!r} was expected, got {g!r}"
    return None if len(data) == len(value.data) else f"{want} was expected, got {got}"


def examine(ricci, batch, first, failures):
    """Runs the cases of a batch; failing ones go to `failures`. The number of values compared."""
    stdout, stderr, status = run(ricci, "".join(c.script(first + n) for n, c in enumerate(batch)))
    found, checked = answered.answers(stdout), 0
    if status and not found and len(batch) > 1:
        return sum(examine(ricci, [c], first + n, failures) for n, c in enumerate(batch))
    for n, case in enumerate(batch):
        number, wrong = first + n, None
        for k, (name, value) in enumerate(case.wanted):
            checked += 1
            wrong = wrong or compare(value, found.get(f"{number}.{k}"))
            if wrong and wrong.startswith("no answer"):
                wrong = found.get(f"{number}.e") or f"{wrong}; exit {status}: {stderr[-300:]}"
            if wrong:
                failures.append((case, number, f"{name}: {wrong}"))
                break
    return checked


def examine_escapes(ricci, batch, failures):
    """The same for programs of escapes.py."""
    stdout, stderr, status = run(ricci, escapes.HEAD + "".join(e.script(n) for n, e in enumerate(batch)))
    found = escapes.observed(stdout)
    for n, e in enumerate(batch):
        got = found.get(str(n))
        if got != e.log:
            failures.append((e, n, f"probes {e.log} were expected, got {got}; exit {status}: {stderr[-300:]}"))
    return len(batch)


def examine_small(ricci, batch, letter, failures):
    """The same for programs of one answer."""
    stdout, stderr, status = run(ricci, "".join(c.script(n) for n, c in enumerate(batch)))
    found = answered.answers(stdout)
    for n, c in enumerate(batch):
        wrong = c.compare(found.get(f"{letter}{n}"))
        if wrong:
            failures.append((c, n, f"{wrong}; exit {status}: {stderr[-300:]}"))
    return len(batch)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--cases", type=int, default=2000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--seconds", type=float, default=math.inf)
    p.add_argument("--ricci", default=os.environ.get("RICCI", "build/ricci"))
    p.add_argument("--show", type=int, default=10, help="failing cases to print")
    p.add_argument("--keep", help="writes the failing cases to this file")
    p.add_argument("--batch", type=int, default=250)
    a = p.parse_args()
    print(f"precision: seed {a.seed}, {a.cases} cases", flush=True)
    start, failures, checked, made = time.time(), [], 0, 0
    source, ways = cases(random.Random(a.seed)), random.Random(a.seed)
    while made < a.cases and time.time() - start < a.seconds:
        batch = [next(source) for _ in range(min(a.batch, a.cases - made))]
        checked += examine(a.ricci, batch, made, failures)
        checked += examine_escapes(a.ricci, [escapes.make(ways) for _ in range(len(batch) // 5)], failures)
        checked += examine_small(a.ricci, [complexes.Complex(ways) for _ in range(len(batch) // 5)], "c", failures)
        checked += examine_small(a.ricci, [chance.Chance(ways) for _ in range(len(batch) // 5)], "s", failures)
        checked += examine_small(a.ricci, [elimination.Elimination(ways) for _ in range(len(batch) // 5)], "e", failures)
        made += len(batch)
        if made % 10000 < len(batch):
            print(f"{made} cases, {len(failures)} failures, {time.time() - start:.0f} s", flush=True)
    failures.sort(key=lambda f: len(f[0].script(0)))
    for case, n, wrong in failures[:a.show]:
        print(f"FAIL case {n}: {wrong[:400]}\n" + "\n".join("    " + l for l in case.script(n).splitlines()))
    if a.keep and failures:
        with open(a.keep, "w") as f:
            f.write(HEAD + "".join(f"# {w}\n{c.script(n)}" for c, n, w in failures))
    print(f"{checked - len(failures)} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
