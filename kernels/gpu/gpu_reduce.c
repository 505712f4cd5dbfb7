/* The text of reductions: loops of one work item; work groups that share the elements of one
 * result and meet in a tree in local memory, always in the same order, so that a result has the
 * same bits every time. Sums of floats carry what each addition lost (Knuth, The Art of Computer
 * Programming, volume 2, 4.2.2, theorem B), which is more accurate than pairwise sums and reads
 * the elements in any order. */
#include "kernels/gpu/gpu_source.h"

#include <stdio.h>
#include <string.h>

static const EwOp step_of[] = {
    [NEST_SUM] = EW_ADD, [NEST_PROD] = EW_MULTIPLY, [NEST_MIN] = EW_MINIMUM,
    [NEST_MAX] = EW_MAXIMUM, [NEST_ANY] = EW_BITOR, [NEST_ALL] = EW_BITAND,
};

/* One reduction in the making. */
typedef struct Fold {
    GpuSource *s;
    int id;
    NestReduce op;
    DType dtype;                /* what it runs in: never a half */
    const char *type;
    bool place;                 /* argmin, argmax */
    bool carries;
} Fold;

static Fold fold_of(GpuSource *s, int id)
{
    const NestNode *node = &s->n->node[id];
    Fold f = { .s = s, .id = id, .op = (NestReduce)node->op,
               .dtype = gpu_runs_in((DType)node->compute) };
    f.type = gpu_type(f.dtype);
    f.place = f.op == NEST_ARGMIN || f.op == NEST_ARGMAX;
    f.carries = f.op == NEST_SUM && dtype_info(f.dtype)->kind == 'f';
    s->seen |= 1u << f.dtype;
    return f;
}

/* What leaves any element as it is. */
static const char *identity(const Fold *f)
{
    bool least = f->op == NEST_MAX;
    if (f->op == NEST_PROD || f->op == NEST_ALL)
        return "1";
    if (f->op != NEST_MIN && f->op != NEST_MAX)
        return "0";
    return gpu_extreme(f->dtype, least);
}

static void begin_fold(const Fold *f)
{
    GpuSource *s = f->s;
    gpu_line(s, "%s a%d = (%s)%s;", f->type, f->id, f->type, identity(f));
    if (f->carries)
        gpu_line(s, "%s e%d = 0;", f->type, f->id);
    if (f->place)
        gpu_line(s, "idx p%d = -1;", f->id);
}

/* a = a op x, in this order. */
static void combine(const Fold *f, const char *a, const char *x)
{
    EwOp op = step_of[f->op];
    gpu_line(f->s, "%s = ew_%s_%s(%s, %s);", a, ew_info[op].name, dtype_name(f->dtype), a, x);
    f->s->functions[op] |= 1u << f->dtype;
}

/* x at position px takes the place of a at pa: it is more extreme, a NaN, or as good and
 * earlier. */
static void combine_place(const Fold *f, const char *a, const char *pa, const char *x,
                          const char *px)
{
    const char *sign = f->op == NEST_ARGMIN ? "<" : ">";
    bool real = dtype_info(f->dtype)->kind == 'f';
    if (real)
        gpu_line(f->s, "if (%s >= 0 && (%s < 0 || (%s != %s ? %s == %s || %s < %s"
                 " : %s == %s && (%s %s %s || (%s == %s && %s < %s))))) {",
                 px, pa, x, x, a, a, px, pa, a, a, x, sign, a, x, a, px, pa);
    else
        gpu_line(f->s, "if (%s >= 0 && (%s < 0 || %s %s %s || (%s == %s && %s < %s))) {",
                 px, pa, x, sign, a, x, a, px, pa);
    gpu_line(f->s, "    %s = %s;", a, x);
    gpu_line(f->s, "    %s = %s;", pa, px);
    gpu_line(f->s, "}");
}

