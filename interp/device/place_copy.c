/* Values there and back: see place.h and place_door.h. Tuples are looked into, nothing else holds
 * tensors. Nothing here decides where something runs. */
#include "interp/device/place_door.h"
#include "interp/precision/cast.h"

#include "core/base/error.h"
#include "kernels/sparse/sparse.h"
#include "interp/state/scope.h"

static bool has_elements(const Tensor *t) { return t->rank > 0; }

/* ---- looking ---- */
bool place_elements(Value v)
{
    if (v.tag == V_TENSOR)
        return has_elements(v.tensor);
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        if (place_elements(v.tuple->items[i]))
            return true;
    return false;
}

/* A copy on d makes a tensor one of d's; so does having no elements. */
static const Device *away(Interp *in, const Device *d, Value v)
{
    const Device *from = NULL;
    if (v.tag == V_TENSOR && tensor_sparse(v.tensor))
        return NULL;                                /* what is read of entries comes along */
    if (v.tag == V_TENSOR) {
        bool there = d == in->ctx.devices->cpu ? !tensor_away(v.tensor) : device_has(d, v.tensor);
        return has_elements(v.tensor) && v.tensor->size && !there
               ? tensor_device(&in->ctx, v.tensor) : NULL;
    }
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count && !from; i++)
        from = away(in, d, v.tuple->items[i]);
    return from;
}

int place_elsewhere(Interp *in, const Device *d, const Value *args, int count, const Device **from)
{
    for (int i = 0; i < count; i++)
        if ((*from = away(in, d, args[i])) != NULL)
            return i;
    return -1;
}

DType place_unheld(const Device *d, Value v)
{
    DType dt = DT_NONE;
    if (v.tag == V_TENSOR)
        return has_elements(v.tensor) && !device_holds(d, (DType)v.tensor->dtype)
               ? (DType)v.tensor->dtype : DT_NONE;
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count && dt == DT_NONE; i++)
        dt = place_unheld(d, v.tuple->items[i]);
    return dt;
}

/* ---- home ---- */
void place_home(Interp *in, Value v)
{
    if (v.tag == V_TENSOR)
        tensor_home(&in->ctx, v.tensor);
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++) {
        Value item = v.tuple->items[i];
        if (item.tag != V_TENSOR || !tensor_sparse(item.tensor))    /* who reads it settles it */
            place_home(in, item);
    }
}

/* ---- there ---- */
/* A tuple of what `of` makes of the items. */
static Value map_tuple(const Tuple *from, Interp *in,
                       Value (*of)(Interp *, Value, void *), void *data)
{
    Tuple *t = tuple_new(&in->ctx, from->count);
    v_push(in, v_tuple(t));
    for (uint32_t i = 0; i < from->count; i++) {
        t->items[i] = of(in, from->items[i], data);
        if (from->names && from->names[i])
            tuple_name(&in->ctx, t, i, from->names[i]);
    }
    in->sp--;
    return v_tuple(t);
}

typedef struct Land {
    const Doing *doing;
    const Device *device;
    bool floats;
    DType *cast;
} Land;

static bool is_whole(DType dt)
{
    char kind = dtype_info(dt)->kind;
    return kind == 'i' || kind == 'b';
}

static DType landing(const Land *l, DType dt)
{
    return l->floats && is_whole(dt) ? device_widest(l->device)
                                     : place_landing(l->doing, l->device, dt);
}

/* A scope rounds in its mode, the rest to nearest. */
static Tensor *land_tensor(Interp *in, Tensor *t, DType to, bool keep)
{
    tensor_home(&in->ctx, t);
    if (in->scope && in->scope->format != DT_NONE && in->scope->round != ROUND_STOCHASTIC) {
        DeviceBlock *place = in->place;
        in->place = NULL;                           /* an error's guard puts it back */
        Value v = op_cast(in, v_tensor_raw(t), to);
        in->place = place;
        return v.tensor;
    }
    Tensor *r = keep ? device_narrowed(&in->ctx, t, to) : tensor_cast(&in->ctx, t, to);
    if (r != t)
        r->flags = t->flags;
    return r;
}

