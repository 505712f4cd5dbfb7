/* SuiteSparse as it is found: CHOLMOD, UMFPACK, KLU and SPQR, each opened when it is first wanted,
 * without their headers. What stands here of their structures is what all versions that are
 * accepted have (CHOLMOD 3 to 5 and its contemporaries); who is not known by its defaults is
 * refused, and the room's own code takes its place. RICCI_SUITESPARSE=0 refuses all of them. */
#ifndef RICCI_KERNELS_ELIMINATION_SUITESPARSE_H
#define RICCI_KERNELS_ELIMINATION_SUITESPARSE_H

#include "kernels/elimination/columns.h"

typedef enum SsLibrary { SS_CHOLMOD, SS_UMFPACK, SS_KLU, SS_SPQR, SS_LIBRARIES } SsLibrary;

enum { SS_LONG = 2, SS_REAL = 1, SS_COMPLEX = 2 };
typedef struct SsSparse {
    size_t rows, columns, room;
    void *start, *row, *count, *x, *z;
    int symmetric, positions, numbers, precision, sorted, packed;
} SsSparse;
typedef struct SsDense {
    size_t rows, columns, room, step;
    void *x, *z;
    int numbers, precision;
} SsDense;
typedef struct SsFactor {                /* its beginning, and where its ordering is told */
    size_t n, minor;                     /* minor < n: the column that was not positive */
    int64_t *order, *counts, *inverse;
    size_t room;
    void *arrays[7];
    size_t supernodes, sizes[4];
    void *super[4];
    int ordering;
} SsFactor;
typedef struct SsKluSymbolic {
    double symmetry, flops, l, u;
    double *counts;
    int64_t n, entries, *p, *q, *blocks, outside, block_count, largest;
} SsKluSymbolic;
typedef struct SsKluNumeric { int64_t n, blocks, l, u; } SsKluNumeric;
typedef struct SsQr { int numbers; void *factors; } SsQr;

/* All that a library allocated for one factorization (suitesparse_heap.c). */
typedef struct SsHeap { Ctx *ctx; struct SsBlock *first; } SsHeap;

typedef struct SuiteSparse {
#define ROUTINE(library, id, result, symbol, proto) result (*id) proto;
#include "kernels/elimination/suitesparse.def"
#undef ROUTINE
} SuiteSparse;

/* Its numbers are f64, or c128 as pairs. */
static inline bool is_complex(const Elimination *e) { return e->dtype == DT_C128; }

/* The table, in which this library's members are set; NULL: it is not to be had. */
const SuiteSparse *suitesparse_open(SsLibrary);
const char *suitesparse_package(SsLibrary);

/* A library is inside from enter to leave: BLAS is ready for it, with its threads. `bytes` is what
 * it will want, as far as that is known: raises `memory` where that is not there. */
void suitesparse_enter(Elimination *, double bytes);
void suitesparse_leave(Elimination *);
_Noreturn void suitesparse_memory(Elimination *, const char *library);   /* it had none */

/* ---- its memory, and leaving it midway (suitesparse_heap.c) ---- */
/* From now on a library that is opened may have its functions for memory and its calls changed. */
void suitesparse_allow(void);
bool suitesparse_heap_first(void);       /* before the libraries are opened */
void suitesparse_heap_install(void *const handles[SS_LIBRARIES]);
void suitesparse_inside(Elimination *);
bool suitesparse_outside(void);          /* was this thread inside? */
/* Forgets all that the libraries allocated for e. False: there is no heap, and theirs is to be
 * released as they have it. */
bool suitesparse_forget(Elimination *);

/* CHOLMOD's Common, started; several times as large as it is in any version. */
enum { SS_COMMON = 64 << 10 };
typedef struct SsCommon { _Alignas(16) char bytes[SS_COMMON]; } SsCommon;
bool suitesparse_common(const SuiteSparse *, SsCommon *);
SsSparse suitesparse_matrix(const Columns *, bool pairs, int symmetric);
SsDense suitesparse_columns(int64_t m, int64_t n, bool pairs, const void *x);

/* ---- factorizations; false: not by this library, and nothing was done ---- */
bool cholmod_factor_of(Elimination *, const Columns *);  /* or not_definite is set */
bool umfpack_factor(Elimination *, const Columns *, bool scaled);
bool klu_factor(Elimination *, const Columns *);         /* of matrices as circuits have them */
bool spqr_factor(Elimination *, const Columns *);

#endif
