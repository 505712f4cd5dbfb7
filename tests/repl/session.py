"""A user at a terminal: what the tests of the session share.

`Session` drives one `ricci` on a pseudo-terminal, `piped` one without; `check` counts.
RICCI names the binary."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

RICCI = os.path.abspath(os.environ.get("RICCI", "build/ricci"))
PROMPT, MORE = b"ricci> ", b"  ...> "
WAIT = float(os.environ.get("REPL_WAIT", "20"))
COLOUR = re.compile(rb"\x1b\[[0-9;]*m")         # a prompt may have one
counts = {True: 0, False: 0}


def check(what, ok, got=""):
    counts[bool(ok)] += 1
    if not ok:
        print("FAIL %s: got %r" % (what, got), flush=True)


class Session:
    """One `ricci` on a terminal of `size` cells (rows, columns), with a home of its own."""

    def __init__(self, home, args=(), term="dumb", size=(24, 80), ready=PROMPT, **environment):
        env = {"PATH": os.environ["PATH"], "HOME": home, "TERM": term, "LC_ALL": "C.UTF-8",
               "INPUTRC": "/dev/null", **environment}
        for name in ("ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "RICCI_JIT"):
            if name in os.environ:
                env[name] = os.environ[name]
        self.all = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
            os.chdir(home)
            os.execve(RICCI, [RICCI, *args], env)
        self.status = None
        self.started = self.until(ready)

    def until(self, *ends, wait=WAIT):
        """Reads until the output ends in one of `ends`; returns what came."""
        got, limit = b"", time.time() + wait
        while not COLOUR.sub(b"", got[-200:]).endswith(ends) if ends else True:
            ready, _, _ = select.select([self.fd], [], [], max(0, limit - time.time()))
            if not ready:
                break
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                break
            if not data:
                break
            got += data
            if time.time() > limit:             # endless output, too
                break
        self.all += got
        return got

    def send(self, text):
        os.write(self.fd, text if isinstance(text, bytes) else text.encode())

    def line(self, text, ends=(PROMPT,)):
        """Types a line; returns the lines that came out before the next prompt."""
        self.send(text + "\n")
        lines = self.until(*ends).decode(errors="replace").replace("\r", "").split("\n")
        return "\n".join(lines[1:-1])

    def expect(self, text, want, ends=(PROMPT,)):
        got = self.line(text, ends)
        check(text, got == want, got)

    def expect_in(self, text, *wants):
        got = self.line(text)
        check(text, all(w in got for w in wants), got)

    def end(self, text=b"\x04"):
        """Leaves; returns the exit status."""
        self.send(text)
        self.until(wait=2)
        for _ in range(100):
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.05)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)
        return "no end"


def piped(arguments, text):
    run = subprocess.run([RICCI, *arguments], input=text.encode(), stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, timeout=WAIT)
    return run.stdout.decode(), run.returncode
