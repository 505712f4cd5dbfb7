/* measure(f, args…): how long calls take, as a distribution. */
#include "builtins/rows/rows.h"
#include "interp/eval/call.h"
#include "interp/state/kind.h"
#include "interp/measure/memory.h"
#include "interp/op/deferred.h"
#include "interp/op/heard.h"

#include "core/base/error.h"

#include <math.h>
#include <stdlib.h>

enum { F, RUNS, WARMUP, ARGS };

static void wait(Interp *in)
{
    deferred_barrier(in, v_none());
    if (in->ctx.remote)
        heard_sync(in);
}

/* Seconds of one call, until its devices are done. */
static double time_call(OpCall *c)
{
    Interp *in = c->in;
    Value *mark = in->sp;
    const Exec *at = in->at;
    wait(in);
    double start = heard_clock();
    v_push(in, call_value(in, c->args[F], c->args + ARGS, c->count - ARGS));
    wait(in);
    double seconds = heard_clock() - start;
    in->at = at;
    stack_cut(in, mark);
    return seconds;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of n sorted numbers, between the two that are next to it. */
static double quantile_of(const double *x, int64_t n, double q)
{
    double at = q * (double)(n - 1);
    int64_t low = (int64_t)at;
    return low + 1 < n ? x[low] + (at - (double)low) * (x[low + 1] - x[low]) : x[n - 1];
}

/* Rows of the first argument; what has none is one. */
static double rows_of(OpCall *c)
{
    Value v = c->count > ARGS ? v_plain(c->args[ARGS]) : v_none();
    return v.tag == V_TENSOR && v.tensor->rank ? (double)tensor_shape(v.tensor)[0] : 1;
}

static int64_t count_of(OpCall *c, int i, int64_t fallback, int64_t least)
{
    int64_t n = arg_given(c, i) ? arg_int(c, i) : fallback;
    if (n < least || n > 1000000000)
        arg_error(c, i, ERR_VALUE, "%s is %lld; it is at least %lld, and at most 1000000000",
                  arg_name(c, i), (long long)n, (long long)least);
    return n;
}

Value op_run_measure(OpCall *c)
{
    Interp *in = c->in;
    char what[96];
    int64_t runs = count_of(c, RUNS, 50, 1), warmup = count_of(c, WARMUP, 3, 0);
    if (!v_callable(in, c->args[F]))
        arg_error(c, F, ERR_TYPE, "%s must be a function, not %s", arg_name(c, F),
                  v_describe_a(v_plain(c->args[F]), what, sizeof what));
    double *seconds = (double *)op_keep(c, tensor_new(&in->ctx, DT_F64, 1, &runs))->data;
    int deferring = in->deferring;
    MemoryMark memory;
    wait(in);
    in->deferring = 0;                  /* in a lazy block it times what runs */
    for (int64_t i = 0; i < warmup; i++, poll_interrupt(in))
        time_call(c);
    memory_begin(in, &memory);
    for (int64_t i = 0; i < runs; i++, poll_interrupt(in))
        seconds[i] = time_call(c);
    size_t peak = memory_end(in, &memory);
    in->deferring = deferring;
    qsort(seconds, (size_t)runs, sizeof *seconds, compare_doubles);
    double median = quantile_of(seconds, runs, 0.5);
    return tuple_make(in, "runs", v_int(runs), "median", v_float(median), "p95",
                      v_float(quantile_of(seconds, runs, 0.95)), "p99",
                      v_float(quantile_of(seconds, runs, 0.99)), "throughput",
                      v_float(rows_of(c) / (median > 0 ? median : 1e-9)), "peak",
                      v_int((int64_t)peak), NULL);
}
