/* Does a line that a document shows say the same as the line that came out? Read as tokens:
 * numbers with a point or an exponent, or of bytes (`944 B`), match within a relative tolerance, a
 * duration matches any duration and a rate any rate, `…` any text; all else is compared as it
 * stands. */
#include "interp/program/main.h"

#include "core/system/ascii.h"
#include "core/system/c_locale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum TokenKind {
    TOKEN_END, TOKEN_BLANK, TOKEN_FLOAT, TOKEN_WORD, TOKEN_RULE, TOKEN_TIME, TOKEN_RATE
} TokenKind;

typedef struct Token { TokenKind kind; const char *at; size_t len; } Token;

#define ANY "…"
enum { ANY_BYTES = sizeof ANY - 1, EXACT_DIGITS = 17, ROUNDED_DIGITS = 5 };

static bool starts(const char *at, const char *end, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(end - at) >= n && memcmp(at, word, n) == 0;
}

static bool is_name(char c)
{
    return ascii_alnum(c) || c == '_';
}

/* The end of digits, a point and an exponent; *real: there is a point or an exponent. */
static const char *number_end(const char *at, const char *end, bool *real)
{
    *real = false;
    while (at < end && ascii_digit(*at))
        at++;
    if (at + 1 < end && *at == '.' && ascii_digit(at[1])) {
        *real = true;
        for (at++; at < end && ascii_digit(*at); at++)
            ;
    }
    const char *power = at + (at < end && (*at == 'e' || *at == 'E'));
    power += power > at && power < end && (*power == '-' || *power == '+');
    if (power > at && power < end && ascii_digit(*power)) {
        *real = true;
        for (at = power; at < end && ascii_digit(*at); at++)
            ;
    }
    return at;
}

/* A unit of time or of a rate after a number, with or without a blank; NULL: none. */
static const char *unit_end(const char *at, const char *end, TokenKind *kind)
{
    static const char *const units[] = { "ns", "µs", "us", "ms", "s", "min", "FLOP/s", "kFLOP/s",
        "MFLOP/s", "GFLOP/s", "TFLOP/s", "B/s", "kB/s", "MB/s", "GB/s", "TB/s" };
    if (at < end && *at == ' ')
        at++;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const char *after = at + strlen(units[i]);
        if (starts(at, end, units[i]) && (after == end || (!is_name(*after) && *after != '/'))) {
            *kind = strchr(units[i], '/') ? TOKEN_RATE : TOKEN_TIME;
            return after;
        }
    }
    return NULL;
}

/* Bytes follow a number: how many a run takes differs, and 59 kB stands beside 58.9 kB. */
static bool of_bytes(const char *at, const char *end)
{
    static const char *const units[] = { " B", " kB", " MB", " GB" };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const char *after = at + strlen(units[i]);
        if (starts(at, end, units[i]) && (after == end || !(is_name(*after) || *after == '/')))
            return true;
    }
    return false;
}

/* A line of a table, of any length: `─────`. */
static const char *rule_end(const char *at, const char *end)
{
    static const char *const marks[] = { "─", "━", "═", "-", "=", "_" };
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *to = at;
        while (starts(to, end, marks[i]))
            to += strlen(marks[i]);
        if ((size_t)(to - at) >= 3 * strlen(marks[i]))
            return to;
    }
    return NULL;
}

static Token token(const char *at, const char *end)
{
    Token t = { TOKEN_WORD, at, 1 };
    const char *to = at;
    bool real = false;
    if (at == end)
        return (Token){ TOKEN_END, at, 0 };
    if (*at == ' ' || *at == '\t') {
        t.kind = TOKEN_BLANK;
        while (to < end && (*to == ' ' || *to == '\t'))
            to++;
    } else if (ascii_digit(*at)) {
        to = number_end(at, end, &real);
        t.kind = real || of_bytes(to, end) ? TOKEN_FLOAT : TOKEN_WORD;
        const char *unit = unit_end(to, end, &t.kind);
        to = unit ? unit : to;
    } else if (is_name(*at) && !rule_end(at, end)) {
        while (to < end && is_name(*to))
            to++;
    } else if ((to = rule_end(at, end)) != NULL) {
        t.kind = TOKEN_RULE;
    } else {
        for (to = at + 1; to < end && ((unsigned char)*to & 0xc0) == 0x80; to++)
            ;
    }
    t.len = (size_t)(to - at);
    return t;
}

