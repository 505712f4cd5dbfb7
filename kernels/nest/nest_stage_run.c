/* Running a stage's programs. Each worker has one block of memory: where its values are, cells
 * of scalars, states of reductions, registers. Iterations of the leading loops are shared
 * among the workers in ranges; where the result is small a bound loop is cut into parts, always
 * the same ones, that are joined in order. Nothing here raises but for memory at the start. */
#include "core/memory/pool.h"
#include "kernels/cast/tensor_cast.h"
#include "kernels/nest/nest_stage_work.h"
#include "kernels/tensor/permute.h"

#include <string.h>

enum {
    SMALL_WORK = 24 << 10       /* bytes on the stack */
};

#define THREADS_FROM 60e-6      /* seconds of work */

static const char zeros[16];

static inline char *cell(const StageWork *w, int value)
{
    return w->base + w->c->cells + (size_t)value * 16;
}

static inline StageState *state(const StageWork *w, int reduction)
{
    return (StageState *)(w->base + w->c->states) + reduction;
}

/* Where a step puts its value. */
static inline char *target(const StageWork *w, const StageStep *s)
{
    return s->strip ? stage_strip(w, s) : cell(w, s->value);
}

static inline void set(StageWork *w, int value, void *at, int64_t stride)
{
    w->val[value] = (StagePlace){ at, stride };
}

/* ---- loads ---- */

static inline char *source(const StageWork *w, const StageStep *s)
{
    const StageCode *c = w->c;
    const NestLoad *l = &c->nest->load[s->load];
    char *base = c->pack[s->load].used ? w->run->packed + c->pack[s->load].offset
                                       : (char *)w->run->data[l->slot];
    return base + stage_offset(w, s->term, s->terms);
}

static void step_direct(StageWork *w, const StageStep *s)
{
    if (s->arg[0] >= 0)         /* a row of a transposed block */
        set(w, s->value, w->val[s->arg[0]].at + stage_offset(w, s->term, s->terms), 1);
    else
        set(w, s->value, source(w, s), s->stride);
    if (s->ahead)
        w->ahead[w->aheads++] = w->val[s->value].at + w->n * s->bytes;
}

static void step_collect(StageWork *w, const StageStep *s)
{
    char *to = target(w, s);
    stage_collect(s->bytes, to, source(w, s), s->stride, w->n);
    set(w, s->value, to, 1);
}

/* Tables that do not change along the strip move the address; the others go to the kernel. */
static void step_gather(StageWork *w, const StageStep *s)
{
    const int64_t *at[TENSOR_RANK_MAX];
    int64_t ts[TENSOR_RANK_MAX], step[TENSOR_RANK_MAX];
    const char *src = source(w, s);
    int varying = 0;
    for (int g = 0; g < s->tables; g++) {
        const StageTable *t = &w->c->table[s->table + g];
        const int64_t *entry = (const int64_t *)((const char *)w->run->data[t->slot] +
                                                 stage_offset(w, t->term, t->terms));
        if (t->stride && s->strip) {
            at[varying] = entry;
            ts[varying] = t->stride;
            step[varying++] = t->step;
        } else if (*entry < 0) {
            char *none = target(w, s);
            memset(none, 0, (size_t)(s->strip ? w->n : 1) * s->bytes);
            set(w, s->value, none, s->strip);
            return;
        } else {
            src += *entry * t->step * s->bytes;
        }
    }
    if (varying == 0 && (!s->strip || s->stride == 0 || s->stride == 1)) {
        set(w, s->value, (char *)src, s->strip ? s->stride : 0);
        return;
    }
    char *to = target(w, s);
    if (varying == 0)
        stage_collect(s->bytes, to, src, s->stride, w->n);
    else
        stage_gather(s->bytes, to, src, s->stride, varying, at, ts, step, w->n);
    set(w, s->value, to, 1);
}

/* A block of positions along `index`, each a row of the strip. */
static void step_pack(StageWork *w, const StageStep *s, const StageProgram *p)
{
    char *to = w->base + w->c->value[s->value].place;
    const char *src = source(w, s);
    permute_block(s->bytes, to, p->strip_length, src, s->stride, w->n, w->block);
    set(w, s->value, to - w->pos[s->index] * p->strip_length * s->bytes, 1);
}

/* ---- values ---- */

static void step_number(StageWork *w, const StageStep *s)
{
    const NestIndex *index = &w->c->nest->index[s->index];
    int64_t first = index->start + w->pos[s->index] * index->step, step = index->step;
    int64_t *to = (int64_t *)(void *)target(w, s);
    *to = first;
    for (int64_t i = 1; s->strip && i < w->n; i++)
        to[i] = first + i * step;
    set(w, s->value, to, s->strip);
}

