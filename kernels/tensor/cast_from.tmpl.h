/* All conversions from one dtype: FROM, FROM_KIND and, of halves, FROM_LOAD are
 * set by cast.c. */
#define TO BOOL
#define TO_KIND KIND_BOOL
#include "kernels/tensor/cast.tmpl.h"
#define TO I8
#define TO_KIND KIND_INT
#define TO_MIN INT8_MIN
#define TO_MAX INT8_MAX
#include "kernels/tensor/cast.tmpl.h"
#define TO U8
#define TO_KIND KIND_INT
#define TO_MIN 0
#define TO_MAX UINT8_MAX
#include "kernels/tensor/cast.tmpl.h"
#define TO I32
#define TO_KIND KIND_INT
#define TO_MIN INT32_MIN
#define TO_MAX INT32_MAX
#include "kernels/tensor/cast.tmpl.h"
#define TO I64
#define TO_KIND KIND_INT
#define TO_MIN INT64_MIN
#define TO_MAX INT64_MAX
#include "kernels/tensor/cast.tmpl.h"
#define EACH_HALF "kernels/tensor/cast.tmpl.h"
#include "kernels/tensor/each_half.h"
#define TO F32
#define TO_KIND KIND_FLOAT
#include "kernels/tensor/cast.tmpl.h"
#define TO F64
#define TO_KIND KIND_FLOAT
#include "kernels/tensor/cast.tmpl.h"
#define TO C64
#define TO_KIND KIND_COMPLEX
#include "kernels/tensor/cast.tmpl.h"
#define TO C128
#define TO_KIND KIND_COMPLEX
#include "kernels/tensor/cast.tmpl.h"
#undef FROM
#undef FROM_KIND
#undef FROM_LOAD
