#!/usr/bin/env python3
"""The n-th allocation fails, for every n in turn: tests/tools/sweep.py BINARY [--last N] [--step N] [--part K/N].

BINARY is a hostile build. Each script must end in a clean memory error (exit 1) or the
right answer (exit 0, the same output), never in a crash, a leak or a hang.
Prints `N passed, N failed` last."""
import argparse
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPTS = ["lang/values/aliasing", "lang/index/assign", "lang/programs/functions", "lang/programs/used_up", "lang/linalg/factors",
           "lang/reduce/order", "lang/ops/strings", "lang/print/tensors", "lang/files/each", "lang/gradients/allocations",
           "lang/graphs/allocations", "lang/quant/allocations", "lang/sparse/notation_allocations", "lang/sparse/parts_allocations"]

END = 6         # allocations in a row that are not missed: the script makes no more, or can do without


def run(binary, script, nth):
    env = dict(os.environ, RICCI_FAIL_ALLOC=str(nth), LC_ALL="C.UTF-8", OPENBLAS_NUM_THREADS="1")
    env.setdefault("ASAN_OPTIONS", "detect_leaks=1:exitcode=99:handle_sigill=1")
    env.setdefault("LSAN_OPTIONS", "print_suppressions=0:suppressions=" + os.path.join(ROOT, "tests/tools/lsan.supp"))
    try:
        done = subprocess.run([binary, os.path.basename(script)], cwd=os.path.dirname(script), env=env,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    except subprocess.TimeoutExpired:
        return "no end in 20 s", b""
    return done.returncode, done.stdout + done.stderr


def verdict(status, out, right):
    if not isinstance(status, int):
        return status
    report = re.search(rb"ERROR: \w+Sanitizer.*|runtime error.*", out)
    if report:
        return report[0].decode()
    refused = re.search(rb"made to fail|bytes asked for|not enough memory to start", out)
    if status == 0:
        return None if out == right or refused else "another answer"
    return None if status == 1 and refused else "exit %d" % status


def sweep(binary, script, numbers):
    """Failures, and how many were tried: no more than the script makes allocations."""
    right = run(binary, script, 0)[1]
    found, tried, unseen = [], 0, 0
    for nth in numbers:
        status, out = run(binary, script, nth)
        wrong = verdict(status, out, right)
        tried += 1
        if wrong:
            found.append("allocation %d: %s" % (nth, wrong))
        unseen = unseen + 1 if status == 0 and out == right and nth > 40 else 0
        if unseen == END:
            break
    return found, tried


def main():
    options = argparse.ArgumentParser()
    options.add_argument("binary")
    options.add_argument("--last", type=int, default=4000)
    options.add_argument("--step", type=int, default=1, help="from the 40th on")
    options.add_argument("--part", default="0/1", help="K/N: every N-th of the numbers, from the K-th")
    chosen = options.parse_args()
    part, parts = map(int, chosen.part.split("/"))
    numbers = (list(range(1, 40)) + list(range(40, chosen.last, chosen.step)))[part::parts]
    passed = failed = 0
    for name in SCRIPTS:
        found, tried = sweep(os.path.abspath(chosen.binary), os.path.join(ROOT, "tests", name + ".ric"), numbers)
        passed, failed = passed + tried - len(found), failed + len(found)
        for line in found:
            print("FAIL %s with %s" % (name, line), flush=True)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
