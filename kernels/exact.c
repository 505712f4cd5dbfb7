/* Gauss-Jordan elimination without fractions (Bareiss, Math. Comp. 22 (1968)): every number
 * on the way is a minor of the matrix, so every division is exact and nothing grows beyond
 * Hadamard's bound. See exact.h. */
#include "kernels/exact.h"

#include <math.h>

typedef struct Exact {
    int64_t rows, cols;
    mpz_t *m;                /* row-major */
    mpz_t divisor, work;     /* the last pivot, a product */
} Exact;

static mpz_ptr at(const Exact *e, int64_t i, int64_t j)
{
    return e->m[i * e->cols + j];
}

static void swap_rows(Exact *e, int64_t p, int64_t q)
{
    for (int64_t j = 0; j < e->cols && p != q; j++)
        mpz_swap(at(e, p, j), at(e, q, j));
}

/* The row from r on whose element of column j is smallest but not zero; -1 if all are. */
static int64_t find_pivot(const Exact *e, int64_t r, int64_t j)
{
    int64_t best = -1;
    for (int64_t i = r; i < e->rows; i++)
        if (mpz_sgn(at(e, i, j)) && (best < 0 || mpz_cmpabs(at(e, i, j), at(e, best, j)) < 0))
            best = i;
    return best;
}

/* row i := (pivot * row i - element * row r) / divisor, with column j zero afterwards. */
static void eliminate(Exact *e, int64_t i, int64_t r, int64_t j)
{
    mpz_srcptr pivot = at(e, r, j), element = at(e, i, j);
    for (int64_t k = 0; k < e->cols; k++) {
        if (k == j)
            continue;
        mpz_mul(e->work, element, at(e, r, k));
        mpz_mul(at(e, i, k), pivot, at(e, i, k));
        mpz_sub(at(e, i, k), at(e, i, k), e->work);
        mpz_divexact(at(e, i, k), at(e, i, k), e->divisor);
    }
    mpz_set_ui(at(e, i, j), 0);
}

/* Returns the rank, or -1 when interrupted. */
static int64_t reduce(Exact *e, volatile sig_atomic_t *interrupt)
{
    int64_t r = 0;
    mpz_set_ui(e->divisor, 1);
    for (int64_t j = 0; j < e->cols && r < e->rows; j++) {
        int64_t p = find_pivot(e, r, j);
        if (p < 0)
            continue;
        swap_rows(e, r, p);
        for (int64_t i = 0; i < e->rows; i++) {
            if (*interrupt)
                return -1;
            if (i != r)
                eliminate(e, i, r, j);
        }
        mpz_set(e->divisor, at(e, r, j));
        r++;
    }
    return r;
}

static void store_all(Exact *e, int64_t rank, ExactStore *store, void *to)
{
    int sign = mpz_sgn(e->divisor);
    mpz_abs(e->divisor, e->divisor);
    mpz_set_ui(e->work, 0);
    for (int64_t i = 0; i < e->rows; i++)
        for (int64_t j = 0; j < e->cols; j++) {
            mpz_ptr x = i < rank ? at(e, i, j) : e->work;
            if (sign < 0)
                mpz_neg(x, x);
            store(to, i, j, x, e->divisor);
        }
}

bool exact_rref(int64_t rows, int64_t cols, const int64_t *a, ExactStore *store, void *to,
                int64_t *rank, mpz_t *room, volatile sig_atomic_t *interrupt)
{
    Exact e = { .rows = rows, .cols = cols, .m = room };
    int64_t count = rows * cols;
    for (int64_t i = 0; i < count; i++)
        mpz_init_set_si(e.m[i], a[i]);
    mpz_init(e.divisor);
    mpz_init(e.work);
    int64_t r = reduce(&e, interrupt);
    if (r >= 0)
        store_all(&e, r, store, to);
    if (rank)
        *rank = r;
    for (int64_t i = 0; i < count; i++)
        mpz_clear(e.m[i]);
    mpz_clear(e.divisor);
    mpz_clear(e.work);
    return r >= 0;
}

double exact_rref_bytes(int64_t rows, int64_t cols, const int64_t *a)
{
    double top = 1, count = (double)rows * (double)cols;
    double order = (double)(rows < cols ? rows : cols);
    for (int64_t i = 0; a && i < rows * cols; i++)
        top = fmax(top, fabs((double)a[i]));
    double bits = order * (log2(top) + log2(order + 1) / 2);
    return count * (sizeof(mpz_t) + 32 + 2 * bits / 8);
}

/* q * 2^-shift, q rounded to 53 bits and to a multiple of 2^-1074. The last bit of q stands
 * for everything below it and may only decide ties. */
static double round_scaled(uint64_t q, int64_t shift)
{
    int64_t drop = 64 - __builtin_clzll(q) - 53;
    if (drop < shift - 1074)
        drop = shift - 1074;
    if (drop > 62)
        return 0;
    if (drop > 0) {
        uint64_t unit = 1ull << drop, rest = q & (unit - 1);
        q -= rest;
        if (rest > unit / 2 || (rest == unit / 2 && (q & unit)))
            q += unit;
    }
    return shift > 5000 ? 0 : shift < -5000 ? INFINITY : ldexp((double)q, (int)-shift);
}

double exact_nearest_f64(mpz_srcptr above, mpz_srcptr below)
{
    if (mpz_sgn(above) == 0)
        return 0;
    mpz_t n, d, q, r;
    mpz_inits(n, d, q, r, NULL);
    mpz_abs(n, above);
    mpz_set(d, below);
    /* A quotient of 58 or 59 bits: 53, some to round by, and one for the remainder. */
    int64_t shift = 58 - ((int64_t)mpz_sizeinbase(n, 2) - (int64_t)mpz_sizeinbase(d, 2));
    if (shift > 0)
        mpz_mul_2exp(n, n, (mp_bitcnt_t)shift);
    else
        mpz_mul_2exp(d, d, (mp_bitcnt_t)-shift);
    mpz_tdiv_qr(q, r, n, d);
    uint64_t bits = mpz_get_ui(q) | (mpz_sgn(r) != 0);
    double x = round_scaled(bits, shift);
    mpz_clears(n, d, q, r, NULL);
    return mpz_sgn(above) < 0 ? -x : x;
}
