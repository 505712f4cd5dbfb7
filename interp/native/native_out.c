/* Variables that C writes to. A parameter that is a pointer and no const takes a variable: a
 * tensor's or struct's own memory, unshared first, so that no other variable changes with it; or a
 * number, which goes in and comes back through a C value of the parameter's type. `ptr(x, n)`
 * written in the call is the variable x with a length. Pointers that C gives back into such memory
 * keep it alive. */
#include "interp/native/native_call.h"
#include "interp/eval/eval_name.h"
#include "interp/eval/call.h"
#include "interp/state/predefined.h"

#include <stdio.h>
#include <string.h>

/* ---- which variable ---- */
static bool is_variable(const Exec *x)
{
    return x->eval == eval_local ||
           (x->eval == eval_global && ((const GlobalRef *)x->data)->slot->tag != V_UNDEF);
}

/* A name that is nothing yet, where C would write to it. */
static void check_defined(Interp *in, const Exec *x, const CType *to)
{
    const GlobalRef *ref = x->data;
    if (x->eval != eval_global || ref->slot->tag != V_UNDEF || op_find(in, ref->name) ||
        predefined_find(in, ref->name->text).tag != V_UNDEF)
        return;
    char help[120];
    snprintf(help, sizeof help, "C writes to it, so it is made before: %s = %s", ref->name->text,
             to->kind == CK_POINTER ? "null" : !native_is_number(to) || to->kind == CK_CHAR
             ? "zeros(100, dtype=i8)" :
             to->kind == CK_INT && to->size == 1 ? "zeros(100, dtype=u8)" : to->kind >= CK_FLOAT
             ? "0.0" : "0");
    in->at = x;
    err_raise_help(&in->ctx, ERR_NAME, ctype_is_record(to) ? NULL : help, "`%s` is not defined",
                   ref->name->text);
}

/* The x of ptr(x) or ptr(x, n) where ptr is no variable and x is one; NULL otherwise. */
static const Exec *pointed_argument(Interp *in, const Exec *x)
{
    if (x->node->kind != ND_CALL || !x->a || x->a->eval != eval_global || x->count < 1 ||
        x->count > 2)
        return NULL;
    const GlobalRef *callee = x->a->data;
    const CallSite *site = x->data;
    if (callee->slot->tag != V_UNDEF || site->named || site->spread)
        return NULL;
    const Op *op = op_find(in, callee->name);
    if (!op || !op->points)
        return NULL;
    return is_variable(x->list[0]) ? x->list[0] : NULL;
}

static void count_argument(Interp *in, const Exec *x, int64_t *count)
{
    if (x->count < 2)
        return;
    Value n = exec_run(in, x->list[1]);
    v_push(in, n);
    if (v_as_int(n, count) && *count >= 0)
        return;
    char what[96];
    in->at = x;
    Error *e = err_new(&in->ctx, ERR_FFI, "ptr: n, a count of elements, is %s",
                       v_describe_a(n, what, sizeof what));
    err_underline(e, 1);
    err_help(e, "len(%s)", err_operand_text(&in->ctx, 0));
    err_throw(e);
}

/* Does C write into a variable with this value? Other values are pointers, or mistakes. */
static bool is_lent(const CType *to, Value v)
{
    const Pointer *p = v.ptr;
    switch ((Tag)v.tag) {
    case V_BOOL: case V_INT: case V_FLOAT: case V_TENSOR: case V_STRUCT:
        return true;
    case V_TUPLE:
        return native_tuple_record(to, v) != NULL;
    /* a `T **` takes a T * or null there, else it is a pointer itself */
    case V_POINTER:
        return to->kind == CK_POINTER &&
               (!p->at || (p->to->kind != CK_POINTER && native_points_alike(to->of, p->to)));
    default:
        return false;
    }
}

static bool is_memory(Value v)
{
    return v.tag == V_STRUCT || (v.tag == V_TENSOR && v.tensor->rank > 0);
}

void native_out_find(NativeCall *c, uint32_t i, const Exec *x)
{
    Interp *in = c->in;
    NativeArg *a = &c->args[i];
    bool declared = i < c->plan->count;
    int pass = declared ? c->plan->params[i].pass : PASS_OUT;
    if (pass != PASS_OUT && pass != PASS_CONST)
        return;
    const Exec *pointed = pointed_argument(in, x), *target = pointed ? pointed : x;
    if (pass == PASS_OUT && declared)
        check_defined(in, target, a->type->of);
    if (!is_variable(target))
        return;
    Value *slot = target->eval == eval_local ? &in->fp[target->sa]
                                             : ((const GlobalRef *)target->data)->slot;
    Value at = *slot;
    if (pass == PASS_CONST)
        a->read = slot;
    bool lent = pass == PASS_CONST ? pointed && is_memory(at) : declared ? is_lent(a->type->of, at)
              : is_memory(at) && (pointed || at.tag == V_TENSOR);
    if (!lent)
        return;
    if (pointed)
        count_argument(in, x, &a->count);
    if (pass == PASS_CONST)
        v_push(in, a->v = v_retain(at));
    else
        a->slot = exec_variable(in, target);
}