static void step_cast(StageWork *w, const StageStep *s)
{
    const StagePlace *x = &w->val[s->arg[0]];
    char *to = target(w, s);
    cast_run((DType)s->dtype, to, 1, (DType)s->from, x->at, x->stride, s->strip ? w->n : 1);
    set(w, s->value, to, s->strip);
}

/* The kernel on parts of the strip, before each of which a few lines are asked for: of all at once
 * the processor would wait for the first ones. */
static void run_paced(StageWork *w, const StageStep *s, char *to, const void *const *in,
                      const int64_t *stride, int pace)
{
    enum { PART = 256 };
    int64_t width[3], n = w->n;
    int lines = (int)(pace * PART / n) + 1;
    for (int k = 0; k < s->args; k++) {
        bool mask = k == 0 && ew_info[s->op].result == RES_WHERE;
        width[k] = stride[k] * dtype_info(mask ? DT_BOOL : (DType)s->from)->bytes;
    }
    for (int64_t i = 0; i < n; i += PART) {
        const void *at[3];
        for (int k = 0; k < s->args; k++)
            at[k] = (const char *)in[k] + i * width[k];
        stage_fetch_ahead(w, lines);
        s->kernel(to + i * s->bytes, 1, at, stride, n - i < PART ? n - i : PART);
    }
}

static void step_ew(StageWork *w, const StageStep *s, int pace)
{
    const void *in[3];
    int64_t stride[3], n = s->strip ? w->n : 1;
    for (int k = 0; k < s->args; k++) {
        in[k] = w->val[s->arg[k]].at;
        stride[k] = w->val[s->arg[k]].stride;
    }
    if (s->checked) {
        EwTrouble t = ew_find_trouble((EwOp)s->op, (DType)s->from, in[1], stride[1], n);
        if (t != EWT_NONE) {
            w->run->trouble = (int)t;
            set(w, s->value, (void *)zeros, 0);
            return;
        }
    }
    char *to = target(w, s);
    if (pace && s->strip)
        run_paced(w, s, to, in, stride, pace);
    else
        s->kernel(to, 1, in, stride, n);
    if (s->watched && stage_makes_nan(s, to, in, stride, n))
        w->run->trouble = EWT_NAN;
    set(w, s->value, to, s->strip);
}

static void step_triple(StageWork *w, const StageStep *s)
{
    char *to = target(w, s);
    s->triple(to, w->val[s->arg[0]].at, w->val[s->arg[1]].at, w->val[s->arg[2]].at,
              w->val[s->arg[s->args - 1]].at, w->n);
    set(w, s->value, to, 1);
}

static void step_spread(StageWork *w, const StageStep *s)
{
    char *to = target(w, s);
    stage_collect(s->bytes, to, w->val[s->arg[0]].at, 0, s->stride ? s->stride : w->n);
    set(w, s->value, to, 1);
}

static void step_pick(StageWork *w, const StageStep *s)
{
    const StagePlace *x = &w->val[s->arg[0]];
    set(w, s->value, x->at + w->row * x->stride * s->bytes, 0);
}

static void step_store(StageWork *w, const StageStep *s)
{
    const StagePlace *x = &w->val[s->arg[0]];
    char *to = w->run->out + stage_offset(w, w->c->out_term, w->c->out_terms);
    if (to == x->at)
        return;
    if (!s->strip)
        memcpy(to, x->at, s->bytes);
    else if (w->run->stream && x->stride == 1 && w->c->value[w->c->root].other) {
        if (w->store_left)
            stage_write_some(w, w->store_left);
        w->store_to = to;
        w->store_from = x->at;
        w->store_left = (size_t)(w->n * s->bytes);
        w->second = !w->second;
    } else if (w->run->stream && x->stride == 1)
        stream_copy(to, x->at, (size_t)(w->n * s->bytes));
    else
        stage_scatter(s->bytes, to, s->stride, x->at, x->stride, w->n);
}

/* ---- folds ---- */

/* By the elementwise kernel: products, complex sums. */
static void fold_down_plain(const StageReduce *r, char *acc, int64_t n, const StagePlace *x,
                            bool first)
{
    const void *in[] = { acc, x->at };
    int64_t stride[] = { 1, x->stride };
    int bytes = dtype_info(r->dtype)->bytes;
    if (first)
        stage_collect(bytes, acc, x->at, x->stride, n);
    else
        r->ew(acc, 1, in, stride, n);
}

