/* Pairs of factors, chosen by what they are. A sum over an index of one sparse factor alone is that
 * matrix times a dense one, whose columns are all other indices of the dense factors that have it;
 * one over an index that two of them share is a product of sparse matrices; where both indices of
 * a sparse factor stay, the dense factors are multiplied at its entries. What is left is dense. */
#include "interp/entries/network.h"

#include "core/base/error.h"
#include "interp/op/heard.h"
#include "interp/precision/cast.h"
#include "interp/precision/precise.h"
#include "kernels/cast/tensor_cast.h"
#include "kernels/sparse/product.h"
#include "kernels/sparse/sampled.h"

#include <stdio.h>
#include <string.h>

static uint64_t bit(int label) { return UINT64_C(1) << label; }

NetFactor *network_factor(Network *n, Value v, int rank, const uint8_t *label, bool weak)
{
    if (n->factors == NET_FACTORS)
        err_raise_help(&n->in->ctx, ERR_INDEX, "name parts of it first",
                       "a product with sparse factors has at most %d factors", NET_FACTORS);
    NetFactor *f = &n->factor[n->factors++];
    *f = (NetFactor){ .v = v, .rank = rank, .weak = weak };
    for (int a = 0; a < rank; a++) {
        f->label[a] = label[a];
        f->labels |= bit(label[a]);
    }
    return f;
}

static Sparse *sparse_of(const NetFactor *f) { return v_sparse(f->v); }
static bool is_number(const NetFactor *f) { return f->rank == 0; }

static void drop(Network *n, uint64_t which)
{
    int kept = 0;
    for (int i = 0; i < n->factors; i++)
        if (!(which >> i & 1))
            n->factor[kept++] = n->factor[i];
    n->factors = kept;
}

static uint64_t out_labels(const Network *n)
{
    uint64_t all = 0;
    for (int a = 0; a < n->rank; a++)
        all |= bit(n->out[a]);
    return all;
}

/* Of the factors in the mask, or (but) of all others. */
static uint64_t labels_of(const Network *n, uint64_t which, bool but)
{
    uint64_t all = 0;
    for (int i = 0; i < n->factors; i++)
        if ((which >> i & 1) != but)
            all |= n->factor[i].labels;
    return all;
}

/* Dense factors that have the label. */
static uint64_t dense_with(const Network *n, int label)
{
    uint64_t found = 0;
    for (int i = 0; i < n->factors; i++)
        if (!sparse_of(&n->factor[i]) && (n->factor[i].labels >> label & 1))
            found |= bit(i);
    return found;
}

static int sparse_with_label(const Network *n, int label)
{
    int count = 0;
    for (int i = 0; i < n->factors; i++)
        count += sparse_of(&n->factor[i]) && (n->factor[i].labels >> label & 1);
    return count;
}

static int put_labels(uint64_t labels, uint8_t *to)
{
    int count = 0;
    for (; labels; labels &= labels - 1)
        to[count++] = (uint8_t)__builtin_ctzll(labels);
    return count;
}

static Value push(Interp *in, Value v)
{
    v_push(in, v);
    return v;
}

static Value made_value(Interp *in, Made *made, Tensor *t)
{
    made_poll(&in->ctx, made);
    made_take(made, t);
    made_end(&in->ctx, made);
    return push(in, v_tensor_raw(t));
}

/* ---- words for `explain` ---- */
static const char *label_text(const Network *n, int label, char out[24])
{
    if (n->name[label])
        return n->name[label];
    snprintf(out, 24, "%c", label < 26 ? 'a' + label : 'A' + label - 26);
    return out;
}

static const char *labels_text(const Network *n, const uint8_t *label, int count, char *out,
                               size_t cap)
{
    char one[24];
    size_t at = 0;
    out[0] = '\0';
    for (int i = 0; i < count && at < cap - 1; i++)
        at += (size_t)snprintf(out + at, cap - at, "%s%s", i ? "," : "",
                               label_text(n, label[i], one));
    return out;
}

