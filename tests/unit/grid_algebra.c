/* Products, systems and factorisations of a rank, by residuals. */
#include "grid.h"

typedef struct Matrix { int64_t m, n; double _Complex *at; } Matrix;     /* by rows */

static Matrix matrix(int64_t m, int64_t n)
{
    return (Matrix){ m, n, mem_zalloc(ctx, (size_t)(m * n + 1) * sizeof(double _Complex)) };
}

static void matrix_free(Matrix a)
{
    mem_free(ctx, a.at, (size_t)(a.m * a.n + 1) * sizeof(double _Complex));
}

static Matrix matrix_of(const Tensor *t)
{
    Matrix a = matrix(tensor_shape(t)[0], t->rank > 1 ? tensor_shape(t)[1] : 1);
    for (int64_t i = 0; i < t->size; i++)
        a.at[i] = at_z(t, i);
    return a;
}

static Matrix fetched(uint64_t id)
{
    Tensor *t = fetch(id);
    Matrix a = matrix_of(t);
    tensor_release(ctx, t);
    drop(id);
    return a;
}

/* op(a) op(b): 0 as it is, 1 transposed, 2 conjugated too. */
static double _Complex element(Matrix a, uint64_t how, int64_t i, int64_t j)
{
    double _Complex x = how ? a.at[j * a.n + i] : a.at[i * a.n + j];
    return how == 2 ? conj(x) : x;
}

static Matrix product(Matrix a, uint64_t ta, Matrix b, uint64_t tb)
{
    int64_t m = ta ? a.n : a.m, k = ta ? a.m : a.n, n = tb ? b.m : b.n;
    Matrix c = matrix(m, n);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t l = 0; l < k; l++)
                c.at[i * n + j] += element(a, ta, i, l) * element(b, tb, l, j);
    return c;
}

/* The largest difference over eps, n and the largest element. */
static double apart(Matrix a, Matrix b, DType dt)
{
    double most = 1e-300, gap = a.m == b.m && a.n == b.n ? 0 : 1e300;
    for (int64_t i = 0; i < a.m * a.n && gap < 1e300; i++) {
        most = fmax(most, cabs(b.at[i]));
        gap = isnan(cabs(a.at[i])) ? 1e300 : fmax(gap, cabs(a.at[i] - b.at[i]));
    }
    return gap / most / eps_of(dt) / (double)(a.m + a.n + 1);
}

static bool same_matrix(Matrix a, Matrix b, DType dt)
{
    double gap = apart(a, b, dt);
    if (gap > 20)
        fprintf(stderr, "%lld by %lld %s: off by %g\n", (long long)b.m, (long long)b.n,
                dtype_name(dt), gap);
    return gap <= 20;
}

static bool unitary(Matrix q, DType dt)
{
    Matrix one = product(q, 2, q, 0), eye = matrix(q.n, q.n);
    for (int64_t i = 0; i < q.n; i++)
        eye.at[i * (q.n + 1)] = 1;
    bool right = same_matrix(one, eye, dt);
    matrix_free(one);
    matrix_free(eye);
    return right;
}

typedef struct Size { int64_t m, n, k; } Size;
static const Size sizes[] = { { 13, 5, 3 }, { 5, 13, 7 }, { 9, 9, 1 }, { 1, 1, 1 }, { 2, 17, 18 },
                              { 20, 20, 20 }, { 0, 4, 2 }, { 4, 0, 2 }, { 3, 4, 0 } };
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static void product_one(DType dt, Size s, uint64_t ta, uint64_t tb)
{
    Tensor *a = filled(dt, 2, ta ? (int64_t[]){ s.k, s.m } : (int64_t[]){ s.m, s.k });
    Tensor *b = filled(dt, 2, tb ? (int64_t[]){ s.n, s.k } : (int64_t[]){ s.k, s.n });
    uint64_t ia = put(a), ib = put(b);
    Matrix ma = matrix_of(a), mb = matrix_of(b), want = product(ma, ta, mb, tb);
    Call c;
    say(&c, GRID_GEMM, 5, (uint64_t[]){ ++newest, ia, ib, ta, tb });
    Matrix got = fetched(newest);
    CHECK(same_matrix(got, want, dt));
    end(&c);
    drop(ia);
    drop(ib);
    matrix_free(ma), matrix_free(mb), matrix_free(want), matrix_free(got);
    tensor_release(ctx, a);
    tensor_release(ctx, b);
}