/* One more element, v<arg>, at the position x<axis>. */
static void take_element(const Fold *f)
{
    const NestNode *node = &f->s->n->node[f->id];
    char a[16], e[16], x[16], pa[16], px[16];
    snprintf(a, sizeof a, "a%d", f->id);
    snprintf(e, sizeof e, "e%d", f->id);
    snprintf(x, sizeof x, "v%d", node->arg[0]);
    snprintf(pa, sizeof pa, "p%d", f->id);
    if (f->place) {
        snprintf(px, sizeof px, "x%d", __builtin_ctzll(node->bound));
        combine_place(f, a, pa, x, px);
    } else if (f->carries) {
        gpu_line(f->s, "CARRY(%s, %s, %s, %s)", f->type, a, e, x);
    } else {
        combine(f, a, x);
    }
}

/* The sum with what it lost; an infinite one lost nothing. */
static void end_sum(const Fold *f)
{
    if (f->carries)
        gpu_line(f->s, "if (a%d - a%d == 0) a%d += e%d;", f->id, f->id, f->id, f->id);
}

static void end_fold(const Fold *f)
{
    const NestNode *node = &f->s->n->node[f->id];
    if (!f->place) {
        gpu_line(f->s, "const %s v%d = a%d;", gpu_type((DType)node->dtype), f->id, f->id);
        return;
    }
    int axis = __builtin_ctzll(node->bound);
    gpu_line(f->s, "const i64 v%d = p%d < 0 ? 0 : %s + (i64)p%d*%s;", f->id, f->id,
             gpu_param(f->s, PARAM_START, axis, 0, 0), f->id,
             gpu_param(f->s, PARAM_STEP, axis, 0, 0));
}

/* ---- in one work item ---- */
/* `share`: positions lo … hi - 1 of the outermost index alone. */
static void make_loops(const Fold *f, bool share)
{
    GpuSource *s = f->s;
    const NestNode *node = &s->n->node[f->id];
    int loops = 0;
    for (int i = 0; i < s->n->indices; i++)
        if (node->bound >> i & 1) {
            if (share && !loops)
                gpu_line(s, "for (idx x%d = lo; x%d < hi; x%d++) {", i, i, i);
            else
                gpu_line(s, "for (idx x%d = 0; x%d < %s; x%d++) {", i, i,
                         gpu_param(s, PARAM_EXTENT, i, 0, 0), i);
            s->depth++;
            s->scope |= UINT64_C(1) << i;
            loops++;
            if (node->bound >> i >> 1)
                gpu_hoist(s, node->arg[0]);
        }
    gpu_value(s, node->arg[0]);
    take_element(f);
    for (; loops; loops--) {
        s->depth--;
        gpu_line(s, "}");
    }
}

static void fold_alone(const Fold *f, bool share)
{
    GpuSource *s = f->s;
    const NestNode *node = &s->n->node[f->id];
    begin_fold(f);
    gpu_hoist(s, node->arg[0]);
    bool *before = gpu_enter(s, 0);
    gpu_line(s, "{");
    s->depth++;
    s->together = false;
    make_loops(f, share);
    s->depth--;
    gpu_line(s, "}");
    gpu_leave(s, before, node->bound);
    end_sum(f);
}

static void store_share(const Fold *f, const char *at)
{
    gpu_line(f->s, "((GLOBAL %s *)%s)[%s] = a%d;", f->type,
             gpu_param(f->s, PARAM_PART, 0, 0, 0), at, f->id);
    if (f->place)
        gpu_line(f->s, "((GLOBAL i64 *)%s)[%s] = p%d;",
                 gpu_param(f->s, PARAM_PLACE, 0, 0, 0), at, f->id);
}

/* Columns: neighbours along work items, shares of the outermost index along groups. */
void gpu_strips(GpuSource *s)
{
    Fold f = fold_of(s, s->split);
    int outer = __builtin_ctzll(s->n->node[f.id].bound);
    const char *chunk = gpu_param(s, PARAM_CHUNK, 0, 0, 0),
               *n = gpu_param(s, PARAM_EXTENT, outer, 0, 0);
    gpu_line(s, "const idx row = (idx)GROUP(0)*(idx)SIZE(0) + (idx)ID(0);");
    gpu_line(s, "const idx lo = (idx)GROUP(1)*%s, hi = lo + %s < %s ? lo + %s : %s;", chunk, chunk,
             n, chunk, n);
    gpu_line(s, "if (row < %s) {", gpu_param(s, PARAM_ROWS, 0, 0, 0));
    s->depth++;
    gpu_axes(s, "row", s->row_axes);
    s->scope |= s->row_axes;
    fold_alone(&f, true);
    Buf at;
    buf_init(&at, s->ctx);
    buf_printf(&at, "row*%s + (idx)GROUP(1)", gpu_param(s, PARAM_CHUNKS, 0, 0, 0));
    store_share(&f, buf_cstr(&at));
    buf_free(&at);
    s->depth--;
    gpu_line(s, "}");
}

