/* Back over the entries of a tape: each gives the cotangents of its operands, which are summed
 * where an operand was used more than once; what it kept is let go. Elements that were read or
 * stored one by one are summed in place, so that n of them cost O(n). */
#include "interp/op/deferred.h"
#include "interp/gradient/gradient.h"
#include "interp/device/place.h"
#include "interp/eval/call.h"
#include "interp/index/index.h"
#include "interp/precision/autocast.h"
#include "interp/sparse/sparse_door.h"

#include "core/base/error.h"

#include <math.h>
#include <string.h>

Value call_row_of(Interp *in, const char *name, Value *args, int count)
{
    return op_call(in, op_named(in, name), args, count, 0);
}

Value call_rule(Interp *in, Value f, const Value *args, int count)
{
    const Exec *at = in->at;
    Value r = call_value(in, f, args, count);
    in->at = at;
    return r;
}

static void replace_top(Interp *in, Value r)
{
    Value old = in->sp[-1];
    in->sp[-1] = r;
    v_release(&in->ctx, old);
}

/* Calls a row of what lies on top of the stack, in whose place the result comes. */
static void on_top(Interp *in, const char *name, Value *args, int count)
{
    replace_top(in, call_row_of(in, name, args, count));
}

/* v, which is taken, in the place of what lies below the top of the value stack. */
static void under_top(Interp *in, Value v)
{
    Value old = in->sp[-2];
    in->sp[-2] = v;
    v_release(&in->ctx, old);
}

/* ---- shapes ---- */
static int64_t lengths_size(int rank, const int64_t *shape)
{
    int64_t size = 1;
    for (int i = 0; i < rank; i++)
        size *= shape[i];
    return size;
}

Value zeros_of(Interp *in, const Tape *t, uint32_t node)
{
    const Entry *e = tape_at(t, node);
    if (e->rank <= 0 && e->dtype == DT_F64)
        return v_float(0);
    tape_measured(in, t, e);
    if (e->pattern)
        return entries_like(in, t, e, 0);
    Tensor *zeros = tensor_zeros(&in->ctx, e->dtype, e->rank, t->shape + e->shape);
    return v_tensor(&in->ctx, zeros);
}

Value shape_tuple(Interp *in, int rank, const int64_t *shape)
{
    Tuple *s = tuple_new(&in->ctx, (uint64_t)rank);
    for (int i = 0; i < rank; i++)
        s->items[i] = v_int(shape[i]);
    return v_tuple(s);
}

static int plain_rank(Value v) { return v.tag == V_TENSOR ? v.tensor->rank : 0; }
static int64_t plain_length(Value v, int axis) { return tensor_shape(v.tensor)[axis]; }

/* g on top of the stack summed over the axes along which an operand of the shape was repeated. */
static void sum_repeated(Interp *in, int rank, const int64_t *shape)
{
    Value g = in->sp[-1], plain = v_plain(g);
    int more = plain_rank(plain) - rank;
    v_push(in, v_tuple(tuple_new(&in->ctx, 0)));
    Value *axes = in->sp - 1;
    for (int i = 0; i < plain_rank(plain); i++)
        if (i < more || (shape[i - more] == 1 && plain_length(plain, i) != 1))
            tuple_push(&in->ctx, &axes->tuple, NULL, v_int(i));
    if (axes->tuple->count)
        under_top(in, call_row_of(in, "sum", (Value[]){ g, *axes, v_bool(true) }, 3));
    stack_cut(in, in->sp - 1);
}

static void to_shape(Interp *in, const char *row, int rank, const int64_t *shape)
{
    v_push(in, shape_tuple(in, rank, shape));
    under_top(in, call_row_of(in, row, (Value[]){ in->sp[-2], in->sp[-1] }, 2));
    stack_cut(in, in->sp - 1);
}

