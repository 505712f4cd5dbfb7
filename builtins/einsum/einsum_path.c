/* einsum_path: the plan of a call of einsum as a named tuple; and optimize=, which takes a
 * path back. Its row is in shape.def. */
#include "builtins/einsum/einsum.h"
#include "builtins/strings/text.h"
#include "core/system/c_locale.h"
#include "core/base/error.h"

#include <stdio.h>
#include <string.h>

Value op_run_einsum_path(OpCall *);

/* ---- optimize= ---- */

typedef struct PathReader {
    OpCall *call;
    int (*pair)[2];
    int pairs, left;                /* found so far; tensors in the list */
} PathReader;

static _Noreturn void bad_path(PathReader *r, const char *fmt, int64_t at)
{
    char what[96];
    c_snprintf(what, sizeof what, fmt, (long long)at, r->left);
    arg_error_help(r->call, 1, ERR_VALUE,
                   "a path is a tuple of pairs of positions: ((0, 1), (0, 1))",
                   "optimize: %s", what);
}

static void add_pair(PathReader *r, int a, int b)
{
    r->pair[r->pairs][0] = a;
    r->pair[r->pairs++][1] = b;
    r->left -= a < 0 ? r->left - 1 : b < 0 ? 0 : 1;
}

/* A group of positions: a pair, one alone, all that are left at once, or several, which
 * become pairs: its first two, then their product with the next. */
static void add_group(PathReader *r, const Tuple *group)
{
    int64_t at[64];
    int n = (int)group->count, left = r->left;
    if (n < 1 || n > 64)
        bad_path(r, n < 1 ? "a group of no tensors%.0lld" : "%lld tensors in one group", n);
    for (int i = 0; i < n; i++) {
        if (!v_as_int(group->items[i], &at[i]))
            bad_path(r, "a position that is no int%.0lld", 0);
        if (at[i] < 0 || at[i] >= left)
            bad_path(r, "there is no tensor %lld in a list of %d", at[i]);
        for (int j = 0; j < i; j++)
            if (at[i] == at[j])
                bad_path(r, "tensor %lld stands twice in a group", at[i]);
    }
    if (n == 1)
        return;
    if (n == left && n > 2) {
        add_pair(r, -1, -1);
        return;
    }
    add_pair(r, (int)at[0], (int)at[1]);
    for (int i = 2; i < n; i++) {
        int down = 0;
        for (int j = 0; j < i; j++)
            down += at[j] < at[i];
        add_pair(r, (int)at[i] - down, r->left - 1);
    }
}

static const Tuple *path_of(OpCall *c, Value v)
{
    const Name *name = names_find(&c->in->names, "path", 4);
    int64_t field = v.tag == V_TUPLE && name ? tuple_find(v.tuple, name) : -1;
    if (field >= 0)
        v = v.tuple->items[field];
    char given[96];
    if (v.tag != V_TUPLE)
        arg_error_help(c, 1, ERR_TYPE,
                       "optimize=true, optimize=false, or a path: optimize=((0, 1), (0, 1))",
                       "optimize must be true, false or a path, not %s",
                       v_describe_a(v, given, sizeof given));
    return v.tuple;
}

/* NumPy's names of searches: the one here is at least as good. */
static bool is_numpy_word(Value v)
{
    const char *text = v.tag == V_STRING ? v.str->text : "";
    return !strcmp(text, "greedy") || !strcmp(text, "optimal") || !strcmp(text, "auto");
}

bool einsum_options(OpCall *c, int operands, ContractOptions *options)
{
    Value v = c->args[1];
    if (c->fixed != 2 || v.tag == V_UNDEF || (v.tag == V_BOOL && v.i) || is_numpy_word(v))
        return false;
    if (v.tag == V_BOOL) {
        options->left_to_right = true;
        return true;
    }
    const Tuple *path = path_of(c, v);
    int64_t bytes = (operands + 1) * (int64_t)sizeof(int[2]);
    PathReader r = { .call = c, .left = operands,
                     .pair = (void *)op_keep(c, tensor_new(&c->in->ctx, DT_U8, 1, &bytes))->data };
    for (uint32_t i = 0; i < path->count; i++) {
        if (i == 0 && path->items[i].tag == V_STRING)
            continue;
        if (path->items[i].tag != V_TUPLE)
            bad_path(&r, "%lld is no tuple of positions", i);
        add_group(&r, path->items[i].tuple);
    }
    if (r.left > 1)
        add_pair(&r, -1, -1);
    options->path = (const int (*)[2])r.pair;
    options->path_length = r.pairs;
    return true;
}

/* ---- the plan as a value ---- */

