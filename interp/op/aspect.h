/* A call on its way to what computes it: the aspects that it meets, and work that is no row's.
 *
 * An aspect is something that any computation may have to do with: a device block, mixed precision,
 * a record, a precision scope. They stand in one list (interp/door/pipeline.h), in the order in
 * which a call meets them; each is asked whether the call concerns it, does its part, and goes on
 * with the rest of the list, on the same call or on one with other operands. What comes last runs
 * it. */
#ifndef RICCI_INTERP_ASPECT_H
#define RICCI_INTERP_ASPECT_H

#include "interp/op/op.h"
#include "kernels/device/device.h"

typedef struct Aspect Aspect;
struct Aspect {
    bool (*wants)(const OpCall *);                  /* has it to do with this call? Quick */
    Value (*run)(OpCall *, const Aspect *rest);     /* `rest` less one is the aspect itself */
};

/* The rest of the pipeline, on c. */
static inline Value call_rest(OpCall *c, const Aspect *rest)
{
    while (!rest->wants(c))
        rest++;
    return rest->run(c, rest + 1);
}

/* Work that is no row's: indexing, a literal, index notation, a fused chain. */
typedef struct Work {
    const char *name;               /* "indexing", "the literal": for notices and the record */
    DType dtype;                    /* what it computes in; DT_NONE: the widest of the operands' */
    bool product;                   /* f32 products: a device that narrows them does */
    /* what cannot run there gives V_UNDEF: its parts are run by the caller */
    bool apart;
    /* elements are moved, nothing is computed: no notice where they stay */
    bool moves;
    /* Makes the result of the operands, which are at home or, as shadows, a simulation's. V_UNDEF:
     * it gave up, and nobody is told of it. */
    Value (*run)(Interp *, const Value *args, void *data);
    /* The same on a device of generated source, V_UNDEF after place_refuse; NULL: it cannot. */
    Value (*form)(Interp *, struct Device *, const Value *args, void *data);
    /* The same of operands of which some are sparse (interp/sparse). V_UNDEF, NULL: it cannot. */
    Value (*sparse)(Interp *, const Value *args, void *data);
    /* Has the device all of it? NULL: operands and dtype say so. */
    bool (*fits)(Interp *, struct Device *, void *data);
    void *data;
} Work;
/* Through the pipeline (interp/door/dispatch.c). Operands are borrowed. */
Value work_call(Interp *, const Work *, const Value *args, int count);

#endif
