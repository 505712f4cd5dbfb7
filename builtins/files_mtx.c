/* Matrix Market files (Boisvert, Pozo, Remington: The Matrix Market Exchange Formats,
 * NISTIR 5935): coordinate and array; real, double, integer, complex, pattern; general,
 * symmetric, skew-symmetric, hermitian. Read into a dense matrix. */
#include "builtins/files.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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
    while (r->at < r->end && !isspace((unsigned char)*r->at) && n + 1 < cap)
        word[n++] = (char)tolower((unsigned char)*r->at++);
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

/* Numbers never cross a line: strtoll and strtod would skip newlines. */
static void mtx_blanks(MtxReader *r, const char *what)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
        r->at++;
    if (r->at >= r->end || *r->at == '\n' || *r->at == '\r')
        mtx_error(r, what);
}

static int64_t mtx_int(MtxReader *r, const char *what)
{
    mtx_blanks(r, what);
    char *end;
    errno = 0;
    long long v = strtoll(r->at, &end, 10);
    if (end == r->at || errno)
        mtx_error(r, what);
    r->at = end;
    return v;
}

static double mtx_float(MtxReader *r)
{
    mtx_blanks(r, "a number is missing");
    char *end;
    double v = strtod(r->at, &end);
    if (end == r->at)
        mtx_error(r, "not a number");
    r->at = end;
    return v;
}

static void mtx_sizes(MtxReader *r)
{
    if (!mtx_content(r))
        mtx_error(r, "the size line is missing");
    r->rows = mtx_int(r, "the size line needs rows and columns");
    r->columns = mtx_int(r, "the size line needs rows and columns");
    if (r->rows < 0 || r->columns < 0)
        mtx_error(r, "a size is negative");
    if (r->coordinate)
        r->entries = mtx_int(r, "the size line needs rows, columns and entries");
    else if (__builtin_mul_overflow(r->rows, r->columns, &r->entries))
        mtx_error(r, "the size is too large");
    if (r->symmetry != MTX_GENERAL && r->rows != r->columns)
        mtx_error(r, "a symmetric matrix must be square");
    if (r->entries < 0 || r->entries / 2 > r->end - r->at + 1)
        if (r->coordinate || r->symmetry == MTX_GENERAL)
            mtx_error(r, "the size line promises more entries than the file can hold");
    mtx_next_line(r);
}

static void mtx_store(MtxReader *r, int64_t i, int64_t j, double re, double im, int64_t whole)
{
    int64_t at = i * r->columns + j;
    if (r->field == MTX_INTEGER)
        ((int64_t *)r->t->data)[at] = whole;
    else if (r->field == MTX_COMPLEX)
        memcpy(r->t->data + at * 16, (double[]){ re, im }, 16);
    else
        ((double *)r->t->data)[at] = re;
}

static void mtx_entry(MtxReader *r, int64_t i, int64_t j)
{
    double re = 1, im = 0;
    int64_t whole = 0;
    if (r->field == MTX_INTEGER)
        whole = mtx_int(r, "not an integer");
    else if (r->field != MTX_PATTERN)
        re = mtx_float(r);
    if (r->field == MTX_COMPLEX)
        im = mtx_float(r);
    mtx_store(r, i, j, re, im, whole);
    if (i == j || r->symmetry == MTX_GENERAL)
        return;
    bool skew = r->symmetry == MTX_SKEW;
    bool conjugate = r->symmetry == MTX_HERMITIAN;
    mtx_store(r, j, i, skew ? -re : re, skew || conjugate ? -im : im, skew ? -whole : whole);
}

static void mtx_coordinates(MtxReader *r)
{
    for (int64_t k = 0; k < r->entries; k++) {
        if (!mtx_content(r))
            file_error(r->call, r->path, "the file ends after %lld of %lld entries", (long long)k,
                       (long long)r->entries);
        int64_t i = mtx_int(r, "a row number is missing") - 1;
        int64_t j = mtx_int(r, "a column number is missing") - 1;
        if (i < 0 || i >= r->rows || j < 0 || j >= r->columns)
            file_error(r->call, r->path, "line %lld: entry (%lld, %lld) is outside a %lld×%lld matrix",
                       (long long)r->line, (long long)i + 1, (long long)j + 1, (long long)r->rows,
                       (long long)r->columns);
        mtx_entry(r, i, j);
        mtx_next_line(r);
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
                file_error(r->call, r->path, "the file ends before entry (%lld, %lld)", (long long)i + 1,
                           (long long)j + 1);
            mtx_entry(r, i, j);
        }
    }
}

