/* Comma-separated numbers (RFC 4180 quoting). A first row that is not all numbers is a
 * header unless header= decides it; an empty field is nan. */
#include "builtins/files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct CsvReader {
    OpCall *call;
    const char *path, *at, *end;
    char delimiter;
    int64_t line;                /* of the record being read */
    int64_t columns, rows;
    char field[256];             /* the field just read, unquoted; longer ones are cut */
    size_t field_len;
} CsvReader;

/* Reads one field into r->field; returns true if it was the record's last. */
static bool csv_field(CsvReader *r)
{
    size_t n = 0;
    bool quoted = r->at < r->end && *r->at == '"';
    if (quoted)
        r->at++;
    for (; r->at < r->end; r->at++) {
        char ch = *r->at;
        if (quoted && ch == '"') {
            if (r->at + 1 < r->end && r->at[1] == '"')
                r->at++;
            else {
                quoted = false;
                continue;
            }
        } else if (!quoted && (ch == r->delimiter || ch == '\n' || ch == '\r')) {
            break;
        }
        if (ch == '\n')
            r->line++;
        if (n + 1 < sizeof r->field)
            r->field[n++] = ch;
    }
    r->field[n] = '\0';
    r->field_len = n;
    if (quoted)
        file_error(r->call, r->path, "line %lld: a quoted field is not closed", (long long)r->line);
    if (r->at < r->end && *r->at == r->delimiter) {
        r->at++;
        return false;
    }
    if (r->at < r->end && *r->at == '\r')
        r->at++;
    if (r->at < r->end && *r->at == '\n')
        r->at++;
    return true;
}

static bool csv_number(const char *text, double *out)
{
    while (*text == ' ' || *text == '\t')
        text++;
    if (!*text) {
        *out = (double)NAN;
        return true;
    }
    char *end;
    *out = strtod(text, &end);
    while (*end == ' ' || *end == '\t')
        end++;
    return end != text && !*end;
}

/* Skips blank lines; false at the end of the file. */
static bool csv_more(CsvReader *r)
{
    while (r->at < r->end && (*r->at == '\n' || *r->at == '\r')) {
        r->line += *r->at == '\n';
        r->at++;
    }
    return r->at < r->end;
}

/* Decides whether the first row is a header, from a copy of the reader. */
static bool csv_first_is_header(CsvReader r)
{
    double v;
    bool numbers = true, last;
    do {
        last = csv_field(&r);
        numbers &= csv_number(r.field, &v) && r.field_len > 0;
    } while (!last);
    return !numbers;
}

/* Counts fields and records so that the tensor is allocated once. */
static void csv_measure(CsvReader r, int64_t *rows, int64_t *columns)
{
    *rows = *columns = 0;
    while (csv_more(&r)) {
        int64_t n = 1;
        while (!csv_field(&r))
            n++;
        if (*rows == 0)
            *columns = n;
        ++*rows;
        r.line++;
        if ((*rows & 1023) == 0)
            poll_interrupt(r.call->in);
    }
}

static void csv_record(CsvReader *r, double *row)
{
    bool last = false;
    int64_t n = 0;
    for (; !last; n++) {
        last = csv_field(r);
        if (n >= r->columns)
            continue;
        if (!csv_number(r->field, &row[n]))
            file_error(r->call, r->path, "line %lld, field %lld: \"%.40s\" is not a number", (long long)r->line,
                       (long long)n + 1, r->field);
    }
    if (n != r->columns)
        file_error(r->call, r->path, "line %lld has %lld fields, the rows before it have %lld", (long long)r->line,
                   (long long)n, (long long)r->columns);
    r->line++;
}

