/* Sparse factorizations: residuals of every method on matrices of every kind, in four dtypes, by the
 * room's own code and by SuiteSparse where it is found (the two agree); determinants and factors
 * against the matrix; orderings; singular matrices; failing allocations. */
#include "kernels/elimination/columns.h"
#include "kernels/elimination/elimination.h"
#include "kernels/elimination/incomplete.h"
#include "kernels/elimination/own.h"
#include "kernels/elimination/suitesparse.h"
#include "tests/unit/check.h"

#include <complex.h>
#include <float.h>
#include <stdlib.h>

enum { ENTRIES = 1 << 16, ORDER = 4200 };
static Ctx ctx;
static const DType dtypes[] = { DT_F64, DT_F32, DT_C128, DT_C64 };

/* ---- matrices ---- */
typedef struct Matrix {
    int64_t m, n, count;
    int64_t row[ENTRIES], column[ENTRIES];
    double complex value[ENTRIES];
} Matrix;
static Matrix given;

static int64_t start[ORDER + 1], columns[ENTRIES];
static double complex values[ENTRIES], stored[ENTRIES];
static double complex right[ORDER], solution[ORDER], product[ORDER], vectors[3][ORDER];

static void begin(int64_t m, int64_t n)
{
    given.m = m, given.n = n, given.count = 0;
}

static void add(int64_t i, int64_t j, double complex x)
{
    given.row[given.count] = i;
    given.column[given.count] = j;
    given.value[given.count++] = x;
}

static double complex number(DType dt)
{
    return dtype_info(dt)->kind == 'c' ? check_uniform() + I * check_uniform() : check_uniform();
}

static int64_t below(int64_t n) { return (int64_t)(check_random() % (uint64_t)n); }

/* Rows sorted, equal places once: the first. In `stored` as the dtype has it, in `values` as
 * numbers. */
static Csr csr_of(DType dt)
{
    const OwnOps *o = own_ops(dt);
    static int64_t first[ORDER], next[ENTRIES];
    int64_t entries = 0;
    for (int64_t i = 0; i < given.m; i++)
        first[i] = -1;
    for (int64_t k = given.count; k-- > 0;) {
        next[k] = first[given.row[k]];
        first[given.row[k]] = k;
    }
    for (int64_t i = 0; i < given.m; i++) {
        start[i] = entries;
        for (int64_t k = first[i]; k >= 0; k = next[k]) {
            int64_t at = entries;
            bool twice = false;
            for (int64_t e = start[i]; e < entries; e++)
                twice |= columns[e] == given.column[k];
            if (twice)
                continue;
            for (; at > start[i] && columns[at - 1] > given.column[k]; at--)
                columns[at] = columns[at - 1], values[at] = values[at - 1];
            columns[at] = given.column[k];
            values[at] = given.value[k];
            entries++;
        }
    }
    start[given.m] = entries;
    for (int64_t k = 0; k < entries; k++) {
        o->put(stored, k, creal(values[k]), cimag(values[k]));
        values[k] = o->real(stored, k) + I * o->imag(stored, k);
    }
    return (Csr){ given.m, given.n, entries, start, columns, stored, dt };
}

static void random_pattern(DType dt, int64_t m, int64_t n, double each)
{
    begin(m, n);
    for (int64_t k = 0; k < (int64_t)((double)m * each); k++)
        add(below(m), below(n), number(dt));
}

static void unsymmetric(DType dt, int64_t n)
{
    begin(n, n);
    for (int64_t i = 0; i < n; i++)
        add(i, (i * 7 + 3) % n, 2 + number(dt));         /* structurally regular */
    for (int64_t k = 0; k < 3 * n; k++)
        add(below(n), below(n), number(dt));
}

static void poisson(int64_t k)
{
    begin(k * k, k * k);
    for (int64_t i = 0; i < k * k; i++) {
        add(i, i, 4);
        if (i % k) add(i, i - 1, -1);
        if (i % k < k - 1) add(i, i + 1, -1);
        if (i >= k) add(i, i - k, -1);
        if (i < k * k - k) add(i, i + k, -1);
    }
}

