/* The evaluator through the C interface: values of programs, error kinds, that errors
 * leave the value stack and the memory account as they were, interrupts, tests. */
#include "interp/state/interp.h"
#include "interp/life.h"
#include "interp/eval/module.h"
#include "interp/show/show.h"

#include <stdio.h>
#include <string.h>

static int passed, failed;

static void check(bool ok, const char *what, const char *got)
{
    if (ok) {
        passed++;
        return;
    }
    failed++;
    printf("FAIL %s: got %s\n", what, got);
}

/* Runs text in the module; the value as print shows it, or `error kind`. */
static const char *outcome(Interp *in, Module *m, const char *text)
{
    static char kept[512];
    Buf out;
    Guard g;
    buf_init(&out, &in->ctx);
    guard_enter(in, &g);
    if (ERR_TRY(&in->ctx, &g.frame)) {
        v_push(in, run_text(in, m, "<test>", text, strlen(text)));
        show_value(in, &out, in->sp[-1]);
        stack_cut(in, in->sp - 1);
        ERR_END(&in->ctx, &g.frame);
    } else {
        guard_restore(in, &g);
        buf_printf(&out, "error %s", err_kind_name(in->ctx.error->kind));
    }
    snprintf(kept, sizeof kept, "%s", buf_cstr(&out));
    buf_free(&out);
    return kept;
}

static const struct { const char *text, *value; } programs[] = {
    { "1 + 2", "3" },
    { "x = 5", "none" },
    { "x = 5; x * 2", "10" },
    { "if true { 1 } else { 2 }", "1" },
    { "fn f(n) { if n < 2 { return n }; return f(n-1) + f(n-2) }; f(15)", "610" },
    { "fn f(n) { if n < 0 { return 0 }; if n == 0 { k = 4; return k }; n }; (f(-1), f(0), f(9))",
      "(0, 4, 9)" },
    { "s = 0; for i in 0:5 { s += i }; s", "10" },
    { "s = 0; for i in 0:9223372036854775807 { if i == 3 { break }; s += i }; s", "3" },
    { "n = 0; for i in 9223372036854775800:9223372036854775807:5 { n += 1 }; n", "2" },
    { "9223372036854775807 + 1", "error value" },
    { "9223372036854775808", "error value" },
    { "-9223372036854775808", "-9223372036854775808" },
    { "missing", "error name" },
    { "missing + 1", "error name" },
    { "1 + missing", "error name" },
    { "fn g() { y = z; z = 1 }; g()", "error name" },
    { "(x -> x)(1, 2)", "error type" },
    { "3(4)", "error type" },
    { "if 1 { 2 }", "error type" },
    { "for i in 5 { }", "error type" },
    { "0:1.5", "error type" },
    { "0:5:0", "error value" },
    { "a, b = (1, 2, 3)", "error value" },
    { "throw 1", "error throw" },
    { "assert false", "error assert" },
    { "import no_such_module", "error io" },
    { "precision 32 { 1 }", "error syntax" }, { "precision \"f32\" { 1 }", "error syntax" },
    { "x = 32; precision x { 1 }", "error type" }, { "precision f99 { 1 }", "error name" },
    { "precision f16 { 1/3 }", "0.3333" }, { "precision rational { 0.1 + 1/3 }", "13/30" },
    { "precision decimal(3) { 2/3 } + 1", "1.67" },
    { "x = precision bf16 { dtype(0.1) }; (x, dtype(0.1))", "(bf16, f64)" },
    { "fn f(x) { precision f16 { if x { return dtype(1.0) }; 2 } }; (f(true), f(false), dtype(1.0))", "(f16, 2, f64)" },
    { "fn g() { 1/4.0 }; (dtype(g()), precision mp(70) { dtype(g()) }, dtype(g()))",
      "(f64, mp(70), f64)" },
    { "for k in 0:3 { precision bf16 { break } }; (k, dtype(1.0))", "(0, f64)" },
    { "try { precision bf16 { throw 1 } } catch e { dtype(1.0) }", "f64" },
    { "precision f32 { y = 0.5 }; dtype(y)", "f32" },
    { "x = 1; precision bf16 { x += 1/3 }; x", "1.336" },
    { "fn r(n) { r(n + 1) }; r(0)", "error memory" },
    { "fn r(n) { 1 + r(n + 1) }; try { r(0) } catch e { e.kind }", "memory" },
    { "A = [1, 2; 3, 4]; A[1, 0] = 9; A[1, 0] + A[-1, -1]", "13" },
    { "A = [1.5, 2]; B = A; B[0] = 0; A[0]", "1.5" },
    { "s = \"\"; for i in 0:5 { s += \"ab\" }; s", "ababababab" },
    { "[i * j for i in 0:2, j in 0:3][1, 2]", "2" },
    { "t = (a=1, b=(c=2,)); t.b.c += 5; t.b.c", "7" },
    { "x = 1; fn f() { x = 2; x }; f() + x", "3" },
    { "f = x -> y -> x + y; f(1)(2)", "3" },
    { "pi > 3 and 2 * pi < 7", "true" },
    { "sqrt(16.0) + sqrt(9)", "7.0" },
};

