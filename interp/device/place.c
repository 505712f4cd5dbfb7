/* The aspect of device blocks: on which device a row runs, and how. See place.h. */
#include "interp/device/place_door.h"

#include "core/base/error.h"
#include "kernels/sparse/sparse.h"
#include "interp/precision/autocast.h"
#include "interp/op/heard.h"
#include "interp/op/optable.h"
#include "interp/device/place_nest.h"
#include "interp/precision/precise.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

Value place_refuse(Interp *in, Lack why)
{
    in->lack = why;
    return v_undef();
}

DType place_float(const Interp *in)
{
    return in->place ? device_widest(in->place->device) : DT_F64;
}

Tensor *place_made(Interp *in, Tensor *t)
{
    Device *d = place_device(in);
    if (!d || d == in->ctx.devices->cpu || !device_holds(d, (DType)t->dtype))
        return t;
    return place_settle(in, d, v_tensor_raw(t)).tensor;
}

/* ---- the record ---- */
static bool simulated(const Device *d) { return d->caps & DEVCAP_SIM; }

/* Simulated and measured time do not add up. */
static bool modelled(const Device *d, const DeviceBlock *p)
{
    return simulated(d) && simulated(p->device);
}

void place_ran(Interp *in, const PlaceRun *r)
{
    for (DeviceBlock *p = in->place; p; p = p->up) {
        place_count_on(p, r->device);
        p->counts.fell += r->fell_back;
        p->counts.seconds += modelled(r->device, p) ? r->seconds : 0;
    }
    if (in->listener)
        in->listener->ran(in, in->listener, r);
}

static void place_moved(Interp *in, const PlaceMove *m)
{
    bool up = m->to != in->ctx.devices->cpu;
    const Device *d = up ? m->to : m->from;
    for (DeviceBlock *p = in->place; p; p = p->up) {
        *(up ? &p->counts.up : &p->counts.down) += 1;
        *(up ? &p->counts.bytes_up : &p->counts.bytes_down) += m->bytes;
        p->counts.copy_seconds += simulated(d) == simulated(p->device) ? m->seconds : 0;
    }
    if (in->listener)
        in->listener->moved(in, in->listener, m);
}

void place_heard_copy(Ctx *ctx, const Device *from, const Device *to, size_t bytes, double seconds)
{
    place_moved((Interp *)(void *)ctx, &(PlaceMove){ from, to, bytes, seconds });
}

/* ---- the record of a call ---- */
/* `+` where the program has the sign, else the row's name: made when somebody asks. */
static const char *named(const Doing *g)
{
    const Node *n = g->in->at ? g->in->at->node : NULL;
    Doing *own = (Doing *)g;
    if (g->name)
        return g->name;
    own->name = g->op->name;
    if (g->op->infix && n && n->kind != ND_CALL && n->kind != ND_PIPE) {
        snprintf(own->text, sizeof own->text, "`%s`", g->op->infix);
        own->name = own->text;
    }
    return g->name;
}

static double known(double x) { return isnan(x) ? 0 : x; }

/* Numbers alone are no operation that anybody counts. */
static void record(const Doing *g, Device *d, Value r, double seconds, bool fell_back)
{
    Interp *in = g->in;
    if (g->dtype == DT_NONE && !place_elements(r))
        return;
    bool model = simulated(d), told = model || in->listener;
    double bytes = v_bytes(r), flops = told ? known(heard_flops(g->op, g->args, g->count, r)) : 0;
    for (int i = 0; i < g->count; i++)
        bytes += v_bytes(g->args[i]);
    v_push(in, r);
    place_ran(in, &(PlaceRun){ .name = in->listener ? named(g) : g->op->name, .op = g->op,
                               .device = d,
                               .dtype = g->dtype, .flops = flops, .bytes = bytes,
                               .fell_back = fell_back,
                               .seconds = model ? device_model_seconds(d, bytes, flops)
                                                : seconds });
    in->sp--;
}

/* ---- running ---- */
static Value run_inside(const Doing *g, Value *args, DeviceBlock *place)
{
    Interp *in = g->in;
    DeviceBlock *outer = in->place;
    Value *mark = in->sp;
    OpCall inner = *g->call;
    inner.args = args;
    inner.count = g->count;
    if (args != g->call->args)
        inner.reuse = 0;
    in->place = place;                              /* an error's guard puts it back */
    Value r = call_rest(&inner, g->rest);
    in->place = outer;
    stack_cut(in, mark);
    return r;
}

