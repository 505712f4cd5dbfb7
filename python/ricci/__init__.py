"""Ricci, a small language for tensor mathematics, inside Python.

    import ricci
    r = ricci.Session()
    r["A"] = numpy_array                  # no copy
    x = r.eval("A \\\\ [3, 5]")             # a Tensor: np.asarray(x) shares its memory

ricci.eval(text) runs in a session of the module.
"""
import builtins as _py
import sys as _sys
import threading as _threading

from . import _errors, _ricci
from ._errors import Error
from ._record import Record
from ._ricci import Function, Tensor, Value, __version__

_ricci._setup(Record, _errors.make, _threading.main_thread().ident)
for _kind in _errors.KINDS.values():
    globals()[_kind.__name__] = _kind
DTypeError, IOError, FFIError = DtypeError, IoError, FfiError      # noqa: F821


class _Block:
    """A precision scope or a device block around everything that a session runs inside `with`."""

    def __init__(self, session, header):
        self.session, self.header = session, header

    def __enter__(self):
        self.session._begin(self.header)
        return self.session

    def __exit__(self, *what):
        self.session._end()


class Session(_ricci.Session):
    """An interpreter: Session(memory=bytes, output=function(stream, text))."""

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.close()

    def on(self, device, strict=False, narrow=False, quiet=False, verbose=False, fallback=None):
        """A device block: with r.on("sim.mps", quiet=True): …"""
        words = [f"on {_device(device)}"]
        words += [word for word, said in (("strict", strict), ("narrow", narrow),
                                          ("quiet", quiet), ("verbose", verbose)) if said]
        if fallback is not None:
            words.append(f"fallback {_device(fallback)}")
        return _Block(self, " ".join(words))

    def precision(self, text):
        """A precision scope: with r.precision("bf16 accumulate f32"): …"""
        return _Block(self, f"precision {_one_line(text)}")

    def autocast(self, text):
        """An autocast: with r.autocast("bf16"): …"""
        return _Block(self, f"autocast {_one_line(text)}")

    def asarray(self, x, dtype=None, device=None):
        """A Tensor of this session: of a number, nested lists, an array."""
        t = self._nested(x)
        if dtype is not None:
            t = self._astype(t, dtype)
        return t if device is None else self._to(t, device)

    def _nested(self, x):
        if isinstance(x, range):
            return self["arange"]._tensors(x.start, x.stop, x.step)
        if isinstance(x, (list, tuple)) and any(isinstance(i, (list, tuple, Tensor)) or
                                                hasattr(i, "__dlpack__") for i in x):
            try:
                return self._asarray(x)
            except _py.TypeError:            # arrays among them
                if not _arrays(x):
                    raise
                return self["stack"]._tensors(*[self._nested(i) for i in x])
        return self._asarray(x)

    def _astype(self, x, dtype):
        return self["cast"]._tensors(x, self._format(dtype))

    def _nbytes(self, x):
        return x.size * _BYTES.get(x.dtype, 16)      # a number of another format: its cell

    def _format(self, dtype):
        if isinstance(dtype, Value):
            return dtype
        return self.eval(_one_line(dtype_name(dtype)))

    def _to(self, x, device):
        return self["to"]._tensors(x, device if isinstance(device, Value)
                                   else self["device"](_device(device)))

    def __repr__(self):
        return f"<ricci.Session at {id(self):#x}>"


def _arrays(x):
    """Is there an array among nested lists?"""
    return any(_arrays(i) if isinstance(i, (list, tuple)) else
               isinstance(i, Tensor) or hasattr(i, "__dlpack__") for i in x)


_BYTES = {"bool": 1, "i8": 1, "u8": 1, "e4m3": 1, "e5m2": 1, "f16": 2, "bf16": 2, "i32": 4,
          "f32": 4, "i64": 8, "f64": 8, "c64": 8, "c128": 16}


def _one_line(text):
    if not isinstance(text, str) or any(c in text for c in "\n;{}#\0"):
        raise _py.ValueError("the header of a block is one line: \"bf16 accumulate f32\"")
    return text


