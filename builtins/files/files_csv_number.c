/* Fields as numbers: bools, missing ones, other decimal signs and separators of thousands; read
 * from their digits into any real dtype, so that decimal(30) gets all thirty. */
#include "builtins/files/csv.h"

#include "core/system/ascii.h"
#include "core/system/c_locale.h"
#include "kernels/number/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct CsvText { const char *text; size_t len; } CsvText;

/* ---- what a field is ---- */

static bool csv_is(const CsvReader *r, const char *word, size_t n)
{
    return r->len == n && memcmp(r->field, word, n) == 0;
}

bool csv_listed(const CsvReader *r)
{
    if (r->na.tag == V_STRING)
        return csv_is(r, r->na.str->text, r->na.str->len);
    for (uint32_t i = 0; r->na.tag == V_TUPLE && i < r->na.tuple->count; i++)
        if (csv_is(r, r->na.tuple->items[i].str->text, r->na.tuple->items[i].str->len))
            return true;
    return false;
}

static bool csv_missing(const CsvReader *r)
{
    return r->len == 0 || csv_is(r, "NA", 2) || csv_listed(r);
}

/* 1 and 0, or -1: it is no bool. */
static int csv_bool(const CsvReader *r)
{
    static const char *const words[][3] = { { "false", "False", "FALSE" },
                                            { "true", "True", "TRUE" } };
    for (int value = 0; value < 2; value++)
        for (int i = 0; i < 3; i++)
            if (csv_is(r, words[value][i], strlen(words[value][i])))
                return value;
    return -1;
}

/* The field as numbers are written elsewhere: with a point, without separators of thousands, which
 * stand before three digits (two between others, as in 12,34,567). False: not as in a number. */
static bool csv_plain(CsvReader *r, CsvText *out)
{
    *out = (CsvText){ r->field, r->len };
    if (r->decimal == '.' && !r->thousands)
        return true;
    const char *p = r->field, *end = p + r->len;
    bool whole = true, grouped = false;
    size_t group = 0, step = r->thousands ? r->thousands->len : 0;
    Ctx *ctx = &r->call->in->ctx;
    (*r->plain)->len = 0;
    if (p < end && (*p == '-' || *p == '+'))
        str_append(ctx, r->plain, p++, 1);
    for (; p < end; p++) {
        bool digit = *p >= '0' && *p <= '9';
        if (whole && step && (size_t)(end - p) >= step &&
            memcmp(p, r->thousands->text, step) == 0) {
            if (group < 1 + (size_t)grouped || group > 3)
                return false;
            grouped = true;
            group = 0;
            p += step - 1;
            continue;
        }
        if (!digit && grouped && whole && group != 3)
            return false;
        if (*p == '.' && r->decimal != '.')
            return false;
        group += digit;
        whole &= digit;
        str_append(ctx, r->plain, *p == r->decimal ? "." : p, 1);
    }
    *out = (CsvText){ (*r->plain)->text, (*r->plain)->len };
    return !whole || !grouped || group == 3;
}

static const char *skip_digits(const char *p, const char *end)
{
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p;
}

/* A number of any length, or in rational a fraction: what text_float leaves to wider formats. */
static bool csv_wide(const CsvReader *r, CsvText t)
{
    const char *p = t.text, *end = p + t.len;
    p += p < end && (*p == '-' || *p == '+');
    const char *whole = p;
    p = skip_digits(p, end);
    size_t digits = (size_t)(p - whole);
    if (r->dtype == DT_RATIONAL && digits && p < end && *p == '/')
        return p + 1 < end && skip_digits(p + 1, end) == end;
    if (p < end && *p == '.') {
        const char *places = ++p;
        p = skip_digits(p, end);
        digits += (size_t)(p - places);
    }
    if (digits && p < end && (*p == 'e' || *p == 'E')) {
        p++;
        p += p < end && (*p == '-' || *p == '+');
        digits = p < end;
        p = skip_digits(p, end);
    }
    return digits && p == end;
}

static bool csv_float(const CsvReader *r, CsvText t)
{
    double v;
    return text_float(t.text, t.len, &v) || (r->arith && csv_wide(r, t));
}

CsvKind csv_kind(CsvReader *r)
{
    int64_t whole;
    CsvText t;
    csv_trim(r);
    if (csv_missing(r))
        return CSV_MISSING;
    if (csv_bool(r) >= 0)
        return CSV_BOOL;
    if (!csv_plain(r, &t))
        return CSV_TEXT;
    return text_int(t.text, t.len, &whole) ? CSV_INT : csv_float(r, t) ? CSV_FLOAT : CSV_TEXT;
}

/* ---- errors ---- */

void csv_error(const CsvReader *r, int64_t line, int64_t j, const char *help, const char *fmt, ...)
{
    char text[600];
    va_list args;
    va_start(args, fmt);
    c_vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    const Str *name = r->names ? r->names->items[j].str : NULL;
    bool plain = name && !(name->text[0] == 'c' && skip_digits(name->text + 1, name->text +
                                                               name->len)[0] == '\0');
    file_error_help(r->call, r->path, help, "line %lld, field %lld%s%.40s%s: %s", (long long)line,
                    (long long)j + 1, plain ? " (" : "", plain ? name->text : "", plain ? ")" : "",
                    text);
}

