/* Sparse matrices by dense ones. A row that is long is cut into pieces of one length, which threads
 * share; the pieces' sums are added in order. */
#include "kernels/sparse/product.h"

#include "kernels/sparse/rows.h"

#include <stdatomic.h>
#include <string.h>

enum {
    MANY = 16,                  /* entries of a row from which several sums pay */
    PIECE = 1 << 15,            /* entries of a row that one thread takes */
    AHEAD = 4096,               /* bytes that are fetched before they are needed */
    LATER = 16,                 /* entries after one whose operand's rows are fetched with it */
    BANDS_MAX = 16,             /* of rows whose sums by columns are apart */
    BAND = 1 << 15,             /* entries that a band has at least */
    BY_VECTORS = 4,             /* columns from which A' x is worth a transposed A */
};

typedef struct Product {
    Csr a;
    const char *x;
    int64_t step, k;
    char *y;
    const struct ProductFns *fns;
    size_t each;                /* bytes of an element of the dtype */
    int64_t *cut;               /* the rows that are cut */
    _Atomic int64_t cuts;
} Product;

/* Sums by columns: of each band of rows, between the columns that it reaches. */
typedef struct Band { int64_t from, to, first, last; char *sums; } Band;

typedef struct Turned {
    Csr a;
    const char *x;
    int64_t step;
    bool conj;
    char *y;
    const struct ProductFns *fns;
    size_t each;
    int bands;
    Band band[BANDS_MAX];
} Turned;

typedef struct ProductFns {
    void (*rows)(Product *, int64_t from, int64_t to);
    void (*piece)(const Product *, int64_t from, int64_t to, char *y);
    void (*add)(char *to, const char *from, int64_t k);
    void (*spread)(const Turned *, int64_t from, int64_t to, char *sums);
} ProductFns;

#define TEMPLATE "kernels/sparse/product.tmpl.h"
#include "kernels/sparse/each.h"

static const ProductFns *fns_of(DType dt)
{
    switch (dt) {
    case DT_F32: return &f32_products;
    case DT_F64: return &f64_products;
    case DT_C64: return &c64_products;
    default: assert(dt == DT_C128); return &c128_products;
    }
}

/* ---- A x ---- */
static void rows(void *arg, int64_t from, int64_t to, int worker)
{
    (void)worker;
    ((Product *)arg)->fns->rows(arg, from, to);
}

/* Pieces of the rows that are cut: row, first entry, end. */
typedef struct Pieces { const Product *p; const int64_t *piece; char *sums; } Pieces;

static void pieces(void *arg, int64_t from, int64_t to, int worker)
{
    const Pieces *q = arg;
    (void)worker;
    for (int64_t i = from; i < to; i++)
        q->p->fns->piece(q->p, q->piece[3 * i + 1], q->piece[3 * i + 2],
                         q->sums + (size_t)(i * q->p->k) * q->p->each);
}

static int64_t pieces_of(const Product *p, int64_t row)
{
    return (p->a.start[row + 1] - p->a.start[row] + PIECE - 1) / PIECE;
}

static void cut_rows(Ctx *ctx, Made *made, const Product *p)
{
    const size_t bytes = (size_t)p->k * p->each;
    int64_t count = 0, n = 0;
    for (int64_t i = 0; i < p->cuts; i++)
        count += pieces_of(p, p->cut[i]);
    Tensor *list = made_vector(ctx, made, DT_I64, 3 * count);
    Tensor *sums = made_vector(ctx, made, p->a.dtype, count * p->k);
    int64_t *piece = made_ints(list);
    for (int64_t i = 0; i < p->cuts; i++) {
        const int64_t row = p->cut[i], end = p->a.start[row + 1];
        for (int64_t k = p->a.start[row]; k < end; k += PIECE, n++) {
            piece[3 * n] = row;
            piece[3 * n + 1] = k;
            piece[3 * n + 2] = k + PIECE < end ? k + PIECE : end;
        }
    }
    Pieces q = { p, piece, sums->data };
    pool_for(ctx, count, 1, pieces, &q);
    for (int64_t i = 0; i < count; i++) {
        char *to = p->y + (size_t)piece[3 * i] * bytes;
        if (i == 0 || piece[3 * i] != piece[3 * i - 3])
            memcpy(to, sums->data + (size_t)i * bytes, bytes);
        else
            p->fns->add(to, sums->data + (size_t)i * bytes, p->k);
    }
    made_drop(ctx, made, sums);
    made_drop(ctx, made, list);
}

