/* Coordinates of a Matrix Market file, read by all threads. The text is cut into pieces; counting
 * the newlines of each says where the entries of the next one go, since here every line is one.
 * They are read into the arrays of a matrix, which is done where the file goes row by row. Else
 * each thread scatters a run of entries into rows: a file's order within a row stays, and mostly
 * is that of the columns already. Whatever is out of the ordinary (comments between entries,
 * blank lines, all mistakes) ends the whole, and the file is read line by line instead. */
#include "builtins/files/files_mtx.h"
#include "builtins/files/files_sparse.h"
#include "builtins/stored/quick.h"
#include "core/memory/pool.h"

#include <stdatomic.h>
#include <string.h>

enum { PIECE = 1 << 17, RUNS_MAX = 64, RUN_MIN = 1 << 14 };

typedef struct Quick {
    const char *text, *end;          /* without the newline of the last line */
    int64_t *first;                  /* the line where each piece begins, and their number */
    MtxField field;
    MtxSymmetry symmetry;
    uint64_t rows, columns;
    int64_t entries;
    Tensor *pattern, *values;        /* of a matrix, in the order of the file; NULL: pattern */
    uint32_t *row;                   /* counting from 0 */
    int64_t *column;
    double *value;                   /* two of a complex number; NULL: pattern */
    atomic_bool odd;                 /* something is out of the ordinary */
    atomic_bool mixed;               /* places do not rise from line to line */
    QuickPowers powers;
    /* scattering: where in each row the entries of each run go */
    int64_t runs, *place;
    const int64_t *start;
    int64_t *to_column;
    double *to_value;
} Quick;

/* ---- lines ---- */
/* Counted in the bytes of a vector, before one of them is full. */
static int64_t newlines(const char *p, const char *end)
{
    typedef int8_t Bytes16 __attribute__((vector_size(16)));
    int64_t n = 0;
    while (end - p >= 16) {
        const char *stop = end - p < 127 * 16 ? end - 15 : p + 127 * 16;
        Bytes16 sum = { 0 };
        for (; p < stop; p += 16) {
            Bytes16 x;
            memcpy(&x, p, sizeof x);
            sum -= x == '\n';
        }
        for (int i = 0; i < 16; i++)
            n += sum[i];
    }
    for (; p < end; p++)
        n += *p == '\n';
    return n;
}

/* A line belongs to the piece in which its first byte is. */
static const char *piece_at(const Quick *q, int64_t k)
{
    const char *p = q->text + k * PIECE;
    return p < q->end ? p : q->end;
}

static void count_lines(void *arg, int64_t from, int64_t to, int worker)
{
    Quick *q = arg;
    (void)worker;
    for (int64_t k = from; k < to; k++)
        q->first[k + 1] = k ? newlines(piece_at(q, k) - 1, piece_at(q, k + 1) - 1)
                            : 1 + newlines(q->text, piece_at(q, 1) - 1);
}

static inline const char *blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    return p;
}

/* A number that may be one of those that the quick reader leaves alone. */
static inline const char *any_float(const Quick *q, const char *p, const char *end, double *out)
{
    p = blanks(p, end);
    const char *after = quick_float(&q->powers, p, end, out), *word = p;
    if (after)
        return after;
    while (p < end && *p != ' ' && *p != '\t' && *p != '\r' && *p != '\n')
        p++;
    return text_float(word, (size_t)(p - word), out) ? p : NULL;
}

/* Of the field integer: a whole number that f64 has. */
static inline const char *any_integer(const char *p, const char *end, double *out)
{
    uint64_t w;
    p = blanks(p, end);
    bool minus = p < end && *p == '-';
    p = quick_whole(p + (p < end && (*p == '-' || *p == '+')), end, &w);
    *out = minus ? -(double)w : (double)w;
    return w <= (uint64_t)1 << 53 ? p : NULL;
}

