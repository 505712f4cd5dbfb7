/* The dynamic scopes of precision: `precision F … { }` and `autocast F { }`. The innermost one
 * hangs off the interpreter; it holds in functions that are called inside it, and every catch
 * point restores the one it found. Read by the door (which rounds operands and chooses
 * kernels), by literals and by what makes tensors; nobody else asks. */
#ifndef RICCI_INTERP_SCOPE_H
#define RICCI_INTERP_SCOPE_H

#include "interp/state/interp.h"
#include "kernels/arith/arith.h"

typedef struct Scope {
    struct Scope *up;
    DType format;            /* of a precision scope; DT_NONE: this is an autocast */
    /* of reductions and contractions: what was written, or the format's own */
    DType accumulate;
    DType autocast;          /* DT_NONE: this is a precision scope */
    /* of an autocast the modifiers say how what is computed in its format is: autocast.h */
    /* what products of a backward pass take cotangents in (interp/gradient); DT_NONE: nothing */
    DType backward;
    DType shadow;            /* of a precision scope: what shadows in it are in; DT_NONE: nothing */
    bool accumulate_given;
    RoundMode round;
    bool saturate, flush, reproducible;
    bool pinned;             /* scopes inside do nothing: timeit's reference */
    uint64_t seed[2], draw;  /* stochastic rounding: see Arith */
    ArithFlags flags;        /* since the scope began */
    bool counts;             /* an autocast whose products' infinities and nans are wanted */
    bool waits;              /* what lazy blocks leave for later runs before it ends */
    bool partly;             /* a library ran whose roundings are not counted: compare's `~` */
    Arith arith;             /* the door's, opened when first used; ctx NULL before */
} Scope;

/* The format's own kernels and LAPACK run: f32 or f64, to nearest, nothing else asked for. */
static inline bool scope_ordinary(const Scope *s)
{
    return (s->format == DT_F32 || s->format == DT_F64) && s->round == ROUND_NEAREST &&
           !s->saturate && !s->flush;
}

/* The format that the header names. */
static inline DType scope_format(const Scope *s)
{
    return s->format == DT_NONE ? s->autocast : s->format;
}

/* Neither: a scope in which everything is what it is outside, but code is lowered as for a scope.
 * What reads literals, and hears of each operation, needs that (interp/digits). */
Scope scope_plain(void);
/* Is it a precision or autocast scope, not none and not that one? */
static inline bool scope_says(const Scope *s) { return s && scope_format(s) != DT_NONE; }
/* A precision scope of a format with nothing else said; the seed is drawn from the
 * interpreter's generator when the mode is stochastic (scope_seed). */
Scope scope_of(DType format);
void scope_seed(Interp *, Scope *);
/* Were both written with the same header? */
bool scope_same(const Scope *, const Scope *);
/* The precision scope of a format with the modifiers of *s, and its draws. */
Scope scope_in(const Scope *s, DType format);
void scope_enter(Interp *, Scope *);         /* s lives as long as the scope */
void scope_leave(Interp *, Scope *);         /* on the ordinary way out; errors: guard_restore */

/* The arithmetic of the scope's format, and of its accumulator (the mode holds for an
 * accumulator that is the format itself; another one rounds to nearest). Counting goes on in
 * *a: scope_done adds it up, and moves the scope's draws on. Raises where a library is missing. */
void scope_arith(Interp *, const Scope *, Arith *a);
void scope_accumulator(Interp *, const Scope *, Arith *a);
void scope_done(Scope *, const Arith *);
/* The same for a value's own format outside of every scope: nearest, default accumulator. */
Scope scope_implied(Interp *, DType format);

/* The precision scope in force; NULL: there is none, or an autocast. */
static inline Scope *precise_scope(const Interp *in)
{
    return in->scope && in->scope->format != DT_NONE ? in->scope : NULL;
}

#endif
