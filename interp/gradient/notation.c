/* Index notation differentiates into index notation: notation/indexnot_adjoint.h writes the
 * function that gives the gradients of a notation's operands, which is parsed, lowered and planned
 * as any program, and kept with the site. */
#include "interp/gradient/gradient.h"
#include "interp/notation/indexnot_adjoint.h"
#include "interp/op/slopes.h"
#include "interp/precision/autocast.h"
#include "interp/sparse/sparse_door.h"
#include "interp/state/frames.h"

#include "core/base/error.h"
#include "core/base/mem.h"

#include <string.h>

/* ---- the functions of a site ---- */
/* What a text depends on: kinds, dtypes and ranks of the leaves, which are sparse, with `sized`
 * their lengths. */
static void key_put(Buf *key, Value v, bool sized)
{
    v = v_plain(v);
    int64_t head[4] = { v.tag, v_dtype(v), v.tag == V_TENSOR ? v.tensor->rank : -1,
                        v_sparse(v) != NULL };
    buf_put(key, (const char *)head, sizeof head);
    if (v.tag == V_TENSOR && sized)
        buf_put(key, (const char *)tensor_shape(v.tensor), v.tensor->rank * sizeof(int64_t));
    else if (v.tag == V_FUNCTION)
        buf_put(key, (const char *)&v.fn->code, sizeof v.fn->code);
    else if (v.tag == V_OP)
        buf_put(key, (const char *)&v.op, sizeof v.op);
    else if (sized && v.tag == V_INT)
        buf_put(key, (const char *)&v.i, sizeof v.i);
    else if (sized && v.tag == V_RANGE)
        buf_put(key, (const char *)&v.range->start, 4 * sizeof(int64_t));
}

static void key_make(Buf *key, const Value *base, int leaves, uint64_t wanted, bool sized)
{
    buf_clear(key);
    buf_put(key, (const char *)&wanted, sizeof wanted);
    for (int i = 0; i < leaves; i++)
        key_put(key, base[i], sized);
}

static const IxKept *find(Interp *in, const IxSite *site, const Value *base, int leaves,
                          uint64_t wanted)
{
    const IxKept *found = NULL;
    for (int sized = 0; sized < 2; sized++) {
        key_make(&in->scratch, base, leaves, wanted, sized);
        for (int i = 0; i < IX_ADJOINTS; i++) {
            const IxKept *k = &site->adjoint[i];
            if (k->function.tag != V_UNDEF && k->sized == sized && k->bytes == in->scratch.len &&
                memcmp(k->key, in->scratch.data, k->bytes) == 0)
                found = k;
        }
    }
    return found;
}

static void keep(Interp *in, IxSite *site, const Value *base, uint64_t wanted, const IxAdjoint *a,
                 Value f)
{
    key_make(&in->scratch, base, a->leaves, wanted, a->sized);
    void *key = mem_alloc(&in->ctx, in->scratch.len);
    IxKept *last = &site->adjoint[IX_ADJOINTS - 1];
    memcpy(key, in->scratch.data, in->scratch.len);
    v_release(&in->ctx, last->function);
    if (last->key)
        mem_free(&in->ctx, last->key, last->bytes);
    memmove(site->adjoint + 1, site->adjoint, (IX_ADJOINTS - 1) * sizeof *last);
    site->adjoint[0] = (IxKept){ .function = v_retain(f), .key = key, .bytes = in->scratch.len,
                                 .sized = a->sized, .cut = a->flat ? a->cut : NULL,
                                 .cut_at = a->cut_at, .gives = a->gives };
}

static _Noreturn void raise_lack(Interp *in, const Exec *x, const IxAdjoint *a)
{
    char label[64];
    const Exec *at = a->at ? a->at : x;
    const char *constant = "made before the notation, detach(…) of it is a constant";
    const char *whole = "of a whole tensor, outside of index notation, it has one";
    if (!a->op)
        grad_raise(in, at, "detach(…) around it makes it a constant",
                   "this index notation has no derivative: %s", a->lack);
    op_label(a->op, label, sizeof label);
    if (op_steps(a->op))
        grad_raise(in, at, constant, "%s is a step function, which has no useful derivative",
                   label);
    grad_raise(in, at, op_has_slopes(a->op) ? whole : constant,
               "%s has no derivative in index notation", label);
}

/* What is kept for leaves at `base`, those of the functions that are inlined too, which lie on top
 * of the value stack. Where there is no derivative an error, unless there `may` be none: NULL. */
