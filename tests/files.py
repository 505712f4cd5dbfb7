#!/usr/bin/env python3
"""Files that are replaced, and pipes that are closed: tests/files.py [RICCI].

A full disk, a limit and kill -9 leave the old file or the new one; links, modes and devices stay what
they are; leftovers of the dead are removed and those of the living are not; descriptors are given
back; whoever writes into a closed pipe ends with 141 and says nothing. Prints `N passed, N failed`."""
import glob
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RICCI = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.environ.get("RICCI", ROOT + "/build/ricci")
passed = failed = 0


def check(what, ok, seen=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print("FAIL %s%s" % (what, ": " + str(seen)[:600] if seen != "" else ""), flush=True)


def ricci(code, limit=None, **more):
    args = code if isinstance(code, list) else ["-e", code]
    return subprocess.run([RICCI] + args, capture_output=True, text=True, timeout=60, preexec_fn=limit,
                          stdin=subprocess.DEVNULL, **more)


def text(path):
    with open(path) as file:
        return file.read()


def put(path, what="old"):
    with open(path, "w") as file:
        file.write(what)


def parts():
    return glob.glob("*.part")


# ---- links, modes, devices ----

def links():
    put("real")
    os.chmod("real", 0o640)
    os.symlink("real", "link")
    os.mkdir("sub")
    os.symlink("../link", "sub/far")
    ricci('write("sub/far", "new")')
    check("a link to a link stays", os.path.islink("sub/far") and os.path.islink("link") and text("real") == "new")
    check("the mode stays", os.stat("real").st_mode & 0o7777 == 0o640, oct(os.stat("real").st_mode))
    os.symlink("sub/made", "dangling")
    ricci('save("dangling.csv", [1]); write("dangling", "made")')
    check("a dangling link gets its file", os.path.islink("dangling") and text("sub/made") == "made")
    os.symlink("loop", "loop")
    done = ricci('write("loop", "x")')
    check("a loop of links is an error", done.returncode == 1 and "levels of symbolic links" in done.stderr, done.stderr)
    done = ricci('write("sub", "x")')
    check("a folder is an error", done.returncode == 1 and "directory" in done.stderr, done.stderr)
    put("form.ric", "x=1\n")
    os.symlink("form.ric", "form_link.ric")
    ricci(["fmt", "-w", "form_link.ric"])
    check("fmt -w keeps a link", os.path.islink("form_link.ric") and text("form.ric") == "x = 1\n", text("form.ric"))
    os.chmod("real", 0o444)
    if os.geteuid() != 0:
        check("a file that may not be written stays", ricci('write("real", "x")').returncode == 1 and text("real") == "new")
    long = "n" * 250
    check("a name may be as long as any", ricci('write("%s", "x")' % long).returncode == 0 and text(long) == "x")
    os.umask(0o077)
    ricci('write("private", "x")')
    os.umask(0o022)
    ricci('write("public", "x")')
    modes = [oct(os.stat(name).st_mode & 0o777) for name in ("private", "public")]
    check("the umask is kept", modes == ["0o600", "0o644"], modes)
    check("nothing is left over", not parts(), parts())


def devices():
    done = ricci('print("a"); write("/dev/stdout", "b\\n"); print("c"); write("/dev/null", "x")')
    check("/dev/stdout into a pipe", done.stdout == "a\nb\nc\n", done)
    with open("out", "w") as out:
        subprocess.run([RICCI, "-e", 'print("a"); write("/dev/stdout", "b\\n"); write("/dev/fd/1", "c\\n", append=true); '
                        'print("d")'], stdout=out)
    check("/dev/stdout into a file", text("out") == "a\nb\nc\nd\n", text("out"))
    check("/dev/null is still a device", not os.path.isfile("/dev/null"))
    done = ricci('write("/dev/full", "x")')
    check("a full device is an error", done.returncode == 1 and "No space left" in done.stderr, done.stderr)
    os.mkfifo("pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append(text("pipe")))
    reader.start()
    ricci('write("pipe", "through")')
    reader.join(20)
    check("a named pipe is written into", got == ["through"], got)
    ricci('write("log", "1\\n", append=true); write("log", "2\\n", append=true)')
    check("append", text("log") == "1\n2\n")


# ---- no room ----

def no_room():
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    put("kept")
    ricci('save("kept.npy", [1, 2])')
    old = open("kept.npy", "rb").read()
    long = "t = \"\"; for i in 0:12 { t = t + t + \"0123456789\" }; "
    done = ricci(long + 'write("kept", t)', limit)
    check("write() beyond a limit", done.returncode == 1 and "File too large" in done.stderr and text("kept") == "old", done)
    done = ricci('save("kept.npy", ones(4000))', limit)
    check("save() beyond a limit", done.returncode == 1 and "File too large" in done.stderr and
          open("kept.npy", "rb").read() == old, done)
    done = ricci('print(ones(4000)); profile to "kept" { x = 1 }', limit)
    check("other output is not touched by it", done.returncode == 0, done)
    check("nothing is left of what failed", not parts(), parts())
    mounted = ("mount -t tmpfs -o size=64k none full && cp kept.npy full/a.npy && cd full && "
               "%s -e 'save(\"a.npy\", ones(20000))'; s=$?; ls; cmp a.npy ../kept.npy && exit $s" % RICCI)
    os.mkdir("full")
    if subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", "full"], capture_output=True).returncode == 0:
        done = subprocess.run(["unshare", "-rm", "sh", "-c", mounted], capture_output=True, text=True)
        check("a full disk", done.returncode == 1 and "No space left" in done.stderr and done.stdout == "a.npy\n", done)


# ---- killed, stopped ----

def begun():
    """Is there a part with something in it? An empty one may not be locked yet: who sweeps it away does
    no harm, its writer makes another."""
    return any(os.path.getsize(name) for name in parts())


def caught_writing(code):
    """A process that was stopped while it writes, with its part; or None."""
    for _ in range(20):
        process = subprocess.Popen([RICCI, "-e", code], stderr=subprocess.DEVNULL)
        while process.poll() is None:
            try:
                if begun():
                    os.kill(process.pid, signal.SIGSTOP)
                    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
                    if begun():
                        return process
                    break
            except FileNotFoundError:         # it has its name by now
                pass
            time.sleep(0.0002)
        process.kill()
        process.wait()
        for name in parts():
            os.remove(name)
    return None


def killed():
    ricci('save("big.npy", [1])')
    old = open("big.npy", "rb").read()
    code = 'x = zeros(4000000); for i in 0:1000 { save("big.npy", x) }'
    process = caught_writing(code)
    check("a writer was caught", process is not None)
    if not process:
        return
    kept = open("big.npy", "rb").read()
    check("the file is the old one or the new one", kept == old or len(kept) == 32000128, len(kept))
    mine = parts()
    ricci('write("other", "x")')
    check("what a living process writes is left alone", parts() == mine, parts())
    process.kill()
    process.wait()
    names = ["x.123-0.part", "x.part", "y.ricci-12.part", "y.ricci-12-ABCDEFGH.part", "y.ricci--abcdefgh.part"]
    for name in names:
        put(name)
    os.symlink("other", "z.ricci-12-abcdefgh.part")
    ricci('write("other", "y")')
    names.append("z.ricci-12-abcdefgh.part")
    check("what a dead one left is removed, and nothing else", sorted(parts()) == sorted(names), parts())
    for name in names:
        os.remove(name)


def many_at_once():
    code = 'for i in 0:60 { save("same.npy", ones(1000) * %d) }'
    runs = [subprocess.Popen([RICCI, "-e", code % i], stderr=subprocess.PIPE, text=True) for i in range(4)]
    errors = [run.communicate()[1] for run in runs]
    check("writers of one file do not disturb each other", errors == [""] * 4, errors)
    check("the file is one of theirs", ricci('x = load("same.npy"); print(all(x == x[0]))').stdout == "true\n")
    check("and nothing else is there", not parts(), parts())


# ---- descriptors ----

def descriptors():
    put("bad.npy", "\x93NUMPY no")
    put("bad.json", "{")
    put("bad.csv", "a,b\n1")
    limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))
    for code in ['load("bad.npy")', 'load("missing.csv")', 'load("sub")', 'read("sub")', 'read("bad.npy")', 'lines("no")',
                 'write("sub", "x")', 'write("no/x", "x")', 'write("/dev/full", "x")', 'save("loop", [1])',
                 'save("x.nothing", [1])', 'write("/dev/full", "x", append=true)', 'save("no/x.npz", (a: [1]))',
                 'load("bad.safetensors")', 'profile to "no/x" { y = 1 }', 'plot([1, 2], to="no/x.png")']:
        done = ricci('for i in 0:60 { try { %s } catch e { } }; write("fine", "x"); print(read("fine"))' % code, limit)
        check("descriptors after " + code, done.stdout.endswith("x\n"), done)


