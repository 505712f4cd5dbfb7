"""The twin of training.ric: training_peer.py torch|compiled|jax: PyTorch as it is, by torch.compile, JAX compiled; the time that
compiling takes is not counted."""
import sys

import numpy as np

sys.path.insert(1, "bench")
from timing import median_of

PEER = sys.argv[1]
rng = np.random.default_rng(1)
LENGTH, WIDTH, HEADS, LETTERS = 32, 32, 2, 28


def show(name, seconds):
    print(f"{name} {seconds:.9f}", flush=True)


def matrix(to, frm):
    return (rng.standard_normal((to, frm)) / np.sqrt(frm)).astype(np.float32)


def layer(prefix):
    return {prefix + k: matrix(*s) for k, s in dict(Q=(WIDTH, WIDTH), K=(WIDTH, WIDTH), V=(WIDTH, WIDTH), O=(WIDTH, WIDTH),
                                                   A=(4 * WIDTH, WIDTH), B=(WIDTH, 4 * WIDTH)).items()}


zeros = lambda n: np.zeros(n, np.float32)
X, t = rng.random((1216, 64)).astype(np.float32), rng.integers(0, 10, 1216)
Z, after = rng.integers(0, LETTERS, (512, LENGTH)), rng.integers(0, LETTERS, (512, LENGTH))
DENSE = dict(W1=matrix(32, 64), b1=zeros(32), W2=matrix(10, 32), b2=zeros(10))
NETS = dict(F=matrix(8, 9).reshape(8, 1, 3, 3), f=zeros(8), G=matrix(16, 72).reshape(16, 8, 3, 3), g=zeros(16), W=matrix(10, 64), b=zeros(10))
MODEL = dict(E=matrix(LETTERS, WIDTH), P=matrix(LENGTH, WIDTH), W=matrix(LETTERS, WIDTH), **layer("1"), **layer("2"))
CASES = (("classifier", DENSE, X, t, 32, 21), ("convolution", NETS, X.reshape(1216, 1, 8, 8), t, 32, 9), ("transformer", MODEL, Z, after, 16, 7))

if PEER in ("torch", "compiled"):
    import torch
    from torch.nn import functional as F

    def dense(p, X):
        return torch.relu(X @ p["W1"].T + p["b1"]) @ p["W2"].T + p["b2"]

    def nets(p, X):
        x = torch.relu(F.conv2d(torch.relu(F.conv2d(X, p["F"], p["f"])), p["G"], p["g"]))
        return F.avg_pool2d(x, 2).reshape(len(X), 64) @ p["W"].T + p["b"]

    def model(p, Z):
        x = p["E"][Z] + p["P"]
        for k in "12":
            y = F.layer_norm(x, (WIDTH,))
            q, key, v = ((y @ p[k + n].T).reshape(len(Z), LENGTH, HEADS, -1).transpose(1, 2) for n in "QKV")
            seen = F.scaled_dot_product_attention(q, key, v, is_causal=True)
            x = x + seen.transpose(1, 2).reshape(len(Z), LENGTH, WIDTH) @ p[k + "O"].T
            x = x + torch.relu(F.layer_norm(x, (WIDTH,)) @ p[k + "A"].T) @ p[k + "B"].T
        return (x @ p["W"].T).reshape(-1, LETTERS)

    for (name, params, data, labels, batch, repeats), f in zip(CASES, (dense, nets, model)):
        p = {k: torch.tensor(v, requires_grad=True) for k, v in params.items()}
        data, labels = torch.tensor(data), torch.tensor(labels)
        opt = torch.optim.Adam(p.values(), lr=3e-3)

        def loss(p, rows, labels):
            return F.cross_entropy(f(p, rows), labels.flatten())
        loss = torch.compile(loss) if PEER == "compiled" else loss

        def epoch():
            order = torch.randperm(len(data))
            for k in range(0, len(data), batch):
                rows = order[k:k + batch]
                opt.zero_grad()
                loss(p, data[rows], labels[rows]).backward()
                opt.step()
        epoch()
        show(name, median_of(epoch, repeats))
else:
    import jax
    import jax.numpy as jnp

    def dense(p, X):
        return jax.nn.relu(X @ p["W1"].T + p["b1"]) @ p["W2"].T + p["b2"]

    def conv(x, w, b):
        return jax.nn.relu(jax.lax.conv(x, w, (1, 1), "VALID") + b[None, :, None, None])

    def nets(p, X):
        x = conv(conv(X, p["F"], p["f"]), p["G"], p["g"])
        return x.reshape(len(X), 16, 2, 2, 2, 2).mean((3, 5)).reshape(len(X), 64) @ p["W"].T + p["b"]

    def norm(x):
        return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)

    def model(p, Z):
        x = p["E"][Z] + p["P"]
        mask = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
        for k in "12":
            y = norm(x)
            q, key, v = ((y @ p[k + n].T).reshape(len(Z), LENGTH, HEADS, -1).transpose(0, 2, 1, 3) for n in "QKV")
            scores = jnp.where(mask, q @ key.transpose(0, 1, 3, 2) / jnp.sqrt(q.shape[-1]), -jnp.inf)
            seen = jax.nn.softmax(scores) @ v
            x = x + seen.transpose(0, 2, 1, 3).reshape(len(Z), LENGTH, WIDTH) @ p[k + "O"].T
            x = x + jax.nn.relu(norm(x) @ p[k + "A"].T) @ p[k + "B"].T
        return (x @ p["W"].T).reshape(-1, LETTERS)

    for (name, params, data, labels, batch, repeats), f in zip(CASES, (dense, nets, model)):
        def loss(p, X, t):
            s = f(p, X)
            return -jnp.take_along_axis(jax.nn.log_softmax(s), t.reshape(-1, 1), 1).mean()

        @jax.jit
        def step(p, m, v, k, X, t):
            g = jax.grad(loss)(p, X, t)
            tree = jax.tree_util.tree_map
            m = tree(lambda m, g: 0.9 * m + 0.1 * g, m, g)
            v = tree(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
            return tree(lambda p, m, v: p - 3e-3 * m / (1 - 0.9**k) / (jnp.sqrt(v / (1 - 0.999**k)) + 1e-8), p, m, v), m, v

        nothing = {k: np.zeros_like(v) for k, v in params.items()}
        state = [{k: jnp.asarray(v) for k, v in params.items()}, nothing, nothing, 0]

        def epoch():
            order = rng.permutation(len(data))
            p, m, v, count = state
            for k in range(0, len(data), batch):
                rows = order[k:k + batch]
                count += 1
                p, m, v = step(p, m, v, float(count), data[rows], labels[rows])
            jax.block_until_ready(p)
            state[:] = [p, m, v, count]
        epoch()
        show(name, median_of(epoch, repeats))
