/* Tables of elementwise inner loops, by instruction set; only ew.c chooses between them.
 * An entry whose row lacks the formula exists but is never called. */
#ifndef RICCI_KERNELS_EW_KERNELS_H
#define RICCI_KERNELS_EW_KERNELS_H

#include "kernels/tensor/cpu.h"
#include "kernels/elementwise/ew.h"

/* The scalar formulas, vectorised by the compiler. No f16 and bf16. */
extern const EwFn ew_table_base[EW_COUNT][DT_COUNT], ew_table_avx2[EW_COUNT][DT_COUNT];
/* f16 and bf16: strips computed in f32. */
EwFn ew_half_kernel(EwOp, DType half);
/* f32 and f64 transcendentals through SLEEF's vectors; NULL for other rows. */
extern const EwFn ew_table_sleef_avx2[EW_COUNT][DT_COUNT];
extern const EwFn ew_table_sleef_avx512[EW_COUNT][DT_COUNT];
/* The few that are written out here: faster, and there without SLEEF. */
extern const EwFn ew_table_vector_avx2[EW_COUNT][DT_COUNT];
extern const EwFn ew_table_vector_avx512[EW_COUNT][DT_COUNT];
/* f32 and f64 functions made of exp and log in pairs of doubles: within 1 ulp on any machine. */
extern const EwFn ew_table_composed_base[EW_COUNT][DT_COUNT];
extern const EwFn ew_table_composed_avx2[EW_COUNT][DT_COUNT],
    ew_table_composed_avx512[EW_COUNT][DT_COUNT];
/* Plain loops; transcendentals in long double. */
extern const EwFn ew_table_reference[EW_COUNT][DT_COUNT];

/* f32 one by one through the C library in f64, where its functions of floats pass 1 ulp. */
extern const EwFn ew_table_wide[EW_COUNT];
/* What ew_kernel takes on a machine of that level, with SLEEF or without. */
EwFn ew_kernel_at(EwOp, DType, CpuIsa, bool sleef);

/* Of the SLEEF library, loaded when a transcendental is first used, so that start-up does not pay
 * for it: the address of one function, "exp%s_u10" with lanes "d4" and isa "avx2" being
 * Sleef_finz_expd4_u10avx2; NULL if there is none. The finz forms give the same bits on every
 * instruction set that has FMA. */
void *ew_sleef_find(const char *pattern, const char *lanes, const char *isa);

enum { EW_STRIP = 512 };       /* elements: operands in strips stay in the first cache */

#endif
