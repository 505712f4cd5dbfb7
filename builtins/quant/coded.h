/* Products in codes, and graphs that are made of them. */
#ifndef RICCI_BUILTINS_CODED_H
#define RICCI_BUILTINS_CODED_H

#include "builtins/quant/quant.h"
#include "interp/graph/graph.h"
#include "kernels/eight/eight.h"

/* ---- coded.c: matmul_i8, product_i8 ---- */
const char *matmul_i8_refuses(Interp *, const Value *args, int count);
const char *product_i8_refuses(Interp *, const Value *args, int count);
void coded_told(const OpCall *, Buf *);

/* ---- coded_bytes.c: by the instruction for bytes ---- */
/* What becomes of sums of products of codes, in DT_F32, where they are exact there, or DT_F64: zero
 * of the codes of rows, and a scale and a bias for each column. */
typedef struct CodedEnd {
    DType dt;
    int zero;
    const void *scales, *bias;
    bool relu;
} CodedEnd;

/* Axes of rows, of what is summed over, or of columns: their step in x, and which of w they are. */
typedef struct CodedAxes {
    int rank, label[TENSOR_RANK_MAX], of_w[TENSOR_RANK_MAX];
    int64_t length[TENSOR_RANK_MAX], step[TENSOR_RANK_MAX];
} CodedAxes;
typedef struct CodedShape {
    CodedAxes m, k, n;                  /* k: the least step last */
    int64_t rows, sums, columns;        /* how many; 0: not known */
    int rank, place[TENSOR_RANK_MAX];   /* of the result: which of m's and then n's an axis is */
    bool plain;                         /* just these, in their order */
    bool written;                       /* the text is known to be a sum of products */
} CodedShape;

/* Why a product of these sizes is not one of bytes; NULL: it is. */
const char *coded_bytes_why(int64_t m, int64_t n, int64_t k);
/* Says which way it goes to who explains. */
void coded_tell(OpCall *, const char *why, int64_t m, int64_t n, int64_t k);
/* out, m×n of end->dt, is relu((A - zero) B * scales + bias). Elements of a row of A, and of B, lie
 * side by side. */
void coded_bytes(OpCall *, int64_t m, int64_t n, int64_t k, EightMat a, EightMat b,
                 const CodedEnd *, char *out);
/* The product that a text says of x and w, as one of matrices. Why it is none, or not one of
 * bytes; NULL: it is. */
const char *coded_shape(Interp *, const Str *text, const Tensor *x, const Tensor *w, CodedShape *);
/* Its result, of codes x and w; on the value stack. */
Tensor *coded_product(OpCall *, const CodedShape *, Tensor *x, Tensor *w, const CodedEnd *);

/* ---- coded_gather.c ---- */
/* Rows [from, to) of the first axis of rows, of x's codes: x itself where each row lies together
 * there and they are evenly apart, else a copy, on the value stack. */
EightMat coded_gather(OpCall *, const CodedShape *, const Tensor *x, int64_t from, int64_t to);

/* ---- a graph in codes ---- */
/* A product, with what stands behind it, as one operation. */
typedef struct CodedLayer {
    uint32_t node, last;            /* from the product to the last node that goes into it */
    GraphProduct product;
    Value bias;                     /* a tensor; V_UNDEF: none */
    bool relu;
    double scale;
    int zero;
} CodedLayer;

typedef struct CodedPlan {
    OpCall *call;
    Graph *graph;
    GridKind grid;
    QuantMethod method;
    CodedLayer *layer;
    int64_t layers;
    int32_t *at;                    /* by node: the layer whose product it is, -1: none */
    int32_t *ends;                  /* by node: the layer that ends there, … */
    bool *inside;                   /* … or that it goes into */
    Value *operands;                /* by layer, a tuple: what its operand was, call by call */
} CodedPlan;

/* What stands of a product in messages: `matmul, m.ric:3: h = x @ W`; returns out. */
const char *coded_name(CodedPlan *, uint32_t node, char out[200]);
/* quant_plan.c: the layers of p->graph. Raises `value` where there are none. */
void coded_plan(CodedPlan *);
/* quant_data.c: the graph on the rows of argument `at`; fills p->operands. */
void coded_run(CodedPlan *, int at);
/* quant_graph.c: the graph that is the first argument of quantize, in codes. */
Value quant_graph(OpCall *);

#endif
