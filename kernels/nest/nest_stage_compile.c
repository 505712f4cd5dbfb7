/* From a nest whose loops are chosen (nest_stage_plan.c) to programs: each node becomes a step
 * at the level of the innermost loop it depends on, so that nothing is computed again that
 * has not changed; steps get registers, which are used again when their strip has been read
 * for the last time. Pairs of operations that fit in one pass over the strip become one step. */
#include "kernels/nest/nest_stage.h"

#include <string.h>

enum { AHEAD_BYTES = 4 << 20 };     /* of operands, from which on they are fetched ahead */

typedef struct Maker {
    Ctx *ctx;
    StageCode *c;
    const Nest *n;
    StageProgram *p;
    int number;                 /* of the program: 0 main, g + 1 */
    int level[NEST_INDICES];    /* of the loop over an index; 0: outside of this program */
    int *memo;                  /* node -> value in this program, or -1 */
    int *main_value;            /* reductions: node -> value in the main program */
    int *chain;                 /* node -> 0: no link; n + 1: in the chain of node n; else -links */
} Maker;

/* ---- growing lists ---- */

static int add_value(Maker *m, DType dt, bool strip, int level)
{
    StageCode *c = m->c;
    if (c->values == c->value_cap) {
        int cap = c->value_cap ? 2 * c->value_cap : 16;
        c->value = c->value ? mem_realloc(m->ctx, c->value, (size_t)c->value_cap * sizeof *c->value,
                                          (size_t)cap * sizeof *c->value)
                            : mem_alloc(m->ctx, (size_t)cap * sizeof *c->value);
        c->value_cap = cap;
    }
    c->value[c->values] = (StageValue){ .strip = strip, .dtype = (uint8_t)dt, .slot = -1,
                                        .program = m->number, .level = level, .last = -1 };
    return c->values++;
}

static StageStep *add_step(Maker *m, StepKind kind, DType dt, bool strip, int level)
{
    StageProgram *p = m->p;
    if (p->steps == p->cap) {
        int cap = p->cap ? 2 * p->cap : 8;
        p->step = p->step ? mem_realloc(m->ctx, p->step, (size_t)p->cap * sizeof *p->step,
                                        (size_t)cap * sizeof *p->step)
                          : mem_alloc(m->ctx, (size_t)cap * sizeof *p->step);
        p->cap = cap;
    }
    StageStep *s = &p->step[p->steps++];
    *s = (StageStep){ .kind = kind, .level = level, .dtype = (uint8_t)dt, .strip = strip,
                      .bytes = dtype_info(dt)->bytes, .value = -1, .index = -1,
                      .arg = { -1, -1, -1, -1 } };
    return s;
}

static void add_term(Maker *m, int index, int64_t step)
{
    StageCode *c = m->c;
    if (c->terms == c->term_cap) {
        int cap = c->term_cap ? 2 * c->term_cap : 16;
        c->term = c->term ? mem_realloc(m->ctx, c->term, (size_t)c->term_cap * sizeof *c->term,
                                        (size_t)cap * sizeof *c->term)
                          : mem_alloc(m->ctx, (size_t)cap * sizeof *c->term);
        c->term_cap = cap;
    }
    c->term[c->terms++] = (StageTerm){ index, step };
}

static void add_table(Maker *m, StageTable table)
{
    StageCode *c = m->c;
    if (c->tables == c->table_cap) {
        int cap = c->table_cap ? 2 * c->table_cap : 4;
        c->table = c->table ? mem_realloc(m->ctx, c->table, (size_t)c->table_cap * sizeof *c->table,
                                          (size_t)cap * sizeof *c->table)
                            : mem_alloc(m->ctx, (size_t)cap * sizeof *c->table);
        c->table_cap = cap;
    }
    c->table[c->tables++] = table;
}

/* Terms of an address: positions times strides, for all indices but one. */
static int add_terms(Maker *m, const int64_t *stride, int64_t bytes, int but, int *count)
{
    int first = m->c->terms;
    for (int i = 0; i < m->n->indices; i++)
        if (stride[i] && i != but && m->n->index[i].extent > 1)
            add_term(m, i, stride[i] * bytes);
    *count = m->c->terms - first;
    return first;
}

/* ---- where a value belongs ---- */

/* The level of the innermost loop among these indices; the index that folds run down
 * themselves has none. */
static int level_of(const Maker *m, uint64_t free)
{
    int level = 0;
    for (int i = 0; i < m->n->indices; i++)
        if (free >> i & 1 && m->level[i] > level && i != m->p->cover)
            level = m->level[i];
    return level;
}

