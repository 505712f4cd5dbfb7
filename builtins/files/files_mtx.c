/* Matrix Market files (Boisvert, Pozo, Remington: The Matrix Market Exchange Formats,
 * NISTIR 5935): coordinate and array; real, double, integer, complex, pattern; general,
 * symmetric, skew-symmetric, hermitian. Read into a dense matrix; entries at one place are
 * summed, as sparse matrices are assembled. */
#include "builtins/files/files.h"
#include "core/system/ascii.h"
#include "interp/show/show.h"

#include <string.h>

typedef enum MtxField { MTX_REAL, MTX_INTEGER, MTX_COMPLEX, MTX_PATTERN } MtxField;
typedef enum MtxSymmetry { MTX_GENERAL, MTX_SYMMETRIC, MTX_SKEW, MTX_HERMITIAN } MtxSymmetry;

typedef struct MtxReader {
    OpCall *call;
    const char *path, *at, *end;
    int64_t line;
    bool coordinate;
    MtxField field;
    MtxSymmetry symmetry;
    int64_t rows, columns, entries;
    Tensor *t;
} MtxReader;

static _Noreturn void mtx_error(MtxReader *r, const char *what)
{
    file_error(r->call, r->path, "line %lld: %s", (long long)r->line, what);
}

/* The banner's next word, lower-cased. */
static void mtx_word(MtxReader *r, char *word, size_t cap)
{
    size_t n = 0;
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
        r->at++;
    while (r->at < r->end && !ascii_space(*r->at) && n + 1 < cap)
        word[n++] = ascii_to_lower(*r->at++);
    word[n] = '\0';
}

static void mtx_next_line(MtxReader *r)
{
    const char *newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
    r->at = newline ? newline + 1 : r->end;
    r->line++;
}

static void mtx_banner(MtxReader *r)
{
    char word[5][24];
    for (int i = 0; i < 5; i++)
        mtx_word(r, word[i], sizeof word[i]);
    if (strcmp(word[0], "%%matrixmarket") != 0 || strcmp(word[1], "matrix") != 0)
        mtx_error(r, "a Matrix Market file starts with `%%MatrixMarket matrix …`");
    r->coordinate = strcmp(word[2], "coordinate") == 0;
    if (!r->coordinate && strcmp(word[2], "array") != 0)
        mtx_error(r, "the format is neither coordinate nor array");
    if (strcmp(word[3], "real") == 0 || strcmp(word[3], "double") == 0)
        r->field = MTX_REAL;
    else if (strcmp(word[3], "integer") == 0)
        r->field = MTX_INTEGER;
    else if (strcmp(word[3], "complex") == 0)
        r->field = MTX_COMPLEX;
    else if (strcmp(word[3], "pattern") == 0 && r->coordinate)
        r->field = MTX_PATTERN;
    else
        mtx_error(r, "the field is not real, integer, complex or (coordinate only) pattern");
    if (strcmp(word[4], "general") == 0)
        r->symmetry = MTX_GENERAL;
    else if (strcmp(word[4], "symmetric") == 0)
        r->symmetry = MTX_SYMMETRIC;
    else if (strcmp(word[4], "skew-symmetric") == 0)
        r->symmetry = MTX_SKEW;
    else if (strcmp(word[4], "hermitian") == 0)
        r->symmetry = MTX_HERMITIAN;
    else
        mtx_error(r, "the symmetry is not general, symmetric, skew-symmetric or hermitian");
    mtx_next_line(r);
}

/* Moves to the next line that holds anything but blanks or a comment; false at the end. */
static bool mtx_content(MtxReader *r)
{
    while (r->at < r->end) {
        while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r'))
            r->at++;
        if (r->at < r->end && *r->at != '\n' && *r->at != '%')
            return true;
        if (r->at < r->end)
            mtx_next_line(r);
    }
    return false;
}

/* The next word of the line, which is to be there. */
static size_t mtx_number(MtxReader *r, const char **word, const char *what)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
        r->at++;
    *word = r->at;
    while (r->at < r->end && !ascii_space(*r->at))
        r->at++;
    if (r->at == *word)
        mtx_error(r, what);
    return (size_t)(r->at - *word);
}

static _Noreturn void mtx_bad_word(MtxReader *r, const char *word, size_t n, const char *wanted)
{
    file_error(r->call, r->path, "line %lld: \"%.*s\" is not %s", (long long)r->line,
               n > 40 ? 40 : (int)n, word, wanted);
}

