/* Matrix products over the rows of any format's arithmetic, and the counts of threads. The quick
 * loops of binary formats are arith_binary_product.c. */
#include "kernels/arith/arith_binary.h"

#include "core/memory/pool.h"

#include <string.h>

void arith_flags_add(ArithFlags *a, const ArithFlags *b)
{
    a->overflow += b->overflow;
    a->underflow += b->underflow;
    a->inexact += b->inexact;
    a->invalid += b->invalid;
    a->divzero += b->divzero;
}

typedef struct Product {
    const Arith *acc;
    ArithMatrix C, A, B;
    int64_t n, k;
    ArithStatus status[64];      /* per worker */
    ArithFlags flags[64];
} Product;

/* Cells by inner products, whose partial sums leave no garbage in the heap. */
static ArithStatus cells_row(Arith *a, const Product *p, int64_t i)
{
    char *c = p->C.data + i * p->C.row * a->size;
    const char *x = p->A.data + i * p->A.row * a->size;
    ArithStatus s = ARITH_OK;
    for (int64_t j = 0; j < p->n && s == ARITH_OK; j++) {
        s = a->ops->dot(a, c + j * p->C.col * a->size, x, p->A.col,
                        p->B.data + j * p->B.col * a->size, p->B.row, p->k);
        if (*a->ctx->interrupt)
            s = ARITH_INTERRUPT;
    }
    return s;
}

ArithStatus arith_product_row(Arith *a, ArithMatrix C, ArithMatrix A, ArithMatrix B, int64_t i,
                              int64_t j, int64_t n, int64_t k)
{
    char *c = C.data + (i * C.row + j * C.col) * a->size;
    const char *x = A.data + i * A.row * a->size, *b = B.data + j * B.col * a->size;
    const void *operands[] = { x, b };
    const int64_t strides[] = { 0, B.col };
    if (k == 0) {
        for (int64_t q = 0; q < n; q++)
            memset(c + q * C.col * a->size, 0, (size_t)a->size);
        return ARITH_OK;
    }
    ArithStatus s = a->ops->ew(a, EW_MULTIPLY, c, C.col, operands, strides, n);
    for (int64_t l = 1; l < k && s == ARITH_OK; l++) {
        s = a->ops->axpy(a, EW_ADD, c, C.col, x + l * A.col * a->size, b + l * B.row * a->size,
                         B.col, n);
        if (*a->ctx->interrupt)
            s = ARITH_INTERRUPT;
    }
    return s;
}

/* Draws are numbered by row, so that who computes it makes no difference. */
static void product_rows(void *arg, int64_t begin, int64_t end, int worker)
{
    Product *p = arg;
    Arith a = *p->acc;
    a.flags = (ArithFlags){ 0 };
    ArithStatus s = ARITH_OK;
    for (int64_t i = begin; i < end && s == ARITH_OK; i++) {
        a.draw = p->acc->draw + (uint64_t)(i * p->n) * (uint64_t)(2 * p->k - 1);
        s = dtype_cells(a.dtype) ? cells_row(&a, p, i)
                                 : arith_product_row(&a, p->C, p->A, p->B, i, 0, p->n, p->k);
    }
    if (s != ARITH_OK)
        p->status[worker] = s;
    arith_flags_add(&p->flags[worker], &a.flags);
}

enum { PRODUCT_GRAIN = 1 << 15 };     /* multiply-adds that pay for a thread */

ArithStatus arith_matmul(Arith *acc, ArithMatrix C, ArithMatrix A, ArithMatrix B, int64_t m,
                         int64_t n, int64_t k)
{
    Product p = { .acc = acc, .C = C, .A = A, .B = B, .n = n, .k = k };
    int64_t row = n * k > 0 ? n * k : 1;
    bool binary = acc->carrier == DT_F64, quick = binary && binary_matmul(acc, C, A, B, m, n, k);
    ArithStatus own = acc->ops->matmul ? acc->ops->matmul(acc, C, A, B, m, n, k) : ARITH_NONE;
    if (own != ARITH_NONE) {
        p.status[0] = own;
        quick = true;
    }
    if (!quick && binary && pool_threads(acc->ctx) <= 64)
        pool_for(acc->ctx, m, PRODUCT_GRAIN / row + 1, product_rows, &p);
    else if (!quick)               /* the numbers of a heap belong to one thread */
        product_rows(&p, 0, m, 0);
    ArithStatus s = *acc->ctx->interrupt ? ARITH_INTERRUPT : ARITH_OK;
    for (int w = 0; w < 64; w++) {
        arith_flags_add(&acc->flags, &p.flags[w]);
        if (s == ARITH_OK)
            s = p.status[w];
    }
    if (k > 0)
        acc->draw += (uint64_t)m * (uint64_t)n * (uint64_t)(2 * k - 1);
    return s;
}
