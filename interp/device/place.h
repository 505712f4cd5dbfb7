/* Device blocks: where operations run. `on D … { }` puts a DeviceBlock on the chain that hangs off
 * the interpreter; it holds in functions called inside, and every catch point restores the one it
 * found. The door asks it for every operation; indexing, literals, index notation and fused
 * chains, which do not go through a row, ask it too. Without a block, and while no tensor is on
 * a device, all of this is one test: place_wants.
 *
 * How an operation runs on a device (place.c):
 *   1. what needs no elements (shape, dtype, device) or belongs to the host (text, files) runs as
 *      ever; the host's rows bring their operands home.
 *   2. simulated devices run every row that they do not lack, on shadows of the operands in their
 *      own memory (kernels/device/device.h), outside of every place.
 *   3. devices that run generated source have forms of rows (Op.on_device). A form that
 *      cannot take these operands says why (place_refuse) before it did anything.
 *   4. what is missing runs on the place's fallback, with a notice, and its result goes back.
 *
 * Files: place.c (the door's half), place_why.c (what a device cannot do), place_copy.c (operands
 * there and home), place_work.c (what is no row's), place_nest.c and place_ew.c
 * (generated kernels), place_text.c (notices, summaries, errors), place_facts.c (devices
 * as values), place_strict.c (what a block names), eval_place.c (`on`). */
#ifndef RICCI_INTERP_PLACE_H
#define RICCI_INTERP_PLACE_H

#include "interp/op/heard.h"
#include "interp/op/optable.h"
#include "interp/state/exec.h"
#include "kernels/device/device.h"

/* Counted while a block runs. */
typedef struct PlaceCounts {
    uint64_t here, elsewhere;       /* operations on its device, on others */
    uint64_t fell;                  /* of those: because they are missing there */
    const Device *other;            /* the one on which all others ran, or NULL: several */
    uint64_t up, down;              /* copies to devices, from them */
    uint64_t bytes_up, bytes_down;
    /* where the device is a simulation: of those, as their models say; else copies alone are timed:
     * the block takes what its clock says */
    double seconds, copy_seconds;
} PlaceCounts;

typedef struct DeviceBlock {
    struct DeviceBlock *up;
    Device *device, *fallback;      /* cpu where none was written */
    bool strict, narrow, quiet, verbose;
    bool pinned;                    /* blocks inside do nothing: timeit's reference */
    bool held;                      /* open without a block of a program: a host's */
    bool running;                   /* stands for a form that runs: what it calls is part of it */
    /* on the host, not strict: what is at home runs as ever and is counted */
    bool plain;
    const Exec *header;             /* for its text and place */
    double start;                   /* device_clock, where the device is no simulation */
    uint64_t between;               /* of a grid: bytes that its processes had sent each other */
    PlaceCounts counts;             /* of this block and those inside it */
} DeviceBlock;

static inline void place_count_on(DeviceBlock *p, const Device *d)
{
    PlaceCounts *c = &p->counts;
    if (d != p->device)
        c->other = c->elsewhere && c->other != d ? NULL : d;
    *(d == p->device ? &c->here : &c->elsewhere) += 1;
}

/* Must anybody here think of devices? */
static inline bool place_wants(const Interp *in)
{
    return __builtin_expect(in->place != NULL || in->ctx.remote, 0);
}
/* The device on which operations run now; NULL: nobody said, the host. */
static inline Device *place_device(const Interp *in)
{
    return in->place ? in->place->device : NULL;
}

/* Do operations run as ever, but for the count? */
static inline bool place_plain(const Interp *in)
{
    return in->place && in->place->plain && !in->listener;
}
/* An operation ran on the host where place_plain. */
static inline void place_count(const Interp *in)
{
    const Device *cpu = in->place->device;
    for (DeviceBlock *p = in->place; p; p = p->up)
        place_count_on(p, cpu);
}

