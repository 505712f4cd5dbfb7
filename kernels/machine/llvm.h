/* LLVM as it is found: the C interface of the newest library that is there, opened when the first
 * loop is hot (llvm.c). RICCI_JIT=0 refuses it. */
#ifndef RICCI_KERNELS_LLVM_H
#define RICCI_KERNELS_LLVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct LlContextOf *LlContext;
typedef struct LlModuleOf *LlModule;
typedef struct LlLayoutOf *LlLayout;
typedef struct LlBuilderOf *LlBuilder;
typedef struct LlTypeOf *LlType;
typedef struct LlValueOf *LlValue;
typedef struct LlBlockOf *LlBlock;
typedef struct LlAttributeOf *LlAttribute;
typedef struct LlMetadataOf *LlMetadata;
typedef struct LlTargetOf *LlTarget;
typedef struct LlMachineOf *LlMachine;
typedef struct LlOptionsOf *LlOptions;
typedef struct LlErrorOf *LlError;
typedef struct LlEngineOf *LlEngine;

typedef struct LlJitOptions {          /* LLVMMCJITCompilerOptions */
    unsigned level;
    int model;
    int no_frame_pointer, fast;
    void *memory;
} LlJitOptions;

/* The numbers of LLVM's C interface, which do not change. */
enum {
    LL_ADD = 8, LL_FADD = 9, LL_SUB = 10, LL_FSUB = 11, LL_MUL = 12, LL_FMUL = 13, LL_UDIV = 14,
    LL_SDIV = 15, LL_FDIV = 16, LL_SREM = 18, LL_SHL = 20, LL_ASHR = 22, LL_AND = 23,
    LL_OR = 24, LL_XOR = 25,
    LL_TRUNC = 30, LL_ZEXT = 31, LL_SEXT = 32, LL_FP_TO_SI = 34, LL_SI_TO_FP = 36,
    LL_FP_TRUNC = 37, LL_FP_EXT = 38, LL_INT_TO_PTR = 40, LL_BITCAST = 41
};
enum {                                 /* of ints */
    LL_EQ = 32, LL_NE, LL_UGT, LL_UGE, LL_ULT, LL_ULE, LL_SGT, LL_SGE, LL_SLT, LL_SLE
};
enum {                                 /* of floats; ordered, but UNE */
    LL_OEQ = 1, LL_OGT, LL_OGE, LL_OLT, LL_OLE, LL_ONE, LL_UNO = 8, LL_UNE = 14
};

/* What code is made for: the processor of here, at the level of RICCI_ISA. */
typedef struct LlHost {
    LlTarget target;
    char *triple, *cpu, *features;
} LlHost;

typedef struct Llvm {
    LlHost host;
#define ROUTINE(member, result, proto) result (*member) proto;
#include "kernels/machine/llvm.def"
#undef ROUTINE
} Llvm;

/* NULL: there is none, or none that knows this processor. */
const Llvm *llvm_open(void);

#endif
