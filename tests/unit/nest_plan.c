/* Plans of nests against the plain loop: random expressions over random indices, layouts and
 * dtypes; the forms that a plan is made for (common parts, contractions written in place,
 * hoisted factors, operands in the result's memory); what reports say of them. */
#include "kernels/cast/tensor_cast.h"
#include "kernels/plan/plan.h"
#include "tests/unit/check.h"

#include <stdlib.h>

enum { BUFFERS = 4, ELEMENTS = 1 << 16, SLOTS = 32, RESULT = 1 << 16 };

static InterruptFlag interrupt;
static Ctx ctx;

/* A nest under construction and its data. */
typedef struct Case {
    Nest *n;
    DType dt;
    char *buffer[BUFFERS];
    const void *data[SLOTS];
    double constant[SLOTS][2];
    int bound_left;
} Case;

static int64_t below(int64_t n)
{
    return (int64_t)(check_random() % (uint64_t)n);
}

static void set_element(DType dt, void *at, double v)
{
    switch (dt) {
    case DT_BOOL: *(uint8_t *)at = v > 0; break;
    case DT_I64: *(int64_t *)at = (int64_t)(v * 9); break;
    case DT_F16: *(uint16_t *)at = f64_to_f16(v); break;
    case DT_F32: *(float *)at = (float)v; break;
    case DT_F64: *(double *)at = v; break;
    case DT_C64: *(float _Complex *)at = (float)v + 1.0fi * (float)check_uniform(); break;
    default: *(double _Complex *)at = v + 1.0i * check_uniform(); break;
    }
}

static void case_begin(Case *c, DType dt)
{
    memset(c, 0, sizeof *c);
    c->n = nest_new(&ctx);
    c->dt = dt;
    c->bound_left = 3;
    for (int b = 0; b < BUFFERS; b++) {
        c->buffer[b] = mem_alloc(&ctx, (size_t)ELEMENTS * dtype_info(dt)->bytes);
        for (int64_t i = 0; i < ELEMENTS; i++)
            set_element(dt, c->buffer[b] + i * dtype_info(dt)->bytes, check_uniform());
        c->data[nest_slot(c->n)] = c->buffer[b] + ELEMENTS / 2 * dtype_info(dt)->bytes;
    }
}

static void case_end(Case *c)
{
    for (int b = 0; b < BUFFERS; b++)
        mem_free(&ctx, c->buffer[b], (size_t)ELEMENTS * dtype_info(c->dt)->bytes);
    nest_free(&ctx, c->n);
}

/* ---- comparing ---- */

static double tolerance(DType dt)
{
    DType real = dtype_real(dt);
    return real == DT_F64 ? 1e-9 : real == DT_F32 ? 2e-3 : real == DT_F16 ? 0.1 : 0;
}

static bool close_enough(DType dt, const char *got, const char *want, int64_t count)
{
    int64_t bytes = dtype_info(dt)->bytes;
    double most = 1;
    for (int64_t i = 0; i < count; i++) {
        double size = cabs(element_c128(dt, want + i * bytes));
        most = size > most && size < INFINITY ? size : most;
    }
    if (dtype_info(dt)->kind == 'i' || dtype_info(dt)->kind == 'b')
        return memcmp(got, want, (size_t)(count * bytes)) == 0;
    for (int64_t i = 0; i < count; i++) {
        double _Complex g = element_c128(dt, got + i * bytes);
        double _Complex w = element_c128(dt, want + i * bytes);
        bool odd = !(cabs(w) < INFINITY);
        if (!odd && !(cabs(g - w) <= tolerance(dt) * most))
            return false;
    }
    return true;
}

static void show(const NestPlan *plan, const Case *c)
{
    static Report r;
    memset(&r, 0, sizeof r);
    nest_report(plan, c->data, &r);
    for (int i = 0; i < r.steps; i++)
        fprintf(stderr, "    %s   (%s)\n", r.step[i].what, r.step[i].kind);
}

