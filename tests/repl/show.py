"""What values look like on terminals of several sizes: rows never wrap, what is left out is counted,
and the size is the one that the window has when something is printed."""
import fcntl
import struct
import termios
import unicodedata

from session import PROMPT, Session, check

SETUP = """import hilb from gallery
A = reshape(arange(6000) / 7, (60, 100))
T = reshape(arange(240) / 7, (12, 4, 5))
v = arange(300) / 7
z = [1/3 + 2i, -4.25i; 12.5, 1e-17]
t = (1, 2.5, "a string of some length", arange(50) / 3, (x=1, y=(2, 3, "four"), w=arange(9)), hilb(3))
u = (a=(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20), b="text", c=1/3)
"""
SHOWN = ("A", "T", "v", "z", "t", "u", "A[0:3]", "A[:, 0:3]", "v'", "[1e300/3; 1e-300/3; 1]", "print(A, v)",
         "print(\"x =\", v, \"and\", t)", "print(1/3, 2/3, 3/7, 4/7, 5/7, 6/7)", "devices()",
         "explain A[0:50, 0:50] \\ v[0:50]", "explain C[i,k] := A[i,j]*A[k,j]", "timeit A @ A'",
         "profile { C = A @ A' ; C = C + 1 }", "compare f32, bf16 { A @ v[0:100] };")


def cells(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in line)


def resize(s, rows, columns):
    fcntl.ioctl(s.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    s.send("print(\"ma\" + \"rk\")\n")               # readline may have drawn its prompt again
    s.until(b"mark\r\n" + PROMPT)


def start(home, size):
    s = Session(home, size=size)
    for line in SETUP.splitlines():
        s.line(line)
    return s


def test_widths(home):
    s = start(home, (24, 200))
    for columns in (40, 80, 200):
        resize(s, 24, columns)
        for mode in ("plain", "fraction", "full", "hex"):
            s.line("format(\"%s\")" % mode)
            for text in SHOWN if mode == "plain" else SHOWN[:9]:
                got = s.line(text)
                wide = [line for line in got.split("\n") if cells(line) > columns]
                check("%s in %s on %d columns" % (text, mode, columns), got and not wide, wide[:2] or got)
    s.end()


def test_heights(home):
    s = start(home, (24, 80))
    for rows in (12, 24, 50):
        resize(s, rows, 80)
        for text in ("A", "A[:, 0]", "A[:, 0:3]", "T", "reshape(T, (2, 120))'", "ones(3, 40, 40)"):
            got = s.line(text).split("\n")
            check("%s on %d rows" % (text, rows), len(got) < rows or rows < 24, len(got))
    s.end()


def test_counts(home):
    s = start(home, (24, 80))
    check("corners", s.line("A").endswith("(54 more rows, 94 more columns)"), s.line("A"))
    resize(s, 80, 200)
    got = s.line("reshape(arange(1200), (60, 20))")
    check("more than 1000 elements that fit the screen", "more" not in got and got.count("\n") == 60, got[:200])
    check("vector", "more" in s.line("v"))
    s.expect_in("T", "[0, :, :]", "[11, :, :]")
    resize(s, 24, 80)
    s.expect_in("T", "[0, :, :]", "more slices)", "[11, :, :]")
    s.expect_in("(0, 1, 2)", "(0, 1, 2)")
    s.end()


def test_resized_between_prints(home):
    """A loop that prints sees each new size."""
    s = start(home, (24, 100))
    wide = s.line("print(v)")
    resize(s, 24, 40)
    narrow = s.line("print(v)")
    check("print after a smaller window", cells(narrow) <= 40 < cells(wide) <= 100, (wide, narrow))
    s.line("format(\"latex\")")
    s.expect("[1, 2]", "% vector of 2 i64\n\\begin{bmatrix}\n1 \\\\\n2\n\\end{bmatrix}")
    s.expect("1/3", "0.3333333333333333")
    s.line("format()")
    s.expect("[1.0, 2]", "vector of 2 f64\n[1.0, 2.0]")
    s.end()
