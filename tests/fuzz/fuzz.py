#!/usr/bin/env python3
"""Deterministic fuzzing of the parser, the formatter, the evaluator, the library, C declarations and the file readers.

    tests/fuzz/fuzz.py [--seconds N] [--seed N] [--rounds N] [--only parser,evaluator,calls,files,extern]

RICCI names the binary, by preference a sanitizer build; KEEP the folder where offending
inputs are saved (build/fuzz). Round r of seed s always makes the same inputs. Prints one
line per finding (a signal, a sanitizer report, a formatter that changes its mind, ten
seconds without an end) and last `N passed, N failed`: inputs tried, and findings."""
import argparse
import io
import itertools
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import calls  # noqa: E402
import programs  # noqa: E402

RICCI = os.path.abspath(os.environ.get("RICCI", os.path.join(ROOT, "build/asan/ricci")))
KEEP = os.path.abspath(os.environ.get("KEEP", os.path.join(ROOT, "build/fuzz")))
LIMIT = float(os.environ.get("LIMIT", "10"))
SANITIZER = re.compile(rb"ERROR: (Address|Leak)Sanitizer|runtime error:|Sanitizer:DEADLYSIGNAL")
tried = findings = 0


def environment():
    env = dict(os.environ, LC_ALL="C.UTF-8", TERM="dumb", RICCI_PATH="", OPENBLAS_NUM_THREADS="1")
    mine = ("detect_leaks=1:exitcode=99:allocator_may_return_null=1:"
            "handle_sigill=1:max_allocation_size_mb=1500")
    env["ASAN_OPTIONS"] = ":".join(filter(None, (env.get("ASAN_OPTIONS"), mine)))     # the last one holds
    env.setdefault("LSAN_OPTIONS", "print_suppressions=0:suppressions="
                   + os.path.join(ROOT, "tests/tools/lsan.supp"))
    env.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    return env


