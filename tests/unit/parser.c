/* Parser: printing and parsing again gives the same tree, formatting twice changes nothing
 * and keeps the tree, precedence, completeness of lines, slots, and every syntax error
 * with its place. */
#include "core/base/error.h"
#include "core/base/mem.h"
#include "parser/parse.h"

#include <stdio.h>
#include <string.h>

static Ctx ctx;
static Names names;
static int passed, failed;
static InterruptFlag interrupt;

static void check(bool good, const char *what, const char *text, const char *got)
{
    if (good) {
        passed++;
        return;
    }
    failed++;
    printf("FAILED %s: %s\n%s\n", what, text, got ? got : "");
}

/* NULL and the rendered error in `error` if the text is wrong. */
static Chunk *parse(const char *text, bool resolve, Buf *error)
{
    ErrFrame frame;
    Source *volatile source = NULL;
    Chunk *volatile chunk = NULL;
    Globals globals;
    globals_init(&globals, &ctx);
    if (ERR_TRY(&ctx, &frame)) {
        source = source_new(&ctx, "t", text, strlen(text));
        chunk = parse_source(&ctx, &names, source);
        if (resolve)
            resolve_chunk(&ctx, &names, &globals, chunk);
        ERR_END(&ctx, &frame);
    } else {
        err_render(error, ctx.error);
        err_free(ctx.error);
        ctx.error = NULL;
        chunk_release(chunk);
        chunk = NULL;
    }
    globals_free(&globals);
    source_release(source);
    return chunk;
}

static bool same_name(const Node *a, const Node *b)
{
    return a->name == b->name;
}

static bool same(const Node *a, const Node *b)
{
    if (!a || !b)
        return a == b;
    int loose = NF_SEMICOLON | NF_TRAILING_COMMA;
    if (a->kind != b->kind || a->op != b->op || (a->flags | loose) != (b->flags | loose) ||
        !same_name(a, b) || a->count != b->count || a->text_len != b->text_len ||
        (a->text_len && memcmp(a->text, b->text, a->text_len)) ||
        (a->ops && memcmp(a->ops, b->ops, a->count - 1)))
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (!same(a->list[i], b->list[i]))
            return false;
    return same(a->a, b->a) && same(a->b, b->b) && same(a->c, b->c);
}

static void round_trip(const char *text)
{
    Buf error, printed, formatted, again;
    buf_init(&error, &ctx);
    buf_init(&printed, &ctx);
    buf_init(&formatted, &ctx);
    buf_init(&again, &ctx);
    Chunk *first = parse(text, false, &error);
    check(first != NULL, "parse", text, error.data);
    if (first) {
        for (uint32_t i = 0; i < first->root->count; i++) {
            print_node(&printed, first->root->list[i]);
            buf_putc(&printed, '\n');
        }
        Chunk *second = parse(buf_cstr(&printed), false, &error);
        bool good = second && same(first->root, second->root);
        /* help texts stand in comments, which print_node has not */
        check(good || strstr(text, "##"), "print and parse", text, buf_cstr(&printed));
        print_chunk(&formatted, first);
        Chunk *third = parse(buf_cstr(&formatted), false, &error);
        check(third && same(first->root, third->root), "format and parse", text,
              buf_cstr(&formatted));
        if (third)
            print_chunk(&again, third);
        check(strcmp(buf_cstr(&again), buf_cstr(&formatted)) == 0, "format twice", text,
              buf_cstr(&again));
        chunk_release(second);
        chunk_release(third);
    }
    chunk_release(first);
    buf_free(&error);
    buf_free(&printed);
    buf_free(&formatted);
    buf_free(&again);
}

