/* Values and the objects behind them: strings, ranges, conversion to tensors, equality,
 * description and release. Everything in the interpreter and the builtins makes values
 * here (tuples: tuple.c). Nothing here prints, indexes or runs code. */
#include "interp/state/value.h"

#include "core/memory/pool.h"
#include "interp/state/kind.h"
#include "kernels/arith/arith.h"
#include "kernels/device/device.h"
#include "kernels/rational/rational.h"
#include "kernels/number/number.h"
#include "kernels/sparse/merge.h"
#include "kernels/tensor/cast.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- strings ---- */

/* A fresh string's text stands right behind it, one block for both. Text that outgrows
 * it, or that comes from a Buf, is a block of its own. */
static bool str_inline(const Str *s)
{
    return s->text == (const char *)(s + 1);
}

static void str_free(Ctx *ctx, Str *s)
{
    if (s->mark)
        mem_free(ctx, s->mark, s->mark_cap * sizeof *s->mark);
    if (str_inline(s)) {
        mem_free(ctx, s, sizeof *s + s->cap);
        return;
    }
    mem_free(ctx, s->text, s->cap);
    mem_free(ctx, s, sizeof *s);
}

Str *str_new(Ctx *ctx, const char *text, size_t len)
{
    Str *s = mem_alloc(ctx, sizeof *s + len + 1);
    *s = (Str){ .refs = 1, .len = len, .cap = len + 1, .text = (char *)(s + 1) };
    if (len)
        memcpy(s->text, text, len);
    s->text[len] = '\0';
    return s;
}

Str *str_from_buf(Ctx *ctx, Buf *b)
{
    if (b->len < 256) {
        Str *s = str_new(ctx, b->data, b->len);
        buf_free(b);
        return s;
    }
    Str *s = mem_alloc(ctx, sizeof *s);
    *s = (Str){ .refs = 1, .len = b->len, .cap = b->cap, .text = b->data };
    buf_init(b, ctx);
    return s;
}

/* A new string with s's text and room for `cap` bytes; the text is a block of its own. */
static Str *str_with_room(Ctx *ctx, const Str *s, size_t cap)
{
    char *text = mem_alloc(ctx, cap);
    memcpy(text, s->text, s->len + 1);
    Str *copy = mem_try_alloc(ctx, sizeof *copy);
    if (!copy) {
        mem_free(ctx, text, cap);
        mem_raise(ctx, sizeof *copy);
    }
    *copy = (Str){ .refs = 1, .len = s->len, .cap = cap, .text = text, .chars = s->chars };
    return copy;
}

static size_t count_chars(const char *text, size_t len)
{
    size_t chars = 0;
    for (size_t i = 0; i < len; i++)
        chars += (text[i] & 0xc0) != 0x80;
    return chars;
}

void str_append(Ctx *ctx, Str **slot, const char *text, size_t len)
{
    Str *s = *slot;
    if (!str_has_room(s, len)) {
        size_t need = s->len + len + 1;
        size_t cap = need + need / 2 + 16;      /* geometric growth: appending is linear */
        if (s->refs == 1 && !str_inline(s)) {
            size_t at = (size_t)(text - s->text);
            bool own = text >= s->text && at <= s->len;      /* s + s */
            s->text = mem_realloc(ctx, s->text, s->cap, cap);
            s->cap = cap;
            text = own ? s->text + at : text;
        } else {
            *slot = str_with_room(ctx, s, cap);
        }
    }
    str_put(*slot, text, len);
    if (*slot != s)
        v_release(ctx, v_str(s));
}

size_t str_chars(Str *s)
{
    if (s->chars == 0 && s->len > 0)
        s->chars = count_chars(s->text, s->len);
    return s->chars;
}

