"""The examples of docs/python.md run."""
import contextlib
import io
import os
import re
import unittest

try:
    import numpy as np
except ImportError:
    np = None

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")


@unittest.skipIf(np is None, "NumPy is not there")
class Examples(unittest.TestCase):
    def test_examples(self):
        with open(os.path.join(DOCS, "python.md"), encoding="utf-8") as f:
            blocks = re.findall(r"^```python\n(.*?)^```", f.read(), re.M | re.S)
        self.assertGreater(len(blocks), 3)
        names, told = {}, io.StringIO()
        with contextlib.redirect_stdout(told):
            for block in blocks:
                exec(block, names)
        self.assertIn("error[shape]", told.getvalue())
        self.assertEqual(names["D"].dtype, "bf16")


if __name__ == "__main__":
    unittest.main()
