/* What makes OpenCL C 1.2 and CUDA C++ one language for generated kernels: names of types,
 * positions and barriers, 16-bit floats by their bits, and the functions of elementwise rows,
 * whose bodies are the rows' own formulas (builtins/arrays/elementwise.def) over a few helpers that
 * restate kernels/elementwise/ew_real.tmpl.h and ew_integer.tmpl.h. Only what a kernel uses is in
 * its text. */
#include "kernels/gpu/gpu_source.h"

#include <string.h>

/* ---- the two languages ---- */
static const char opencl_names[] =
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "#define KERNEL __kernel\n#define GLOBAL __global\n#define LOCAL __local\n#define FN static\n"
    "#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)\n"
    "#define ID(d) get_local_id(d)\n#define SIZE(d) get_local_size(d)\n"
    "#define GROUP(d) get_group_id(d)\n#define GROUPS(d) get_num_groups(d)\n"
    "typedef char i8;\ntypedef uchar u8;\ntypedef ushort u16;\ntypedef int i32;\ntypedef uint "
    "u32;\n"
    "typedef long i64;\ntypedef ulong u64;\ntypedef float f32;\n"
    "#define BITS_F32(x) as_uint(x)\n#define F32_OF(x) as_float(x)\n"
    "#define BITS_F64(x) as_long(x)\n#define F64_OF(x) as_double(x)\n"
    "#define RAISE(flag) atomic_max((volatile GLOBAL int *)(flag), trouble)\n";

static const char cuda_names[] =
    "#define KERNEL extern \"C\" __global__\n#define GLOBAL\n#define LOCAL __shared__\n"
    "#define FN static __device__ inline\n#define BARRIER __syncthreads()\n"
    "#define DIMENSION(of, d) ((d) == 0 ? of.x : (d) == 1 ? of.y : of.z)\n"
    "#define ID(d) DIMENSION(threadIdx, d)\n#define SIZE(d) DIMENSION(blockDim, d)\n"
    "#define GROUP(d) DIMENSION(blockIdx, d)\n#define GROUPS(d) DIMENSION(gridDim, d)\n"
    "typedef signed char i8;\ntypedef unsigned char u8;\ntypedef unsigned short u16;\ntypedef int "
    "i32;\n"
    "typedef unsigned int u32;\ntypedef long long i64;\ntypedef unsigned long long u64;\ntypedef "
    "float f32;\n"
    "#define BITS_F32(x) __float_as_uint(x)\n#define F32_OF(x) __uint_as_float(x)\n"
    "#define BITS_F64(x) __double_as_longlong(x)\n#define F64_OF(x) __longlong_as_double(x)\n"
    "#define RAISE(flag) atomicMax((int *)(flag), trouble)\n"
    "#ifndef INFINITY\n#define INFINITY __int_as_float(0x7f800000)\n#endif\n"
    "#ifndef NAN\n#define NAN __int_as_float(0x7fffffff)\n#endif\n";

static const char common_names[] =
    "#define TROUBLE(kind) trouble = trouble > (kind) ? trouble : (kind)\n"
    "#define CARRY(T, a, e, x) { const T t_ = a + x, z_ = t_ - a; e += (a - (t_ - z_)) + (x - z_); "
    "a = t_; }\n"
    "#define I64_MOST ((i64)0x7fffffffffffffff)\n#define I64_LEAST (-I64_MOST - 1)\n";

