/* Machine code of a loop, and how it is entered and left. While it runs, variables are in
 * registers; it leaves at the beginning of a statement that it cannot do (an overflow, an index out
 * of range, a call, Ctrl-C), says at which, and the evaluator goes on from there: so what happens,
 * and every error, is the evaluator's. */
#ifndef RICCI_INTERP_HOT_CODE_H
#define RICCI_INTERP_HOT_CODE_H

#include "interp/state/exec.h"
#include "interp/state/hot.h"
#include "kernels/machine/code.h"

#include <string.h>

enum { HOT_VARIABLES = 64, HOT_DEPTH = 12, HOT_RANK = 4, HOT_PARAMETERS = 8, HOT_FIELDS = 8,
       HOT_LEVELS = 400,     /* nodes in each other, bodies of calls included */
       HOT_RESULT = HOT_VARIABLES - 1 };       /* the cell of a function's value */

/* What a variable holds, as far as is known at a place. */
typedef enum HotKind {
    HK_NOTHING,            /* it is empty, or holds what machine code does not know */
    HK_INT, HK_FLOAT, HK_BOOL,
    HK_NUMBER,             /* an int or a float: which, is known when it runs */
    HK_SINGLE,             /* an f32, in a scope of f16 or bf16 one of these: a tensor of no axes,
                            * here the double that it is */
    HK_EITHER,             /* an int or one of these */
    HK_COMPLEX,            /* of c128: a tensor of no axes, here two doubles */
    HK_I8, HK_U8, HK_I32,  /* narrow ints: tensors of no axes, here the ints that they are */
    HK_TENSOR,             /* or a tuple, as a vector of its items */
    HK_FUNCTION,
    HK_RECORD              /* a tuple with names, whose fields are variables of their own */
} HotKind;

/* A tensor of no axes that is a number. */
static inline bool hot_is_scalar(Value v, DType dt)
{
    return v.tag == V_TENSOR && v.tensor->rank == 0 && v.tensor->dtype == (uint32_t)dt &&
           v.tensor->flags == 0;
}
static inline bool hot_is_narrow(HotKind k) { return k >= HK_I8 && k <= HK_I32; }
static inline DType hot_narrow_dtype(HotKind k)
{
    return k == HK_I8 ? DT_I8 : k == HK_U8 ? DT_U8 : DT_I32;
}
static inline HotKind hot_narrow_kind(DType dt)
{
    return dt == DT_I8 ? HK_I8 : dt == DT_U8 ? HK_U8 : dt == DT_I32 ? HK_I32 : HK_NOTHING;
}

enum { HOT_COMPLEX = 1 << 16, HOT_NARROW = 1 << 17 };        /* tags of cells alone */
/* What an HK_SINGLE is in a scope of that format. */
static inline DType hot_single(DType format) { return dtype_half(format) ? format : DT_F32; }
/* Of a scalar, and its tag in a cell; NOTHING and V_UNDEF of all else. */
static inline HotKind hot_kind(Value v, DType single)
{
    return v.tag == V_INT ? HK_INT : v.tag == V_FLOAT ? HK_FLOAT : v.tag == V_BOOL ? HK_BOOL
         : hot_is_scalar(v, single) ? HK_SINGLE : hot_is_scalar(v, DT_C128) ? HK_COMPLEX
         : v.tag == V_TENSOR && hot_is_scalar(v, (DType)v.tensor->dtype)
             ? hot_narrow_kind((DType)v.tensor->dtype) : HK_NOTHING;
}
static inline uint32_t hot_tag(HotKind k)
{
    return k == HK_INT ? V_INT : k == HK_FLOAT ? V_FLOAT : k == HK_BOOL ? V_BOOL
         : k == HK_SINGLE ? V_TENSOR : k == HK_COMPLEX ? HOT_COMPLEX
         : hot_is_narrow(k) ? HOT_NARROW | (uint32_t)k : V_UNDEF;
}

/* What is read and written while it runs; its layout is known to what makes the code: everything is
 * 8 bytes. */
typedef struct HotCell {
    int64_t tag;           /* a Tag; V_UNDEF: the variable is as it was */
    union { int64_t i; double f; };
    double im;             /* of a complex number */
} HotCell;

typedef struct HotTensor {
    void *data;
    int64_t dims[HOT_RANK], strides[HOT_RANK];
} HotTensor;

typedef struct HotRecord {
    InterruptFlag *interrupt;
    const _Atomic int *nudge;    /* not 0: leave when an iteration is over; quick code looks */
    struct { int64_t at, left, step; } loops[HOT_DEPTH];
    HotCell cells[HOT_VARIABLES];
    HotTensor tensors[HOT_VARIABLES];
    int64_t depth;         /* of a function: so many calls fit in each other */
    double im;             /* of what a kernel has just returned */
    int64_t failed;        /* what it returned is none */
    uint64_t *drawn;       /* random numbers of the program's stream */
    int64_t inexact;       /* results of f32 in a scope that were rounded */
} HotRecord;

