/* Generated kernels against the plain reference, on an OpenCL device where there is one: every
 * elementwise operation in every dtype, layouts (contiguous, transposed, negative strides,
 * repeated, overlapping, empty, one element, gathers with padding), reductions in all their
 * forms, rows (softmax), products, casts, integer trouble and new nans. The device is the first
 * argument (then all is run), or OpenCL's first; RICCI_SOAK=N runs all with N times as many random
 * ones. Each builds a kernel. */
#include "kernels/cast/tensor_cast.h"
#include "kernels/backends/backends.h"
#include "kernels/gpu/gpu.h"
#include "tests/unit/check.h"

#include <stdlib.h>

static Ctx ctx_storage, *ctx = &ctx_storage;
static Device *device;

enum { SLOTS = 64 };

typedef struct Case {
    Nest *n;
    char *block[SLOTS];
    size_t bytes[SLOTS];
    int64_t start[SLOTS];           /* bytes */
    bool constant[SLOTS];
    double rough;                   /* ulps that the result may be off by; 0: exact */
    double near;                    /* a difference that counts as none */
    bool whole;                     /* small whole numbers, whose sums are exact in any order */
} Case;

static int pick(int n) { return (int)(check_random() % (uint64_t)n); }

/* ---- data ---- */
static void put_number(DType dt, char *at, double v)
{
    if (dt == DT_U8 && v < 0)
        v = -v;
    if (dt == DT_BOOL)
        v = v > 0;
    if (dtype_info(dt)->kind == 'i')
        v = isfinite(v) && fabs(v) < 120 ? trunc(v) : pick(100);
    cast_run(dt, at, 1, DT_F64, &v, 1, 1);
}

static double random_number(DType dt)
{
    static const double special[] =
        { 0, -0.0, INFINITY, -INFINITY, NAN, 1e30, 1e-30, 1e-39, 65504, 2, -1, 1, 0.5 };
    if (dtype_info(dt)->kind != 'f')
        return pick(41) - 20;
    switch (pick(12)) {
    case 0: return special[pick(13)];
    case 1: return pick(21) - 10;
    case 2: return ldexp(check_uniform(), pick(60) - 30);
    default: return 10 * check_uniform();
    }
}

static int new_slot(Case *c, size_t bytes, int64_t start)
{
    int slot = nest_slot(c->n);
    c->block[slot] = malloc(bytes + 16);
    c->bytes[slot] = bytes;
    c->start[slot] = start;
    return slot;
}

static int fill_slot(Case *c, DType dt, int64_t count, int64_t start)
{
    int64_t bytes = dtype_info(dt)->bytes;
    int slot = new_slot(c, (size_t)(count * bytes), start * bytes);
    for (int64_t i = 0; i < count; i++)
        put_number(dt, c->block[slot] + i * bytes, c->whole ? pick(7) - 3 : random_number(dt));
    return slot;
}

/* Strides over some of the indices; how many elements they reach, where they start. */
static void random_strides(const Nest *n, int64_t *stride, int64_t *count, int64_t *start)
{
    int order[NEST_INDICES];
    int64_t next = 1;
    for (int i = 0; i < n->indices; i++)
        order[i] = n->indices - 1 - i;
    if (pick(2))
        for (int i = n->indices - 1; i > 0; i--) {
            int j = pick(i + 1), t = order[i];
            order[i] = order[j];
            order[j] = t;
        }
    *count = 1;
    *start = 0;
    for (int a = 0; a < n->indices; a++) {
        int i = order[a];
        int64_t extent = n->index[i].extent;
        if (pick(5) == 0 || extent == 0)
            continue;
        int64_t step = pick(8) == 0 ? 1 + pick(3) : next * (pick(12) == 0 ? 2 : 1);
        *count += (extent - 1) * step;
        next = *count;
        stride[i] = step;
        if (pick(6) == 0) {
            stride[i] = -step;
            *start += (extent - 1) * step;
        }
    }
}

static void add_gather(Case *c, NestLoad *load, int64_t *count)
{
    int64_t stride[NEST_INDICES] = { 0 }, entries, start, range = 1 + pick(50);
    random_strides(c->n, stride, &entries, &start);
    int slot = new_slot(c, (size_t)entries * 8, start * 8);
    NestGather *g = nest_gather_new(ctx, load, slot, 1 + pick(3));
    memcpy(g->stride, stride, sizeof stride);
    int64_t *table = (int64_t *)(void *)c->block[slot];
    bool padded = pick(3) == 0;
    for (int64_t i = 0; i < entries; i++)
        table[i] = padded && pick(5) == 0 ? -1 : pick((int)range);
    *count += (range - 1) * g->step;
}

