/* Values to C: numbers, here; pointers in native_convert_pointer.c; arrays and records in
 * native_memory.c. A value goes where it is in range and nothing but a float's last digits is
 * lost (rounded to nearest once); everything else is an `ffi` error that says what to write. Used
 * for arguments, fields, elements and results of callbacks alike. */
#include "core/system/c_locale.h"
#include "interp/op/traced.h"
#include "interp/native/native_call.h"
#include "interp/op/arith.h"
#include "kernels/number/number.h"

#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

/* ---- what types are ---- */
const CType *native_innermost(const CType *t, size_t *count)
{
    *count = 1;
    for (; t->kind == CK_ARRAY; t = t->of)
        *count *= t->count;
    return t;
}

bool native_is_const(const CType *to)
{
    size_t n;
    return to->is_const || native_innermost(to, &n)->is_const;
}

bool native_is_number(const CType *t)
{
    return t->kind >= CK_BOOL && t->kind <= CK_COMPLEX;
}

bool native_is_text(const CType *t)
{
    return t->kind == CK_CHAR || (t->kind == CK_INT && t->size == 1);
}

bool native_is_scalar(Value v)
{
    return v.tag == V_INT || v.tag == V_FLOAT || v.tag == V_BOOL ||
           (v.tag == V_TENSOR && v.tensor->rank == 0);
}

void native_range(const CType *t, int64_t *low, int64_t *high)
{
    int bits = 8 * (int)t->size;
    if (t->kind == CK_BOOL) {
        *low = 0, *high = 1;
    } else if (t->is_unsigned) {
        *low = 0, *high = bits < 64 ? ((int64_t)1 << bits) - 1 : INT64_MAX;
    } else {
        *high = INT64_MAX >> (64 - bits);
        *low = -*high - 1;
    }
}

DType native_dtype(const CType *t)
{
    switch ((CKind)t->kind) {
    case CK_BOOL: return DT_BOOL;
    case CK_CHAR: return DT_I8;
    case CK_INT: case CK_ENUM:
        return t->size == 1 ? (t->is_unsigned ? DT_U8 : DT_I8) : t->size == 4 ? DT_I32
             : t->size == 8 ? DT_I64 : DT_NONE;
    case CK_FLOAT:
        return t->size == 2 ? (t->bf16 ? DT_BF16 : DT_F16) : t->size == 4 ? DT_F32 : t->size == 8
               ? DT_F64 : DT_NONE;
    case CK_COMPLEX:
        return t->size == 8 ? DT_C64 : t->size == 16 ? DT_C128 : DT_NONE;
    case CK_ARRAY:
        if (t->count != 2 || t->of->kind != CK_FLOAT)
            return DT_NONE;
        return t->of->size == 8 ? DT_C128 : t->of->size == 4 ? DT_C64 : DT_NONE;
    default: return DT_NONE;
    }
}

const CType *native_ctype(DType dt)
{
    static const char *const names[DT_COUNT] = {
        [DT_BOOL] = "_Bool", [DT_I8] = "signed char", [DT_U8] = "unsigned char", [DT_I32] = "int",
        [DT_I64] = "long", [DT_F16] = "_Float16", [DT_BF16] = "__bf16", [DT_F32] = "float",
        [DT_F64] = "double", [DT_C64] = "float _Complex", [DT_C128] = "double _Complex",
    };
    return dt < DT_COUNT && names[dt] ? ctype_basic(names[dt]) : NULL;
}

/* ---- integers ---- */
void native_put_int(const CType *t, void *to, int64_t i)
{
    switch (t->size) {
    case 1: *(uint8_t *)to = (uint8_t)i; break;
    case 2: *(uint16_t *)to = (uint16_t)i; break;
    case 4: *(uint32_t *)to = (uint32_t)i; break;
    default: *(uint64_t *)to = (uint64_t)i;
    }
}

static bool as_int(Value v, int64_t *i)
{
    if (v.tag == V_BOOL) {
        *i = v.i;
        return true;
    }
    return v_as_int(v, i);
}

static _Noreturn void raise_range(Interp *in, const CType *t, int64_t i, const NativeWhere *where)
{
    int64_t low, high;
    native_range(t, &low, &high);
    const char *x = native_text(in, where);
    char help[220], text[64], set[80];
    native_type_text(in, t, text, sizeof text);
    native_assigns(where, false, x, set);
    if (t->kind == CK_BOOL)
        snprintf(help, sizeof help, "%s%s != 0", set, x);
    else if (t->size == 8)
        snprintf(help, sizeof help, "declared `long`, it takes %lld and C sees the same bits",
                 (long long)i);
    else
        snprintf(help, sizeof help, "%sclamp(%s, %lld, %lld) is in range", set, x, (long long)low,
                 (long long)high);
    if (t->size == 8)
        native_refuse(in, where, t, help, "is %lld, and unsigned numbers are not negative",
                      (long long)i);
    native_refuse(in, where, t, help, "is %lld, and %s holds %lld to %lld", (long long)i, text,
                  (long long)low, (long long)high);
}

