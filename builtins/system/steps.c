/* steps(rref, A) and its relatives: an algorithm of linear algebra with each of its operations
 * written down, and gram_schmidt(A), the same without a word. The algorithms are written in Ricci
 * (stdlib/steps.ric); this file only checks what is asked for and calls the one function there. */
#include "builtins/rows/rows.h"
#include "interp/eval/module.h"

#include "core/system/ascii.h"
#include "interp/state/stdlib_files.h"
#include "interp/eval/call.h"

#include <string.h>

/* The function of stdlib/steps.ric that runs the algorithms: nobody else sees it. */
static Value runner(OpCall *c)
{
    Interp *in = c->in;
    Value module = op_root(c, module_import_stdlib(in, "steps"));
    const Name *name = names_intern(&in->names, "_run", 4);
    return module.module->slots[globals_slot(&module.module->globals, name)];
}

static Tuple *tuple_of(OpCall *c, const Value *items, int count)
{
    Tuple *t = op_root(c, v_tuple(tuple_new(&c->in->ctx, (uint32_t)count))).tuple;
    for (int i = 0; i < count; i++)
        t->items[i] = v_retain(items[i]);
    return t;
}

static Value string(OpCall *c, const char *text)
{
    return op_root(c, v_str(str_new(&c->in->ctx, text, strlen(text))));
}

/* What the user calls an argument; A and b where that is no name. */
static Value name_of(OpCall *c, int i, const char *other)
{
    const char *text = i < c->count && arg_given(c, i) ? arg_text(c, i) : "";
    if (!*text)
        return string(c, other);
    for (const char *p = text; *p; p++)
        if (!ascii_alnum(*p) && *p != '_' && !(*p & 0x80))
            return string(c, other);
    return string(c, ascii_digit(*text) ? other : text);
}

/* _run(name, arguments, their names, latex, quiet, normalize, first) */
static Value run_algorithm(OpCall *c, const char *name, int first, int count,
                           bool latex, bool quiet, bool normalize, int64_t from)
{
    Tuple *arguments = tuple_of(c, c->args + first, count);
    Value names[] = { name_of(c, first, "A"), name_of(c, first + 1, "b") };
    Value args[] = { string(c, name), v_tuple(arguments), v_tuple(tuple_of(c, names, 2)),
                     v_bool(latex), v_bool(quiet), v_bool(normalize), v_int(from) };
    return call_value(c->in, runner(c), args, 7);
}

/* steps(f, args..., latex=false, normalize=true, first=0): in this order but the arguments are
 * last. */
Value op_run_steps(OpCall *c)
{
    Value f = c->args[0];
    char what[96];
    if (f.tag != V_OP)
        arg_error_help(c, 0, ERR_TYPE, "steps(rref, A)", "the operation comes first, and %s is %s",
                       arg_text(c, 0), v_describe_a(f, what, sizeof what));
    int64_t from = arg_given(c, 3) ? arg_int(c, 3) : 0;
    if (from != 0 && from != 1)
        arg_error(c, 3, ERR_VALUE, "rows are counted from 0 or 1, not from %lld", (long long)from);
    return run_algorithm(c, f.op->name, c->fixed, c->count - c->fixed, arg_bool(c, 1, false), false,
                         arg_bool(c, 2, true), from);
}

Value op_run_gram_schmidt(OpCall *c)
{
    return run_algorithm(c, "gram_schmidt", 0, 1, false, true, arg_bool(c, 1, true), 0);
}
