/* Linear algebra in a format: the forms of the linear algebra rows that run textbook algorithms
 * (kernels/textbook/textbook.h) over stacks of matrices, and what their files share: one
 * operation's arithmetic and rooms, operands as matrices of carriers, results, errors with the
 * user's names.
 * Rows name them (Op.format); the door (interp/precision/precise.c) calls them. */
#ifndef RICCI_BUILTINS_TEXTBOOK_H
#define RICCI_BUILTINS_TEXTBOOK_H

#include "builtins/formats/formats.h"
#include "builtins/linalg/linalg.h"
#include "kernels/textbook/textbook.h"

typedef struct Book {
    OpCall *c;
    Scope *s;
    Precise p;
    Arith flat;               /* t's, where the format's numbers can be flat */
    Textbook t;
    DType dt;                 /* of operands and results: the format, or its complex numbers */
    char *settled;            /* room for results on their way from the accumulator to the format */
    int64_t settled_size;
} Book;

/* f32 and f64 to nearest run the ordinary row (unless an accumulator of another format was
 * written), rationals the exact one where there is one: true, and *result is what it gave. */
bool book_ordinary(OpCall *, Scope *, Value *result);
/* An accumulator of another format was written, and LAPACK does not have it. */
bool book_sums_apart(OpCall *, const Scope *);
/* Opens the format's arithmetic for a row with `operands` tensors first. real_only: complex
 * operands are a dtype error. */
void book_open(Book *, OpCall *, Scope *, int operands, bool real_only);
/* The same for one operand, complex whatever it is. */
void book_open_complex(Book *, OpCall *, Scope *);
/* The accumulator's arithmetic in the place of the format's; results are rounded once. */
void book_open_summing(Book *, OpCall *, Scope *);
/* Counts and draws go to the scope. */
void book_close(Book *);

/* Argument i, rounded to the format, as matrices. */
Stack book_stack(Book *, int i);
Stack book_square(Book *, int i);
Tensor *book_operand(Book *, int i);
/* Matrix `index` of a stack as carriers; `at` a matrix of the format. */
TextMat book_load(Book *, Stack *, int64_t index, bool by_columns);
TextMat book_load_at(Book *, Mat at, int64_t rows, int64_t cols, bool by_columns);
/* Results: blocks by rows; real ones where dt is the format. */
Out book_out(const Book *, const Stack *, int64_t rows, int64_t cols);
Out book_out_real(const Book *, const Stack *, int64_t rows, int64_t cols);
void book_store(Book *, const Out *, int64_t index, TextMat M);
void book_store_row(Book *, const Out *, int64_t index, TextRow x, int64_t n);
Value book_value(const Book *, const Out *);
/* (name, value) pairs of results, ended by NULL. */
Value book_tuple(Book *, const char *name, const Out *, ...);

/* Raises what the algorithms' status stands for, about argument 0. */
void book_check(Book *, const Stack *);
_Noreturn void book_singular(Book *, const Stack *, int64_t pivot);
/* Raise ERR_VALUE as the ordinary rows do. */
void book_require_finite(Book *, const Stack *, TextMat);
void book_require_symmetric(Book *, const Stack *, TextMat, const char *help);
/* One of a control's tests: what it counts is forgotten. */
typedef struct BookQuiet { ArithFlags f, acc; uint64_t draw; } BookQuiet;
BookQuiet book_quiet(const Book *);
void book_loud(Book *, BookQuiet);

/* Singular values (real, descending) of an m x n matrix, and with U not NULL its vectors (not of
 * intervals): U m x k and V n x k, k the smaller of m and n. The matrix is spoilt. */
void book_svd(Book *, const Stack *, TextMat A, TextRow S, TextMat *U, TextMat *V);
/* V', a matrix of its own where V is complex. */
TextMat book_adjoint(Book *, TextMat V);
/* How many are above rtol (max(m, n) eps where none is given) times the largest. */
int64_t book_rank(Book *, const Stack *, TextRow S, int rtol);
/* X becomes the inverse of A, which becomes L \ U. The first missing pivot, or -1. */
int64_t book_inverse(Book *, TextMat A, TextMat X);
int64_t *book_order(Book *, int64_t n);
/* Of L \ U, whose permutation is `odd`. sign: a number of magnitude 1, or 0; logdet: the sum of the
 * logarithms of the pivots' magnitudes. */
void book_sign_and_log(Book *, TextMat LU, bool odd, TextRow sign, char *logdet);
/* Raises where slogdet has no meaning in the format. */
void book_require_logarithms(OpCall *, const Scope *);
/* Raises ERR_DTYPE for interval operands of rows that have no enclosures. */
void book_require_points(OpCall *, Scope *);
/* Enclosures of the solutions of interval systems (textbook_interval.c). */
Value book_interval_solve(OpCall *, Scope *);
Value book_interval_inv(OpCall *, Scope *);
Value book_interval_det(OpCall *, Scope *);
bool book_interval_enclose(Book *, TextMat A, TextMat X);       /* false: not verified */
Value book_interval_eigh(OpCall *, Scope *, bool vectors);
Value book_interval_svdvals(OpCall *, Scope *);
Value book_interval_lstsq(OpCall *, Scope *, bool everything);
/* Those of a matrix; raises where they cannot be verified. */
void book_interval_values(Book *, TextMat A, TextRow S);

#endif
