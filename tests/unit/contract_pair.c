/* Contractions of one and two operands against the plain definition: random labels, extents
 * and steps (permuted, turned over, broadcast, overlapping windows), every dtype and semiring,
 * on one thread and two, by the cheapest way and by each of the others. The result's memory starts
 * as NaN or garbage, and what lies between its elements must stay as it was. */
#include "kernels/cast/tensor_cast.h"
#include "kernels/pair/contract_pair_ways.h"
#include "tests/unit/check.h"

#include <complex.h>
#include <float.h>
#include <stdlib.h>

enum { LABELS = 7, ROOM = 1 << 19, GUARD = 0x5a };
static Ctx ctx;
static char *memory[3];                 /* C, A, B */
static uint8_t *touched;

static int64_t pick(int64_t n) { return (int64_t)(check_random() % (uint64_t)n); }

static double complex get(DType dt, const char *data, int64_t i) {
    return element_c128(dt, data + i * dtype_info(dt)->bytes);
}

/* Small numbers, so that integers of 8 bits still wrap now and then and floats show errors. */
static void fill(DType dt, char *data, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        double x = check_uniform(), y = check_uniform();
        switch (dt) {
        case DT_BOOL: ((uint8_t *)data)[i] = x > 0; break;
        case DT_I8: ((int8_t *)data)[i] = (int8_t)(x * 100); break;
        case DT_U8: ((uint8_t *)data)[i] = (uint8_t)(100 + x * 100); break;
        case DT_I32: ((int32_t *)(void *)data)[i] = (int32_t)(x * 1e6); break;
        case DT_I64: ((int64_t *)(void *)data)[i] = (int64_t)(x * 1e15); break;
        case DT_F32: ((float *)(void *)data)[i] = (float)x; break;
        case DT_F64: ((double *)(void *)data)[i] = x; break;
        case DT_C64: ((float complex *)(void *)data)[i] = (float complex)(x + I * y); break;
        default: ((double complex *)(void *)data)[i] = x + I * y; break;
        }
    }
}

/* ---- the definition ---- */

static int64_t integer(DType dt, const char *data, int64_t i) {
    return element_i64(dt, data + i * dtype_info(dt)->bytes);
}

static int64_t narrow(DType dt, uint64_t x) {
    switch (dt) {
    case DT_BOOL: return x != 0;
    case DT_I8: return (int8_t)x;
    case DT_U8: return (uint8_t)x;
    case DT_I32: return (int32_t)x;
    default: return (int64_t)x;
    }
}

static int64_t join_int(Semiring s, DType dt, int64_t a, int64_t b) {
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (s) {
    case SR_MIN_PLUS: case SR_MAX_PLUS: return narrow(dt, x + y);
    case SR_MIN_MAX: return a > b ? a : b;
    case SR_MAX_MIN: return a < b ? a : b;
    default: return narrow(dt, x * y);
    }
}

static int64_t fold_int(Semiring s, DType dt, int64_t a, int64_t b) {
    switch (s) {
    case SR_MIN_PLUS: case SR_MIN_TIMES: case SR_MIN_MAX: return a < b ? a : b;
    case SR_MAX_PLUS: case SR_MAX_TIMES: case SR_MAX_MIN: return a > b ? a : b;
    default: return narrow(dt, (uint64_t)a + (uint64_t)b);
    }
}

static long double complex join(Semiring s, long double complex x, long double complex y) {
    switch (s) {
    case SR_MIN_PLUS: case SR_MAX_PLUS: return x + y;
    case SR_MIN_MAX: return fmaxl(creall(x), creall(y));
    case SR_MAX_MIN: return fminl(creall(x), creall(y));
    default: return x * y;
    }
}

static long double complex fold(Semiring s, long double complex x, long double complex y) {
    switch (s) {
    case SR_MIN_PLUS: case SR_MIN_TIMES: case SR_MIN_MAX: return fminl(creall(x), creall(y));
    case SR_MAX_PLUS: case SR_MAX_TIMES: case SR_MAX_MIN: return fmaxl(creall(x), creall(y));
    default: return x + y;
    }
}

