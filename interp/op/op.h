/* The registry's row type and the one door. One row per operation; kernels for all
 * dtypes, dispatch, autocast, device support, `?help`, the manual and the operation
 * tests are derived from it. */
#ifndef RICCI_INTERP_OP_H
#define RICCI_INTERP_OP_H

#include "interp/state/interp.h"
#include "core/base/fence.h"
#include "kernels/elementwise/ew.h"

typedef struct OpCall {
    Interp *in;
    const Op *op;
    Value *args;            /* one per parameter, V_UNDEF where it was not given; borrowed.
                             * A variadic row: its other parameters in order first (`fixed` of
                             * them), the variadic ones from args[fixed] on. */
    int count;
    unsigned weak;          /* bit i: argument i is a numeric literal, pi, inf or nan */
    int fixed;              /* parameters but the variadic one */
    const int8_t *operand;  /* argument i is operand[i] of the call as written; NULL: operand i */
    /* OPC_EW: bit i: nobody needs argument i afterwards, its buffer may become the result's */
    unsigned reuse;
    const void *factors;        /* what args[0] was given as: see Op.factors; NULL: itself */
    struct RedBlocks *blocks;   /* of args[0], which has no elements: see Op.blocks */
    bool eight;                 /* op->eight is to run */
    const struct Work *work;    /* what runs where it is no row (aspect.h): op is NULL then */
} OpCall;

typedef enum OpClass {
    OPC_RUN,                /* run() reads arguments and calls kernels */
    OPC_EW                  /* elementwise: generated from the scalar formulas in its row */
} OpClass;

typedef enum AutocastClass { AC_NONE, AC_LOWER, AC_RAISE, AC_WIDEST } AutocastClass;

enum {                      /* Op.devices: what a device block does with the row (place.c) */
    DEV_ANYWHERE = 1,       /* reads no elements itself: runs as ever, nothing moves */
    DEV_HOST = 2,           /* the host's own (text, files): operands come home, nobody is told */
    /* makes tensors of numbers: in the device's widest float, if none is stated */
    DEV_MAKES = 4,
    DEV_FLOATS = 8,         /* ints and bools give f64 */
    DEV_COMPLEX = 16,       /* real numbers give complex ones */
    DEV_CASTS = 32          /* only makes numbers those of the dtype that it is given */
};

enum {                      /* Op.traits: what others must know of an elementwise operation */
    TRAIT_INT_TROUBLE = 1,  /* integers can fail (by zero, a negative count); only ew_run notices */
    TRAIT_NAN_NOTICE = 2,   /* nan of a real operand deserves the notice about complex numbers */
    TRAIT_BITS = 4,         /* a bool together with an int is an error */
    TRAIT_SUM = 8,          /* of covectors it is a covector */
    TRAIT_MULTIPLE = 16,    /* of a covector and scalars it is a covector */
    TRAIT_RANGE = 32,       /* an int result may leave its range: scalars check */
    /* its real domain ends at 0: what it has no real value of is a negative number */
    TRAIT_NEGATIVE = 64,
    TRAIT_POLE = 128,       /* -inf of a finite number is its pole, no overflow */
    /* the result is a number that was there, or near it: nothing is rounded */
    TRAIT_MOVES = 256,
    TRAIT_FINITE = 512,     /* finite where the operands are */
    /* a cotangent is summed after it has met the slope, which is no more than a factor */
    TRAIT_LINEAR = 1024,
    TRAIT_VANISHES = 2048,  /* 0 of finite numbers, the first of them not 0, is an underflow */
    TRAIT_FACTORS = 4096    /* 0 where any operand is: entries are those that all operands have */
};

typedef enum OpSizes {      /* What the letters of .flops stand for. */
    SIZES_ELEMENTS,         /* n elements of the result (OPC_EW) or of the first operand */
    /* Linear algebra: m x n is the first operand, p x q the second. */
    SIZES_MATRIX,
    SIZES_TALL,             /* and m is the longer side */
    SIZES_PRODUCT,          /* m x k times k x n */
    SIZES_PAIR              /* m and n elements */
} OpSizes;

