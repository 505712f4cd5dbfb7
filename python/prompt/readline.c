/* Readline opened at run time, for the program in a wheel: nothing of it is linked, and what wants no
 * prompt runs where it is missing.
 *
 * names.h, which names.sh writes, has FUNCTION(f) and VARIABLE(v) for all that the program uses. A function
 * is a jump to where the library has it. A variable is defined here and exported, so the library, which comes
 * later in the order of symbols, uses this one too, as with a copy relocation: its value at first is the
 * library's. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <readline/readline.h>
#include <readline/history.h>

__attribute__((used)) static void missing(void)
{
    fputs("ricci: the prompt needs the library readline, which is not there (Debian: apt-get install libreadline8);\n"
          "programs run without it: ricci FILE, ricci -e CODE\n", stderr);
    _Exit(1);
}

#if defined(__x86_64__)
#define JUMP(f) "jmp *at_" #f "(%rip)\n"
#elif defined(__aarch64__)
#define JUMP(f) "adrp x16, at_" #f "\nldr x16, [x16, :lo12:at_" #f "]\nbr x16\n"
#else
#error "no jump for this processor: link with -lreadline instead"
#endif

#define FUNCTION(f)                                                                               \
    __attribute__((used)) static void *at_##f __asm__("at_" #f) = (void *)missing;                \
    __asm__(".text\n.globl " #f "\n.type " #f ", %function\n" #f ":\n" JUMP(f));
#define VARIABLE(v) __attribute__((visibility("default"))) __typeof__(v) v;
#include "names.h"
#undef FUNCTION
#undef VARIABLE

__attribute__((constructor)) static void open_readline(void)
{
    static const char *const names[] = { "libreadline.so.8", "libreadline.so.7", "libreadline.so" };
    void *library = NULL, *at;
    for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++)
        library = dlopen(names[i], RTLD_NOW);
    if (!library)
        return;
#define FUNCTION(f) if ((at = dlsym(library, #f)) != NULL) at_##f = at;
#define VARIABLE(v) if ((at = dlsym(library, #v)) != NULL && at != (void *)&v) memcpy(&v, at, sizeof v);
#include "names.h"
}
