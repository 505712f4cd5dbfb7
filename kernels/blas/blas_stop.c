/* The entries of LAPACK's calls to BLAS, changed so that they pass here: see blas_stop.h. Called
 * by blas.c when the library is opened, by lapack*.c for large factorisations, and by LAPACK
 * itself. What is here allocates nothing; the error that it raises is the only way out. */
#include "kernels/blas/blas_stop.h"

#include "core/base/error.h"
#include "core/memory/pool.h"
#include "kernels/blas/entries.h"
#include "kernels/blas/lapack_calls.h"
#include "kernels/blas/linker_table.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* 2e9 multiply-adds take a tenth of a second on a core of 40 GFLOP/s. */
static const BlasLimits usual = { .work = 2e9, .whole = 2048, .panel = 512, .group = 64 };
static const BlasLimits *limits = &usual;

/* Who may be raised into from this thread. */
static _Thread_local Ctx *stopper;
/* The library is one for the process, and so are these: set before it is opened, written when it
 * is, only read afterwards. */
static bool allowed, installed;

void blas_stop_allow(void)
{
    const char *text = getenv("RICCI_LAPACK_STOP");
    allowed = !text || strcmp(text, "0") != 0;
}

void blas_stop_limit(const BlasLimits *small)
{
    limits = small ? small : &usual;
}

bool blas_stop_works(void)
{
    return installed;
}

void blas_stop_by(Ctx *ctx)
{
    stopper = ctx;
}

void blas_stop_poll(void)
{
    Ctx *ctx = stopper;
    if (!ctx || !ctx->interrupt || !*ctx->interrupt || pool_inside(ctx))
        return;
    err_interrupted(ctx);
}

/* ---- the entries ---- */
/* Where LAPACK's long routines spend their time: some of these are called every few
 * milliseconds by each of them. */
#define ENTRIES(X)                                                                               \
    X(sgemv) X(dgemv) X(cgemv) X(zgemv) X(sger) X(dger) X(cgerc) X(zgerc) X(cgeru) X(zgeru)      \
    X(ssymv) X(dsymv) X(chemv) X(zhemv) X(ssyr2k) X(dsyr2k) X(cher2k) X(zher2k)                  \
    X(strmm) X(dtrmm) X(ctrmm) X(ztrmm) X(strsm) X(dtrsm) X(ctrsm) X(ztrsm)                      \
    X(strmv) X(dtrmv) X(ctrmv) X(ztrmv) X(slasr) X(dlasr) X(clasr) X(zlasr)                      \
    X(slaed4) X(dlaed4) X(slasd4) X(dlasd4)

#define LOOK() blas_stop_poll()
enum { ENTRIES(ENTRY_AT) ENTRY_COUNT };
static Routine routine[ENTRY_COUNT];
ENTRIES(ENTRY)

/* ---- products and triangles in pieces ---- */
static const Blas *library;

static double weight_of(BlasType t)
{
    static const double weight[] = { [BLAS_S] = 0.5, [BLAS_D] = 1, [BLAS_C] = 2, [BLAS_Z] = 4 };
    return weight[t];
}

/* How many of the columns (or rows) of a product, of which each takes `each` multiply-adds, go
 * into one call. */
