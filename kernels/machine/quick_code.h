/* Bytes of x86-64 instructions: what the two files that write them share. */
#ifndef RICCI_KERNELS_QUICK_CODE_H
#define RICCI_KERNELS_QUICK_CODE_H

#include "kernels/machine/quick_ir.h"

enum { RAX = 0, RCX = 1, RDX = 2, RSP = 4, RSI = 6, RDI = 7, XMM14 = 14, XMM15 = 15 };

/* An operand: a register, memory, or a constant in the pool behind the code. */
typedef struct Rm {
    enum { RM_REG, RM_MEMORY, RM_POOL } kind;
    int base, index, scale;
    int32_t shift;
    uint32_t pool;
} Rm;

typedef enum FixKind { FIX_BLOCK, FIX_POOL, FIX_FUNCTION, FIX_STUB } FixKind;

typedef struct Fix {
    FixKind kind;
    size_t at;
    LlBlock block;
    QuickFunction *function;
    uint32_t pool;
    Ins *stub;
    struct Fix *next;
} Fix;

typedef struct Code {
    LlContext q;
    uint8_t *bytes;
    size_t n, room;
    uint64_t *pool;
    uint32_t pool_count, pool_room;
    Fix *fixes;
    QuickFunction *f;
} Code;

static inline Rm rm_reg(int r) { return (Rm){ .kind = RM_REG, .base = r, .index = -1 }; }

void code_byte(Code *, int);
void code_word(Code *, int64_t, int bytes);
void code_fix(Code *, FixKind, LlBlock, QuickFunction *, uint32_t pool, Ins *stub);
/* opcode: with 0x0F00 in it where there are two bytes; prefix: 0 for none */
void code_op(Code *, int prefix, bool wide, int opcode, int reg, Rm);
void code_op_byte(Code *, int opcode, int reg, Rm);      /* of 8 bits */
uint32_t code_constant(Code *, uint64_t bits);
Rm rm_slot(uint32_t slot);
Rm rm_of(Code *, Operand);               /* a vreg or a constant */
int in_register(const Code *, Operand);  /* -1: it is not */
void move_int(Code *, int reg, int64_t);
int general(Code *, Operand, int scratch);
int real_register(Code *, Operand, int scratch);
int target(const Code *, Operand d, int scratch);
void done(Code *, Operand d, int reg);   /* from where target() said to where d lies */
void into_general(Code *, int reg, Operand);
void into_real(Code *, int reg, Operand);
bool is_real_operand(const Code *, Operand);
void emit_binary(Code *, const Ins *);
void emit_call(Code *, Ins *);
void emit_params(Code *);

#endif
