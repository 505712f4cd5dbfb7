/* `@` and transposition on entries. Matrices of f64, f32, c128 and c64 go to the loops of
 * kernels/sparse. In a precision scope or autocast, and of all other dtypes, the sums are products
 * of the row itself, on entries gathered together: all sums of one length at once, so that every
 * product and partial sum is what it is in a dense matrix of that row. */
#include "builtins/sparse/sparse.h"

#include "core/base/error.h"
#include "interp/op/heard.h"
#include "kernels/cast/tensor_cast.h"
#include "kernels/sparse/product.h"

#include <string.h>

/* ---- sums over entries by the row itself ---- */
/* Sum g is over i in [start[g], start[g + 1]): element a[at_a[i]] times row at_b[i] of b. */
typedef struct Sums {
    OpCall *c;
    Tensor *a, *b;              /* a vector, and rows of k elements; contiguous, at home */
    int64_t k, count;
    const int64_t *start, *at_a, *at_b;     /* at_a = NULL: i itself */
    Value *out;                 /* count x k; V_UNDEF before the first of them */
} Sums;

static Tensor *gathered(Sums *s, const Tensor *from, const int64_t *at, int64_t row, int rank,
                        const int64_t *shape)
{
    OpCall *c = s->c;
    Tensor *t = op_keep(c, tensor_new(&c->in->ctx, (DType)from->dtype, rank, shape));
    const size_t each = (size_t)row * dtype_info((DType)from->dtype)->bytes;
    sparse_gather(&c->in->ctx, t->data, from->data, at, row ? t->size / row : 0, each);
    poll_interrupt(c->in);
    return t;
}

/* The sums pair[1], pair[3] … of `count`, all of one length. */
static void some_sums(Sums *s, const int64_t *pair, int64_t count, int64_t length)
{
    OpCall *c = s->c;
    Ctx *ctx = &c->in->ctx;
    Value *mark = c->in->sp;
    const int64_t places = count * length, k = s->k;
    Tensor *at = op_keep(c, tensor_new(ctx, DT_I64, 2, (int64_t[]){ 2, places }));
    int64_t *a = made_ints(at), *b = a + places;
    for (int64_t g = 0, n = 0; g < count; g++)
        for (int64_t e = 0; e < length; e++, n++) {
            const int64_t i = s->start[pair[2 * g + 1]] + e;
            a[n] = s->at_a ? s->at_a[i] : i;
            b[n] = s->at_b[i];
        }
    Tensor *x = gathered(s, s->a, a, 1, 3, (int64_t[]){ count, 1, length });
    Tensor *y = gathered(s, s->b, b, k, 3, (int64_t[]){ count, length, k });
    Value args[] = { v_tensor_raw(x), v_tensor_raw(y) };
    Value r = op_root(c, op_call(c->in, op_named(c->in, "matmul"), args, 2, 0));
    Tensor *sums = op_keep(c, tensor_compact(ctx, op_keep(c, v_to_tensor(c->in, r, 0))));
    tensor_home(ctx, sums);
    if (s->out->tag == V_UNDEF)
        *s->out = v_tensor_raw(tensor_zeros(ctx, (DType)sums->dtype, 2,
                                            (int64_t[]){ s->count, k }));
    const size_t bytes = (size_t)k * dtype_info((DType)sums->dtype)->bytes;
    for (int64_t g = 0; g < count; g++)
        memcpy(s->out->tensor->data + (size_t)pair[2 * g + 1] * bytes,
               sums->data + (size_t)g * bytes, bytes);
    stack_cut(c->in, mark);
}

