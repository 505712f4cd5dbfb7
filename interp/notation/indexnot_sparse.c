/* A notation of which some operands are sparse matrices: by operations on whole tensors, as
 * indexnot_exact.c has it, but that a product with sparse factors, summed or not, is a network of
 * interp/entries, which visits stored entries only. What is not 0 where an entry is missing raises:
 * no result depends on what is not stored, unless somebody says dense(…). */
#include "interp/notation/indexnot.h"

#include "core/base/error.h"
#include "interp/entries/network.h"
#include "kernels/sparse/sampled.h"
#include "kernels/sparse/select.h"

#include <string.h>

/* A part's value. Sparse: the indices of its rows and columns, by span. */
typedef struct Part {
    IxTerm t;
    int span[2];
    const char *name;           /* of the matrix whose elements they are; NULL: computed */
} Part;

static Part part(IxBind *b, const IxNode *n, IxInstance *of);

static Value push(IxBind *b, Value v)
{
    v_push(b->in, v);
    return v;
}

static Sparse *sparse_of(const Part *p) { return v_sparse(p->t.v); }
static Part dense_part(IxTerm t) { return (Part){ .t = t }; }

bool ix_sparse_any(const IxBind *b)
{
    for (const IxAccess *x = b->accesses; x; x = x->next)
        if (tensor_sparse(x->tensor))
            return true;
    return false;
}

/* Is there an element of a sparse matrix in it? */
static bool inside(IxBind *b, const IxNode *n, IxInstance *of)
{
    DType to;
    int leaf;
    v_check_depth(b->in);
    if (n->kind == IX_PARAM) {
        const IxNode *arg = ix_resolve(n, &of, &leaf);
        return arg && arg->kind != IX_LEAF && inside(b, arg, of);
    }
    if (n->kind == IX_ELEMENT)
        return tensor_sparse(ix_access(b, n, of)->tensor) != NULL;
    for (int i = 0; i < n->args; i++)
        if (inside(b, n->arg[i], of))
            return true;
    if (n->kind != IX_CALL || ix_call_op(b, n, of, &to) || to != DT_NONE)
        return false;
    IxInstance *inst = ix_instance(b, n, of);
    return inside(b, inst->tree->root, inst);
}

/* ---- elements ---- */
/* Affine in one index at most: `[i]`, `[2*i+1]`, `[0]`. */
static bool single(const IxAccess *x, int k)
{
    return x->sub[k].kind == IXS_AFFINE && !x->node->sub[k].wrap &&
           __builtin_popcountll(x->sub[k].at.mask) <= 1;
}

/* Other subscripts, and subscripts that are made of elements, read a dense matrix. */
static void make_dense(IxBind *b)
{
    for (IxAccess *x = b->accesses; x; x = x->next) {
        const Sparse *s = tensor_sparse(x->tensor);
        if (s && !(single(x, 0) && single(x, 1)))
            x->tensor = push(b, v_tensor_raw(sparse_densified(&b->in->ctx, s, "index notation")))
                            .tensor;
    }
}

/* The positions along an axis that a subscript takes, and the span that moves it (-1: none). */
static int choice_of(const IxBind *b, const IxAccess *x, int k, Choice *c)
{
    const IxAffine *at = &x->sub[k].at;
    if (!at->mask) {
        *c = (Choice){ .first = at->offset, .step = 1, .count = 1 };
        return -1;
    }
    const int g = __builtin_ctzll(at->mask);
    const IxSpan *s = &b->span[g];
    *c = (Choice){ .first = at->offset + at->coef[g] * s->start, .step = at->coef[g] * s->step,
                   .count = s->extent };
    return g;
}

static bool whole(const Choice *c, int64_t n)
{
    return c->first == 0 && c->count == n && (c->step == 1 || n < 2);
}

