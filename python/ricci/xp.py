"""The array API 2024.12 by Ricci's rows: xp.sum(x, axis=0), xp.linalg.svd(A), xp.fft.fft(x).

Arguments are Tensors, arrays or numbers; what comes out is a Tensor of the session of the first
Tensor among them, or of the module's. What Ricci has no row for is no attribute. Names, arguments
and defaults are the standard's; dtypes are strings, and results have Ricci's dtypes."""
import builtins as _py
import collections as _collections
import math as _math
import operator as _operator
import types as _types

from . import Session as _Session, Tensor as Tensor, default as _default, devices as _devices
from . import dtype_name as _dtype_name

__array_api_version__ = "2024.12"

bool, int8, uint8, int32, int64 = "bool", "i8", "u8", "i32", "i64"
float16, bfloat16, float32, float64 = "f16", "bf16", "f32", "f64"
complex64, complex128 = "c64", "c128"
float8_e4m3fn, float8_e5m2 = "e4m3", "e5m2"
e, inf, nan, pi, newaxis = _math.e, _math.inf, _math.nan, _math.pi, None

_WIDTH = {"bool": 8, "i8": 8, "u8": 8, "i32": 32, "i64": 64, "e4m3": 8, "e5m2": 8, "f16": 16,
          "bf16": 16, "f32": 32, "f64": 64, "c64": 64, "c128": 128}
_KINDS = {
    "bool": ("bool",), "signed integer": ("i8", "i32", "i64"), "unsigned integer": ("u8",),
    "real floating": ("e4m3", "e5m2", "f16", "bf16", "f32", "f64"),
    "complex floating": ("c64", "c128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = (_KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"])


# ---- sessions and calls ----
def _session(args):
    for x in args:
        if isinstance(x, Tensor):
            return x.session
        if isinstance(x, (tuple, list)):
            found = _session(x)
            if found is not None:
                return found
    return None


def _call(name, *args, **named):
    s = _session(args) or _default()
    return s[name]._tensors(*args, **{k: v for k, v in named.items() if v is not None})


def _row(name, row=None):
    row = row or name

    def function(*args):
        return _call(row, *args)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Ricci's operation {row}, elementwise."
    return function


for _name, _op in {n: n for n in (
        "abs acos acosh add asin copysign logaddexp asinh atan atan2 atanh ceil conj cos cosh divide equal exp expm1 "
        "floor floor_divide greater greater_equal hypot imag isfinite isinf isnan less less_equal "
        "log log1p log2 log10 maximum minimum multiply negative nextafter not_equal positive real "
        "round sign sin sinh sqrt subtract tan tanh trunc where").split()}.items():
    globals()[_name] = _row(_name, _op)
for _name, _op in {"bitwise_and": "bitand", "bitwise_or": "bitor", "bitwise_xor": "xor",
                   "bitwise_invert": "invert", "bitwise_left_shift": "shl",
                   "bitwise_right_shift": "shr", "pow": "power", "remainder": "mod"}.items():
    globals()[_name] = _row(_name, _op)


def _bools(*xs):
    for x in xs:
        if isinstance(x, Tensor) and x.dtype != "bool":
            raise _py.TypeError(f"logical operations take bools, not {x.dtype}")
    return xs


def logical_and(x1, x2):
    return _call("bitand", *_bools(x1, x2))


def logical_or(x1, x2):
    return _call("bitor", *_bools(x1, x2))


def logical_xor(x1, x2):
    return _call("xor", *_bools(x1, x2))


def logical_not(x):
    return _call("invert", *_bools(x))


def square(x):
    return _call("multiply", x, x)


def reciprocal(x):
    return _call("divide", 1, x)


def clip(x, min=None, max=None):
    if min is not None:
        x = maximum(x, min)                                              # noqa: F821
    return x if max is None else minimum(x, max)                         # noqa: F821


