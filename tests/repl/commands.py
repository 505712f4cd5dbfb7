"""Commands and completion: what `:name`, `?name`, `!shell` and words of other systems answer, and what
TAB offers and inserts at every kind of place."""
import os
import time

from screen import Sight
from session import MORE, PROMPT, Session, check, piped


def offers(s, text, *wants, without=(), presses=2):
    """TAB lists these (and not those); the line is dropped afterwards."""
    s.send(text + "\t" * presses + "\x05\x15\"done\"\n")
    got = s.until(b"\"done\"\r\n" + PROMPT).decode(errors="replace").replace("\r", "")
    check("TAB after " + text, all(w in got for w in wants) and not any(w in got for w in without), got)
    return got


def test_vars(home):
    s = Session(home)
    s.expect(":vars", "no variables yet")
    s.line("A = [1.0, 2; 3, 4]; k = 5; s = \"a\\nb\"; t = (Q=A, x=3); r = 0:10; z = f32(2.5); flag = true")
    s.line("fn f(a, b=2) { a + b }")
    s.line("square = x -> x^2; import stats")
    s.line("2 + 3")
    s.expect(":vars", "name  dtype   shape  device  bytes\n"
             "A     f64     2×2    cpu        32\n"
             "ans   i64                        8  5\n"
             "flag  bool                       1  true\n"
             "k     i64                        8  5\n"
             "r     range   10                40  0:10\n"
             "s     string  3                  3  \"a\\nb\"\n"
             "t     tuple   2                 40  (Q=2×2 f64, x=3)\n"
             "z     f32            cpu         4  f32(2.5)\n"
             "8 variables, 136 bytes\n\n"
             "functions\n  f(a, b=2)\n  square = x -> x^2\n\n"
             "modules\n  stats  standard library")
    s.expect(":vars FL", "name  dtype  bytes\nflag  bool       1  true\n1 variable, 1 byte")
    s.expect_in(":vars ?", "A  ", "6 variables")
    s.expect(":vars nosuch", "no variable has such a name")
    s.expect(":reset A t", "")
    s.expect_in("A", "error[name]")
    s.expect("k", "5")
    s.expect_in(":reset k nosuch", "error[name]: there is no variable `nosuch`")
    s.expect("k", "5")
    s.end()


def test_narrow(home):
    s = Session(home, size=(24, 40))
    s.line("a_name_that_is_quite_long_for_this_terminal = zeros(2, 3, 4); x = \"" + "y" * 60 + "\"")
    got = s.line(":vars")
    for line in ("?on", "?:=", "?svd", ":help", "?", "?operations", "??matrix product"):
        long = [row for row in s.line(line).split("\n") if len(row) > 40]
        check(line + " fits 40 cells", not long, long)
    check(":vars fits 40 cells", all(len(line) <= 40 for line in got.split("\n")) and "…" in got, got)
    s.end()


def test_files(home):
    s = Session(home)
    for line in ("2 + 3", "ans * 2", "nothing", "fn f(x) { x + ans }", "f(1)", "y = 4; y + 1  # a comment", "ans"):
        s.line(line)
    s.expect(":save kept.ric", "")
    got = open(home + "/kept.ric").read()
    check(":save", got == "ans = (2 + 3)\nans = (ans * 2)\nfn f(x) { x + ans }\nf(1)\n"
          "y = 4; ans = (y + 1)  # a comment\nans\n", got)
    s.expect_in(":save kept.ric", "error[io]: there is a file \"kept.ric\" already", "help: :save! kept.ric replaces it")
    s.expect(":save! kept.ric", "")
    s.expect(":reset", "")
    s.expect(":load kept", "")
    s.expect("y", "4")
    s.expect_in(":load", "error[value]: :load needs a file name")
    s.expect_in(":save /no/such/folder/x.ric", "error[io]", "No such file")
    os.mkdir(home + "/a folder")
    s.expect(":save a folder/it.ric", "")
    s.expect(":load \"a folder/it.ric\"", "")
    s.expect(":cd a folder", home + "/a folder")
    s.expect(":pwd", home + "/a folder")
    s.expect(":cd", home)
    s.expect_in(":cd nowhere", "error[io]: cannot go to \"nowhere\": No such file")
    with open(home + "/wrong.ric", "w") as f:
        f.write("q = 1\nq +* 2\n")
    s.expect_in(":load wrong.ric", "error[syntax]", "wrong.ric:2:")
    s.end()
    got, status = piped([home + "/kept.ric"], "")
    check("what :save wrote runs", status == 0, got)


