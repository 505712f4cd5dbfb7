/* Vector and matrix literals. [a, b] of numbers is a vector, of tensors of one shape their
 * stack, of anything else a tuple; [a, b; c, d] is a matrix of scalars or of blocks. The
 * evaluator evaluates the elements; dtypes follow the rules of "Which dtype". */
#include "core/system/c_locale.h"
#include "interp/precision/cast.h"
#include "interp/state/scope.h"
#include "interp/op/exact.h"
#include "interp/op/traced.h"
#include "interp/index/index.h"
#include "interp/index/literal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the dtype of many values ---- */

/* Collected over the elements: tensors, scalars and numeric literals apart, since a scalar
 * never widens a tensor of its own kind and a literal adapts to everything. Float literals
 * that are fractions (not pi, inf, nan) have a place of their own: rationals take them. */
typedef struct Kinds {
    DType tensors, scalars, literals, fractions;
    bool clash;                      /* no dtype holds all of them */
} Kinds;

static bool is_fraction(Value v)
{
    return v.tag == V_FLOAT && isfinite(v.f) && fabs(v.f) != M_PI;
}

static DType join(Kinds *k, DType a, DType b)
{
    if (a == DT_NONE || b == DT_NONE)
        return a == DT_NONE ? b : a;
    DType dt = dtype_promote(a, b);
    k->clash |= dt == DT_NONE;
    return dt;
}

static DType item_dtype(Value v)
{
    return v.tag == V_RANGE ? DT_I64 : v_dtype(v);
}

static void kinds_add(Kinds *k, Value v, bool weak)
{
    DType dt = item_dtype(v);
    if (v.tag == V_RANGE || (v.tag == V_TENSOR && v.tensor->rank > 0))
        k->tensors = join(k, k->tensors, dt);
    else if (weak && is_fraction(v))
        k->fractions = DT_F64;
    else if (weak)
        k->literals = join(k, k->literals, dt);
    else
        k->scalars = join(k, k->scalars, dt);
}

static int kind_order(DType dt)
{
    return (int)(strchr("biqfc", dtype_info(dt)->kind) - "biqfc");
}

static DType kinds_dtype(Kinds *k)
{
    DType dt = k->tensors;
    if (dt == DT_NONE || (k->scalars != DT_NONE && kind_order(k->scalars) > kind_order(dt)))
        dt = join(k, dt, k->scalars);
    DType literals = dt == DT_RATIONAL ? k->literals : join(k, k->literals, k->fractions);
    if (literals == DT_NONE || k->clash)
        return dt;
    if (dt == DT_NONE)
        return literals;
    if (kind_order(literals) <= kind_order(dt))
        return dt;
    bool adapts = dtype_info(literals)->kind == 'c' && dtype_info(dt)->kind == 'f';
    return adapts ? dtype_complex(dt) : literals;
}

static bool is_scalar(Value v)
{
    return v.tag == V_INT || v.tag == V_FLOAT || v.tag == V_BOOL ||
           (v.tag == V_TENSOR && v.tensor->rank == 0);
}

static bool is_array(Value v)
{
    return v_is_numeric(v) || v.tag == V_RANGE;
}

static bool bit(const bool *weak, int i)
{
    return weak && weak[i];
}

_Noreturn static void raise_clash(Interp *in, const Value *items, int n)
{
    char first[96], second[96];
    int a = 0, b = 1;
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            if (dtype_promote(item_dtype(items[i]), item_dtype(items[j])) == DT_NONE) {
                a = i;
                b = j;
                i = j = n;
            }
    Error *e = err_new(&in->ctx, ERR_DTYPE,
                       "element %d is %s and element %d is %s: no dtype holds both", a,
                       v_describe_a(items[a], first, sizeof first), b,
                       v_describe_a(items[b], second, sizeof second));
    err_underline(e, a);
    err_underline(e, b);
    const char *text = err_operand_name(&in->ctx, a);
    err_help(e, "convert one of them: f64(%s)", text ? text : "…");
    err_throw(e);
}

