/* libricci as a C program uses it: evaluating, variables, values, tensors both ways, C functions,
 * errors, output, threads; then every allocation made to fail in turn. Leaks are the
 * sanitizer's. */
#include "interp/embed/api.h"
#include "tests/unit/check.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static Ricci *r;

static bool result_is(const char *text, const char *wanted)
{
    if (ricci_eval(r, text) != 0) {
        fprintf(stderr, "%s: %s", text, ricci_error(r));
        return false;
    }
    bool same = strcmp(ricci_result(r), wanted) == 0;
    if (!same)
        fprintf(stderr, "%s: %s, not %s\n", text, ricci_result(r), wanted);
    return same;
}

/* The call before failed with this kind of error, whose message holds the words. */
static bool failed_with(const char *kind, const char *words)
{
    const RicciError *e = ricci_error_parts(r);
    bool good = e && strcmp(e->kind, kind) == 0 && strstr(e->message, words);
    if (!good)
        fprintf(stderr, "not %s, %s: %s\n", kind, words, ricci_error(r));
    return good;
}

#define RESULT(text, wanted) CHECK(result_is(text, wanted))
#define FAILS(call, kind, words) CHECK((call) && failed_with(kind, words))

/* ---- evaluating ---- */
static void evaluating(void)
{
    RESULT("A = [2, 1; 1, 3]", "");
    RESULT("A \\ [3, 5]", "[0.8, 1.4]");
    CHECK(strcmp(ricci_error(r), "") == 0 && !ricci_error_parts(r));
    FAILS(ricci_eval(r, "x = 1\n  A @ [1, 2, 3]"), "shape", "[1, 2, 3]");
    const RicciError *e = ricci_error_parts(r);
    CHECK(e && e->line == 2 && e->column == 3 && strcmp(e->source, "<text>") == 0);
    CHECK(strncmp(ricci_error(r), "error[shape]: ", 14) == 0 &&
          strstr(ricci_error(r), "--> <text>:2:3"));
    CHECK(strcmp(ricci_result(r), "") == 0);
    FAILS(ricci_eval(r, "sqr(2"), "syntax", "");
    FAILS(ricci_eval(r, "undefined_name"), "name", "undefined_name");
    FAILS(ricci_eval(r, NULL), "value", "NULL");
    FAILS(ricci_run(r, "/nonexistent/file.ric"), "io", "/nonexistent/file.ric");
    FAILS(ricci_run(r, NULL), "value", "NULL");
    CHECK(ricci_eval_named(r, "part.ric", "1 + 1garbage", 5) == 0 &&
          strcmp(ricci_result(r), "2") == 0);
    FAILS(ricci_eval_named(r, "part.ric", "throw \"no\"", 10), "throw", "no");
    CHECK(strcmp(ricci_error_parts(r)->source, "part.ric") == 0);
    RESULT("f = x -> x^2; f(7)", "49");
    RESULT("", "");
    RESULT("\"text\"", "text");
    FAILS(ricci_eval(r, "try { exit(3) } catch { 1 }"), "interrupt", "exit(3)");
    CHECK(ricci_exit_code(r) == 3);
    RESULT("1", "1");
    CHECK(ricci_exit_code(r) == -1);
    RicciValue *v = ricci_value(r);
    int64_t i = 0;
    CHECK(ricci_to_int(v, &i) == 0 && i == 1);
    ricci_free(v);
}

/* Texts that are evaluated in a loop leave nothing behind. */
static void many(void)
{
    for (int i = 0; i < 50; i++)
        ricci_eval(r, "s = \"a string\" + \"another\"; t = [k^2 for k in 1:9]; sum(t) + 1");
    size_t before = r->in->ctx.mem.live;
    for (int i = 0; i < 200; i++)
        ricci_eval(r, "s = \"a string\" + \"another\"; t = [k^2 for k in 1:9]; sum(t) + 1");
    CHECK(r->in->ctx.mem.live <= before + 1024);
}

/* ---- variables and values ---- */
static void variables(void)
{
    int64_t i = 0;
    double f = 0;
    bool b = false;
    size_t n = 0;
    CHECK(ricci_set_int(r, "i", INT64_MIN) == 0 && ricci_get_int(r, "i", &i) == 0 &&
          i == INT64_MIN);
    CHECK(ricci_set_double(r, "f", 0.1) == 0 && ricci_get_double(r, "f", &f) == 0 && f == 0.1);
    CHECK(ricci_set_bool(r, "b", true) == 0 && ricci_get_bool(r, "b", &b) == 0 && b);
    CHECK(ricci_set_string(r, "s", "ein\0ö", 6) == 0);
    const char *s = ricci_get_string(r, "s", &n);
    CHECK(s && n == 6 && memcmp(s, "ein\0ö", 7) == 0);
    CHECK(ricci_set_string(r, "s", NULL, 0) == 0 && (s = ricci_get_string(r, "s", NULL)) && !*s);
    RESULT("i + 1 == -9223372036854775807 and f == 0.1 and b and s == \"\"", "true");
    CHECK(ricci_set_int(r, "größe_1", 5) == 0);
    RESULT("größe_1 + 1", "6");
    RESULT("h = f32(0.1); q = rational(1) / 3; z = 1 + 2i", "");
    CHECK(ricci_get_double(r, "h", &f) == 0 && f == (double)0.1f);
    CHECK(ricci_get_double(r, "q", &f) == 0 && f == 1.0 / 3);
    CHECK(ricci_get_double(r, "i", &f) == 0 && f == -0x1p63);
    FAILS(ricci_get_double(r, "z", &f), "type", "z");
    FAILS(ricci_get_double(r, "A", &f), "type", "`A` is a 2×2");
    FAILS(ricci_get_int(r, "f", &i), "type", "not an int");
    FAILS(ricci_get_bool(r, "i", &b), "type", "not a bool");
    FAILS(!ricci_get_string(r, "i", NULL), "type", "not a string");
    FAILS(ricci_get_int(r, "größe_2", &i), "name", "größe_2");
    CHECK(strcmp(ricci_error_parts(r)->help, "did you mean `größe_1`?") == 0);
    FAILS(ricci_set_int(r, "2x", 1), "name", "2x");
    FAILS(ricci_set_int(r, "x y", 1), "name", "x y");
    FAILS(ricci_set_int(r, "", 1), "name", "no name");
    FAILS(ricci_set_int(r, "if", 1), "name", "if");
    FAILS(ricci_set_int(r, "x = 5; y", 1), "name", "no name");
    FAILS(ricci_set_int(r, NULL, 1), "value", "NULL");
    FAILS(ricci_get_int(r, NULL, &i), "value", "NULL");
    FAILS(ricci_set_string(r, "s", "\xff", 1), "value", "UTF-8");
    FAILS(ricci_set_string(r, "s", NULL, 3), "value", "NULL");
    RESULT("fn total(x) { sum(x) }\ntotal([1, 2])", "3");
    CHECK(ricci_set_int(r, "sum", 4) == 0);      /* a variable may hide an operation */
    RESULT("sum + 1", "5");
    FAILS(ricci_eval(r, "total([1, 2])"), "type", "sum");
    ricci_close(r);
    r = ricci_open();
}

