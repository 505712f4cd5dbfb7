/* BLACS and ScaLAPACK as they were found: the one table of a process that is a rank. */
#ifndef RICCI_KERNELS_SCALAPACK_H
#define RICCI_KERNELS_SCALAPACK_H

#include <stddef.h>

/* By C's names, arguments by value. */
typedef struct Blacs {
    void (*pinfo)(int *me, int *procs);
    void (*get)(int context, int what, int *value);
    void (*gridinit)(int *context, const char *order, int rows, int cols);
    void (*gridexit)(int context);
    void (*exit)(int more);
    void (*send)(int context, int m, int n, const int *, int ld, int row, int col);
    void (*receive)(int context, int m, int n, int *, int ld, int row, int col);
    void (*share)(int context, const char *scope, const char *top, int m, int n, const int *,
                  int ld);
    void (*shared)(int context, const char *scope, const char *top, int m, int n, int *, int ld,
                   int row, int col);
    void (*sum_ints)(int context, const char *scope, const char *top, int m, int n, int *, int ld,
                     int row, int col);
    void (*sum[4])(int context, const char *scope, const char *top, int m, int n, void *, int ld,
                   int row, int col);
    void (*most_ints)(int context, const char *scope, const char *top, int m, int n, int *, int ld,
                      int *rows, int *cols, int ldi, int row, int col);
} Blacs;

/* By Fortran's names: all arguments by reference, the lengths of texts behind them. */
typedef const void *Arg;
#define ARG3 Arg, Arg, Arg
#define ARG7 ARG3, ARG3, Arg
#define TEXTS1 size_t
#define TEXTS2 size_t, size_t
#define TEXTS3 size_t, size_t, size_t

typedef struct ScalapackTable {
    Blacs blacs;
#define ROUTINE(id, s, d, c, z, ...) void (*id[4])(__VA_ARGS__);
#define REAL(id, s, d, ...) void (*id[2])(__VA_ARGS__);
#define COMPLEX(id, c, z, ...) void (*id[2])(__VA_ARGS__);
#include "kernels/grid/scalapack.def"
#undef ROUTINE
#undef REAL
#undef COMPLEX
} ScalapackTable;

extern ScalapackTable scalapack;

#endif
