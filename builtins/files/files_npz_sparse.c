/* Sparse matrices in .npz as SciPy keeps them (scipy.sparse.save_npz): a member `format` that names
 * csr, csc, coo, bsr or dia, `shape`, `data`, and where the data stand. Places need not be sorted,
 * and those that come twice are added, as SciPy has it; everything else is checked. */
#include "builtins/files/files_sparse.h"
#include "builtins/stored/files_zip.h"

#include <stdio.h>
#include <string.h>

typedef struct SparseReader {
    OpCall *call;
    const Bytes *b;
    ZipReader zip;
    int64_t m, n, count;
    Tensor *data;                    /* contiguous, of a dtype that entries have */
    Tensor *row, *column;            /* i64 */
} SparseReader;

/* ---- members ---- */
static bool find_member(const SparseReader *r, const char *name, ZipMember *m)
{
    ZipReader zip = r->zip;
    size_t n = strlen(name);
    while (zip_next(&zip, m))
        if (m->name_len == (int64_t)n + 4 && memcmp(m->name, name, n) == 0 &&
            memcmp(m->name + n, ".npy", 4) == 0)
            return true;
    return false;
}

static Tensor *member(const SparseReader *r, const char *name, int rank)
{
    ZipMember m;
    char file[40];
    snprintf(file, sizeof file, "%s.npy", name);
    if (!find_member(r, name, &m))
        bytes_error(r->b, -1, NULL, "a sparse matrix needs a member %s, which is not there", file);
    Bytes contents = zip_contents(r->b, &m, file);
    Tensor *t = npy_read(&contents);
    if (t->rank != rank)
        bytes_error(&contents, -1, NULL, "the member has %d axes and must have %d", t->rank, rank);
    return t;
}

/* Whole numbers of a vector as i64, contiguous. */
static Tensor *whole_member(const SparseReader *r, const char *name)
{
    Ctx *ctx = &r->call->in->ctx;
    Tensor *t = member(r, name, 1);
    if (!strchr("iu", dtype_info(t->dtype)->kind))
        bytes_error(r->b, -1, NULL, "%s.npy holds %s, whole numbers are needed", name,
                    dtype_name(t->dtype));
    return op_keep(r->call, tensor_compact(ctx, op_keep(r->call, tensor_cast(ctx, t, DT_I64))));
}

static const int64_t *numbers(const Tensor *t) { return (const int64_t *)t->data; }

/* The text that `format` is: bytes or UTF-32, of which the letters stay. */
static void format_name(const SparseReader *r, const ZipMember *m, char *out, size_t cap)
{
    Bytes b = zip_contents(r->b, m, "format.npy");
    size_t n = 0;
    int64_t head = b.size >= 10 ? 10 + b.data[8] + 256 * b.data[9] : b.size;
    if (b.size < 10 || memcmp(b.data, "\x93NUMPY", 6) != 0 || head > b.size)
        bytes_error(&b, 0, NULL, "not a .npy file of a text");
    for (int64_t at = head; at < b.size && n + 1 < cap; at++)
        if (b.data[at])
            out[n++] = (char)b.data[at];
    out[n] = '\0';
}

/* ---- checks ---- */
static void shape_read(SparseReader *r)
{
    Tensor *t = whole_member(r, "shape");
    if (t->size != 2)
        bytes_error(r->b, -1, NULL, "shape.npy has %lld numbers, a sparse matrix has 2 axes",
                    (long long)t->size);
    r->m = numbers(t)[0];
    r->n = numbers(t)[1];
    if (r->m < 0 || r->n < 0 || shape_size(2, (int64_t[]){ r->m, r->n }) < 0 ||
        shape_size(2, (int64_t[]){ r->m, r->n }) > TENSOR_SIZE_MAX / 16)
        bytes_error(r->b, -1, NULL, "shape.npy says %lld×%lld, which is no shape",
                    (long long)r->m, (long long)r->n);
    rows_checked(r->call, r->b->path, r->m, r->b->size);
}

