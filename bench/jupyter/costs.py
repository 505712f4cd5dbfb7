"""What the kernel of notebooks costs, beside what is asked of it: python3 bench/jupyter/costs.py, with the program in RICCI.
The client is that of tests/jupyter; its own time is in the figures. Medians."""
import os
import re
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "jupyter"))
from client import Kernel, there_is_zmq

ricci = os.path.abspath(os.environ.get("RICCI", "build/ricci"))


def start():
    """Seconds from the start of the process to the reply; kB resident then."""
    begin = time.perf_counter()
    k = Kernel(ricci)
    k.client.ask("kernel_info_request")
    took = time.perf_counter() - begin
    with open(f"/proc/{k.process.pid}/status") as file:
        resident = int(re.search(r"VmRSS:\s*(\d+)", file.read())[1])
    k.close()
    return took, resident


def median_of(c, code, rounds):
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        c.run(code)
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def interrupted(c, code):
    name = c.start(code)
    c.published(name, lambda m: m["type"] == "execute_input")
    time.sleep(0.2)
    begin = time.perf_counter()
    c.send("interrupt_request", channel=c.control)
    c.reply(name)
    late = time.perf_counter() - begin
    c.published(name)
    return late


def main():
    if not there_is_zmq():
        print("jupyter: there is no libzmq (Debian: libzmq5)")
        return
    starts = [start() for _ in range(9)]
    k = Kernel(ricci)
    c = k.client
    rows = [("start to kernel_info_reply", statistics.median(s for s, _ in starts) * 1e3, "ms", 150),
            ("resident then", statistics.median(r for _, r in starts) / 1024, "MB", 30),
            ("an empty cell, request to reply and idle", median_of(c, "", 200) * 1e3, "ms", 5),
            ("1 + 1", median_of(c, "1 + 1", 200) * 1e3, "ms", None),
            ("1000 printed lines", median_of(c, "for i in 0:1000 { print(i) }", 20) * 1e3, "ms", 300),
            ("a picture", median_of(c, "plot(sin, 0, 10)", 20) * 1e3, "ms", None)]
    for code in ("while true { }", "svd(rand(1500, 1500))"):
        late = max(interrupted(c, code) for _ in range(3))
        rows.append((f"interrupt of {code}, the latest of 3", late * 1e3, "ms", 300))
    k.close()
    for what, got, unit, most in rows:
        print(f"{what:52} {got:7.1f} {unit}" + (f"   (at most {most})" if most else ""))


if __name__ == "__main__":
    main()
