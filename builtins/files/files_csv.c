/* Reading delimited text: RFC 4180 quoting, delimiters found or given. A first row that is
 * not all numbers is a header unless header= decides it (`#` in front marks one, too); an
 * empty field or NA is nan. The
 * file is walked twice (once to count, so that memory is asked for once), and a third time
 * for columns, whose kinds have to be known first. Writing is in files_csv_save.c. */
#include "builtins/files/files.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct CsvReader {
    OpCall *call;
    const char *path, *at, *end;
    char delimiter;              /* ' ': runs of blanks and tabs */
    int64_t line;                /* where the next record starts */
    int64_t columns, rows;
    const char *field;           /* the field just read, without its quotes */
    size_t len;
    Str **unquoted;              /* holds it where quotes stood inside */
} CsvReader;

/* ---- records and fields ---- */

/* A quoted field; at stands behind the quote. */
static void csv_quoted(CsvReader *r)
{
    Ctx *ctx = &r->call->in->ctx;
    int64_t line = r->line;
    const char *from = r->at;
    (*r->unquoted)->len = 0;
    for (;; r->at++) {
        if (r->at == r->end)
            file_error(r->call, r->path, "line %lld: a quoted field is not closed",
                       (long long)line);
        r->line += *r->at == '\n';
        if (*r->at != '"')
            continue;
        str_append(ctx, r->unquoted, from, (size_t)(r->at - from));
        from = ++r->at;
        if (r->at == r->end || *r->at != '"')
            break;
    }
    const char *rest = r->at;                   /* `"a"b` reads as ab, as elsewhere */
    while (r->at < r->end && *r->at != r->delimiter && *r->at != '\n' && *r->at != '\r')
        r->at++;
    str_append(ctx, r->unquoted, rest, (size_t)(r->at - rest));
    r->field = (*r->unquoted)->text;
    r->len = (*r->unquoted)->len;
}