/* Entries are f32, f64, c64 or c128; other numbers become f64, if it has them. */
static void data_read(SparseReader *r, int rank)
{
    Ctx *ctx = &r->call->in->ctx;
    OpCall *c = r->call;
    Tensor *t = member(r, "data", rank);
    DType dt = (DType)t->dtype, as = entry_dtype(dt);
    r->data = op_keep(c, tensor_compact(ctx, op_keep(c, tensor_cast(ctx, t, as))));
    if (dt != DT_I64)
        return;
    const int64_t most = (int64_t)1 << 53;
    Tensor *whole = op_keep(c, tensor_compact(ctx, t));
    for (int64_t k = 0; k < whole->size; k++)
        if (numbers(whole)[k] < -most || numbers(whole)[k] > most)
            bytes_error(r->b, -1, NULL, "data.npy: element %lld is %lld, beyond 2^53, and entries "
                        "of a sparse matrix are f64", (long long)k, (long long)numbers(whole)[k]);
}

static void within(const SparseReader *r, const char *name, const Tensor *t, int64_t count,
                   int64_t end)
{
    for (int64_t k = 0; k < count; k++)
        if (numbers(t)[k] < 0 || numbers(t)[k] >= end)
            bytes_error(r->b, -1, NULL, "%s.npy: element %lld is %lld, outside a %lld×%lld matrix",
                        name, (long long)k, (long long)numbers(t)[k], (long long)r->m,
                        (long long)r->n);
}

static void same_length(const SparseReader *r, const char *name, int64_t length, int64_t wanted)
{
    if (length != wanted)
        bytes_error(r->b, -1, NULL, "%s.npy has %lld elements, %lld are needed", name,
                    (long long)length, (long long)wanted);
}

/* Starts of so many lines, rising from 0, in as many places as there are. */
static Tensor *starts_read(const SparseReader *r, int64_t lines, int64_t places)
{
    Tensor *t = whole_member(r, "indptr");
    const int64_t *start = numbers(t);
    same_length(r, "indptr", t->size, lines + 1);
    if (start[0] != 0)
        bytes_error(r->b, -1, NULL, "indptr.npy starts with %lld, not with 0",
                    (long long)start[0]);
    for (int64_t i = 0; i < lines; i++)
        if (start[i + 1] < start[i])
            bytes_error(r->b, -1, NULL, "indptr.npy: element %lld is %lld, less than the %lld "
                        "before it", (long long)i + 1, (long long)start[i + 1],
                        (long long)start[i]);
    if (start[lines] > places)
        bytes_error(r->b, -1, NULL, "indptr.npy ends with %lld, indices.npy has %lld elements",
                    (long long)start[lines], (long long)places);
    return t;
}

/* ---- formats: each leaves row, column and count ---- */
static Tensor *new_ints(const SparseReader *r, int64_t n)
{
    return op_keep(r->call, tensor_new(&r->call->in->ctx, DT_I64, 1, &n));
}

/* Which of the lines each place is in. */
static Tensor *lines_of(const SparseReader *r, const Tensor *starts)
{
    int64_t lines = starts->size - 1;
    Tensor *t = new_ints(r, numbers(starts)[lines]);
    for (int64_t i = 0; i < lines; i++)
        for (int64_t k = numbers(starts)[i]; k < numbers(starts)[i + 1]; k++)
            ((int64_t *)t->data)[k] = i;
    return t;
}

/* Rows as they are to be: that is all. */
static Tensor *in_order(const SparseReader *r, const Tensor *starts, const Tensor *column)
{
    const int64_t *start = numbers(starts), *at = numbers(column);
    Ctx *ctx = &r->call->in->ctx;
    Made made = { 0 };
    for (int64_t i = 0; i < r->m; i++)
        for (int64_t k = start[i] + 1; k < start[i + 1]; k++)
            if (at[k] <= at[k - 1])
                return NULL;
    Tensor *pattern = made_pattern(ctx, &made, r->m, r->count);
    Tensor *value = made_vector(ctx, &made, (DType)r->data->dtype, r->count);
    int64_t *to = made_ints(pattern);
    memcpy(to, start, (size_t)(r->m + 1) * sizeof *to);
    memcpy(to + r->m + 1, at, (size_t)r->count * sizeof *to);
    memcpy(value->data, r->data->data, (size_t)r->count * dtype_info(value->dtype)->bytes);
    return op_keep(r->call, sparse_made(ctx, &made, r->m, r->n, pattern, value));
}