static bool same_as_reference(const Case *c)
{
    const Nest *n = c->n;
    DType dt = (DType)n->node[n->root].dtype;
    int64_t stride[NEST_INDICES], count = 1;
    for (int i = n->out_rank - 1; i >= 0; i--) {
        stride[i] = count;
        count *= n->index[i].extent;
    }
    if (count > RESULT)
        return true;
    size_t bytes = (size_t)(count + 1) * dtype_info(dt)->bytes;
    char *got = mem_zalloc(&ctx, bytes), *want = mem_zalloc(&ctx, bytes);
    NestPlan *plan = nest_plan(&ctx, n, NULL);
    EwTrouble a = nest_run(&ctx, plan, got, c->data);
    EwTrouble b = nest_reference(n, want, stride, c->data, NULL);
    bool same = a == b && (a != EWT_NONE || close_enough(dt, got, want, count));
    if (!same) {
        fprintf(stderr, "  %s, %lld elements:\n", dtype_name(dt), (long long)count);
        show(plan, c);
    }
    nest_plan_free(&ctx, plan);
    mem_free(&ctx, got, bytes);
    mem_free(&ctx, want, bytes);
    return same;
}

/* ---- random expressions ---- */

static int64_t random_extent(void)
{
    static const int64_t choice[] = { 1, 2, 3, 3, 4, 5, 7, 9, 12, 17 };
    return below(60) == 0 ? 0 : choice[below(10)];
}

static int new_index(Case *c)
{
    char name[8];
    snprintf(name, sizeof name, "%c", 'a' + c->n->indices);
    return nest_index(c->n, name, random_extent(), below(3), 1 + below(2));
}

/* Of some of the indices, in any order, forwards or backwards, dense or not; sometimes one
 * after the other over a window. */
static int random_load(Case *c, uint64_t indices)
{
    int order[NEST_INDICES], count = 0, b = (int)below(BUFFERS);
    char name[8];
    snprintf(name, sizeof name, "%c", 'A' + b);
    for (int i = 0; i < c->n->indices; i++)
        if (indices >> i & 1 && below(4))
            order[count++] = i;
    for (int i = count - 1; i > 0; i--) {
        int k = (int)below(i + 1), t = order[i];
        order[i] = order[k];
        order[k] = t;
    }
    NestLoad *load = nest_load_new(&ctx, c->n, b, c->dt, name);
    int64_t step = 1 + (below(5) == 0);
    for (int i = 0; i < count; i++) {
        int64_t reach = step * c->n->index[order[i]].extent;
        if (reach > ELEMENTS / 8)
            break;
        load->stride[order[i]] = below(6) ? step : -step;
        step = below(8) == 0 ? step : reach > 0 ? reach : 1;
    }
    return nest_load(&ctx, c->n);
}

static int random_const(Case *c)
{
    if (c->n->slots >= SLOTS)
        return random_load(c, 0);
    int slot = nest_slot(c->n);
    set_element(c->dt, c->constant[slot], below(2) ? 0.5 : -0.75);
    c->data[slot] = c->constant[slot];
    return nest_const(&ctx, c->n, slot, c->dt, false);
}

static int operation(Case *c, EwOp op, int x, int y)
{
    DType dt = ew_compute_dtype(op, (DType)c->n->node[x].dtype);
    int args[] = { x, y };
    return nest_ew(&ctx, c->n, op, dt, args, ew_info[op].arity);
}

/* Back in the dtype of the case: sums of ints are i64, of halves f16 already. */
static int random_product(Case *c, uint64_t indices, int factors)
{
    int x = random_load(c, indices);
    for (int k = 1; k < factors; k++)
        x = operation(c, EW_MULTIPLY, x, below(8) ? random_load(c, indices) : random_const(c));
    return x;
}

static int expression(Case *c, uint64_t indices, int depth);

