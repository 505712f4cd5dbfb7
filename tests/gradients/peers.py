#!/usr/bin/env python3
"""Values of gradients against JAX's and PyTorch's: random functions, written for all of them.

    peers.py [--cases N] [--seed S] [--ricci PATH] [--show N]

A case is a function of a matrix and a vector of floats that gives a number; its gradients by both must agree with
each peer's, where that has the operation, to 1e-9 of the largest element. Runs under a Python that has jax or
torch; without either it says so and passes nothing. Ends with `N passed, N failed`."""
import argparse
import os
import random
import sys

sys.dont_write_bytecode = True
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
import answered

N = 4
# Ricci's text and the peers', of x and y; m is the peer's module, f its functions that go by other names.
UNARY = [("sin({})", "m.sin({})"), ("cos({})", "m.cos({})"), ("tanh({})", "m.tanh({})"), ("exp({} / 2)", "m.exp({} / 2)"),
         ("sqrt(1 + {}^2)", "m.sqrt(1 + {}**2)"), ("log(1.5 + {}^2)", "m.log(1.5 + {}**2)"), ("sigmoid({})", "f.sigmoid({})"),
         ("{}^3 / 3", "{}**3 / 3"), ("abs({})", "abs({})"), ("relu({})", "f.relu({})"), ("1 / (2 + {}^2)", "1 / (2 + {}**2)"),
         ("softplus({})", "f.softplus({})"), ("erf({})", "f.erf({})"), ("gelu({})", "f.gelu({})"), ("lgamma(1.2 + {}^2)", "f.lgamma(1.2 + {}**2)"),
         ("(1 + {}^2)^0.7", "(1 + {}**2)**0.7"), ("atan({})", "m.arctan({})"), ("clamp({}, -0.6, 0.8)", "m.clip({}, -0.6, 0.8)"),
         ("asinh({})", "m.arcsinh({})"), ("silu({})", "f.silu({})"), ("expm1({})", "m.expm1({})"), ("log1p({}^2)", "m.log1p({}**2)")]
BINARY = [("({} + {})", "({} + {})"), ("({} - {})", "({} - {})"), ("{} * {}", "{} * {}"), ("{} / (1.5 + {}^2)", "{} / (1.5 + {}**2)"),
          ("maximum({}, {})", "m.maximum({}, {})"), ("hypot({}, 1 + {}^2)", "m.hypot({}, 1 + {}**2)"),
          ("atan2({}, 2 + {}^2)", "m.arctan2({}, 2 + {}**2)"), ("where({0} > 0.1, {0}, {1})", "m.where({0} > 0.1, {0}, {1})")]
# Of matrices; the last says what comes out: M(atrix), V(ector), S(calar).
FROM_M = [("{}'", "{}.T", "M"), ("({} @ {})", "({} @ {})", "M"), ("{}[::-1]", "f.flip({})", "M"), ("softmax({}, axis=1)", "f.softmax({})", "M"),
          ("cumsum({}, axis=0)", "m.cumsum({}, 0)", "M"), ("triu({})", "m.triu({})", "M"), ("{}[[0, 2, 2, 1]]", "{}[m.asarray([0, 2, 2, 1])]", "M"),
          ("sum({}, axis=1)", "m.sum({}, 1)", "V"), ("mean({}, axis=0)", "m.mean({}, 0)", "V"), ("max({}, axis=0)", "f.top({})", "V"),
          ("diag({})", "m.diag({})", "V"), ("logsumexp({}, axis=1)", "f.logsumexp({})", "V"), ("{}[2]", "{}[2]", "V"), ("{}[1:3, 2] @ {}[0:2, :]", "{}[1:3, 2] @ {}[0:2, :]", "V"),
          ('einsum("ij,kj->ik", {}, {})', 'm.einsum("ij,kj->ik", {}, {})', "M"), ('einsum("ij,jk,kl->il", {0}, {1}, {0})', 'm.einsum("ij,jk,kl->il", {0}, {1}, {0})', "M"),
          ("var({}, axis=0)", "f.var({})", "V"), ("prod({}, axis=1)", "m.prod({}, 1)", "V"), ("norm({})", "m.linalg.norm({})", "S"), ("{}[1, 2] * {}[3, 0]", "{}[1, 2] * {}[3, 0]", "S")]
