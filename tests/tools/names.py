#!/usr/bin/env python3
"""A fact about an operation stands in its row (builtins/*/*.def, struct Op): nobody asks for it by name. Fails
where a text is compared with the name of a row, or with op->name, unless EXCEPTIONS has the place and its reason.
A line there that nothing needs fails too: the list can only shrink."""
import glob
import os
import re
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
COMPARES = re.compile(r"\b(?:str|mem)(?:n|case|ncase)?cmp\(|\b\w*equal\w*\(")
OP_NAME = re.compile(r"\bop(?:_row\([^()]*\))?->name\b")

EXCEPTIONS = {
    # The word is no operation there.
    ("builtins/files/files_mtx.c", "real"): "a word of the Matrix Market header",
    ("builtins/files/files_mtx.c", "complex"): "a word of the Matrix Market header",
    ("builtins/files/files_safetensors.c", "dtype"): "a key of the file",
    ("builtins/files/files_safetensors.c", "shape"): "a key of the file",
    ("interp/native/native.c", "null"): "a name that is there from the start",
    ("interp/op/heard.c", "log"): "a word of the formulas of .flops",
    ("interp/session/repl_commands.c", "exit"): "a command of the prompt",
    # The name is asked for, not what the operation is.
    ("interp/device/place_strict.c", "op->name"): "is the row that lacks the one that is shown anyway?",
    ("interp/notation/indexnot_error.c", "op->name"): "does the text call it by its own name?",
}


def rows():
    found = set()
    for path in glob.glob("builtins/*/*.def"):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        found |= set(re.findall(r"^OP\((\w+)", text, re.M))
        found |= set(re.findall(r'^EW[123]\(\w+,\s*"(\w+)"', text, re.M))
    return found


def arguments(text, at):
    """What stands between the parenthesis before `at` and its end."""
    depth, start = 1, at
    while depth and at < len(text):
        if text[at] == '"':
            at += re.match(r'"(?:[^"\\]|\\.)*"', text[at:]).end() - 1
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return text[start:at - 1]


def compared(text, names):
    """(place, what) of every comparison with the name of an operation."""
    for call in COMPARES.finditer(text):
        inside = arguments(text, call.end())
        words = [word for word in re.findall(r'"((?:[^"\\]|\\.)*)"', inside) if word in names]
        for word in words + ["op->name"] * bool(OP_NAME.search(inside)):
            yield call.start(), word


def main():
    names, wrong, used = rows(), [], set()
    for top in ("kernels", "interp", "builtins"):
        for path in sorted(glob.glob(f"{top}/**/*.[ch]", recursive=True)):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            for at, word in compared(text, names):
                if (path, word) in EXCEPTIONS:
                    used.add((path, word))
                else:
                    wrong.append(f"{path}:{text.count(chr(10), 0, at) + 1}: {word}")
    wrong += [f"no longer needed in EXCEPTIONS: {path}: {word}" for path, word in EXCEPTIONS if (path, word) not in used]
    if len(names) < 200:
        wrong.append("the rows of builtins/*/*.def were not found")
    print("\n".join(wrong), end="\n" if wrong else "")
    return bool(wrong)


sys.exit(main())