def run(args, cwd, limit, text=b""):
    """(what is wrong or None, exit status, stderr)."""
    try:
        done = subprocess.run([RICCI, *args], cwd=cwd, input=text, timeout=limit, env=environment(),
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    except subprocess.TimeoutExpired:
        return "no end in %g s" % limit, None, b""
    if done.returncode < 0:
        return "signal %d" % -done.returncode, done.returncode, done.stderr
    report = SANITIZER.search(done.stderr)
    if report:
        at = done.stderr.find(b"ERROR:") if b"ERROR:" in done.stderr else report.start()
        line = done.stderr[at:].split(b"\n")[0]
        return line.decode(errors="replace"), done.returncode, done.stderr
    return None, done.returncode, done.stderr


def found(kind, name, why, files, log=b""):
    """Saves an input with what was said about it."""
    global findings
    findings += 1
    folder = os.path.join(KEEP, name)
    os.makedirs(folder, exist_ok=True)
    for path in files:
        shutil.copy(path, folder)
    with open(os.path.join(folder, "log"), "wb") as out:
        out.write(why.encode() + b"\n" + log)
    print("FAIL %s: %s (%s)" % (kind, why, os.path.relpath(folder, ROOT)), flush=True)


def write(path, data):
    with open(path, "wb") as out:
        out.write(data if isinstance(data, bytes) else data.encode("utf-8", "surrogateescape"))


# ---- the parser and the formatter ----
def mutate_text(r, corpus):
    text = bytearray(r.choice(corpus))
    for _ in range(r.choice((1, 1, 2, 3, 8))):
        at = r.randrange(len(text) + 1)
        end = min(len(text), at + r.choice((0, 1, 1, 2, 5, 20, 200)))
        act = r.randrange(6)
        if act == 0:
            del text[at:end]
        elif act == 1:
            text[at:at] = text[at:end] * r.choice((1, 2, 50))
        elif act == 2:
            text[at:end] = r.choice(programs.TOKENS).encode()
        elif act == 3:
            other = r.choice(corpus)
            cut = r.randrange(len(other) + 1)
            text[at:end] = other[cut:cut + r.choice((3, 30, 300))]
        elif act == 4:
            text[at:end] = bytes(r.randrange(256) for _ in range(r.choice((1, 2, 4))))
        else:
            text[at:at] = b" " + r.choice(programs.TOKENS).encode() + b" "
    return bytes(text[:6000])


def soup(r):
    space = r.choice(("", " ", " ", "\n"))
    return space.join(r.choice(programs.TOKENS) for _ in range(r.choice((3, 10, 30, 100)))).encode()


def complained(stderr):
    return set(re.findall(rb"--> (\w+\.ric):", stderr))


def fuzz_parser(r, work, name, corpus):
    """What parses is formatted; its canonical text must parse and be its own format."""
    global tried
    files = []
    for k in range(40):
        path = os.path.join(work, "p%d.ric" % k)
        write(path, soup(r) if r.random() < 0.3 else mutate_text(r, corpus))
        files.append(path)
    names = [os.path.basename(p) for p in files]
    before = {p: open(p, "rb").read() for p in files}
    tried += len(files)
    why, _, err = run(["fmt", "-w", *names], work, LIMIT * 3)
    if why:
        return single_out(["fmt"], "parser", name, files, before, why, err, work)
    rejected = complained(err)
    once = {p: open(p, "rb").read() for p in files}
    why, _, err = run(["fmt", "-w", *names], work, LIMIT * 3)
    again = complained(err)
    for path in files:
        short = os.path.basename(path).encode()
        if short in rejected:
            continue
        after = open(path, "rb").read()
        wrong = "its format does not parse" if short in again else \
                "its format changes when formatted again" if after != once[path] else None
        if wrong:
            write(path, before[path])
            write(path + ".once", once[path])
            found("fmt", "%s-%s" % (name, short.decode()[:-4]), wrong, [path, path + ".once"], err)
    return None


def single_out(args, kind, name, files, contents, why, err, work):
    """Which of the files of a failing batch does it alone."""
    guilty = 0
    for path in files:
        write(path, contents[path])
        alone, _, log = run(args + [os.path.basename(path)], work, LIMIT)
        if alone:
            guilty += 1
            found(kind, "%s-%d" % (name, guilty), alone, [path], log)
    if not guilty and not why.startswith("no end"):
        found(kind, name, why + " (as a batch)", files, err)


# ---- the evaluator ----
def fuzz_evaluator(r, work, name, operations):
    """A session of many statements, each of which may fail by itself."""
    global tried
    lines = programs.session(r, operations, r.choice((20, 60, 150)))
    path = os.path.join(work, "session.ric")
    tried += len(lines)

    def attempt(some, limit):
        write(path, "\n".join(some) + "\n")
        with open(path, "rb") as text:
            return run(["-i"], work, limit, text.read())

    why, status, err = attempt(lines, LIMIT * 2)
    if not why and status not in (0, None):
        why = "exit %d" % status
    if not why:
        return
    head = programs.PRELUDE_LINES
    lines = shorten(lines, head, lambda some: attempt(some, LIMIT)[0])
    again, _, log = attempt(lines, LIMIT)
    if not again and why.startswith("no end"):
        return                                  # slow as a whole, not hanging
    found("evaluator", name, again or why + " (not with fewer lines)", [path], log or err)


def shorten(lines, head, fails):
    """Drops chunks of lines as long as it still fails, for a while."""
    end = time.time() + 90
    size = max(1, (len(lines) - head) // 2)
    while size >= 1 and time.time() < end:
        at = head
        while at < len(lines) and time.time() < end:
            fewer = lines[:at] + lines[at + size:]
            if fails(fewer):
                lines = fewer
            else:
                at += size
        size //= 2
    return lines


# ---- the library ----
def fuzz_calls(r, work, name, rows):
    """Calls of library rows, each with tensors in two layouts, which must agree."""
    global tried
    lines = calls.script(r, rows, 60)
    path = os.path.join(work, "calls.ric")
    tried += len(lines)
    write(path, calls.PRELUDE + "\n".join(lines) + "\n")
    why, status, err = run(["calls.ric"], work, LIMIT * 18)     # expm of huge numbers in mp takes half a minute
    if not why and status:
        at = max(err.find(b"error["), 0)
        why = err[at:].split(b"\n")[0].decode(errors="replace")
    if why:
        found("calls", name, why, [path], err)


# ---- C declarations ----
C_TOKENS = """int char long short unsigned signed float double _Bool void const volatile restrict static extern inline
struct union enum typedef sizeof _Alignof _Complex __attribute__((packed)) __attribute__((aligned(16))) _Static_assert
( ) [ ] { } * , ; : ... = + - * / % << >> < > == != && || ! ~ ? & ^ | # ## #define #undef #if #ifdef #ifndef #elif #else
#endif #include #error #pragma defined __VA_ARGS__ S T E A B f g x y n 0 1 -1 7 0x10 1u 2L 3ULL 1.5f 1e400 010 'a' '\\n'
"text" L"w" \\ \n \n // /* */ 99999999999999999999 4611686018427387904 int64_t size_t FILE double[n] (*)(int)""".split(" ")
C_TOKENS = [t.strip() or "\n" for t in " ".join(C_TOKENS).replace("\\n", "\n").split(" ")]


def c_texts(corpus):
    """What stands in the extern blocks of the tests, and the headers of the sources."""
    texts = []
    for text in corpus:
        for block in re.finditer(rb'extern "[^"]*"(?: as \w+)? \{', text):
            depth, at = 1, block.end()
            while at < len(text) and depth:
                depth += (text[at:at + 1] == b"{") - (text[at:at + 1] == b"}")
                at += 1
            texts.append(text[block.end():at - 1])
    for name in ("interp/embed/ricci.h", "kernels/tensor/tensor.h"):
        with open(os.path.join(ROOT, name), "rb") as header:
            texts.append(header.read())
    return texts


def c_text(r, declarations):
    if r.random() < 0.2:
        return " ".join(r.choice(C_TOKENS) for _ in range(r.choice((5, 20, 60)))).encode()
    text = bytearray(r.choice(declarations))
    for _ in range(r.choice((1, 1, 2, 4, 8))):
        at = r.randrange(len(text) + 1)
        end = min(len(text), at + r.choice((0, 1, 1, 3, 10, 60)))
        act = r.randrange(5)
        if act == 0:
            del text[at:end]
        elif act == 1:
            text[at:at] = text[at:end] * r.choice((1, 3, 40))
        elif act == 2:
            text[at:end] = b" " + r.choice(C_TOKENS).encode() + b" "
        elif act == 3:
            other = r.choice(declarations)
            cut = r.randrange(len(other) + 1)
            text[at:end] = other[cut:cut + r.choice((5, 50, 400))]
        else:
            text[at:end] = bytes(r.randrange(256) for _ in range(r.choice((1, 2))))
    return bytes(text[:8000])


def fuzz_extern(r, work, name, declarations):
    """Modules of one extern block each, imported one after the other; nothing declared is called."""
    global tried
    files, contents = [], {}
    for k in range(40):
        path = os.path.join(work, "c%d.ric" % k)
        contents[path] = b'extern "libc.so.6"%s {\n%s\n}\n' % (r.choice((b"", b" as c")), c_text(r, declarations))
        write(path, contents[path])
        files.append(path)
    program = os.path.join(work, "all.ric")
    write(program, "".join('try { import "c%d.ric" } catch e { z = e.message }\n' % k for k in range(len(files))))
    tried += len(files)
    why, status, err = run(["all.ric"], work, LIMIT * 3)
    if not why and status:
        why = "exit %s" % status
    if why:
        single_out([], "extern", name, files, contents, why, err, work)


# ---- the file readers ----
def npy(descr, shape, data, order=False, version=1):
    head = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, order, shape)
    head = head.encode() + b" " * (117 - len(head)) + b"\n"
    size = struct.pack("<H" if version == 1 else "<I", len(head))
    return b"\x93NUMPY" + bytes((version, 0)) + size + head + data


def good_files():
    """The well-formed files of the tests, and those that are damaged in one place."""
    for folder, kind in itertools.product(("tests/lang/files", "tests/lang/sparse"), ("good", "bad")):
        folder = os.path.join(ROOT, folder)
        for name in sorted(os.listdir(os.path.join(folder, kind))):
            with open(os.path.join(folder, kind, name), "rb") as data:
                yield name.rsplit(".", 1)[1], data.read()


def sparse_archive(r):
    """A sparse matrix as SciPy keeps it, whose checksums are right whatever its numbers are."""
    def numbers(n, most):
        wild = r.random() < 0.2
        return [r.choice((-1, most, 2**31 - 1, 2**62, -2**63)) if wild and r.random() < 0.3 else r.randrange(max(most, 1))
                for _ in range(n)]

    def whole(values):
        code, width = r.choice((("<i8", "q"), ("<i4", "i"), ("<u4", "I")))
        low, high = (0, 2**32) if width == "I" else (-2**31, 2**31) if width == "i" else (-2**63, 2**63)
        kept = [v if low <= v < high else 7 for v in values]
        return npy(code, r.choice(("(%d,)" % len(kept),) * 9 + ("(1, %d)" % len(kept),)), struct.pack("<%d%s" % (len(kept), width), *kept))
    m, n, count = r.randrange(6), r.randrange(6), r.randrange(9)
    kind = r.choice(("csr", "csc", "coo", "bsr", "dia", "csr", "lil", "cs"))
    lines = m if kind == "csr" else n
    start = [0, *sorted(numbers(max(lines - 1, 0), count + 1)), count][:lines + 1 if r.random() < 0.9 else lines]
    shape = (count,) if kind not in ("bsr", "dia") else (count, 1, 1) if kind == "bsr" else (max(1, count), n)
    size = max(0, (shape[0] if kind != "dia" else shape[0] * n) - (r.random() < 0.1))
    members = {
        "format": npy("|S%d" % len(kind), "()", kind.encode()), "shape": whole([m, n] if r.random() < 0.9 else numbers(r.randrange(4), 5)),
        "data": npy("<f8", "(%s,)" % ", ".join(map(str, shape)) if r.random() < 0.9 else "(%d,)" % size, b"\0\0\0\0\0\0\xf0?" * size),
        "indices": whole(numbers(count, n if kind == "csr" else m)), "indptr": whole(start), "row": whole(numbers(count, m)),
        "col": whole(numbers(count, n)), "offsets": whole([v - 3 for v in numbers(shape[0], 6)]),
    }
    if r.random() < 0.1:
        del members[r.choice(list(members))]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members.items():
            archive.writestr(name + ".npy", data, r.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))
    return out.getvalue()