static bool is_strip(const Maker *m, uint64_t free)
{
    return m->p->strip >= 0 && free >> m->p->strip & 1;
}

static void want_register(Maker *m, int value)
{
    m->c->value[value].wants = m->c->value[value].strip;
}

/* ---- loads ---- */

static int gen_tiled(Maker *m, int load)
{
    const NestLoad *l = &m->n->load[load];
    StageProgram *p = m->p;
    int bytes = dtype_info(l->dtype)->bytes, inside = m->level[p->tile];
    int around = 0;                     /* the level where block and chunk are both known */
    for (int i = 0; i < p->loops; i++)
        if (p->loop[i].kind == LOOP_BLOCK || (p->loop[i].kind == LOOP_CHUNK))
            around = i + 1;
    int block = add_value(m, l->dtype, true, around), value;
    StageStep *s = add_step(m, STEP_PACK, l->dtype, true, around);
    int count, term = add_terms(m, l->stride, bytes, -1, &count);
    s->value = block;
    s->load = load;
    s->index = p->tile;
    s->term = term;
    s->terms = count;
    s->stride = l->stride[p->strip];
    m->c->value[block].pinned = true;
    value = add_value(m, l->dtype, true, p->cover == p->tile ? around : inside);
    s = add_step(m, STEP_DIRECT, l->dtype, true, m->c->value[value].level);
    s->value = value;
    s->arg[0] = block;
    s->stride = 1;
    s->term = m->c->terms;
    s->terms = 1;
    add_term(m, p->tile, p->strip_length * bytes);
    return value;
}

static int gen_gather(Maker *m, const NestNode *node)
{
    const NestLoad *l = &m->n->load[node->slot];
    int bytes = dtype_info(l->dtype)->bytes, level = level_of(m, node->free), count;
    bool strip = is_strip(m, node->free);
    int value = add_value(m, l->dtype, strip, level), first = m->c->tables;
    for (int g = 0; g < l->gathers; g++) {
        const NestGather *gather = &l->gather[g];
        StageTable t = { .slot = gather->slot, .step = gather->step,
                         .stride = m->p->strip >= 0 ? gather->stride[m->p->strip] : 0 };
        t.term = add_terms(m, gather->stride, (int64_t)sizeof(int64_t), -1, &t.terms);
        add_table(m, t);
    }
    int term = add_terms(m, l->stride, bytes, -1, &count);
    StageStep *s = add_step(m, STEP_GATHER, l->dtype, strip, level);
    s->value = value;
    s->load = node->slot;
    s->table = first;
    s->tables = l->gathers;
    s->term = term;
    s->terms = count;
    s->stride = m->p->strip >= 0 ? l->stride[m->p->strip] : 0;
    want_register(m, value);
    return value;
}

/* In place where the strip is contiguous; `strided`: the reader takes any stride. */
static int gen_load(Maker *m, const NestNode *node, bool strided)
{
    const NestLoad *l = &m->n->load[node->slot];
    if (l->gathers)
        return gen_gather(m, node);
    if (stage_tiled(m->c, m->p, node->slot))
        return gen_tiled(m, node->slot);
    const int64_t *stride = stage_strides(m->c, node->slot);
    int64_t along = m->p->strip >= 0 ? stride[m->p->strip] : 0;
    bool direct = strided || along == 0 || along == 1;
    int level = level_of(m, node->free), count;
    int still = m->c->pack[node->slot].repeats ? m->c->period_index : -1;
    int term = add_terms(m, stride, dtype_info(l->dtype)->bytes, still, &count);
    int value = add_value(m, l->dtype, is_strip(m, node->free), level);
    StageStep *s = add_step(m, direct ? STEP_DIRECT : STEP_COLLECT, l->dtype, along != 0, level);
    s->value = value;
    s->load = node->slot;
    s->term = term;
    s->terms = count;
    s->stride = along;
    if (!direct)
        want_register(m, value);
    return value;
}

/* ---- operations ---- */

static int gen(Maker *m, int id);

static int chain_of(const Maker *m, int id)
{
    while (m->chain[id] > 0)
        id = m->chain[id] - 1;
    return id;
}