static const char *const corpus[] = {
    "", "\n\n", "# only a comment", "x", "x;", "x = 1; y = 2;", "a, b = b, a", "a = b = c",
    "(a, b) = f()",
    "1_000 + 0xff - 0b1010 * 3.14e-8 / .5 // 1. % 2i @ 1.5e3i \\ x", "-2^-x^2",
    "!a & b | c", "√x + π",
    "u · v × w ⊗ z", "a ≤ b", "a ≈ b ≠ c ≥ d", "0 <= i < n", "not x in y", "x not in y and z or w",
    "x |> f(y) |> g", "A'' @ b'", "A[1:, :-1, ::2, ..., none, :, a:b:c, (n), 1::2]",
    "t.x.y[0](1).z'",
    "f(x, zs..., y=1)", "(1,)", "()", "(x=1, y=2)", "(x=1)", "[]", "[1, 2, 3,]",
    "[1, 2; 3, 4]", "[1, 2;]",
    "[[1, 2], [3, 4]]", "[a; b; c]", "[x^2 for x in 0:5]", "[x for x in v if x > 0]",
    "[a + b for (a, b) in v]",
    "[A[i,j] * B[j,k] for i, k]", "[i + j for i in 0:3, j in 0:4]", "x -> x^2",
    "(a, b=2, r...) -> a + b",
    "() -> { x = 1; x }", "x -> y -> x + y", "map(x -> { y = x\n y + 1 }, v)", "1:2:3",
    "a + 1:b - 1", "(1:2)[0]",
    "C[i,k] := A[i,j] * B[j,k]", "t := A[i,i]", "H[i,j] := 1/(i+j+1) for i in 0:5, j in 0:5",
    "sum[k in 1:n] 1/k^2 + 1", "max[k] a[k]*s", "x = (max)[k]",
    "max[0]; max[:]; max[k+1]; t.max[k]",
    "P[i,j] := exp(Q[i,d]*K[j,d]) / (sum[m] exp(Q[i,d]*K[m,d]))", "sum [i, j] A[i,j]",
    "x += 1; x -= 1; x *= 2; x /= 2; x //= 2; x %= 2; x @= A; x \\= A; x ^= 2; x &= m; x |= m; "
    "x[0] += 1; t.x += 1",
    "if a { 1 } else if b { 2 } else { 3 }", "x = if a < b { a } else { b } + 1",
    "if a {\n    b\n} else {\n    c\n}",
    "while true { break; continue }", "for i, x in enumerate(v) { print(i, x) }",
    "for (a, b) in v { }",
    "try { f() } catch e { throw e }", "try { f() } catch { }", "fn f() { }",
    "fn f(a, b=f(1), c...) { return a, b }",
    "## Help.\n## More.\nfn f(x) { x }", "## The answer.\nx = 42", "assert x == 1, \"why\"",
    "throw \"no\"",
    "test \"name\" { assert true }",
    "test = 1; as = 2; from = 3; against = test + as; accumulate = round",
    "import stats", "import stats as s", "import \"lib/poly.ric\" as poly",
    "import \"lib/poly.ric\"",
    "import hilb, vander from gallery", "import f from \"x.ric\"",
    "precision f32 { x }", "precision bf16 accumulate f32 { C = A @ B }",
    "precision f16 accumulate f16 round stochastic saturate flush reproducible { sum(x) }",
    "precision float(5, 3) saturate { x }", "precision (f) { x }", "precision m.f { x }",
    "autocast bf16 { y }",
    "on gpu fallback cpu { x }", "on cuda:1 strict { x }", "on sim.mps narrow verbose { x }",
    "on (d) { x }",
    "compare f64, f32, bf16, precision f16 accumulate f16 against mp(200) { solve(A, b) }",
    "lazy { x }",
    "explain C[i,k] := A[i,j] * B[j,k]", "explain as latex t := A[i,i]", "explain lazy { x }",
    "explain { x }",
    "explain A \\ b", "t = timeit A @ B", "timeit { A @ B }", "profile { x }",
    "profile to \"t.json\" { x }",
    "extern \"libm.so.6\" { double cbrt(double x); /* } */ // }\n struct s { char c; }; }",
    "extern \"x\" as y { }",
    "\"plain\"; \"a\\n\\t\\\\\\\"\\u{3bb}\"; \"{{}}\"; `raw {x} \\n`", "\"n = {n}, r = {x:.3e}\"",
    "\"{f(\"in {g(\"deep\")}\")}\"", "\"{a[1:2]} {(1:2)}\"", "t.in + t.if(1)",
    "x = [1,\n     2, # two\n     3]",
    "f(a,\n\n  # why\n  b)\n\n\n\ny = 1 # end", "x = a +\n    b", "fn f() { a\n b }", "x\r\ny\r\n",
    "\xEF\xBB\xBFx = 1", "f(x -> {\n    y\n}, [\n    1,\n    2\n])",
    "1.x; 1. + 2; f(1. ...); x.y", "a; ; b",
    "a -b; a - b; [a - b, -c]", "x = -1; f(x=-1, y=!z)", "sum[k] (x[k] + y[k])", "sum[i] [1, 2][i]",
    "#!/usr/bin/env ricci\nprint(1)", "x₁ = λ_y", "v = [1, 2, # a\n 3] # b",
    "!!x; --x; +-x", "a - -b",
};

