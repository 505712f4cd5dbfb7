/* Making tensors: constants, sequences, random numbers. Reads the arguments of making.def,
 * checks sizes before anything is allocated and fills. The interpreter's random state is
 * opened and closed here only: key[0] is the seed, key[1] is nonzero once there is one,
 * the counter is the next Philox block. */
#include "builtins/arrays/making.h"
#include "builtins/rows/rows.h"

#include "core/memory/pool.h"
#include "kernels/random/rng.h"
#include "kernels/axis/sort.h"
#include "interp/state/format.h"
#include "interp/state/scope.h"

#include <math.h>
#include <string.h>
#include <sys/random.h>

/* ---- shared ---- */

/* device=, or NULL. */
Device *made_on(OpCall *c, int i)
{
    return arg_given(c, i) ? arg_device(c, i) : NULL;
}

/* dtype=, else the widest float of the device. Raises where the device has it not. */
DType made_dtype(OpCall *c, int i, const Device *on, DType fallback)
{
    bool narrow = on && fallback == DT_F64 && !device_holds(on, DT_F64);
    DType dt = arg_dtype(c, i, narrow ? device_widest(on) : fallback);
    if (on && !device_holds(on, dt))
        arg_error_help(c, i, ERR_DEVICE,
                       fallback == DT_F64 ? "without dtype= it is the device's widest float" : NULL,
                       "%s has no %s", on->name, dtype_name(dt));
    return dt;
}

/* dtype= of digits that f64 does not have: the row's form makes the numbers in it. */
static bool made_in_format(OpCall *c, int i, Value *r)
{
    DType dt = arg_dtype(c, i, DT_F64);
    if (dtype_plain(dt) || dt == DT_RATIONAL)
        return false;
    Scope s = scope_implied(c->in, dt);
    *r = c->op->format(c, &s);
    return true;
}

/* The result, on its device. */
Value made_result(OpCall *c, Device *on, Tensor *kept)
{
    if (!on || kept->rank == 0)
        return op_result(c, kept);
    return v_tensor_raw(device_move(&c->in->ctx, on, kept));
}

/* A shape without -1. */
int made_shape(OpCall *c, int i, int64_t *shape)
{
    int rank = arg_shape(c, i, shape);
    for (int a = 0; a < rank; a++)
        if (shape[a] < 0)
            arg_error(c, i, ERR_VALUE, "a length of %lld is asked for axis %d",
                      (long long)shape[a], a);
    return rank;
}

static int64_t made_length(OpCall *c, int i)
{
    int64_t n = arg_int(c, i);
    if (n < 0)
        arg_error(c, i, ERR_VALUE, "%s is %lld, and a length cannot be negative", arg_name(c, i),
                  (long long)n);
    return n;
}

static Tensor *cast_to(OpCall *c, Tensor *t, DType dt)
{
    return op_keep(c, tensor_cast(&c->in->ctx, t, dt));
}

/* 1 in any dtype, for as long as the call. */
static const void *one_of(OpCall *c, DType dt)
{
    static const int64_t whole[2] = { 1, 0 };   /* little-endian; a rational's 1 as well */
    static const float f32[2] = { 1, 0 };
    static const double f64[2] = { 1, 0 };
    switch (dt) {
    case DT_F32: case DT_C64: return f32;
    case DT_F64: case DT_C128: return f64;
    default: break;
    }
    if (!dtype_foreign(dt) && !dtype_half(dt))
        return whole;
    return cast_to(c, op_keep(c, tensor_scalar(&c->in->ctx, DT_F64, f64)), dt)->data;
}

/* out[…] = value everywhere, broadcast from what has fewer axes. */
static void fill_with(OpCall *c, Tensor *out, Tensor *value)
{
    tensor_assign(&c->in->ctx, out, value);
    poll_interrupt(c->in);
}

/* ---- constants ---- */

Value op_run_zeros(OpCall *c)
{
    int64_t shape[TENSOR_RANK_MAX];
    int rank = made_shape(c, c->fixed, shape);
    Device *on = made_on(c, 1);
    return made_result(c, on,
                op_keep(c, tensor_zeros(&c->in->ctx, made_dtype(c, 0, on, DT_F64), rank, shape)));
}

