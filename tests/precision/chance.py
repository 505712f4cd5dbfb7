"""Stochastic rounding in scopes: every result is one of the two neighbours of the exact one, an exact
one never moves, the upper neighbour comes as often as the distance says (within five standard
deviations), and the same seed gives the same numbers. So are operands and casts of other formats;
literals are rounded to nearest."""
import math
import re

import formats
import programs
from formats import Fraction, Rules, Unclear

OPERATIONS = {"x + y": Rules.add, "x - y": Rules.sub, "x * y": Rules.mul, "x / y": Rules.div, "fma(x, y, y)": lambda r, x, y: r.fma(x, y, y),
              "sqrt(abs(x))": lambda r, x, y: r.sqrt(abs(x)), "0.3 * y": None}
CASTS = {"cast(x, {})": lambda r, x: r.load(x), "x + 0": lambda r, x: r.load(x), "-(-x)": lambda r, x: r.load(x)}
DRAWS = 400


class Chance:
    def __init__(self, rng):
        kind = rng.random()
        f = rng.choice(list(formats.NAMED.values())) if kind < 0.6 else formats.decimal(rng.choice([1, 2, 3, 7])) if kind < 0.8 else \
            formats.mp(rng.choice([3, 8, 24, 60])) if kind < 0.9 else formats.mini(rng.randint(3, 10), rng.randint(2, 30))
        self.format, self.seed = f, rng.randrange(10**6)
        nearest = Rules(f)
        while True:
            self.x, self.y = (round(rng.uniform(0.3, 3), rng.randint(1, 3)) for _ in range(2))
            self.operation = rng.choice(list(OPERATIONS) + list(CASTS))
            self.cast = self.operation in CASTS
            if self.cast:
                fn = CASTS[self.operation]
                x, y = Fraction(self.x), None
                self.operation, only = self.operation.format(f.name), fn
                fn = lambda r, x, y, only=only: only(r, x)
                if self.settle(f, fn, x, y, Fraction(self.x)):
                    return
                continue
            x, y = nearest.load(self.x), nearest.load(self.y)
            fn = OPERATIONS[self.operation]
            if fn is None:
                x, fn = nearest.load(Fraction("0.3")), Rules.mul
            if self.settle(f, fn, x, y):
                return

    def settle(self, f, fn, x, y, exact=None):
        """Both neighbours and the share of the farther one; False: one that is not clear."""
        try:
            self.low, self.high = fn(Rules(f, "zero"), x, y), None
            self.high = fn(self.outward(f, self.low, fn, x, y), x, y)
            self.part = self.distance(fn, x, y, exact)
            return True
        except Unclear:
            return False

    @staticmethod
    def outward(f, low, fn, x, y):
        """The mode that gives the other neighbour."""
        up, down = Rules(f, "up"), Rules(f, "down")
        return up if fn(up, x, y) != low else down

    def distance(self, fn, x, y, exact):
        """How far from `low` the exact result is, in steps; roots to a few hundred bits."""
        wide = fn(Rules(formats.mp(300)), Fraction(x), Fraction(y)) if exact is None else exact
        low, high = Fraction(self.low), self.high
        if isinstance(high, float) and not math.isfinite(high):
            raise Unclear("overflow")
        return float((wide - low) / (Fraction(high) - low)) if high != self.low else 0.0

    def script(self, number):
        own = "{!r}" if self.cast else self.format.name + "(f64({!r}))"
        return (f"seed({self.seed}); x = full(({DRAWS},), {own.format(self.x)}); y = full(({DRAWS},), {own.format(self.y)})\n"
                f"try {{ z = precision {self.format.name} round stochastic {{ {self.operation} }}; seed({self.seed})\n"
                f"    w = precision {self.format.name} round stochastic {{ {self.operation} }}\n"
                f'    print("@s{number}", all(z == w), sum(z == z[0]), "{{rational(z[0])}} {{rational(min(z))}} {{rational(max(z))}}") }} '
                f'catch e {{ print("@s{number} error", e.message) }}\n')

    def compare(self, got):
        m = re.fullmatch(r"(\w+) (\d+) (\S+) (\S+) (\S+)", got or "")
        want = f"{self.low} or {self.high}, the latter of a share of {self.part:.4f}"
        if not m:
            return f"{want} was expected, got {got}"
        first, least, most = (Fraction(t) for t in m.groups()[2:])
        ends = {Fraction(self.low), Fraction(self.high)}
        if m[1] != "true":
            return "the same seed gave other numbers"
        if not {first, least, most} <= ends:
            return f"{want} was expected, got {got}"
        ups = int(m[2]) if first == Fraction(self.high) else DRAWS - int(m[2])
        if self.high == self.low:
            return None
        sigma = math.sqrt(DRAWS * self.part * (1 - self.part))
        return None if abs(ups - DRAWS * self.part) <= 5 * sigma + 1 else f"{want} was expected, got it {ups} times of {DRAWS}"
