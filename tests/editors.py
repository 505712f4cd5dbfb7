#!/usr/bin/env python3
"""The editor files against the language: the word lists are the lexer's and the registry's, sample
lines come out as they should from the TextMate grammar (its regular expressions, run here by the
rules of TextMate) and from vim, vim indents the project's own programs as they are indented, and
bash completes. RICCI names the binary. Ends with `N passed, N failed`.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RICCI = os.environ.get("RICCI", str(ROOT / "build/ricci"))
EDITORS = ROOT / "editors"
passed = failed = 0


def check(name, got, want):
    global passed, failed
    if got == want:
        passed += 1
    else:
        failed += 1
        print(f"FAIL {name}\n    want {want!r}\n    got  {got!r}")


class Grammar:
    """As much of TextMate's rules as the grammar uses."""

    def __init__(self, path):
        self.all = json.loads(path.read_text())
        self.compiled = {}

    def regex(self, text):
        if text not in self.compiled:
            self.compiled[text] = re.compile(text)
        return self.compiled[text]

    def rules(self, patterns):
        for p in patterns:
            if "include" in p:
                rule = self.all["repository"][p["include"][1:]]
                alone = "match" in rule or "begin" in rule
                yield from self.rules([rule]) if alone else self.rules(rule.get("patterns", []))
            elif "match" in p or "begin" in p:
                yield p
            else:
                yield from self.rules(p.get("patterns", []))

    def scopes(self, text):
        """The innermost scope of each character of a text of several lines."""
        stack, out = [({"patterns": self.all["patterns"]}, None)], []
        for line in text.split("\n"):
            scope = [self.name(stack)] * len(line)
            at = 0
            while at <= len(line):
                rule, end = stack[-1]
                best, found = None, None
                if end and (m := self.regex(end).search(line, at)):
                    best, found = m, "end"
                for r in self.rules(rule.get("patterns", [])):
                    m = self.regex(r.get("match", r.get("begin"))).search(line, at)
                    if m and (best is None or m.start() < best.start()):
                        best, found = m, r
                inner = self.name(stack)
                scope[at:] = [inner] * (len(line) - at)
                if best is None:
                    break
                self.paint(scope, best, rule if found == "end" else found, found == "end", inner)
                if found == "end":
                    stack.pop()
                elif "begin" in found:
                    stack.append((found, found["end"]))
                elif best.end() == best.start():
                    at += 1
                    continue
                at = best.end()
                if at == len(line) and found == "end" and best.end() == best.start():
                    break
            out.append(scope)
        return out

    @staticmethod
    def name(stack):
        for rule, _ in reversed(stack):
            if "name" in rule and not rule["name"].startswith("meta."):
                return rule["name"]
            if rule.get("name", "").startswith("meta."):
                return ""
        return ""

    @staticmethod
    def paint(scope, m, rule, ending, inner):
        name = rule.get("name", "")
        name = inner if name.startswith("meta.") else name or inner
        scope[m.start():m.end()] = [name] * (m.end() - m.start())
        captures = rule.get("endCaptures" if ending else "beginCaptures" if "begin" in rule else "captures", {})
        for group, what in captures.items():
            a, b = m.span(int(group))
            if a >= 0:
                scope[a:b] = [what["name"]] * (b - a)