static int random_load(Case *c, DType dt)
{
    int64_t count, start, stride[NEST_INDICES] = { 0 };
    NestLoad *load = nest_load_new(ctx, c->n, -1, dt, "A");
    random_strides(c->n, stride, &count, &start);
    memcpy(load->stride, stride, sizeof stride);
    for (int g = pick(8) == 0 ? 1 + pick(2) : 0; g > 0; g--)
        add_gather(c, load, &count);
    load->slot = fill_slot(c, dt, count, start);
    return nest_load(ctx, c->n);
}

static int plain_load(Case *c, DType dt, int64_t count, int64_t s0, int64_t s1, int64_t s2)
{
    int slot = fill_slot(c, dt, count, 0);
    NestLoad *load = nest_load_new(ctx, c->n, slot, dt, "A");
    load->stride[0] = s0, load->stride[1] = s1, load->stride[2] = s2;
    return nest_load(ctx, c->n);
}

static int constant(Case *c, DType dt, double v)
{
    int slot = new_slot(c, 16, 0);
    put_number(dt, c->block[slot], v);
    if (dtype_info(dt)->kind == 'i')
        cast_run(dt, c->block[slot], 1, DT_F64, &v, 1, 1);
    c->constant[slot] = pick(4) != 0;
    return nest_const(ctx, c->n, slot, dt, false);
}

/* ---- running ---- */
static void begin(Case *c, int out_rank, int indices, const int64_t *extent)
{
    memset(c, 0, sizeof *c);
    c->n = nest_new(ctx);
    for (int i = 0; i < indices; i++)
        nest_index(c->n, "i", extent[i], pick(5) - 2, pick(4) ? 1 : -2);
    c->n->out_rank = out_rank;
}

static void end(Case *c)
{
    for (int i = 0; i < SLOTS; i++)
        free(c->block[i]);
    nest_free(ctx, c->n);
}

static EwTrouble on_device(Case *c, char *out, const int64_t *stride, int64_t bytes)
{
    DevMem mem[SLOTS], to = device_alloc(ctx, device, (size_t)bytes + 16);
    DevArg data[SLOTS] = { 0 }, result = { .mem = &to, .at = 8 };
    for (int i = 0; i < c->n->slots; i++) {
        mem[i] = (DevMem){ 0, 0 };
        if (c->constant[i]) {
            data[i] = (DevArg){ .value = c->block[i], .bytes = 16 };
            continue;
        }
        mem[i] = device_alloc(ctx, device, c->bytes[i] + 16);
        device_put(ctx, device, &mem[i], 8, c->block[i], c->bytes[i] + 8);
        data[i] = (DevArg){ .mem = &mem[i], .at = 8 + (size_t)c->start[i] };
    }
    device_put(ctx, device, &to, 8, out, (size_t)bytes + 8);
    EwTrouble t = gpu_nest(ctx, device, c->n, stride, &result, data);
    device_get(ctx, device, &to, 8, out, (size_t)bytes);
    for (int i = 0; i < c->n->slots; i++)
        device_free(ctx, device, &mem[i]);
    device_free(ctx, device, &to);
    return t;
}

static EwTrouble on_host(Case *c, char *out, const int64_t *stride)
{
    const void *data[SLOTS];
    for (int i = 0; i < c->n->slots; i++)
        data[i] = c->block[i] + c->start[i];
    return nest_reference(c->n, out, stride, data, NULL);
}

/* Distance in the format's own steps; 0 for equal numbers and two nans. */
static double ulps_apart(DType dt, const char *a, const char *b)
{
    double x = element_f64(dt, a), y = element_f64(dt, b);
    if (dtype_info(dt)->kind != 'f')
        return memcmp(a, b, dtype_info(dt)->bytes) == 0 ? 0 : INFINITY;
    if (x == y || (isnan(x) && isnan(y)))
        return 0;
    if (isnan(x) || isnan(y))
        return INFINITY;
    int bits = dt == DT_F64 ? 53 : dt == DT_F32 ? 24 : dt == DT_F16 ? 11 : 8;
    int least = dt == DT_F64 ? -1074 : dt == DT_F32 ? -149 : dt == DT_F16 ? -24 : -133;
    int e = y == 0 || isinf(y) ? least : ilogb(y) - bits + 1;
    return isinf(x) || isinf(y) ? INFINITY : fabs(x - y) / ldexp(1, e > least ? e : least);
}

static const char *kind_names[] = { "const", "number", "load", "cast", "ew", "reduce" };

