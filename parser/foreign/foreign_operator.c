/* Signs, brackets, strings and numbers of other languages: && ** %*% .^ ? :, A(1,2) and
 * x[end], [1 2; 3 4], 'abc', f"…", 2x. Which of two meanings a sign has is taken from what
 * stands around it; where that does not tell, nothing is changed. */
#include "parser/foreign/foreign_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- characters ---- */

static const struct { uint32_t code; const char *name, *ours; } lookalikes[] = {
#define LOOKALIKE(code, name, ours) { code, name, ours },
#include "lexer/lookalike.def"
#undef LOOKALIKE
};

static bool is_blank(uint32_t c)
{
    return c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x202F || c == 0x205F ||
           c == 0x3000;
}

static const char *plain_of(uint32_t c, char letter[2])
{
    letter[0] = (char)(c >= 0xFF01 && c <= 0xFF5E ? c - 0xFF01 + '!' : ' ');
    letter[1] = '\0';
    if (is_blank(c) || (c >= 0xFF01 && c <= 0xFF5E))
        return letter;
    if (c == 0xFEFF)
        return "";
    for (size_t i = 0; i < sizeof lookalikes / sizeof *lookalikes; i++)
        if (lookalikes[i].code == c && c != 0x22C5 && c != 0x2212 && c != 0x2297)
            return lookalikes[i].ours;
    return NULL;
}

bool foreign_lookalikes(Fix *f)
{
    char text[FOREIGN_TEXT], letter[2];
    int n = 0;
    bool changed = false, string = false;
    for (size_t at = 0; at < (size_t)f->len;) {
        size_t from = at;
        uint32_t c = utf8_next(f->text, (size_t)f->len, &at);
        string ^= c == '"';
        const char *plain = c < 0x80 || string ? NULL : plain_of(c, letter);
        size_t bytes = plain ? strlen(plain) : at - from;
        if (n + (int)bytes >= FOREIGN_TEXT)
            return false;
        memcpy(text + n, plain ? plain : f->text + from, bytes);
        if (plain && from < f->facts->at)
            f->at = (uint32_t)((int)f->at + (int)bytes - (int)(at - from));
        n += (int)bytes;
        changed |= plain != NULL;
    }
    memcpy(f->text, text, (size_t)n);
    f->text[n] = '\0';
    f->len = n;
    return changed;
}

/* ---- signs ---- */

typedef struct Sign { const char *theirs, *ours, *in_index; } Sign;

static const Sign signs[] = {
    { "&&", "and", "&" }, { "||", "or", "|" }, { "**", "^" }, { "**=", "^=" }, { "===", "==" },
    { "!==", "!=" },
        { "~=", "!=" },
    { "<>", "!=" }, { "=<", "<=" }, { "=>", "->" }, { "→", "->" }, { "÷", "/" }, { "∈", "in" },
    { "∉", "not in" },
    { ".*", "*" }, { "./", "/" }, { ".^", "^" }, { ".**", "^" }, { ".+", "+" }, { ".-", "-" },
    { ".==", "==" },
        { ".!=", "!=" },
    { ".<", "<" }, { ".>", ">" }, { ".<=", "<=" }, { ".>=", ">=" }, { ".&", "&" }, { ".|", "|" },
    { ".=", "=" },
    { "%*%", "@" }, { "%%", "%" }, { "%/%", "//" }, { "%o%", "⊗" }, { "%in%", "in" },
    { "∞", "inf" }, { "¬", "!" },
};

static bool is_word(const char *s)
{
    return s[0] >= 'a' && s[0] <= 'z';
}

/* An operator in the place of another; a word is set apart by blanks. */
static bool put_sign(Fix *f, int a, int b, const char *ours)
{
    bool before = is_word(ours) && !f->piece[a].space,
         after = is_word(ours) && !f->piece[b + 1].space;
    return piece_replace(f, a, b, "%s%s%s", before ? " " : "", ours, after ? " " : "");
}

/* x => e is a function where it is used in e; as a comparison it is spelt >= . */
static bool rule_arrow(Fix *f, int k)
{
    if (!piece_is(f, k, "=>") || piece_kind(f, k - 1) != PIECE_NAME)
        return false;
    char name[64];
    int n = piece_length(f, k - 1, k - 1);
    if (n >= (int)sizeof name)
        return false;
    memcpy(name, f->text + f->piece[k - 1].from, (size_t)n);
    name[n] = '\0';
    for (int i = k + 1; i < f->count && !piece_in(f, 0, "if while"); i++)
        if (piece_is(f, i, name))
            return false;
    return piece_replace(f, k, k, ">=");
}

static bool rule_sign(Fix *f, int k)
{
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (piece_is(f, k, signs[i].theirs)) {
            if (piece_is(f, k, "||") && !piece_ends_operand(f, k - 1))
                return false;
            return put_sign(f, k, k, signs[i].in_index && piece_in_index(f, k)
                            ? signs[i].in_index : signs[i].ours);
        }
    return false;
}