/* ---- 16-bit floats: see kernels/tensor/cast.c ---- */
static const char f16_bits_text[] =
    "FN f32 f16_value(u16 h) {\n"
    "    const u32 sign = (u32)(h & 0x8000) << 16, rest = h & 0x7fff;\n"
    "    if (rest >= 0x7c00) return F32_OF(sign | 0x7f800000u | (rest & 0x3ff) << 13);\n"
    "    if (rest >= 0x0400) return F32_OF(sign | ((rest << 13) + (112u << 23)));\n"
    "    const f32 tiny = (f32)rest * 5.9604644775390625e-8f;\n"
    "    return sign ? -tiny : tiny;\n"
    "}\n"
    "FN u16 f16_bits(f32 f) {\n"
    "    const u32 bits = BITS_F32(f), sign = bits >> 16 & 0x8000;\n"
    "    u32 rest = bits & 0x7fffffff;\n"
    "    if (rest > 0x7f800000u) return (u16)(sign | 0x7e00);\n"
    "    if (rest >= 0x477ff000u) return (u16)(sign | 0x7c00);\n"
    "    if (rest < 0x38800000u) return (u16)(sign | (BITS_F32(F32_OF(rest) + 0.5f) - "
    "0x3f000000u));\n"
    "    rest += 0xfff + (rest >> 13 & 1);\n"
    "    return (u16)(sign | ((rest - (112u << 23)) >> 13));\n"
    "}\n";
static const char f16_instructions[] =
    "FN f32 f16_value(u16 h) { f32 f; asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(f) : \"h\"(h)); return "
    "f; }\n"
    "FN u16 f16_bits(f32 f) { u16 h; asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(f)); "
    "return h; }\n";
static const char f16_text[] =
    "FN f32 round_f16(f32 f) { return f16_value(f16_bits(f)); }\n"
    "FN f32 f16_of_i64(i64 i) { return round_f16((f32)(i > 70000 ? 70000 : i < -70000 ? -70000 : "
    "i)); }\n";

static const char bf16_text[] =
    "FN f32 bf16_value(u16 h) { return F32_OF((u32)h << 16); }\n"
    "FN u16 bf16_bits(f32 f) {\n"
    "    const u32 bits = BITS_F32(f);\n"
    "    return (u16)(f == f ? (bits + 0x7fff + (bits >> 16 & 1)) >> 16 : (bits >> 16 | 0x40));\n"
    "}\n"
    "FN f32 round_bf16(f32 f) { return bf16_value(bf16_bits(f)); }\n"
    /* A second rounding to 8 bits is right when the first one, to 24, was to odd. */
    "FN f32 bf16_of_i64(i64 i) {\n"
    "    u64 m = i < 0 ? 0 - (u64)i : (u64)i, cut = 0;\n"
    "    f32 scale = 1;\n"
    "    for (; m >> 24; m >>= 1) { cut |= m & 1; scale *= 2; }\n"
    "    const f32 f = (f32)(m | cut) * scale;\n"
    "    return round_bf16(i < 0 ? -f : f);\n"
    "}\n";

/* Rounding to odd: see f64_to_f32_odd in kernels/tensor/cast.c. */
static const char odd_text[] =
    "FN f32 odd_f32(f64 d) {\n"
    "    const f32 f = (f32)d;\n"
    "    const u32 bits = BITS_F32(f);\n"
    "    if ((f64)f == d || d != d || (bits & 1)) return f;\n"
    "    const bool above = (f < 0 ? -d : d) > (f < 0 ? -(f64)f : (f64)f);\n"
    "    if (f == 0) return F32_OF(d < 0 ? 0x80000001u : 1u);\n"
    "    return F32_OF(above ? bits + 1 : bits - 1);\n"
    "}\n";

/* The neighbour of x on the way to y, by its bits. */
#define NEXT_HALF(half) \
    "FN f32 next_" half "(f32 x, f32 y) {\n" \
    "    if (x != x || y != y) return x + y;\n" \
    "    if (x == y) return y;\n" \
    "    if (x == 0) return " half "_value((u16)(y > 0 ? 1 : 0x8001));\n" \
    "    return " half "_value((u16)(" half "_bits(x) + ((x < y) == (x > 0) ? 1 : -1)));\n" \
    "}\n"

/* ---- helpers of formulas ---- */
typedef struct Helper {
    const char *mark;           /* in a formula: the helper is wanted */
    const char *real, *whole;
} Helper;