static void show(const Case *c, const int64_t *stride)
{
    for (int i = 0; i < c->n->indices; i++)
        fprintf(stderr, "  index %d: %lld from %lld by %lld, result stride %lld\n", i,
                (long long)c->n->index[i].extent,
                (long long)c->n->index[i].start, (long long)c->n->index[i].step,
                stride && i < c->n->out_rank ? (long long)stride[i] : 0LL);
    for (int k = 0; k <= c->n->root; k++) {
        const NestNode *n = &c->n->node[k];
        fprintf(stderr, "  %d: %s %s %s(%d %d %d) slot %d bound %llx op %d", k, kind_names[n->kind],
                dtype_name((DType)n->dtype), n->kind == NEST_EW ? ew_info[n->op].name : "",
                n->arg[0], n->arg[1], n->arg[2], n->slot, (unsigned long long)n->bound, n->op);
        for (int i = 0; n->kind == NEST_LOAD && i < c->n->indices; i++)
            fprintf(stderr, " %lld", (long long)c->n->load[n->slot].stride[i]);
        fprintf(stderr, n->kind == NEST_LOAD && c->n->load[n->slot].gathers ? " gathers\n" : "\n");
    }
    GpuText t;
    gpu_nest_text(ctx, device->caps, device->dtypes, c->n, &t);
    if (getenv("RICCI_SHOW"))
        fprintf(stderr, "%s\n", buf_cstr(&t.source));
    buf_free(&t.source);
}

static double worst;                /* of the last compare */
static int64_t worst_at;

static void compare(Case *c, const int64_t *out_stride, bool told)
{
    int64_t stride[NEST_INDICES] = { 0 }, count = 1;
    DType dt = (DType)c->n->node[c->n->root].dtype;
    int64_t bytes = dtype_info(dt)->bytes;
    bool turned = pick(4) == 0;
    for (int k = c->n->out_rank - 1; k >= 0; k--) {
        int i = turned ? c->n->out_rank - 1 - k : k;
        stride[i] = count;
        count *= c->n->index[i].extent;
    }
    if (out_stride)
        memcpy(stride, out_stride, (size_t)c->n->out_rank * sizeof *stride);
    char *want = calloc((size_t)count + 2, (size_t)bytes + 8),
         *got = calloc((size_t)count + 2, (size_t)bytes + 8);
    EwTrouble host = on_host(c, want, stride), there = on_device(c, got, stride, count * bytes);
    worst = 0;
    for (int64_t i = 0; i < count && host == EWT_NONE; i++) {
        double off = ulps_apart(dt, got + i * bytes, want + i * bytes);
        if (c->near > 0 &&
            fabs(element_f64(dt, got + i * bytes) - element_f64(dt, want + i * bytes)) <= c->near)
            off = 0;
        if (off > worst)
            worst = off, worst_at = i;
    }
    bool same = host == there && worst <= c->rough;
    if (told && !CHECK(same) && check_failed < 6) {
        fprintf(stderr, "at %lld: %.17g, not %.17g (%g ulp); trouble %d, not %d\n",
                (long long)worst_at,
                element_f64(dt, got + worst_at * bytes), element_f64(dt, want + worst_at * bytes),
                worst, there, host);
        show(c, stride);
    }
    free(want);
    free(got);
}

/* ---- every operation ---- */
static const DType all_dtypes[] =
    { DT_F64, DT_F32, DT_F16, DT_BF16, DT_BOOL, DT_I8, DT_U8, DT_I32, DT_I64 };
enum { DTYPES = sizeof all_dtypes / sizeof *all_dtypes };

/* A few ulp for library functions; the rest is exact. */
static double allowed(EwOp op, DType dt)
{
    switch (op) {
#define ROUGH(id) case EW_##id:
    ROUGH(CBRT) ROUGH(EXP) ROUGH(EXPM1) ROUGH(LOG) ROUGH(LOG2) ROUGH(LOG10) ROUGH(LOG1P) ROUGH(SIN)
    ROUGH(COS)
    ROUGH(TAN) ROUGH(ASIN) ROUGH(ACOS) ROUGH(ATAN) ROUGH(ATAN2) ROUGH(SINH) ROUGH(COSH) ROUGH(TANH)
    ROUGH(ASINH)
    ROUGH(ACOSH) ROUGH(ATANH) ROUGH(HYPOT) ROUGH(ANGLE) ROUGH(SIGMOID) ROUGH(GELU) ROUGH(SILU)
    ROUGH(SOFTPLUS)
    ROUGH(LDEXP) ROUGH(ERF) ROUGH(ERFC) ROUGH(GAMMA) ROUGH(LGAMMA)
#undef ROUGH
        return 3.99;
    case EW_POWER: return dtype_info(dt)->kind == 'f' ? 3.99 : 0;
    default: return 0;
    }
}

static int apply(Case *c, EwOp op, DType dt, const int *x)
{
    int args[3] = { x[0], x[1], x[2] };
    if (ew_info[op].result == RES_WHERE)
        args[0] = nest_ew(ctx, c->n, EW_LESS, dt, x, 2);
    return nest_ew(ctx, c->n, op, dt, args, ew_info[op].arity);
}

