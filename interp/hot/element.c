/* Elements of tensors: A[i], A[i, j] read and stored in place, and which of them need no check in
 * an innermost loop because its range was asked before it began. */
#include "interp/hot/emit.h"

#include "interp/eval/eval_assign.h"
#include "kernels/tensor/tensor.h"

#include <assert.h>
#include <stddef.h>

/* ---- subscripts that are in range ---- */
/* Does nothing in the loop change it? */
static bool loop_invariant(Emit *e, const Exec *x)
{
    uint32_t i;
    if (x->operand == OPD_I)
        return true;
    return name_variable(e, x, &i) && i != e->loop_variable && !(e->written >> i & 1);
}

/* A sum of the loop's variable, once or not at all, and of what does not change: i, i + c, k - 1,
 * k + i - 1, in the order in which the program adds. */
enum { TERMS = 3 };
typedef struct Affine {
    bool moves;                      /* with the loop's variable; else it stays */
    uint32_t count;
    struct { const Exec *x; bool minus; } terms[TERMS];      /* x NULL: the loop's variable */
} Affine;

static bool is_loop_variable(Emit *e, const Exec *x)
{
    uint32_t i;
    return name_variable(e, x, &i) && i == e->loop_variable;
}

static bool term(Emit *e, const Exec *x, bool minus, Affine *out)
{
    bool variable = is_loop_variable(e, x);
    if (out->count == TERMS || (variable && (out->moves || minus)) ||
        (!variable && !loop_invariant(e, x)))
        return false;
    out->moves |= variable;
    out->terms[out->count].x = variable ? NULL : x;
    out->terms[out->count++].minus = minus;
    return true;
}

static bool affine(Emit *e, const Exec *x, Affine *out)
{
    *out = (Affine){ .count = 0 };
    const Exec *right[TERMS];
    uint32_t n = 0;
    if (!x->eval)
        return false;
    for (; x->node->kind == ND_BINARY && x->operand != OPD_I; x = x->a) {
        if ((x->op != TK_ADD && x->op != TK_SUB) || n == TERMS)
            return false;
        right[n++] = x;
    }
    bool all = term(e, x, false, out);
    while (all && n-- > 0)
        all = term(e, right[n]->b, right[n]->op == TK_SUB, out);
    return all;
}

