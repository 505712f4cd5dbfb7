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
/* x with its axis cut or filled with zeros to `length`; kept. */
Tensor *signals_resize(OpCall *, Tensor *x, int axis, int64_t length);

/* Transforms in a format that no library transforms, while one row runs: signals_fourier.c. */
typedef struct Fourier Fourier;
typedef struct FourierAxis {
    int axis;
    int64_t n;
    bool inverse, half;         /* half: the first n / 2 + 1 numbers are wanted */
    bool real;                  /* of the first n / 2 + 1 numbers of a spectrum, to real ones */
    bool divided, root;         /* by n, or by its root */
} FourierAxis;
typedef Value (*FourierRow)(OpCall *, Fourier *);
/* The row in a format; binary ones in f64. */
Value signals_in_format(OpCall *, struct Scope *, FourierRow);
/* The operand as complex numbers of the format, and a transform of such numbers along an axis. */
Tensor *signals_fourier_operand(Fourier *);
Tensor *signals_fourier(Fourier *, Tensor *x, const FourierAxis *);

/* Raises ERR_SHAPE if argument i, at hand as x, is a scalar. */
void signals_require_axis(OpCall *, int i, const Tensor *x);

/* mode= of conv and conv2, and what it leaves of n + m - 1 numbers along one of `core` axes. */
typedef enum ConvMode { CONV_FULL, CONV_SAME, CONV_VALID } ConvMode;
typedef struct ConvCut { int64_t from, count; } ConvCut;
ConvMode signals_conv_mode(OpCall *);
ConvCut signals_conv_cut(ConvMode, int core, int64_t n, int64_t m);
/* Raises ERR_SHAPE where one image has more rows and the other more columns, and the mode is
 * valid. */
void signals_conv_fits(OpCall *, ConvMode, int64_t rows, int64_t n, int64_t b_rows, int64_t m);
/* Raises if a line has no points, or another number of values. */
void signals_points(OpCall *, int64_t points, int64_t values);

#endif
