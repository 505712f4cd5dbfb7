/* Operations in a format: which form of a row runs, operands and results of the format. See
 * precise.h. The forms in builtins/formats/formats*.c call what is not the aspect's. */
#include "interp/precision/precise.h"

#include "core/base/error.h"
#include "core/memory/pool.h"
#include "interp/op/arith.h"
#include "interp/op/elementwise.h"
#include "interp/op/exact.h"
#include "interp/op/heard.h"
#include "kernels/sparse/sparse.h"
#include "kernels/arith/cast_mini.h"
#include "kernels/number/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STRIP = 256, GRAIN = 1 << 13 };

/* Is v a tensor of a foreign dtype, or a tuple with one in it? */
static bool precise_foreign(Value v)
{
    if (v.tag == V_TENSOR)
        return dtype_foreign((DType)v.tensor->dtype);
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++) {
        Value item = v.tuple->items[i];
        if (item.tag == V_TENSOR ? dtype_foreign((DType)item.tensor->dtype)
                                 : item.tag == V_TUPLE && precise_foreign(item))
            return true;
    }
    return false;
}

/* ---- opening and closing ---- */
void precise_open(Precise *p, Interp *in, Scope *s)
{
    p->in = in;
    p->scope = s;
    p->summing = false;
    p->sums = NULL;
    p->a = *precise_arith(in, s);
}

Arith *precise_arith(Interp *in, Scope *s)
{
    Arith *a = &s->arith;
    if (!a->ctx || a->dtype != s->format || a->round != s->round || a->saturate != s->saturate ||
        a->flush != s->flush)
        scope_arith(in, s, a);
    memcpy(a->seed, s->seed, sizeof a->seed);
    a->draw = s->draw;
    a->flags = (ArithFlags){ 0 };
    return a;
}

/* No random number is used twice: both go on behind what either has drawn. */
static void share_draws(Precise *p)
{
    uint64_t most = p->a.draw > p->acc.draw ? p->a.draw : p->acc.draw;
    if (p->summing && p->scope->round == ROUND_STOCHASTIC)
        p->a.draw = p->acc.draw = most;
}

void precise_accumulator(Precise *p)
{
    scope_accumulator(p->in, p->scope, &p->acc);
    p->summing = true;
    share_draws(p);
}

void precise_close(Precise *p)
{
    scope_done(p->scope, &p->a);
    if (p->summing)
        scope_done(p->scope, &p->acc);
}

void precise_check(Interp *in, const Op *op, ArithStatus s, DType dt)
{
    char name[48];
    poll_interrupt(in);
    if (s != ARITH_OK)
        arith_raise(&in->ctx, s, dt, op_label(op, name, sizeof name));
}

ArithStatus precise_load(Arith *a, void *to, int64_t st, DType from, const void *x, int64_t sx,
                         int64_t n)
{
    RoundMode round = a->round;
    uint64_t draw = a->draw;
    if (round == ROUND_STOCHASTIC)
        a->round = ROUND_NEAREST;
    ArithStatus s = a->ops->load(a, to, st, from, x, sx, n);
    a->round = round;
    a->draw = draw;
    return s;
}

/* ---- rows ---- */
typedef struct Chunks {
    Walk *w;
    Ctx *ctx;
    int64_t inner, rows;
} Chunks;

static void add_flags(ArithFlags *sum, const ArithFlags *f)
{
    __atomic_fetch_add(&sum->overflow, f->overflow, __ATOMIC_RELAXED);
    __atomic_fetch_add(&sum->underflow, f->underflow, __ATOMIC_RELAXED);
    __atomic_fetch_add(&sum->inexact, f->inexact, __ATOMIC_RELAXED);
    __atomic_fetch_add(&sum->invalid, f->invalid, __ATOMIC_RELAXED);
    __atomic_fetch_add(&sum->divzero, f->divzero, __ATOMIC_RELAXED);
}

