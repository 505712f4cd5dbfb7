/* Matrix Market files, written: dense matrices as arrays or coordinates, whichever is shorter, and
 * sparse ones by their entries; what is symmetric, skew-symmetric or Hermitian by its lower
 * triangle. */
#include "builtins/files/files_mtx.h"
#include "builtins/files/files_sparse.h"
#include "core/memory/pool.h"
#include "interp/show/show.h"

#include <string.h>

typedef struct MtxWriter {
    const Tensor *t;               /* contiguous */
    DType dtype;
    char kind;                     /* of dtype_info */
    MtxSymmetry symmetry;
    bool sparse;
    int64_t entries;               /* that are written when sparse */
} MtxWriter;

static const char *mtx_at(const MtxWriter *w, int64_t i, int64_t j)
{
    return w->t->data + (i * tensor_shape(w->t)[1] + j) * dtype_info(w->dtype)->bytes;
}

static double _Complex mtx_value(const MtxWriter *w, int64_t i, int64_t j)
{
    return element_c128(w->dtype, mtx_at(w, i, j));
}

static bool mtx_same(double _Complex a, double _Complex b)
{
    return creal(a) == creal(b) && cimag(a) == cimag(b);
}

/* Ints above 2^53 differ where their f64 values do not. */
static bool mtx_equal(const MtxWriter *w, int64_t i, int64_t j, bool negative)
{
    int64_t a = element_i64(w->dtype, mtx_at(w, i, j)), b = element_i64(w->dtype, mtx_at(w, j, i));
    return negative ? a != INT64_MIN && b == -a : a == b;
}

/* The first symmetry that all pairs have; a matrix with nan on both sides has none. */
static MtxSymmetry mtx_symmetry(OpCall *c, const MtxWriter *w)
{
    int64_t n = tensor_shape(w->t)[0];
    bool symmetric = true, skew = true, hermitian = w->kind == 'c',
         whole = w->kind == 'i' || w->kind == 'b';
    if (n != tensor_shape(w->t)[1] || n < 2)
        return MTX_GENERAL;
    for (int64_t i = 0; i < n && (symmetric || skew || hermitian); i++) {
        poll_interrupt(c->in);
        for (int64_t j = 0; j <= i; j++) {
            double _Complex a = mtx_value(w, i, j), b = mtx_value(w, j, i);
            symmetric &= whole ? mtx_equal(w, i, j, false) : mtx_same(a, b);
            skew &= whole ? mtx_equal(w, i, j, true) : mtx_same(a, -b);
            hermitian &= mtx_same(a, conj(b));
        }
    }
    return symmetric ? MTX_SYMMETRIC : skew ? MTX_SKEW : hermitian ? MTX_HERMITIAN : MTX_GENERAL;
}

/* The first row of column j that is written. */
static int64_t mtx_first(const MtxWriter *w, int64_t j)
{
    return w->symmetry == MTX_GENERAL ? 0 : w->symmetry == MTX_SKEW ? j + 1 : j;
}

/* Coordinates pay where fewer than a third of the entries are not zero. */
static void mtx_count(MtxWriter *w)
{
    int64_t m = tensor_shape(w->t)[0], n = tensor_shape(w->t)[1], all = 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = mtx_first(w, j); i < m; i++, all++)
            w->entries += mtx_value(w, i, j) != 0;
    w->sparse = w->entries * 3 < all;
}

static void mtx_put(Buf *b, DType dt, const char *element)
{
    DType part = dtype_real(dt);
    char kind = dtype_info(dt)->kind;
    if (kind == 'c') {
        double _Complex z = element_c128(dt, element);
        show_float(b, creal(z), part);
        buf_putc(b, ' ');
        show_float(b, cimag(z), part);
    } else if (kind == 'f') {
        show_float(b, element_f64(dt, element), part);
    } else {
        buf_printf(b, "%lld", (long long)element_i64(dt, element));
    }
    buf_putc(b, '\n');
}

/* Column by column, as the array format wants. */
static void mtx_body(OpCall *c, Buf *b, const MtxWriter *w)
{
    int64_t m = tensor_shape(w->t)[0], n = tensor_shape(w->t)[1];
    for (int64_t j = 0; j < n; j++) {
        poll_interrupt(c->in);
        for (int64_t i = mtx_first(w, j); i < m; i++) {
            if (w->sparse && mtx_value(w, i, j) == 0)
                continue;
            if (w->sparse)
                buf_printf(b, "%lld %lld ", (long long)i + 1, (long long)j + 1);
            mtx_put(b, w->dtype, mtx_at(w, i, j));
        }
    }
}

