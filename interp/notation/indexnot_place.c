/* Index notation as work of the door (interp/op/aspect.h), and in device blocks: leaves are
 * evaluated where the block says, the plan is made from their shapes and dtypes, and the notation
 * runs as one piece of work of the block's device. A simulation runs the plan on shadows of the
 * leaves; devices of generated source run its nest, with what is prepared for it (tables of
 * positions, extended copies) made on the host. */
#include "interp/notation/indexnot.h"

#include "core/base/error.h"
#include "interp/device/place_nest.h"

#include <stdio.h>

enum { SLOTS = 64 };               /* operands of a kernel */

typedef struct Notation {
    const Exec *x;
    IxSite *site;
    int leaves;
    const Value *base;              /* the leaves, as they were evaluated */
    DType product;                  /* what the device rounds f32 factors to, or DT_NONE */
} Notation;

/* Leaves wait on the stack, as evaluation leaves them. */
static Value run_here(Interp *in, const Value *args, void *data)
{
    const Notation *n = data;
    Value *base = in->sp;
    stack_room(in, IX_LEAVES + 64);
    for (int i = 0; i < n->leaves; i++)
        v_push(in, v_retain(args[i]));
    /* at home: none */
    Value r = ix_run(in, n->x, n->site, base, args == n->base ? DT_NONE : n->product);
    stack_drop(in, base);
    return r;
}

/* What decides where it runs: a dtype on the way that the device has not, else that of the result.
 * Numbers of the program, and what is made of them alone, are nobody's elements. */
static DType computed(const IxPlan *p, const Device *d)
{
    for (int i = 0; p->nest && i < p->nest->nodes; i++) {
        const NestNode *x = &p->nest->node[i];
        if (x->free != 0 && !device_holds(d, (DType)x->dtype))
            return (DType)x->dtype;
        if (x->free != 0 && x->kind == NEST_EW && !device_holds(d, (DType)x->compute))
            return (DType)x->compute;
    }
    return p->rank > 0 ? p->dtype : DT_NONE;
}

/* ---- devices of generated source ---- */
static void slot_home(Interp *in, const IxSlot *s, const Value *base)
{
    if (s->kind == IXV_LEAF)
        place_home(in, base[s->from]);
}

/* What tables and extended copies are made of comes home: they are made on the host. */
static void sources_home(Interp *in, const IxPlan *p, const Value *base)
{
    for (int i = 0; i < p->auxes; i++) {
        const IxPlan *table = p->aux[i].kind == IXA_TABLE ? p->aux[i].table : NULL;
        if (!table) {
            slot_home(in, &p->aux[i].source, base);
            continue;
        }
        sources_home(in, table, base);
        for (int k = 0; k < table->slots; k++)
            slot_home(in, &table->slot[k], base);
    }
}

static DevArg slot_arg(Interp *in, Device *d, const IxPlan *p, const IxSlot *s, const Value *base,
                       const Value *aux)
{
    Value v = s->kind == IXV_LEAF ? base[s->from] : s->kind == IXV_AUX ? aux[s->from] : v_int(0);
    if (v.tag == V_TENSOR && v.tensor->rank > 0) {
        DevArg a = place_operand(in, d, v.tensor);
        a.at += (size_t)s->offset;
        return a;
    }
    return (DevArg){ .value = ix_slot_data(p, s, base, aux),
                     .bytes = dtype_info(v_dtype(v))->bytes };
}

/* Are elements found by tables of positions? */
static bool picks(const Nest *n)
{
    for (int k = 0; k < n->loads; k++)
        if (n->load[k].gathers)
            return true;
    return false;
}

static bool takes(Interp *in, Device *d, const IxPlan *p)
{
    DType dt = computed(p, d);
    if (dt != DT_NONE && !device_holds(d, dt))
        place_refuse(in, (Lack){ LACK_DTYPE, .dtype = dt });
    else if (p->slots > SLOTS)
        place_refuse(in, (Lack){ LACK_SLOTS });
    else if ((d->caps & DEVCAP_GRID) && picks(p->nest))
        place_refuse(in, (Lack){ LACK_PICKS });
    else
        return gpu_takes(d, p->nest, &in->lack);
    return false;
}