static const IxKept *make(Interp *in, const Exec *x, IxSite *site, Value *base, uint64_t wanted,
                          bool may)
{
    IxAdjoint a;
    ErrFrame frame;
    bool again = source_is_stdlib(site->tree.source);
    bool made = ix_adjoint_text(in, x, site, base, wanted, again, &a);
    if (!ERR_TRY(&in->ctx, &frame)) {
        buf_free(&a.text);
        err_rethrow(&in->ctx);
    }
    if (!made && !may)
        raise_lack(in, x, &a);
    const IxKept *kept = made ? find(in, site, base, a.leaves, wanted) : NULL;
    if (made && !kept) {
        v_push(in, library_text(in, buf_cstr(&a.text)));
        keep(in, site, base, wanted, &a, in->sp[-1]);
        stack_cut(in, in->sp - 1);
        kept = &site->adjoint[0];
    }
    ERR_END(&in->ctx, &frame);
    buf_free(&a.text);
    return kept;
}

/* ---- the entry ---- */
/* The function of the gradients comes onto the value stack; may: as make has it. */
static IxKept push_adjoint(Interp *in, const Exec *x, IxSite *site, const Value *below, int leaves,
                           uint64_t wanted, bool may)
{
    Value *mark = in->sp;
    for (int i = 0; i < leaves; i++)
        v_push(in, v_retain(v_plain(below[i])));
    const IxKept *found = find(in, site, mark, leaves, wanted);
    if (!found)
        found = make(in, x, site, mark, wanted, may);
    IxKept kept = found ? *found : (IxKept){ .function = v_none() };
    v_retain(kept.function);
    stack_cut(in, mark);
    v_push(in, kept.function);
    return kept;
}

static uint64_t leaf_bit(int i) { return (uint64_t)1 << (i < 63 ? i : 63); }

/* What a step function gave, among the leaves that have a gradient. */
static const Traced *stepped(const Tape *t, const Value *base, int n, uint64_t gives)
{
    for (int i = 0; i < n; i++)
        if (base[i].tag == V_TRACED && traced_of(base[i])->tape == t && traced_of(base[i])->step &&
            (gives & leaf_bit(i)))
            return traced_of(base[i]);
    return NULL;
}

static uint64_t wanted_leaves(const Tape *t, const Value *base, int n, const Traced **cut)
{
    uint64_t wanted = 0;
    for (int i = 0; i < n; i++) {
        if (base[i].tag != V_TRACED || traced_of(base[i])->tape != t)
            continue;
        const Traced *v = traced_of(base[i]);
        if (v->node || v->tangent.tag != V_UNDEF || v->step)
            wanted |= leaf_bit(i);
        else if (v->cut && !*cut)
            *cut = v;
    }
    return wanted;
}

/* Leaves of the functions that are inlined: what they are on t, onto the value stack; their number
 * with the notation's own. */
static int push_inlined(Interp *in, const Tuple *inlined, int own, const Tape *t)
{
    int leaves = own;
    for (uint32_t i = 0; i < inlined->count; i++, leaves++)
        v_push(in, value_on(in, inlined->items[i], t));
    return leaves;
}

/* Sums of products that were of 8 bits have none, whoever of their factors is asked for. */
static void raise_eight(Interp *in, const IxSite *site)
{
    bool eight = autocast_format(in) == DT_I8 && !in->rules;
    const IxNode *sum = eight ? ix_eight_sum(in, site->tree.root) : NULL;
    if (sum)
        grad_raise(in, sum->arg[0]->at ? sum->arg[0]->at : sum->at, GRAD_EIGHT_HELP,
                   "a sum of products has no derivative in autocast i8, which rounds its factors "
                   "to 8 bits");
}

