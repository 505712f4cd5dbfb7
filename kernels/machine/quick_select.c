/* From values to the processor's instructions, whose operands are vregs: each variable is one, and
 * so is each value, but where a variable holds the value that one is taken. What comes out unused
 * by that (addresses and comparisons, which are done where they are used) is removed later. */
#include "kernels/machine/quick_ir.h"

#include <string.h>

typedef struct Select {
    QuickFunction *f;
    LlBlock b;
} Select;

/* ---- vregs ---- */
static int32_t vreg_new(QuickFunction *f, bool is_real, bool is_variable)
{
    if (f->vreg_count == f->vreg_room) {
        Vreg *old = f->vregs;
        f->vreg_room = 2 * f->vreg_room + 256;
        f->vregs = quick_alloc(f->q, f->vreg_room * sizeof *old);
        if (f->q->failed)
            return 0;
        if (old)
            memcpy(f->vregs, old, f->vreg_count * sizeof *old);
    }
    f->vregs[f->vreg_count] = (Vreg){ .is_real = is_real, .is_variable = is_variable, .reg = -1,
                                      .hints = { -1, -1, -1 } };
    return (int32_t)f->vreg_count++;
}

static bool is_real(const struct LlValueOf *v) { return v->type && v->type->kind == QT_REAL; }

static Operand vreg_operand(int32_t vreg) { return (Operand){ .kind = O_VREG, .vreg = vreg }; }

static Operand own(Select *s, LlValue v)
{
    if (v->index < 0)
        v->index = vreg_new(s->f, is_real(v), false);
    return vreg_operand(v->index);
}

static Operand operand(Select *s, LlValue v)
{
    switch (v->op) {
    case QV_INT: return (Operand){ .kind = O_INT, .i = v->i };
    case QV_REAL: return (Operand){ .kind = O_REAL, .f = v->f };
    case QV_UNDEF: return is_real(v) ? (Operand){ .kind = O_REAL } : (Operand){ .kind = O_INT };
    case QV_VARIABLE: case QV_FUNCTION: case QV_INTRINSIC: case QV_PAIR:
        s->f->q->failed = true;
        return (Operand){ .kind = O_INT };
    case QV_PARAM: return vreg_operand(v->index);
    default:
        for (int i = 0; i < 2; i++)
            if (v->homes[i] >= 0 && s->b->now[v->homes[i]] == v)
                return vreg_operand(v->homes[i]);
        return own(s, v);
    }
}

static void hint(QuickFunction *f, Operand a, Operand b)
{
    if (a.kind != O_VREG || b.kind != O_VREG || a.vreg == b.vreg)
        return;
    Vreg *v = &f->vregs[a.vreg], *w = &f->vregs[b.vreg];
    if (v->is_real != w->is_real)
        return;
    int i = 0, k = 0;
    while (i < 2 && v->hints[i] >= 0)
        i++;
    while (k < 2 && w->hints[k] >= 0)
        k++;
    v->hints[i] = b.vreg;
    w->hints[k] = a.vreg;
}

static Ins *ins_add(Select *s, InsOp op, Operand d, Operand a, Operand b)
{
    Ins *i = quick_alloc(s->f->q, sizeof *i);
    *i = (Ins){ .op = (uint8_t)op, .bits = 64, .d = d, .a = a, .b = b, .before = s->b->tail };
    *(s->b->tail ? &s->b->tail->next : &s->b->head) = i;
    s->b->tail = i;
    if (op != I_LOAD && op != I_STORE && op != I_CALL)
        hint(s->f, d, a);
    return i;
}

static const Operand none = { .kind = O_NONE };

/* ---- parts ---- */
static void asks(Select *s, Ins *i, LlValue c)
{
    if (c->op == QV_ICMP || c->op == QV_FCMP) {
        i->asks = c->op == QV_ICMP ? A_ICMP : A_FCMP;
        i->code = c->code;
        LlValue a = quick_real(c->a), b = quick_real(c->b);
        i->a = operand(s, a);
        i->b = operand(s, b);
        i->bits = (uint8_t)quick_bits(a->type);
        s->f->q->failed |= c->op == QV_ICMP ? c->code >= LL_SGT && i->bits < 32
                                            : c->code == 0 || c->code > LL_UNE;
        return;
    }
    if (c->deferred) {
        i->asks = A_OVER;
        i->code = c->a->code;
        i->sign = c->a->sign;
        return;
    }
    bool not = c->op == QV_BINARY && c->code == LL_XOR && quick_is(quick_real(c->b), 1);
    i->asks = not ? A_NOT : A_FLAG;
    i->a = operand(s, not ? quick_real(c->a) : c);
}

static bool fits(int64_t i) { return i == (int32_t)i; }

