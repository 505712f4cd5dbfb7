/* Elementwise chains in one pass. Inside an expression an elementwise operation on large
 * tensors is not run at once: its dtype and shape are settled, with every error that there
 * is, and a lazy value stands for it until the operation above takes it. The topmost one
 * runs the whole chain as a nest, strip by strip and without temporaries; its bits are those
 * of operation by operation.
 *
 * A lazy value lives between a node and the one above it, nowhere else: only nodes that lowering
 * marked (XF_LAZY) give one, and only their parents see it. Scalars and small tensors never come
 * here. Knows nothing of index notation. */
#ifndef RICCI_INTERP_FUSE_H
#define RICCI_INTERP_FUSE_H

#include "interp/op/aspect.h"
#include "interp/op/elementwise.h"
#include "interp/state/exec.h"

/* Elements from which settling a chain costs less than it saves: from about 2000 on where the
 * operations are cheap, always where they are dear. */
enum { FUSE_MIN = 4096 };

static inline bool fuse_large(Value v)
{
    return v.tag == V_TENSOR && v.tensor->size >= FUSE_MIN;
}

/* May the node leave these operands to the one above, or has it been left some? */
static inline bool fuse_wants(const Exec *x, const Value *args, int n)
{
    bool large = false;
    for (int i = 0; i < n; i++) {
        if (args[i].tag == V_LAZY)
            return true;
        large |= fuse_large(args[i]);
    }
    return large && (x->flags & XF_LAZY);
}

/* An elementwise operation of node x on operands of which fuse_wants: a lazy value where the
 * node above takes one, else the result. Operands whose bit in `owned` is set are taken. */
Value fuse_take(Interp *, const Exec *x, const Op *, const Value *args, int n, unsigned weak,
                unsigned owned);
/* An operation of such a form on args, at the top of the value stack, which are taken: for chains
 * that the syntax does not show (interp/lazy). */

Value fuse_wait(Interp *, const Exec *x, const Op *, Value *args, int n, unsigned weak,
                const EwForm *);
/* How many references to t a chain has that is nobody else's. */
uint32_t fuse_holds(Value v, const Tensor *t);
const Tensor *fuse_head(Value v);       /* shape and dtype of its result, without elements */
Value fuse_force(Interp *, Value v, const Exec *x);     /* the tensor that v, taken, stands for */
/* The call x of an operation that is not elementwise, on args of which the first is a lazy value:
 * its result, the chain folded as it is made (fuse_fold.c); false: args[0] is a tensor now. */
bool fuse_fold(Interp *, const Exec *x, const Op *, Value *args, int count, Value *result);
/* The product op(args…) and the chain that v stands for over it, panel by panel; `hole` stands for
 * the product in it (tensor_without). V_UNDEF: not these, and nothing was done. */
Value fuse_behind(Interp *, Value v, const Tensor *hole, const Op *op, Value *args, int count);
/* The product takes the place of the hole in the chain. */
void fuse_fill(Interp *, Value v, const Tensor *hole, Value product);
void fuse_free(Interp *);       /* plans kept for chains that ran before */

/* ---- lowering (fuse_lower.c) ---- */
/* x is an elementwise operation by its syntax: marks it, and those of its operands that may
 * wait for it. Nothing that the user could tell happens between such an operand and x. */
void fuse_mark_operator(Lower *, Exec *x, const Node *b);     /* b: the right one, or NULL */
void fuse_mark_call(Lower *, Exec *x, const Node *call);      /* of a global name */
/* x updates a variable by its operand x->a. */
void fuse_mark_update(const Exec *x);

/* ---- between fuse.c and fuse_plan.c ---- */
enum { FUSE_OPS = 48, FUSE_LEAVES = 24 };

typedef struct Lazy {
    Native native;              /* first: the count of references */
    const Op *op;
    const Exec *at;             /* where the operation stands, for its notices */
    uint8_t n, compute;         /* operands; the dtype computed in */
    uint8_t weak;
    bool watch, notice;         /* a nan made by it, anywhere in the chain, deserves a notice */
    int ops, leaves;            /* in all of it */
    Value args[3];              /* owned: lazy ones, tensors, scalars … */
    int64_t cell[3][2];         /* … and these in the dtype that the kernel wants */
    /* shape and dtype of the result; no data. Last: its shape follows */
    Tensor head;
} Lazy;

static inline const Lazy *lazy_of(Value v) { return v.ptr; }

typedef struct FuseRun {
    const struct NestPlan *plan;
    int leaves;                 /* the first slots; scalars of the program follow */
    Tensor *leaf[FUSE_LEAVES];
    const void *data[FUSE_LEAVES + 3 * FUSE_OPS];
} FuseRun;
/* The plan for a chain, from the cache or new. Raises `memory`. */
void fuse_plan(Interp *, const Lazy *, FuseRun *);
struct Nest;
/* The nest itself, over a contiguous result; slots as FuseRun's. */
void fuse_nest(Interp *, const Lazy *, struct Nest *);
/* Its parts and FLOPs, to the record of what runs now. */
void fuse_tell(Interp *, const Lazy *, bool generated);
Value fuse_run_here(Interp *, const Lazy *);    /* in one pass, on the host */
Value fuse_run_apart(Interp *, const Lazy *);   /* operation by operation */
void fuse_count(Interp *, const Lazy *);        /* that all of it was run */
void fuse_force_at(Interp *, Value *slot, const Exec *x);       /* in its place on the stack */

/* ---- where an aspect has a say (fuse_place.c) ---- */
Value fuse_run_asked(Interp *, Lazy *);

#endif
