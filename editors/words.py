#!/usr/bin/env python3
"""The word lists of the editor files, from their one source: the lexer's keywords, the program's
own list of operations and formats.

    editors/words.py RICCI --write     rewrites the lists in editors/vim and editors/vscode
    editors/words.py RICCI             exits with 1 and says what differs

Each keyword has a place in GROUPS: a new one stops this script until it has one.
"""
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
VIM = HERE / "vim/syntax/ricci.vim"
GRAMMAR = HERE / "vscode/syntaxes/ricci.tmLanguage.json"

GROUPS = {
    "Conditional": "if else",
    "Repeat": "for while in break continue",
    "Exception": "try catch throw assert",
    "Statement": "return",
    "Function": "fn",
    "Include": "import extern",
    "Scope": "precision autocast on lazy compare explain timeit profile",
    "WordOperator": "and or not",
    "Constant": "true false none",
}
# Only where the grammar expects them: ordinary names elsewhere.
SOFT = "accumulate backward shadow round saturate flush reproducible strict fallback narrow verbose quiet against from as"
VALUES = "pi inf nan null cpu gpu cuda opencl sim ans"
# Operators of one name or several words are keywords above.
TYPED = ["float", "decimal", "mp"]


def keywords():
    text = (HERE.parent / "lexer/token.c").read_text()
    table = text[text.index("keywords[]"):]
    return re.findall(r'\{ "(\w+)", T_', table[:table.index("};")])


def operators():
    text = (HERE.parent / "lexer/ops.def").read_text()
    symbols = re.findall(r'^OPERATOR\(\w+, "((?:\\.|[^"\\])+)"', text, re.M)
    return [s.replace("\\\\", "\\") for s in symbols if not s[0].isalpha()]


def program(ricci, *words):
    return subprocess.run([ricci, *words], capture_output=True, text=True, check=True).stdout


def registry(ricci):
    """Operations and formats, as the program lists them."""
    names = re.findall(r"^### `([a-z_][a-z_0-9]*)", program(ricci, "doc", "--all"), re.M)
    formats = re.search(r"^formats:?\s+(.*)$", program(ricci, "doc", "operations"), re.M).group(1).split()
    return names, formats + TYPED


def lists(ricci):
    known = set(" ".join(GROUPS.values()).split())
    words = keywords()
    if known != set(words):
        sys.exit(f"editors/words.py: GROUPS and the lexer differ in {sorted(known ^ set(words))}")
    names, formats = registry(ricci)
    taken = known | set(formats) | set(VALUES.split())
    names = [n for n in dict.fromkeys(names) if n not in taken]
    made = {group: text.split() for group, text in GROUPS.items()}
    made.update(Soft=SOFT.split(), Value=VALUES.split(), Format=sorted(formats), Builtin=sorted(names))
    return made


def vim_text(text, made):
    lines = []
    for group, words in made.items():
        line = f"syn keyword ricci{group}"
        for word in words:
            if len(line) + len(word) > 98:
                lines.append(line)
                line = f"syn keyword ricci{group}"
            line += " " + word
        lines.append(line + (" nextgroup=ricciFunctionName skipwhite" if group == "Function" else ""))
    begin, end = '" -- words.py writes from here\n', '" -- to here\n'
    head, rest = text.split(begin)
    return head + begin + "\n".join(lines) + "\n" + end + rest.split(end)[1]


def grammar_text(text, made):
    grammar = json.loads(text)
    scopes = {"Conditional": "keyword.control.conditional", "Repeat": "keyword.control.loop",
              "Exception": "keyword.control.exception", "Statement": "keyword.control.flow",
              "Function": "storage.type.function", "Include": "keyword.control.import", "Scope": "keyword.other.scope",
              "WordOperator": "keyword.operator.word", "Constant": "constant.language",
              "Value": "support.constant", "Format": "support.type.format"}
    grammar["repository"]["words"] = {"patterns": [
        {"name": f"{scope}.ricci", "match": r"(?<![\w.])(?:" + "|".join(made[group]) + r")(?!\w)"}
        for group, scope in scopes.items()]}
    grammar["repository"]["builtins"] = {
        "name": "support.function.builtin.ricci",
        "match": r"(?<![\w.])(?:" + "|".join(made["Builtin"]) + r")(?=\s*\()"}
    grammar["repository"]["soft"] = {
        "name": "keyword.other.modifier.ricci",
        "match": r"(?<=[\w)] )(?:" + "|".join(made["Soft"]) + r")(?=\s+[\w{]|\s*\{)"}
    symbols = sorted(set(operators()) - {"|", "'"}, key=lambda s: (-len(s), s)) + ["|"]
    grammar["repository"]["operators"] = {"patterns": [
        {"name": "keyword.operator.definition.ricci", "match": ":="},
        {"name": "keyword.operator.arrow.ricci", "match": r"->|\|>"},
        {"name": "keyword.operator.ricci", "match": "(?:" + "|".join(re.escape(s) for s in symbols) + r")=?|[≤≥≠⋅−π]|="},
        {"name": "keyword.operator.transpose.ricci", "match": "'"}]}
    return json.dumps(grammar, indent=2, ensure_ascii=False) + "\n"


def main():
    ricci = sys.argv[1] if len(sys.argv) > 1 else "build/ricci"
    made, same = lists(ricci), True
    for path, make in ((VIM, vim_text), (GRAMMAR, grammar_text)):
        old = path.read_text()
        new = make(old, made)
        if old != new and "--write" in sys.argv:
            path.write_text(new)
        elif old != new:
            same = False
            a, b = set(re.findall(r"\w+", old)), set(re.findall(r"\w+", new))
            print(f"{path.relative_to(HERE.parent)} is out of date: {' '.join(sorted(a ^ b)[:12]) or 'in its layout'}")
    if not same:
        print("help: make manual")
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
