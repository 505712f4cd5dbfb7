/* What is heard of operations. While somebody listens (`explain`, `profile`, `timeit`), the door
 * keeps one record per operation, made here and nowhere else: what ran, where, in which dtype,
 * by which kernel, how long, FLOPs, bytes, copies between devices. Listeners stand in a chain,
 * the innermost first; a finished record goes to each that is not itself inside an operation.
 * Operations that run inside an operation add to its record. Without a listener all of it is
 * one test of a pointer.
 *
 * Files: heard.c (the record), explain.c, profile.c, timeit.c (who reads it). */
#ifndef RICCI_INTERP_HEARD_H
#define RICCI_INTERP_HEARD_H

#include "interp/op/aspect.h"
#include "kernels/tensor/report.h"

/* What computed: a routine, and whose it is where that says more. As text `dgemm (OpenBLAS)`. */
typedef struct HeardKernel {
    char routine[64];               /* "dgetrf, dgetrs", "generated"; "": not known */
    char library[24];               /* "OpenBLAS"; "" */
} HeardKernel;
enum { HEARD_KERNEL = sizeof(HeardKernel) + 4 };         /* of its text */
const char *heard_kernel_text(char out[HEARD_KERNEL], const HeardKernel *);

/* ---- what the place tells ---- */
/* What ran: one entry per operation, written by the door alone. */
typedef struct PlaceRun {
    const char *name;               /* "solve", "`+`", "one pass" */
    const Op *op;                   /* or NULL */
    Device *device;
    DType dtype;
    double seconds;                 /* measured; on a simulation the model's */
    double flops, bytes;            /* 0: not known */
    bool fell_back;
} PlaceRun;
typedef struct PlaceMove {          /* a copy between devices */
    const Device *from, *to;
    size_t bytes;
    double seconds;
} PlaceMove;
/* What listens: profile { }. NULL: nobody. */
typedef struct PlaceListener {
    void (*ran)(Interp *, struct PlaceListener *, const PlaceRun *);
    void (*moved)(Interp *, struct PlaceListener *, const PlaceMove *);
} PlaceListener;

typedef struct Heard {
    const char *name;               /* "solve", "one pass" */
    const Op *op;                   /* NULL: none or several rows */
    Device *device;
    DType dtype;                    /* what it computed in; DT_NONE: not known */
    HeardKernel kernel;
    const Value *args;              /* while it is told; borrowed */
    int n;
    Value result;                   /* the same; V_UNDEF: it failed, or is not known */
    double start;                   /* on heard_clock */
    double wall;                    /* seconds on the clock until it was done */
    double seconds;                 /* of the operation alone; simulated where its device is */
    double flops;                   /* nan: not known */
    double read, written, copied;   /* bytes; copied: only to bring operands into order */
    uint64_t up, down;              /* copies between devices that it caused */
    double bytes_up, bytes_down, copy_seconds;
    double between;                 /* bytes that processes of a grid sent each other for it */
    bool view, failed, fell_back;
    bool numbers;                   /* a line says what numbers it computed with */
    /* Words, made only where an `explain` listens. Whoever takes them empties them. */
    Buf head, notes;
    char formula[96];               /* of the FLOPs; "" if none is shown */
    /* The record's own, until it is finished. */
    double run_seconds, copy_wall;  /* what runs said, what real copies took of wall */
    /* the place told of a run; one was on a device that is no simulation */
    bool told, real;
} Heard;

typedef struct Explain Explain;
struct Explain {
    PlaceListener place;            /* first: Interp.listener is this */
    Explain *up;                    /* who listened before */
    bool explains, words;           /* it is an `explain`; it or one above is */
    /* 1: inside an operation that it hears, with its record in `now` */
    int depth;
    char next[200];                 /* a line that the next record begins with; "" */
    Heard now;
    /* when the clock stopped, 0 if it runs; how long it stood still */
    double paused, hidden;
    /* A finished record. */
    void (*heard)(Interp *, Explain *, Heard *);
    /* A copy between devices, wherever it came from (`now` has it too). May be NULL. */
    void (*moved)(Interp *, Explain *, const PlaceMove *);
};

