#!/usr/bin/env python3
"""Interrupts into a busy session: every kind of long work is started on a pseudo-terminal
and stopped with Ctrl-C, then MOMENTS (200) more land at random moments of random work. After each
the prompt must come back soon, and at the end every variable must hold what it held.

`make soak` runs it (about a minute). RICCI names the binary, SEED the sequence, SLOW the
seconds after which a stop is late. Prints `N passed, N failed` last."""
import os
import random
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from session import PROMPT, Session  # noqa: E402

SLOW = float(os.environ.get("SLOW", "1.0"))
SEED = int(os.environ.get("SEED", "1"))
MOMENTS = int(os.environ.get("MOMENTS", "200"))
SETUP = [
    "v = rand(3 * 10^6);", "A = rand(600, 600);", "t = (1, \"two\", [3.0, 4]);", "s = \"abc\" * 1000;",
    "k = 17;", "w = rand(10^7);", "m = w > 0.5;", "n = (x=1, y=[2, 3]);", "L = [x * x for x in 0:1000];",
    "big = \"a,b\" * 10^6;",
]
CHECK = ('print(sum(v) == sv, sum(A) == sA, sum(w) == sw, count(m) == cm, t[1], len(s), k, n.y[1], '
         'sum(L), len(big))')
# What a user might wait for. Each takes seconds if left alone, and stops at Ctrl-C. One that
# assigns a checked variable takes longer than that on any machine: it never gets that far.
WORK = [
    "while true { k = k }", "for i in 0:10^12 { L[3] = 9 }", "fn f(i) { if i < 2 { 1 } else { f(i-1) + f(i-2) } }; f(60)",
    "for i in 0:100 { C = A @ A }", "x = A @ A @ A @ A @ A", "x = solve(A, A)", "x = svd(A)", "x = eig(A)", "x = inv(A)",
    "x = qr(A)", "x = eigh(A + A')", "for i in 0:1000 { x = det(A) }", "x = sort(concat(w, w))", "x = argsort(concat(w, w))",
    "for i in 0:1000 { x = cumsum(w) }", "for i in 0:1000 { x = allclose(w, w) }", "x = unique(w)", "x = median(concat(w, w))",
    "for i in 0:1000 { x = take(w, [1, 2, 3]); x = w + w }", "for i in 0:100 { x = sin(w) ^ 2.5 }", "x = quantile(w, 0.3)",
    "for i in 0:10^9 { s = s + \"x\" }", "for i in 0:10^9 { t = append(t, i) }", "print(tuple_of(10^7))", "for i in w { print(i) }",
    "print(reshape(concat(w, w), (10000, 2000)))", "x = string(L) * 10^5", "x = repr(w)", "x = repr(concat(w, w, w))",
    "x = einsum(\"i,j,k->\", v[:3000], v[:3000], v[:3000])", "x = einsum(\"ij,jk,kl->il\", A, A, A)",
    "v[i] := sum[j] exp(-abs(v[i] - v[j]))", "x[i,j] := max[m] (A[i,m] + A[m,j]) * sum[n] abs(A[i,n] - A[j,n])",
    "x = einsum(\"i,j->ij\", v[:20000], v[:10000])", "x = [i * i for i in 0:10^9]", "x = [i + j for i in 0:10^5, j in 0:10^5]",
    "x = map(y -> y + 1, w)", "x = filter(y -> y > 0.5, w)", "x = reduce((a, b) -> a + b, w)", "x = split(big, \",\")",
    "x = replace(big * 20, \"a\", \"bcd\")", "x = join(split(big, \",\"), \"--\")", "x = find(big * 100, \"zz\")",
    "x = upper(big * 100)", "x = load(\"large.csv\")", "save(\"x.csv\", reshape(w, (10^6, 10)))", "x = randn(3 * 10^7)",
    "x = A[A > 0.5]", "for i in 0:10^6 { x = w[m] }", "for i in 0:10^6 { w2 = w; w2[m] = 0 }", "x = kron(A[:100, :100], A[:100, :100])",
    "x = pad(A, 3000)", "x = tile(w, 5)", "x = repeat(w, 5)", "x = matpow(A, 1000)", "x = norm(A, 2)", "x = pinv(A)",
    "x = bincount(randint(0, 100, 10^7))", "x = searchsorted(sort(w), w)", "for i in 0:1000 { x = w == w }",
    "for i in 0:1000 { x = i64(w) }", "x = flip(w); x = roll(w, 3)", "for i in 0:10^9 { try { throw \"x\" } catch e { } }",
    "x = shuffle(concat(w, w))", "x = choice(w, 10^7)", "x = nonzero(concat(m, m, m))", "x = histogram(w)", "x = \"{w}\" * 50",
    "for i in 0:10^6 { x = softmax(w) }", "x = logsumexp(concat(w, w))", "x = 1.0 * (0:10^8)", "x = var(concat(w, w)); x = std(w)", "x = w · w",
    "for i in 0:10^6 { x = grad(x -> sum(tanh(x)^2))(w) }", "L = grad(x -> { for i in 0:10^9 { x[i % 1000] = x[0] * 0.5 }; sum(x) })(L)",
    "for j in 0:10^6 { x = grad(x -> { for i in 0:30 { x = sin(x) }; sum(x) })(v) }; v = x", "for j in 0:10^6 { x = hessian(A -> sum(A @ A @ A))(A[:50, :50]) }; A = x", "for i in 0:10^6 { x = jacobian(x -> x[:50] * sum(x^2))(v[:10^4]) }",
    "A = grad(A -> { for i in 0:1000 { B[i,k] := A[i,j] * A[j,k]; A = tanh(B) }; sum(A) })(A)", "v = jvp(x -> { for i in 0:10^5 { x = sin(x) }; x }, v, v)",
    "for j in 0:10^6 { x = grad(checkpoint(A -> { for i in 0:100 { A = tanh(A @ A) }; sum(A) }))(A) }; A = x",
    "A = grad(A -> { for i in 0:1000 { A = inv(A + 9) }; sum(A) })(A)",
    "fn turned(v) { v -= v * v; return v }; fn over(v) { while true { v += 1.0; v = turned(v); v *= 0.5 } }; v = over(v)",
    "fn both(t, w) { w -= w * 0.5; t[2][0] = 7.0; return t, w }; fn over(t, w) { while true { t, w = both(t, w) } }; t, w = over(t, w)",
]


