/* Expressions as machine code: numbers, names, operators, comparisons, logic, functions of numbers.
 * All are without effect, so that a statement can be begun anew by the evaluator. */
#include "interp/hot/emit.h"

#include "interp/eval/eval_flow.h"
#include "interp/eval/eval_index.h"
#include "interp/eval/eval_scope.h"
#include "interp/lower/sites.h"
#include "interp/state/frames.h"
#include "interp/op/elementwise.h"
#include "interp/op/scalar.h"

#include <math.h>
#include <string.h>

/* ---- names ---- */
/* Is it a variable of the program's top level, where the loop stands? */
static bool own_global(const Emit *e, const GlobalRef *ref)
{
    const Module *m = interp_module(e->in);
    return m && !e->self.fn && e->in->fp == m->slots && ref->slot >= m->slots &&
           ref->slot < m->slots + m->slot_cap;
}

static uint32_t global_variable(Emit *e, const GlobalRef *ref)
{
    return own_global(e, ref) ? variable_in(e, 0, NULL, (uint32_t)(ref->slot - e->in->fp))
                              : variable_of(e, ref->slot, 0);
}

/* The name's slot is empty as long as it is a builtin's. */
static bool names_nothing(Emit *e, const GlobalRef *ref)
{
    if (ref->slot->tag != V_UNDEF)
        return false;
    uint32_t i = global_variable(e, ref);
    e->variables[i].builtin = !e->variables[i].assigned;
    return e->variables[i].builtin;
}

static bool names_builtin(Emit *e, const GlobalRef *ref)
{
    return ref->looked && names_nothing(e, ref);
}

bool stands_for_another(const Emit *e, uint32_t slot)
{
    const Frame *f = &e->frames[e->frame];
    return e->frame && slot < f->fn->code->params && f->same[slot].is;
}

/* A parameter that stands for a tensor or function of the caller's. */
static bool same_as_callers(const Emit *e, const Exec *x, uint32_t *variable)
{
    if (!stands_for_another(e, x->sa))
        return false;
    *variable = e->frames[e->frame].same[x->sa].variable;
    return true;
}

bool name_variable(Emit *e, const Exec *x, uint32_t *variable)
{
    uint32_t base;
    if (x->eval == eval_field)
        return x->a->node->kind == ND_NAME && name_variable(e, x->a, &base) &&
               variable_field(e, base, x->node->name, variable);
    if (x->node->kind != ND_NAME)
        return false;
    if (x->node->scope == SCOPE_LOCAL || x->operand == OPD_L) {
        const Function *fn = e->frame ? e->frames[e->frame].fn : NULL;
        uint32_t first = fn ? fn->code->params : 0;
        if (fn && x->sa >= first && x->sa < first + fn->captured)
            *variable = variable_of(e, &fn->values[x->sa - first], 0);
        else if (!same_as_callers(e, x, variable))
            *variable = variable_of(e, NULL, x->sa);
        return true;
    }
    const GlobalRef *ref = x->node->scope == SCOPE_GLOBAL ? x->data : NULL;
    if (!ref || ref->slot->tag == V_UNDEF)
        return false;
    *variable = global_variable(e, ref);
    return true;
}

static Val name_emit(Emit *e, const Exec *x)
{
    uint32_t i;
    if (name_variable(e, x, &i))
        return variable_read(e, i);
    if (x->node->kind != ND_NAME)
        return unknown(e);
    const GlobalRef *ref = x->node->scope == SCOPE_GLOBAL ? x->data : NULL;
    double number;
    if (ref && e->scoped && scoped_number(e->in, x, &number) && names_nothing(e, ref))
        return (Val){ e->own, real(e, number) };
    if (ref && !e->scoped && ref->predefined.tag == V_FLOAT && names_builtin(e, ref))
        return (Val){ .kind = HK_FLOAT, .v = real(e, ref->predefined.f),
                      .weak = (x->flags & XF_WEAK_NAME) != 0,
                      .single = (double)(float)ref->predefined.f };
    return unknown(e);
}

/* ---- operators ---- */
static Val ints_checked(Emit *e, const char *intrinsic, Val a, Val b)
{
    LlValue over, r = with_overflow(e, intrinsic, a.v, b.v, &over);
    guard(e, over);
    return (Val){ HK_INT, r };
}

