/* Work that is no row's, in device blocks: indexing, literals, index notation, fused chains. It
 * runs on the block's device where that holds the dtypes (a simulation on shadows, others by the
 * work's form), else on the fallback, and says so; work that only moves elements goes where they
 * are, without a word. Rows do not come here: place.c has them. See place.h. */
#include "interp/device/place_door.h"

#include "core/base/error.h"
#include "interp/op/heard.h"
#include "interp/state/scope.h"

#include <stdio.h>

static bool simulated(const Device *d) { return d->caps & DEVCAP_SIM; }

/* Why d cannot do it. */
static Lack cannot(const Doing *g, Device *d)
{
    Lack why = place_cannot(g, d);
    if (why.kind || simulated(d) || g->work->form || d == g->in->ctx.devices->cpu)
        return why;
    return (Lack){ LACK_KERNEL };
}

/* ---- running ---- */
static void record(const Doing *g, Device *d, Value r, double seconds, bool fell_back)
{
    double bytes = v_bytes(r);
    for (int i = 0; i < g->count; i++)
        bytes += v_bytes(g->args[i]);
    v_push(g->in, r);
    place_ran(g->in, &(PlaceRun){ .name = g->name, .op = g->op, .device = d, .dtype = g->dtype,
                                  .bytes = bytes,
                                  .fell_back = fell_back,
                                  .seconds = simulated(d) ? device_model_seconds(d, bytes, 0)
                                                          : seconds });
    g->in->sp--;
}

static Value run_home(const Doing *g)
{
    for (int i = 0; i < g->count; i++)
        place_home(g->in, g->args[i]);
    return place_run_rest(g, g->args);
}

/* What ints gave as f64 on a device without it. Takes r. */
static Value narrowed(const Doing *g, const Device *d, Value r, DType *cast)
{
    if (!g->narrow || r.tag != V_TENSOR || r.tensor->rank == 0 || r.tensor->dtype != DT_F64 ||
        device_holds(d, DT_F64))
        return r;
    *cast = DT_F64;
    v_push(g->in, r);
    r = v_tensor_raw(tensor_cast(&g->in->ctx, r.tensor, device_widest(d)));
    stack_cut(g->in, g->in->sp - 1);
    return r;
}

static Value run_simulated(const Doing *g, Device *d, Value *landed, DType *cast)
{
    Value *shadows = g->in->sp;
    for (int i = 0; i < g->count; i++) {
        Value s = place_shadow(g->in, d, landed[i]);
        v_push(g->in, s);
    }
    device_launch(&g->in->ctx, d);
    return place_adopt_all(g, d, narrowed(g, d, place_run_rest(g, shadows), cast), landed, shadows);
}

/* V_UNDEF: a form refused; in->lack says why. */
static Value run_there(const Doing *g, Device *d, bool fell_back)
{
    Interp *in = g->in;
    Value *mark = in->sp;
    DType cast = DT_NONE;
    device_open(&in->ctx, d);
    double t = place_clock(in);
    Value *landed = place_land(g, d, &cast);
    Value r = simulated(d) ? run_simulated(g, d, landed, &cast)
                           : g->work->form(in, d, landed, g->work->data);
    if (r.tag != V_UNDEF) {
        record(g, d, r, place_clock(in) - t, fell_back);
        v_push(in, r);
        place_tell_narrowed(g, d, cast);
        r = v_retain(r);
    }
    stack_cut(in, mark);
    return r;
}

static Value run_on_cpu(const Doing *g, bool fell_back)
{
    double t = place_clock(g->in);
    Value r = run_home(g);
    record(g, g->in->ctx.devices->cpu, r, place_clock(g->in) - t, fell_back);
    return r;
}

/* ---- falling back ---- */
static Value fall_back(const Doing *g, Lack why)
{
    Interp *in = g->in;
    DeviceBlock *p = in->place;
    Device *cpu = in->ctx.devices->cpu, *on = p->fallback;
    const Exec *at = in->at;
    if (p->strict)
        place_strict_missing(in, p, g->name, g->args, g->count, &why);
    uint64_t up = p->counts.bytes_up, down = p->counts.bytes_down;
    Value r = on == cpu || cannot(g, on).kind ? v_undef() : run_there(g, on, true);
    if (r.tag == V_UNDEF)
        r = run_on_cpu(g, true), on = cpu;
    r = place_settle(in, p->device, r);
    in->at = at;
    v_push(in, r);
    place_notice(in, p, g->name, g->args, g->count, g->dtype, on, &why,
                 (size_t)(p->counts.bytes_up - up), (size_t)(p->counts.bytes_down - down));
    in->sp--;
    return r;
}

static Value run_placed(const Doing *g)
{
    Interp *in = g->in;
    DeviceBlock *p = in->place;
    Device *d = p->device;
    if (g->work->fits && !g->work->fits(in, d, g->work->data))
        return v_undef();
    Lack why = cannot(g, d);
    if (why.kind && g->work->apart)
        return v_undef();
    if (why.kind && g->work->moves && place_cannot(g, d).kind)
        return run_home(g);                 /* elements that it does not hold stay on the host */
    if (why.kind)
        return fall_back(g, why);
    const Device *from;
    int i = p->strict ? place_elsewhere(in, d, g->args, g->count, &from) : -1;
    if (i >= 0)
        place_strict_copy(in, p, g->name, i, v_dtype(g->args[i]), from);
    if (d == in->ctx.devices->cpu)
        return run_on_cpu(g, false);
    Value r = run_there(g, d, false);
    return r.tag == V_UNDEF && !g->work->apart ? fall_back(g, in->lack) : r;
}

Value place_work(OpCall *c, const Aspect *rest)
{
    Interp *in = c->in;
    const Work *w = c->work;
    DeviceBlock *p = in->place;
    Value *mark = in->sp;
    if (!p || !p->running)
        device_begin(&in->ctx);
    Doing g = { .in = in, .work = w, .args = c->args, .count = c->count, .call = c, .rest = rest,
                .name = w->name,
                .dtype = w->dtype };
    for (int i = 0; i < c->count && w->dtype == DT_NONE; i++)
        place_widest(&g.dtype, c->args[i]);
    g.narrow = p && p->narrow && !w->moves && !scope_says(in->scope);
    Value r = p ? run_placed(&g) : run_home(&g);
    stack_cut(in, mark);
    return r;
}
