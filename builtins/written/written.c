/* Rows that are functions in the language: linear.ric, krylov.ric, signals.ric and
 * shelf.ric, one function for
 * each row, of the row's name and with its parameters. They are made of other rows, so they run in
 * any format and on any device, their derivatives are those of what they are made of, and what they
 * throw is shown at the call. */
#include "builtins/written/written.h"
#include "interp/eval/call.h"
#include "interp/eval/module.h"
#include "core/base/error.h"

#include <string.h>

enum { WRITTEN_MODULES = 4, WRITTEN_ARGUMENTS = 16 };
static const char *const written_modules[WRITTEN_MODULES] = {
    "builtins/written/linear", "builtins/written/krylov", "builtins/written/signals",
    "builtins/written/shelf"
};
static const OpState modules_kept = { sizeof(Module *[WRITTEN_MODULES]), NULL };

static Module *module_read(Interp *in, const char *name)
{
    Value module = module_library(in, name, NULL, NULL);
    Module *m = module.module;      /* the interpreter keeps it */
    v_release(&in->ctx, module);
    return m;
}

/* The function of that name; borrowed. */
static Value written_function(Interp *in, const char *name)
{
    Module **kept = op_state(in, &modules_kept);
    for (int i = 0; i < WRITTEN_MODULES; i++) {
        if (!kept[i])
            kept[i] = module_read(in, written_modules[i]);
        const Name *interned = names_find(&in->names, name, strlen(name));
        int64_t at = interned ? globals_find(&kept[i]->globals, interned) : -1;
        if (at >= 0 && kept[i]->slots[at].tag == V_FUNCTION)
            return kept[i]->slots[at];
    }
    return v_undef();
}

/* A text where numbers are wanted: the user's own words are known here, and no function says
 * more, but of the axes behind what a row lays out otherwise. */
static void refuse_texts(OpCall *c)
{
    int wanted = c->op->lays ? 1 : op_sig(c->in, c->op)->required;
    for (int i = 0; i < c->count && i < wanted; i++)
        if (c->args[i].tag == V_STRING)
            arg_error(c, i, ERR_TYPE, "%s is a string, not a number or a tensor", arg_text(c, i));
}

/* What was not given is the function's to fill in: all behind a gap goes by name. */
static Value run(OpCall *c, const char *name)
{
    Interp *in = c->in;
    const OpSig *sig = op_sig(in, c->op);
    const Name *names[WRITTEN_ARGUMENTS];
    Value named[WRITTEN_ARGUMENTS];
    int first = 0, count = 0;
    while (first < c->count && c->args[first].tag != V_UNDEF)
        first++;
    for (int i = first; i < c->count && count < WRITTEN_ARGUMENTS; i++)
        if (c->args[i].tag != V_UNDEF) {
            names[count] = sig->params[i].name;
            named[count++] = c->args[i];
        }
    Value f = written_function(in, name);
    return call_named(in, f, c->args, first, names, named, count);
}

Value written_run(OpCall *c, const char *name)
{
    refuse_texts(c);
    return run(c, name);
}

Value written_on_entries(OpCall *c) { return run(c, c->op->name); }

/* Of texts too. */
Value isin_run(OpCall *c) { return run(c, "isin"); }
Value window_run(OpCall *c) { return run(c, "window"); }

#define OP(name, ...) Value op_run_##name(OpCall *c) { return written_run(c, #name); }
#include "builtins/written/linear.def"
#include "builtins/written/krylov.def"
#include "builtins/written/windows.def"
#include "builtins/written/shelf.def"
#undef OP

bool written_asked(OpCall *c, int i)
{
    return i < c->count && c->args[i].tag != V_UNDEF && c->args[i].tag != V_NONE;
}

Value written_call(OpCall *c, const char *name)
{
    Value args[WRITTEN_ARGUMENTS];
    int count = 0;
    for (; count < c->count && count < WRITTEN_ARGUMENTS; count++)
        args[count] = c->args[count].tag == V_UNDEF ? v_none() : c->args[count];
    return call_value(c->in, written_function(c->in, name), args, count);
}
