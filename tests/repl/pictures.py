"""Pictures where the golden tests cannot look: SVG, PNG and PDF files, colours and images on a
terminal, ASCII where the locale has nothing else. Files need libcairo2 and say so without it."""
import base64
import ctypes.util
import os
import re
import struct
import subprocess
import time
import xml.etree.ElementTree as xml
import zlib

from session import PROMPT, RICCI, Session, check

CAIRO = ctypes.util.find_library("cairo") is not None
if not CAIRO:
    print("not run: files of pictures: no libcairo2")

BLUE = "#0072b2"
SVG = "{http://www.w3.org/2000/svg}"


def run(code, home, **environment):
    env = {"PATH": os.environ["PATH"], "HOME": home, "TERM": "dumb", "LC_ALL": "C.UTF-8", **environment}
    for name in ("ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS"):
        if name in os.environ:
            env[name] = os.environ[name]
    return subprocess.run([RICCI, "-e", code], cwd=home, env=env, capture_output=True, timeout=60)


def inherited(root):
    """Each element with what it and the elements around it say."""
    below = [(root, {})]
    while below:
        e, around = below.pop()
        said = {**around, **e.attrib}
        yield e, said
        below += [(child, said) for child in e]


def marks(path, what, color):
    """The numbers of each path whose `what` (fill, stroke) is that colour."""
    return [[float(n) for n in re.findall(r"-?\d+\.?\d*", e.get("d"))]
            for e, said in inherited(xml.parse(path).getroot()) if e.tag == SVG + "path" and said.get(what) == color]


def boxes(path):
    """Width and height of the rectangles `M x y h w v h h -w z` that are blue."""
    return [(b[2], b[3]) for b in marks(path, "fill", BLUE)]


def test_svg(home):
    path = os.path.join(home, "a.svg")
    r = run('plot([0, 1, 4, 9, 16], ylim=(0, 16), to="a.svg", title="<&>\\" \\u{1b} 数")', home)
    check("a plot is silent", r.returncode == 0 and not r.stdout and not r.stderr, r)
    root = xml.parse(path).getroot()
    check("the size of an SVG", (root.get("width"), root.get("height")) in (("720", "480"),), root.attrib)
    lines = marks(path, "stroke", BLUE)
    check("one line", len(lines) == 1, lines)
    words = ["".join(e.itertext()) for e in root.iter(SVG + "text")]
    check("letters are text, escaped", '<&>" \ufffd 数' in words and "15" in words, words)
    check("an SVG is heard by no other: no id", not [e for e in root.iter() if "id" in e.attrib])
    points = list(zip(lines[0][::2], lines[0][1::2]))[-5:]
    xs, ys = [p[0] for p in points], [p[1] for p in points]
    gaps = [b - a for a, b in zip(xs, xs[1:])]
    check("even steps along x", max(gaps) - min(gaps) < 0.03, xs)
    span = ys[0] - ys[-1]
    check("heights in proportion", all(abs((ys[0] - y) / span - k * k / 16) < 1e-3 for k, y in enumerate(ys)), ys)
    run('scatter([1, 2, 3], [1, 2, 3], to="b.svg"); hist([1, 2, 2, 5], bins=4, to="c.svg"); spy(eye(5), to="d.svg")', home)
    check("a mark for each point", len(marks(os.path.join(home, "b.svg"), "fill", BLUE)) == 3)
    bars = boxes(os.path.join(home, "c.svg"))
    heights = [h for _, h in bars]
    check("bars that are not empty", len(bars) == 3 and abs(heights[1] / heights[0] - 2) < 1e-3, bars)
    check("squares of a pattern", len(marks(os.path.join(home, "d.svg"), "fill", BLUE)) == 5)
    run('plot(randn(200000), to="e.svg")', home)
    check("a long line is thinned", os.path.getsize(os.path.join(home, "e.svg")) < 200000)
    run('heat(randn(1000, 1000), to="f.svg"); heat(randn(1000, 1000), to="g.svg", size=(4000, 3000)); spy(eye(1500), to="h.svg"); heat(randn(50, 50), to="i.svg")', home)
    sizes = [os.path.getsize(os.path.join(home, name + ".svg")) for name in "fghi"]
    check("a matrix of any size is a small file", max(sizes) < 300000, sizes)


