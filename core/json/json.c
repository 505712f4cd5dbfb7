/* The walking reader of json.h. */
#include "core/json/json.h"

#include "core/base/source.h"
#include "core/system/c_locale.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void json_walk_fail(JsonWalk *j, int64_t at, const char *message, ...)
{
    char text[256];
    va_list args;
    va_start(args, message);
    c_vsnprintf(text, sizeof text, message, args);
    va_end(args);
    j->fail(j, at, text);
}

char json_walk_peek(JsonWalk *j)
{
    while (j->at < j->end && memchr(" \t\r\n", j->data[j->at], 4))
        j->at++;
    return j->at < j->end ? (char)j->data[j->at] : '\0';
}

void json_walk_want(JsonWalk *j, char ch, const char *where)
{
    if (json_walk_peek(j) != ch)
        json_walk_fail(j, j->at, "%s needs '%c' %s", j->name, ch, where);
    j->at++;
}

bool json_walk_more(JsonWalk *j, char close)
{
    char ch = json_walk_peek(j);
    if (ch != ',' && ch != close)
        json_walk_fail(j, j->at, "%s needs ',' or '%c' after a value", j->name, close);
    j->at++;
    return ch == ',';
}

/* ---- texts ---- */
static void put(JsonWalk *j, const char *bytes, size_t n)
{
    if (j->put && n > 0)
        j->put(j, bytes, n);
}

static uint32_t hex4(JsonWalk *j)
{
    uint32_t v = 0;
    for (int i = 0; i < 4; i++, j->at++) {
        int ch = j->at < j->end ? j->data[j->at] : 0;
        int digit = ch >= '0' && ch <= '9' ? ch - '0' : ch >= 'a' && ch <= 'f' ? ch - 'a' + 10
                  : ch >= 'A' && ch <= 'F' ? ch - 'A' + 10 : -1;
        if (digit < 0)
            json_walk_fail(j, j->at, "\\u needs four hexadecimal digits");
        v = v << 4 | (uint32_t)digit;
    }
    return v;
}

/* \uXXXX, or two of them that make one character (at stands behind the first \u). */
static uint32_t code_point(JsonWalk *j)
{
    int64_t start = j->at;
    uint32_t v = hex4(j);
    if (v >= 0xD800 && v < 0xDC00 && j->end - j->at >= 2 &&
        memcmp(j->data + j->at, "\\u", 2) == 0) {
        j->at += 2;
        uint32_t low = hex4(j);
        if (low >= 0xDC00 && low < 0xE000)
            return 0x10000 + ((v - 0xD800) << 10) + (low - 0xDC00);
    }
    bool none = (v >= 0xD800 && v < 0xE000) || v == 0;
    if (none && j->replaces)
        return 0xFFFD;
    if (none)
        json_walk_fail(j, start, "\\u%04x is no character of a text", v);
    return v;
}

static size_t encode(uint32_t v, char out[4])
{
    size_t n = v < 0x80 ? 1 : v < 0x800 ? 2 : v < 0x10000 ? 3 : 4;
    static const uint8_t lead[] = { 0, 0, 0xC0, 0xE0, 0xF0 };
    for (size_t i = n - 1; i > 0; i--, v >>= 6)
        out[i] = (char)(0x80 | (v & 0x3F));
    out[0] = (char)(lead[n] | v);
    return n;
}

static void escape(JsonWalk *j)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char ch = j->at < j->end ? (char)j->data[j->at] : '\0', bytes[4];
    const char *known = ch ? strchr(from, ch) : NULL;
    if (known) {
        j->at++;
        put(j, &to[known - from], 1);
    } else if (ch == 'u') {
        j->at++;
        size_t n = encode(code_point(j), bytes);
        put(j, bytes, n);
    } else {
        json_walk_fail(j, j->at, "a text has an escape that JSON does not know");
    }
}

