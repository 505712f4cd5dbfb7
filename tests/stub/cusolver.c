/* libcusolver.so.11 of the machine that stub.h describes: LAPACK of the host's libopenblas.so.0. */
#include "tests/stub/stub.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct Handle { void *stream, *lapack; } Handle;
enum { NOT_INITIALIZED = 1, INVALID = 3, FAILED = 6 };

EXPORT int cusolverDnCreate(Handle **out)
{
    int code = stub_fails(__func__);
    void *lapack = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (code || !lapack)
        return code ? code : NOT_INITIALIZED;
    *out = calloc(1, sizeof **out);
    (*out)->lapack = lapack;
    stub.handles++;
    return 0;
}

EXPORT int cusolverDnDestroy(Handle *h)
{
    stub.handles--;
    free(h);
    return 0;
}

EXPORT int cusolverDnSetStream(Handle *h, void *stream)
{
    h->stream = stream;
    return 0;
}

static int begin(Handle *h, const char *name)
{
    int code = stub_fails(name);
    return code ? code : stub_wait(h->stream) ? FAILED : 0;
}

#define BEGIN(test)                            \
    do {                                       \
        int code_ = begin(h, __func__);        \
        if (code_ || !(test))                  \
            return code_ ? code_ : INVALID;    \
    } while (0)
#define CALL(name, ...) ((void (*)())(uintptr_t)dlsym(h->lapack, name))(__VA_ARGS__)

static const char upper_lower[] = "LU", no_vectors[] = "NV";

#define ROUTINES(X, x, real)                                                                              \
EXPORT int cusolverDn##X##getrf_bufferSize(Handle *h, int m, int n, real *a, int lda, int *lwork)          \
{                                                                                                         \
    BEGIN(m >= 0 && n >= 0 && lda >= m && a);                                                              \
    *lwork = 1 + m * n;                                                                                   \
    return 0;                                                                                             \
}                                                                                                         \
EXPORT int cusolverDn##X##getrf(Handle *h, int m, int n, real *a, int lda, real *work, int *p, int *info)   \
{                                                                                                         \
    BEGIN(lda >= m && p);                                                                                 \
    memset(work, 0x7f, (size_t)(1 + m * n) * sizeof *work);                                               \
    CALL(#x "getrf_", &m, &n, a, &lda, p, info);                                                          \
    return 0;                                                                                             \
}                                                                                                         \
EXPORT int cusolverDn##X##getrs(Handle *h, int op, int n, int nrhs, const real *a, int lda, const int *p,   \
                                real *b, int ldb, int *info)                                              \
{                                                                                                         \
    BEGIN(lda >= n && ldb >= n && op < 2);                                                                \
    CALL(#x "getrs_", op ? "T" : "N", &n, &nrhs, a, &lda, p, b, &ldb, info, 1L);                          \
    return 0;                                                                                             \
}                                                                                                         \
EXPORT int cusolverDn##X##potrf_bufferSize(Handle *h, int uplo, int n, real *a, int lda, int *lwork)       \
{                                                                                                         \
    BEGIN(uplo < 2 && lda >= n && a);                                                                     \
    *lwork = n;                                                                                           \
    return 0;                                                                                             \
}                                                                                                         \
EXPORT int cusolverDn##X##potrf(Handle *h, int uplo, int n, real *a, int lda, real *work, int lwork, int *info) \
{                                                                                                         \
    BEGIN(lwork >= n);                                                                                    \
    memset(work, 0x7f, (size_t)lwork * sizeof *work);                                                     \
    CALL(#x "potrf_", &upper_lower[uplo], &n, a, &lda, info, 1L);                                         \
    return 0;                                                                                             \
}                                                                                                         \
EXPORT int cusolverDn##X##geqrf_bufferSize(Handle *h, int m, int n, real *a, int lda, int *lwork)          \
{                                                                                                         \
    BEGIN(lda >= m && a);                                                                                 \
    *lwork = 64 * n;                                                                                      \
    return 0;                                                                                             \
}                                                                                                         \
EXPORT int cusolverDn##X##geqrf(Handle *h, int m, int n, real *a, int lda, real *tau, real *work, int lwork, \
                                int *info)                                                                \
{                                                                                                         \
    BEGIN(lwork >= 64 * n);                                                                               \
    CALL(#x "geqrf_", &m, &n, a, &lda, tau, work, &lwork, info);                                          \
    return 0;                                                                                             \
}                                                                                                         \
EXPORT int cusolverDn##X##orgqr_bufferSize(Handle *h, int m, int n, int k, const real *a, int lda,         \
                                           const real *tau, int *lwork)                                   \
{                                                                                                         \
    BEGIN(m >= n && n >= k && lda >= m && a && tau);                                                      \
    *lwork = 64 * n;                                                                                      \
    return 0;                                                                                             \
}                                                                                                         \
EXPORT int cusolverDn##X##orgqr(Handle *h, int m, int n, int k, real *a, int lda, const real *tau, real *work, \
                                int lwork, int *info)                                                     \
{                                                                                                         \
    BEGIN(lwork >= 64 * n);                                                                               \
    CALL(#x "orgqr_", &m, &n, &k, a, &lda, tau, work, &lwork, info);                                      \
    return 0;                                                                                             \
}                                                                                                         \
EXPORT int cusolverDn##X##gesvd_bufferSize(Handle *h, int m, int n, int *lwork)                            \
{                                                                                                         \
    BEGIN(m >= n);                                                                                        \
    *lwork = 10 * (m + n);                                                                                \
    return 0;                                                                                             \
}                                                                                                         \
EXPORT int cusolverDn##X##gesvd(Handle *h, signed char jobu, signed char jobvt, int m, int n, real *a, int lda, real *s, \
                                real *u, int ldu, real *vt, int ldvt, real *work, int lwork, real *rwork, int *info) \
{                                                                                                         \
    BEGIN(m >= n && lda >= m && ldu >= m && ldvt >= n && rwork != work && lwork >= 10 * (m + n));         \
    if (n > 1)                                                                                            \
        memset(rwork, 0x7f, (size_t)(n - 1) * sizeof *rwork);                                             \
    char left = (char)jobu, right = (char)jobvt;                                                          \
    CALL(#x "gesvd_", &left, &right, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &lwork, info, 1L, 1L); \
    return 0;                                                                                             \
}                                                                                                         \
EXPORT int cusolverDn##X##syevd_bufferSize(Handle *h, int jobz, int uplo, int n, const real *a, int lda,   \
                                           const real *w, int *lwork)                                     \
{                                                                                                         \
    BEGIN(jobz < 2 && uplo < 2 && lda >= n && a && w);                                                    \
    *lwork = 1 + 6 * n + 2 * n * n;                                                                       \
    return 0;                                                                                             \
}                                                                                                         \
EXPORT int cusolverDn##X##syevd(Handle *h, int jobz, int uplo, int n, real *a, int lda, real *w, real *work, \
                                int lwork, int *info)                                                     \
{                                                                                                         \
    BEGIN(lwork >= 1 + 6 * n + 2 * n * n);                                                                \
    int whole = 3 + 5 * n, *whole_work = malloc((size_t)whole * sizeof *whole_work);                      \
    CALL(#x "syevd_", &no_vectors[jobz], &upper_lower[uplo], &n, a, &lda, w, work, &lwork, whole_work, &whole, info, \
         1L, 1L);                                                                                         \
    free(whole_work);                                                                                     \
    return 0;                                                                                             \
}

ROUTINES(S, s, float)
ROUTINES(D, d, double)
