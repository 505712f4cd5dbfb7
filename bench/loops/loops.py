#!/usr/bin/env python3
"""Programs of plain loops beside Lua, LuaJIT and numba: the seven of bench/loops and those of bench/scalar.

    bench/run.sh loops            RICCI=build/ricci python3 bench/loops/loops.py [NAME…]
    ROUNDS=5, PEERS="lua5.4 luajit numba" (walker: Ricci with RICCI_JIT=0) and, for numba, PYTHON from the environment

Every program ends with one line that prints its answer, which all of them must print alike. Rounds of all
alternate and the best of each counts. Ricci and Lua: the whole process less the start of one that does nothing;
numba: the best of later calls, with the first call (which compiles) apart. Above 1 means that Ricci is faster.
The second table is the first with sizes that take about half a second (ROUNDS, at most 2); the third calls `work` of a
small size again and again in one process. TABLES="short long warm" says which."""
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SCALAR = os.path.join(HERE, "..", "scalar")
RICCI = os.environ.get("RICCI", os.path.join(HERE, "..", "..", "build", "ricci"))
ROUNDS = int(os.environ.get("ROUNDS", "5"))
# What `work` of the third table is called with: some 5 ms of a tree walker.
SMALL = {"elimination": 90, "floyd": 65, "mandelbrot": 1, "nbody": 2000, "sieve": 200000, "spectral": 60, "stencil": 1}
# What `work` of the second table is called with: about half a second.
LONG = {"elimination": 1200, "floyd": 850, "mandelbrot": 5000, "nbody": 7_000_000, "sieve": 60_000_000, "spectral": 3300, "stencil": 2000}
PROGRAMS = [(name, HERE) for name in SMALL] + [(n, SCALAR) for n in ("append", "closure", "fib", "mandelbrot", "matmul", "sieve", "sum")]
CALLS = 40
# The last line of a program in turn, of which the third table makes calls of `work` that print their seconds.
AGAIN = {
    ".ric": "for call in 0:{calls} {{\n    start = time()\n    work({small})\n    print(time() - start)\n}}\n",
    ".lua": "for call = 1, {calls} do\n    local start = os.clock()\n    work({small})\n    print(os.clock() - start)\nend\n",
    "_numba.py": "import time\nfor call in range({calls}):\n    start = time.perf_counter()\n    work({small})\n"
                 "    print(time.perf_counter() - start)\n",
}


def peers():
    """The commands there are by name, with the ending of their programs; who is missing gets a line."""
    found = {"ricci": ([RICCI], ".ric")}
    for name in os.environ.get("PEERS", "lua5.4 luajit numba").split():
        if name == "walker":
            found[name] = (["env", "RICCI_JIT=0", RICCI], ".ric")
        elif name != "numba" and shutil.which(name):
            found[name] = ([name], ".lua")
        elif name == "numba" and (python := python_with_numba()):
            found[name] = ([python], "_numba.py")
        else:
            print(f"loops: {name} is not installed: its columns are left out")
    return found


def python_with_numba():
    for python in filter(None, (os.environ.get("PYTHON"), "build/venv/bin/python3", "python3")):
        if shutil.which(python) and not subprocess.run([python, "-c", "import numba"], capture_output=True).returncode:
            return python
    return None


