/* The commands of a rank on grids of processes, started by mpirun: every rank sends itself the same
 * commands, as the session would, and compares whole tensors with plain loops. */
#include "check.h"
#include "kernels/cast/tensor_cast.h"
#include "kernels/elementwise/ew.h"
#include "kernels/grid/grid_rank.h"
#include "kernels/random/rng.h"
#include "kernels/reduce/reduce.h"

#include <stdlib.h>
#include <unistd.h>

static Ctx *ctx;
static GridRank *g;
static uint64_t newest;                  /* the last number that was given */

/* ---- commands ---- */
typedef struct Call { Buf in, out; Wire answer, asked; const Tensor *piece; bool raised; } Call;

static void begin(Call *c)
{
    memset(c, 0, sizeof *c);
    buf_init(&c->in, ctx);
    buf_init(&c->out, ctx);
}

/* The slab of c->piece. */
static void more(Wire *w, void *to, size_t n)
{
    const Call *c = w->with;
    grid_slab_fill(&g->grid, g->rank, c->piece, 0, to, n);
}

static void end(Call *c)
{
    buf_free(&c->in);
    buf_free(&c->out);
}

static void run(Call *c, GridOp op)
{
    ErrFrame f;
    c->asked = wire_from(ctx, &c->in);
    c->asked.more = more;
    c->asked.with = c;
    if (c->piece)
        c->asked.piece = grid_slab_bytes(&g->grid, g->rank, (DType)c->piece->dtype,
                                         c->piece->rank, tensor_shape(c->piece));
    if (ERR_TRY(ctx, &f)) {
        grid_command(g, op, &c->asked, &c->out);
        ERR_END(ctx, &f);
    } else {
        c->raised = true;
        if (ctx->error->kind != ERR_MEMORY && ctx->error->kind != ERR_DEVICE)
            fprintf(stderr, "%s: %s\n", grid_op_name(op), ctx->error->message);
    }
    c->answer = wire_from(ctx, &c->out);
}

static void put_ints(Call *c, const int64_t *x, int n)
{
    wire_u64(&c->in, (uint64_t)n);
    wire_i64s(&c->in, x, n);
}

static void put_scalar(Call *c, DType dt, double v)
{
    char x[16] = { 0 };
    cast_run(dt, x, 1, DT_F64, &v, 1, 1);
    grid_write_scalar(&c->in, dt, x);
}

/* A number of its own for a host tensor. */
static uint64_t put(const Tensor *t)
{
    Call c;
    begin(&c);
    c.piece = t;
    wire_u64(&c.in, ++newest);
    wire_u64(&c.in, t->dtype);
    put_ints(&c, tensor_shape(t), t->rank);
    run(&c, GRID_PUT);
    CHECK(!c.raised);
    end(&c);
    return newest;
}

/* The whole of a number, on every rank. */
static Tensor *fetch(uint64_t id)
{
    const GridTensor *t = grid_find(g, id);
    Tensor *whole = tensor_zeros(ctx, t->dtype, t->axes, t->shape);
    for (int r = 0; r < g->ranks; r++) {
        size_t n = grid_slab_bytes(&g->grid, r, t->dtype, t->axes, t->shape);
        char *slab = mem_alloc(ctx, n + 1);
        Call c;
        begin(&c);
        wire_u64(&c.in, id);
        run(&c, GRID_GET);
        if (r == g->rank && CHECK(c.asked.give_bytes == n))
            memcpy(slab, c.asked.give, n);
        grid_share(g, SCOPE_ALL, r, slab, n);
        size_t half = n / 2 / dtype_info(t->dtype)->bytes * dtype_info(t->dtype)->bytes;
        grid_slab_take(&g->grid, r, whole, 0, slab, half);
        grid_slab_take(&g->grid, r, whole, half, slab + half, n - half);
        mem_free(ctx, slab, n + 1);
        end(&c);
    }
    return whole;
}

static void drop(uint64_t id)
{
    Call c;
    begin(&c);
    put_ints(&c, (int64_t[]){ (int64_t)id }, 1);
    run(&c, GRID_FREE);
    end(&c);
}

/* ---- host tensors ---- */
static double at(const Tensor *t, int64_t i)
{
    return element_f64((DType)t->dtype, t->data + (size_t)i * dtype_info((DType)t->dtype)->bytes);
}

static double _Complex at_z(const Tensor *t, int64_t i)
{
    return element_c128((DType)t->dtype, t->data + (size_t)i * dtype_info((DType)t->dtype)->bytes);
}

static Tensor *filled(DType dt, int rank, const int64_t *shape)
{
    Tensor *t = tensor_zeros(ctx, dt, rank, shape);
    for (int64_t i = 0; i < t->size; i++) {
        double x[2] = { check_uniform(), check_uniform() };
        char kind = dtype_info(dt)->kind;
        if (kind == 'b')
            x[0] = x[0] > 0;
        else if (kind == 'i')
            x[0] = (double)(int)((x[0] + (dt == DT_U8)) * 9);
        cast_run(dt, t->data + (size_t)i * dtype_info(dt)->bytes, 1,
                 kind == 'c' ? DT_C128 : DT_F64, x, 1, 1);
    }
    return t;
}

static bool same_bits(const Tensor *a, const Tensor *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(tensor_shape(a), tensor_shape(b), (size_t)a->rank * 8) == 0 &&
           memcmp(a->data, b->data, (size_t)a->size * dtype_info((DType)a->dtype)->bytes) == 0;
}

static double eps_of(DType dt) { return dtype_real(dt) == DT_F32 ? 0x1p-23 : 0x1p-52; }

/* To `bound` roundings of 1. */
static bool near(double _Complex x, double _Complex y, DType dt, double bound)
{
    return cabs(x - y) <= bound * eps_of(dt) * (1 + cabs(y));
}

static const DType dtypes[] = { DT_BOOL, DT_I8, DT_U8, DT_I32, DT_I64, DT_F32, DT_F64, DT_C64,
                                DT_C128 };
enum { DTYPES = sizeof dtypes / sizeof dtypes[0] };
static const DType blas[] = { DT_F32, DT_F64, DT_C64, DT_C128 };

