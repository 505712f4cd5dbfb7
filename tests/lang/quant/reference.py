#!/usr/bin/env python3
"""The numbers in calibrate.ric, by NumPy and plain loops from the definitions in docs/quantisation.md.

    python3 tests/lang/quant/reference.py           prints the table `wanted`

Shares nothing with the implementation: mse rounds all numbers on all 100 grids, and the divergence is that of two
written out distributions, p as it is there and q as codes tell it, bin by bin."""
import numpy as np

BINS = 2048


def data():
    k = np.array([i * 7919 % 2003 - 1001 for i in range(2003)], dtype=np.int64)
    return (k ** 5).astype(np.float64) / 2.0 ** 47 + np.array([i % 7 for i in range(2003)]) / 16.0


def tails():
    j = np.arange(2003)
    return np.where(j % 3 == 0, -1.0, 1.0) * 64 / (j + 3)


def mse(x, symmetric):
    best = None
    for k in range(100, 0, -1):
        if symmetric:
            m = np.max(np.abs(x))
            limit = m if k == 100 else m / 100 * k
            scale, zero, low, high = limit / 127, 0, -127, 127
            ends = (-limit, limit)
        else:
            a, b = min(np.min(x), 0), max(np.max(x), 0)
            ends = (a, b) if k == 100 else (a / 100 * k, b / 100 * k)
            scale = (ends[1] - ends[0]) / 255
            zero, low, high = -128 - round(ends[0] / scale), -128, 127
        q = np.clip(np.rint(x / scale) + zero, low, high)
        error = np.mean((x - (q - zero) * scale) ** 2)
        if best is None or error < best[0]:
            best = (error, ends)
    return best[1]


def divergence(counts, a, b, levels):
    p = counts[a:b].astype(np.float64).copy()
    inside = p.copy()
    p[0] += counts[:a].sum()
    p[-1] += counts[b:].sum()
    q = np.zeros(b - a)
    for k in range(levels):
        i, j = (b - a) * k // levels, (b - a) * (k + 1) // levels
        some = inside[i:j] > 0
        if some.any():
            q[i:j][some] = inside[i:j].sum() / some.sum()
    if np.any((p > 0) & (q == 0)):
        return np.inf
    p, q = p / p.sum(), q / q.sum()
    there = p > 0
    return np.sum(p[there] * np.log(p[there] / q[there]))


def entropy(x, symmetric):
    if symmetric:
        values, first, last, zero, levels = np.abs(x), 0.0, np.max(np.abs(x)), 0, 128
    else:
        values, first, last, levels = x, min(np.min(x), 0), max(np.max(x), 0), 256
        zero = min(int(-first / (last - first) * BINS), BINS)
    counts = np.zeros(BINS, dtype=np.int64)
    for v in values[values != 0]:
        counts[min(int((v - first) / (last - first) * BINS), BINS - 1)] += 1
    best = None
    for size in range(BINS, levels - 1, -1):
        a, b = zero - zero * size // BINS, zero + (BINS - zero) * size // BINS
        now = divergence(counts, a, b, levels)
        if best is None or now < best[0] - 1e-12:
            best = (now, a, b)
    width = (last - first) / BINS
    high = last if best[2] == BINS else first + width * best[2]
    if symmetric:
        return -high, high
    return (first if best[1] == 0 else first + width * best[1]), high


def percentile(x, symmetric):
    if symmetric:
        high = np.percentile(np.abs(x), 99.9)
        return -high, high
    return np.percentile(x, 100 - 99.9), np.percentile(x, 99.9)


def minmax(x, symmetric):
    if symmetric:
        return -np.max(np.abs(x)), np.max(np.abs(x))
    return np.min(x), np.max(x)


if __name__ == "__main__":
    for x in (data(), tails()):
        print("wanted = (")
        for method in (minmax, percentile, mse, entropy):
            for symmetric in (True, False):
                low, high = method(x, symmetric)
                print(f'    ("{method.__name__}", {str(symmetric).lower()}, {float(low)!r}, {float(high)!r}),')
