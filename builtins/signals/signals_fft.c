/* The Fourier rows of signals.def: lengths, axes and norms are read here, signals cut or
 * filled with zeros, results made; kernels/signals/fft.c transforms. */
#include "builtins/signals/signals.h"
#include "builtins/formats/formats.h"
#include "interp/op/heard.h"
#include "kernels/signals/fft.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- shared with the other signal rows ---- */

DType signals_compute_dtype(DType dt)
{
    switch (dtype_computed(dt)) {
    case DT_F32: return DT_F32;
    case DT_C64: case DT_C128: return dt;
    default: return DT_F64;
    }
}

Tensor *signals_cast(OpCall *c, Tensor *x, DType dt)
{
    return x->dtype == dt ? x : op_keep(c, tensor_cast(&c->in->ctx, x, dt));
}

Tensor *signals_slice(OpCall *c, Tensor *x, int axis, int64_t from, int64_t length)
{
    int64_t shape[TENSOR_RANK_MAX];
    if (from == 0 && length == tensor_shape(x)[axis])
        return x;
    memcpy(shape, tensor_shape(x), x->rank * sizeof *shape);
    shape[axis] = length;
    char *data = x->data + from * tensor_strides(x)[axis] * dtype_info(x->dtype)->bytes;
    return op_keep(c, tensor_view(&c->in->ctx, x, x->rank, shape, tensor_strides(x), data));
}

Tensor *signals_resize(OpCall *c, Tensor *x, int axis, int64_t length)
{
    Ctx *ctx = &c->in->ctx;
    int64_t shape[TENSOR_RANK_MAX], given = tensor_shape(x)[axis];
    if (length <= given)
        return signals_slice(c, x, axis, 0, length);
    memcpy(shape, tensor_shape(x), x->rank * sizeof *shape);
    shape[axis] = length;
    Tensor *filled = op_keep(c, tensor_zeros(ctx, (DType)x->dtype, x->rank, shape));
    tensor_assign(ctx, signals_slice(c, filled, axis, 0, given), x);
    return filled;
}

void signals_require_axis(OpCall *c, int i, const Tensor *x)
{
    char help[96];
    if (x->rank > 0)
        return;
    snprintf(help, sizeof help, "a vector of one element is written [%s]", arg_text(c, i));
    arg_error_help(c, i, ERR_SHAPE, help, "%s must have an axis; a scalar has none",
                   arg_text(c, i));
}

void signals_fft(OpCall *c, int kind, int64_t n, const Tensor *x, const Tensor *out, int axis,
                 double scale)
{
    Ctx *ctx = &c->in->ctx;
    mem_room(ctx, (size_t)24 << 20);               /* to load it: then it is not called missing */
    const char *why = fft_missing((DType)x->dtype);
    char help[96];
    if (why) {
        snprintf(help, sizeof help, "apt-get install %s", fft_package((DType)x->dtype));
        err_raise_help(ctx, ERR_IO, help, "%s", why);
    }
    /* FFTW stops the process when it gets no memory: its tables and buffers take a few
     * times the length. */
    if (n > 1 << 16)
        mem_check(ctx, mem_mul(ctx, (size_t)n, 64));
    if (!fft_run(ctx, (FftKind)kind, n, x, out, axis, scale))
        err_raise(ctx, ERR_NUMERIC, "%s: FFTW has no plan for length %lld", c->op->name,
                  (long long)n);
    poll_interrupt(c->in);
}

/* ---- one axis ---- */

typedef enum Norm { NORM_BACKWARD, NORM_ORTHO, NORM_FORWARD } Norm;

static Norm read_norm(OpCall *c, int i)
{
    static const char *const names[] = { "backward", "ortho", "forward" };
    if (!arg_given(c, i))
        return NORM_BACKWARD;
    const char *text = arg_str(c, i)->text;
    for (int k = 0; k < 3; k++)
        if (strcmp(text, names[k]) == 0)
            return (Norm)k;
    char help[64];
    const char *close = err_closest(text, names, 3);
    snprintf(help, sizeof help, "did you mean \"%s\"?", close ? close : "ortho");
    arg_error_help(c, i, ERR_VALUE, close ? help : NULL,
                   "norm is \"backward\", \"ortho\" or \"forward\", not \"%.40s\"", text);
}

