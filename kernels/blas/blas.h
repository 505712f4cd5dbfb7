/* BLAS and LAPACK, loaded when first used, so that a program without matrices starts in a few
 * milliseconds. BLAS is called by its Fortran names, LAPACK through lapack_calls.h: by LAPACKE's
 * names in column-major order where they lead to the same library (lapacke.h), by Fortran's
 * otherwise. */
#ifndef RICCI_KERNELS_BLAS_H
#define RICCI_KERNELS_BLAS_H

#include "kernels/tensor/tensor.h"

typedef enum BlasType { BLAS_S, BLAS_D, BLAS_C, BLAS_Z, BLAS_TYPES } BlasType;

typedef void (*BlasEntry)(void);

enum {
#define ROUTINE(id, real, cplx, proto)
#define LAPACK(id, real, cplx, args) ROW_##id,
#include "kernels/blas/blas.def"
#undef LAPACK
#undef ROUTINE
    LAPACK_ROWS
};

typedef struct Blas {
#define ROUTINE(id, real, cplx, proto) void (*id[BLAS_TYPES]) proto;
#define LAPACK(id, real, cplx, args)
#include "kernels/blas/blas.def"
#undef LAPACK
#undef ROUTINE
    BlasEntry fortran[LAPACK_ROWS][BLAS_TYPES], lapacke[LAPACK_ROWS][BLAS_TYPES];
    bool by_lapacke;             /* which of the two is called; Fortran's before lapack_open */
    void (*set_threads)(int);    /* NULL where the library has no such call, as those below */
    void *(*buffer_take)(int);
    void (*buffer_give)(void *);
    const char *name;            /* the library that was found, for `explain` */
} Blas;

/* Why there is no library: a text for the user; memory: it was found, there is no room for it
 * now. */
typedef struct BlasRefusal { const char *text; bool memory; } BlasRefusal;

/* The table, or NULL and why. Thread-safe; cheap after the first. */
const Blas *blas_open(BlasRefusal *);
/* The same, before calls of lapack_calls.h: settles by which names they go. */
const Blas *lapack_open(BlasRefusal *);

/* Before calls: `callers` threads of this interpreter will be inside the library at once, and it is
 * to use `threads` of its own in each call. Returns how many callers it has room for: as many, or
 * 1. Only the interpreter's thread calls this, never while its workers are inside. (blas_room.c) */
int blas_enter(Ctx *, const Blas *, int callers, int threads);
void blas_leave(Ctx *);          /* the interpreter ends */
bool blas_room_first(const Blas *);      /* for blas_open: is there room for one caller? */

/* BLAS_TYPES if there is none. */
BlasType blas_type(DType);
static inline bool blas_is_complex(BlasType t) { return t >= BLAS_C; }
static inline size_t blas_bytes(BlasType t)
{
    return t == BLAS_S ? 4 : t == BLAS_Z ? 16 : 8;
}
/* 1, 0 and -1 in the type, for alpha and beta. */
const void *blas_one(BlasType);
const void *blas_zero(BlasType);
const void *blas_minus_one(BlasType);

#endif
