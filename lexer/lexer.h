/* From text to tokens. One call scans a whole text into an array, so the parser and the
 * formatter can look as far ahead or back as they like, and everything that depends on
 * the surroundings is settled here: where a newline ends a statement, which brackets
 * belong together, which `sum[k]` is a reduction, which words are words of a header.
 * What is wrong is reported and repaired, so that one run finds all mistakes. */
#ifndef RICCI_LEXER_LEXER_H
#define RICCI_LEXER_LEXER_H

#include "core/memory/arena.h"
#include "core/base/source.h"

enum {                       /* Token.flags */
    TF_SPACE = 1,            /* white space stands directly before it */
    TF_LINE = 2,             /* first on its line */
    TF_MADE = 4,             /* put in to repair a mistake that was reported */
    TF_RAW = 8,              /* raw string */
    TF_LITERAL = 16,         /* `[` that opens a literal, not a subscript */
    TF_PREFIX = 32           /* `+` or `-` that is a sign */
};

typedef struct Token {
    uint16_t kind;           /* token number of the grammar, T_… */
    uint8_t op;              /* Operator, of operators and op= */
    uint8_t flags;
    uint32_t len;            /* of text */
    Span span;
    const Name *name;        /* names; NULL if no table was given */
    const char *text;        /* literals: digits as written, decoded string bytes */
} Token;

typedef struct LexComment {
    Span span;
    bool own_line;
} LexComment;

typedef struct Bracket Bracket;
typedef void LexReport(void *who, Span, const char *help, const char *message);

typedef struct Lexer {
    Ctx *ctx;
    Names *names;            /* NULL: names are not interned (formatting, completeness) */
    Arena *arena;            /* texts of tokens */
    const char *text;
    size_t len;
    LexReport *report;       /* NULL: mistakes are passed over in silence */
    void *who;

    Token *tokens;           /* result, the last one is T_END */
    size_t count, cap;
    LexComment *comments;
    uint32_t comment_count, comment_cap;
    bool incomplete;         /* more text could continue this: an open bracket, … */

    /* private to the scanner */
    Bracket *brackets;
    size_t depth, bracket_cap;
    Buf piece;               /* the string being decoded */
    uint32_t from, to;       /* the match */
    uint32_t piece_from;
    int c_braces;            /* open braces inside extern */
    bool space, line_start, inside_newline, in_header, extern_pending, failed;
    size_t header_depth;
    int statement;           /* first token of the statement */
    int reduction;           /* 1 + index of the reduction's `]` just closed */
    int forgiven;            /* closing brackets whose opening one was given up */
    uint32_t line_from, indent;   /* of the line of the last token */
    Span suspect;            /* a { that later lines show to be unclosed, */
    uint32_t suspect_at;     /* and where they do */
    int complaints;
    bool no_comment_end;     /* there is no further end of a comment of C */
    void *scanner;
} Lexer;

/* The caller sets ctx, names, arena, text, len, report and who; everything else is zero.
 * Raises only ERR_MEMORY; lexer_free is right after that too. */
void lexer_scan(Lexer *);
void lexer_free(Lexer *);

bool token_ends_operand(int kind);
bool token_starts_operand(int kind);
bool token_continues_line(int kind);
bool token_starts_afresh(int kind);
/* The kind and operator of a keyword; 0 if the text is none. */
int token_keyword(const char *text, size_t len, int *op);

#endif
