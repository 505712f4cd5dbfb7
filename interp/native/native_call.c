/* Calling C functions: arguments are counted and evaluated, written as what their parameters are,
 * lengths are checked, native_run makes the call, and what C wrote comes back. How a function's
 * arguments go is planned once; numbers alone take a short way. Nothing is known here of libraries,
 * of crashes or of callbacks. */
#include "core/system/c_locale.h"
#include "interp/eval/eval_name.h"
#include "interp/native/native_call.h"
#include "interp/eval/call.h"
#include "interp/eval/eval_make.h"

#include <stdio.h>
#include <string.h>

/* ---- the plan ---- */
enum { SCALARS_MAX = 6, ARGS_HERE = 10, ARGS_MAX = 256, RESULT_HERE = 64 };

static void plan_parameter(Interp *in, NativePlan *plan, uint32_t i, const CType *t)
{
    NativeParam *p = &plan->params[i];
    plan->types[i] = native_abi(in, t);
    p->pass = PASS_VALUE;
    if (t->kind == CK_FLOAT && t->size == sizeof(double)) {
        p->pass = PASS_DOUBLE;
    } else if (ctype_is_integer(t)) {
        p->pass = PASS_INT;
        native_range(t, &p->low, &p->high);
    } else if (ctype_is_record(t)) {
        p->pass = PASS_RECORD;
    } else if (t->kind == CK_POINTER) {
        p->pass = t->of->kind == CK_FUNCTION || native_is_const(t->of) ? PASS_CONST : PASS_OUT;
    } else if (t->kind == CK_FUNCTION) {
        p->pass = PASS_CONST;
    }
}

static bool all_scalars(const NativePlan *plan, const CType *t)
{
    if (plan->open || plan->count > SCALARS_MAX ||
        !(native_is_number(t->of) || t->of->kind == CK_VOID))
        return false;
    for (uint32_t i = 0; i < plan->count; i++)
        if (plan->params[i].pass > PASS_VALUE)
            return false;
    return true;
}

static NativePlan *native_plan(Interp *in, CFunction *f)
{
    const CType *t = f->type;
    uint32_t n = t->param_count;
    if (!t->abi) {
        size_t head = sizeof(NativePlan) + n * sizeof(NativeParam);
        NativePlan *plan = native_block(in, head + (n + 1) * sizeof(ffi_type *));
        plan->types = (ffi_type **)(void *)((char *)plan + head);
        plan->count = n;
        plan->open = t->variadic || t->unprototyped;
        for (uint32_t i = 0; i < n; i++) {
            plan_parameter(in, plan, i, t->params[i].type);
            plan->lengths |= t->params[i].length != NULL;
        }
        plan->scalars = all_scalars(plan, t);
        size_t size = ctype_size(t->of);
        plan->result_bytes = size < sizeof(ffi_arg) ? sizeof(ffi_arg) : size;
        if (ffi_prep_cif(&plan->cif, FFI_DEFAULT_ABI, n, native_abi(in, t->of),
                         plan->types) != FFI_OK)
            err_raise(&in->ctx, ERR_FFI, "%s: libffi cannot call a function of this type", f->name);
        ((CType *)(uintptr_t)t)->abi = plan;
    }
    return f->plan = t->abi;
}

NativeWhere native_where(const NativeCall *c, uint32_t i)
{
    const NativeArg *a = &c->args[i];
    return (NativeWhere){ .of = c->f->name, .name = a->type ? c->f->type->params[i].name : NULL,
                          .index = (int)i, .operand = a->operand };
}

/* ---- what cannot be called ---- */
static void help_prototype(Interp *in, Error *e, const CFunction *f)
{
    Buf b;
    buf_init(&b, &in->ctx);
    native_prototype(&b, f->type, f->name);
    err_help(e, "it is declared as %s", buf_cstr(&b));
    buf_free(&b);
}

