/* A product and the elementwise chain behind it in one pass, panel by panel, against both one after
 * the other, bit for bit: every row told of once, shapes around the edges of tiles and kernels,
 * operands transposed, on one thread and on two; rows of stages in any ranges over any layout; and
 * the row `matmul` with an epilogue. */
#include "interp/life.h"
#include "interp/op/op.h"
#include "kernels/contract/contract.h"
#include "kernels/plan/plan.h"
#include "tests/unit/check.h"

#include <stdatomic.h>
#include <stdlib.h>

static Ctx ctx_storage[2], *ctx;
static InterruptFlag never;

static int64_t pick(int64_t n) { return (int64_t)(check_random() % (uint64_t)n); }

static char *numbers(DType dt, int64_t count)
{
    int64_t bytes = dtype_info(dt)->bytes;
    char *at = malloc((size_t)(count * bytes + 1));
    for (int64_t i = 0; i < count; i++) {
        double v = check_uniform();
        if (dt == DT_F32)
            ((float *)(void *)at)[i] = (float)v;
        else
            ((double *)(void *)at)[i] = v;
    }
    return at;
}

/* ---- chains ---- */

enum { T, BIAS, COLUMN, TURNED, WHOLE, TWO, SLOTS };

/* max((t + bias) * 2, 0) and the like over `outer` x m x n; every operand that `with` has takes
 * part. t lies dense, and so does the result. */
typedef struct Chain {
    DType dt;
    int64_t outer, m, n;
    unsigned with;
    Nest *nest;
    NestPlan *plan;
    char *block[SLOTS];
    const void *data[SLOTS];
} Chain;

static int load(Chain *c, int slot, int64_t so, int64_t sm, int64_t sn)
{
    NestLoad *l = nest_load_new(ctx, c->nest, slot, c->dt, "x");
    l->stride[0] = so, l->stride[1] = sm, l->stride[2] = sn;
    return nest_load(ctx, c->nest);
}

static int ew(Chain *c, EwOp op, int a, int b)
{
    return nest_ew(ctx, c->nest, op, c->dt, (int[]){ a, b }, 2);
}

static void chain_make(Chain *c)
{
    Nest *n = c->nest = nest_new(ctx);
    int64_t of[SLOTS] = { c->outer * c->m * c->n, c->n, c->outer * c->m, c->outer * c->m * c->n,
                          c->m * c->n, 1 };
    nest_index(n, "o", c->outer, 0, 1);
    nest_index(n, "i", c->m, 0, 1);
    nest_index(n, "j", c->n, 0, 1);
    n->out_rank = 3;
    for (int s = 0; s < SLOTS; s++) {
        nest_slot(n);
        c->block[s] = numbers(c->dt, of[s]);
        c->data[s] = c->block[s];
    }
    int x = load(c, T, c->m * c->n, c->n, 1);
    if (c->with & 1 << BIAS)
        x = ew(c, EW_ADD, x, load(c, BIAS, 0, 0, 1));
    if (c->with & 1 << COLUMN)
        x = ew(c, EW_MULTIPLY, x, load(c, COLUMN, c->m, 1, 0));
    if (c->with & 1 << TURNED)
        x = ew(c, EW_SUBTRACT, x, load(c, TURNED, c->m * c->n, 1, c->m));
    if (c->with & 1 << WHOLE)
        x = ew(c, EW_ADD, load(c, WHOLE, 0, c->n, 1), x);
    if (c->with & 1 << TWO)
        x = ew(c, EW_MULTIPLY, x, nest_const(ctx, n, TWO, c->dt, false));
    n->root = nest_ew(ctx, n, EW_RELU, c->dt, &x, 1);
    c->plan = nest_plan(ctx, n, NULL);
}

static void chain_free(Chain *c)
{
    nest_plan_free(ctx, c->plan);
    nest_free(ctx, c->nest);
    for (int s = 0; s < SLOTS; s++)
        free(c->block[s]);
}

static size_t chain_bytes(const Chain *c)
{
    return (size_t)(c->outer * c->m * c->n) * dtype_info(c->dt)->bytes;
}

