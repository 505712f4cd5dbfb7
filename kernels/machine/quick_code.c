/* Bytes of instructions, where operands lie, moves, calls. */
#include "kernels/machine/quick_code.h"

#include <string.h>

#if defined __x86_64__ && defined __linux__
/* ---- bytes ---- */
void code_byte(Code *c, int byte)
{
    if (c->n < c->room)
        c->bytes[c->n++] = (uint8_t)byte;
    else
        c->q->failed = true;
}

void code_word(Code *c, int64_t word, int bytes)
{
    for (int i = 0; i < bytes; i++)
        code_byte(c, (int)((uint64_t)word >> 8 * i & 0xFF));
}

/* Four bytes that are known later. */
void code_fix(Code *c, FixKind kind, LlBlock b, QuickFunction *f, uint32_t pool, Ins *stub)
{
    Fix *fix = quick_alloc(c->q, sizeof *fix);
    *fix = (Fix){ kind, c->n, b, f, pool, stub, c->fixes };
    c->fixes = fix;
    code_word(c, 0, 4);
}

static void modrm(Code *c, int reg, const Rm *rm)
{
    int r = (reg & 7) << 3, b = rm->base & 7;
    if (rm->kind == RM_REG) {
        code_byte(c, 0xC0 | r | b);
        return;
    }
    if (rm->kind == RM_POOL) {
        code_byte(c, r | 5);
        code_fix(c, FIX_POOL, NULL, NULL, rm->pool, NULL);
        return;
    }
    bool small = rm->shift == (int8_t)rm->shift, none = rm->shift == 0 && b != 5;
    int mod = none ? 0 : small ? 0x40 : 0x80;
    if (rm->index >= 0 || b == 4) {
        int scale = rm->scale == 8 ? 0xC0 : rm->scale == 4 ? 0x80 : 0;
        code_byte(c, mod | r | 4);
        code_byte(c, rm->index >= 0 ? scale | (rm->index & 7) << 3 | b : 0x20 | b);
    } else {
        code_byte(c, mod | r | b);
    }
    if (!none)
        code_word(c, rm->shift, small ? 1 : 4);
}

static void op_rex(Code *c, int prefix, int rex, int opcode, int reg, const Rm *rm)
{
    if (prefix)
        code_byte(c, prefix);
    rex |= (reg > 7) << 2;
    if (rm->kind != RM_POOL)
        rex |= (rm->base > 7) | (rm->kind == RM_MEMORY && rm->index > 7) << 1;
    if (rex)
        code_byte(c, 0x40 | rex);
    if (opcode > 0xFF)
        code_byte(c, opcode >> 8);
    code_byte(c, opcode & 0xFF);
    modrm(c, reg, rm);
}

void code_op(Code *c, int prefix, bool wide, int opcode, int reg, Rm rm)
{
    op_rex(c, prefix, wide ? 8 : 0, opcode, reg, &rm);
}

void code_op_byte(Code *c, int opcode, int reg, Rm rm)
{
    bool low = reg > 3 || (rm.kind == RM_REG && rm.base > 3);
    op_rex(c, 0, low ? 0x40 : 0, opcode, reg, &rm);
}

uint32_t code_constant(Code *c, uint64_t bits)
{
    uint32_t i = 0;
    while (i < c->pool_count && c->pool[i] != bits)
        i++;
    if (i < c->pool_count)
        return i;
    if (i == c->pool_room) {
        uint64_t *old = c->pool;
        c->pool_room = 2 * c->pool_room + 64;
        c->pool = quick_alloc(c->q, c->pool_room * sizeof *old);
        if (c->q->failed)
            return 0;
        if (old)
            memcpy(c->pool, old, i * sizeof *old);
    }
    c->pool[c->pool_count++] = bits;
    return i;
}

/* ---- where operands lie ---- */
Rm rm_slot(uint32_t slot)
{
    return (Rm){ .kind = RM_MEMORY, .base = RSP, .index = -1, .shift = (int32_t)(8 * slot) };
}

int in_register(const Code *c, Operand o)
{
    return o.kind == O_VREG ? c->f->vregs[o.vreg].reg : -1;
}

bool is_real_operand(const Code *c, Operand o)
{
    return o.kind == O_REAL || (o.kind == O_VREG && c->f->vregs[o.vreg].is_real);
}

