/* What `explain` tells of index notation: the indices with their ranges and which of them are
 * summed, the sum written out for the first element, and the steps of the plan. Runs the plan in
 * between, so that the time is its own. */
#include "interp/notation/indexnot.h"

#include "core/base/buf.h"
#include "core/base/error.h"
#include "interp/op/heard.h"

#include <stdio.h>
#include <string.h>

enum { TERMS_SHOWN = 2, TERMS_ALL = 3, TEXT_MOST = 180 };
enum { LOOSE, LOGIC, COMPARED, SUM, PRODUCT, PREFIX, POWER, ATOM };

typedef struct Written {
    Buf out;
    Interp *in;
    const IxSite *site;
    const IxPlan *plan;
    const Value *base;
    int64_t value[NEST_INDICES];    /* of the indices, as numbers */
} Written;

/* ---- indices ---- */

static void put_index(Buf *out, const NestIndex *x)
{
    int64_t last = x->start + (x->extent - 1) * x->step;
    if (x->extent == 0)
        buf_printf(out, "no %s", x->name);
    else if (x->extent == 1)
        buf_printf(out, "%s = %lld", x->name, (long long)x->start);
    else
        buf_printf(out, "%s = %lld%s%lld", x->name, (long long)x->start,
                   x->step == 1 ? "…" : x->extent == 2 ? ", " : ", …, ", (long long)last);
}

/* Bound by an operation of this kind, told once: `summed over d = 0…31, m = 0…199`. */
static void put_bound_by(Buf *out, const Nest *n, int op)
{
    uint64_t bound = 0;
    bool told = false;
    for (int i = 0; i < n->nodes; i++)
        if (n->node[i].kind == NEST_REDUCE && n->node[i].op == op)
            bound |= n->node[i].bound;
    for (uint64_t s = bound; s; s &= s - 1) {
        const NestIndex *x = &n->index[__builtin_ctzll(s)];
        bool again = false;
        for (uint64_t r = bound & ~s; r; r &= r - 1) {
            const NestIndex *y = &n->index[__builtin_ctzll(r)];
            again |= strcmp(x->name, y->name) == 0 && x->extent == y->extent &&
                     x->start == y->start && x->step == y->step;
        }
        if (again)
            continue;
        if (told)
            buf_puts(out, ", ");
        else
            buf_printf(out, "%s%s over ", out->len ? "; " : "", nest_reductions[op].told);
        put_index(out, x);
        told = true;
    }
}

static void note_indices(Written *w)
{
    const Nest *n = w->plan->nest;
    for (int i = 0; i < n->out_rank; i++) {
        buf_puts(&w->out, i ? ", " : "");
        put_index(&w->out, &n->index[i]);
    }
    for (int op = NEST_SUM; op <= NEST_ARGMAX; op++)
        put_bound_by(&w->out, n, op);
    if (w->out.len)
        explain_note(w->in, "indices", "%s", buf_cstr(&w->out));
    w->out.len = 0;
}

/* ---- the sum written out ---- */

static void put(Written *w, const IxNode *x, int level);

static void put_source(Written *w, const IxNode *x)
{
    print_node(&w->out, x->at->node);
}

/* The value of a subscript, where it is made of ints and indices. */
static bool int_value(const Written *w, const IxNode *x, int64_t *v)
{
    int64_t a = 0, b = 0;
    if (x->kind == IX_NUMBER) {
        *v = w->value[x->index];
        return true;
    }
    if (x->kind == IX_LEAF) {
        *v = w->base[x->leaf].i;
        return w->base[x->leaf].tag == V_INT;
    }
    if (x->kind != IX_EW || x->args < 1 || !int_value(w, x->arg[0], &a) ||
        (x->args > 1 && !int_value(w, x->arg[1], &b)) || x->args > 2)
        return false;
    switch (x->op->ew) {
    case EW_ADD: return !__builtin_add_overflow(a, b, v);
    case EW_SUBTRACT: return !__builtin_sub_overflow(a, b, v);
    case EW_MULTIPLY: return !__builtin_mul_overflow(a, b, v);
    case EW_NEGATIVE: return !__builtin_sub_overflow(0, a, v);
    default: return false;
    }
}

