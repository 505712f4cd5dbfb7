"""Tensors: operators and dtypes, indexing, DLPack and buffers both ways, hostile capsules."""
import array
import copy
import ctypes
import gc
import itertools
import resource
import sys
import unittest
import weakref

import ricci

try:
    import numpy as np
except ImportError:
    np = None
try:
    import torch
except ImportError:
    torch = None
try:
    import jax
    import jax.numpy as jnp
    jax.config.update("jax_enable_x64", True)
except ImportError:
    jax = None


class Operators(unittest.TestCase):
    def setUp(self):
        self.r = ricci.Session()

    def check(self, x, values, dtype=None):
        def flat(t):
            return [v for row in t for v in flat(row)] if isinstance(t, ricci.Tensor) else [t]
        self.assertEqual(flat(x), values)
        if dtype:
            self.assertEqual(x.dtype, dtype)

    def test_dtypes(self):
        x = self.r.eval("f32([1, 2])")
        self.check(2.0 * x, [2, 4], "f32")
        self.check(x + 1, [2, 3], "f32")
        self.check(x * 1j, [1j, 2j], "c64")
        self.check(x + self.r.eval("[1.0, 1]"), [2, 3], "f64")
        self.check(self.r.eval("u8([200, 1])") + 100, [44, 101], "u8")
        self.check(self.r.eval("[7, -7]") // 2, [3, -4], "i64")
        self.check(self.r.eval("[7, -7]") / 2, [3.5, -3.5], "f64")

    def test_operators(self):
        a, b = self.r.eval("[7, 3]"), self.r.eval("[2, 5]")
        for got, want in [(a + b, [9, 8]), (a - b, [5, -2]), (a * b, [14, 15]), (a % b, [1, 3]),
                          (a // b, [3, 0]), (a ** 2, [49, 9]), (a & b, [2, 1]), (a | b, [7, 7]),
                          (a ^ b, [5, 6]), (a << 1, [14, 6]), (a >> 1, [3, 1]), (~a, [-8, -4]),
                          (-a, [-7, -3]), (+a, [7, 3]), (abs(-a), [7, 3]), (10 - a, [3, 7]),
                          (a < b, [False, True]), (a == b, [False, False]), (a != 7, [False, True]),
                          (2 ** b, [4, 32]), ([1, 1] + a, [8, 4]), (a + [1, 1], [8, 4])]:
            self.check(got, want)
        self.assertEqual(a @ b, 29)
        self.assertFalse(a == None)                                   # noqa: E711
        with self.assertRaises(TypeError):
            a + "x"
        with self.assertRaises(ricci.ShapeError):
            a + self.r.eval("[1, 2, 3]")

    def test_one_element(self):
        x = self.r.eval("[2.5]")
        self.assertEqual((float(x), int(x), complex(x), bool(x)), (2.5, 2, 2.5 + 0j, True))
        with self.assertRaises(TypeError):
            bool(self.r.eval("[1, 2]"))
        self.assertEqual([10, 20, 30][self.r.asarray(1)], 20)

    def test_attributes(self):
        x = self.r.eval("zeros(2, 3, dtype=f32)")
        self.assertEqual((x.shape, x.ndim, x.size, x.nbytes, x.dtype, x.device, len(x)),
                         ((2, 3), 2, 6, 24, "f32", "cpu", 2))
        self.assertEqual((x.T.shape, x.mT.shape), ((3, 2), (3, 2)))
        self.assertEqual(self.r.eval("zeros(2, 3, 4)").mT.shape, (2, 4, 3))
        self.assertEqual(repr(self.r.eval("[1, 2]")), "vector of 2 i64\n[1, 2]")
        with self.assertRaises(TypeError):
            hash(x)
        with self.assertRaises(TypeError):
            ricci.Tensor()

    def test_indexing(self):
        x = self.r.eval("reshape(arange(24), (2, 3, 4))")
        self.assertEqual(x[1, 2, 3], 23)
        self.assertEqual(x[-1, -1, -1], 23)
        self.check(x[0, 1], [4, 5, 6, 7])
        self.check(x[..., 0], [0, 4, 8, 12, 16, 20])
        self.check(x[0, ::-1, 0], [8, 4, 0])
        self.check(x[1, 1:, 2], [18, 22])
        self.assertEqual(x[:, None].shape, (2, 1, 3, 4))
        self.check(x[x > 21], [22, 23])
        self.check(x[0, 0][[3, 0]], [3, 0])
        self.assertEqual(len(list(x)), 2)
        with self.assertRaises(IndexError):
            x[2]
        with self.assertRaisesRegex(TypeError, "does not change"):
            x[0] = 1
        with self.assertRaises(TypeError):
            x["a"]
        self.assertIs(copy.copy(x), x)
        self.assertIs(copy.deepcopy([x])[0], x)


class Buffers(unittest.TestCase):
    def setUp(self):
        self.r = ricci.Session()

    def test_in(self):
        a = array.array("d", [1, 2, 3])
        self.r["a"] = a
        a[0] = 9
        self.assertEqual(self.r.eval("a[0]"), 9)
        with self.assertRaises(BufferError):
            a.append(1)                                  # it is held: nothing dangles
        self.r.eval("a[1] = 7")
        self.assertEqual(a[1], 2)
        a.append(1)                                      # the program has its own now
        self.r["b"] = bytes(range(5))
        self.assertEqual(self.r.eval("b[4] + 0"), 4)
        self.r["m"] = memoryview(array.array("i", range(10)))[::-2]
        self.assertEqual([int(v) for v in self.r["m"]], [9, 7, 5, 3, 1])
        with self.assertRaises(TypeError):
            self.r["h"] = array.array("h", [1])

    def test_share(self):
        a = array.array("d", [1, 2, 3])
        self.r.share("a", a)
        self.r.eval("a[1] = 7; b = a; a[2] = 8")
        self.assertEqual(list(a), [1, 7, 8])
        a[0] = 5
        self.assertEqual(self.r.eval("(a[0], b[2])"), (5, 3))
        with self.assertRaises(BufferError):
            self.r.share("c", bytes(8))

    def test_out(self):
        x = self.r.eval("[1., 2, 3; 4, 5, 6]")
        m = memoryview(x)
        self.assertEqual((m.readonly, m.format, m.shape, m.strides, m.tolist()),
                         (True, "d", (2, 3), (24, 8), [[1, 2, 3], [4, 5, 6]]))
        self.assertEqual(memoryview(x.T).strides, (8, 24))
        self.assertEqual(bytes(self.r.eval("u8([1, 2])")), b"\1\2")
        with self.assertRaises(BufferError):
            memoryview(self.r.eval("bf16([1, 2])"))
        self.r.eval("y = x; y[0, 0] = 7", x=x)
        self.assertEqual(m[0, 0], 1)
        self.r.close()
        self.assertEqual(m[1, 2], 6)                     # also after the session


class Shape(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("offset", ctypes.c_uint64)]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", DELETER), ("flags", ctypes.c_uint64), ("tensor", Shape)]


class Old(ctypes.Structure):
    _fields_ = [("tensor", Shape), ("context", ctypes.c_void_p), ("deleter", DELETER)]


class Producer:
    """A DLPack capsule with whatever is in it; counts calls of its deleter."""

    def __init__(self, shape=(3,), strides=None, code=2, bits=64, device=1, data=True, major=1, flags=0,
                 old=False, offset=0):
        self.deleted = 0
        self.memory = (ctypes.c_double * 64)(*range(64))
        self.deleter = DELETER(self.delete)
        dims = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        steps = (ctypes.c_int64 * max(len(shape), 1))(*strides) if strides is not None else None
        t = Shape(ctypes.addressof(self.memory) if data else None, (ctypes.c_int32 * 2)(device, 0),
                  len(shape), code, bits, 1, dims, steps, offset)
        self.keep = (dims, steps)
        self.managed = Old(t, None, self.deleter) if old else Versioned(major, 0, None, self.deleter,
                                                                        flags, t)
        self.name = b"dltensor" if old else b"dltensor_versioned"

    alive = set()                        # until the deleter is called

    def delete(self, _):
        self.deleted += 1
        self.alive.discard(self)

    def __dlpack__(self, **how):
        self.alive.add(self)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.managed), self.name, None)

    def __dlpack_device__(self):
        return (1, 0)


