/* Elements of tensors: A[i], A[i, j] read and stored in place, and which of them need no check in
 * an innermost loop because its range was asked before it began. */
#include "interp/hot/emit.h"

#include "interp/eval/eval_assign.h"
#include "kernels/tensor/tensor.h"

/* ---- subscripts that are in range ---- */
/* Does nothing in the loop change it? */
static bool loop_invariant(Emit *e, const Exec *x)
{
    uint32_t i;
    if (x->operand == OPD_I)
        return true;
    return name_variable(e, x, &i) && i != e->loop_variable && !(e->written >> i & 1);
}

/* i, i + c, i - c, c + i of the loop's variable: c may be left out. */
typedef struct Affine {
    bool moves;                      /* with the loop's variable; else it stays */
    int sign;                        /* of the rest */
    const Exec *rest;                /* NULL: none */
} Affine;

static bool is_loop_variable(Emit *e, const Exec *x)
{
    uint32_t i;
    return name_variable(e, x, &i) && i == e->loop_variable;
}

static bool affine(Emit *e, const Exec *x, Affine *out)
{
    *out = (Affine){ .moves = true };
    if (!x->eval)
        return false;
    if (is_loop_variable(e, x))
        return true;
    *out = (Affine){ .moves = false, .sign = 1, .rest = x };
    if (loop_invariant(e, x))
        return true;
    int op = x->op;
    if (x->node->kind != ND_BINARY || (op != TK_ADD && op != TK_SUB))
        return false;
    bool left = is_loop_variable(e, x->a), right = op == TK_ADD && is_loop_variable(e, x->b);
    *out = (Affine){ .moves = true, .sign = op == TK_ADD ? 1 : -1, .rest = left ? x->b : x->a };
    if (left == right)
        return false;
    return loop_invariant(e, out->rest);
}

/* All subscripts of a read or a target. */
static bool all_affine(Emit *e, const Exec *x)
{
    Affine a;
    bool all = true;
    for (uint32_t i = 0; i < x->count && all; i++) {
        all = affine(e, x->list[i], &a);
        if (all && a.rest) {
            Val v = expression(e, a.rest);
            all = !e->failed && v.kind == HK_INT;
        }
    }
    return all;
}

static bool is_proven(const Emit *e, const Exec *x)
{
    uint32_t i = 0;
    while (i < e->proven_count && e->proven[i] != x)
        i++;
    return i < e->proven_count;
}

/* Names in a function that the loop calls are not those of the loop. */
static void collect(Emit *e, const Exec *x)
{
    if (e->collecting && e->frame == e->around->frame && !is_proven(e, x) &&
        e->proven_count < PROVEN_MOST && all_affine(e, x))
        e->proven[e->proven_count++] = x;
}

static uint32_t base_of(Emit *e, const Exec *x)
{
    uint32_t i = 0;
    if (x->a->op == TG_SLOT && !x->a->eval)
        return variable_of(e, NULL, x->a->sa);
    name_variable(e, x->a, &i);
    return i;
}

/* `over` or'd with: the affine subscript leaves [0, extent) somewhere from first to last. */
static LlValue leaves_range(Emit *e, const Exec *sub, LlValue extent, LlValue first, LlValue last,
                            LlValue over)
{
    Affine a;
    LlValue zero = word(e, 0), wrapped;
    affine(e, sub, &a);
    LlValue low = a.moves ? first : zero, high = a.moves ? last : zero;
    if (a.rest) {
        const char *name = a.sign > 0 ? "llvm.sadd.with.overflow" : "llvm.ssub.with.overflow";
        LlValue rest = expression(e, a.rest).v;
        low = with_overflow(e, name, low, rest, &wrapped);
        over = op2(e, LL_OR, over, wrapped);
        high = with_overflow(e, name, high, rest, &wrapped);
        over = op2(e, LL_OR, over, wrapped);
    }
    over = op2(e, LL_OR, over, compare_ints(e, LL_SLT, low, zero));
    return op2(e, LL_OR, over, compare_ints(e, LL_SGE, high, extent));
}

LlValue proven_hold(Emit *e, LlValue first, LlValue last)
{
    LlValue over = e->dry ? NULL : e->d.ll->ConstInt(e->flag, 0, false);
    for (uint32_t k = 0; k < e->proven_count; k++) {
        const Exec *x = e->proven[k];
        uint32_t base = base_of(e, x);
        for (uint32_t i = 0; i < x->count && i < HOT_RANK; i++)
            over = leaves_range(e, x->list[i], e->tensors[base].dims[i], first, last, over);
    }
    return over;
}

/* ---- where an element lies ---- */
static LlValue subscript_proven(Emit *e, const Exec *sub)
{
    Affine a;
    affine(e, sub, &a);
    if (e->dry)
        return NULL;
    LlValue i = a.moves ? load(e, e->word, e->at[e->around->level]) : NULL;
    LlValue rest = a.rest ? expression(e, a.rest).v : NULL;
    if (!i || !rest)
        return i ? i : rest;
    return a.sign > 0 ? e->d.ll->BuildNSWAdd(e->d.builder, i, rest, "")
                      : e->d.ll->BuildNSWSub(e->d.builder, i, rest, "");
}

/* Negative ones count from the end; any other out of range leaves. */
static LlValue subscript_checked(Emit *e, const Exec *sub, LlValue extent)
{
    Val v = sub->eval ? expression(e, sub) : unknown(e);
    if (e->failed || v.kind != HK_INT) {
        unknown(e);
        return NULL;
    }
    LlValue negative = compare_ints(e, LL_SLT, v.v, word(e, 0));
    LlValue i = choose(e, negative, op2(e, LL_ADD, v.v, extent), v.v);
    guard(e, compare_ints(e, LL_UGE, i, extent));
    return i;
}