/* `loop  over the 448800 entries of S[i,j], summed over j`. */
static void tell(const Network *n, const NetFactor *f, int summed, int64_t width, const char *how)
{
    char labels[80], one[24], wide[48] = "";
    const char *name = f->name ? f->name : "";
    if (!heard_on(n->in))
        return;
    const int64_t entries = sparse_of(f)->value->size;
    explain_flops(n->in, 2.0 * (double)entries * (double)width, NULL);
    if (width > 1)
        snprintf(wide, sizeof wide, " for each of %lld columns", (long long)width);
    labels_text(n, f->label, 2, labels, sizeof labels);
    if (summed >= 0)
        explain_note(n->in, "loop", "over the %lld entries of %s[%s], %s over %s%s",
                     (long long)entries, name, labels, how, label_text(n, summed, one), wide);
    else
        explain_note(n->in, "loop", "over the %lld entries of %s[%s]: %s", (long long)entries, name,
                     labels, how);
}

/* ---- dense products ---- */
/* A factor's tensor with its axes in this order. */
static Value in_order(Network *n, const NetFactor *f, const uint8_t *label)
{
    int64_t shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX];
    Tensor *t = f->v.tensor;
    if (memcmp(label, f->label, (size_t)f->rank) == 0)
        return f->v;
    tensor_settle(&n->in->ctx, t);
    for (int a = 0; a < f->rank; a++) {
        int b = 0;
        while (f->label[b] != label[a])
            b++;
        shape[a] = t->dims[b];
        strides[a] = tensor_strides(t)[b];
    }
    return push(n->in, v_tensor_raw(tensor_view(&n->in->ctx, t, f->rank, shape, strides,
                                                t->data)));
}

static size_t letters(char *to, const uint8_t *label, int count)
{
    for (int a = 0; a < count; a++)
        to[a] = (char)(label[a] < 26 ? 'a' + label[a] : 'A' + label[a] - 26);
    return (size_t)count;
}

/* Do all factors in the mask have these axes? Then nothing is summed. */
static bool alike(const Network *n, uint64_t which, const uint8_t *label, int rank)
{
    for (int i = 0; i < n->factors; i++)
        if ((which >> i & 1) && (n->factor[i].rank != rank ||
                                 memcmp(n->factor[i].label, label, (size_t)rank) != 0))
            return false;
    return rank > 0;
}

static Value multiplied(Network *n, uint64_t which)
{
    Value r = v_undef();
    for (int i = 0; i < n->factors; i++)
        if (which >> i & 1)
            r = r.tag == V_UNDEF ? n->factor[i].v
                                 : push(n->in, op_binary(n->in, op_named(n->in, "multiply"), r,
                                                         n->factor[i].v, 0));
    return r;
}

/* The product of the factors in the mask, summed over what is not in `label`. */
static Value dense_sum(Network *n, uint64_t which, const uint8_t *label, int rank)
{
    Interp *in = n->in;
    char text[NET_FACTORS * (TENSOR_RANK_MAX + 1) + TENSOR_RANK_MAX + 4];
    Value args[NET_FACTORS + 2];
    size_t at = 0;
    int count = 0;
    const NetFactor *last = NULL;
    for (int i = 0; i < n->factors; i++) {
        const NetFactor *f = &n->factor[i];
        if (!(which >> i & 1))
            continue;
        if (count)
            text[at++] = ',';
        at += letters(text + at, f->label, f->rank);
        args[2 + count++] = f->v;
        last = f;
    }
    if (count == 1 && last->rank == rank)
        return in_order(n, last, label);
    if (alike(n, which, label, rank))
        return multiplied(n, which);
    text[at++] = '-';
    text[at++] = '>';
    at += letters(text + at, label, rank);
    args[0] = push(in, v_str(str_new(&in->ctx, text, at)));
    args[1] = v_undef();
    return push(in, op_call(in, op_named(in, "einsum"), args, count + 2, 0));
}

