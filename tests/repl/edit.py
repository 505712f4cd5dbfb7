"""Editing at the prompt, as it looks: entries of several lines, colours, pasting, the history, the
keys of both editing modes, resizing, and what a hostile hand does to it."""
import os
import signal
import subprocess
import time

from screen import Sight
from session import RICCI, check, piped

UP, DOWN, LEFT, RIGHT = "\x1b[A", "\x1b[B", "\x1b[D", "\x1b[C"
BLOCK = ["ricci> fn area(r) {", "  ...>     s = r^2", "  ...>     π * s", "  ...> }"]


def tail(s, n):
    return s.screen.lines()[-n:]


def sees(s, what, want, got):
    check(what, want == got, got)


def fresh(s):
    """An empty prompt at the top."""
    s.type("\x03")
    s.type("\x0c")


def history_file(home):
    return os.path.join(home, ".local/state/ricci/history")


def test_block(home):
    s = Sight(home)
    s.type("fn area(r) {\rs = r^2\rπ * s\r}", each=True)
    sees(s, "a block is indented, its end is not", BLOCK, tail(s, 4))
    s.type("\r")
    sees(s, "it runs when it is complete", ["ricci>"], tail(s, 1))
    s.type("area(1)\r")
    sees(s, "and it did", ["ricci> area(1)", "3.141592653589793", "ricci>"], tail(s, 3))
    s.type(UP + UP, each=True)
    sees(s, "it comes back as one entry", BLOCK, tail(s, 4))
    row = s.screen.cursor()[0]
    s.type(UP + UP + "\x05" + " + 0", each=True)
    sees(s, "up moves in it", "  ...>     s = r^2 + 0", tail(s, 4)[1])
    check("two lines up", s.screen.cursor() == (row - 2, len("  ...>     s = r^2 + 0")), s.screen.cursor())
    s.type("\r")
    sees(s, "Enter runs it from the middle", BLOCK[3:] + ["ricci>"], tail(s, 2))
    s.type(UP + UP, each=True)
    sees(s, "the history has it, changed", "  ...>     s = r^2 + 0", s.screen.line(s.screen.cursor()[0] - 1))
    fresh(s)
    s.type("1 + 1\x1b\r2 + 3", each=True)
    sees(s, "Alt-Enter begins a line", ["ricci> 1 + 1", "  ...> 2 + 3"], tail(s, 2))
    s.type("\r")
    sees(s, "and the entry runs as one", ["5", "ricci>"], tail(s, 2))
    s.type("7", each=True)
    s.type("\n")
    s.type("8")
    sees(s, "so does Ctrl-J", ["ricci> 7", "  ...> 8"], tail(s, 2))
    fresh(s)
    s.type("if true {}" + LEFT + "\x1b\r5", each=True)
    sees(s, "braces open", ["ricci> if true {", "  ...>     5", "  ...> }"], tail(s, 3))
    s.type("\x7f\x7f", each=True)
    sees(s, "backspace takes a step of indentation", ["ricci> if true {", "  ...>", "  ...> }"], tail(s, 3))
    s.type("\x01\x01\x0b", each=True)
    sees(s, "Ctrl-A twice goes to the begin, Ctrl-K takes a line", ["ricci>", "  ...>", "  ...> }"], tail(s, 3))
    s.type("\x1f" * 2, each=True)
    sees(s, "undo", ["ricci> if true {", "  ...>     5", "  ...> }"][:1], tail(s, 3)[:1])
    fresh(s)
    s.type("A = [1, 2;\r3, 4]\r", each=True)
    sees(s, "rows stand under each other", ["ricci> A = [1, 2;", "  ...>      3, 4]", "ricci>"], s.screen.lines())
    s.type("x = `a\rb`", each=True)
    sees(s, "nothing is added to a raw string", ["ricci> x = `a", "  ...> b`"], tail(s, 2))
    check("Ctrl-D in a line does not leave", s.type("\x04") is None and tail(s, 2)[1] == "  ...> b`", tail(s, 2))
    fresh(s)
    check("Ctrl-D leaves", s.end() == 0)


