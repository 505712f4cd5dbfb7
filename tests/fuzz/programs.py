"""Random programs for fuzz.py: tokens for soup, and sessions of statements built from
expressions over a few variables of every kind. Sizes stay small, so that nothing asks for
gigabytes, except where a size is so large that it must be refused."""
import glob
import os
import re

TOKENS = """fn return if else for in while break continue and or not true false none precision autocast on lazy
compare explain timeit profile extern import try catch throw assert test from as against accumulate round strict
fallback saturate sum max x y z A[i,j] A[i] f( ( ) [ ] { } , ; : . ... ' '' " ` + - * / // % @ \\ ^ ! = == != < <=
> >= ≈ := += -= *= /= //= %= ^= @= -> |> | & · × ⊗ √ ≤ ≥ ≠ π λ x₁ 0 1 1. .5 1e5 0xff 2i 1_000 "a{x}b" "{x:.3f}"
"a{ `raw` "{{" # ## \n \n \n \t = 3 x=1 (x, y) x->x^2 f64 bf16 mp(20) 1: :2 ::-1 [1, [1;2] e\u0301 é \u200b \xa0 − ⋅
0b1 0o7 1e 1__0 99999999999999999999 "\\u{41}" "\\q" \\ ~ ? $ [x for x in 0:3] a.b.c t["x"] not in""".split(" ")
TOKENS = [t.strip(" ") or "\n" for t in " ".join(TOKENS).split(" ")]

SETUP = [
    "a = [3, 1, 2]", "A = [1.5, 2; 3, -4]", "B = reshape(arange(24), (2, 3, 4))", "m = [true, false, true]",
    "M = [true, false; false, true]", "c = [1+2i, 3; 0, -1i]", "u = u8([1, 200, 7])", "h = f16([0.1, 2, 70000])",
    "s = f32([1, 2; 3, 4; 5, 6])", "e = zeros(0, 3)", "w = [1.0, 2, 3]'", "k = 3", "x = 0.5", "b = true",
    "z = 1-2i", 't = (1, "two", [3.0])', "n = (x=1, y=[2, 3], z=\"q\")", 'S = "héllo wörld"', "r = 0:10:3",
    "f = x -> x + 1", "fn g(p, q=2, rest...) { return p * q + len(rest) }", "V = A[:, ::-1]",
    "W = broadcast_to([1, 2, 3], (2, 3))", "T = transpose(B, (2, 0, 1))", "d = float32", "o = none", "i = i8([-128, 127])",
    "L = reshape(linspace(0, 1, 30), (5, 6))[::2, 1:5:3]", "q = [nan, inf, -inf, -0.0, 1e308]", "C = c64([1i, 2])",
    "d = bf16", "E = zeros(2, 0, 3)", "p = ()", "D = cpu", "N = i32([5, 3, 9])",
    "F = e4m3([0.1, 500, -3])", "G = decimal(3)([1, 2.5, 0.1])", "H = mp(80)([0.1, 3, -2])",
    "J = float(4, 3)([1, 2; 3, 40])", "K = interval([0.1, 2, 3])", "Q = rational([1, 2, 3]) / 3",
    "R = precision bf16 { [1+2i, 3i] }", "X = precision decimal(4) { [2, 1; 1, 3] / 7 }",
]
PRELUDE_LINES = len(SETUP)
VARIABLES = "a A B m M c u h s e w k x b z t n S r f g V W T d o i L q C E p D N F G H J K Q R X".split()
TARGETS = "F G H J K Q R X a A B m M c u h s w k x t n S V W L i q C N y v".split()
INFIX = ["+", "-", "*", "/", "//", "%", "@", "\\", "·", "⊗", "×", "^", "==", "!=", "<", "<=", ">", ">=", "≈",
         "|", "&", "and", "or", "in", "not in", ":", "|>"]
ASSIGN = ["=", "=", "=", "+=", "-=", "*=", "/=", "//=", "%=", "^=", "@="]
SKIP = {"exit", "help", "time", "env", "args", "read", "lines", "input"}
SPECS = ["", ".3f", "+e", "08.2f", ">10", "^7", "x", "_", ",d", ".0%", "g", "s", "q", ".99999f", "<<5", "999", "#b"]


