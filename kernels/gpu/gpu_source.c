/* The text of a nest's kernels: parameters, positions, values of nodes, stores. Values are made in
 * the outermost scope in which they are known, so a loop computes what moves in it alone.
 * Reductions are gpu_reduce.c's, functions and types gpu_prelude.c's. */
#include "kernels/gpu/gpu_source.h"

#include <stdio.h>
#include <string.h>

/* ---- writing ---- */
void gpu_line(GpuSource *s, const char *fmt, ...)
{
    va_list ap;
    buf_fill(&s->body, ' ', (size_t)(4 * s->depth));
    va_start(ap, fmt);
    buf_vprintf(&s->body, fmt, ap);
    va_end(ap);
    buf_putc(&s->body, '\n');
}

static char *next_name(GpuSource *s)
{
    return s->name[s->names++ % 8];
}

static const char *const param_names[] = {
    [PARAM_OUT] = "out", [PARAM_FLAG] = "flag", [PARAM_SLOT] = "m", [PARAM_PART] = "part",
    [PARAM_PLACE] = "place", [PARAM_CONST] = "c", [PARAM_EXTENT] = "n", [PARAM_STRIDE] = "s",
    [PARAM_OUT_STRIDE] = "w", [PARAM_TABLE_STRIDE] = "t", [PARAM_TABLE_STEP] = "u",
    [PARAM_START] = "b",
    [PARAM_STEP] = "d", [PARAM_LENGTH] = "l", [PARAM_ROWS] = "rows", [PARAM_INNER] = "inner",
    [PARAM_CHUNK] = "chunk", [PARAM_CHUNKS] = "chunks",
};

static const char *param_name(GpuSource *s, const GpuParam *p)
{
    char *name = next_name(s);
    static const uint8_t numbers[] = {
        [PARAM_SLOT] = 1, [PARAM_CONST] = 1, [PARAM_EXTENT] = 1, [PARAM_STRIDE] = 2,
        [PARAM_OUT_STRIDE] = 1,
        [PARAM_TABLE_STRIDE] = 3, [PARAM_TABLE_STEP] = 2, [PARAM_START] = 1, [PARAM_STEP] = 1,
        [PARAM_LENGTH] = 1, [PARAM_CHUNKS] = 0,
    };
    int n = numbers[p->kind];
    snprintf(name, sizeof s->name[0],
             n == 0 ? "%s" : n == 1 ? "%s%d" : n == 2 ? "%s%d_%d" : "%s%d_%d_%d",
             param_names[p->kind], p->a, p->b, p->c);
    return name;
}

const char *gpu_param(GpuSource *s, GpuParamKind kind, int a, int b, int c)
{
    GpuParam p = { (uint16_t)kind, (int16_t)a, (int16_t)b, (int16_t)c };
    int i = 0;
    while (i < s->params && memcmp(&s->param[i], &p, sizeof p) != 0)
        i++;
    if (i == s->params && s->params < GPU_PARAMS)
        s->param[s->params++] = p;
    return param_name(s, &p);
}

/* ---- positions ---- */
void gpu_axes(GpuSource *s, const char *from, uint64_t axes)
{
    int left = __builtin_popcountll(axes);
    if (left > 1)
        gpu_line(s, "uidx q = (uidx)%s;", from);
    for (int i = s->n->indices - 1; i >= 0; i--) {
        if (!(axes >> i & 1))
            continue;
        if (left == 1) {
            gpu_line(s, "const idx x%d = (idx)%s;", i, __builtin_popcountll(axes) > 1 ? "q" : from);
        } else {
            const char *n = gpu_param(s, PARAM_EXTENT, i, 0, 0);
            gpu_line(s, "const idx x%d = (idx)(q %% (uidx)%s);", i, n);
            gpu_line(s, "q /= (uidx)%s;", n);
        }
        left--;
    }
}

bool *gpu_enter(GpuSource *s, uint64_t axes)
{
    bool *before = mem_alloc(s->ctx, (size_t)s->n->nodes + 1);
    memcpy(before, s->known, (size_t)s->n->nodes);
    s->scope |= axes;
    before[s->n->nodes] = s->together;
    return before;
}

void gpu_leave(GpuSource *s, bool *before, uint64_t axes)
{
    memcpy(s->known, before, (size_t)s->n->nodes);
    s->together = before[s->n->nodes];
    s->scope &= ~axes;
    mem_free(s->ctx, before, (size_t)s->n->nodes + 1);
}