/* All of them, by length; rooted. */
static Tensor *all_sums(Sums *s)
{
    enum { AT_ONCE = 1 << 20 };             /* elements of one product */
    OpCall *c = s->c;
    Ctx *ctx = &c->in->ctx;
    s->out = c->in->sp;
    v_push(c->in, v_undef());
    Tensor *room = op_keep(c, tensor_new(ctx, DT_I64, 1, (int64_t[]){ 4 * s->count }));
    int64_t *pair = made_ints(room), longest = 0;
    for (int64_t g = 0; g < s->count; g++) {
        pair[2 * g] = s->start[g + 1] - s->start[g];
        pair[2 * g + 1] = g;
        longest = pair[2 * g] > longest ? pair[2 * g] : longest;
    }
    sparse_sort_pairs(pair, pair + 2 * s->count, s->count, longest);
    if (!s->count)
        some_sums(s, pair, 0, 0);
    for (int64_t g = 0, end; g < s->count; g = end) {
        const int64_t length = pair[2 * g], row = count_times(length + 1, s->k + 1);
        const int64_t most = row < AT_ONCE ? AT_ONCE / row : 1;
        for (end = g + 1; end < s->count && end - g < most && pair[2 * end] == length;)
            end++;
        some_sums(s, pair + 2 * g, end - g, length);
    }
    return s->out->tensor;
}

/* ---- operands ---- */
/* Values of s as dt. */
static Csr csr_as(OpCall *c, const Sparse *s, DType dt)
{
    Csr a = sparse_csr(s);
    if (a.dtype != dt) {
        Tensor *value = op_keep(c, tensor_cast(&c->in->ctx, s->value, dt));
        a.value = value->data;
        a.dtype = dt;
    }
    return a;
}

/* Elements of a dense operand at home, as dt if `plain`. */
static Tensor *dense_as(OpCall *c, Tensor *t, DType dt, bool plain)
{
    if (plain && (DType)t->dtype != dt)
        t = op_keep(c, tensor_cast(&c->in->ctx, t, dt));
    tensor_home(&c->in->ctx, t);
    return t;
}

/* t with its leading axes but the last two beside axis `with` of those; rank 2, or as it is. */
static Tensor *folded(OpCall *c, Tensor *t, int with)
{
    Ctx *ctx = &c->in->ctx;
    const int rank = t->rank;
    int64_t shape[TENSOR_RANK_MAX], step[TENSOR_RANK_MAX], flat[2];
    if (rank <= 2)
        return t;
    memcpy(shape, tensor_shape(t), (size_t)rank * sizeof *shape);
    memcpy(step, tensor_strides(t), (size_t)rank * sizeof *step);
    if (with == 1) {            /* rows first, then the leading axes */
        const int64_t rows = shape[rank - 2], down = step[rank - 2];
        memmove(shape + 1, shape, (size_t)(rank - 2) * sizeof *shape);
        memmove(step + 1, step, (size_t)(rank - 2) * sizeof *step);
        shape[0] = rows;
        step[0] = down;
    }
    flat[with == 1 ? 0 : 1] = tensor_shape(t)[rank - (with == 1 ? 2 : 1)];
    flat[with == 1 ? 1 : 0] = 1;
    for (int a = with == 1 ? 1 : 0; a < rank - (with == 1 ? 0 : 1); a++)
        flat[with == 1 ? 1 : 0] *= shape[a];
    Tensor *turned = op_keep(c, tensor_view(ctx, t, rank, shape, step, t->data));
    Tensor *all = op_keep(c, tensor_compact(ctx, turned));
    return op_keep(c, tensor_view(ctx, all, 2, flat, (int64_t[]){ flat[1], 1 }, all->data));
}

/* Back: y of rank 2 as t is, its axis that was multiplied now of length y has. */
static Tensor *unfolded(OpCall *c, Tensor *y, const Tensor *t, int with)
{
    const int rank = t->rank;
    int64_t shape[TENSOR_RANK_MAX], step[TENSOR_RANK_MAX], at;
    if (rank <= 2)
        return y;
    y = op_keep(c, tensor_compact(&c->in->ctx, y));
    memcpy(shape, tensor_shape(t), (size_t)rank * sizeof *shape);
    shape[rank - (with == 1 ? 2 : 1)] = y->dims[with == 1 ? 0 : 1];
    at = 1;
    for (int a = rank - 1; a >= 0; a--) {
        if (with == 1 && a == rank - 2)
            continue;
        step[a] = at;
        at *= shape[a];
    }
    if (with == 1)
        step[rank - 2] = at;
    return op_keep(c, tensor_view(&c->in->ctx, y, rank, shape, step, y->data));
}

