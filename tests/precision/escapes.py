"""Random ways out of scopes: functions of loops, branches, tries and nested scopes that are left by
break, continue, return, throw and errors. A model walks the same tree and knows which scope holds at
every probe: the dtypes of a literal and of a matrix product."""

FORMATS = ["f32", "bf16", "f16", "e4m3", "tf32", "float(4, 4)", "decimal(3)", "mp(70)", "rational", "float(5, 3)"]
SHOWN = {"float(5, 3)": "e5m2"}
HEADS = ["", " round up", " saturate", " flush", " reproducible", " round stochastic", " accumulate f64"]
ERRORS = ['throw "out"', "1 // 0", "[1, 2] + [1, 2, 3]", "nothing_of_that_name", 'assert false, "no"', "int(\"x\")", "none + 1", "[1, 2][5]"]
ESCAPES = ("break", "continue", "return", "error")


class Leave(Exception):
    def __init__(self, how):
        self.how = how


class Escape:
    def __init__(self, rng):
        self.rng, self.functions = rng, []
        self.probes = 0
        for n in range(rng.randint(1, 4)):
            self.functions.append(self.block(3, False))
        self.log, self.work = [], 0
        self.walk_all()

    # ---- making ----
    def block(self, depth, loop):
        return [self.statement(depth, loop) for _ in range(self.rng.randint(1, 3))]

    def statement(self, depth, loop):
        rng = self.rng
        if depth <= 0 or rng.random() < 0.25:
            self.probes += 1
            return ("probe",)
        r = rng.random()
        if r < 0.4:
            f = rng.choice(FORMATS)
            head = rng.choice(HEADS) if rng.random() < 0.4 else ""
            if f in ("decimal(3)", "mp(70)", "rational") and head not in ("", " round up", " reproducible"):
                head = ""
            if f == "rational":
                head = ""
            return ("precision", f, head, self.block(depth - 1, loop))
        if r < 0.47:
            return ("autocast", rng.choice(["bf16", "f16"]), self.block(depth - 1, loop))
        if r < 0.6:
            return ("for", rng.randint(1, 3), self.block(depth - 1, True))
        if r < 0.7:
            return ("try", self.block(depth - 1, loop), self.block(depth - 2, loop))
        if r < 0.78 and self.functions:
            return ("call", rng.randrange(len(self.functions)))
        if r < 0.84:
            return ("lambda", self.block(depth - 2, False))
        how = rng.choice(ESCAPES if loop else ESCAPES[2:])
        return ("when", rng.randint(1, 3), how, rng.choice(ERRORS))

    # ---- text ----
    def lines(self, block, tab):
        out = []
        for s in block:
            kind = s[0]
            if kind == "probe":
                out.append(tab + "probe()")
            elif kind == "precision":
                out += [f"{tab}precision {s[1]}{s[2]} {{", *self.lines(s[3], tab + "  "), tab + "}"]
            elif kind == "autocast":
                out += [f"{tab}autocast {s[1]} {{", *self.lines(s[2], tab + "  "), tab + "}"]
            elif kind == "for":
                out += [f"{tab}for k in 0:{s[1]} {{", *self.lines(s[2], tab + "  "), tab + "}"]
            elif kind == "try":
                out += [tab + "try {", *self.lines(s[1], tab + "  "), tab + "} catch e {", *self.lines(s[2], tab + "  "), tab + "}"]
            elif kind == "call":
                out.append(f"{tab}escape_NUMBER_{s[1]}(n + 1)")
            elif kind == "lambda":
                out += [f"{tab}(() -> {{", *self.lines(s[1], tab + "  "), tab + "})()"]
            else:
                out.append(f"{tab}if n % 3 < {s[1]} {{ {s[3] if s[2] == 'error' else s[2]} }}")
        return out

    def script(self, number):
        out = []
        for n, block in enumerate(self.functions):
            out += [f"fn escape_{number}_{n}(n) {{", *self.lines(block, "  "), "}"]
        last = len(self.functions) - 1
        out.append(f'print("@{number}")')
        out.append(f"try {{ escape_{number}_{last}(0) }} catch e {{ probe() }}")
        out.append(f"probe(); precision e4m3 {{ for q in 0:2 {{ try {{ escape_{number}_{last}(q) }} catch e {{ probe() }} }}; probe() }}; probe()")
        out.append('print("@end")')
        return "\n".join(out).replace("NUMBER", str(number)) + "\n"

    # ---- the model ----
    def walk_all(self):
        last = len(self.functions) - 1
        outside, inside = (None, None), ("e4m3", None)
        self.attempt(last, 0, outside)
        self.probe(outside)
        for q in range(2):
            self.attempt(last, q, inside)
        self.probe(inside)
        self.probe(outside)

    def attempt(self, f, n, scope):
        try:
            self.function(f, n, scope)
        except Leave:
            self.probe(scope)

    def function(self, f, n, scope):
        try:
            self.walk(self.functions[f], n, scope)
        except Leave as leave:
            if leave.how == "error":
                raise

    def probe(self, scope):
        fmt, cast = scope
        literal = SHOWN.get(fmt, fmt) or "f64"
        self.log.append(f"{literal} {cast or literal}")
        self.work += 1
        if self.work > 300:
            raise OverflowError

    def walk(self, block, n, scope):
        for s in block:
            kind = s[0]
            if kind == "probe":
                self.probe(scope)
            elif kind == "precision":
                self.walk(s[3], n, (s[1], None))
            elif kind == "autocast":
                self.walk(s[2], n, (None, s[1]))
            elif kind == "for":
                for _ in range(s[1]):
                    try:
                        self.walk(s[2], n, scope)
                    except Leave as leave:
                        if leave.how == "break":
                            break
                        if leave.how != "continue":
                            raise
            elif kind == "try":
                try:
                    self.walk(s[1], n, scope)
                except Leave as leave:
                    if leave.how != "error":
                        raise
                    self.walk(s[2], n, scope)
            elif kind == "call":
                self.function(s[1], n + 1, scope)
            elif kind == "lambda":
                try:
                    self.walk(s[1], n, scope)
                except Leave as leave:
                    if leave.how == "error":
                        raise
            elif n % 3 < s[1]:
                raise Leave(s[2])


HEAD = """fn probe() { print(dtype(0.5), dtype([1.0, 2.0] @ [1.0, 2.0])) }
"""


def make(rng):
    while True:
        try:
            return Escape(rng)
        except OverflowError:
            continue


def observed(stdout):
    """The probes of each program."""
    found, lines = {}, None
    for line in stdout.splitlines():
        if line == "@end":
            lines = None
        elif line.startswith("@"):
            lines = found[line[1:]] = []
        elif lines is not None:
            lines.append(line)
    return found
