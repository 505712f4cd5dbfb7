/* Functions made of functions: grad(f) and its like are values that are called as f is. */
#include "interp/gradient/transform.h"
#include "interp/eval/call.h"
#include "interp/index/index.h"
#include "interp/output/output.h"
#include "interp/show/show.h"

#include "core/base/error.h"
#include "core/base/mem.h"

#include <stdio.h>
#include <string.h>

static const Kind transform_kind;

static Value transform_call(Interp *, Value, const Value *, int, const Name *const *,
                            const Value *, int);

static Transform *transform_of(Value v) { return v.ptr; }

/* Graphs and tapes have the tag as well. */
static bool is_transform(Value v)
{
    return v.tag == V_TRANSFORM && v_kind(v) == &transform_kind;
}

static void transform_release(Ctx *ctx, Native *native)
{
    Transform *tr = (Transform *)native;
    v_release(ctx, tr->f);
    v_release(ctx, tr->wrt);
    v_release(ctx, tr->vjp);
    v_release(ctx, tr->jvp);
    if (tr->tape)
        v_release(ctx, v_tape(tr->tape));
    mem_free(ctx, tr, sizeof *tr);
}

static const char *transform_describe(Value v, char *out, size_t cap)
{
    snprintf(out, cap, "function made by %s", transform_of(v)->name);
    return out;
}

static void transform_show(Interp *in, Buf *out, Value v, bool repr)
{
    const Transform *tr = transform_of(v);
    (void)repr;
    if (tr->kind == TRANSFORM_PULL) {
        buf_printf(out, "<function: %s>", tr->name);
        return;
    }
    /* a hessian is the jacobian of a gradient, both of its name */
    bool inner = tr->kind == TRANSFORM_JACOBIAN && is_transform(tr->f) &&
                 transform_of(tr->f)->kind == TRANSFORM_GRAD &&
                 transform_of(tr->f)->name == tr->name;
    buf_printf(out, "%s(", tr->name);
    show_repr(in, out, inner ? transform_of(tr->f)->f : tr->f);
    buf_puts(out, ")");
}

static bool transform_equal(Value a, Value b) { return a.ptr == b.ptr; }

static void transform_help(Buf *out, Value v, bool line)
{
    (void)line;
    buf_printf(out, "a function made by %s", transform_of(v)->name);
}

/* A pull has its values on its tape. */
static Parts transform_parts(Value v)
{
    const Transform *tr = transform_of(v);
    uint32_t count = sizeof tr->part / sizeof *tr->part;
    return tr->kind == TRANSFORM_PULL ? (Parts){ NULL, 0 } : (Parts){ tr->part, count };
}

/* The function of the program inside of transforms, whose parameters they have. */
static Value innermost(Value f)
{
    while (is_transform(f) && transform_of(f)->kind != TRANSFORM_PULL)
        f = transform_of(f)->f;
    return f;
}

/* Those of the function inside, where it is one of the program. */
static const Name *transform_parameter(Value v, int i)
{
    Value f = innermost(v);
    bool has = f.tag == V_FUNCTION && i < (int)f.fn->code->params && i != f.fn->code->rest;
    return has ? f.fn->code->node->list[i]->name : NULL;
}

static const Kind transform_kind = {
    .release = transform_release, .describe = transform_describe, .show = transform_show,
    .equal = transform_equal, .call = transform_call, .help = transform_help,
    .parts = transform_parts, .parameter = transform_parameter,
};

static Transform *transform_new(Interp *in, TransformKind kind, const char *name, Value f)
{
    Transform *tr = mem_zalloc(&in->ctx, sizeof *tr);
    tr->native = (Native){ .refs = 1, .kind = &transform_kind };
    tr->kind = (uint8_t)kind;
    tr->name = name;
    tr->f = v_retain(f);
    return tr;
}

static Value v_transform(Transform *tr) { return (Value){ .tag = V_TRANSFORM, .ptr = tr }; }

Value transform_like(Interp *in, Value v)
{
    const Transform *from = transform_of(v);
    Transform *tr = transform_new(in, (TransformKind)from->kind, from->name, v_none());
    tr->mode = from->mode;
    tr->value = from->value;
    tr->aux = from->aux;
    tr->holomorphic = from->holomorphic;
    return v_transform(tr);
}

