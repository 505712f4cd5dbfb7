#!/usr/bin/env python3
"""How time and memory grow from 10 to 10^9 elements, beside NumPy and PyTorch: a table and one picture.

    bench/run.sh growth           RICCI=build/ricci python3 bench/growth/growth.py [CASE…]
    PATIENCE=4 (seconds a call), SHARE=0.4 (of the memory that is free), PEERS="ricci numpy torch" and PYTHON (which has
    them) from the environment

A size is left out if it would pass either. Figures lie in build/bench/growth/CASE.PEER, so that a run of some cases
leaves those of others there; build/bench/growth.svg is drawn of all. The exit status is 1 if a case of Ricci grows
faster than its work, in time or at its peak of memory."""
import math
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
RICCI = os.environ.get("RICCI", os.path.join(ROOT, "build", "ricci"))
OUT = os.path.join(ROOT, "build", "bench", "growth")
PATIENCE = float(os.environ.get("PATIENCE", "4"))
SHARE = float(os.environ.get("SHARE", "0.4"))
linear, sorting = (lambda n: n), (lambda n: n * math.log2(n))
square, cubic = (lambda n: n ** 1.5), (lambda n: n ** (4 / 3))
# The work of n elements.
CASES = {
    "elementwise": {"add": linear, "exp": linear, "mask": linear, "gather": linear},
    "chains": {"chain": linear, "fused": linear},
    "reductions": {"sum": linear, "max": linear, "columns": linear, "cumsum": linear},
    "sort": {"sort": sorting},
    "products": {"product": square},
    "solve": {"solve": square},
    "einsum": {"einsum": cubic},
    "index notation": {"notation": linear},
    "fft": {"fft": sorting},
    "random": {"rand": linear, "randn": linear},
    "sparse": {"sparse": linear},
    "text and lists": {"words": linear, "append": linear, "letters": linear, "keys": linear},
    "scalars": {"loop": linear},
}
WORK = {case: work for cases in CASES.values() for case, work in cases.items()}
# Exponents are fitted to the sizes from FROM on. What is forgiven is what caches cost as data leave them: 0.3 is a factor of
# 4 over two powers of ten, of 8 over three; more where every element is a miss of its own. Memory is linear in all cases.
FROM, SLACK, MISSES, MEMORY_SLACK = 10**5, 0.3, {"gather": 0.45, "keys": 0.45}, 0.1
PEERS = ("ricci", "numpy", "torch")


def room():
    with open("/proc/meminfo") as file:
        return SHARE * 1024 * int(re.search(r"MemAvailable:\s+(\d+)", file.read())[1])


def commands():
    wanted = os.environ.get("PEERS", " ".join(PEERS)).split()
    found = {"ricci": [RICCI, os.path.join(HERE, "growth.ric")]} if "ricci" in wanted else {}
    for peer, module in (("numpy", "scipy"), ("torch", "torch")):
        if peer not in wanted:
            continue
        for python in filter(None, (os.environ.get("PYTHON"), "build/venv/bin/python3", "/usr/bin/python3", "python3")):
            if os.system(f"{python} -c 'import numpy, {module}' 2>/dev/null") == 0:
                found[peer] = [python, os.path.join(HERE, "growth_peer.py"), peer]
                break
        else:
            print(f"growth: {peer} is not installed: its columns are left out")
    return found


def measure(case, found):
    for peer, command in found.items():
        done = subprocess.run([*command, case, str(room()), str(PATIENCE)], capture_output=True, text=True)
        if done.returncode:
            print(f"growth: {case} of {peer} ended early: {done.stderr.strip().splitlines()[-1:]}")
        with open(os.path.join(OUT, f"{case}.{peer}"), "w") as file:
            file.write(done.stdout)


def figures(case, peer):
    """(n, seconds, kept, peak) of every size, as far as they have been measured."""
    try:
        with open(os.path.join(OUT, f"{case}.{peer}")) as file:
            return [(int(n), float(s), int(k), int(p)) for n, s, k, p in map(str.split, file)]
    except FileNotFoundError:
        return []


def exponent(sizes, values):
    """The slope of the line through the logarithms."""
    x, y = ([math.log(max(v, 1e-12)) for v in column] for column in (sizes, values))
    middle, height = sum(x) / len(x), sum(y) / len(y)
    return sum((a - middle) * (b - height) for a, b in zip(x, y)) / sum((a - middle) ** 2 for a in x)


