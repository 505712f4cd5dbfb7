/* One block of attention for one real type T with the tag TAG. Included by attention_isa.tmpl.h. */
#define FN(f) GLUE(f, TAG)
#define V GLUE(Vec, TAG)
#define VI GLUE(VecI, TAG)
#define LANES (VECTOR_BYTES / REAL_BYTES)
#define PANEL (TILE_VECTORS * LANES)
enum { FN(together) = PANEL };
#include "kernels/gemm/small_turn.tmpl.h"

/* ---- vectors ---- */
#include "kernels/gemm/vector_lanes.tmpl.h"
/* where the mask is set a, else b */
ALWAYS V FN(pick)(VI mask, V a, V b) { return (V)(((VI)a & mask) | ((VI)b & ~mask)); }

/* The greater one; b where either is nan. */
ALWAYS V FN(greater)(V a, V b)
{
#if defined(__AVX512F__) && !defined(DOUBLE)
    return (V)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX512F__)
    return (V)_mm512_max_pd((__m512d)a, (__m512d)b);
#elif defined(__AVX2__) && !defined(DOUBLE)
    return (V)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__AVX2__)
    return (V)_mm256_max_pd((__m256d)a, (__m256d)b);
#else
    return FN(pick)(a > b, a, b);
#endif
}

/* a where x < y, else b */
ALWAYS V FN(where_less)(V x, V y, V a, V b)
{
#if defined(__AVX512F__) && !defined(DOUBLE)
    __mmask16 m = _mm512_cmp_ps_mask((__m512)x, (__m512)y, _CMP_LT_OQ);
    return (V)_mm512_mask_blend_ps(m, (__m512)b, (__m512)a);
#elif defined(__AVX512F__)
    __mmask8 m = _mm512_cmp_pd_mask((__m512d)x, (__m512d)y, _CMP_LT_OQ);
    return (V)_mm512_mask_blend_pd(m, (__m512d)b, (__m512d)a);
#else
    return FN(pick)(x < y, a, b);
#endif
}

/* e^x for x up to a little above 0, to about an ulp; 0 where that would be below the normal
 * numbers. nan stays. After Cephes (S. Moshier). */
ALWAYS V FN(exp)(V x)
{
#ifdef DOUBLE
    const T least = -708, most = 709, magic = 0x1.8p52, ln2 = 0x1.62e42fefa38p-1,
            rest = 0x1.ef35793c7673p-45;
    const TI bits = 52;
#else
    const T least = -87, most = 88, magic = 0x1.8p23f, ln2 = 0x1.63p-1f, rest = -0x1.bd0106p-13f;
    const TI bits = 23;
#endif
    V y = FN(greater)(FN(all)(least), x);
    y = FN(where_less)(FN(all)(most), y, FN(all)(most), y);
    V k = FN(fma)(y, FN(all)((T)0x1.71547652b82fep0), FN(all)(magic));
    V n = k - magic, r = FN(fma)(n, FN(all)(-ln2), y), p;
    r = FN(fma)(n, FN(all)(-rest), r);
#ifdef DOUBLE
    p = FN(all)(1.0 / 6227020800);
    p = FN(fma)(p, r, FN(all)(1.0 / 479001600));
    p = FN(fma)(p, r, FN(all)(1.0 / 39916800));
    p = FN(fma)(p, r, FN(all)(1.0 / 3628800));
    p = FN(fma)(p, r, FN(all)(1.0 / 362880));
    p = FN(fma)(p, r, FN(all)(1.0 / 40320));
    p = FN(fma)(p, r, FN(all)(1.0 / 5040));
    p = FN(fma)(p, r, FN(all)(1.0 / 720));
    p = FN(fma)(p, r, FN(all)(1.0 / 120));
    p = FN(fma)(p, r, FN(all)(1.0 / 24));
    p = FN(fma)(p, r, FN(all)(1.0 / 6));
    p = FN(fma)(p, r, FN(all)(0.5));
#else
    p = FN(all)(1.9875691500e-4f);
    p = FN(fma)(p, r, FN(all)(1.3981999507e-3f));
    p = FN(fma)(p, r, FN(all)(8.3334519073e-3f));
    p = FN(fma)(p, r, FN(all)(4.1665795894e-2f));
    p = FN(fma)(p, r, FN(all)(1.6666665459e-1f));
    p = FN(fma)(p, r, FN(all)(5.0000001201e-1f));
#endif
    p = FN(fma)(p, r * r, r) + 1;
    p = (V)((VI)p + ((VI)k << bits));
    p = FN(where_less)(x, FN(all)(least), (V){ 0 }, p);
    return FN(pick)(x == x, p, x);
}