static int random_reduction(Case *c, uint64_t indices, int depth)
{
    uint64_t bound = 0;
    int many = 1 + (int)below(2);
    while (many-- && c->bound_left) {
        c->bound_left--;
        bound |= UINT64_C(1) << new_index(c);
    }
    if (!bound)
        return random_load(c, indices);
    NestReduce op = NEST_SUM;
    bool ordered = dtype_info(c->dt)->kind != 'c';
    for (uint64_t s = bound; s && ordered; s &= s - 1)
        ordered = c->n->index[__builtin_ctzll(s)].extent > 0;
    if (ordered && below(3) == 0)
        op = below(2) ? NEST_MIN : NEST_MAX;
    int body;
    if (op == NEST_SUM)
        body = below(3) ? random_product(c, indices | bound, 1 + (int)below(3))
                        : expression(c, indices | bound, depth - 1);
    else if (below(2))
        body = operation(c, below(2) ? EW_ADD : op == NEST_MIN ? EW_MAXIMUM : EW_MINIMUM,
                         random_load(c, indices | bound), random_load(c, indices | bound));
    else
        body = random_load(c, indices | bound);
    return nest_reduce(&ctx, c->n, op, body, bound);
}

static int expression(Case *c, uint64_t indices, int depth)
{
    static const EwOp pairs[] = { EW_ADD, EW_SUBTRACT, EW_MULTIPLY, EW_MULTIPLY };
    int kind = (int)below(depth > 0 ? 8 : 2);
    if (kind == 0)
        return random_load(c, indices);
    if (kind == 1)
        return below(3) ? random_load(c, indices) : random_const(c);
    if (kind < 4)
        return random_reduction(c, indices, depth);
    int x = expression(c, indices, depth - 1);
    if (kind == 4)
        return operation(c, EW_NEGATIVE, x, 0);
    if (kind == 5 && c->dt != DT_I64)
        return operation(c, below(2) ? EW_EXP : EW_SIN, random_load(c, indices), 0);
    int y = expression(c, indices, depth - 1);
    DType dt = dtype_promote((DType)c->n->node[x].dtype, (DType)c->n->node[y].dtype);
    int args[] = { x, y };
    return nest_ew(&ctx, c->n, pairs[below(4)], dt, args, 2);
}

static void random_case(DType dt)
{
    Case c;
    case_begin(&c, dt);
    int rank = (int)below(4);
    for (int i = 0; i < rank; i++)
        new_index(&c);
    c.n->out_rank = rank;
    uint64_t axes = (UINT64_C(1) << rank) - 1;
    c.n->root = below(3) ? expression(&c, axes, 3) : random_reduction(&c, axes, 2);
    CHECK(same_as_reference(&c));
    case_end(&c);
}

/* ---- the forms that plans are made for ---- */

static int load2(Case *c, int b, int i, int64_t si, int j, int64_t sj)
{
    char name[2] = { (char)('A' + b), 0 };
    NestLoad *load = nest_load_new(&ctx, c->n, b, c->dt, name);
    load->stride[i] = si;
    load->stride[j] = sj;
    return nest_load(&ctx, c->n);
}

static Report *report_of(const Case *c)
{
    static Report r;
    memset(&r, 0, sizeof r);
    NestPlan *plan = nest_plan(&ctx, c->n, NULL);
    nest_report(plan, c->data, &r);
    CHECK(nest_seconds(plan) > 0);
    nest_plan_free(&ctx, plan);
    return &r;
}

static void axes(Case *c, int64_t m, int64_t n)
{
    nest_index(c->n, "i", m, 0, 1);
    nest_index(c->n, "j", n, 0, 1);
    c->n->out_rank = 2;
}

static int product(Case *c, int i, int j, int d)
{
    int x = load2(c, 0, i, 20, d, 1), y = load2(c, 1, j, 20, d, 1);
    return nest_reduce(&ctx, c->n, NEST_SUM, operation(c, EW_MULTIPLY, x, y), UINT64_C(1) << d);
}

/* exp(sum[d] A[i,d]*B[j,d]) / (sum[m] exp(sum[e] A[i,e]*B[m,e])): one product, written into the
 * result; the sums; one pass. */