def read_operations(root):
    """Names and parameters from the registry rows, so that a new row is fuzzed at once."""
    rows = {}
    for path in sorted(glob.glob(os.path.join(root, "builtins", "*", "*.def"))):
        text = open(path, encoding="utf-8").read()
        for row in re.finditer(r'^EW\d\(\w+, "(\w+)", "([^"]*)"', text, re.M):
            rows[row[1]] = row[2]
        for row in re.finditer(r'^OP\((\w+),(?:[^"\n]|\n)*?(?:\.infix = "[^"]*", )?\.params = "((?:[^"\\]|\\.)*)"', text, re.M):
            rows[row[1]] = row[2]
    return [(n, [p.strip() for p in rows[n].split(",")]) for n in sorted(rows) if n not in SKIP]


def integer(r):
    return str(r.choice((-3, -2, -1, 0, 0, 1, 1, 2, 2, 3, 4, 5, 7, 9, 63, 64, -64, 2**41, -2**31, 2**62, 2**63 - 1)))


def atom(r):
    kind = r.randrange(10)
    if kind < 5:
        return r.choice(VARIABLES)
    if kind == 5:
        return "(" + integer(r) + ")"
    if kind == 6:
        return r.choice(("0.5", "-0.0", "1e300", "nan", "inf", "2i", "1e-320", "true", "false", "none", "pi", "3.0"))
    if kind == 7:
        return r.choice(('""', '"a"', '"x{k}y"', '"%s"' % ("é" * 3), "`raw`", '"{x:%s}"' % r.choice(SPECS),
                         '"{A:%s}"' % r.choice(SPECS), '"ij,jk->ik"', '"i->"', '"...i->i..."', '"fro"', '"nuc"'))
    if kind == 8:
        return r.choice(("f64", "i64", "bool", "f16", "bf16", "u8", "i8", "c64", "e4m3", "e5m2", "cpu", "sum", "sqrt", "f", "g"))
    if r.random() < 0.2:
        return number_format(r)
    return r.choice(("()", "(1, 2)", "(2, 0)", "(1, -1)", "[]", "[0, 1]", "[1; 2]", "[2, 1, 0]", "[[1, 2], [3, 4]]",
                     '("a", 1)', "(0, 1, 2)", "[true, false]", "0:3", "3:0:-1", "-1:2"))


def subscript(r, depth):
    kind = r.randrange(9)
    if kind < 3:
        return integer(r)
    if kind == 3:
        return ":"
    if kind == 4:
        return "...:" if r.random() < 0.05 else "..."
    if kind == 5:
        return "none"
    if kind == 6:
        part = lambda: r.choice(("", integer(r), "1", "2"))
        return part() + ":" + part() + (":" + r.choice(("2", "-1", "-2", "0", "3")) if r.random() < 0.4 else "")
    return expression(r, depth - 1)


def call(r, depth, operations):
    name, params = r.choice(operations)
    arguments = []
    keyword_only = False
    for parameter in params:
        if parameter == "*":
            keyword_only = True
            continue
        plain = re.match(r"\w*", parameter)[0]
        if not plain:
            continue
        if "..." in parameter:
            arguments += [expression(r, depth - 1) for _ in range(r.choice((1, 1, 2, 3)))]
        elif "=" in parameter or keyword_only:
            keyword_only = True
            if r.random() < 0.4:
                value = keyword(r, plain, depth)
                arguments.append(plain + "=" + value)
        elif not any("=" in a.split("(")[0] and "==" not in a for a in arguments[-1:]):
            arguments.append(path(r) if plain == "path" else expression(r, depth - 1))
    if r.random() < 0.05 and arguments:
        arguments.pop(r.randrange(len(arguments)))
    if r.random() < 0.03:
        arguments.append(expression(r, 0))
    return "%s(%s)" % (name, ", ".join(sorted(arguments, key=lambda a: bool(re.match(r"\w+=[^=]", a)))))


def keyword(r, name, depth):
    if name == "axis":
        return r.choice(("0", "1", "-1", "2", "(0, 1)", "none", "5", "()", "(0, 0)", "[0]"))
    if name == "dtype":
        return r.choice(("f64", "f32", "i64", "bool", "u8", "c128", "f16", "bf16", "e4m3", "3", '"u16"'))
    if name in ("keepdims", "full", "descending", "replace", "endpoint", "append", "counts", "columns", "header"):
        return r.choice(("true", "false", "1"))
    return r.choice((integer(r), expression(r, depth - 1)))


def path(r):
    return r.choice(('"q.npy"', '"q.mtx"', '"q.csv"', '"q.txt"', '"q"', "S", "k"))