/* Over t itself or into other memory, ranges in any order. */
static void test_ranges(DType dt, int64_t outer, int64_t m, int64_t n, unsigned with, bool over)
{
    Chain c = { .dt = dt, .outer = outer, .m = m, .n = n, .with = with };
    chain_make(&c);
    size_t bytes = chain_bytes(&c);
    char *whole = malloc(bytes + 1), *parts = malloc(bytes + 1);
    int64_t rows = outer * m, from[64], to[64], ranges = 0;
    CHECK(nest_run(ctx, c.plan, whole, c.data) == EWT_NONE);
    for (int64_t at = 0; at < rows;) {
        int64_t more = ranges < 63 ? pick(1 + rows / 3) + 1 : rows;
        from[ranges] = at;
        to[ranges++] = at = at + more < rows ? at + more : rows;
    }
    bool has = nest_has_rows(c.plan, rows);
#ifndef RICCI_HOSTILE
    if (!CHECK(has || outer > 1))
        fprintf(stderr, "%s %d %d with %u\n", dtype_info(dt)->name, (int)m, (int)n, with);
#endif
    if (has) {
        NestRows *r = nest_rows_begin(ctx, c.plan, rows, over ? c.block[T] : parts, c.data);
        while (ranges > 0) {
            int64_t k = pick(ranges);
            CHECK(nest_rows_run(r, from[k], to[k], (int)pick(2) % pool_threads(ctx)) == EWT_NONE);
            from[k] = from[--ranges], to[k] = to[ranges];
        }
        nest_rows_end(ctx, r);
        CHECK(memcmp(whole, over ? c.block[T] : parts, bytes) == 0);
    }
    chain_free(&c);
    free(whole);
    free(parts);
}

static void test_rows(int rounds)
{
    static const int64_t lengths[] = { 1, 2, 3, 7, 8, 16, 31, 64, 65, 100, 127, 128, 200, 256, 300,
                                       511, 512, 513, 700, 1100 };
    enum { LENGTHS = sizeof lengths / sizeof *lengths };
    for (int i = 0; i < rounds; i++) {
        int64_t m = lengths[pick(LENGTHS)], n = lengths[pick(LENGTHS)];
        test_ranges(pick(2) ? DT_F32 : DT_F64, pick(3) ? 1 : 1 + pick(4), m, n,
                    (unsigned)pick(2 << TWO), pick(2));
    }
}

/* ---- products ---- */

typedef struct Follow {
    NestRows *rows;
    _Atomic uint8_t *told;
    int64_t count;
    atomic_int wrong;
} Follow;

static void follow(void *data, int64_t from, int64_t to, int worker)
{
    Follow *f = data;
    if (from < 0 || from >= to || to > f->count || worker < 0 || worker >= pool_threads(ctx)) {
        f->wrong++;
        return;
    }
    for (int64_t i = from; i < to; i++)
        f->told[i]++;
    if (f->rows && nest_rows_run(f->rows, from, to, worker) != EWT_NONE)
        f->wrong++;
}

static Mat matrix(char *data, int64_t rows, int64_t cols, bool turned)
{
    return turned ? (Mat){ data, 1, rows ? rows : 1 } : (Mat){ data, cols ? cols : 1, 1 };
}

/* The whole product by gemm, or by whatever a contraction takes for it. */
typedef struct Product {
    DType dt;
    int64_t m, n, k;
    int turned;                 /* bits: A, B */
    Mat a, b;
    ContractPlan *plan;
} Product;

static void plan_product(Product *p)
{
    ContractOperand operand[2] = { { .labels = 5, .stride = { p->a.rs, 0, p->a.cs } },
                                   { .labels = 6, .stride = { 0, p->b.cs, p->b.rs } } };
    Contraction c = { .dtype = p->dt, .semiring = SR_PLUS_TIMES, .labels = 3, .operands = 2,
                      .extent = { p->m, p->n, p->k }, .operand = operand, .out = 3,
                      .out_stride = { p->n, 1 } };
    p->plan = contract_plan(ctx, &c, NULL);
}

static void run_product(const Product *p, char *to, const GemmPanels *panels)
{
    const void *data[] = { p->a.data, p->b.data };
    Mat c = { to, p->n, 1 };
    const Blas *blas = blas_open(NULL);
    if (p->plan && panels)
        contract_run_panels(ctx, p->plan, to, data, p->m, p->n, panels);
    else if (p->plan)
        contract_run(ctx, p->plan, to, data);
    else if (panels)
        gemm_panels(ctx, blas, p->dt, p->m, p->n, p->k, p->a, p->b, c, panels);
    else
        gemm(ctx, blas, p->dt, p->m, p->n, p->k, p->a, p->b, c);
}

