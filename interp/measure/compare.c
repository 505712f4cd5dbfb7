/* Runs the block of `compare` once per entry: in its scope, from the same random state, its
 * assignments made in a frame of its own and so discarded. A failure is kept as the entry's
 * result; an interrupt stops everything. The reference runs first and silently: mp(256), checked
 * by a second run in twice the bits and widened until two runs agree, or what `against` says;
 * where that fails, the first entry that works. */
#include "interp/gradient/gradient.h"
#include "interp/measure/compare.h"
#include "interp/op/heard.h"

#include "core/system/ascii.h"
#include "core/system/c_locale.h"
#include "core/base/error.h"
#include "interp/op/arith.h"
#include "interp/eval/call.h"
#include "interp/lower/lower.h"
#include "kernels/blas/blas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REFERENCE_BITS = 256, REFERENCE_BITS_MAX = 4096, GUARD_BITS = 10 };
#define CHECK_SECONDS 10.0           /* a reference that takes longer is not run a second time */

/* ---- lowering ---- */
typedef struct CompareSite {
    FnSite fn;
    const char **labels;             /* of the entries, as written; the last is the reference's */
    const char **words;              /* what stands before a format that a variable holds, */
    const char **modifiers;          /* and behind it */
    bool *variable;                  /* the format's name stands for what is written */
} CompareSite;

/* Source text with its blanks as one each. */
static const char *text_between(Lower *lo, uint32_t from, uint32_t to)
{
    const char *text = lo->chunk->source->text;
    char *out = lower_alloc(lo, to - from + 1), *at = out;
    for (uint32_t i = from; i < to; i++) {
        bool blank = ascii_space(text[i]);
        if (blank && (at == out || at[-1] == ' '))
            continue;
        *at++ = blank ? ' ' : text[i];
    }
    while (at > out && at[-1] == ' ')
        at--;
    *at = '\0';
    return out;
}

/* f32, float(5, 3): the text is the format; of F, dtype(x), formats[0] its name says more. */
static bool says_itself(Interp *in, const Node *format)
{
    const Node *name = format->kind == ND_CALL ? format->a : format;
    if (name->kind != ND_NAME)
        return false;
    if (format->kind != ND_CALL)
        return dtype_find(name->name->text, name->name->len) != DT_NONE;
    const Op *op = op_find(in, name->name);
    return op && op->as_format;
}

static void lower_label(Lower *lo, CompareSite *site, uint32_t i, const Node *n)
{
    const Node *format = scope_has_header(n) ? n->a : n;
    uint32_t from = n->kind == ND_PRECISION ? n->mark.to : n->span.from, behind = format->span.to;
    site->words[i] = n->kind == ND_AUTOCAST ? "autocast " : "";
    while (behind < n->span.to && lo->chunk->source->text[behind] == ')')
        behind++;
    site->labels[i] = text_between(lo, from, n->span.to);
    site->modifiers[i] = text_between(lo, behind, n->span.to);
    site->variable[i] = !says_itself(lo->in, format);
}

/* list: the headers, c: the one after `against`, data: CompareSite. */
const Exec *lower_compare_block(Lower *lo, const Node *n)
{
    CompareSite *site = lower_alloc(lo, sizeof *site);
    Exec *x = exec_new(lo, NULL, n);
    const Exec **list = lower_alloc(lo, (n->count + 1) * sizeof *list);
    site->labels = lower_alloc(lo, (n->count + 1) * sizeof *site->labels);
    site->words = lower_alloc(lo, (n->count + 1) * sizeof *site->words);
    site->modifiers = lower_alloc(lo, (n->count + 1) * sizeof *site->modifiers);
    site->variable = lower_alloc(lo, n->count + 1);
    for (uint32_t i = 0; i < n->count; i++) {
        list[i] = lower_scope_header(lo, n->list[i]);
        lower_label(lo, site, i, n->list[i]);
    }
    if (n->a) {
        x->c = lower_scope_header(lo, n->a);
        lower_label(lo, site, n->count, n->a);
    }
    site->fn = (FnSite){ .code = lower_code(lo, n), .chunk = lo->chunk, .module = lo->module };
    x->eval = eval_compare_block;
    x->list = list;
    x->count = n->count;
    x->data = site;
    return x;
}

/* ---- one run ---- */
static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void solved_clear(Interp *in, LastSolved *s)
{
    v_release(&in->ctx, s->A);
    v_release(&in->ctx, s->b);
    v_release(&in->ctx, s->x);
    s->A = s->b = s->x = v_undef();
}