/* Elements [begin, end) of the only row, or rows [begin, end). */
static void walk_chunk(void *arg, int64_t begin, int64_t end, int worker)
{
    Chunks *c = arg;
    Walk *w = c->w;
    const Iter *it = &w->it;
    int64_t at[ITER_OPERANDS], step[ITER_OPERANDS];
    bool one = c->rows == 1;
    Arith a = *w->a;
    ArithStatus s = ARITH_OK;
    (void)worker;
    a.flags = (ArithFlags){ 0 };
    for (int k = 0; k < it->operands; k++)
        step[k] = it->stride[k][it->rank - 1];
    for (int64_t row = one ? 0 : begin; row < (one ? 1 : end) && s == ARITH_OK; row++) {
        int64_t n = one ? end - begin : c->inner, first = one ? begin : row * c->inner;
        iter_seek(it, it->rank - 1, row, at);
        for (int k = 0; one && k < it->operands; k++)
            at[k] += begin * step[k];
        a.draw = w->a->draw + (uint64_t)first * w->draws;
        s = *c->ctx->interrupt ? ARITH_INTERRUPT : w->span(w, &a, at, step, n);
    }
    add_flags(&w->flags, &a.flags);
    if (s != ARITH_OK)
        __atomic_store_n(&w->status, s, __ATOMIC_RELAXED);
}

ArithStatus precise_walk(Ctx *ctx, Walk *w, Arith *a)
{
    int64_t size = w->it.size, inner = w->it.shape[w->it.rank - 1];
    w->a = a;
    w->flags = (ArithFlags){ 0 };
    w->status = ARITH_OK;
    if (size == 0)
        return ARITH_OK;
    Chunks c = { .w = w, .ctx = ctx, .inner = inner, .rows = size / inner };
    int64_t n = c.rows == 1 ? inner : c.rows, grain = c.rows == 1 ? GRAIN : GRAIN / inner + 1;
    if (size < 2 * GRAIN || a->carrier != DT_F64)
        walk_chunk(&c, 0, n, 0);
    else
        pool_for(ctx, n, grain, walk_chunk, &c);
    arith_flags_add(&a->flags, &w->flags);
    a->draw += (uint64_t)size * w->draws;
    return w->status != ARITH_OK ? w->status : *ctx->interrupt ? ARITH_INTERRUPT : ARITH_OK;
}

/* ---- conversion ---- */
typedef struct Convert {
    Walk walk;              /* first; operand 0 is written */
    char *to;
    const char *from;
    DType source;
    bool load;              /* rounded in the mode */
    bool store;             /* into storage; else carriers are written */
    int to_bytes;
} Convert;

static ArithStatus convert_span(const Walk *w, Arith *a, const int64_t *at, const int64_t *step,
                                int64_t n)
{
    const Convert *c = (const Convert *)w;
    double strip[STRIP];
    char *to = c->to + at[0] * c->to_bytes;
    const char *from = c->from + at[1] * dtype_info(c->source)->bytes;
    bool direct = !c->store || a->carrier != DT_F64;
    ArithStatus s = ARITH_OK;
    for (int64_t i = 0; i < n && s == ARITH_OK; i += STRIP) {
        int64_t m = n - i < STRIP ? n - i : STRIP, st = direct ? step[0] : 1;
        const char *x = from + i * step[1] * dtype_info(c->source)->bytes;
        char *y = to + i * step[0] * c->to_bytes;
        void *carriers = direct ? (void *)y : (void *)strip;
        if (c->load)
            s = a->ops->load(a, carriers, st, c->source, x, step[1], m);
        if (s == ARITH_OK && !direct)
            s = c->load ? a->ops->store(a, y, step[0], strip, 1, m)
                        : a->ops->store(a, y, step[0], x, step[1], m);
        else if (!c->load)
            for (int64_t k = 0; k < m; k++)
                memcpy(y + k * step[0] * c->to_bytes, x + k * step[1] * c->to_bytes,
                       (size_t)c->to_bytes);
        if (*a->ctx->interrupt)
            s = ARITH_INTERRUPT;
    }
    return s;
}

