"""Runs the tests of the module ricci by the standard library's runner, and counts as the other suites do.
`python -m pytest tests/python` runs the same."""
import os
import sys
import unittest

here = os.path.dirname(os.path.abspath(__file__))
suite = unittest.defaultTestLoader.discover(here, "test_*.py", here)
result = unittest.TextTestRunner(stream=sys.stderr, verbosity=0).run(suite)
for why in sorted({why for _, why in result.skipped}):
    print(f"not run: tests/python: {why}")
failed = {str(test).split(" [")[0] for test, _ in result.failures + result.errors}
for test, text in result.failures + result.errors:
    print(f"FAIL {test}\n{text}")
print(f"{result.testsRun - len(result.skipped) - len(failed)} passed, {len(failed)} failed")
sys.exit(bool(failed))
