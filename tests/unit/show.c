/* Printing: decimals of every float format, format specs against Python's, repr that
 * reads back. The layouts of tensors have golden files in tests/lang/print. */
#include "interp/life.h"
#include "interp/eval/module.h"
#include "interp/show/show.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int passed, failed;

static void check(bool ok, const char *what, const char *got, const char *want)
{
    if (ok) {
        passed++;
        return;
    }
    failed++;
    printf("FAIL %s: got \"%s\", expected \"%s\"\n", what, got, want);
}

static void check_text(const char *what, const char *got, const char *want)
{
    check(strcmp(got, want) == 0, what, got, want);
}

/* ---- decimals ---- */
static const char *text_of(double x, DType dt)
{
    static char text[DECIMAL_TEXT_MAX];
    Decimal d;
    decimal_shortest(&d, x, dt);
    decimal_text(text, &d, -4, 16);
    return text;
}

static void test_known(void)
{
    static const struct { double x; DType dt; const char *want; } known[] = {
        { 1, DT_F64, "1.0" }, { 0.1, DT_F64, "0.1" }, { 1e-5, DT_F64, "1e-5" },
        { 1e16, DT_F64, "1e16" }, { 1e15, DT_F64, "1000000000000000.0" },
        { 1e-4, DT_F64, "0.0001" }, { 1.25e-5, DT_F64, "1.25e-5" }, { 0, DT_F64, "0.0" },
        { -0.0, DT_F64, "-0.0" }, { INFINITY, DT_F64, "inf" }, { -INFINITY, DT_F64, "-inf" },
        { NAN, DT_F64, "nan" }, { 1e23, DT_F64, "1e23" }, { 9e15, DT_F64, "9000000000000000.0" },
        { 9007199254740993.0, DT_F64, "9007199254740992.0" },
        { 5e-324, DT_F64, "5e-324" },
        { 2.2250738585072014e-308, DT_F64, "2.2250738585072014e-308" },
        { 1.7976931348623157e308, DT_F64, "1.7976931348623157e308" },
        /* 2^-44: not the nearest 16 digits */
        { 5.684341886080802e-14, DT_F64, "5.684341886080802e-14" },
        { 1.0 / 3, DT_F64, "0.3333333333333333" }, { 0.1f, DT_F32, "0.1" },
        { 16777216, DT_F32, "16777216.0" }, { 1e-45, DT_F64, "1e-45" },
        { 1.401298464324817e-45, DT_F32, "1e-45" },
        { 3.4028234663852886e38, DT_F32, "3.4028235e38" },
        { 65504, DT_F16, "65500.0" }, { 5.960464477539063e-08, DT_F16, "6e-8" },
        { 0.0999755859375, DT_F16, "0.1" }, { 3.140625, DT_BF16, "3.14" },
        { 0.10009765625, DT_BF16, "0.1" }, { 3.3895313892515355e38, DT_BF16, "3.39e38" } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        check_text("decimal", text_of(known[i].x, known[i].dt), known[i].want);
}

static uint64_t random_bits(void)
{
    static uint64_t s = 88172645463325252u;
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return s;
}

/* Reads back, and no shorter precision of printf does. */
static void test_random_f64(void)
{
    int bad = 0;
    for (int i = 0; i < 200000; i++) {
        double x;
        uint64_t u = random_bits();
        if (i % 4 == 1)
            u &= 0xfff0000000000000u;              /* powers of two */
        if (i % 4 == 2)
            u = (u & 0x800fffffffffffffu) | (uint64_t)(1023 - 30 + i % 61) << 52;
        memcpy(&x, &u, sizeof x);
        if (!isfinite(x))
            continue;
        Decimal d;
        char longer[DECIMAL_TEXT_MAX];
        decimal_shortest(&d, x, DT_F64);
        bad += strtod(text_of(x, DT_F64), NULL) != x || d.count > 17;
        if (d.count > 1) {
            snprintf(longer, sizeof longer, "%.*e", d.count - 2, x);
            bad += strtod(longer, NULL) == x;
        }
    }
    check(bad == 0, "random f64", "not shortest", "shortest");
}

static void test_random_f32(void)
{
    int bad = 0;
    for (uint64_t u = 0; u < (uint64_t)1 << 32; u += 40009) {
        uint32_t bits = (uint32_t)u;
        float x;
        memcpy(&x, &bits, sizeof x);
        if (isfinite(x))
            bad += strtof(text_of(x, DT_F32), NULL) != x;
    }
    check(bad == 0, "f32", "does not read back", "reads back");
}

static void test_all_16_bits(void)
{
    int bad = 0;
    for (uint32_t h = 0; h < 65536; h++) {
        double f16 = f16_to_f32((uint16_t)h), bf16 = bf16_to_f32((uint16_t)h);
        if (isfinite(f16))
            bad += f64_to_f16(strtod(text_of(f16, DT_F16), NULL)) != h;
        if (isfinite(bf16))
            bad += f64_to_bf16(strtod(text_of(bf16, DT_BF16), NULL)) != h;
    }
    check(bad == 0, "f16 and bf16", "do not read back", "read back");
}

static void test_elements(void)
{
    static const struct { double x; int digits; const char *want; } known[] = {
        { 1, 5, "1.0" }, { 1.0 / 3, 5, "0.33333" }, { 0.5, 5, "0.5" }, { 1234.5678, 5, "1234.6" },
        { 387698.4375, 5, "387698.4" }, { 123456789.5, 5, "1.2346e8" }, { 44100, 5, "44100.0" },
        { 4249941696, 5, "4249941696.0" }, { 1e12, 5, "1e12" },
        { 1.1102230246251565e-16, 5, "1.1102e-16" },
        { 0.00012345678, 5, "0.00012346" }, { 0.99999999, 5, "1.0" }, { 2.0 / 3, 1, "0.7" },
        { 2.0 / 3, 17, "0.6666666666666666" }, { -0.0, 5, "-0.0" }, { NAN, 5, "nan" } };
    char text[DECIMAL_TEXT_MAX];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        decimal_element_text(text, known[i].x, DT_F64, known[i].digits, NULL);
        check_text("element", text, known[i].want);
    }
}

