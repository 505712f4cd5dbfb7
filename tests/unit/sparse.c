/* Sparse matrices against dense loops of this file: every dtype with kernels, random patterns with
 * empty rows, rows that are full, no rows and no columns; entries sorted and each place once; one
 * thread and four give the same bits; every allocation fails once, and nothing leaks. */
#include "kernels/sparse/product.h"
#include "tests/unit/check.h"

#include <complex.h>
#include <stdlib.h>

static InterruptFlag stop;
static Ctx one, four;
static const DType dtypes[] = { DT_F32, DT_F64, DT_C64, DT_C128 };
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static double complex get(const Tensor *t, int64_t i) {
    switch (t->dtype) {
    case DT_F32: return ((const float *)t->data)[i];
    case DT_F64: return ((const double *)t->data)[i];
    case DT_C64: return ((const float complex *)t->data)[i];
    default: return ((const double complex *)t->data)[i];
    }
}

static void put(Tensor *t, int64_t i, double complex x) {
    switch (t->dtype) {
    case DT_F32: ((float *)t->data)[i] = (float)creal(x); break;
    case DT_F64: ((double *)t->data)[i] = creal(x); break;
    case DT_C64: ((float complex *)t->data)[i] = (float complex)x; break;
    default: ((double complex *)t->data)[i] = x;
    }
}

static double complex random_number(DType dt) {
    double complex x = check_uniform();
    return dtype_info(dt)->kind == 'c' ? x + I * check_uniform() : x;
}

static double eps_of(DType dt) { return dt == DT_F32 || dt == DT_C64 ? 0x1p-23 : 0x1p-52; }

/* ---- a matrix, and what it is in full ---- */
typedef struct Case {
    DType dt;
    int64_t m, n;
    Tensor *pattern, *value;
    Csr csr;
    double complex *dense;      /* m * n */
    bool *stored;
} Case;

static Csr csr_of(int64_t m, int64_t n, Tensor *pattern, Tensor *value) {
    const int64_t *start = (const int64_t *)pattern->data;
    return (Csr){ .m = m, .n = n, .entries = pattern->size - m - 1, .start = start,
                  .column = start + m + 1, .value = value ? value->data : NULL,
                  .dtype = value ? (DType)value->dtype : DT_NONE };
}

/* About `percent` of the places, one row full if `full`; made by sparse_sort of shuffled places. */
static Case case_of(Ctx *ctx, DType dt, int64_t m, int64_t n, int percent, bool full) {
    Case c = { .dt = dt, .m = m, .n = n };
    Made made = { 0 };
    int64_t count = 0, *row = calloc((size_t)(m * n + 1), sizeof *row);
    int64_t *column = calloc((size_t)(m * n + 1), sizeof *column);
    c.dense = calloc((size_t)(m * n + 1), sizeof *c.dense);
    c.stored = calloc((size_t)(m * n + 1), 1);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            if ((full && i == m / 2) || (int)(check_random() % 100) < percent) {
                row[count] = i;
                column[count++] = j;
            }
    for (int64_t k = count; k > 1; k--) {
        const int64_t with = (int64_t)(check_random() % (uint64_t)k), i = row[k - 1],
                      j = column[k - 1];
        row[k - 1] = row[with], column[k - 1] = column[with];
        row[with] = i, column[with] = j;
    }
    c.pattern = made_take(&made, sparse_sort(ctx, &made, m, n, row, column, count).pattern);
    c.value = made_take(&made, made_vector(ctx, &made, dt, count));
    made_end(ctx, &made);
    c.csr = csr_of(m, n, c.pattern, c.value);
    for (int64_t i = 0; i < m; i++)
        for (int64_t k = c.csr.start[i]; k < c.csr.start[i + 1]; k++) {
            const int64_t at = i * n + c.csr.column[k];
            put(c.value, k, check_random() % 16 ? random_number(dt) : 0);
            c.dense[at] = get(c.value, k);
            c.stored[at] = true;
        }
    free(row);
    free(column);
    return c;
}