static void hermitian(DType dt, int64_t n)
{
    begin(n, n);
    for (int64_t i = 0; i < n; i++)
        add(i, i, 9);
    for (int64_t k = 0; k < 2 * n; k++) {
        const int64_t i = below(n), j = below(n);
        const double complex x = number(dt);
        bool there = false;
        for (int64_t e = 0; e < given.count; e++)
            there |= given.row[e] == i && given.column[e] == j;
        if (i == j || there)
            continue;
        add(i, j, x);
        add(j, i, conj(x));
    }
}

static void arrow(DType dt, int64_t n)
{
    begin(n, n);
    for (int64_t i = 0; i < n; i++) {
        add(i, i, 4 + number(dt));
        if (i) add(i, 0, number(dt)), add(0, i, number(dt));
    }
}

static void triangle_shuffled(DType dt, int64_t n)
{
    begin(n, n);
    for (int64_t i = 0; i < n; i++) {
        add((i * 5 + 2) % n, (i * 3 + 1) % n, 3 + number(dt));
        for (int k = 0; k < 2 && i; k++)
            add((i * 5 + 2) % n, (below(i) * 3 + 1) % n, number(dt));
    }
}

static bool read_matrix(const char *name)
{
    char path[256], line[256];
    snprintf(path, sizeof path, "examples/data/%s.mtx", name);
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    bool symmetric = fgets(line, sizeof line, f) && strstr(line, "symmetric");
    while (fgets(line, sizeof line, f) && line[0] == '%')
        continue;
    char *at = line;
    int64_t m = strtoll(at, &at, 10), n = strtoll(at, &at, 10), count = strtoll(at, &at, 10);
    begin(m, n);
    while (count-- > 0 && fgets(line, sizeof line, f)) {
        at = line;
        int64_t i = strtoll(at, &at, 10) - 1, j = strtoll(at, &at, 10) - 1;
        double x = strtod(at, &at);
        add(i, j, x);
        if (symmetric && i != j)
            add(j, i, x);
    }
    fclose(f);
    return true;
}

/* ---- residuals ---- */
static double eps_of(DType dt)
{
    return dt == DT_F32 || dt == DT_C64 ? (double)FLT_EPSILON : DBL_EPSILON;
}

static double largest(const double complex *x, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        most = cabs(x[i]) > most || isnan(cabs(x[i])) ? cabs(x[i]) : most;
    return most;
}

/* y = A x, or of the adjoint; returns |A| in the matching norm. */
static double apply(const Csr *a, bool adjoint, const double complex *x, double complex *y)
{
    double sums[ORDER] = { 0 }, most = 0;
    memset(y, 0, sizeof(double complex) * (size_t)(adjoint ? a->n : a->m));
    for (int64_t i = 0; i < a->m; i++)
        for (int64_t k = a->start[i]; k < a->start[i + 1]; k++) {
            const int64_t j = a->column[k], to = adjoint ? j : i;
            y[to] += (adjoint ? conj(values[k]) : values[k]) * x[adjoint ? i : j];
            sums[to] += cabs(values[k]);
        }
    for (int64_t i = 0; i < (adjoint ? a->n : a->m); i++)
        most = sums[i] > most ? sums[i] : most;
    return most;
}

static void load(DType dt, const void *from, int64_t n, double complex *to)
{
    const OwnOps *o = own_ops(dt);
    for (int64_t i = 0; i < n; i++)
        to[i] = o->real(from, i) + I * o->imag(from, i);
}

/* |b - A x| / (|A| |x|) in eps, of a random right side. */
static double residual(Elimination *e, const Csr *a, bool adjoint, int64_t count)
{
    const OwnOps *o = own_ops(a->dtype);
    double worst = 0;
    for (int64_t i = 0; i < count * a->n; i++)
        o->put(vectors[0], i, check_uniform(), dtype_info(a->dtype)->kind == 'c'
                                                   ? check_uniform() : 0);
    elimination_solve(&ctx, e, adjoint, count, vectors[0], vectors[1]);
    for (int64_t c = 0; c < count; c++) {
        const size_t step = (size_t)(c * a->n) * o->each;
        load(a->dtype, (char *)vectors[0] + step, a->n, right);
        load(a->dtype, (char *)vectors[1] + step, a->n, solution);
        const double norm = apply(a, adjoint, solution, product);
        for (int64_t i = 0; i < a->n; i++)
            product[i] -= right[i];
        const double r = largest(product, a->n) / (norm * largest(solution, a->n));
        worst = r > worst || isnan(r) ? r : worst;
    }
    return worst / eps_of(a->dtype);
}

