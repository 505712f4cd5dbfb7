/* Writing delimited text: a matrix, a vector, or a named tuple of columns, which loads back
 * with columns=true. Numbers are the shortest that read back the same. */
#include "builtins/stored/files.h"
#include "interp/show/show.h"

#include <stdio.h>
#include <string.h>

typedef struct CsvWriter {
    OpCall *call;
    Buf b;
    char delimiter;
} CsvWriter;

/* In quotes where it would be taken apart, or taken for something else, without. */
static void put_text(CsvWriter *w, const char *text, size_t n)
{
    double number;
    bool plain = n > 0 && text[0] != ' ' && text[n - 1] != ' ';
    for (size_t i = 0; i < n; i++)
        plain &= text[i] != w->delimiter && !strchr("\"\r\n", text[i]);
    if (plain && !text_float(text, n, &number)) {
        buf_put(&w->b, text, n);
        return;
    }
    buf_putc(&w->b, '"');
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '"')
            buf_putc(&w->b, '"');
        buf_putc(&w->b, text[i]);
    }
    buf_putc(&w->b, '"');
}

static void put_element(CsvWriter *w, DType dt, const char *element)
{
    if (dtype_info(dt)->kind == 'f')
        show_element(&w->b, dt, element);
    else
        buf_printf(&w->b, "%lld", (long long)element_i64(dt, element));
}

static void check_real(OpCall *c, const Tensor *t, const char *what)
{
    if (dtype_info(t->dtype)->kind == 'c')
        err_raise_help(&c->in->ctx, ERR_DTYPE, "save concat(real(A), imag(A), axis=1), or use .npy",
                       "a .csv file holds real numbers, %s is %s", what, dtype_name(t->dtype));
    if (t->dtype == DT_INTERVAL)
        err_raise_help(&c->in->ctx, ERR_DTYPE, "save their midpoints: f64(x)",
                       "a .csv file holds single numbers, %s is interval", what);
}

static void put_names(CsvWriter *w, const Tuple *names)
{
    for (uint32_t j = 0; j < names->count; j++) {
        if (j)
            buf_putc(&w->b, w->delimiter);
        put_text(w, names->items[j].str->text, names->items[j].str->len);
    }
    buf_putc(&w->b, '\n');
}

/* header= as text that stands as it is, or a tuple of n names. */
static void put_header(CsvWriter *w, int64_t n)
{
    OpCall *c = w->call;
    if (!arg_given(c, SAVE_HEADER) || c->args[SAVE_HEADER].tag == V_NONE)
        return;
    Value given = c->args[SAVE_HEADER];
    if (given.tag != V_TUPLE) {
        Str *text = arg_str(c, SAVE_HEADER);
        buf_put(&w->b, text->text, text->len);
        buf_putc(&w->b, '\n');
        return;
    }
    if (given.tuple->count != (uint64_t)n)
        arg_error(c, SAVE_HEADER, ERR_VALUE, "header has %u names for %lld columns",
                  given.tuple->count, (long long)n);
    for (uint32_t j = 0; j < given.tuple->count; j++)
        if (given.tuple->items[j].tag != V_STRING)
            arg_error(c, SAVE_HEADER, ERR_TYPE, "header is a string or a tuple of strings");
    put_names(w, given.tuple);
}

/* ---- a matrix ---- */

static void put_matrix(CsvWriter *w, Tensor *t)
{
    OpCall *c = w->call;
    char shape[128];
    if (t->rank > 2)
        err_raise_help(&c->in->ctx, ERR_SHAPE, "use .npy, or save reshape(x, shape(x)[0], -1)",
                       "a .csv file holds a matrix or a vector, this tensor %s",
                       shape_fact(shape, sizeof shape, t->rank, tensor_shape(t)));
    check_real(c, t, "this tensor");
    const Tensor *dense = op_keep(c, tensor_compact(&c->in->ctx, t));
    const int64_t m = t->rank > 0 ? tensor_shape(t)[0] : 1,
                  n = t->rank > 1 ? tensor_shape(t)[1] : 1;
    put_header(w, n);
    for (int64_t i = 0; i < m; i++) {
        poll_interrupt(c->in);
        for (int64_t j = 0; j < n; j++) {
            if (j)
                buf_putc(&w->b, w->delimiter);
            put_element(w, (DType)dense->dtype,
                        dense->data + (i * n + j) * dtype_info(dense->dtype)->bytes);
        }
        buf_putc(&w->b, '\n');
    }
}

/* ---- columns ---- */