/* Element `at` of the result, over all positions of the summed labels. */
static void define(const Contraction *c, const int64_t *at, const char *const *data,
                   const int64_t *origin, long double complex *sum, double *size, int64_t *isum) {
    int64_t pos[CONTRACT_LABELS];
    char start[16] __attribute__((aligned(16)));
    semiring_identity(c->semiring, c->dtype, start);
    bool ints = dtype_info(c->dtype)->kind == 'i' || dtype_info(c->dtype)->kind == 'b';
    *sum = ints ? 0 : element_c128(c->dtype, start);
    *isum = ints ? element_i64(c->dtype, start) : 0;
    *size = 0;
    for (int l = 0; l < c->labels; l++) {
        pos[l] = c->out >> l & 1 ? at[l] : 0;
        if (c->extent[l] == 0) return;
    }
    for (;;) {
        long double complex x = 1;
        int64_t ix = 1;
        for (int o = 0; o < c->operands; o++) {
            int64_t where = origin[o];
            for (int l = 0; l < c->labels; l++)
                if (c->operand[o].labels >> l & 1) where += pos[l] * c->operand[o].stride[l];
            if (ints) {
                int64_t v = integer(c->dtype, data[o], where);
                ix = o ? join_int(c->semiring, c->dtype, ix, v) : v;
            } else {
                double complex v = get(c->dtype, data[o], where);
                v = c->operand[o].conj ? conj(v) : v;
                x = o ? join(c->semiring, x, v) : v;
            }
        }
        if (ints) *isum = fold_int(c->semiring, c->dtype, *isum, ix);
        else *sum = fold(c->semiring, *sum, x);
        *size += (double)cabsl(x);
        int l = c->labels - 1;
        for (; l >= 0; l--) {
            if (c->out >> l & 1) continue;
            if (++pos[l] < c->extent[l]) break;
            pos[l] = 0;
        }
        if (l < 0) return;
    }
}

/* ---- random cases ---- */

typedef struct Case {
    Contraction c;
    ContractOperand operand[2];
    int64_t origin[3], room[3];         /* elements before position 0, and in all */
} Case;

/* Steps of a tensor over its labels: a random order, gaps, some turned over, some 0 or
 * overlapping for operands. Sets where position 0 lies. */
static void random_steps(Case *k, int tensor, uint64_t labels, int64_t *stride) {
    int order[LABELS], n = 0;
    int64_t step = pick(8) ? 1 : 2, low = 0, high = 0;
    for (int l = 0; l < k->c.labels; l++)
        if (labels >> l & 1) {
            int at = (int)pick(n + 1);
            memmove(order + at + 1, order + at, (size_t)(n++ - at) * sizeof *order);
            order[at] = l;
        }
    for (int i = 0; i < n; i++) {
        int l = order[i];
        int64_t extent = k->c.extent[l] ? k->c.extent[l] : 1;
        stride[l] = step;
        if (tensor && pick(12) == 0) stride[l] = 0;
        else if (tensor && pick(12) == 0) step += 1;            /* windows that overlap */
        else step = step * extent + (pick(6) ? 0 : pick(3));
        if (pick(8) == 0) stride[l] = -stride[l];
        int64_t reach = stride[l] * (extent - 1);
        *(reach < 0 ? &low : &high) += reach;
    }
    k->origin[tensor] = -low;
    k->room[tensor] = high - low + 1;
}

static const int64_t extents[] = { 0, 1, 2, 3, 4, 5, 7, 8, 11, 17, 33, 64, 130 };

static bool random_case(Case *k, DType dt, Semiring s) {
    memset(k, 0, sizeof *k);
    Contraction *c = &k->c;
    c->dtype = dt;
    c->semiring = s;
    c->labels = (int)pick(LABELS + 1);
    c->operands = pick(5) ? 2 : 1;
    c->operand = k->operand;
    double work = 1;
    bool shape = pick(3) == 0;          /* mostly the classes of a product, else anything */
    for (int l = 0; l < c->labels; l++) {
        int64_t most = c->labels > 4 ? 8 : c->labels > 3 ? 10 : 13, least = pick(20) ? 1 : 0;
        c->extent[l] = extents[least + pick(most - least)];
        work *= (double)(c->extent[l] ? c->extent[l] : 1);
        int class = shape ? (int)pick(8) : (int[]){ 3, 5, 6, 7, 3, 5, 6 }[pick(7)];
        if (class & 1) c->out |= (uint64_t)1 << l;
        for (int o = 0; o < c->operands; o++)
            if (class >> (o + 1) & 1) k->operand[o].labels |= (uint64_t)1 << l;
    }
    random_steps(k, 0, c->out, c->out_stride);
    for (int o = 0; o < c->operands; o++) {
        random_steps(k, 1 + o, k->operand[o].labels, k->operand[o].stride);
        k->operand[o].conj = pick(3) == 0;
        if (k->room[1 + o] > ROOM) return false;
    }
    return work <= 3e5 && k->room[0] <= ROOM;
}

