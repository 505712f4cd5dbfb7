/* Nests with tensors of the language as operands: see place_nest.h. Nothing here decides where
 * something runs. */
#include "interp/device/place_nest.h"
#include "interp/state/kind.h"

#include "core/base/error.h"

#include <stdio.h>
#include <string.h>

static void nest_object_free(Ctx *ctx, Native *native)
{
    PlaceNest *n = (PlaceNest *)native;
    nest_free(ctx, n->nest);
    mem_free(ctx, n, sizeof *n);
}

static const Kind nest_kind = { .release = nest_object_free };

PlaceNest *place_nest_new(Interp *in, Device *d)
{
    PlaceNest *n = mem_zalloc(&in->ctx, sizeof *n);
    n->native = (Native){ .refs = 1, .kind = &nest_kind };
    n->in = in;
    n->device = d;
    v_push(in, (Value){ .tag = V_POINTER, .ptr = n });
    n->nest = nest_new(&in->ctx);
    return n;
}

void place_nest_axes(PlaceNest *n, int rank, const int64_t *shape)
{
    for (int i = 0; i < rank; i++) {
        char name[16];
        snprintf(name, sizeof name, "i%d", i);
        nest_index(n->nest, name, shape[i], 0, 1);
    }
    n->nest->out_rank = rank;
}

static int new_slot(PlaceNest *n, DType dt)
{
    if (n->nest->slots == PLACE_SLOTS)
        err_raise(&n->in->ctx, ERR_VALUE, "an operation on %s has at most %d operands",
                  n->device->name, PLACE_SLOTS);
    int slot = nest_slot(n->nest);
    n->dtype[slot] = dt;
    return slot;
}

int place_nest_load(PlaceNest *n, Tensor *t, const int64_t *stride, int count)
{
    Ctx *ctx = &n->in->ctx;
    int slot = new_slot(n, (DType)t->dtype);
    n->tensor[slot] = t;
    NestLoad *load = nest_load_new(ctx, n->nest, slot, (DType)t->dtype, "x");
    for (int i = 0; i < count; i++)
        load->stride[i] = stride[i];
    return nest_load(ctx, n->nest);
}

int place_nest_table(PlaceNest *n, Tensor *t, const int64_t *stride, int count, Tensor *table,
                     int first, int64_t step)
{
    Ctx *ctx = &n->in->ctx;
    int slot = new_slot(n, (DType)t->dtype), at = new_slot(n, DT_I64);
    n->tensor[slot] = t;
    n->tensor[at] = table;
    NestLoad *load = nest_load_new(ctx, n->nest, slot, (DType)t->dtype, "x");
    for (int i = 0; i < count; i++)
        load->stride[i] = stride[i];
    NestGather *g = nest_gather_new(ctx, load, at, step);
    for (int i = 0; i < table->rank; i++)
        g->stride[first + i] = tensor_strides(table)[i];
    return nest_load(ctx, n->nest);
}

int place_nest_broadcast(PlaceNest *n, Tensor *t, int rank)
{
    int64_t stride[NEST_INDICES] = { 0 };
    for (int a = 0; a < t->rank; a++)
        stride[rank - t->rank + a] = tensor_shape(t)[a] == 1 ? 0 : tensor_strides(t)[a];
    return place_nest_load(n, t, stride, rank);
}

int place_nest_const(PlaceNest *n, DType dt, const void *cell)
{
    int slot = new_slot(n, dt);
    memcpy(n->cell[slot], cell, dtype_info(dt)->bytes);
    return nest_const(&n->in->ctx, n->nest, slot, dt, false);
}

int place_nest_int(PlaceNest *n, int64_t value, DType dt)
{
    _Alignas(16) char cell[ELEMENT_BYTES_MAX] = { 0 };
    cast_run(dt, cell, 1, DT_I64, &value, 1, 1);
    return place_nest_const(n, dt, cell);
}