typedef struct Shape { int rank; int64_t n[4]; } Shape;
static const Shape shapes[] = {
    { 1, { 7 } }, { 1, { 1 } }, { 1, { 0 } }, { 1, { 23 } }, { 2, { 13, 5 } }, { 2, { 1, 9 } },
    { 2, { 9, 1 } }, { 2, { 0, 3 } }, { 2, { 3, 0 } }, { 2, { 1, 1 } }, { 2, { 17, 18 } },
    { 3, { 5, 4, 3 } }, { 3, { 4, 1, 2 } }, { 4, { 2, 7, 3, 2 } }, { 3, { 3, 2, 0 } },
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* ---- there and back ---- */
static void round_trips(void)
{
    for (int d = 0; d < DTYPES; d++)
        for (int s = 0; s < SHAPES; s++) {
            Tensor *t = filled(dtypes[d], shapes[s].rank, shapes[s].n);
            uint64_t id = put(t);
            Tensor *back = fetch(id);
            CHECK(same_bits(t, back));
            tensor_release(ctx, back);
            if (t->rank == 2) {                  /* from a host whose elements lie the other way */
                Tensor *turned = tensor_transpose_last(ctx, t), *dense = tensor_copy(ctx, turned);
                uint64_t other = put(turned);
                back = fetch(other);
                CHECK(same_bits(dense, back));
                drop(other);
                tensor_release(ctx, turned);
                tensor_release(ctx, dense);
                tensor_release(ctx, back);
            }
            drop(id);
            tensor_release(ctx, t);
        }
}

static void some_elements(void)
{
    Tensor *t = filled(DT_F32, 2, (int64_t[]){ 13, 5 });
    uint64_t id = put(t);
    int64_t index[] = { 0, 64, 7, 7, 31 }, place;
    Call c;
    begin(&c);
    wire_u64(&c.in, id);
    put_ints(&c, index, 5);
    run(&c, GRID_ELEMENTS);
    size_t read = 0;
    for (int i = 0; i < 5; i++)
        if (grid_home(&g->grid, 2, tensor_shape(t), index[i], &place) == g->rank) {
            CHECK(memcmp(c.out.data + read, t->data + index[i] * 4, 4) == 0);
            read += 4;
        }
    CHECK(c.out.len == read);
    end(&c);
    drop(id);
    tensor_release(ctx, t);
}

/* ---- making ---- */
static void made_of_numbers(void)
{
    for (int d = 0; d < DTYPES; d++) {
        Call c;
        begin(&c);
        wire_u64(&c.in, ++newest);
        put_ints(&c, (int64_t[]){ 13, 5 }, 2);
        put_scalar(&c, dtypes[d], 1);
        run(&c, GRID_FULL);
        Tensor *t = fetch(newest);
        bool right = true;
        for (int64_t i = 0; i < t->size; i++)
            right = right && at(t, i) == 1;
        CHECK(right && (DType)t->dtype == dtypes[d]);
        tensor_release(ctx, t);
        end(&c);
        drop(newest);
        for (int64_t k = -14; k < 8; k += 3) {
            begin(&c);
            wire_u64(&c.in, ++newest);
            wire_u64(&c.in, dtypes[d]);
            put_ints(&c, (int64_t[]){ 13, 7 }, 2);
            wire_i64(&c.in, k);
            run(&c, GRID_EYE);
            t = fetch(newest);
            right = true;
            for (int64_t i = 0; i < t->size; i++)
                right = right && at(t, i) == (i % 7 - i / 7 == k);
            CHECK(right);
            tensor_release(ctx, t);
            end(&c);
            drop(newest);
        }
    }
}

static void sequences(void)
{
    for (uint64_t kind = 0; kind < 3; kind++) {
        Call c;
        begin(&c);
        wire_u64(&c.in, ++newest);
        wire_u64(&c.in, DT_F32);
        wire_i64(&c.in, 29);
        wire_u64(&c.in, kind);
        if (kind) {
            wire_f64(&c.in, 0.1);
            wire_f64(&c.in, 0.3);
        } else {
            wire_i64(&c.in, 4);
            wire_i64(&c.in, -3);
        }
        wire_f64(&c.in, 77);
        run(&c, GRID_SEQUENCE);
        CHECK(wire_get_u64(&c.answer) == 0);
        Tensor *t = fetch(newest);
        bool right = true;
        for (int64_t i = 0; i < 29; i++)
            right = right && (float)at(t, i) == (kind == 0 ? (float)(4 - 3 * i)
                                               : kind == 2 && i == 28 ? 77.0f
                                               : (float)(0.1 + (double)i * 0.3));
        CHECK(right);
        tensor_release(ctx, t);
        end(&c);
        drop(newest);
    }
}

static void random_numbers(void)
{
    for (int s = 0; s < SHAPES; s++)
        for (uint64_t kind = 0; kind < 3; kind++)
            for (int f = 0; f < 2; f++) {
                DType dt = kind == 2 ? (f ? DT_I32 : DT_I64) : f ? DT_F32 : DT_F64;
                DType drawn = kind == 2 ? DT_I64 : dt;
                RngStream stream = { .key = 42, .counter = 1000 };
                Tensor *want = tensor_zeros(ctx, drawn, shapes[s].rank, shapes[s].n);
                if (kind == 2)
                    rng_integers(ctx, &stream, (int64_t *)want->data, -5, 11, want->size);
                else
                    (kind ? rng_normal : rng_uniform)(ctx, &stream, dt, want->data, want->size);
                Tensor *cast = tensor_cast(ctx, want, dt);
                Call c;
                begin(&c);
                wire_u64(&c.in, ++newest);
                wire_u64(&c.in, dt);
                put_ints(&c, shapes[s].n, shapes[s].rank);
                wire_u64(&c.in, kind);
                wire_u64(&c.in, 42);
                wire_u64(&c.in, 0);
                wire_u64(&c.in, 1000);
                wire_i64(&c.in, -5);
                wire_u64(&c.in, 11);
                run(&c, GRID_RANDOM);
                CHECK(wire_get_u64(&c.answer) == stream.counter);
                Tensor *got = fetch(newest);
                CHECK(same_bits(cast, got));
                end(&c);
                drop(newest);
                tensor_release(ctx, got);
                tensor_release(ctx, cast);
                tensor_release(ctx, want);
            }
}

/* ---- views ---- */
typedef struct View { Shape base, view; int64_t stride[4], offset; int list_axis; int64_t list[8]; }
    View;
static const View views[] = {
    { { 2, { 13, 5 } }, { 2, { 5, 13 } }, { 1, 5 }, 0, -1, { 0 } },              /* transposed */
    { { 2, { 17, 18 } }, { 2, { 18, 17 } }, { 1, 18 }, 0, -1, { 0 } },
    { { 2, { 13, 5 } }, { 2, { 13, 5 } }, { 5, 1 }, 0, -1, { 0 } },              /* itself */
    { { 2, { 13, 5 } }, { 2, { 4, 2 } }, { 15, -2 }, 9, -1, { 0 } },             /* steps */
    { { 2, { 13, 5 } }, { 2, { 13, 5 } }, { -5, -1 }, 64, -1, { 0 } },           /* reversed */
    { { 2, { 13, 5 } }, { 1, { 65 } }, { 1 }, 0, -1, { 0 } },                    /* flat */
    { { 1, { 60 } }, { 2, { 12, 5 } }, { 5, 1 }, 0, -1, { 0 } },                 /* folded */
    { { 2, { 12, 10 } }, { 3, { 4, 6, 5 } }, { 30, 5, 1 }, 0, -1, { 0 } },
    { { 3, { 5, 4, 3 } }, { 2, { 3, 20 } }, { 1, 3 }, 0, -1, { 0 } },
    { { 3, { 5, 4, 3 } }, { 3, { 3, 5, 4 } }, { 1, 12, 3 }, 0, -1, { 0 } },
    { { 3, { 5, 4, 3 } }, { 3, { 4, 5, 3 } }, { 3, 12, -1 }, 2, -1, { 0 } },
    { { 1, { 9 } }, { 2, { 7, 9 } }, { 0, 1 }, 0, -1, { 0 } },                   /* broadcast */
    { { 2, { 9, 1 } }, { 2, { 9, 11 } }, { 1, 0 }, 0, -1, { 0 } },
    { { 2, { 13, 5 } }, { 1, { 5 } }, { 6 }, 0, -1, { 0 } },                     /* a diagonal */
    { { 2, { 13, 5 } }, { 1, { 13 } }, { 5 }, 3, -1, { 0 } },                    /* a column */
    { { 2, { 13, 5 } }, { 2, { 1, 5 } }, { 5, 1 }, 35, -1, { 0 } },              /* a row */
    { { 2, { 13, 5 } }, { 2, { 0, 5 } }, { 5, 1 }, 0, -1, { 0 } },
    { { 2, { 13, 5 } }, { 2, { 6, 5 } }, { 5, 1 }, 0, 0, { 12, 3, 4, 5, 0, 7 } },
    { { 2, { 13, 5 } }, { 2, { 13, 4 } }, { 5, 1 }, 0, 1, { 4, 2, 3, 0 } },
    { { 4, { 2, 7, 3, 2 } }, { 3, { 2, 3, 7 } }, { 1, 2, 6 }, 42, -1, { 0 } },
};
enum { VIEWS = sizeof views / sizeof views[0] };

static void put_view(Call *c, const View *v)
{
    put_ints(c, v->view.n, v->view.rank);
    put_ints(c, v->stride, v->view.rank);
    wire_i64(&c->in, v->offset);
    wire_u64(&c->in, v->list_axis >= 0);
    if (v->list_axis >= 0) {
        wire_u64(&c->in, (uint64_t)v->list_axis);
        put_ints(c, v->list, (int)v->view.n[v->list_axis]);
    }
}

static int64_t view_at(const View *v, int64_t n)
{
    int64_t where = v->offset;
    for (int a = v->view.rank - 1; a >= 0; a--) {
        int64_t i = n % v->view.n[a];
        where += (a == v->list_axis ? v->list[i] : i) * v->stride[a];
        n /= v->view.n[a];
    }
    return where;
}

static void pack_one(const View *v, DType dt)
{
    size_t bytes = dtype_info(dt)->bytes;
    Tensor *base = filled(dt, v->base.rank, v->base.n);
    Tensor *want = tensor_zeros(ctx, dt, v->view.rank, v->view.n);
    for (int64_t i = 0; i < want->size; i++)
        memcpy(want->data + (size_t)i * bytes, base->data + (size_t)view_at(v, i) * bytes, bytes);
    uint64_t id = put(base);
    Call c;
    begin(&c);
    wire_u64(&c.in, ++newest);
    wire_u64(&c.in, id);
    put_view(&c, v);
    run(&c, GRID_PACK);
    Tensor *got = fetch(newest);
    CHECK(same_bits(want, got));
    end(&c);
    drop(newest);
    drop(id);
    tensor_release(ctx, got);
    tensor_release(ctx, want);
    tensor_release(ctx, base);
}

/* Assigned to a copy, so that nothing is written through the number that shares its elements. */
static void assign_one(const View *v, DType dt)
{
    size_t bytes = dtype_info(dt)->bytes;
    Tensor *base = filled(dt, v->base.rank, v->base.n);
    Tensor *from = filled(dt, v->view.rank, v->view.n), *want = tensor_copy(ctx, base);
    for (int64_t i = 0; i < from->size; i++)
        memcpy(want->data + (size_t)view_at(v, i) * bytes, from->data + (size_t)i * bytes, bytes);
    uint64_t id = put(base), source = put(from);
    Call c;
    begin(&c);
    wire_u64(&c.in, ++newest);
    wire_u64(&c.in, id);
    run(&c, GRID_COPY);
    end(&c);
    begin(&c);
    wire_u64(&c.in, newest);
    put_view(&c, v);
    wire_u64(&c.in, source);
    run(&c, GRID_ASSIGN);
    Tensor *got = fetch(newest), *old = fetch(id);
    CHECK(same_bits(want, got));
    CHECK(same_bits(base, old));
    end(&c);
    drop(newest);
    drop(id);
    drop(source);
    tensor_release(ctx, old);
    tensor_release(ctx, got);
    tensor_release(ctx, want);
    tensor_release(ctx, from);
    tensor_release(ctx, base);
}

static void redistribution(void)
{
    for (int v = 0; v < VIEWS; v++)
        for (int d = 0; d < DTYPES; d += 1 + (v > 4)) {
            bool repeats = false;
            for (int a = 0; a < views[v].view.rank; a++)
                repeats |= views[v].stride[a] == 0;
            pack_one(&views[v], dtypes[d]);
            if (!repeats)
                assign_one(&views[v], dtypes[d]);
        }
}

/* A view that reaches beyond raises on every rank, and a number that is not there too. */
static void refusals(void)
{
    Tensor *t = filled(DT_F64, 2, (int64_t[]){ 4, 4 });
    uint64_t id = put(t);
    View v = { { 2, { 4, 4 } }, { 2, { 4, 4 } }, { 4, 2 }, 0, -1, { 0 } };
    Call c;
    begin(&c);
    wire_u64(&c.in, newest + 1);
    wire_u64(&c.in, id);
    put_view(&c, &v);
    run(&c, GRID_PACK);
    CHECK(c.raised && g->count == 1);
    end(&c);
    begin(&c);
    wire_u64(&c.in, 99999);
    run(&c, GRID_GET);
    CHECK(c.raised);
    end(&c);
    drop(id);
    tensor_release(ctx, t);
}

/* ---- elementwise ---- */
typedef struct Operand { uint64_t id; DType dtype; double number; } Operand;

/* The answer's trouble. */
static uint64_t elementwise(EwOp op, DType compute, const Shape *s, int count, const Operand *o)
{
    Call c;
    begin(&c);
    wire_u64(&c.in, ++newest);
    put_ints(&c, s->n, s->rank);
    wire_u64(&c.in, op);
    wire_u64(&c.in, compute);
    wire_u64(&c.in, (uint64_t)count);
    for (int k = 0; k < count; k++) {
        wire_u64(&c.in, o[k].id == 0);
        if (o[k].id)
            wire_u64(&c.in, o[k].id);
        else
            put_scalar(&c, o[k].dtype, o[k].number);
    }
    run(&c, GRID_EW);
    uint64_t trouble = c.raised ? 99 : wire_get_u64(&c.answer);
    end(&c);
    return trouble;
}

static void elementwise_all(void)
{
    for (int d = 0; d < DTYPES; d++)
        for (int s = 0; s < SHAPES; s++) {
            DType compute = ew_compute_dtype(EW_ADD, dtypes[d]);
            Tensor *x = filled(dtypes[d], shapes[s].rank, shapes[s].n);
            Tensor *y = filled(dtypes[d], 1, &shapes[s].n[shapes[s].rank - 1]);
            uint64_t ix = put(x), iy = put(y);
            CHECK(elementwise(EW_ADD, compute, &shapes[s], 2,
                              (Operand[]){ { ix, 0, 0 }, { iy, 0, 0 } }) == 0);
            Tensor *sum = fetch(newest);
            CHECK(elementwise(EW_MULTIPLY, compute, &shapes[s], 2,
                              (Operand[]){ { newest, 0, 0 }, { 0, DT_I64, 2 } }) == 0);
            Tensor *twice = fetch(newest);
            bool right = true;
            for (int64_t i = 0; i < x->size; i++) {
                double _Complex want = at_z(x, i) + at_z(y, i % y->size);
                right = right && near(at_z(sum, i), want, (DType)sum->dtype, 2) &&
                        at_z(twice, i) == 2 * at_z(sum, i);
            }
            CHECK(right);
            drop(newest);
            drop(newest - 1);
            drop(ix);
            drop(iy);
            tensor_release(ctx, sum);
            tensor_release(ctx, twice);
            tensor_release(ctx, x);
            tensor_release(ctx, y);
        }
}

static void elementwise_others(void)
{
    Shape s = { 2, { 13, 5 } };
    Tensor *x = filled(DT_I64, 2, s.n), *cond = filled(DT_BOOL, 2, s.n);
    uint64_t ix = put(x), ic = put(cond);
    CHECK(elementwise(EW_WHERE, DT_F64, &s, 3,
                      (Operand[]){ { ic, 0, 0 }, { ix, 0, 0 }, { 0, DT_F64, 0.5 } }) == 0);
    Tensor *got = fetch(newest);
    bool right = got->dtype == DT_F64;
    for (int64_t i = 0; i < got->size; i++)
        right = right && at(got, i) == (at(cond, i) != 0 ? at(x, i) : 0.5);
    CHECK(right);
    drop(newest);
    tensor_release(ctx, got);
    CHECK(elementwise(EW_LESS, DT_I64, &s, 2, (Operand[]){ { ix, 0, 0 }, { 0, DT_I64, 3 } }) == 0);
    CHECK(grid_find(g, newest)->dtype == DT_BOOL);
    drop(newest);
    uint64_t trouble = elementwise(EW_FLOOR_DIVIDE, DT_I64, &s, 2,
                                   (Operand[]){ { ix, 0, 0 }, { 0, DT_I64, 0 } });
    CHECK(grid_find(g, ix)->slab.size == 0 || trouble == EWT_DIVZERO);
    drop(newest);
    drop(ix);
    drop(ic);
    tensor_release(ctx, x);
    tensor_release(ctx, cond);
}

static void casts(void)
{
    for (int from = 0; from < DTYPES; from++)
        for (int to = 0; to < DTYPES; to++) {
            Tensor *x = filled(dtypes[from], 2, (int64_t[]){ 9, 11 });
            Tensor *volatile want = NULL;
            ErrFrame f;
            if (ERR_TRY(ctx, &f)) {
                want = tensor_cast(ctx, x, dtypes[to]);
                ERR_END(ctx, &f);
            }
            uint64_t id = put(x);
            Call c;
            begin(&c);
            wire_u64(&c.in, ++newest);
            wire_u64(&c.in, id);
            wire_u64(&c.in, dtypes[to]);
            run(&c, GRID_CAST);
            double misfit = (double)wire_get_u64(&c.answer);
            misfit = grid_largest(g, SCOPE_ALL, misfit);
            if (!CHECK((misfit == 0) == (want != NULL)))
                fprintf(stderr, "%s to %s\n", dtype_name(dtypes[from]), dtype_name(dtypes[to]));
            if (want && misfit == 0) {
                Tensor *got = fetch(newest);
                CHECK(same_bits(got, want));
                tensor_release(ctx, got);
            }
            if (want)
                tensor_release(ctx, want);
            end(&c);
            drop(newest);
            drop(id);
            tensor_release(ctx, x);
        }
}

/* ---- reductions ---- */
static Tensor *reduced_here(RedOp op, Tensor *x, uint64_t axes, double ddof)
{
    int64_t shape[4];
    int rank = 0;
    for (int a = 0; a < x->rank; a++)
        if (!(axes >> a & 1))
            shape[rank++] = tensor_shape(x)[a];
    RedParams params = { NULL, ddof };
    Tensor *mean = NULL, *wide = NULL;
    if (op >= RED_VAR) {
        Tensor *m = reduced_here(RED_MEAN, x, axes, 0);
        wide = tensor_cast(ctx, m, DT_C128);
        mean = m;
        params.mean = wide;
    }
    Tensor *out = tensor_new(ctx, reduce_result_dtype(op, (DType)x->dtype), rank, shape);
    reduce_reference(ctx, op, x, axes, out, &params);
    if (mean) {
        tensor_release(ctx, mean);
        tensor_release(ctx, wide);
    }
    return out;
}

static void reduce_one(RedOp op, Tensor *x, uint64_t id, uint64_t axes, double ddof)
{
    Tensor *want = reduced_here(op, x, axes, ddof), *got;
    bool all = want->rank == 0;
    Call c;
    begin(&c);
    wire_u64(&c.in, all ? 0 : ++newest);
    wire_u64(&c.in, id);
    wire_u64(&c.in, op);
    wire_u64(&c.in, axes);
    wire_f64(&c.in, ddof);
    run(&c, GRID_REDUCE);
    if (!CHECK(!c.raised)) {
        end(&c);
        return;
    }
    CHECK(wire_get_u64(&c.answer) == 0);
    if (all) {
        DType dt = (DType)wire_get_u64(&c.answer);
        uint64_t word[2] = { wire_get_u64(&c.answer), wire_get_u64(&c.answer) };
        got = tensor_scalar(ctx, dt, word);
    } else {
        got = fetch(newest);
        drop(newest);
    }
    bool right = got->dtype == want->dtype && got->rank == want->rank && got->size == want->size;
    for (int64_t i = 0; right && i < got->size; i++) {
        double _Complex a = at_z(got, i), b = at_z(want, i);
        right = (isnan(creal(a)) && isnan(creal(b))) || a == b ||
                near(a, b, (DType)want->dtype, 40);
    }
    if (!CHECK(right))
        fprintf(stderr, "reduction %d of %s, axes %d: %g for %g\n", op,
                dtype_name((DType)x->dtype), (int)axes, at(got, 0), at(want, 0));
    end(&c);
    tensor_release(ctx, got);
    tensor_release(ctx, want);
}

static void reductions(void)
{
    for (int d = 0; d < DTYPES; d++)
        for (int s = 0; s < SHAPES; s++) {
            Tensor *x = filled(dtypes[d], shapes[s].rank, shapes[s].n);
            if (dtypes[d] == DT_F64 && x->size > 3)
                ((double *)x->data)[x->size / 2] = NAN;
            uint64_t id = put(x);
            for (uint64_t axes = 1; axes < UINT64_C(1) << x->rank; axes++)
                for (int op = 0; op < RED_OPS; op++) {
                    bool extreme = op == RED_MIN || op == RED_MAX;
                    if (op == RED_ARGMIN || op == RED_ARGMAX || (extreme && !x->size) ||
                        reduce_result_dtype((RedOp)op, dtypes[d]) == DT_NONE ||
                        (axes > 3 && (op + d) % 3))
                        continue;
                    reduce_one((RedOp)op, x, id, axes, op >= RED_VAR && d % 2);
                }
            drop(id);
            tensor_release(ctx, x);
        }
}

static void extremes(void)
{
    for (int s = 0; s < SHAPES; s++)
        for (int d = 0; d < 3; d++) {
            static const DType kinds[] = { DT_I8, DT_F64, DT_F32 };
            Tensor *x = filled(kinds[d], shapes[s].rank, shapes[s].n);
            if (!x->size) {
                tensor_release(ctx, x);
                continue;
            }
            for (int64_t i = 3; d == 1 && i < x->size; i += 11)
                ((double *)x->data)[i] = NAN;
            uint64_t id = put(x);
            for (int op = RED_ARGMIN; op <= RED_ARGMAX; op++) {
                Tensor *want = reduced_here((RedOp)op, x, (UINT64_C(1) << x->rank) - 1, 0);
                Call c;
                begin(&c);
                wire_u64(&c.in, id);
                wire_u64(&c.in, (uint64_t)op);
                run(&c, GRID_ARG);
                CHECK((double)wire_get_u64(&c.answer) == at(want, 0));
                end(&c);
                tensor_release(ctx, want);
            }
            drop(id);
            tensor_release(ctx, x);
        }
}

static double norm_of(uint64_t id, GridNorm kind)
{
    Call c;
    begin(&c);
    wire_u64(&c.in, id);
    wire_u64(&c.in, kind);
    run(&c, GRID_NORM);
    double norm = c.raised ? NAN : wire_get_f64(&c.answer);
    end(&c);
    return norm;
}

static void norms(void)
{
    for (int d = 0; d < 4; d++)
        for (int s = 0; s < 11; s++) {
            Tensor *x = filled(blas[d], shapes[s].rank, shapes[s].n);
            uint64_t id = put(x);
            int64_t cols = x->rank > 1 ? tensor_shape(x)[1] : 1;
            double squares = 0, one = 0, inf = 0, most = 0;
            double column[32] = { 0 }, row[32] = { 0 };
            for (int64_t i = 0; i < x->size; i++) {
                double v = cabs(at_z(x, i));
                squares += v * v;
                most = fmax(most, v);
                column[i % cols] += v;
                row[i / cols] += v;
            }
            for (int i = 0; i < 32; i++) {
                one = fmax(one, column[i]);
                inf = fmax(inf, row[i]);
            }
            CHECK(near(norm_of(id, GRID_NORM_FRO), sqrt(squares), DT_F32, 8));
            CHECK(near(norm_of(id, GRID_NORM_ONE), one, DT_F32, 8));
            CHECK(near(norm_of(id, GRID_NORM_INF), inf, DT_F32, 8));
            CHECK(near(norm_of(id, GRID_NORM_MAX), most, DT_F32, 2));
            drop(id);
            tensor_release(ctx, x);
        }
    Tensor *big = filled(DT_F64, 1, (int64_t[]){ 9 });
    for (int i = 0; i < 9; i++)
        ((double *)big->data)[i] = 1e300;
    uint64_t id = put(big);
    CHECK(near(norm_of(id, GRID_NORM_FRO) / 1e300, 3, DT_F64, 8));
    drop(id);
    tensor_release(ctx, big);
}

/* ---- linear algebra ---- */
typedef struct Matrix { int64_t m, n; double _Complex *at; } Matrix;     /* by rows */

static Matrix matrix(int64_t m, int64_t n)
{
    return (Matrix){ m, n, mem_zalloc(ctx, (size_t)(m * n + 1) * sizeof(double _Complex)) };
}

static void matrix_free(Matrix a)
{
    mem_free(ctx, a.at, (size_t)(a.m * a.n + 1) * sizeof(double _Complex));
}

static Matrix matrix_of(const Tensor *t)
{
    Matrix a = matrix(tensor_shape(t)[0], t->rank > 1 ? tensor_shape(t)[1] : 1);
    for (int64_t i = 0; i < t->size; i++)
        a.at[i] = at_z(t, i);
    return a;
}

static Matrix fetched(uint64_t id)
{
    Tensor *t = fetch(id);
    Matrix a = matrix_of(t);
    tensor_release(ctx, t);
    drop(id);
    return a;
}

/* op(a) op(b): 0 as it is, 1 transposed, 2 conjugated too. */
static double _Complex element(Matrix a, uint64_t how, int64_t i, int64_t j)
{
    double _Complex x = how ? a.at[j * a.n + i] : a.at[i * a.n + j];
    return how == 2 ? conj(x) : x;
}

static Matrix product(Matrix a, uint64_t ta, Matrix b, uint64_t tb)
{
    int64_t m = ta ? a.n : a.m, k = ta ? a.m : a.n, n = tb ? b.m : b.n;
    Matrix c = matrix(m, n);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t l = 0; l < k; l++)
                c.at[i * n + j] += element(a, ta, i, l) * element(b, tb, l, j);
    return c;
}

