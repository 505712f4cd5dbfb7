"""The cases of growth.ric for NumPy (with SciPy, and Python itself for text and loops) or PyTorch:
growth_peer.py numpy|torch CASE BYTES SECONDS prints `n seconds kept peak` for every size."""
import math
import re
import sys
import time
import tracemalloc

import numpy as np

rng = np.random.default_rng(1)


def side(n):
    return round(math.sqrt(n))


def cube(n):
    return round(n ** (1 / 3))


def grown_tuple(n):
    t = []
    for k in range(n):
        t.append(k)
    return t


def grown_text(n):
    s = ""
    for _ in range(n):
        s += "x"
    return s


def grown_keys(n):
    d = {"first": 0}
    for k in range(n):
        d[f"k{k}"] = k
    return d


def loop(n):
    s = 0.0
    for i in range(n):
        s += i * 0.5
    return s


def words(n):
    text = " ".join(map(str, range(n)))
    return lambda: ",".join(text.split())


def numpy_cases():
    from scipy import sparse

    def entries(n):
        m = n // 3
        return sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(m, m), format="csr"), rng.random(m)

    # name: (operands of n, what is measured of them)
    r = rng.random
    chain = lambda x, y: 2 * x * x + 3 * x * y + np.sqrt(y)
    return {
        "add": (lambda n: (r(n), r(n)), lambda x, y: x + y), "exp": (lambda n: (r(n),), np.exp),
        "chain": (lambda n: (r(n), r(n)), chain), "fused": (lambda n: (r(n), r(n)), chain),
        "mask": (lambda n: (r(n),), lambda x: x[x > 0.5]),
        "gather": (lambda n: (r(n), (r(n) * n).astype(np.int64)), lambda x, i: x[i]),
        "sum": (lambda n: (r(n),), np.sum), "max": (lambda n: (r(n),), np.max),
        "columns": (lambda n: (r((side(n), side(n))),), lambda A: A.sum(axis=0)),
        "cumsum": (lambda n: (r(n),), np.cumsum), "sort": (lambda n: (r(n),), np.sort),
        "product": (lambda n: (r((side(n), side(n))), r((side(n), side(n)))), lambda A, B: A @ B),
        "solve": (lambda n: (r((side(n), side(n))), r(side(n))), np.linalg.solve),
        "einsum": (lambda n: (r((cube(n),) * 3), r((cube(n),) * 2)), lambda T, A: np.einsum("abc,bd->adc", T, A, optimize=True)),
        "notation": (lambda n: (r((side(n), side(n))), r(side(n))), lambda A, v: (A + v).max(axis=1)),
        "fft": (lambda n: (r(n),), np.fft.fft), "rand": (lambda n: (n,), r), "randn": (lambda n: (n,), rng.standard_normal),
        "sparse": (entries, lambda S, x: S @ x),
    }


def torch_cases():
    import torch

    def entries(n):
        S, x = numpy_cases()["sparse"][0](n)
        return torch.sparse_csr_tensor(torch.from_numpy(S.indptr), torch.from_numpy(S.indices), torch.from_numpy(S.data), S.shape), torch.from_numpy(x)

    r = lambda *shape: torch.rand(*shape, dtype=torch.float64)
    chain = lambda x, y: 2 * x * x + 3 * x * y + torch.sqrt(y)
    return {
        "add": (lambda n: (r(n), r(n)), lambda x, y: x + y), "exp": (lambda n: (r(n),), torch.exp),
        "chain": (lambda n: (r(n), r(n)), chain),
        "mask": (lambda n: (r(n),), lambda x: x[x > 0.5]),
        "gather": (lambda n: (r(n), (r(n) * n).long()), lambda x, i: x[i]),
        "sum": (lambda n: (r(n),), torch.sum), "max": (lambda n: (r(n),), torch.max),
        "columns": (lambda n: (r(side(n), side(n)),), lambda A: A.sum(dim=0)),
        "cumsum": (lambda n: (r(n),), lambda x: torch.cumsum(x, 0)), "sort": (lambda n: (r(n),), lambda x: torch.sort(x)[0]),
        "product": (lambda n: (r(side(n), side(n)), r(side(n), side(n))), lambda A, B: A @ B),
        "solve": (lambda n: (r(side(n), side(n)), r(side(n))), torch.linalg.solve),
        "einsum": (lambda n: (r(*(cube(n),) * 3), r(cube(n), cube(n))), lambda T, A: torch.einsum("abc,bd->adc", T, A)),
        "notation": (lambda n: (r(side(n), side(n)), r(side(n))), lambda A, v: (A + v).amax(dim=1)),
        "fft": (lambda n: (r(n),), torch.fft.fft), "rand": (lambda n: (n,), r),
        "randn": (lambda n: (n,), lambda n: torch.randn(n, dtype=torch.float64)), "sparse": (entries, lambda S, x: S @ x),
    }


PYTHON = {
    "words": words, "append": lambda n: lambda: grown_tuple(n), "letters": lambda n: lambda: grown_text(n),
    "keys": lambda n: lambda: grown_keys(n), "loop": lambda n: lambda: loop(n),
}


def traced(f):
    """Bytes of the result and at the peak, as Python and NumPy tell them."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    y = f()
    after, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del y
    return after - before, peak - before


def status(field):
    with open("/proc/self/status") as file:
        return int(re.search(rf"{field}:\s+(\d+) kB", file.read())[1]) * 1024


def resident(f):
    """The same as the system sees it, for who tells nobody: pages, of which the first call left some behind."""
    f()
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")         # the peak counts from now on
    before = status("VmRSS")
    y = f()
    after, peak = status("VmRSS"), status("VmHWM")
    del y
    return max(after - before, 0), max(peak - before, 0)


def seconds(f):
    start = time.perf_counter()
    f()
    spent, rounds = time.perf_counter() - start, 0
    calls = min(max(int(0.002 / (spent + 1e-7)), 1), 10000)
    best = spent if calls == 1 else math.inf
    while spent < 0.3 and rounds < 50:
        start = time.perf_counter()
        for _ in range(calls):
            f()
        took = time.perf_counter() - start
        best = min(best, took / calls)
        spent, rounds = spent + took, rounds + 1
    return best


def main():
    peer, name, room, patience = sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
    cases = torch_cases() if peer == "torch" else numpy_cases()
    for n in (10, 10**3, 10**5, 10**7, 10**8, 10**9):
        held = 0
        if name in cases:
            make, call = cases[name]
            operands = make(n)
            held = 20 * n if name == "sparse" else sum(getattr(x, "nbytes", 0) for x in operands)
            f = lambda: call(*operands)
        elif peer == "numpy":
            f = PYTHON[name](n)
        else:
            return
        kept, peak = (resident if peer == "torch" else traced)(f)
        took = seconds(f)
        print(n, took, kept, peak, flush=True)
        f = operands = None
        step = 100 if n < 10**7 else 10
        if (held + peak) * step > room or took * step > patience:
            return


main()
