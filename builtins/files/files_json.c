/* The JSON reader of files_json.h. */
#include "builtins/files/files_json.h"

#include <string.h>

enum { DEPTH_MAX = 32, VALUES_MAX = 16000000 };

char json_peek(Json *j)
{
    while (j->at < j->end && memchr(" \t\r\n", j->b->data[j->at], 4))
        j->at++;
    return j->at < j->end ? (char)j->b->data[j->at] : '\0';
}

void json_want(Json *j, char ch, const char *where)
{
    if (json_peek(j) != ch)
        bytes_error(j->b, j->at, NULL, "the header needs '%c' %s", ch, where);
    j->at++;
}

bool json_more(Json *j, char close)
{
    char ch = json_peek(j);
    if (ch != ',' && ch != close)
        bytes_error(j->b, j->at, NULL, "the header needs ',' or '%c' after a value", close);
    j->at++;
    return ch == ',';
}

static uint32_t hex4(Json *j)
{
    uint32_t v = 0;
    for (int i = 0; i < 4; i++, j->at++) {
        int ch = j->at < j->end ? j->b->data[j->at] : 0;
        int digit = ch >= '0' && ch <= '9' ? ch - '0' : ch >= 'a' && ch <= 'f' ? ch - 'a' + 10
                  : ch >= 'A' && ch <= 'F' ? ch - 'A' + 10 : -1;
        if (digit < 0)
            bytes_error(j->b, j->at, NULL, "\\u needs four hexadecimal digits");
        v = v << 4 | (uint32_t)digit;
    }
    return v;
}

/* \uXXXX, or two of them that make one character (at stands behind the first \u). */
static uint32_t code_point(Json *j)
{
    int64_t start = j->at;
    uint32_t v = hex4(j);
    if (v >= 0xD800 && v < 0xDC00 && j->end - j->at >= 2 &&
        memcmp(j->b->data + j->at, "\\u", 2) == 0) {
        j->at += 2;
        uint32_t low = hex4(j);
        if (low >= 0xDC00 && low < 0xE000)
            return 0x10000 + ((v - 0xD800) << 10) + (low - 0xDC00);
        v = low;
    }
    if ((v >= 0xD800 && v < 0xE000) || v == 0)
        bytes_error(j->b, start, NULL, "\\u%04x is no character of a text", v);
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

static void escape(Json *j, Str **text)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    Ctx *ctx = &j->b->call->in->ctx;
    char ch = j->at < j->end ? (char)j->b->data[j->at] : '\0', bytes[4];
    const char *known = ch ? strchr(from, ch) : NULL;
    if (known) {
        j->at++;
        str_append(ctx, text, &to[known - from], 1);
    } else if (ch == 'u') {
        j->at++;
        size_t n = encode(code_point(j), bytes);
        str_append(ctx, text, bytes, n);
    } else {
        bytes_error(j->b, j->at, NULL, "a text has an escape that JSON does not know");
    }
}

void json_text(Json *j, Str **text, const char *what)
{
    Ctx *ctx = &j->b->call->in->ctx;
    if (json_peek(j) != '"')
        bytes_error(j->b, j->at, NULL, "%s is not a text in double quotes", what);
    int64_t start = j->at++;
    (*text)->len = 0;
    (*text)->text[0] = '\0';
    for (;;) {
        const uint8_t *p = j->b->data + j->at;
        int64_t n = 0, left = j->end - j->at;
        while (n < left && p[n] != '"' && p[n] != '\\' && p[n] >= 0x20)
            n++;
        if (utf8_check((const char *)p, (size_t)n) != (size_t)n)
            bytes_error(j->b, j->at + (int64_t)utf8_check((const char *)p, (size_t)n), NULL,
                        "a text is not UTF-8");
        str_append(ctx, text, (const char *)p, (size_t)n);
        j->at += n;
        if (n == left)
            bytes_error(j->b, start, NULL, "the quote is not closed");
        if (p[n] < 0x20)
            bytes_error(j->b, j->at, NULL, "a text holds a control character");
        j->at++;
        if (p[n] == '"')
            return;
        escape(j, text);
    }
}

int64_t json_count(Json *j, const char *what)
{
    json_peek(j);
    int64_t start = j->at, v = 0;
    const uint8_t *p = j->b->data;
    for (; j->at < j->end && p[j->at] >= '0' && p[j->at] <= '9'; j->at++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, p[j->at] - '0', &v))
            bytes_error(j->b, start, NULL, "%s is too large to count", what);
    bool padded = j->at - start > 1 && p[start] == '0';
    if (j->at == start || padded || (j->at < j->end && memchr(".eE", p[j->at], 3)))
        bytes_error(j->b, start, NULL, "%s is not a whole number from 0 on", what);
    return v;
}

/* ---- values that nobody asked for ---- */

static void skip_digits(Json *j)
{
    int64_t start = j->at;
    while (j->at < j->end && j->b->data[j->at] >= '0' && j->b->data[j->at] <= '9')
        j->at++;
    if (j->at == start)
        bytes_error(j->b, j->at, NULL, "not a JSON value");
}

static bool skip_one(Json *j, const char *any)
{
    bool is = j->at < j->end && memchr(any, j->b->data[j->at], strlen(any));
    j->at += is;
    return is;
}