/* The largest difference over eps, n and the largest element. */
static double apart(Matrix a, Matrix b, DType dt)
{
    double most = 1e-300, gap = a.m == b.m && a.n == b.n ? 0 : 1e300;
    for (int64_t i = 0; i < a.m * a.n && gap < 1e300; i++) {
        most = fmax(most, cabs(b.at[i]));
        gap = isnan(cabs(a.at[i])) ? 1e300 : fmax(gap, cabs(a.at[i] - b.at[i]));
    }
    return gap / most / eps_of(dt) / (double)(a.m + a.n + 1);
}

static bool same_matrix(Matrix a, Matrix b, DType dt)
{
    double gap = apart(a, b, dt);
    if (gap > 20)
        fprintf(stderr, "%lld by %lld %s: off by %g\n", (long long)b.m, (long long)b.n,
                dtype_name(dt), gap);
    return gap <= 20;
}

static bool unitary(Matrix q, DType dt)
{
    Matrix one = product(q, 2, q, 0), eye = matrix(q.n, q.n);
    for (int64_t i = 0; i < q.n; i++)
        eye.at[i * (q.n + 1)] = 1;
    bool right = same_matrix(one, eye, dt);
    matrix_free(one);
    matrix_free(eye);
    return right;
}

typedef struct Size { int64_t m, n, k; } Size;
static const Size sizes[] = { { 13, 5, 3 }, { 5, 13, 7 }, { 9, 9, 1 }, { 1, 1, 1 }, { 2, 17, 18 },
                              { 20, 20, 20 }, { 0, 4, 2 }, { 4, 0, 2 }, { 3, 4, 0 } };
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* A command of ids and numbers alone. */
static void say(Call *c, GridOp op, int n, const uint64_t *words)
{
    begin(c);
    for (int i = 0; i < n; i++)
        wire_u64(&c->in, words[i]);
    run(c, op);
}