static bool constant_shift(const struct LlValueOf *index, uint32_t size, int64_t *shift)
{
    if (index->op != QV_INT || !fits(index->i))
        return false;
    *shift = index->i * size;
    return fits(*shift);
}

static void address(Select *s, Ins *i, LlValue p)
{
    int64_t shift = 0, more;
    i->scale = 1;
    if (p->op == QV_ADDRESS) {
        LlValue index = quick_real(p->b);
        uint32_t size = p->count;
        if (!constant_shift(index, size, &shift)) {
            if (index->op == QV_BINARY && index->code == LL_ADD &&
                constant_shift(quick_real(index->b), size, &more)) {
                shift = more;
                index = quick_real(index->a);
            }
            i->y = operand(s, index);
            i->scale = (uint8_t)size;
        }
        p = quick_real(p->a);
    }
    if (p->op == QV_ADDRESS && constant_shift(quick_real(p->b), p->count, &more) &&
        fits(shift + more)) {
        shift += more;
        p = quick_real(p->a);
    }
    i->x = operand(s, p);
    i->shift = (int32_t)shift;
}

/* Nothing between the operation and the branch touches flags. */
static bool over_at_end(LlValue checked)
{
    LlValue v = checked->second->next;
    while (v && (v->op == QV_READ || v->op == QV_WRITE || v->op == QV_ADDRESS))
        v = v->next;
    return checked->second->uses == 1 && v && v->op == QV_BRANCH &&
           quick_real(v->a) == checked->second;
}

static void select_checked(Select *s, LlValue v)
{
    bool over = v->second->live;
    Ins *i = ins_add(s, over ? I_CHECKED : I_BINARY, own(s, v), operand(s, v->a), operand(s, v->b));
    i->code = v->code;
    i->sign = v->sign;
    s->f->q->failed |= quick_bits(v->type) != 64;
    v->second->deferred = over && over_at_end(v);
    if (over && !v->second->deferred) {
        i = ins_add(s, I_SECOND, own(s, v->second), none, none);
        i->code = v->code;
        i->sign = v->sign;
        i->asks = A_OVER;
    }
}

static void select_call(Select *s, LlValue v)
{
    enum { INTS = 6, REALS = 8 };
    uint32_t ints = 0, reals = 0;
    bool known = v->a->op == QV_FUNCTION;
    bool nothing = !v->type || v->type->kind == QT_VOID;
    Operand target = known ? none : operand(s, v->a);
    Operand *args = quick_alloc(s->f->q, (v->count + 1) * sizeof *args);
    for (uint32_t k = 0; k < v->count; k++) {
        args[k] = operand(s, v->args[k]);
        *(is_real(v->args[k]) ? &reals : &ints) += 1;
    }
    Ins *i = ins_add(s, I_CALL, nothing ? none : own(s, v), target, none);
    i->args = args;
    i->count = v->count;
    i->callee = known ? v->a->function : NULL;
    i->bits = nothing ? 64 : (uint8_t)quick_bits(v->type);
    s->f->q->failed |= ints > INTS || reals > REALS;
    for (uint32_t k = 0; k < v->count; k++)      /* which kind constants are */
        if (args[k].kind == O_INT && is_real(v->args[k]))
            s->f->q->failed = true;
    if (v->second && v->second->live) {
        i = ins_add(s, I_SECOND, own(s, v->second), none, none);
        i->sign = is_real(v);                    /* the first came in a register of its own */
        i->asks = A_FLAG;
    }
}

static void select_write(Select *s, LlValue v)
{
    LlValue w = v->b;
    int32_t x = v->a->index;
    Operand from = operand(s, w);
    if (from.kind != O_VREG || from.vreg != x)
        ins_add(s, I_MOVE, vreg_operand(x), from, none);
    s->b->now[x] = w;
    if (w->op <= QV_VARIABLE)
        return;
    bool first = w->homes[0] >= 0 && w->homes[0] != x && s->b->now[w->homes[0]] == w;
    w->homes[first] = x;
}

static void select_binary(Select *s, LlValue v)
{
    Ins *i = ins_add(s, I_BINARY, own(s, v), operand(s, v->a), operand(s, v->b));
    i->code = v->code;
    i->bits = (uint8_t)quick_bits(v->type);
    bool division = v->code == LL_SDIV || v->code == LL_UDIV || v->code == LL_SREM;
    bool shift = v->code == LL_SHL || v->code == LL_ASHR;
    bool known = division || v->code <= LL_FDIV || (v->code >= LL_AND && v->code <= LL_XOR) ||
                 (shift && i->bits == 64 && i->b.kind == O_INT);
    s->f->q->failed |= v->code < LL_ADD || !known || (division && i->bits != 64) ||
                       (is_real(v) && (v->code & 1) == 0 && v->code < LL_UDIV);
}