/* All operations of a dtype with the same kind of result in one kernel: the first axis says
 * which. */
static void test_operations(DType dt, bool bools)
{
    Case c;
    EwOp ops[EW_COUNT];
    int count = 0;
    enum { N = 500 };
    for (int op = 0; op < EW_COUNT; op++) {
        bool checked = ew_is_checked((EwOp)op, dt);
        bool open = op == EW_LGAMMA && dt == DT_F64;        /* near its zeros: test_operation */
        if (ew_compute_dtype((EwOp)op, dt) == dt &&
            (ew_result_dtype((EwOp)op, dt) == DT_BOOL) == bools && !checked && !open)
            ops[count++] = (EwOp)op;
    }
    if (!count)
        return;
    begin(&c, 2, 2, (int64_t[]){ count, N });
    c.n->index[0].start = 0;
    c.n->index[0].step = 1;
    int x[3], which = nest_number(ctx, c.n, 0), all = -1;
    for (int k = 0; k < 3; k++)
        x[k] = plain_load(&c, dt, N, 0, 1, 0);
    for (int k = 0; k < count; k++) {
        int y = apply(&c, ops[k], dt, x), pair[] = { which, constant(&c, DT_I64, k) };
        int args[] = { all < 0 ? -1 : nest_ew(ctx, c.n, EW_EQUAL, DT_I64, pair, 2), y, all };
        all = all < 0 ? y : nest_ew(ctx, c.n, EW_WHERE, (DType)c.n->node[y].dtype, args, 3);
    }
    c.n->root = all;
    for (int k = 0; k < count; k++)         /* each against its own bound: one row at a time */
        c.rough = fmax(c.rough, allowed(ops[k], dt));
    compare(&c, (int64_t[]){ N, 1 }, true);
    if (getenv("RICCI_SHOW"))
        printf("%s: worst %g ulp in %s\n", dtype_name(dt), worst, ew_info[ops[worst_at / N]].name);
    end(&c);
}

/* One operation in a kernel of its own. */
static void test_operation(EwOp op, DType dt)
{
    Case c;
    int x[3];
    if (ew_compute_dtype(op, dt) != dt)
        return;
    begin(&c, 1, 1, (int64_t[]){ 4000 });
    for (int k = 0; k < 3; k++)
        x[k] = plain_load(&c, dt, 4000, 1, 0, 0);
    if (ew_is_checked(op, dt))
        x[1] = constant(&c, dt, 1 + pick(5));
    c.n->root = apply(&c, op, dt, x);
    c.rough = allowed(op, dt);
    /* OpenCL leaves it open near its zeros */
    c.near = op == EW_LGAMMA && dt == DT_F64 ? 0x1p-50 : 0;
    compare(&c, NULL, true);
    if (getenv("RICCI_SHOW") && worst > 0.51)
        printf("%s %s: %.2f ulp\n", dtype_name(dt), ew_info[op].name, worst);
    end(&c);
}

/* ---- random ones ---- */
static const int64_t lengths[] =
    { 0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 64, 65, 100, 129, 257, 300, 1025, 3000 };

static void begin_random(Case *c, int out_rank, int bound, double work)
{
    int64_t extent[8];
    for (int i = 0; i < out_rank + bound; i++) {
        do
            extent[i] = lengths[pick(sizeof lengths / sizeof *lengths)];
        while ((double)extent[i] > work || (extent[i] == 0 && pick(4)));
        work /= extent[i] ? (double)extent[i] : 1;
    }
    begin(c, out_rank, out_rank + bound, extent);
}

static const EwOp some_ops[] =
    { EW_ADD, EW_SUBTRACT, EW_MULTIPLY, EW_MAXIMUM, EW_MINIMUM, EW_NEGATIVE, EW_ABS,
                                 EW_LESS, EW_WHERE, EW_CLAMP, EW_FMA, EW_DIVIDE, EW_SQRT,
                                 EW_FLOOR, EW_SIGN, EW_FLOOR_DIVIDE, EW_MOD, EW_BITAND, EW_SHL };

