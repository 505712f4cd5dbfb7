/* What the parts of the C declaration parser share. The text becomes tokens with all macros
 * expanded (cdecl_lex.c, cdecl_macro.c), tokens become declarations (cdecl.c) of types
 * (cdecl_type.c, cdecl_record.c) with constant expressions inside (cdecl_expr.c), and types are
 * laid out, compared and written (ctype.c). cdecl_unknown.c explains names that mean nothing.
 * Only these files include it.
 *
 * A scope changes through slots and records alone, and each change is in the journal of the parse
 * under way: an error takes all of them back. */
#ifndef RICCI_PARSER_CDECL_PARTS_H
#define RICCI_PARSER_CDECL_PARTS_H

#include "core/base/buf.h"
#include "core/base/source.h"
#include "parser/cdecl/cdecl.h"

enum {
    CD_DEPTH = 150,              /* brackets, structs and parameter lists inside each other */
    CD_TYPE_DEPTH = 120,         /* pointers to arrays of functions … */
    CD_EXPANDED = 1 << 20,       /* tokens that macros may make of one block */
};

typedef enum TokKind { TK_END, TK_NAME, TK_NUMBER, TK_CHAR, TK_TEXT, TK_PUNCT, TK_BAD } TokKind;

/* A punctuator's code: its characters from the low byte up. */
#define P2(a, b) ((a) | (b) << 8)
#define P3(a, b, c) ((a) | (b) << 8 | (c) << 16)

typedef struct Tok {
    const Name *name;            /* the spelling */
    Span at;                     /* in the source; what a macro made stands where its name stands */
    uint32_t punct;
    uint8_t kind;                /* TokKind */
    bool line;                   /* first of its line */
    bool space;                  /* white space before it */
    bool plain;                  /* the name of a macro inside its own expansion */
    uint8_t pack;                /* of #pragma pack where it stands; 0: none */
} Tok;

typedef struct Toks {
    Tok *items;
    uint32_t count, cap;
} Toks;

typedef struct Macro {
    const Name *name;
    Toks body;
    const Name **params;
    uint32_t param_count;
    bool function, variadic;
    bool busy;                   /* its expansion is being read */
    uint32_t block;              /* that defined it; 0: known to every scope */
    Span at;
} Macro;

typedef enum SymbolKind { SY_TYPE, SY_CONSTANT, SY_OBJECT } SymbolKind;

/* An ordinary identifier. */
typedef struct Symbol {
    SymbolKind kind;
    const CType *type;
    const CType *under;          /* SY_TYPE: by the name that it had before */
    CConst value;                /* SY_CONSTANT */
    const char *symbol;          /* SY_OBJECT: in the library */
    uint32_t block;              /* that declared it; 0: before every block */
    uint32_t decl;               /* SY_OBJECT: its place in the block's list */
} Symbol;

typedef struct Tag {
    const CType *type;           /* CK_STRUCT, CK_UNION or CK_ENUM */
    bool complete;               /* of an enum: a record knows itself */
    uint32_t block;              /* that completed it, or else named it first */
} Tag;

/* What a name means, by its number in the scope's Names. */
typedef struct Slot {
    Symbol *symbol;
    Tag *tag;
    Macro *macro;
    const CType *parsed;         /* of a text given to cdecl_type, while no block came after */
    uint32_t parsed_block;
} Slot;

/* What one parse left behind; kept in a list by the scope. */
typedef struct Block {
    struct Block *next;
    Arena arena;
} Block;

struct CScope {
    Ctx *ctx;
    Names names;
    Slot *slots;
    size_t slot_count;
    Block *blocks;
    uint32_t block;              /* number of the last parse that was kept */
    bool included;               /* an #include was skipped in one of them */
};

typedef struct Change {
    struct Change *next;
    Slot old;
    uint32_t id;
    CRecord *record;             /* not a slot but a record that was completed */
    CRecord before;
} Change;

/* Names in the array lengths of a parameter list that are parameters, before or after. */
typedef struct Pending {
    struct Pending *next;
    CExpr *expr;
    const Name *name;
    Span at;
} Pending;

typedef struct ParamList {
    struct ParamList *up;
    const Name **names;
    CParam *params;
    uint32_t count, cap;
    Pending *pending;
} ParamList;

