"""The plain session: echo, entries of several lines, errors, Ctrl-C, commands, history, `-i FILE`,
native code and its crashes, pipes."""
import os
import signal
import stat
import subprocess
import time

from session import MORE, PROMPT, RICCI, Session, WAIT, check, piped


def test_echo(home):
    s = Session(home)
    s.expect("1 + 1", "2")
    s.expect("ans * 21", "42")
    s.expect("x = 5", "")
    s.expect("x", "5")
    s.expect("x;", "")
    s.expect("\"a\\n\" + \"b\"", "\"a\\nb\"")
    s.expect("[1, 2; 3, 4.5]", "2×2 f64\n⎡1.0  2.0⎤\n⎣3.0  4.5⎦")
    s.expect("[1, 2]", "vector of 2 i64\n[1, 2]")
    s.expect("f32(0.1)", "0.1 (f32)")
    s.expect("none", "")
    s.expect("print(3)", "3")
    s.expect("if true { 7 } else { 8 }", "7")
    s.expect("fn f(a, b=2) { a + b }", "")
    s.expect("f", "fn f(a, b=2)")
    s.expect("f(1)", "3")
    s.expect("a = 1; b = 2; a + b", "3")
    s.expect("", "")
    s.expect("   ", "")
    s.expect("# a comment", "")
    check("leaving with Ctrl-D", s.end() == 0)
    check("no escape codes on a dumb terminal", b"\x1b" not in s.all, s.all)


def test_lines(home):
    s = Session(home)
    s.expect("if true {", "", (MORE,))
    s.expect("  10 +", "", (MORE,))
    s.expect("  1", "", (MORE,))
    s.expect("}", "11")
    s.expect("(1 +", "", (MORE,))
    s.expect("", "", (MORE,))
    s.expect("2)", "3")
    s.expect("ricci> 3 + 4", "7")
    s.expect("ricci> (1,", "", (MORE,))
    s.expect("  ...> 2)", "(1, 2)")
    check(":quit", s.end(b":quit\n") == 0)


def test_errors(home):
    s = Session(home)
    s.line("x = [1, 2, 3]")
    s.expect_in("undefined_name", "error[name]", "undefined_name", "<repl:2>")
    s.expect_in("1 +* 2", "error[syntax]")
    s.expect_in("x[7]", "error[index]", "<repl:4>")
    s.expect_in("fn g(n) { g(n + 1) }; g(0)", "error[memory]")
    s.expect("x", "vector of 3 i64\n[1, 2, 3]")
    check("leaving after errors", s.end() == 0)


def test_tests(home):
    s = Session(home)
    s.line("x = [1, 2]")
    s.expect_in('test "sum" { x[0] = 5; assert sum(x) == 7 }', "ok   sum  ")
    s.expect("x", "vector of 2 i64\n[1, 2]")
    s.expect_in('test "wrong" { assert sum(x) == 4 }', "FAIL wrong", "error[assert]", "<repl:4>")
    s.expect_in('precision f16 { test "scope" { assert dtype(0.1) == f16 } }', "ok   scope  ")
    got = s.line('test "one" { assert x == 0 }; test "two" { }; 7')
    check("tests after the entry", 0 <= got.find("7") < got.find("FAIL one") < got.find("ok   two"), got)
    s.expect_in('throw "no"; test "never" { }', "error[throw]")
    s.expect("1", "1")
    s.send('test "endless" { while true { } }; test "next" { }\n')
    time.sleep(0.5)
    s.send(b"\x03")
    got = s.until(PROMPT)
    check("Ctrl-C ends the tests", b"FAIL endless" in got and b"interrupt" in got and b"ok" not in got, got)
    check("leaving after tests", s.end() == 0)


def test_interrupt(home):
    s = Session(home)
    s.line("x = [1.0, 2.0]")
    s.send(b"1 + 1")
    time.sleep(0.2)
    s.send(b"\x03")
    s.until(PROMPT)
    s.expect("3", "3")
    s.expect("(1,", "", (MORE,))
    s.send(b"\x03")
    s.until(PROMPT)
    s.expect("4", "4")
    for loop in ("while true { x[0] += 0.0 }", "while true { }", "for i in 0:10^15 { x = x }",
                 "fn f(i) { if i < 2 { 1 } else { f(i-1) + f(i-2) } }; f(60)"):
        s.send(loop + "\n")
        time.sleep(0.5)
        s.send(b"\x03")
        got = s.until(PROMPT)
        check("Ctrl-C in " + loop, b"interrupt" in got, got)
        s.expect("x", "vector of 2 f64\n[1.0, 2.0]")
    for _ in range(5):
        s.send(b"\x03")
        s.until(PROMPT)
    s.expect("5", "5")
    check("leaving after Ctrl-C", s.end() == 0)