/* More panels than one: a product's column of random numbers, multiplied twice. */
static void long_product(uint64_t ta, uint64_t tb)
{
    Size s = ta ? (Size){ 1700, 450, 60 } : tb ? (Size){ 450, 1700, 60 } : (Size){ 450, 430, 1700 };
    Tensor *a = filled(DT_F64, 2, ta ? (int64_t[]){ s.k, s.m } : (int64_t[]){ s.m, s.k });
    Tensor *b = filled(DT_F64, 2, tb ? (int64_t[]){ s.n, s.k } : (int64_t[]){ s.k, s.n });
    Tensor *x = filled(DT_F64, 2, (int64_t[]){ s.n, 1 });
    uint64_t ia = put(a), ib = put(b);
    Call c;
    say(&c, GRID_GEMM, 5, (uint64_t[]){ ++newest, ia, ib, ta, tb });
    Matrix ma = matrix_of(a), mb = matrix_of(b), mx = matrix_of(x), mc = fetched(newest);
    Matrix bx = product(mb, tb, mx, 0), want = product(ma, ta, bx, 0), got = product(mc, 0, mx, 0);
    CHECK(same_matrix(got, want, DT_F64));
    end(&c);
    drop(ia);
    drop(ib);
    matrix_free(ma), matrix_free(mb), matrix_free(mx), matrix_free(mc);
    matrix_free(bx), matrix_free(want), matrix_free(got);
    tensor_release(ctx, a);
    tensor_release(ctx, b);
    tensor_release(ctx, x);
}

static void vector_products(DType dt, Size s)
{
    Tensor *a = filled(dt, 2, (int64_t[]){ s.m, s.n });
    Tensor *x = filled(dt, 1, (int64_t[]){ s.n }), *y = filled(dt, 1, (int64_t[]){ s.m });
    uint64_t ia = put(a), ix = put(x), iy = put(y);
    Matrix ma = matrix_of(a), mx = matrix_of(x), my = matrix_of(y);
    Matrix right = product(ma, 0, mx, 0), left = product(ma, 1, my, 0);
    Call c;
    say(&c, GRID_GEMM, 5, (uint64_t[]){ ++newest, ia, ix, 0, 0 });
    CHECK(grid_find(g, newest)->axes == 1);
    Matrix got = fetched(newest);
    CHECK(same_matrix(got, right, dt));
    end(&c);
    matrix_free(got);
    say(&c, GRID_GEMM, 5, (uint64_t[]){ ++newest, iy, ia, 0, 0 });
    CHECK(grid_find(g, newest)->axes == 1);
    got = fetched(newest);
    CHECK(same_matrix(got, left, dt));
    end(&c);
    matrix_free(got);
    say(&c, GRID_DOT, 3, (uint64_t[]){ ix, ix, 1 });
    CHECK(wire_get_u64(&c.answer) == dt);
    Matrix xx = product(mx, 2, mx, 0);
    uint64_t word[2] = { wire_get_u64(&c.answer), wire_get_u64(&c.answer) };
    CHECK(near(element_c128(dt, word), xx.at[0], dt, 40));
    end(&c);
    drop(ia), drop(ix), drop(iy);
    matrix_free(ma), matrix_free(mx), matrix_free(my), matrix_free(xx);
    matrix_free(right), matrix_free(left);
    tensor_release(ctx, a), tensor_release(ctx, x), tensor_release(ctx, y);
}

/* What `\` tells apart: 0 general, 1 lower, 2 upper, 3 diagonal, 4 definite, 5 Hermitian. */
enum { KINDS = 6 };
static Tensor *square_of(DType dt, int64_t n, int kind)
{
    Tensor *t = filled(dt, 2, (int64_t[]){ n, n });
    size_t bytes = dtype_info(dt)->bytes;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double _Complex x = at_z(t, i * n + j), y = conj(at_z(t, j * n + i));
            x = kind >= 4 && i > j ? y : x;
            if ((kind == 1 && j > i) || (kind == 2 && j < i) || (kind == 3 && i != j))
                x = 0;
            if (i == j)
                x = (kind == 5 ? creal(x) : kind == 4 ? (double)n : x + 3);
            cast_run(dt, t->data + (size_t)(i * n + j) * bytes, 1,
                     dtype_info(dt)->kind == 'c' ? DT_C128 : DT_F64, &x, 1, 1);
        }
    return t;
}

