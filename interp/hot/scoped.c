/* Arithmetic inside `precision f64`, f32, f16 and bf16: operands are rounded to the format, so is
 * each result, and those that are not exact are counted, as flags() and `compare` tell. What else
 * is counted (overflows, what is too small, nans) happens seldom: there it leaves. A statement that
 * is left counts nothing, as the evaluator begins it anew. */
#include "interp/hot/emit.h"

#include "interp/op/optable.h"

#include <float.h>
#include <math.h>
#include <string.h>

static int64_t bits_of(double f)
{
    int64_t i;
    memcpy(&i, &f, sizeof i);
    return i;
}

int significand_of(DType format)
{
    int exponent, bits = 0;
    dtype_mini_read(format, &exponent, &bits, &(MiniStyle){ 0 });
    return bits;
}

/* ---- counting ---- */
void count_begin(Emit *e)
{
    if (e->scoped && !e->dry && !e->frame)
        store(e, load(e, e->word, e->counted), e->mark);
}

static void count(Emit *e, LlValue inexact)
{
    if (!e->dry)
        store(e, op2(e, LL_ADD, load(e, e->word, e->counted), cast(e, LL_ZEXT, inexact, e->word)),
              e->counted);
}

static LlValue size_of(Emit *e, LlValue f)
{
    return op2(e, LL_AND, cast(e, LL_BITCAST, f, e->word), word(e, INT64_MAX));
}

/* Leaves where f is no ordinary number of the format; but the exact result may be 0 or, if so,
 * infinite. */
static void special_leaves(Emit *e, LlValue f, LlValue exact, bool infinite)
{
    if (e->dry)
        return;
    int exponent, bits;
    dtype_mini_read(e->format, &exponent, &bits, &(MiniStyle){ 0 });
    const int top = (1 << (exponent - 1)) - 1;       /* the largest exponent of two */
    const int64_t least = bits_of(ldexp(1, 1 - top)) + 1,
                  most = bits_of(ldexp(2 - ldexp(1, 1 - bits), top));
    LlBlock on = block_new(e, "on"), special = block_new(e, "special");
    LlValue far = op2(e, LL_SUB, size_of(e, f), word(e, least));
    LlValue br = e->d.ll->BuildCondBr(e->d.builder, compare_ints(e, LL_UGE, far,
                                                                 word(e, most - least)),
                                      special, on);
    e->d.ll->SetMetadata(br, e->rare_kind, e->rare);
    block_enter(e, special);
    LlValue size = size_of(e, exact), fine = compare_ints(e, LL_EQ, size, word(e, 0));
    if (infinite)
        fine = op2(e, LL_OR, fine, compare_ints(e, LL_EQ, size, word(e, bits_of(INFINITY))));
    branch(e, fine, on, out_of_statement(e));
    block_enter(e, on);
}

/* Leaves where the f64 result f, or `other` (NULL: nothing), is so large or small that what the
 * operation left over might be none; but f may be 0 where p or q is. */
static void far_leaves(Emit *e, LlValue f, LlValue other, LlValue p, LlValue q)
{
    if (e->dry)
        return;
    const int64_t least = bits_of(0x1p-900), most = bits_of(0x1p990);
    LlBlock on = block_new(e, "on"), special = block_new(e, "special");
    LlValue far = NULL, sizes[] = { size_of(e, f), other ? size_of(e, other) : NULL };
    for (int i = 0; i < 2 && sizes[i]; i++) {
        LlValue outside = compare_ints(e, LL_UGE, op2(e, LL_SUB, sizes[i], word(e, least)),
                                       word(e, most - least));
        far = far ? op2(e, LL_OR, far, outside) : outside;
    }
    LlValue br = e->d.ll->BuildCondBr(e->d.builder, far, special, on);
    e->d.ll->SetMetadata(br, e->rare_kind, e->rare);
    block_enter(e, special);
    LlValue zero = op2(e, LL_OR, compare_ints(e, LL_EQ, size_of(e, p), word(e, 0)),
                       compare_ints(e, LL_EQ, size_of(e, q), word(e, 0)));
    branch(e, op2(e, LL_AND, zero, compare_ints(e, LL_EQ, sizes[0], word(e, 0))), on,
           out_of_statement(e));
    block_enter(e, on);
}

/* ---- operands ---- */
/* Ints stay ints until they meet a float. f32 has nearly all that do: to ask takes less than half
 * of what rounding and counting take. */
static LlValue whole_operand(Emit *e, Val v)
{
    const int64_t most = (int64_t)1 << FLT_MANT_DIG;
    LlValue bits = v.kind == HK_INT ? v.v : v.bits, far = NULL;
    if (!e->dry)
        far = compare_ints(e, LL_UGT, op2(e, LL_ADD, bits, word(e, most)), word(e, 2 * most));
    if (v.kind != HK_INT)
        far = op2(e, LL_AND, far, compare_ints(e, LL_EQ, v.tag, word(e, V_INT)));
    guard(e, far);
    return as_float(e, v);
}

LlValue scoped_operand(Emit *e, Val v)
{
    if (v.kind == HK_SINGLE || v.kind == e->own)
        return v.v;
    if (e->format == DT_F32 && (v.kind == HK_INT || v.kind == HK_EITHER))
        return whole_operand(e, v);
    ints_exact(e, v);
    LlValue wide = as_float(e, v);
    if (e->own == HK_FLOAT)
        return wide;
    LlValue f = rounded(e, wide);
    special_leaves(e, f, wide, true);
    count(e, compare_floats(e, LL_ONE, f, wide));
    return f;
}