/* g, which is taken, with the shape and dtype of a node; owned. */
static Value conform(Interp *in, const Tape *t, uint32_t node, Value g)
{
    const Entry *e = tape_at(t, node);
    const int64_t *shape = t->shape + e->shape;
    Value plain = v_plain(g);
    if (e->rank < 0 || (e->rank == 0 && plain.tag == V_FLOAT && e->dtype == DT_F64))
        return g;
    v_push(in, g);
    if (dtype_info(v_dtype(plain))->kind == 'c' && dtype_info(e->dtype)->kind != 'c')
        on_top(in, "real", in->sp - 1, 1);
    int rank = e->rank;
    plain = v_plain(in->sp[-1]);
    bool same = plain_rank(plain) == rank;
    for (int i = 0; same && i < rank; i++)
        same = plain_length(plain, i) == shape[i];
    if (!same) {
        tape_measured(in, t, e);
        v_measured(in->sp[-1], LENGTH_ALL);
    }
    if (!same && rank == 0) {
        on_top(in, "sum", in->sp - 1, 1);
    } else if (!same) {
        int64_t wanted = lengths_size(rank, shape);
        int64_t size = plain.tag == V_TENSOR ? plain.tensor->size : 1;
        if (size != wanted && plain_rank(plain) >= rank)
            sum_repeated(in, rank, shape);
        plain = v_plain(in->sp[-1]);
        size = plain.tag == V_TENSOR ? plain.tensor->size : 1;
        if (!e->pattern || size == wanted)
            to_shape(in, size == wanted ? "reshape" : "broadcast_to", rank, shape);
    }
    if (e->pattern)
        replace_top(in, entries_conform(in, t, e, v_retain(in->sp[-1])));
    else if (v_sparse(v_plain(in->sp[-1])))
        on_top(in, "dense", in->sp - 1, 1);
    if (v_dtype(v_plain(in->sp[-1])) != e->dtype) {
        Value args[2] = { in->sp[-1], v_format(e->dtype) };
        on_top(in, "cast", args, 2);
    }
    return *--in->sp;
}

/* ---- cotangents ---- */
Tuple *cotangents_new(Interp *in, const Tape *t)
{
    Tuple *all = tuple_new(&in->ctx, (uint64_t)t->entries + 1);
    v_push(in, v_tuple(all));
    return all;
}

void sum_add(Interp *in, Value *slot, Value g)
{
    if (slot->tag == V_UNDEF) {
        *slot = g;
        return;
    }
    if (slot->tag == V_FLOAT && g.tag == V_FLOAT && !in->scope) {
        slot->f += g.f;
        return;
    }
    Value old = *slot;
    *slot = v_undef();
    *slot = op_binary_take(in, op_operator(in, TK_ADD), old, g, 0, 3);
}

/* Nobody asks for the derivative where the cotangent is 0. */
static bool all_zero(Interp *in, Value g)
{
    Value *mark = in->sp;
    v_push(in, call_row_of(in, "not_equal", (Value[]){ v_plain(g), v_int(0) }, 2));
    v_push(in, call_row_of(in, "any", in->sp - 1, 1));
    bool zero = in->sp[-1].tag == V_BOOL && !in->sp[-1].i;
    stack_cut(in, mark);
    return zero;
}

void cotangent_add(Interp *in, const Tape *t, Tuple *cotangents, uint32_t node, Value g)
{
    const Entry *e = tape_at(t, node);
    if (__builtin_expect(e->kind == ENTRY_STEP, 0)) {
        v_push(in, g);
        if (all_zero(in, g)) {
            stack_cut(in, in->sp - 1);
            return;
        }
        CallFrame frame = { .up = in->calls, .source = e->source };
        if (e->at)
            in->calls = &frame;
        grad_raise_step(in, e->op, e->at);
    }
    sum_add(in, &cotangents->items[node], conform(in, t, node, g));
}

Value cotangent_of(Interp *in, const Tape *t, const Tuple *cotangents, uint32_t node)
{
    Value g = cotangents->items[node];
    return g.tag == V_UNDEF ? zeros_of(in, t, node) : v_retain(g);
}

