/* Norms. Sums of squares beyond the range of doubles are taken once more, of
 * elements scaled by the largest. */
#include "kernels/grid/grid_rank.h"
#include "kernels/lapack/norms.h"

#include <math.h>
#include <string.h>

/* The slab as a matrix by columns: inner elements and rows are one. */
static Mat slab_mat(const GridTensor *t, bool turned)
{
    int64_t rows = t->slab.rows * t->slab.inner;
    rows = rows < 1 ? 1 : rows;
    return turned ? (Mat){ grid_data(t), rows, 1 } : (Mat){ grid_data(t), 1, rows };
}

/* A fold of each column (turned: row) of the slab. */
static void fold_lines(const GridTensor *t, NormFold how, bool turned, double *line)
{
    int64_t rows = t->slab.rows * t->slab.inner, cols = t->slab.cols;
    norms_fold_columns(blas_type(t->dtype), how, turned ? cols : rows, turned ? rows : cols,
                       slab_mat(t, turned), line);
}

/* Pairwise. */
static double sum_of(const double *x, int64_t n)
{
    double sum = 0;
    if (n > 32)
        return sum_of(x, n / 2) + sum_of(x + n / 2, n - n / 2);
    for (int64_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

static double most_of(const double *x, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        most = norms_fold_two(FOLD_MAX, most, x[i]);
    return most;
}

static double slab_scaled(const GridTensor *t, double most)
{
    double sum = 0;
    for (int64_t i = 0; i < t->slab.size; i++) {
        double v = mat_abs(blas_type(t->dtype), grid_data(t), i) / most;
        sum += v * v;
    }
    return sum;
}

static double norm_largest(GridRank *g, const GridTensor *t, double *line)
{
    fold_lines(t, FOLD_MAX, false, line);
    return grid_largest(g, SCOPE_ALL, most_of(line, t->slab.cols));
}

static double norm_squares(GridRank *g, const GridTensor *t, double *line)
{
    fold_lines(t, FOLD_SQUARES, false, line);
    double sum = grid_sum(g, SCOPE_ALL, sum_of(line, t->slab.cols));
    if (sum > 0x1p-900 && sum < 0x1p1000)
        return sqrt(sum);
    double most = norm_largest(g, t, line);
    if (most == 0 || !isfinite(most))
        return most;
    return most * sqrt(grid_sum(g, SCOPE_ALL, slab_scaled(t, most)));
}

/* The largest sum along columns, or rows, which several ranks have parts of. */
static double norm_lines(GridRank *g, const GridTensor *t, bool rows, double *line)
{
    GridScope along = rows ? SCOPE_ROW : SCOPE_COLUMN;
    int64_t n = rows ? t->slab.rows : t->slab.cols;
    double *parts = line + n;
    fold_lines(t, FOLD_SUM, rows, line);
    for (int k = 0; k < grid_members(g, along); k++) {
        double *part = parts + n;
        memcpy(part, line, (size_t)n * sizeof *line);
        grid_share(g, along, k, part, (size_t)n * sizeof *line);
        for (int64_t i = 0; i < n; i++)
            parts[i] = k ? parts[i] + part[i] : part[i];
    }
    return grid_largest(g, SCOPE_ALL, most_of(parts, n));
}

/* Room for `line`. */
static double *norm_work(GridRank *g, const GridTensor *t)
{
    int64_t n = t->slab.rows > t->slab.cols ? t->slab.rows : t->slab.cols;
    return grid_work(g, 3 * (size_t)n + 1, sizeof(double));
}

double grid_norm_one(GridRank *g, const GridTensor *t)
{
    double *line = norm_work(g, t);
    grid_agree(g);
    return norm_lines(g, t, false, line);
}

void grid_do_norm(GridRank *g, Wire *in, Buf *out)
{
    const GridTensor *t = grid_find(g, wire_get_u64(in));
    uint64_t kind = wire_get_u64(in);
    if (blas_type(t->dtype) == BLAS_TYPES || kind > GRID_NORM_MAX ||
        (t->axes > 2 && (kind == GRID_NORM_ONE || kind == GRID_NORM_INF)))
        err_raise(g->ctx, ERR_DEVICE, "a norm that there is not");
    double *line = norm_work(g, t), norm;
    grid_agree(g);
    switch ((GridNorm)kind) {
    case GRID_NORM_FRO: norm = norm_squares(g, t, line); break;
    case GRID_NORM_ONE: norm = norm_lines(g, t, false, line); break;
    case GRID_NORM_INF: norm = norm_lines(g, t, true, line); break;
    default: norm = norm_largest(g, t, line);
    }
    wire_f64(out, norm);
}
