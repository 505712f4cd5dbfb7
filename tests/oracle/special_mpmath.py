#!/usr/bin/env python3
"""Special functions in f64 beside mpmath at 40 digits, which shares no code with them: at most 4 ulp.

    special_mpmath.py [--cases N] [--seed N] [FUNCTION …]      (2000 values of each)

Inverses are judged by their functions: how far those are from what they should be, over their slope. A value that
mpmath does not come to is left out. Runs under a Python that has mpmath; without it says so and passes nothing.
RICCI names the binary. Ends with `N passed, N failed`."""
import argparse
import math
import os
import random
import sys

sys.dont_write_bytecode = True
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
import answered

try:
    import mpmath as mp
except ImportError:
    print("  skip  mpmath is not installed\n0 passed, 0 failed")
    sys.exit(0)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RICCI = os.path.abspath(os.environ.get("RICCI", os.path.join(ROOT, "build/ricci")))
MOST = 4                        # ulp
F = mp.mpf
mp.mp.dps = 40


# ---- operands ----

def even(low, high):
    return lambda r: r.uniform(low, high)


def scales(low, high):
    return lambda r: math.exp(r.uniform(math.log(low), math.log(high)))


def whole(low, high):
    return lambda r: float(r.randint(low, high))


def signed(f):
    return lambda r: f(r) * r.choice((-1, 1))


def either(*of):
    return lambda r: r.choice(of)(r)


PART = either(even(0, 1), scales(1e-100, 1), lambda r: 1 - scales(1e-15, 1)(r))


# ---- the right values ----

def digits(n):
    """f of so many digits more, where it loses some."""
    def wrap(f):
        def at(*x):
            with mp.workdps(mp.mp.dps + n):
                return f(*x)
        return at
    return wrap


def comb(n, k):
    return F(0) if k > n else mp.gamma(n + 1) / mp.gamma(k + 1) / mp.gamma(n - k + 1)


def recurrence(step):
    def at(n, x):
        before, p = F(0), F(1)
        for k in range(int(n)):
            before, p = p, step(k, x, p, before)
        return p
    return digits(60)(at)


@digits(40)
def gammainc(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


@digits(40)
def betainc(a, b, x):
    if x > (a + 1) / (a + b + 2):
        return 1 - betainc(b, a, 1 - x)
    return mp.exp(a * mp.log(x) + b * mp.log(1 - x)) * mp.hyp2f1(1, a + b, a + 1, x) / a / mp.beta(a, b)


def gamma_slope(a, x):
    return mp.exp((a - 1) * mp.log(x) - x - mp.loggamma(a))


def beta_slope(a, b, x):
    return mp.exp((a - 1) * mp.log(x) + (b - 1) * mp.log(1 - x)) / mp.beta(a, b)


def normal_slope(x):
    return 2 / mp.sqrt(mp.pi) * mp.exp(-x * x)


# name: the right value, operands; of an inverse (function, slope) of its result.
FUNCTIONS = {
    "factorial": (lambda x: mp.gamma(x + 1), either(even(-0.99, 170), even(-0.99, 8), even(-8, 2), whole(0, 170))),
    "comb": (comb, either(even(0, 60), whole(0, 200), even(0, 300)), either(even(0, 30), whole(0, 60))),
    "digamma": (digits(20)(mp.digamma), either(scales(1e-6, 1e6), even(-10, 10), even(1.46, 1.463))),
    "polygamma": (digits(20)(lambda n, x: mp.polygamma(int(n), x)), whole(1, 12), scales(1e-3, 1e3)),
    "beta": (digits(20)(mp.beta), either(scales(1e-3, 1e3), even(0, 40)), either(scales(1e-3, 1e3), even(0, 40))),
    "lbeta": (digits(20)(lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)),
              either(scales(1e-3, 1e4), even(0.01, 40), even(0.7, 1.4)), either(scales(1e-3, 1e4), even(0.01, 40), even(0.7, 1.4))),
    "erfinv": ((mp.erf, normal_slope), signed(either(even(0, 1), scales(1e-20, 1), lambda r: 1 - scales(1e-15, 1)(r)))),
    "erfcinv": ((mp.erfc, lambda x: -normal_slope(x)), either(even(0, 2), scales(1e-250, 1))),
    "zeta": (digits(20)(mp.zeta), either(even(1.0001, 60), even(-12, 0.999))),
    "bessel_j": (digits(30)(mp.besselj), either(whole(0, 10), even(-5, 30)), either(even(0, 60), scales(1e-3, 300))),
    "bessel_y": (digits(30)(mp.bessely), either(whole(0, 10), even(-5, 30)), either(even(0.01, 60), scales(1e-2, 300))),
    "bessel_i": (digits(30)(mp.besseli), either(whole(0, 10), even(-5, 30)), either(even(0, 60), scales(1e-3, 300))),
    "bessel_k": (digits(30)(mp.besselk), either(whole(0, 10), even(-5, 30)), either(even(0.01, 60), scales(1e-2, 300))),
    "airy.Ai": (digits(40)(mp.airyai), either(even(-10, 10), even(-60, 60))),
    "airy.Aip": (digits(40)(lambda x: mp.airyai(x, derivative=1)), either(even(-10, 10), even(-60, 60))),
    "airy.Bi": (digits(40)(mp.airybi), either(even(-10, 10), even(-60, 60))),
    "airy.Bip": (digits(40)(lambda x: mp.airybi(x, derivative=1)), either(even(-10, 10), even(-60, 60))),
    "ellipk": (mp.ellipk, either(even(0, 1), lambda r: 1 - scales(1e-14, 1e6)(r))),
    "ellipe": (mp.ellipe, either(even(0, 1), lambda r: 1 - scales(1e-14, 1e6)(r))),
    "gammainc": (gammainc, either(even(0.01, 30), scales(1e-2, 400)), either(even(0, 60), scales(1e-2, 400))),
    "gammaincinv": ((gammainc, gamma_slope), either(even(0.1, 30), scales(1e-1, 300)), PART),
    "betainc": (betainc, either(even(0.1, 20), scales(1e-1, 300)), either(even(0.1, 20), scales(1e-1, 300)), PART),
    "betaincinv": ((betainc, beta_slope), either(even(0.2, 20), scales(2e-1, 300)), either(even(0.2, 20), scales(2e-1, 300)), PART),
    "logit": (digits(20)(lambda p: mp.log(p / (1 - p))), PART),
    "expit": (lambda x: 1 / (1 + mp.exp(-x)), even(-50, 50)),
    "xlogy": (lambda x, y: x * mp.log(y), even(-5, 5), either(scales(1e-5, 1e5), even(0.99, 1.01))),
    "logaddexp": (digits(20)(lambda x, y: mp.log(mp.exp(x) + mp.exp(y))), even(-5, 5), even(-5, 5)),
    "sinc": (digits(20)(lambda x: mp.sinpi(x) / (mp.pi * x)), either(even(-10, 10), signed(scales(1e-10, 1e6)))),
    "legendre": (recurrence(lambda k, x, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1)), whole(0, 60), even(-1.2, 1.2)),
    "hermite": (recurrence(lambda k, x, p, q: 2 * x * p - 2 * k * q), whole(0, 40), even(-5, 5)),
    "laguerre": (recurrence(lambda k, x, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1)), whole(0, 40), even(-1, 50)),
    "chebyshev_t": (recurrence(lambda k, x, p, q: 2 * x * p - q if k else x), whole(0, 60), even(-1.2, 1.2)),
}