def test_commands(home):
    s = Session(home)
    s.line("lambda = 0.5")
    s.line("A = [1, 2; 3, 4]")
    s.expect_in(":vars", "A       i64    2×2", "lambda", "0.5")
    s.expect_in("?sqrt", "sqrt")
    s.expect_in("?", "")
    s.expect_in(":help", ":load", ":save")
    s.expect_in(":time 2 + 3", "5\n", "s")
    s.expect(":save kept.ric", "")
    check(":save writes what ran", open(home + "/kept.ric").read().startswith("lambda = 0.5\n"))
    s.expect_in(":save kept.ric", "error[io]", "kept.ric")
    s.expect(":reset", "")
    s.expect_in("A", "error[name]")
    s.expect(":load kept.ric", "")
    s.expect("A[1, 1]", "4")
    s.expect_in(":load missing.ric", "error[io]", "missing.ric")
    s.expect_in(":nonsense", "error[name]", "nonsense")
    s.expect("!echo hello", "hello")
    s.expect("!exit 3", "exit status 3")
    s.line("flag = true")
    s.expect("!flag", "false")
    s.expect("!(true)", "false")
    s.expect("!true", "false")
    s.expect("!isnan(nan)", "false")
    check("leaving", s.end(b":q\n") == 0)


def test_editing(home):
    s = Session(home)
    s.line("unusual_name = 41")
    s.expect("unusual_n\t + 1", "42")
    s.expect("[1, 2] \\otimes\t [1, 1]", "2×2 i64\n⎡1  1⎤\n⎣2  2⎦")
    s.line("t = (alpha=3, beta=4)")
    s.expect("t.al\t", "3")
    s.expect("sim.tp\t", "sim.tpu")
    s.expect("6 * 7", "42")
    s.expect("\x10", "42")
    s.end()
    path = home + "/.local/state/ricci/history"
    check("the history is a file of the user alone", stat.S_IMODE(os.stat(path).st_mode) == 0o600)
    check("so is its folder", stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700)
    s = Session(home)
    s.expect("\x10", "42")
    s.end()
    os.unlink(path)
    os.symlink("/etc/passwd", path)
    s = Session(home)
    s.expect("1", "1")
    check("a history that is a link is left alone", s.end() == 0)


def test_colour(home):
    s = Session(home, term="xterm")
    s.expect_in("nothing", "\x1b[1;31merror[name]\x1b[0m")
    s.end()
    s = Session(home, term="xterm", NO_COLOR="1")
    got = s.line("nothing")
    check("NO_COLOR", "error[name]" in got and "\x1b[1;31m" not in got, got)
    s.end()


def test_file(home):
    with open(home + "/program.ric", "w") as f:
        f.write("value = 12\nprint(\"ran\")\n")
    s = Session(home, ["-i", "program.ric"])
    check("-i FILE runs it", b"ran" in s.started, s.started)
    s.expect("value", "12")
    s.end()
    with open(home + "/wrong.ric", "w") as f:
        f.write("value = 13\nnothing\n")
    s = Session(home, ["-i", "wrong.ric"])
    check("-i with an error", b"error[name]" in s.started, s.started)
    s.expect("value", "13")
    s.end()


