/* The statement `extern "library" [as name] { declarations }`: opens the library, looks up what the
 * block declares and gives it to variables, or to the members of one module. All is found before
 * anything is assigned, so a block that fails leaves every name as it was. */
#include "core/base/fence.h"
#include "interp/eval/eval_assign.h"
#include "interp/native/native.h"
#include "core/system/loader_search.h"
#include "interp/lower/lower.h"
#include "interp/eval/module.h"
#include "interp/state/predefined.h"

#include <stdio.h>
#include <string.h>

typedef struct ExternSite {
    Source *source;
    const Exec *library;             /* the string: where errors of finding it point */
    NativeLibrary *opened;           /* once it ran */
    void **at;                       /* of functions and variables, in the unit's order */
    Module *module;                  /* of `as name` */
    bool complete;                   /* all of it was found */
} ExternSite;

/* ---- finding ---- */
/* How messages call a library: as it was asked for, or by the file that a plain name stood for. */
static const char *shown_name(const NativeLibrary *l)
{
    const char *slash = strrchr(l->path, '/');
    if (l->asked[0] && strstr(l->asked, LIBRARY_SUFFIX))
        return l->asked + (strncmp(l->asked, "-l:", 3) == 0 ? 3 : 0);
    return slash ? slash + 1 : l->path;
}

static bool has_symbol(const CDecl *d) { return d->kind == CD_FUNCTION || d->kind == CD_VARIABLE; }

/* ", nor `a`, `b` and 3 more": what else of the block the library lacks. */
static void other_missing(Interp *in, const ExternSite *site, const CDecl *d, const CDecl *end,
                          char *out, size_t size)
{
    size_t n = 0;
    int count = 0;
    out[0] = '\0';
    for (d++; d < end; d++) {
        if (!has_symbol(d) || native_symbol(in, site->opened, d->symbol))
            continue;
        if (++count <= 4 && n < size)
            n += (size_t)snprintf(out + n, size - n, "%s`%s`", count == 1 ? ", nor " : ", ",
                                  d->symbol);
    }
    if (count > 4 && n < size)
        snprintf(out + n, size - n, " and %d more", count - 4);
}

static _Noreturn void raise_missing(Interp *in, const ExternSite *site, const CUnit *unit,
                                    const CDecl *d)
{
    NativeLibrary *l = site->opened;
    char more[400];
    other_missing(in, site, d, unit->decls + unit->count, more, sizeof more);
    const char *closest = native_symbol_closest(in, l, d->symbol);
    bool renamed = strcmp(d->symbol, d->name) != 0;
    const char *what = d->kind == CD_FUNCTION ? "function" : "variable";
    Error *e = l->count ? err_new(&in->ctx, ERR_FFI, "no library of \"%s\" has a %s `%s`%s",
                                  l->asked, what, d->symbol, more)
                        : err_new(&in->ctx, ERR_FFI, "%s has no %s `%s`%s",
                                  shown_name(l), what, d->symbol, more);
    err_at(e, site->source, d->at);
    if (closest && renamed)
        err_help(e, "did you mean asm(\"%s\")?", closest);
    else if (closest)
        err_help(e, "did you mean `%s`?", closest);
    else if (l->handle && l->asked[0])
        err_help(e, "nm -D %s lists what it has", l->path);
    err_throw(e);
}

static void find_symbols(Interp *in, ExternSite *site, const CUnit *unit)
{
    for (uint32_t i = 0; i < unit->count; i++) {
        const CDecl *d = &unit->decls[i];
        if (!has_symbol(d))
            continue;
        site->at[i] = native_symbol(in, site->opened, d->symbol);
        if (!site->at[i])
            raise_missing(in, site, unit, d);
    }
}

/* ---- values ---- */
static Value constant_value(Interp *in, const CConst *c)
{
    switch (c->kind) {
    case CC_FLOAT: return v_float(c->f);
    case CC_TEXT: return v_str(str_new(&in->ctx, c->text, c->len));
    case CC_POINTER:
        return pointer_new(in, ctype_basic("void"), (void *)(intptr_t)c->i, v_undef(), SIZE_MAX);
    case CC_UINT: return c->i < 0 ? v_float((double)(uint64_t)c->i) : v_int(c->i);
    default: return v_int(c->i);
    }
}