static void values(void)
{
    RicciValue *items[3] = { ricci_int(r, 1), ricci_string(r, "two", 3), ricci_none(r) };
    const char *names[3] = { "one", NULL, "none_" };
    RicciValue *t = ricci_tuple(r, 3, items, names), *x;
    int64_t i = 0;
    CHECK(t && strcmp(ricci_type(t), "tuple") == 0 && ricci_count(t) == 3 &&
          ricci_count(items[0]) == -1);
    CHECK((x = ricci_item(t, 1)) && strcmp(ricci_to_string(x, NULL), "two") == 0 &&
          strcmp(ricci_type(x), "string") == 0);
    ricci_free(x);
    CHECK((x = ricci_field(t, "one")) && ricci_to_int(x, &i) == 0 && i == 1);
    ricci_free(x);
    FAILS(!ricci_field(t, "two"), "name", "two");
    FAILS(!ricci_item(t, 3), "index", "3");
    FAILS(!ricci_item(t, -1), "index", "-1");
    FAILS(!ricci_item(items[0], 0), "type", "not a tuple");
    CHECK(ricci_set(r, "t", t) == 0);
    RESULT("t.one + 1", "2");
    CHECK(strcmp(ricci_text(t), "(one=1, \"two\", none_=none)") == 0 || ricci_text(t)[0] == '(');
    FAILS(!ricci_tuple(r, 1, (RicciValue *[]){ NULL }, NULL), "value", "NULL");
    FAILS(!ricci_tuple(r, -1, NULL, NULL), "value", "-1");
    FAILS(ricci_set(r, "t", NULL), "value", "NULL");
    Ricci *other = ricci_open();
    x = ricci_int(other, 5);
    FAILS(ricci_set(r, "t", x), "value", "another interpreter");
    FAILS(!ricci_call(r, "sqrt", 1, &x), "value", "another interpreter");
    ricci_close(other);                          /* x goes with it */
    CHECK((x = ricci_call(r, "sqrt", 1, (RicciValue *[]){ items[0] })) &&
          strcmp(ricci_text(x), "1.0") == 0);
    ricci_free(x);
    FAILS(!ricci_call(r, "sqrt", 0, NULL), "type", "sqrt");
    FAILS(!ricci_call(r, "sqrt", 1, NULL), "value", "arguments");
    FAILS(!ricci_call(r, "none_such", 0, NULL), "name", "none_such");
    FAILS(!ricci_call_value(items[0], 0, NULL), "type", "cannot be called");
    CHECK(ricci_eval(r, "fn twice(x, y=1) { 2*x + y }\nfn bad(x) { [1, 2] + [1, 2, x] }") == 0);
    CHECK((x = ricci_call(r, "twice", 1, items)) && ricci_to_int(x, &i) == 0 && i == 3);
    ricci_free(x);
    FAILS(!ricci_call(r, "twice", 3, items), "type", "at most 2");
    FAILS(!ricci_call(r, "bad", 1, items), "shape", "");
    CHECK(strstr(ricci_error(r), "in bad(1)"));
    RicciValue *f = ricci_get(r, "twice"), *g = ricci_copy(f);
    CHECK((x = ricci_call_value(g, 1, items)) && ricci_to_int(x, &i) == 0 && i == 3);
    ricci_free(x);
    ricci_free(f);
    ricci_free(g);
    for (int k = 0; k < 3; k++)
        ricci_free(items[k]);
    CHECK(ricci_text(t)[0] == '(');
    ricci_free(t);
    ricci_free(NULL);
}

/* ---- tensors handed over ---- */
static int released;
static void count_release(void *user) { released += user ? *(int *)user : 1; }

static DLManagedTensorVersioned *wrap(const char *dtype, int64_t n, void *data)
{
    released = 0;
    return ricci_wrap(dtype, 1, &n, data, count_release, NULL);
}

static void adopting(void)
{
    double x[6] = { 1, 2, 3, 4, 5, 6 };
    int64_t shape[2] = { 2, 3 };
    released = 0;
    CHECK(ricci_set_tensor(r, "x", ricci_wrap("f64", 2, shape, x, count_release, NULL)) == 0);
    RESULT("x[1, 2] + x[0, 0]", "7.0");
    x[0] = 10;                                   /* no copy was made */
    RESULT("x[0, 0]", "10.0");
    RESULT("x[0, 1] = 20", "");
    CHECK(x[1] == 20 && released == 0);
    RESULT("y = x; x[0, 1] = 30; y[0, 1]", "20.0");
    CHECK(x[1] == 20 && released == 0);
    RESULT("x = none; y = (y', 1)", "");
    CHECK(released == 0);
    RESULT("y = none", "");
    CHECK(released == 1);
    DLManagedTensorVersioned *m = wrap("f64", 6, x);
    m->flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
    CHECK(ricci_set_tensor(r, "x", m) == 0);
    RESULT("x[1] = 99; x += 1; x[1]", "100.0");
    CHECK(x[1] == 20 && x[0] == 10);
    CHECK(ricci_eval(r, "x = none") == 0 && released == 1);
    m = wrap("f64", 6, x);
    m->flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
    RicciValue *v = ricci_tensor(r, m);
    CHECK(v && strcmp(ricci_text(v), "[10.0, 20.0, 3.0, 4.0, 5.0, 6.0]") == 0);
    RicciValue *w = ricci_call(r, "sort", 1, &v);
    CHECK(w && x[0] == 10 && strcmp(ricci_text(w), "[3.0, 4.0, 5.0, 6.0, 10.0, 20.0]") == 0);
    ricci_free(w);
    ricci_free(v);
    CHECK(released == 1);
}

