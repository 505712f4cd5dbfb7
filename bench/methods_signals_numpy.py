#!/usr/bin/env python3
"""SciPy's side of methods_signals.ric: the same names, seconds, the median of rounds."""
import statistics
import time

import numpy as np
import scipy.fft
import scipy.linalg as la
import scipy.ndimage as image
import scipy.signal as signal

rng = np.random.default_rng(1)
x, short, b = rng.standard_normal(100000), rng.standard_normal(2000), rng.standard_normal(200)
A, B, C = (rng.standard_normal((200, 200)) for _ in range(3))
S, P = A + A.T, B @ B.T + np.eye(200)
F = la.lu_factor(A)
picture = rng.standard_normal((256, 256))


def row(name, f, rounds=7):
    times = []
    f()
    for _ in range(rounds):
        start = time.perf_counter()
        f()
        times.append(time.perf_counter() - start)
    print(name, statistics.median(times))


def condest():
    lu, _ = la.lu_factor(A)
    la.lapack.dgecon(lu, np.abs(A).sum(axis=0).max())


row("welch", lambda: signal.welch(x))
row("stft", lambda: signal.stft(x))
row("dct", lambda: scipy.fft.dct(x))
row("hilbert", lambda: signal.hilbert(x))
row("correlate", lambda: signal.correlate(x, x))
row("fir", lambda: signal.lfilter([0.25, 0.5, 0.25], [1.0], x))
row("lfilter", lambda: signal.lfilter([1.0, 2], [1, -0.5, 0.1], x))
f32 = np.float32
row("lfilter_f32", lambda: signal.lfilter(f32([1.0, 2]), f32([1, -0.5, 0.1]), f32(short)))
row("filtfilt", lambda: signal.filtfilt([1.0, 2], [1, -0.5, 0.1], x))
row("find_peaks", lambda: signal.find_peaks(x))
row("gaussian_filter", lambda: image.gaussian_filter(picture, 2))
row("median_filter", lambda: image.median_filter(picture, 3))
row("sylvester", lambda: la.solve_sylvester(A, B, C), 3)
row("polar", lambda: la.polar(A), 5)
row("eig(A,B)", lambda: la.eig(A, B), 3)
row("eigh(A,B)", lambda: la.eigh(S, P), 5)
row("eig_left", lambda: la.eig(A, left=True), 3)
row("qr_pivot", lambda: la.qr(A, pivoting=True), 5)
row("lu_solve", lambda: la.lu_solve(F, b))
row("condest", condest, 5)
