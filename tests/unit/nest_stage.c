/* Stages against the plain reference: random expressions over random layouts (strides of any
 * sign, transposed, overlapping, gathers with padding), extents around the lengths of strips
 * and lanes, reductions of all kinds; the same bits on one thread and on two; integer trouble.
 * Sums are compared within a rounding bound; results in place of an operand: nest_plan.c. */
#include "kernels/cast/tensor_cast.h"
#include "kernels/plan/plan.h"
#include "tests/unit/check.h"

#include <stdlib.h>

static Ctx ctx_storage[2], *ctx = &ctx_storage[0];

enum { SLOTS = 160, WORK = 60000 };

/* A nest in the making, and its data. */
typedef struct Case {
    Nest *n;
    char *block[SLOTS];             /* what is freed */
    const void *data[SLOTS];
    bool floats;                    /* any value; else small whole numbers, whose sums are exact */
    bool rows;                      /* loads lie dense or are the same in every row */
    int64_t size;
} Case;

static int pick(int n) { return (int)(check_random() % (uint64_t)n); }

static const int64_t lengths[] =
    { 0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127,
                                   129, 200, 255, 257, 511, 512, 513, 700, 1025, 1500 };

static int64_t random_length(double room)
{
    for (;;) {
        int64_t n = lengths[pick(sizeof lengths / sizeof *lengths)];
        if ((double)n <= room && (n != 0 || pick(12) == 0))
            return n;
    }
}

static void put_number(DType dt, char *at, double v)
{
    double _Complex z = v;
    if (dtype_info(dt)->kind == 'c')
        __imag__ z = pick(3) - 1;
    if (dt == DT_U8 && v < 0)
        z = v = -v;
    if (dtype_info(dt)->kind == 'b')
        z = v > 0;
    if (dtype_info(dt)->kind == 'c')
        cast_run(dt, at, 1, DT_C128, &z, 1, 1);
    else {
        v = __real__ z;
        cast_run(dt, at, 1, DT_F64, &v, 1, 1);
    }
}

static double random_number(bool floats)
{
    if (!floats)
        return pick(7) - 3;
    static const double special[] = { 0, -0.0, INFINITY, -INFINITY, NAN, 1e30, 1e-30 };
    return pick(15) == 0 ? special[pick(7)] : 10 * check_uniform();
}

static void fill(Case *c, int slot, DType dt, int64_t count, int64_t start)
{
    int64_t bytes = dtype_info(dt)->bytes;
    bool floats = c->floats && dtype_info(dt)->kind != 'i' && dtype_info(dt)->kind != 'b';
    c->block[slot] = malloc((size_t)((count + 1) * bytes));
    for (int64_t i = 0; i < count; i++)
        put_number(dt, c->block[slot] + i * bytes, random_number(floats));
    c->data[slot] = c->block[slot] + start * bytes;
}

/* Random strides over some of the indices; how many elements they reach, where they start. */
static void random_strides(const Nest *n, int64_t *stride, int64_t *count, int64_t *start)
{
    int order[NEST_INDICES], left = n->indices;
    int64_t next = 1;
    for (int i = 0; i < n->indices; i++)
        order[i] = n->indices - 1 - i;
    if (pick(2))
        for (int i = left - 1; i > 0; i--) {
            int j = pick(i + 1), t = order[i];
            order[i] = order[j];
            order[j] = t;
        }
    *count = 1;
    *start = 0;
    for (int a = 0; a < n->indices; a++) {
        int i = order[a];
        int64_t extent = n->index[i].extent;
        if (pick(4) == 0 || extent == 0)
            continue;
        int64_t step = pick(8) == 0 ? 1 + pick(3) : next * (pick(12) == 0 ? 2 : 1);
        if (*count + (extent - 1) * step > 4000000)
            continue;
        *count += (extent - 1) * step;
        next = *count;
        stride[i] = step;
        if (pick(6) == 0) {
            stride[i] = -step;
            *start += (extent - 1) * step;
        }
    }
}