static double scale_of(Norm norm, bool inverse, int64_t n)
{
    if (norm == NORM_ORTHO)
        return 1 / sqrt((double)n);
    return (norm == NORM_FORWARD) != inverse ? 1 / (double)n : 1;
}

static Tensor *signal_argument(OpCall *c)
{
    Tensor *x = arg_tensor(c, 0);
    signals_require_axis(c, 0, x);
    return x;
}

/* n=, or the length that follows from x. */
static int64_t read_length(OpCall *c, const Tensor *x, int axis, int64_t fallback)
{
    char shape[128], help[96];
    if (arg_given(c, 1)) {
        int64_t n = arg_int(c, 1);
        if (n < 1)
            arg_error(c, 1, ERR_VALUE, "a transform has at least one point, not n=%lld",
                      (long long)n);
        return n;
    }
    if (fallback > 0)
        return fallback;
    shape_fact(shape, sizeof shape, x->rank, tensor_shape(x));
    snprintf(help, sizeof help, "n= says how many points to make: %s(%s, n=1)", c->op->name,
             arg_text(c, 0));
    arg_error_help(c, 0, ERR_VALUE, help,
                   "a transform has at least one point, but %s %s, which makes none "
                   "along axis %d",
                   arg_text(c, 0), shape, axis);
}

static Tensor *new_spectrum(OpCall *c, const Tensor *x, DType dt, int axis, int64_t length)
{
    int64_t shape[TENSOR_RANK_MAX];
    memcpy(shape, tensor_shape(x), x->rank * sizeof *shape);
    shape[axis] = length;
    return op_keep(c, tensor_new(&c->in->ctx, dt, x->rank, shape));
}

/* A broadcast axis is read as it lies only where it is a batch. */
static Tensor *solid_axis(OpCall *c, Tensor *x, int axis)
{
    if (tensor_strides(x)[axis] != 0 || tensor_shape(x)[axis] == 1)
        return x;
    return op_keep(c, tensor_compact(&c->in->ctx, x));
}

/* What `explain` says: how many transforms of which kind, and their work. */
static void explain_transform(OpCall *c, FftKind kind, int64_t n, const Tensor *out, int axis)
{
    static const char *const kinds[] = { "complex", "complex", "real to half",
                                         "real",    "real",    "half to real" };
    double lanes = tensor_shape(out)[axis] ? (double)(out->size / tensor_shape(out)[axis]) : 0;
    bool whole = kind == FFT_FORWARD || kind == FFT_BACKWARD;
    DType dt = dtype_real((DType)out->dtype);
    if (!heard_on(c->in))
        return;
    explain_routine(c->in, kinds[kind], "FFTW",
                    "FFTW, %s, %s: %.0f transform%s of %lld points", kinds[kind],
                    dtype_name(dt), lanes, lanes == 1 ? "" : "s", (long long)n);
    explain_flops(c->in, (whole ? 5 : 2.5) * lanes * (double)n * log2((double)n),
                  whole ? "5n log2 n each" : "2.5n log2 n each");
}

/* The transform of x along an axis to n points. */
static Tensor *transformed(OpCall *c, Fourier *f, Tensor *x, FftKind kind, int axis, int64_t n,
                           Norm norm)
{
    int64_t read = kind == FFT_TO_REAL ? n / 2 + 1 : n;
    bool inverse = kind == FFT_BACKWARD || kind == FFT_REAL_BACKWARD || kind == FFT_TO_REAL;
    double scale = scale_of(norm, inverse, n);
    if (f) {
        bool root = norm == NORM_ORTHO, real = kind == FFT_TO_REAL;
        FourierAxis how = { axis, n, inverse, kind == FFT_HALF, real,
                            root || (norm == NORM_FORWARD) != inverse, root };
        return signals_fourier(f, signals_resize(c, x, axis, read), &how);
    }
    DType dt = signals_compute_dtype((DType)x->dtype);
    if (kind == FFT_TO_REAL)
        dt = dtype_complex(dt);
    if (tensor_shape(x)[axis] > read)
        x = signals_slice(c, x, axis, 0, read);
    x = signals_cast(c, x, dt);
    x = solid_axis(c, signals_resize(c, x, axis, read), axis);
    Tensor *out = new_spectrum(c, x, kind == FFT_TO_REAL ? dtype_real(dt) : dtype_complex(dt), axis,
                               kind == FFT_HALF ? n / 2 + 1 : n);
    signals_fft(c, kind, n, x, out, axis, scale);
    explain_transform(c, kind, n, out, axis);
    return out;
}