Value op_run_ones(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    int64_t shape[TENSOR_RANK_MAX];
    int rank = made_shape(c, c->fixed, shape);
    Device *on = made_on(c, 1);
    DType dt = made_dtype(c, 0, on, DT_F64);
    Tensor *out = op_keep(c, tensor_new(ctx, dt, rank, shape));
    fill_with(c, out, op_keep(c, tensor_scalar(ctx, dt, one_of(c, dt))));
    return made_result(c, on, out);
}

/* value broadcast to a shape of the user's. */
static void check_fits(OpCall *c, int i, const Tensor *value, int rank, const int64_t *shape)
{
    int64_t both[TENSOR_RANK_MAX];
    char sv[128], st[128];
    int bad, r = shape_broadcast(value->rank, tensor_shape(value), rank, shape, both, &bad);
    bool same = r == rank;
    for (int a = 0; same && a < rank; a++)
        same = both[a] == shape[a];
    if (!same)
        arg_error(c, i, ERR_SHAPE, "%s %s, which does not broadcast to %s", arg_text(c, i),
                  shape_fact(sv, sizeof sv, value->rank, tensor_shape(value)),
                  shape_text(st, sizeof st, rank, shape));
}

Value op_run_full(OpCall *c)
{
    int64_t shape[TENSOR_RANK_MAX];
    int at = 0, count = c->count;
    if (c->args[0].tag == V_UNDEF || c->args[0].tag == V_NONE) {
        at = count - 1;
        if (at < c->fixed + 1)
            arg_error_help(c, 0, ERR_TYPE, "full((2, 3), 7.0)", "a shape and a value are wanted");
        c->count--;
    }
    int rank = made_shape(c, c->fixed, shape);
    c->count = count;
    Tensor *value = arg_tensor(c, at);
    Device *on = made_on(c, 2);
    DType dt = made_dtype(c, 1, on, (DType)value->dtype);
    check_fits(c, at, value, rank, shape);
    Tensor *out = op_keep(c, tensor_new(&c->in->ctx, dt, rank, shape));
    fill_with(c, out, cast_to(c, value, dt));
    return made_result(c, on, out);
}

Value op_run_like(OpCall *c)
{
    Tensor *a = arg_tensor(c, 0), *value = arg_tensor(c, 1);
    check_fits(c, 1, value, a->rank, tensor_shape(a));
    Tensor *out = op_keep(c, tensor_new(&c->in->ctx, (DType)a->dtype, a->rank, tensor_shape(a)));
    tensor_home(&c->in->ctx, value);
    fill_with(c, out, cast_to(c, value, (DType)a->dtype));
    return made_result(c, tensor_device(&c->in->ctx, a), out);
}

Value op_run_eye(OpCall *c)
{
    int64_t n = made_length(c, 0), m = arg_given(c, 1) ? made_length(c, 1) : n;
    int64_t k = arg_given(c, 2) ? arg_int(c, 2) : 0;
    Device *on = made_on(c, 4);
    DType dt = made_dtype(c, 3, on, DT_F64);
    Tensor *out = op_keep(c, tensor_zeros(&c->in->ctx, dt, 2, (int64_t[]){ n, m }));
    size_t bytes = dtype_info(dt)->bytes;
    const void *one = one_of(c, dt);
    for (int64_t i = k < 0 ? (k < -n ? n : -k) : 0; i < n && k < m - i; i++)
        memcpy(out->data + (size_t)(i * m + i + k) * bytes, one, bytes);
    return made_result(c, on, out);
}

/* ---- sequences ---- */

static bool is_int_argument(OpCall *c, int i)
{
    Value v = c->args[i];
    DType dt = v_dtype(v);
    return !arg_given(c, i) ||
           (dt != DT_NONE && (dtype_info(dt)->kind == 'i' || dtype_info(dt)->kind == 'b'));
}

static Tensor *int_sequence(OpCall *c, int64_t start, int64_t stop, int64_t step)
{
    __int128 span = (__int128)stop - start, count = span / step + (span % step != 0);
    if ((span > 0) != (step > 0) || span == 0)
        count = 0;
    if (count > INT64_MAX / 8)
        arg_error(c, 1, ERR_MEMORY, "the result has more elements than can be counted");
    int64_t n = (int64_t)count;
    Tensor *out = op_keep(c, tensor_new(&c->in->ctx, DT_I64, 1, &n));
    int64_t *v = (int64_t *)out->data;
    for (int64_t i = 0; i < n; i++) {
        v[i] = (int64_t)((uint64_t)start + (uint64_t)i * (uint64_t)step);
        poll_interrupt(c->in);
    }
    return out;
}

