"""NumPy's side of methods_shelf.ric: the same names, seconds, the least of rounds."""
import time

import numpy as np

rng = np.random.default_rng(1)
n = 1000000
x, y = rng.standard_normal(n), rng.standard_normal(n)
r, k = (rng.random(n) * 1000).astype(int), (rng.random(n) * 100).astype(int)
w = (rng.random(1000) * 1000).astype(int)
M = rng.standard_normal((1000, 1000))


def row(name, f, rounds=5):
    times = []
    f()
    for _ in range(rounds):
        start = time.perf_counter()
        f()
        times.append(time.perf_counter() - start)
    print(name, min(times))


def scatter():
    s = np.zeros(1000)
    np.add.at(s, r, x)
    return s


row("cumsum", lambda: np.cumsum(x))
row("cummax", lambda: np.maximum.accumulate(x))
row("cummax_axis0", lambda: np.maximum.accumulate(M, axis=0))
row("cummin_f32", lambda: np.minimum.accumulate(x.astype(np.float32)))
row("frexp", lambda: np.frexp(x))
row("ldexp", lambda: np.ldexp(x,k))
row("copysign", lambda: np.copysign(x,y))
row("nan_to_num", lambda: np.nan_to_num(x))
row("remainder", lambda: np.remainder(x,y))
row("fmod", lambda: np.fmod(x,y))
row("divmod", lambda: np.divmod(x,y))
row("ptp", lambda: np.ptp(x))
row("deg2rad", lambda: np.deg2rad(x))
row("rad2deg", lambda: np.rad2deg(x))
row("add.at", scatter)
row("bincount", lambda: np.bincount(r,weights=x))
row("isin_int", lambda: np.isin(r,w))
row("isin_float", lambda: np.isin(x,y[:1000]))
row("union", lambda: np.union1d(r,w))
row("partition", lambda: np.partition(x,1000))
row("lexsort", lambda: np.lexsort((r,k)), 3)
row("take_along", lambda: np.take_along_axis(M,(M>0).astype(int),axis=0))
row("insert", lambda: np.insert(x,5,1.0))
row("delete", lambda: np.delete(x,5))
row("nanmean", lambda: np.nanmean(x))
row("nanvar", lambda: np.nanvar(x))
row("nanmin", lambda: np.nanmin(x))
row("nanmedian", lambda: np.nanmedian(x))
row("gradient", lambda: np.gradient(x))
row("trapezoid", lambda: np.trapezoid(x))
row("unwrap", lambda: np.unwrap(x))
row("histogram2d", lambda: np.histogram2d(x,y,50))
row("unravel_index", lambda: np.unravel_index(r,(10,100)))
row("rot90", lambda: np.ascontiguousarray(np.rot90(M)))
row("tensordot", lambda: np.tensordot(M,M,axes=1))
row("geomspace", lambda: np.geomspace(1,100,n))
