#!/usr/bin/env python3
"""Random sums of products with sparse factors, by index notation and einsum in Ricci and by plain loops over all
elements here. Elements are small ints, so every order of summation gives the same numbers.

    sparse_notation.py [--cases N] [--seed S] [--ricci PATH] [--keep FILE]

Held besides: that a result is sparse where its indices are those of one sparse factor, and nowhere else. Ends with
`N passed, N failed`."""
import argparse
import itertools
import os
import random
import subprocess
import sys
import tempfile

SCOPES = [""] * 12 + ["precision f32", "precision bf16", "precision mp(80)", "precision decimal(12)", "autocast bf16"]


class Operand:
    def __init__(self, name, shape, value, sparse, text):
        self.name, self.shape, self.value, self.sparse, self.text = name, shape, value, sparse, text


def tensor_text(shape, value, at=()):
    if len(at) == len(shape):
        return f"{value[at]}.0"
    return "[" + ", ".join(tensor_text(shape, value, at + (i,)) for i in range(shape[len(at)])) + "]"


def dense(rng, name, shape):
    value = {at: rng.choice([-2, -1, 1, 2, 3]) for at in itertools.product(*map(range, shape))}
    flat = [value[at] for at in itertools.product(*map(range, shape))]
    dtype = rng.choice(["f64"] * 4 + ["f32", "i64"])
    text = f"reshape({flat}, {tuple(shape)})" if len(shape) > 1 else f"{flat}"
    if not flat:
        text = f"zeros({', '.join(map(str, shape))})"
    return Operand(name, shape, value, False, f"{dtype}({text})")


