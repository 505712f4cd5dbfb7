/* Loops that are hot: what the evaluator knows of them. Each loop counts; when a count is used up,
 * the room interp/hot looks whether machine code does the rest. Without the room nobody looks. */
#ifndef RICCI_INTERP_HOT_H
#define RICCI_INTERP_HOT_H

#include "interp/state/interp.h"

/* Behind Exec.data of a loop, FnCode.hot of a function. */
typedef struct HotSite {
    int64_t cool;                    /* iterations until somebody looks; not above 0: now */
    struct HotSite *up;              /* of the loop around it in the same function, or NULL */
    struct HotCode *code;            /* NULL: none yet, or it does not pay */
    struct Chunk *chunk;             /* whose loop it is */
    struct HotCode *better;          /* that is being made to take its place */
    uint8_t looks, misses;           /* so far: with no code yet, for values of other kinds */
    bool settled;                    /* there is nothing better to come */
    bool scoped;                     /* inside a precision scope: lowered for it */
} HotSite;

/* `for` over a range: the iteration that is to be done, the step, and how many are left, it
 * included. Over a vector: the same of its indices. */
typedef struct HotCount {
    int64_t at, step;
    uint64_t left;
    Value over;                      /* the vector, borrowed; V_UNDEF: a range */
} HotCount;

typedef enum HotEnd {
    HOT_MISS,              /* there is no code, or not for what variables hold: nothing happened */
    HOT_DONE,              /* a `for` is where the count says; `while`: the loop is over */
    HOT_BROKE,             /* `break`: a `for` is over, however many there were */
    HOT_LEFT               /* in an iteration, of `for` the one in the count */
} HotEnd;

typedef struct HotHooks {
    /* A loop is to begin an iteration, or has come to one, and its count is used up. Runs as many
     * iterations as there are or as can be, the last one perhaps in part; *left is what the body
     * left in that one, as if the evaluator had run all. count: NULL for `while`, whose condition
     * was not asked yet. */
    HotEnd (*loop)(Interp *, const Exec *loop, HotSite *, HotCount *, Value *left);
    /* A function is called, its count is used up: its arguments are at args. false: it has to be
     * run, nothing happened. */
    bool (*call)(Interp *, const Function *, HotSite *, const Value *args, Value *result);
    int64_t first;         /* what counts begin with */
    bool quick;            /* by the quick generator alone */
} HotHooks;

/* For those who no room looks for. */
#define HOT_NEVER INT64_MAX

#endif
