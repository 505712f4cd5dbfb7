#!/usr/bin/env python3
"""A program whose memory is used up when a loop becomes hot goes on without LLVM, which would end the
process; nor does it fail for want of a copy that the evaluator would not make, nor where stacks are small. RICCI names the
binary. Prints `N passed, N failed` last."""
import os
import resource
import subprocess
import sys
import tempfile
import time

RICCI = os.path.abspath(os.environ.get("RICCI", "build/ricci"))
BODY = "\n".join("s = (s * 3 + i + %d) %% 1000003" % k for k in range(300))
PROGRAM = "s = 0\nfor i in 0:3000000 { s += i }\nx = lines(\"go\")\ns = 0\nfor i in 0:40000 {\n%s\n}\nprint(s)\n" % BODY

# a is shared, and never stored to, or late: the limit has no room for a copy
SHARED = """a = zeros(4_000_000); b = a; s = 0.0
for i in 0:9000 { s += a[i]; if s > 1 { a[i] = 3 } }
r = try { for i in 0:9000 { s += 1; if s > 8000 { a[i] = 3 } } } catch e { print(e.kind, s, i, sum(a)) }
"""


def run(folder, way, spare):
    """What it printed; after its first loop it has `spare` bytes more than it uses then."""
    child = subprocess.Popen([RICCI, "p.ric"], cwd=folder, env=dict(os.environ, RICCI_JIT=way), text=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    time.sleep(1)
    with open("/proc/%d/statm" % child.pid) as f:
        used = int(f.read().split()[0]) * resource.getpagesize()
    resource.prlimit(child.pid, resource.RLIMIT_AS, (used + spare, resource.RLIM_INFINITY))
    with open(os.path.join(folder, "go"), "w") as go:
        go.write("\n")
    text = child.communicate(timeout=60)[0]
    return text + "exit %d" % child.returncode


def run_limited(folder, way):
    end = subprocess.run([RICCI, "--limit", "memory=5e7", "shared.ric"], cwd=folder, env=dict(os.environ, RICCI_JIT=way),
                         text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return end.stdout + "exit %d" % end.returncode


# a loop that LLVM takes for long, beside the quick code
LARGE = "%s\nfor i in 0:2000000 {\n%s\n}\nprint(x0, x29)\n" % (
    "\n".join("x%d = %d" % (k, k) for k in range(30)),
    "\n".join("x%d = (x%d + i * %d) %% 1009" % (k % 30, k * 7 % 30, k) for k in range(60)))


def run_shallow(folder, way):
    """With 40 kB of stack for each thread that asks for nothing else."""
    few = lambda: resource.setrlimit(resource.RLIMIT_STACK, (40 << 10, resource.RLIM_INFINITY))
    end = subprocess.run([RICCI, "large.ric"], cwd=folder, env=dict(os.environ, RICCI_JIT=way), text=True, preexec_fn=few,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return end.stdout + "exit %d" % end.returncode


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.mkfifo(os.path.join(folder, "go"))
        with open(os.path.join(folder, "p.ric"), "w") as f:
            f.write(PROGRAM)
        want = run(folder, "0", 1 << 30)
        for way in ("now", "quick", ""):
            for spare in (0, 1 << 19, 1 << 20, 1 << 22):
                got = run(folder, way, spare)
                passed, failed = passed + (got == want), failed + (got != want)
                if got != want:
                    print("FAIL RICCI_JIT=%s with %d bytes to spare: %s" % (way, spare, got))
        with open(os.path.join(folder, "shared.ric"), "w") as f:
            f.write(SHARED)
        for way in ("0", "now", "quick", ""):
            got = run_limited(folder, way)
            right = got == "memory 8001.0 8000 0.0\nexit 0"
            passed, failed = passed + right, failed + (not right)
            if not right:
                print("FAIL RICCI_JIT=%s within a limit: %s" % (way, got))
        with open(os.path.join(folder, "large.ric"), "w") as f:
            f.write(LARGE)
        want = run_shallow(folder, "quick")
        for way in ("now", ""):
            got = run_shallow(folder, way)
            passed, failed = passed + (got == want), failed + (got != want)
            if got != want:
                print("FAIL RICCI_JIT=%s with little stack: %s" % (way, got))
    print("%d passed, %d failed" % (passed, failed))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