static const Helper helpers[] = {
    { "MODULO(",
      "FN T N(modulo)(T x, T y) {\n"
      "    const T r = fmod(x, y);\n"
      "    if (r == 0) return copysign((T)0, y);\n"
      "    return (y < 0) != (r < 0) ? r + y : r;\n"
      "}\n",
      "FN T N(modulo)(T x, T y) {\n"
      "    if (y == 0 || (y == (T)-1 && (T)-1 < 0)) return 0;\n"
      "    const T r = (T)(x % y);\n"
      "    return (T)(r != 0 && (r < 0) != (y < 0) ? r + y : r);\n"
      "}\n" },
    { "FLOORDIV(",
      "FN T N(floordiv)(T x, T y) {\n"
      "    if (y == 0) return x / y;\n"
      "    const T r = fmod(x, y);\n"
      "    T q = (x - r) / y;\n"
      "    if (r != 0 && (y < 0) != (r < 0)) q -= 1;\n"
      "    if (q == 0) return copysign((T)0, x / y);\n"
      "    const T down = floor(q);\n"
      "    return q - down > (T)0.5f ? down + 1 : down;\n"
      "}\n",
      "FN T N(floordiv)(T x, T y) {\n"
      "    if (y == 0) return 0;\n"
      "    if (y == (T)-1 && (T)-1 < 0) return (T)(0 - WRAP(x));\n"
      "    const T q = (T)(x / y);\n"
      "    return (T)(x % y != 0 && (x < 0) != (y < 0) ? q - 1 : q);\n"
      "}\n" },
    { "POWER(",
      "FN T N(powers)(T x, T y) { return y == 2 ? x * x : pow(x, y); }\n",
      "FN T N(powers)(T x, T y) {\n"
      "    W power = 1, base = WRAP(x);\n"
      "    if (y < 0) return (T)(x == 1 ? 1 : x == (T)-1 ? (y & 1 ? -1 : 1) : 0);\n"
      "    for (; y; y = (T)(y >> 1)) {\n"
      "        if (y & 1) power = (W)(power * base);\n"
      "        base = (W)(base * base);\n"
      "    }\n"
      "    return (T)power;\n"
      "}\n" },
    { "CLAMP(",
      "FN T N(clamped)(T x, T lo, T hi) {\n"
      "    const T m = x > lo || x != x ? x : lo;\n"
      "    return m < hi || m != m ? m : hi;\n"
      "}\n",
      "FN T N(clamped)(T x, T lo, T hi) {\n"
      "    const T m = x > lo ? x : lo;\n"
      "    return m < hi ? m : hi;\n"
      "}\n" },
    { "SHIFT_LEFT(", NULL,
      "FN T N(shift_left)(T x, T y) {\n"
      "    return y < 0 || y >= (T)(8 * sizeof(T)) ? 0 : (T)(WRAP(x) << y);\n"
      "}\n" },
    { "SHIFT_RIGHT(", NULL,
      "FN T N(shift_right)(T x, T y) {\n"
      "    if (y < 0) return 0;\n"
      "    return (T)(y >= (T)(8 * sizeof(T)) ? (x < 0 ? -1 : 0) : x >> y);\n"
      "}\n" },
    { "SIGMOID(",
      "FN T N(sigmoid)(T x) {\n"
      "    const T e = exp(-fabs(x));\n"
      "    return (x >= 0 ? 1 : e) / (1 + e);\n"
      "}\n", NULL },
    { "SOFTPLUS(",
      "FN T N(softplus)(T x) { return (x > 0 || x != x ? x : 0) + log1p(exp(-fabs(x))); }\n",
      NULL },
    /* erfc is steep where it is small: what x/sqrt(2) lost is put back by its derivative. */
    { "GELU(",
      "FN T N(gelu)(T x) {\n"
      "    if (x == -(T)INFINITY) return -(T)0;\n"
      "    const T t = x * ROOT_HALF, lost = fma(x, ROOT_HALF, -t) + x * ROOT_HALF_REST;\n"
      "    const T e = erfc(-t) + (T)1.1283791670955126f * exp(-t * t) * lost;\n"
      "    return x / 2 * (e - e == 0 ? e : erfc(-t));\n"
      "}\n", NULL },
    { "GAMMA(",             /* and LGAMMA */
      "FN T N(real_gamma)(T x) { return x < 0 && floor(x) == x ? (T)NAN : tgamma(x); }\n", NULL },
    { "LDEXP(",
      "FN T N(scaled)(T x, T y) {\n"
      "    if (y - y != 0) return x * exp2(y);\n"
      "    const T n = fabs(x) > 1 ? ceil(y) : floor(y);\n"
      "    const int by = n > 5000 ? 5000 : n < -5000 ? -5000 : (int)n;\n"
      "    if (y == n) return ldexp(x, by);\n"
      "    if (fabs(x) > 1) return ldexp(x * exp2(y - n), by);\n"
      "    return ldexp(ldexp(x, 64) * exp2(y - n), by - 64);\n"
      "}\n", NULL },
    { "nextafter(",
      "FN T N(next)(T x, T y) {\n"
      "    if (x != x || y != y) return x + y;\n"
      "    if (x == y) return y;\n"
      "    if (x == 0) return y > 0 ? OF_BITS((B)1) : -OF_BITS((B)1);\n"
      "    return OF_BITS((B)(BITS(x) + ((x < y) == (x > 0) ? 1 : -1)));\n"
      "}\n", NULL },
};