static inline const char *value_read(Quick *q, const char *p, int64_t k)
{
    if (q->field == MTX_REAL)
        return any_float(q, p, q->end, &q->value[k]);
    if (q->field == MTX_INTEGER)
        return any_integer(p, q->end, &q->value[k]);
    if (q->field == MTX_COMPLEX && (p = any_float(q, p, q->end, &q->value[2 * k])))
        return any_float(q, p, q->end, &q->value[2 * k + 1]);
    return p;
}

/* Is entry k one that its symmetry may have? */
static bool allowed(const Quick *q, int64_t k)
{
    if (q->row[k] != q->column[k])
        return q->row[k] > q->column[k];
    if (q->symmetry == MTX_SKEW && q->value)
        return q->value[k * (1 + (q->field == MTX_COMPLEX))] == 0 &&
               (q->field != MTX_COMPLEX || q->value[2 * k + 1] == 0);
    return q->symmetry != MTX_HERMITIAN || q->field != MTX_COMPLEX || q->value[2 * k + 1] == 0;
}

/* The line at p as entry k; where the next one starts; NULL: it is odd. */
static const char *line_read(Quick *q, const char *p, int64_t k)
{
    const char *end = q->end;
    uint64_t i, j;
    if (!(p = quick_whole(blanks(p, end), end, &i)) || p == end || (*p != ' ' && *p != '\t') ||
        !(p = quick_whole(blanks(p, end), end, &j)) || i - 1 >= q->rows || j - 1 >= q->columns)
        return NULL;
    q->row[k] = (uint32_t)(i - 1);
    q->column[k] = (int64_t)(j - 1);
    if (q->field != MTX_PATTERN && (p == end || (*p != ' ' && *p != '\t')))
        return NULL;
    if (!(p = value_read(q, p, k)) || (q->symmetry != MTX_GENERAL && !allowed(q, k)))
        return NULL;
    p = blanks(p, end);
    p += p < end && *p == '\r';
    return p == end ? end : *p == '\n' ? p + 1 : NULL;
}

/* Is each of these entries behind the one before it, row by row? */
static bool rising(const Quick *q, int64_t from, int64_t to)
{
    bool up = true;
    for (int64_t k = from; k < to && up; k++)
        up = q->row[k] > q->row[k - 1] ||
             (q->row[k] == q->row[k - 1] && q->column[k] > q->column[k - 1]);
    return up;
}

static void read_lines(void *arg, int64_t from, int64_t to, int worker)
{
    Quick *q = arg;
    (void)worker;
    for (int64_t piece = from; piece < to; piece++) {
        const char *p = piece_at(q, piece), *end = piece_at(q, piece + 1);
        int64_t k = q->first[piece], begin = k;
        if (piece && p[-1] != '\n') {
            const char *newline = memchr(p, '\n', (size_t)(end - p));
            if (!newline)
                continue;
            p = newline + 1;
        }
        for (; p && p < end; k++)
            p = line_read(q, p, k);
        if (!rising(q, begin + 1, p ? k : begin))
            atomic_store_explicit(&q->mixed, true, memory_order_relaxed);
        if (!p || atomic_load_explicit(&q->odd, memory_order_relaxed)) {
            atomic_store_explicit(&q->odd, true, memory_order_relaxed);
            return;
        }
    }
}

/* ---- into rows ---- */
static int64_t run_at(const Quick *q, int64_t run) { return q->entries / q->runs * run; }

static int64_t run_end(const Quick *q, int64_t run)
{
    return run + 1 == q->runs ? q->entries : run_at(q, run + 1);
}

static void count_rows(void *arg, int64_t from, int64_t to, int worker)
{
    Quick *q = arg;
    (void)worker;
    for (int64_t run = from; run < to; run++) {
        int64_t *place = q->place + run * (int64_t)q->rows, end = run_end(q, run);
        memset(place, 0, q->rows * sizeof *place);
        for (int64_t k = run_at(q, run); k < end; k++) {
            place[q->row[k]]++;
            if (q->symmetry != MTX_GENERAL && q->row[k] != q->column[k])
                place[q->column[k]]++;
        }
    }
}

