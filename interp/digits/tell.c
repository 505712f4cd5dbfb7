/* `explain as digits`: runs a statement or a block with shadows, and tells of every variable that
 * it assigned, and of a value that it gives: digits left, the operation that lost most, its kind.
 */
#include "interp/digits/digits.h"
#include "interp/digits/tell.h"
#include "interp/eval/eval_flow.h"
#include "interp/output/output.h"
#include "interp/show/show.h"
#include "interp/state/exec.h"
#include "interp/state/scope.h"

#include "core/base/error.h"
#include "core/base/plain.h"

#include <math.h>
#include <string.h>

/* What a statement assigns: names and their slots in the running frame. */
typedef struct Assigned {
    const Name *name;
    int64_t slot;
} Assigned;

/* Of a node that tells: list: its statements; data: for each those that it assigns. */
typedef struct Telling {
    const Assigned **assigned;
    uint32_t *count;
} Telling;

/* ---- what is assigned ---- */
enum { ASSIGNED_MOST = 64 };

static void add_name(Assigned *to, uint32_t *n, const Node *name)
{
    for (uint32_t i = 0; i < *n; i++)
        if (to[i].name == name->name)
            return;
    if (*n < ASSIGNED_MOST)
        to[(*n)++] = (Assigned){ name->name, name->slot };
}

static void add_target(Assigned *to, uint32_t *n, const Node *target)
{
    while (target->kind == ND_INDEX || target->kind == ND_FIELD)
        target = target->a;
    for (uint32_t i = 0; target->kind == ND_TUPLE && i < target->count; i++)
        add_target(to, n, target->list[i]);
    if (target->kind == ND_NAME)
        add_name(to, n, target);
}

static void collect(Assigned *to, uint32_t *n, const Node *node)
{
    if (!node || node->kind == ND_FN || node->kind == ND_LAMBDA)
        return;
    if (node->kind == ND_ASSIGN || node->kind == ND_OPASSIGN || node->kind == ND_DEFINE)
        add_target(to, n, node->a);
    collect(to, n, node->a);
    collect(to, n, node->b);
    collect(to, n, node->c);
    for (uint32_t i = 0; i < node->count; i++)
        collect(to, n, node->list[i]);
}

/* ---- the report ---- */
/* A value as one line says it; tensors by their form. */
static void put_value(Interp *in, Buf *out, Value v)
{
    char what[96];
    v = v_plain(v);
    if (v.tag == V_TENSOR && v.tensor->rank)
        buf_puts(out, v_describe(v, what, sizeof what));
    else
        show_repr(in, out, v);
}

static void put_digits(Buf *out, double digits, double of)
{
    buf_printf(out, "%.*f of %.*f digits", digits == floor(digits) ? 0 : 2, digits,
               of == floor(of) ? 0 : 2, of);
}

static void put_loss(Buf *out, const Shading *g, const Known *k, const Shade *sum)
{
    const LossSite *at = &g->site[k->worst->site];
    LossKind kind = loss_kind(k->worst);
    if (at->source)
        source_render(out, at->source, &at->span, 1);
    buf_printf(out, "  %s: %s lost %.2f digits", loss_name(kind), at->operation, k->worst->lost);
    if (kind == LOSS_ABSORPTION && sum->swallower != SITE_NONE &&
        g->site[sum->swallower].source) {
        const LossSite *by = &g->site[sum->swallower];
        buf_printf(out, ": %s swallowed an operand in ", by->operation);
        site_where(out, by);
    }
    buf_putc(out, '\n');
}

static void tell(Interp *in, const Tape *t, const char *name, Value v)
{
    Buf out;
    ErrFrame frame;
    Value *mark = in->sp;
    Shade *sum = shade_new(in, v_undef());
    v_push(in, v_shade(sum));
    Known k = digits_known(in, t, v, sum);
    if (!k.any) {
        stack_cut(in, mark);
        return;
    }
    buf_init(&out, &in->ctx);
    if (!ERR_TRY(&in->ctx, &frame)) {
        buf_free(&out);
        err_rethrow(&in->ctx);
    }
    if (name)
        buf_printf(&out, "%s = ", name);
    if (v.tag != V_TUPLE)
        put_value(in, &out, v);
    buf_puts(&out, v.tag != V_TUPLE ? ": " : "");
    put_digits(&out, k.digits, k.of);
    buf_putc(&out, '\n');
    if (k.worst)
        put_loss(&out, shading_of(t), &k, sum);
    plain_lines(out.data);
    out_write(in, out.data, out.len);
    ERR_END(&in->ctx, &frame);
    buf_free(&out);
    stack_cut(in, mark);
}

/* ---- running ---- */
static Value eval_told(Interp *in, const Exec *x)
{
    const Telling *told = x->data;
    const Tape *t = shading_tape(in);
    Value v = v_none();
    for (uint32_t i = 0; i < x->count && v.tag != V_FLOW; i++) {
        v_release(&in->ctx, v);
        v = exec_run(in, x->list[i]);
        v_push(in, v);
        for (uint32_t k = 0; t && k < told->count[i]; k++)
            tell(in, t, told->assigned[i][k].name->text, in->fp[told->assigned[i][k].slot]);
        if (t && !told->count[i])
            tell(in, t, NULL, v);
        in->sp--;
    }
    return v;
}

static Value eval_digits(Interp *in, const Exec *x)
{
    Scope plain = scope_plain();
    bool bare = in->scope == NULL;
    if (shading_tape(in))               /* the shadows of the scope around */
        return exec_run(in, x->a);
    int deferring = in->deferring;
    in->deferring = -1;
    if (bare)
        scope_enter(in, &plain);
    Value v = in->shadows->block(in, x->a, dtype_mp(200));
    if (bare)
        scope_leave(in, &plain);
    in->deferring = deferring;
    return v;
}

const Exec *lower_digits(Lower *lo, const Node *n)
{
    bool outer = lo->scoped, tail = lo->tail, list = n->a->kind == ND_BLOCK;
    uint32_t count = list ? n->a->count : 1;
    Assigned found[ASSIGNED_MOST];
    Exec *x = exec_new(lo, eval_digits, n), *body = exec_new(lo, eval_told, n);
    Telling *told = lower_alloc(lo, sizeof *told);
    told->assigned = lower_alloc(lo, (count + 1) * sizeof *told->assigned);
    told->count = lower_alloc(lo, (count + 1) * sizeof *told->count);
    const Exec **statements = lower_alloc(lo, (count + 1) * sizeof *statements);
    lo->scoped = true;
    for (uint32_t i = 0; i < count; i++) {
        const Node *s = list ? n->a->list[i] : n->a;
        uint32_t names = 0;
        collect(found, &names, s);
        Assigned *kept = lower_alloc(lo, (names + 1) * sizeof *kept);
        memcpy(kept, found, names * sizeof *kept);
        told->assigned[i] = kept;
        told->count[i] = names;
        lo->tail = false;
        statements[i] = lower(lo, s);
    }
    lo->scoped = outer;
    lo->tail = tail;
    body->list = statements;
    body->count = count;
    body->data = told;
    x->a = body;
    return x;
}