static const char formula_names[] =
    "#define NAME(f, t) f##_##t\n"
    "#define MODULO(x, y) N(modulo)(x, y)\n#define FLOORDIV(x, y) N(floordiv)(x, y)\n"
    "#define POWER(x, y) N(powers)(x, y)\n#define CLAMP(x, lo, hi) N(clamped)(x, lo, hi)\n"
    "#define SHIFT_LEFT(x, y) N(shift_left)(x, y)\n#define SHIFT_RIGHT(x, y) N(shift_right)(x, y)\n"
    "#define SIGMOID(x) N(sigmoid)(x)\n#define SOFTPLUS(x) N(softplus)(x)\n#define GELU(x) "
    "N(gelu)(x)\n"
    "#define GAMMA(x) N(real_gamma)(x)\n#define LGAMMA(x) lgamma(x)\n#define ERFC(x) erfc(x)\n"
    "#define LDEXP(x, y) N(scaled)(x, y)\n";

static const char *const real_names[] = {
    "#define BITS(x) BITS_F32(x)\n#define OF_BITS(x) F32_OF(x)\n#define B u32\n"
    "#define ROOT_HALF 0.70710678f\n#define ROOT_HALF_REST 1.2101617e-08f\n",
    "#define BITS(x) BITS_F64(x)\n#define OF_BITS(x) F64_OF(x)\n#define B i64\n"
    "#define ROOT_HALF 0.70710678118654752440\n#define ROOT_HALF_REST -4.8336466567264567e-17\n",
};

/* Single-precision library functions whose error may reach 4 ulp (CUDA C++ Programming Guide,
 * Mathematical Functions; OpenCL 1.2, table 7.4) are computed in f64 where the device has it. */
static bool widens(const GpuSource *s, EwOp op)
{
    return ew_rough(op) && s->dtypes >> DT_F64 & 1;
}

/* ---- dtypes ---- */
static const char *const value_types[DT_COUNT] = {
    [DT_BOOL] = "u8", [DT_I8] = "i8", [DT_U8] = "u8", [DT_I32] = "i32", [DT_I64] = "i64",
    [DT_F16] = "f32", [DT_BF16] = "f32", [DT_F32] = "f32", [DT_F64] = "f64",
};

const char *gpu_type(DType dt) { return value_types[dt]; }

const char *gpu_extreme(DType dt, bool least)
{
    switch (dt) {
    case DT_I8: return least ? "-128" : "127";
    case DT_U8: return least ? "0" : "255";
    case DT_I32: return least ? "(-2147483647 - 1)" : "2147483647";
    case DT_I64: return least ? "I64_LEAST" : "I64_MOST";
    case DT_BOOL: return least ? "0" : "1";
    default: return least ? "-INFINITY" : "INFINITY";
    }
}