/* ---- subscripts ---- */
/* The subscripts that an entry kept; how many. */
static int subs_kept(const Tape *t, const Entry *e, Sub *subs)
{
    int n = e->keeps / 4;
    for (int i = 0; i < n; i++) {
        const Value *v = t->keep + e->keep + 4 * i;
        subs[i] = (Sub){ .kind = (SubKind)v[0].i };
        if (subs[i].kind == SUB_VALUE)
            subs[i].v = v[1];
        else
            subs[i].start = v[1];
        subs[i].stop = v[2];
        subs[i].step = v[3];
    }
    return n;
}

/* Adds w where an element was read, to a cotangent that may be there already. */
static void index_back(Interp *in, const Tape *t, const Entry *e, Value w, Value *slot)
{
    Sub subs[TENSOR_RANK_MAX + 2];
    int n = subs_kept(t, e, subs);
    const Entry *base = tape_at(t, t->operand[e->operand].node);
    if (base->pattern) {
        entries_index_back(in, t, base, subs, n, w, slot);
        return;
    }
    if (slot->tag == V_UNDEF)
        *slot = zeros_of(in, t, t->operand[e->operand].node);
    index_update(in, slot, subs, n, op_operator(in, TK_ADD), w, false);
}

static Tensor *numbered(Interp *in, int rank, const int64_t *shape)
{
    Tensor *numbers = tensor_new(&in->ctx, DT_I64, rank, shape);
    for (int64_t i = 0; i < numbers->size; i++)
        ((int64_t *)numbers->data)[i] = i;
    return numbers;
}

/* *g, of v in x[subs] = v: of positions of which some are the same the last one stayed. w: the
 * cotangent of x. */
static void stayed(Interp *in, const Tape *t, const Entry *e, Value w, const Sub *subs, int n,
                   Value *g)
{
    Value plain = v_measured(*g, LENGTH_ALL), x = v_measured(w, LENGTH_ALL);
    for (int i = 0; i < n; i++)
        if (subs[i].kind == SUB_VALUE)
            v_looked(subs[i].v);
    if (plain.tag != V_TENSOR || x.tag != V_TENSOR || !index_repeats(in, x.tensor, subs, n))
        return;
    Value *mark = in->sp;
    v_push(in, v_tensor_raw(numbered(in, plain.tensor->rank, tensor_shape(plain.tensor))));
    v_push(in, v_tensor_raw(tensor_zeros(&in->ctx, DT_I64, e->rank, t->shape + e->shape)));
    index_set(in, mark + 1, subs, n, *mark);
    v_push(in, index_get(in, mark[1], subs, n));
    v_push(in, call_row_of(in, "equal", (Value[]){ mark[0], mark[2] }, 2));
    Value r = call_row_of(in, "where", (Value[]){ mark[3], *g, v_int(0) }, 3), old = *g;
    *g = r;
    v_release(&in->ctx, old);
    stack_cut(in, mark);
}

/* The cotangents of x and v in x[subs] = v and x[subs] += v. */
static void store_back(Interp *in, const Tape *t, const Entry *e, Value *w, Value *out)
{
    Sub subs[TENSOR_RANK_MAX + 2];
    int n = subs_kept(t, e, subs);
    if (t->operand[e->operand + 1].node) {
        out[1] = index_get(in, *w, subs, n);
        if (e->kind == ENTRY_STORE)
            stayed(in, t, e, *w, subs, n, &out[1]);
        if (e->kind == ENTRY_ADD && e->op == op_operator(in, TK_SUB)) {
            Value old = out[1];
            out[1] = v_undef();
            out[1] = op_unary_take(in, op_named(in, "negative"), old, 0, 1);
        }
    }
    if (!t->operand[e->operand].node)
        return;
    out[0] = *w;
    *w = v_undef();
    if (e->kind == ENTRY_STORE)
        index_set(in, &out[0], subs, n, v_float(0));
}

/* ---- literals ---- */
/* Numbers that went into a literal on a device come home from it together. */
static void numbers_home(Interp *in, const Tape *t, const Entry *e, Value places, Value w)
{
    int numbers = 0;
    for (uint32_t i = 0; i < e->operands && numbers < 2; i++) {
        uint32_t node = t->operand[e->operand + i].node;
        numbers += node && tape_at(t, node)->rank == 0;
    }
    if (numbers < 2)
        return;
    value_home(in, places);
    value_home(in, w);
}

