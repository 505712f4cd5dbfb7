/* The names that the prompt completes (\alpha) against the lexer: each sign is one that it takes,
 * as a name, in a name or as an operator, and each operator and constant beyond ASCII can be had by
 * a name. */
#include "tests/unit/check.h"

#include "grammar.h"
#include "lexer/lexer.h"

static const struct { const char *name, *text; } symbols[] = {
#define SYMBOL(name, text) { name, text },
#include "interp/session/symbols.def"
#undef SYMBOL
};
enum { SYMBOLS = sizeof symbols / sizeof *symbols };

static Ctx ctx;
static InterruptFlag interrupt;

static void complain(void *who, Span span, const char *help, const char *message)
{
    (void)span, (void)help, (void)message;
    ++*(int *)who;
}

/* The tokens before the end, or -1 where the lexer complains. kind: of the first. */
static int scan(const char *text, int *kind)
{
    Names names;
    Arena arena;
    int complaints = 0;
    names_init(&names, &ctx);
    arena_init(&arena, &ctx);
    Lexer lx = { .ctx = &ctx, .names = &names, .arena = &arena, .text = text, .len = strlen(text),
                 .report = complain, .who = &complaints };
    lexer_scan(&lx);
    int count = 0;
    while ((size_t)count < lx.count && lx.tokens[count].kind != T_END &&
           lx.tokens[count].kind != T_NEWLINE)
        count++;
    *kind = count > 0 ? lx.tokens[0].kind : 0;
    lexer_free(&lx);
    arena_free(&arena);
    names_free(&names);
    return complaints ? -1 : count;
}

static bool has(const char *sign)
{
    for (int i = 0; i < SYMBOLS; i++)
        if (strcmp(symbols[i].text, sign) == 0)
            return true;
    return false;
}

int main(void)
{
    static const char *const signs[] = {
#define OPERATOR(id, symbol, ascii, op) symbol,
#include "lexer/ops.def"
#undef OPERATOR
        "≤", "≥", "≠", "−", "π" };
    int kind;
    mem_init(&ctx);
    ctx.interrupt = &interrupt;
    for (int i = 0; i < SYMBOLS; i++) {
        char text[64];
        snprintf(text, sizeof text, "x%s", symbols[i].text);
        /* or another letter of a name */
        bool accent = scan(text, &kind) == 1 && kind == T_NAME;
        snprintf(text, sizeof text, "x %s y", symbols[i].text);
        bool good = accent || scan(text, &kind) >= 3;
        check_that(good, symbols[i].name, __FILE__, __LINE__);
        bool plain = strspn(symbols[i].name,
                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
                     == strlen(symbols[i].name);
        check_that(plain || (strchr("_^", symbols[i].name[0]) && strlen(symbols[i].name) > 1),
                   symbols[i].name, __FILE__, __LINE__);
        for (int k = 0; k < i; k++)
            if (strcmp(symbols[i].name, symbols[k].name) == 0)
                check_that(false, symbols[i].name, __FILE__, __LINE__);
    }
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (signs[i][0] & 0x80)
            check_that(has(signs[i]), signs[i], __FILE__, __LINE__);
    return check_result();
}