/* What print_node shows with every operation in parentheses. */
static void bracket(Buf *out, const Node *n)
{
    char op[16];
    switch (n->kind) {
    case ND_BINARY: case ND_AND: case ND_OR: case ND_PIPE:
        snprintf(op, sizeof op, " %s ",
                 n->kind == ND_BINARY ? operator_symbol(n->op) : n->kind == ND_AND ? "and"
                                        : n->kind == ND_OR   ? "or" : "|>");
        buf_putc(out, '(');
        bracket(out, n->a);
        buf_puts(out, op);
        bracket(out, n->b);
        buf_putc(out, ')');
        break;
    case ND_COMPARE:
        buf_putc(out, '(');
        for (uint32_t i = 0; i < n->count; i++) {
            if (i)
                buf_printf(out, " %s ", operator_symbol(n->ops[i - 1]));
            bracket(out, n->list[i]);
        }
        buf_putc(out, ')');
        break;
    case ND_UNARY: case ND_NOT:
        buf_printf(out, "(%s ", n->kind == ND_NOT ? "not" : operator_symbol(n->op));
        bracket(out, n->a);
        buf_putc(out, ')');
        break;
    case ND_TRANSPOSE: buf_putc(out, '('); bracket(out, n->a); buf_puts(out, "')"); break;
    case ND_RANGE:
        buf_putc(out, '(');
        bracket(out, n->a);
        buf_putc(out, ':');
        bracket(out, n->b);
        buf_putc(out, ')');
        break;
    case ND_REDUCE: buf_printf(out, "(%s[] ", n->name->text); bracket(out, n->a); buf_putc(out,
        ')'); break;
    case ND_LAMBDA: buf_puts(out, "(-> "); bracket(out, n->a); buf_putc(out, ')'); break;
    default: print_node(out, n);
    }
}

