/* The writer of json.h. */
#include "core/json/json.h"

#include "core/base/source.h"
#include "core/system/c_locale.h"

#include <math.h>
#include <string.h>

/* The bytes up to what has to be written otherwise; utf8: how many of them are a text. */
static size_t plain_run(const char *text, size_t len)
{
    size_t n = 0;
    while (n < len && text[n] != '"' && text[n] != '\\' && (unsigned char)text[n] >= 0x20)
        n++;
    return utf8_check(text, n);
}

static void put_odd(Buf *out, unsigned char ch)
{
    if (ch == '"' || ch == '\\')
        buf_printf(out, "\\%c", ch);
    else if (ch == '\n')
        buf_puts(out, "\\n");
    else if (ch < 0x20)
        buf_printf(out, "\\u%04x", ch);
    else
        buf_puts(out, "\xEF\xBF\xBD");                  /* no UTF-8 begins like this */
}

void json_put_quoted(Buf *out, const char *text, size_t len)
{
    buf_putc(out, '"');
    for (size_t at = 0; at < len;) {
        size_t n = plain_run(text + at, len - at);
        buf_put(out, text + at, n);
        at += n;
        if (at < len)
            put_odd(out, (unsigned char)text[at++]);
    }
    buf_putc(out, '"');
}

static void begin(JsonWriter *w)
{
    if (w->comma)
        buf_putc(w->out, ',');
    w->comma = true;
}

void json_open(JsonWriter *w, char bracket)
{
    begin(w);
    buf_putc(w->out, bracket);
    w->comma = false;
}

void json_close(JsonWriter *w, char bracket)
{
    buf_putc(w->out, bracket);
    w->comma = true;
}

void json_key(JsonWriter *w, const char *key)
{
    begin(w);
    json_put_quoted(w->out, key, strlen(key));
    buf_putc(w->out, ':');
    w->comma = false;
}

void json_put_text(JsonWriter *w, const char *text, size_t len)
{
    begin(w);
    json_put_quoted(w->out, text, len);
}

void json_put_string(JsonWriter *w, const char *text)
{
    json_put_text(w, text, strlen(text));
}

void json_put_int(JsonWriter *w, int64_t v)
{
    begin(w);
    buf_printf(w->out, "%lld", (long long)v);
}

void json_put_number(JsonWriter *w, double v)
{
    char text[32];
    if (!isfinite(v)) {
        json_put_null(w);
        return;
    }
    begin(w);
    c_snprintf(text, sizeof text, "%.17g", v);
    buf_puts(w->out, text);
}

void json_put_bool(JsonWriter *w, bool v)
{
    begin(w);
    buf_puts(w->out, v ? "true" : "false");
}

void json_put_null(JsonWriter *w)
{
    begin(w);
    buf_puts(w->out, "null");
}

void json_put_raw(JsonWriter *w, const char *json, size_t len)
{
    begin(w);
    buf_put(w->out, json, len);
}

void json_pair(JsonWriter *w, const char *key, const char *text)
{
    json_key(w, key);
    json_put_string(w, text);
}