static int random_tree(Case *c, DType dt, int depth)
{
    if (depth <= 0 || c->n->slots > 8) {
        int kind = pick(8);
        if (kind == 0 && c->n->indices && !c->whole)
            return nest_number(ctx, c->n, pick(c->n->indices));
        return kind == 1 || c->n->slots > 8 ? constant(c, dt, c->whole ? 2 : random_number(dt))
                                            : random_load(c, dt);
    }
    EwOp op = some_ops[pick(c->whole ? 7 : (int)(sizeof some_ops / sizeof *some_ops))];
    int args[3], first = ew_info[op].result == RES_WHERE;
    DType to = DT_BOOL;
    for (int k = 0; k < 3; k++) {
        args[k] = random_tree(c, dt, depth - 1 - pick(depth));
        if (k < ew_info[op].arity)
            to = dtype_promote(to, (DType)c->n->node[args[k]].dtype);
    }
    to = ew_compute_dtype(op, to);
    if (to == DT_NONE)
        return args[0];
    if (first)
        args[0] = nest_ew(ctx, c->n, EW_LESS, to, args, 2);
    return nest_ew(ctx, c->n, op, to, args, ew_info[op].arity);
}

static DType random_dtype(void) { return all_dtypes[pick(sizeof all_dtypes / sizeof *all_dtypes)]; }

static bool taken(const Case *c)
{
    Lack why;
    return gpu_takes(device, c->n, &why);
}

static void test_elementwise(void)
{
    Case c;
    begin_random(&c, pick(5), 0, 20000);
    c.n->root = random_tree(&c, random_dtype(), pick(4));
    if (taken(&c))
        compare(&c, NULL, true);
    end(&c);
}

static int random_reduction(Case *c, uint64_t bound)
{
    NestReduce op = (NestReduce)pick(8);
    DType dt = op == NEST_ANY || op == NEST_ALL ? DT_BOOL : random_dtype();
    bool single = (bound & (bound - 1)) == 0;
    int64_t terms = 1;
    for (int i = 0; i < c->n->indices; i++)
        terms *= bound >> i & 1 ? c->n->index[i].extent : 1;
    if ((op >= NEST_ARGMIN && !single) || (terms == 0 && op >= NEST_MIN) ||
        (op == NEST_PROD && terms > 20))
        op = NEST_SUM;
    int body = op == NEST_SUM || op == NEST_PROD ? random_tree(c, dt, op == NEST_SUM ? pick(2) : 0)
                                                 : random_load(c, dt);
    return nest_reduce(ctx, c->n, op, body, bound);
}

/* Few and many, short and long, alone, inside another, and in an expression that moves on. */
static void test_reduction(void)
{
    Case c;
    int out_rank = pick(4), bound = 1 + pick(3);
    begin_random(&c, out_rank, bound, pick(4) ? 5000 : 50000);
    c.whole = true;
    uint64_t mask = ((UINT64_C(1) << bound) - 1) << out_rank;
    int node = random_reduction(&c, mask);
    if (pick(2)) {
        int all = c.n->indices;
        c.n->indices = out_rank;
        int pair[] = { node, random_load(&c, DT_F64) };
        c.n->indices = all;
        node = nest_ew(ctx, c.n, EW_ADD, DT_F64, pair, 2);
    }
    c.n->root = node;
    compare(&c, NULL, true);
    end(&c);
}

/* A load of `slot`, which is there already, with other strides. */
static int again(Case *c, DType dt, int slot, int64_t s0, int64_t s1, int64_t s2, int64_t s3)
{
    NestLoad *load = nest_load_new(ctx, c->n, slot, dt, "A");
    load->stride[0] = s0, load->stride[1] = s1, load->stride[2] = s2, load->stride[3] = s3;
    return nest_load(ctx, c->n);
}

static int ew2(Case *c, EwOp op, DType dt, int a, int b)
{
    int args[] = { a, b };
    return nest_ew(ctx, c->n, op, dt, args, ew_info[op].arity);
}

/* exp(x - max) / sum(exp(x - max)) along the rows of a matrix. */
static void test_softmax(DType dt, int64_t rows, int64_t columns)
{
    Case c;
    begin(&c, 2, 4, (int64_t[]){ rows, columns, columns, columns });
    int slot = fill_slot(&c, dt, rows * columns, 0);
    for (int64_t i = 0; i < rows * columns; i++)
        put_number(dt, c.block[slot] + i * dtype_info(dt)->bytes, 10 * check_uniform());
    int most = nest_reduce(ctx, c.n, NEST_MAX, again(&c, dt, slot, columns, 0, 1, 0), 4);
    int part = ew2(&c, EW_SUBTRACT, dt, again(&c, dt, slot, columns, 0, 0, 1), most);
    int sum = nest_reduce(ctx, c.n, NEST_SUM, ew2(&c, EW_EXP, dt, part, part), 8);
    int top = ew2(&c, EW_SUBTRACT, dt, again(&c, dt, slot, columns, 1, 0, 0), most);
    c.n->root = ew2(&c, EW_DIVIDE, dt, ew2(&c, EW_EXP, dt, top, top), sum);
    int64_t bytes = dtype_info(dt)->bytes;
    char *got = calloc((size_t)(rows * columns + 8), (size_t)bytes);
    on_device(&c, got, NULL, rows * columns * bytes);
    bool near = true;
    for (int64_t r = 0; r < rows; r++) {
        double high = -INFINITY, total = 0;
        const char *x = c.block[slot] + r * columns * bytes;
        for (int64_t j = 0; j < columns; j++)
            high = fmax(high, element_f64(dt, x + j * bytes));
        for (int64_t j = 0; j < columns; j++)
            total += exp(element_f64(dt, x + j * bytes) - high);
        for (int64_t j = 0; j < columns; j++) {
            double want = exp(element_f64(dt, x + j * bytes) - high) / total,
                   y = element_f64(dt, got + (r * columns + j) * bytes);
            /* x - max may be 20: 10 ulp of exp */
            near &= fabs(y - want) <= want * (dt == DT_F32 ? 2e-6 : 1e-14);
        }
    }
    if (!CHECK(near))
        fprintf(stderr, "softmax of %lld rows of %lld\n", (long long)rows, (long long)columns);
    free(got);
    end(&c);
}