/* Division that rounds down, and what is left over. */
static Val floored(Emit *e, int op, Val a, Val b)
{
    LlValue zero = word(e, 0), minus = word(e, -1);
    guard(e, op2(e, LL_OR, compare_ints(e, LL_EQ, b.v, zero), compare_ints(e, LL_EQ, b.v, minus)));
    LlValue q = op2(e, LL_SDIV, a.v, b.v), r = op2(e, LL_SREM, a.v, b.v);
    LlValue up = op2(e, LL_AND, compare_ints(e, LL_NE, r, zero),
                     op2(e, LL_XOR, compare_ints(e, LL_SLT, r, zero),
                         compare_ints(e, LL_SLT, b.v, zero)));
    LlValue v = op == TK_MOD ? choose(e, up, op2(e, LL_ADD, r, b.v), r)
                             : op2(e, LL_SUB, q, cast(e, LL_ZEXT, up, e->word));
    return (Val){ HK_INT, v };
}

static const struct { uint8_t op; int8_t of_ints, of_floats; } comparisons[] = {
    { TK_EQ, LL_EQ, LL_OEQ }, { TK_NE, LL_NE, LL_UNE }, { TK_LT, LL_SLT, LL_OLT },
    { TK_LE, LL_SLE, LL_OLE }, { TK_GT, LL_SGT, LL_OGT }, { TK_GE, LL_SGE, LL_OGE },
};

static int comparison(int op)
{
    for (int i = 0; i < (int)(sizeof comparisons / sizeof *comparisons); i++)
        if (comparisons[i].op == op)
            return i;
    return -1;
}

int comparison_of_floats(int op)
{
    int c = comparison(op);
    return c < 0 ? c : comparisons[c].of_floats;
}

static Val ints_emit(Emit *e, int op, Val a, Val b)
{
    int c = comparison(op);
    if (c >= 0)
        return (Val){ HK_BOOL, compare_ints(e, comparisons[c].of_ints, a.v, b.v) };
    switch (op) {
    case TK_ADD: return ints_checked(e, "llvm.sadd.with.overflow", a, b);
    case TK_SUB: return ints_checked(e, "llvm.ssub.with.overflow", a, b);
    case TK_MUL: return ints_checked(e, "llvm.smul.with.overflow", a, b);
    case TK_DIV: return (Val){ HK_FLOAT, op2(e, LL_FDIV, as_float(e, a), as_float(e, b)) };
    case TK_FLOORDIV:
    case TK_MOD: return floored(e, op, a, b);
    case TK_BITAND: return (Val){ HK_INT, op2(e, LL_AND, a.v, b.v) };
    case TK_BITOR: return (Val){ HK_INT, op2(e, LL_OR, a.v, b.v) };
    default: return unknown(e);
    }
}

/* An int is compared with a float as a float where it is one exactly. */
static LlValue as_exact_float(Emit *e, Val v)
{
    ints_exact(e, v);
    return as_float(e, v);
}

static Val row_of_floats(Emit *, const Op *, Val, Val, bool two);

static Val floats_emit(Emit *e, int op, Val a, Val b)
{
    int c = comparison(op);
    if (c >= 0) {
        LlValue p = as_exact_float(e, a), q = as_exact_float(e, b);
        return (Val){ HK_BOOL, compare_floats(e, comparisons[c].of_floats, p, q) };
    }
    LlValue p = as_float(e, a), q = as_float(e, b);
    switch (op) {
    case TK_ADD: return (Val){ HK_FLOAT, op2(e, LL_FADD, p, q) };
    case TK_SUB: return (Val){ HK_FLOAT, op2(e, LL_FSUB, p, q) };
    case TK_MUL: return (Val){ HK_FLOAT, op2(e, LL_FMUL, p, q) };
    case TK_DIV: return (Val){ HK_FLOAT, op2(e, LL_FDIV, p, q) };
    case TK_FLOORDIV:
    case TK_MOD: return row_of_floats(e, e->in->ops->by_operator[op], a, b, true);
    default: return unknown(e);
    }
}

static Val bools_emit(Emit *e, int op, Val a, Val b)
{
    switch (op) {
    case TK_EQ: return (Val){ HK_BOOL, compare_ints(e, LL_EQ, a.v, b.v) };
    case TK_NE: return (Val){ HK_BOOL, compare_ints(e, LL_NE, a.v, b.v) };
    case TK_BITAND: return (Val){ HK_BOOL, op2(e, LL_AND, a.v, b.v) };
    case TK_BITOR: return (Val){ HK_BOOL, op2(e, LL_OR, a.v, b.v) };
    default: return unknown(e);
    }
}

/* What may be an int or a float and is computed with ints is taken for a float. */
static Val taken_for_float(Emit *e, Val v)
{
    if (v.kind != HK_NUMBER && v.kind != HK_EITHER)
        return v;
    HotKind kind = v.kind == HK_NUMBER ? HK_FLOAT : HK_SINGLE;
    guard(e, compare_ints(e, LL_NE, v.tag, word(e, hot_tag(kind))));
    return (Val){ kind, v.v };
}