/* In a precision scope numbers of several dtypes become numbers of its format; those of one
 * dtype stay as they are. DT_NONE: the rules of "Which dtype" say. */
static DType scope_dtype(const Interp *in, const Value *items, int n)
{
    char widest = 'b';
    bool mixed = false;
    if (!in->scope || in->scope->format == DT_NONE)
        return DT_NONE;
    for (int i = 0; i < n; i++) {
        char kind = dtype_info(item_dtype(items[i]))->kind;
        mixed |= item_dtype(items[i]) != item_dtype(items[0]);
        widest = strchr("fq", kind) && widest != 'c' ? 'f' : kind == 'c' ? 'c' : widest;
    }
    DType real = in->scope->format;
    if (!mixed || widest == 'b')
        return DT_NONE;
    return widest == 'c' ? dtype_complex_of(real) : real;
}

static DType items_dtype(Interp *in, const Value *items, const bool *weak, int n)
{
    Kinds k = { DT_NONE, DT_NONE, DT_NONE, DT_NONE, false };
    DType dt = scope_dtype(in, items, n);
    if (dt != DT_NONE)
        return dt;
    for (int i = 0; i < n && !k.clash; i++)
        kinds_add(&k, items[i], bit(weak, i));
    dt = kinds_dtype(&k);
    if (k.clash)
        raise_clash(in, items, n);
    return dt;
}

/* ---- errors ---- */

static void item_shape(Value v, char *out, size_t cap)
{
    if (v.tag == V_RANGE)
        shape_text(out, cap, 1, &v.range->count);
    else
        shape_text(out, cap, v.tensor->rank, tensor_shape(v.tensor));
}

static _Noreturn void raise_misfit(Interp *in, DType dt, Value v, int element)
{
    int64_t i = 0;
    v_as_int(v, &i);
    Error *e = err_new(&in->ctx, ERR_VALUE,
                       "%" PRId64 " does not fit in %s, the dtype of the other elements",
                       i, dtype_name(dt));
    err_underline(e, element);
    err_throw(e);
}

static _Noreturn void raise_mixed(Interp *in, const Value *items, int n, bool matrix)
{
    int odd = 0, number = -1;
    char what[80], other[80];
    while (odd < n && is_array(items[odd]))
        odd++;
    for (int i = 0; i < n && number < 0; i++)
        number = is_array(items[i]) ? i : -1;
    if (matrix) {
        err_raise(&in->ctx, ERR_TYPE, "element %d is %s; a matrix holds numbers", odd,
                  v_describe_a(items[odd], what, sizeof what));
    }
    Error *e = err_new(&in->ctx, ERR_TYPE, "element %d is %s but element %d is %s", number,
                       v_describe_a(items[number], other, sizeof other), odd,
                       v_describe_a(items[odd], what, sizeof what));
    err_help(e, "a tuple may mix kinds: (…) instead of […]");
    err_underline(e, number);
    err_underline(e, odd);
    err_throw(e);
}

/* ---- vectors ---- */

static void store_rationals(Interp *in, Rational *out, const Value *items, const bool *weak, int n)
{
    for (int i = 0; i < n; i++)
        if (!bit(weak, i) || !is_fraction(items[i]) || !exact_literal(in, i, items[i].f, &out[i]))
            exact_store(&in->ctx, &out[i], items[i]);
}

/* A float literal beside numbers of decimal or mp keeps the digits that were written; of those
 * whose text is not at hand (i from WHERE_OPERANDS on, all of a matrix) the shortest decimal. */
static bool store_literal(Interp *in, DType dt, void *out, int i, double x)
{
    char shortest[32], *end;
    const char *text = err_operand_text(&in->ctx, i);
    if (i >= WHERE_OPERANDS && is_fraction(v_float(x))) {
        exact_shortest(x, shortest, sizeof shortest);
        text = shortest;
    }
    return dtype_foreign(dt) && dtype_info(dt)->kind == 'f' && c_strtod(text, &end) == x &&
           *end == '\0' && literal_store(in, dt, out, text, strlen(text));
}

