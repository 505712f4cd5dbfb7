/* Where a library's calls of functions that have names lead: a table that the dynamic linker fills
 * (the slots of the global offset table for calls), read and changed. There is one to be had with
 * the GNU C library on x86-64 and aarch64. A library is the process's, so only who owns the process
 * changes it. */
#ifndef RICCI_KERNELS_BLAS_LINKER_TABLE_H
#define RICCI_KERNELS_BLAS_LINKER_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void (*LinkedFn)(void);

typedef struct LinkerTable {
    uintptr_t base;                         /* where the library lies */
    const void *calls, *symbols;
    size_t count;
    const char *names;
    /* pages that the linker protects once they are filled */
    uintptr_t fixed_from, fixed_to;
} LinkerTable;

typedef struct LinkerSlot {
    const char *name;
    LinkedFn *at;
    bool own;                               /* the library has a function of this name itself */
} LinkerSlot;

/* False: it has none. */
bool linker_table_of(void *handle, LinkerTable *);
/* The slot number *i or the next one that is a call's; *i goes on behind it. False: there are no
 * more. */
bool linker_table_next(const LinkerTable *, size_t *i, LinkerSlot *);
/* Slots may be written from open to close; false: they may not. Nobody else does more than read
 * them. */
bool linker_table_open(const LinkerTable *);
void linker_table_close(const LinkerTable *);

#endif