/* The byte `steps` code points after that at `at`, or before it. */
static size_t str_walk(const Str *s, size_t at, ptrdiff_t steps)
{
    for (; steps >= 8 && at + 9 <= s->len; at += 8) {    /* eight bytes, of which some begin one */
        uint64_t bytes, ones = ~(uint64_t)0 / 255;
        memcpy(&bytes, s->text + at + 1, sizeof bytes);
        steps -= (ptrdiff_t)(((~bytes >> 7 | bytes >> 6) & ones) * ones >> 56);
    }
    while (at < s->len && steps == 0 && (s->text[at] & 0xc0) == 0x80)
        at--;
    for (; steps > 0; steps--)
        do
            at++;
        while ((s->text[at] & 0xc0) == 0x80);
    for (; steps < 0; steps++)
        do
            at--;
        while ((s->text[at] & 0xc0) == 0x80);
    return at;
}

/* A mark stands where a code point starts, never at the end: so appending leaves it right. */
static void str_mark(Ctx *ctx, Str *s, size_t last)
{
    if (last >= s->mark_cap) {
        size_t cap = last + last / 2 + 1;
        s->mark = mem_realloc(ctx, s->mark, s->mark_cap * sizeof *s->mark, cap * sizeof *s->mark);
        s->mark_cap = cap;
    }
    if (s->marks == 0)
        s->mark[s->marks++] = 0;
    for (; s->marks <= last; s->marks++)
        s->mark[s->marks] = str_walk(s, s->mark[s->marks - 1], STR_STEP);
}

/* From where it was last time, or from a mark, whichever is nearer. */
size_t str_offset(Ctx *ctx, Str *s, size_t i)
{
    size_t chars = str_chars(s), at = s->seen_at, k = s->seen;
    if (chars == s->len)
        return i;
    if (i > k ? i - k > STR_STEP : k - i > STR_STEP) {
        size_t last = (i < chars ? i : chars - 1) / STR_STEP;
        str_mark(ctx, s, last + ((last + 1) * STR_STEP < chars));
        at = s->mark[last];
        k = last * STR_STEP;
        if (last + 1 < s->marks && s->mark[last + 1] - at == STR_STEP)
            return at + (i - k);               /* ASCII from one mark to the next */
    }
    s->seen_at = str_walk(s, at, (ptrdiff_t)i - (ptrdiff_t)k);
    s->seen = i;
    return s->seen_at;
}

/* ---- ranges ---- */

Range *range_new(Ctx *ctx, int64_t start, int64_t stop, int64_t step)
{
    if (step == 0)
        err_raise(ctx, ERR_VALUE, "the step of a range is 0");
    uint64_t gap = 0, stride = step > 0 ? (uint64_t)step : -(uint64_t)step;
    if (step > 0 ? start < stop : start > stop)
        gap = step > 0 ? (uint64_t)stop - (uint64_t)start : (uint64_t)start - (uint64_t)stop;
    uint64_t count = gap ? (gap - 1) / stride + 1 : 0;
    if (count > INT64_MAX)
        err_raise(ctx, ERR_VALUE, "a range of %llu elements is too long",
                  (unsigned long long)count);
    Range *r = mem_alloc(ctx, sizeof *r);
    *r = (Range){ .refs = 1, .start = start, .stop = stop, .step = step, .count = (int64_t)count };
    return r;
}

/* ---- release ---- */

/* Tuples and functions hold values that hold values: a chain of a million must not
 * recurse a million deep, so dying containers wait in a list threaded through a field
 * that they no longer need. */
typedef struct Doomed {
    Tuple *tuples;
    Function *functions;
} Doomed;

static void free_simple(Ctx *ctx, Value v)
{
    switch ((Tag)v.tag) {
    case V_STRING:
        str_free(ctx, v.str);
        break;
    case V_RANGE:
        mem_free(ctx, v.range, sizeof *v.range);
        break;
    case V_TENSOR:
        v.tensor->refs = 1;
        tensor_release(ctx, v.tensor);
        break;
    case V_POINTER:
    case V_STRUCT:
    case V_CFUNC:
    case V_CTYPE:
    case V_FACTORS:
    case V_STREAM:
    case V_TRACED:
    case V_TRANSFORM:
    case V_LAZY:
        v_kind(v)->release(ctx, v.ptr);
        break;
    default:            /* modules live as long as the interpreter */
        break;
    }
}