/* Elements at places of which both subscripts move with the same index, or one does. */
static Part at_places(IxBind *b, const Sparse *s, const Choice *row, const Choice *column, int g)
{
    Ctx *ctx = &b->in->ctx;
    Made made = { 0 };
    const Csr a = sparse_csr(s);
    const int64_t count = g < 0 ? 1 : b->span[g].extent;
    int64_t *place[2], shape[NEST_INDICES];
    for (int k = 0; k < 2; k++) {
        const Choice *c = k ? column : row;
        place[k] = made_ints(made_vector(ctx, &made, DT_I64, count));
        for (int64_t p = 0; p < count; p++)
            place[k][p] = c->first + (c->count == 1 ? 0 : p * c->step);
    }
    const Tensor *at = csr_find(ctx, &made, &a, place[0], place[1], count);
    Tensor *v = made_vector(ctx, &made, a.dtype, count);
    sparse_gather(ctx, v->data, a.value, made_ints((Tensor *)at), count,
                  dtype_info(a.dtype)->bytes);
    made_poll(ctx, &made);
    made_take(&made, v);
    made_end(ctx, &made);
    push(b, v_tensor_raw(v));
    for (int i = 0; i < b->spans; i++)
        shape[i] = i == g ? count : 1;
    int64_t strides[NEST_INDICES];
    for (int i = 0; i < b->spans; i++)
        strides[i] = i == g;
    Tensor *t = tensor_view(ctx, v, g < 0 ? 0 : b->spans, shape, strides, v->data);
    return dense_part((IxTerm){ push(b, v_tensor_raw(t)), false });
}

static Part element(IxBind *b, const IxNode *n, IxInstance *of)
{
    Ctx *ctx = &b->in->ctx;
    const IxAccess *x = ix_access(b, n, of);
    const Sparse *s = tensor_sparse(x->tensor);
    Choice row, column;
    const int i = choice_of(b, x, 0, &row), j = choice_of(b, x, 1, &column);
    if (i < 0 || j < 0 || i == j)
        return at_places(b, s, &row, &column, i < 0 ? j : i);
    if (!whole(&row, x->tensor->dims[0]) || !whole(&column, x->tensor->dims[1])) {
        Made made = { 0 };
        const Csr a = sparse_csr(s);
        SparseOrder o = csr_select(ctx, &made, &a, &row, &column);
        const int64_t count = o.pattern->size - row.count - 1;
        Tensor *v = made_vector(ctx, &made, a.dtype, count);
        sparse_gather(ctx, v->data, a.value, made_ints(o.order), count,
                      dtype_info(a.dtype)->bytes);
        made_poll(ctx, &made);
        s = tensor_sparse(push(b, v_tensor_raw(sparse_made(ctx, &made, row.count, column.count,
                                                           o.pattern, v))).tensor);
    }
    char name[40];
    ix_node_text(n->base->at->node, of, name, sizeof name);
    return (Part){ .t = { v_tensor_raw(s->head), false }, .span = { i, j },
                   .name = arena_copy(&b->arena, name, strlen(name)) };
}

/* ---- dense factors ---- */
static bool affine(const IxAccess *x)
{
    for (int k = 0; k < x->node->subs; k++)
        if (x->sub[k].kind != IXS_AFFINE || x->node->sub[k].wrap)
            return false;
    return true;
}

/* An element whose places are even is a view of its tensor: nothing is copied. */
bool ix_sparse_view(IxBind *b, const IxNode *n, IxInstance *of, IxTerm *t)
{
    const IxAccess *x = n->kind == IX_ELEMENT ? ix_access(b, n, of) : NULL;
    int64_t shape[NEST_INDICES], strides[NEST_INDICES] = { 0 }, offset = 0;
    if (!x || !affine(x))
        return false;
    tensor_home(&b->in->ctx, x->tensor);
    for (int i = 0; i < b->spans; i++) {
        shape[i] = 1;
        for (int k = 0; k < n->subs; k++)
            if (x->sub[k].at.mask >> i & 1)
                shape[i] = b->span[i].extent;
        if (shape[i] == 0)
            return false;
    }
    for (int k = 0; k < n->subs; k++) {
        const int64_t step = tensor_strides(x->tensor)[k];
        offset += x->sub[k].at.offset * step;
        for (uint64_t m = x->sub[k].at.mask; m; m &= m - 1) {
            const int g = __builtin_ctzll(m);
            offset += x->sub[k].at.coef[g] * b->span[g].start * step;
            strides[g] += x->sub[k].at.coef[g] * b->span[g].step * step;
        }
    }
    Tensor *v = tensor_view(&b->in->ctx, x->tensor, b->spans, shape, strides,
                            x->tensor->data + offset * dtype_info((DType)x->tensor->dtype)->bytes);
    *t = (IxTerm){ push(b, v_tensor_raw(v)), false };
    return true;
}

