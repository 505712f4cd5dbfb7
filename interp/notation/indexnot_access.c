/* Elements of tensors in a nest: affine subscripts as strides, wrapped ones as a copy that is
 * extended along the axis or as a table, gathers as tables of checked positions; and the
 * preparation of those copies and tables at each run. */
#include "interp/notation/indexnot.h"

#include "core/base/error.h"
#include "kernels/tensor/permute.h"

#include <stdio.h>
#include <string.h>

/* An operand while its wrapped axes are extended. */
typedef struct View {
    int kind, from;             /* of its slot */
    DType dtype;
    int rank;
    int64_t offset;             /* in elements */
    int64_t shape[IX_AXES], stride[IX_AXES];
} View;

IxAccess *ix_access(IxBind *b, const IxNode *n, IxInstance *of)
{
    for (IxAccess *x = b->accesses; x; x = x->next)
        if (x->node == n && x->of == of)
            return x;
    return NULL;
}

static IxAux *aux_new(IxBind *b, int kind, const IxAccess *x, int axis)
{
    IxPlan *p = b->target;
    Ctx *ctx = &b->in->ctx;
    if (p->auxes == p->aux_cap) {
        int cap = p->aux_cap ? 2 * p->aux_cap : 4;
        p->aux = p->aux ? mem_realloc(ctx, p->aux, (size_t)p->aux_cap * sizeof *p->aux,
                                      (size_t)cap * sizeof *p->aux)
                        : mem_alloc(ctx, (size_t)cap * sizeof *p->aux);
        p->aux_cap = cap;
    }
    IxAux *aux = &p->aux[p->auxes++];
    *aux = (IxAux){ .kind = kind, .wrap = x->node->sub[axis].wrap, .axis = axis,
                    .length = x->tensor->dims[axis], .node = x->node, .of = x->of, .sub = axis };
    return aux;
}

/* ---- wrapped subscripts ---- */
static void extend_axis(IxBind *b, const IxAccess *x, View *v, int k, int64_t low, int64_t count)
{
    IxAux *aux = aux_new(b, IXA_EXTEND, x, k);
    aux->source = (IxSlot){ .kind = v->kind, .from = v->from };
    aux->rank = v->rank;
    aux->dtype = v->dtype;
    memcpy(aux->shape, v->shape, sizeof aux->shape);
    memcpy(aux->stride, v->stride, sizeof aux->stride);
    aux->low = low;
    aux->count = count;
    v->kind = IXV_AUX;
    v->from = b->target->auxes - 1;
    v->shape[k] = count;
    int64_t step = 1;
    for (int i = v->rank - 1; i >= 0; step = count_times(step, v->shape[i]), i--)
        v->stride[i] = step;
}

/* A copy extended over the subscript's range makes it affine, where that is not much larger. */
static bool unwrap(IxBind *b, const IxAccess *x, View *v, int k, IxAffine *at)
{
    int64_t low, high, n = x->tensor->dims[k];
    OpWrap wrap = x->node->sub[k].wrap;
    if (!ix_extremes(b, at, &low, &high))
        return true;                               /* over nothing */
    if (n == 0 && wrap != WRAP_PAD)
        ix_error_wrap(b, x, k);
    if (wrap == WRAP_NONE || (low >= 0 && high < n))
        return true;
    if ((uint64_t)high - (uint64_t)low >= 4 * (uint64_t)n + 1024)
        return false;
    extend_axis(b, x, v, k, low, high - low + 1);
    at->offset -= low;
    return true;
}