/* ---- which arguments ---- */
static const Name *param_name(Interp *in, Value f, int i)
{
    f = innermost(f);
    if (v_kind(f) && v_kind(f)->parameter && !is_transform(f))
        return v_kind(f)->parameter(f, i);
    if (f.tag == V_FUNCTION)
        return i < (int)f.fn->code->params ? f.fn->code->node->list[i]->name : NULL;
    if (f.tag != V_OP)
        return NULL;
    const OpSig *sig = op_sig(in, f.op);
    return i < sig->fixed + sig->variadic ? sig->params[i].name : NULL;
}

static int param_at(Interp *in, Value f, const Name *name)
{
    const Name *p;
    for (int i = 0; (p = param_name(in, f, i)) != NULL; i++)
        if (p == name)
            return i;
    return -1;
}

static int named_at(const Args *a, const Name *name)
{
    for (int i = 0; name && i < a->named_count; i++)
        if (a->names[i] == name)
            return a->count + i;
    return -1;
}

/* Where the argument stands among those given: positional ones first, then those by name. */
int wrt_place(Interp *in, const Transform *tr, Value wrt, const Args *a)
{
    int64_t k;
    if (v_as_int(wrt, &k)) {
        int named = k >= 0 && k < 1000 ? named_at(a, param_name(in, tr->f, (int)k)) : -1;
        if (k >= 0 && k < a->count)
            return (int)k;
        if (named >= 0)
            return named;
        const Name *name = k >= 0 && k < 1000 ? param_name(in, tr->f, (int)k) : NULL;
        if (name)
            err_raise(&in->ctx, ERR_TYPE, "%s by `%s`, which was not given", tr->name, name->text);
        err_raise(&in->ctx, ERR_TYPE, "%s by argument %lld, counted from 0, but %d %s given",
                  tr->name, (long long)k, a->count + a->named_count,
                  a->count + a->named_count == 1 ? "was" : "were");
    }
    const Str *s = wrt.str;
    const Name *name = names_find(&in->names, s->text, s->len);
    int place = named_at(a, name);
    if (place >= 0)
        return place;
    int i = name ? param_at(in, tr->f, name) : -1;
    if (i >= 0 && i < a->count)
        return i;
    if (i >= 0)
        err_raise(&in->ctx, ERR_TYPE, "%s by `%s`, which was not given", tr->name, s->text);
    err_raise(&in->ctx, ERR_TYPE, "%s by `%s`, which is no parameter of the function", tr->name,
              s->text);
}

int wrt_list(const Transform *tr, Value *out)
{
    if (tr->wrt.tag != V_TUPLE) {
        out[0] = tr->wrt;
        return 1;
    }
    for (uint32_t i = 0; i < tr->wrt.tuple->count; i++)
        out[i] = tr->wrt.tuple->items[i];
    return (int)tr->wrt.tuple->count;
}

void check_argument(Interp *in, const Transform *tr, Value x)
{
    char what[96];
    if (trace_leaves(x, true) > 0)
        return;
    Value plain = v_plain(x);
    if (plain.tag == V_TUPLE)
        err_raise(&in->ctx, ERR_TYPE, "%s: the argument is a tuple without any float", tr->name);
    err_raise(&in->ctx, ERR_TYPE, "%s: the argument is %s, which has no derivative", tr->name,
              v_describe_a(plain, what, sizeof what));
}

/* ---- a run of the function on a tape ---- */

Value argument(const Args *a, int place)
{
    return place < a->count ? a->args[place] : a->named[place - a->count];
}

