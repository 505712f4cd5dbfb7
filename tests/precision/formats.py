"""Number formats from their definitions: a result is the exact one, a Fraction or the square root of
one, cut at the last place of the format; which neighbour follows is decided by the remainder. Numbers
of binary formats travel as Python floats (all have at most 53 bits), others as Fractions."""
import math
from fractions import Fraction

MODES = ("nearest", "away", "zero", "up", "down", "odd")


class Unclear(Exception):
    """The contract leaves this open, or the format has no such number: the case is dropped."""


class Format:
    def __init__(self, name, p, emin=None, emax=None, largest=None, over="i", base=2):
        self.name, self.p, self.emin, self.emax, self.over, self.base = name, p, emin, emax, over, base
        self.largest = None if emax is None else largest if largest is not None else (2 - Fraction(2, 2**p)) * 2**emax
        self.binary = emax is not None
        self.top = None if emax is None else float(self.largest)

    def __repr__(self):
        return self.name

    def holds(self, other):
        """Is every number of the other format one of this?"""
        return (self.binary and other.binary and self.over == "i" and self.p >= other.p and self.emax >= other.emax
                and self.emin - self.p <= other.emin - other.p)


def ieee(e, p, name=None):
    bias = 2 ** (e - 1) - 1
    return Format(name or f"float({e}, {p})", p, 1 - bias, bias)


F64, F32, F16, BF16 = ieee(11, 53, "f64"), ieee(8, 24, "f32"), ieee(5, 11, "f16"), ieee(8, 8, "bf16")
TF32, E5M2 = ieee(8, 11, "tf32"), ieee(5, 3, "e5m2")
E4M3 = Format("e4m3", 4, -6, 8, Fraction(448), "n")
E3M2 = Format("e3m2", 3, -2, 4, Fraction(28), "s")
E2M3 = Format("e2m3", 4, 0, 2, Fraction(15, 2), "s")
E2M1 = Format("e2m1", 2, 0, 2, Fraction(6), "s")
NAMED = {f.name: f for f in (F64, F32, TF32, F16, BF16, E5M2, E4M3, E3M2, E2M3, E2M1)}


def mini(e, p):
    """float(e, p); the named format where it is one."""
    for f, ep in ((F64, (11, 53)), (F32, (8, 24)), (F16, (5, 11)), (BF16, (8, 8)), (TF32, (8, 11)), (E5M2, (5, 3))):
        if ep == (e, p):
            return f
    return ieee(e, p)


def decimal(d):
    return Format(f"decimal({d})", d, base=10)


def mp(bits):
    return Format(f"mp({bits})", bits)


RATIONAL = Format("rational", 0)
INTERVAL = Format("interval", 0)     # computed exactly here: the printed one must contain that