/* A global variable is a pointer to it; an array one to its first element. */
static Value variable_value(Interp *in, const CType *type, void *at)
{
    size_t bytes = ctype_size(type);
    if (type->kind == CK_ARRAY)
        type = type->of;
    Value v = pointer_new(in, type, at, v_undef(), bytes ? bytes : SIZE_MAX);
    ((Pointer *)v.ptr)->readonly = type->is_const;
    return v;
}

static Value declared_value(Interp *in, const CDecl *d, void *at)
{
    switch (d->kind) {
    case CD_TYPE: return ctype_new(in, d->type, d->name);
    case CD_CONSTANT: return constant_value(in, &d->value);
    case CD_VARIABLE: return variable_value(in, d->type, at);
    default: return cfunction_new(in, d->type, d->name, (void (*)(void))at);
    }
}

/* ---- names ---- */
/* A type whose name is an operation's or a format's (`f64`, `complex`) leaves that name alone. */
static bool keeps_builtin(Interp *in, const CDecl *d, const Name *name)
{
    return d->kind == CD_TYPE &&
           (op_find(in, name) || predefined_find(in, name->text).tag != V_UNDEF);
}

static Value builtin_value(Interp *in, const Name *name)
{
    Value v = predefined_find(in, name->text);
    return v.tag != V_UNDEF ? v : v_op(op_find(in, name));
}

static void assign_names(Interp *in, const Exec *x, const CUnit *unit, void *const *at)
{
    for (uint32_t i = 0; i < unit->count; i++) {
        const CDecl *d = &unit->decls[i];
        const Name *name = x->node->list[i]->name;
        if (!x->list[i])
            continue;
        bool builtin = keeps_builtin(in, d, name);     /* a local, which has no other value */
        Value v = builtin ? builtin_value(in, name) : declared_value(in, d, at[i]);
        target_assign(in, x->list[i], v);
    }
}

static void fill_module(Interp *in, Module *m, const CUnit *unit, void *const *at)
{
    for (uint32_t i = 0; i < unit->count; i++) {
        const CDecl *d = &unit->decls[i];
        const Name *name = names_intern(&in->names, d->name, strlen(d->name));
        uint32_t slot = globals_slot(&m->globals, name);
        module_room(in, m);
        slot_put(in, &m->slots[slot], declared_value(in, d, at[i]));
    }
}

/* ---- the statement ---- */
static void extern_open(Interp *in, const Exec *x, ExternSite *site)
{
    in->at = site->library;
    if (strlen(x->node->a->text) != x->node->a->text_len)
        err_raise(&in->ctx, ERR_FFI, "the name of a library holds no NUL");
    site->opened = native_library_open(in, x->node->a->text, site->source);
    in->at = x;
    find_symbols(in, site, x->node->unit);
    if (x->b) {
        site->module = module_new(in, x->b->node->name->text);
        site->module->done = true;
        fill_module(in, site->module, x->node->unit, site->at);
    }
    site->complete = true;
}

/* What was found stays found: a block in a loop or a function looks once. */
static Value eval_extern(Interp *in, const Exec *x)
{
    ExternSite *site = x->data;
    in->at = x;
    fence_check(&in->ctx, REACH_NATIVE, "extern");
    if (!site->complete)
        extern_open(in, x, site);
    if (!x->b) {
        assign_names(in, x, x->node->unit, site->at);
        return v_none();
    }
    site->module->refs++;
    target_assign(in, x->b, (Value){ .tag = V_MODULE, .module = site->module });
    return v_none();
}

const Exec *lower_extern(Lower *lo, const Node *n)
{
    const CUnit *unit = n->unit;
    Exec *x = exec_new(lo, eval_extern, n);
    ExternSite *site = lower_alloc(lo, sizeof *site);
    const Exec **list = lower_alloc(lo, (n->count + 1) * sizeof *list);
    for (uint32_t i = 0; i < n->count; i++) {
        const Node *name = n->list[i];
        if (name->scope != SCOPE_GLOBAL || !keeps_builtin(lo->in, &unit->decls[i], name->name))
            list[i] = lower_target(lo, name);
    }
    x->list = list;
    x->count = n->count;
    x->b = n->b ? lower_target(lo, n->b) : NULL;
    *site = (ExternSite){ .source = lo->chunk->source, .library = exec_new(lo, NULL, n->a) };
    site->at = lower_alloc(lo, (unit->count + 1) * sizeof *site->at);
    x->data = site;
    return x;
}
