"""The twin of exact.ric: exact_peer.py mpmath|flint|decimal FILE, the answers that Ricci printed, which it compares
with its own. One thread. Where mpmath would take minutes it has smaller matrices, and the time is scaled by the
operations, n^3."""
import sys

sys.path.insert(1, "bench")
from timing import median_of

PEER, ANSWERS = sys.argv[1:3]
N, LARGE = 100, 500

ours = {}
for line in open(ANSWERS):
    if line.startswith("= "):
        name, text = line[2:].split()
        ours.setdefault(name, []).append(text)


def show(name, seconds, scale=1):
    print(f"{name} {seconds * scale:.9f}", flush=True)


def agree(name, good):
    print(f"= {name} {'agrees' if good else 'DIFFERS'}", flush=True)


def numbers(seed, rows, cols):
    x, out = seed, []
    for _ in range(rows):
        row = []
        for _ in range(cols):
            x = x * 48271 % 2147483647
            row.append(x % 2001 - 1000)
        out.append(row)
    return out


def data(n):
    A, B, b = numbers(1, n, n), numbers(2, n, n), numbers(3, n, 1)
    return A, B, b, [[A[i][j] + A[j][i] for j in range(n)] for i in range(n)]


def run_mpmath():
    import mpmath
    from mpmath import iv, mp

    if mpmath.libmp.BACKEND != "gmpy":
        sys.exit("mpmath without gmpy2")
    mp.prec, part = 200, 50
    A, B, b, S = (mp.matrix(x) for x in data(N))
    X, Y = A / 7, B / 7

    def near(name, mine, size, bits):
        agree(name, all(abs(mp.mpf(t) - m) <= mp.ldexp(size, -bits) for t, m in zip(ours[name], mine)))

    near("mp-matmul", [(X * Y)[1, 2]], abs((X * Y)[1, 2]), 180)
    near("mp-solve", [mp.lu_solve(X, b)[1]], 10, 180)
    show("mp-matmul", median_of(lambda: X * Y, 2))
    show("mp-solve", median_of(lambda: mp.lu_solve(X, b), 1))
    if len(sys.argv) > 3:                   # once: half a minute
        values = mp.eigsy(S, eigvals_only=True)
        near("mp-eigh", [values[0], values[57]], 1e5, 180)
        values = mp.svd_r(A, compute_uv=False)
        near("mp-svd", [values[0], values[N - 1]], 1e5, 180)
        near("mp-eigh-left", [0], 1e5, 180)
        near("mp-svd-left", [0], 1e5, 180)
        _, _, _, S = (mp.matrix(x) for x in data(part))
        A = mp.matrix(data(part)[0])
        show("mp-eigh", median_of(lambda: mp.eigsy(S), 1), (N / part) ** 3)
        show("mp-svd", median_of(lambda: mp.svd_r(A), 1), (N / part) ** 3)

    mp.dps = 16
    A, B, _, _ = (mp.matrix(x) for x in data(N))
    X, Y = A / 7, B / 7
    near("decimal-matmul", [(X * Y)[1, 2]], abs((X * Y)[1, 2]), 40)
    show("decimal-matmul", median_of(lambda: X * Y, 2))

    part = 40
    A, B, b, _ = data(part)
    X, Y, R = iv.matrix(A) / 3, iv.matrix(B) / 3, iv.matrix(b)
    P, Q, scale = iv.matrix(A), iv.matrix(B), (LARGE / part) ** 3
    show("interval-matmul", median_of(lambda: X * Y, 1), scale)
    show("interval-points", median_of(lambda: P * Q, 1), scale)
    show("interval-solve", median_of(lambda: iv.lu_solve(X, R), 1), scale)


def run_flint():
    from flint import acb_mat, arb, arb_mat, ctx, fmpq, fmpq_mat

    ctx.prec = 200
    A, B, b, S = (arb_mat(x) for x in data(N))
    X, Y = A / 7, B / 7

    def overlap(name, mine, bits):
        agree(name, all(abs(arb(t) - m) < arb(2) ** -bits for t, m in zip(ours[name], mine)))

    overlap("mp-matmul", [(X * Y)[1, 2]], 160)
    overlap("mp-solve", [X.solve(b)[1, 0]], 120)
    show("mp-matmul", median_of(lambda: X * Y, 9))
    show("mp-solve", median_of(lambda: X.solve(b, algorithm="approx"), 5))
    show("mp-solve-balls", median_of(lambda: X.solve(b), 3))
    # what there is: eigenvalues and vectors of any complex matrix, without bounds
    values = sorted((v.real.mid() for v in acb_mat(S).eig(algorithm="approx")), key=float)
    overlap("mp-eigh", [values[0], values[57]], 150)
    show("mp-eigh", median_of(lambda: acb_mat(S).eig(right=True, algorithm="approx"), 1))

    A, _, b, _ = (fmpq_mat(N, len(x[0]), sum(x, [])) for x in data(N))
    as_text = [str(A.solve(b)[1, 0]), str(A.det())]
    agree("rational-solve", ours["rational-solve"] == as_text[:1])
    agree("rational-det", ours["rational-det"] == as_text[1:])
    show("rational-solve", median_of(lambda: A.solve(b), 9))
    show("rational-det", median_of(lambda: A.det(), 9))

    ctx.prec = 53
    P, Q, R, _ = (arb_mat(x) for x in data(LARGE))
    X, Y = P / 3, Q / 3

    def within(name, ball):                 # both hold the number
        low, high = (arb(t) for t in ours[name])
        agree(name, not (low > ball or high < ball))

    within("interval-matmul", (X * Y)[1, 2])
    within("interval-points", (P * Q)[1, 2])
    within("interval-solve", X.solve(R)[1, 0])
    show("interval-matmul", median_of(lambda: X * Y, 3))
    show("interval-points", median_of(lambda: P * Q, 3))
    show("interval-solve", median_of(lambda: X.solve(R), 1))


def run_decimal():
    import decimal

    import numpy as np
    decimal.getcontext().prec = 16
    A, B, _, _ = data(N)
    X, Y = (np.array([[decimal.Decimal(v) / 7 for v in row] for row in x], dtype=object) for x in (A, B))
    C = X @ Y
    total = decimal.Decimal(0)              # digit for digit: the same operations in the same order
    for v in C.ravel():
        total += v
    agree("decimal-matmul", [decimal.Decimal(t) for t in ours["decimal-matmul"]] == [C[1, 2], total])
    show("decimal-matmul", median_of(lambda: X @ Y, 3))


{"mpmath": run_mpmath, "flint": run_flint, "decimal": run_decimal}[PEER]()
