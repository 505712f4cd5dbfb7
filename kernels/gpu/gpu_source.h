/* Between gpu*.c: a nest made ready for a device (gpu_form.c), the text of its kernels
 * (gpu_source.c, gpu_reduce.c, gpu_move.c, gpu_gemm.c, over gpu_prelude.c) and their launch
 * (gpu.c). Others include gpu.h. */
#ifndef RICCI_KERNELS_GPU_SOURCE_H
#define RICCI_KERNELS_GPU_SOURCE_H

#include "kernels/gpu/gpu.h"

enum {
    GPU_GROUP = 256,            /* work items in a group at most; a power of two */
    GPU_PARAMS = 240,
    GPU_NODES = 1500,
    GPU_TILE = 32,              /* of a transposition */
    GPU_STRIP = 64, GPU_LANES = 16  /* of a processor: values computed in vectors at a time */
};

/* ---- a nest made ready (gpu_form.c) ----
 * A copy whose axes are as few as its layout allows: axes of extent 1 are gone, those that run
 * on in memory are one, the result's are in the order of its memory. Dead nodes stay, unused. */
typedef struct GpuForm {
    Nest *n;
    int64_t out_stride[NEST_INDICES];
    bool wide;                  /* positions need 64 bits */
    /* no reduction is over nothing: what does not move in it may run before it */
    bool hoist;
    bool used[GPU_NODES];       /* nodes that the root needs */
    int reduces;                /* among them */
} GpuForm;

/* out_stride may be NULL. Constants that lie on the device (data, may be NULL) become loads. */
void gpu_form(Ctx *, GpuForm *, const Nest *, const int64_t *out_stride, const DevArg *data);
void gpu_form_free(Ctx *, GpuForm *);
Nest *gpu_nest_copy(Ctx *, const Nest *);
/* n with other indices: old index i is into[i] now, or gone (-1). */
void gpu_nest_remap(Nest *, const int *into, int indices, int out_rank);
/* Nodes that node `id` needs, itself too. */
void gpu_nest_used(const Nest *, int id, bool *used);
int64_t gpu_extent(const Nest *, uint64_t indices);        /* product of the extents */

/* ---- kernels ---- */
typedef enum GpuParamKind {
    /* memory: a pointer and a byte offset */
    PARAM_OUT, PARAM_FLAG, PARAM_SLOT, PARAM_PART, PARAM_PLACE,
    /* values of the host */
    PARAM_CONST, PARAM_EXTENT, PARAM_STRIDE, PARAM_OUT_STRIDE, PARAM_TABLE_STRIDE, PARAM_TABLE_STEP,
    PARAM_START, PARAM_STEP, PARAM_LENGTH, PARAM_ROWS, PARAM_INNER, PARAM_CHUNK, PARAM_CHUNKS
} GpuParamKind;

typedef struct GpuParam {
    uint16_t kind;              /* as wide as the others: no padding, these are compared as bytes */
    int16_t a, b, c;            /* slot; axis; load and axis; load, gather and axis; node */
} GpuParam;

/* What a text is made for. */
typedef enum GpuMode {
    GPU_ITEMS,                  /* one work item per result, reductions are loops in it */
    GPU_ROWS,                   /* one work group per position of the axes that reductions know */
    GPU_PARTS,                  /* the same for a share of one reduction, into PARAM_PART */
    GPU_STRIPS,                 /* GPU_ITEMS for a share of one reduction each, into PARAM_PART */
    GPU_JOIN,                   /* GPU_ROWS, that reduction joins the shares */
    GPU_MOVE                    /* a transposition through local memory */
} GpuMode;

typedef struct GpuSource {
    Ctx *ctx;
    const GpuForm *form;
    const Nest *n;
    GpuMode mode;
    unsigned caps;
    uint32_t dtypes;            /* of the device */
    uint64_t row_axes;          /* GPU_ROWS and its kin */
    /* GPU_PARTS, GPU_STRIPS, GPU_JOIN: the reduction; GPU_MOVE: the load */
    int split;
    int move_axis;              /* GPU_MOVE: the axis in which the load is dense */
    Buf body, text;
    int depth;
    bool *known;                /* nodes that have a variable here */
    bool *strip;                /* nodes whose values at this strip of positions lie in an array */
    uint64_t scope;             /* indices that have a position here */
    bool together;              /* the whole group is here: reductions are made together */
    uint32_t functions[EW_COUNT];   /* bits of dtypes in which an operation is called */
    uint32_t seen;              /* bits of dtypes of values */
    uint32_t locals;            /* bits of dtypes that need an array in local memory */
    bool checked;
    GpuParam param[GPU_PARAMS];
    int params;
    char name[8][32];
    int names;
} GpuSource;

