/* What the files behind the door's device half share: one operation on its way to a device.
 * Private to place*.c. */
#ifndef RICCI_INTERP_PLACE_DOOR_H
#define RICCI_INTERP_PLACE_DOOR_H

#include "interp/op/op.h"
#include "interp/device/place.h"

/* A row's call or, where op is NULL or `work` set, work that is no row's. */
typedef struct Doing {
    Interp *in;
    const Op *op;                   /* or NULL */
    const Work *work;               /* or NULL */
    Value *args;
    int count;
    unsigned weak;
    const int8_t *operand;
    const OpCall *call;             /* as the aspect got it, … */
    const Aspect *rest;             /* … and what it goes on with */
    const char *name;               /* as notices call it */
    char text[24];
    DType dtype;                    /* the widest of its tensor operands; DT_NONE: there is none */
    bool entries;                   /* a row's, of operands of which some are sparse */
    bool narrow;                    /* the block says so, and no scope says another thing */
} Doing;

/* Single operations are timed for those who listen. */
static inline double place_clock(const Interp *in) { return in->listener ? device_clock() : 0; }
/* *dt is the widest of what it was (DT_NONE: nothing yet) and the dtypes of v's tensors. */
void place_widest(DType *dt, Value v);
/* What runs for the call, on `args`: no block is in force inside, for what it calls is part of
 * it. */
Value place_run_rest(const Doing *, Value *args);
/* Work in place of a row: the aspect's other half (place_work.c). */
Value place_work(OpCall *, const Aspect *rest);
/* The notice of `narrow`, where an operand of dtype `cast` was made the device's widest float. */
void place_tell_narrowed(const Doing *, const Device *, DType cast);

/* ---- what a device can do (place_why.c) ---- */
/* Why the device cannot run it; LACK_NONE: it can. Pure. */
Lack place_cannot(const Doing *, const Device *);
/* Raises what an elementwise row raises for dtypes and shapes that do not go together. */
void place_check_elementwise(const Doing *);
/* Do the lengths meet that `@` sums over and `\` solves for? True for other rows. */
bool place_lengths_meet(const Doing *);
/* The dtype in which an operand of dtype x is computed there: what the scope in force, or `narrow`,
 * makes of it. */
DType place_landing(const Doing *, const Device *, DType x);
/* Do ints become the device's widest float, since their result would be an f64 that it has not?
 * Those of work that is no row's stay: they may be subscripts, masks, bits. */
bool place_floats(const Doing *, const Device *);
/* Is the row's kernel a product that the device takes in a narrower dtype? */
bool place_product(const Doing *, const Device *);

/* ---- operands and results (place_copy.c) ---- */
/* Has v, or a value in it, elements in memory: a tensor of rank 1 and more? */
bool place_elements(Value v);
/* The first argument with a tensor that is not on d, or -1; *from: where it is. */
int place_elsewhere(Interp *, const Device *d, const Value *args, int count, const Device **from);
/* The operands in the dtypes that d computes in, on the value stack; returns the first. *cast: the
 * dtype that one of them had, DT_NONE if all stayed as they are. */
Value *place_land(const Doing *, const Device *d, DType *cast);
/* Shadows of `landed` on a simulation, on the value stack. */
Value *place_shadows(const Doing *, Device *d, Value *landed);
/* Factors of a product, values on the value stack, in the dtype that d takes products in. */
void place_round_factors(Interp *, const Device *d, Value *shadows, int count);
/* What a kernel made of shadows as values of the device; tensors that it does not hold stay on the
 * host. Numbers come home: counted. Takes `made`, which lies on top of the value stack then. */
Value place_adopt_all(const Doing *, Device *, Value made, const Value *landed,
                      const Value *shadows);
/* A tensor in v that d cannot hold: its dtype, else DT_NONE. */
DType place_unheld(const Device *d, Value v);
/* v with all tensors that d can hold moved there. Takes v. */
Value place_settle(Interp *, Device *d, Value v);

#endif