static void solve_one(DType dt, int64_t n, int kind, int64_t cols)
{
    static const GridSolved ways[KINDS] = { SOLVED_LU, SOLVED_LOWER, SOLVED_UPPER, SOLVED_DIAGONAL,
                                            SOLVED_CHOLESKY, SOLVED_LU };
    Tensor *a = square_of(dt, n, kind);
    Tensor *b = filled(dt, cols < 0 ? 1 : 2, (int64_t[]){ n, cols });
    uint64_t ia = put(a), ib = put(b);
    Call c;
    say(&c, GRID_SOLVE, 3, (uint64_t[]){ ++newest, ia, ib });
    uint64_t how = wire_get_u64(&c.answer), info = wire_get_u64(&c.answer);
    double rcond = wire_get_f64(&c.answer);
    if (n > (kind == 5 ? 3 : 1) && cols)
        CHECK(how == ways[kind]);
    CHECK(info == 0 && (cols == 0 || (rcond > 0 && rcond <= 1.01)));
    Matrix x = fetched(newest), ma = matrix_of(a), mb = matrix_of(b);
    Matrix back = product(ma, 0, x, 0);
    CHECK(apart(back, mb, dt) <= 2000 || rcond < 1e-4);
    end(&c);
    drop(ia), drop(ib);
    matrix_free(x), matrix_free(ma), matrix_free(mb), matrix_free(back);
    tensor_release(ctx, a), tensor_release(ctx, b);
}

static void inverse_one(DType dt, int64_t n)
{
    Tensor *a = square_of(dt, n, 0);
    uint64_t ia = put(a);
    Call c;
    say(&c, GRID_INV, 2, (uint64_t[]){ ++newest, ia });
    CHECK(wire_get_u64(&c.answer) == 0);
    Matrix x = fetched(newest), ma = matrix_of(a), one = product(ma, 0, x, 0), eye = matrix(n, n);
    for (int64_t i = 0; i < n; i++)
        eye.at[i * (n + 1)] = 1;
    CHECK(apart(one, eye, dt) <= 2000);
    end(&c);
    drop(ia);
    matrix_free(x), matrix_free(ma), matrix_free(one), matrix_free(eye);
    tensor_release(ctx, a);
}

/* By elimination here. */
static double _Complex determinant(Matrix a)
{
    double _Complex det = 1;
    for (int64_t k = 0; k < a.n; k++) {
        int64_t p = k;
        for (int64_t i = k; i < a.n; i++)
            p = cabs(a.at[i * a.n + k]) > cabs(a.at[p * a.n + k]) ? i : p;
        for (int64_t j = 0; j < a.n && p != k; j++) {
            double _Complex t = a.at[p * a.n + j];
            a.at[p * a.n + j] = a.at[k * a.n + j];
            a.at[k * a.n + j] = t;
        }
        det *= p == k ? a.at[k * a.n + k] : -a.at[k * a.n + k];
        for (int64_t i = k + 1; i < a.n && a.at[k * a.n + k] != 0; i++) {
            double _Complex by = a.at[i * a.n + k] / a.at[k * a.n + k];
            for (int64_t j = k; j < a.n; j++)
                a.at[i * a.n + j] -= by * a.at[k * a.n + j];
        }
    }
    return det;
}

static void determinant_one(DType dt, int64_t n)
{
    Tensor *a = square_of(dt, n, 0);
    uint64_t ia = put(a);
    Call c;
    say(&c, GRID_DET, 1, &ia);
    CHECK(wire_get_u64(&c.answer) == dt);
    uint64_t word[4] = { wire_get_u64(&c.answer), wire_get_u64(&c.answer) };
    double log_size = wire_get_f64(&c.answer);
    word[2] = wire_get_u64(&c.answer), word[3] = wire_get_u64(&c.answer);
    Matrix ma = matrix_of(a);
    double _Complex want = determinant(ma), sign = element_c128(dt, word);
    CHECK(near(element_c128(dt, word + 2), want, dt, 4000));
    CHECK(near(log_size, log(cabs(want)), dt, 4000));
    CHECK(near(sign, want / cabs(want), dt, 4000));
    end(&c);
    drop(ia);
    matrix_free(ma);
    tensor_release(ctx, a);
}