/* Keeps what a linear system was and its solution. */
static void keep_solved(Interp *in, Solved *heard, const Op *op, const Value *args, int count,
                        Value result)
{
    if (!op->solves || count < 2 || result.tag != V_TENSOR)
        return;
    LastSolved *s = (LastSolved *)(void *)heard;
    solved_clear(in, s);
    s->A = v_retain(args[0]);
    s->b = v_retain(args[1]);
    s->x = v_retain(result);
}

static void keep_failure(Interp *in, CompareRun *r)
{
    Error *e = in->ctx.error;
    Buf text;
    if (e->kind == ERR_INTERRUPT)
        err_rethrow(&in->ctx);
    in->ctx.error = NULL;
    buf_init(&text, &in->ctx);
    ErrFrame frame;
    if (ERR_TRY(&in->ctx, &frame)) {
        buf_printf(&text, "%s: %s", err_kind_name(e->kind), e->message);
        *r->failed = v_str(str_from_buf(&in->ctx, &text));
        ERR_END(&in->ctx, &frame);
        err_free(e);
        return;
    }
    err_free(e);
    buf_free(&text);
    err_rethrow(&in->ctx);
}

/* Forgets what an earlier run left in r. */
static void run_clear(Interp *in, CompareRun *r)
{
    slot_put(in, r->value, v_none());
    slot_put(in, r->failed, v_undef());
    r->backward = NAN;
    r->measured = false;
}

typedef struct Rng { uint64_t key[2], counter; } Rng;

static Rng rng_now(const Interp *in)
{
    return (Rng){ { in->rng.key[0], in->rng.key[1] }, in->rng.counter };
}

static void rng_set(Interp *in, Rng r)
{
    in->rng.key[0] = r.key[0];
    in->rng.key[1] = r.key[1];
    in->rng.counter = r.counter;
}

/* fn's body in r's scope. True: it gave a value. */
static bool run_once(Interp *in, const Exec *x, Compare *c, CompareRun *r, Function *fn)
{
    MemAccount *mem = &in->ctx.mem;
    volatile size_t live, peak = mem->peak;
    volatile double start = seconds_now();
    volatile bool good = false;
    Solved *outer = in->solved;
    Guard g;
    run_clear(in, r);
    solved_clear(in, &c->solved);
    mem->peak = live = mem->live;               /* what the last run left is gone by now */
    guard_enter(in, &g);
    if (ERR_TRY(&in->ctx, &g.frame)) {
        in->solved = &c->solved.heard;
        scope_enter(in, &r->scope);
        stack_room(in, 1);
        v_push(in, function_run(in, x, fn, in->sp, 0));
        *r->value = value_detached_all(in, in->sp[-1]);     /* an entry is a number of its format */
        stack_cut(in, in->sp - 1);
        poll_interrupt(in);
        scope_leave(in, &r->scope);
        ERR_END(&in->ctx, &g.frame);
        good = true;
    } else {
        guard_restore(in, &g);
    }
    r->seconds = seconds_now() - start;
    r->bytes = mem->peak - live;
    mem->peak = mem->peak > peak ? mem->peak : peak;
    in->solved = outer;
    in->at = x;
    if (!good)
        keep_failure(in, r);
    return good;
}

/* The backward error, where the block's value is the solution that was heard last. */
static void measure_backward(Interp *in, const Compare *c, CompareRun *r)
{
    const LastSolved *s = &c->solved;
    if (s->x.tag == V_TENSOR && r->value->tag == V_TENSOR && r->value->tensor == s->x.tensor)
        r->backward = accuracy_backward(in, s->A, s->b, s->x);
}

/* ---- the reference ---- */
static void run_silently(Interp *in, const Exec *x, Compare *c, CompareRun *r, Function *fn,
                         Rng rng)
{
    bool mute = in->out_mute;
    rng_set(in, rng);
    in->out_mute = true;
    run_once(in, x, c, r, fn);
    in->out_mute = mute;
}

static int widest_bits(const Compare *c)
{
    int most = 53;
    for (int i = 0; i < c->count; i++) {
        DType format = scope_format(&c->runs[i].scope);
        int bits = accuracy_bits(format);
        most = bits > most && format != DT_RATIONAL ? bits : most;
    }
    return most;
}