/* Where each row begins, and in it each run: the sums of what stands before. */
static void place_rows(Quick *q, int64_t *start)
{
    int64_t sum = 0, rows = (int64_t)q->rows;
    for (int64_t i = 0; i < rows; i++) {
        start[i] = sum;
        for (int64_t run = 0; run < q->runs; run++) {
            int64_t n = q->place[run * rows + i];
            q->place[run * rows + i] = sum;
            sum += n;
        }
    }
    start[rows] = sum;
}

static inline void put_value(const Quick *q, int64_t to, int64_t k, bool mirrored)
{
    double sign = mirrored && q->symmetry == MTX_SKEW ? -1 : 1;
    if (q->field == MTX_COMPLEX) {
        double turn = mirrored && q->symmetry == MTX_HERMITIAN ? -1 : sign;
        q->to_value[2 * to] = sign * q->value[2 * k];
        q->to_value[2 * to + 1] = turn * q->value[2 * k + 1];
    } else {
        q->to_value[to] = sign * (q->value ? q->value[k] : 1);
    }
}

static void scatter_plain(const Quick *q, int64_t *place, int64_t from, int64_t end)
{
    for (int64_t k = from; k < end; k++) {
        int64_t at = place[q->row[k]]++;
        q->to_column[at] = q->column[k];
        q->to_value[at] = q->value[k];
    }
}

static void scatter(void *arg, int64_t from, int64_t to, int worker)
{
    Quick *q = arg;
    (void)worker;
    for (int64_t run = from; run < to; run++) {
        int64_t *place = q->place + run * (int64_t)q->rows, end = run_end(q, run);
        if (q->symmetry == MTX_GENERAL && q->value && q->field != MTX_COMPLEX) {
            scatter_plain(q, place, run_at(q, run), end);
            continue;
        }
        for (int64_t k = run_at(q, run); k < end; k++) {
            int64_t i = q->row[k], j = q->column[k], at = place[i]++;
            q->to_column[at] = j;
            put_value(q, at, k, false);
            if (q->symmetry == MTX_GENERAL || i == j)
                continue;
            at = place[j]++;
            q->to_column[at] = i;
            put_value(q, at, k, true);
        }
    }
}

static void check_rows(void *arg, int64_t from, int64_t to, int worker)
{
    Quick *q = arg;
    (void)worker;
    for (int64_t i = from; i < to; i++)
        for (int64_t k = q->start[i] + 1; k < q->start[i + 1]; k++)
            if (q->to_column[k] <= q->to_column[k - 1]) {
                atomic_store_explicit(&q->odd, true, memory_order_relaxed);
                return;
            }
}

/* ---- all of it ---- */
static Tensor *ints(OpCall *c, DType dt, int64_t n)
{
    return op_keep(c, tensor_new(&c->in->ctx, dt, 1, &n));
}

/* The pieces of the text, and that each of its lines is an entry. */
static bool lines_found(OpCall *c, Quick *q)
{
    int64_t pieces = (q->end - q->text + PIECE - 1) / PIECE;
    q->first = (int64_t *)ints(c, DT_I64, pieces + 1)->data;
    q->first[0] = 0;
    pool_for(&c->in->ctx, pieces, 8, count_lines, q);
    poll_interrupt(c->in);
    for (int64_t k = 0; k < pieces; k++)
        q->first[k + 1] += q->first[k];
    return q->first[pieces] == q->entries;
}

static bool lines_taken(OpCall *c, Quick *q, DType dt)
{
    int64_t pieces = (q->end - q->text + PIECE - 1) / PIECE;
    q->row = (uint32_t *)ints(c, DT_I32, q->entries)->data;
    q->pattern = ints(c, DT_I64, (int64_t)q->rows + 1 + q->entries);
    q->column = (int64_t *)q->pattern->data + q->rows + 1;
    q->values = q->field == MTX_PATTERN ? NULL : ints(c, dt, q->entries);
    q->value = q->values ? (double *)q->values->data : NULL;
    pool_for(&c->in->ctx, pieces, 1, read_lines, q);
    poll_interrupt(c->in);
    return !q->odd;
}