VALID = [
    ("npy", npy("<f8", (2, 3), struct.pack("<6d", *range(6)))),
    ("npy", npy("<i4", (4,), struct.pack("<4i", 1, -2, 3, 4), version=2)),
    ("npy", npy(">f4", (2, 2), struct.pack(">4f", 1, 2, 3, 4), order=True)),
    ("npy", npy("|b1", (), b"\1")), ("npy", npy("<c16", (1, 0, 2), b"")),
    ("npy", npy("<u8", (2,), struct.pack("<2Q", 1, 2**63))),
    ("mtx", b"%%MatrixMarket matrix coordinate real general\n% c\n3 3 3\n1 1 1.5\n2 3 -2e3\n3 1 4\n"),
    ("mtx", b"%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n"),
    ("mtx", b"%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 1 0\n2 1 3 -1\n"),
    ("mtx", b"%%MatrixMarket matrix coordinate pattern skew-symmetric\n3 3 1\n3 1\n"),
    ("mtx", b"%%MatrixMarket matrix coordinate real symmetric\r\n9 9 5\r\n9 1 1.25e-3\r\n2 2 7\r\n9 1 2\r\n5 4 -.5\r\n3 3 1e22\r\n"),
    ("csv", b"a,b,c\n1,2,3\n4.5,-6e7,nan\n"), ("csv", b'"x ""y""",z\r\n1,2\r\n\r\n3,4'),
    ("csv", b"\xef\xbb\xbf1,2\n3,4\n"), ("csv", b"t,name\n1,alpha\n2,\"be,ta\"\n"),
    *(pair for pair in good_files() if pair[0] != "txt"),
]
PIECES = [b"0", b"-1", b"1e999", b"9223372036854775807", b"18446744073709551616", b"1000000", b",", b"\n",
          b"\"", b"'", b"(", b")", b"{", b"}", b"\0", b"\xff", b"%", b" ", b"nan", b"inf", b"0x", b"<f8",
          b"PK\1\2", b"PK\3\4", b"PK\5\6", b"PK\6\6", b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff" * 8, b"[0,8]", b"\\u",
          b'"dtype":"F64"', b'"shape":[', b'"a":{', b"]", b"NA", b"\t", b"|",
          b"|O", b"True", b"shape", b"1,", b"(),", b"1" * 500, b";", b"\r", b"\xe2\x88\x9e", b"<M8[ns]", b"|S5"]


