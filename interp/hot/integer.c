/* Rows of ints that are an instruction or two, and powers. What overflows, and what the row has
 * something to say of, leaves. */
#include "interp/hot/emit.h"

#include "interp/op/elementwise.h"
#include "interp/op/scalar.h"

#include <stddef.h>

/* ---- one int ---- */
static LlValue below_zero(Emit *e, Val a) { return compare_ints(e, LL_SLT, a.v, word(e, 0)); }

static Val size_of_int(Emit *e, Val a)
{
    guard(e, compare_ints(e, LL_EQ, a.v, word(e, INT64_MIN)));
    LlValue minus = op2(e, LL_SUB, word(e, 0), a.v);
    return (Val){ HK_INT, choose(e, below_zero(e, a), minus, a.v) };
}

static Val sign_of_int(Emit *e, Val a)
{
    LlValue above = compare_ints(e, LL_SGT, a.v, word(e, 0));
    LlValue up = choose(e, above, word(e, 1), word(e, 0));
    return (Val){ HK_INT, choose(e, below_zero(e, a), word(e, -1), up) };
}

static bool row_of_one(Emit *e, const Op *op, Val a, Val *out)
{
    switch (op->ew) {
    case EW_ABS: *out = size_of_int(e, a); return true;
    case EW_SIGN: *out = sign_of_int(e, a); return true;
    case EW_INVERT: *out = (Val){ HK_INT, op2(e, LL_XOR, a.v, word(e, -1)) }; return true;
    case EW_FLOOR: case EW_CEIL: case EW_TRUNC: case EW_ROUND: case EW_POSITIVE:
        *out = (Val){ HK_INT, a.v };
        return true;
    default: return false;
    }
}

/* ---- two ---- */
static int64_t shifted(int64_t left, int64_t a, int64_t n)
{
    enum { BITS = 64 };
    if (left)
        return n < BITS ? (int64_t)((uint64_t)a << n) : 0;
    return a >> (n < BITS ? n : BITS - 1);
}

/* A count that is known is part of the instruction. */
static Val shift_emit(Emit *e, bool left, Val a, Val b, const Exec *by)
{
    enum { BITS = 64 };
    int64_t n;
    if (is_int_constant(by, &n) && n >= 0 && n < BITS)
        return (Val){ HK_INT, op2(e, left ? LL_SHL : LL_ASHR, a.v, b.v) };
    guard(e, below_zero(e, b));
    LlType types[] = { e->word, e->word, e->word };
    LlValue args[] = { word(e, left), a.v, b.v };
    return (Val){ HK_INT, call_pointer(e, (void *)shifted, e->word, types, args, 3) };
}

bool row_of_ints(Emit *e, const Op *op, const Exec *x, Val a, Val b, Val *out)
{
    static const struct { uint16_t ew, code; } bitwise[] = {
        { EW_BITAND, LL_AND }, { EW_BITOR, LL_OR }, { EW_XOR, LL_XOR },
    };
    if (x->count == 1)
        return row_of_one(e, op, a, out);
    if (op->ew == EW_SHL || op->ew == EW_SHR) {
        *out = shift_emit(e, op->ew == EW_SHL, a, b, x->list[1]);
        return true;
    }
    *out = (Val){ HK_INT };
    if (op->ew == EW_MINIMUM || op->ew == EW_MAXIMUM) {
        LlValue first = compare_ints(e, op->ew == EW_MINIMUM ? LL_SLT : LL_SGT, a.v, b.v);
        out->v = choose(e, first, a.v, b.v);
        return true;
    }
    for (int i = 0; i < (int)(sizeof bitwise / sizeof *bitwise); i++)
        if (bitwise[i].ew == op->ew) {
            out->v = op2(e, bitwise[i].code, a.v, b.v);
            return true;
        }
    return false;
}

/* ---- powers ---- */
/* HotRecord.failed: it overflows, or the exponent is negative. */
static int64_t power(HotRecord *r, int64_t base, int64_t n)
{
    int64_t v = 0;
    r->failed = !scalar_int_power(base, n, &v);
    return v;
}

Val power_of_ints(Emit *e, Val a, Val b)
{
    LlType types[] = { e->dry ? NULL : e->d.ll->PointerType(e->word, 0), e->word, e->word };
    LlValue args[] = { e->record, a.v, b.v };
    LlValue v = call_pointer(e, (void *)power, e->word, types, args, 3);
    LlValue failed = load(e, e->word, word_at(e, offsetof(HotRecord, failed), e->word));
    guard(e, compare_ints(e, LL_NE, failed, word(e, 0)));
    return (Val){ HK_INT, v };
}
