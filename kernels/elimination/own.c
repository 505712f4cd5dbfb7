/* The room's own factors: what is symbolic, the four dtypes, and each as an Elimination. */
#include "kernels/elimination/own.h"
#include "core/base/error.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* ---- symbolic ---- */
/* The tree of a symmetric matrix and the columns of its factor below the diagonal: where they
 * begin, with `rows` also what they are; the operations of Cholesky. */
static void own_symbolic(Hold *keep, Hold *work, const Columns *a, int64_t *parent, bool rows,
                         Columns *l, double *flops)
{
    const int64_t n = a->n;
    int64_t *mark = hold_ints(work, n), *reach = hold_ints(work, n), *end = hold_ints(work, n);
    *l = (Columns){ .m = n, .n = n, .start = hold_zero(keep, n + 1, sizeof(int64_t)) };
    tree_of(work, a, false, parent);
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < n; i++)
            mark[i] = -1, end[i] = l->start[i];
        for (int64_t k = 0; k < n && (pass == 0 || rows); k++) {
            const int64_t top = tree_reach(a, k, parent, mark, reach);
            hold_work(work, 4 * (n - top));
            for (int64_t t = top; t < n; t++)
                if (pass == 0)
                    l->start[reach[t]]++;
                else
                    l->row[end[reach[t]]++] = k;
        }
        for (int64_t i = 0, sum = 0; i <= n && pass == 0; i++) {
            const int64_t count = l->start[i];
            *flops += (double)(count + 1) * (double)(count + 1);
            l->start[i] = sum;
            sum += count;
        }
        if (pass == 0)
            l->row = hold_ints(keep, l->start[n]);
    }
    *flops -= 1;
    hold_drop(work, mark);
    hold_drop(work, reach);
    hold_drop(work, end);
}

/* The pattern of A'A, its columns in the order q, full columns without their diagonal. */
static Columns own_square(Hold *work, const Columns *a, const int64_t *q)
{
    Columns b = { .m = a->m, .n = a->n, .start = hold_ints(work, a->n + 1),
                  .row = hold_ints(work, a->start[a->n]) };
    int64_t to = 0;
    for (int64_t k = 0; k < a->n; k++) {
        const int64_t from = a->start[q[k]], count = a->start[q[k] + 1] - from;
        b.start[k] = to;
        memcpy(b.row + to, a->row + from, (size_t)count * sizeof *b.row);
        to += count;
    }
    b.start[a->n] = to;
    return columns_square(work, &b, INT64_MAX, INT64_MAX);
}

/* ---- where a column of A leads in the graph of L ---- */
typedef struct OwnWalk { int64_t *reach, *mark, *stack, *at, now; } OwnWalk;

static void own_walk_new(Hold *work, OwnWalk *w, int64_t n)
{
    *w = (OwnWalk){ .reach = hold_ints(work, n), .mark = hold_zero(work, n, sizeof(int64_t)),
                    .stack = hold_ints(work, n), .at = hold_ints(work, n) };
}

/* Depth first from row i, without recursion; all that is reached stands before `top`. */
static int64_t walk_from(Hold *work, OwnWalk *w, int64_t i, int64_t top, const Columns *l,
                         const int64_t *place)
{
    int64_t depth = 0;
    w->stack[0] = i;
    w->mark[i] = w->now;
    w->at[0] = place[i] < 0 ? 0 : l->start[place[i]];
    while (depth >= 0) {
        const int64_t row = w->stack[depth], k = place[row], end = k < 0 ? 0 : l->start[k + 1];
        int64_t p = k < 0 ? 0 : w->at[depth];
        const int64_t from = p;
        while (p < end && w->mark[l->row[p]] == w->now)
            p++;
        hold_work(work, p - from + 4);
        if (p >= end) {
            w->reach[--top] = row;
            depth--;
            continue;
        }
        w->at[depth++] = p + 1;
        const int64_t next = w->stack[depth] = l->row[p];
        w->mark[next] = w->now;
        w->at[depth] = place[next] < 0 ? 0 : l->start[place[next]];
    }
    return top;
}