/* ---- before the call ---- */
static void open_tensor(NativeCall *c, uint32_t i, const NativeWhere *where)
{
    static const CType anything = { .kind = CK_VOID };
    NativeArg *a = &c->args[i];
    Ctx *ctx = &c->in->ctx;
    const CType *to = a->type ? a->type->of : &anything;
    Tensor *t = a->slot->tensor;
    native_refuse_sparse(c->in, t);
    tensor_settle(ctx, t);
    bool ready = tensor_contiguous(t) || tensor_device(ctx, t) != ctx->devices->cpu;
    if (ready) {
        /* wrong ones are told before anything is copied */
        native_tensor_data(c->in, t, to, -1, where);
    } else {
        tensor_home(ctx, t);
        Tensor *copy = tensor_copy(ctx, t);
        a->slot->tensor = copy;
        tensor_release(ctx, t);
    }
    t = a->slot->tensor;
    tensor_unshare(ctx, &a->slot->tensor);
    if (!ready || a->slot->tensor != t)
        native_tensor_data(c->in, a->slot->tensor, to, -1, where);
}

/* The cell of another argument that is the same variable: C sees one address, and it comes back
 * once. */
static bool shared_cell(NativeCall *c, uint32_t i)
{
    NativeArg *a = &c->args[i];
    const Value *slot = a->slot ? a->slot : a->read;
    const CType *to = a->type->of;
    if (a->type->kind != CK_POINTER || (slot->tag == V_POINTER && to->kind != CK_POINTER))
        return false;                    /* a pointer's own value is wanted, not its cell */
    for (uint32_t j = 0; j < c->count; j++) {
        const NativeArg *b = &c->args[j];
        if (j == i || b->slot != slot || !b->out || !native_points_alike(to, b->out))
            continue;
        a->memory = b->memory;
        return true;
    }
    return false;
}

static void open_scalar(NativeCall *c, uint32_t i, const NativeWhere *where)
{
    NativeArg *a = &c->args[i];
    const CType *to = a->type->of;
    if (shared_cell(c, i))
        return;
    if (to->kind == CK_POINTER && a->slot->tag == V_POINTER) {
        const Pointer *p = a->slot->ptr;
        memcpy(a->spare, &p->at, sizeof p->at);
        v_push(c->in, v_retain(*a->slot));
    } else if (native_is_number(to) && !native_is_text(to)) {
        /* bytes are a buffer, of more than one */
        NativeWhere at = *where;
        at.variable = true;
        native_store(c->in, to, a->spare, *a->slot, &at, NULL);
    } else {
        native_refuse_value(c->in, where, a->type, *a->slot);
    }
    a->out = to;
    a->memory = (NativeMemory){ .at = a->spare, .bytes = ctype_size(to), .owner = v_undef() };
}

/* A tuple of structs goes as an array of them, and what C left there comes back as a tuple. */
static void open_tuple(NativeCall *c, uint32_t i, const NativeWhere *where)
{
    NativeArg *a = &c->args[i];
    if (shared_cell(c, i))
        return;
    const CType *record = native_tuple_record(a->type->of, *a->slot);
    v_push(c->in, a->items = v_retain(*a->slot));
    native_tuple_memory(c->in, record, a->items, where, NULL, &a->memory);
    a->out = record;
}

void native_out_open(NativeCall *c, uint32_t i)
{
    NativeArg *a = &c->args[i];
    NativeWhere where = native_where(c, i);
    Value v = *a->slot;
    if (v.tag == V_TENSOR && v.tensor->rank > 0) {
        open_tensor(c, i, &where);
        a->held = true;
    } else if (v.tag == V_STRUCT) {
        if (a->type && !native_points_alike(a->type->of, ((Struct *)v.ptr)->type))
            native_refuse_value(c->in, &where, a->type, v);
        native_unshare(c->in, a->slot);
        a->held = true;
    } else if (v.tag == V_TUPLE) {
        open_tuple(c, i, &where);
    } else {
        open_scalar(c, i, &where);
    }
}