def test_words(home):
    s = Session(home)
    s.expect_in(":he vars", ":vars [PATTERN]", "dtype")
    s.expect_in(":ex", "error[name]: :ex may be :explain or :exit")
    s.expect_in(":histroy", "error[name]", "did you mean :history?")
    s.expect_in(":1", "error[name]: there is no command :1")
    s.expect_in("?", "Five things to try", "?svd", "TAB")
    s.expect_in("?operations", "topics\n", "linear algebra\n")
    s.expect_in("svd?", "svd(A, full=false)", "gesdd")
    s.line("A = zeros(2, 3)")
    s.expect_in("A?", "A is a variable: 2×3 f64")
    s.expect_in("whos", "(that is :vars here)", "2×3")
    s.expect_in("%time 1 + 1", "(that is :time 1 + 1 here)", "2\n", "allocations")
    s.expect_in("@time 1 + 1", "2\n")
    s.expect_in("q", ":q leaves")
    s.expect_in("help svd", "(that is ?svd here)", "gesdd")
    s.expect_in("whos A", "2×3")
    s.expect_in("clear all", ":reset forgets")
    s.expect_in("save \"x.npy\", A", "save(\"x.npy\", A) writes a tensor")
    s.expect_in("format long", "format(digits=16)")
    s.expect_in("clear A", "(that is :reset A here)")
    s.expect_in("A = zeros(2, 3); A", "2×3 f64")
    s.expect_in("doc if", "if c { … }")
    s.line("who = 2")
    s.expect_in("who 3", "error[syntax]")
    s.expect_in("clear", ":reset")
    s.line("ls = 3")
    s.expect("ls", "3")
    s.expect_in("pwd", home)
    s.expect_in("!cd /tmp", "ends at once", ":cd /tmp changes it")
    s.expect("!echo a b", "a b")
    s.expect("!echo \"$0\"; exit 3", "sh\nexit status 3")
    s.expect("!kill -9 $$", "ended by signal 9 (Killed)")
    s.expect("!stty raw -echo; exit 3", "exit status 3")
    s.expect("!stty -a | grep -c -e -opost", "0\nexit status 1")
    s.expect("!yes | head -n 1", "y")
    s.expect_in("!", "error[value]: ! runs a shell command")
    s.expect_in(":time A @ ones(3)", "vector of 2 f64", "allocations", "in use")
    s.expect_in(":time", "error[value]: :time needs an expression", "help: for example")
    s.expect_in(":explain", "error[value]: :time needs an expression")
    s.expect_in("nosuch + 1", "error[name]")
    s.expect_in(":explain", "error[name]: `nosuch` is not defined")
    s.expect_in(":explain shape", "error[shape]")
    s.expect_in(":explain A @ ones(3)", "matmul")
    check("quit leaves", s.end(b"quit\n") == 0)
    s = Session(home)
    check("exit leaves", s.end(b"exit\n") == 0)


def test_search(home):
    s = Session(home, size=(24, 80))
    got = s.line("??least squares")
    check("??words", "lstsq" in "".join(got.split("\n")[:2]) and got.count("\n") < 24, got)
    got = s.line("??matrix")
    check("??matrix says how many more", "more: another word narrows it" in got and got.count("\n") < 24
          and all(len(line) <= 80 for line in got.split("\n")), got)
    s.expect_in("??hilbert", "gallery.hilb")
    got = s.line("??cholesky")
    check("??cholesky begins with what it is here", got.lstrip().startswith("chol "), got)
    s.expect_in("??zzyzx", "no help speaks of zzyzx")
    s.expect_in("??", "error[value]: ?? searches the help for words")
    s.expect_in("??how long it took allocated", ":time EXPR")
    s.end()


