/* Incomplete factors of numbers T, as own.tmpl.h has them. place[j]: where column j stands in the
 * row at hand, or -1. */

static int64_t NAME(incomplete_lu)(Hold *work, const Csr *a, const int64_t *diagonal, void *to)
{
    T *v = to;
    int64_t *place = hold_ints(work, a->n);
    memcpy(v, a->value, (size_t)a->entries * sizeof(T));
    memset(place, -1, (size_t)a->n * sizeof *place);
    for (int64_t i = 0; i < a->n; i++) {
        const int64_t from = a->start[i], end = a->start[i + 1];
        for (int64_t e = from; e < end; e++)
            place[a->column[e]] = e;
        for (int64_t e = from; e < end && a->column[e] < i; e++) {
            const int64_t k = a->column[e];
            const T f = v[e] = v[e] / v[diagonal[k]];
            hold_work(work, 2 * (a->start[k + 1] - diagonal[k]));
            for (int64_t x = diagonal[k] + 1; x < a->start[k + 1]; x++)
                if (place[a->column[x]] >= 0)
                    v[place[a->column[x]]] -= MUL(f, v[x]);
        }
        if (diagonal[i] < 0 || v[diagonal[i]] == 0)
            return i;
        for (int64_t e = from; e < end; e++)
            place[a->column[e]] = -1;
    }
    return -1;
}

static int64_t NAME(incomplete_cholesky)(Hold *work, const Csr *a, const int64_t *diagonal,
                                         void *to)
{
    T *v = to, *row = hold_zero(work, a->n, sizeof(T));
    const T *given = a->value;
    for (int64_t i = 0; i < a->n; i++) {
        const int64_t from = a->start[i], d = diagonal[i];
        if (d < 0)
            return i;
        REAL pivot = (REAL)given[d];
        for (int64_t e = from; e < d; e++) {
            const int64_t k = a->column[e];
            T sum = given[e];
            hold_work(work, 2 * (diagonal[k] - a->start[k]));
            for (int64_t x = a->start[k]; x < diagonal[k]; x++)
                sum -= MUL(row[a->column[x]], CONJ(v[x]));
            v[e] = row[k] = sum / (REAL)v[diagonal[k]];
            pivot -= SQUARE(v[e]);
        }
        if (!(pivot > 0))
            return i;
        v[d] = ROOT(pivot);
        for (int64_t e = from; e < d; e++)
            row[a->column[e]] = 0;
        for (int64_t e = d + 1; e < a->start[i + 1]; e++)
            v[e] = 0;
    }
    return -1;
}

/* x = L^-1 x by rows; unit: its diagonal is 1. And by the rows' adjoint, from the last. */
static void NAME(rows_down)(const Csr *a, const int64_t *diagonal, bool unit, T *x)
{
    const T *v = a->value;
    for (int64_t i = 0; i < a->n; i++) {
        T sum = x[i];
        for (int64_t e = a->start[i]; e < diagonal[i]; e++)
            sum -= MUL(v[e], x[a->column[e]]);
        x[i] = unit ? sum : sum / v[diagonal[i]];
    }
}

static void NAME(rows_down_adjoint)(const Csr *a, const int64_t *diagonal, bool unit, T *x)
{
    const T *v = a->value;
    for (int64_t i = a->n - 1; i >= 0; i--) {
        const T y = x[i] = unit ? x[i] : x[i] / CONJ(v[diagonal[i]]);
        for (int64_t e = a->start[i]; e < diagonal[i]; e++)
            x[a->column[e]] -= MUL(CONJ(v[e]), y);
    }
}

static void NAME(rows_up)(const Csr *a, const int64_t *diagonal, T *x)
{
    const T *v = a->value;
    for (int64_t i = a->n - 1; i >= 0; i--) {
        T sum = x[i];
        for (int64_t e = diagonal[i] + 1; e < a->start[i + 1]; e++)
            sum -= MUL(v[e], x[a->column[e]]);
        x[i] = sum / v[diagonal[i]];
    }
}

static void NAME(rows_up_adjoint)(const Csr *a, const int64_t *diagonal, T *x)
{
    const T *v = a->value;
    for (int64_t i = 0; i < a->n; i++) {
        const T y = x[i] = x[i] / CONJ(v[diagonal[i]]);
        for (int64_t e = diagonal[i] + 1; e < a->start[i + 1]; e++)
            x[a->column[e]] -= MUL(CONJ(v[e]), y);
    }
}

static void NAME(incomplete_solve)(const Csr *a, const int64_t *diagonal, bool cholesky,
                                   bool adjoint, void *x)
{
    if (cholesky) {
        NAME(rows_down)(a, diagonal, false, x);
        NAME(rows_down_adjoint)(a, diagonal, false, x);
    } else if (adjoint) {
        NAME(rows_up_adjoint)(a, diagonal, x);
        NAME(rows_down_adjoint)(a, diagonal, true, x);
    } else {
        NAME(rows_down)(a, diagonal, true, x);
        NAME(rows_up)(a, diagonal, x);
    }
}
