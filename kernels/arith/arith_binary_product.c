/* Matrix products in binary formats to nearest, both roundings and all flags, at the speed of
 * some twenty vector operations per multiply-add: A and B are looked over once, so that the
 * loops watch only for what can happen, and packed in floats where the format has at most 11
 * bits, else in doubles. What leaves the format all the same is done again by rows. */
#include "kernels/arith/arith_binary.h"

#include "core/base/mem.h"
#include "core/memory/pool.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* ---- what can happen ---- */
typedef struct Extent { double least, most; bool finite; } Extent;    /* sizes of what is not 0 */

static Extent extent_of(ArithMatrix A, int64_t rows, int64_t cols)
{
    Extent e = { (double)INFINITY, 0, true };
    for (int64_t i = 0; i < rows; i++) {
        const double *x = (const double *)A.data + i * A.row;
        for (int64_t j = 0; j < cols; j++) {
            double size = fabs(x[j * A.col]);
            e.most = size > e.most ? size : e.most;
            e.least = size < e.least && size > 0 ? size : e.least;
            e.finite &= size < (double)INFINITY;
        }
    }
    return e;
}

typedef struct Product {
    Arith *acc;
    ArithMatrix C, A, B;
    int64_t n, k, panels;
    bool narrow;                  /* floats */
    BinaryTile tile;
    BinaryTileFn run;
    char *packed, *rows;          /* B in panels; a row of A and one of C for each worker */
    int64_t row_bytes;
    ArithFlags flags[64];
} Product;

/* May k products of at most that size sum up to half of `most`? Sums grow by at most a factor
 * 1 + 2^-p each. */
static bool may_leave(const Arith *a, double product, int64_t k, double most)
{
    return !(log2(product) + log2((double)k) + 3 * (double)k * ldexp(1, -a->p) < log2(most) - 1);
}

/* Up to here the number that an addition of it rounds with is finite, in floats or doubles. */
static double reach(const Arith *a, bool narrow)
{
    return ldexp(1, a->p + (narrow ? 127 - 24 : 1023 - 53));
}

/* Is the format the machine's own (and products far enough from its ends)? */
static bool is_native(const Arith *a, double least)
{
    return (a->p == 53 && least >= ldexp(1, a->emin)) ||
           (a->p == 24 && a->emin == -126 && least >= 0x1p-100);
}

/* Which loop, if any. */
static bool choose(Product *p, const Arith *a, Extent A, Extent B)
{
    double least = A.least * B.least, most = A.most * B.most;
    bool narrow = a->p <= 11 && a->emin >= -126 && a->emax <= 127 && least >= 0x1p-126 &&
                  (a->max <= reach(a, true) || !may_leave(a, most, p->k, reach(a, true)));
    bool exact = !narrow && a->emax + 2 - (a->emin - a->p + 1) <= 53;
    bool watch = most > 0 && may_leave(a, most, p->k, fmin(a->max, reach(a, narrow)));
    bool fades = least < ldexp(1, a->emin);
    BinaryTileKind kind = watch ? TILE_WATCH : fades ? TILE_FADES : TILE_NEAR;
    BinaryPlan plan = binary_plan(a);
    if (a->wide || !A.finite || !B.finite || a->round != ROUND_NEAREST || a->flush ||
        least < 0x1p-960)
        return false;
    if (exact)
        kind = watch ? TILE_EXACT_WATCH : TILE_EXACT;
    p->narrow = narrow;
    p->run = a->p <= 25 ? plan.kernels->tile[narrow][kind] : NULL;
    if (is_native(a, least) && plan.kernels->tile[a->p == 24][TILE_NATIVE]) {
        p->narrow = a->p == 24;
        p->run = plan.kernels->tile[p->narrow][TILE_NATIVE];
    }
    p->tile = (BinaryTile){ plan.least, 1.5 * ldexp(1, (p->narrow ? 24 : 53) - a->p), plan.tiny[0],
                            plan.max };
    return p->run != NULL;
}

/* ---- packing ---- */
static int64_t width(const Product *p) { return BINARY_PANEL_BYTES / (p->narrow ? 4 : 8); }

static void put(const Product *p, char *to, int64_t i, double x)
{
    if (p->narrow)
        ((float *)to)[i] = (float)x;
    else
        ((double *)to)[i] = x;
}

