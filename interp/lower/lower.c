/* From resolved syntax to executable nodes: making them, and the driver, which finds the row of a
 * node's kind (wing.h). */
#include "interp/lower/lower.h"
#include "interp/lower/sites.h"

#include "core/base/error.h"
#include "core/system/c_locale.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- leaves that every room makes ---- */
static Value eval_const(Interp *in, const Exec *x)
{
    (void)in;
    return v_retain(x->k);
}

bool exec_is_const(const Exec *x) { return x->eval == eval_const; }

/* What can be told from the text alone is still an error of the running program. */
_Noreturn Value eval_raise(Interp *in, const Exec *x)
{
    const RaiseSite *site = x->data;
    in->at = x;
    err_raise_help(&in->ctx, site->kind, site->help, "%s", site->message);
}

/* ---- making nodes ---- */
void *lower_alloc(Lower *lo, size_t bytes)
{
    return arena_alloc(&lo->chunk->arena, bytes);
}

Exec *exec_new(Lower *lo, EvalFn eval, const Node *n)
{
    Exec *x = lower_alloc(lo, sizeof *x);
    x->eval = eval;
    x->node = n;
    x->op = n->op;
    return x;
}

static void release_constant(Ctx *ctx, void *what)
{
    v_release(ctx, *(Value *)what);
}

/* Takes v: an object lives as long as the chunk. */
const Exec *exec_const(Lower *lo, const Node *n, Value v)
{
    Value *kept = NULL;
    v_push(lo->in, v);
    Exec *x = exec_new(lo, eval_const, n);
    if (v_is_object(v)) {
        kept = lower_alloc(lo, sizeof *kept);
        *kept = v_none();
        chunk_own(lo->chunk, release_constant, kept);
        *kept = v;
    }
    lo->in->sp--;
    x->k = v;
    x->operand = v.tag == V_INT ? OPD_I : v.tag == V_FLOAT ? OPD_F : OPD_X;
    return x;
}

const Exec *exec_raise(Lower *lo, const Node *n, ErrKind kind, const char *help,
                       const char *fmt, ...)
{
    char message[400];
    va_list args;
    va_start(args, fmt);
    c_vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    RaiseSite *site = lower_alloc(lo, sizeof *site);
    site->kind = kind;
    site->message = arena_copy(&lo->chunk->arena, message, strlen(message));
    site->help = help ? arena_copy(&lo->chunk->arena, help, strlen(help)) : NULL;
    Exec *x = exec_new(lo, eval_raise, n);
    x->operand = OPD_X;
    x->data = site;
    return x;
}

HotSite *hot_site_new(Lower *lo, HotSite *up, bool never)
{
    HotSite *s = lower_alloc(lo, sizeof *s);
    *s = (HotSite){ .cool = lo->in->hot && !never ? lo->in->hot->first : HOT_NEVER, .up = up,
                    .chunk = lo->chunk, .scoped = lo->scoped };
    return s;
}

Node *node_copy(Lower *lo, const Node *n)
{
    Node *copy = lower_alloc(lo, sizeof *copy);
    *copy = *n;
    return copy;
}

const Exec *lower_operand(Lower *lo, const Node *n)
{
    Lower saved = *lo;
    lo->tail = false;
    lo->deep_loop = lo->deep_fn = true;
    const Exec *x = lower(lo, n);
    lo->tail = saved.tail;
    lo->deep_loop = saved.deep_loop;
    lo->deep_fn = saved.deep_fn;
    return x;
}

const Exec **lower_list(Lower *lo, Node *const *list, uint32_t count)
{
    const Exec **out = lower_alloc(lo, (count + 1) * sizeof *out);
    for (uint32_t i = 0; i < count; i++)
        out[i] = lower_operand(lo, list[i]);
    return out;
}

bool lower_is_statement(const Node *n)
{
    switch (n->kind) {
    case ND_BLOCK: case ND_IF: case ND_WHILE: case ND_FOR: case ND_TRY:
    case ND_PRECISION: case ND_AUTOCAST:
    case ND_BREAK: case ND_CONTINUE: case ND_RETURN:
        return true;
    default:
        return false;
    }
}

/* ---- the driver ---- */
static const Exec *lower_missing(Lower *lo, const Node *n)
{
    return exec_raise(lo, n, ERR_TYPE, NULL, "%s is not part of this build",
                      node_kind_name((NodeKind)n->kind));
}

const Exec *lower_as(Lower *lo, NodeKind kind, const Node *n)
{
    LowerFn row = lo->in->lowers[kind];
    return row ? row(lo, n) : lower_missing(lo, n);
}

const Exec *lower(Lower *lo, const Node *n)
{
    bool outer = lo->writes, lent = lo->lends;
    lo->writes = lo->lends = false;
    const Exec *x = lower_as(lo, (NodeKind)n->kind, n);
    if (lo->writes)
        ((Exec *)x)->flags |= XF_WRITES;
    ((Exec *)x)->lends = lo->lends;
    lo->writes |= outer;
    lo->lends |= lent;
    return x;
}
