"""Stopping and waiting: Ctrl-C in every kind of long work, the line that says how far it is, and
the signals that stop or end the session. Bounds are loose, for busy machines (STOP_LATE, in
seconds); what the times are on a quiet one `make soak` measures (interrupts.py)."""
import os
import random
import re
import signal
import time

import session
from session import PROMPT, Session, check

LATE = float(os.environ.get("STOP_LATE", "10"))
SETUP = ["v = rand(2000);", "A = rand(300, 300);", "t = (1, \"two\", [3.0, 4]);", "k = 17;", "s = \"abc\" * 10",
         "sums = (sum(v), sum(A), repr(t), k, s)"]
INTACT = "(sum(v), sum(A), repr(t), k, s) == sums"
# Each would take many seconds, or for ever.
FOREVER = [
    "while true { j = 1 }", "for i in 0:10^13 { sin(i) }", "fn f(i) { if i < 2 { 1 } else { f(i-1) + f(i-2) } }; f(90)",
    "x = [i for i in 0:10^12]", "for i in 0:10^9 { try { throw \"x\" } catch e { } }", "x = svd(rand(3000, 3000))",
    "x = eig(rand(2000, 2000))", "x = rand(3000, 3000); x = eigh(x + x')", "x = solve(rand(6000, 6000), rand(6000))",
    "x = inv(rand(4000, 4000))", "x = rand(9000, 9000); y = x @ x", "x = sort(rand(3*10^8))",
    "x = lu(zeros(65536, 536870912, 0, 1))",
    "x = rand(20000); y = x; for i in 0:10^9 { y = outer(x, x) }", "precision mp(5000) { x = inv(rand(200, 200)) }",
    "precision rational { x = inv(randint(1, 99, (200, 200))) }", "print([\"x\" for i in 0:10^9])",
    "for i in 0:10^9 { print(i) }", "w = rand(3000); x = sum[a,b,c] sin(w[a] * w[b] * w[c])",
]
# What a random interrupt meets: short and long, and much that changes variables.
MIXED = FOREVER[:6] + [
    "for i in 0:10^5 { k = 17; t = (1, \"two\", [3.0, 4]) }", "A = A + 0", "v[0] = v[0]", "x = A @ A", "x = svd(A)",
    "x = inv(A)", "x = sort(v)", "k = 17", "print(v)", "x = repr(A)", "s = s + \"\"", "for i in 0:10^9 { A[0, 0] = A[0, 0] }",
]


def started(home, **more):
    s = Session(home, **more)
    for line in SETUP:
        s.line(line)
    return s


def interrupt(s):
    """Presses Ctrl-C; returns what came, up to the prompt, and the seconds that it took."""
    start = time.time()
    s.send(b"\x03")
    got = s.until(PROMPT, wait=2 * LATE)
    return got, time.time() - start


def test_stop_each(home):
    s = started(home)
    for work in FOREVER:
        s.send(work + "\n")
        s.until(PROMPT, wait=0.15)
        got, took = interrupt(s)
        check("%s stops" % work, got.endswith(PROMPT) and b"interrupt" in got, got[-300:])
        check("%s stops soon" % work, took < LATE, took)
        if not got.endswith(PROMPT):
            break
        s.line("x = y = none" if "y =" in work else "x = none")
    s.expect(INTACT, "true")
    check("the session ends", s.end() == 0)


def test_stop_fortran(home):
    """LAPACK is left midway by its Fortran names as well, where LAPACKE's are usual."""
    s = started(home, RICCI_LAPACKE="0")
    for work in [x for x in FOREVER if re.search(r"svd|eig|solve|inv\(rand\(4", x)]:
        s.send(work + "\n")
        s.until(PROMPT, wait=0.3)
        got, took = interrupt(s)
        check("%s stops" % work, got.endswith(PROMPT) and b"interrupt" in got, got[-300:])
        check("%s stops soon" % work, took < LATE, took)
        s.line("x = none")
    s.expect(INTACT, "true")
    check("the session ends", s.end() == 0)


def test_stop_random(home):
    """Interrupts at random moments of random work, also in the middle of its line."""
    rng, s = random.Random(int(os.environ.get("SEED", "8"))), started(home)
    for _ in range(40):
        work = rng.choice(MIXED)
        at = rng.choice([len(work)] * 4 + [rng.randrange(len(work))])
        s.send(work[:at] + ("\n" if at == len(work) else ""))
        s.until(PROMPT, wait=rng.choice([0, 0.001, 0.01, 0.05]))
        s.send(b"\x03")
        s.send("\n\"mark\"\n")
        got = s.until(b"\r\n\"mark\"\r\n" + PROMPT, wait=2 * LATE)
        check("a prompt after %r" % work[:at], got.endswith(PROMPT), got[-300:])
        if not got.endswith(PROMPT):
            return
    s.expect(INTACT, "true")
    check("the session ends", s.end() == 0)


