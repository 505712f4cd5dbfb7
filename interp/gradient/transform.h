/* What the files of transforms share: transform.c (grad, vjp, jvp, and the values themselves),
 * jacobian.c, custom.c (checkpoint, custom_rule). */
#ifndef RICCI_INTERP_TRANSFORM_H
#define RICCI_INTERP_TRANSFORM_H

#include "interp/gradient/gradient.h"

typedef enum TransformKind {
    TRANSFORM_GRAD, TRANSFORM_JACOBIAN, TRANSFORM_PULL, TRANSFORM_CHECKPOINT, TRANSFORM_CUSTOM
} TransformKind;

typedef enum JacobianMode { MODE_AUTO, MODE_FORWARD, MODE_REVERSE } JacobianMode;

typedef struct Transform {
    Native native;
    uint8_t kind, mode;
    bool value, aux, holomorphic;
    const char *name;               /* of the operation that made it */
    union {
        struct {
            Value f;                /* PULL: the argument */
            Value wrt;
            Value vjp, jvp;         /* CUSTOM. PULL: vjp is the structure of the result's nodes */
        };
        Value part[4];
    };
    Tape *tape;                     /* PULL */
} Transform;

typedef struct Args {               /* of a call; borrowed */
    const Value *args;
    int count;
    const Name *const *names;
    const Value *named;
    int named_count;
} Args;

enum { WRT_MOST = 32 };

/* A run of a function on a tape. */
typedef struct Run {
    Tape *tape;
    int place[WRT_MOST], wrts;
    uint32_t first[WRT_MOST];       /* the node of the first leaf of each */
    Value *result;                  /* on the value stack */
} Run;

typedef struct TangentOf { const Tape *t; } TangentOf;

/* ---- transform.c ---- */
/* One like v, a transform but no PULL, whose parts are still to come. */
Value transform_like(Interp *, Value v);
/* Which arguments are asked for; where one stands among those given, positional ones first. */
int wrt_list(const Transform *, Value *out);
int wrt_place(Interp *, const Transform *, Value wrt, const Args *);
Value argument(const Args *, int place);
void check_argument(Interp *, const Transform *, Value x);
/* Runs f; the tape, then the result stay on the value stack. tangent: of the only argument. */
void run_traced(Interp *, const Transform *, const Args *, TapeMode, const Value *tangent, Run *);
/* The node of a result on the run's tape; 0: it does not depend on the argument. */
uint32_t result_node(const Tape *, Value);
/* Raises where it depends on the argument, but only through bools, ints or steps. */
void check_cut(Interp *, const Tape *, Value);
void check_result(Interp *, const char *name, Value r);
bool same_shape(Value a, Value b);
/* Raises `shape` where v has not the structure and shapes of `like`; which: what v is. */
void check_like(Interp *, const char *name, const char *which, Value v, Value like, bool whole);
/* The same of a tuple `like` alone, whatever its fields are. */
void check_fields(Interp *, const char *name, const char *which, Value v, Value like);
Value leaf_node(Interp *, Value v, void *tape);      /* LeafFn: its node, an int */
Value leaf_tangent(Interp *, Value v, void *of);     /* LeafFn: its tangent; of: a TangentOf */
/* Adds the parts of w to the cotangents of a structure of nodes. */
void seed(Interp *, const Tape *, Tuple *cotangents, Value nodes, Value w);

/* ---- jacobian.c, custom.c ---- */
Value jacobian_run(Interp *, const Transform *, const Args *);
Value recorded_call(Interp *, const Transform *, const Args *);

#endif
