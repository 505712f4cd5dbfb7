/* Factors of a sparse matrix and their solves, of numbers T: MUL, CONJ, SIZE (|re| + |im|) and
 * SQUARE (|x|^2, a REAL) say what T does; NAME names. */

/* ---- Cholesky, row by row of L: each is a sparse triangular system ---- */
static int64_t NAME(cholesky)(Hold *keep, Hold *work, const Columns *a, OwnFactors *f,
                              double *flops)
{
    const int64_t n = a->n;
    int64_t *parent = hold_ints(work, n), *mark = hold_ints(work, n), *reach = hold_ints(work, n);
    int64_t *end = hold_ints(work, n);
    T *x = hold_zero(work, n, sizeof(T)), *d, *value = NULL;
    const T *from = a->value;
    own_symbolic(keep, work, a, parent, false, &f->l, flops);
    f->l.value = value = hold_new(keep, f->l.start[n], sizeof(T));
    f->diagonal = d = hold_new(keep, n, sizeof(T));
    for (int64_t i = 0; i < n; i++)
        mark[i] = -1, end[i] = f->l.start[i];
    for (int64_t k = 0; k < n; k++) {
        const int64_t top = tree_reach(a, k, parent, mark, reach);
        for (int64_t p = a->start[k]; p < a->start[k + 1]; p++)
            x[a->row[p]] = from[p];
        REAL pivot = (REAL)x[k];
        x[k] = 0;
        for (int64_t t = top; t < n; t++) {
            const int64_t i = reach[t];
            const T lki = x[i] / (REAL)d[i];
            x[i] = 0;
            hold_work(work, 2 * (end[i] - f->l.start[i]) + 8);
            for (int64_t p = f->l.start[i]; p < end[i]; p++)
                x[f->l.row[p]] -= MUL(value[p], lki);
            pivot -= SQUARE(lki);
            f->l.row[end[i]] = k;
            value[end[i]++] = CONJ(lki);
        }
        if (!(pivot > 0))
            return k;
        d[k] = ROOT(pivot);
    }
    return -1;
}

/* x = L^-1 x and x = L^-H x; d NULL: a diagonal of ones. */
static void NAME(down)(Hold *work, const Columns *l, const T *d, T *x)
{
    const T *value = l->value;
    for (int64_t k = 0; k < l->n; k++) {
        const T y = x[k] = d ? x[k] / d[k] : x[k];
        hold_work(work, l->start[k + 1] - l->start[k]);
        for (int64_t p = l->start[k]; p < l->start[k + 1]; p++)
            x[l->row[p]] -= MUL(value[p], y);
    }
}

static void NAME(down_adjoint)(Hold *work, const Columns *l, const T *d, T *x)
{
    const T *value = l->value;
    for (int64_t k = l->n - 1; k >= 0; k--) {
        T y = x[k];
        hold_work(work, l->start[k + 1] - l->start[k]);
        for (int64_t p = l->start[k]; p < l->start[k + 1]; p++)
            y -= MUL(CONJ(value[p]), x[l->row[p]]);
        x[k] = d ? y / CONJ(d[k]) : y;
    }
}

static void NAME(cholesky_solve)(Hold *work, const OwnFactors *f, const void *b, void *to)
{
    const int64_t n = f->l.n;
    const T *from = b;
    T *x = hold_new(work, n, sizeof(T)), *out = to;
    for (int64_t k = 0; k < n; k++)
        x[k] = from[f->p[k]];
    NAME(down)(work, &f->l, f->diagonal, x);
    NAME(down_adjoint)(work, &f->l, f->diagonal, x);
    for (int64_t k = 0; k < n; k++)
        out[f->p[k]] = x[k];
    hold_drop(work, x);
}

/* ---- LU by Gilbert and Peierls: column by column, each a sparse triangular system ---- */
typedef struct NAME(Column) {
    T *x, *l, *u;                /* the column, dense; values of the factors so far */
    int64_t room_l, room_u;
    int64_t *place;              /* of a row among the pivots; -1: not yet */
    OwnWalk walk;
} NAME(Column);