typedef enum OpGives {      /* The shape of its result, where a rule says it (op_shapes.c). */
    GIVES_ANY,
    GIVES_LIKE,             /* its first operand's */
    GIVES_REDUCED,          /* the same without `axis`, or with 1 there (`keepdims`) */
    GIVES_ONE,              /* one number for each matrix of the first operand */
    GIVES_PRODUCT,          /* (m) x k times k (x n) */
    GIVES_SOLUTION,         /* of A x = b: as many rows as A has columns, the rest b's */
    GIVES_SQUARE,           /* its first operand's, which is a square matrix or several */
    GIVES_LAYOUT,           /* a view, as it makes it of a tensor without elements */
    GIVES_RESHAPED          /* the same where that lies row by row, else a copy */
} OpGives;

typedef enum OpGivesDType { /* The dtype of what a row with .gives makes of real floats. */
    GIVES_FLOATS,           /* the widest of them */
    GIVES_INTS, GIVES_BOOLS,
    GIVES_FORMAT,           /* the format that its second operand is, if that is a float */
    GIVES_WHEN_RUN          /* nobody can tell before, or it draws random numbers */
} OpGivesDType;
typedef enum OpMeasures {
    MEASURES_NOTHING,
    MEASURES_LENGTHS,       /* its rank and the lengths of its axes */
    MEASURES_COUNT,         /* the same, multiplied */
    MEASURES_RANK,
    MEASURES_DTYPE
} OpMeasures;

typedef enum OpDraws {
    DRAWS_NOTHING,
    DRAWS_OTHERWISE,        /* in a way of its own */
    DRAWS_UNIFORM, DRAWS_NORMAL, DRAWS_INTS      /* one of these each, of these arguments or none */
} OpDraws;

typedef enum OpWritten {    /* How a call of it is written. */
    WRITTEN_CALL,           /* f(x), or with the sign of .infix */
    WRITTEN_NAME,           /* f(x), though .infix has a sign for it */
    WRITTEN_BEHIND,         /* x' */
    WRITTEN_FORMAT          /* f64(x), where its second operand is a format */
} OpWritten;

/* A product of its first two operands, for graphs that compute in codes
 * (interp/graph/products.c). */
typedef enum OpProducts {
    PRODUCTS_NOT,
    PRODUCTS_MATRIX,        /* of matrices */
    PRODUCTS_LABELLED,      /* by labels: the first operand says which axes go together */
    PRODUCTS_EXACT,         /* of ints it is exact, of floats it need not be */
    PRODUCTS_CODES          /* of codes already */
} OpProducts;

/* As a subscript of index notation, f(i) keeps i in its axis. */
typedef enum OpWrap { WRAP_NONE, WRAP_CLAMP, WRAP_MOD, WRAP_PAD } OpWrap;

/* What is done to a result row by row, as soon as a row is final and while it is in a cache: the
 * elementwise operations behind a product. Rows are all axes but the last. */
typedef struct Epilogue {
    void *data;
    /* The result, before any element of it is there; may raise. */
    void (*begin)(void *data, Tensor *result);
    /* Rows [from, to) are final and nobody reads them any more: they may be written over. Each row
     * once, by any worker (0 … pool_threads - 1), several at the same time; must not raise or
     * allocate. An interrupt may leave rows out; it is raised afterwards. */
    void (*panel)(void *data, int64_t from, int64_t to, int worker);
} Epilogue;

