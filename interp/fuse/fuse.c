/* Lazy values (fuse.h): settling an operation, running a chain, and running it operation by
 * operation where that is what shows: a single operation, or a chain whose nan deserves the
 * notice of one operation in it. Plans come from fuse_plan.c. */
#include "interp/fuse/fuse.h"
#include "interp/lower/sites.h"

#include "core/base/error.h"
#include "interp/door/pipeline.h"
#include "interp/op/elementwise.h"
#include "interp/op/scalar.h"
#include "interp/state/kind.h"
#include "interp/state/exec.h"
#include "kernels/plan/plan.h"

#include <math.h>
#include <string.h>

enum { CHECK_BYTES = 1 << 28 };        /* from here on what is asked for may not be there */

static Value v_lazy(Lazy *z) { return (Value){ .tag = V_LAZY, .ptr = z }; }

/* ---- making one ---- */
static size_t lazy_bytes(int rank)
{
    return sizeof(Lazy) + 2 * (size_t)rank * sizeof(int64_t);
}

static void lazy_release(Ctx *ctx, Native *native)
{
    Lazy *z = (Lazy *)native;
    for (int i = 0; i < z->n; i++)
        v_release(ctx, z->args[i]);
    mem_free(ctx, z, lazy_bytes(z->head.rank));
}

static const Kind lazy_kind = { .release = lazy_release };

static bool has_kind(DType dt, char kind) { return dtype_info(dt)->kind == kind; }

/* x^2 makes no nan of a number. */
static bool whole_power(const Op *op, const EwForm *f)
{
    double y;
    if (op->ew != EW_POWER || !f->scalar[1])
        return false;
    y = element_f64(f->compute, f->cell[1]);
    return y == floor(y) && isfinite(y);
}

/* Can it make the nan that its row has a notice about? */
static bool notices(const Op *op, const EwForm *f)
{
    return (op->traits & TRAIT_NAN_NOTICE) && has_kind(f->compute, 'f') && !whole_power(op, f);
}

/* Takes the values at args from the top of the stack. */
static Lazy *lazy_new(Interp *in, const Exec *x, const Op *op, Value *args, int n, unsigned weak,
                      const EwForm *f)
{
    Lazy *z = mem_alloc(&in->ctx, lazy_bytes(f->rank));
    *z = (Lazy){ .native = { .refs = 1, .kind = &lazy_kind }, .op = op, .at = x,
                 .n = (uint8_t)n, .compute = (uint8_t)f->compute, .weak = (uint8_t)weak,
                 .watch = notices(op, f), .ops = 1,
                 .head = { .refs = 1, .dtype = f->result, .rank = (uint8_t)f->rank,
                           .size = f->size } };
    z->notice = z->watch;
    for (int i = 0; i < n; i++) {
        z->args[i] = args[i];
        memcpy(z->cell[i], f->cell[i], sizeof z->cell[i]);
        if (args[i].tag == V_LAZY) {
            const Lazy *y = lazy_of(args[i]);
            z->notice |= y->notice;
            z->ops += y->ops;
            z->leaves += y->leaves;
        } else {
            z->leaves += !f->scalar[i];
        }
    }
    int64_t stride = 1;
    for (int i = f->rank - 1; i >= 0; i--) {
        z->head.dims[i] = f->shape[i];
        z->head.dims[f->rank + i] = stride;
        stride *= f->shape[i];
    }
    in->sp = args;
    return z;
}

/* ---- operation by operation ---- */
/* One operation at its own place, as it would have run without fusion. */
static Value run_one(Interp *in, const Lazy *z, const Value *args, unsigned reuse)
{
    in->at = z->at;
    return op_call_over(in, z->op, args, z->n, z->weak, reuse);
}

Value fuse_run_apart(Interp *in, const Lazy *z)
{
    Value *mark = in->sp;
    unsigned reuse = 0;
    for (int i = 0; i < z->n; i++) {
        bool lazy = z->args[i].tag == V_LAZY;
        Value v = lazy ? fuse_run_apart(in, lazy_of(z->args[i])) : v_retain(z->args[i]);
        v_push(in, v);
        reuse |= lazy ? 1u << i : 0;
    }
    Value r = run_one(in, z, mark, reuse);
    stack_drop(in, mark);
    return r;
}

/* An operation that is a chain by itself: its operands, no longer needed, are let go. */
static Value run_single(Interp *in, Lazy *z)
{
    Value *mark = in->sp;
    unsigned reuse = 0;
    for (int i = 0; i < z->n; i++) {
        v_push(in, z->args[i]);
        reuse |= z->args[i].tag == V_TENSOR ? 1u << i : 0;
        z->args[i] = v_none();
    }
    Value r = run_one(in, z, mark, reuse);
    stack_drop(in, mark);
    return r;
}