static void store_scalars(Interp *in, DType dt, char *out, const Value *items, const bool *weak,
                          int n, bool vector)
{
    int64_t bytes = dtype_info(dt)->bytes;
    bool scoped = in->scope && in->scope->format != DT_NONE;
    for (int i = 0; i < n; i++) {
        Value v = items[i];
        if (bit(weak, i) && v.tag == V_FLOAT &&
            store_literal(in, dt, out + i * bytes, vector ? i : WHERE_OPERANDS, v.f))
            continue;
        if (scoped)
            v_push(in, v = op_cast(in, v, dt));      /* in the scope's mode */
        if (!v_store(&in->ctx, dt, out + i * bytes, v))
            raise_misfit(in, dt, v, vector ? i : -1);
        if (scoped)
            stack_cut(in, in->sp - 1);
    }
}

/* All ints or all floats, the common literals: one loop, no rules to ask. */
static Tensor *plain_scalars(Interp *in, const Value *items, int n, int rank, const int64_t *shape)
{
    uint32_t tag = n ? items[0].tag : V_UNDEF;
    if (tag != V_INT && tag != V_FLOAT)
        return NULL;
    for (int i = 1; i < n; i++)
        if (items[i].tag != tag)
            return NULL;
    Tensor *t = tensor_new(&in->ctx, tag == V_INT ? DT_I64 : DT_F64, rank, shape);
    int64_t *out = (int64_t *)t->data;
    for (int i = 0; i < n; i++)
        out[i] = items[i].i;             /* a float's bits as well */
    return t;
}

static Value scalars(Interp *in, const Value *items, const bool *weak, int n, int rank,
                     const int64_t *shape)
{
    Tensor *t = plain_scalars(in, items, n, rank, shape);
    if (t)
        return v_tensor_raw(t);
    DType dt = items_dtype(in, items, weak, n);
    t = tensor_new(&in->ctx, dt, rank, shape);
    v_push(in, v_tensor_raw(t));
    if (dt == DT_RATIONAL)
        store_rationals(in, (Rational *)(void *)t->data, items, weak, n);
    else
        store_scalars(in, dt, t->data, items, weak, n, rank == 1);
    in->sp--;
    return v_tensor_raw(t);
}

static int item_rank(Value v)
{
    return is_scalar(v) ? 0 : v.tag == V_RANGE ? 1 : v.tensor->rank;
}

static const char *item_fact(Value v, char *out, size_t cap)
{
    int rank = item_rank(v);
    return shape_fact(out, cap, rank, rank == 0 ? NULL : v.tag == V_RANGE ? &v.range->count
                                                                          : tensor_shape(v.tensor));
}

/* [A, B] with matrices of the same height was meant as a block row, which needs a `;`. */
static void help_block_row(Interp *in, Error *e, Value first, Value v)
{
    bool row = item_rank(first) == 2 && item_rank(v) == 2 &&
               first.tensor->dims[0] == v.tensor->dims[0];
    if (row && e->where.operands == 2)
        err_help(e, "side by side: [%s, %s;]", err_operand_text(&in->ctx, 0),
                 err_operand_text(&in->ctx, 1));
    else if (row)
        err_help(e, "a ; before the ] puts them side by side");
    else if (item_rank(first) == 2 && item_rank(v) == 1 && e->where.operands == 2 &&
             v.tag == V_TENSOR && v.tensor->dims[0] == first.tensor->dims[0])
        err_help(e, strpbrk(err_operand_text(&in->ctx, 1), " +-*/@:^\\")
                 ? "as a column: [%s, (%s)[:, none];]"
                                                                          : "as a column: [%s, "
                                                                            "%s[:, none];]",
                 err_operand_text(&in->ctx, 0), err_operand_text(&in->ctx, 1));
}

