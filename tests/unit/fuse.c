/* Chains in one pass against their operations one after the other, bit for bit: every
 * elementwise row in every dtype, and random expressions over views, broadcast shapes and
 * mixed dtypes. A step that is assigned to a variable is an operation of its own, so the
 * same program in both forms runs both ways. And what a chain takes of memory. */
#include "interp/state/interp.h"
#include "kernels/elementwise/ew.h"
#include "interp/life.h"
#include "interp/eval/module.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_LENGTH = 9001, CHAINS = 600, OPS_MOST = 12 };

static int passed, failed;

static void check(bool good, const char *what)
{
    if (good) {
        passed++;
        return;
    }
    failed++;
    if (failed <= 20)
        printf("FAIL %s\n", what);
}

/* ---- comparing ---- */
static bool same_element(DType dt, const char *a, const char *b)
{
    int bytes = dtype_info(dt)->bytes;
    if (memcmp(a, b, (size_t)bytes) == 0)
        return true;
    if (dtype_info(dt)->kind == 'f')
        return isnan(element_f64(dt, a)) && isnan(element_f64(dt, b));
    if (dtype_info(dt)->kind != 'c')
        return false;
    DType real = dtype_real(dt);
    return same_element(real, a, b) && same_element(real, a + bytes / 2, b + bytes / 2);
}

static bool same_tensor(Ctx *ctx, Tensor *a, Tensor *b)
{
    if (a->dtype != b->dtype || a->rank != b->rank ||
        memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) != 0)
        return false;
    Tensor *x = tensor_compact(ctx, a), *y = tensor_compact(ctx, b);
    int bytes = dtype_info(a->dtype)->bytes;
    bool same = true;
    for (int64_t i = 0; i < x->size && same; i++)
        same = same_element((DType)a->dtype, x->data + i * bytes, y->data + i * bytes);
    tensor_release(ctx, x);
    tensor_release(ctx, y);
    return same;
}

static bool same_value(Interp *in, Value a, Value b)
{
    if (a.tag != b.tag)
        return false;
    if (a.tag == V_TENSOR)
        return same_tensor(&in->ctx, a.tensor, b.tensor);
    if (a.tag != V_FLOAT)
        return v_equal(in, a, b);
    return memcmp(&a.f, &b.f, sizeof a.f) == 0 || (isnan(a.f) && isnan(b.f));
}

static Value run(Interp *in, const char *text)
{
    return run_text(in, in->main, "<fuse>", text, strlen(text));
}

static void define(Interp *in, const char *text)
{
    v_release(&in->ctx, run(in, text));
}

/* An expression, and the same in steps that leave it in `t`: equal, or errors of one kind. */
static void compare(Interp *in, const char *expression, const char *steps)
{
    static char text[20000];
    snprintf(text, sizeof text,
             "(try { %s } catch e { e.kind }, try { %s\n t } catch e { e.kind })",
             expression, steps);
    Value both = run(in, text);
    check(both.tag == V_TUPLE && same_value(in, both.tuple->items[0], both.tuple->items[1]),
          expression);
    v_release(&in->ctx, both);
}

/* ---- every row in every dtype ---- */
static const char *const values[][2] = {
    { "bool", "x > 0" }, { "i8", "i8(x * 30)" }, { "u8", "u8(abs(x) * 60)" },
    { "i32", "i32(x * 40)" },
    { "i64", "i64(x * 40)" }, { "f16", "f16(x)" }, { "bf16", "bf16(x)" }, { "f32", "f32(x)" },
    { "f64", "x * 1" }, { "c64", "c64(x + 1i * x[::-1])" }, { "c128", "x + 1i * x[::-1]" }
};

