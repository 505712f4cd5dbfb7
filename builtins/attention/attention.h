/* What the files behind attention.def share. */
#ifndef RICCI_BUILTINS_ATTENTION_H
#define RICCI_BUILTINS_ATTENTION_H

#include "builtins/rows/rows.h"
#include "kernels/attention/attention.h"

/* Where the parameters that all rows have stand. */
typedef struct Places { int q, k, v, causal, scale, window, bias; } Places;
extern const Places attention_places, attention_back_places;

/* A call: operands in one dtype, and the job without its slab. */
typedef struct Asked {
    OpCall *call;
    const Places *at;
    DType dt, real;                 /* of the operands; what is counted in */
    Tensor *q, *k, *v, *bias;       /* bias NULL: none, or a function */
    Value function;                 /* V_UNDEF: none */
    int rank;                       /* leading axes of the result */
    int64_t shape[TENSOR_RANK_MAX];
    Attention job;                  /* q k v bias, sizes, scale, window */
} Asked;

/* Checks shapes, scale, window and bias. */
void attention_sizes(Asked *, OpCall *, const Places *);
/* The dtype that all operands have: a bias that is bools, a number or a function does not count. */
void attention_dtype(Asked *);
/* The same; operands in one dtype, and where their heads are. */
void attention_read(Asked *, OpCall *, const Places *);
/* A tensor of the dtype with the leading axes of the result and one or two more; kept. */
Tensor *attention_new(Asked *, DType, int more, int64_t rows, int64_t cols, bool zeros);
/* The matrices, or (more = 1) vectors of numbers, of t, whose leading axes broadcast. */
AttentionMat attention_mat(Asked *, Tensor *t, int more);
/* Tells whoever listens which tiles run, and with how much memory (`of`: whose it is). */
void attention_tell(const Asked *, bool back, int queries, int keys, int64_t bytes,
                    const char *of);
/* The rows' tuples: (result=, lse=, rest=) or (q=, k=, v=, bias=); NULL: none. */
Value attention_parts(OpCall *, bool back, Tensor *const *);
/* Backward: a tensor that has to have the leading axes of the result and those given. */
enum { BACK_W, BACK_KEPT = 4, BACK_LSE = 9, BACK_SLOPES };
Tensor *attention_operand(Asked *, Value, int i, int more, int64_t cols);
/* What attention_lse gave. False: its log was rounded to less than what is counted in, and has to
 * be made anew, since weights would be off by as much. */
bool attention_kept(Asked *, Value kept);
/* Between the scores and a shape that does not broadcast to them. */
void attention_bias_fits(Asked *, int rank, const int64_t *shape);

/* attention_full.c: rows in formats without tiles. */
struct Scope;
Value op_format_attention(OpCall *, struct Scope *);
Value op_format_attention_lse(OpCall *, struct Scope *);
Value op_format_attention_back(OpCall *, struct Scope *);
void attention_before_rule(Interp *, const Op *, const Value *args, bool forward);

#endif