def test_edit(home):
    with open(home + "/ed", "w") as f:
        f.write("#!/bin/sh\nsed -i -e 's/20/22/' -e 's/ + 1/ + 2/' \"$1\"\n")
    os.chmod(home + "/ed", 0o755)
    s = Session(home, EDITOR=home + "/ed", TMPDIR=home)
    s.line("20 * 2")
    s.expect(":edit", "44")
    s.expect(":edit", "nothing changed, nothing was run")
    for line in ("## Adds one.", "fn inc(x) {", "    x + 1"):
        s.line(line, (MORE,))
    s.line("}")
    s.expect(":edit inc", "")
    s.expect("inc(1)", "3")
    s.expect_in("?inc", "Adds one.")
    with open(home + "/two.ric", "w") as f:
        f.write("w = 20\n")
    s.expect(":edit two.ric", "")
    s.expect("w", "22")
    s.expect_in(":edit w", "error[value]: w is no function that was written here")
    s.expect_in(":edit nosuch", "error[name]: there is no function and no file `nosuch`")
    s.line("20 + 1")
    with open(home + "/ed", "w") as f:
        f.write("#!/bin/sh\necho ' +* 2' >> \"$1\"\n")
    s.expect_in(":edit", "error[syntax]", "+* 2")
    with open(home + "/ed", "w") as f:
        f.write("#!/bin/sh\nsed -i -e '$d' -e s/20/41/ \"$1\"\n")
    s.expect(":edit", "42")
    left = [f for f in os.listdir(home) if f.startswith("ricci-")]
    check("no temporary files are left", not left, left)
    s.end()
    s = Session(home, EDITOR="false")
    s.line("1")
    s.expect_in(":edit", "error[io]: the editor `false` ended with status 1; nothing was run")
    s.end()
    s = Session(home, EDITOR="no-such-editor")
    s.line("1")
    s.expect_in(":edit", "error[io]: the editor `no-such-editor` cannot be run", "help:")
    s.expect_in(":history", "20 * 2", "fn inc")
    s.expect_in(":history inc", "inc(1)")
    got = s.line(":history 2")
    check(":history N", got.count("\n") == 1 and ":history inc" in got, got)
    s.end()


def test_completion(home):
    os.mkdir(home + "/my data")
    for name in ("my data/a b.csv", "q\"x.npy", "{br}.csv", "demo.ric", "new\nline"):
        open(home + "/" + name, "w").close()
    s = Session(home)
    s.line("A = [2.0, 1; 1, 3]; t = (Q=A, xs=3); v5000 = 1; Omega = 7")
    s.line("fn power(A, count=100, tol=1e-8) { count }")
    s.line("import stats")
    s.expect("zeros(2, dt\ti64)", "vector of 2 i64\n[0, 0]")
    s.expect("power(A, cou\t7)", "7")
    s.expect("t.x\t + 1", "4")
    s.expect("omeg\t", "7")
    s.expect("\\alpha\t = 4; α", "4")
    s.expect("len(\"my\ta b.csv\")", "15")
    s.expect("len(\"q\t)", "7")
    s.expect("len(\"{{\t)", "8")
    s.expect("precision ratio\t { repr(1/3) }", "\"rational(\\\"1/3\\\")\"")
    s.expect("f16(3) \\appro\t f16(3)", "true")
    offers(s, "", "A ", "2×2 f64", "power(A, count=100, tol=1e-8)", presses=2)
    offers(s, "svd(", "svd(A, full=false)", "^", presses=1)
    offers(s, "svd(A, ", "full=", "2×2 f64")
    offers(s, "power(A, ", "power(A, count=100, tol=1e-8)", "         ^^^", presses=1)
    offers(s, "power(A, tol=", " " * 20 + "^^^", presses=1)
    offers(s, "t.", "Q   2×2 f64", "xs  int = 3")
    offers(s, "stats.", "normal_cdf", "zscore")
    offers(s, "\\al", "\\alpha  α")
    offers(s, "import ", "gallery", "demo")
    offers(s, "import hilb from ", "gallery")
    offers(s, "precision ", "bf16", "mp(", without=("bool", "i64"))
    offers(s, "precision bf16 ", "accumulate", "round")
    offers(s, "precision bf16 round ", "nearest", "stochastic")
    offers(s, "on ", "cpu", "sim.mps", "gpu")
    offers(s, "on sim.", "sim.mps", "sim.tpu")
    offers(s, "zeros(2, dtype=", "i64", "bf16")
    offers(s, "?sv", "svd", "svdvals", presses=3)
    offers(s, ":l", "oad ", presses=1)
    offers(s, ":", "load", "run a file here")
    offers(s, ":load ", "demo.ric", "my data/")
    offers(s, ":vars ", "Omega")
    offers(s, ":explain sh", "ape", presses=1)
    offers(s, "!ls my", "\\ data/", presses=1)
    offers(s, "# com A", without=("2×2",))
    offers(s, "\"text {t.", "Q   2×2 f64")
    offers(s, "fn f(first_one, second) { fir", "st_one", presses=1)
    s.end()