/* Is the file in the order of the matrix? */
static bool in_order(const Quick *q)
{
    int64_t pieces = (q->end - q->text + PIECE - 1) / PIECE;
    bool up = q->symmetry == MTX_GENERAL && !q->mixed;
    for (int64_t piece = 1; piece < pieces && up; piece++)
        up = q->first[piece] == 0 || q->first[piece] == q->entries ||
             rising(q, q->first[piece], q->first[piece] + 1);
    return up;
}

static Tensor *as_it_is(OpCall *c, Quick *q)
{
    int64_t *start = (int64_t *)q->pattern->data, m = (int64_t)q->rows, row = 0;
    for (int64_t k = 0; k < q->entries; k++)
        while (row <= (int64_t)q->row[k])
            start[row++] = k;
    while (row <= m)
        start[row++] = q->entries;
    if (!q->values) {
        q->values = ints(c, DT_F64, q->entries);
        for (int64_t k = 0; k < q->entries; k++)
            ((double *)q->values->data)[k] = 1;
    }
    return op_keep(c, sparse_new(&c->in->ctx, m, (int64_t)q->columns, tensor_retain(q->pattern),
                                 tensor_retain(q->values)));
}

/* The row of each entry, for those that are to be sorted. */
static Tensor *rows_of(OpCall *c, const Quick *q, int64_t count)
{
    Tensor *t = ints(c, DT_I64, count);
    for (int64_t i = 0; i < (int64_t)q->rows; i++)
        for (int64_t k = q->start[i]; k < q->start[i + 1]; k++)
            ((int64_t *)t->data)[k] = i;
    return t;
}

static Tensor *rows_made(OpCall *c, Quick *q, DType dt)
{
    Ctx *ctx = &c->in->ctx;
    int64_t m = (int64_t)q->rows, threads = pool_threads(ctx);
    q->runs = q->entries / (m + RUN_MIN) + 1;
    q->runs = q->runs > threads ? threads : q->runs;
    q->runs = q->runs > RUNS_MAX ? RUNS_MAX : q->runs;
    q->place = (int64_t *)ints(c, DT_I64, q->runs * m)->data;
    pool_for(ctx, q->runs, 1, count_rows, q);
    poll_interrupt(c->in);
    Tensor *starts = ints(c, DT_I64, m + 1);
    place_rows(q, (int64_t *)starts->data);
    int64_t count = ((int64_t *)starts->data)[m];
    Tensor *pattern = ints(c, DT_I64, m + 1 + count), *value = ints(c, dt, count);
    memcpy(pattern->data, starts->data, (size_t)(m + 1) * sizeof(int64_t));
    q->start = (int64_t *)pattern->data;
    q->to_column = (int64_t *)pattern->data + m + 1;
    q->to_value = (double *)value->data;
    pool_for(ctx, q->runs, 1, scatter, q);
    pool_for(ctx, m, 4096, check_rows, q);
    poll_interrupt(c->in);
    if (!q->odd)
        return op_keep(c, sparse_new(ctx, m, (int64_t)q->columns, tensor_retain(pattern),
                                     tensor_retain(value)));
    Tensor *column = ints(c, DT_I64, count);
    memcpy(column->data, q->to_column, (size_t)count * sizeof(int64_t));
    return entries_matrix(c, m, (int64_t)q->columns, rows_of(c, q, count), column, value, count);
}

Tensor *mtx_quick(MtxReader *r)
{
    DType dt = r->field == MTX_COMPLEX ? DT_C128 : DT_F64;
    Quick q = { .text = r->at, .end = r->end, .field = r->field, .symmetry = r->symmetry,
                .rows = (uint64_t)r->rows, .columns = (uint64_t)r->columns,
                .entries = r->entries };
    while (q.end > q.text && strchr(" \t\r\n", q.end[-1]) && q.end[-1])
        q.end--;
    if (r->rows > UINT32_MAX || r->columns > UINT32_MAX || r->entries == 0 ||
        !lines_found(r->call, &q))
        return NULL;
    quick_powers(&q.powers);
    if (!lines_taken(r->call, &q, dt))
        return NULL;
    return in_order(&q) ? as_it_is(r->call, &q) : rows_made(r->call, &q, dt);
}