/* ---- sparse by dense ---- */
static Tensor *times_dense(OpCall *c, const Sparse *s, Tensor *x, DType dt, bool plain)
{
    Ctx *ctx = &c->in->ctx;
    Made made = { 0 };
    if (plain) {
        const Csr a = csr_as(c, s, dt);
        Tensor *y = made_take(&made, csr_times(ctx, &made, &a, x));
        made_end(ctx, &made);
        return op_keep(c, y);
    }
    const Csr a = sparse_csr(s);
    x = op_keep(c, tensor_compact(ctx, x));
    Sums sums = { .c = c, .a = s->value, .b = x, .k = x->rank == 2 ? x->dims[1] : 1, .count = a.m,
                  .start = a.start, .at_b = a.column };
    Tensor *y = all_sums(&sums);
    return x->rank == 2 ? y : op_keep(c, tensor_view(ctx, y, 1, &a.m, (int64_t[]){ 1 }, y->data));
}

static Tensor *dense_times(OpCall *c, Tensor *x, const Sparse *s, DType dt, bool plain)
{
    Ctx *ctx = &c->in->ctx;
    Made made = { 0 };
    if (plain) {
        const Csr a = csr_as(c, s, dt);
        Tensor *y = made_take(&made, x->rank == 1 ? csr_turned_times(ctx, &made, &a, x, false)
                                                  : csr_times_from_left(ctx, &made, x, &a));
        made_end(ctx, &made);
        return op_keep(c, y);
    }
    const Csr a = sparse_csr(s);
    SparseOrder o = sparse_turned(ctx, &made, &a);
    made_take(&made, o.pattern);
    made_take(&made, o.order);
    op_keep(c, o.pattern);
    op_keep(c, o.order);
    Tensor *down = x->rank == 1 ? x : op_keep(c, tensor_transpose_last(ctx, x));
    down = op_keep(c, tensor_compact(ctx, down));
    Sums sums = { .c = c, .a = s->value, .b = down, .k = x->rank == 2 ? x->dims[0] : 1,
                  .count = a.n, .start = made_ints(o.pattern), .at_a = made_ints(o.order),
                  .at_b = made_ints(o.pattern) + a.n + 1 };
    Tensor *y = all_sums(&sums);
    return x->rank == 2 ? op_keep(c, tensor_transpose_last(ctx, y))
                        : op_keep(c, tensor_view(ctx, y, 1, &a.n, (int64_t[]){ 1 }, y->data));
}

/* ---- sparse by sparse ---- */
/* Every product of two entries, in the order in which the sums take them. */
typedef struct Terms { Tensor *row, *column, *a, *b; } Terms;

static Terms terms_of(Ctx *ctx, Made *made, const Csr *a, const Csr *b)
{
    int64_t count = 0, n = 0;
    for (int64_t k = 0; k < a->entries; k++)
        count += b->start[a->column[k] + 1] - b->start[a->column[k]];
    Terms t;
    t.row = made_vector(ctx, made, DT_I64, count);
    t.column = made_vector(ctx, made, DT_I64, count);
    t.a = made_vector(ctx, made, DT_I64, count);
    t.b = made_vector(ctx, made, DT_I64, count);
    for (int64_t i = 0; i < a->m; i++)
        for (int64_t k = a->start[i]; k < a->start[i + 1]; k++)
            for (int64_t e = b->start[a->column[k]]; e < b->start[a->column[k] + 1]; e++, n++) {
                made_ints(t.row)[n] = i;
                made_ints(t.column)[n] = b->column[e];
                made_ints(t.a)[n] = k;
                made_ints(t.b)[n] = e;
            }
    return t;
}