static void put_shape(const char *what, const Csr *a, const Elimination *e)
{
    fprintf(stderr, "  %s, %lld x %lld %s, %s by %s, %s\n", what, (long long)a->m, (long long)a->n,
            dtype_info(a->dtype)->name, elimination_method_name(e->method),
            e->library ? e->library : "own code", e->ordering ? e->ordering : "");
}

/* log |det| and its sign from LU with partial pivoting of the dense matrix. */
static double complex dense[80][80];
static double complex dense_det(const Csr *a, double *logs)
{
    double complex sign = 1;
    const int64_t n = a->n;
    memset(dense, 0, sizeof dense);
    *logs = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = a->start[i]; k < a->start[i + 1]; k++)
            dense[i][a->column[k]] = values[k];
    for (int64_t k = 0; k < n; k++) {
        int64_t p = k;
        for (int64_t i = k; i < n; i++)
            p = cabs(dense[i][k]) > cabs(dense[p][k]) ? i : p;
        for (int64_t j = 0; j < n && p != k; j++) {
            const double complex x = dense[k][j];
            dense[k][j] = dense[p][j], dense[p][j] = x;
        }
        sign *= p == k ? 1 : -1;
        if (dense[k][k] == 0)
            return 0;
        sign *= dense[k][k] / cabs(dense[k][k]);
        *logs += log(cabs(dense[k][k]));
        for (int64_t i = k + 1; i < n; i++) {
            const double complex f = dense[i][k] / dense[k][k];
            for (int64_t j = k; j < n; j++)
                dense[i][j] -= f * dense[k][j];
        }
    }
    return sign;
}

static void check_det(Elimination *e, const Csr *a)
{
    double logs;
    const double complex sign = dense_det(a, &logs);
    const EliminationDet d = elimination_det(&ctx, e);
    const double size = hypot(d.re, d.im), tol = 1e4 * eps_of(a->dtype) * (double)a->n;
    if (sign == 0) {
        CHECK(size == 0);
        return;
    }
    bool ok = CHECK(size >= 1 && size < 2) &
              CHECK(fabs(log(size) + d.exponent * log(2) - logs) < tol) &
              CHECK(cabs((d.re + I * d.im) / size - sign) < tol);
    if (!ok)
        put_shape("determinant", a, e);
}

/* A[p, q] - L U of factors that are at hand. */
static void check_parts(Elimination *e, const Csr *a)
{
    EliminationParts f = elimination_parts(&ctx, e);
    const int64_t n = a->n;
    double most = 0, norm = 0;
    static double complex l[80][80], u[80][80], whole[80][80];
    if (!CHECK(f.l && f.p))
        return;
    memset(l, 0, sizeof l), memset(u, 0, sizeof u), memset(whole, 0, sizeof whole);
    for (int side = 0; side < 2; side++) {
        Tensor *t = side ? f.u : f.l;
        if (!t)
            continue;
        const Csr s = sparse_csr(tensor_sparse(t));
        const OwnOps *o = own_ops(s.dtype);
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = s.start[i]; k < s.start[i + 1]; k++) {
                CHECK(side ? s.column[k] >= i : s.column[k] <= i);
                (side ? u : l)[i][s.column[k]] = o->real(s.value, k) + I * o->imag(s.value, k);
            }
    }
    const int64_t *p = (int64_t *)f.p->data, *q = f.q ? (int64_t *)f.q->data : p;
    for (int64_t i = 0; i < n && !f.u; i++)
        for (int64_t j = 0; j < n; j++)
            u[j][i] = conj(l[i][j]);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = a->start[i]; k < a->start[i + 1]; k++)
            whole[i][a->column[k]] = values[k];
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double complex sum = -whole[p[i]][q[j]];
            for (int64_t k = 0; k < n; k++)
                sum += l[i][k] * u[k][j];
            most = fmax(most, cabs(sum));
            norm = fmax(norm, cabs(whole[i][j]));
        }
    if (!CHECK(most <= 200 * eps_of(a->dtype) * (double)n * norm))
        put_shape("factors", a, e), fprintf(stderr, "  %g\n", most);
    Tensor *const all[] = { f.l, f.u, f.p, f.q };
    for (int i = 0; i < 4; i++)
        if (all[i])
            tensor_release(&ctx, all[i]);
}

