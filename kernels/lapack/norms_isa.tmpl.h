/* The loops of norms.h for one instruction set, as NORM_TABLE. */
#include "kernels/lapack/norms.h"

#ifndef NORMS_STRIPE
#define NORMS_STRIPE 512     /* bytes of a row that are folded over all rows at once … */
#define NORMS_FAR 2048       /* … where rows lie so far apart that they are no one stream */
#define NORMS_AHEAD 8        /* rows */
#endif

#define T float
#define FN(name) name##_f32
#include "kernels/lapack/norms_type.tmpl.h"
#define T double
#define FN(name) name##_f64
#include "kernels/lapack/norms_type.tmpl.h"

#define BOTH(name) { { name##_line_f32, name##_rows_f32 }, { name##_line_f64, name##_rows_f64 } }

const NormKernel NORM_TABLE[NORM_FOLDS][2] = {
    [FOLD_SUM] = BOTH(sum), [FOLD_SQUARES] = BOTH(squares), [FOLD_MAX] = BOTH(max),
    [FOLD_MIN] = BOTH(min), [FOLD_COUNT] = BOTH(count),
};