static void compare(const Product *p, Chain *c, const char *alone, const char *apart, bool chained)
{
    Follow f = { .count = p->m, .told = calloc((size_t)p->m + 1, 1) };
    bool once = true;
    if (chained && nest_has_rows(c->plan, p->m))
        f.rows = nest_rows_begin(ctx, c->plan, p->m, c->block[T], c->data);
    run_product(p, c->block[T], &(GemmPanels){ follow, &f });
    for (int64_t i = 0; i < p->m && p->n > 0; i++)
        once &= f.told[i] == 1;
    bool same = memcmp(c->block[T], f.rows ? apart : alone, chain_bytes(c)) == 0;
    if (!CHECK(f.wrong == 0) || !CHECK(once) || !CHECK(same))
        fprintf(stderr, "    %s %lld x %lld x %lld, turned %d, chained %d, planned %d\n",
                dtype_info(p->dt)->name, (long long)p->m, (long long)p->n, (long long)p->k,
                p->turned, chained, p->plan != NULL);
    if (f.rows)
        nest_rows_end(ctx, f.rows);
    free(f.told);
}

static void test_product(DType dt, int64_t m, int64_t n, int64_t k, int turned)
{
    Chain c = { .dt = dt, .outer = 1, .m = m, .n = n, .with = 1 << BIAS };
    c.with |= (unsigned)pick(2) << TWO;
    Product p = { .dt = dt, .m = m, .n = n, .k = k, .turned = turned };
    chain_make(&c);
    size_t bytes = chain_bytes(&c);
    char *a = numbers(dt, m * k), *b = numbers(dt, k * n);
    char *alone = malloc(bytes + 1), *apart = malloc(bytes + 1);
    p.a = matrix(a, m, k, turned & 1);
    p.b = matrix(b, k, n, turned >> 1 & 1);
    for (int planned = 0; planned < 2; planned++) {
        if (planned)
            plan_product(&p);
        run_product(&p, c.block[T], NULL);
        memcpy(alone, c.block[T], bytes);
        CHECK(nest_run(ctx, c.plan, apart, c.data) == EWT_NONE);
        compare(&p, &c, alone, apart, false);
        compare(&p, &c, alone, apart, true);
    }
    contract_plan_free(ctx, p.plan);
    free(a), free(b), free(apart), free(alone);
    chain_free(&c);
}

static void test_products(int rounds)
{
    static const int64_t edges[] = { 1, 2, 3, 5, 8, 16, 24, 33, 64, 96, 97, 100, 128, 255, 256 };
    static const int64_t heights[] = { 1, 2, 3, 8, 31, 33, 64, 95, 96, 97, 192, 479, 480, 481, 960,
                                       961, 1000, 1024, 1500, 2047, 2112, 2113, 3000 };
    enum { EDGES = sizeof edges / sizeof *edges, HEIGHTS = sizeof heights / sizeof *heights };
    for (int i = 0; i < rounds; i++) {
        int64_t k = pick(12) ? edges[pick(EDGES)] : pick(3) ? 385 + pick(200) : 0;
        test_product(pick(2) ? DT_F32 : DT_F64, heights[pick(HEIGHTS)], edges[pick(EDGES)], k,
                     (int)pick(4));
    }
    test_product(DT_F32, 3000, 512, 256, 2);
    test_product(DT_F64, 3000, 256, 64, 2);
    test_product(DT_F32, 100, 700, 300, 0);
    for (int k = 2; k <= 24; k += 3)      /* shallow: by our own kernels, in blocks */
        test_product(k % 2 ? DT_F32 : DT_F64, 12000 + 1000 * k, k % 3 ? 96 : 200, k, k % 4);
    test_product(DT_F32, 66000, 256, 16, 2);
    test_product(DT_F32, 0, 5, 3, 0);
    test_product(DT_F64, 5, 0, 3, 0);
    test_product(DT_F64, 50, 70, 0, 0);
}

/* ---- the row ---- */

typedef struct Relu {
    Tensor *result;
    atomic_long told;
} Relu;

static void relu_begin(void *data, Tensor *result)
{
    ((Relu *)data)->result = result;
}

