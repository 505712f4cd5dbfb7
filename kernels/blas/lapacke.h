/* LAPACKE, the C names of LAPACK: found in the library that was opened, or in liblapacke.so.3,
 * whose calls are then led to that library. By itself Debian's liblapacke calls liblapack.so.3,
 * which is another copy of LAPACK, and may be the slow one; so its entries of the linker's table
 * are changed (linker_table.h), and both ways end in the same machine code, which blas_stop.h can
 * leave midway.
 *
 * * A library's table is for the owner of the process to change: only the program `ricci` asks for
 * it. */
#ifndef RICCI_KERNELS_BLAS_LAPACKE_H
#define RICCI_KERNELS_BLAS_LAPACKE_H

#include "kernels/blas/blas.h"

/* From now on the calls of a liblapacke that is opened may be led elsewhere. */
void lapacke_allow(void);
/* For lapack_open: fills the table's LAPACKE entries. The Fortran ones are filled, from `handle`.
 * False: LAPACK is to be called by those. RICCI_LAPACKE=0 says so. */
bool lapacke_open(Blas *, void *handle);

#endif