static const char *const precedence[][2] = {
    { "a |> b or c", "(a |> (b or c))" }, { "a or b and c", "(a or (b and c))" },
    { "a and not b | c", "(a and (not (b | c)))" }, { "a | b & c", "(a | (b & c))" },
    { "A > 0 & A < 1", "((A > 0) & (A < 1))" }, { "a < b <= c", "(a < b <= c)" },
    { "not a in b", "(not (a in b))" },
    { "a not in b == c", "(a not in b == c)" }, { "a == b:c", "(a == (b:c))" },
    { "a + 1:b - 1", "((a + 1):(b - 1))" },
    { "a - b - c", "((a - b) - c)" }, { "a + b * c", "(a + (b * c))" },
    { "a * b @ c / d", "(((a * b) @ c) / d)" },
    { "a \\ b · c", "((a \\ b) · c)" }, { "-a * b", "((- a) * b)" }, { "-2^2", "(- (2 ^ 2))" },
    { "2^-x", "(2 ^ (- x))" }, { "2^-x^3 * y", "((2 ^ (- (x ^ 3))) * y)" },
    { "a^b^c", "(a ^ (b ^ c))" },
    { "√x^2", "(√ (x ^ 2))" }, { "√x * y", "((√ x) * y)" }, { "!a & b", "((! a) & b)" },
    { "-x'", "(- (x'))" },
    { "a^b'", "(a ^ (b'))" }, { "v' @ A @ v", "(((v') @ A) @ v)" },
    { "sum[i] a[i]*b[i] + 1", "((sum[] (a[i] * b[i])) + 1)" },
    { "2 * max[k] a[k]*s", "(2 * (max[] (a[k] * s)))" },
    { "-sum[k] a[k] * b", "(- (sum[] (a[k] * b)))" },
    { "sum[k] sum[l] a[k,l] - 1", "((sum[] (sum[] a[k, l])) - 1)" },
    { "x -> x + 1 |> f", "(-> ((x + 1) |> f))" },
    { "a |> x -> x and y", "(a |> (-> (x and y)))" }, { "a // b % c", "((a // b) % c)" },
    { "a - -b", "(a - (- b))" },
    { "a × b ⊗ c", "((a × b) ⊗ c)" }, { "a ≈ b + c", "(a ≈ (b + c))" },
};

static void check_precedence(const char *text, const char *expected)
{
    Buf out;
    buf_init(&out, &ctx);
    Chunk *c = parse(text, false, &out);
    if (c)
        bracket(&out, c->root->list[0]);
    check(strcmp(buf_cstr(&out), expected) == 0, "precedence", text, buf_cstr(&out));
    chunk_release(c);
    buf_free(&out);
}

static const struct { const char *text; bool incomplete; } lines[] = {
    { "x", false }, { "f(", true }, { "f(1,", true }, { "[1, 2", true }, { "fn f() {", true },
    { "fn f() { }", false },
    { "x =", true }, { "x +", true }, { "x ->", true }, { "C[i] :=", true }, { "a,", true },
    { "not", true },
    { "A'", false }, { "`raw", true }, { "\"open", false }, { "if a { 1 }", false },
    { "if a { 1 } else {", true },
    { "# f(", false }, { "x = 1 # + ", false }, { "x + # more", true }, { "extern \"x\" {", true },
    { ")", false },
    { "\"{f(", false }, { "x |>", true }, { "a in", true }, { "x:", true }, { "x;", false },
    { "", false },
    { "(1 + 2\ny = 3", false }, { "\"{x}\"", false }, { "f(\n\n", true }, { "{ a: 1", true },
    { "len(A", true }, { "len(A\n)", false }, { "x = $ (", false }, { "f(1,\nfn g() { }", false },
    { "f(“a”", false },
    { "x = 3 +\xC2\xA0", true }, { "if a:", true }, { "]", false }, { "(]", false },
    { "f(1))", false },
    { "x = /* open (", false }, { "\"\"\"open", false }, { "for i in 0:3 {\n if i {\n}", true },
};

