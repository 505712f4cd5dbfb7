/* Every LAPACK row of blas.def by both of its names, LAPACKE's and Fortran's: the same bits in all
 * that it was given, and the same info. The library is the same one, and so has no reason to
 * differ. Meanwhile liblapacke can call nothing but the table's routines, so it owns nothing when
 * it is left midway. */
#include "kernels/blas/lapack_calls.h"
#include "kernels/blas/lapacke.h"
#include "kernels/blas/linker_table.h"
#include "kernels/lapack/lapack.h"
#include "tests/unit/check.h"

#include <dlfcn.h>
#include <stdlib.h>

enum { N = 24, NRHS = 3, ROOM = 16 * N * N };

/* All that a routine reads or writes. */
typedef struct State {
    double a[2 * N * N], b[2 * N * N], u[2 * N * N], v[2 * N * N], w[4 * N], tau[2 * N];
    double work[2 * ROOM], rwork[ROOM], out[2];
    int pivots[N], ints[ROOM];
} State;

static Blas ways[2];                     /* by LAPACKE, by Fortran's names */
static bool seen[LAPACK_ROWS][BLAS_TYPES];
static State start, ends[2];
static BlasType t;

static bool differs(const State *x, const State *y)
{
    return memcmp(x, y, sizeof *x) != 0;
}