# ---- creation ----
def _made(name, *args, dtype=None, device=None, session=None, **named):
    s = session or _default()
    if dtype is not None:
        named["dtype"] = s._format(dtype)
    x = s[name]._tensors(*args, **named)
    return x if device is None else x.to(device)


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    s = _session((obj,)) or _default()
    if copy is False and not (isinstance(obj, Tensor) or hasattr(obj, "__dlpack__")):
        raise _py.ValueError("copy=False: nothing of what was given can be shared")
    x = s.asarray(obj)
    y = s.asarray(x, dtype, device)
    if copy is False and (y.dtype, y.device) != (x.dtype, x.device):
        raise _py.ValueError(f"copy=False: {x.dtype} on {x.device} is {y.dtype} on {y.device} "
                             "only by a copy")
    return _own(y) if copy and not isinstance(obj, Tensor) else y


class _Copied:
    """A tensor that gives a copy of its memory."""

    def __init__(self, x):
        self.x, self.__dlpack_device__ = x, x.__dlpack_device__

    def __dlpack__(self, **how):
        return self.x.__dlpack__(**{**how, "copy": True})


def _own(x):
    """In memory that no caller can write; a Tensor never changes and has no need of it."""
    return x.session.asarray(_Copied(x))


def from_dlpack(x, /, *, device=None, copy=None):
    t = x if isinstance(x, Tensor) else _default()._asarray(x)
    y = t if device is None else t.to(device)
    if copy is False and y.device != t.device:
        raise _py.ValueError(f"copy=False: what is on {t.device} is on {y.device} only by a copy")
    return _own(y) if copy and not isinstance(x, Tensor) else y


def broadcast_shapes(*shapes):
    made = []
    for shape in shapes:
        made = [1] * (len(shape) - len(made)) + made
        for i, n in enumerate(shape, len(made) - len(shape)):
            if made[i] != n and n != 1 and made[i] != 1:
                raise _py.ValueError(f"shapes {', '.join(map(str, shapes))} do not broadcast")
            made[i] = n if made[i] == 1 else made[i]
    return tuple(made)


def _shape(shape):
    try:
        return (_operator.index(shape),)
    except _py.TypeError:
        return tuple(shape)


def zeros(shape, *, dtype=None, device=None):
    return _made("zeros", _shape(shape), dtype=dtype, device=device)


def ones(shape, *, dtype=None, device=None):
    return _made("ones", _shape(shape), dtype=dtype, device=device)


def empty(shape, *, dtype=None, device=None):
    return zeros(shape, dtype=dtype, device=device)


def full(shape, fill_value, *, dtype=None, device=None):
    return _made("full", _shape(shape), value=fill_value, dtype=dtype, device=device)


def _like(x, make, dtype, device):
    return _made(make, x.shape, dtype=dtype or x.dtype, session=x.session,
                 device=device or (None if x.device == "cpu" else x.device))


def zeros_like(x, /, *, dtype=None, device=None):
    return _like(x, "zeros", dtype, device)


def ones_like(x, /, *, dtype=None, device=None):
    return _like(x, "ones", dtype, device)


def empty_like(x, /, *, dtype=None, device=None):
    return _like(x, "zeros", dtype, device)


def full_like(x, /, fill_value, *, dtype=None, device=None):
    t = _made("full", x.shape, value=fill_value, dtype=dtype or x.dtype, session=x.session)
    where = device or x.device
    return t if where == "cpu" else t.to(where)


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    given = (0, start) if stop is None else (start, stop)
    return _made("arange", *given, step, dtype=dtype, device=device)


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    return _made("linspace", start, stop, num, endpoint=endpoint, dtype=dtype, device=device)


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    return _made("eye", n_rows, n_rows if n_cols is None else n_cols, k=k, dtype=dtype,
                 device=device)


def tril(x, /, *, k=0):
    return _call("tril", x, k)


def triu(x, /, *, k=0):
    return _call("triu", x, k)


