/* What the arguments of load say of a .csv file, and what the file says of itself: the delimiter,
 * the names of its columns and which of them are wanted. */
#include "builtins/files/csv.h"

#include "interp/precision/cast.h"
#include "interp/state/scope.h"

#include <stdio.h>
#include <string.h>

static bool given(const OpCall *c, int i)
{
    return arg_given(c, i) && c->args[i].tag != V_NONE;
}

/* A tuple of strings, or one string; V_UNDEF where it was not given. */
static Value texts_given(OpCall *c, int i)
{
    if (!given(c, i))
        return v_undef();
    Value v = c->args[i];
    char is[96];
    for (uint32_t k = 0; v.tag == V_TUPLE && k < v.tuple->count; k++)
        if (v.tuple->items[k].tag != V_STRING)
            arg_error(c, i, ERR_TYPE, "%s must hold strings: element %u is %s", arg_name(c, i), k,
                      v_describe_a(v.tuple->items[k], is, sizeof is));
    if (v.tag != V_STRING && v.tag != V_TUPLE)
        arg_error(c, i, ERR_TYPE, "%s must be a string or a tuple of strings, not %s",
                  arg_name(c, i), v_describe_a(v, is, sizeof is));
    return v;
}

/* ---- numbers ---- */

/* One character that can stand in no number but as this. */
static Str *sign_given(OpCall *c, int i, const char *example)
{
    if (!given(c, i))
        return NULL;
    Str *s = arg_str(c, i);
    if (s->len == 0 || str_chars(s) != 1 || strchr("+-eE\"\n\r", s->text[0]) ||
        (s->text[0] >= '0' && s->text[0] <= '9'))
        arg_error_help(c, i, ERR_VALUE, example,
                       "%s is one character that is no digit, sign or quote", arg_name(c, i));
    return s;
}

static void signs_given(CsvReader *r)
{
    OpCall *c = r->call;
    const Str *decimal = sign_given(c, LOAD_DECIMAL, "decimal=\",\" reads 1,5 as 1.5");
    r->thousands = sign_given(c, LOAD_THOUSANDS, "thousands=\".\" reads 1.234 as 1234");
    if (decimal && decimal->len > 1)
        arg_error(c, LOAD_DECIMAL, ERR_VALUE, "decimal is an ASCII character, as , or .");
    r->decimal = decimal ? decimal->text[0] : '.';
    if (r->thousands && r->thousands->text[0] == r->decimal)
        arg_error_help(c, decimal ? LOAD_DECIMAL : LOAD_THOUSANDS, ERR_VALUE,
                       r->decimal == ',' ? "for 1.234,5: decimal=\",\", thousands=\".\""
                       : decimal         ? "for 1,234.5 thousands=\",\" is enough"
                                         : "for 1.234,5: decimal=\",\", thousands=\".\"",
                       "\"%c\" cannot be the decimal sign and stand between thousands", r->decimal);
}

/* Numbers become dtype=, or the format of the precision scope, from their digits. */
static void dtype_given(CsvReader *r, Arith *a)
{
    OpCall *c = r->call;
    const Scope *s = precise_scope(c->in);
    r->stated = given(c, LOAD_DTYPE);
    r->dtype = r->stated ? arg_dtype(c, LOAD_DTYPE, DT_F64) : s ? s->format : DT_F64;
    if (dtype_info(r->dtype)->kind == 'c')
        arg_error_help(c, LOAD_DTYPE, ERR_DTYPE, "dtype=f64, and x + 1i*y of two columns",
                       "a .csv file holds real numbers, %s is complex", dtype_name(r->dtype));
    bool plain = r->dtype == DT_F64 && (!s || scope_ordinary(s));
    r->arith = !plain && cast_arith(c->in, a, r->dtype) ? a : NULL;
}

void csv_options(CsvReader *r, Arith *a)
{
    signs_given(r);
    dtype_given(r, a);
    r->na = texts_given(r->call, LOAD_NA);
}

/* ---- the delimiter ---- */

bool csv_all_numbers(CsvReader r, int64_t *fields)
{
    bool numbers = true, last;
    *fields = 0;
    do {
        last = csv_field(&r);
        numbers &= csv_kind(&r) != CSV_TEXT;
        ++*fields;
    } while (!last);
    return numbers;
}

/* How often `delimiter` stands in the line outside quotes. */
static int64_t occurrences(const char *p, const char *end, char delimiter)
{
    int64_t n = 0;
    bool quoted = false;
    for (; p < end && (quoted || *p != '\n'); p++) {
        quoted ^= *p == '"';
        n += !quoted && *p == delimiter;
    }
    return n;
}

static const char *line_end(const char *p, const char *end)
{
    for (bool quoted = false; p < end && (quoted || *p != '\n'); p++)
        quoted ^= *p == '"';
    return p;
}

/* Blanks take the first record apart into numbers, or the one after it. */
static bool blanks(CsvReader r)
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

/* Does it stand in the first line, and (if `same`) as often in each of the next ones? */
static bool delimits(const CsvReader *r, char delimiter, bool same)
{
    int64_t first = occurrences(r->at, r->end, delimiter);
    bool good = first > 0;
    const char *p = line_end(r->at, r->end);
    for (int i = 0; i < 20 && same && good && p < r->end; i++) {
        const char *line = p + 1;
        p = line_end(line, r->end);
        bool blank = p - line == 0 || (p - line == 1 && *line == '\r');
        good = blank || occurrences(line, r->end, delimiter) == first;
    }
    return good;
}

/* The first of , ; tab | that stands equally often in each of the first lines; else the first that
 * stands in the first line; blanks where only they take it apart into numbers. A separator of
 * thousands comes last, and the decimal sign never, since 1,5 would be two fields. */