static int64_t mtx_int(MtxReader *r, const char *what)
{
    const char *word;
    int64_t v;
    size_t n = mtx_number(r, &word, what);
    if (!text_int(word, n, &v))
        mtx_bad_word(r, word, n, "a whole number below 2^63");
    return v;
}

static double mtx_float(MtxReader *r, const char *what)
{
    const char *word;
    double v;
    size_t n = mtx_number(r, &word, what);
    if (!text_float(word, n, &v))
        mtx_bad_word(r, word, n, "a number");
    return v;
}

/* Nothing but blanks may follow on a line of sizes or coordinates. */
static void mtx_line_end(MtxReader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
    if (r->at < r->end && *r->at != '\n')
        mtx_error(r, "text after the last number of the line");
    mtx_next_line(r);
}

/* Every entry takes at least two bytes of what is left. */
static void mtx_check_entries(MtxReader *r)
{
    int64_t n = r->rows, half = 0, entries = r->entries;
    if (!r->coordinate && r->symmetry != MTX_GENERAL) {
        if (__builtin_mul_overflow(n, r->symmetry == MTX_SKEW ? n - 1 : n + 1, &half))
            mtx_error(r, "the size is too large");
        entries = half / 2;
    }
    if (entries > (r->end - r->at + 1) / 2)
        file_error(r->call, r->path,
                   "line %lld: the size line promises %lld entries, more than the %lld bytes after "
                   "it can hold",
                   (long long)r->line, (long long)entries, (long long)(r->end - r->at));
    r->entries = entries;
}

static void mtx_sizes(MtxReader *r)
{
    if (!mtx_content(r))
        mtx_error(r, "the size line is missing");
    r->rows = mtx_int(r, "the size line needs rows and columns");
    r->columns = mtx_int(r, "the size line needs rows and columns");
    if (r->rows < 0 || r->columns < 0)
        mtx_error(r, "a size is negative");
    int64_t size = shape_size(2, (int64_t[]){ r->rows, r->columns });
    if (size < 0 || size > TENSOR_SIZE_MAX / 16)
        mtx_error(r, "the matrix has more elements than can be counted");
    r->entries = r->coordinate ? mtx_int(r, "the size line needs rows, columns and entries") : size;
    if (r->symmetry != MTX_GENERAL && r->rows != r->columns)
        file_error(r->call, r->path,
                   "line %lld: a symmetric matrix must be square, this is %lld×%lld",
                   (long long)r->line, (long long)r->rows, (long long)r->columns);
    if (r->entries < 0)
        mtx_error(r, "the number of entries is negative");
    mtx_check_entries(r);
    mtx_line_end(r);
}

static void mtx_add(MtxReader *r, int64_t i, int64_t j, double re, double im, int64_t whole)
{
    int64_t at = i * r->columns + j;
    if (r->field == MTX_INTEGER) {
        int64_t *to = &((int64_t *)r->t->data)[at];
        if (__builtin_add_overflow(*to, whole, to))
            mtx_error(r, "the sum of the entries at this place is over 2^63");
    } else if (r->field == MTX_COMPLEX) {
        double *to = (double *)r->t->data + 2 * at;
        to[0] = to[0] == 0 ? re : to[0] + re;          /* keeps the sign of a stored -0 */
        to[1] = to[1] == 0 ? im : to[1] + im;
    } else {
        double *to = &((double *)r->t->data)[at];
        *to = *to == 0 ? re : *to + re;
    }
}

static void mtx_check_diagonal(MtxReader *r, double re, double im, int64_t whole)
{
    if (r->symmetry == MTX_SKEW && (re != 0 || im != 0 || whole != 0) && r->field != MTX_PATTERN)
        mtx_error(r, "the diagonal of a skew-symmetric matrix is zero, this entry is not");
    if (r->symmetry == MTX_HERMITIAN && im != 0)
        mtx_error(r, "the diagonal of a Hermitian matrix is real, this entry is not");
}

/* The value of entry (i, j), and by symmetry of (j, i). */
static void mtx_entry(MtxReader *r, int64_t i, int64_t j)
{
    double re = 1, im = 0;
    int64_t whole = 0;
    if (r->field == MTX_INTEGER) {
        whole = mtx_int(r, "the value of an entry is missing");
        re = 0;
    } else if (r->field != MTX_PATTERN) {
        re = mtx_float(r, "the value of an entry is missing");
    }
    if (r->field == MTX_COMPLEX)
        im = mtx_float(r, "the imaginary part of an entry is missing");
    mtx_add(r, i, j, re, im, whole);
    if (i == j)
        mtx_check_diagonal(r, re, im, whole);
    if (i == j || r->symmetry == MTX_GENERAL)
        return;
    bool skew = r->symmetry == MTX_SKEW, conjugate = r->symmetry == MTX_HERMITIAN;
    if (skew && whole == INT64_MIN)
        mtx_error(r, "the entry's negative is over 2^63");
    mtx_add(r, j, i, skew ? -re : re, skew || conjugate ? -im : im, skew ? -whole : whole);
}