/* Runs f; the tape, then the result stay on the value stack. tangent: of the only argument. */
void run_traced(Interp *in, const Transform *tr, const Args *a, TapeMode mode,
                       const Value *tangent, Run *run)
{
    Value wrt[WRT_MOST];
    int n = a->count + a->named_count;
    stack_check(in);
    stack_room(in, (size_t)n + 64);
    Tape *t = run->tape = tape_new(in, mode);
    v_push(in, v_tape(t));
    Value *base = in->sp;
    for (int i = 0; i < n; i++)
        v_push(in, v_retain(argument(a, i)));
    run->wrts = wrt_list(tr, wrt);
    for (int i = 0; i < run->wrts; i++) {
        int place = run->place[i] = wrt_place(in, tr, wrt[i], a);
        for (int k = 0; k < i; k++)
            if (run->place[k] == place)
                err_raise(&in->ctx, ERR_VALUE, "%s: wrt names the same argument twice", tr->name);
        Value x = argument(a, place);
        check_argument(in, tr, x);
        run->first[i] = t->entries + 1;
        Value traced = trace_in(in, t, x, tangent, true), old = base[place];
        base[place] = traced;
        v_release(&in->ctx, old);
    }
    const Exec *at = in->at;
    tape_begin(in, t);
    Value r = call_named(in, tr->f, base, a->count, a->names, base + a->count, a->named_count);
    in->at = at;
    v_push(in, r);
    tape_end(in, t);
    Value keep = in->sp[-1];
    in->sp--;
    stack_cut(in, base);
    v_push(in, keep);
    run->result = in->sp - 1;
}

/* The node of a result on the run's tape; 0: it does not depend on the argument. */
uint32_t result_node(const Tape *t, Value v)
{
    for (; v.tag == V_TRACED; v = traced_of(v)->value)
        if (traced_of(v)->tape == t)
            return traced_of(v)->node;
    return 0;
}

static const Traced *result_cut(const Tape *t, Value v)
{
    for (; v.tag == V_TRACED; v = traced_of(v)->value)
        if (traced_of(v)->tape == t)
            return !traced_of(v)->node && traced_of(v)->tangent.tag == V_UNDEF &&
                   traced_of(v)->cut ? traced_of(v) : NULL;
    return NULL;
}

/* A float that depends on the argument, but only through bools and ints. */
void check_cut(Interp *in, const Tape *t, Value v)
{
    for (Value x = v; x.tag == V_TRACED; x = traced_of(x)->value)
        if (traced_of(x)->tape == t && traced_of(x)->step && t->mode == TAPE_FORWARD)
            grad_raise_step(in, traced_of(x)->cut, traced_of(x)->cut_at);
    const Traced *cut = result_cut(t, v);
    char label[64];
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        check_cut(in, t, v.tuple->items[i]);
    if (!cut || !differentiable(v_dtype(v_plain(v))))
        return;
    op_label(cut->cut, label, sizeof label);
    grad_raise(in, cut->cut_at, "detach(…) around it says that it is meant as a constant",
               "the result depends on the argument only through %s, which gives no floats: its "
               "derivative is 0 almost everywhere", label);
}

/* ---- grad, value_and_grad ---- */
static void check_loss(Interp *in, const Transform *tr, const Tape *t, Value loss)
{
    Value plain = v_plain(loss);
    char what[96];
    v_describe_a(plain, what, sizeof what);
    if (!v_is_numeric(plain) || !differentiable(v_dtype(plain)))
        err_raise_help(&in->ctx, ERR_TYPE,
                       plain.tag == V_TUPLE && !tr->aux ? "with aux=true it may be (loss, rest)"
                                                        : NULL,
                       "%s: the function's result is %s, not one real float", tr->name, what);
    if (plain.tag == V_TENSOR && plain.tensor->rank > 0)
        err_raise_help(&in->ctx, ERR_SHAPE, "a loss is one number: sum(…) of it, or jacobian(f)",
                       "%s: the function's result is %s, not one number", tr->name, what);
    if (dtype_info(v_dtype(plain))->kind == 'c')
        err_raise_help(&in->ctx, ERR_DTYPE, "a loss is a real number: real(…) or abs(…) of it",
                       "%s: the function's result is complex", tr->name);
    check_cut(in, t, loss);
}

static Value aux_part(Interp *in, const Transform *tr, Value r, uint32_t i)
{
    if (!tr->aux)
        return r;
    char what[96];
    if (r.tag != V_TUPLE || r.tuple->count != 2)
        err_raise(&in->ctx, ERR_TYPE, "%s with aux=true: the function's result is %s, not a pair "
                  "(loss, rest)", tr->name, v_describe_a(v_plain(r), what, sizeof what));
    return r.tuple->items[i];
}