SQUARE = [("inv({})", "m.linalg.inv({})", "M"), ("det({})", "m.linalg.det({})", "S"), ("slogdet({}).logdet", "m.linalg.slogdet({})[1]", "S"),
          ("chol({})", "m.linalg.cholesky({})", "M"), ("svdvals({})", "f.svdvals({})", "V"), ("eigvalsh({})", "m.linalg.eigvalsh({})", "V"),
          ("expm({} / 4)", "f.expm({} / 4)", "M"), ("pinv({})", "m.linalg.pinv({})", "M"), ("qr({}).R", "m.linalg.qr({})[1]", "M"),
          ("matpow({}, 3)", "m.linalg.matrix_power({}, 3)", "M"), ("trace({})", "m.trace({})", "S"), ("cond({})", "m.linalg.cond({})", "S")]
SOLVE = [("{} \\ {}", "m.linalg.solve({}, {})", "V")]
NOTATION = [("Y[i,k] := {}[i,j] * {}[j,k]", "{} @ {}", "M"), ("Y[i] := sum[j] exp({}[i,j]) * {}[j,i]", "m.sum(m.exp({}) * {}.T, 1)", "V"),
            ("Y[i,j] := {}[j,i] - {}[i,j]^2", "{}.T - {}**2", "M"), ("Y[i] := max[j] {}[i,j] * {}[i,j]", "f.top(({} * {}).T)", "V"),
            ("Y[i,j] := exp({0}[i,j]) / (sum[k] exp({0}[i,k]))", "f.softmax({0})", "M"), ("Y[i] := {}[i,i] * {}[i,0]", "m.diag({}) * {}[:, 0]", "V"),
            ("Y[i,j] := {0}[i,j] / (1 + (sum[k] {1}[k,j]^2))", "{0} / (1 + m.sum({1}**2, 0))", "M")]


class Case:
    """The lines of a function of A (a matrix) and v, in both languages."""

    def __init__(self, rng):
        self.rng, self.ricci, self.python, self.kinds = rng, [], [], {"A": "M", "v": "V"}
        for _ in range(rng.randrange(2, 6)):
            self.step()
        names = list(self.kinds)[-3:] + ["A", "v"]
        self.result = [" + ".join(f"0.3 * {sum}(sin({n}))" for n in names).replace("sin", sin)
                       for sum, sin in (("sum", "sin"), ("m.sum", "m.sin"))]

    def pick(self, kind):
        return self.rng.choice([n for n, k in self.kinds.items() if k == kind][-3:])

    def put(self, kind, ricci, python):
        name = f"t{len(self.ricci)}"
        self.ricci.append(ricci.replace("Y[", name + "[") if ":=" in ricci else f"{name} = {ricci}")
        self.python.append(f"{name} = {python}")
        self.kinds[name] = kind
        return name

    def of(self, form, kind):
        names = self.pick(kind), self.pick(kind)
        counts = [t.count("{}") for t in form[:2]]
        return [t.format(*([names[0]] * 3 if n == 1 else names)) for t, n in zip(form, counts)]

    def step(self):
        rng, r, kind = self.rng, self.rng.random(), self.rng.choice("MMV")
        if r < 0.25:
            name = self.pick(kind)
            self.put(kind, *(t.replace("{}", name) for t in rng.choice(UNARY)))
        elif r < 0.45:
            self.put(kind, *self.of(rng.choice(BINARY), kind))
        elif r < 0.75:
            form = rng.choice(FROM_M + NOTATION)
            self.put(form[2], *self.of(form, "M"))
        else:
            a, b, form = self.pick("M"), self.pick("V"), rng.choice(SQUARE + SOLVE)
            a = self.put("M", f"tanh({a})", f"m.tanh({a})")
            a = self.put("M", f"{a} @ {a}' / 4 + diag([1.5, 2, 2.6, 3.3])", f"{a} @ {a}.T / 4 + m.diag(m.asarray([1.5, 2, 2.6, 3.3]))")
            self.put(form[2], form[0].format(a, b), form[1].format(a, b))


def numbers(rng, n):
    return [round(rng.uniform(-1.4, 1.4), 3) for _ in range(n)]


