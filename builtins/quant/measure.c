/* How long a function takes, call by call. */
#include "builtins/rows/rows.h"

#include "core/base/error.h"
#include "interp/eval/call.h"
#include "interp/op/deferred.h"
#include "interp/op/heard.h"
#include "interp/state/kind.h"

#include <stdlib.h>

enum { RUNS_MAX = 1000000 };

static int64_t count_of(OpCall *c, int i, int64_t fallback, int64_t least)
{
    int64_t n = arg_given(c, i) ? arg_int(c, i) : fallback;
    if (n < least || n > RUNS_MAX)
        arg_error(c, i, ERR_VALUE, "%s is %lld; it is from %lld to %d", arg_name(c, i),
                  (long long)n, (long long)least, RUNS_MAX);
    return n;
}

static void wait(Interp *in)
{
    if (in->ctx.remote)
        heard_sync(in);
}

static double one_call(OpCall *c, int args)
{
    Interp *in = c->in;
    Value *mark = in->sp;
    poll_interrupt(in);
    wait(in);
    double start = heard_clock();
    deferred_settle(in, op_root(c, call_value(in, c->args[0], c->args + c->fixed, args)));
    wait(in);
    double seconds = heard_clock() - start;
    stack_cut(in, mark);
    return seconds;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The least that so large a share of the runs does not exceed. */
static double rank_of(const double *sorted, int64_t n, int64_t percent)
{
    return sorted[(n * percent + 99) / 100 - 1];
}

static double median_of(const double *sorted, int64_t n)
{
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static double rows_of(Value v)
{
    return v.tag == V_TENSOR && v.tensor->rank > 0 ? (double)v.tensor->dims[0] : 1;
}

Value op_run_measure(OpCall *c)
{
    Interp *in = c->in;
    MemAccount *mem = &in->ctx.mem;
    int args = c->count - c->fixed;
    int64_t runs = count_of(c, 1, 50, 1), warmup = count_of(c, 2, 3, 0);
    double *t = (double *)(void *)op_keep(c, tensor_new(&in->ctx, DT_F64, 1, &runs))->data;
    for (int64_t k = 0; k < warmup; k++)
        one_call(c, args);
    size_t live = mem->live, peak = mem->peak;
    mem->peak = live;
    for (int64_t k = 0; k < runs; k++)
        t[k] = one_call(c, args);
    size_t most = mem->peak;
    mem->peak = peak > most ? peak : most;
    qsort(t, (size_t)runs, sizeof *t, by_size);
    double median = median_of(t, runs);
    return tuple_make(in, "runs", v_int(runs), "median", v_float(median), "p95",
                      v_float(rank_of(t, runs, 95)), "p99", v_float(rank_of(t, runs, 99)),
                      "throughput", v_float(args && median > 0 ? rows_of(c->args[c->fixed]) / median
                                                               : median > 0 ? 1 / median : 0),
                      "peak", v_int((int64_t)(most - live)), NULL);
}
