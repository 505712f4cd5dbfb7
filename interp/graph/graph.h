/* Graphs: the operations of a function, kept. graph(f, args…) runs f once on traced values (Traced,
 * interp/state/value.h) of a tape that has a recorder (interp/gradient/gradient.h): each operation
 * that meets one becomes a node with all its operands, in the scope and on the device in which it
 * ran. Called, the nodes run again, through the door: who listens, derivatives and other graphs
 * around see ordinary operations.
 *
 *   graph.c      graphs as values: made, shown, called, copied
 *   nodes.c      nodes, what they refer to, which of them the result needs
 *   record.c     the recorder: what f does as nodes, and what it may not do
 *   text.c       index notation, which is kept as text
 *   replay.c     arguments bound, guards asked, nodes run
 *   labels.c     which axes of a product go together, by its text
 *   products.c   which nodes are products that codes can compute, and why others are not
 *
 * What a node refers to is a Value: a constant, or a reference (v_ref) to an earlier node, or a
 * tuple of these. Lengths that f made numbers of are nodes as well, guards, which raise `shape`
 * where they are others in a call. A condition, or an int of the evaluator, taken from a recorded
 * value is an error while f runs: no way is taken for ever. */
#ifndef RICCI_INTERP_GRAPH_H
#define RICCI_INTERP_GRAPH_H

#include "interp/gradient/gradient.h"
#include "interp/device/place.h"

typedef enum GraphKind {
    GRAPH_ARGUMENT,         /* a number or tensor among the arguments */
    GRAPH_ROW,              /* a row; operands: one for each of its parameters */
    GRAPH_FIELD,            /* item `field` of the tuple that a node gave */
    GRAPH_INDEX,            /* x[subs]; operands: x, then four for each subscript (graph_subs) */
    GRAPH_STORE,            /* x[subs] = v, or op= v; operands: x, v, the subscripts */
    GRAPH_LITERAL,          /* [a, b; c, d]; operands: lengths of the rows or none, items */
    GRAPH_NOTATION,         /* index notation; operands: its text as a function, what it is given */
    GRAPH_PRODUCT,          /* strong_product of two */
    GRAPH_GUARD,            /* operands: x, what its length along the axis `field` has to be */
    GRAPH_LENGTH,           /* while f runs: the length of x along the axis `field`, unread */
    GRAPH_KINDS
} GraphKind;

enum { GRAPH_NEVER = UINT32_MAX };

typedef struct GraphNode {
    uint8_t kind;
    bool rule;                  /* of a derivative's rule: what it compares is no branch */
    bool kept;                  /* the result needs it, or somebody sees that it ran */
    DType dtype;                /* of the result, DT_NONE of a tuple … */
    int8_t rank;
    uint32_t shape;             /* … and where its lengths start in the graph's list */
    uint32_t operand, operands; /* where they start in the graph's list */
    const Op *op;               /* ROW, STORE; NULL of x[subs] = v */
    unsigned weak;              /* ROW: OpCall.weak; STORE: bit 0; LITERAL: by item, 32 of them */
    int32_t field;              /* FIELD; GUARD: the axis, or a LENGTH_ */
    int32_t scope, place;       /* in the graph's lists; -1: none */
    int32_t line;               /* likewise; -1: see `at` */
    uint32_t last;              /* the node after which nobody needs it */
    uint64_t measured;          /* while it is recorded: axes that have a guard */
    const Exec *at;             /* the place in the program, of … */
    Chunk *chunk;               /* … this text, which the graph holds; NULL: not known */
    Value function;             /* NOTATION: made of the text when it runs */
} GraphNode;

typedef struct Graph {
    Native native;              /* first */
    Ctx *ctx;
    const Name *name;           /* of the function, or NULL */
    const Name **param;         /* names of its parameters, NULL where they have none */
    uint32_t params;
    Value arguments;            /* by parameter: a constant, a reference, or a tuple of these */
    Value result;               /* likewise */
    GraphNode *node;
    Value *operand;
    uint32_t nodes, operands;
    size_t node_cap, operand_cap;
    int64_t *length;
    Scope **scope;
    DeviceBlock **place;
    Chunk **chunk;
    Value *line;                /* texts: `train.ric:12: h = x @ W` */
    uint32_t lengths, scopes, places, chunks, lines;
    size_t length_cap, scope_cap, place_cap, chunk_cap, line_cap;
} Graph;

/* A reference to a node, numbered from 0. (A V_FLOW is never among values.) */
static inline Value v_ref(uint32_t node) { return (Value){ .tag = V_FLOW, .i = node }; }
static inline bool is_ref(Value v) { return v.tag == V_FLOW; }

/* ---- graph.c ---- */
extern const Kind graph_kind;
Value graph_make(OpCall *, int f, int first);        /* of the arguments from `first` on */
Value v_graph(Graph *);
Graph *graph_of(Value);                              /* NULL: it is none */
uint32_t graph_operations(const Graph *);
/* 32×64 f32 */
void graph_put_type(Buf *, const Graph *, Value ref);

