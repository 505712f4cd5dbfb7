/* The part of a sweep beside the diagonal (francis.h) in one real type: T in vectors V of LANES. */
#include "kernels/gemm/vector_lanes.tmpl.h"

/* I - tau w w' with w = (1, w2, w3); what it takes: t2 = tau w2, t3 = tau w3. */
typedef struct FN(Bulge) {
    T tau, w2, w3, t2, t3;
} FN(Bulge);

typedef struct FN(Work) {
    FN(Bulge) *bulge;
    T *h, *u;
    int64_t ld, krcol, top, bottom;      /* bulges top … bottom - 1 are under way */
} FN(Work);

/* The reflector that leaves only the first of x, of two or three elements: *beta. */
static FN(Bulge) FN(small_reflector)(T x1, T x2, T x3, T *beta)
{
    T size = MAX2(MAX2(ABS(x1), ABS(x2)), ABS(x3)), by = 1;
    *beta = x1;
    if (x2 == 0 && x3 == 0)
        return (FN(Bulge)){ 0, 0, 0, 0, 0 };
    if (size < ROOT_LEAST || size > ROOT_MOST) {
        int e;
        frexp((double)size, &e);
        by = (T)ldexp(1, e);
        x1 = (T)ldexp((double)x1, -e), x2 = (T)ldexp((double)x2, -e), x3 = (T)ldexp((double)x3, -e);
    }
    T norm = SQRT(FMA_ONE(x1, x1, FMA_ONE(x2, x2, x3 * x3)));
    T b = x1 > 0 ? -norm : norm, tau = (b - x1) / b, w = 1 / (x1 - b);
    *beta = b * by;
    return (FN(Bulge)){ tau, x2 * w, x3 * w, tau * (x2 * w), tau * (x3 * w) };
}

/* The first column of (A - s1)(A - s2), but for a factor, of the 3 x 3 or 2 x 2 block at `at`. */
static FN(Bulge) FN(first_reflector)(int64_t order, const T *a, int64_t ld, const T *sr,
                                     const T *si, T *beta)
{
    T last = order == 3 ? a[2] : 0;
    T size = ABS(a[0] - sr[1]) + ABS(si[1]) + ABS(a[1]) + ABS(last), x[3] = { 0, 0, 0 };
    if (size != 0) {
        T b = a[1] / size, c = last / size, sum = a[0] - sr[0] - sr[1];
        x[0] = (a[0] - sr[0]) * ((a[0] - sr[1]) / size) - si[0] * (si[1] / size) + a[ld] * b;
        x[1] = b * (a[ld + 1] + sum);
        if (order == 3) {
            x[0] += a[2 * ld] * c;
            x[1] += a[2 * ld + 1] * c;
            x[2] = c * (a[2 * ld + 2] + sum) + b * a[ld + 2];
        }
    }
    return FN(small_reflector)(x[0], x[1], x[2], beta);
}

/* ---- a reflection of columns, of rows ---- */
static inline __attribute__((always_inline)) void FN(turn_lanes)(V *x, V w2, V w3, V t1, V t2, V t3)
{
    V sum = FMA(w3, x[2], FMA(w2, x[1], x[0]));
    x[0] = FMA(-t1, sum, x[0]);
    x[1] = FMA(-t2, sum, x[1]);
    x[2] = FMA(-t3, sum, x[2]);
}

/* Three columns, `rows` of them. The last lanes are computed from what was there before, so that
 * they may overlap those before them. */
static void FN(turn_columns)(int64_t rows, T *a, int64_t ld, const FN(Bulge) *b)
{
    V w2 = FN(all)(b->w2), w3 = FN(all)(b->w3);
    V t1 = FN(all)(b->tau), t2 = FN(all)(b->t2), t3 = FN(all)(b->t3), last[3], x[3];
    T *a2 = a + ld, *a3 = a2 + ld;
    if (rows < LANES) {
        for (int64_t i = 0; i < rows; i++) {
            T sum = FMA_ONE(b->w3, a3[i], FMA_ONE(b->w2, a2[i], a[i]));
            a[i] = FMA_ONE(-b->tau, sum, a[i]);
            a2[i] = FMA_ONE(-b->t2, sum, a2[i]);
            a3[i] = FMA_ONE(-b->t3, sum, a3[i]);
        }
        return;
    }
    int64_t end = rows - LANES;
    last[0] = FN(load)(a + end), last[1] = FN(load)(a2 + end), last[2] = FN(load)(a3 + end);
    FN(turn_lanes)(last, w2, w3, t1, t2, t3);
    for (int64_t i = 0; i < end; i += LANES) {
        x[0] = FN(load)(a + i), x[1] = FN(load)(a2 + i), x[2] = FN(load)(a3 + i);
        FN(turn_lanes)(x, w2, w3, t1, t2, t3);
        FN(store)(a + i, x[0]), FN(store)(a2 + i, x[1]), FN(store)(a3 + i, x[2]);
    }
    FN(store)(a + end, last[0]), FN(store)(a2 + end, last[1]), FN(store)(a3 + end, last[2]);
}

