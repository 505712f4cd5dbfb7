/* Machine code made at run time: a module that somebody fills, then a function; by LLVM, or by the
 * quick generator of our own behind the same table (quick.h). Pages are written first and executed
 * after, never both. */
#ifndef RICCI_KERNELS_MACHINE_CODE_H
#define RICCI_KERNELS_MACHINE_CODE_H

#include "kernels/machine/llvm.h"
#include "kernels/machine/quick.h"

typedef enum MachineKind { MACHINE_LLVM, MACHINE_QUICK } MachineKind;

typedef struct MachineDraft {          /* being made */
    MachineKind kind;
    const Llvm *ll;
    LlContext context;
    LlModule module;
    LlBuilder builder;
} MachineDraft;

typedef struct MachineCode {           /* made; all NULL: there is none */
    LlEngine engine;
    LlContext context;
    QuickPages pages;
} MachineCode;

bool machine_has_quick(void);
/* false: there is none of that kind here */
bool machine_begin(MachineDraft *, MachineKind);
void machine_drop(MachineDraft *);
/* Adds a function, for the processor of here at the level of RICCI_ISA. */
LlValue machine_function(const MachineDraft *, const char *name, LlType, bool ours_alone);
/* Optimises and compiles what the draft holds, which is used up. The address of the function of
 * that name, or NULL. vectorise: there are loops that can gain by it. */
void *machine_finish(MachineDraft *, const char *name, bool vectorise, MachineCode *);
void machine_free(MachineCode *);

#endif