static IxTerm dense_term(IxBind *b, const IxNode *n, IxInstance *of)
{
    IxTerm t;
    return ix_sparse_view(b, n, of, &t) ? t : ix_whole_term(b, n, of);
}

/* ---- products ---- */
enum { LINES = 16, LATE = 16 };     /* what is divided by; factors that wait for the others */

typedef struct Chain {
    Network net;
    uint64_t summed;
    bool negative;
    IxTerm under[LINES];
    int lines;
    const IxNode *late[LATE];
    IxInstance *late_of[LATE];
    bool late_line[LATE];           /* it is divided by */
    int lates;
    const IxNode *at;
} Chain;

/* Axes that do not move are left out: those of a factor are indices of the network. */
static void add_factor(IxBind *b, Chain *c, const Part *p)
{
    int64_t shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX];
    uint8_t label[TENSOR_RANK_MAX];
    int rank = 0;
    if (sparse_of(p)) {
        label[0] = (uint8_t)p->span[0];
        label[1] = (uint8_t)p->span[1];
        network_factor(&c->net, p->t.v, 2, label, false)->name = p->name;
        return;
    }
    Tensor *t = p->t.v.tag == V_TENSOR && p->t.v.tensor->rank ? p->t.v.tensor : NULL;
    if (!t) {
        network_factor(&c->net, p->t.v, 0, NULL, p->t.weak);
        return;
    }
    tensor_home(&b->in->ctx, t);
    for (int g = 0; g < t->rank; g++)
        if (t->dims[g] != 1) {
            shape[rank] = t->dims[g];
            strides[rank] = tensor_strides(t)[g];
            label[rank++] = (uint8_t)g;
        }
    Tensor *v = tensor_view(&b->in->ctx, t, rank, shape, strides, t->data);
    network_factor(&c->net, push(b, v_tensor_raw(v)), rank, label, false);
}

static bool adds(const IxNode *n)
{
    return n->kind == IX_EW && (n->op->ew == EW_ADD || n->op->ew == EW_SUBTRACT);
}

static bool divides(const IxNode *n) { return n->kind == IX_EW && n->op->ew == EW_DIVIDE; }

/* A computed factor over two indices may be needed at a sparse factor's entries alone. */
static bool wait(IxBind *b, const IxNode *n, IxInstance *of, Chain *c, bool line)
{
    if (n->kind == IX_ELEMENT || c->lates == LATE || (line && c->lines + c->lates >= LINES) ||
        __builtin_popcountll(ix_free_indices(b, n, of)) != 2)
        return false;
    c->late[c->lates] = n;
    c->late_line[c->lates] = line;
    c->late_of[c->lates++] = of;
    return true;
}

/* The factors of a chain of * and /, and of sums of such chains that stand in it. */
static void collect(IxBind *b, const IxNode *n, IxInstance *of, Chain *c)
{
    v_check_depth(b->in);
    const bool some = inside(b, n, of);
    if (ix_in_product(n)) {
        c->negative ^= n->op->ew == EW_NEGATIVE;
        for (int i = 0; i < n->args; i++)
            collect(b, n->arg[i], of, c);
    } else if (some && divides(n) && c->lines < LINES) {
        if (inside(b, n->arg[1], of))
            ix_error_absent(b, n, of);
        collect(b, n->arg[0], of, c);
        if (!wait(b, n->arg[1], of, c, true))
            c->under[c->lines++] = dense_term(b, n->arg[1], of);
    } else if (n->kind == IX_REDUCE && n->reduce == IXR_SUM && !adds(n->arg[0]) &&
               (some || ix_in_product(n->arg[0]))) {
        c->summed |= n->over << of->first_index;
        collect(b, n->arg[0], of, c);
    } else if (some || !wait(b, n, of, c, false)) {
        Part p = some ? part(b, n, of) : dense_part(dense_term(b, n, of));
        add_factor(b, c, &p);
    }
}