def test_stop_at_once(home):
    """An interrupt that comes while the entry is being taken stops it: none is lost."""
    s = started(home)
    for i in range(120):
        s.send("while true { k = 1 }\n")
        time.sleep(i % 40 * 0.0002)
        s.send(b"\x03")
        s.send("\n\"mark\"\n")
        got = s.until(b"\r\n\"mark\"\r\n" + PROMPT, wait=2 * LATE)
        check("a prompt after %.1f ms" % (i % 40 * 0.2), got.endswith(PROMPT), got[-300:])
        if not got.endswith(PROMPT):
            return
    check("the session ends", s.end() == 0)


def test_stop_typing(home):
    """An interrupt takes the keys that wait with it: no other key is needed for the next prompt."""
    for term, fresh in ("dumb", b"\n"), ("xterm", b"\x1b[K"):
        s = Session(home, term=term)
        for i in range(300):
            s.send("x = 1 + 2 + (3 + 4) * 5 - 6 / (7 + 8 - 9); " * 20)
            time.sleep(i % 100 * 0.0003)
            s.send(b"\x03")
            got = s.until(fresh + PROMPT, wait=2 * LATE)
            came = session.COLOUR.sub(b"", got).endswith(fresh + PROMPT)
            check("%s: a prompt after %.1f ms" % (term, i % 100 * 0.3), came, got[-300:])
            if not came:
                return
        check("the session ends", s.end() == 0)


def takes_interrupts(pid):
    """The threads of a process that Ctrl-C may come to."""
    takers = []
    for thread in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/status" % (pid, thread)) as status:
            held = int(re.search(r"^SigBlk:\s*(\w+)", status.read(), re.MULTILINE)[1], 16)
        if not held >> (signal.SIGINT - 1) & 1:
            takers.append(thread)
    return takers


def test_stop_threads(home):
    """Threads of libraries take no interrupts: the one that waits for keys would go on waiting."""
    s = Session(home, RICCI_THREADS="4")
    s.line("A = rand(600, 600); x = qr(A); y = svd(A); z = A @ A; w = bf16(A) @ bf16(A); v = sum(A);")
    takers = takes_interrupts(s.pid)
    check("one thread takes interrupts", len(takers) == 1, takers)
    s.end()


def test_stop_named(home):
    """What cannot be stopped is named, and named again; the third leaves it."""
    s = started(home)
    s.line('extern "libpthread.so.0" { int pthread_spin_lock(int *lock); }')
    s.line("lock = i32([1])")
    s.send("pthread_spin_init = 0; spin = i32([0]); pthread_spin_lock(spin)\n")
    s.until(PROMPT, wait=0.2)
    for press in ("first", "second"):
        s.send(b"\x03")
        got = s.until(b"halfway\r\n", wait=LATE)
        check("the %s names it" % press, b"waiting for the native call pthread_spin_lock to end" in got, got)
    s.send(b"\x03")
    got = s.until(PROMPT, wait=LATE)
    check("the third leaves it", b"was left halfway" in got and got.endswith(PROMPT), got)
    s.expect(INTACT, "true")
    check("the session ends", s.end() == 0)


def test_stop_lapack(home):
    """Where LAPACK cannot be stopped it is named, and ends in its own time."""
    s = Session(home, RICCI_LAPACK_STOP="0")
    for n in (1400, 2200, 3500):            # until it is long enough for this machine
        work = "svdvals(rand(%d, %d))" % (n, n)
        s.send("x = %s; \"over\"\n" % work)
        if not s.until(PROMPT, wait=0.4).endswith(PROMPT):
            break
    s.send(b"\x03")
    got = s.until(b"since Ctrl-C\r\n", PROMPT, wait=LATE)
    check("it is named", ("waiting for `%s` to end" % work).encode() in got or got.endswith(PROMPT), got)
    if not got.endswith(PROMPT):
        got = s.until(PROMPT, wait=60)
    check("then it is interrupted", b"error[interrupt]" in got and b"\n\"over\"" not in got, got)
    check("the session ends", s.end() == 0)