struct Op {
    const char *name;
    const char *infix;      /* "+" or NULL */
    const char *params;     /* "x, axis=none, keepdims=false", "x, rest..." ; a `*` starts the
                             * parameters that are given by name only, and so does `rest...`.
                             * Defaults are for the signature: what is not given is V_UNDEF. */
    OpClass cls;
    EwOp ew;                /* OPC_EW */
    uint16_t traits;        /* OPC_EW: TRAIT_ */
    Value (*run)(OpCall *);
    /* Other functions that take run's place; NULL: there is none. The last two: see precise.h,
     * place.h. */
    /* of rational operands; run itself where it copes */
    Value (*exact)(OpCall *);
    /* in a precision scope, and of numbers without kernels of their own; elementwise rows need
     * none */
    Value (*format)(OpCall *, struct Scope *);
    /* of AC_LOWER: it in `autocast i8`, of floats and ints with a float among them, in f32; NULL:
     * that leaves it alone */
    Value (*eight)(OpCall *);
    /* of a tuple of strings among the operands, whatever the scope; NULL: such have no meaning */
    Value (*texts)(OpCall *);
    /* run, bit for bit, and an epilogue; V_UNDEF: operands for which there is none, and nothing was
     * done, nor raised. Without an epilogue it only says whether there would be one, of operands
     * whose elements nobody has yet */
    Value (*with_epilogue)(OpCall *, const Epilogue *);
    Value (*on_device)(OpCall *, struct Device *);   /* on devices of generated source; likewise */
    bool own_source;        /* on_device runs kernels of its own, which are no nests */
    /* on grids of processes; NULL: on_device, if it needs no routine or source */
    Value (*on_grid)(OpCall *, struct Device *);
    /* on_device is there where the device has the routine at this place of Device; 0: always */
    size_t routine;
    /* of operands of which some are sparse; V_UNDEF: not of these (interp/sparse/sparse_door.h).
     * NULL: they are made dense */
    Value (*sparse)(OpCall *);
    /* the same on devices of generated source; V_UNDEF: place_refuse told why. NULL: on the host */
    Value (*sparse_on_device)(OpCall *, struct Device *);
    const char *dtypes;     /* kinds it takes: "bifc"; NULL: any value */
    AutocastClass autocast;
    unsigned devices;       /* DEV_ */
    const char *stands_on;  /* a row that it is made of: a device without that has not this one */
    /* The same where the operands decide; NULL: none. */
    const char *(*needs)(const Value *args, int count);
    /* OPC_EW: its slopes (slopes.h); "step": it is a step function; NULL: bools or ints come out.
     * All other rows: "step"; "constant": what comes out is of the shapes alone; NULL: d_NAME in
     * builtins/gradients/rules.ric, if it has a gradient */
    const char *gradient;
    /* "A, b": parameters in which it is linear together, or in each alone; their tangents are what
     * it makes of the tangents. NULL: t_NAME in tangents.ric has them */
    const char *linear_in, *multilinear_in;
    const char *no_gradient;    /* floats come out, and no gradient: the reason, behind "NAME has
                                 * no derivative: " */
    /* a row that a tape records in its place: the first of what that gives is the result */
    const char *recorded_as;
    /* before a rule of it runs, forward or backward: args as the row has them, those that the rule
     * did not want undefined. NULL: there is nothing to say */
    void (*before_rule)(struct Interp *, const Op *, const Value *args, bool forward);
    const char *flops;      /* "n", "2mnk", "2/3 n^3": formula in the sizes */
    /* OPC_EW: what |error| of a float result is at most, in units in the last place of the right
     * one (f64 and f32; narrower formats round f32 once more); 0.5: correctly rounded */
    double ulps;
    /* the same of complex results, in units in the last place of the modulus */
    double ulps_complex;
    const char *section;    /* for help and the manual */
    const char *help;       /* first line: what it computes; then details */
    const char *example;    /* an expression … */
    /* … and what print gives for it: run as a test; NULL: it only has to run */
    const char *expect;
    /* run takes the variable of its first argument: exec_taken (eval_name.h) */
    bool on_variable;
    /* in a call of C, f(ptr(x, n)) is the variable x, of which n elements are there */
    bool points;
    /* only computes, in time and memory that go with its operands: a fix that holds it may be run
     * before it is shown (fixes.c) */
    bool tried;
    /* REACH_ (core/base/fence.h): what outside of the program; 0: nothing */
    unsigned reaches;
    /* asks for the layout of its tensors and lays them out anew, reading no more than a few
     * elements: takes views of more than TENSOR_READ_MAX, which other rows refuse */
    bool lays;
    uint8_t sizes;          /* OpSizes */
    uint8_t gives;          /* OpGives; elementwise rows give what their operands broadcast to */
    uint8_t gives_dtype;    /* OpGivesDType */
    uint8_t written;        /* OpWritten */
    uint8_t wraps;          /* OpWrap */
    uint8_t products;       /* OpProducts */
    /* What of these arguments, of which some may be missing, no call can mean; NULL: nothing. For
     * graphs out of files, whose constants are looked at before anything runs. */
    const char *(*refuses)(Interp *, const Value *args, int count);
    /* A call in the words of `explain`, instead of its name and operands; NULL: these. */
    void (*told)(const OpCall *, Buf *);
    /* OpDraws: random numbers, or sets what they are drawn from: a graph draws when it is called */
    uint8_t draws;
    bool detaches;          /* its result is a constant to derivatives */
    /* OpMeasures: what of its operand it makes numbers or names of, which a graph then expects */
    uint8_t measures;
    /* the parameter that its first operand's shadow is where it is not given (interp/digits) */
    const char *shadow_as;
    bool extent;            /* of a tensor it is the extent of the first axis */
    bool carries;           /* moves its operands as they are, whatever is remembered of them */
    /* run takes, without other arguments, a shape whose elements are made by OpCall.blocks */
    bool blocks;
    /* … and folds floats as they leave a chain's registers: sums and extremes */
    bool folds;
    bool factors;           /* takes what factorize gives for its first operand (Kind.stands) */
    bool orders;            /* parameter 1 is the order in which a sparse one is taken apart */
    bool solves;            /* solves A x = b: `compare` keeps the three */
    /* called by its name, its first operand is square; its sign takes any matrix */
    bool square;
    bool grows;             /* x = f(x, v) may put v at the end of x where it stands */
    bool one_text;          /* of one string: what is a tuple of them goes through item by item */
    bool gathers;           /* its first argument is a tuple: f(a, b) was meant as f((a, b)) */
    bool near;              /* are its operands about the same? `assert` tells how far they are */
    bool counts;            /* f(n) is a vector of n elements: of a small n as cheap as a literal */
    /* the elementwise row that it is where only such may stand; NULL: itself, if it is one */
    const char *form;
    /* the elementwise row that a caller with two operands may mean; NULL: none */
    const char *twin;
    /* what does of any matrix (%s) what it does of a square one, for help; NULL: nothing */
    const char *any_matrix;
    /* what does of a sparse matrix (%s) that is too large to be made dense what it does or nearly,
     * for help; NULL: nothing */
    const char *too_large;
    const char *as_dtype;   /* what its name means where a dtype is asked for; NULL: nothing */
    const char *as_format;  /* a call of it that gives a format, for help; NULL: none does */
    /* a call of it in LaTeX (latex_names.c): %1 is its first operand, %a that as a factor, %p as
     * the base of a power; NULL, or of another number of operands: its name */
    const char *latex;
    /* its sign over indices in LaTeX, as a reduction of index notation; NULL: it is none */
    const char *latex_over;
    int added;              /* 0: a row of the table; the k-th that op_add added */
};

