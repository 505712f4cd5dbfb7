/* Values by themselves: strings that grow, ranges at the edges of int64, tuples with an
 * index of names, stores of scalars, equality and the release of long chains. */
#include "interp/state/interp.h"
#include "interp/life.h"
#include "interp/index/literal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int passed, failed;

static void check(bool good, const char *what)
{
    if (good) {
        passed++;
        return;
    }
    failed++;
    printf("FAIL %s\n", what);
}

/* The kind of error that fn raises, or -1. */
static int raised(Interp *in, void (*fn)(Interp *))
{
    Guard g;
    guard_enter(in, &g);
    if (ERR_TRY(&in->ctx, &g.frame)) {
        fn(in);
        ERR_END(&in->ctx, &g.frame);
        return -1;
    }
    guard_restore(in, &g);
    return (int)in->ctx.error->kind;
}

static void test_strings(Interp *in)
{
    Ctx *ctx = &in->ctx;
    Str *s = str_new(ctx, "ab", 2), *other;
    for (int i = 0; i < 1000; i++)
        str_append(ctx, &s, "xyz", 3);
    check(s->len == 3002 && strlen(s->text) == 3002 && str_chars(s) == 3002, "append grows");
    other = s;
    v_retain(v_str(s));
    str_append(ctx, &s, "!", 1);
    check(s != other && other->len == 3002 && s->len == 3003, "append to a shared string copies");
    str_append(ctx, &s, s->text, s->len);
    check(s->len == 6006 && s->text[3003] == 'a' && s->text[6005] == '!', "append to itself");
    v_release(ctx, v_str(other));
    v_release(ctx, v_str(s));
    s = str_new(ctx, "λx", 3);
    check(str_chars(s) == 2, "code points are counted");
    str_append(ctx, &s, "µ", 2);
    check(str_chars(s) == 3, "and counted again after a change");
    v_release(ctx, v_str(s));
    Buf b;
    buf_init(&b, ctx);
    buf_fill(&b, 'q', 5000);
    s = str_from_buf(ctx, &b);
    check(s->len == 5000 && s->text[4999] == 'q' && s->text[5000] == '\0',
          "a string from a buffer");
    v_release(ctx, v_str(s));
}

static int64_t range_count(Interp *in, int64_t start, int64_t stop, int64_t step)
{
    Range *r = range_new(&in->ctx, start, stop, step);
    int64_t count = r->count;
    v_release(&in->ctx, v_range(r));
    return count;
}

static void step_zero(Interp *in)
{
    range_new(&in->ctx, 0, 1, 0);
}

static void too_long(Interp *in)
{
    range_new(&in->ctx, INT64_MIN, INT64_MAX, 1);
}

static void test_ranges(Interp *in)
{
    check(range_count(in, 0, 10, 3) == 4, "0:10:3");
    check(range_count(in, 10, 0, -3) == 4, "10:0:-3");
    check(range_count(in, 0, 10, -1) == 0 && range_count(in, 5, 5, 1) == 0, "empty ranges");
    check(range_count(in, INT64_MIN, INT64_MAX, INT64_MAX) == 3, "a step as wide as int64");
    check(range_count(in, INT64_MAX, INT64_MIN, INT64_MIN) == 2, "the most negative step");
    check(raised(in, step_zero) == ERR_VALUE, "step 0 is a value error");
    check(raised(in, too_long) == ERR_VALUE, "a range longer than int64 counts");
}

static const Name *field(Interp *in, int i)
{
    char text[16];
    return names_intern(&in->names, text, (size_t)snprintf(text, sizeof text, "field%d", i));
}

static void test_tuples(Interp *in)
{
    Ctx *ctx = &in->ctx;
    Tuple *t = tuple_new(ctx, 0);
    bool found = true;
    for (int i = 0; i < 1000; i++) {
        tuple_push(ctx, &t, field(in, i), v_int(i));
        found &= tuple_find(t, field(in, i / 2)) == i / 2;
    }
    check(found && t->count == 1000, "fields are found while a tuple grows");
    check(tuple_find(t, field(in, 1000)) == -1, "a field that is not there");
    Tuple *copy = t;
    v_retain(v_tuple(t));
    tuple_push(ctx, &copy, NULL, v_int(-1));
    check(copy != t && t->count == 1000 && copy->count == 1001, "pushing to a shared tuple copies");
    check(tuple_find(copy, field(in, 999)) == 999, "the copy keeps its names");
    v_release(ctx, v_tuple(copy));
    v_release(ctx, v_tuple(t));
    t = tuple_new(ctx, 20);
    for (int i = 0; i < 20; i++)
        tuple_name(ctx, t, (uint32_t)i, field(in, i));
    tuple_name(ctx, t, 3, field(in, 100));
    check(tuple_find(t, field(in, 3)) == -1 && tuple_find(t, field(in, 100)) == 3,
          "renaming a field");
    v_release(ctx, v_tuple(t));
    Value made = tuple_make(in, "Q", v_int(1), "R", v_float(2), NULL);
    check(made.tuple->count == 2 && made.tuple->items[1].f == 2 &&
          strcmp(made.tuple->names[0]->text, "Q") == 0, "a tuple from C");
    v_release(ctx, made);
}

