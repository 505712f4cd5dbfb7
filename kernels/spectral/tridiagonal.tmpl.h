/* Divide and conquer in REAL (tridiagonal.h): where two halves meet. */

/* Columns i and j become c x_i + s x_j and c x_j - s x_i. */
static void FN(turn)(int64_t n, REAL *x, REAL *y, REAL c, REAL s)
{
    for (int64_t i = 0; i < n; i++) {
        REAL p = x[i], q = y[i];
        x[i] = c * p + s * q, y[i] = c * q - s * p;
    }
}

/* The ascending order of two ascending lists: first (positions as they are) and second, whose
 * positions are counted from n1. */
static void FN(merge_orders)(const REAL *d, int64_t n1, const int64_t *first, int64_t n2,
                             const int64_t *second, int64_t *out)
{
    int64_t i = 0, j = 0;
    while (i < n1 || j < n2) {
        bool take = j == n2 || (i < n1 && d[first[i]] <= d[n1 + second[j]]);
        *out++ = take ? first[i++] : n1 + second[j++];
    }
}

/* What the halves are coupled by: the last row of the first's vectors and the first row of the
 * second's, of length 1. Returns the largest of it. */
static REAL FN(coupling)(const Divide *v, const REAL *q, bool negative)
{
    REAL *z = v->z, largest = 0;
    int64_t last = v->vectors ? v->n1 - 1 : 1, first = v->vectors ? v->n1 : 0;
    for (int64_t i = 0; i < v->n; i++) {
        REAL x = q[(i < v->n1 ? last : first) + i * v->ld] * (REAL)M_SQRT1_2;
        z[i] = negative && i >= v->n1 ? -x : x;
        largest = ABS(x) > largest ? ABS(x) : largest;
    }
    return largest;
}

static void FN(keep_pole)(Divide *v, int64_t j, const REAL *d)
{
    ((REAL *)v->poles)[v->k] = d[j];
    ((REAL *)v->weights)[v->k] = ((REAL *)v->z)[j];
    v->list[v->k++] = j;
}

/* Among those set aside, which descend from list[v->aside] on. */
static void FN(set_aside)(Divide *v, int64_t j, const REAL *d)
{
    int64_t at = --v->aside;
    for (; at + 1 < v->n && d[j] < d[v->list[at + 1]]; at++)
        v->list[at] = v->list[at + 1];
    v->list[at] = j;
    v->kind[j] = ASIDE;
}

/* Eigenpairs of the halves that are those of the whole: where the coupling is negligible, and one
 * of two that are close, which a rotation frees of it. */
static void FN(deflate)(Divide *v, REAL *d, REAL *q, REAL rho, REAL tolerance)
{
    REAL *z = v->z;
    int64_t last = -1;
    for (int64_t p = 0; p < v->n; p++) {
        int64_t j = v->sorted[p];
        if (rho * ABS(z[j]) <= tolerance) {
            FN(set_aside)(v, j, d);
            continue;
        }
        if (last >= 0) {
            REAL s = z[last], c = z[j], length = HYPOT(c, s), gap = d[j] - d[last];
            c /= length, s = -s / length;
            if (ABS(gap * c * s) <= tolerance) {
                z[j] = length, z[last] = 0;
                if (v->kind[j] != v->kind[last])
                    v->kind[j] = BOTH;
                FN(turn)(v->above + v->below, q + last * v->ld, q + j * v->ld, c, s);
                REAL low = d[last] * c * c + d[j] * s * s;
                d[j] = d[last] * s * s + d[j] * c * c, d[last] = low;
                FN(set_aside)(v, last, d);
            } else {
                FN(keep_pole)(v, last, d);
            }
        }
        last = j;
    }
    FN(keep_pole)(v, last, d);
}