/* Dense, or one row for all. */
static void row_strides(const Nest *n, int64_t *stride, int64_t *count, int64_t *start)
{
    int last = n->indices - 1;
    int64_t step = pick(3) ? 1 : pick(2) ? 2 : -1, extent = n->index[last].extent;
    *count = 1;
    *start = 0;
    if (pick(2)) {
        for (int i = last; i >= 0; i--) {
            stride[i] = *count;
            *count *= n->index[i].extent;
        }
        return;
    }
    stride[last] = step;
    *count = extent ? 1 + (extent - 1) * (step < 0 ? -step : step) : 1;
    *start = step < 0 ? *count - 1 : 0;
}

static void add_gather(Case *c, NestLoad *load, int64_t *count)
{
    int slot = nest_slot(c->n);
    NestGather *g = nest_gather_new(ctx, load, slot, 1 + pick(3));
    int64_t entries, start, range = 1 + pick(50);
    random_strides(c->n, g->stride, &entries, &start);
    int64_t *table = malloc((size_t)entries * sizeof *table);
    bool padded = pick(3) == 0;
    for (int64_t i = 0; i < entries; i++)
        table[i] = padded && pick(5) == 0 ? -1 : pick((int)range);
    *count += (range - 1) * g->step;
    c->block[slot] = (char *)table;
    c->data[slot] = table + start;
}

static int random_load(Case *c, DType dt)
{
    int slot = nest_slot(c->n);
    NestLoad *load = nest_load_new(ctx, c->n, slot, dt, "A");
    int64_t count, start;
    if (c->rows)
        row_strides(c->n, load->stride, &count, &start);
    else
        random_strides(c->n, load->stride, &count, &start);
    for (int g = !c->rows && pick(6) == 0 ? 1 + pick(2) : 0; g > 0; g--)
        add_gather(c, load, &count);
    fill(c, slot, dt, count, start);
    return nest_load(ctx, c->n);
}

static int random_const(Case *c, DType dt)
{
    int slot = nest_slot(c->n);
    c->block[slot] = malloc(16);
    put_number(dt, c->block[slot], pick(2) ? 2 : random_number(c->floats));
    c->data[slot] = c->block[slot];
    return nest_const(ctx, c->n, slot, dt, false);
}

/* The operation on operands of any dtype, as the language would do it; -1: not for these. */
static int operate(Case *c, EwOp op, const int *args, int count)
{
    DType dt = (DType)c->n->node[args[count - 1]].dtype;
    int first = ew_info[op].result == RES_WHERE;
    for (int k = first; k < count; k++)
        dt = dtype_promote(dt, (DType)c->n->node[args[k]].dtype);
    DType compute = ew_compute_dtype(op, dt);
    bool rough = dtype_info(dt)->kind == 'c' && (op == EW_POWER || op == EW_ABS || op == EW_SQRT ||
                                                op == EW_DIVIDE || op == EW_SIGN);
    if (compute == DT_NONE || rough || (first && c->n->node[args[0]].dtype != DT_BOOL))
        return -1;
    return nest_ew(ctx, c->n, op, compute, args, count);
}

static const EwOp exact_ops[] =
    { EW_ADD, EW_SUBTRACT, EW_MULTIPLY, EW_ADD, EW_SUBTRACT, EW_MULTIPLY,
                                  EW_MAXIMUM, EW_MINIMUM, EW_NEGATIVE, EW_ABS, EW_POWER,
                                  EW_LESS, EW_WHERE, EW_BITAND, EW_CLAMP, EW_FMA };
static const EwOp more_ops[] =
    { EW_DIVIDE, EW_SQRT, EW_FLOOR, EW_SIGN, EW_CONJ, EW_REAL, EW_ISNAN };

/* Sums of whole numbers that stay exact in any order: f32 holds 24 bits. */
static bool is_narrow(const Case *c, DType dt)
{
    return !c->floats && (dt == DT_F32 || dt == DT_F16 || dt == DT_BF16 || dt == DT_C64);
}