static Tensor *times_sparse(OpCall *c, const Sparse *s, const Sparse *t, DType dt, bool plain)
{
    Ctx *ctx = &c->in->ctx;
    Made made = { 0 };
    if (plain) {
        const Csr a = csr_as(c, s, dt), b = csr_as(c, t, dt);
        return op_keep(c, csr_times_csr(ctx, &made, &a, &b));
    }
    const Csr a = sparse_csr(s), b = sparse_csr(t);
    Terms terms = terms_of(ctx, &made, &a, &b);
    SparseOrder o = sparse_sort(ctx, &made, a.m, b.n, made_ints(terms.row),
                                made_ints(terms.column), terms.row->size);
    Tensor *at[2] = { made_vector(ctx, &made, DT_I64, terms.row->size),
                      made_vector(ctx, &made, DT_I64, terms.row->size) };
    sparse_gather(ctx, at[0]->data, terms.a->data, made_ints(o.order), at[0]->size, 8);
    sparse_gather(ctx, at[1]->data, terms.b->data, made_ints(o.order), at[1]->size, 8);
    made_poll(ctx, &made);
    Tensor *own[] = { o.pattern, o.group, at[0], at[1] };
    for (int i = 0; i < 4; i++)
        op_keep(c, made_take(&made, own[i]));
    made_end(ctx, &made);
    Sums sums = { .c = c, .a = s->value, .b = t->value, .k = 1, .count = o.group->size - 1,
                  .start = made_ints(o.group), .at_a = made_ints(at[0]),
                  .at_b = made_ints(at[1]) };
    Tensor *y = all_sums(&sums);
    y = op_keep(c, tensor_view(ctx, y, 1, &sums.count, (int64_t[]){ 1 }, y->data));
    return op_keep(c, sparse_new(ctx, a.m, b.n, tensor_retain(o.pattern), tensor_retain(y)));
}

/* ---- the row ---- */
static DType values_dtype(Value v)
{
    const Sparse *s = v_sparse(v);
    return (DType)(s ? s->value->dtype : v.tensor->dtype);
}

/* Both operands have axes that fit: else the row has an error for them, which looks at shapes
 * alone. */
static bool multiplies(const OpCall *c)
{
    for (int i = 0; i < 2; i++)
        if (c->args[i].tag != V_TENSOR || c->args[i].tensor->rank == 0)
            return false;
    const Tensor *a = c->args[0].tensor, *b = c->args[1].tensor;
    return a->dims[a->rank - 1] == b->dims[b->rank == 1 ? 0 : b->rank - 2];
}

static void tell(OpCall *c, const Sparse *s)
{
    if (heard_on(c->in))
        explain_routine(c->in, "own loops over entries", NULL, "own loops over %lld entries",
                        (long long)s->value->size);
}

/* The product of two tensors, of which one is sparse at least. */
static Value product(OpCall *c)
{
    if (!multiplies(c))
        return op_run_matmul(c);
    const Sparse *s = v_sparse(c->args[0]), *t = v_sparse(c->args[1]);
    const DType a = values_dtype(c->args[0]), b = values_dtype(c->args[1]);
    const DType dt = a == b ? a : dtype_promote(a, b);
    const bool plain = !c->in->scope && sparse_dtype(dt);
    tell(c, s ? s : t);
    if (s && t)
        return op_result(c, times_sparse(c, s, t, dt, plain));
    Tensor *x = dense_as(c, c->args[s ? 1 : 0].tensor, dt, plain), *y;
    const bool covector = !s && x->rank == 2 && (c->args[0].tensor->flags & TENSOR_COVECTOR);
    Tensor *flat = folded(c, x, s ? 1 : 0);
    y = s ? times_dense(c, s, flat, dt, plain) : dense_times(c, flat, t, dt, plain);
    y = unfolded(c, y, x, s ? 1 : 0);
    if (covector) {
        y = op_keep(c, tensor_compact(&c->in->ctx, y));
        y->flags |= TENSOR_COVECTOR;
    }
    return op_result(c, y);
}

/* Ranges and tuples of numbers are vectors. */
Value op_sparse_matmul(OpCall *c)
{
    OpCall call = *c;
    Value args[2];
    for (int i = 0; i < 2; i++)
        args[i] = v_sparse(c->args[i]) ? c->args[i] : v_tensor_raw(arg_tensor(c, i));
    call.args = args;
    call.reuse = 0;
    return product(&call);
}