Value place_run_rest(const Doing *g, Value *args)
{
    return run_inside(g, args, NULL);
}

/* On a simulation's shadows. Where that takes products in a way of its own, a block stands for the
 * run, and products that the row calls are asked for by it (inside_simulation). */
static Value run_shadows(const Doing *g, Device *d, Value *shadows)
{
    DeviceBlock running = { .device = d, .running = true };
    bool product = place_product(g, d);
    if (product)
        place_round_factors(g->in, d, shadows, g->count);
    return run_inside(g, shadows, d->product != DT_NONE && !product ? &running : NULL);
}

/* A call by a row that runs on a simulation, whose operands are its memory already. */
static Value inside_simulation(OpCall *c, const Aspect *rest)
{
    Interp *in = c->in;
    Value *own = in->sp;
    Device *d = in->place->device;
    Doing g = { .in = in, .op = c->op, .args = c->args, .count = c->count, .call = c,
                .rest = rest };
    if (!place_product(&g, d))
        return call_rest(c, rest);
    for (int i = 0; i < c->count; i++)
        v_push(in, v_retain(c->args[i]));
    place_round_factors(in, d, own, c->count);
    Value r = place_run_rest(&g, own);
    stack_cut(in, own);
    return r;
}

/* Is something sparse? What comes here with such reads no elements. */
static bool has_entries(Value v)
{
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        if (has_entries(v.tuple->items[i]))
            return true;
    return v.tag == V_TENSOR && tensor_sparse(v.tensor);
}

static void all_home(Interp *in, const Value *args, int count)
{
    for (int i = 0; i < count; i++)
        if (!has_entries(args[i]))
            place_home(in, args[i]);
}

static Value run_home(const Doing *g, bool fell_back)
{
    Interp *in = g->in;
    all_home(in, g->args, g->count);
    double t = place_clock(in);
    Value r = place_run_rest(g, g->args);
    record(g, in->ctx.devices->cpu, r, place_clock(in) - t, fell_back);
    return r;
}

/* Floats of a maker that states no dtype are the device's widest. Takes r. */
static Value made_float(const Doing *g, const Device *d, Value r)
{
    Interp *in = g->in;
    if (!(g->op->devices & DEV_MAKES) || r.tag != V_TENSOR || r.tensor->rank == 0 ||
        r.tensor->dtype != DT_F64 || device_holds(d, DT_F64) || g->dtype != DT_NONE ||
        scope_says(in->scope))
        return r;
    v_push(in, r);
    r = v_tensor_raw(tensor_cast(&in->ctx, r.tensor, device_widest(d)));
    stack_cut(in, in->sp - 1);
    return r;
}

/* On shadows in the simulation's own memory. V_UNDEF: the result is of a dtype that it has not. */
static Value run_simulated(const Doing *g, Device *d, Value *landed)
{
    Interp *in = g->in;
    Value *shadows = place_shadows(g, d, landed);
    device_launch(&in->ctx, d);
    Value r = made_float(g, d, run_shadows(g, d, shadows));
    DType foreign = place_unheld(d, r);
    if (foreign == DT_NONE)
        return place_adopt_all(g, d, r, landed, shadows);
    v_release(&in->ctx, r);
    return place_refuse(in, (Lack){ LACK_RESULT, .dtype = foreign });
}

/* The row's form for devices of generated source. V_UNDEF: it refused. */
static Value run_form(const Doing *g, Device *d, Value *landed)
{
    Interp *in = g->in;
    DeviceForm form = g->entries ? op_entries_form(g->op, d) : op_device_form(g->op, d);
    if (!form && g->op->cls == OPC_EW)
        return place_elementwise(in, d, g->op, landed, g->count, g->weak);
    const OpSig *sig = op_sig(in, g->op);
    Value *args = landed;
    for (int i = g->count; i < sig->fixed; i++)
        v_push(in, v_undef());
    OpCall c = { .in = in, .op = g->op, .args = args,
                 .count = g->count > sig->fixed ? g->count : sig->fixed,
                 .weak = g->weak, .fixed = sig->fixed, .operand = g->operand };
    return form(&c, d);
}