/* How many digits a number shows, and what one unit of its last place is. */
static int shown_digits(const Token *t, double *unit)
{
    int digits = 0, places = 0, power = 0;
    bool point = false, leading = true;
    for (size_t i = 0; i < t->len; i++) {
        char c = t->at[i];
        if (c == 'e' || c == 'E') {
            power = atoi(t->at + i + 1);
            break;
        }
        point |= c == '.';
        places += point && c != '.';
        leading &= c == '0' || c == '.';
        digits += c != '.' && !leading;
    }
    *unit = pow(10, power - places);
    return digits;
}

/* A number that was rounded to be shown may come out one unit higher or lower. More digits than
 * a double has come from exact formats, and are compared as they stand. */
static bool close_numbers(const MatchRule *rule, const Token *want, const Token *got)
{
    double unit, other;
    int digits = shown_digits(want, &unit), more = shown_digits(got, &other);
    if (rule->tolerance <= 0 || digits > EXACT_DIGITS || more > EXACT_DIGITS)
        return false;
    char text[2][64];
    if (want->len >= sizeof text[0] || got->len >= sizeof text[0])
        return false;
    memcpy(text[0], want->at, want->len);
    memcpy(text[1], got->at, got->len);
    text[0][want->len] = text[1][got->len] = '\0';
    double a = c_strtod(text[0], NULL), b = c_strtod(text[1], NULL);
    double room = rule->tolerance * fmax(fabs(a), fabs(b));
    if (digits >= ROUNDED_DIGITS && more >= ROUNDED_DIGITS)
        room += 1.001 * fmax(unit, other);
    return fabs(a - b) <= room;
}

static bool match_token(MatchRule *rule, const Token *want, const Token *got)
{
    if (want->len == got->len && memcmp(want->at, got->at, want->len) == 0)
        return want->kind == got->kind;
    if (want->kind != got->kind)
        return false;
    bool time = want->kind == TOKEN_TIME || want->kind == TOKEN_RATE;
    bool width = want->kind == TOKEN_RULE;
    bool near = time || (want->kind == TOKEN_FLOAT && close_numbers(rule, want, got));
    rule->near += near;
    return near || (width && rule->loose);
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

static size_t trimmed(const char *line, size_t n)
{
    while (n > 0 && strchr(" \t\r", line[n - 1]))
        n--;
    return n;
}

/* `…` takes as little as it can; where that fails, the last one takes one token more. */
bool match_line(void *with, const char *want, size_t n, const char *got, size_t m)
{
    MatchRule *rule = with;
    const char *w_end = want + trimmed(want, n), *g_end = got + trimmed(got, m);
    const char *any = NULL, *taken = NULL;
    if (w_end - want == g_end - got && memcmp(want, got, (size_t)(w_end - want)) == 0)
        return true;
    while (want < w_end || got < g_end) {
        if (rule->loose) {
            want = skip_blanks(want, w_end);
            got = skip_blanks(got, g_end);
        }
        if (starts(want, w_end, ANY)) {
            any = want += ANY_BYTES;
            taken = got;
            rule->near++;
            continue;
        }
        Token w = token(want, w_end), g = token(got, g_end);
        if (match_token(rule, &w, &g)) {
            want += w.len;
            got += g.len;
        } else if (any && taken < g_end) {
            want = any;
            got = taken += token(taken, g_end).len;
        } else {
            return false;
        }
    }
    return true;
}

bool match_any_lines(const char *want, size_t n)
{
    const char *end = want + trimmed(want, n), *at = skip_blanks(want, end);
    return (end - at == ANY_BYTES && starts(at, end, ANY)) ||
           (end - at == 3 && starts(at, end, "..."));
}