static void case_end(Ctx *ctx, Case *c) {
    tensor_release(ctx, c->pattern);
    tensor_release(ctx, c->value);
    free(c->dense);
    free(c->stored);
}

/* Starts rise from 0 to the number of entries, columns within rows and within bounds. */
static bool is_sorted(const Csr *a) {
    bool good = a->start[0] == 0 && a->start[a->m] == a->entries;
    for (int64_t i = 0; good && i < a->m; i++) {
        good = a->start[i] <= a->start[i + 1];
        for (int64_t k = a->start[i]; good && k < a->start[i + 1]; k++)
            good = a->column[k] >= 0 && a->column[k] < a->n &&
                   (k == a->start[i] || a->column[k - 1] < a->column[k]);
    }
    return good;
}

/* ---- a result, and another context's ---- */
/* Elements in order, bit for bit the same? */
static bool same_bits(const Tensor *a, const Tensor *b) {
    return a->size == b->size && a->dtype == b->dtype &&
           memcmp(a->data, b->data, (size_t)a->size * dtype_info((DType)a->dtype)->bytes) == 0;
}

static bool near_(DType dt, double complex got, double complex want, double size) {
    return cabs(got - want) <= 16 * eps_of(dt) * size;
}

static Tensor *random_matrix(Ctx *ctx, Made *made, DType dt, int rank, int64_t m, int64_t n) {
    Tensor *t = made_tensor(ctx, made, dt, rank, (int64_t[]){ m, n });
    for (int64_t i = 0; i < t->size; i++) put(t, i, random_number(dt));
    return t;
}

/* Element (i, j) of op(A) X: sums of products and of their sizes. */
typedef struct Sum { double complex value; double size; } Sum;

static Sum element(const Case *a, bool turned, bool conj, const Tensor *x, int64_t i, int64_t j) {
    const int64_t *step = tensor_strides(x), inner = turned ? a->m : a->n;
    Sum s = { 0, 1e-30 };
    for (int64_t k = 0; k < inner; k++) {
        double complex v = turned ? a->dense[k * a->n + i] : a->dense[i * a->n + k];
        const double complex y = get(x, k * step[0] + (x->rank == 2 ? j * step[1] : 0));
        v = conj ? creal(v) - I * cimag(v) : v;
        s.value += v * y;
        s.size += cabs(v) * cabs(y);
    }
    return s;
}

static void check_dense(const Case *a, bool turned, bool conj, const Tensor *x, const Tensor *y) {
    const int64_t rows = turned ? a->n : a->m, k = x->rank == 2 ? x->dims[1] : 1;
    bool good = y->rank == x->rank && y->dims[0] == rows;
    for (int64_t i = 0; good && i < rows; i++)
        for (int64_t j = 0; good && j < k; j++) {
            const Sum s = element(a, turned, conj, x, i, j);
            good = near_(a->dt, get(y, i * tensor_strides(y)[0] +
                                           (y->rank == 2 ? j * tensor_strides(y)[1] : 0)),
                         s.value, s.size);
        }
    CHECK(good);
}

static void dense_products(const Case *a) {
    static const int64_t widths[] = { 0, 1, 2, 5, 21 };
    for (int w = -1; w < 5; w++)
        for (int turned = 0; turned < 2; turned++)
            for (int across = 0; across < (w > 0 ? 2 : 1); across++) {
                const int64_t inner = turned ? a->m : a->n, k = w < 0 ? 1 : widths[w];
                Made made = { 0 }, other = { 0 };
                Tensor *x = across ? random_matrix(&one, &made, a->dt, 2, k, inner)
                                   : random_matrix(&one, &made, a->dt, w < 0 ? 1 : 2, inner, k);
                Tensor *seen = across ? made_transposed(&one, &made, x) : x;
                Tensor *y = turned ? csr_turned_times(&one, &made, &a->csr, seen, across)
                                   : csr_times(&one, &made, &a->csr, seen);
                Tensor *z = turned ? csr_turned_times(&four, &other, &a->csr, seen, across)
                                   : csr_times(&four, &other, &a->csr, seen);
                check_dense(a, turned, turned && across, seen, y);
                CHECK(same_bits(y, z));
                if (w >= 0 && turned) {         /* x' A is (A' x)' */
                    Tensor *left = made_transposed(&one, &made, seen);
                    Tensor *p = csr_times_from_left(&one, &made, left, &a->csr);
                    check_dense(a, true, false, seen, made_transposed(&one, &made, p));
                }
                made_end(&one, &made);
                made_end(&four, &other);
            }
}