def test_colours(home):
    s = Sight(home)
    s.type('if sum([1]) > 0x1f { "r {x:.2f}\\n" } # note', each=True)
    for text, look in (("if", "35"), ("sum", "94"), ("0x1f", "36"), ('"r', "32"), ("{x", "33"), ("\\n", "33"),
                       ("# note", "2"), ("ricci>", "1;32")):
        got = s.screen.looks(text)
        check("the colour of " + text, got is not None and look in got, got)
    fresh(s)
    s.type("f(a[1], (2)", each=True)
    sees(s, "a bracket and its partner", {"1;4"}, s.screen.looks("(2"[:1], s.screen.cursor()[0]) & {"1;4"})
    s.type("}", each=True)
    sees(s, "what closes nothing", {"31"}, s.screen.looks("}"))
    fresh(s)
    s.type(":time 1 && 2", each=True)
    sees(s, "a command", {"1;36"}, s.screen.looks(":time"))
    sees(s, "an operator of another language", {"31"}, s.screen.looks("&&"))
    s.type("\x03")
    for end in ("\r", "\x03"):
        s.type("y = (1 + (2))" + end)
        sees(s, "no partner in what is left behind", {""}, s.screen.looks("(2") - {"36"})
    s.end()
    s = Sight(home, NO_COLOR="1")
    s.type("if x { 1 }", each=True)
    check("NO_COLOR", b"m" not in s.screen.bytes.split(b"ricci> ")[1], s.screen.bytes)
    s.type("\x03")
    s.end()


def test_paste(home):
    s = Sight(home)
    s.paste("a = 1\nif true {\n  b = 2\n\n   c = 3\n}\na + b + c\n")
    sees(s, "a paste is not indented and does not run", "  ...>    c = 3", tail(s, 3)[0])
    s.type("\r")
    sees(s, "it runs once", ["  ...> a + b + c", "6", "ricci>"], tail(s, 3))
    s.type(UP + "\x01\x01", each=True)
    sees(s, "it is one entry", "ricci> a = 1", tail(s, 7)[0])
    fresh(s)
    for prompted in ("ricci> t = (1,\n  ...> 2)\nricci> t\n(1, 2)\nricci> 5", ">>> t = (1,\n... 2)\n>>> t\n(1, 2)\n>>> 5\n5",
                     "In [1]: t = (1,\n   ...: 2)\n\nIn [2]: t\nOut[2]: (1, 2)\n\nIn [3]: 5\nOut[3]: 5\n",
                     "julia> t = (1,\n       2)\n(1, 2)\n\njulia> t\n(1, 2)\n\njulia> 5"):
        s.paste(prompted)
        got = [line[7:].strip() for line in tail(s, 4)]
        sees(s, "prompts and answers go: " + prompted[:6], ["t = (1,", "2)", "t", "5"], got)
        fresh(s)
    s.paste("\x1b[31mx\x1b[0m = \x001\r\n\ty = 2\x07\r\n")
    sees(s, "codes and control characters go", ["ricci> x = 1", "  ...>     y = 2"], tail(s, 2))
    fresh(s)
    s.paste("    if true {\n        1\n    }\n")
    sees(s, "a piece of a block moves to the left", ["ricci> if true {", "  ...>     1", "  ...> }"], tail(s, 3))
    fresh(s)
    s.type("fn g(x) {\r    y = x\r    y + 1\r}\rg(1)\r")
    check("without marks nothing is added either", s.screen.lines()[1:3] == ["  ...>     y = x", "  ...>     y + 1"]
          and tail(s, 2) == ["2", "ricci>"], s.screen.lines())
    fresh(s)
    start = time.time()
    s.paste("".join("x%d = [%d, 2]  # a line\n" % (i, i) for i in range(5000)))
    s.see("x4999 = [4999, 2]")
    s.type("\r")
    check("5000 lines are pasted and run", s.see(lambda x: x.lines()[-1:] == ["ricci>"]) and time.time() - start < 10,
          (time.time() - start, tail(s, 2)))
    s.type("x4999[0]\r")
    sees(s, "all of them", ["4999", "ricci>"], tail(s, 2))
    s.end()