/* The gradients of all arguments asked for: one, or a tuple; owned. */
static Value gradients_out(Interp *in, const Transform *tr, const Args *a, Run *run,
                           const Tuple *cotangents)
{
    if (tr->wrt.tag != V_TUPLE)
        return trace_out(in, run->tape, cotangents, argument(a, run->place[0]), &run->first[0]);
    Tuple *all = tuple_new(&in->ctx, (uint64_t)run->wrts);
    v_push(in, v_tuple(all));
    for (int i = 0; i < run->wrts; i++)
        all->items[i] = trace_out(in, run->tape, cotangents, argument(a, run->place[i]),
                                  &run->first[i]);
    in->sp--;
    return v_tuple(all);
}

/* Is a large tensor in the gradient g not finite? Others were looked at whole on the way. */
static bool not_finite_inside(Interp *in, Value g)
{
    g = v_plain(g);
    bool found = false;
    for (uint32_t i = 0; g.tag == V_TUPLE && i < g.tuple->count && !found; i++)
        found = not_finite_inside(in, g.tuple->items[i]);
    if (g.tag != V_TENSOR || g.tensor->size <= FINITE_LOOK || g.tensor->buffer->device ||
        (g.tensor->dtype != DT_F64 && g.tensor->dtype != DT_F32))
        return found;
    Value *mark = in->sp;
    v_push(in, call_row_of(in, "isfinite", &g, 1));
    v_push(in, call_row_of(in, "all", mark, 1));
    found = mark[1].tag == V_BOOL && !mark[1].i;
    stack_cut(in, mark);
    return found;
}

static void tell_not_finite(Interp *in, const Tape *t, Value loss, Value g)
{
    Value plain = v_plain(loss);
    char label[64] = "index notation";
    if (plain.tag != V_FLOAT || plain.f - plain.f != 0 || (!t->bad && !not_finite_inside(in, g)))
        return;
    if (!t->bad) {
        notice(in, "the gradient is not finite, though the value is: where an operation on more "
               "than %d elements made it so is not looked for", FINITE_LOOK);
        return;
    }
    const Entry *e = tape_at(t, t->bad);
    const Exec *at = in->at;
    if (e->op)
        op_label(e->op, label, sizeof label);
    CallFrame frame = { .up = in->calls, .source = e->source };
    Buf operand;
    in->calls = &frame;
    in->at = e->at;
    buf_init(&operand, &in->ctx);
    if (e->op && t->bad_operand.tag != V_NONE && t->bad_operand.tag != V_UNDEF)
        show_repr(in, &operand, t->bad_operand);
    notice(in, "the gradient is not finite, though the value is: it first became so at %s%s%s",
           label, operand.len ? " of " : "", operand.len ? buf_cstr(&operand) : "");
    buf_free(&operand);
    in->calls = frame.up;
    in->at = at;
}

static Value grad_run(Interp *in, const Transform *tr, const Args *a)
{
    Run run;
    Value *mark = in->sp;
    run_traced(in, tr, a, TAPE_REVERSE, NULL, &run);
    Tape *t = run.tape;
    Value loss = aux_part(in, tr, *run.result, 0);
    check_loss(in, tr, t, loss);
    uint32_t node = result_node(t, loss);
    v_push(in, value_below(in, loss, t));
    Value *value = in->sp - 1;
    v_push(in, tr->aux ? value_below(in, run.result->tuple->items[1], t) : v_none());
    Value *rest = in->sp - 1, old = *run.result;
    *run.result = v_none();
    v_release(&in->ctx, old);                  /* nothing is traced on this tape any more */
    Tuple *cotangents = cotangents_new(in, t);
    tape_tell(in, t, tr->name);
    if (node) {
        cotangent_add(in, t, cotangents, node, v_float(1));
        tape_back(in, t, cotangents, false);
    }
    Value g = gradients_out(in, tr, a, &run, cotangents);
    v_push(in, g);
    tell_not_finite(in, t, *value, g);
    if (tr->value && tr->aux)
        g = tuple_make(in, "value", v_retain(*value), "grad", v_retain(g), "aux", v_retain(*rest),
                       NULL);
    else if (tr->value)
        g = tuple_make(in, "value", v_retain(*value), "grad", v_retain(g), NULL);
    else if (tr->aux)
        g = tuple_make(in, "grad", v_retain(g), "aux", v_retain(*rest), NULL);
    else
        g = v_retain(g);
    stack_cut(in, mark);
    return g;
}