/* ---- dense factors over both indices of a sparse one, where it has entries ---- */
static Value sampled(IxBind *b, const Part *at, IxTerm t)
{
    const Csr a = sparse_csr(sparse_of(at));
    if (t.v.tag != V_TENSOR || t.v.tensor->rank == 0)
        return t.v;
    const Tensor *d = t.v.tensor;
    Tensor *v = tensor_new(&b->in->ctx, (DType)d->dtype, 1, &a.entries);
    push(b, v_tensor_raw(v));
    tensor_home(&b->in->ctx, d);
    const int64_t *step = tensor_strides(d);
    const int i = at->span[0], j = at->span[1];
    csr_sample(&b->in->ctx, &a, v->data, d->data, d->dims[i] == 1 ? 0 : step[i],
               d->dims[j] == 1 ? 0 : step[j], dtype_info((DType)d->dtype)->bytes);
    return v_tensor_raw(v);
}

static Value at_entries(IxBind *b, const IxNode *n, IxInstance *of, const Part *at, bool *weak);

/* An elementwise operation there, of its operands there. */
static Value operation_there(IxBind *b, const IxNode *n, IxInstance *of, const Op *op,
                             const Part *at)
{
    Value args[3];
    unsigned weak = 0;
    for (int i = 0; i < n->args && i < 3; i++) {
        bool literal;
        args[i] = at_entries(b, n->arg[i], of, at, &literal);
        weak |= (unsigned)literal << i;
    }
    b->in->at = n->at;
    return push(b, op_call(b->in, op, args, n->args, weak));
}

static Part product_with(IxBind *b, const IxNode *n, IxInstance *of, uint64_t spans,
                         const Part *factor);

/* n, without sparse operands, as a vector over the entries of `at`, or a number. */
static Value at_entries(IxBind *b, const IxNode *n, IxInstance *of, const Part *at, bool *weak)
{
    DType to = DT_NONE;
    const uint64_t both = UINT64_C(1) << at->span[0] | UINT64_C(1) << at->span[1];
    const bool moves = (ix_free_indices(b, n, of) & both) == both;
    v_check_depth(b->in);
    stack_room(b->in, 256);
    *weak = false;
    if (moves && n->kind == IX_EW)
        return operation_there(b, n, of, n->op, at);
    const Op *op = moves && n->kind == IX_CALL ? ix_call_op(b, n, of, &to) : NULL;
    if (op)
        return operation_there(b, n, of, op, at);
    if (moves && n->kind == IX_REDUCE && n->reduce == IXR_SUM && ix_in_product(n->arg[0])) {
        Part ones = *at;
        ones.t.v = push(b, sparse_with(b->in, sparse_of(at), v_int(1)));
        Part p = product_with(b, n, of, 0, &ones);
        return push(b, v_retain(sparse_values(sparse_of(&p))));
    }
    const IxTerm t = dense_term(b, n, of);
    *weak = t.weak;
    return sampled(b, at, t);
}

static NetFactor *sparse_over(Chain *c, uint64_t labels)
{
    for (int i = 0; i < c->net.factors; i++)
        if (v_sparse(c->net.factor[i].v) && c->net.factor[i].labels == labels)
            return &c->net.factor[i];
    return NULL;
}

/* Factors that wait: at the entries of a sparse factor over their indices, where there is one. */
static void add_late(IxBind *b, Chain *c)
{
    Interp *in = b->in;
    for (int k = 0; k < c->lates; k++) {
        const IxNode *n = c->late[k];
        IxInstance *of = c->late_of[k];
        NetFactor *f = sparse_over(c, ix_free_indices(b, n, of));
        if (!f && c->late_line[k]) {
            c->under[c->lines++] = dense_term(b, n, of);
            continue;
        }
        if (!f) {
            const Part p = dense_part(dense_term(b, n, of));
            add_factor(b, c, &p);
            continue;
        }
        bool weak;
        const Part at = { .t.v = f->v, .span = { f->label[0], f->label[1] } };
        const Value v = at_entries(b, n, of, &at, &weak);
        const Op *op = op_named(in, c->late_line[k] ? "divide" : "multiply");
        b->in->at = n->at;
        Value r = op_binary(in, op, sparse_values(sparse_of(&at)), v, (unsigned)weak << 1);
        f->v = push(b, sparse_with(in, sparse_of(&at), r));
    }
}

static uint64_t moved_by(const IxBind *b, IxTerm t)
{
    uint64_t moved = 0;
    for (int g = 0; g < b->spans && t.v.tag == V_TENSOR && t.v.tensor->rank; g++)
        moved |= (uint64_t)(t.v.tensor->dims[g] != 1) << g;
    return moved;
}

