/* A quick generator of machine code behind the table of llvm.h: for x86-64, one pass over
 * instructions for each thing that pays, in tenths of a millisecond where LLVM takes milliseconds.
 * What it does not know makes no code. */
#ifndef RICCI_KERNELS_QUICK_H
#define RICCI_KERNELS_QUICK_H

#include "kernels/machine/llvm.h"

/* Pages with code; NULL: none. */
typedef struct QuickPages {
    void *at;
    size_t bytes;
} QuickPages;

/* NULL: not for this processor. */
const Llvm *quick_open(void);
/* The address of the function of that name, or NULL. The context stays. */
void *quick_finish(LlContext, const char *name, QuickPages *);
void quick_pages_free(QuickPages *);

#endif