/* Which of two ways is taken is known only when something is no int. */
static void decide(Emit *e, bool either_way, Val *a, Val *b)
{
    bool real = a->kind == HK_FLOAT || a->kind == HK_SINGLE || b->kind == HK_FLOAT ||
                b->kind == HK_SINGLE;
    if (real || either_way)
        return;
    *a = taken_for_float(e, *a);
    *b = taken_for_float(e, *b);
}

/* ---- f32 ---- */
static bool has_single(Val v) { return v.kind == HK_SINGLE || v.kind == HK_EITHER; }

/* Is what both give an f32? A float that is no literal makes an f64 of it. What is not known to be
 * one of two is decided first. */
static bool gives_single(Emit *e, Val *a, Val *b)
{
    if (!has_single(*a) && !has_single(*b))
        return false;
    if (a->kind != HK_SINGLE && b->kind != HK_SINGLE) {
        *a = taken_for_float(e, *a);
        *b = taken_for_float(e, *b);
    }
    Val *other = a->kind == HK_SINGLE ? b : a;
    if (other->kind == HK_NUMBER)
        *other = taken_for_float(e, *other);
    return other->kind != HK_FLOAT || other->weak;
}

/* The f64 operation of two f32, rounded, is theirs: one rounding (Figueroa, When is double rounding
 * innocuous?, 1995). */
static Val singles_emit(Emit *e, int op, Val a, Val b)
{
    int c = comparison(op);
    LlValue p = as_single(e, a), q = as_single(e, b);
    if (c >= 0)
        return (Val){ HK_BOOL, compare_floats(e, comparisons[c].of_floats, p, q) };
    switch (op) {
    case TK_ADD: return (Val){ HK_SINGLE, rounded(e, op2(e, LL_FADD, p, q)) };
    case TK_SUB: return (Val){ HK_SINGLE, rounded(e, op2(e, LL_FSUB, p, q)) };
    case TK_MUL: return (Val){ HK_SINGLE, rounded(e, op2(e, LL_FMUL, p, q)) };
    case TK_DIV: return (Val){ HK_SINGLE, rounded(e, op2(e, LL_FDIV, p, q)) };
    case TK_FLOORDIV:
    case TK_MOD: return row_of_floats(e, e->in->ops->by_operator[op], a, b, true);
    default: return unknown(e);
    }
}

Val binary_emit(Emit *e, int op, Val a, Val b)
{
    if (a.kind == HK_BOOL && b.kind == HK_BOOL)
        return bools_emit(e, op, a, b);
    if (a.kind == HK_COMPLEX || b.kind == HK_COMPLEX)
        return e->scoped ? unknown(e) : complex_binary(e, op, a, b);
    if (hot_is_narrow(a.kind) || hot_is_narrow(b.kind))
        return narrow_binary(e, op, a, b);
    if (!is_number(a) || !is_number(b))
        return unknown(e);
    if (a.kind == HK_INT && b.kind == HK_INT && !(e->scoped && op == TK_DIV))
        return ints_emit(e, op, a, b);
    if (e->scoped) {
        decide(e, op == TK_DIV, &a, &b);
        return scoped_binary(e, op, a, b);
    }
    if (gives_single(e, &a, &b))
        return singles_emit(e, op, a, b);
    if (a.kind != HK_FLOAT && b.kind != HK_FLOAT && op != TK_DIV && comparison(op) < 0) {
        a = taken_for_float(e, a);
        b = taken_for_float(e, b);
    }
    return floats_emit(e, op, a, b);
}

/* ---- functions of numbers ---- */
static double call_one(EwFn f, double x)
{
    double out;
    const int64_t one = 1;
    f(&out, 1, (const void *const[]){ &x }, &one, 1);
    return out;
}

static double call_two(EwFn f, double x, double y)
{
    double out;
    f(&out, 1, (const void *const[]){ &x, &y }, (const int64_t[]){ 1, 1 }, 1);
    return out;
}

/* The same of f32, which come and go as the doubles they are. */
static double call_one_single(EwFn f, double x)
{
    const float narrow = (float)x;
    float out;
    const int64_t one = 1;
    f(&out, 1, (const void *const[]){ &narrow }, &one, 1);
    return (double)out;
}

static double call_two_singles(EwFn f, double x, double y)
{
    const float p = (float)x, q = (float)y;
    float out;
    f(&out, 1, (const void *const[]){ &p, &q }, (const int64_t[]){ 1, 1 }, 1);
    return (double)out;
}

