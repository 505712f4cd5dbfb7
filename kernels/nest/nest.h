/* Nests: an expression over indices, as a graph of typed nodes whose reductions are explicit.
 * Index notation, comprehensions over indices and fused elementwise chains are turned into
 * this one form. kernels/plan/plan.h plans and runs it.
 *
 * Files: nest.c (making nodes), nest_stage*.c (one stage as a vector program over strips),
 * nest_reference.c (the plain loop, element by element, that all of it is tested against). */
#ifndef RICCI_KERNELS_NEST_H
#define RICCI_KERNELS_NEST_H

#include "kernels/elementwise/ew.h"
#include "kernels/tensor/report.h"

enum { NEST_INDICES = 64 };

/* Position p = 0 … extent-1 of an index; as a number it is start + p*step. */
typedef struct NestIndex {
    int64_t extent, start, step;
    char name[24];                  /* for reports */
} NestIndex;

typedef enum NestKind {
    NEST_CONST,                     /* one element of dtype at data[slot] */
    NEST_INDEX,                     /* the number of index `slot`, i64 */
    NEST_LOAD,                      /* an element of load[slot] */
    NEST_CAST,                      /* arg[0] in another dtype: as cast_run, no error is possible
                                     * (ints to wider ints or floats, floats to floats, real to
                                     * complex) */
    NEST_EW,                        /* an elementwise operation; args have the dtype it computes in
                                     * (the condition of where: bool) */
    NEST_REDUCE                     /* arg[0] over the indices `bound` */
} NestKind;

/* sum, prod: ints wrap in i64, f16 and bf16 accumulate in f32, a cast to the result follows. min,
 * max: a NaN is the result; never over nothing. any, all: of bools. argmin, argmax: of one bound
 * index its number (i64) at the first extreme or NaN. */
typedef enum NestReduce {
#define R(id, word, told, where, facts) NEST_##id,
#include "kernels/nest/reductions.def"
#undef R
    NEST_REDUCTIONS
} NestReduce;

enum { R_EMPTY = 1, R_ADDS = 2, R_BOOLS = 4, R_PLACE = 8 };
typedef struct NestReduction {
    const char *word, *told, *where;
    unsigned facts;
} NestReduction;
extern const NestReduction nest_reductions[NEST_REDUCTIONS];

typedef struct NestNode {
    uint32_t dtype, compute;        /* DType of its value; what it is computed in */
    uint8_t kind;                   /* NestKind */
    /* NEST_EW: EwOp; compute is what it runs in. NEST_REDUCE: NestReduce, compute is what it
     * accumulates in */
    uint8_t op;
    uint8_t args;
    bool weak;                      /* a literal that adapts to others (read by the makers only) */
    /* a scalar of the program, not an element of a tensor (likewise) */
    bool scalar;
    /* NEST_EW: of a nan where no argument has one the run tells as EWT_NAN, when it is through */
    bool watch;
    int16_t arg[3];                 /* earlier nodes */
    int16_t slot;
    uint64_t bound;                 /* NEST_REDUCE: bits of indices */
    uint64_t free;                  /* indices that the value depends on */
} NestNode;

/* A table of i64 positions that adds at[…] * step to an element's place; a negative position means
 * that the element is zero (pad). All others were checked. */
typedef struct NestGather {
    /* data[slot]: the table's element at position 0 of all indices */
    int slot;
    int64_t stride[NEST_INDICES];
    int64_t step;
} NestGather;

typedef struct NestLoad {
    int slot;                       /* data[slot]: the element at position 0 of all indices */
    DType dtype;
    int64_t stride[NEST_INDICES];   /* per index, in elements; any value */
    int gathers;
    NestGather *gather;             /* owned by the nest */
    char name[24];                  /* for reports */
} NestLoad;

/* The first out_rank indices are the result's axes in order; all others are bound by reductions. */
typedef struct Nest {
    int indices, out_rank, nodes, loads, slots;
    int root;                       /* node whose value is the result */
    NestIndex index[NEST_INDICES];
    NestNode *node;
    NestLoad *load;
    int node_cap, load_cap;
    char result[24];                /* the name defined, for reports */
} Nest;

/* ---- making one (nest.c). Equal nodes are made once, so the numbers they return may be old ones.
 * ---- */
Nest *nest_new(Ctx *);
void nest_free(Ctx *, Nest *);
int nest_index(Nest *, const char *name, int64_t extent, int64_t start, int64_t step);
int nest_slot(Nest *);                                          /* a new data slot */
int nest_const(Ctx *, Nest *, int slot, DType, bool weak);
int nest_number(Ctx *, Nest *, int index);                      /* the index as a number */
/* The indices with which a load moves. */
uint64_t nest_load_free(const NestLoad *, int indices);
/* valid until the next */
NestLoad *nest_load_new(Ctx *, Nest *, int slot, DType, const char *name);
/* valid until the next */
NestGather *nest_gather_new(Ctx *, NestLoad *, int slot, int64_t step);
int nest_load(Ctx *, Nest *);                                   /* the node of the last new load */
/* the node itself where nothing changes */
int nest_cast(Ctx *, Nest *, int node, DType);
/* casts args to what it wants */
int nest_ew(Ctx *, Nest *, EwOp, DType compute, const int *args, int n);
void nest_watch(Nest *, int node);                              /* of floats: sets NestNode.watch */
/* dtypes as NestReduce says */
int nest_reduce(Ctx *, Nest *, NestReduce, int node, uint64_t bound);

/* Element by element, one thread: slow and plain. A set flag, where there is one, ends it early. */
EwTrouble nest_reference(const Nest *, void *out, const int64_t *out_stride,
                         const void *const *data, const InterruptFlag *interrupt);
/* ---- a stage (nest_stage*.c) ----
 * A stage is a nest in which every reduction's value depends on axes of the result alone (on all
 * of them, or on some: it is then computed once per outer position, as a softmax row's extreme
 * and sum are, while the row is in cache). A reduction may stand inside another that it does not
 * move with. Anything else is computed correctly, but element by element. */
typedef struct NestStage NestStage;
NestStage *nest_stage_plan(Ctx *, const Nest *, const int64_t *out_stride);
void nest_stage_free(Ctx *, NestStage *);
EwTrouble nest_stage_run(Ctx *, const NestStage *, void *out, const void *const *data);
/* Some rows at a time: see nest_rows_begin in kernels/plan/plan.h. */
typedef struct StageRows StageRows;
bool nest_stage_has_rows(const NestStage *, int64_t rows);
StageRows *nest_stage_rows_begin(Ctx *, const NestStage *, int64_t rows, void *out,
                                 const void *const *data);
EwTrouble nest_stage_rows_run(StageRows *, int64_t from, int64_t to, int worker);
EwTrouble nest_stage_rows_make(StageRows *, int64_t from, int64_t to, int worker, void *at);
bool nest_stage_rows_swept(const NestStage *);
bool nest_stage_rows_fold(StageRows *, NestReduce, int64_t from, int64_t to, int64_t each,
                          int worker, void *results);
void nest_stage_rows_end(Ctx *, StageRows *);
void nest_stage_report(const NestStage *, ReportStep *);
double nest_stage_seconds(const NestStage *);

#endif