def test_wide(home):
    s = Sight(home, size=(8, 20))
    s.type("\x0c")
    s.type('"漢字e\u0301é漢字漢字漢字"', each=True)
    sees(s, "wide characters wrap whole", ['ricci> "漢字e\u0301é漢字漢', '字漢字"'], s.screen.lines())
    s.type(LEFT * 9 + "x", each=True)
    sees(s, "and are stepped over", ['ricci> "漢字xe\u0301é漢字', '漢字漢字"'], s.screen.lines())
    fresh(s)
    s.type("1234567890123" + "4", each=True)
    sees(s, "a full row", ["ricci> 1234567890123", "4"], s.screen.lines())
    s.type("\x7f", each=True)
    check("the cursor behind a full row", s.screen.cursor() == (1, 0), s.screen.cursor())
    s.type("\x01\x0b" + "ab\tc", each=True)
    sees(s, "and shorter again", ["ricci> ab"], [s.screen.lines()[0][:9]])
    fresh(s)
    s.send(b"\xff\xc3(")
    s.settle()
    sees(s, "bytes that are no text", "ricci> ?(", s.screen.lines()[0])
    fresh(s)
    s.type("x = (\r" + "\r".join("%d," % i for i in range(20)))
    sees(s, "more lines than the terminal has", ["  ...> %d," % i for i in range(12, 20)], s.screen.lines())
    s.type(UP * 10, each=True)
    sees(s, "the part around the cursor is seen", ["  ...> %d," % i for i in range(9, 17)], s.screen.lines())
    s.type("\x1b>" + "\x05\x05", each=True)
    s.type("\x1b[B" * 12, each=True)
    s.type(")\r", each=True)
    check("all of it stands above in the end", s.screen.all()[-23:-2][1:3] == ["  ...> 1,", "  ...> 2,"] or
          "  ...> 3," in s.screen.all(), s.screen.all()[-30:])
    s.end()


def test_resize(home):
    for reflow in (True, False):
        s = Sight(home, size=(12, 60), reflow=reflow, **({} if reflow else {"XTERM_VERSION": "1"}))
        s.type("\x0c")
        s.type("print(1)\r", each=True)
        s.type("fn f(x) {\r", each=True)
        s.type("y = x + 1000000000 + 2000000000 + 3000000000\r", each=True)
        want = ["ricci> print(1)", "1", "ricci> fn f(x) {", "  ...>     y = x + 1000000000 + 2000000000 + 3000000000",
                "  ...>"]
        sees(s, "before", want, s.screen.lines())
        s.resize(12, 40)
        sees(s, "narrower", want[:3] + ["  ...>     y = x + 1000000000 + 20000000", "00 + 3000000000", "  ...>"],
             s.screen.lines())
        s.resize(10, 80)
        sees(s, "wider", want, s.screen.lines())
        s.type("y }\r\x0c", each=True)
        for rows, columns in ((1, 1), (2, 3), (1, 80), (24, 80)):
            s.resize(rows, columns)
            s.type("12 3", each=True)
        sees(s, "back from one cell", "ricci> 12 312 312 312 3", tail(s, 1)[0])
        s.type("\x03")
        check("leaving", s.end() == 0)


def test_history(home):
    s = Sight(home)
    for entry in ("alpha = 1", "beta = 2", "alpha = 3", "beta = 2", " secret = 4", "x = `a\\nb\rc`"):
        s.type(entry + "\r")
    sees(s, "what the file has", "alpha = 1\nalpha = 3\nbeta = 2\nx = `a\\\\nb\\nc`\n",
         "".join(open(history_file(home)).read().partition("alpha")[1:]).replace("alpha = 1\nbeta = 2\n", "alpha = 1\n", 1))
    s.type("al" + UP, each=True)
    sees(s, "Up looks for what was typed", "ricci> alpha = 3", tail(s, 1)[0])
    s.type(UP, each=True)
    sees(s, "and on", "ricci> alpha = 1", tail(s, 1)[0])
    s.type(DOWN + DOWN, each=True)
    sees(s, "Down comes back to it", "ricci> al", tail(s, 1)[0])
    s.type("\x03")
    s.type("\x12bet", each=True)
    sees(s, "Ctrl-R", "(reverse-i-search)`bet': beta = 2", tail(s, 1)[0])
    s.type("\x1b[C")
    s.type("\r")
    sees(s, "runs what it found", "ricci> beta = 2", tail(s, 2)[0])
    os.kill(s.pid, signal.SIGKILL)
    t = Sight(home)
    t.type(UP + UP, each=True)
    sees(t, "entries of several lines survive kill -9", ["ricci> x = `a\\nb", "  ...> c`"], tail(t, 2))
    u = Sight(home)
    u.type("\x15\x03")
    u.type("from_u = 1\r")
    t.type("\x03")
    t.type("from_t = 1\r")
    text = open(history_file(home)).read()
    check("two sessions at once", "from_u = 1\n" in text and "from_t = 1\n" in text, text)
    t.end()
    u.end()
    with open(history_file(home), "ab") as f:
        f.write(b"\x00\xff garbage \x1b[31m\n\n\nlast = 9\ncut of")
    s = Sight(home)
    s.type("new = 1\r")
    s.type(UP + UP + UP, each=True)
    sees(s, "a damaged file", "ricci> last = 9", tail(s, 1)[0])
    s.type("\x03")
    s.end()
    check("a cut line stays alone", open(history_file(home), "rb").read().endswith(b"\ncut of\nnew = 1\n"))
    with open(history_file(home), "w") as f:
        f.write("".join("%d\n" % (i % 15000) for i in range(30000)))
    s = Sight(home)
    s.end()
    lines = open(history_file(home)).read().split()
    check("the file is kept short", lines == [str(i) for i in range(5000, 15000)], (len(lines), lines[:2], lines[-2:]))


