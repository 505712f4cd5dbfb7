/* Sparse matrices against dense loops of this file: every dtype with kernels, random patterns with
 * empty rows, rows that are full, no rows and no columns; entries sorted and each place once; one
 * thread and four give the same bits; every allocation fails once, and nothing leaks. */
#include "kernels/sparse/fold.h"
#include "kernels/sparse/merge.h"
#include "kernels/sparse/product.h"
#include "kernels/sparse/select.h"
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

/* ---- patterns ---- */
/* What a result is to be: an m x n matrix in full. */
typedef struct Full {
    int64_t m, n;
    double complex *value;
    bool *stored;
} Full;

static Full full_of(int64_t m, int64_t n) {
    return (Full){ m, n, calloc((size_t)(m * n + 1), sizeof(double complex)),
                   calloc((size_t)(m * n + 1), 1) };
}

static void full_put(const Full *f, int64_t i, int64_t j, const Case *a, int64_t k, int64_t l) {
    f->value[i * f->n + j] = a->dense[k * a->n + l];
    f->stored[i * f->n + j] = a->stored[k * a->n + l];
}

/* Checks a pattern and values against it, and forgets it. */
static void full_check(Full *f, Tensor *pattern, const Tensor *value) {
    const Csr c = csr_of(f->m, f->n, pattern, (Tensor *)(uintptr_t)value);
    int64_t stored = 0;
    bool good = is_sorted(&c) && value->size == c.entries;
    for (int64_t k = 0; k < f->m * f->n; k++) stored += f->stored[k];
    CHECK(good && stored == c.entries);
    for (int64_t i = 0; good && i < f->m; i++)
        for (int64_t k = c.start[i]; good && k < c.start[i + 1]; k++) {
            const int64_t at = i * f->n + c.column[k];
            good = f->stored[at] && cabs(get(value, k) - f->value[at]) <=
                                        4 * eps_of((DType)value->dtype) * cabs(f->value[at]);
        }
    CHECK(good);
    free(f->value);
    free(f->stored);
}

static Tensor *gathered(Ctx *ctx, Made *made, const Tensor *value, const Tensor *at) {
    Tensor *t = made_vector(ctx, made, (DType)value->dtype, at->size);
    sparse_gather(ctx, t->data, value->data, (const int64_t *)at->data, at->size,
                  dtype_info((DType)value->dtype)->bytes);
    return t;
}

static void check_order(Made *made, const SparseOrder *o, const Tensor *value, Full *f) {
    full_check(f, o->pattern, gathered(&four, made, value, o->order));
    made_end(&four, made);
}

static int64_t chosen(const Choice *c, int64_t i) {
    return !c ? i : c->list ? c->list[i] : c->first + i * c->step;
}

/* None, a slice, a slice backwards, a list, a rising list; from room for numbers. */
static const Choice *random_choice(Choice *c, int64_t *room, int64_t n, int kind) {
    *c = (Choice){ .step = 1 };
    if (kind == 0) return NULL;
    if (n == 0) return c;
    c->step = 1 + (int64_t)(check_random() % 3);
    c->first = (int64_t)(check_random() % (uint64_t)n);
    c->count = (n - 1 - c->first) / c->step + 1;
    if (kind == 2) c->step = -c->step, c->count = c->first / -c->step + 1;
    if (kind < 3) return c;
    c->count = (int64_t)(check_random() % (uint64_t)(2 * n));
    for (int64_t k = 0; k < c->count; k++) {
        room[k] = (int64_t)(check_random() % (uint64_t)n);
        for (int64_t i = k; kind == 4 && i > 0 && room[i] < room[i - 1]; i--) {
            const int64_t x = room[i];
            room[i] = room[i - 1];
            room[i - 1] = x;
        }
    }
    c->list = room;
    return c;
}

