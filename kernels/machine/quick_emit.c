/* The processor's instructions for each of ours. RAX, RDX, XMM14 and XMM15 belong to nobody: what
 * lies in the frame goes through them. */
#include "kernels/machine/quick_code.h"

#include <string.h>
#include <sys/mman.h>

#if defined __x86_64__ && defined __linux__
enum { CC_O = 0, CC_B = 2, CC_AE = 3, CC_E = 4, CC_NE = 5, CC_BE = 6, CC_A = 7, CC_P = 10,
       CC_NP = 11 };

/* A condition: of the flags, and not unordered (AND), or unordered too (OR). */
typedef struct Cond { int cc; enum { PLAIN, AND_ORDERED, OR_UNORDERED } kind; } Cond;

static Cond inverse(Cond c)
{
    return (Cond){ c.cc ^ 1, c.kind == PLAIN ? PLAIN : c.kind == AND_ORDERED ? OR_UNORDERED
                                                                             : AND_ORDERED };
}

/* ---- comparisons ---- */
static Cond compare_ints(Code *c, const Ins *i)
{
    static const uint8_t codes[] = { CC_E, CC_NE, CC_A, CC_AE, CC_B, CC_BE, 15, 13, 12, 14 };
    static const uint8_t swapped[] = { CC_E, CC_NE, CC_B, CC_BE, CC_A, CC_AE, 12, 14, 15, 13 };
    Operand a = i->a, b = i->b;
    bool wide = i->bits != 32, swap = a.kind == O_INT && b.kind == O_VREG;
    if (swap) {
        a = i->b;
        b = i->a;
    }
    Cond cond = { swap ? swapped[i->code - LL_EQ] : codes[i->code - LL_EQ], PLAIN };
    int reg = in_register(c, a);
    if (b.kind == O_INT && b.i == (int32_t)b.i) {
        if (a.kind == O_INT)
            reg = general(c, a, RAX);
        Rm rm = reg >= 0 ? rm_reg(reg) : rm_of(c, a);
        if (reg >= 0 && b.i == 0) {
            code_op(c, 0, wide, 0x85, reg, rm);
        } else {
            bool small = b.i == (int8_t)b.i;
            code_op(c, 0, wide, small ? 0x83 : 0x81, 7, rm);
            code_word(c, b.i, small ? 1 : 4);
        }
        return cond;
    }
    if (b.kind == O_INT || in_register(c, b) < 0)
        code_op(c, 0, wide, 0x3B, general(c, a, RAX), b.kind == O_INT
                ? rm_reg(general(c, b, RDX)) : rm_of(c, b));
    else
        code_op(c, 0, wide, 0x39, in_register(c, b), reg >= 0 ? rm_reg(reg) : a.kind == O_INT
                ? rm_reg(general(c, a, RAX)) : rm_of(c, a));
    return cond;
}

static Cond compare_reals(Code *c, const Ins *i)
{
    static const struct { uint8_t swap, cc, kind; } how[16] = {
        [1] = { 0, CC_E, AND_ORDERED }, [2] = { 0, CC_A, PLAIN }, [3] = { 0, CC_AE, PLAIN },
        [4] = { 1, CC_A, PLAIN }, [5] = { 1, CC_AE, PLAIN }, [6] = { 0, CC_NE, PLAIN },
        [7] = { 0, CC_NP, PLAIN }, [8] = { 0, CC_P, PLAIN }, [9] = { 0, CC_E, PLAIN },
        [10] = { 1, CC_B, PLAIN }, [11] = { 1, CC_BE, PLAIN }, [12] = { 0, CC_B, PLAIN },
        [13] = { 0, CC_BE, PLAIN }, [14] = { 0, CC_NE, OR_UNORDERED },
    };
    Operand a = how[i->code].swap ? i->b : i->a, b = how[i->code].swap ? i->a : i->b;
    int reg = real_register(c, a, XMM15);
    code_op(c, 0x66, false, 0x0F2E, reg, rm_of(c, b));
    return (Cond){ how[i->code].cc, how[i->code].kind };
}

