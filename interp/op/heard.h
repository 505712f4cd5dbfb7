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

#include "interp/device/place.h"

enum { HEARD_KERNEL = 64 };

typedef struct Heard {
    const char *name;               /* "solve", "one pass" */
    const Op *op;                   /* NULL: none or several rows */
    Device *device;
    DType dtype;                    /* what it computed in; DT_NONE: not known */
    char kernel[HEARD_KERNEL];      /* "dgemm (OpenBLAS)", "generated"; "" */
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
    bool view, failed, fell_back;
    /* Words, made only where an `explain` listens. Whoever takes them empties them. */
    Buf head, notes;
    char formula[96];               /* of the FLOPs; "" if none is shown */
    /* The record's own, until it is finished. */
    double run_seconds, copy_wall;  /* what runs said, what real copies took of wall */
    bool told, real;                /* the place told of a run; one was on a device that is no simulation */
} Heard;

typedef struct Explain Explain;
struct Explain {
    PlaceListener place;            /* first: Interp.listener is this */
    Explain *up;                    /* who listened before */
    bool explains, words;           /* it is an `explain`; it or one above is */
    int depth;                      /* 1: inside an operation that it hears, with its record in `now` */
    Heard now;
    double paused, hidden;          /* when the clock stopped, 0 if it runs; how long it stood still */
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
double heard_clock(void);           /* seconds, monotonic */
const char *heard_bytes_text(char *out, size_t cap, double bytes);     /* "16.4 kB"; returns out */
/* What a row's call computes, by the row's formula; nan: not known. */
double heard_flops(const Op *, const Value *args, int n, Value result);
/* Waits for all devices in use. */
void heard_sync(Interp *);

/* Where place_wants: is this call to have a record, made around copies and all? */
bool heard_opens(Interp *, const Op *, const Value *args, int count);
Value heard_placed(Interp *, const Op *, Value *args, int count, unsigned weak, const int8_t *operand);
/* place_work with a record around it. */
Value heard_work(Interp *, const PlaceWork *);
/* The kernel that runs, where no `routine` is noted. Up to a colon. */
void heard_kernel(Interp *, const char *text);

/* What a kept plan says to those who want no words: its report is made once. */
typedef struct HeardPlan {
    char kernel[HEARD_KERNEL];
    double flops;
    bool known;
} HeardPlan;
/* True: told. False: somebody wants words, or it is not known yet: the plan reports, then it is kept. */
bool heard_plan(Interp *, const HeardPlan *);
void heard_plan_keep(Interp *, HeardPlan *);

void heard_clear(Interp *, Heard *);
void heard_free(Heard *);

#endif
