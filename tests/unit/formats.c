/* Every row of the registry in every kind of format, inside a scope and on operands of the format
 * outside of one: a result or a clean error, never a crash. What the results are is tested by
 * tests/lang/precision and the arithmetic's own tests. */
#include "core/base/error.h"
#include "interp/op/optable.h"
#include "interp/precision/precise.h"
#include "interp/life.h"
#include "interp/eval/module.h"
#include "interp/show/show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int passed, failed;

static void check(bool ok, const char *what, const char *header, const char *detail)
{
    if (ok) {
        passed++;
        return;
    }
    failed++;
    printf("FAILED %s in %s: %s\n", what, header, detail);
}

static const struct { const char *header, *cast;
} formats[] = {
    { "bf16", "bf16" },
    { "f16 accumulate f16", "f16" },
    { "e4m3", "e4m3" },
    { "e2m1", "e2m1" },
    { "float(6, 9) round up", "float(6, 9)" },
    { "decimal(3)", "decimal(3)" },
    { "mp(100)", "mp(100)" },
    { "rational", "rational" },
    { "interval", "interval" },
    { "f32 round stochastic", "f32" },
    { "f64 round zero", "f64" },
    { "f32", "f32" },
    { "f64", "f64" },
    { "f64 reproducible", "f64" },
    { "bf16 saturate flush", "bf16" },
};
enum { FORMATS = sizeof formats / sizeof formats[0], POOL = 8, ARGS = 3 };

/* Rows that touch files, the terminal or the process. */
static bool skipped(const Op *op)
{
    static const char *const names[] = {
        "exit",  "save", "load", "write", "read", "lines", "help",
        "print", "env",  "args", "warn",  "time", "input", "seed"
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(op->name, names[i]) == 0)
            return true;
    return false;
}

/* The text's value; V_UNDEF and the message in `error` where it fails. Rooted. */
static Value run(Interp *in, const char *text, char *error, size_t cap)
{
    Guard g;
    *error = '\0';
    guard_enter(in, &g);
    if (ERR_TRY(&in->ctx, &g.frame)) {
        Value v = run_text(in, in->main, "<test>", text, strlen(text));
        ERR_END(&in->ctx, &g.frame);
        guard_restore(in, &g);
        v_push(in, v);
        buf_clear(&in->out);
        return v;
    }
    guard_restore(in, &g);
    snprintf(error, cap, "%s", in->ctx.error->message);
    buf_clear(&in->out);
    return v_undef();
}

/* ---- the list ---- */
/* Rows of numbers say (Op.format) what they do; these compute nothing with them. */
static void test_list(Interp *in)
{
    for (int i = 0; i < op_count(in); i++) {
        const Op *op = op_row(in, i);
        bool exempt = strcmp(op->name, "einsum_path") == 0 || strcmp(op->name, "load") == 0;
        if (op->cls != OPC_EW && op->dtypes && !exempt)
            check(op->format != NULL, op->name, "its row", "has no form");
    }
}

/* ---- the examples ---- */
static void test_examples(Interp *in)
{
    char text[1200], error[400];
    for (int f = 0; f < FORMATS; f++)
        for (int i = 0; i < op_count(in); i++) {
            const Op *op = op_row(in, i);
            Value *mark = in->sp;
            if (skipped(op) || !op->example)
                continue;
            snprintf(text, sizeof text, "precision %s { %s }", formats[f].header, op->example);
            Value v = run(in, text, error, sizeof error);
            check(v.tag != V_UNDEF || *error, op->name, formats[f].header, "no value and no error");
            check(in->scope == NULL, op->name, formats[f].header, "the scope was not left");
            stack_cut(in, mark);
        }
}

/* ---- operands of the format ---- */
static bool call(Interp *in, const Op *op, Value *args, int n, char *error, size_t cap)
{
    Guard g;

    *error = '\0';
    guard_enter(in, &g);
    if (ERR_TRY(&in->ctx, &g.frame)) {
        Value v = op_call(in, op, args, n, 0);
        v_push(in, v);
        show_repr(in, &in->out, v);
        ERR_END(&in->ctx, &g.frame);
    } else {
        snprintf(error, cap, "%s", in->ctx.error->message);
    }
    guard_restore(in, &g);
    buf_clear(&in->out);
    return *error == '\0';
}

/* Every way to fill the parameters that a row must have from the pool. */
static void test_row(Interp *in, const Op *op, const Value *pool, const char *where)
{
    char error[400];
    Value args[ARGS];
    int n = op_sig(in, op)->required, ways = 1;
    if (n == 0 && op_sig(in, op)->variadic)
        n = 2;
    if (n > ARGS || n == 0)
        return;
    for (int i = 0; i < n; i++)
        ways *= POOL;
    for (int w = 0; w < ways; w++) {
        for (int i = 0, rest = w; i < n; i++, rest /= POOL)
            args[i] = pool[rest % POOL];
        bool ok = call(in, op, args, n, error, sizeof error);
        check(ok || *error, op->name, where, "neither a result nor a message");
    }
}

static void make_pool(Interp *in, const char *format, Value *pool)
{
    static const char *const values[POOL] = {
        "2.5", "[1.5, 0.5, 3]", "[4, 1; 1, 3]",    "[]",
        "3",   "[2, 1, 3]",     "[1.0, 2.0, 3.0]", "[1+2i, 3-1i]"
    };
    char text[200], error[400];
    for (int i = 0; i < POOL; i++) {
        bool pairs = i == POOL - 1;             /* mp, decimal … have none: ordinary ones then */
        const char *how = i < 4 ? "cast(%s, %s)" : pairs ? "precision %2$s { 1 * %1$s }" : "%s";
        snprintf(text, sizeof text, how, values[i], format);
        pool[i] = run(in, text, error, sizeof error);
        if (pairs && pool[i].tag == V_UNDEF)
            pool[i] = run(in, values[i], error, sizeof error);
        check(pool[i].tag != V_UNDEF, text, format, error);
    }
}

static void test_operands(Interp *in, bool inside)
{
    for (int f = 0; f < FORMATS; f++) {
        Value pool[POOL], *mark = in->sp;
        char error[400];
        make_pool(in, formats[f].cast, pool);
        Value format = run(in, formats[f].cast, error, sizeof error);
        if (format.tag != V_FORMAT)
            continue;
        Scope s = scope_of(v_format_dtype(format));
        for (int i = 0; i < op_count(in); i++) {
            if (skipped(op_row(in, i)))
                continue;
            if (inside)
                scope_enter(in, &s);
            test_row(in, op_row(in, i), pool, formats[f].cast);
            if (inside)
                scope_leave(in, &s);
        }
        stack_cut(in, mark);
    }
}

int main(void)
{
    Interp *in = interp_new();
    test_list(in);
    test_examples(in);
    test_operands(in, true);
    test_operands(in, false);
    interp_free(in);
    printf("%d passed, %d failed\n", passed, failed);
    return failed ? 1 : 0;
}
