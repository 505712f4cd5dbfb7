/* Which nodes may leave their work to the node above (fuse.h): told by the syntax, when it is
 * lowered. The order in which the user sees things happen stays: between an operation that
 * waits and the one that runs it nothing is called that could print. */
#include "interp/fuse/fuse.h"
#include "interp/op/op.h"
#include "interp/lower/lower.h"

enum { LOOK_MAX = 200 };       /* nodes looked at: long expressions simply do not wait */

/* ---- is nothing called that could tell? ---- */
static bool quiet(Lower *, const Node *, int *left);

static bool quiet_list(Lower *lo, Node *const *list, uint32_t count, int *left)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i] && !quiet(lo, list[i], left))
            return false;
    return true;
}

/* The operation that a name means while no variable of that name exists; NULL: none. */
static const Op *named_operation(Lower *lo, const Node *n)
{
    if (!n || n->kind != ND_NAME || n->scope != SCOPE_GLOBAL || lo->module->assigned[n->slot])
        return NULL;
    return op_find(lo->in, n->name);
}

static bool quiet(Lower *lo, const Node *n, int *left)
{
    const Op *op;
    if (!n)
        return true;
    if (--*left < 0)
        return false;
    switch (n->kind) {
    case ND_INT: case ND_FLOAT: case ND_IMAG: case ND_BOOL: case ND_NONE: case ND_STRING:
    case ND_NAME:
        return true;
    case ND_CALL:
        op = named_operation(lo, n->a);
        return op && op->dtypes && quiet_list(lo, n->list, n->count, left);
    case ND_BINARY: case ND_UNARY: case ND_COMPARE: case ND_TRANSPOSE: case ND_INDEX:
    case ND_RANGE: case ND_NAMED: case ND_VECTOR: case ND_MATRIX: case ND_TUPLE: case ND_FIELD:
        return quiet(lo, n->a, left) && quiet(lo, n->b, left) && quiet(lo, n->c, left) &&
               quiet_list(lo, n->list, n->count, left);
    default:
        return false;
    }
}

static bool quiet_all(Lower *lo, Node *const *list, uint32_t count)
{
    int left = LOOK_MAX;
    return quiet_list(lo, list, count, &left);
}

/* ---- marks ---- */
static void may_wait(const Exec *child, const Exec *call)
{
    if (!(child->flags & XF_EW))
        return;
    ((Exec *)child)->flags |= XF_LAZY;
    ((Exec *)child)->c = call;
}

void fuse_mark_operator(Lower *lo, Exec *x, const Node *b)
{
    const Op *op = x->data;
    if (!op || op->cls != OPC_EW)
        return;
    x->flags |= XF_EW;
    if (!b || quiet_all(lo, (Node *const[]){ (Node *)b }, 1))
        may_wait(x->a, NULL);
    if (b)
        may_wait(x->b, NULL);
}

void fuse_mark_call(Lower *lo, Exec *x, const Node *call)
{
    const Op *op = named_operation(lo, call->a);
    if (op && op->blocks && x->count == 1)
        may_wait(x->list[0], x);
    if (!op || op->cls != OPC_EW || x->count != ew_info[op->ew].arity)
        return;
    x->flags |= XF_EW;
    for (uint32_t i = 0; i < x->count; i++)
        if (quiet_all(lo, call->list + i + 1, x->count - i - 1))
            may_wait(x->list[i], x);
}

void fuse_mark_update(const Exec *x)
{
    const Op *op = x->data;
    if (op && op->cls == OPC_EW)
        may_wait(x->a, NULL);
}
