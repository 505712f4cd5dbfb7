/* Contractions of any number of operands: random networks in exact integer arithmetic and in
 * every other dtype against the nest written out, for the chosen order, the order as written,
 * random paths, everything at once, and under a limit on memory; steps that are negative or
 * 0, lengths 0 and 1, conjugates; the semirings that do not distribute; what an allocation
 * that fails leaves behind. */
#include "kernels/cast/tensor_cast.h"
#include "kernels/contract/contract.h"
#include "kernels/reduce/reduce_complex.h"
#include "tests/unit/check.h"

#include <stdlib.h>

static InterruptFlag interrupt;
static Ctx one_thread, three_threads;

enum { LABELS = 7, OPERANDS = 6, ROOM = 4096 };

typedef struct Case {
    Contraction c;
    ContractOperand operand[OPERANDS];
    double _Complex *value[OPERANDS];       /* what the elements mean */
    char *data[OPERANDS], *out;
    const void *at[OPERANDS];               /* position 0 of every label */
    int64_t first[OPERANDS];
    int64_t size;                           /* of the result */
} Case;

static int below(int n)
{
    return (int)(check_random() % (uint64_t)n);
}

static void set_element(DType dt, char *base, int64_t i, double _Complex v)
{
    switch (dt) {
    case DT_BOOL: ((uint8_t *)base)[i] = creal(v) != 0; break;
    case DT_I8: ((int8_t *)base)[i] = (int8_t)creal(v); break;
    case DT_U8: ((uint8_t *)base)[i] = (uint8_t)(int)creal(v); break;
    case DT_I32: ((int32_t *)(void *)base)[i] = (int32_t)creal(v); break;
    case DT_I64: ((int64_t *)(void *)base)[i] = (int64_t)creal(v); break;
    case DT_F32: ((float *)(void *)base)[i] = (float)creal(v); break;
    case DT_F64: ((double *)(void *)base)[i] = creal(v); break;
    case DT_C64: ((float _Complex *)(void *)base)[i] =
        make_c64((float)creal(v), (float)cimag(v)); break;
    default: ((double _Complex *)(void *)base)[i] = v; break;
    }
}

/* Small whole numbers: products of six and sums of a few hundred stay exact in every float. */
static void fill_case(Case *x, DType dt, int operands, Semiring semiring)
{
    memset(x, 0, sizeof *x);
    Contraction *c = &x->c;
    *c = (Contraction){ .dtype = dt, .semiring = semiring, .labels = 2 + below(LABELS - 1),
                        .operands = operands,
                        .operand = x->operand };
    bool is_complex = dtype_info(dt)->kind == 'c';
    uint64_t held = 0;
    for (int l = 0; l < c->labels; l++)
        c->extent[l] = below(40) == 0 ? 0 : 1 + below(4);
    for (int k = 0; k < operands; k++) {
        ContractOperand *o = &x->operand[k];
        int64_t at = 1, lowest = 0;
        for (int tries = below(4); tries > 0; tries--)
            o->labels |= (uint64_t)1 << below(c->labels);
        if (k == 0)
            for (int l = 0; l < c->labels; l++)
                o->labels |= (uint64_t)(below(2) == 0) << l;
        for (int turn = below(2), i = 0; i < c->labels; i++) {
            int l = turn ? c->labels - 1 - i : i;
            if (!(o->labels >> l & 1))
                continue;
            int64_t n = c->extent[l], sign = below(5) == 0 ? -1 : 1;
            o->stride[l] = below(12) == 0 ? 0 : sign * at;
            lowest += o->stride[l] < 0 ? o->stride[l] * (n - 1) : 0;
            at *= n ? n : 1;
            at += below(8) == 0;
        }
        o->conj = is_complex && below(3) == 0;
        held |= o->labels;
        x->first[k] = lowest < 0 ? -lowest : 0;
        x->value[k] = calloc(ROOM * 4, sizeof *x->value[k]);
        x->data[k] = calloc(ROOM * 4, 16);
        for (int i = 0; i < ROOM * 4; i++) {
            x->value[k][i] = below(5) - (dt == DT_U8 || dt == DT_BOOL ? 0 : 2);
            if (dt == DT_BOOL)
                x->value[k][i] = creal(x->value[k][i]) > 2;
            if (is_complex)
                x->value[k][i] = make_c128(creal(x->value[k][i]), below(3) - 1);
            set_element(dt, x->data[k], i, x->value[k][i]);
        }
        x->at[k] = x->data[k] + x->first[k] * dtype_info(dt)->bytes;
    }
    for (int l = 0; l < c->labels; l++)
        if (!(held >> l & 1))
            x->operand[0].labels |= (uint64_t)1 << l;       /* with step 0 */
    x->size = 1;
    for (int l = 0; l < c->labels; l++)
        if (below(2)) {
            c->out |= (uint64_t)1 << l;
            c->out_stride[l] = x->size;
            x->size *= c->extent[l];
        }
    x->out = calloc((size_t)x->size + 1, 16);
}