/* `= =`, `! =`, `< =`, `: =`, `- >`, `* *`: a blank in the middle of a sign. */
static bool rule_split(Fix *f, int k)
{
    static const char *const pairs[][3] = {
        { "=", "=", "==" }, { "!", "=", "!=" }, { "<", "=", "<=" }, { ">", "=", ">=" },
        { ":", "=", ":=" },
            { "-", ">", "->" },
        { "|", ">", "|>" }, { "*", "*", "^" }, { "+", "=", "+=" }, { "-", "=", "-=" },
        { "/", "=", "/=" },
            { "*", "=", "*=" },
    };
    if (!f->piece[k + 1].space)
        return false;
    if (k == 1 && piece_is(f, 1, "=") && piece_is(f, 2, "="))
        return piece_replace(f, 1, 2, " =");
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (piece_is(f, k, pairs[i][0]) && piece_is(f, k + 1, pairs[i][1]))
            return piece_replace(f, k, k + 1, "%s%s", f->piece[k].space ? "" : " ", pairs[i][2]);
    return false;
}

/* The B of A'B. */
static bool is_letter_piece(const Fix *f, int k)
{
    return piece_kind(f, k) == PIECE_NAME && !f->piece[k].space && piece_starts_operand(f, k);
}

/* ~a, x² and x.' and the signs that need an operand beside them. */
static bool rule_beside(Fix *f, int k)
{
    bool operand = piece_ends_operand(f, k - 1);
    if (piece_is(f, k, "~") && !operand && piece_starts_operand(f, k + 1))
        return piece_replace(f, k, k, "!");
    if (operand && piece_in(f, k, "² ³ ¹"))
        return piece_replace(f, k, k, "^%s",
                             piece_is(f, k, "²") ? "2" : piece_is(f, k, "³") ? "3" : "1");
    if (operand && piece_in(f, k, "’ ᵀ"))
        return piece_replace(f, k, k, "'");
    if (operand && piece_is(f, k, "⁻¹")) {
        int from = piece_operand_start(f, k - 1);
        return piece_replace(f, from, k, "inv(%.*s)", PIECE_RANGE(f, from, k - 1));
    }
    if (operand && piece_is(f, k, ".'")) {
        int from = piece_operand_start(f, k - 1);
        f->note = "A' conjugates as well";
        return piece_replace(f, from, k, "transpose(%.*s)", PIECE_RANGE(f, from, k - 1));
    }
    if (operand && piece_in(f, k, "++ --") && k == f->count - 1)
        return piece_replace(f, k, k, " %c= 1", f->text[f->piece[k].from]);
    if (operand && piece_in(f, k, ".. ...") && !piece_is(f, k + 1, ")") && k + 1 < f->count)
        return piece_kind(f, k - 1) != PIECE_STRING && piece_replace(f, k, k, ":");
    if (operand && piece_is(f, k, "∞"))
        return false;
    if (operand && piece_is(f, k - 1, "'") && is_letter_piece(f, k))
        return piece_replace(f, k, k - 1, "%s", " @ ");
    if (piece_is(f, k, "$") && piece_kind(f, k + 1) == PIECE_NAME && !f->piece[k + 1].space)
        return piece_replace(f, k, k, "%s", operand ? "." : "");
    if (piece_is(f, k, "@.") ||
        (piece_is(f, k, "@") && !operand && piece_kind(f, k + 1) == PIECE_NAME &&
                                 !f->piece[k + 1].space))
        return piece_is(f, k, "@.") ? piece_replace(f, k, k, "%s", "") : false;
    return false;
}

/* n! and push!(x, 3) */
static bool rule_bang(Fix *f, int k)
{
    if (!piece_is(f, k, "!") || !piece_ends_operand(f, k - 1) || f->piece[k].space)
        return false;
    int from = piece_operand_start(f, k - 1);
    if (piece_kind(f, k - 1) == PIECE_NAME && piece_is(f, k + 1, "(") && !f->piece[k + 1].space &&
        from == 0 && k == 1) {
        int close = f->piece[k + 1].match, comma = piece_find(f, k + 1, ",");
        int last = comma < 0 || comma > close ? close - 1 : comma - 1;
        if (close < 0 || last < k + 2)
            return false;
        f->note = "values never alias: what a call changes is assigned";
        if (piece_in(f, 0, "push append"))
            return piece_replace(f, 0, k, "%.*s = append", PIECE_RANGE(f, k + 2, last));
        return piece_replace(f, 0, k, "%.*s = %.*s", PIECE_RANGE(f, k + 2, last),
                             PIECE_RANGE(f, 0, 0));
    }
    if (piece_starts_operand(f, k + 1))
        return false;
    return piece_replace(f, from, k, "gamma(%.*s + 1)", PIECE_RANGE(f, from, k - 1));
}

/* c ? a : b */
static bool rule_choice(Fix *f, int k)
{
    int colon = piece_is(f, k, "?") ? piece_find(f, k, ":") : -1;
    if (colon < 0)
        return false;
    int from = k, to = colon;
    while (from > 0 && !piece_in(f, from - 1, "= := , ( [ { ; return ->") &&
           piece_kind(f, from - 1) != PIECE_LINE) {
        from--;
        if (piece_kind(f, from) == PIECE_CLOSE && f->piece[from].match >= 0)
            from = f->piece[from].match;
    }
    while (to + 1 < f->count && !piece_in(f, to + 1, ", ) ] } ;")) {
        to++;
        if (piece_kind(f, to) == PIECE_OPEN && f->piece[to].match >= 0)
            to = f->piece[to].match;
    }
    if (from == k || to == colon || colon == k + 1)
        return false;
    return piece_replace(f, from, to, "if %.*s { %.*s } else { %.*s }", PIECE_RANGE(f, from, k - 1),
                       PIECE_RANGE(f, k + 1, colon - 1), PIECE_RANGE(f, colon + 1, to));
}