/* What it calls is part of it: a block of its own, which nobody counts. */
static Value run_source(const Doing *g, Device *d, Value *landed)
{
    Interp *in = g->in;
    DeviceBlock running = *in->place;
    running.up = in->place;
    running.device = d;
    running.running = true;
    in->place = &running;
    Value r = run_form(g, d, landed);
    in->place = running.up;
    poll_interrupt(in);
    return r;
}

/* Makers that the device has no form of, and those whose dtype a scope says: made here, copied
 * there, without a word. */
static bool only_made(const Doing *g, const Device *d)
{
    bool form = op_device_form(g->op, d) && !precise_scope(g->in);
    return !simulated(d) && (g->op->devices & DEV_MAKES) && !form;
}

static Value run_made(const Doing *g, Device *d)
{
    all_home(g->in, g->args, g->count);
    return place_settle(g->in, d, made_float(g, d, place_run_rest(g, g->args)));
}

void place_tell_narrowed(const Doing *g, const Device *d, DType cast)
{
    DeviceBlock *p = g->in->place;
    Lack why = { LACK_DTYPE, .dtype = cast };
    if (g->narrow && cast != DT_NONE && cast != device_widest(d))
        place_notice(g->in, p, named(g), g->args, g->count, cast, d, &why, 0, 0);
}

/* V_UNDEF: it cannot be done there after all; in->lack says why. */
static Value run_there(const Doing *g, Device *d, bool fell_back)
{
    Interp *in = g->in;
    Value *mark = in->sp;
    DType cast = DT_NONE;
    device_open(&in->ctx, d);
    double t = place_clock(in);
    Value r;
    if (only_made(g, d))
        r = run_made(g, d);
    else {
        Value *landed = place_land(g, d, &cast);
        r = simulated(d) ? run_simulated(g, d, landed) : run_source(g, d, landed);
    }
    if (r.tag != V_UNDEF) {
        /* views of operands that are at home elsewhere */
        r = place_settle(in, d, r);
        if (in->listener && !simulated(d)) {
            v_push(in, r);
            device_sync(&in->ctx, d);
            in->sp--;
        }
        record(g, d, r, place_clock(in) - t, fell_back);
        v_push(in, r);
        place_tell_narrowed(g, d, cast);
        r = v_retain(r);
    }
    stack_cut(in, mark);
    return r;
}

/* ---- falling back ---- */
static void check_missing(const Doing *g, const Lack *why)
{
    if (g->in->place->strict)
        place_strict_missing(g->in, g->in->place, named(g), g->args, g->count, why);
}

/* On the fallback, or where that lacks it too, on the host. */
static Value run_elsewhere(const Doing *g, Device **on)
{
    Interp *in = g->in;
    Device *d = in->place->fallback, *cpu = in->ctx.devices->cpu;
    Value r = v_undef();
    if (d != cpu && !place_cannot(g, d).kind)
        r = run_there(g, d, true);
    *on = r.tag == V_UNDEF ? cpu : d;
    return r.tag == V_UNDEF ? run_home(g, true) : r;
}

static Value fall_back(const Doing *g, Lack why)
{
    Interp *in = g->in;
    DeviceBlock *p = in->place;
    const Exec *at = in->at;
    Device *on;
    check_missing(g, &why);
    uint64_t up = p->counts.bytes_up, down = p->counts.bytes_down;
    Value r = place_settle(in, p->device, run_elsewhere(g, &on));
    in->at = at;
    v_push(in, r);
    place_notice(in, p, named(g), g->args, g->count, g->dtype, on, &why,
                 (size_t)(p->counts.bytes_up - up), (size_t)(p->counts.bytes_down - down));
    in->sp--;
    return r;
}

/* ---- the door ---- */
/* Only what belongs to no device of the block: scalars, text, functions. */
static bool nothing_to_place(Interp *in, const Op *op, const Value *args, int count)
{
    if (op->devices & DEV_MAKES)                    /* rand() is a number */
        return op_sig(in, op)->variadic && count <= op_sig(in, op)->fixed;
    for (int i = 0; i < count; i++)
        if (args[i].tag == V_RANGE || place_elements(args[i]) ||
            (args[i].tag == V_TUPLE && op->cls != OPC_EW))
            return false;
    return true;
}

