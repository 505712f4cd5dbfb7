/* Lowering: from resolved syntax to executable nodes (lower.c; the rows of the kinds of nodes:
 * lower_*.c of interp/eval, and the wings). */
#ifndef RICCI_INTERP_LOWER_H
#define RICCI_INTERP_LOWER_H

#include "interp/state/wing.h"
#include "interp/state/exec.h"
#include "interp/state/hot.h"

struct Lower {
    Interp *in;
    Module *module;
    Chunk *chunk;
    const FnCode *fn;      /* NULL at top level */
    /* something assigned a variable, or may have lent one to C, since the node began */
    bool writes, lends;
    bool tail;             /* the node's value is the function's result */
    bool in_loop;
    struct HotSite *loop;  /* the innermost loop around it in the function, or NULL: hot.h */
    bool tries;            /* an error may be caught in the function, whose variables go on then */
    bool scoped;           /* this runs inside a precision or autocast scope: eval_scope.h */
    /* a value stands half-made between here and the loop or function */
    bool deep_loop, deep_fn;
    uint8_t *mentions;     /* how often the function names each of its slots, 3: more; or NULL */
    uint8_t leaving;       /* statements after so many `if c { return e }` of the function */
    /* set by deep flow: the loop or function needs a catch point */
    bool loop_unwinds, fn_unwinds;
};

const Exec *lower_chunk(Interp *, Module *, Chunk *);
const Exec *lower(Lower *, const Node *);            /* keeps the position (tail, deep) */
/* By the row of another kind than the node's own. */
const Exec *lower_as(Lower *, NodeKind, const Node *);
/* A definition, a comprehension or a reduction whose ranges its subscripts tell: index notation. */
static inline const Exec *lower_notation(Lower *lo,
                                         const Node *n) { return lower_as(lo, ND_REDUCE, n); }
const Exec *lower_operand(Lower *, const Node *);    /* a value that something else waits for */
const Exec **lower_list(Lower *, Node *const *list, uint32_t count);
Exec *exec_new(Lower *, EvalFn, const Node *);
/* v scalar, or owned by the arena's chunk */
const Exec *exec_const(Lower *, const Node *, Value);
bool exec_is_const(const Exec *);            /* its value: k */
/* A node that raises when it runs: help is a ready text (may be NULL). */
const Exec *exec_raise(Lower *, const Node *, ErrKind, const char *help, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* Of a loop or function. never: it does not become machine code. */
HotSite *hot_site_new(Lower *, HotSite *up, bool never);
Node *node_copy(Lower *, const Node *);              /* a synthetic node to change */
void *lower_alloc(Lower *, size_t bytes);
const Exec *lower_call(Lower *, const Node *);
/* May what a variable holds be used up before the assignment to it? Where an error would end the
 * function, or the program, nobody sees the variable again. */
bool lower_uses_up(const Lower *);
/* a, b = f(a, b): the function may have for itself what a and b hold. */
void call_hands_over(Lower *, const Node *target, const Exec *call);
/* x |> f(y) as the call that it is: f(x, y). */
Node *lower_pipe(Lower *, const Node *);
const Exec *lower_index(Lower *, const Node *);
const Exec *lower_function(Lower *, const Node *);
const Exec *lower_target(Lower *, const Node *);
FnCode *lower_code(Lower *, const Node *);
FnCode *lower_code_scoped(Lower *, const Node *);    /* as it runs inside a scope */
bool lower_is_statement(const Node *);               /* its value may be V_FLOW */

extern const Wing wing_expressions, wing_statements;     /* lower_expression.c, lower_statement.c */

#endif