static int over_code(const Ins *i)
{
    return i->sign || i->code == LL_MUL ? CC_O : CC_B;
}

static Cond asked(Code *c, const Ins *i)
{
    switch (i->asks) {
    case A_ICMP: return compare_ints(c, i);
    case A_FCMP: return compare_reals(c, i);
    case A_OVER: return (Cond){ over_code(i), PLAIN };
    default: {
        int reg = general(c, i->a, RAX);
        code_op(c, 0, false, 0x85, reg, rm_reg(reg));
        return (Cond){ i->asks == A_NOT ? CC_E : CC_NE, PLAIN };
    }
    }
}

static void set_code(Code *c, int reg, int cc) { code_op_byte(c, 0x0F90 | cc, 0, rm_reg(reg)); }

static void emit_set(Code *c, const Ins *i, Cond cond)
{
    int reg = target(c, i->d, RAX);
    set_code(c, RAX, cond.cc);
    if (cond.kind != PLAIN) {
        set_code(c, RDX, cond.kind == AND_ORDERED ? CC_NP : CC_P);
        code_op_byte(c, cond.kind == AND_ORDERED ? 0x22 : 0x0A, RAX, rm_reg(RDX));
    }
    code_op_byte(c, 0x0FB6, reg, rm_reg(RAX));
    done(c, i->d, reg);
}

/* ---- jumps inside an instruction ---- */
static size_t skip_if(Code *c, int cc)
{
    code_byte(c, 0x70 | cc);
    code_byte(c, 0);
    return c->n;
}

static void skip_to_here(Code *c, size_t from)
{
    if (!c->q->failed)
        c->bytes[from - 1] = (uint8_t)(c->n - from);
}

/* d is y, but x if so. */
static void select_reals(Code *c, const Ins *i, Cond cond)
{
    int d = target(c, i->d, XMM15);
    bool there = in_register(c, i->x) == d;
    Operand first = there ? i->x : i->y, then = there ? i->y : i->x;
    if (there)
        cond = inverse(cond);
    into_real(c, d, first);
    size_t skips[2] = { 0, 0 }, over = 0;
    if (cond.kind == OR_UNORDERED)
        over = skip_if(c, CC_P);                 /* to the move itself */
    skips[0] = skip_if(c, cond.cc ^ 1);
    if (cond.kind == AND_ORDERED)
        skips[1] = skip_if(c, CC_P);
    if (over)
        skip_to_here(c, over);
    into_real(c, d, then);
    skip_to_here(c, skips[0]);
    if (skips[1])
        skip_to_here(c, skips[1]);
    done(c, i->d, d);
}

static void select_ints(Code *c, const Ins *i, Cond cond)
{
    int d = target(c, i->d, RAX);
    Operand x = i->x, y = i->y;
    if (cond.kind == AND_ORDERED || (cond.kind == PLAIN && in_register(c, x) == d)) {
        x = i->y;
        y = i->x;
        cond = inverse(cond);
    }
    if (in_register(c, x) == d)
        d = RAX;
    Rm from = x.kind == O_INT ? rm_reg(general(c, x, RDX)) : rm_of(c, x);
    into_general(c, d, y);
    code_op(c, 0, true, 0x0F40 | cond.cc, d, from);
    if (cond.kind == OR_UNORDERED)
        code_op(c, 0, true, 0x0F40 | CC_P, d, from);
    if (in_register(c, i->d) >= 0 && in_register(c, i->d) != d)
        code_op(c, 0, true, 0x8B, in_register(c, i->d), rm_reg(d));
    done(c, i->d, d);
}

/* ---- arithmetic ---- */
static bool commutes(int code)
{
    return code == LL_ADD || code == LL_MUL || code == LL_AND || code == LL_OR || code == LL_XOR ||
           code == LL_FADD || code == LL_FMUL;
}

