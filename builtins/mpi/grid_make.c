/* Random numbers, positions of extremes, triangles and norms on grids of processes. No element
 * travels for what is made: its numbers are a function of the seed and of where they stand. */
#include "builtins/mpi/grid.h"

#include "kernels/reduce/reduce.h"

#include <string.h>

/* ---- random numbers ---- */
enum { UNIFORM, NORMAL, INTEGERS };

/* Draws them; false: some int does not fit the dtype, and the host is to say which. */
static bool draw(OpCall *c, Device *d, Tensor *out, int kind, int64_t low, uint64_t span)
{
    Interp *in = c->in;
    Ctx *ctx = &in->ctx;
    MpiTensor *g = grid_made(c, d, out);
    if (in->rng.key[1] == 0)
        interp_seed(in);
    Buf *b = mpi_begin(ctx, d, GRID_RANDOM);
    mpi_put_new(ctx, d, b, g);
    wire_u64(b, out->dtype);
    mpi_put_ints(b, tensor_shape(out), out->rank);
    wire_u64(b, (uint64_t)kind);
    wire_u64(b, in->rng.key[0]);
    wire_u64(b, 0);
    wire_u64(b, in->rng.counter);
    wire_i64(b, low);
    wire_u64(b, span);
    Wire w = mpi_send(ctx, d);
    uint64_t counter = wire_get_u64(&w);
    for (int r = 0; r < mpi_state(d)->p * mpi_state(d)->q; r++) {
        w = wire_from(ctx, &mpi_state(d)->replies[r]);
        wire_get_u64(&w);
        if (wire_get_u64(&w))
            return false;
    }
    in->rng.counter = counter;
    poll_interrupt(in);
    return true;
}

/* A tensor of the grid for the shape that stands behind the fixed parameters; NULL: *r is what the
 * form gives. */
static Tensor *to_draw(OpCall *c, Device *d, int dtype, DType fallback, Value *r)
{
    int64_t shape[TENSOR_RANK_MAX];
    int rank = arg_shape(c, c->fixed, shape);
    DType dt = arg_dtype(c, dtype, fallback);
    bool good = rank > 0, elsewhere = arg_given(c, dtype + 1) &&
                (c->args[dtype + 1].tag != V_DEVICE || c->args[dtype + 1].device != d);
    for (int a = 0; a < rank; a++)
        good &= shape[a] > 0;
    if (elsewhere)
        *r = place_refuse(c->in, (Lack){ LACK_ELSEWHERE });
    else if (!device_holds(d, dt) || (fallback == DT_F64 && dtype_info(dt)->kind != 'f'))
        *r = place_refuse(c->in, (Lack){ LACK_DTYPE, .dtype = dt });
    else if (!good)
        *r = form_host(c, d);
    else
        return place_new(c->in, d, dt, rank, shape);
    return NULL;
}

static Value floats(OpCall *c, Device *d, int kind)
{
    Value r;
    Tensor *out = to_draw(c, d, 0, DT_F64, &r);
    if (!out)
        return r;
    draw(c, d, out, kind, 0, 0);
    return place_value(c->in, out);
}

Value op_grid_rand(OpCall *c, Device *d) { return floats(c, d, UNIFORM); }
Value op_grid_randn(OpCall *c, Device *d) { return floats(c, d, NORMAL); }

Value op_grid_randint(OpCall *c, Device *d)
{
    Value r;
    bool one = !arg_given(c, 1);
    int64_t low = one ? 0 : arg_int(c, 0), high = arg_int(c, one ? 0 : 1);
    if (low >= high)
        return form_host(c, d);
    Tensor *out = to_draw(c, d, 2, DT_I64, &r);
    if (!out)
        return r;
    return draw(c, d, out, INTEGERS, low, (uint64_t)high - (uint64_t)low)
           ? place_value(c->in, out) : form_host(c, d);
}

/* ---- positions ---- */
static Value position(OpCall *c, Device *d, RedOp op)
{
    Tensor *x = arg_tensor(c, 0);
    if (x->rank == 0 || x->size == 0)
        return form_host(c, d);
    if (arg_given(c, 1) && x->rank > 1)
        return op == RED_ARGMAX ? op_device_argmax(c, d) : op_device_argmin(c, d);
    if (dtype_info((DType)x->dtype)->kind == 'c' || arg_bool(c, 2, false))
        return form_host(c, d);
    Ctx *ctx = &c->in->ctx;
    MpiTensor *g = grid_operand(c, d, x, (DType)x->dtype);
    Buf *b = mpi_begin(ctx, d, GRID_ARG);
    mpi_put_id(ctx, d, b, g);
    wire_u64(b, op);
    Wire w = mpi_send(ctx, d);
    device_carry(ctx, d, sizeof(int64_t));
    return v_int((int64_t)wire_get_u64(&w));
}

Value op_grid_argmax(OpCall *c, Device *d) { return position(c, d, RED_ARGMAX); }
Value op_grid_argmin(OpCall *c, Device *d) { return position(c, d, RED_ARGMIN); }

