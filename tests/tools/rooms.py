#!/usr/bin/env python3
"""Holds docs/rooms.txt, the table of contents of the house: every folder of sources is in it, has at most
25 of them and opens with a README.md; no #include and no symbol that an object needs (nm) leads down the
list. BUILD names the folder with the objects (build). `--dot` draws the arrows instead."""
import collections
import os
import re
import subprocess
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
TOP = ("core", "lexer", "parser", "kernels", "interp", "builtins")
MOST = 25                     # sources in a room: what one looks over at a glance
# Made from a source of the room, beside which it is not: its object, and its header.
MADE = {"gen/grammar": "parser", "gen/lexer": "lexer", "gen/stdlib": "interp/state"}
build = os.environ.get("BUILD", "build")
passed = failed = 0


def check(name, wrong):
    global passed, failed
    if wrong:
        failed += 1
        print(f"FAIL {name}")
        for line in wrong[:400]:
            print(f"    {line}")
    else:
        passed += 1


def contents():
    with open("docs/rooms.txt", encoding="utf-8") as lines:
        return {line.split()[0]: n for n, line in enumerate(lines) if line.strip() and line[0] != "#"}


def sources():
    for top in TOP:
        for folder, _, names in os.walk(top):
            for name in names:
                if name.endswith((".c", ".h", ".l", ".y", ".def")):
                    yield folder, os.path.join(folder, name)


def includes(files):
    for room, path in files:
        with open(path, encoding="utf-8") as text:
            for included in re.findall(r'^#include "([^"]+)"', text.read(), re.M):
                if not included.endswith(".def") and included.startswith(TOP):
                    yield room, os.path.dirname(included), path, included


def objects(files):
    """Every object of the house: its room, its source, and nm's lines of it."""
    known = {f"{build}/obj/{path[:-2]}.o": (room, path) for room, path in files if path.endswith(".c")}
    known.update({f"{build}/obj/{name}.o": (room, name) for name, room in MADE.items()})
    missing = [name for name in known if not os.path.exists(name)]
    check("objects that were not built", missing)
    for name in sorted(set(known) - set(missing)):
        lines = subprocess.run(["nm", name], capture_output=True, text=True, check=True).stdout.splitlines()
        yield *known[name], [line.split()[-2:] for line in lines]


def calls(files):
    defined, needed = {}, []
    for room, path, lines in objects(files):
        for kind, symbol in lines:
            if kind == "U":
                needed.append((room, path, symbol))
            elif kind.isupper():
                defined[symbol] = room, path
    for room, path, symbol in needed:
        if symbol in defined:
            yield room, defined[symbol][0], path, f"{defined[symbol][1]}: {symbol}"


def main():
    order, files = contents(), sorted(sources())
    arrows = list(includes(files)) + list(calls(files))
    if "--dot" in sys.argv:
        drawn = sorted({(a, b) for a, b, _, _ in arrows if a != b})
        print("digraph rooms {\n" + "".join(f'    "{a}" -> "{b}";\n' for a, b in drawn) + "}")
        return 0
    count = collections.Counter(room for room, _ in files)
    check("folders that docs/rooms.txt does not have", [room for room in count if room not in order])
    check("rooms without a source", [room for room in order if room not in count])
    check(f"rooms with more than {MOST} sources", [f"{room}: {n}" for room, n in count.items() if n > MOST])
    check("rooms without a README.md", [room for room in order if not os.path.exists(f"{room}/README.md")])
    check("what leads down docs/rooms.txt", [f"{path} -> {what}" for a, b, path, what in arrows
                                             if a in order and b in order and order[b] > order[a]])
    print(f"{passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