void json_walk_text(JsonWalk *j, const char *what)
{
    if (json_walk_peek(j) != '"')
        json_walk_fail(j, j->at, "%s is not a text in double quotes", what);
    int64_t start = j->at++;
    for (;;) {
        const uint8_t *p = j->data + j->at;
        int64_t n = 0, left = j->end - j->at;
        while (n < left && p[n] != '"' && p[n] != '\\' && p[n] >= 0x20)
            n++;
        size_t good = utf8_check((const char *)p, (size_t)n);
        if (good != (size_t)n)
            json_walk_fail(j, j->at + (int64_t)good, "a text is not UTF-8");
        put(j, (const char *)p, (size_t)n);
        j->at += n;
        if (n == left)
            json_walk_fail(j, start, "the quote is not closed");
        if (p[n] < 0x20)
            json_walk_fail(j, j->at, "a text holds a control character");
        j->at++;
        if (p[n] == '"')
            return;
        escape(j);
    }
}

/* ---- numbers and words ---- */
int64_t json_walk_count(JsonWalk *j, const char *what)
{
    json_walk_peek(j);
    int64_t start = j->at, v = 0;
    const uint8_t *p = j->data;
    for (; j->at < j->end && p[j->at] >= '0' && p[j->at] <= '9'; j->at++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, p[j->at] - '0', &v))
            json_walk_fail(j, start, "%s is too large to count", what);
    bool padded = j->at - start > 1 && p[start] == '0';
    if (j->at == start || padded || (j->at < j->end && memchr(".eE", p[j->at], 3)))
        json_walk_fail(j, start, "%s is not a whole number from 0 on", what);
    return v;
}

int json_walk_word(JsonWalk *j)
{
    static const char *const words[] = { "true", "false", "null" };
    json_walk_peek(j);
    for (int i = 0; i < 3; i++) {
        int64_t n = (int64_t)strlen(words[i]);
        if (j->end - j->at >= n && memcmp(j->data + j->at, words[i], (size_t)n) == 0) {
            j->at += n;
            return i;
        }
    }
    return -1;
}

static bool digit_at(const JsonWalk *j)
{
    return j->at < j->end && j->data[j->at] >= '0' && j->data[j->at] <= '9';
}

static void digits(JsonWalk *j)
{
    if (!digit_at(j))
        json_walk_fail(j, j->at, "not a JSON value");
    while (digit_at(j))
        j->at++;
}

static bool one_of(JsonWalk *j, const char *any)
{
    bool is = j->at < j->end && memchr(any, j->data[j->at], strlen(any));
    j->at += is;
    return is;
}

bool json_walk_number(JsonWalk *j, int64_t *value)
{
    bool minus = one_of(j, "-"), fits = true, whole = true;
    int64_t start = j->at;
    *value = 0;
    digits(j);
    if (j->data[start] == '0' && j->at - start > 1)
        json_walk_fail(j, start, "a number begins with 0");
    for (int64_t i = start; fits && i < j->at; i++) {
        int digit = j->data[i] - '0';
        fits = !__builtin_mul_overflow(*value, 10, value) &&
               !__builtin_add_overflow(*value, minus ? -digit : digit, value);
    }
    if (one_of(j, ".")) {
        whole = false;
        digits(j);
    }
    if (one_of(j, "eE")) {
        whole = false;
        one_of(j, "+-");
        digits(j);
    }
    return whole && fits;
}

/* ---- values that nobody asked for ---- */
static void skip(JsonWalk *j, int depth)
{
    char open = json_walk_peek(j);
    int64_t number;
    if (open == '"') {
        json_walk_text(j, "a value");
        return;
    }
    if (open != '{' && open != '[') {
        if (json_walk_word(j) < 0)
            json_walk_number(j, &number);
        return;
    }
    char close = open == '{' ? '}' : ']';
    if (depth == JSON_DEPTH_MAX)
        json_walk_fail(j, j->at, "%s is nested more than %d levels deep", j->name,
                       JSON_DEPTH_MAX);
    j->at++;
    if (json_walk_peek(j) == close) {
        j->at++;
        return;
    }
    do {
        if (open == '{') {
            json_walk_text(j, "a key");
            json_walk_want(j, ':', "after a key");
        }
        skip(j, depth + 1);
    } while (json_walk_more(j, close));
}

void json_walk_skip(JsonWalk *j)
{
    void (*before)(JsonWalk *, const char *, size_t) = j->put;
    j->put = NULL;
    skip(j, 0);
    j->put = before;
}