/* A complex tensor as the real one of its parts, with a last axis of two; or its real parts. */
static Tensor *parts_view(Interp *in, Tensor *t, DType part, bool both)
{
    int64_t shape[TENSOR_RANK_MAX + 1], strides[TENSOR_RANK_MAX + 1];
    for (int i = 0; i < t->rank; i++) {
        shape[i] = tensor_shape(t)[i];
        strides[i] = 2 * tensor_strides(t)[i];
    }
    shape[t->rank] = 2;
    strides[t->rank] = 1;
    Tensor *v = tensor_view_as(&in->ctx, t, part, t->rank + both, shape, strides, t->data);
    v_push(in, v_tensor_raw(v));
    return v;
}

static bool is_complex(DType dt) { return dtype_info(dt)->kind == 'c'; }

/* Real views of both; the parts of a complex tensor stand in the last axis. */
static void convert(Precise *p, const Op *op, Arith *a, Convert *c, Tensor *to, Tensor *from)
{
    Interp *in = p->in;
    Value *mark = in->sp;
    if (is_complex((DType)to->dtype)) {
        bool both = is_complex((DType)from->dtype);
        c->store &= to->dtype == DT_C64;        /* parts of the others are the doubles they are */
        to = parts_view(in, to, dtype_part((DType)to->dtype), both);
        from = both ? parts_view(in, from, dtype_part((DType)from->dtype), true) : from;
    }
    c->walk.span = convert_span;
    c->walk.draws = c->load;
    c->to = to->data;
    c->to_bytes = dtype_info((DType)to->dtype)->bytes;
    c->from = from->data;
    c->source = (DType)from->dtype;
    iter_init(&c->walk.it, 2, (const Tensor *const[]){ to, from });
    precise_check(in, op, precise_walk(&in->ctx, &c->walk, a), p->scope->format);
    share_draws(p);
    stack_cut(in, mark);
}

static Tensor *new_rooted(Precise *p, DType dt, const Tensor *like, bool zero)
{
    Tensor *out =
        (zero ? tensor_zeros : tensor_new)(&p->in->ctx, dt, like->rank, tensor_shape(like));
    v_push(p->in, v_tensor_raw(out));
    return out;
}

static Tensor *unrooted(Precise *p, Tensor *t)
{
    p->in->sp--;
    return t;
}

Tensor *precise_round_as(Precise *p, const Op *op, Tensor *t, bool paired)
{
    DType dt = precise_dtype(p->scope->format, paired);
    if (dt == (DType)t->dtype && !p->scope->flush && !p->scope->saturate)
        return tensor_retain(t);
    Tensor *out = new_rooted(p, dt, t, paired && !is_complex((DType)t->dtype));
    Convert c = { .load = true, .store = true };
    convert(p, op, &p->a, &c, out, t);
    out->flags = t->flags;
    return unrooted(p, out);
}

Tensor *precise_round(Precise *p, const Op *op, Tensor *t)
{
    return precise_round_as(p, op, t, is_complex((DType)t->dtype));
}

Tensor *precise_carriers_as(Precise *p, const Op *op, Tensor *t, bool paired)
{
    DType dt = precise_carrier(&p->a, paired);
    bool own = dt == precise_dtype(p->scope->format, paired) && dt != DT_C128;
    if (dt == (DType)t->dtype && own && !p->scope->flush && !p->scope->saturate)
        return tensor_compact(&p->in->ctx, t);
    Tensor *out = new_rooted(p, dt, t, paired && !is_complex((DType)t->dtype));
    Convert c = { .load = true };
    convert(p, op, &p->a, &c, out, t);
    return unrooted(p, out);
}