def sparse(rng, name, shape):
    places = list(itertools.product(*map(range, shape)))
    rng.shuffle(places)
    places = places[:rng.choice([0, 1, len(places) // 4, len(places) // 2, len(places)])]
    value = {at: 0 for at in itertools.product(*map(range, shape))}
    for at in places:
        value[at] = rng.choice([-3, -1, 0, 1, 2])
    i, j, v = ([p[0] for p in places], [p[1] for p in places], [float(value[p]) for p in places])
    if not places:
        return Operand(name, shape, value, True, f"sparse(zeros({shape[0]}, {shape[1]}))")
    text = f"sparse({i}, {j}, {v}, {tuple(shape)})"
    return Operand(name, shape, value, True, rng.choice([text] * 4 + [f"f32({text})"]))


class Factor:
    """An element: its operand and, for each axis, (letter or None, step, offset)."""

    def __init__(self, operand, subs):
        self.operand, self.subs = operand, subs

    def text(self):
        def one(letter, step, offset):
            if letter is None:
                return str(offset)
            text = letter if step == 1 else f"{step}*{letter}"
            return text if offset == 0 else f"{text}+{offset}"
        return f"{self.operand.name}[{','.join(one(*s) for s in self.subs)}]"

    def at(self, where):
        return self.operand.value[tuple(o if x is None else s * where[x] + o for x, s, o in self.subs)]

    def plain(self):
        return all(x and (s, o) == (1, 0) for x, s, o in self.subs)

    def letters(self):
        return [x for x, _, _ in self.subs if x]


def factor(rng, name, letters, size, is_sparse, plain):
    rank = 2 if is_sparse else rng.choice([1, 1, 2, 2, 3])
    subs, shape = [], []
    for k in range(rank):
        if not plain and rng.random() < 0.08:
            n = rng.choice([1, 2, 3])
            subs.append((None, 0, rng.randrange(n)))
            shape.append(n)
            continue
        x = rng.choice(letters)
        step, offset = (1, 0) if plain or rng.random() < 0.88 else (rng.choice([1, 2]), rng.choice([0, 1]))
        subs.append((x, step, offset))
        shape.append(size[x] if (step, offset) == (1, 0) else max(0, step * (size[x] - 1) + offset + 1))
    make = sparse if is_sparse else dense
    return Factor(make(rng, name, shape), subs)


def make_case(rng, number):
    letters = list("ijkrs")[:rng.choice([2, 3, 3, 4, 5])]
    size = {x: rng.choice([1, 2, 3, 3, 4, 0] if rng.random() < 0.3 else [2, 3, 4]) for x in letters}
    as_einsum = rng.random() < 0.25
    factors = [factor(rng, f"S{number}_{k}", letters, size, True, as_einsum) for k in range(rng.choice([1, 1, 1, 2, 2, 3]))]
    factors += [factor(rng, f"D{number}_{k}", letters, size, False, as_einsum) for k in range(rng.choice([0, 1, 1, 2, 2, 3]))]
    rng.shuffle(factors)
    lone = {x for f in factors for x, s, o in f.subs if x and (s, o) == (1, 0)}
    factors = [f for f in factors if set(f.letters()) <= lone] or factors[:0]
    lone = {x for f in factors for x, s, o in f.subs if x and (s, o) == (1, 0)}
    if not any(f.operand.sparse for f in factors) or any(set(f.letters()) - lone for f in factors):
        return None
    used = sorted(lone)
    out = [x for x in used if rng.random() < 0.5]
    rng.shuffle(out)
    summed = [x for x in used if x not in out]
    if as_einsum:
        spec = ",".join("".join(f.letters()) for f in factors) + "->" + "".join(out)
        body = f'einsum("{spec}", {", ".join(f.operand.name for f in factors)})'
        statement = f"r = {body}"
    else:
        body = "*".join(f.text() for f in factors)
        if len(factors) > 2 and rng.random() < 0.2:
            body = f"{factors[0].text()}*({'*'.join(f.text() for f in factors[1:])})"
        places = {x: sum(x in f.letters() for f in factors) + (0 if x not in out else 9) for x in used}
        if summed and (min(places.values()) < 2 or rng.random() < 0.5):
            body = f"sum[{','.join(summed)}] {body}"
        elif any(f.letters().count(x) > 1 for f in factors for x in summed) and min(places.values()) < 2:
            return None
        statement = f"r[{','.join(out)}] := {body}" if out else f"r = {body}" if body.startswith("sum[") else f"r := {body}"
    scope = rng.choice(SCOPES)
    if scope == "autocast bf16" and as_einsum:
        scope = ""
    define = "".join(f"{f.operand.name} = {f.operand.text}\n" for f in factors)
    run = f"{scope} {{ {statement} }}\n" if scope else statement + "\n"
    shown = f'print("@{number}", issparse(r), list_of(r))\n'
    text = define + f"try {{\n{run}{shown}}} catch e {{ print(\"@{number}\", \"error\", e.message) }}\n"
    want = []
    for head in itertools.product(*(range(size[x]) for x in out)):
        total = 0
        for tail in itertools.product(*(range(size[x]) for x in summed)):
            where = dict(zip(out + summed, head + tail))
            term = 1
            for f in factors:
                term *= f.at(where)
            total += term
        want.append(total)
    stays = len(out) == 2 and any(f.operand.sparse and sorted(f.letters()) == sorted(out) for f in factors)
    if scope and (max([0] + [abs(w) for w in want]) > 128):
        return None
    return text, statement, want, stays


HEAD = "fn list_of(x) { return repr(flatten(f64(dense(x)))) }\n"


def run(ricci, text):
    with tempfile.NamedTemporaryFile("w", suffix=".ric", delete=False) as f:
        f.write(text)
    try:
        done = subprocess.run([ricci, f.name], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    finally:
        os.unlink(f.name)
    return done


def numbers(text):
    if "zeros" in text:
        return []
    return [float(x) for x in text.strip().strip("[]").split(",") if x.strip()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ricci", default="build/ricci")
    parser.add_argument("--keep")
    a = parser.parse_args()
    rng = random.Random(a.seed)
    cases = {}
    while len(cases) < a.cases:
        case = make_case(rng, len(cases))
        if case:
            cases[len(cases)] = case
    text = HEAD + "".join(c[0] for c in cases.values())
    if a.keep:
        with open(a.keep, "w") as f:
            f.write(text)
    done = run(a.ricci, text)
    found = {}
    for line in done.stdout.splitlines():
        if line.startswith("@"):
            number, _, rest = line[1:].partition(" ")
            found[int(number)] = rest
    passed = failed = 0
    if "makes a sparse matrix dense" in done.stderr:
        failed += 1
        print(f"FAIL seed {a.seed}: {done.stderr[:600]}")
    for number, (source, statement, want, stays) in cases.items():
        got = found.get(number, f"nothing; {done.stderr[-300:]}")
        kind, _, values = got.partition(" ")
        good = kind in ("true", "false") and (kind == "true") == stays and numbers(values) == [float(w) for w in want]
        passed += good
        failed += not good
        if not good and failed <= 8:
            print(f"FAIL seed {a.seed}, case {number}: {statement}\n{source}    wanted {'sparse' if stays else 'dense'} {want}\n"
                  f"    got {got}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
