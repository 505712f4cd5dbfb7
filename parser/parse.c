/* From text to a chunk: scan, parse, collect mistakes, hand over the comments. Every exit
 * gives back what the parse used; only the chunk itself stays. */
#include "parser/parse.h"

#include "core/base/error.h"
#include "core/base/mem.h"
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
    if (ps->probe) {
        ps->accepted = result == 0 && ps->error_count == 0 && !ps->lexer.incomplete &&
                       ps->chunk->root;
        return;
    }
    if (ps->error_count > 0)
        syntax_raise(ps);
    if (result != 0 || !ps->chunk->root)
        err_raise(ps->ctx, ERR_SYNTAX, "%s cannot be parsed", source->name);
    keep_comments(ps->chunk, &ps->lexer);
}

static uint32_t depth_allowed(const Ctx *ctx)
{
    char *here = __builtin_frame_address(0);
    size_t room = here > ctx->stack_limit ? (size_t)(here - ctx->stack_limit) / NODE_STACK : 0;
    return room < NODE_DEPTH_MAX ? (uint32_t)room : NODE_DEPTH_MAX;
}

/* `accepts`: only whether the text parses is asked, and the chunk is the caller's either way. */
static Chunk *parse_text(Ctx *ctx, Names *names, Source *source, bool *accepts)
{
    ParseState *ps = mem_zalloc(ctx, sizeof *ps);
    ps->ctx = ctx;
    ps->probe = accepts != NULL;
    ps->depth_max = depth_allowed(ctx);
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
    if (accepts)
        *accepts = ps->accepted;
    lexer_free(&ps->lexer);
    mem_free(ctx, ps, sizeof *ps);
    return chunk;
}

Chunk *parse_source(Ctx *ctx, Names *names, Source *source)
{
    return parse_text(ctx, names, source, NULL);
}

bool parse_accepts(Ctx *ctx, Names *names, const char *text, size_t len)
{
    bool accepts = false;
    Source *source = source_new(ctx, "", text, len);
    ErrFrame frame;
    if (!ERR_TRY(ctx, &frame)) {
        source_release(source);
        err_rethrow(ctx);
    }
    chunk_release(parse_text(ctx, names, source, &accepts));
    ERR_END(ctx, &frame);
    source_release(source);
    return accepts;
}

/* `report` is told of mistakes, and at the end of what is still open. */
static bool scan_incomplete(Ctx *ctx, const char *text, size_t len, LexReport *report, void *who)
{
    Arena arena;
    arena_init(&arena, ctx);
    Lexer lx = { .ctx = ctx, .arena = &arena, .text = text, .len = len, .report = report,
                 .who = who };
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

bool parse_incomplete(Ctx *ctx, const char *text, size_t len)
{
    return scan_incomplete(ctx, text, len, NULL, NULL);
}

static void keep_span(void *who, Span span, const char *help, const char *message)
{
    (void)help, (void)message;
    *(Span *)who = span;
}

bool parse_is_open(Ctx *ctx, const char *text, size_t len, Span *open)
{
    *open = (Span){ 0, 0 };
    return scan_incomplete(ctx, text, len, keep_span, open) && open->to > open->from;
}