Value mtx_load(OpCall *c, const char *path)
{
    Str *text = file_read(c, path);
    MtxReader r = { .call = c, .path = path, .at = text->text, .end = text->text + text->len, .line = 1 };
    mtx_banner(&r);
    mtx_sizes(&r);
    DType dt = r.field == MTX_INTEGER ? DT_I64 : r.field == MTX_COMPLEX ? DT_C128 : DT_F64;
    r.t = op_keep(c, tensor_zeros(&c->in->ctx, dt, 2, (int64_t[]){ r.rows, r.columns }));
    if (r.coordinate)
        mtx_coordinates(&r);
    else
        mtx_array(&r);
    if (mtx_content(&r))
        mtx_error(&r, "text after the last entry");
    return op_result(c, r.t);
}

/* ---- writing ---- */

static void mtx_put(Buf *b, const Tensor *t, int64_t at)
{
    if (t->dtype == DT_I64) {
        buf_printf(b, "%lld\n", (long long)((int64_t *)t->data)[at]);
    } else if (t->dtype == DT_C128) {
        double _Complex z = ((double _Complex *)t->data)[at];
        buf_printf(b, "%.17g %.17g\n", creal(z), cimag(z));
    } else {
        show_float(b, ((double *)t->data)[at], DT_F64);
        buf_putc(b, '\n');
    }
}

static bool mtx_zero(const Tensor *t, int64_t at)
{
    return element_c128((DType)t->dtype, t->data + at * dtype_info[t->dtype].bytes) == 0;
}

/* Column-major, as the array format wants; coordinates list nonzeros only. */
static void mtx_body(OpCall *c, Buf *b, const Tensor *t, bool sparse)
{
    int64_t m = tensor_shape(t)[0], n = tensor_shape(t)[1];
    for (int64_t j = 0; j < n; j++) {
        poll_interrupt(c->in);
        for (int64_t i = 0; i < m; i++) {
            if (sparse && mtx_zero(t, i * n + j))
                continue;
            if (sparse)
                buf_printf(b, "%lld %lld ", (long long)i + 1, (long long)j + 1);
            mtx_put(b, t, i * n + j);
        }
    }
}

void mtx_save(OpCall *c, const char *path, Tensor *t)
{
    Ctx *ctx = &c->in->ctx;
    if (t->rank != 2) {
        char text[128];
        err_raise(ctx, ERR_SHAPE, "a .mtx file holds a matrix, this tensor has shape (%s)",
                  shape_text(text, sizeof text, t->rank, tensor_shape(t)));
    }
    char kind = dtype_info[t->dtype].kind;
    DType dt = kind == 'c' ? DT_C128 : kind == 'f' ? DT_F64 : DT_I64;
    Tensor *wide = op_keep(c, tensor_compact(ctx, op_keep(c, tensor_cast(ctx, t, dt))));
    int64_t nonzero = 0;
    for (int64_t k = 0; k < wide->size; k++)
        nonzero += !mtx_zero(wide, k);
    bool sparse = nonzero * 3 < wide->size;
    Buf b;
    buf_init(&b, ctx);
    ErrFrame frame;
    if (!ERR_TRY(ctx, &frame)) {
        buf_free(&b);
        err_rethrow(ctx);
    }
    buf_printf(&b, "%%%%MatrixMarket matrix %s %s general\n%lld %lld", sparse ? "coordinate" : "array",
               dt == DT_C128 ? "complex" : dt == DT_I64 ? "integer" : "real", (long long)tensor_shape(wide)[0],
               (long long)tensor_shape(wide)[1]);
    if (sparse)
        buf_printf(&b, " %lld", (long long)nonzero);
    buf_putc(&b, '\n');
    mtx_body(c, &b, wide, sparse);
    file_replace(c, path, &b, "", 0);
    ERR_END(ctx, &frame);
    buf_free(&b);
}