/* device= of a maker says where, whatever block it stands in. */
static bool places_itself(Interp *in, const Op *op, const Value *args, int count)
{
    if (!(op->devices & DEV_MAKES))
        return false;
    const OpSig *sig = op_sig(in, op);
    int i = sig->device;
    return i >= 0 && i < count && args[i].tag != V_UNDEF && args[i].tag != V_NONE;
}

void place_widest(DType *dt, Value v)
{
    if (v.tag == V_TENSOR && v.tensor->rank > 0) {
        DType x = (DType)v.tensor->dtype, both = *dt == DT_NONE ? x : dtype_promote(*dt, x);
        *dt = both == DT_NONE ? x : both;
    }
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        place_widest(dt, v.tuple->items[i]);
}

/* A maker's dtype where none is stated: the device's widest float. Arguments on the value stack. */
static void state_float(Doing *g, const Device *d)
{
    Interp *in = g->in;
    const OpSig *sig = op_sig(in, g->op);
    if (!(g->op->devices & DEV_MAKES) || device_holds(d, DT_F64) || scope_says(in->scope))
        return;
    int i = sig->dtype;
    bool given = i >= 0 && i < g->count && g->args[i].tag != V_UNDEF && g->args[i].tag != V_NONE;
    if (i < 0 || given || !sig->params[i].fallback || strcmp(sig->params[i].fallback, "f64") != 0)
        return;
    Value *own = in->sp;
    int n = g->count > i ? g->count : i + 1;
    stack_room(in, (size_t)n + 8);
    for (int k = 0; k < n; k++)
        v_push(in, k < g->count ? v_retain(g->args[k]) : v_undef());
    own[i] = v_format(device_widest(d));
    g->args = own;
    g->count = n;
}

static void check_copies(const Doing *g, const Device *d)
{
    const Device *from;
    int i = g->in->place->strict ? place_elsewhere(g->in, d, g->args, g->count, &from) : -1;
    if (i >= 0)
        place_strict_copy(g->in, g->in->place, named(g), g->operand ? g->operand[i] : i,
                          v_dtype(g->args[i]), from);
}

/* ---- operands with entries ---- */
/* On the block's device. V_UNDEF: not there, and *why says why. */
static Value entries_there(Doing g, Lack *why)
{
    Interp *in = g.in;
    DeviceBlock *p = in->place;
    *why = (Lack){ LACK_ENTRIES };
    if (!op_entries_form(g.op, p->device) || !place_lengths_meet(&g))
        return v_undef();
    for (int i = 0; i < g.count; i++)
        place_widest(&g.dtype, g.args[i]);
    g.narrow = p->narrow;
    *why = in->scope ? (Lack){ LACK_SCOPE } : place_cannot(&g, p->device);
    if (why->kind)
        return v_undef();
    check_copies(&g, p->device);
    device_begin(&in->ctx);
    Value r = run_there(&g, p->device, false);
    *why = in->lack;
    return r;
}

/* On the host, whatever the block says; told if `told`. */
static Value entries_here(const Doing *g, bool told, const Lack *why, Value (*run)(OpCall *))
{
    Interp *in = g->in;
    DeviceBlock *p = in->place;
    OpCall call = *g->call;
    double t = place_clock(in);
    in->place = NULL;                               /* an error's guard puts it back */
    Value r = run(&call);
    in->place = p;
    if (!told || r.tag == V_UNDEF)
        return r;
    v_push(in, r);
    check_missing(g, why);
    record(g, in->ctx.devices->cpu, r, place_clock(in) - t, true);
    uint64_t up = p->counts.bytes_up;
    r = place_settle(in, p->device, v_retain(r));
    v_push(in, r);
    place_notice(in, p, named(g), g->args, g->count, DT_NONE, in->ctx.devices->cpu, why,
                 (size_t)(p->counts.bytes_up - up), 0);
    in->sp -= 2;
    v_release(&in->ctx, in->sp[0]);
    return r;
}

Value place_entries(OpCall *c, Value (*run)(OpCall *))
{
    Interp *in = c->in;
    DeviceBlock *p = in->place;
    Lack why = { LACK_NONE };
    Doing g = { .in = in, .op = c->op, .args = c->args, .count = c->count, .weak = c->weak,
                .operand = c->operand, .call = c, .dtype = DT_NONE, .entries = true };
    const bool placed = c->op && p && !p->running && !place_plain(in) &&
                        !(c->op->devices & (DEV_ANYWHERE | DEV_HOST)) &&
                        p->device != in->ctx.devices->cpu;
    Value r = placed ? entries_there(g, &why) : v_undef();
    return r.tag == V_UNDEF ? entries_here(&g, placed, &why, run) : r;
}