/* (x - mean)^2 summed: a reduction inside another; and x - mean over everything. */
static void test_variance(int64_t rows, int64_t columns)
{
    Case c;
    begin(&c, 1, 3, (int64_t[]){ rows, columns, columns });
    c.whole = true;
    int slot = fill_slot(&c, DT_F64, rows * columns, 0);
    int sum = nest_reduce(ctx, c.n, NEST_SUM, again(&c, DT_F64, slot, columns, 1, 0, 0), 2);
    int off = ew2(&c, EW_SUBTRACT, DT_F64, again(&c, DT_F64, slot, columns, 0, 1, 0), sum);
    c.n->root = nest_reduce(ctx, c.n, NEST_SUM, ew2(&c, EW_MULTIPLY, DT_F64, off, off), 4);
    compare(&c, NULL, true);
    end(&c);
    begin(&c, 2, 4, (int64_t[]){ rows, columns, rows, columns });
    c.whole = true;
    slot = fill_slot(&c, DT_F32, rows * columns, 0);
    sum = nest_reduce(ctx, c.n, NEST_SUM, again(&c, DT_F32, slot, 0, 0, columns, 1), 12);
    c.n->root = ew2(&c, EW_SUBTRACT, DT_F32, again(&c, DT_F32, slot, columns, 1, 0, 0), sum);
    float *x = (float *)(void *)c.block[slot],
          *got = calloc((size_t)(rows * columns + 8), sizeof *got), total = 0;
    on_device(&c, (char *)got, NULL, rows * columns * 4);
    for (int64_t i = 0; i < rows * columns; i++)
        total += x[i];
    bool same = true;
    for (int64_t i = 0; i < rows * columns; i++)
        same &= got[i] == x[i] - total;
    CHECK(same);
    free(got);
    end(&c);
}

/* C[b, i, j] = sum over k of A B, every matrix turned or not. */
static void test_product(DType dt, int64_t batch, int64_t m, int64_t n, int64_t k, int turned)
{
    Case c;
    begin(&c, 3, 4, (int64_t[]){ batch, m, n, k });
    c.whole = true;
    c.rough = dt == DT_F16 || dt == DT_BF16 ? 0.51 : 0;
    int a = fill_slot(&c, dt, batch * m * k, 0), b = fill_slot(&c, dt, batch * k * n, 0);
    bool ta = turned & 1, tb = turned & 2;
    int x = again(&c, dt, a, m * k, ta ? 1 : k, 0, ta ? m : 1),
        y = again(&c, dt, b, k * n, 0, tb ? k : 1, tb ? 1 : n);
    c.n->root = nest_reduce(ctx, c.n, NEST_SUM, ew2(&c, EW_MULTIPLY, dt, x, y), 8);
    compare(&c, turned & 4 ? (int64_t[]){ m * n, 1, m } : NULL, true);
    end(&c);
}

/* Heads of attention: two axes that are no single one in memory. */
static void test_heads(void)
{
    Case c;
    enum { B = 2, H = 3, L = 20, M = 24, D = 9 };
    begin(&c, 4, 5, (int64_t[]){ B, H, L, M, D });
    c.whole = true;
    int q = fill_slot(&c, DT_F32, B * L * H * D, 0), k = fill_slot(&c, DT_F32, B * M * H * D, 0);
    int x = again(&c, DT_F32, q, L * H * D, D, H * D, 0),
        y = again(&c, DT_F32, k, M * H * D, D, 0, H * D);
    c.n->load[c.n->node[x].slot].stride[4] = c.n->load[c.n->node[y].slot].stride[4] = 1;
    c.n->node[x].free |= 16, c.n->node[y].free |= 16;
    c.n->root = nest_reduce(ctx, c.n, NEST_SUM, ew2(&c, EW_MULTIPLY, DT_F32, x, y), 16);
    compare(&c, NULL, true);
    end(&c);
}

