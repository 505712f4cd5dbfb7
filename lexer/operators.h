/* The operators of the language, numbered: as tokens carry them and the nodes made of these. */
#ifndef RICCI_LEXER_OPERATORS_H
#define RICCI_LEXER_OPERATORS_H

typedef enum Operator {
#define OPERATOR(id, symbol, ascii, op) TK_##id,
#include "lexer/ops.def"
#undef OPERATOR
    TK_OPERATORS
} Operator;

#endif