static int random_tree(Case *c, DType dt, int depth, int slots)
{
    if (is_narrow(c, dt) && depth > 2)
        depth = 2;
    if (depth == 0 || c->n->slots > slots) {
        int kind = pick(8);
        if (kind == 0 && c->n->indices && !is_narrow(c, dt))
            return nest_number(ctx, c->n, pick(c->n->indices));
        if (kind == 1)
            return random_const(c, dt);
        return c->n->slots > slots ? random_const(c, dt) : random_load(c, dt);
    }
    for (int tries = 0; tries < 20; tries++) {
        bool more = c->floats && pick(4) == 0;
        EwOp op = more ? more_ops[pick(7)] : exact_ops[pick(16)];
        int args[3], count = ew_info[op].arity;
        for (int k = 0; k < count; k++)
            args[k] = random_tree(c, dt, depth - 1 - pick(depth), slots);
        if (op == EW_WHERE) {
            int pair[] = { args[1], args[2] };
            args[0] = operate(c, EW_LESS, pair, 2);
            if (args[0] < 0)
                continue;
        }
        if (op == EW_POWER)
            args[1] = random_const(c, dt);
        if (op == EW_POWER) {                   /* the reference rounds squares of floats twice */
            if (c->floats && dtype_info(c->n->node[args[0]].dtype)->kind == 'f')
                continue;
            bool whole = dtype_info(c->n->node[args[0]].dtype)->kind == 'i' &&
                         dtype_info(dt)->kind == 'i';
            put_number(dt, c->block[c->n->node[args[1]].slot], 2 + (whole && pick(5) == 0));
        }
        if (op == EW_MULTIPLY && pick(3) == 0)
            args[1] = args[0];
        int node = operate(c, op, args, count);
        if (node >= 0)
            return node;
    }
    return random_load(c, dt);
}

/* ---- comparing ---- */

static bool same_element(DType dt, const char *a, const char *b, bool bits)
{
    if (memcmp(a, b, dtype_info(dt)->bytes) == 0)
        return true;
    if (dtype_info(dt)->kind == 'i' || dtype_info(dt)->kind == 'b')
        return false;
    double _Complex x = element_c128(dt, a), y = element_c128(dt, b);
    double p[] = { creal(x), cimag(x) }, q[] = { creal(y), cimag(y) };
    for (int k = 0; k < 2; k++)
        if (!(isnan(p[k]) && isnan(q[k])) &&
            (p[k] != q[k] || (bits && signbit(p[k]) != signbit(q[k]))))
            return false;
    return true;
}

static char *run(Ctx *with, Case *c, const int64_t *stride, int64_t count, bool reference,
                 EwTrouble *trouble)
{
    int64_t bytes = dtype_info(c->n->node[c->n->root].dtype)->bytes;
    char *out = calloc((size_t)(count + 1), (size_t)bytes);
    if (reference) {
        *trouble = nest_reference(c->n, out, stride, c->data, NULL);
        return out;
    }
    NestStage *s = nest_stage_plan(with, c->n, stride);
    *trouble = nest_stage_run(with, s, out, c->data);
    nest_stage_free(with, s);
    return out;
}

static const char *kind_names[] = { "const", "number", "load", "cast", "ew", "reduce" };

static void show(const Case *c, const int64_t *stride)
{
    for (int i = 0; i < c->n->indices; i++)
        fprintf(stderr, "  index %d: %lld, result stride %lld\n", i,
                (long long)c->n->index[i].extent, i < c->n->out_rank ? (long long)stride[i] : 0LL);
    for (int k = 0; k <= c->n->root; k++) {
        const NestNode *n = &c->n->node[k];
        fprintf(stderr, "  %d: %s %s %s(%d %d %d) slot %d bound %llx op %d", k, kind_names[n->kind],
                dtype_name(n->dtype), n->kind == NEST_EW ? ew_info[n->op].name : "",
                n->arg[0], n->arg[1], n->arg[2], n->slot, (unsigned long long)n->bound, n->op);
        for (int i = 0; n->kind == NEST_LOAD && i < c->n->indices; i++)
            fprintf(stderr, " %lld", (long long)c->n->load[n->slot].stride[i]);
        for (int g = 0; n->kind == NEST_LOAD && g < c->n->load[n->slot].gathers; g++) {
            const NestGather *t = &c->n->load[n->slot].gather[g];
            fprintf(stderr, " [gather step %lld:", (long long)t->step);
            for (int i = 0; i < c->n->indices; i++)
                fprintf(stderr, " %lld", (long long)t->stride[i]);
            fprintf(stderr, "]");
        }
        fprintf(stderr, "\n");
    }
}