/* Two columns: at the end of the block. */
static void FN(turn_two)(int64_t rows, T *a, int64_t ld, const FN(Bulge) *b)
{
    T *a2 = a + ld;
    for (int64_t i = 0; i < rows; i++) {
        T sum = FMA_ONE(b->w2, a2[i], a[i]);
        a[i] = FMA_ONE(-b->tau, sum, a[i]);
        a2[i] = FMA_ONE(-b->t2, sum, a2[i]);
    }
}

static void FN(turn_one_row_triple)(T *x, const FN(Bulge) *b)
{
    T sum = FMA_ONE(b->w3, x[2], FMA_ONE(b->w2, x[1], x[0]));
    x[0] = FMA_ONE(-b->tau, sum, x[0]);
    x[1] = FMA_ONE(-b->t2, sum, x[1]);
    x[2] = FMA_ONE(-b->t3, sum, x[2]);
}

/* `count` columns (a constant in each call) by the bulges end - 1 … top: each begins in the row
 * where the one after it ended. x: the column at row krcol + 1. */
static inline __attribute__((always_inline)) void
FN(turn_rows)(int count, const FN(Work) *w, int64_t end, T *x)
{
    T next[4];
    if (end <= w->top)
        return;
    for (int c = 0; c < count; c++)
        next[c] = x[c * w->ld + 2 * end];
    for (int64_t m = end - 1; m >= w->top; m--) {
        const FN(Bulge) b = w->bulge[m];
        for (int c = 0; c < count; c++) {
            T *at = x + c * w->ld + 2 * m, first = at[0], second = at[1];
            T sum = FMA_ONE(b.w3, next[c], FMA_ONE(b.w2, second, first));
            at[2] = FMA_ONE(-b.t3, sum, next[c]);
            at[1] = FMA_ONE(-b.t2, sum, second);
            next[c] = FMA_ONE(-b.tau, sum, first);
        }
    }
    for (int c = 0; c < count; c++)
        x[c * w->ld + 2 * w->top] = next[c];
}

/* ---- one step of a bulge ---- */
/* Is the subdiagonal element below (k, k) small against what is beside it (the usual test), and by
 * Ahues and Tisseur's (LAPACK Working Note 122)? It becomes 0. */
static void FN(deflate)(const Francis *f, int64_t k)
{
    const int64_t ld = f->ld;
    T *a = (T *)f->h + k * (ld + 1), below = ABS(a[1]), near = ABS(a[0]) + ABS(a[ld + 1]);
    T least = LEAST * ((T)f->n / EPS);
    if (below == 0)
        return;
    if (near == 0) {
        for (int64_t i = 1; i <= 3 && k - i >= f->ktop; i++)
            near += ABS(a[-i * ld]);
        for (int64_t i = 2; i <= 4 && k + i <= f->kbot; i++)
            near += ABS(a[ld + i]);
    }
    if (below > MAX2(least, EPS * near))
        return;
    T right = ABS(a[ld]), more = MAX2(below, right), less = MIN2(below, right);
    T corner = ABS(a[ld + 1]), gap = ABS(a[0] - a[ld + 1]);
    T most = MAX2(corner, gap), size = most + more, test = MIN2(corner, gap) * (most / size);
    if (test == 0 || less * (more / size) <= MAX2(least, EPS * test))
        a[1] = 0;
}

/* The next reflector of bulge m, which stands in column k. */
static void FN(advance)(const Francis *f, FN(Work) *w, int64_t m, int64_t k)
{
    const int64_t ld = w->ld;
    const T *sr = (const T *)f->sr + 2 * m, *si = (const T *)f->si + 2 * m;
    FN(Bulge) *b = &w->bulge[m], fresh;
    T beta, *a = w->h + k * ld + k + 1, *below = a + 2;
    if (k == f->ktop - 1) {
        *b = FN(first_reflector)(3, w->h + f->ktop * (ld + 1), ld, sr, si, &beta);
        return;
    }
    T sum = b->tau * b->w3 * below[2 * ld];          /* of the row below it only this is not 0 */
    below[0] = -sum;
    below[ld] = -sum * b->w2;
    below[2 * ld] -= sum * b->w3;
    *b = FN(small_reflector)(a[0], a[1], a[2], &beta);
    if (below[0] == 0 && below[ld] == 0 && below[2 * ld] != 0) {
        /* It collapsed. A new one here, if it leaves next to nothing in this column. */
        T one, size = ABS(a[-1]) + ABS(a[ld]) + ABS(a[2 * ld + 1]);
        fresh = FN(first_reflector)(3, a + ld, ld, sr, si, &one);
        T back = fresh.tau * (a[0] + fresh.w2 * a[1]);
        if (ABS(a[1] - back * fresh.w2) + ABS(back * fresh.w3) <= EPS * size) {
            *b = fresh;
            beta = a[0] - back;
        }
    }
    a[0] = beta, a[1] = 0, a[2] = 0;
}