def ricci_program(cases, data):
    out = ["fn show(id, g) { print(\"@{id} {join([string(x) for x in concat(flatten(g[0]), g[1])], \" \")}\") }"]
    for i, (case, (A, v)) in enumerate(zip(cases, data)):
        body = "\n    ".join(case.ricci + [case.result[0]])
        out.append(f"fn f{i}(A, v) {{\n    {body}\n}}")
        out.append(f"try {{ show({i}, grad(f{i}, wrt=(0, 1))(reshape({A}, {N}, {N}), {v})) }} catch e {{ print(\"@{i} error\", e.message) }}")
    return "\n".join(out) + "\n"


def jax_gradient():
    import jax
    import jax.numpy as jnp
    import jax.scipy as js
    jax.config.update("jax_enable_x64", True)
    f = {"sigmoid": jax.nn.sigmoid, "relu": jax.nn.relu, "softplus": jax.nn.softplus, "erf": js.special.erf, "silu": jax.nn.silu,
         "gelu": lambda x: jax.nn.gelu(x, approximate=False), "lgamma": js.special.gammaln, "flip": lambda x: jnp.flip(x, 0),
         "softmax": lambda x: jax.nn.softmax(x, 1), "top": lambda x: jnp.max(x, 0), "logsumexp": lambda x: js.special.logsumexp(x, 1),
         "var": lambda x: jnp.var(x, axis=0), "svdvals": lambda x: jnp.linalg.svd(x, compute_uv=False), "expm": js.linalg.expm}
    def run(function, A, v):
        return jax.grad(function, argnums=(0, 1))(jnp.asarray(A), jnp.asarray(v))
    return jnp, f, run


def torch_gradient():
    import torch
    torch.set_default_dtype(torch.float64)
    tf = torch.nn.functional
    f = {"sigmoid": torch.sigmoid, "relu": tf.relu, "softplus": tf.softplus, "erf": torch.erf, "silu": tf.silu, "gelu": tf.gelu,
         "lgamma": torch.lgamma, "flip": lambda x: torch.flip(x, [0]), "softmax": lambda x: torch.softmax(x, 1),
         "top": lambda x: torch.amax(x, 0), "logsumexp": lambda x: torch.logsumexp(x, 1), "svdvals": torch.linalg.svdvals,
         "var": lambda x: torch.var(x, 0, unbiased=False), "expm": torch.matrix_exp}
    def run(function, A, v):
        A, v = torch.tensor(A, requires_grad=True), torch.tensor(v, requires_grad=True)
        function(A, v).backward()
        return A.grad, v.grad
    return torch, f, run


class Names:
    def __init__(self, names):
        self.__dict__.update(names)


def compile_case(case, m, f):
    space = {"m": m, "f": Names(f)}
    body = "\n    ".join(case.python + [f"return {case.result[1]}"])
    exec(f"def function(A, v):\n    {body}", space)
    return space["function"]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--cases", type=int, default=2000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--ricci", default=os.environ.get("RICCI", "build/ricci"))
    options.add_argument("--show", type=int, default=5)
    chosen = options.parse_args()
    rng = random.Random(chosen.seed)
    cases = [Case(rng) for _ in range(chosen.cases)]
    data = [(numbers(rng, N * N), numbers(rng, N)) for _ in cases]
    passed = failed = 0
    given = {}
    for start in range(0, len(cases), 500):
        out, err, _ = answered.run(chosen.ricci, ricci_program(cases[start:start + 500], data[start:start + 500]), 600)
        given.update({start + int(k): v for k, v in answered.answers(out).items()})
        if err and chosen.show:
            print(err[:400])
    for name, peer in (("jax", jax_gradient), ("torch", torch_gradient)):
        try:
            m, f, run = peer()
        except ImportError:
            print(f"not run: no {name}")
            continue
        for i, (case, (A, v)) in enumerate(zip(cases, data)):
            rows = [A[k:k + N] for k in range(0, N * N, N)]
            gA, gv = run(compile_case(case, m, f), rows, v)
            want = [x for row in gA.tolist() for x in row] + gv.tolist()
            try:
                got = [float(x) for x in given.get(i, "nothing").split()]
            except ValueError:
                got = []
            size = max(map(abs, want))
            if not size < 1e5:                  # the sine of something large: all of them are wrong by now
                continue
            if len(got) == len(want) and all(abs(a - b) <= 1e-9 * (size + 1) for a, b in zip(got, want)):
                passed += 1
                continue
            failed += 1
            if failed <= chosen.show:
                print(f"FAIL {name} case {i}: {given.get(i)}\n  wants {want}\n" + "\n".join("    " + t for t in case.ricci + [case.result[0]]))
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
