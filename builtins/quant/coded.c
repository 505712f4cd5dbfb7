/* matmul_i8 and product_i8: floats quantised, multiplied as codes with exact sums, and scaled back
 * with what stands behind the product. */
#include "builtins/quant/coded.h"
#include "interp/eval/call.h"
#include "interp/graph/graph.h"
#include "interp/precision/cast.h"

#include "core/base/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Where the parameters stand; -1: there is none. */
typedef struct Places { int text, scale, scales, zero, axis, bias, activation; } Places;
static const Places of_matmul = { -1, 2, 3, 4, -1, 5, 6 }, of_product = { 2, 3, 4, 5, 6, 7, 8 };

static const Places *places(const Op *op)
{
    return op->run == op_run_matmul_i8 ? &of_matmul : &of_product;
}

/* ---- what no call can mean ---- */
static bool float_of(Value v, double *x)
{
    if (v.tag == V_FLOAT) {
        *x = v.f;
        return true;
    }
    if (v.tag != V_TENSOR || v.tensor->rank || (v.tensor->dtype != DT_F32 &&
                                                v.tensor->dtype != DT_F64))
        return false;
    *x = element_f64((DType)v.tensor->dtype, v.tensor->data);
    return true;
}

static bool is_known(Value v) { return v.tag != V_FLOW; }
static bool is_missing(Value v) { return v.tag == V_UNDEF || v.tag == V_NONE; }

/* Is it a vector of floats, or one? How many? */
static bool floats_of(Value v, int64_t *n)
{
    double x;
    *n = 1;
    if (float_of(v, &x))
        return true;
    if (v.tag != V_TENSOR || v.tensor->rank != 1)
        return false;
    *n = v.tensor->size;
    return v.tensor->dtype == DT_F32 || v.tensor->dtype == DT_F64;
}

static double number(Value v, int64_t i)
{
    if (v.tag != V_TENSOR)
        return v.f;
    const Tensor *t = v.tensor;
    int64_t at = t->rank ? i * tensor_strides(t)[0] : 0;
    return element_f64((DType)t->dtype, t->data + at * (int64_t)dtype_info(t->dtype)->bytes);
}

static const char *refuse_scales(Value v, int64_t *n)
{
    if (!floats_of(v, n))
        return "its scales are no vector of f32 or f64";
    for (int64_t i = 0; i < *n; i++)
        if (!(number(v, i) > 0) || isinf(number(v, i)))
            return "one of its scales is no positive number";
    return NULL;
}

static const char *refuse(const Value *args, int count, const Places *p)
{
    double scale;
    int64_t n = -1, b;
    const char *why;
    if (count > 1 && is_known(args[1]) &&
        (args[1].tag != V_TENSOR || args[1].tensor->dtype != DT_I8))
        return "its constant has no codes of i8";
    if (p->scale < count && is_known(args[p->scale]) &&
        (!float_of(args[p->scale], &scale) || !(scale > 0) || isinf(scale)))
        return "its scale is no positive number";
    if (p->scales < count && is_known(args[p->scales]) &&
        (why = refuse_scales(args[p->scales], &n)) != NULL)
        return why;
    Value zero = p->zero < count ? args[p->zero] : v_undef();
    if (is_known(zero) && !is_missing(zero) &&
        (zero.tag != V_INT || zero.i < -128 || zero.i > 127))
        return "its zero is no code between -128 and 127";
    Value bias = p->bias < count ? args[p->bias] : v_undef();
    if (is_known(bias) && !is_missing(bias) && (!floats_of(bias, &b) || (n >= 0 && b != n)))
        return "its bias is not of as many floats as it has scales";
    Value last = p->activation < count ? args[p->activation] : v_undef();
    if (is_known(last) && !is_missing(last) &&
        (last.tag != V_OP || last.op->cls != OPC_EW || last.op->ew != EW_RELU))
        return "its activation is neither none nor relu";
    return NULL;
}

const char *matmul_i8_refuses(Interp *in, const Value *args, int count)
{
    (void)in;
    const char *why = refuse(args, count, &of_matmul);
    if (why || count < 4 || args[1].tag != V_TENSOR)
        return why;
    if (args[1].tensor->rank != 2)
        return "its constant is no matrix";
    int64_t n;
    bool scales = is_known(args[of_matmul.scales]) && floats_of(args[of_matmul.scales], &n);
    return scales && (args[of_matmul.scales].tag != V_TENSOR ||
                      args[of_matmul.scales].tensor->rank != 1 ||
                      n != tensor_shape(args[1].tensor)[1])
         ? "it has not one scale for each column of its constant" : NULL;
}

