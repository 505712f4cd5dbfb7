/* What a statement of another language is called here: the user's own text with `**` as ^,
 * `np.dot(A, B)` as A @ B, `def f(x): …` as fn f(x) { … }. A statement is taken apart by a
 * scanner that knows the signs of Python, MATLAB, Julia, R, Lua, JavaScript and C, and rules
 * rewrite it piece by piece. What comes out was parsed before anybody sees it; nothing here
 * changes what a program means. Called where an error is put into words (syntax.c, peers.c). */
#ifndef RICCI_PARSER_FOREIGN_H
#define RICCI_PARSER_FOREIGN_H

#include "core/base/source.h"
#include "core/memory/arena.h"

enum { FOREIGN_TEXT = 640 };

typedef enum ForeignWhat {
    FOREIGN_SYNTAX,          /* the text does not parse */
    FOREIGN_NAME,            /* the name at `at` is not defined */
    FOREIGN_FIELD,           /* the value before the field at `at` has no such field */
    FOREIGN_ELEMENT,         /* ( at `at` follows a tensor, a range or a tuple: it was meant as [ */
    FOREIGN_PRODUCT,         /* ( at `at` follows a number */
    FOREIGN_CALL             /* the call at `at` has arguments that do not fit */
} ForeignWhat;

typedef struct ForeignFacts {
    ForeignWhat what;
    uint32_t at;             /* offset in the text of what the error points at */
    void *who;
    /* Is this a variable of the program? and: is this a function of Ricci's? NULL: unknown. */
    bool (*own)(void *who, const char *name, size_t len);
    bool (*known)(void *who, const char *name, size_t len);
    /* Is this a module of the standard library? and: the one that has this function, or NULL.
     * NULL: unknown. */
    bool (*module)(void *who, const char *name, size_t len);
    const char *(*home)(void *who, const char *name);
    /* Is this text a program? What comes out has to be one: parse_accepts. */
    bool (*accepts)(Ctx *, Names *, const char *text, size_t len);
    const char *body;        /* what follows the statement: the lines of an indented block */
    size_t body_len;
    uint32_t indent;         /* of the statement's own line */
} ForeignFacts;

typedef struct ForeignAnswer {
    char text[FOREIGN_TEXT]; /* NUL-terminated */
    const char *note;        /* what to know beside it, or NULL */
} ForeignAnswer;

/* False where nothing in the text is foreign, or the rewritten text would not parse.
 * Raises only ERR_MEMORY. */
bool foreign_rewrite(Ctx *, Names *, const char *text, size_t len, const ForeignFacts *,
                     ForeignAnswer *);

/* np, torch, Math …: a module of another language, whose members are built in here. */
bool foreign_module(const char *name);
/* numpy, CSV: what to say where one is imported, or NULL */
const char *foreign_library(const char *name);

/* The statement on one line around `at`, without its comment. */
Span foreign_statement(const char *text, size_t len, uint32_t at);

#endif
