/* Elements as files keep them, between their bytes and tensors: dtypes that Ricci computes with
 * lie in a file as they lie in memory, and become views of it; i16, u16, u32, u64, bools and other
 * byte orders are converted. And numbers in text, for .mtx and .csv. */
#include "builtins/stored/files.h"
#include "core/system/ascii.h"
#include "core/system/c_locale.h"
#include "interp/op/heard.h"
#include "kernels/tensor/mapped.h"

#include <byteswap.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEP = 1 << 20,      /* elements between looks at the interrupt flag */
    VIEW_FROM = 64 << 10 /* smaller parts of a mapped file are copied, and do not hold all of it */
};

/* ---- reading ---- */

/* What files have: the dtype that holds it, and its name in .safetensors. Kinds are NumPy's
 * letters, where it has one. */
static const struct { Stored stored; DType dtype; const char *name; } codes[] = {
    { { 'b', 1, false }, DT_BOOL, "BOOL" }, { { 'u', 1, false }, DT_U8, "U8" },
    { { 'i', 1, false }, DT_I8, "I8" },     { { 'i', 2, false }, DT_I32, "I16" },
    { { 'u', 2, false }, DT_I32, "U16" },   { { 'i', 4, false }, DT_I32, "I32" },
    { { 'u', 4, false }, DT_I64, "U32" },   { { 'i', 8, false }, DT_I64, "I64" },
    { { 'u', 8, false }, DT_I64, "U64" },   { { 'f', 2, false }, DT_F16, "F16" },
    { { 'B', 2, false }, DT_BF16, "BF16" }, { { 'f', 4, false }, DT_F32, "F32" },
    { { 'f', 8, false }, DT_F64, "F64" },   { { 'c', 8, false }, DT_C64, "C64" },
    { { 'c', 16, false }, DT_C128, NULL },  { { '4', 1, false }, DT_E4M3, "F8_E4M3" },
    { { '5', 1, false }, DT_E5M2, "F8_E5M2" },
};
enum { CODES = sizeof codes / sizeof *codes };

static int code_of(Stored s)
{
    int i = 0;
    while (i < CODES && (codes[i].stored.kind != s.kind || codes[i].stored.bytes != s.bytes))
        i++;
    return i;
}

static DType stored_dtype(Stored s)
{
    int i = code_of(s);
    assert(i < CODES);
    return codes[i].dtype;
}

const char *stored_name(Stored s)
{
    int i = code_of(s);
    return i < CODES ? codes[i].name : NULL;
}

bool stored_named(const char *name, Stored *s)
{
    for (int i = 0; i < CODES; i++)
        if (codes[i].name && strcmp(codes[i].name, name) == 0) {
            *s = codes[i].stored;
            return true;
        }
    return false;
}

/* Extents of an empty shape are multiplied as if they were 1, as tensor_new does. */
bool stored_size(Stored s, int rank, const int64_t *shape, int64_t *count, int64_t *bytes)
{
    for (int i = 0; i < rank; i++)
        if (shape[i] < 0)
            return false;
    *count = shape_size(rank, shape);
    /* what a tensor of it needs must be countable, too */
    if (*count < 0 || *count > TENSOR_SIZE_MAX / 16)
        return false;
    *bytes = *count * s.bytes;
    return true;
}

static bool same_layout(Stored s)
{
    return !s.swapped && s.kind != 'b' && s.bytes == dtype_info(stored_dtype(s))->bytes &&
           !(s.kind == 'u' && s.bytes == 8);
}

bool stored_plainly(Stored s, DType *dt)
{
    *dt = stored_dtype(s);
    s.swapped = false;
    return s.kind == 'b' || same_layout(s);
}

static bool worth_viewing(const Bytes *b, Stored s, const uint8_t *raw, int64_t bytes)
{
    int64_t align = s.bytes < 8 ? s.bytes : 8;
    if (!b->whole || (uintptr_t)raw % (uintptr_t)align != 0)
        return false;
    return b->whole->buffer->flags & BUFFER_MAPPED ? bytes >= VIEW_FROM
                                                   : bytes >= b->whole->size / 2;
}

static uint64_t load_bits(const uint8_t *raw, int bytes, bool swapped)
{
    uint64_t v = 0;
    memcpy(&v, raw, (size_t)bytes);            /* little-endian machines */
    if (!swapped)
        return v;
    return bytes == 2   ? bswap_16((uint16_t)v)
           : bytes == 4 ? bswap_32((uint32_t)v)
           : bytes == 8 ? bswap_64(v)
                        : v;
}

/* i16, u16, u32 and u64 have no storage dtype: they widen on the way. */
static void widen(const Bytes *b, Stored s, const uint8_t *raw, char *to, int64_t from, int64_t end)
{
    for (int64_t i = from; i < end; i++) {
        uint64_t v = load_bits(raw + i * s.bytes, s.bytes, s.swapped);
        if (s.bytes == 2)
            ((int32_t *)to)[i] = s.kind == 'i' ? (int16_t)v : (int32_t)v;
        else if (v <= INT64_MAX)
            ((int64_t *)to)[i] = (int64_t)v;
        else
            bytes_error(b, raw + i * s.bytes - b->data,
                        "divide it by 2 where it is written, or store f64",
                        "element %lld is %llu, which does not fit i64", (long long)i,
                        (unsigned long long)v);
    }
}

