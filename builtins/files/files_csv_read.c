/* Records and fields of delimited text: RFC 4180 quoting; any of \n, \r\n and \r ends a record,
 * lines without a field are skipped. */
#include "builtins/files/csv.h"

#include <string.h>

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

bool csv_field(CsvReader *r)
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

bool csv_more(CsvReader *r)
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

/* A line without quotes and with its only \r at the end is passed over at the speed of memchr. */
void csv_pass(CsvReader *r)
{
    const char *line_end = memchr(r->at, '\n', (size_t)(r->end - r->at));
    size_t n = (size_t)((line_end ? line_end : r->end) - r->at);
    const char *cr = memchr(r->at, '\r', n);
    if (line_end && (!cr || cr + 1 == line_end) && !memchr(r->at, '"', n))
        r->at = line_end + 1;
    else
        while (!csv_field(r))
            continue;
    r->line++;
}

void csv_trim(CsvReader *r)
{
    while (r->len > 0 && (*r->field == ' ' || *r->field == '\t'))
        r->field++, r->len--;
    while (r->len > 0 && (r->field[r->len - 1] == ' ' || r->field[r->len - 1] == '\t'))
        r->len--;
}