typedef struct Stream {
    struct Stream *up;
    const Tok *toks;
    uint32_t count, at;
    Macro *macro;                /* to be free again at the end */
} Stream;

typedef struct Group {           /* #if … #endif */
    struct Group *up;
    bool on, done, last;         /* these lines count; a branch was taken; #else was seen */
    Span at;
} Group;

typedef struct CParser {
    CScope *scope;
    Ctx *ctx;
    Source *source;              /* NULL: a text of its own, whose errors are `ffi` */
    const char *text;
    uint32_t pos, end;
    bool line;                   /* nothing but white space since the line began */
    Block *block;
    Arena *arena;                /* the block's: what lives on */
    Arena tmp;                   /* freed after the parse */
    Buf piece;
    Change *changes;
    /* macros */
    Stream *streams;
    bool closed;                 /* the streams alone: an argument expands apart */
    Group *groups;
    uint8_t pack[16];            /* of #pragma pack: the last one counts */
    int packs;
    uint32_t expanded;
    bool included;               /* an #include was skipped */
    Span included_at;            /* the first one */
    const Macro **defined;       /* by this block, in order */
    uint32_t defined_count, defined_cap;
    /* declarations */
    Toks toks;                   /* what is parsed; ends in TK_END */
    uint32_t at;
    int depth;
    int idle;                    /* inside an operand that C does not evaluate */
    bool condition;              /* of #if: names are 0 */
    bool quiet; /* errors say no more than that there is one: a macro may be no constant */
    bool only_one;               /* one declaration, given by C: errors show it */
    bool only_type;              /* a type's name alone: it declares no tag */
    int braces;                  /* of extern "C" { */
    ParamList *params;
    CDecl *decls;
    uint32_t decl_count, decl_cap;
    struct TagDecl *tags;        /* declared by this block, the last one first */
} CParser;

typedef struct TagDecl {
    struct TagDecl *next;
    const Name *name;
    const CType *type;
    Span at;
} TagDecl;

/* ---- cdecl.c ---- */

