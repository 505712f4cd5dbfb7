/* Machine code made at run time: a module of LLVM's that somebody fills, then a function. Pages are
 * written first and executed after, never both (LLVM's memory manager). */
#ifndef RICCI_KERNELS_MACHINE_CODE_H
#define RICCI_KERNELS_MACHINE_CODE_H

#include "kernels/machine/llvm.h"

typedef struct MachineDraft {          /* being made */
    const Llvm *ll;
    LlContext context;
    LlModule module;
    LlBuilder builder;
} MachineDraft;

typedef struct MachineCode {           /* made; all NULL: there is none */
    LlEngine engine;
    LlContext context;
} MachineCode;

/* false: there is no LLVM here */
bool machine_begin(MachineDraft *);
void machine_drop(MachineDraft *);
/* Adds a function, for the processor of here at the level of RICCI_ISA. */
LlValue machine_function(const MachineDraft *, const char *name, LlType, bool ours_alone);
/* Optimises and compiles what the draft holds, which is used up. The address of the function of
 * that name, or NULL. vectorise: there are loops that can gain by it. */
void *machine_finish(MachineDraft *, const char *name, bool vectorise, MachineCode *);
void machine_free(MachineCode *);

#endif
