/* Facts about kinds of tokens: the keywords, and what may stand before and after what.
 * The scanner, the parser's repairs and the formatter ask here. */
#include "lexer/lexer.h"

#include "lexer/operators.h"
#include "grammar.h"

#include <string.h>

static const struct { const char *word; int kind, op; } keywords[] = {
    { "fn", T_FN }, { "return", T_RETURN }, { "if", T_IF }, { "else", T_ELSE }, { "for", T_FOR },
    { "in", T_IN, TK_IN }, { "while", T_WHILE }, { "break", T_BREAK }, { "continue", T_CONTINUE },
    { "and", T_AND }, { "or", T_OR }, { "not", T_NOT }, { "true", T_TRUE }, { "false", T_FALSE },
    { "none", T_NONE }, { "precision", T_PRECISION }, { "autocast", T_AUTOCAST }, { "on", T_ON },
    { "lazy", T_LAZY }, { "compare", T_COMPARE }, { "explain", T_EXPLAIN }, { "timeit", T_TIMEIT },
    { "profile", T_PROFILE }, { "extern", T_EXTERN }, { "import", T_IMPORT }, { "try", T_TRY },
    { "catch", T_CATCH }, { "throw", T_THROW }, { "assert", T_ASSERT },
};

int token_keyword(const char *text, size_t len, int *op)
{
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (strlen(keywords[i].word) == len && memcmp(keywords[i].word, text, len) == 0) {
            *op = keywords[i].op;
            return keywords[i].kind;
        }
    return 0;
}

bool token_ends_operand(int kind)
{
    switch (kind) {
    case T_NAME: case T_INT: case T_FLOAT: case T_IMAG: case T_STRING: case T_STR_END:
    case T_RPAREN: case T_RBRACKET: case T_RBRACE: case T_TRANSPOSE: case T_NONE:
    case T_TRUE: case T_FALSE: case T_ELLIPSIS: case T_EXTERN_BODY:
        return true;
    default:
        return false;
    }
}

bool token_starts_operand(int kind)
{
    switch (kind) {
    case T_NAME: case T_INT: case T_FLOAT: case T_IMAG: case T_STRING: case T_STR_BEGIN:
    case T_LPAREN: case T_LBRACKET: case T_NONE: case T_TRUE: case T_FALSE: case T_REDUCE:
    case T_SIGN: case T_PREFIX: case T_IF: case T_FOR: case T_WHILE: case T_TRY:
    case T_PRECISION: case T_AUTOCAST: case T_ON: case T_LAZY: case T_COMPARE:
    case T_TIMEIT: case T_PROFILE: case T_NOT: case T_EXPLAIN:
        return true;
    default:
        return false;
    }
}

/* A line that ends in one of these goes on in the next. */
bool token_continues_line(int kind)
{
    switch (kind) {
    case T_COMMA: case T_COLON: case T_ASSIGN: case T_DEFINE: case T_ARROW: case T_PIPE:
    case T_BAR: case T_AMP: case T_COMPARISON: case T_SIGN: case T_PRODUCT: case T_PREFIX:
    case T_POWER: case T_UPDATE: case T_AND: case T_OR: case T_NOT: case T_IN: case T_NOTIN:
        return true;
    default:
        return false;
    }
}

/* Can only begin something new, so at the start of a line inside brackets, after a
 * finished value, it shows that a bracket or a comma is missing. */
bool token_starts_afresh(int kind)
{
    switch (kind) {
    case T_SIGN: case T_LPAREN: case T_LBRACKET: case T_FOR: case T_IF: case T_NOT:
        return false;
    case T_FN: case T_RETURN: case T_BREAK: case T_CONTINUE: case T_IMPORT: case T_EXTERN:
    case T_THROW: case T_ASSERT:
        return true;
    default:
        return token_starts_operand(kind);
    }
}
