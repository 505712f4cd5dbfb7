/* Finds the SLEEF library: see ew_kernels.h. */
#include "kernels/elementwise/ew_kernels.h"

#include "core/system/c_locale.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>

enum { UNKNOWN, PRESENT, ABSENT };

/* What this process found; written once, the same by whoever comes first. */
static _Atomic int library_state;

static void *library(void) {
    return dlopen("libsleef.so.3", RTLD_LAZY | RTLD_LOCAL);
}

bool ew_vector_math(void) {
    int state = atomic_load_explicit(&library_state, memory_order_relaxed);
    if (state == UNKNOWN) {
        void *lib = library();
        state = lib && dlsym(lib, "Sleef_finz_expd4_u10avx2") ? PRESENT : ABSENT;
        atomic_store(&library_state, state);
    }
    return state == PRESENT;
}

void *ew_sleef_find(const char *pattern, const char *lanes, const char *isa) {
    char name[64], full[96];
    void *lib = library();
    if (!lib) return NULL;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    c_snprintf(name, sizeof name, pattern, lanes);
#pragma GCC diagnostic pop
    snprintf(full, sizeof full, "Sleef_finz_%s%s", name, isa);
    return dlsym(lib, full);
}