void csr_times_into(Ctx *ctx, Made *made, const Csr *a, const char *x, int64_t step, int64_t k,
                    char *y)
{
    Product p = { .a = *a, .x = x, .step = step, .k = k, .y = y, .fns = fns_of(a->dtype),
                  .each = dtype_info(a->dtype)->bytes };
    Tensor *cut = NULL;
    if (a->entries > PIECE)
        cut = made_vector(ctx, made, DT_I64, a->entries / PIECE);
    p.cut = cut ? made_ints(cut) : NULL;
    rows_for(ctx, a->m, a->start, rows, &p);
    made_poll(ctx, made);
    if (p.cuts)
        cut_rows(ctx, made, &p);
    made_poll(ctx, made);
    if (cut)
        made_drop(ctx, made, cut);
}

/* Its columns lie side by side after this. *own: a copy was made for it. */
static Tensor *side_by_side(Ctx *ctx, Made *made, Tensor *x, bool *own)
{
    const int64_t k = x->rank == 2 ? x->dims[1] : 1;
    *own = k > 1 && tensor_strides(x)[1] != 1;
    return *own ? made_copy(ctx, made, x) : x;
}

static int64_t row_step(const Tensor *x)
{
    return tensor_strides(x)[0];
}

Tensor *csr_times(Ctx *ctx, Made *made, const Csr *a, Tensor *x)
{
    const int64_t shape[] = { a->m, x->rank == 2 ? x->dims[1] : 1 };
    bool own;
    assert((DType)x->dtype == a->dtype && x->dims[0] == a->n);
    Tensor *y = made_tensor(ctx, made, a->dtype, x->rank, shape);
    x = side_by_side(ctx, made, x, &own);
    if (y->size)
        csr_times_into(ctx, made, a, x->data, row_step(x), shape[1], y->data);
    if (own)
        made_drop(ctx, made, x);
    return y;
}

/* ---- A' x ---- */
static void bands_run(void *arg, int64_t from, int64_t to, int worker)
{
    Turned *p = arg;
    (void)worker;
    for (int64_t b = from; b < to; b++) {
        Band *band = &p->band[b];
        const int64_t *start = p->a.start, *column = p->a.column;
        int64_t first = p->a.n, last = 0;
        for (int64_t i = band->from; i < band->to; i++) {
            if (start[i] == start[i + 1])
                continue;
            const int64_t low = column[start[i]], high = column[start[i + 1] - 1] + 1;
            first = low < first ? low : first;
            last = high > last ? high : last;
        }
        band->first = first;
        band->last = last;
        if (first < last)
            memset(band->sums + (size_t)first * p->each, 0, (size_t)(last - first) * p->each);
        p->fns->spread(p, band->from, band->to, band->sums);
    }
}

/* The first band's sums are y itself. */
static void bands_add(void *arg, int64_t from, int64_t to, int worker)
{
    const Turned *p = arg;
    (void)worker;
    for (int b = 0; b < p->bands; b++) {
        const Band *band = &p->band[b];
        int64_t low = band->first > from ? band->first : from;
        int64_t high = band->last < to ? band->last : to;
        const size_t at = (size_t)low * p->each;
        if (b == 0) {
            low = low < to ? low : to;
            high = high > low ? high : low;
            memset(p->y + (size_t)from * p->each, 0, (size_t)(low - from) * p->each);
            memset(p->y + (size_t)high * p->each, 0, (size_t)(to - high) * p->each);
        } else if (low < high)
            p->fns->add(p->y + at, band->sums + at, high - low);
    }
}

/* How many bands the data are worth: their sums take no more memory than half of the values. */
static int bands_of(const Csr *a)
{
    int64_t bands = a->entries / (2 * (a->n + 1)), most = a->entries / BAND;
    bands = bands < most ? bands : most;
    return bands < 1 ? 1 : bands > BANDS_MAX ? BANDS_MAX : (int)bands;
}