/* v, whose elements are laid out row by row, in the dtype and with another shape. */
static Tensor *shaped(Network *n, Value v, DType dt, int rank, const int64_t *shape)
{
    Ctx *ctx = &n->in->ctx;
    int64_t strides[TENSOR_RANK_MAX], step = 1;
    Tensor *t = v_to_tensor(n->in, v, 0);
    push(n->in, v_tensor_raw(t));
    t = push(n->in, v_tensor_raw(tensor_cast(ctx, t, dt))).tensor;
    t = push(n->in, v_tensor_raw(tensor_compact(ctx, t))).tensor;
    tensor_home(ctx, t);
    for (int a = rank - 1; a >= 0; step *= shape[a], a--)
        strides[a] = step;
    return push(n->in, v_tensor_raw(tensor_view(ctx, t, rank, shape, strides, t->data))).tensor;
}

/* ---- sparse factors ---- */
const Sparse *network_turned(Interp *in, const Sparse *s)
{
    Ctx *ctx = &in->ctx;
    Made made = { 0 };
    const Csr a = sparse_csr(s);
    SparseOrder o = sparse_turned(ctx, &made, &a);
    Tensor *value = made_vector(ctx, &made, a.dtype, a.entries);
    sparse_gather(ctx, value->data, a.value, made_ints(o.order), a.entries,
                  dtype_info(a.dtype)->bytes);
    made_poll(ctx, &made);
    Tensor *t = sparse_made(ctx, &made, a.n, a.m, o.pattern, value);
    push(in, v_tensor_raw(t));
    return tensor_sparse(t);
}

/* The factor with these labels for rows and columns. */
static const Sparse *turned_to(Network *n, const NetFactor *f, int row)
{
    return f->label[0] == row ? sparse_of(f) : network_turned(n->in, sparse_of(f));
}

/* The dense factor d at the entries of s, as a vector. */
static Value sampled(Network *n, const NetFactor *s, const NetFactor *d)
{
    Ctx *ctx = &n->in->ctx;
    const Csr a = sparse_csr(sparse_of(s));
    int64_t step[2] = { 0, 0 };
    tensor_home(ctx, d->v.tensor);
    for (int b = 0; b < d->rank; b++)
        step[d->label[b] == s->label[1]] = tensor_strides(d->v.tensor)[b];
    Tensor *t = tensor_new(ctx, (DType)d->v.tensor->dtype, 1, &a.entries);
    push(n->in, v_tensor_raw(t));
    csr_sample(ctx, &a, t->data, d->v.tensor->data, step[0], step[1],
               dtype_info((DType)t->dtype)->bytes);
    return v_tensor_raw(t);
}

/* The values of s times those of d there. */
static void scale(Network *n, NetFactor *s, const NetFactor *d)
{
    Interp *in = n->in;
    Value at = sampled(n, s, d);
    Value v = push(in, op_binary(in, op_named(in, "multiply"), sparse_values(sparse_of(s)), at, 0));
    s->v = push(in, sparse_with(in, sparse_of(s), v_retain(v)));
}

/* ---- steps: each leaves a network with the same sum; false: there is nothing to do ---- */
/* Two sparse factors over the same indices: the entries that both have. */
static bool meet(Network *n)
{
    for (int i = 0; i < n->factors; i++)
        for (int j = i + 1; j < n->factors; j++) {
            NetFactor *a = &n->factor[i], *b = &n->factor[j];
            if (!sparse_of(a) || !sparse_of(b) || a->labels != b->labels)
                continue;
            const Sparse *other = turned_to(n, b, a->label[0]);
            a->v = push(n->in, op_binary(n->in, op_named(n->in, "multiply"), a->v,
                                         v_tensor_raw(other->head), 0));
            tell(n, a, -1, 0, "where both factors have one");
            drop(n, bit(j));
            return true;
        }
    return false;
}

