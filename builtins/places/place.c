/* Devices as values: devices, device, to, simulate. What runs on them is the door's business
 * (interp/device/place.h), what they are kernels/device/device.h's; the text of devices() is
 * place_facts.c's. */
#include "builtins/rows/rows.h"
#include "interp/show/place_facts.h"

#include "core/system/ascii.h"
#include "core/base/error.h"
#include "interp/op/arith.h"
#include "interp/device/place.h"
#include "kernels/sparse/sparse.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- which ---- */
Value op_run_devices(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    uint32_t n = 0;
    devices_probe(ctx);
    for (Device *d = ctx->devices->first; d; d = d->next)
        n++;
    Tuple *t = tuple_new(ctx, n);
    n = 0;
    for (Device *d = ctx->devices->first; d; d = d->next)
        t->items[n++] = place_listed(d);
    return v_tuple(t);
}

/* The device of a text, perhaps one that is not there. */
static Device *text_device(OpCall *c, int i)
{
    Ctx *ctx = &c->in->ctx;
    const Str *s = arg_str(c, i);
    Device *d = device_named(ctx, s->text);
    if (d)
        return d;
    char help[160];
    const char *close = device_closest(ctx, s->text);
    snprintf(help, sizeof help, "did you mean \"%s\"?", close ? close : "");
    arg_error_help(c, i, ERR_DEVICE, close ? help : "print(devices()) shows all",
                   "there is no device \"%.60s\"", s->text);
}

Value op_run_device(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    Value v = c->args[0];
    char given[96];
    if (v.tag == V_DEVICE)
        return v_device(v.device);
    if (v.tag == V_STRING)
        return v_device(text_device(c, 0));
    if (v.tag == V_TENSOR)
        return v_device(tensor_device(ctx, v.tensor));
    if (!v_is_numeric(v) && v.tag != V_RANGE)
        arg_error(c, 0, ERR_TYPE, "only tensors are on a device, not %s",
                  v_article(v, given, sizeof given));
    return v_device(ctx->devices->cpu);
}

/* ---- moving ---- */
Device *arg_device(OpCall *c, int i)
{
    Value v = c->args[i];
    char given[96];
    if (v.tag != V_DEVICE && v.tag != V_STRING)
        arg_error_help(c, i, ERR_TYPE, "devices are cpu, gpu, sim.mps, device(\"cuda:1\"); "
                                       "print(devices()) shows all",
                       "device must be a device, not %s", v_article(v, given, sizeof given));
    Device *d = v.tag == V_DEVICE ? v.device : text_device(c, i);
    Device *real = device_real(&c->in->ctx, d);
    if (!real)
        place_raise_absent(c->in, d, c->operand ? c->operand[i] : i, false);
    device_open(&c->in->ctx, real);
    return real;
}

_Noreturn static void not_held(OpCall *c, const Tensor *t, const Device *d)
{
    DType dt = (DType)t->dtype;
    const char *text = arg_text(c, 0), *inner = c->args[0].tag == V_TUPLE ? "a tensor in " : "";
    char help[160], device[64];
    snprintf(help, sizeof help, "to(f32(%s), %s)", text,
             device_expression(d, device, sizeof device));
    bool f32 = dt == DT_F64 && device_holds(d, DT_F32) && c->args[0].tag == V_TENSOR;
    if (dtype_foreign(dt) || dtype_cells(dt))
        arg_error(c, 0, ERR_DEVICE, "%s%s is %s, whose numbers stay on the cpu", inner, text,
                  dtype_name(dt));
    arg_error_help(c, 0, ERR_DEVICE, f32 ? help : NULL, "%s%s is %s, and %s has no %s", inner, text,
                   dtype_name(dt), d->name, dtype_name(dt));
}

static Value move(OpCall *c, Value v, Device *d);

static Value move_tuple(OpCall *c, const Tuple *from, Device *d)
{
    Interp *in = c->in;
    Tuple *t = tuple_new(&in->ctx, from->count);
    op_root(c, v_tuple(t));
    for (uint32_t i = 0; i < from->count; i++) {
        t->items[i] = move(c, from->items[i], d);
        if (from->names && from->names[i])
            tuple_name(&in->ctx, t, i, from->names[i]);
    }
    return v_retain(v_tuple(t));
}