/* Nodes next to each other that may become links of one chain. */
static void mark_chains(Maker *m)
{
    for (int id = 0; id < m->n->nodes; id++) {
        const NestNode *node = &m->n->node[id];
        bool links = node->kind == NEST_EW && is_strip(m, node->free) && stage_is_link(
            (EwOp)node->op, node->args, (DType)node->compute, node->watch);
        m->chain[id] = links ? -1 : 0;
        for (int k = 0; links && k < node->args; k++) {
            const NestNode *x = &m->n->node[node->arg[k]];
            int other = chain_of(m, node->arg[k]);
            if (m->chain[other] == 0 || other == id || x->compute != node->compute ||
                level_of(m, x->free) != level_of(m, node->free))
                continue;
            m->chain[id] += m->chain[other];
            m->chain[other] = id + 1;
        }
    }
}

static int gen_spread(Maker *m, int value)
{
    const StageValue *v = &m->c->value[value];
    if (v->strip)
        return value;
    DType dt = (DType)v->dtype;
    int level = v->level;
    if (v->program != m->number)
        level = 0;
    int strip = add_value(m, dt, true, level);
    StageStep *s = add_step(m, STEP_SPREAD, dt, true, level);
    s->value = strip;
    s->arg[0] = value;
    s->args = 1;
    if (m->level[m->p->strip] > level) {        /* the strip's length is not known there */
        int64_t extent = m->n->index[m->p->strip].extent;
        s->stride = extent < m->p->strip_length ? extent : m->p->strip_length;
    }
    want_register(m, strip);
    return strip;
}

static const NestNode *once(const Maker *m, int id, EwOp op, DType dt, uint64_t free)
{
    const NestNode *node = &m->n->node[id];
    bool same = level_of(m, node->free) == level_of(m, free) && is_strip(m, node->free);
    return node->kind == NEST_EW && node->op == op && node->compute == dt &&
           m->c->uses[id] == 1 && same ? node : NULL;
}

static TripleForm outer_triple(EwOp op, bool left, bool products)
{
    if (op == EW_ADD)
        return products ? TRIPLE_PRODUCTS : TRIPLE_TIMES_PLUS;
    return products ? TRIPLE_DIFFERENCE : left ? TRIPLE_TIMES_MINUS : TRIPLE_MINUS_TIMES;
}

/* Two or three operations in one pass over the strip: which, and the operands' nodes. */
static TripleForm find_triple(const Maker *m, const NestNode *node, int *in)
{
    DType dt = (DType)node->compute;
    EwOp op = (EwOp)node->op;
    const NestNode *a, *b;
    if ((dt != DT_F32 && dt != DT_F64) || !is_strip(m, node->free) ||
        m->c->sweeps || -m->chain[chain_of(m, (int)(node - m->n->node))] >= CHAIN_SURE)
        return TRIPLE_NONE;
    if (op == EW_RELU && (a = once(m, node->arg[0], EW_ADD, dt, node->free)) && !a->watch) {
        in[0] = a->arg[0];
        in[1] = a->arg[1];
        in[2] = in[3] = -1;
        return TRIPLE_PLUS_RELU;
    }
    if (node->args != 2 || node->arg[0] == node->arg[1])
        return TRIPLE_NONE;
    if (op == EW_ADD || op == EW_SUBTRACT) {
        a = once(m, node->arg[0], EW_MULTIPLY, dt, node->free);
        b = once(m, node->arg[1], EW_MULTIPLY, dt, node->free);
        const NestNode *product = a ? a : b;
        if (!product)
            return TRIPLE_NONE;
        in[0] = product->arg[0];
        in[1] = product->arg[1];
        in[2] = a ? b ? b->arg[0] : node->arg[1] : node->arg[0];
        in[3] = a && b ? b->arg[1] : -1;
        return outer_triple(op, a != NULL, a && b);
    }
    if (op != EW_MULTIPLY)
        return TRIPLE_NONE;
    for (int k = 0; k < 2; k++) {
        a = once(m, node->arg[k], EW_ADD, dt, node->free);
        b = once(m, node->arg[k], EW_SUBTRACT, dt, node->free);
        if (!a && !b)
            continue;
        in[0] = (a ? a : b)->arg[0];
        in[1] = (a ? a : b)->arg[1];
        in[2] = node->arg[1 - k];
        in[3] = -1;
        return a ? TRIPLE_PLUS_TIMES : TRIPLE_LESS_TIMES;
    }
    return TRIPLE_NONE;
}

