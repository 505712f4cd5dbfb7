#!/usr/bin/env python3
"""Ctrl-C in machine code is told where it is without: RICCI=build/ricci python3 tests/jit/interrupt.py

What each program, which turns for ever, prints after SIGINT is compared with RICCI_JIT=0."""
import os
import signal
import subprocess
import sys
import tempfile
import time

SECONDS = 0.8                        # until every one of them turns
RICCI = os.environ.get("RICCI", "build/ricci")
PROGRAMS = {
    "while": "k = 0\nprint(\"on\")\nwhile true { k += 1; if k > 10^9 { k = 0 } }\n",
    "for": "s = 0.0\nprint(\"on\")\nfor i in 0:10^15 { s += 0.5 }\n",
    "step": "s = 0.0\nA = zeros(10)\nprint(\"on\")\nwhile true { for i in 9:-1:-2 { A[i] = s } }\n",
    "far": "s = 0.0\nprint(\"on\")\nfor i in 10^15:0:-3 { s += 0.5 }\n",
    "nest": "A = zeros(30, 30)\nprint(\"on\")\nwhile true { for i in 0:30 { for j in 0:30 { A[i, j] += 1 } } }\n",
    "function": "fn spin(n) {\n    k = 0\n    while k < n { k += 1; if k > 10^9 { k = 0 } }\n    return k\n}\n"
                "for i in 0:3000 { spin(2) }\nprint(\"on\")\nspin(2 * 10^9)\n",
    "inlined": "fn spin(n) {\n    k = 0\n    while k < n { k += 1; if k > 10^9 { k = 0 } }\n    return k\n}\n"
               "s = 0\nprint(\"on\")\nfor i in 0:5 { s += spin(2 * 10^9) }\n",
}


def interrupted(path, way):
    env = dict(os.environ)
    env.pop("RICCI_JIT", None)
    if way:
        env["RICCI_JIT"] = way
    p = subprocess.Popen([RICCI, path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
    time.sleep(SECONDS)
    start = time.monotonic()
    p.send_signal(signal.SIGINT)
    text = p.communicate(timeout=60)[0]
    if "nest" in path or "step" in path:      # in which of the loops is a matter of chance
        text = "".join(line for line in text.splitlines(True) if not line.startswith(" "))
    return text, p.returncode, time.monotonic() - start


passed = failed = 0
with tempfile.TemporaryDirectory() as folder:
    for name, text in PROGRAMS.items():
        path = os.path.join(folder, name + ".ric")
        with open(path, "w") as f:
            f.write(text)
        want = interrupted(path, "0")
        for way in ("now", "quick", ""):
            got = interrupted(path, way)
            if got[:2] == want[:2] and got[2] < 10:
                passed += 1
            else:
                failed += 1
                print(f"FAIL {name} RICCI_JIT={way}: after {got[2]:.1f} s\n{got[0]}instead of\n{want[0]}")
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