Rm rm_of(Code *c, Operand o)
{
    if (o.kind == O_VREG) {
        const Vreg *v = &c->f->vregs[o.vreg];
        return v->reg >= 0 ? rm_reg(v->reg) : rm_slot(v->slot);
    }
    return (Rm){ .kind = RM_POOL, .pool = code_constant(c, (uint64_t)o.i) };
}

/* Flags stay as they are. */
void move_int(Code *c, int reg, int64_t i)
{
    if (i >= 0 && i <= UINT32_MAX) {
        if (reg > 7)
            code_byte(c, 0x41);
        code_byte(c, 0xB8 | (reg & 7));
        code_word(c, i, 4);
    } else if (i == (int32_t)i) {
        code_op(c, 0, true, 0xC7, 0, rm_reg(reg));
        code_word(c, i, 4);
    } else {
        code_byte(c, 0x48 | reg >> 3);
        code_byte(c, 0xB8 | (reg & 7));
        code_word(c, i, 8);
    }
}

void into_general(Code *c, int reg, Operand o)
{
    if (o.kind == O_VREG && in_register(c, o) != reg)
        code_op(c, 0, true, 0x8B, reg, rm_of(c, o));
    else if (o.kind != O_VREG)
        move_int(c, reg, o.i);
}

void into_real(Code *c, int reg, Operand o)
{
    int from = in_register(c, o);
    if (from == reg)
        return;
    if (from >= 0)
        code_op(c, 0, false, 0x0F28, reg, rm_reg(from));             /* movaps */
    else if (o.kind != O_VREG && o.i == 0)
        code_op(c, 0, false, 0x0F57, reg, rm_reg(reg));              /* xorps */
    else
        code_op(c, 0xF2, false, 0x0F10, reg, rm_of(c, o));           /* movsd */
}

int general(Code *c, Operand o, int scratch)
{
    int reg = in_register(c, o);
    if (reg >= 0)
        return reg;
    into_general(c, scratch, o);
    return scratch;
}

int real_register(Code *c, Operand o, int scratch)
{
    int reg = in_register(c, o);
    if (reg >= 0)
        return reg;
    into_real(c, scratch, o);
    return scratch;
}

int target(const Code *c, Operand d, int scratch)
{
    int reg = in_register(c, d);
    return reg >= 0 ? reg : scratch;
}

void done(Code *c, Operand d, int reg)
{
    const Vreg *v = &c->f->vregs[d.vreg];
    if (v->reg >= 0 || !v->ranges)
        return;
    if (v->is_real)
        code_op(c, 0xF2, false, 0x0F11, reg, rm_slot(v->slot));
    else
        code_op(c, 0, true, 0x89, reg, rm_slot(v->slot));
}

/* ---- moves that happen at once ---- */
typedef struct Move {
    int to, from;                    /* registers; -1: `to_slot`, `what` */
    uint32_t to_slot;
    Operand what;
} Move;

static void move_one(Code *c, const Move *m, bool reals)
{
    if (m->to < 0) {
        if (reals)
            code_op(c, 0xF2, false, 0x0F11, m->from, rm_slot(m->to_slot));
        else
            code_op(c, 0, true, 0x89, m->from, rm_slot(m->to_slot));
    } else if (m->from < 0) {
        if (reals)
            into_real(c, m->to, m->what);
        else
            into_general(c, m->to, m->what);
    } else if (m->from != m->to) {
        if (reals)
            code_op(c, 0, false, 0x0F28, m->to, rm_reg(m->from));
        else
            code_op(c, 0, true, 0x8B, m->to, rm_reg(m->from));
    }
}

static bool waits(const Move *moves, int n, int k)
{
    for (int i = 0; i < n; i++)
        if (i != k && moves[i].from >= 0 && moves[i].from == moves[k].to)
            return true;
    return false;
}

static void moves_do(Code *c, Move *moves, int n, bool reals)
{
    while (n > 0) {
        int k = 0;
        while (k < n && waits(moves, n, k))
            k++;
        if (k < n) {
            move_one(c, &moves[k], reals);
            moves[k] = moves[--n];
            continue;
        }
        int scratch = reals ? XMM15 : RAX;       /* a circle */
        move_one(c, &(Move){ .to = scratch, .from = moves[0].from }, reals);
        moves[0].from = scratch;
    }
}