def script(cases):
    lines = []
    for name, rows in cases.items():
        columns = ", ".join("[" + ", ".join(repr(v) for v in column) + "]" for column in zip(*rows))
        f, _, field = name.partition(".")
        call = f"{f}({columns})" + (f".{field}" if field else "")
        lines.append(f'print("@{name}", join(["{{v:.17e}}" for v in {call}], " "))')
    return "\n".join(lines) + "\n"


def ulps(right, got):
    unit = mp.ldexp(1, max(-1074, math.frexp(got)[1] - 53))
    return abs(F(got) - right) / unit


def error(right, x, got):
    """In ulp; None: nothing to say."""
    if not math.isfinite(got) or abs(got) < 1e-290:
        value = right(*map(F, x)) if not isinstance(right, tuple) else F(0)
        return None if not math.isfinite(float(value)) or abs(value) < 1e-290 or isinstance(right, tuple) else mp.inf
    x = [F(v) for v in x]
    if not isinstance(right, tuple):
        return ulps(right(*x), got)
    f, slope = right
    at = x[:-1] + [F(got)]
    if len(x) == 3 and got == 1:
        return None
    return ulps(F(got) + (x[-1] - f(*at)) / slope(*at), got)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("functions", nargs="*")
    a = parser.parse_args()
    rng = random.Random(a.seed)
    cases = {name: [tuple(g(rng) for g in operands) for _ in range(a.cases)]
             for name, (_, *operands) in FUNCTIONS.items() if not a.functions or name in a.functions}
    out, err, status = answered.run(RICCI, script(cases), 600)
    answers, failed = answered.answers(out), 0
    if status:
        print(err)
    for name, rows in cases.items():
        got = [float(v) for v in answers.get(name, "").split()]
        worst, where, left = mp.mpf(0), None, 0
        for x, y in zip(rows, got):
            try:
                e = error(FUNCTIONS[name][0], x, y)
            except (ValueError, ZeroDivisionError, OverflowError, mp.NoConvergence):
                e = None
            if e is None:
                left += 1
            elif e > worst:
                worst, where = e, (x, y)
        bad = len(got) != len(rows) or worst > MOST
        failed += bad
        print(f"  {'FAIL' if bad else 'ok  '}  {name:12} {len(got) - left} values, {mp.nstr(worst, 3)} ulp at {where}", flush=True)
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
