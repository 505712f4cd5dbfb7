/* `autocast F … { }`: the policy of mixed precision, one class per operation in its registry row.
 * AC_LOWER: floating operands that F does not hold are rounded to F (f64, the default float, too),
 * the result is in F, its sums are F's accumulator's. AC_RAISE: what f32 holds becomes f32; f32
 * and f64 stay. AC_WIDEST and AC_NONE: the dtype rules as ever, in which the widest operand
 * decides. Ints, bools, complex numbers, mp, decimal, rational and interval are left alone, and so
 * is a call with a dtype= of its own.
 *
 * i8 is the one F that is no float: rows with an .eight round their operands to it themselves, by
 * scales that they find, and give f32; all others are as outside. There are no modifiers.
 *
 * Modifiers say how AC_LOWER computes: casts round in the mode, and the operation runs as in a
 * precision scope of the dtype that its operands have by then. `reproducible` holds for the sums
 * of AC_RAISE as well. Where the header has a `backward`, products of formats of at most 8 bits
 * give f32. */
#ifndef RICCI_INTERP_AUTOCAST_H
#define RICCI_INTERP_AUTOCAST_H

#include "interp/op/aspect.h"
#include "interp/state/scope.h"
#include "kernels/nest/nest.h"

/* F of the innermost scope where that is an autocast, else DT_NONE. */
static inline DType autocast_format(const Interp *in)
{
    return in->scope && in->scope->format == DT_NONE ? in->scope->autocast : DT_NONE;
}

/* What an operand of dtype x is cast to by an operation of this class; x itself: nothing. */
bool autocast_casts(DType);              /* is it a binary float, which may become another? */
DType autocast_dtype(AutocastClass, DType f, DType x);

/* Do the modifiers of an autocast change how it computes? */
static inline bool autocast_asks(const Scope *s)
{
    return s->accumulate_given || s->round != ROUND_NEAREST || s->saturate || s->flush ||
           s->reproducible;
}
/* Is F a binary format of at most 8 bits? */
bool autocast_tiny(DType);
/* v of a binary float as dt, rounded in the scope's mode. Takes v. */
Value autocast_round(Interp *, Scope *, Value v, DType dt);
/* The precision scope that an operation of this class computes in on operands that are cast, and
 * takes its draws from; false: outside of every scope. */
bool autocast_inner(const Scope *, AutocastClass, const Value *args, int count, Scope *inner);
/* Infinities and nans of a product whose roundings nobody counts. */
void autocast_count(Interp *, Scope *, const Value *args, int count, Value r);
/* What it has counted and drawn goes to the autocast. */
void autocast_done(Scope *, const Scope *inner);

/* Does the innermost scope change what the operation computes in? */
static inline bool autocast_applies(const Interp *in, const Op *op)
{
    return autocast_format(in) != DT_NONE &&
           (op->autocast == AC_LOWER || op->autocast == AC_RAISE);
}
/* Would this product be one of i8 here? Rules of gradients are none: they keep their floats. */
bool autocast_eight(const Interp *, const Op *, const Value *args, int count);
/* The aspect (aspect.h): the rest runs on operands that are cast, outside of every scope. */
bool autocast_wants(const OpCall *);
Value autocast_call(OpCall *, const Aspect *rest);

/* The same of a node of a nest, for who makes nests (interp/fuse/nest_make.c, index notation). */
int autocast_node(Interp *, Nest *, AutocastClass, int node);

/* t in another floating dtype, laid out as t is where its elements lie close enough together:
 * what the planner of contractions does with operands that it converts itself, so that a
 * product finds the same layout whoever cast them. New reference. */
Tensor *autocast_tensor(Interp *, Tensor *t, DType);

#endif