class Capsules(unittest.TestCase):
    def setUp(self):
        self.r = ricci.Session()

    def test_good(self):
        for old in (False, True):
            p = Producer(old=old)
            self.r["p"] = p
            self.assertEqual([float(v) for v in self.r["p"]], [0, 1, 2])
            p.memory[0] = 5
            self.assertEqual(self.r.eval("p[0]"), 5)
            self.r.eval("p[1] = 9")
            self.assertEqual(p.memory[1], 1)
            self.r["p"] = None
            gc.collect()
            self.r.eval("1")
            self.assertEqual(p.deleted, 1)

    def test_strides(self):
        for shape, strides, offset, want in [((3,), (-1,), 16, [2, 1, 0]), ((4,), (0,), 8, [1, 1, 1, 1]),
                                             ((2, 2), (2, -1), 8, [1, 0, 3, 2]), ((0, 3), None, 0, []),
                                             ((2, 0), (7, 5), 0, [])]:
            p = Producer(shape=shape, strides=strides, offset=offset)
            flat = [float(v) for row in self.r.eval("reshape(p, (-1,))" if want else "zeros(0)", p=p)
                    for v in ([row] if not isinstance(row, ricci.Tensor) else row)]
            self.assertEqual(flat, want)
            self.r.eval("1")
            gc.collect()
            self.assertEqual(p.deleted, 1)

    def test_hostile(self):
        big = 2**62
        for name, p in {
                "no data": Producer(data=False), "other version": Producer(major=2),
                "version 0": Producer(major=0), "16 bits of int": Producer(code=0, bits=16),
                "unknown type": Producer(code=77), "a device": Producer(device=2),
                "a negative length": Producer(shape=(-1,)), "too many axes": Producer(shape=(1,) * 64),
                "lengths that overflow": Producer(shape=(big, 4)),
                "strides that overflow": Producer(shape=(3,), strides=(big,)),
                "strides that overflow backwards": Producer(shape=(3, 3), strides=(-big, -big))}.items():
            with self.subTest(name):
                with self.assertRaises(ricci.Error):
                    self.r["p"] = p
                self.r.eval("1")
                self.assertEqual(p.deleted, 1)

    def test_no_capsule(self):
        class Strange:
            def __init__(self, gives):
                self.gives = gives

            def __dlpack__(self, **how):
                if isinstance(self.gives, Exception):
                    raise self.gives
                return self.gives
        with self.assertRaises(TypeError):
            self.r["p"] = Strange(3)
        with self.assertRaises(ZeroDivisionError):
            self.r["p"] = Strange(ZeroDivisionError())
        capsule = Producer().__dlpack__()
        self.r["p"] = Strange(capsule)
        with self.assertRaises(TypeError):
            self.r["q"] = Strange(capsule)               # it was used

    def test_shared_memory_goes_with_its_variable(self):
        class Own(array.array):
            pass
        r, lent = ricci.Session(), []
        for value in (1, 2, 3):
            a = Own("d", [value, 2])
            lent.append(weakref.ref(a))
            r.share("w", a)
            r.eval("w[1] = 5")
            self.assertEqual(a[1], 5)
            del a
        gc.collect()
        self.assertIsNone(lent[0]())
        r.eval("v = w")
        r["w"] = 1
        r.eval("1")
        gc.collect()
        self.assertEqual(([a() is not None for a in lent], r.eval("v[0]")), ([False] * 3, 3))

    def test_share_of_what_is_read_only(self):
        p = Producer(flags=1)
        with self.assertRaises(ricci.Error):
            self.r.share("p", p)
        self.assertEqual(p.deleted, 1)

    def test_out(self):
        x = self.r.eval("[1., 2, 3]")
        self.assertEqual(x.__dlpack_device__(), (1, 0))
        self.assertIn("dltensor_versioned", repr(x.__dlpack__(max_version=(1, 1))))
        self.assertNotIn("versioned", repr(x.__dlpack__()))
        with self.assertRaises(BufferError):
            x.__dlpack__(copy=False)
        with self.assertRaises(BufferError):
            x.__dlpack__(dl_device=(2, 0))
        x.__dlpack__(max_version=(1, 0), copy=False)
        with self.r.on("sim.mps", quiet=True):
            y = self.r.eval("ones(3)")
        with self.assertRaises(BufferError):
            y.__dlpack__(max_version=(1, 0))
        y.__dlpack__(max_version=(1, 0), dl_device=(1, 0))
        with self.assertRaises(ricci.DtypeError):
            self.r.eval("rational([1, 2])").__dlpack__(max_version=(1, 0))
        z = self.r.asarray(ricci.from_dlpack(x))
        self.assertEqual(len(z), 3)

    def test_constant_memory(self):
        x = self.r.eval("rand(1000)")

        def turn():
            for _ in range(5000):
                self.r["y"] = Producer()
                memoryview(x)
                x.__dlpack__()
                x.__dlpack__(max_version=(1, 1))
        turn()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        turn()
        turn()
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 4000)