/* One term of a place in memory; strides that are 0 or 1 are part of the text. */
static void add_term(GpuSource *s, Buf *b, int axis, int64_t stride, GpuParamKind kind,
                     int a, int c)
{
    if (!stride)
        return;
    if (b->len)
        buf_puts(b, " + ");
    buf_printf(b, "x%d", axis);
    if (stride != 1)
        buf_printf(b, "*%s", kind == PARAM_OUT_STRIDE ? gpu_param(s, kind, axis, 0, 0)
                           : kind == PARAM_STRIDE ? gpu_param(s, kind, a, axis, 0)
                                                  : gpu_param(s, kind, a, c, axis));
}

static const char *place_text(Buf *b) { return b->len ? buf_cstr(b) : "0"; }

static uint64_t bit(int i) { return UINT64_C(1) << i; }

/* Indices that nothing binds stand at position 0. */
static bool moves(const GpuSource *s, int i) { return s->scope >> i & 1; }

/* ---- values ---- */
static void value_load(GpuSource *s, int id)
{
    int l = s->n->node[id].slot;
    const NestLoad *load = &s->n->load[l];
    DType dt = load->dtype;
    Buf at, zero;
    buf_init(&at, s->ctx);
    buf_init(&zero, s->ctx);
    for (int i = 0; i < s->n->indices; i++)
        if (moves(s, i))
            add_term(s, &at, i, load->stride[i], PARAM_STRIDE, l, 0);
    for (int g = 0; g < load->gathers; g++) {
        const NestGather *gather = &load->gather[g];
        Buf place;
        buf_init(&place, s->ctx);
        for (int i = 0; i < s->n->indices; i++)
            if (moves(s, i))
                add_term(s, &place, i, gather->stride[i], PARAM_TABLE_STRIDE, l, g);
        const char *m = gpu_param(s, PARAM_SLOT, gather->slot, 0, 0);
        gpu_line(s, "const i64 g%d_%d = ((GLOBAL const i64 *)%s)[%s];", id, g, m,
                 place_text(&place));
        buf_printf(&zero, "%sg%d_%d < 0", g ? " || " : "", id, g);
        buf_printf(&at, "%sg%d_%d*%s", at.len ? " + " : "", id, g,
                   gpu_param(s, PARAM_TABLE_STEP, l, g, 0));
        buf_free(&place);
    }
    Buf element, value;
    buf_init(&element, s->ctx);
    buf_init(&value, s->ctx);
    buf_printf(&element, "((GLOBAL const %s *)%s)[%s]", gpu_stored(dt),
               gpu_param(s, PARAM_SLOT, load->slot, 0, 0), place_text(&at));
    gpu_loaded(&value, dt, buf_cstr(&element));
    if (zero.len)
        gpu_line(s, "%s v%d = 0;\n%*sif (!(%s)) v%d = %s;", gpu_type(dt), id, 4 * s->depth, "",
                 buf_cstr(&zero), id, buf_cstr(&value));
    else
        gpu_line(s, "const %s v%d = %s;", gpu_type(dt), id, buf_cstr(&value));
    buf_free(&element);
    buf_free(&value);
    buf_free(&zero);
    buf_free(&at);
}

static void trouble_line(GpuSource *s, const NestNode *node)
{
    EwOp op = (EwOp)node->op;
    bool division = ew_divides(op);
    int kind = division ? EWT_DIVZERO : op == EW_POWER ? EWT_INT_POWER : EWT_SHIFT;
    if (!division && (node->compute == DT_U8 || node->compute == DT_BOOL))
        return;
    s->checked = true;
    gpu_line(s, "if (v%d %s 0) TROUBLE(%d);", node->arg[1], division ? "==" : "<", kind);
}

/* A NaN that no argument had. */
static void watch_line(GpuSource *s, int id, const NestNode *node)
{
    Buf b;
    buf_init(&b, s->ctx);
    buf_printf(&b, "if (v%d != v%d", id, id);
    for (int k = 0; k < node->args; k++)
        if (dtype_info(s->n->node[node->arg[k]].dtype)->kind == 'f')
            buf_printf(&b, " && v%d == v%d", node->arg[k], node->arg[k]);
    s->checked = true;
    gpu_line(s, "%s) TROUBLE(%d);", buf_cstr(&b), EWT_NAN);
    buf_free(&b);
}

