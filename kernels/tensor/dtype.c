/* Facts about dtypes: names, promotion, the parameters of parametric ones. A DType is a base of
 * dtypes.def in its low 8 bits; MINI and CMINI have the exponent's bits (4), the significand's
 * (6) and the style (2) above, DECIMAL its digits, MP its bits. */
#include "kernels/tensor/tensor.h"

#include <stdio.h>
#include <string.h>

/* Of ints: unsigned storage types begin with u. */
#define SIGN_BIT(size) ((uint64_t)1 << (8 * ((size) > 8 ? 8 : (size)) - 1))
#define LOW(ctype, letter, size) \
    ((letter) == 'i' && (ctype)[0] != 'u' ? -(int64_t)(SIGN_BIT(size) - 1) - 1 : 0)
#define HIGH(ctype, letter, size) \
    ((letter) == 'b' ? 1 : (letter) != 'i' ? 0 \
     : (int64_t)(SIGN_BIT(size) - 1 + ((ctype)[0] == 'u' ? SIGN_BIT(size) : 0)))

const DTypeInfo dtype_table[DT_COUNT + 1] = {
#define DTYPE(id, text, ctype, compute, size, letter, order) \
    [DT_##id] = { .name = #text, .bytes = size, .kind = letter, .rank = order, \
                  .half = size == 2 && sizeof(compute) == sizeof(float), \
                  .low = LOW(#ctype, letter, size), .high = HIGH(#ctype, letter, size) },
#include "kernels/tensor/dtypes.def"
#undef DTYPE
    [DT_COUNT] = { .name = "no dtype", .bytes = 1, .kind = '?' },
};

/* ---- parameters ---- */
typedef struct Mini { int e, p; MiniStyle style; } Mini;

/* The binary formats with a name; the storage dtypes among them come first. */
static const struct { const char *name; DType dtype; Mini mini; } named[] = {
    { "e4m3", DT_E4M3, { 4, 4, MINI_NAN } },  { "e5m2", DT_E5M2, { 5, 3, MINI_IEEE } },
    { "f16", DT_F16, { 5, 11, MINI_IEEE } },  { "bf16", DT_BF16, { 8, 8, MINI_IEEE } },
    { "f32", DT_F32, { 8, 24, MINI_IEEE } },  { "f64", DT_F64, { 11, 53, MINI_IEEE } },
    { "tf32", DT_MINI, { 8, 11, MINI_IEEE } }, { "e3m2", DT_MINI, { 3, 3, MINI_FINITE } },
    { "e2m3", DT_MINI, { 2, 4, MINI_FINITE } }, { "e2m1", DT_MINI, { 2, 2, MINI_FINITE } },
};
enum { NAMED = sizeof named / sizeof named[0] };

static bool mini_equal(Mini a, Mini b) { return a.e == b.e && a.p == b.p && a.style == b.style; }

static DType mini_pack(DType base, Mini m) {
    return (DType)((int)base | m.e << 8 | m.p << 12 | (int)m.style << 18);
}

static Mini mini_unpack(DType dt) {
    return (Mini){ dt >> 8 & 15, dt >> 12 & 63, (MiniStyle)(dt >> 18 & 3) };
}

DType dtype_mini(int e, int p, MiniStyle style) {
    Mini m = { e, p, style };
    for (int i = 0; i < NAMED; i++)
        if (named[i].dtype != DT_MINI && mini_equal(named[i].mini, m)) return named[i].dtype;
    return mini_pack(DT_MINI, m);
}

static bool mini_of(DType dt, Mini *m) {
    if (dtype_base(dt) == DT_MINI) {
        *m = mini_unpack(dt);
        return true;
    }
    for (int i = 0; i < NAMED; i++)
        if (named[i].dtype == dt) {
            *m = named[i].mini;
            return true;
        }
    return false;
}

bool dtype_mini_read(DType dt, int *e, int *p, MiniStyle *style) {
    Mini m;
    if (!mini_of(dt, &m)) return false;
    *e = m.e;
    *p = m.p;
    *style = m.style;
    return true;
}

DType dtype_decimal(int digits) { return (DType)(DT_DECIMAL | digits << 8); }
DType dtype_mp(int bits) { return (DType)(DT_MP | bits << 8); }

/* ---- names ---- */
static void mini_name(char *out, size_t cap, Mini m) {
    for (int i = 0; i < NAMED; i++)
        if (mini_equal(named[i].mini, m)) {
            snprintf(out, cap, "%s", named[i].name);
            return;
        }
    snprintf(out, cap, "float(%d, %d)", m.e, m.p);
}

const char *dtype_name(DType dt) {
    /* texts only: no state that anything computes with */
    static _Thread_local char ring[16][48];
    static _Thread_local unsigned next;
    DType base = dtype_base(dt);
    char *out = ring[next++ % 16], real[24];
    switch ((int)base) {
    case DT_MINI: mini_name(out, sizeof ring[0], mini_unpack(dt)); return out;
    case DT_CMINI:
        mini_name(real, sizeof real, mini_unpack(dt));
        snprintf(out, sizeof ring[0], "complex %s", real);
        return out;
    case DT_CRATIONAL: case DT_CDECIMAL: case DT_CMP: case DT_CINTERVAL:
        snprintf(out, sizeof ring[0], "complex %s", dtype_name(dtype_real(dt)));
        return out;
    case DT_DECIMAL: snprintf(out, sizeof ring[0], "decimal(%d)", dtype_digits(dt)); return out;
    case DT_MP: snprintf(out, sizeof ring[0], "mp(%d)", dtype_digits(dt)); return out;
    default: return dtype_info(dt)->name;
    }
}

DType dtype_find(const char *name, size_t len) {
    for (int dt = 0; dt < DT_COUNT; dt++) {
        bool parametric = dt == DT_MINI || dt == DT_CMINI || dt == DT_DECIMAL || dt == DT_MP
            || dtype_wide_pair((DType)dt);
        const char *text = dtype_table[dt].name;
        if (!parametric && strlen(text) == len && memcmp(text, name, len) == 0) return (DType)dt;
    }
    for (int i = 0; i < NAMED; i++)
        if (strlen(named[i].name) == len && memcmp(named[i].name, name, len) == 0)
            return mini_pack(DT_MINI, named[i].mini);
    return DT_NONE;
}

const char *dtype_listed(int i) {
    static const char *const names[] = {
        "bool", "i8", "u8", "i32", "i64", "e4m3", "e5m2", "f16", "bf16", "f32", "f64", "c64",
        "c128", "rational", "tf32", "e3m2", "e2m3", "e2m1", "interval",
    };
    return (size_t)i < sizeof names / sizeof names[0] ? names[i] : NULL;
}

bool dtype_store_int(DType dt, void *to, int64_t i) {
    memcpy(to, &i, dtype_info(dt)->bytes);
    return dtype_fits(dt, i);
}

const char *dtype_range(DType dt, char out[48]) {
    snprintf(out, 48, "%lld to %lld", (long long)dtype_info(dt)->low,
             (long long)dtype_info(dt)->high);
    return out;
}

uint16_t dtype_half_infinity(DType dt) {
    Mini m;
    return mini_of(dt, &m) ? (uint16_t)(((1 << m.e) - 1) << (m.p - 1)) : 0;
}

uint32_t dtype_device_mask(bool doubles) {
    uint32_t mask = 0;
    for (int dt = 0; dt < DT_RATIONAL; dt++)
        if (dtype_table[dt].kind != 'c' && (doubles || dt != DT_F64)) mask |= UINT32_C(1) << dt;
    return mask;
}

/* ---- real and complex ---- */
/* Formats that no C type holds, beside their complex numbers: parameters are the same. */
static const DType wide_pairs[][2] = {
    { DT_RATIONAL, DT_CRATIONAL }, { DT_DECIMAL, DT_CDECIMAL }, { DT_MP, DT_CMP },
    { DT_INTERVAL, DT_CINTERVAL },
};

/* dt with the base in column `to` for the one in the other column; dt itself where it has none. */
static DType wide_pair(DType dt, int to) {
    for (size_t i = 0; i < sizeof wide_pairs / sizeof wide_pairs[0]; i++)
        if (wide_pairs[i][!to] == dtype_base(dt))
            return (DType)((int)wide_pairs[i][to] | ((int)dt & ~0xff));
    return dt;
}

DType dtype_part(DType dt) {
    return dt == DT_C64 ? DT_F32 : dt == DT_C128 || dtype_base(dt) == DT_CMINI ? DT_F64
        : wide_pair(dt, 0);
}

DType dtype_real(DType dt) {
    if (dtype_base(dt) == DT_CMINI) {
        Mini m = mini_unpack(dt);
        return dtype_mini(m.e, m.p, m.style);
    }
    return dt == DT_C64 ? DT_F32 : dt == DT_C128 ? DT_F64 : wide_pair(dt, 0);
}

DType dtype_complex(DType dt) {
    switch (dtype_base(dt)) {
    case DT_F32: case DT_C64: return DT_C64;
    case DT_E4M3: case DT_E5M2: case DT_MINI: return dtype_complex_of(dt);
    case DT_CMINI: return dt;
    case DT_RATIONAL: case DT_DECIMAL: case DT_MP: case DT_INTERVAL: return wide_pair(dt, 1);
    case DT_CRATIONAL: case DT_CDECIMAL: case DT_CMP: case DT_CINTERVAL: return dt;
    default: return dtype_half(dt) ? DT_C64 : DT_C128;
    }
}

DType dtype_complex_of(DType real) {
    Mini m;
    if (real == DT_F32) return DT_C64;
    if (wide_pair(real, 1) != real) return wide_pair(real, 1);
    return real != DT_F64 && mini_of(real, &m) ? mini_pack(DT_CMINI, m) : DT_C128;
}

/* ---- promotion ---- */
/* Does every number of b belong to a? Exponents count from the smallest subnormal. */
static bool mini_holds(Mini a, Mini b) {
    int bias_a = (1 << (a.e - 1)) - 1, bias_b = (1 << (b.e - 1)) - 1;
    int top_a = bias_a + (a.style != MINI_IEEE), top_b = bias_b + (b.style != MINI_IEEE);
    bool specials = a.style == MINI_IEEE || a.style == b.style ||
                    (a.style == MINI_NAN && b.style == MINI_FINITE);
    return specials && a.p >= b.p && top_a >= top_b &&
           1 - bias_a - (a.p - 1) <= 1 - bias_b - (b.p - 1);
}

static DType promote_binary(DType a, DType b) {
    static const DType wider[] = { DT_F16, DT_BF16, DT_F32, DT_F64 };
    Mini x, y, z;
    if (!mini_of(a, &x) || !mini_of(b, &y)) return DT_NONE;
    if (mini_holds(x, y)) return a;
    if (mini_holds(y, x)) return b;
    for (int i = 0; i < 4; i++)
        if (mini_of(wider[i], &z) && mini_holds(z, x) && mini_holds(z, y)) return wider[i];
    return DT_F64;
}

static DType promote_mp(DType mp, DType other) {
    Mini m;
    int bits = dtype_digits(mp), least = bits;
    if (dtype_base(other) == DT_MP) least = dtype_digits(other);
    else if (mini_of(other, &m)) least = m.p;
    return dtype_mp(least > bits ? least : bits);
}

/* a ranks no higher than b, and both are real; b has more than bools and ints. */
static DType promote_real(DType a, DType b) {
    Mini m;
    bool binary = mini_of(a, &m), exact = dtype_info(a)->kind != 'f';
    switch (dtype_base(b)) {
    case DT_INTERVAL: return dtype_base(a) == DT_DECIMAL ? DT_NONE : b;
    case DT_MP: return dtype_base(a) == DT_DECIMAL ? DT_NONE : promote_mp(b, a);
    case DT_DECIMAL:
        if (dtype_base(a) == DT_DECIMAL) return dtype_digits(a) > dtype_digits(b) ? a : b;
        return exact ? b : DT_NONE;
    default: return binary && mini_of(b, &m) ? promote_binary(a, b) : b;
    }
}

DType dtype_promote(DType a, DType b) {
    if (a == b) return a;
    if (dtype_info(a)->rank > dtype_info(b)->rank) {
        DType t = a;
        a = b;
        b = t;
    }
    if (a == DT_I8 && b == DT_U8) return DT_I32;
    if (dtype_info(a)->kind == 'c' || dtype_info(b)->kind == 'c') {
        DType real = dtype_promote(dtype_real(a), dtype_real(b));
        return real == DT_NONE ? DT_NONE : dtype_complex_of(real);
    }
    return promote_real(a, b);
}