def test_extern(home):
    s = Session(home)
    for line in ("extern \"libm.so.6\" {", "  double cbrt(double x); // don't }", "  /* not yet: }",
                 "     \"nor here */", "  double fma(double x, double y, double z);"):
        s.expect(line, "", (MORE,))
    s.expect("}", "")
    s.expect("cbrt(64)", "4.0")
    s.expect("cbrt", "double cbrt(double x)")
    s.expect_in("?cbrt", "double cbrt(double x)\n", "libm")
    s.expect("x = 5", "")
    s.expect(":vars", "name  dtype  bytes\nx     i64        8  5\n1 variable, 8 bytes\n\n"
             "functions\n  ans = double cbrt(double x)\n  double cbrt(double x)\n"
             "  double fma(double x, double y, double z)")
    # A mistake in a block, and the same block mended.
    s.expect_in("extern \"libm.so.6\" { struct p { int a; }; duble f(struct p); }", "error[syntax]", "^^^^^")
    s.expect_in("extern \"libm.so.6\" { struct p { int a; }; double cbrtt(double); }", "error[ffi]", "did you mean `cbrt`?")
    s.expect("extern \"libm.so.6\" { struct p { int a, b; }; double exp2(double); }", "")
    s.expect("p(1, 2), exp2(3)", "(p(a=1, b=2), 8.0)")
    s.expect("old = p(3, 4)", "")
    s.expect("extern \"libm.so.6\" { struct p { double a; }; }", "")
    s.expect("p(1), old", "(p(a=1.0), p(a=3, b=4))")
    s.expect("extern \"libm.so.6\" as libm { double cbrt(double); double exp10(double); }", "")
    s.send("libm.cb\t")
    s.until(b"libm.cbrt")
    s.expect("(8)", "2.0")
    s.send("fma(\t")
    got = s.until(b"ricci> fma(")
    check("fma(TAB", b"double fma(double x, double y, double z)" in got and b"\a" not in got, got)
    s.expect("1, 2, 3)", "5.0")
    s.expect_in("?libm", "double cbrt(double)\n", "double exp10(double)\n")
    s.expect_in("?libm.exp10", "double exp10(double)\n")
    s.expect(":reset", "")
    s.expect_in("p(1)", "error[name]")
    s.end()


def test_pipe(home):
    got, status = piped(["-i"], "x = 2\nx + 1\n\"s\"\nnothing\nx")
    check("-i without a terminal", status == 0 and "ricci> 3\n" in got and '"s"' in got
          and "error[name]" in got and got.endswith("2\nricci> \n"), got)
    got, status = piped([], "x = 2\nx + 1\nprint(x)\n")
    check("a program on stdin", (got, status) == ("2\n", 0), got)
    got, status = piped(["-i"], "(1,\n")
    check("an entry without its end", "error[syntax]" in got and status == 0, got)
    got, status = piped(["-i"], "## Doubles x.\ndbl = x -> 2 * x\n?dbl\n## alone\n\n1 + 1\n")
    check("## lines belong to the definition below", "x -> 2 * x\n  Doubles x.\n" in got and "2\n" in got, got)
    got, status = piped(["-i"], "if true {\n1\n}\r\n2\r\n")
    check("CRLF", "1\n" in got and "2\n" in got and "error" not in got, got)


def test_crash(home):
    s = Session(home)
    s.line('extern "libc.so.6" { size_t strlen(const void *s); void abort(void); unsigned sleep(unsigned s); '
           'int pthread_spin_init(int *lock, int shared); int pthread_spin_lock(int *lock); '
           'void qsort(double x[n], size_t n, size_t size, int (*f)(const double *, const double *)); }')
    s.line("x = [3.0, 1, 2]; lock = i32(0); fn slow(a, b) { n = 0; while n < 10^12 { n += 1 }; 1 }")
    for _ in range(2):
        s.expect_in("strlen(null)", "error[ffi]: strlen crashed: it read through a null pointer (SIGSEGV)", "unsound")
        s.expect_in("abort()", "error[ffi]: abort crashed", "SIGABRT")
        s.expect("x", "vector of 3 f64\n[3.0, 1.0, 2.0]")
    # One Ctrl-C ends a callback and a sleep; the third one leaves C that asks nobody.
    for call, presses in (("qsort(x, 3, 8, slow)", 1), ("sleep(60)", 1),
                          ("pthread_spin_init(lock, 0); pthread_spin_lock(lock); pthread_spin_lock(lock)", 3)):
        s.send(call + "\n")
        time.sleep(0.3)
        start = time.time()
        for _ in range(presses):
            s.send(b"\x03")
            time.sleep(0.05)
        got = s.until(PROMPT)
        check("Ctrl-C in " + call, b"error[interrupt]" in got and time.time() - start < 2, got)
    s.expect("1 + 1", "2")
    s.expect_in("strlen(null)", "error[ffi]: strlen crashed")
    check("leaving after crashes", s.end() == 0)
