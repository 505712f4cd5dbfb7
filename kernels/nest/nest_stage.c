/* Stages: the doors of nest.h. A stage is planned once (nest_stage_plan.c), compiled to vector
 * programs (nest_stage_compile.c) and run on any data of that layout (nest_stage_run.c).
 * Constant exponents are taken for 2 while planning, squares being by far the most frequent
 * powers; a second program without that is there for other data. Nests that no stage can hold
 * (a reduction inside of another that moves with it) run through nest_reference. */
#include "kernels/nest/nest_stage.h"

#include "core/base/error.h"
#include "kernels/cast/tensor_cast.h"
#include "kernels/tensor/cpu.h"

#include <stdio.h>
#include <string.h>

const StageKernels *stage_kernels(void)
{
#ifdef __x86_64__
    CpuIsa isa = cpu_isa();
    if (isa == ISA_AVX512)
        return &stage_avx512;
    if (isa == ISA_AVX2)
        return &stage_avx2;
#endif
    return &stage_base;
}

/* ---- making and freeing ---- */

static Nest *copy_nest(Ctx *ctx, StageCode *c, const Nest *from)
{
    Nest *n = c->nest = mem_zalloc(ctx, sizeof *n);
    *n = *from;
    n->node = NULL;
    n->load = NULL;
    n->node_cap = n->load_cap = n->loads = 0;
    n->node = mem_alloc(ctx, (size_t)from->nodes * sizeof *n->node);
    n->node_cap = from->nodes;
    memcpy(n->node, from->node, (size_t)from->nodes * sizeof *n->node);
    if (from->loads == 0)
        return n;
    n->load = mem_alloc(ctx, (size_t)from->loads * sizeof *n->load);
    n->load_cap = from->loads;
    for (int i = 0; i < from->loads; i++) {
        NestLoad *l = &n->load[i];
        *l = from->load[i];
        l->gathers = 0;
        l->gather = NULL;
        n->loads = i + 1;
        if (from->load[i].gathers == 0)
            continue;
        size_t bytes = (size_t)from->load[i].gathers * sizeof *l->gather;
        l->gather = mem_alloc(ctx, bytes);
        l->gathers = from->load[i].gathers;
        memcpy(l->gather, from->load[i].gather, bytes);
    }
    return n;
}

static void free_program(Ctx *ctx, StageProgram *p)
{
    if (p->step)
        mem_free(ctx, p->step, (size_t)p->cap * sizeof *p->step);
    if (p->link)
        mem_free(ctx, p->link, (size_t)p->link_cap * sizeof *p->link);
}

#define FREE(field, count) do { \
        if (c->field) \
            mem_free(ctx, c->field, (size_t)(count) * sizeof *c->field); \
    } while (0)

static void free_code(Ctx *ctx, StageCode *c)
{
    if (!c)
        return;
    int nodes = c->nest ? c->nest->nodes : 0, loads = c->nest ? c->nest->loads : 0;
    free_program(ctx, &c->main);
    for (int g = 0; g < c->groups; g++)
        free_program(ctx, &c->group[g].program);
    FREE(group, c->capacity);
    FREE(reduction, c->capacity);
    FREE(value, c->value_cap);
    FREE(term, c->term_cap);
    FREE(table, c->table_cap);
    FREE(constant, c->const_cap);
    FREE(used, nodes);
    FREE(uses, nodes);
    FREE(memo, 3 * nodes);
    FREE(pack, loads + 1);
    nest_free(ctx, c->nest);
    mem_free(ctx, c, sizeof *c);
}

/* x^2 with a constant 2 as the product that the kernel of powers would make of it. */
static void take_squares(NestStage *s, Nest *n)
{
    for (int k = 0; k < n->nodes; k++) {
        NestNode *node = &n->node[k];
        if (node->kind != NEST_EW || node->op != EW_POWER || dtype_info(node->compute)->kind == 'c')
            continue;
        const NestNode *two = &n->node[node->arg[1]];
        while (two->kind == NEST_CAST)
            two = &n->node[two->arg[0]];
        if (two->kind != NEST_CONST || s->squares == STAGE_SQUARES)
            continue;
        s->square[s->squares] = two->slot;
        s->square_dtype[s->squares++] = (DType)two->dtype;
        node->op = EW_MULTIPLY;
        node->arg[1] = node->arg[0];
    }
}

static bool is_plain(const StageCode *c)
{
    uint64_t axes = c->nest->out_rank == 64 ? ~UINT64_C(0)
                                            : (UINT64_C(1) << c->nest->out_rank) - 1;
    for (int k = 0; k < c->nest->nodes; k++)
        if (c->used[k] && c->nest->node[k].kind == NEST_REDUCE && c->nest->node[k].free & ~axes)
            return true;
    for (int l = 0; l < c->nest->loads; l++)
        if (c->nest->load[l].gathers > TENSOR_RANK_MAX)
            return true;
    return false;
}