/* ---- results of any structure ---- */
/* The nodes of a result, in its structure: ints, 0 for constants. */
Value leaf_node(Interp *in, Value v, void *data)
{
    (void)in;
    return v_int(result_node(data, v));
}

void check_result(Interp *in, const char *name, Value r)
{
    char what[96];
    if (trace_leaves(r, false) == 0)
        err_raise(&in->ctx, ERR_TYPE, "%s: the function's result is %s, which has no derivative",
                  name, v_describe_a(v_plain(r), what, sizeof what));
}

bool same_shape(Value a, Value b)
{
    a = v_plain(a);
    b = v_plain(b);
    int ra = a.tag == V_TENSOR ? a.tensor->rank : 0, rb = b.tag == V_TENSOR ? b.tensor->rank : 0;
    return v_is_numeric(a) && v_is_numeric(b) && ra == rb &&
           (ra == 0 || memcmp(tensor_shape(a.tensor), tensor_shape(b.tensor),
                              (size_t)ra * sizeof(int64_t)) == 0);
}

void check_fields(Interp *in, const char *name, const char *which, Value v, Value like)
{
    char a[96], b[96];
    uint32_t count = like.tuple->count;
    if (v.tag != V_TUPLE)
        err_raise(&in->ctx, ERR_SHAPE, "%s: %s is %s, but belongs to %s", name, which,
                  v_describe_a(v_plain(v), a, sizeof a), v_describe_a(like, b, sizeof b));
    if (v.tuple->count != count)
        err_raise(&in->ctx, ERR_SHAPE, "%s: %s is a tuple of %u, but belongs to a tuple of %u",
                  name, which, v.tuple->count, count);
    for (uint32_t i = 0; v.tuple->names && like.tuple->names && i < count; i++) {
        const Name *has = v.tuple->names[i], *wants = like.tuple->names[i];
        if (has && wants && has != wants)
            err_raise(&in->ctx, ERR_SHAPE, "%s: %s has the field %s where %s belongs", name,
                      which, has->text, wants->text);
    }
}

/* Is v of the structure and shapes of `like`? */
void check_like(Interp *in, const char *name, const char *which, Value v, Value like,
                       bool whole)
{
    char a[96], b[96];
    bool leaf = trace_leaves(like, whole) == 1 && like.tag != V_TUPLE;
    if (leaf && same_shape(v, like)) {
        bool pairs = v_is_numeric(v_plain(like)) && dtype_info(v_dtype(v_plain(like)))->kind == 'c';
        if (!pairs && dtype_info(v_dtype(v_plain(v)))->kind == 'c')
            err_raise(&in->ctx, ERR_DTYPE, "%s: %s is complex, but belongs to real numbers", name,
                      which);
        return;
    }
    if (like.tag == V_RANGE || v_plain(like).tag == V_RANGE)
        return;
    if (!leaf && like.tag != V_TUPLE)
        return;
    if (!leaf) {
        check_fields(in, name, which, v, like);
        for (uint32_t i = 0; i < v.tuple->count; i++)
            check_like(in, name, which, v.tuple->items[i], like.tuple->items[i], false);
        return;
    }
    v_describe_a(v_plain(v), a, sizeof a);
    v_describe_a(v_plain(like), b, sizeof b);
    err_raise(&in->ctx, ERR_SHAPE, "%s: %s is %s, but belongs to %s", name, which, a, b);
}

void seed(Interp *in, const Tape *t, Tuple *cotangents, Value nodes, Value w)
{
    for (uint32_t i = 0; nodes.tag == V_TUPLE && w.tag == V_TUPLE && i < nodes.tuple->count; i++)
        seed(in, t, cotangents, nodes.tuple->items[i], w.tuple->items[i]);
    if (nodes.tag == V_INT && nodes.i && w.tag != V_NONE)
        cotangent_add(in, t, cotangents, (uint32_t)nodes.i, v_retain(w));
}

static Transform only_argument(const char *name, Value f)
{
    return (Transform){ .name = name, .f = f, .wrt = v_int(0) };
}