def meshgrid(*arrays, indexing="xy"):
    return list(_call("meshgrid", *arrays, indexing=indexing))


# ---- dtypes ----
def astype(x, dtype, /, *, copy=True, device=None):
    t = x if x.dtype == _dtype_name(dtype) else x.astype(dtype)
    return t if device is None else t.to(device)


def isdtype(dtype, kind):
    name = _dtype_name(dtype)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return _py.any(name in _KINDS[k] if k in _KINDS else name == _dtype_name(k) for k in kinds)


def can_cast(from_, to, /):
    of = from_.dtype if isinstance(from_, Tensor) else _dtype_name(from_)
    return result_type(of, to) == _dtype_name(to)


def result_type(*arrays_and_dtypes):
    """By Ricci's own rules: what a sum of such tensors has."""
    s = _session(arrays_and_dtypes) or _default()
    total = None
    for x in arrays_and_dtypes:
        if not isinstance(x, (int, float, complex)):
            x = s["zeros"]._tensors((1,), dtype=s._format(getattr(x, "dtype", x)))
        total = x if total is None else total + x
    return total.dtype if isinstance(total, Tensor) else s._asarray(total).dtype


class finfo:
    def __init__(self, type):
        s = _default()
        f = s._format(type.dtype if isinstance(type, Tensor) else type)
        real = {"c64": "f32", "c128": "f64"}.get(repr(f), repr(f))
        f = s._format(real)
        self.dtype, self.bits = real, _WIDTH[real]
        self.eps, self.max = float(s["eps"](f)), float(s["realmax"](f))
        self.min, self.smallest_normal = -self.max, float(s["realmin"](f))


class iinfo:
    def __init__(self, type):
        name = _dtype_name(type.dtype if isinstance(type, Tensor) else type)
        if name not in _KINDS["integral"]:
            raise _py.ValueError(f"iinfo is of integers, not of {name}")
        self.dtype, self.bits = name, _WIDTH[name]
        self.min = 0 if name == "u8" else -(1 << self.bits - 1)
        self.max = (1 << self.bits - (name != "u8")) - 1


# ---- manipulation ----
def broadcast_to(x, /, shape):
    return _call("broadcast_to", x, _shape(shape))


def broadcast_arrays(*arrays):
    shape = ()
    for x in arrays:
        wide = _py.max(len(shape), x.ndim)
        a, b = (1,) * (wide - len(shape)) + shape, (1,) * (wide - x.ndim) + x.shape
        shape = tuple(n if m == 1 else m for m, n in zip(a, b))
    return [broadcast_to(x, shape) for x in arrays]


def concat(arrays, /, *, axis=0):
    if axis is None:
        arrays, axis = [reshape(x, (-1,)) for x in arrays], 0
    return _call("concat", *arrays, axis=axis)


def stack(arrays, /, *, axis=0):
    return _call("stack", *arrays, axis=axis)


def unstack(x, /, *, axis=0):
    return tuple(moveaxis(x, axis, 0))


def expand_dims(x, /, *, axis=0):
    if not -x.ndim - 1 <= axis <= x.ndim:
        raise _py.IndexError(f"axis {axis} of a tensor with {x.ndim} axes")
    at = axis % (x.ndim + 1)
    return reshape(x, x.shape[:at] + (1,) + x.shape[at:])


def squeeze(x, /, axis):
    return _call("squeeze", x, axis=axis)


def reshape(x, /, shape, *, copy=None):
    return _call("reshape", x, _shape(shape))


def permute_dims(x, /, axes):
    return _call("transpose", x, tuple(axes))


def moveaxis(x, source, destination, /):
    source, destination = _shape(source), _shape(destination)
    for axis in source + destination:
        if not -x.ndim <= axis < x.ndim:
            raise _py.IndexError(f"axis {axis} of a tensor with {x.ndim} axes")
    source, destination = [a % x.ndim for a in source], [a % x.ndim for a in destination]
    axes = [a for a in range(x.ndim) if a not in source]
    for to, of in sorted(zip(destination, source)):
        axes.insert(to, of)
    return permute_dims(x, axes)


