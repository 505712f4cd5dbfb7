/* Opening LLVM (llvm.h). */
#include "kernels/machine/llvm.h"

#include "core/system/c_locale.h"
#include "core/system/library.h"
#include "kernels/tensor/cpu.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

static Llvm table;
static bool found;
static pthread_once_t once = PTHREAD_ONCE_INIT;

#if defined __x86_64__
#define OF_HERE(what) "LLVMInitializeX86" #what
#elif defined __aarch64__
#define OF_HERE(what) "LLVMInitializeAArch64" #what
#endif

enum { OLDEST = 14, NEWEST = 21 };

/* Does the system make pages executable that were written? LLVM does not ask, and would run into
 * pages that are not. */
static bool pages_can_run(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool can = at != MAP_FAILED && mprotect(at, page, PROT_READ | PROT_EXEC) == 0;
    if (at != MAP_FAILED)
        munmap(at, page);
    return can;
}

/* Each part of the processor's own that has to be made known first. */
static bool know_processor(void *handle)
{
#ifdef OF_HERE
    const char *const parts[] = { OF_HERE(TargetInfo), OF_HERE(Target), OF_HERE(TargetMC),
                                  OF_HERE(AsmPrinter) };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        void (*make_known)(void);
        if (!library_symbol(handle, parts[i], &make_known))
            return false;
        make_known();
    }
    return true;
#else
    (void)handle;
    return false;
#endif
}

/* false: the library makes no code for it. */
static bool know_host(LlHost *host)
{
    char *error = NULL;
    host->triple = table.GetDefaultTargetTriple();
    if (table.GetTargetFromTriple(host->triple, &host->target, &error)) {
        table.DisposeMessage(error);
        return false;
    }
    host->cpu = table.GetHostCPUName();
    host->features = table.GetHostCPUFeatures();
#ifdef __x86_64__
    if (cpu_isa() != ISA_AVX512) {
        host->cpu = (char *)(cpu_isa() == ISA_AVX2 ? "x86-64-v3" : "x86-64");
        host->features = (char *)"";
    }
#endif
    return true;
}

static void load(void)
{
#define ROUTINE(member, result, proto) { "LLVM" #member, &table.member },
    static const LibraryEntry entries[] = {
#include "kernels/machine/llvm.def"
    };
#undef ROUTINE
    static const char *const names[] = { "libLLVM-%d.so.1", "libLLVM-%d.so", "libLLVM.so.%d.1" };
    if (!pages_can_run())
        return;
    for (int version = OLDEST; version <= NEWEST && !found; version++) {
        for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++) {
            char file[40];
            const char *lacks;
            c_snprintf(file, sizeof file, names[i], version);
            void *handle = library_open(file, entries, sizeof entries / sizeof *entries, &lacks);
            found = handle && know_processor(handle) && know_host(&table.host);
        }
    }
    if (found)
        table.LinkInMCJIT();
}

const Llvm *llvm_open(void)
{
    pthread_once(&once, load);
    return found ? &table : NULL;
}
