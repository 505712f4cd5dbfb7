/* The commands of a rank but linear algebra. */
#include "grid.h"
#include "kernels/elementwise/ew.h"
#include "kernels/random/rng.h"
#include "kernels/reduce/reduce.h"

#include <stdlib.h>
#include <unistd.h>

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
    for (int d = few > 0; d < DTYPES; d += 1 + few)
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
    for (int s = 0; s < SHAPES; s += 1 + few)
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
    for (int v = 0; v < VIEWS; v += 1 + (few > 1))
        for (int d = few ? 5 : 0; d < DTYPES; d += 1 + (v > 4) + few) {
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
    for (int d = few > 0; d < DTYPES; d += 1 + few)
        for (int s = few; s < SHAPES; s += 1 + few) {
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
    for (volatile int from = few ? 4 : 0; from < DTYPES; from += 1 + few)
        for (volatile int to = 0; to < DTYPES; to++) {
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
    /* a rank's part may leave i64 where another one has a 0 */
    if (wire_get_u64(&c.answer)) {
        CHECK(op == RED_PROD);
        end(&c);
        tensor_release(ctx, want);
        if (!all)
            drop(newest);
        return;
    }
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
    for (int d = few > 0; d < DTYPES; d += 1 + few)
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
                        ((axes > 3 || few) && (op + d + s) % (3 + 2 * few)))
                        continue;
                    reduce_one((RedOp)op, x, id, axes, op >= RED_VAR && d % 2);
                }
            drop(id);
            tensor_release(ctx, x);
        }
}

static void extremes(void)
{
    for (int s = 0; s < SHAPES; s += 1 + few)
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
        for (int s = 0; s < 11; s += 1 + few) {
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

/* ---- files ---- */
static uint64_t file_errno(Call *c)
{
    uint64_t error = c->raised ? 999 : wire_get_u64(&c->answer);
    end(c);
    return error;
}

static void barrier(void) { grid_all(g, true); }

/* Elements behind a header of 20 bytes, as the cpu would write them. */
static void file_one(const Shape *s, DType dt, bool fortran, const char *path)
{
    Tensor *t = filled(dt, s->rank, s->n), *turned = tensor_transpose_last(ctx, t);
    Tensor *written = tensor_copy(ctx, fortran ? turned : t);
    size_t bytes = (size_t)t->size * dtype_info(dt)->bytes, read = 0;
    uint64_t id = put(t), back = ++newest;
    if (g->rank == 0)
        CHECK(truncate(path, 0) == 0 && truncate(path, 20 + (long)bytes) == 0);
    barrier();
    Call c;
    begin(&c);
    wire_text(&c.in, path);
    wire_u64(&c.in, id);
    wire_u64(&c.in, 20);
    wire_u64(&c.in, fortran);
    run(&c, GRID_SAVE);
    CHECK(file_errno(&c) == 0);
    barrier();
    if (g->rank == 0) {
        char *have = mem_alloc(ctx, bytes + 21);
        FILE *f = fopen(path, "rb");
        read = f ? fread(have, 1, bytes + 21, f) : 0;
        CHECK(read == bytes + 20 && memcmp(have + 20, written->data, bytes) == 0);
        if (f)
            fclose(f);
        mem_free(ctx, have, bytes + 21);
    }
    begin(&c);
    wire_u64(&c.in, back);
    wire_u64(&c.in, dt);
    put_ints(&c, s->n, s->rank);
    wire_text(&c.in, path);
    wire_u64(&c.in, 20);
    wire_u64(&c.in, fortran);
    wire_u64(&c.in, 0);
    run(&c, GRID_LOAD);
    CHECK(file_errno(&c) == 0);
    Tensor *got = fetch(back);
    CHECK(same_bits(got, t));
    drop(id), drop(back);
    tensor_release(ctx, got), tensor_release(ctx, written);
    tensor_release(ctx, turned), tensor_release(ctx, t);
    barrier();
}

static void files(void)
{
    char path[512] = { 0 };
    if (g->rank == 0) {
        const char *folder = getenv("TMPDIR");
        snprintf(path, sizeof path, "%s/ricci-grid.XXXXXX", folder ? folder : "/tmp");
        int fd = mkstemp(path);
        CHECK(fd >= 0);
        close(fd);
    }
    grid_share(g, SCOPE_ALL, 0, path, sizeof path);
    for (int s = 0; s < SHAPES; s += 1 + few)
        for (int fortran = 0; fortran <= (shapes[s].rank == 2); fortran++)
            file_one(&shapes[s], s % 2 ? DT_C128 : s % 3 ? DT_I8 : DT_F64, fortran != 0, path);
    if (g->rank == 0)
        unlink(path);
    barrier();
    Call c;
    begin(&c);
    wire_u64(&c.in, ++newest);
    wire_u64(&c.in, DT_F64);
    put_ints(&c, (int64_t[]){ 40 }, 1);
    wire_text(&c.in, path);
    wire_u64(&c.in, 20);
    wire_u64(&c.in, 0);
    wire_u64(&c.in, 0);
    run(&c, GRID_LOAD);
    CHECK((file_errno(&c) != 0) == (grid_slab(&g->grid, g->rank, 1, (int64_t[]){ 40 }).size > 0));
    drop(newest);
}

/* ---- memory that one rank has not ---- */
static void no_memory(void)
{
    Tensor *a = filled(DT_F64, 2, (int64_t[]){ 60, 60 });
    double *x = (double *)a->data;
    for (int i = 0; i < 60; i++)         /* symmetric: GRID_FACTS makes a transpose to be sure */
        for (int j = 0; j < i; j++)
            x[60 * i + j] = x[60 * j + i];
    uint64_t ia = put(a);
    static const GridOp ops[] = { GRID_GEMM, GRID_SOLVE, GRID_INV, GRID_DET, GRID_CHOL,
                                  GRID_FACTS };
    for (size_t k = 0; k < sizeof ops / sizeof ops[0]; k++)
        for (int tight = 0; tight < 2; tight++) {
            GridOp op = ops[k];
            if (tight && g->rank == g->ranks - 1)
                ctx->mem.limit = ctx->mem.live + 200;
            Call c;
            begin(&c);
            if (op != GRID_DET && op != GRID_FACTS)
                wire_u64(&c.in, ++newest);
            wire_u64(&c.in, ia);
            if (op == GRID_GEMM || op == GRID_SOLVE)
                wire_u64(&c.in, ia);
            if (op == GRID_GEMM) {
                wire_u64(&c.in, 0);
                wire_u64(&c.in, 1);
            }
            run(&c, op);
            ctx->mem.limit = SIZE_MAX;
            CHECK(c.raised == (tight != 0));
            end(&c);
            drop(newest == ia ? 0 : newest);
            CHECK(g->count == 1 && !g->temporary && !g->work);
        }
    drop(ia);
    tensor_release(ctx, a);
}

static void all(void)
{
    files();
    no_memory();
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
}

int main(int count, char **arg) { return grid_main(count, arg, all); }
