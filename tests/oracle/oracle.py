#!/usr/bin/env python3
"""The randomised oracle: random statements of index notation and random einsum calls, run by Ricci
and by plain Python loops over the same numbers (terms.py, einsums.py), nothing of Ricci's trusted.

    oracle.py [--cases N] [--seed S] [--ricci PATH] [--seconds T] [--keep FILE] [--only einsum|index|chain]

Elementwise chains are compared with the same chain operation by operation (chains.py). Ints and bools must be equal, floats within a bound that goes along with every operation; what the
contract makes an error must be an error of that kind. Ends with `N passed, N failed`."""
import argparse
import math
import os
import random
import re
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
import answered
import chains
import dtypes
import einsums
import make
import tensors
import terms
from dtypes import Ambiguous
from terms import Wrong

HEAD = """fn show(id, x) { print("@{id}", dtype(x), shape(x), repr(flatten(x))) }
fn fault(id, e) { print("@{id}", "error", e.kind, join(split(e.message, "\\n"), " ")) }
"""


class Case:
    """Calls of one function; each has an expectation: ("value", dtype, shape, pairs) or ("error", kinds)."""

    def __init__(self, define, calls, tree=None):
        self.define, self.calls, self.tree = define, calls, tree

    def script(self, number, only=None):
        out = [self.define(f"case_{number}")]
        for n, (arguments, _) in enumerate(self.calls):
            if only is None or n == only:
                tag = f"{number}.{n}"
                out.append(f'try {{ show("{tag}", case_{number}({arguments})) }} catch e {{ fault("{tag}", e) }}')
        return "\n".join(out) + "\n"


def expectation(build):
    try:
        return ("value",) + build()
    except Wrong as wrong:
        return "error", wrong.kind, wrong.why


# ---- making cases ----

def definition(rng, left, body, names, scalars):
    """How the statement is written: `:=`, a comprehension, or an expression that stands alone."""
    ranges = [(i, r) for i, r in left if r]
    text = terms.text(body)
    setup = "".join(f"{n} = {v}; " for n, (_, v) in scalars.items())
    form = "def"
    if left and rng.random() < 0.25:
        form = "comp" if not all(r for _, r in left) else "def"
    elif not left and body[0] == "red" and rng.random() < 0.5:
        form = "expr"
    result = rng.choice(["R", "R", names[0]]) if names else "R"
    own = f"[{', '.join(i for i, _ in left)}]" if left else ""
    tail = " for " + ", ".join(f"{i} in {terms.range_text(r)}" for i, r in ranges) if ranges else ""

    def define(name):
        head = f"fn {name}({', '.join(names)}) {{ {setup}"
        if form == "comp":
            heads = ", ".join(i + (f" in {terms.range_text(r)}" if r else "") for i, r in left)
            return head + f"return [{text} for {heads}] }}"
        if form == "expr":
            return head + f"return {text} }}"
        return head + f"{result}{own} := {text}{tail}; return {result} }}"
    return define


def index_case(rng):
    maker = make.Maker(rng)
    left, body = maker.left_and_body()
    if rng.random() < 0.12:
        left, body = make.break_something(rng, maker, left, body)
    names = list(maker.operands)
    define = definition(rng, left, body, names, maker.scalars)
    calls = []
    for n in range(rng.choice([1, 1, 1, 2, 3])):
        if n == 2:
            for i in maker.extents:
                maker.extents[i] = rng.choice([1, 2, 3, 4])
        try:
            made = maker.tensors(swap=n == 1 and rng.random() < 0.5)
            work = 1
            for i in maker.extents.values():
                work *= max(i, 1)
            if work > (20000 if rng.random() < 0.05 else 1500):
                raise Ambiguous("large")
            want = expectation(lambda: terms.Statement(left, body, made, maker.scalars).result())
        except (Ambiguous, OverflowError, RecursionError):
            continue
        calls.append((", ".join(made[x].text for x in names), want))
    return Case(define, calls)


def einsum_case(rng):
    parts, out, shapes, kinds = einsums.make(rng)
    operands = [tensors.random_tensor(rng, d, s) for d, s in zip(kinds, shapes)]
    work = 1
    for c in set("".join(parts)) - {"."}:
        work *= max([n for p, s in zip(parts, shapes) for l, n in zip(p, s) if l == c and "." not in p], default=1)
    if work > 5000:
        raise Ambiguous("large")
    want = expectation(lambda: einsums.result(parts, out, operands))
    names = [f"x{n}" for n in range(len(operands))]
    text = einsums.spaced(rng, parts, out)
    define = lambda name: f'fn {name}({", ".join(names)}) {{ einsum("{text}", {", ".join(names)}) }}'
    return Case(define, [(", ".join(x.text for x in operands), want)])


class ChainCase(Case):
    """One elementwise expression and its steps."""

    def script(self, number, only=None):
        names, texts, whole, steps, last = self.calls[0][0]
        heads = ", ".join(names)
        lines = [f"fn case_{number}({heads}) {{ {whole} }}", f"fn steps_{number}({heads}) {{"]
        lines += [f"    t{n} = {t}" for n, t in enumerate(steps)] + [f"    return {last}", "}"]
        setup = "; ".join(f"y{n} = {t}" for n, t in enumerate(texts))
        given = ", ".join(f"y{n}" for n in range(len(names)))
        return "\n".join(lines) + f"\n{setup}\nalike(\"{number}.0\", () -> case_{number}({given}), () -> steps_{number}({given}))\n"