class Rules:
    """A format with how it rounds and ends."""

    def __init__(self, format, mode="nearest", saturate=False, flush=False):
        self.format, self.mode, self.saturate, self.flush = format, mode, saturate, flush

    # ---- rounding ----
    def exact(self, x, root=False):
        """x > 0 or x < 0, a Fraction (under root: its square root is meant), as a number."""
        f, minus = self.format, x < 0
        if f is RATIONAL or f is INTERVAL:
            if root:
                n, d = math.isqrt(x.numerator), math.isqrt(x.denominator)
                if n * n != x.numerator or d * d != x.denominator:
                    raise Unclear("no fraction")
                return Fraction(n, d)
            return x
        x = abs(x)
        e = exponent(x, f.base, root)
        q = (e if f.emin is None else max(e, f.emin)) - (f.p - 1)
        scale = Fraction(f.base) ** q
        y = x / (scale * scale) if root else x / scale
        n = math.isqrt(y.numerator // y.denominator) if root else y.numerator // y.denominator
        rest = y > (n * n if root else n)
        half = 4 * y - (2 * n + 1) ** 2 if root else 2 * y - (2 * n + 1)
        return self.number((n + self.upper(minus, n % 2, rest, half)) * scale, minus)

    def upper(self, minus, odd, rest, half):
        if self.mode == "nearest":
            return half > 0 or (half == 0 and odd == 1)
        if self.mode == "away":
            return half >= 0
        if self.mode in ("up", "down"):
            return rest and minus == (self.mode == "down")
        return self.mode == "odd" and rest and not odd

    def number(self, r, minus):
        f = self.format
        if not f.binary:
            return -r if minus else r
        if r > f.largest:
            inward = self.mode in ("zero", "odd") or self.mode == ("up" if minus else "down")
            if inward or self.saturate or f.over == "s":
                r = f.top
            else:
                r = math.nan if f.over == "n" else math.inf
        elif self.flush and r < Fraction(2) ** f.emin:
            r = 0.0
        return -float(r) if minus else float(r)

    def infinity(self, minus):
        f = self.format
        if not f.binary:
            raise Unclear("an infinity")
        if f.over == "i" and not self.saturate:
            r = math.inf
        else:
            r = math.nan if f.over == "n" and not self.saturate else f.top
        return -r if minus else r

    def zero(self, minus):
        return (-0.0 if minus else 0.0) if self.format.binary else Fraction(0)

    # ---- what comes from elsewhere ----
    def load(self, v):
        """An int, float or Fraction as a number of the format."""
        if isinstance(v, float):
            if v != v:
                if not self.format.binary:
                    raise Unclear("a nan")
                return v
            if math.isinf(v):
                return self.infinity(v < 0)
            if v == 0:
                return self.zero(minus_sign(v))
        if not v and isinstance(v, Fraction) and self.format.binary:
            raise Unclear("the sign of a zero")        # decimal and mp have one, Fractions do not
        return self.exact(Fraction(v)) if v else self.zero(False)

    # ---- operations on numbers of the format ----
    def add(self, x, y):
        if special(x) or special(y):
            return self.again(float(x) + float(y))
        s = Fraction(x) + Fraction(y)
        if s:
            return self.exact(s)
        if x == 0 and minus_sign(x) == minus_sign(y):
            return self.zero(minus_sign(x))
        return self.zero(self.mode == "down")

    def again(self, v):
        """A nan, an infinity or a zero that IEEE arithmetic gives without rounding."""
        return v if v != v else self.infinity(v < 0) if math.isinf(v) else self.zero(minus_sign(v))

    def neg(self, x):
        return -x

    def sub(self, x, y):
        return self.add(x, -y)

    def mul(self, x, y):
        if not self.format.binary and (x == 0 or y == 0):
            return self.zero(False)
        if special(x) or special(y) or x == 0 or y == 0:
            return self.again(float(x) * float(y))
        return self.exact(Fraction(x) * Fraction(y))

    def div(self, x, y):
        if special(x) or special(y) or x == 0 or y == 0:
            if y == 0:
                if not self.format.binary:
                    raise Unclear("division by zero")
                if x == 0 or x != x or y != y:
                    return math.nan
                return self.infinity(minus_sign(x) != minus_sign(y))
            if not self.format.binary:
                return self.zero(False)
            return self.again(float(x) / float(y))
        return self.exact(Fraction(x) / Fraction(y))

    def sqrt(self, x):
        if x != x or x == 0:
            return x
        if x < 0:
            if not self.format.binary:
                raise Unclear("a root of a negative number")
            return math.nan
        return self.infinity(False) if special(x) else self.exact(Fraction(x), root=True)

    def fma(self, x, y, z):
        if special(x) or special(y):
            p = float(x) * float(y)
            return self.again(p + (0.0 if special(z) and math.isinf(z) and p != p else float(z)))
        if special(z):
            return self.again(float(z))
        if x == 0 or y == 0:
            return self.add(self.zero((minus_sign(x) != minus_sign(y))), z)
        s = Fraction(x) * Fraction(y) + Fraction(z)
        return self.exact(s) if s else self.zero(self.mode == "down")


def special(x):
    return isinstance(x, float) and not math.isfinite(x)


def minus_sign(x):
    return math.copysign(1, x) < 0 if isinstance(x, float) else x < 0


def exponent(x, base, root=False):
    """base^e <= x < base^(e+1), or of its square root."""
    power = (lambda e: Fraction(base) ** (2 * e)) if root else (lambda e: Fraction(base) ** e)
    e = x.numerator.bit_length() - x.denominator.bit_length()
    e = math.floor(e * math.log(2, base) / (2 if root else 1))
    while power(e) > x:
        e -= 1
    while power(e + 1) <= x:
        e += 1
    return e