static void binary_reals(Code *c, const Ins *i)
{
    Operand a = i->a, b = i->b;
    int op = i->code == LL_FADD ? 0x0F58 : i->code == LL_FSUB ? 0x0F5C
           : i->code == LL_FMUL ? 0x0F59 : 0x0F5E;
    int d = target(c, i->d, XMM15);
    if (in_register(c, b) == d && in_register(c, a) != d) {
        if (commutes(i->code)) {
            Operand t = a;
            a = b;
            b = t;
        } else {
            into_real(c, XMM15, a);
            code_op(c, 0xF2, false, op, XMM15, rm_of(c, b));
            code_op(c, 0, false, 0x0F28, d, rm_reg(XMM15));
            return;
        }
    }
    into_real(c, d, a);
    code_op(c, 0xF2, false, op, d, rm_of(c, b));
    done(c, i->d, d);
}

static void narrow(Code *c, int reg, int bits)
{
    if (bits == 32) {
        code_op(c, 0, false, 0x8B, reg, rm_reg(reg));
    } else if (bits < 32) {
        code_op_byte(c, 0x0FB6, reg, rm_reg(reg));
        if (bits == 1) {
            code_op(c, 0, false, 0x83, 4, rm_reg(reg));
            code_byte(c, 1);
        }
    }
}

static void divide(Code *c, const Ins *i)
{
    bool sign = i->code != LL_UDIV;
    into_general(c, RAX, i->a);
    if (sign)
        code_word(c, 0x9948, 2);                 /* cqo */
    else
        code_word(c, 0xD231, 2);                 /* xor edx, edx */
    code_op(c, 0, true, 0xF7, sign ? 7 : 6, rm_of(c, i->b));
    int from = i->code == LL_SREM ? RDX : RAX, d = target(c, i->d, from);
    if (d != from)
        code_op(c, 0, true, 0x8B, d, rm_reg(from));
    done(c, i->d, d);
}

static void multiply_unsigned(Code *c, const Ins *i)
{
    into_general(c, RAX, i->a);
    code_op(c, 0, true, 0xF7, 4, rm_of(c, i->b));
    int d = target(c, i->d, RAX);
    if (d != RAX)
        code_op(c, 0, true, 0x8B, d, rm_reg(RAX));
    done(c, i->d, d);
}

/* d op= b. */
static void operate(Code *c, int code, int d, Operand b)
{
    int op = code == LL_ADD ? 0x03 : code == LL_SUB ? 0x2B : code == LL_AND ? 0x23
           : code == LL_OR ? 0x0B : code == LL_XOR ? 0x33 : 0x0FAF;
    if (code == LL_SHL || code == LL_ASHR) {         /* by a constant */
        code_op(c, 0, true, 0xC1, code == LL_SHL ? 4 : 7, rm_reg(d));
        code_word(c, b.i, 1);
    } else if (b.kind != O_INT) {
        code_op(c, 0, true, op, d, rm_of(c, b));
    } else if (b.i != (int32_t)b.i) {
        move_int(c, RDX, b.i);
        code_op(c, 0, true, op, d, rm_reg(RDX));
    } else if (code == LL_MUL) {
        code_op(c, 0, true, 0x69, d, rm_reg(d));
        code_word(c, b.i, 4);
    } else {
        bool small = b.i == (int8_t)b.i;
        code_op(c, 0, true, small ? 0x83 : 0x81, op >> 3, rm_reg(d));
        code_word(c, b.i, small ? 1 : 4);
    }
}

static bool by_address(Code *c, const Ins *i)
{
    int a = in_register(c, i->a), b = in_register(c, i->b), d = in_register(c, i->d);
    bool constant = i->b.kind == O_INT && i->b.i == (int32_t)i->b.i;
    if (i->op != I_BINARY || i->code != LL_ADD || i->bits != 64 || a < 0 || d < 0 || d == a ||
        d == b || (b < 0 && !constant))
        return false;
    Rm rm = { .kind = RM_MEMORY, .base = a, .index = b, .scale = 1,
              .shift = constant ? (int32_t)i->b.i : 0 };
    code_op(c, 0, true, 0x8D, d, rm);
    return true;
}