def test_many(home):
    """With 5,000 variables TAB answers at once, asks before it shows them, and pages."""
    with open(home + "/many.ric", "w") as f:
        f.write("\n".join("item%d = %d" % (i, i) for i in range(5000)))
    s = Sight(home)
    s.type(":load many.ric\r")
    s.type("x = it")
    start = time.time()
    s.type("\t")
    check("TAB among 5,000 variables", s.see("ricci> x = item", wait=1), s.screen.lines())
    s.type("4999\t\r")
    check("is fast", time.time() - start < 1.5, time.time() - start)
    s.type("x\r")
    check("and right", s.see("4999", wait=3), s.screen.lines())
    s.type("item\t\t")
    check("many are asked for", s.see("Display all 5000 possibilities? (y or n)", wait=3), s.screen.lines())
    s.type("y")
    check("and paged", s.see("-- more: space", wait=3), s.screen.lines())
    s.type("q")
    check("q shows the line again", s.see(lambda t: t.lines()[-1] == "ricci> item", wait=3), s.screen.lines())
    s.type("7\r")
    check("which goes on", s.see("\n7\n", wait=3), s.screen.lines())
    s.type(":vars\r")
    check("long tables are paged", s.see("-- more: space", wait=3) and "item1000" in "\n".join(s.screen.lines()),
          s.screen.lines())
    s.type(" ")
    s.type("\x03")
    check("Ctrl-C in the pager gives the prompt", s.see(lambda t: t.lines()[-1] == "ricci>", wait=3), s.screen.lines())
    s.type("2 + 2\r")
    check("and nothing else", s.see("\n4\n", wait=3), s.screen.lines())
    s.end()


def test_pages(home):
    """Keys in the middle of a long text: arrows go on, what else is typed is the next entry."""
    s = Sight(home, size=(14, 80))
    s.type("?operations\r")
    check("a page", s.see("-- more: space", wait=3), s.screen.lines())
    first = s.screen.lines()
    s.type("\x1b[B")
    check("Down is a line", s.screen.lines()[:-1] == first[1:-1] + s.screen.lines()[-2:-1], s.screen.lines())
    s.type("\x1b[6~\x1b[H")
    check("PageDown a page", first[-2] not in s.screen.lines() and s.see("-- more: space", wait=3), s.screen.lines())
    s.type("λ_2 = 7;\r")
    check("a key begins the next entry", "ricci> λ_2 = 7;" in s.screen.lines(), s.screen.lines())
    s.type("λ_2 + 1\r")
    check("which ran", s.see("\n8\n", wait=3), s.screen.lines())
    s.end()


def test_list(home):
    """What a list of completions looks like: names, and what they are, within the terminal's width."""
    s = Sight(home, size=(24, 60))
    s.type("A = [2.0, 1; 1, 3]; alpha_of_the_whole_experiment = \"text\"\r")
    s.type("norm(A\t\t")
    got = s.screen.lines()
    check("the list fits", any("A  2×2 f64" == line for line in got)
          and all(len(line) <= 60 for line in got) and got[-1] == "ricci> norm(A", got)
    s.type("\x15svd(\t")
    got = s.screen.lines()
    check("the signature, the argument underlined", "svd(A, full=false)" in got and got[-1] == "ricci> svd("
          and any("4" in look for look in s.screen.looks("A, full", None)), got)
    s.type("\x15(1,\r(2, alpha_O\t")
    got = s.screen.lines()
    check("the second line of an entry, another letter case", got[-1].endswith("(2, alpha_of_the_whole_experiment"), got)
    s.type("\x03")
    s.end()
