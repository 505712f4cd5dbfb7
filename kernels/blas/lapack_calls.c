/* The calls of lapack_calls.h, and where they lead. LAPACKE's functions in column-major order only
 * pass their arguments on: they copy nothing, look at no element and own nothing, so that LAPACK
 * may be left midway through them as well (blas_stop.h). */
#include "kernels/blas/lapack_calls.h"

/* ---- the other forms of a row's arguments ---- */
#define TYPE(a, b, c, d, e, f, g) BARE b
#define TYPE_1(kind, x) FORM_OF(TYPE, FORMS_##kind(x)) TYPE_2
#define TYPE_2(kind, x) FORM_OF(TYPE, FORMS_##kind(x)) TYPE_1
#define TYPE_1_END
#define TYPE_2_END

#define VALUE(a, b, c, d, e, f, g) BARE c
#define VALUE_1(kind, x) FORM_OF(VALUE, FORMS_##kind(x)) VALUE_2
#define VALUE_2(kind, x) FORM_OF(VALUE, FORMS_##kind(x)) VALUE_1
#define VALUE_1_END
#define VALUE_2_END

#define POINTER(a, b, c, d, e, f, g) BARE d
#define POINTER_1(kind, x) FORM_OF(POINTER, FORMS_##kind(x)) POINTER_2
#define POINTER_2(kind, x) FORM_OF(POINTER, FORMS_##kind(x)) POINTER_1
#define POINTER_1_END
#define POINTER_2_END

#define ADDRESS(a, b, c, d, e, f, g) BARE e
#define ADDRESS_1(kind, x) FORM_OF(ADDRESS, FORMS_##kind(x)) ADDRESS_2
#define ADDRESS_2(kind, x) FORM_OF(ADDRESS, FORMS_##kind(x)) ADDRESS_1
#define ADDRESS_1_END
#define ADDRESS_2_END

#define LENGTH_TYPE(a, b, c, d, e, f, g) BARE f
#define LENGTH_TYPE_1(kind, x) FORM_OF(LENGTH_TYPE, FORMS_##kind(x)) LENGTH_TYPE_2
#define LENGTH_TYPE_2(kind, x) FORM_OF(LENGTH_TYPE, FORMS_##kind(x)) LENGTH_TYPE_1
#define LENGTH_TYPE_1_END
#define LENGTH_TYPE_2_END

#define LENGTH(a, b, c, d, e, f, g) BARE g
#define LENGTH_1(kind, x) FORM_OF(LENGTH, FORMS_##kind(x)) LENGTH_2
#define LENGTH_2(kind, x) FORM_OF(LENGTH, FORMS_##kind(x)) LENGTH_1
#define LENGTH_1_END
#define LENGTH_2_END

/* Without the nothing before the first comma. */
#define LIST(...) LIST_(__VA_ARGS__)
#define LIST_(nothing, ...) __VA_ARGS__

/* ---- the calls ---- */
typedef union RealArg { float s; double d; } RealArg;

static bool is_single(BlasType t) { return t == BLAS_S || t == BLAS_C; }

/* A real scalar in the precision of t, as Fortran takes it. */
static const void *real_at(BlasType t, double x, RealArg *out)
{
    if (is_single(t))
        out->s = (float)x;
    else
        out->d = x;
    return out;
}
#define ADDRESS_OF(x) real_at(t, x, &(RealArg){ 0 })

#define C_CALL(real, fn, args)                                                                   \
    do {                                                                                         \
        typedef real Real __attribute__((unused));                                               \
        info = ((int (*)(LIST(ENDED(TYPE_1 args))))fn)(LIST(ENDED(VALUE_1 args)));               \
    } while (0)
#define FORTRAN_CALL(fn, args)                                                                   \
    ((void (*)(LIST(ENDED(POINTER_1 args) ENDED(LENGTH_TYPE_1 args))))fn)                        \
        (LIST(ENDED(ADDRESS_1 args) ENDED(LENGTH_1 args)))

#define ROUTINE(id, real, cplx, proto)
#define LAPACK(id, real, cplx, args)                                                             \
    int lapack_##id(const Blas *l, BlasType t ENDED(PARAMETER_1 args))                           \
    {                                                                                            \
        BlasEntry lapacke = l->lapacke[ROW_##id][t];                                              \
        int info = 0;                                                                            \
        if (!l->by_lapacke)                                                                      \
            FORTRAN_CALL(l->fortran[ROW_##id][t], args);                                          \
        else if (is_single(t))                                                                   \
            C_CALL(float, lapacke, args);                                                        \
        else                                                                                     \
            C_CALL(double, lapacke, args);                                                       \
        return info;                                                                             \
    }
#include "kernels/blas/blas.def"