/* ---- the aspect (aspect.h; rows: place.c, work: place_work.c) ---- */
bool place_asked(const OpCall *);
Value place_call(OpCall *, const Aspect *rest);
/* A form of a row on a device of generated source; V_UNDEF: place_refuse told why. */
typedef Value (*DeviceForm)(OpCall *, Device *);
/* NULL: the row has none on this device. */
DeviceForm op_device_form(const Op *, const Device *);
/* The same for operands of which some are sparse. */
DeviceForm op_entries_form(const Op *, const Device *);
/* Keeps what stands against it. Always returns V_UNDEF. */
Value place_refuse(Interp *, Lack why);
/* The row that the device lacks for all dtypes, `op` or one that it stands on; NULL: it has them.
 * Pure: the operation matrix, strict. */
const char *place_lacked(Interp *, const Device *, const Op *);
/* The dtype of what is made without one: f64, or the widest float of the place's device. */
DType place_float(const Interp *);
/* A literal or maker's tensor as a tensor of the place. Takes t. */
Tensor *place_made(Interp *, Tensor *);

/* A call of operands of which some are sparse: by the row's form for them on the block's device
 * (op_entries_form); where there is none, or it refuses, what `run` gives on the host, told as what
 * falls back is, an error in a strict block. V_UNDEF is passed on in silence. */
Value place_entries(OpCall *, Value (*run)(OpCall *));

/* ---- operands (place_copy.c) ---- */
/* v with all tensors in it valid on the host. Borrowed in, the same value out. */
void place_home(Interp *, Value v);
static inline void value_home(Interp *in, Value v)
{
    if (__builtin_expect(in->ctx.remote, 0))
        place_home(in, v);
}
/* v (borrowed) with all tensors as shadows on a simulation; owned. */
Value place_shadow(Interp *, Device *, Value v);

/* ---- the record ---- */
/* Adds to the counts of all places in force, and tells profile if one listens. */
void place_ran(Interp *, const PlaceRun *);
/* DeviceSet.copied. */
void place_heard_copy(Ctx *, const Device *from, const Device *to, size_t bytes, double seconds);

/* ---- texts (place_text.c) ---- */
/* One notice per line, operation, dtype and reason: `op` ran on `on` because `why`. */
void place_notice(Interp *, const DeviceBlock *, const char *op, const Value *args, int count,
                  DType, const Device *on, const Lack *why, size_t up, size_t down);
/* The block runs on its device because `absent` is not there. */
void place_notice_absent(Interp *, const DeviceBlock *, Device *absent);
/* The line at the end of a block, if one is due. */
void place_summary(Interp *, const DeviceBlock *);
/* Raises ERR_DEVICE of a strict block. */
_Noreturn void place_strict_missing(Interp *, const DeviceBlock *, const char *op,
                                    const Value *args, int count, const Lack *why);
/* operand < 0: a result that would go back. */
_Noreturn void place_strict_copy(Interp *, const DeviceBlock *, const char *op, int operand, DType,
                                 const Device *from);
/* d (a name, or absent) cannot be used: with the reason and the list of those that can. Operand
 * `operand` is underlined; `header`: it stands in a header, and a fallback is offered. */
_Noreturn void place_raise_absent(Interp *, Device *d, int operand, bool header);

/* ---- mpi(2, 2) (place_grid.c) ---- */
/* DeviceSet.named. */
const char *place_named(Ctx *, const Buffer *);
/* Is d the name of devices that are called? */
bool place_is_called(const Interp *, const Device *d);
/* The bytes that the processes of a grid have sent each other so far. */
uint64_t place_between(Interp *, Device *);
Value place_called(Interp *, Device *, const Value *args, int count, const Name *const *names,
                   const Value *named, int named_count);

/* ---- before a strict block runs (place_strict.c) ---- */
/* Raises ERR_DEVICE listing every operation named in `block`, or in a function it calls by name,
 * that the device lacks for all dtypes. */
void place_check_block(Interp *, const DeviceBlock *, const Node *block, Module *);

/* ---- `on` (eval_place.c) ---- */
const Exec *lower_on(Lower *, const Node *);
const Exec *lower_device_index(Lower *, const Node *);
/* The same for who has a header (of lower_on) and no block: until place_end it is in force. */
void place_begin(Interp *, const Exec *header, DeviceBlock *);
void place_end(Interp *, DeviceBlock *);             /* with the block's summary, if one is due */
void place_enter(Interp *, DeviceBlock *);
/* on the ordinary way out; errors: guard_restore */
void place_leave(Interp *, DeviceBlock *);

#endif