/* ---- in a group ---- */
/* All work items of the group have an a, the first one theirs together after this; then all. */
static void make_tree(const Fold *f)
{
    GpuSource *s = f->s;
    s->locals |= 1u << f->dtype | (f->place ? 1u << DT_I64 : 0);
    bool both = f->place && f->dtype == DT_I64;     /* values and places in one array would meet */
    const char *places = both ? "part_place" : "part_i64";
    s->locals |= both ? UINT32_C(1) << DT_COUNT : 0;
    gpu_line(s, "part_%s[ID(0)] = a%d;", f->type, f->id);
    if (f->place)
        gpu_line(s, "%s[ID(0)] = p%d;", places, f->id);
    gpu_line(s, "BARRIER;");
    gpu_line(s, "for (int apart = (int)SIZE(0)/2; apart > 0; apart /= 2) {");
    s->depth++;
    gpu_line(s, "if ((int)ID(0) < apart) {");
    s->depth++;
    gpu_line(s, "%s y = part_%s[ID(0) + apart];", f->type, f->type);
    if (f->place) {
        char a[16], pa[16];
        snprintf(a, sizeof a, "a%d", f->id);
        snprintf(pa, sizeof pa, "p%d", f->id);
        gpu_line(s, "idx py = (idx)%s[ID(0) + apart];", places);
        combine_place(f, a, pa, "y", "py");
        gpu_line(s, "%s[ID(0)] = p%d;", places, f->id);
    } else {
        char a[16];
        snprintf(a, sizeof a, "a%d", f->id);
        combine(f, a, "y");
    }
    gpu_line(s, "part_%s[ID(0)] = a%d;", f->type, f->id);
    s->depth--;
    gpu_line(s, "}");
    gpu_line(s, "BARRIER;");
    s->depth--;
    gpu_line(s, "}");
    gpu_line(s, "a%d = part_%s[0];", f->id, f->type);
    if (f->place)
        gpu_line(s, "p%d = (idx)%s[0];", f->id, places);
    gpu_line(s, "BARRIER;");
}

/* Elements lo, lo + 1 … hi - 1 of the row in memory order, shared out one by one. */
static void share_elements(const Fold *f, const char *lo, const char *hi)
{
    GpuSource *s = f->s;
    const NestNode *node = &s->n->node[f->id];
    char end[32];                       /* names of parameters do not last */
    snprintf(end, sizeof end, "%s", hi);
    gpu_hoist(s, node->arg[0]);
    bool *before = gpu_enter(s, node->bound);
    s->together = false;
    gpu_line(s, "for (idx i = %s + (idx)ID(0); i < %s; i += (idx)SIZE(0)) {", lo, end);
    s->depth++;
    if (node->bound)
        gpu_axes(s, "i", node->bound);
    gpu_value(s, node->arg[0]);
    take_element(f);
    s->depth--;
    gpu_line(s, "}");
    gpu_leave(s, before, node->bound);
}

