/* Elementwise kernels of one instruction set: every row of elementwise.def for every
 * compute dtype. Included by ew_base.c and ew_avx2.c with EW_TABLE, the name of the table
 * to define. The loops are real functions (ew_loop.tmpl.h); a row only supplies the
 * scalar formula that is inlined into them. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-math-errno", "no-trapping-math")
#endif
#pragma GCC diagnostic ignored "-Wtype-limits"

#include "kernels/elementwise/ew.h"
#include "kernels/elementwise/ew_kernels.h"

#include <string.h>
#include <tgmath.h>

#ifdef __clang__
#define IVDEP _Pragma("clang loop vectorize(assume_safety)")
#pragma clang diagnostic ignored "-Wpass-failed"      /* formulas that are calls stay loops */
#else
#define IVDEP _Pragma("GCC ivdep")
#endif

#define KIND_BOOL 0
#define KIND_INT 1
#define KIND_REAL 2
#define KIND_COMPLEX 3

#define T uint8_t
#define T_REAL uint8_t
#define T_WRAP uint32_t
#define KIND KIND_BOOL
#define N(f) f##_BOOL
#include "kernels/elementwise/ew_dtype.tmpl.h"

#define T int8_t
#define T_REAL int8_t
#define T_WRAP uint32_t
#define KIND KIND_INT
#define N(f) f##_I8
#include "kernels/elementwise/ew_dtype.tmpl.h"

#define T uint8_t
#define T_REAL uint8_t
#define T_WRAP uint32_t
#define KIND KIND_INT
#define N(f) f##_U8
#include "kernels/elementwise/ew_dtype.tmpl.h"

#define T int32_t
#define T_REAL int32_t
#define T_WRAP uint32_t
#define KIND KIND_INT
#define N(f) f##_I32
#include "kernels/elementwise/ew_dtype.tmpl.h"

#define T int64_t
#define T_REAL int64_t
#define T_WRAP uint64_t
#define KIND KIND_INT
#define N(f) f##_I64
#include "kernels/elementwise/ew_dtype.tmpl.h"

#define T float
#define T_REAL float
#define T_WIDE double
#define KIND KIND_REAL
#define N(f) f##_F32
#include "kernels/elementwise/ew_dtype.tmpl.h"

#define T double
#define T_REAL double
#define T_WIDE long double
#define KIND KIND_REAL
#define N(f) f##_F64
#include "kernels/elementwise/ew_dtype.tmpl.h"

#define T float _Complex
#define T_REAL float
#define T_WIDE double _Complex
#define KIND KIND_COMPLEX
#define N(f) f##_C64
#include "kernels/elementwise/ew_dtype.tmpl.h"

#define T double _Complex
#define T_REAL double
#define T_WIDE long double _Complex
#define KIND KIND_COMPLEX
#define N(f) f##_C128
#include "kernels/elementwise/ew_dtype.tmpl.h"

const EwFn EW_TABLE[EW_COUNT][DT_COUNT] = {
#define EW1(id, ...) [EW_##id] = { [DT_BOOL] = ew_##id##_BOOL, [DT_I8] = ew_##id##_I8, \
    [DT_U8] = ew_##id##_U8, [DT_I32] = ew_##id##_I32, [DT_I64] = ew_##id##_I64, \
    [DT_F32] = ew_##id##_F32, [DT_F64] = ew_##id##_F64, [DT_C64] = ew_##id##_C64, \
    [DT_C128] = ew_##id##_C128 },
#define EW2 EW1
#define EW3 EW1
#include "builtins/arrays/elementwise.def"
#undef EW1
#undef EW2
#undef EW3
};