static void store_int(Interp *in, const CType *t, void *to, Value v, const NativeWhere *where)
{
    int64_t i, low, high;
    if (t->kind == CK_CHAR && v.tag == V_STRING && v.str->len == 1 && (v.str->text[0] & 0x80) == 0)
        i = v.str->text[0];
    else if (!as_int(v, &i))
        native_refuse_value(in, where, t, v);
    native_range(t, &low, &high);
    if (i < low || i > high)
        raise_range(in, t, i, where);
    native_put_int(t, to, i);
}

/* ---- floats ---- */
/* A format's own number, digit by digit: shortest text that reads back in 64 bits of significand,
 * then that as C reads it. */
static long double wide_number(Interp *in, const Tensor *t)
{
    Buf text;
    buf_init(&text, &in->ctx);
    number_text(&text, (DType)t->dtype, t->data);
    long double x = c_strtold(buf_cstr(&text), NULL);
    buf_free(&text);
    return x;
}

/* The number, exactly or rounded to nearest for a `t`; false: it is no real number. */
static bool real_number(Interp *in, Value v, const CType *t, long double *out)
{
    if (v.tag == V_FLOAT) {
        *out = v.f;
        return true;
    }
    if (v.tag == V_INT || v.tag == V_BOOL) {
        /* exact: 64 bits of significand, or two doubles, or 113 */
        *out = (long double)v.i;
        return true;
    }
    if (v.tag != V_TENSOR || v.tensor->rank != 0 || v.tensor->dtype == DT_INTERVAL)
        return false;
    DType dt = (DType)v.tensor->dtype;
    char kind = dtype_info(dt)->kind;
    if (kind == 'c')
        return false;
    if (kind == 'i' || kind == 'b') {
        *out = (long double)element_i64(dt, v.tensor->data);
    } else if (!dtype_cells(dt)) {
        *out = element_f64(dt, v.tensor->data);
    } else if (t->size > sizeof(double) && dt != DT_RATIONAL) {
        *out = wide_number(in, v.tensor);
    } else {
        Tensor *cast = tensor_cast(&in->ctx, v.tensor, t->size <= 4 ? native_dtype(t) : DT_F64);
        *out = element_f64((DType)cast->dtype, cast->data);
        tensor_release(&in->ctx, cast);
    }
    return true;
}

static void put_float(const CType *t, void *to, long double x)
{
    switch (t->size) {
    case 2: {
        double d = (double)x;
        uint16_t half;
        cast_plain(native_dtype(t), &half, 1, DT_F64, &d, 1, 1);
        memcpy(to, &half, sizeof half);
        break;
    }
    case 4: *(float *)to = (float)x; break;
    case 8: *(double *)to = (double)x; break;
    default: memcpy(to, &x, sizeof x);
    }
}

static void store_float(Interp *in, const CType *t, void *to, Value v, const NativeWhere *where)
{
    long double x;
    if (!real_number(in, v, t, &x))
        native_refuse_value(in, where, t, v);
    put_float(t, to, x);
}

static void store_complex(Interp *in, const CType *t, void *to, Value v, const NativeWhere *where)
{
    const CType part = { .kind = CK_FLOAT, .size = t->size / 2 };
    long double re, im = 0;
    if (v.tag == V_TENSOR && v.tensor->rank == 0 && dtype_info(v.tensor->dtype)->kind == 'c') {
        double _Complex z = element_c128((DType)v.tensor->dtype, v.tensor->data);
        re = creal(z);
        im = cimag(z);
    } else if (!real_number(in, v, &part, &re)) {
        native_refuse_value(in, where, t, v);
    }
    put_float(&part, to, re);
    put_float(&part, (char *)to + part.size, im);
}

/* ---- everything ---- */
static void store_pointer(Interp *in, const CType *t, void *to, Value v, const NativeWhere *where,
                          Value *keep)
{
    NativeMemory m;
    native_memory(in, t, v, where, keep, &m);
    if (keep)
        native_keep(in, keep, m.owner);
    memcpy(to, &m.at, sizeof m.at);
}

void native_store(Interp *in, const CType *t, void *to, Value v, const NativeWhere *where,
                  Value *keep)
{
    if (traced_on(in) && v.tag == V_TRACED)
        v = in->shadows->given(in, v, where->of);
    switch ((CKind)t->kind) {
    case CK_BOOL: case CK_CHAR: case CK_INT: case CK_ENUM:
        store_int(in, t, to, v, where);
        break;
    case CK_FLOAT:
        store_float(in, t, to, v, where);
        break;
    case CK_COMPLEX:
        store_complex(in, t, to, v, where);
        break;
    case CK_POINTER: case CK_FUNCTION:
        store_pointer(in, t, to, v, where, keep);
        break;
    case CK_STRUCT: case CK_UNION:
        if (v.tag != V_STRUCT || !ctype_same(t, ((Struct *)v.ptr)->type))
            native_refuse_value(in, where, t, v);
        memcpy(to, ((Struct *)v.ptr)->bytes, ctype_size(t));
        if (keep)
            native_keep(in, keep, ((Struct *)v.ptr)->keep);
        break;
    case CK_ARRAY:
        native_write(in, (NativePlace){ .type = t, .at = to }, v, where, keep);
        break;
    case CK_VOID:
        native_refuse(in, where, t, NULL, "has no value");
    }
}
