"""What the module costs, beside what is asked of it: python3 bench/python/costs.py, with build/python on
PYTHONPATH (`make python`). Medians of several rounds; NumPy is needed."""
import os
import signal
import statistics
import subprocess
import sys
import threading
import time

import numpy as np
import ricci


def median_of(work, count, rounds=9):
    """Seconds of one call: the median of rounds of `count` calls."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(count):
            work()
        times.append((time.perf_counter() - start) / count)
    return statistics.median(times)


def start_of(code, rounds=9):
    def once():
        subprocess.run([sys.executable, "-c", code], check=True)
    return median_of(once, 1, rounds)


def interrupted(r):
    late = []
    for _ in range(5):
        def stop():
            time.sleep(0.2)
            stop.at = time.perf_counter()
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=stop).start()
        try:
            r.eval("while true { x = 1 }")
        except KeyboardInterrupt:
            late.append(time.perf_counter() - stop.at)
    return max(late)


def main():
    r = ricci.Session()
    rows = []
    plain = start_of("pass")
    first = start_of("import ricci; ricci.eval('1+1')")
    rows.append(("import and first result, over `python -c pass`", first - plain, 60e-3))
    rows.append(("r.eval(\"1+1\")", median_of(lambda: r.eval("1+1"), 20000), 5e-6))
    add, x, y = r["add"], r.eval("[1., 2, 3]"), r.eval("[4., 5, 6]")
    inside = r.eval("fn time_it(x, y, n) { for i in 0:n { z = add(x, y) } }\ntime_it")
    n = 200000
    within = median_of(lambda: inside(x, y, n), 1, 5) / n
    rows.append(("f(x, y) of 3-vectors, over the call in a program",
                 median_of(lambda: add(x, y), 20000) - within, 3e-6))
    rows.append(("x + y of 3-vectors", median_of(lambda: x + y, 20000), None))
    a = np.zeros(125_000_000)
    r["a"] = a
    big = r["a"]

    def bring():
        r["a"] = a
    rows.append(("1 GB in", median_of(bring, 200), 50e-6))
    rows.append(("1 GB out, np.asarray(x)", median_of(lambda: np.asarray(big), 200), 50e-6))
    rows.append(("1 GB out, np.from_dlpack(x)", median_of(lambda: np.from_dlpack(big), 200), 50e-6))
    rows.append(("a call of a function of Python", median_of(
        lambda f=r.eval("g", g=lambda t: t): f(1), 20000), None))
    rows.append(("Ctrl-C in a loop, the latest of 5", interrupted(r), 0.3))
    for name, seconds, most in rows:
        asked = "" if most is None else f"   (at most {most * 1e6:.0f} us{'' if seconds <= most else ': NOT MET'})"
        print(f"{name:50s} {seconds * 1e6:10.2f} us{asked}")


if __name__ == "__main__":
    main()
