/* Ranges: subscripts as affine forms, the range of every index (given, the length of an axis, or
 * where all affine subscripts fit), and the bounds, checked before anything is computed. */
#include "interp/notation/indexnot.h"

#include "core/base/error.h"

#include <string.h>

/* ---- affine forms ---- */
_Noreturn static void too_large(IxBind *b, const IxNode *n, IxInstance *of)
{
    (void)of;
    b->in->at = n->at;
    err_raise(&b->in->ctx, ERR_INDEX, "a subscript does not fit 64 bits");
}

static void affine_add(IxBind *b, const IxNode *n, IxInstance *of, IxAffine *x, const IxAffine *y,
                       int64_t times)
{
    int64_t t;
    bool bad = __builtin_mul_overflow(y->offset, times, &t) ||
               __builtin_add_overflow(x->offset, t, &x->offset);
    x->mask |= y->mask;
    for (uint64_t m = y->mask; m; m &= m - 1) {
        int i = __builtin_ctzll(m);
        bad |= __builtin_mul_overflow(y->coef[i], times, &t) ||
               __builtin_add_overflow(x->coef[i], t, &x->coef[i]);
        if (!bad && x->coef[i] == 0)
            x->mask &= ~(UINT64_C(1) << i);
    }
    if (bad)
        too_large(b, n, of);
}

static int64_t leaf_int(IxBind *b, const IxNode *n, IxInstance *of, int leaf)
{
    int64_t i;
    Value v = b->base[leaf];
    if (v_as_int(v, &i)) {
        b->matters[leaf] = 1;
        return i;
    }
    ix_error_subscript(b, n, of, v);
}

static bool affine_ew(IxBind *b, const IxNode *n, IxInstance *of, IxAffine *out)
{
    IxAffine *y;
    switch ((int)n->op->ew) {
    case EW_POSITIVE:
        return ix_affine(b, n->arg[0], of, out);
    case EW_ADD: case EW_SUBTRACT: case EW_NEGATIVE: case EW_MULTIPLY:
        break;
    default:
        return false;
    }
    y = arena_alloc(&b->arena, sizeof *y);
    if (!ix_affine(b, n->arg[0], of, y))
        return false;
    if (n->op->ew == EW_NEGATIVE) {
        affine_add(b, n, of, out, y, -1);
        return true;
    }
    IxAffine *z = arena_alloc(&b->arena, sizeof *z);
    if (!ix_affine(b, n->arg[1], of, z) || (n->op->ew == EW_MULTIPLY && y->mask && z->mask))
        return false;
    if (n->op->ew == EW_MULTIPLY) {
        affine_add(b, n, of, out, y->mask ? y : z, y->mask ? z->offset : y->offset);
    } else {
        affine_add(b, n, of, out, y, 1);
        affine_add(b, n, of, out, z, n->op->ew == EW_ADD ? 1 : -1);
    }
    return true;
}

bool ix_affine(IxBind *b, const IxNode *n, IxInstance *of, IxAffine *out)
{
    int leaf = -1;
    const IxNode *shown = n;
    IxInstance *where = of;
    v_check_depth(b->in);
    n = ix_resolve(n, &of, &leaf);
    memset(out, 0, sizeof *out);
    if (!n || n->kind == IX_LEAF) {
        out->offset = leaf_int(b, shown, where, leaf);
        return true;
    }
    if (n->kind == IX_NUMBER) {
        int i = of->first_index + n->index;
        out->mask = UINT64_C(1) << i;
        out->coef[i] = 1;
        return true;
    }
    return n->kind == IX_EW && affine_ew(b, n, of, out);
}

/* ---- extremes ---- */
/* Of one term; first and last are the ends of its range. */
static bool add_extremes(int64_t coef, int64_t first, int64_t last, __int128 *low, __int128 *high)
{
    __int128 a = (__int128)coef * first, z = (__int128)coef * last;
    return !__builtin_add_overflow(*low, a < z ? a : z, low) &&
           !__builtin_add_overflow(*high, a < z ? z : a, high);
}

static int64_t last_of(const IxSpan *s)
{
    return s->start + (s->extent > 0 ? s->extent - 1 : 0) * s->step;
}

/* Over the indices in `mask`; an empty range counts as its start. False: beyond 128 bits. */
static bool extremes(const IxBind *b, const IxAffine *x, uint64_t mask, __int128 *low,
                     __int128 *high)
{
    *low = *high = x->offset;
    for (uint64_t m = x->mask & mask; m; m &= m - 1) {
        int i = __builtin_ctzll(m);
        if (!add_extremes(x->coef[i], b->span[i].start, last_of(&b->span[i]), low, high))
            return false;
    }
    return true;
}

static bool over_nothing(const IxBind *b, const IxAffine *x)
{
    for (uint64_t m = x->mask; m; m &= m - 1)
        if (b->span[__builtin_ctzll(m)].extent == 0)
            return true;
    return false;
}