static int gen_triple(Maker *m, const NestNode *node, StageTriple kernel, const int *in)
{
    int arg[4] = { -1, -1, -1, -1 }, level = level_of(m, node->free);
    int args = 0;
    for (; args < 4 && in[args] >= 0; args++)
        arg[args] = gen_spread(m, gen(m, in[args]));
    arg[2] = args == 2 ? arg[1] : arg[2];
    int value = add_value(m, (DType)node->dtype, true, level);
    StageStep *s = add_step(m, STEP_TRIPLE, (DType)node->dtype, true, level);
    s->value = value;
    s->triple = kernel;
    s->args = (uint8_t)args;
    memcpy(s->arg, arg, sizeof arg);
    want_register(m, value);
    return value;
}

static int gen_ew(Maker *m, const NestNode *node)
{
    int in[4], level = level_of(m, node->free), arg[3] = { -1, -1, -1 };
    bool strip = is_strip(m, node->free);
    TripleForm form = find_triple(m, node, in);
    StageTriple kernel = stage_kernels()->triple[form][node->compute];
    if (form != TRIPLE_NONE && kernel)
        return gen_triple(m, node, kernel, in);
    for (int k = 0; k < node->args; k++) {
        arg[k] = gen(m, node->arg[k]);
        if (strip && node->args == 3)
            arg[k] = gen_spread(m, arg[k]);
    }
    int value = add_value(m, (DType)node->dtype, strip, level);
    StageStep *s = add_step(m, STEP_EW, (DType)node->dtype, strip, level);
    s->value = value;
    s->op = node->op;
    s->from = (uint8_t)node->compute;
    s->args = node->args;
    s->kernel = ew_kernel((EwOp)node->op, (DType)node->compute);
    s->checked = ew_is_checked((EwOp)node->op, (DType)node->compute);
    s->watched = node->watch;
    memcpy(s->arg, arg, sizeof arg);
    want_register(m, value);
    return value;
}

static int gen_cast_value(Maker *m, int arg, DType to, uint64_t free)
{
    int level = level_of(m, free), from = m->c->value[arg].dtype;
    bool strip = is_strip(m, free);
    int value = add_value(m, to, strip, level);
    StageStep *s = add_step(m, STEP_CAST, to, strip, level);
    s->value = value;
    s->from = (uint8_t)from;
    s->arg[0] = arg;
    s->args = 1;
    want_register(m, value);
    return value;
}

static int gen_cast(Maker *m, const NestNode *node)
{
    int id = node->arg[0];
    const NestNode *x = &m->n->node[id];
    bool strided = x->kind == NEST_LOAD && m->c->uses[id] == 1;
    int arg = strided ? gen_load(m, x, true) : gen(m, id);
    return gen_cast_value(m, arg, (DType)node->dtype, node->free);
}

static int gen_number(Maker *m, const NestNode *node)
{
    int level = level_of(m, node->free);
    bool strip = is_strip(m, node->free);
    int value = add_value(m, DT_I64, strip, level);
    StageStep *s = add_step(m, STEP_NUMBER, DT_I64, strip, level);
    s->value = value;
    s->index = node->slot;
    want_register(m, value);
    return value;
}

static int gen_const(Maker *m, int id)
{
    StageCode *c = m->c;
    int value = add_value(m, (DType)m->n->node[id].dtype, false, 0);
    c->constant[c->consts][0] = value;
    c->constant[c->consts++][1] = m->n->node[id].slot;
    return value;
}

/* ---- reductions in the main program ---- */


/* Extremes of 16-bit floats are found in f32: exact, and quicker. */
static DType accumulator(const NestNode *node)
{
    return dtype_half((DType)node->compute) ? DT_F32 : (DType)node->compute;
}

static FoldOp fold_op(NestReduce op)
{
    return op == NEST_SUM ? FOLD_ADD
         : op == NEST_MIN || op == NEST_ALL || op == NEST_ARGMIN ? FOLD_LEAST : FOLD_MOST;
}

static void gen_reduction(Maker *m, StageReduce *r)
{
    const NestNode *node = &m->n->node[r->node];
    bool position = r->op == NEST_ARGMIN || r->op == NEST_ARGMAX, strip = is_strip(m, node->free);
    int level = level_of(m, node->free);
    r->dtype = accumulator(node);
    r->value = add_value(m, position ? DT_I64 : r->dtype, strip, level);
    m->c->value[r->value].wants = strip;
    m->c->value[r->value].pinned = true;
    r->extra = -1;
    r->two_levels = r->op == NEST_SUM && dtype_info(r->dtype)->kind != 'i';
    r->number = m->n->index[r->arg_index].start;
    r->number_step = m->n->index[r->arg_index].step;
    r->ew = ew_kernel(r->op == NEST_PROD ? EW_MULTIPLY : EW_ADD, r->dtype);
    if (strip && (position || r->two_levels)) {
        r->extra = add_value(m, r->dtype, true, level);
        m->c->value[r->extra].wants = true;
        m->c->value[r->extra].pinned = true;
    }
    m->main_value[r->node] = r->value;
    if (!position && r->dtype != (DType)node->dtype)
        m->main_value[r->node] = -1 - r->value;         /* until the cast behind the group's step */
}