static void compare(Case *c, bool bits)
{
    int64_t stride[NEST_INDICES] = { 0 }, count = 1;
    DType dt = (DType)c->n->node[c->n->root].dtype;
    for (int i = c->n->out_rank - 1, swap = pick(4); i >= 0; i--) {
        int at = swap == 0 ? c->n->out_rank - 1 - i : i;
        stride[at] = count * (pick(10) == 0 ? 2 : 1);
        count *= c->n->index[at].extent * (stride[at] > count ? 2 : 1);
    }
    EwTrouble told, wanted;
    char *want = run(ctx, c, stride, count, true, &wanted);
    char *got = run(ctx, c, stride, count, false, &told);
    bool same = (told != EWT_NONE) == (wanted != EWT_NONE);
    int64_t at = 0;
    for (; same && told == EWT_NONE && at < count; at++)
        same = same_element(dt, got + at * dtype_info(dt)->bytes,
                            want + at * dtype_info(dt)->bytes, bits);
    if (!CHECK(same) && check_failed < 6) {
        fprintf(stderr, "at %lld: %g, not %g; trouble %d, not %d\n", (long long)at - 1,
                element_f64(dt, got + (at - 1) * dtype_info(dt)->bytes),
                element_f64(dt, want + (at - 1) * dtype_info(dt)->bytes), told, wanted);
        show(c, stride);
    }
    free(got);
    free(want);
}

/* ---- cases ---- */

static void begin(Case *c, int out_rank, int bound, double work)
{
    memset(c, 0, sizeof *c);
    c->n = nest_new(ctx);
    for (int i = 0; i < out_rank + bound; i++) {
        int64_t n = random_length(work < 1 ? 1 : work);
        nest_index(c->n, "i", n, pick(5) - 2, pick(4) ? 1 : -2);
        work /= n ? (double)n : 1;
    }
    c->n->out_rank = out_rank;
}

static void end(Case *c)
{
    for (int i = 0; i < SLOTS; i++)
        free(c->block[i]);
    nest_free(ctx, c->n);
}

static const DType dtypes[] =
    { DT_F64, DT_F32, DT_F64, DT_I64, DT_I32, DT_U8, DT_I8, DT_BOOL, DT_F16,
                                DT_BF16, DT_C64, DT_C128 };

static DType random_dtype(void) { return dtypes[pick(sizeof dtypes / sizeof *dtypes)]; }

static void test_elementwise(void)
{
    Case c;
    begin(&c, pick(4), 0, WORK);
    c.floats = true;
    DType dt = random_dtype();
    c.n->root = random_tree(&c, dt, 1 + pick(4), 14);
    if (pick(3) == 0)
        c.n->root = random_load(&c, dt);
    compare(&c, true);
    end(&c);
}

/* x[i,j] + b[j]: strips of several rows. */
static void test_short_rows(void)
{
    Case c;
    begin(&c, 2 + pick(2), 0, WORK);
    c.floats = c.rows = true;
    c.n->root = random_tree(&c, random_dtype(), 1 + pick(4), 14);
    compare(&c, true);
    end(&c);
}

/* Operations that become chains, with values that are read again, roots that are watched, and, now
 * and then, one that no chain has. */
static void test_chain(void)
{
    static const EwOp ops[] = { EW_ADD, EW_SUBTRACT, EW_MULTIPLY, EW_DIVIDE, EW_MAXIMUM, EW_MINIMUM,
                                EW_NEGATIVE, EW_ABS, EW_RELU, EW_SQRT, EW_FLOOR };
    Case c;
    begin(&c, 1 + pick(2), 0, WORK);
    c.floats = true;
    c.rows = pick(2);
    DType dt = pick(2) ? DT_F64 : DT_F32;
    int node[60], nodes = 1 + pick(4), last = nodes + 1 + pick(pick(8) ? 14 : 50);
    for (int k = 0; k < nodes; k++)
        node[k] = pick(4) ? random_load(&c, dt) : random_const(&c, dt);
    for (; nodes < last; nodes++) {
        EwOp op = ops[pick(11 - (pick(4) != 0))];
        int args[2] = { node[pick(3) ? nodes - 1 : pick(nodes)], node[pick(nodes)] };
        node[nodes] = nest_ew(ctx, c.n, op, dt, args, ew_info[op].arity);
        if (op == EW_SQRT && pick(2))
            nest_watch(c.n, node[nodes]);
        if (op == EW_SQRT && pick(8))
            node[nodes] = nest_ew(ctx, c.n, EW_ABS, dt, &node[nodes], 1);
    }
    c.n->root = node[nodes - 1];
    compare(&c, true);
    end(&c);
}

