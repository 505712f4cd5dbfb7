"""DLPack of CUDA memory, on the stub of tests/stub for a driver: run by test_cuda.py, with LD_LIBRARY_PATH at the stub. Another
library is played by a second session, and by capsules made here by hand. Its last line is `ok`."""
import ctypes
import gc
import unittest

import ricci

driver = ctypes.CDLL("libcuda.so.1")


class Stub(ctypes.Structure):
    """The first members of struct Stub of tests/stub/stub.h."""
    _fields_ = [(n, ctypes.c_int) for n in "init_code version devices arch pools".split()] + \
        [(n, ctypes.c_size_t) for n in ("memory", "live")] + \
        [(n, ctypes.c_int) for n in "blocks contexts streams events modules handles".split()] + [("waited_for", ctypes.c_size_t)]


stub = Stub.in_dll(driver, "stub")
get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def address(capsule, name=b"dltensor_versioned"):
    """Of the data that a capsule tells of: the member of DLTensor after the head of 32 bytes that version 1 has."""
    tensor = get_pointer(capsule, name) + (32 if b"versioned" in name else 0)
    return ctypes.c_uint64.from_address(tensor).value + ctypes.c_uint64.from_address(tensor + 40).value


class Lender:
    """An array of another library: what it is asked is kept."""

    def __init__(self, x):
        self.x, self.asked = x, []

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()

    def __dlpack__(self, **how):
        self.asked.append(how)
        self.capsule = self.x.__dlpack__(**how)
        self.address = address(self.capsule)
        return self.capsule