static void test_row(Interp *in, EwOp op)
{
    char expression[400], steps[400];
    static const char *const rest[] = { "", ", b", ", b, a" };
    const char *name = ew_info[op].name, *more = rest[ew_info[op].arity - 1];
    snprintf(expression, sizeof expression, "where(m, %s(where(m, a, b)%s), %s(b%s))", name, more,
             name, more);
    snprintf(steps, sizeof steps,
             "t = where(m, a, b)\nu = %s(t%s)\nv = %s(b%s)\nt = where(m, u, v)", name,
             more, name, more);
    compare(in, expression, steps);
}

static void test_rows(Interp *in)
{
    char text[200];
    snprintf(text, sizeof text, "x = linspace(-4, 4, %d)\nm = x * 7 %% 2 > 1", ROW_LENGTH);
    define(in, text);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        snprintf(text, sizeof text, "a = %s\nb = a[::-1] | a", values[i][1]);
        if (i > 0)
            snprintf(text, sizeof text, "a = %s\nb = where(m, a, a[::-1])", values[i][1]);
        define(in, text);
        for (int op = 0; op < EW_COUNT; op++)
            test_row(in, (EwOp)op);
    }
}

/* ---- random chains ---- */
static uint64_t random_state = 88172645463325252u;

static unsigned dice(unsigned sides)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)((random_state >> 11) % sides);
}

static const char leaves_text[] =
    "M = reshape(linspace(-2, 3, 9600), (96, 100))\n"
    "N = f32(M * 0.7 + 0.1)\nH = f16(M)\nG = bf16(M * 3)\nI = i32(M * 100)\nK = u8(abs(M) * 50)\n"
    "B = M > 0.5\nv = linspace(0.1, 2, 100)\nw = reshape(linspace(1, 2, 96), (96, 1))\n"
    "P = reshape(linspace(0, 1, 9600), (100, 96))\nQ = linspace(-1, 1, 40000)\n"
    "L = reshape(Q, (200, 200))\nz = f32(v)\n";
/* The same of as many elements as a reduction folds without a tensor. */
static const char large_text[] =
    "M = reshape(linspace(-2, 3, 300000), (600, 500))\n"
    "N = f32(M * 0.7 + 0.1)\nH = f16(M)\nG = bf16(M * 3)\nI = i32(M * 100)\n"
    "K = u8(abs(M) * 50)\nB = M > 0.5\nv = linspace(0.1, 2, 500)\n"
    "w = reshape(linspace(1, 2, 600), (600, 1))\n"
    "P = reshape(linspace(0, 1, 300000), (500, 600))\nQ = linspace(-1, 1, 1200000)\n"
    "L = reshape(Q, (1200, 1000))\nz = f32(v)\n";
static const char *const leaves[] = {
    "M", "N", "H", "G", "I", "K", "B", "v", "w", "z", "P'", "M[::-1, ::-1]",
    "L[4:4 + len(M), ::2]", "L[::2, 1::2][0:len(M)]", "2", "0.5",
    "f32(1.5)", "3", "M", "N", "v", "w"
};

typedef struct Chain {
    char steps[16000];
    size_t length;
    int count, left;            /* variables so far; operations still allowed */
} Chain;

/* Gives what is computed a variable of its own, whose name goes to ref. */
static void step(Chain *c, const char *what, char *ref)
{
    c->length += (size_t)snprintf(c->steps + c->length, sizeof c->steps - c->length,
                                  "t%d = %s\n", c->count, what);
    sprintf(ref, "t%d", c->count++);
}

enum { REF = 32 };              /* a variable's name, or a leaf */