int place_nest_float(PlaceNest *n, double value, DType dt)
{
    _Alignas(16) char cell[ELEMENT_BYTES_MAX] = { 0 };
    cast_run(dt, cell, 1, DT_F64, &value, 1, 1);
    return place_nest_const(n, dt, cell);
}

int place_nest_ew(PlaceNest *n, EwOp op, DType compute, int a, int b)
{
    return nest_ew(&n->in->ctx, n->nest, op, compute, (int[]){ a, b }, b < 0 ? 1 : 2);
}

/* ---- running ---- */
/* Every dtype on the way must be the device's: kernels have no other way to compute it. */
static bool holds_all(const PlaceNest *n)
{
    for (int i = 0; i < n->nest->nodes; i++) {
        DType dt = (DType)n->nest->node[i].dtype;
        if (!device_holds(n->device, dt)) {
            place_refuse(n->in, (Lack){ LACK_DTYPE, .dtype = dt });
            return false;
        }
    }
    return true;
}

bool place_nest_takes(PlaceNest *n)
{
    return holds_all(n) && gpu_takes(n->device, n->nest, &n->in->lack);
}

Tensor *place_new(Interp *in, Device *d, DType dt, int rank, const int64_t *shape)
{
    Tensor *t = device_tensor_new(&in->ctx, d, dt, rank, shape);
    v_push(in, v_tensor_raw(t));
    return t;
}

DevArg place_operand(Interp *in, Device *d, Tensor *t)
{
    DevArg a = { .bytes = 0 };
    a.mem = device_ensure(&in->ctx, d, t, &a.at);
    return a;
}

void place_hold(Interp *in, Device *d, Tensor *const *t, int n)
{
    for (int i = 0; i < n; i++)
        if (t[i] && t[i]->size && !device_has(d, t[i]))
            err_raise(&in->ctx, ERR_MEMORY, "the operands do not fit %s together", d->name);
}

/* Tables of positions, which a grid of processes is told as part of a command. */
static void tables_told(const PlaceNest *n, DevArg *data)
{
    for (int k = 0; k < n->nest->loads; k++)
        for (int g = 0; g < n->nest->load[k].gathers; g++) {
            int slot = n->nest->load[k].gather[g].slot;
            tensor_home(&n->in->ctx, n->tensor[slot]);
            data[slot] = (DevArg){ .value = n->tensor[slot]->data };
        }
}

EwTrouble place_nest_into(PlaceNest *n, Tensor *out)
{
    Interp *in = n->in;
    DevArg data[PLACE_SLOTS], to = place_operand(in, n->device, out);
    memset(data, 0, sizeof data);
    if (n->device->caps & DEVCAP_GRID)
        tables_told(n, data);
    for (int s = 0; s < n->nest->slots; s++)
        if (data[s].value)
            n->tensor[s] = NULL;
        else if (n->tensor[s])
            data[s] = place_operand(in, n->device, n->tensor[s]);
        else
            data[s] = (DevArg){ .value = n->cell[s], .bytes = dtype_info(n->dtype[s])->bytes };
    place_hold(in, n->device, n->tensor, n->nest->slots);
    return gpu_nest(&in->ctx, n->device, n->nest,
                    out->rank ? tensor_strides(out) : NULL, &to, data);
}

Tensor *place_nest_run(PlaceNest *n, int rank, const int64_t *shape, EwTrouble *trouble)
{
    DType dt = (DType)n->nest->node[n->nest->root].dtype;
    Tensor *out = place_new(n->in, n->device, dt, rank, shape);
    *trouble = out->size ? place_nest_into(n, out) : EWT_NONE;
    poll_interrupt(n->in);
    return out;
}

Value place_value(Interp *in, Tensor *t)
{
    _Alignas(16) char cell[ELEMENT_BYTES_MAX];
    if (t->rank > 0)
        return v_tensor_raw(tensor_retain(t));
    device_get_element(&in->ctx, t, t->data, cell);
    return v_element(&in->ctx, (DType)t->dtype, cell);
}