static void fold_columns(StageWork *w, const StageStep *s, const StageReduce *r, char *acc,
                         int64_t from, int64_t k, bool first)
{
    const StagePlace *x = &w->val[s->arg[0]], *y = s->args == 2 ? &w->val[s->arg[1]] : x;
    int64_t sy = s->args == 2 ? y->stride : 0, dy = s->args == 2 ? s->down[1] : 0;
    int bytes = dtype_info(r->dtype)->bytes;
    if (r->fold)
        r->fold->down(acc, w->n, x->at + from * s->down[0] * bytes, x->stride, s->down[0],
                      y->at + from * dy * bytes, sy, dy, k, first);
    else
        fold_down_plain(r, acc, w->n, x, first);
}

static int64_t cover_count(const StageWork *w, const StageProgram *p)
{
    if (p->cover < 0)
        return 1;
    if (p->cover_extent == 0)
        return w->block;
    return w->c->parts && p->loops == 0 ? w->high - w->low : p->cover_extent;
}

static void add_strip(const StageReduce *r, char *acc, int64_t n, const char *more, bool first)
{
    const StageFold *add = &stage_kernels()->fold[FOLD_ADD][FORM_X][r->dtype];
    add->down(acc, n, more, 1, 0, more, 0, 0, 1, first);
}

static void fold_down(StageWork *w, const StageStep *s, const StageProgram *p, StageReduce *r)
{
    StageState *st = state(w, s->load);
    char *acc = w->base + w->c->value[r->value].place;
    int64_t k = cover_count(w, p), done = 0;
    if (r->arg) {
        const StagePlace *x = &w->val[s->arg[0]];
        r->arg(w->base + w->c->value[r->extra].place, (int64_t *)(void *)acc, w->n, x->at,
               x->stride, r->number + w->pos[r->arg_index] * r->number_step, st->first);
        st->first = false;
        return;
    }
    if (!r->two_levels) {
        fold_columns(w, s, r, acc, 0, k, st->first);
        st->first = false;
        return;
    }
    char *partial = w->base + w->c->value[r->extra].place;
    for (int64_t count; done < k; done += count) {
        count = TERMS_IN_ROW - st->steps < k - done ? TERMS_IN_ROW - st->steps : k - done;
        fold_columns(w, s, r, partial, done, count, st->first);
        st->first = false;
        st->steps += count;
        if (st->steps < TERMS_IN_ROW)
            continue;
        StagePlace sum = { partial, 1 };
        if (r->fold)
            add_strip(r, acc, w->n, partial, st->first_total);
        else
            fold_down_plain(r, acc, w->n, &sum, st->first_total);
        st->first_total = false;
        st->first = true;
        st->steps = 0;
    }
}

/* Lanes of elements that only the elementwise kernel can fold. */
static void fold_along_plain(const StageReduce *r, StageState *st, const StagePlace *x, int64_t n)
{
    int64_t bytes = dtype_info(r->dtype)->bytes, lanes = LANE_BYTES / bytes;
    for (int64_t i = 0; i < n; i += lanes) {
        int64_t count = n - i < lanes ? n - i : lanes, fresh = st->first ? 0 : st->steps;
        int64_t old = fresh < count ? fresh : count;
        const void *in[] = { st->lanes, x->at + i * x->stride * bytes };
        int64_t stride[] = { 1, x->stride };
        if (old > 0)
            r->ew(st->lanes, 1, in, stride, old);
        if (count > old) {
            stage_collect((int)bytes, st->lanes + old * bytes,
                          x->at + (i + old) * x->stride * bytes, x->stride, count - old);
            st->steps = count;
        }
        st->first = false;
    }
}

static void fold_position(const StageWork *w, const StageReduce *r, StageState *st,
                          const StagePlace *x)
{
    const StageFold *fold = r->fold;
    char lanes[LANE_BYTES], best[16];
    int64_t at = 0, bytes = dtype_info(r->dtype)->bytes;
    int64_t number = r->number + w->pos[r->arg_index] * r->number_step;
    fold->along(lanes, x->at, x->stride, x->at, 0, w->n, true);
    fold->finish(best, lanes);
    bool nan = dtype_info(r->dtype)->kind == 'f' &&
               element_f64(r->dtype, best) != element_f64(r->dtype, best);
    int64_t before = st->number;
    r->arg(st->best, &st->number, 1, best, 0, INT64_MIN, st->first);
    if (st->number != INT64_MIN) {
        st->number = before;
        return;
    }
    st->first = false;
    for (; x->stride && at < w->n - 1; at++) {
        const char *v = x->at + at * bytes;
        double f = nan ? element_f64(r->dtype, v) : 0;
        if (nan ? f != f : memcmp(v, best, (size_t)bytes) == 0)
            break;
        if (!nan && dtype_info(r->dtype)->kind == 'f' &&
            element_f64(r->dtype, v) == element_f64(r->dtype, best))
            break;
    }
    st->number = number + at * r->number_step;
}