def test_keys(home):
    with open(home + "/inputrc", "w") as f:
        f.write("set editing-mode vi\nset keyseq-timeout 50\n\"\\C-o\": \"1 + 2\"\n")
    s = Sight(home, INPUTRC=home + "/inputrc")
    s.type("\x0f\r", each=True)
    sees(s, "a macro of inputrc", ["ricci> 1 + 2", "3", "ricci>"], tail(s, 3))
    s.type("if true {\r1\r}", each=True)
    s.type("\x1b")
    s.type("k0xi5", each=True)
    sees(s, "vi mode moves between lines", ["ricci> if true {", "  ...> 5   1", "  ...> }"], tail(s, 3))
    s.type("\x1b")
    s.type("\r")
    sees(s, "and runs", "ricci>", tail(s, 1)[0])
    s.type("\x03")
    s.end()
    s = Sight(home)
    s.type("print(1)\x0c")
    sees(s, "Ctrl-L", ["ricci> print(1)"], s.screen.lines())
    s.type("\x03")
    sees(s, "Ctrl-C in a line", ["ricci> print(1)^C", "ricci>"], s.screen.lines())
    s.type("fn f(x) {\rx\x03", each=True)
    sees(s, "Ctrl-C in a block", ["  ...>     x^C", "ricci>"], tail(s, 2))
    s.type("fn f(x) {\rprecis\t", each=True)
    check("completion in a block", s.see("precision"), tail(s, 5))
    fresh(s)
    s.type("x = 1 +\rsq\t\t", each=True)
    s.settle(0.2)
    check("a listing stands below the entry, and the entry again below it", tail(s, 2) == ["ricci> x = 1 +", "  ...>     sq"]
          and s.screen.lines()[:2] == ["ricci> x = 1 +", "  ...>     sq"] and "sqrt" in "".join(s.screen.lines()),
          s.screen.lines())
    fresh(s)
    s.type("write(\"abc\")\r")
    check("a prompt begins its own line", "ricci>" in tail(s, 1)[0], tail(s, 2))
    s.end()
    s = Sight(home, term="dumb")
    s.type("(1,\r2)\r")
    check("a dumb terminal gets no codes", b"\x1b" not in s.screen.bytes and tail(s, 2) == ["(1, 2)", "ricci>"], s.screen.bytes)
    s.end()


def test_signals(home):
    s = Sight(home)
    s.type("x = (1,\r2")
    os.kill(s.pid, signal.SIGSTOP)
    os.waitpid(s.pid, os.WUNTRACED)
    s.screen.feed(b" stopped\r\n")
    os.kill(s.pid, signal.SIGCONT)
    s.settle(0.2)
    sees(s, "after a stop the entry is there again", ["  ...> 2 stopped", "ricci> x = (1,", "  ...> 2"], tail(s, 3))
    s.type(")\r")
    sees(s, "and goes on", ["  ...> 2)", "ricci>"], tail(s, 2))
    os.kill(s.pid, signal.SIGHUP)
    s.settle()
    check("SIGHUP ends it", os.WIFSIGNALED(os.waitpid(s.pid, 0)[1]))
    s = Sight(home)
    s.type("fn f(x) {\rx")
    os.close(s.fd)
    for _ in range(200):
        pid, status = os.waitpid(s.pid, os.WNOHANG)
        if pid:
            break
        time.sleep(0.02)
    check("a terminal that is gone ends it", pid != 0)
    if not pid:
        os.kill(s.pid, signal.SIGKILL)
    check("and what was not entered did not run", "fn f" not in open(history_file(home)).read())