static void relu_rows(void *data, int64_t from, int64_t to, int worker)
{
    Relu *r = data;
    int64_t n = tensor_shape(r->result)[r->result->rank - 1];
    (void)worker;
    for (int64_t i = from * n; i < to * n; i++)
        if (r->result->dtype == DT_F32)
            ((float *)(void *)r->result->data)[i] *= 2;
        else
            ((double *)(void *)r->result->data)[i] *= 2;
    r->told += to - from;
}

static Tensor *tensor_of(Interp *in, DType dt, int rank, const int64_t *shape)
{
    Tensor *t = tensor_new(&in->ctx, dt, rank, shape);
    char *from = numbers(dt, t->size);
    memcpy(t->data, from, (size_t)t->size * dtype_info(dt)->bytes);
    free(from);
    return t;
}

static void test_row(Interp *in, Tensor *a, Tensor *b, bool has)
{
    const Op *matmul = op_named(in, "matmul");
    Value *mark = in->sp, args[2] = { v_tensor_raw(a), v_tensor_raw(b) };
    v_push(in, args[0]);
    v_push(in, args[1]);
    Relu relu = { 0 };
    Epilogue e = { &relu, relu_begin, relu_rows };
    Value one = op_call_epilogue(in, matmul, args, 2, &e);
    CHECK(in->sp == mark + 2 && (one.tag == V_TENSOR) == has);
    if (one.tag == V_TENSOR) {
        v_push(in, one);
        Value apart = op_binary(in, matmul, args[0], args[1], 0);
        v_push(in, apart);
        Tensor *x = one.tensor, *y = apart.tensor;
        int64_t n = tensor_shape(y)[y->rank - 1];
        CHECK(x == relu.result && x->size == y->size && x->rank == y->rank);
        CHECK(relu.told == y->size / n);
        relu.result = y;
        relu_rows(&relu, 0, y->size / n, 0);
        CHECK(memcmp(x->data, y->data, (size_t)y->size * dtype_info(y->dtype)->bytes) == 0);
    }
    stack_cut(in, mark);
}

static void test_interpreter(void)
{
    Interp *in = interp_new();
    for (int round = 0; round < 40; round++) {
        DType dt = pick(2) ? DT_F32 : DT_F64;
        int64_t m = 1 + pick(1500), k = 33 + pick(200), n = 1 + pick(300), outer = 1 + pick(3);
        Tensor *w = tensor_of(in, dt, 2, (int64_t[]){ n, k });
        Tensor *turned = tensor_transpose_last(&in->ctx, w);
        tensor_release(&in->ctx, w);
        bool stack = pick(3) == 0;
        Tensor *x = tensor_of(in, dt, stack ? 3 : 2, stack ? (int64_t[]){ outer, m, k }
                                                           : (int64_t[]){ m, k });
        test_row(in, x, turned, true);
    }
    test_row(in, tensor_of(in, DT_F32, 2, (int64_t[]){ 8, 8 }),
             tensor_of(in, DT_F32, 2, (int64_t[]){ 8, 8 }), true);
    test_row(in, tensor_of(in, DT_F32, 2, (int64_t[]){ 80, 70 }),
             tensor_of(in, DT_F64, 2, (int64_t[]){ 70, 80 }), false);
    test_row(in, tensor_of(in, DT_F32, 2, (int64_t[]){ 80, 70 }),
             tensor_of(in, DT_F32, 2, (int64_t[]){ 71, 80 }), false);
    test_row(in, tensor_of(in, DT_F32, 2, (int64_t[]){ 80, 70 }),
             tensor_of(in, DT_F32, 1, (int64_t[]){ 70 }), false);
    test_row(in, tensor_of(in, DT_F32, 2, (int64_t[]){ 80, 0 }),
             tensor_of(in, DT_F32, 2, (int64_t[]){ 0, 80 }), false);
    interp_free(in);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 150;
    for (int k = 0; k < 2; k++) {
        setenv("RICCI_THREADS", k ? "2" : "1", 1);
        ctx = &ctx_storage[k];
        mem_init(ctx);
        ctx->interrupt = &never;
        test_rows(4 * rounds);
        test_products(rounds);
        blas_leave(ctx);
        pool_shutdown(ctx);
        CHECK(ctx->mem.live == 0);
        mem_shutdown(ctx);
        test_interpreter();
    }
    return check_result();
}
