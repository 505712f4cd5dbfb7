/* Syntax trees: one plain node type, allocated in the chunk's arena, every node with
 * its span. The parser builds them, the resolver annotates names with scope and slot,
 * `ricci fmt` prints them and interp/lower turns them into executable nodes. Nothing
 * here knows about values. */
#ifndef RICCI_PARSER_AST_H
#define RICCI_PARSER_AST_H

#include "core/memory/arena.h"
#include "core/base/source.h"
#include "lexer/operators.h"

typedef enum NodeKind {
#define NODE(id, name, children) ND_##id,
#include "parser/ast.def"
#undef NODE
    ND_KINDS
} NodeKind;

enum {                    /* Node.flags */
    NF_PARENS = 1,        /* written in parentheses: (n) */
    NF_BRACES = 2,        /* a block written with { } */
    NF_VARIADIC = 4,      /* rest... */
    NF_SEMICOLON = 8,     /* statement followed by `;`: the REPL does not echo it */
    NF_RAW = 16,          /* raw string */
    NF_TRAILING_COMMA = 32
};

typedef enum NameScope {
    SCOPE_NONE,           /* not a variable (field, parameter name, keyword argument) */
    SCOPE_LOCAL,          /* slot in the function's frame */
    SCOPE_GLOBAL,         /* slot of the module; when it is undefined, a builtin */
    SCOPE_SELF,           /* the running function itself */
    SCOPE_FOREIGN         /* updated in a function that it does not belong to: a `name` error */
} NameScope;

enum { EXPLAIN_RUN, EXPLAIN_LATEX, EXPLAIN_DOT, EXPLAIN_SVG, EXPLAIN_DIGITS, EXPLAIN_FORMS };

typedef struct Node Node;

/* A function, lambda, test or compare block as the resolver sees it. The top level has no
 * frame: its frame is the module's slots. Variables of comprehensions there are SCOPE_LOCAL
 * in hidden slots of the module, which no name finds; what captures from the top level
 * (such a variable, or a global that a test or compare block changes on a copy) has the
 * module's slot in `from`. */
typedef struct FnInfo {
    uint32_t slots;               /* frame size: parameters, captured, locals, temporaries */
    uint32_t params;              /* parameters are slots 0 … params-1 */
    uint32_t captured;            /* captured values are slots params … params+captured-1 */
    struct Capture {
        bool self;                /* the enclosing function itself */
        bool global;              /* from is a slot of the module (test, compare) */
        int32_t from;             /* slot in the enclosing frame; V_UNDEF there stays so */
    } *captures;
    const Name **slot_names;      /* slots entries, for error messages */
} FnInfo;

struct Node {
    uint8_t kind;                 /* NodeKind */
    uint8_t op;                   /* Operator, or the bool; of EXPLAIN an EXPLAIN_ form */
    uint8_t scope;                /* NameScope */
    uint8_t flags;
    uint32_t depth;               /* 1 + deepest child; limited so that recursion is safe */
    Span span;                    /* whole construct */
    Span mark;                    /* the operator, name or bracket to point at */
    const Name *name;
    const char *text;
    uint32_t text_len;
    /* NAME, FN, PARAM, REDUCE (its name as a variable): by the resolver */
    int32_t slot;
    Node *a, *b, *c;
    Node **list;
    uint8_t *ops;                 /* COMPARE: Operator per link */
    uint32_t count;
    union {
        FnInfo *fn;               /* FN, LAMBDA, TEST, COMPARE_BLOCK: by the resolver */
        struct CUnit *unit;       /* EXTERN: what it declares, by the resolver */
    };
};

#define NODE_DEPTH_MAX 5000
/* What one level of nodes takes of the C stack at most, while it is read, lowered or run: texts may
 * be as deep as the stack of whoever reads them allows. */
#define NODE_STACK 1200
/* So many operators in a row are cut into parts (ND_LONG): `1 + 1 + …` is long, not deep. */
#define NODE_PART_MAX 4000

const char *node_kind_name(NodeKind);
const char *operator_symbol(Operator);

#endif
