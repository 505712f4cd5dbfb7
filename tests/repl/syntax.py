"""Entries that are not complete, and what ends them: a bracket waits for its partner, garbage never
waits, Ctrl-C gives up what was typed; the fix that an error offers runs when it is typed."""
from screen import Sight
from session import MORE, PROMPT, Session, check


def test_waiting(home):
    s = Session(home)
    s.line("x = [1.0, 4.0]")
    s.line("len(x", ends=(MORE,))
    s.expect_in(")", "2")
    s.line("y = (1 +", ends=(MORE,))
    s.line("", ends=(MORE,))
    s.send(b"\x03")
    got = s.until(PROMPT)
    check("Ctrl-C gives up an open bracket", got.endswith(PROMPT), got)
    s.expect_in("x", "4.0")
    for garbage in ("(&&", "x = $ (", "f(1, 2))", "“a” + (", "(]", "]", "x = /* ("):
        got = s.line(garbage, ends=(PROMPT, MORE))
        check("%s is an error at once" % garbage, "error[syntax]" in got and s.all.endswith(PROMPT), got)
    s.end()


def test_still_open(home):
    """Two blank lines in a row are answered, once an entry, with what it waits for."""
    s = Session(home)
    for entry, said in (("x = (", b"( from line 1 is still open; Ctrl-C drops the entry"),
                        ("f([1,", b"[ from line 1 is still open"), ("1 +", b"")):
        seen = len(s.all)
        for text in (entry, "", "", "", ""):
            s.line(text, ends=(MORE,))
        s.send(b"\x03")
        s.until(PROMPT)
        got = s.all[seen:]
        check("after %s" % entry, said in got and got.count(b"still open") == bool(said), got)
    s.end()


def test_still_open_drawn(home):
    s = Sight(home)
    s.type("if true {\r\r\r", each=True)
    entry = ["ricci> if true {", "  ...>", "  ...>"]
    want = entry + ["{ from line 1 is still open; Ctrl-C drops the entry"] + entry + ["  ...>"]
    got = [line.rstrip() for line in s.screen.lines()]
    check("it is said between the entry and itself", got[-8:] == want, got)
    s.type("\r1 }\r", each=True)
    got = [line.rstrip() for line in s.screen.lines()]
    check("and the entry runs", got.count(want[3]) == 1 and got[-1] == "ricci>", got)


def test_fixes(home):
    s = Session(home)
    s.line("A = [1, 2; 3, 4]")
    for wrong, right, value in (("np.dot(A, A)", "A @ A", "22"), ("A.sum(axis=0)", "sum(A, axis=0)", "6"),
                                ("A(2, 1)", "A[1, 0]", "3"), ("size(A)(1)", "shape(A)[0]", "2"),
                                ("2**3", "2^3", "8"), ("[5 6; 7 8]", "[5, 6; 7, 8]", "8")):
        s.expect_in(wrong, "error[", right)
        s.expect_in(right, value)
    s.line("for i in range(2):", ends=(MORE, PROMPT))
    s.expect_in("    print(i)", "for i in 0:2 { print(i) }")
    s.end()
