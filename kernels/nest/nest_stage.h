/* What the files of a stage share: the program it is compiled to, and the loops of one
 * instruction set.
 *
 * A program is a list of steps per level of a loop nest; a step computes one value, either a
 * scalar or a strip of `n` elements along the program's strip index, into a register or finds
 * it in place in a tensor. The main program runs over the axes of the result. Each group of
 * reductions over the same indices has a program of its own, run by a step of the main one:
 * DOWN the bound indices with a strip along the same axis as the main program's, or ALONG a
 * bound index with one result at a time. So nothing is interpreted per element. */
#ifndef RICCI_KERNELS_NEST_STAGE_H
#define RICCI_KERNELS_NEST_STAGE_H

#include "kernels/nest/nest.h"

/* There every stage runs element by element, by its nest. */
#ifdef RICCI_HOSTILE
enum { STAGE_HOSTILE = true };
#else
enum { STAGE_HOSTILE = false };
#endif

/* ---- kernels (nest_stage_base.c …) ---- */

typedef enum FoldOp { FOLD_ADD, FOLD_LEAST, FOLD_MOST, FOLD_OPS } FoldOp;
/* What is folded: x, x*y, (x-y)^2, x+y, |x-y|. */
typedef enum FoldForm {
    FORM_X, FORM_TIMES, FORM_SQUARE, FORM_PLUS, FORM_APART, FOLD_FORMS
} FoldForm;

enum {
    STAGE_SQUARES = 8,
    AHEAD_MAX = 8,              /* loads that are fetched ahead */
    STRIP_USUAL = 512,          /* elements: registers stay in the first cache */
    STRIP_MAX = 1024,           /* of chains of f32 */
    LANE_BYTES = 256,           /* lanes of a fold along a strip */
    TERMS_IN_ROW = 256          /* of a sum of floats, before partial sums are added */
};

/* Steps of x and y from one element of the strip to the next are 0 or 1. */
typedef struct StageFold {
    /* acc[j] = fold of acc[j] (or nothing, if first) and k terms; kx, ky: steps of x, y between
     * terms. One term after the other: the caller limits k for the sake of accuracy. */
    void (*down)(void *acc, int64_t n, const void *x, int64_t sx, int64_t kx, const void *y,
                 int64_t sy, int64_t ky, int64_t k, bool first);
    /* The lanes likewise, from n terms; finish folds them pairwise into one. */
    void (*along)(void *lanes, const void *x, int64_t sx, const void *y, int64_t sy, int64_t n,
                  bool first);
    void (*finish)(void *out, const void *lanes);
} StageFold;

/* best[j], at[j] = x[j], number where it is better (or the first NaN). */
typedef void (*StageArg)(void *best, int64_t *at, int64_t n, const void *x, int64_t sx,
                         int64_t number, bool first);
/* r = (x*y) + z and the like, each operation rounded by itself; all strips. */
typedef void (*StageTriple)(void *r, const void *x, const void *y, const void *z, const void *w,
                            int64_t n);

typedef enum TripleForm {
    TRIPLE_NONE, TRIPLE_TIMES_PLUS,     /* x*y + z */
    TRIPLE_TIMES_MINUS, TRIPLE_MINUS_TIMES,     /* x*y - z, z - x*y */
    TRIPLE_PLUS_TIMES, TRIPLE_LESS_TIMES,       /* (x+y)*z, (x-y)*z */
    TRIPLE_PRODUCTS, TRIPLE_DIFFERENCE,         /* x*y + z*w, x*y - z*w */
    TRIPLE_PLUS_RELU,                   /* relu(x + y): behind a product, bias and activation */
    TRIPLE_FORMS
} TripleForm;

/* ---- chains (nest_chain.c) ---- */

/* Elementwise operations one after the other on a few vectors that stay in registers, where steps
 * take a strip each through the cache. A chain is a list of links; a link is a function that
 * computes one operation for `group` elements at byte `at` of its operands and goes to the next. */
typedef enum LinkOp {
    LINK_ADD, LINK_SUBTRACT, LINK_MULTIPLY, LINK_DIVIDE, LINK_MAXIMUM, LINK_MINIMUM, LINK_BINARY,
    LINK_NEGATIVE = 0, LINK_ABS, LINK_RELU, LINK_SQRT, LINK_WATCHED_SQRT, LINK_UNARY
} LinkOp;

typedef enum LinkFrom { FROM_REGISTER, FROM_MEMORY, FROM_NUMBER, FROM_KINDS } LinkFrom;