def matrix_transpose(x, /):
    return x.mT


def flip(x, /, *, axis=None):
    return _call("flip", x, axis=axis)


def roll(x, /, shift, *, axis=None):
    return _call("roll", x, shift, axis=axis)


def repeat(x, repeats, /, *, axis=None):
    return _call("repeat", x, repeats, axis=axis)


def tile(x, repetitions, /):
    return _call("tile", x, _shape(repetitions))


def take(x, indices, /, *, axis=None):
    return _call("take", x, indices, axis=axis)


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    return _call("diff", x, n, axis=axis, prepend=prepend, append=append)


# ---- reductions ----
def _reduction(name, row=None):
    def reduce(x, /, *, axis=None, keepdims=False):
        return _call(row or name, x, axis=axis, keepdims=keepdims or None)
    reduce.__name__ = reduce.__qualname__ = name
    reduce.__doc__ = f"Ricci's reduction {row or name}."
    return reduce


for _name in ("max", "min", "mean", "any", "all", "argmax", "argmin"):
    globals()[_name] = _reduction(_name)


def _in(name, x, dtype, **named):
    """In that dtype from the start; small ints are summed as i64 and come back."""
    if dtype is None:
        return _call(name, x, **named)
    return astype(_call(name, astype(asarray(x), dtype), **named), dtype)


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    return _in("sum", x, dtype, axis=axis, keepdims=keepdims or None)


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    return _in("prod", x, dtype, axis=axis, keepdims=keepdims or None)


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    return _call("var", x, axis=axis, ddof=int(correction), keepdims=keepdims or None)


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    return _call("std", x, axis=axis, ddof=int(correction), keepdims=keepdims or None)


def count_nonzero(x, /, *, axis=None, keepdims=False):
    return sum(x if x.dtype == "bool" else x != 0, axis=axis, keepdims=keepdims)


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    return _cumulative("cumsum", x, axis, dtype, include_initial, 0)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    return _cumulative("cumprod", x, axis, dtype, include_initial, 1)


def _cumulative(row, x, axis, dtype, include_initial, first):
    axis = 0 if axis is None and x.ndim == 1 else axis
    y = _in(row, x, dtype, axis=axis)
    if not include_initial:
        return y
    shape = tuple(1 if a == axis % x.ndim else n for a, n in enumerate(y.shape))
    start = _made("full", shape, value=first, dtype=y.dtype, session=y.session,
                  device=None if y.device == "cpu" else y.device)
    return concat([start, y], axis=axis)


# ---- searching, sorting, sets ----
def nonzero(x, /):
    found = _call("nonzero", x)
    return found if isinstance(found, tuple) else (found,)


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    return _call("searchsorted", x1 if sorter is None else take(x1, sorter), x2, side=side)


def sort(x, /, *, axis=-1, descending=False, stable=True):
    return _call("sort", x, axis=axis, descending=descending)


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    return _call("argsort", x, axis=axis, descending=descending)


def unique_values(x, /):
    return _call("unique", x)


def _results(name, *fields):
    return _collections.namedtuple(name, fields)


_Counts = _results("unique_counts_result", "values", "counts")
_Inverse = _results("unique_inverse_result", "values", "inverse_indices")
_All = _results("unique_all_result", "values", "indices", "inverse_indices", "counts")


def unique_counts(x, /):
    return _Counts(*_call("unique", x, counts=True))


def unique_inverse(x, /):
    values, inverse = _call("unique", x, inverse=True)
    return _Inverse(values, reshape(inverse, asarray(x).shape))