def test_svg_image(home):
    """The image of a matrix in an SVG: a PNG of indexed colours that this file's own reader takes."""
    run('A = zeros(60, 80); A[0, :] = 1; A[59, 79] = nan; heat(A, range=(0, 1), to="a.svg")', home)
    images = list(xml.parse(os.path.join(home, "a.svg")).iter(SVG + "image"))
    check("one image", len(images) == 1)
    data = base64.b64decode(images[0].get("href").split(",", 1)[1])
    at, chunks = 8, {}
    while at < len(data):
        n, name = struct.unpack(">I4s", data[at:at + 8])
        chunks[name] = data[at + 8:at + 8 + n]
        check("the checksum of a chunk", zlib.crc32(name + chunks[name]) == struct.unpack(">I", data[at + 8 + n:at + 12 + n])[0], name)
        at += n + 12
    check("80 × 60, a palette", struct.unpack(">IIBB", chunks[b"IHDR"][:10]) == (80, 60, 8, 3))
    rows = zlib.decompress(chunks[b"IDAT"])
    color = lambda i, j: tuple(chunks[b"PLTE"][3 * k:3 * k + 3] for k in [rows[i * 81 + 1 + j]])[0]
    check("the ends of viridis", color(0, 5) == bytes((253, 231, 37)) and color(1, 0) == bytes((68, 1, 84)))
    check("nan is blank", chunks[b"tRNS"] == b"\0" and rows[59 * 81 + 80] == 0 and rows.count(b"\0") == 60 + 1)


def pixels(path):
    """Width, height and rows of RGB bytes of a PNG without interlacing."""
    data = open(path, "rb").read()
    check("PNG signature", data[:8] == b"\x89PNG\r\n\x1a\n")
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    check("8 bits, RGB or RGBA", depth == 8 and kind in (2, 6), (depth, kind))
    at, packed = 8, b""
    while at < len(data):
        n, name = struct.unpack(">I4s", data[at:at + 8])
        if name == b"IDAT":
            packed += data[at + 8:at + 8 + n]
        at += n + 12
    raw, size, rows = zlib.decompress(packed), 3 if kind == 2 else 4, []
    before = bytearray(width * size)
    for y in range(height):
        line = bytearray(raw[y * (width * size + 1) + 1:(y + 1) * (width * size + 1)])
        how = raw[y * (width * size + 1)]
        for i in range(len(line)):
            a = line[i - size] if i >= size else 0
            b, c = before[i], before[i - size] if i >= size else 0
            guess = (0, a, b, (a + b) // 2, min((a, b, c), key=lambda v: abs(a + b - c - v)))[how]
            line[i] = (line[i] + guess) & 255
        rows.append([tuple(line[x:x + 3]) for x in range(0, len(line), size)])
        before = line
    return width, height, rows


def test_png_pdf(home):
    if not CAIRO:
        return
    run('heat([0, 1; 2, 3], to="a.png", size=(240, 160)); plot([1, 2], to="b.pdf")', home)
    width, height, rows = pixels(os.path.join(home, "a.png"))
    check("size= of a PNG", (width, height) == (240, 160), (width, height))
    seen = {}
    for row in rows:
        for p in row:
            seen[p] = seen.get(p, 0) + 1
    ends = (68, 1, 84), (253, 231, 37)
    check("the ends of viridis fill a quarter each", all(seen.get(c, 0) > 1500 for c in ends), [seen.get(c) for c in ends])
    check("white paper", rows[0][0] == (255, 255, 255) and seen[(255, 255, 255)] > 5000)
    check("a PDF", open(os.path.join(home, "b.pdf"), "rb").read(5) == b"%PDF-")


def test_files(home):
    if not CAIRO:
        return
    r = run('plot([1, 2], to="/no/such/folder/a.svg")', home)
    check("a folder that is missing", b"error[io]" in r.stderr and r.returncode == 1, r)
    run('plot([1, 2], to="a.svg")', home)
    first = open(os.path.join(home, "a.svg")).read()
    run('plot([2, 1], to="a.svg")', home)
    check("a file is replaced", open(os.path.join(home, "a.svg")).read() != first and os.listdir(home).count("a.svg") == 1)
    r = run('plot([1, 2], to="a.png", size=(30000, 30000))', home)
    check("too many pixels", b"error[value]" in r.stderr, r)
    start = time.time()
    run('plot(randn(10^6), to="a.png")', home)
    check("a million points in seconds", time.time() - start < 10, time.time() - start)


def test_text(home):
    code = 'plot([1, 2, 3], (a=[1, 2, 3], b=[3, 2, 1])); heat([1, 2; 3, 4]); spy(eye(9)); hist([1, 2, 2]); plot([0, 1e9], title="é²")'
    r = run(code, home, LC_ALL="C")
    check("ASCII alone where the locale is C", r.stdout.isascii() and b"\x1b" not in r.stdout and b"* a   + b" in r.stdout, r.stdout)
    r = run(code, home)
    check("no colours in a pipe", b"\x1b" not in r.stdout and "┤".encode() in r.stdout)
    r = run(code, home, RICCI_PICTURES="none")
    check("RICCI_PICTURES=none", r.returncode == 0 and r.stdout == b"", r)


def test_narrow(home):
    for term, colour in (("dumb", False), ("xterm-256color", True)):
        s = Session(home, term=term, size=(20, 40), RICCI_PICTURES="text")
        s.send('plot([1, 2, 3], (one=[1, 2, 3], two=[3, 2, 1]), title="A"); plot(x -> 1e5 * x, 0, 1); heat(eye(30)); hist(arange(9))\n')
        s.until(PROMPT)
        text = s.all.decode(errors="replace")
        plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)
        rows = [l for l in plain.replace("\r", "").split("\n") if re.search("[┤│└]", l)]
        check("40 columns, %s" % term, len(rows) > 40 and max(map(len, rows)) <= 40, max(map(len, rows), default=0))
        check("colours, %s" % term, ("\x1b[38;5;" in text) == colour)
        check("leaving", s.end() == 0)