enum {
    CHAIN_REGISTERS = 2,
    CHAIN_VECTORS = 4,          /* to a register: all are arguments, of which eight are passed in
                                 * registers of the machine */
    CHAIN_SURE = 6,             /* operations that are quicker as a chain than as triples */
    CHAIN_VECTOR = 64,          /* bytes */
    CHAIN_MAX = 24              /* operations: their links lie on the stack */
};

typedef void (*StageLinkFn)(void);
typedef struct StageLink {
    StageLinkFn run;
    const char *x, *y;          /* of operands in memory, numbers */
    char *to;
    void *nan;                  /* watched: a vector of CHAIN_VECTOR bytes at most */
} StageLink;

/* Reductions that take a chain's values from its registers (kernels/reduce has their lanes and
 * their order, hence their bits). */
typedef enum ChainFold { CHAIN_SUM, CHAIN_MIN_OF, CHAIN_MAX_OF, CHAIN_FOLDS } ChainFold;

typedef struct StageLinks {
    int group;
    void (*start)(const StageLink *, int64_t from, int64_t to);         /* bytes, whole groups */
    /* By operation, register of the result, where x and y come from; `twice`: x is y. */
    StageLinkFn binary[LINK_BINARY][CHAIN_REGISTERS][FROM_KINDS][FROM_KINDS];
    StageLinkFn twice[LINK_BINARY][CHAIN_REGISTERS];
    StageLinkFn unary[LINK_UNARY][CHAIN_REGISTERS][FROM_KINDS];
    StageLinkFn keep[CHAIN_REGISTERS];          /* to memory */
    StageLinkFn past[CHAIN_REGISTERS];          /* to multiples of CHAIN_VECTOR, past the cache */
    StageLinkFn ahead;                          /* asks for what lies behind x */
    StageLinkFn into[CHAIN_FOLDS][CHAIN_REGISTERS];     /* lanes at `to`, whether one is nan */
    /* One result for each of `count` blocks of `each` bytes; `lanes`: of that link. */
    void (*fold[CHAIN_FOLDS])(const StageLink *, void *lanes, int64_t each, int64_t count,
                              void *result);
    StageLinkFn finish;
} StageLinks;

/* ---- tables of distances (nest_stage_distance.c) ---- */

/* to[r, j] = fold over q < k of the form of x[r*row + q*term] and panel[q*columns + j], for the
 * `rows` that are there, `step` bytes apart, and whole panels, `apart` elements apart and side by
 * side in the result. */
enum { DISTANCE_ROWS = 4 };
typedef struct StageTile {
    const void *x, *panel;
    int64_t row, term, k, step, panels, apart;
    char *to;
    int rows;
    bool first, root, past;     /* else with what is there; at last its root; past the cache, at
                                 * multiples of a vector */
} StageTile;
typedef void (*StageTileFn)(const StageTile *);

typedef struct StageKernels {
    StageFold fold[FOLD_OPS][FOLD_FORMS][DT_COUNT];
    StageTileFn tile[FOLD_OPS][FOLD_FORMS][DT_COUNT];   /* NULL: none */
    int tile_bytes;                             /* of a row of a tile */
    StageArg arg[2][DT_COUNT];                  /* least, most */
    StageTriple triple[TRIPLE_FORMS][DT_COUNT];
    bool (*nan[DT_COUNT])(const void *, int64_t n);     /* any? f32 and f64 */
    const StageLinks *links[DT_COUNT];                  /* f32 and f64 */
} StageKernels;
extern const StageKernels stage_base, stage_avx2, stage_avx512;

/* dst[i] = src[i*stride] for elements of 1, 2, 4, 8 or 16 bytes; to strided places. */
void stage_collect(int bytes, void *dst, const void *src, int64_t stride, int64_t n);
void stage_scatter(int bytes, void *dst, int64_t stride, const void *src, int64_t ss, int64_t n);
/* dst[i] = src[i*stride + sum over g of at[g][i*ts[g]] * step[g]], zero where an entry is
 * negative. */
void stage_gather(int bytes, void *dst, const void *src, int64_t stride, int gathers,
                  const int64_t *const *at, const int64_t *ts, const int64_t *step, int64_t n);

/* ---- programs ---- */

typedef enum LoopKind {
    LOOP_FULL,          /* one position at a time */
    LOOP_CHUNK,         /* the strip index, a strip at a time */
    LOOP_BLOCK,         /* a block of positions at a time … */
    LOOP_WITHIN         /* … and those of the block one by one */
} LoopKind;

typedef struct StageLoop {
    LoopKind kind;
    int index;
    int64_t extent, block;
} StageLoop;