static void NAME(room)(Hold *keep, OwnFactors *f, NAME(Column) *c, int64_t nl, int64_t nu)
{
    if (nl > c->room_l) {
        c->room_l = own_room(keep, nl, f->l.n);
        f->l.row = hold_grow(keep, f->l.row, c->room_l, sizeof(int64_t));
        f->l.value = c->l = hold_grow(keep, c->l, c->room_l, sizeof(T));
    }
    if (nu > c->room_u) {
        c->room_u = own_room(keep, nu, f->u.n);
        f->u.row = hold_grow(keep, f->u.row, c->room_u, sizeof(int64_t));
        f->u.value = c->u = hold_grow(keep, c->u, c->room_u, sizeof(T));
    }
}

/* x = L^-1 A[:, j] on the rows reach[top …]; what is of U goes there. */
static void NAME(eliminate)(Hold *work, OwnFactors *f, NAME(Column) *c, int64_t top, int64_t k,
                            double *flops)
{
    const int64_t *reach = c->walk.reach, n = f->l.n;
    int64_t to = f->u.start[k];
    for (int64_t t = top; t < n; t++) {
        const int64_t i = reach[t], at = c->place[i];
        if (at < 0)
            continue;
        const T y = c->x[i];
        const int64_t from = f->l.start[at], end = f->l.start[at + 1];
        f->u.row[to] = at;
        c->u[to++] = y;
        c->x[i] = 0;
        *flops += 2 * (double)(end - from);
        hold_work(work, 2 * (end - from) + 8);
        for (int64_t p = from; p < end; p++)
            c->x[f->l.row[p]] -= MUL(c->l[p], y);
    }
    f->u.start[k + 1] = to;
}

/* The pivot's row among reach[top …]: the diagonal's where it is large enough; -1: none. */
static int64_t NAME(choose)(const NAME(Column) *c, int64_t n, int64_t top, int64_t diagonal,
                            double threshold)
{
    double most = 0;
    int64_t best = -1;
    for (int64_t t = top; t < n; t++) {
        const int64_t i = c->walk.reach[t];
        const double size = c->place[i] < 0 ? SIZE(c->x[i]) : 0;
        if (size > most || size != size)
            most = size, best = i;
    }
    if (best >= 0 && c->walk.mark[diagonal] == c->walk.now && c->place[diagonal] < 0 &&
        SIZE(c->x[diagonal]) >= threshold * most)
        return diagonal;
    return best;
}

static void NAME(keep_column)(OwnFactors *f, NAME(Column) *c, int64_t top, int64_t k, int64_t pivot)
{
    const int64_t n = f->l.n;
    int64_t to = f->l.start[k];
    T *d = f->diagonal;
    d[k] = c->x[pivot];
    c->place[pivot] = k;
    f->p[k] = pivot;
    for (int64_t t = top; t < n; t++) {
        const int64_t i = c->walk.reach[t];
        if (c->place[i] < 0 && c->x[i] != 0) {
            f->l.row[to] = i;
            c->l[to++] = c->x[i] / d[k];
        }
        c->x[i] = 0;
    }
    f->l.start[k + 1] = to;
}

static int64_t NAME(lu)(Hold *keep, Hold *work, const OwnLu *lu, OwnFactors *f, double *flops)
{
    const Columns *a = lu->a;
    const int64_t n = a->n;
    const T *value = a->value;
    NAME(Column) c = { .x = hold_zero(work, n, sizeof(T)), .place = hold_ints(work, n) };
    own_walk_new(work, &c.walk, n);
    f->diagonal = hold_new(keep, n, sizeof(T));
    f->p = hold_ints(keep, n);
    f->l = f->u = (Columns){ .m = n, .n = n, .each = sizeof(T) };
    f->l.start = hold_zero(keep, n + 1, sizeof(int64_t));
    f->u.start = hold_zero(keep, n + 1, sizeof(int64_t));
    for (int64_t i = 0; i < n; i++)
        c.place[i] = -1;
    NAME(room)(keep, f, &c, a->start[n] + n, a->start[n] + n);
    for (int64_t k = 0; k < n; k++) {
        const int64_t j = lu->q[k];
        const int64_t top = own_walk(work, &c.walk, a, j, &f->l, c.place);
        NAME(room)(keep, f, &c, f->l.start[k] + n - top, f->u.start[k] + n - top);
        for (int64_t p = a->start[j]; p < a->start[j + 1]; p++)
            c.x[a->row[p]] = value[p];
        NAME(eliminate)(work, f, &c, top, k, flops);
        const int64_t pivot = NAME(choose)(&c, n, top, j, lu->threshold);
        if (pivot < 0)
            return k;
        NAME(keep_column)(f, &c, top, k, pivot);
        *flops += (double)(f->l.start[k + 1] - f->l.start[k]);
    }
    for (int64_t p = 0; p < f->l.start[n]; p++)
        f->l.row[p] = c.place[f->l.row[p]];
    return -1;
}

