"""The cases of precision.ric in NumPy, and in ml_dtypes where it is installed: prints `name
seconds` per case, the median of repeated runs."""
import statistics
import time

import numpy as np

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None


def report(name, f, share=1):
    f()
    clocks = []
    for _ in range(7):
        start = time.perf_counter()
        f()
        clocks.append(time.perf_counter() - start)
    print(name, statistics.median(clocks) / share, flush=True)


def to_bf16(x):
    """To nearest even by the bits of a float rounded to odd."""
    f = x.astype(np.float32)
    bits = f.view(np.uint32)
    back = f.astype(np.float64)
    step = np.where(np.abs(back) > np.abs(x), -1, 1).astype(np.int32)
    odd = np.where((back != x) & (bits & 1 == 0), bits + step.view(np.uint32), bits)
    return ((odd + 0x7FFF + (odd >> 16 & 1)) >> 16).astype(np.uint16)


def to_grid(x, p, emin, top):
    """A magic number, as NumPy code does it: values, not codes."""
    _, e = np.frexp(x)
    ulp = np.ldexp(1.0, np.maximum(e - 1, emin) - p + 1)
    r = np.rint(x / ulp) * ulp
    return np.where(np.abs(r) > top, np.nan, r)


rng = np.random.default_rng(1)
x = rng.standard_normal(10**7)
report("copy_f32_1e7", lambda: x.astype(np.float32))
report("cast_f16_1e7", lambda: x.astype(np.float16))
if ml_dtypes:
    report("cast_bf16_1e7", lambda: x.astype(ml_dtypes.bfloat16))
    report("cast_e4m3_1e7", lambda: x.astype(ml_dtypes.float8_e4m3fn))
    report("cast_e5m2_1e7", lambda: x.astype(ml_dtypes.float8_e5m2))
else:
    report("cast_bf16_1e7", lambda: to_bf16(x))
    report("cast_e4m3_1e7", lambda: to_grid(x, 4, -6, 448))
    report("cast_e5m2_1e7", lambda: to_grid(x, 3, -14, 57344))

h = x.astype(np.float16)
report("widen_f16_1e7", lambda: h.astype(np.float64))
if ml_dtypes:
    b = x.astype(ml_dtypes.bfloat16)
    q = x.astype(ml_dtypes.float8_e4m3fn)
    report("widen_bf16_1e7", lambda: b.astype(np.float64))
    report("widen_e4m3_1e7", lambda: q.astype(np.float64))

n = 256
A, B = rng.standard_normal((2, n, n))


def product(dtype):
    a, b = A.astype(dtype), B.astype(dtype)
    c = np.zeros((n, n), dtype)
    for k in range(n):
        c = c + a[:, k, None] * b[k]
    return c


report("madd_f16_x1e6", lambda: product(np.float16), share=n**3 / 1e6)
if ml_dtypes:
    report("madd_bf16_x1e6", lambda: product(ml_dtypes.bfloat16), share=n**3 / 1e6)
report("madd_f32_in_order_x1e6", lambda: product(np.float32), share=n**3 / 1e6)