static _Noreturn void raise_count(Interp *in, const CFunction *f, uint32_t given)
{
    uint32_t n = f->type->param_count;
    Error *e = err_new(&in->ctx, ERR_FFI, "%s takes %s%u argument%s, but %u %s given", f->name,
                       f->type->variadic ? "at least " : "", n, n == 1 ? "" : "s", given,
                       given == 1 ? "was" : "were");
    help_prototype(in, e, f);
    err_throw(e);
}

static void check_count(Interp *in, const CFunction *f, const NativePlan *plan, uint32_t given)
{
    if (given < plan->count || (given > plan->count && !plan->open) || given > ARGS_MAX)
        raise_count(in, f, given);
}

_Noreturn void native_raise_names(Interp *in, const CFunction *f)
{
    Error *e = err_new(&in->ctx, ERR_FFI,
                       "%s is a C function: its arguments have no names", f->name);
    help_prototype(in, e, f);
    err_throw(e);
}

/* ---- the result ---- */
/* libffi widens integers that are shorter than a register. */
static const void *result_place(const CType *t, const void *result)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    if (ctype_is_integer(t) && t->size < sizeof(ffi_arg))
        return (const char *)result + sizeof(ffi_arg) - t->size;
#endif
    (void)t;
    return result;
}

static Value result_value(const NativeCall *c, const void *result)
{
    const CType *t = c->f->type->of;
    if (t->is_unsigned && t->size == 8 && *(const int64_t *)result < 0)
        err_raise_help(&c->in->ctx, ERR_VALUE,
                       "with a result declared `long`, it is the int with the same bits",
                       "%s gave %llu, which is larger than any int", c->f->name,
                       (unsigned long long)*(const uint64_t *)result);
    if (t->kind != CK_POINTER || t->of->kind == CK_FUNCTION)
        return native_load(c->in, t, result_place(t, result), v_undef());
    void *at;
    memcpy(&at, result, sizeof at);
    if (at && t->of->kind == CK_CHAR)
        return native_load_text(c->in, t, at, c->f->name);
    return native_out_pointer(c, t, at);
}

/* ---- numbers alone ---- */
typedef union Cell {
    double f;
    int64_t i;
    _Alignas(16) char bytes[32];
} Cell;

static inline bool cell_quick(const NativeParam *p, Value v, Cell *c)
{
    if (p->pass == PASS_DOUBLE && v.tag == V_FLOAT) {
        c->f = v.f;
        return true;
    }
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (p->pass == PASS_INT && v.tag == V_INT && v.i >= p->low && v.i <= p->high) {
        c->i = v.i;
        return true;
    }
#endif
    return false;
}

static Value call_scalars(Interp *in, const Exec *x, CFunction *f, NativePlan *plan)
{
    const CType *t = f->type;
    Cell cell[SCALARS_MAX], result;
    void *args[SCALARS_MAX];
    for (uint32_t i = 0; i < plan->count; i++) {
        Value v = exec_run(in, x->list[i]);
        args[i] = &cell[i];
        if (cell_quick(&plan->params[i], v, &cell[i]))
            continue;
        NativeWhere where = { .of = f->name, .name = t->params[i].name, .index = (int)i,
                              .operand = (int)i };
        v_push(in, v);
        in->at = x;
        native_store(in, t->params[i].type, &cell[i], v, &where, NULL);
    }
    in->at = x;
    native_run(in, f, &plan->cif, &result, args);
    if (t->of->kind == CK_FLOAT && t->of->size == sizeof(double))
        return v_float(result.f);
    const NativeCall c = { .in = in, .f = f, .plan = plan };
    return result_value(&c, &result);
}

/* ---- lengths ---- */
/* The parameter that a length is, where it is one and nothing else. */
static const CParam *length_parameter(const CType *t, const CExpr *e)
{
    return e->kind == CX_PARAM && e->value < t->param_count ? &t->params[e->value] : NULL;
}