# (line, text in it, TextMate scope begins with, vim group)
SAMPLES = [
    ("fn power(A, count=100) {", "fn", "storage.type.function", "ricciFunction"),
    ("fn power(A, count=100) {", "power", "entity.name.function", "ricciFunctionName"),
    ("fn power(A, count=100) {", "100", "constant.numeric.integer", "ricciNumber"),
    ("x = A' @ B'", "' @", "keyword.operator.transpose", "ricciTranspose"),
    ("x = A' @ B'", "@", "keyword.operator", "ricciOperator"),
    ("x = (A + B)' + 1", "'", "keyword.operator.transpose", "ricciTranspose"),
    ("x = A' # it's", "# it's", "comment", "ricciComment"),
    ("## help on \"x\"", "help", "comment.line.documentation", "ricciDoc"),
    ('print("a # b")', "# b", "string", "ricciString"),
    ('print("n = {n + 1}, {x:.3e}")', "n = ", "string", "ricciString"),
    ('print("n = {n + 1}, {x:.3e}")', "1}", "constant.numeric", "ricciNumber"),
    ('print("{{ \\" \\u{3b1}")', "{{", "constant.character.escape", "ricciEscape"),
    ('print("{{ \\" \\u{3b1}")', "\\u{3b1}", "constant.character.escape", "ricciEscape"),
    ('print("a") + y', "print", "support.function.builtin", "ricciBuiltin"),
    ("x = `raw {x} \\`", "raw", "string.quoted.other.raw", "ricciRaw"),
    ("C[i,k] := A[i,j] * B[j,k]", ":=", "keyword.operator.definition", "ricciDefine"),
    ("y = x |> sum", "|>", "keyword.operator.arrow", "ricciArrow"),
    ("f = x -> x^2", "->", "keyword.operator.arrow", "ricciArrow"),
    ("u ⊗ v ≈ √w", "⊗", "keyword.operator", "ricciOperator"),
    ("u ⊗ v ≈ √w", "√", "keyword.operator", "ricciOperator"),
    ("z = 1.5e-3 + 2i - .5", "1.5e-3", "constant.numeric.float", "ricciFloat"),
    ("z = 1.5e-3 + 2i - .5", "2i", "constant.numeric", "ricciNumber"),
    ("z = 1.5e-3 + 2i - .5", ".5", "constant.numeric.float", "ricciFloat"),
    ("m = 0xff + 0b10 + 1_000", "0xff", "constant.numeric.hex", "ricciNumber"),
    ("m = 0xff + 0b10 + 1_000", "0b10", "constant.numeric.binary", "ricciNumber"),
    ("m = 0xff + 0b10 + 1_000", "1_000", "constant.numeric.integer", "ricciNumber"),
    ("precision bf16 accumulate f32 { C = A @ B }", "precision", "keyword.other.scope", "ricciScope"),
    ("precision bf16 accumulate f32 { C = A @ B }", "bf16", "support.type.format", "ricciFormat"),
    ("precision bf16 accumulate f32 { C = A @ B }", "accumulate", "keyword.other.modifier", "ricciSoft"),
    ("precision decimal(3) { x = 1 }", "decimal", "support.type.format", "ricciFormat"),
    ("on sim.mps strict { y = solve(A, b) }", "on", "keyword.other.scope", "ricciScope"),
    ("on sim.mps strict { y = solve(A, b) }", "solve", "support.function.builtin", "ricciBuiltin"),
    ("test \"a sum\" {", "test", "keyword.other.test", "ricciTest"),
    ("import hilb from gallery", "import", "keyword.control.import", "ricciInclude"),
    ("if not done and x in 0:3 { break }", "not", "keyword.operator.word", "ricciWordOperator"),
    ("if not done and x in 0:3 { break }", "break", "keyword.control.loop", "ricciRepeat"),
    ("x = none", "none", "constant.language", "ricciConstant"),
    ("x = 2 * pi", "pi", "support.constant", "ricciValue"),
    ("λ₁ = 3", "λ₁", "variable.other", ""),
    ("information = 3", "information", "variable.other", ""),
    ("x = fit.mean", "mean", "variable.other.member", "ricciField"),
    ("y = my_function(3)", "my_function", "entity.name.function.call", ""),
]


def test_words():
    run = subprocess.run([sys.executable, str(EDITORS / "words.py"), RICCI], capture_output=True, text=True)
    check("word lists of the editor files", (run.returncode, run.stdout + run.stderr), (0, ""))


def test_grammar():
    grammar = Grammar(EDITORS / "vscode/syntaxes/ricci.tmLanguage.json")
    for line, part, scope, _ in SAMPLES:
        got = grammar.scopes(line)[0][line.index(part)]
        check(f"TextMate: {part!r} in {line!r}", got.startswith(scope) or got, True)
    sys.path.insert(0, str(EDITORS))
    import words
    for word in words.keywords():
        got = grammar.scopes(f"{word} ")[0][0]
        check(f"TextMate: the keyword {word}", got.startswith(("keyword", "storage", "constant")) or got, True)
    for symbol in words.operators():
        got = grammar.scopes(f"a {symbol} b")[0][2]
        check(f"TextMate: the operator {symbol}", got.startswith("keyword.operator") or got, True)
    code = 'extern "libm.so.6" as m {\n    double cbrt(double x); // }\n}\ny = 1'
    scopes = grammar.scopes(code)
    check("TextMate: C in extern", scopes[1][4], "storage.type.c")
    check("TextMate: after extern", scopes[3][4].startswith("constant.numeric"), True)
    for path in sorted(ROOT.glob("stdlib/*.ric"))[:2] + sorted(ROOT.glob("examples/*.ric"))[:3]:
        # A string that never ends would swallow the rest of the file.
        last = grammar.scopes(path.read_text() + "\nend_of_file = 1")[-1]
        check(f"TextMate: the end of {path.name}", last[-1].startswith("constant.numeric") or last[-1], True)


def vim(commands, folder):
    script = folder / "script.vim"
    script.write_text("\n".join([
        f"set nocompatible encoding=utf-8 runtimepath^={EDITORS}/vim", "filetype plugin indent on", "syntax on",
        *commands, "qall!"]) + "\n")
    env = dict(os.environ, TERM="dumb", HOME=str(folder))
    run = subprocess.run(["vim", "-es", "-u", "NONE", "-i", "NONE", "-n", "-N", "-S", str(script)],
                         capture_output=True, text=True, timeout=60, env=env, stdin=subprocess.DEVNULL)
    return run