const char *product_i8_refuses(Interp *in, const Value *args, int count)
{
    Value text = count > of_product.text ? args[of_product.text] : v_undef();
    if (text.tag != V_STRING || !graph_text_fits(in, text.str, 2))
        return "its text is no function of two tensors that only computes";
    return refuse(args, count, &of_product);
}

/* ---- explain ---- */
void coded_told(const OpCall *c, Buf *out)
{
    const Places *p = places(c->op);
    char x[96], w[96];
    GraphLabels l;
    Value text = p->text < 0 ? v_undef() : c->args[p->text];
    bool sums = text.tag != V_STRING || graph_labels(c->in, text.str, false, &l);
    buf_printf(out, "fused quantize + %s(i8, %s)%s%s of %s, %s",
               p->text < 0 ? "matmul" : "product", sums ? "i32" : "in floats",
               arg_given(c, p->bias) ? " + bias" : "",
               arg_given(c, p->activation) ? " + relu" : "",
               v_describe(c->args[0], x, sizeof x), v_describe(c->args[1], w, sizeof w));
}

/* ---- run ---- */
typedef struct Coded {
    OpCall *c;
    const Places *p;
    QuantOperand x;
    Tensor *w;
    Grid grid;
    DType given;                /* of x, and of the result */
} Coded;

static void read_product(Coded *j, OpCall *c)
{
    const Places *p = places(c->op);
    const char *why = c->op->refuses(c->in, c->args, c->count);
    double scale = 1;
    char help[96];
    *j = (Coded){ .c = c, .p = p };
    if (why)
        err_raise(&c->in->ctx, ERR_VALUE, "%s: %s", c->op->name, why);
    Tensor *x = arg_tensor(c, 0);
    j->given = (DType)x->dtype;
    if (dtype_info(j->given)->kind != 'f') {
        snprintf(help, sizeof help, "f32(%s)", arg_text(c, 0));
        arg_error_help(c, 0, ERR_DTYPE, help, "%s is %s, and floats are what codes are made of",
                       arg_text(c, 0), dtype_name(j->given));
    }
    j->x = quant_whole(c, 0, x, j->given == DT_F64 ? DT_F64 : DT_F32);
    j->w = arg_tensor(c, 1);
    float_of(c->args[p->scale], &scale);
    j->grid = (Grid){ .scale = scale, .zero = arg_given(c, p->zero) ? (int)arg_int(c, p->zero) : 0,
                      .low = -128, .high = 127 };
    j->grid.low = j->grid.zero ? -128 : -127;
    double low, high;
    if (x->size && !ranges_extremes(&c->in->ctx, j->x.dt, j->x.x->data, x->size, &low, &high))
        quant_special(&j->x);
}

/* The dtype in which sums of n products of codes are exact, and in which what a transform makes of
 * them (not `plain`) is nearer to them than a half. */
static DType exact_dtype(const Coded *j, int64_t n, bool plain)
{
    int64_t most = (j->grid.zero ? 255 : 127) * 128;
    return n < ((int64_t)1 << (plain ? 24 : 22)) / most ? DT_F32 : DT_F64;
}

/* Codes less zero as numbers of dt; on the value stack. */
static Value codes_as(Coded *j, DType dt)
{
    OpCall *c = j->c;
    const Tensor *x = j->x.x;
    Tensor *t = op_keep(c, tensor_new(&c->in->ctx, j->x.dt, x->rank, tensor_shape(x)));
    ranges_rounded(&c->in->ctx, j->x.dt, x->data, x->size, &j->grid, t->data);
    return dt == j->x.dt ? v_tensor_raw(t) : op_root(c, op_cast(c->in, v_tensor_raw(t), dt));
}

/* The same as bytes. */
static Tensor *codes_of(Coded *j)
{
    OpCall *c = j->c;
    const Tensor *x = j->x.x;
    Tensor *t = op_keep(c, tensor_new(&c->in->ctx, DT_I8, x->rank, tensor_shape(x)));
    ranges_codes(&c->in->ctx, j->x.dt, x->data, x->size, &j->grid, t->data);
    poll_interrupt(c->in);
    return t;
}

