/* What a matrix looks like. */
#ifndef RICCI_KERNELS_ELIMINATION_SHAPE_H
#define RICCI_KERNELS_ELIMINATION_SHAPE_H

#include "kernels/elimination/columns.h"

/* Is the square matrix triangular, its rows and columns in some order? Then e is made for it. */
bool shape_triangle(Elimination *, const Csr *, const Columns *);
bool shape_hermitian(const Csr *, const Columns *);      /* every element exactly */
bool shape_positive_diagonal(const Csr *);               /* all of it stored, real, and above 0 */

#endif