static void binary_ints(Code *c, const Ins *i)
{
    Operand a = i->a, b = i->b;
    int d = target(c, i->d, RAX);
    if (by_address(c, i))
        return;
    if (in_register(c, b) == d && in_register(c, a) != d) {
        if (commutes(i->code)) {
            Operand t = a;
            a = b;
            b = t;
        } else {
            d = RAX;
        }
    }
    into_general(c, d, a);
    operate(c, i->code, d, b);
    if (i->code == LL_ADD || i->code == LL_SUB || i->code == LL_MUL)
        narrow(c, d, i->bits);
    if (in_register(c, i->d) >= 0 && in_register(c, i->d) != d)
        code_op(c, 0, true, 0x8B, in_register(c, i->d), rm_reg(d));
    done(c, i->d, d);
}

void emit_binary(Code *c, const Ins *i)
{
    if (c->f->vregs[i->d.vreg].is_real)
        binary_reals(c, i);
    else if (i->code == LL_SDIV || i->code == LL_UDIV || i->code == LL_SREM)
        divide(c, i);
    else if (i->op == I_CHECKED && i->code == LL_MUL && !i->sign)
        multiply_unsigned(c, i);
    else
        binary_ints(c, i);
}

/* ---- the sign, the root ---- */
static void emit_unary_real(Code *c, const Ins *i)
{
    static const uint64_t sign = (uint64_t)1 << 63;
    int d = target(c, i->d, XMM15);
    into_real(c, d, i->a);
    if (i->op == I_SQRT) {
        code_op(c, 0xF2, false, 0x0F51, d, rm_reg(d));
    } else {
        Rm mask = { .kind = RM_POOL, .pool = code_constant(c, i->op == I_ABS ? ~sign : sign) };
        code_op(c, 0xF2, false, 0x0F10, XMM14, mask);
        code_op(c, 0x66, false, i->op == I_ABS ? 0x0F54 : 0x0F57, d, rm_reg(XMM14));
    }
    done(c, i->d, d);
}

/* ---- moves and conversions ---- */
static void emit_move(Code *c, const Ins *i)
{
    const Vreg *v = &c->f->vregs[i->d.vreg];
    if (v->is_real && (v->reg >= 0 || i->a.kind == O_VREG)) {
        int from = v->reg >= 0 ? v->reg : real_register(c, i->a, XMM15);
        if (v->reg >= 0)
            into_real(c, v->reg, i->a);
        done(c, i->d, from);
    } else if (v->reg >= 0) {
        into_general(c, v->reg, i->a);
    } else if (i->a.kind != O_VREG && i->a.i == (int32_t)i->a.i) {
        code_op(c, 0, true, 0xC7, 0, rm_slot(v->slot));
        code_word(c, i->a.i, 4);
    } else {
        code_op(c, 0, true, 0x89, general(c, i->a, RAX), rm_slot(v->slot));
    }
}

static void sign_extend(Code *c, int d, int from, int bits)
{
    if (bits == 1) {
        if (d != from)
            code_op(c, 0, true, 0x8B, d, rm_reg(from));
        code_op(c, 0, true, 0xF7, 3, rm_reg(d));             /* neg */
    } else if (bits == 8) {
        code_op(c, 0, true, 0x0FBE, d, rm_reg(from));
    } else {
        code_op(c, 0, true, bits == 32 ? 0x63 : 0x8B, d, rm_reg(from));
    }
}

/* Between a double and the 32 bits of a float. */
static void emit_float(Code *c, const Ins *i)
{
    bool real = c->f->vregs[i->d.vreg].is_real;
    int d = target(c, i->d, real ? XMM15 : RAX), from = XMM15;
    if (i->code == LL_FP_EXT) {
        from = d;
        code_op(c, 0x66, false, 0x0F6E, d, rm_reg(general(c, i->a, RAX)));
    } else {
        Rm a = rm_of(c, i->a);
        code_op(c, 0, false, 0x0F57, XMM15, rm_reg(XMM15));
        code_op(c, 0xF2, false, 0x0F5A, XMM15, a);
    }
    if (i->code == LL_FP_TRUNC)
        code_op(c, 0x66, false, 0x0F7E, XMM15, rm_reg(d));
    else
        code_op(c, 0xF3, false, 0x0F5A, d, rm_reg(from));
    done(c, i->d, d);
}

