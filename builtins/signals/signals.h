/* What the files behind signals.def share. */
#ifndef RICCI_BUILTINS_SIGNALS_H
#define RICCI_BUILTINS_SIGNALS_H

#include "builtins/rows/rows.h"
#include "core/base/error.h"

/* The dtype that floats are computed in: f16 and bf16 in f32, ints and bools in f64. */
DType signals_compute_dtype(DType);
/* x in that dtype or another; kept, x itself where nothing changes. */
Tensor *signals_cast(OpCall *, Tensor *x, DType);
/* View of `length` elements of an axis from `from` on; kept. */
Tensor *signals_slice(OpCall *, Tensor *x, int axis, int64_t from, int64_t length);
/* A contiguous vector of f64 with x's elements, or an error about argument i. */
Tensor *signals_vector(OpCall *, int i, DType);
/* Runs a transform; raises if FFTW is missing, has no plan, or the user interrupts. */
void signals_fft(OpCall *, int kind, int64_t n, const Tensor *x, const Tensor *out, int axis,
                 double scale);
/* Raises ERR_SHAPE if argument i, at hand as x, is a scalar. */
void signals_require_axis(OpCall *, int i, const Tensor *x);

#endif
