/* Names and function calls in LaTeX: Greek letters, subscripts after _ or in digits, functions
 * that have a sign of their own. */
#include "interp/measure/latex.h"
#include "interp/lower/lower.h"
#include "interp/op/op.h"

#include "core/system/ascii.h"

#include <string.h>

/* ---- names ---- */

static const char *const greek[] = {
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa",
    "lambda", "mu", "nu", "xi", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi",
    "omega", "Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi",
    "Omega", NULL
};

/* U+03B1 … U+03C9 by their order, final sigma left out of the list above. */
static const char *greek_letter(const char *s)
{
    static const char *const small[] = {
        "alpha", "beta", "gamma", "delta", "varepsilon", "zeta", "eta", "theta", "iota", "kappa",
        "lambda", "mu", "nu", "xi", "omicron", "pi", "rho", "varsigma", "sigma", "tau", "upsilon",
        "varphi", "chi", "psi", "omega"
    };
    static const struct { unsigned code; const char *name; } capital[] = {
        { 0x393, "Gamma" }, { 0x394, "Delta" }, { 0x398, "Theta" }, { 0x39B, "Lambda" },
        { 0x39E, "Xi" }, { 0x3A0, "Pi" }, { 0x3A3, "Sigma" }, { 0x3A6, "Phi" },
        { 0x3A8, "Psi" }, { 0x3A9, "Omega" }, { 0x3D5, "phi" }, { 0x3F5, "epsilon" },
        { 0x2202, "partial" }, { 0x2207, "nabla" },
    };
    const unsigned char *u = (const unsigned char *)s;
    unsigned code = u[0] >= 0xe0 ? (u[0] & 15u) << 12 | (u[1] & 63u) << 6 | (u[2] & 63u)
                                 : (u[0] & 31u) << 6 | (u[1] & 63u);
    if (code >= 0x3B1 && code <= 0x3C9)
        return small[code - 0x3B1];
    for (size_t k = 0; k < sizeof capital / sizeof capital[0]; k++)
        if (capital[k].code == code)
            return capital[k].name;
    return NULL;
}