static LlValue kernel_call(Emit *e, EwFn f, bool single, LlValue x, LlValue y)
{
    if (e->dry)
        return NULL;
    LlType types[] = { e->word, e->real, e->real };
    LlValue args[] = { word(e, (int64_t)(intptr_t)f), x, y };
    void *via = single ? (y ? (void *)call_two_singles : (void *)call_one_single)
                       : (y ? (void *)call_two : (void *)call_one);
    return call_pointer(e, via, e->real, types, args, y ? 3 : 2);
}

static LlValue unary_intrinsic(Emit *e, const char *name, LlValue x)
{
    if (e->dry)
        return NULL;
    const Llvm *ll = e->d.ll;
    unsigned id = ll->LookupIntrinsicID(name, strlen(name));
    LlValue f = ll->GetIntrinsicDeclaration(e->d.module, id, &e->real, 1);
    return ll->BuildCall2(e->d.builder, ll->IntrinsicGetType(e->d.context, id, &e->real, 1), f, &x,
                          1, "");
}

static LlValue row_operand(Emit *e, bool single, Val v)
{
    if (e->scoped)
        return scoped_operand(e, v);
    v = taken_for_float(e, v);
    return single ? as_single(e, v) : as_float(e, v);
}

/* add(x, y) and the like: of these each rounding is counted in a scope. */
static bool rounds(int op)
{
    return op == TK_ADD || op == TK_SUB || op == TK_MUL || op == TK_DIV;
}

/* The C library's of rows that give a whole number, the same for f32; NULL: it is none. */
static void *whole_routine(const Op *op)
{
    switch (op->ew) {
    case EW_FLOOR: return (void *)(double (*)(double))floor;
    case EW_CEIL: return (void *)(double (*)(double))ceil;
    case EW_TRUNC: return (void *)(double (*)(double))trunc;
    case EW_ROUND: return (void *)(double (*)(double))rint;
    default: return NULL;
    }
}

/* A nan is left to the row: where no operand was one it may have something to say. */
static Val row_of_floats(Emit *e, const Op *op, Val a, Val b, bool two)
{
    bool whole = a.kind == HK_INT && (!two || b.kind == HK_INT);
    int operator = e->in->ops->operator_of[op->ew];
    if (e->scoped && two && rounds(operator))
        return binary_emit(e, operator, a, b);
    if (e->scoped && !whole)
        decide(e, false, &a, &b);
    bool real = !whole || ew_compute_dtype(op->ew, DT_I64) == DT_F64;
    bool single = e->scoped ? e->own == HK_SINGLE && real
                : two ? gives_single(e, &a, &b) : has_single(a);
    EwFn kernel = ew_scalar_kernel(op, single ? DT_F32 : DT_F64, two ? 2 : 1);
    bool floats = single || a.kind == HK_FLOAT || (two && b.kind == HK_FLOAT) ||
                  (e->scoped && real);
    if (!kernel || (!floats && ew_compute_dtype(op->ew, DT_I64) != DT_F64))
        return unknown(e);
    if (single && dtype_half(e->format) && op->ew != EW_SQRT && op->ew != EW_ABS)
        return unknown(e);                   /* rounded once, and counted, by a way of their own */
    LlValue x = row_operand(e, single, a), y = two ? row_operand(e, single, b) : NULL, r;
    void *routine = whole_routine(op);
    if (op->ew == EW_SQRT)                   /* an instruction, with the same bits */
        r = unary_intrinsic(e, "llvm.sqrt", x);
    else if (op->ew == EW_ABS)
        r = unary_intrinsic(e, "llvm.fabs", x);
    else if (routine)
        r = call_pointer(e, routine, e->real, &e->real, &x, 1);
    else
        r = kernel_call(e, kernel, single, x, y);
    if (e->scoped && op->ew == EW_SQRT)
        r = scoped_root(e, x, r);
    else if (single && op->ew == EW_SQRT)
        r = rounded(e, r);
    else if (e->scoped)
        scoped_result(e, op, r);
    guard(e, compare_floats(e, LL_UNO, r, r));
    return (Val){ single ? HK_SINGLE : HK_FLOAT, r };
}

/* i64(x), f64(x) and f32(x): what an int cannot hold leaves. */
static Val cast_emit(Emit *e, DType to, const Exec *arg)
{
    Val v = whole_of(expression(e, arg));
    HotKind narrow = hot_narrow_kind(to);
    if (e->failed || e->scoped || !is_number(v))
        return unknown(e);
    if (narrow != HK_NOTHING && v.kind == HK_INT)
        return narrow_of(e, narrow, v.v);
    if (to != DT_I64 && to != DT_F64 && to != DT_F32)
        return unknown(e);
    if (to == DT_F32)
        return (Val){ HK_SINGLE, as_single(e, v) };
    if (v.kind == HK_EITHER)
        v = taken_for_float(e, v);
    if (to == DT_F64)
        return (Val){ HK_FLOAT, as_float(e, v) };
    if (v.kind == HK_INT)
        return v;
    v = taken_for_float(e, v);
    guard(e, negated(e, compare_floats(e, LL_OGE, v.v, real(e, -0x1p63))));
    guard(e, compare_floats(e, LL_OGE, v.v, real(e, 0x1p63)));
    return (Val){ HK_INT, cast(e, LL_FP_TO_SI, v.v, e->word) };
}