const char *gpu_stored(DType dt) { return dtype_half(dt) ? "u16" : value_types[dt]; }
DType gpu_runs_in(DType dt) { return dtype_computed(dt); }

void gpu_loaded(Buf *b, DType dt, const char *x)
{
    if (gpu_runs_in(dt) != dt)
        buf_printf(b, "%s_value(%s)", dtype_name(dt), x);
    else
        buf_puts(b, x);
}

void gpu_kept(Buf *b, DType dt, const char *x)
{
    if (gpu_runs_in(dt) != dt)
        buf_printf(b, "%s_bits(%s)", dtype_name(dt), x);
    else
        buf_puts(b, x);
}

void gpu_cast(GpuSource *s, Buf *b, DType to, DType from, const char *x)
{
    bool whole = dtype_info(from)->kind != 'f';
    s->seen |= 1u << to | 1u << from;
    if (to == from)
        buf_puts(b, x);
    else if (to == DT_BOOL)
        buf_printf(b, "(u8)(%s != 0)", x);
    else if (!dtype_half(to))
        buf_printf(b, "(%s)%s", gpu_type(to), x);
    else if (whole)
        buf_printf(b, "%s_of_i64((i64)%s)", dtype_name(to), x);
    else
        buf_printf(b, from == DT_F64 ? "round_%s(odd_f32(%s))" : "round_%s(%s)", dtype_name(to), x);
}

/* ---- functions of rows ---- */
static const char *formula_of(EwOp op, DType dt)
{
    return ew_info[op].formula[dtype_info(dt)->kind == 'f' ? 0 : 2];
}

/* `T x, T y`; a condition is a bool. */
static void write_function(const GpuSource *s, Buf *b, EwOp op, DType dt)
{
    static const char *const names[] = { "x", "y", "z" };
    const EwInfo *info = &ew_info[op];
    const char *type = info->result == RES_BOOL ? "u8" : "T";
    buf_printf(b, "FN %s ew_%s_%s(", type, info->name, dtype_name(dt));
    for (int k = 0; k < info->arity; k++)
        buf_printf(b, "%s%s %s", k ? ", " : "",
                   k == 0 && info->result == RES_WHERE ? "u8" : "T", names[k]);
    if (dt == DT_F32 && widens(s, op)) {
        buf_printf(b, ") { return (T)ew_%s_f64(", info->name);
        for (int k = 0; k < info->arity; k++)
            buf_printf(b, "%s(f64)%s", k ? ", " : "", names[k]);
        buf_puts(b, "); }\n");
    } else if (op == EW_NEXTAFTER) {
        buf_puts(b, ") { return N(next)(x, y); }\n");
    } else {
        buf_printf(b, ") { return (%s)(%s); }\n", type, formula_of(op, dt));
    }
}

static bool calls(const GpuSource *s, EwOp op, DType dt) { return s->functions[op] >> dt & 1; }

static void write_dtype(const GpuSource *s, Buf *b, DType dt)
{
    bool real = dtype_info(dt)->kind == 'f', any = false;
    for (int op = 0; op < EW_COUNT; op++)
        any |= calls(s, (EwOp)op, dt);
    if (!any)
        return;
    const char *name = dtype_name(dt);
    static const char *const wraps[DT_COUNT] = {
        [DT_BOOL] = "u8", [DT_I8] = "u8", [DT_U8] = "u8", [DT_I32] = "u32", [DT_I64] = "u64",
    };
    buf_printf(b, "#define T %s\n#define N(f) NAME(f, %s)\n", gpu_type(dt),
               dt == DT_BOOL ? "boolean" : name);
    if (real)
        buf_puts(b, real_names[dt == DT_F64]);
    else
        buf_printf(b, "#define W %s\n#define WRAP(x) ((W)(x))\n#define IS_BOOL %d\n", wraps[dt],
                   dt == DT_BOOL);
    for (size_t h = 0; h < sizeof helpers / sizeof *helpers; h++) {
        bool wanted = false;
        for (int op = 0; op < EW_COUNT; op++)
            wanted |= calls(s, (EwOp)op, dt) && strstr(formula_of((EwOp)op, dt), helpers[h].mark) &&
                      !(dt == DT_F32 && widens(s, (EwOp)op));
        const char *text = real ? helpers[h].real : helpers[h].whole;
        if (wanted && text)
            buf_puts(b, text);
    }
    for (int op = 0; op < EW_COUNT; op++)
        if (calls(s, (EwOp)op, dt))
            write_function(s, b, (EwOp)op, dt);
    buf_puts(b, real
             ? "#undef BITS\n#undef OF_BITS\n#undef B\n#undef ROOT_HALF\n#undef ROOT_HALF_REST\n"
                     : "#undef W\n#undef WRAP\n#undef IS_BOOL\n");
    buf_puts(b, "#undef T\n#undef N\n");
}