/* |x|, ||x|| */
static bool rule_bars(Fix *f, int k)
{
    if (!piece_in(f, k, "| ||") || piece_ends_operand(f, k - 1))
        return false;
    bool norm = piece_is(f, k, "||");
    int close = piece_find(f, k, norm ? "||" : "|");
    if (close <= k + 1 || !piece_ends_operand(f, close - 1))
        return false;
    return piece_replace(f, k, close, "%s(%.*s)", norm ? "norm" : "abs",
                         PIECE_RANGE(f, k + 1, close - 1));
}

/* ---- powers ---- */

static bool rule_power(Fix *f, int k)
{
    bool pointed = f->facts->what == FOREIGN_NAME && f->at == f->piece[k].from;
    if (pointed && piece_is(f, k, "e")) {                        /* e^x, e */
        int end = piece_is(f, k + 1, "^")
                  ? piece_operand_end(f, k + 2 + piece_is(f, k + 2, "-")) : k;
        bool group = end > k && piece_is(f, k + 2, "(") && f->piece[k + 2].match == end;
        if (end == k)
            return piece_replace(f, k, k, "exp(1)");
        return piece_replace(f, k, end, group ? "exp%.*s" : "exp(%.*s)",
                             PIECE_RANGE(f, k + 2, end));
    }
    if (pointed && piece_in(f, k, "i j im") && !piece_in_index(f, k)) {
        bool times = piece_is(f, k - 1, "*") && piece_kind(f, k - 2) == PIECE_NUMBER;
        return times && piece_replace(f, k - 2, k, "%.*si", PIECE_RANGE(f, k - 2, k - 2));
    }
    if (!piece_is(f, k, "^"))
        return false;
    bool matrix = piece_kind(f, k - 1) == PIECE_NAME && piece_length(f, k - 1, k - 1) == 1 &&
                  piece_is_capital(f, k - 1);
    if (piece_in(f, k + 1, "T H") && f->facts->what == FOREIGN_NAME &&
        f->at == f->piece[k + 1].from)
        return piece_replace(f, k, k + 1, "'");
    if (!piece_is(f, k + 1, "{") || f->piece[k + 1].match < 0)
        return false;
    int close = f->piece[k + 1].match;
    if (close == k + 3 && piece_in(f, k + 2, "T H"))
        return piece_replace(f, k, close, "'");
    if (matrix && close == k + 4 && piece_is(f, k + 2, "-") && piece_is(f, k + 3, "1"))
        return piece_replace(f, k - 1, close, "inv(%.*s)", PIECE_RANGE(f, k - 1, k - 1));
    return piece_replace(f, k + 1, close, "(%.*s)", PIECE_RANGE(f, k + 2, close - 1));
}

static const char starts_at_0[] = "indices start at 0";

/* The brackets at k as those of an index. From 1, as where ( selects: its literals count one
 * less, and 2:3 goes to 3. */
static bool put_element(Fix *f, int k, bool from_1)
{
    int close = f->piece[k].match;
    f->note = starts_at_0;
    f->at = UINT32_MAX;
    for (int i = k + 1; i < close; i++)                    /* who writes a 0 counts as we do */
        from_1 &= !(piece_is(f, i, "0") && piece_around(f, i) == k && piece_in(f, i - 1, "( , :"));
    piece_replace(f, close, close, "]");
    for (int i = close - 1; from_1 && i > k; i--) {
        const char *s = f->text + f->piece[i].from;
        bool first = piece_in(f, i - 1, "( , {"),
             last = piece_in(f, i + 1, ") , :") || i + 1 == close;
        bool number = piece_kind(f, i) == PIECE_NUMBER &&
                      (int)strspn(s, "0123456789") == piece_length(f, i, i);
        if (number && first && last && piece_around(f, i) == k && strtol(s, NULL, 10) > 0)
            piece_replace(f, i, i, "%ld", strtol(s, NULL, 10) - 1);
    }
    return piece_replace(f, k, k, "[");
}

/* sin^2(x): the call of a number says that it was meant so. */
static bool rule_product(Fix *f, int k)
{
    if (f->facts->what != FOREIGN_PRODUCT || f->at != f->piece[k].from || !piece_is(f, k, "("))
        return false;
    int close = f->piece[k].match, start = k > 0 ? piece_operand_start(f, k - 1) : 0;
    f->at = UINT32_MAX;
    if (close < 0 || piece_in(f, piece_find(f, k, ","), ","))
        return false;
    if (piece_is(f, start, "size") && piece_is(f, start + 1, "(") &&
        f->piece[start + 1].match == k - 1)
        return put_element(f, k, true) && piece_replace(f, start, start, "shape");
    if (piece_is(f, k - 2, "^") && piece_kind(f, k - 1) == PIECE_NUMBER &&
        piece_kind(f, k - 3) == PIECE_NAME)
        return piece_replace(f, k - 2, close, "%.*s^%.*s", PIECE_RANGE(f, k, close),
                             PIECE_RANGE(f, k - 1, k - 1));
    return piece_replace(f, k, k, "*(");
}