static void common_parts(void)
{
    Case c;
    case_begin(&c, DT_F64);
    axes(&c, 70, 60);
    int d = nest_index(c.n, "d", 20, 0, 1), m = nest_index(c.n, "m", 60, 0, 1);
    int e = nest_index(c.n, "e", 20, 0, 1);
    int top = operation(&c, EW_EXP, product(&c, 0, 1, d), 0);
    int below_it = nest_reduce(&ctx, c.n, NEST_SUM, operation(&c, EW_EXP, product(&c, 0, m, e), 0),
                               UINT64_C(1) << m);
    c.n->root = operation(&c, EW_DIVIDE, top, below_it);
    snprintf(c.n->result, sizeof c.n->result, "P");
    CHECK(same_as_reference(&c));
    const Report *r = report_of(&c);
    CHECK(r->steps == 3);
    CHECK(strcmp(r->step[0].what, "P[i,j] = A[i,d] B[j,d]") == 0);
    CHECK(strcmp(r->step[1].what, "T1[i] = sum[m] exp(P[i,m])") == 0);
    CHECK(strcmp(r->step[2].what, "P[i,j] = exp(P[i,j])/T1[i]") == 0);
    CHECK(r->step[0].temporary == 0 && r->step[1].temporary == 70 * 8);
    CHECK(r->naive_flops == 70 * 60 * (2. * 20 + 2 + 60 * (2 * 20 + 2)));
    case_end(&c);
}

/* The extents differ: the same form is no common part. */
static void no_common_part(void)
{
    Case c;
    case_begin(&c, DT_F64);
    axes(&c, 70, 60);
    int d = nest_index(c.n, "d", 20, 0, 1), m = nest_index(c.n, "m", 50, 0, 1);
    int top = product(&c, 0, 1, d);
    int other = nest_reduce(&ctx, c.n, NEST_MAX, product(&c, 0, m, d), UINT64_C(1) << m);
    c.n->root = operation(&c, EW_SUBTRACT, top, other);
    CHECK(same_as_reference(&c));
    CHECK(report_of(&c)->steps == 4);
    case_end(&c);
}

/* The final stage reads the product at its own place and at others: it must not write there. */
static void read_elsewhere(void)
{
    Case c;
    case_begin(&c, DT_F64);
    axes(&c, 60, 60);
    int d = nest_index(c.n, "d", 20, 0, 1), k = nest_index(c.n, "k", 60, 0, 1);
    int e = nest_index(c.n, "e", 20, 0, 1);
    int here = product(&c, 0, 1, d), there = product(&c, k, 1, e);
    int apart = operation(&c, EW_SUBTRACT, there, load2(&c, 2, 0, 60, k, 1));
    int spread = operation(&c, EW_ABS, apart, 0);
    c.n->root = operation(&c, EW_ADD, here,
                          nest_reduce(&ctx, c.n, NEST_MAX, spread, UINT64_C(1) << k));
    CHECK(same_as_reference(&c));
    case_end(&c);
}

/* The result lies in the memory of an operand with its strides. */
static void result_in_operand(void)
{
    Case c;
    case_begin(&c, DT_F64);
    axes(&c, 50, 40);
    int d = nest_index(c.n, "d", 20, 0, 1);
    c.n->root = operation(&c, EW_MULTIPLY, load2(&c, 2, 0, 40, 1, 1), product(&c, 0, 1, d));
    double *apart = mem_alloc(&ctx, 50 * 40 * sizeof *apart);
    NestPlan *plan = nest_plan(&ctx, c.n, NULL);
    nest_run(&ctx, plan, apart, c.data);
    nest_run(&ctx, plan, (void *)c.data[2], c.data);
    CHECK(memcmp(apart, c.data[2], 50 * 40 * sizeof *apart) == 0);
    nest_plan_free(&ctx, plan);
    mem_free(&ctx, apart, 50 * 40 * sizeof *apart);
    case_end(&c);
}

/* exp(A[i,d]) in a product is computed for every i and d once, not for every j. */
static void factors_first(void)
{
    Case c;
    case_begin(&c, DT_F64);
    axes(&c, 60, 60);
    int d = nest_index(c.n, "d", 20, 0, 1);
    int x = operation(&c, EW_EXP, load2(&c, 0, 0, 20, d, 1), 0);
    int body = operation(&c, EW_MULTIPLY, x, load2(&c, 1, 1, 20, d, 1));
    c.n->root = nest_reduce(&ctx, c.n, NEST_SUM, body, UINT64_C(1) << d);
    CHECK(same_as_reference(&c));
    const Report *r = report_of(&c);
    CHECK(r->steps == 2 && strcmp(r->step[0].what, "T1[i,d] = exp(A[i,d])") == 0);
    case_end(&c);
}