bool ix_extremes(IxBind *b, const IxAffine *x, int64_t *low, int64_t *high)
{
    __int128 least, most;
    if (over_nothing(b, x))
        return false;
    if (!extremes(b, x, UINT64_MAX, &least, &most) || least < INT64_MIN || most > INT64_MAX) {
        b->in->at = b->x;
        err_raise(&b->in->ctx, ERR_INDEX, "a subscript runs beyond 64 bits");
    }
    *low = (int64_t)least;
    *high = (int64_t)most;
    return true;
}

/* ---- given ranges ---- */
static void set_range(IxBind *b, IxSpan *s, const Range *r)
{
    (void)b;
    s->known = s->ranged = true;
    s->start = r->start;
    s->step = r->step;
    s->extent = r->count;
}

static int64_t range_int(IxBind *b, IxSpan *s, int part)
{
    int leaf = s->of->first_leaf + part;
    int64_t i;
    if (!v_as_int(b->base[leaf], &i))
        ix_error_range_value(b, s, b->base[leaf]);
    b->matters[leaf] = 1;
    return i;
}

static void given_range(IxBind *b, IxSpan *s)
{
    const IxIndex *index = s->index;
    Ctx *ctx = &b->in->ctx;
    if (index->range == IXG_VALUE) {
        int leaf = s->of->first_leaf + index->part[0];
        Value v = b->base[leaf];
        if (v.tag != V_RANGE)
            ix_error_range_value(b, s, v);
        set_range(b, s, v.range);
        return;
    }
    int64_t start = range_int(b, s, index->part[0]), stop = range_int(b, s, index->part[1]);
    int64_t step = index->part[2] < 0 ? 1 : range_int(b, s, index->part[2]);
    b->in->at = b->x;
    Range *r = range_new(ctx, start, stop, step);
    set_range(b, s, r);
    v_release(ctx, v_range(r));
}

/* ---- lengths of axes ---- */
static void lone_lengths(IxBind *b, const IxAccess *x)
{
    for (int k = 0; k < x->node->subs; k++) {
        if (!x->sub[k].lone)
            continue;
        IxSpan *s = &b->span[__builtin_ctzll(x->sub[k].at.mask)];
        int64_t n = x->tensor->dims[k];
        if (s->ranged)
            continue;
        if (s->known && s->extent != n)
            ix_error_lengths(b, s, x, k);
        if (s->known)
            continue;
        *s = (IxSpan){ .known = true,
                       .extent = n,
                       .step = 1,
                       .from = x,
                       .axis = k,
                       .index = s->index,
                       .of = s->of };
    }
}