/* A dense factor over both indices of a sparse one: only its elements there count. */
static bool sample(Network *n)
{
    for (int i = 0; i < n->factors; i++)
        for (int j = 0; j < n->factors; j++) {
            const NetFactor *d = &n->factor[j];
            if (!sparse_of(&n->factor[i]) || sparse_of(d) || d->labels != n->factor[i].labels)
                continue;
            scale(n, &n->factor[i], d);
            drop(n, bit(j));
            return true;
        }
    return false;
}

/* A sum over an index of one sparse factor alone. */
typedef struct Spread {
    int factor, side;           /* which index of it */
    uint64_t group, keep;       /* dense factors with that index; what they keep of others */
    int64_t width;
} Spread;

static bool spread_at(const Network *n, int i, int side, Spread *s)
{
    const NetFactor *f = &n->factor[i];
    const int l = f->label[side], o = f->label[1 - side];
    if ((out_labels(n) >> l & 1) || sparse_with_label(n, l) != 1)
        return false;
    *s = (Spread){ .factor = i, .side = side, .group = dense_with(n, l), .width = 1 };
    uint64_t own = labels_of(n, s->group, false) & ~bit(l);
    if (own >> o & 1)
        return false;
    s->keep = own & (out_labels(n) | labels_of(n, s->group, true));
    for (uint64_t m = s->keep; m; m &= m - 1)
        s->width = count_times(s->width, n->extent[__builtin_ctzll(m)]);
    return true;
}

static Value ones(Network *n, DType dt, int64_t count)
{
    Tensor *one = tensor_new(&n->in->ctx, DT_I64, 0, NULL);
    push(n->in, v_tensor_raw(one));
    *(int64_t *)(void *)one->data = 1;
    one = push(n->in, v_tensor_raw(tensor_cast(&n->in->ctx, one, dt))).tensor;
    return push(n->in, v_tensor_raw(tensor_broadcast(&n->in->ctx, one, 1, &count)));
}

static void spread_run(Network *n, DType dt, const Spread *s)
{
    Interp *in = n->in;
    NetFactor f = n->factor[s->factor], made = { 0 };
    const int l = f.label[s->side], o = f.label[1 - s->side];
    uint8_t label[TENSOR_RANK_MAX] = { (uint8_t)l };
    int64_t shape[TENSOR_RANK_MAX];
    Made room = { 0 };
    made.rank = 1 + put_labels(s->keep, label + 1);
    Value dense = s->group ? dense_sum(n, s->group, label, made.rank) : ones(n, dt, n->extent[l]);
    const int two = s->keep ? 2 : 1;
    shape[0] = n->extent[l];
    shape[1] = s->width;
    Tensor *x = shaped(n, dense, dt, two, shape);
    const Csr a = sparse_csr(sparse_of(&f));
    tell(n, &f, l, s->width, s->side ? "summed" : "added up");
    Value r = made_value(in, &room, s->side ? csr_times(&in->ctx, &room, &a, x)
                                            : csr_turned_times(&in->ctx, &room, &a, x, false));
    shape[0] = n->extent[o];
    label[0] = (uint8_t)o;
    for (int k = 1; k < made.rank; k++)
        shape[k] = n->extent[label[k]];
    r = v_tensor_raw(shaped(n, r, dt, made.rank, shape));
    drop(n, s->group | bit(s->factor));
    network_factor(n, r, made.rank, label, false);
}

static bool spread(Network *n, DType dt)
{
    Spread best = { .width = -1 }, s;
    double least = 0;
    for (int i = 0; i < n->factors; i++)
        for (int side = 1; side >= 0 && sparse_of(&n->factor[i]); side--) {
            if (!spread_at(n, i, side, &s))
                continue;
            double work = (double)s.width * (double)sparse_of(&n->factor[i])->value->size;
            if (best.width < 0 || work < least) {
                best = s;
                least = work;
            }
        }
    if (best.width >= 0)
        spread_run(n, dt, &best);
    return best.width >= 0;
}

