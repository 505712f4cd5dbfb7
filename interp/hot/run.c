/* Entering machine code and leaving it (code.h): what variables hold is compared with what the code
 * was made for, they are brought to the record and back, and the evaluator resumes where the code
 * left. */
#include "interp/hot/run.h"

#include "interp/eval/eval_flow.h"
#include "interp/eval/eval_name.h"
#include "interp/state/scope.h"
#include "kernels/tensor/cast.h"

/* ---- entering ---- */
/* Where there is no memory, the evaluator goes on. */
static bool fits(const Ctx *c, size_t bytes)
{
    return c->mem.live < c->mem.limit && bytes < c->mem.limit - c->mem.live;
}

/* A tuple's items are two words each, the second what it is. */
static bool tuple_enters(const Value *slot, HotTensor *to)
{
    if (slot->tag != V_TUPLE)
        return false;
    to->data = slot->tuple->items ? &slot->tuple->items[0].i : NULL;
    to->dims[0] = slot->tuple->count;
    to->strides[0] = sizeof(Value) / sizeof(int64_t);
    return true;
}

/* What is stored to is the variable's own from here on, as it would be from the first store on. */
static bool tensor_enters(Interp *in, const HotVariable *v, Value *slot, HotTensor *to)
{
    const Tensor *t = slot->tag == V_TENSOR ? slot->tensor : NULL;
    if (v->tuple)
        return tuple_enters(slot, to);
    if (!t || t->dtype != (uint32_t)v->dtype || t->rank != v->rank ||
        (in->ctx.remote && tensor_away(t)))
        return false;
    if (v->stored) {
        size_t bytes = (size_t)t->size * dtype_info((DType)t->dtype)->bytes;
        if (!tensor_sole(t) && !fits(&in->ctx, bytes))       /* the loop may never store */
            return false;
        tensor_unshare(&in->ctx, &slot->tensor);
        t = slot->tensor;
    }
    if (v->unit && t->dims[2 * t->rank - 1] != 1)
        return false;
    to->data = t->data;
    for (int i = 0; i < t->rank; i++) {
        to->dims[i] = t->dims[i];
        to->strides[i] = t->dims[t->rank + i];
    }
    return true;
}

/* What fields are assigned of is the variable's own from here on, too. */
static bool record_enters(Interp *in, const HotVariable *v)
{
    Value *p = v->at ? NULL : &in->fp[v->slot];
    if (!p || p->tag != V_TUPLE || !hot_place(in, v) ||
        (p->tuple->refs > 1 && !fits(&in->ctx, p->tuple->count * sizeof *p)))
        return false;
    tuple_unshare(&in->ctx, &p->tuple);
    return true;
}

static bool is_record(const HotVariable *v, Value now)
{
    return now.tag == V_TUPLE && now.tuple->named &&
           (!v->name_count || hot_has_names(now.tuple, v->names, v->name_count));
}

/* Does it hold what the code was made for? */
static bool variable_enters(Interp *in, const HotCode *code, HotCount *count, HotRecord *r,
                            uint32_t i)
{
    const HotVariable *v = &code->variables[i];
    DType single = hot_single(code->format);
    if (v->over)
        return count && tensor_enters(in, v, &count->over, &r->tensors[i]);
    if (v->field && v->assigned && !record_enters(in, v))
        return false;
    const Value *place = hot_place(in, v);
    Value now = place ? *place : v_undef();
    r->cells[i] = (HotCell){ .tag = V_UNDEF, .i = now.i };
    const void *scalar = now.tag == V_TENSOR ? now.tensor->data : NULL;
    if (v->kind == HK_SINGLE && hot_is_scalar(now, single))
        cast_plain(DT_F64, &r->cells[i].f, 1, single, scalar, 1, 1);
    if (v->kind == HK_COMPLEX && hot_is_scalar(now, DT_C128)) {
        r->cells[i].f = ((const double *)scalar)[0];
        r->cells[i].im = ((const double *)scalar)[1];
    }
    if (hot_is_narrow(v->kind) && hot_kind(now, single) == v->kind)
        r->cells[i].i = element_i64(hot_narrow_dtype(v->kind), scalar);
    if (v->builtin)
        return now.tag == V_UNDEF;
    if (!v->needed || v->frame)
        return true;
    switch (v->kind) {
    case HK_TENSOR:
        return place && tensor_enters(in, v, (Value *)place, &r->tensors[i]);
    case HK_RECORD: return is_record(v, now);
    case HK_FUNCTION: return now.tag == V_FUNCTION && now.fn->serial == v->serial;
    default: return hot_kind(now, single) == v->kind;
    }
}

static bool code_enters(Interp *in, const HotCode *code, HotCount *count, HotRecord *r)
{
    enum { SCALAR = sizeof(Tensor) + sizeof(Buffer) + 128 };     /* what leaving must not lack */
    for (uint32_t k = 0; k < code->used_count; k++)
        if (!variable_enters(in, code, count, r, code->order[k]))
            return false;
    return fits(&in->ctx, code->variable_count * SCALAR);
}