/* Parsed once from Op.params. */
typedef struct OpParam { const Name *name; const char *fallback; bool variadic,
                         keyword_only; } OpParam;

typedef struct OpSig {
    const OpParam *params;  /* in the order of OpCall.args: the variadic one, if any, is last */
    int fixed;              /* parameters but the variadic one */
    int positional;         /* the first so many can be given by position; all the rest by name */
    int required;           /* the first so many have no default */
    bool variadic;
    int dtype, device, axis, keepdims;      /* the parameters of that name, -1: none */
} OpSig;

/* What ran: counted by the door per operation. `profile` and `explain` read it. */
typedef struct OpRecord {
    uint64_t calls;
    uint64_t elements;      /* of results, elementwise calls */
    DType dtype;            /* what the last elementwise call computed in */
} OpRecord;

/* ---- the registry (registry.c) ---- */
typedef struct OpRows { const Op *row; int count; } OpRows;
extern const OpRows builtin_rows;                     /* builtins/table.c */
void optable_init(Interp *, OpRows);                  /* once, in interp_new */
void optable_free(Interp *);
const Op *op_find(Interp *, const Name *);            /* NULL if there is none */
const Op *op_named(Interp *, const char *);           /* for C callers; must exist */
/* the row behind an operator; NULL if not built */
const Op *op_operator(Interp *, Operator);
int op_count(const Interp *);
const Op *op_row(const Interp *, int i);
/* Takes a row into the registry that is none of the table's: an OPC_RUN one of a program around
 * libricci. It stays the caller's, and must stay where it is until the interpreter ends. */
void op_add(Interp *, Op *);
const OpSig *op_sig(Interp *, const Op *);            /* parsed on first use */
OpRecord *op_record(Interp *, const Op *);
/* `solve(A, b)`, with defaults when `full`. Valid for the next three calls. */
const char *op_signature(Interp *, const Op *, bool full);
/* The row as a message calls it: an operator by its sign, in backticks. */
const char *op_label(const Op *, char *out, size_t cap);
/* The operation whose name is closest to text, for did-you-mean; NULL if none is. */
const char *op_closest(Interp *, const char *text);
/* Has the result the shape that the row's rule says? True where there is none. For asserts. */
bool op_shape_holds(OpCall *, Value result);
/* What a call of a row that is not elementwise will give of its operands, whose elements nobody
 * looks at. `as`: the dtypes that they are brought to first, NULL: their own. False: not told here.
 * Raises what the row raises for its axis and its layout. */