static Value move(OpCall *c, Value v, Device *d)
{
    Ctx *ctx = &c->in->ctx;
    if (v.tag == V_TUPLE)
        return move_tuple(c, v.tuple, d);
    if (v.tag == V_RANGE)
        v = op_root(c, v_tensor_raw(v_to_tensor(c->in, v, 0)));
    if (v.tag != V_TENSOR || (v.tensor->rank == 0 && !v.tensor->buffer->device))
        return v_retain(v);
    if (d != ctx->devices->cpu && tensor_sparse(v.tensor))
        arg_error_help(c, 0, ERR_DEVICE, "to(dense(S), device); blocks `on` one take it as it is",
                       "sparse matrices are on the cpu, and %s is one", arg_text(c, 0));
    if (d != ctx->devices->cpu &&
        (dtype_cells((DType)v.tensor->dtype) || !device_holds(d, (DType)v.tensor->dtype)))
        not_held(c, v.tensor, d);
    return v_tensor_raw(device_move(ctx, d, v.tensor));
}

Value op_run_to(OpCall *c)
{
    char given[96];
    Value v = c->args[0];
    Device *d = arg_device(c, 1);
    if (!v_is_numeric(v) && v.tag != V_RANGE && v.tag != V_TUPLE)
        arg_error(c, 0, ERR_TYPE, "only tensors are on a device, not %s",
                  v_article(v, given, sizeof given));
    return move(c, v, d);
}

/* ---- grids of processes ---- */
Value op_run_release(OpCall *c)
{
    char given[96];
    Value v = c->args[0];
    Device *d = v.tag == V_DEVICE ? device_real(&c->in->ctx, v.device) : NULL;
    if (v.tag != V_DEVICE)
        arg_error_help(c, 0, ERR_TYPE, "release(mpi(2, 2))", "device must be a device, not %s",
                       v_article(v, given, sizeof given));
    if (d && d->ops->give_back)
        d->ops->give_back(&c->in->ctx, d);
    return v_none();
}

/* ---- making ---- */
enum { SIM_NAME, SIM_DTYPES, SIM_LACKS, SIM_MEMORY, SIM_BANDWIDTH, SIM_LATENCY, SIM_LAUNCH };

/* What devices hold: all but numbers of formats that have kernels of their own. */
static uint32_t all_dtypes(void)
{
    uint32_t bits = 0;
    for (DType dt = DT_BOOL; dt <= DT_C128; dt++)
        bits |= 1u << dt;
    return bits;
}

static uint32_t read_dtype(OpCall *c, Value v)
{
    char given[96];
    DType dt = v.tag == V_FORMAT ? v_format_dtype(v) : DT_NONE;
    if (v.tag == V_STRING)
        dt = dtype_find(v.str->text, v.str->len);
    if (dt == DT_NONE)
        arg_error_help(c, SIM_DTYPES, ERR_TYPE, "dtypes=[f32, i64, bool]",
                       "dtypes must be dtypes, not %s", v_article(v, given, sizeof given));
    if (dt > DT_C128)
        arg_error(c, SIM_DTYPES, ERR_VALUE,
                  "%s has no kernels of its own: devices hold bool, ints, f16 bf16 f32 f64 "
                  "c64 c128", dtype_name(dt));
    return 1u << dt;
}

static uint32_t read_dtypes(OpCall *c)
{
    if (!arg_given(c, SIM_DTYPES))
        return all_dtypes();
    Value v = c->args[SIM_DTYPES];
    uint32_t bits = 0;
    if (v.tag != V_TUPLE)
        bits = read_dtype(c, v);
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        bits |= read_dtype(c, v.tuple->items[i]);
    if (!(bits & (1u << DT_F32 | 1u << DT_F64)))
        arg_error_help(c, SIM_DTYPES, ERR_VALUE, "dtypes=[f32, …]",
                       "a device holds f32 or f64: tensors made there without a dtype are its "
                       "widest float");
    return bits;
}