static void write_call(GpuSource *s, Buf *b, const NestNode *node, bool own)
{
    DType compute = (DType)node->compute, runs = gpu_runs_in(compute);
    if (own)
        buf_printf(b, "next_%s(", dtype_name(compute));
    else
        buf_printf(b, "ew_%s_%s(", ew_info[node->op].name, dtype_name(runs));
    for (int k = 0; k < node->args; k++)
        buf_printf(b, "%sv%d", k ? ", " : "", node->arg[k]);
    buf_putc(b, ')');
    if (!own)
        s->functions[node->op] |= 1u << runs;
}

static void value_ew(GpuSource *s, int id)
{
    const NestNode *node = &s->n->node[id];
    DType compute = (DType)node->compute, runs = gpu_runs_in(compute);
    bool half = runs != compute, own = half && node->op == EW_NEXTAFTER;
    if (ew_is_checked((EwOp)node->op, compute))
        trouble_line(s, node);
    Buf call, value;
    buf_init(&call, s->ctx);
    buf_init(&value, s->ctx);
    if (s->strip[id])
        buf_printf(&call, "strip%d[x%d - at]", id, s->n->out_rank - 1);
    else
        write_call(s, &call, node, own);
    s->seen |= 1u << compute | 1u << runs;
    bool rounds = half && !own && dtype_info(node->dtype)->kind == 'f';
    if (rounds)
        buf_printf(&value, "round_%s(%s)", dtype_name(compute), buf_cstr(&call));
    gpu_line(s, "const %s v%d = %s;", gpu_type((DType)node->dtype), id,
             buf_cstr(rounds ? &value : &call));
    if (node->watch && dtype_info(node->dtype)->kind == 'f')
        watch_line(s, id, node);
    buf_free(&call);
    buf_free(&value);
}

static void value_cast(GpuSource *s, int id)
{
    const NestNode *node = &s->n->node[id];
    Buf value;
    char from[24];
    snprintf(from, sizeof from, "v%d", node->arg[0]);
    buf_init(&value, s->ctx);
    gpu_cast(s, &value, (DType)node->dtype, (DType)s->n->node[node->arg[0]].dtype, from);
    gpu_line(s, "const %s v%d = %s;", gpu_type((DType)node->dtype), id, buf_cstr(&value));
    buf_free(&value);
}

static void value_new(GpuSource *s, int id)
{
    const NestNode *node = &s->n->node[id];
    DType dt = (DType)node->dtype;
    s->seen |= 1u << dt;
    switch ((NestKind)node->kind) {
    case NEST_CONST: {
        Buf value;
        buf_init(&value, s->ctx);
        gpu_loaded(&value, dt, gpu_param(s, PARAM_CONST, node->slot, (int)dt, 0));
        gpu_line(s, "const %s v%d = %s;", gpu_type(dt), id, buf_cstr(&value));
        buf_free(&value);
        break;
    }
    case NEST_INDEX:
        if (moves(s, node->slot))
            gpu_line(s, "const i64 v%d = %s + (i64)x%d*%s;", id,
                     gpu_param(s, PARAM_START, node->slot, 0, 0),
                     node->slot, gpu_param(s, PARAM_STEP, node->slot, 0, 0));
        else
            gpu_line(s, "const i64 v%d = %s;", id, gpu_param(s, PARAM_START, node->slot, 0, 0));
        break;
    case NEST_LOAD: value_load(s, id); break;
    case NEST_CAST: value_cast(s, id); break;
    case NEST_EW: value_ew(s, id); break;
    case NEST_REDUCE: gpu_reduce(s, id); break;
    }
}

/* A strip's values are there; what they were made of is asked for only by a watch. */
static bool needs_args(const GpuSource *s, int id)
{
    const NestNode *node = &s->n->node[id];
    return node->kind != NEST_REDUCE && (!s->strip[id] || node->watch);
}

/* All of `id` that is not known yet, arguments first. What a reduction sums is its own business. */
void gpu_value(GpuSource *s, int id)
{
    bool *need = mem_zalloc(s->ctx, (size_t)id + 1);
    need[id] = true;
    for (int i = id; i >= 0; i--) {
        const NestNode *node = &s->n->node[i];
        need[i] &= !s->known[i];
        for (int k = 0; need[i] && needs_args(s, i) && k < node->args; k++)
            need[node->arg[k]] = true;
    }
    for (int i = 0; i <= id; i++)
        if (need[i]) {
            value_new(s, i);
            s->known[i] = true;
        }
    mem_free(s->ctx, need, (size_t)id + 1);
}

/* Looks into reductions too: what they sum may know less than they do. A node that moves is
 * taken apart; one that stands still here is computed now. */