def _device(device):
    if isinstance(device, Value):
        device = repr(device)
    if not isinstance(device, str) or not all(c.isalnum() or c in "._:" for c in device):
        raise _py.ValueError(f"{device!r} is no name of a device: \"cpu\", \"cuda:0\", \"sim.mps\"")
    return device


_NAMES = {
    "bool": "bool", "int8": "i8", "uint8": "u8", "int32": "i32", "int64": "i64", "float16": "f16",
    "bfloat16": "bf16", "float32": "f32", "float64": "f64", "complex64": "c64",
    "complex128": "c128", "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2", "int": "i64",
    "float": "f64", "complex": "c128",
}


def dtype_name(dtype):
    """Ricci's name of a dtype: of "f32", "float32", np.float32, torch.float32, float."""
    if isinstance(dtype, str):
        return _NAMES.get(dtype, dtype)
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    name = str(name).removeprefix("torch.").rstrip("_")
    if name not in _NAMES:
        raise _py.TypeError(f"Ricci has no dtype {dtype!r}")
    return _NAMES[name]


_default = None
_lock = _threading.Lock()


def default():
    """The session of the module."""
    global _default
    with _lock:
        if _default is None:
            _default = Session()
    return _default


def eval(text, /, **variables):
    """Runs a text in the module's session; the value of its last statement."""
    return default().eval(text, **variables)


def run(path):
    """Runs a file in the module's session."""
    return default().run(path)


def on(device, **how):
    """A device block of the module's session."""
    return default().on(device, **how)


def precision(text):
    """A precision scope of the module's session."""
    return default().precision(text)


def asarray(x, dtype=None, device=None):
    """A Tensor of the module's session, or of x's own."""
    return (x.session if isinstance(x, Tensor) else default()).asarray(x, dtype, device)


def from_dlpack(x):
    """The array as a Tensor, without a copy."""
    if not hasattr(type(x), "__dlpack__"):
        raise _py.TypeError("from_dlpack takes what has __dlpack__")
    return x if isinstance(x, Tensor) else default()._asarray(x)


def devices():
    """What devices() of a program gives: a record for each."""
    return default().eval("devices()")


def _references(x):
    return _sys.getrefcount(x)


_ONCE = _references(object())                # of what nobody has but the call


def to_torch(x):
    """A torch.Tensor of its own: PyTorch does not honour that shared memory is read-only, so it is
    a copy, or x's memory where nobody else has x: to_torch(r.eval("A @ B"))."""
    import torch
    # From 3.14 on counts say less: a variable of the caller need not be one.
    given = _sys.version_info < (3, 14) and _references(x) - 1 <= _ONCE and x._alone()
    if x.__dlpack_device__()[0] == 2:        # CUDA: a copy there, in the order of its stream
        stream = torch.cuda.current_stream(x.__dlpack_device__()[1]).cuda_stream or 1
        return torch.from_dlpack(x.__dlpack__(max_version=(1, 1), stream=stream, copy=True))
    return torch.from_dlpack(x.__dlpack__(max_version=(1, 1), dl_device=(1, 0), copy=not given))


def to_scipy(x):
    """A sparse matrix as SciPy's csr_array, with copies of its entries; any other matrix gives the
    array of those elements that are not 0."""
    import numpy
    import scipy.sparse
    e = x.session["entries"](x)
    rows, columns, values = (numpy.array(part) for part in (e.rows, e.columns, e.values))
    start = numpy.zeros(x.shape[0] + 1, dtype=numpy.int64)
    numpy.cumsum(numpy.bincount(rows, minlength=x.shape[0]), out=start[1:])
    return scipy.sparse.csr_array((values, columns, start), shape=x.shape)


def __getattr__(name):
    """ricci.xp is read when it is asked for: most programs do without it."""
    if name == "xp":
        from importlib import import_module
        return import_module(".xp", __name__)
    raise AttributeError(f"module 'ricci' has no attribute {name!r}")


def load_ipython_extension(shell):
    """%load_ext ricci"""
    from . import _magics
    _magics.load(shell)