/* Column i of what is taken aside: parts of vectors that are 0 are left out. */
static void FN(take_columns)(void *arg, int64_t from, int64_t to, int worker)
{
    (void)worker;
    const Divide *v = arg;
    int64_t n1 = v->above, n2 = v->below, upper = v->count[UPPER], lower = v->k - v->count[LOWER];
    for (int64_t i = from; i < to; i++) {
        const REAL *x = (const REAL *)v->q + v->grouped[i] * v->ld;
        if (i >= v->k)
            memcpy((REAL *)v->others + (i - v->k) * (n1 + n2), x, (size_t)(n1 + n2) * sizeof(REAL));
        else if (i < lower)
            memcpy((REAL *)v->top + i * n1, x, (size_t)n1 * sizeof(REAL));
        if (i < v->k && i >= upper)
            memcpy((REAL *)v->bottom + (i - upper) * n2, x + n1, (size_t)n2 * sizeof(REAL));
    }
}

static void FN(give_columns)(void *arg, int64_t from, int64_t to, int worker)
{
    (void)worker;
    const Divide *v = arg;
    int64_t rows = v->above + v->below;
    for (int64_t i = from; i < to; i++)
        memcpy((REAL *)v->q + (v->k + i) * v->ld, (REAL *)v->others + i * rows,
               (size_t)rows * sizeof(REAL));
}

/* The eigenpairs of two halves, of orders n1 and v->n - n1, become those of the whole. */
static bool FN(join)(Divide *v, REAL *d, REAL *q, int64_t *order, REAL coupled)
{
    int64_t n = v->n, n1 = v->n1, n2 = n - n1;
    FN(merge_orders)(d, n1, order, n2, order + n1, v->sorted);
    REAL rho = 2 * ABS(coupled), most = FN(coupling)(v, q, coupled < 0), largest = most;
    v->above = v->vectors ? n1 : 1, v->below = v->vectors ? n2 : 1;
    for (int64_t i = 0; i < n; i++) {
        largest = ABS(d[i]) > largest ? ABS(d[i]) : largest;
        v->kind[i] = i < n1 ? UPPER : LOWER;
        if (!v->vectors)                 /* rows of the whole: the other half's is 0 */
            q[2 * i + (i < n1)] = 0;
    }
    REAL tolerance = 8 * EPS * largest;
    if (rho * most <= tolerance) {
        memcpy(order, v->sorted, (size_t)n * sizeof *order);
        return true;
    }
    v->k = 0, v->aside = n, v->q = q, v->rho = (double)rho;
    FN(deflate)(v, d, q, rho, tolerance);
    divide_group(v);
    REAL *values = v->lambda;
    for (int64_t i = v->k; i < n; i++)
        values[i] = d[v->grouped[i]];
    divide_lay_out(v, sizeof(REAL));
    int64_t rows = v->above + v->below;
    pool_for(v->ctx, n, WORTH / rows + 1, FN(take_columns), v);
    bool found = divide_product(v);
    pool_for(v->ctx, n - v->k, WORTH / rows + 1, FN(give_columns), v);
    memcpy(d, values, (size_t)n * sizeof(REAL));
    for (int64_t i = 0, low = 0, high = n - 1; i < n; i++)
        order[i] = high < v->k || (low < v->k && d[low] <= d[high]) ? low++ : high--;
    return found;
}

/* ---- one block, from its leaves up ---- */
/* The vectors of the part that begins at row `at`. */
static REAL *FN(part)(const Divide *v, int64_t at)
{
    return (REAL *)v->whole + at * (v->vectors ? v->ld + 1 : v->ld);
}