/* ---- one matrix by all ways ---- */
static void by(const char *what, const Csr *a, const EliminationWish *wish, double bound)
{
    Elimination *e = elimination_new(&ctx, a, wish);
    if (CHECK(e->failed < 0 && e->method != ELIMINATION_ANY)) {
        const double r = residual(e, a, false, a->n <= 80 ? 2 : 1);
        const double s = residual(e, a, true, 1);
        if (!CHECK(r <= bound) | !CHECK(s <= bound))
            put_shape(what, a, e), fprintf(stderr, "  residuals %g, %g eps\n", r, s);
        const double rcond = elimination_rcond(&ctx, e);
        CHECK(rcond > 0 && rcond <= 1.0000001 + (a->dtype == DT_F32 ? 1e-5 : 0));
        if (a->n <= 70 && e->method != ELIMINATION_QR) {
            check_det(e, a);
            if (wish->method == ELIMINATION_CHOLESKY || wish->method == ELIMINATION_LU)
                check_parts(e, a);
        }
    } else
        put_shape(what, a, e);
    elimination_free(&ctx, e);
}

static void every_way(const char *what, DType dt, bool definite, double bound)
{
    const Csr a = csr_of(dt);
    const double all = bound * sqrt((double)a.n + 1);
    for (int own = 0; own < 2; own++) {
        const EliminationMethod methods[] = { ELIMINATION_ANY, ELIMINATION_LU, ELIMINATION_QR,
                                              ELIMINATION_CHOLESKY };
        for (int i = 0; i < (definite ? 4 : 3); i++) {
            EliminationWish wish = { .method = methods[i], .own = own };
            /* Of QR the room keeps R alone: what it solves is only as good as A'A lets it be. */
            by(what, &a, &wish, methods[i] == ELIMINATION_QR ? 400 * all : all);
        }
    }
    for (int o = ORDERING_NATURAL; o <= ORDERING_CUTHILL; o++) {
        EliminationWish wish = { .method = ELIMINATION_LU, .own = true,
                                 .ordering = (EliminationOrdering)o };
        by(what, &a, &wish, all);
        wish.method = ELIMINATION_CHOLESKY;
        if (definite)
            by(what, &a, &wish, all);
    }
}

static void every_matrix(DType dt)
{
    const bool c = dtype_info(dt)->kind == 'c';
    begin(1, 1);
    add(0, 0, 3);
    every_way("one", dt, true, 10);
    begin(5, 5);
    for (int i = 0; i < 5; i++)
        add(i, i, c ? (double)i + 1 + I : (double)i + 1);
    every_way("diagonal", dt, !c, 10);
    poisson(8);
    every_way("Poisson", dt, true, 20);
    poisson(16);
    every_way("Poisson", dt, true, 20);
    for (int turn = 0; turn < 3; turn++) {
        unsymmetric(dt, 20 + 40 * turn);
        every_way("unsymmetric", dt, false, 200);
        hermitian(dt, 15 + 50 * turn);
        every_way("Hermitian", dt, true, 50);
        triangle_shuffled(dt, 64 + turn);
        if ((64 + turn) % 3 && (64 + turn) % 5)
            every_way("permuted triangle", dt, false, 200);
    }
    arrow(dt, 60);
    every_way("arrow", dt, false, 100);
    unsymmetric(dt, 400);
    every_way("unsymmetric", dt, false, 2000);
}

