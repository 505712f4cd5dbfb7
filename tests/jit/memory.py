#!/usr/bin/env python3
"""A program whose memory is used up when a loop becomes hot goes on without LLVM, which would end the
process. RICCI names the binary. Prints `N passed, N failed` last."""
import os
import resource
import subprocess
import sys
import tempfile
import time

RICCI = os.path.abspath(os.environ.get("RICCI", "build/ricci"))
BODY = "\n".join("s = (s * 3 + i + %d) %% 1000003" % k for k in range(300))
PROGRAM = "s = 0\nfor i in 0:3000000 { s += i }\nx = lines(\"go\")\ns = 0\nfor i in 0:40000 {\n%s\n}\nprint(s)\n" % BODY


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
    print("%d passed, %d failed" % (passed, failed))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