static _Noreturn void raise_short(const NativeCall *c, uint32_t i, int64_t have, int64_t want)
{
    const CParam *p = &c->f->type->params[i], *n = NULL;
    NativeWhere where = native_where(c, i);
    char help[120] = "";
    if (c->args[i].count < 0)
        n = length_parameter(c->f->type, p->needs ? p->needs : p->length);
    if (n && n->name) {
        snprintf(help, sizeof help, "%s is at most %lld here", n->name, (long long)have);
        native_refuse(c->in, &where, p->type, help, "has %lld element%s, and %s is %lld",
                      (long long)have, have == 1 ? "" : "s", n->name, (long long)want);
    }
    DType dt = native_dtype(p->type->of);
    Value v = c->args[i].slot ? *c->args[i].slot : c->args[i].v;
    if (v.tag == V_TENSOR)
        dt = (DType)v.tensor->dtype;
    if (v.tag == V_TUPLE)
        native_refuse(c->in, &where, p->type, NULL, "has %lld element%s, and %lld are needed",
                      (long long)have, have == 1 ? "" : "s", (long long)want);
    const char *form = dt == DT_NONE || dt == DT_F64 ? "a larger one: zeros(%lld)"
                     : "a larger one: zeros(%lld, dtype=%s)";
    c_snprintf(help, sizeof help, form, (long long)want, dtype_name(dt));
    native_refuse(c->in, &where, p->type, help, "has %lld element%s, and %lld are needed",
                  (long long)have, have == 1 ? "" : "s", (long long)want);
}

static _Noreturn void raise_no_length(const NativeCall *c, uint32_t i)
{
    NativeWhere where = native_where(c, i);
    native_refuse(c->in, &where, c->f->type->params[i].type,
                  "the arguments that its declaration names in [ ] say how long",
                  "has a length that is negative or cannot be computed from the other arguments");
}

static bool argument_int(const NativeArg *a, int64_t *out)
{
    *out = a->v.tag == V_BOOL ? a->v.i : 0;
    return a->v.tag == V_BOOL || v_as_int(a->v, out);
}

static void check_lengths(const NativeCall *c)
{
    int64_t ints[ARGS_MAX];
    const CType *t = c->f->type;
    bool said = c->plan->lengths;
    for (uint32_t i = 0; i < c->count && !said; i++)
        said = c->args[i].count >= 0;
    if (!said)
        return;
    for (uint32_t i = 0; i < c->plan->count; i++)
        argument_int(&c->args[i], &ints[i]);
    for (uint32_t i = 0; i < c->plan->count; i++) {
        const CParam *p = &t->params[i];
        const CExpr *e = p->needs ? p->needs : p->length;
        const NativeArg *a = &c->args[i];
        int64_t want = a->count;
        if (p->type->kind != CK_POINTER || (!e && want < 0) || !a->memory.at ||
            a->memory.bytes == SIZE_MAX)
            continue;
        if (want < 0 && (!cexpr_value(e, ints, &want) || want < 0))
            raise_no_length(c, i);
        size_t per, width = ctype_size(native_innermost(p->type->of, &per));
        int64_t have = (int64_t)(a->memory.bytes / (width ? width : 1));
        if (have < want)
            raise_short(c, i, have, want);
    }
}

/* ---- any call ---- */
static void write_record(NativeCall *c, uint32_t i, const NativeWhere *where)
{
    NativeArg *a = &c->args[i];
    size_t size = ctype_size(a->type);
    if (a->v.tag == V_STRUCT && size > sizeof a->cell &&
        ctype_same(a->type, ((Struct *)a->v.ptr)->type)) {
        c->values[i] = ((Struct *)a->v.ptr)->bytes;
        return;
    }
    if (size > sizeof a->cell)
        native_refuse_value(c->in, where, a->type, a->v);
    native_store(c->in, a->type, a->cell, a->v, where, NULL);
}

