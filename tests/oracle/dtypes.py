"""Storage dtypes as the language's contract describes them: promotion, rounding, wrapping.

Numbers travel as pairs (value, bound): the value as Python computes it and a bound on how far
any correct evaluation may be from it. Ints and bools are exact: their bound is 0."""
import math
import struct

INTS = {"i8": (8, True), "u8": (8, False), "i32": (32, True), "i64": (64, True)}
UNIT = {"bf16": 2.0**-8, "f16": 2.0**-11, "f32": 2.0**-24, "f64": 2.0**-53,
        "c64": 2.0**-24, "c128": 2.0**-53}
HUGE = {"bf16": 3e38, "f16": 65504.0, "f32": 3e38, "f64": 1e308, "c64": 3e38, "c128": 1e308}
TINY = {"bf16": 2.0**-133, "f16": 2.0**-24, "f32": 2.0**-149, "f64": 5e-324,
        "c64": 2.0**-149, "c128": 5e-324}
FLOATS = ("f16", "bf16", "f32", "f64")
COMPLEX = ("c64", "c128")


class Ambiguous(Exception):
    """The contract leaves this open: the case is dropped."""


def kind(dtype):
    return 0 if dtype == "bool" else 1 if dtype in INTS else 2 if dtype in FLOATS else 3


def promote(a, b):
    """The dtype of two tensors' elements together."""
    if a == b:
        return a
    if kind(a) > kind(b):
        a, b = b, a
    if kind(b) == 1:
        return b if kind(a) == 0 else "i64" if "i64" in (a, b) else "i32"
    if kind(a) < 2:
        return b
    if kind(b) == 2:
        return "f64" if "f64" in (a, b) else "f32"
    return "c128" if a in ("f64", "c128") or b == "c128" else "c64"


def wrap(dtype, v):
    bits, signed = INTS[dtype]
    v &= (1 << bits) - 1
    return v - (1 << bits) if signed and v >> (bits - 1) else v


def store(dtype, v):
    """v as a tensor of that dtype holds it (one rounding to nearest; 16 bits: exact data only)."""
    if dtype == "bool":
        return bool(v)
    if dtype in INTS:
        return wrap(dtype, v)
    if dtype == "f32":
        return struct.unpack("f", struct.pack("f", v))[0]
    if dtype == "f16":
        return struct.unpack("e", struct.pack("e", v))[0]
    if dtype == "c64":
        return complex(store("f32", v.real), store("f32", v.imag))
    return v


def nearest(dtype, v):
    """What a printed decimal stands for: the shortest that reads back in its dtype is not the value."""
    if dtype == "bf16" and math.isfinite(v):
        bits = struct.unpack("I", struct.pack("f", v))[0]
        return struct.unpack("f", struct.pack("I", (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000))[0]
    if dtype == "f16" and math.isinf(v):
        return v
    return store(dtype, v)


def rounded(dtype, v, e):
    """The pair after an operation whose result is of that floating dtype."""
    size = abs(v)
    if not size <= HUGE[dtype] / 4 or not e < math.inf:
        return v, math.inf
    return v, e + size * (UNIT[dtype] + 2.0**-52) * (3 if dtype in COMPLEX else 1) + TINY[dtype]


def cast(dtype, x):
    """A pair of another dtype in this one, for promotion only."""
    v, e = x
    if kind(dtype) == 0:
        return bool(v), e
    if kind(dtype) == 1:
        if wrap(dtype, int(v)) != v:
            raise Ambiguous("a scalar that does not fit")
        return int(v), e
    if kind(dtype) == 3:
        return rounded(dtype, complex(v), e)
    if isinstance(v, (bool, int)):
        exact = float(v)
        return (exact, e) if store(dtype, exact) == exact and abs(v) < 256 else rounded(dtype, exact, e)
    if e == 0 and math.isfinite(v) and nearest(dtype, v) != v:
        return rounded(dtype, v, e)     # a scalar of a wider float, beside a tensor of this one
    return v, e         # wider floats hold what narrower ones do
