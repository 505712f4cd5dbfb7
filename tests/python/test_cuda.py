"""CUDA memory through DLPack, on a stub of the driver: `make stubs` builds it, and its kernels want g++."""
import os
import shutil
import subprocess
import sys
import unittest

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(os.path.dirname(here))
stub = os.path.join(root, os.environ.get("BUILD", "build"), "stub")


class OnTheStub(unittest.TestCase):
    @unittest.skipUnless(shutil.which("g++") and os.path.exists(os.path.join(stub, "libcusolver.so.11")),
                         "CUDA memory: no stub of the driver (make stubs), or no g++")
    def test_memory(self):
        told = subprocess.run([sys.executable, os.path.join(here, "cuda_stub.py")], capture_output=True, text=True, env={
            **os.environ, "LD_LIBRARY_PATH": stub, "STUB_NVRTC": "g++", "STUB_ROOT": root})
        self.assertEqual(told.stdout.splitlines()[-1:], ["ok"], told.stderr)


if __name__ == "__main__":
    unittest.main()
