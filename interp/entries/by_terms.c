/* Term by term: the values of the indices for which all sparse factors have an entry are listed,
 * those of one result after one another, the last summed index fastest; each factor's elements
 * there are a vector, which rows multiply and add up. Slow, and in memory as large as the list:
 * for formats, and for indices that no pair of factors sums. */
#include "interp/entries/network.h"

#include "interp/op/heard.h"
#include "interp/precision/precise.h"

#include <stdlib.h>
#include <string.h>

typedef struct Matrix {         /* a sparse factor, by its rows and by its columns */
    int factor, label[2];
    Csr a[2];
} Matrix;

typedef struct Terms {
    const Network *n;
    int matrices, labels, order[NET_LABELS];
    Matrix matrix[NET_FACTORS];
    int64_t at[NET_LABELS], count;
    int64_t *list;              /* `labels` of each term, in their order; NULL: counted only */
} Terms;

static Value push(Interp *in, Value v)
{
    v_push(in, v);
    return v;
}

/* ---- the list ---- */
/* The entry (i, j), or -1. */
static int64_t find(const Csr *a, int64_t i, int64_t j)
{
    int64_t low = a->start[i], high = a->start[i + 1];
    while (low < high) {
        const int64_t k = low + (high - low) / 2;
        if (a->column[k] < j)
            low = k + 1;
        else
            high = k;
    }
    return low < a->start[i + 1] && a->column[low] == j ? low : -1;
}

/* Of the matrices with label l whose other index has a value, the one with the fewest entries
 * there. */
static const Csr *narrowest(const Terms *t, int l, uint64_t known, int64_t *row)
{
    const Csr *best = NULL;
    int64_t fewest = 0;
    for (int k = 0; k < t->matrices; k++)
        for (int side = 0; side < 2; side++) {
            const Matrix *m = &t->matrix[k];
            if (m->label[1 - side] != l || !(known >> m->label[side] & 1))
                continue;
            const Csr *a = &m->a[side];
            const int64_t i = t->at[m->label[side]], count = a->start[i + 1] - a->start[i];
            if (!best || count < fewest) {
                best = a;
                fewest = count;
                *row = i;
            }
        }
    return best;
}

static bool all_have(const Terms *t, int l, uint64_t known)
{
    for (int k = 0; k < t->matrices; k++) {
        const Matrix *m = &t->matrix[k];
        const bool told = (m->label[0] == l && (known >> m->label[1] & 1)) ||
                          (m->label[1] == l && (known >> m->label[0] & 1));
        if (told && find(&m->a[0], t->at[m->label[0]], t->at[m->label[1]]) < 0)
            return false;
    }
    return true;
}

static void visit(Terms *t, int depth, uint64_t known)
{
    if (depth == t->labels) {
        for (int k = 0; t->list && k < t->labels; k++)
            t->list[t->count * t->labels + k] = t->at[t->order[k]];
        t->count++;
        return;
    }
    const int l = t->order[depth];
    int64_t row = 0;
    const Csr *a = narrowest(t, l, known, &row);
    const int64_t from = a ? a->start[row] : 0, to = a ? a->start[row + 1] : t->n->extent[l];
    poll_interrupt(t->n->in);
    for (int64_t c = from; c < to; c++) {
        t->at[l] = a ? a->column[c] : c;
        if (all_have(t, l, known))
            visit(t, depth + 1, known | UINT64_C(1) << l);
    }
}

static void read_network(Terms *t, const Network *n)
{
    uint64_t seen = 0;
    *t = (Terms){ .n = n };
    for (int a = 0; a < n->rank; a++) {
        t->order[t->labels++] = n->out[a];
        seen |= UINT64_C(1) << n->out[a];
    }
    for (int i = 0; i < n->factors; i++) {
        const NetFactor *f = &n->factor[i];
        const Sparse *s = v_sparse(f->v);
        for (int a = 0; a < f->rank; a++)
            if (!(seen >> f->label[a] & 1)) {
                t->order[t->labels++] = f->label[a];
                seen |= UINT64_C(1) << f->label[a];
            }
        if (s)
            t->matrix[t->matrices++] = (Matrix){
                i, { f->label[0], f->label[1] },
                { sparse_csr(s), sparse_csr(network_turned(n->in, s)) }
            };
    }
}

static void list_terms(Terms *t)
{
    Interp *in = t->n->in;
    visit(t, 0, 0);
    const int64_t words = count_times(t->count, t->labels + 1);
    t->list = (int64_t *)(void *)push(in, v_tensor_raw(tensor_new(&in->ctx, DT_I64, 1, &words)))
                  .tensor->data;
    t->count = 0;
    visit(t, 0, 0);
}

/* ---- products ---- */
static int place_of(const Terms *t, int label)
{
    int k = 0;
    while (t->order[k] != label)
        k++;
    return k;
}