static void strides(void)
{
    float x[12];
    for (int i = 0; i < 12; i++)
        x[i] = (float)i;
    int64_t shape[2] = { 3, 4 };
    DLManagedTensorVersioned *m = ricci_wrap("f32", 2, shape, x + 11, count_release, NULL);
    m->dl_tensor.strides[0] = -4;
    m->dl_tensor.strides[1] = -1;
    CHECK(ricci_set_tensor(r, "m", m) == 0);
    RESULT("m[0]", "[11.0, 10.0, 9.0, 8.0]");
    RESULT("sum_ = 0.0; for v in m[:] { sum_ += 1 }; m[2, 3] = 77; m[0, 0]", "11.0");
    CHECK(x[0] == 77);
    m = ricci_wrap("f32", 2, shape, x, count_release, NULL);
    m->dl_tensor.strides[0] = 0;
    m->dl_tensor.byte_offset = 4 * sizeof *x;
    CHECK(ricci_set_tensor(r, "m", m) == 0);
    RESULT("m[0, 0] = 5; m[0:2, 0]", "[5.0, 4.0]");      /* its own copy by now */
    CHECK(x[4] == 4);
    m = ricci_wrap("f32", 2, shape, x, count_release, NULL);
    m->dl_tensor.strides = NULL;
    CHECK(ricci_set_tensor(r, "m", m) == 0);
    RESULT("m[1]", "[4.0, 5.0, 6.0, 7.0]");
    char odd[1 + sizeof x];
    memcpy(odd + 1, x, sizeof x);
    released = 0;
    CHECK(ricci_set_tensor(r, "m", ricci_wrap("f32", 2, shape, odd + 1, count_release,
                                              NULL)) == 0 && released == 2);
    RESULT("m[1]", "[4.0, 5.0, 6.0, 7.0]");
    released = 0;
    CHECK(ricci_set_tensor(r, "m", ricci_wrap("f32", 2, (int64_t[]){ 0, 4 }, NULL, count_release,
                                              NULL)) == 0);
    CHECK(released == 1);
    CHECK(ricci_set_tensor(r, "m", ricci_wrap("f32", 0, NULL, x + 3, count_release, NULL)) == 0 &&
          released == 2);
    RESULT("m + 1", "4.0");
    int64_t longest[2] = { INT64_C(1) << 31, INT64_C(1) << 31 },
            endless[2] = { 274177, 67280421310721 };
    for (int i = 0; i < 2; i++) {
        m = ricci_wrap("f32", 2, shape, x, count_release, NULL);
        m->dl_tensor.shape = i ? endless : longest;
        m->dl_tensor.strides[0] = m->dl_tensor.strides[1] = 0;
        CHECK((ricci_set_tensor(r, "m", m) == 0) == !i);
        if (i)
            CHECK(strcmp(ricci_error_parts(r)->kind, "memory") == 0);
    }
    RESULT("m[7, -1]", "77.0");
    RESULT("size(m)", "4611686018427387904");
    CHECK(ricci_eval(r, "sum(m)") != 0 && ricci_eval(r, "m = none") == 0);
    CHECK(!ricci_wrap("f32", 2, endless, x, NULL, NULL) &&
          !ricci_wrap("f32", 2, longest, x, NULL, NULL));
    CHECK(!ricci_wrap("f32", 3, (int64_t[]){ INT64_MAX, 0, 4 }, x, NULL, NULL));
}

static void dtypes(void)
{
    static const struct { const char *name; double first; const char *bytes; } all[] = {
        { "bool", 1, "\1\0\1" }, { "i8", -2, "\xfe\1\2" }, { "u8", 254, "\xfe\1\2" },
        { "i32", 7, "\7\0\0\0\1\0\0\0\0\0\0" },
        { "i64", 7, "\7\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0" },
        { "f16", 1, "\0\x3c\0\x40\0" },
        { "bf16", 1, "\x80\x3f\0\x40\0" }, { "e4m3", 1, "\x38\x40\0" },
        { "e5m2", 1, "\x3c\x40\0" } };
    char data[64] __attribute__((aligned(16))), text[80];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        double f = 0;
        memcpy(data, all[i].bytes, i == 4 ? 24 : i == 3 ? 12 : i >= 5 && i < 7 ? 6 : 3);
        CHECK(ricci_set_tensor(r, "d", wrap(all[i].name, 3, data)) == 0);
        snprintf(text, sizeof text, "dtype(d) == %s", all[i].name);
        RESULT(text, "true");
        CHECK(ricci_eval(r, "d0 = f64(d[0]); e = d[1:]") == 0 &&
              ricci_get_double(r, "d0", &f) == 0 && f == all[i].first);
        DLManagedTensorVersioned *m = ricci_get_tensor(r, "d");
        CHECK(m && m->dl_tensor.data == (void *)data && m->dl_tensor.dtype.lanes == 1);
        CHECK(ricci_set_tensor(r, "d", m) == 0);         /* and back */
        RESULT(text, "true");
        CHECK(ricci_eval(r, "d = none; e = none") == 0 && released == 1);
    }
    double z[4] = { 1, 2, 3, 4 };
    CHECK(ricci_set_tensor(r, "z", wrap("c128", 2, z)) == 0);
    RESULT("z[1]", "3.0+4.0i");
    float c[4] = { 1, 2, 3, 4 };
    CHECK(ricci_set_tensor(r, "z", wrap("c64", 2, c)) == 0);
    RESULT("z[1] == 3 + 4i", "true");
    CHECK(!ricci_wrap("f63", 0, NULL, z, NULL, NULL) &&
          !ricci_wrap("rational", 0, NULL, z, NULL, NULL));
    CHECK(!ricci_wrap(NULL, 0, NULL, z, NULL, NULL) && !ricci_wrap("f64", 33, NULL, z, NULL, NULL));
    CHECK(!ricci_wrap("f64", 1, (int64_t[]){ -1 }, z, NULL, NULL));
    CHECK(!ricci_wrap("f64", 2, (int64_t[]){ INT64_MAX, 4 }, z, NULL, NULL));
}

