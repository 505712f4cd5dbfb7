/* Folds along rows, by threads, and along columns, in the order of the entries. */
#include "kernels/sparse/fold.h"

#include "kernels/sparse/rows.h"

#include <math.h>
#include <string.h>

typedef struct Fold { Csr a; CsrFold fold; char *to; const struct FoldFns *fns; } Fold;
typedef struct FoldFns {
    void (*by_rows)(const Fold *, int64_t from, int64_t to);
    void (*by_columns)(const Fold *, void *wide, int64_t *seen);
} FoldFns;

/* Is x instead of `best` the result? nan is, and stays. */
#define WINS(name, type)                                                                       \
    static inline bool name(type x, type best, bool most)                                      \
    {                                                                                          \
        return x != x || (best == best && (most ? x > best : x < best));                       \
    }
WINS(f32_wins, float)
WINS(f64_wins, double)

/* sum += the terms of entries k to end, in runs: so errors do not grow with a row's length. */
#define IN_RUNS(type, sum, term)                                                               \
    for (int64_t e = k; e < end;) {                                                            \
        const int64_t stop = end - e > RUN ? e + RUN : end;                                    \
        type part = 0;                                                                         \
        for (; e < stop; e++)                                                                  \
            part += term;                                                                      \
        sum += part;                                                                           \
    }
enum { RUN = 256 };

#define T float
#define REAL float
#define WIDE double
#define WIDE_REAL double
#define ABS(x) fabs((double)(x))
#define SQUARE(x) ((double)(x) * (double)(x))
#define ORDERED
#define FN(name) f32_##name
#include "kernels/sparse/fold.tmpl.h"
#define T double
#define REAL double
#define WIDE double
#define WIDE_REAL double
#define ABS(x) fabs(x)
#define SQUARE(x) ((x) * (x))
#define ORDERED
#define FN(name) f64_##name
#include "kernels/sparse/fold.tmpl.h"
#define T float _Complex
#define REAL float
#define WIDE double _Complex
#define WIDE_REAL double
#define ABS(x) hypot((double)__real__(x), (double)__imag__(x))
#define SQUARE(x)                                                                              \
    ((double)__real__(x) * (double)__real__(x) + (double)__imag__(x) * (double)__imag__(x))
#define FN(name) c64_##name
#include "kernels/sparse/fold.tmpl.h"
#define T double _Complex
#define REAL double
#define WIDE double _Complex
#define WIDE_REAL double
#define ABS(x) hypot(__real__(x), __imag__(x))
#define SQUARE(x) (__real__(x) * __real__(x) + __imag__(x) * __imag__(x))
#define FN(name) c128_##name
#include "kernels/sparse/fold.tmpl.h"

static const FoldFns *fns_of(DType dt)
{
    switch (dt) {
    case DT_F32: return &f32_folds;
    case DT_F64: return &f64_folds;
    case DT_C64: return &c64_folds;
    default: assert(dt == DT_C128); return &c128_folds;
    }
}

static void by_rows(void *arg, int64_t from, int64_t to, int worker)
{
    const Fold *p = arg;
    (void)worker;
    if (p->fold == CSR_COUNT)
        for (int64_t i = from; i < to; i++)
            ((int64_t *)p->to)[i] = p->a.start[i + 1] - p->a.start[i];
    else
        p->fns->by_rows(p, from, to);
}

static DType dtype_of(const Csr *a, CsrFold fold)
{
    switch (fold) {
    case CSR_COUNT: return DT_I64;
    case CSR_ABS: case CSR_SQUARES: return dtype_real(a->dtype);
    default: return a->dtype;
    }
}

static Tensor *zeros(Ctx *ctx, Made *made, DType dt, int64_t n)
{
    Tensor *t = made_vector(ctx, made, dt, n);
    memset(t->data, 0, (size_t)n * dtype_info(dt)->bytes);
    return t;
}

static void by_columns(Ctx *ctx, Made *made, const Fold *p)
{
    const bool extreme = p->fold == CSR_MAX || p->fold == CSR_MIN;
    if (p->fold == CSR_COUNT) {
        memset(p->to, 0, (size_t)p->a.n * sizeof(int64_t));
        for (int64_t e = 0; e < p->a.entries; e++)
            ((int64_t *)p->to)[p->a.column[e]]++;
        return;
    }
    const bool pairs = p->fold == CSR_SUM && dtype_info(p->a.dtype)->kind == 'c';
    Tensor *room = zeros(ctx, made, extreme ? DT_I64 : pairs ? DT_C128 : DT_F64, p->a.n);
    p->fns->by_columns(p, room->data, made_ints(room));
    made_drop(ctx, made, room);
}

Tensor *csr_fold(Ctx *ctx, Made *made, const Csr *a, CsrFold fold, int axis)
{
    Tensor *t = made_vector(ctx, made, dtype_of(a, fold), axis ? a->m : a->n);
    const Fold p = { *a, fold, t->data, fold == CSR_COUNT ? NULL : fns_of(a->dtype) };
    assert(dtype_info(a->dtype)->kind == 'f' || (fold != CSR_MAX && fold != CSR_MIN));
    if (axis)
        rows_for(ctx, a->m, a->start, by_rows, (void *)&p);
    else
        by_columns(ctx, made, &p);
    made_poll(ctx, made);
    return t;
}

typedef struct Expand { const int64_t *start; int64_t *row; } Expand;

static void expand(void *arg, int64_t from, int64_t to, int worker)
{
    const Expand *p = arg;
    (void)worker;
    for (int64_t i = from; i < to; i++)
        for (int64_t e = p->start[i]; e < p->start[i + 1]; e++)
            p->row[e] = i;
}

Tensor *csr_entry_rows(Ctx *ctx, Made *made, const Csr *a)
{
    Tensor *rows = made_vector(ctx, made, DT_I64, a->entries);
    Expand p = { a->start, made_ints(rows) };
    rows_for(ctx, a->m, a->start, expand, &p);
    made_poll(ctx, made);
    return rows;
}