static void test_programs(void)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        Interp *in = interp_new();
        const char *got = outcome(in, in->main, programs[i].text);
        check(strcmp(got, programs[i].value) == 0, programs[i].text, got);
        check(in->sp == in->stack && !in->calls && in->fp == in->main->slots, programs[i].text,
              "a changed state");
        buf_clear(&in->out);
        interp_free(in);
    }
}

/* A program that fails half-way, again and again: nothing may stay behind. */
static const char *const failing[] = {
    "fn f(A) { B = A + 1; [B, B][7] }; f([1, 2, 3])",
    "x = \"text\" + string([1, 2] + [1, 2, 3])",
    "t = (1, \"a\", [1, 2, throw \"b\"])",
    "s = \"a{[1, 2]}b{missing}\"",
    "for v in [1, 2; 3, 4] { v[5] }",
    "try { throw [1, 2, 3] } catch e { throw e }",
    "[[1, 2][i] for i in 0:3]",
    "fn f(xs...) { xs[9] }; f([1], \"b\", ([2]...)...)",
    "A = [1, 2]; A[0] = [1, 2, 3]",
    "f = (x -> x + k); f([1, 2])",
};

static void test_leaks(void)
{
    Interp *in = interp_new();
    for (size_t i = 0; i < sizeof failing / sizeof *failing; i++) {
        const char *program = "fn once() { 1 }";
        outcome(in, in->main, program);
        char text[512];
        snprintf(text, sizeof text, "fn run() { %s }", failing[i]);
        outcome(in, in->main, text);
        size_t live = 0;
        for (int k = 0; k < 20; k++) {
            const char *got = outcome(in, in->main, "run()");
            if (k == 4)
                live = in->ctx.mem.live;
            if (k == 0)
                check(strncmp(got, "error", 5) == 0, failing[i], got);
        }
        size_t grown = in->ctx.mem.live > live ? in->ctx.mem.live - live : 0;
        char bytes[64];
        snprintf(bytes, sizeof bytes, "%zu bytes more", grown);
        check(grown < 15 * 4096, failing[i], bytes);      /* 15 chunks of `run()` are kept */
    }
    interp_free(in);
}

static void test_interrupt(void)
{
    Interp *in = interp_new();
    InterruptFlag flag = 1;
    in->ctx.interrupt = &flag;
    const char *got = outcome(in, in->main, "while true { }");
    check(strcmp(got, "error interrupt") == 0 && flag == 0, "interrupted loop", got);
    interp_free(in);
}

static void test_blocks(void)
{
    Interp *in = interp_new();
    outcome(in, in->main, "x = [1, 2]\n"
                          "test \"one\" { x[0] = 5; assert x[0] == 5 }\n"
                          "test \"two\" { assert x[0] == 1 }\n"
                          "test \"bad\" { assert x[1] == 3 }\n");
    check(module_test_count(in->main) == 3, "three tests", "another number");
    check(module_test_run(in, in->main, 0), "test one", "a failure");
    check(module_test_run(in, in->main, 1), "test two", "a failure");
    check(!module_test_run(in, in->main, 2), "test bad", "no failure");
    check(strcmp(module_test_name(in->main, 2), "bad") == 0, "its name",
          module_test_name(in->main, 2));
    interp_free(in);
}

int main(void)
{
    test_programs();
    test_leaks();
    test_interrupt();
    test_blocks();
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
