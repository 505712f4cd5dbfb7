/* Precision scopes, autocast and device blocks around calls of libricci: what `HEADER { … }` does
 * in a program, held open by the host between two calls. The header is parsed and lowered as that
 * statement is, so there is one reader of headers, and the block hangs off the interpreter like any
 * other: catch points restore it, since they find it there. */
#include "interp/embed/api.h"

#include "core/base/error.h"
#include "interp/device/place.h"
#include "interp/eval/eval_scope.h"
#include "interp/eval/module.h"
#include "interp/lower/lower.h"
#include "interp/op/deferred.h"
#include "interp/state/frames.h"

#include <stdlib.h>
#include <string.h>

struct ApiBlock {
    ApiBlock *up;
    Chunk *chunk;                    /* of the header, which the block points into */
    int depth;                       /* of calls, when it was begun */
    bool device;
    Scope scope;
    DeviceBlock place;
    Scope *scope_before;             /* what was in force there */
    DeviceBlock *place_before;
};

typedef struct Header {
    const char *text;
    ApiBlock *made;
} Header;

static Chunk *parse_header(Interp *in, const char *text)
{
    Ctx *ctx = &in->ctx;
    Buf *program = &in->scratch;
    buf_clear(program);
    buf_puts(program, text);
    buf_puts(program, " { }");
    Source *source = source_new(ctx, "<block>", buf_cstr(program), program->len);
    ErrFrame frame;
    if (!ERR_TRY(ctx, &frame)) {
        source_release(source);
        err_rethrow(ctx);
    }
    Chunk *chunk = parse_source(ctx, &in->names, source);
    ERR_END(ctx, &frame);
    source_release(source);
    return chunk;
}

static bool is_header(const Node *n)
{
    return n->kind == ND_PRECISION || n->kind == ND_AUTOCAST || n->kind == ND_ON;
}

/* Reads the header with its own text as what errors show, and puts the block in force. */
static void begin(Interp *in, ApiBlock *b)
{
    const Node *root = b->chunk->root, *n = root->count == 1 ? root->list[0] : root;
    if (!is_header(n))
        err_raise_help(&in->ctx, ERR_VALUE, "precision bf16 accumulate f32, autocast bf16 and "
                       "on sim.mps strict are", "the text is no header of a block");
    resolve_chunk(&in->ctx, &in->names, &in->main->globals, b->chunk);
    module_room(in, in->main);
    in->main->fixed = true;
    Lower lo = { .in = in, .module = in->main, .chunk = b->chunk };
    in->fp = in->main->slots;
    if (n->kind == ND_ON) {
        b->device = true;
        place_begin(in, lower_on(&lo, n), &b->place);
    } else {
        scope_header_read(in, lower_scope_header(&lo, n), &b->scope);
        scope_enter(in, &b->scope);
    }
}

static void begin_body(Ricci *r, void *task)
{
    Header *h = task;
    Interp *in = r->in;
    Ctx *ctx = &in->ctx;
    if (!h->text)
        err_raise(ctx, ERR_VALUE, "NULL is no header of a block");
    ApiBlock *b = calloc(1, sizeof *b);
    if (!b)
        mem_raise(ctx, sizeof *b);
    h->made = b;
    Value *fp = in->fp;
    const Exec *at = in->at;
    b->scope_before = in->scope;
    b->place_before = in->place;
    b->depth = r->depth;
    b->chunk = parse_header(in, h->text);
    CallFrame frame = { .up = in->calls, .source = b->chunk->source, .module = in->main,
                        .site = in->at };
    in->calls = &frame;
    in->at = NULL;
    begin(in, b);
    in->calls = frame.up;
    in->fp = fp;
    in->at = at;
    b->up = r->block;
    r->block = b;
    r->scope = in->scope;
    r->place = in->place;
    api_flush(r);
}

static void block_free(ApiBlock *b)
{
    if (b->chunk)
        chunk_release(b->chunk);
    free(b);
}

/* What the catch point of api_run restored is what held before: the guard was entered with it. The
 * block stays in force because begin_body is the last thing that the call does. */
API int ricci_begin(Ricci *r, const char *header)
{
    Header h = { .text = header };
    int status = api_call(r, begin_body, &h);
    if (status && h.made)
        block_free(h.made);
    return status;
}

static void end_body(Ricci *r, void *task)
{
    (void)task;
    Interp *in = r->in;
    ApiBlock *b = r->block;
    if (!b || b->depth < r->depth)
        err_raise(&in->ctx, ERR_VALUE, "no block was begun that could be ended");
    const Exec *at = in->at;
    deferred_barrier(in, v_none());
    if (b->device)
        place_end(in, &b->place);
    else
        scope_leave(in, &b->scope);
    in->at = at;                     /* the header goes */
    api_flush(r);
}

/* Whatever happens: the block is over. */
static void drop(Ricci *r)
{
    ApiBlock *b = r->block;
    r->in->scope = b->scope_before;
    r->in->place = b->place_before;
    r->block = b->up;
    r->scope = b->scope_before;
    r->place = b->place_before;
    block_free(b);
}

API int ricci_end(Ricci *r)
{
    ApiBlock *b = r ? r->block : NULL;
    int status = api_call(r, end_body, NULL);
    if (b && b->depth >= r->depth + 1)
        drop(r);
    return status;
}

void api_blocks_drop(Ricci *r, int depth)
{
    while (r->block && r->block->depth > depth)
        drop(r);
}