static void doom(Ctx *, Doomed *, Value);

static bool has_parts(Value v)
{
    return v.tag == V_TRANSFORM && v_kind(v)->parts && v_kind(v)->parts(v).count > 0;
}

/* A function made of others: its parts first, and then what is left of it. What its first part is
 * made of comes next, so that a chain of grad(checkpoint(…)) does not recurse. */
static void doom_made(Ctx *ctx, Doomed *d, Value v)
{
    bool more = true;
    while (more) {
        Parts p = v_kind(v)->parts(v);
        Value next = v_none(), *part = (Value *)(uintptr_t)p.item;
        more = false;
        for (uint32_t i = 0; i < p.count; i++) {
            Value x = part[i];
            part[i] = v_none();
            if (!v_is_object(x) || --*x.refs > 0)
                continue;
            if (!more && has_parts(x))
                next = x, more = true;
            else
                doom(ctx, d, x);
        }
        v_kind(v)->release(ctx, v.ptr);
        v = next;
    }
}

static void doom(Ctx *ctx, Doomed *d, Value v)
{
    if (has_parts(v)) {
        doom_made(ctx, d, v);
    } else if (v.tag == V_TUPLE) {
        Tuple *t = v.tuple;
        if (t->names)
            mem_free(ctx, t->names, t->cap * sizeof *t->names);
        if (t->index)
            mem_free(ctx, t->index, t->index_cap * sizeof *t->index);
        t->names = (const Name **)(void *)d->tuples;
        d->tuples = t;
    } else if (v.tag == V_FUNCTION) {
        Function *f = v.fn;
        if (f->chunk)
            chunk_release(f->chunk);
        f->chunk = (Chunk *)(void *)d->functions;
        d->functions = f;
    } else {
        free_simple(ctx, v);
    }
}

static void doom_items(Ctx *ctx, Doomed *d, const Value *items, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (v_is_object(items[i]) && --*items[i].refs == 0)
            doom(ctx, d, items[i]);
}

void v_free(Ctx *ctx, Value v)
{
    Doomed d = { 0 };
    doom(ctx, &d, v);
    while (d.tuples || d.functions) {
        if (d.tuples) {
            Tuple *t = d.tuples;
            d.tuples = (Tuple *)(void *)t->names;
            doom_items(ctx, &d, t->items, t->count);
            if (t->items)
                mem_free(ctx, t->items, t->cap * sizeof *t->items);
            mem_free(ctx, t, sizeof *t);
        } else {
            Function *f = d.functions;
            d.functions = (Function *)(void *)f->chunk;
            doom_items(ctx, &d, f->values, f->captured);
            mem_free(ctx, f, sizeof *f + f->captured * sizeof *f->values);
        }
    }
}

/* ---- numbers and tensors ---- */

Value v_element(Ctx *ctx, DType dt, const void *data)
{
    switch (dt) {
    case DT_BOOL:
        return v_bool(*(const uint8_t *)data != 0);
    case DT_I64:
        return v_int(*(const int64_t *)data);
    case DT_F64:
        return v_float(*(const double *)data);
    default:
        return v_tensor_raw(tensor_scalar(ctx, dt, data));
    }
}

Value v_tensor(Ctx *ctx, Tensor *t)
{
    if (t->rank != 0)
        return v_tensor_raw(t);
    tensor_home(ctx, t);             /* scalars are on the host, whatever made them */
    if (t->dtype != DT_BOOL && t->dtype != DT_I64 && t->dtype != DT_F64)
        return v_tensor_raw(t);
    Value v = v_element(ctx, t->dtype, t->data);
    tensor_release(ctx, t);
    return v;
}