_Noreturn void cd_error(CParser *, Span, const char *help, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* A text that lives as long as the parse. */
const char *cd_say(CParser *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
Slot *cd_slot(CParser *, const Name *);
/* The slot, to be changed: the journal keeps what it was. */
Slot *cd_change(CParser *, const Name *);
void cd_change_record(CParser *, CRecord *);
void cd_enter(CParser *, Span);  /* one level deeper, or an error */
#define cd_leave(p) ((p)->depth--)
/* A larger copy, for `cap` items, of an array of the parser's own that holds `count`. */
void *cd_grown(CParser *, const void *old, size_t item, uint32_t count, uint32_t cap);
const Name *cd_name(CParser *, const char *);

static inline const Tok *cd_peek(const CParser *p) { return &p->toks.items[p->at]; }
static inline const Tok *cd_ahead(const CParser *p, uint32_t n)
{
    return &p->toks.items[p->at + n < p->toks.count ? p->at + n : p->toks.count - 1];
}
static inline const Tok *cd_next(CParser *p)
{
    const Tok *t = cd_peek(p);
    p->at += t->kind != TK_END;
    return t;
}
static inline bool cd_is(const CParser *p, uint32_t punct)
{
    return cd_peek(p)->kind == TK_PUNCT && cd_peek(p)->punct == punct;
}
static inline bool cd_accept(CParser *p, uint32_t punct)
{
    bool is = cd_is(p, punct);
    p->at += is;
    return is;
}
bool cd_word(const CParser *, const char *);            /* the next token is this name */
bool cd_take_word(CParser *, const char *);
Span cd_expect(CParser *, uint32_t punct, const char *where);
_Noreturn void cd_unexpected(CParser *, const char *wanted);
/* Steps over ( … ), [ … ] or { … }: the next token opens it. */
void cd_skip_brackets(CParser *);
bool cd_keyword(const Name *);                          /* of C: no name to declare */
const char *cd_type_text(CParser *, const CType *);     /* lives as long as the parse */
void cd_declare_constant(CParser *, const Tok *, const CType *, CConst);
void cd_static_assert(CParser *);

/* ---- cdecl_lex.c: the next token of the text ---- */

Tok cd_lex(CParser *);
/* The bytes of a character constant or string literal; false: a wide or wrong one. */
bool cd_text_decode(const Tok *, Buf *);

/* ---- cdecl_macro.c: all tokens of the text, macros expanded, into toks ---- */

void cd_preprocess(CParser *);
void cd_push(CParser *, Toks *, Tok);
/* A body by itself, expanded; ends in TK_END. */
Toks cd_expand(CParser *, const Macro *);
/* A text that defines the macros that any header may count on. */
extern const char cd_predefined[];

/* ---- cdecl_expr.c ---- */

typedef enum ValKind { VL_INT, VL_FLOAT, VL_TEXT, VL_POINTER, VL_PARAM } ValKind;
typedef struct Val {
    ValKind kind;
    const CType *type;           /* of a number */
    int64_t i;
    double f;
    const char *text;
    size_t len;
    const CExpr *expr;           /* VL_PARAM */
    int depth;
    Span at;
} Val;

Val cd_expression(CParser *);    /* a conditional expression */
/* One that must be an integer constant: `what` says of what ("an array length"). */
int64_t cd_integer(CParser *, const char *what);
CConst cd_constant(const Val *);   /* VL_PARAM aside */
const CExpr *cd_length_expr(CParser *, const Val *);
const CExpr *cd_expr_times(CParser *, const CExpr *, const CExpr *);

/* ---- cdecl_type.c: specifiers and declarators ---- */

typedef struct Attributes {
    bool packed;
    uint32_t align;              /* 0: nothing is said */
    int mode;                    /* bytes of __mode__; 0: none */
    const char *symbol;          /* __asm__("…") */
} Attributes;

typedef struct Specifiers {
    const CType *type;
    Attributes attributes;
    Span at;                     /* of the type */
    bool is_typedef, is_static, is_inline;
    bool defines; /* a struct, union or enum was named or defined: it may stand alone */
} Specifiers;

typedef enum Naming { NAMED, UNNAMED, EITHER } Naming;

typedef struct Declarator {
    const CType *type;
    const Name *name;
    Span at;                     /* of the name, or of where it would stand */
    const CExpr *length, *needs; /* of a parameter that is an array */
    bool function;               /* the parentheses of a prototype belong to this declarator */
    Attributes attributes;
} Declarator;

bool cd_type_starts(const CParser *, const Tok *);
void cd_specifiers(CParser *, Specifiers *);
void cd_declarator(CParser *, const CType *base, Naming, bool param, Declarator *);
const CType *cd_type_name(CParser *);
/* __attribute__((…)), asm("…"), [[…]], __declspec(…), calling conventions. */
void cd_attributes(CParser *, Attributes *);
const CType *cd_moded(const CType *, const Attributes *);
const CType *cd_with_attributes(CParser *, const CType *, const Attributes *);
CType *cd_type_copy(CParser *, const CType *);

/* ---- cdecl_record.c ---- */

const CType *cd_record(CParser *, bool is_union);
const CType *cd_enum(CParser *);
const char *cd_kind_word(uint8_t kind);                  /* struct, union or enum */

/* ---- cdecl_unknown.c: names that mean nothing, with what they may have been meant to be ---- */

_Noreturn void cd_unknown_type(CParser *, const Tok *);
_Noreturn void cd_unknown_tag(CParser *, const Tok *, const char *kind);
_Noreturn void cd_unknown_constant(CParser *, const Tok *);

/* ---- ctype.c ---- */

const CType *ctype_known(const char *name, size_t len);  /* `size_t`, `FILE` …: NULL if none */
const char *ctype_known_name(size_t i);                  /* NULL past the last */
const CType *ctype_int(int size, bool is_unsigned);
bool ctype_opaque(const CType *); /* a known type that nothing can be said about */
bool ctype_complete(const CType *);
int ctype_depth(const CType *);
/* Offsets, size and alignment of a record whose fields have types; false: larger than memory. */
typedef struct CLayout {
    bool is_union, packed;
    uint32_t limit;              /* no field is aligned to more; 0: none */
    uint32_t align;              /* at least */
    const uint32_t *field_align; /* that a field asks for; 0 */
    const bool *field_packed;
} CLayout;
bool crecord_layout(CRecord *, const CLayout *);

#endif