static void selections(const Case *a) {
    static int64_t room[2][200];
    for (int kind = 0; kind < 25; kind++) {
        Choice store[2];
        const Choice *rows = random_choice(&store[0], room[0], a->m, kind % 5);
        const Choice *columns = random_choice(&store[1], room[1], a->n, kind / 5);
        Made made = { 0 };
        Full f = full_of(rows ? rows->count : a->m, columns ? columns->count : a->n);
        for (int64_t i = 0; i < f.m; i++)
            for (int64_t j = 0; j < f.n; j++)
                full_put(&f, i, j, a, chosen(rows, i), chosen(columns, j));
        SparseOrder o = csr_select(&four, &made, &a->csr, rows, columns);
        CHECK(made.count == 2);
        check_order(&made, &o, a->value, &f);
        if (!rows || !columns) continue;
        f = full_of(a->m, a->n);                /* a store of numbers there */
        Tensor *news = random_matrix(&four, &made, a->dt, 1, rows->count * columns->count, 1);
        for (int64_t i = 0; i < a->m; i++)
            for (int64_t j = 0; j < a->n; j++) full_put(&f, i, j, a, i, j);
        for (int64_t i = 0; i < rows->count; i++)
            for (int64_t j = 0; j < columns->count; j++) {
                const int64_t at = chosen(rows, i) * a->n + chosen(columns, j);
                f.value[at] = get(news, i * columns->count + j);
                f.stored[at] = true;
            }
        o = csr_places(&four, &made, a->m, a->n, rows, columns);
        Tensor *there = gathered(&four, &made, news, o.order);
        const Csr b = csr_of(a->m, a->n, o.pattern, there);
        SparseMerge u = csr_merge(&four, &made, &a->csr, &b, MERGE_UNION);
        Tensor *value = gathered(&four, &made, a->value, u.from_a);
        sparse_gather_over(&four, value->data, there->data, made_ints(u.from_b), value->size,
                           dtype_info(a->dt)->bytes);
        full_check(&f, u.pattern, value);
        made_end(&four, &made);
    }
}

static void parts(const Case *a) {
    Made made = { 0 };
    for (int lower = 0; lower < 2; lower++)
        for (int64_t k = -a->m - 2; k <= a->n + 2; k += 3) {
            Full f = full_of(a->m, a->n);
            for (int64_t i = 0; i < a->m; i++)
                for (int64_t j = 0; j < a->n; j++)
                    if (lower ? j <= i + k : j >= i + k) full_put(&f, i, j, a, i, j);
            SparseOrder o = csr_triangle(&four, &made, &a->csr, k, lower);
            check_order(&made, &o, a->value, &f);
            Tensor *d = csr_diagonal(&four, &made, &a->csr, k);
            int64_t n = 0;
            for (int64_t i = 0; i < a->m; i++)
                if (i + k >= 0 && i + k < a->n) {
                    const int64_t e = n < d->size ? made_ints(d)[n] : -2;
                    CHECK(e >= 0 ? a->csr.column[e] == i + k && a->csr.start[i] <= e &&
                                       e < a->csr.start[i + 1]
                                 : e == -1 && !a->stored[i * a->n + i + k]);
                    n++;
                }
            CHECK(n == d->size);
            made_end(&four, &made);
        }
    uint8_t *keep = malloc((size_t)a->csr.entries + 1);
    Full f = full_of(a->m, a->n);
    for (int64_t i = 0; i < a->m; i++)
        for (int64_t k = a->csr.start[i]; k < a->csr.start[i + 1]; k++)
            if ((keep[k] = check_random() % 2)) full_put(&f, i, a->csr.column[k], a, i,
                                                         a->csr.column[k]);
    SparseOrder o = csr_kept(&four, &made, &a->csr, keep);
    check_order(&made, &o, a->value, &f);
    f = full_of(a->n, a->m);
    for (int64_t i = 0; i < a->m; i++)
        for (int64_t j = 0; j < a->n; j++) full_put(&f, j, i, a, i, j);
    o = sparse_turned(&four, &made, &a->csr);
    check_order(&made, &o, a->value, &f);
    free(keep);
}

/* a beside b, above nothing and a again; values of a, b and a one after the other. */
static void blocks(const Case *a, const Case *b) {
    const int64_t n = a->n + b->n, counts[] = { a->csr.entries, b->csr.entries };
    Csr block[] = { a->csr, b->csr, { .m = 2, .n = a->n }, { .m = 2, .n = b->n },
                    a->csr, { .m = a->m, .n = b->n } };
    Made made = { 0 };
    Full f = full_of(2 * a->m + 2, n);
    Tensor *value = made_vector(&four, &made, a->dt, 2 * counts[0] + counts[1]);
    for (int64_t k = 0; k < value->size; k++)
        put(value, k, k < counts[0] ? get(a->value, k) : k < counts[0] + counts[1] ?
            get(b->value, k - counts[0]) : get(a->value, k - counts[0] - counts[1]));
    for (int64_t i = 0; i < a->m; i++)
        for (int64_t j = 0; j < n; j++) {
            full_put(&f, i, j, j < a->n ? a : b, i, j < a->n ? j : j - a->n);
            if (j < a->n) full_put(&f, i + a->m + 2, j, a, i, j);
        }
    SparseOrder o = csr_blocks(&four, &made, 3, 2, block);
    check_order(&made, &o, value, &f);
}