static inline bool heard_on(const Interp *in) { return __builtin_expect(in->explain != NULL, 0); }

/* x listens, after its functions were set. heard_end is called on every way out: a Guard put
 * the older state back, or not. */
void heard_begin(Interp *, Explain *x);
void heard_end(Interp *, Explain *x);
/* What was heard before an error or a jump out is told: what fails meanwhile does not hide that
 * one. */
void heard_despite_error(Interp *, void (*tell)(Interp *, void *), void *data);
double heard_clock(void);           /* seconds, monotonic */
const char *heard_bytes_text(char *out, size_t cap, double bytes);     /* "16.4 kB"; returns out */
/* What a row's call computes, by the row's formula; nan: not known. */
double heard_flops(const Op *, const Value *args, int n, Value result);
/* Waits for all devices in use; what grids have sent by then is nobody's. */
void heard_sync(Interp *);

/* Who hears what every row was given and gave, while Interp.solved is set: the program's own
 * values. */
typedef struct Solved {
    void (*solved)(Interp *, struct Solved *, const Op *, const Value *args, int count,
                   Value result);
} Solved;

/* ---- the aspect (aspect.h) ---- */
/* Opens it a record? One of an operation that is running takes what runs inside it. */
bool record_wants(const OpCall *);
Value record_call(OpCall *, const Aspect *rest);
/* The kernel that runs; library NULL: none to name. */
void heard_kernel(Interp *, const char *routine, const char *library);

/* What a kept plan says to those who want no words: its report is made once. */
typedef struct HeardPlan {
    HeardKernel kernel;
    double flops;
    bool known;
} HeardPlan;
/* True: told. False: somebody wants words, or it is not known yet: the plan reports, then it is
 * kept. */
bool heard_plan(Interp *, const HeardPlan *);
void heard_plan_keep(Interp *, HeardPlan *);

/* ---- what operations say of themselves ---- */
/* Does somebody want words? heard_on: does anybody listen (`profile` wants numbers alone)? */
static inline bool explain_on(const Interp *in)
{
    return __builtin_expect(in->explain != NULL, 0) && in->explain->words;
}

/* A line `label  text` of the running operation. Operations that it calls itself add to it. */
void explain_note(Interp *, const char *label, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same of the operation that runs next, from outside of any: what comes is a formula's. */
void explain_note_next(Interp *, const char *label, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A line of its own, from outside of any operation: what somebody who runs several says of them. */
void explain_tell(Interp *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* What computes it, as heard_kernel has it, for listeners without words too where no kernel is
 * known yet; and the line `routine`, which is the kernel's text where fmt is NULL. */
void explain_routine(Interp *, const char *routine, const char *library, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* The line `numbers`, what numbers it computes with. Only the first of an operation is one: its
 * parts say nothing new. */
void explain_numbers(Interp *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* What it computed, where the row's formula with the operands' sizes would not say it;
 * `how` is the formula to show (NULL: none). Calls add up. */
void explain_flops(Interp *, double flops, const char *how);
/* Bytes moved only to bring an operand into the order that a kernel wants. */
void explain_copied(Interp *, double bytes);
/* Between these an operation finds out what only the listener wants: no time passes. */
void explain_pause(Interp *);
void explain_resume(Interp *);

/* The steps of a plan, its FLOPs and what it copies and keeps (explain_steps.c). */
void explain_steps(Interp *, const Report *);
/* The value of a row's FLOP formula ("2/3 n^3", "2mnk", "5n log2 n") with sizes for its
 * letters, index 0 for 'a'; NAN if it is no such product or a letter's size is NAN. */
double explain_formula(const char *formula, const double sizes[26]);

void heard_free(Heard *);

#endif