class Soak:
    def __init__(self, home):
        self.passed = self.failed = 0
        self.session = Session(home)
        self.late = {}
        for line in SETUP:
            self.session.line(line)
        self.session.line("sv = sum(v); sA = sum(A); sw = sum(w); cm = count(m); tuple_of = n -> [\"x\" for i in 0:n]")
        self.state = self.session.line(CHECK)

    def count(self, ok, what):
        self.passed, self.failed = self.passed + ok, self.failed + (not ok)
        if not ok:
            print("FAIL " + what, flush=True)

    def restore(self):
        """The work may change these on purpose."""
        self.session.line("k = 17; s = \"abc\" * 1000; t = (1, \"two\", [3.0, 4]); L[3] = 9; x = none; C = none")

    def stop(self, work, after):
        """Starts work, interrupts it, and waits for the prompt; False if there is none."""
        s = self.session
        s.send(work + "\n")
        s.until(PROMPT, wait=after)
        start = time.time()
        s.send(b"\x03")
        limit = time.time() + 20
        got = b""
        while time.time() < limit and not got.endswith(PROMPT):
            got += s.until(PROMPT, wait=0.25)
        took = time.time() - start
        if not got.endswith(PROMPT):
            return False
        if took > SLOW + 0.25:
            self.late[work] = max(took, self.late.get(work, 0))
        return True

    def settle(self):
        """Prompts that came late must not be taken for answers."""
        self.session.until(wait=0.1)


def main():
    rng = random.Random(SEED)
    home = tempfile.mkdtemp(prefix="ricci-soak.")
    with open(os.path.join(home, "large.csv"), "w") as out:
        out.write("1.5,2.25,3\n" * 2000000)
    soak = Soak(home)
    try:
        for work in WORK + [None] * MOMENTS:
            chosen = work or rng.choice(WORK)
            ok = soak.stop(chosen, 0.4 if work else rng.uniform(0, 0.12))
            soak.count(ok, "no prompt after Ctrl-C in " + chosen)
            if not ok:
                break
            if work or rng.random() < 0.1:
                soak.settle()
                soak.restore()
                got = soak.session.line(CHECK)
                soak.count(got == soak.state, "variables after %s: %r, not %r" % (chosen, got, soak.state))
        for work, took in soak.late.items():
            soak.count(False, "%.1f s to stop %s" % (took, work))
        status = soak.session.end()
        soak.count(status == 0, "the session's end: %s" % status)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    print("%d passed, %d failed" % (soak.passed, soak.failed))
    return 1 if soak.failed else 0


if __name__ == "__main__":
    sys.exit(main())