static void NAME(up)(Hold *work, const Columns *u, const T *d, T *x)
{
    const T *value = u->value;
    for (int64_t k = u->n - 1; k >= 0; k--) {
        const T y = x[k] = x[k] / d[k];
        hold_work(work, u->start[k + 1] - u->start[k]);
        for (int64_t p = u->start[k]; p < u->start[k + 1]; p++)
            x[u->row[p]] -= MUL(value[p], y);
    }
}

static void NAME(up_adjoint)(Hold *work, const Columns *u, const T *d, T *x)
{
    const T *value = u->value;
    for (int64_t k = 0; k < u->n; k++) {
        T y = x[k];
        hold_work(work, u->start[k + 1] - u->start[k]);
        for (int64_t p = u->start[k]; p < u->start[k + 1]; p++)
            y -= MUL(CONJ(value[p]), x[u->row[p]]);
        x[k] = y / CONJ(d[k]);
    }
}

static void NAME(lu_solve)(Hold *work, const OwnFactors *f, bool adjoint, const void *b, void *to)
{
    const int64_t n = f->l.n, *in = adjoint ? f->q : f->p, *out = adjoint ? f->p : f->q;
    const T *from = b;
    T *x = hold_new(work, n, sizeof(T)), *solution = to;
    for (int64_t k = 0; k < n; k++)
        x[k] = from[in[k]];
    if (adjoint) {
        NAME(up_adjoint)(work, &f->u, f->diagonal, x);
        NAME(down_adjoint)(work, &f->l, NULL, x);
    } else {
        NAME(down)(work, &f->l, NULL, x);
        NAME(up)(work, &f->u, f->diagonal, x);
    }
    for (int64_t k = 0; k < n; k++)
        solution[out[k]] = x[k];
    hold_drop(work, x);
}

/* ---- triangles in some order ---- */
static void NAME(triangle_solve)(Hold *work, const Csr *a, const int64_t *p, const int64_t *q,
                          const int64_t *pivot, bool adjoint, const void *b, void *to)
{
    const T *value = a->value, *from = b;
    T *x = to, *rest = hold_new(work, a->n, sizeof(T));
    memcpy(rest, from, (size_t)a->n * sizeof(T));
    for (int64_t step = 0; step < a->n; step++) {
        const int64_t k = adjoint ? a->n - 1 - step : step, i = p[k], j = q[k];
        const int64_t begin = a->start[i], end = a->start[i + 1];
        hold_work(work, end - begin);
        if (adjoint) {
            const T y = x[i] = rest[j] / CONJ(value[pivot[k]]);
            for (int64_t e = begin; e < end; e++)
                rest[a->column[e]] -= MUL(CONJ(value[e]), y);
        } else {
            T y = from[i];
            for (int64_t e = begin; e < end; e++)
                if (e != pivot[k])
                    y -= MUL(value[e], x[a->column[e]]);
            x[j] = y / value[pivot[k]];
        }
    }
    hold_drop(work, rest);
}

/* ---- QR: the rows of A one by one, rotated into the rows of R (George and Heath) ---- */
/* The row in w, whose columns are k and ancestors of k, becomes a part of R: columns of l are rows
 * of R, not conjugated. */
static void NAME(rotate_in)(Hold *work, OwnFactors *f, const int64_t *parent, int64_t k, T *w,
                            double *flops)
{
    T *d = f->diagonal, *value = f->l.value;
    for (; k >= 0; k = parent[k]) {
        const T y = w[k];
        const int64_t from = f->l.start[k], end = f->l.start[k + 1];
        hold_work(work, 4);
        w[k] = 0;
        if (y == 0)
            continue;
        const REAL length = HYPOT(d[k], y);
        const T c = d[k] / length, s = y / length;
        d[k] = length;
        *flops += 6 * (double)(end - from);
        hold_work(work, 4 * (end - from));
        for (int64_t p = from; p < end; p++) {
            const T above = value[p], below = w[f->l.row[p]];
            value[p] = MUL(CONJ(c), above) + MUL(CONJ(s), below);
            w[f->l.row[p]] = MUL(c, below) - MUL(s, above);
        }
    }
}