static int64_t own_walk(Hold *work, OwnWalk *w, const Columns *a, int64_t j, const Columns *l,
                        const int64_t *place)
{
    int64_t top = a->n;
    w->now++;
    for (int64_t p = a->start[j]; p < a->start[j + 1]; p++)
        if (w->mark[a->row[p]] != w->now)
            top = walk_from(work, w, a->row[p], top, l, place);
    return top;
}

/* How much room a list that needs `wanted` is given. */
static int64_t own_room(Hold *h, int64_t wanted, int64_t n)
{
    (void)h;
    return wanted + wanted / 2 + n;
}

/* ---- the dtypes ---- */
#define MUL(a, b) ((a) * (b))
#define CONJ(x) (x)
#define SIZE(x) fabs((double)(x))
#define SQUARE(x) ((x) * (x))
#define PAIR(re, im) ((void)(im), (T)(re))
#define T double
#define REAL double
#define EPS DBL_EPSILON
#define ROOT sqrt
#define MODULUS fabs
#define HYPOT(a, b) hypot(a, b)
#define NAME(name) name##_f64
#include "kernels/elimination/incomplete.tmpl.h"
#include "kernels/elimination/own.tmpl.h"
#undef T
#undef REAL
#undef EPS
#undef ROOT
#undef MODULUS
#undef HYPOT
#undef NAME
#define T float
#define REAL float
#define EPS (double)FLT_EPSILON
#define ROOT sqrtf
#define MODULUS fabsf
#define HYPOT(a, b) hypotf(a, b)
#define NAME(name) name##_f32
#include "kernels/elimination/incomplete.tmpl.h"
#include "kernels/elimination/own.tmpl.h"
#undef T
#undef REAL
#undef EPS
#undef ROOT
#undef MODULUS
#undef HYPOT
#undef NAME
#undef MUL
#undef CONJ
#undef SIZE
#undef SQUARE
#undef PAIR

/* Products without C's care for infinite parts, which takes ten times as long. */
static inline double complex times_c128(double complex a, double complex b)
{
    const double ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;
    return CMPLX(ar * br - ai * bi, ar * bi + ai * br);
}

static inline float complex times_c64(float complex a, float complex b)
{
    const float ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;
    return CMPLXF(ar * br - ai * bi, ar * bi + ai * br);
}

#define SIZE(x) (fabs((double)__real__ (x)) + fabs((double)__imag__ (x)))
#define SQUARE(x) (__real__ (x) * __real__ (x) + __imag__ (x) * __imag__ (x))
#define T double complex
#define REAL double
#define EPS DBL_EPSILON
#define ROOT sqrt
#define MODULUS cabs
#define HYPOT(a, b) hypot(cabs(a), cabs(b))
#define MUL(a, b) times_c128(a, b)
#define CONJ(x) conj(x)
#define PAIR(re, im) CMPLX(re, im)
#define NAME(name) name##_c128
#include "kernels/elimination/incomplete.tmpl.h"
#include "kernels/elimination/own.tmpl.h"
#undef T
#undef REAL
#undef EPS
#undef ROOT
#undef MODULUS
#undef HYPOT
#undef MUL
#undef CONJ
#undef PAIR
#undef NAME
#define T float complex
#define REAL float
#define EPS (double)FLT_EPSILON
#define ROOT sqrtf
#define MODULUS cabsf
#define HYPOT(a, b) hypotf(cabsf(a), cabsf(b))
#define MUL(a, b) times_c64(a, b)
#define CONJ(x) conjf(x)
#define PAIR(re, im) CMPLXF((float)(re), (float)(im))
#define NAME(name) name##_c64
#include "kernels/elimination/incomplete.tmpl.h"
#include "kernels/elimination/own.tmpl.h"

const OwnOps *own_ops(DType dt)
{
    switch (dt) {
    case DT_F64: return &ops_f64;
    case DT_F32: return &ops_f32;
    case DT_C128: return &ops_c128;
    case DT_C64: return &ops_c64;
    default: return NULL;
    }
}
