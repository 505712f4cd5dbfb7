"""What people who come from elsewhere type first: signs of theirs at the end of a line, narrow
windows, words for which Ricci has another name."""
from session import MORE, Session, check


def test_ends_that_wait_for_nothing(home):
    """A bar or a bang at the end is no operator that waits where no operand makes a program of it."""
    s = Session(home)
    s.line("b = [3.0, 4]")
    s.expect_in("|b|", "error[syntax]", "help: abs(b)")
    s.expect_in("5!", "error[syntax]", "help: gamma(5 + 1)")
    s.expect_in("v = <1, 2>", "error[syntax]: expected a value after `=`")
    s.line("x = 7 >", ends=(MORE,))
    s.line("2")
    s.expect("x", "true")
    s.line("y = [4 |", ends=(MORE,))
    s.line("1]")
    s.expect_in("y", "[5]")
    s.end()


def test_catch_on_the_next_line(home):
    """A `try` without its `catch` is no program: the session waits for it, until an empty line."""
    s = Session(home)
    s.line('try { throw "x" }', ends=(MORE,))
    s.expect('catch e { print(e.message) }', "x")
    s.line("try {", ends=(MORE,))
    s.line("1 / 0", ends=(MORE,))
    s.line("}", ends=(MORE,))
    s.expect_in("", "has no `catch` after it", "help: try { … } catch e { … }")
    s.expect("try { 2 } catch e { 3 }", "2")
    s.end()


def test_narrow_words(home):
    s = Session(home, size=(24, 40))
    s.line("seed(1)")
    for line in ("hold on", "close all", "pkg load", "%paste", "steps(rref, randn(3, 6))", "steps(inv, randn(4, 4))"):
        long = [row for row in s.line(line).split("\n") if len(row) > 40 and " = " not in row]
        check(line + " fits 40 cells", not long, long)
    s.end()


def test_search_by_other_names(home):
    """??cholesky finds chol first, of which no help speaks by that name."""
    s = Session(home)
    for words, first in (("cholesky", "chol "), ("eigen", "eig "), ("matrix_power", "matpow "), ("fit", "lstsq ")):
        got = s.line("??" + words)
        check("??" + words + " finds " + first, got.lstrip().startswith(first), got)
    s.end()


def test_module_hides(home):
    """import steps takes the name of the operation; the help says how to get it back, and that works."""
    s = Session(home)
    s.line("import steps")
    s.expect_in("steps(det, [2, 1; 1, 3])", "error[type]", "help: the module hides the operation")
    s.line(":reset steps")
    s.expect_in("steps(det, [2, 1; 1, 3])", "5")
    s.end()