def drawn(got):
    """The states of the progress line, in order, without its colours."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", got.decode(errors="replace"))
    return [line.split("\x1b[K")[0] for line in text.split("\r")[1:] if "\x1b[K" in line]


def watched(home, **more):
    """A terminal on which the line is drawn, without colours, and early."""
    return Session(home, term="xterm", RICCI_PROGRESS="0.1", NO_COLOR="1", **more)


def test_progress_loop(home):
    s = watched(home)
    s.send("for i in 0:10^11 { k = sin(i) }\n")
    got = s.until(b"left\x1b[K", wait=LATE)
    lines = [x for x in drawn(got) if "for i in" in x]
    check("percent and time left", re.fullmatch(r"for i in 0:10\^11   \d+ %   .*left", lines[-1] if lines else ""), lines)
    got, _ = interrupt(s)
    check("it is taken away", b"\r\x1b[K" in got and got.index(b"\r\x1b[K") < got.index(b"interrupt"), got)
    s.send("while true { k = 1 }\n")
    got = s.until(b"while true   1 s\x1b[K", wait=LATE)
    check("time alone", got.endswith(b"\x1b[K"), got)
    interrupt(s)
    check("the session ends", s.end() == 0)


def test_progress_printing(home):
    """What a program prints stands in whole lines, none of them mixed with the progress line."""
    s = watched(home)
    s.send("for i in 0:10^9 { for j in 0:2*10^5 { k = sin(j) }; print(\"line\", i) }\n")
    got = s.until(b"line 40\r\n", wait=2 * LATE)
    more, _ = interrupt(s)
    seen = re.sub(r"\x1b\[[0-9;]*m", "", got.decode())
    rows = [row.split("\x1b[K")[-1] for row in seen.split("\n")[1:]]
    rows = [re.sub(r"[^\r]*\r(?=.)", "", row).strip("\r") for row in rows]
    check("lines are whole", rows[:41] == ["line %d" % i for i in range(41)], rows[:45])
    check("it was shown", any("for i in" in x for x in drawn(got)), drawn(got)[:5])
    check("the session ends", s.end() == 0)


def test_progress_narrow(home):
    s = watched(home, size=(10, 24))
    s.send("for some_variable in 0:10^11 { k = sin(1) }\n")
    got = s.until(b"left\x1b[K", wait=LATE)
    check("never wider than the terminal", all(len(x) < 24 for x in drawn(got)) and got.endswith(b"K"), drawn(got))
    interrupt(s)
    check("the session ends", s.end() == 0)


def test_progress_off(home):
    for more in ({"term": "dumb"}, {"term": "xterm", "NO_COLOR": "1", "RICCI_PROGRESS": "off"}):
        s = Session(home, **{"RICCI_PROGRESS": "0.05", **more})
        s.send("for i in 0:10^11 { k = sin(i) }\n")
        s.until(PROMPT, wait=0.4)
        got, _ = interrupt(s)
        check("no line with %s" % more, b"left" not in s.all and b" %" not in s.all, s.all[-200:])
        s.end()
    s = Session(home, term="xterm", RICCI_PROGRESS="0.1")
    s.send("for i in 0:10^11 { k = sin(i) }\n")
    got = s.until(b"left\x1b[K", wait=LATE)
    check("faint where there are colours", b"\r\x1b[2mfor i in 0:10^11   " in got and got.endswith(b"K"), got)
    interrupt(s)
    s.end()


def test_stop_signals(home):
    """Stopped and continued in the middle of work, under a shell; ended from outside."""
    ricci, session.RICCI = session.RICCI, "/bin/sh"
    s = Session(home, ("-i",), term="xterm", RICCI_PROGRESS="0.1", NO_COLOR="1", PS1="ricci> ", ENV="")
    session.RICCI = ricci
    s.line(ricci)
    s.send("for i in 0:10^11 { k = sin(i) }\n")
    got = s.until(b"left\x1b[K", wait=LATE)
    check("it runs", got.endswith(b"K"), got)
    s.send(b"\x1a")
    got = s.until(PROMPT, wait=LATE)
    check("it stops, without its line", b"Stopped" in got and got.endswith(PROMPT) and b"\r\x1b[K" in got, got)
    s.send("fg\n")
    got = s.until(b"left\x1b[K", wait=LATE)
    check("it goes on", got.endswith(b"K"), got)
    got, _ = interrupt(s)
    check("and stops at Ctrl-C", b"error[interrupt]" in re.sub(rb"\x1b\[[0-9;]*m", b"", got), got)
    s.send(b"\x04")
    s.until(PROMPT, wait=LATE)
    with open(os.path.join(home, "work.ric"), "w") as out:
        out.write("print(\"begun\")\nfor i in 0:10^11 { k = sin(i) }\n")
    s.send(ricci + " work.ric\n")
    got = s.until(b"left\x1b[K", wait=LATE)
    check("a file's loop has the line", b"begun\r\n" in got and got.endswith(b"K"), got)
    interrupt(s)
    s.expect("echo $?", "130")
    s.end(b"exit\n")
    s = watched(home)
    s.send("for i in 0:10^11 { k = sin(i) }\n")
    s.until(b"left\x1b[K", wait=LATE)
    os.kill(s.pid, signal.SIGTERM)
    pid, status = os.waitpid(s.pid, 0)
    check("SIGTERM ends it", os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGTERM, status)
    os.close(s.fd)