static void free_case(Case *x)
{
    for (int k = 0; k < x->c.operands; k++) {
        free(x->value[k]);
        free(x->data[k]);
    }
    free(x->out);
}

static double _Complex reduce(Semiring s, double _Complex sum, double _Complex v)
{
    switch (s) {
    case SR_OR_AND: return creal(sum) != 0 || creal(v) != 0;
    case SR_MIN_PLUS: case SR_MIN_TIMES: return creal(v) < creal(sum) ? v : sum;
    case SR_MAX_PLUS: case SR_MAX_TIMES: return creal(v) > creal(sum) ? v : sum;
    default: return sum + v;
    }
}

static double _Complex combine(Semiring s, double _Complex a, double _Complex b)
{
    return s == SR_MIN_PLUS || s == SR_MAX_PLUS ? a + b : times_c128(a, b);
}

/* The nest written out: one element of the result. */
static double _Complex expected(const Case *x, int64_t place, bool *none)
{
    const Contraction *c = &x->c;
    int64_t at[LABELS] = { 0 }, inner = 1;
    double _Complex sum = 0;
    *none = true;
    for (int l = 0; l < c->labels; l++)
        if (c->out >> l & 1)
            at[l] = place / c->out_stride[l] % c->extent[l];
        else
            inner *= c->extent[l];
    for (int64_t i = 0; i < inner; i++) {
        int64_t rest = i;
        double _Complex v = 0;
        for (int l = 0; l < c->labels; l++)
            if (!(c->out >> l & 1)) {
                at[l] = rest % c->extent[l];
                rest /= c->extent[l];
            }
        for (int k = 0; k < c->operands; k++) {
            int64_t e = x->first[k];
            for (int l = 0; l < c->labels; l++)
                e += x->operand[k].labels >> l & 1 ? at[l] * x->operand[k].stride[l] : 0;
            double _Complex f = x->operand[k].conj ? conj(x->value[k][e]) : x->value[k][e];
            v = k ? combine(c->semiring, v, f) : f;
        }
        sum = *none ? v : reduce(c->semiring, sum, v);
        *none = false;
    }
    return sum;
}

static bool right(const Case *x)
{
    DType dt = x->c.dtype;
    size_t bytes = dtype_info(dt)->bytes;
    char cell[16], identity[16];
    for (int64_t i = 0; i < x->size; i++) {
        bool none;
        double _Complex want = expected(x, i, &none);
        set_element(dt, cell, 0, want);
        semiring_identity(x->c.semiring, dt, identity);
        if (dt == DT_I8 || dt == DT_U8)
            cell[0] = (char)(int64_t)creal(want);
        if (memcmp(none ? identity : cell, x->out + (size_t)i * bytes, bytes) != 0 &&
            element_c128(dt, none ? identity : cell) != element_c128(dt,
                x->out + (size_t)i * bytes))
            return false;
    }
    return true;
}

static void random_path(int operands, int path[OPERANDS][2])
{
    for (int t = 0, left = operands; left > 1; t++, left--) {
        path[t][0] = below(left);
        path[t][1] = (path[t][0] + 1 + below(left - 1)) % left;
    }
}

static void run_one(Ctx *ctx, Case *x, const ContractOptions *options)
{
    memset(x->out, 0x55, (size_t)x->size * dtype_info(x->c.dtype)->bytes);
    ContractPlan *plan = contract_plan(ctx, &x->c, options);
    contract_run(ctx, plan, x->out, x->at);
    contract_plan_free(ctx, plan);
    CHECK(right(x));
}

