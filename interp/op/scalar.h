/* Arithmetic and comparison of scalar values, inlined into the evaluator's nodes. Each
 * function says whether it could do it; whatever it could not (overflow, division by
 * zero, tensors, a wrong kind) goes through the door, which has the same rules and the
 * messages. `op` is always a constant, so the switches vanish. */
#ifndef RICCI_INTERP_SCALAR_H
#define RICCI_INTERP_SCALAR_H

#include "interp/state/value.h"

#define SCALAR_INLINE static inline __attribute__((always_inline))

/* Ints up to here are exact as f64, so comparing them as f64 is exact too. */
#define SCALAR_EXACT ((int64_t)1 << 53)

SCALAR_INLINE bool scalar_floats(int op, double a, double b, Value *out)
{
    switch (op) {
    case TK_ADD: *out = v_float(a + b); return true;
    case TK_SUB: *out = v_float(a - b); return true;
    case TK_MUL: *out = v_float(a * b); return true;
    case TK_DIV: *out = v_float(a / b); return true;
    case TK_LT: *out = v_bool(a < b); return true;
    case TK_LE: *out = v_bool(a <= b); return true;
    case TK_GT: *out = v_bool(a > b); return true;
    case TK_GE: *out = v_bool(a >= b); return true;
    case TK_EQ: *out = v_bool(a == b); return true;
    case TK_NE: *out = v_bool(a != b); return true;
    default: return false;
    }
}

/* By squaring; false on overflow or a negative exponent. */
static inline bool scalar_int_power(int64_t base, int64_t n, int64_t *out)
{
    int64_t r = 1;
    if (n < 0)
        return false;
    for (; n; n >>= 1) {
        if ((n & 1) && __builtin_mul_overflow(r, base, &r))
            return false;
        if (n > 1 && __builtin_mul_overflow(base, base, &base))
            return false;
    }
    *out = r;
    return true;
}

SCALAR_INLINE bool scalar_floored(int op, int64_t a, int64_t b, Value *out)
{
    if (b == 0 || b == -1)      /* by zero, and INT64_MIN // -1: the door's business */
        return false;
    int64_t q = a / b, r = a % b;
    bool up = r != 0 && (r < 0) != (b < 0);
    *out = v_int(op == TK_MOD ? (up ? r + b : r) : q - up);
    return true;
}

SCALAR_INLINE bool scalar_ints(int op, int64_t a, int64_t b, Value *out)
{
    out->tag = V_INT;
    out->aux = 0;
    switch (op) {
    case TK_ADD: return !__builtin_add_overflow(a, b, &out->i);
    case TK_SUB: return !__builtin_sub_overflow(a, b, &out->i);
    case TK_MUL: return !__builtin_mul_overflow(a, b, &out->i);
    case TK_DIV: *out = v_float((double)a / (double)b); return true;
    case TK_FLOORDIV:
    case TK_MOD: return scalar_floored(op, a, b, out);
    case TK_POW: return scalar_int_power(a, b, &out->i);
    case TK_BITAND: out->i = a & b; return true;
    case TK_BITOR: out->i = a | b; return true;
    case TK_LT: *out = v_bool(a < b); return true;
    case TK_LE: *out = v_bool(a <= b); return true;
    case TK_GT: *out = v_bool(a > b); return true;
    case TK_GE: *out = v_bool(a >= b); return true;
    case TK_EQ: *out = v_bool(a == b); return true;
    case TK_NE: *out = v_bool(a != b); return true;
    default: return false;
    }
}

SCALAR_INLINE bool scalar_is_compare(int op) { return op >= TK_EQ && op <= TK_GE; }

SCALAR_INLINE bool scalar_exact(int64_t i) { return i <= SCALAR_EXACT && i >= -SCALAR_EXACT; }

/* An int beyond 2^53 with a float, exactly: such a float has no fraction, or the int's
 * side is plain from the whole part. */
static inline bool scalar_compare_exact(int op, int64_t i, double f)
{
    int order = f != f ? 2 : f >= 0x1p63 ? -1 : f < -0x1p63 ? 1
                                                            : (i > (int64_t)f) - (i < (int64_t)f);
    switch (op) {
    case TK_EQ: return order == 0;
    case TK_NE: return order != 0;
    case TK_LT: return order == -1;
    case TK_LE: return order == -1 || order == 0;
    case TK_GT: return order == 1;
    default: return order == 1 || order == 0;
    }
}

/* The comparison with its sides exchanged. */
SCALAR_INLINE int scalar_mirror(int op)
{
    return op == TK_LT ? TK_GT : op == TK_GT ? TK_LT : op == TK_LE ? TK_GE : op == TK_GE
           ? TK_LE : op;
}

/* a op b for two immediates; false sends the caller to the door. */
SCALAR_INLINE bool scalar_binary(int op, Value a, Value b, Value *out)
{
    if (a.tag == V_FLOAT) {
        if (b.tag == V_FLOAT)
            return scalar_floats(op, a.f, b.f, out);
        if (b.tag != V_INT)
            return false;
        if (!scalar_is_compare(op) || scalar_exact(b.i))
            return scalar_floats(op, a.f, (double)b.i, out);
        *out = v_bool(scalar_compare_exact(scalar_mirror(op), b.i, a.f));
        return true;
    }
    if (a.tag == V_INT) {
        if (b.tag == V_INT)
            return scalar_ints(op, a.i, b.i, out);
        if (b.tag != V_FLOAT)
            return false;
        if (!scalar_is_compare(op) || scalar_exact(a.i))
            return scalar_floats(op, (double)a.i, b.f, out);
        *out = v_bool(scalar_compare_exact(op, a.i, b.f));
        return true;
    }
    if (a.tag == V_BOOL && b.tag == V_BOOL && (op == TK_EQ || op == TK_NE ||
                                               op == TK_BITAND || op == TK_BITOR)) {
        *out = v_bool(op == TK_EQ ? a.i == b.i : op == TK_NE ? a.i != b.i :
                      op == TK_BITAND ? (a.i & b.i) : (a.i | b.i));
        return true;
    }
    return false;
}

#endif