/* A named tuple of columns; a column without a usable name is c0, c1, … */
static Value csv_columns(CsvReader header, bool named, Tensor *t)
{
    Interp *in = header.call->in;
    int64_t m = tensor_shape(t)[0], n = tensor_shape(t)[1];
    Value *slot = in->sp;
    v_push(in, v_tuple(tuple_new(&in->ctx, 0)));
    for (int64_t j = 0; j < n; j++) {
        char name[256];
        snprintf(name, sizeof name, "c%lld", (long long)j);
        if (named) {
            csv_field(&header);
            if (header.field_len)
                memcpy(name, header.field, header.field_len + 1);
        }
        int64_t stride = n;
        Tensor *view = tensor_view(&in->ctx, t, 1, &m, &stride, t->data + j * 8);
        v_push(in, v_tensor_raw(view));
        Tensor *column = tensor_copy(&in->ctx, view);
        tuple_push(&in->ctx, &slot->tuple, names_intern(&in->names, name, strlen(name)), v_tensor(&in->ctx, column));
    }
    return v_retain(*slot);
}

Value csv_load(OpCall *c, const char *path)
{
    Str *text = file_read(c, path);
    CsvReader r = { .call = c, .path = path, .at = text->text, .end = text->text + text->len, .line = 1 };
    Str *delimiter = arg_given(c, 3) ? arg_str(c, 3) : NULL;
    if (delimiter && delimiter->len != 1)
        err_raise(&c->in->ctx, ERR_VALUE, "delimiter is one character, this has %zu bytes", delimiter->len);
    r.delimiter = delimiter ? delimiter->text[0] : ',';
    if (text->len >= 3 && memcmp(r.at, "\xEF\xBB\xBF", 3) == 0)
        r.at += 3;
    if (!csv_more(&r))
        file_error(c, path, "the file is empty");
    CsvReader header = r;
    bool has_header = arg_given(c, 1) && c->args[1].tag != V_NONE ? arg_bool(c, 1, false) : csv_first_is_header(r);
    if (has_header) {
        while (!csv_field(&r))
            continue;
        r.line++;
    }
    csv_measure(r, &r.rows, &r.columns);
    Tensor *t = op_keep(c, tensor_new(&c->in->ctx, DT_F64, 2, (int64_t[]){ r.rows, r.columns }));
    for (int64_t i = 0; i < r.rows && csv_more(&r); i++)
        csv_record(&r, (double *)t->data + i * r.columns);
    return arg_bool(c, 2, false) ? csv_columns(header, has_header, t) : op_result(c, t);
}

/* ---- writing ---- */

static void csv_put(Buf *b, DType dt, const char *element)
{
    if (dtype_info[dt].kind == 'f')
        show_float(b, element_f64(dt, element), dt);
    else
        buf_printf(b, "%lld", (long long)element_i64(dt, element));
}

void csv_save(OpCall *c, const char *path, Tensor *t, Str *header)
{
    Ctx *ctx = &c->in->ctx;
    char shape[128];
    if (t->rank > 2)
        err_raise(ctx, ERR_SHAPE, "a .csv file holds a matrix or a vector, this tensor has shape (%s)",
                  shape_text(shape, sizeof shape, t->rank, tensor_shape(t)));
    if (dtype_info[t->dtype].kind == 'c')
        err_raise_help(ctx, ERR_DTYPE, "save concat(real(A), imag(A), axis=1), or use .npy",
                       "a .csv file holds real numbers, this tensor is %s", dtype_info[t->dtype].name);
    Tensor *const dense = op_keep(c, tensor_compact(ctx, t));
    const int64_t m = t->rank > 0 ? tensor_shape(t)[0] : 1, n = t->rank > 1 ? tensor_shape(t)[1] : 1;
    const size_t bytes = dtype_info[t->dtype].bytes;
    Buf b;
    buf_init(&b, ctx);
    ErrFrame frame;
    if (!ERR_TRY(ctx, &frame)) {
        buf_free(&b);
        err_rethrow(ctx);
    }
    if (header)
        buf_printf(&b, "%s\n", header->text);
    for (int64_t i = 0; i < m; i++) {
        poll_interrupt(c->in);
        for (int64_t j = 0; j < n; j++) {
            if (j)
                buf_putc(&b, ',');
            csv_put(&b, (DType)dense->dtype, dense->data + (size_t)(i * n + j) * bytes);
        }
        buf_putc(&b, '\n');
    }
    file_replace(c, path, &b, "", 0);
    ERR_END(ctx, &frame);
    buf_free(&b);
}