/* ---- products ---- */
/* C += A B, or C = A B, of `rows` by `vectors` sums in registers: A(i, k) is a[i*rs + k*cs]. What
 * is added is summed by itself, which keeps errors of long sums small. */
#define TILE(rows, vectors) do { \
    V s[rows][vectors]; \
    _Pragma("GCC unroll 8") for (int i_ = 0; i_ < rows; i_++) \
        _Pragma("GCC unroll 8") for (int j_ = 0; j_ < vectors; j_++) \
            s[i_][j_] = (V){ 0 }; \
    for (int64_t k_ = 0; k_ < depth; k_++) { \
        V b_[vectors]; \
        _Pragma("GCC unroll 8") for (int j_ = 0; j_ < vectors; j_++) \
            b_[j_] = FN(load)(b + k_ * ldb + j_ * LANES); \
        _Pragma("GCC unroll 8") for (int i_ = 0; i_ < rows; i_++) { \
            V x_ = FN(all)(a[i_ * rs + k_ * cs]); \
            _Pragma("GCC unroll 8") for (int j_ = 0; j_ < vectors; j_++) \
                s[i_][j_] = FN(fma)(x_, b_[j_], s[i_][j_]); \
        } \
    } \
    _Pragma("GCC unroll 8") for (int i_ = 0; i_ < rows; i_++) \
        _Pragma("GCC unroll 8") for (int j_ = 0; j_ < vectors; j_++) \
            FN(store)(c + i_ * ldc + j_ * LANES, \
                      add ? FN(load)(c + i_ * ldc + j_ * LANES) + s[i_][j_] : s[i_][j_]); \
} while (0)

#define STRIP(name, vectors) \
    ALWAYS void FN(name)(int64_t rows, int64_t depth, const T *a, int64_t rs, int64_t cs, \
                         const T *b, int64_t ldb, T *c, int64_t ldc, bool add) \
    { \
        for (; rows >= 6; rows -= 6, a += 6 * rs, c += 6 * ldc) \
            TILE(6, vectors); \
        if (rows >= 4) { \
            TILE(4, vectors); \
            rows -= 4, a += 4 * rs, c += 4 * ldc; \
        } \
        for (; rows > 0; rows--, a += rs, c += ldc) \
            TILE(1, vectors); \
    }
#if TILE_VECTORS == 4
STRIP(strip4, 4)
#endif
STRIP(strip2, 2)
STRIP(strip1, 1)
#undef STRIP
#undef TILE

ALWAYS void FN(multiply)(int64_t rows, int64_t vectors, int64_t depth, const T *a, int64_t rs,
                         int64_t cs, const T *b, int64_t ldb, T *c, int64_t ldc, bool add)
{
#if TILE_VECTORS == 4
    for (; vectors >= 4; vectors -= 4, b += 4 * LANES, c += 4 * LANES)
        FN(strip4)(rows, depth, a, rs, cs, b, ldb, c, ldc, add);
#endif
    for (; vectors >= 2; vectors -= 2, b += 2 * LANES, c += 2 * LANES)
        FN(strip2)(rows, depth, a, rs, cs, b, ldb, c, ldc, add);
    for (; vectors > 0; vectors--, b += LANES, c += LANES)
        FN(strip1)(rows, depth, a, rs, cs, b, ldb, c, ldc, add);
}

