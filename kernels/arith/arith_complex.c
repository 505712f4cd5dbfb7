/* Complex arithmetic over any format: see arith_complex.h. */
#include "kernels/arith/arith_complex.h"

#include <string.h>

static ArithStatus real_op(Arith *a, EwOp op, void *out, const void *x, int64_t sx,
                           const void *y, int64_t sy, int64_t n)
{
    return a->ops->ew(a, op, out, 1, (const void *const[]){ x, y }, (const int64_t[]){ sx, sy }, n);
}

/* out = x y + sign u v: three roundings. */
typedef struct Products { const void *x, *y, *u, *v; int64_t sx, sy; } Products;

static ArithStatus sum_of_products(Arith *a, EwOp sign, void *out, Products f, int64_t n)
{
    ArithStrip p, q;
    ArithStatus s = real_op(a, EW_MULTIPLY, &p, f.x, f.sx, f.y, f.sy, n);
    if (s == ARITH_OK)
        s = real_op(a, EW_MULTIPLY, &q, f.u, f.sx, f.v, f.sy, n);
    return s == ARITH_OK ? real_op(a, sign, out, &p, 1, &q, 1, n) : s;
}

static ArithStatus multiply(Arith *a, void *re, void *im, ArithPair x, ArithPair y, int64_t n)
{
    ArithStatus s = sum_of_products(a, EW_SUBTRACT, re,
                                    (Products){ x.re, y.re, x.im, y.im, x.step, y.step }, n);
    if (s == ARITH_OK)
        s = sum_of_products(a, EW_ADD, im, (Products){ x.re, y.im, x.im, y.re, x.step, y.step }, n);
    return s;
}

/* (x conj y) / |y|^2 */
static ArithStatus divide(Arith *a, void *re, void *im, ArithPair x, ArithPair y, int64_t n)
{
    ArithStrip d;
    ArithStatus s =
        sum_of_products(a, EW_ADD, &d, (Products){ y.re, y.re, y.im, y.im, y.step, y.step }, n);
    if (s == ARITH_OK)
        s = sum_of_products(a, EW_ADD, re, (Products){ x.re, y.re, x.im, y.im, x.step, y.step }, n);
    if (s == ARITH_OK)
        s = sum_of_products(a, EW_SUBTRACT, im,
                            (Products){ x.im, y.re, x.re, y.im, x.step, y.step }, n);
    if (s == ARITH_OK)
        s = real_op(a, EW_DIVIDE, re, re, 1, &d, 1, n);
    return s == ARITH_OK ? real_op(a, EW_DIVIDE, im, im, 1, &d, 1, n) : s;
}

ArithStatus arith_complex(Arith *a, EwOp op, void *re, void *im, ArithPair x, ArithPair y,
                          int64_t n)
{
    ArithStatus s;
    switch (op) {
    case EW_ADD: case EW_SUBTRACT:
        s = real_op(a, op, re, x.re, x.step, y.re, y.step, n);
        return s == ARITH_OK ? real_op(a, op, im, x.im, x.step, y.im, y.step, n) : s;
    case EW_MULTIPLY: return multiply(a, re, im, x, y, n);
    case EW_DIVIDE: return divide(a, re, im, x, y, n);
    case EW_ABS:
        if (a->carrier != DT_F64 && a->dtype != DT_RATIONAL)
            return real_op(a, EW_HYPOT, re, x.re, x.step, x.im, x.step, n);
        s = sum_of_products(a, EW_ADD, re, (Products){ x.re, x.re, x.im, x.im, x.step, x.step }, n);
        return s == ARITH_OK ? a->ops->ew(a, EW_SQRT, re, 1, (const void *const[]){ re },
                                          (const int64_t[]){ 1 }, n)
                             : s;
    default: return ARITH_NONE;
    }
}

void arith_pairs_put(const Arith *a, void *to, int64_t step, const void *re, const void *im,
                     int64_t n)
{
    int64_t size = a->size;
    char *out = to;
    for (int64_t i = 0; i < n; i++, out += 2 * step * size) {
        memcpy(out, (const char *)re + i * size, (size_t)size);
        memcpy(out + size, (const char *)im + i * size, (size_t)size);
    }
}