static void fold_along(StageWork *w, const StageStep *s, StageReduce *r)
{
    StageState *st = state(w, s->load);
    const StagePlace *x = &w->val[s->arg[0]], *y = s->args == 2 ? &w->val[s->arg[1]] : x;
    if (r->arg) {
        fold_position(w, r, st, x);
    } else if (r->fold) {
        r->fold->along(st->lanes, x->at, x->stride, y->at, s->args == 2 ? y->stride : 0, w->n,
                       st->first);
        st->first = false;
    } else {
        fold_along_plain(r, st, x, w->n);
    }
}

/* ---- running programs ---- */

static void run_group(StageWork *w, int group);

void stage_steps(StageWork *w, const StageProgram *p, int level)
{
    bool fetch = p->pace && level == p->loops && !w->run->near && (!p->single || w->run->making);
    w->aheads = w->fetched = 0;
    for (int i = p->first[level]; i < p->first[level + 1]; i++) {
        const StageStep *s = &p->step[i];
        bool paced = fetch && w->run->making && s->kind == STEP_EW;
        if (fetch && s->kind != STEP_DIRECT && !paced) {
            stage_fetch_ahead(w, p->pace);
            if (w->store_left)
                stage_write_some(w, (size_t)p->pace * 64);
        }
        switch (s->kind) {
        case STEP_CHAIN:
            if (stage_run_chain(w, p, s, fetch ? p->pace : 0))
                i += s->covers;
            break;
        case STEP_DIRECT: step_direct(w, s); break;
        case STEP_COLLECT: step_collect(w, s); break;
        case STEP_GATHER: step_gather(w, s); break;
        case STEP_NUMBER: step_number(w, s); break;
        case STEP_CAST: step_cast(w, s); break;
        case STEP_EW: step_ew(w, s, paced ? p->pace : 0); break;
        case STEP_TRIPLE: step_triple(w, s); break;
        case STEP_SPREAD: step_spread(w, s); break;
        case STEP_PICK: step_pick(w, s); break;
        case STEP_PACK: step_pack(w, s, p); break;
        case STEP_REDUCE: run_group(w, s->load); break;
        case STEP_FOLD:
            if (w->c->group[w->c->reduction[s->load].group].down)
                fold_down(w, s, p, &w->c->reduction[s->load]);
            else
                fold_along(w, s, &w->c->reduction[s->load]);
            break;
        case STEP_STORE:
            if (!w->run->folding)
                step_store(w, s);
            break;
        }
    }
}

/* The loops from `level` on, and the steps of each level. */
void stage_loops(StageWork *w, const StageProgram *p, int level)
{
    stage_steps(w, p, level);
    if (level == p->loops)
        return;
    const StageLoop *loop = &p->loop[level];
    int64_t *pos = &w->pos[loop->index], low = 0, high = loop->extent;
    if (w->c->parts && level == 0 && p != &w->c->main) {
        low = w->low;
        high = w->high;
    }
    if (loop->kind == LOOP_WITHIN) {
        int64_t first = *pos, count = w->block;
        for (int64_t i = 0; i < count; i++) {
            *pos = first + i;
            stage_loops(w, p, level + 1);
        }
        *pos = first;
        return;
    }
    for (int64_t i = low; i < high && !stage_stopped(w->run); i += loop->block) {
        int64_t count = high - i < loop->block ? high - i : loop->block;
        *pos = i;
        if (loop->kind == LOOP_CHUNK)
            w->n = count;
        else if (loop->kind == LOOP_BLOCK)
            w->block = count;
        stage_loops(w, p, level + 1);
    }
}

static void begin_states(StageWork *w, int group)
{
    const StageProgram *p = &w->c->group[group].program;
    for (int r = 0; r < w->c->reductions; r++) {
        StageState *st = state(w, r);
        if (w->c->reduction[r].group != group)
            continue;
        st->first = st->first_total = true;
        st->steps = 0;
        st->number = 0;
    }
    if (p->cover >= 0)
        w->pos[p->cover] = w->c->parts && p->loops == 0 ? w->low : 0;
}

/* Nothing was folded: 0, 1, false, true, the lowest. */
static void identity(const StageReduce *r, char *to)
{
    int64_t unit = r->op == NEST_PROD || r->op == NEST_ALL;
    memset(to, 0, 16);
    cast_run(r->dtype, to, 1, DT_I64, &unit, 1, 1);
}

