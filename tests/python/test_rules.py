"""ricci.xp by the rules of the array API's own suite, with array-api-strict as what they ask: names, signatures, the dtype
and the shape of every result, special values, empty arrays. Without it the part does not run."""
import inspect
import itertools
import unittest

import ricci
from ricci import xp

try:
    import array_api_strict as strict
    import numpy as np
except ImportError:
    strict = None

FLOATS, COMPLEX, INTS = ["float32", "float64"], ["complex64", "complex128"], ["int8", "uint8", "int32", "int64"]
NUMERIC, ALL = INTS + FLOATS + COMPLEX, ["bool"] + INTS + FLOATS + COMPLEX
SHAPES = [(), (0,), (3,), (2, 3), (2, 0, 3), (1, 3, 2)]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 1e300, 1e-300, float("inf"), float("-inf"), float("nan"), 0.7853981633974483]


def public(module):
    return {n for n in dir(module) if not n.startswith("_")}


def array(shape, dtype, seed=0):
    """One array for both, of values that every function of numbers takes."""
    r = np.random.default_rng(seed)
    a = r.integers(1, 5, shape) if dtype in INTS else r.random(shape) < 0.5 if dtype == "bool" else r.random(shape) * 0.9 + 0.05
    if dtype in COMPLEX:
        a = a + 1j * (r.random(shape) - 0.5)
    return np.asarray(a).astype(dtype)


def both(a):
    return xp.asarray(a), strict.asarray(a)