/* What the writer of such a field may have meant. */
static void csv_advise(const CsvReader *r, char *out, size_t cap)
{
    static const char *const marks[] = { "-", "--", "?", ".", "*", "n/a", "N/A", "na", "#N/A",
                                         "null", "NULL", "None", "none", "missing", "<NA>" };
    double v;
    const char *comma = memchr(r->field, ',', r->len);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (csv_is(r, marks[i], strlen(marks[i]))) {
            snprintf(out, cap, "it counts as missing with na=: na=\"%s\"", marks[i]);
            return;
        }
    if (comma && r->decimal == '.' && !r->thousands && r->delimiter != ',' && comma > r->field &&
        text_float(r->field, (size_t)(comma - r->field), &v))
        snprintf(out, cap, "numbers with a comma for the point: decimal=\",\"");
    else
        snprintf(out, cap, "columns=true gives a named tuple in which columns may be text");
}

static _Noreturn void csv_no_number(const CsvReader *r, int64_t line, int64_t j)
{
    char help[160];
    csv_advise(r, help, sizeof help);
    csv_error(r, line, j, help, "\"%.*s\" is not a number", r->len > 40 ? 40 : (int)r->len,
              r->field);
}

static _Noreturn void csv_no_value(const CsvReader *r, DType dt, int64_t line, int64_t j,
                                   const char *why)
{
    csv_error(r, line, j, "dtype=f64 holds it", "\"%.*s\" %s %s",
              r->len > 40 ? 40 : (int)r->len, r->field, why, dtype_name(dt));
}

/* ---- elements ---- */

/* Of ints and bools; a whole number may have a point or an exponent. */
static void csv_store_int(CsvReader *r, DType dt, void *element, CsvText t, int64_t line, int64_t j)
{
    int64_t whole = csv_bool(r);
    double v;
    if (whole < 0 && !text_int(t.text, t.len, &whole)) {
        if (!text_float(t.text, t.len, &v))
            csv_no_number(r, line, j);
        if (!(fabs(v) <= 0x1p53) || v != floor(v))
            csv_no_value(r, dt, line, j, "is no number of");
        whole = (int64_t)v;
    }
    if (dt == DT_BOOL ? whole != 0 && whole != 1 : !v_store(&r->call->in->ctx, dt, element,
                                                            v_int(whole)))
        csv_no_value(r, dt, line, j, "does not fit");
    if (dt == DT_BOOL)
        *(bool *)element = whole;
}

/* Of the reader's arithmetic, from the digits. */
static void csv_store_wide(CsvReader *r, void *element, CsvText t, int64_t line, int64_t j)
{
    _Alignas(16) char carrier[16] = { 0 };
    Arith *a = r->arith;
    if (csv_bool(r) >= 0)
        t = (CsvText){ csv_bool(r) ? "1" : "0", 1 };
    else if (!csv_float(r, t))
        csv_no_number(r, line, j);
    ArithStatus status = number_from_text(a, carrier, t.text, t.len);
    if (status == ARITH_OK)
        status = a->ops->store(a, element, 1, carrier, 1, 1);
    if (status == ARITH_MEMORY || status == ARITH_LIBRARY || status == ARITH_INTERRUPT)
        arith_raise(&r->call->in->ctx, status, a->dtype, dtype_name(a->dtype));
    if (status != ARITH_OK)                     /* nan and 1/0 in rational, 1e9999999999999999999 */
        csv_no_value(r, a->dtype, line, j, "is no number of");
}

static void csv_store_missing(CsvReader *r, DType dt, void *element, int64_t line, int64_t j)
{
    if (dt == DT_F64 && !r->arith)
        *(double *)element = (double)NAN;
    else if (dtype_info(dt)->kind == 'f' && dt != DT_RATIONAL)
        csv_store_wide(r, element, (CsvText){ "nan", 3 }, line, j);
    else
        csv_error(r, line, j, "dtype=f64 has nan for it", "the field is missing, and %s has no nan",
                  dtype_name(dt));
}

void csv_store(CsvReader *r, DType dt, void *element, int64_t line, int64_t j)
{
    CsvText t;
    csv_trim(r);
    if (csv_missing(r)) {
        csv_store_missing(r, dt, element, line, j);
        return;
    }
    if (!csv_plain(r, &t))
        csv_no_number(r, line, j);
    if (strchr("bi", dtype_info(dt)->kind))
        csv_store_int(r, dt, element, t, line, j);
    else if (r->arith)
        csv_store_wide(r, element, t, line, j);
    else if (!text_float(t.text, t.len, element)) {
        if (csv_bool(r) < 0)
            csv_no_number(r, line, j);
        *(double *)element = csv_bool(r);
    }
}