/* Vectors alone have one: its error looks at shapes alone. */
Value op_sparse_dot(OpCall *c)
{
    return op_run_dot(c);
}

/* ---- transposed ---- */
static Value turned(OpCall *c, const Sparse *s, bool conj)
{
    Interp *in = c->in;
    Ctx *ctx = &in->ctx;
    const Csr a = sparse_csr(s);
    Made made = { 0 };
    SparseOrder o = sparse_turned(ctx, &made, &a);
    Tensor *value = made_vector(ctx, &made, a.dtype, a.entries);
    sparse_gather(ctx, value->data, a.value, made_ints(o.order), a.entries,
                  dtype_info(a.dtype)->bytes);
    made_poll(ctx, &made);
    Value head = op_root(c, v_tensor_raw(sparse_made(ctx, &made, a.n, a.m, o.pattern, value)));
    if (!conj || dtype_info(a.dtype)->kind != 'c')
        return v_retain(head);
    const Sparse *t = v_sparse(head);
    return sparse_with(in, t, op_unary(in, op_named(in, "conj"), sparse_values(t), 0));
}

Value op_sparse_ctranspose(OpCall *c)
{
    return turned(c, v_sparse(c->args[0]), true);
}

Value op_sparse_transpose(OpCall *c)
{
    const Sparse *s = v_sparse(c->args[0]);
    if (!s)
        return v_undef();
    if (!arg_given(c, 1))
        return turned(c, s, false);
    if (v_sparse(c->args[1]))
        return v_undef();
    Tensor *axes = op_keep(c, tensor_compact(&c->in->ctx, arg_tensor(c, 1)));
    tensor_home(&c->in->ctx, axes);
    if (axes->rank != 1 || axes->size != 2 || axes->dtype != DT_I64)
        return op_run_transpose(c);
    const int64_t *v = made_ints(axes);
    const int64_t first = v[0] < 0 ? v[0] + 2 : v[0], second = v[1] < 0 ? v[1] + 2 : v[1];
    if (first + second != 1 || first < 0 || first > 1)
        return op_run_transpose(c);
    return first == 0 ? v_retain(c->args[0]) : turned(c, s, false);
}

static Value identity_of(OpCall *c, const Sparse *s)
{
    const Value n = v_int(s->head->dims[0]), one = v_int(1);
    const DType dt = (DType)s->value->dtype;
    Value id = op_root(c, op_call(c->in, op_named(c->in, "speye"), (Value[]){ n, n, v_undef() },
                                  3, 0));
    Value x = op_call(c->in, op_named(c->in, "cast"), (Value[]){ one, v_format(dt) }, 2, 0);
    return sparse_with(c->in, v_sparse(id), x);
}

/* By repeated squaring. An inverse has no form. */
Value op_sparse_matpow(OpCall *c)
{
    Interp *in = c->in;
    const Sparse *s = v_sparse(c->args[0]);
    const Op *times = op_named(in, "matmul");
    Value base = c->args[0], result = v_undef();
    if (!s || s->head->dims[0] != s->head->dims[1])
        return sparse_refuse(c);
    const char kind = dtype_info((DType)s->value->dtype)->kind;
    const int64_t power = arg_int(c, 1);
    if (power < 0)
        return v_undef();
    if (kind == 'i' || kind == 'b')         /* as products are, also for powers 0 and 1 */
        base = op_root(c, op_call(in, op_named(in, "cast"),
                                  (Value[]){ base, v_format(DT_I64) }, 2, 0));
    if (power == 0)
        return identity_of(c, v_sparse(base));
    for (uint64_t p = (uint64_t)power;; ) {
        if (p & 1)
            result = result.tag == V_UNDEF ? base
                                           : op_root(c, op_binary(in, times, result, base, 0));
        p >>= 1;
        if (!p)
            return v_retain(result);
        poll_interrupt(in);
        base = op_root(c, op_binary(in, times, base, base, 0));
    }
}