static void mtx_coordinates(MtxReader *r)
{
    for (int64_t k = 0; k < r->entries; k++) {
        if (!mtx_content(r))
            file_error(r->call, r->path, "line %lld: the file ends after %lld of %lld entries",
                       (long long)r->line, (long long)k, (long long)r->entries);
        int64_t i = mtx_int(r, "a row number is missing");
        int64_t j = mtx_int(r, "a column number is missing");
        if (i < 1 || i > r->rows || j < 1 || j > r->columns)
            file_error(r->call, r->path,
                       "line %lld: entry (%lld, %lld) is outside a %lld×%lld matrix",
                       (long long)r->line, (long long)i, (long long)j, (long long)r->rows,
                       (long long)r->columns);
        mtx_entry(r, i - 1, j - 1);
        mtx_line_end(r);
        if (k % 4096 == 0)
            poll_interrupt(r->call->in);
    }
}

/* Column by column; a symmetric array holds its lower triangle, a skew one without the
 * diagonal. */
static void mtx_array(MtxReader *r)
{
    for (int64_t j = 0; j < r->columns; j++) {
        int64_t first = r->symmetry == MTX_GENERAL ? 0 : r->symmetry == MTX_SKEW ? j + 1 : j;
        for (int64_t i = first; i < r->rows; i++) {
            if (!mtx_content(r))
                file_error(r->call, r->path, "line %lld: the file ends before entry (%lld, %lld)",
                           (long long)r->line, (long long)i + 1, (long long)j + 1);
            mtx_entry(r, i, j);
        }
        poll_interrupt(r->call->in);
    }
}

Value mtx_load(OpCall *c, const char *path)
{
    Str *text = file_read(c, path);
    MtxReader r = {
        .call = c, .path = path, .at = text->text, .end = text->text + text->len, .line = 1
    };
    mtx_banner(&r);
    mtx_sizes(&r);
    DType dt = r.field == MTX_INTEGER ? DT_I64 : r.field == MTX_COMPLEX ? DT_C128 : DT_F64;
    r.t = op_keep(c, tensor_zeros(&c->in->ctx, dt, 2, (int64_t[]){ r.rows, r.columns }));
    if (r.coordinate)
        mtx_coordinates(&r);
    else
        mtx_array(&r);
    if (mtx_content(&r))
        mtx_error(&r, "text after the last entry that the size line promises");
    return op_result(c, r.t);
}

/* ---- writing ---- */

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

static void mtx_put(Buf *b, const MtxWriter *w, int64_t i, int64_t j)
{
    DType part = dtype_real(w->dtype);
    if (w->kind == 'c') {
        show_float(b, creal(mtx_value(w, i, j)), part);
        buf_putc(b, ' ');
        show_float(b, cimag(mtx_value(w, i, j)), part);
    } else if (w->kind == 'f') {
        show_float(b, element_f64(w->dtype, mtx_at(w, i, j)), part);
    } else {
        buf_printf(b, "%lld", (long long)element_i64(w->dtype, mtx_at(w, i, j)));
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
            mtx_put(b, w, i, j);
        }
    }
}

static void mtx_text(OpCall *c, Buf *b, const MtxWriter *w)
{
    static const char *const symmetries[] = { "general", "symmetric", "skew-symmetric",
                                              "hermitian" };
    buf_printf(b, "%%%%MatrixMarket matrix %s %s %s\n%lld %lld", w->sparse ? "coordinate" : "array",
               w->kind == 'c'   ? "complex"
               : w->kind == 'f' ? "real"
                                : "integer",
               symmetries[w->symmetry], (long long)tensor_shape(w->t)[0],
               (long long)tensor_shape(w->t)[1]);
    if (w->sparse)
        buf_printf(b, " %lld", (long long)w->entries);
    buf_putc(b, '\n');
    mtx_body(c, b, w);
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
    Buf b;
    buf_init(&b, ctx);
    ErrFrame frame;
    if (!ERR_TRY(ctx, &frame)) {
        buf_free(&b);
        err_rethrow(ctx);
    }
    mtx_text(c, &b, &w);
    FilePart part = { buf_cstr(&b), b.len };
    file_replace(c, path, &part, 1);
    ERR_END(ctx, &frame);
    buf_free(&b);
}
