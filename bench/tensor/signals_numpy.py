"""The cases of signals.ric in NumPy: prints `name seconds` per case, the median of repeated runs."""
import statistics
import time

import numpy as np


def report(name, f, times=1):
    f()
    clocks = []
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(times):
            f()
        clocks.append((time.perf_counter() - start) / times)
    print(name, statistics.median(clocks), flush=True)


rng = np.random.default_rng(1)
z = rng.standard_normal(2**20) + 1j * rng.standard_normal(2**20)
x = rng.standard_normal(2**20)
report("fft_2^20", lambda: np.fft.fft(z))
report("rfft_2^20", lambda: np.fft.rfft(x))
report("irfft_2^20", lambda: np.fft.irfft(z[:2**19 + 1]))
p = x[:1_000_003]
report("fft_1000003_prime", lambda: np.fft.fft(p))
s = z[:1024]
report("fft_1024", lambda: np.fft.fft(s), times=1000)
b = z[:640_000].reshape(10000, 64)
report("fft_10000x64", lambda: np.fft.fft(b))
m = z[:1_000_000].reshape(1000, 1000)
report("fft_columns_1000", lambda: np.fft.fft(m, axis=0))
report("fft2_1000", lambda: np.fft.fft2(m))
y = rng.standard_normal(10**7)
i = rng.integers(-100, 100, 10**7)
report("conv_1e7_3", lambda: np.convolve(y, [1.0, 2, 1]))
report("conv_int_1e7_3", lambda: np.convolve(i, [1, 2, 1]))
k = rng.standard_normal(100)
report("conv_1e6_100", lambda: np.convolve(x, k))
l = rng.standard_normal(5000)
report("conv_1e6_5000", lambda: np.convolve(x, l))
report("diff_1e7", lambda: np.diff(y))
report("histogram_1e7", lambda: np.histogram(y, 100))
e = np.linspace(-5, 5, 101)
report("histogram_1e7_edges", lambda: np.histogram(y, e))
t = np.linspace(-5, 5, 1000)
report("interp_1e6_1000", lambda: np.interp(x, t, t))
c = y[:10**6].reshape(100, 10000)
report("cov_100x10000", lambda: np.cov(c))
report("isclose_1e7", lambda: np.isclose(y, y))
report("nonzero_1e7", lambda: np.nonzero(y))
report("round_1e7_2", lambda: np.round(y, 2))