/* The step that runs the whole group of this reduction; values of all its reductions. */
static int gen_reduce(Maker *m, int id)
{
    StageCode *c = m->c;
    int group = 0;
    for (int r = 0; r < c->reductions; r++)
        if (c->reduction[r].node == id)
            group = c->reduction[r].group;
    const NestNode *node = &m->n->node[id];
    for (int k = 0; k < m->n->nodes; k++)               /* those inside of the bodies first */
        if (c->used[k] && m->n->node[k].kind == NEST_REDUCE && m->memo[k] < 0)
            for (int r = 0; r < c->reductions; r++)
                if (c->reduction[r].node == k &&
                    c->group[c->reduction[r].group].depth < c->group[group].depth)
                    m->memo[k] = gen_reduce(m, k);
    int level = level_of(m, node->free);
    for (int r = 0; r < c->reductions; r++)
        if (c->reduction[r].group == group)
            gen_reduction(m, &c->reduction[r]);
    StageStep *s = add_step(m, STEP_REDUCE, DT_F64, false, level);
    s->load = group;
    for (int r = 0; r < c->reductions; r++) {
        StageReduce *red = &c->reduction[r];
        const NestNode *its = &m->n->node[red->node];
        if (red->group != group)
            continue;
        if (m->main_value[red->node] < 0)
            m->main_value[red->node] = gen_cast_value(m, red->value, (DType)its->dtype, its->free);
        m->memo[red->node] = m->main_value[red->node];
    }
    return m->memo[id];
}

/* A reduction's value seen from a group's program. */
static int gen_outer(Maker *m, int id)
{
    int value = m->main_value[id];
    StageValue *v = &m->c->value[value];
    v->pinned = true;
    if (!v->strip || !m->c->group[m->number - 1].rows)
        return value;
    int picked = add_value(m, (DType)v->dtype, false, 0);
    StageStep *s = add_step(m, STEP_PICK, (DType)m->c->value[picked].dtype, false, 0);
    s->value = picked;
    s->arg[0] = value;
    s->args = 1;
    return picked;
}

static int gen_new(Maker *m, int id)
{
    const NestNode *node = &m->n->node[id];
    switch ((NestKind)node->kind) {
    case NEST_CONST: return gen_const(m, id);
    case NEST_INDEX: return gen_number(m, node);
    case NEST_LOAD: return gen_load(m, node, false);
    case NEST_CAST: return gen_cast(m, node);
    case NEST_EW: return gen_ew(m, node);
    case NEST_REDUCE: return m->number == 0 ? gen_reduce(m, id) : gen_outer(m, id);
    }
    return -1;
}

static int gen(Maker *m, int id)
{
    if (m->memo[id] < 0)
        m->memo[id] = gen_new(m, id);
    return m->memo[id];
}

/* ---- folds in a group's program ---- */

static const NestNode *ew_node(const Maker *m, int id, EwOp op, DType dt, int uses)
{
    const NestNode *node = &m->n->node[id];
    return node->kind == NEST_EW && node->op == op && node->compute == dt &&
           m->c->uses[id] == uses ? node : NULL;
}

/* What is folded, if it is more than a value: the operands' nodes. */
static FoldForm find_form(const Maker *m, const StageReduce *r, int id, int *in)
{
    const NestNode *f = &m->n->node[id], *sub;
    FoldOp op = fold_op(r->op);
    FoldForm form = FORM_X;
    in[0] = id;
    in[1] = -1;
    if (f->kind != NEST_EW || m->c->uses[id] != 1 || f->compute != r->dtype ||
        r->op == NEST_PROD || r->op == NEST_ARGMIN || r->op == NEST_ARGMAX)
        return FORM_X;
    if (f->op == EW_MULTIPLY && op == FOLD_ADD) {
        form = FORM_TIMES;
        sub = ew_node(m, f->arg[0], EW_SUBTRACT, r->dtype, 2);
        if (f->arg[0] == f->arg[1] && sub) {
            form = FORM_SQUARE;
            f = sub;
        }
    } else if (f->op == EW_ADD && op != FOLD_ADD) {
        form = FORM_PLUS;
    } else if (f->op == EW_ABS && (sub = ew_node(m, f->arg[0], EW_SUBTRACT, r->dtype, 1))) {
        form = FORM_APART;
        f = sub;
    }
    if (form == FORM_X || !stage_kernels()->fold[op][form][r->dtype].down)
        return FORM_X;
    in[0] = f->arg[0];
    in[1] = f->arg[1];
    return form;
}