/* Whatever is wrong, the deleter is called once. */
/* Bytes of a host's bools that are neither 0 nor 1: true, as C has them. */
static void bools(void)
{
    static const uint8_t odd[8] = { 0, 1, 2, 255, 128, 0, 1, 64 };
    const char *facts =
        "(sum(b), b == [false, true, true, true, true, false, true, true], arange(8)[b])";
    const char *wanted =
        "(6, [true, true, true, true, true, true, true, true], [1, 2, 3, 4, 6, 7])";
    uint8_t x[16];
    int64_t shape[] = { 8 }, two[] = { 2, 4 }, across[] = { 1, -2 };
    released = 0;
    memcpy(x, odd, 8);
    CHECK(ricci_set_tensor(r, "b", ricci_wrap("bool", 1, shape, x, count_release, NULL)) == 0 &&
          released == 0);
    RESULT(facts, wanted);
    CHECK(memcmp(x, "\0\1\1\1\1\0\1\1", 8) == 0);      /* there, without a copy */
    memcpy(x, odd, 8);
    DLManagedTensorVersioned *m = ricci_wrap("bool", 1, shape, x, count_release, NULL);
    m->flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
    /* the one before, and what was copied */
    CHECK(ricci_set_tensor(r, "b", m) == 0 && released == 2);
    RESULT(facts, wanted);
    CHECK(memcmp(x, odd, 8) == 0);
    memcpy(x, "\0\1\1\0\0\0\0\1", 8);
    m = ricci_wrap("bool", 1, shape, x, count_release, NULL);
    m->flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
    /* nothing to be changed: no copy */
    CHECK(ricci_set_tensor(r, "b", m) == 0 && released == 2);
    RESULT("b", "[false, true, true, false, false, false, false, true]");
    memcpy(x, odd, 8);
    x[0] = x[8] = 77;
    m = ricci_wrap("bool", 2, two, x + 7, count_release, NULL);
    m->dl_tensor.strides = across;
    CHECK(ricci_set_tensor(r, "c", m) == 0 && memcmp(x, "M\1\1\1\1\0\1\1\1", 9) == 0);
    RESULT("c", "⎡true  false  true  true⎤\n⎣true   true  true  true⎦");
    CHECK(ricci_set_tensor(r, "c", ricci_wrap("bool", 0, NULL, x + 4, count_release, NULL)) == 0);
    RESULT("c", "true");
    /* A variable's own memory, written by C between two calls. */
    CHECK(ricci_eval(r, "b = full(8, false)") == 0 && (m = ricci_get_tensor_writable(r, "b")));
    memcpy(m->dl_tensor.data, odd, 8);
    RESULT(facts, wanted);
    memcpy(m->dl_tensor.data, odd, 8);
    m->deleter(m);
    RESULT(facts, wanted);
}

/* A host that breaks its word gets answers that mean nothing, and no crash (the sanitizer's to
 * say). */
static void broken_bools(void)
{
    static const char *const texts[] = {
        "arange(64)[b]", "b[b]", "x = arange(64); x[b] = 1; x", "x = arange(64); x[b] += 1",
        "where(b, 1, 2)", "sort(b)",
        "unique(b)", "argsort(b)", "i64(b)", "b + b", "cumsum(b)", "nonzero(b)", "b == b", "b < b",
        "max(b)", "argmax(b)",
        "i64(b) @ i64(b)", "b[::-1][b]", "reshape(b, (8, 8))[reshape(b, (8, 8))]", "string(b)",
        "bits(b)", "f16(b)",
        "concat(b, b)[:64]", "y[i] := where(b[i], i, 0)", "histogram(f64(b))", "median(f64(b))",
        "all(b) or any(b)",
        "searchsorted(b, true)", "take(arange(64), i64(b) % 64)", "ones((64, 64))[b]",
        "ones((64, 64))[:, b]",
        "bincount(i64(b))", "[v for v in b]", "if b[0] { 1 } else { 2 }", "on sim.tpu { sum(b) }",
        "rational(b)[3]", "abs(b)",
        "prod(b)", "var(b)", "mean(b)", "diff(i64(b))", "roll(b, 3)", "repeat(b, 2)",
        "einsum(\"i,i->\", i64(b), i64(b))"
    };
    uint8_t x[64] = { 0 };
    int64_t n = 64;
    CHECK(ricci_set_tensor(r, "b", ricci_wrap("bool", 1, &n, x, NULL, NULL)) == 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        memset(x, i % 2 ? 255 : 2, sizeof x);
        x[5] = 0;
        ricci_eval(r, texts[i]);
        CHECK(ricci_eval(r, "1 + 1") == 0);
    }
    CHECK(ricci_eval(r, "b = 0") == 0);
}

static void wrong_tensors(void)
{
    double x[4] = { 1, 2, 3, 4 };
    DLManagedTensorVersioned *m;
#define WRONG(change, kind, words) do { \
        m = wrap("f64", 4, x); \
        change; \
        FAILS(ricci_set_tensor(r, "w", m), kind, words); \
        CHECK(released == 1); \
    } while (0)
    WRONG(m->version.major = 2, "value", "DLPack 2");
    WRONG(m->version.major = 0, "value", "DLPack 0");
    WRONG(m->dl_tensor.device.device_type = kDLVulkan, "device", "type 7");
    WRONG((m->dl_tensor.device.device_type = kDLCUDA, m->dl_tensor.device.device_id = 99), "device",
          "CUDA device 99");
    WRONG(m->dl_tensor.dtype.code = kDLUInt, "dtype", "uint64");
    WRONG(m->dl_tensor.dtype.bits = 128, "dtype", "float128");
    WRONG(m->dl_tensor.dtype.lanes = 4, "dtype", "float64x4");
    WRONG(m->dl_tensor.dtype.code = 99, "dtype", "unknown");
    WRONG(m->dl_tensor.dtype.lanes = 0, "dtype", "");
    WRONG(m->dl_tensor.ndim = 33, "value", "33 axes");
    WRONG(m->dl_tensor.ndim = -1, "value", "-1 axes");
    WRONG(m->dl_tensor.shape[0] = -4, "value", "negative");
    WRONG(m->dl_tensor.shape[0] = INT64_MAX, "memory", "counted");
    WRONG(m->dl_tensor.strides[0] = INT64_MIN, "value", "memory");
    WRONG(m->dl_tensor.data = NULL, "value", "no data");
    WRONG(m->dl_tensor.shape = NULL, "value", "no shape");
#undef WRONG
    FAILS(ricci_set_tensor(r, "2w", wrap("f64", 4, x)), "name", "2w");
    CHECK(released == 1);
    FAILS(ricci_set_tensor(r, NULL, wrap("f64", 4, x)), "value", "NULL");
    CHECK(released == 1);
    FAILS(ricci_set_tensor(r, "w", NULL), "value", "NULL");
    CHECK(ricci_set_tensor(NULL, "w", wrap("f64", 4, x)) == 1 && released == 1);
    m = wrap("f64", 4, x);
    m->deleter(m);
    CHECK(released == 1);
    m = wrap("f64", 4, x);
    m->deleter = NULL;                           /* allowed: nobody needs it back */
    CHECK(ricci_set_tensor(r, "w", m) == 0 && ricci_eval(r, "w = none") == 0 && released == 0);
    free(m);
}