static void finish_down(StageWork *w, int reduction, bool empty)
{
    const StageReduce *r = &w->c->reduction[reduction];
    const StageState *st = state(w, reduction);
    char *acc = w->base + w->c->value[r->value].place, unit[16];
    set(w, r->value, acc, 1);
    if (empty) {
        identity(r, unit);
        stage_collect(dtype_info(w->c->value[r->value].dtype)->bytes, acc, unit, 0, w->n);
        return;
    }
    if (!r->two_levels || st->first)
        return;
    StagePlace sum = { w->base + w->c->value[r->extra].place, 1 };
    if (st->first_total)
        set(w, r->value, sum.at, 1);
    else if (r->fold)
        add_strip(r, acc, w->n, sum.at, false);
    else
        fold_down_plain(r, acc, w->n, &sum, false);
}

static void finish_along(StageWork *w, int reduction, bool empty, char *to)
{
    const StageReduce *r = &w->c->reduction[reduction];
    StageState *st = state(w, reduction);
    size_t bytes = dtype_info(r->dtype)->bytes;
    char unit[16];
    if (empty) {
        identity(r, unit);
        memcpy(to, unit, dtype_info(w->c->value[r->value].dtype)->bytes);
    } else if (r->arg) {
        memcpy(to, &st->number, sizeof st->number);
    } else if (r->fold) {
        stage_kernels()->fold[r->op == NEST_SUM ? FOLD_ADD : r->op == NEST_MIN || r->op == NEST_ALL
                                                                 ? FOLD_LEAST : FOLD_MOST]
            [FORM_X][r->dtype].finish(to, st->lanes);
    } else {
        for (int64_t n = st->steps; n > 1; n = (n + 1) / 2) {       /* pairwise */
            int64_t half = n / 2;
            const void *in[] = { st->lanes, st->lanes + (size_t)(n - half) * bytes };
            const int64_t one[] = { 1, 1 };
            r->ew(st->lanes, 1, in, one, half);
        }
        memcpy(to, st->lanes, bytes);
    }
}

/* Results of one row, or of all that there is. */
static void run_along(StageWork *w, int group, int64_t row)
{
    const StageGroup *g = &w->c->group[group];
    begin_states(w, group);
    w->n = 1;
    if (!g->empty)
        stage_loops(w, &g->program, 0);
    for (int r = 0; r < w->c->reductions; r++) {
        const StageReduce *red = &w->c->reduction[r];
        const StageValue *v = &w->c->value[red->value];
        size_t bytes = dtype_info(v->dtype)->bytes;
        if (red->group != group)
            continue;
        char *to = g->rows ? w->base + v->place : cell(w, red->value);
        char best[16];
        finish_along(w, r, g->empty, best);
        memcpy(to + (size_t)row * bytes, best, bytes);
        set(w, red->value, to, g->rows);
        if (red->extra >= 0 && g->rows && red->arg)
            stage_scatter(dtype_info(red->dtype)->bytes,
                          w->base + w->c->value[red->extra].place +
                              (size_t)row * dtype_info(red->dtype)->bytes,
                          1, state(w, r)->best, 1, 1);
    }
}

static void load_parts(StageWork *w, int group);

static void run_group(StageWork *w, int group)
{
    const StageGroup *g = &w->c->group[group];
    int64_t n = w->n;
    if (w->run->joined) {
        load_parts(w, group);
        return;
    }
    if (g->down) {
        begin_states(w, group);
        if (!g->empty)
            stage_loops(w, &g->program, 0);
        for (int r = 0; r < w->c->reductions; r++)
            if (w->c->reduction[r].group == group)
                finish_down(w, r, g->empty);
        return;
    }
    int strip = w->c->main.strip;
    if (g->rows) {
        int64_t first = w->pos[strip];
        for (w->row = 0; w->row < n && !stage_stopped(w->run); w->row++) {
            w->pos[strip] = first + w->row;
            run_along(w, group, w->row);
        }
        w->pos[strip] = first;
    } else {
        run_along(w, group, 0);
    }
    w->n = n;
}

/* ---- ranges of the leading loops ---- */

static int64_t loop_count(const StageLoop *loop)
{
    return loop->extent / loop->block + (loop->extent % loop->block != 0);
}

static void enter(StageWork *w, const StageLoop *loop, int64_t digit)
{
    int64_t at = digit * loop->block, rest = loop->extent - at;
    w->pos[loop->index] = at;
    if (loop->kind == LOOP_CHUNK)
        w->n = rest < loop->block ? rest : loop->block;
    else if (loop->kind == LOOP_BLOCK)
        w->block = rest < loop->block ? rest : loop->block;
}