/* a << 2, a >> 2 */
static bool rule_shift(Fix *f, int k)
{
    if (!piece_in(f, k, "<< >>") || !piece_ends_operand(f, k - 1) ||
        !piece_starts_operand(f, k + 1) || piece_find(f, k, "<< >>") > 0)
        return false;
    int from = piece_operand_start(f, k - 1), to = piece_operand_end(f, k + 1);
    return piece_replace(f, from, to, "%s(%.*s, %.*s)", piece_is(f, k, "<<") ? "shl" : "shr",
                         PIECE_RANGE(f, from, k - 1), PIECE_RANGE(f, k + 1, to));
}

/* ---- brackets ---- */

/* Does the name at k stand before the bracket of an index elsewhere? */
static bool is_indexed(const Fix *f, int k)
{
    int n = piece_length(f, k, k);
    for (int i = 0; i + 1 < f->count && piece_kind(f, k) == PIECE_NAME; i++)
        if (piece_is(f, i + 1, "[") && !f->piece[i + 1].space && piece_length(f, i, i) == n &&
            memcmp(f->text + f->piece[i].from, f->text + f->piece[k].from, (size_t)n) == 0)
            return true;
    return false;
}

/* A(1, 2), A(:, 1), A{1}, A.[1] as A[1, 2] …; what is an index once is one each time. */
static bool rule_element(Fix *f, int k)
{
    int close = f->piece[k].match;
    if (close < 0 || piece_kind(f, k) != PIECE_OPEN)
        return false;
    bool value = piece_ends_operand(f, k - 1) && !f->piece[k].space;
    bool pointed = f->facts->what == FOREIGN_ELEMENT && f->at == f->piece[k].from &&
                   piece_is(f, k, "(");
    bool alone = false;                  /* a lone colon, as no call has */
    for (int i = k + 1; i < close; i++) {
        bool opens = i == k + 1 || piece_is(f, i - 1, ","),
             ends = i + 1 == close || piece_is(f, i + 1, ",");
        alone |= piece_is(f, i, ":") && (opens || ends);
        if (piece_kind(f, i) == PIECE_OPEN && f->piece[i].match > i)
            i = f->piece[i].match;
    }
    bool cell = value && piece_is(f, k, "{") && k > 0 && close > k + 1 &&
                piece_kind(f, k - 1) == PIECE_NAME &&
                !piece_in(f, k - 1, "else try catch do begin then lazy profile timeit explain") &&
                !piece_in(f, 0, "if while for fn try else precision on autocast compare test "
                                "extern catch } def "
                                "function");
    bool target = value && piece_is(f, k, "(") && k == 1 && piece_is(f, close + 1, "=") &&
                  close > k + 1 &&
                  (piece_kind(f, k + 1) == PIECE_NUMBER || piece_is(f, k + 1, "end"));
    bool again = value && piece_is(f, k, "(") && f->note == starts_at_0 && is_indexed(f, k - 1);
    if (!(value && ((piece_is(f, k, "(") && alone) || cell || target || again)) && !pointed)
        return false;
    if (!pointed && piece_kind(f, k - 1) == PIECE_NAME &&
        piece_in(f, k - 1, "print size zeros if while for sum"))
        return false;
    bool first = close == k + 2 && piece_is(f, k + 1, ":");
    if (first)
        return piece_replace(f, piece_operand_start(f, k - 1), close, "flatten(%.*s)",
                             PIECE_RANGE(f, piece_operand_start(f, k - 1), k - 1));
    return put_element(f, k, true);
}

static bool rule_dot_bracket(Fix *f, int k)
{
    return piece_is(f, k, ".") && piece_ends_operand(f, k - 1) && piece_in(f, k + 1, "( [") &&
        piece_replace(f, k, k, "%s", "");
}

static bool holds_end(const Fix *f, int open)
{
    for (int i = open + 1; i < f->piece[open].match; i++)
        if (piece_is(f, i, "end") && piece_around(f, i) == open)
            return true;
    return false;
}

/* Who writes `end` counts from 1: where a subscript beside one begins with a number, it is one
 * less. */
static bool count_from_0(Fix *f)
{
    bool any = false;
    for (int i = f->count - 1; i > 0; i--) {
        int open = piece_around(f, i);
        long n = piece_kind(f, i) == PIECE_NUMBER
                 ? strtol(f->text + f->piece[i].from, NULL, 10) : 0;
        if (n < 1 || open < 0 || !piece_is(f, open, "[") || !holds_end(f, open) ||
            !piece_in(f, i - 1, "[ ,") || !piece_in(f, i + 1, "] , :"))
            continue;
        any |= piece_replace(f, i, i, "%ld", n - 1);
    }
    return any;
}