/* ---- tensors got ---- */
static void exporting(void)
{
    RESULT("a = [1.5, 2.5, 3.5]; b = a", "");
    DLManagedTensorVersioned *m = ricci_get_tensor(r, "a"), *n = ricci_get_tensor(r, "b");
    const double *p = m->dl_tensor.data;
    CHECK(m && n && m->dl_tensor.data == n->dl_tensor.data && m->version.major == 1);
    CHECK(m->dl_tensor.ndim == 1 && m->dl_tensor.shape[0] == 3 && m->dl_tensor.strides[0] == 1);
    CHECK(m->dl_tensor.dtype.code == kDLFloat && m->dl_tensor.dtype.bits == 64 &&
          m->dl_tensor.byte_offset == 0);
    CHECK(m->flags == DLPACK_FLAG_BITMASK_READ_ONLY && p[2] == 3.5);
    n->deleter(n);
    RESULT("b = none; a[0] = 9; a", "[9.0, 2.5, 3.5]");
    CHECK(p[0] == 1.5);
    RESULT("a = none", "");
    CHECK(p[0] == 1.5 && p[1] == 2.5);
    m->deleter(m);
    RESULT("A = reshape(0:12, 3, 4); B = A[2:0:-1, 1:4:2]'", "");
    m = ricci_get_tensor(r, "B");
    CHECK(m && m->dl_tensor.ndim == 2 && m->dl_tensor.dtype.code == kDLInt);
    if (m) {
        const DLTensor *t = &m->dl_tensor;
        const int64_t *q = t->data;
        CHECK(t->shape[0] * t->shape[1] > 0 && q[0] >= 0);
        int64_t i = -1;
        for (int64_t j = 0; j < t->shape[0]; j++)
            for (int64_t k = 0; k < t->shape[1]; k++) {
                char text[40];
                snprintf(text, sizeof text, "B[%d, %d]", (int)j, (int)k);
                RicciValue *v = ricci_eval(r, text) == 0 ? ricci_value(r) : NULL;
                CHECK(ricci_to_int(v, &i) == 0 && q[j * t->strides[0] + k * t->strides[1]] == i);
                ricci_free(v);
            }
        m->deleter(m);
    }
    RESULT("k = 5; c = 1:3; s = \"no\"; q = [rational(1), 2]; g = i8([])", "");
    CHECK((m = ricci_get_tensor(r, "k")) && m->dl_tensor.ndim == 0 &&
          *(int64_t *)m->dl_tensor.data == 5);
    m->deleter(m);
    CHECK((m = ricci_get_tensor(r, "c")) && m->dl_tensor.shape[0] > 0 &&
          ((int64_t *)m->dl_tensor.data)[1] == 2);
    m->deleter(m);
    CHECK((m = ricci_get_tensor(r, "g")) && m->dl_tensor.shape[0] == 0);
    m->deleter(m);
    FAILS(!ricci_get_tensor(r, "s"), "type", "`s` is a string");
    FAILS(!ricci_get_tensor(r, "q"), "dtype", "rational");
    FAILS(!ricci_get_tensor(r, "missing"), "name", "missing");
    FAILS(!ricci_get_tensor(r, "sqrt"), "type", "sqrt");
    CHECK(!ricci_get_tensor(NULL, "a") && !ricci_to_tensor(NULL));
    RESULT("on sim.tpu { d = [1, 2, 3] @ [1, 0; 0, 1; 1, 1] }", "");
    CHECK((m = ricci_get_tensor(r, "d")) && m->dl_tensor.device.device_type == kDLCPU &&
          m->dl_tensor.shape[0] == 2);
    m->deleter(m);
}

static void writing(void)
{
    RESULT("a = zeros(4); b = a", "");
    DLManagedTensorVersioned *m = ricci_get_tensor_writable(r, "a"),
        *n = ricci_get_tensor_writable(r, "a");
    double *p = m ? m->dl_tensor.data : NULL;
    CHECK(m && n && n->dl_tensor.data == p && !(m->flags & DLPACK_FLAG_BITMASK_READ_ONLY));
    p[2] = 5;
    RESULT("a", "[0.0, 0.0, 5.0, 0.0]");
    RESULT("b", "[0.0, 0.0, 0.0, 0.0]");
    RESULT("a[0] = 1; c = a; a += 1", "");
    CHECK(p[0] == 2 && p[2] == 6);
    p[3] = 7;
    RESULT("c", "[1.0, 0.0, 5.0, 0.0]");
    m->deleter(m);
    RESULT("c = a", "");
    p[3] = 8;
    RESULT("c[3]", "7.0");
    n->deleter(n);
    RESULT("c = a; a[0] = 3; c[0]", "2.0");
    FAILS(!ricci_get_tensor_writable(r, "sqrt"), "type", "sqrt");
    RESULT("k = 1; q = [rational(1), 2]", "");
    FAILS(!ricci_get_tensor_writable(r, "k"), "type", "k");
    FAILS(!ricci_get_tensor_writable(r, "q"), "dtype", "rational");
    double x[3] = { 1, 2, 3 };
    CHECK(ricci_set_tensor(r, "x", wrap("f64", 3, x)) == 0);
    CHECK((m = ricci_get_tensor_writable(r, "x")) && m->dl_tensor.data == (void *)x);
    CHECK(ricci_set_int(r, "x", 1) == 0 && released == 0);
    m->deleter(m);
    RESULT("x", "1");
    CHECK(released == 1);
    m = wrap("f64", 3, x);
    m->flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
    CHECK(ricci_set_tensor(r, "x", m) == 0);
    CHECK((m = ricci_get_tensor_writable(r, "x")) && m->dl_tensor.data != (void *)x);
    m->deleter(m);
}