Tensor *precise_carriers(Precise *p, const Op *op, Tensor *t)
{
    return precise_carriers_as(p, op, t, is_complex((DType)t->dtype));
}

Tensor *precise_summands(Precise *p, const Op *op, Tensor *t)
{
    bool binary = p->a.carrier == DT_F64 && p->acc.carrier == DT_F64;
    Tensor *x = precise_carriers(p, op, t);
    if (binary || p->acc.dtype == p->a.dtype)
        return x;
    v_push(p->in, v_tensor_raw(x));
    DType dt = precise_carrier(&p->acc, is_complex((DType)x->dtype));
    Tensor *out = new_rooted(p, dt, x, false);
    Convert c = { .load = true };
    convert(p, op, &p->acc, &c, out, x);
    tensor_retain(out);
    stack_cut(p->in, p->in->sp - 2);
    return out;
}

Tensor *precise_result(Precise *p, const Op *op, const Arith *from, Tensor *carriers)
{
    bool paired = is_complex((DType)carriers->dtype);
    bool same = from->dtype == p->a.dtype && from->round == p->a.round;
    DType dt = precise_dtype(p->scope->format, paired);
    if (same && dt == (DType)carriers->dtype)
        return tensor_retain(carriers);
    Tensor *out = new_rooted(p, dt, carriers, false);
    Convert c = { .load = !same, .store = true };
    share_draws(p);
    convert(p, op, &p->a, &c, out, carriers);
    return unrooted(p, out);
}

Tensor *precise_operand(OpCall *c, Precise *p, int i)
{
    return op_keep(c, precise_round(p, c->op, arg_tensor(c, i)));
}

/* ---- by the ordinary kernels ---- */
static bool holds(DType wide, DType format)
{
    return dtype_mini_read(format, &(int){ 0 }, &(int){ 0 }, &(MiniStyle){ 0 }) &&
           dtype_promote(wide, format) == wide;
}

bool precise_fast(const Scope *s)
{
    if ((s->accumulate != DT_F32 && s->accumulate != DT_F64) || s->reproducible)
        return false;
    return s->accumulate == s->format ? scope_ordinary(s) : holds(s->accumulate, s->format);
}

bool precise_nests(const Scope *s)
{
    bool half = dtype_half(s->format);
    bool plain = s->round == ROUND_NEAREST && !s->saturate && !s->flush && !s->reproducible;
    return plain &&
           (half ? s->accumulate == DT_F32 : scope_ordinary(s) && s->accumulate == s->format);
}

Scope precise_inner(const Scope *s)
{
    Scope inner = scope_of(s->accumulate);
    inner.accumulate = s->accumulate;
    inner.reproducible = s->reproducible;
    if (s->accumulate == s->format) {
        inner.round = s->round;
        inner.saturate = s->saturate;
        inner.flush = s->flush;
    }
    inner.seed[0] = s->seed[0];
    inner.seed[1] = s->seed[1];
    inner.draw = s->draw;
    return inner;
}

static bool fractional(DType dt) { return strchr("fcq", dtype_info(dt)->kind) != NULL; }

static DType widened(DType wide, bool paired)
{
    return paired ? (wide == DT_F32 ? DT_C64 : DT_C128) : wide;
}

static Value outside_tensor(OpCall *c, Precise *p, DType wide, bool whole, Tensor *t)
{
    DType dt = (DType)t->dtype;
    if (!fractional(dt) && !(whole && dt != DT_BOOL))
        return v_tensor_raw(t);
    t = op_keep(c, precise_round(p, c->op, t));
    if (wide != DT_NONE && (DType)t->dtype != widened(wide, is_complex(dt))) {
        uint8_t flags = t->flags;
        t = op_keep(c, tensor_cast(&c->in->ctx, t, widened(wide, is_complex(dt))));
        t->flags = flags;
    }
    return v_tensor_raw(t);
}