def mutate_data(r, data):
    data = bytearray(data)
    for _ in range(r.choice((0, 1, 1, 2, 4, 10))):
        at = r.randrange(len(data) + 1)
        end = min(len(data), at + r.choice((0, 1, 1, 4, 40)))
        act = r.randrange(5)
        if act == 0:
            del data[at:end]
        elif act == 1:
            data[at:end] = r.choice(PIECES)
        elif act == 2:
            data[at:at] = data[at:end] * 3
        elif act == 3 and at < len(data):
            data[at] = r.randrange(256)
        elif act == 4:
            del data[at:]
    return absurd(r, bytes(data)) if r.random() < 0.3 else bytes(data)


def absurd(r, data):
    """A number of a header becomes one that nothing can be: written, or as eight bytes of it."""
    number = r.choice((0, -1, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 10**40,
                       274177, 67280421310721))
    written = [m.span() for m in re.finditer(rb"[0-9]+", data[:2000])]
    if written and r.random() < 0.7:
        at, end = r.choice(written)
        return data[:at] + str(number).encode() + data[end:]
    at, size = r.randrange(min(len(data), 200) + 1), r.choice((2, 4, 8))
    return data[:at] + (number % 256**size).to_bytes(size, r.choice(("little", "big"))) + data[at + size:]


