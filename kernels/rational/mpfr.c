/* Loading of MPFR: see mpfr.h. It finds GMP by itself, which is the copy that gmp.c opened
 * and gave its allocation functions to. */
#include "kernels/rational/mpfr.h"
#include "core/system/library.h"

#include <pthread.h>
#include <string.h>

typedef struct Library {
    Mpfr mpfr;
    const char *why;             /* NULL: ready */
} Library;

static Library library;
static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void library_load(void)
{
#define SYMBOL2(name) #name
#define SYMBOL(name) SYMBOL2(name)
#define ROUTINE(name) { SYMBOL(name), &library.mpfr.name },
    const LibraryEntry entries[] = {
#include "kernels/rational/mpfr.def"
    };
#undef ROUTINE
    const char *lacks;
    if (!gmp_open(&library.why) ||
        library_open("libmpfr.so.6", entries, sizeof entries / sizeof *entries, &lacks))
        return;
    library.why = lacks ? "libmpfr.so.6 lacks a routine; install the package libmpfr6 in its "
                          "version 4 or newer"
                        : "the library of long floats MPFR was not found (libmpfr.so.6); on Debian "
                          "and "
                          "Ubuntu it is in the package libmpfr6";
}

void mpfr_forget(void)
{
    if (library.mpfr.mpfr_mp_memory_cleanup)
        library.mpfr.mpfr_mp_memory_cleanup();
}

const Mpfr *mpfr_open(const char **why)
{
    pthread_once(&library_once, library_load);
    if (library.why && why)
        *why = library.why;
    return library.why ? NULL : &library.mpfr;
}
