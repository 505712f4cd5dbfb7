#!/usr/bin/env python3
"""Writes special_tables.h and its neighbours of gamma and Airy's functions, what the fast ways take from tables, by mpmath to 60 digits."""
import contextlib
import os

import mpmath as mp

mp.mp.dps = 60
F = mp.mpf


def number(x):
    return repr(float(x)) if x else "0"


def pair(x):
    high = float(x)
    return "{ %s, %s }" % (number(high), number(x - F(high)))


def rows(texts, width=100, indent="    "):
    line = indent
    for t in texts:
        if len(line) + len(t) + 2 > width:
            print(line.rstrip())
            line = indent
        line += t + ", "
    print(line.rstrip())


def table(comment, head, texts):
    print("/* %s */\nstatic const %s = {" % (comment, head))
    rows(texts)
    print("};\n")


def taylor(f, c, n):
    return mp.taylor(f, c, n)


def group(v):
    texts = [pair(x) for x in v]
    return ["{ " + texts[0]] + texts[1:-1] + [texts[-1] + " }"]


def exponentials():
    table("2^(j / 64)", "Pair exp_table[64]", [pair(F(2) ** (F(j) / 64)) for j in range(64)])


def turns():
    table("sin(j / 32)", "Pair sin_table[27]", [pair(mp.sin(F(j) / 32)) for j in range(27)])
    table("cos(j / 32)", "Pair cos_table[27]", [pair(mp.cos(F(j) / 32)) for j in range(27)])


def hyperbolic():
    table("cosh(j / 16)", "Pair cosh_table[161]", [pair(mp.cosh(F(j) / 16)) for j in range(161)])


def logarithms():
    inverses = []
    for i in range(90, 183):
        c = F(i) / 128
        inverses.append(F(mp.nint(4096 / c)) / 4096)
    print("/* Of i = 90 to 182 a number v of 12 bits near 128 / i, and -log v. */")
    print("static const struct { double v; Pair log; } log_table[93] = {")
    rows(["{ %s, %s }" % (number(v), pair(-mp.log(v))) for v in inverses])
    print("};\n")


LGAMMA_TERMS = 17


def lgamma_centres():
    return [F(2) ** e * (1 + F(2 * i + 1) / 16) for e in range(4) for i in range(8)]


def lgammas():
    heads, tails = [], []
    for c in lgamma_centres():
        t = [mp.loggamma(c)] + [mp.psi(k - 1, c) / mp.factorial(k) for k in range(1, LGAMMA_TERMS)]
        heads.append(group(t[:4]))
        tails.append(t[4:])
    print("/* log gamma around (1 + (2i + 1) / 16) 2^e, row 8e + i: Taylor's series, the first four terms. */")
    print("static const Pair lgamma_head[32][4] = {")
    rows(sum(heads, []))
    print("};\n\n/* The others. */\nstatic const double lgamma_tail[32][%d] = {" % (LGAMMA_TERMS - 4))
    for t in tails:
        texts = [number(v) for v in t]
        print("    {")
        rows(texts, indent="      ")
        print("    },")
    print("};\n")


def elliptic():
    """K and E of m = 1 - y: P(y) - log(y) Q(y), by least squares at the nodes of Chebyshev."""
    n, points = 12, 120
    for name, f in (("ellipk", mp.ellipk), ("ellipe", mp.ellipe)):
        a, b = mp.matrix(points, 2 * n), mp.matrix(points, 1)
        for i in range(points):
            y = (1 - mp.cos(mp.pi * (2 * i + 1) / (2 * points))) / 2
            right = f(1 - y)
            for k in range(n):
                a[i, k] = y ** k / right
                a[i, n + k] = -mp.log(y) * y ** k / right
            b[i] = 1
        c = mp.lu_solve(a, b)
        worst = max(abs((a * c)[i] - 1) for i in range(points))
        table("%s(1 - y): P(y) - log(y) Q(y), P and Q; to %s" % (name, mp.nstr(worst, 2)),
              "double %s_table[2][%d]" % (name, n),
              ["{ " + number(c[0])] + [number(c[k]) for k in range(1, n - 1)] + [number(c[n - 1]) + " }"] +
              ["{ " + number(c[n])] + [number(c[n + k]) for k in range(1, n - 1)] + [number(c[2 * n - 1]) + " }"])


AIRY_LOW, AIRY_HIGH = -10, 10


def airies():
    print("/* Ai, Ai', Bi, Bi' at i / 4, i from %d to %d. */" % (4 * AIRY_LOW, 4 * AIRY_HIGH))
    print("static const Pair airy_table[%d][4] = {" % (4 * (AIRY_HIGH - AIRY_LOW) + 1))
    texts = []
    for i in range(4 * AIRY_LOW, 4 * AIRY_HIGH + 1):
        x = F(i) / 4
        texts += group([mp.airyai(x), mp.airyai(x, derivative=1), mp.airybi(x), mp.airybi(x, derivative=1)])
    rows(texts)
    print("};\n\nenum { AIRY_LOW = %d };              /* the row of 0 */\n" % (-4 * AIRY_LOW))
    table("1 / ((k + 1) (k + 2))", "double airy_inverse[16]", [number(F(1) / ((k + 1) * (k + 2))) for k in range(16)])


def airy_series():
    """u(k) and v(k) of DLMF 9.7.2."""
    u = [F(1)]
    for k in range(1, 26):
        u.append(u[-1] * (6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216 * k * (2 * k - 1)))
    v = [F(1)] + [u[k] * F(6 * k + 1) / (1 - 6 * k) for k in range(1, 26)]
    table("u(k) of DLMF 9.7.2", "double airy_u[26]", [number(t) for t in u])
    table("v(k)", "double airy_v[26]", [number(t) for t in v])


