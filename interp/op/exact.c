/* Rationals at the door: see exact.h. Kernels do the arithmetic and report a status, which becomes
 * an error here. */
#include "interp/op/exact.h"

#include "core/system/c_locale.h"
#include "core/base/error.h"
#include "interp/op/arith.h"
#include "interp/op/elementwise.h"
#include "interp/op/heard.h"
#include "interp/op/optable.h"
#include "interp/state/scope.h"
#include "kernels/tensor/iter.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool exact_value(Value v)
{
    if (v.tag == V_TENSOR)
        return v.tensor->dtype == DT_RATIONAL;
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++) {
        Value item = v.tuple->items[i];
        if (item.tag == V_TENSOR ? item.tensor->dtype == DT_RATIONAL
                                 : item.tag == V_TUPLE && exact_value(item))
            return true;
    }
    return false;
}

/* ---- which function runs ---- */

void exact_refuse(OpCall *c, int i)
{
    char help[192];
    const char *text = arg_text(c, i);
    bool known = arg_written(c, i) != NULL, alone = true,
         scalar = i < c->count && c->args[i].tag == V_TENSOR &&
                                c->args[i].tensor->rank == 0;
    for (int k = 0; k < c->count; k++)
        alone &= k == i || c->args[k].tag == V_UNDEF;
    snprintf(help, sizeof help, alone ? "compute in floats: %s(%s(%s))"
                                      : "compute in floats: %.0s%s(%s)", c->op->name,
             scalar ? "float" : "f64", text);
    if (!known)
        snprintf(help, sizeof help, "compute in floats: f64(…)");
    if (precise_scope(c->in))                  /* where every float becomes a fraction again */
        snprintf(help, sizeof help, "compute in floats: precision f64 { %s(%s%s) }", c->op->name,
                 text, alone ? "" : ", …");
    arg_error_help(c, i, ERR_DTYPE, help,
                   "%s is rational, which %s does not take", text, c->op->name);
}

Value (*exact_choose(OpCall *c))(OpCall *)
{
    int first = -1;
    Value (*run)(OpCall *) = c->op->exact;
    rational_collect(&c->in->ctx);
    if (!run && !c->op->dtypes)               /* of any value: append does not read its tuple */
        return c->op->run;
    for (int i = 0; i < c->count && first < 0; i++)
        if (exact_value(c->args[i]))
            first = i;
    if (first < 0)
        return c->op->run;
    if (!run)
        exact_refuse(c, first);
    if (explain_on(c->in))
        explain_numbers(c->in, "exact fractions");
    return run;
}

/* ---- literals ---- */

/* The text of operand i, where it is the literal of this value. */
static bool literal_text(Interp *in, int i, double x, char *out, size_t cap)
{
    const char *text = err_operand_text(&in->ctx, i);
    size_t n = 0;
    for (; *text && n + 1 < cap; text++)
        if (*text != '_' && *text != ' ')
            out[n++] = *text;
    out[n] = '\0';
    if (*text || n == 0 || strspn(out, "0123456789.eE+-") != n)
        return false;
    char *end;
    return c_strtod(out, &end) == x && *end == '\0';
}

static bool read_text(Interp *in, const char *text, Rational *out)
{
    RationalStatus s = rational_from_text(&in->ctx, out, text, strlen(text));
    if (s != RATIONAL_OK)
        rational_raise(&in->ctx, s, text);
    return true;
}

bool exact_written(Interp *in, int i, double x, Rational *out)
{
    char text[72];
    return isfinite(x) && literal_text(in, i, x, text, sizeof text) && read_text(in, text, out);
}

void exact_shortest(double x, char *text, size_t cap)
{
    for (int digits = 1; digits <= 17; digits++) {
        c_snprintf(text, cap, "%.*g", digits, x);
        if (c_strtod(text, NULL) == x)
            break;
    }
}

bool exact_literal(Interp *in, int i, double x, Rational *out)
{
    char text[72];
    if (!isfinite(x) || fabs(x) == M_PI)
        return false;
    if (exact_written(in, i, x, out))
        return true;
    exact_shortest(x, text, sizeof text);
    return read_text(in, text, out);
}

void exact_store(Ctx *ctx, Rational *dst, Value v)
{
    RationalStatus s;
    if (v.tag == V_TENSOR)
        s = rational_from(ctx, dst, (DType)v.tensor->dtype, v.tensor->data);
    else if (v.tag == V_FLOAT)
        s = rational_from_f64(ctx, dst, v.f);
    else
        s = rational_from(ctx, dst, DT_I64, &v.i);
    if (s != RATIONAL_OK)
        rational_raise(ctx, s, "rational");
}

/* ---- errors ---- */

/* `float(x)`, `f64(A)`: operand i in floats, to be pasted. */
static const char *in_floats(Interp *in, const Tensor *t, int i, char *out, size_t cap)
{
    const char *text = err_operand_name(&in->ctx, i);
    snprintf(out, cap, "%s(%s)", t && t->rank == 0 ? "float" : "f64", text ? text : "…");
    return out;
}

static void help_floats(Interp *in, Error *e, const Op *op, const Tensor *first)
{
    char a[112];
    in_floats(in, first, 0, a, sizeof a);
    int arity = op->cls == OPC_EW ? ew_info[op->ew].arity : 1;
    if (precise_scope(in)) {                   /* where every float becomes a fraction again */
        const char *x = err_operand_text(&in->ctx, 0);
        if (arity == 2 && op->infix)
            err_help(e, "compute in floats: precision f64 { %s %s %s }", x, op->infix,
                     err_operand_text(&in->ctx, 1));
        else
            err_help(e,
                     arity == 1 ? "compute in floats: precision f64 { %s(%s) }"
                                : "compute in floats: precision f64 { … }",
                     op->name, x);
        return;
    }
    if (arity == 2 && op->infix)
        err_help(e, "compute in floats: %s %s %s", a, op->infix, err_operand_text(&in->ctx, 1));
    else if (arity == 1)
        err_help(e, "compute in floats: %s(%s)", op->name, a);
    else
        err_help(e, "compute in floats: f64(…)");
}

