#!/usr/bin/env python3
"""Writes the right values of special functions, by mpmath to 50 digits, as reference.ric.

    tests/lang/special/reference.py > tests/lang/special/reference.ric

Operands are doubles with few digits, which every format holds."""
import mpmath as mp

mp.mp.dps = 80
F = mp.mpf


def root(f, low, high):
    for _ in range(400):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) < 0 else (low, middle)
    return (low + high) / 2


def P(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def I(a, b, x):
    return mp.betainc(a, b, 0, x, regularized=True)


def polynomial(step):
    def at(n, x):
        before, p = F(0), F(1)
        for k in range(int(n)):
            before, p = p, step(k, x, p, before)
        return p
    return at


FUNCTIONS = [
    ("factorial", lambda x: mp.gamma(x + 1), ["0.5 2.25 20.5 100.75 -0.5 -1.5 -3.25 0.0009765625 160"]),
    ("comb", mp.binomial, ["10.5 30 100 7.75 200.5", "3 12.5 50 7.5 0.25"]),
    ("digamma", mp.digamma, ["0.0009765625 0.5 1 1.25 1.5 1.75 2.5 5.25 9.75 10 100.5 1e10 -0.5 -3.75 -20.25"]),
    ("polygamma", lambda n, x: mp.polygamma(int(n), x), ["1 1 2 3 5", "0.5 10 2.25 0.125 30"]),
    ("beta", mp.beta, ["0.5 2 3.25 100 -0.5 0.0078125", "0.5 3.5 7.75 50.5 2.25 1000"]),
    ("lbeta", lambda a, b: mp.log(abs(mp.beta(a, b))), ["0.5 1000 3.25 20000 0.0078125", "0.75 2000 7.75 0.5 1000"]),
    ("erfinv", mp.erfinv, ["0.0009765625 0.25 0.5 0.75 0.9375 0.9990234375 -0.625 0.99999999976716935634613037109375"]),
    ("erfcinv", lambda x: mp.sqrt(mp.findroot(lambda t: mp.log(mp.erfc(mp.sqrt(t))) - mp.log(x), -mp.log(x)))
     if x < 0.5 else mp.erfinv(1 - x), ["1e-10 0.0009765625 0.25 0.75 1.25 1.9375"]),
    ("zeta", mp.zeta, ["1.0009765625 1.5 2 3 10.25 60 0.5 -0.5 -1 -7.25 0.9375"]),
    ("bessel_j", mp.besselj, ["0 1 2 5 0.5 2.25 -0.75 3 10", "1.5 0.125 10 30.25 7.5 100 2 -4.5 0.5"]),
    ("bessel_y", mp.bessely, ["0 1 2 5 0.5 2.25 -0.75 10", "1.5 0.125 10 30.25 7.5 100 2 0.5"]),
    ("bessel_i", mp.besseli, ["0 1 2 5 0.5 2.25 -0.75 3", "1.5 0.125 10 30.25 7.5 100 2 -4.5"]),
    ("bessel_k", mp.besselk, ["0 1 2 5 0.5 2.25 -0.75 10", "1.5 0.125 10 30.25 7.5 100 2 0.5"]),
    ("ellipk", mp.ellipk, ["0 0.25 0.5 0.9375 0.9990234375 -1 -100.5"]),
    ("ellipe", mp.ellipe, ["0 0.25 0.5 0.9375 0.9990234375 -1 -100.5"]),
    ("gammainc", P, ["0.5 2 10.25 50 0.015625 300 3 100", "0.25 2.5 7 60.5 3 250 12 150"]),
    ("gammaincinv", lambda a, p: root(lambda x: P(a, x) - p, F(0), F(200)), ["0.5 2 10.25 50", "0.25 0.5 0.0625 0.875"]),
    ("betainc", I, ["0.5 2 10.25 50 1000", "0.5 3 0.75 20.5 800", "0.25 0.5 0.9375 0.75 0.5625"]),
    ("betaincinv", lambda a, b, p: root(lambda x: I(a, b, x) - p, F(0), F(1)), ["0.5 2 10.25", "0.5 3 0.75", "0.25 0.5 0.0625"]),
    ("logit", lambda p: mp.log(p / (1 - p)), ["1e-10 0.0625 0.25 0.4375 0.5625 0.75 0.9375"]),
    ("expit", lambda x: 1 / (1 + mp.exp(-x)), ["-100.5 -2.25 0 0.125 30"]),
    ("xlogy", lambda x, y: x * mp.log(y), ["0.5 -3 100.25", "0.25 2.5 1e10"]),
    ("logaddexp", lambda x, y: mp.log(mp.exp(x) + mp.exp(y)), ["0.5 -3 100.25 -0.6875", "0.25 2.5 101 -0.75"]),
    ("sinc", mp.sincpi, ["0 0.0009765625 0.25 0.5 0.875 1.375 10.25 1000.5"]),
    ("legendre", polynomial(lambda k, x, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1)), ["0 1 2 7 40 12", "0.25 0.5 0.125 -0.75 0.3125 1.5"]),
    ("hermite", polynomial(lambda k, x, p, q: 2 * x * p - 2 * k * q), ["0 1 2 7 40 12", "0.25 0.5 0.125 -0.75 0.3125 1.5"]),
    ("laguerre", polynomial(lambda k, x, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1)), ["0 1 2 7 40 12", "0.25 0.5 0.125 -0.75 20.25 1.5"]),
    ("chebyshev_t", polynomial(lambda k, x, p, q: (2 * x * p - q) if k else x), ["0 1 2 7 40 12", "0.25 0.5 0.125 -0.75 0.3125 1.5"]),
]
AIRY = ["0 0.5 -2.25 5.5 -10.125"]