/* A factor that is an expression is not kept where memory would not hold it. */
static void factor_too_large(void)
{
    Case c;
    int at[4];
    case_begin(&c, DT_F64);
    for (int i = 0; i < 4; i++) {
        const char *const names[] = { "i", "j", "k", "l" };
        int index = nest_index(c.n, names[i], i < 3 ? 24 : 8, 0, 1);
        at[i] = load2(&c, 0, index, 0, index, 1);
    }
    int angle = operation(&c, EW_ADD, operation(&c, EW_ADD, at[0], at[1]), at[2]);
    int body = operation(&c, EW_MULTIPLY, operation(&c, EW_SIN, angle, 0), at[3]);
    c.n->root = nest_reduce(&ctx, c.n, NEST_SUM, body, 15);
    CHECK(same_as_reference(&c));
    CHECK(strncmp(report_of(&c)->step[0].what, "T1[i,j,k] = ", 12) == 0);
    size_t limit = ctx.mem.limit;
    ctx.mem.limit = ctx.mem.live + 100000;
    CHECK(same_as_reference(&c));
    ctx.mem.limit = limit;
    case_end(&c);
}

/* exp(x - m)/sum of it, m the maximum along j: rows of i (of b and i), strides of any kind. */
static int softmax(Case *c, const int64_t *x, int j)
{
    int at[3], sum = 0;
    for (int t = 0; t < 3; t++) {
        int along = t == 0 ? j : nest_index(c->n, t == 1 ? "k" : "m", c->n->index[j].extent, 0, 1);
        NestLoad *load = nest_load_new(&ctx, c->n, 0, c->dt, "A");
        for (int i = 0; i < j; i++)
            load->stride[i] = x[i];
        load->stride[along] = x[j];
        at[t] = nest_load(&ctx, c->n);
        if (t == 1)
            at[1] = nest_reduce(&ctx, c->n, NEST_MAX, at[1], UINT64_C(1) << along);
        if (t == 2)
            sum = nest_reduce(&ctx, c->n, NEST_SUM,
                              operation(c, EW_EXP, operation(c, EW_SUBTRACT, at[2], at[1]), 0),
                              UINT64_C(1) << along);
    }
    int top = operation(c, EW_EXP, operation(c, EW_SUBTRACT, at[0], at[1]), 0);
    return operation(c, EW_DIVIDE, top, sum);
}

/* Row after row as it is defined. */
static void plain_softmax(const Nest *n, const double *data, const int64_t *x, double *out,
                          const int64_t *stride)
{
    int last = n->out_rank - 1;
    int64_t length = n->index[last].extent, rows = 1;
    for (int i = 0; i < last; i++)
        rows *= n->index[i].extent;
    for (int64_t r = 0; r < rows; r++) {
        int64_t from = 0, to = 0, rest = r;
        for (int i = last - 1; i >= 0; rest /= n->index[i--].extent) {
            from += rest % n->index[i].extent * x[i];
            to += rest % n->index[i].extent * stride[i];
        }
        double most = -(double)INFINITY, sum = 0;
        for (int64_t j = 0; j < length; j++)
            most = fmax(most, data[from + j * x[last]]);
        for (int64_t j = 0; j < length; j++)
            sum += exp(data[from + j * x[last]] - most);
        for (int64_t j = 0; j < length; j++)
            out[to + j * stride[last]] = exp(data[from + j * x[last]] - most) / sum;
    }
}