/* ---- calls ---- */
/* Lengths of a tensor do not change while the loop runs. */
static Val length_of(Emit *e, uint32_t base, int64_t axis)
{
    int rank = e->variables[base].rank;
    if (axis < -rank || axis >= rank)
        return unknown(e);
    return (Val){ HK_INT, e->dry ? NULL : e->tensors[base].dims[axis < 0 ? axis + rank : axis] };
}

/* len(x), size(x), size(x, k), ndim(x) */
static Val measure_emit(Emit *e, const Op *op, const Exec *x)
{
    uint32_t base;
    int64_t axis = 0;
    if (!name_variable(e, x->list[0], &base) || variable_kind(e, base) != HK_TENSOR ||
        (e->variables[base].tuple && !op->extent))
        return unknown(e);
    if (op->measures == MEASURES_RANK && x->count == 1)
        return (Val){ HK_INT, word(e, e->variables[base].rank) };
    if (x->count == 2 ? op->measures == MEASURES_COUNT && is_int_constant(x->list[1], &axis)
                      : op->extent)
        return length_of(e, base, axis);
    if (op->measures != MEASURES_COUNT || x->count != 1)
        return unknown(e);
    Val r = length_of(e, base, 0);
    for (int k = 1; k < e->variables[base].rank; k++)
        r.v = op2(e, LL_MUL, r.v, length_of(e, base, k).v);
    return r;
}

static const Op *builtin_called(Emit *e, const Exec *x)
{
    const CallSite *site = x->data;
    const GlobalRef *ref = &site->ref;
    bool plain = x->a->node->kind == ND_NAME && !site->named && !site->spread &&
                 x->a->node->scope == SCOPE_GLOBAL && x->a->data;
    return plain && names_builtin(e, ref) && ref->predefined.tag == V_UNDEF ? ref->op : NULL;
}

bool shape_read(Emit *e, const Exec *x, Val *out)
{
    uint32_t base;
    int64_t axis;
    const Exec *call = x->a;
    if (x->count != 1 || call->node->kind != ND_CALL || call->count != 1 ||
        !is_int_constant(x->list[0], &axis))
        return false;
    const Op *op = builtin_called(e, call);
    if (!op || op->measures != MEASURES_LENGTHS || !name_variable(e, call->list[0], &base) ||
        variable_kind(e, base) != HK_TENSOR || e->variables[base].tuple)
        return false;
    *out = length_of(e, base, axis);
    return true;
}

static Val row_emit(Emit *e, const Op *op, const Exec *x)
{
    Val a = expression(e, x->list[0]), b = { HK_NOTHING }, r;
    bool two = x->count == 2;
    if (two)
        b = expression(e, x->list[1]);
    if (!e->failed && (a.kind == HK_COMPLEX || b.kind == HK_COMPLEX))
        return complex_row(e, op, a, b, two);
    if (!e->failed && (hot_is_narrow(a.kind) || hot_is_narrow(b.kind)))
        return narrow_row(e, op, x, a, b);
    if (e->failed || !is_number(a) || (two && !is_number(b)))
        return unknown(e);
    if (a.kind == HK_INT && (!two || b.kind == HK_INT) && row_of_ints(e, op, x, a, b, &r))
        return r;
    return row_of_floats(e, op, a, b, two);
}

static Val builtin_emit(Emit *e, const Op *op, const Exec *x)
{
    if (op->draws)
        return draw_emit(e, op, x);
    if (x->count < 1)
        return unknown(e);
    if (op->extent || op->measures)
        return measure_emit(e, op, x);
    if (op->as_dtype)
        return x->count == 1 && op_as_dtype(op) != DT_C128
                   ? cast_emit(e, op_as_dtype(op), x->list[0])
                   : complex_of(e, op_as_dtype(op), x);
    if (op->form && x->count == 1)
        op = op_named(e->in, op->form);
    return op->cls == OPC_EW ? row_emit(e, op, x) : unknown(e);
}

