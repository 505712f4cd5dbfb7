/* The registry's insides, shared by registry.c, which fills it, and the door
 * (dispatch, elementwise, arith), which reads it. Everybody else uses op.h. */
#ifndef RICCI_INTERP_OPTABLE_H
#define RICCI_INTERP_OPTABLE_H

#include "core/memory/arena.h"
#include "interp/op/op.h"

/* What an elementwise row does with a promoted dtype; found on first use, since asking for
 * a kernel may load the library that it is in. */
typedef struct Kernel {
    EwFn fn;                   /* NULL: the row lacks the dtype */
    bool known;
    uint8_t compute, result;   /* DType */
} Kernel;

typedef struct OpKept OpKept;

typedef struct OpTable {
    Ctx *ctx;
    OpRows rows;
    Arena arena;                          /* parsed parameters */
    const Op **by_name;                   /* by Name.id */
    uint32_t by_name_count;
    /* rows that op_add brought: behind the table's in what is per row */
    int added;
    int room;                             /* for how many rows that is */
    const Op *by_operator[TK_OPERATORS];
    OpSig **sigs;                         /* per row, NULL until asked for */
    OpRecord *records;                    /* per row */
    uint8_t operator_of[EW_COUNT + 1];    /* Operator of an elementwise row, or TK_OPERATORS */
    Kernel kernels[EW_COUNT + 1][DT_COUNT];
    char text[4][256];                    /* ring behind op_signature */
    unsigned text_next;
    OpKept *kept;                         /* what op_state has made */
} OpTable;

int op_index(const OpTable *, const Op *);

void optable_fill(Kernel *, EwOp, DType);
static inline const Kernel *op_kernel(OpTable *t, EwOp ew, DType dt)
{
    Kernel *k = &t->kernels[ew][dt];
    if (__builtin_expect(!k->known, 0))
        optable_fill(k, ew, dt);
    return k;
}

/* op_call where argument i is operand[i] of the call as written (NULL: operand i). */
Value op_call_bound(Interp *, const Op *, Value *args, int count, unsigned weak,
                    const int8_t *operand);

#endif