def answer(s, reply, line):
    """Types a line; where the terminal is asked, replies as one would."""
    s.send(line + "\n")
    got = s.until(b"\x1b[c", wait=10)
    check("the terminal is asked", b"\x1b_Gi=31" in got and got.endswith(b"\x1b[c"), got[-80:])
    s.send(reply)
    return got + s.until(PROMPT)


def test_images(home):
    small = "plot([1, 2, 3], size=(30, 8))"
    if CAIRO:
        s = Session(home, term="xterm-256color")
        got = answer(s, b"\x1b_Gi=31;OK\x1b\\\x1b[6;16;8t\x1b[?62;4c", small)
        parts = re.findall(rb"\x1b_G([^;]*);([A-Za-z0-9+/=]*)\x1b\\", got)
        png = base64.b64decode(b"".join(p for keys, p in parts if b"a=q" not in keys))
        check("kitty: a PNG", png[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", png[16:24]) == (240, 128), png[:24])
        check("kitty: asked once", b"a=q" not in s.line(small).encode())
        check("nothing of the answer is typed", s.line("1 + 1").strip().endswith("2"))
        s.end()
        s = Session(home, term="xterm-256color")
        got = answer(s, b"\x1b[?62;4;22c", small)
        sixel = re.search(rb"\x1bP0;1q\"1;1;(\d+);(\d+)(.*?)\x1b\\", got, re.S)
        check("sixel: a picture", sixel and len(sixel.group(3)) > 500 and sixel.group(3).count(b"-") == -(-int(sixel.group(2)) // 6), got[:80])
        s.end()
    s = Session(home, term="xterm-256color")
    got = answer(s, b"\x1b[?1;2c", small)
    check("text where there are no images", "┤".encode() in got and b"\x1bP" not in got)
    check("and the line is clean", s.line("2 + 3").strip().endswith("5"))
    s.end()
