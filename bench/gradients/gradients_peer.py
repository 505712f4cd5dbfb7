"""The twin of gradients.ric: gradients_peer.py torch|jax. JAX is compiled, but for the time that takes."""
import sys

import numpy as np

sys.path.insert(1, "bench")
from timing import median_of

PEER = sys.argv[1]
rng = np.random.default_rng(1)


def show(name, seconds):
    print(f"{name} {seconds:.9f}", flush=True)


X = rng.standard_normal((256, 64)).astype(np.float32)
T = rng.standard_normal((256, 10)).astype(np.float32)
W = [(rng.standard_normal(s) * 0.1).astype(np.float32) for s in ((64, 128), (128, 128), (128, 10))]
Q = rng.standard_normal((512, 64)) * 0.3
A = rng.standard_normal((300, 300))
S = A @ A.T + 300 * np.eye(300)
u = rng.random(100)
x = rng.random(1000000)

if PEER == "torch":
    import torch

    def gradient(f, *args):
        args = [torch.tensor(a, requires_grad=True) for a in args]

        def run():
            for a in args:
                a.grad = None
            f(*args).backward()
        return run

    def scalars(x):
        y = x
        for _ in range(5000):
            y = y * 0.999 + x
        return y

    def heat(u):
        for _ in range(10000):
            u = u + 0.1 * (torch.roll(u, 1) - 2 * u + torch.roll(u, -1))
        return (u ** 2).sum()

    def attention(Q, K, V):
        P = torch.exp(Q @ K.T)
        return ((P @ V / P.sum(1, keepdim=True)) ** 2).sum()

    Xt, Tt = torch.tensor(X), torch.tensor(T)
    show("scalar-op", median_of(gradient(scalars, 1.0), 5) / 10000)
    show("three-layers", median_of(gradient(
        lambda a, b, c: ((torch.tanh(torch.tanh(Xt @ a) @ b) @ c - Tt) ** 2).mean(), *W), 15))
    show("attention", median_of(gradient(attention, Q, Q, Q), 7))
    show("logdet", median_of(gradient(lambda A: torch.slogdet(A)[1], S), 7))
    show("heat-10000", median_of(gradient(heat, u), 3))
    show("elementwise", median_of(gradient(
        lambda x: (torch.tanh(x) ** 2 * torch.exp(-x)).sum(), x), 9))
else:
    import jax
    import jax.numpy as jnp
    jax.config.update("jax_enable_x64", True)

    def gradient(f, *args):
        g = jax.jit(jax.grad(f, argnums=tuple(range(len(args)))))
        args = [jnp.asarray(a) for a in args]
        return lambda: jax.block_until_ready(g(*args))

    def scalars(x):
        return jax.lax.fori_loop(0, 5000, lambda k, y: y * 0.999 + x, x)

    def heat(u):
        def step(u, _):
            return u + 0.1 * (jnp.roll(u, 1) - 2 * u + jnp.roll(u, -1)), None
        return (jax.lax.scan(step, u, None, length=10000)[0] ** 2).sum()

    def attention(Q, K, V):
        P = jnp.exp(Q @ K.T)
        return ((P @ V / P.sum(1, keepdims=True)) ** 2).sum()

    show("scalar-op", median_of(gradient(scalars, 1.0), 5) / 10000)
    show("three-layers", median_of(gradient(
        lambda a, b, c: ((jnp.tanh(jnp.tanh(X @ a) @ b) @ c - T) ** 2).mean(), *W), 15))
    show("attention", median_of(gradient(attention, Q, Q, Q), 7))
    show("logdet", median_of(gradient(lambda A: jnp.linalg.slogdet(A)[1], S), 7))
    show("heat-10000", median_of(gradient(heat, u), 3))
    show("elementwise", median_of(gradient(
        lambda x: (jnp.tanh(x) ** 2 * jnp.exp(-x)).sum(), x), 9))