const Function *function_called(Emit *e, const Exec *x)
{
    const CallSite *site = x->node->kind == ND_CALL ? x->data : NULL;
    uint32_t callee;
    if (!site || x->a->node->kind != ND_NAME || site->named || site->spread)
        return NULL;
    if (x->a->node->scope == SCOPE_SELF && e->frame)
        return e->frames[e->frame].fn;
    return name_variable(e, x->a, &callee) && variable_kind(e, callee) == HK_FUNCTION
               ? e->variables[callee].fn : NULL;
}

static LlValue flag_constant(const Emit *e, bool on)
{
    return e->dry ? NULL : e->d.ll->ConstInt(e->flag, on, false);
}

Val constant_emit(Emit *e, Value v)
{
    switch (v.tag) {
    case V_INT: return (Val){ HK_INT, word(e, v.i) };
    case V_FLOAT: return (Val){ HK_FLOAT, real(e, v.f) };
    case V_BOOL: return (Val){ HK_BOOL, flag_constant(e, v.i != 0) };
    default: return unknown(e);
    }
}

static Val call_emit(Emit *e, const Exec *x)
{
    const CallSite *site = x->data;
    const GlobalRef *ref = &site->ref;
    const Function *fn = function_called(e, x);
    if (fn)
        return call_function(e, x, fn);
    if (x->a->node->kind != ND_NAME || site->named || site->spread)
        return unknown(e);
    if (x->a->node->scope != SCOPE_GLOBAL || !x->a->data || x->count > 2 || !names_builtin(e, ref))
        return unknown(e);
    if (ref->predefined.tag == V_FORMAT && x->count == 1)
        return cast_emit(e, v_format_dtype(ref->predefined), x->list[0]);
    if (ref->predefined.tag != V_UNDEF || !ref->op)
        return unknown(e);
    return builtin_emit(e, ref->op, x);
}

/* ---- the rest ---- */
bool is_int_constant(const Exec *x, int64_t *i)
{
    *i = x->k.i;
    return x->operand == OPD_I;
}

/* Squares are products with the same bits. */
static Val small_power(Emit *e, Val a, int64_t n)
{
    if (a.kind == HK_FLOAT) {
        Val square = { HK_FLOAT, op2(e, LL_FMUL, a.v, a.v) };
        guard(e, compare_floats(e, LL_UNO, square.v, square.v));
        return square;
    }
    Val r = a;
    while (--n)
        r = ints_checked(e, "llvm.smul.with.overflow", r, a);
    return r;
}

static bool is_small_power(Val a, const Exec *by, int64_t *n)
{
    if (by->operand == OPD_F && a.kind == HK_FLOAT && by->k.f == 2) {
        *n = 2;
        return true;
    }
    return is_int_constant(by, n) && (a.kind == HK_INT ? *n >= 2 && *n <= 4
                                                       : a.kind == HK_FLOAT && *n == 2);
}

static Val power_emit(Emit *e, const Exec *x)
{
    int64_t n;
    Val a = expression(e, x->a), b = expression(e, x->b);
    if (!e->failed && (a.kind == HK_COMPLEX || b.kind == HK_COMPLEX))
        return complex_row(e, x->data, a, b, true);
    if (e->failed || !is_number(a) || !is_number(b))
        return unknown(e);
    if (is_small_power(a, x->b, &n) && !(e->scoped && a.kind != HK_INT))
        return small_power(e, a, n);
    if (a.kind == HK_INT && b.kind == HK_INT && is_int_constant(x->b, &n) && n < 0) {
        guard(e, compare_ints(e, LL_EQ, a.v, word(e, 0)));
        a = (Val){ HK_FLOAT, as_exact_float(e, a) };
    }
    if (a.kind == HK_INT && b.kind == HK_INT)
        return power_of_ints(e, a, b);
    if (a.kind != HK_FLOAT && b.kind != HK_FLOAT && a.kind != HK_SINGLE && b.kind != HK_SINGLE)
        return unknown(e);
    return row_of_floats(e, x->data, a, b, true);
}

/* -(0.5) is weak as 0.5 is; -pi is not. */
static Val negative(const Exec *x, Val v, Val of)
{
    v.weak = (x->flags & XF_WEAK) != 0;
    v.single = -of.single;
    return v;
}