static int group_of(BlasType t, double each, int count)
{
    double fit = limits->work / (weight_of(t) * (each < 1 ? 1 : each));
    if (fit >= count)
        return count;
    return fit < limits->group ? limits->group : (int)fit / 8 * 8;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

static char *at(BlasType t, const void *a, int lda, int i, int j)
{
    return (char *)a + ((size_t)j * (size_t)lda + (size_t)i) * blas_bytes(t);
}

static bool is_plain(const char *trans)
{
    return *trans == 'N' || *trans == 'n';
}

/* Columns of C by columns of op(B). */
static void gemm_pieces(const Blas *l, BlasType t, const char *ta, const char *tb, int m, int n,
                        int k, const void *alpha, const void *a, int lda, const void *b, int ldb,
                        const void *beta, void *c, int ldc)
{
    int group = group_of(t, (double)m * k, n);
    for (int j = 0; j < n; j += group) {
        int some = least(group, n - j);
        blas_stop_poll();
        l->gemm[t](ta, tb, &m, &some, &k, alpha, a, &lda,
                   is_plain(tb) ? at(t, b, ldb, 0, j) : at(t, b, ldb, j, 0), &ldb, beta,
                   at(t, c, ldc, 0, j), &ldc, 1, 1);
    }
}

#define GEMM(letter, type)                                                                       \
    static void enter_##letter##gemm(const char *ta, const char *tb, const int *m, const int *n, \
                                     const int *k, const void *alpha, const void *a,             \
                                     const int *lda, const void *b, const int *ldb,              \
                                     const void *beta, void *c, const int *ldc, size_t u,        \
                                     size_t v)                                                   \
    {                                                                                            \
        (void)u, (void)v;                                                                        \
        gemm_pieces(library, type, ta, tb, *m, *n, *k, alpha, a, *lda, b, *ldb, beta, c, *ldc);  \
    }
GEMM(s, BLAS_S)
GEMM(d, BLAS_D)
GEMM(c, BLAS_C)
GEMM(z, BLAS_Z)

/* B := alpha op(A)^-1 B by columns of B, or alpha B op(A)^-1 by its rows. */
static void trsm_pieces(const Blas *l, BlasType t, char side, char uplo, char trans, char diag,
                        int m, int n, const void *alpha, const void *a, int lda, void *b, int ldb)
{
    bool left = side == 'L';
    int order = left ? m : n, count = left ? n : m;
    int group = group_of(t, 0.5 * order * order, count);
    for (int j = 0; j < count; j += group) {
        int some = least(group, count - j);
        blas_stop_poll();
        l->trsm[t](&side, &uplo, &trans, &diag, left ? &m : &some, left ? &some : &n, alpha, a,
                   &lda, left ? at(t, b, ldb, 0, j) : at(t, b, ldb, j, 0), &ldb, 1, 1, 1, 1);
    }
}

int blas_stop_group(BlasType t, int64_t order, int64_t nrhs)
{
    return group_of(t, (double)order * (double)order, (int)nrhs);
}

/* ---- factorisations ---- */
/* Toledo, Locality of reference in LU decomposition with partial pivoting (1997), which is
 * LAPACK's getrf2 too: the left half of the columns, its effect on the right half, that. */
static int lu_columns(const Blas *l, BlasType t, int m, int n, char *a, int lda, int *pivots)
{
    int info = 0, later = 0, left = n / 2 / 32 * 32, right = n - left;
    if (n <= limits->panel) {
        blas_stop_poll();
        return lapack_getrf(l, t, m, n, a, lda, pivots);
    }
    char *top = at(t, a, lda, 0, left), *below = at(t, a, lda, left, 0);
    char *rest = at(t, a, lda, left, left);
    info = lu_columns(l, t, m, left, a, lda, pivots);
    lapack_laswp(l, t, right, top, lda, 1, left, pivots, 1);
    trsm_pieces(l, t, 'L', 'L', 'N', 'U', left, right, blas_one(t), a, lda, top, lda);
    gemm_pieces(l, t, "N", "N", m - left, right, left, blas_minus_one(t), below, lda, top, lda,
                blas_one(t), rest, lda);
    later = lu_columns(l, t, m - left, right, rest, lda, pivots + left);
    int to = left + least(m - left, right);
    for (int i = left; i < to; i++)
        pivots[i] += left;
    lapack_laswp(l, t, left, a, lda, left + 1, to, pivots, 1);
    return info ? info : later ? later + left : 0;
}

