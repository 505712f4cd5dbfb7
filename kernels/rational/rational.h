/* Exact fractions. An element is 16 bytes that anybody may copy with memcpy: numerator and
 * denominator, reduced, where both fit 63 bits, else a tagged pointer to an immutable big
 * number. Big numbers belong to a heap that hangs off the Ctx; buffers of rationals are
 * registered there, and rational_collect frees what no live buffer holds. It may run only
 * where no kernel runs and no element is held outside a tensor: at the door.
 * Kernels return a status and never raise; the caller does. All bytes zero is the number 0. */
#ifndef RICCI_KERNELS_RATIONAL_H
#define RICCI_KERNELS_RATIONAL_H

#include "core/base/buf.h"
#include "kernels/elementwise/ew.h"
#include "kernels/rational/gmp.h"

typedef enum RationalStatus {
    RATIONAL_OK,
    RATIONAL_MEMORY,
    RATIONAL_DIGITS,       /* more than RATIONAL_BITS in a numerator or denominator */
    RATIONAL_DIVISION,     /* by zero */
    RATIONAL_INEXACT,      /* a root that is no fraction, a power that is no integer */
    RATIONAL_NO_NUMBER,    /* of a nan, an infinity, a text */
    RATIONAL_COMPLEX,      /* of a number with an imaginary part */
    RATIONAL_LIBRARY,      /* GMP is missing */
    RATIONAL_SINGULAR,
    RATIONAL_INTERRUPT
} RationalStatus;

/* Longest numerator or denominator, five million digits: GMP works on such for about a
 * second, and does not poll. */
#define RATIONAL_BITS ((size_t)1 << 24)

/* ---- the heap ---- */
typedef struct RationalHeap RationalHeap;   /* Cells.heap: cells.h has the register of buffers */
void rational_heap_free(Ctx *);             /* and the register */
/* Frees big numbers that no registered buffer holds, if enough of them have been made since
 * the last time. */
void rational_collect(Ctx *);
/* A block of n limbs for a cell of another kind (number.h); NULL: no memory. Its contents are
 * the caller's, who then never changes them. And the limbs of a cell whose tail is marked. */
mp_limb_t *rational_block_new(Ctx *, size_t n, int64_t *pointer);
const mp_limb_t *rational_block_limbs(int64_t pointer, size_t *n);
/* Frees the blocks that were made since a mark was taken but the one of `keep` (a pointer, or 0):
 * for partial results that nobody else has seen. */
const void *rational_block_mark(const Ctx *);
void rational_block_drop(Ctx *, const void *mark, int64_t keep);
size_t rational_heap_bytes(const Ctx *);        /* of big numbers, reachable or not: for tests */
RationalStatus rational_gmp(Ctx *, const Gmp **);   /* opens GMP and gmp_begin */

/* The error that a status stands for; `what` is the operation for the sentence. */
_Noreturn void rational_raise(Ctx *, RationalStatus, const char *what);

/* ---- one number ---- */
static inline bool rational_is_big(Rational a) { return (int64_t)a.tail < 0; }
static inline Rational rational_int(int64_t i) { return (Rational){ i, 0 }; }   /* i > INT64_MIN */
int rational_sign(Rational);
bool rational_is_integer(Rational);
bool rational_equal(Rational, Rational);
int rational_compare(Ctx *, Rational, Rational);
/* The integer, where it is one of 64 bits. */
bool rational_as_int(Rational, int64_t *);
double rational_f64(Rational);                  /* rounded once, to nearest even */

RationalStatus rational_add(Ctx *, Rational *, Rational, Rational);
RationalStatus rational_sub(Ctx *, Rational *, Rational, Rational);
RationalStatus rational_mul(Ctx *, Rational *, Rational, Rational);
RationalStatus rational_div(Ctx *, Rational *, Rational, Rational);
RationalStatus rational_neg(Ctx *, Rational *, Rational);
/* sum += a b where all of it stays small; false: it does not, and sum is as it was. */
bool rational_accumulate(Rational *sum, Rational a, Rational b);
RationalStatus rational_floor(Ctx *, Rational *, Rational);
RationalStatus rational_round(Ctx *, Rational *, Rational);      /* halves to even */
RationalStatus rational_power(Ctx *, Rational *, Rational, Rational);
RationalStatus rational_numerator(Ctx *, Rational *, Rational);
RationalStatus rational_denominator(Ctx *, Rational *, Rational);

/* ---- from and to other things ---- */
RationalStatus rational_from_f64(Ctx *, Rational *, double);
/* `12`, `-1/3`, `0.1`, `1e-5`, in decimal digits with single underscores between them. */
RationalStatus rational_from_text(Ctx *, Rational *, const char *text, size_t len);
RationalStatus rational_from(Ctx *, Rational *, DType, const void *element);
void rational_text(Buf *, Rational);            /* `1/3`, `3` */
/* |a| rounded to `places` decimals, halves to even, as digits with a point. */
RationalStatus rational_decimal(Buf *, Rational, int64_t places);
struct BinaryExact;
void rational_exact(Rational, struct BinaryExact *);      /* arith_ops.h */
/* n elements as another dtype; the index of the first that does not fit, or -1. */
int64_t rational_cast(DType to, void *dst, int64_t sd, const Rational *src, int64_t ss, int64_t n);

/* The number that GMP's operands see: valid while `v` and the number live. */
typedef struct RationalView { mpq_t q; mp_limb_t limbs[2]; } RationalView;
mpq_srcptr rational_view(RationalView *, Rational);
RationalStatus rational_keep(Ctx *, Rational *, mpq_srcptr);     /* reduced */

/* ---- elementwise ---- */
typedef RationalStatus (*RationalFn)(Ctx *, void *out, const Rational *x, const Rational *y,
                                     const Rational *z);
/* The exact form of an operation, NULL if it has none of its own; *result is bool or rational. */
RationalFn rational_kernel(EwOp, DType *result);
/* That, or the parts that its row composes it of, where each of them has an exact form. */
typedef struct RationalForm {
    EwOp op;
    bool own;
    DType result;
    EwParts parts;
    Rational whole[EW_WHOLES];
} RationalForm;
bool rational_form(EwOp, RationalForm *);       /* false: it is no fraction in general */
/* A row of n results; polls the interrupt. */
RationalStatus rational_row(const RationalForm *, Ctx *, void *out, int64_t so,
                            const void *const x[], const int64_t sx[], int64_t n);

#endif