LAYOUTS = {"dense": lambda a: a, "transposed": lambda a: a.T, "steps": lambda a: a[::2, 1:],
           "one row": lambda a: a[1], "empty": lambda a: a[:0]}
DTYPES = ["bool", "int8", "uint8", "int32", "int64", "float16", "float32", "float64", "complex64",
          "complex128"]


@unittest.skipIf(np is None, "NumPy is not there")
class NumPy(unittest.TestCase):
    def setUp(self):
        self.r = ricci.Session()

    def test_both_ways(self):
        layouts = dict(LAYOUTS, reversed=lambda a: a[::-1, ::-1],
                       broadcast=lambda a: np.broadcast_to(a[0], (3, 4)))
        for dtype, (name, layout) in itertools.product(DTYPES, layouts.items()):
            with self.subTest(dtype=dtype, layout=name):
                a = layout((np.arange(12).reshape(3, 4) % 5).astype(dtype))
                self.r["a"] = a
                x = self.r["a"]
                for b in (np.asarray(x), np.from_dlpack(x)):
                    self.assertEqual((b.dtype, b.shape), (a.dtype, a.shape))
                    self.assertTrue(np.array_equal(a, b))
                    self.assertFalse(b.flags.writeable)
                    if a.size:
                        self.assertEqual(b.ctypes.data, a.ctypes.data)

    def test_copies(self):
        x = self.r.eval("[1., 2]")
        b = np.array(x)
        b[0] = 5
        self.assertEqual(x[0], 1)
        self.assertEqual(np.asarray(x, dtype="f4").dtype, np.float32)
        with self.assertRaises(TypeError):
            np.asarray(self.r.eval("bf16([1, 2])"))

    def test_what_numpy_has_and_ricci_has_not(self):
        with self.assertRaises(ricci.DtypeError):
            self.r["a"] = np.zeros(2, "u2")
        for a in (np.array(["a"]), np.array([object()]), np.arange(3).astype(">f8"), np.array(["2020-01-01"], "datetime64[D]")):
            with self.assertRaisesRegex(TypeError, "this ndarray cannot be passed"):
                self.r["a"] = a

    def test_scalars_keep_their_dtype(self):
        for dtype in DTYPES:
            self.r["s"] = np.dtype(dtype).type(1)
            self.assertEqual(self.r.eval("string(dtype(s))"), ricci.dtype_name(dtype), dtype)

    def test_lists_of_scalars(self):
        for dtype in DTYPES:
            x = self.r.asarray([np.dtype(dtype).type(1), np.dtype(dtype).type(0)])
            self.assertEqual(x.dtype, {"b": "bool", "i": "i64", "u": "i64", "f": "f64",
                                       "c": "c128"}[np.dtype(dtype).kind])
            self.assertTrue(np.array_equal(np.asarray(x), [1, 0]))
        self.assertEqual(self.r.asarray([np.ones(3), [1, 2, 3]]).shape, (2, 3))

    def test_operators(self):
        x, a = self.r.eval("[1., 2]"), np.array([10., 20])
        for y in (x + a, a + x, a - x, a @ x, x * a):
            self.assertIsInstance(y, (ricci.Tensor, float))
        self.assertEqual(list(a - x), [9, 18])

    def test_never_written(self):
        a = np.zeros(4)
        self.r["a"] = a
        for text in ("a[0] = 1", "a += 1", "a = a + 1", "b = a; b[1:3] = 5", "a[a > 0] = 3"):
            self.r["a"] = a
            self.r.eval(text)
            self.assertEqual(a.sum(), 0, text)
        self.r.share("a", a)
        self.r.eval("a[0] = 1; a += 1")
        self.assertEqual(list(a), [2, 1, 1, 1])