static double NAME(largest_column)(const Columns *a)
{
    const T *value = a->value;
    double most = 0;
    for (int64_t j = 0; j < a->n; j++) {
        double sum = 0;
        for (int64_t p = a->start[j]; p < a->start[j + 1]; p++)
            sum += (double)SQUARE(value[p]);
        most = sum > most ? sum : most;
    }
    return sqrt(most);
}

/* A column that depends on those before it has a zero of rounding on the diagonal: the rest of its
 * row goes into the rows below, and its unknown is 0. */
static void NAME(drop_dependent)(Hold *work, OwnFactors *f, const int64_t *parent, T *w,
                                 double *flops)
{
    const Columns *a = &f->a;
    const double tol = 20 * (double)(a->m + a->n) * EPS * NAME(largest_column)(a);
    T *d = f->diagonal, *value = f->l.value;
    f->rank = 0;
    for (int64_t k = 0; k < a->n; k++) {
        if (!(SIZE(d[k]) <= tol)) {
            f->rank++;
            continue;
        }
        d[k] = 0;
        for (int64_t p = f->l.start[k]; p < f->l.start[k + 1]; p++) {
            w[f->l.row[p]] = value[p];
            value[p] = 0;
        }
        NAME(rotate_in)(work, f, parent, parent[k], w, flops);
    }
}

/* f->a is the matrix (m >= n) and f->q the order of its columns. */
static void NAME(qr)(Hold *keep, Hold *work, OwnFactors *f, double *flops)
{
    const Columns *a = &f->a;
    const int64_t n = a->n;
    int64_t *parent = hold_ints(work, n), *place = hold_ints(work, n);
    T *w = hold_zero(work, n, sizeof(T));
    double unused = 0;
    Columns square = own_square(work, a, f->q);
    own_symbolic(keep, work, &square, parent, true, &f->l, &unused);
    f->l.value = hold_zero(keep, f->l.start[n], sizeof(T));
    f->diagonal = hold_zero(keep, n, sizeof(T));
    order_inverse(n, f->q, place);
    Columns rows = columns_of(work, n, a->m, a->start, a->row, a->value, sizeof(T));
    const T *value = rows.value;
    for (int64_t i = 0; i < a->m; i++) {
        int64_t first = n;
        for (int64_t p = rows.start[i]; p < rows.start[i + 1]; p++) {
            const int64_t j = place[rows.row[p]];
            w[j] = value[p];
            first = j < first ? j : first;
        }
        if (first < n)
            NAME(rotate_in)(work, f, parent, first, w, flops);
    }
    NAME(drop_dependent)(work, f, parent, w, flops);
}

/* x = (R^H R)^-1 x; rows of R are columns of l. */
static void NAME(seminormal)(Hold *work, const OwnFactors *f, T *x)
{
    const Columns *l = &f->l;
    const T *d = f->diagonal, *value = l->value;
    for (int64_t k = 0; k < l->n; k++) {
        const T y = x[k] = d[k] != 0 ? x[k] / CONJ(d[k]) : 0;
        hold_work(work, l->start[k + 1] - l->start[k]);
        for (int64_t p = l->start[k]; p < l->start[k + 1]; p++)
            x[l->row[p]] -= MUL(CONJ(value[p]), y);
    }
    for (int64_t k = l->n - 1; k >= 0; k--) {
        T y = x[k];
        hold_work(work, l->start[k + 1] - l->start[k]);
        for (int64_t p = l->start[k]; p < l->start[k + 1]; p++)
            y -= MUL(value[p], x[l->row[p]]);
        x[k] = d[k] != 0 ? y / d[k] : 0;
    }
}

/* y += A x, or y -= A x */
static void NAME(apply)(const Columns *a, const T *x, bool minus, T *y)
{
    const T *value = a->value;
    for (int64_t j = 0; j < a->n; j++)
        for (int64_t p = a->start[j]; p < a->start[j + 1]; p++)
            y[a->row[p]] += minus ? -MUL(value[p], x[j]) : MUL(value[p], x[j]);
}