def rational_fit(f, low, high, n):
    """p / q of degree n, q(0) = 1, by least squares at the nodes of Chebyshev, reweighted by 1 / q; relative."""
    points = 6 * n
    x = [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * points)) for i in range(points)]
    y = [f(v) for v in x]
    q = [F(1)] * points
    for _ in range(4):
        a, b = mp.matrix(points, 2 * n + 1), mp.matrix(points, 1)
        for i in range(points):
            for k in range(n + 1):
                a[i, k] = x[i] ** k / y[i] / q[i]
                if k:
                    a[i, n + k] = -x[i] ** k / q[i]
            b[i] = 1 / q[i]
        c = mp.lu_solve(a, b)
        q = [1 + sum(c[n + k] * v ** k for k in range(1, n + 1)) for v in x]
    p = [sum(c[k] * v ** k for k in range(n + 1)) for v in x]
    return c, max(abs(p[i] / q[i] / y[i] - 1) for i in range(points))


def inverse_error_function():
    n = 7
    first = mp.sqrt(mp.pi) / 2

    def near(w):
        z = F(85) ** 2 / 10000 - w
        return (mp.erfinv(mp.sqrt(z)) / mp.sqrt(z) - first) / z

    def erfcinv(q):
        y = mp.sqrt(-mp.log(q * mp.sqrt(-mp.log(q))))
        for _ in range(8):
            d = (mp.erfc(y) - q) / (2 / mp.sqrt(mp.pi) * mp.exp(-y * y))
            y += d / (1 - y * d)
        return y

    def tail(r, start):
        r += start
        return r - erfcinv(2 * mp.exp(-r * r))

    for name, what, f, low, high in (
            ("near", "(erfinv(x) / x - sqrt(pi) / 2) / x^2 of 0.85^2 - x^2", near, F(0), F(85) ** 2 / 10000 - F("1e-9")),
            ("middle", "r - erfcinv(2 exp(-r^2)) of r - 1.6, r to 5", lambda r: tail(r, F("1.6")), F(0), F("3.4")),
            ("far", "the same of r - 5, r to 27", lambda r: tail(r, 5), F(0), F(22))):
        c, worst = rational_fit(f, low, high, n)
        p, q = [c[k] for k in range(n + 1)], [F(1)] + [c[n + k] for k in range(1, n + 1)]
        table("%s: P / Q; to %s" % (what, mp.nstr(worst, 2)), "double erfinv_%s[2][%d]" % (name, n + 1),
              ["{ " + number(p[0])] + [number(v) for v in p[1:n]] + [number(p[n]) + " }"] +
              ["{ " + number(q[0])] + [number(v) for v in q[1:n]] + [number(q[n]) + " }"])


def reciprocal_gamma():
    c = taylor(lambda z: mp.rgamma(1 + z), 0, 30)
    table("1 / gamma(1 + z), Taylor's series", "Pair rgamma_table[26]", [pair(F(t)) for t in c[:26]])


ZETA_TERMS, ZETA_MOST = 16, 36


def zetas():
    print("/* zeta(s) - 1 / (s - 1) by values at nodes of Chebyshev: polynomials in s - (i + 1.5), row i. */")
    print("static const double zeta_table[%d][%d] = {" % (ZETA_MOST - 1, ZETA_TERMS))
    for i in range(ZETA_MOST - 1):
        nodes = [mp.cos(mp.pi * (2 * k + 1) / (2 * ZETA_TERMS)) / 2 for k in range(ZETA_TERMS)]
        values = [mp.zeta(v + i + F(1.5)) - 1 / (v + i + F(0.5)) for v in nodes]
        t = mp.lu_solve(mp.matrix([[v ** k for k in range(ZETA_TERMS)] for v in nodes]), mp.matrix(values))
        print("    {")
        rows([number(v) for v in t], indent="      ")
        print("    },")
    print("};\n")


def bernoulli():
    table("B(2k), k from 1", "double bernoulli_table[14]", [number(mp.bernoulli(2 * k)) for k in range(1, 15)])


GAMMA_TERMS = 18


def gammas():
    heads, tails = [], []
    for e in range(4):
        for i in range(16):
            t = taylor(mp.gamma, F(2) ** e * (1 + F(2 * i + 1) / 32), GAMMA_TERMS - 1)
            heads.append(group(t[:2]))
            tails.append(t[2:])
    print("/* gamma around (1 + (2i + 1) / 32) 2^e, row 16e + i: Taylor's series, the first two terms. */")
    print("static const Pair gamma_terms_first[64][2] = {")
    rows(sum(heads, []))
    print("};\n\n/* The others. */\nstatic const double gamma_terms[64][%d] = {" % (GAMMA_TERMS - 2))
    for t in tails:
        texts = [number(v) for v in t]
        print("    {")
        rows(texts, indent="      ")
        print("    },")
    print("};\n")


def factorials():
    table("n!", "Pair factorial_table[171]", [pair(mp.factorial(n)) for n in range(171)])


FILES = {
    "special_gamma_tables.h": (gammas, factorials),
    "special_tables.h": (exponentials, turns, hyperbolic, logarithms, lgammas, elliptic, inverse_error_function,
                         reciprocal_gamma, bernoulli, zetas),
    "special_airy_tables.h": (airies, airy_series),
}


def main():
    for name, tables in FILES.items():
        guard = "RICCI_KERNELS_" + name.upper().replace(".", "_")
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), "w") as f:
            with contextlib.redirect_stdout(f):
                print("/* What the fast ways take from tables; written by special_tables.py. */")
                print("#ifndef %s\n#define %s\n" % (guard, guard))
                print('#include "kernels/special/special_pair.h"\n')
                for t in tables:
                    t()
                print("#endif")


main()
