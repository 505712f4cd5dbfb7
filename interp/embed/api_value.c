/* Values and variables of libricci: see ricci.h. A handle counts one reference; handles that are
 * left are in the interpreter's list, so that closing it leaks none. */
#include "interp/embed/api.h"
#include "interp/precision/cast.h"

#include "core/base/error.h"
#include "interp/native/native.h"
#include "interp/eval/eval_name.h"
#include "interp/eval/module.h"
#include "interp/state/predefined.h"
#include "interp/show/show.h"

#include <stdlib.h>
#include <string.h>

/* What a body works on: each uses what it needs. */
typedef struct Task {
    const char *name;
    Value v;                         /* borrowed, or made by the body */
    RicciValue *made;
    const RicciValue *given;
    RicciValue *const *items;
    const char *const *names;
    int count;
    int64_t i;
    double f;
    bool b;
    const char *text;
    size_t bytes;
} Task;

/* ---- handles ---- */
RicciValue *api_hold(Ricci *r, Value v)
{
    RicciValue *h = calloc(1, sizeof *h);
    if (!h) {
        v_release(&r->in->ctx, v);
        mem_raise(&r->in->ctx, sizeof *h);
    }
    *h = (RicciValue){ .r = r, .v = v, .next = r->values };
    if (r->values)
        r->values->before = h;
    return r->values = h;
}

API void ricci_free(RicciValue *h)
{
    if (!h || h->lent)
        return;
    *(h->before ? &h->before->next : &h->r->values) = h->next;
    if (h->next)
        h->next->before = h->before;
    v_release(&h->r->in->ctx, h->v);
    free(h);
}

/* Runs a body that makes t->made, with the interpreter r or that of a value. */
static RicciValue *make(Ricci *r, ApiBody body, Task *t)
{
    return api_call(r, body, t) == 0 ? t->made : NULL;
}

static Ricci *owner(const RicciValue *h)
{
    return h ? h->r : NULL;
}

/* C may write to the memory of a pinned variable: what is held is a copy of it. */
static void hold_body(Ricci *r, void *task)
{
    Task *t = task;
    t->made = api_hold(r, value_detached(r->in, t->v));
}

API RicciValue *ricci_none(Ricci *r) { return make(r, hold_body, &(Task){ .v = v_none() }); }
API RicciValue *ricci_int(Ricci *r, int64_t i)
{
    return make(r, hold_body, &(Task){ .v = v_int(i) });
}

API RicciValue *ricci_double(Ricci *r, double f)
{
    return make(r, hold_body, &(Task){ .v = v_float(f) });
}

API RicciValue *ricci_bool(Ricci *r, bool b)
{
    return make(r, hold_body, &(Task){ .v = v_bool(b) });
}

API RicciValue *ricci_copy(const RicciValue *h)
{
    return h ? make(h->r, hold_body, &(Task){ .v = h->v }) : NULL;
}

/* Strings are UTF-8: whatever reads them may rely on it. */
static Value string_value(Ricci *r, const Task *t)
{
    Ctx *ctx = &r->in->ctx;
    if (!t->text && t->bytes)
        err_raise(ctx, ERR_VALUE, "NULL is no text of %zu bytes", t->bytes);
    size_t bad = t->bytes ? utf8_check(t->text, t->bytes) : 0;
    if (bad < t->bytes)
        err_raise(ctx, ERR_VALUE, "byte %zu of the text is no UTF-8", bad);
    return v_str(str_new(ctx, t->text ? t->text : "", t->bytes));
}

static void string_body(Ricci *r, void *task)
{
    Task *t = task;
    t->made = api_hold(r, string_value(r, t));
}

API RicciValue *ricci_string(Ricci *r, const char *text, size_t bytes)
{
    return make(r, string_body, &(Task){ .text = text, .bytes = bytes });
}

typedef struct Steps {
    int64_t start, stop, step;
    RicciValue *made;
} Steps;

static void range_body(Ricci *r, void *task)
{
    Steps *s = task;
    s->made = api_hold(r, v_range(range_new(&r->in->ctx, s->start, s->stop, s->step)));
}

API RicciValue *ricci_range(Ricci *r, int64_t start, int64_t stop, int64_t step)
{
    Steps s = { start, stop, step, NULL };
    return api_call(r, range_body, &s) == 0 ? s.made : NULL;
}