static void write_argument(NativeCall *c, uint32_t i)
{
    NativeArg *a = &c->args[i];
    NativeWhere where = native_where(c, i);
    int pass = c->plan->params[i].pass;
    if (pass == PASS_RECORD) {
        write_record(c, i, &where);
    } else if (pass == PASS_CONST || pass == PASS_OUT) {
        if (!a->slot && !a->same) {
            a->memory.spare = a->spare;
            native_memory(c->in, a->type, a->v, &where, NULL, &a->memory);
        }
        memcpy(a->cell, &a->memory.at, sizeof a->memory.at);
    } else if (!cell_quick(&c->plan->params[i], a->v, (Cell *)(void *)a->cell)) {
        native_store(c->in, a->type, a->cell, a->v, &where, NULL);
    }
}

/* The plan's interface, or one of this call's own where it has arguments that are not declared. */
static ffi_cif *interface_of(NativeCall *c, ffi_cif *own, ffi_type **types)
{
    const NativePlan *plan = c->plan;
    if (c->count == plan->count && !c->f->type->variadic)
        return &c->plan->cif;
    memcpy(types, plan->types, plan->count * sizeof *types);
    if (c->f->type->variadic)
        native_format_check(c);
    for (uint32_t i = plan->count; i < c->count; i++)
        types[i] = native_vary(c, i);
    ffi_type *result = plan->cif.rtype;
    ffi_status status = c->f->type->variadic
        ? ffi_prep_cif_var(own, FFI_DEFAULT_ABI, plan->count, c->count, result, types)
        : ffi_prep_cif(own, FFI_DEFAULT_ABI, c->count, result, types);
    if (status != FFI_OK)
        err_raise(&c->in->ctx, ERR_FFI, "%s: libffi cannot pass these arguments", c->f->name);
    return own;
}

/* What C leaves in tensors of bools is 0 or 1 afterwards, also where the call ends in an error. */
static void settle_bools(const NativeCall *c)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (c->args[i].held && c->args[i].memory.owner.tag == V_TENSOR)
            native_bools(c->args[i].memory.owner.tensor);
}

static void run(NativeCall *c, ffi_cif *cif, void *result)
{
    Ctx *ctx = &c->in->ctx;
    ErrFrame frame;
    bool bools = false;
    for (uint32_t i = 0; i < c->count; i++)
        bools |= c->args[i].held && c->args[i].memory.owner.tag == V_TENSOR &&
                 c->args[i].memory.owner.tensor->dtype == DT_BOOL;
    if (!bools) {
        native_run(c->in, c->f, cif, result, c->values);
        return;
    }
    if (!ERR_TRY(ctx, &frame)) {
        settle_bools(c);
        err_rethrow(ctx);
    }
    native_run(c->in, c->f, cif, result, c->values);
    ERR_END(ctx, &frame);
    settle_bools(c);
}

/* Arguments are there, as values or variables: everything from here to the result. */
static Value call_run(NativeCall *c)
{
    Interp *in = c->in;
    for (uint32_t i = 0; i < c->count; i++)
        if (c->args[i].read)
            native_out_release(c, i);
    for (uint32_t i = 0; i < c->count; i++)
        if (c->args[i].slot)
            native_out_open(c, i);
    for (uint32_t i = 0; i < c->count; i++) {
        c->values[i] = c->args[i].cell;
        if (c->args[i].slot)
            native_out_hold(c, i);
        if (c->args[i].same)
            native_out_same(c, i);
        if (i < c->plan->count)
            write_argument(c, i);
    }
    check_lengths(c);
    ffi_cif own;
    ffi_type *here[ARGS_HERE];
    ffi_type **types = c->count <= ARGS_HERE ? here
                                             : native_room(in, c->count * sizeof *types, NULL);
    ffi_cif *cif = interface_of(c, &own, types);
    _Alignas(16) char small[RESULT_HERE];
    void *result = c->plan->result_bytes <= RESULT_HERE
                   ? small : native_room(in, c->plan->result_bytes, NULL);
    run(c, cif, result);
    native_out_close(c);
    return result_value(c, result);
}

static void arg_init(NativeCall *c, uint32_t i, Value v, int operand)
{
    NativeArg *a = &c->args[i];
    a->v = v;
    a->slot = a->read = a->kept = NULL;
    a->same = false;
    a->items = v_undef();
    a->count = -1;
    a->operand = operand;
    a->held = false;
    a->type = i < c->plan->count ? c->f->type->params[i].type : NULL;
    a->out = NULL;
    a->memory = (NativeMemory){ .owner = v_undef(), .bytes = SIZE_MAX };
}

