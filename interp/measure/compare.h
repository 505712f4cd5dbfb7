/* `compare F, G, … against R { … }`: the block in every format, side by side. compare.c runs it
 * and measures, compare_table.c prints the table and makes the data that it returns. */
#ifndef RICCI_INTERP_COMPARE_H
#define RICCI_INTERP_COMPARE_H

#include "interp/op/heard.h"
#include "interp/precision/accuracy.h"
#include "interp/eval/eval_scope.h"

/* One run of the block. Values stand on the value stack, in slots of their own. */
typedef struct CompareRun {
    const char *label;          /* `f64`, `f16 accumulate f16`: of the arena or of `name` */
    char name[120];
    Scope scope;
    Value *value;               /* what the block gave */
    Value *failed;              /* a string: `numeric: …`; V_UNDEF: it did not fail */
    Accuracy accuracy;          /* against the reference, where measured */
    double backward;            /* of a solution; nan: it is none */
    double seconds;
    size_t bytes;               /* most that lived at once, beyond what did before */
    bool measured;
} CompareRun;

/* What the last solution was of, while somebody wants to know; references. */
typedef struct LastSolved {
    Solved heard;               /* first: Interp.solved is this */
    Value A, b, x;
} LastSolved;

typedef struct Compare {
    CompareRun *runs;           /* the entries */
    int count;
    CompareRun reference;       /* also where it is the first entry: then `from_first` */
    bool from_first;
    char why[200];              /* what there is to say of the reference; "" if nothing */
    LastSolved solved;          /* of the run in progress */
} Compare;

const Exec *lower_compare_block(Lower *, const Node *);
Value eval_compare_block(Interp *, const Exec *);
void compare_print(Interp *, const Compare *);
Value compare_data(Interp *, const Compare *);

#endif