DType v_dtype(Value v)
{
    switch ((Tag)v.tag) {
    case V_BOOL:
        return DT_BOOL;
    case V_INT:
        return DT_I64;
    case V_FLOAT:
        return DT_F64;
    case V_TENSOR:
        return (DType)v.tensor->dtype;
    default:
        return DT_NONE;
    }
}

bool v_is_numeric(Value v)
{
    return v.tag == V_INT || v.tag == V_FLOAT || v.tag == V_BOOL || v.tag == V_TENSOR;
}

bool v_as_int(Value v, int64_t *out)
{
    Value whole = v;
    v = v_plain(v);
    if (v.tag != V_INT && (v.tag != V_TENSOR || v.tensor->rank != 0 ||
                           dtype_info(v.tensor->dtype)->kind != 'i'))
        return false;
    v_looked(whole);
    if (v.tag == V_INT) {
        *out = v.i;
        return true;
    }
    *out = element_i64((DType)v.tensor->dtype, v.tensor->data);
    return true;
}

static double scalar_f64(Value v)
{
    if (v.tag == V_FLOAT)
        return v.f;
    if (v.tag == V_TENSOR)
        return element_f64((DType)v.tensor->dtype, v.tensor->data);
    return (double)v.i;
}

static bool store_int(DType dt, void *dst, int64_t i)
{
    return dtype_fits(dt, i) && dtype_store_int(dt, dst, i);
}

/* An f32 takes an int directly, so that it is rounded once. */
static void store_float(DType dt, void *dst, Value v)
{
    double f = scalar_f64(v);
    if (dt == DT_F32 && v.tag == V_INT)
        *(float *)dst = (float)v.i;
    else if (dt == DT_F64)
        *(double *)dst = f;
    else
        cast_plain(dt, dst, 1, DT_F64, &f, 1, 1);
}

static double _Complex scalar_c128(Value v)
{
    return v.tag == V_TENSOR ? element_c128((DType)v.tensor->dtype, v.tensor->data) : scalar_f64(v);
}

/* What is or becomes a complex number of a format that no C type holds. */
static bool store_pair(Ctx *ctx, DType dt, void *dst, Value v)
{
    Tensor *x = v.tag == V_TENSOR ? tensor_retain(v.tensor)
                : v.tag == V_FLOAT ? tensor_scalar(ctx, DT_F64, &v.f)
                                   : tensor_scalar(ctx, DT_I64, &v.i);
    ErrFrame frame;
    if (!ERR_TRY(ctx, &frame)) {
        tensor_release(ctx, x);
        err_rethrow(ctx);
    }
    Tensor *cast = tensor_cast(ctx, x, dt);
    ERR_END(ctx, &frame);
    memcpy(dst, cast->data, dtype_info(dt)->bytes);
    tensor_release(ctx, cast);
    tensor_release(ctx, x);
    return true;
}

/* Numbers that arith.h knows: into its formats, or from one into an ordinary dtype. */
static bool store_foreign(Ctx *ctx, DType dt, void *dst, Value v)
{
    _Alignas(16) char carrier[16] = { 0 };
    uint8_t truth = v.i != 0;
    if (dtype_wide_pair(dt) || (v.tag == V_TENSOR && dtype_wide_pair((DType)v.tensor->dtype)))
        return store_pair(ctx, dt, dst, v);
    DType from = v_dtype(v);
    const void *data = v.tag == V_TENSOR ? (const void *)v.tensor->data : v.tag == V_BOOL
                       ? &truth : (const void *)&v.i;
    Arith a;
    if (!dtype_foreign(dt) || dtype_info(dt)->kind == 'c')
        return cast_run(dt, dst, 1, from, data, 1, 1) < 0;
    ArithStatus status = arith_open(ctx, &a, dt, ROUND_NEAREST, false, false);
    double _Complex z = dtype_info(from)->kind == 'c' ? element_c128(from, data) : 0;
    if (status == ARITH_OK && dtype_info(from)->kind == 'c')
        status = cimag(z) != 0 ? ARITH_COMPLEX : a.ops->load(&a, carrier, 1, DT_F64, &z, 1, 1);
    else if (status == ARITH_OK)
        status = a.ops->load(&a, carrier, 1, from, data, 1, 1);
    if (status == ARITH_OK)
        status = a.ops->store(&a, dst, 1, carrier, 1, 1);
    if (status != ARITH_OK)
        arith_raise(ctx, status, dt, "the store");
    return true;
}