/* Text, then what the rendered error must contain, in this order. */
static const char *const mistakes[][4] = {
    { "x = 1 && 2", "`&&` is not an operator", "t:1:7",
      "`and` joins two conditions, & works on every element: x = 1 and 2" },
      { "a || b", "`||`", "t:1:3", "`or`" },
    { "x = a ** b", "`**`", "t:1:7", "^" }, { "a === b", "`===`", "t:1:3", "a == b" },
    { "a ~= b", "`~=`", "t:1:3", "!=" },
    { "x = 'abc'", "double quotes", "t:1:5", "\"abc\"" }, { "x++", "`++`", "t:1:2", "x += 1" },
    { "A.*B", "`.*`", "t:1:2", "every element" }, { "1..2", "`..`", "t:1:2", "1:2" },
    { "a ? b", "`?`", "t:1:3", "if a" },
    { "if a { 1 } elif b { 2 }", "`elif`", "t:1:12", "else if" },
    { "if x then { 1 }", "expected {", "t:1:6", "braces" },
    { "def f(x):", "directly after `def`", "t:1:5", "fn f(x)" },
    { "function f(x) { }", "`function`", "t:1:10", "fn f(x)" },
    { "x = lambda y: y", "`lambda`", "t:1:12", "x = y -> y" },
    { "print x", "`x` directly after `print`", "t:1:7", "print(x)" },
    { "f x", "directly after", "t:1:3", "" }, { "sin x", "directly after", "t:1:5", "sin(x)" },
    { "2x", "`2x` is not a number", "t:1:1", "2*x" }, { "2π", "`π`", "t:1:2", "2*π" },
    { "x = (1 + 2\ny = 3", "this ( is never closed", "t:1:5", "x = (1 + 2)" },
    { "f(1, 2", "never closed", "t:1:2", "" },
    { "fn f() {\n x", "this { is never closed", "t:1:8", "" },
    { "x = (1, 2]", "this ]", "t:1:10", "" },
    { "x = )", "closes nothing", "t:1:5", "" }, { "x = 1 +", "after `+`", "t:1:8", "" },
    { "[1 -2]", "one element or two", "t:1:4", "`1, -2` for two elements, `1 - 2`" },
    { "[a +2 for a in v]", "one element or two", "t:1:4", "`a, +2`" },
    { "\"abc", "not closed", "t:1:1", "backticks" },
    { "\"a {x\"", "this { in a string", "t:1:4", "{{" }, { "\"a } b\"", "a lone }", "t:1:4", "}}" },
    { "\"{}\"", "after the { of the string", "t:1:3", "" }, { "\"\\q\"", "escape", "t:1:2", "raw" },
    { "`abc", "raw string", "t:1:1", "" },
    { "fn f(x)\n{ }", "the { stands", "t:1:8", "end of this line" },
    { "for i = 1:3 { }", "expected `in`", "t:1:7", "for i in 1:4 { }" },
    { "if x = 1 { }", "cannot assign", "t:1:6", "==" },
    { "x = {a: 1}", "found `{`", "t:1:5", "x = (a=1)" },
    { "sum[k]", "nothing to reduce", "t:1:1", "(sum)[…]" },
    { "1 = x", "can be assigned", "t:1:1", "" },
    { "f(x) = x + 2", "can be assigned", "t:1:1", "f = x -> x + 2" },
    { "f(x) = 2", "can be assigned", "t:1:1", "f[x] = 2" },
    { "f().x = 2", "of a variable", "t:1:1", "" },
    { "(a, 1) -> 2", "a parameter is a name", "t:1:5", "" },
    { "f(x=1, 2)", "after a named one", "t:1:8", "" }, { "f(x=1, x=2)", "twice", "t:1:8", "" },
    { "fn f(a, a) { }", "stands twice", "t:1:9", "" },
    { "fn f(a=1, b) { }", "without a default", "t:1:11", "" },
    { "fn f(r..., b) { }", "is the last one", "t:1:6", "" },
    { "(xs...)", "only in a call", "t:1:2", "" },
    { "break", "outside a loop", "t:1:1", "" }, { "return 1", "outside a function", "t:1:1", "" },
    { "precision f32 fast { }", "fast is no modifier", "t:1:15", "" },
    { "precision f32 round up2 { }", "rounding modes", "t:1:21", "" },
    { "on gpu saturate { }", "no modifier of a device", "t:1:8", "" },
    { "import a, b", "one module", "t:1:1", "" },
    { "from a import b", "directly after `from`", "t:1:6", "import b from a" },
    { "// c", "cannot start", "t:1:1", "#" },
    { "f(x for x in y)", "`for`", "t:1:5", "f([x for x in y])" },
    { "x[1:2:3:4]", "start:stop:step", "t:1:8", "" },
    { "x[]", "found `]`", "t:1:3", "" }, { "let x = 3", "after `let`", "t:1:5", "x = 3" },
    { "x\n|> f", "cannot start", "t:2:1", "line before" },
    { "a.1", "directly after `a`", "t:1:2", "t[0]" }, { "x = $", "`$` (U+0024)", "t:1:5", "" },
    { "x\x01", "control", "t:1:2", "" },
    { "x = \xFF", "0xff is not valid UTF-8", "t:1:5", "UTF-8" },
    { "a = b\xE2\x80\x8B+ c", "an invisible space", "t:1:6", "a = b+ c" },
    { "a = b \xE2\x80\x93 c", "an en dash", "t:1:7", "a = b - c" },
    { "x = 1 1\ny = 2 2", "t:1:7", "error[syntax]", "t:2:7" },
    { "f(1 1\nx = 2 2", "t:1:2", "", "t:2:7" },
};

