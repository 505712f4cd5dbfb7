/* What the grammar's actions call: the state of one parse and the makers of nodes. Makers
 * check what the grammar leaves general (targets, parameters, slices) and report it without
 * stopping. None of them raises: memory failure is remembered and ends the parse, so that
 * the generated parser always returns and gives its own stacks back. */
#ifndef RICCI_PARSER_BUILD_H
#define RICCI_PARSER_BUILD_H

#include "core/base/buf.h"
#include "lexer/lexer.h"
#include "parser/parse.h"

typedef struct Seq {              /* a list being built */
    Node **items;
    uint32_t count, cap;
} Seq;

enum { SYNTAX_ERRORS_MAX = 20, SYNTAX_ERRORS_KEPT = 200 };

typedef struct SyntaxError {
    Span span;
    const char *message, *help;   /* in the arena */
} SyntaxError;

typedef struct ParseState {
    Ctx *ctx;
    Chunk *chunk;
    Lexer lexer;
    size_t next;                  /* index of the next token */
    bool skip;                    /* after an error: go on at the end of the statement */
    bool stop;                    /* nothing more is read */
    bool memory;                  /* memory ran out; ctx->error says so */
    uint32_t depth_max;           /* levels of nodes that the C stack has room for */
    bool deep;                    /* "nested too deeply" was said */
    bool probe, accepted;         /* only asked whether the text parses */
    SyntaxError errors[SYNTAX_ERRORS_KEPT];
    int error_count;
    Node spare;                   /* stands in for nodes when memory ran out */
} ParseState;

/* Adds a mistake; message and help are copied. */
void syntax_report(ParseState *, Span, const char *help, const char *message);
void syntax_error(ParseState *, Span, const char *help, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* The parser met token `index`; `expected` are the kinds that could stand there. */
void syntax_unexpected(ParseState *, size_t index, const int *expected, int count);
_Noreturn void syntax_raise(ParseState *);
/* The mistakes in the order of the text: each statement's text in Ricci's spelling becomes
 * the help of its first one, and the others of that statement are left out. */
void syntax_translate(ParseState *);

/* ---- makers ---- */
Node *node_make(ParseState *, NodeKind, Span span, Span mark, Node *a, Node *b, Node *c);
Node *node_list(ParseState *, NodeKind, Span span, Span mark, Seq);
void seq_add(ParseState *, Seq *, Node *);

/* What `target op= value` is over indices (build_gather.c): a list of the subscripts and the value,
 * a = the list of the indices; NULL: nothing. */
Node *build_gather(ParseState *, const Node *target, const Node *value);
Node *build_literal(ParseState *, NodeKind, const Token *);
Node *build_bool(ParseState *, const Token *, bool);
Node *build_name(ParseState *, const Token *);
Node *build_format(ParseState *, Span, Node *, const Token *spec);
Node *build_unary(ParseState *, const Token *op, Node *);
Node *build_binary(ParseState *, Node *, const Token *op, Node *);
Node *build_compare(ParseState *, Node *, const Token *op, Node *);
Node *build_range(ParseState *, Span, Node *, const Token *colon, Node *);
Node *build_slice(ParseState *, Span, Node *from, Node *to, Node *step, Span mark);
Node *build_group(ParseState *, Span, Seq args, bool comma);
Node *build_named(ParseState *, Span, Node *name, Node *value);
Node *build_call(ParseState *, Span, Node *callee, Seq args, Span mark);
Node *build_index(ParseState *, Span, Node *base, Seq subscripts, Span mark);
Node *build_link(ParseState *, NodeKind, Span, Span mark, Node *left, Node *right);
Node *build_if(ParseState *, Span, Node *condition, Node *block, Seq others, Node *last, Span mark);
Node *build_field(ParseState *, Span, Node *base, const Token *name);
Node *build_lambda(ParseState *, Span, Node *parameters, const Token *arrow, Node *body);
Node *build_expressions(ParseState *, Span, Seq);         /* a, b as a tuple; one as itself */
Node *build_comprehension(ParseState *, Span, Node *element, Seq binds, Node *condition, Span mark);
Node *build_bind(ParseState *, Span, Node *target, Node *range);
Node *build_reduce(ParseState *, Span, const Token *name, Seq binds, Node *body);
Node *build_modifier(ParseState *, Span, const Token *word, Node *operand);
Node *build_device_index(ParseState *, Span, Node *name, const Token *index);
Node *build_scope(ParseState *, NodeKind, Span, const Token *word, Node *operand, Seq modifiers,
                  Node *block);
Node *build_assign(ParseState *, Span, Node *target, const Token *op, Node *value);
Node *build_update(ParseState *, Span, Node *target, const Token *op, Node *value);
Node *build_define(ParseState *, Span, Node *left, const Token *op, Node *right, Seq binds);
Node *build_for(ParseState *, Span, const Token *word, Seq targets, Span targets_span, Node *range,
                Node *block);
Node *build_try(ParseState *, Span, const Token *word, Node *block, const Token *name,
                Node *handler);
Node *build_fn(ParseState *, Span, const Token *word, const Token *name, Seq args, Node *body);
Node *build_import(ParseState *, Span, const Token *word, Seq names, const Token *module,
                   const Token *alias);
Node *build_extern(ParseState *, Span, const Token *library, const Token *alias, const Token *body);
Node *build_explain(ParseState *, Span, const Token *word, const Token *as, Node *what);
Node *build_block(ParseState *, Span, Seq statements, bool braces);

#endif