# ---- closed pipes ----

def closed(args, stderr=False, stdin=None):
    """Runs it with a stdout (and stderr) that nobody reads."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([RICCI] + args, stdout=write, stderr=write if stderr else subprocess.PIPE, timeout=60,
                          text=True, input=stdin)
    os.close(write)
    return 141 if done.returncode == -signal.SIGPIPE else done.returncode, done.stderr    # as a shell has it


def pipes():
    put("t.ric", 'test "a" { assert false }\ntest "b" { assert true }\n')
    put("good.ric", 'test "b" { assert true }\n')
    put("t.md", "```ricci\nprint(1)\n```\n")
    many = "for i in 0:100000 { print(i) }"
    silent = [["-e", many], ["-e", "print(1)"], ["-e", "print(1); exit(0)"], ["-e", "print(1); exit(3)"], ["-p", "1"],
              ["-e", "for i in 0:30000 { try { print(i) } catch e { } }"], ["doc", "sin"], ["doc", "--all"], ["--help"],
              ["fmt", "t.ric"], ["fmt", "--check", "form.ric", "t.ric"], ["test", "-v", "good.ric"], ["doctest", "t.md"],
              ["--explain"], ["--version"], ["test", "--list", "t.ric"]]
    for args in silent:
        got = closed(args)
        want = 0 if args[1:2] == ["--check"] else 141
        check("closed stdout: " + " ".join(args)[:50], got == (want, ""), got)
        got = closed(args, stderr=True)
        check("closed stdout and stderr: " + " ".join(args)[:50], got[0] == want, got)
    for args in [["-e", "bad + 1"], ["-e", 'warn("x"); for i in 0:100 { s = i }; save("not_made.csv", [1])'], ["test", "t.ric"],
                 ["fmt", "no.ric"], ["doc", "nothing_of_that_name"], ["--no-such-option"], ["-i", "-e", "1 +"]]:
        got = closed(args, stderr=True)
        check("closed stderr: " + " ".join(args)[:50], got[0] == 141, got)
    check("a notice that nobody reads ends the program", not os.path.exists("not_made.csv"))
    shell = subprocess.run("%s -e '%s' | head -1; echo ${PIPESTATUS[*]}" % (RICCI, many), shell=True, executable="/bin/bash",
                           capture_output=True, text=True)
    check("| head -1", shell.stdout == "0\n141 0\n" and not shell.stderr, shell)
    child = 'extern "libc.so.6" { int system(const char *); }\nsystem("yes | head -1")'
    done = ricci(child)
    check("programs that C starts have SIGPIPE's own action", done.stdout == "y\n" and not done.stderr, done)


def standard_streams():
    for close in (0, 1, 2):
        done = ricci('write("taken", "whole"); print("never"); print(read("taken"))', lambda: os.close(close))
        check("without descriptor %d" % close, text("taken") == "whole", text("taken"))


# ---- pieces of a table ----

def table_pieces():
    """rows= goes on where the last piece of a large file ended, as long as it is the same file."""
    rows = ["%d,word %d" % (k, k % 7) for k in range(150000)]
    put("big.csv", "k,w\n" + "\n".join(rows) + "\n")
    time.sleep(3.2)                          # a file that is a moment old is not trusted to stay
    loop = ("s = 0; a = 0; while true { t = load(\"big.csv\", columns=true, rows=a:a + 20000); if len(t.k) == 0 { break }; "
            "assert t.k[0] == a and t.w[1] == \"word {(a + 1) % 7}\"; s += sum(t.k); a += 20000 }; print(s); ")
    more = "print(load(\"big.csv\", select=\"k\", rows=70000:70001)[0, 0], load(\"big.csv\", select=\"k\", rows=20000:20001)[0, 0])"
    done = ricci(loop + more)
    check("pieces in a loop and out of order", done.stdout == "%d\n70000.0 20000.0\n" % sum(range(150000)), done)
    other = ("x = load(\"big.csv\", select=\"k\", rows=0:1000); y = read(\"big.csv\"); "
             "write(\"big.csv\", replace(y, \"word\", \"wo\")); print(load(\"big.csv\", columns=true, rows=1000:1001))")
    done = ricci(other)
    check("a file that was written anew", done.stdout == '(k=[1000], w=("wo 6",))\n', done)
    few = "for k in 0:50 { x = load(\"big.csv\", select=\"k\", rows=0:10) }"
    check("the first rows of a file", ricci(few).returncode == 0)


def main():
    os.umask(0o022)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for test in (links, devices, no_room, killed, many_at_once, descriptors, pipes, standard_streams, table_pieces):
            test()
        os.chdir("/")
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
