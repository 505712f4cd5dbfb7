/* Elementwise kernels, generated for every dtype from the scalar formulas in
 * builtins/arrays/elementwise.def (data: included here for the list of operations).
 *
 * Rows there are  EW1|EW2|EW3(id, name, params, kinds, result, cost, real, complex, integer, …)
 * with 1, 2 or 3 operands named x, y, z in the formulas; `…` are designated initialisers
 * of the registry row (.infix .autocast .gradient .flops .traits .help .example .expect). A
 * formula that does not exist is written NONE. */
#ifndef RICCI_KERNELS_EW_H
#define RICCI_KERNELS_EW_H

#include "kernels/tensor/tensor.h"

typedef enum EwOp {
#define EW1(id, ...) EW_##id,
#define EW2(id, ...) EW_##id,
#define EW3(id, ...) EW_##id,
#include "builtins/arrays/elementwise.def"
#undef EW1
#undef EW2
#undef EW3
    EW_COUNT
} EwOp;

/* How the result's dtype follows from the compute dtype. */
typedef enum EwResult {
    RES_SAME,      /* the compute dtype; bool operands are computed as i64 */
    RES_FLOAT,     /* ints and bools are computed in f64: sqrt, divide */
    RES_BOOL,      /* comparisons, isnan */
    RES_REAL,      /* abs, real, imag, angle: a complex operand gives its real dtype */
    RES_KEEP_BOOL, /* as SAME but bools stay bools: & | maximum */
    RES_WHERE      /* first operand bool, the others promote */
} EwResult;

/* What an element costs, by the function that is most like it. */
typedef enum EwCost {
    COST_ADD, COST_ROUND, COST_DIVIDE, COST_MOD, COST_EXP, COST_SIN, COST_FUNCTION, COST_POWER,
    COST_ERF, COST_GAMMA,
    COST_ROUGH = 1 << 4            /* a GPU's own f32 function is rough */
} EwCost;

typedef struct EwInfo {
    const char *name;
    uint8_t arity, cost;
    EwResult result;
    const char *kinds;
    const char *formula[3];   /* real, complex, integer, as written; "NONE" */
    const char *as;           /* a composition of other rows, as "clamp(x, 0, 6)", or NULL */
} EwInfo;
extern const EwInfo ew_info[EW_COUNT];
/* What an element takes, roughly: in additions, and in seconds where it runs in vectors. */
float ew_weight(EwOp, DType compute);
double ew_seconds(EwOp, DType compute);
bool ew_rough(EwOp);

/* The composition as steps on cells: x, y, z are cells 0 to 2, the whole numbers in it (after 0
 * and 1, the answers of comparisons) follow from EW_WHOLE, then the result of every part. */
enum { EW_PARTS = 8, EW_WHOLES = 8, EW_WHOLE = 3, EW_PART = EW_WHOLE + EW_WHOLES,
       EW_CELLS = EW_PART + EW_PARTS };
typedef struct EwPart { EwOp op; uint8_t x[3]; } EwPart;
typedef struct EwParts {
    int arity, parts, wholes;
    EwPart part[EW_PARTS];    /* the last one is the operation's result */
    int64_t whole[EW_WHOLES];
} EwParts;
/* False: the row has no composition (or one that is none: a unit test reads them all). */
bool ew_parts(EwOp, EwParts *);

/* Rows of n results, of the 16-byte cells of the formats without kernels (and bytes, where they
 * are bools): `part` computes a row of each step; its first status that is not 0 ends it. `whole`
 * has the whole numbers in that format. */
typedef int (*EwPartFn)(void *work, EwOp, void *out, int64_t so, const void *const x[],
                        const int64_t sx[], int64_t n);
int ew_parts_run(const EwParts *, EwPartFn part, void *work, const Rational *whole, void *out,
                 int64_t so, const void *const x[], const int64_t sx[], int64_t n);

/* Inner loop: n elements, strides in elements. Input and output dtypes are fixed. */
typedef void (*EwFn)(void *out, int64_t so, const void *const *in, const int64_t *si, int64_t n);

/* The dtype that the kernel computes in for promoted operand dtype dt (bool -> i64 for
 * RES_SAME, int -> f64 for RES_FLOAT); DT_NONE if the operation lacks it. */
DType ew_compute_dtype(EwOp, DType dt);
DType ew_result_dtype(EwOp, DType compute);
/* Inner loop for a compute dtype: the fast one and the plain reference. Never NULL for a
 * dtype that ew_compute_dtype returned. A scalar call (n = 1) gives the same bits as any
 * element of a long call. */
EwFn ew_kernel(EwOp, DType compute);
EwFn ew_reference(EwOp, DType compute);
/* Transcendentals run in vectors (SLEEF was found); otherwise one by one through libm. */
bool ew_vector_math(void);

/* Integer division by zero, a negative shift count, an integer power with a negative exponent.
 * Running over whole tensors is kernels/cast/ew_run.h. */
typedef enum EwTrouble {
    EWT_NONE, EWT_DIVZERO, EWT_SHIFT, EWT_INT_POWER,
    EWT_NAN                     /* of nests only: a watched operation made a nan */
} EwTrouble;
/* Whole numbers by 0 have no result. */
static inline bool ew_divides(EwOp op)
{
    return op == EW_FLOOR_DIVIDE || op == EW_MOD || op == EW_FMOD;
}
/* For those who call kernels themselves: whether the operation can be in trouble, and whether
 * any of n second operands brings it. */
static inline bool ew_is_checked(EwOp op, DType compute)
{
    return dtype_info(compute)->kind == 'i' && (ew_divides(op) || op == EW_POWER ||
                                                op == EW_SHL || op == EW_SHR);
}
EwTrouble ew_find_trouble(EwOp, DType compute, const void *y, int64_t stride, int64_t n);

#endif