static void spread_argument(NativeCall *c, const Exec *arg, int operand)
{
    Interp *in = c->in;
    Value over = exec_run(in, arg), v;
    v_push(in, over);
    Each it;
    each_start(in, arg, &it, over);
    if (it.count > ARGS_MAX - c->count)
        raise_count(in, c->f,
                    (uint32_t)(it.count > UINT32_MAX / 2 ? UINT32_MAX / 2 : it.count) + c->count);
    while (each_next(in, &it, &v)) {
        v_push(in, v);
        arg_init(c, c->count++, v, operand);
    }
}

/* Values are evaluated and kept on the stack; a variable that C writes to stays a variable. */
static void evaluate(NativeCall *c, const Exec *x)
{
    Interp *in = c->in;
    for (uint32_t i = 0; i < x->count; i++) {
        const Exec *arg = x->list[i];
        if (arg->node->kind == ND_SPREAD) {
            spread_argument(c, arg, (int)i);
            continue;
        }
        uint32_t at = c->count++;
        arg_init(c, at, v_undef(), (int)i);
        if (at < c->plan->count || c->plan->open)
            native_out_find(c, at, arg);
        NativeArg *a = &c->args[at];
        if (!a->slot && a->v.tag == V_UNDEF)
            v_push(in, a->v = exec_peek(in, arg));
        if (!a->slot)
            a->kept = in->sp - 1;
    }
}

static Value call_node(Interp *in, const Exec *x, CFunction *f, NativePlan *plan)
{
    const CallSite *site = x->data;
    if (site->named)
        native_raise_names(in, f);
    if (!site->spread)
        check_count(in, f, plan, x->count);
    NativeArg here[ARGS_HERE];
    void *values[ARGS_HERE];
    NativeCall c = { .in = in, .f = f, .plan = plan, .args = here, .values = values };
    size_t room = site->spread ? ARGS_MAX : x->count;
    stack_room(in, 4 * room + 8);
    if (room > ARGS_HERE) {
        c.args = native_room(in, room * sizeof *c.args, NULL);
        c.values = native_room(in, room * sizeof *c.values, NULL);
    }
    evaluate(&c, x);
    in->at = x;
    if (site->spread)
        check_count(in, f, plan, c.count);
    return call_run(&c);
}

Value native_call_node(Interp *in, const Exec *x, CFunction *f)
{
    const CallSite *site = x->data;
    Value *mark = in->sp;
    v_push(in, v_retain(v_native(V_CFUNC, f)));
    in->at = x;
    NativePlan *plan = f->plan ? f->plan : native_plan(in, f);
    bool scalars = plan->scalars && x->count == plan->count && !site->named && !site->spread;
    Value r = scalars ? call_scalars(in, x, f, plan) : call_node(in, x, f, plan);
    stack_drop(in, mark);
    return r;
}

Value native_call(Interp *in, CFunction *f, const Value *args, int count)
{
    Value *mark = in->sp;
    v_push(in, v_retain(v_native(V_CFUNC, f)));
    NativePlan *plan = f->plan ? f->plan : native_plan(in, f);
    check_count(in, f, plan, (uint32_t)count);
    NativeArg here[ARGS_HERE];
    void *values[ARGS_HERE];
    NativeCall c = { .in = in, .f = f, .plan = plan, .args = here, .values = values };
    stack_room(in, 4 * (size_t)count + 8);
    if (count > ARGS_HERE) {
        c.args = native_room(in, (size_t)count * sizeof *c.args, NULL);
        c.values = native_room(in, (size_t)count * sizeof *c.values, NULL);
    }
    for (; c.count < (uint32_t)count; c.count++)
        arg_init(&c, c.count, args[c.count], -1);
    Value r = call_run(&c);
    stack_drop(in, mark);
    return r;
}
