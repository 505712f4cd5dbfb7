/* Kinds of values that a room above brings: C functions, C types, pointers and structs (native), a
 * chain that waits (fuse), a loop under way (device). Their objects start with a Native, which
 * names its kind: what the rooms below do with such a value. NULL in a kind: what is done with any
 * value that has nothing of the sort. */
#ifndef RICCI_INTERP_KIND_H
#define RICCI_INTERP_KIND_H

#include "interp/state/interp.h"

struct Sub;                          /* a subscript: interp/index/index.h */

typedef struct Parts {
    const Value *item;
    uint32_t count;
} Parts;

typedef struct Kind {
    void (*release)(Ctx *, Native *);                        /* frees the whole object */
    const char *(*name)(Value);                              /* of a function, in a trace */
    const char *(*describe)(Value, char *out, size_t cap);   /* as v_describe says it */
    bool (*equal)(Value, Value);                             /* both are of such kinds */
    bool (*truth)(Value);                                    /* bool(v) */
    void (*show)(Interp *, Buf *, Value, bool repr);
    Value (*index)(Interp *, Value, const struct Sub *, int n);
    void (*index_set)(Interp *, Value, const struct Sub *, int n, Value v);
    Value (*field)(Interp *, Value, const Name *);
    void (*field_set)(Interp *, Value *slot, const Name *, Value v);
    /* For s.a[0] = 1: a value that stands for what is inside *slot under a name, or under
     * subscripts. */
    bool (*inside)(Interp *, Value *slot, const Name *, const struct Sub *, int n, Value *out);
    Value (*call)(Interp *, Value, const Value *args, int count, const Name *const *names,
                  const Value *named, int named_count);
    /* a call whose arguments it evaluates itself */
    Value (*call_node)(Interp *, const Exec *, Value);
    /* v.f(x), a call node, of the variable that a node names; NULL: of `temporary` */
    Value (*call_field)(Interp *, const Exec *, const Exec *variable, Value temporary);
    bool (*callable)(Interp *, Value);                       /* NULL: where it has a call */
    Value (*length)(Interp *, Value);                        /* len(v) */
    Value (*keys)(Interp *, Value);                          /* keys(v) */
    void (*help)(Buf *, Value, bool line);                   /* ?v; a line of it in a list */
    /* As the first operand of a row that takes such (Op.factors): the operand that it stands for,
     * borrowed. */
    Value (*stands)(Value);
    /* Help where a tensor is asked for; `text` is the value's. */
    const char *(*instead)(char *out, size_t cap, const char *text);
    Value (*copy)(Interp *, Value);                          /* of a pinned one: see pinned.h */
    void (*assign)(Interp *, Value *slot, Value v);          /* v into the memory of a pinned one */
    Parts (*parts)(Value);                                   /* values that a function is made of */
    /* One like it onto the value stack, whose parts are still to come; where they go. */
    Value *(*like)(Interp *, Value);
    const Name *(*parameter)(Value, int i);          /* of a function; NULL: there is none */
    /* Of a traced value: somebody takes a way by what it is; a number of its length along an axis
     * (-1: of its rank and all its lengths, LENGTH_RANK: of its rank, LENGTH_DTYPE: of its dtype).
     * Either may raise. */
    void (*looked)(Value);
    void (*measured)(Value, int axis);
} Kind;

enum { LENGTH_ALL = -1, LENGTH_RANK = -2, LENGTH_DTYPE = -3 };

static inline const Kind *v_kind(Value v)
{
    return v.tag >= V_POINTER ? ((const Native *)v.ptr)->kind : NULL;
}

/* As v_plain, for those who take a way by what it is: conditions, ints of the evaluator. */
static inline Value v_looked(Value v)
{
    if (__builtin_expect(v.tag == V_TRACED, 0))
        v_kind(v)->looked(v);
    return v_plain(v);
}

/* As v_plain, for those who make numbers of its length along an axis, or one of LENGTH_. */
static inline Value v_measured(Value v, int axis)
{
    if (__builtin_expect(v.tag == V_TRACED, 0))
        v_kind(v)->measured(v, axis);
    return v_plain(v);
}

/* NULL: none. */
static inline const char *v_instead(Value v, char *out, size_t cap, const char *text)
{
    const Kind *kind = v_kind(v);
    return kind && kind->instead ? kind->instead(out, cap, text) : NULL;
}

static inline bool v_callable(Interp *in, Value v)
{
    const Kind *kind = v_kind(v);
    return v.tag == V_FUNCTION || v.tag == V_OP || v.tag == V_FORMAT ||
           (kind && kind->call && (!kind->callable || kind->callable(in, v)));
}

#endif