bool v_store(Ctx *ctx, DType dt, void *dst, Value v)
{
    if (dtype_base(dt) > DT_RATIONAL ||
        (v.tag == V_TENSOR && dtype_base((DType)v.tensor->dtype) >= DT_RATIONAL))
        return store_foreign(ctx, dt, dst, v);
    switch (dtype_info(dt)->kind) {
    case 'b':
        *(uint8_t *)dst = v.tag == V_TENSOR ? *(uint8_t *)v.tensor->data : v.i != 0;
        return true;
    case 'i':
        return store_int(dt, dst, v.tag == V_TENSOR
                         ? element_i64((DType)v.tensor->dtype, v.tensor->data)
                                                    : v.i);
    case 'f':
        store_float(dt, dst, v);
        return true;
    default:
        if (dt == DT_C64)
            *(float _Complex *)dst = (float _Complex)scalar_c128(v);
        else
            *(double _Complex *)dst = scalar_c128(v);
        return true;
    }
}

void v_check_depth(Interp *in)
{
    if ((char *)__builtin_frame_address(0) < in->ctx.stack_limit)
        err_raise(&in->ctx, ERR_MEMORY, "values are nested too deep");
}

typedef struct RangeJob {
    const Range *range;
    int64_t *data;
} RangeJob;

static void range_part(void *arg, int64_t begin, int64_t end, int worker)
{
    const RangeJob *j = arg;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        j->data[i] = j->range->start + i * j->range->step;
}

/* Its elements may be many: gigabytes are seconds of work. */
static Tensor *range_tensor(Interp *in, const Range *r)
{
    Tensor *t = tensor_new(&in->ctx, DT_I64, 1, &r->count);
    RangeJob job = { r, (int64_t *)t->data };
    v_push(in, v_tensor_raw(t));
    pool_for(&in->ctx, r->count, 1 << 16, range_part, &job);
    poll_interrupt(in);
    in->sp--;
    return t;
}

static bool has_numbers_only(Interp *in, const Tuple *t)
{
    v_check_depth(in);
    for (uint32_t i = 0; i < t->count; i++) {
        Value item = t->items[i];
        bool fits = item.tag == V_TUPLE ? has_numbers_only(in, item.tuple)
                                        : v_is_numeric(item) || item.tag == V_RANGE;
        if (!fits)
            return false;
    }
    return true;
}

/* A tuple of numbers as the vector of them, of tuples as their stack. */
static Tensor *tuple_tensor(Interp *in, const Tuple *t)
{
    Value *mark = in->sp;
    v_check_depth(in);
    for (uint32_t i = 0; i < t->count; i++) {
        Value item = t->items[i];
        v_push(in, item.tag == V_TUPLE ? v_tensor_raw(tuple_tensor(in, item.tuple))
                                       : v_retain(item));
    }
    Value stacked = in->vector(in, mark, (int)t->count);
    stack_cut(in, mark);
    return stacked.tensor;
}