static void mtx_head(Buf *b, const char *format, char kind, MtxSymmetry symmetry, int64_t m,
                     int64_t n)
{
    static const char *const symmetries[] = { "general", "symmetric", "skew-symmetric",
                                              "hermitian" };
    buf_printf(b, "%%%%MatrixMarket matrix %s %s %s\n%lld %lld", format,
               kind == 'c'   ? "complex"
               : kind == 'f' ? "real"
                             : "integer",
               symmetries[symmetry], (long long)m, (long long)n);
}

static void mtx_text(OpCall *c, Buf *b, const MtxWriter *w)
{
    mtx_head(b, w->sparse ? "coordinate" : "array", w->kind, w->symmetry, tensor_shape(w->t)[0],
             tensor_shape(w->t)[1]);
    if (w->sparse)
        buf_printf(b, " %lld", (long long)w->entries);
    buf_putc(b, '\n');
    mtx_body(c, b, w);
}

static void entries_text(OpCall *, Buf *, const Csr *);

/* Of one of the two. */
static void mtx_write(OpCall *c, const char *path, const MtxWriter *dense, const Csr *sparse)
{
    Ctx *ctx = &c->in->ctx;
    Buf b;
    buf_init(&b, ctx);
    ErrFrame frame;
    if (!ERR_TRY(ctx, &frame)) {
        buf_free(&b);
        err_rethrow(ctx);
    }
    if (dense)
        mtx_text(c, &b, dense);
    else
        entries_text(c, &b, sparse);
    FilePart part = { buf_cstr(&b), b.len };
    file_replace(c, path, &part, 1);
    ERR_END(ctx, &frame);
    buf_free(&b);
}

void mtx_save(OpCall *c, const char *path, Tensor *t)
{
    Ctx *ctx = &c->in->ctx;
    if (t->rank != 2) {
        char text[128];
        err_raise_help(ctx, ERR_SHAPE, "save v' for a vector, or use .npy",
                       "a .mtx file holds a matrix, this %s",
                       shape_fact(text, sizeof text, t->rank, tensor_shape(t)));
    }
    if (show_is_number((DType)t->dtype) || dtype_wide_pair((DType)t->dtype))
        stored_refuse(c, (DType)t->dtype, arg_text(c, 1));
    MtxWriter w = { .t = op_keep(c, tensor_compact(ctx, t)), .dtype = (DType)t->dtype,
                    .kind = dtype_info(t->dtype)->kind };
    w.symmetry = mtx_symmetry(c, &w);
    mtx_count(&w);
    mtx_write(c, path, &w, NULL);
}

/* ---- entries ---- */
typedef struct Mirror { bool symmetric, skew, hermitian; } Mirror;

/* What the entries x at (i, j) and y at (j, i) leave of it. */
static void mirror_look(Mirror *is, DType dt, const char *x, const char *y, bool diagonal)
{
    double _Complex a = element_c128(dt, x), b = element_c128(dt, y);
    is->symmetric &= mtx_same(a, b);
    is->skew &= !diagonal && mtx_same(a, -b);
    is->hermitian &= mtx_same(a, conj(b));
}

/* The symmetry that all entries have, stored zeros among them. */
static MtxSymmetry entries_symmetry(OpCall *c, const Csr *a)
{
    Made made = { 0 };
    Mirror is = { true, true, dtype_info(a->dtype)->kind == 'c' };
    const size_t each = dtype_info(a->dtype)->bytes;
    if (a->m != a->n || a->n < 2)
        return MTX_GENERAL;
    SparseOrder turned = sparse_turned(&c->in->ctx, &made, a);
    const int64_t *start = made_ints(turned.pattern), *order = made_ints(turned.order);
    if (memcmp(start, a->start, (size_t)(a->m + 1) * sizeof *start) != 0 ||
        memcmp(start + a->m + 1, a->column, (size_t)a->entries * sizeof *start) != 0)
        is = (Mirror){ false, false, false };
    const char *value = a->value;
    for (int64_t i = 0; i < a->m && (is.symmetric || is.skew || is.hermitian); i++)
        for (int64_t k = a->start[i]; k < a->start[i + 1]; k++)
            mirror_look(&is, a->dtype, value + (size_t)k * each, value + (size_t)order[k] * each,
                        a->column[k] == i);
    made_end(&c->in->ctx, &made);
    return is.symmetric ? MTX_SYMMETRIC : is.skew ? MTX_SKEW : is.hermitian ? MTX_HERMITIAN
                                                                            : MTX_GENERAL;
}

