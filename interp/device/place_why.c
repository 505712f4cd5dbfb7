/* What a device can do and what not, and why: rows that it lacks, dtypes that it does not hold,
 * arithmetic that it does not have. Asked before anything is copied or computed. */
#include "interp/device/place_door.h"

#include "interp/precision/autocast.h"
#include "interp/op/elementwise.h"
#include "interp/op/optable.h"
#include "interp/precision/precise.h"

#include <string.h>

DeviceForm op_device_form(const Op *op, const Device *d)
{
    DevStatus (*routine)(void) = NULL;
    if (d->caps & DEVCAP_GRID)
        return op->on_grid || op->routine || op->own_source ? op->on_grid : op->on_device;
    if (op->routine)
        memcpy(&routine, (const char *)d + op->routine, sizeof routine);
    return op->routine && !routine ? NULL : op->on_device;
}

DeviceForm op_entries_form(const Op *op, const Device *d)
{
    return d->caps & DEVCAP_SOURCE ? op->sparse_on_device : NULL;
}

/* ---- rows ---- */
/* The row that d has not, `op` or one that it stands on; NULL: none. */
static const char *missing_row(Interp *in, const Device *d, const Op *op)
{
    for (; op && d->lacks; op = op->stands_on ? op_named(in, op->stands_on) : NULL)
        if (device_lacks(d, op->name))
            return op->name;
    return NULL;
}

const char *place_lacked(Interp *in, const Device *d, const Op *op)
{
    if (d == in->ctx.devices->cpu || (op->devices & (DEV_ANYWHERE | DEV_HOST)))
        return NULL;
    const char *missing = missing_row(in, d, op);
    if (!missing && !(d->caps & DEVCAP_SIM) && op->cls != OPC_EW && !(op->devices & DEV_MAKES) &&
        !op_device_form(op, d))
        missing = op->name;
    return missing;
}

static Lack lacking(const Doing *g, const Device *d)
{
    if (!g->op)
        return (Lack){ LACK_NONE };
    const char *missing = place_lacked(g->in, d, g->op);
    const char *needs = !missing && g->op->needs ? g->op->needs(g->args, g->count) : NULL;
    if (needs)
        missing = missing_row(g->in, d, op_named(g->in, needs));
    return missing ? (Lack){ LACK_ROW, .row = missing } : (Lack){ LACK_NONE };
}

/* ---- scopes ---- */
/* Are operands rounded to the scope's format first? Rows that only move elements keep them. */
static bool rounds(const Doing *g)
{
    if (g->work)
        return !g->work->moves;
    return g->op->cls == OPC_EW || (g->op->autocast != AC_NONE && g->op->format != op_format_moves);
}

/* Has the scope a say in it: does it round, is it a product of an autocast with modifiers, or one
 * of i8? */
static bool scope_asks(const Doing *g, const Scope *s)
{
    if (!s || s->format != DT_NONE)
        return s && rounds(g);
    bool product = g->work ? g->work->product : g->op->autocast == AC_LOWER;
    if (product)
        return autocast_asks(s) || (s->autocast == DT_I8 && (g->work || g->op->eight));
    return g->op && g->op->autocast == AC_RAISE && s->reproducible;
}

static Lack scope_missing(const Doing *g, const Device *d)
{
    const Scope *s = g->in->scope;
    if (!scope_asks(g, s))
        return (Lack){ LACK_NONE };
    if (!(d->caps & DEVCAP_SIM))
        return (Lack){ LACK_SCOPES };
    DType format = scope_format(s), sum = s->accumulate_given ? s->accumulate : format;
    if (device_holds(d, format) && device_holds(d, sum))
        return (Lack){ LACK_NONE };
    return (Lack){ LACK_FORMAT, .dtype = device_holds(d, format) ? sum : format };
}

/* ---- dtypes ---- */
/* A dtype that the call states: DT_NONE if it does not. */
static DType stated(const Doing *g)
{
    int i = op_sig(g->in, g->op)->dtype;
    return i >= 0 && i < g->count && g->args[i].tag == V_FORMAT
           ? v_format_dtype(g->args[i]) : DT_NONE;
}

DType place_landing(const Doing *g, const Device *d, DType x)
{
    const Scope *s = precise_scope(g->in);
    char kind = dtype_info(x)->kind;
    if (dtype_cells(x) || device_holds(d, x))
        return x;
    if (g->op && (g->op->devices & DEV_CASTS))
        return stated(g) == DT_NONE ? x : stated(g);
    if (s)
        return !rounds(g) ? x : kind == 'f' ? s->format : kind == 'c'
               ? dtype_complex_of(s->format) : x;
    if (g->op && autocast_applies(g->in, g->op)) {
        DType to = autocast_dtype(g->op->autocast, autocast_format(g->in), x);
        if (to != x)
            return to;
    }
    return g->narrow && x == DT_F64 ? device_widest(d) : x;
}

static Lack held(const Doing *g, const Device *d, Value v)
{
    Lack why = { LACK_NONE };
    if (v.tag == V_TENSOR && v.tensor->rank > 0) {
        DType dt = (DType)v.tensor->dtype;
        if (dtype_cells(dt) || !device_holds(d, place_landing(g, d, dt)))
            why = (Lack){ LACK_DTYPE, .dtype = dt };
    }
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count && !why.kind; i++)
        why = held(g, d, v.tuple->items[i]);
    return why;
}