/* A sum over an index that two sparse factors share, whose dense factors are vectors. */
static bool join_at(Network *n, int i, int j, int l)
{
    Interp *in = n->in;
    NetFactor *a = &n->factor[i];
    const NetFactor b = n->factor[j];
    const uint64_t vectors = dense_with(n, l);
    for (int k = 0; k < n->factors; k++)
        if ((vectors >> k & 1) && n->factor[k].rank != 1)
            return false;
    for (int k = 0; k < n->factors; k++)
        if (vectors >> k & 1)
            scale(n, a, &n->factor[k]);
    const int row = a->label[a->label[0] == l], column = b.label[b.label[0] == l];
    Made made = { 0 };
    const Csr left = sparse_csr(turned_to(n, a, row)),
              right = sparse_csr(turned_to(n, &b, l));
    Tensor *t = csr_times_csr(&in->ctx, &made, &left, &right);
    const uint8_t label[2] = { (uint8_t)row, (uint8_t)column };
    push(in, v_tensor_raw(t));
    tell(n, a, l, 1, "by those of the other factor's rows, summed");
    drop(n, vectors | bit(i) | bit(j));
    network_factor(n, v_tensor_raw(t), 2, label, false);
    return true;
}

static bool join(Network *n)
{
    for (int i = 0; i < n->factors; i++)
        for (int j = i + 1; j < n->factors; j++) {
            if (!sparse_of(&n->factor[i]) || !sparse_of(&n->factor[j]))
                continue;
            const uint64_t shared = n->factor[i].labels & n->factor[j].labels & ~out_labels(n);
            for (uint64_t m = shared; m; m &= m - 1) {
                const int l = __builtin_ctzll(m);
                if (sparse_with_label(n, l) == 2 && join_at(n, i, j, l))
                    return true;
            }
        }
    return false;
}

/* ---- both indices of the last sparse factor stay ---- */
/* Dense factors by which index they have; those that have neither go to one that they share an
 * index with. False: one has both, and others. */
static bool by_sides(const Network *n, const NetFactor *s, uint64_t side[2])
{
    side[0] = dense_with(n, s->label[0]);
    side[1] = dense_with(n, s->label[1]);
    if (side[0] & side[1])
        return false;
    for (int i = 0; i < n->factors; i++) {
        const NetFactor *f = &n->factor[i];
        if (sparse_of(f) || ((side[0] | side[1]) >> i & 1))
            continue;
        const bool right = (labels_of(n, side[1], false) & f->labels) || !side[0];
        side[right && !(labels_of(n, side[0], false) & f->labels)] |= bit(i);
    }
    return true;
}

/* A dense factor of the group: the index of that side (if it is there), then those in `keep`. */
static Tensor *side_sum(Network *n, DType dt, const NetFactor *s, int side, uint64_t group,
                        uint64_t keep, int64_t width)
{
    uint8_t label[TENSOR_RANK_MAX] = { s->label[side] };
    const int rank = 1 + put_labels(keep, label + 1);
    return shaped(n, dense_sum(n, group, label, rank), dt, 2,
                  (int64_t[]){ n->extent[label[0]], width });
}

/* Numbers that stand beside: factors without any of the matrix's indices. */
static bool lone_sides(const Network *n, const NetFactor *s, const uint64_t side[2])
{
    for (int k = 0; k < 2; k++)
        if (side[k] && !(labels_of(n, side[k], false) >> s->label[k] & 1))
            return true;
    return false;
}