/* Column j as a tensor, or the tuple of strings that it is; both rooted. */
static Value column_of(CsvWriter *w, const Tuple *t, uint32_t j, const char *as)
{
    OpCall *c = w->call;
    Value x = t->items[j];
    const char *name = t->names[j] ? t->names[j]->text : "without a name";
    bool text = x.tag == V_TUPLE && x.tuple->count > 0;
    for (uint32_t i = 0; text && i < x.tuple->count; i++)
        text = x.tuple->items[i].tag == V_STRING;
    if (text)
        return x;
    if (!v_is_numeric(x) && x.tag != V_RANGE && x.tag != V_TUPLE)
        err_raise(&c->in->ctx, ERR_TYPE,
                  "column %.100s is of type %s; columns are vectors or tuples of strings", name,
                  v_type_name(x));
    char what[128], shape[128];
    snprintf(what, sizeof what, "column %.100s", name);
    Tensor *own = op_keep(c, v_to_tensor(c->in, x, 1));
    if (own->rank != 1)
        err_raise(&c->in->ctx, ERR_SHAPE, "%s is no vector: it %s", what,
                  shape_fact(shape, sizeof shape, own->rank, tensor_shape(own)));
    check_real(c, own, what);
    Stored s;
    bool fortran = false;
    Tensor *raw = stored_raw(c, own, as, what, &s, &fortran);
    return v_tensor_raw(as && dtype_find(as, strlen(as)) == DT_NONE
                            ? op_keep(c, tensor_cast(&c->in->ctx, own, DT_I64))
                            : raw);
}

static int64_t column_length(Value v)
{
    return v.tag == V_TUPLE ? (int64_t)v.tuple->count : tensor_shape(v.tensor)[0];
}

static void put_column_names(CsvWriter *w, const Tuple *t)
{
    if (arg_given(w->call, SAVE_HEADER) && w->call->args[SAVE_HEADER].tag != V_NONE) {
        put_header(w, t->count);
        return;
    }
    for (uint32_t j = 0; j < t->count; j++) {
        const Name *name = t->names[j];
        if (j)
            buf_putc(&w->b, w->delimiter);
        if (name)
            put_text(w, name->text, name->len);
    }
    buf_putc(&w->b, '\n');
}

static void put_columns(CsvWriter *w, const Tuple *t, const char *as)
{
    OpCall *c = w->call;
    Str **list = file_text(c);
    for (uint32_t j = 0; j < t->count; j++) {
        Value v = column_of(w, t, j, as);
        str_append(&c->in->ctx, list, (const char *)&v, sizeof v);
    }
    const Value *column = (const Value *)(*list)->text;
    int64_t rows = t->count ? column_length(column[0]) : 0;
    for (uint32_t j = 1; j < t->count; j++)
        if (column_length(column[j]) != rows)
            err_raise(&c->in->ctx, ERR_SHAPE, "column %u has %lld rows, the first has %lld", j,
                      (long long)column_length(column[j]), (long long)rows);
    put_column_names(w, t);
    for (int64_t i = 0; i < rows; i++) {
        poll_interrupt(c->in);
        for (uint32_t j = 0; j < t->count; j++) {
            if (j)
                buf_putc(&w->b, w->delimiter);
            if (column[j].tag == V_TUPLE) {
                put_text(w, column[j].tuple->items[i].str->text,
                         column[j].tuple->items[i].str->len);
                continue;
            }
            const Tensor *x = column[j].tensor;
            if (x->dtype == DT_BOOL)            /* which load has as bools again */
                buf_puts(&w->b, x->data[i] ? "true" : "false");
            else
                put_element(w, (DType)x->dtype, x->data + i * dtype_info(x->dtype)->bytes);
        }
        buf_putc(&w->b, '\n');
    }
}

void csv_save(OpCall *c, const char *path, const char *as)
{
    Ctx *ctx = &c->in->ctx;
    CsvWriter w = { .call = c, .delimiter = ',' };
    if (arg_given(c, SAVE_DELIMITER)) {
        Str *given = arg_str(c, SAVE_DELIMITER);
        if (given->len != 1 || strchr("\"\n\r.+-0123456789eE", given->text[0]))
            arg_error(c, SAVE_DELIMITER, ERR_VALUE,
                      "delimiter is one character that no number holds, and no quote");
        w.delimiter = given->text[0];
    }
    buf_init(&w.b, ctx);
    ErrFrame frame;
    if (!ERR_TRY(ctx, &frame)) {
        buf_free(&w.b);
        err_rethrow(ctx);
    }
    Value x = c->args[1];
    if (x.tag == V_TUPLE && x.tuple->names)
        put_columns(&w, x.tuple, as);
    else
        put_matrix(&w, text_tensor(c, as));
    FilePart part = { buf_cstr(&w.b), w.b.len };
    file_replace(c, path, &part, 1);
    ERR_END(ctx, &frame);
    buf_free(&w.b);
}