/* Are all numbers among the operands ints or bools? */
static bool whole(const Doing *g)
{
    bool some = false;
    for (int i = 0; i < g->count; i++) {
        DType dt = v_dtype(g->args[i]);
        char kind = dt == DT_NONE ? 0 : dtype_info(dt)->kind;
        if (kind == 'f' || kind == 'c' || kind == 'q')
            return false;
        some |= kind != 0 || g->args[i].tag == V_RANGE || g->args[i].tag == V_TUPLE;
    }
    return some;
}

static bool int_value(const EwVotes *v, int i, int64_t *value)
{
    const Doing *g = v->from;
    return v_as_int(g->args[i], value);
}

/* What an elementwise row gives, by the rules of dtypes; DT_NONE: an error that the row raises. */
static DType elementwise_result(const Doing *g, const Device *d)
{
    OpTable *table = g->in->ops;
    EwOp ew = g->op->ew;
    DTypeVote votes[3];
    EwVotes v = { .vote = votes, .real = DT_F64, .int_value = int_value, .from = g };
    if (g->count != ew_info[ew].arity)
        return DT_NONE;
    for (int i = 0; i < g->count; i++) {
        Value x = g->args[i];
        DType dt = x.tag == V_RANGE ? DT_I64 : v_dtype(x);
        if (dt == DT_NONE)
            return DT_NONE;
        bool scalar = x.tag != V_RANGE && (x.tag != V_TENSOR || x.tensor->rank == 0);
        votes[i] = (DTypeVote){ scalar ? dt : place_landing(g, d, dt), scalar, g->weak >> i & 1 };
    }
    DType dt = ew_dtype(table, ew, &v, g->count);
    if (dt == DT_NONE || dtype_foreign(dt) || dt == DT_RATIONAL)
        return dt;
    const Kernel *k = op_kernel(table, ew, dt);
    return k->fn ? (DType)k->result : DT_NONE;
}

/* The dtype of the result, as far as it is known beforehand; DT_NONE: not, or one of the
 * operands'. */
static DType result_dtype(const Doing *g, const Device *d, bool *said)
{
    *said = false;
    if (!g->op || g->work)
        return g->work ? g->work->dtype : DT_NONE;
    if (g->op->cls == OPC_EW)
        return precise_scope(g->in) ? DT_NONE : elementwise_result(g, d);
    DType dt = stated(g);
    *said = dt != DT_NONE;
    if (*said || precise_scope(g->in))
        return dt;
    if (g->op->devices & DEV_COMPLEX)
        return g->dtype == DT_F64 && !g->narrow ? DT_C128 : DT_C64;
    return (g->op->devices & DEV_FLOATS) && whole(g) ? DT_F64 : DT_NONE;
}

bool place_floats(const Doing *g, const Device *d)
{
    bool said;
    return g->narrow && !g->work && result_dtype(g, d, &said) == DT_F64 && !said &&
           !device_holds(d, DT_F64);
}

static Lack result_missing(const Doing *g, const Device *d)
{
    bool said;
    DType dt = result_dtype(g, d, &said);
    if (dt == DT_NONE || device_holds(d, dt) || (dt == DT_F64 && g->narrow && !said))
        return (Lack){ LACK_NONE };
    return (Lack){ said ? LACK_DTYPE : LACK_RESULT, .dtype = dt };
}

Lack place_cannot(const Doing *g, const Device *d)
{
    if (d == g->in->ctx.devices->cpu)
        return (Lack){ LACK_NONE };
    Lack why = lacking(g, d);
    if (!why.kind)
        why = scope_missing(g, d);
    for (int i = 0; i < g->count && !why.kind; i++)
        why = held(g, d, g->args[i]);
    return why.kind ? why : result_missing(g, d);
}

/* ---- shapes ---- */
void place_check_elementwise(const Doing *g)
{
    EwForm form;
    if (g->op->cls == OPC_EW && g->count == ew_info[g->op->ew].arity &&
        !precise_concerns(g->in, g->args, g->count))
        ew_form_any(g->in, g->op, g->args, g->count, g->weak, &form);
}

/* The length of axis `back` from the last one. */
static int64_t length(const Tensor *t, int back) { return tensor_shape(t)[t->rank - 1 - back]; }

bool place_lengths_meet(const Doing *g)
{
    bool product = g->op == op_operator(g->in, TK_MATMUL),
         solve = g->op == op_operator(g->in, TK_SOLVE);
    if ((!product && !solve) || g->count < 2 || !place_elements(g->args[0]) ||
        !place_elements(g->args[1]) || g->args[0].tag != V_TENSOR || g->args[1].tag != V_TENSOR)
        return true;
    const Tensor *a = g->args[0].tensor, *b = g->args[1].tensor;
    return length(a, solve && a->rank > 1) == length(b, b->rank > 1);
}

bool place_product(const Doing *g, const Device *d)
{
    int factors = 0;
    bool product = g->work ? g->work->product : g->op->autocast == AC_LOWER;
    for (int i = 0; i < g->count; i++)
        factors += g->args[i].tag == V_TENSOR;
    return d->product != DT_NONE && product && factors > 1;
}