static void literal_back(Interp *in, const Tape *t, const Entry *e, Value w, Value *out)
{
    const Value *kept = t->keep + e->keep;
    int64_t from = 0;
    Value *mark = in->sp;
    v_push(in, call_row_of(in, "flatten", &w, 1));
    numbers_home(in, t, e, kept[0], *mark);
    for (int i = 0; i < (int)e->operands; i++) {
        int64_t size = kept[1 + i].i;
        if (t->operand[e->operand + i].node) {
            Sub part = { .kind = SUB_SLICE, .start = v_int(from), .stop = v_int(from + size),
                         .step = v_undef() };
            Sub one = { .kind = SUB_VALUE, .v = v_int(from) };
            const Entry *operand = tape_at(t, t->operand[e->operand + i].node);
            v_push(in, index_get(in, kept[0], operand->rank ? &part : &one, 1));
            Sub at = { .kind = SUB_VALUE, .v = in->sp[-1] };
            out[i] = index_get(in, *mark, &at, 1);
            stack_cut(in, in->sp - 1);
        }
        from += size;
    }
    stack_cut(in, mark);
}

/* ---- entries ---- */
static void entry_back(Interp *in, const Tape *t, const Entry *e, Value *w, Value *out)
{
    switch ((EntryKind)e->kind) {
    case ENTRY_LEAF:
    case ENTRY_STEP:
        break;
    case ENTRY_ROW:
        rule_back(in, t, e, w, out);
        break;
    case ENTRY_FIELD:
        out[0] = v_retain(*w);
        break;
    case ENTRY_INDEX:
        index_back(in, t, e, *w, &out[0]);
        break;
    case ENTRY_STORE:
    case ENTRY_ADD:
        store_back(in, t, e, w, out);
        break;
    case ENTRY_LITERAL:
        literal_back(in, t, e, *w, out);
        break;
    case ENTRY_CALL:
        e->back(in, t, e, w, out);
        break;
    }
}

/* Whether one of n numbers is inf or nan: their exponents are all ones, and one more carries into
 * the sign. */
static bool odd_singles(const uint32_t *x, int64_t n)
{
    uint32_t any = 0;
    for (int64_t i = 0; i < n; i++)
        any |= (x[i] & 0x7f800000u) + 0x00800000u;
    return any >> 31;
}

static bool odd_doubles(const uint64_t *x, int64_t n)
{
    uint64_t any = 0;
    for (int64_t i = 0; i < n; i++)
        any |= (x[i] & 0x7ff0000000000000u) + 0x0010000000000000u;
    return any >> 63;
}

/* The first of numbers [from, from + n) that is inf or nan; -1: there is none. */
static int64_t odd_number(const Tensor *t, bool wide, int64_t from, int64_t n)
{
    const char *x = t->data;
    if (wide ? !odd_doubles((const uint64_t *)(const void *)x + from, n)
             : !odd_singles((const uint32_t *)(const void *)x + from, n))
        return -1;
    while (isfinite(wide ? ((const double *)(const void *)x)[from]
                         : (double)((const float *)(const void *)x)[from]))
        from++;
    return from;
}

/* The first element that is inf or nan, as far as is looked (FINITE_LOOK, in blocks from one end to
 * the other); -1: there is none. */
static int64_t not_finite(Value v)
{
    enum { BLOCKS = 16, BLOCK = FINITE_LOOK / BLOCKS };
    v = v_plain(v);
    if (v.tag == V_FLOAT)
        return isfinite(v.f) ? -1 : 0;
    if (v.tag != V_TENSOR || v.tensor->buffer->device || !tensor_contiguous(v.tensor))
        return -1;
    const Tensor *t = v.tensor;
    bool wide = t->dtype == DT_F64 || t->dtype == DT_C128;
    if (!wide && t->dtype != DT_F32 && t->dtype != DT_C64)
        return -1;
    int64_t parts = dtype_info(t->dtype)->kind == 'c' ? 2 : 1, n = t->size * parts, at = -1;
    if (t->size <= FINITE_LOOK)
        at = odd_number(t, wide, 0, n);
    for (int64_t k = 0; t->size > FINITE_LOOK && k < BLOCKS && at < 0; k++)
        at = odd_number(t, wide, (n - BLOCK) / (BLOCKS - 1) * k, BLOCK);
    return at < 0 ? -1 : at / parts;
}