static void product_one(DType dt, Size s, uint64_t ta, uint64_t tb)
{
    Tensor *a = filled(dt, 2, ta ? (int64_t[]){ s.k, s.m } : (int64_t[]){ s.m, s.k });
    Tensor *b = filled(dt, 2, tb ? (int64_t[]){ s.n, s.k } : (int64_t[]){ s.k, s.n });
    uint64_t ia = put(a), ib = put(b);
    Matrix ma = matrix_of(a), mb = matrix_of(b), want = product(ma, ta, mb, tb);
    Call c;
    say(&c, GRID_GEMM, 5, (uint64_t[]){ ++newest, ia, ib, ta, tb });
    Matrix got = fetched(newest);
    CHECK(same_matrix(got, want, dt));
    end(&c);
    drop(ia);
    drop(ib);
    matrix_free(ma), matrix_free(mb), matrix_free(want), matrix_free(got);
    tensor_release(ctx, a);
    tensor_release(ctx, b);
}

static void vector_products(DType dt, Size s)
{
    Tensor *a = filled(dt, 2, (int64_t[]){ s.m, s.n });
    Tensor *x = filled(dt, 1, (int64_t[]){ s.n }), *y = filled(dt, 1, (int64_t[]){ s.m });
    uint64_t ia = put(a), ix = put(x), iy = put(y);
    Matrix ma = matrix_of(a), mx = matrix_of(x), my = matrix_of(y);
    Matrix right = product(ma, 0, mx, 0), left = product(ma, 1, my, 0);
    Call c;
    say(&c, GRID_GEMM, 5, (uint64_t[]){ ++newest, ia, ix, 0, 0 });
    CHECK(grid_find(g, newest)->axes == 1);
    Matrix got = fetched(newest);
    CHECK(same_matrix(got, right, dt));
    end(&c);
    matrix_free(got);
    say(&c, GRID_GEMM, 5, (uint64_t[]){ ++newest, iy, ia, 0, 0 });
    CHECK(grid_find(g, newest)->axes == 1);
    got = fetched(newest);
    CHECK(same_matrix(got, left, dt));
    end(&c);
    matrix_free(got);
    say(&c, GRID_DOT, 3, (uint64_t[]){ ix, ix, 1 });
    CHECK(wire_get_u64(&c.answer) == dt);
    Matrix xx = product(mx, 2, mx, 0);
    uint64_t word[2] = { wire_get_u64(&c.answer), wire_get_u64(&c.answer) };
    CHECK(near(element_c128(dt, word), xx.at[0], dt, 40));
    end(&c);
    drop(ia), drop(ix), drop(iy);
    matrix_free(ma), matrix_free(mx), matrix_free(my), matrix_free(xx);
    matrix_free(right), matrix_free(left);
    tensor_release(ctx, a), tensor_release(ctx, x), tensor_release(ctx, y);
}