/* ---- where affine subscripts fit ---- */
static __int128 floor_div(__int128 a, __int128 b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* Values of index g for which an affine subscript stays in its axis. False: not known yet. */
static bool fit_axis(const IxBind *b, const IxAffine *x, int g, int64_t n, int64_t *from,
                     int64_t *to)
{
    __int128 low, high, c = x->coef[g];
    uint64_t others = x->mask & ~(UINT64_C(1) << g);
    for (uint64_t m = others; m; m &= m - 1)
        if (!b->span[__builtin_ctzll(m)].known)
            return false;
    if (!extremes(b, x, others, &low, &high))
        return false;
    __int128 first = c > 0 ? -floor_div(low, c) : -floor_div(n - 1 - high, -c);
    __int128 last = c > 0 ? floor_div(n - 1 - high, c) : floor_div(low, -c);
    if (first > last || first >= INT64_MAX || last <= INT64_MIN) {
        *from = *from > 1 ? *from : 1;             /* none: an empty range that stays empty */
        *to = *to < 0 ? *to : 0;
        return true;
    }
    if (first > *from)
        *from = (int64_t)first;
    if (last < *to)
        *to = (int64_t)last;
    return true;
}

static bool is_affine(const IxAccess *x, int k)
{
    return x->sub[k].kind == IXS_AFFINE && !x->node->sub[k].wrap;
}

bool ix_fit(const IxBind *b, int g, int64_t *from, int64_t *to, const IxAccess **tight, int *axis)
{
    bool found = false;
    for (const IxAccess *x = b->accesses; x; x = x->next)
        for (int k = 0; k < x->node->subs; k++) {
            if (!is_affine(x, k) || !(x->sub[k].at.mask >> g & 1))
                continue;
            int64_t was = *from;
            if (!fit_axis(b, &x->sub[k].at, g, x->tensor->dims[k], from, to))
                return false;
            if (!found || *from > was)
                *tight = x, *axis = k;
            found = true;
        }
    return found;
}

/* ---- ranges that would have fit ---- */
/* Takes off the values of s outside of from … to. */
static void span_cut(IxSpan *s, int64_t from, int64_t to)
{
    __int128 start = s->start, step = s->step > 0 ? s->step : -(__int128)s->step,
             before = s->step > 0 ? from - start : start - to,
             room = s->step > 0 ? to - start : start - from;
    __int128 skip = before > 0 ? (before + step - 1) / step : 0;
    room -= skip * step;
    s->start = (int64_t)(start + skip * s->step);
    s->extent = room < 0 ? 0 : (int64_t)(room / step + 1);
}

/* Cuts the range of index g to where all its subscripts fit, or, `lone`, those without another
 * index. False: nothing is left of it. */
static bool narrow_index(IxBind *b, int g, bool lone)
{
    IxSpan *s = &b->span[g];
    int64_t last = last_of(s), from = s->start < last ? s->start : last,
            to = s->start < last ? last : s->start;
    for (const IxAccess *x = b->accesses; x; x = x->next)
        for (int k = 0; k < x->node->subs; k++) {
            uint64_t mask = is_affine(x, k) ? x->sub[k].at.mask : 0;
            if ((mask >> g & 1) && (!lone || mask == UINT64_C(1) << g) &&
                !fit_axis(b, &x->sub[k].at, g, x->tensor->dims[k], &from, &to))
                return false;
        }
    IxSpan cut = *s;
    span_cut(&cut, from, to);
    if (cut.extent <= 0)
        return false;
    *s = cut;
    return true;
}

static bool inside(IxBind *b, const IxAccess *x, int k)
{
    int64_t low, high;
    return !is_affine(x, k) || !ix_extremes(b, &x->sub[k].at, &low, &high) ||
           (low >= 0 && high < x->tensor->dims[k]);
}

/* Cuts one of the indices of a subscript: of those without a given range, if there are any. */
static bool narrow_one(IxBind *b, uint64_t mask)
{
    for (int pass = 0; pass < 2; pass++)
        for (uint64_t m = mask; m; m &= m - 1) {
            int g = __builtin_ctzll(m);
            if (b->span[g].ranged == (pass == 1) && narrow_index(b, g, false))
                return true;
        }
    return false;
}

bool ix_narrow(IxBind *b)
{
    for (int g = 0; g < b->spans; g++)
        if (b->span[g].extent > 0 && !narrow_index(b, g, true))
            return false;
    for (const IxAccess *x = b->accesses; x; x = x->next)
        for (int k = 0; k < x->node->subs; k++)
            if (!inside(b, x, k) && (!narrow_one(b, x->sub[k].at.mask) || !inside(b, x, k)))
                return false;
    return true;
}

/* 0 does not fit: the subscript that forbids it. */
_Noreturn static void error_zero(IxBind *b, int g)
{
    for (const IxAccess *x = b->accesses; x; x = x->next)
        for (int k = 0; k < x->node->subs; k++) {
            int64_t from = INT64_MIN, to = INT64_MAX;
            if (is_affine(x, k) && (x->sub[k].at.mask >> g & 1) &&
                fit_axis(b, &x->sub[k].at, g, x->tensor->dims[k], &from, &to) &&
                (from > 0 || to < 0))
                ix_error_zero(b, g, x, k, from, to);
        }
    ix_error_range(b, g);
}

static bool infer_index(IxBind *b, int g)
{
    IxSpan *s = &b->span[g];
    int64_t from = 0, to = INT64_MAX;
    const IxAccess *tight = NULL;
    int axis = 0;
    if (!ix_fit(b, g, &from, &to, &tight, &axis))
        return false;
    s->known = true;
    s->step = 1;
    s->start = to >= from ? from : 0;
    s->extent = to >= from ? to - from + 1 : 0;
    s->from = tight;
    s->axis = axis;
    if (s->index->left && (from > 0 || to < from))
        error_zero(b, g);
    return true;
}

void ix_infer(IxBind *b)
{
    for (int i = 0; i < b->spans; i++)
        if (b->span[i].index->range)
            given_range(b, &b->span[i]);
    for (const IxAccess *x = b->accesses; x; x = x->next)
        lone_lengths(b, x);
    bool more = true;
    while (more) {
        more = false;
        for (int i = 0; i < b->spans; i++)
            more |= !b->span[i].known && infer_index(b, i);
    }
    for (int i = 0; i < b->spans; i++)
        if (!b->span[i].known)
            ix_error_range(b, i);
}

void ix_bounds(IxBind *b)
{
    int64_t low, high;
    for (const IxAccess *x = b->accesses; x; x = x->next)
        for (int k = 0; k < x->node->subs; k++) {
            if (!is_affine(x, k) || !ix_extremes(b, &x->sub[k].at, &low, &high))
                continue;
            if (low < 0 || high >= x->tensor->dims[k])
                ix_error_bounds(b, x, k, low, high);
        }
}
