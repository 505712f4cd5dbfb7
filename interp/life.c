/* Making and ending an interpreter: the one place that knows all of its parts. Everything hangs off
 * Interp; two of them share nothing. */
#include "core/memory/progress.h"
#include "interp/index/literal.h"
#include "interp/fixes/fixes.h"
#include "interp/fuse/fuse.h"
#ifndef RICCI_WITHOUT_JIT
#include "interp/hot/hot.h"
#endif
#include "interp/gradient/gradient.h"
#include "interp/lazy/lazy.h"
#include "interp/native/native.h"
#include "interp/op/op.h"
#include "interp/output/output.h"
#include "interp/state/wing.h"
#include "interp/device/place.h"
#include "interp/digits/digits.h"
#include "interp/eval/call.h"
#include "interp/life.h"
#include "interp/lower/lower.h"
#include "interp/notation/indexnot.h"
#include "interp/measure/explain.h"
#include "interp/eval/module.h"

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/memory/pool.h"
#include "kernels/backends/backends.h"
#include "kernels/blas/blas.h"
#include "kernels/blas/blas_stop.h"
#include "kernels/rational/arb.h"
#include "kernels/rational/mpfr.h"
#include "kernels/rational/rational.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>

static const Wing *const wings[] = {
    &wing_expressions, &wing_statements, &wing_notation, &wing_measure, &wing_fixes,
    &wing_lazy,
#ifndef RICCI_WITHOUT_NATIVE
    &wing_native,
#endif
    NULL,
};

enum { STACK_VALUES = 1 << 24, STACK_SLACK = 1 << 16 };   /* reserved; committed as it is used */
#define C_STACK_MARGIN ((size_t)512 << 10)

/* This thread's stack, asked for once: for the first thread of a process that takes long. */
static void stack_of_thread(char **low, size_t *bytes)
{
    static _Thread_local char *known;
    static _Thread_local size_t known_bytes;
    pthread_attr_t attributes;
    void *start = NULL;
    if (!known && pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &start, &known_bytes);
        pthread_attr_destroy(&attributes);
        known = start;
    }
    *low = known;
    *bytes = known_bytes;
}

/* How far the stack may grow downwards. Where it is none of the thread's (a coroutine runs, on a
 * stack of its own), little is supposed to be left of it. */
void interp_on_thread(Interp *in)
{
    char *low, *here = __builtin_frame_address(0);
    size_t bytes;
    stack_of_thread(&low, &bytes);
    bool inside = low && here >= low && here < low + bytes;
    in->ctx.stack_limit = !inside ? here - ((size_t)64 << 10)
                                : low + (bytes > 4 * C_STACK_MARGIN ? C_STACK_MARGIN : bytes / 4);
}

static void stack_init(Interp *in)
{
    size_t values = mem_address_share(STACK_VALUES * sizeof(Value)) / sizeof(Value);
    values = values > 2 * STACK_SLACK ? values : 2 * STACK_SLACK;
    void *p = mmap(NULL, values * sizeof(Value), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        err_raise(&in->ctx, ERR_MEMORY, "there is no address space for the value stack");
    in->stack = in->sp = p;
    in->stack_end = in->stack + values - STACK_SLACK;
}

static void wings_open(Interp *in)
{
    in->wings = wings;
    for (const Wing *const *w = wings; *w; w++)
        for (int i = 0; i < (*w)->count; i++)
            in->lowers[(*w)->rows[i].kind] = (*w)->rows[i].lower;
}

static void interp_build(Interp *in)
{
    wings_open(in);
    in->vector = build_vector;
#ifndef RICCI_WITHOUT_JIT
    in->hot = hot_hooks();
#endif
    in->traces = &traces;
    in->shadows = &shadows;
    stack_init(in);
    names_init(&in->names, &in->ctx);
    buf_init(&in->out, &in->ctx);
    buf_init(&in->scratch, &in->ctx);
    in->constants = tuple_new(&in->ctx, 0);
    devices_init(&in->ctx, device_backends);
    in->ctx.devices->copied = place_heard_copy;
    in->ctx.devices->named = place_named;
    optable_init(in, builtin_rows);
    in->main = in->module = module_new(in, "main");
    in->main->done = true;
    in->fp = in->main->slots;
    in->ctx.locate = interp_locate;
    in->ctx.trace = trace_collect;
}

static __attribute__((noinline)) bool interp_try_build(Interp *in)
{
    ErrFrame frame;
    if (!ERR_TRY(&in->ctx, &frame))
        return false;
    interp_build(in);
    ERR_END(&in->ctx, &frame);
    return true;
}

Interp *interp_open(void)
{
    Interp *in = calloc(1, sizeof *in);
    if (!in)
        return NULL;
    mem_init(&in->ctx);
    in->ctx.interrupt = &in->no_interrupt;
    in->ctx.notice = notice_from_ctx;
    interp_on_thread(in);
    in->show.digits = 5;
    if (interp_try_build(in))
        return in;
    interp_free(in);
    return NULL;
}

Interp *interp_new(void)
{
    Interp *in = interp_open();
    if (!in) {
        char most[32];
        size_t limit = mem_address_limit();
        fputs("ricci: not enough memory to start", stderr);
        if (limit != SIZE_MAX)
            fprintf(stderr, ": the limit on address space (ulimit -v) is %s",
                    mem_bytes_text(most, (double)limit));
        fputs("\n", stderr);
        exit(1);
    }
    return in;
}

/* What was not built yet when memory ran out is NULL. */
void interp_end(Interp *in)
{
    Ctx *c = &in->ctx;
    stack_cut(in, in->stack);
    v_release(c, in->ans);
    v_release(c, in->caught_value);
    err_free(in->caught);
    err_free(c->error);
    c->error = NULL;
    for (const Wing *const *w = in->wings; *w; w++)
        if ((*w)->ending)
            (*w)->ending(in);
    out_flush(in);
#ifndef RICCI_WITHOUT_JIT
    hot_leave(in);
#endif
    modules_free(in);
    for (const Wing *const *w = in->wings; *w; w++)
        if ((*w)->ended)
            (*w)->ended(in);
    gradients_free(in);
    if (in->constants)
        v_release(c, v_tuple(in->constants));
    fuse_free(in);
    optable_free(in);
#ifndef RICCI_WITHOUT_JIT
    hot_end(in);
#endif
    devices_free(c);
    output_free(in);
    buf_free(&in->scratch);
    names_free(&in->names);
    tempdir_remove(&in->tempdir);
    arb_forget();
    mpfr_forget();
    rational_heap_free(c);
    blas_stop_by(NULL);
    pool_shutdown(c);
    blas_leave(c);
    if (in->stack)
        munmap(in->stack, (size_t)(in->stack_end + STACK_SLACK - in->stack) * sizeof(Value));
}

void interp_free_memory(Interp *in)
{
    mem_shutdown(&in->ctx);
    free(in);
}

void interp_free(Interp *in)
{
    interp_end(in);
    interp_free_memory(in);
}