static void test_long_chain(Interp *in)
{
    size_t before = in->ctx.mem.live;
    Value v = v_none();
    for (int i = 0; i < 1000000; i++) {
        Tuple *t = tuple_new(&in->ctx, 1);
        t->items[0] = v;
        v = v_tuple(t);
    }
    v_release(&in->ctx, v);
    check(in->ctx.mem.live == before, "a chain of a million tuples is freed without recursion");
}

static Value nested;

static void compare_nested(Interp *in)
{
    Value twin = v_none();
    for (int i = 0; i < 1000000; i++) {
        Tuple *t = tuple_new(&in->ctx, 1);
        t->items[0] = twin;
        twin = v_tuple(t);
    }
    v_push(in, twin);
    v_equal(in, nested, twin);
}

static void test_deep_equal(Interp *in)
{
    nested = v_none();
    for (int i = 0; i < 1000000; i++) {
        Tuple *t = tuple_new(&in->ctx, 1);
        t->items[0] = nested;
        nested = v_tuple(t);
    }
    check(raised(in, compare_nested) == ERR_MEMORY,
          "comparing what is nested too deep is an error");
    v_release(&in->ctx, nested);
}

static void test_store(Interp *in)
{
    int8_t i8 = 7;
    uint8_t u8 = 7;
    int32_t i32;
    uint16_t f16;
    float f32;
    check(v_store(&in->ctx, DT_I8, &i8, v_int(-128)) && i8 == -128 &&
          !v_store(&in->ctx, DT_I8, &i8, v_int(128)), "i8");
    check(v_store(&in->ctx, DT_U8, &u8, v_int(255)) && !v_store(&in->ctx, DT_U8, &u8, v_int(-1)) &&
          u8 == 255, "u8");
    check(v_store(&in->ctx, DT_I32, &i32, v_int(INT32_MIN)) &&
          !v_store(&in->ctx, DT_I32, &i32, v_int(1LL << 31)),
          "i32");
    check(v_store(&in->ctx, DT_F16, &f16, v_float(1.5)) && f16_to_f32(f16) == 1.5f, "f16");
    check(v_store(&in->ctx, DT_F32, &f32, v_int((1LL << 24) + 1)) && f32 == 0x1p24f,
          "f32 rounds an int once");
    Rational cell = { 0 };
    check(v_store(&in->ctx, dtype_mp(100), &cell, v_float(0.5)) &&
          element_f64(dtype_mp(100), &cell) == 0.5, "mp");
    check(v_store(&in->ctx, DT_E4M3, &u8, v_float(500)) &&
          element_f64(DT_E4M3, &u8) != element_f64(DT_E4M3, &u8),
          "e4m3 has a nan, no infinity");
    check(v_store(&in->ctx, DT_F32, &f32, v_bool(true)) && f32 == 1, "a bool is 1");
}

static void test_equal(Interp *in)
{
    check(v_equal(in, v_int(1), v_float(1)) && v_equal(in, v_bool(true), v_int(1)), "across kinds");
    check(!v_equal(in, v_int((1LL << 53) + 1), v_float(0x1p53)), "exactly");
    check(!v_equal(in, v_int(INT64_MAX), v_float(0x1p63)), "and at the end of int64");
    check(!v_equal(in, v_float(NAN), v_float(NAN)), "nan");
    check(!v_equal(in, v_none(), v_int(0)) && v_equal(in, v_none(), v_none()), "none");
    Value a[] = { v_int(1), v_int(2) }, b[] = { v_float(1), v_float(2) };
    Value x = build_vector(in, a, 2), y = build_vector(in, b, 2), z = build_vector(in, a, 1);
    check(v_equal(in, x, y) && !v_equal(in, x, z), "tensors of one shape");
    Value r = v_range(range_new(&in->ctx, 1, 3, 1)), s = v_range(range_new(&in->ctx, 1, 2, 5));
    check(v_equal(in, r, x) && v_equal(in, s, z) && !v_equal(in, r, s), "ranges as vectors");
    Value all[] = { x, y, z, r, s };
    for (int i = 0; i < 5; i++)
        v_release(&in->ctx, all[i]);
}

static void test_text(Interp *in)
{
    char out[64];
    int64_t shape[] = { 2, 3 };
    Value m = v_tensor_raw(tensor_zeros(&in->ctx, DT_F32, 2, shape));
    check(strcmp(v_describe(m, out, sizeof out), "2×3 f32") == 0, "a matrix described");
    check(strcmp(v_describe_a(v_int(1), out, sizeof out), "an int") == 0, "with its article");
    check(strcmp(v_type_name(m), "tensor") == 0 &&
          strcmp(v_type_name(v_float(1)), "float") == 0, "types");
    v_release(&in->ctx, m);
    float f = 2.5f;
    Value scalar = v_tensor(&in->ctx, tensor_scalar(&in->ctx, DT_F32, &f));
    check(scalar.tag == V_TENSOR && strcmp(v_type_name(scalar), "float") == 0,
          "an f32 scalar is a float");
    v_release(&in->ctx, scalar);
    double d = 2.5;
    check(v_tensor(&in->ctx, tensor_scalar(&in->ctx, DT_F64, &d)).f == 2.5,
          "an f64 scalar is immediate");
}

int main(void)
{
    Interp *in = interp_new();
    test_strings(in);
    test_ranges(in);
    test_tuples(in);
    test_long_chain(in);
    test_deep_equal(in);
    test_store(in);
    test_equal(in);
    test_text(in);
    interp_free(in);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