static double tolerance(DType dt, double size) {
    double eps = dt == DT_F32 || dt == DT_C64 ? (double)FLT_EPSILON : DBL_EPSILON;
    return 40 * eps * size;
}

static bool agrees(DType dt, Semiring s, const char *data, int64_t at, double complex want,
                   double size, int64_t iwant) {
    if (dtype_info(dt)->kind == 'i' || dtype_info(dt)->kind == 'b') return integer(dt, data,
        at) == iwant;
    double complex got = get(dt, data, at);
    if (s != SR_PLUS_TIMES && creal(got) == creal(want)) return true;
    return cabs(got - want) <= tolerance(dt, size);
}

static void describe(const Case *k, const PairPlan *plan) {
    ReportStep step = { .kind = "" };
    char kernel[2 * REPORT_TEXT];
    pair_report(plan, &step);
    fprintf(stderr, "%s, semiring %d, %s: %s\n", dtype_name(k->c.dtype), k->c.semiring, step.kind,
            report_kernel_text(kernel, sizeof kernel, &step.kernel));
    for (int l = 0; l < k->c.labels; l++)
        fprintf(stderr, "  %lld: C %s%lld A %lld B %lld\n", (long long)k->c.extent[l],
                k->c.out >> l & 1 ? "" : "-", (long long)k->c.out_stride[l],
                (long long)k->operand[0].stride[l], (long long)k->operand[1].stride[l]);
}

static void run_case(Case *k) {
    DType dt = k->c.dtype;
    int64_t bytes = dtype_info(dt)->bytes, at[CONTRACT_LABELS] = { 0 };
    memset(memory[0], pick(2) ? 0xff : GUARD, (size_t)(k->room[0] * bytes));
    memset(touched, 0, (size_t)k->room[0]);
    for (int o = 0; o < k->c.operands; o++) fill(dt, memory[1 + o], k->room[1 + o]);
    char guard = memory[0][0], *out = memory[0] + k->origin[0] * bytes;
    const char *a = memory[1] + k->origin[1] * bytes, *b = memory[2] + k->origin[2] * bytes;
    static const PairWay *const ways[] =
        { NULL, NULL, NULL, &pair_way_block, &pair_way_block, &pair_way_gemm,
                                           &pair_way_direct, &pair_way_rows, &pair_way_semiring,
                                           &pair_way_aside, &pair_way_large };
    PairPlan *plan = pair_plan_wanted(&ctx, &k->c, ways[pick(11)]);
    pair_run(&ctx, plan, out, a, k->c.operands > 1 ? b : NULL);
    bool ok = true, empty = false;
    for (int l = 0; l < k->c.labels; l++) empty |= k->c.out >> l & 1 && k->c.extent[l] == 0;
    while (!empty) {
        long double complex sum;
        double size;
        int64_t isum, where = k->origin[0];
        const char *const data[] = { memory[1], memory[2] };
        for (int l = 0; l < k->c.labels; l++)
            if (k->c.out >> l & 1) where += at[l] * k->c.out_stride[l];
        define(&k->c, at, data, k->origin + 1, &sum, &size, &isum);
        ok &= agrees(dt, k->c.semiring, memory[0], where, (double complex)sum, size, isum);
        touched[where] = 1;
        int l = k->c.labels - 1;
        for (; l >= 0; l--) {
            if (!(k->c.out >> l & 1)) continue;
            if (++at[l] < k->c.extent[l]) break;
            at[l] = 0;
        }
        if (l < 0) break;
    }
    for (int64_t i = 0; i < k->room[0] * bytes; i++) ok &= touched[i / bytes] ||
        memory[0][i] == guard;
    if (!CHECK(ok) && check_failed < 10) describe(k, plan);
    pair_plan_free(&ctx, plan);
}

