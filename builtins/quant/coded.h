/* Products in codes, and graphs that are made of them. */
#ifndef RICCI_BUILTINS_CODED_H
#define RICCI_BUILTINS_CODED_H

#include "builtins/quant/quant.h"
#include "interp/graph/graph.h"

/* ---- coded.c: matmul_i8, product_i8 ---- */
const char *matmul_i8_refuses(Interp *, const Value *args, int count);
const char *product_i8_refuses(Interp *, const Value *args, int count);
void coded_told(const OpCall *, Buf *);

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