/* A's rows lie as they are read; or its columns do. */
static void FN(by_rows)(int64_t rows, int64_t vectors, int64_t depth, const T *a, int64_t lda,
                        const T *b, int64_t ldb, T *c, int64_t ldc, bool add)
{
    FN(multiply)(rows, vectors, depth, a, lda, 1, b, ldb, c, ldc, add);
}
static void FN(by_columns)(int64_t rows, int64_t vectors, int64_t depth, const T *a, int64_t lda,
                           const T *b, int64_t ldb, T *c, int64_t ldc, bool add)
{
    FN(multiply)(rows, vectors, depth, a, 1, lda, b, ldb, c, ldc, add);
}

/* C += A B where a factor -0.0 marks what is not seen: it does not count. */
static void FN(marked)(int64_t rows, int64_t cols, int64_t depth, const T *a, int64_t rs,
                       int64_t cs, const T *b, int64_t ldb, T *c, int64_t ldc)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < depth; k++) {
            T x = a[i * rs + k * cs];
            if (x == 0 && signbit(x))
                continue;
            for (int64_t j = 0; j < cols; j++)
                if (b[k * ldb + j] != 0 || !signbit(b[k * ldb + j]))
                    c[i * ldc + j] += x * b[k * ldb + j];
        }
}

static bool FN(finite)(const T *x, int64_t rows, int64_t cols, int64_t ld)
{
    T sum = 0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            sum += x[i * ld + j] * 0;
    return sum == 0;
}

/* ---- operands ---- */
static int64_t FN(start)(const AttentionMat *x, int64_t head, int64_t row)
{
    return x->at[head] + row * x->row;
}

/* Rows of an operand as rows of T that are `ld` apart and filled up with zeros. */
static void FN(copy)(T *to, int64_t ld, const AttentionMat *x, DType dt, int64_t head, int64_t row,
                     int64_t rows, int64_t cols)
{
    int64_t bytes = dtype_info(dt)->bytes;
    for (int64_t i = 0; i < rows; i++, to += ld) {
        cast_plain(KERNEL_TYPE, to, 1, dt, x->data + FN(start)(x, head, row + i) * bytes, x->col,
                   cols);
        for (int64_t j = cols; j < ld; j++)
            to[j] = 0;
    }
}

/* Where they may be read as they lie, or their copy. */
static const T *FN(rows)(T *to, int64_t *ld, const AttentionMat *x, DType dt, int64_t head,
                         int64_t row, int64_t rows, int64_t cols)
{
    if (dt == KERNEL_TYPE && x->col == 1) {
        *ld = x->row;
        return (const T *)x->data + FN(start)(x, head, row);
    }
    *ld = cols;
    FN(copy)(to, cols, x, dt, head, row, rows, cols);
    return to;
}

/* Up to a panel of rows turned over, times a factor, with zeros where there are no more. */
static void FN(turn_panel)(T *to, const T *from, int64_t ld, int64_t rows, int64_t cols, T scale)
{
    for (int64_t c = 0; c < cols; c++) {
        for (int64_t i = 0; i < rows; i++)
            to[c * PANEL + i] = scale * from[i * ld + c];
        for (int64_t i = rows; i < PANEL; i++)
            to[c * PANEL + i] = 0;
    }
}

/* ---- operands of bf16 in pairs along a row, for the processor's own instruction ---- */
/* Its kernel, or NULL: then they are widened. */
ALWAYS AttentionDotRun *FN(dot)(const Attention *a)
{
    return VECTOR_BYTES == 64 && KERNEL_TYPE == DT_F32 ? attention_dot(a) : NULL;
}

/* Rows as they lie, or their copy, an odd one filled up with a zero; and their least magnitude. */
static const uint16_t *FN(pair_rows)(uint16_t *to, int64_t *ld, int *least, const AttentionMat *x,
                                     int64_t head, int64_t row, int64_t rows, int64_t cols)
{
    const uint16_t *from = (const uint16_t *)x->data + FN(start)(x, head, row), *at = from;
    *ld = attention_filled(cols, 2);
    if (x->col == 1 && x->row == *ld && *ld == cols) {
        *least = bf16_least(from, rows * cols);
        return from;
    }
    for (int64_t i = 0; i < rows; i++, at += x->row) {
        uint16_t *into = to + i * *ld;
        into[*ld - 1] = 0;
        if (x->col == 1)
            memcpy(into, at, (size_t)cols * sizeof *to);
        else
            for (int64_t j = 0; j < cols; j++)
                into[j] = at[j * x->col];
    }
    *least = bf16_least(to, rows * *ld);
    return to;
}