static void reference_failed(Compare *c, const CompareRun *r)
{
    snprintf(c->why, sizeof c->why, "%.40s fails: %.140s", r->label, r->failed->str->text);
}

static void reference_precision(CompareRun *r, int bits)
{
    r->scope = scope_of(dtype_mp(bits));
    snprintf(r->name, sizeof r->name, "mp(%d)", bits);
    r->label = r->name;
}

/* Two runs whose precisions are a factor of two apart have to agree in more digits than any
 * entry has. The second one's slots are in `check`; its value replaces the first one's. */
static bool reference_default(Interp *in, const Exec *x, Compare *c, CompareRun *check,
                              Function *fn, Rng rng)
{
    CompareRun *r = &c->reference;
    int widest = widest_bits(c), bits = REFERENCE_BITS;
    if (bits < 2 * widest + 64)
        bits = 2 * widest + 64 < MP_BITS_MAX / 4 ? 2 * widest + 64 : MP_BITS_MAX / 4;
    int most = bits * 2 > REFERENCE_BITS_MAX ? bits * 2 : REFERENCE_BITS_MAX;
    double enough = (widest + GUARD_BITS) * 0.30103;
    reference_precision(r, bits);
    run_silently(in, x, c, r, fn, rng);
    while (r->failed->tag == V_UNDEF) {
        if (r->seconds > CHECK_SECONDS) {
            c_snprintf(c->why, sizeof c->why, "not checked in more bits: it took %.0f s",
                       r->seconds);
            return true;
        }
        reference_precision(check, 2 * bits);
        run_silently(in, x, c, check, fn, rng);
        if (check->failed->tag != V_UNDEF) {
            snprintf(c->why, sizeof c->why, "not checked in more bits: mp(%d) fails", 2 * bits);
            return true;
        }
        double agree = accuracy_of(in, *r->value, *check->value).digits;
        slot_put(in, r->value, v_retain(*check->value));
        r->seconds = check->seconds;
        if (agree >= enough)
            return true;
        bits *= 2;
        reference_precision(r, bits);
        if (bits >= most) {
            c_snprintf(c->why, sizeof c->why,
                     "mp(%d) and mp(%d) agree in %.1f digits only: nothing to trust", bits / 2,
                     bits, agree);
            return true;
        }
    }
    reference_failed(c, r);
    return false;
}

/* The first entry that works is the reference. */
static void reference_from_entries(Interp *in, Compare *c)
{
    for (int i = 0; i < c->count; i++) {
        CompareRun *r = &c->runs[i];
        if (r->failed->tag != V_UNDEF)
            continue;
        slot_put(in, c->reference.value, v_retain(*r->value));
        slot_put(in, c->reference.failed, v_undef());
        c->reference.label = r->label;
        c->from_first = true;
        return;
    }
}

/* Beyond them the reference's own roundings count: 0.3 of decimal(3) is nearer to 3/10 than it. */
static double reference_digits(const Compare *c)
{
    DType dt = scope_format(&c->reference.scope);
    return !c->from_first && dtype_base(dt) == DT_MP ? 0.30103 * (dtype_digits(dt) - 3) : INFINITY;
}

/* The library behind linear algebra takes milliseconds to load: that is no entry's time. */
static uint64_t algebra_calls(Interp *in)
{
    uint64_t calls = 0;
    for (int i = 0; i < op_count(in); i++)
        if (op_row(in, i)->sizes != SIZES_ELEMENTS)
            calls += op_record(in, op_row(in, i))->calls;
    return calls;
}

/* ---- all of it ---- */
static void read_header(Interp *in, const CompareSite *site, const Exec *header, uint32_t i,
                        CompareRun *r)
{
    scope_header_read(in, header, &r->scope);
    r->scope.counts = true;
    r->label = site->labels[i];
    if (!site->variable[i])
        return;
    snprintf(r->name, sizeof r->name, "%s%s%s%s", site->words[i],
             dtype_name(scope_format(&r->scope)), site->modifiers[i][0] ? " " : "",
             site->modifiers[i]);
    r->label = r->name;
}

/* Room for a value and a failure on the stack. */
static void run_slots(Interp *in, CompareRun *r)
{
    r->value = in->sp;
    v_push(in, v_none());
    r->failed = in->sp;
    v_push(in, v_undef());
    r->backward = NAN;
}