/* The row of that name or operator. */
static const char *lacked_row(OpCall *c, Value v)
{
    char given[96], help[96];
    if (v.tag == V_OP)
        return v.op->name;
    if (v.tag != V_STRING)
        arg_error_help(c, SIM_LACKS, ERR_TYPE, "lacks=[\"solve\", \"svd\"]",
                       "lacks must be names of operations, not %s",
                       v_article(v, given, sizeof given));
    const Name *name = names_find(&c->in->names, v.str->text, v.str->len);
    if (name && op_find(c->in, name))
        return op_find(c->in, name)->name;
    for (int i = 0; i < op_count(c->in); i++)
        if (op_row(c->in, i)->infix && strcmp(op_row(c->in, i)->infix, v.str->text) == 0)
            return op_row(c->in, i)->name;
    const char *close = op_closest(c->in, v.str->text);
    snprintf(help, sizeof help, "did you mean \"%s\"?", close ? close : "");
    arg_error_help(c, SIM_LACKS, ERR_VALUE, close ? help : NULL, "there is no operation \"%.40s\"",
                   v.str->text);
}

/* The k-th of lacks=, or NULL after the last. */
static const char *lacked(OpCall *c, uint32_t k)
{
    Value v = c->args[SIM_LACKS];
    if (!arg_given(c, SIM_LACKS))
        return NULL;
    if (v.tag != V_TUPLE)
        return k == 0 ? lacked_row(c, v) : NULL;
    return k < v.tuple->count ? lacked_row(c, v.tuple->items[k]) : NULL;
}

static double read_amount(OpCall *c, int i, double fallback, bool zero)
{
    if (!arg_given(c, i))
        return fallback;
    double x = arg_float(c, i);
    if (!(x > 0 || (zero && x == 0)) || isinf(x))
        arg_error(c, i, ERR_VALUE, "%s is %g but must be %s", arg_name(c, i), x,
                  isinf(x) ? "finite" : zero ? "zero or more" : "more than zero");
    return x;
}

/* "toy" or "sim.toy" as the device's name. */
static void read_name(OpCall *c, char *out, size_t cap)
{
    const Str *s = arg_str(c, SIM_NAME);
    const char *name = strncmp(s->text, "sim.", 4) == 0 ? s->text + 4 : s->text;
    bool good = ascii_alpha(name[0]) || name[0] == '_';
    for (const char *p = name; *p; p++)
        good &= ascii_alnum(*p) || *p == '_';
    if (!good || strlen(name) != s->len - (size_t)(name - s->text) || strlen(name) > 28)
        arg_error_help(c, SIM_NAME, ERR_VALUE, "simulate(\"toy\") is sim.toy",
                       "\"%.40s\" is no name of a device: up to 28 letters, digits and _", s->text);
    if (strcmp(name, "mps") == 0 || strcmp(name, "tpu") == 0)
        arg_error_help(c, SIM_NAME, ERR_VALUE, "simulate(\"toy\") is sim.toy",
                       "sim.%s is always there and stays as it is", name);
    snprintf(out, cap, "sim.%s", name);
}

/* Everything is read and checked before a device is made or changed. */
Value op_run_simulate(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    char name[48];
    uint32_t lacks = 0;
    read_name(c, name, sizeof name);
    uint32_t dtypes = read_dtypes(c);
    while (lacked(c, lacks))
        lacks++;
    double memory = read_amount(c, SIM_MEMORY, 0, false);
    DevModel model = { .bandwidth = read_amount(c, SIM_BANDWIDTH, 10e9, false),
                       .latency = read_amount(c, SIM_LATENCY, 10e-6, true),
                       .launch = read_amount(c, SIM_LAUNCH, 5e-6, true),
                       .memory_bandwidth = 100e9, .flops = 2e12 };
    Device *d = device_find(ctx, name);
    if (!d)
        d = device_add(ctx, &sim_ops, name);
    d->caps = DEVCAP_SIM;
    d->state = ctx;
    d->dtypes = dtypes;
    d->memory = memory < 1e18 ? (size_t)memory : 0;
    d->model = model;
    const char **list = device_set_lacks(ctx, d, lacks);
    for (uint32_t i = 0; i < lacks; i++)
        list[i] = lacked(c, i);
    return v_device(d);
}