/* Trouble is told by the host, which does it again. */
static Value run_nest(Interp *in, const Exec *x, Device *d, const IxPlan *p, const Value *base)
{
    DevArg data[SLOTS];
    Tensor *used[SLOTS] = { NULL };
    Value *aux = in->sp;
    sources_home(in, p, base);
    ix_prepare(in, x, p, base, aux);
    Tensor *out = place_new(in, d, p->dtype, p->rank, p->shape);
    for (int i = 0; i < p->slots && out->size; i++) {
        const IxSlot *s = &p->slot[i];
        data[i] = slot_arg(in, d, p, s, base, aux);
        used[i] = data[i].mem ? (s->kind == IXV_LEAF ? base : aux)[s->from].tensor : NULL;
    }
    if (out->size) {
        place_hold(in, d, used, p->slots);
        DevArg to = place_operand(in, d, out);
        if (gpu_nest(&in->ctx, d, p->nest, NULL, &to, data) != EWT_NONE)
            return place_refuse(in, (Lack){ LACK_NOTICE });
    }
    poll_interrupt(in);
    return place_value(in, out);
}

static Value run_kernel(Interp *in, Device *d, const Value *args, void *data)
{
    const Notation *n = data;
    Value *base = in->sp, r;
    stack_room(in, IX_LEAVES + 64);
    for (int i = 0; i < n->leaves; i++)
        v_push(in, v_retain(args[i]));
    const IxPlan *p = ix_plan_for(in, n->x, n->site, base, &r);
    if (!p)
        r = place_refuse(in, (Lack){ LACK_EXACT });
    else
        r = takes(in, d, p) ? run_nest(in, n->x, d, p, base) : v_undef();
    stack_drop(in, base);
    return r;
}

/* ---- where ---- */
static Value run_home(Interp *in, const Exec *x, IxSite *site, Value *base)
{
    for (int i = 0; i < site->tree.leaves; i++)
        place_home(in, base[i]);
    return ix_run(in, x, site, base, DT_NONE);
}

/* The leaf by its own text, and a fix that can be pasted. */
static _Noreturn void raise_leaf(Interp *in, const IxSite *site, int leaf, const Tensor *t,
                                 const Device *d)
{
    char text[64], device[80], moved[160];
    const Node *n = site->tree.leaf[leaf].exec->node;
    IxInstance whole = { .tree = &site->tree };
    bool held = device_holds(d, (DType)t->dtype), wide = t->dtype == DT_F64 && !held;
    ix_node_text(n, &whole, text, sizeof text);
    device_expression(d, device, sizeof device);
    Error *e = held ? err_new(&in->ctx, ERR_DEVICE,
                              "%s is on %s and index notation wants it on %s, and the block is "
                              "strict", text, tensor_device(&in->ctx, t)->name, d->name)
                    : err_new(&in->ctx, ERR_DEVICE,
                              "%s is %s, which %s has not, and the block is strict", text,
                              dtype_name((DType)t->dtype), d->name);
    err_at(e, site->tree.source, n->span);
    snprintf(moved, sizeof moved, wide ? "to(f32(%s), %s)" : "to(%s, %s)", text, device);
    if ((held || wide) && n->kind == ND_NAME)
        err_help(e, "%s = %s", text, moved);
    else if (held || wide)
        err_help(e, "%s", moved);
    err_throw(e);
}

static void check_strict(Interp *in, const IxSite *site, const Value *base, const Device *d)
{
    /* what it has not first: moving the others would not help */
    for (int held = 0; held < 2; held++)
        for (int i = 0; i < site->tree.leaves; i++) {
            const Tensor *t = base[i].tag == V_TENSOR && base[i].tensor->rank > 0
                              ? base[i].tensor : NULL;
            bool bad = t &&
                       (held ? t->size && !device_has(d, t) : !device_holds(d, (DType)t->dtype));
            if (bad && d != in->ctx.devices->cpu)
                raise_leaf(in, site, i, t, d);
        }
}

Value ix_run_asked(Interp *in, const Exec *x, IxSite *site, Value *base)
{
    Value result;
    Device *d = place_device(in);
    for (int i = 0; !d && i < site->tree.leaves; i++)
        value_home(in, base[i]);
    const IxPlan *p = ix_plan_for(in, x, site, base, &result);
    if (!p)
        return result.tag == V_UNDEF ? run_home(in, x, site, base) : result;
    Notation n = { x, site, p->leaves, base, d ? d->product : DT_NONE };
    in->at = x;
    DType dt = d ? computed(p, d) : DT_NONE;
    if (d && in->place->strict && !in->place->narrow)
        check_strict(in, site, base, d);
    return work_call(in, &(Work){ .name = "index notation", .dtype = dt, .product = true,
                                  .run = run_here,
                                  .form = run_kernel, .data = &n }, base, p->leaves);
}
