/* What the files foreign*.c share: a statement as text and as pieces. A rule looks at the
 * pieces, replaces some of the text and says that it did; then the text is cut into pieces
 * anew. Everything has a fixed size, so a rule can neither leak nor run long; what does not
 * fit is given up. */
#ifndef RICCI_PARSER_FOREIGN_PARTS_H
#define RICCI_PARSER_FOREIGN_PARTS_H

#include "parser/foreign/foreign.h"

typedef enum PieceKind {
    PIECE_END, PIECE_NAME, PIECE_NUMBER, PIECE_STRING, PIECE_QUOTED, PIECE_RAW,
    PIECE_SIGN, PIECE_OPEN, PIECE_CLOSE, PIECE_COMMA, PIECE_SEMI, PIECE_LINE, PIECE_COMMENT
} PieceKind;

typedef struct Piece {
    uint16_t from, to;
    uint8_t kind;
    bool space;                  /* white space stands before it */
    int16_t match;               /* of a bracket: its partner, -1 without one */
} Piece;

enum { PIECES = 256 };

typedef struct Fix {
    const ForeignFacts *facts;
    const char *note;
    const char *import;          /* a module that what comes out needs, or NULL */
    uint32_t at;                 /* facts->at, moved along with the text */
    char fieldless[32];          /* the name of a value that was found to have no such fields */
    bool failed;                 /* it became too long */
    int len, count;              /* count: without the PIECE_END at the end */
    char text[FOREIGN_TEXT];
    Piece piece[PIECES + 1];
} Fix;

/* For "%.*s": the text of pieces a … b, empty where a > b. */
#define PIECE_RANGE(f, a, b) piece_length(f, a, b), (f)->text + (f)->piece[a].from

int piece_length(const Fix *, int a, int b);
bool piece_is(const Fix *, int k, const char *text);          /* false outside of the text */
/* one of words, separated by blanks */
bool piece_in(const Fix *, int k, const char *words);
PieceKind piece_kind(const Fix *, int k);                     /* PIECE_END outside */
/* Replaces pieces a … b; b < a inserts before a. Always true, so that a rule can return it. */
bool piece_replace(Fix *, int a, int b, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
bool piece_ends_operand(const Fix *, int k);
bool piece_starts_operand(const Fix *, int k);
int piece_operand_start(const Fix *, int k);                  /* of the f(x)[i].y' that ends at k */
int piece_operand_end(const Fix *, int k);                    /* of the one that starts at k */
int piece_around(const Fix *, int k);                         /* the bracket around k, or -1 */
/* The first of `signs` (words, names too) after k and on its level; -1 if there is none. */
int piece_find(const Fix *, int k, const char *signs);
bool piece_loose(const Fix *, int a, int b);                  /* an operator stands bare in it */
/* the bracket around k selects elements */
bool piece_in_index(const Fix *, int k);
bool piece_is_own(const Fix *, int k);
bool piece_is_capital(const Fix *, int k);

bool foreign_statements(Fix *);  /* each applies one rule of its kind, or returns false */
bool foreign_blocks(Fix *);
bool foreign_operators(Fix *);
bool foreign_literals(Fix *);
bool foreign_calls(Fix *);
bool foreign_lookalikes(Fix *);  /* once, before the others */

#endif