static void make_code(Ctx *ctx, StageCode *c, const int64_t *out_stride)
{
    Nest *n = c->nest;
    size_t nodes = (size_t)n->nodes;
    int64_t next = 1;
    for (int i = n->out_rank - 1; i >= 0; i--) {
        c->out_stride[i] = out_stride ? out_stride[i] : next;
        next *= n->index[i].extent;
    }
    c->used = mem_zalloc(ctx, nodes * sizeof *c->used);
    c->uses = mem_zalloc(ctx, nodes * sizeof *c->uses);
    c->memo = mem_alloc(ctx, 3 * nodes * sizeof *c->memo);
    stage_canonical(c);
    c->plain = c->size > 0 && is_plain(c);
    for (int i = 0; c->plain && i < n->indices; i++)
        c->seconds = (c->seconds > 0 ? c->seconds : 200e-9) * (double)n->index[i].extent;
    if (c->size == 0 || c->plain)
        return;
    stage_choose(ctx, c);
    stage_compile(ctx, c);
}

NestStage *nest_stage_plan(Ctx *ctx, const Nest *nest, const int64_t *out_stride)
{
    NestStage *volatile stage = NULL;
    ErrFrame frame;
    if (!ERR_TRY(ctx, &frame)) {
        nest_stage_free(ctx, stage);
        err_rethrow(ctx);
    }
    NestStage *s = stage = mem_zalloc(ctx, sizeof *s);
    s->code = mem_zalloc(ctx, sizeof *s->code);
    copy_nest(ctx, s->code, nest);
    take_squares(s, s->code->nest);
    make_code(ctx, s->code, out_stride);
    if (s->squares) {
        s->general = mem_zalloc(ctx, sizeof *s->general);
        copy_nest(ctx, s->general, nest);
        make_code(ctx, s->general, out_stride);
    }
    ERR_END(ctx, &frame);
    return s;
}

void nest_stage_free(Ctx *ctx, NestStage *s)
{
    if (!s)
        return;
    free_code(ctx, s->code);
    free_code(ctx, s->general);
    mem_free(ctx, s, sizeof *s);
}

/* ---- running ---- */

const StageCode *stage_which(const NestStage *s, const void *const *data)
{
    for (int i = 0; i < s->squares; i++)
        if (element_f64(s->square_dtype[i], data[s->square[i]]) != 2)
            return s->general;
    return s->code;
}

EwTrouble nest_stage_run(Ctx *ctx, const NestStage *s, void *out, const void *const *data)
{
    const StageCode *c = stage_which(s, data);
    if (c->size == 0)
        return EWT_NONE;
    if (STAGE_HOSTILE || c->plain)
        return nest_reference(c->nest, out, c->out_stride, data, ctx->interrupt);
    return stage_run(ctx, c, out, data);
}

/* ---- what it says of itself ---- */

double nest_stage_seconds(const NestStage *s)
{
    return s->code->seconds;
}

static void describe(const StageCode *c, char *out, size_t size)
{
    const Nest *n = c->nest;
    int at = 0, strip = c->main.strip;
    const StageGroup *g = c->groups ? &c->group[0] : NULL;
    if (strip < 0 && g && !g->down)
        strip = g->strip;
    if (c->distances)
        at = snprintf(out, size, "tiles of rows and columns in registers");
    else if (strip >= 0)
        at = snprintf(out, size, "strips of %lld along %s",
                      (long long)(n->index[strip].extent < c->main.strip_length
                                      ? n->index[strip].extent : c->main.strip_length),
                      n->index[strip].name);
    else
        at = snprintf(out, size, "one value");
    if (g && at < (int)size)
        at += snprintf(out + at, size - (size_t)at, "; reduced %s",
                       g->down || c->distances ? "term by term" : "along the strip");
    if (c->main.tile >= 0 && at < (int)size)
        at += snprintf(out + at, size - (size_t)at, "; blocks transposed along %s",
                       n->index[c->main.tile].name);
    if (c->stream && at < (int)size)
        snprintf(out + at, size - (size_t)at, "; written past the cache");
}

void nest_stage_report(const NestStage *s, ReportStep *r)
{
    const StageCode *c = s->code;
    snprintf(r->kind, sizeof r->kind, "%s", c->copy ? "copy" : "loop nest");
    if (c->size == 0)
        strcpy(r->kernel.how, "nothing to do");
    else if (c->plain)
        strcpy(r->kernel.how, "element by element");
    else
        describe(c, r->kernel.how, sizeof r->kernel.how);
    r->flops = c->flops;
    r->read = c->read;
    r->written = c->written;
    r->copied = (double)c->pack_bytes;
    r->seconds = c->seconds;
}