/* ---- subscripts ---- */
/* Products wrap on the way: what comes out fits, or the index never moves. */
static int64_t times(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

static void add_to(int64_t *sum, int64_t more)
{
    *sum = (int64_t)((uint64_t)*sum + (uint64_t)more);
}

static void add_affine(const IxBind *b, const IxAffine *at, int64_t step, int64_t *offset,
                       int64_t *stride)
{
    int64_t by, first = times(at->offset, step);
    bool nothing = false;                          /* no place is ever read */
    for (uint64_t m = at->mask; m; m &= m - 1) {
        int g = __builtin_ctzll(m);
        const IxSpan *s = &b->span[g];
        nothing |= s->extent == 0;
        add_to(&first, times(times(at->coef[g], s->start), step));
        if (!__builtin_mul_overflow(at->coef[g], s->step, &by) &&
            !__builtin_mul_overflow(by, step, &by))
            add_to(&stride[b->number[g]], by);
    }
    if (!nothing)
        add_to(offset, first);
}

typedef struct Table {
    int slot;
    int64_t step, stride[NEST_INDICES];
} Table;

static bool all_affine(const IxAccess *x)
{
    for (int k = 0; k < x->node->subs; k++)
        if (x->sub[k].kind != IXS_AFFINE || x->node->sub[k].wrap)
            return false;
    return true;
}

/* E[tok[n], d] with i64 positions: tok itself is the table, once it is checked. */
static bool direct_table(IxBind *b, const IxAccess *x, int k, Table *t)
{
    int leaf;
    IxInstance *of = x->of;
    const IxNode *n = ix_resolve(x->node->sub[k].at, &of, &leaf);
    const IxAccess *tok = n && n->kind == IX_ELEMENT ? ix_access(b, n, of) : NULL;
    uint64_t indices = tok ? ix_free_indices(b, n, of) : 0;
    if (!tok || tok->tensor->dtype != DT_I64 || x->node->sub[k].wrap || !all_affine(tok) ||
        __builtin_popcountll(indices) > IX_AXES)
        return false;
    int64_t offset = 0, stride[NEST_INDICES] = { 0 };
    for (int i = 0; i < n->subs; i++)
        add_affine(b, &tok->sub[i].at, tok->tensor->dims[n->subs + i], &offset, stride);
    t->slot = ix_slot(b, IXV_LEAF, tok->leaf, offset * 8);
    memcpy(t->stride, stride, sizeof stride);
    IxAux *aux = aux_new(b, IXA_CHECK, x, k);
    aux->source = (IxSlot){ .kind = IXV_LEAF, .from = tok->leaf, .offset = offset * 8 };
    for (uint64_t m = indices; m; m &= m - 1) {
        int g = __builtin_ctzll(m);
        aux->shape[aux->rank] = b->span[g].extent;
        aux->stride[aux->rank++] = stride[b->number[g]];
    }
    return true;
}

/* The subscript's values as a tensor over its own indices. */
static void computed_table(IxBind *b, const IxAccess *x, int k, Table *t)
{
    const IxNode *n = x->node->sub[k].at;
    int axes[NEST_INDICES], rank = 0;
    for (uint64_t m = ix_free_indices(b, n, x->of); m; m &= m - 1)
        axes[rank++] = __builtin_ctzll(m);
    if (rank > IX_AXES)
        ix_error_subscript(b, n, x->of, v_undef());
    IxPlan *table = mem_zalloc(&b->in->ctx, sizeof *table);
    int at = b->target->auxes;
    aux_new(b, IXA_TABLE, x, k)->table = table;
    ix_plan_fill(b, table, n, x->of, axes, rank, true);
    t->slot = ix_slot(b, IXV_AUX, at, 0);
    int64_t step = 1;
    for (int i = rank - 1; i >= 0; step = count_times(step, table->shape[i]), i--)
        t->stride[b->number[axes[i]]] = step;
}

/* What a table holds are i64. */
int ix_table_root(IxBind *b, const IxNode *n, IxInstance *of, int node)
{
    DType dt = (DType)b->make.nest->node[node].dtype;
    if (dtype_info(dt)->kind != 'i') {
        _Alignas(16) char zero[ELEMENT_BYTES_MAX] = { 0 };
        Value like = v_element(&b->in->ctx, dt, zero);
        v_push(b->in, like);
        ix_error_subscript(b, n, of, like);
    }
    return nest_cast(&b->in->ctx, b->make.nest, node, DT_I64);
}

static const char *load_name(const IxAccess *x, char *out, size_t cap)
{
    return ix_node_text(x->node->base->at->node, x->of, out, cap);
}

int ix_make_element(IxBind *b, const IxNode *n, IxInstance *of)
{
    Ctx *ctx = &b->in->ctx;
    const IxAccess *x = ix_access(b, n, of);
    Tensor *t = x->tensor;
    View v = { .kind = IXV_LEAF, .from = x->leaf, .dtype = (DType)t->dtype, .rank = t->rank };
    Table *tables = arena_alloc(&b->arena, (size_t)n->subs * sizeof *tables);
    bool *is_table = arena_alloc(&b->arena, (size_t)n->subs * sizeof *is_table);
    IxAffine *at = arena_alloc(&b->arena, (size_t)n->subs * sizeof *at);
    int64_t stride[NEST_INDICES] = { 0 };
    char name[24];
    memcpy(v.shape, tensor_shape(t), (size_t)t->rank * sizeof *v.shape);
    memcpy(v.stride, tensor_strides(t), (size_t)t->rank * sizeof *v.stride);
    for (int k = 0; k < n->subs; k++) {
        at[k] = x->sub[k].at;
        is_table[k] = x->sub[k].kind == IXS_GATHER || !unwrap(b, x, &v, k, &at[k]);
        if (is_table[k] && !direct_table(b, x, k, &tables[k]))
            computed_table(b, x, k, &tables[k]);
    }
    for (int k = 0; k < n->subs; k++)
        if (is_table[k])
            tables[k].step = v.stride[k];
        else
            add_affine(b, &at[k], v.stride[k], &v.offset, stride);
    int slot = ix_slot(b, v.kind, v.from, v.offset * dtype_info(v.dtype)->bytes);
    NestLoad *load =
        nest_load_new(ctx, b->make.nest, slot, v.dtype, load_name(x, name, sizeof name));
    memcpy(load->stride, stride, sizeof stride);
    for (int k = 0; k < n->subs; k++) {
        if (!is_table[k])
            continue;
        NestGather *g = nest_gather_new(ctx, load, tables[k].slot, tables[k].step);
        memcpy(g->stride, tables[k].stride, sizeof g->stride);
    }
    return nest_load(ctx, b->make.nest);
}

/* ---- at each run ---- */
const void *ix_slot_data(const IxPlan *p, const IxSlot *s, const Value *base, const Value *aux)
{
    switch (s->kind) {
    case IXV_LEAF:
        return base[s->from].tag == V_TENSOR ? base[s->from].tensor->data + s->offset
                                             : (const char *)&base[s->from].i;
    case IXV_AUX: return aux[s->from].tensor->data + s->offset;
    default: return p->cell[s->from];
    }
}

/* Position of a wrapped subscript in an axis of n elements; -1: outside. */
static int64_t wrapped(OpWrap wrap, int64_t i, int64_t n)
{
    if (i >= 0 && i < n)
        return i;
    if (wrap == WRAP_CLAMP)
        return i < 0 ? 0 : n - 1;
    if (wrap == WRAP_PAD)
        return -1;
    int64_t r = i % n;
    return r < 0 ? r + n : r;
}

/* A view for the permutation kernel; only shape, strides and size matter. */
static void view_init(Tensor *v, const IxAux *aux, int64_t run, const int64_t *stride)
{
    *v = (Tensor){ .refs = 1, .dtype = aux->dtype, .rank = (uint8_t)aux->rank, .size = 1 };
    for (int i = 0; i < aux->rank; i++) {
        v->dims[i] = i == aux->axis ? run : aux->shape[i];
        v->dims[aux->rank + i] = stride[i];
        v->size *= v->dims[i];
    }
}

/* Positions from t on that are neighbours in the source, or all outside: how many. */
static int64_t run_length(const IxAux *aux, int64_t t, int64_t at)
{
    int64_t run = 1;
    while (t + run < aux->count) {
        int64_t next = wrapped(aux->wrap, aux->low + t + run, aux->length);
        if (next != (at < 0 ? -1 : at + run))
            break;
        run++;
    }
    return run;
}

/* out[…, t, …] = source[…, wrapped(low + t), …]: one copy per run of neighbours. */
static void extend(Interp *in, const IxAux *aux, const char *data, Value *keep)
{
    enum { HEAD = sizeof(Tensor) + 2 * IX_AXES * sizeof(int64_t) };
    _Alignas(16) char head[2][HEAD];
    Tensor *to = (Tensor *)(void *)head[0], *from = (Tensor *)(void *)head[1];
    int64_t shape[IX_AXES], run;
    int k = aux->axis, bytes = dtype_info(aux->dtype)->bytes;
    memcpy(shape, aux->shape, sizeof shape);
    shape[k] = aux->count;
    Tensor *out =
        (aux->wrap == WRAP_PAD ? tensor_zeros : tensor_new)(&in->ctx, aux->dtype, aux->rank, shape);
    *keep = v_tensor_raw(out);
    for (int64_t t = 0; out->size > 0 && t < aux->count; t += run) {
        int64_t at = wrapped(aux->wrap, aux->low + t, aux->length);
        run = run_length(aux, t, at);
        if (at < 0)
            continue;
        view_init(to, aux, run, tensor_strides(out));
        view_init(from, aux, run, aux->stride);
        Iter it;
        iter_init(&it, 2, (const Tensor *[]){ to, from });
        permute_copy(&in->ctx, &it, bytes, out->data + t * tensor_strides(out)[k] * bytes,
                     data + at * aux->stride[k] * bytes);
    }
}

static void check_table(Interp *in, const Exec *x, const IxAux *aux, const int64_t *at, int axis)
{
    int64_t n = aux->shape[axis], step = aux->stride[axis];
    if (axis + 1 < aux->rank) {
        for (int64_t i = 0; i < n; i++)
            check_table(in, x, aux, at + i * step, axis + 1);
        return;
    }
    uint64_t bad = 0;
    poll_interrupt(in);
    for (int64_t i = 0; i < n; i++)
        bad |= (uint64_t)((uint64_t)at[i * step] >= (uint64_t)aux->length);
    for (int64_t i = 0; bad && i < n; i++)
        if ((uint64_t)at[i * step] >= (uint64_t)aux->length)
            ix_error_gather(in, x, aux, at[i * step]);
}

static void check_direct(Interp *in, const Exec *x, const IxAux *aux, const int64_t *at)
{
    if (aux->rank)
        check_table(in, x, aux, at, 0);
    else if ((uint64_t)*at >= (uint64_t)aux->length)
        ix_error_gather(in, x, aux, *at);
}

static void finish_table(Interp *in, const Exec *x, const IxAux *aux, Tensor *t)
{
    int64_t *at = (int64_t *)(void *)t->data, n = aux->length;
    for (int64_t i = 0; i < t->size; i++) {
        if ((i & 0xffff) == 0)
            poll_interrupt(in);
        if ((uint64_t)at[i] < (uint64_t)n)
            continue;
        if (aux->wrap == WRAP_NONE || (n == 0 && aux->wrap != WRAP_PAD))
            ix_error_gather(in, x, aux, at[i]);
        at[i] = wrapped(aux->wrap, at[i], n);
    }
}

void ix_prepare(Interp *in, const Exec *x, const IxPlan *p, const Value *base, Value *results)
{
    for (int i = 0; i < p->auxes; i++) {
        const IxAux *aux = &p->aux[i];
        Value *keep = &results[i];
        *in->sp++ = v_undef();
        if (aux->kind == IXA_TABLE) {
            Tensor *t = tensor_new(&in->ctx, DT_I64, aux->table->rank, aux->table->shape);
            *keep = v_tensor_raw(t);
            if (t->size == 0)
                continue;
            if (ix_plan_run(in, x, aux->table, base, t->data) != EWT_NONE) {
                in->at = aux->node->at;
                err_raise(&in->ctx, ERR_VALUE, "an int to a negative power in a subscript");
            }
            finish_table(in, x, aux, t);
        } else if (aux->kind == IXA_CHECK) {
            check_direct(in, x, aux, ix_slot_data(p, &aux->source, base, results));
        } else {
            extend(in, aux, ix_slot_data(p, &aux->source, base, results), keep);
        }
        poll_interrupt(in);
    }
}
