#!/usr/bin/env python3
"""Every `help:` of tests/errors that offers code is a promise. This pastes it into the program as a
user would, runs that, and wants the error gone. Usage: fixes.py RICCI [NAME…]. Where the code goes
is not said, so the places a reader would try are tried in turn: the misspelt word, what the carets
mark, the construct around them, the statement, a line before it; one of them has to work.
Ends in `N passed, N failed`."""

import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import tempfile

ERRORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "errors")

# Help that holds a piece of code which is not meant to be pasted over anything, and why.
REASONS = {}


def load_reasons():
    path = os.path.join(ERRORS, "FIXES")
    if os.path.exists(path):
        for line in open(path, encoding="utf-8"):
            if line.strip() and not line.startswith("#"):
                name, reason = line.rstrip("\n").split(None, 1)
                REASONS[name] = reason


def parse_error(text):
    """The first error of a report: head line, line number, carets as (from, to) columns, help."""
    lines = text.split("\n")
    at = next((i for i, l in enumerate(lines) if l.startswith("error[")), None)
    if at is None:
        return None
    error = {"head": lines[at], "line": 0, "marks": [], "help": None,
             "others": [l for l in lines[at + 1:] if l.startswith("error[")]}
    for i in range(at + 1, len(lines)):
        if lines[i].startswith("error["):
            break
        place = re.match(r" *--> (.*):(\d+):(\d+)$", lines[i])
        if place:
            error["file"], error["line"] = place.group(1), int(place.group(2))
        source = re.match(r" *(\d+) \| ", lines[i])
        if source and i + 1 < len(lines) and int(source.group(1)) == error["line"]:
            bar = len(source.group(0))
            for m in re.finditer(r"\^+", lines[i + 1]):
                error["marks"].append((m.start() - bar, m.end() - bar))
        if lines[i].startswith("help: "):
            error["help"] = lines[i][6:]
    return error


def split_outside(text, separator):
    parts, depth, quoted, start, i = [], 0, False, 0, 0
    while i < len(text):
        c = text[i]
        if c == '"' and (i == 0 or text[i - 1] != "\\"):
            quoted = not quoted
        elif not quoted and c in "([{":
            depth += 1
        elif not quoted and c in ")]}":
            depth -= 1
        elif not quoted and depth == 0 and text.startswith(separator, i):
            parts.append(text[start:i])
            i += len(separator)
            start = i
            continue
        i += 1
    return parts + [text[start:]]


def is_code(ricci, text):
    """Does the text parse, and is it more than a word of a sentence?"""
    bare = re.sub(r'"[^"]*"', '""', text.strip())
    words = r"(?:^|[ (])(?!(?:on|precision|autocast|import|from|for|in|if|not|and|or|return|assert|as|strict|explain)\b)"
    if not bare or "…" in bare or re.search(words + r"[A-Za-z]\w*'? (?!(?:in|and|or|for|if|not|as|from)\b)[A-Za-z]", bare):
        return False
    done = subprocess.run([ricci, "fmt", "-"], input=text + "\n", capture_output=True, text=True)
    return done.returncode == 0


def offers(ricci, help_text):
    """Pieces of code in a help line, the main one first; `did you mean X?` gives a word."""
    m = re.match(r"did you mean `?(.+?)`?\?", help_text)
    if m:
        return [("word", m.group(1))]
    tail = split_outside(help_text, ": ")[-1]
    if is_code(ricci, tail):
        choices = [p for part in split_outside(tail, ", ") for p in split_outside(part, " or ")]
        return [("code", text) for text in [tail] + choices]
    found = []
    for piece in [tail] if tail != help_text else split_outside(help_text, "; "):
        for part in split_outside(piece, ", "):
            m = re.match(r"(.+?) (gives|is|takes|shows|has|computes|rounds)\b", part)
            for text in [part] + ([m.group(1)] if m else []):
                text = re.sub(r"^(or|and|else) ", "", text)
                if is_code(ricci, text) and not re.fullmatch(r"\w+", text.strip()):
                    found.append(("code", text))
    return found


def statement_span(lines, at):
    """Columns of the statement of a line in which column `at` stands: `;` and braces part them."""
    line, start, depth, i, end = lines, 0, 0, 0, None
    text = line
    while i < len(text):
        c = text[i]
        if c == "#" and depth == 0:
            end = i
            break
        if c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif depth == 0 and c in ";{}" and i < at:
            start = i + 1
        elif depth == 0 and c in ";}" and i >= at:
            end = i
            break
        i += 1
    end = len(text) if end is None else end
    while start < end and text[start] == " ":
        start += 1
    while end > start and text[end - 1] == " ":
        end -= 1
    return start, end