/* What `\` tells apart: 0 general, 1 lower, 2 upper, 3 diagonal, 4 definite, 5 Hermitian. */
enum { KINDS = 6 };
static Tensor *square_of(DType dt, int64_t n, int kind)
{
    Tensor *t = filled(dt, 2, (int64_t[]){ n, n });
    size_t bytes = dtype_info(dt)->bytes;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double _Complex x = at_z(t, i * n + j), y = conj(at_z(t, j * n + i));
            x = kind >= 4 && i > j ? y : x;
            if ((kind == 1 && j > i) || (kind == 2 && j < i) || (kind == 3 && i != j))
                x = 0;
            if (i == j)
                x = (kind == 5 ? creal(x) : kind == 4 ? (double)n : x + 3);
            cast_run(dt, t->data + (size_t)(i * n + j) * bytes, 1,
                     dtype_info(dt)->kind == 'c' ? DT_C128 : DT_F64, &x, 1, 1);
        }
    return t;
}

static void solve_one(DType dt, int64_t n, int kind, int64_t cols)
{
    static const GridSolved ways[KINDS] = { SOLVED_LU, SOLVED_LOWER, SOLVED_UPPER, SOLVED_DIAGONAL,
                                            SOLVED_CHOLESKY, SOLVED_LU };
    Tensor *a = square_of(dt, n, kind);
    Tensor *b = filled(dt, cols < 0 ? 1 : 2, (int64_t[]){ n, cols });
    uint64_t ia = put(a), ib = put(b);
    Call c;
    say(&c, GRID_SOLVE, 3, (uint64_t[]){ ++newest, ia, ib });
    uint64_t how = wire_get_u64(&c.answer), info = wire_get_u64(&c.answer);
    double rcond = wire_get_f64(&c.answer);
    if (n > 1 && cols)
        CHECK(how == ways[kind]);
    CHECK(info == 0 && (cols == 0 || (rcond > 0 && rcond <= 1.01)));
    Matrix x = fetched(newest), ma = matrix_of(a), mb = matrix_of(b);
    Matrix back = product(ma, 0, x, 0);
    CHECK(apart(back, mb, dt) <= 2000 || rcond < 1e-4);
    end(&c);
    drop(ia), drop(ib);
    matrix_free(x), matrix_free(ma), matrix_free(mb), matrix_free(back);
    tensor_release(ctx, a), tensor_release(ctx, b);
}