typedef struct OpForm {
    DType dtype;
    int rank;
    int64_t size, shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX];
    uint8_t flags;
    bool view;              /* it only lays out its operand anew */
} OpForm;
bool op_form(OpCall *c, const DType *as, OpForm *);
/* The same of elementwise rows: what their operands broadcast to. */
bool op_shape_broadcasts(const Value *args, int n, Value result);
/* What the file of a row keeps from call to call: zeros at first. One OpState a file, static. */
typedef struct OpState { size_t bytes; void (*clear)(Ctx *, void *); } OpState;
void *op_state(Interp *, const OpState *);

/* THE DOOR. Runs an operation on a full argument list: promotion, scope, device, shape,
 * kernel, record. Arguments are borrowed, the result is the caller's. */
Value op_call(Interp *, const Op *, Value *args, int count, unsigned weak);
/* The row itself with an epilogue, outside of scopes and device blocks; V_UNDEF where it has none
 * for these operands: nothing was done then. */
Value op_call_epilogue(Interp *, const Op *, Value *args, int count, const Epilogue *);
/* A row of Op.blocks on `head`, bit for bit as on a tensor; V_UNDEF: not now, or there
 * were no such elements. */
Value op_call_blocks(Interp *, const Op *, Value head, struct RedBlocks *);
/* Binds positional and named arguments to the row's parameters, then op_call. Bit
 * count + j of weak speaks of the named argument j. */
/* What a call by name asks for, and the row's sign does not. operand: as in OpCall. */
void op_check_called(Interp *, const Op *, const Value *args, int count, const int8_t *operand);
Value op_apply(Interp *, const Op *, const Value *args, int count, unsigned weak,
               const Name *const *names, const Value *named, int named_count);
/* Two- and one-operand forms for operators. */
Value op_binary(Interp *, const Op *, Value a, Value b, unsigned weak);
Value op_unary(Interp *, const Op *, Value a, unsigned weak);
/* The same, but operands whose bit in `owned` is set (1: a, 2: b) are released in every
 * case, an error included, and an unshared tensor's buffer is used again for the result.
 * An owned operand must not also lie on the value stack; borrowed ones must be rooted. */
Value op_binary_take(Interp *, const Op *, Value a, Value b, unsigned weak, unsigned owned);
Value op_unary_take(Interp *, const Op *, Value a, unsigned weak, unsigned owned);
/* An elementwise row on numbers and tensors as many as it takes, of which nobody needs those whose
 * bit in `reuse` is set afterwards. All are borrowed. */
Value op_call_over(Interp *, const Op *, const Value *args, int n, unsigned weak, unsigned reuse);

/* ---- reading arguments: raise errors that name the parameter ---- */
bool arg_given(const OpCall *, int i);
int64_t arg_int(OpCall *, int i);
double arg_float(OpCall *, int i);
bool arg_bool(OpCall *, int i, bool fallback);
Str *arg_str(OpCall *, int i);                        /* borrowed */
/* new reference, pushed on the value stack: do not release */
Tensor *arg_tensor(OpCall *, int i);
DType arg_dtype(OpCall *, int i, DType fallback);
DType op_as_dtype(const Op *);               /* what its name means as one, or DT_NONE */
/* negative counts from the end; checked */
int arg_axis(OpCall *, int i, int rank, int fallback);
/* axis= as none, an int or a tuple of ints: bit mask of axes; none gives all. */
uint64_t arg_axes(OpCall *, int i, int rank);
/* A shape: a tuple, a vector or several ints from argument i on. Returns the rank. */
int arg_shape(OpCall *, int i, int64_t *shape);
_Noreturn void arg_error(OpCall *, int i, ErrKind, const char *fmt,
                         ...) __attribute__((format(printf, 4, 5)));
/* The same with a help line. */
_Noreturn void arg_error_help(OpCall *, int i, ErrKind, const char *help, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
const char *arg_name(OpCall *, int i);                /* the parameter's name */
/* the user's text of it, as err_operand_text */
const char *arg_text(OpCall *, int i);
/* the same, or NULL where it is not known: err_operand_name */
const char *arg_written(OpCall *, int i);
/* Roots a new tensor on the value stack so that an error releases it; op_call cuts the
 * stack back when run() returns. Take the result out with v_tensor(ctx, tensor_retain(t)). */
Tensor *op_keep(OpCall *, Tensor *);
Value op_result(OpCall *, Tensor *kept);              /* retains and wraps */
/* Roots any new value the same way; v_retain(…) takes it out as the result. */
Value op_root(OpCall *, Value);

#endif