static _Noreturn void raise_ragged(Interp *in, Value first, Value v, int i)
{
    char a[160], b[160];
    Error *e;
    if (item_rank(first) == 1 && item_rank(v) == 1) {
        item_shape(first, a, sizeof a);
        item_shape(v, b, sizeof b);
        e = err_new(&in->ctx, ERR_SHAPE, "row 0 has %s elements but row %d has %s", a, i, b);
    } else {
        e = err_new(&in->ctx, ERR_SHAPE, "element 0 %s but element %d %s",
                    item_fact(first, a, sizeof a), i, item_fact(v, b, sizeof b));
    }
    help_block_row(in, e, first, v);
    err_underline(e, 0);
    err_underline(e, i);
    err_throw(e);
}

static bool same_shape(Value a, Value b)
{
    if (is_scalar(a) || is_scalar(b))
        return is_scalar(a) && is_scalar(b);
    int ra = a.tag == V_RANGE ? 1 : a.tensor->rank, rb = b.tag == V_RANGE ? 1 : b.tensor->rank;
    const int64_t *sa = a.tag == V_RANGE ? &a.range->count : tensor_shape(a.tensor);
    const int64_t *sb = b.tag == V_RANGE ? &b.range->count : tensor_shape(b.tensor);
    return ra == rb && memcmp(sa, sb, (size_t)ra * sizeof *sa) == 0;
}

/* Copies v into out's part at element offset `at`, as shape and strides say. */
static void place(Interp *in, Tensor *out, int64_t at, int rank, const int64_t *shape,
                  const int64_t *strides, Value v)
{
    Ctx *ctx = &in->ctx;
    Value *mark = in->sp;
    char *data = out->data + at * dtype_info(out->dtype)->bytes;
    if (in->scope && in->scope->format != DT_NONE)
        v_push(in, v = op_cast(in, v, (DType)out->dtype));
    Tensor *t = v_to_tensor(in, v, 0);
    v_push(in, v_tensor_raw(t));
    Tensor *part = tensor_view(ctx, out, rank, shape, strides, data);
    v_push(in, v_tensor_raw(part));
    tensor_assign(ctx, part, t);
    stack_cut(in, mark);
}

/* Tensors of one shape along a new first axis. */
static Value stacked(Interp *in, const Value *items, const bool *weak, int n)
{
    int64_t shape[TENSOR_RANK_MAX + 1] = { n };
    for (int i = 1; i < n; i++)
        if (!same_shape(items[0], items[i]))
            raise_ragged(in, items[0], items[i], i);
    int rank = items[0].tag == V_RANGE ? 1 : items[0].tensor->rank;
    if (rank == TENSOR_RANK_MAX)
        err_raise(&in->ctx, ERR_VALUE, "a tensor has at most %d axes", TENSOR_RANK_MAX);
    memcpy(shape + 1, items[0].tag == V_RANGE ? &items[0].range->count
                                              : tensor_shape(items[0].tensor),
           (size_t)rank * sizeof *shape);
    Tensor *out = tensor_new(&in->ctx, items_dtype(in, items, weak, n), rank + 1, shape);
    v_push(in, v_tensor_raw(out));
    int64_t step = tensor_strides(out)[0];
    for (int i = 0; i < n; i++)
        place(in, out, i * step, rank, shape + 1, tensor_strides(out) + 1, items[i]);
    in->sp--;
    return v_tensor_raw(out);
}

static Value as_tuple(Interp *in, const Value *items, int n)
{
    Tuple *t = tuple_new(&in->ctx, (uint64_t)n);
    for (int i = 0; i < n; i++)
        t->items[i] = v_retain(items[i]);
    return v_tuple(t);
}