LlType element_type(const Emit *e, DType dt)
{
    return dt == DT_F64 ? e->real : dt == DT_I64 ? e->word : dt == DT_F32 ? e->single
                        : e->d.ll->IntTypeInContext(e->d.context, 8);
}

/* A pointer to base[subscripts of x]; NULL where the walk is dry or has failed. */
static LlValue element_at(Emit *e, uint32_t base, const Exec *x)
{
    const HotVariable *v = &e->variables[base];
    if (variable_kind(e, base) != HK_TENSOR || x->count != v->rank) {
        unknown(e);
        return NULL;
    }
    collect(e, x);
    bool proven = !e->collecting && is_proven(e, x);
    LlValue at = NULL;
    for (uint32_t i = 0; i < x->count && !e->failed; i++) {
        LlValue sub = proven ? subscript_proven(e, x->list[i])
                             : subscript_checked(e, x->list[i], e->tensors[base].dims[i]);
        if (e->dry || e->failed)
            continue;
        if (i + 1 < x->count || !v->unit)
            sub = e->d.ll->BuildNSWMul(e->d.builder, sub, e->tensors[base].strides[i], "");
        at = at ? e->d.ll->BuildNSWAdd(e->d.builder, at, sub, "") : sub;
    }
    if (e->dry || e->failed)
        return NULL;
    return e->d.ll->BuildGEP2(e->d.builder, element_type(e, v->dtype), e->tensors[base].data, &at,
                              1, "");
}

static Val element_load(Emit *e, DType dt, LlValue p)
{
    LlValue raw = load(e, e->dry ? NULL : element_type(e, dt), p);
    if (dt == DT_F64)
        return (Val){ HK_FLOAT, raw };
    if (dt == DT_F32)
        return (Val){ HK_SINGLE, cast(e, LL_FP_EXT, raw, e->real) };
    if (dt == DT_I64)
        return (Val){ HK_INT, raw };
    return (Val){ HK_BOOL, e->dry ? NULL : compare_ints(e, LL_NE, raw,
                                               e->d.ll->ConstInt(element_type(e, dt), 0, false)) };
}

Val element_item(Emit *e, uint32_t base, LlValue i)
{
    const HotVariable *v = &e->variables[base];
    if (e->dry)
        return element_load(e, v->dtype, NULL);
    if (!v->unit)
        i = e->d.ll->BuildNSWMul(e->d.builder, i, e->tensors[base].strides[0], "");
    return element_load(e, v->dtype, e->d.ll->BuildGEP2(e->d.builder, element_type(e, v->dtype),
                                                        e->tensors[base].data, &i, 1, ""));
}

Val element_read_emit(Emit *e, const Exec *x)
{
    uint32_t base;
    if (!name_variable(e, x->a, &base))
        return unknown(e);
    LlValue p = element_at(e, base, x);
    return e->failed ? unknown(e) : element_load(e, e->variables[base].dtype, p);
}

/* A number as an element of f32, rounded once. */
static LlValue narrowed(Emit *e, Val v)
{
    ints_exact(e, v);
    return cast(e, LL_FP_TRUNC, as_float(e, v), e->single);
}

/* What is stored; false: the element is of another kind. */
static bool element_value(Emit *e, DType dt, Val v, LlValue *out)
{
    if (dt == DT_F64 && is_number(v))
        *out = as_float(e, v);
    else if (dt == DT_F32 && is_number(v) && !(e->scoped && v.kind != HK_SINGLE))
        *out = narrowed(e, v);
    else if (dt == DT_I64 && v.kind == HK_INT)
        *out = v.v;
    else if (dt == DT_BOOL && v.kind == HK_BOOL)
        *out = cast(e, LL_ZEXT, v.v, e->dry ? NULL : element_type(e, DT_BOOL));
    else
        return false;
    return true;
}

bool element_place_emit(Emit *e, uint32_t base, const Exec *target, LlValue *place)
{
    *place = element_at(e, base, target);
    return !e->failed && !e->variables[base].at;
}

bool element_put_at_once(Emit *e, uint32_t base, Val v)
{
    return e->variables[base].dtype != DT_F32 || v.kind == HK_SINGLE || v.kind == HK_FLOAT;
}

bool element_put_emit(Emit *e, uint32_t base, LlValue place, Val v)
{
    HotVariable *b = &e->variables[base];
    LlValue out;
    if (!element_value(e, b->dtype, v, &out))
        return false;
    if (!b->stored) {
        b->stored = true;
        e->grew = true;
    }
    store(e, out, place);
    return true;
}

/* Floats by numbers; ints by ints, where the result is one. */
static bool updates_element(DType dt, Val v, int op)
{
    bool whole = op == TK_ADD || op == TK_SUB || op == TK_MUL;
    if (dt == DT_I64)
        return whole && v.kind == HK_INT;
    return (dt == DT_F64 || dt == DT_F32) && (whole || op == TK_DIV) && is_number(v);
}

bool element_store_emit(Emit *e, uint32_t base, const Exec *target, Val v, int op)
{
    DType dt = e->variables[base].dtype;
    LlValue place;
    if (!element_place_emit(e, base, target, &place) || (op >= 0 && !updates_element(dt, v, op)))
        return false;
    if (op >= 0)
        v = binary_emit(e, op, element_load(e, dt, place), v);
    return !e->failed && element_put_emit(e, base, place, v);
}