static void read_headers(Interp *in, const Exec *x, Compare *c)
{
    const CompareSite *site = x->data;
    for (int i = 0; i < c->count; i++)
        read_header(in, site, x->list[i], (uint32_t)i, &c->runs[i]);
    if (x->c)
        read_header(in, site, x->c, x->count, &c->reference);
    stack_room(in, 2 * (size_t)c->count + 8);
    for (int i = 0; i < c->count; i++)
        run_slots(in, &c->runs[i]);
    run_slots(in, &c->reference);
}

/* False: it failed, and an entry has to be the reference. */
static bool run_reference(Interp *in, const Exec *x, Compare *c, Function *fn, Rng rng)
{
    CompareRun check = { 0 };
    Value *mark = in->sp;
    bool found = true;
    if (!x->c) {
        run_slots(in, &check);
        found = reference_default(in, x, c, &check, fn, rng);
        stack_cut(in, mark);
        return found;
    }
    run_silently(in, x, c, &c->reference, fn, rng);
    if (c->reference.failed->tag == V_UNDEF)
        return true;
    reference_failed(c, &c->reference);
    return false;
}

/* Leaves the random numbers as if the block had run once. */
static void run_entries(Interp *in, const Exec *x, Compare *c, Function *fn, Rng rng)
{
    Rng after = rng;
    for (int i = 0; i < c->count; i++) {
        rng_set(in, rng);
        in->out_heading = c->runs[i].label;
        if (run_once(in, x, c, &c->runs[i], fn))
            measure_backward(in, c, &c->runs[i]);
        in->out_heading = NULL;
        after = i == 0 ? rng_now(in) : after;
    }
    rng_set(in, after);
}

static void measure_entries(Interp *in, Compare *c)
{
    for (int i = 0; i < c->count && c->reference.failed->tag == V_UNDEF; i++) {
        CompareRun *r = &c->runs[i];
        if (r->failed->tag != V_UNDEF)
            continue;
        r->accuracy = accuracy_of(in, *r->value, *c->reference.value);
        r->measured = true;
        if (r->accuracy.digits > reference_digits(c))
            r->accuracy = (Accuracy){ 0, INFINITY };
    }
}

static Value compare_all(Interp *in, const Exec *x, Compare *c)
{
    const FnSite *site = &((const CompareSite *)x->data)->fn;
    const char *heading = in->out_heading;      /* of a compare around this one */
    in->at = x;
    if (in->rng.key[1] == 0)
        interp_seed(in);
    Rng rng = rng_now(in);
    read_headers(in, x, c);              /* draws the seeds of stochastic rounding */
    Function *fn = function_new(in, site->code, site->chunk, site->module);
    v_push(in, (Value){ .tag = V_FUNCTION, .fn = fn });
    uint64_t calls = algebra_calls(in);
    bool found = run_reference(in, x, c, fn, rng);
    if (algebra_calls(in) != calls)
        lapack_open(NULL);
    run_entries(in, x, c, fn, rng);
    if (!found)
        reference_from_entries(in, c);
    measure_entries(in, c);
    in->out_heading = heading;
    compare_print(in, c);
    return compare_data(in, c);
}

Value eval_compare_block(Interp *in, const Exec *x)
{
    Ctx *ctx = &in->ctx;
    Compare *c = mem_zalloc(ctx, sizeof *c);
    c->count = (int)x->count;
    c->solved = (LastSolved){ { keep_solved }, v_undef(), v_undef(), v_undef() };
    Solved *outer = in->solved;
    const char *heading = in->out_heading;
    bool mute = in->out_mute;
    Value *mark = in->sp;
    Guard g;
    guard_enter(in, &g);
    if (ERR_TRY(ctx, &g.frame)) {
        c->runs = mem_zalloc(ctx, (size_t)c->count * sizeof *c->runs);
        Value result = compare_all(in, x, c);
        ERR_END(ctx, &g.frame);
        solved_clear(in, &c->solved);
        mem_free(ctx, c->runs, (size_t)c->count * sizeof *c->runs);
        mem_free(ctx, c, sizeof *c);
        stack_drop(in, mark);
        return result;
    }
    guard_restore(in, &g);
    in->solved = outer;
    in->out_heading = heading;
    in->out_mute = mute;
    solved_clear(in, &c->solved);
    if (c->runs)
        mem_free(ctx, c->runs, (size_t)c->count * sizeof *c->runs);
    mem_free(ctx, c, sizeof *c);
    err_rethrow(ctx);
}