static void write_functions(GpuSource *s, Buf *b)
{
    static const DType order[] = { DT_BOOL, DT_I8, DT_U8, DT_I32, DT_I64, DT_F64, DT_F32 };
    bool any = false;
    for (int op = 0; op < EW_COUNT; op++)
        any |= s->functions[op] != 0;
    if (any)
        buf_puts(b, formula_names);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        write_dtype(s, b, order[i]);
}

/* ---- the whole ---- */
static void gpu_prelude_plain(Buf *b, unsigned caps, bool f64, bool wide)
{
    bool cuda = caps & DEVCAP_CUDA;
    if (f64 && !cuda)
        buf_puts(b, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n");
    buf_puts(b, cuda ? cuda_names : opencl_names);
    if (f64)
        buf_puts(b, "typedef double f64;\n");
    buf_puts(b, common_names);
    buf_puts(b, wide ? "typedef i64 idx;\ntypedef u64 uidx;\n"
                     : "typedef i32 idx;\ntypedef u32 uidx;\n");
}

static void write_halves(const GpuSource *s, Buf *b)
{
    bool f16 = s->seen >> DT_F16 & 1, bf16 = s->seen >> DT_BF16 & 1, cuda = s->caps & DEVCAP_CUDA;
    if (f16) {
        buf_puts(b, cuda ? f16_instructions : f16_bits_text);
        buf_puts(b, f16_text);
        buf_puts(b, NEXT_HALF("f16"));
    }
    if (bf16) {
        buf_puts(b, bf16_text);
        buf_puts(b, NEXT_HALF("bf16"));
    }
    if ((f16 || bf16) && s->seen >> DT_F64 & 1)
        buf_puts(b, odd_text);
}

/* Not sin and cos: PoCL 3.1 gives 0.008 for a denormal beside a large argument. */
bool gpu_has_vectors(EwOp op)
{
    switch (op) {
    case EW_EXP: case EW_EXPM1: case EW_LOG: case EW_LOG2: case EW_LOG10: case EW_LOG1P:
    case EW_CBRT:
    case EW_TANH: case EW_ASIN: case EW_ACOS: case EW_ATAN:
        return true;
    default:
        return false;
    }
}

/* Several where little is done at each: their loads are under way together. */
int gpu_per(const GpuForm *f)
{
    int steps = 0;
    for (int i = 0; i < GPU_NODES && f->n && i < f->n->nodes; i++)
        steps += f->used[i] && f->n->node[i].kind == NEST_EW;
    bool narrow = f->n && dtype_info(f->n->node[f->n->root].dtype)->bytes <= 2;
    return f->reduces || steps > 12 ? 1 : narrow ? 8 : 4;
}

void gpu_prelude(GpuSource *s, Buf *b)
{
    for (int op = 0; op < EW_COUNT; op++)
        if (calls(s, (EwOp)op, DT_F32) && widens(s, (EwOp)op)) {
            s->functions[op] |= 1u << DT_F64;
            s->seen |= 1u << DT_F64;
        }
    gpu_prelude_plain(b, s->caps, s->seen >> DT_F64 & 1, s->form->wide);
    buf_printf(b, "#define PER %d\n#define UNROLL _Pragma(\"unroll\")\n", gpu_per(s->form));
    write_halves(s, b);
    write_functions(s, b);
}