static void check_mistake(const char *const *row)
{
    Buf error;
    buf_init(&error, &ctx);
    Chunk *c = parse(row[0], true, &error);
    const char *at = buf_cstr(&error);
    for (int i = 1; i < 4 && at; i++)
        at = strstr(at, row[i]);
    check(!c && at, "mistake", row[0], buf_cstr(&error));
    chunk_release(c);
    buf_free(&error);
}

static void check_lines(void)
{
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        check(parse_incomplete(&ctx, lines[i].text, strlen(lines[i].text)) == lines[i].incomplete,
              "incomplete", lines[i].text, NULL);
}

static void check_deep(const char *head, const char *part, int times, const char *tail)
{
    Buf text, error;
    buf_init(&text, &ctx);
    buf_init(&error, &ctx);
    buf_puts(&text, head);
    for (int i = 0; i < times; i++)
        buf_puts(&text, part);
    buf_puts(&text, tail);
    Chunk *c = parse(buf_cstr(&text), true, &error);
    bool clear = strstr(buf_cstr(&error), "nested too deeply") ||
                 strstr(buf_cstr(&error), "never closed");
    check(c || clear, "deep", part, buf_cstr(&error));
    chunk_release(c);
    buf_free(&text);
    buf_free(&error);
}

static const Node *find(const Node *n, NodeKind kind, const char *name)
{
    if (!n || (n->kind == kind && (!name || strcmp(n->name->text, name) == 0)))
        return n;
    const Node *found = find(n->a, kind, name);
    found = found ? found : find(n->b, kind, name);
    found = found ? found : find(n->c, kind, name);
    for (uint32_t i = 0; !found && i < n->count; i++)
        found = find(n->list[i], kind, name);
    return found;
}

/* Scope of the first NAME `name` inside the first node of `kind`. */
static void check_scope(const char *text, NodeKind kind, const char *name, int scope, int slot)
{
    Buf error;
    char got[64] = "";
    buf_init(&error, &ctx);
    Chunk *c = parse(text, true, &error);
    const Node *n = c ? find(find(c->root, kind, NULL), ND_NAME, name) : NULL;
    if (n)
        snprintf(got, sizeof got, "scope %d slot %d", n->scope, n->slot);
    check(n && n->scope == scope && (slot < 0 || n->slot == slot), "scope", text,
          n ? got : error.data);
    chunk_release(c);
    buf_free(&error);
}

