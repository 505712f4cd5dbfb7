/* Names of node kinds and operators, for messages and tests. */
#include "parser/ast.h"

static const char *const kind_names[] = {
#define NODE(id, name, children) [ND_##id] = name,
#include "parser/ast.def"
#undef NODE
};

static const char *const operator_symbols[] = {
#define OPERATOR(id, symbol, ascii, op) [TK_##id] = symbol,
#include "lexer/ops.def"
#undef OPERATOR
};

const char *node_kind_name(NodeKind kind)
{
    return kind < ND_KINDS ? kind_names[kind] : "?";
}

const char *operator_symbol(Operator op)
{
    return op < TK_OPERATORS ? operator_symbols[op] : "?";
}