/* A variable of the code, and what it must hold when the code is entered. */
typedef struct HotVariable {
    const Value *at;       /* a global that a function reads; NULL: slot of the frame */
    uint32_t slot;
    const Name *field;     /* of the record there, which nobody assigns; NULL: that itself */
    HotKind kind;
    DType dtype;           /* of a tensor's elements */
    uint8_t rank;
    bool unit;             /* its last stride is 1 */
    bool tuple;            /* of what is `item`, each asked when it is read, */
    uint8_t fields;        /* or of tuples of so many */
    uint8_t item[HOT_FIELDS];    /* HotKinds */
    /* of a record that is made anew: its names, all of them, so many; 0: it may have any */
    const Name *names[HOT_FIELDS];
    uint8_t name_count;
    bool stored;           /* elements are stored to */
    bool assigned;
    bool needed;           /* what it holds at first is asked for */
    bool has_im;           /* it holds a complex number at times */
    bool builtin;          /* it must be empty: the name is a builtin's */
    bool over;             /* none of the program's: what the outermost loop goes over */
    const Function *fn;    /* itself; borrowed: while a variable holds it, it is there, which is */
    uint64_t serial;       /* asked by its serial, as another may have come to its place */
    uint8_t frame;         /* of a function that was made part of the loop: nobody else's; 0: the
                            * loop's own */
} HotVariable;

/* Are these its names, in their order? */
static inline bool hot_has_names(const Tuple *t, const Name *const *names, uint32_t count)
{
    return t->named && t->count == count && memcmp(t->names, names, count * sizeof *names) == 0;
}

/* Where it is; NULL: it is a function's own, the vector of a loop, or a field that is not there. */
static inline const Value *hot_place(const Interp *in, const HotVariable *v)
{
    const Value *p = v->frame || v->over ? NULL : v->at ? v->at : &in->fp[v->slot];
    if (!p || !v->field)
        return p;
    int64_t k = p->tag == V_TUPLE && p->tuple->named ? tuple_find(p->tuple, v->field) : -1;
    return k < 0 ? NULL : &p->tuple->items[k];
}

/* Where a statement stands, from the loop down to it. */
typedef enum HotStep {
    HOT_BODY,              /* of a loop */
    HOT_PART,              /* a statement of a block */
    HOT_BRANCH,            /* of an if: 0 the first, 1 what is behind else, or 2 + one of a list */
    HOT_RUN,               /* this one is to be run */
    HOT_OVER               /* an iteration is over, or a condition is to be asked */
} HotStep;

typedef struct HotPlace {
    const Exec *x;
    uint8_t step;
    uint32_t index;
} HotPlace;

typedef struct HotPath {
    const HotPlace *places;
    uint32_t count;
} HotPath;

/* Which exit; 0: the loop came to its own end, HOT_BREAKS: it is a `for` that broke out. */
typedef int64_t (*HotFn)(HotRecord *);
enum { HOT_BREAKS = -1 };

/* Where it stands: MAKING only in the worker's hands. */
typedef enum HotStage { HOT_MAKING, HOT_READY, HOT_FAILED } HotStage;

typedef struct HotCode {
    MachineCode machine;
    HotFn run;
    HotVariable *variables;
    HotPath *exits;
    uint32_t variable_count, exit_count, used_count;
    uint8_t order[HOT_VARIABLES];    /* variables that it asks for: the others, which it was thought
                                      * to, may lie in what is no more */
    uint32_t entries, short_ones;    /* of those that were measured: that hardly paid */
    double seconds;        /* in it, roughly */
    bool judged;           /* whether it pays */
    MachineDraft draft;    /* while it is being made */
    const Function *fn;    /* borrowed, perhaps gone: who captures something has code of its own */
    uint8_t kinds[HOT_PARAMETERS], result;   /* of a function: HotKinds */
    bool vectors;          /* there are loops that vectors may run */
    DType format;          /* of the scope; DT_NONE: there is none */
    _Atomic int stage;     /* HotStage */
    struct HotWorker *worker;    /* who makes it, or made it; NULL: it was made at once */
    struct HotCode *next;  /* of those that wait for the worker */
} HotCode;

/* HOT_LEVELS, or fewer, if what is left of the C stack is for fewer. */
uint32_t hot_levels(const Interp *);
/* The code as a draft, to be finished. NULL: it cannot be compiled. */
HotCode *hot_compile(Interp *, const Exec *loop, bool scoped, const HotCount *, MachineKind);
/* The same of a function that is called with arguments of these kinds. */
HotCode *hot_compile_function(Interp *, const Function *, const uint8_t *kinds, MachineKind);
void hot_finish(HotCode *);            /* READY or FAILED then; any thread */
void hot_free(Ctx *, void *place);     /* of a HotCode *, or of NULL */

/* ---- worker.c: a thread that opens LLVM and finishes drafts while the evaluator goes on ---- */
typedef struct HotWorker HotWorker;
HotWorker *worker_new(Ctx *);          /* NULL: no memory, or no thread */
void worker_free(Ctx *, HotWorker *);  /* waits for what is being made */
/* Is LLVM open? Otherwise it is being opened, or there is none: *none. */
bool worker_opened(HotWorker *, bool *none);
/* What it sets when there is something to look at: LLVM is open, code is finished, and, if `soon`,
 * in some milliseconds. */
_Atomic int *worker_nudge(HotWorker *, bool soon);
void worker_finish(HotWorker *, HotCode *);
bool worker_wait(HotWorker *, HotCode *);      /* false: it is being made, and the process ends */
/* It is to stop, and nobody waits for it. Is it at something? Then it stays, with its memory. */
bool worker_leave(HotWorker *);

#endif