/* What an operation moves on beside its result: it may have to run a second time. */
typedef struct Chance {
    uint64_t key[2], counter, draw;
    ArithFlags flags;
} Chance;

static Chance chance(const Interp *in)
{
    Chance c = { .key = { in->rng.key[0], in->rng.key[1] }, .counter = in->rng.counter };
    if (in->scope) {
        c.draw = in->scope->draw;
        c.flags = in->scope->flags;
    }
    return c;
}

static void chance_put(Interp *in, const Chance *c)
{
    in->rng.key[0] = c->key[0];
    in->rng.key[1] = c->key[1];
    in->rng.counter = c->counter;
    if (in->scope) {
        in->scope->draw = c->draw;
        in->scope->flags = c->flags;
    }
}

/* In a block that asks nothing: as ever, and counted. What a row calls is part of it. */
static Value run_counted(const Doing *g)
{
    Interp *in = g->in;
    bool counts = false;
    if (in->ctx.remote)
        all_home(in, g->args, g->count);
    for (int i = 0; i < g->count; i++)
        counts |= place_elements(g->args[i]);
    Value r = place_run_rest(g, g->args);
    /* numbers alone are no operation that anybody counts */
    if (counts || place_elements(r))
        place_count(in);
    return r;
}

/* Dtypes and shapes are judged before anything is placed: an error costs no copy. False: the row
 * itself is to say what is wrong, where the operands are. */
static bool sound(const Doing *g, const Device *d)
{
    const Device *from;
    if (!g->in->place->strict && place_elsewhere(g->in, d, g->args, g->count, &from) < 0)
        return true;
    place_check_elementwise(g);
    return place_lengths_meet(g);
}

static Value run_placed(Doing *g)
{
    Interp *in = g->in;
    DeviceBlock *p = in->place;
    Device *d = p->device;
    if (!sound(g, d))
        return run_home(g, false);
    state_float(g, d);
    Lack why = place_cannot(g, d);
    if (why.kind)
        return fall_back(g, why);
    check_copies(g, d);
    if (d == in->ctx.devices->cpu)
        return run_home(g, false);
    /* the casts are the device's work: they go first */
    if (!simulated(d) && autocast_wants(g->call)) {
        OpCall inner = *g->call;
        inner.args = g->args;
        inner.count = g->count;
        return autocast_call(&inner, g->rest - 1);
    }
    Chance before = chance(in);
    Value r = run_there(g, d, false);
    if (r.tag != V_UNDEF)
        return r;
    chance_put(in, &before);
    return fall_back(g, in->lack);
}

static Value place_row(OpCall *c, const Aspect *rest)
{
    Interp *in = c->in;
    DeviceBlock *p = in->place;
    const Op *op = c->op;
    if (p && p->running && simulated(p->device))
        return inside_simulation(c, rest);
    if (p && !p->running)
        device_begin(&in->ctx);
    if (op->devices & DEV_ANYWHERE)
        return call_rest(c, rest);
    if (!p || (op->devices & DEV_HOST) || nothing_to_place(in, op, c->args, c->count) ||
        places_itself(in, op, c->args, c->count)) {
        all_home(in, c->args, c->count);
        return call_rest(c, rest);
    }
    Value *mark = in->sp;
    Doing g = { .in = in, .op = op, .args = c->args, .count = c->count, .weak = c->weak,
                .operand = c->operand,
                .call = c, .rest = rest, .dtype = DT_NONE,
                .narrow = p->narrow && !scope_says(in->scope) };
    if (place_plain(in))
        return run_counted(&g);
    for (int i = 0; i < c->count; i++)
        place_widest(&g.dtype, c->args[i]);
    Value r = run_placed(&g);
    stack_cut(in, mark);
    return r;
}

bool place_asked(const OpCall *c) { return place_wants(c->in); }

Value place_call(OpCall *c, const Aspect *rest)
{
    if (record_wants(c))                            /* copies and all are part of its record */
        return record_call(c, rest - 1);
    return c->work ? place_work(c, rest) : place_row(c, rest);
}
