/* Making and ending an interpreter (life.c). */
#ifndef RICCI_INTERP_LIFE_H
#define RICCI_INTERP_LIFE_H

#include "interp/state/interp.h"

Interp *interp_new(void);             /* ends the process where there is no memory for it */
Interp *interp_open(void);            /* the same, but NULL then */
void interp_free(Interp *);
/* interp_free in two steps, where tensors outlive the program that made them: everything ends but
 * the memory that they lie in; the second frees that. */
void interp_end(Interp *);
void interp_free_memory(Interp *);
/* The thread that runs from now on may use this much of its C stack: after a change of threads. */
void interp_on_thread(Interp *);

#endif
