/* The aspects that a call meets on its way, in this order: the list is the pipeline. One more
 * aspect is its file, with the two functions of an Aspect (interp/op/aspect.h), and its line here;
 * what turns it on is a field of Interp. */
#ifndef RICCI_INTERP_PIPELINE_H
#define RICCI_INTERP_PIPELINE_H

#include "interp/device/place.h"
#include "interp/op/deferred.h"
#include "interp/op/heard.h"
#include "interp/op/traced.h"
#include "interp/precision/autocast.h"
#include "interp/precision/precise.h"
#include "interp/sparse/sparse_door.h"

/* While the first column holds of no aspect, nobody asks the second ones. */
#define ASPECTS(A)                                                                          \
    A(traced_on(in),           traced_wants,      traced_call)    /* derivatives */              \
    A(sparse_on(in),              sparse_wants,      sparse_call)    /* on entries */              \
    A(deferred_on(in),         deferred_wants,    deferred_call)  /* later: lazy blocks */        \
    A(place_wants(in),         place_asked,       place_call)     /* where: device blocks */      \
    A(in->scope != NULL,       autocast_wants,    autocast_call)  /* on operands cast to what */  \
    A(heard_on(in),            record_wants,      record_call)    /* told to those who listen */  \
    A(precise_on(in),          precise_wants,     precise_call)   /* in which format */

#define ASPECT(on, wants, run) bool wants(const OpCall *); Value run(OpCall *, const Aspect *);
ASPECTS(ASPECT)
#undef ASPECT

static inline bool aspects_on(const Interp *in)
{
#define ASPECT(on, wants, run) || (on)
    return __builtin_expect(false ASPECTS(ASPECT), 0);
#undef ASPECT
}

#endif
