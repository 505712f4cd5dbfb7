/* Nests for devices of generated source (kernels/gpu/gpu.h), as forms of rows make them: operands
 * are tensors of the language, moved to the device when the nest runs, the result is a new
 * tensor whose home is the device. The object lies on the value stack and goes with it, so an
 * error on the way frees the nest. Used by place_ew.c and builtins/devices/devices*.c.
 *
 *     PlaceNest *n = place_nest_new(in, d);
 *     index 0 … rank-1: the axes of the result; then the indices of reductions
 *     n->nest->root = … place_nest_load(n, x, strides), nest_ew(…) …
 *     if (!place_nest_takes(n)) return v_undef();
 *     Tensor *out = place_nest_run(n, rank, shape, &trouble);
 *
 * Everything that can be refused is asked before place_nest_run, which moves operands. */
#ifndef RICCI_INTERP_PLACE_NEST_H
#define RICCI_INTERP_PLACE_NEST_H

#include "interp/device/place.h"
#include "kernels/gpu/gpu.h"

enum { PLACE_SLOTS = 64 };

typedef struct PlaceNest {
    Native native;                      /* first: the count of references */
    Interp *in;
    Device *device;
    Nest *nest;
    Tensor *tensor[PLACE_SLOTS];        /* by slot, borrowed; NULL: a constant */
    DType dtype[PLACE_SLOTS];
    int64_t cell[PLACE_SLOTS][2];       /* of constants */
} PlaceNest;

PlaceNest *place_nest_new(Interp *, Device *);
/* Indices for all axes of a shape, in order. */
void place_nest_axes(PlaceNest *, int rank, const int64_t *shape);
/* An element of t: stride[i] per index of the nest, `count` of them, the others 0. */
int place_nest_load(PlaceNest *, Tensor *t, const int64_t *stride, int count);
/* t broadcast to the first `rank` indices, its last axis with the last of them. */
int place_nest_broadcast(PlaceNest *, Tensor *t, int rank);
/* The same where entries of `table`, a dense i64 tensor whose axes run with the indices from
 * `first` on, say where the element lies: each counts `step` elements, all are in range. */
int place_nest_table(PlaceNest *, Tensor *x, const int64_t *stride, int count, Tensor *table,
                     int first, int64_t step);
int place_nest_const(PlaceNest *, DType, const void *cell);
int place_nest_int(PlaceNest *, int64_t, DType);        /* a whole number in any dtype */
int place_nest_float(PlaceNest *, double, DType);       /* of a float dtype */
int place_nest_ew(PlaceNest *, EwOp, DType compute, int a, int b);      /* b < 0: one operand */

/* Can the device run it? False: place_refuse said why. */
bool place_nest_takes(PlaceNest *);
/* Moves what it reads and runs it; rooted on the value stack. An empty result runs nothing. */
Tensor *place_nest_run(PlaceNest *, int rank, const int64_t *shape, EwTrouble *);
/* The same into memory of `out`, a tensor of the device. */
EwTrouble place_nest_into(PlaceNest *, Tensor *out);

/* A new tensor of the device, rooted on the value stack. */
Tensor *place_new(Interp *, Device *, DType, int rank, const int64_t *shape);
/* What a kernel reads of t: its memory there, with valid contents (copied and counted). */
DevArg place_operand(Interp *, Device *, Tensor *t);
/* Raises ERR_MEMORY where making room for one operand drove out another. */
void place_hold(Interp *, Device *, Tensor *const *, int n);
/* A form's result: rank 0 is read home. Retains. */
Value place_value(Interp *, Tensor *);

/* An OPC_EW row on a device of generated source, as a nest of one node (place_ew.c). V_UNDEF:
 * place_refuse told why. */
Value place_elementwise(Interp *, Device *, const Op *, const Value *args, int n, unsigned weak);

#endif
