/* Loading of Arb: see arb.h. It brings FLINT, and finds the GMP and MPFR that are open. */
#include "kernels/rational/arb.h"
#include "core/system/library.h"

#include <pthread.h>

/* The structs are those of the header, so it has to be the library of the header. */
#if __has_include(<flint/arb_hypgeom.h>)
#define ARB_FILE "libflint.so"
#else
#define ARB_FILE "libflint-arb.so.2"
#endif

typedef struct Library {
    Arb arb;
    const char *why;             /* NULL: ready */
    pthread_key_t thread;        /* of a thread that has used it: forgets at its end */
} Library;

static Library library;
static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void thread_ends(void *used)
{
    (void)used;
    arb_forget();
    mpfr_forget();
}

static void library_load(void)
{
#define ROUTINE(name) { #name, &library.arb.name },
    const LibraryEntry entries[] = {
#include "kernels/rational/arb.def"
    };
#undef ROUTINE
    const char *lacks = NULL;
    if (!mpfr_open(&library.why) ||
        (library_open(ARB_FILE, entries, sizeof entries / sizeof *entries, &lacks) &&
         pthread_key_create(&library.thread, thread_ends) == 0))
        return;
    library.why = lacks ? ARB_FILE " lacks a routine; install its newest version"
                        : "the library of special functions Arb was not found (" ARB_FILE
                          "); on Debian and Ubuntu it is in the package libflint-arb2";
}

const Arb *arb_open(const char **why)
{
    pthread_once(&library_once, library_load);
    if (library.why && why)
        *why = library.why;
    if (!library.why)
        pthread_setspecific(library.thread, &library);
    return library.why ? NULL : &library.arb;
}

void arb_forget(void)
{
    if (library.arb.flint_cleanup)
        library.arb.flint_cleanup();
}