static void put_element(Written *w, const IxNode *x)
{
    static const char *const wraps[] = { "", "clamp(", "mod(", "pad(" };
    put(w, x->base, ATOM);
    buf_putc(&w->out, '[');
    for (int k = 0; k < x->subs; k++) {
        int64_t at;
        buf_printf(&w->out, "%s%s", k ? "," : "", wraps[x->sub[k].wrap]);
        if (int_value(w, x->sub[k].at, &at))
            buf_printf(&w->out, "%lld", (long long)at);
        else
            put(w, x->sub[k].at, LOOSE);
        buf_puts(&w->out, x->sub[k].wrap ? ")" : "");
    }
    buf_putc(&w->out, ']');
}

static int level_of(const IxNode *x)
{
    if (x->kind == IX_LOGIC)
        return LOGIC;
    switch (x->op->ew) {
    case EW_ADD: case EW_SUBTRACT: return SUM;
    case EW_MULTIPLY: case EW_DIVIDE: case EW_FLOOR_DIVIDE: case EW_MOD: return PRODUCT;
    case EW_POWER: return POWER;
    case EW_NEGATIVE: case EW_POSITIVE: case EW_INVERT: return PREFIX;
    case EW_BITAND: case EW_BITOR: return LOGIC;
    default: return COMPARED;
    }
}

static void put_list(Written *w, const char *name, IxNode *const *arg, int n)
{
    buf_printf(&w->out, "%s(", name);
    for (int k = 0; k < n; k++) {
        buf_puts(&w->out, k ? ", " : "");
        put(w, arg[k], LOOSE);
    }
    buf_putc(&w->out, ')');
}

static void put_operation(Written *w, const IxNode *x, int level)
{
    const char *sign = x->op->infix;
    int mine = level_of(x);
    if (!sign || x->args > 2 || (x->args == 1 && mine != PREFIX)) {
        put_list(w, x->op->name, x->arg, x->args);
        return;
    }
    buf_puts(&w->out, mine < level ? "(" : "");
    if (x->args == 1) {
        buf_puts(&w->out, sign);
        put(w, x->arg[0], PREFIX);
    } else {
        bool tight = mine == PRODUCT || mine == POWER;
        put(w, x->arg[0], mine == POWER ? ATOM : mine);
        buf_printf(&w->out, tight ? "%s" : " %s ", sign);
        put(w, x->arg[1], mine == POWER ? PREFIX : mine + 1);
    }
    buf_puts(&w->out, mine < level ? ")" : "");
}

/* Moves the indices of the mask to their next values, the last one fastest. */
static bool step_on(Written *w, uint64_t over)
{
    const NestIndex *index = w->plan->nest->index;
    for (; over; over &= ~(UINT64_C(1) << (63 - __builtin_clzll(over)))) {
        int i = 63 - __builtin_clzll(over);
        w->value[i] += index[i].step;
        if (w->value[i] != index[i].start + index[i].extent * index[i].step)
            return true;
        w->value[i] = index[i].start;
    }
    return false;
}

static double terms_of(const Written *w, uint64_t over)
{
    double terms = 1;
    for (; over; over &= over - 1)
        terms *= (double)w->plan->nest->index[__builtin_ctzll(over)].extent;
    return terms;
}

static void put_reduction(Written *w, const IxNode *x, int level)
{
    double terms = terms_of(w, x->over);
    bool sum = x->reduce == IXR_SUM, product = x->reduce == IXR_PROD, call = !sum && !product;
    int mine = sum ? SUM : PRODUCT;
    bool parens = call || (mine < level && terms > 1) || (mine <= level && product);
    for (uint64_t s = x->over; s; s &= s - 1) {
        int i = __builtin_ctzll(s);
        w->value[i] = w->plan->nest->index[i].start;
    }
    if (terms == 0) {
        buf_puts(&w->out, sum ? "0" : product ? "1" : ix_reduce_word((IxReduce)x->reduce));
        buf_puts(&w->out, call ? "()" : "");
        return;
    }
    buf_printf(&w->out, "%s%s", call ? ix_reduce_word((IxReduce)x->reduce) : "", parens ? "(" : "");
    for (int k = 0; k == 0 || step_on(w, x->over); k++) {
        buf_puts(&w->out, k == 0 ? "" : sum ? " + " : product ? "*" : ", ");
        if (k == TERMS_SHOWN && terms > TERMS_ALL) {
            buf_puts(&w->out, "…");
            break;
        }
        put(w, x->arg[0], call ? LOOSE : mine + (k > 0));
    }
    buf_puts(&w->out, parens ? ")" : "");
}

