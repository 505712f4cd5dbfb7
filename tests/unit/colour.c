/* Colours at the prompt: over all programs here, every token that the lexer finds has the colour of
 * its kind, whichever line it stands on; and the scanner takes any bytes. */
#include "interp/session/repl_colour.c"      /* a part of the program, not of the library */

#include "core/memory/arena.h"
#include "core/base/mem.h"
#include "interp/life.h"
#include "grammar.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

static int passed, failed;

static void paint_text(Interp *in, const char *text, size_t len, uint8_t *paint)
{
    Scan scan = { .inside = true };
    for (size_t at = 0; at < len;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t n = end ? (size_t)(end - text) - at : len - at;
        colour_line(in, &scan, text + at, n, paint + at);
        at += n + 1;
    }
}

static bool is_one_of(uint8_t paint, const Paint *allowed)
{
    for (int i = 0; i < 3; i++)
        if (paint == allowed[i])
            return true;
    return false;
}

/* The colours that a token may have; false: this says nothing of it. */
static bool colours_of(const Token *t, Paint allowed[3])
{
    int op;
    Paint one = PAINT_PLAIN, other = PAINT_PLAIN;
    switch (t->kind) {
    case T_NAME: case T_REDUCE: other = PAINT_KNOWN; break;
    case T_INT: case T_FLOAT: case T_IMAG: case T_TRUE: case T_FALSE: case T_NONE: one = other =
        PAINT_NUMBER; break;
    case T_STRING: case T_STR_TEXT: case T_STR_BEGIN: one = PAINT_STRING; other =
        PAINT_ESCAPE; break;
    case T_LPAREN: case T_RPAREN: case T_LBRACKET: case T_RBRACKET: case T_LBRACE: case T_RBRACE:
        one = other = PAINT_BRACKET; break;
    case T_INTERP: case T_INTERP_END: case T_FORMAT: one = other = PAINT_ESCAPE; break;
    case T_COMMA: case T_SIGN: case T_PRODUCT: case T_ASSIGN: case T_TRANSPOSE: case T_COLON:
    case T_DOT: break;
    case T_TEST: case T_AS: case T_FROM: case T_AGAINST: case T_MODIFIER: case T_MODARG:
        one = other = PAINT_KEYWORD; break;
    default:
        if (t->kind == 0 || t->op || !token_keyword("fn", 2, &op) || t->kind < T_FN ||
            t->kind > T_ASSERT)
            return false;
        one = other = PAINT_KEYWORD;
    }
    allowed[0] = one;
    allowed[1] = allowed[2] = other;
    return true;
}

static bool report(const char *path, const char *text, Span span, uint8_t paint)
{
    if (failed++ < 20)
        printf("FAILED %s at byte %u: `%.*s` has colour %d\n", path, span.from,
               (int)(span.to - span.from), text + span.from, paint);
    return false;
}

static bool compare_tokens(const char *path, const Lexer *lx, const uint8_t *paint)
{
    Paint allowed[3];
    for (size_t i = 0; i < lx->count; i++) {
        const Token *t = &lx->tokens[i];
        if (t->flags & TF_MADE || !colours_of(t, allowed))
            continue;
        for (uint32_t at = t->span.from; at < t->span.to; at++)
            if (lx->text[at] != '\n' && !is_one_of(paint[at], allowed))
                return report(path, lx->text, t->span, paint[at]);
    }
    for (uint32_t i = 0; i < lx->comment_count; i++)
        if (paint[lx->comments[i].span.from] != PAINT_COMMENT)
            return report(path, lx->text, lx->comments[i].span, paint[lx->comments[i].span.from]);
    return true;
}

static bool failed_once;
static void note(void *who, Span span, const char *help, const char *message)
{
    (void)who, (void)span, (void)help, (void)message;
    failed_once = true;
}

static void check_file(Interp *in, const char *path)
{
    Source *s = source_read(&in->ctx, path);
    Arena arena;
    arena_init(&arena, &in->ctx);
    Lexer lx = { .ctx = &in->ctx, .arena = &arena, .text = s->text, .len = s->len, .report = note };
    uint8_t *paint = calloc(s->len + 1, 1);
    failed_once = false;
    lexer_scan(&lx);
    paint_text(in, s->text, s->len, paint);
    if (!failed_once && compare_tokens(path, &lx, paint))
        passed++;
    lexer_free(&lx);
    arena_free(&arena);
    free(paint);
    source_release(s);
}

/* Bytes that mean much to it, in any order: it ends, and colours each of them once. */
static void check_noise(Interp *in)
{
    static const char bytes[] = "\"`{}()[]'\\#:.;,/*ax01eif \tneπ漢\xff\xc3\x80";
    uint32_t seed = 1;
    char line[64];
    uint8_t paint[64];
    bool good = true;
    Scan scan = { 0 };
    for (int i = 0; i < 200000; i++) {
        size_t n = i % 61;
        for (size_t k = 0; k < n; k++) {
            seed = seed * 1664525u + 1013904223u;
            line[k] = bytes[(seed >> 16) % (sizeof bytes)];       /* the NUL too */
        }
        memset(paint, 255, sizeof paint);
        if (i % 50 == 0)
            scan = (Scan){ .inside = i % 100 == 0 };
        colour_line(in, &scan, line, n, paint);
        for (size_t k = 0; k < sizeof paint; k++)
            good &= k < n ? paint[k] < PAINT_PAIR : paint[k] == 255;
    }
    printf("%s", good ? "" : "FAILED noise: a byte has no colour\n");
    passed += good;
    failed += !good;
}

int main(void)
{
    static const char *const places[] = { "tests/lang/*/*.ric", "tests/lang/*.ric", "stdlib/*.ric",
                                          "examples/*.ric", "examples/*/*.ric", "tests/regress/*.ric" };
    Interp *in = interp_new();
    glob_t files = { 0 };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        glob(places[i], i ? GLOB_APPEND : 0, NULL, &files);
    for (size_t i = 0; i < files.gl_pathc; i++)
        check_file(in, files.gl_pathv[i]);
    globfree(&files);
    check_noise(in);
    interp_free(in);
    printf("colour: %d passed, %d failed\n", passed, failed);
    return failed > 0;
}