static Tensor *compressed(SparseReader *r, bool by_rows)
{
    data_read(r, 1);
    Tensor *indices = whole_member(r, "indices");
    same_length(r, "data", r->data->size, indices->size);
    Tensor *starts = starts_read(r, by_rows ? r->m : r->n, indices->size);
    r->count = numbers(starts)[starts->size - 1];
    within(r, "indices", indices, r->count, by_rows ? r->n : r->m);
    Tensor *done = by_rows ? in_order(r, starts, indices) : NULL;
    if (done)
        return done;
    Tensor *lines = lines_of(r, starts);
    r->row = by_rows ? lines : indices;
    r->column = by_rows ? indices : lines;
    return NULL;
}

static Tensor *csr_read(SparseReader *r) { return compressed(r, true); }
static Tensor *csc_read(SparseReader *r) { return compressed(r, false); }

static Tensor *coo_read(SparseReader *r)
{
    ZipMember m;
    Ctx *ctx = &r->call->in->ctx;
    data_read(r, 1);
    r->count = r->data->size;
    if (find_member(r, "coords", &m)) {
        Tensor *both = op_keep(r->call, tensor_cast(ctx, member(r, "coords", 2), DT_I64));
        both = op_keep(r->call, tensor_compact(ctx, both));
        same_length(r, "coords", both->size, 2 * r->count);
        r->row = new_ints(r, r->count);
        r->column = new_ints(r, r->count);
        memcpy(r->row->data, both->data, (size_t)r->count * sizeof(int64_t));
        memcpy(r->column->data, numbers(both) + r->count, (size_t)r->count * sizeof(int64_t));
    } else {
        r->row = whole_member(r, "row");
        r->column = whole_member(r, "col");
    }
    same_length(r, "row", r->row->size, r->count);
    same_length(r, "col", r->column->size, r->count);
    within(r, "row", r->row, r->count, r->m);
    within(r, "col", r->column, r->count, r->n);
    return NULL;
}

/* Blocks of data, each in a row and a column of blocks. */
static Tensor *bsr_read(SparseReader *r)
{
    data_read(r, 3);
    Tensor *indices = whole_member(r, "indices");
    const int64_t *block = tensor_shape(r->data);
    int64_t height = block[1], width = block[2];
    same_length(r, "data", block[0], indices->size);
    if (height < 1 || width < 1 || r->m % height || r->n % width)
        bytes_error(r->b, -1, NULL, "blocks of %lld×%lld do not make up a %lld×%lld matrix",
                    (long long)height, (long long)width, (long long)r->m, (long long)r->n);
    Tensor *starts = starts_read(r, r->m / height, indices->size);
    int64_t blocks = numbers(starts)[starts->size - 1], k = 0;
    within(r, "indices", indices, blocks, r->n / width);
    Tensor *lines = lines_of(r, starts);
    r->count = blocks * height * width;
    r->row = new_ints(r, r->count);
    r->column = new_ints(r, r->count);
    for (int64_t at = 0; at < blocks; at++)
        for (int64_t i = 0; i < height; i++)
            for (int64_t j = 0; j < width; j++, k++) {
                ((int64_t *)r->row->data)[k] = numbers(lines)[at] * height + i;
                ((int64_t *)r->column->data)[k] = numbers(indices)[at] * width + j;
            }
    return NULL;
}

/* Diagonals, in which element j is in column j: those within the matrix, without zeros. */
static Tensor *dia_read(SparseReader *r)
{
    data_read(r, 2);
    Tensor *offsets = whole_member(r, "offsets");
    int64_t length = tensor_shape(r->data)[1], k = 0;
    const size_t each = dtype_info(r->data->dtype)->bytes;
    same_length(r, "offsets", offsets->size, tensor_shape(r->data)[0]);
    r->row = new_ints(r, r->data->size);
    r->column = new_ints(r, r->data->size);
    for (int64_t d = 0; d < offsets->size; d++)
        for (int64_t j = 0; j < length && j < r->n; j++) {
            int64_t offset = numbers(offsets)[d];
            const char *x = r->data->data + (size_t)(d * length + j) * each;
            if (offset > j || offset <= j - r->m || element_c128(r->data->dtype, x) == 0)
                continue;
            ((int64_t *)r->row->data)[k] = j - offset;
            ((int64_t *)r->column->data)[k] = j;
            memmove(r->data->data + (size_t)k++ * each, x, each);
        }
    r->count = k;
    return NULL;
}