static Tensor *float_sequence(OpCall *c, double start, double stop, double step)
{
    double count = ceil((stop - start) / step);
    if (!(fabs(count) < 1e18))
        arg_error(c, 1, ERR_VALUE, "from %g to %g in steps of %g is no finite sequence", start,
                  stop, step);
    int64_t n = count > 0 ? (int64_t)count : 0;
    Tensor *out = op_keep(c, tensor_new(&c->in->ctx, DT_F64, 1, &n));
    double *v = (double *)out->data;
    for (int64_t i = 0; i < n; i++) {
        v[i] = start + (double)i * step;
        poll_interrupt(c->in);
    }
    return out;
}

Value op_run_arange(OpCall *c)
{
    bool one = !arg_given(c, 1), whole = is_int_argument(c, 0) && is_int_argument(c, 1) &&
               is_int_argument(c, 2);
    Tensor *out;
    Device *on = made_on(c, 4);
    Value exact;
    if (arg_given(c, 2) && arg_float(c, 2) == 0)
        arg_error(c, 2, ERR_VALUE, "step is 0");
    if (!whole && made_in_format(c, 3, &exact))
        return exact;
    if (whole) {
        int64_t start = one ? 0 : arg_int(c, 0), stop = arg_int(c, one ? 0 : 1);
        out = int_sequence(c, start, stop, arg_given(c, 2) ? arg_int(c, 2) : 1);
    } else {
        double start = one ? 0 : arg_float(c, 0), stop = arg_float(c, one ? 0 : 1);
        out = float_sequence(c, start, stop, arg_given(c, 2) ? arg_float(c, 2) : 1);
    }
    return made_result(c, on, cast_to(c, out, made_dtype(c, 3, on, (DType)out->dtype)));
}

/* NumPy's points: start + i step, the last one exactly stop. */
static Tensor *points(OpCall *c, bool endpoint)
{
    double start = arg_float(c, 0), stop = arg_float(c, 1);
    int64_t n = arg_given(c, 2) ? made_length(c, 2) : 50, gaps = endpoint ? n - 1 : n;
    Tensor *out = op_keep(c, tensor_new(&c->in->ctx, DT_F64, 1, &n));
    double *v = (double *)out->data, step = gaps > 0 ? (stop - start) / (double)gaps : 0;
    for (int64_t i = 0; i < n; i++) {
        v[i] = start + (double)i * step;
        poll_interrupt(c->in);
    }
    if (endpoint && n > 1)
        v[n - 1] = stop;
    return out;
}

Value op_run_linspace(OpCall *c)
{
    Device *on = made_on(c, 5);
    Value exact;
    if (made_in_format(c, 4, &exact))
        return exact;
    Tensor *out = points(c, arg_bool(c, 3, true));
    return made_result(c, on, cast_to(c, out, made_dtype(c, 4, on, DT_F64)));
}

Value op_run_logspace(OpCall *c)
{
    double base = arg_given(c, 3) ? arg_float(c, 3) : 10;
    Device *on = made_on(c, 6);
    Value exact;
    if (made_in_format(c, 5, &exact))
        return exact;
    Tensor *out = points(c, arg_bool(c, 4, true));
    double *v = (double *)out->data;
    for (int64_t i = 0; i < out->size; i++) {
        v[i] = pow(base, v[i]);
        poll_interrupt(c->in);
    }
    return made_result(c, on, cast_to(c, out, made_dtype(c, 5, on, DT_F64)));
}

/* ---- random numbers ---- */

Value op_run_seed(OpCall *c)
{
    Interp *in = c->in;
    if (!arg_given(c, 0)) {
        interp_seed(in);
        return v_none();
    }
    in->rng.key[0] = (uint64_t)arg_int(c, 0);
    in->rng.key[1] = 1;
    in->rng.counter = 0;
    return v_none();
}

static Value random_floats(OpCall *c, void (*fill)(Ctx *, RngStream *, DType, void *, int64_t),
                           double (*one)(Interp *))
{
    int64_t shape[TENSOR_RANK_MAX];
    int rank = made_shape(c, c->fixed, shape);
    Device *on = made_on(c, 1);
    DType dt = made_dtype(c, 0, on, DT_F64);
    if (dtype_info(dt)->kind != 'f')
        arg_error(c, 0, ERR_DTYPE,
                  "random numbers of dtype %s are not made; f64, f32, f16 and bf16 are",
                  dtype_name(dt));
    DType drawn = dtype_foreign(dt) ? DT_F64 : dt;
    if (rank == 0 && dt == DT_F64)
        return v_float(one(c->in));
    RngStream s = random_open(c->in);
    Tensor *out = op_keep(c, tensor_new(&c->in->ctx, drawn, rank, shape));
    fill(&c->in->ctx, &s, drawn, out->data, out->size);
    random_close(c->in, &s);
    return made_result(c, on, cast_to(c, out, dt));
}

