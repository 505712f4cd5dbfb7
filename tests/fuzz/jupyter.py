"""Random messages for the kernel of notebooks: contents that fit and that do not, JSON that is broken, frames in the wrong
number, code of random pieces. The kernel may answer what it likes; it has to live, to answer the next good request, and to
end well. Usage: jupyter.py [--seconds N] [--seed N] [--binary PATH]; RICCI is the binary otherwise."""
import argparse
import json
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "jupyter"))
from client import Kernel, there_is_zmq

KINDS = ("execute_request", "complete_request", "inspect_request", "is_complete_request", "history_request",
         "kernel_info_request", "connect_request", "comm_info_request", "interrupt_request", "comm_open", "comm_msg", "what")
FIELDS = ("code", "cursor_pos", "detail_level", "silent", "store_history", "user_expressions", "stop_on_error", "output",
          "hist_access_type", "n", "start", "stop", "session", "pattern", "unique", "comm_id", "data")
PIECES = ("x", "é", "🙂", "\\alpha", "svd", "svd(", "[1, 2", "]", ")", "{", "}", "\n", "    ", "?", "??", ":vars", ":", "!true", "%",
          "ricci> ", "  ...> ", ">>> ", "\"", "`", "'", "=", "+", "1", "1e400", "x.y", ".", ",", ";", "#", "fn f(a) {", "precision ",
          "on ", "plot([1, 2])", "print(1)", "warn(\"w\")", "[1, 2; 3, 4]", "rational(1) / 3", "for i in 0:3 {", "throw 1", "\0", "\t",
          "t = (a=1)", "t.", "load(\"", "/", "clc", "devices()", "exit()", ":reset", ":time 1", "format(\"latex\")")


def code(r):
    return "".join(r.choice(PIECES) for _ in range(r.choice((0, 1, 2, 3, 5, 8, 13))))


def anything(r, depth=0):
    k = r.randrange(10 if depth < 4 else 7)
    if k < 3:
        return code(r)
    if k < 7:
        return r.choice((None, True, False, 0, 1, -1, 5, 10**18, -10**30, 1.5, 1e308, "tail", "range", "search", "*", "?" * 9, ""))
    if k < 8:
        return [anything(r, depth + 1) for _ in range(r.randrange(4))]
    return {r.choice(FIELDS): anything(r, depth + 1) for _ in range(r.randrange(4))}


def content(r):
    made = {f: anything(r) for f in FIELDS if r.random() < 0.5}
    if r.random() < 0.8:
        made["code"] = code(r)
    if r.random() < 0.6:
        made["hist_access_type"] = r.choice(("tail", "range", "search"))
    return made


def damaged(r, data):
    data = bytearray(data)
    for _ in range(r.choice((1, 1, 2, 5))):
        at = r.randrange(len(data) + 1)
        how = r.randrange(4)
        if how == 0 and at < len(data):
            data[at] = r.randrange(256)
        elif how == 1:
            del data[at:at + r.randrange(20)]
        elif how == 2:
            data[at:at] = bytes(r.randrange(256) for _ in range(r.randrange(8)))
        else:
            data[at:at] = r.choice((b"{", b"[", b'"', b"\\u", b"\\ud800", b"1e999", b"null", b","))
    return bytes(data)


def frames(r, client):
    _, made = client.message(r.choice(KINDS), content(r))
    if r.random() < 0.3:                           # broken, and signed all the same
        parts = made[2:]
        at = r.randrange(len(parts))
        parts[at] = damaged(r, parts[at])
        made = [made[0], client.sign(parts)] + parts
    if r.random() < 0.1:
        made = [damaged(r, f) if r.random() < 0.5 else f for f in made[:r.randrange(1, len(made) + 1)]]
    if r.random() < 0.1:
        made[r.randrange(len(made)):0] = [b""] * r.randrange(3)
    return made


def campaign(binary, seconds, seed):
    r, kernel, count = random.Random(seed), Kernel(binary), 0
    c, end = kernel.client, time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(20):
            (c.shell if r.random() < 0.8 else c.control).send(frames(r, c))
            count += 1
        c.reply(c.send("kernel_info_request"))
        while c.iopub.receive(0):
            pass
    c.send("shutdown_request", {"restart": False}, c.control)
    good = kernel.ended() and kernel.process.returncode == 0
    if not good:
        print(f"FAIL seed {seed}: the kernel ended with {kernel.process.poll()}\n{kernel.said()[-5000:]}")
    kernel.close()
    print(f"{count} messages")
    return good


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--binary", default=os.environ.get("RICCI", "build/ricci"))
    o = options.parse_args()
    if not there_is_zmq():
        print("not run: messages to the kernel of notebooks: there is no libzmq (Debian: libzmq5)\n0 passed, 0 failed")
        return 0
    good = campaign(os.path.abspath(o.binary), o.seconds, o.seed)
    print(f"{int(good)} passed, {int(not good)} failed")
    return not good


if __name__ == "__main__":
    sys.exit(main())