static void random_cases(int count) {
    static const DType dtypes[] = { DT_F64, DT_F32, DT_C64, DT_C128, DT_F64, DT_BOOL, DT_I8, DT_U8,
                                    DT_I32, DT_I64 };
    for (int i = 0; i < count; i++) {
        Case k;
        DType dt = dtypes[pick(10)];
        Semiring s = dt == DT_BOOL ? SR_OR_AND : pick(3) ? SR_PLUS_TIMES
                                                         : (Semiring)pick(SR_OR_AND);
        if (semiring_has(s, dt) && random_case(&k, dt, s)) run_case(&k);
    }
}

/* ---- large cases: elements taken at random ---- */

static void spread_labels(const char *term, const int64_t *extent, uint64_t *labels,
                          int64_t *stride, int64_t *size) {
    *size = 1;
    for (; *term && *term != '-'; term++) {
        *labels |= (uint64_t)1 << (*term - 'a');
        stride[*term - 'a'] = *size;
        *size *= extent[*term - 'a'];
    }
}

/* `spec`: labels of the result, left and right, the first of each the closest. */
static void large_case(DType dt, const char *spec, const int64_t *extent, const PairWay *way) {
    Case k;
    int64_t size[3], bytes = dtype_info(dt)->bytes;
    memset(&k, 0, sizeof k);
    k.c = (Contraction){ .dtype = dt, .operands = 2, .operand = k.operand };
    for (int l = 0; extent[l]; l++) k.c.extent[k.c.labels++] = extent[l];
    const char *left = strchr(spec, '-') + 1, *right = strchr(left, '-') + 1;
    spread_labels(spec, extent, &k.c.out, k.c.out_stride, &size[0]);
    spread_labels(left, extent, &k.operand[0].labels, k.operand[0].stride, &size[1]);
    spread_labels(right, extent, &k.operand[1].labels, k.operand[1].stride, &size[2]);
    char *data[3];
    for (int i = 0; i < 3; i++) data[i] = mem_alloc_data(&ctx, (size_t)(size[i] * bytes), false);
    memset(data[0], 0xff, (size_t)(size[0] * bytes));
    fill(dt, data[1], size[1]);
    fill(dt, data[2], size[2]);
    PairPlan *plan = pair_plan_wanted(&ctx, &k.c, way);
    pair_run(&ctx, plan, data[0], data[1], data[2]);
    bool ok = true;
    for (int i = 0; i < 300; i++) {
        int64_t at[CONTRACT_LABELS] = { 0 }, where = 0, isum;
        long double complex sum;
        double magnitude;
        for (int l = 0; l < k.c.labels; l++)
            if (k.c.out >> l & 1) where += (at[l] = pick(extent[l])) * k.c.out_stride[l];
        define(&k.c, at, (const char *const *)data + 1, k.origin + 1, &sum, &magnitude, &isum);
        ok &= agrees(dt, SR_PLUS_TIMES, data[0], where, (double complex)sum, magnitude, isum);
    }
    double total = 0;
    for (int64_t i = 0; i < size[0]; i++) total += creal(get(dt, data[0], i));
    ok &= isfinite(total);              /* every element was written */
    if (!CHECK(ok)) describe(&k, plan);
    pair_plan_free(&ctx, plan);
    for (int i = 0; i < 3; i++) mem_free_data(&ctx, data[i], (size_t)(size[i] * bytes));
}

static void large_cases(void) {
    static const struct { const char *spec; int64_t extent[8]; } cases[] = {
        { "abc-bda-dc", { 76, 45, 12, 130 } },              /* rows cut, narrow */
        { "abc-bda-dc", { 67, 37, 24, 300 } },
        { "abcde-efbad-cf", { 20, 9, 11, 9, 20, 70 } },
        { "abcdef-degb-gfac", { 24, 16, 6, 20, 16, 4, 7 } },    /* past the cache */
        { "ab-ca-cb", { 20, 700, 900 } },                   /* few rows: by columns */
        { "abd-acd-cbd", { 60, 50, 70, 9 } },               /* a batch that lies closest */
        { "dab-dac-cbd", { 40, 30, 50, 33 } },
        { "ab-acd-dbc", { 131, 97, 40, 30 } },
        { "abc-adec-ebd", { 60, 24, 3, 70, 80 } },          /* narrow, a long sum */
        { "abcdef-degc-gfab", { 24, 16, 6, 20, 16, 4, 7 } },    /* past the cache, in long rows */
        { "abcd-ea-ebcd", { 60, 7, 11, 931, 33 } },         /* by columns, in place, past the cache */
        { "ab-ca-cb", { 20, 700, 90 } },                    /* in place, within the cache */
        { "ab-acd-dbc", { 37, 29, 90, 168 } },              /* a sum in slices */
        { "ab-cad-dcb", { 5, 17, 131, 71 } },
    };
    static const DType dtypes[] = { DT_F64, DT_F32, DT_C64, DT_C128 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int d = 0; d < 4; d++)
            large_case(dtypes[d], cases[i].spec, cases[i].extent,
                       d == 0 && pick(2) ? NULL : &pair_way_block);
}

