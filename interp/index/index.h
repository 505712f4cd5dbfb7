/* What the files of indexing share, and what the evaluator may call besides interp.h.
 *
 *   index.c         the entry points of interp.h; strings, tuples and ranges
 *   index_select.c  subscripts of a tensor to a Selection
 *   index_move.c    elements between a Selection and a dense tensor
 *   index_store.c   assignment to tensors: promotion, copy on write
 *   index_repeat.c  op= at positions of which some repeat
 *   index_place.c   picking and storing inside a device block
 *   index_grid.c    storing where a grid of processes has the elements
 *   index_sparse.c  what of a sparse matrix is picked by its entries
 *   index_field.c   t.x, foreign spellings
 *
 * The subscripts of the running operation are its operands 1, 2, …; operand 0 is what is
 * indexed. */
#ifndef RICCI_INTERP_INDEX_H
#define RICCI_INTERP_INDEX_H

#include "interp/state/interp.h"

/* A subscript list is an array of Sub, made by the evaluator. */
typedef enum SubKind { SUB_VALUE, SUB_SLICE, SUB_ELLIPSIS } SubKind;
typedef struct Sub {
    SubKind kind;
    /* SUB_VALUE: int, tensor, range, none, bool mask, string */
    Value v;
    Value start, stop, step;               /* SUB_SLICE: int or V_UNDEF */
} Sub;
Value index_get(Interp *, Value base, const Sub *subs, int n);
/* s[i] of a string. */
Value index_letter(Interp *, Str *, int64_t i);
/* base[subs] = v in place where *slot is unshared, on a copy otherwise. */
void index_set(Interp *, Value *slot, const Sub *subs, int n, Value v);
/* base[subs] op= v. */
void index_update(Interp *, Value *slot, const Sub *subs, int n, const Op *op, Value v, bool weak);
Value field_get(Interp *, Value base, const Name *);
void field_set(Interp *, Value *slot, const Name *, Value v);
Value module_member(Interp *, Module *, const Name *);       /* owned; raises `name` */

/* ---- one element ---- */

/* Offset (in elements) of t[i], t[i, j], …; false where the general path must decide:
 * another rank, or out of range. */
static inline bool index_offset(const Tensor *t, const int64_t *at, int n, int64_t *offset)
{
    if (t->rank != n)
        return false;
    int64_t sum = 0;
    for (int k = 0; k < n; k++) {
        int64_t len = t->dims[k], i = at[k] < 0 ? at[k] + len : at[k];
        if ((uint64_t)i >= (uint64_t)len)
            return false;
        sum += i * t->dims[n + k];
    }
    *offset = sum;
    return true;
}

/* ---- places inside a container ---- */

/* For t.x[i] = v and t[k][i] = v without a copy of what is inside: the slot that holds
 * t[subs] or t.name, after unsharing t. NULL where the base is no tuple (its elements
 * have no slots) or the field does not exist. Valid until the tuple changes. */
Value *index_slot(Interp *, Value *slot, const Sub *subs, int n);
Value *field_slot(Interp *, Value *slot, const Name *);

/* ---- selections of a tensor ---- */

/* Which elements subscripts select. Without index tensors and masks: a view, all of whose
 * axes have strides. With them, `broad` axes of the result from axis `before` on run over
 * `points` element offsets; the axes around them have strides. */
typedef struct Selection {
    int rank;
    int64_t shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX];
    int64_t offset;              /* of the first element, from base->data */
    int64_t size;
    bool fancy;
    int before, broad;
    int64_t points;
    const int64_t *offsets;      /* in a tensor on the value stack */
} Selection;

/* Raises `index`, `shape` or `type`. What it allocates is pushed on the value stack. */
void selection_make(Interp *, Selection *, Tensor *base, const Sub *subs, int n);
/* base[selection] where it is not fancy: a view, a small copy, or one element. */
Value selection_view(Interp *, Tensor *base, const Selection *);
/* out = base[selection] and base[selection] = values; both dense row-major, of base's
 * dtype; values has the selection's shape or one element. */
void selection_gather(Interp *, const Selection *, const Tensor *base, char *out);
void selection_scatter(Interp *, const Selection *, Tensor *base, const char *values, bool one);

/* n elements of `bytes` bytes; steps in elements. */
void strided_copy(char *dst, int64_t ds, const char *src, int64_t ss, int64_t n, size_t bytes);

/* start, step and number of elements of a slice of an axis, as Python clamps them. */
typedef struct Slice {
    int64_t start, step, count;
} Slice;
Slice slice_resolve(Interp *, const Sub *, int operand, int64_t len);
/* An int subscript; raises `type` with a help for anything else. */
int64_t subscript_int(Interp *, Value, int operand);
/* Wraps a negative index; raises `index`. axis < 0: the base has no axes (a tuple …). */
int64_t subscript_check(Interp *, int64_t i, int64_t len, int axis, int operand);
/* The user's own text of subscript `operand` if it is known, else NULL. */
const char *subscript_text(Interp *, int operand);

/* base[subs] on the host: a view, or elements picked into a new tensor. */
Value index_pick(Interp *, Tensor *base, const Sub *subs, int n);
void tensor_store(Interp *, Value *slot, const Sub *subs, int n, Value v);
/* Do the subscripts name an element twice? */
bool index_repeats(Interp *, Tensor *base, const Sub *subs, int n);
/* base[subs] op= v where positions repeat: each applies, in order. False: none does. */
bool index_update_repeated(Interp *, Value *slot, const Sub *subs, int n, const Op *, Value v,
                           bool weak);
/* Elements that base[subs] picks, as numbers in row-major order, of which some are picked several
 * times. The r-th pick of element[u] (counts[u] of them, most first) is order[first[u] + r]. */
typedef struct IndexRounds {
    Selection selection;
    int64_t distinct, most;
    const int64_t *element, *counts, *order, *first;
} IndexRounds;
/* Lists come onto the value stack. v: what is to be combined with them, whose shape is looked at.
 * False: no element is picked twice. */
bool index_rounds(Interp *, Tensor *base, const Sub *subs, int n, const Op *, Value v,
                  IndexRounds *);
/* Of the statement x[…] op= v: the place of x[…]. */
const Exec *index_target(const Exec *site);
/* tensor_store into the very elements of *slot, which its caller knows to be its own. */
void tensor_store_over(Interp *, Value *slot, const Sub *subs, int n, Value v);

/* ---- sparse matrices ---- */
struct Sparse;
Value index_get_sparse(Interp *, const struct Sparse *, const Sub *subs, int n);

/* ---- in a device block ---- */
/* index tensors, lists or masks are among them */
bool index_picks(const Sub *subs, int n);
/* base[subs] where index_picks, as work of the door (interp/op/aspect.h): on a block's device. */
Value index_get_asked(Interp *, Tensor *base, const Sub *subs, int n);
/* Stores on the device where that is where the target's elements are. False: the host's way,
 * which v and the subscripts have come home for. */
bool index_store_grid(Interp *, Value *slot, const Sub *subs, int n, Value v);
bool index_store_placed(Interp *, Value *slot, const Sub *subs, int n, Value v);
/* Brings home what an update at repeated positions needs, and leaves the device block, which it
 * returns; raises `device` in a strict one. */
struct DeviceBlock *index_update_home(Interp *, Value *slot, const Sub *subs, int n, Value v);
int64_t tuple_field(Interp *, const Tuple *, const char *text, size_t len);   /* raises `name` */

#endif