/* Strips [begin, end) of a program that sweeps; what is less than a group by itself. */
static void run_sweep(StageWork *w, int64_t begin, int64_t end)
{
    const StageLoop *loop = &w->c->main.loop[0];
    int64_t most = stage_sweep_length(w->c), group = stage_sweep_group(w->c), at, n;
    end = end * loop->block < loop->extent ? end * loop->block : loop->extent;
    for (at = begin * loop->block; at < end && !stage_stopped(w->run); at += n) {
        n = end - at < most ? end - at : most;
        if (n > group)
            n -= n % group;
        w->pos[loop->index] = at;
        w->n = n;
        stage_steps(w, &w->c->main, 1);
    }
    if (w->store_left)
        stage_write_some(w, w->store_left);
}

/* Iterations [begin, end) of the leading loops; the steps outside of all loops were run. */
static void run_range(StageWork *w, int64_t begin, int64_t end)
{
    const StageProgram *p = &w->c->main;
    int64_t digit[NEST_INDICES + 2], rest = begin;
    int loops = w->c->parallel;
    if (p->sweeps) {
        run_sweep(w, begin, end);
        return;
    }
    for (int l = loops - 1; l >= 0; l--) {
        int64_t count = loop_count(&p->loop[l]);
        digit[l] = rest % count;
        rest /= count;
        enter(w, &p->loop[l], digit[l]);
    }
    for (int changed = 0; begin < end && !stage_stopped(w->run); begin++) {
        for (int l = changed + 1; l < loops; l++)
            stage_steps(w, p, l);
        stage_loops(w, p, loops);
        for (changed = loops - 1; changed >= 0; changed--) {
            if (++digit[changed] < loop_count(&p->loop[changed]))
                break;
            digit[changed] = 0;
            enter(w, &p->loop[changed], 0);
        }
        if (changed < 0)
            break;
        enter(w, &p->loop[changed], digit[changed]);
    }
    if (w->store_left)
        stage_write_some(w, w->store_left);
}

/* ---- workers ---- */

void stage_begin(StageWork *w, StageRun *run, char *memory)
{
    const StageCode *c = run->c;
    w->run = run;
    w->c = c;
    w->base = memory;
    w->val = (StagePlace *)(void *)memory;
    w->n = 1;
    w->low = w->high = w->linear = 0;
    w->aheads = w->fetched = 0;
    w->store_left = 0;
    w->second = false;
    for (int i = 0; i < c->nest->indices; i++)
        w->pos[i] = 0;
    for (int k = 0; k < c->consts; k++)
        set(w, c->constant[k][0], (char *)run->data[c->constant[k][1]], 0);
}

typedef struct Crew {
    StageRun *run;
    const StageWork *root;      /* the caller's, where the steps outside of all loops were run */
    char *memory;
    size_t each;
} Crew;

static void run_units(void *arg, int64_t begin, int64_t end, int worker)
{
    Crew *crew = arg;
    StageWork w;
    stage_begin(&w, crew->run, crew->memory + (size_t)worker * crew->each);
    memcpy(w.val, crew->root->val, (size_t)w.c->values * sizeof *w.val);
    run_range(&w, begin, end);
    if (crew->run->stream)
        stream_fence();
}

/* ---- bound loops in parts ---- */

/* A piece is the results of one reduction: of an argument's the positions (int64) first, which want
 * an address of eight, then the numbers. */
static size_t numbers_at(const StageCode *c, const StageReduce *r)
{
    return r->arg ? (size_t)c->size * sizeof(int64_t) : 0;
}

static size_t piece_bytes(const StageCode *c, int reduction)
{
    const StageReduce *r = &c->reduction[reduction];
    return ((size_t)c->size * dtype_info(r->dtype)->bytes + numbers_at(c, r) + 63) & ~(size_t)63;
}

/* Keeps the results of the group at the position in hand: elements linear … linear + n - 1. */
static void keep_part(StageWork *w, char *piece)
{
    const StageCode *c = w->c;
    bool strip = c->main.strip >= 0;
    int64_t n = strip ? w->n : 1;
    for (int r = 0; r < c->reductions; r++) {
        const StageReduce *red = &c->reduction[r];
        size_t bytes = dtype_info(red->dtype)->bytes;
        const StagePlace *v = &w->val[red->value];
        char *numbers = piece + numbers_at(c, red) + (size_t)w->linear * bytes;
        if (red->arg) {
            const char *best = red->extra >= 0 ? w->base + c->value[red->extra].place
                                               : state(w, r)->best;
            stage_collect((int)bytes, numbers, best, red->extra >= 0, n);
            stage_collect(8, piece + w->linear * 8, v->at, v->stride, n);
        } else {
            stage_collect((int)bytes, numbers, v->at, v->stride, n);
        }
        piece += piece_bytes(c, r);
    }
    w->linear += n;
}