/* ---- in one pass ---- */
static uint32_t holds(const Lazy *z, const Tensor *t)
{
    uint32_t held = 0;
    for (int i = 0; i < z->n; i++)
        if (z->args[i].tag == V_LAZY)
            held += holds(lazy_of(z->args[i]), t);
        else
            held += z->args[i].tag == V_TENSOR && z->args[i].tensor == t;
    return held;
}

/* Is every part of the chain held once? Of one that stands in it twice, or that somebody else has,
 * `holds` says nothing. */
static bool only_here(const Lazy *z)
{
    bool only = z->native.refs == 1;
    for (int i = 0; i < z->n && only; i++)
        only = z->args[i].tag != V_LAZY || only_here(lazy_of(z->args[i]));
    return only;
}

const Tensor *fuse_head(Value v) { return &lazy_of(v)->head; }

uint32_t fuse_holds(Value v, const Tensor *t)
{
    return only_here(lazy_of(v)) ? holds(lazy_of(v), t) : 0;
}

/* A leaf under z that nobody but the chain holds and that the result can be written over: at each
 * place every element is read before the result's is written. */
static Tensor *spent_leaf(const Lazy *chain, const Lazy *z)
{
    const Tensor *head = &chain->head;
    for (int i = 0; i < z->n; i++) {
        Value v = z->args[i];
        if (v.tag == V_TENSOR &&
            ew_fits(v.tensor, (DType)head->dtype, head->rank, tensor_shape(head)) &&
            (v.tensor->refs == 1 ||
             (v.tensor->refs == holds(chain, v.tensor) && only_here(chain))))
            return tensor_retain(v.tensor);
        Tensor *t = v.tag == V_LAZY ? spent_leaf(chain, lazy_of(v)) : NULL;
        if (t)
            return t;
    }
    return NULL;
}

/* What the result is written over; NULL: nothing. Where an operation may make a nan that deserves
 * its notice, the parts below run again, operation by operation: they keep their leaves. */
static Tensor *written_over(const Lazy *z, const NestPlan *plan)
{
    if (!z->notice)
        return spent_leaf(z, z);
    for (int i = 0; i < z->n && !z->watch && nest_in_one(plan); i++) {
        Tensor *t = z->args[i].tag == V_TENSOR ? z->args[i].tensor : NULL;
        uint32_t beside = 0;
        for (int k = 0; k < z->n; k++)
            beside += z->args[k].tag == V_TENSOR && z->args[k].tensor == t;
        if (t && t->refs == beside &&
            ew_fits(t, (DType)z->head.dtype, z->head.rank, tensor_shape(&z->head)))
            return tensor_retain(t);
    }
    return NULL;
}

static void count_one(Interp *in, const Lazy *z)
{
    ew_count(in, z->op, (DType)z->compute, z->head.size);
}

void fuse_count(Interp *in, const Lazy *z)
{
    for (int i = 0; i < z->n; i++)
        if (z->args[i].tag == V_LAZY)
            fuse_count(in, lazy_of(z->args[i]));
    count_one(in, z);
}

/* For their notices. */
static void tell_below(Interp *in, const Lazy *z)
{
    for (int i = 0; i < z->n; i++)
        if (z->args[i].tag == V_LAZY)
            v_release(&in->ctx, fuse_run_apart(in, lazy_of(z->args[i])));
}

/* The chain into a new tensor or over a spent leaf. */
Value fuse_run_here(Interp *in, const Lazy *z)
{
    FuseRun run;
    Value *mark = in->sp;
    const Tensor *head = &z->head;
    fuse_plan(in, z, &run);
    Tensor *out = written_over(z, run.plan);
    bool over = out != NULL;
    if (!over)
        out = tensor_new(&in->ctx, (DType)head->dtype, head->rank, tensor_shape(head));
    assert(out->size == head->size && out->dtype == head->dtype && tensor_contiguous(out));
    v_push(in, v_tensor_raw(out));
    EwTrouble trouble = nest_run(&in->ctx, run.plan, out->data, run.data);
    poll_interrupt(in);
    if (trouble == EWT_NAN && !over) {
        stack_drop(in, mark);
        return fuse_run_apart(in, z);
    }
    if (trouble == EWT_NAN) {
        tell_below(in, z);
        count_one(in, z);
    } else {
        fuse_count(in, z);
    }
    in->sp = mark;
    return v_tensor_raw(out);
}

/* ---- told ---- */
/* Names in order of evaluation, and the FLOPs of the rows. */
static double list_parts(Buf *parts, const Lazy *z)
{
    double sizes[26], flops = 0;
    for (int i = 0; i < z->n; i++)
        if (z->args[i].tag == V_LAZY)
            flops += list_parts(parts, lazy_of(z->args[i]));
    for (int i = 0; i < 26; i++)
        sizes[i] = (double)z->head.size;
    buf_printf(parts, "%s%s", parts->len ? ", " : "", z->op->name);
    return flops + (z->op->flops ? explain_formula(z->op->flops, sizes) : 0);
}