static size_t character_bytes(const char *s)
{
    unsigned char c = (unsigned char)*s;
    return c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

/* The digit that a subscript like ₁ stands for, or -1. */
static int small_digit(const char *s)
{
    const unsigned char *u = (const unsigned char *)s;
    return u[0] == 0xe2 && u[1] == 0x82 && u[2] >= 0x80 && u[2] <= 0x89 ? u[2] - 0x80 : -1;
}

/* Where the subscript of a name begins: after _ or at its last digits. */
static size_t stem_length(const char *s, size_t n)
{
    const char *bar = memchr(s, '_', n);
    if (bar && bar != s)
        return (size_t)(bar - s);
    size_t at = n;
    while (at > 1 && ascii_digit(s[at - 1]))
        at--;
    while (at > 3 && small_digit(s + at - 3) >= 0)
        at -= 3;
    return at ? at : n;
}

static void put_word(Latex *t, const char *s, size_t n, const char *font)
{
    for (int k = 0; greek[k]; k++)
        if (strlen(greek[k]) == n && memcmp(greek[k], s, n) == 0) {
            buf_printf(&t->out, "\\%s", greek[k]);
            return;
        }
    if (n && n == character_bytes(s)) {
        const char *letter = n > 1 ? greek_letter(s) : NULL;
        if (letter && strcmp(letter, "omicron") != 0)
            buf_printf(&t->out, "\\%s", letter);
        else
            buf_put(&t->out, s, n);
        return;
    }
    buf_printf(&t->out, "\\%s{", font);
    for (size_t i = 0; i < n; i++)
        buf_puts(&t->out, s[i] == '_' ? "\\_" : (char[]){ s[i], 0 });
    buf_puts(&t->out, "}");
}

static void put_subscript(Latex *t, const char *s, size_t n)
{
    bool digits = n > 0;
    for (size_t i = 0; i < n; i++)
        digits &= ascii_digit(s[i]) != 0;
    buf_puts(&t->out, "_{");
    if (digits) {
        buf_put(&t->out, s, n);
    } else if (n >= 3 && small_digit(s) >= 0) {
        for (size_t i = 0; i + 2 < n; i += 3)
            buf_printf(&t->out, "%d", small_digit(s + i));
    } else {
        put_word(t, s, n, "mathrm");
    }
    buf_puts(&t->out, "}");
}

static void put_name(Latex *t, const char *s, size_t n, const char *font)
{
    size_t stem = stem_length(s, n);
    put_word(t, s, stem, font);
    if (stem == n)
        return;
    stem += s[stem] == '_';
    if (stem < n)
        put_subscript(t, s + stem, n - stem);
}

void latex_name(Latex *t, const Name *name)
{
    if (strcmp(name->text, "inf") == 0)
        buf_puts(&t->out, "\\infty");
    else if (strcmp(name->text, "nan") == 0)
        buf_puts(&t->out, "\\mathrm{NaN}");
    else
        put_name(t, name->text, name->len, "mathrm");
}

/* ---- calls ---- */

/* The base of a power. */
static void put_base(Latex *t, const Node *n)
{
    if (n->kind == ND_NAME)
        latex_put(t, n, 0);
    else
        latex_paren(t, n);
}

/* The form of a row (Op.latex) for so many operands, or NULL. */
static const char *form_of(const Latex *t, const Node *callee, uint32_t count)
{
    const Op *op = callee->kind == ND_NAME ? op_find(t->lo->in, callee->name) : NULL;
    uint32_t most = 0;
    if (!op || !op->latex)
        return NULL;
    for (const char *at = op->latex; (at = strchr(at, '%')) != NULL; at++) {
        uint32_t k = at[1] == 'p' ? 1 : at[1] >= 'a' ? (uint32_t)(at[1] - 'a') + 1
                                                     : (uint32_t)(at[1] - '0');
        most = k > most ? k : most;
    }
    return most == count ? op->latex : NULL;
}

static void call_form(Latex *t, const char *form, Node *const *arg)
{
    for (; *form; form++)
        if (*form != '%')
            buf_putc(&t->out, *form);
        else if (*++form == 'p')
            put_base(t, arg[0]);
        else if (*form >= 'a')
            latex_put(t, arg[*form - 'a'], 9);
        else
            latex_put(t, arg[*form - '1'], 0);
}

static void call_plain(Latex *t, const Node *callee, Node *const *arg, uint32_t count)
{
    if (callee->kind == ND_NAME)
        put_name(t, callee->name->text, callee->name->len, "operatorname");
    else
        latex_put(t, callee, 10);
    buf_puts(&t->out, "\\left(");
    for (uint32_t i = 0; i < count; i++) {
        buf_puts(&t->out, i ? ", " : "");
        latex_put(t, arg[i], 0);
    }
    buf_puts(&t->out, "\\right)");
}

static void put_call(Latex *t, const Node *callee, Node *const *arg, uint32_t count)
{
    bool outer = t->tight;
    bool plain = true;
    for (uint32_t i = 0; i < count; i++)
        plain &= arg[i]->kind != ND_NAMED && arg[i]->kind != ND_SPREAD;
    const char *form = plain ? form_of(t, callee, count) : NULL;
    if (form)
        call_form(t, form, arg);
    else
        call_plain(t, callee, arg, count);
    t->tight = outer;
}

void latex_call(Latex *t, const Node *n)
{
    Node *arg[16];
    if (n->kind == ND_CALL) {
        put_call(t, n->a, n->list, n->count);
        return;
    }
    uint32_t count = 1;
    arg[0] = n->a;
    bool called = n->b->kind == ND_CALL && n->b->count < 15;
    for (uint32_t i = 0; called && i < n->b->count; i++)
        arg[count++] = n->b->list[i];
    put_call(t, called ? n->b->a : n->b, arg, count);
}