/* What is divided by is a factor, 1/d, where it moves with a summed index or with one that no other
 * factor has. */
static void turn_lines(IxBind *b, Chain *c)
{
    int kept = 0;
    uint64_t moved = 0;
    for (int i = 0; i < c->net.factors; i++)
        moved |= c->net.factor[i].labels;
    for (int i = 0; i < c->lines; i++) {
        if (!(moved_by(b, c->under[i]) & (c->summed | ~moved))) {
            c->under[kept++] = c->under[i];
            continue;
        }
        Part p = dense_part((IxTerm){ push(b, op_binary(b->in, op_named(b->in, "divide"), v_int(1),
                                                        c->under[i].v, 1)), false });
        add_factor(b, c, &p);
    }
    c->lines = kept;
}

/* Summed indices that no factor has count their values. */
static void count_idle(IxBind *b, Chain *c)
{
    uint64_t moved = 0;
    for (int i = 0; i < c->net.factors; i++)
        moved |= c->net.factor[i].labels;
    for (uint64_t m = c->summed & ~moved; m; m &= m - 1) {
        const int64_t n = b->span[__builtin_ctzll(m)].extent;
        if (n != 1)
            network_factor(&c->net, v_int(n), 0, NULL, true);
    }
}

/* The network's dense value with an axis per index again. */
static IxTerm with_axes(IxBind *b, const Network *n, Value v)
{
    Ctx *ctx = &b->in->ctx;
    int64_t shape[NEST_INDICES], strides[NEST_INDICES];
    if (n->rank == 0)
        return (IxTerm){ v, false };
    Tensor *t = v.tensor;
    tensor_home(ctx, t);
    for (int i = 0; i < b->spans; i++) {
        shape[i] = 1;
        strides[i] = 0;
    }
    for (int a = 0; a < n->rank; a++) {
        shape[n->out[a]] = t->dims[a];
        strides[n->out[a]] = tensor_strides(t)[a];
    }
    return (IxTerm){ push(b, v_tensor_raw(tensor_view(ctx, t, b->spans, shape, strides, t->data))),
                     false };
}

/* A sparse matrix over a tensor that moves with it: entry by entry. */
static Part entries_over(IxBind *b, const Part *r, IxTerm d)
{
    Interp *in = b->in;
    const Value v = op_binary(in, op_named(in, "divide"), sparse_values(sparse_of(r)),
                              sampled(b, r, d), 0);
    return (Part){ .t.v = push(b, sparse_with(in, sparse_of(r), v)),
                   .span = { r->span[0], r->span[1] } };
}

/* r over what stands under lines. */
static Part over_lines(IxBind *b, const Chain *c, Part r)
{
    Interp *in = b->in;
    for (int i = 0; i < c->lines; i++) {
        const IxTerm d = c->under[i];
        in->at = c->at->at;
        if (sparse_of(&r) && d.v.tag == V_TENSOR && d.v.tensor->rank)
            r = entries_over(b, &r, d);
        else
            r.t = (IxTerm){ push(b, op_binary(in, op_named(in, "divide"), r.t.v, d.v,
                                              (unsigned)d.weak << 1)), false };
    }
    return r;
}

/* A product, summed over the spans: sparse where its indices are those of a sparse factor. */
static Part product(IxBind *b, const IxNode *n, IxInstance *of, uint64_t spans)
{
    return product_with(b, n, of, spans, NULL);
}

/* The same with one more factor. */
static Part product_with(IxBind *b, const IxNode *n, IxInstance *of, uint64_t spans,
                         const Part *factor)
{
    Interp *in = b->in;
    Chain *c = arena_alloc(&b->arena, sizeof *c);
    *c = (Chain){ .summed = spans, .at = n };
    c->net.in = in;
    for (int g = 0; g < b->spans; g++) {
        c->net.extent[g] = b->span[g].extent;
        c->net.name[g] = b->span[g].index->name->text;
    }
    if (factor)
        add_factor(b, c, factor);
    collect(b, n, of, c);
    add_late(b, c);
    turn_lines(b, c);
    count_idle(b, c);
    uint64_t moved = 0;
    for (int i = 0; i < c->net.factors; i++)
        moved |= c->net.factor[i].labels;
    for (uint64_t m = moved & ~c->summed; m; m &= m - 1)
        c->net.out[c->net.rank++] = (uint8_t)__builtin_ctzll(m);
    in->at = n->at;
    Part r = { .t.v = push(b, network_sum(&c->net)) };
    if (sparse_of(&r)) {
        r.span[0] = c->net.out[0];
        r.span[1] = c->net.out[1];
    } else {
        r.t = with_axes(b, &c->net, r.t.v);
    }
    r = over_lines(b, c, r);
    if (c->negative)
        r.t.v = push(b, op_unary(in, op_named(in, "negative"), r.t.v, 0));
    return r;
}

