/* What the linear algebra rows share: taking an operand apart into a stack of matrices
 * (every operation here works on the last two axes and repeats over the others), results
 * that keep LAPACK's order as a strided view, work space, and the texts of errors and
 * notices. The rows stand in linalg.def, by family in the linalg_*.c files. */
#ifndef RICCI_BUILTINS_LINALG_H
#define RICCI_BUILTINS_LINALG_H

#include "builtins/rows/rows.h"
#include "core/base/error.h"
#include "interp/op/heard.h"
#include "kernels/lapack/lapack.h"

typedef struct Stack {
    OpCall *call;
    int arg;                 /* which argument it is */
    Tensor *t;               /* in the dtype that is computed in */
    DType given, dt;         /* what the user gave, and what is computed in */
    BlasType type;
    size_t bytes;            /* of an element */
    int64_t m, n;            /* rows and columns of each matrix */
    int64_t rs, cs;
    int batch_rank;          /* leading axes */
    int64_t count;           /* matrices */
    int64_t at;              /* which of them is worked on: for error texts */
} Stack;

/* Argument i as matrices. Raises ERR_SHAPE for less than two axes. Ints compute in f64,
 * f16 and bf16 in f32. */
Stack linalg_stack(OpCall *, int i);
Stack linalg_square(OpCall *, int i);
/* The same of a tensor at hand, for error texts about argument i. */
Stack linalg_stack_of(OpCall *, int i, Tensor *t);
/* A tensor of any dtype as matrices, as it lies: nothing is converted, and `type` means nothing
 * where BLAS does not know the dtype. */
Stack linalg_stack_as(OpCall *, int i, Tensor *t);
_Noreturn void linalg_not_square(const Stack *);
/* Converts to the dtype that dt's operations compute in; kept. */
Tensor *linalg_raise(OpCall *, Tensor *, DType dt);
DType linalg_compute_dtype(DType);
/* `2×3`, `a vector of 3`: for messages. */
const char *linalg_extent(char *out, size_t cap, const Tensor *);
Mat linalg_item(const Stack *, int64_t index);
/* Is a condition number one of a matrix whose rank is deficient? Its relative distance to such a
 * one is 1/cond; from here on that is less than what rounding moves it by, and cond's digits would
 * be the library's. rank() has it so too. */
bool linalg_deficient(const Stack *, double cond);
/* The stack computed in another dtype. */
void linalg_stack_retype(Stack *, DType);
/* Raises ERR_VALUE naming the first NaN or infinity. */
void linalg_require_finite(const Stack *);

/* A result: `count` blocks of rows x cols (rank 1 blocks: cols < 0; rank 0: rows < 0 too).
 * by_columns: each block lies as LAPACK writes it and the tensor is a transposed view. */
typedef struct Out {
    Tensor *t;
    char *data;              /* first block */
    size_t step;             /* bytes from block to block */
} Out;
Out linalg_out(const Stack *, DType, int64_t rows, int64_t cols, bool by_columns);
static inline void *linalg_block(const Out *o,
                                 int64_t index) { return o->data + (size_t)index * o->step; }
static inline Mat mat_columns(void *data, int64_t rows)
{
    return (Mat){ data, 1, rows < 1 ? 1 : rows };
}
/* The finished result in the user's dtype (f16 and bf16 are rounded back). */
Value linalg_value(const Stack *, const Out *);

/* The real parts of a complex result whose imaginary parts are all zero, same layout. */
void linalg_take_real(Stack *, Out *, int64_t cols);

/* Work space that lives until the row returns. */
void *linalg_work(OpCall *, size_t count, size_t bytes);
/* The same for a matrix that LAPACK works on, and a kept tensor that it writes: with room
 * behind it for OpenBLAS's reads past the end. */
void *linalg_matrix(OpCall *, int64_t rows, int64_t cols, size_t bytes);
Tensor *linalg_tensor(OpCall *, DType, int rank, const int64_t *shape);
void scratch_allocate(OpCall *, Scratch *);      /* what was measured; resets `used` */
/* Raises ERR_IO naming the package if the library is missing. */
const Blas *linalg_blas(OpCall *);
/* Raises if a length is too large for LAPACK's 32-bit integers. */
void linalg_check_lengths(const Stack *);

/* The nearly singular matrices of one call. rcond is 1 / condition number; below the limit
 * a matrix counts: four digits are left of f64's sixteen, or one of f32's seven. */
typedef struct Ill {
    int64_t count, total;
    double worst;            /* least rcond of them, for the text */
    double trust;            /* and what its digits follow from: see linalg_ill_judge */
} Ill;
double linalg_rcond_limit(BlasType);
double linalg_rcond_ill(const Stack *);      /* below this there is a notice */
/* trust: rcond, or that of an equivalent scaled matrix which decides about the digits. */
void linalg_ill_judge(Ill *, const Stack *, double rcond, double trust);
/* `A is nearly singular: condition number 5.3e13, about 2 digits of the solution can be
 * trusted`: one notice for all of them, if there are any. */