static void inverse_one(DType dt, int64_t n)
{
    Tensor *a = square_of(dt, n, 0);
    uint64_t ia = put(a);
    Call c;
    say(&c, GRID_INV, 2, (uint64_t[]){ ++newest, ia });
    CHECK(wire_get_u64(&c.answer) == 0);
    Matrix x = fetched(newest), ma = matrix_of(a), one = product(ma, 0, x, 0), eye = matrix(n, n);
    for (int64_t i = 0; i < n; i++)
        eye.at[i * (n + 1)] = 1;
    CHECK(apart(one, eye, dt) <= 2000);
    end(&c);
    drop(ia);
    matrix_free(x), matrix_free(ma), matrix_free(one), matrix_free(eye);
    tensor_release(ctx, a);
}

/* By elimination here. */
static double _Complex determinant(Matrix a)
{
    double _Complex det = 1;
    for (int64_t k = 0; k < a.n; k++) {
        int64_t p = k;
        for (int64_t i = k; i < a.n; i++)
            p = cabs(a.at[i * a.n + k]) > cabs(a.at[p * a.n + k]) ? i : p;
        for (int64_t j = 0; j < a.n && p != k; j++) {
            double _Complex t = a.at[p * a.n + j];
            a.at[p * a.n + j] = a.at[k * a.n + j];
            a.at[k * a.n + j] = t;
        }
        det *= p == k ? a.at[k * a.n + k] : -a.at[k * a.n + k];
        for (int64_t i = k + 1; i < a.n && a.at[k * a.n + k] != 0; i++) {
            double _Complex by = a.at[i * a.n + k] / a.at[k * a.n + k];
            for (int64_t j = k; j < a.n; j++)
                a.at[i * a.n + j] -= by * a.at[k * a.n + j];
        }
    }
    return det;
}

