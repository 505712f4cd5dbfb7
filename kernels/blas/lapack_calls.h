/* LAPACK's routines with arguments by value, one function for each LAPACK row of blas.def and its
 * four types: lapack_getrs(blas, type, 'N', n, nrhs, …). All return LAPACK's info, 0 where a
 * routine has none. By which library's names a call goes, LAPACKE's or Fortran's, was settled by
 * lapack_open. */
#ifndef RICCI_KERNELS_BLAS_LAPACK_CALLS_H
#define RICCI_KERNELS_BLAS_LAPACK_CALLS_H

#include "kernels/blas/blas.h"

/* What an argument of each kind is in our signature, in LAPACKE's type and call, in Fortran's type
 * and call, and in the lengths at the end of those two. Each begins with the comma that parts it
 * from the one before; 102 is column-major. Real, info and ADDRESS_OF are the user's. */
#define FORMS_LAYOUT(x) (), (, int), (, 102), (), (), (), ()
#define FORMS_CHAR(x) (, char x), (, char), (, x), (, const char *), (, &x), (, size_t), (, 1)
#define FORMS_INT(x) (, int x), (, int), (, x), (, const int *), (, &x), (), ()
#define FORMS_REAL(x)                                                                            \
    (, double x), (, Real), (, (Real)x), (, const void *), (, ADDRESS_OF(x)), (), ()
#define FORMS_IN(x) (, const void *x), (, const void *), (, x), (, const void *), (, x), (), ()
#define FORMS_OUT(x) (, void *x), (, void *), (, x), (, void *), (, x), (), ()
#define FORMS_PIVOTS(x) (, const int *x), (, const int *), (, x), (, const int *), (, x), (), ()
#define FORMS_INTS(x) (, int *x), (, int *), (, x), (, int *), (, x), (), ()
#define FORMS_INFO(x) (), (), (), (, int *), (, &info), (), ()

/* One form of a sequence (KIND, name)(KIND, name)…: two macros that call each other along it, and
 * the one that is left over at its end becomes nothing. */
#define FORM_OF(which, ...) which(__VA_ARGS__)
#define BARE(...) __VA_ARGS__
#define ENDED(...) ENDED_(__VA_ARGS__)
#define ENDED_(...) __VA_ARGS__##_END
#define PARAMETER(a, b, c, d, e, f, g) BARE a
#define PARAMETER_1(kind, x) FORM_OF(PARAMETER, FORMS_##kind(x)) PARAMETER_2
#define PARAMETER_2(kind, x) FORM_OF(PARAMETER, FORMS_##kind(x)) PARAMETER_1
#define PARAMETER_1_END
#define PARAMETER_2_END

#define ROUTINE(id, real, cplx, proto)
#define LAPACK(id, real, cplx, args) \
    int lapack_##id(const Blas *, BlasType ENDED(PARAMETER_1 args));
#include "kernels/blas/blas.def"
#undef LAPACK
#undef ROUTINE

#endif