static void pack_panels(void *arg, int64_t begin, int64_t end, int worker)
{
    Product *p = arg;
    int64_t w = width(p);
    (void)worker;
    for (int64_t panel = begin; panel < end; panel++) {
        char *to = p->packed + panel * p->k * BINARY_PANEL_BYTES;
        int64_t from = panel * w, m = p->n - from < w ? p->n - from : w;
        for (int64_t l = 0; l < p->k; l++) {
            const double *x = (const double *)p->B.data + l * p->B.row + from * p->B.col;
            for (int64_t j = 0; j < m; j++)
                put(p, to, l * w + j, x[j * p->B.col]);
            for (int64_t j = m; j < w; j++)
                put(p, to, l * w + j, 0);
        }
    }
}

/* ---- rows ---- */
/* An element that came out as 0 is -0 if all its products are. */
static double signed_zero(const Product *p, int64_t i, int64_t j)
{
    double last = ldexp(1, p->acc->emin - p->acc->p + 1);
    for (int64_t l = 0; l < p->k; l++) {
        double a = ((const double *)p->A.data)[i * p->A.row + l * p->A.col];
        double h = a * ((const double *)p->B.data)[l * p->B.row + j * p->B.col];
        if (!signbit(h) || fabs(h) > last / 2)
            return 0.0;
    }
    return -0.0;
}

static void row_out(const Product *p, const char *c, int64_t i, int64_t from, int64_t n)
{
    double *out = (double *)p->C.data + i * p->C.row;
    for (int64_t j = 0; j < n; j++) {
        double x = p->narrow ? (double)((const float *)c)[j] : ((const double *)c)[j];
        out[(from + j) * p->C.col] = x == 0 ? signed_zero(p, i, from + j) : x;
    }
}

static void rows_part(void *arg, int64_t begin, int64_t end, int worker)
{
    Product *p = arg;
    Arith a = *p->acc;
    char *row = p->rows + worker * p->row_bytes;
    int64_t w = width(p);
    a.flags = (ArithFlags){ 0 };
    for (int64_t i = begin; i < end && !binary_stopped(&a); i++) {
        const double *x = (const double *)p->A.data + i * p->A.row;
        for (int64_t l = 0; l < p->k; l++)
            put(p, row, l, x[l * p->A.col]);
        for (int64_t panel = 0; panel < p->panels; panel++) {
            _Alignas(64) char c[BINARY_PANEL_BYTES];
            BinaryCounts counts = { 0 };
            int64_t from = panel * w, n = p->n - from < w ? p->n - from : w;
            if (p->run(&p->tile, c, row, p->packed + panel * p->k * BINARY_PANEL_BYTES, p->k,
                       &counts)) {
                binary_count(&a, &counts);
                row_out(p, c, i, from, n);
            } else {
                arith_product_row(&a, p->C, p->A, p->B, i, from, n, p->k);
            }
        }
    }
    arith_flags_add(&p->flags[worker], &a.flags);
}

static ArithMatrix turned(ArithMatrix A) { return (ArithMatrix){ A.data, A.col, A.row }; }

enum { PRODUCT_GRAIN = 1 << 15, FEW = 8 };      /* multiply-adds that pay for a thread; columns */

bool binary_matmul(Arith *acc, ArithMatrix C, ArithMatrix A, ArithMatrix B, int64_t m, int64_t n,
                   int64_t k)
{
    if (n < FEW && m > n)      /* panels want columns; products commute */
        return m >= FEW && binary_matmul(acc, turned(C), turned(B), turned(A), n, m, k);
    Product p = { .acc = acc, .C = C, .A = A, .B = B, .n = n, .k = k };
    int threads = pool_threads(acc->ctx);
    if (k < 1 || k >= 1 << 28 || n < FEW || threads > 64 ||
        !choose(&p, acc, extent_of(A, m, k), extent_of(B, k, n)))
        return false;
    p.panels = (n + width(&p) - 1) / width(&p);
    p.row_bytes = (k * (p.narrow ? 4 : 8) + 63) / 64 * 64;
    size_t bytes = (size_t)(p.panels * k * BINARY_PANEL_BYTES + threads * p.row_bytes);
    char *block = mem_try_alloc(acc->ctx, bytes);
    if (!block)
        return false;
    p.packed = block;
    p.rows = block + p.panels * k * BINARY_PANEL_BYTES;
    pool_for(acc->ctx, p.panels, PRODUCT_GRAIN / (k * width(&p)) + 1, pack_panels, &p);
    pool_for(acc->ctx, m, PRODUCT_GRAIN / (n * k) + 1, rows_part, &p);
    for (int i = 0; i < threads; i++)
        arith_flags_add(&acc->flags, &p.flags[i]);
    mem_free(acc->ctx, block, bytes);
    return true;
}