/* A fold may run down index k by itself if the operand is constant there or lies in a tensor. */
static bool covers(const Maker *m, int id, int k, DType dt)
{
    const NestNode *node = &m->n->node[id];
    if (!(node->free >> k & 1))
        return true;
    if (node->kind != NEST_LOAD || m->n->load[node->slot].gathers || node->dtype != dt)
        return false;
    int64_t along = stage_strides(m->c, node->slot)[m->p->strip];
    return along == 0 || along == 1 || stage_tiled(m->c, m->p, node->slot);
}

static int64_t cover_step(const Maker *m, int id)
{
    const NestNode *node = &m->n->node[id];
    int k = m->p->cover;
    if (k < 0 || node->kind != NEST_LOAD || !(node->free >> k & 1))
        return 0;
    return stage_tiled(m->c, m->p, node->slot) ? m->p->strip_length
                                               : stage_strides(m->c, node->slot)[k];
}

/* Whether all folds of the group run down the innermost loop by themselves; it is then no
 * loop of the program any more. */
static void find_cover(Maker *m, int group)
{
    StageProgram *p = m->p;
    p->cover = -1;
    if (!m->c->group[group].down || p->loops == 0)
        return;
    const StageLoop *last = &p->loop[p->loops - 1];
    for (int r = 0; r < m->c->reductions; r++) {
        const StageReduce *red = &m->c->reduction[r];
        int in[2];
        if (red->group != group)
            continue;
        const StageFold *fold = &stage_kernels()->fold[fold_op(red->op)][FORM_X][red->dtype];
        find_form(m, red, m->n->node[red->node].arg[0], in);
        if (red->op == NEST_PROD || red->op == NEST_ARGMIN || red->op == NEST_ARGMAX || !fold->down)
            return;
        for (int k = 0; k < 2; k++)
            if (in[k] >= 0 && !covers(m, in[k], last->index, red->dtype))
                return;
    }
    p->cover = last->index;
    p->cover_extent = last->kind == LOOP_WITHIN ? 0 : last->extent;
    p->loops--;
}

static void gen_fold(Maker *m, StageReduce *r)
{
    const NestNode *node = &m->n->node[r->node];
    int in[2], arg[2] = { -1, -1 };
    bool position = r->op == NEST_ARGMIN || r->op == NEST_ARGMAX;
    r->form = find_form(m, r, node->arg[0], in);
    const StageFold *fold = &stage_kernels()->fold[fold_op(r->op)][r->form][r->dtype];
    r->fold = r->op != NEST_PROD && fold->down ? fold : NULL;
    r->arg = position ? stage_kernels()->arg[r->op == NEST_ARGMAX][r->dtype] : NULL;
    for (int k = 0; k < 2; k++)
        if (in[k] >= 0)
            arg[k] = gen(m, in[k]);
    if (m->c->value[arg[0]].dtype != r->dtype)          /* an extreme of 16-bit floats */
        arg[0] = gen_cast_value(m, arg[0], r->dtype, m->n->node[in[0]].free);
    StageStep *s = add_step(m, STEP_FOLD, r->dtype, true, m->p->loops);
    s->load = (int)(r - m->c->reduction);
    s->args = arg[1] >= 0 ? 2 : 1;
    s->index = m->p->cover;
    for (int k = 0; k < 2; k++) {
        s->arg[k] = arg[k];
        s->down[k] = in[k] >= 0 ? cover_step(m, in[k]) : 0;
    }
}

/* ---- registers ---- */

static void sort_steps(Ctx *ctx, StageProgram *p)
{
    p->levels = p->loops + 1;
    if (p->steps > 1) {
        size_t bytes = (size_t)p->steps * sizeof *p->step;
        StageStep *sorted = mem_alloc(ctx, bytes);
        int at = 0;
        for (int l = 0; l < p->levels; l++)
            for (int i = 0; i < p->steps; i++)
                if (p->step[i].level == l)
                    sorted[at++] = p->step[i];
        memcpy(p->step, sorted, bytes);
        mem_free(ctx, sorted, bytes);
    }
    for (int l = 0, at = 0; l <= p->levels; l++) {
        p->first[l] = at;
        while (at < p->steps && p->step[at].level == l)
            at++;
    }
}