/* All variables are unshared: what they hold stays where it is, and alive, whatever a callback
 * does. */
void native_out_hold(NativeCall *c, uint32_t i)
{
    NativeArg *a = &c->args[i];
    Value v = *a->slot;
    if (!a->held)
        return;
    v_push(c->in, v_retain(v));
    a->memory = (NativeMemory){ .owner = v, .readonly = !value_is_pinned(v) };
    if (v.tag == V_TENSOR) {
        a->memory.at = v.tensor->data;
        a->memory.bytes = (size_t)v.tensor->size * dtype_info(v.tensor->dtype)->bytes;
    } else {
        a->memory.at = ((Struct *)v.ptr)->bytes;
        a->memory.bytes = ctype_size(((Struct *)v.ptr)->type);
    }
}

void native_out_release(NativeCall *c, uint32_t i)
{
    NativeArg *a = &c->args[i];
    for (uint32_t j = 0; j < c->count; j++)
        a->same |= c->args[j].slot == a->read;
    if (!a->same || !is_memory(a->v))
        return;
    v_release(&c->in->ctx, a->v);
    *a->kept = a->v = v_undef();
}

void native_out_same(NativeCall *c, uint32_t i)
{
    NativeArg *a = &c->args[i];
    a->same = a->v.tag != V_UNDEF && shared_cell(c, i);
    if (a->v.tag == V_UNDEF)
        v_push(c->in, a->v = v_retain(*a->read));     /* after all were unshared: where they are */
}

/* ---- after it ---- */
Value native_out_pointer(const NativeCall *c, const CType *t, void *at)
{
    char *p = at;
    for (uint32_t i = 0; i < c->count && p; i++) {
        const NativeMemory *m = &c->args[i].memory;
        if (m->owner.tag == V_UNDEF || m->bytes == SIZE_MAX || p < m->at - m->before ||
            p > m->at + m->bytes)
            continue;
        Value v = pointer_new(c->in, t->of, p, m->owner, (size_t)(m->at + m->bytes - p));
        ((Pointer *)v.ptr)->before = (size_t)(p - m->at) + m->before;
        ((Pointer *)v.ptr)->readonly = m->readonly;
        return v;
    }
    return pointer_new(c->in, t->of, p, v_undef(), p ? SIZE_MAX : 0);
}

/* What the structs of a tuple point to, each thing once: C may have put them in another order. */
static Value kept_by_all(Interp *in, const Tuple *items)
{
    const Tuple *last = NULL;
    v_push(in, v_undef());
    Value *kept = in->sp - 1;
    for (uint32_t i = 0; i < items->count; i++) {
        Value keep = ((Struct *)items->items[i].ptr)->keep;
        if (keep.tag != V_TUPLE || keep.tuple == last)
            continue;
        last = keep.tuple;
        for (uint32_t k = 0; k < last->count; k++) {
            bool found = false;
            for (uint32_t n = 0; kept->tag == V_TUPLE && n < kept->tuple->count && !found; n++)
                found = kept->tuple->items[n].ptr == last->items[k].ptr;
            if (!found)
                native_keep(in, kept, last->items[k]);
        }
    }
    return *kept;
}

static Value structs_back(Interp *in, const NativeArg *a)
{
    const Tuple *items = a->items.tuple;
    size_t size = ctype_size(a->out);
    Value kept = kept_by_all(in, items);
    Tuple *t = tuple_new(&in->ctx, 0);
    v_push(in, v_tuple(t));
    for (uint32_t i = 0; i < items->count; i++) {
        NativePlace place = { .type = a->out, .at = a->memory.at + i * size, .owner = kept };
        v_push(in, native_read(in, place));
        tuple_push(&in->ctx, &t, items->names ? items->names[i] : NULL, v_retain(in->sp[-1]));
        in->sp[-2].tuple = t;
        stack_cut(in, in->sp - 1);
    }
    return v_retain(v_tuple(t));
}

void native_out_close(NativeCall *c)
{
    for (uint32_t i = 0; i < c->count; i++) {
        NativeArg *a = &c->args[i];
        if (!a->out)
            continue;
        if (a->items.tag == V_TUPLE) {
            slot_put(c->in, a->slot, structs_back(c->in, a));
            continue;
        }
        void *at;
        memcpy(&at, a->spare, sizeof at);
        bool pointer = a->out->kind == CK_POINTER && a->out->of->kind != CK_FUNCTION;
        Value v = pointer ? native_out_pointer(c, a->out, at)
                          : native_load(c->in, a->out, a->spare, v_undef());
        slot_put(c->in, a->slot, v);
    }
}