static void singular_ones(void)
{
    Tensor *zero = tensor_zeros(ctx, DT_F64, 2, (int64_t[]){ 6, 6 });
    for (int i = 0; i < 36; i++)
        ((double *)zero->data)[i] = i % 6 + 1;
    uint64_t ia = put(zero);
    Call c;
    say(&c, GRID_SOLVE, 3, (uint64_t[]){ ++newest, ia, ia });
    wire_get_u64(&c.answer);
    CHECK(wire_get_u64(&c.answer) > 0);
    end(&c);
    drop(newest);
    say(&c, GRID_INV, 2, (uint64_t[]){ ++newest, ia });
    CHECK(wire_get_u64(&c.answer) > 0);
    end(&c);
    drop(newest);
    say(&c, GRID_CHOL, 2, (uint64_t[]){ ++newest, ia });
    wire_get_u64(&c.answer);
    CHECK(wire_get_u64(&c.answer) == 0);
    end(&c);
    drop(newest);
    say(&c, GRID_LSTSQ, 3, (uint64_t[]){ ++newest, ia, ia });
    CHECK(wire_get_u64(&c.answer) > 0);
    end(&c);
    drop(newest);
    say(&c, GRID_DET, 1, &ia);
    wire_get_u64(&c.answer), wire_get_u64(&c.answer), wire_get_u64(&c.answer);
    CHECK(wire_get_f64(&c.answer) == -INFINITY);
    end(&c);
    drop(ia);
    tensor_release(ctx, zero);
}

/* ---- factorisations ---- */
static void lu_one(DType dt, Size s)
{
    Tensor *a = filled(dt, 2, (int64_t[]){ s.m, s.n });
    uint64_t ia = put(a);
    Call c;
    newest += 3;
    say(&c, GRID_LU, 4, (uint64_t[]){ newest - 2, newest - 1, newest, ia });
    CHECK(wire_get_u64(&c.answer) == 0);
    Matrix p = fetched(newest - 2), l = fetched(newest - 1), u = fetched(newest);
    Matrix ma = matrix_of(a), turned = matrix(s.m, s.n), lu = product(l, 0, u, 0);
    for (int64_t i = 0; i < s.m; i++)
        for (int64_t j = 0; j < s.n; j++)
            turned.at[i * s.n + j] = ma.at[(int64_t)creal(p.at[i]) * s.n + j];
    CHECK(same_matrix(lu, turned, dt));
    bool right = true;
    for (int64_t i = 0; i < l.m; i++)
        for (int64_t j = 0; j < l.n; j++)
            right = right && (j < i ? cabs(l.at[i * l.n + j]) <= 1.5
                                    : l.at[i * l.n + j] == (i == j));
    for (int64_t i = 0; i < u.m; i++)
        for (int64_t j = 0; j < i && j < u.n; j++)
            right = right && u.at[i * u.n + j] == 0;
    CHECK(right);
    end(&c);
    drop(ia);
    matrix_free(p), matrix_free(l), matrix_free(u), matrix_free(ma), matrix_free(turned);
    matrix_free(lu);
    tensor_release(ctx, a);
}

static void cholesky_one(DType dt, int64_t n)
{
    Tensor *a = square_of(dt, n, 4);
    uint64_t ia = put(a);
    Call c;
    say(&c, GRID_CHOL, 2, (uint64_t[]){ ++newest, ia });
    CHECK(wire_get_u64(&c.answer) == 0 && wire_get_u64(&c.answer) == 1);
    Matrix l = fetched(newest), ma = matrix_of(a), back = product(l, 0, l, 2);
    CHECK(same_matrix(back, ma, dt));
    for (int64_t i = 0; i + 1 < n; i++)
        CHECK(l.at[i * n + n - 1] == 0);
    end(&c);
    drop(ia);
    matrix_free(l), matrix_free(ma), matrix_free(back);
    tensor_release(ctx, a);
}

