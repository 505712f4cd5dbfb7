"""The cases of everyday.ric in NumPy: prints `name seconds` per case, the median of repeated runs."""
import random
import sys

import numpy as np

sys.path.insert(1, "bench")
from timing import median_of


def report(name, f, repeats=7):
    print(name, median_of(f, repeats), flush=True)


rng = np.random.default_rng(1)
n = 10**6
x = rng.random(n) + 0.5
x32, x16 = x.astype(np.float32), x.astype(np.float16)
for name, v in ("f64", x), ("f32", x32), ("f16", x16):
    report(f"square_{name}", lambda: v**2)
    report(f"cube_{name}", lambda: v**3)
    report(f"fourth_{name}", lambda: v**4)
    report(f"half_{name}", lambda: v**0.5)
    report(f"inverse_{name}", lambda: v**-1)
    report(f"inverse_square_{name}", lambda: v**-2)
    report(f"any_power_{name}", lambda: v**1.7)
    report(f"powers_{name}", lambda: v**v)
ints = np.floor(x * 10).astype(np.int64)
report("square_i64", lambda: ints**2)
report("cube_i64", lambda: ints**3)
report("fused_squares", lambda: x**2 + x32**2 * 2 - x)
z = (x - 1) + 1j * (rng.random(n) - 0.5)
w = (rng.random(n) - 0.5) + 1j * x
z64, w64 = z.astype(np.complex64), w.astype(np.complex64)
for name, u, v in ("c128", z, w), ("c64", z64, w64):
    report(f"abs_{name}", lambda: np.abs(u))
    report(f"norm_{name}", lambda: np.linalg.norm(u))
    report(f"angle_{name}", lambda: np.angle(u))
    report(f"times_{name}", lambda: u * v)
    report(f"over_{name}", lambda: u / v)
    report(f"square_{name}", lambda: u**2)
    report(f"cube_{name}", lambda: u**3)
    report(f"inverse_{name}", lambda: u**-1)
    report(f"root_{name}", lambda: np.sqrt(u))
    report(f"exp_{name}", lambda: np.exp(u))
    report(f"powers_{name}", lambda: u**v)
    report(f"dot_{name}", lambda: np.dot(u, v))
    report(f"sum_{name}", lambda: np.sum(u))
report("norm_f64", lambda: np.linalg.norm(x))
report("norm_f32", lambda: np.linalg.norm(x32))
M = x.reshape(1000, 1000)
M32 = M.astype(np.float32)
report("repeat", lambda: np.repeat(x, 4))
report("repeat_axis0", lambda: np.repeat(M, 4, axis=0))
report("repeat_axis1", lambda: np.repeat(M, 4, axis=1))
report("tile", lambda: np.tile(x, 4))
for name, T in ("f64", M), ("f32", M32):
    report(f"sort_axis0_{name}", lambda: np.sort(T, axis=0))
    report(f"sort_axis1_{name}", lambda: np.sort(T, axis=1))
    report(f"sort_{name}", lambda: np.sort(T.ravel()))
    report(f"argsort_{name}", lambda: np.argsort(T, axis=1, stable=True))
    report(f"median_axis0_{name}", lambda: np.median(T, axis=0))
    report(f"argmax_{name}", lambda: np.argmax(T))
    report(f"argmax_axis0_{name}", lambda: np.argmax(T, axis=0))
    report(f"argmax_axis1_{name}", lambda: np.argmax(T, axis=1))
    report(f"transpose_{name}", lambda: np.ascontiguousarray(T.T))
    report(f"cumsum_axis0_{name}", lambda: np.cumsum(T, axis=0))
report("sort_i64", lambda: np.sort(ints))
many = (x * 10**15).astype(np.int64)
report("sort_many_i64", lambda: np.sort(many))
report("shuffle", lambda: rng.permutation(x))
report("choice_few", lambda: rng.choice(n, 1000, replace=False))
report("choice_half", lambda: rng.choice(n, 500000, replace=False))
for name, v in ("f64", x), ("f32", x32), ("i64", ints):
    report(f"tanh_{name}", lambda: np.tanh(v))
    report(f"cosh_{name}", lambda: np.cosh(v))
    report(f"exp_{name}", lambda: np.exp(v))
    report(f"sin_{name}", lambda: np.sin(v))
    report(f"sqrt_{name}", lambda: np.sqrt(v))
signal = rng.standard_normal(2**20)


def denoised(signal, least):
    S = np.fft.fft(signal)
    return np.fft.ifft(np.where(np.abs(S) > least, S, 0)).real


report("denoise_2e20", lambda: denoised(signal, 1000))
report("rdenoise_2e20", lambda: np.fft.ifft(np.fft.fft(signal)).real)
report("rfft_2e20", lambda: np.fft.rfft(signal))
places = [random.randrange(100000) for _ in range(100000)]
letters = "é" + "a" * 99999


def pick(s, places):
    t = 0
    for k in places:
        if s[k] == "a":
            t += 1
    return t


report("letters_at_random", lambda: pick(letters, places))


def vector(n):
    v = [0.5]
    for i in range(n):
        v.append(float(i))
    return np.array(v)


class Record:
    s = ""


def field(n):
    t = Record()
    t.s = ""
    for i in range(n):
        t.s += "ab"
    return t.s


def woven(n):
    s = ""
    for i in range(n):
        s = f"{s}ab"
    return s


def listed(n):
    s = ""
    for i in range(n):
        s = s + str(i) + ","
    return s


report("grow_vector", lambda: vector(10**5))
report("grow_field", lambda: field(10**5))
report("grow_woven", lambda: woven(10**5))
report("grow_sum", lambda: listed(10**5))
