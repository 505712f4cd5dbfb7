"""The twin of lazy.ric: lazy_peer.py torch|jax|numexpr|numba THREADS. Compiled, but for the time that takes, which
`new-shape` is. Names and seconds, medians."""
import os
import sys
import time

PEER, THREADS = sys.argv[1], int(sys.argv[2])
os.environ["OMP_NUM_THREADS"] = os.environ["NUMEXPR_NUM_THREADS"] = os.environ["NUMBA_NUM_THREADS"] = str(THREADS)
os.environ["NPROC"] = str(THREADS)      # XLA's pool
if THREADS == 1:
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"

import numpy as np

sys.path.insert(1, "bench")
from timing import median_of

rng = np.random.default_rng(1)
LAYERS = ((128, 64, 64, 401), (1024, 128, 128, 201), (8192, 64, 512, 31), (8192, 64, 2048, 11), (16384, 32, 256, 31),
          (4096, 256, 512, 31), (2048, 1024, 1024, 9))
SIZES = ((10**6, 31), (10**7, 7))


def show(name, seconds):
    print(f"{name} {seconds:.9f}", flush=True)


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def cheap(x, y, lib):
    b = x * 1.5 + y
    d = abs(b * b - x)
    return lib.sqrt(abs(lib.maximum(y / (d + 1) * 0.25, x) - y)) * 2


def dear(x, y, lib):
    f = lib.tanh(lib.exp(x * 0.5) + y) * x - 0.5
    return lib.sin(lib.log(f * f + 1) * y) + x


def chains(run):
    """run(name, x, y) gives what is timed, for chain `name`."""
    for size, repeats in SIZES:
        for dtype, text in ((np.float64, "f64"), (np.float32, "f32")):
            x, y = (rng.standard_normal(size).astype(dtype) for _ in range(2))
            for name in ("cheap", "dear"):
                show(f"{name}-{size}-{text}", median_of(run(name, x, y), repeats))


def turns(f, *args):
    def run():
        for _ in range(100):
            r = f(*args)
        return r
    return run