/* The same pattern. */
static Value land_entries(Interp *in, const Sparse *s, DType to, bool keep)
{
    Ctx *ctx = &in->ctx;
    v_push(in, v_tensor_raw(keep ? device_narrowed(ctx, s->value, to)
                                 : tensor_cast(ctx, s->value, to)));
    Value r = v_tensor_raw(sparse_like(ctx, s, in->sp[-1].tensor));
    stack_cut(in, in->sp - 1);
    return r;
}

static Value land(Interp *in, Value v, void *data)
{
    const Land *l = data;
    if (v.tag == V_TENSOR && has_elements(v.tensor)) {
        DType dt = (DType)v.tensor->dtype, to = landing(l, dt);
        if (to == dt)
            return v_retain(v);
        *l->cast = is_whole(dt) && *l->cast != DT_NONE ? *l->cast : dt;
        if (tensor_sparse(v.tensor))
            return land_entries(in, tensor_sparse(v.tensor), to, l->doing->narrow);
        return v_tensor_raw(land_tensor(in, v.tensor, to, l->doing->narrow));
    }
    return v.tag == V_TUPLE && place_elements(v) ? map_tuple(v.tuple, in, land, data) : v_retain(v);
}

Value *place_land(const Doing *g, const Device *d, DType *cast)
{
    Interp *in = g->in;
    *cast = DT_NONE;
    Land l = { g, d, place_floats(g, d), cast };
    stack_room(in, (size_t)g->count + 8);
    Value *landed = in->sp;
    for (int i = 0; i < g->count; i++) {
        int same = g->args[i].tag == V_TENSOR ? 0 : i;
        while (same < i &&
               (g->args[same].tag != V_TENSOR || g->args[same].tensor != g->args[i].tensor))
            same++;
        v_push(in, same < i ? v_retain(landed[same]) : land(in, g->args[i], &l));
    }
    return landed;
}

static Value shadow(Interp *in, Value v, void *device)
{
    return place_shadow(in, device, v);
}

Value place_shadow(Interp *in, Device *d, Value v)
{
    if (v.tag == V_TENSOR && has_elements(v.tensor) && !dtype_cells((DType)v.tensor->dtype))
        return v_tensor_raw(sim_shadow(&in->ctx, d, v.tensor));
    return v.tag == V_TUPLE && place_elements(v) ? map_tuple(v.tuple, in, shadow, d) : v_retain(v);
}

static bool f32_tensor(Value v)
{
    return v.tag == V_TENSOR && has_elements(v.tensor) && v.tensor->dtype == DT_F32;
}

/* f32 numbers that the product's dtype holds: their products are exact in f32, where they are
 * summed. */
void place_round_factors(Interp *in, const Device *d, Value *shadows, int count)
{
    Ctx *ctx = &in->ctx;
    for (int i = 0; i < count; i++) {
        if (!f32_tensor(shadows[i]))
            continue;
        Tensor *old = shadows[i].tensor, *narrow = tensor_cast(ctx, old, d->product);
        v_push(in, v_tensor_raw(narrow));
        shadows[i].tensor = tensor_cast(ctx, narrow, DT_F32);
        shadows[i].tensor->flags = old->flags;
        tensor_release(ctx, old);
        stack_cut(in, in->sp - 1);
    }
}

Value *place_shadows(const Doing *g, Device *d, Value *landed)
{
    Value *shadows = g->in->sp;
    for (int i = 0; i < g->count; i++)
        v_push(g->in, place_shadow(g->in, d, landed[i]));
    return shadows;
}

