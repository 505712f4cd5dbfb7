/* The reduced row echelon form. Of ints and rationals it is exact (rational_linalg.c); of
 * floats by Gauss-Jordan elimination with partial pivoting, in double precision, with a
 * tolerance below which a column counts as zero. */
#include "builtins/linalg/linalg.h"
#include "builtins/exact/rational.h"

#include <float.h>
#include <math.h>

/* ---- floats ---- */
typedef struct Echelon {
    OpCall *c;
    int64_t rows, cols;
    int parts;               /* doubles per element: 2 for complex */
    double *a;               /* row-major */
    double zero;             /* up to here an element counts as zero */
} Echelon;

static double *cell(const Echelon *e, int64_t i, int64_t j)
{
    return e->a + (i * e->cols + j) * e->parts;
}

static double magnitude(const Echelon *e, int64_t i, int64_t j)
{
    const double *x = cell(e, i, j);
    return e->parts == 2 ? hypot(x[0], x[1]) : fabs(x[0]);
}

/* row r *= 1 / its element of column j, which becomes 1. */
static void make_one(Echelon *e, int64_t r, int64_t j)
{
    double _Complex pivot = __builtin_complex(cell(e, r, j)[0],
                                              e->parts == 2 ? cell(e, r, j)[1] : 0.0);
    for (int64_t k = j; k < e->cols; k++) {
        double *x = cell(e, r, k);
        if (e->parts == 1) {
            x[0] = k == j ? 1 : x[0] / creal(pivot);
            continue;
        }
        double _Complex v = k == j ? 1 : __builtin_complex(x[0], x[1]) / pivot;
        x[0] = creal(v);
        x[1] = cimag(v);
    }
}

/* row i -= its element of column j times row r. */
static void subtract_row(Echelon *e, int64_t i, int64_t r, int64_t j)
{
    const double *p = cell(e, r, 0);
    double *x = cell(e, i, 0), f = cell(e, i, j)[0], g = e->parts == 2 ? cell(e, i, j)[1] : 0;
    if (f == 0 && g == 0)
        return;
    for (int64_t k = j * e->parts; k < e->cols * e->parts; k += e->parts) {
        x[k] -= f * p[k];
        if (e->parts == 2) {
            x[k] += g * p[k + 1];
            x[k + 1] -= f * p[k + 1] + g * p[k];
        }
    }
    for (int part = 0; part < e->parts; part++)
        cell(e, i, j)[part] = 0;
}

static void swap_rows(Echelon *e, int64_t p, int64_t q)
{
    double *x = cell(e, p, 0), *y = cell(e, q, 0);
    for (int64_t k = 0; k < e->cols * e->parts && p != q; k++) {
        double keep = x[k];
        x[k] = y[k];
        y[k] = keep;
    }
}

static void echelon_reduce(Echelon *e)
{
    int64_t r = 0;
    for (int64_t j = 0; j < e->cols && r < e->rows; j++) {
        int64_t best = r;
        for (int64_t i = r + 1; i < e->rows; i++)
            if (magnitude(e, i, j) > magnitude(e, best, j))
                best = i;
        if (magnitude(e, best, j) <= e->zero) {
            for (int64_t i = r; i < e->rows; i++)
                for (int part = 0; part < e->parts; part++)
                    cell(e, i, j)[part] = 0;
            continue;
        }
        swap_rows(e, r, best);
        make_one(e, r, j);
        for (int64_t i = 0; i < e->rows; i++)
            if (i != r)
                subtract_row(e, i, r, j);
        poll_interrupt(e->c->in);
        r++;
    }
}

static bool has_rtol(const OpCall *c)
{
    return arg_given(c, 1) && c->args[1].tag != V_NONE;
}

/* What is left of rounding in a row that ought to be zero is about this large. */
static double zero_limit(OpCall *c, const Stack *a, DType given, Mat item)
{
    int64_t big = a->m > a->n ? a->m : a->n;
    double eps = mat_eps(blas_type(given));
    double rtol = has_rtol(c) ? arg_float(c, 1) : (double)big * eps;
    double norm = mat_norm1(a->type, a->n, a->m, (Mat){ item.data, item.cs, item.rs });
    return isinf(norm) ? rtol * DBL_MAX : rtol * norm;
}

Value op_run_rref(OpCall *c)
{
    Tensor *given = arg_tensor(c, 0);
    char kind = dtype_info(given->dtype)->kind;
    if (has_rtol(c) && !(arg_float(c, 1) >= 0))
        arg_error(c, 1, ERR_VALUE, "rtol must be 0 or more, but it is %g", arg_float(c, 1));
    if ((kind == 'i' || kind == 'b') && given->rank >= 2) {
        explain_numbers(c->in, "exact fractions");
        return op_exact_rref(c);
    }
    explain_routine(c->in, "Gauss-Jordan elimination with partial pivoting", NULL, NULL);
    Stack a = linalg_stack(c, 0);
    DType narrow = a.dt;
    linalg_require_finite(&a);
    bool is_complex = blas_is_complex(a.type);
    linalg_stack_retype(&a, is_complex ? DT_C128 : DT_F64);
    Out out = linalg_out(&a, a.dt, a.m, a.n, false);
    for (int64_t i = 0; i < a.count && a.m && a.n; i++) {
        Mat item = linalg_item(&a, i), to = { linalg_block(&out, i), a.n, 1 };
        mat_copy(a.bytes, a.m, a.n, item, to);
        Echelon e = { c, a.m, a.n, is_complex ? 2 : 1, (double *)(void *)to.data,
                      zero_limit(c, &a, narrow, item) };
        echelon_reduce(&e);
    }
    out.t = linalg_raise(c, out.t, narrow);
    return linalg_value(&a, &out);
}