static int random_reduction(Case *c, uint64_t bound, int indices)
{
    DType dt = random_dtype();
    NestReduce op = (NestReduce)pick(8);
    bool single = bound && (bound & (bound - 1)) == 0;
    double terms = 1;
    for (int i = 0; i < indices; i++)
        terms *= bound >> i & 1 ? (double)c->n->index[i].extent : 1;
    if ((op >= NEST_MIN && dtype_info(dt)->kind == 'c') || (op >= NEST_ARGMIN && !single) ||
        (terms == 0 && (op == NEST_MIN || op == NEST_MAX || op >= NEST_ARGMIN)) ||
        (op == NEST_PROD && terms > 30))
        op = NEST_SUM;
    if (op == NEST_ANY || op == NEST_ALL)
        dt = DT_BOOL;
    int body = op == NEST_PROD ? random_load(c, dt) : random_tree(c, dt, pick(4), 12);
    if (op == NEST_ANY || op == NEST_ALL) {
        int pair[] = { body, random_const(c, DT_F64) };
        body = dtype_info(c->n->node[body].dtype)->kind == 'c' ? random_load(c, DT_BOOL)
                                                             : operate(c, EW_LESS, pair, 2);
    }
    if (op >= NEST_MIN && dtype_info(c->n->node[body].dtype)->kind == 'c')
        op = NEST_SUM;
    return nest_reduce(ctx, c->n, op, body, bound);
}

static void test_reduction(void)
{
    Case c;
    int out_rank = pick(4), bound = 1 + pick(3);
    begin(&c, out_rank, bound, WORK);
    uint64_t mask = ((UINT64_C(1) << bound) - 1) << out_rank;
    int node = random_reduction(&c, mask, out_rank + bound);
    if (pick(2)) {
        int other = pick(2) ? random_reduction(&c,
                                               pick(2) ? mask : mask & ~(UINT64_C(1) << out_rank),
                                               out_rank + bound)
                            : node;
        int all = c.n->indices;
        c.n->indices = out_rank;
        int pair[] = { node, pick(2) ? other : random_load(&c, DT_F64) };
        c.n->indices = all;
        int sum = operate(&c, EW_ADD, pair, 2);
        node = sum >= 0 ? sum : node;
    }
    c.n->root = node;
    compare(&c, false);
    end(&c);
}

/* ---- larger ones: the same bits on one thread and on two ---- */

static int plain_load(Case *c, DType dt, int64_t count, int64_t s0, int64_t s1,
                      int64_t s2, int64_t s3)
{
    int slot = nest_slot(c->n);
    NestLoad *load = nest_load_new(ctx, c->n, slot, dt, "A");
    int64_t stride[] = { s0, s1, s2, s3 };
    memcpy(load->stride, stride, sizeof stride);
    fill(c, slot, dt, count, 0);
    return nest_load(ctx, c->n);
}

static void compare_threads(Case *c, int64_t count, bool bits)
{
    EwTrouble told;
    DType dt = (DType)c->n->node[c->n->root].dtype;
    size_t bytes = (size_t)count * dtype_info(dt)->bytes;
    char *one = run(&ctx_storage[1], c, NULL, count, false, &told);
    char *two = run(ctx, c, NULL, count, false, &told);
    char *want = run(ctx, c, NULL, count, true, &told);
    CHECK(memcmp(one, two, bytes) == 0);
    bool same = true;
    for (int64_t i = 0; i < count; i++)
        same &= same_element(dt, one + (size_t)i * dtype_info(dt)->bytes,
                             want + (size_t)i * dtype_info(dt)->bytes, bits);
    if (!CHECK(same))
        show(c, (int64_t[4]){ 0 });
    free(one);
    free(two);
    free(want);
    end(c);
}

static void begin_large(Case *c, int out_rank, int indices, const int64_t *extent)
{
    memset(c, 0, sizeof *c);
    c->n = nest_new(ctx);
    for (int i = 0; i < indices; i++)
        nest_index(c->n, "i", extent[i], 0, 1);
    c->n->out_rank = out_rank;
}