static void csv_skip_blanks(CsvReader *r)
{
    while (r->delimiter == ' ' && r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
        r->at++;
}

static bool csv_ends_field(const CsvReader *r)
{
    char ch = *r->at;
    return ch == r->delimiter || ch == '\n' || ch == '\r' || (ch == '\t' && r->delimiter == ' ');
}

/* Reads one field; returns true if it was the record's last. */
static bool csv_field(CsvReader *r)
{
    csv_skip_blanks(r);
    if (r->at < r->end && *r->at == '"') {
        r->at++;
        csv_quoted(r);
    } else {
        r->field = r->at;
        while (r->at < r->end && !csv_ends_field(r))
            r->at++;
        r->len = (size_t)(r->at - r->field);
    }
    csv_skip_blanks(r);
    if (r->at < r->end && r->delimiter != ' ' && *r->at == r->delimiter) {
        r->at++;
        return false;
    }
    if (r->delimiter == ' ' && r->at < r->end && *r->at != '\n' && *r->at != '\r')
        return false;
    if (r->at < r->end && *r->at == '\r')
        r->at++;
    if (r->at < r->end && *r->at == '\n')
        r->at++;
    return true;
}

/* Skips lines without a field; false at the end of the file. */
static bool csv_more(CsvReader *r)
{
    for (;;) {
        const char *p = r->at;
        while (p < r->end && *p != '\n' && strchr(" \t\r", *p) && *p && *p != r->delimiter)
            p++;
        if (r->delimiter == ' ')
            while (p < r->end && (*p == ' ' || *p == '\t' || *p == '\r'))
                p++;
        if (p < r->end && *p != '\n')
            return true;
        r->line += p < r->end;
        r->at = p < r->end ? p + 1 : p;
        if (r->at == r->end)
            return false;
    }
}

static void csv_trim(CsvReader *r)
{
    while (r->len > 0 && (*r->field == ' ' || *r->field == '\t'))
        r->field++, r->len--;
    while (r->len > 0 && (r->field[r->len - 1] == ' ' || r->field[r->len - 1] == '\t'))
        r->len--;
}

static bool csv_missing(const CsvReader *r)
{
    return r->len == 0 || (r->len == 2 && memcmp(r->field, "NA", 2) == 0);
}

/* The field just read as a number. */
static bool csv_number(CsvReader *r, double *out)
{
    csv_trim(r);
    if (csv_missing(r)) {
        *out = (double)NAN;
        return true;
    }
    return text_float(r->field, r->len, out);
}

/* ---- what kind of file it is ---- */

/* How often `delimiter` stands in the line outside quotes. */
static int64_t csv_occurrences(const char *p, const char *end, char delimiter)
{
    int64_t n = 0;
    bool quoted = false;
    for (; p < end && (quoted || *p != '\n'); p++) {
        quoted ^= *p == '"';
        n += !quoted && *p == delimiter;
    }
    return n;
}

static const char *csv_line_end(const char *p, const char *end)
{
    for (bool quoted = false; p < end && (quoted || *p != '\n'); p++)
        quoted ^= *p == '"';
    return p;
}

/* Whether no field of the record is text; how many fields it has. */
static bool csv_all_numbers(CsvReader r, int64_t *fields)
{
    double v;
    bool numbers = true, last;
    *fields = 0;
    do {
        last = csv_field(&r);
        numbers &= csv_number(&r, &v);
        ++*fields;
    } while (!last);
    return numbers;
}

/* Blanks take the first record apart into numbers, or the one after it. */
static bool csv_blanks(CsvReader r)
{
    int64_t fields;
    r.delimiter = ' ';
    if (!csv_more(&r))
        return false;
    if (csv_all_numbers(r, &fields) && fields > 1)
        return true;
    while (!csv_field(&r))
        continue;
    return csv_more(&r) && csv_all_numbers(r, &fields) && fields > 1;
}

/* The first of , ; tab | that stands equally often in each of the first lines; else the
 * first that stands in the first line; blanks where only they take it apart into numbers. */
static char csv_sniff(CsvReader r)
{
    static const char candidates[] = ",;\t|";
    for (int pass = 0; pass < 2; pass++)
        for (const char *d = candidates; *d; d++) {
            int64_t first = csv_occurrences(r.at, r.end, *d);
            bool same = first > 0;
            const char *p = csv_line_end(r.at, r.end);
            for (int i = 0; i < 20 && pass == 0 && same && p < r.end; i++) {
                const char *line = p + 1;
                p = csv_line_end(line, r.end);
                bool blank = p - line == 0 || (p - line == 1 && *line == '\r');
                same = blank || csv_occurrences(line, r.end, *d) == first;
            }
            if (same)
                return *d;
        }
    return csv_blanks(r) ? ' ' : ',';
}

static char csv_delimiter(OpCall *c, CsvReader r)
{
    if (!arg_given(c, LOAD_DELIMITER) || c->args[LOAD_DELIMITER].tag == V_NONE)
        return csv_sniff(r);
    Str *given = arg_str(c, LOAD_DELIMITER);
    if (given->len != 1 || strchr("\"\n\r", given->text[0]))
        err_raise(&c->in->ctx, ERR_VALUE, "delimiter is one character and no quote or line end");
    return given->text[0];
}

/* ---- counting ---- */

/* Counts records, which are to have as many fields as the first: then the numbers take no
 * more than eight times the memory of the text. */
static void csv_measure(CsvReader r, int64_t *rows, int64_t *columns)
{
    *rows = 0;
    while (csv_more(&r)) {
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
}

/* ---- a matrix ---- */

static void csv_record(CsvReader *r, double *row)
{
    for (int64_t j = 0; j < r->columns; j++) {
        int64_t line = r->line;
        csv_field(r);
        if (!csv_number(r, &row[j]))
            file_error_help(r->call, r->path,
                            "columns=true gives a named tuple in which columns may be text",
                            "line %lld, field %lld: \"%.*s\" is not a number", (long long)line,
                            (long long)j + 1, r->len > 40 ? 40 : (int)r->len, r->field);
    }
    r->line++;
}

static Value csv_matrix(CsvReader r)
{
    OpCall *c = r.call;
    Tensor *t = op_keep(c, tensor_new(&c->in->ctx, DT_F64, 2, (int64_t[]){ r.rows, r.columns }));
    for (int64_t i = 0; i < r.rows && csv_more(&r); i++) {
        csv_record(&r, (double *)t->data + i * r.columns);
        if ((i & 1023) == 0)
            poll_interrupt(c->in);
    }
    return op_result(c, t);
}

/* ---- columns ---- */

typedef enum ColumnKind { COLUMN_INT, COLUMN_FLOAT, COLUMN_TEXT } ColumnKind;

/* The widest kind that a field of each column needs, one byte per column. */
static char *csv_kinds(CsvReader r)
{
    Str **kinds = file_text(r.call);
    for (int64_t j = 0; j < r.columns; j++)
        str_append(&r.call->in->ctx, kinds, &(char){ r.rows ? COLUMN_INT : COLUMN_FLOAT }, 1);
    char *kind = (*kinds)->text;
    for (int64_t i = 0; i < r.rows && csv_more(&r); i++, r.line++) {
        for (int64_t j = 0; j < r.columns; j++) {
            int64_t whole;
            double v;
            csv_field(&r);
            csv_trim(&r);
            ColumnKind k = text_int(r.field, r.len, &whole) ? COLUMN_INT
                         : csv_number(&r, &v) ? COLUMN_FLOAT : COLUMN_TEXT;
            kind[j] = (char)(k > (ColumnKind)kind[j] ? k : (ColumnKind)kind[j]);
        }
        if ((i & 1023) == 0)
            poll_interrupt(r.call->in);
    }
    return kind;
}

static const Name *csv_name(CsvReader *header, bool named, int64_t j)
{
    Names *names = &header->call->in->names;
    char plain[32];
    if (named) {
        csv_field(header);
        csv_trim(header);
        size_t bad = utf8_check(header->field, header->len);
        if (bad < header->len || memchr(header->field, 0, header->len))
            file_error(header->call, header->path, "line 1, field %lld: the name is not UTF-8 text",
                       (long long)j + 1);
        if (header->len > 0)
            return names_intern(names, header->field, header->len);
    }
    int n = snprintf(plain, sizeof plain, "c%lld", (long long)j);
    return names_intern(names, plain, (size_t)n);
}

static Tuple *csv_empty_columns(CsvReader header, bool named, const char *kind)
{
    Interp *in = header.call->in;
    Value *slot = in->sp;
    v_push(in, v_tuple(tuple_new(&in->ctx, 0)));
    for (int64_t j = 0; j < header.columns; j++) {
        const Name *name = csv_name(&header, named, j);
        Value v = kind[j] == COLUMN_TEXT
                      ? v_tuple(tuple_new(&in->ctx, (uint64_t)header.rows))
                      : v_tensor_raw(tensor_new(&in->ctx, kind[j] == COLUMN_INT ? DT_I64 : DT_F64,
                                                1, &header.rows));
        tuple_push(&in->ctx, &slot->tuple, name, v);
    }
    return slot->tuple;
}

static void csv_fill(CsvReader *r, Value column, ColumnKind kind, int64_t i, int64_t line,
                     int64_t j)
{
    if (kind != COLUMN_TEXT)
        csv_trim(r);
    if (kind == COLUMN_INT)
        text_int(r->field, r->len, (int64_t *)column.tensor->data + i);
    else if (kind == COLUMN_FLOAT)
        csv_number(r, (double *)column.tensor->data + i);
    else if (utf8_check(r->field, r->len) < r->len)
        file_error(r->call, r->path, "line %lld, field %lld: the text is not UTF-8",
                   (long long)line, (long long)j + 1);
    else
        column.tuple->items[i] = v_str(str_new(&r->call->in->ctx, r->field, r->len));
}

static Value csv_columns(CsvReader r, CsvReader header, bool named)
{
    if (r.rows > UINT32_MAX / 2)
        file_error(r.call, r.path, "%lld rows are more than columns can have", (long long)r.rows);
    header.rows = r.rows;
    header.columns = r.columns;
    const char *kind = csv_kinds(r);
    Tuple *columns = csv_empty_columns(header, named, kind);
    for (int64_t i = 0; i < r.rows && csv_more(&r); i++, r.line++) {
        for (int64_t j = 0; j < r.columns; j++) {
            int64_t line = r.line;
            csv_field(&r);
            csv_fill(&r, columns->items[j], (ColumnKind)kind[j], i, line, j);
        }
        if ((i & 1023) == 0)
            poll_interrupt(r.call->in);
    }
    return v_retain(v_tuple(columns));
}

/* ---- the file ---- */

Value csv_load(OpCall *c, const char *path)
{
    Str *text = file_read(c, path);
    CsvReader r = {
        .call = c, .path = path, .at = text->text, .end = text->text + text->len, .line = 1
    };
    r.unquoted = file_text(c);
    if (text->len >= 3 && memcmp(r.at, "\xEF\xBB\xBF", 3) == 0)
        r.at += 3;
    if (!csv_more(&r))
        file_error(c, path, "the file is empty");
    bool marked = *r.at == '#';                         /* numpy.savetxt's header */
    r.at += marked;
    r.delimiter = csv_delimiter(c, r);
    CsvReader header = r;
    bool given = arg_given(c, LOAD_HEADER) && c->args[LOAD_HEADER].tag != V_NONE;
    bool named =
        given ? arg_bool(c, LOAD_HEADER, false) : marked || !csv_all_numbers(r, &r.columns);
    r.columns = 0;
    if (named) {
        for (r.columns = 1; !csv_field(&r); r.columns++)
            continue;
        r.line++;
    }
    csv_measure(r, &r.rows, &r.columns);
    return arg_bool(c, LOAD_COLUMNS, false) ? csv_columns(r, header, named) : csv_matrix(r);
}