class Cuda(unittest.TestCase):
    def setUp(self):
        self.r, self.other = ricci.Session(), ricci.Session()
        self.x = self.other.eval("to([1.0, 2, 3; 4, 5, 6], cuda)")

    def test_out(self):
        x = self.x
        self.assertEqual((x.device, x.__dlpack_device__()), ("cuda:0", (2, 0)))
        shared = [address(x.__dlpack__(max_version=(1, 0), stream=77)) for _ in range(2)]
        self.assertEqual((stub.waited_for, stub.events), (77, 0))
        x.__dlpack__(max_version=(1, 0))
        self.assertEqual(stub.waited_for, 1)                         # the legacy default stream
        x.__dlpack__(max_version=(1, 0), stream=-1, dl_device=(2, 0))
        self.assertEqual(stub.waited_for, 1)                         # nobody waits
        self.assertEqual(shared[0], shared[1])
        self.assertNotEqual(address(x.__dlpack__(max_version=(1, 0), copy=True)), shared[0])
        self.assertNotEqual(address(x.__dlpack__(), b"dltensor"), shared[0])      # nobody to be told
        self.assertNotEqual(address(x.__dlpack__(max_version=(1, 0), dl_device=(1, 0))), shared[0])
        for wrong, how in [(BufferError, {"dl_device": (2, 1)}), (BufferError, {"copy": False}), (ValueError, {"stream": 0}),
                           (ValueError, {"stream": -2}), (TypeError, {"stream": "a"})]:
            with self.assertRaises(wrong):
                x.__dlpack__(**{"max_version": (1, 0), **how} if "copy" not in how else how)
        with self.assertRaises(BufferError):
            self.r.eval("[1, 2]").__dlpack__(max_version=(1, 0), dl_device=(2, 0))

    def test_in(self):
        lender = Lender(self.x)
        y = self.r.asarray(lender)
        how, = lender.asked
        self.assertEqual(sorted(how), ["max_version", "stream"])
        self.assertEqual((y.device, y.dtype, y.shape), ("cuda:0", "f64", (2, 3)))
        self.assertEqual(address(y.__dlpack__(max_version=(1, 0), stream=-1)), lender.address)
        self.assertEqual(self.r.eval("x @ x'", x=y)[1, 0], 32)
        with self.r.on("cuda", quiet=True):
            z = y + y
            self.assertEqual((z.device, float(z[1, 2])), ("cuda:0", 12))
            self.assertEqual(float((y[:, ::-1] * 1.0)[0, 0]), 3)

    def test_never_written_and_seen(self):
        lender = Lender(self.x)
        self.r["y"] = lender
        self.r.eval("y[0, 0] = 10")
        self.assertEqual((float(self.r["y"][0, 0]), float(self.x[0, 0])), (10, 1))
        with self.r.on("cuda", quiet=True):
            self.r["z"] = lender
            self.r.eval("z[0, 0] = 10; z += z")
        self.assertEqual(float(self.x[0, 0]), 1)
        self.r["w"] = lender
        self.assertEqual(float(self.r["w"][1, 1]), 5)
        ctypes.c_double.from_address(lender.address + 8 * 4).value = 50          # what the lender writes
        self.assertEqual(float(self.r["w"][1, 1]), 50)
        self.assertEqual(float((self.r["w"] + 0)[1, 1]), 50)
        with self.assertRaises(ricci.ValueError):
            self.r.share("v", lender)

    def test_dtypes(self):
        for dtype, value in [("f32", 1.5), ("f16", 1.5), ("bf16", 1.5), ("i32", -3), ("u8", 200), ("i64", 2**40), ("bool", True)]:
            with self.subTest(dtype):
                x = self.other.eval(f"to({dtype}([v, v]), cuda)", v=value)
                y = self.r.asarray(Lender(x))
                self.assertEqual((y.dtype, y[1].item() if hasattr(y[1], "item") else y[1]), (dtype, value))
        self.assertEqual(self.r.asarray(Lender(self.other.eval("to(zeros(0, 3), cuda)"))).shape, (0, 3))

    def test_what_the_device_has_not(self):
        """Complex numbers come to the host as a copy: four doubles there, told of as two complex numbers."""
        class Complex(Lender):
            def __dlpack__(self, **how):
                capsule = super().__dlpack__(**how)
                tensor = get_pointer(capsule, b"dltensor_versioned") + 32
                ctypes.memmove(tensor + 20, bytes([5, 128]), 2)                  # kDLComplex
                shape = ctypes.c_uint64.from_address(tensor + 24).value
                ctypes.c_int64.from_address(shape).value = 2
                return capsule
        y = self.r.asarray(Complex(self.other.eval("to([1.0, 2, 3, 4], cuda)")))
        self.assertEqual((y.device, y.dtype, y[0], y[1]), ("cpu", "c128", 1 + 2j, 3 + 4j))

    def test_lives(self):
        """Each outlives the other's session; nothing stays."""
        y = self.r.asarray(Lender(self.x))
        capsule = self.x.__dlpack__(max_version=(1, 0), stream=-1)
        again = y.__dlpack__(max_version=(1, 0), stream=-1)
        self.other.close()
        self.assertEqual(float(y[0, 2]), 3)
        third = ricci.Session()
        self.assertEqual(float(third.asarray(type("L", (), {
            "__dlpack__": lambda self, **how: capsule, "__dlpack_device__": lambda self: (2, 0)})())[1, 2]), 6)
        self.r.close()
        self.assertEqual(ctypes.c_double.from_address(address(again)).value, 1)
        third.close()
        del again, capsule, third, y
        self.x = None
        gc.collect()

    def test_without_the_device(self):
        """Of a device that is not there, the lender is asked for memory of the host."""
        lender = Lender(self.x)
        lender.__class__ = type("Far", (Lender,), {"__dlpack_device__": lambda self: (2, 5)})
        self.assertEqual(self.r.asarray(lender).device, "cpu")
        self.assertEqual(lender.asked[0].get("dl_device"), (1, 0))

    def tearDown(self):
        self.x = None
        self.r.close()
        self.other.close()
        gc.collect()
        self.assertEqual((stub.live, stub.blocks, stub.contexts, stub.streams, stub.events), (0, 0, 0, 0, 0))


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    print("ok" if result.wasSuccessful() else "failed")