void csr_turned_times_into(Ctx *ctx, Made *made, const Csr *a, const char *x, int64_t step,
                           bool conj, char *y)
{
    enum { GRAIN = 1 << 14 };
    Turned p = { .a = *a, .x = x, .step = step, .conj = conj, .y = y, .fns = fns_of(a->dtype),
                 .each = dtype_info(a->dtype)->bytes, .bands = bands_of(a) };
    Tensor *sums = made_vector(ctx, made, a->dtype, (p.bands - 1) * a->n);
    int64_t row = 0;
    for (int b = 0; b < p.bands; b++) {
        p.band[b].from = row;
        row = b + 1 == p.bands ? a->m : rows_before(a->m, a->start, a->entries / p.bands * (b + 1));
        p.band[b].to = row;
        p.band[b].sums = b == 0 ? y : sums->data + (size_t)((b - 1) * a->n) * p.each;
    }
    pool_for(ctx, p.bands, 1, bands_run, &p);
    made_poll(ctx, made);
    pool_for(ctx, a->n, GRAIN, bands_add, &p);
    made_poll(ctx, made);
    made_drop(ctx, made, sums);
}

/* A' with its values moved there; in `made`, pattern and values. */
static Csr turned(Ctx *ctx, Made *made, const Csr *a, bool conj, Tensor *own[2])
{
    const size_t each = dtype_info(a->dtype)->bytes;
    SparseOrder order = sparse_turned(ctx, made, a);
    Tensor *value = made_vector(ctx, made, a->dtype, a->entries);
    sparse_gather(ctx, value->data, a->value, made_ints(order.order), a->entries, each);
    made_drop(ctx, made, order.order);
    if (conj && a->dtype == DT_C64)
        for (int64_t k = 0; k < a->entries; k++)
            ((float _Complex *)value->data)[k] = ~((float _Complex *)value->data)[k];
    if (conj && a->dtype == DT_C128)
        for (int64_t k = 0; k < a->entries; k++)
            ((double _Complex *)value->data)[k] = ~((double _Complex *)value->data)[k];
    own[0] = order.pattern;
    own[1] = value;
    const int64_t *start = made_ints(order.pattern);
    return (Csr){ .m = a->n, .n = a->m, .entries = a->entries, .start = start,
                  .column = start + a->n + 1, .value = value->data, .dtype = a->dtype };
}

Tensor *csr_turned_times(Ctx *ctx, Made *made, const Csr *a, Tensor *x, bool conj)
{
    const int64_t k = x->rank == 2 ? x->dims[1] : 1, shape[] = { a->n, k };
    assert((DType)x->dtype == a->dtype && x->dims[0] == a->m);
    if (k == 1) {
        Tensor *y = made_tensor(ctx, made, a->dtype, x->rank, shape);
        csr_turned_times_into(ctx, made, a, x->data, row_step(x), conj, y->data);
        return y;
    }
    Tensor *own[2];
    const Csr t = turned(ctx, made, a, conj, own);
    Tensor *y = csr_times(ctx, made, &t, x);
    made_drop(ctx, made, own[0]);
    made_drop(ctx, made, own[1]);
    return y;
}

/* ---- x A: rows of x one after the other, or all of them by A' ---- */
Tensor *csr_times_from_left(Ctx *ctx, Made *made, Tensor *x, const Csr *a)
{
    const int64_t k = x->dims[0], shape[] = { k, a->n }, *step = tensor_strides(x);
    const size_t each = dtype_info(a->dtype)->bytes;
    assert((DType)x->dtype == a->dtype && x->rank == 2 && x->dims[1] == a->m);
    if (k < BY_VECTORS) {
        Tensor *y = made_tensor(ctx, made, a->dtype, 2, shape);
        for (int64_t i = 0; i < k; i++)
            csr_turned_times_into(ctx, made, a, x->data + i * step[0] * (int64_t)each, step[1],
                                  false, y->data + (size_t)(i * a->n) * each);
        return y;
    }
    Tensor *across = made_transposed(ctx, made, x);
    Tensor *down = csr_turned_times(ctx, made, a, across, false);
    Tensor *y = made_transposed(ctx, made, down);
    made_drop(ctx, made, across);
    made_drop(ctx, made, down);
    return y;
}
