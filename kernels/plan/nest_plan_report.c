/* What a plan of a nest says of itself: each step in the notation of the user, and the work of the
 * nest written out without any plan. */
#include "kernels/plan/nest_plan.h"

#include "core/system/c_locale.h"
#include "kernels/cast/tensor_cast.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Text that stops at the end of its room with an ellipsis. */
typedef struct Text {
    char *at;
    size_t len, cap;
    bool full;
    const Nest *n;
    const void *const *data;
    int depth;
} Text;

static void __attribute__((format(printf, 2, 3))) put(Text *t, const char *fmt, ...)
{
    static const char more[] = "…";
    va_list args;
    if (t->full)
        return;
    va_start(args, fmt);
    int n = c_vsnprintf(t->at + t->len, t->cap - t->len, fmt, args);
    va_end(args);
    if (n >= 0 && t->len + (size_t)n + sizeof more <= t->cap) {
        t->len += (size_t)n;
        return;
    }
    t->full = true;
    memcpy(t->at + t->len, more, sizeof more);
}

/* ---- elements ---- */

static int64_t magnitude(int64_t x)
{
    return x < 0 ? -x : x;
}

/* Indices from the slowest to the fastest; those that move alike share a place: x[i+k]. */
static void put_load(Text *t, const NestLoad *load, const char *own)
{
    uint64_t left = 0;
    for (int i = 0; i < t->n->indices; i++)
        left |= (uint64_t)(load->stride[i] != 0) << i;
    put(t, "%s", load->name[0] ? load->name : own);
    const char *between = "[";
    for (int g = 0; g < load->gathers; g++, between = ", ")
        put(t, "%s…", between);                 /* a table of places, by the gather's indices */
    for (; left; between = ",") {
        int64_t most = 0;
        for (uint64_t s = left; s; s &= s - 1)
            if (magnitude(load->stride[__builtin_ctzll(s)]) > most)
                most = magnitude(load->stride[__builtin_ctzll(s)]);
        put(t, "%s", between);
        bool first = true;
        for (uint64_t s = left; s; s &= s - 1) {
            int i = __builtin_ctzll(s);
            if (magnitude(load->stride[i]) != most)
                continue;
            put(t, "%s%s", load->stride[i] < 0 ? "-" : first ? "" : "+", t->n->index[i].name);
            first = false;
            left &= ~(UINT64_C(1) << i);
        }
    }
    if (between[0] != '[')
        put(t, "]");
}

static void put_const(Text *t, const NestNode *x)
{
    const void *cell = t->data ? t->data[x->slot] : NULL;
    char kind = dtype_info(x->dtype)->kind;
    if (!cell) {
        put(t, "c%d", x->slot);
    } else if (kind == 'c') {
        double _Complex z = element_c128((DType)x->dtype, cell);
        put(t, "(%g%+gi)", __real__ z, __imag__ z);
    } else if (kind == 'f') {
        put(t, "%.6g", element_f64((DType)x->dtype, cell));
    } else {
        put(t, "%" PRId64, element_i64((DType)x->dtype, cell));
    }
}

/* ---- operations ---- */

enum { LOOSE, BITS, COMPARED, SUM, PRODUCT, PREFIX, POWER, ATOM };

static const struct { EwOp op; const char *sign; int level; } infix[] = {
    { EW_ADD, " + ", SUM }, { EW_SUBTRACT, " - ", SUM }, { EW_MULTIPLY, "*", PRODUCT },
    { EW_DIVIDE, "/", PRODUCT }, { EW_FLOOR_DIVIDE, "//", PRODUCT }, { EW_MOD, "%", PRODUCT },
    { EW_POWER, "^", POWER }, { EW_EQUAL, " == ", COMPARED }, { EW_NOT_EQUAL, " != ", COMPARED },
    { EW_LESS, " < ", COMPARED }, { EW_LESS_EQUAL, " <= ", COMPARED },
    { EW_GREATER, " > ", COMPARED }, { EW_GREATER_EQUAL, " >= ", COMPARED },
    { EW_BITAND, " & ", BITS }, { EW_BITOR, " | ", BITS },
};

static void put_node(Text *t, int x, int level);

static void put_infix(Text *t, const NestNode *x, const char *sign, int mine, int level)
{
    if (mine < level)
        put(t, "(");
    put_node(t, x->arg[0], mine == POWER ? ATOM : mine);
    put(t, "%s", sign);
    put_node(t, x->arg[1], mine + 1 > ATOM ? ATOM : mine + (mine != POWER));
    if (mine < level)
        put(t, ")");
}

