/* From text to a chunk: scan, parse, collect mistakes, hand over the comments. Every exit
 * gives back what the parse used; only the chunk itself stays. */
#include "parser/parse.h"

#include "core/error.h"
#include "core/mem.h"
#include "parser/build.h"
#include "grammar.h"

#include <string.h>

static void report_lexical(void *who, Span span, const char *help, const char *message)
{
    syntax_report(who, span, help, message);
}

static Chunk *chunk_new(Ctx *ctx, Source *source)
{
    Chunk *c = mem_zalloc(ctx, sizeof *c);
    c->refs = 1;
    c->ctx = ctx;
    c->source = source_retain(source);
    arena_init(&c->arena, ctx);
    return c;
}

Chunk *chunk_retain(Chunk *c)
{
    if (c)
        c->refs++;
    return c;
}

void chunk_release(Chunk *c)
{
    if (!c || --c->refs > 0)
        return;
    Ctx *ctx = c->ctx;
    for (const ChunkOwned *o = c->owned; o; o = o->next)
        o->free(ctx, o->what);
    arena_free(&c->arena);
    source_release(c->source);
    mem_free(ctx, c, sizeof *c);
}

void chunk_own(Chunk *c, void (*free)(Ctx *, void *), void *what)
{
    ChunkOwned *o = arena_alloc(&c->arena, sizeof *o);
    *o = (ChunkOwned){ c->owned, free, what };
    c->owned = o;
}

static void keep_comments(Chunk *c, const Lexer *lx)
{
    if (lx->comment_count == 0)
        return;
    c->comments = arena_alloc(&c->arena, lx->comment_count * sizeof *c->comments);
    for (uint32_t i = 0; i < lx->comment_count; i++)
        c->comments[i] = (Comment){ lx->comments[i].span, lx->comments[i].own_line };
    c->comment_count = lx->comment_count;
}

static void parse_chunk(ParseState *ps, Names *names, Source *source)
{
    ps->lexer.ctx = ps->ctx;
    ps->lexer.names = names;
    ps->lexer.arena = &ps->chunk->arena;
    ps->lexer.text = source->text;
    ps->lexer.len = source->len;
    ps->lexer.report = report_lexical;
    ps->lexer.who = ps;
    lexer_scan(&ps->lexer);
    int result = grammar_parse(ps);
    if (ps->memory)
        err_rethrow(ps->ctx);
    if (ps->error_count > 0)
        syntax_raise(ps);
    if (result != 0 || !ps->chunk->root)
        err_raise(ps->ctx, ERR_SYNTAX, "%s cannot be parsed", source->name);
    keep_comments(ps->chunk, &ps->lexer);
}

Chunk *parse_source(Ctx *ctx, Names *names, Source *source)
{
    ParseState *ps = mem_zalloc(ctx, sizeof *ps);
    ps->ctx = ctx;
    ErrFrame frame;
    if (!ERR_TRY(ctx, &frame)) {
        if (ps->chunk) {
            lexer_free(&ps->lexer);
            chunk_release(ps->chunk);
        }
        mem_free(ctx, ps, sizeof *ps);
        err_rethrow(ctx);
    }
    ps->chunk = chunk_new(ctx, source);
    ps->lexer.ctx = ctx;
    buf_init(&ps->lexer.piece, ctx);
    parse_chunk(ps, names, source);
    ERR_END(ctx, &frame);
    Chunk *chunk = ps->chunk;
    lexer_free(&ps->lexer);
    mem_free(ctx, ps, sizeof *ps);
    return chunk;
}

bool parse_incomplete(Ctx *ctx, const char *text, size_t len)
{
    Arena arena;
    arena_init(&arena, ctx);
    Lexer lx = { .ctx = ctx, .arena = &arena, .text = text, .len = len };
    buf_init(&lx.piece, ctx);
    ErrFrame frame;
    if (!ERR_TRY(ctx, &frame)) {
        lexer_free(&lx);
        arena_free(&arena);
        err_rethrow(ctx);
    }
    lexer_scan(&lx);
    ERR_END(ctx, &frame);
    bool incomplete = lx.incomplete;
    lexer_free(&lx);
    arena_free(&arena);
    return incomplete;
}