static void test_files(void)
{
    static const struct { const char *name; bool definite; } files[] = {
        { "west0067", false }, { "fs_183_1", false }, { "bcsstk01", true },
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (CHECK(read_matrix(files[i].name)))
            every_way(files[i].name, DT_F64, files[i].definite, 100);
}

/* ---- what has no inverse ---- */
static void fails(const char *what, DType dt, int64_t column)
{
    const Csr a = csr_of(dt);
    for (int own = 0; own < 2; own++)
        for (int lu = 0; lu < 2; lu++) {
            EliminationWish wish = { .own = own, .method = lu ? ELIMINATION_LU : ELIMINATION_ANY };
            Elimination *e = elimination_new(&ctx, &a, &wish);
            bool ok = CHECK(e->failed >= 0 && e->failed < a.n);
            if (ok && column >= 0)
                ok = CHECK(e->failed == column);
            const EliminationDet d = elimination_det(&ctx, e);
            CHECK(d.re == 0 && d.im == 0 && elimination_rcond(&ctx, e) == 0);
            if (!ok)
                put_shape(what, &a, e), fprintf(stderr, "  column %lld\n", (long long)e->failed);
            elimination_free(&ctx, e);
        }
}

static void test_singular(DType dt)
{
    begin(3, 3);
    fails("all zero", dt, -1);
    poisson(6);
    for (int64_t k = 0; k < given.count; k++)
        given.value[k] = given.column[k] == 17 ? 0 : given.value[k];
    fails("a column of stored zeros", dt, 17);
    unsymmetric(dt, 30);
    for (int64_t k = 0; k < given.count; k++)
        given.column[k] = given.column[k] == 11 ? 12 : given.column[k];
    fails("an empty column", dt, 11);
    begin(4, 4);                         /* two rows have one column between them */
    add(0, 0, 1), add(1, 0, 2), add(2, 1, 3), add(2, 2, 3), add(3, 3, 1), add(3, 2, 5);
    add(2, 3, 1), add(3, 1, 2);
    fails("no perfect matching", dt, -1);
    begin(2, 2);
    add(0, 0, 1), add(0, 1, 2), add(1, 0, 2), add(1, 1, 4);
    fails("of rank 1", dt, -1);
    begin(3, 3);
    add(0, 0, 1), add(1, 1, 0), add(2, 2, 1);
    fails("diagonal with a 0", dt, 1);
}

static void test_indefinite(DType dt)
{
    poisson(5);
    for (int64_t k = 0; k < given.count; k++)
        if (given.row[k] == given.column[k])
            given.value[k] = 1.3;
    const Csr a = csr_of(dt);
    for (int own = 0; own < 2; own++) {
        EliminationWish wish = { .own = own };
        by("indefinite", &a, &wish, 500);
        Elimination *e = elimination_new(&ctx, &a, &wish);
        CHECK(e->method == ELIMINATION_LU && e->not_definite > 0 && e->hermitian);
        elimination_free(&ctx, e);
        wish.method = ELIMINATION_CHOLESKY;
        e = elimination_new(&ctx, &a, &wish);
        CHECK(e->method == ELIMINATION_ANY && e->not_definite > 0);
        elimination_free(&ctx, e);
    }
}

/* ---- which method ---- */
static void method_is(EliminationMethod method, DType dt)
{
    const Csr a = csr_of(dt);
    EliminationWish wish = { .own = false };
    Elimination *e = elimination_new(&ctx, &a, &wish);
    if (!CHECK(e->method == method))
        put_shape("method", &a, e);
    elimination_free(&ctx, e);
}

static void test_choice(DType dt)
{
    begin(0, 0);
    method_is(ELIMINATION_DIAGONAL, dt);
    begin(2, 2);
    add(0, 0, 1), add(1, 1, 2);
    method_is(ELIMINATION_DIAGONAL, dt);
    add(1, 0, 1);
    method_is(ELIMINATION_LOWER, dt);
    given.row[2] = 0, given.column[2] = 1;
    method_is(ELIMINATION_UPPER, dt);
    given.row[0] = 1, given.row[1] = 0, given.row[2] = 1;
    method_is(ELIMINATION_PERMUTED, dt);
    poisson(4);
    method_is(ELIMINATION_CHOLESKY, dt);
    unsymmetric(dt, 40);
    method_is(ELIMINATION_LU, dt);
    random_pattern(dt, 9, 4, 3);
    method_is(ELIMINATION_QR, dt);
}

/* ---- least squares ---- */
/* The gradient A'(A x - b) of tall ones vanishes; wide ones are solved, by an x in the range of
 * A'. */
static void test_rectangular(DType dt, int64_t m, int64_t n, bool dependent)
{
    const OwnOps *o = own_ops(dt);
    begin(m, n);
    for (int64_t k = 0; k < (m < n ? m : n); k++)
        add(k, k, 3 + number(dt));
    for (int64_t k = 0; k < 3 * (m + n); k++)
        add(below(m), below(n), number(dt));
    if (dependent)
        for (int64_t k = 0; k < given.count; k++)
            given.column[k] = given.column[k] == 2 ? 3 : given.column[k];
    const Csr a = csr_of(dt);
    double norms[2];
    for (int own = 0; own < 2; own++) {
        EliminationWish wish = { .own = own };
        Elimination *e = elimination_new(&ctx, &a, &wish);
        for (int64_t i = 0; i < m; i++)
            o->put(vectors[0], i, sin((double)i + 1), 0);
        elimination_solve(&ctx, e, false, 1, vectors[0], vectors[1]);
        load(dt, vectors[0], m, right);
        load(dt, vectors[1], n, solution);
        apply(&a, false, solution, product);
        for (int64_t i = 0; i < m; i++)
            product[i] -= right[i];
        norms[own] = largest(solution, n);
        static double complex gradient[ORDER];
        const double norm = apply(&a, true, product, gradient);
        bool ok = CHECK(e->rank == (m < n ? m : n) - dependent);
        ok &= CHECK(largest(gradient, n) < 1e4 * eps_of(dt) * norm * norm);
        if (m < n)
            ok &= CHECK(largest(product, m) < 1e4 * eps_of(dt) * norm);
        if (!ok)
            put_shape("rectangular", &a, e), fprintf(stderr, "  rank %lld\n", (long long)e->rank);
        elimination_free(&ctx, e);
    }
    if (!dependent)
        CHECK(fabs(norms[0] - norms[1]) < 1e4 * eps_of(dt) * norms[0]);
}

/* ---- incomplete factors ---- */
/* Of a tridiagonal matrix they are the factors; of others, L U is A on A's pattern. */
static void test_incomplete(DType dt)
{
    static double complex factor[ENTRIES];
    const OwnOps *o = own_ops(dt);
    for (int turn = 0; turn < 4; turn++) {
        const bool cholesky = turn % 2, chain = turn < 2;
        if (chain) {
            begin(50, 50);
            for (int64_t i = 0; i < 50; i++) {
                const double complex x = number(dt);
                add(i, i, 3);
                if (i)
                    add(i, i - 1, x), add(i - 1, i, cholesky ? conj(x) : number(dt));
            }
        } else
            hermitian(dt, 40);
        const Csr a = csr_of(dt);
        Csr f = a;
        f.value = factor;
        CHECK((cholesky ? incomplete_cholesky : incomplete_lu)(&ctx, &a, factor) == -1);
        for (int adjoint = 0; adjoint < 2; adjoint++) {
            for (int64_t i = 0; i < a.n; i++)
                o->put(vectors[0], i, check_uniform(), 0);
            incomplete_solve(&ctx, &f, cholesky, adjoint, 1, vectors[0], vectors[1]);
            load(dt, vectors[0], a.n, right);
            load(dt, vectors[1], a.n, solution);
            apply(&a, adjoint, solution, product);
            for (int64_t i = 0; i < a.n; i++)
                product[i] -= right[i];
            CHECK(largest(product, a.n) < (chain ? 50 * eps_of(dt) : 0.9));
        }
    }
    begin(3, 3);
    add(0, 0, 1), add(1, 0, 2), add(0, 1, 2), add(2, 2, 1);
    const Csr a = csr_of(dt);
    CHECK(incomplete_lu(&ctx, &a, factor) == 1 && incomplete_cholesky(&ctx, &a, factor) == 1);
}

/* ---- orders ---- */
static bool is_order(int64_t n, const int64_t *order)
{
    static bool seen[ORDER];
    memset(seen, 0, sizeof seen);
    for (int64_t i = 0; i < n; i++) {
        if (order[i] < 0 || order[i] >= n || seen[order[i]])
            return false;
        seen[order[i]] = true;
    }
    return true;
}

static void test_orders(void)
{
    static int64_t order[ORDER];
    Hold h = { .ctx = &ctx };
    for (int turn = 0; turn < 50; turn++) {
        const int64_t n = turn < 40 ? 1 + turn : 10 * turn;
        if (turn == 49)
            poisson(40);
        else if (turn % 7 == 0)
            arrow(DT_F64, n);
        else
            random_pattern(DT_F64, n, n, 0.3 * (double)(turn % 11));
        const Csr a = csr_of(DT_F64);
        Columns c = columns_of(&h, a.m, a.n, a.start, a.column, NULL, 0);
        Columns both[] = { columns_sum(&h, &c), columns_square(&h, &c, INT64_MAX, INT64_MAX) };
        for (int i = 0; i < 2; i++) {
            order_degree(&h, &both[i], order);
            CHECK(is_order(a.n, order));
            order_cuthill(&h, &both[i], order);
            CHECK(is_order(a.n, order));
        }
        hold_end(&h);
    }
    poisson(64);                         /* minimum degree leaves a tenth of the band's fill */
    const Csr a = csr_of(DT_F64);
    double fill[2];
    for (int natural = 0; natural < 2; natural++) {
        EliminationWish wish = { .own = true,
                                 .ordering = natural ? ORDERING_NATURAL : ORDERING_DEGREE };
        Elimination *e = elimination_new(&ctx, &a, &wish);
        fill[natural] = e->fill;
        elimination_free(&ctx, e);
    }
    CHECK(fill[1] > 250000 && fill[0] < 85000);
}

/* ---- memory ---- */
static void test_allocations(void)
{
    static const EliminationMethod methods[] = { ELIMINATION_ANY, ELIMINATION_LU, ELIMINATION_QR,
                                                 ELIMINATION_CHOLESKY };
    poisson(3);
    const Csr a = csr_of(DT_F64);
    const size_t live = ctx.mem.live;
    for (int way = 0; way < 8; way++) {
        bool done = false;
        for (uint64_t fail = 1; !done && fail < 500; fail++) {
            ErrFrame frame;
            EliminationWish wish = { .method = methods[way / 2], .own = way % 2 };
            Elimination *volatile e = NULL;
            ctx.mem.fail_at = ctx.mem.allocations + fail;
            if (ERR_TRY(&ctx, &frame)) {
                e = elimination_new(&ctx, &a, &wish);
                elimination_solve(&ctx, e, false, 1, vectors[0], vectors[1]);
                if (e->method != ELIMINATION_QR) {
                    elimination_det(&ctx, e);
                    elimination_rcond(&ctx, e);
                }
                EliminationParts f = elimination_parts(&ctx, e);
                Tensor *const all[] = { f.l, f.u, f.p, f.q };
                for (int i = 0; i < 4; i++)
                    if (all[i])
                        tensor_release(&ctx, all[i]);
                ERR_END(&ctx, &frame);
                done = true;
            }
            elimination_free(&ctx, e);
            ctx.mem.fail_at = 0;
            CHECK(ctx.mem.live == live);
        }
        CHECK(done);
    }
}

int main(void)
{
    static InterruptFlag flag;
    mem_init(&ctx);
    ctx.interrupt = &flag;
    suitesparse_allow();
    if (!suitesparse_open(SS_CHOLMOD) || !suitesparse_open(SS_UMFPACK))
        fprintf(stderr, "SuiteSparse is not here: its methods were not run\n");
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        every_matrix(dtypes[i]);
        test_singular(dtypes[i]);
        test_indefinite(dtypes[i]);
        test_choice(dtypes[i]);
        test_incomplete(dtypes[i]);
        test_rectangular(dtypes[i], 40, 12, false);
        test_rectangular(dtypes[i], 12, 40, false);
        test_rectangular(dtypes[i], 200, 150, false);
        test_rectangular(dtypes[i], 30, 10, true);
    }
    test_files();
    test_orders();
    test_allocations();
    pool_shutdown(&ctx);
    mem_shutdown(&ctx);
    return check_result();
}