def too_fast(case, rows):
    """What is wrong with the growth of a case, or None; and the exponent of its time."""
    rows = [row for row in rows if row[0] >= FROM]
    if len(rows) < 2:
        return "fewer than two large sizes were measured", math.nan
    n, seconds, _, peak = zip(*rows)
    grown, own, memory = exponent(n, seconds), exponent(n, list(map(WORK[case], n))), exponent(n, [max(p, 1) for p in peak])
    if grown > own + MISSES.get(case, SLACK):
        return f"time grows as n^{grown:.2f} from {n[0]:.0e} to {n[-1]:.0e}, its work as n^{own:.2f}", grown
    if peak[-1] > 2**20 and memory > 1 + MEMORY_SLACK:
        return f"peak memory grows as n^{memory:.2f} from {n[0]:.0e} to {n[-1]:.0e}", grown
    return None, grown


def si(value, unit):
    if value <= 0:
        return f"0 {unit}"
    for prefix, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1), ("m", 1e-3), ("µ", 1e-6), ("n", 1e-9)):
        if value >= 0.9995 * scale:
            return f"{value / scale:.3g} {prefix}{unit}"
    return f"{value:.1e} {unit}"


def table():
    """One line a size; the number of cases that grow too fast."""
    bad = 0
    print(f"{'case':10}{'n':>6}" + "".join(f"{peer:>11}{'kept':>10}{'peak':>10}" for peer in PEERS[:2])
          + f"{'/numpy':>9}{'torch':>11}{'/torch':>9}{'exponent':>10}")
    for group, cases in CASES.items():
        if not any(figures(case, "ricci") for case in cases):
            continue
        print(f"{group}:")
        for case in cases:
            by = {peer: {row[0]: row for row in figures(case, peer)} for peer in PEERS}
            if not by["ricci"]:
                continue
            why, grown = too_fast(case, list(by["ricci"].values()))
            for n, (_, seconds, _, _) in by["ricci"].items():
                line = f"{case:10}{'10^' + str(round(math.log10(n))):>6}"
                for peer in PEERS[:2]:
                    row = by[peer].get(n)
                    line += f"{si(row[1], 's'):>11}{si(row[2], 'B'):>10}{si(row[3], 'B'):>10}" if row else f"{'-':>11}{'-':>10}{'-':>10}"
                ratio = lambda row: f"{row[1] / seconds:9.3g}" if row else f"{'-':>9}"
                torch = by["torch"].get(n)
                line += ratio(by["numpy"].get(n)) + (f"{si(torch[1], 's'):>11}" if torch else f"{'-':>11}") + ratio(torch)
                print(line + (f"{grown:10.2f}" if n == max(by["ricci"]) else ""))
            if why:
                print(f"{case}: {why}")
                bad += 1
    return bad


def summary():
    """One line a case: seconds, the exponent, and peers at the largest size that they share."""
    print(f"\n{'case':10}" + "".join(f"{f'10^{k}':>9}" for k in (1, 3, 5, 7, 8, 9)) + f"{'n^':>6}{'work':>6}"
          + "".join(f"{head:>9}" for head in ("/numpy", "at", "peak", "/torch", "at")))
    for case in WORK:
        by = {peer: {row[0]: row for row in figures(case, peer)} for peer in PEERS}
        ours = by["ricci"]
        if not ours:
            continue
        large = [n for n in ours if n >= FROM]
        line = f"{case:10}" + "".join(f"{si(ours[10**k][1], 's') if 10**k in ours else '-':>9}" for k in (1, 3, 5, 7, 8, 9))
        line += f"{too_fast(case, list(ours.values()))[1]:6.2f}" + (f"{exponent(large, list(map(WORK[case], large))):6.2f}" if len(large) > 1 else "")
        for peer in PEERS[1:]:
            n = max(set(by[peer]) & set(ours), default=None)
            line += f"{by[peer][n][1] / ours[n][1]:9.2f}{f'10^{round(math.log10(n))}':>9}" if n else f"{'-':>9}{'-':>9}"
            if peer == "numpy":     # torch tells no bytes
                line += f"{by[peer][n][3] / max(ours[n][3], 1):9.2f}" if n and ours[n][3] > 2**20 else f"{'-':>9}"
        print(line)


def main():
    chosen = [case for case in WORK if len(sys.argv) < 2 or case in sys.argv[1:]]
    os.makedirs(OUT, exist_ok=True)
    found = commands()
    for case in chosen:
        measure(case, found)
    bad = table()
    summary()
    picture = os.path.join(OUT, "..", "growth.svg")
    subprocess.run([RICCI, os.path.join(HERE, "picture.ric"), OUT, picture, *WORK], check=True)
    print(f"{os.path.relpath(picture)} is drawn; {f'{bad} cases grow' if bad else 'no case grows'} faster than the work")
    return 1 if bad else 0


sys.exit(main())
