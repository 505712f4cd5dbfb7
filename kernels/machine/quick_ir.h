/* What the files of the quick generator share: values as they are built, and the instructions of
 * the processor that are selected for them. Everything lives in the context's arena. */
#ifndef RICCI_KERNELS_QUICK_IR_H
#define RICCI_KERNELS_QUICK_IR_H

#include "kernels/machine/quick.h"

/* ---- values ---- */
typedef enum TypeKind {
    QT_VOID, QT_INT, QT_REAL, QT_POINTER, QT_PAIR, QT_FUNCTION, QT_OTHER
} TypeKind;

struct LlTypeOf {
    LlContext q;
    TypeKind kind;
    unsigned bits;
    LlType result, *parts;           /* of a function; parts of a pair too */
    unsigned count;
};

typedef enum ValueOp {
    QV_INT, QV_REAL, QV_UNDEF, QV_PARAM, QV_FUNCTION, QV_INTRINSIC, QV_VARIABLE,
    QV_READ, QV_WRITE,               /* of a variable (a): what BuildAlloca made */
    QV_LOAD, QV_STORE, QV_ADDRESS, QV_BINARY, QV_CHECKED, QV_SECOND, QV_NEGATE, QV_ICMP, QV_FCMP,
    QV_SELECT, QV_CAST, QV_CALL, QV_SQRT, QV_ABS, QV_PAIR, QV_PHI,
    QV_JUMP, QV_BRANCH, QV_RETURN, QV_UNREACHABLE
} ValueOp;

struct LlValueOf {
    uint8_t op, code;                /* code: LLVM's opcode, predicate or cast */
    bool live, is_volatile, rare, sign, deferred;
    int32_t index;                   /* of a variable, a parameter; a vreg */
    uint32_t uses, epoch;
    LlType type;
    LlValue a, b, c, second, same;   /* same: what it turned out to be */
    union { int64_t i; double f; };
    LlBlock block, yes, no;
    LlValue next, before;            /* in its block */
    LlValue *args, chain;
    LlBlock *from;                   /* of a phi */
    uint32_t count;
    int32_t homes[2];                /* variables that may hold it */
    struct QuickFunction *function;
};

typedef struct Ins Ins;

struct LlBlockOf {
    struct QuickFunction *function;
    LlValue first, last;
    LlBlock list, parent;            /* all of the function; the nearest that dominates */
    LlBlock *preds;
    uint32_t pred_count, place, depth, level, epoch, mark;
    bool reached, entered, cold, ended, header, odd;
    LlValue fact;                    /* known here to be fact_is */
    bool fact_is;
    LlValue *now;                    /* what each variable holds at the end */
    uint64_t *written;               /* of a header: variables that its loop writes, */
    LlValue *only;                   /* and the constant, where that is always the same */
    LlBlock *members, loop;          /* of a header: blocks of its loop; the one looked at */
    uint32_t member_count;
    Ins *head, *tail;
    uint64_t *in, *out;              /* vregs that live */
    uint32_t from, to;               /* positions */
    size_t at;                       /* in the code */
};

typedef struct QuickFunction {
    LlContext q;
    const char *name;
    LlValue value, *params;
    LlType type;
    LlBlock blocks, blocks_end, *order;
    LlValue *variables;
    uint32_t block_count, variable_count, variable_room, count, entered;
    struct QuickFunction *next;
    struct Vreg *vregs;
    uint32_t vreg_count, vreg_room, words;
    uint32_t slots, saved;           /* of the frame */
    size_t at;
} QuickFunction;

struct LlContextOf {
    size_t used;                     /* of the arena, which begins here */
    bool failed;
    uint32_t epochs;
    QuickFunction *functions, *last;
    struct LlTypeOf flag;
    LlBlock here;                    /* the builder's */
};

/* A cast beside LLVM's: to float and back to double. */
enum { QUICK_ROUND = 64 };

void *quick_alloc(LlContext, size_t bytes);          /* zeroed */
LlValue quick_value(LlContext, ValueOp, LlType);     /* in no block */
LlValue quick_int(LlType, int64_t);
void quick_insert(LlValue v, LlBlock, LlValue before);   /* NULL: at the end */
void quick_remove(LlValue v);
static inline LlValue quick_real(LlValue v)
{
    while (v && v->same)
        v = v->same;
    return v;
}
static inline bool quick_ends(const struct LlValueOf *v) { return v->op >= QV_JUMP; }
static inline bool quick_is(const struct LlValueOf *v, int64_t i)
{
    return v->op == QV_INT && v->i == i;
}
/* The same value, or constants that are equal to the bit. */
static inline bool quick_same(const struct LlValueOf *a, const struct LlValueOf *b)
{
    return a == b || (a && b && a->op == b->op && a->op <= QV_REAL && a->i == b->i);
}
static inline unsigned quick_bits(LlType t) { return t->kind == QT_INT ? t->bits : 64; }

/* ---- instructions of the processor ---- */
typedef enum OperandKind { O_NONE, O_VREG, O_INT, O_REAL } OperandKind;

typedef struct Operand {
    uint8_t kind;
    union { int32_t vreg; int64_t i; double f; };
} Operand;

typedef enum InsOp {
    I_MOVE, I_BINARY, I_CHECKED, I_SECOND, I_NEGATE, I_ABS, I_SQRT, I_SET, I_SELECT, I_CAST,
    I_LOAD, I_STORE, I_LEA, I_CALL, I_JUMP, I_BRANCH, I_RETURN, I_TRAP
} InsOp;

/* a ? b, a is 1, a is 0, the last overflowed */
typedef enum Asks { A_ICMP, A_FCMP, A_FLAG, A_NOT, A_OVER } Asks;

/* d = a op b; address: x + y * scale + shift; of a select x and y are what is selected. */
struct Ins {
    uint8_t op, code, asks, scale, bits;
    bool sign, undo;
    int32_t shift;
    Operand d, a, b, x, y;
    LlBlock yes, no;
    Operand *args;
    uint32_t count, at;
    QuickFunction *callee;
    Ins *next, *before;
};

typedef struct Range { uint32_t from, to; struct Range *next; } Range;

typedef struct Vreg {
    bool is_real, is_variable;
    int8_t reg;                      /* -1: in the frame */
    uint32_t slot, uses, defs;
    float weight, calls, most;       /* most: of one use */
    Range *ranges;
    int32_t hints[3];
} Vreg;

/* ---- passes, in their order ---- */
void quick_order(QuickFunction *);           /* blocks, loops, dominators */
void quick_enter(QuickFunction *, LlBlock);  /* what variables hold at its beginning */
void quick_simplify(QuickFunction *);
void quick_select(QuickFunction *);
void quick_allocate(QuickFunction *);
void *quick_emit(LlContext, const char *name, QuickPages *);
int quick_each_use(Ins *, Operand **uses, int most);

enum { USES_MOST = 24, GENERAL_REGS = 16, REAL_REGS = 16 };
/* Those that a call keeps. */
enum { KEPT_GENERAL = 1 << 3 | 1 << 5 | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 15 };

#endif