static void emit_cast(Code *c, const Ins *i)
{
    bool real = c->f->vregs[i->d.vreg].is_real;
    int d = target(c, i->d, real ? XMM15 : RAX);
    if (i->code == LL_FP_TRUNC || i->code == LL_FP_EXT || i->code == QUICK_ROUND) {
        emit_float(c, i);
        return;
    }
    if (i->code == LL_SI_TO_FP) {
        Rm from = i->a.kind == O_VREG ? rm_of(c, i->a) : rm_reg(general(c, i->a, RAX));
        if (i->bits < 64) {
            sign_extend(c, RAX, general(c, i->a, RAX), i->bits);
            from = rm_reg(RAX);
        }
        code_op(c, 0, false, 0x0F57, d, rm_reg(d));          /* waits for nobody */
        code_op(c, 0xF2, true, 0x0F2A, d, from);
    } else if (i->code == LL_BITCAST && real) {
        code_op(c, 0x66, true, 0x0F6E, d, rm_reg(general(c, i->a, RAX)));
    } else if (i->code == LL_BITCAST) {
        code_op(c, 0x66, true, 0x0F7E, real_register(c, i->a, XMM15), rm_reg(d));
    } else if (is_real_operand(c, i->a)) {
        code_op(c, 0xF2, true, 0x0F2C, d, rm_of(c, i->a));
    } else if (i->code == LL_SEXT) {
        sign_extend(c, d, general(c, i->a, RAX), i->bits);
        narrow(c, d, i->scale);
    } else {
        into_general(c, d, i->a);
        narrow(c, d, i->scale);
    }
    done(c, i->d, d);
}

/* ---- memory ---- */
static Rm memory(Code *c, const Ins *i)
{
    Rm rm = { .kind = RM_MEMORY, .base = general(c, i->x, RAX), .index = -1, .scale = i->scale,
              .shift = i->shift };
    if (i->y.kind != O_NONE)
        rm.index = general(c, i->y, RDX);
    return rm;
}

static void emit_load(Code *c, const Ins *i)
{
    bool real = c->f->vregs[i->d.vreg].is_real;
    int d = target(c, i->d, real ? XMM15 : RAX);
    Rm rm = memory(c, i);
    if (i->op == I_LEA)
        code_op(c, 0, true, 0x8D, d, rm);
    else if (real)
        code_op(c, 0xF2, false, 0x0F10, d, rm);
    else if (i->bits < 32)
        code_op(c, 0, false, 0x0FB6, d, rm);
    else
        code_op(c, 0, i->bits == 64, 0x8B, d, rm);
    done(c, i->d, d);
}

static void store_constant(Code *c, const Ins *i, Rm rm)
{
    if (i->bits < 32)
        code_op(c, 0, false, 0xC6, 0, rm);
    else
        code_op(c, 0, i->bits == 64, 0xC7, 0, rm);
    code_word(c, i->a.i, i->bits < 32 ? 1 : 4);
}

static void emit_store(Code *c, const Ins *i)
{
    Rm rm = memory(c, i);
    bool immediate = i->a.kind == O_INT && i->a.i == (int32_t)i->a.i;
    if (is_real_operand(c, i->a)) {
        code_op(c, 0xF2, false, 0x0F11, real_register(c, i->a, XMM15), rm);
        return;
    }
    if (immediate) {
        store_constant(c, i, rm);
        return;
    }
    int reg = in_register(c, i->a);
    if (reg < 0) {
        if (rm.index == RDX) {
            code_op(c, 0, true, 0x8D, RAX, rm);
            rm = (Rm){ .kind = RM_MEMORY, .base = RAX, .index = -1 };
        }
        reg = general(c, i->a, RDX);
    }
    if (i->bits < 32)
        code_op_byte(c, 0x88, reg, rm);
    else
        code_op(c, 0, i->bits == 64, 0x89, reg, rm);
}

/* ---- ends ---- */
static void jump_to(Code *c, LlBlock to)
{
    code_byte(c, 0xE9);
    code_fix(c, FIX_BLOCK, to, NULL, 0, NULL);
}