static Value outside_argument(OpCall *c, Precise *p, DType wide, bool whole, int i)
{
    Value v = c->args[i];
    bool number = v.tag == V_TENSOR || v.tag == V_FLOAT ||
                  (v.tag == V_TUPLE && v.tuple->count && precise_foreign(v)) ||
                  (v.tag == V_RANGE && whole);
    if (!number)
        return v;
    if (v.tag == V_TENSOR)
        return outside_tensor(c, p, wide, whole, v.tensor);
    if (v.tag == V_FLOAT && p->scope->format == DT_F64)
        return v;
    Value r = outside_tensor(c, p, wide, whole, op_keep(c, v_to_tensor(c->in, v, i)));
    return v.tag == V_FLOAT && r.tensor->dtype == DT_F64
               ? v_float(*(double *)(void *)r.tensor->data)
               : r;
}

/* ---- what a library's results say ---- */
static void count_row(DType dt, const void *data, int64_t n, ArithFlags *f)
{
    const double *d = data;
    const float *s = data;
    const uint16_t *h = data;
    uint64_t inf = 0, nan = 0;
    uint16_t top = dtype_half(dt) ? dtype_half_infinity(dt) : 0;
    switch (dt) {
    case DT_C128: case DT_F64:
        for (int64_t i = 0; i < (dt == DT_C128 ? 2 * n : n); i++)
            inf += isinf(d[i]) != 0, nan += isnan(d[i]) != 0;
        break;
    case DT_C64: case DT_F32:
        for (int64_t i = 0; i < (dt == DT_C64 ? 2 * n : n); i++)
            inf += isinf(s[i]) != 0, nan += isnan(s[i]) != 0;
        break;
    default:
        for (int64_t i = 0; top && i < n; i++)
            inf += (h[i] & 0x7fff) == top, nan += (h[i] & 0x7fff) > top;
    }
    f->overflow += inf;
    f->invalid += nan;
}

static void count_value(Interp *in, Value v, ArithFlags *f)
{
    if (v.tag == V_FLOAT)
        count_row(DT_F64, &v.f, 1, f);
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        count_value(in, v.tuple->items[i], f);
    if (v.tag != V_TENSOR || !fractional((DType)v.tensor->dtype))
        return;
    const Sparse *entries = tensor_sparse(v.tensor);
    Tensor *t = tensor_compact(&in->ctx, entries ? entries->value : v.tensor);
    count_row((DType)t->dtype, t->data, t->size, f);
    tensor_release(&in->ctx, t);
}

void precise_count_specials(Interp *in, Scope *s, const Value *args, int count, Value r)
{
    ArithFlags made = { 0 }, given = { 0 };
    v_push(in, r);
    count_value(in, r, &made);
    for (int i = 0; i < count && (made.overflow || made.invalid); i++)
        count_value(in, args[i], &given);
    in->sp--;
    if (!given.overflow && !given.invalid)
        arith_flags_add(&s->flags, &made);
}

Value precise_outside(OpCall *c, Scope *s, DType wide, bool whole)
{
    Interp *in = c->in;
    Precise p;
    OpCall call = *c;
    int64_t bytes = (int64_t)mem_mul(&in->ctx, (size_t)c->count + 1, sizeof(Value));
    Value few[16];
    call.args =
        c->count <= 16 ? few : (void *)op_keep(c, tensor_new(&in->ctx, DT_U8, 1, &bytes))->data;
    precise_open(&p, in, s);
    for (int i = 0; i < c->count; i++)
        call.args[i] = outside_argument(c, &p, wide, whole, i);
    precise_close(&p);
    Scope *outer = in->scope;
    in->scope = NULL;
    Value r = exact_run(&call);
    in->scope = outer;
    if (outer == s)
        precise_count_specials(in, s, call.args, call.count, r);
    return precise_settle(in, s, c->op, r);
}