/* ---- format specs ---- */
static Buf out;

/* The text of v under spec, or "error" if it is refused. Takes v. */
static const char *formatted(Interp *in, Value v, const char *spec)
{
    Guard guard;
    v_push(in, v);
    guard_enter(in, &guard);
    buf_clear(&out);
    if (ERR_TRY(&in->ctx, &guard.frame)) {
        format_value(in, &out, v, spec, strlen(spec));
        ERR_END(&in->ctx, &guard.frame);
    } else {
        guard_restore(in, &guard);
        buf_clear(&out);
        buf_puts(&out, in->ctx.error->kind == ERR_VALUE ? "error" : "wrong kind of error");
    }
    stack_cut(in, in->sp - 1);
    return buf_cstr(&out);
}

static Value complex_value(Interp *in, double re, double im)
{
    double parts[2] = { re, im };
    return v_tensor(&in->ctx, tensor_scalar(&in->ctx, DT_C128, parts));
}

static void test_specs(Interp *in)
{
#define CHECK(v, spec, want) check_text("format " spec, formatted(in, v, spec), want);
#define TEXT(s) v_str(str_new(&in->ctx, s, strlen(s)))
#define INT(i, spec, want) CHECK(v_int(i), spec, want)
#define FLOAT(x, spec, want) CHECK(v_float(x), spec, want)
#define STRING(s, spec, want) CHECK(TEXT(s), spec, want)
#define COMPLEX(re, im, spec, want) CHECK(complex_value(in, re, im), spec, want)
#define ERROR_INT(i, spec) CHECK(v_int(i), spec, "error")
#define ERROR_FLOAT(x, spec) CHECK(v_float(x), spec, "error")
#define ERROR_STRING(s, spec) CHECK(TEXT(s), spec, "error")
#define ERROR_COMPLEX(re, im, spec) CHECK(complex_value(in, re, im), spec, "error")
#include "format_spec.def"
    CHECK(v_bool(true), "6", "true  ")
    CHECK(v_bool(true), "d", "1")
    CHECK(v_float(1e-5), ">8", "    1e-5")
    CHECK(v_none(), ">6", "  none")
}

/* ---- repr ---- */
/* repr(eval(text)) is text. */
static void check_repr(Interp *in, const char *text)
{
    Guard guard;
    guard_enter(in, &guard);
    buf_clear(&out);
    if (ERR_TRY(&in->ctx, &guard.frame)) {
        Value v = run_text(in, in->main, "<test>", text, strlen(text));
        v_push(in, v);
        show_repr(in, &out, v);
        stack_cut(in, in->sp - 1);
        ERR_END(&in->ctx, &guard.frame);
    } else {
        guard_restore(in, &guard);
        buf_puts(&out, in->ctx.error->message);
    }
    check_text("repr", buf_cstr(&out), text);
}

static void test_repr(Interp *in)
{
    static const char *const texts[] = {
        "1", "-3", "1.5", "true", "none", "\"a\\n\\t\\\"\\\\{{}}\\u{1b}é\"", "0:10", "0:10:2",
        "(1, 2.0, \"x\")", "(1,)", "()", "(x=1, y=(2, 3))", "[1, 2]", "[1.0, 0.1]",
        "[true, false]", "[1, 2; 3, 4]", "[[1, 2]]", "[1; 2]", "[1, 2]'", "f32([0.1, inf, nan])",
        "f32(0.1)", "f16(0.1)", "bf16([0.1, -3.0])", "i8([1, 2])", "u8(200)", "i32(-5)",
        "zeros((0, 3))", "zeros((0,), dtype=i64)", "c64([1.0+2.0i, 0.0-1.5i])", "1.0-2.0i",
        "[1.0+1.0i, 2.0+0.0i]'", "reshape([1, 2, 3, 4, 5, 6, 7, 8], (2, 2, 2))",
        "reshape(f32([1.0, 2.0]), (1, 1, 2))", "(-9223372036854775807 - 1)", "sqrt", "f32", "cpu" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_repr(in, texts[i]);
}

int main(void)
{
    test_known();
    test_random_f64();
    test_random_f32();
    test_all_16_bits();
    test_elements();
    static InterruptFlag flag;
    Interp *in = interp_new();
    in->ctx.interrupt = &flag;
    buf_init(&out, &in->ctx);
    test_specs(in);
    test_repr(in);
    buf_free(&out);
    interp_free(in);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