static Value path_value(OpCall *c, const ContractStep *steps, int count, int operands)
{
    Ctx *ctx = &c->in->ctx;
    Tuple *path = op_root(c, v_tuple(tuple_new(ctx, (uint32_t)count))).tuple;
    for (int t = 0; t < count; t++) {
        bool all = steps[t].a < 0;
        int n = all ? operands - t : steps[t].b < 0 ? 1 : 2;
        Tuple *group = tuple_new(ctx, (uint32_t)n);
        for (int i = 0; i < n; i++)
            group->items[i] = v_int(all ? i : i ? steps[t].b : steps[t].a);
        path->items[t] = v_tuple(group);
    }
    return v_tuple(path);
}

static void put_amount(Buf *b, double x, const char *one, const char *many)
{
    if (x < 1e6)
        buf_printf(b, "%.0f %s", x, x == 1 ? one : many);
    else
        buf_printf(b, "%.3g %s", x, many);
}

static void put_times(Buf *b, double ratio)
{
    if (ratio < 100 || ratio > 1e6)
        buf_printf(b, ", %.3g times as many", ratio);
    else
        buf_printf(b, ", %.0f times as many", ratio);
}

/* What `print(einsum_path(…).text)` shows. */
typedef struct PlanText {
    const ContractPlan *plan;
    const Report *report;
    double flops;
    DType dt;
} PlanText;

static void put_plan(Interp *in, Buf *b, void *told)
{
    const PlanText *t = told;
    const Report *r = t->report;
    ContractMemory m = contract_memory(t->plan);
    (void)in;
    int width = 0;
    for (int i = 0; i < r->steps; i++) {
        int w = (int)strlen(r->step[i].what);
        width = w > width && w <= 48 ? w : width;
    }
    for (int i = 0; i < r->steps; i++) {
        const ReportStep *s = &r->step[i];
        buf_printf(b, "%-*s   %s, ", width, s->what, s->kind);
        put_amount(b, s->flops, "FLOP\n", "FLOPs\n");
    }
    if (r->more)
        buf_printf(b, "… and %d more\n", r->more);
    put_amount(b, t->flops, "FLOP", "FLOPs");
    buf_printf(b, " in all; one nest over all labels: ");
    put_amount(b, r->naive_flops, "FLOP", "FLOPs");
    if (t->flops > 0 && r->naive_flops > 1.05 * t->flops)
        put_times(b, r->naive_flops / t->flops);
    double largest = (double)m.largest / dtype_info(t->dt)->bytes;
    if (largest > 0) {
        buf_printf(b, "\nlargest intermediate: ");
        put_amount(b, largest, "element", "elements");
        buf_printf(b, "; at most ");
        put_amount(b, (double)m.peak, "byte", "bytes");
        buf_printf(b, " of them at once");
    } else {
        buf_printf(b, "\nno intermediates");
    }
}

/* The plan lives as long as this frame: what raises in between must free it. */
typedef struct PathCall {
    EinsumSpec spec;
    ContractPlan *plan;
    DType compute;
} PathCall;

static Value tell(OpCall *c, const PathCall *x)
{
    Report report = { 0 };
    Ctx *ctx = &c->in->ctx;
    double flops = 0;
    int operands = x->spec.operands;
    int64_t bytes = operands * (int64_t)sizeof(ContractStep);
    ContractStep *steps = (void *)op_keep(c, tensor_new(ctx, DT_U8, 1, &bytes))->data;
    contract_report(x->plan, "result", &report);
    for (int i = 0; i < report.steps; i++)
        flops += report.step[i].flops;
    ContractMemory m = contract_memory(x->plan);
    Value path = path_value(c, steps, contract_steps(x->plan, steps), operands);
    PlanText told = { x->plan, &report, flops, x->compute };
    Value text = op_root(c, text_build(c->in, put_plan, &told));
    return tuple_make(c->in, "path", v_retain(path), "flops", v_float(flops),
                      "naive_flops", v_float(report.naive_flops),
                      "largest", v_int((int64_t)(m.largest / dtype_info(x->compute)->bytes)),
                      "bytes", v_int((int64_t)m.peak),
                      "seconds", v_float(contract_seconds(x->plan)), "text", v_retain(text), NULL);
}

static void make_plan(OpCall *c, PathCall *x)
{
    ContractOptions options = { 0 };
    einsum_read(&x->spec, c);
    bool asks = einsum_options(c, x->spec.operands, &options);
    einsum_dtype(&x->spec, &x->compute);
    x->plan = einsum_plan(&x->spec, x->compute, asks ? &options : NULL, true);
}

Value op_run_einsum_path(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    PathCall x = { .plan = NULL };
    ErrFrame frame;
    Value *volatile mark = c->in->sp;
    make_plan(c, &x);
    if (ERR_TRY(ctx, &frame)) {
        Value v = tell(c, &x);
        ERR_END(ctx, &frame);
        contract_plan_free(ctx, x.plan);
        return v;
    }
    stack_cut(c->in, mark);
    contract_plan_free(ctx, x.plan);
    err_rethrow(ctx);
}