/* x[end], x[1:end], x[2:end-1]: -1, nothing, -1. */
static bool rule_end(Fix *f, int k)
{
    if (!piece_is(f, k, "end") || !(piece_in_index(f, k) ||
                                    (piece_around(f, k) > 0 &&
                                     piece_ends_operand(f, piece_around(f, k) - 1))))
        return false;
    int open = piece_around(f, k);
    bool stop = piece_is(f, k - 1, ":"), step = stop && piece_find(f, open, ":") < k - 1 &&
        piece_find(f, open, ":") >= 0 &&
                piece_find(f, piece_find(f, open, ","), ":") != k - 1;
    bool minus = piece_is(f, k + 1, "-") && piece_kind(f, k + 2) == PIECE_NUMBER;
    bool plus = piece_is(f, k + 1, "+");
    long less = minus ? strtol(f->text + f->piece[k + 2].from, NULL, 10) : 0;
    int last = minus ? k + 2 : k;
    bool first_time = f->note != starts_at_0;
    f->note = starts_at_0;
    if (first_time && piece_is(f, open, "[") && count_from_0(f))
        return true;
    if (piece_is(f, open, "("))
        return f->piece[open].match > 0 && put_element(f, open, true);
    if (plus && open == 1 && piece_is(f, k + 2, "1") && piece_in(f, k + 3, "] )") &&
        piece_is(f, k + 4, "=") && k == 2 && k + 5 < f->count)
        return piece_replace(f, 0, f->count - 1, "%.*s = concat(%.*s, [%.*s])",
                             PIECE_RANGE(f, 0, 0), PIECE_RANGE(f, 0, 0),
                           PIECE_RANGE(f, k + 5, f->count - 1));
    if (plus)
        return false;
    /* x[end:-1:1] */
    if (!stop && piece_is(f, last + 1, ":") && piece_find(f, last + 1, ":") > 0)
        return !less && piece_is(f, k - 1, "[") && piece_is(f, k + 2, "-") &&
               piece_is(f, k + 3, "1") &&
               piece_is(f, k + 4, ":") && piece_is(f, k + 5, "1") && piece_in(f, k + 6, "] ,") &&
               piece_replace(f, k, k + 5, "::-1");
    if (stop && step) {                  /* x[1:2:end]: from, step, stop */
        int first = piece_find(f, open, ":");
        if (less)
            return piece_replace(f, first + 1, last, "-%ld:%.*s", less,
                                 PIECE_RANGE(f, first + 1, k - 2));
        return piece_replace(f, first + 1, last, ":%.*s", PIECE_RANGE(f, first + 1, k - 2));
    }
    if (stop)
        return less ? piece_replace(f, k, last, "-%ld", less) : piece_replace(f, k, last, "%s", "");
    return piece_replace(f, k, last, "-%ld", less + 1);
}

static bool is_literal(const Fix *f, int open)
{
    return open >= 0 && piece_is(f, open, "[") && (open == 0 || !piece_ends_operand(f, open - 1) ||
                                                   f->piece[open].space);
}

/* [1 2; 3 4]: a comma between values, a ; between lines. */
static bool rule_elements(Fix *f, int k)
{
    int open = piece_around(f, k);
    if (!is_literal(f, open))
        return false;
    if (piece_kind(f, k) == PIECE_LINE) {
        bool row = piece_ends_operand(f, k - 1) && k + 1 < f->piece[open].match;
        return row ? piece_replace(f, k, k, "; ") : piece_replace(f, k, k, " ");
    }
    if (!f->piece[k].space || !piece_ends_operand(f, k - 1) || !piece_starts_operand(f, k) ||
        piece_in(f, k, "not") ||
        piece_kind(f, k - 1) == PIECE_LINE || piece_in(f, k - 1, "for in if and or not"))
        return false;
    return piece_replace(f, k - 1, k - 1, "%.*s,", PIECE_RANGE(f, k - 1, k - 1));
}

/* {x: x^2 for x in v if c}: fields that a loop adds, where the whole is what is assigned; pairs
 * elsewhere. */
static bool rule_pairs(Fix *f, int k, int each)
{
    int close = f->piece[k].match, mark = piece_find(f, k, ": =>"),
        test = piece_find(f, each, "if");
    if (mark < 0 || mark > each)
        return false;
    bool all = k == 2 && piece_kind(f, 0) == PIECE_NAME && piece_is(f, 1, "=") &&
               close == f->count - 1;
    if (!all)
        return piece_replace(f, k, close, "[(%.*s, %.*s) %.*s]", PIECE_RANGE(f, k + 1, mark - 1),
                             PIECE_RANGE(f, mark + 1, each - 1), PIECE_RANGE(f, each, close - 1));
    int to = test > 0 ? test - 1 : close - 1;
    bool text = mark == k + 2 && piece_kind(f, k + 1) == PIECE_STRING,
         made = piece_in(f, k + 1, "str string") && piece_is(f, k + 2, "(") &&
                f->piece[k + 2].match == mark - 1;
    int key = made ? k + 3 : k + 1, key_to = made ? mark - 2 : mark - 1;
    f->note = "fields are named by strings";
    return piece_replace(f, 0, close, "%.*s = (); %.*s { %.*s%s%.*s[%s%.*s%s] = %.*s%s }",
                         PIECE_RANGE(f, 0, 0), PIECE_RANGE(f, each, to),
                         PIECE_RANGE(f, test, test > 0 ? close - 1 : test - 1),
                         test > 0 ? " { " : "", PIECE_RANGE(f, 0, 0), text ? "" : "string(",
                         PIECE_RANGE(f, key, key_to), text ? "" : ")",
                         PIECE_RANGE(f, mark + 1, each - 1), test > 0 ? " }" : "");
}

