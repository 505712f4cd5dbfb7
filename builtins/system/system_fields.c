/* Functions with fields: with_fields(f, (derivative=…)) is called as f is, and has values under
 * names. An object of a kind of its own (interp/state/kind.h): nothing below knows of it. */
#include "builtins/rows/rows.h"
#include "interp/eval/call.h"
#include "interp/op/traced.h"
#include "interp/show/show.h"
#include "interp/state/kind.h"

#include "core/base/error.h"
#include "core/base/mem.h"

#include <stdio.h>

typedef struct Fielded {
    Native native;                   /* first */
    union {
        struct { Value f, fields; };
        Value part[2];
    };
} Fielded;

static const Kind fielded_kind;

static Fielded *fielded_of(Value v) { return v.ptr; }
static Tuple *fields_of(Value v) { return fielded_of(v)->fields.tuple; }

static Value fielded_new(Interp *in, Value f, Value fields)
{
    Fielded *x = mem_zalloc(&in->ctx, sizeof *x);
    x->native = (Native){ .refs = 1, .kind = &fielded_kind };
    x->f = v_retain(f);
    x->fields = v_retain(fields);
    return (Value){ .tag = V_TRANSFORM, .ptr = x };
}

static void fielded_release(Ctx *ctx, Native *native)
{
    Fielded *x = (Fielded *)(void *)native;
    v_release(ctx, x->f);
    v_release(ctx, x->fields);
    mem_free(ctx, x, sizeof *x);
}

static const char *fielded_name(Value v)
{
    const Value f = fielded_of(v)->f;
    return v_kind(f) && v_kind(f)->name ? v_kind(f)->name(f) : "a function with fields";
}

static const char *fielded_describe(Value v, char *out, size_t cap)
{
    (void)v;
    snprintf(out, cap, "function with fields");
    return out;
}

static bool fielded_equal(Value a, Value b) { return a.ptr == b.ptr; }

static void put_names(Buf *out, Value v)
{
    const Tuple *t = fields_of(v);
    for (uint32_t i = 0; i < t->count; i++)
        buf_printf(out, "%s%s", i ? ", " : "", t->names[i]->text);
}

static void fielded_show(Interp *in, Buf *out, Value v, bool repr)
{
    (void)repr;
    show_repr(in, out, fielded_of(v)->f);
    buf_puts(out, " with (");
    put_names(out, v);
    buf_puts(out, ")");
}

static void fielded_help(Buf *out, Value v, bool line)
{
    (void)line;
    buf_puts(out, "a function with the fields ");
    put_names(out, v);
}

static Value fielded_field(Interp *in, Value v, const Name *name)
{
    const Tuple *t = fields_of(v);
    int64_t i = tuple_find(t, name);
    if (i >= 0)
        return v_retain(t->items[i]);
    Buf names;
    buf_init(&names, &in->ctx);
    put_names(&names, v);
    Error *e = err_new(&in->ctx, ERR_NAME, "%s is a function and has no field %s; it has %s",
                       err_operand_text(&in->ctx, 0), name->text, buf_cstr(&names));
    buf_free(&names);
    err_throw(e);
}

static Value fielded_call(Interp *in, Value v, const Value *args, int count,
                          const Name *const *names, const Value *named, int named_count)
{
    v_push(in, v_retain(v));         /* the variable may get another value meanwhile */
    stack_check(in);
    Value r = call_named(in, fielded_of(v)->f, args, count, names, named, named_count);
    stack_cut(in, in->sp - 1);
    return r;
}

static Value fielded_keys(Interp *in, Value v)
{
    const Tuple *t = fields_of(v);
    Tuple *keys = tuple_new(&in->ctx, t->count);
    v_push(in, v_tuple(keys));
    for (uint32_t i = 0; i < t->count; i++)
        keys->items[i] = v_str(str_new(&in->ctx, t->names[i]->text, t->names[i]->len));
    return *--in->sp;
}

static Parts fielded_parts(Value v) { return (Parts){ fielded_of(v)->part, 2 }; }

static Value *fielded_like(Interp *in, Value v)
{
    (void)v;
    v_push(in, fielded_new(in, v_none(), v_none()));
    return fielded_of(in->sp[-1])->part;
}

static const Name *fielded_parameter(Value v, int i)
{
    Value f = fielded_of(v)->f;
    if (f.tag == V_FUNCTION)
        return i < (int)f.fn->code->params && i != f.fn->code->rest
               ? f.fn->code->node->list[i]->name : NULL;
    return v_kind(f) && v_kind(f)->parameter ? v_kind(f)->parameter(f, i) : NULL;
}

static const Kind fielded_kind = {
    .release = fielded_release, .name = fielded_name, .describe = fielded_describe,
    .equal = fielded_equal, .show = fielded_show, .field = fielded_field, .call = fielded_call,
    .keys = fielded_keys, .help = fielded_help, .parts = fielded_parts, .like = fielded_like,
    .parameter = fielded_parameter,
};

Value op_run_with_fields(OpCall *c)
{
    Value f = c->args[0], fields = c->args[1];
    char what[96];
    if (!v_callable(c->in, f))
        arg_error(c, 0, ERR_TYPE, "%s must be a function, not %s", arg_name(c, 0),
                  v_describe_a(v_plain(f), what, sizeof what));
    bool named = fields.tag == V_TUPLE && fields.tuple->names && fields.tuple->count;
    for (uint32_t i = 0; named && i < fields.tuple->count; i++)
        named = fields.tuple->names[i] != NULL;
    if (!named)
        arg_error_help(c, 1, ERR_TYPE, "with_fields(x -> x^2, (derivative=x -> 2 * x))",
                       "the fields are a named tuple, not %s",
                       v_describe_a(v_plain(fields), what, sizeof what));
    return fielded_new(c->in, f, fields);
}
