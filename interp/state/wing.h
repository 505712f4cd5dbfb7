/* A wing: a room of the house that the rooms below it do without, and what it adds to the language.
 * life.c names the wings; each entry may be NULL. */
#ifndef RICCI_INTERP_WING_H
#define RICCI_INTERP_WING_H

#include "interp/state/interp.h"

/* How nodes of a kind become executable ones. */
typedef struct LowerRow {
    NodeKind kind;
    LowerFn lower;
} LowerRow;

typedef struct Wing {
    const LowerRow *rows;                 /* the nodes that are its own */
    int count;
    /* a name's value; V_UNDEF: it is none of its */
    Value (*predefined)(Interp *, const char *name);
    /* a name is nothing: may raise what tells more */
    void (*undefined)(Interp *, const Exec *, const Name *);
    /* an error is on its way, its place is known */
    void (*raised)(Interp *, Error *);
    /* what runs on this thread that no interrupt reaches, or NULL; for handlers */
    const char *(*running)(void);
    void (*abandon)(void);            /* in the handler of Ctrl-C: leaves it */
    void (*ending)(Interp *);         /* the interpreter ends: while modules are there, … */
    void (*ended)(Interp *);          /* … and when they are gone */
} Wing;

static inline void wings_undefined(Interp *in, const Exec *x, const Name *name)
{
    for (const Wing *const *w = in->wings; w && *w; w++)
        if ((*w)->undefined)
            (*w)->undefined(in, x, name);
}

static inline void wings_raised(Interp *in, Error *e)
{
    for (const Wing *const *w = in->wings; w && *w; w++)
        if ((*w)->raised)
            (*w)->raised(in, e);
}

#endif