static const int8_t int_args[] = { RDI, RSI, RDX, RCX, 8, 9 };
enum { INT_ARGS = 6, REAL_ARGS = 8 };

void emit_params(Code *c)
{
    Move ints[INT_ARGS], reals[REAL_ARGS];
    int n = 0, m = 0, i = 0, r = 0;
    for (uint32_t k = 0; k < c->f->type->count; k++) {
        const Vreg *v = &c->f->vregs[c->f->params[k]->index];
        int from = v->is_real ? r++ : i++;
        if (i > INT_ARGS || r > REAL_ARGS) {
            c->q->failed = true;
            return;
        }
        Move move = { .to = v->reg, .to_slot = v->slot, .from = from };
        if (!v->is_real)
            move.from = int_args[from];
        if (v->ranges && v->is_real)
            reals[m++] = move;
        else if (v->ranges)
            ints[n++] = move;
    }
    moves_do(c, ints, n, false);
    moves_do(c, reals, m, true);
}

/* What lies in registers that the call may change, and is asked for behind it. */
static void around_call(Code *c, const Ins *i, bool back)
{
    uint32_t p = 2 * i->at;
    for (uint32_t k = 0; k < c->f->vreg_count; k++) {
        const Vreg *v = &c->f->vregs[k];
        bool lives = false;
        if (v->reg < 0 || v->calls <= 0 || (!v->is_real && KEPT_GENERAL >> v->reg & 1) ||
            (i->d.kind == O_VREG && i->d.vreg == (int32_t)k))
            continue;                        /* d: an argument until here, the result behind */
        for (const Range *r = v->ranges; r && !lives; r = r->next)
            lives = r->from <= p && r->to > p + 1;
        if (!lives)
            continue;
        if (v->is_real)
            code_op(c, 0xF2, false, back ? 0x0F10 : 0x0F11, v->reg, rm_slot(v->slot));
        else
            code_op(c, 0, true, back ? 0x8B : 0x89, v->reg, rm_slot(v->slot));
    }
}

static void result(Code *c, const Ins *i)
{
    if (i->d.kind == O_VREG && c->f->vregs[i->d.vreg].ranges) {
        bool real = c->f->vregs[i->d.vreg].is_real;
        int reg = target(c, i->d, real ? 0 : RAX);
        if (real && reg != 0)
            code_op(c, 0, false, 0x0F28, reg, rm_reg(0));
        else if (!real && i->bits < 32)
            code_op_byte(c, 0x0FB6, reg, rm_reg(RAX));
        else if (!real && (reg != RAX || i->bits == 32))
            code_op(c, 0, i->bits == 64, 0x8B, reg, rm_reg(RAX));
        done(c, i->d, reg);
    }
    const Ins *second = i->next;
    if (second && second->op == I_SECOND && second->asks == A_FLAG) {
        int reg = target(c, second->d, RDX);
        code_op_byte(c, 0x0FB6, reg, rm_reg(second->sign ? RAX : RDX));
        done(c, second->d, reg);
    }
}

void emit_call(Code *c, Ins *i)
{
    Move ints[INT_ARGS], reals[REAL_ARGS];
    int n = 0, m = 0;
    around_call(c, i, false);
    bool held = i->a.kind == O_VREG;
    if (held)
        code_op(c, 0, true, 0x89, general(c, i->a, RAX), rm_slot(c->f->slots - 1));
    for (uint32_t k = 0; k < i->count; k++) {
        Move move = { .from = in_register(c, i->args[k]), .what = i->args[k] };
        if (is_real_operand(c, i->args[k])) {
            move.to = m;
            reals[m++] = move;
        } else {
            move.to = int_args[n];
            ints[n++] = move;
        }
    }
    moves_do(c, reals, m, true);
    moves_do(c, ints, n, false);
    if (i->callee) {
        code_byte(c, 0xE8);
        code_fix(c, FIX_FUNCTION, NULL, i->callee, 0, NULL);
    } else if (held) {
        code_op(c, 0, false, 0xFF, 2, rm_slot(c->f->slots - 1));
    } else {
        move_int(c, RAX, i->a.i);
        code_op(c, 0, false, 0xFF, 2, rm_reg(RAX));
    }
    result(c, i);
    around_call(c, i, true);
}
#endif