/* Queries of a block turned in pairs, panel by panel. */
static void FN(turn_pairs)(uint32_t *to, void *rows, int *least, const AttentionMat *x,
                           int64_t cols, int64_t head, int64_t i0, int64_t queries)
{
    int64_t pairs = (cols + 1) / 2, ld;
    for (int64_t i = 0; i < queries; i += PANEL, to += pairs * PANEL, least++) {
        int64_t many = queries - i < PANEL ? queries - i : PANEL;
        const uint16_t *from = FN(pair_rows)(rows, &ld, least, x, head, i0 + i, many, cols);
        memset(to, 0, (size_t)(pairs * PANEL) * sizeof *to);
        for (int64_t c = 0; c < pairs; c++)
            for (int64_t k = 0; k < many; k++)
                memcpy(to + c * PANEL + k, from + k * ld + 2 * c, sizeof *to);
    }
}

/* ---- a tile of scores: keys j0 … j0 + keys by a panel of queries from i0 on ---- */
typedef struct FN(Tile) {
    const Attention *a;
    int64_t head, i0, queries, j0, keys, vectors;
    T *s;                           /* rows of keys, PANEL apart */
    AttentionDotRun *dot;           /* keys and queries are pairs, not T */
    bool exact;
} FN(Tile);

/* Is nothing of it seen? Or is it seen in part, as far as positions say? */
static bool FN(unseen)(const FN(Tile) *t)
{
    const Attention *a = t->a;
    return t->j0 > t->i0 + t->queries - 1 + a->shift + a->right ||
           t->j0 + t->keys - 1 < t->i0 + a->shift - a->left;
}
static bool FN(at_edge)(const FN(Tile) *t)
{
    const Attention *a = t->a;
    return t->j0 + t->keys - 1 > t->i0 + a->shift + a->right ||
           t->j0 < t->i0 + t->queries - 1 + a->shift - a->left;
}
static bool FN(partial)(const FN(Tile) *t)
{
    return t->a->biased == BIAS_BOOL || FN(at_edge)(t);
}

/* `value` where a bool of `from`, a row of keys for each query, is false. */
static void FN(hide_false)(const FN(Tile) *t, const bool *from, int64_t row, int64_t col, T value)
{
    typedef int8_t Bytes __attribute__((vector_size(LANES)));
    int64_t i = 0;
    for (; col == 1 && i + LANES <= t->queries; i += LANES) {
        int64_t j = 0;
        for (; j + LANES <= t->keys; j += LANES) {
            V x[LANES];
            for (int k = 0; k < LANES; k++) {
                Bytes b;
                memcpy(&b, from + (i + k) * row + j, sizeof b);
                x[k] = (V)-__builtin_convertvector(b, VI);
            }
            FN(turn)(x);
            for (int k = 0; k < LANES; k++) {
                T *s = t->s + (j + k) * PANEL + i;
                FN(store)(s, FN(pick)((VI)x[k], FN(load)(s), FN(all)(value)));
            }
        }
        for (; j < t->keys; j++)
            for (int k = 0; k < LANES; k++)
                if (!from[(i + k) * row + j])
                    t->s[j * PANEL + i + k] = value;
    }
    for (; i < t->queries; i++)
        for (int64_t j = 0; j < t->keys; j++)
            if (!from[i * row + j * col])
                t->s[j * PANEL + i] = value;
}