static const struct { const char *name; Tensor *(*read)(SparseReader *); } formats[] = {
    { "csr", csr_read }, { "csc", csc_read }, { "coo", coo_read },
    { "bsr", bsr_read }, { "dia", dia_read },
};

Tensor *npz_load_sparse(const Bytes *b, ZipReader zip)
{
    SparseReader r = { .call = b->call, .b = b, .zip = zip };
    ZipMember m;
    char name[16];
    if (!find_member(&r, "format", &m) || !find_member(&r, "shape", &(ZipMember){ 0 }) ||
        !find_member(&r, "data", &(ZipMember){ 0 }))
        return NULL;
    format_name(&r, &m, name, sizeof name);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(name, formats[i].name) != 0)
            continue;
        shape_read(&r);
        Tensor *done = formats[i].read(&r);
        return done ? done : entries_matrix(r.call, r.m, r.n, r.row, r.column, r.data, r.count);
    }
    bytes_error(b, -1, "csr, csc, coo, bsr and dia are read; scipy's A.tocsr() is one of them",
                "format.npy says \"%s\", which is no format of sparse matrices that is read", name);
}

/* ---- writing ---- */
static void add_vector(ZipWriter *w, const char *file, Stored s, Tensor *t, int64_t n)
{
    OpCall *c = w->call;
    Value *mark = c->in->sp;
    Str **head = file_text(c);
    npy_head(c, head, s, false, 1, &n, file);
    zip_add(w, file, *head, t, (size_t)n * s.bytes);
    stack_cut(c->in, mark);
}

/* A number or a text of no axes. */
static void add_scalar(ZipWriter *w, const char *file, Stored s, const char *bytes)
{
    OpCall *c = w->call;
    Value *mark = c->in->sp;
    Str **head = file_text(c);
    npy_head(c, head, s, false, 0, NULL, file);
    str_append(&c->in->ctx, head, bytes, s.bytes);
    zip_add(w, file, *head, NULL, 0);
    stack_cut(c->in, mark);
}

/* A part of the pattern, in 32 bits where they do. */
static Tensor *places(OpCall *c, const int64_t *from, int64_t n, bool narrow)
{
    Tensor *t = op_keep(c, tensor_new(&c->in->ctx, narrow ? DT_I32 : DT_I64, 1, &n));
    for (int64_t k = 0; k < n && narrow; k++)
        ((int32_t *)t->data)[k] = (int32_t)from[k];
    if (!narrow)
        memcpy(t->data, from, (size_t)n * sizeof *from);
    return t;
}

void npz_save_sparse(OpCall *c, const char *path, const Sparse *s, const char *as)
{
    const Csr a = sparse_csr(s);
    bool narrow = a.m < INT32_MAX && a.n < INT32_MAX && a.entries < INT32_MAX, fortran = false;
    const Stored place = { 'i', narrow ? 4 : 8, false };
    Stored stored;
    ZipWriter w;
    zip_begin(c, &w);
    Tensor *value = stored_raw(c, s->value, as, arg_text(c, 1), &stored, &fortran);
    add_vector(&w, "indices.npy", place, places(c, a.column, a.entries, narrow), a.entries);
    add_vector(&w, "indptr.npy", place, places(c, a.start, a.m + 1, narrow), a.m + 1);
    add_scalar(&w, "format.npy", (Stored){ 'S', 3, false }, "csr");
    add_vector(&w, "shape.npy", (Stored){ 'i', 8, false },
               places(c, (int64_t[]){ a.m, a.n }, 2, false), 2);
    add_vector(&w, "data.npy", stored, value, a.entries);
    add_scalar(&w, "_is_array.npy", (Stored){ 'b', 1, false }, "\1");
    zip_write(&w, path);
}