/* dict((x, x^2) for x in v) and Dict(x => x^2 for x in v), as in braces. */
static bool rule_dict(Fix *f, int k)
{
    int open = k + 1, close = f->piece[open].match, each = piece_find(f, open, "for");
    if (!piece_in(f, k, "dict Dict") || !piece_is(f, open, "(") || each < 0 || each > close)
        return false;
    int mark = piece_find(f, open, ": =>"), comma = piece_find(f, open + 1, ",");
    if (mark > 0 && mark < each)
        return piece_replace(f, k, close, "{%.*s}", PIECE_RANGE(f, open + 1, close - 1));
    if (!piece_is(f, open + 1, "(") || f->piece[open + 1].match != each - 1 || comma < 0)
        return false;
    return piece_replace(f, k, close, "{%.*s: %.*s %.*s}", PIECE_RANGE(f, open + 2, comma - 1),
                         PIECE_RANGE(f, comma + 1, each - 2), PIECE_RANGE(f, each, close - 1));
}

/* {1: 2, 3: 4}: numbers are no names of fields. */
static bool rule_numbered(Fix *f, int k)
{
    int close = f->piece[k].match;
    char text[FOREIGN_TEXT];
    int n = 0, count = 0;
    for (int at = k + 1; at < close; count++) {
        int comma = piece_find(f, at, ","), end = comma < 0 || comma > close ? close : comma;
        if (piece_kind(f, at) != PIECE_NUMBER || !piece_in(f, at + 1, ": =>") || end < at + 3)
            return false;
        n += snprintf(text + n, sizeof text - (size_t)n, "%s(%.*s, %.*s)", count ? ", " : "",
                      PIECE_RANGE(f, at, at), PIECE_RANGE(f, at + 2, end - 1));
        if (n >= (int)sizeof text)
            return false;
        at = end + 1;
    }
    f->note = "fields are named by strings; these are pairs";
    return piece_replace(f, k, close, "(%s%s)", text, count == 1 ? "," : "");
}

/* {1, 2}, {"a": 1}, {a = 1}, {x for x in v} where a value stands. */
static bool rule_braces(Fix *f, int k)
{
    int close = f->piece[k].match;
    bool value = k == 0 || piece_in(f, k - 1, "= ( , [ return := in");
    if (piece_is(f, k, "{") && close == k + 1 && k > 0 && value)
        return piece_replace(f, k, close, "()");
    if (!piece_is(f, k, "{") || close <= k + 1 || !value)
        return false;
    if (piece_in(f, k + 2, ": =>") && piece_kind(f, k + 1) == PIECE_NUMBER && rule_numbered(f, k))
        return true;
    int each = piece_find(f, k, "for");
    if (each > 0 && each < close)
        return rule_pairs(f, k, each) ||
               (piece_replace(f, close, close, "]") && piece_replace(f, k, k, "["));
    bool record = piece_in(f, k + 2, ": = =>") && piece_kind(f, k + 1) != PIECE_NUMBER;
    if (piece_in(f, close + 1, "=") && k == 0)
        return piece_replace(f, k, close, "%.*s", PIECE_RANGE(f, k + 1, close - 1));
    if (!record)
        return piece_find(f, k, "; = for if return") > 0 &&
               piece_find(f, k, "; = for if return") < close
                   ? false : piece_replace(f, close, close, "]") && piece_replace(f, k, k, "[");
    piece_replace(f, close, close, ")");
    for (int i = close - 1; i > k && !f->failed; i--) {
        bool key = i > k + 1 ? piece_in(f, i - 1, ", ;") : true;
        if (!key || !piece_in(f, i + 1, ": = =>") || (i > k + 1 && piece_around(f, i) != k))
            continue;
        bool quoted = piece_kind(f, i) == PIECE_STRING || piece_kind(f, i) == PIECE_QUOTED;
        int n = piece_length(f, i, i);
        piece_replace(f, i, i + 1, "%.*s=", quoted ? n - 2 : n,
                      f->text + f->piece[i].from + quoted);
        if (i > k + 1 && piece_is(f, i - 1, ";"))
            piece_replace(f, i - 1, i - 1, ",");
    }
    return piece_replace(f, k, k, "(");
}

/* (x^2 for x in v), sum(x for x in v), [i for i = 1:5] */
static bool rule_generator(Fix *f, int k)
{
    int open = piece_around(f, k);
    if (!piece_is(f, k, "for") || open < 0 || !piece_ends_operand(f, k - 1))
        return false;
    if (piece_is(f, k + 2, "=") && piece_kind(f, k + 1) == PIECE_NAME) {
        int colon = piece_find(f, k + 2, ":"), end = f->piece[open].match;
        f->note = "a range leaves out its end";
        if (colon < 0 || end < 0)
            return piece_replace(f, k + 2, k + 2, "%sin", f->piece[k + 2].space ? "" : " ");
        if (end == colon + 2 && piece_kind(f, colon + 1) == PIECE_NUMBER)
            return piece_replace(f, k + 2, end - 1, "in %.*s:%ld", PIECE_RANGE(f, k + 3, colon - 1),
                                 strtol(f->text + f->piece[colon + 1].from, NULL, 10) + 1);
        return piece_replace(f, k + 2, end - 1, "in %.*s + 1", PIECE_RANGE(f, k + 3, end - 1));
    }
    int close = f->piece[open].match;
    if (!piece_is(f, open, "(") || close < 0)
        return false;
    bool call = piece_ends_operand(f, open - 1) && !f->piece[open].space;
    return piece_replace(f, close, close, call ? "])" : "]") &&
           piece_replace(f, open, open, call ? "([" : "[");
}