/* ---- elementwise operations ---- */
/* Is it 0 where none of the sparse operands has an entry? */
static bool stays_zero(IxBind *b, const Op *op, const Part *parts, int count)
{
    Interp *in = b->in;
    Value args[3];
    unsigned weak = 0;
    for (int i = 0; i < count; i++) {
        const Sparse *s = sparse_of(&parts[i]);
        _Alignas(16) char zero[ELEMENT_BYTES_MAX] = { 0 };
        if (!s && parts[i].t.v.tag == V_TENSOR && parts[i].t.v.tensor->rank)
            return false;
        args[i] = s ? push(b, v_element(&in->ctx, (DType)s->value->dtype, zero)) : parts[i].t.v;
        weak |= (unsigned)parts[i].t.weak << i;
    }
    Value r = push(b, op_call(in, op, args, count, weak));
    Value same = push(b, op_binary(in, op_named(in, "equal"), r, v_int(0), 2));
    return same.tag == V_BOOL && same.i;
}

static Part turned(IxBind *b, Part p)
{
    return (Part){ .t.v = v_tensor_raw(network_turned(b->in, sparse_of(&p))->head),
                   .span = { p.span[1], p.span[0] } };
}

/* Of parts of which one at least is sparse. */
static Part operation(IxBind *b, const IxNode *n, IxInstance *of, const Op *op, Part *parts,
                      int count)
{
    const Part *first = NULL;
    Value args[3];
    unsigned weak = 0;
    for (int i = 0; i < count; i++) {
        if (!sparse_of(&parts[i]))
            continue;
        first = first ? first : &parts[i];
        if (parts[i].span[0] != first->span[0])
            parts[i] = turned(b, parts[i]);
        if (parts[i].span[0] != first->span[0] || parts[i].span[1] != first->span[1])
            ix_error_absent(b, n, of);
    }
    b->in->at = n->at;
    if (!stays_zero(b, op, parts, count))
        ix_error_absent(b, n, of);
    for (int i = 0; i < count; i++) {
        args[i] = parts[i].t.v;
        weak |= (unsigned)parts[i].t.weak << i;
    }
    return (Part){ .t.v = push(b, op_call(b->in, op, args, count, weak)),
                   .span = { first->span[0], first->span[1] } };
}

static Part elementwise(IxBind *b, const IxNode *n, IxInstance *of, const Op *op)
{
    Part parts[3];
    IxTerm terms[3];
    bool sparse = false;
    Value *mark = b->in->sp;
    const int count = n->args < 3 ? n->args : 3;
    for (int i = 0; i < count; i++) {
        parts[i] = part(b, n->arg[i], of);
        terms[i] = parts[i].t;
        sparse |= sparse_of(&parts[i]) != NULL;
    }
    return sparse ? operation(b, n, of, op, parts, count)
                  : dense_part(ix_whole_apply(b, n, op, terms, mark));
}

/* ---- sums ---- */
/* Sums of sums are sums of their parts, each over its own entries. */
static Part sum(IxBind *b, const IxNode *n, IxInstance *of, uint64_t spans)
{
    if (!adds(n))
        return product(b, n, of, spans);
    Part parts[2];
    IxTerm terms[2];
    for (int i = 0; i < 2; i++) {
        if (!inside(b, n->arg[i], of))
            ix_error_absent(b, n, of);
        parts[i] = sum(b, n->arg[i], of, spans);
        terms[i] = parts[i].t;
    }
    Value *mark = b->in->sp;
    if (sparse_of(&parts[0]) || sparse_of(&parts[1]))
        return operation(b, n, of, n->op, parts, 2);
    return dense_part(ix_whole_apply(b, n, n->op, terms, mark));
}