/* Parts of a complex number are swapped one by one. */
static void copy_swapped(Stored s, const uint8_t *raw, char *to, int64_t from, int64_t end)
{
    int part = s.kind == 'c' ? s.bytes / 2 : s.bytes, parts = s.bytes / part;
    for (int64_t i = from * parts; i < end * parts; i++) {
        uint64_t v = load_bits(raw + i * part, part, true);
        memcpy(to + i * part, &v, (size_t)part);
    }
}

static void convert(const Bytes *b, Stored s, const uint8_t *raw, char *to, int64_t count)
{
    for (int64_t from = 0; from < count; from += STEP) {
        int64_t end = count - from < STEP ? count : from + STEP;
        if (same_layout(s))
            memcpy(to + from * s.bytes, raw + from * s.bytes, (size_t)((end - from) * s.bytes));
        else if (s.kind == 'b')
            for (int64_t i = from; i < end; i++)
                to[i] = raw[i] != 0;
        else if (s.kind == 'u' || (s.kind == 'i' && s.bytes == 2))
            widen(b, s, raw, to, from, end);
        else
            copy_swapped(s, raw, to, from, end);
        poll_interrupt(b->call->in);
    }
}

static void set_strides(int rank, const int64_t *shape, bool fortran, int64_t *strides)
{
    int64_t step = 1;
    for (int k = 0; k < rank; k++) {
        int i = fortran ? k : rank - 1 - k;
        strides[i] = step;
        step *= shape[i] ? shape[i] : 1;
    }
}

Tensor *stored_tensor(const Bytes *b, Stored s, int64_t at, int rank, const int64_t *shape,
                      bool fortran)
{
    Ctx *ctx = &b->call->in->ctx;
    DType dt = stored_dtype(s);
    const uint8_t *raw = b->data + at;
    int64_t strides[TENSOR_RANK_MAX], count = 0, bytes = 0;
    stored_size(s, rank, shape, &count, &bytes);
    set_strides(rank, shape, fortran, strides);
    if (count > 0 && same_layout(s) && worth_viewing(b, s, raw, bytes))
        return op_keep(b->call,
                       tensor_view_as(ctx, b->whole, dt, rank, shape, strides, (char *)raw));
    if (explain_on(b->call->in))
        explain_copied(b->call->in, (double)bytes);
    Tensor *flat = op_keep(b->call, tensor_new(ctx, dt, 1, &count));
    convert(b, s, raw, flat->data, count);
    return op_keep(b->call, tensor_view(ctx, flat, rank, shape, strides, flat->data));
}

/* ---- writing ---- */

/* False: no file has the dtype. */
bool dtype_stored(DType dt, Stored *s)
{
    for (int i = 0; i < CODES; i++)
        if (codes[i].dtype == dt && codes[i].stored.bytes == dtype_info(dt)->bytes) {
            *s = codes[i].stored;
            return true;
        }
    return false;
}

/* Ints with a range check into raw bytes. */
static Tensor *narrow(OpCall *c, Tensor *t, Stored s, const char *as, const char *what)
{
    int64_t low = s.kind == 'i' ? -(1LL << (8 * s.bytes - 1)) : 0;
    int64_t high = s.kind == 'i'  ? -(low + 1)
                   : s.bytes == 8 ? INT64_MAX
                                  : (1LL << (8 * s.bytes)) - 1;
    Tensor *wide =
        op_keep(c, tensor_compact(&c->in->ctx, op_keep(c, tensor_cast(&c->in->ctx, t, DT_I64))));
    int64_t n = t->size * s.bytes;
    Tensor *raw = op_keep(c, tensor_new(&c->in->ctx, DT_U8, 1, &n));
    for (int64_t i = 0; i < t->size; i++) {
        int64_t v = ((int64_t *)wide->data)[i];
        if (i % STEP == 0)
            poll_interrupt(c->in);
        if (v < low || v > high)
            err_raise(&c->in->ctx, ERR_VALUE, "element %lld of %s is %lld, which does not fit %s",
                      (long long)i, what, (long long)v, as);
        memcpy(raw->data + i * s.bytes, &v, s.bytes);
    }
    return raw;
}

bool column_order(const Tensor *t)
{
    int64_t strides[TENSOR_RANK_MAX];
    if (t->rank < 2 || tensor_contiguous(t))
        return false;
    set_strides(t->rank, tensor_shape(t), true, strides);
    for (int i = 0; i < t->rank; i++)
        if (tensor_shape(t)[i] != 1 && tensor_strides(t)[i] != strides[i])
            return false;
    return true;
}