Tensor *v_to_tensor(Interp *in, Value v, int operand)
{
    Ctx *ctx = &in->ctx;
    switch ((Tag)v.tag) {
    case V_BOOL:
        return tensor_scalar(ctx, DT_BOOL, &(uint8_t){ v.i != 0 });
    case V_INT:
        return tensor_scalar(ctx, DT_I64, &v.i);
    case V_FLOAT:
        return tensor_scalar(ctx, DT_F64, &v.f);
    case V_TENSOR:
        return tensor_retain(v.tensor);
    case V_RANGE:
        return range_tensor(in, v.range);
    case V_TUPLE:
        if (has_numbers_only(in, v.tuple))
            return tuple_tensor(in, v.tuple);
        break;
    default:
        break;
    }
    char what[80], help[160];
    Error *e = err_new(ctx, ERR_TYPE, "%s is %s; a number or a tensor is needed",
                       err_operand_text(ctx, operand), v_describe_a(v, what, sizeof what));
    err_underline(e, operand);
    if (v_instead(v, help, sizeof help, err_operand_text(ctx, operand)))
        err_help(e, "%s", help);
    err_throw(e);
}

/* ---- equality ---- */

static bool numbers_equal(Ctx *ctx, DType dt, const char *a, const char *b, int64_t n)
{
    Arith arith;
    bool pairs = dtype_wide_pair(dt);
    dt = dtype_real(dt);
    n *= pairs ? 2 : 1;
    ArithStatus status = arith_open(ctx, &arith, dt, ROUND_NEAREST, false, false);
    for (int64_t i = 0; i < n && status == ARITH_OK; i++) {
        int order = 2;
        status = arith.ops->compare(&arith, a + i * arith.size, b + i * arith.size, &order);
        if (status == ARITH_OK && order != 0)
            return false;
    }
    if (status != ARITH_OK)
        arith_raise(ctx, status, dt, "==");
    return true;
}

static bool elements_equal(Ctx *ctx, DType dt, const char *a, const char *b, int64_t n)
{
    size_t bytes = dtype_info(dt)->bytes;
    if (dtype_base(dt) >= DT_DECIMAL)
        return numbers_equal(ctx, dt, a, b, n);
    switch (dtype_info(dt)->kind) {
    case 'f':
        for (int64_t i = 0; i < n; i++)
            if (element_f64(dt, a + i * bytes) != element_f64(dt, b + i * bytes))
                return false;
        return true;
    case 'c':
        for (int64_t i = 0; i < n; i++)
            if (element_c128(dt, a + i * bytes) != element_c128(dt, b + i * bytes))
                return false;
        return true;
    case 'q':
        for (int64_t i = 0; i < n; i++)
            if (!rational_equal(((const Rational *)(const void *)a)[i],
                                ((const Rational *)(const void *)b)[i]))
                return false;
        return true;
    default:
        return memcmp(a, b, (size_t)n * bytes) == 0;
    }
}

/* Piece by piece, between which Ctrl-C is heard. */
static bool pieces_equal(Interp *in, DType dt, const Tensor *a, const Tensor *b)
{
    enum { PIECE = 1 << 18 };
    size_t bytes = dtype_info(dt)->bytes;
    for (int64_t at = 0; at < a->size; at += PIECE) {
        int64_t n = a->size - at < PIECE ? a->size - at : PIECE;
        poll_interrupt(in);
        if (!elements_equal(&in->ctx, dt, a->data + (size_t)at * bytes,
                            b->data + (size_t)at * bytes, n))
            return false;
    }
    return true;
}

/* Two tensors of one shape, of which some are sparse, on the value stack from `at` on: what is not
 * stored in either is equal. One that is dense has as many elements already. */
static void entries_only(Ctx *ctx, Tensor *t[2], Value *at)
{
    const Sparse *a = tensor_sparse(t[0]), *b = tensor_sparse(t[1]);
    Tensor *own[2];
    if (a && b)
        sparse_aligned(ctx, a, b, own);
    for (int i = 0; i < 2; i++) {
        const Sparse *s = i ? b : a;
        if (!(a && b))
            own[i] = s ? sparse_to_dense(ctx, s) : tensor_retain(t[i]);
        v_release(ctx, at[i]);
        at[i] = v_tensor_raw(t[i] = own[i]);
    }
}