/* Where the gradient first became infinite, and what the operand was there. */
static void remember_bad(Interp *in, Tape *t, const Entry *e, int64_t at)
{
    t->bad = (uint32_t)(e - t->entry) + 1;
    Value v = e->keeps ? v_plain(t->keep[e->keep]) : v_none();
    if (v.tag == V_TENSOR && v.tensor->rank > 0) {
        bool fits = at < v.tensor->size && tensor_contiguous(v.tensor) && !v.tensor->buffer->device;
        DType dt = (DType)v.tensor->dtype;
        v = fits ? v_element(&in->ctx, dt, v.tensor->data + at * dtype_info(dt)->bytes) : v_none();
        t->bad_operand = v;
    } else {
        t->bad_operand = v_retain(v);
    }
}

/* A field's cotangent into the tuple of them: none where nothing came. */
static void field_add(Interp *in, const Tape *t, const Entry *e, Tuple *cotangents, Value w)
{
    uint32_t node = t->operand[e->operand].node;
    const Entry *whole = tape_at(t, node);
    Value *slot = &cotangents->items[node];
    if (slot->tag == V_UNDEF)
        *slot = v_retain(t->keep[whole->keep + whole->keeps - 1]);
    tuple_unshare(&in->ctx, &slot->tuple);
    Value *field = &slot->tuple->items[e->field];
    if (field->tag == V_NONE)
        *field = v_undef();
    sum_add(in, field, v_retain(w));
}

/* Into its scope, back over it, out again. */
static void back_over(Interp *in, Tape *t, const Entry *e, Tuple *cotangents, Value *w)
{
    Value *out = in->sp;
    stack_room(in, (size_t)e->operands + 16);
    for (int i = 0; i < (int)e->operands; i++)
        v_push(in, v_undef());
    bool finite = !t->bad && not_finite(*w) < 0;
    entry_back(in, t, e, w, out);
    for (int i = 0; i < (int)e->operands; i++) {
        Value g = out[i];
        int64_t at = finite && !t->bad && g.tag != V_UNDEF ? not_finite(g) : -1;
        if (at >= 0)
            remember_bad(in, t, e, at);
        uint32_t node = t->operand[e->operand + i].node;
        out[i] = v_undef();
        if (g.tag != V_UNDEF && node)
            cotangent_add(in, t, cotangents, node, g);
        else
            v_release(&in->ctx, g);
    }
    stack_cut(in, out);
}

/* ---- backward F ---- */
/* *v in a format, rounded in the mode of s, and then in another one. */
static void round_value(Interp *in, Scope *s, Value *v, DType format, DType to)
{
    Scope mode = scope_in(s, format);
    bool plain = s->round == ROUND_NEAREST && !s->saturate && !s->flush;
    in->scope = plain ? NULL : &mode;
    v_push(in, v_retain(*v));
    on_top(in, "cast", (Value[]){ in->sp[-1], v_format(format) }, 2);
    in->scope = NULL;
    on_top(in, "cast", (Value[]){ in->sp[-1], v_format(to) }, 2);
    s->draw = mode.draw;
    Value old = *v;
    *v = *--in->sp;
    v_release(&in->ctx, old);
}

static bool may_round(Value v)
{
    v = v_plain(v);
    return v_is_numeric(v) && autocast_casts(v_dtype(v));
}

/* An operand that was kept, or each of a tuple of them; one with names is what the row gave. */
static void round_kept(Interp *in, Scope *s, Value *v, DType to)
{
    if (v->tag == V_TUPLE && v->tuple->names)
        return;
    if (v->tag != V_TUPLE) {
        if (may_round(*v))
            round_value(in, s, v, s->autocast, to);
        return;
    }
    tuple_unshare(&in->ctx, &v->tuple);
    for (uint32_t i = 0; i < v->tuple->count; i++)
        round_kept(in, s, &v->tuple->items[i], to);
}