/* Writes an expression, adds its steps and tells where they leave it. */
static void grow(Chain *c, int depth, char *out, size_t cap, char *ref)
{
    static const char *const infix[] = { "+", "-", "*", "/", "+", "*" };
    static const char *const unary[] = { "-", "sqrt", "exp", "abs", "sin", "relu" };
    static const char *const calls[] = { "maximum(%s, %s)", "minimum(%s, %s)", "hypot(%s, %s)" };
    char a[2000], b[2000], x[REF], y[REF], what[3 * REF];
    if (depth == 0 || c->left <= 0) {
        const char *leaf = leaves[dice(sizeof leaves / sizeof leaves[0])];
        snprintf(out, cap, "%s", leaf);
        snprintf(ref, REF, "%s", leaf);
        return;
    }
    c->left--;
    grow(c, depth - 1, a, sizeof a, x);
    unsigned kind = dice(10), pick = dice(6);
    if (kind < 3) {
        snprintf(out, cap, "%s(%s)", unary[pick], a);
        snprintf(what, sizeof what, "%s(%s)", unary[pick], x);
        step(c, what, ref);
        return;
    }
    grow(c, (int)dice((unsigned)depth), b, sizeof b, y);
    if (kind < 8) {
        snprintf(out, cap, "(%s %s %s)", a, infix[pick], b);
        snprintf(what, sizeof what, "%s %s %s", x, infix[pick], y);
    } else if (kind == 8) {
        snprintf(out, cap, calls[pick % 3], a, b);
        snprintf(what, sizeof what, calls[pick % 3], x, y);
    } else {
        char mask[REF];
        snprintf(out, cap, "where(%s > %s, %s, M)", a, b, a);
        snprintf(what, sizeof what, "%s > %s", x, y);
        step(c, what, mask);
        snprintf(what, sizeof what, "where(%s, %s, M)", mask, x);
    }
    step(c, what, ref);
}

static void test_chains(Interp *in)
{
    static Chain c;
    static char expression[8000];
    define(in, leaves_text);
    for (int i = 0; i < CHAINS; i++) {
        c.length = 0;
        c.count = 0;
        c.left = 2 + (int)dice(OPS_MOST);
        char ref[REF];
        grow(&c, 5, expression, sizeof expression, ref);
        snprintf(c.steps + c.length, sizeof c.steps - c.length, "t = %s", ref);
        compare(in, expression, c.steps);
    }
}

/* ---- reductions of chains ---- */
static const char *const folds[] = {
    "sum", "prod", "mean", "min", "max", "argmin", "argmax", "any", "all", "count", "nansum"
};
enum { FOLDS = sizeof folds / sizeof folds[0], FOLDED = 40 };

static void compare_fold(Interp *in, const char *fold, const char *chain)
{
    static char expression[8100], steps[8100];
    snprintf(expression, sizeof expression, "%s(%s)", fold, chain);
    snprintf(steps, sizeof steps, "t = %s\nt = %s(t)", chain, fold);
    compare(in, expression, steps);
}

static void test_folds(Interp *in)
{
    static const char *const of[] = {
        "a * b", "abs(a - b)", "a > b", "sqrt(abs(a)) + b[0]", "where(a == b, a, b)", "a / 3"
    };
    static Chain c;
    static char chain[8000];
    char text[200], ref[REF];
    define(in, "x = linspace(-4, 4, 300001)\nm = x * 7 % 2 > 1");
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        snprintf(text, sizeof text, "a = %s\nb = a[::-1]", values[i][1]);
        define(in, text);
        for (size_t k = 0; k < FOLDS; k++)
            compare_fold(in, folds[k], of[(i + k) % (sizeof of / sizeof of[0])]);
    }
    define(in, large_text);
    for (int i = 0; i < FOLDED; i++) {
        c.length = 0;
        c.count = 0;
        c.left = 2 + (int)dice(5);
        grow(&c, 4, chain, sizeof chain, ref);
        compare_fold(in, folds[dice(FOLDS)], chain);
    }
}