/* Exports outlive the interpreter; adopted tensors do not. */
static void closing(void)
{
    double x[3] = { 1, 2, 3 };
    Ricci *s = ricci_open();
    CHECK(ricci_set_tensor(s, "x", wrap("f64", 3, x)) == 0);
    CHECK(ricci_eval(s, "y = zeros(1000) + 2; z = [1, 2, 3]; on sim.tpu { w = z + 1 }") == 0);
    DLManagedTensorVersioned *m[5] =
        { ricci_get_tensor(s, "x"), ricci_get_tensor(s, "y"), ricci_get_tensor(s, "z"),
                                       ricci_get_tensor_writable(s, "y"),
                                       ricci_get_tensor(s, "w") };
    ricci_string(s, "left", 4);
    ricci_close(s);
    CHECK(m[0]->dl_tensor.data == (void *)x && released == 0);
    CHECK(((double *)m[1]->dl_tensor.data)[999] == 2 && ((int64_t *)m[2]->dl_tensor.data)[2] == 3);
    ((double *)m[3]->dl_tensor.data)[0] = 4;
    for (int i = 0; i < 5; i++)
        m[i]->deleter(m[i]);
    CHECK(released == 1);
    s = ricci_open();
    CHECK(ricci_set_tensor(s, "x", wrap("f64", 3, x)) == 0 && ricci_eval(s, "y = (x, x')") == 0);
    ricci_close(s);
    CHECK(released == 1);
    ricci_close(NULL);
}

/* ---- C functions ---- */
static double hypot3(double x, double y, double z) { return sqrt(x * x + y * y + z * z); }