def test_vim():
    have = shutil.which("vim") and "+syntax" in subprocess.run(["vim", "--version"], capture_output=True, text=True).stdout
    if not have:
        print("not run: the vim files: there is no vim with +syntax")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        sample, out = folder / "sample.ric", folder / "out"
        sample.write_text("\n".join(line for line, *_ in SAMPLES) + "\n")
        commands = [f"edit {sample}", "let got = []"]
        for n, (line, part, _, _) in enumerate(SAMPLES, 1):
            column = len(line[:line.index(part)].encode()) + 1
            commands.append(f"call add(got, synIDattr(synID({n}, {column}, 1), 'name'))")
        commands.append(f"call writefile(got, '{out}')")
        vim(commands, folder)
        got = out.read_text().split("\n") if out.exists() else []
        for n, (line, part, _, group) in enumerate(SAMPLES):
            check(f"vim: {part!r} in {line!r}", got[n] if n < len(got) else None, group)
        for name in ("iter", "poly", "stats"):
            copy = folder / f"{name}.ric"
            lines = (ROOT / f"stdlib/{name}.ric").read_text().split("\n")[:150]
            copy.write_text("\n".join(line.lstrip() for line in lines) + "\n")
            vim([f"edit {copy}", "normal! gg=G", "write"], folder)
            wrong = [a for a, b in zip(lines, copy.read_text().split("\n")) if a.strip() and a != b]
            check(f"vim: lines of {name}.ric with another indentation (three at most)", len(wrong) <= 3 or wrong, True)


def complete(*words):
    script = (f"source {EDITORS}/completions/ricci.bash; COMP_WORDS=({' '.join(map(repr, words))}); "
              f"COMP_CWORD={len(words) - 1}; _ricci; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    run = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=ROOT / "examples")
    return run.stdout.split()


def test_bash():
    check("bash: subcommands", set(complete(RICCI, "do")), {"doc", "doctest"})
    check("bash: files", complete(RICCI, "longl"), ["longley.ric"])
    check("bash: files of fmt", complete(RICCI, "fmt", "-w", "longl"), ["longley.ric"])
    check("bash: options", complete(RICCI, "doctest", "--t"), ["--tolerance", "--timeout", "--trust"])
    check("bash: a value of an option", complete(RICCI, "doctest", "--tolerance", "1"), [])
    check("bash: names", "svdvals" in complete(RICCI, "doc", "svd"), True)
    check("bash: kinds", complete(RICCI, "--explain", "sh"), ["shape"])
    text = subprocess.run([RICCI, "--help"], capture_output=True, text=True).stdout
    for option in re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", text, re.M):
        check(f"bash: {option} of --help", option in complete(RICCI, "--"), True)
    for command in ("test", "fmt", "doc", "doctest", "jupyter"):
        text = subprocess.run([RICCI, command, "--help"], capture_output=True, text=True).stdout
        for option in re.findall(r"(?<![\w-])--[a-z-]+", text.split("\n\n", 1)[1]):
            check(f"bash: {option} of {command}", option in complete(RICCI, command, "--"), True)
            for shell in ("_ricci", "ricci.fish"):
                have = (EDITORS / "completions" / shell).read_text()
                check(f"{shell}: {option} of {command}", option in have or f"-l {option[2:]}" in have, True)


def test_other_shells():
    for shell, name in (("zsh", "_ricci"), ("fish", "ricci.fish")):
        if not shutil.which(shell):
            print(f"not run: the syntax of {name}: there is no {shell}")
            continue
        run = subprocess.run([shell, "-n", str(EDITORS / "completions" / name)], capture_output=True, text=True)
        check(f"{shell}: syntax of {name}", (run.returncode, run.stderr), (0, ""))


def test_manual_page():
    page = ROOT / "docs/ricci.1"
    if not shutil.which("man"):
        print("not run: docs/ricci.1: there is no man")
        return
    run = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", str(page)], capture_output=True, text=True,
                         env=dict(os.environ, LC_ALL="C.UTF-8", MANWIDTH="80"))
    check("warnings of man", run.stderr, "")
    text = page.read_text().replace("\\-", "-")
    session = subprocess.run([RICCI, "-i"], input=":help\n", capture_output=True, text=True).stdout
    commands = re.findall(r"^ *(?:ricci> )? *(:[a-z]+)", session, re.M)
    check("commands of :help", len(commands) > 6, True)
    for command in commands:
        check(f"docs/ricci.1 on {command}", command in text, True)
    for command in ("", "test", "fmt", "doc", "doctest", "jupyter"):
        usage = subprocess.run([RICCI, *command.split(), "--help"], capture_output=True, text=True).stdout
        for option in re.findall(r"(?<![\w-])--[a-z-]+", usage):
            check(f"docs/ricci.1 on {option}", option in text, True)


for test in (test_words, test_grammar, test_vim, test_bash, test_other_shells, test_manual_page):
    test()
print(f"{passed} passed, {failed} failed")
sys.exit(failed != 0)