static int ew2(Case *c, EwOp op, int a, int b)
{
    int args[] = { a, b };
    return operate(c, op, args, ew_info[op].arity);
}

static void test_large(DType dt)
{
    Case c;
    begin_large(&c, 2, 2, (int64_t[]){ 200, 300 });                     /* transposed in blocks */
    c.n->root = ew2(&c, EW_ADD, plain_load(&c, dt, 60000, 300, 1, 0, 0),
                    plain_load(&c, dt, 60000, 1, 200, 0, 0));
    compare_threads(&c, 60000, true);
    begin_large(&c, 2, 3, (int64_t[]){ 60, 70, 100 });                /* tropical product */
    c.n->root = nest_reduce(ctx, c.n, NEST_MIN,
                            ew2(&c, EW_ADD, plain_load(&c, dt, 6000, 100, 0, 1, 0),
                                plain_load(&c, dt, 7000, 0, 1, 70, 0)), 4);
    compare_threads(&c, 4200, false);
    begin_large(&c, 2, 4, (int64_t[]){ 100, 120, 5, 6 });               /* convolution */
    c.n->root = nest_reduce(ctx, c.n, NEST_SUM,
                            ew2(&c, EW_MULTIPLY, plain_load(&c, dt, 256 * 256, 256, 1, 256, 1),
                                plain_load(&c, dt, 30, 0, 0, 6, 1)), 12);
    compare_threads(&c, 12000, false);
    begin_large(&c, 2, 3, (int64_t[]){ 300, 330, 3 });                  /* distances: packed */
    int gap = ew2(&c, EW_SUBTRACT, plain_load(&c, dt, 900, 3, 0, 1, 0),
                  plain_load(&c, dt, 990, 0, 3, 1, 0));
    c.n->root = nest_reduce(ctx, c.n, NEST_SUM, ew2(&c, EW_MULTIPLY, gap, gap), 4);
    compare_threads(&c, 99000, false);
    begin_large(&c, 0, 1, (int64_t[]){ 300000 });                      /* one number */
    c.n->root = nest_reduce(ctx, c.n, NEST_ARGMIN, plain_load(&c, dt, 300000, 1, 0, 0, 0), 1);
    compare_threads(&c, 1, false);
    /* few, with a transposed operand */
    begin_large(&c, 1, 3, (int64_t[]){ 5, 200, 250 });
    c.n->root = nest_reduce(ctx, c.n, NEST_SUM,
                            ew2(&c, EW_MULTIPLY, plain_load(&c, dt, 250000, 50000, 1, 200, 0),
                                plain_load(&c, dt, 50000, 0, 250, 1, 0)), 6);
    compare_threads(&c, 5, false);
    begin_large(&c, 2, 4, (int64_t[]){ 24, 300, 300, 300 });           /* nested, row by row */
    int row = plain_load(&c, dt, 7200, 300, 0, 1, 0),
        most = nest_reduce(ctx, c.n, NEST_MAX, row, 4);
    NestLoad *again = nest_load_new(ctx, c.n, 0, dt, "A");
    again->stride[0] = 300, again->stride[3] = 1;
    int less = ew2(&c, EW_SUBTRACT, nest_load(ctx, c.n), most);
    int sum = nest_reduce(ctx, c.n, NEST_SUM, less, 8);
    again = nest_load_new(ctx, c.n, 0, dt, "A");
    again->stride[0] = 300, again->stride[1] = 1;
    c.n->root = ew2(&c, EW_ADD, ew2(&c, EW_SUBTRACT, nest_load(ctx, c.n), most), sum);
    compare_threads(&c, 7200, false);
}

/* Results that do not fit the cache: every element, on one thread and on two. */
static void test_streamed(int64_t n)
{
    Case c;
    begin_large(&c, 1, 1, (int64_t[]){ n });
    int x = plain_load(&c, DT_F64, n, 1, 0, 0, 0), sum = ew2(&c, EW_ADD, x, x);
    c.n->root = ew2(&c, EW_MULTIPLY, ew2(&c, EW_ABS, sum, sum), ew2(&c, EW_SUBTRACT, sum, x));
    for (int k = 0; k < 2; k++) {
        EwTrouble told;
        const double *in = c.data[0];
        double *out = (double *)(void *)run(&ctx_storage[k], &c, NULL, n, false, &told);
        bool same = true;
        for (int64_t i = 0; i < n; i++)
            same &= out[i] == fabs(in[i] + in[i]) * (in[i] + in[i] - in[i]);
        CHECK(same);
        free(out);
    }
    end(&c);
}

