/* `profile`: what ran in a block, how often and how long, added up from the records that the
 * door makes (heard.h). The block's value is the value; an error inside prints what was heard
 * until then and goes on. Blocks nest: each hears what runs in those inside it. */
#include "interp/measure/profile.h"
#include "interp/measure/explain.h"
#include "interp/lower/lower.h"

#include "core/base/error.h"
#include "interp/op/arith.h"
#include "interp/eval/eval_make.h"
#include "interp/eval/eval_flow.h"
#include "interp/op/deferred.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- rows ---- */
static ProfileRow *row_of(Profile *p, const char *name, const Device *d, DType dt,
                          const char *kernel)
{
    for (int i = 0; i < p->rows; i++) {
        ProfileRow *r = &p->row[i];
        if (r->device == d && r->dtype == dt && strcmp(r->name, name) == 0 &&
            strcmp(r->kernel, kernel) == 0)
            return r;
    }
    if (p->rows >= PROFILE_ROWS) {
        p->rows = PROFILE_ROWS + 1;
        name = "(others)";
        d = NULL;
        dt = DT_NONE;
        kernel = "";
    }
    ProfileRow *r = &p->row[p->rows > PROFILE_ROWS ? PROFILE_ROWS : p->rows++];
    snprintf(r->name, sizeof r->name, "%s", name);
    r->device = d;
    r->dtype = dt;
    memmove(r->kernel, kernel, strlen(kernel) + 1);
    return r;
}

static void profile_heard(Interp *in, Explain *base, Heard *e)
{
    Profile *p = (Profile *)(void *)base;
    char text[HEARD_KERNEL];
    const char *kernel = e->failed ? "failed" : e->view ? "a view"
                                                        : heard_kernel_text(text, &e->kernel);
    ProfileRow *r = row_of(p, e->name, e->device, e->dtype, kernel);
    r->calls++;
    r->seconds += e->seconds;
    r->flops += isnan(e->flops) ? 0 : e->flops;
    r->bytes += e->view ? 0 : e->read + e->written;
    r->copies += e->up + e->down;
    r->moved += e->bytes_up + e->bytes_down;
    r->between += e->between;
    p->operations++;
    p->seconds += e->seconds;
    p->inside += e->wall - e->copy_wall;
    if (p->trace)
        trace_operation(in, p->trace, e);
}

static void profile_moved(Interp *in, Explain *base, const PlaceMove *m)
{
    Profile *p = (Profile *)(void *)base;
    bool up = m->to != in->ctx.devices->cpu;
    const Device *d = up ? m->to : m->from;
    ProfileRow *r = row_of(p, up ? "copy there" : "copy home", d, DT_NONE, "");
    r->calls++;
    r->seconds += m->seconds;
    r->bytes += (double)m->bytes;
    p->copies++;
    p->seconds += m->seconds;
    p->inside += d->caps & DEVCAP_SIM ? 0 : m->seconds;
    if (p->trace)
        trace_copy(in, p->trace, m);
}

/* ---- peaks: of this block alone while it runs, of all of it afterwards ---- */
typedef struct Peaks { size_t peak[PROFILE_DEVICES]; } Peaks;

static void peaks_begin(Interp *in, Profile *p, Peaks *saved)
{
    MemAccount *mem = &in->ctx.mem;
    int i = 0;
    saved->peak[i] = mem->peak;
    p->before[i++] = mem->peak = mem->live;
    for (Device *d = in->ctx.devices->first; d && i < PROFILE_DEVICES; d = d->next, i++) {
        saved->peak[i] = d->peak;
        p->before[i] = d->peak = d->live;
    }
}

static void peaks_end(Interp *in, const Peaks *saved)
{
    MemAccount *mem = &in->ctx.mem;
    int i = 0;
    mem->peak = mem->peak > saved->peak[i] ? mem->peak : saved->peak[i];
    i++;
    for (Device *d = in->ctx.devices->first; d && i < PROFILE_DEVICES; d = d->next, i++)
        d->peak = d->peak > saved->peak[i] ? d->peak : saved->peak[i];
}

/* ---- the block ---- */
static void finish(Interp *in, void *profile)
{
    Profile *p = profile;
    heard_sync(in);
    p->total = heard_clock() - p->start;
    heard_end(in, &p->base);
    profile_print(in, p);
    if (p->trace)
        trace_write(in, p->trace);
}

/* False: it raised, or flow unwinds through it. */
static bool run_heard(Interp *in, const Exec *x, Profile *p, Value *result)
{
    Guard g;
    guard_enter(in, &g);
    if (ERR_TRY(&in->ctx, &g.frame)) {
        heard_begin(in, &p->base);
        heard_sync(in);
        p->start = heard_clock();
        *result = exec_run(in, x->a);
        v_push(in, *result);
        deferred_barrier(in, v_none());
        in->at = x;
        finish(in, p);
        in->sp--;
        ERR_END(&in->ctx, &g.frame);
        return true;
    }
    guard_restore(in, &g);
    return false;
}

static const char *trace_path(Interp *in, const Exec *x)
{
    Value v = exec_run(in, x->b);
    v_push(in, v);                              /* on the stack until the block is done */
    in->at = x->b;
    if (v.tag != V_STRING) {
        char a[96];
        err_raise_help(&in->ctx, ERR_TYPE, "profile to \"trace.json\" { … }",
                       "profile to takes a file's name: this is %s", v_article(v, a, sizeof a));
    }
    return v.str->text;
}

static void profile_free(Interp *in, Profile *p)
{
    if (in->explain == &p->base)
        heard_end(in, &p->base);
    trace_free(in, p->trace);
    mem_free(&in->ctx, p, sizeof *p);
}

static Value eval_profile(Interp *in, const Exec *x)
{
    Value result = v_none(), *mark = in->sp;
    Peaks peaks = { { 0 } };                    /* devices may join while it runs */
    Trace *trace = x->b ? trace_new(in, trace_path(in, x)) : NULL;
    Profile *p = mem_try_alloc(&in->ctx, sizeof *p);
    if (!p) {
        trace_free(in, trace);
        mem_raise(&in->ctx, sizeof *p);
    }
    memset(p, 0, sizeof *p);
    p->base.heard = profile_heard;
    p->base.moved = profile_moved;
    p->trace = trace;
    peaks_begin(in, p, &peaks);
    bool good = run_heard(in, x, p, &result);
    bool flow = !good && in->flow != FLOW_NONE;
    if (!good && in->explain == &p->base)
        heard_despite_error(in, finish, p);
    peaks_end(in, &peaks);
    profile_free(in, p);
    if (good) {
        stack_cut(in, mark);
        return result;
    }
    if (flow)
        flow_unwind(in);
    err_rethrow(&in->ctx);
}

const Exec *lower_profile(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, eval_profile, n);
    x->a = lower_operand(lo, n->a);
    x->b = n->b ? lower_operand(lo, n->b) : NULL;
    return x;
}