static Val unary_emit(Emit *e, const Exec *x)
{
    Val v = expression(e, x->a);
    if (e->failed)
        return v;
    int op = x->node->op;
    if (op == TK_NEG && v.kind == HK_INT) {
        Val r = ints_checked(e, "llvm.ssub.with.overflow", (Val){ HK_INT, word(e, 0) }, v);
        return negative(x, r, v);
    }
    if (op == TK_NEG && hot_is_narrow(v.kind))
        return narrow_of(e, v.kind, op2(e, LL_SUB, word(e, 0), v.v));
    if (op == TK_NEG && v.kind == HK_COMPLEX)
        return (Val){ HK_COMPLEX, minus(e, v.v), .im = minus(e, v.im) };
    if (op == TK_NEG && is_number(v)) {
        v = taken_for_float(e, v);
        if (e->scoped)
            v = (Val){ e->own, scoped_operand(e, v) };
        return negative(x, (Val){ v.kind, minus(e, v.v) }, v);
    }
    if (op == TK_SQRT && (v.kind == HK_FLOAT || v.kind == HK_SINGLE)) {
        guard(e, negated(e, compare_floats(e, LL_OGE, v.v, real(e, 0))));
        LlValue f = e->scoped ? scoped_operand(e, v) : v.v;
        LlValue r = unary_intrinsic(e, "llvm.sqrt", f);
        if (e->scoped)
            return (Val){ e->own, scoped_root(e, f, r) };
        return (Val){ v.kind, v.kind == HK_SINGLE ? rounded(e, r) : r };
    }
    return unknown(e);
}

/* A link that is false ends the chain: what is behind it is not evaluated. */
static void chain_emit(Emit *e, const Exec *x, LlBlock yes, LlBlock no)
{
    Val before = expression(e, x->list[0]);
    for (uint32_t i = 1; i < x->count && !e->failed; i++) {
        bool last = i + 1 == x->count;
        Val v = expression(e, x->list[i]);
        Val link = e->failed ? v : binary_emit(e, x->c->list[i - 1]->op, before, v);
        if (e->failed || link.kind != HK_BOOL) {
            unknown(e);
            return;
        }
        LlBlock on = last ? yes : block_new(e, "link");
        branch(e, link.v, on, no);
        if (!last)
            block_enter(e, on);
        before = v;
    }
}

/* `and`, `or`, `not` and chains as values: by the ways that a condition takes. */
static Val logic_emit(Emit *e, const Exec *x)
{
    LlBlock yes = block_new(e, "yes"), no = block_new(e, "no"), end = block_new(e, "end");
    condition_emit(e, x, yes, no);
    if (e->dry)
        return (Val){ e->failed ? HK_NOTHING : HK_BOOL };
    const Llvm *ll = e->d.ll;
    block_enter(e, yes);
    jump(e, end);
    block_enter(e, no);
    jump(e, end);
    block_enter(e, end);
    LlValue phi = ll->BuildPhi(e->d.builder, e->flag, "");
    LlValue values[] = { ll->ConstInt(e->flag, 1, false), ll->ConstInt(e->flag, 0, false) };
    ll->AddIncoming(phi, values, (LlBlock[]){ yes, no }, 2);
    return (Val){ HK_BOOL, phi };
}

/* ---- if as a value ---- */
static const Exec *end_of_branch(const Exec *x)
{
    while (x->node->kind == ND_BLOCK && (x->eval == eval_block || x->eval == eval_block2) &&
           x->count == 1)
        x = x->list[0];
    return x;
}

static bool is_plain_number(Val v)
{
    return v.kind == HK_INT || v.kind == HK_FLOAT || v.kind == HK_NUMBER;
}

/* An int or a float as the number that it is. */
static Val as_number(Emit *e, Val v)
{
    if (v.kind == HK_NUMBER)
        return v;
    return (Val){ HK_NUMBER, as_float(e, v), v.kind == HK_INT ? v.v : word(e, 0),
                  word(e, hot_tag(v.kind)) };
}

static LlValue either(Emit *e, LlType type, LlValue v[2], LlBlock from[2])
{
    LlValue phi = e->d.ll->BuildPhi(e->d.builder, type, "");
    e->d.ll->AddIncoming(phi, v, from, 2);
    return phi;
}

/* Each of the branches is one expression. */
static Val choice_emit(Emit *e, const Exec *x)
{
    const Exec *ends[2] = { x->b, x->c };
    LlBlock from[2] = { block_new(e, "yes"), block_new(e, "no") }, end = block_new(e, "end");
    Val v[2] = { { HK_NOTHING }, { HK_NOTHING } };
    if (!x->a || !x->c)
        return unknown(e);
    condition_emit(e, x->a, from[0], from[1]);
    State asked = e->state, all = { .reached = false };
    for (int i = 0; i < 2 && !e->failed; i++) {
        e->state = asked;
        block_enter(e, from[i]);
        v[i] = expression(e, end_of_branch(ends[i]));
        all = state_join(&all, &e->state);
        from[i] = e->dry ? NULL : e->d.ll->GetInsertBlock(e->d.builder);
    }
    bool same = v[0].kind == v[1].kind && v[0].kind != HK_EITHER;
    if (e->failed || !(same || (is_plain_number(v[0]) && is_plain_number(v[1]))))
        return unknown(e);
    e->state = all;
    Val r = { same ? v[0].kind : HK_NUMBER };
    if (e->dry)
        return r;
    for (int i = 0; i < 2; i++) {
        block_enter(e, from[i]);
        v[i] = r.kind == HK_NUMBER ? as_number(e, v[i]) : v[i];
        jump(e, end);
    }
    block_enter(e, end);
    LlType type = r.kind == HK_INT || hot_is_narrow(r.kind) ? e->word
                : r.kind == HK_BOOL ? e->flag : e->real;
    r.v = either(e, type, (LlValue[]){ v[0].v, v[1].v }, from);
    if (r.kind == HK_COMPLEX)
        r.im = either(e, e->real, (LlValue[]){ v[0].im, v[1].im }, from);
    if (r.kind == HK_NUMBER) {
        r.bits = either(e, e->word, (LlValue[]){ v[0].bits, v[1].bits }, from);
        r.tag = either(e, e->word, (LlValue[]){ v[0].tag, v[1].tag }, from);
    }
    return r;
}