/* Of all forms, also in batches, of any layout; around the sizes of tiles and of partial sums. */
static void test_distances(void)
{
    static const EwOp outer[] = { EW_MULTIPLY, EW_ABS, EW_ABS };
    Case c;
    DType dt = pick(2) ? DT_F64 : DT_F32;
    int form = pick(3), batch = pick(2) ? 1 : 1 + pick(3);
    bool many = pick(8) == 0;
    int64_t rows = 1 + pick(many ? 7 : 40), columns = 1 + pick(many ? 70 : 200);
    int64_t terms = many ? 250 + pick(300) : 1 + pick(5);
    begin_large(&c, 3, 4, (int64_t[]){ batch, rows, columns, terms });
    c.floats = pick(2);
    bool turned = pick(2), shared = pick(2);
    int x = plain_load(&c, dt, batch * rows * terms, rows * terms, turned ? 1 : terms, 0,
                       turned ? rows : 1);
    int y = plain_load(&c, dt, batch * columns * terms, shared ? 0 : columns * terms, 0,
                       turned ? 1 : terms, turned ? columns : 1);
    int gap = pick(2) ? ew2(&c, EW_SUBTRACT, x, y) : ew2(&c, EW_SUBTRACT, y, x);
    c.n->root = nest_reduce(ctx, c.n, form == 2 ? NEST_MAX : NEST_SUM,
                            ew2(&c, outer[form], gap, gap), 8);
    if (pick(2))
        c.n->root = ew2(&c, EW_SQRT, c.n->root, c.n->root);
    compare(&c, false);
    end(&c);
}

/* Past the cache, with rows that start anywhere in a line and with some that start with one. */
static void test_streamed_distances(int64_t rows, int64_t columns)
{
    Case c;
    begin_large(&c, 2, 3, (int64_t[]){ rows, columns, 2 });
    int at = plain_load(&c, DT_F64, rows * 2, 2, 0, 1, 0);
    int gap = ew2(&c, EW_SUBTRACT, at, plain_load(&c, DT_F64, columns * 2, 0, 2, 1, 0));
    c.n->root = nest_reduce(ctx, c.n, NEST_SUM, ew2(&c, EW_MULTIPLY, gap, gap), 4);
    c.n->root = ew2(&c, EW_SQRT, c.n->root, c.n->root);
    for (int k = 0; k < 2; k++) {
        EwTrouble told;
        const double *x = c.data[0], *y = c.data[1];
        char *got = run(&ctx_storage[k], &c, NULL, rows * columns, false, &told);
        const double *out = (double *)(void *)got;
        bool same = true;
        for (int64_t i = 0; i < rows * columns; i++) {
            const double *p = x + i / columns * 2, *q = y + i % columns * 2;
            double a = p[0] - q[0], b = p[1] - q[1];
            same &= out[i] == sqrt(a * a + b * b);
        }
        CHECK(same);
        free(got);
    }
    end(&c);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 400;
    setenv("RICCI_THREADS", "1", 1);
    mem_init(&ctx_storage[1]);
    pool_threads(&ctx_storage[1]);
    setenv("RICCI_THREADS", "2", 1);
    mem_init(ctx);
    test_large(DT_F64);
    test_streamed(2200013);
    test_large(DT_F32);
    test_large(DT_I32);
    for (int i = 0; i < rounds; i++) {
        test_elementwise();
        test_short_rows();
        test_chain();
        test_reduction();
    }
    for (int i = 0; i < rounds / 4; i++)
        test_distances();
    test_streamed_distances(1030, 2049);
    test_streamed_distances(1030, 2064);
    for (int k = 0; k < 2; k++) {
        pool_shutdown(&ctx_storage[k]);
        CHECK(ctx_storage[k].mem.live == 0);
        mem_shutdown(&ctx_storage[k]);
    }
    return check_result();
}
