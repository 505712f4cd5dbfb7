/* What a value of libricci is: shape, dtype, device, texts; its elements by subscripts; which
 * variables there are. */
#include "interp/embed/api.h"

#include "core/base/error.h"
#include "interp/device/place.h"
#include "interp/index/index.h"
#include "interp/show/show.h"
#include "interp/state/kind.h"
#include "kernels/device/device.h"

#include <string.h>

/* ---- tensors and numbers ---- */
API int ricci_rank(const RicciValue *h)
{
    if (!h || !v_is_numeric(v_plain(h->v)))
        return -1;
    return v_plain(h->v).tag == V_TENSOR ? v_plain(h->v).tensor->rank : 0;
}

API const int64_t *ricci_shape(const RicciValue *h)
{
    Value v = h ? v_plain(h->v) : v_none();
    return v.tag == V_TENSOR ? tensor_shape(v.tensor) : NULL;
}

API const char *ricci_dtype(const RicciValue *h)
{
    DType dt = h ? v_dtype(v_plain(h->v)) : DT_NONE;
    return dt == DT_NONE ? "" : dtype_name(dt);
}

API const char *ricci_device(const RicciValue *h)
{
    Value v = h ? v_plain(h->v) : v_none();
    if (v.tag == V_DEVICE)
        return v.device->name;
    return v.tag == V_TENSOR ? tensor_device(&h->r->in->ctx, v.tensor)->name
           : v_is_numeric(v) ? "cpu" : "";
}

API int ricci_to_range(const RicciValue *h, int64_t *start, int64_t *stop, int64_t *step)
{
    if (!h || h->v.tag != V_RANGE)
        return 1;
    *start = h->v.range->start;
    *stop = h->v.range->stop;
    *step = h->v.range->step;
    return 0;
}

API const char *ricci_field_name(const RicciValue *h, int i)
{
    const Tuple *t = h && h->v.tag == V_TUPLE ? h->v.tuple : NULL;
    return t && t->named && i >= 0 && (uint32_t)i < t->count && t->names[i] ? t->names[i]->text
                                                                            : NULL;
}

API bool ricci_callable(const RicciValue *h)
{
    return h && v_callable(h->r->in, h->v);
}

/* ---- texts ---- */
static void repr_body(Ricci *r, void *task)
{
    show_repr(r->in, &r->text, ((const RicciValue *)task)->v);
}

static void echo_body(Ricci *r, void *task)
{
    show_echo(r->in, &r->text, ((const RicciValue *)task)->v);
}

static const char *text_of(const RicciValue *h, ApiBody body)
{
    if (!h)
        return "";
    buf_clear(&h->r->text);
    return api_call(h->r, body, (void *)h) == 0 ? buf_cstr(&h->r->text) : NULL;
}

API const char *ricci_repr(const RicciValue *h) { return text_of(h, repr_body); }
API const char *ricci_echo(const RicciValue *h) { return text_of(h, echo_body); }

/* ---- subscripts ---- */
typedef struct Subscripts {
    const RicciValue *base;
    int count;
    const RicciIndex *at;
    RicciValue *made;
} Subscripts;

static Value part(Ricci *r, const RicciValue *h)
{
    if (h && h->r != r)
        err_raise(&r->in->ctx, ERR_VALUE, "a subscript is a value of another interpreter");
    return h ? h->v : v_undef();
}

static void index_body(Ricci *r, void *task)
{
    Subscripts *s = task;
    Interp *in = r->in;
    Sub subs[RICCI_INDEX_MAX];
    Value *mark = in->sp;
    if (s->count < 0 || s->count > RICCI_INDEX_MAX || (s->count && !s->at))
        err_raise(&in->ctx, ERR_INDEX, "%d subscripts, but there are at most %d", s->count,
                  RICCI_INDEX_MAX);
    for (int i = 0; i < s->count; i++) {
        const RicciIndex *at = &s->at[i];
        subs[i] = (Sub){ .kind = at->kind == RICCI_SLICE      ? SUB_SLICE
                               : at->kind == RICCI_ELLIPSIS ? SUB_ELLIPSIS : SUB_VALUE };
        subs[i].v = part(r, at->value);
        subs[i].start = part(r, at->start);
        subs[i].stop = part(r, at->stop);
        subs[i].step = part(r, at->step);
        if (subs[i].kind == SUB_VALUE && subs[i].v.tag == V_UNDEF)
            err_raise(&in->ctx, ERR_VALUE, "subscript %d is NULL", i);
    }
    const Exec *at = api_outside(r);
    v_push(in, index_get(in, s->base->v, subs, s->count));
    in->at = at;
    s->made = api_hold(r, value_detached(in, in->sp[-1]));
    stack_cut(in, mark);
}

API RicciValue *ricci_index(const RicciValue *base, int count, const RicciIndex *at)
{
    Subscripts s = { .base = base, .count = count, .at = at };
    return base && api_call(base->r, index_body, &s) == 0 ? s.made : NULL;
}

/* ---- variables ---- */
API const char *ricci_name(Ricci *r, int i)
{
    if (!r || i < 0)
        return NULL;
    const Module *m = r->in->main;
    for (uint32_t k = 0; k < m->globals.count; k++)
        if (m->slots[k].tag != V_UNDEF && m->globals.names[k] && i-- == 0)
            return m->globals.names[k]->text;
    return NULL;
}

API bool ricci_has(Ricci *r, const char *name)
{
    return r && name && api_slot(r, name) != NULL;
}