void blas_stop_getrf(const Blas *l, BlasType t, int m, int n, void *a, int lda, int *pivots,
                     int *info)
{
    int k = least(m, n), more = n - k;
    if (k <= limits->whole) {
        blas_stop_poll();
        *info = lapack_getrf(l, t, m, n, a, lda, pivots);
        return;
    }
    *info = lu_columns(l, t, m, k, a, lda, pivots);
    if (more <= 0)
        return;
    char *rest = at(t, a, lda, 0, k);
    lapack_laswp(l, t, more, rest, lda, 1, k, pivots, 1);
    trsm_pieces(l, t, 'L', 'L', 'N', 'U', k, more, blas_one(t), a, lda, rest, lda);
}

/* C -= A A^H, the lower half, in columns of blocks. */
static void rank_update(const Blas *l, BlasType t, int n, int k, const char *a, int lda, char *c)
{
    const char *turned = blas_is_complex(t) ? "C" : "T";
    for (int j = 0; j < n; j += limits->panel) {
        int some = least(limits->panel, n - j), below = n - j - some;
        const char *rows = at(t, a, lda, j, 0);
        l->syrk[t]("L", "N", &some, &k, blas_minus_one(t), rows, &lda, blas_one(t),
                   at(t, c, lda, j, j), &lda, 1, 1);
        if (below > 0)
            gemm_pieces(l, t, "N", turned, below, some, k, blas_minus_one(t),
                        at(t, a, lda, j + some, 0), lda, rows, lda, blas_one(t),
                        at(t, c, lda, j + some, j), lda);
    }
}

static int cholesky_part(const Blas *l, BlasType t, int n, char *a, int lda)
{
    int info, left = n / 2 / 32 * 32, right = n - left;
    if (n <= limits->panel) {
        blas_stop_poll();
        return lapack_potrf(l, t, 'L', n, a, lda);
    }
    char *below = at(t, a, lda, left, 0), *rest = at(t, a, lda, left, left);
    if ((info = cholesky_part(l, t, left, a, lda)) != 0)
        return info;
    trsm_pieces(l, t, 'R', 'L', blas_is_complex(t) ? 'C' : 'T', 'N', right, left, blas_one(t), a,
                lda, below, lda);
    rank_update(l, t, right, left, below, lda, rest);
    info = cholesky_part(l, t, right, rest, lda);
    return info ? info + left : 0;
}

void blas_stop_potrf(const Blas *l, BlasType t, char uplo, int n, void *a, int lda, int *info)
{
    blas_stop_poll();
    if (n <= limits->whole || uplo != 'L')
        *info = lapack_potrf(l, t, uplo, n, a, lda);
    else
        *info = cholesky_part(l, t, n, a, lda);
}

/* The inverse of an upper triangle, with which getri begins: from [U V; 0 W] it makes
 * [U^-1  -U^-1 V W^-1; 0 W^-1]. */
typedef void (*Trtri)(const char *, const char *, const int *, void *, const int *, int *, size_t,
                      size_t);
static Trtri trtri[BLAS_TYPES];

static void invert_upper(BlasType t, const char *diag, int n, char *a, int lda, int *info)
{
    int left = n / 2 / 32 * 32, right = n - left;
    if (n <= limits->panel) {
        blas_stop_poll();
        trtri[t]("U", diag, &n, a, &lda, info, 1, 1);
        return;
    }
    char *top = at(t, a, lda, 0, left), *rest = at(t, a, lda, left, left);
    trsm_pieces(library, t, 'L', 'U', 'N', *diag, left, right, blas_minus_one(t), a, lda, top, lda);
    trsm_pieces(library, t, 'R', 'U', 'N', *diag, left, right, blas_one(t), rest, lda, top, lda);
    invert_upper(t, diag, left, a, lda, info);
    invert_upper(t, diag, right, rest, lda, info);
}

static bool zero_on_diagonal(BlasType t, int n, const void *a, int lda)
{
    int parts = blas_is_complex(t) ? 2 : 1, zeros = 0;
    for (int i = 0; i < n && zeros < parts; i++) {
        const void *x = at(t, a, lda, i, i);
        zeros = 0;
        for (int part = 0; part < parts; part++)
            zeros += (t == BLAS_S || t == BLAS_C ? ((const float *)x)[part]
                                                 : ((const double *)x)[part]) == 0;
    }
    return zeros == parts;
}