static void qr_one(DType dt, Size s, uint64_t full)
{
    Tensor *a = filled(dt, 2, (int64_t[]){ s.m, s.n });
    uint64_t ia = put(a);
    Call c;
    newest += 2;
    say(&c, GRID_QR, 4, (uint64_t[]){ newest - 1, newest, ia, full });
    Matrix q = fetched(newest - 1), r = fetched(newest), ma = matrix_of(a);
    Matrix back = product(q, 0, r, 0);
    CHECK(q.n == (full || s.m < s.n ? s.m : s.n));
    CHECK(same_matrix(back, ma, dt));
    CHECK(unitary(q, dt));
    end(&c);
    drop(ia);
    matrix_free(q), matrix_free(r), matrix_free(ma), matrix_free(back);
    tensor_release(ctx, a);
}

/* The residual is orthogonal to what A reaches, or x to what A kills. */
static void least_squares_one(DType dt, Size s)
{
    Tensor *a = filled(dt, 2, (int64_t[]){ s.m, s.n });
    Tensor *b = s.k == 1 ? filled(dt, 1, (int64_t[]){ s.m })
                         : filled(dt, 2, (int64_t[]){ s.m, s.k });
    uint64_t ia = put(a), ib = put(b);
    Call c;
    say(&c, GRID_LSTSQ, 3, (uint64_t[]){ ++newest, ia, ib });
    CHECK(wire_get_u64(&c.answer) == 0);
    CHECK(grid_find(g, newest)->axes == b->rank);
    Matrix x = fetched(newest), ma = matrix_of(a), mb = matrix_of(b), ax = product(ma, 0, x, 0);
    Matrix normal = product(ma, 2, ax, 0), want = product(ma, 2, mb, 0);
    CHECK(s.n > s.m ? apart(ax, mb, dt) <= 4000 : apart(normal, want, dt) <= 4000);
    end(&c);
    drop(ia), drop(ib);
    matrix_free(x), matrix_free(ma), matrix_free(mb), matrix_free(ax), matrix_free(normal);
    matrix_free(want);
    tensor_release(ctx, a), tensor_release(ctx, b);
}

/* a v = v w, v unitary, w rising. */
static void eigen_of(DType dt, Tensor *a)
{
    int64_t n = tensor_shape(a)[0];
    uint64_t ia = put(a);
    Call c;
    newest += 2;
    say(&c, GRID_EIGH, 3, (uint64_t[]){ newest - 1, newest, ia });
    CHECK(wire_get_u64(&c.answer) == 0);
    if (c.raised)
        fprintf(stderr, "eigh of %lld raised\n", (long long)n);
    CHECK(grid_find(g, newest - 1)->dtype == dtype_real(dt));
    Matrix w = fetched(newest - 1), v = fetched(newest), ma = matrix_of(a);
    Matrix av = product(ma, 0, v, 0), vw = matrix(n, n);
    for (int64_t i = 0; i < n * n; i++)
        vw.at[i] = v.at[i] * w.at[i % n];
    CHECK(same_matrix(av, vw, dt));
    CHECK(unitary(v, dt));
    for (int64_t i = 1; i < n; i++)
        CHECK(creal(w.at[i - 1]) <= creal(w.at[i]));
    end(&c);
    drop(ia);
    matrix_free(w), matrix_free(v), matrix_free(ma), matrix_free(av), matrix_free(vw);
    tensor_release(ctx, a);
}

static void eigen_one(DType dt, int64_t n) { eigen_of(dt, square_of(dt, n, 5)); }

static void singular_values_one(DType dt, Size s, bool vectors)
{
    Tensor *a = filled(dt, 2, (int64_t[]){ s.m, s.n });
    uint64_t ia = put(a);
    Call c;
    newest += 3;
    say(&c, GRID_SVD, 4, (uint64_t[]){ newest - 2, vectors ? newest - 1 : 0, vectors ? newest : 0,
                                       ia });
    CHECK(wire_get_u64(&c.answer) == 0);
    Matrix values = fetched(newest - 2), ma = matrix_of(a);
    double squares = 0, norm = 0;
    for (int64_t i = 0; i < values.m; i++)
        squares += creal(values.at[i]) * creal(values.at[i]);
    for (int64_t i = 0; i < s.m * s.n; i++)
        norm += creal(ma.at[i] * conj(ma.at[i]));
    CHECK(near(sqrt(squares), sqrt(norm), dt, 200));
    if (vectors) {
        Matrix u = fetched(newest - 1), vt = fetched(newest);
        CHECK(unitary(u, dt));
        for (int64_t i = 0; i < u.m * u.n; i++)
            u.at[i] *= values.at[i % u.n];
        Matrix back = product(u, 0, vt, 0);
        CHECK(same_matrix(back, ma, dt));
        matrix_free(u), matrix_free(vt), matrix_free(back);
    }
    end(&c);
    drop(ia);
    matrix_free(values), matrix_free(ma);
    tensor_release(ctx, a);
}