typedef enum StepKind {
    STEP_DIRECT,        /* the place in the tensor itself (strip stride 0 or 1, or any) */
    STEP_COLLECT,       /* strided elements into a register */
    STEP_GATHER,
    STEP_NUMBER,        /* an index as a number */
    STEP_CAST, STEP_EW, STEP_TRIPLE,
    STEP_CHAIN,         /* the next `covers` steps, each a STEP_EW, as a chain */
    STEP_SPREAD,        /* a scalar as a strip */
    STEP_PICK,          /* element `row` of a strip of the main program */
    STEP_PACK,          /* a transposed block of a tensor */
    STEP_REDUCE,        /* run a group */
    STEP_FOLD,          /* terms of a reduction */
    STEP_STORE
} StepKind;

typedef struct StageStep {
    StepKind kind;
    int level;
    uint8_t op, dtype, from, args, bytes;
    bool strip, checked, watched;
    int value, arg[4];          /* numbers of values; -1: none */
    int load;                   /* of the nest; STEP_REDUCE: the group; STEP_FOLD: the reduction */
    int index;                  /* STEP_NUMBER; STEP_PACK: the blocked one; STEP_FOLD: the index
                                 * it runs down itself, or -1 */
    int term, terms;            /* how the address follows from positions: in code->term */
    int table, tables;          /* STEP_GATHER: in code->table */
    bool to_result;             /* computes the root: may write where the result lies */
    uint8_t covers, links;      /* STEP_CHAIN: steps; links, from `load` of the program's on */
    uint8_t at;                 /* covered: its register … */
    bool in_register[2];        /* … which operands come from one … */
    bool number[2];             /* … and which are numbers, as a rule */
    bool kept;                  /* covered: others read it from memory */
    bool ahead;                 /* STEP_DIRECT: the next strip is fetched meanwhile */
    int64_t stride;             /* along the strip, in elements; STEP_SPREAD: how many, 0: n */
    int64_t down[2];            /* STEP_FOLD: steps of x and y along `index` */
    EwFn kernel;
    StageTriple triple;
} StageStep;

typedef struct StageTerm {
    int index;
    int64_t step;               /* in bytes; of gather tables in elements */
} StageTerm;

typedef struct StageTable {
    int slot, term, terms;
    int64_t step, stride;       /* bytes per entry; along the strip, in elements */
} StageTable;

typedef struct StageProgram {
    int loops, levels, steps, cap;
    int strip;                  /* its strip index, or -1 */
    int64_t strip_length;
    StageLoop loop[NEST_INDICES + 2];
    int first[NEST_INDICES + 4];        /* steps of level l: first[l] … first[l+1]-1 */
    StageStep *step;
    int links, link_cap;        /* of its chains, without places */
    StageLink *link;
    int slots, slot_bytes;      /* registers: their number, bytes per element of each */
    int tile;                   /* index whose blocks are transposed, or -1 */
    int pace;                   /* lines per load that are fetched ahead, and of the result that are
                                 * written, between two steps */
    bool single;                /* one step alone: only its result's strip would be in the cache */
    bool sweeps;                /* its strips are one chain, which may run over many of them at a
                                 * time and leaves its values where the result lies … */
    bool keeps;                 /* … but for some that wait in a strip of memory */
    int cover;                  /* index that folds run down themselves, or -1 … */
    int64_t cover_extent;       /* … and its extent; 0: that of the block */
} StageProgram;

typedef struct StageValue {
    bool strip, pinned;
    uint8_t dtype;
    int program, level;         /* program: 0 the main one, g + 1 of group g */
    int slot;                   /* register, or -1: a cell or a place in a tensor */
    size_t place;               /* of the register, in the memory of a worker */
    size_t other;               /* bytes from there to a second one: the result is written past
                                 * the cache while the next strip is computed */
    int last;                   /* last step that reads it */
    bool wants;                 /* needs a register */
} StageValue;

typedef struct StageReduce {
    int node, group, value;
    int extra;                  /* value: partial sums, or the extremes of positions; or -1 */
    NestReduce op;
    DType dtype;                /* of the accumulator */
    FoldForm form;
    const StageFold *fold;      /* NULL: by the elementwise kernel */
    EwFn ew;
    StageArg arg;
    int64_t number, number_step;/* argmin, argmax: of its index */
    int arg_index;
    bool two_levels;            /* partial sums of floats */
} StageReduce;

typedef struct StageGroup {
    uint64_t bound, free;
    int depth;
    bool down;                  /* else along a bound index */
    bool rows;                  /* along, for one element after the other of the main strip */
    bool empty;
    int strip;                  /* index of the strip (along) */
    double terms;               /* bound positions per result */
    StageProgram program;
} StageGroup;

