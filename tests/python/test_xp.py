"""ricci.xp beside NumPy: the same names give the same numbers."""
import unittest

import ricci
from ricci import xp

try:
    import numpy as np
except ImportError:
    np = None


class Names(unittest.TestCase):
    def test_without_numpy(self):
        x = xp.asarray([[1.0, 2], [3, 4]], dtype="float32")
        self.assertIs(ricci.xp, xp)
        self.assertIs(x.__array_namespace__(), xp)
        total = xp.sum(x)
        self.assertEqual((total.dtype, total.shape, float(total)), ("f32", (), 10))
        self.assertEqual(xp.result_type("f16", "bf16"), "f32")
        self.assertTrue(xp.isdtype("f32", "real floating"))
        info = xp.__array_namespace_info__()
        self.assertIn("cpu", info.devices())
        self.assertEqual(info.dtypes(kind="integral"), {"int8": "i8", "uint8": "u8", "int32": "i32",
                                                        "int64": "i64"})
        self.assertEqual(xp.finfo("f32").eps, 2**-23)
        self.assertEqual((xp.iinfo("i8").min, xp.iinfo("u8").max), (-128, 255))
        self.assertFalse(hasattr(xp, "no_such_row"))
        s = ricci.Session()
        self.assertIs(xp.zeros_like(s.eval("[1., 2]")).session, s)
        with s.on("sim.mps", quiet=True):
            self.assertEqual(xp.add(s.eval("ones(2)"), 1).device, "sim.mps")

    def test_array_api_compat(self):
        try:
            import array_api_compat as compat
        except ImportError:
            self.skipTest("array-api-compat is not there")
        x = xp.asarray([1.0, 2, 3])
        self.assertIs(compat.array_namespace(x, xp.ones(2)), xp)
        self.assertTrue(compat.is_array_api_obj(x))
        self.assertEqual((compat.device(x), compat.size(x)), ("cpu", 3))
        self.assertEqual(compat.to_device(x, "cpu").device, "cpu")

    @unittest.skipIf(np is None, "NumPy is not there")
    def test_beside_numpy(self):
        a = np.random.default_rng(1).random((3, 4)) + 0.01
        S = a @ a.T + np.eye(3)
        x, X = xp.asarray(a), xp.asarray(S)
        calls = {n: (getattr(xp, n)(x), getattr(np, n)(a)) for n in (
            "abs acos asin atan cos cosh exp expm1 floor ceil log log1p log2 log10 sign sin sinh sqrt tan "
            "tanh trunc max min mean sum prod argmax var std any all flip square").split()}
        calls |= {
            "atan2": (xp.atan2(x, x + 1), np.arctan2(a, a + 1)), "pow": (xp.pow(x, 2.0), a**2),
            "clip": (xp.clip(x, 0.2, 0.5), np.clip(a, 0.2, 0.5)),
            "where": (xp.where(x > 0.5, x, 0.0), np.where(a > 0.5, a, 0)),
            "sum axis": (xp.sum(x, axis=0, keepdims=True), a.sum(0, keepdims=True)),
            "var axis": (xp.var(x, axis=1, correction=1), a.var(1, ddof=1)),
            "concat": (xp.concat([x, x], axis=1), np.concatenate([a, a], 1)),
            "stack": (xp.stack([x, x], axis=1), np.stack([a, a], 1)),
            "expand_dims": (xp.expand_dims(x, axis=1), a[:, None]),
            "squeeze": (xp.squeeze(xp.expand_dims(x, axis=1), 1), a),
            "permute_dims": (xp.permute_dims(x, (1, 0)), a.T), "roll": (xp.roll(x, 1, axis=0), np.roll(a, 1, 0)),
            "repeat": (xp.repeat(x, 2, axis=0), a.repeat(2, 0)), "tile": (xp.tile(x, (2, 1)), np.tile(a, (2, 1))),
            "take": (xp.take(x, [0, 2], axis=0), a[[0, 2]]), "diff": (xp.diff(x, axis=0), np.diff(a, axis=0)),
            "cumulative_sum": (xp.cumulative_sum(x, axis=0, include_initial=True),
                               np.vstack([np.zeros(4), a.cumsum(0)])),
            "sort": (xp.sort(x, axis=0), np.sort(a, 0)),
            "argsort": (xp.argsort(x, descending=True), np.argsort(-a)),
            "nonzero": (xp.nonzero(x > 0.5)[1], np.nonzero(a > 0.5)[1]),
            "unique_values": (xp.unique_values(xp.asarray([3, 1, 3])), [1, 3]),
            "linspace": (xp.linspace(0, 1, 5), np.linspace(0, 1, 5)), "eye": (xp.eye(2, 3, k=1), np.eye(2, 3, 1)),
            "full": (xp.full((2, 2), 7), np.full((2, 2), 7)), "tril": (xp.tril(x, k=1), np.tril(a, 1)),
            "meshgrid": (xp.meshgrid(xp.arange(2), xp.arange(3))[0], np.meshgrid(range(2), range(3))[0]),
            "mT": (xp.ones((2, 3, 4)).mT, np.ones((2, 4, 3))), "vecdot": (xp.vecdot(x, x), (a * a).sum(-1)),
            "det": (xp.linalg.det(X), np.linalg.det(S)), "inv": (xp.linalg.inv(X), np.linalg.inv(S)),
            "solve": (xp.linalg.solve(X, X), np.eye(3)), "eigh": (xp.linalg.eigh(X)[0], np.linalg.eigh(S)[0]),
            "svd": (xp.linalg.svd(X)[1], np.linalg.svd(S)[1]), "trace": (xp.linalg.trace(X), np.trace(S)),
            "vector_norm": (xp.linalg.vector_norm(x, axis=1, ord=1), np.linalg.norm(a, 1, axis=1)),
            "matrix_norm": (xp.linalg.matrix_norm(x), np.linalg.norm(a)),
            "diagonal": (xp.linalg.diagonal(x, offset=1), np.diagonal(a, 1)),
            "fftn": (xp.fft.fftn(x), np.fft.fftn(a)), "fftshift": (xp.fft.fftshift(x), np.fft.fftshift(a)),
            "fftfreq": (xp.fft.fftfreq(5, d=0.5), np.fft.fftfreq(5, 0.5)),
            "rfftfreq": (xp.fft.rfftfreq(5), np.fft.rfftfreq(5))}
        for n in ("fft", "ifft", "rfft", "irfft"):
            calls[n] = getattr(xp.fft, n)(x, n=6, axis=0), getattr(np.fft, n)(a, n=6, axis=0)
        for name, (got, want) in calls.items():
            with self.subTest(name):
                self.assertIsInstance(got, ricci.Tensor)
                self.assertTrue(np.allclose(np.asarray(got), want, rtol=1e-12, atol=1e-12))