static void put_ew(Text *t, const NestNode *x, int level)
{
    for (size_t k = 0; k < sizeof infix / sizeof infix[0]; k++)
        if (infix[k].op == (EwOp)x->op) {
            put_infix(t, x, infix[k].sign, infix[k].level, level);
            return;
        }
    if (x->op == EW_NEGATIVE) {
        put(t, level > PREFIX ? "(-" : "-");
        put_node(t, x->arg[0], PREFIX);
        put(t, level > PREFIX ? ")" : "");
        return;
    }
    if (x->op == EW_POSITIVE) {
        put_node(t, x->arg[0], level);
        return;
    }
    put(t, "%s(", ew_info[x->op].name);
    for (int k = 0; k < x->args; k++) {
        put(t, "%s", k ? ", " : "");
        put_node(t, x->arg[k], LOOSE);
    }
    put(t, ")");
}

static void put_bound(Text *t, const char *word, uint64_t bound)
{
    const char *between = "[";
    put(t, "%s", word);
    for (uint64_t s = bound; s; s &= s - 1, between = ",")
        put(t, "%s%s", between, t->n->index[__builtin_ctzll(s)].name);
    put(t, "] ");
}

static void put_reduce(Text *t, const NestNode *x, int level)
{
    put(t, "%s", level > PRODUCT ? "(" : "");
    put_bound(t, nest_reductions[x->op].word, x->bound);
    put_node(t, x->arg[0], PRODUCT);
    put(t, "%s", level > PRODUCT ? ")" : "");
}

/* Casts change no number that a reader cares for, but narrowing ones. */
static void put_cast(Text *t, const NestNode *x, int level)
{
    const NestNode *from = &t->n->node[x->arg[0]];
    if (dtype_info(x->dtype)->rank >= dtype_info(from->dtype)->rank) {
        put_node(t, x->arg[0], level);
        return;
    }
    put(t, "%s(", dtype_name(x->dtype));
    put_node(t, x->arg[0], LOOSE);
    put(t, ")");
}

static void put_node(Text *t, int id, int level)
{
    const NestNode *x = &t->n->node[id];
    if (t->full)
        return;
    if (++t->depth > 60)
        put(t, "…");
    else if (x->kind == NEST_CONST)
        put_const(t, x);
    else if (x->kind == NEST_INDEX)
        put(t, "%s", t->n->index[x->slot].name);
    else if (x->kind == NEST_LOAD)
        put_load(t, &t->n->load[x->slot], "x");
    else if (x->kind == NEST_CAST)
        put_cast(t, x, level);
    else if (x->kind == NEST_EW)
        put_ew(t, x, level);
    else
        put_reduce(t, x, level);
    t->depth--;
}

/* A node in the user's notation; data (may be NULL) shows constants as numbers. */
static void plan_text(const Nest *n, int x, const void *const *data, char *out, size_t cap)
{
    Text t = { .at = out, .cap = cap, .n = n, .data = data };
    out[0] = 0;
    put_node(&t, x, LOOSE);
}

/* ---- steps ---- */

static void put_left(Text *t, const char *name, uint64_t axes)
{
    const char *between = "[";
    put(t, "%s", name);
    for (uint64_t s = axes; s; s &= s - 1, between = ",")
        put(t, "%s%s", between, t->n->index[__builtin_ctzll(s)].name);
    put(t, axes ? "] = " : " = ");
}

/* A contraction that is no sum of products of two: by its own signs. */
static void put_reduced(const NestPlan *p, const PlanStep *s, const char *name,
                        const void *const *data, char *out, size_t cap)
{
    static const struct { const char *reduce, *combine; } words[SR_COUNT] = {
        [SR_PLUS_TIMES] = { "sum", "*" }, [SR_MIN_PLUS] = { "min", " + " },
        [SR_MAX_PLUS] = { "max", " + " }, [SR_MIN_TIMES] = { "min", "*" },
        [SR_MAX_TIMES] = { "max", "*" }, [SR_MIN_MAX] = { "min", "maximum(" },
        [SR_MAX_MIN] = { "max", "minimum(" }, [SR_OR_AND] = { "any", " & " },
    };
    Text t = { .at = out, .cap = cap, .n = p->nest, .data = data };
    const char *combine = words[s->semiring].combine;
    bool call = combine[0] == 'm' && s->inputs > 1;
    put_left(&t, name, s->free);
    put_bound(&t, words[s->semiring].reduce, s->bound);
    put(&t, "%s", call ? combine : s->inputs > 1 && combine[0] == ' ' ? "(" : "");
    for (int k = 0; k < s->inputs; k++) {
        put(&t, "%s", k ? call ? ", " : combine : "");
        put_node(&t, s->factor[k], LOOSE);
    }
    put(&t, s->inputs > 1 && (call || combine[0] == ' ') ? ")" : "");
}

