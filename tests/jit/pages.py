#!/usr/bin/env python3
"""Where the system makes no page executable that was written there is no machine code, and all else is as it was:
RICCI=build/ricci python3 tests/jit/pages.py

Linux refuses it after prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN), from 6.3 on."""
import ctypes
import os
import subprocess
import sys

RICCI = os.environ.get("RICCI", "build/ricci")
PROGRAM = "s = 0.0\nfor i in 0:3000000 { s += i * 0.5 }\nprint(s)\nfn f(n) { if n < 2 { return n }; f(n - 1) + f(n - 2) }\nprint(f(22))\n"
PR_SET_MDWE, REFUSE_EXEC_GAIN = 65, 1
libc = ctypes.CDLL(None)


def refuse():
    if libc.prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0):
        os._exit(77)


def printed(way, before=None):
    p = subprocess.run([RICCI, "-e", PROGRAM], env=dict(os.environ, RICCI_JIT=way), capture_output=True, text=True,
                       preexec_fn=before, timeout=60)
    return p.returncode, p.stdout, p.stderr


want, passed, failed = printed("0"), 0, 0
if printed("0", refuse)[0] == 77:
    print("not run: this kernel has no PR_SET_MDWE")
else:
    for way in ("now", "quick", ""):
        got = printed(way, refuse)
        passed += got == want
        failed += got != want
        if got != want:
            print(f"FAIL RICCI_JIT={way}: {got}")
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