Value build_vector_weak(Interp *in, const Value *items, const bool *weak, int n)
{
    if (__builtin_expect(in->boxes != 0, 0) && traced_any(items, n))
        return in->traces->literal(in, items, weak, NULL, n);
    int numbers = 0, single = 0;
    for (int i = 0; i < n; i++) {
        numbers += is_array(items[i]);
        single += is_scalar(items[i]);
    }
    if (n == 0)
        return v_tensor_raw(tensor_new(&in->ctx, DT_F64, 1, &(int64_t){ 0 }));
    if (single == n)
        return scalars(in, items, weak, n, 1, &(int64_t){ n });
    if (numbers == 0)
        return as_tuple(in, items, n);
    if (numbers < n)
        raise_mixed(in, items, n, false);
    return stacked(in, items, weak, n);
}

Value build_vector(Interp *in, const Value *items, int n)
{
    return build_vector_weak(in, items, NULL, n);
}

/* ---- matrices ---- */

static int64_t block_height(Value v)
{
    return is_scalar(v) ? 1 : tensor_shape(v.tensor)[0];
}

static int64_t block_width(Value v)
{
    return is_scalar(v) ? 1 : tensor_shape(v.tensor)[1];
}

/* A block's name in messages: its text where the row holds nothing else. */
typedef struct BlockPlace {
    int row, column;
    const char *text;                /* NULL: unknown */
} BlockPlace;

static _Noreturn void raise_vector(Interp *in, Value v, const BlockPlace *at)
{
    char length[128];
    Error *e;
    item_shape(v, length, sizeof length);
    if (at->text)
        e = err_new(&in->ctx, ERR_SHAPE,
                    "%s is a vector of length %s; between `;` stand matrices and rows",
                    at->text, length);
    else
        e = err_new(&in->ctx, ERR_SHAPE, "block %d of row %d is a vector of length %s; between `;` "
                    "stand matrices and rows", at->column, at->row, length);
    if (!at->text)
        err_help(e, "a vector v is the column v[:, none], the row v'");
    else
        err_help(e, strpbrk(at->text, " +-*/@:^") ? "(%s)'" : "%s'", at->text);
    err_underline(e, at->row);
    err_throw(e);
}

static void block_check(Interp *in, Value v, const BlockPlace *at)
{
    if (is_scalar(v) || (v.tag == V_TENSOR && v.tensor->rank == 2))
        return;
    if (v.tag == V_RANGE || v.tensor->rank == 1)
        raise_vector(in, v, at);
    char shape[128];
    item_shape(v, shape, sizeof shape);
    Error *e = err_new(&in->ctx, ERR_SHAPE, "block %d of row %d has shape %s; a block has two axes",
                       at->column, at->row, shape);
    err_underline(e, at->row);
    err_throw(e);
}

static void blocks_check(Interp *in, const Value *items, const int *lengths, int rows)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < lengths[i]; j++) {
            const char *text = lengths[i] == 1 && !is_scalar(*items) ? subscript_text(in, i) : NULL;
            block_check(in, *items++, &(BlockPlace){ .row = i, .column = j, .text = text });
        }
}

/* "2, 2 and 3" */
static void list_sizes(Buf *out, const int64_t *sizes, int n)
{
    for (int i = 0; i < n; i++)
        buf_printf(out, "%s%" PRId64, i == 0 ? "" : i == n - 1 ? " and " : ", ", sizes[i]);
}

/* row: the one to underline, or -1. */
static _Noreturn void raise_sizes(Interp *in, const char *what, const int64_t *sizes,
                                  int n, int row)
{
    enum { SHOWN = 12 };
    char text[256];
    Buf b;
    buf_init(&b, &in->ctx);
    list_sizes(&b, sizes, n < SHOWN ? n : SHOWN);
    if (n > SHOWN)
        buf_puts(&b, ", …");
    snprintf(text, sizeof text, "%s", buf_cstr(&b));
    buf_free(&b);
    Error *e = err_new(&in->ctx, ERR_SHAPE, "%s %s", what, text);
    err_underline(e, row);
    err_throw(e);
}