/* ---- jvp, vjp ---- */
Value leaf_tangent(Interp *in, Value v, void *data)
{
    const Tape *t = ((TangentOf *)data)->t;
    for (Value x = v; x.tag == V_TRACED; x = traced_of(x)->value)
        if (traced_of(x)->tape == t && traced_of(x)->step)
            grad_raise_step(in, traced_of(x)->cut, traced_of(x)->cut_at);
        else if (traced_of(x)->tape == t && traced_of(x)->tangent.tag != V_UNDEF)
            return v_retain(traced_of(x)->tangent);
    return call_row_of(in, "like", (Value[]){ v_measured(v, LENGTH_ALL), v_int(0) }, 2);
}

Value jvp_run(OpCall *c)
{
    Interp *in = c->in;
    Run run;
    Value *mark = in->sp;
    Transform tr = only_argument("jvp", c->args[0]);
    Args a = { .args = &c->args[1], .count = 1 };
    check_argument(in, &tr, c->args[1]);
    check_like(in, "jvp", "v", c->args[2], c->args[1], true);
    run_traced(in, &tr, &a, TAPE_FORWARD, &c->args[2], &run);
    check_result(in, "jvp", *run.result);
    check_cut(in, run.tape, *run.result);
    TangentOf of = { run.tape };
    v_push(in, trace_map(in, *run.result, false, leaf_tangent, &of));
    v_push(in, value_below(in, *run.result, run.tape));
    Value r = tuple_make(in, "value", v_retain(in->sp[-1]), "tangent", v_retain(in->sp[-2]), NULL);
    stack_cut(in, mark);
    return r;
}

static Value pull(Interp *in, Tape *t, Value x, Value nodes, Value w, bool keep)
{
    Value *mark = in->sp;
    uint32_t first = 1;
    Tuple *cotangents = cotangents_new(in, t);
    seed(in, t, cotangents, nodes, w);
    tape_back(in, t, cotangents, keep);
    Value g = trace_out(in, t, cotangents, x, &first);
    stack_cut(in, mark);
    return g;
}

Value vjp_run(OpCall *c)
{
    Interp *in = c->in;
    Run run;
    Value *mark = in->sp;
    Transform tr = only_argument("vjp", c->args[0]);
    Args a = { .args = &c->args[1], .count = 1 };
    run_traced(in, &tr, &a, TAPE_REVERSE, NULL, &run);
    check_result(in, "vjp", *run.result);
    check_cut(in, run.tape, *run.result);
    v_push(in, trace_map(in, *run.result, false, leaf_node, run.tape));
    Value *nodes = in->sp - 1;
    v_push(in, value_below(in, *run.result, run.tape));
    Value *value = in->sp - 1, old = *run.result, r;
    *run.result = v_none();
    v_release(&in->ctx, old);
    if (arg_given(c, 2)) {
        check_like(in, "vjp", "w", c->args[2], *value, false);
        v_push(in, pull(in, run.tape, c->args[1], *nodes, c->args[2], false));
        r = tuple_make(in, "value", v_retain(*value), "grad", v_retain(in->sp[-1]), NULL);
    } else {
        Transform *p = transform_new(in, TRANSFORM_PULL, "vjp", c->args[1]);
        v_push(in, v_transform(p));
        p->vjp = v_retain(*nodes);
        p->jvp = v_retain(*value);
        p->tape = run.tape;
        p->tape->native.refs++;
        if (in->host)
            tape_forget_places(p->tape);
        r = tuple_make(in, "value", v_retain(*value), "pull", v_retain(in->sp[-1]), NULL);
    }
    stack_cut(in, mark);
    return r;
}

static Value pull_call(Interp *in, const Transform *tr, const Args *a)
{
    if (a->count != 1 || a->named_count)
        err_raise(&in->ctx, ERR_TYPE, "pull takes one argument, the cotangent of the result");
    check_like(in, "pull", "w", a->args[0], tr->jvp, false);
    return pull(in, tr->tape, tr->f, tr->vjp, a->args[0], true);
}

/* ---- calls ---- */
static Value transform_call(Interp *in, Value v, const Value *args, int count,
                            const Name *const *names, const Value *named, int named_count)
{
    const Transform *tr = transform_of(v);
    Args a = { args, count, names, named, named_count };
    switch ((TransformKind)tr->kind) {
    case TRANSFORM_GRAD: return grad_run(in, tr, &a);
    case TRANSFORM_JACOBIAN: return jacobian_run(in, tr, &a);
    case TRANSFORM_PULL: return pull_call(in, tr, &a);
    default: return recorded_call(in, tr, &a);
    }
}