/* A value that a deeper level reads lives as long as the loops there run. */
static void find_last(StageCode *c, StageProgram *p)
{
    for (int i = 0; i < p->steps; i++)
        for (int k = 0; k < 4; k++) {
            StageValue *v = p->step[i].arg[k] >= 0 ? &c->value[p->step[i].arg[k]] : NULL;
            if (!v)
                continue;
            v->last = i;
            v->pinned |= v->level != p->step[i].level;
        }
}

/* Registers by linear scan. A step's operands are given up after it has its own register, but
 * for elementwise steps over elements of the same size, which may work in place. */
static void assign_slots(Ctx *ctx, StageCode *c, StageProgram *p)
{
    size_t bytes = (size_t)(p->steps * 4) * sizeof(int);
    int *freed = p->steps ? mem_alloc(ctx, bytes) : NULL, count = 0;
    p->slot_bytes = 1;
    for (int i = 0; i < p->steps; i++) {
        StageStep *s = &p->step[i];
        StageValue *out = s->value >= 0 ? &c->value[s->value] : NULL;
        bool inplace = (s->kind == STEP_EW && !s->watched) || s->kind == STEP_TRIPLE;
        for (int pass = 0; pass < 2; pass++) {
            for (int k = 0; k < 4; k++) {
                StageValue *v = s->arg[k] >= 0 ? &c->value[s->arg[k]] : NULL;
                if (!v || v->slot < 0 || v->pinned || v->last != i)
                    continue;
                if (pass == 0 && !(inplace && out && dtype_info(v->dtype)->bytes == s->bytes))
                    continue;
                freed[count++] = v->slot;
                v->last = -1;
            }
            if (pass == 0 && out && out->wants && out->slot < 0)
                out->slot = count ? freed[--count] : p->slots++;
        }
        if (out && out->wants && s->bytes > p->slot_bytes)
            p->slot_bytes = s->bytes;
    }
    if (freed)
        mem_free(ctx, freed, bytes);
}

/* ---- programs ---- */

static void begin_program(Maker *m, StageProgram *p, int number)
{
    m->p = p;
    m->number = number;
    memset(m->memo, -1, (size_t)m->n->nodes * sizeof *m->memo);
    memset(m->level, 0, sizeof m->level);
    for (int i = 0; i < p->loops; i++)
        m->level[p->loop[i].index] = i + 1;
    mark_chains(m);
}

static void make_main(Maker *m)
{
    StageCode *c = m->c;
    StageProgram *p = &c->main;
    p->cover = -1;
    begin_program(m, p, 0);
    c->root = gen(m, m->n->root);
    const StageValue *root = &c->value[c->root];
    bool last = root->strip && root->level == p->loops && root->wants && root->slot < 0;
    for (int i = 0; i < p->steps && last && c->direct; i++)
        p->step[i].to_result |= p->step[i].value == c->root;
    c->out_term = add_terms(m, c->out_stride, dtype_info(m->n->node[m->n->root].dtype)->bytes, -1,
                            &c->out_terms);
    StageStep *s = add_step(m, STEP_STORE, (DType)m->n->node[m->n->root].dtype, p->strip >= 0,
                            p->loops);
    s->arg[0] = c->root;
    s->args = 1;
    s->stride = p->strip >= 0 ? c->out_stride[p->strip] : 0;
}

/* Between passes over a strip that is in cache already memory would stand still: so the next
 * strip of large operands is fetched meanwhile, a few lines before each step. */
static void find_ahead(StageCode *c)
{
    StageProgram *p = &c->main;
    int loads = 0, steps = 0, bytes = p->slot_bytes;
    if (p->strip < 0 || p->tile >= 0 || c->read < AHEAD_BYTES ||
        p->loop[p->loops - 1].kind != LOOP_CHUNK)
        return;
    for (int i = 0; i < p->steps; i++) {
        StageStep *s = &p->step[i];
        bool whole = s->level == p->loops;
        if (whole && s->kind == STEP_DIRECT && s->stride == 1 && loads < AHEAD_MAX &&
            (s->arg[0] >= 0 || !c->pack[s->load].repeats))
            s->ahead = ++loads;
        if (s->ahead && s->bytes > bytes)
            bytes = s->bytes;
        steps += whole && s->kind != STEP_DIRECT && s->kind != STEP_STORE;
    }
    p->single = steps <= 1;
    if (loads && steps)
        p->pace = (int)(p->strip_length * bytes / 64) / steps + 1;
}

