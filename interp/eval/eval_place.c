/* `on D … { }`: reads the header, decides on which device the block runs, runs it with its
 * DeviceBlock in force. See place.h. What a device can do is the door's business (place.c). */
#include "interp/device/place.h"
#include "interp/op/deferred.h"
#include "interp/state/frames.h"

#include "core/base/error.h"
#include "interp/op/arith.h"
#include "interp/output/output.h"
#include "interp/eval/eval_flow.h"
#include "interp/eval/eval_name.h"
#include "interp/lower/lower.h"
#include "interp/state/predefined.h"

#include <stdio.h>
#include <string.h>

void place_enter(Interp *in, DeviceBlock *p)
{
    p->up = in->place;
    in->place = p;
}

void place_leave(Interp *in, DeviceBlock *p)
{
    assert(in->place == p || in->place == p->up);      /* where a guard put it back already */
    in->place = p->up;
}

/* ---- what an operand of the header names ---- */
_Noreturn static void raise_no_device(Interp *in, ErrKind kind, const char *text)
{
    const char *close = device_closest(&in->ctx, text);
    Error *e = err_new(&in->ctx, kind, "there is no device %.60s", text);
    err_underline(e, 0);
    if (close)
        err_help(e, "did you mean %s?", close);
    else
        err_help(e, "print(devices()) shows all");
    err_throw(e);
}

/* A name that is nothing: a device of another name. */
static void check_known(Interp *in, const Exec *site, const Exec *x)
{
    const GlobalRef *ref = x->eval == eval_global ? x->data : NULL;
    if (!ref || ref->slot->tag != V_UNDEF || predefined_find(in, ref->name->text).tag != V_UNDEF ||
        op_find(in, ref->name))
        return;
    in->at = site;
    raise_no_device(in, ERR_NAME, ref->name->text);
}

_Noreturn static void raise_other_value(Interp *in, Value v)
{
    char given[96];
    const char *text = err_operand_text(&in->ctx, 0);
    Error *e = err_new(&in->ctx, ERR_TYPE, "on takes a device: %s is %s", text,
                       v_article(v, given, sizeof given));
    err_underline(e, 0);
    if (v.tag == V_TENSOR)
        err_help(e, "where it lies: on (device(%s)) { … }", text);
    else if (v.tag == V_FORMAT)
        err_help(e, "a format is a precision scope: precision %s { … }", text);
    else
        err_help(e, "devices are cpu, gpu, cuda:0, opencl:0, sim.mps, device(\"…\"); "
                    "print(devices()) shows all");
    err_throw(e);
}

/* Nothing is probed: the value may be a name that stands for a device. */
static Device *header_device(Interp *in, const Exec *site, const Exec *x)
{
    check_known(in, site, x);
    Value v = exec_run(in, x);
    v_push(in, v);
    in->at = site;
    Device *d = v.tag == V_DEVICE ? v.device : NULL;
    if (v.tag == V_STRING && !(d = device_named(&in->ctx, v.str->text)))
        raise_no_device(in, ERR_DEVICE, v.str->text);
    if (!d)
        raise_other_value(in, v);
    stack_cut(in, in->sp - 1);
    return d;
}

/* cuda:1 in a header. */
static Value eval_device_index(Interp *in, const Exec *x)
{
    char name[64];
    const Node *n = x->node;
    snprintf(name, sizeof name, "%.40s:%.*s", n->name->text,
             (int)(n->text_len < 20 ? n->text_len : 20), n->text);
    Device *d = device_named(&in->ctx, name);
    if (d)
        return v_device(d);
    in->at = x;
    const char *close = device_closest(&in->ctx, name);
    Error *e = err_new(&in->ctx, ERR_DEVICE, "there is no device %s", name);
    if (close)
        err_help(e, "did you mean %s?", close);
    else
        err_help(e, "a numbered device is written cuda:1 or opencl:0");
    err_throw(e);
}

const Exec *lower_device_index(Lower *lo, const Node *n)
{
    return exec_new(lo, eval_device_index, n);
}

/* ---- modifiers ---- */
enum { MOD_FALLBACK, MOD_STRICT, MOD_NARROW, MOD_VERBOSE, MOD_QUIET, MODIFIERS };

static const Exec *lower_modifier(Lower *lo, const Node *n)
{
    static const char *const names[MODIFIERS] =
        { "fallback", "strict", "narrow", "verbose", "quiet" };
    Exec *x = exec_new(lo, NULL, n);
    while (x->op < MODIFIERS - 1 && strcmp(names[x->op], n->name->text) != 0)
        x->op++;
    x->a = n->a ? lower_operand(lo, n->a) : NULL;
    return x;
}

/* Returns the modifier that gives the fallback, or NULL. */
static const Exec *read_modifiers(const Exec *x, DeviceBlock *p)
{
    const Exec *fallback = NULL;
    for (uint32_t i = 0; i < x->count; i++)
        switch (x->list[i]->op) {
        case MOD_FALLBACK: fallback = x->list[i]; break;
        case MOD_STRICT: p->strict = true; break;
        case MOD_NARROW: p->narrow = true; break;
        case MOD_VERBOSE: p->verbose = true; break;
        default: p->quiet = true; break;
        }
    return fallback;
}

static Device *real_or_raise(Interp *in, Device *d)
{
    Device *real = device_real(&in->ctx, d);
    if (!real)
        place_raise_absent(in, d, 0, true);
    if (real->ops->renew)
        real->ops->renew(&in->ctx, real);
    device_open(&in->ctx, real);
    return real;
}