def run(command, program):
    start = time.perf_counter()
    done = subprocess.run([*command, program], capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if done.returncode:
        sys.exit(f"{program}: {done.stderr}")
    return seconds, done.stdout


def copied(path, ending, folder, size, calls=0, answer=True):
    """A copy of a program that calls `work` so many times, and then, if `answer`, prints it; size None: its own."""
    with open(path + ending) as file:
        *lines, last = file.read().rstrip("\n").split("\n")
    if size is not None:
        last = re.sub(r"work\(.*?\)", f"work({size})", last)
    small = re.fullmatch(r"print\(\*?work\((.*)\)\)", last)
    copy = os.path.join(folder, os.path.basename(path) + ending)
    with open(copy, "w") as file:
        file.write("\n".join(lines) + "\n" + (AGAIN[ending].format(calls=calls, small=small[1]) if calls else ""))
        file.write(last + "\n" if answer else "")
    return copy


def digest(text):
    return [float(part) for part in text.split()]


def whole(chosen, found, folder, sizes, rounds):
    """Seconds by (program's path, peer), and of numba's first calls. sizes: by name, where not the program's own."""
    best, first, started = {}, {}, {}
    low = lambda table, key, seconds: table.__setitem__(key, min(seconds, table.get(key, math.inf)))
    for turn in range(rounds):
        for peer, (command, ending) in found.items():
            if peer != "numba":
                nothing = os.path.join(folder, "nothing" + ending)
                open(nothing, "w").close()
                low(started, peer, min(run(command, nothing)[0] for _ in range(3)))
        for name, where in chosen:
            path, answers = os.path.join(where, name), {}
            for peer, (command, ending) in found.items():
                if not os.path.exists(path + ending):
                    continue
                if peer != "numba":
                    program = copied(path, ending, folder, sizes[name]) if name in sizes else path + ending
                    seconds, answers[peer] = run(command, program)
                    low(best, (path, peer), seconds)
                elif turn == 0:         # compiles for a second or two: the rounds are its calls
                    *times, answers[peer] = run(command, copied(path, ending, folder, sizes.get(name), rounds + 1))[1].splitlines()
                    times = [float(seconds) for seconds in times]
                    first[path], best[path, peer] = times[0], min(times[1:])
            if any(digest(answer) != digest(answers["ricci"]) for answer in answers.values()):
                sys.exit(f"{path}: the answers differ: {answers}")
    for (path, peer), seconds in best.items():
        best[path, peer] = max(seconds - started.get(peer, 0), 1e-9)
    return best, first, started


def print_whole(title, chosen, found, folder, sizes, rounds):
    best, first, started = whole(chosen, found, folder, sizes, rounds)
    others = [peer for peer in found if peer != "ricci"]
    print(f"{title:20}" + "".join(f"{peer:>11}" for peer in found) + "".join(f"{'/' + peer:>9}" for peer in others)
          + ("  numba's first call" if "numba" in found else ""))
    ratios = {peer: [] for peer in others}
    for name, where in chosen:
        path = os.path.join(where, name)
        line = f"{name if where == HERE else 'scalar/' + name:20}"
        for peer in found:
            line += f"{best[path, peer] * 1e3:9.2f}ms" if (path, peer) in best else f"{'-':>11}"
        for peer in others:
            if (path, peer) not in best:
                line += f"{'-':>9}"
            elif best[path, peer] < 20e-6:      # a compiler saw the sum of it
                line += f"{'folded':>9}"
            else:
                ratios[peer].append(best[path, peer] / best[path, "ricci"])
                line += f"{ratios[peer][-1]:9.2f}"
        print(line + (f"{first[path] * 1e3:18.0f}ms" if path in first else ""))
    means = [f"{math.exp(sum(map(math.log, r)) / len(r)):.2f} × {peer} ({len(r)})" for peer, r in ratios.items() if r]
    print((f"geometric mean: {', '.join(means)}; " if means else "") + "starts: " + ", ".join(f"{peer} {seconds * 1e3:.1f} ms" for peer, seconds in started.items()))


def print_warm(chosen, found, folder):
    """Every call's least of rounds; `over`: what all the calls took above as many of the late ones."""
    lates = {}
    print(f"\n{'warm-up (ms a call)':20}{'':10}{'first':>9}{'2nd':>9}{'5th':>9}{'late':>9}{'over':>9}")
    for name, where in chosen:
        if where != HERE:
            continue
        for peer, (command, ending) in found.items():
            copy = copied(os.path.join(where, name), ending, folder, SMALL[name], CALLS, answer=False)
            rounds = [digest(run(command, copy)[1]) for _ in range(1 if peer == "numba" else ROUNDS)]
            calls = [1e3 * min(times) for times in zip(*rounds)]
            late = sorted(calls[CALLS // 2:])[CALLS // 4]
            print(f"{name:20}{peer:10}{calls[0]:9.3f}{calls[1]:9.3f}{calls[4]:9.3f}{late:9.3f}{sum(calls) - CALLS * late:9.2f}")
            lates.setdefault(peer, []).append(late)
    if len(lates) < 2:
        return
    mean = {peer: math.exp(sum(map(math.log, late)) / len(late)) for peer, late in lates.items()}
    print("late calls, geometric mean: " + ", ".join(f"{m / mean['ricci']:.2f} × {peer}" for peer, m in mean.items() if peer != "ricci"))


def main():
    chosen = [program for program in PROGRAMS if len(sys.argv) < 2 or program[0] in sys.argv[1:]]
    found, tables = peers(), os.environ.get("TABLES", "short long warm").split()
    with tempfile.TemporaryDirectory() as folder:
        if "short" in tables:
            print_whole("loops", chosen, found, folder, {}, ROUNDS)
        if "long" in tables:
            long = [program for program in chosen if program[1] == HERE]
            print_whole("\nlong", long, found, folder, LONG, min(ROUNDS, 2))
        if "warm" in tables:
            print_warm(chosen, found, folder)


main()
