/* Matrix Market files (Boisvert, Pozo, Remington: The Matrix Market Exchange Formats,
 * NISTIR 5935): coordinate and array; real, double, integer, complex, pattern; general,
 * symmetric, skew-symmetric, hermitian. Read into a dense matrix or into entries; those at one
 * place are summed, as sparse matrices are assembled. */
#include "builtins/files/files_mtx.h"
#include "builtins/files/files_sparse.h"
#include "core/system/ascii.h"

#include <string.h>

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

/* Every entry takes at least two bytes of what is left, with its coordinates four. */
static void mtx_check_entries(MtxReader *r)
{
    int64_t n = r->rows, half = 0, entries = r->entries, least = r->coordinate ? 4 : 2;
    if (!r->coordinate && r->symmetry != MTX_GENERAL) {
        if (__builtin_mul_overflow(n, r->symmetry == MTX_SKEW ? n - 1 : n + 1, &half))
            mtx_error(r, "the size is too large");
        entries = half / 2;
    }
    if (entries > (r->end - r->at + 1) / least)
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

/* One more of the entries of a sparse matrix, in which whole numbers are f64, too. */
static void mtx_keep(MtxReader *r, int64_t i, int64_t j, double re, double im, int64_t whole)
{
    const int64_t most = (int64_t)1 << 53;
    MtxEntries *e = r->into;
    if (!r->coordinate && re == 0 && im == 0 && whole == 0)
        return;
    int64_t k = e->count++;
    if (whole < -most || whole > most)
        file_error_help(r->call, r->path, "without sparse=true it is read as i64",
                        "line %lld: %lld is beyond 2^53, and entries of a sparse matrix are f64",
                        (long long)r->line, (long long)whole);
    ((int64_t *)e->row->data)[k] = i;
    ((int64_t *)e->column->data)[k] = j;
    if (r->field == MTX_COMPLEX)
        memcpy(e->value->data + k * 16, (double[]){ re, im }, 16);
    else
        ((double *)e->value->data)[k] = r->field == MTX_INTEGER ? (double)whole : re;
}

static void mtx_add(MtxReader *r, int64_t i, int64_t j, double re, double im, int64_t whole)
{
    if (r->into) {
        mtx_keep(r, i, j, re, im, whole);
        return;
    }
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
    if (i == j)
        mtx_check_diagonal(r, re, im, whole);
    if (i < j && r->symmetry != MTX_GENERAL)
        file_error_help(r->call, r->path, "entries of both triangles need the symmetry `general`",
                        "line %lld: entry (%lld, %lld) is above the diagonal, and a symmetric "
                        "matrix is kept by its lower triangle",
                        (long long)r->line, (long long)i + 1, (long long)j + 1);
    mtx_add(r, i, j, re, im, whole);
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

static void mtx_rest(MtxReader *r)
{
    if (r->coordinate)
        mtx_coordinates(r);
    else
        mtx_array(r);
    if (mtx_content(r))
        mtx_error(r, "text after the last entry that the size line promises");
}

static Tensor *mtx_dense(MtxReader *r)
{
    DType dt = r->field == MTX_INTEGER ? DT_I64 : r->field == MTX_COMPLEX ? DT_C128 : DT_F64;
    if (r->coordinate)
        dense_checked(r->call, r->path, r->rows, r->columns,
                      (double)r->rows * (double)r->columns * dtype_info(dt)->bytes);
    r->t = op_keep(r->call, tensor_zeros(&r->call->in->ctx, dt, 2,
                                         (int64_t[]){ r->rows, r->columns }));
    mtx_rest(r);
    return r->t;
}

/* Line by line: what is in disorder, and to say what is wrong. */
static Tensor *mtx_sparse(MtxReader *r)
{
    OpCall *c = r->call;
    DType dt = r->field == MTX_COMPLEX ? DT_C128 : DT_F64;
    Tensor *quick = r->coordinate ? mtx_quick(r) : NULL;
    if (quick)
        return quick;
    int64_t room = r->symmetry == MTX_GENERAL ? r->entries : 2 * r->entries;
    MtxEntries e = { .row = op_keep(c, tensor_new(&c->in->ctx, DT_I64, 1, &room)) };
    e.column = op_keep(c, tensor_new(&c->in->ctx, DT_I64, 1, &room));
    e.value = op_keep(c, tensor_new(&c->in->ctx, dt, 1, &room));
    r->into = &e;
    mtx_rest(r);
    return entries_matrix(c, r->rows, r->columns, e.row, e.column, e.value, e.count);
}

Value mtx_load(OpCall *c, const char *path)
{
    Bytes b = file_bytes(c, path);
    const char *text = (const char *)b.data;
    MtxReader r = { .call = c, .path = path, .at = text, .end = text + b.size, .line = 1 };
    mtx_banner(&r);
    mtx_sizes(&r);
    if (!arg_bool(c, LOAD_SPARSE, false))
        return op_result(c, mtx_dense(&r));
    rows_checked(c, path, r.rows, b.size);
    return op_result(c, mtx_sparse(&r));
}
