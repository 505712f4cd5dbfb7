/* libricci's insides: what api*.c share. Nobody else includes this.
 *
 * Every function of ricci.h that can fail does its work in a body that api_run calls under a catch
 * point, so no error jumps past the C caller, whatever the body calls. Inside a body errors are
 * raised as everywhere. */
#ifndef RICCI_INTERP_API_H
#define RICCI_INTERP_API_H

#include "interp/state/interp.h"
#include "interp/output/output.h"
#include "interp/embed/ricci.h"

#include <stdatomic.h>

#define API __attribute__((visibility("default")))

struct RicciValue {
    Ricci *r;
    Value v;
    RicciValue *next, *before;       /* of those that are held */
    bool lent;                       /* an argument of a C function: its caller's */
};

typedef struct ApiBlock ApiBlock;        /* api_block.c */

struct Ricci {
    Interp *in;
    Host host;
    RicciWrite write;                /* NULL: stdio */
    void *user;
    RicciDisplay display;            /* NULL: text */
    void *shown_to;
    int depth;                       /* calls of the API under way, one inside the other */
    bool locked;                     /* a deleter or the output function runs */
    Value result;                    /* of the last evaluation */
    Buf text, shown;                 /* what functions returned as text; ricci_result */
    Error *last, spent;              /* of the last call; spent: where no memory was left for one */
    RicciError parts;
    Buf report;                      /* last, rendered; empty before it was asked for */
    char plain[400];                 /* where there is no memory to render it */
    struct ApiLevel *level;          /* the innermost evaluation */
    ApiBlock *block;                 /* the innermost block that the host holds open */
    struct Scope *scope;             /* what it put in force, for evaluations */
    struct DeviceBlock *place;
    Tuple *replaced;                 /* functions that were given up while they may run; or NULL */
    RicciValue *values;              /* held */
    struct HostOp *ops;              /* of ricci_register_function */
    struct Export *exports;          /* tensors that were got and not released */
    _Atomic(struct Export *) released;   /* by any thread; let go by the next call */
    atomic_int users;                /* the open interpreter, and each export */
};

typedef void (*ApiBody)(Ricci *, void *task);
/* Runs body(r, task). 0, or 1 where it raised: ricci_error then tells. api_call forgets the error
 * of the call before first. */
int api_run(Ricci *, ApiBody, void *task);
int api_call(Ricci *, ApiBody, void *task);
/* Inside a body of api_call, where the program runs on: nested evaluations and calls. */
void api_flush(Ricci *);             /* what was printed goes out */
void api_keep_error(Ricci *, Error *);
void api_forget_error(Ricci *);
Error *api_take_error(Ricci *);      /* NULL: there is none */

/* A handle for v, which is taken. Raises `memory`. */
RicciValue *api_hold(Ricci *, Value v);
/* The variable's slot; NULL: there is no such variable. */
Value *api_slot(Ricci *, const char *name);
/* Puts v, which is taken, into a variable; raises for what is no name. */
void api_assign(Ricci *, const char *name, Value v);
/* A variable's value, or the operation of that name, borrowed. Raises `name`. */
Value api_lookup(Ricci *, const char *name);

/* ---- api_tensor.c ---- */
/* What another thread released since the last call. */
void api_drain(Ricci *);
/* Exports before the interpreter's devices end. */
void api_exports_settle(Ricci *);
/* The last user is gone: the memory goes. */
void api_unuse(Ricci *);

/* ---- api_call.c ---- */
void api_ops_free(Ricci *);
/* What a C function gave, which is taken unless it is one of its arguments. NULL is the error of
 * the last call inside, which is raised, or none. */
Value api_take_result(Ricci *, RicciValue *result, RicciValue *lent, int count);
/* Where a call stands that no program wrote: puts main's frame there, and returns what was. */
const Exec *api_outside(Ricci *);

/* ---- api_block.c ---- */
/* Ends the blocks that were begun in calls deeper than that one and left open. */
void api_blocks_drop(Ricci *, int depth);

#endif