static void tuple_body(Ricci *r, void *task)
{
    Task *t = task;
    Interp *in = r->in;
    if (t->count < 0 || (t->count > 0 && !t->items))
        err_raise(&in->ctx, ERR_VALUE, "there are no %d items for a tuple", t->count);
    Tuple *tuple = tuple_new(&in->ctx, (uint32_t)t->count);
    v_push(in, v_tuple(tuple));
    for (int i = 0; i < t->count; i++) {
        if (!t->items[i] || t->items[i]->r != r)
            err_raise(&in->ctx, ERR_VALUE, "item %d of the tuple is %s", i,
                      t->items[i] ? "a value of another interpreter" : "NULL");
        tuple->items[i] = value_detached(r->in, t->items[i]->v);
        if (t->names && t->names[i])
            tuple_name(&in->ctx, tuple, (uint32_t)i,
                       names_intern(&in->names, t->names[i], strlen(t->names[i])));
    }
    in->sp--;
    t->made = api_hold(r, v_tuple(tuple));
}

API RicciValue *ricci_tuple(Ricci *r, int count, RicciValue *const *items, const char *const *names)
{
    return make(r, tuple_body, &(Task){ .count = count, .items = items, .names = names });
}

/* ---- variables ---- */
Value *api_slot(Ricci *r, const char *name)
{
    const Name *n = names_find(&r->in->names, name, strlen(name));
    int64_t slot = n ? globals_find(&r->in->main->globals, n) : -1;
    return slot >= 0 && r->in->main->slots[slot].tag != V_UNDEF ? &r->in->main->slots[slot] : NULL;
}

static void check_text(Ricci *r, const char *name)
{
    if (!name)
        err_raise(&r->in->ctx, ERR_VALUE, "NULL is no name");
}

/* Is the text a name and nothing else? Asked of the parser, which knows. */
static bool is_name(Interp *in, const char *text)
{
    Ctx *ctx = &in->ctx;
    Source *source = source_new(ctx, "<name>", text, strlen(text));
    ErrFrame frame;
    if (!ERR_TRY(ctx, &frame)) {
        source_release(source);
        if (ctx->error->kind == ERR_MEMORY)
            err_rethrow(ctx);
        err_free(ctx->error);
        ctx->error = NULL;
        return false;
    }
    Chunk *chunk = parse_source(ctx, &in->names, source);
    ERR_END(ctx, &frame);
    const Node *root = chunk->root, *n = root->count == 1 ? root->list[0] : NULL;
    bool good = n && n->kind == ND_NAME && n->span.from == 0 && n->span.to == strlen(text);
    chunk_release(chunk);
    source_release(source);
    return good;
}

void api_assign(Ricci *r, const char *name, Value v)
{
    Interp *in = r->in;
    Module *m = in->main;
    v_push(in, v);
    check_text(r, name);
    const Name *n = names_find(&in->names, name, strlen(name));
    int64_t slot = n ? globals_find(&m->globals, n) : -1;
    if (slot < 0) {
        if (!is_name(in, name))
            err_raise(&in->ctx, ERR_NAME, "\"%.80s\" is no name that a variable can have", name);
        slot = globals_slot(&m->globals, names_intern(&in->names, name, strlen(name)));
        module_room(in, m);
    }
    if (r->depth > 1 && m->slots[slot].tag == V_FUNCTION) {     /* it may be running */
        if (!r->replaced)
            r->replaced = tuple_new(&in->ctx, 0);
        tuple_push(&in->ctx, &r->replaced, NULL, v_retain(m->slots[slot]));
    }
    m->assigned[slot] = 1;
    slot_put(in, &m->slots[slot], *--in->sp);
}

Value api_lookup(Ricci *r, const char *name)
{
    enum { NAMES = 1024 };
    Interp *in = r->in;
    check_text(r, name);
    const Value *slot = api_slot(r, name);
    if (slot)
        return *slot;
    const Name *n = names_find(&in->names, name, strlen(name));
    Value v = predefined_find(in, name);
    if (v.tag != V_UNDEF)
        return v;
    if (n && op_find(in, n))
        return v_op(op_find(in, n));
    const char *names[NAMES], *closest = NULL;
    if (strlen(name) > 1)
        closest = err_closest(name, names, interp_names(in, names, NAMES));
    Error *e = err_new(&in->ctx, ERR_NAME, "`%.80s` is not defined", name);
    if (closest)
        err_help(e, "did you mean `%s`?", closest);
    err_throw(e);
}