static double total(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

static void scale(double *x, size_t n, double by)
{
    for (size_t i = 0; i < n; i++)
        x[i] *= by;
}

static int32_t failing(int32_t x)
{
    if (x < 0)
        ricci_fail(r, "value", "%d is negative", x);
    return x + 1;
}

static int32_t evaluating_inside(int32_t x)
{
    int64_t i = -1;
    ricci_set_int(r, "inside", x);
    CHECK(ricci_eval(r, "outside = inside + 1; undefined_name") == 1);
    CHECK(ricci_get_int(r, "outside", &i) == 0);
    return (int32_t)i;
}

static void registering(void)
{
    CHECK(ricci_register(r, "double hypot3(double x, double y, double z);",
                         (void (*)(void))hypot3) == 0);
    RESULT("hypot3(1, 2, 2)", "3.0");
    CHECK(ricci_register(r, "double total(const double x[n], size_t n) ",
                         (void (*)(void))total) == 0);
    RESULT("total([1, 2.5, 3], 3)", "6.5");
    FAILS(ricci_eval(r, "total([1.0, 2], 3)"), "ffi", "total");
    CHECK(ricci_register(r, "void scale(double x[n], size_t n, double by);",
                         (void (*)(void))scale) == 0);
    RESULT("v = [1.0, 2]; w = v; scale(v, 2, 10); v", "[10.0, 20.0]");
    RESULT("w", "[1.0, 2.0]");
    CHECK(ricci_register(r, "int32_t failing(int32_t x);", (void (*)(void))failing) == 0);
    RESULT("failing(1)", "2");
    FAILS(ricci_eval(r, "failing(-1)"), "value", "-1 is negative");
    RESULT("try { failing(-2) } catch e { e.message }", "-2 is negative");
    RESULT("map(failing, [1, 2, 3])", "[2, 3, 4]");
    CHECK(ricci_register(r, "int evaluating_inside(int x);",
                         (void (*)(void))evaluating_inside) == 0);
    RESULT("[evaluating_inside(k) for k in 1:3]", "[2, 3]");
    FAILS(ricci_register(r, "double no(", (void (*)(void))hypot3), "ffi", "");
    FAILS(ricci_register(r, "typedef int number;", (void (*)(void))hypot3), "ffi", "");
    FAILS(ricci_register(r, NULL, (void (*)(void))hypot3), "value", "NULL");
    FAILS(ricci_register(r, "double x(void);", NULL), "value", "NULL");
}

/* ---- C functions of values ---- */
static RicciValue *count_args(Ricci *s, void *user, int count, RicciValue *const *args)
{
    ++*(int *)user;
    for (int i = 0; i < count; i++)
        if (!args[i])
            return ricci_int(s, -i);
    return ricci_int(s, count);
}

static RicciValue *first(Ricci *s, void *user, int count, RicciValue *const *args)
{
    (void)user, (void)count;
    ricci_free(args[0]);                         /* not ours: nothing happens */
    RicciValue *kept = ricci_copy(args[0]);
    CHECK(strcmp(ricci_type(kept), ricci_type(args[0])) == 0);
    ricci_free(kept);
    ricci_free(ricci_none(s));
    return args[0];
}

static RicciValue *apply(Ricci *s, void *user, int count, RicciValue *const *args)
{
    (void)s, (void)user;
    return ricci_call_value(args[0], count - 1, args + 1);       /* NULL: its error goes on */
}

static RicciValue *refuse(Ricci *s, void *user, int count, RicciValue *const *args)
{
    (void)user, (void)count, (void)args;
    return ricci_fail(s, "numeric", "no %s", "way");
}

static RicciValue *nothing(Ricci *s, void *user, int count, RicciValue *const *args)
{
    (void)user, (void)count, (void)args;
    ricci_close(s);                              /* while it runs: no */
    CHECK(ricci_eval(s, "sqrt(1, 2, 3)") == 1);  /* an error of ours … */
    CHECK(ricci_eval(s, "1") == 0);              /* … that is over */
    return NULL;
}

static RicciValue *change(Ricci *s, void *user, int count, RicciValue *const *args)
{
    (void)user, (void)count, (void)args;
    DLManagedTensorVersioned *m = ricci_get_tensor_writable(s, "u");
    CHECK(!m);
    CHECK(ricci_eval(s,
                     "u = [k * 2.0 for k in 1:4]; fn g() { 5 }; [k for k in 0:9]; sum_ = 0") == 0);
    return ricci_double(s, 1);
}

static void operations(void)
{
    int calls = 0;
    CHECK(ricci_register_function(r, "counted(x, y=2, rest...)", "counts its arguments", count_args,
                                  &calls) == 0);
    RESULT("counted(1, 2)", "2");
    RESULT("counted(1)", "-1");
    RESULT("counted(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)", "11");
    RESULT("counted(y=1, x=2)", "2");
    FAILS(ricci_eval(r, "counted()"), "type", "counted");
    FAILS(ricci_eval(r, "counted(1, z=2)"), "type", "z");
    CHECK(calls == 4);
    CHECK(ricci_register_function(r, "first(x)", NULL, first, NULL) == 0);
    RESULT("first([1, 2])", "[1, 2]");
    RESULT("map(first, [1, 2])", "[1, 2]");
    CHECK(ricci_register_function(r, " apply ( f , rest... ) ", NULL, apply, NULL) == 0);
    RESULT("apply(x -> x + 1, 5)", "6");
    RESULT("apply(apply, apply, sqrt, 4)", "2.0");
    FAILS(ricci_eval(r, "fn h(x) { [1, 2] + x }\napply(h, [1, 2, 3])"), "shape", "");
    CHECK(strstr(ricci_error(r), "in h("));
    CHECK(ricci_register_function(r, "refuse()", NULL, refuse, NULL) == 0);
    FAILS(ricci_eval(r, "x = 1\nrefuse()"), "numeric", "no way");
    CHECK(ricci_error_parts(r)->line == 2);
    RESULT("try { refuse() } catch e { e.kind }", "numeric");
    CHECK(ricci_register_function(r, "nothing", NULL, nothing, NULL) == 0);
    RESULT("nothing() == none", "true");
    CHECK(ricci_register_function(r, "change()", NULL, change, NULL) == 0);
    RESULT("u = [1.0, 2, 3]; u + change() * [k * 1.0 for k in 1:4]", "[2.0, 4.0, 6.0]");
    RESULT("fn g() { change(); 1 }\n(g(), g())", "(1, 5)");
    RESULT("u = [1.0, 2, 3, 4]; [u[k] * change() for k in 0:2]", "[1.0, 4.0]");
    RESULT("x = precision mp(100) { first(sqrt(2)) }", "");
    RESULT("on sim.tpu { w = first([1.0, 2] + 1) }; w", "[2.0, 3.0]");
    FAILS(ricci_register_function(r, "f(", NULL, first, NULL), "value", "signature");
    FAILS(ricci_register_function(r, "(x)", NULL, first, NULL), "value", "signature");
    FAILS(ricci_register_function(r, "2f(x)", NULL, first, NULL), "name", "2f");
    FAILS(ricci_register_function(r, "f(,)", NULL, first, NULL), "value", "no name");
    FAILS(ricci_register_function(r, "f(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z)", NULL,
                                  first, NULL),
          "value", "16");
    FAILS(ricci_register_function(r, NULL, NULL, first, NULL), "value", "NULL");
    FAILS(ricci_register_function(r, "f()", NULL, NULL, NULL), "value", "NULL");
    CHECK(!ricci_fail(r, "no such kind", "100%%") && failed_with("value", "100%"));
    CHECK(!ricci_fail(NULL, "value", "x"));
}

/* ---- output, limits, interrupts ---- */
static char printed[2][400];
static int write_here(void *user, int stream, const char *text, size_t bytes)
{
    char *to = printed[stream - 1];
    size_t there = strlen(to);
    if (user && ricci_eval(user, "1") != 1)
        return 1;
    memcpy(to + there, text, bytes);
    to[there + bytes] = '\0';
    return 0;
}

static int write_nothing(void *user, int stream, const char *text, size_t bytes)
{
    (void)user, (void)stream, (void)text, (void)bytes;
    return 1;
}

static void output(void)
{
    ricci_output(r, write_here, NULL);
    CHECK(ricci_eval(r, "print(\"one\"); warn(\"careful\"); print(\"two\")") == 0);
    CHECK(strcmp(printed[0], "one\ntwo\n") == 0 && strncmp(printed[1], "notice: careful", 15) == 0);
    printed[0][0] = '\0';
    CHECK(ricci_eval(r, "print(\"three\"); sqrt()") == 1 && strcmp(printed[0], "three\n") == 0);
    CHECK(ricci_eval(r, "help(counted)") == 0 && strstr(printed[0], "counts its arguments"));
    ricci_output(r, write_here, r);
    CHECK(ricci_eval(r, "print(\"four\")") == 0);
    ricci_output(r, write_nothing, NULL);
    FAILS(ricci_eval(r, "print(\"lost\")"), "io", "");
    ricci_output(r, NULL, NULL);
    RESULT("1 + 1", "2");
}

/* Takes no notice of what became of it. */
static int32_t endless(int32_t x)
{
    CHECK(ricci_eval(r, "while true { }") == 1);
    return x;
}

static int32_t leaving(int32_t x)
{
    CHECK(ricci_eval(r, "exit(7)") == 1 && ricci_eval(r, "1") == 1);
    return x;
}

static void *interrupt_later(void *s)
{
    usleep(50000);
    ricci_interrupt(s);
    return NULL;
}

static void limits(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, interrupt_later, r);
    FAILS(ricci_eval(r, "try { while true { } } catch { }"), "interrupt", "");
    pthread_join(thread, NULL);
    CHECK(ricci_register(r, "int endless(int x)", (void (*)(void))endless) == 0);
    CHECK(ricci_register(r, "int leaving(int x)", (void (*)(void))leaving) == 0);
    pthread_create(&thread, NULL, interrupt_later, r);
    FAILS(ricci_eval(r, "try { endless(1); while true { } } catch { }"), "interrupt", "");
    pthread_join(thread, NULL);
    FAILS(ricci_eval(r, "leaving(1); while true { }"), "interrupt", "");
    CHECK(ricci_exit_code(r) == 7);
    RESULT("1", "1");
    ricci_interrupt(r);
    FAILS(ricci_eval(r, "1"), "interrupt", "");
    ricci_interrupt(r);
    ricci_interrupt_clear(r);
    RESULT("1", "1");
    ricci_memory_limit(r, 64 << 20);
    FAILS(ricci_eval(r, "zeros(10000, 10000)"), "memory", "800 MB");
    RESULT("sum(ones(1000)) == 1000", "true");
    ricci_memory_limit(r, 0);
    FAILS(ricci_eval(r, "fn deep(n) { 1 + deep(n + 1) }\ndeep(0)"), "memory", "deep");
    RESULT("2 + 2", "4");
}

/* ---- several interpreters ---- */
static void *own_interpreter(void *data)
{
    int *good = data;
    Ricci *s = ricci_open();
    *good = s && ricci_eval(s, "x = [k^2 for k in 1:100]; fn deep(n) { if n == 0 { 0 } else { 1 + "
                               "deep(n - 1) } }; deep(200)") == 0 &&
            strcmp(ricci_result(s), "200") == 0;
    ricci_close(s);
    return NULL;
}

static void *use_from_thread(void *s)
{
    return ricci_eval(s, "fn deep(n) { 1 + deep(n + 1) }\ndeep(0)") == 1 &&
           strcmp(ricci_error_parts(s)->kind, "memory") == 0 &&
           ricci_eval(s, "x = 7") == 0 ? s : NULL;
}

static void *release_all(void *data)
{
    DLManagedTensorVersioned **m = data;
    for (int i = 0; i < 100; i++)
        m[i]->deleter(m[i]);
    return NULL;
}