def fuzz_files(r, work, name):
    global tried
    files, contents = [], {}
    for k in range(60):
        ending, data = r.choice(VALID)
        if r.random() < 0.1:
            ending = r.choice(("npy", "mtx", "csv", "npz", "safetensors"))
        path = os.path.join(work, "d%d.%s" % (k, ending))
        contents[path] = mutate_data(r, data)
        if ending == "npz" and r.random() < 0.7:
            contents[path] = sparse_archive(r)
        write(path, contents[path])
        files.append(path)
    csv = r.choice(("", ", header=true", ", columns=true", ', delimiter=";"', ", header=false", ', delimiter=""',
                    ', decimal=",", thousands=".", columns=true', ', na=("-", "3"), skip=1', ", rows=1:3, columns=true",
                    ', select="c1", dtype=decimal(9)', ", dtype=rational", ", dtype=i32, rows=0:2"))
    more = {p: csv if p.endswith("csv") else r.choice(("", ", sparse=true")) if p.endswith("mtx") else "" for p in files}

    def script(some):
        path = os.path.join(work, "load.ric")
        write(path, "".join('try { x = load("%s"%s); y = repr(x); save("again.npz", x) } catch e { z = e.message }\n'
                            % (os.path.basename(p), more[p]) for p in some))
        return run(["load.ric"], work, LIMIT * 2 if len(some) > 1 else LIMIT)

    tried += len(files)
    why, status, err = script(files)
    if not why and status != 0:
        why = "exit %s" % status
    if why:
        guilty = [p for p in files if script([p])[0]]
        for k, path in enumerate(guilty or files[:1]):
            reason, _, log = script([path])
            found("files", "%s-%d" % (name, k), reason or why, [path, os.path.join(work, "load.ric")], log or err)
    for path in files:
        os.unlink(path)


def read_corpus():
    corpus = []
    for top in ("tests", "examples", "stdlib"):
        for folder, _, names in sorted(os.walk(os.path.join(ROOT, top))):
            corpus += [open(os.path.join(folder, n), "rb").read() for n in sorted(names) if n.endswith(".ric")]
    return [text for text in corpus if text]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--rounds", type=int, default=10**9)
    options.add_argument("--only", default="parser,evaluator,calls,files,extern")
    chosen = options.parse_args()
    corpus, operations, rows = read_corpus(), programs.read_operations(ROOT), calls.read_rows(ROOT)
    declarations = c_texts(corpus)
    print("fuzz: seed %d" % chosen.seed, flush=True)
    end, round_number = time.time() + chosen.seconds, 0
    while time.time() < end and round_number < chosen.rounds:
        for kind in chosen.only.split(","):
            name = "%s-%d-%d" % (kind, chosen.seed, round_number)
            r = random.Random(name)
            work = tempfile.mkdtemp(prefix="ricci-fuzz.")
            try:
                if kind == "parser":
                    fuzz_parser(r, work, name, corpus)
                elif kind == "evaluator":
                    fuzz_evaluator(r, work, name, operations)
                elif kind == "calls":
                    fuzz_calls(r, work, name, rows)
                elif kind == "extern":
                    fuzz_extern(r, work, name, declarations)
                else:
                    fuzz_files(r, work, name)
            finally:
                shutil.rmtree(work, ignore_errors=True)
        round_number += 1
    print("%d passed, %d failed" % (tried - findings, findings))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