static Value settle_one(Precise *p, const Op *op, Value v)
{
    Tensor *t = v.tag == V_FLOAT ? tensor_scalar(&p->in->ctx, DT_F64, &v.f) : v.tensor;
    v_push(p->in, v_tensor_raw(t));
    bool paired = is_complex((DType)t->dtype);
    Tensor *out = new_rooted(p, precise_dtype(p->scope->format, paired), t, false);
    Convert c = { .load = true, .store = true };
    convert(p, op, &p->a, &c, out, t);
    out->flags = t->flags;
    tensor_retain(out);
    stack_cut(p->in, p->in->sp - 2);
    return v_tensor(&p->in->ctx, out);
}

static Value settle(Precise *p, const Op *op, Value v)
{
    DType dt = v.tag == V_FLOAT ? DT_F64 : v.tag == V_TENSOR ? (DType)v.tensor->dtype : DT_NONE;
    if (v.tag == V_TUPLE) {
        v_push(p->in, v);
        Tuple **slot = &p->in->sp[-1].tuple;
        tuple_unshare(&p->in->ctx, slot);
        for (uint32_t i = 0; i < (*slot)->count; i++) {
            Value item = (*slot)->items[i];
            (*slot)->items[i] = v_none();
            item = settle(p, op, item);
            (*slot)->items[i] = item;
        }
        return *--p->in->sp;
    }
    if (dt == DT_NONE || !fractional(dt))
        return v;
    bool plain = !p->scope->flush && !p->scope->saturate;
    DType to = precise_dtype(p->scope->format, is_complex(dt));
    if (plain && dt == to)
        return v;
    /* Outside of every scope nobody counts: the cast rounds as well, and faster. */
    if (plain && p->in->scope != p->scope && p->scope->round == ROUND_NEAREST &&
        v.tag == V_TENSOR && cast_is_mini(to)) {
        v_push(p->in, v);
        Tensor *cast = tensor_cast(&p->in->ctx, v.tensor, to);
        stack_cut(p->in, p->in->sp - 1);
        return v_tensor(&p->in->ctx, cast);
    }
    return settle_one(p, op, v);
}

Value precise_settle(Interp *in, Scope *s, const Op *op, Value v)
{
    Precise p;
    if (v.tag == V_BOOL || v.tag == V_INT || v.tag == V_NONE ||
        (v.tag == V_FLOAT && s->format == DT_F64 && !s->flush && !s->saturate))
        return v;
    v_push(in, v);
    precise_open(&p, in, s);
    in->sp--;
    v = settle(&p, op, v);
    precise_close(&p);
    return v;
}

/* ---- which function runs ---- */
/* Raises ERR_DTYPE: argument i of a row that has no form is foreign. */
static _Noreturn void precise_refuse(OpCall *c, int i)
{
    char help[192];
    const char *text = arg_text(c, i);
    DType dt = c->args[i].tag == V_TENSOR ? (DType)c->args[i].tensor->dtype : DT_NONE;
    bool known = arg_written(c, i) != NULL, alone = true;
    for (int k = 0; k < c->count; k++)
        alone &= k == i || c->args[k].tag == V_UNDEF;
    snprintf(help, sizeof help,
             known && alone ? "compute in floats: %s(f64(%s))" : "compute in floats: %.0sf64(%s)",
             c->op->name, known ? text : "…");
    arg_error_help(c, i, ERR_DTYPE, help, "%s is %s, which %s does not take", text,
                   dt == DT_NONE ? "of a format" : dtype_name(dt), c->op->name);
}

/* The format that the arguments vote for; only those of them that are foreign, where the others
 * are f64 scalars. */