/* Along columns: shared among work items that lie along rows. */
static void test_columns(NestReduce op, DType dt, int64_t rows, int64_t columns)
{
    Case c;
    begin(&c, 1, 2, (int64_t[]){ columns, rows });
    c.whole = true;
    c.n->root = nest_reduce(ctx, c.n, op, plain_load(&c, dt, rows * columns, 1, columns, 0), 2);
    compare(&c, NULL, true);
    end(&c);
}

/* Transposes by tiles, alone and inside an expression. */
static void test_turned(DType dt, int64_t batch, int64_t rows, int64_t columns)
{
    Case c;
    begin(&c, 3, 3, (int64_t[]){ batch, rows, columns });
    int slot = fill_slot(&c, dt, batch * rows * columns, 0);
    int x = again(&c, dt, slot, rows * columns, 1, rows, 0);
    c.n->root = pick(2) ? x : ew2(&c, EW_MAXIMUM, dt, x,
                                  again(&c, dt, slot, rows * columns, columns, 1, 0));
    compare(&c, (int64_t[]){ rows * columns, columns, 1 }, true);
    end(&c);
}

/* All casts to a dtype in one kernel: the first axis says from which. */
static void test_casts(DType to)
{
    Case c;
    int all = -1;
    enum { N = 1000 };
    begin(&c, 2, 2, (int64_t[]){ DTYPES, N });
    c.n->index[0].start = 0, c.n->index[0].step = 1;
    for (int i = 0; i < DTYPES; i++) {
        Lack why;
        int x = plain_load(&c, all_dtypes[i], N, 0, 1, 0), slot = c.n->slots - 1;
        for (int j = 0; j < N && all_dtypes[i] == DT_I64; j++)
            ((int64_t *)(void *)c.block[slot])[j] = (int64_t)check_random() >> pick(64);
        int pair[] = { nest_number(ctx, c.n, 0), constant(&c, DT_I64, i) };
        int args[] = { nest_ew(ctx, c.n, EW_EQUAL, DT_I64, pair, 2),
                       nest_cast(ctx, c.n, x, to), all };
        c.n->root = args[1];
        if (gpu_takes(device, c.n, &why))
            all = all < 0 ? args[1] : nest_ew(ctx, c.n, EW_WHERE, to, args, 3);
    }
    c.n->root = all;
    compare(&c, (int64_t[]){ N, 1 }, true);
    end(&c);
}

/* Integers in trouble, and a nan that is new; then the flag is down again. */
static void test_trouble(int operations)
{
    static const EwOp ops[] = { EW_FLOOR_DIVIDE, EW_MOD, EW_SHL, EW_SHR, EW_POWER };
    for (int k = 0; k < 2 * operations; k++) {
        Case c;
        begin(&c, 1, 1, (int64_t[]){ 300 });
        int x = plain_load(&c, DT_I64, 300, 1, 0, 0), y = plain_load(&c, DT_I64, 300, 1, 0, 0);
        for (int i = 0; i < 300; i++)
            ((int64_t *)(void *)c.block[1])[i] = k % 2 && i == 177 ? (k < 4 ? 0 : -1) : 1 + i % 5;
        c.n->root = ew2(&c, ops[k / 2], DT_I64, x, y);
        compare(&c, NULL, true);
        end(&c);
    }
    for (int bad = 0; bad < 2; bad++) {
        Case c;
        begin(&c, 1, 1, (int64_t[]){ 3 });
        c.n->root = ew2(&c, EW_SQRT, DT_F64, plain_load(&c, DT_F64, 3, 1, 0, 0), 0);
        nest_watch(c.n, c.n->root);
        memcpy(c.block[0], (double[]){ 4, bad ? -1 : NAN, 9 }, 24);
        double out[4];                  /* guarded: on_device sees what lies behind the result */
        CHECK(on_device(&c, (char *)out, NULL, 24) == (bad ? EWT_NAN : EWT_NONE));
        end(&c);
    }
}

/* Sums of floats of every size: off by less than a pairwise sum may be. */
static void test_sum_accuracy(int64_t n, int64_t rows)
{
    Case c;
    begin(&c, 1, 2, (int64_t[]){ rows, n });
    c.n->root = nest_reduce(ctx, c.n, NEST_SUM, plain_load(&c, DT_F32, rows * n, n, 1, 0), 2);
    float *x = (float *)(void *)c.block[0], *got = calloc((size_t)rows + 8, sizeof *got);
    for (int64_t i = 0; i < rows * n; i++)
        x[i] = (float)(check_uniform() + 0.5);
    on_device(&c, (char *)got, NULL, rows * 4);
    for (int64_t r = 0; r < rows; r++) {
        double sum = 0, size = 0;
        for (int64_t i = 0; i < n; i++)
            sum += (double)x[r * n + i], size += fabs((double)x[r * n + i]);
        CHECK(fabs((double)got[r] - sum) <= 0x1p-24 * (2 * fabs(sum) + 12 * sqrt(size)));
    }
    free(got);
    end(&c);
}

