/* Lost digits. A function or a block runs on values that have a shadow: the same computed in a
 * wider format, by the same operations from the same arguments. It is a tape of interp/gradient
 * with a recorder of its own, as a graph is: a value is a traced one (Traced, in
 * interp/state/value.h), and where derivatives have a tangent stands its Shade. A float without
 * one is exact: an argument, a variable of outside.
 *
 *   shade.c     shades, places, the run's record
 *   aside.c     operations run again, on shadows
 *   record.c    the recorder: what meets a value with a shadow
 *   blame.c     what an operation lost, and of which kind that is
 *   shadow.c    shadow(f, …), precision F shadow G { … }, digits(x)
 *   tell.c      explain as digits (tell.h) */
#ifndef RICCI_INTERP_DIGITS_H
#define RICCI_INTERP_DIGITS_H

#include "interp/gradient/gradient.h"

typedef enum LossKind {
    LOSS_ROUNDING, LOSS_CANCELLATION, LOSS_ABSORPTION, LOSS_CONDITIONING, LOSS_OVERFLOW,
    LOSS_UNDERFLOW, LOSS_KINDS
} LossKind;
const char *loss_name(LossKind);

/* An operation at its place in the program. */
typedef struct LossSite {
    const Op *op;                   /* NULL: a subscript, index notation … */
    char *operation;                /* "-", "solve", "indexing" */
    Source *source;                 /* retained; NULL: not known */
    Span span;
    bool told;                      /* that it has no form in the format */
} LossSite;

/* What a value has lost at a site: an operation that runs again on its own result, as in a loop,
 * goes on losing, and counts as one. */
typedef struct Loss {
    uint32_t site;
    uint8_t kind;                   /* LossKind of the run that lost most for a reason … */
    double lost;                    /* in all */
    double cost;                    /* as far as the value has not got them again */
    double reasoned;                /* … and what those lost that had one */
    double most;                    /* of one run */
    double narrow;                  /* a cast to a format of so many digits; 0: it is none */
} Loss;

enum { LOSSES = 8, SITE_NONE = UINT32_MAX };

/* Of a value: what it is beside its rounded self. */
typedef struct Shade {
    Native native;                  /* first */
    Value shadow;                   /* a number or tensor, bools too */
    double digits;                  /* that are right, at most the format's; nan: not counted yet */
    double swallowed;               /* sum of what sums swallowed on the way here, directly … */
    uint32_t swallower;             /* … and the first that did */
    uint32_t made;                  /* by which operation; SITE_NONE */
    uint32_t losses;
    Loss loss[LOSSES];              /* the greatest, in any order */
} Shade;

/* A run with shadows. */
typedef struct Shading {
    Native native;                  /* first */
    Ctx *ctx;
    DType against;
    LossSite *site;
    uint32_t sites;
    size_t site_cap;
    int64_t branches;
} Shading;

/* ---- shade.c ---- */
Tape *shading_begin(Interp *, DType against);   /* both come onto the value stack, the tape last */
void shading_end(Interp *, Tape *);             /* on the ordinary way out */
/* Of the innermost tape that has shadows, or NULL. */
Tape *shading_tape(const Interp *);
static inline Shading *shading_of(const Tape *t) { return t->record; }
/* The operation that runs, at its place. `name`: of what is no row. */
uint32_t site_here(Interp *, Shading *, const Op *, const char *name);
void site_where(Buf *, const LossSite *);       /* file:line */
Shade *shade_new(Interp *, Value shadow);       /* takes it */
static inline Value v_shade(Shade *s) { return (Value){ .tag = V_TRANSFORM, .ptr = s }; }
/* Its shade on t, or NULL. */
Shade *shade_on(Value, const Tape *t);
/* r, retained, with its shade, which is taken. */
Value shaded(Interp *, Tape *, Value r, Shade *);
void loss_add(Shade *, const Loss *);           /* the greater of the two at a site stays */
Loss *loss_at(Shade *, uint32_t site);          /* of a site; makes room; NULL: all are greater */
void losses_join(Shade *, const Shade *from);
/* A value of so many right digits, of so many: no loss cost it more than it lacks. */
void losses_clip(Shade *, double digits, double of);
/* The one to tell of, where a result of so many digits at most is told of; NULL: none. */
const Loss *loss_worst(const Shade *, double most);
LossKind loss_kind(const Loss *);
bool floats(Value);                             /* real floats, exact ones too */
bool complex_in(Value);
double format_digits(DType);                    /* 15.95 of f64 */
/* Of a value's format, as far as shadows in `against` can tell. */
double value_digits(Value, DType against);

/* ---- aside.c ---- */
/* Runs fn in the format, aside of all that the program is in. False: it raised, which is
 * forgotten. */
typedef Value (*AsideFn)(Interp *, void *data);
bool aside(Interp *, const Shading *, AsideFn fn, void *data, Value *out);
Value aside_cast(Interp *, const Shading *, Value v);       /* the value in the format; owned */
/* v as the shadows have it: formats too become theirs; owned. */
Value shadow_arg(Interp *, const Tape *, Value v);
bool aside_row(Interp *, const Tape *, const Op *, const Value *args, int count, unsigned weak,
               Value *out);
/* The shadow s, a matrix like v, with the signs of v's columns, or rows, as if only a convention
 * had turned them; owned. */
Value aside_signs(Interp *, const Shading *, Value v, Value s, bool rows);

/* ---- blame.c ---- */
/* The digits of a value against its shadow, as digits(x, r) counts them, and |x - r| over |r|. */
double digits_of(Interp *, Value v, Value shadow, double *error);
double value_magnitude(Interp *, Value);        /* the greatest |x| in it */
/* What a call is blamed for: args as on the tape, below as it ran on. */
typedef struct Call {
    const Op *op;                   /* NULL: it moves or places what it is given */
    const char *name;
    const Value *args, *below;
    int count;
    Tape *tape;
    bool sums;                      /* without a row: it adds up products (index notation) */
} Call;
/* r with the shadow s, which is taken; owned. */
Value blame(Interp *, const Call *, Value r, Value s);
/* The same of a tuple of results, bools, or anything else; s V_UNDEF: there is no shadow, r stands
 * for it. */
Value blame_all(Interp *, const Call *, Value r, Value s);

/* ---- record.c ---- */
extern const Recorder shadow_recorder;
void branch_taken(Interp *, const Tape *, Value v);         /* if its shadow takes another way */

/* ---- shadow.c ---- */
extern const Shadows shadows;
Value shadow_run(OpCall *, int f, int against, int first);
/* The shadow of v, of its structure; owned. */
Value shadow_of(Interp *, const Tape *, Value v);
/* All that is known of a value: the digits of its worst part, what they are of, and what was lost,
 * NULL: nothing. */
typedef struct Known {
    double digits, of;
    const Loss *worst;
    bool any;                       /* there are floats in it */
} Known;
Known digits_known(Interp *, const Tape *, Value v, Shade *sum);

#endif