static Part mean(IxBind *b, Part p, uint64_t spans)
{
    Interp *in = b->in;
    int64_t count = 1;
    for (uint64_t m = spans; m; m &= m - 1)
        count = count_times(count, b->span[__builtin_ctzll(m)].extent);
    p.t.v = push(b, op_binary(in, op_named(in, "divide"), p.t.v, v_int(count), 2));
    return p;
}

static Part reduction(IxBind *b, const IxNode *n, IxInstance *of)
{
    const uint64_t spans = n->over << of->first_index;
    if (n->reduce == IXR_SUM)
        return sum(b, n->arg[0], of, spans);
    if (n->reduce == IXR_MEAN)
        return mean(b, sum(b, n->arg[0], of, spans), spans);
    Part p = part(b, n->arg[0], of);
    if (sparse_of(&p))
        ix_error_absent(b, n, of);
    for (uint64_t m = spans; m; m &= m - 1)
        if (b->span[__builtin_ctzll(m)].extent == 0 &&
            !(ix_reduce_facts((IxReduce)n->reduce) & R_EMPTY))
            ix_error_empty(b, n, of, __builtin_ctzll(m));
    return dense_part(ix_whole_reduce(b, n, of, p.t));
}

/* ---- the tree ---- */
static Part call(IxBind *b, const IxNode *n, IxInstance *of)
{
    DType to;
    const Op *op = ix_call_op(b, n, of, &to);
    if (op)
        return elementwise(b, n, of, op);
    if (to != DT_NONE) {
        Part p = part(b, n->arg[0], of);
        b->in->at = n->at;
        p.t = (IxTerm){ network_cast(b->in, p.t.v, to), false };
        return p;
    }
    IxInstance *inst = ix_instance(b, n, of);
    CallFrame frame, *calls = b->in->calls;
    ix_enter(b->in, inst, b->base, &frame);
    inst->frame = &frame;
    Part p = part(b, inst->tree->root, inst);
    b->in->calls = calls;
    return p;
}

static Part argument(IxBind *b, const IxNode *n, IxInstance *of)
{
    int leaf;
    CallFrame *calls = b->in->calls;
    n = ix_resolve(n, &of, &leaf);
    b->in->calls = of->frame;
    Part p = part(b, n, of);
    b->in->calls = calls;
    return p;
}

static Part part(IxBind *b, const IxNode *n, IxInstance *of)
{
    v_check_depth(b->in);
    stack_room(b->in, 256);
    if (!inside(b, n, of))
        return dense_part(dense_term(b, n, of));
    switch ((IxKind)n->kind) {
    case IX_PARAM: return argument(b, n, of);
    case IX_ELEMENT: return element(b, n, of);
    case IX_CALL: return call(b, n, of);
    case IX_REDUCE: return reduction(b, n, of);
    case IX_EW:
        return ix_in_product(n) || divides(n) ? product(b, n, of, 0)
                                              : elementwise(b, n, of, n->op);
    default: ix_error_absent(b, n, of);
    }
}

/* Of a sparse part, where the result has more indices than those of its entries. */
static IxTerm all_elements(IxBind *b, const Part *p)
{
    Network n = { .in = b->in, .rank = 2, .out = { (uint8_t)p->span[0], (uint8_t)p->span[1] } };
    return with_axes(b, &n, push(b, v_tensor_raw(sparse_to_dense(&b->in->ctx, sparse_of(p)))));
}

Value ix_sparse(IxBind *b, const IxNode *root, IxInstance *of)
{
    Interp *in = b->in;
    Value *mark = in->sp, v;
    const int rank = b->site->tree.out_rank;
    if (b->spans > IX_AXES) {
        in->at = b->x;
        err_raise_help(&in->ctx, ERR_INDEX, "name parts of it first", "with sparse matrices a "
                       "notation has at most %d indices", IX_AXES);
    }
    b->sparse = true;
    stack_room(in, 256);
    make_dense(b);
    Part p = part(b, root, of);
    if (sparse_of(&p) && rank == 2 && p.span[0] < 2 && p.span[1] < 2)
        v = v_retain((p.span[0] ? turned(b, p) : p).t.v);
    else
        v = ix_whole_result(b, sparse_of(&p) ? all_elements(b, &p) : p.t);
    stack_cut(in, mark);
    return v;
}