/* ---- making them ---- */
static Value arg_function(OpCall *c, int i)
{
    char what[96];
    if (!v_callable(c->in, c->args[i]))
        arg_error(c, i, ERR_TYPE, "%s must be a function, not %s", arg_name(c, i),
                  v_describe_a(v_plain(c->args[i]), what, sizeof what));
    return c->args[i];
}

static Value arg_wrt(OpCall *c, int i, bool many)
{
    Value v = arg_given(c, i) ? c->args[i] : v_int(0);
    int64_t k;
    bool one = v.tag == V_STRING || v_as_int(v, &k);
    bool all = many && v.tag == V_TUPLE && v.tuple->count > 0 && v.tuple->count <= WRT_MOST;
    for (uint32_t j = 0; all && j < v.tuple->count; j++)
        all = v.tuple->items[j].tag == V_STRING || v_as_int(v.tuple->items[j], &k);
    if (!one && !all) {
        /* grad(f, x), as gradient(f, x) elsewhere */
        char help[240];
        const char *f = arg_written(c, 0), *x = arg_written(c, i);
        snprintf(help, sizeof help, "the function that it gives takes the values: %s(%s)(%s)",
                 c->op->name, f ? f : "f", x ? x : "x");
        arg_error_help(c, i, ERR_TYPE, help, "wrt is the position or the name of an argument%s",
                       many ? ", or a tuple of them" : "");
    }
    return v_retain(v_plain(v));
}

Value grad_make(OpCall *c, bool with_value)
{
    Transform *tr = transform_new(c->in, TRANSFORM_GRAD, with_value ? "value_and_grad" : "grad",
                                  arg_function(c, 0));
    op_root(c, v_transform(tr));
    tr->wrt = arg_wrt(c, 1, true);
    tr->value = with_value;
    tr->aux = arg_bool(c, 2, false);
    return v_retain(v_transform(tr));
}

static Transform *jacobian_of(OpCall *c, const char *name, Value f)
{
    Transform *tr = transform_new(c->in, TRANSFORM_JACOBIAN, name, f);
    op_root(c, v_transform(tr));
    tr->wrt = arg_wrt(c, 1, false);
    return tr;
}

Value jacobian_make(OpCall *c)
{
    Transform *tr = jacobian_of(c, "jacobian", arg_function(c, 0));
    if (arg_given(c, 2)) {
        const char *mode = arg_str(c, 2)->text;
        if (strcmp(mode, "forward") != 0 && strcmp(mode, "reverse") != 0 &&
            strcmp(mode, "auto") != 0)
            arg_error(c, 2, ERR_VALUE, "mode is \"forward\", \"reverse\" or \"auto\"");
        tr->mode = *mode == 'f' ? MODE_FORWARD : *mode == 'r' ? MODE_REVERSE : MODE_AUTO;
    }
    tr->holomorphic = arg_bool(c, 3, false);
    return v_retain(v_transform(tr));
}

Value hessian_make(OpCall *c)
{
    Transform *g = transform_new(c->in, TRANSFORM_GRAD, "hessian", arg_function(c, 0));
    op_root(c, v_transform(g));
    g->wrt = arg_wrt(c, 1, false);
    return v_retain(v_transform(jacobian_of(c, "hessian", v_transform(g))));
}

Value checkpoint_make(OpCall *c)
{
    return v_transform(transform_new(c->in, TRANSFORM_CHECKPOINT, "checkpoint",
                                     arg_function(c, 0)));
}

Value custom_rule_make(OpCall *c)
{
    Transform *tr = transform_new(c->in, TRANSFORM_CUSTOM, "custom_rule", arg_function(c, 0));
    op_root(c, v_transform(tr));
    for (int i = 1; i < 3; i++)
        if (arg_given(c, i) && c->args[i].tag != V_NONE)
            arg_function(c, i);
    tr->vjp = arg_given(c, 1) ? v_retain(c->args[1]) : v_none();
    tr->jvp = arg_given(c, 2) ? v_retain(c->args[2]) : v_none();
    return v_retain(v_transform(tr));
}
