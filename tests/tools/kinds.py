#!/usr/bin/env python3
"""The stories of `ricci --explain KIND`: every program in them is run and has to print what the story
says. kinds.py RICCI compares and ends in `N passed, N failed`; kinds.py RICCI --fix SOURCE writes the
reports anew into builtins/help/help_kinds.c."""

import os
import re
import signal
import subprocess
import sys
import tempfile

KINDS = ("syntax name type shape index value dtype grad device numeric memory io ffi interrupt assert throw").split()


def indented(text, head):
    """The lines below a head line that are indented by four, without that."""
    lines = text.split("\n")
    at = lines.index(head) + 1
    taken = []
    while at < len(lines) and (lines[at].startswith("    ") or not lines[at]):
        if not lines[at]:
            break
        taken.append(lines[at][4:])
        at += 1
    return "\n".join(taken) + "\n"


def prose(story):
    """The lines that are not shown to the letter."""
    return [line for line in story.split("\n") if not line.startswith("    ")]


def run(ricci, kind, program, folder):
    with open(os.path.join(folder, "example.ric"), "w", encoding="utf-8") as f:
        f.write(program)
    env = dict(os.environ, TERM="dumb", LC_ALL="C.UTF-8", RICCI_PATH="")
    p = subprocess.Popen([ricci, "example.ric"], cwd=folder, env=env, stderr=subprocess.PIPE,
                         stdout=subprocess.DEVNULL, text=True)
    try:
        return p.communicate(timeout=0.7 if kind == "interrupt" else 30)[1]
    except subprocess.TimeoutExpired:
        p.send_signal(signal.SIGINT)
        return p.communicate(timeout=30)[1]


def machine(text):
    """What another machine has more or less of."""
    return re.sub(r"[0-9.]+ [kMGT]B of memory", "25 GB of memory", text)


def c_string(text):
    lines = [l.replace("\\", "\\\\").replace('"', '\\"') + "\\n" for l in text.rstrip("\n").split("\n")]
    return ("\n" + " " * 18).join('"%s"' % l for l in lines)


def fix(source, reports):
    text = open(source, encoding="utf-8").read()
    for kind, report in reports.items():
        at = text.index("[ERR_%s] = {" % kind.upper())
        end = text.index("\n    },\n", at)
        story = re.sub(r"        \.report = .*?,\n(?=        \.reads)", "", text[at:end], flags=re.S)
        story = story.replace("        .reads =", "        .report = %s,\n        .reads =" % c_string(report), 1)
        text = text[:at] + story + text[end:]
    with open(source, "w", encoding="utf-8") as f:
        f.write(text)


def main():
    ricci, passed, failed, reports = os.path.abspath(sys.argv[1]), 0, 0, {}
    for kind in KINDS:
        story = subprocess.run([ricci, "--explain", kind], capture_output=True, text=True).stdout
        with tempfile.TemporaryDirectory() as folder:
            report = machine(run(ricci, kind, indented(story, "example.ric:"), folder))
        reports[kind] = report
        shown = machine(indented(story, "prints:"))
        lines = story.count("\n")
        fits = all(len(line) < 80 for line in prose(story))
        if shown == report and ("error[%s]" % kind) in report and 10 <= lines <= 40 and fits:
            passed += 1
        else:
            failed += 1
            print("FAIL %s (%d lines)\n--- the story\n%s--- the program\n%s" % (kind, lines, shown, report))
    if len(sys.argv) == 4 and sys.argv[2] == "--fix":
        fix(sys.argv[3], reports)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