def unique_all(x, /):
    x = asarray(x)
    values, counts, inverse = _call("unique", x, counts=True, inverse=True)
    first = subtract(_call("cumsum", counts), counts)            # of each, in the stable order
    indices = take(argsort(reshape(x, (-1,))), first, axis=0)
    return _All(values, indices, reshape(inverse, x.shape), counts)


def isin(x1, x2, /, *, invert=False):
    found = _call("isin", x1, x2)
    return logical_not(found) if invert else found


def take_along_axis(x, indices, /, *, axis=-1):
    return _call("take_along", x, indices, axis=axis)


# ---- linear algebra ----
def tensordot(x1, x2, /, *, axes=2):
    axes = axes if isinstance(axes, int) else tuple(tuple(a) for a in axes)
    return _call("tensordot", x1, x2, axes=axes)


def matmul(x1, x2, /):
    return _call("matmul", x1, x2)


def vecdot(x1, x2, /, *, axis=-1):
    return sum(multiply(conj(x1) if x1.dtype[0] == "c" else x1, x2), axis=axis)  # noqa: F821


def _moved(x, source, destination):
    """One axis in another place."""
    x = asarray(x)
    order = list(range(x.ndim))
    order.insert(destination % x.ndim, order.pop(source))
    return _call("transpose", x, tuple(order))


def _linalg():
    m = _types.ModuleType("ricci.xp.linalg", "The array API's linalg by Ricci's rows.")
    for name, row in {"det": "det", "inv": "inv", "outer": "outer", "solve": "solve",
                      "svdvals": "svdvals", "eigvalsh": "eigvalsh", "eigvals": "eigvals",
                      "matrix_power": "matpow"}.items():
        setattr(m, name, _row(name, row))
    Eig, Eigh, QR = (_results(name, *fields) for name, fields in (
        ("EigResult", ("eigenvalues", "eigenvectors")),
        ("EighResult", ("eigenvalues", "eigenvectors")), ("QRResult", ("Q", "R"))))
    SVD = _results("SVDResult", "U", "S", "Vh")
    Slogdet = _results("SlogdetResult", "sign", "logabsdet")

    def eig(x, /):
        return Eig(*_call("eig", x))

    def eigh(x, /):
        return Eigh(*_call("eigh", x))

    def slogdet(x, /):
        return Slogdet(*_call("slogdet", x))

    def cholesky(x, /, *, upper=False):
        lower = _call("chol", x)
        return conj(lower.mT) if upper else lower                        # noqa: F821

    def qr(x, /, *, mode="reduced"):
        return QR(*_call("qr", x, full=(mode == "complete") or None))

    def svd(x, /, *, full_matrices=True):
        return SVD(*_call("svd", x, full=full_matrices or None))

    def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
        x = asarray(x)
        axes = tuple(range(x.ndim)) if axis is None else _shape(axis)
        if len(axes) == 1:
            return _call("norm", x, ord, axis=axes[0], keepdims=keepdims or None)
        for a in axes:
            if not -x.ndim <= a < x.ndim:
                raise _py.IndexError(f"axis {a} of a tensor with {x.ndim} axes")
        axes = [a % x.ndim for a in axes]
        rest = [a for a in range(x.ndim) if a not in axes]
        lengths = tuple(x.shape[a] for a in rest)
        flat = reshape(permute_dims(x, rest + axes) if x.ndim else x,
                       lengths + (_math.prod(x.shape[a] for a in axes),))
        y = _call("norm", flat, ord, axis=-1)
        return reshape(y, tuple(1 if a in axes else n for a, n in enumerate(x.shape))) \
            if keepdims else y

    def matrix_norm(x, /, *, keepdims=False, ord="fro"):
        return _call("norm", x, ord, axis=(-2, -1), keepdims=keepdims or None)

    def diagonal(x, /, *, offset=0):
        x = asarray(x)
        n, k = x.shape[-2:]
        length = _py.max(0, _py.min(n + _py.min(offset, 0), k - _py.max(offset, 0)))
        rows, columns = (_made("arange", first, first + length, session=x.session)
                         for first in (_py.max(-offset, 0), _py.max(offset, 0)))
        return x[..., rows, columns]

    def matrix_rank(x, /, *, rtol=None):
        return _call("rank", x, rtol=rtol)

    def pinv(x, /, *, rtol=None):
        return _call("pinv", x, rtol=rtol)

    def trace(x, /, *, offset=0, dtype=None):
        return _in("sum", diagonal(x, offset=offset), dtype, axis=-1)

    def cross(x1, x2, /, *, axis=-1):
        if axis == -1:
            return _call("cross", x1, x2)
        x1, x2 = (_moved(x, axis, -1) for x in (x1, x2))
        return _moved(_call("cross", x1, x2), -1, axis)

    for f in (matrix_rank, pinv, trace, cross, eig, eigh, slogdet, cholesky, qr, svd, vector_norm, matrix_norm, diagonal, matmul,
              vecdot, matrix_transpose):
        setattr(m, f.__name__, f)
    return m