Value op_run_rand(OpCall *c) { return random_floats(c, rng_uniform, random_unit); }
Value op_run_randn(OpCall *c) { return random_floats(c, rng_normal, random_normal); }

Value op_run_randint(OpCall *c)
{
    int64_t shape[TENSOR_RANK_MAX], low = 0, high;
    bool one = !arg_given(c, 1);
    if (!one)
        low = arg_int(c, 0);
    high = arg_int(c, one ? 0 : 1);
    if (low >= high)
        arg_error(c, one ? 0 : 1, ERR_VALUE,
                  "there is no int from %lld up to, but not including, %lld",
                  (long long)low, (long long)high);
    int rank = made_shape(c, c->fixed, shape);
    Device *on = made_on(c, 3);
    DType dt = made_dtype(c, 2, on, DT_I64);
    if (rank == 0 && dt == DT_I64)
        return v_int(random_int(c->in, low, high));
    RngStream s = random_open(c->in);
    Tensor *out = op_keep(c, tensor_new(&c->in->ctx, DT_I64, rank, shape));
    rng_integers(&c->in->ctx, &s, (int64_t *)out->data, low,
                 (uint64_t)high - (uint64_t)low, out->size);
    random_close(c->in, &s);
    return made_result(c, on, cast_to(c, out, dt));
}

/* ---- choosing and shuffling: first positions, then what stands there ---- */

/* A tuple with anything that is no number is chosen from as it is. */
static bool is_plain_tuple(Value v)
{
    if (v.tag != V_TUPLE)
        return false;
    for (uint32_t i = 0; i < v.tuple->count; i++)
        if (!v_is_numeric(v.tuple->items[i]))
            return true;
    return v.tuple->count == 0;
}

static Value gather_tuple(OpCall *c, const Tuple *t, const Tensor *at)
{
    const int64_t *index = (const int64_t *)at->data;
    if (at->rank == 0)
        return v_retain(t->items[index[0]]);
    Tuple *out = tuple_new(&c->in->ctx, (uint64_t)at->size);
    for (int64_t i = 0; i < at->size; i++)
        out->items[i] = v_retain(t->items[index[i]]);
    return v_tuple(out);
}

enum { GATHERED = 1 << 12 };     /* rows between two looks at the interrupt flag */

#define GATHER_AS(T) \
    for (int64_t i = 0; i < n; i++) \
        ((T *)(void *)out)[i] = ((const T *)(const void *)x)[index[i]]; \
    return;
static void gather(char *out, const char *x, size_t bytes, const int64_t *index, int64_t n)
{
    switch (bytes) {
    case 4: GATHER_AS(uint32_t)
    case 8: GATHER_AS(uint64_t)
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy(out + (size_t)i * bytes, x + (size_t)index[i] * bytes, bytes);
    }
}
#undef GATHER_AS

/* Rows of x (elements of a vector) at the positions: at's shape, then x's other axes. */
static Value gather_rows(OpCall *c, Tensor *x, const Tensor *at)
{
    Ctx *ctx = &c->in->ctx;
    int64_t shape[2 * TENSOR_RANK_MAX];
    int rank = at->rank + x->rank - 1;
    if (rank > TENSOR_RANK_MAX)
        arg_error(c, 0, ERR_SHAPE, "the result would have %d axes, more than %d", rank,
                  TENSOR_RANK_MAX);
    memcpy(shape, tensor_shape(at), (size_t)at->rank * sizeof *shape);
    memcpy(shape + at->rank, tensor_shape(x) + 1, (size_t)(x->rank - 1) * sizeof *shape);
    Tensor *dense = op_keep(c, tensor_compact(ctx, x));
    Tensor *out = op_keep(c, tensor_new(ctx, (DType)x->dtype, rank, shape));
    int64_t rows = tensor_shape(x)[0];
    size_t bytes = rows == 0 ? 0 : (size_t)(x->size / rows) * dtype_info(x->dtype)->bytes;
    const int64_t *index = (const int64_t *)at->data;
    for (int64_t i = 0; i < at->size; i += GATHERED) {
        gather(out->data + (size_t)i * bytes, dense->data, bytes, index + i,
               at->size - i < GATHERED ? at->size - i : GATHERED);
        poll_interrupt(c->in);
    }
    return op_result(c, out);
}

