/* Reading delimited text as a matrix or as columns. A first row that is not all numbers is a header
 * unless header= decides it (`#` in front marks one, too). The file is walked twice (once to
 * count, so that memory is asked for once), and a third time for columns, whose kinds have to be
 * known first.
 * Writing is in files_csv_save.c. */
#include "builtins/files/csv.h"

#include <stdio.h>
#include <string.h>

/* ---- counting ---- */

/* Counts records, at most `most`, which are to have as many fields as the first: then the numbers
 * take no more than eight times the memory of the text. Returns where they end. */
static CsvReader csv_measure(CsvReader r, int64_t most, int64_t *rows, int64_t *columns)
{
    *rows = 0;
    while (*rows < most && csv_more(&r)) {
        int64_t n = 1, line = r.line;
        while (!csv_field(&r))
            n++;
        if (*columns == 0)
            *columns = n;
        if (n != *columns)
            file_error(r.call, r.path, "line %lld has %lld field%s, the rows before it have %lld",
                       (long long)line, (long long)n, n == 1 ? "" : "s", (long long)*columns);
        ++*rows;
        r.line++;
        if ((*rows & 1023) == 0)
            poll_interrupt(r.call->in);
    }
    return r;
}

/* A mapped file that somebody writes to may end before the rows that were counted in it. */
static void csv_whole(const CsvReader *r, int64_t i)
{
    if (i < r->rows)
        file_error(r->call, r->path, "the file changed while it was read");
}

/* ---- a matrix ---- */

static Value csv_matrix(CsvReader r)
{
    OpCall *c = r.call;
    int64_t shape[2] = { r.rows, r.selected }, i = 0, width = dtype_info(r.dtype)->bytes;
    Tensor *t = op_keep(c, tensor_new(&c->in->ctx, r.dtype, 2, shape));
    for (; i < r.rows && csv_more(&r); i++, r.line++) {
        int64_t line = r.line;
        char *row = t->data + i * r.selected * width;
        for (int64_t j = 0; j < r.columns; j++) {
            csv_field(&r);
            if (r.slot[j] >= 0)
                csv_store(&r, r.dtype, row + r.slot[j] * width, line, j);
        }
        if ((i & 1023) == 0)
            poll_interrupt(c->in);
    }
    csv_whole(&r, i);
    return op_result(c, t);
}

/* ---- columns ---- */

/* What the fields of each column are: bits of CsvKind, one byte per column. r may stand before rows
 * that nobody has measured. */
static const uint8_t *csv_kinds(CsvReader r)
{
    OpCall *c = r.call;
    Tensor *kinds = op_keep(c, tensor_new(&c->in->ctx, DT_U8, 1, &r.columns));
    uint8_t *kind = (uint8_t *)kinds->data;
    memset(kind, 0, (size_t)r.columns);
    for (int64_t i = 0; i < r.rows && csv_more(&r); i++, r.line++) {
        bool last = false;
        for (int64_t j = 0; !last; j++) {
            last = csv_field(&r);
            if (j < r.columns && r.slot[j] >= 0 && !(kind[j] & CSV_TEXT))
                kind[j] |= (uint8_t)csv_kind(&r);
        }
        if ((i & 1023) == 0)
            poll_interrupt(c->in);
    }
    return kind;
}

/* The dtype of a column of numbers; DT_NONE: of text. Bools stay bools, and whole numbers ints,
 * where the program does not ask for a dtype. */
static DType csv_column_dtype(const CsvReader *r, uint8_t kind)
{
    if (kind & CSV_TEXT)
        return DT_NONE;
    if (kind == CSV_BOOL)
        return DT_BOOL;
    bool whole = kind == CSV_INT || kind == (CSV_INT | CSV_BOOL);
    return whole && !r->stated ? DT_I64 : r->dtype;
}

/* A named tuple of the columns in the order that is asked for. */
static Tuple *csv_empty_columns(const CsvReader *r, const uint8_t *kind)
{
    Interp *in = r->call->in;
    Value *slot = in->sp;
    v_push(in, v_tuple(tuple_new(&in->ctx, 0)));
    Tensor *order = op_keep(r->call, tensor_new(&in->ctx, DT_I64, 1, &r->selected));
    int64_t *column = (int64_t *)order->data;
    for (int64_t j = 0; j < r->columns; j++)
        if (r->slot[j] >= 0)
            column[r->slot[j]] = j;
    for (int64_t k = 0; k < r->selected; k++) {
        const Str *text = r->names->items[column[k]].str;
        const Name *name = names_intern(&in->names, text->text, text->len);
        DType dt = csv_column_dtype(r, kind[column[k]]);
        Value v = dt == DT_NONE ? v_tuple(tuple_new(&in->ctx, (uint64_t)r->rows))
                                : v_tensor_raw(tensor_new(&in->ctx, dt, 1, &r->rows));
        tuple_push(&in->ctx, &slot->tuple, name, v);
    }
    return slot->tuple;
}