/* ---- chains of links alone, which go over many strips at a time ---- */
typedef struct Sweep { const char *chain, *steps; } Sweep;
static const Sweep sweeps[] = {
    { "a * a", "t = a * a" },
    { "-a", "t = -a" },
    { "2.5 * a + 1.5 * b - 0.5", "t = 2.5 * a\nu = 1.5 * b\nt = t + u\nt = t - 0.5" },
    { "(a + b) * (a - b)", "t = a + b\nu = a - b\nt = t * u" },
    { "sqrt(abs(a * b)) / 3", "t = a * b\nt = abs(t)\nt = sqrt(t)\nt = t / 3" },
    { "(a - b)^2", "t = a - b\nt = t^2" },
    { "maximum(a * 2 - b, 0.25)", "t = a * 2\nt = t - b\nt = maximum(t, 0.25)" },
    { "(a + b) * (a + b) - a * b", "t = a + b\nt = t * t\nu = a * b\nt = t - u" },
    { "(a + b) * a - (a + b)", "u = a + b\nt = u * a\nt = t - u" },
    { "relu(a) - minimum(b, a)", "t = relu(a)\nu = minimum(b, a)\nt = t - u" },
};
enum { SWEEPS = sizeof sweeps / sizeof sweeps[0] };

static void compare_sweep(Interp *in, const Sweep *s, int which)
{
    static const char *const of[] = { "sum", "max", "mean", "min", "argmax" };
    char expression[300], steps[300];
    compare(in, s->chain, s->steps);
    for (int k = 0; k < 2; k++) {
        const char *fold = of[(which + 3 * k) % 5];
        snprintf(expression, sizeof expression, "%s(%s)", fold, s->chain);
        snprintf(steps, sizeof steps, "%s\nt = %s(t)", s->steps, fold);
        compare(in, expression, steps);
    }
}

static void test_sweeps(Interp *in)
{
    static const int lengths[] = { 4099, 32768, 70001, 200031 };
    static const char *const some[] = { "1 / 3", "-0.0", "where(x > 3.98, nan, -inf)" };
    char text[300];
    for (int i = 0; i < 24; i++) {
        const char *type = i % 2 ? "f32" : "f64";
        snprintf(text, sizeof text, "x = linspace(-3, 4, %d)\na = %s(where(x %% 1 > 0.4, %s, x))\n"
                 "b = %s(x[::-1] * 0.7)", lengths[i % 4], type, some[i % 3], type);
        define(in, text);
        for (int k = 0; k < SWEEPS; k++)
            compare_sweep(in, &sweeps[k], i + k);
    }
#ifndef RICCI_HOSTILE                           /* results past the cache */
    define(in, "a = linspace(-2, 3, 2100003)\nb = a[::-1] * 0.3");
    for (int k = 2; k < 6; k++)
        compare_sweep(in, &sweeps[k], k);
#endif
}

/* ---- memory ---- */
/* Bytes beyond what lived before, at the most. */
static size_t peak_of(Interp *in, const char *text)
{
    size_t before = in->ctx.mem.live;
    in->ctx.mem.peak = before;
    define(in, text);
    return in->ctx.mem.peak - before;
}

static void test_memory(Interp *in)
{
    define(in, "a = linspace(0, 1, 1000000)\nb = a + 1\nA = reshape(linspace(0, 1, 250000), (500, "
               "500))");
    size_t chain = peak_of(in, "r = sqrt(a*a + b*b) * exp(-a)");
    check(chain < 8100000, "a chain of a million takes its result and no more");
    size_t product = peak_of(in, "s = relu(A @ A + A[0]) * 2");
    check(product < 2100000, "a chain on a product runs in its memory");
#ifndef RICCI_HOSTILE                            /* where chains are computed step by step */
    size_t fold = peak_of(in, "s = sum(abs(a - b)) + max(a*b) + count(a > b)");
    check(fold < 1000000, "a reduction of a chain makes no tensor");
#endif
    check(in->fuse != NULL, "chains ran in one pass");
}

int main(void)
{
    if (!freopen("/dev/null", "w", stderr))       /* notices about nan, hundreds of them */
        return 2;
    Interp *in = interp_new();
    test_rows(in);
    test_chains(in);
    test_folds(in);
    test_sweeps(in);
    test_memory(in);
    interp_free(in);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