static void determinant_one(DType dt, int64_t n)
{
    Tensor *a = square_of(dt, n, 0);
    uint64_t ia = put(a);
    Call c;
    say(&c, GRID_DET, 1, &ia);
    CHECK(wire_get_u64(&c.answer) == dt);
    uint64_t word[4] = { wire_get_u64(&c.answer), wire_get_u64(&c.answer) };
    double log_size = wire_get_f64(&c.answer);
    word[2] = wire_get_u64(&c.answer), word[3] = wire_get_u64(&c.answer);
    Matrix ma = matrix_of(a);
    double _Complex want = determinant(ma), sign = element_c128(dt, word);
    CHECK(near(element_c128(dt, word + 2), want, dt, 4000));
    CHECK(near(log_size, log(cabs(want)), dt, 4000));
    CHECK(near(sign, want / cabs(want), dt, 4000));
    end(&c);
    drop(ia);
    matrix_free(ma);
    tensor_release(ctx, a);
}

static void singular_ones(void)
{
    Tensor *zero = tensor_zeros(ctx, DT_F64, 2, (int64_t[]){ 6, 6 });
    for (int i = 0; i < 36; i++)
        ((double *)zero->data)[i] = i % 6 + 1;
    uint64_t ia = put(zero);
    Call c;
    say(&c, GRID_SOLVE, 3, (uint64_t[]){ ++newest, ia, ia });
    wire_get_u64(&c.answer);
    CHECK(wire_get_u64(&c.answer) > 0);
    end(&c);
    drop(newest);
    say(&c, GRID_INV, 2, (uint64_t[]){ ++newest, ia });
    CHECK(wire_get_u64(&c.answer) > 0);
    end(&c);
    drop(newest);
    say(&c, GRID_CHOL, 2, (uint64_t[]){ ++newest, ia });
    wire_get_u64(&c.answer);
    CHECK(wire_get_u64(&c.answer) == 0);
    end(&c);
    drop(newest);
    say(&c, GRID_LSTSQ, 3, (uint64_t[]){ ++newest, ia, ia });
    CHECK(wire_get_u64(&c.answer) > 0);
    end(&c);
    drop(newest);
    say(&c, GRID_DET, 1, &ia);
    wire_get_u64(&c.answer), wire_get_u64(&c.answer), wire_get_u64(&c.answer);
    CHECK(wire_get_f64(&c.answer) == -INFINITY);
    end(&c);
    drop(ia);
    tensor_release(ctx, zero);
}

/* ---- factorisations ---- */
static void lu_one(DType dt, Size s)
{
    Tensor *a = filled(dt, 2, (int64_t[]){ s.m, s.n });
    uint64_t ia = put(a);
    Call c;
    newest += 3;
    say(&c, GRID_LU, 4, (uint64_t[]){ newest - 2, newest - 1, newest, ia });
    CHECK(wire_get_u64(&c.answer) == 0);
    Matrix p = fetched(newest - 2), l = fetched(newest - 1), u = fetched(newest);
    Matrix ma = matrix_of(a), turned = matrix(s.m, s.n), lu = product(l, 0, u, 0);
    for (int64_t i = 0; i < s.m; i++)
        for (int64_t j = 0; j < s.n; j++)
            turned.at[i * s.n + j] = ma.at[(int64_t)creal(p.at[i]) * s.n + j];
    CHECK(same_matrix(lu, turned, dt));
    bool right = true;
    for (int64_t i = 0; i < l.m; i++)
        for (int64_t j = 0; j < l.n; j++)
            right = right && (j < i ? cabs(l.at[i * l.n + j]) <= 1.5
                                    : l.at[i * l.n + j] == (i == j));
    for (int64_t i = 0; i < u.m; i++)
        for (int64_t j = 0; j < i && j < u.n; j++)
            right = right && u.at[i * u.n + j] == 0;
    CHECK(right);
    end(&c);
    drop(ia);
    matrix_free(p), matrix_free(l), matrix_free(u), matrix_free(ma), matrix_free(turned);
    matrix_free(lu);
    tensor_release(ctx, a);
}

static void cholesky_one(DType dt, int64_t n)
{
    Tensor *a = square_of(dt, n, 4);
    uint64_t ia = put(a);
    Call c;
    say(&c, GRID_CHOL, 2, (uint64_t[]){ ++newest, ia });
    CHECK(wire_get_u64(&c.answer) == 0 && wire_get_u64(&c.answer) == 1);
    Matrix l = fetched(newest), ma = matrix_of(a), back = product(l, 0, l, 2);
    CHECK(same_matrix(back, ma, dt));
    for (int64_t i = 0; i + 1 < n; i++)
        CHECK(l.at[i * n + n - 1] == 0);
    end(&c);
    drop(ia);
    matrix_free(l), matrix_free(ma), matrix_free(back);
    tensor_release(ctx, a);
}

static void qr_one(DType dt, Size s, uint64_t full)
{
    Tensor *a = filled(dt, 2, (int64_t[]){ s.m, s.n });
    uint64_t ia = put(a);
    Call c;
    newest += 2;
    say(&c, GRID_QR, 4, (uint64_t[]){ newest - 1, newest, ia, full });
    Matrix q = fetched(newest - 1), r = fetched(newest), ma = matrix_of(a);
    Matrix back = product(q, 0, r, 0);
    CHECK(q.n == (full || s.m < s.n ? s.m : s.n));
    CHECK(same_matrix(back, ma, dt));
    CHECK(unitary(q, dt));
    end(&c);
    drop(ia);
    matrix_free(q), matrix_free(r), matrix_free(ma), matrix_free(back);
    tensor_release(ctx, a);
}

/* The residual is orthogonal to what A reaches, or x to what A kills. */
static void least_squares_one(DType dt, Size s)
{
    Tensor *a = filled(dt, 2, (int64_t[]){ s.m, s.n });
    Tensor *b = s.k == 1 ? filled(dt, 1, (int64_t[]){ s.m })
                         : filled(dt, 2, (int64_t[]){ s.m, s.k });
    uint64_t ia = put(a), ib = put(b);
    Call c;
    say(&c, GRID_LSTSQ, 3, (uint64_t[]){ ++newest, ia, ib });
    CHECK(wire_get_u64(&c.answer) == 0);
    CHECK(grid_find(g, newest)->axes == b->rank);
    Matrix x = fetched(newest), ma = matrix_of(a), mb = matrix_of(b), ax = product(ma, 0, x, 0);
    Matrix normal = product(ma, 2, ax, 0), want = product(ma, 2, mb, 0);
    CHECK(s.n > s.m ? apart(ax, mb, dt) <= 4000 : apart(normal, want, dt) <= 4000);
    end(&c);
    drop(ia), drop(ib);
    matrix_free(x), matrix_free(ma), matrix_free(mb), matrix_free(ax), matrix_free(normal);
    matrix_free(want);
    tensor_release(ctx, a), tensor_release(ctx, b);
}

