/* Complex numbers: sums, products and comparisons as instructions, all else by the kernels of the
 * rows. Real operands become complex with a zero, as the evaluator's do. */
#include "interp/hot/emit.h"

#include "interp/op/elementwise.h"

#include <stddef.h>

static bool as_complex(Emit *e, Val v, Val *out)
{
    bool plain = v.kind == HK_INT || v.kind == HK_FLOAT || v.kind == HK_NUMBER;
    *out = plain ? (Val){ HK_COMPLEX, as_float(e, v), .im = real(e, 0) } : v;
    return plain || v.kind == HK_COMPLEX;
}

/* The textbook's product, with the roundings of the kernels. */
static Val product(Emit *e, Val x, Val y)
{
    LlValue re = op2(e, LL_FADD, op2(e, LL_FMUL, x.v, y.v), op2(e, LL_FMUL, minus(e, x.im), y.im));
    LlValue im = op2(e, LL_FADD, op2(e, LL_FMUL, x.v, y.im), op2(e, LL_FMUL, x.im, y.v));
    return (Val){ HK_COMPLEX, re, .im = im };
}

static Val comparison(Emit *e, bool same, Val x, Val y)
{
    int predicate = same ? LL_OEQ : LL_UNE;
    return (Val){ HK_BOOL, op2(e, same ? LL_AND : LL_OR, compare_floats(e, predicate, x.v, y.v),
                               compare_floats(e, predicate, x.im, y.im)) };
}

Val complex_binary(Emit *e, int op, Val a, Val b)
{
    Val x, y;
    if (!as_complex(e, a, &x) || !as_complex(e, b, &y))
        return unknown(e);
    switch (op) {
    case TK_ADD:
        return (Val){ HK_COMPLEX, op2(e, LL_FADD, x.v, y.v), .im = op2(e, LL_FADD, x.im, y.im) };
    case TK_SUB:
        return (Val){ HK_COMPLEX, op2(e, LL_FSUB, x.v, y.v), .im = op2(e, LL_FSUB, x.im, y.im) };
    case TK_MUL: return product(e, x, y);
    case TK_EQ:
    case TK_NE: return comparison(e, op == TK_EQ, x, y);
    case TK_DIV:
    case TK_POW: return complex_row(e, e->in->ops->by_operator[op], x, y, true);
    default: return unknown(e);
    }
}

static double call_kernel(EwFn f, double *im, double a, double b, double c, double d)
{
    double out[2] = { 0, 0 };
    const double x[2] = { a, b }, y[2] = { c, d };
    f(out, 1, (const void *const[]){ x, y }, (const int64_t[]){ 1, 1 }, 1);
    *im = out[1];
    return out[0];
}

static void kernel_call(Emit *e, EwFn f, Val x, Val y, Val *r)
{
    if (e->dry)
        return;
    LlType pointer = e->d.ll->PointerType(e->real, 0);
    LlType types[] = { e->word, pointer, e->real, e->real, e->real, e->real };
    LlValue im = word_at(e, offsetof(HotRecord, im), e->real);
    LlValue args[] = { word(e, (int64_t)(intptr_t)f), im, x.v, x.im, y.v, y.im };
    r->v = call_pointer(e, (void *)call_kernel, e->real, types, args, 6);
    r->im = load(e, e->real, im);
}

/* complex(re, im) is re + im * 1i, in every bit. */
Val complex_of(Emit *e, DType dt, const Exec *x)
{
    Val unit = { HK_COMPLEX, real(e, 0), .im = real(e, 1) };
    Val re = expression(e, x->list[0]), im = { HK_INT, word(e, 0) };
    if (x->count == 2 && !e->failed)
        im = expression(e, x->list[1]);
    if (e->failed || dt != DT_C128 || e->scoped)
        return unknown(e);
    im = complex_binary(e, TK_MUL, im, unit);
    return e->failed ? im : complex_binary(e, TK_ADD, re, im);
}

/* A nan is left to the row, as with real numbers. */
Val complex_row(Emit *e, const Op *op, Val a, Val b, bool two)
{
    Val x, y;
    if (op->cls != OPC_EW || ew_info[op->ew].arity != (two ? 2 : 1) ||
        ew_compute_dtype(op->ew, DT_C128) != DT_C128 || !as_complex(e, a, &x) ||
        !as_complex(e, two ? b : a, &y))
        return unknown(e);
    DType result = ew_result_dtype(op->ew, DT_C128);
    if (result != DT_C128 && result != DT_F64)
        return unknown(e);
    Val r = { result == DT_F64 ? HK_FLOAT : HK_COMPLEX };
    kernel_call(e, ew_kernel(op->ew, DT_C128), x, y, &r);
    guard(e, compare_floats(e, LL_UNO, r.v, r.v));
    if (r.kind == HK_COMPLEX)
        guard(e, compare_floats(e, LL_UNO, r.im, r.im));
    return r;
}
