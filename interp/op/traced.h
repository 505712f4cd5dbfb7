/* Traced values (Traced, in interp/state/value.h) at the door: the aspect that meets them first,
 * and what the rooms of values call where one turns up. What is remembered, and the rules, are
 * interp/gradient's; it is reached through a table of functions. While no traced value is alive
 * all of this is one test. */
#ifndef RICCI_INTERP_TRACED_H
#define RICCI_INTERP_TRACED_H

#include "interp/op/aspect.h"
#include "interp/state/kind.h"

struct Sub;

typedef struct Traces {
    Value (*call)(OpCall *, const Aspect *rest);
    /* A vector (lengths NULL) or a matrix of so many rows, of items of which some are traced. */
    Value (*literal)(Interp *, const Value *items, const bool *weak, const int *lengths, int n);
    /* Index notation (its node and site) of leaves at `base`, of which some are traced. */
    Value (*notation)(Interp *, const Exec *, void *site, Value *base);
    /* (*slot)[subs] = v, or op= v, where *slot or v is traced. */
    void (*store)(Interp *, Value *slot, const struct Sub *subs, int n, const Op *op, Value v,
                  bool weak);
    /* A subscript, borrowed: what derivatives remember of it is nothing to them, but a graph takes
     * positions as operands. Is one of n such an operand? And x[subs] of them. */
    Value (*subscript)(Value);
    bool (*subscripts)(const struct Sub *subs, int n);
    /* An error is caught: raises where it decides what a graph does. */
    void (*caught)(Interp *);
    /* Is there one who hears of this call, whatever its operands: a graph of what draws random
     * numbers, shadows of all? NULL: of all calls. */
    bool (*hears)(const Interp *, const OpCall *);
    Value (*index)(Interp *, Value x, const struct Sub *subs, int n);
    /* x[subs], which is taken, where positions or masks among the subscripts are traced. */
    Value (*chosen)(Interp *, Value r, const Value *subs, int n);
    /* Something was stored to (*slot)[subs], among which such are traced. */
    void (*placed)(Interp *, Value *slot, const Value *subs, int n);
} Traces;

/* Shadows (interp/digits): a second value beside every float, in a wider format. */
typedef struct Shadows {
    /* The format of those that are made now; DT_NONE: nobody makes them. */
    DType (*against)(const Interp *);
    /* A literal v, which is taken, with its shadow, likewise. */
    Value (*literal)(Interp *, Value v, Value shadow);
    /* v without its shadow, as what cannot follow it takes it, which is told once; v itself where
     * a derivative is taken. Borrowed. */
    Value (*given)(Interp *, Value v, const char *who);
    /* Runs a block of a scope with shadows of that format. */
    Value (*block)(Interp *, const Exec *block, DType against);
} Shadows;

/* What a tuple holds, what a function captured, or is made of. */
Parts parts_of(Value);

static inline bool traced_on(const Interp *in) { return __builtin_expect(in->boxes != 0, 0); }

/* Does somebody hear of all calls, traced operands or not? */
static inline bool traced_hears(const Interp *in)
{
    return traced_on(in) && in->traces->hears(in, NULL);
}

static inline bool traced_any(const Value *items, int n)
{
    for (int i = 0; i < n; i++)
        if (items[i].tag == V_TRACED)
            return true;
    return false;
}

static inline Value traced_chosen(Interp *in, Value r, const Value *subs, int n)
{
    return traced_on(in) && traced_any(subs, n) ? in->traces->chosen(in, r, subs, n) : r;
}

static inline void traced_placed(Interp *in, Value *slot, const Value *subs, int n)
{
    if (traced_on(in) && traced_any(subs, n))
        in->traces->placed(in, slot, subs, n);
}

static inline Value v_subscript(const Interp *in, Value v)
{
    return __builtin_expect(v.tag == V_TRACED, 0) ? in->traces->subscript(v) : v;
}

/* The same, also of what functions among them captured. */
bool traced_inside(const Value *items, int n);

/* True: it was done. */
static inline bool traced_store(Interp *in, Value *slot, const struct Sub *subs, int n,
                                const Op *op, Value v, bool weak)
{
    bool numbers = v.tag == V_TRACED || (v.tag == V_TUPLE && traced_inside(&v, 1));
    bool inside = slot->tag != V_TUPLE && slot->tag < V_POINTER && numbers;
    bool whole = slot->tag != V_TUPLE && slot->tag < V_POINTER;
    if (slot->tag != V_TRACED && !inside && !(whole && in->traces->subscripts(subs, n)))
        return false;
    in->traces->store(in, slot, subs, n, op, v, weak);
    return true;
}

/* ---- the aspect (aspect.h) ---- */
bool traced_wants(const OpCall *);
Value traced_call(OpCall *, const Aspect *rest);

#endif