/* `value` wherever a key is not seen. */
static void FN(hide)(const FN(Tile) *t, T value)
{
    const Attention *a = t->a;
    VI lane;
    for (int i = 0; i < LANES; i++)
        lane[i] = i;
    for (int64_t j = 0; j < t->keys && FN(at_edge)(t); j++) {
        int64_t low = t->j0 + j - a->shift - a->right - t->i0,
                high = t->j0 + j - a->shift + a->left - t->i0;
        low = low < 0 ? 0 : low > PANEL ? PANEL : low;
        high = high < -1 ? -1 : high > PANEL ? PANEL : high;
        for (int64_t v = 0; v < t->vectors; v++) {
            T *s = t->s + j * PANEL + v * LANES;
            VI at = lane + (TI)(v * LANES), seen = (at >= (TI)low) & (at <= (TI)high);
            FN(store)(s, FN(pick)(seen, FN(load)(s), FN(all)(value)));
        }
    }
    if (a->biased == BIAS_BOOL)
        FN(hide_false)(t, (const bool *)a->bias.data + FN(start)(&a->bias, t->head, t->i0) +
                              t->j0 * a->bias.col, a->bias.row, a->bias.col, value);
}

/* to(i, j) += from(j, i) for so many rows i and columns j, both by rows. */
static void FN(add_turned)(T *to, int64_t ldt, const T *from, int64_t ldf, int64_t rows,
                           int64_t cols)
{
    int64_t i = 0;
    for (; i + LANES <= rows; i += LANES) {
        int64_t j = 0;
        for (; j + LANES <= cols; j += LANES) {
            V x[LANES];
            for (int k = 0; k < LANES; k++)
                x[k] = FN(load)(from + (j + k) * ldf + i);
            FN(turn)(x);
            for (int k = 0; k < LANES; k++) {
                T *at = to + (i + k) * ldt + j;
                FN(store)(at, FN(load)(at) + x[k]);
            }
        }
        for (; j < cols; j++)
            for (int k = 0; k < LANES; k++)
                to[(i + k) * ldt + j] += from[j * ldf + i + k];
    }
    for (; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            to[i * ldt + j] += from[j * ldf + i];
}

/* Adds the bias; to rows of T first where it is stored in another way. */
static void FN(add_bias)(const FN(Tile) *t)
{
    const Attention *a = t->a;
    T row[ATTENTION_KEYS];
    if (a->bias_dt == KERNEL_TYPE && a->bias.col == 1) {
        FN(add_turned)(t->s, PANEL,
                       (const T *)a->bias.data + FN(start)(&a->bias, t->head, t->i0) + t->j0,
                       a->bias.row, t->keys, t->queries);
        return;
    }
    for (int64_t i = 0; i < t->queries; i++) {
        int64_t at = FN(start)(&a->bias, t->head, t->i0 + i) + t->j0 * a->bias.col;
        const T *b = (const T *)a->bias.data + at;
        if (a->bias_dt != KERNEL_TYPE || a->bias.col != 1) {
            cast_plain(KERNEL_TYPE, row, 1, a->bias_dt,
                       a->bias.data + at * dtype_info(a->bias_dt)->bytes, a->bias.col, t->keys);
            b = row;
        }
        for (int64_t j = 0; j < t->keys; j++)
            t->s[j * PANEL + i] += b[j];
    }
}

/* What is multiplied with turned queries: rows of T, or of pairs. */
static void FN(with_turned)(const FN(Tile) *t, const void *rows, int64_t ld, const void *turned,
                            int64_t depth, T scale, bool exact, T *to)
{
    if (t->dot)
        t->dot(&(AttentionDot){ t->keys, t->vectors, (depth + 1) / 2, rows, ld, turned,
                                (float *)to, (float)scale, exact });
    else
        FN(by_rows)(t->keys, t->vectors, depth, rows, ld, turned, PANEL, to, PANEL, false);
}

static void FN(scores)(const FN(Tile) *t, const void *k, int64_t ldk, const void *qt)
{
    FN(with_turned)(t, k, ldk, qt, t->a->d, (T)t->a->scale, t->exact, t->s);
    if (t->a->biased == BIAS_ADDS)
        FN(add_bias)(t);
    if (FN(partial)(t))
        FN(hide)(t, -(T)INFINITY);
}

/* ---- forward ---- */
typedef struct FN(Scratch) { T *s, *qt, *ot, *k, *v, *top, *sum; } FN(Scratch);

static int64_t FN(scratch_parts)(const Attention *a, FN(Scratch) *p, T *memory)
{
    int64_t d = a->d > a->e ? a->d : a->e, at = 0;
    int64_t row = attention_filled(d, PANEL);
#define PART(name, count) \
    p->name = memory ? memory + at : NULL, at += attention_filled(count, 64 / sizeof(T))
    PART(s, ATTENTION_KEYS * PANEL);
    PART(qt, ATTENTION_QUERIES * a->d);
    PART(ot, ATTENTION_QUERIES * a->e);
    PART(k, (ATTENTION_KEYS > PANEL ? ATTENTION_KEYS : PANEL) * row);
    PART(v, ATTENTION_KEYS * row);
    PART(top, ATTENTION_QUERIES);
    PART(sum, ATTENTION_QUERIES);
    return at * (int64_t)sizeof(T);
}

static int64_t FN(scratch)(const Attention *a)
{
    FN(Scratch) p;
    return FN(scratch_parts)(a, &p, NULL);
}

/* Scores to e^(score - top), where the top only rises: what was summed before is scaled to it. */
static void FN(soften)(const FN(Tile) *t, T *top, T *sum, T *ot)
{
    const T low = -(T)INFINITY;
    for (int64_t v = 0; v < t->vectors; v++) {
        T *s = t->s + v * LANES;
        V was = FN(load)(top + v * LANES), now = was, total = { 0 };
        for (int64_t j = 0; j < t->keys; j++)
            now = FN(greater)(FN(load)(s + j * PANEL), now);
        V base = FN(pick)(now == low, (V){ 0 }, now);
        VI moved = was != now;
        bool any = false;
        for (int i = 0; i < LANES; i++)
            any |= moved[i] != 0;
        for (int64_t j = 0; j < t->keys; j++) {
            V p = FN(exp)(FN(load)(s + j * PANEL) - base);
            FN(store)(s + j * PANEL, p);
            total += p;
        }
        V before = FN(load)(sum + v * LANES);
        if (any) {
            V by = FN(exp)(was - base);
            before *= by;
            for (int64_t c = 0; c < t->a->e; c++) {
                T *o = ot + c * PANEL + v * LANES;
                FN(store)(o, FN(load)(o) * by);
            }
            FN(store)(top + v * LANES, now);
        }
        FN(store)(sum + v * LANES, before + total);
    }
}

/* Numbers of 32 bits of a turned query. */
ALWAYS int64_t FN(turned_depth)(int64_t depth, bool pairs)
{
    return pairs ? (depth + 1) / 2 : depth;
}

/* One tile: its values, weighted, added to ot (columns of v by queries). */
static void FN(forward_tile)(const FN(Tile) *t, const FN(Scratch) *p, const void *k, int64_t ldk,
                             const T *v, int64_t ldv, int64_t panel)
{
    int64_t e = t->a->e;
    T *ot = p->ot + panel * PANEL * e;
    FN(scores)(t, k, ldk, p->qt + panel * PANEL * FN(turned_depth)(t->a->d, t->dot != NULL));
    FN(soften)(t, p->top + panel * PANEL, p->sum + panel * PANEL, ot);
    if (FN(partial)(t) && !FN(finite)(v, t->keys, e, ldv)) {
        FN(hide)(t, -(T)0);
        FN(marked)(e, t->queries, t->keys, v, 1, ldv, t->s, PANEL, ot, PANEL);
    } else {
        FN(by_columns)(e, t->vectors, t->keys, v, ldv, t->s, PANEL, ot, PANEL, true);
    }
}

/* A row of sums over the sum of weights, in the result's dtype; and the log of that sum. */
static void FN(finish)(const Attention *a, const FN(Scratch) *p, int64_t head, int64_t i0,
                       int64_t queries)
{
    T *row = p->k;
    for (int64_t i = 0; i < queries; i++) {
        const T *ot = p->ot + i / PANEL * PANEL * a->e + i % PANEL;
        T sum = p->sum[i], top = p->top[i];
        for (int64_t c = 0; c < a->e; c++)
            row[c] = sum == 0 ? 0 : ot[c * PANEL] / sum;
        char *to = a->out.data + FN(start)(&a->out, head, i0 + i) * dtype_info(a->dt)->bytes;
        cast_plain(a->dt, to, 1, KERNEL_TYPE, row, 1, a->e);
        if (!a->lse.data)
            continue;
        long double log_sum = sum == 0 ? -(long double)INFINITY : top + logl(sum);
        T lse = (T)log_sum;
        ((T *)a->lse.data)[FN(start)(&a->lse, head, i0 + i)] = lse;
        ((T *)a->rest.data)[FN(start)(&a->rest, head, i0 + i)] =
            isfinite(lse) ? (T)(log_sum - lse) : 0;
    }
}

/* The turned queries of a block, panel by panel. */
static void FN(turn_block)(T *qt, T *rows, const Attention *a, const AttentionMat *x, int64_t cols,
                           int64_t head, int64_t i0, int64_t queries, T scale)
{
    for (int64_t i = 0; i < queries; i += PANEL) {
        int64_t many = queries - i < PANEL ? queries - i : PANEL, ld;
        const T *from = FN(rows)(rows, &ld, x, a->dt, head, i0 + i, many, cols);
        FN(turn_panel)(qt + i * cols, from, ld, many, cols, scale);
    }
}

static FN(Tile) FN(tile_at)(const Attention *a, int64_t head, int64_t i0, int64_t end, int64_t j0,
                            int64_t keys, T *s)
{
    int64_t queries = end - i0 < PANEL ? end - i0 : PANEL;
    return (FN(Tile)){ a, head, i0, queries, j0, keys, (queries + LANES - 1) / LANES, s, FN(dot)(a),
                       false };
}

static void FN(block)(const Attention *a, int64_t head, int64_t block, char *scratch)
{
    FN(Scratch) p;
    int64_t i0 = block * ATTENTION_QUERIES, queries = a->n - i0, from, to;
    queries = queries < ATTENTION_QUERIES ? queries : ATTENTION_QUERIES;
    FN(scratch_parts)(a, &p, (T *)scratch);
    AttentionDotRun *dot = FN(dot)(a);
    int least_q[ATTENTION_QUERIES / PANEL + 1], least_k = 0;
    if (dot)
        FN(turn_pairs)((uint32_t *)p.qt, p.k, least_q, &a->q, a->d, head, i0, queries);
    else
        FN(turn_block)(p.qt, p.k, a, &a->q, a->d, head, i0, queries, (T)a->scale);
    memset(p.ot, 0, (size_t)(ATTENTION_QUERIES * a->e) * sizeof(T));
    for (int i = 0; i < ATTENTION_QUERIES; i++)
        p.top[i] = -(T)INFINITY, p.sum[i] = 0;
    attention_seen(a, i0, i0 + queries, &from, &to);
    for (int64_t j = from, keys; j < to; j += keys) {
        int64_t ldk, ldv;
        keys = to - j < ATTENTION_KEYS ? to - j : ATTENTION_KEYS;
        const void *k;
        if (dot)
            k = FN(pair_rows)((uint16_t *)p.k, &ldk, &least_k, &a->k, head, j, keys, a->d);
        else
            k = FN(rows)(p.k, &ldk, &a->k, a->dt, head, j, keys, a->d);
        const T *v = FN(rows)(p.v, &ldv, &a->v, a->dt, head, j, keys, a->e);
        for (int64_t i = 0; i < queries; i += PANEL) {
            FN(Tile) t = FN(tile_at)(a, head, i0 + i, i0 + queries, j, keys, p.s);
            t.exact = dot && bf16_may_flush(least_k, least_q[i / PANEL]);
            if (!FN(unseen)(&t))
                FN(forward_tile)(&t, &p, k, ldk, v, ldv, i / PANEL);
        }
    }
    FN(finish)(a, &p, head, i0, queries);
}

#include "kernels/attention/attention_back.tmpl.h"

#undef PART
#undef FN
#undef V
#undef VI
#undef LANES
#undef PANEL