void fuse_tell(Interp *in, const Lazy *z, bool generated)
{
    ErrFrame frame;
    Buf parts;
    if (!heard_on(in))
        return;
    buf_init(&parts, &in->ctx);
    if (ERR_TRY(&in->ctx, &frame)) {
        explain_flops(in, list_parts(&parts, z), NULL);
        explain_note(in, "parts", "%s", buf_cstr(&parts));
        heard_kernel(in, generated ? "generated" : buf_cstr(&parts), NULL);
        ERR_END(&in->ctx, &frame);
        buf_free(&parts);
        return;
    }
    buf_free(&parts);
    err_rethrow(&in->ctx);
}

/* The tensor that a lazy value stands for; it is taken. */
static Value force(Interp *in, Value v, const Exec *x)
{
    Lazy *z = v.ptr;
    v_push(in, v);
    in->at = x;
    Value r = z->ops == 1 ? run_single(in, z) : aspects_on(in) ? fuse_run_asked(in, z)
                                                               : fuse_run_here(in, z);
    stack_drop(in, in->sp - 1);
    in->at = x;
    return r;
}

Value fuse_wait(Interp *in, const Exec *x, const Op *op, Value *args, int n, unsigned weak,
                const EwForm *f)
{
    return v_lazy(lazy_new(in, x, op, args, n, weak, f));
}

Value fuse_force(Interp *in, Value v, const Exec *x)
{
    return force(in, v, x);
}

void fuse_force_at(Interp *in, Value *slot, const Exec *x)
{
    Value v = *slot;
    *slot = v_none();
    *slot = force(in, v, x);
}

/* ---- an operation on what it has ---- */
/* The operand as the door may look at it: shape and dtype of a lazy value are known. */
static Value likeness(Value v)
{
    return v.tag == V_LAZY ? v_tensor_raw((Tensor *)&lazy_of(v)->head) : v;
}

/* What cannot wait any longer: smaller than the result (it would be computed again and again),
 * or too long a chain. */
static void settle(Interp *in, const Exec *x, Value *args, int n, const EwForm *f)
{
    int ops = 1, leaves = 0;
    for (int i = 0; i < n; i++) {
        if (args[i].tag != V_LAZY)
            continue;
        const Lazy *z = lazy_of(args[i]);
        if (z->head.size != f->size || ops + z->ops > FUSE_OPS ||
            leaves + z->leaves > FUSE_LEAVES - 3) {
            fuse_force_at(in, &args[i], x);
            continue;
        }
        ops += z->ops;
        leaves += z->leaves;
    }
}

static bool any_lazy(const Value *args, int n)
{
    for (int i = 0; i < n; i++)
        if (args[i].tag == V_LAZY)
            return true;
    return false;
}

/* Does the node above take a lazy value? A call does while its name is the operation's. */
static bool above_takes(const Exec *x)
{
    if (!(x->flags & XF_LAZY))
        return false;
    return !x->c || ((const CallSite *)x->c->data)->ref.slot->tag == V_UNDEF;
}

/* args: owned, on top of the stack. */
static Value ordinary(Interp *in, const Exec *x, const Op *op, Value *args, int n, unsigned weak)
{
    for (int i = 0; i < n; i++)
        if (args[i].tag == V_LAZY)
            fuse_force_at(in, &args[i], x);
    in->at = x;
    if (n > 2) {
        Value r = op_call(in, op, args, n, weak);
        stack_drop(in, args);
        return r;
    }
    Value a = args[0], b = args[n - 1];
    in->sp = args;
    return n == 1 ? op_unary_take(in, op, a, weak, 1) : op_binary_take(in, op, a, b, weak, 3);
}

static bool settled(Interp *in, const Op *op, const Value *args, int n, unsigned weak, EwForm *f)
{
    Value like[3];
    for (int i = 0; i < n; i++)
        like[i] = likeness(args[i]);
    if (!ew_form(in, op, like, n, weak, f) || f->size == 0)
        return false;
    int64_t bytes = count_times(f->size, dtype_info(f->result)->bytes);
    if (bytes >= CHECK_BYTES)
        mem_check(&in->ctx, (size_t)bytes);        /* the error belongs to this operation */
    return true;
}

Value fuse_take(Interp *in, const Exec *x, const Op *op, const Value *args, int n, unsigned weak,
                unsigned owned)
{
    EwForm f;
    Value *mark = in->sp;
    for (int i = 0; i < n; i++)
        v_push(in, owned >> i & 1 ? args[i] : v_retain(args[i]));
    in->at = x;
    bool takes = !in->deferring && above_takes(x);
    if ((!takes && !any_lazy(mark, n)) || !settled(in, op, mark, n, weak, &f))
        return ordinary(in, x, op, mark, n, weak);
    settle(in, x, mark, n, &f);
    Value r = v_lazy(lazy_new(in, x, op, mark, n, weak, &f));
    return takes ? r : force(in, r, x);
}