_Noreturn static void raise_status(Interp *in, const Op *op, RationalStatus s, const Tensor *first)
{
    char name[48];
    op_label(op, name, sizeof name);
    Error *e;
    if (s == RATIONAL_INTERRUPT)
        poll_interrupt(in);
    if (s == RATIONAL_DIVISION) {
        e = err_new(&in->ctx, ERR_VALUE,
                    "%s: division of a rational by zero: rationals have no infinity", name);
        err_underline(e, 1);
        help_floats(in, e, op, first);
    } else if (s == RATIONAL_INEXACT && op->ew == EW_POWER && op->cls == OPC_EW) {
        e = err_new(&in->ctx, ERR_VALUE,
                    "%s: a rational to a power that is no integer is no fraction in general",
                    name);
        err_underline(e, 1);
        help_floats(in, e, op, first);
    } else if (s == RATIONAL_INEXACT) {
        e = err_new(&in->ctx, ERR_VALUE, "%s of %s is no fraction", op->name,
                    err_operand_text(&in->ctx, 0));
        err_underline(e, 0);
        help_floats(in, e, op, first);
    } else {
        rational_raise(&in->ctx, s, name);
    }
    err_throw(e);
}

void exact_raise(Interp *in, const Op *op, RationalStatus s) { raise_status(in, op, s, NULL); }

_Noreturn static void raise_no_form(Interp *in, const Op *op, Tensor *const *t, int n)
{
    char name[48];
    int i = 0;
    while (i + 1 < n && t[i]->dtype != DT_RATIONAL)
        i++;
    bool floats = strchr(op->dtypes, 'f') != NULL;
    Error *e = err_new(&in->ctx, ERR_DTYPE,
                       floats ? "%s of a rational is no fraction in general: %s is rational"
                              : "%s takes bools and ints: %s is rational",
                       op_label(op, name, sizeof name), err_operand_text(&in->ctx, i));
    err_underline(e, i);
    if (floats)
        help_floats(in, e, op, t[0]);
    err_throw(e);
}

/* ---- elementwise ---- */

typedef struct Loop {
    Ctx *ctx;
    RationalForm form;
    Tensor *out;
    const Rational *x[3];
    int n;
} Loop;

static RationalStatus loop_run(const Loop *l, const Iter *it)
{
    int inner = it->rank - 1;
    int64_t n = it->shape[inner], bytes = dtype_info(l->out->dtype)->bytes, at[ITER_OPERANDS];
    RationalStatus s = RATIONAL_OK;
    for (int64_t row = 0; row * n < it->size && s == RATIONAL_OK; row++) {
        const void *x[3];
        int64_t steps[3];
        iter_seek(it, inner, row, at);
        for (int k = 0; k < l->n; k++) {
            x[k] = l->x[k] + at[k + 1];
            steps[k] = it->stride[k + 1][inner];
        }
        s = rational_row(&l->form, l->ctx, l->out->data + at[0] * bytes, it->stride[0][inner], x,
                         steps, n);
    }
    return s;
}

static int result_shape(Interp *in, const Op *op, Tensor *const *t, int n, int64_t *shape)
{
    int rank = 0, bad;
    for (int i = 0; i < n; i++) {
        int64_t both[TENSOR_RANK_MAX];
        int r = shape_broadcast(rank, shape, t[i]->rank, tensor_shape(t[i]), both, &bad);
        if (r < 0)
            ew_shape_error(in, op, t, i + 1);
        rank = r;
        memcpy(shape, both, (size_t)r * sizeof *shape);
    }
    return rank;
}

Value exact_elementwise(Interp *in, const Op *op, Tensor *const *operands, int n, bool covector)
{
    Ctx *ctx = &in->ctx;
    Value *mark = in->sp;
    int64_t shape[TENSOR_RANK_MAX];
    Loop l;
    const Tensor *all[ITER_OPERANDS] = { NULL };
    Iter it;
    l.ctx = ctx;
    l.n = n;
    if (!rational_form(op->ew, &l.form))
        raise_no_form(in, op, operands, n);
    int rank = result_shape(in, op, operands, n, shape);
    for (int i = 0; i < n; i++) {
        Tensor *t = tensor_cast(ctx, operands[i], DT_RATIONAL);
        if (t == operands[i])
            /* the caller's, perhaps on the C stack: none that an error may release */
            tensor_release(ctx, t);
        else
            v_push(in, v_tensor_raw(t));
        all[i + 1] = t;
        l.x[i] = (const Rational *)(const void *)t->data;
    }
    l.out = tensor_new(ctx, l.form.result, rank, shape);
    v_push(in, v_tensor_raw(l.out));
    all[0] = l.out;
    if (l.out->size > 0) {
        iter_init(&it, n + 1, all);
        RationalStatus s = loop_run(&l, &it);
        if (s != RATIONAL_OK)
            raise_status(in, op, s, operands[0]);
    }
    l.out->flags = covector ? TENSOR_COVECTOR : 0;
    Value r = v_tensor(ctx, tensor_retain(l.out));
    stack_cut(in, mark);
    return r;
}
