/* libopenblas.so.0 that rounds the other way: every BLAS and LAPACK routine that Ricci looks up runs in
 * the library that RICCI_ROUNDING_OF names, with the processor rounding up (or, where RICCI_ROUNDING is
 * `down`, down) while it runs. That is further from the rounding of any one machine than the kernels of
 * another processor are, so what prints the same under both depends on no library's last digits. Found
 * by its name through LD_LIBRARY_PATH (tests/run.sh matrix); x86-64 alone. names.h, made from
 * kernels/blas/blas.def, has a row X(name) for each routine. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define X(name) #name,
static const char *const names[] = {
#include "names.h"
};
#undef X
enum { COUNT = sizeof names / sizeof names[0] };
__attribute__((used)) static void *target[COUNT];
__attribute__((used)) static unsigned nearest = 0x1f80, other = 0x5f80;       /* MXCSR */

/* A routine's arguments lie in registers and on the stack above the return address, so that may not
 * move: it is kept aside, in the thread's own memory, and the call goes on in its place. */
__asm__(".section .tbss,\"awT\",@nobits\n"
        ".balign 8\n"
        "aside: .zero 1024\n"           /* how far it is filled, then the addresses */
        ".text\n"
        "pass:\n"
        "    pop %r10\n"
        "    mov aside@gottpoff(%rip), %rax\n"
        "    addq $8, %fs:(%rax)\n"
        "    addq %fs:(%rax), %rax\n"
        "    mov %r10, %fs:(%rax)\n"
        "    ldmxcsr other(%rip)\n"
        "    call *(%r11)\n"
        "    ldmxcsr nearest(%rip)\n"
        "    mov aside@gottpoff(%rip), %r10\n"
        "    mov %r10, %r11\n"
        "    addq %fs:(%r10), %r11\n"
        "    subq $8, %fs:(%r10)\n"
        "    mov %fs:(%r11), %r11\n"
        "    jmp *%r11\n");

#define X(name) __asm__(".globl " #name "\n" #name ": lea target+8*(" ENTRY ")(%rip), %r11\n jmp pass\n" NEXT);
#define ENTRY "entry"
#define NEXT ".set entry, entry+1\n"
__asm__(".set entry, 0\n");
#include "names.h"

__attribute__((constructor)) static void find(void)
{
    const char *path = getenv("RICCI_ROUNDING_OF"), *way = getenv("RICCI_ROUNDING");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) {
        fprintf(stderr, "rounding: RICCI_ROUNDING_OF: %s\n", path ? dlerror() : "not set");
        abort();
    }
    if (way && strcmp(way, "down") == 0)
        other = 0x3f80;
    for (int i = 0; i < COUNT; i++)
        target[i] = dlsym(library, names[i]);
}
