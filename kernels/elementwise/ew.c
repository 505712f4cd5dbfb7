/* Which kernel an elementwise operation takes: dtypes in and out, the fast inner loop for
 * this machine, the reference; what integers cannot do. Running over whole tensors is ew_run.c. */
#include "kernels/elementwise/ew.h"

#include "kernels/tensor/cpu.h"
#include "kernels/elementwise/ew_kernels.h"

#include <string.h>

const EwInfo ew_info[EW_COUNT] = {
/* The text of AS("…") at the head of the designators, else NULL. */
#define AS(parts) (parts)
#define AS_TEXT(parts) 0, parts,
#define SECOND(first, second, ...) second
#define SECOND_OF(...) SECOND(__VA_ARGS__)
#define PARTS(first, ...) SECOND_OF(AS_TEXT first, NULL, NULL)
#define ROW(id, text, count, takes, res, price, real, cplx, integer, ...) \
    [EW_##id] = { .name = text, .arity = count, .result = res, .cost = price, \
                  .kinds = takes, .formula = { real, cplx, integer }, .as = PARTS(__VA_ARGS__) },
#define EW1(id, name, params, kinds, res, cost, real, cplx, integer, ...) \
    ROW(id, name, 1, kinds, res, cost, #real, #cplx, #integer, __VA_ARGS__)
#define EW2(id, name, params, kinds, res, cost, real, cplx, integer, ...) \
    ROW(id, name, 2, kinds, res, cost, #real, #cplx, #integer, __VA_ARGS__)
#define EW3(id, name, params, kinds, res, cost, real, cplx, integer, ...) \
    ROW(id, name, 3, kinds, res, cost, #real, #cplx, #integer, __VA_ARGS__)
#include "builtins/arrays/elementwise.def"
#undef EW1
#undef EW2
#undef EW3
#undef ROW
#undef PARTS
#undef SECOND_OF
#undef SECOND
#undef AS_TEXT
#undef AS
};

/* In units of one addition in a vector program, from the order of magnitude, and in ns per element
 * of f64. */
static const struct { float weight; double ns; } costs[] = {
    [COST_ADD] = { 1, 0.2 },    [COST_ROUND] = { 3, 0.3 },    [COST_DIVIDE] = { 3, 1 },
    [COST_MOD] = { 8, 6 },      [COST_EXP] = { 8, 1.6 },      [COST_SIN] = { 8, 2.5 },
    [COST_FUNCTION] = { 8, 5 }, [COST_POWER] = { 12, 9 },     [COST_ERF] = { 12, 5 },
    [COST_GAMMA] = { 40, 5 },
};

bool ew_rough(EwOp op)
{
    return ew_info[op].cost & COST_ROUGH;
}

float ew_weight(EwOp op, DType compute)
{
    int cost = ew_info[op].cost & ~COST_ROUGH;
    return costs[cost].weight * (dtype_info(compute)->kind == 'c' ? 3 : 1);
}

double ew_seconds(EwOp op, DType compute)
{
    double ns = costs[ew_info[op].cost & ~COST_ROUGH].ns;
    if (dtype_info(compute)->kind == 'c')
        ns = ns > 0.5 ? 20 : 0.5;
    return (dtype_half(compute) ? ns + 1 : ns * dtype_info(compute)->bytes / 8) * 1e-9;
}

static bool has_formula(EwOp op, DType dt) {
    char kind = dtype_info(dt)->kind;
    return strcmp(ew_info[op].formula[kind == 'f' ? 0 : kind == 'c' ? 1 : 2], "NONE") != 0;
}

DType ew_compute_dtype(EwOp op, DType dt) {
    const EwInfo *info = &ew_info[op];
    char kind = dtype_info(dt)->kind;
    bool whole = kind == 'b' || kind == 'i';
    if (!strchr(info->kinds, kind)) return DT_NONE;
    if (whole && (info->result == RES_FLOAT || !has_formula(op, dt))) dt = DT_F64;
    else if (kind == 'b' && (info->result == RES_SAME || info->result == RES_REAL)) dt = DT_I64;
    return has_formula(op, dt) ? dt : DT_NONE;
}

DType ew_result_dtype(EwOp op, DType compute) {
    switch (ew_info[op].result) {
    case RES_BOOL: return DT_BOOL;
    case RES_REAL: return dtype_real(compute);
    default: return compute;
    }
}

EwFn ew_reference(EwOp op, DType dt) {
    if (dtype_half(dt)) return ew_half_kernel(op, dt);
    EwFn wide = ew_table_reference[op][dt];
    return wide ? wide : ew_table_base[op][dt];
}

EwFn ew_kernel_at(EwOp op, DType dt, CpuIsa isa, bool sleef) {
    EwFn fn = NULL;
    if (dtype_half(dt)) return ew_half_kernel(op, dt);
#ifdef __x86_64__
    if (isa >= ISA_AVX2) {
        bool wide = isa == ISA_AVX512;
        fn = (wide ? ew_table_vector_avx512 : ew_table_vector_avx2)[op][dt];
        if (!fn && sleef) fn = (wide ? ew_table_sleef_avx512 : ew_table_sleef_avx2)[op][dt];
        if (!fn) fn = (wide ? ew_table_composed_avx512 : ew_table_composed_avx2)[op][dt];
    }
#endif
    (void)sleef;
    if (!fn && isa == ISA_BASE) fn = ew_table_composed_base[op][dt];
    if (!fn && dt == DT_F32) fn = ew_table_wide[op];
    return fn ? fn : isa == ISA_BASE ? ew_table_base[op][dt] : ew_table_avx2[op][dt];
}

EwFn ew_kernel(EwOp op, DType dt) {
#ifdef RICCI_HOSTILE
    return ew_reference(op, dt);
#endif
    return ew_kernel_at(op, dt, cpu_isa(), cpu_isa() >= ISA_AVX2 && ew_vector_math());
}

/* ---- what integers cannot do ---- */

static bool any_zero(DType dt, const void *x, int64_t s, int64_t n) {
    bool zero = false;
    switch (dtype_info(dt)->bytes) {
    case 1: for (int64_t i = 0; i < n; i++) zero |= ((const int8_t *)x)[i * s] == 0; break;
    case 4: for (int64_t i = 0; i < n; i++) zero |= ((const int32_t *)x)[i * s] == 0; break;
    default: for (int64_t i = 0; i < n; i++) zero |= ((const int64_t *)x)[i * s] == 0; break;
    }
    return zero;
}

static bool any_negative(DType dt, const void *x, int64_t s, int64_t n) {
    bool negative = false;
    if (dt == DT_U8) return false;
    switch (dtype_info(dt)->bytes) {
    case 1: for (int64_t i = 0; i < n; i++) negative |= ((const int8_t *)x)[i * s] < 0; break;
    case 4: for (int64_t i = 0; i < n; i++) negative |= ((const int32_t *)x)[i * s] < 0; break;
    default: for (int64_t i = 0; i < n; i++) negative |= ((const int64_t *)x)[i * s] < 0; break;
    }
    return negative;
}

EwTrouble ew_find_trouble(EwOp op, DType compute, const void *y, int64_t s, int64_t n) {
    if (s == 0) n = 1;
    if (ew_divides(op))
        return any_zero(compute, y, s, n) ? EWT_DIVZERO : EWT_NONE;
    if (!any_negative(compute, y, s, n)) return EWT_NONE;
    return op == EW_POWER ? EWT_INT_POWER : EWT_SHIFT;
}