HEAD = '''# Special functions beside mpmath's values to 50 digits, which reference.py wrote: at most 4 ulp in f64, and
# the last digit in mp(100), where a result is rounded once.
fn near(y, right, unit) { return abs(y - right) <= unit * abs(right) }
fn at(f, x, wide) {
    if wide { x = map(mp(100), x) }
    return if len(x) == 1 { f(x[0]) } else { if len(x) == 2 { f(x[0], x[1]) } else { f(x[0], x[1], x[2]) } }
}
fn check(name, f, x, right) {
    # an ulp is between 2^-53 and 2^-52 of the number
    narrow = all(near(mp(200)(at(f, x, false)), right, mp(200)(2)^-50))
    wide = all(near(mp(200)(at(f, x, true)), right, mp(200)(2)^-99))
    print(name, narrow, wide)
}
'''


def vector(values):
    return "[" + ", ".join(values) + "]"


def digits(x):
    return mp.nstr(x, 50, min_fixed=-5, max_fixed=30)


def main():
    print(HEAD)
    for name, f, operands in FUNCTIONS:
        rows = [o.split() for o in operands]
        right = [digits(mp.re(f(*map(lambda v: F(float(v)), x)))) for x in zip(*rows)]
        texts = ["[" + ", ".join(v if "." in v or "e" in v else v + ".0" for v in r) + "]" for r in rows]
        print(f'check("{name}", {name}, ({", ".join(texts)},),\n    precision mp(200) {{ {vector(right)} }})')
    x = AIRY[0].split()
    for k, f in (("Ai", lambda v: mp.airyai(v)), ("Aip", lambda v: mp.airyai(v, derivative=1)),
                 ("Bi", lambda v: mp.airybi(v)), ("Bip", lambda v: mp.airybi(v, derivative=1))):
        right = [digits(f(F(v))) for v in x]
        print(f'check("airy {k}", x -> airy(x).{k}, ([{", ".join(v if "." in v else v + ".0" for v in x)}],),\n'
              f"    precision mp(200) {{ {vector(right)} }})")


main()
