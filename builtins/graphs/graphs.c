/* Rows of graphs: arguments are read here, interp/graph does the rest. */
#include "builtins/rows/rows.h"
#include "interp/graph/graph.h"

Value op_run_graph(OpCall *c)
{
    return graph_make(c, 0, 1);
}