static void FN(leaves)(void *arg, int64_t from, int64_t to, int worker)
{
    Divide *v = arg;
    for (int64_t p = from; p < to; p++) {
        int64_t at = p ? v->ends[p - 1] : 0, n = v->ends[p] - at;
        REAL *d = (REAL *)v->d + at, *part = FN(part)(v, at);
        REAL *z = v->vectors ? part : (REAL *)v->leaf_vectors + worker * LEAF * LEAF;
        int ld = v->vectors ? (int)v->ld : LEAF;
        int info = lapack_steqr(v->l, v->type, 'I', (int)n, d, (REAL *)v->e + at, z, ld,
                                (REAL *)v->leaf_work + worker * 2 * LEAF);
        if (info)
            v->lost = true;
        for (int64_t i = 0; i < n && !v->vectors; i++)
            part[2 * i] = z[i * LEAF], part[2 * i + 1] = z[i * LEAF + n - 1];
    }
}

static bool FN(conquer)(Divide *v)
{
    REAL *d = v->d, *e = v->e;
    int64_t parts = divide_parts(v->order_n, v->ends);
    for (int64_t p = 0; p + 1 < parts; p++) {
        REAL torn = ABS(e[v->ends[p] - 1]);
        d[v->ends[p] - 1] -= torn, d[v->ends[p]] -= torn;
    }
    for (int64_t p = 0; p < parts; p++)
        for (int64_t at = p ? v->ends[p - 1] : 0, i = at; i < v->ends[p]; i++)
            v->order[i] = i - at;
    if (blas_enter(v->ctx, v->l, pool_threads(v->ctx), 1) == pool_threads(v->ctx))
        pool_for(v->ctx, parts, 2, FN(leaves), v);
    else
        FN(leaves)(v, 0, parts, 0);
    bool found = !v->lost;
    for (; parts > 1 && found; parts /= 2)
        for (int64_t p = 0; p < parts / 2 && found; p++) {
            int64_t at = p ? v->ends[p - 1] : 0, middle = v->ends[2 * p], to = v->ends[2 * p + 1];
            blas_stop_poll();
            v->n = to - at, v->n1 = middle - at;
            found = FN(join)(v, d + at, FN(part)(v, at), v->order + at, e[middle - 1]);
            v->ends[p] = to;
        }
    return found;
}

/* A block whose e are all far from 0, scaled by a power of 2 so that its elements are about 1. */
static bool FN(block)(Divide *v)
{
    REAL *d = v->d, *e = v->e, most = 0;
    int64_t n = v->order_n;
    int exponent;
    for (int64_t i = 0; i < n; i++) {
        most = ABS(d[i]) > most ? ABS(d[i]) : most;
        if (i + 1 < n)
            most = ABS(e[i]) > most ? ABS(e[i]) : most;
    }
    frexp((double)most, &exponent);
    exponent = exponent < LEAST_EXPONENT ? LEAST_EXPONENT : exponent;
    REAL down = (REAL)ldexp(1, -exponent), up = (REAL)ldexp(1, exponent);
    for (int64_t i = 0; i < n; i++) {
        d[i] *= down;
        if (i + 1 < n)
            e[i] *= down;
    }
    bool found = FN(conquer)(v);
    for (int64_t i = 0; i < n; i++)
        d[i] *= up;
    return found;
}

static bool FN(blocks)(Divide *v, int64_t n, REAL *d, REAL *e, REAL *z, int64_t *order)
{
    bool found = true;
    int64_t done = 0;
    memset(z, 0, (size_t)(n * (v->vectors ? n : 2)) * sizeof(REAL));
    while (done < n && found) {
        int64_t to = done + 1;
        while (to < n && ABS(e[to - 1]) > EPS * SQRT(ABS(d[to - 1])) * SQRT(ABS(d[to])))
            to++;
        v->d = d + done, v->e = e + done, v->whole = z + done * (v->vectors ? n + 1 : 2);
        v->order = v->block_order, v->order_n = to - done;
        found = FN(block)(v);
        memcpy(v->before, order, (size_t)done * sizeof *order);
        FN(merge_orders)(d, done, v->before, to - done, v->block_order, order);
        done = to;
    }
    return found;
}

#undef REAL
#undef FN
#undef ABS
#undef SQRT
#undef HYPOT
#undef EPS
#undef LEAST_EXPONENT
