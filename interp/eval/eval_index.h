/* The evaluators of subscripts and fields, for lowering. A subscript's Exec has op = its
 * SubKind; slices have no eval and hold their parts in list (NULL where left out). */
#ifndef RICCI_INTERP_EVAL_INDEX_H
#define RICCI_INTERP_EVAL_INDEX_H

#include "interp/state/exec.h"
#include "interp/index/index.h"

EvalFn index_choose(const Exec *, bool global);
bool product_of_elements(const Exec *mul);
Value eval_add_elements(Interp *, const Exec *);
Value eval_index(Interp *, const Exec *);
Value eval_store1(Interp *, const Exec *);
Value eval_store2(Interp *, const Exec *);
Value eval_update_element(Interp *, const Exec *);
Value eval_field(Interp *, const Exec *);
Value field_read(Interp *, Value base, const Name *);
void *field_cache_new(Lower *);

int subs_eval(Interp *, const Exec *x, Sub *subs);   /* pushes them; x->list are the subscripts */
enum { SUBS_MAX = TENSOR_RANK_MAX + 8 };

#endif
