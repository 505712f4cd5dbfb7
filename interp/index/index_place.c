/* Indexing inside device blocks. Slices and single elements never come here: a slice of a tensor
 * that is elsewhere is a view, an element is fetched alone (index.c). Picking by index tensors and
 * masks is work of the block's device; a store happens where the target's elements are, in the
 * device's memory on simulations, at home elsewhere. */
#include "interp/index/index.h"

#include "interp/device/place.h"
#include "interp/device/place_nest.h"
#include "interp/sparse/sparse_door.h"

#include <string.h>

static const char STORE[] = "the store";

/* subscripts that selection_make lets pass, and more */
enum { PARTS = 2 * TENSOR_RANK_MAX + 4 };

static bool picks(const Sub *s)
{
    return s->kind == SUB_VALUE &&
           ((s->v.tag == V_TENSOR && s->v.tensor->rank > 0) || s->v.tag == V_TUPLE ||
                                    s->v.tag == V_RANGE);
}

bool index_picks(const Sub *subs, int n)
{
    for (int i = 0; i < n; i++)
        if (picks(&subs[i]))
            return true;
    return false;
}

/* ---- picking ---- */
typedef struct Picking {
    const Sub *subs;
    int n;
} Picking;

/* The subscripts with the values that the work was given. */
static void subs_given(const Picking *p, const Value *args, Sub *subs)
{
    memcpy(subs, p->subs, (size_t)p->n * sizeof *subs);
    for (int i = 0; i < p->n; i++)
        if (subs[i].kind == SUB_VALUE)
            subs[i].v = args[1 + i];
}

static Value pick_here(Interp *in, const Value *args, void *data)
{
    Sub subs[PARTS];
    subs_given(data, args, subs);
    return index_pick(in, args[0].tensor, subs, ((Picking *)data)->n);
}

/* The list's offsets from the least of them, which `least` gets: a negative position would be
 * none. */
static Tensor *offsets_tensor(Interp *in, const Selection *sel, int64_t *least)
{
    Tensor *t = tensor_new(&in->ctx, DT_I64, 1, &sel->points);
    v_push(in, v_tensor_raw(t));
    *least = 0;
    for (int64_t i = 0; i < sel->points; i++)
        *least = sel->offsets[i] < *least ? sel->offsets[i] : *least;
    for (int64_t i = 0; i < sel->points; i++)
        ((int64_t *)t->data)[i] = sel->offsets[i] - *least;
    return t;
}

/* The root: an element of base at the selection's first one, moved by strides and by the list. */
static void gather_load(PlaceNest *n, Tensor *base, const Selection *sel,
                        const int64_t *stride, int rank)
{
    Ctx *ctx = &n->in->ctx;
    DType dt = (DType)base->dtype;
    int from = nest_slot(n->nest), list = nest_slot(n->nest);
    int64_t least;
    n->tensor[list] = offsets_tensor(n->in, sel, &least);
    char *at = base->data + (sel->offset + least) * dtype_info(dt)->bytes;
    Tensor *first = tensor_view(ctx, base, 0, NULL, NULL, at);
    v_push(n->in, v_tensor_raw(first));
    n->tensor[from] = first;
    n->dtype[from] = dt;
    n->dtype[list] = DT_I64;
    NestLoad *load = nest_load_new(ctx, n->nest, from, dt, "x");
    memcpy(load->stride, stride, (size_t)rank * sizeof *stride);
    nest_gather_new(ctx, load, list, 1)->stride[sel->before] = 1;
    n->nest->root = nest_load(ctx, n->nest);
}

/* The positions are found on the host; the elements are gathered there by one kernel, whose
 * indices are the sliced axes before, the points, and the sliced axes after. */
static Value gather_there(Interp *in, Device *d, Tensor *base, const Selection *sel)
{
    PlaceNest *n = place_nest_new(in, d);
    int64_t shape[TENSOR_RANK_MAX + 1], stride[TENSOR_RANK_MAX + 1];
    int rank = 0;
    for (int i = 0; i < sel->rank; i++) {
        if (i == sel->before) {
            shape[rank] = sel->points;
            stride[rank++] = 0;
        }
        if (i >= sel->before && i < sel->before + sel->broad)
            continue;
        shape[rank] = sel->shape[i];
        stride[rank++] = sel->strides[i];
    }
    if (sel->before == sel->rank) {
        shape[rank] = sel->points;
        stride[rank++] = 0;
    }
    place_nest_axes(n, rank, shape);
    gather_load(n, base, sel, stride, rank);
    if (!place_nest_takes(n))
        return v_undef();
    EwTrouble trouble;
    Tensor *out = place_nest_run(n, rank, shape, &trouble);
    int64_t strides[TENSOR_RANK_MAX], step = 1;
    for (int i = sel->rank - 1; i >= 0; step *= sel->shape[i], i--)
        strides[i] = step;
    return v_tensor_raw(tensor_view(&in->ctx, out, sel->rank, sel->shape, strides, out->data));
}

static Value pick_there(Interp *in, Device *d, const Value *args, void *data)
{
    Sub subs[PARTS];
    Selection sel;
    Value *mark = in->sp;
    subs_given(data, args, subs);
    if (args[0].tensor->rank == TENSOR_RANK_MAX)
        return place_refuse(in, (Lack){ LACK_AXES });
    selection_make(in, &sel, args[0].tensor, subs, ((Picking *)data)->n);
    Value r = sel.fancy ? gather_there(in, d, args[0].tensor, &sel)
                        : selection_view(in, args[0].tensor, &sel);
    stack_cut(in, mark);
    return r;
}