static DType implied_format(OpCall *c, int first)
{
    DTypeVote votes[16];
    int n = 0;
    for (int i = 0; i < c->count && n < 16; i++) {
        DType dt = v_dtype(c->args[i]);
        if (dt == DT_NONE ||
            (dtype_info(dt)->kind != 'f' && dtype_info(dt)->kind != 'c' && dt != DT_RATIONAL))
            continue;
        bool scalar = c->args[i].tag != V_TENSOR || c->args[i].tensor->rank == 0;
        votes[n++] = (DTypeVote){ dt, scalar, c->weak >> (i < 31 ? i : 31) & 1 };
    }
    if (n == 0) {
        Tensor *t = op_keep(c, v_to_tensor(c->in, c->args[first], first));
        return dtype_real((DType)t->dtype);
    }
    DType dt = dtype_vote(votes, n);
    if (dt != DT_NONE)
        return dtype_real(dt);
    char help[128];
    snprintf(help, sizeof help, "convert first: %s(…)", dtype_name(v_dtype(c->args[first])));
    arg_error_help(c, first, ERR_DTYPE, help, "no format holds all of its numbers: %s is %s",
                   arg_text(c, first), dtype_name(v_dtype(c->args[first])));
}

void precise_note(Interp *in, const Scope *s, const char *what)
{
    static const char *const modes[ROUND_MODES] = {
        [ROUND_AWAY] = ", ties away from zero", [ROUND_ZERO] = ", to zero",
        [ROUND_UP] = ", up",                    [ROUND_DOWN] = ", down",
        [ROUND_ODD] = ", to odd",               [ROUND_STOCHASTIC] = ", stochastically",
    };
    if (explain_on(in))
        explain_numbers(in, "%s%s%s", dtype_name(s->format),
                     scope_ordinary(s) ? "" : what, modes[s->round] ? modes[s->round] : "");
}

/* Fractions have rows of their own (Op.exact); for the others theirs is the format. */
static bool only_as_format(OpCall *c, FormatFn form)
{
    if (!c->in->ctx.cells || !form || form == op_format_moves || c->op->exact)
        return false;
    for (int i = 0; i < c->count; i++)
        if (c->args[i].tag == V_TENSOR && c->args[i].tensor->dtype == DT_RATIONAL)
            return implied_format(c, i) == DT_RATIONAL;
    return false;
}

static int first_foreign(const OpCall *c)
{
    for (int i = 0; c->in->ctx.foreign && i < c->count; i++)
        if (precise_foreign(c->args[i]))
            return i;
    return -1;
}

Scope *precise_form_scope(OpCall *c, Scope *implied)
{
    Interp *in = c->in;
    Scope *s = precise_scope(in);
    FormatFn form = c->op->format;
    if (s && form) {
        if (form != op_format_moves)
            precise_note(in, s, "");
        return s;
    }
    if (!s && only_as_format(c, form)) {
        *implied = scope_implied(in, DT_RATIONAL);
        return implied;
    }
    const int first = form && form != op_format_moves ? first_foreign(c) : -1;
    if (first < 0)
        return NULL;
    *implied = scope_implied(in, implied_format(c, first));
    precise_note(in, implied, "");
    return implied;
}

/* A row that runs a function. */
static Value run_row(OpCall *c, const Aspect *rest)
{
    Scope implied, *s = precise_form_scope(c, &implied);
    if (s)
        return c->op->format(c, s);
    const int first = c->op->format || !c->op->dtypes ? -1 : first_foreign(c);
    if (first >= 0)
        precise_refuse(c, first);
    return call_rest(c, rest);
}

bool precise_wants(const OpCall *c)
{
    if (!c->op)
        return false;
    return c->op->cls == OPC_EW ? precise_concerns(c->in, c->args, c->count) : precise_on(c->in);
}

Value precise_call(OpCall *c, const Aspect *rest)
{
    Value r;
    if (c->op->cls != OPC_EW)
        return run_row(c, rest);
    return precise_elementwise(c, &r) ? r : call_rest(c, rest);
}

Value op_format_moves(OpCall *c, Scope *s)
{
    (void)s;
    return exact_run(c);
}
