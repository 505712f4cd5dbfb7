/* Loading of FLINT, and rational matrices on their way into it and back: see flint.h. */
#include "kernels/rational/flint.h"
#include "core/system/library.h"

#include <flint/fmpq_mat.h>
#include <pthread.h>
#include <string.h>

typedef struct Flint {
#define ROUTINE(name) __typeof__(name) *name;
#include "kernels/rational/flint.def"
#undef ROUTINE
    bool ready;
} Flint;

static Flint library;
static pthread_once_t library_once = PTHREAD_ONCE_INIT;

/* The structs are those of the header, so it has to be the version of the header. */
static void library_load(void)
{
#define ROUTINE(name) { #name, &library.name },
    const LibraryEntry entries[] = {
#include "kernels/rational/flint.def"
    };
#undef ROUTINE
    const char *lacks;
    library.ready = library_open("libflint.so.17", entries, sizeof entries / sizeof *entries,
                                 &lacks) != NULL;
}

/* Bits of the longest numerator or denominator. */
static int64_t longest(const Gmp *g, int64_t rows, int64_t cols, RationalMat m)
{
    size_t bits = 1;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            RationalView v;
            mpq_srcptr q = rational_view(&v, m.data[i * m.rs + j * m.cs]);
            size_t num = g->mpz_sizeinbase(&q->_mp_num, 2), den = g->mpz_sizeinbase(&q->_mp_den, 2);
            bits = num > bits ? num : bits;
            bits = den > bits ? den : bits;
        }
    return (int64_t)bits;
}

/* About how much a second does, times a few; smaller matrices are ours. */
bool flint_wants(Ctx *ctx, int64_t n, int64_t nrhs, RationalMat a, RationalMat b)
{
    enum { SMALL = 32 };
    const Gmp *g;
    if (n < SMALL || nrhs > n / 8 + 1 || rational_gmp(ctx, &g) != RATIONAL_OK)
        return false;
    int64_t bits = longest(g, n, n, a), right = b.data ? longest(g, n, nrhs, b) : 0;
    double work = (double)n * (double)n * (double)n * (double)(bits + right + 32);
    if (work > 2e10)
        return false;
    pthread_once(&library_once, library_load);
    return library.ready;
}

static void put(fmpq_mat_t to, int64_t rows, int64_t cols, RationalMat m)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            RationalView v;
            mpq_srcptr q = rational_view(&v, m.data[i * m.rs + j * m.cs]);
            library.fmpz_set_mpz(fmpq_mat_entry_num(to, i, j), &q->_mp_num);
            library.fmpz_set_mpz(fmpq_mat_entry_den(to, i, j), &q->_mp_den);
        }
}

static RationalStatus take(Ctx *ctx, const Gmp *g, const fmpq_mat_t from, int64_t rows,
                           int64_t cols, Rational *x)
{
    RationalStatus s = RATIONAL_OK;
    mpq_t q;
    g->mpq_init(q);
    for (int64_t i = 0; i < rows * cols && s == RATIONAL_OK; i++) {
        library.fmpz_get_mpz(&q->_mp_num, fmpq_mat_entry_num(from, i / cols, i % cols));
        library.fmpz_get_mpz(&q->_mp_den, fmpq_mat_entry_den(from, i / cols, i % cols));
        s = gmp_spent() ? RATIONAL_MEMORY : rational_keep(ctx, &x[i], q);
    }
    g->mpq_clear(q);
    return s;
}

RationalStatus flint_solve(Ctx *ctx, int64_t n, int64_t nrhs, RationalMat a, RationalMat b,
                           Rational *x)
{
    const Gmp *g;
    fmpq_mat_t A, B, X;
    RationalStatus s = rational_gmp(ctx, &g);
    if (s != RATIONAL_OK)
        return s;
    library.fmpq_mat_init(A, n, n);
    library.fmpq_mat_init(B, n, nrhs);
    library.fmpq_mat_init(X, n, nrhs);
    put(A, n, n, a);
    put(B, n, nrhs, b);
    s = library.fmpq_mat_solve(X, A, B) ? take(ctx, g, X, n, nrhs, x) : RATIONAL_SINGULAR;
    library.fmpq_mat_clear(A);
    library.fmpq_mat_clear(B);
    library.fmpq_mat_clear(X);
    library.flint_cleanup();               /* what it keeps for this thread */
    return s;
}

RationalStatus flint_det(Ctx *ctx, int64_t n, RationalMat a, Rational *out)
{
    const Gmp *g;
    fmpq_mat_t A, D;
    RationalStatus s = rational_gmp(ctx, &g);
    if (s != RATIONAL_OK)
        return s;
    library.fmpq_mat_init(A, n, n);
    library.fmpq_mat_init(D, 1, 1);
    put(A, n, n, a);
    library.fmpq_mat_det(fmpq_mat_entry(D, 0, 0), A);
    s = take(ctx, g, D, 1, 1, out);
    library.fmpq_mat_clear(A);
    library.fmpq_mat_clear(D);
    library.flint_cleanup();
    return s;
}