/* f(x; y=3) */
static bool rule_semicolon(Fix *f, int k)
{
    int open = piece_kind(f, k) == PIECE_SEMI ? piece_around(f, k) : -1;
    return open > 0 && piece_is(f, open, "(") && piece_ends_operand(f, open - 1) &&
           piece_kind(f, k + 2) != PIECE_END &&
           !piece_in(f, 0, "for") && piece_replace(f, k, k, ",");
}

/* ---- strings and numbers ---- */

/* '…' in double quotes: its own " are escaped, and { } doubled where it does not interpolate. */
static bool put_quoted(Fix *f, int a, int k, bool interpolates)
{
    char text[FOREIGN_TEXT];
    const char *s = f->text + f->piece[k].from, *end = f->text + f->piece[k].to;
    int open = (unsigned char)*s < 0x80 ? 1 : (unsigned char)*s < 0xE0 ? 2 : 3, close = 1;
    while (((unsigned char)end[-close] & 0xC0) == 0x80)
        close++;
    int n = 0;
    for (s += open, end -= close; s < end && n < FOREIGN_TEXT - 4; s++) {
        if (*s == '"' || (*s == '\\' && s[1] == '\''))
            text[n++] = '\\', s += *s == '\\';
        else if (!interpolates && (*s == '{' || *s == '}'))
            text[n++] = *s;
        text[n++] = *s;
    }
    return piece_replace(f, a, k, "\"%.*s\"", n, text);
}