/* Room for n sizes, on the value stack. */
static int64_t *sizes_new(Interp *in, int64_t n)
{
    Tensor *t = tensor_new(&in->ctx, DT_I64, 1, &n);
    v_push(in, v_tensor_raw(t));
    return (int64_t *)t->data;
}

static void check_row(Interp *in, const Value *items, int n, int row, int64_t *height,
                      int64_t *width)
{
    *width = 0;
    bool equal = true;
    for (int j = 0; j < n; j++) {
        *width += block_width(items[j]);
        equal = equal && block_height(items[j]) == block_height(items[0]);
    }
    *height = n ? block_height(items[0]) : 0;
    if (equal)
        return;
    int64_t *heights = sizes_new(in, n);
    for (int j = 0; j < n; j++)
        heights[j] = block_height(items[j]);
    char what[64];
    snprintf(what, sizeof what, "the blocks of row %d have heights", row);
    raise_sizes(in, what, heights, n, row);
}

static void check_widths(Interp *in, const int64_t *widths, int rows, bool blocks)
{
    for (int i = 1; i < rows; i++) {
        if (widths[i] == widths[0])
            continue;
        if (blocks)
            raise_sizes(in, "the rows of blocks have widths", widths, rows, -1);
        Error *e = err_new(&in->ctx, ERR_SHAPE,
                           "row 0 has %" PRId64 " elements but row %d has %" PRId64,
                           widths[0], i, widths[i]);
        err_underline(e, 0);
        err_underline(e, i);
        err_throw(e);
    }
}

static Value blocks(Interp *in, const Value *items, const bool *weak, const int *lengths,
                    int rows, int n)
{
    Value *mark = in->sp;
    int64_t *widths = sizes_new(in, rows), *heights = sizes_new(in, rows), shape[2] = { 0 };
    const Value *row = items;
    blocks_check(in, items, lengths, rows);
    for (int i = 0; i < rows; row += lengths[i++]) {
        check_row(in, row, lengths[i], i, &heights[i], &widths[i]);
        shape[0] += heights[i];
    }
    check_widths(in, widths, rows, true);
    shape[1] = widths[0];
    Tensor *out = tensor_new(&in->ctx, items_dtype(in, items, weak, n), 2, shape);
    v_push(in, v_tensor_raw(out));
    int64_t top = 0;
    for (int i = 0; i < rows; top += heights[i++]) {
        int64_t left = 0;
        for (int j = 0; j < lengths[i]; j++, items++) {
            int64_t part[2] = { heights[i], block_width(*items) };
            place(in, out, top * shape[1] + left, 2, part, tensor_strides(out), *items);
            left += part[1];
        }
    }
    tensor_retain(out);
    stack_cut(in, mark);
    return v_tensor_raw(out);
}

Value build_matrix_weak(Interp *in, const Value *items, const bool *weak,
                        const int *lengths, int rows)
{
    int n = 0, single = 0, numbers = 0;
    for (int i = 0; i < rows; i++)
        n += lengths[i];
    if (__builtin_expect(in->boxes != 0, 0) && traced_any(items, n))
        return in->traces->literal(in, items, weak, lengths, rows);
    for (int i = 0; i < n; i++) {
        numbers += is_array(items[i]);
        single += is_scalar(items[i]);
    }
    if (numbers < n)
        raise_mixed(in, items, n, true);
    if (single < n)
        return blocks(in, items, weak, lengths, rows, n);
    Value *mark = in->sp;
    int64_t *widths = sizes_new(in, rows);
    for (int i = 0; i < rows; i++)
        widths[i] = lengths[i];
    check_widths(in, widths, rows, false);
    int64_t shape[2] = { rows, rows ? widths[0] : 0 };
    stack_cut(in, mark);
    return scalars(in, items, weak, n, 2, shape);
}