static FftKind complex_kind(const Tensor *x, bool inverse)
{
    if (dtype_info(x->dtype)->kind == 'c')
        return inverse ? FFT_BACKWARD : FFT_FORWARD;
    return inverse ? FFT_REAL_BACKWARD : FFT_REAL;
}

static Tensor *signal_in(OpCall *c, Fourier *f)
{
    return f ? signals_fourier_operand(f) : signal_argument(c);
}

static Value transform(OpCall *c, Fourier *f, bool inverse)
{
    Tensor *x = signal_in(c, f);
    int axis = arg_axis(c, 2, x->rank, x->rank - 1);
    Norm norm = read_norm(c, 3);
    int64_t n = read_length(c, x, axis, tensor_shape(x)[axis]);
    return op_result(c, transformed(c, f, x, complex_kind(x, inverse), axis, n, norm));
}

static Value row_fft(OpCall *c, Fourier *f) { return transform(c, f, false); }
static Value row_ifft(OpCall *c, Fourier *f) { return transform(c, f, true); }

static Value row_rfft(OpCall *c, Fourier *f)
{
    Tensor *x = signal_argument(c);
    char help[128];
    if (dtype_info(x->dtype)->kind == 'c') {
        snprintf(help, sizeof help, "fft(%s) transforms complex numbers", arg_text(c, 0));
        arg_error_help(c, 0, ERR_DTYPE, help, "%s is %s; rfft takes real numbers", arg_text(c, 0),
                       dtype_name(x->dtype));
    }
    int axis = arg_axis(c, 2, x->rank, x->rank - 1);
    Norm norm = read_norm(c, 3);
    int64_t n = read_length(c, x, axis, tensor_shape(x)[axis]);
    return op_result(c, transformed(c, f, f ? signals_fourier_operand(f) : x, FFT_HALF, axis, n,
                                    norm));
}

static Value row_irfft(OpCall *c, Fourier *f)
{
    Tensor *x = signal_in(c, f);
    int axis = arg_axis(c, 2, x->rank, x->rank - 1);
    Norm norm = read_norm(c, 3);
    int64_t n = read_length(c, x, axis, 2 * (tensor_shape(x)[axis] - 1));
    return op_result(c, transformed(c, f, x, FFT_TO_REAL, axis, n, norm));
}

/* ---- several axes: one after the other, all but the first in place ---- */

static Value transform_axes(OpCall *c, Fourier *f, uint64_t axes, Norm norm, bool inverse)
{
    Tensor *x = f ? signals_fourier_operand(f) : arg_tensor(c, 0);
    Tensor *out = NULL;
    char shape[128];
    for (int axis = x->rank - 1; axis >= 0; axis--)
        if (axes >> axis & 1 && tensor_shape(x)[axis] == 0)
            arg_error(c, 0, ERR_VALUE, "a transform has at least one point, but axis %d of %s "
                      "(shape %s) has length 0", axis, arg_text(c, 0),
                      shape_text(shape, sizeof shape, x->rank, tensor_shape(x)));
    /* In place the last axis is the fastest, so it comes last; of reals it comes first, where
     * half the work is saved. */
    bool last_first = dtype_info(x->dtype)->kind != 'c';
    for (int k = 0; k < x->rank; k++) {
        int axis = last_first ? x->rank - 1 - k : k;
        int64_t n = tensor_shape(x)[axis];
        if (!(axes >> axis & 1))
            continue;
        FftKind kind = inverse ? FFT_BACKWARD : FFT_FORWARD;
        if (!out || f) {
            out = out ? out : x;
            out = transformed(c, f, out, complex_kind(out, inverse), axis, n, norm);
        } else {
            signals_fft(c, kind, n, out, out, axis, scale_of(norm, inverse, n));
            explain_transform(c, kind, n, out, axis);
        }
    }
    if (!out)
        out = f ? x : signals_cast(c, x, dtype_complex(signals_compute_dtype((DType)x->dtype)));
    return op_result(c, out);
}