/* Read in place and turned over: runs that are no vectors, lines that are none of the cache's. */
static void turned_cases(void) {
    static const struct { const char *spec; int64_t extent[8]; } cases[] = {
        { "abc-bda-dc", { 76, 45, 12, 130 } },
        { "abc-dc-bda", { 67, 37, 26, 300 } },
        { "abc-bda-dc", { 76, 420, 140, 7 } },              /* past the cache */
        { "abcd-dbea-ec", { 76, 72, 24, 40, 3 } },          /* the same, in whole lines */
        { "abcd-dbea-ec", { 131, 20, 7, 23, 13 } },
        { "abcd-deca-be", { 17, 1, 5, 33, 9 } },
        { "abcde-efbad-cf", { 20, 9, 11, 9, 20, 70 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int d = 0; d < 2; d++)
            large_case(d ? DT_F32 : DT_F64, cases[i].spec, cases[i].extent, &pair_way_large);
}

/* ---- particular cases ---- */

static PairPlan *product_plan(DType dt, int64_t m, int64_t n, int64_t k, Case *x) {
    memset(x, 0, sizeof *x);
    x->c = (Contraction){ .dtype = dt, .labels = 3, .operands = 2, .extent = { m, n, k }, .out = 3,
                          .out_stride = { n, 1 }, .operand = x->operand };
    x->operand[0] = (ContractOperand){ .labels = 5, .stride = { k, 0, 1 } };
    x->operand[1] = (ContractOperand){ .labels = 6, .stride = { 0, 1, n } };
    return pair_plan(&ctx, &x->c);
}

/* inf and NaN reach what they belong to and nothing else. */
static void special_values(void) {
    for (int64_t n = 1; n < 70; n += n < 8 ? 1 : 13) {
        Case x;
        PairPlan *plan = product_plan(DT_F64, n, n, n, &x);
        double *a = (double *)(void *)memory[1], *b = (double *)(void *)memory[2],
               *c = (double *)(void *)memory[0];
        for (int64_t i = 0; i < n * n; i++) a[i] = b[i] = 1, c[i] = NAN;
        a[0] = INFINITY;
        b[0] = 0;
        pair_run(&ctx, plan, c, a, b);
        bool ok = isnan(c[0]);
        for (int64_t i = 1; i < n * n; i++)
            ok &= i < n ? c[i] == INFINITY : c[i] == (double)(i % n ? n : n - 1);
        CHECK(ok);
        pair_plan_free(&ctx, plan);
    }
}

int main(void) {
    static InterruptFlag interrupt;
    int count = getenv("PAIR_CASES") ? atoi(getenv("PAIR_CASES")) : 2500;
    for (int threads = 1; threads <= 2; threads++) {
        memset(&ctx, 0, sizeof ctx);
        ctx.interrupt = &interrupt;
        setenv("RICCI_THREADS", threads == 1 ? "1" : "2", 1);
        mem_init(&ctx);
        for (int i = 0; i < 3; i++) memory[i] = mem_alloc_data(&ctx, ROOM * 16, false);
        touched = mem_alloc(&ctx, ROOM);
        random_cases(count);
        special_values();
        large_cases();
        turned_cases();
        mem_free(&ctx, touched, ROOM);
        for (int i = 0; i < 3; i++) mem_free_data(&ctx, memory[i], ROOM * 16);
        pool_shutdown(&ctx);
        CHECK(ctx.mem.live == 0);
        mem_shutdown(&ctx);
    }
    return check_result();
}