/* All that the text and its parameters follow from, once mode and axes are set. */
void gpu_source_key(const GpuSource *, Buf *);
/* The whole text into s->text; its parameters in s->param. Entry "nest". */
void gpu_source_begin(GpuSource *, Ctx *, const GpuForm *, GpuMode, unsigned caps, uint32_t dtypes);
void gpu_source_make(GpuSource *);
void gpu_source_free(GpuSource *);

/* Pieces, for gpu_reduce.c and gpu_move.c. */
void gpu_line(GpuSource *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *gpu_param(GpuSource *, GpuParamKind, int a, int b, int c);
void gpu_value(GpuSource *, int node);                  /* v<node> is defined after this */
/* what `node` needs and is known in this scope */
void gpu_hoist(GpuSource *, int node);
void gpu_axes(GpuSource *, const char *from, uint64_t axes);    /* x<axis> from one number */
void gpu_store(GpuSource *);
/* Opens the scope of some indices: returns the nodes known before, for gpu_leave. */
bool *gpu_enter(GpuSource *, uint64_t axes);
void gpu_leave(GpuSource *, bool *before, uint64_t axes);
void gpu_reduce(GpuSource *, int node);
void gpu_rows(GpuSource *);
void gpu_strips(GpuSource *);
void gpu_move(GpuSource *);

/* ---- dtypes in the text (gpu_prelude.c) ---- */
const char *gpu_type(DType);                            /* of a value: "f32" for f16, too */
const char *gpu_extreme(DType, bool least);             /* its least or greatest number */
const char *gpu_stored(DType);                          /* in memory: "u16" for f16 */
DType gpu_runs_in(DType);                               /* f32 for f16 and bf16 */
/* Writes an expression that stands for `x` cast. */
void gpu_cast(GpuSource *, Buf *, DType to, DType from, const char *x);
void gpu_loaded(Buf *, DType, const char *x);           /* as a value */
void gpu_kept(Buf *, DType, const char *x);             /* as it is stored */
void gpu_prelude(GpuSource *, Buf *);
/* Positions of one work item of GPU_ITEMS along the last axis of an accelerator's. */
int gpu_per(const GpuForm *);
/* Functions that OpenCL C has for vectors, under the row's name, and processors compute that
 * way. */
bool gpu_has_vectors(EwOp);

/* ---- launching (gpu.c) ---- */
typedef struct GpuKernel GpuKernel;
/* Kernels are found by a key: what their text follows from, or the text itself. NULL: not built. */
const GpuKernel *gpu_find(Device *, const void *key, size_t bytes);
const GpuKernel *gpu_build(Ctx *, Device *, const void *key, size_t bytes, const char *text,
                           const char *entry, const GpuParam *, int params);
const GpuParam *gpu_params(const GpuKernel *, int *count);
void gpu_launch(Ctx *, Device *, const GpuKernel *, const DevGrid *, const DevArg *, int n);

/* The word in which kernels tell of trouble, 0 now; what it says. */
const DevMem *gpu_flag(Ctx *, Device *);
EwTrouble gpu_trouble(Ctx *, Device *);
/* Before a launch: an interrupt, a failure asked for by a test. */
void gpu_poll(Ctx *, Device *);

/* ---- products (gpu_gemm.c) ---- */
typedef struct GpuMatrix {
    DevArg at;                  /* element (0, 0) of matrix 0 */
    int64_t row, column, batch; /* strides, in elements */
} GpuMatrix;
enum { GPU_LOOPS = 6 };
typedef struct GpuProduct {
    DType dtype;
    int64_t m, n, k, count;
    GpuMatrix a, b, c;
    /* The same for every position of axes that do not run on in memory: steps of a, b and c. */
    int loops;
    struct { int64_t extent, step[3]; } loop[GPU_LOOPS];
} GpuProduct;
void gpu_product(Ctx *, Device *, const GpuProduct *);
/* The nest is one: its sizes and strides, with data's and out's memory. */
bool gpu_product_read(const GpuForm *, const DevArg *out, const DevArg *data, GpuProduct *);

#endif
