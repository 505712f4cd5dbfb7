/* From text to resolved syntax. A Chunk owns the arena of one parsed text (a file or
 * one REPL entry) and is reference counted: functions defined in it keep it alive. */
#ifndef RICCI_PARSER_PARSE_H
#define RICCI_PARSER_PARSE_H

#include "core/base/error.h"
#include "parser/ast.h"

typedef struct Comment {          /* for ricci fmt */
    Span span;
    bool own_line;
} Comment;

/* Something that a chunk frees with itself, before its arena. */
typedef struct ChunkOwned {
    struct ChunkOwned *next;
    void (*free)(Ctx *, void *);
    void *what;
} ChunkOwned;

typedef struct Chunk {
    uint32_t refs;
    Ctx *ctx;
    Source *source;               /* retained */
    Arena arena;
    Node *root;                   /* BLOCK of top-level statements */
    Comment *comments;
    uint32_t comment_count;
    ChunkOwned *owned;
} Chunk;

/* Parses `source`. On syntax errors raises the first one (ERR_SYNTAX, its place set);
 * the messages of further ones in the same text are appended to it as rendered text
 * (all syntax errors of a file in one run). */
Chunk *parse_source(Ctx *, Names *, Source *source);
/* Is the text a program? Nothing is kept and nothing said. Raises only ERR_MEMORY. */
bool parse_accepts(Ctx *, Names *, const char *text, size_t len);
Chunk *chunk_retain(Chunk *);
void chunk_release(Chunk *);
void chunk_own(Chunk *, void (*free)(Ctx *, void *), void *what);

/* Does the text need more lines? Open bracket, string, block, or a trailing operator. */
bool parse_incomplete(Ctx *, const char *text, size_t len);
/* The bracket, raw string or comment of such a text that is not closed; false: none is. */
bool parse_is_open(Ctx *, const char *text, size_t len, Span *open);

/* ---- resolve: names to slots ---- */
/* The global names of one module: slot <-> name. Grows as entries are resolved. */
typedef struct Globals {
    Ctx *ctx;
    const Name **names;
    uint32_t count, cap;
    uint32_t *index; size_t index_cap;    /* by Name.id */
    uint32_t *hidden, hidden_count, hidden_cap;  /* slots without a name: see FnInfo */
    /* so many of them belong to code that runs while this is resolved */
    uint32_t hidden_base;
    /* what its extern blocks declared (cdecl.h); NULL before the first */
    struct CScope *c;
} Globals;

void globals_init(Globals *, Ctx *);
void globals_free(Globals *);
uint32_t globals_slot(Globals *, const Name *);          /* adds it if new */
int64_t globals_find(const Globals *, const Name *);     /* -1 if absent */
void globals_cut(Globals *, uint32_t count);             /* forgets the slots from count on */

/* Annotates the tree. Top-level names are SCOPE_GLOBAL. Raises ERR_SYNTAX for what is
 * only wrong in context (break outside a loop, duplicate parameter …) and ERR_NAME
 * where a function updates a name that is not its own. */
void resolve_chunk(Ctx *, Names *, Globals *, Chunk *);

/* ---- canonical text ---- */
struct Buf;
void print_chunk(Buf *out, const Chunk *);               /* ricci fmt, comments kept */
void print_node(Buf *out, const Node *);                 /* one expression, one line */
void print_signature(Buf *out, const Node *fn);          /* f(x, tol=1e-8, rest...) */

#endif