static void networks(DType dt, Semiring semiring, int count)
{
    for (int i = 0; i < count; i++) {
        Case x;
        int operands = 1 + below(OPERANDS), path[OPERANDS][2];
        fill_case(&x, dt, operands, semiring);
        ContractOptions written = { .left_to_right = true },
        told = { .path = (const int (*)[2])path },
                        tight = { .memory = 64 },
                            at_once = { .path = (const int[1][2]){ { -1, -1 } },
                                                              .path_length = 1 };
        Ctx *ctx = i % 2 ? &one_thread : &three_threads;
        size_t live = ctx->mem.live;
        run_one(ctx, &x, NULL);
        if (operands > 2) {
            random_path(operands, path);
            told.path_length = operands - 1;
            run_one(ctx, &x, &written);
            run_one(ctx, &x, &told);
            run_one(ctx, &x, &tight);
            if (semiring == SR_PLUS_TIMES || semiring == SR_OR_AND ||
                !semiring_distributes(semiring))
                run_one(ctx, &x, &at_once);
        }
        CHECK(ctx->mem.live == live);
        free_case(&x);
    }
}

/* 0 * inf is a NaN wherever the scalar stands. */
static void zero_times_infinity(void)
{
    double zero = 0, vector[2] = { 1, INFINITY }, out[2];
    ContractOperand operand[3] = { { 0 }, { .labels = 1, .stride = { 1 } }, { 0 } };
    Contraction c = { .dtype = DT_F64, .labels = 1, .operands = 3, .extent = { 2 },
                      .operand = operand, .out = 1,
                      .out_stride = { 1 } };
    for (int way = 0; way < 3; way++) {
        ContractOptions options = { .left_to_right = way == 1, .path_length = way == 2,
                                    .path = way == 2 ? (const int[1][2]){ { -1, -1 } } : NULL };
        ContractPlan *plan = contract_plan(&one_thread, &c, &options);
        contract_run(&one_thread, plan, out, (const void *[]){ &zero, vector, &zero });
        contract_plan_free(&one_thread, plan);
        CHECK(out[0] == 0 && isnan(out[1]));
    }
}

/* The n-th allocation fails: the error comes out, and nothing stays behind. */
static void failing_allocations(void)
{
    Ctx *ctx = &one_thread;
    Case x;
    do {
        fill_case(&x, DT_F64, 5, SR_PLUS_TIMES);
        if (x.size > 0)
            break;
        free_case(&x);
    } while (true);
    size_t live = ctx->mem.live;
    bool done = false;
    for (uint64_t n = 1; n < 200 && !done; n++) {
        ErrFrame frame;
        ContractPlan *volatile plan = NULL;
        ctx->mem.fail_at = ctx->mem.allocations + n;
        if (ERR_TRY(ctx, &frame)) {
            plan = contract_plan(ctx, &x.c, &(ContractOptions){ .left_to_right = true });
            contract_run(ctx, plan, x.out, x.at);
            done = true;
            ERR_END(ctx, &frame);
        } else {
            CHECK(ctx->error->kind == ERR_MEMORY);
            err_free(ctx->error);
            ctx->error = NULL;
        }
        ctx->mem.fail_at = 0;
        contract_plan_free(ctx, plan);
        CHECK(ctx->mem.live == live);
    }
    CHECK(done);
    free_case(&x);
}