/* ---- back ---- */
/* The operand of whose shadow `made` is a view. */
static Tensor *viewed(const Tensor *made, Value landed, Value s, Tensor **shadow_of)
{
    Tensor *from = NULL;
    if (s.tag == V_TENSOR && s.tensor->buffer == made->buffer && s.tensor->dtype == made->dtype) {
        *shadow_of = s.tensor;
        return s.tensor == landed.tensor ? NULL : landed.tensor;
    }
    for (uint32_t i = 0; s.tag == V_TUPLE && i < s.tuple->count && !from; i++)
        from = viewed(made, landed.tuple->items[i], s.tuple->items[i], shadow_of);
    return from;
}

/* A number that comes home, as a device would send it. */
static void carry(Ctx *ctx, Device *d, Value v)
{
    DType dt = v_dtype(v);
    if (dt != DT_NONE && !dtype_cells(dt))
        device_carry(ctx, d, dtype_info(dt)->bytes);
}

/* The item on top of the value stack becomes one of the device's. */
static void adopt_top(const Doing *g, Device *d, const Value *landed, const Value *shadows)
{
    Interp *in = g->in;
    Value v = in->sp[-1];
    if (v.tag != V_TENSOR || !has_elements(v.tensor)) {
        if (g->dtype != DT_NONE)
            carry(&in->ctx, d, v);
        return;
    }
    if (!device_holds(d, (DType)v.tensor->dtype)) {
        device_carry(&in->ctx, d, (size_t)v_bytes(v));
        return;
    }
    Tensor *from = NULL, *s = NULL;
    for (int i = 0; i < g->count && !from; i++)
        from = viewed(v.tensor, landed[i], shadows[i], &s);
    if (from) {
        in->sp[-1] = v_tensor_raw(sim_view(&in->ctx, v.tensor, from, s));
        tensor_release(&in->ctx, v.tensor);
        return;
    }
    in->sp--;                                       /* taken, in every case */
    v_push(in, v_tensor_raw(sim_take(&in->ctx, d, v.tensor)));
}

static void adopt_tuple(const Doing *g, Device *d, const Value *landed, const Value *shadows)
{
    Interp *in = g->in;
    tuple_unshare(&in->ctx, &in->sp[-1].tuple);
    Tuple *t = in->sp[-1].tuple;
    for (uint32_t i = 0; i < t->count; i++) {
        Value item = t->items[i];
        t->items[i] = v_none();
        v_push(in, item);
        if (item.tag == V_TUPLE)
            adopt_tuple(g, d, landed, shadows);
        else
            adopt_top(g, d, landed, shadows);
        t->items[i] = *--in->sp;
    }
}

Value place_adopt_all(const Doing *g, Device *d, Value made, const Value *landed,
                      const Value *shadows)
{
    v_push(g->in, made);
    if (made.tag == V_TUPLE)
        adopt_tuple(g, d, landed, shadows);
    else
        adopt_top(g, d, landed, shadows);
    return *--g->in->sp;
}

/* ---- results of the host ---- */
static void settle_top(Interp *in, Device *d)
{
    Value v = in->sp[-1];
    if (v.tag == V_TENSOR && tensor_sparse(v.tensor)) {
        return;                                     /* entries are at home on the host */
    } else if (v.tag == V_TENSOR && has_elements(v.tensor) &&
               device_holds(d, (DType)v.tensor->dtype)) {
        Tensor *moved = device_move(&in->ctx, d, v.tensor);
        in->sp[-1] = v_tensor_raw(moved);
        tensor_release(&in->ctx, v.tensor);
    } else if (v.tag == V_TUPLE && place_elements(v)) {
        tuple_unshare(&in->ctx, &in->sp[-1].tuple);
        Tuple *t = in->sp[-1].tuple;
        for (uint32_t i = 0; i < t->count; i++) {
            Value item = t->items[i];
            t->items[i] = v_none();
            v_push(in, item);
            settle_top(in, d);
            t->items[i] = *--in->sp;
        }
    }
}

Value place_settle(Interp *in, Device *d, Value v)
{
    v_push(in, v);
    settle_top(in, d);
    return *--in->sp;
}