static void put(Written *w, const IxNode *x, int level)
{
    if (w->out.len > TEXT_MOST)
        return;
    switch (x->kind) {
    case IX_NUMBER: buf_printf(&w->out, "%lld", (long long)w->value[x->index]); break;
    case IX_ELEMENT: put_element(w, x); break;
    case IX_EW: case IX_LOGIC: put_operation(w, x, level); break;
    case IX_REDUCE: put_reduction(w, x, level); break;
    case IX_CALL: {
        Buf name;
        buf_init(&name, &w->in->ctx);
        print_node(&name, w->site->tree.leaf[x->leaf].exec->node);
        put_list(w, buf_cstr(&name), x->arg, x->args);
        buf_free(&name);
        break;
    }
    default: put_source(w, x); break;
    }
}

/* Cut at a whole character. */
static void cut(Buf *out)
{
    if (out->len <= TEXT_MOST)
        return;
    out->len = TEXT_MOST;
    while (out->len && ((unsigned char)out->data[out->len] & 0xc0) == 0x80)
        out->len--;
    buf_puts(out, "…");
}

static void note_first(Written *w)
{
    const Nest *n = w->plan->nest;
    const IxNode *root = w->site->tree.root;
    bool some = n->out_rank > 0;
    for (int i = 0; i < n->indices; i++) {
        w->value[i] = n->index[i].start;
        if (i < n->out_rank && n->index[i].extent == 0)
            return;
    }
    buf_puts(&w->out, w->site->result ? w->site->result->text : some ? "result" : "");
    for (int i = 0; i < n->out_rank; i++)
        buf_puts(&w->out, i ? ",0" : "[0");
    buf_printf(&w->out, "%s%s", some ? "]" : "", w->out.len ? " = " : "");
    put(w, root, LOOSE);
    cut(&w->out);
    if (root->kind == IX_REDUCE && terms_of(w, root->over) > TERMS_ALL)
        buf_printf(&w->out, " (%.0f terms)", terms_of(w, root->over));
    explain_note(w->in, some ? "first" : "value", "%s", buf_cstr(&w->out));
    w->out.len = 0;
}

static void note_all(Interp *in, const IxSite *site, const IxPlan *p, const Value *base)
{
    Written w = { .in = in, .site = site, .plan = p, .base = base };
    ErrFrame frame;
    buf_init(&w.out, &in->ctx);
    if (ERR_TRY(&in->ctx, &frame)) {
        note_indices(&w);
        note_first(&w);
        ERR_END(&in->ctx, &frame);
        buf_free(&w.out);
        return;
    }
    buf_free(&w.out);
    err_rethrow(&in->ctx);
}

static void note_steps(Interp *in, const IxPlan *p, const Value *base)
{
    HeardPlan *kept = (HeardPlan *)&p->heard;       /* no part of what the plan computes */
    if (heard_plan(in, kept))
        return;
    enum { SLOTS_SHOWN = 64 };
    const void *data[SLOTS_SHOWN] = { NULL };
    bool few = p->slots <= SLOTS_SHOWN;
    for (int i = 0; few && i < p->slots; i++)
        if (p->slot[i].kind != IXV_AUX)
            data[i] = ix_slot_data(p, &p->slot[i], base, NULL);
    Report *r = mem_zalloc(&in->ctx, sizeof *r);
    ErrFrame frame;
    if (ERR_TRY(&in->ctx, &frame)) {
        nest_report(p->run, few ? data : NULL, r);
        explain_steps(in, r);
        heard_plan_keep(in, kept);
        ERR_END(&in->ctx, &frame);
        mem_free(&in->ctx, r, sizeof *r);
        return;
    }
    mem_free(&in->ctx, r, sizeof *r);
    err_rethrow(&in->ctx);
}

void ix_tell(Interp *in, const Exec *x, const IxPlan *p, const Value *base, Value result)
{
    v_push(in, result);
    explain_pause(in);
    if (explain_on(in))
        note_all(in, x->data, p, base);
    explain_resume(in);
    note_steps(in, p, base);
    in->sp--;
}
