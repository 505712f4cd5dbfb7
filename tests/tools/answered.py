"""One program of many cases: running it, and what it answered, a line `@TAG …` for each."""
import os
import subprocess
import tempfile


def run(ricci, script, seconds=120):
    """(stdout, stderr, status) of a program; 124: it ran too long."""
    with tempfile.NamedTemporaryFile("w", suffix=".ric", delete=False) as f:
        f.write(script)
    try:
        done = subprocess.run([ricci, f.name], capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)
        return done.stdout, done.stderr, done.returncode
    except subprocess.TimeoutExpired:
        return "", "timed out", 124
    finally:
        os.unlink(f.name)


def answers(stdout):
    """By tag, the rest of the line."""
    return dict(line[1:].partition(" ")[::2] for line in stdout.splitlines() if line.startswith("@"))