/* a v = v w, v unitary, w rising. */
static void eigen_one(DType dt, int64_t n)
{
    Tensor *a = square_of(dt, n, 5);
    uint64_t ia = put(a);
    Call c;
    newest += 2;
    say(&c, GRID_EIGH, 3, (uint64_t[]){ newest - 1, newest, ia });
    CHECK(wire_get_u64(&c.answer) == 0);
    if (c.raised)
        fprintf(stderr, "eigh of %lld raised\n", (long long)n);
    CHECK(grid_find(g, newest - 1)->dtype == dtype_real(dt));
    Matrix w = fetched(newest - 1), v = fetched(newest), ma = matrix_of(a);
    Matrix av = product(ma, 0, v, 0), vw = matrix(n, n);
    for (int64_t i = 0; i < n * n; i++)
        vw.at[i] = v.at[i] * w.at[i % n];
    CHECK(same_matrix(av, vw, dt));
    CHECK(unitary(v, dt));
    for (int64_t i = 1; i < n; i++)
        CHECK(creal(w.at[i - 1]) <= creal(w.at[i]));
    end(&c);
    drop(ia);
    matrix_free(w), matrix_free(v), matrix_free(ma), matrix_free(av), matrix_free(vw);
    tensor_release(ctx, a);
}

static void singular_values_one(DType dt, Size s, bool vectors)
{
    Tensor *a = filled(dt, 2, (int64_t[]){ s.m, s.n });
    uint64_t ia = put(a);
    Call c;
    newest += 3;
    say(&c, GRID_SVD, 4, (uint64_t[]){ newest - 2, vectors ? newest - 1 : 0, vectors ? newest : 0,
                                       ia });
    CHECK(wire_get_u64(&c.answer) == 0);
    Matrix values = fetched(newest - 2), ma = matrix_of(a);
    double squares = 0, norm = 0;
    for (int64_t i = 0; i < values.m; i++)
        squares += creal(values.at[i]) * creal(values.at[i]);
    for (int64_t i = 0; i < s.m * s.n; i++)
        norm += creal(ma.at[i] * conj(ma.at[i]));
    CHECK(near(sqrt(squares), sqrt(norm), dt, 200));
    if (vectors) {
        Matrix u = fetched(newest - 1), vt = fetched(newest);
        CHECK(unitary(u, dt));
        for (int64_t i = 0; i < u.m * u.n; i++)
            u.at[i] *= values.at[i % u.n];
        Matrix back = product(u, 0, vt, 0);
        CHECK(same_matrix(back, ma, dt));
        matrix_free(u), matrix_free(vt), matrix_free(back);
    }
    end(&c);
    drop(ia);
    matrix_free(values), matrix_free(ma);
    tensor_release(ctx, a);
}

static void algebra(void)
{
    for (int d = 0; d < 4; d++) {
        DType dt = blas[d];
        for (int s = 0; s < SIZES; s++) {
            for (uint64_t how = 0; how < 9; how++)
                if (s < 3 || how % 4 == 0)
                    product_one(dt, sizes[s], how / 3, how % 3);
            vector_products(dt, sizes[s]);
            lu_one(dt, sizes[s]);
            qr_one(dt, sizes[s], s % 2);
            if (sizes[s].m && sizes[s].n && sizes[s].k)
                least_squares_one(dt, sizes[s]);
            singular_values_one(dt, sizes[s], true);
            singular_values_one(dt, sizes[s], false);
        }
        static const int64_t orders[] = { 0, 1, 2, 5, 16, 21 };
        for (int i = 0; i < 6; i++) {
            for (int kind = 0; kind < KINDS; kind++)
                solve_one(dt, orders[i], kind, kind % 3 == 0 ? -1 : kind % 3 == 1 ? 4 : i);
            inverse_one(dt, orders[i]);
            determinant_one(dt, orders[i]);
            cholesky_one(dt, orders[i]);
            eigen_one(dt, orders[i]);
        }
    }
    singular_ones();
}

/* ---- grids ---- */
static const struct { int p, q, nb; } grids[] = {
    { 1, 1, 4 }, { 1, 2, 3 }, { 2, 2, 4 }, { 3, 2, 2 }, { 4, 4, 3 },
};

static int rank_main(char **arg)
{
    GridShape shape = { atoi(arg[0]), atoi(arg[1]), atoi(arg[2]) };
    static Ctx own;
    ctx = &own;
    mem_init(ctx);
    g = grid_open(ctx, shape);
    round_trips();
    some_elements();
    made_of_numbers();
    sequences();
    random_numbers();
    redistribution();
    refusals();
    elementwise_all();
    elementwise_others();
    casts();
    reductions();
    extremes();
    norms();
    algebra();
    int counts[2] = { check_passed, check_failed };
    CHECK(g->count == 0);
    grid_sum_ints(g, SCOPE_ALL, 2, counts);
    if (g->rank == 0)
        printf("counts %d %d\n", counts[0], counts[1]);
    fflush(stdout);
    grid_close(g);
    return 0;
}

static bool is_program(const char *name)
{
    char command[256];
    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", name);
    return system(command) == 0;
}

static void run_grid(const char *self, int k)
{
    char command[1024], line[256];
    int passed = 0, failed = 0, status;
    bool counted = false;
    snprintf(command, sizeof command,
             "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OPENBLAS_NUM_THREADS=1 "
             "OMPI_MCA_mpi_yield_when_idle=1 RICCI_THREADS=1 timeout -k 5 120 mpirun --oversubscribe "
             "-n %d '%s' rank %d %d %d 2>&1 </dev/null", grids[k].p * grids[k].q, self, grids[k].p,
             grids[k].q, grids[k].nb);
    FILE *f = popen(command, "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "counts %d %d", &passed, &failed) == 2)
            counted = true;
        else
            fputs(line, stdout);
    status = f ? pclose(f) : -1;
    check_passed += passed;
    check_failed += failed + !(counted && status == 0);
    if (!counted || status)
        printf("FAIL %d by %d: exit %d\n", grids[k].p, grids[k].q, status);
}

int main(int count, char **arg)
{
    if (count == 5 && strcmp(arg[1], "rank") == 0)
        return rank_main(arg + 2);
    if (!is_program("mpirun") || !grid_library(NULL))
        printf("not run: grids of processes: there is no mpirun, or no ScaLAPACK\n");
    else
        for (int k = 0; k < (int)(sizeof grids / sizeof grids[0]); k++)
            run_grid(arg[0], k);
    return check_result();
}