/* The arguments are places of a state s. */
#define BOTH(id, ...)                                                                     \
    do {                                                                                  \
        int info[2];                                                                      \
        for (int way = 0; way < 2; way++) {                                               \
            State *s = &ends[way];                                                        \
            *s = start;                                                                   \
            info[way] = lapack_##id(&ways[way], t, __VA_ARGS__);                          \
        }                                                                                 \
        bool same = CHECK(info[0] == 0 && info[1] == 0) && CHECK(differs(&ends[0], &start)); \
        if (!same || !CHECK(!differs(&ends[0], &ends[1])))                                \
            fprintf(stderr, "  %s, type %d\n", #id, t);                                   \
        seen[ROW_##id][t] = true;                                                         \
    } while (0)
/* And the next one goes on from there. */
#define THEN(id, ...)                                                                     \
    do {                                                                                  \
        BOTH(id, __VA_ARGS__);                                                            \
        start = ends[0];                                                                  \
    } while (0)

static BlasType real_type(void) { return t == BLAS_S || t == BLAS_C ? BLAS_S : BLAS_D; }

static void fill(double *to, int count, double add)
{
    for (int i = 0; i < count; i++)
        mat_store(t, to, i, check_uniform() + add, blas_is_complex(t) ? check_uniform() : 0);
}

/* `heavy`: the diagonal outweighs the rest, so that either half is that of a definite matrix. */
static void fresh(bool heavy)
{
    memset(&start, 0, sizeof start);
    fill(start.a, N * N, 0);
    fill(start.b, N * NRHS, 0);
    for (int i = 0; i < N && heavy; i++)
        mat_store(t, start.a, i * (N + 1), 2 * N + check_uniform(), 0);
}

static void general_rows(void)
{
    fresh(false);
    THEN(getrf, N, N, s->a, N, s->pivots);
    BOTH(laswp, NRHS, s->b, N, 1, N, s->pivots, -1);
    BOTH(getrs, 'C', N, NRHS, s->a, N, s->pivots, s->b, N);
    BOTH(getri, N, s->a, N, s->pivots, s->work, ROOM);
    BOTH(gecon, '1', N, s->a, N, 3.7, s->out, s->work, s->ints);
    BOTH(trtrs, 'U', 'N', 'N', N, NRHS, s->a, N, s->b, N);
    BOTH(trcon, '1', 'U', 'N', N, s->a, N, s->out, s->work, s->ints);
    fresh(true);
    THEN(potrf, 'L', N, s->a, N);
    BOTH(potri, 'L', N, s->a, N);
    BOTH(potrs, 'L', N, NRHS, s->a, N, s->b, N);
    BOTH(pocon, 'L', N, s->a, N, 51.3, s->out, s->work, s->ints);
}

static void band_rows(void)
{
    fresh(false);
    THEN(gbtrf, N, N, 2, 1, s->a, 6, s->pivots);
    BOTH(gbtrs, 'T', N, 2, 1, NRHS, s->a, 6, s->pivots, s->b, N);
    BOTH(gbcon, '1', N, 2, 1, s->a, 6, s->pivots, 3.7, s->out, s->work, s->ints);
    fresh(false);
    for (int i = 0; i < N; i++)
        mat_store(t, start.a, 3 * i, 9, 0);
    THEN(pbtrf, 'L', N, 2, s->a, 3);
    BOTH(pbtrs, 'L', N, 2, NRHS, s->a, 3, s->b, N);
    BOTH(pbcon, 'L', N, 2, s->a, 3, 3.7, s->out, s->work, s->ints);
}

static void tridiagonal_rows(void)
{
    fresh(false);
    fill(start.u, N, 4);
    fill(start.v, N, 0);
    THEN(gttrf, N, s->a, s->u, s->v, s->w, s->pivots);
    BOTH(gttrs, 'N', N, NRHS, s->a, s->u, s->v, s->w, s->pivots, s->b, N);
    if (blas_is_complex(t))
        BOTH(gtconc, '1', N, s->a, s->u, s->v, s->w, s->pivots, 3.7, s->out, s->work);
    else
        BOTH(gtcon, '1', N, s->a, s->u, s->v, s->w, s->pivots, 3.7, s->out, s->work, s->ints);
    fresh(false);
    for (int i = 0; i < N; i++)
        mat_store(real_type(), start.u, i, 9 + check_uniform(), 0);
    fill(start.v, N, 0);
    THEN(pttrf, N, s->u, s->v);
    if (blas_is_complex(t))
        BOTH(pttrsc, 'L', N, NRHS, s->u, s->v, s->b, N);
    else
        BOTH(pttrs, N, NRHS, s->u, s->v, s->b, N);
    BOTH(ptcon, N, s->u, s->v, 11.5, s->out, s->work);
}

static void indefinite_rows(void)
{
    fresh(false);
    for (int i = 0; i < N; i += 2)
        mat_store(t, start.a, i * (N + 1), 0, 0);
    State symmetric = start;
    THEN(sytrf, 'L', N, s->a, N, s->pivots, s->work, ROOM);
    BOTH(sytrs2, 'L', N, NRHS, s->a, N, s->pivots, s->b, N, s->work);
    if (!blas_is_complex(t)) {
        BOTH(sycon, 'L', N, s->a, N, s->pivots, 3.7, s->out, s->work, s->ints);
        return;
    }
    BOTH(hecon, 'L', N, s->a, N, s->pivots, 3.7, s->out, s->work);
    start = symmetric;
    THEN(sytrfc, 'L', N, s->a, N, s->pivots, s->work, ROOM);
    BOTH(sytrs2c, 'L', N, NRHS, s->a, N, s->pivots, s->b, N, s->work);
    BOTH(syconc, 'L', N, s->a, N, s->pivots, 3.7, s->out, s->work);
}

static void orthogonal_rows(void)
{
    char turned = blas_is_complex(t) ? 'C' : 'T';
    fresh(false);
    if (blas_is_complex(t))
        BOTH(geqp3c, N, N - 5, s->a, N, s->ints, s->tau, s->work, ROOM, s->rwork);
    else
        BOTH(geqp3, N, N - 5, s->a, N, s->ints, s->tau, s->work, ROOM);
    THEN(geqrf, N, N - 5, s->a, N, s->tau, s->work, ROOM);
    BOTH(ormqr, 'L', turned, N, NRHS, N - 5, s->a, N, s->tau, s->b, N, s->work, ROOM);
    BOTH(orgqr, N, N - 5, N - 5, s->a, N, s->tau, s->work, ROOM);
    fresh(false);
    THEN(gelqf, N - 5, N, s->a, N, s->tau, s->work, ROOM);
    BOTH(ormlq, 'L', turned, N, NRHS, N - 5, s->a, N, s->tau, s->b, N, s->work, ROOM);
    fresh(false);
    THEN(gehrd, N, 1, N, s->a, N, s->tau, s->work, ROOM);
    BOTH(orghr, N, 1, N, s->a, N, s->tau, s->work, ROOM);
    if (!blas_is_complex(t)) {
        BOTH(hseqr, 'S', 'I', N, 1, N, s->a, N, s->w, s->tau, s->v, N, s->work, ROOM);
        BOTH(gebal, 'B', N, s->a, N, s->ints, s->ints + 1, s->w);
        BOTH(gebak, 'B', 'R', N, 1, N, s->a, NRHS, s->b, N);
    }
    fresh(false);
    THEN(sytrd, 'U', N, s->a, N, s->u, s->v, s->tau, s->work, ROOM);
    BOTH(ormtr, 'L', 'U', 'N', N, NRHS, s->a, N, s->tau, s->b, N, s->work, ROOM);
    if (!blas_is_complex(t)) {
        BOTH(steqr, 'I', N, s->u, s->v, s->a, N, s->work);
        BOTH(sterf, N, s->u, s->v);
    }
    if (!blas_is_complex(t))
        BOTH(bdsqr, 'U', N, 0, 0, 0, s->u, s->v, s->a, 1, s->a, 1, s->a, 1, s->work);
    fresh(false);
    if (!blas_is_complex(t))
        BOTH(bdsdc, 'U', 'I', N, s->w, s->tau, s->u, N, s->v, N, NULL, NULL, s->work, s->ints);
    if (!blas_is_complex(t))
        BOTH(ormbr, 'Q', 'L', 'N', N, NRHS, N, s->a, N, s->tau, s->b, N, s->work, ROOM);
}

static void spectral_rows_real(void)
{
    BOTH(gesdd, 'A', N, N - 5, s->a, N, s->w, s->u, N, s->v, N, s->work, ROOM, s->ints);
    BOTH(syevd, 'V', 'L', N, s->a, N, s->w, s->work, ROOM, s->ints, ROOM);
    BOTH(geev, 'N', 'V', N, s->a, N, s->w, s->tau, NULL, 1, s->v, N, s->work, ROOM);
    BOTH(gees, 'V', 'N', NULL, N, s->a, N, s->ints, s->w, s->tau, s->v, N, s->work, ROOM, NULL);
    BOTH(ggev, 'V', 'V', N, s->a, N, s->u, N, s->w, s->tau, s->rwork, s->v, N, s->b, N, s->work,
         ROOM);
    BOTH(lacn2, N, s->u, s->v, s->pivots, s->out, s->ints, s->ints + 1);
}

static void spectral_rows_complex(void)
{
    BOTH(gesddc, 'A', N, N - 5, s->a, N, s->w, s->u, N, s->v, N, s->work, ROOM, s->rwork, s->ints);
    BOTH(heevd, 'V', 'L', N, s->a, N, s->w, s->work, ROOM, s->rwork, ROOM, s->ints, ROOM);
    BOTH(geevc, 'N', 'V', N, s->a, N, s->w, NULL, 1, s->v, N, s->work, ROOM, s->rwork);
    BOTH(geesc, 'V', 'N', NULL, N, s->a, N, s->ints, s->w, s->v, N, s->work, ROOM, s->rwork, NULL);
    BOTH(ggevc, 'V', 'V', N, s->a, N, s->u, N, s->w, s->tau, s->v, N, s->b, N, s->work, ROOM,
         s->rwork);
    BOTH(lacn2c, N, s->u, s->v, s->out, s->ints, s->ints + 1);
}

static void spectral_rows(void)
{
    fresh(false);
    fill(start.u, N * N, 0);
    if (blas_is_complex(t))
        spectral_rows_complex();
    else
        spectral_rows_real();
}

static bool in_table(const Blas *lib, LinkedFn fn)
{
    for (int row = 0; row < LAPACK_ROWS; row++)
        for (int i = 0; i < BLAS_TYPES; i++)
            if (lib->fortran[row][i] == fn)
                return true;
    return false;
}

/* Neither malloc nor a look for nan nor a message: from now on they end the process. */
static void forbid_the_rest(const Blas *lib)
{
    LinkerTable table;
    LinkerSlot slot;
    int left = 0;
    void *handle = dlopen("liblapacke.so.3", RTLD_NOW | RTLD_NOLOAD);
    if (!handle || !linker_table_of(handle, &table) || !linker_table_open(&table))
        return;
    for (size_t i = 0; linker_table_next(&table, &i, &slot);) {
        if (in_table(lib, *slot.at))
            left++;
        else
            *slot.at = abort;
    }
    linker_table_close(&table);
    CHECK(left > 0);
}

/* No row was left out. */
static void all_seen(void)
{
    for (int row = 0; row < LAPACK_ROWS; row++)
        for (int i = 0; i < BLAS_TYPES; i++)
            if (!CHECK(seen[row][i] == (ways[0].fortran[row][i] != NULL)))
                fprintf(stderr, "  row %d, type %d\n", row, i);
}

int main(void)
{
    BlasRefusal why = { "", false };
    unsetenv("RICCI_LAPACKE");
    lapacke_allow();
    const Blas *lib = lapack_open(&why);
    if (!lib || !lib->by_lapacke) {
        printf("not run: %s\n",
               lib ? "LAPACKE is not there (liblapacke.so.3), or leads elsewhere" : why.text);
        return check_result();
    }
    forbid_the_rest(lib);
    ways[0] = ways[1] = *lib;
    ways[1].by_lapacke = false;
    for (t = BLAS_S; t < BLAS_TYPES; t++) {
        general_rows();
        band_rows();
        tridiagonal_rows();
        indefinite_rows();
        orthogonal_rows();
        spectral_rows();
    }
    all_seen();
    return check_result();
}