@unittest.skipIf(torch is None, "PyTorch is not there")
class PyTorch(unittest.TestCase):
    def setUp(self):
        self.r = ricci.Session()

    def test_both_ways(self):
        more = ["bfloat16", "float8_e4m3fn", "float8_e5m2"]
        for dtype, (name, layout) in itertools.product(DTYPES + more, LAYOUTS.items()):
            with self.subTest(dtype=dtype, layout=name):
                t = layout((torch.arange(12).reshape(3, 4) % 5).to(getattr(torch, dtype)))
                self.r["t"] = t
                x = self.r["t"]
                self.assertEqual(x.dtype, ricci.dtype_name(t.dtype))
                u = torch.from_dlpack(x)
                self.assertEqual((u.dtype, u.shape), (t.dtype, t.shape))
                self.assertTrue(torch.equal(u.to(torch.complex128), t.to(torch.complex128)))
                if t.numel():
                    self.assertEqual(u.data_ptr(), t.data_ptr())

    def test_to_torch_is_its_own(self):
        x = self.r.eval("[1., 2]")
        t = ricci.to_torch(x)
        t[0] = 99
        self.assertEqual(x[0], 1)
        self.r.eval("v = [1., 2]")
        t = ricci.to_torch(self.r.eval("v"))
        t[0] = 99
        self.assertEqual(self.r.eval("v[0]"), 1)

    def test_to_torch_gives_up_what_nobody_has(self):
        """No second tensor of that size is made."""
        n = 1 << 22
        self.r.eval(f"fn make() {{ ones({n}) }}")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(3):
            t = ricci.to_torch(self.r.eval("make()"))
            self.assertEqual(float(t[-1]), 1)
            t[0] = 5
            del t
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        if sys.version_info < (3, 14):
            self.assertLess(grown, 1.5 * 8 * n / 1024)


@unittest.skipIf(jax is None, "JAX is not there")
class Jax(unittest.TestCase):
    def setUp(self):
        self.r = ricci.Session()

    def test_both_ways(self):
        for dtype in DTYPES + ["bfloat16"]:
            with self.subTest(dtype=dtype):
                a = (jnp.arange(12).reshape(3, 4) % 5).astype(dtype)
                self.r["a"] = a
                x = self.r["a"]
                self.assertEqual((x.dtype, x.shape), (ricci.dtype_name(dtype), (3, 4)))
                b = jnp.from_dlpack(x)
                self.assertEqual(b.dtype, a.dtype)
                self.assertTrue(bool((a == b).all()))
        self.r.eval("a[0, 0] = 7")
        self.assertEqual(float(a[0, 0]), 0)


if __name__ == "__main__":
    unittest.main()