/* The value r as of an entry of t. below: the notation's own leaves as the level below has them. */
static Value recorded(Interp *in, const Exec *x, IxSite *site, Tape *t, const Value *base,
                      const Value *below, const Tuple *inlined, Value r)
{
    int own = site->tree.leaves;
    const Traced *cut = NULL;
    Value *view = in->sp, *seen;
    stack_room(in, 4 * IX_LEAVES + 128);
    for (int i = 0; i < own; i++)
        v_push(in, v_retain(base[i]));
    int leaves = push_inlined(in, inlined, own, t);
    uint64_t wanted = wanted_leaves(t, view, leaves, &cut);
    seen = in->sp;
    for (int i = 0; i < leaves; i++)
        v_push(in, i < own ? v_retain(below[i]) : value_below(in, view[i], t));
    bool number = v_is_numeric(v_plain(r)), floats = has_derivative(r);
    if (wanted && number) {
        raise_eight(in, site);
        IxKept kept = push_adjoint(in, x, site, seen, leaves, wanted, !floats);
        const Traced *step = stepped(t, view, leaves, kept.gives);
        if (step && (!floats || t->mode == TAPE_FORWARD))
            return step_value(in, t, r, step->cut, step->cut_at);
        if (kept.cut || !floats)
            return cut_value(in, t, r, kept.cut ? kept.cut : op_named(in, "cast"),
                             kept.cut ? kept.cut_at : x);
        Value *tangents = in->sp;
        uint32_t node = tape_entry(in, t, ENTRY_CALL, r);
        tape_at(t, node)->back = notation_back;
        list_operands(in, t, view, leaves);
        /* kept: what is computed with, as what is called is in the function; the result; it */
        for (int i = 0; i < leaves; i++)
            tape_keep(t, seen[i].tag == V_FUNCTION ? v_none() : seen[i]);
        tape_keep(t, r);
        tape_keep(t, kept.function);
        return entry_value(in, t, node, r, tangents);
    }
    if (cut && number)
        return cut_value(in, t, r, cut->cut, cut->cut_at);
    return v_retain(r);
}

/* The same on a recorder's. */
static Value kept(Interp *in, const Exec *x, IxSite *site, Tape *t, const Value *base,
                  const Tuple *inlined, Value r)
{
    int own = site->tree.leaves;
    Value *view = in->sp;
    stack_room(in, 2 * IX_LEAVES + 128);
    for (int i = 0; i < own; i++)
        v_push(in, v_retain(base[i]));
    int leaves = push_inlined(in, inlined, own, t);
    Value out = t->recorder->notation(in, x, site, t, view, leaves, r);
    stack_cut(in, view);
    return out;
}

/* On the highest tape below `under`, and then on those below it. */
static Value record_on(Interp *in, const Exec *x, IxSite *site, Value *base, const Tape *under,
                       Tuple *inlined)
{
    int own = site->tree.leaves;
    Tape *t = NULL;
    Value *below = in->sp, r;
    bool again = false;
    stack_check(in);
    stack_room(in, 2 * IX_LEAVES + 128);
    for (int i = 0; i < own; i++)
        t = tape_inside(base[i], under, t);
    if (!t && !under)
        t = tape_hearing(in, NULL);
    for (int i = 0; i < own; i++) {
        v_push(in, value_below(in, base[i], t));
        again |= t && tape_inside(in->sp[-1], t, NULL);
    }
    uint8_t failing = t ? t->failing : 0;
    if (t)
        t->failing = FAILING_OPERATION;
    int deaf = tape_below_begin(in, t);
    if (again) {
        r = record_on(in, x, site, below, t, inlined);
    } else {
        Tuple *around = in->inlined;
        ix_round_leaves(in, &site->tree, below);
        in->inlined = inlined;
        r = ix_value(in, x, site, below);
        in->inlined = around;
    }
    tape_below_end(in, deaf);
    if (t)
        t->failing = failing;
    in->at = x;
    v_push(in, r);
    Value out = t && t->recorder ? kept(in, x, site, t, base, inlined, r)
              : t ? recorded(in, x, site, t, base, below, inlined, r) : v_retain(r);
    stack_cut(in, below);
    return out;
}

Value record_notation(Interp *in, const Exec *x, void *site, Value *base)
{
    v_push(in, v_tuple(tuple_new(&in->ctx, 0)));
    Value r = record_on(in, x, site, base, NULL, in->sp[-1].tuple);
    stack_cut(in, in->sp - 1);
    return r;
}

void notation_back(Interp *in, const Tape *t, const Entry *e, Value *w, Value *out)
{
    const Value *kept = t->keep + e->keep;
    int leaves = e->keeps - 2;
    Value *mark = in->sp;
    stack_room(in, (size_t)leaves + 16);
    for (int i = 0; i <= leaves; i++)
        v_push(in, v_retain(kept[i]));
    v_push(in, v_retain(*w));
    Value all = call_rule(in, kept[leaves + 1], mark, leaves + 2);
    v_push(in, all);
    for (int i = 0; i < (int)e->operands && all.tag == V_TUPLE; i++)
        if (t->operand[e->operand + i].node && all.tuple->items[i].tag != V_NONE)
            out[i] = v_retain(all.tuple->items[i]);
    stack_cut(in, mark);
}