static void check_scopes(void)
{
    check_scope("x = 1", ND_ASSIGN, "x", SCOPE_GLOBAL, 0);
    check_scope("fn f(a, b) { a + b }", ND_BINARY, "b", SCOPE_LOCAL, 1);
    check_scope("fn f(a) { f(a - 1) }", ND_CALL, "f", SCOPE_SELF, -1);
    check_scope("fn f(a) { f = 1; f + a }", ND_BINARY, "f", SCOPE_LOCAL, 1);
    check_scope("fn f(a) { g + a }", ND_BINARY, "g", SCOPE_GLOBAL, -1);
    check_scope("fn f(a) { x = 1; y -> x + y }", ND_LAMBDA, "x", SCOPE_LOCAL, 1);
    check_scope("fn f(a) { y -> f(y) }", ND_LAMBDA, "f", SCOPE_LOCAL, 1);
    check_scope("x = 1; test \"t\" { x += 1 }", ND_OPASSIGN, "x", SCOPE_LOCAL, 0);
    check_scope("fn f() { x += 1 }", ND_OPASSIGN, "x", SCOPE_FOREIGN, -1);
    check_scope("fn f() { A[0] = 1 }", ND_ASSIGN, "A", SCOPE_FOREIGN, -1);
    check_scope("fn f(a) { g = () -> { a += 1 } }", ND_OPASSIGN, "a", SCOPE_FOREIGN, -1);
    check_scope("[k + 1 for k in 0:3]", ND_BINARY, "k", SCOPE_LOCAL, -1);
    check_scope("k = 1; [k for k in 0:3]; -k", ND_UNARY, "k", SCOPE_GLOBAL, 0);
    check_scope("C[i] := A[i,j] * b[j] + n", ND_DEFINE, "i", SCOPE_NONE, -1);
    check_scope("C[i] := A[i,j] * b[j] + n", ND_DEFINE, "j", SCOPE_NONE, -1);
    check_scope("C[i] := A[i,j] * b[j] + n", ND_DEFINE, "n", SCOPE_GLOBAL, -1);
    check_scope("C[i] := A[i,(m)]", ND_DEFINE, "m", SCOPE_GLOBAL, -1);
    check_scope("s = sum[k in 0:n] x[k]", ND_REDUCE, "k", SCOPE_NONE, -1);
    check_scope("s = sum[k in 0:n] x[k]", ND_REDUCE, "n", SCOPE_GLOBAL, -1);
    check_scope("fn f() { for i in v { i } }", ND_FOR, "i", SCOPE_LOCAL, 0);
    check_scope("fn f() { try { 1 } catch e { e } }", ND_TRY, "e", SCOPE_LOCAL, 0);
}

static void check_help(void)
{
    Buf error;
    buf_init(&error, &ctx);
    Chunk *c = parse("## not this\n\n## One.\n##  Two.\nfn f(x) { x }\n# no\ny = 1", false, &error);
    const Node *f = c ? c->root->list[0] : NULL;
    check(f && f->text && strcmp(f->text, "One.\n Two.") == 0, "help", "fn", f ? f->text : NULL);
    check(c && !c->root->list[1]->text, "help", "plain comment", NULL);
    chunk_release(c);
    c = parse("e\xCC\x81 = 1; \xC3\xA9 = \xE2\x84\xAB + \xC3\x85", false, &error);
    check(c && c->root->list[0]->a->name == c->root->list[1]->a->name, "NFC",
          "combining accent", NULL);
    check(c && c->root->list[1]->b->a->name == c->root->list[1]->b->b->name, "NFC",
          "angstrom", NULL);
    chunk_release(c);
    buf_free(&error);
}

int main(void)
{
    mem_init(&ctx);
    ctx.interrupt = &interrupt;
    names_init(&names, &ctx);
    for (size_t i = 0; i < sizeof corpus / sizeof *corpus; i++)
        round_trip(corpus[i]);
    for (size_t i = 0; i < sizeof precedence / sizeof *precedence; i++)
        check_precedence(precedence[i][0], precedence[i][1]);
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
        check_mistake(mistakes[i]);
    check_lines();
    check_scopes();
    check_help();
    check_deep("x = ", "(", 100000, "");
    check_deep("x = ", "[", 100000, "1");
    check_deep("x = a", " + a", 1000000, "");
    check_deep("x = ", "-", 100000, "1");
    check_deep("x = a", " < a", 20000, "");
    check_deep("", "if a {\n", 20000, "");
    check_deep("", "# c\n", 20000, "");
    names_free(&names);
    check(ctx.mem.live == 0, "leak", "all memory is given back", NULL);
    mem_shutdown(&ctx);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
