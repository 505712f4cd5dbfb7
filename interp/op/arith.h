/* Scalar arithmetic on immediates (bool, int, float): the rules of scalars in one place.
 * The door and the evaluator's slow paths use it; results are the same, bit for bit, as
 * the tensor path gives for one element, but that ints raise instead of wrapping. */
#ifndef RICCI_INTERP_ARITH_H
#define RICCI_INTERP_ARITH_H

#include "interp/op/op.h"

static inline bool v_immediate(Value v)
{
    return v.tag - V_BOOL <= V_FLOAT - V_BOOL;
}

/* The number as f64; v is an immediate. */
static inline double v_number(Value v)
{
    return v.tag == V_FLOAT ? v.f : (double)v.i;
}

/* Both are immediates. Any operator of ops.def that is elementwise. */
Value arith_binary(Interp *, Operator, Value a, Value b);
Value arith_unary(Interp *, Operator, Value a);
/* An elementwise row on immediates: sqrt(2.0), maximum(a, b). */
Value arith_call(Interp *, const Op *, const Value *args, int n);

/* Integer arithmetic with checks. NO_RESULT: out of the 64-bit range; DIV_ZERO: // or %
 * by zero; NEGATIVE_POWER: the result is a float. */
typedef enum IntOutcome { INT_OK, INT_RANGE, INT_DIV_ZERO, INT_NEGATIVE_POWER, INT_NOT } IntOutcome;

/* `a + b` does not fit `dtype`. */
_Noreturn void arith_range_error(Interp *, const Op *, DType, const int64_t *values, int n);
/* & | xor of a bool with an int. */
_Noreturn void arith_bits_error(Interp *, const Op *, const Value *args);
_Noreturn void arith_division_error(Interp *, const Op *, Value a);

/* + * and comparisons of strings and tuples, == of anything else. True if it is theirs;
 * `take` as in op_binary_take: bit 0 says that a may be changed and moved into *result. */
bool arith_other(Interp *, const Op *, Value a, Value b, bool take, Value *result);
/* The type error for operands that an operation does not take. */
_Noreturn void arith_type_error(Interp *, const Op *, const Value *args, int n);

/* `a string`, `an int`, `a 2×3 f32 tensor`: for messages. */
const char *v_article(Value, char *out, size_t cap);

#endif