static Value cell_value(Interp *in, DType format, const HotCell *c)
{
    if (c->tag == V_TENSOR) {
        float room;
        cast_plain(hot_single(format), &room, 1, DT_F64, &c->f, 1, 1);
        return v_tensor_raw(tensor_scalar(&in->ctx, hot_single(format), &room));
    }
    if (c->tag & HOT_NARROW) {
        DType dt = hot_narrow_dtype((HotKind)(c->tag & ~HOT_NARROW));
        int64_t narrow = 0;
        cast_plain(dt, &narrow, 1, DT_I64, &c->i, 1, 1);
        return v_tensor_raw(tensor_scalar(&in->ctx, dt, &narrow));
    }
    if (c->tag == HOT_COMPLEX)
        return v_tensor_raw(tensor_scalar(&in->ctx, DT_C128, (const double[]){ c->f, c->im }));
    return (Value){ .tag = (uint32_t)c->tag, .i = c->i };
}

static void variables_back(Interp *in, const HotCode *code, const HotRecord *r)
{
    for (uint32_t k = 0; k < code->used_count; k++) {
        uint32_t i = code->order[k];
        const HotVariable *v = &code->variables[i];
        if (v->assigned && !v->frame && r->cells[i].tag != V_UNDEF)
            slot_put(in, (Value *)hot_place(in, v), cell_value(in, code->format, &r->cells[i]));
    }
}

/* ---- resuming ---- */
typedef struct Resume {
    Interp *in;
    const HotRecord *record;
    const HotPath *path;
} Resume;

static Value resume(const Resume *r, uint32_t at);

/* The statements of a block from one in part on. */
static Value resume_block(const Resume *r, uint32_t at)
{
    const HotPlace *p = &r->path->places[at];
    Value v = resume(r, at + 1);
    for (uint32_t i = p->index + 1; i < p->x->count; i++) {
        if (v.tag == V_FLOW)
            return v;
        v_release(&r->in->ctx, v);
        v = exec_run(r->in, p->x->list[i]);
    }
    return v;
}

/* A loop inside: its iteration in part, then the rest of it, over the vector that it began with. */
static Value resume_loop(const Resume *r, uint32_t at)
{
    const HotPlace *p = &r->path->places[at];
    Value *mark = r->in->sp, v;
    if (p->x->node->kind == ND_WHILE)
        return loop_resumed(r->in, p->x, resume(r, at + 1), NULL);
    HotCount count = { r->record->loops[p->index].at, r->record->loops[p->index].step,
                       (uint64_t)r->record->loops[p->index].left, v_undef() };
    if (!p->x->list)
        v_push(r->in, count.over = exec_peek(r->in, p->x->a));
    v = loop_resumed(r->in, p->x, resume(r, at + 1), &count);
    stack_drop(r->in, mark);
    return v;
}

static Value resume(const Resume *r, uint32_t at)
{
    const HotPlace *p = &r->path->places[at];
    switch ((HotStep)p->step) {
    case HOT_BODY: return resume_loop(r, at);
    case HOT_PART: return resume_block(r, at);
    case HOT_BRANCH: return resume(r, at + 1);
    case HOT_RUN: return exec_run(r->in, p->x);
    default: return v_none();
    }
}

static const _Atomic int nobody = 0;     /* nudges */

HotEnd hot_run(Interp *in, const HotCode *code, HotCount *count, _Atomic int *nudge, Value *left)
{
    HotRecord record;
    record.nudge = nudge ? nudge : &nobody;
    record.interrupt = in->ctx.interrupt;
    record.inexact = 0;
    record.drawn = &in->rng.counter;
    if (count) {
        record.loops[0].at = count->at;
        record.loops[0].left = (int64_t)count->left;
        record.loops[0].step = count->step;
    }
    *left = v_none();
    if (!code_enters(in, code, count, &record))
        return HOT_MISS;
    int64_t exit = code->run(&record);
    if (in->scope)
        in->scope->flags.inexact += (uint64_t)record.inexact;
    variables_back(in, code, &record);
    if (exit == 0 && count) {
        count->at = (int64_t)((uint64_t)count->at + count->left * (uint64_t)count->step);
        count->left = 0;
    }
    if (exit == 0)
        return HOT_DONE;
    if (exit == HOT_BREAKS)
        return HOT_BROKE;
    if (count) {
        count->at = record.loops[0].at;
        count->left = (uint64_t)record.loops[0].left;
    }
    Resume r = { in, &record, &code->exits[exit - 1] };
    *left = resume(&r, 1);
    return HOT_LEFT;
}

/* ---- functions ---- */
/* So many calls in each other the evaluator would surely have room for. */
static int64_t depth_of(const Interp *in, const FnCode *code)
{
    enum { CALL = 2048 };                    /* bytes of the C stack, at most, beside the body's */
    int64_t bytes = (char *)__builtin_frame_address(0) - in->ctx.stack_limit;
    int64_t stack = bytes / ((int64_t)code->stack + CALL);
    int64_t values = (in->stack_end - in->sp) / ((int64_t)code->slots + 16);
    return stack < values ? stack : values;
}

bool hot_run_function(Interp *in, const HotCode *code, const Function *fn, const Value *args,
                      Value *result)
{
    HotRecord record;
    record.interrupt = in->ctx.interrupt;
    record.depth = depth_of(in, fn->code);
    if (!code_enters(in, code, NULL, &record))
        return false;
    for (uint32_t i = 0; i < fn->code->params; i++)
        record.cells[i].i = args[i].i;
    if (code->run(&record) != 0)
        return false;
    *result = (Value){ .tag = hot_tag((HotKind)code->result), .i = record.cells[HOT_RESULT].i };
    return true;
}
