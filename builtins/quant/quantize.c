/* quantize(x, i8) and dequantize(t): floats as codes of a grid, and back. */
#include "builtins/quant/quant.h"
#include "builtins/quant/coded.h"
#include "interp/graph/graph.h"
#include "interp/precision/cast.h"

#include "core/base/error.h"
#include "core/base/mem.h"

#include <stdio.h>
#include <string.h>

enum { X, DTYPE, AXIS, SYMMETRIC, METHOD, RANGE, DATA };

/* Fewer numbers than this beside each other are coded by columns: a grid for each. */
enum { NARROW = 64 };

static GridKind quant_grid(OpCall *c)
{
    DType dt = arg_dtype(c, DTYPE, DT_I8);
    char help[160];
    if (dt != DT_I8 && dt != DT_U8) {
        snprintf(help, sizeof help, "codes from -128 to 127: quantize(%s, i8)", arg_text(c, X));
        arg_error_help(c, DTYPE, ERR_DTYPE, help, "codes have eight bits: i8 or u8, not %s",
                       dtype_name(dt));
    }
    return dt == DT_U8 ? GRID_U8 : arg_bool(c, SYMMETRIC, true) ? GRID_SYMMETRIC : GRID_I8;
}

/* ---- codes ---- */
static void codes_by_columns(const QuantOperand *o, const Grid *grid, uint8_t *q)
{
    OpCall *c = o->call;
    int64_t m = o->lanes * o->inner, bytes = m * (int64_t)sizeof(Grid), numbers = 4 * m;
    Grid *each = (Grid *)(void *)op_keep(c, tensor_new(&c->in->ctx, DT_U8, 1, &bytes))->data;
    Tensor *memory = op_keep(c, tensor_new(&c->in->ctx, DT_F64, 1, &numbers));
    for (int64_t j = 0; j < m; j++)
        each[j] = grid[j / o->inner];
    ranges_codes_columns(&c->in->ctx, o->dt, o->x->data, o->outer, m, each, memory->data, q);
}

static Tensor *codes(const QuantOperand *o, const Grid *grid, DType dt)
{
    OpCall *c = o->call;
    Tensor *q = op_keep(c, tensor_new(&c->in->ctx, dt, o->x->rank, tensor_shape(o->x)));
    uint8_t *to = (uint8_t *)q->data;
    size_t bytes = dtype_info(o->dt)->bytes;
    if (o->x->size == 0)
        return q;
    if (o->lanes > 1 && o->outer > 1 && o->inner < NARROW) {
        codes_by_columns(o, grid, to);
    } else {
        for (int64_t i = 0; i < o->outer * o->lanes; i++) {
            const char *x = o->x->data + (size_t)(i * o->inner) * bytes;
            ranges_codes(&c->in->ctx, o->dt, x, o->inner, &grid[i % o->lanes], to + i * o->inner);
            poll_interrupt(c->in);
        }
    }
    poll_interrupt(c->in);
    return q;
}

static Grid *grids(const QuantOperand *o, QuantRange r, GridKind kind)
{
    OpCall *c = o->call;
    int64_t bytes = (o->lanes + 1) * (int64_t)sizeof(Grid);
    Grid *g = (Grid *)(void *)op_keep(c, tensor_new(&c->in->ctx, DT_U8, 1, &bytes))->data;
    for (int64_t i = 0; i < o->lanes; i++)
        g[i] = grid_of(o->dt, r.low[i], r.high[i], kind);
    return g;
}

static Value zero_codes(const QuantOperand *o, const Grid *g)
{
    Ctx *ctx = &o->call->in->ctx;
    if (o->axis < 0)
        return v_int(g->zero);
    Tensor *t = tensor_new(ctx, DT_I64, 1, &o->lanes);
    for (int64_t i = 0; i < o->lanes; i++)
        ((int64_t *)t->data)[i] = g[i].zero;
    return v_tensor(ctx, t);
}

/* The range of numbers that are given one is not looked for, but that they are numbers is. */
static void check_finite(const QuantOperand *o)
{
    double low, high;
    const Tensor *x = o->x;
    if (x->size && !ranges_extremes(&o->call->in->ctx, o->dt, x->data, x->size, &low, &high))
        quant_special(o);
}

static _Noreturn void raise_data(OpCall *c)
{
    char help[200];
    snprintf(help, sizeof help, "the range of other numbers: quantize(%s, i8, range=calibrate(%s))",
             arg_text(c, X), arg_text(c, DATA));
    arg_error_help(c, DATA, ERR_VALUE, help, "data= belongs to a graph, and %s is none",
                   arg_text(c, X));
}