static void make_group(Maker *m, int group)
{
    StageGroup *g = &m->c->group[group];
    g->program.cover = -1;
    begin_program(m, &g->program, group + 1);
    find_cover(m, group);
    for (int r = 0; r < m->c->reductions; r++)
        if (m->c->reduction[r].group == group)
            gen_fold(m, &m->c->reduction[r]);
}

static size_t round_up(size_t bytes) { return (bytes + 63) & ~(size_t)63; }

/* Reductions' registers in the main program first: their steps have no value of their own. */
static void finish_main(Ctx *ctx, StageCode *c)
{
    sort_steps(ctx, &c->main);
    find_last(c, &c->main);
    for (int r = 0; r < c->reductions; r++) {
        int values[2] = { c->reduction[r].value, c->reduction[r].extra };
        for (int k = 0; k < 2; k++)
            if (values[k] >= 0 && c->value[values[k]].wants)
                c->value[values[k]].slot = c->main.slots++;
    }
    assign_slots(ctx, c, &c->main);
    stage_find_chains(ctx, c, &c->main);
    for (int r = 0; r < c->reductions; r++)
        if (c->main.slot_bytes < 8 || c->main.slot_bytes < dtype_info(c->reduction[r].dtype)->bytes)
            c->main.slot_bytes = dtype_info(c->reduction[r].dtype)->bytes > 8 ? 16 : 8;
}

static void place_program(StageCode *c, StageProgram *p, int number, size_t at)
{
    size_t slot = round_up((size_t)(p->strip_length * p->slot_bytes));
    for (int v = 0; v < c->values; v++)
        if (c->value[v].program == number && c->value[v].slot >= 0)
            c->value[v].place = at + (size_t)c->value[v].slot * slot;
    at += (size_t)p->slots * slot;
    if (number == 0 && c->stream && p->pace && !p->single && c->value[c->root].slot >= 0) {
        c->value[c->root].place = at;       /* its own: no other step may write there */
        c->value[c->root].other = slot;
        at += 2 * slot;
    }
    for (int i = 0; i < p->steps; i++) {
        StageStep *s = &p->step[i];
        if (s->kind != STEP_PACK)
            continue;
        int64_t block = 1;
        for (int l = 0; l < p->loops; l++)
            if (p->loop[l].kind == LOOP_BLOCK)
                block = p->loop[l].block;
        c->value[s->value].place = at;
        at += round_up((size_t)(block * p->strip_length * s->bytes));
    }
    if (at > c->work_bytes)
        c->work_bytes = at;
}

/* Memory of a worker: values, cells of scalars, states of reductions, registers; groups run
 * one after the other and share theirs. */
static void place_all(StageCode *c)
{
    c->cells = round_up((size_t)c->values * sizeof(StagePlace));
    c->states = c->cells + round_up((size_t)c->values * 16);
    c->registers = c->states + round_up((size_t)c->reductions * sizeof(StageState));
    c->work_bytes = c->registers;
    place_program(c, &c->main, 0, c->registers);
    size_t after = c->work_bytes;
    for (int g = 0; g < c->groups; g++)
        place_program(c, &c->group[g].program, g + 1, after);
}

void stage_compile(Ctx *ctx, StageCode *c)
{
    const Nest *n = c->nest;
    size_t bytes = (size_t)n->nodes * sizeof(int);
    Maker m = { .ctx = ctx, .c = c, .n = n };
    int consts = 0;
    for (int k = 0; k < n->nodes; k++)
        consts += n->node[k].kind == NEST_CONST;
    c->const_cap = consts * (c->groups + 1) + 1;
    c->constant = mem_alloc(ctx, (size_t)c->const_cap * sizeof *c->constant);
    m.memo = c->memo;
    m.main_value = c->memo + n->nodes;
    m.chain = m.main_value + n->nodes;
    memset(m.main_value, -1, bytes);
    make_main(&m);
    for (int g = 0; g < c->groups; g++)
        make_group(&m, g);
    finish_main(ctx, c);
    find_ahead(c);
    for (int g = 0; g < c->groups; g++) {
        StageProgram *p = &c->group[g].program;
        sort_steps(ctx, p);
        find_last(c, p);
        assign_slots(ctx, c, p);
        stage_find_chains(ctx, c, p);
    }
    place_all(c);
}