def candidates(program, error, kind, code):
    """Programs in which the fix was pasted somewhere sensible."""
    lines = program.split("\n")
    n = error["line"] - 1
    if n < 0 or n >= len(lines):
        return
    line = lines[n]

    def with_line(new):
        return "\n".join(lines[:n] + [new] + lines[n + 1:])

    marks = error["marks"] or [(0, len(line))]
    first, last = marks[0][0], marks[-1][1]
    spans = [(first, last)] + marks
    if kind == "word":
        for a, b in marks:
            words = [(a, b)] + [(m.start() + a, m.end() + a) for m in re.finditer(r"[\w.]+|\"[^\"]*\"", line[a:b])]
            for x, y in words:
                yield with_line(line[:x] + code + line[y:])
                yield with_line(line[:x] + '"' + code + '"' + line[y:])
        for m in re.finditer(r"\w+", line):
            yield with_line(line[:m.start()] + code + line[m.end():])
            if "(" in code and line.startswith(code.split("(")[0] + "(", m.start()):
                yield with_line(line[:m.start()] + code + line[line.index(")", m.start()) + 1:])
            if line.startswith(code.split(" ")[0] + " ", m.start()):       # two words, for two words
                two = re.compile(r"\w+ \w+").match(line, m.start())
                if two:
                    yield with_line(line[:m.start()] + code + line[two.end():])
        return
    start, end = statement_span(line, first)
    statement = line[start:end]
    indent = line[:len(line) - len(line.lstrip())]
    # the statement, and what it assigns
    yield with_line(line[:start] + code + line[end:])
    m = re.match(r"[\w., ]+(\[[^=]*\])? *(:=|=)(?!=) *", statement)
    if m:
        yield with_line(line[:start] + m.group(0) + code + line[end:])
        yield with_line(line[:start] + re.match(r"\w+", statement).group(0) + " = " + code + line[end:])
    for below in range(n + 2, min(n + 4, len(lines)) + 1):         # a statement of several lines
        yield "\n".join(lines[:n] + [line[:start] + code] + lines[below:])
    # what the carets mark, in parentheses where it has to stay together
    for a, b in spans:
        yield with_line(line[:a] + code + line[b:])
        yield with_line(line[:a] + "(" + code + ")" + line[b:])
    # a named argument in place of one by position, or beside the others
    for a, b in spans:
        for close in [m.start() for m in re.finditer(r"\)", line[a:])]:
            yield with_line(line[:a + close] + ", " + code + line[a + close:])
    # any stretch of the line that contains the carets: a call around them, a bracket, an operand
    edges = sorted({i for i in range(len(line) + 1)
                    if i in (0, len(line)) or not (line[i - 1].isalnum() and line[i].isalnum())})
    for a in edges:
        for b in edges:
            if b > a and (a, b) not in spans and (any(a <= x and b >= y for x, y in marks) or
                                                  line[a:b] in code and a >= first and b <= last):
                yield with_line(line[:a] + code + line[b:])
    # an earlier assignment, which gets another name
    m = re.fullmatch(r"\w+( = .+)", code)
    for k in range(n + 1) if m else ():
        for old in re.finditer(r"\w+" + re.escape(m.group(1)), lines[k]):
            new = lines[k][:old.start()] + code + lines[k][old.end():]
            yield "\n".join(lines[:k] + [new] + lines[k + 1:])
    # a line of its own, before the statement or the whole program
    yield with_line(indent + code + "\n" + line)
    yield code + "\n" + program


def run(ricci, program, folder, name):
    path = os.path.join(folder, name + ".ric")
    with open(path, "w", encoding="utf-8") as f:
        f.write(program)
    env = dict(os.environ, TERM="dumb", LC_ALL="C.UTF-8", RICCI_PATH=ERRORS)
    try:
        done = subprocess.run([ricci, path], capture_output=True, text=True, errors="replace", cwd=folder,
                              env=env, timeout=5)
        return done.returncode, done.stderr
    except subprocess.TimeoutExpired:
        return -1, "error[time]: it did not end"


def gone(error, now, kind):
    """Is what is reported now another error, which the paste did not make?"""
    if now["head"] in error["others"]:                      # the next one of the same text
        return True
    if re.match(r"error\[(syntax|time)\]", now["head"]) or now["head"] == error["head"]:
        return False
    return kind == "word" or now["line"] > error["line"] or not now["head"].startswith("error[name]")


def check(ricci, name, folder):
    """None: nothing is offered; "": it works; else what is wrong."""
    expected = open(os.path.join(ERRORS, name + ".out"), encoding="utf-8", errors="replace").read()
    error = parse_error(expected.split("--- stderr\n", 1)[-1])
    if not error or not error["help"] or name in REASONS:
        return None
    offered = offers(ricci, error["help"])
    if not offered:
        return None
    program = open(os.path.join(ERRORS, name + ".ric"), encoding="utf-8", errors="replace").read()
    seen, tried = set(), 0
    for kind, code in offered:
        for pasted in candidates(program, error, kind, code):
            if pasted in seen or pasted == program:
                continue
            seen.add(pasted)
            tried += 1
            if tried > 120:
                break
            status, report = run(ricci, pasted, folder, name)
            now = parse_error(report)
            if status == 0 or (now and gone(error, now, kind)):
                return ""
    return "%s\n    help: %s   (%d places tried)" % (error["head"], error["help"], tried)


def main():
    ricci = os.path.abspath(sys.argv[1])
    load_reasons()
    names = sys.argv[2:] or sorted(os.path.basename(f)[:-4] for f in glob.glob(os.path.join(ERRORS, "*.ric"))
                                   if os.path.exists(f[:-4] + ".out"))
    passed = failed = 0
    with tempfile.TemporaryDirectory() as top, concurrent.futures.ThreadPoolExecutor(2) as pool:
        folder = os.path.join(top, "errors")        # where ../lang is what it is in tests/errors
        os.mkdir(folder)
        for beside in ("lang", "native"):
            os.symlink(os.path.abspath(os.path.join(ERRORS, "..", beside)), os.path.join(top, beside))
        for name, wrong in zip(names, pool.map(lambda n: check(ricci, n, folder), names)):
            if wrong is None:
                continue
            passed, failed = passed + (not wrong), failed + bool(wrong)
            if wrong:
                print("FAIL %s: %s" % (name, wrong))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