static void report_stage(const PlanStep *s, const char *name, const void *const *data,
                         ReportStep *r)
{
    const NestNode *root = &s->nest->node[s->nest->root];
    Text t = { .at = r->what, .cap = sizeof r->what, .n = s->nest };
    nest_stage_report(s->stage, r);
    int rank = s->nest->out_rank;
    put_left(&t, name, rank == 64 ? ~UINT64_C(0) : (UINT64_C(1) << rank) - 1);
    size_t n = strlen(r->what);
    plan_text(s->nest, s->nest->root, data, r->what + n, sizeof r->what - n);
    if (root->kind == NEST_CAST)
        root = &s->nest->node[root->arg[0]];
    if (root->kind == NEST_LOAD && !s->nest->load[root->slot].gathers) {
        snprintf(r->kind, sizeof r->kind, "copy");
        r->copied = r->written;
    }
}

static void report_fold(const NestPlan *p, const PlanStep *s, const char *name, ReportStep *r)
{
    const NestNode *node = &p->nest->node[s->node];
    const Tensor *in = s->fold_in, *to = s->fold_out;
    Text t = { .at = r->what, .cap = sizeof r->what, .n = p->nest };
    put_left(&t, name, node->free);
    put_node(&t, s->node, LOOSE);
    snprintf(r->kind, sizeof r->kind, "reduction");
    strcpy(r->kernel.by, "own kernel");
    snprintf(r->kernel.how, sizeof r->kernel.how, "%lld of %lld elements", (long long)to->size,
             (long long)(to->size ? in->size / to->size : 0));
    r->flops = (double)in->size * (dtype_info(in->dtype)->kind == 'c' ? 2 : 1);
    r->read = (double)in->size * dtype_info(in->dtype)->bytes;
    r->written = (double)to->size * dtype_info(to->dtype)->bytes;
    r->seconds = plan_fold_seconds(s);
}

static void report_attention(const NestPlan *p, const PlanStep *s, const char *name,
                             const void *const *data, ReportStep *r)
{
    Text t = { .at = r->what, .cap = sizeof r->what, .n = p->nest, .data = data };
    put_left(&t, name, p->nest->node[s->node].free);
    put_node(&t, s->node, LOOSE);
    plan_attention_report(s, r);
}

/* ---- the nest as it stands ---- */

static double shared_work(const Nest *n, int x, double *memo)
{
    const NestNode *node = &n->node[x];
    double work = 0;
    if (memo[x] >= 0)
        return memo[x];
    for (int k = 0; k < node->args; k++)
        work += shared_work(n, node->arg[k], memo);
    if (node->kind == NEST_EW)
        work += (dtype_info(node->compute)->kind == 'c' ? node->op == EW_MULTIPLY ? 6 : 2 : 1);
    if (node->kind == NEST_REDUCE)
        work = plan_size(n, node->bound) *
               (work + (dtype_info(node->compute)->kind == 'c' ? 2 : 1));
    return memo[x] = work;
}

/* Operations of the loops as written: every result's element from scratch. */
static double naive_flops(const NestPlan *p)
{
    enum { NODES = 512 };
    double memo[NODES], results = 1;
    if (p->root >= NODES)
        return 0;
    for (int i = 0; i < NODES; i++)
        memo[i] = -1;
    for (int i = 0; i < p->nest->out_rank; i++)
        results *= (double)p->nest->index[i].extent;
    return results * shared_work(p->nest, p->root, memo);
}

void nest_report(const NestPlan *p, const void *const *data, Report *r)
{
    if (p->rows)
        plan_rows_report(p, data, r);
    if (p->full[0])
        memcpy(r->attention, p->full, sizeof p->full);
    for (int i = 0; i < p->steps; i++) {
        const PlanStep *s = &p->step[i];
        bool temp = s->out > p->slots;
        if (s->attention)
            plan_attention_text(s, r->attention, sizeof r->attention);
        const PlanTemp *t = temp ? &p->temp[s->out - p->slots - 1] : NULL;
        const char *name = t ? t->name : p->nest->result[0] ? p->nest->result : "result";
        if (s->contract) {
            contract_report(s->contract, name, r);
            if (r->steps && (s->inputs == 1 || s->semiring != SR_PLUS_TIMES))
                put_reduced(p, s, name, data, r->step[r->steps - 1].what, REPORT_TEXT);
            if (t && t->first == i && r->steps)
                r->step[r->steps - 1].temporary = (double)t->bytes;
            continue;
        }
        ReportStep *step = report_add(r);
        if (s->fold_in)
            report_fold(p, s, name, step);
        else if (s->attention)
            report_attention(p, s, name, data, step);
        else
            report_stage(s, name, data, step);
        if (t && t->first == i)
            step->temporary = (double)t->bytes;
    }
    r->naive_flops = naive_flops(p);
}
