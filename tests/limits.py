#!/usr/bin/env python3
"""Little address space: tests/limits.py [RICCI [STEPS]].

Under `ulimit -v`, from what the program cannot even be loaded in up to 2 GB, each of a few programs
ends with its result or with one clear error: never in a crash, a hang, or silence.
Prints `N passed, N failed` last."""
import os
import re
import resource
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RICCI = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.environ.get("RICCI", ROOT + "/build/ricci")
STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 24
TIMEOUT = 60
MB = 1 << 20
# Program, and what it prints where there is room.
PROGRAMS = [
    ("start", "print(1 + 1)", r"2\n"),
    ("deep", "fn f(n) { if n == 0 { 0 } else { 1 + f(n - 1) } }; print(f(3000))", r"3000\n"),
    ("product", "A = ones(300, 300); print(sum(A @ A))", r"27000000\.0\n"),
    ("large", "A = ones(1500, 1500); print(sum(A @ A))", r"3375000000\.0\n"),
    ("solve", "A = eye(900) * 2; print(sum(A \\ ones(900)))", r"450\.0\n"),
    ("svd", "print(round(svd(eye(320) * 3).S[0]))", r"3\.0\n"),
    ("fft", "print(round(real(fft(ones(100000))[0])))", r"100000\.0\n"),
    ("functions", "print(round(sum(exp(sin(linspace(0, 1, 200000))))) > 0)", r"true\n"),
    ("rational", "precision rational { print(1 / 3 + 1 / 6) }", r"1/2\n"),
    ("mp", "precision mp(2000) { print(sqrt(2) > 1) }", r"true\n"),
    ("plot", 'plot([1, 2, 3]); plot([1, 2], to="p.png"); print("drawn")', r"(.|\n)*drawn\n"),
]
passed = failed = 0


def check(what, ok, seen=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print("FAIL %s: %s" % (what, str(seen)[-500:]), flush=True)


def run(code, kind, limit, threads):
    def lower():
        resource.setrlimit(kind, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    env = dict(os.environ, RICCI_THREADS=str(threads), LC_ALL="C.UTF-8")
    try:
        done = subprocess.run([RICCI, "-e", code], env=env, preexec_fn=lower, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=TIMEOUT, text=True)
    except subprocess.TimeoutExpired:
        return None, "", "no end in %d s" % TIMEOUT
    except OSError as why:                    # the limit does not leave room for this script's own step
        return 1, "", "ricci: %s" % why
    return done.returncode, done.stdout, done.stderr


# Below this the system cannot load the program: what it says then, or that it ends it, is its own.
def least():
    for limit in range(8, 200):
        status, _, err = run("1", resource.RLIMIT_AS, limit * MB, 1)
        if err.startswith("ricci:") or status == 0:
            return limit
    return 200


def clear(err):
    """One message: of the start, or an error with its place."""
    return bool(re.fullmatch(r"ricci: not enough memory[^\n]*\n", err)) or (
        len(re.findall(r"^error\[", err, re.M)) == 1 and
        re.search(r"^error\[(memory|io)\]: .*(bytes|[kMG]B|memory|address|room|threads)", err, re.M))


def main():
    low = least()
    check("the program starts in 200 MB", low < 200, low)
    ratio = (2048 / low) ** (1 / (STEPS - 1))
    limits = [int(low * ratio ** i) for i in range(STEPS)]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, code, want in PROGRAMS:
            worked = False
            for i, limit in enumerate(limits):
                status, out, err = run(code, resource.RLIMIT_AS, limit * MB, 1 + i % 3 * 3)
                right = status == 0 and re.fullmatch(want, out)
                check("%s in %d MB" % (name, limit), right or (status == 1 and clear(err)), (status, out[-200:], err))
                worked = worked or right
            check("%s works in 2 GB" % name, status == 0, (status, err))
        os.chdir("/")
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