/* One number of dt for each column: column k has number k / inner of v, times `by`. */
static char *columns(Coded *j, DType dt, Value v, double by, int64_t n, int64_t inner)
{
    Tensor *t = op_keep(j->c, tensor_new(&j->c->in->ctx, dt, 1, &n));
    bool each = v.tag == V_TENSOR && v.tensor->rank == 1;
    for (int64_t k = 0; k < n; k++) {
        double x = v.tag == V_NONE ? 0 : number(v, each ? k / inner : 0) * by;
        if (dt == DT_F32)
            ((float *)t->data)[k] = (float)x;
        else
            ((double *)t->data)[k] = x;
    }
    return t->data;
}

/* The sums, times scales along an axis, and what stands behind. */
static Value finish(Coded *j, Value sums, int axis)
{
    OpCall *c = j->c;
    Ctx *ctx = &c->in->ctx;
    Value scales = c->args[j->p->scales];
    Value bias = arg_given(c, j->p->bias) ? c->args[j->p->bias] : v_none();
    Tensor *a = op_keep(c, v_to_tensor(c->in, sums, 0));
    DType dt = a->dtype == DT_F32 && j->x.dt == DT_F32 ? DT_F32 : DT_F64;
    Tensor *out = op_keep(c, tensor_cast(ctx, a, dt));
    tensor_home(ctx, out);
    if (out == a && (j->p->text >= 0 || !tensor_contiguous(a)))    /* else it is nobody's */
        out = op_keep(c, tensor_copy(ctx, out));
    int64_t n = 1, inner = 1;
    floats_of(scales, &n);
    if (scales.tag == V_TENSOR && scales.tensor->rank == 1) {
        axis = axis < 0 ? axis + a->rank : axis;
        if (axis < 0 || axis >= a->rank || tensor_shape(a)[axis] != n)
            err_raise(&c->in->ctx, ERR_SHAPE, "%s: there are %lld scales, and its result has no "
                      "axis of them", c->op->name, (long long)n);
        for (int i = axis + 1; i < a->rank; i++)
            inner *= tensor_shape(a)[i];
    }
    int64_t width = n * inner;
    if (out->size)
        ranges_scale(ctx, dt, out->data, out->size / width, width,
                     columns(j, dt, scales, j->grid.scale, width, inner),
                     columns(j, dt, bias, 1, width, inner), arg_given(c, j->p->activation));
    poll_interrupt(c->in);
    return op_cast(c->in, v_tensor_raw(out), j->given);
}

/* What becomes of sums in `exact` with n columns, each with a scale of its own or none. */
static CodedEnd end_of(Coded *j, DType exact, int64_t n)
{
    OpCall *c = j->c;
    DType dt = exact == DT_F32 && j->x.dt == DT_F32 ? DT_F32 : DT_F64;
    Value bias = arg_given(c, j->p->bias) ? c->args[j->p->bias] : v_none();
    return (CodedEnd){ .dt = dt, .zero = j->grid.zero,
                       .scales = columns(j, dt, c->args[j->p->scales], j->grid.scale, n, 1),
                       .bias = columns(j, dt, bias, 1, n, 1),
                       .relu = arg_given(c, j->p->activation) };
}

static Value matmul_by_bytes(Coded *j, DType exact, int64_t m, int64_t n, int64_t k)
{
    OpCall *c = j->c;
    const Tensor *x = j->x.x, *w = op_keep(c, tensor_compact(&c->in->ctx, j->w));
    int64_t shape[TENSOR_RANK_MAX];
    CodedEnd end = end_of(j, exact, n);
    EightMat b = { w->data, n, 1, true };
    memcpy(shape, tensor_shape(x), (size_t)x->rank * sizeof *shape);
    shape[x->rank - 1] = n;
    Tensor *codes = codes_of(j);
    Tensor *out = op_keep(c, tensor_new(&c->in->ctx, end.dt, x->rank, shape));
    coded_bytes(c, m, n, k, (EightMat){ codes->data, k, 1, true }, b, &end, out->data);
    return op_cast(c->in, v_tensor_raw(out), j->given);
}

static Value run_matmul(OpCall *c)
{
    Coded j;
    char a[96], b[96];
    read_product(&j, c);
    const Tensor *x = j.x.x;
    int64_t k = tensor_shape(j.w)[0], n = tensor_shape(j.w)[1];
    if (x->rank < 1 || tensor_shape(x)[x->rank - 1] != k)
        arg_error(c, 0, ERR_SHAPE,
                  "%s is %s, and its last axis meets the rows of codes that are %s",
                  arg_text(c, 0), shape_text(a, sizeof a, x->rank, tensor_shape(x)),
                  shape_text(b, sizeof b, 2, tensor_shape(j.w)));
    DType dt = exact_dtype(&j, k, true);
    int64_t m = k ? x->size / k : 0;
    const char *why = coded_bytes_why(m, n, k);
    coded_tell(c, why, m, n, k);
    if (!why)
        return matmul_by_bytes(&j, dt, m, n, k);
    Value q = codes_as(&j, dt), w = op_root(c, op_cast(c->in, v_tensor_raw(j.w), dt));
    Value acc = op_root(c, op_binary(c->in, op_operator(c->in, TK_MATMUL), q, w, 0));
    return finish(&j, acc, -1);
}