_Noreturn void stored_refuse(OpCall *c, DType dt, const char *what)
{
    bool parts = dtype_info(dt)->kind == 'c';
    bool binary = dtype_mini_read(dtype_real(dt), &(int){ 0 }, &(int){ 0 }, &(MiniStyle){ 0 });
    const char *help[2][2] = {
        { "f64(…) rounds it; the text that repr(…) makes reads back",
          "f64(…) holds every value of it" },
        { "c128(…) rounds it; the text that repr(…) makes reads back",
          "c128(…) holds every value of it" },
    };
    err_raise_help(&c->in->ctx, ERR_DTYPE, help[parts][binary],
                   "%s is %s, which no file format holds", what, dtype_name(dt));
}

Tensor *stored_raw(OpCall *c, Tensor *x, const char *as, const char *what, Stored *s, bool *fortran)
{
    static const struct { const char *name; Stored stored; } narrower[] = {
        { "i16", { 'i', 2, false } }, { "u16", { 'u', 2, false } },
        { "u32", { 'u', 4, false } }, { "u64", { 'u', 8, false } },
    };
    Ctx *ctx = &c->in->ctx;
    bool columns = *fortran;
    *fortran = false;
    for (size_t i = 0; as && i < sizeof narrower / sizeof *narrower; i++)
        if (strcmp(as, narrower[i].name) == 0) {
            *s = narrower[i].stored;
            return narrow(c, x, *s, as, what);
        }
    DType dt = as ? dtype_find(as, strlen(as)) : (DType)x->dtype;
    if (dt == DT_NONE)
        err_raise_help(ctx, ERR_DTYPE,
                       "the dtypes of files are bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 "
                       "f64 c64 c128",
                       "\"%s\" is not a dtype that files hold", as);
    if (!dtype_stored(dt, s))
        stored_refuse(c, dt, what);
    Tensor *cast = op_keep(c, tensor_cast(ctx, x, dt));
    *fortran = columns && column_order(cast);
    return *fortran ? cast : op_keep(c, tensor_compact(ctx, cast));
}

/* ---- numbers in text ---- */

enum { NUMBER_MAX = 512 };         /* longer ones are not numbers that a program wrote */

/* The slow way, for what the fast one leaves: p is a well-formed number. */
static double float_slow(const char *p, size_t n)
{
    char copy[NUMBER_MAX];
    memcpy(copy, p, n);
    copy[n] = '\0';
    return c_strtod(copy, NULL);
}

static bool float_word(const char *p, size_t n, double *out)
{
    bool minus = n > 0 && *p == '-';
    if (n > 0 && (*p == '-' || *p == '+'))
        p++, n--;
    if (n == 3 && ascii_ncasecmp(p, "nan", 3) == 0)
        *out = (double)NAN;
    else if ((n == 3 && ascii_ncasecmp(p, "inf", 3) == 0) ||
             (n == 8 && ascii_ncasecmp(p, "infinity", 8) == 0))
        *out = minus ? -(double)INFINITY : (double)INFINITY;
    else
        return false;
    return true;
}

/* Up to 2^53 and a power of ten up to 22 are exact in f64, so one operation rounds once
 * (Clinger, How to Read Floating Point Numbers Accurately, PLDI 1990, section 5). */
bool text_float(const char *p, size_t n, double *out)
{
    static const double power[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    const char *const start = p, *const end = p + n;
    bool minus = p < end && *p == '-', point = false;
    uint64_t digits = 0;
    int count = 0, used = 0;
    int64_t scale = 0, exponent = 0;
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    for (; p < end && ((*p >= '0' && *p <= '9') || (*p == '.' && !point)); p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        count = 1;
        scale -= point;
        if (used > 0 || *p != '0')
            used++;
        if (used <= 18)
            digits = digits * 10 + (uint64_t)(*p - '0');
    }
    if (!count)
        return float_word(start, n, out);
    if (p < end && (*p == 'e' || *p == 'E')) {
        bool down = ++p < end && *p == '-';
        if (p < end && (*p == '-' || *p == '+'))
            p++;
        if (p == end)
            return false;
        for (; p < end && *p >= '0' && *p <= '9'; p++)
            exponent = exponent < 100000 ? exponent * 10 + (*p - '0') : exponent;
        scale += down ? -exponent : exponent;
    }
    if (p != end || n >= NUMBER_MAX)
        return false;
    if (used <= 18 && digits <= 1ull << 53 && scale >= -22 && scale <= 22) {
        double v = scale < 0 ? (double)digits / power[-scale] : (double)digits * power[scale];
        *out = minus ? -v : v;
        return true;
    }
    *out = float_slow(start, n);
    return true;
}

bool text_int(const char *p, size_t n, int64_t *out)
{
    bool minus = n > 0 && *p == '-';
    size_t i = n > 0 && (*p == '-' || *p == '+');
    int64_t v = 0;
    if (i == n)
        return false;
    for (; i < n; i++)
        if (p[i] < '0' || p[i] > '9' || __builtin_mul_overflow(v, 10, &v) ||
            __builtin_sub_overflow(v, p[i] - '0', &v)) /* downwards: INT64_MIN has no positive */
            return false;
    if (!minus && v == INT64_MIN)
        return false;
    *out = minus ? v : -v;
    return true;
}
