"""Reference counts, under a debug build of CPython: what is done over and over leaves none behind. references.sh builds the
extension for it. NumPy is left out: its own counting is not seen by a debug build."""
import gc
import pickle
import sys
from array import array
from decimal import Decimal
from fractions import Fraction

import ricci

r = ricci.Session()
a = array("d", range(6))
r["a"] = a
x, sin = r.eval("[1.0, 2, 3; 4, 5, 6]"), r["sin"]


def failing(f):
    def g():
        try:
            f()
        except Exception as e:
            str(e)
    return g


def blocks():
    with r.on("sim.mps", quiet=True), r.precision("f32"):
        r.eval("1.0 + 1")


class Capsules:
    def __dlpack__(self, **how):
        return x.__dlpack__(**how)

    def __dlpack_device__(self):
        return 1, 0


DONE = {
    "assign": lambda: r.__setitem__("a", a), "eval": lambda: r.eval("a + 1"), "view": lambda: memoryview(x).tobytes(), "item": lambda: x[0, ::-1],
    "add": lambda: x + x, "compare": lambda: x == 1, "shape": lambda: (x.shape, x.ndim, x.size, x.nbytes, x.dtype, x.device), "T": lambda: (x.T, x.mT),
    "values": lambda: r.eval("v", v=(1, 2.5, "s", None, True, 1j, Fraction(1, 3), Decimal("1.5"), range(3))), "record": lambda: r.eval("(x=1, y=[1,2])"),
    "call": lambda: (sin(1.0), sin(x)), "repr": lambda: (repr(x), repr(sin)), "pickle": lambda: pickle.loads(pickle.dumps(x)), "cast": lambda: x.astype("bf16"),
    "list": lambda: list(x), "float": lambda: float(x[0, 0]), "capsule": lambda: x.__dlpack__(), "copy": lambda: x.__dlpack__(max_version=(1, 0), copy=True),
    "capsule in": lambda: r.asarray(Capsules()), "function": lambda: r.__setitem__("g", lambda t: t * 2), "callback": lambda: r.eval("g(3)"), "blocks": blocks,
    "share": lambda: r.share("w", array("d", [1, 2])), "session": lambda: ricci.Session().close(),
    "shape error": failing(lambda: r.eval("[1, 2] @ [1, 2, 3]")), "name error": failing(lambda: r.eval("qqq")), "syntax error": failing(lambda: r.eval("1 +")),
    "thrown": failing(lambda: r.eval("throw 3")), "object": failing(lambda: r.__setitem__("b", object())), "dict": failing(lambda: r.__setitem__("b", {1: 2})),
    "large": failing(lambda: r.__setitem__("b", 2**70)), "no copy": failing(lambda: x.__dlpack__(copy=False)), "device": failing(lambda: x.__dlpack__(dl_device=(2, 0))),
    "version": failing(lambda: x.__dlpack__(max_version="x")), "number": failing(lambda: x.__dlpack__(dl_device=3)), "shared": failing(lambda: r.share("v", x)),
}
failed = 0
for name, f in DONE.items():
    for _ in range(60):
        f()
    gc.collect()
    before = sys.gettotalrefcount()
    for _ in range(400):
        f()
    gc.collect()
    more = sys.gettotalrefcount() - before
    if abs(more) > 40:
        failed += 1
        print(f"FAIL {name}: {more} references in 400 turns")
print(f"{len(DONE) - failed} passed, {failed} failed")
sys.exit(failed > 0)