static void get_body(Ricci *r, void *task)
{
    Task *t = task;
    t->made = api_hold(r, value_detached(r->in, api_lookup(r, t->name)));
}

API RicciValue *ricci_get(Ricci *r, const char *name)
{
    return make(r, get_body, &(Task){ .name = name });
}

static void set_body(Ricci *r, void *task)
{
    Task *t = task;
    if (t->given && t->given->r != r)
        err_raise(&r->in->ctx, ERR_VALUE, "the value for %.80s is of another interpreter",
                  t->name ? t->name : "NULL");
    api_assign(r, t->name, value_detached(r->in, t->v));
}

static void set_string_body(Ricci *r, void *task)
{
    Task *t = task;
    api_assign(r, t->name, string_value(r, t));
}

static void no_value_body(Ricci *r, void *task)
{
    (void)task;
    err_raise(&r->in->ctx, ERR_VALUE, "NULL is no value");
}

API int ricci_set(Ricci *r, const char *name, const RicciValue *h)
{
    return h ? api_call(r, set_body, &(Task){ .name = name, .v = h->v, .given = h })
             : api_call(r, no_value_body, NULL);
}

API int ricci_set_int(Ricci *r, const char *name, int64_t i)
{
    return api_call(r, set_body, &(Task){ .name = name, .v = v_int(i) });
}

API int ricci_set_double(Ricci *r, const char *name, double f)
{
    return api_call(r, set_body, &(Task){ .name = name, .v = v_float(f) });
}

API int ricci_set_bool(Ricci *r, const char *name, bool b)
{
    return api_call(r, set_body, &(Task){ .name = name, .v = v_bool(b) });
}

API int ricci_set_string(Ricci *r, const char *name, const char *text, size_t bytes)
{
    return api_call(r, set_string_body, &(Task){ .name = name, .text = text, .bytes = bytes });
}

static void unset_body(Ricci *r, void *task)
{
    const Task *t = task;
    Value *slot = t->name ? api_slot(r, t->name) : NULL;
    if (!slot)
        api_lookup(r, t->name);
    else
        api_assign(r, t->name, v_undef());
}

API int ricci_unset(Ricci *r, const char *name)
{
    return api_call(r, unset_body, &(Task){ .name = name });
}

/* ---- reading ---- */
/* Either a variable (name) or a value (t->v); name NULL: the value. */
static Value read_value(Ricci *r, const Task *t)
{
    return t->given ? t->given->v : api_lookup(r, t->name);
}

_Noreturn static void raise_other(Ricci *r, const Task *t, Value v, const char *wanted)
{
    char is[96];
    v_describe_a(v, is, sizeof is);
    if (t->given)
        err_raise(&r->in->ctx, ERR_TYPE, "the value is %s, not %s", is, wanted);
    err_raise(&r->in->ctx, ERR_TYPE, "`%.80s` is %s, not %s", t->name, is, wanted);
}

static void int_body(Ricci *r, void *task)
{
    Task *t = task;
    Value v = read_value(r, t);
    if (!v_as_int(v, &t->i))
        raise_other(r, t, v, "an int");
}

static bool real_scalar(Value v)
{
    if (v.tag == V_TENSOR)
        return v.tensor->rank == 0 && strchr("ifq", dtype_info((DType)v.tensor->dtype)->kind);
    return v.tag == V_INT || v.tag == V_FLOAT;
}

static void double_body(Ricci *r, void *task)
{
    Task *t = task;
    Interp *in = r->in;
    Value v = read_value(r, t);
    if (!real_scalar(v))
        raise_other(r, t, v, "a real number");
    Value f = op_cast(in, v, DT_F64);
    if (f.tag != V_FLOAT) {
        v_release(&in->ctx, f);
        raise_other(r, t, v, "a real number");
    }
    t->f = f.f;
}

static void bool_body(Ricci *r, void *task)
{
    Task *t = task;
    Value v = read_value(r, t);
    if (v.tag != V_BOOL)
        raise_other(r, t, v, "a bool");
    t->b = v.i;
}