static bool tensors_equal(Interp *in, Value a, Value b)
{
    Ctx *ctx = &in->ctx;
    Value *mark = in->sp;
    Tensor *t[2];
    t[0] = v_to_tensor(in, a, 0);
    v_push(in, v_tensor_raw(t[0]));
    t[1] = v_to_tensor(in, b, 1);
    v_push(in, v_tensor_raw(t[1]));
    bool equal = t[0]->rank == t[1]->rank &&
                 memcmp(tensor_shape(t[0]), tensor_shape(t[1]), t[0]->rank * sizeof(int64_t)) == 0;
    if (equal && (tensor_sparse(t[0]) || tensor_sparse(t[1])))
        entries_only(ctx, t, mark);
    if (equal) {
        DType dt = dtype_promote((DType)t[0]->dtype, (DType)t[1]->dtype);
        if (dt == DT_NONE)
            arith_raise(ctx, ARITH_MIXED, (DType)t[0]->dtype, "==");
        for (int i = 0; i < 2; i++) {
            t[i] = tensor_cast(ctx, t[i], dt);
            v_push(in, v_tensor_raw(t[i]));
            t[i] = tensor_compact(ctx, t[i]);
            v_push(in, v_tensor_raw(t[i]));
            tensor_home(ctx, t[i]);
        }
        equal = pieces_equal(in, dt, t[0], t[1]);
    }
    stack_cut(in, mark);
    return equal;
}

static bool tuples_equal(Interp *in, const Tuple *a, const Tuple *b)
{
    v_check_depth(in);
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        const Name *na = a->names ? a->names[i] : NULL, *nb = b->names ? b->names[i] : NULL;
        if (na != nb || !v_equal(in, a->items[i], b->items[i]))
            return false;
    }
    return true;
}

static bool ranges_equal(const Range *a, const Range *b)
{
    return a->count == b->count && (a->count == 0 || a->start == b->start) &&
           (a->count < 2 || a->step == b->step);
}

/* Exact: 2^53 + 1 is not the float next to it. */
static bool int_equals_float(int64_t i, double f)
{
    return (double)i == f && (f < 0x1p63 && (int64_t)f == i);
}

static bool arrays_equal(Interp *in, Value a, Value b)
{
    if (v_is_object(a) || v_is_object(b))
        return tensors_equal(in, a, b);
    if (a.tag == V_FLOAT)
        return b.tag == V_FLOAT ? a.f == b.f : int_equals_float(b.i, a.f);
    return b.tag == V_FLOAT ? int_equals_float(a.i, b.f) : a.i == b.i;
}

bool v_equal(Interp *in, Value a, Value b)
{
    a = v_looked(a);
    b = v_looked(b);
    if (a.tag == V_RANGE && b.tag == V_RANGE)
        return ranges_equal(a.range, b.range);
    if ((v_is_numeric(a) || a.tag == V_RANGE) && (v_is_numeric(b) || b.tag == V_RANGE))
        return arrays_equal(in, a, b);
    if ((a.tag >= V_FACTORS || b.tag >= V_FACTORS) && a.tag != b.tag)
        return false;
    if (a.tag >= V_POINTER && b.tag >= V_POINTER)
        return v_kind(a)->equal(a, b);
    if (a.tag != b.tag)
        return false;
    switch ((Tag)a.tag) {
    case V_UNDEF:
    case V_NONE:
    case V_FLOW:
        return true;
    case V_STRING:
        return a.str->len == b.str->len && memcmp(a.str->text, b.str->text, a.str->len) == 0;
    case V_TUPLE:
        return a.tuple == b.tuple || tuples_equal(in, a.tuple, b.tuple);
    case V_DEVICE:
        return device_same(&in->ctx, a.device, b.device);
    default:
        return a.ptr == b.ptr;
    }
}