def chain_case(rng):
    made = chains.make(rng)
    if not made[0] or not made[3]:
        raise Ambiguous("no operation")
    return ChainCase(None, [(made, ("same",))])


def cases(rng, only):
    making = {"einsum": einsum_case, "index": index_case, "chain": chain_case}
    while True:
        r = rng.random()
        kind = only or ("einsum" if r < 0.2 else "chain" if r < 0.3 else "index")
        try:
            case = making[kind](rng)
        except (Ambiguous, IndexError, OverflowError):
            continue
        if case.calls:
            yield case


# ---- running and comparing ----

def run(ricci, script, seconds=120):
    return answered.run(ricci, HEAD + make.FUNCTIONS + chains.HEAD + script, seconds)


def number(text):
    if text in ("true", "false"):
        return text == "true"
    if text.endswith("i"):
        m = re.fullmatch(r"(-?(?:[\d.]+(?:e[+-]?\d+)?|inf|nan))([+-](?:[\d.]+(?:e[+-]?\d+)?|inf|nan))i", text)
        return complex(float(m[1]), float(m[2]))
    return float(text) if re.search(r"[.e]|inf|nan", text) else int(text)


def compare(want, got):
    """None, or what is wrong."""
    if got is None:
        return "no answer"
    if want[0] == "same":
        return None if got == "same" else "one expression differs from its steps"
    if want[0] == "error":
        if not got.startswith("error "):
            return f"an error of kind {want[1]} ({want[2]}) was expected, got {got}"
        kind = got.split()[1]
        if kind == "value" and "does not fit" in got:
            return None             # a part without indices was evaluated first, and failed by itself
        return None if want[1] == "any" or kind in want[1].split("/") else f"kind {want[1]} ({want[2]}) was expected, got {got}"
    if got.startswith("error value") and "does not fit" in got and not want[3]:
        return None                 # a scalar that does not fit is one where there are no elements, too
    if got.startswith("error "):
        return f"{want[1]} {want[2]} was expected, got {got}"
    dtype, rest = got.split(" ", 1)
    shape, body = rest.split(") ", 1)
    shape = tuple(int(n) for n in re.findall(r"\d+", shape))
    if (dtype, shape) != want[1:3]:
        return f"{want[1]} {want[2]} was expected, got {dtype} {shape}"
    if not want[3]:
        return None
    inner = body[body.index("[") + 1:body.rindex("]")]
    values = [dtypes.nearest(dtype, number(t)) for t in inner.split(", ")]
    if len(values) != len(want[3]):
        return f"{len(want[3])} elements were expected, got {len(values)}"
    for n, (v, (w, e)) in enumerate(zip(values, want[3])):
        if e == math.inf:
            continue
        if isinstance(w, float) and math.isnan(w):
            good = v != v
        else:
            good = v == w or abs(v - w) <= 2 * e
        if not good:
            return f"element {n}: {w!r} (within {e:.2g}) was expected, got {v!r}"
    return None


def examine(ricci, batch, first, failures):
    """Runs a batch in one script; what breaks off is run again case by case. Returns calls checked."""
    stdout, stderr, status = run(ricci, "".join(c.script(first + n) for n, c in enumerate(batch)))
    found, checked = answered.answers(stdout), 0
    for n, case in enumerate(batch):
        for m, (arguments, want) in enumerate(case.calls):
            tag = f"{first + n}.{m}"
            got = found.get(tag)
            if got is None:
                alone, stderr, status = run(ricci, case.script(first + n), 20)
                got = answered.answers(alone).get(tag)
            checked += 1
            wrong = compare(want, got)
            if wrong:
                if got is None:
                    wrong += f" (exit {status}): {stderr.strip()[-300:]}"
                failures.append((case, m, first + n, wrong))
    return checked


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--cases", type=int, default=2000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--seconds", type=float, default=math.inf)
    p.add_argument("--ricci", default=os.environ.get("RICCI", "build/ricci"))
    p.add_argument("--only", choices=["einsum", "index", "chain"])
    p.add_argument("--show", type=int, default=10, help="failing cases to print")
    p.add_argument("--keep", help="writes the failing cases to this file")
    p.add_argument("--batch", type=int, default=250)
    a = p.parse_args()
    print(f"oracle: seed {a.seed}, {a.cases} cases", flush=True)
    start, failures, checked, made = time.time(), [], 0, 0
    source = cases(random.Random(a.seed), a.only)
    while made < a.cases and time.time() - start < a.seconds:
        batch = [next(source) for _ in range(min(a.batch, a.cases - made))]
        checked += examine(a.ricci, batch, made, failures)
        made += len(batch)
        if made % 10000 < len(batch):
            print(f"{made} cases, {len(failures)} failures, {time.time() - start:.0f} s", flush=True)
    failures.sort(key=lambda f: len(f[0].script(0, f[1])))
    for case, m, n, wrong in failures[:a.show]:
        print(f"FAIL case {n}: {wrong}\n" + "\n".join("    " + l for l in case.script(n, m).splitlines()))
    if a.keep and failures:
        with open(a.keep, "w") as f:
            f.write(HEAD + make.FUNCTIONS + chains.HEAD + "".join(f"# {w}\n{c.script(n, m)}" for c, m, n, w in failures))
    print(f"{checked - len(failures)} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
