#!/usr/bin/env python3
"""attention against the formula written out, on random sizes, layouts, dtypes and options.

    tests/oracle/attention.py [--cases N] [--seed S]      RICCI says which binary (build/ricci)

The cases are those of tests/lang/attention/random.ric with other seeds, forward and back, at each level of
instructions that the processor has; and the bits of results and gradients are the same for any number of threads. From 10,000 cases on, the memory of
32768 queries and keys is held to 64 MiB beyond operands and results, too."""
import argparse
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RICCI = os.environ.get("RICCI", os.path.join(ROOT, "build", "ricci"))
LEVELS = ("base", "avx2", "avx512")

# the elements of everything in an order, as text of all digits
BITS = """seed({seed})
fn told(x) {{ for v in flatten(f64(x)) {{ print(v) }} }}
for dt in (f32, f64, bf16) {{
    for s in ((3, 1, 200, 150), (1, 2, 70, 500), (2, 2, 300, 300)) {{
        q = cast(randn(s[0], s[1], s[2], 20), dt)
        k = cast(randn(s[1], s[3], 20), dt)
        v = cast(randn(s[0], 1, s[3], 17), dt)
        b = cast(randn(1, s[2], s[3]), dt)
        for causal in (false, true) {{
            f = x -> sum(attention(x.q, x.k, x.v, causal, window=(90, 40), bias=x.b)^2)
            g = grad(f)((q=q, k=k, v=v, b=b))
            told(sum(attention(q, k, v, causal), axis=-1))
            told(sum(g.q, axis=-2)); told(sum(g.k, axis=-2)); told(sum(g.v, axis=-2)); told(sum(g.b, axis=-2))
        }}
    }}
}}
"""

# what is taken beyond operands and results, in MiB
LARGE = """n = 32768
q = f32(randn(n, 64)); k = f32(randn(n, 64)); v = f32(randn(n, 64)); w = f32(randn(n, 64))
before = memory(cpu, reset=true).live
kept = attention_lse(q, k, v, causal=true)
print((memory(cpu).peak - before - 66 * 4 * n) / 2^20 < 64)
before = memory(cpu, reset=true).live
g = attention_back(w, q, k, v, kept, causal=true)
print((memory(cpu).peak - before - 3 * 64 * 4 * n) / 2^20 < 64)
"""


def run(text, **env):
    with tempfile.NamedTemporaryFile("w", suffix=".ric", delete=False) as f:
        f.write(text)
    out = subprocess.run([RICCI, f.name], capture_output=True, text=True, env={**os.environ, **env}, timeout=3000)
    os.unlink(f.name)
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    program = open(os.path.join(ROOT, "tests", "lang", "attention", "random.ric")).read()
    passed = failed = 0
    for level in LEVELS:
        text = program.replace("seed(11)", f"seed({args.seed})").replace(
            "rounds = 25", f"rounds = {max(1, args.cases // (4 * len(LEVELS)))}")
        out = run(text, RICCI_ISA=level)
        if out.stdout == "the same\n":
            passed += 1
        else:
            failed += 1
            print(f"FAIL attention, RICCI_ISA={level}, seed {args.seed}: {out.stderr[-600:]}")
    bits = {n: run(BITS.format(seed=args.seed), RICCI_THREADS=n) for n in ("1", "2", "3", "7")}
    for n, out in bits.items():
        if out.returncode == 0 and out.stdout and out.stdout == bits["1"].stdout:
            passed += 1
        else:
            failed += 1
            print(f"FAIL attention: other bits on {n} threads, seed {args.seed} {out.stderr[-600:]}")
    if args.cases >= 10000:
        out = run(LARGE)
        if out.stdout == "true\ntrue\n":
            passed += 1
        else:
            failed += 1
            print(f"FAIL attention: memory at n = 32768 {out.stdout} {out.stderr[-600:]}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
