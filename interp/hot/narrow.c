/* Ints of i8, u8 and i32. Two of one dtype, or one and a literal, give one again, which has to fit;
 * with an int one is an int, with a float a float. Two of different dtypes, and what does not fit,
 * are left to the evaluator. */
#include "interp/hot/emit.h"

#include "interp/op/elementwise.h"

Val whole_of(Val v)
{
    if (hot_is_narrow(v.kind))
        v.kind = HK_INT;
    return v;
}

void narrow_fits(Emit *e, HotKind kind, LlValue v)
{
    const int64_t bits = 8 * dtype_info(hot_narrow_dtype(kind))->bytes;
    const int64_t count = (int64_t)1 << bits, least = kind == HK_U8 ? 0 : -(count / 2);
    LlValue from = op2(e, LL_SUB, v, word(e, least));
    guard(e, compare_ints(e, LL_UGE, from, word(e, count)));
}

Val narrow_of(Emit *e, HotKind kind, LlValue v)
{
    narrow_fits(e, kind, v);
    return (Val){ kind, v };
}

/* Does v take the dtype of its narrow neighbour? */
static bool adapts(HotKind kind, Val v)
{
    return v.kind == kind || (v.kind == HK_INT && v.weak);
}

static Val plain(Val v) { return (Val){ HK_INT, v.v }; }

static void literals_fit(Emit *e, HotKind kind, Val a, Val b)
{
    if (a.kind == HK_INT)
        narrow_fits(e, kind, a.v);
    if (b.kind == HK_INT)
        narrow_fits(e, kind, b.v);
}

Val narrow_binary(Emit *e, int op, Val a, Val b)
{
    HotKind kind = hot_is_narrow(a.kind) ? a.kind : b.kind;
    bool both = hot_is_narrow(a.kind) && hot_is_narrow(b.kind);
    Val other = hot_is_narrow(a.kind) ? b : a, p = plain(a), q = plain(b);
    if (e->scoped || (both && a.kind != b.kind))
        return unknown(e);
    if (other.kind == HK_FLOAT) {
        Val f = { HK_FLOAT, as_float(e, plain(hot_is_narrow(a.kind) ? a : b)) };
        Val strong = { HK_FLOAT, other.v };
        return hot_is_narrow(a.kind) ? binary_emit(e, op, f, strong)
                                     : binary_emit(e, op, strong, f);
    }
    if (!both && other.kind != HK_INT)
        return unknown(e);
    bool narrow = adapts(kind, a) && adapts(kind, b) && op != TK_DIV &&
                  comparison_of_floats(op) < 0;
    if (narrow)
        literals_fit(e, kind, a, b);
    Val r = binary_emit(e, op, p, q);
    return !narrow || e->failed ? r : narrow_of(e, kind, r.v);
}

Val narrow_row(Emit *e, const Op *op, const Exec *x, Val a, Val b)
{
    HotKind kind = hot_is_narrow(a.kind) ? a.kind : b.kind;
    bool two = x->count == 2;
    Val r;
    if (e->scoped || !adapts(kind, a) || (two && !adapts(kind, b)) ||
        (op->ew != EW_ABS && op->ew != EW_SIGN && op->ew != EW_MINIMUM && op->ew != EW_MAXIMUM))
        return unknown(e);
    literals_fit(e, kind, a, two ? b : a);
    if (!row_of_ints(e, op, x, plain(a), plain(b), &r))
        return unknown(e);
    return narrow_of(e, kind, r.v);
}