static void select_cast(Select *s, LlValue v)
{
    Ins *i = ins_add(s, v->code == LL_ZEXT ? I_MOVE : I_CAST, own(s, v), operand(s, v->a), none);
    i->code = v->code;
    i->bits = (uint8_t)quick_bits(v->a->type);
    i->scale = (uint8_t)quick_bits(v->type);
    s->f->q->failed |= v->code != LL_ZEXT && v->code != LL_TRUNC && v->code != LL_SEXT &&
                       v->code != LL_SI_TO_FP && v->code != LL_BITCAST && v->code != LL_FP_TO_SI &&
                       v->code != LL_FP_TRUNC && v->code != LL_FP_EXT && v->code != QUICK_ROUND;
}

static void select_select(Select *s, LlValue v)
{
    Ins *i = ins_add(s, I_SELECT, own(s, v), none, none);
    asks(s, i, v->c);
    i->x = operand(s, v->a);
    i->y = operand(s, v->b);
    hint(s->f, i->d, i->y);
    hint(s->f, i->d, i->x);
    i->scale = is_real(v);
}

static void select_end(Select *s, LlValue v)
{
    Ins *i;
    switch (v->op) {
    case QV_JUMP:
        ins_add(s, I_JUMP, none, none, none)->yes = v->yes;
        return;
    case QV_BRANCH:
        i = ins_add(s, I_BRANCH, none, none, none);
        asks(s, i, v->a);
        i->yes = v->yes;
        i->no = v->no;
        return;
    case QV_RETURN:
        i = ins_add(s, I_RETURN, none, operand(s, v->a), none);
        if (s->f->type->result->kind == QT_PAIR && v->b)
            i->b = operand(s, v->b);
        i->scale = is_real(v->a);
        return;
    default:
        ins_add(s, I_TRAP, none, none, none);
    }
}

static void select_value(Select *s, LlValue v)
{
    Ins *i;
    switch (v->op) {
    case QV_READ:
        if (s->b->now[v->a->index] != v) {
            v->homes[0] = v->a->index;
            s->b->now[v->a->index] = v;
        }
        ins_add(s, I_MOVE, own(s, v), vreg_operand(v->a->index), none);
        return;
    case QV_WRITE: select_write(s, v); return;
    case QV_LOAD: case QV_ADDRESS:
        i = ins_add(s, v->op == QV_LOAD ? I_LOAD : I_LEA, own(s, v), none, none);
        address(s, i, v->op == QV_LOAD ? v->a : v);
        i->bits = (uint8_t)quick_bits(v->type);
        return;
    case QV_STORE:
        i = ins_add(s, I_STORE, none, operand(s, v->b), none);
        address(s, i, v->a);
        i->bits = (uint8_t)quick_bits(v->b->type);
        return;
    case QV_BINARY: select_binary(s, v); return;
    case QV_CHECKED: select_checked(s, v); return;
    case QV_NEGATE: ins_add(s, I_NEGATE, own(s, v), operand(s, v->a), none); return;
    case QV_SQRT: ins_add(s, I_SQRT, own(s, v), operand(s, v->a), none); return;
    case QV_ABS: ins_add(s, I_ABS, own(s, v), operand(s, v->a), none); return;
    case QV_ICMP: case QV_FCMP:
        asks(s, ins_add(s, I_SET, own(s, v), none, none), v);
        return;
    case QV_SELECT: select_select(s, v); return;
    case QV_CAST: select_cast(s, v); return;
    case QV_CALL: select_call(s, v); return;
    case QV_SECOND: return;                      /* with what it is the second of */
    default: select_end(s, v);
    }
}

static void uses_count(QuickFunction *f)
{
    for (uint32_t k = 0; k < f->count; k++)
        for (LlValue v = f->order[k]->first; v; v = v->next) {
            const LlValue parts[] = { v->a, v->b, v->c };
            for (int i = 0; i < 3; i++)
                if (parts[i])
                    parts[i]->uses++;
            for (uint32_t i = 0; v->op == QV_CALL && i < v->count; i++)
                v->args[i]->uses++;
        }
}

void quick_select(QuickFunction *f)
{
    Select s = { .f = f };
    for (uint32_t i = 0; i < f->variable_count; i++)
        vreg_new(f, is_real(f->variables[i]), true);
    for (uint32_t i = 0; i < f->type->count; i++)
        f->params[i]->index = vreg_new(f, is_real(f->params[i]), false);
    uses_count(f);
    for (uint32_t i = 0; i < f->count; i++) {
        s.b = f->order[i];
        quick_enter(f, s.b);
        for (LlValue v = s.b->first; v && !f->q->failed; v = v->next)
            select_value(&s, v);
    }
}