/* The bulge of two rows that the last of the block leaves no room for more. */
static void FN(last_bulge)(const Francis *f, FN(Work) *w, int64_t m, int64_t k, int64_t jtop,
                           int64_t jbot)
{
    const int64_t ld = w->ld, kms = k - f->incol;
    T beta, *a = w->h + k * ld + k + 1;
    FN(Bulge) b;
    if (k == f->ktop - 1) {
        b = FN(first_reflector)(2, a + ld, ld, (const T *)f->sr + 2 * m, (const T *)f->si + 2 * m,
                                &beta);
    } else {
        b = FN(small_reflector)(a[0], a[1], 0, &beta);
        a[0] = beta, a[1] = 0;
    }
    int64_t rows = (f->kbot < k + 3 ? f->kbot : k + 3) + 1 - jtop;
    FN(turn_two)(rows, w->h + (k + 1) * ld + jtop, ld, &b);
    for (int64_t j = k + 1; j <= jbot; j++) {
        T *x = w->h + j * ld + k + 1, sum = FMA_ONE(b.w2, x[1], x[0]);
        x[0] = FMA_ONE(-b.tau, sum, x[0]);
        x[1] = FMA_ONE(-b.t2, sum, x[1]);
    }
    if (k >= f->ktop)
        FN(deflate)(f, k);
    int64_t from = f->ktop - f->incol - 1 > 0 ? f->ktop - f->incol - 1 : 0;
    FN(turn_two)(f->width - from, w->u + kms * f->width + from, f->width, &b);
}

/* All bulges one column further. */
static void FN(step)(const Francis *f, FN(Work) *w)
{
    const int64_t ld = w->ld, krcol = w->krcol, behind = krcol - f->incol;
    int64_t jtop = f->ktop > f->incol ? f->ktop : f->incol;
    int64_t jbot = f->incol + f->width < f->kbot ? f->incol + f->width : f->kbot;
    int64_t skipped = f->ktop - f->incol - 1;
    w->top = f->ktop > krcol ? (f->ktop - krcol) / 2 : 0;
    w->bottom = (f->kbot - krcol - 1) / 2 < f->bulges ? (f->kbot - krcol - 1) / 2 : f->bulges;
    if (w->bottom < f->bulges && krcol + 2 * w->bottom == f->kbot - 2)
        FN(last_bulge)(f, w, w->bottom, f->kbot - 2, jtop, jbot);
    for (int64_t m = w->bottom - 1; m >= w->top; m--) {
        int64_t k = krcol + 2 * m, rows = (f->kbot < k + 3 ? f->kbot : k + 3) + 1 - jtop;
        FN(advance)(f, w, m, k);
        FN(turn_columns)(rows, w->h + (k + 1) * ld + jtop, ld, &w->bulge[m]);
        FN(turn_one_row_triple)(w->h + (k + 1) * (ld + 1), &w->bulge[m]);
        if (k >= f->ktop)
            FN(deflate)(f, k);
    }
    int64_t j = krcol + 2 * (w->top + 1), full = krcol + 2 * w->bottom;
    j = j > f->ktop ? j : f->ktop;
    T *row = w->h + krcol + 1;
    for (; j < full && j <= jbot; j++)
        FN(turn_rows)(1, w, (j - krcol) / 2, row + j * ld);
    for (; j + 3 <= jbot; j += 4)
        FN(turn_rows)(4, w, w->bottom, row + j * ld);
    for (; j <= jbot; j++)
        FN(turn_rows)(1, w, w->bottom, row + j * ld);
    int64_t end = behind + 2 * (w->bottom - 1) + 5;
    end = end < f->width ? end : f->width;
    for (int64_t m = w->bottom - 1; m >= w->top; m--) {
        int64_t from = 2 * m > skipped ? 2 * m : skipped;
        FN(turn_columns)(end - from, w->u + (behind + 2 * m) * f->width + from, f->width,
                         &w->bulge[m]);
    }
}

static void FN(chase)(const Francis *f)
{
    FN(Work) w = { .bulge = f->room, .h = f->h, .u = f->u, .ld = f->ld };
    int64_t last = f->incol + 2 * f->bulges - 1;
    last = last < f->kbot - 2 ? last : f->kbot - 2;
    memset(f->u, 0, (size_t)(f->width * f->width) * sizeof(T));
    for (int64_t i = 0; i < f->width; i++)
        w.u[i * (f->width + 1)] = 1;
    for (w.krcol = f->incol; w.krcol <= last; w.krcol++)
        FN(step)(f, &w);
}