class Cells(unittest.TestCase):
    """The magics, with what stands for a shell."""

    def test_cell(self):
        from ricci import _magics

        class Shell:
            user_ns = {"a": 2}
        shown = []

        def show(forms, width, height, result):
            shown.append((forms, result))
        good = _magics.run_cell(Shell, "-i a -o C,D", "C = [a, 1; 1, a]\nD = 1/2\nrational(1)/3", show=show)
        self.assertTrue(good)
        self.assertEqual(Shell.user_ns["C"].shape, (2, 2))
        self.assertEqual(Shell.user_ns["D"], 0.5)
        (forms, result), = shown
        self.assertTrue(result)
        self.assertIn("text/latex", forms)
        self.assertTrue(forms["text/plain"].startswith("1/3"))
        shown.clear()
        self.assertTrue(_magics.run_cell(Shell, "", "1 + 1;", show=show))
        self.assertEqual(shown, [])
        import contextlib
        import io
        for line, cell, words in [("-i nothing", "1", "no variable nothing in Python"),
                                  ("-o nothing", "1", "no variable nothing"),
                                  ("-x", "1", "does not know -x"), ("", "[1, 2] @ [1, 2, 3]", "error[shape]")]:
            told = io.StringIO()
            with contextlib.redirect_stderr(told):
                self.assertFalse(_magics.run_cell(Shell, line, cell, show=show))
            self.assertIn(words, told.getvalue())


if __name__ == "__main__":
    unittest.main()
