"""What the twins in Python share: a folder of bench/ takes it by `sys.path.insert(1, "bench")`, as bench/run.sh runs
in the project's root."""
import statistics
import time


def median_of(f, repeats, most=float("inf")):
    """Seconds of f, the median of so many calls after a first one; no more of them once they took `most` together."""
    f()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        f()
        times.append(time.perf_counter() - start)
        if sum(times) > most:
            break
    return statistics.median(times)


def least_of(f, repeats):
    """Seconds of f, the least of so many calls after a first one."""
    f()
    least = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        f()
        least = min(least, time.perf_counter() - start)
    return least