/* Text stands as it is; what na= lists is empty. */
static Value csv_text(CsvReader *r, int64_t line, int64_t j)
{
    CsvReader trimmed = *r;
    csv_trim(&trimmed);
    if (utf8_check(r->field, r->len) < r->len)
        csv_error(r, line, j, "iconv -f latin1 -t utf-8 writes a file of another encoding anew",
                  "the text is not UTF-8");
    return v_str(str_new(&r->call->in->ctx, r->field, csv_listed(&trimmed) ? 0 : r->len));
}

/* like: the rows that say what the columns are. */
static Value csv_columns(CsvReader r, CsvReader like)
{
    OpCall *c = r.call;
    if (r.rows > UINT32_MAX / 2)
        file_error_help(c, r.path, "rows=0:1000000 reads a piece of it",
                        "%lld rows are more than columns can have", (long long)r.rows);
    const Tuple *columns = csv_empty_columns(&r, csv_kinds(like));
    int64_t i = 0;
    for (; i < r.rows && csv_more(&r); i++, r.line++) {
        int64_t line = r.line;
        for (int64_t j = 0; j < r.columns; j++) {
            csv_field(&r);
            if (r.slot[j] < 0)
                continue;
            Value to = columns->items[r.slot[j]];
            if (to.tag == V_TUPLE)
                to.tuple->items[i] = csv_text(&r, line, j);
            else
                csv_store(&r, (DType)to.tensor->dtype,
                          to.tensor->data + i * dtype_info(to.tensor->dtype)->bytes, line, j);
        }
        if ((i & 1023) == 0)
            poll_interrupt(c->in);
    }
    csv_whole(&r, i);
    return v_retain(v_tuple((Tuple *)columns));
}

/* ---- the file ---- */

/* skip= lines, whatever stands in them, and a byte order mark. */
static void csv_skip(CsvReader *r)
{
    OpCall *c = r->call;
    bool given = arg_given(c, LOAD_SKIP) && c->args[LOAD_SKIP].tag != V_NONE;
    int64_t lines = given ? arg_int(c, LOAD_SKIP) : 0;
    if (lines < 0)
        arg_error(c, LOAD_SKIP, ERR_VALUE, "skip is a number of lines, not %lld", (long long)lines);
    if (r->end - r->at >= 3 && memcmp(r->at, "\xEF\xBB\xBF", 3) == 0)
        r->at += 3;
    for (; lines > 0 && r->at < r->end; lines--, r->line++) {
        const char *line_end = memchr(r->at, '\n', (size_t)(r->end - r->at));
        r->at = line_end ? line_end + 1 : r->end;
    }
    if (!csv_more(r))
        file_error(c, r->path,
                   r->line > 1 && given ? "nothing is left behind the lines that skip= skips"
                                        : "the file is empty");
}

/* Whether the record at r is a header. */
static bool csv_named(CsvReader r, bool marked)
{
    const Value *given = &r.call->args[LOAD_HEADER];
    int64_t fields;
    if (arg_given(r.call, LOAD_HEADER) && given->tag == V_TUPLE)
        return false;
    if (arg_given(r.call, LOAD_HEADER) && given->tag != V_NONE)
        return arg_bool(r.call, LOAD_HEADER, false);
    return marked || !csv_all_numbers(r, &fields);
}

/* r stands at the first row, whose header and columns are known. Columns of an empty piece are what
 * those of the file are. */
static Value csv_rows(CsvReader r, const Bytes *b)
{
    CsvReader first = r;
    csv_measure(first, 1, &r.rows, &r.columns);         /* as wide as the header says */
    int64_t most = csv_rows_begin(&r, b);
    CsvReader behind = csv_measure(r, most, &r.rows, &r.columns);
    behind.rows = r.rows;
    CsvReader like = r.rows ? r : first;
    like.columns = r.columns;
    like.rows = r.rows ? r.rows : INT64_MAX;
    Value v = arg_bool(r.call, LOAD_COLUMNS, false) ? csv_columns(r, like) : csv_matrix(r);
    csv_rows_end(&behind, b);
    return v;
}

Value csv_load(OpCall *c, const char *path)
{
    Arith arith;
    Bytes b = file_bytes(c, path);
    CsvReader r = { .call = c, .path = path, .at = (const char *)b.data, .line = 1 };
    r.end = r.at + b.size;
    r.unquoted = file_text(c);
    r.plain = file_text(c);
    csv_options(&r, &arith);
    csv_skip(&r);
    bool marked = *r.at == '#';                         /* numpy.savetxt's header */
    r.at += marked;
    r.delimiter = csv_delimiter(&r);
    CsvReader header = r;
    bool named = csv_named(r, marked);
    if (named) {
        for (r.columns = 1; !csv_field(&r); r.columns++)
            continue;
        r.line++;
    } else {
        csv_all_numbers(r, &r.columns);
    }
    csv_columns_of(&r, header, named);
    Value v = csv_rows(r, &b);
    if (r.arith && precise_scope(c->in))
        arith_flags_add(&precise_scope(c->in)->flags, &arith.flags);
    return v;
}