void gpu_hoist(GpuSource *s, int id)
{
    if (!s->form->hoist)
        return;
    bool *need = mem_zalloc(s->ctx, 2 * (size_t)id + 2), *still = need + id + 1;
    need[id] = true;
    for (int i = id; i >= 0; i--) {
        const NestNode *node = &s->n->node[i];
        still[i] = need[i] && !(node->free & ~s->scope) && !s->known[i];
        for (int k = 0; need[i] && !still[i] && !s->known[i] && k < node->args; k++)
            need[node->arg[k]] = true;
    }
    for (int i = 0; i <= id; i++)
        if (still[i])
            gpu_value(s, i);
    mem_free(s->ctx, need, 2 * (size_t)id + 2);
}

void gpu_store(GpuSource *s)
{
    Buf at, value;
    DType dt = (DType)s->n->node[s->n->root].dtype;
    char name[24];
    snprintf(name, sizeof name, "v%d", s->n->root);
    buf_init(&at, s->ctx);
    buf_init(&value, s->ctx);
    for (int i = 0; i < s->n->out_rank; i++)
        add_term(s, &at, i, s->form->out_stride[i], PARAM_OUT_STRIDE, 0, 0);
    gpu_kept(&value, dt, name);
    gpu_line(s, "((GLOBAL %s *)%s)[%s] = %s;", gpu_stored(dt), gpu_param(s, PARAM_OUT, 0, 0, 0),
             place_text(&at), buf_cstr(&value));
    buf_free(&at);
    buf_free(&value);
}

/* ---- one work item per result ---- */
/* Neighbours lie along the work items of an accelerator, and along the positions of one of a
 * processor: each reads memory in its order. */
static void open_position(GpuSource *s, int last)
{
    const char *n = gpu_param(s, PARAM_EXTENT, last, 0, 0);
    gpu_line(s, "for (int k = 0; k < PER; k++) {");
    s->depth++;
    gpu_line(s, "const idx x%d = from + k*(idx)SIZE(0);", last);
    gpu_line(s, "if (x%d < %s) {", last, n);
    s->depth++;
}

static void close_position(GpuSource *s)
{
    for (int closing = 2; closing; closing--) {
        s->depth--;
        gpu_line(s, "}");
    }
}

/* ---- one work item of a processor ---- */
/* The value of node `id` at positions `from` to `to`, kept in its array or (the root) stored. No
 * test stands in the loop, so that it becomes vector instructions. */
static void thread_loop(GpuSource *s, int last, const char *from, const char *to, int id)
{
    gpu_line(s, "for (idx x%d = %s; x%d < %s; x%d++) {", last, from, last, to, last);
    s->depth++;
    bool *before = gpu_enter(s, bit(last));
    if (id < 0) {
        gpu_value(s, s->n->root);
        gpu_store(s);
    } else {
        int arg = s->n->node[id].arg[0];
        gpu_value(s, arg);
        gpu_line(s, "strip%d[x%d - at] = v%d;", id, last, arg);
    }
    gpu_leave(s, before, bit(last));
    s->depth--;
    gpu_line(s, "}");
}

/* A loop with an exponential in it becomes vector instructions at a compiler's whim, and one with
 * a logarithm never (PoCL 3.1: twenty times as slow): those are taken of whole vectors, between
 * loops over the rest. */
static bool in_vectors(const GpuSource *s, int id, int last)
{
    const NestNode *node = &s->n->node[id];
    return s->form->used[id] && node->kind == NEST_EW && !s->known[id] && !s->form->reduces &&
           node->free >> last & 1 && gpu_has_vectors((EwOp)node->op) &&
           dtype_info((DType)node->compute)->kind == 'f';
}

