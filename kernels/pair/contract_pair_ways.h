/* The plan of a pair and the ways to run it. A way says what it would take (seconds on one
 * thread, INFINITY where it cannot), writes itself into the plan, and runs. Only
 * contract_pair.c, _ways.c and _way_*.c use it. */
#ifndef RICCI_KERNELS_CONTRACT_PAIR_WAYS_H
#define RICCI_KERNELS_CONTRACT_PAIR_WAYS_H

#include "kernels/pair/contract_pair_block.h"
#include "kernels/pair/contract_pair_form.h"

enum { PAIR_ROW_AXES = 16 };

typedef void (*PairRun)(Ctx *, const PairPlan *, char *c, const char *a, const char *b, char *work);

/* A product of matrices and the loops around it; the innermost of `sums` runs fastest, and
 * all but the first step of them add to C. */
typedef struct PairMatrices {
    int64_t m, n, k;
    Mat a, b, c;                        /* data NULL */
    GemmBatch batch;
    int sums;
    PairAxis sum[CONTRACT_LABELS];
} PairMatrices;

/* A product of whole matrices by a library, and how the blocked product of the same plan runs. */
typedef struct PairWhole {
    PairProduct product;                /* u.product */
    PairRun blocked;
    int64_t work;                       /* bytes that it wants */
    int64_t m, n, k;
    Mat a, b, c;                        /* data NULL */
} PairWhole;

/* Sums along rows: `run` is walked by the kernel, `runs` are the other summed axes. */
typedef struct PairSums {
    PairGroup rows, runs;
    PairAxis run;
    int64_t pieces;                     /* the one row of a dot product is cut into that many */
} PairSums;

/* A product whose large operand, A, is read in place: m without C's closest axis, `lines`. */
typedef struct PairLargePlan {
    PairGroup m, n, k;
    PairAxis lines;
    const PairKernel *kernel;
    int64_t run, lanes;                 /* rows of m side by side in A; elements of a vector */
    int64_t wide, vectors, tiles;       /* lines and vectors of a tile; how many there are */
    int64_t pitch;                      /* as in PairLarge */
    bool turned;                        /* the large operand is the form's B */
    bool stream;                        /* C is larger than the cache and its lines are whole */
} PairLargePlan;

struct PairPlan {
    PairRun run;
    bool plain;                         /* nothing but run: no work before or after … */
    bool bare;                          /* … and no workspace */
    DType dtype;
    Semiring semiring;
    int threads;
    char one[16];                       /* takes B's place where A stands alone */
    bool single;
    int64_t base[PAIR_TENSORS];         /* bytes from position 0 to where the form starts */
    int64_t repeats;                    /* as in PairForm */
    double times;
    PairPlan *before[PAIR_TENSORS];     /* sums an operand over axes of its own first */
    int64_t before_bytes[PAIR_TENSORS], before_work;
    PairPlan *aside;                    /* makes C in another order, in as many bytes */
    int64_t aside_bytes;
    double room;                        /* bytes that there were while it was planned */
    int64_t work;                       /* bytes of workspace in all; run's part comes last */
    double seconds;                     /* on one thread */
    int spreads;
    PairAxis spread[CONTRACT_LABELS];
    int axes;                           /* the axes that the groups below point into */
    PairAxis axis[CONTRACT_LABELS + 2];
    int64_t *table;                     /* owned: offsets of taps */
    int64_t table_count;
    union {
        PairNest nest;
        PairProduct product;
        PairWhole whole;
        PairMatrices matrices;
        PairSums sums;
        PairLargePlan large;
        Direct direct;
    } u;
    PairNest cells;                     /* C's axes: for work after */
    char kind[48];
    ReportKernel kernel;
    bool blas;                  /* as ReportStep.blas */
    double flops, read, written, copied;
};

typedef struct PairWay {
    double (*seconds)(const PairForm *, const PairPlan *);
    void (*make)(Ctx *, const PairForm *, PairPlan *);
} PairWay;

/* ---- contract_pair_ways.c ---- */
extern const PairWay pair_way_nest, pair_way_copy, pair_way_small, pair_way_direct,
    pair_way_semiring;
/* ---- contract_pair_blas.c ---- */
extern const PairWay pair_way_gemm;
/* pair_run_panels of plans made so; false: it was none, or none of such rows. */
bool pair_gemm_panels(Ctx *, const PairPlan *, char *c, const char *a, const char *b,
                      int64_t rows, int64_t elements, const GemmPanels *);
/* ---- contract_pair_float.c ---- */
extern const PairWay pair_way_block, pair_way_rows, pair_way_large, pair_way_aside;
/* Is it one of them, with so many rows in C, each of which is a column to the kernel? Then it may
 * be run by pair_block_run, A and B turned, with panels. */
bool pair_block_has_rows(const PairPlan *, int64_t rows, int64_t elements);
/* The blocked product by a kernel that is not the dtype's own (NULL: it is). */
void pair_block_make(Ctx *, const PairForm *, PairPlan *, const PairKernel *);
/* ---- contract_pair_bf16.c: A and B are bf16, C and its dtype f32 ---- */
extern const PairWay pair_way_bf16;
bool pair_takes_bf16(const PairForm *);
/* Can a product of bf16 matrices, A m x k and B k x n, have subnormal numbers on its way? The
 * processor's instruction would lose them. */
bool pair_bf16_may_flush(Ctx *, int64_t m, int64_t n, int64_t k, Mat a, Mat b);

/* pair_plan with this way where it is possible; NULL: the cheapest. For tests. */
PairPlan *pair_plan_wanted(Ctx *, const Contraction *, const PairWay *);

/* Sums of products of floats, without conjugates: what BLAS takes. */
bool pair_is_blas(const PairForm *);
bool pair_is_float(const PairForm *);   /* f32, f64, c64, c128 with + and * */
/* Copies a class's axes into the plan and returns them as a group. */
PairGroup pair_plan_group(PairPlan *, const PairForm *, int class);
void pair_add_axes(PairPlan *, const PairForm *, int class, PairGroup *);
/* Terms of the whole nest. */
double pair_work(const PairForm *);

/* ---- contract_pair_model.c: what things cost on one thread ---- */
typedef struct PairRates {
    double flops;               /* per second, in the blocked product's kernel */
    double blas;                /* likewise in large calls of BLAS */
    double unit, turned, gather;/* seconds per element packed: from rows, transposed, one by one */
    double store, scatter;      /* seconds per element of C written in rows, one by one */
} PairRates;
const PairRates *pair_rates(DType);
double pair_windows_rate(DType);        /* seconds of a direct sum, of those estimated */
double pair_memory_seconds(const PairForm *);

#endif