static Val operator_emit(Emit *e, const Exec *x)
{
    if (x->op == TK_POW)
        return power_emit(e, x);
    Val a = expression(e, x->a);
    Val b = e->failed ? a : expression(e, x->b);
    return e->failed ? unknown(e) : binary_emit(e, x->op, a, b);
}

static Val expression_of(Emit *e, const Exec *x)
{
    if (++e->work > WORK_MOST || (x->flags & XF_WRITES) || x->eval == eval_catch_flow ||
        x->eval == eval_raise)
        return unknown(e);
    double number;
    if (e->scoped && x->node->kind != ND_NAME && scoped_number(e->in, x, &number))
        return (Val){ e->own, real(e, number) };
    if (x->operand == OPD_I)
        return (Val){ .kind = HK_INT, .v = word(e, x->k.i), .weak = (x->flags & XF_WEAK) != 0,
                      .single = (double)(float)x->k.i };
    if (x->operand == OPD_F)
        return (Val){ .kind = HK_FLOAT, .v = real(e, x->k.f), .weak = (x->flags & XF_WEAK) != 0,
                      .single = (double)(float)x->k.f };
    switch (x->node->kind) {
    case ND_IMAG:
        if (!hot_is_scalar(x->k, DT_C128))
            return unknown(e);
        return (Val){ HK_COMPLEX, real(e, 0),
                      .im = real(e, ((const double *)(const void *)x->k.tensor->data)[1]) };
    case ND_BOOL:
        return (Val){ HK_BOOL, flag_constant(e, x->node->op) };
    case ND_NAME: case ND_FIELD: return name_emit(e, x);
    case ND_UNARY: return unary_emit(e, x);
    case ND_BINARY: return operator_emit(e, x);
    case ND_COMPARE: return x->node->count == 2 ? operator_emit(e, x) : logic_emit(e, x);
    case ND_AND: case ND_OR: case ND_NOT: return logic_emit(e, x);
    case ND_INDEX: return element_read_emit(e, x);
    case ND_CALL: return call_emit(e, x);
    case ND_IF: return choice_emit(e, x);
    default: return unknown(e);
    }
}

Val expression(Emit *e, const Exec *x)
{
    Val v = expression_of(e, x);
    bool other = v.kind == HK_COMPLEX || hot_is_narrow(v.kind);
    return e->scoped && other ? unknown(e) : v;      /* parts are rounded there */
}

void condition_dry(Emit *e, const Exec *x) { condition_emit(e, x, NULL, NULL); }

void condition_emit(Emit *e, const Exec *x, LlBlock yes, LlBlock no)
{
    LlBlock on;
    bool able;
    if (x->eval == eval_raise || x->eval == eval_catch_flow) {
        unknown(e);
        return;
    }
    if (x->node->kind == ND_COMPARE && x->node->count > 2) {
        chain_emit(e, x, yes, no);
        return;
    }
    switch (x->node->kind) {
    case ND_NOT:
        condition_emit(e, x->a, no, yes);
        return;
    case ND_AND: case ND_OR:
        on = block_new(e, "and");
        if (x->node->kind == ND_AND)
            condition_emit(e, x->a, on, no);
        else
            condition_emit(e, x->a, yes, on);
        if (e->failed)
            return;
        block_enter(e, on);
        able = can(e, condition_dry, x->b);
        if (!e->dry && able)
            condition_emit(e, x->b, yes, no);
        else if (!e->dry)
            jump(e, out_of_statement(e));        /* it is the evaluator's, then */
        return;
    default: {
        Val v = expression(e, x);
        if (e->failed || v.kind != HK_BOOL)
            unknown(e);
        else
            branch(e, v.v, yes, no);
    }
    }
}