static bool at_entries(Network *n, DType dt)
{
    int at = 0;
    uint64_t side[2];
    while (!sparse_of(&n->factor[at]))
        at++;
    NetFactor *s = &n->factor[at];
    if (!by_sides(n, s, side) || lone_sides(n, s, side))
        return false;
    const uint64_t shared = labels_of(n, side[0], false) & labels_of(n, side[1], false);
    int64_t width = 1;
    for (uint64_t m = shared; m; m &= m - 1)
        width = count_times(width, n->extent[__builtin_ctzll(m)]);
    Tensor *x[2] = { NULL, NULL };
    for (int k = 0; k < 2; k++)
        if (side[k])
            x[k] = side_sum(n, dt, s, k, side[k], shared, width);
    for (int k = 0; k < 2; k++)
        if (!x[k])
            x[k] = shaped(n, ones(n, dt, n->extent[s->label[k]]), dt, 2,
                          (int64_t[]){ n->extent[s->label[k]], 1 });
    const Csr a = sparse_csr(sparse_of(s));
    Made made = { 0 };
    tell(n, s, -1, width, width > 1 ? "a dot product for each" : "a product for each");
    Value v = made_value(n->in, &made, csr_sampled(&n->in->ctx, &made, &a, x[0]->data, x[1]->data,
                                                   width));
    s->v = push(n->in, sparse_with(n->in, sparse_of(s), v_retain(v)));
    drop(n, ((side[0] | side[1])));
    return true;
}

/* ---- the whole ---- */
/* Axes that no factor has are repeated. */
static Value spread_out(Network *n, Value v, const uint8_t *label, int rank)
{
    int64_t shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX];
    Ctx *ctx = &n->in->ctx;
    if (rank == n->rank)
        return v;
    Tensor *t = push(n->in, v_tensor_raw(v_to_tensor(n->in, v, 0))).tensor;
    tensor_home(ctx, t);
    for (int a = 0, own = 0; a < n->rank; a++) {
        const bool has = own < rank && label[own] == n->out[a];
        shape[a] = n->extent[n->out[a]];
        strides[a] = has ? tensor_strides(t)[own++] : 0;
    }
    t = push(n->in, v_tensor_raw(tensor_view(ctx, t, n->rank, shape, strides, t->data))).tensor;
    return push(n->in, v_tensor_raw(tensor_copy(ctx, t)));
}

static Value dense_end(Network *n)
{
    uint8_t label[TENSOR_RANK_MAX];
    int rank = 0;
    const uint64_t all = labels_of(n, 0, true);
    for (int a = 0; a < n->rank; a++)
        if (all >> n->out[a] & 1)
            label[rank++] = n->out[a];
    return spread_out(n, dense_sum(n, ~UINT64_C(0), label, rank), label, rank);
}

static Value sparse_end(Network *n, const NetFactor *pattern)
{
    const NetFactor *f = &n->factor[0];
    const Sparse *s = turned_to(n, f, n->out[0]);
    if (pattern)
        return v_tensor_raw(s->head);
    return push(n->in, v_tensor_raw(sparse_to_dense(&n->in->ctx, s)));
}

/* The sparse factor whose indices the result has; NULL: none. */
static const NetFactor *pattern_of(const Network *n)
{
    for (int i = 0; n->rank == 2 && i < n->factors; i++)
        if (sparse_of(&n->factor[i]) && n->factor[i].labels == out_labels(n))
            return &n->factor[i];
    return NULL;
}

static bool has_kernels(DType dt)
{
    return dt == DT_F64 || dt == DT_F32 || dt == DT_C128 || dt == DT_C64;
}

/* What the factors are multiplied in; DT_NONE: no kernels have it. */
static DType product_dtype(const Network *n, DType *result)
{
    DType all = DT_NONE;
    const Scope *s = precise_scope(n->in);
    if (s && (!precise_nests(s) || dtype_half(s->format)))
        return DT_NONE;
    for (int i = 0; i < n->factors; i++) {
        const NetFactor *f = &n->factor[i];
        const DType dt = v_dtype(f->v);
        if (f->weak && is_number(f))
            continue;
        if (dt == DT_NONE || (all = all == DT_NONE ? dt : dtype_promote(all, dt)) == DT_NONE)
            return DT_NONE;
    }
    *result = all;
    return dtype_half(all) ? DT_F32 : has_kernels(all) ? all : DT_NONE;
}