static bool entry_written(MtxSymmetry symmetry, int64_t i, int64_t j)
{
    return symmetry == MTX_GENERAL || j < i || (j == i && symmetry != MTX_SKEW);
}

/* ---- their text, by all threads ---- */
enum { CHUNK = 4096, ENTRY_MAX = 2 * 21 + 2 * (DECIMAL_TEXT_MAX + 1) };

/* A round of chunks of entries, each with room for its text. */
typedef struct EntriesText {
    const Csr *a;
    MtxSymmetry symmetry;
    int64_t first, chunks;           /* of this round */
    char *text;
    int64_t *length;
} EntriesText;

static char *put_whole(char *p, int64_t v)
{
    char digits[24];
    int n = 0;
    uint64_t u = v < 0 ? -(uint64_t)v : (uint64_t)v;
    do
        digits[n++] = (char)('0' + u % 10);
    while (u /= 10);
    if (v < 0)
        *p++ = '-';
    while (n > 0)
        *p++ = digits[--n];
    return p;
}

static char *put_number(char *p, double x, DType part)
{
    Decimal d;
    decimal_shortest(&d, x, part);
    return p + decimal_text(p, &d, -4, 16);
}

static char *put_entry(char *p, const Csr *a, int64_t i, int64_t k)
{
    const char *x = (const char *)a->value + (size_t)k * dtype_info(a->dtype)->bytes;
    const DType part = dtype_real(a->dtype);
    p = put_whole(p, i + 1);
    *p++ = ' ';
    p = put_whole(p, a->column[k] + 1);
    *p++ = ' ';
    if (dtype_info(a->dtype)->kind == 'c') {
        double _Complex z = element_c128(a->dtype, x);
        p = put_number(p, creal(z), part);
        *p++ = ' ';
        p = put_number(p, cimag(z), part);
    } else if (dtype_info(a->dtype)->kind == 'f') {
        p = put_number(p, element_f64(a->dtype, x), part);
    } else {
        p = put_whole(p, element_i64(a->dtype, x));
    }
    *p++ = '\n';
    return p;
}

/* The row of entry k. */
static int64_t row_of(const Csr *a, int64_t k)
{
    int64_t low = 0, high = a->m;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (a->start[middle] <= k)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void put_chunks(void *arg, int64_t from, int64_t to, int worker)
{
    EntriesText *t = arg;
    const Csr *a = t->a;
    (void)worker;
    for (int64_t c = from; c < to; c++) {
        char *begin = t->text + c * CHUNK * ENTRY_MAX, *p = begin;
        int64_t k = (t->first + c) * CHUNK, end = k + CHUNK < a->entries ? k + CHUNK : a->entries;
        for (int64_t i = row_of(a, k); k < end; k++) {
            while (k >= a->start[i + 1])
                i++;
            if (entry_written(t->symmetry, i, a->column[k]))
                p = put_entry(p, a, i, k);
        }
        t->length[c] = p - begin;
    }
}

/* Row by row. */
static void entries_text(OpCall *c, Buf *b, const Csr *a)
{
    Ctx *ctx = &c->in->ctx;
    EntriesText t = { .a = a, .symmetry = entries_symmetry(c, a) };
    int64_t count = 0, chunks = (a->entries + CHUNK - 1) / CHUNK, most = 8 * pool_threads(ctx);
    for (int64_t i = 0; i < a->m; i++)
        for (int64_t k = a->start[i]; k < a->start[i + 1]; k++)
            count += entry_written(t.symmetry, i, a->column[k]);
    mtx_head(b, "coordinate", dtype_info(a->dtype)->kind, t.symmetry, a->m, a->n);
    buf_printf(b, " %lld\n", (long long)count);
    t.chunks = chunks < most ? chunks : most;
    const int64_t room = t.chunks * CHUNK * ENTRY_MAX;
    t.text = op_keep(c, tensor_new(ctx, DT_U8, 1, &room))->data;
    t.length = (int64_t *)op_keep(c, tensor_new(ctx, DT_I64, 1, &t.chunks))->data;
    for (; t.first < chunks; t.first += t.chunks) {
        int64_t now = chunks - t.first < t.chunks ? chunks - t.first : t.chunks;
        pool_for(ctx, now, 1, put_chunks, &t);
        poll_interrupt(c->in);
        for (int64_t k = 0; k < now; k++)
            buf_put(b, t.text + k * CHUNK * ENTRY_MAX, (size_t)t.length[k]);
    }
}

void mtx_save_sparse(OpCall *c, const char *path, const Sparse *s)
{
    const Csr a = sparse_csr(s);
    mtx_write(c, path, NULL, &a);
}