/* ---- triangles, norms ---- */
static Value triangle(OpCall *c, Device *d, bool upper)
{
    Tensor *x = arg_tensor(c, 0);
    if (x->rank != 2 || x->size == 0 || (x->flags & TENSOR_COVECTOR))
        return x->rank > 2 ? place_refuse(c->in, (Lack){ LACK_STACKS }) : form_host(c, d);
    MpiTensor *from = grid_operand(c, d, x, (DType)x->dtype);
    Tensor *out = place_new(c->in, d, (DType)x->dtype, 2, tensor_shape(x));
    MpiTensor *to = grid_made(c, d, out);
    Ctx *ctx = &c->in->ctx;
    Buf *b = mpi_begin(ctx, d, GRID_TRIANGLE);
    mpi_put_new(ctx, d, b, to);
    mpi_put_id(ctx, d, b, from);
    wire_u64(b, upper);
    wire_i64(b, arg_given(c, 1) ? arg_int(c, 1) : 0);
    mpi_send(ctx, d);
    return place_value(c->in, out);
}

Value op_grid_triu(OpCall *c, Device *d) { return triangle(c, d, true); }
Value op_grid_tril(OpCall *c, Device *d) { return triangle(c, d, false); }

/* The square root of the sum of squares in one command; other norms as nests. */
Value op_grid_norm(OpCall *c, Device *d)
{
    Tensor *x = arg_tensor(c, 0);
    DType dt = (DType)x->dtype;
    bool plain = !arg_given(c, 2) && !arg_given(c, 3) && x->size && x->rank > 0 && x->rank < 3 &&
                 !form_whole(dt);
    bool root = !arg_given(c, 1) || (c->args[1].tag == V_STRING && x->rank == 2 &&
                                     strcmp(c->args[1].str->text, "fro") == 0);
    if (!plain || !root)
        return op_device_norm(c, d);
    Ctx *ctx = &c->in->ctx;
    MpiTensor *g = grid_operand(c, d, x, dt);
    Buf *b = mpi_begin(ctx, d, GRID_NORM);
    mpi_put_id(ctx, d, b, g);
    wire_u64(b, GRID_NORM_FRO);
    Wire w = mpi_send(ctx, d);
    double norm = wire_get_f64(&w);
    _Alignas(16) char cell[ELEMENT_BYTES_MAX];
    cast_run(dtype_real(dt), cell, 1, DT_F64, &norm, 1, 1);
    device_carry(ctx, d, dtype_info(dtype_real(dt))->bytes);
    return v_element(ctx, dtype_real(dt), cell);
}

/* The first of complex vectors is conjugated. */
Value op_grid_dot(OpCall *c, Device *d)
{
    Tensor *x = arg_tensor(c, 0), *y = arg_tensor(c, 1);
    DType dt = dtype_promote((DType)x->dtype, (DType)y->dtype);
    if (x->rank != 1 || y->rank != 1 || x->size != y->size || !x->size || dt == DT_NONE ||
        form_whole(dt) || !device_holds(d, dt))
        return op_device_dot(c, d);
    Ctx *ctx = &c->in->ctx;
    MpiTensor *a = grid_operand(c, d, x, dt), *e = grid_operand(c, d, y, dt);
    _Alignas(16) char cell[ELEMENT_BYTES_MAX];
    Buf *b = mpi_begin(ctx, d, GRID_DOT);
    mpi_put_id(ctx, d, b, a);
    mpi_put_id(ctx, d, b, e);
    wire_u64(b, 1);
    Wire w = mpi_send(ctx, d);
    mpi_get_cell(&w, &dt, cell);
    device_carry(ctx, d, dtype_info(dt)->bytes);
    return v_element(ctx, dt, cell);
}

/* ---- what its nests do not have ---- */
/* Of complex numbers the transpose of the conjugate: a view, as the host makes it. */
Value op_grid_ctranspose(OpCall *c, Device *d)
{
    Value x = c->args[0];
    if (x.tag != V_TENSOR || x.tensor->rank < 2 ||
        dtype_info((DType)x.tensor->dtype)->kind != 'c')
        return x.tag == V_TENSOR && x.tensor->rank == 1 &&
               dtype_info((DType)x.tensor->dtype)->kind == 'c' ? form_host(c, d)
                                                              : op_device_ctranspose(c, d);
    Value conj = place_elementwise(c->in, d, op_named(c->in, "conj"), &x, 1, 0);
    if (conj.tag != V_TENSOR)
        return conj;
    v_push(c->in, conj);
    return v_tensor_raw(tensor_transpose_last(&c->in->ctx, conj.tensor));
}

/* Casts that are checked too: where an element does not fit, the host says which. */
Value op_grid_cast(OpCall *c, Device *d)
{
    DType to = arg_dtype(c, 1, DT_F64);
    Tensor *x = c->args[0].tag == V_TENSOR ? c->args[0].tensor : NULL;
    if (!x || x->rank == 0 || x->size == 0 || !device_holds(d, to) ||
        !device_holds(d, (DType)x->dtype))
        return op_device_cast(c, d);
    MpiTensor *from = grid_operand(c, d, x, (DType)x->dtype);
    Tensor *out = place_new(c->in, d, to, x->rank, tensor_shape(x));
    out->flags = x->flags;
    return mpi_cast(&c->in->ctx, d, grid_made(c, d, out), from) ? place_value(c->in, out)
                                                               : form_host(c, d);
}