/* The same of what GPU_PARTS left. */
static void share_parts(const Fold *f)
{
    GpuSource *s = f->s;
    const char *chunks = gpu_param(s, PARAM_CHUNKS, 0, 0, 0),
               *part = gpu_param(s, PARAM_PART, 0, 0, 0);
    char a[16], pa[16];
    snprintf(a, sizeof a, "a%d", f->id);
    snprintf(pa, sizeof pa, "p%d", f->id);
    gpu_line(s, "for (idx i = (idx)ID(0); i < %s; i += (idx)SIZE(0)) {", chunks);
    s->depth++;
    gpu_line(s, "const %s y = ((GLOBAL const %s *)%s)[row*%s + i];", f->type, f->type,
             part, chunks);
    if (f->place) {
        gpu_line(s, "const idx py = (idx)((GLOBAL const i64 *)%s)[row*%s + i];",
                 gpu_param(s, PARAM_PLACE, 0, 0, 0), chunks);
        combine_place(f, a, pa, "y", "py");
    } else if (f->carries) {
        gpu_line(s, "CARRY(%s, %s, e%d, y)", f->type, a, f->id);
    } else {
        combine(f, a, "y");
    }
    s->depth--;
    gpu_line(s, "}");
}

static void reduce_together(const Fold *f)
{
    GpuSource *s = f->s;
    begin_fold(f);
    if (s->mode == GPU_JOIN && f->id == s->split)
        share_parts(f);
    else
        share_elements(f, "0", gpu_param(s, PARAM_LENGTH, f->id, 0, 0));
    end_sum(f);
    make_tree(f);
    end_fold(f);
}

void gpu_reduce(GpuSource *s, int id)
{
    Fold f = fold_of(s, id);
    if (s->together) {
        reduce_together(&f);
    } else {
        fold_alone(&f, false);
        end_fold(&f);
    }
}

/* ---- one group per row ---- */
static void store_inner(GpuSource *s, uint64_t inner)
{
    if (!inner) {
        gpu_value(s, s->n->root);
        gpu_line(s, "if (ID(0) == 0) {");
        s->depth++;
        gpu_store(s);
        s->depth--;
        gpu_line(s, "}");
        return;
    }
    bool *before = gpu_enter(s, inner);
    s->together = false;
    gpu_line(s, "for (idx i = (idx)ID(0); i < %s; i += (idx)SIZE(0)) {",
             gpu_param(s, PARAM_INNER, 0, 0, 0));
    s->depth++;
    gpu_axes(s, "i", inner);
    gpu_value(s, s->n->root);
    gpu_store(s);
    s->depth--;
    gpu_line(s, "}");
    gpu_leave(s, before, inner);
}

/* A share of one reduction: no result yet. */
static void store_part(GpuSource *s)
{
    Fold f = fold_of(s, s->split);
    const char *chunk = gpu_param(s, PARAM_CHUNK, 0, 0, 0);
    gpu_line(s, "const idx lo = (job %% %s)*%s;", gpu_param(s, PARAM_CHUNKS, 0, 0, 0), chunk);
    gpu_line(s, "const idx hi = lo + %s < %s ? lo + %s : %s;", chunk,
             gpu_param(s, PARAM_LENGTH, f.id, 0, 0), chunk, gpu_param(s, PARAM_LENGTH, f.id, 0, 0));
    begin_fold(&f);
    share_elements(&f, "lo", "hi");
    end_sum(&f);
    make_tree(&f);
    gpu_line(s, "if (ID(0) == 0) {");
    s->depth++;
    store_share(&f, "job");
    s->depth--;
    gpu_line(s, "}");
}

void gpu_rows(GpuSource *s)
{
    uint64_t axes = (UINT64_C(1) << s->n->out_rank) - 1, inner = axes & ~s->row_axes;
    bool parts = s->mode == GPU_PARTS;
    const char *rows = gpu_param(s, PARAM_ROWS, 0, 0, 0);
    gpu_line(s, "for (idx job = (idx)GROUP(0); job < %s; job += (idx)GROUPS(0)) {", rows);
    s->depth++;
    if (parts)
        gpu_line(s, "const idx row = job / %s;", gpu_param(s, PARAM_CHUNKS, 0, 0, 0));
    else
        gpu_line(s, "const idx row = job;");
    gpu_axes(s, "row", s->row_axes);
    s->scope |= s->row_axes;
    s->together = true;
    if (parts) {
        store_part(s);
    } else {
        gpu_hoist(s, s->n->root);
        store_inner(s, inner);
    }
    gpu_line(s, "BARRIER;");
    s->depth--;
    gpu_line(s, "}");
}