@unittest.skipIf(strict is None, "array-api-strict is not there")
class Rules(unittest.TestCase):
    def same(self, got, want, exact=False):
        if isinstance(want, (tuple, list)):
            self.assertEqual(len(got), len(want))
            for g, w in zip(got, want):
                self.same(g, w, exact)
            return
        self.assertIsInstance(got, ricci.Tensor)
        w = np.asarray(want)
        self.assertEqual(got.shape, w.shape)
        self.assertEqual(got.dtype, ricci.dtype_name(w.dtype))
        g = np.asarray(got)
        eps = np.finfo(w.dtype).eps if w.dtype.kind in "fc" else 0
        with np.errstate(all="ignore"):
            close = np.array_equal(g, w, equal_nan=w.dtype.kind in "fc") if exact or not eps else \
                np.allclose(g, w, rtol=64 * eps, atol=64 * eps, equal_nan=True)
        self.assertTrue(close, (g, w))

    def each(self, name, dtypes, call=None, shapes=SHAPES, count=1, module=None):
        ours, theirs = (getattr(m, module) if module else m for m in (xp, strict))
        call = call or (lambda f, *x: f(*x))
        for dtype, shape in itertools.product(dtypes, shapes):
            with self.subTest(name, dtype=dtype, shape=shape):
                pairs = [both(array(shape, dtype, seed)) for seed in range(count)]
                self.same(call(getattr(ours, name), *[p[0] for p in pairs]), call(getattr(theirs, name), *[p[1] for p in pairs]))

    def test_names(self):
        for ours, theirs in ((xp, strict), (xp.linalg, strict.linalg), (xp.fft, strict.fft)):
            more = {n for n in public(ours) - public(theirs) if callable(getattr(ours, n)) and not isinstance(getattr(ours, n), type)}
            self.assertEqual(more, set())

    def test_signatures(self):
        """Positional arguments in the standard's order, keywords by its names with its defaults."""
        for ours, theirs in ((xp, strict), (xp.linalg, strict.linalg), (xp.fft, strict.fft)):
            for name in sorted(public(ours) & public(theirs)):
                f, g = getattr(ours, name), getattr(theirs, name)
                if not inspect.isfunction(g) or not callable(f):
                    continue
                with self.subTest(f"{theirs.__name__}.{name}"):
                    have, want = inspect.signature(f).parameters, inspect.signature(g).parameters
                    free = any(p.kind == p.VAR_POSITIONAL for p in have.values())
                    for n, p in want.items():
                        if p.kind == p.KEYWORD_ONLY or (p.kind == p.POSITIONAL_OR_KEYWORD and not free):
                            self.assertIn(n, have)
                            if isinstance(p.default, (str, int, float, tuple)):
                                self.assertEqual(p.default, have[n].default)

    def test_elementwise(self):
        for name in "abs positive square".split():
            self.each(name, NUMERIC)
        signed = [t for t in NUMERIC if t != "uint8"]
        self.each("negative", signed)
        self.each("sign", [t for t in signed if t not in COMPLEX])
        for name in "ceil floor round trunc".split():
            self.each(name, INTS + FLOATS)
        for name in ("acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p log2 log10 reciprocal sin sinh sqrt tan "
                     "tanh").split():
            if hasattr(xp, name):
                self.each(name, FLOATS if name in ("acosh", "log1p", "expm1") else FLOATS + COMPLEX)
        for name in "conj imag real".split():
            self.each(name, COMPLEX)
        for name in "isfinite isinf isnan".split():
            self.each(name, NUMERIC)
        self.each("bitwise_invert", ["bool"] + INTS)
        self.each("logical_not", ["bool"])
        self.each("signbit", FLOATS) if hasattr(xp, "signbit") else None

    def test_elementwise_of_two(self):
        for name in "add subtract multiply equal not_equal".split():
            self.each(name, NUMERIC, count=2)
        for name in "maximum minimum less less_equal greater greater_equal floor_divide remainder".split():
            self.each(name, INTS + FLOATS, count=2)
        for name in "divide pow".split():
            self.each(name, FLOATS + COMPLEX, count=2)
        for name in "atan2 hypot nextafter copysign logaddexp".split():
            if hasattr(xp, name):
                self.each(name, FLOATS, count=2)
        for name in "bitwise_and bitwise_or bitwise_xor".split():
            self.each(name, ["bool"] + INTS, count=2)
        for name in "bitwise_left_shift bitwise_right_shift".split():
            self.each(name, INTS, count=2)
        for name in "logical_and logical_or logical_xor".split():
            self.each(name, ["bool"], count=2)

    def test_special_values(self):
        """Signed zeros, infinities and nan, by value and by sign."""
        with np.errstate(all="ignore"):
            a = np.array(SPECIAL)
            x, s = both(a)
            for name in ("abs acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor isfinite isinf isnan log log1p log2 "
                         "log10 negative round sign sin sinh sqrt square tan tanh trunc").split():
                with self.subTest(name):
                    got, want = np.asarray(getattr(xp, name)(x)), np.asarray(getattr(strict, name)(s))
                    fine = np.where(np.isfinite(want), np.isclose(got, want, rtol=1e-14, atol=0), (got == want) | (got != got) & (want != want)) \
                        if want.dtype.kind == "f" else got == want
                    self.assertTrue(fine.all(), list(zip(a[~fine], got[~fine], want[~fine])))
                    if want.dtype.kind == "f" and name != "sign":        # sign(-0.0) keeps it
                        zero = want == 0
                        self.assertTrue((np.signbit(got) == np.signbit(want))[zero].all(), list(zip(a[zero], got[zero], want[zero])))
            one, two = (np.array(t) for t in zip(*itertools.product(SPECIAL, SPECIAL)))
            for name in "add atan2 divide floor_divide hypot maximum minimum multiply pow remainder subtract".split():
                with self.subTest(name):
                    got = np.asarray(getattr(xp, name)(xp.asarray(one), xp.asarray(two)))
                    want = np.asarray(getattr(strict, name)(strict.asarray(one), strict.asarray(two)))
                    fine = np.isclose(got, want, rtol=1e-14, atol=0, equal_nan=True) | (got == want)
                    if name in ("floor_divide", "remainder"):        # "implementation-defined" of infinite operands
                        fine |= ~np.isfinite(one) | ~np.isfinite(two) | (two == 0)
                    self.assertTrue(fine.all(), list(zip(one[~fine], two[~fine], got[~fine], want[~fine])))

    def test_broadcasting(self):
        for a, b in ((), (3,)), ((2, 1), (3,)), ((0, 1), (1, 4)), ((2, 3), (2, 1)), ((1, 1, 1), (2,)):
            for name in "add less where".split():
                with self.subTest(name, a=a, b=b):
                    (x, s), (y, t) = both(array(a, "float64")), both(array(b, "float64", 1))
                    if name == "where":
                        self.same(xp.where(x < 0.5, x, y), strict.where(s < 0.5, s, t))
                    else:
                        self.same(getattr(xp, name)(x, y), getattr(strict, name)(s, t))

    def test_reductions(self):
        full = [s for s in SHAPES if 0 not in s]
        signed = [t for t in INTS if t != "uint8"]         # sums of uint8 are uint64 there
        for name in "sum prod".split():
            self.each(name, signed + FLOATS + COMPLEX)
            self.each(name, FLOATS, lambda f, x: f(x, axis=0, keepdims=True), [s for s in SHAPES if s])
            self.each(name, FLOATS, lambda f, x: f(x, axis=(0, 1)), [(2, 3), (1, 3, 2), (2, 0, 3)])
        for name in "max min".split():
            self.each(name, INTS + FLOATS, shapes=full)
            self.each(name, INTS + FLOATS, lambda f, x: f(x, axis=-1, keepdims=True), [s for s in full if s])
        for name in "mean std var".split():
            self.each(name, FLOATS, shapes=full)
            self.each(name, FLOATS, lambda f, x: f(x, axis=-1), [s for s in full if s])
        for name in "all any".split():
            self.each(name, ALL)
            self.each(name, ["bool"], lambda f, x: f(x, axis=0), [s for s in SHAPES if s])
        for name in "argmax argmin".split():
            self.each(name, INTS + FLOATS, shapes=[s for s in full if s])
            self.each(name, INTS + FLOATS, lambda f, x: f(x, axis=0), [s for s in full if s])
        self.each("cumulative_sum", signed + FLOATS, lambda f, x: f(x, axis=-1), [s for s in SHAPES if s])
        if hasattr(xp, "count_nonzero"):
            self.each("count_nonzero", ALL)

    def test_manipulation(self):
        shaped = [s for s in SHAPES if s]
        self.each("concat", ALL, lambda f, x, y: f([x, y], axis=0), shaped, 2)
        self.each("stack", ALL, lambda f, x, y: f([x, y], axis=-1), SHAPES, 2)
        self.each("expand_dims", ALL, lambda f, x: f(x, axis=0))
        self.each("flip", ALL)
        self.each("flip", ["float64"], lambda f, x: f(x, axis=0), shaped)
        self.each("roll", ALL, lambda f, x: f(x, 1, axis=0), shaped)
        self.each("permute_dims", ALL, lambda f, x: f(x, tuple(range(x.ndim))[::-1]))
        self.each("reshape", ALL, lambda f, x: f(x, (-1,)), [(), (3,), (2, 3), (1, 3, 2)])
        self.each("squeeze", ALL, lambda f, x: f(x, 0), [(1, 3, 2)])
        self.each("broadcast_to", ALL, lambda f, x: f(x, (4, 3)), [(3,), (1,)])
        self.each("tile", ALL, lambda f, x: f(x, (2,)), shaped)
        self.each("repeat", ALL, lambda f, x: f(x, 2, axis=0), shaped)
        for name in "moveaxis".split():
            if hasattr(xp, name):
                self.each(name, ALL, lambda f, x: f(x, 0, -1), shaped)
        for name in "sort argsort".split():
            self.each(name, INTS + FLOATS, lambda f, x: f(x, axis=-1), shaped)
            self.each(name, INTS + FLOATS, lambda f, x: f(x, axis=0, descending=True), [(3,), (2, 3)])
        self.each("nonzero", ALL, shapes=[(3,), (2, 3)])
        self.each("unique_values", INTS + FLOATS, shapes=[(3,), (2, 3)])
        for name in "unique_counts unique_inverse unique_all".split():
            self.each(name, INTS + FLOATS, shapes=[(7,), (2, 3)])
        self.assertEqual(xp.unique_all(xp.asarray([3, 1, 3]))._fields, strict.unique_all(strict.asarray([3, 1, 3]))._fields)
        for shapes in (((2, 1), (3,)), ((), (0, 2)), ((1,), (0,)), ((5,),), ()):
            self.assertEqual(xp.broadcast_shapes(*shapes), strict.broadcast_shapes(*shapes))
        with self.assertRaises(ValueError):
            xp.broadcast_shapes((2,), (3,))
        self.each("isin", INTS, lambda f, x, y: f(x, y), [(7,), (2, 3)], 2)
        self.each("take_along_axis", ALL, lambda f, x: f(x, (xp if isinstance(x, ricci.Tensor) else strict).asarray([[1, 0], [0, 1]])), [(2, 3)])
        self.each("take", ALL, lambda f, x: f(x, (xp if isinstance(x, ricci.Tensor) else strict).asarray([0, 1, 0]), axis=-1), [(3,), (2, 3)])
        self.each("tril", ALL, lambda f, x: f(x, k=-1), [(2, 3), (1, 3, 2)])
        self.each("triu", ALL, lambda f, x: f(x, k=1), [(2, 3), (1, 3, 2)])

    def test_creation(self):
        for name, args in (("zeros", ((2, 3),)), ("ones", ((0,),)), ("zeros", ((),)), ("eye", (3,)), ("eye", (2, 3)), ("arange", (5,)),
                           ("arange", (1, 7, 2)), ("arange", (0.5, 3)), ("linspace", (0, 1, 4)), ("full", ((2,), 3)), ("full", ((2,), 3.5)),
                           ("full", ((2,), True))):
            with self.subTest(name, args=args):
                self.same(getattr(xp, name)(*args), getattr(strict, name)(*args))
        for name, dtype in itertools.product(("zeros", "ones", "eye"), ALL):
            with self.subTest(name, dtype=dtype):
                self.same(getattr(xp, name)(3, dtype=dtype), getattr(strict, name)(3, dtype=getattr(strict, dtype)))
        for name in "zeros_like ones_like".split():
            self.each(name, ALL)

    def test_linear_algebra(self):
        self.each("matmul", FLOATS + COMPLEX + ["int64"], lambda f, x: f(x, x), [(3, 3), (3,), (2, 3, 3)])
        self.each("matrix_transpose", ALL, shapes=[(2, 3), (1, 3, 2)])
        self.each("vecdot", FLOATS + COMPLEX, lambda f, x: f(x, x), [(3,), (2, 3)])
        if hasattr(xp, "tensordot"):
            self.each("tensordot", FLOATS, lambda f, x: f(x, x, axes=1), [(3, 3)])
        square = [(3, 3), (1, 1)]
        for name in "det inv trace".split():
            self.each(name, FLOATS + (COMPLEX if name != "trace" else []), lambda f, x: f(x), square, module="linalg")
        for name in "matrix_norm vector_norm svdvals".split():
            self.each(name, FLOATS, shapes=[(2, 3), (3, 3)], module="linalg")
        for upper in (False, True):
            with self.subTest("cholesky", upper=upper):
                a = np.array([[4.0, 1, 0], [1, 5, 2], [0, 2, 6]])
                self.same(xp.linalg.cholesky(xp.asarray(a), upper=upper), strict.linalg.cholesky(strict.asarray(a), upper=upper))
        self.each("matrix_power", FLOATS, lambda f, x: f(x, 3), square, module="linalg")
        self.each("slogdet", FLOATS, shapes=square, module="linalg")
        self.each("outer", FLOATS, lambda f, x: f(x, x), [(3,)], module="linalg")
        self.each("cross", FLOATS, lambda f, x, y: f(x, y), [(3,)], 2, module="linalg")

    def test_fourier(self):
        for name in "fft ifft".split():
            self.each(name, COMPLEX, shapes=[(3,), (2, 3)], module="fft")
        self.each("rfft", FLOATS, shapes=[(3,), (2, 4)], module="fft")
        for name in "fftshift ifftshift".split():
            self.each(name, FLOATS + COMPLEX, shapes=[(3,), (2, 3)], module="fft")

    def test_axes(self):
        """Norms over several axes are of their elements; axes that are not there are errors."""
        for shape, axis in itertools.product([(2, 3), (2, 3, 4)], [None, 0, -1, (0, 1), (-1, 0), (1,)]):
            for order in (0, 1, 2, 3, -1, float("inf"), -float("inf")):
                for keep in (False, True):
                    self.each("vector_norm", FLOATS + ["complex128"], lambda f, x: f(x, axis=axis, ord=order, keepdims=keep), [shape],
                              module="linalg")
        x = xp.zeros((2, 3))
        for wrong in (2, -3, 7):
            for f in (xp.unstack, lambda t, axis: xp.moveaxis(t, axis, 0), lambda t, axis: xp.moveaxis(t, 0, axis),
                      lambda t, axis: xp.linalg.vector_norm(t, axis=(0, axis))):
                with self.assertRaises(IndexError):
                    f(x, axis=wrong)

    def test_dtype_of_sums(self):
        for name, dtype in itertools.product(("sum", "prod", "cumulative_sum"), ("int32", "int64", "float32", "float64")):
            for given in INTS + FLOATS:
                a, b = both(array((3,), given))
                self.same(getattr(xp, name)(a, dtype=getattr(xp, dtype)), getattr(strict, name)(b, dtype=getattr(strict, dtype)))
        for name, n in itertools.product(("fftfreq", "rfftfreq"), (1, 4, 5)):
            self.same(getattr(xp.fft, name)(n, d=0.5, dtype=xp.float32), getattr(strict.fft, name)(n, d=0.5, dtype=strict.float32))

    def test_named_results(self):
        a = np.array([[4.0, 1], [1, 3]])
        stack = np.stack([a, 2 * a])
        for given in (a, stack):
            x, s = both(given)
            for name, fields in (("eigh", "eigenvalues eigenvectors"), ("slogdet", "sign logabsdet"), ("qr", "Q R"), ("svd", "U S Vh")):
                self.assertEqual(getattr(xp.linalg, name)(x)._fields, tuple(fields.split()))
            self.same(xp.linalg.eigh(x).eigenvalues, strict.linalg.eigh(s).eigenvalues)
            self.same(xp.linalg.slogdet(x).logabsdet, strict.linalg.slogdet(s).logabsdet)
            for upper in (False, True):
                self.same(xp.linalg.cholesky(x, upper=upper), strict.linalg.cholesky(s, upper=upper))
            self.same(xp.linalg.matrix_power(x, 3), strict.linalg.matrix_power(s, 3))
        self.assertEqual(xp.linalg.eig(xp.asarray(a))._fields, ("eigenvalues", "eigenvectors"))
        z, w = both(np.array([[2, 1j], [-1j, 2]]))
        self.same(xp.linalg.cholesky(z, upper=True), strict.linalg.cholesky(w, upper=True))
        for given in (np.array([3, 1, 3, 2, 1, 1]), np.array([[3.0, 1], [1, 2]])):
            x, s = both(given)
            for name in ("unique_counts", "unique_inverse"):
                got, want = getattr(xp, name)(x), getattr(strict, name)(s)
                self.assertEqual(got._fields, want._fields)
                self.same(tuple(got), tuple(want))

    def test_copies(self):
        for make in (xp.asarray, xp.from_dlpack):
            for shape in ((3,), (0,), (2, 2)):
                a = np.ones(shape)
                x = make(a, copy=True)
                a[...] = 7
                self.assertTrue((np.asarray(x) == 1).all())
                self.assertEqual(x.shape, shape)
        with self.assertRaises(ValueError):
            xp.asarray(np.ones(3), dtype=xp.float32, copy=False)

    def test_another_session(self):
        """No function makes a part of its work in the module's session."""
        r = ricci.Session()
        x = r.asarray(np.arange(9.0).reshape(3, 3))
        self.assertEqual(np.asarray(xp.linalg.diagonal(x, offset=-1)).tolist(), [3, 7])
        self.assertEqual(float(xp.linalg.trace(x)), 12)
        self.assertEqual(xp.cumulative_sum(r.asarray(np.zeros((0, 3))), axis=0, include_initial=True).shape, (1, 3))
        self.assertEqual(xp.result_type(x, xp.zeros((4,), dtype=xp.float32)), "f64")

    def test_odd_arguments(self):
        self.assertEqual(xp.zeros(np.int64(3)).shape, (3,))
        self.assertEqual(xp.broadcast_to(xp.zeros(1), 3).shape, (3,))
        self.assertEqual(xp.result_type(xp.zeros(3), xp.zeros(4)), "f64")       # shapes do not matter
        self.assertEqual(xp.result_type(np.zeros(3, "f4"), "f32"), "f32")
        for dtype in ("float64", "bool"):
            with self.assertRaises(ValueError):
                xp.iinfo(dtype)


if __name__ == "__main__":
    unittest.main()