static Value transform_plane(OpCall *c, Fourier *f, bool inverse)
{
    Tensor *x = arg_tensor(c, 0);
    char fact[128];
    if (x->rank < 2)
        arg_error_help(
            c, 0, ERR_SHAPE,
            x->rank ? inverse ? "ifft is the one of vectors" : "fft is the one of vectors" : NULL,
            "%s must have two axes, but it %s", arg_text(c, 0),
            shape_fact(fact, sizeof fact, x->rank, tensor_shape(x)));
    return transform_axes(c, f, 3ull << (x->rank - 2), read_norm(c, 1), inverse);
}

static Value row_fft2(OpCall *c, Fourier *f) { return transform_plane(c, f, false); }
static Value row_ifft2(OpCall *c, Fourier *f) { return transform_plane(c, f, true); }

static Value transform_all(OpCall *c, Fourier *f, bool inverse)
{
    Tensor *x = signal_argument(c);
    uint64_t axes = arg_axes(c, 1, x->rank);
    return transform_axes(c, f, axes, read_norm(c, 2), inverse);
}

static Value row_fftn(OpCall *c, Fourier *f) { return transform_all(c, f, false); }
static Value row_ifftn(OpCall *c, Fourier *f) { return transform_all(c, f, true); }

/* ---- the rows, and their forms ---- */
#define ROW(name) \
    Value op_run_##name(OpCall *c) { return row_##name(c, NULL); } \
    Value op_format_##name(OpCall *c, Scope *s) { return signals_in_format(c, s, row_##name); }
ROW(fft) ROW(ifft) ROW(rfft) ROW(irfft) ROW(fft2) ROW(ifft2) ROW(fftn) ROW(ifftn)
#undef ROW

/* ---- frequencies ---- */

static Value frequencies(OpCall *c, bool half)
{
    int64_t n = arg_int(c, 0), count = half ? n / 2 + 1 : n;
    double d = arg_given(c, 1) ? arg_float(c, 1) : 1;
    if (n < 1)
        arg_error(c, 0, ERR_VALUE, "a transform has at least one point, not n=%lld", (long long)n);
    if (d == 0)
        arg_error(c, 1, ERR_VALUE, "samples are some time apart, and d is 0");
    Tensor *out = op_keep(c, tensor_new(&c->in->ctx, DT_F64, 1, &count));
    double *f = (double *)out->data, step = 1 / ((double)n * d);
    int64_t positive = half ? count : (n + 1) / 2;
    for (int64_t i = 0; i < count; i++)
        f[i] = (double)(i < positive ? i : i - n) * step;
    return op_result(c, out);
}

Value op_run_fftfreq(OpCall *c) { return frequencies(c, false); }
Value op_run_rfftfreq(OpCall *c) { return frequencies(c, true); }

static Value shifted(OpCall *c, bool inverse)
{
    Tensor *x = signal_argument(c);
    uint64_t axes = arg_axes(c, 1, x->rank);
    Value v = op_root(c, v_tensor_raw(tensor_retain(x)));
    for (int axis = 0; axis < x->rank; axis++) {
        int64_t n = tensor_shape(x)[axis];
        Value args[3] = { v, v_int(inverse ? -(n / 2) : n / 2), v_int(axis) };
        if (axes >> axis & 1)
            v = op_root(c, op_call(c->in, op_named(c->in, "roll"), args, 3, 0));
    }
    return v_retain(v);
}

Value op_run_fftshift(OpCall *c) { return shifted(c, false); }
Value op_run_ifftshift(OpCall *c) { return shifted(c, true); }