/* ---- two of them ---- */
static void merges(const Case *a, const Case *b) {
    static const MergeOp ops[] = { MERGE_ADD, MERGE_SUBTRACT, MERGE_MULTIPLY };
    for (int q = 0; q < 3; q++) {
        Made made = { 0 };
        Full f = full_of(a->m, a->n), g = full_of(a->m, a->n);
        for (int64_t k = 0; k < a->m * a->n; k++) {
            const double complex x = a->dense[k], y = b->dense[k];
            f.stored[k] = ops[q] == MERGE_MULTIPLY ? a->stored[k] && b->stored[k]
                                                   : a->stored[k] || b->stored[k];
            f.value[k] = !f.stored[k] ? 0 : q == 0 ? x + y : q == 1 ? x - y : x * y;
        }
        memcpy(g.value, f.value, (size_t)(f.m * f.n) * sizeof *f.value);
        memcpy(g.stored, f.stored, (size_t)(f.m * f.n));
        Tensor *t = csr_combine(&four, &made, &a->csr, &b->csr, ops[q]);
        full_check(&f, tensor_sparse(t)->pattern, tensor_sparse(t)->value);
        tensor_release(&four, t);
        SparseMerge u = csr_merge(&four, &made, &a->csr, &b->csr,
                                  ops[q] == MERGE_MULTIPLY ? MERGE_INTERSECTION : MERGE_UNION);
        Tensor *x = gathered(&four, &made, a->value, u.from_a);
        Tensor *y = gathered(&four, &made, b->value, u.from_b);
        for (int64_t k = 0; k < x->size; k++)
            put(x, k, q == 0 ? get(x, k) + get(y, k) : q == 1 ? get(x, k) - get(y, k)
                                                               : get(x, k) * get(y, k));
        full_check(&g, u.pattern, x);
        made_end(&four, &made);
    }
}

static void kron(const Case *a, const Case *b) {
    Made made = { 0 };
    Full f = full_of(a->m * b->m, a->n * b->n);
    for (int64_t i = 0; i < f.m; i++)
        for (int64_t j = 0; j < f.n; j++) {
            const int64_t x = i / b->m * a->n + j / b->n, y = i % b->m * b->n + j % b->n;
            f.value[i * f.n + j] = a->dense[x] * b->dense[y];
            f.stored[i * f.n + j] = a->stored[x] && b->stored[y];
        }
    SparseMerge u = csr_kron(&four, &made, &a->csr, &b->csr);
    Tensor *x = gathered(&four, &made, a->value, u.from_a);
    Tensor *y = gathered(&four, &made, b->value, u.from_b);
    for (int64_t k = 0; k < x->size; k++) put(x, k, get(x, k) * get(y, k));
    full_check(&f, u.pattern, x);
    made_end(&four, &made);
}

/* ---- folds ---- */
static double complex folded(const Case *a, CsrFold fold, int axis, int64_t i) {
    const int64_t count = axis ? a->n : a->m;
    double complex r = 0;
    for (int64_t k = 0; k < count; k++) {
        const int64_t at = axis ? i * a->n + k : k * a->n + i;
        const double complex x = a->dense[at];
        switch (fold) {
        case CSR_SUM: r += x; break;
        case CSR_ABS: r += cabs(x); break;
        case CSR_SQUARES: r += creal(x) * creal(x) + cimag(x) * cimag(x); break;
        case CSR_MAX: r = k == 0 || creal(x) > creal(r) ? x : r; break;
        case CSR_MIN: r = k == 0 || creal(x) < creal(r) ? x : r; break;
        default: r += a->stored[at];
        }
    }
    return r;
}

static void folds(const Case *a) {
    for (int fold = 0; fold < CSR_FOLDS; fold++)
        for (int axis = 0; axis < 2; axis++) {
            if ((fold == CSR_MAX || fold == CSR_MIN) && dtype_info(a->dt)->kind == 'c') continue;
            Made made = { 0 };
            Tensor *t = csr_fold(&four, &made, &a->csr, (CsrFold)fold, axis);
            bool good = t->size == (axis ? a->m : a->n);
            for (int64_t i = 0; good && i < t->size; i++)
                good = cabs((fold == CSR_COUNT ? (double)made_ints(t)[i] : get(t, i)) -
                            folded(a, (CsrFold)fold, axis, i)) <= 100 * eps_of(a->dt);
            CHECK(good);
            made_end(&four, &made);
        }
    Made made = { 0 };
    Tensor *rows = csr_entry_rows(&four, &made, &a->csr);
    Tensor *at = csr_find(&four, &made, &a->csr, made_ints(rows), a->csr.column, rows->size);
    bool good = true;
    for (int64_t k = 0; k < rows->size; k++) good &= made_ints(at)[k] == k;
    CHECK(good);
    made_end(&four, &made);
}