/* A launch that fails, and an interrupt, leave no temporaries behind. */
static void test_faults(void)
{
    static InterruptFlag stop;
    Case c;
    begin(&c, 0, 1, (int64_t[]){ 100000 });
    c.n->root = nest_reduce(ctx, c.n, NEST_SUM, plain_load(&c, DT_F32, 100000, 1, 0, 0), 1);
    DevMem x = device_alloc(ctx, device, 400000), y = device_alloc(ctx, device, 8);
    DevArg data = { .mem = &x }, out = { .mem = &y };
    device_put(ctx, device, &x, 0, c.block[0], 400000);
    size_t live = device->live, host = ctx->mem.live;
    for (uint64_t k = 1; k <= 2; k++) {
        device->fail_launch = k;
        CHECK_RAISES(ctx, ERR_DEVICE, gpu_nest(ctx, device, c.n, NULL, &out, &data));
        CHECK(device->live == live && device->fail_launch == 0);
    }
    InterruptFlag *before = ctx->interrupt;
    ctx->interrupt = &stop;
    stop = 1;
    CHECK_RAISES(ctx, ERR_INTERRUPT, gpu_nest(ctx, device, c.n, NULL, &out, &data));
    ctx->interrupt = before;
    CHECK(gpu_nest(ctx, device, c.n, NULL, &out, &data) == EWT_NONE);
    CHECK(device->live == live && ctx->mem.live >= host);
    device_free(ctx, device, &x);
    device_free(ctx, device, &y);
    end(&c);
}

/* What every build of the project runs: few kernels, as each costs a compiler a second. */
static void test_some(void)
{
    test_operations(DT_F32, false);
    test_trouble(1);
    test_softmax(DT_F32, 100, 300);
    test_sum_accuracy(100000, 2);
    test_faults();
    test_product(DT_F32, 2, 50, 70, 33, 1);
    test_product(DT_F32, 2, 150, 90, 64, 6);
    test_turned(DT_F32, 3, 100, 70);
}

static void test_all(void)
{
    for (int k = 0; k < DTYPES; k++) {
        for (int op = 0; op < EW_COUNT; op++)
            test_operation((EwOp)op, all_dtypes[k]);
        test_operations(all_dtypes[k], false);
        test_operations(all_dtypes[k], true);
        test_casts(all_dtypes[k]);
    }
    test_trouble(5);
    test_softmax(DT_F64, 5, 7);
    test_softmax(DT_F32, 3, 20000);
    test_variance(70, 100);
    test_variance(3, 50000);
    test_sum_accuracy(1000, 40);
    test_sum_accuracy(20, 2000);
    for (int k = 0; k < 8; k++)
        test_product(k < 4 ? DT_F32 : DT_F64, 1 + k % 3, 20 + 30 * k, 70, 33, k);
    test_heads();
    test_product(DT_F16, 1, 70, 65, 40, 1);
    test_product(DT_BF16, 2, 10, 9, 100, 2);
    test_product(DT_I64, 1, 100, 130, 17, 4);
    test_turned(DT_U8, 1, 33, 1000);
    for (int op = 0; op <= NEST_ARGMAX; op++)
        if (op != NEST_PROD)
            test_columns((NestReduce)op, op == NEST_ANY || op == NEST_ALL ? DT_BOOL : DT_F32,
                         301 + 50 * op, 100);
    test_turned(DT_F16, 2, 65, 130);
}

/* gpu_nest [DEVICE] */
int main(int argc, char **argv)
{
    const char *soak = getenv("RICCI_SOAK"), *name = argc > 1 ? argv[1] : "opencl";
    int times = soak ? atoi(soak) : argc > 1;
    mem_init(ctx);
    devices_init(ctx, device_backends);
    device = device_find(ctx, name);
    if (!device || device_absent(device)) {
        printf("not run: generated kernels on %s (%s)\n", name,
               device ? device->why : "no such device");
    } else {
        test_some();
        if (times)
            test_all();
        for (int k = 0; k < 1 + 30 * times; k++) {
            if (k > 15 && !(device->caps & DEVCAP_CUDA))    /* accelerators have their own text */
                device->caps ^= DEVCAP_CPU;
            test_elementwise();
            test_reduction();
        }
    }
    devices_free(ctx);
    CHECK(ctx->mem.live == 0);
    mem_shutdown(ctx);
    return check_result();
}