/* ---- nodes.c ---- */
void graph_release(Ctx *, Native *);                 /* Kind.release */
Graph *graph_new(Interp *);
/* One with room for the same nodes, of which the parts are still to come. */
Graph *graph_like(Interp *, const Graph *);
/* One with the lists that nodes have numbers into, and in it a node like n, without operands. */
Graph *graph_without_nodes(Interp *, const Graph *from);
uint32_t graph_node_like(Interp *, Graph *, const Graph *from, const GraphNode *n);
uint32_t graph_node(Interp *, Graph *, GraphKind);
void graph_result(Graph *, uint32_t node, DType, int rank, const int64_t *shape);
void graph_operand(Graph *, Value);                  /* of the last node; retained */
static inline GraphNode *graph_at(const Graph *g, uint32_t node) { return &g->node[node]; }
static inline Value *graph_args(const Graph *g, const GraphNode *n)
{
    return g->operand + n->operand;
}
int32_t graph_line(Graph *, Value text);             /* retained */
int32_t graph_scope(Graph *, const Scope *);         /* a copy of it, or one like it; NULL: -1 */
int32_t graph_place(Graph *, const DeviceBlock *);
void graph_chunk(Graph *, Chunk *);                  /* is held */
/* `file:line: text` of a place in a text; owned. */
Value graph_text_of(Interp *, const Source *, uint32_t from);
/* `file:line: text` of where a node stood; NULL: not known. */
const char *graph_where(Interp *, Graph *, GraphNode *);
/* Leaves out nodes that nobody needs; when has each of the others been needed last? */
void graph_settle(Interp *, Graph *);
bool graph_has_refs(Value);
/* What stands in the place of references, of which `value` has the nodes' results; owned. */
Value graph_resolve(Interp *, Value, const Value *value);

/* Subscripts as operands: four values for each. */
void graph_put_subs(Graph *, const struct Sub *, const Value *given, int n);
int graph_subs(const Value *operand, int count, struct Sub *out);

/* ---- record.c ---- */
extern const Recorder graph_recorder;
/* v of the tape as a constant, reference or tuple of them; owned. */
Value graph_ref(Interp *, Tape *, Value);
/* An argument: numbers in it become nodes; owned. */
Value graph_trace(Interp *, Tape *, Value x);

/* ---- text.c ---- */
/* A row that a graph may hold: it only computes. */
bool graph_op_allowed(const Op *);
/* The function that a text of index notation is, and how many parameters it has; owned. V_UNDEF:
 * something else stands in it. Raises `syntax`. */
Value graph_function(Interp *, const Str *text, uint32_t *params);

/* Is the text one, with so many parameters? Nothing runs. */
bool graph_text_fits(Interp *, const Str *text, uint32_t params);
/* What `look` says of the text, parsed; raises syntax. */
typedef bool (*GraphTextFn)(Interp *, const struct Node *root, void *data);
bool graph_text_read(Interp *, const Str *text, GraphTextFn look, void *data);

/* ---- labels.c ---- */
/* A subscript of the operand that is computed: the sum of factor * index, for at most three. */
enum { GRAPH_TERMS = 3 };
typedef struct GraphAxis {
    int terms, label[GRAPH_TERMS];  /* no terms: it is something else */
    int64_t factor[GRAPH_TERMS];    /* positive */
} GraphAxis;
/* What each axis of two operands and of their product is: equal numbers are the same index; x has
 * -1 where it is no index alone. */
typedef struct GraphLabels {
    int x[TENSOR_RANK_MAX], w[TENSOR_RANK_MAX], out[TENSOR_RANK_MAX];
    int nx, nw, nout;
    uint64_t also;                  /* indices in subscripts of x that are more than one */
    GraphAxis axis[TENSOR_RANK_MAX];    /* of x */
} GraphLabels;
/* Of (p0, p1) -> { C[…] := p0[…] * p1[…]; C }, as graphs keep index notation, or
 * (p0, p1) -> einsum("…", p0, p1): sums over all of each index. `first`: w is p0. False: it is
 * something else. */
bool graph_labels(Interp *, const Str *text, bool first, GraphLabels *);
/* Of einsum's `ij,jk->ik`. */
bool graph_spec_labels(const char *spec, bool first, GraphLabels *);

/* ---- products.c ---- */
/* A node that multiplies what is computed with a constant, and sums up. */
typedef struct GraphProduct {
    const char *why;            /* it stays in floats, because …; NULL: it need not */
    uint32_t x;                 /* the node of the operand that is computed */
    Value w;                    /* the constant; borrowed */
    bool first;                 /* which stands first */
    bool matrix;                /* rows of x by a matrix, w or, if it is turned, w' */
    bool turned;
    int channel, along;         /* an axis of w that x does not have, -1: none, and where it is in
                                 * the result, from the end */
} GraphProduct;
/* False: node is no product. */
bool graph_product(Interp *, const Graph *, uint32_t node, GraphProduct *);
bool graph_in_codes(const Graph *);
/* Of a graph with products in codes: what stays in floats and why, to who explains. */
void graph_tell_floats(Interp *, Graph *);

/* ---- replay.c ---- */
/* Who looks on: before a node runs, with the results so far. */
typedef struct GraphWatch {
    void (*before)(Interp *, struct GraphWatch *, Graph *, uint32_t node, const Value *value);
} GraphWatch;
/* The same as graph_replay. */
Value graph_replay_watched(Interp *, Graph *, const Value *args, GraphWatch *);
/* The result of the graph on as many arguments as it has, borrowed: all its nodes run here, in
 * graph_run. What it makes is on the value stack meanwhile. */
Value graph_replay(Interp *, Graph *, const Value *args);
/* Runs one node on `value`, the results so far. */
void graph_run(Interp *, Graph *, uint32_t node, Value *value);

#endif