static bool is_product(const Entry *e)
{
    return e->kind == ENTRY_ROW ? e->op->autocast == AC_LOWER
                                : e->kind == ENTRY_CALL && e->back == notation_back;
}

/* What products of both formats of an autocast compute in: f32 where each has at most 8 bits. */
static DType product_dtype(const Scope *s)
{
    bool tiny = autocast_tiny(s->autocast) && autocast_tiny(s->backward);
    DType dt = dtype_promote(s->autocast, s->backward);
    return tiny || dt == DT_NONE ? DT_F32 : dt;
}

/* Products take the cotangent in the scope's format for it. Under autocast the other operands are
 * rounded to the scope's format, and the scope becomes that of what both are. */
static void round_product(Interp *in, Tape *t, const Entry *e, Scope *s, Value *w)
{
    if (s->backward == DT_NONE || !is_product(e) || !may_round(*w))
        return;
    bool casts = s->autocast != DT_NONE;
    DType to = casts ? product_dtype(s) : v_dtype(v_plain(*w));
    for (uint32_t i = e->keep; casts && i < e->keep + e->keeps; i++)
        round_kept(in, s, &t->keep[i], to);
    round_value(in, s, w, s->backward, to);
    if (casts) {
        s->autocast = to;
        s->backward = DT_NONE;
    }
    in->scope = s;
}

static void back_one(Interp *in, Tape *t, const Entry *e, Tuple *cotangents, Value *w)
{
    Scope scope, *around = in->scope;
    DeviceBlock block, *outside = in->place;
    int deferring = in->deferring;
    if (e->place) {
        /* where it ran; within the same block that goes on counting */
        bool inside = outside && outside->header == e->place->header &&
                      outside->device == e->place->device;
        block = *e->place;
        block.up = outside;
        in->place = inside ? outside : &block;
        in->deferring = inside ? deferring : 0;     /* the block does not wait */
    } else {
        in->place = NULL;
    }
    if (e->scope) {
        scope = *e->scope;
        if (scope.round == ROUND_STOCHASTIC)
            scope_seed(in, &scope);
        in->scope = NULL;
        scope_enter(in, &scope);
    } else {
        in->scope = NULL;
    }
    /* where the operation stood is where the caller's errors and notices point to */
    CallFrame frame = { .up = in->calls, .source = e->source };
    if (e->at) {
        in->calls = &frame;
        in->at = e->at;
    }
    in->rules++;
    if (e->scope)
        round_product(in, t, e, &scope, w);
    if (e->kind == ENTRY_INDEX)
        index_back(in, t, e, *w, &cotangents->items[t->operand[e->operand].node]);
    else if (e->kind == ENTRY_FIELD)
        field_add(in, t, e, cotangents, *w);
    else
        back_over(in, t, e, cotangents, w);
    if (e->scope && around && scope_same(around, e->scope)) {
        arith_flags_add(&around->flags, &scope.flags);      /* flags() and compare see them */
        around->partly |= scope.partly;
    }
    if (e->scope || e->place)
        deferred_barrier(in, v_none());     /* what waits stands in the copies here */
    in->rules--;
    in->calls = frame.up;
    in->deferring = deferring;
    in->place = outside;
    in->scope = around;
}

void tape_back(Interp *in, Tape *t, Tuple *cotangents, bool keep)
{
    const Exec *at = in->at;
    for (uint32_t node = t->entries; node > 0; node--) {
        Entry *e = tape_at(t, node);
        if (e->kind != ENTRY_LEAF && cotangents->items[node].tag != V_UNDEF) {
            poll_interrupt(in);
            v_push(in, cotangents->items[node]);
            cotangents->items[node] = v_undef();
            back_one(in, t, e, cotangents, in->sp - 1);
            stack_cut(in, in->sp - 1);
        }
        if (!keep)
            tape_forget(in, t, e);
    }
    in->at = at;
}

