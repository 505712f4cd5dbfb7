#!/usr/bin/env python3
"""Random numbers of the module `random` against distribution functions written here: Kolmogorov and Smirnov for real
numbers, chi-square for counts, the correlation of streams. A right generator fails once in a hundred thousand runs.

    tests/oracle/distributions.py [--cases N] [--seed N]      (a million numbers of each)

RICCI names the binary. Ends with `N passed, N failed`."""
import argparse
import array
import math
import os
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RICCI = os.path.abspath(os.environ.get("RICCI", os.path.join(ROOT, "build/ricci")))
LEAST = 1e-7                    # probability below which a case fails


def fraction(term, first):
    """first / (b0 + a1 / (b1 + …)) by Lentz's method; term(k) is (a, b)."""
    tiny, f, c, d = 1e-300, first or 1e-300, first or 1e-300, 0.0
    for k in range(1, 20000):
        a, b = term(k)
        d = b + a * d or tiny
        c = b + a / c or tiny
        d = 1 / d
        f *= c * d
        if abs(c * d - 1) < 1e-14:
            return f
    return f


def lower_gamma(a, x):
    """The regularised incomplete gamma function P(a, x)."""
    if x <= 0:
        return 0.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        n = a
        while abs(term) > 1e-16 * total:
            n += 1
            term *= x / n
            total += term
        return front * total
    return 1 - front / fraction(lambda k: (-k * (k - a), x + 2 * k + 1 - a), x + 1 - a)


def incomplete_beta(a, b, x):
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a

    def term(k):
        m = k // 2
        return (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)) if k % 2 == 0
                else -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))), 1.0
    return front / fraction(term, 1.0)


def phi(z):
    return 0.5 * math.erfc(-z / math.sqrt(2))


def student(t, df):
    tail = 0.5 * incomplete_beta(df / 2, 0.5, df / (df + t * t))
    return 1 - tail if t > 0 else tail


REAL = [("uniform(-2, 3", lambda x: (x + 2) / 5), ("normal(1, 2", lambda x: phi((x - 1) / 2)),
        ("exponential(3", lambda x: -math.expm1(-x / 3)), ("lognormal(0.5, 2", lambda x: phi((math.log(x) - 0.5) / 2))]
REAL += [(f"gamma({a}, 2", lambda x, a=a: lower_gamma(a, x / 2)) for a in (0.05, 0.8, 1, 1.5, 20, 3000)]
REAL += [(f"beta({a}, {b}", lambda x, a=a, b=b: incomplete_beta(a, b, x))
         for a, b in ((0.1, 0.3), (0.9, 4), (1, 1), (3, 40), (200, 300))]
REAL += [(f"student({df}", lambda x, df=df: student(x, df)) for df in (0.4, 1, 2.5, 60)]
COUNTS = [(f"poisson({m}", lambda k, m=m: 1 - lower_gamma(k + 1, m) if k >= 0 else 0, m, m)
          for m in (0.05, 2, 9.99, 10.01, 60, 5000)]
COUNTS += [(f"binomial({n}, {p}", lambda k, n=n, p=p: 0 if k < 0 else 1 if k >= n else incomplete_beta(n - k, k + 1, 1 - p),
            n * p, n * p * (1 - p)) for n, p in ((1, 0.3), (25, 0.35), (25, 0.75), (3000, 0.002), (3000, 0.01), (100000, 0.6))]
COUNTS += [(f"geometric({p}", lambda k, p=p: 1 - (1 - p) ** max(k, 0), 1 / p, (1 - p) / p**2) for p in (0.7, 0.05, 0.0005)]


def draw(calls, n, seed):
    """The numbers of each call, by one run."""
    with tempfile.TemporaryDirectory() as place:
        lines = ["import random", f"r = random.stream({seed})"]
        lines += [f'save("{place}/{i}.npy", r.{call}, ({n},)))' for i, call in enumerate(calls)]
        subprocess.run([RICCI, "-"], input="\n".join(lines), text=True, check=True)
        for i in range(len(calls)):
            with open(f"{place}/{i}.npy", "rb") as f:
                data = f.read()
            start = 10 + int.from_bytes(data[8:10], "little")
            yield array.array("q" if b"<i8" in data[:start] else "d", data[start:])


def smirnov(x, cdf):
    n = len(x)
    x, step = sorted(x), max(1, n // 5000)
    far = max(abs(cdf(x[k]) - (k + 0.5) / n) for k in range(step // 2, n, step))
    return 2 * math.exp(-2 * (far * math.sqrt(n)) ** 2)


def chi_square(x, cdf, mean, variance):
    """In at most sixty cells of about equal width, from which those with less than ten are joined to the next."""
    n, sd = len(x), math.sqrt(variance)
    width = max(1, int(8 * sd / 60))
    low = int(mean - 4 * sd)
    seen = {}
    for k in x:
        cell = min(max((k - low) // width, 0), 61)
        seen[cell] = seen.get(cell, 0) + 1
    chi, cells, expected, count = 0.0, 0, 0.0, 0
    for cell in range(62):
        below = cdf(low + cell * width - 1) if cell else 0.0
        above = cdf(low + (cell + 1) * width - 1) if cell < 61 else 1.0
        expected += n * (above - below)
        count += seen.get(cell, 0)
        rest = n * (1 - above)
        if expected >= 10 and (rest >= 10 or cell == 61) or cell == 61:
            chi += (count - expected) ** 2 / max(expected, 1e-9) if expected > 1 else 0
            cells, expected, count = cells + 1, 0.0, 0
    df = max(cells - 1, 1)
    return 1 - lower_gamma(df / 2, chi / 2)


def correlations(n, seed):
    """Of neighbours among split streams, and of one with itself a number further."""
    with tempfile.TemporaryDirectory() as place:
        text = f"""import random
r = random.stream({seed})
p = r.split(12)
X = concat([s.normal(0, 1, ({n},)) for s in p], r.normal(0, 1, (1, {n})))
C = X @ X' / {n} - eye(13)
print(max(abs(C - diag(diag(C)))) * sqrt({n}), max(abs(sum(X[:, 1:] * X[:, :-1], axis=1))) / sqrt({n}))
"""
        out = subprocess.run([RICCI, "-"], input=text, text=True, check=True, capture_output=True, cwd=place).stdout
    return [78 * math.erfc(float(z) / math.sqrt(2)) for z in out.split()]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--cases", type=int, default=10**6)
    options.add_argument("--seed", type=int, default=1)
    o = options.parse_args()
    passed = failed = 0
    results = []
    for case, x in zip(REAL, draw([c[0] for c in REAL], o.cases, o.seed)):
        results.append((case[0], smirnov(x, case[1])))
    for case, x in zip(COUNTS, draw([c[0] for c in COUNTS], o.cases, o.seed + 1)):
        results.append((case[0], chi_square(x, *case[1:])))
    results += zip(("streams", "neighbours"), correlations(o.cases // 10, o.seed))
    for name, p in results:
        good = p >= LEAST
        passed, failed = passed + good, failed + (not good)
        if not good:
            print(f"FAIL {name}, …): probability {p:.3g}, seed {o.seed}")
    print(f"{passed} passed, {failed} failed")


main()