def first_run(f, make, count):
    times = []
    for k in range(count):
        x = make(k)
        start = time.perf_counter()
        f(x)
        middle = time.perf_counter()
        f(x)
        times.append(2 * middle - start - time.perf_counter())
    return sorted(times)[count // 2]


if PEER == "torch":
    import torch

    torch.set_num_threads(THREADS)
    torch._dynamo.config.recompile_limit = 1000
    compiled = torch.compile(lambda x, W, b: torch.relu(x @ W.T + b), dynamic=False)
    with torch.no_grad():
        for m, k, n, repeats in LAYERS:
            x, W, b = map(torch.from_numpy, (f32(m, k), f32(n, k), f32(n)))
            show(f"layer-{m}x{k}-{n}", median_of(lambda: compiled(x, W, b), repeats))
            show(f"layer-{m}x{k}-{n}-eager", median_of(lambda: torch.relu(x @ W.T + b), repeats))
        fast = {f: torch.compile(lambda x, y, g=g: g(x, y, torch), dynamic=False)
                for f, g in (("cheap", cheap), ("dear", dear))}
        chains(lambda name, x, y: (lambda x, y: lambda: fast[name](x, y))(torch.from_numpy(x), torch.from_numpy(y)))
        small = torch.compile(lambda x, y: torch.relu(x * y + 1), dynamic=False)
        show("small", median_of(turns(small, *map(torch.from_numpy, (f32(100), f32(100)))), 41) / 100)
        W, b = torch.from_numpy(f32(64, 64)), torch.from_numpy(f32(64))
        show("new-shape-layer", first_run(lambda x: compiled(x, W, b), lambda k: torch.from_numpy(f32(200 + k, 64)), 5))
elif PEER == "jax":
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    layer = jax.jit(lambda x, W, b: jax.nn.relu(x @ W.T + b))
    wait = jax.block_until_ready
    for m, k, n, repeats in LAYERS:
        x, W, b = map(jnp.asarray, (f32(m, k), f32(n, k), f32(n)))
        show(f"layer-{m}x{k}-{n}", median_of(lambda: wait(layer(x, W, b)), repeats))
    fast = {f: jax.jit(lambda x, y, g=g: g(x, y, jnp)) for f, g in (("cheap", cheap), ("dear", dear))}
    chains(lambda name, x, y: (lambda x, y: lambda: wait(fast[name](x, y)))(jnp.asarray(x), jnp.asarray(y)))
    small = jax.jit(lambda x, y: jnp.maximum(x * y + 1, 0))
    show("small", median_of(turns(lambda x, y: wait(small(x, y)), jnp.asarray(f32(100)), jnp.asarray(f32(100))),
                            41) / 100)
    W, b = jnp.asarray(f32(64, 64)), jnp.asarray(f32(64))
    show("new-shape-small", first_run(lambda x: wait(small(x, x)), lambda k: jnp.asarray(f32(200 + k)), 11))
    show("new-shape-layer", first_run(lambda x: wait(layer(x, W, b)), lambda k: jnp.asarray(f32(200 + k, 64)), 11))
    show("new-shape-twelve", first_run(lambda x: wait(fast["dear"](x, x)),
                                       lambda k: jnp.asarray(rng.standard_normal(200 + k)), 11))
elif PEER == "numexpr":
    import numexpr

    numexpr.set_num_threads(THREADS)
    text = {"cheap": "sqrt(abs(where(y / (abs((x * h + y) * (x * h + y) - x) + one) * q > x, "
                     "y / (abs((x * h + y) * (x * h + y) - x) + one) * q, x) - y)) * two",
            "dear": "sin(log((tanh(exp(x * half) + y) * x - half) * (tanh(exp(x * half) + y) * x - half) + one) * y) + x"}

    def run(name, x, y):
        c = {k: x.dtype.type(v) for k, v in dict(h=1.5, q=0.25, one=1, two=2, half=0.5).items()}
        return lambda: numexpr.evaluate(text[name], dict(c, x=x, y=y))
    chains(run)
    small = dict(x=f32(100), y=f32(100), one=np.float32(1), zero=np.float32(0))
    show("small", median_of(turns(lambda: numexpr.evaluate("where(x * y + one > zero, x * y + one, zero)", small)), 41)
         / 100)
else:
    import math

    import numba

    numba.set_num_threads(THREADS)

    def loop(body):
        @numba.njit(parallel=True, fastmath=True, error_model="numpy")
        def f(x, y):
            r = np.empty_like(x)
            h, q, one, two, half = (x.dtype.type(1.5), x.dtype.type(0.25), x.dtype.type(1), x.dtype.type(2),
                                    x.dtype.type(0.5))
            for i in numba.prange(x.size):
                r[i] = body(x[i], y[i], h, q, one, two, half)
            return r
        return f

    @numba.njit(fastmath=True, error_model="numpy")
    def cheap_one(x, y, h, q, one, two, half):
        b = x * h + y
        return math.sqrt(abs(max(y / (abs(b * b - x) + one) * q, x) - y)) * two

    @numba.njit(fastmath=True, error_model="numpy")
    def dear_one(x, y, h, q, one, two, half):
        f = math.tanh(math.exp(x * half) + y) * x - half
        return math.sin(math.log(f * f + one) * y) + x

    @numba.njit(fastmath=True)
    def small(x, y):
        r = np.empty_like(x)
        for i in range(x.size):
            r[i] = max(x[i] * y[i] + np.float32(1), np.float32(0))
        return r

    fast = {"cheap": loop(cheap_one), "dear": loop(dear_one)}
    chains(lambda name, x, y: lambda: fast[name](x, y))
    show("small", median_of(turns(small, f32(100), f32(100)), 41) / 100)