Value op_run_quantize(OpCall *c)
{
    if (graph_of(c->args[X]))
        return quant_graph(c);
    if (arg_given(c, DATA))
        raise_data(c);
    GridKind kind = quant_grid(c);
    QuantOperand o = quant_operand(c, X, AXIS);
    QuantWay way = { .method = quant_method(c, METHOD), .symmetric = kind == GRID_SYMMETRIC,
                     .grid = kind, .p = 99.9, .bins = 2048 };
    QuantRange r;
    if (arg_given(c, RANGE)) {
        check_finite(&o);
        r = quant_range(&o, RANGE);
    } else if (o.x->size) {
        r = quant_calibrate(&o, &way);
    } else {
        r = quant_range_new(c, o.lanes);
    }
    Grid *g = grids(&o, r, kind);
    Tensor *q = codes(&o, g, kind == GRID_U8 ? DT_U8 : DT_I8);
    for (int64_t i = 0; i < o.lanes; i++)
        r.low[i] = g[i].scale;
    Value scale = op_root(c, quant_numbers(&o, r.low)), zero = op_root(c, zero_codes(&o, g));
    return tuple_make(c->in, "q", op_result(c, q), "scale", v_retain(scale), "zero",
                      v_retain(zero), "axis", o.axis < 0 ? v_none() : v_int(o.axis), NULL);
}

/* ---- dequantize ---- */
static _Noreturn void no_codes(OpCall *c)
{
    char what[96];
    arg_error_help(c, 0, ERR_TYPE, "quantize(x, i8) gives (q=, scale=, zero=, axis=)",
                   "dequantize takes what quantize gives, and %s is %s", arg_text(c, 0),
                   v_describe_a(v_plain(c->args[0]), what, sizeof what));
}

static Value field(OpCall *c, const char *name)
{
    const Tuple *t = c->args[0].tuple;
    int64_t at = tuple_find(t, names_intern(&c->in->names, name, strlen(name)));
    if (at < 0)
        no_codes(c);
    return t->items[at];
}

/* Of a scale or zero its shape among the axes of q. */
static Value along(OpCall *c, Value v, const Tensor *q, Value axis, const char *what)
{
    int64_t at = -1, shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX];
    char has[96];
    bool given = axis.tag != V_NONE && axis.tag != V_UNDEF;
    if (given && (!v_as_int(axis, &at) || at < -q->rank || at >= q->rank))
        arg_error(c, 0, ERR_INDEX, "the axis of codes with %d axes is one of them", q->rank);
    at = at < 0 ? at + q->rank : at;
    if (!v_is_numeric(v) || dtype_info(v_dtype(v))->kind == 'c')
        no_codes(c);
    Tensor *t = op_keep(c, v_to_tensor(c->in, v, 0));
    if (t->rank == 0)
        return v;
    if (!given || t->rank != 1 || t->size != tensor_shape(q)[at])
        arg_error(c, 0, ERR_SHAPE, "there is one %s for each position of axis %lld, and %s %s",
                  what, (long long)(given ? at : 0), what,
                  shape_fact(has, sizeof has, t->rank, tensor_shape(t)));
    for (int i = 0; i < q->rank; i++)
        shape[i] = i == at ? t->size : 1, strides[i] = i == at ? tensor_strides(t)[0] : 0;
    t = tensor_view(&c->in->ctx, t, q->rank, shape, strides, t->data);
    return op_root(c, v_tensor(&c->in->ctx, t));
}

Value op_run_dequantize(OpCall *c)
{
    Interp *in = c->in;
    if (c->args[0].tag != V_TUPLE || !c->args[0].tuple->named)
        no_codes(c);
    Value q = field(c, "q"), scale = field(c, "scale"), zero = field(c, "zero");
    int64_t axis_at = tuple_find(c->args[0].tuple, names_intern(&in->names, "axis", 4));
    Value axis = axis_at < 0 ? v_none() : c->args[0].tuple->items[axis_at];
    if (!v_is_numeric(q) || !strchr("bi", dtype_info(v_dtype(q))->kind) || !v_is_numeric(scale) ||
        dtype_info(v_dtype(scale))->kind != 'f' || !v_is_numeric(zero) ||
        !strchr("bi", dtype_info(v_dtype(zero))->kind))
        no_codes(c);
    Tensor *t = op_keep(c, v_to_tensor(in, q, 0));
    DType dt = v_dtype(scale);
    scale = along(c, scale, t, axis, "scale");
    zero = along(c, zero, t, axis, "zero");
    Value x = op_root(c, op_cast(in, v_tensor_raw(t), dt));
    if (zero.tag != V_INT || zero.i != 0) {
        zero = op_root(c, op_cast(in, zero, dt));
        x = op_root(c, op_binary(in, op_named(in, "subtract"), x, zero, 0));
    }
    return op_binary(in, op_named(in, "multiply"), x, scale, 0);
}