/* All subscripts of a read or a target. */
static bool all_affine(Emit *e, const Exec *x)
{
    Affine a;
    bool all = true;
    for (uint32_t i = 0; i < x->count && all; i++) {
        all = affine(e, x->list[i], &a);
        for (uint32_t k = 0; all && k < a.count; k++)
            if (a.terms[k].x) {
                Val v = expression(e, a.terms[k].x);
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

/* What the sum is where the loop's variable is that; careful: where it wraps. */
static LlValue sum_checked(Emit *e, const Affine *a, LlValue variable, LlBlock careful)
{
    LlValue sum = NULL, wrapped;
    for (uint32_t k = 0; k < a->count; k++) {
        LlValue v = a->terms[k].x ? expression(e, a->terms[k].x).v : variable;
        if (k == 0) {
            sum = v;
            continue;
        }
        sum = with_overflow(e, a->terms[k].minus ? "llvm.ssub.with.overflow"
                                                 : "llvm.sadd.with.overflow", sum, v, &wrapped);
        unless(e, wrapped, careful);
    }
    return sum;
}

/* careful: where the affine subscript is in [0, extent) not all the way from first to last. */
static void range_holds(Emit *e, const Exec *sub, LlValue extent, const Way *way, LlBlock careful)
{
    Affine a;
    affine(e, sub, &a);
    LlValue low = sum_checked(e, &a, way->first, careful);
    LlValue high = a.moves ? sum_checked(e, &a, way->last, careful) : low;
    unless(e, compare_ints(e, LL_SLT, low, word(e, 0)), careful);
    unless(e, compare_ints(e, LL_SGE, high, extent), careful);
    if (!a.moves || way->up)
        return;
    unless(e, compare_ints(e, LL_SLT, high, word(e, 0)), careful);
    unless(e, compare_ints(e, LL_SGE, low, extent), careful);
}

void proven_hold(Emit *e, const Way *way, LlBlock careful)
{
    for (uint32_t k = 0; k < e->proven_count; k++) {
        const Exec *x = e->proven[k];
        uint32_t base = base_of(e, x);
        for (uint32_t i = 0; i < x->count && i < HOT_RANK; i++)
            range_holds(e, x->list[i], e->tensors[base].dims[i], way, careful);
    }
}

/* ---- where an element lies ---- */
static LlValue subscript_proven(Emit *e, const Exec *sub)
{
    Affine a;
    LlValue sum = NULL;
    affine(e, sub, &a);
    for (uint32_t k = 0; k < a.count && !e->dry; k++) {
        LlValue v = a.terms[k].x ? expression(e, a.terms[k].x).v
                                 : load(e, e->word, e->at[e->around->level]);
        sum = !sum ? v
            : a.terms[k].minus ? e->d.ll->BuildNSWSub(e->d.builder, sum, v, "")
                               : e->d.ll->BuildNSWAdd(e->d.builder, sum, v, "");
    }
    return sum;
}

/* Negative ones count from the end; any other out of range leaves. */
static LlValue subscript_checked(Emit *e, const Exec *sub, LlValue extent)
{
    Val v = sub->eval ? whole_of(expression(e, sub)) : unknown(e);
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
    if (dt == DT_I64)
        return e->word;
    return dt == DT_F64 || dt == DT_C128 ? e->real : dt == DT_F32 ? e->single
               : e->d.ll->IntTypeInContext(e->d.context, 8 * (unsigned)dtype_info(dt)->bytes);
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
    if (v->dtype == DT_C128)
        at = e->d.ll->BuildNSWAdd(e->d.builder, at, at, "");
    return e->d.ll->BuildGEP2(e->d.builder, element_type(e, v->dtype), e->tensors[base].data, &at,
                              1, "");
}

/* Where the imaginary part lies. */
static LlValue behind(Emit *e, LlValue p)
{
    LlValue one = word(e, 1);
    return e->dry ? NULL : e->d.ll->BuildGEP2(e->d.builder, e->real, p, &one, 1, "");
}

static Val element_load(Emit *e, DType dt, LlValue p)
{
    LlValue raw = load(e, e->dry ? NULL : element_type(e, dt), p);
    if (dt == DT_F64)
        return (Val){ HK_FLOAT, raw };
    if (dt == DT_C128)
        return (Val){ HK_COMPLEX, raw, .im = load(e, e->real, behind(e, p)) };
    if (dt == DT_F32)
        return (Val){ HK_SINGLE, cast(e, LL_FP_EXT, raw, e->real) };
    if (dt == DT_I64)
        return (Val){ HK_INT, raw };
    HotKind narrow = hot_narrow_kind(dt);
    if (narrow != HK_NOTHING)
        return (Val){ narrow, cast(e, narrow == HK_U8 ? LL_ZEXT : LL_SEXT, raw, e->word) };
    return (Val){ HK_BOOL, e->dry ? NULL : compare_ints(e, LL_NE, raw,
                                               e->d.ll->ConstInt(element_type(e, dt), 0, false)) };
}

/* ---- items of tuples ---- */
/* Of a word, so many words on. */
static LlValue words_on(Emit *e, LlValue from, int64_t n)
{
    LlValue index = word(e, n);
    return e->dry ? NULL : e->d.ll->BuildGEP2(e->d.builder, e->word, from, &index, 1, "");
}

/* What a Value is whose second word is there, if it is that; others go elsewhere. */
static Val item_load(Emit *e, HotKind kind, LlValue p, LlBlock other)
{
    Val v = { kind };
    if (e->dry)
        return v;
    LlType tag = e->d.ll->PointerType(e->small, 0);
    LlValue is = load(e, e->small, cast(e, LL_BITCAST, words_on(e, p, -1), tag));
    LlValue wanted = e->d.ll->ConstInt(e->small, hot_tag(kind), false);
    unless(e, compare_ints(e, LL_NE, is, wanted), other);
    LlType real = e->d.ll->PointerType(e->real, 0);
    v.v = kind == HK_FLOAT ? load(e, e->real, cast(e, LL_BITCAST, p, real)) : load(e, e->word, p);
    if (kind == HK_BOOL)
        v.v = compare_ints(e, LL_NE, v.v, word(e, 0));
    return v;
}

/* A pointer in the object that is there, as an int of 64 bits behind it. */
static LlValue follow(Emit *e, LlValue p, size_t offset)
{
    LlType pointer = e->d.ll->PointerType(e->word, 0), place = e->d.ll->PointerType(pointer, 0);
    LlValue at = words_on(e, p, (int64_t)(offset / sizeof(int64_t)));
    return load(e, pointer, cast(e, LL_BITCAST, at, place));
}

void items_emit(Emit *e, uint32_t base, LlValue i, LlBlock other, Val *out)
{
    const HotVariable *v = &e->variables[base];
    enum { WORDS = sizeof(Value) / sizeof(int64_t) };
    LlValue p = NULL, items = NULL;
    if (!e->dry) {
        i = e->d.ll->BuildNSWMul(e->d.builder, i, word(e, WORDS), "");
        LlType pointer = e->d.ll->PointerType(e->word, 0);
        LlValue data = cast(e, LL_BITCAST, e->tensors[base].data, pointer);
        p = e->d.ll->BuildGEP2(e->d.builder, e->word, data, &i, 1, "");
    }
    if (!v->fields) {
        out[0] = item_load(e, (HotKind)v->item[0], p, other);
        return;
    }
    if (!e->dry) {
        LlType small = e->d.ll->PointerType(e->small, 0);
        LlValue is = load(e, e->small, cast(e, LL_BITCAST, words_on(e, p, -1), small));
        unless(e, compare_ints(e, LL_NE, is, e->d.ll->ConstInt(e->small, V_TUPLE, false)), other);
        LlValue tuple = follow(e, p, 0);
        LlValue at = cast(e, LL_BITCAST, tuple, small), one = word(e, 1);
        static_assert(offsetof(Tuple, count) == sizeof(uint32_t), "the second of its words");
        LlValue count = load(e, e->small,
                             e->d.ll->BuildGEP2(e->d.builder, e->small, at, &one, 1, ""));
        unless(e, compare_ints(e, LL_NE, count, e->d.ll->ConstInt(e->small, v->fields, false)),
               other);
        items = words_on(e, follow(e, tuple, offsetof(Tuple, items)), 1);
    }
    for (int64_t k = 0; k < v->fields; k++)
        out[k] = item_load(e, (HotKind)v->item[k],
                           e->dry ? NULL : words_on(e, items, k * WORDS), other);
}

Val element_item(Emit *e, uint32_t base, LlValue i)
{
    const HotVariable *v = &e->variables[base];
    if (e->dry)
        return element_load(e, v->dtype, NULL);
    if (!v->unit)
        i = e->d.ll->BuildNSWMul(e->d.builder, i, e->tensors[base].strides[0], "");
    if (v->dtype == DT_C128)
        i = e->d.ll->BuildNSWAdd(e->d.builder, i, i, "");
    return element_load(e, v->dtype, e->d.ll->BuildGEP2(e->d.builder, element_type(e, v->dtype),
                                                        e->tensors[base].data, &i, 1, ""));
}

/* t[i]; an item that is something else leaves. */
static Val tuple_item(Emit *e, uint32_t base, LlValue p)
{
    LlType word_pointer = e->dry ? NULL : e->d.ll->PointerType(e->word, 0);
    return item_load(e, (HotKind)e->variables[base].item[0], cast(e, LL_BITCAST, p, word_pointer),
                     e->dry ? NULL : out_of_statement(e));
}

Val element_read_emit(Emit *e, const Exec *x)
{
    uint32_t base;
    Val length;
    if (shape_read(e, x, &length))
        return length;
    if (!name_variable(e, x->a, &base))
        return unknown(e);
    const HotVariable *v = &e->variables[base];
    LlValue p = element_at(e, base, x);
    if (e->failed || v->fields)
        return unknown(e);
    return v->tuple ? tuple_item(e, base, p) : element_load(e, v->dtype, p);
}

/* A number as an element of f32, rounded once. */
static LlValue narrowed(Emit *e, Val v)
{
    ints_exact(e, v);
    return cast(e, LL_FP_TRUNC, as_float(e, v), e->single);
}

/* What is stored; false: the element is of another kind. */
static bool element_value(Emit *e, DType dt, Val v, Val *out)
{
    HotKind narrow = hot_narrow_kind(dt);
    if (narrow != v.kind)
        v = whole_of(v);
    *out = (Val){ v.kind, v.v, .im = v.im };
    if (narrow != HK_NOTHING) {
        if (v.kind == HK_INT)
            narrow_fits(e, narrow, v.v);
        out->v = cast(e, LL_TRUNC, v.v, e->dry ? NULL : element_type(e, dt));
        return v.kind == HK_INT || v.kind == narrow;
    }
    if (dt == DT_F64 && is_number(v))
        out->v = as_float(e, v);
    else if (dt == DT_F32 && is_number(v) && !(e->scoped && v.kind != HK_SINGLE))
        out->v = narrowed(e, v);
    else if (dt == DT_BOOL && v.kind == HK_BOOL)
        out->v = cast(e, LL_ZEXT, v.v, e->dry ? NULL : element_type(e, DT_BOOL));
    else
        return (dt == DT_I64 && v.kind == HK_INT) || (dt == DT_C128 && v.kind == HK_COMPLEX);
    return true;
}

bool element_place_emit(Emit *e, uint32_t base, const Exec *target, Val v, LlValue *place,
                        Val *element)
{
    *place = element_at(e, base, target);
    return !e->failed && !e->variables[base].at && !e->variables[base].tuple &&
           element_value(e, e->variables[base].dtype, v, element);
}

void element_put(Emit *e, uint32_t base, LlValue place, Val element)
{
    HotVariable *b = &e->variables[base];
    if (!b->stored) {
        b->stored = true;
        e->grew = true;
    }
    store(e, element.v, place);
    if (b->dtype == DT_C128)
        store(e, element.im, behind(e, place));
}

/* Floats by numbers; ints by ints, where the result is one. */
static bool updates_element(DType dt, Val v, int op)
{
    bool whole = op == TK_ADD || op == TK_SUB || op == TK_MUL;
    HotKind narrow = hot_narrow_kind(dt);
    if (dt == DT_I64 || narrow != HK_NOTHING)
        return whole && (v.kind == HK_INT || (v.kind == narrow && v.kind != HK_NOTHING));
    if (dt == DT_C128)
        return whole && (is_number(v) || v.kind == HK_COMPLEX);
    return (dt == DT_F64 || dt == DT_F32) && (whole || op == TK_DIV) && is_number(v);
}

bool element_store_emit(Emit *e, uint32_t base, const Exec *target, Val v, int op)
{
    DType dt = e->variables[base].dtype;
    LlValue place = element_at(e, base, target);
    Val element;
    if (e->failed || e->variables[base].at || e->variables[base].tuple ||
        (op >= 0 && !updates_element(dt, v, op)))
        return false;
    if (op >= 0)
        v = binary_emit(e, op, element_load(e, dt, place), v);
    if (e->failed || !element_value(e, dt, v, &element))
        return false;
    element_put(e, base, place, element);
    return true;
}
