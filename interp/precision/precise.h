/* Operations in a format: what the door does inside a precision scope, and on operands whose
 * dtype has no kernels of its own (fp8, any float(e, p), decimal, mp, interval), which compute
 * as if in a scope of the dtype that they vote for. Operands are rounded to the format first;
 * then one of three ways: the ordinary kernels (f32 and f64 to nearest), the arithmetic of
 * kernels/arith/arith.h, or the ordinary kernels in a wider float and one rounding at the end.
 *
 * precise.c has the formats, operands and results, precise_ew.c elementwise rows; the rows that
 * run functions have their forms in builtins/formats/formats*.c, named in their rows
 * (Op.format). */
#ifndef RICCI_INTERP_PRECISE_H
#define RICCI_INTERP_PRECISE_H

#include "interp/op/aspect.h"
#include "interp/op/exact.h"
#include "interp/state/scope.h"
#include "kernels/arith/arith_complex.h"
#include "kernels/tensor/iter.h"

/* Might a row that runs a function have to do with formats? */
static inline bool precise_on(const Interp *in)
{
    return __builtin_expect(in->scope != NULL || in->ctx.foreign || in->ctx.cells, 0);
}
/* Do elementwise operands ask for it: a scope, or a dtype of no kernels? Nearly always false. */
static inline bool precise_concerns(const Interp *in, const Value *args, int n)
{
    if (__builtin_expect(precise_scope(in) != NULL, 0))
        return true;
    for (int i = 0; in->ctx.foreign && i < n; i++)
        if (args[i].tag == V_TENSOR && dtype_foreign((DType)args[i].tensor->dtype))
            return true;
    return false;
}

/* The aspect (aspect.h): an elementwise row in a format, the form of another (Op.format) where it
 * has one, else the rest. */
bool precise_wants(const OpCall *);
Value precise_call(OpCall *, const Aspect *rest);
/* An elementwise row that precise_concerns. False: nothing is special, the ordinary way. */
bool precise_elementwise(const OpCall *, Value *result);
typedef Value (*FormatFn)(OpCall *, Scope *);

/* What explain says of an operation in the scope's format. */
void precise_note(Interp *, const Scope *, const char *what);
/* The form of rows that only move elements: the row's own function. */
Value op_format_moves(OpCall *, Scope *);

/* ---- for the forms ---- */
/* The scope that a row's form (Op.format) runs in: the one in force, or what its operands' dtypes
 * stand for, made in *implied. NULL: it does not run. */
Scope *precise_form_scope(OpCall *, Scope *implied);
/* The arithmetic of a scope while one operation runs. */
typedef struct Precise {
    Interp *in;
    Scope *scope;
    Arith a;                /* the format, in the scope's mode */
    Arith acc;              /* the accumulator: opened by precise_accumulator */
    bool summing;
    const char *sums;       /* how products were added up, where that was not in order; or NULL */
} Precise;
void precise_open(Precise *, Interp *, Scope *);
/* The scope's own arithmetic, with nothing counted: for one operation at a time. */
Arith *precise_arith(Interp *, Scope *);
void precise_accumulator(Precise *);
/* Counts and draws go to the scope. */
void precise_close(Precise *);
/* Numbers of any real dtype as carriers of a's format: to nearest where the mode is stochastic. */
ArithStatus precise_load(Arith *a, void *to, int64_t st, DType from, const void *x, int64_t sx,
                         int64_t n);

/* Rows of broadcast operands, one after the other or, where the numbers are of no heap, by all
 * threads; every row has its own part of the draws. */
typedef struct Walk {
    Iter it;
    const Arith *a;
    uint64_t draws;         /* that one element takes */
    /* n elements; operand k starts at at[k] and steps by step[k] elements. */
    ArithStatus (*span)(const struct Walk *, Arith *a, const int64_t *at, const int64_t *step,
                        int64_t n);
    ArithFlags flags;
    ArithStatus status;
} Walk;
/* Runs w, adds its counts and draws to *a. */
ArithStatus precise_walk(Ctx *, Walk *w, Arith *a);
/* Raises what a status stands for, about the running row; the interrupt flag first. */
void precise_check(Interp *, const Op *, ArithStatus, DType);

/* Real or complex numbers of any dtype as numbers of the format: the tensor itself (retained)
 * where they are. Ints and bools are converted too. */
Tensor *precise_round(Precise *, const Op *, Tensor *);
Tensor *precise_round_as(Precise *, const Op *, Tensor *, bool paired);
/* The same as contiguous carriers of the format (doubles; pairs where it is complex). */
Tensor *precise_carriers(Precise *, const Op *, Tensor *);
Tensor *precise_carriers_as(Precise *, const Op *, Tensor *, bool paired);
/* The same as carriers of the accumulator. */
Tensor *precise_summands(Precise *, const Op *, Tensor *);
/* Carriers of `from` as a tensor of the scope's format, each rounded once in its mode where `from`
 * is another arithmetic, in c's storage. Unrooted. */
Tensor *precise_result(Precise *, const Op *, const Arith *from, Tensor *carriers);
/* The storage dtype of the format's real or complex numbers. */
static inline DType precise_dtype(DType format, bool paired)
{
    return paired ? dtype_complex_of(format) : format;
}
/* What its carriers stand in. */
static inline DType precise_carrier(const Arith *a, bool paired)
{
    return precise_dtype(a->carrier, paired);
}

/* Argument i as a tensor of the format; rooted. */
Tensor *precise_operand(OpCall *, Precise *, int i);
/* Do the ordinary kernels sum in this accumulator? */
bool precise_fast(const Scope *);
/* Do nests (index notation) compute in this format as the rows do? */
bool precise_nests(const Scope *);
/* The scope that a formula over sums runs in: its format is the accumulator of *s. */
Scope precise_inner(const Scope *);
/* The row's own function outside of every scope, on c's arguments with each number that has a
 * fraction (and, if `whole`, each int tensor) rounded to the format and then held in `wide`;
 * numbers with a fraction in the result are rounded to the format once. DT_NONE: not widened. */
Value precise_outside(OpCall *, Scope *, DType wide, bool whole);
/* Infinities and nans of r that no operand brought: all that counts of roundings inside a
 * library. */
void precise_count_specials(Interp *, Scope *, const Value *args, int count, Value r);
/* v with every number that has a fraction rounded to the format once, in its mode. Takes v. */
Value precise_settle(Interp *, Scope *, const Op *, Value v);

#endif