/* Ints are multiplied as floats, and real factors stay real until they meet a complex one. */
static void cast_factors(Network *n, DType dt)
{
    for (int i = 0; i < n->factors; i++) {
        NetFactor *f = &n->factor[i];
        const Sparse *s = sparse_of(f);
        if (s && (DType)s->value->dtype != dt) {
            Tensor *t = push(n->in, v_tensor_raw(tensor_cast(&n->in->ctx, s->value, dt))).tensor;
            f->v = push(n->in, v_tensor_raw(sparse_like(&n->in->ctx, s, t)));
        }
        if (s)
            continue;
        const DType own = (DType)f->v.tensor->dtype;
        const DType to = dtype_info(own)->kind == 'c' ? dt : dtype_real(dt);
        if (own != to)
            f->v = push(n->in, v_tensor_raw(tensor_cast(&n->in->ctx, f->v.tensor, to)));
    }
}

/* Numbers are taken out: they multiply the result. */
static int take_numbers(Network *n, NetFactor *to)
{
    uint64_t which = 0;
    int count = 0;
    for (int i = 0; i < n->factors; i++)
        if (is_number(&n->factor[i])) {
            to[count++] = n->factor[i];
            which |= bit(i);
        }
    drop(n, which);
    return count;
}

static int sparse_left(const Network *n)
{
    int count = 0;
    for (int i = 0; i < n->factors; i++)
        count += sparse_of(&n->factor[i]) != NULL;
    return count;
}

/* By pairs; V_UNDEF: they will not do. */
static Value by_pairs(Network *n, DType dt, const NetFactor *pattern)
{
    while (meet(n) || sample(n) || spread(n, dt) || join(n))
        continue;
    const int left = sparse_left(n);
    if (left == 0)
        return dense_end(n);
    if (left > 1 || n->rank != 2 || labels_of(n, 0, true) == 0)
        return v_undef();
    for (int i = 0; i < n->factors; i++)
        if (sparse_of(&n->factor[i]) && n->factor[i].labels != out_labels(n))
            return v_undef();
    if (n->factors > 1 && !at_entries(n, dt))
        return v_undef();
    return sparse_end(n, pattern);
}

Value network_cast(Interp *in, Value v, DType dt)
{
    const Sparse *s = v_sparse(v);
    return push(in, s ? sparse_with(in, s, op_cast(in, sparse_values(s), dt)) : op_cast(in, v, dt));
}

static Value times_numbers(Interp *in, Value r, const NetFactor *number, int count)
{
    for (int k = 0; k < count; k++)
        r = push(in, op_binary(in, op_named(in, "multiply"), r, number[k].v,
                               (unsigned)number[k].weak << 1));
    return r;
}

Value network_sum(Network *n)
{
    Interp *in = n->in;
    NetFactor number[NET_FACTORS];
    const NetFactor *pattern = pattern_of(n);
    const NetFactor kept = pattern ? *pattern : (NetFactor){ 0 };
    Value *mark = in->sp, r = v_undef();
    stack_room(in, 64 + 32 * NET_FACTORS);
    DType result = DT_NONE, dt = product_dtype(n, &result);
    if (dt != DT_NONE) {
        Network pairs = *n;
        const int numbers = take_numbers(&pairs, number);
        cast_factors(&pairs, dt);
        r = pairs.factors ? by_pairs(&pairs, dt, pattern) : v_undef();
        if (r.tag != V_UNDEF && result != dt)
            r = network_cast(in, r, result);
        if (r.tag != V_UNDEF)
            r = times_numbers(in, r, number, numbers);
    }
    if (r.tag == V_UNDEF)
        r = push(in, network_by_terms(n, pattern ? &kept : NULL));
    r = r.tag == V_TENSOR && !r.tensor->rank ? v_tensor(&in->ctx, tensor_retain(r.tensor))
                                             : v_retain(r);
    stack_cut(in, mark);
    return r;
}
