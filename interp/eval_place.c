/* `on D … { }`: reads the header, runs the block with its DeviceBlock in force. See place.h. */
#include "interp/place.h"

#include "core/error.h"
#include "interp/arith.h"

#include <stdio.h>
#include <string.h>

void place_enter(Interp *in, DeviceBlock *p)
{
    p->up = in->place;
    in->place = p;
}

void place_leave(Interp *in, DeviceBlock *p)
{
    in->place = p->up;
}

/* The device that a header or a modifier's operand names. */
static Device *header_device(Interp *in, const Exec *x)
{
    Value v = exec_run(in, x);
    if (v.tag != V_DEVICE) {
        char a[96];
        v_push(in, v);
        err_raise(&in->ctx, ERR_TYPE, "on takes a device: this is %s", v_article(v, a, sizeof a));
    }
    device_open(&in->ctx, v.device);
    return v.device;
}

enum { MOD_FALLBACK, MOD_STRICT, MOD_NARROW, MOD_VERBOSE, MOD_QUIET, MODIFIERS };

static const Exec *lower_modifier(Lower *lo, const Node *n)
{
    static const char *const names[MODIFIERS] = { "fallback", "strict", "narrow", "verbose", "quiet" };
    Exec *x = exec_new(lo, NULL, n);
    while (x->op < MODIFIERS - 1 && strcmp(names[x->op], n->name->text) != 0)
        x->op++;
    x->a = n->a ? lower_operand(lo, n->a) : NULL;
    return x;
}

static void modifier_apply(Interp *in, const Exec *m, DeviceBlock *p)
{
    switch (m->op) {
    case MOD_FALLBACK: p->fallback = header_device(in, m->a); break;
    case MOD_STRICT: p->strict = true; break;
    case MOD_NARROW: p->narrow = true; break;
    case MOD_VERBOSE: p->verbose = true; break;
    default: p->quiet = true; break;
    }
}

/* a: the device, list: modifiers, b: the block. */
static Value eval_on(Interp *in, const Exec *x)
{
    DeviceBlock p = { .fallback = in->ctx.devices->cpu, .header = x };
    in->at = x;
    p.device = header_device(in, x->a);
    for (uint32_t i = 0; i < x->count; i++)
        modifier_apply(in, x->list[i], &p);
    if (p.strict)
        place_check_block(in, &p, x->node->b, interp_module(in));
    place_enter(in, &p);
    Value v = exec_run(in, x->b);
    place_leave(in, &p);
    place_summary(in, &p);
    return v;
}

const Exec *lower_on(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, eval_on, n);
    const Exec **list = lower_alloc(lo, (n->count + 1) * sizeof *list);
    x->a = lower_operand(lo, n->a);
    for (uint32_t i = 0; i < n->count; i++)
        list[i] = lower_modifier(lo, n->list[i]);
    x->list = list;
    x->count = n->count;
    x->b = lower(lo, n->b);
    return x;
}
