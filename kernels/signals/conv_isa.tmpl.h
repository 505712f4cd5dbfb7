/* The loops of convolution for one instruction set: included by conv_base.c, conv_avx2.c
 * and conv_avx512.c with ISA (the table's name) and VECTOR (bytes of a register). */
#include "kernels/signals/conv.h"

#define T float
#define NAME(f) f32_##f
#include "kernels/signals/conv_real.tmpl.h"

#define T double
#define NAME(f) f64_##f
#include "kernels/signals/conv_real.tmpl.h"

#define T uint64_t
#define NAME(f) i64_##f
#include "kernels/signals/conv_real.tmpl.h"

#define REAL float
#define NAME(f) c64_##f
#include "kernels/signals/conv_complex.tmpl.h"

#define REAL double
#define NAME(f) c128_##f
#include "kernels/signals/conv_complex.tmpl.h"

const ConvRow ISA[CONV_KINDS] = { f32_row, f64_row, c64_row, c128_row, i64_row };