static char sniff(const CsvReader *r)
{
    static const char candidates[] = ",;\t|";
    char thousands = r->thousands && r->thousands->len == 1 ? r->thousands->text[0] : '\0';
    for (int pass = 0; pass < 4; pass++)
        for (const char *d = candidates; *d; d++)
            if (*d != r->decimal && (*d == thousands) == (pass >= 2) &&
                delimits(r, *d, pass % 2 == 0))
                return *d;
    return blanks(*r) ? ' ' : r->decimal == ',' ? ';' : ',';
}

char csv_delimiter(const CsvReader *r)
{
    OpCall *c = r->call;
    if (!given(c, LOAD_DELIMITER))
        return sniff(r);
    Str *s = arg_str(c, LOAD_DELIMITER);
    if (s->len != 1 || strchr("\"\n\r", s->text[0]))
        err_raise(&c->in->ctx, ERR_VALUE, "delimiter is one character and no quote or line end");
    if (s->text[0] == r->decimal)
        arg_error_help(c, LOAD_DELIMITER, ERR_VALUE,
                       r->decimal == ',' ? "semicolons stand between such numbers: delimiter=\";\""
                                         : "delimiter=\",\"",
                       "\"%c\" cannot be the decimal sign and stand between fields", r->decimal);
    return s->text[0];
}

/* ---- columns ---- */

static const Tuple *names_read(CsvReader *header, bool named, int64_t columns)
{
    OpCall *c = header->call;
    char plain[32];
    Value *rooted = c->in->sp;
    v_push(c->in, v_tuple(tuple_new(&c->in->ctx, 0)));
    int64_t line = header->line;
    for (int64_t j = 0; j < columns; j++) {
        size_t n = (size_t)snprintf(plain, sizeof plain, "c%lld", (long long)j);
        const char *text = plain;
        if (named) {
            csv_field(header);
            csv_trim(header);
            if (utf8_check(header->field, header->len) < header->len ||
                memchr(header->field, 0, header->len))
                file_error(c, header->path, "line %lld, field %lld: the name is not UTF-8 text",
                           (long long)line, (long long)j + 1);
        }
        if (named && header->len > 0)
            text = header->field, n = header->len;
        tuple_push(&c->in->ctx, &rooted->tuple, NULL, v_str(str_new(&c->in->ctx, text, n)));
    }
    return rooted->tuple;
}

static _Noreturn void no_column(const CsvReader *r, const Str *name)
{
    OpCall *c = r->call;
    char help[400];
    const char *all[256];
    size_t count = 0;
    for (; count < r->names->count && count < sizeof all / sizeof *all; count++)
        all[count] = r->names->items[count].str->text;
    const char *close = err_closest(name->text, all, count);
    int n = snprintf(help, sizeof help, close ? "did you mean \"%.60s\"?" : "its columns are ",
                     close);
    for (uint32_t j = 0; !close && j < r->names->count && n < 240; j++)
        n += snprintf(help + n, sizeof help - (size_t)n, "%s\"%.40s\"%s", j ? ", " : "",
                      r->names->items[j].str->text,
                      n > 180 && j + 1 < r->names->count ? ", …" : "");
    arg_error_help(c, LOAD_SELECT, ERR_VALUE, help, "%s has no column \"%.60s\"", r->path,
                   name->text);
}

static int64_t column_named(const CsvReader *r, const Str *name)
{
    for (uint32_t j = 0; j < r->names->count; j++) {
        const Str *s = r->names->items[j].str;
        if (s->len == name->len && memcmp(s->text, name->text, s->len) == 0)
            return j;
    }
    no_column(r, name);
}

/* select= puts columns into the places of the result, in its order. */
static void select_columns(CsvReader *r)
{
    OpCall *c = r->call;
    Value wanted = texts_given(c, LOAD_SELECT);
    Tensor *slots = op_keep(c, tensor_new(&c->in->ctx, DT_I64, 1, &r->columns));
    int64_t *slot = (int64_t *)slots->data;
    for (int64_t j = 0; j < r->columns; j++)
        slot[j] = wanted.tag == V_UNDEF ? j : -1;
    r->slot = slot;
    r->selected = wanted.tag == V_UNDEF    ? r->columns
                  : wanted.tag == V_STRING ? 1
                                           : wanted.tuple->count;
    for (int64_t k = 0; wanted.tag != V_UNDEF && k < r->selected; k++) {
        const Str *name = wanted.tag == V_STRING ? wanted.str : wanted.tuple->items[k].str;
        int64_t j = column_named(r, name);
        if (slot[j] >= 0)
            arg_error(c, LOAD_SELECT, ERR_VALUE, "\"%.60s\" is selected twice", name->text);
        slot[j] = k;
    }
}

void csv_columns_of(CsvReader *r, CsvReader header, bool named)
{
    OpCall *c = r->call;
    Value names = c->args[LOAD_HEADER];
    if (arg_given(c, LOAD_HEADER) && names.tag == V_TUPLE) {
        texts_given(c, LOAD_HEADER);
        if (names.tuple->count != (uint64_t)r->columns)
            arg_error(c, LOAD_HEADER, ERR_VALUE, "header has %u name%s for %lld column%s",
                      names.tuple->count, names.tuple->count == 1 ? "" : "s",
                      (long long)r->columns, r->columns == 1 ? "" : "s");
        r->names = names.tuple;
    } else if (named || given(c, LOAD_SELECT) || arg_bool(c, LOAD_COLUMNS, false)) {
        r->names = names_read(&header, named, r->columns);
    }
    select_columns(r);
}