static void thread_body(GpuSource *s, int last)
{
    int strips = 0;
    const char *n = gpu_param(s, PARAM_EXTENT, last, 0, 0);
    gpu_line(s, "const idx end = %s - from < %s ? %s : from + %s;", n,
             gpu_param(s, PARAM_CHUNK, 0, 0, 0), n, gpu_param(s, PARAM_CHUNK, 0, 0, 0));
    for (int i = 0; i <= s->n->root; i++)
        strips += in_vectors(s, i, last);
    if (!strips) {
        thread_loop(s, last, "from", "end", -1);
        return;
    }
    gpu_line(s, "for (idx at = from; at < end; at += %d) {", GPU_STRIP);
    s->depth++;
    gpu_line(s, "const idx stop = end - at < %d ? end : at + %d;", GPU_STRIP, GPU_STRIP);
    for (int i = 0; i <= s->n->root; i++) {
        const NestNode *node = &s->n->node[i];
        if (!in_vectors(s, i, last))
            continue;
        gpu_line(s, "%s strip%d[%d];", gpu_type((DType)node->compute), i, GPU_STRIP);
        thread_loop(s, last, "at", "stop", i);
        gpu_line(s, "for (idx k = 0; k < stop - at; k += %d)", GPU_LANES);
        gpu_line(s, "    vstore%d(%s(vload%d(0, strip%d + k)), 0, strip%d + k);", GPU_LANES,
                 ew_info[node->op].name, GPU_LANES, i, i);
        s->strip[i] = true;
    }
    thread_loop(s, last, "at", "stop", -1);
    s->depth--;
    gpu_line(s, "}");
}

/* ---- one work item of an accelerator ---- */

/* All loads before the first store, which could be of the same memory as far as a compiler
 * knows: so they are under way together. */
static void store_later(GpuSource *s, int last)
{
    int root = s->n->root;
    gpu_line(s, "%s all[PER];", gpu_type((DType)s->n->node[root].dtype));
    gpu_line(s, "UNROLL");
    open_position(s, last);
    bool *before = gpu_enter(s, bit(last));
    gpu_value(s, root);
    gpu_line(s, "all[k] = v%d;", root);
    gpu_leave(s, before, bit(last));
    close_position(s);
    gpu_line(s, "UNROLL");
    open_position(s, last);
    gpu_line(s, "const %s v%d = all[k];", gpu_type((DType)s->n->node[root].dtype), root);
    gpu_store(s);
    close_position(s);
}

/* The last axis lies along work items, `PER` positions in each where nothing is summed; the
 * others are rows. The host chooses the shape of a group to fit. */
static void items_body(GpuSource *s, int last)
{
    gpu_hoist(s, s->n->root);
    if (s->caps & DEVCAP_CPU) {
        thread_body(s, last);
        return;
    }
    if (gpu_per(s->form) > 1 && !s->known[s->n->root]) {
        store_later(s, last);
        return;
    }
    open_position(s, last);
    bool *before = gpu_enter(s, bit(last));
    gpu_value(s, s->n->root);
    gpu_store(s);
    gpu_leave(s, before, bit(last));
    close_position(s);
}

static void make_items(GpuSource *s)
{
    int last = s->n->out_rank - 1;
    uint64_t outer = last > 0 ? bit(last) - 1 : 0;
    if (last < 0) {
        gpu_line(s, "if (GROUP(0) == 0 && ID(0) == 0) {");
        s->depth++;
        gpu_value(s, s->n->root);
        gpu_store(s);
        s->depth--;
        gpu_line(s, "}");
        return;
    }
    if (s->caps & DEVCAP_CPU)
        gpu_line(s, "const idx from = (idx)GROUP(0)*%s;", gpu_param(s, PARAM_CHUNK, 0, 0, 0));
    else
        gpu_line(s, "const idx from = (idx)GROUP(0)*(idx)(SIZE(0)*PER) + (idx)ID(0);");
    if (outer) {
        gpu_line(s, "for (idx row = (idx)GROUP(1)*(idx)SIZE(1) + (idx)ID(1); row < %s;"
                 " row += (idx)GROUPS(1)*(idx)SIZE(1)) {",
                 gpu_param(s, PARAM_ROWS, 0, 0, 0));
        s->depth++;
        gpu_axes(s, "row", outer);
        s->scope |= outer;
    }
    items_body(s, last);
    if (outer) {
        s->depth--;
        gpu_line(s, "}");
    }
}

/* ---- the whole ---- */
static bool is_memory(int kind) { return kind <= PARAM_PLACE; }

static const char *value_type(const GpuParam *p)
{
    if (p->kind == PARAM_CONST)
        return gpu_stored((DType)p->b);
    return p->kind == PARAM_START || p->kind == PARAM_STEP || p->kind == PARAM_TABLE_STEP
           ? "i64" : "idx";
}