static void trtri_enter(BlasType t, const char *uplo, const char *diag, const int *n, void *a,
                        const int *lda, int *info)
{
    blas_stop_poll();
    *info = 0;
    bool own = *n > limits->whole / 2 && *uplo == 'U' && *lda >= *n &&
               !zero_on_diagonal(t, *n, a, *lda);
    if (own)
        invert_upper(t, diag, *n, a, *lda, info);
    else
        trtri[t](uplo, diag, n, a, lda, info, 1, 1);
}

#define TRTRI(letter, type)                                                                      \
    static void enter_##letter##trtri(const char *uplo, const char *diag, const int *n, void *a, \
                                      const int *lda, int *info, size_t u, size_t v)             \
    {                                                                                            \
        (void)u, (void)v;                                                                        \
        trtri_enter(type, uplo, diag, n, a, lda, info);                                          \
    }
TRTRI(s, BLAS_S)
TRTRI(d, BLAS_D)
TRTRI(c, BLAS_C)
TRTRI(z, BLAS_Z)

/* ---- changing the table ---- */
typedef struct Entry {
    const char *name;
    LinkedFn own;
    LinkedFn *kept;             /* where what stood there goes; NULL: nowhere */
} Entry;

static const Entry entries[] = {
#define X(name) { #name "_", (LinkedFn)enter_##name, (LinkedFn *)&routine[AT_##name] },
    ENTRIES(X)
#undef X
    { "sgemm_", (LinkedFn)enter_sgemm, NULL }, { "dgemm_", (LinkedFn)enter_dgemm, NULL },
    { "cgemm_", (LinkedFn)enter_cgemm, NULL }, { "zgemm_", (LinkedFn)enter_zgemm, NULL },
    { "strtri_", (LinkedFn)enter_strtri, (LinkedFn *)&trtri[BLAS_S] },
    { "dtrtri_", (LinkedFn)enter_dtrtri, (LinkedFn *)&trtri[BLAS_D] },
    { "ctrtri_", (LinkedFn)enter_ctrtri, (LinkedFn *)&trtri[BLAS_C] },
    { "ztrtri_", (LinkedFn)enter_ztrtri, (LinkedFn *)&trtri[BLAS_Z] },
};

static const Entry *entry_named(const char *name)
{
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (strcmp(entries[i].name, name) == 0)
            return &entries[i];
    return NULL;
}

/* What a slot leads to. Where somebody else opened the library to be bound when used, it may
 * still be the linker's stub, which would undo the change: then the routine itself is kept. */
static LinkedFn target_of(const LinkerSlot *slot, void *handle)
{
    Dl_info found;
    LinkedFn fn = *slot->at;
    void *own = dlsym(handle, slot->name);
    if (own && own != (void *)fn && (!dladdr((void *)fn, &found) || found.dli_saddr != (void *)fn))
        memcpy(&fn, &own, sizeof fn);
    return fn;
}

/* Twice over the table: first what stands there is kept, so that no entry can be used before
 * all that it needs is known. */
static size_t change(const LinkerTable *t, void *handle, bool write)
{
    LinkerSlot slot;
    size_t found = 0;
    for (size_t i = 0; linker_table_next(t, &i, &slot);) {
        const Entry *e = entry_named(slot.name);
        if (!e)
            continue;
        found++;
        if (write)
            *slot.at = e->own;
        else if (e->kept)
            *e->kept = target_of(&slot, handle);
    }
    return found;
}

void blas_stop_install(const Blas *l, void *handle)
{
    LinkerTable t;
    if (!allowed || installed || !linker_table_of(handle, &t))
        return;
    library = l;
    if (change(&t, handle, false) != sizeof entries / sizeof *entries || !linker_table_open(&t))
        return;
    change(&t, handle, true);
    linker_table_close(&t);
    installed = true;
}