static void jump_if(Code *c, int cc, LlBlock to, Ins *stub)
{
    code_byte(c, 0x0F);
    code_byte(c, 0x80 | cc);
    code_fix(c, stub ? FIX_STUB : FIX_BLOCK, to, NULL, 0, stub);
}

static void emit_branch(Code *c, Ins *i, const struct LlBlockOf *next)
{
    Cond cond = asked(c, i);
    LlBlock yes = i->yes, no = i->no;
    if (yes == next && !i->undo) {
        yes = i->no;
        no = i->yes;
        cond = inverse(cond);
    }
    if (cond.kind == AND_ORDERED) {
        size_t skip = 0;
        if (no == next)
            skip = skip_if(c, CC_P);
        else
            jump_if(c, CC_P, no, NULL);
        jump_if(c, cond.cc, yes, NULL);
        if (skip)
            skip_to_here(c, skip);
    } else {
        if (cond.kind == OR_UNORDERED)
            jump_if(c, CC_P, yes, NULL);
        jump_if(c, cond.cc, yes, i->undo ? i : NULL);
    }
    if (no != next)
        jump_to(c, no);
}

/* To a block that only asks: it is asked here. */
static void emit_jump(Code *c, const Ins *i, const struct LlBlockOf *next)
{
    Ins *first = i->yes->head;
    if (i->yes == next)
        return;
    if (first->op == I_BRANCH && first->asks != A_OVER && !first->undo)
        emit_branch(c, first, next);
    else
        jump_to(c, i->yes);
}

static const int8_t kept[] = { 3, 5, 12, 13, 14, 15 };
enum { KEPT = 6 };

static uint32_t frame(const QuickFunction *f)
{
    uint32_t pushed = (uint32_t)__builtin_popcount(f->saved), slots = f->slots;
    return 8 * (slots + (pushed + slots + 1) % 2);
}

static void emit_return(Code *c, const Ins *i)
{
    bool real = is_real_operand(c, i->a);
    if (real)
        into_real(c, 0, i->a);
    else if (i->a.kind != O_NONE)
        into_general(c, RAX, i->a);
    if (i->b.kind != O_NONE)
        into_general(c, real ? RAX : RDX, i->b);
    code_op(c, 0, true, 0x81, 0, rm_reg(RSP));
    code_word(c, frame(c->f), 4);
    for (int k = KEPT - 1; k >= 0; k--)
        if (c->f->saved >> kept[k] & 1) {
            if (kept[k] > 7)
                code_byte(c, 0x41);
            code_byte(c, 0x58 | (kept[k] & 7));
        }
    code_byte(c, 0xC3);
}

/* ---- the whole ---- */
static void emit_ins(Code *c, Ins *i, const struct LlBlockOf *next)
{
    Cond cond;
    switch ((InsOp)i->op) {
    case I_MOVE: emit_move(c, i); return;
    case I_BINARY: case I_CHECKED: emit_binary(c, i); return;
    case I_SECOND:
        if (i->asks == A_OVER)
            emit_set(c, i, (Cond){ over_code(i), PLAIN });
        return;
    case I_NEGATE: case I_ABS: case I_SQRT: emit_unary_real(c, i); return;
    case I_SET:
        cond = asked(c, i);
        emit_set(c, i, cond);
        return;
    case I_SELECT:
        cond = asked(c, i);
        if (c->f->vregs[i->d.vreg].is_real)
            select_reals(c, i, cond);
        else
            select_ints(c, i, cond);
        return;
    case I_CAST: emit_cast(c, i); return;
    case I_LOAD: case I_LEA: emit_load(c, i); return;
    case I_STORE: emit_store(c, i); return;
    case I_CALL: emit_call(c, i); return;
    case I_JUMP: emit_jump(c, i, next); return;
    case I_BRANCH: emit_branch(c, i, next); return;
    case I_RETURN: emit_return(c, i); return;
    default: code_word(c, 0x0B0F, 2);            /* ud2 */
    }
}

