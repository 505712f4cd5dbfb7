#!/usr/bin/env python3
"""Programs, files and documents of strangers that try to get out of --safe, to take more than they
are given, or to crash what reads them. Each has to end as it says here: an error that names what
refused it, never a signal, nothing of the secret printed, nothing written outside, no temporary
folder left behind. RICCI names the binary; words on the command line choose groups."""
import concurrent.futures
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
RICCI = os.path.abspath(os.environ.get("RICCI", os.path.join(HERE, "../../build/ricci")))
SECRET = "the-secret-of-the-house"
work = os.path.realpath(tempfile.mkdtemp(prefix="ricci-attack."))
tmp, inside, outside = (os.path.join(work, name) for name in ("tmp", "program", "house"))
environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C.UTF-8", "TERM": "dumb", "TMPDIR": tmp,
               "HOME": outside, "SECRET": SECRET, "RICCI_PATH": outside, "RICCI_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
for name in ("LD_LIBRARY_PATH", "RICCI_ISA", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
    if name in os.environ:
        environment[name] = os.environ[name]
passed = failed = 0
SANITIZED = b"__asan_init" in open(RICCI, "rb").read()


def check(name, good, detail=""):
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print(f"FAIL {name}\n    " + str(detail)[:1200].replace("\n", "\n    "), flush=True)


class Run:
    """One run of the program: its status (negative: a signal), text, seconds and peak memory."""

    def __init__(self, *words, stdin="", cwd=None, env=None, seconds=40, stdout=None):
        start = time.monotonic()
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            given.write(stdin.encode())
            given.seek(0)
            child = subprocess.Popen([RICCI, *words], stdin=given, stdout=stdout or out, stderr=err, cwd=cwd or inside,
                                     env={**environment, **(env or {})}, start_new_session=True)
            late = threading.Timer(seconds, lambda: os.killpg(child.pid, signal.SIGKILL))
            late.start()
            _, status, used = os.wait4(child.pid, 0)
            late.cancel()
            child.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            err.seek(0)
            self.out, self.err = (f.read(1 << 20).decode("utf-8", "replace") for f in (out, err))
        self.seconds, self.peak = time.monotonic() - start, used.ru_maxrss
        self.status = child.returncode

    def text(self):
        return f"exit {self.status} after {self.seconds:.1f} s\n{self.out[-500:]}\n{self.err[-700:]}"

    def clean(self):
        """No signal (but Ctrl-C and the like count as statuses), no sanitizer's report, no secret."""
        return (0 <= self.status < 128 and SECRET not in self.out + self.err and "Sanitizer" not in self.err
                and "runtime error" not in self.err and "\x1b" not in self.out + self.err)


def beside(cases, one):
    """Calls one(case) for each of them, as many at a time as there are processors."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for _ in pool.map(one, cases):
            pass


def lay_out():
    for folder in (tmp, inside, outside):
        os.makedirs(folder)
    put(outside, "secret.txt", SECRET + "\n")
    put(outside, "secret.csv", "1,2\n" + SECRET + ",3\n")
    put(outside, "stranger.ric", f'word = "{SECRET}"\n')
    put(inside, "own.txt", "own\n")
    put(inside, "own.ric", "two = 2\n")
    put(inside, "own.csv", "a,b\n1,2\n")
    os.makedirs(os.path.join(inside, "sub"))
    put(inside, "sub/part.ric", "three = 3\n")
    for link, target in (("near.txt", "own.txt"), ("up.txt", "../house/secret.txt"), ("far.txt", f"{outside}/secret.txt"),
                         ("up.csv", "../house/secret.csv"), ("up.ric", "../house/stranger.ric"), ("house", "../house"),
                         ("root", "/proc/self/root"), ("environ", "/proc/self/environ"), ("self", "/proc/self"), ("loop", "loop")):
        os.symlink(target, os.path.join(inside, link))
    os.link(os.path.join(outside, "secret.txt"), os.path.join(inside, "hard.txt"))
    os.mkfifo(os.path.join(inside, "pipe"))


def put(folder, name, data):
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())


def nothing_left(name):
    left = os.listdir(tmp)
    check(f"{name}: the temporary folder is gone", left == [], left)
    for entry in left:
        shutil.rmtree(os.path.join(tmp, entry), ignore_errors=True)


def untouched():
    with open(os.path.join(outside, "secret.txt"), encoding="utf-8") as f:
        check("the house is untouched", f.read() == SECRET + "\n" and len(os.listdir(outside)) == 3, os.listdir(outside))
    with open(os.path.join(inside, "own.txt"), encoding="utf-8") as f:
        check("the program's folder is untouched", f.read() == "own\n")


# ---- what reaches out ----
REFUSED = [
    # native code
    'extern "libc.so.6" { int system(const char *c); }\nsystem("touch " + "stolen")',
    'extern "libc.so.6" { int fork(void); }\nwhile true { fork() }',
    'extern "libc.so.6" { int kill(int p, int s); int getppid(void); }\nkill(getppid(), 9)',
    'extern "libc.so.6" as c { int system(const char *c); }',
    'extern "" { int system(const char *c); }', 'extern "./own.so" { int f(void); }', 'extern "m" { double cbrt(double x); }',
    'extern "libc.so.6" { struct t { int x; }; }', 'fn f() { extern "libc.so.6" { int getpid(void); }\n getpid() }\nf()',
    'if true { extern "c" { int getpid(void); } }', 'ptr([1.0, 2.0])', 'p = ptr\np([1.0])', 'map(ptr, ([1.0], [2.0]))',
    'as_tensor(null, f64, 3)', '[1.0] |> ptr()',
    # the environment
    'env("SECRET")', 'print("{env("SECRET")}")', 'e = env\nprint(e("SECRET"))', 'print(map(env, ("SECRET", "HOME")))',
    '"SECRET" |> env()', 'fn f(g) { g("SECRET") }\nprint(f(env))', 'precision f32 { print(env("SECRET")) }',
    'print(env(name="SECRET", default="x"))', 'on sim.mps { print(env("SECRET")) }',
    # reading
    *(f'print({row}("{path}"))' for row in ("read", "lines", "load") for path in (
        f"{outside}/secret.csv", "../house/secret.csv", "sub/../../house/secret.csv", "up.csv", "house/secret.csv", "house/none.csv",
        f"{outside}/none.csv", "/proc/self/environ.csv")),
    *(f'print(read("{path}"))' for path in (
        "/etc/passwd", "/proc/self/environ", "/proc/self/mem", "/proc/self/maps", "/proc/self/root/etc/passwd", "/proc/self/fd/0",
        "/proc/self/cwd/own.txt", "/proc/1/environ", "/dev/stdin", "/dev/fd/0", "/dev/zero", "/dev/random", "/dev/tty", "//etc/passwd",
        "up.txt", "far.txt", "root/etc/passwd", "self/environ", "environ", "loop", "pipe", "./././../house/secret.txt", "..",
        "/", "../program/../house/secret.txt", "house/../house/secret.txt")),
    # importing
    'import "../house/stranger.ric" as s\nprint(s.word)', f'import "{outside}/stranger.ric" as s\nprint(s.word)',
    'import "up.ric" as s\nprint(s.word)', 'import "house/stranger.ric" as s\nprint(s.word)', 'import stranger\nprint(stranger.word)',
    'import word from stranger\nprint(word)', 'import "/etc/passwd" as p', 'import "/no/such/file.ric" as p', 'import "../none.ric" as n',
    # writing
    *(f'save("{path}", [1.0, 2; 3, 4])' for path in ("stolen.npy", "../house/stolen.npy", f"{outside}/stolen.csv", "house/stolen.npz",
                                                 "/etc/stolen.mtx", "stolen.mtx", "own.csv", "up.csv", "/dev/null.csv")),
    'save("stolen.safetensors", (a=[1.0],))', f'write("{outside}/stolen.txt", "x")', 'write("stolen.txt", "x")', 'write("own.txt", "x")',
    'write("up.txt", "x")', 'write("hard.txt", "x", append=true)', 'write("own.txt", "x", append=true)', 'write("/dev/tty", "x")',
    'write("/proc/self/oom_score_adj", "1000")', 'write("/proc/self/mem", "x")', 'write("/dev/stdout", "x")',
    'write(tempdir() + "/../stolen.txt", "x")', 'write(tempdir() + "x", "x")', 'write(tempdir() + "/./../../house/stolen.txt", "x")',
    *(f'{row}([1.0, 2; 3, 4], to="{path}")' for row in ("plot", "heat", "spy", "contour") for path in (
        "/etc/stolen.svg", "stolen.png", "../house/stolen.pdf", f"{outside}/stolen.svg")),
    'hist([1.0, 2], to="/etc/stolen.svg")', 'scatter([1.0, 2], [3.0, 4], to="stolen.svg")',
    'profile to "stolen.json" { x = [1.0, 2] + 1 }', f'profile to "{outside}/stolen.json" {{ x = 1 }}',
    'profile to "/dev/null" { x = 1 }',
]


def out_of_the_fence():
    def refused(program):
        run = Run("--safe", "-e", program)
        check(f"refused: {program!r}", run.status == 1 and "error[io]" in run.err and "--safe" in run.err and run.clean(), run.text())

    beside(REFUSED, refused)
    nothing_left("refused programs")
    # catching it gets nobody out, and whether a file is there stays unknown
    tries = "\n".join(f'try {{ read("{p}") }} catch e {{ m = replace(e.message, "{p}", "X")\n if m != said {{ said = m\n n += 1 }} }}' for p in (
        f"{outside}/secret.txt", f"{outside}/none.txt", "../house/secret.txt", "../house/none", "house/secret.txt", "house/none",
        "up.txt", "/etc/shadow", "/etc/none/at/all"))
    run = Run("--safe", "-e", f'said = ""\nn = 0\n{tries}\nprint(n)')
    check("there or not: one answer", run.out == "1\n" and run.clean(), run.text())
    for how in ({"RICCI_SAFE": "1"}, {"RICCI_SAFE": "yes"}):
        run = Run("-e", 'env("SECRET")', env=how)
        check("RICCI_SAFE", run.status == 1 and "RICCI_SAFE keeps" in run.err, run.text())
    for how in ({"RICCI_SAFE": "0"}, {"RICCI_SAFE": ""}, {}):
        run = Run("-e", 'print(len(env("SECRET")))', env=how)
        check("no RICCI_SAFE", run.status == 0, run.text())
    for device in ("gpu", "cuda", "opencl"):
        run = Run("--safe", "-e", f"on {device} {{ x = [1.0] + 1 }}")
        check(f"no driver: {device}", run.status == 1 and "error[device]" in run.err and "--safe" in run.err, run.text())
    shutil.copy("/bin/true" if os.path.exists("/bin/true") else RICCI, os.path.join(inside, "own.so"))
    run = Run("--safe", "-e", 'import "own.so" as o')
    check("import of a library", run.status == 1 and run.clean(), run.text())
    untouched()


def files_of_a_program():
    """Where the program's folder is, for each way to run one."""
    put(inside, "main.ric", 'import own\nimport "sub/part.ric" as part\nprint(own.two, part.three, read("own.txt"), end="")\n'
        'print(load("own.csv"))\nprint(read("near.txt"), end="")\n')
    want = "2 3 own\n[1.0  2.0]\nown\n"
    for cwd, path in ((inside, "main.ric"), (work, "program/main.ric"), (outside, f"{inside}/main.ric"), (work, "./program/../program/main.ric"),
                      (tmp, "../program/main.ric"), ("/", f"{inside}/main.ric")):
        run = Run("--safe", path, cwd=cwd)
        check(f"its own folder: {path} in {cwd}", run.status == 0 and run.out.split() == want.split(), run.text())
    os.symlink("program", os.path.join(work, "alias"))
    run = Run("--safe", "alias/main.ric", cwd=work)
    check("its own folder by a link", run.status == 0 and run.out.split() == want.split(), run.text())
    put(inside, "nosy.ric", 'print(read("secret.txt"))\n')
    run = Run("--safe", f"{inside}/nosy.ric", cwd=outside)
    check("the current folder is not its own", run.status == 1 and run.clean(), run.text())
    run = Run("--safe", "-", stdin='print(read("own.txt"), end="")')
    check("standard input", run.status == 0 and run.out == "own\n", run.text())
    put(inside, "tests.ric", 'import own\ntest "in" { assert read("own.txt") == "own\\n" and own.two == 2 }\ntest "out" { read("../house/secret.txt") }\n'
        'test "temporary" { write(tempdir() + "/t", "x") }\n')
    os.makedirs(os.path.join(work, "tests"))
    for name in ("own.ric", "own.txt", "tests.ric"):
        shutil.copy(os.path.join(inside, name), os.path.join(work, "tests", name))
    for words, cwd in ((["tests.ric"], inside), (["tests"], work), ([f"{inside}/tests.ric"], outside)):
        run = Run("--safe", "test", *words, cwd=cwd)
        check(f"test {words}", run.status == 1 and "2 passed, 1 failed" in run.out and "--safe" in run.err and run.clean(), run.text())
    run = Run("--safe", "-e", 'p = tempdir()\nassert p == tempdir()\nsave(p + "/a.npz", (x=[1, 2], y=3))\nprint(load(p + "/a.npz").x)\n'
              'write(p + "/t", "1\\n"); write(p + "/t", "2\\n", append=true); print(lines(p + "/t"))\n'
              'plot([1, 2], to=p + "/p.svg"); plot([1, 2], to=p + "/p.png"); profile to p + "/t.json" { x = [1.0] + 1 }\nprint(len(read(p + "/p.svg")) > 0)')
    check("tempdir()", run.status == 0 and run.out.startswith('[1, 2]\n("1", "2")\n') and "true" in run.out, run.text())
    nothing_left("programs with files")
    untouched()


def turning_links():
    """A link is turned from inside to outside and back while the program reads."""
    stop = threading.Event()
    link, other = os.path.join(inside, "turning"), os.path.join(inside, ".turning")

    def turn():
        while not stop.is_set():
            for target in ("own.txt", "../house/secret.txt"):
                os.symlink(target, other)
                os.rename(other, link)
    thread = threading.Thread(target=turn)
    thread.start()
    run = Run("--safe", "-e", 'own = 0\nrefused = 0\nfor i in 0:20000 {\n try { t = read("turning"); if t == "own\\n" { own += 1 } else { print(t) } } catch e { refused += 1 }\n}\n'
              'print(own + refused)', seconds=60)
    stop.set()
    thread.join()
    os.unlink(link)
    check("a link that turns", run.status == 0 and run.out == "20000\n" and run.clean(), run.text())
    untouched()


# ---- what takes too much ----
GREEDY = {
    "a tensor": "x = ones(10000, 10000, 10)", "tensors": "t = ()\nwhile true { t = append(t, ones(1000, 100)) }",
    "a string": 's = "x"\nwhile true { s = s + s }', "strings": 't = ()\nwhile true { t = append(t, "text {len(t)}") }',
    "a tuple": "t = (1,)\nwhile true { t = t + t }", "nested tuples": "t = ()\nwhile true { t = (t, [1.0, 2.0], \"x\") }",
    "small tuples": "t = ()\nwhile true { t = append(t, (1, 2)) }", "small strings": 't = ()\nfor i in 0:100000000 { t = append(t, string(i)) }',
    "closures": "f = () -> 1\nwhile true { g = f\n f = x -> (g, x) }", "recursion": "fn f(n) { f(n + 1) + 1 }\nf(0)",
    "rationals": "x = rational(3)\nwhile true { x = x * x }", "many rationals": "precision rational { A = [1/(i+j+1) for i in 0:100, j in 0:100]\n while true { A = concat(A, A) * 3 } }",
    "long floats": "precision mp(1000000) { x = ones(100000) / 3 }", "decimals": "precision decimal(300000) { x = ones(1000) / 3\n y = outer(x, x) }",
    "einsum": 'einsum("i,j,k->ijk", ones(2000), ones(2000), ones(2000))', "einsum's middle": 'einsum("ij,kl,mn->", ones(9000, 9000), ones(2, 2), ones(3, 3))',
    "index notation": "a = ones(3000)\nC[i,j,k] := a[i] * a[j] * a[k]", "outer": "x = ones(100000)\nouter(x, x)", "comprehension": "x = [i * j for i in 0:100000, j in 0:100000]",
    "repeat": 'repeat([1.0, 2.0], 1000000000)', "tile": "tile(ones(1000), 10000000)",
    "broadcast": "x = broadcast_to([1.0], (100000, 100000)) + 1", "eye": "eye(100000)", "randn": "randn(100000, 100000)", "diag": "diag(ones(100000))",
    "kron": "kron(ones(1000, 1000), ones(1000, 1000))", "conv": "conv(ones(100000000), ones(100000000))", "fft": "fft(ones(100000000))", "pad": "pad([1.0], 1000000000)",
    "join": 't = ("abcdefgh", "abcdefgh")\nwhile true { t = (join(t, "x"), join(t, "y")) }', "replace": 's = "x"\nwhile true { s = replace(s, "x", "xxxxxxxxxx") }',
    "format": 'format(1.5, "1000000000000d")', "wide": 'print(format(1.5, "2000000000.3f"))', "split": 's = "a,"\nfor i in 0:40 { s = s + s }\nsplit(s, ",")',
    "names": 't = (x=1)\nfor i in 0:100000000 { t["f{i}"] = i }', "devices": "on sim.mps { x = zeros(100000, 100000) }", "power": "precision rational { x = 7^(10^9) }",
    "print": "print(ones(100000, 100000))", "repr": "repr(ones(40000000))", "lu": "lu(ones(20000, 20000))",
}
LIMITS = "memory=2e8,seconds=4,file=1e6"


def takes_too_much():
    def greedy(case):
        name, program = case
        run = Run("--safe", "--limit", LIMITS, "-e", program, seconds=60)
        told = any(word in run.err for word in ("error[memory]", "--limit", "error[value]", "error[shape]"))
        check(f"greedy: {name}", run.status == 1 and told and run.clean(), run.text())
        check(f"greedy: {name}: memory", SANITIZED or run.peak < 500_000, f"{run.peak} KiB")
        check(f"greedy: {name}: time", SANITIZED or run.seconds < 20, run.text())
        if os.environ.get("TIMES"):
            print(f"{run.seconds:6.2f} s {run.peak:8} KiB {name}")

    beside(GREEDY.items(), greedy)
    nothing_left("greedy programs")
    endless = {"loop": "while true { }", "for": "for i in 0:1000000000000 { x = sin(i) }", "catching": "while true { try { while true { } } catch e { x = e } }",
               "calls": "fn f() { for i in 0:1000000000000 { sin(i) } }\nf()", "rational": "precision rational { for i in 0:100000000 { x = i / 3 } }",
               "sorting": "while true { sort(rand(1000000)) }", "products": "x = rand(1000, 1000)\nwhile true { x @ x }", "eig": "eig(rand(2500, 2500))",
               "output": 'while true { print("x") }', "errors": 'while true { try { throw "x" } catch e { } }', "elements": 'fn f(k) { for j in 0:100 { }\n k }\nx = [f(k) for k in 0:100000000]',
               "notices": 'i = 0\nwhile true { i += 1\n warn("w{i}") }', "norms": "norm(broadcast_to([0.1], 100000000000))", "norms of columns": "norm(broadcast_to([0.1], (10000000000, 300)), 1, axis=0)",
               "norms of a power": "norm(broadcast_to([0.1], 100000000000), 3)", "temporary files": 'i = 0\nwhile true { write(tempdir() + "/f", "x") }'}

    def runs_on(case):
        name, program = case
        run = Run("--safe", "--limit", "seconds=1", "-e", program, seconds=60, stdout=subprocess.DEVNULL)
        check(f"endless: {name}", run.status == 1 and "--limit seconds=1" in run.err and run.clean() and (SANITIZED or run.seconds < 12), run.text())

    beside(endless.items(), runs_on)
    run = Run("--limit", "seconds=0.5", "-e", "while true { }")
    check("a limit without --safe", run.status == 1 and "--limit seconds=0.5" in run.err and run.seconds < 10, run.text())
    run = Run("--limit", "memory=1e8", "-e", "ones(100000000)")
    check("memory without --safe", run.status == 1 and "error[memory]" in run.err and "--limit memory=1e8" in run.err, run.text())
    nothing_left("endless programs")


def writes_too_much():
    writers = {
            "one file": 'save(tempdir() + "/x.npy", ones(1000000))', "text": 'write(tempdir() + "/x", join(map(i -> "0123456789", 0:1000000), ""))',
            "many": 't = join(map(i -> "0123456789", 0:2000), "")\nfor i in 0:100 { write(tempdir() + "/x{i}", t) }',
            "appending": 't = join(map(i -> "0123456789", 0:2000), "")\nwhile true { write(tempdir() + "/x", t, append=true) }',
            "again": 'while true { save(tempdir() + "/x.csv", ones(10000)) }',
            "csv": 'save(tempdir() + "/x.csv", ones(1000000))', "npz": 'save(tempdir() + "/x.npz", (a=ones(1000000), b=1))',
            "sparse": 'save(tempdir() + "/x.npy", broadcast_to([0.0], 1000000))'}

    def one(case):
        name, program = case
        run = Run("--safe", "--limit", "file=1e6,seconds=20", "-e", program)
        check(f"files: {name}", run.status == 1 and "--limit file=1e6" in run.err and "error[io]" in run.err and run.clean(), run.text())

    beside(writers.items(), one)
    with open(os.path.join(tmp, "out"), "wb") as f:
        run = Run("--safe", "--limit", "file=1e5", "-e", 'while true { print("0123456789") }', stdout=f)
    size = os.path.getsize(os.path.join(tmp, "out"))
    check("output into a file", run.status == 1 and "--limit file=1e5" in run.err and size <= 100000, f"{size}\n{run.text()}")
    os.unlink(os.path.join(tmp, "out"))
    run = Run("--limit", "file=1e5", "-e", f'save("{tmp}/x.npy", ones(100000))')
    check("files without --safe", run.status == 1 and "--limit file=1e5" in run.err and os.listdir(tmp) == [], run.text())
    nothing_left("writers")


# ---- hostile files ----
def npy(descr, shape, data=b""):
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * ((64 - (len(head) + 11) % 64) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


def safetensors(header):
    return struct.pack("<Q", len(header)) + header.encode()


def hostile_files():
    with zipfile.ZipFile(os.path.join(inside, "bomb.npz"), "w", zipfile.ZIP_DEFLATED, compresslevel=1) as z:
        with z.open("a.npy", "w") as f:
            f.write(npy("<f8", (240 << 17,)))
            for _ in range(240):
                f.write(b"\0" * (1 << 20))
    with zipfile.ZipFile(os.path.join(inside, "names.npz"), "w") as z:
        z.writestr("../../house/stolen.npy", npy("<f8", (1,), b"\0" * 8))
        z.writestr("\x1b]0;title\x07.npy", npy("<f8", (2,), b"\0" * 8))
    files = {
        "huge.npy": npy("<f8", (1 << 62, 16)), "product.npy": npy("<f8", (274177, 67280421310721)), "negative.npy": npy("<f8", (-1, 4), b"\0" * 32),
        "object.npy": npy("|O", (1,), b"\x80\x04."), "short.npy": npy("<f8", (100,), b"\0" * 16), "head.npy": b"\x93NUMPY\x02\x00\xff\xff\xff\xff{",
        "deep.npy": npy("<f8", "(" * 5000 + ")" * 5000), "empty.npy": b"", "zip.npz": b"PK\x03\x04" + b"\xff" * 60, "none.npz": b"",
        "huge.mtx": "%%MatrixMarket matrix coordinate real general\n4000000000 4000000000 1\n1 1 1.0\n",
        "lies.mtx": "%%MatrixMarket matrix coordinate real general\n2 2 99999999999\n1 1 1.0\n", "array.mtx": "%%MatrixMarket matrix array real general\n99999999 99999999\n1\n",
        "long.csv": "1," * 1000000, "ragged.csv": "1,2\n3\n4,5,6\n", "quote.csv": '"' + "x" * 100000, "nul.csv": b"1,2\0\n3,4\n", "esc.csv": "a\x1b]0;x\x07,b\n1,x\x1b[2J\n",
        "length.safetensors": struct.pack("<Q", 1 << 63) + b"{}", "overlap.safetensors": safetensors('{"a":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}}'),
        "shape.safetensors": safetensors('{"a":{"dtype":"F64","shape":[4294967296,4294967296,16],"data_offsets":[0,0]}}'),
        "deep.safetensors": safetensors('{"a":' * 20000), "esc.safetensors": safetensors('{"a\\u001b[2J":{"dtype":"X\\u001b","shape":[1],"data_offsets":[0,8]}}') + b"\0" * 8,
    }
    for name, data in files.items():
        put(inside, name, data)
    def one(name):
        run = Run("--safe", "--limit", LIMITS, "-e", f'x = load("{name}")\nprint(type(x))')
        check(f"hostile file: {name}", run.status in (0, 1) and (run.status == 0 or "error[" in run.err) and run.clean(), run.text())

    beside([*files, "bomb.npz", "names.npz"], one)
    run = Run("--safe", "-e", 'print(read("own\\u{1b}[2J.txt"))')
    check("ESC in a path", run.status == 1 and run.clean(), repr(run.err))
    nothing_left("hostile files")


# ---- texts that no person writes ----
def deep_nesting():
    n = 200000
    texts = {"parentheses": "(" * n + "1" + ")" * n, "brackets": "[" * n + "]" * n, "minus": "x = 1\ny = " + "-" * n + "x", "not": "x = true\ny = " + "not " * n + "x", "power": "x = 2.0\ny = " + "x^" * n + "1",
             "blocks": "if true {" * n + "}" * n, "lambdas": "f = " + "x -> " * n + "1", "calls": "f = x -> x\n" + "f(" * n + "1" + ")" * n, "fields": "x = (a=1)\nx" + ".a" * n,
             "transposes": "A = [1.0, 2]\nB = A" + "'" * n, "interpolation": '"{' * 20000, "terms": "x = " + " + ".join(["1"] * n), "indices": "A = [1.0, 2]\nA" + "[0]" * n,
             "else": "if false { 1 }" + " else if false { 1 }" * n, "unclosed": "(" * n, "strings": '"' * n, "names": "x" * 5000000 + " = 1", "number": "x = " + "9" * 1000000,
             "bytes": "\x00\x01\x02\xff" * 1000, "comment": "#" * 1000000, "comprehension": "[" * 5000 + "i for i in 0:2" + "]" * 5000, "escape": "x = 1 \x1b[2J\x07 y",
             "cdecl": 'extern "c" { int ' + "(*" * n + "f" + ")" * n + "; }", "tests": 'test "' + "x" * 100000 + '" { }', "precision": "precision f32 {" * 20000 + "}" * 20000}

    def one(case):
        name, text = case
        put(inside, f"deep {name}.ric", text)
        run = Run("--safe", "--limit", "memory=1e9,seconds=20", f"deep {name}.ric", seconds=60)
        check(f"deep: {name}", run.status in (0, 1) and (run.status == 0 or "error[" in run.err or "--limit" in run.err) and run.clean(), run.text())

    beside(texts.items(), one)
    nothing_left("deep programs")


# ---- shapes at the edge of 64 bits ----
SHAPES = [
    'b = broadcast_to([1.0], (274177, 67280421310721))\nprint(sum(b))', 'b = broadcast_to([1.0], (274177, 67280421310721))\nz = roll(b, 1)\nz[0, 100] = 5.0\nprint(z[0, 100])',
    'print(bits(broadcast_to([1.0], (274177, 67280421310721))))', 'print(broadcast_to([1.0], (274177, 67280421310721)))', 'print(take(broadcast_to([1.0], (274177, 67280421310721)), [0, 5]))',
    *(f'save(tempdir() + "/x.{kind}", broadcast_to([1.0], (274177, 67280421310721)))' for kind in ("csv", "mtx", "npy", "npz")),
    'meshgrid(broadcast_to([1.0], 2^40), broadcast_to([1.0], 2^40))', 'print(any(broadcast_to([true], (2^40, 2^40))))', 'print(argmax(broadcast_to([1.0], (2^32, 2^32))))',
    'print(mean(broadcast_to([1.0], (2^31, 2^31, 4))))', 'b = broadcast_to([1.0], 2^62)\nprint(size(concat(b, b, b, b)))', 'take(broadcast_to([1.0], 2^62), [1, 2])',
    'print(einsum("i,j->", broadcast_to([1.0], 2^40), broadcast_to([1.0], 2^40)))', 'print(einsum("i->", broadcast_to([1], 2^62)))', 'zeros(2^32, 2^32)', 'ones(2^31, 2^31, 2^31)',
    'eye(2^33)', 'reshape(zeros(4), (2^33, 2^33))', 'reshape(broadcast_to([1.0], 2^40), (2^20, 2^20)) + 1', 'fft([1.0, 2], 2^62)', 'pad([1.0], 2^62)', 'tile([1.0, 2], 2^62)', 'repeat([1.0, 2], 2^62)',
    'arange(0, 2^62)', 'linspace(0, 1, 2^62)', 'randn(2^62)', 'sum[i in 0:2^62] 0 * i', 'x[i] := i * 1.0 for i in 0:2^61\nprint(x)', 'kron(broadcast_to([1.0], 2^32), broadcast_to([1.0], 2^32))',
    'outer(broadcast_to([1.0], 2^40), broadcast_to([1.0], 2^40))', 'flatten(broadcast_to([1.0], (2^31, 2^31)))', 'sort(broadcast_to([1.0], 2^60))', 'unique(broadcast_to([1.0], 2^60))', 'stack(broadcast_to([1.0], 2^62), broadcast_to([1.0], 2^62))',
    'A = zeros(0, 2^62)\nprint(shape(A), sum(A))', 'zeros(2^62, 2^62, 0)', 'conv(broadcast_to([1.0], 2^40), [1.0, 2])', 'cumsum(broadcast_to([1.0], 2^50))', 'broadcast_to([1.0], 2^63 - 1)', 'broadcast_to([1.0], (2^62, 2))',
    'expand(zeros(1), 0) |> broadcast_to((2^62, 4))', 'diag(broadcast_to([1.0], 2^33))', 'a = broadcast_to([1.0], 2^40)\na @ a', 'nonzero(broadcast_to([1.0], 2^45))', 'histogram(broadcast_to([1.0], 2^45))', 'bincount([2^62])',
    'on sim.mps { sum(broadcast_to(f32([1]), (274177, 67280421310721))) }', 'b = broadcast_to([1.0], (2^33, 2^33))\nb[0, 0] = 1', 'b = broadcast_to([1.0], 2^61)\nb == b', 'norm(broadcast_to([1.0], 2^61))',
]


def shapes():
    def one(program):
        run = Run("--safe", "--limit", "memory=5e8,seconds=3", "-e", program, seconds=60)
        told = run.status == 0 or any(f"error[{kind}]" in run.err for kind in ("memory", "shape", "value", "type", "index", "dtype", "device", "name")) or "--limit" in run.err
        check(f"shape: {program!r}", run.status in (0, 1) and told and run.clean(), run.text())

    beside(SHAPES, one)
    nothing_left("shapes")


# ---- documents ----
def block(kind, code, shows=None):
    return f"```{kind}\n{code}\n```\n" + (f"```text\n{shows}\n```\n" if shows is not None else "")


def documents():
    put(inside, "good.md", block("ricci", 'save("a.npy", [1, 2])\nprint(load("a.npy"), read("own.txt"), end="")', "[1, 2] own") +
        block("ricci", 'import own\nprint(own.two)\nwrite(tempdir() + "/t", "x"); print(read("t"))', "2\nx") + block("ricci", 'try { load("a.npy") } catch e { print(e.kind) }', "io") +
        block("session", "ricci> 1 + 1\n2"))
    run = Run("doctest", "good.md")
    check("a document of files", run.status == 0 and "4 passed, 0 failed" in run.out, run.text())
    run = Run("doctest", f"{inside}/good.md", cwd=outside)
    check("a document elsewhere", run.status == 0 and "4 passed" in run.out, run.text())
    run = Run("doctest", "--trust", "good.md")
    check("the same, trusted", run.status == 0 and "4 passed" in run.out, run.text())
    check("a document leaves nothing", not os.path.exists(os.path.join(inside, "a.npy")))
    bad = ['extern "libc.so.6" { int system(const char *c); }\nsystem("touch stolen")', 'print(env("SECRET"))', 'print(read("../house/secret.txt"))', f'write("{outside}/stolen", "x")',
           'write("../stolen", "x")', 'write("../../stolen", "x")', 'print(read("/etc/passwd"))', "x = ones(20000, 20000)"]
    put(inside, "bad.md", "".join(block("ricci", code) for code in bad) + block("session", 'ricci> !touch stolen\nricci> :save stolen.ric\nricci> :cd /\nricci> :load ../house/stranger.ric\n'))
    before = sorted(os.listdir(inside))
    run = Run("doctest", "bad.md")
    check("a document that reaches out", run.status == 1 and f"0 passed, {len(bad) + 1} failed" in run.out and "doctest without --trust" in run.out and run.clean(), run.text())
    with open(os.path.join(inside, "bad.md"), encoding="utf-8") as f:
        text = f.read()
    run = Run("doctest", "--fix", "bad.md")
    check("--fix does not take it", run.clean() and sorted(os.listdir(inside)) == before, run.text())
    put(inside, "bad.md", text)
    put(inside, "native.md", block("ricci", 'extern "libm.so.6" { double cbrt(double x); }\nprint(cbrt(27), len(env("SECRET")) > 0)', "3.0 true"))
    for words, good in ((["doctest", "native.md"], False), (["doctest", "--trust", "native.md"], True), (["--safe", "doctest", "native.md"], False)):
        run = Run(*words)
        check(f"{words}", (run.status == 0) == good, run.text())
    check("--safe with --trust", Run("--safe", "doctest", "--trust", "native.md").status == 2)
    put(inside, "long.md", block("ricci", "while true { }") + block("ricci", 'while true { print("x" ) }') + block("ricci", 'write("x", "y")\nwhile true { }'))
    run = Run("doctest", "--timeout", "1", "long.md")
    check("a document without end", run.status == 1 and "0 passed, 3 failed" in run.out, run.text())
    nothing_left("documents")
    untouched()


# ---- the session ----
def sessions():
    typed = [("!touch stolen", "--safe"), ("! id", "--safe"), (":edit own.ric", "--safe"), (":edit", "--safe"), (":save stolen.ric", "--safe"), (":save! own.ric", "--safe"), (":cd /", "--safe"), (":cd ../house", "--safe"),
             (":load ../house/stranger.ric", "--safe"), (":load own.ric", ""), ("two", "2"), (":cd sub", ""), (":load part.ric", ""), ("three", "3"), ('read("../own.txt")', "own"), ('env("SECRET")', "--safe"),
             ('extern "c" { int getpid(void); }', "--safe"), (":load /proc/self/environ", "--safe")]
    run = Run("--safe", "-i", stdin="\n".join(text for text, _ in typed) + "\n")
    want = sum(answer == "--safe" for _, answer in typed)
    check("a session", run.status == 0 and run.err.count("--safe") == want and run.out.count("own") == 1 and run.clean(), run.text())
    run = Run("--safe", "--limit", "seconds=1", "-i", stdin="while true { }\n1 + 1\nwhile true { }\n40 + 2\n")
    check("a limit in a session ends its entry", run.status == 0 and run.err.count("--limit seconds=1") == 2 and "42" in run.out, run.text())
    check("no history is kept", sorted(os.listdir(outside)) == ["secret.csv", "secret.txt", "stranger.ric"], os.listdir(outside))
    nothing_left("sessions")
    untouched()


# ---- the fresh folder ----
def fresh_folder():
    for safe in ([], ["--safe"]):
        for name, program, status in (("end", 'write(tempdir() + "/x", "y")', 0), ("error", 'write(tempdir() + "/x", "y")\nthrow "x"', 1), ("exit", 'write(tempdir() + "/x", "y")\nexit(7)', 7),
                                      ("limit", 'write(tempdir() + "/x", "y")\nwhile true { }', 1)):
            run = Run(*safe, "--limit", "seconds=2", "-e", program)
            check(f"tempdir, {name} {safe}", run.status == status, run.text())
            nothing_left(f"tempdir, {name} {safe}")
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, -15), (signal.SIGHUP, -1)):
            child = subprocess.Popen([RICCI, *safe, "-e", 'write(tempdir() + "/x", "y")\nprint("ready")\nwhile true { print("x") }'], env=environment, cwd=inside,
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            child.stdout.read(5)
            threading.Timer(0.05, child.send_signal, (number,)).start()
            child.communicate()
            check(f"tempdir, {number} {safe}", child.returncode == status, child.returncode)
            nothing_left(f"tempdir, {number} {safe}")
    child = subprocess.Popen([RICCI, "doctest", "long.md"], env=environment, cwd=inside, stdout=subprocess.DEVNULL)
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    child.wait()
    nothing_left("doctest, Ctrl-C")


# ---- the command line ----
def command_line():
    for words in (["--limit"], ["--limit", "memory"], ["--limit", "memory=x"], ["--limit", "memory=1e9,"], ["--limit", "disk=1"], ["--limit", "seconds=-1"], ["--limit", "seconds=nan"], ["--limit=memory=", "-e", "1"], ["--limit", "memory=0x10"], ["--limitmemory=1"], ["--saf"]):
        run = Run(*words, "-e", "1") if len(words) > 1 else Run(*words)
        check(f"wrong: {words}", run.status == 2, run.text())
    for words in (["--safe", "--strict-devices"], ["--strict-devices", "--safe"], ["--limit", "file=0"], ["--limit=seconds=5,memory=1e9"], ["--safe", "--limit", "memory=2e9", "-i"]):
        run = Run(*words, "-e", "1 + 1") if "-i" not in words else Run(*words, stdin="1 + 1\n")
        check(f"right: {words}", run.status == 0, run.text())
    run = Run("--safe", "fmt", "own.ric")
    check("fmt", run.status == 0 and run.out == "two = 2\n", run.text())
    run = Run("--safe", "-p", "precision mp(100) { exp(1) } + 0", env={"LD_LIBRARY_PATH": environment.get("LD_LIBRARY_PATH", "")})
    check("libraries are still opened", run.status == 0 and run.out.startswith("2.71828"), run.text())
    examples = os.path.join(HERE, "../../examples")
    for name in ("longley.ric", "spectrum.ric", "digits.ric", "precision/muller.ric", "index/life.ric"):
        run = Run("--safe", os.path.join(examples, name), seconds=90)
        check(f"as ever: {name}", run.status == 0 and run.err == "", run.text())


GROUPS = [out_of_the_fence, files_of_a_program, turning_links, takes_too_much, writes_too_much, hostile_files, deep_nesting, shapes,
          documents, sessions, fresh_folder, command_line]


def main():
    try:
        lay_out()
        for group in GROUPS:
            if len(sys.argv) < 2 or group.__name__ in sys.argv[1:]:
                start, before = time.monotonic(), failed
                group()
                print(f"{group.__name__}: {time.monotonic() - start:.1f} s" + (f", {failed - before} failed" if failed > before else ""), flush=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