/* ---- sparse by sparse ---- */
static void sparse_product(const Case *a, const Case *b) {
    Made made = { 0 }, other = { 0 };
    Tensor *t = csr_times_csr(&one, &made, &a->csr, &b->csr);
    Tensor *u = csr_times_csr(&four, &other, &a->csr, &b->csr);
    const Csr c = sparse_csr(tensor_sparse(t));
    CHECK(is_sorted(&c) && c.m == a->m && c.n == b->n && c.dtype == a->dt);
    CHECK(same_bits(tensor_sparse(t)->pattern, tensor_sparse(u)->pattern) &&
          same_bits(tensor_sparse(t)->value, tensor_sparse(u)->value));
    bool good = true;
    for (int64_t i = 0; good && i < c.m; i++) {
        int64_t k = c.start[i];
        for (int64_t j = 0; good && j < c.n; j++) {
            Sum s = { 0, 1e-30 };
            bool any = false;
            for (int64_t l = 0; l < a->n; l++) {
                any |= a->stored[i * a->n + l] && b->stored[l * b->n + j];
                s.value += a->dense[i * a->n + l] * b->dense[l * b->n + j];
                s.size += cabs(a->dense[i * a->n + l]) * cabs(b->dense[l * b->n + j]);
            }
            const bool there = k < c.start[i + 1] && c.column[k] == j;
            good = there == any &&
                   (!any || near_(a->dt, get(tensor_sparse(t)->value, k), s.value, s.size));
            k += there;
        }
    }
    CHECK(good);
    tensor_release(&one, t);
    tensor_release(&four, u);
}

static void random_cases(void) {
    static const int64_t sizes[] = { 0, 1, 3, 17, 40, 70 };
    for (int d = 0; d < DTYPES; d++)
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++) {
                static const int percents[] = { 0, 4, 15, 60 };
                const int percent = percents[check_random() % 4];
                Case a = case_of(&one, dtypes[d], sizes[i], sizes[j], percent, percent == 4);
                Case b = case_of(&one, dtypes[d], sizes[j], sizes[5 - i], 15, false);
                CHECK(is_sorted(&a.csr));
                dense_products(&a);
                sparse_product(&a, &b);
                case_end(&one, &a);
                case_end(&one, &b);
            }
}

/* ---- large ones ---- */
/* n x n with three diagonals far apart, one full row and one full column. */
static Csr arrow(Ctx *ctx, Made *made, DType dt, int64_t n) {
    const int64_t most = 5 * n;
    int64_t count = 0, *row = malloc((size_t)most * 8), *column = malloc((size_t)most * 8);
    for (int64_t i = 0; i < n; i++) {
        static const int64_t places[] = { 0, 1, 377 };
        for (int k = 0; k < 3; k++) row[count] = i, column[count++] = (i + places[k] * 7) % n;
        row[count] = n / 3, column[count++] = i;
        row[count] = i, column[count++] = n / 5;
    }
    SparseOrder order = sparse_sort(ctx, made, n, n, row, column, count);
    Tensor *value = made_vector(ctx, made, dt, order.pattern->size - n - 1);
    for (int64_t k = 0; k < value->size; k++) put(value, k, random_number(dt));
    free(row);
    free(column);
    return csr_of(n, n, order.pattern, value);
}