static void skip_number(Json *j)
{
    skip_one(j, "-");
    skip_digits(j);
    if (skip_one(j, "."))
        skip_digits(j);
    if (skip_one(j, "eE")) {
        skip_one(j, "+-");
        skip_digits(j);
    }
}

static void skip_word(Json *j)
{
    static const char *const words[] = { "true", "false", "null" };
    for (int i = 0; i < 3; i++) {
        int64_t n = (int64_t)strlen(words[i]);
        if (j->end - j->at >= n && memcmp(j->b->data + j->at, words[i], (size_t)n) == 0) {
            j->at += n;
            return;
        }
    }
    skip_number(j);
}

static void skip_value(Json *j, Str **text, int depth)
{
    char open = json_peek(j);
    if (open == '"') {
        json_text(j, text, "a value");
        return;
    }
    if (open != '{' && open != '[') {
        skip_word(j);
        return;
    }
    char close = open == '{' ? '}' : ']';
    if (depth == DEPTH_MAX)
        bytes_error(j->b, j->at, NULL, "the header is nested more than %d levels deep", DEPTH_MAX);
    j->at++;
    if (json_peek(j) == close) {
        j->at++;
        return;
    }
    do {
        if (open == '{') {
            json_text(j, text, "a key");
            json_want(j, ':', "after a key");
        }
        skip_value(j, text, depth + 1);
    } while (json_more(j, close));
}

void json_skip(Json *j)
{
    Interp *in = j->b->call->in;
    Value *mark = in->sp;
    skip_value(j, file_text(j->b->call), 0);
    stack_cut(in, mark);
}

/* ---- values ---- */

static Value whole_number(Json *j)
{
    int64_t start = j->at, v = 0;
    bool minus = skip_one(j, "-");
    for (; j->at < j->end && j->b->data[j->at] >= '0' && j->b->data[j->at] <= '9'; j->at++) {
        int digit = j->b->data[j->at] - '0';
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, minus ? -digit : digit, &v))
            bytes_error(j->b, start, NULL, "a number is too large");
    }
    if (j->at == start + minus || (j->at < j->end && memchr(".eE", j->b->data[j->at], 3)))
        bytes_error(j->b, start, NULL, "not a value that is read here");
    return v_int(v);
}

static Value plain_value(Json *j)
{
    static const char *const words[] = { "true", "false", "null" };
    const Value values[] = { v_bool(true), v_bool(false), v_none() };
    for (int i = 0; i < 3; i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(j->end - j->at) >= n && memcmp(j->b->data + j->at, words[i], n) == 0) {
            j->at += (int64_t)n;
            return values[i];
        }
    }
    return whole_number(j);
}

static Value value_at(Json *j, int depth);

/* An array, or an object, whose keys are the names. */
static Value items(Json *j, char close, int depth)
{
    Interp *in = j->b->call->in;
    Str **key = file_text(j->b->call);
    Value *slot = in->sp;
    v_push(in, v_tuple(tuple_new(&in->ctx, 0)));
    if (depth == 2 * DEPTH_MAX)
        bytes_error(j->b, j->at, NULL, "nested more than %d levels deep", 2 * DEPTH_MAX);
    j->at++;
    if (json_peek(j) == close) {
        j->at++;
        return v_retain(*slot);
    }
    do {
        const Name *name = NULL;
        if (close == '}') {
            int64_t at = j->at;
            json_text(j, key, "a key");
            name = names_intern(&in->names, (*key)->text, (*key)->len);
            if (tuple_find(slot->tuple, name) >= 0)
                bytes_error(j->b, at, NULL, "a key stands twice");
            json_want(j, ':', "after a key");
        }
        poll_interrupt(in);
        v_push(in, value_at(j, depth + 1));
        tuple_push(&in->ctx, &slot->tuple, name, v_retain(in->sp[-1]));
        stack_cut(in, in->sp - 1);
    } while (json_more(j, close));
    return v_retain(*slot);
}

static Value value_at(Json *j, int depth)
{
    Interp *in = j->b->call->in;
    Value *mark = in->sp, r;
    char open = json_peek(j);
    if (++j->values > VALUES_MAX)
        bytes_error(j->b, j->at, NULL, "more than %d values", VALUES_MAX);
    stack_check(in);
    stack_room(in, 64);
    if (open == '"') {
        Str **text = file_text(j->b->call);
        json_text(j, text, "a value");
        r = v_str(str_new(&in->ctx, (*text)->text, (*text)->len));
    } else if (open == '{' || open == '[') {
        r = items(j, open == '{' ? '}' : ']', depth);
    } else {
        r = plain_value(j);
    }
    stack_cut(in, mark);
    return r;
}

Value json_value(Json *j)
{
    return value_at(j, 0);
}

void json_put_text(OpCall *c, Str **out, const char *text, size_t len)
{
    Ctx *ctx = &c->in->ctx;
    str_append(ctx, out, "\"", 1);
    for (size_t i = 0; i < len; i++) {
        unsigned char ch = (unsigned char)text[i];
        if (ch == '"' || ch == '\\')
            file_put(c, out, "\\%c", ch);
        else if (ch == '\n')
            str_append(ctx, out, "\\n", 2);
        else if (ch < 0x20)
            file_put(c, out, "\\u%04x", ch);
        else
            str_append(ctx, out, text + i, 1);
    }
    str_append(ctx, out, "\"", 1);
}