/* An extreme that is nan stays one; what is not stored counts where a row is not full. */
static void extremes(void) {
    static const double numbers[] = { -3, -1, (double)NAN, -2, -5 };
    static const int64_t starts[] = { 0, 2, 4, 5 }, columns[] = { 0, 1, 0, 1, 1 };
    const Csr a = { 3, 2, 5, starts, columns, numbers, DT_F64 };
    Made made = { 0 };
    const double *most = (const double *)csr_fold(&one, &made, &a, CSR_MAX, 1)->data;
    const double *least = (const double *)csr_fold(&one, &made, &a, CSR_MIN, 0)->data;
    CHECK(most[0] == -1 && isnan(most[1]) && most[2] == 0 && isnan(least[0]) && least[1] == -5);
    made_end(&one, &made);
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
                Case c = case_of(&one, dtypes[d], sizes[i], sizes[j], 30, false);
                selections(&a);
                parts(&a);
                blocks(&a, &c);
                merges(&a, &c);
                folds(&a);
                if (a.m * b.m < 300 && a.n * b.n < 300) kron(&a, &b);
                case_end(&one, &c);
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

/* Columns in any order of a matrix with a full row, which is long: its turned one's rows. */
static void long_rows(void) {
    enum { N = 5000 };
    Made made = { 0 };
    const Csr a = arrow(&four, &made, DT_F64, N);
    Tensor *mixed = made_vector(&four, &made, DT_I64, N);
    int64_t *list = made_ints(mixed);
    for (int64_t i = 0; i < N; i++) list[i] = i * 1237 % N;
    const Choice choice = { .list = list, .count = N };
    SparseOrder o = csr_select(&four, &made, &a, NULL, &choice);
    const Csr c = csr_of(N, N, o.pattern, NULL);
    bool good = is_sorted(&c) && c.entries == a.entries;
    for (int64_t i = 0; good && i < N; i++)
        for (int64_t k = c.start[i]; good && k < c.start[i + 1]; k++) {
            const int64_t e = made_ints(o.order)[k];
            good = e >= a.start[i] && e < a.start[i + 1] && a.column[e] == list[c.column[k]];
        }
    CHECK(good);
    made_end(&four, &made);
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

/* ---- without memory ---- */
static const Choice backwards = { .first = 29, .step = -1, .count = 30 };
static const int64_t some[] = { 7, 3, 3, 29, 0 };
static const Choice listed = { .list = some, .count = 5 };

/* Every function once, by number; false: there are no more. */
static bool run_one(int what, const Case *a, const Case *b, Tensor *x) {
    const Csr *p = &a->csr, *q = &b->csr;
    Made made = { 0 };
    Tensor *t = NULL;
    switch (what) {
    case 0: csr_times(&one, &made, p, x); break;
    case 1: csr_turned_times(&one, &made, p, x, true); break;
    case 2: csr_times_from_left(&one, &made, x, p); break;
    case 3: t = csr_times_csr(&one, &made, p, q); break;
    case 4: t = csr_combine(&one, &made, p, q, MERGE_ADD); break;
    case 5: csr_merge(&one, &made, p, q, MERGE_INTERSECTION); break;
    case 6: csr_kron(&one, &made, p, q); break;
    case 7: csr_select(&one, &made, p, &backwards, &listed); break;
    case 8: csr_triangle(&one, &made, p, 2, true); break;
    case 9: csr_diagonal(&one, &made, p, -1); break;
    case 10: csr_blocks(&one, &made, 1, 2, (const Csr[]){ *p, *q }); break;
    case 11: csr_places(&one, &made, 30, 30, &listed, &backwards); break;
    case 12: csr_fold(&one, &made, p, CSR_MAX, 0); break;
    case 13: csr_entry_rows(&one, &made, p); break;
    default: return false;
    }
    made_end(&one, &made);
    if (t) tensor_release(&one, t);
    return true;
}

/* Whichever allocation fails, all others are given back. */
static void without_memory(void) {
    Case a = case_of(&one, DT_F64, 30, 30, 20, false), b = case_of(&one, DT_F64, 30, 30, 20, true);
    Made made = { 0 };
    Tensor *x = random_matrix(&one, &made, DT_F64, 2, 30, 30);
    bool more = true;
    for (int what = 0; more; what++)
        for (volatile int nth = 1, failed = 1; failed; nth++) {
            const size_t live = one.mem.live;
            ErrFrame frame;
            one.mem.fail_at = one.mem.allocations + (uint64_t)nth;
            failed = 0;
            if (ERR_TRY(&one, &frame)) {
                more = run_one(what, &a, &b, x);
                ERR_END(&one, &frame);
            } else {
                CHECK(one.error->kind == ERR_MEMORY);
                err_free(one.error);
                one.error = NULL;
                failed = 1;
            }
            one.mem.fail_at = 0;
            CHECK(one.mem.live == live);
        }
    made_end(&one, &made);
    case_end(&one, &a);
    case_end(&one, &b);
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
    extremes();
    large_cases();
    long_rows();
    far_columns();
    without_memory();
    pool_shutdown(&one);
    pool_shutdown(&four);
    CHECK(one.mem.live == 0 && four.mem.live == 0);
    return check_result();
}