def expression(r, depth, operations=None):
    operations = operations or OPERATIONS
    if depth <= 0:
        return atom(r)
    kind = r.randrange(16)
    sub = lambda: expression(r, depth - 1)
    if kind < 5:
        return call(r, depth, operations)
    if kind < 9:
        return "(%s) %s (%s)" % (sub(), r.choice(INFIX), sub())
    if kind == 9:
        return r.choice(("-", "!", "not ", "√", "+")) + "(" + sub() + ")"
    if kind == 10:
        return "(%s)'" % sub()
    if kind == 11:
        return "(%s)[%s]" % (sub(), ", ".join(subscript(r, depth) for _ in range(r.choice((1, 1, 2, 3)))))
    if kind == 12:
        return r.choice(("[%s, %s]", "[%s; %s]", "(%s, %s)", "(x=%s, y=%s)", "[%s, 1; 2, %s]")) % (sub(), sub())
    if kind == 13:
        return r.choice(("[v + 1 for v in %s]" % sub(), "[(%s) for v in 0:3 if v > 0]" % sub(),
                         "[v * y for v in 0:2, y in 0:3]", "map(f, %s)" % sub(), "[x, y for (x, y) in enumerate(%s)]" % sub()))
    if kind == 14:
        return r.choice(("(if b { %s } else { %s })", "(v -> %s)(%s)", "g(%s, %s)", "f(%s) + f(%s)")) % (sub(), sub())
    return r.choice(("(%s).x", "(%s).shape", "repr(%s)", "string(%s)", "format(%s, \".3f\")", "0 <= (%s) < 5",
                     "\"{%s}\"", "len(%s)")) % sub().replace('"', "`")


OPERATIONS = [("abs", ["x"])]
FORMATS = ("f64", "f32", "tf32", "f16", "bf16", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1", "float(3, 4)", "float(11, 2)",
           "float(2, 1)", "float(8, 40)", "decimal(1)", "decimal(3)", "decimal(40)", "mp(1)", "mp(53)", "mp(200)",
           "rational", "interval")


def number_format(r):
    if r.random() < 0.06:
        return r.choice(("float(%s, %s)", "decimal(%s + 0 * %s)", "mp(%s * %s)", "dtype(%s)(%s)")) % (integer(r), integer(r))
    return r.choice(FORMATS)


def header(r):
    if r.random() < 0.12:
        return "autocast " + number_format(r)
    words = [" accumulate " + number_format(r), " round " + r.choice(("nearest", "away", "zero", "up", "down", "odd", "stochastic")),
             " saturate", " flush", " reproducible"]
    name = number_format(r) if r.random() < 0.95 else r.choice(("d", "(%s)" % expression(r, 1), "n.x"))
    return "precision " + name + "".join(w for w in words if r.random() < 0.2)


def scope(r):
    some = "; ".join(statement(r, False) for _ in range(r.choice((1, 1, 2, 3))))
    return r.choice(("%s { %s }", "%s { %s }", "y = %s { %s }", "for v in 0:2 { %s { %s; break } }", "try { %s { %s } } catch e { y = 1 }",
                     "(() -> { %s { %s; return 1 } })()", "compare f32, bf16 { %s { %s } }", "explain %s { %s }")) % (header(r), some)


def statement(r, scopes=True):
    if scopes and r.random() < 0.35:
        return scope(r)
    kind = r.randrange(14)
    target = r.choice(TARGETS)
    some = expression(r, r.choice((0, 1, 1, 2, 2, 3)))
    if kind < 4:
        return some
    if kind < 7:
        return "v = %s; if size(v) < 1000 { %s = v }" % (some, target)
    if kind < 10:
        where = ", ".join(subscript(r, 1) for _ in range(r.choice((1, 1, 2, 3))))
        return "%s[%s] %s %s" % (target, where, r.choice(ASSIGN), some)
    if kind == 10:
        return "y = %s; y %s %s" % (target, r.choice(ASSIGN), expression(r, 1))
    if kind == 11:
        return r.choice(("for v in %s { y = v; y = [y, y] }", "v, y = %s", "try { throw %s } catch e { y = e.value }",
                         "try { y = %s } catch e { print(e) }", "n.w = %s", "assert %s, \"no\"",
                         "t = append(t, %s); if len(t) > 20 { t = (1, 2) }", "print(%s, sep=\"-\")")) % some
    if kind == 12:
        return "%s = %s" % (target, r.choice(VARIABLES))
    return "y = %s; y[%s] = %s; print(y == %s)" % (target, subscript(r, 1), some, target)


def session(r, operations, count):
    OPERATIONS[:] = operations
    return SETUP + [statement(r).replace("\n", " ") for _ in range(count)]