/* The scale of each column is one number, or its own where columns are the last axis. */
static bool by_columns(const Coded *j, const CodedShape *s)
{
    int64_t n = 1, b = 1;
    const OpCall *c = j->c;
    int axis = arg_given(c, of_product.axis) ? (int)arg_int((OpCall *)c, of_product.axis) : -1;
    floats_of(c->args[of_product.scales], &n);
    bool each = c->args[of_product.scales].tag == V_TENSOR &&
                c->args[of_product.scales].tensor->rank == 1;
    if (arg_given(c, of_product.bias))
        floats_of(c->args[of_product.bias], &b);
    return s->plain && s->n.rank == 1 && (axis == -1 || axis == s->rank - 1) && each &&
           n == s->columns;
}

static Value product_by_bytes(Coded *j, const CodedShape *s, DType exact)
{
    OpCall *c = j->c;
    Tensor *codes = codes_of(j);
    if (by_columns(j, s)) {
        CodedEnd end = end_of(j, exact, s->columns);
        Tensor *out = coded_product(c, s, codes, j->w, &end);
        return op_cast(c->in, v_tensor_raw(out), j->given);
    }
    CodedEnd end = { .dt = exact, .zero = j->grid.zero,
                     .scales = columns(j, exact, v_float(1), 1, s->columns, 1),
                     .bias = columns(j, exact, v_none(), 1, s->columns, 1) };
    int axis = arg_given(c, of_product.axis) ? (int)arg_int(c, of_product.axis) : -1;
    return finish(j, v_tensor_raw(coded_product(c, s, codes, j->w, &end)), axis);
}

/* As the text says, on codes as floats. */
static Value product_by_text(Coded *j, Str *text, DType exact)
{
    OpCall *c = j->c;
    uint32_t params = 2;
    Value f = op_root(c, graph_function(c->in, text, &params));
    Value args[2] = { codes_as(j, exact), op_root(c, op_cast(c->in, v_tensor_raw(j->w), exact)) };
    const Exec *at = c->in->at;
    Value acc = op_root(c, call_value(c->in, f, args, 2));
    c->in->at = at;
    if (!v_is_numeric(acc) || dtype_info(v_dtype(acc))->kind == 'c')
        arg_error(c, of_product.text, ERR_VALUE, "text gives no tensor of real numbers");
    if (dtype_info(v_dtype(acc))->kind == 'f')      /* by a transform they are nearly whole */
        acc = op_root(c, op_unary(c->in, op_named(c->in, "rint"), acc, 0));
    int axis = arg_given(c, of_product.axis) ? (int)arg_int(c, of_product.axis) : -1;
    return finish(j, acc, axis);
}

static Value run_product(OpCall *c)
{
    Coded j;
    CodedShape shape;
    int64_t n = 1;
    read_product(&j, c);
    Str *text = arg_str(c, of_product.text);
    floats_of(c->args[of_product.scales], &n);
    const char *why = coded_shape(c->in, text, j.x.x, j.w, &shape);
    /* sums as written, where another call may transform */
    bool written = shape.written || strstr(text->text, ":=") != NULL;
    int64_t k = shape.sums ? shape.sums : n > 0 ? j.w->size / n : 0;
    DType exact = exact_dtype(&j, k, written);
    coded_tell(c, why, shape.rows, shape.columns, shape.sums);
    return why ? product_by_text(&j, text, exact) : product_by_bytes(&j, &shape, exact);
}

/* Outside of scopes: codes are what they are under autocast, too. */
static Value run_plainly(OpCall *c, Value (*run)(OpCall *))
{
    Scope *outer = c->in->scope;
    c->in->scope = NULL;
    Value r = run(c);
    c->in->scope = outer;
    return r;
}

Value op_run_matmul_i8(OpCall *c) { return run_plainly(c, run_matmul); }
Value op_run_product_i8(OpCall *c) { return run_plainly(c, run_product); }