/* println("x = $x, y = $(x + 1)") of Julia; a $ in a string of ours is a $. */
static bool rule_dollar(Fix *f, int k)
{
    char put[FOREIGN_TEXT];
    int n = 0, from = f->piece[k].from, to = f->piece[k].to, found = 0;
    if (piece_kind(f, k) != PIECE_STRING || !piece_is(f, k - 1, "(") ||
        !piece_is(f, k - 2, "println"))
        return false;
    for (int i = from; i < to && n < FOREIGN_TEXT - 4; i++) {
        const char *s = f->text + i, *end = s[1] == '(' ? memchr(s, ')', (size_t)(to - i)) : NULL;
        size_t name =
            strspn(s + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
        if (*s != '$' || (!end && name == 0)) {
            put[n++] = *s;
            continue;
        }
        int len = end ? (int)(end - s) - 2 : (int)name, skip = end ? (int)(end - s) : (int)name;
        n += snprintf(put + n, sizeof put - (size_t)n, "{%.*s}", len, s + 1 + (end != NULL));
        i += skip;
        found++;
    }
    return found && n < FOREIGN_TEXT - 4 && piece_replace(f, k, k, "%.*s", n, put);
}

static bool rule_string(Fix *f, int k)
{
    bool quoted = piece_kind(f, k) == PIECE_QUOTED, string = piece_kind(f, k) == PIECE_STRING;
    if (!quoted && !string)
        return false;
    bool letter = piece_kind(f, k - 1) == PIECE_NAME && !f->piece[k].space &&
                  piece_length(f, k - 1, k - 1) <= 2 &&
                  piece_in(f, k - 1, "f F r R b B u U L rf fr br f8 u8") &&
                  !piece_is(f, k - 2, ".");
    bool sign = piece_in(f, k - 1, "$ @") && !f->piece[k].space && !piece_ends_operand(f, k - 2);
    if (letter && piece_in(f, k - 1, "r R br"))
        return !memchr(f->text + f->piece[k].from, '`', (size_t)piece_length(f, k, k)) &&
               piece_replace(f, k - 1, k, "`%.*s`", piece_length(f, k, k) - 2,
                             f->text + f->piece[k].from + 1);
    if (quoted)
        return put_quoted(f, letter || sign ? k - 1 : k, k, letter && piece_in(f, k - 1, "f F"));
    if (letter || sign)
        return piece_replace(f, k - 1, k, "%.*s", PIECE_RANGE(f, k, k));
    return false;
}

/* "n = " .. n, "a" . "b", "n = " ++ n: one string that interpolates. */
static bool rule_join(Fix *f, int k)
{
    if (!piece_in(f, k, ".. . ++ <>") || piece_kind(f, k - 1) != PIECE_STRING ||
        (!piece_starts_operand(f, k + 1)))
        return false;
    if (piece_is(f, k, ".") && piece_kind(f, k + 1) == PIECE_NAME && !f->piece[k + 1].space)
        return false;
    int end = piece_operand_end(f, k + 1), len = piece_length(f, k - 1, k - 1) - 1;
    if (piece_kind(f, k + 1) == PIECE_STRING && end == k + 1)
        return piece_replace(f, k - 1, end, "%.*s%.*s", len, f->text + f->piece[k - 1].from,
                             piece_length(f, end, end) - 1,
                           f->text + f->piece[end].from + 1);
    return piece_replace(f, k - 1, end, "%.*s{%.*s}\"", len, f->text + f->piece[k - 1].from,
                         PIECE_RANGE(f, k + 1, end));
}

/* 2x, 3j, 2im, 1.0f, 10L, 0o17; and 2i between the brackets of an index. */
static bool rule_number(Fix *f, int k)
{
    if (piece_kind(f, k) != PIECE_NUMBER)
        return false;
    const char *s = f->text + f->piece[k].from;
    int n = piece_length(f, k, k), digits = (int)strspn(s, "0123456789_.");
    if (s[0] == '0' && n > 2 && (s[1] == 'o' || s[1] == 'O'))
        return piece_replace(f, k, k, "%ld", strtol(s + 2, NULL, 8));
    if (s[0] == '0' && n > 1 && (s[1] == 'x' || s[1] == 'X' || s[1] == 'b' || s[1] == 'B'))
        return false;
    digits = digits < n ? digits : n;
    const char *tail = s + digits;
    if ((*tail | 32) == 'e' && (strchr("0123456789+-", tail[1]) && tail + 1 < s + n)) {
        tail += 2;
        tail += strspn(tail, "0123456789");
    }
    int rest = n - (int)(tail - s), head = n - rest;
    if (rest == 0)
        return false;
    bool is_i = rest == 1 && *tail == 'i';
    if (is_i && !(f->facts->what != FOREIGN_SYNTAX && piece_in_index(f, k) &&
                  f->at <= f->piece[k].to))
        return false;
    if ((rest == 1 && strchr("jJ", *tail)) || (rest == 2 && strncmp(tail, "im", 2) == 0))
        return piece_replace(f, k, k, "%.*si", head, s);
    bool decimal = memchr(s, '.', (size_t)head) || memchr(s, 'e', (size_t)head);
    if ((rest == 1 && strchr("LlU", *tail)) || (rest == 1 && decimal && strchr("fFd", *tail)) ||
        (rest == 2 && (strncmp(tail, "UL", 2) == 0 || strncmp(tail, "LL", 2) == 0 ||
                       strncmp(tail, "f0", 2) == 0)))
        return piece_replace(f, k, k, "%.*s", head, s);
    if ((rest == 1 && strchr("eE", *tail)) || (s[0] == '0' && head == 1))
        return false;
    bool tight = piece_in(f, k - 1, "^ / // %");
    return piece_replace(f, k, k, tight ? "(%.*s*%.*s)" : "%.*s*%.*s", head, s, rest, tail);
}

/* """…""" and '''…''' */
static bool rule_triple(Fix *f, int k)
{
    const char *s = f->text + f->piece[k].from;
    int n = piece_length(f, k, k);
    if (piece_kind(f, k) != PIECE_QUOTED || n < 6 || s[0] != s[1] || s[1] != s[2] ||
        memchr(s, '`', (size_t)n))
        return false;
    return piece_replace(f, k, k, "`%.*s`", n - 6, s + 3);
}

bool foreign_literals(Fix *f)
{
    for (int k = 0; k < f->count; k++)
        if (rule_triple(f, k) || rule_dollar(f, k) || rule_string(f, k) || rule_number(f, k))
            return true;
    return false;
}

/* A bracket that is not closed at the end, or closed once too often or by another one. */
static bool rule_balance(Fix *f)
{
    if (f->facts->what != FOREIGN_SYNTAX)
        return false;
    for (int k = 0; k < f->count; k++) {
        if (piece_kind(f, k) != PIECE_CLOSE)
            continue;
        int open = f->piece[k].match;
        if (open < 0)
            return k == f->count - 1 && !piece_is(f, k, "}") && piece_replace(f, k, k, "%s", "");
        const char *meant = piece_is(f, open, "(") ? ")" : piece_is(f, open, "[") ? "]" : "}";
        if (piece_is(f, k, "]") && piece_is(f, open, "(") && open > 0 && piece_is_own(f, open - 1))
            return piece_replace(f, open, open, "[");
        if (!piece_is(f, k, meant) && !piece_is(f, k, "}") && !piece_is(f, open, "{"))
            return piece_replace(f, k, k, "%s", meant);
    }
    for (int k = f->count - 1; k >= 0; k--)
        if (piece_kind(f, k) == PIECE_OPEN && f->piece[k].match < 0 && !piece_is(f, k, "{") &&
            piece_ends_operand(f, f->count - 1))
            return piece_replace(f, f->count, f->count - 1, "%s", piece_is(f, k, "(") ? ")" : "]");
    return false;
}

bool foreign_operators(Fix *f)
{
    for (int k = 0; k < f->count; k++)
        if (rule_bars(f, k) || rule_join(f, k) || rule_arrow(f, k) || rule_sign(f, k) ||
            rule_split(f, k) || rule_beside(f, k) ||
            rule_bang(f, k) || rule_choice(f, k) || rule_power(f, k) || rule_product(f, k) ||
            rule_shift(f, k) ||
                rule_dot_bracket(f, k) ||
            rule_end(f, k) || rule_element(f, k) || rule_elements(f, k) || rule_dict(f, k) ||
            rule_braces(f, k) ||
            rule_generator(f, k) || rule_semicolon(f, k))
            return true;
    return rule_balance(f);
}