/* ---- sizes ---- */
double v_bytes(Value v)
{
    double sum = 0;
    const Sparse *s = v.tag == V_TENSOR ? tensor_sparse(v.tensor) : NULL;
    if (s)
        return v_bytes(v_tensor_raw(s->pattern)) + v_bytes(v_tensor_raw(s->value));
    if (v.tag == V_TENSOR)
        return (double)v.tensor->size * dtype_info((DType)v.tensor->dtype)->bytes;
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        sum += v_bytes(v.tuple->items[i]);
    return sum;
}

/* ---- names of types, for messages ---- */

static const char *scalar_type_name(DType dt)
{
    switch (dtype_info(dt)->kind) {
    case 'b':
        return "bool";
    case 'i':
        return "int";
    case 'q':
        return "rational";
    case 'f':
        return "float";
    default:
        return "complex";
    }
}

const char *v_type_name(Value v)
{
    static const char *const names[] = {
        [V_UNDEF] = "undefined", [V_NONE] = "none", [V_BOOL] = "bool", [V_INT] = "int",
        [V_FLOAT] = "float", [V_FORMAT] = "format", [V_DEVICE] = "device", [V_FLOW] = "flow",
        [V_OP] = "function", [V_STRING] = "string", [V_RANGE] = "range", [V_TUPLE] = "tuple",
        [V_TENSOR] = "tensor", [V_FUNCTION] = "function", [V_MODULE] = "module",
        [V_POINTER] = "pointer", [V_STRUCT] = "struct", [V_CFUNC] = "function",
        [V_CTYPE] = "C type", [V_FACTORS] = "factorization", [V_TRANSFORM] = "function",
        [V_STREAM] = "stream",
    };
    v = v_plain(v);
    if (v.tag == V_TENSOR && v.tensor->rank == 0)
        return scalar_type_name((DType)v.tensor->dtype);
    return names[v.tag];
}

const char *tensor_describe(DType dt, int rank, const int64_t *lengths, char *out, size_t cap)
{
    const char *dtype = dtype_name(dt);
    char shape[64];
    shape_text(shape, sizeof shape, rank, lengths);
    if (rank == 0)
        snprintf(out, cap, "%s", dtype);
    else if (rank == 1)
        snprintf(out, cap, "vector of %s %s", shape, dtype);
    else
        snprintf(out, cap, "%s %s", shape, dtype);
    return out;
}

const char *v_describe(Value v, char *out, size_t cap)
{
    v = v_plain(v);
    if (v.tag >= V_POINTER)
        return v_kind(v)->describe(v, out, cap);
    if (v.tag != V_TENSOR) {
        snprintf(out, cap, "%s", v_type_name(v));
        return out;
    }
    const Tensor *t = v.tensor;
    size_t n = tensor_sparse(t) && cap > 8 ? (size_t)snprintf(out, cap, "sparse ") : 0;
    tensor_describe((DType)t->dtype, t->rank, tensor_shape(t), out + n, cap - n);
    return out;
}

/* By sound: an f64, an i32, an 8×8 f32, a u8. */
static const char *article(const char *what)
{
    if (strcmp(what, "none") == 0)
        return "";
    if (what[0] == '8' || strncmp(what, "11\u00d7", 4) == 0 || strncmp(what, "18\u00d7", 4) == 0)
        return "an ";
    if ((what[0] == 'f' && what[1] >= '0' && what[1] <= '9') || strncmp(what, "mp(", 3) == 0)
        return "an ";
    return strchr("aeio", what[0]) || strncmp(what, "un", 2) == 0 ? "an " : "a ";
}

const char *v_describe_a(Value v, char *out, size_t cap)
{
    char what[96];
    v_describe(v, what, sizeof what);
    snprintf(out, cap, "%s%s", article(what), what);
    return out;
}