/* Large enough for several strips, for tiles and for threads. */
static void large_fused(void)
{
    enum { NI = 700, NJ = 5, NK = 3, NL = 3, NM = 4 };
    static double a[NI * NJ * NK * NL], b[NJ * NM * NI * NK], c[NJ * NM * NI * NL], out[NJ * NM];
    for (int i = 0; i < NI * NJ * NK * NL; i++)
        a[i] = below(7) - 3;
    for (int i = 0; i < NJ * NM * NI * NK; i++)
        b[i] = below(7) - 3, c[i] = below(7) - 3;
    /* labels i j k l m: ijkl,jmik,jmil->jm */
    ContractOperand operand[3] = {
        { .labels = 15, .stride = { NJ * NK * NL, NK * NL, NL, 1 } },
        { .labels = 1 | 2 | 4 | 16, .stride = { NK, NM * NI * NK, 1, 0, NI * NK } },
        { .labels = 1 | 2 | 8 | 16, .stride = { NL, NM * NI * NL, 0, 1, NI * NL } },
    };
    Contraction x = { .dtype = DT_F64, .labels = 5, .operands = 3, .extent = { NI, NJ, NK, NL, NM },
                      .operand = operand,
                      .out = 2 | 16, .out_stride = { 0, NM, 0, 0, 1 } };
    ContractOptions at_once = { .path = (const int[1][2]){ { -1, -1 } }, .path_length = 1 };
    for (int way = 0; way < 2; way++) {
        Ctx *ctx = way ? &three_threads : &one_thread;
        ContractPlan *plan = contract_plan(ctx, &x, &at_once);
        contract_run(ctx, plan, out, (const void *[]){ a, b, c });
        contract_plan_free(ctx, plan);
        for (int j = 0; j < NJ; j++)
            for (int m = 0; m < NM; m++) {
                double sum = 0;
                for (int i = 0; i < NI; i++)
                    for (int k = 0; k < NK; k++)
                        for (int l = 0; l < NL; l++)
                            sum += a[((i * NJ + j) * NK + k) * NL + l] *
                                   b[((j * NM + m) * NI + i) * NK + k] *
                                   c[((j * NM + m) * NI + i) * NL + l];
                CHECK(out[j * NM + m] == sum);
            }
    }
}

static void report(void)
{
    double a[4] = { 1, 2, 3, 4 }, out[4];
    ContractOperand operand[3] =
        { { .labels = 3, .stride = { 2, 1 } }, { .labels = 6, .stride = { 0, 2, 1 } },
                                   { .labels = 12, .stride = { 0, 0, 2, 1 } } };
    Contraction c = { .dtype = DT_F64, .labels = 4, .operands = 3, .extent = { 2, 2, 2, 2 },
                      .operand = operand,
                      .out = 9, .out_stride = { 2, 0, 0, 1 } };
    static Report r;
    ContractStep steps[3];
    ContractPlan *plan = contract_plan(&one_thread, &c,
                                       &(ContractOptions){ .left_to_right = true });
    contract_report(plan, "R", &r);
    CHECK(r.steps == 2 && r.naive_flops == 48);
    CHECK(strcmp(r.step[0].what, "T1[a,c] = A[a,b] B[b,c]") == 0);
    CHECK(strcmp(r.step[1].what, "R[a,d] = C[c,d] T1[a,c]") == 0);
    CHECK(r.step[0].temporary == 32 && r.step[1].temporary == 0);
    CHECK(contract_steps(plan, steps) == 2 && steps[0].a == 0 && steps[0].b == 1 &&
          steps[1].a + steps[1].b == 1);
    CHECK(contract_memory(plan).peak == 32 && contract_memory(plan).largest == 32);
    contract_run(&one_thread, plan, out, (const void *[]){ a, a, a });
    CHECK(out[0] == 37 && out[1] == 54 && out[2] == 81 && out[3] == 118);
    contract_plan_free(&one_thread, plan);
}

int main(void)
{
    one_thread.interrupt = three_threads.interrupt = &interrupt;
    mem_init(&one_thread);
    mem_init(&three_threads);
    setenv("RICCI_THREADS", "1", 1);
    CHECK(pool_threads(&one_thread) == 1);
    setenv("RICCI_THREADS", "3", 1);
    CHECK(pool_threads(&three_threads) == 3);
    networks(DT_I64, SR_PLUS_TIMES, 150);
    networks(DT_BOOL, SR_OR_AND, 60);
    for (int dt = 0; dt < DT_COUNT; dt++)
        if (dt != DT_BOOL && dt != DT_F16 && dt != DT_BF16 && dt != DT_RATIONAL &&
            !dtype_foreign((DType)dt))
            networks((DType)dt, SR_PLUS_TIMES, 60);
    networks(DT_F64, SR_MIN_PLUS, 40);
    networks(DT_I64, SR_MAX_PLUS, 40);
    networks(DT_F64, SR_MIN_TIMES, 40);
    networks(DT_I64, SR_MAX_TIMES, 40);
    zero_times_infinity();
    failing_allocations();
    large_fused();
    report();
    pool_shutdown(&one_thread);
    pool_shutdown(&three_threads);
    mem_shutdown(&one_thread);
    mem_shutdown(&three_threads);
    return check_result();
}