static void part_loops(StageWork *w, int level, char *piece)
{
    const StageProgram *p = &w->c->main;
    if (level == p->loops) {
        run_group(w, 0);
        keep_part(w, piece);
        return;
    }
    const StageLoop *loop = &p->loop[level];
    for (int64_t i = 0; i < loop_count(loop) && !stage_stopped(w->run); i++) {
        enter(w, loop, i);
        part_loops(w, level + 1, piece);
    }
}

static void run_parts(void *arg, int64_t begin, int64_t end, int worker)
{
    Crew *crew = arg;
    const StageCode *c = crew->run->c;
    int64_t extent = c->group[0].program.cover >= 0 && c->group[0].program.loops == 0
                         ? c->group[0].program.cover_extent
                         : c->group[0].program.loop[0].extent;
    StageWork w;
    stage_begin(&w, crew->run, crew->memory + (size_t)worker * crew->each);
    for (int64_t part = begin; part < end; part++) {
        w.low = part * c->part_extent;
        w.high = extent - w.low < c->part_extent ? extent : w.low + c->part_extent;
        w.linear = 0;
        part_loops(&w, 0, crew->run->parts + (size_t)part * crew->run->part_bytes);
    }
}

/* All parts into the first, in order. */
static void join_parts(StageRun *run)
{
    const StageCode *c = run->c;
    size_t at = 0;
    for (int r = 0; r < c->reductions; r++) {
        const StageReduce *red = &c->reduction[r];
        size_t bytes = dtype_info(red->dtype)->bytes;
        char *first = run->parts + at;
        for (int64_t p = 1; p < c->parts; p++) {
            char *more = first + (size_t)p * run->part_bytes;
            StagePlace x = { more, 1 };
            FoldOp op = red->op == NEST_SUM ? FOLD_ADD
                      : red->op == NEST_MIN || red->op == NEST_ALL ? FOLD_LEAST : FOLD_MOST;
            for (int64_t j = 0; red->arg && j < c->size; j++) {
                size_t number = numbers_at(c, red) + (size_t)j * bytes;
                int64_t *to = (int64_t *)(void *)first + j;
                const int64_t *from = (int64_t *)(void *)more + j;
                red->arg(first + number, to, 1, more + number, 1, *from, false);
            }
            if (!red->arg && red->fold)
                stage_kernels()->fold[op][FORM_X][red->dtype].down(first, c->size, more, 1, 0,
                                                                  more, 0, 0, 1, false);
            else if (!red->arg)
                fold_down_plain(red, first, c->size, &x, false);
        }
        at += piece_bytes(c, r);
    }
}

static void load_parts(StageWork *w, int group)
{
    const StageCode *c = w->c;
    char *piece = w->run->joined;
    (void)group;
    for (int r = 0; r < c->reductions; r++) {
        const StageReduce *red = &c->reduction[r];
        size_t bytes = dtype_info(red->dtype)->bytes;
        char *at = piece + (red->arg ? (size_t)w->linear * 8 : (size_t)w->linear * bytes);
        set(w, red->value, at, c->main.strip >= 0);
        piece += piece_bytes(c, r);
    }
    w->linear += c->main.strip >= 0 ? w->n : 1;
}

/* ---- the door ---- */

static void repeat_row(StageRun *run, int l)
{
    const StageCode *c = run->c;
    const NestLoad *load = &c->nest->load[l];
    int bytes = dtype_info(load->dtype)->bytes;
    char *to = run->packed + c->pack[l].offset;
    size_t row = (size_t)(c->period * bytes);
    stage_collect(bytes, to, run->data[load->slot], load->stride[c->period_index], c->period);
    for (size_t at = row; at < c->pack[l].bytes; at += row)
        memcpy(to + at, to, row);
}

void stage_pack_loads(Ctx *ctx, StageRun *run)
{
    const StageCode *c = run->c;
    for (int l = 0; l < c->nest->loads; l++) {
        const StagePack *p = &c->pack[l];
        const NestLoad *load = &c->nest->load[l];
        if (!p->used)
            continue;
        if (p->repeats) {
            repeat_row(run, l);
            continue;
        }
        Iter it = { .rank = p->rank, .operands = 2, .size = 1 };
        for (int a = 0; a < p->rank; a++) {
            it.shape[a] = c->nest->index[p->index[a]].extent;
            it.stride[0][a] = p->stride[p->index[a]];
            it.stride[1][a] = load->stride[p->index[a]];
            it.size *= it.shape[a];
        }
        permute_copy(ctx, &it, dtype_info(load->dtype)->bytes, run->packed + p->offset,
                     run->data[load->slot]);
    }
}