/* What `find` makes of the header and d; NULL where a fallback is written and there is none, or it
 * does not open: what was wrong is then in->ctx.error, the caller's. */
typedef Device *(*FindDevice)(Interp *, const Exec *header, Device *d);
static Device *found_or_none(Interp *in, const Exec *x, Device *d, FindDevice find, bool fallback)
{
    Guard g;
    if (!fallback)
        return find(in, x, d);
    guard_enter(in, &g);
    if (ERR_TRY(&in->ctx, &g.frame)) {
        d = find(in, x, d);
        ERR_END(&in->ctx, &g.frame);
        return d;
    }
    guard_restore(in, &g);
    if (in->flow != FLOW_NONE || in->ctx.error->kind != ERR_DEVICE)
        err_rethrow(&in->ctx);
    return NULL;
}

static Device *find_named(Interp *in, const Exec *x, Device *d)
{
    (void)d;
    return header_device(in, x, x->a);
}

static Device *find_open(Interp *in, const Exec *x, Device *d)
{
    (void)x;
    return real_or_raise(in, d);
}

/* There is no device of the header's name, or it does not open: in->ctx.error says why. written:
 * the fallback, open; NULL: the modifier is still to be asked. */
static void choose_fallback(Interp *in, const Exec *modifier, Device *written, DeviceBlock *p)
{
    Error *why = in->ctx.error;
    char text[200];
    snprintf(text, sizeof text, "%s", why->message);
    err_free(why);
    in->ctx.error = NULL;
    in->at = modifier;
    written = written ? written : real_or_raise(in, header_device(in, modifier, modifier->a));
    p->device = p->fallback = written;
    in->at = p->header;
    if (!p->quiet)
        notice(in, "%s, the block runs on %s", text, p->device->name);
}

/* The block's device, or the fallback that was written where that one is not there. */
static void choose_present(Interp *in, const Exec *x, const Exec *modifier, Device *d,
                           DeviceBlock *p)
{
    Device *written = modifier ? header_device(in, modifier, modifier->a) : NULL;
    p->device = device_real(&in->ctx, d);
    p->fallback = in->ctx.devices->cpu;
    if (written) {
        in->at = modifier;
        written = real_or_raise(in, written);
    }
    in->at = x;
    if (p->device && written) {
        p->fallback = written;
    } else if (written) {
        p->device = written;
        place_notice_absent(in, p, d);
    }
    p->device = found_or_none(in, x, p->device ? p->device : d, find_open, written != NULL);
    if (!p->device)
        choose_fallback(in, modifier, written, p);
}

static void choose_devices(Interp *in, const Exec *x, DeviceBlock *p)
{
    const Exec *modifier = read_modifiers(x, p);
    Device *d = found_or_none(in, x, NULL, find_named, modifier != NULL);
    if (d)
        choose_present(in, x, modifier, d, p);
    else
        choose_fallback(in, modifier, NULL, p);
    p->plain = p->device == in->ctx.devices->cpu && !p->strict;
    if (p->device->ops->look)
        p->between = place_between(in, p->device);
    p->start = p->device->caps & DEVCAP_SIM ? 0 : device_clock();
}

/* ---- the block ---- */
static Value end_block(Interp *in, DeviceBlock *p, Value v)
{
    deferred_barrier(in, v);
    place_leave(in, p);
    v_push(in, v);
    in->at = p->header;
    place_summary(in, p);
    in->sp--;
    return v;
}

/* From inside an expression, break and return unwind through the block: it ends all the same. An
 * error ends it too, after what waits in it. */
static Value run_unwinding(Interp *in, DeviceBlock *p, const Exec *body)
{
    Guard g;
    guard_enter(in, &g);
    if (ERR_TRY(&in->ctx, &g.frame)) {
        place_enter(in, p);
        Value v = exec_run(in, body);
        ERR_END(&in->ctx, &g.frame);
        return v;
    }
    guard_restore(in, &g);
    if (in->flow == FLOW_NONE) {
        p->running = false;
        if (in->ctx.pending)
            in->deferrals->spare(in, p);
        err_rethrow(&in->ctx);
    }
    end_block(in, p, v_none());
    flow_unwind(in);
}

/* a: the device, list: modifiers, b: the block; sb: flow unwinds through it. */
static Value eval_on(Interp *in, const Exec *x)
{
    DeviceBlock p = { .header = x, .strict = in->strict_devices };
    if (in->place && in->place->pinned)
        return exec_run(in, x->b);
    in->at = x;
    choose_devices(in, x, &p);
    if (p.strict)
        place_check_block(in, &p, x->node->b, interp_module(in));
    if (x->sb || in->deferring)
        return end_block(in, &p, run_unwinding(in, &p, x->b));
    place_enter(in, &p);
    return end_block(in, &p, exec_run(in, x->b));
}

void place_begin(Interp *in, const Exec *x, DeviceBlock *p)
{
    *p = (DeviceBlock){ .header = x, .strict = in->strict_devices, .held = true };
    in->at = x;
    choose_devices(in, x, p);
    place_enter(in, p);
}

void place_end(Interp *in, DeviceBlock *p)
{
    end_block(in, p, v_none());
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
    x->sb = lo->deep_fn || lo->deep_loop;
    x->b = lower(lo, n->b);
    return x;
}