void linalg_ill_notice(const Ill *, const Stack *, const char *what);
/* How many digits such an answer has: 0 to 16. */
int linalg_digits(BlasType, double rcond);
/* Raise ERR_NUMERIC with the way out as help: lstsq for a system, pinv for an inverse. */
_Noreturn void linalg_singular(const Stack *, const char *why);
_Noreturn void linalg_zero_pivot(const Stack *, int64_t pivot);
/* Raises ERR_NUMERIC for an iteration that did not converge. */
_Noreturn void linalg_no_convergence(const Stack *, int info);

#define LINALG_SMALL_TEXT "our own LU with partial pivoting, several matrices at a time"
/* For `explain`: the routines that ran, `real` and `cplx` without their type letter,
 * separated by blanks ("getrf getri"); and the quality of an inverse. _own: beside a way of our
 * own, which has a name. _dense: steps that kernels/dense makes where it can, for this order (the
 * smaller side) and so many right sides, as it says itself. */
void linalg_explain_routines(OpCall *, BlasType, const char *real, const char *cplx);
void linalg_explain_own(OpCall *, BlasType, const char *own, const char *real, const char *cplx);
void linalg_explain_dense(OpCall *, BlasType, int64_t order, int64_t nrhs, const char *real,
                          const char *cplx);
/* FLOPs of one real matrix of the stack by the formula `how`: complex ones take four times
 * as many. */
void linalg_explain_flops(const Stack *, double each, const char *how);
/* From this order on det and inv try Cholesky where a matrix is symmetric or Hermitian; below,
 * somebody may look at the digits. */
enum { DEFINITE_FROM = 65 };
/* backward: of columns that growth spoiled, 0 if it did not; definite: Cholesky did it. */
void linalg_explain_inverse(const Stack *, double norm, const char *inverse, double backward,
                            bool definite);

/* The order p of a matrix norm whose axes argument 2 names: axis=(1, 0) takes columns for rows, and
 * the orders that add up along one of them change places. */
double linalg_order_for_axes(OpCall *, double p, int rank);

/* Raises ERR_VALUE, naming two elements, if a matrix is visibly not Hermitian (beyond
 * rounding: 1000 eps of its largest element). */
void linalg_require_symmetric(const Stack *, const char *help);
/* Copies the lower halves of all matrices into the blocks of `to`, by columns; what is above
 * the diagonal is left undefined. The look whether they are Hermitian to the last bit and
 * finite is taken on the way; `require` is called once if one is not, to raise or to let it
 * pass. */
void linalg_copy_symmetric(const Stack *, const Out *to, void (*require)(const Stack *));

/* The right side of a system with matrices `a`: a vector, or matrices whose leading axes
 * broadcast with a's. */
typedef struct Rhs {
    Tensor *t;
    DType given;             /* promoted with the matrix's */
    bool vector;
    int64_t cols, rs, cs;
    int batch_rank;
    int out_rank;            /* leading axes of the result */
    int64_t count, batch[TENSOR_RANK_MAX];
} Rhs;
/* Reads argument i; converts both to the dtype of their promotion. Raises ERR_SHAPE. */
void linalg_rhs_read(Rhs *, Stack *a, int i);
/* The same of a tensor in a's dtype. */
void linalg_rhs_layout(Rhs *, Stack *a, int i, Tensor *b);
Mat linalg_rhs_matrix(const Rhs *, const Stack *a, int64_t index);
Mat linalg_rhs_item(const Rhs *, const Stack *a, int64_t index);
/* Which of a's own matrices item `index` of the result has. */
int64_t linalg_rhs_own(const Rhs *, const Stack *a, int64_t index);
Out linalg_rhs_out(const Rhs *, Stack *a, int64_t rows);

/* A batch of small matrices computed several at a time into x: NULL where that does not pay,
 * otherwise one flag per item of the result, 0 for those that are left to LAPACK
 * (linalg_small.c). */
const uint8_t *linalg_small_solve(const Stack *, const Rhs *, const Out *x);
const uint8_t *linalg_small_inverse(const Stack *, const Out *x);
const uint8_t *linalg_small_det(const Stack *, const Out *x);

/* Solves for the full least-squares family, linalg_lstsq.c: x as a tensor; used by `solve`. */
Value linalg_least_squares(Stack *, bool everything);
/* Every matrix of the stack taken apart for that, for factors_of. */
void *linalg_fit_all(Stack *);

/* ---- factors that the first operand brought from factorize: linalg_kept.c ---- */
/* The matrices that they are of, in the dtype that a solution with argument 1 is computed in; NULL:
 * it brought none. */
Tensor *factors_matrices(OpCall *);
/* Those of a's matrices, as `make` gives them: made, and *made, where this is the first solution in
 * a's dtype. Its memory is what it keeps on the value stack. NULL: it brought none. */
const void *factors_of(Stack *a, void *(*make)(Stack *), bool *made);
/* Singular values of every matrix, descending: (…, min(m, n)), real; kept. Of matrices with
 * a NaN or infinity they are NaN. */
Out linalg_singular_values(Stack *);

/* Parameter 1, ordering=, given for a matrix that is not sparse: an error. */
void linalg_refuse_ordering(OpCall *);

#endif