/* The plan into memory of its own and over its operand against the plain loop. */
static bool same_rows(const Case *c, const int64_t *x, const int64_t *stride, int64_t count)
{
    const Nest *n = c->n;
    size_t bytes = (size_t)count * sizeof(double);
    double *got = mem_zalloc(&ctx, bytes), *want = mem_zalloc(&ctx, bytes);
    double *data = mem_zalloc(&ctx, bytes);
    for (int64_t i = 0; i < count; i++)
        data[i] = 3 * check_uniform();
    const void *in[SLOTS] = { data };
    NestPlan *plan = nest_plan(&ctx, n, stride);
    nest_run(&ctx, plan, got, in);
    plain_softmax(n, data, x, want, stride);
    bool same = close_enough(DT_F64, (char *)got, (char *)want, count);
    if (memcmp(x, stride, (size_t)n->out_rank * sizeof *x) == 0) {
        nest_run(&ctx, plan, data, in);
        same &= memcmp(data, got, bytes) == 0;
    }
    nest_plan_free(&ctx, plan);
    mem_free(&ctx, got, bytes);
    mem_free(&ctx, want, bytes);
    mem_free(&ctx, data, bytes);
    return same;
}

/* Larger than one block: rows in blocks and a rest; one exp per element. */
static void rows_in_blocks(void)
{
    static const struct { int rank; int64_t extent[3], x[3], out[3]; } shapes[] = {
        { 2, { 170, 601 }, { 601, 1 }, { 601, 1 } },
        { 2, { 601, 170 }, { 1, 601 }, { 170, 1 } },
        { 2, { 601, 170 }, { 1, 601 }, { 1, 601 } },
        { 2, { 3, 90001 }, { 90001, 1 }, { 90001, 1 } },
        { 3, { 4, 57, 501 }, { 57 * 501, 501, 1 }, { 57 * 501, 501, 1 } },
        { 3, { 57, 4, 501 }, { 501, 57 * 501, 1 }, { 4 * 501, 501, 1 } },
        { 2, { 1, 200001 }, { 200001, 1 }, { 200001, 1 } },
        { 2, { 90001, 2 }, { 2, 1 }, { 2, 1 } },
    };
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        Case c;
        int64_t count = 1;
        case_begin(&c, DT_F64);
        for (int i = 0; i < shapes[k].rank; i++) {
            const char *name = i + 1 == shapes[k].rank ? "j" : i ? "i" : "h";
            nest_index(c.n, name, shapes[k].extent[i], 0, 1);
            count *= shapes[k].extent[i];
        }
        c.n->out_rank = shapes[k].rank;
        c.n->root = softmax(&c, shapes[k].x, shapes[k].rank - 1);
        CHECK(same_rows(&c, shapes[k].x, shapes[k].out, count));
        const Report *r = report_of(&c);
        CHECK(r->steps == 4 && strstr(r->step[1].what, " = exp("));
        CHECK(!strstr(r->step[3].what, "exp("));
        case_end(&c);
    }
}

/* No memory for the plan, then none for its temporaries: an error, and nothing is lost. */
static void spent_memory(void)
{
    Case c;
    case_begin(&c, DT_F64);
    axes(&c, 70, 60);
    int d = nest_index(c.n, "d", 20, 0, 1), m = nest_index(c.n, "m", 50, 0, 1);
    int other = nest_reduce(&ctx, c.n, NEST_MAX, product(&c, 0, m, d), UINT64_C(1) << m);
    c.n->root = operation(&c, EW_SUBTRACT, product(&c, 0, 1, d), other);
    double *out = mem_alloc(&ctx, 70 * 60 * sizeof *out);
    NestPlan *plan = nest_plan(&ctx, c.n, NULL);
    size_t before = ctx.mem.live, limit = ctx.mem.limit;
    ctx.mem.limit = before + 20000;
    CHECK_RAISES(&ctx, ERR_MEMORY, nest_run(&ctx, plan, out, c.data));
    err_free(ctx.error);
    ctx.error = NULL;
    CHECK(ctx.mem.live == before);
    for (volatile size_t room = 0; room < 12000; room += 500) {
        ctx.mem.limit = before + room;
        ErrFrame frame;
        if (ERR_TRY(&ctx, &frame)) {
            nest_plan_free(&ctx, nest_plan(&ctx, c.n, NULL));
            ERR_END(&ctx, &frame);
        } else {
            err_free(ctx.error);
            ctx.error = NULL;
        }
        CHECK(ctx.mem.live == before);
    }
    ctx.mem.limit = limit;
    nest_plan_free(&ctx, plan);
    mem_free(&ctx, out, 70 * 60 * sizeof *out);
    case_end(&c);
}

/* ---- attention ---- */