/* A load copied once per run so that the strip is contiguous. */
typedef struct StagePack {
    bool used;
    bool repeats;               /* one row of it, as often as a strip has room for */
    size_t offset, bytes;
    int64_t stride[NEST_INDICES];
    int rank;
    int index[TENSOR_RANK_MAX];         /* in the order of the copy, slowest first */
} StagePack;

/* Tables of distances: which loads have rows and columns, which indices these and the terms are. */
typedef struct StageDistance {
    int x, y, row, column, term;
    bool root;
    DType dtype;
    StageTileFn tile;
} StageDistance;

typedef struct StageCode StageCode;
struct StageCode {
    Nest *nest;                 /* canonical: axes merged, those of extent 1 gone */
    int64_t out_stride[NEST_INDICES];
    int64_t size;               /* elements of the result */
    int64_t period;             /* > 0: elements of its rows, several of which are one strip … */
    int period_index;           /* … along this index */
    bool plain;                 /* beyond a stage: nest_reference runs it */
    bool copy;                  /* the result is a load: permute_copy */
    bool rows;                  /* … whose rows tables choose: stage_copy_rows */
    bool distances;             /* stage_run_distances */
    StageDistance distance;
    int parallel;               /* leading loops of the main program that threads share */
    int64_t units;              /* their iterations */
    int64_t parts;              /* > 0: the bound loop is cut into so many */
    int64_t part_extent;
    bool stream, direct;        /* write past the cache; the root writes to the result itself */
    bool sweeps;                /* all of it may become one chain of links (nest_chain.c) */
    StageProgram main;
    int groups, reductions, values, terms, tables, value_cap, term_cap, table_cap;
    bool *used;                 /* per node: how the result uses it */
    int *uses;
    int *memo;                  /* of the compiler: three per node */
    StageGroup *group;
    StageReduce *reduction;
    StageValue *value;
    StageTerm *term;
    StageTable *table;
    StagePack *pack;            /* per load */
    size_t pack_bytes;
    int root;                   /* value of the root */
    int out_term, out_terms;
    int consts, const_cap, capacity;    /* capacity: of groups and reductions */
    int (*constant)[2];         /* values that are constants, and their slots */
    size_t cells, states, registers, work_bytes;    /* offsets in the memory of a worker */
    double seconds, flops, read, written;
};

/* Where a value is now: in elements. */
typedef struct StagePlace {
    char *at;
    int64_t stride;
} StagePlace;

/* What a reduction has so far: lanes of a fold along the strip, or flags of the columns. */
typedef struct StageState {
    bool first, first_total;
    int64_t steps, number;
    char lanes[LANE_BYTES];
    char best[16];
} StageState;

struct NestStage {
    StageCode *code;
    StageCode *general;         /* without taking constant exponents for 2; NULL: code is */
    int squares;                /* constants that `code` takes for 2: slots, dtypes */
    int square[STAGE_SQUARES];
    DType square_dtype[STAGE_SQUARES];
};

const StageKernels *stage_kernels(void);
const StageCode *stage_which(const NestStage *, const void *const *data);
/* Whether the load lies contiguous (or constant) along the index; its strides after packing. */
const int64_t *stage_strides(const StageCode *, int load);
/* It is transposed block by block in this program. */
bool stage_tiled(const StageCode *, const StageProgram *, int load);
/* nest_stage_plan.c: canonical form; choice of strips, loops and copies. */
void stage_canonical(StageCode *);
void stage_choose(Ctx *, StageCode *);
/* nest_stage_compile.c: steps and registers. */
void stage_compile(Ctx *, StageCode *);
/* nest_chain.c: whether a chain can have the operation; finds chains among the steps, whose
 * registers are assigned. */
bool stage_is_link(EwOp, int args, DType, bool watched);
bool stage_may_sweep(const StageCode *);
/* The strips that a chain takes at a time, where the program sweeps; elements of its groups. */
int64_t stage_sweep_length(const StageCode *);
int stage_sweep_group(const StageCode *);
void stage_find_chains(Ctx *, const StageCode *, StageProgram *);
/* nest_stage_nan.c: has a result of floats a nan where no operand has one? */
bool stage_makes_nan(const StageStep *, const char *to, const void *const *in,
                     const int64_t *stride, int64_t n);
/* nest_stage_rows.c */
bool stage_is_rows(const StageCode *);
void stage_copy_rows(Ctx *, const StageCode *, void *out, const void *const *data);
/* nest_stage_distance.c */
bool stage_find_distances(const StageCode *, StageDistance *);
void stage_run_distances(Ctx *, const StageCode *, void *out, const void *const *data, int threads);
/* nest_stage_run.c */
EwTrouble stage_run(Ctx *, const StageCode *, void *out, const void *const *data);

#endif