/* Fisher and Yates, from the front: the first `taken` entries are a random selection. */
static void shuffle_positions(OpCall *c, RngStream *s, int64_t *at, int64_t n, int64_t taken)
{
    enum { DRAWS = 1 << 12 };
    int64_t draw[DRAWS], draws = taken < n - 1 ? taken : n - 1;
    for (int64_t i = 0; i < n; i++)
        at[i] = i;
    for (int64_t i = 0; i < draws; i += DRAWS) {
        int64_t some = draws - i < DRAWS ? draws - i : DRAWS;
        rng_falling(&c->in->ctx, s, draw, (uint64_t)(n - i), some);
        poll_interrupt(c->in);
        for (int64_t k = 0; k < some; k++) {
            int64_t j = i + k + draw[k], swap = at[i + k];
            at[i + k] = at[j];
            at[j] = swap;
        }
    }
}

/* Where position `at` stands in a table of 2^bits pairs, or would: -1 is nowhere. */
static int64_t *moved_slot(int64_t *table, int bits, int64_t at)
{
    uint64_t mask = ((uint64_t)1 << bits) - 1;
    uint64_t slot = (uint64_t)at * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits);
    while (table[2 * slot] != at && table[2 * slot] >= 0)
        slot = (slot + 1) & mask;
    return table + 2 * slot;
}

/* The same selection of a few among many: only the positions that were moved are kept. */
static void select_positions(OpCall *c, RngStream *s, int64_t *out, int64_t n, int64_t taken)
{
    int bits = 4;
    while ((int64_t)1 << bits < 4 * taken)
        bits++;
    int64_t words = (int64_t)2 << bits;
    int64_t *table = (int64_t *)op_keep(c, tensor_new(&c->in->ctx, DT_I64, 1, &words))->data;
    memset(table, 0xff, (size_t)words * sizeof *table);
    rng_falling(&c->in->ctx, s, out, (uint64_t)n, taken);
    poll_interrupt(c->in);
    for (int64_t i = 0; i < taken; i++) {
        int64_t j = i + out[i], *here = moved_slot(table, bits, i);
        int64_t mine = here[0] < 0 ? i : here[1], *there = moved_slot(table, bits, j);
        out[i] = there[0] < 0 ? j : there[1];
        there[0] = j;
        there[1] = mine;
    }
}

/* Running sums of the checked weights, for choosing by bisection. */
static double *weight_sums(OpCall *c, int i, int64_t n, bool running)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *p = arg_tensor(c, i);
    if (p->rank != 1 || tensor_shape(p)[0] != n)
        arg_error(c, i, ERR_SHAPE, "p has %lld elements for %lld choices", (long long)p->size,
                  (long long)n);
    Tensor *sums = op_keep(c, tensor_copy(ctx, cast_to(c, p, DT_F64)));
    double *v = (double *)sums->data, total = 0;
    for (int64_t k = 0; k < n; k++) {
        if (!(v[k] >= 0 && isfinite(v[k])))
            arg_error(c, i, ERR_VALUE, "p[%lld] is %g: a probability is not negative",
                      (long long)k, v[k]);
        total += v[k];
        if (running)
            v[k] = total;
    }
    if (!(total > 0 && isfinite(total)))
        arg_error(c, i, ERR_VALUE, "p sums to %g", total);
    return v;
}

/* The first number of a block for each, as rng_unit draws them. */
static void choose_weighted(Ctx *ctx, RngStream *s, const double *sums, int64_t n, int64_t *at,
                            int64_t count)
{
    enum { DRAWS = 1 << 10 };
    double drawn[2 * DRAWS];
    while (n > 1 && sums[n - 2] == sums[n - 1])     /* the last ones have p = 0 */
        n--;
    for (int64_t i = 0; i < count; i++) {
        if (i % DRAWS == 0)
            rng_uniform(ctx, s, DT_F64, drawn, 2 * (count - i < DRAWS ? count - i : DRAWS));
        double u = drawn[2 * (i % DRAWS)] * sums[n - 1];
        int64_t low = 0, high = n - 1;
        while (low < high) {
            int64_t middle = low + (high - low) / 2;
            if (sums[middle] > u)
                high = middle;
            else
                low = middle + 1;
        }
        at[i] = low;
    }
}