/* out[k] = (A^H y)[q[k]] */
static void NAME(apply_adjoint)(const OwnFactors *f, const T *y, T *out)
{
    const Columns *a = &f->a;
    const T *value = a->value;
    for (int64_t k = 0; k < a->n; k++) {
        const int64_t j = f->q[k];
        T sum = 0;
        for (int64_t p = a->start[j]; p < a->start[j + 1]; p++)
            sum += MUL(CONJ(value[p]), y[a->row[p]]);
        out[k] = sum;
    }
}

/* min |A x - b|: by R alone, and once more for what is left of b. */
static void NAME(least)(Hold *work, const OwnFactors *f, const T *b, T *x)
{
    const Columns *a = &f->a;
    T *rest = hold_new(work, a->m, sizeof(T)), *y = hold_new(work, a->n, sizeof(T));
    memcpy(rest, b, (size_t)a->m * sizeof(T));
    memset(x, 0, (size_t)a->n * sizeof(T));
    for (int turn = 0; turn < 2; turn++) {
        NAME(apply_adjoint)(f, rest, y);
        NAME(seminormal)(work, f, y);
        for (int64_t k = 0; k < a->n; k++)
            x[f->q[k]] += y[k];
        memcpy(rest, b, (size_t)a->m * sizeof(T));
        NAME(apply)(a, x, true, rest);
        hold_look(work);
    }
    hold_drop(work, rest);
    hold_drop(work, y);
}

/* The shortest x with A^H x = b (b as long as A has columns). */
static void NAME(shortest)(Hold *work, const OwnFactors *f, const T *b, T *x)
{
    const Columns *a = &f->a;
    T *rest = hold_new(work, a->n, sizeof(T)), *y = hold_new(work, a->n, sizeof(T));
    memset(x, 0, (size_t)a->m * sizeof(T));
    for (int turn = 0; turn < 2; turn++) {
        NAME(apply_adjoint)(f, x, rest);
        for (int64_t k = 0; k < a->n; k++)
            rest[k] = b[f->q[k]] - rest[k];
        NAME(seminormal)(work, f, rest);
        for (int64_t k = 0; k < a->n; k++)
            y[f->q[k]] = rest[k];
        NAME(apply)(a, y, false, x);
        hold_look(work);
    }
    hold_drop(work, rest);
    hold_drop(work, y);
}

static void NAME(qr_solve)(Hold *work, const OwnFactors *f, bool adjoint, const void *b, void *x)
{
    if (f->wide == adjoint)
        NAME(least)(work, f, b, x);
    else
        NAME(shortest)(work, f, b, x);
}

static void NAME(residual)(const Columns *a, bool adjoint, const void *by, void *rest)
{
    const T *value = a->value, *x = by;
    T *r = rest;
    for (int64_t j = 0; j < a->n; j++)
        for (int64_t p = a->start[j]; p < a->start[j + 1]; p++)
            if (adjoint)
                r[j] -= MUL(CONJ(value[p]), x[a->row[p]]);
            else
                r[a->row[p]] -= MUL(value[p], x[j]);
}

/* ---- numbers ---- */
static double NAME(size)(const void *x, int64_t i)
{
    return (double)MODULUS(((const T *)x)[i]);
}

static double NAME(real)(const void *x, int64_t i)
{
    return (double)__real__ ((const T *)x)[i];
}

static double NAME(imag)(const void *x, int64_t i)
{
    return (double)__imag__ ((const T *)x)[i];
}

static void NAME(put)(void *x, int64_t i, double re, double im)
{
    ((T *)x)[i] = PAIR(re, im);
}

static const OwnOps NAME(ops) = {
    .each = sizeof(T), .cholesky = NAME(cholesky), .lu = NAME(lu), .qr = NAME(qr),
    .cholesky_solve = NAME(cholesky_solve), .lu_solve = NAME(lu_solve),
    .qr_solve = NAME(qr_solve), .triangle_solve = NAME(triangle_solve),
    .residual = NAME(residual),
    .incomplete_lu = NAME(incomplete_lu), .incomplete_cholesky = NAME(incomplete_cholesky),
    .incomplete_solve = NAME(incomplete_solve), .size = NAME(size),
    .real = NAME(real), .imag = NAME(imag), .put = NAME(put),
};