/* ---- forward ---- */
/* A cotangent of an entry's result r as something that the rule is linear in; owned.
 * Ones: rules ask whether it is 0. */
static Value trace_ones(Interp *in, Tape *t, Value r)
{
    Value plain = v_plain(r);
    if (r.tag == V_TUPLE) {
        Tuple *all = tuple_new(&in->ctx, r.tuple->count);
        v_push(in, v_tuple(all));
        for (uint32_t i = 0; i < r.tuple->count; i++) {
            all->items[i] = trace_ones(in, t, r.tuple->items[i]);
            if (r.tuple->names && r.tuple->names[i])
                tuple_name(&in->ctx, all, i, r.tuple->names[i]);
        }
        in->sp--;
        return v_tuple(all);
    }
    if (!v_is_numeric(plain) || !differentiable(v_dtype(plain)))
        return v_none();
    v_measured(r, LENGTH_ALL);
    Value ones = v_sparse(plain) ? entries_ones(in, plain)
                                 : call_row_of(in, "like", (Value[]){ plain, v_int(1) }, 2);
    v_push(in, ones);
    uint32_t leaf = tape_entry(in, t, ENTRY_LEAF, ones);
    in->sp--;
    return v_traced(traced_new(in, t, ones, leaf));
}

/* What came to the leaves of trace_ones; owned. */
static Value ones_reached(Interp *in, const Tape *t, const Tuple *cotangents, Value r,
                           uint32_t *leaf)
{
    Value plain = v_plain(r);
    if (r.tag == V_TUPLE) {
        Tuple *all = tuple_new(&in->ctx, r.tuple->count);
        v_push(in, v_tuple(all));
        for (uint32_t i = 0; i < r.tuple->count; i++)
            all->items[i] = ones_reached(in, t, cotangents, r.tuple->items[i], leaf);
        in->sp--;
        return v_tuple(all);
    }
    if (!v_is_numeric(plain) || !differentiable(v_dtype(plain)))
        return v_none();
    return cotangent_of(in, t, cotangents, ++*leaf);
}

/* A rule is linear in the cotangent; gone over backward itself, it takes tangents of the operands
 * to that of the result. */
static Value transposed(Interp *in, const Tape *t, uint32_t node, Value result,
                        const Value *tangents)
{
    Value *mark = in->sp;
    Entry *e = tape_at(t, node);
    Tape *linear = tape_new(in, TAPE_REVERSE);
    v_push(in, v_tape(linear));
    tape_begin(in, linear);
    v_push(in, trace_ones(in, linear, result));
    Value *w = in->sp - 1, *out = in->sp;
    stack_room(in, (size_t)e->operands + 16);
    for (int i = 0; i < (int)e->operands; i++)
        v_push(in, v_undef());
    entry_back(in, t, e, w, out);
    tape_end(in, linear);
    Tuple *cotangents = cotangents_new(in, linear);
    for (int i = 0; i < (int)e->operands; i++)
        if (out[i].tag == V_TRACED && traced_of(out[i])->tape == linear &&
            tangents[i].tag != V_UNDEF && traced_of(out[i])->node)
            cotangent_add(in, linear, cotangents, traced_of(out[i])->node, v_retain(tangents[i]));
    tape_back(in, linear, cotangents, false);
    uint32_t leaf = 0;
    Value r = ones_reached(in, linear, cotangents, result, &leaf);
    stack_cut(in, mark);
    return r;
}

Value entry_forward(Interp *in, Tape *t, uint32_t node, Value result, const Value *tangents)
{
    Entry *e = tape_at(t, node);
    if (e->kind == ENTRY_ROW && rule_of(in, e->op)->kind == RULE_SLOPES) {
        Value r = rule_forward(in, t, e, tangents);
        return r.tag == V_UNDEF ? zeros_of(in, t, node) : conform(in, t, node, r);
    }
    /* constants among the operands have no node; the others are asked for */
    for (int i = 0; i < (int)e->operands; i++)
        t->operand[e->operand + i].node = tangents[i].tag != V_UNDEF ? node : 0;
    return transposed(in, t, node, result, tangents);
}
