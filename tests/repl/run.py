#!/usr/bin/env python3
"""The interactive session, driven through a pseudo-terminal as a user would: runs the functions
test_* of the files beside this one, each in a home of its own.

    run.py [FILE | TEST]…       commands, or test_echo: these alone

Prints FAIL lines and, last, `N passed, N failed`. RICCI names the binary."""
import glob
import importlib
import inspect
import os
import pty
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from session import check, counts  # noqa: E402

NO_TESTS = ("run", "session", "interrupts", "screen")


def has_terminals():
    try:
        for end in pty.openpty():
            os.close(end)
        return True
    except OSError:
        return False


def tests():
    """(file, name, function), in the order in which they stand there."""
    for path in sorted(glob.glob(os.path.join(HERE, "*.py"))):
        name = os.path.basename(path)[:-3]
        if name not in NO_TESTS:
            module = importlib.import_module(name)
            for test, function in list(vars(module).items()):
                if test.startswith("test_") and inspect.isfunction(function):
                    yield name, test, function


def main():
    only, terminals = sys.argv[1:], has_terminals()
    for file, name, test in tests():
        if only and name not in only and file not in only:
            continue
        if not terminals and name != "test_pipe":
            print("not run, no pseudo-terminals here:", name)
            continue
        home = tempfile.mkdtemp(prefix="ricci-repl.")
        try:
            test(home)
        except Exception as e:      # a session that died is a failure, not the end of the run
            check(name, False, e)
        finally:
            shutil.rmtree(home, ignore_errors=True)
    print("%d passed, %d failed" % (counts[True], counts[False]))
    return counts[False] > 0


if __name__ == "__main__":
    sys.exit(main())
