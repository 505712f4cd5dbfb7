/* From a draft to machine code (code.h). */
#include "kernels/machine/code.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

bool machine_has_quick(void)
{
    return quick_open() != NULL;
}

/* LLVM ends the process where it gets no memory: it is asked for nothing while there is little. */
static bool is_room(void)
{
    const size_t bytes = (size_t)32 << 20;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p != MAP_FAILED && munmap(p, bytes) == 0;
}

bool machine_begin(MachineDraft *d, MachineKind kind)
{
    *d = (MachineDraft){ .kind = kind, .ll = kind == MACHINE_QUICK ? quick_open() : llvm_open() };
    if (!d->ll || (kind == MACHINE_LLVM && !is_room()))
        return false;
    d->context = d->ll->ContextCreate();
    if (!d->context)
        return false;
    d->module = d->ll->ModuleCreateWithNameInContext("ricci", d->context);
    d->builder = d->ll->CreateBuilderInContext(d->context);
    return true;
}

void machine_drop(MachineDraft *d)
{
    d->ll->DisposeBuilder(d->builder);
    if (d->module)
        d->ll->DisposeModule(d->module);
    d->ll->ContextDispose(d->context);
}

LlValue machine_function(const MachineDraft *d, const char *name, LlType type, bool ours_alone)
{
    enum { FUNCTION_ITSELF = -1, INTERNAL = 8 };
    const LlHost *host = &d->ll->host;
    const char *const attributes[][2] = { { "target-cpu", host->cpu },
                                          { "target-features", host->features },
                                          { "prefer-vector-width", "256" },
                                          { "no-trapping-math", "true" } };
    LlValue f = d->ll->AddFunction(d->module, name, type);
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes && d->kind == MACHINE_LLVM; i++)
        d->ll->AddAttributeAtIndex(f, (unsigned)FUNCTION_ITSELF,
                                   d->ll->CreateStringAttribute(d->context, attributes[i][0],
                                       (unsigned)strlen(attributes[i][0]), attributes[i][1],
                                       (unsigned)strlen(attributes[i][1])));
    if (ours_alone)
        d->ll->SetLinkage(f, INTERNAL);
    return f;
}

/* What pays for loops that run milliseconds: the order is that of clang's -O2, without what is for
 * programs of many functions. */
static const char scalar_passes[] =
    "function(mem2reg,instcombine,simplifycfg,early-cse,loop-simplify,"
    "loop-mssa(loop-rotate,licm),gvn,instcombine,simplifycfg)";
static const char vector_passes[] =
    "function(mem2reg,instcombine,simplifycfg,early-cse,loop-simplify,"
    "loop-mssa(loop-rotate,licm),gvn,loop(indvars),instcombine,simplifycfg,"
    "loop-simplify,lcssa,loop-vectorize,instcombine,simplifycfg,early-cse,"
    "loop-mssa(licm),simplifycfg)";

static bool optimise(MachineDraft *d, bool vectorise)
{
    enum { LEVEL = 2, RELOCATION_DEFAULT = 0, MODEL_JIT = 1 };
    const Llvm *ll = d->ll;
    const LlHost *host = &ll->host;
    LlMachine machine = ll->CreateTargetMachine(host->target, host->triple, host->cpu,
                                                host->features, LEVEL, RELOCATION_DEFAULT,
                                                MODEL_JIT);
    LlLayout layout = ll->CreateTargetDataLayout(machine);
    ll->SetTarget(d->module, host->triple);
    ll->SetModuleDataLayout(d->module, layout);
    ll->DisposeTargetData(layout);
    LlOptions options = ll->CreatePassBuilderOptions();
    ll->PassBuilderOptionsSetLoopVectorization(options, vectorise);
    LlError error = ll->RunPasses(d->module, vectorise ? vector_passes : scalar_passes, machine,
                                  options);
    ll->DisposePassBuilderOptions(options);
    ll->DisposeTargetMachine(machine);
    if (error)
        ll->ConsumeError(error);
    return !error;
}

void *machine_finish(MachineDraft *d, const char *name, bool vectorise, MachineCode *code)
{
    enum { LEVEL = 2 };
    const Llvm *ll = d->ll;
    LlJitOptions options;
    char *error = NULL;
    *code = (MachineCode){ NULL, NULL, { NULL, 0 } };
    if (d->kind == MACHINE_QUICK) {
        void *made = quick_finish(d->context, name, &code->pages);
        machine_drop(d);
        return made;
    }
    if (!is_room() || !optimise(d, vectorise)) {
        machine_drop(d);
        return NULL;
    }
    ll->InitializeMCJITCompilerOptions(&options, sizeof options);
    options.level = LEVEL;
    LlEngine engine;
    if (ll->CreateMCJITCompilerForModule(&engine, d->module, &options, sizeof options, &error)) {
        ll->DisposeMessage(error);
        d->module = NULL;                    /* the engine's maker has taken it */
        machine_drop(d);
        return NULL;
    }
    void *address = (void *)(uintptr_t)ll->GetFunctionAddress(engine, name);
    ll->DisposeBuilder(d->builder);
    *code = (MachineCode){ engine, d->context, { NULL, 0 } };
    if (!address)
        machine_free(code);
    return address;
}

void machine_free(MachineCode *code)
{
    quick_pages_free(&code->pages);
    if (!code->engine)
        return;
    const Llvm *ll = llvm_open();
    ll->DisposeExecutionEngine(code->engine);
    ll->ContextDispose(code->context);
    *code = (MachineCode){ NULL, NULL, { NULL, 0 } };
}