/* ---- operations ---- */
/* In f32 and LLVM's hands the operation itself, which has the same bits and is sooner there. */
static LlValue operation(Emit *e, int opcode, LlValue p, LlValue q, LlValue wide)
{
    if (e->dry || e->kind == MACHINE_QUICK || e->format != DT_F32)
        return rounded(e, wide);
    return cast(e, LL_FP_EXT, op2(e, opcode, cast(e, LL_FP_TRUNC, p, e->single),
                                  cast(e, LL_FP_TRUNC, q, e->single)), e->real);
}

/* What the f64 sum of two f32 left over (Knuth's two-sum). */
static LlValue sum_lost(Emit *e, LlValue p, LlValue q, LlValue sum)
{
    LlValue t = op2(e, LL_FSUB, sum, p);
    LlValue u = op2(e, LL_FSUB, p, op2(e, LL_FSUB, sum, t));
    return op2(e, LL_FADD, u, op2(e, LL_FSUB, q, t));
}

static Val sum_emit(Emit *e, int opcode, LlValue p, LlValue q)
{
    LlValue wide = op2(e, opcode, p, q), f = wide;
    if (e->own == HK_SINGLE) {
        f = operation(e, opcode, p, q, wide);
        special_leaves(e, f, wide, true);
    } else {
        far_leaves(e, f, NULL, f, f);
    }
    if (e->dry)
        return (Val){ e->own };
    LlValue other = opcode == LL_FADD ? q : minus(e, q);
    LlValue lost = sum_lost(e, p, other, wide);
    count(e, op2(e, LL_OR, compare_floats(e, LL_ONE, f, wide),
                 compare_floats(e, LL_ONE, lost, real(e, 0))));
    return (Val){ e->own, f };
}

/* x in a half of at most 26 bits and a rest (Veltkamp). */
static LlValue high_half(Emit *e, LlValue x)
{
    LlValue c = op2(e, LL_FMUL, x, real(e, 0x1p27 + 1));
    return op2(e, LL_FSUB, c, op2(e, LL_FSUB, c, x));
}

/* Is p q not f, its nearest f64? By what the product left over (Dekker); where a factor is so large
 * that its half is infinite, that is a nan, and it leaves. */
static LlValue product_differs(Emit *e, LlValue p, LlValue q, LlValue f)
{
    if (e->dry)
        return NULL;
    LlValue ph = high_half(e, p), pl = op2(e, LL_FSUB, p, ph), qh = high_half(e, q),
            ql = op2(e, LL_FSUB, q, qh), lost = op2(e, LL_FSUB, op2(e, LL_FMUL, ph, qh), f);
    lost = op2(e, LL_FADD, lost, op2(e, LL_FMUL, ph, ql));
    lost = op2(e, LL_FADD, lost, op2(e, LL_FMUL, pl, qh));
    lost = op2(e, LL_FADD, lost, op2(e, LL_FMUL, pl, ql));
    guard(e, compare_floats(e, LL_UNO, lost, lost));
    return compare_floats(e, LL_ONE, lost, real(e, 0));
}

/* Is f times q not p? */
static LlValue product_misses(Emit *e, LlValue f, LlValue q, LlValue p)
{
    LlValue product = op2(e, LL_FMUL, f, q), differs = product_differs(e, f, q, product);
    return op2(e, LL_OR, differs, compare_floats(e, LL_ONE, product, p));
}

static Val wide_product(Emit *e, int opcode, LlValue p, LlValue q)
{
    LlValue f = op2(e, opcode, p, q);
    if (opcode == LL_FMUL) {
        far_leaves(e, f, NULL, p, q);
        count(e, product_differs(e, p, q, f));
    } else {
        far_leaves(e, f, p, p, p);
        count(e, product_misses(e, f, q, p));
    }
    return (Val){ HK_FLOAT, f };
}

/* A product of two f32 is an f64, so the quotient is exact where it gives the dividend back. */
static Val product_emit(Emit *e, int opcode, LlValue p, LlValue q)
{
    if (e->own == HK_FLOAT)
        return wide_product(e, opcode, p, q);
    LlValue wide = op2(e, opcode, p, q), f = operation(e, opcode, p, q, wide);
    special_leaves(e, f, wide, opcode == LL_FMUL);
    count(e, opcode == LL_FMUL ? compare_floats(e, LL_ONE, f, wide)
                               : compare_floats(e, LL_ONE, op2(e, LL_FMUL, f, q), p));
    return (Val){ HK_SINGLE, f };
}

Val scoped_binary(Emit *e, int op, Val a, Val b)
{
    LlValue p = scoped_operand(e, a), q = scoped_operand(e, b);
    int predicate = comparison_of_floats(op);
    if (predicate >= 0)
        return (Val){ HK_BOOL, compare_floats(e, predicate, p, q) };
    switch (op) {
    case TK_ADD: return sum_emit(e, LL_FADD, p, q);
    case TK_SUB: return sum_emit(e, LL_FSUB, p, q);
    case TK_MUL: return product_emit(e, LL_FMUL, p, q);
    case TK_DIV: return product_emit(e, LL_FDIV, p, q);
    default: return unknown(e);
    }
}

/* r: the f64 root of f, a number of the format. */
LlValue scoped_root(Emit *e, LlValue f, LlValue r)
{
    if (e->own == HK_FLOAT) {
        far_leaves(e, r, f, f, f);
        count(e, product_misses(e, r, r, f));
        return r;
    }
    LlValue root = rounded(e, r);
    count(e, compare_floats(e, LL_ONE, op2(e, LL_FMUL, root, root), f));
    return root;
}

/* What other functions gave, by the ordinary kernel. */
void scoped_result(Emit *e, const Op *op, LlValue r)
{
    if (!(op->traits & TRAIT_MOVES))
        special_leaves(e, r, real(e, 1), false);
}