/* The same bits from one thread and four where rows are cut and bands are many. */
static void large_cases(void) {
    enum { N = 150000, FEW = 3 };
    for (int d = 0; d < DTYPES; d++) {
        Made made = { 0 }, other = { 0 };
        const Csr a = arrow(&one, &made, dtypes[d], N);
        Tensor *x = random_matrix(&one, &made, dtypes[d], 2, N, FEW);
        Tensor *y = csr_times(&one, &made, &a, x), *z = csr_times(&four, &other, &a, x);
        CHECK(same_bits(y, z));
        Tensor *v = random_matrix(&one, &made, dtypes[d], 1, N, 1);
        CHECK(same_bits(csr_times(&one, &made, &a, v), csr_times(&four, &other, &a, v)));
        Tensor *w = csr_turned_times(&one, &made, &a, v, true);
        CHECK(same_bits(w, csr_turned_times(&four, &other, &a, v, true)));
        double complex sum = 0;
        double size = 1e-30;
        const int64_t row = N / 3;
        for (int64_t k = a.start[row]; k < a.start[row + 1]; k++) {
            Tensor value = { .dtype = (uint32_t)a.dtype, .data = (char *)(uintptr_t)a.value };
            sum += get(&value, k) * get(x, a.column[k] * FEW + 1);
            size += cabs(get(&value, k)) * cabs(get(x, a.column[k] * FEW + 1));
        }
        CHECK(near_(dtypes[d], get(y, row * FEW + 1), sum, size));
        made_end(&one, &made);
        made_end(&four, &other);
    }
}

/* Columns by the thousand millions of which a few have entries: no memory in proportion to them. */
static void far_columns(void) {
    enum { M = 4 };
    static const int64_t row[] = { 0, 0, 1, 2, 2, 3 }, far[] = { 5, 1, 3, 9, 0, 2 };
    const int64_t n = INT64_C(1) << 40;
    int64_t column[6];
    Made made = { 0 };
    for (int k = 0; k < 6; k++) column[k] = far[k] << 36;
    Tensor *bp = sparse_sort(&one, &made, M, n, row, column, 6).pattern;
    Tensor *bv = random_matrix(&one, &made, DT_F64, 1, 6, 1);
    const Csr b = csr_of(M, n, bp, bv);
    Case a = case_of(&one, DT_F64, 7, M, 60, false);
    Made used = { 0 };
    const size_t live = one.mem.peak = one.mem.live;
    Tensor *t = csr_times_csr(&one, &used, &a.csr, &b);
    const Csr c = sparse_csr(tensor_sparse(t));
    CHECK(is_sorted(&c) && c.n == n && one.mem.peak < live + (1 << 20));
    double want = 0, got = 0;
    for (int64_t i = 0; i < 7; i++)
        for (int64_t l = 0; l < M; l++)
            for (int64_t k = b.start[l]; k < b.start[l + 1]; k++)
                want += creal(a.dense[i * M + l]) * creal(get(bv, k)) * (double)(b.column[k] >> 36);
    for (int64_t k = 0; k < c.entries; k++)
        got += creal(get(tensor_sparse(t)->value, k)) * (double)(c.column[k] >> 36);
    CHECK(fabs(got - want) < 1e-12);
    tensor_release(&one, t);
    case_end(&one, &a);
    made_end(&one, &made);
}

static void start(Ctx *ctx, const char *threads) {
    *ctx = (Ctx){ .interrupt = &stop };
    mem_init(ctx);
    setenv("RICCI_THREADS", threads, 1);
    CHECK(pool_threads(ctx) == atoi(threads));
}

int main(void) {
    start(&one, "1");
    start(&four, "4");
    random_cases();
    large_cases();
    far_columns();
    pool_shutdown(&one);
    pool_shutdown(&four);
    CHECK(one.mem.live == 0 && four.mem.live == 0);
    return check_result();
}
