"""Random operands: a formula for the data, and a view of it with any strides.

The text is what Ricci runs; the same numbers are made here by a formula of Python's ints."""
import dtypes


class Tensor:
    """An operand: values[offset + sum(index * stride)] is its element."""

    def __init__(self, text, dtype, shape, values, strides=None, offset=0):
        self.text, self.dtype, self.shape, self.values = text, dtype, tuple(shape), values
        self.strides, self.offset = strides or contiguous(shape), offset

    def at(self, index):
        return self.values[self.offset + sum(i * s for i, s in zip(index, self.strides))]


def contiguous(shape):
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return strides[::-1]


def count(shape):
    n = 1
    for length in shape:
        n *= length
    return n


def data(rng, dtype, n, gentle, low=None, high=None):
    """(text, values) of n elements; gentle: small ones, so that no product of a few overflows.
    low, high: ints in that range only."""
    a, b = rng.choice([1, 3, 7, 11, 37]), rng.randrange(50)
    if low is not None:
        m = max(high - low, 1)
        return f"(arange({n})*{a} + {b}) % {m} + {low}", [(t * a + b) % m + low for t in range(n)]
    if dtype == "bool":
        m = rng.choice([2, 3, 5])
        t = rng.randrange(m + 1) if rng.random() < 0.2 else 1
        return f"((arange({n})*{a} + {b}) % {m} < {t})", [(t0 * a + b) % m < t for t0 in range(n)]
    m = rng.choice([2, 3, 5, 7] if gentle else [5, 11, 23])
    h = 0 if dtype == "u8" else rng.randrange(m)
    ints = [(t * a + b) % m - h for t in range(n)]
    text = f"((arange({n})*{a} + {b}) % {m} - {h})"
    if dtype in dtypes.INTS:
        return (text if dtype == "i64" else f"{dtype}{text}"), [dtypes.store(dtype, v) for v in ints]
    d = rng.choice([1, 2, 4] if dtype in ("f16", "bf16") or dtype in dtypes.COMPLEX else [1, 2, 4, 3, 7])
    real = [v / d for v in ints]
    if dtype in dtypes.COMPLEX:
        c = rng.randrange(1, 5)
        values = [complex(v, (t + c) % 3 - 1) for t, v in enumerate(real)]
        text = f"({text}/{d} + ((arange({n}) + {c}) % 3 - 1)*1i)"
        return (text if dtype == "c128" else f"c64{text}"), values
    text = f"({text}/{d})"
    return (text if dtype == "f64" else f"{dtype}{text}"), [dtypes.store(dtype, v) for v in real]


def random_tensor(rng, dtype, shape, gentle=True, plain=False, low=None, high=None):
    """An operand of that dtype and shape; plain: contiguous."""
    shape = tuple(shape)
    if plain or rng.random() < 0.4 or not shape:
        text, values = data(rng, dtype, count(shape), gentle, low, high)
        if len(shape) != 1:
            text = f"reshape({text}, {shape_text(shape)})"
        return Tensor(text, dtype, shape, values)
    order = list(range(len(shape)))
    if rng.random() < 0.5:
        rng.shuffle(order)                          # axis order[p] of the result is axis p of the base
    steps, begins, lengths, slices, stretched = [], [], [], [], []
    for axis in order:
        n = shape[axis]
        stretch = n != 1 and rng.random() < 0.08
        step = rng.choice([1, 1, 1, 2, 3, -1, -2])
        if stretch or n == 0:
            step = 1
        kept = 1 if stretch else n
        o = rng.randrange(abs(step)) if step != 1 else rng.choice([0, 0, 1])
        lengths.append(o + max(kept - 1, 0) * abs(step) + (kept > 0) + rng.choice([0, 0, 1]) * (step > 0))
        begin = o + max(kept - 1, 0) * abs(step) if step < 0 else o
        stop = "" if step < 0 else str(o + max(kept - 1, 0) * step + (kept > 0))
        slices.append(f"{begin}:{stop}" + (f":{step}" if step != 1 else ""))
        steps.append(0 if stretch else step)
        begins.append(begin)
        stretched.append(stretch)
    text, values = data(rng, dtype, count(lengths), gentle, low, high)
    if len(lengths) != 1:
        text = f"reshape({text}, {shape_text(lengths)})"
    text = f"({text})[{', '.join(slices)}]"
    base = contiguous(lengths)
    strides, offset = [0] * len(shape), 0
    for p, axis in enumerate(order):
        strides[axis] = base[p] * steps[p]
        offset += base[p] * begins[p]
    if order != sorted(order):
        back = [order.index(axis) for axis in range(len(shape))]
        text = f"transpose({text}, {shape_text(back)})"
    if any(stretched):
        text = f"broadcast_to({text}, {shape_text(shape)})"
    return Tensor(text, dtype, shape, values, strides, offset)


def shape_text(shape):
    return "(" + ", ".join(str(n) for n in shape) + ("," if len(shape) == 1 else "") + ")"