static bool aliased(const StageRun *run)
{
    for (int l = 0; l < run->c->nest->loads; l++)
        if (run->data[run->c->nest->load[l].slot] == run->out)
            return true;
    return false;
}

/* The result is a load: the permutation kernel knows best. */
static bool run_copy(Ctx *ctx, const StageRun *run)
{
    const StageCode *c = run->c;
    const Nest *n = c->nest;
    const NestLoad *load = &n->load[n->node[n->root].slot];
    Iter it = { .operands = 2, .size = 1 };
    int order[NEST_INDICES], rank = 0;
    for (int i = 0; i < n->out_rank; i++) {
        if (n->index[i].extent == 1)
            continue;
        int at = rank++;
        for (; at > 0 && c->out_stride[order[at - 1]] < c->out_stride[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    if (rank > TENSOR_RANK_MAX || rank == 0 || run->data[load->slot] == run->out)
        return false;
    it.rank = rank;
    for (int a = 0; a < rank; a++) {
        it.shape[a] = n->index[order[a]].extent;
        it.stride[0][a] = c->out_stride[order[a]];
        it.stride[1][a] = load->stride[order[a]];
        it.size *= it.shape[a];
    }
    permute_copy(ctx, &it, dtype_info(load->dtype)->bytes, run->out, run->data[load->slot]);
    return true;
}

static void run_all(Ctx *ctx, StageRun *run, char *memory, size_t each, int threads)
{
    const StageCode *c = run->c;
    StageWork root;
    stage_begin(&root, run, memory);
    Crew crew = { run, &root, memory + each, each };
    if (c->parts) {
        pool_for(ctx, c->parts, 1, run_parts, &crew);
        join_parts(run);
        run->joined = run->parts;
        stage_loops(&root, &c->main, 0);
    } else if (threads > 1) {
        int64_t grain = (int64_t)(20e-6 / (c->seconds / (double)c->units)) + 1;
        stage_steps(&root, &c->main, 0);
        pool_for(ctx, c->units, grain, run_units, &crew);
    } else if (c->parallel > 0) {
        stage_steps(&root, &c->main, 0);
        run_range(&root, 0, c->units);
        if (run->stream)
            stream_fence();
    } else {
        stage_loops(&root, &c->main, 0);
    }
}

EwTrouble stage_run(Ctx *ctx, const StageCode *c, void *out, const void *const *data)
{
    static const InterruptFlag never = 0;
    StageRun run = { .c = c, .data = data, .out = out, .stream = c->stream,
                .interrupt = ctx->interrupt ? ctx->interrupt : &never, .trouble = EWT_NONE };
    if (c->copy && run_copy(ctx, &run))
        return EWT_NONE;
    if (c->rows) {
        stage_copy_rows(ctx, c, out, data);
        return EWT_NONE;
    }
    int threads = c->parts || (c->seconds > THREADS_FROM && c->units > 1) ? pool_threads(ctx) : 1;
    if (c->distances && !aliased(&run)) {
        stage_run_distances(ctx, c, out, data, threads);
        return EWT_NONE;
    }
    size_t each = (c->work_bytes + 127) & ~(size_t)63;
    int works = threads > 1 || c->parts ? threads + 1 : 1;
    run.stream = run.stream && !aliased(&run);
    for (int r = 0; c->parts && r < c->reductions; r++)
        run.part_bytes += piece_bytes(c, r);
    size_t parts = run.part_bytes * (size_t)c->parts, bytes = each * (size_t)works + parts;
    if (bytes + c->pack_bytes <= SMALL_WORK) {
        _Alignas(64) char memory[SMALL_WORK];
        run.parts = memory + each * (size_t)works;
        run.packed = run.parts + parts;
        stage_pack_loads(ctx, &run);
        run_all(ctx, &run, memory, each, threads);
        return (EwTrouble)run.trouble;
    }
    char *memory = mem_alloc_data(ctx, bytes + c->pack_bytes, false);
    run.parts = memory + each * (size_t)works;
    run.packed = run.parts + parts;
    stage_pack_loads(ctx, &run);
    run_all(ctx, &run, memory, each, threads);
    mem_free_data(ctx, memory, bytes + c->pack_bytes);
    return (EwTrouble)run.trouble;
}