static void text_body(Ricci *r, void *task)
{
    Task *t = task;
    Value v = read_value(r, t);
    if (v.tag != V_STRING)
        raise_other(r, t, v, "a string");
    t->bytes = v.str->len;
    t->text = v.str->text;
    if (t->given)
        return;
    buf_clear(&r->text);                 /* a variable may change */
    buf_put(&r->text, v.str->text, v.str->len);
    t->text = buf_cstr(&r->text);
}

static int read_int(Ricci *r, Task *t, int64_t *out)
{
    int status = api_call(r, int_body, t);
    if (!status && out)
        *out = t->i;
    return status;
}

static int read_double(Ricci *r, Task *t, double *out)
{
    int status = api_call(r, double_body, t);
    if (!status && out)
        *out = t->f;
    return status;
}

static int read_bool(Ricci *r, Task *t, bool *out)
{
    int status = api_call(r, bool_body, t);
    if (!status && out)
        *out = t->b;
    return status;
}

static const char *read_string(Ricci *r, Task *t, size_t *bytes)
{
    if (api_call(r, text_body, t) != 0)
        return NULL;
    if (bytes)
        *bytes = t->bytes;
    return t->text;
}

API int ricci_get_int(Ricci *r, const char *name, int64_t *i)
{
    return read_int(r, &(Task){ .name = name }, i);
}

API int ricci_get_double(Ricci *r, const char *name, double *f)
{
    return read_double(r, &(Task){ .name = name }, f);
}

API int ricci_get_bool(Ricci *r, const char *name, bool *b)
{
    return read_bool(r, &(Task){ .name = name }, b);
}

API const char *ricci_get_string(Ricci *r, const char *name, size_t *bytes)
{
    return read_string(r, &(Task){ .name = name }, bytes);
}

API int ricci_to_int(const RicciValue *h, int64_t *i)
{
    return read_int(owner(h), &(Task){ .given = h }, i);
}

API int ricci_to_double(const RicciValue *h, double *f)
{
    return read_double(owner(h), &(Task){ .given = h }, f);
}

API int ricci_to_bool(const RicciValue *h, bool *b)
{
    return read_bool(owner(h), &(Task){ .given = h }, b);
}

API const char *ricci_to_string(const RicciValue *h, size_t *bytes)
{
    return read_string(owner(h), &(Task){ .given = h }, bytes);
}

API const char *ricci_type(const RicciValue *h)
{
    return h ? v_type_name(h->v) : "";
}

static void show_body(Ricci *r, void *task)
{
    const Task *t = task;
    show_value(r->in, &r->text, t->given->v);
}

API const char *ricci_text(const RicciValue *h)
{
    if (!h)
        return "";
    buf_clear(&h->r->text);
    return api_run(h->r, show_body, &(Task){ .given = h }) == 0 ? buf_cstr(&h->r->text) : "";
}

/* ---- tuples ---- */
API int ricci_count(const RicciValue *h)
{
    return h && h->v.tag == V_TUPLE ? (int)h->v.tuple->count : -1;
}

static void item_body(Ricci *r, void *task)
{
    Task *t = task;
    Value v = t->given->v;
    if (v.tag != V_TUPLE)
        raise_other(r, t, v, "a tuple");
    if (t->name) {
        const Name *n = names_find(&r->in->names, t->name, strlen(t->name));
        int64_t at = n && v.tuple->named ? tuple_find(v.tuple, n) : -1;
        if (at < 0)
            err_raise(&r->in->ctx, ERR_NAME, "the tuple has no field `%.80s`", t->name);
        t->count = (int)at;
    } else if (t->count < 0 || (uint32_t)t->count >= v.tuple->count) {
        err_raise(&r->in->ctx, ERR_INDEX, "item %d of a tuple of %u", t->count, v.tuple->count);
    }
    t->made = api_hold(r, v_retain(v.tuple->items[t->count]));
}

API RicciValue *ricci_item(const RicciValue *h, int i)
{
    return make(owner(h), item_body, &(Task){ .given = h, .count = i });
}

API RicciValue *ricci_field(const RicciValue *h, const char *name)
{
    return make(owner(h), item_body, &(Task){ .given = h, .name = name, .count = -1 });
}