def _fft():
    m = _types.ModuleType("ricci.xp.fft", "The array API's fft by Ricci's rows.")

    def one(name):
        def transform(x, /, *, n=None, axis=-1, norm="backward"):
            return _call(name, x, n, axis=axis, norm=norm) if n is not None else \
                _call(name, x, axis=axis, norm=norm)
        transform.__name__ = transform.__qualname__ = name
        return transform

    def many(name):
        def transform(x, /, *, s=None, axes=None, norm="backward"):
            if s is not None:
                raise _py.NotImplementedError("s= has no row: pad or cut the tensor first")
            return _call(name, x, axes=None if axes is None else tuple(axes), norm=norm)
        transform.__name__ = transform.__qualname__ = name
        return transform

    for name in ("fft", "ifft", "rfft", "irfft"):
        setattr(m, name, one(name))
    for name in ("fftn", "ifftn"):
        setattr(m, name, many(name))

    def fftshift(x, /, *, axes=None):
        return _call("fftshift", x, axes=axes)

    def ifftshift(x, /, *, axes=None):
        return _call("ifftshift", x, axes=axes)

    def fftfreq(n, /, *, d=1.0, dtype=None, device=None):
        return asarray(_made("fftfreq", n, d), dtype=dtype, device=device)

    def rfftfreq(n, /, *, d=1.0, dtype=None, device=None):
        return asarray(_made("rfftfreq", n, d), dtype=dtype, device=device)

    for f in (fftshift, ifftshift, fftfreq, rfftfreq):
        setattr(m, f.__name__, f)
    return m


linalg, fft = _linalg(), _fft()


# ---- what there is ----
def _device_name(d):
    return d if isinstance(d, str) else getattr(d, "name", None) or repr(d)


class _Info:
    """xp.__array_namespace_info__()"""

    def capabilities(self):
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self):
        return "cpu"

    def default_dtypes(self, *, device=None):
        return {"real floating": "f64", "complex floating": "c128", "integral": "i64",
                "indexing": "i64"}

    def dtypes(self, *, device=None, kind=None):
        kinds = _KINDS if kind is None else kind if isinstance(kind, tuple) else (kind,)
        names = [n for k in kinds for n in _KINDS[k]]
        return {full: short for full, short in (
            ("bool", "bool"), ("int8", "i8"), ("uint8", "u8"), ("int32", "i32"), ("int64", "i64"),
            ("float16", "f16"), ("bfloat16", "bf16"), ("float32", "f32"), ("float64", "f64"),
            ("complex64", "c64"), ("complex128", "c128"), ("float8_e4m3fn", "e4m3"),
            ("float8_e5m2", "e5m2")) if short in names}

    def devices(self):
        return [_device_name(d) for d in _devices()]


def __array_namespace_info__():
    return _Info()


del _name, _op