static void take(const Terms *t, const NetFactor *f, const Tensor *from, Tensor *to)
{
    const size_t each = dtype_info((DType)to->dtype)->bytes;
    int64_t step[NET_LABELS] = { 0 };
    for (int a = 0; a < f->rank; a++)
        step[place_of(t, f->label[a])] = tensor_strides(from)[a];
    for (int64_t e = 0; e < t->count; e++) {
        int64_t at = 0;
        for (int k = 0; k < t->labels; k++)
            at += t->list[e * t->labels + k] * step[k];
        memcpy(to->data + (size_t)e * each, from->data + at * (int64_t)each, each);
    }
}

static void take_entries(const Terms *t, const NetFactor *f, const Sparse *s, Tensor *to)
{
    const size_t each = dtype_info((DType)to->dtype)->bytes;
    const Csr a = sparse_csr(s);
    const int row = place_of(t, f->label[0]), column = place_of(t, f->label[1]);
    for (int64_t e = 0; e < t->count; e++) {
        const int64_t *at = t->list + e * t->labels, k = find(&a, at[row], at[column]);
        memcpy(to->data + (size_t)e * each, (const char *)a.value + (size_t)k * each, each);
    }
}

/* A factor's elements, one for each term, in the format of the scope. */
static Value elements(const Terms *t, const NetFactor *f)
{
    Interp *in = t->n->in;
    const Sparse *s = v_sparse(f->v);
    if (f->rank == 0)
        return f->v;
    const DType dt = s ? (DType)s->value->dtype : (DType)f->v.tensor->dtype;
    Tensor *to = tensor_new(&in->ctx, dt, 1, &t->count);
    push(in, v_tensor_raw(to));
    if (s) {
        take_entries(t, f, s, to);
    } else {
        tensor_home(&in->ctx, f->v.tensor);
        take(t, f, f->v.tensor, to);
    }
    if (!precise_scope(in) || !strchr("fcq", dtype_info(dt)->kind))
        return v_tensor_raw(to);
    return push(in, op_unary(in, op_named(in, "positive"), v_tensor_raw(to), 0));
}

/* As a vector, also where all factors are numbers. */
static Tensor *vector_of(const Terms *t, Value v)
{
    Interp *in = t->n->in;
    Tensor *x = push(in, v_tensor_raw(v_to_tensor(in, v, 0))).tensor;
    tensor_home(&in->ctx, x);
    if (x->rank == 0)
        x = push(in, v_tensor_raw(tensor_broadcast(&in->ctx, x, 1, &t->count))).tensor;
    return push(in, v_tensor_raw(tensor_compact(&in->ctx, x))).tensor;
}

static Tensor *products(const Terms *t, const Value *factors)
{
    Interp *in = t->n->in;
    Value all = factors[0];
    bool weak = t->n->factor[0].weak;
    for (int i = 1; i < t->n->factors; i++) {
        const NetFactor *f = &t->n->factor[i];
        all = push(in, op_binary(in, op_named(in, "multiply"), all, factors[i],
                                 (unsigned)weak | (unsigned)f->weak << 1));
        weak = weak && f->weak;
    }
    if (t->n->factors == 1)             /* which an accumulator takes as its own */
        all = push(in, op_unary(in, op_named(in, "positive"), all, weak));
    return vector_of(t, all);
}

/* ---- sums ---- */
typedef struct Run { int64_t first, count; } Run;       /* terms of one result */

static int longest_first(const void *a, const void *b)
{
    const Run *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count) - (x->count > y->count)
                                : (x->first > y->first) - (x->first < y->first);
}

static int64_t find_runs(const Terms *t, Run *run)
{
    const size_t out = (size_t)t->n->rank * sizeof *t->list;
    int64_t runs = 0;
    for (int64_t e = 0; e < t->count; e++) {
        const int64_t *at = t->list + e * t->labels;
        if (e && memcmp(at, at - t->labels, out) == 0) {
            run[runs - 1].count++;
            continue;
        }
        run[runs++] = (Run){ e, 1 };
    }
    qsort(run, (size_t)runs, sizeof *run, longest_first);
    return runs;
}

/* The terms number `step` of all runs that have so many, which are the first ones. */
static Tensor *nth_terms(Interp *in, const Tensor *x, const Run *run, int64_t runs, int64_t step)
{
    const size_t each = dtype_info((DType)x->dtype)->bytes;
    int64_t count = 0;
    while (count < runs && run[count].count > step)
        count++;
    Tensor *t = tensor_new(&in->ctx, (DType)x->dtype, 1, &count);
    push(in, v_tensor_raw(t));
    for (int64_t k = 0; k < count; k++)
        memcpy(t->data + (size_t)k * each, x->data + (size_t)(run[k].first + step) * each, each);
    return t;
}

/* One sum for each run, term by term. */
static Tensor *sums(const Terms *t, Tensor *x, const Run *run, int64_t runs)
{
    Interp *in = t->n->in;
    Tensor *all = nth_terms(in, x, run, runs, 0);
    const size_t each = dtype_info((DType)all->dtype)->bytes;
    const int64_t one = 1;
    for (int64_t step = 1; runs && step < run[0].count; step++) {
        Value *mark = in->sp;
        Tensor *next = nth_terms(in, x, run, runs, step);
        Tensor *head = tensor_view(&in->ctx, all, 1, &next->size, &one, all->data);
        push(in, v_tensor_raw(head));
        Value v = push(in, op_binary(in, op_named(in, "add"), v_tensor_raw(head),
                                     v_tensor_raw(next), 0));
        Tensor *sum = push(in, v_tensor_raw(tensor_compact(&in->ctx, v.tensor))).tensor;
        tensor_home(&in->ctx, sum);
        memcpy(all->data, sum->data, (size_t)sum->size * each);
        stack_cut(in, mark);
        poll_interrupt(in);
    }
    return all;
}