/* Takes back what overflowed, then leaves. */
static void emit_stubs(Code *c, const Fix *before)
{
    for (Fix *fix = c->fixes; fix != before; fix = fix->next) {
        if (fix->kind != FIX_STUB)
            continue;
        const Ins *i = fix->stub;
        size_t at = c->n;
        emit_binary(c, &(Ins){ .op = I_BINARY, .bits = 64, .d = i->a, .a = i->a, .b = i->x,
                               .code = i->code == LL_ADD ? LL_SUB : LL_ADD });
        jump_to(c, i->yes);
        fix->pool = (uint32_t)at;
    }
}

static void emit_function(Code *c, QuickFunction *f)
{
    enum { HEADER = 16, NOP = 0x90 };
    const Fix *before = c->fixes;
    c->f = f;
    f->slots++;                                  /* what is called */
    while (c->n % HEADER)
        code_byte(c, NOP);
    f->at = c->n;
    for (int k = 0; k < KEPT; k++)
        if (f->saved >> kept[k] & 1) {
            if (kept[k] > 7)
                code_byte(c, 0x41);
            code_byte(c, 0x50 | (kept[k] & 7));
        }
    code_op(c, 0, true, 0x81, 5, rm_reg(RSP));
    code_word(c, frame(f), 4);
    emit_params(c);
    for (uint32_t k = 0; k < f->count && !c->q->failed; k++) {
        LlBlock b = f->order[k];
        const struct LlBlockOf *next = k + 1 < f->count ? f->order[k + 1] : NULL;
        b->at = c->n;
        for (Ins *i = b->head; i; i = i->next)
            emit_ins(c, i, next);
    }
    emit_stubs(c, before);
}

static void fixes_apply(Code *c, size_t pool)
{
    for (const Fix *fix = c->fixes; fix; fix = fix->next) {
        size_t to = fix->kind == FIX_BLOCK ? fix->block->at
                  : fix->kind == FIX_FUNCTION ? fix->function->at
                  : fix->kind == FIX_STUB ? fix->pool : pool + 8 * (size_t)fix->pool;
        int32_t by = (int32_t)((int64_t)to - (int64_t)(fix->at + 4));
        memcpy(c->bytes + fix->at, &by, sizeof by);
    }
}

static size_t room_for(const QuickFunction *functions)
{
    enum { MOST = 80, AROUND_CALL = 64 * 10, OF_FUNCTION = 512 };
    size_t room = 64;
    for (const QuickFunction *f = functions; f; f = f->next) {
        room += OF_FUNCTION;
        for (uint32_t k = 0; k < f->count; k++)
            for (const Ins *i = f->order[k]->head; i; i = i->next)
                room += i->op == I_CALL ? AROUND_CALL : MOST;
    }
    return room;
}

/* Written first, executed after: never both. */
static bool pages_make(Code *c, size_t pool, QuickPages *pages)
{
    size_t bytes = pool + 8 * (size_t)c->pool_count, page = 4096;
    bytes = (bytes + page - 1) / page * page;
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return false;
    memcpy(at, c->bytes, c->n);
    if (c->pool_count)
        memcpy(at + pool, c->pool, 8 * (size_t)c->pool_count);
    if (mprotect(at, bytes, PROT_READ | PROT_EXEC) != 0) {
        munmap(at, bytes);
        return false;
    }
    *pages = (QuickPages){ at, bytes };
    return true;
}

void *quick_emit(LlContext q, const char *name, QuickPages *pages)
{
    Code c = { .q = q, .room = room_for(q->functions) };
    const QuickFunction *wanted = q->functions;
    c.bytes = quick_alloc(q, c.room);
    while (wanted && strcmp(wanted->name, name) != 0)
        wanted = wanted->next;
    for (QuickFunction *f = q->functions; f && !q->failed; f = f->next)
        emit_function(&c, f);
    if (q->failed || !wanted)
        return NULL;
    size_t pool = (c.n + 7) & ~(size_t)7;
    fixes_apply(&c, pool);
    return pages_make(&c, pool, pages) ? (char *)pages->at + wanted->at : NULL;
}
#endif