/* Values that are out of order, the same, or nothing: on a diagonal and beside it. */
static void eigen_special(DType dt, int64_t n)
{
    for (int kind = 0; kind < 4; kind++) {
        Tensor *a = tensor_zeros(ctx, dt, 2, (int64_t[]){ n, n });
        for (int64_t i = 0; i < n; i++) {
            double x[2] = { kind == 0 ? (double)((n - i) % 3) : kind == 1 ? 1.0 : 0.0, 0 };
            cast_run(dt, a->data + (size_t)(i * n + (kind == 2 ? n - 1 - i : i)) *
                     dtype_info(dt)->bytes, 1, DT_C128, x, 1, 1);
        }
        eigen_of(dt, a);
    }
}

/* Matrices of few elements: most processes have none, whatever the block. */
static void tiny(void)
{
    static const int blocks[] = { 1, 2, 3, 64 };
    const int usual = g->grid.nb;
    for (int i = few > 1; i < 4; i += 1 + (few > 1)) {
        g->grid.nb = blocks[i];
        for (int d = few > 0; d < 4; d += 1 + few) {
            DType dt = blas[d];
            for (int64_t m = 1; m <= 3; m++)
                for (int64_t n = 1; n <= 3; n++) {
                    Size s = { m, n, 1 + (m + n) % 2 };
                    product_one(dt, s, 0, 0);
                    lu_one(dt, s);
                    qr_one(dt, s, n % 2);
                    least_squares_one(dt, s);
                    singular_values_one(dt, s, true);
                    singular_values_one(dt, s, false);
                }
            for (int64_t n = 1; n <= 3; n++) {
                for (int kind = 0; kind < KINDS; kind++)
                    solve_one(dt, n, kind, kind % 2 ? -1 : n);
                inverse_one(dt, n);
                determinant_one(dt, n);
                cholesky_one(dt, n);
                eigen_one(dt, n);
                eigen_special(dt, n);
            }
            static const int64_t orders[] = { 4, 7, 12, 30, 70 };
            for (int k = 0; k < 5; k++)
                eigen_one(dt, orders[k]);
        }
    }
    g->grid.nb = usual;
}

static void all(void)
{
    tiny();
    for (int d = few > 0; d < 4; d += 1 + few) {
        DType dt = blas[d];
        for (int s = 0; s < SIZES; s += 1 + few) {
            for (uint64_t how = 0; how < 9; how++)
                if (s < 3 || how % 4 == 0)
                    product_one(dt, sizes[s], how / 3, how % 3);
            vector_products(dt, sizes[s]);
            lu_one(dt, sizes[s]);
            qr_one(dt, sizes[s], s % 2);
            if (sizes[s].m && sizes[s].n && sizes[s].k)
                least_squares_one(dt, sizes[s]);
            singular_values_one(dt, sizes[s], true);
            singular_values_one(dt, sizes[s], false);
        }
        static const int64_t orders[] = { 0, 1, 2, 5, 16, 21 };
        for (int i = few > 0; i < 6; i += 1 + few) {
            for (int kind = 0; kind < KINDS; kind++)
                solve_one(dt, orders[i], kind, kind % 3 == 0 ? -1 : kind % 3 == 1 ? 4 : i);
            inverse_one(dt, orders[i]);
            determinant_one(dt, orders[i]);
            cholesky_one(dt, orders[i]);
            eigen_one(dt, orders[i]);
        }
    }
    for (int how = 0; how < 3; how++)
        long_product(how == 1, how == 2);
    singular_ones();
}

int main(int count, char **arg) { return grid_main(count, arg, all); }
