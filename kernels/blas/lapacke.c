/* Finding LAPACKE and leading its calls (lapacke.h). Called once for the process. */
#include "kernels/blas/lapacke.h"

#include "core/system/library.h"
#include "kernels/blas/linker_table.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the process: set before the library is opened. */
static bool allowed;

void lapacke_allow(void)
{
    allowed = true;
}

/* The s, d, c and z forms of one row. */
static bool load_row(void *handle, BlasEntry *to, const char *real, const char *cplx)
{
    for (int t = 0; t < BLAS_TYPES; t++) {
        const char *name = t < BLAS_C ? real : cplx;
        char symbol[32];
        snprintf(symbol, sizeof symbol, "LAPACKE_%c%s_work", "sdcz"[t], name ? name : "");
        if (name && !library_symbol(handle, symbol, &to[t]))
            return false;
    }
    return true;
}

static bool load(void *handle, Blas *b)
{
#define ROUTINE(id, real, cplx, proto)
#define LAPACK(id, real, cplx, args)                           \
    if (!load_row(handle, b->lapacke[ROW_##id], real, cplx))   \
        return false;
#include "kernels/blas/blas.def"
    return true;
}

/* How many of the table's Fortran entries there are; of those, which are `fn`. */
static size_t entries_that(const Blas *b, BlasEntry fn)
{
    const BlasEntry *all = &b->fortran[0][0];
    size_t n = 0;
    for (size_t i = 0; i < sizeof b->fortran / sizeof *all; i++)
        n += fn ? all[i] == fn : all[i] != NULL;
    return n;
}

/* All that the table's LAPACKE functions call is to be what the table's Fortran entries are. */
static bool lead(void *lapacke, const Blas *b, void *handle)
{
    LinkerTable t;
    LinkerSlot slot;
    size_t led = 0;
    if (!linker_table_of(lapacke, &t) || !linker_table_open(&t))
        return false;
    for (size_t i = 0; linker_table_next(&t, &i, &slot);) {
        LinkedFn fn;
        if (slot.own || !library_symbol(handle, slot.name, &fn) || !entries_that(b, fn))
            continue;
        *slot.at = fn;
        led++;
    }
    linker_table_close(&t);
    return led == entries_that(b, NULL);
}

bool lapacke_open(Blas *b, void *handle)
{
    const char *text = getenv("RICCI_LAPACKE");
    if (text && strcmp(text, "0") == 0)
        return false;
    if (load(handle, b))
        return true;
    void *lapacke = allowed ? dlopen("liblapacke.so.3", RTLD_LAZY | RTLD_LOCAL) : NULL;
    return lapacke && load(lapacke, b) && lead(lapacke, b, handle);
}