static void threads(void)
{
    pthread_t thread[4];
    int good[4] = { 0 };
    void *back = NULL;
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, own_interpreter, &good[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    CHECK(good[0] && good[1] && good[2] && good[3]);
    pthread_create(thread, NULL, use_from_thread, r);
    pthread_join(thread[0], &back);
    CHECK(back == r);
    RESULT("x", "7");
    DLManagedTensorVersioned *m[200];
    RESULT("x = ones(10)", "");
    for (int i = 0; i < 200; i++)
        m[i] = i % 2 ? ricci_get_tensor(r, "x") : ricci_get_tensor_writable(r, "x");
    pthread_create(&thread[0], NULL, release_all, m);
    pthread_create(&thread[1], NULL, release_all, m + 100);
    for (int i = 0; i < 100; i++)
        ricci_eval(r, "y = x + 1");
    pthread_join(thread[0], NULL);
    pthread_join(thread[1], NULL);
    RESULT("x[0] = 2; x[0]", "2.0");
    CHECK(!r->exports && !atomic_load(&r->released));
}

/* ---- no memory ---- */
static RicciValue *pass(Ricci *s, void *user, int count, RicciValue *const *args)
{
    (void)user, (void)count;
    return ricci_tuple(s, 1, args, NULL);
}

/* Each step is tried with the k-th allocation failing, for every k, and works in the end. */
static void starving(void)
{
    static double x[40];
    int64_t n = 40;
    for (int step = 0; step < 7; step++) {
        int status = 1;
        for (uint64_t k = 1; status && k < 3000; k += k < 120 || step ? 1 : 7) {
            Ricci *s = ricci_open();
            DLManagedTensorVersioned *m = NULL;
            CHECK(ricci_eval(s, "a = [1.0, 2, 3]; fn f(x) { x + 1 }") == 0);
            CHECK(ricci_register_function(s, "pass(x)", NULL, pass, NULL) == 0);
            MemAccount *account = &s->in->ctx.mem;
            account->fail_at = account->allocations + k;
            released = 0;
            switch (step) {
            case 0: status =
                ricci_eval(s, "b = [k^2 for k in 1:5]; c = f(b) @ b; \"t\" + repr(c)"); break;
            case 1: status =
                ricci_set_tensor(s, "x", ricci_wrap("f64", 1, &n, x, count_release, NULL)); break;
            case 2: status = !(m = ricci_get_tensor(s, "a")); break;
            case 3: status = !(m = ricci_get_tensor_writable(s, "a")); break;
            case 4: status = ricci_register(s, "double hypot3(double x, double y, double z);",
                                            (void (*)(void))hypot3) ||
                             ricci_eval(s, "hypot3(1, 2, 2)"); break;
            case 5: status = ricci_register_function(s, "g(x, y=1)", "help", pass, NULL) ||
                             ricci_eval(s, "pass(g(5))"); break;
            default: status = ricci_set_string(s, "a_new_name", "text", 4) ||
                              !ricci_string(s, "more", 4); break;
            }
            if (status && *ricci_error(s) && strcmp(ricci_error_parts(s)->kind, "memory") != 0)
                fprintf(stderr, "step %d, allocation %d: %s", step, (int)k, ricci_error(s));
            CHECK(!status ||
                  (ricci_error_parts(s) && strcmp(ricci_error_parts(s)->kind, "memory") == 0));
            CHECK(step != 1 || !status || released == 1);
            account->fail_at = 0;
            CHECK(ricci_eval(s, "f(a)[0] + 1") == 0 && strcmp(ricci_result(s), "3.0") == 0);
            ricci_close(s);
            if (m)
                m->deleter(m);
        }
        CHECK(!status);
    }
}

/* A derivative outlives the text that it was taken in, which goes: errors and notices of it have the
 * place of the call. */
static void pulling(void)
{
    CHECK(ricci_eval(r, "pull = vjp(sqrt, [0.0, 4]).pull") == 0);
    CHECK(ricci_eval(r, "steps_pull = vjp(floor, [0.5, 4]).pull") == 0);
    for (int i = 0; i < 50; i++)
        CHECK(ricci_eval(r, "0.1234567 + 1") == 0);
    CHECK(ricci_eval(r, "explain pull([1.0, 1])") == 0);
    CHECK(ricci_eval(r, "pull([0.0, 1])") == 0 && strcmp(ricci_result(r), "[0.0, 0.25]") == 0);
    FAILS(ricci_eval(r, "steps_pull([1.0, 1])"), "grad", "floor");
}

/* What has nothing to work on fails, and does no more. */
static void nulls(void)
{
    int64_t i;
    CHECK(ricci_eval(NULL, "1") == 1 && !*ricci_result(NULL) && *ricci_error(NULL) &&
          !ricci_error_parts(NULL));
    CHECK(ricci_set_int(NULL, "x", 1) == 1 && ricci_get_int(NULL, "x", &i) == 1 &&
          !ricci_get(NULL, "x"));
    CHECK(!ricci_int(NULL, 1) && !ricci_copy(NULL) && ricci_to_int(NULL, &i) == 1 &&
          !ricci_to_string(NULL, NULL));
    CHECK(!*ricci_type(NULL) && !*ricci_text(NULL) && ricci_count(NULL) == -1 &&
          !ricci_item(NULL, 0));
    CHECK(!ricci_field(NULL, "x") && !ricci_call(NULL, "f", 0, NULL) &&
          !ricci_call_value(NULL, 0, NULL));
    CHECK(ricci_exit_code(NULL) == -1 && !ricci_value(NULL) &&
          ricci_register(NULL, "void f(void);", NULL) == 1);
    ricci_interrupt(NULL);
    ricci_interrupt_clear(NULL);
    ricci_memory_limit(NULL, 1);
    ricci_output(NULL, NULL, NULL);
    ricci_display(NULL, NULL, NULL);
    CHECK(ricci_show(NULL) == 1);
    CHECK(*ricci_version() != '\0');
}

int main(void)
{
    r = ricci_open();
    CHECK(r != NULL);
    evaluating();
    variables();
    many();
    values();
#ifndef RICCI_HOSTILE                            /* whose writes always copy */
    adopting();
    strides();
    writing();
    bools();
    broken_bools();
#endif
    dtypes();
    wrong_tensors();
    exporting();
    closing();
    registering();
    operations();
    output();
    limits();
    pulling();
    threads();
    nulls();
    ricci_close(r);
    starving();
    return check_result();
}