Value index_get_asked(Interp *in, Tensor *base, const Sub *subs, int n)
{
    if (n > PARTS - 1)
        n = PARTS - 1;                         /* still more than any tensor has axes: raises */
    Value args[PARTS];
    Picking p = { subs, n };
    args[0] = v_tensor_raw(base);
    for (int i = 0; i < n; i++)
        args[1 + i] = subs[i].kind == SUB_VALUE ? subs[i].v : v_none();
    return work_call(in,
                     &(Work){ .name = "indexing", .dtype = DT_NONE, .moves = true, .run = pick_here,
                                  .sparse = pick_here, .form = pick_there,
                                  .data = &p }, args, 1 + n);
}

/* ---- storing ---- */
/* The device in whose memory the target is written: a simulation that the block is on, where the
 * elements are valid, and that holds all that takes part. */
static Device *store_device(Interp *in, Value target, const Sub *subs, int n, Value v)
{
    Device *d = place_device(in);
    if (!d || !(d->caps & DEVCAP_SIM) || target.tag != V_TENSOR || !device_has(d, target.tensor))
        return NULL;
    for (int i = 0; i < n; i++)
        if (subs[i].kind == SUB_VALUE && subs[i].v.tag == V_TENSOR && subs[i].v.tensor->rank &&
            !device_holds(d, (DType)subs[i].v.tensor->dtype))
            return NULL;
    if (v.tag == V_TENSOR)
        return device_holds(d, (DType)v.tensor->dtype) ? d : NULL;
    return v_dtype(v) == DT_F64 && dtype_info((DType)target.tensor->dtype)->kind != 'f' &&
                   dtype_info((DType)target.tensor->dtype)->kind != 'c' && !device_holds(d, DT_F64)
               ? NULL
               : d;
}

static Value operand_there(Interp *in, Device *d, Value v, int operand)
{
    bool array = v.tag == V_TENSOR && v.tensor->rank > 0;
    if (in->place->strict && array && v.tensor->size && !device_has(d, v.tensor))
        place_strict_copy(in, in->place, STORE, operand, v_dtype(v),
                          tensor_device(&in->ctx, v.tensor));
    Value there = array ? place_shadow(in, d, v) : v_retain(v);
    v_push(in, there);
    return there;
}

/* The store itself, on shadows. The target's own memory is written where nobody else sees it (it
 * counts as written before: an interrupt may leave it half done), else a copy of it there. */
static void store_shadow(Interp *in, Device *d, Value *slot, Value *target, const Sub *subs,
                         int n, Value v)
{
    Ctx *ctx = &in->ctx;
    DeviceBlock *place = in->place;
    Tensor *t = slot->tensor, *shadow = target->tensor;
    bool over = tensor_sole(t);
    if (over)
        device_wrote(ctx, d, t);
    else {
        target->tensor = tensor_copy(ctx, shadow);
        tensor_release(ctx, shadow);
    }
    in->place = NULL;
    tensor_store_over(in, target, subs, n, v);
    in->place = place;
    if (over && target->tensor == shadow)
        return;
    Tensor *fresh = target->tensor;
    *target = v_none();
    *slot = v_tensor_raw(sim_take(ctx, d, fresh));
    if (slot->tensor->dtype == t->dtype)
        device_same_home(ctx, slot->tensor, t);
    tensor_release(ctx, t);
}

static void store_there(Interp *in, Device *d, Value *slot, const Sub *subs, int n, Value v)
{
    Sub there[PARTS];
    Value *mark = in->sp;
    memcpy(there, subs, (size_t)n * sizeof *there);
    for (int i = 0; i < n; i++)
        if (subs[i].kind == SUB_VALUE)
            there[i].v = operand_there(in, d, subs[i].v, i + 1);
    v = operand_there(in, d, v, n + 1);
    Value *target = in->sp;
    v_push(in, v_tensor_raw(sim_shadow(&in->ctx, d, slot->tensor)));
    store_shadow(in, d, slot, target, there, n, v);
    place_ran(in, &(PlaceRun){ .name = STORE, .device = d, .dtype = (DType)slot->tensor->dtype,
                               .seconds = device_model_seconds(d, 0, 0) });
    stack_cut(in, mark);
}

/* Entries are at home, and stay what they are. */
static void operand_home(Interp *in, Value v)
{
    if (!v_sparse(v))
        place_home(in, v);
}

static void operands_home(Interp *in, const Sub *subs, int n, Value v)
{
    for (int i = 0; i < n; i++)
        if (subs[i].kind == SUB_VALUE)
            operand_home(in, subs[i].v);
    operand_home(in, v);
}

bool index_store_placed(Interp *in, Value *slot, const Sub *subs, int n, Value v)
{
    Device *d = n < PARTS ? store_device(in, *slot, subs, n, v) : NULL;
    if (d) {
        store_there(in, d, slot, subs, n, v);
        return true;
    }
    if (index_store_grid(in, slot, subs, n, v))
        return true;
    if (in->place && in->place->strict && slot->tag == V_TENSOR && tensor_away(slot->tensor))
        place_strict_missing(in, in->place, STORE, slot, 1, &(Lack){ LACK_STORE });
    operands_home(in, subs, n, v);
    return false;
}

DeviceBlock *index_update_home(Interp *in, Value *slot, const Sub *subs, int n, Value v)
{
    DeviceBlock *place = in->place;
    if (place && place->strict && tensor_away(slot->tensor))
        place_strict_missing(in, place, STORE, slot, 1, &(Lack){ LACK_STORE });
    operands_home(in, subs, n, v);
    operand_home(in, *slot);
    in->place = NULL;
    return place;
}