/* exp(where(key <= i, sum[d] Q[i,d]*K[key,d], -inf)) */
static int weight(Case *c, int key, int d, int hidden)
{
    int both[] = { nest_number(&ctx, c->n, key), nest_number(&ctx, c->n, 0) };
    int args[] = { nest_ew(&ctx, c->n, EW_LESS_EQUAL, DT_I64, both, 2), product(c, 0, key, d),
                   hidden };
    return operation(c, EW_EXP, nest_ew(&ctx, c->n, EW_WHERE, c->dt, args, 3), 0);
}

/* (sum[j] W[i,j]*V[j,e]) / (sum[m] W[i,m]): by tiles where the number of what is hidden is known,
 * and room is given back where it does not suffice. */
static void attention(DType dt)
{
    Case c;
    case_begin(&c, dt);
    axes(&c, 40, 9);
    int j = nest_index(c.n, "j", 420, 0, 1), m = nest_index(c.n, "m", 420, 0, 1);
    int d = nest_index(c.n, "d", 20, 0, 1), e = nest_index(c.n, "k", 20, 0, 1);
    double inf = -INFINITY;
    int slot = nest_slot(c.n);
    c.data[slot] = &inf;
    int hidden = nest_const(&ctx, c.n, slot, DT_F64, true);
    int v = load2(&c, 2, j, 9, 1, 1);
    int above = nest_reduce(&ctx, c.n, NEST_SUM,
                            operation(&c, EW_MULTIPLY, weight(&c, j, d, hidden), v),
                            UINT64_C(1) << j);
    int below_it = nest_reduce(&ctx, c.n, NEST_SUM, weight(&c, m, e, hidden), UINT64_C(1) << m);
    c.n->root = operation(&c, EW_DIVIDE, above, below_it);
    CHECK(same_as_reference(&c));                       /* nothing known: as it is written */
    NestPlan *plan = nest_plan_knowing(&ctx, c.n, c.data);
    CHECK(nest_relies(plan, slot) && !nest_relies(plan, 0));
    char *got = mem_zalloc(&ctx, 40 * 9 * 8), *want = mem_zalloc(&ctx, 40 * 9 * 8);
    const int64_t stride[] = { 9, 1 };
    size_t before = ctx.mem.live, limit = ctx.mem.limit;
    ctx.mem.limit = before;
    ErrFrame frame;
    if (ERR_TRY(&ctx, &frame)) {
        nest_run(&ctx, plan, got, c.data);
        ERR_END(&ctx, &frame);
        CHECK(!"there was no room");
    } else {
        err_free(ctx.error);
        ctx.error = NULL;
    }
    ctx.mem.limit = limit;
    CHECK(ctx.mem.live == before);
    CHECK(nest_run(&ctx, plan, got, c.data) == EWT_NONE && ctx.mem.live == before);
    nest_reference(c.n, want, stride, c.data, NULL);
    CHECK(close_enough(dt, got, want, 40 * 9));
    static Report r;
    memset(&r, 0, sizeof r);
    nest_report(plan, c.data, &r);
    CHECK(r.steps == 1 && strncmp(r.attention, "tiled, ", 7) == 0 && nest_seconds(plan) > 0);
    nest_plan_free(&ctx, plan);
    mem_free(&ctx, got, 40 * 9 * 8);
    mem_free(&ctx, want, 40 * 9 * 8);
    case_end(&c);
}

int main(int argc, char **argv)
{
    static const DType dtypes[] = { DT_F64, DT_F64, DT_F32, DT_I64, DT_C128, DT_F16 };
    int cases = argc > 1 ? atoi(argv[1]) : 600;
    setenv("RICCI_THREADS", "2", 1);
    ctx.interrupt = &interrupt;
    mem_init(&ctx);
    common_parts();
    no_common_part();
    read_elsewhere();
    result_in_operand();
    factors_first();
    factor_too_large();
    rows_in_blocks();
    spent_memory();
    attention(DT_F64);
    attention(DT_F32);
    attention(DT_F16);
    for (int k = 0; k < cases; k++)
        random_case(dtypes[k % 6]);
    pool_shutdown(&ctx);
    return check_result();
}