/* Without replacement: the largest of log(u)/p (Efraimidis, Spirakis 2006), in order. */
static void choose_weighted_once(OpCall *c, RngStream *s, const double *p, int64_t n, int64_t *at,
                                 int64_t count)
{
    int64_t words = 4 * n, positive = 0;
    uint64_t *keys = (uint64_t *)op_keep(c, tensor_new(&c->in->ctx, DT_I64, 1, &words))->data;
    int64_t *order = (int64_t *)(keys + 2 * n);
    for (int64_t i = 0; i < n; i++) {
        double u = 1 - rng_unit(s), rank = p[i] > 0 ? -rng_log(u) / p[i] : (double)INFINITY;
        positive += p[i] > 0;
        sort_load(keys + i, DT_F64, &rank, 1, 1, 0);
        order[i] = i;
    }
    if (count > positive)
        arg_error(c, 2, ERR_VALUE, "%lld are wanted without replacement, but only %lld have p > 0",
                  (long long)count, (long long)positive);
    sort_pairs(&c->in->ctx, keys, order, keys + n, order + n, n, 8);
    poll_interrupt(c->in);                 /* then the order is none */
    memcpy(at, order, (size_t)count * sizeof *at);
}

static void choose(OpCall *c, int64_t n, Tensor *at)
{
    RngStream s = random_open(c->in);
    int64_t *index = (int64_t *)at->data, count = at->size;
    bool replace = arg_bool(c, 1, true), weighted = arg_given(c, 2);
    if (n == 0 && count > 0)
        arg_error(c, 0, ERR_VALUE, "there is nothing to choose from: %s is empty", arg_text(c, 0));
    if (!replace && count > n)
        arg_error(c, 0, ERR_VALUE, "%lld are wanted without replacement, but there are only %lld",
                  (long long)count, (long long)n);
    if (weighted && replace)
        choose_weighted(&c->in->ctx, &s, weight_sums(c, 2, n, true), n, index, count);
    else if (weighted)
        choose_weighted_once(c, &s, weight_sums(c, 2, n, false), n, index, count);
    else if (replace)
        rng_integers(&c->in->ctx, &s, index, 0, (uint64_t)n, count);
    else if (count < n / 16)
        select_positions(c, &s, index, n, count);
    else {
        int64_t *all = (int64_t *)op_keep(c, tensor_new(&c->in->ctx, DT_I64, 1, &n))->data;
        shuffle_positions(c, &s, all, n, count);
        memcpy(index, all, (size_t)count * sizeof *index);
    }
    random_close(c->in, &s);
}

Value op_run_choice(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    int64_t shape[TENSOR_RANK_MAX];
    int rank = made_shape(c, c->fixed, shape);
    Value a = c->args[0];
    Tensor *at = op_keep(c, tensor_new(ctx, DT_I64, rank, shape));
    if (a.tag == V_INT) {
        if (a.i <= 0)
            arg_error(c, 0, ERR_VALUE, "there is nothing to choose from below %lld",
                      (long long)a.i);
        choose(c, a.i, at);
        return op_result(c, at);
    }
    if (is_plain_tuple(a)) {
        choose(c, a.tuple->count, at);
        return gather_tuple(c, a.tuple, at);
    }
    Tensor *x = arg_tensor(c, 0);
    if (x->rank == 0)
        arg_error(c, 0, ERR_SHAPE, "%s has no axis to choose along", arg_text(c, 0));
    choose(c, tensor_shape(x)[0], at);
    return gather_rows(c, x, at);
}

Value op_run_shuffle(OpCall *c)
{
    bool plain = is_plain_tuple(c->args[0]);
    Tensor *x = plain ? NULL : arg_tensor(c, 0);
    if (x && x->rank == 0)
        arg_error(c, 0, ERR_SHAPE, "%s has no axis to shuffle", arg_text(c, 0));
    int64_t n = plain ? c->args[0].tuple->count : tensor_shape(x)[0];
    Tensor *at = op_keep(c, tensor_new(&c->in->ctx, DT_I64, 1, &n));
    RngStream s = random_open(c->in);
    shuffle_positions(c, &s, (int64_t *)at->data, n, n);
    random_close(c->in, &s);
    return plain ? gather_tuple(c, c->args[0].tuple, at) : gather_rows(c, x, at);
}
