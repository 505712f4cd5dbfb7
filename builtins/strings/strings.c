/* String operations. Text is UTF-8: searching works on bytes (a valid part can only match
 * at a character's start), positions and white space on characters. */
#include "builtins/strings/text.h"

#include "core/base/error.h"
#include <stdio.h>
#include <string.h>

/* ---- building ---- */
Value text_build(Interp *in, TextFn fn, void *arg)
{
    Ctx *ctx = &in->ctx;
    Buf b;
    ErrFrame frame;
    buf_init(&b, ctx);
    if (ERR_TRY(ctx, &frame)) {
        fn(in, &b, arg);
        Str *s = str_from_buf(ctx, &b);
        ERR_END(ctx, &frame);
        return v_str(s);
    }
    buf_free(&b);
    err_rethrow(ctx);
}

int64_t text_chars(const char *text, size_t bytes)
{
    int64_t n = 0;
    for (size_t i = 0; i < bytes; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

static Value piece(Interp *in, const char *text, size_t len)
{
    return v_str(str_new(&in->ctx, text, len));
}

/* A tuple on the value stack to fill: its items are released with it on an error. */
static Tuple **new_parts(Interp *in)
{
    v_push(in, v_tuple(tuple_new(&in->ctx, 0)));
    return &in->sp[-1].tuple;
}

static void put_piece(Interp *in, Tuple **parts, const char *text, size_t len)
{
    tuple_push(&in->ctx, parts, NULL, piece(in, text, len));
}

Value text_characters(Interp *in, const Str *s)
{
    Tuple **parts = new_parts(in);
    for (size_t at = 0, from = 0; at < s->len; from = at) {
        utf8_next(s->text, s->len, &at);
        poll_interrupt(in);
        put_piece(in, parts, s->text + from, at - from);
    }
    return *--in->sp;
}

/* ---- searching ---- */
/* In pieces, between which the interrupt flag is read. */
static const char *find_bytes(Interp *in, const char *text, size_t len, const Str *part)
{
    enum { PIECE = 4 << 20 };
    size_t over = part->len > 0 ? part->len - 1 : 0;
    if (part->len == 0)
        return text;
    for (;; text += PIECE, len -= PIECE) {
        size_t n = len < PIECE + over ? len : PIECE + over;
        const char *at = memmem(text, n, part->text, part->len);
        if (at || n == len)
            return at;
        poll_interrupt(in);
    }
}

bool text_contains(Interp *in, const Str *s, const Str *part)
{
    return find_bytes(in, s->text, s->len, part) != NULL;
}

Value op_run_find(OpCall *c)
{
    Str *s = arg_str(c, 0), *part = arg_str(c, 1);
    int64_t chars = (int64_t)str_chars(s), start = arg_given(c, 2) ? arg_int(c, 2) : 0;
    if (start < 0)
        start = start + chars < 0 ? 0 : start + chars;
    if (start > chars)
        return v_int(-1);
    size_t from = str_offset(&c->in->ctx, s, (size_t)start);
    const char *at = find_bytes(c->in, s->text + from, s->len - from, part);
    return v_int(at ? start + text_chars(s->text + from, (size_t)(at - s->text) - from) : -1);
}

static bool ends_match(const Str *s, const Str *part, bool at_end)
{
    return part->len <= s->len &&
           memcmp(at_end ? s->text + s->len - part->len : s->text, part->text, part->len) == 0;
}

static Value match_any(OpCall *c, bool at_end)
{
    Str *s = arg_str(c, 0);
    if (c->args[1].tag != V_TUPLE)
        return v_bool(ends_match(s, arg_str(c, 1), at_end));
    Tuple *t = c->args[1].tuple;
    bool any = false;
    for (uint32_t i = 0; i < t->count; i++) {
        if (t->items[i].tag != V_STRING)
            arg_error(c, 1, ERR_TYPE, "item %u of %s is %s, not a string", i, arg_name(c, 1),
                      v_type_name(t->items[i]));
        any |= ends_match(s, t->items[i].str, at_end);
    }
    return v_bool(any);
}

Value op_run_startswith(OpCall *c) { return match_any(c, false); }
Value op_run_endswith(OpCall *c) { return match_any(c, true); }

/* ---- splitting and joining ---- */
bool text_is_space(uint32_t c)
{
    return c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x1f) || c == 0x85 || c == 0xa0 ||
           c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
           c == 0x205f || c == 0x3000;
}

static size_t skip_while(Interp *in, const Str *s, size_t at, bool space)
{
    while (at < s->len) {
        size_t next = at;
        poll_interrupt(in);
        if (text_is_space(utf8_next(s->text, s->len, &next)) != space)
            break;
        at = next;
    }
    return at;
}

/* The last character that is no white space ends here. */
static size_t trimmed_end(Interp *in, const Str *s, size_t from)
{
    size_t end = from;
    for (size_t at = from; at < s->len;) {
        poll_interrupt(in);
        if (!text_is_space(utf8_next(s->text, s->len, &at)))
            end = at;
    }
    return end;
}

static void split_words(Interp *in, Tuple **parts, const Str *s, int64_t most)
{
    for (size_t at = skip_while(in, s, 0, true); at < s->len; at = skip_while(in, s, at, true)) {
        size_t end = most == 0 ? trimmed_end(in, s, at) : skip_while(in, s, at, false);
        put_piece(in, parts, s->text + at, end - at);
        if (most-- == 0)
            break;
        at = end;
    }
}

static void split_by(Interp *in, Tuple **parts, const Str *s, const Str *sep, int64_t most)
{
    const char *from = s->text, *end = s->text + s->len, *at;
    while (most-- != 0 && (at = find_bytes(in, from, (size_t)(end - from), sep)) != NULL) {
        put_piece(in, parts, from, (size_t)(at - from));
        poll_interrupt(in);
        from = at + sep->len;
    }
    put_piece(in, parts, from, (size_t)(end - from));
}

Value text_split(OpCall *c, int sep_at, int most_at)
{
    Str *s = arg_str(c, 0);
    int64_t most = arg_given(c, most_at) ? arg_int(c, most_at) : -1;
    Tuple **parts = new_parts(c->in);
    if (!arg_given(c, sep_at)) {
        split_words(c->in, parts, s, most);
    } else {
        Str *sep = arg_str(c, sep_at);
        if (sep->len == 0) {
            char help[120];
            snprintf(help, sizeof help, "its characters: map(c -> c, %s)", arg_text(c, 0));
            arg_error_help(c, sep_at, ERR_VALUE, help, "the separator is empty");
        }
        split_by(c->in, parts, s, sep, most);
    }
    return v_retain(v_tuple(*parts));
}

static Str *part_string(OpCall *c, Tuple *t, uint32_t i)
{
    if (t->items[i].tag == V_STRING)
        return t->items[i].str;
    arg_error_help(c, 0, ERR_TYPE, "make them strings: join(map(string, parts), sep)",
                   "item %u is %s %s, not a string", i,
                   strchr("aeiou", v_type_name(t->items[i])[0]) ? "an" : "a",
                   v_type_name(t->items[i]));
}

/* [f(k) for k in 0:0] and map over nothing: of no strings, too, they are empty vectors. */
static bool is_empty_list(Value v)
{
    return v.tag == V_TENSOR && v.tensor->rank == 1 && v.tensor->dims[0] == 0;
}

Value op_run_join(OpCall *c)
{
    char help[160];
    if (c->args[0].tag == V_STRING && c->args[1].tag == V_TUPLE) {
        snprintf(help, sizeof help, "the parts come first: join(%s, %s)", arg_text(c, 1),
                 arg_text(c, 0));
        arg_error_help(c, 0, ERR_TYPE, help, "parts must be a tuple of strings, not a string");
    }
    if (is_empty_list(c->args[0]))
        return piece(c->in, "", 0);
    if (c->args[0].tag != V_TUPLE)
        arg_error_help(c, 0, ERR_TYPE, "make them strings: join(map(string, (…)), sep)",
                       "parts must be a tuple of strings, not a %s", v_type_name(c->args[0]));
    Tuple *t = c->args[0].tuple;
    Str *sep = arg_given(c, 1) ? arg_str(c, 1) : NULL;
    v_push(c->in, piece(c->in, "", 0));
    Str **out = &c->in->sp[-1].str;
    for (uint32_t i = 0; i < t->count; i++) {
        Str *part = part_string(c, t, i);
        if (i && sep)
            str_append(&c->in->ctx, out, sep->text, sep->len);
        str_append(&c->in->ctx, out, part->text, part->len);
    }
    return v_retain(v_str(*out));
}

/* An empty `old` stands between all characters, as in Python. */
static void replace_empty(Interp *in, Str **out, const Str *s, const Str *new, int64_t count)
{
    Ctx *ctx = &in->ctx;
    size_t at = 0, from = 0;
    while (count-- != 0) {
        poll_interrupt(in);
        str_append(ctx, out, new->text, new->len);
        from = at;
        if (at >= s->len)
            return;
        utf8_next(s->text, s->len, &at);
        str_append(ctx, out, s->text + from, at - from);
    }
    str_append(ctx, out, s->text + at, s->len - at);
}

Value op_run_replace(OpCall *c)
{
    Str *s = arg_str(c, 0), *old = arg_str(c, 1), *new = arg_str(c, 2);
    int64_t count = arg_given(c, 3) ? arg_int(c, 3) : -1;
    Ctx *ctx = &c->in->ctx;
    v_push(c->in, piece(c->in, "", 0));
    Str **out = &c->in->sp[-1].str;
    if (old->len == 0) {
        replace_empty(c->in, out, s, new, count);
        return v_retain(v_str(*out));
    }
    const char *from = s->text, *end = s->text + s->len, *at;
    while (count-- != 0 && (at = find_bytes(c->in, from, (size_t)(end - from), old)) != NULL) {
        str_append(ctx, out, from, (size_t)(at - from));
        str_append(ctx, out, new->text, new->len);
        poll_interrupt(c->in);
        from = at + old->len;
    }
    str_append(ctx, out, from, (size_t)(end - from));
    return v_retain(v_str(*out));
}

/* ---- stripping ---- */
static bool strippable(uint32_t ch, const Str *chars)
{
    if (!chars)
        return text_is_space(ch);
    for (size_t at = 0; at < chars->len;)
        if (utf8_next(chars->text, chars->len, &at) == ch)
            return true;
    return false;
}

static Value strip_ends(OpCall *c, bool left, bool right)
{
    Str *s = arg_str(c, 0), *chars = arg_given(c, 1) ? arg_str(c, 1) : NULL;
    size_t from = 0, end = s->len, kept = 0;
    while (left && from < s->len) {
        size_t next = from;
        poll_interrupt(c->in);
        if (!strippable(utf8_next(s->text, s->len, &next), chars))
            break;
        from = next;
    }
    if (right) {
        kept = from;
        for (size_t at = from; at < s->len;) {
            poll_interrupt(c->in);
            if (!strippable(utf8_next(s->text, s->len, &at), chars))
                kept = at;
        }
        end = kept;
    }
    return piece(c->in, s->text + from, end - from);
}

Value op_run_strip(OpCall *c) { return strip_ends(c, true, true); }
Value op_run_lstrip(OpCall *c) { return strip_ends(c, true, false); }
Value op_run_rstrip(OpCall *c) { return strip_ends(c, false, true); }

/* ---- capital and small letters ---- */
/* Ranges of the Unicode case mapping: capitals from..to differ from their small letters
 * by delta; delta 0: capital and small letters alternate, the capital on `parity`. */
static const struct CaseRange { uint16_t from, to; int16_t delta; uint8_t parity;
                                } case_ranges[] = {
    { 'A', 'Z', 32, 0 }, { 0xc0, 0xd6, 32, 0 }, { 0xd8, 0xde, 32, 0 },
    { 0x100, 0x12f, 0, 0 }, { 0x132, 0x137, 0, 0 }, { 0x139, 0x148, 0, 1 }, { 0x14a, 0x177, 0, 0 },
    { 0x178, 0x178, -121, 0 }, { 0x179, 0x17e, 0, 1 }, { 0x386, 0x386, 38, 0 },
    { 0x388, 0x38a, 37, 0 },
    { 0x38c, 0x38c, 64, 0 }, { 0x38e, 0x38f, 63, 0 }, { 0x391, 0x3a1, 32, 0 },
    { 0x3a3, 0x3ab, 32, 0 },
    { 0x400, 0x40f, 80, 0 }, { 0x410, 0x42f, 32, 0 }, { 0x460, 0x481, 0, 0 },
    { 0x48a, 0x4bf, 0, 0 },
    { 0x4d0, 0x52f, 0, 0 }, { 0x531, 0x556, 48, 0 }, { 0x1e00, 0x1e95, 0, 0 },
    { 0x1ea0, 0x1eff, 0, 0 },
};

static uint32_t map_case(uint32_t c, bool up)
{
    for (size_t i = 0; i < sizeof case_ranges / sizeof case_ranges[0]; i++) {
        const struct CaseRange *r = &case_ranges[i];
        int shift = up ? r->delta : 0;
        if (r->delta == 0) {
            if (c < r->from || c > r->to)
                continue;
            bool capital = (c & 1) == r->parity;
            return up ? (capital ? c : c - 1) : (capital ? c + 1 : c);
        }
        if ((int64_t)c - shift >= r->from && (int64_t)c - shift <= r->to)
            return (uint32_t)((int64_t)c + (up ? -r->delta : r->delta));
    }
    return up && c == 0x3c2 ? 0x3a3 : up && c == 0xb5 ? 0x39c : c;   /* final sigma, micro sign */
}

typedef struct CaseText { const Str *s; bool up; } CaseText;

static void put_case(Interp *in, Buf *out, void *arg)
{
    const CaseText *t = arg;
    for (size_t at = 0; at < t->s->len;) {
        size_t from = at;
        poll_interrupt(in);
        uint32_t c = utf8_next(t->s->text, t->s->len, &at), d = map_case(c, t->up);
        if (t->up && c == 0xdf)
            buf_puts(out, "SS");
        else if (d == c)
            buf_put(out, t->s->text + from, at - from);
        else
            buf_put_codepoint(out, d);
    }
}

Value text_case(OpCall *c, bool up)
{
    return text_build(c->in, put_case, &(CaseText){ arg_str(c, 0), up });
}