static void write_head(GpuSource *s, Buf *b)
{
    buf_puts(b, "KERNEL void nest(");
    for (int i = 0; i < s->params; i++) {
        const GpuParam *p = &s->param[i];
        const char *name = param_name(s, p);
        if (i)
            buf_puts(b, ", ");
        if (is_memory(p->kind))
            buf_printf(b, "GLOBAL char *%s_, u64 %s_at", name, name);
        else
            buf_printf(b, "%s %s", value_type(p), name);
    }
    buf_puts(b, ")\n{\n");
    for (int i = 0; i < s->params; i++)
        if (is_memory(s->param[i].kind)) {
            const char *name = param_name(s, &s->param[i]);
            buf_printf(b, "    GLOBAL char *const %s = %s_ + %s_at;\n", name, name, name);
        }
    for (int dt = 0; dt < DT_COUNT; dt++)       /* bools and u8 share an array */
        if (s->locals >> dt & 1 && !(dt == DT_U8 && s->locals >> DT_BOOL & 1))
            buf_printf(b, "    LOCAL %s part_%s[%d];\n", gpu_type((DType)dt),
                       gpu_type((DType)dt), GPU_GROUP);
    if (s->locals >> DT_COUNT & 1)
        buf_printf(b, "    LOCAL i64 part_place[%d];\n", GPU_GROUP);
    if (s->checked)
        buf_puts(b, "    int trouble = 0;\n");
}

void gpu_source_begin(GpuSource *s, Ctx *ctx, const GpuForm *f, GpuMode mode, unsigned caps,
                      uint32_t dtypes)
{
    memset(s, 0, sizeof *s);
    s->ctx = ctx;
    s->form = f;
    s->n = f->n;
    s->mode = mode;
    s->caps = caps;
    s->dtypes = dtypes;
    buf_init(&s->body, ctx);
    buf_init(&s->text, ctx);
}

/* Strides are in the text where they are 0 or 1. */
static void key_strides(Buf *b, const int64_t *stride, int n)
{
    for (int i = 0; i < n; i++)
        buf_putc(b, stride[i] == 0 ? '0' : stride[i] == 1 ? '1' : 's');
}

static void key_load(Buf *b, const NestLoad *load, int indices)
{
    int32_t head[] = { load->slot, (int32_t)load->dtype, load->gathers };
    buf_put(b, (const char *)head, sizeof head);
    key_strides(b, load->stride, indices);
    for (int g = 0; g < load->gathers; g++) {
        buf_put(b, (const char *)&load->gather[g].slot, sizeof load->gather[g].slot);
        key_strides(b, load->gather[g].stride, indices);
    }
}

void gpu_source_key(const GpuSource *s, Buf *b)
{
    const Nest *n = s->n;
    const GpuForm *f = s->form;
    int32_t head[] = { (int32_t)s->mode, (int32_t)s->caps, s->split, s->move_axis, n->indices,
                       n->out_rank, n->root, f->wide, f->hoist };
    buf_put(b, (const char *)head, sizeof head);
    buf_put(b, (const char *)&s->row_axes, sizeof s->row_axes);
    key_strides(b, f->out_stride, n->out_rank);
    for (int i = 0; i <= n->root; i++) {
        const NestNode *node = &n->node[i];
        if (!f->used[i])
            continue;
        int16_t at[] = { (int16_t)i, node->arg[0], node->arg[1], node->arg[2], node->slot };
        uint8_t what[] = { node->kind, node->op, node->args, node->watch, (uint8_t)node->dtype,
                           (uint8_t)node->compute };
        buf_put(b, (const char *)at, sizeof at);
        buf_put(b, (const char *)what, sizeof what);
        buf_put(b, (const char *)&node->bound, sizeof node->bound);
        if (node->kind == NEST_LOAD)
            key_load(b, &n->load[node->slot], n->indices);
    }
}

void gpu_source_make(GpuSource *s)
{
    s->known = mem_zalloc(s->ctx, 2 * ((size_t)s->n->nodes + 1));
    s->strip = s->known + s->n->nodes + 1;
    s->depth = 1;
    if (s->mode == GPU_ITEMS)
        make_items(s);
    else if (s->mode == GPU_STRIPS)
        gpu_strips(s);
    else if (s->mode == GPU_MOVE)
        gpu_move(s);
    else
        gpu_rows(s);
    if (s->checked)
        gpu_line(s, "if (trouble) RAISE(%s);", gpu_param(s, PARAM_FLAG, 0, 0, 0));
    gpu_prelude(s, &s->text);
    write_head(s, &s->text);
    buf_put(&s->text, s->body.data, s->body.len);
    buf_puts(&s->text, "}\n");
}

void gpu_source_free(GpuSource *s)
{
    if (s->known)
        mem_free(s->ctx, s->known, 2 * ((size_t)s->n->nodes + 1));
    s->known = s->strip = NULL;
    buf_free(&s->body);
    buf_free(&s->text);
}