static DType widest_foreign(const Terms *t)
{
    DType all = DT_NONE;
    bool foreign = false;
    for (int i = 0; i < t->n->factors; i++) {
        const NetFactor *f = &t->n->factor[i];
        const DType dt = v_dtype(f->v);
        foreign |= dtype_foreign(dt);
        if (!f->weak && dt != DT_NONE && strchr("fcq", dtype_info(dt)->kind))
            all = all == DT_NONE ? dt : dtype_promote(all, dt);
    }
    return foreign ? all : DT_NONE;
}

/* Products and sums in the accumulator of the scope, or of the format of foreign factors. */
static Tensor *summed(const Terms *t, Run *run, int64_t *runs)
{
    Interp *in = t->n->in;
    Scope implied, *s = precise_scope(in);
    Value factors[NET_FACTORS];
    const DType foreign = s ? DT_NONE : widest_foreign(t);
    for (int i = 0; i < t->n->factors; i++)
        factors[i] = elements(t, &t->n->factor[i]);
    *runs = find_runs(t, run);
    if (foreign != DT_NONE) {
        implied = scope_implied(in, dtype_real(foreign));
        s = &implied;
    }
    if (!s || t->labels == t->n->rank)
        return sums(t, products(t, factors), run, *runs);
    Scope inner = precise_inner(s);
    scope_enter(in, &inner);
    Tensor *all = sums(t, products(t, factors), run, *runs);
    scope_leave(in, &inner);
    arith_flags_add(&s->flags, &inner.flags);
    s->draw = inner.draw > s->draw ? inner.draw : s->draw;
    Value v = precise_settle(in, s, op_named(in, "sum"), v_retain(v_tensor_raw(all)));
    return vector_of(t, push(in, v));
}

/* ---- the result ---- */
static Value scattered(const Terms *t, const Tensor *x, const Run *run, int64_t runs)
{
    Interp *in = t->n->in;
    int64_t shape[TENSOR_RANK_MAX];
    const size_t each = dtype_info((DType)x->dtype)->bytes;
    for (int a = 0; a < t->n->rank; a++)
        shape[a] = t->n->extent[t->n->out[a]];
    Tensor *out = tensor_zeros(&in->ctx, (DType)x->dtype, t->n->rank, shape);
    push(in, v_tensor_raw(out));
    for (int64_t k = 0; k < runs; k++) {
        int64_t at = 0;
        for (int a = 0; a < t->n->rank; a++)
            at += t->list[run[k].first * t->labels + a] * tensor_strides(out)[a];
        memcpy(out->data + at * (int64_t)each, x->data + (size_t)k * each, each);
    }
    return v_retain(v_tensor_raw(out));
}

static Value at_pattern(const Terms *t, const NetFactor *f, const Tensor *x, const Run *run,
                        int64_t runs)
{
    Interp *in = t->n->in;
    const Sparse *s = v_sparse(f->v);
    const Csr a = sparse_csr(s);
    const size_t each = dtype_info((DType)x->dtype)->bytes;
    const int row = place_of(t, f->label[0]), column = place_of(t, f->label[1]);
    Tensor *value = tensor_zeros(&in->ctx, (DType)x->dtype, 1, &a.entries);
    push(in, v_tensor_raw(value));
    for (int64_t k = 0; k < runs; k++) {
        const int64_t *at = t->list + run[k].first * t->labels;
        memcpy(value->data + (size_t)find(&a, at[row], at[column]) * each,
               x->data + (size_t)k * each, each);
    }
    Value r = push(in, sparse_with(in, s, v_retain(v_tensor_raw(value))));
    if (f->label[0] != t->n->out[0])
        r = v_tensor_raw(network_turned(in, v_sparse(r))->head);
    return v_retain(r);
}

Value network_by_terms(const Network *n, const NetFactor *pattern)
{
    Interp *in = n->in;
    Value *mark = in->sp;
    Terms t;
    int64_t runs;
    stack_room(in, 64 + 8 * NET_FACTORS);
    read_network(&t, n);
    list_terms(&t);
    explain_note(in, "loop", "over %lld terms for which all sparse factors have an entry",
                 (long long)t.count);
    const int64_t words = count_times(t.count + 1, 2);
    Run *run = (Run *)(void *)push(in, v_tensor_raw(tensor_new(&in->ctx, DT_I64, 1, &words)))
                   .tensor->data;
    const Tensor *x = summed(&t, run, &runs);
    Value r = pattern ? at_pattern(&t, pattern, x, run, runs) : scattered(&t, x, run, runs);
    stack_cut(in, mark);
    return r;
}
