/* Names and function calls in LaTeX: Greek letters, subscripts after _ or in digits, functions
 * that have a sign of their own. */
#include "interp/measure/latex.h"

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

/* name(x) as before x after; x without parentheses where these bracket it. */
static const struct { const char *name, *before, *after; } signs[] = {
    { "sqrt", "\\sqrt{", "}" }, { "cbrt", "\\sqrt[3]{", "}" },
    { "abs", "\\left|", "\\right|" }, { "norm", "\\left\\lVert ", "\\right\\rVert" },
    { "floor", "\\left\\lfloor ", "\\right\\rfloor" },
    { "ceil", "\\left\\lceil ", "\\right\\rceil" },
    { "conj", "\\overline{", "}" }, { "exp", "\\exp\\left(", "\\right)" },
    { "log", "\\ln\\left(", "\\right)" }, { "log2", "\\log_{2}\\left(", "\\right)" },
    { "log10", "\\log_{10}\\left(", "\\right)" }, { "log1p", "\\ln\\left(1 + ", "\\right)" },
    { "sin", "\\sin\\left(", "\\right)" }, { "cos", "\\cos\\left(", "\\right)" },
    { "tan", "\\tan\\left(", "\\right)" }, { "asin", "\\arcsin\\left(", "\\right)" },
    { "acos", "\\arccos\\left(", "\\right)" }, { "atan", "\\arctan\\left(", "\\right)" },
    { "sinh", "\\sinh\\left(", "\\right)" }, { "cosh", "\\cosh\\left(", "\\right)" },
    { "tanh", "\\tanh\\left(", "\\right)" }, { "det", "\\det\\left(", "\\right)" },
    { "trace", "\\operatorname{tr}\\left(", "\\right)" }, { "expm", "e^{", "}" },
    { "real", "\\operatorname{Re}\\left(", "\\right)" },
    { "imag", "\\operatorname{Im}\\left(", "\\right)" }, { "angle", "\\arg\\left(", "\\right)" },
    { "gamma", "\\Gamma\\left(", "\\right)" }, { "sigmoid", "\\sigma\\left(", "\\right)" },
    { "sum", "\\sum\\left(", "\\right)" }, { "prod", "\\prod\\left(", "\\right)" },
    { "min", "\\min\\left(", "\\right)" }, { "max", "\\max\\left(", "\\right)" },
    { "eye", "I_{", "}" }, { "rank", "\\operatorname{rank}\\left(", "\\right)" },
};

static bool call_sign(Latex *t, const char *name, Node *const *arg)
{
    for (size_t k = 0; k < sizeof signs / sizeof signs[0]; k++)
        if (strcmp(signs[k].name, name) == 0) {
            buf_puts(&t->out, signs[k].before);
            latex_put(t, arg[0], 0);
            buf_puts(&t->out, signs[k].after);
            return true;
        }
    if (strcmp(name, "inv") != 0 && strcmp(name, "transpose") != 0)
        return false;
    if (arg[0]->kind == ND_NAME)
        latex_put(t, arg[0], 0);
    else
        latex_paren(t, arg[0]);
    buf_puts(&t->out, name[0] == 'i' ? "^{-1}" : "^{\\mathsf{T}}");
    return true;
}

static bool call_two(Latex *t, const char *name, Node *const *arg)
{
    static const struct { const char *name, *before, *between, *after; } forms[] = {
        { "power", "{", "}^{", "}" }, { "dot", "", " \\cdot ", "" },
        { "cross", "", " \\times ", "" },
        { "outer", "", " \\otimes ", "" }, { "maximum", "\\max\\left(", ", ", "\\right)" },
        { "minimum", "\\min\\left(", ", ", "\\right)" },
        { "hypot", "\\operatorname{hypot}\\left(", ", ", "\\right)" },
    };
    for (size_t k = 0; k < sizeof forms / sizeof forms[0]; k++)
        if (strcmp(forms[k].name, name) == 0) {
            bool open = forms[k].before[0] == 0;
            buf_puts(&t->out, forms[k].before);
            latex_put(t, arg[0], open ? 9 : 0);
            buf_puts(&t->out, forms[k].between);
            latex_put(t, arg[1], open ? 9 : 0);
            buf_puts(&t->out, forms[k].after);
            return true;
        }
    return false;
}

static void call_where(Latex *t, Node *const *arg)
{
    buf_puts(&t->out, "\\begin{cases} ");
    latex_put(t, arg[1], 0);
    buf_puts(&t->out, " & \\text{if } ");
    latex_put(t, arg[0], 0);
    buf_puts(&t->out, " \\\\ ");
    latex_put(t, arg[2], 0);
    buf_puts(&t->out, " & \\text{otherwise} \\end{cases}");
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
    const char *name = callee->kind == ND_NAME ? callee->name->text : "";
    bool plain = true;
    for (uint32_t i = 0; i < count; i++)
        plain &= arg[i]->kind != ND_NAMED && arg[i]->kind != ND_SPREAD;
    if (!(plain && count == 1 && call_sign(t, name, arg)) &&
        !(plain && count == 2 && call_two(t, name, arg))) {
        if (plain && count == 3 && strcmp(name, "where") == 0)
            call_where(t, arg);
        else
            call_plain(t, callee, arg, count);
    }
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
