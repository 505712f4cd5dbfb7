/* What the two sides of .rgraph files share: a zip archive of graph.json, which says what a graph
 * is (docs/graphs.md), and a member cN.npy for each constant of more than one element or of a dtype
 * that JSON has no numbers for. */
#ifndef RICCI_BUILTINS_FILES_GRAPH_H
#define RICCI_BUILTINS_FILES_GRAPH_H

#include "builtins/files/files_json.h"
#include "builtins/stored/files_zip.h"
#include "interp/graph/graph.h"

enum { GRAPH_VERSION = 1, GRAPH_NODES_MAX = 1000000, GRAPH_JSON_MAX = 64 << 20 };

/* Names of kinds of nodes; of GRAPH_ROW it is that of the row. */
extern const char *const graph_kinds[GRAPH_KINDS];
/* What an operand is: the first key of its object. */
typedef enum GraphKey {
    KEY_NODE, KEY_CONSTANT, KEY_TUPLE, KEY_GIVEN, KEY_FLOAT, KEY_RANGE, KEY_DTYPE, KEY_DEVICE,
    KEY_OPERATION, GRAPH_KEYS
} GraphKey;
extern const char *const graph_keys[GRAPH_KEYS];
extern const char *const graph_rounds[ROUND_MODES];

/* How a constant of dt lies in its member. */
typedef enum GraphStored {
    GRAPH_AS_IT_IS,         /* as .npy has it */
    GRAPH_AS_BYTES,         /* u8, the bytes of an element along a last axis */
    GRAPH_AS_TEXT           /* texts in graph.json, no member */
} GraphStored;
GraphStored graph_stored(DType);

#endif
