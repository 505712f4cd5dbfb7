/* C declarations of `extern` blocks: from text to types with sizes and offsets as the C compiler
 * of this machine lays them out. The resolver parses a block (its names become variables),
 * interp/native calls through the types. Nothing here knows about values or libraries.
 *
 * A CScope holds what the blocks of one module have declared so far (tags, typedefs, macros,
 * enumerators) and owns every type: types live as long as it does. */
#ifndef RICCI_PARSER_CDECL_H
#define RICCI_PARSER_CDECL_H

#include "core/memory/arena.h"
#include "core/base/error.h"

typedef enum CKind {
    CK_VOID,
    CK_BOOL,
    CK_CHAR,              /* plain char: text; signed char and unsigned char are CK_INT of size 1 */
    CK_INT,               /* every other integer, by size and is_unsigned */
    CK_ENUM,              /* as int or unsigned int */
    /* by size: _Float16 2, float 4, double 8, long double 16; __bf16 is bf16 */
    CK_FLOAT,
    CK_COMPLEX,           /* float, double or long double _Complex: size 8, 16, 32 */
    CK_POINTER, CK_ARRAY, CK_STRUCT, CK_UNION, CK_FUNCTION
} CKind;

typedef struct CType CType;
typedef struct CExpr CExpr;

typedef struct CField {
    const char *name;     /* NULL: an anonymous struct or union, whose fields are seen through it */
    const CType *type;
    size_t offset;
} CField;

/* A struct or union: shared by all (qualified) types that name it, so completing it completes
 * them. */
typedef struct CRecord {
    const char *tag;      /* of `struct tag`, or the typedef's name, or NULL */
    CField *fields;
    uint32_t count;
    uint32_t align;
    size_t size;
    bool complete;        /* its fields were given */
    uint8_t depth;        /* records and arrays inside each other, by value: bounded */
} CRecord;

typedef struct CParam {
    const char *name;     /* NULL: a prototype without names */
    const CType *type;    /* arrays and functions are pointers here already */
    const CExpr *length;  /* `double x[n]`: how many elements at least; NULL: nothing is said */
    /* the whole array in elements of the innermost type (`a[m][n]`); NULL as length */
    const CExpr *needs;
} CParam;

struct CType {
    uint8_t kind;         /* CKind */
    bool is_unsigned, is_const, is_volatile;
    bool variadic;        /* CK_FUNCTION: `...` */
    bool unprototyped;    /* CK_FUNCTION: `f()` */
    bool bf16;            /* CK_FLOAT of size 2 */
    /* types inside each other, up to records with a tag: bounded, so recursion is safe */
    uint8_t depth;
    uint32_t align;       /* of records: ask ctype_align */
    size_t size;          /* of records: ask ctype_size */
    size_t count;         /* CK_ARRAY: elements; 0 for [] */
    const CType *of;      /* pointer: to what; array: element; function: result */
    /* as the user wrote it: typedef name, `unsigned long`, `struct point`; NULL: derived */
    const char *name;
    CRecord *record;      /* CK_STRUCT, CK_UNION */
    CParam *params;       /* CK_FUNCTION */
    uint32_t param_count;
    /* libffi's picture of it, made when first needed (interp/native/native_abi.c); the basic types
     * are constants that nobody writes into: theirs stays NULL */
    void *abi;
};

/* An integer constant expression, or one in the parameters of a function. */
typedef enum CExprKind { CX_INT, CX_PARAM, CX_UNARY, CX_BINARY, CX_CHOOSE } CExprKind;
struct CExpr {
    CExprKind kind;
    int op;               /* CX_UNARY - ~ !; CX_BINARY + - * / % & ^ | < > and L (<<) R (>>)
                             l (<=) g (>=) = (==) n (!=) a (&&) o (||) */
    int64_t value;        /* CX_INT; CX_PARAM: index of the parameter */
    const CExpr *a, *b, *c;
};
/* Its value with the parameters' values; false on overflow or division by zero. */
bool cexpr_value(const CExpr *, const int64_t *params, int64_t *out);

typedef enum CDeclKind { CD_FUNCTION, CD_VARIABLE, CD_TYPE, CD_CONSTANT } CDeclKind;
typedef enum CConstKind { CC_INT, CC_UINT, CC_FLOAT, CC_TEXT, CC_POINTER } CConstKind;
typedef struct CConst {
    CConstKind kind;
    int64_t i;            /* CC_INT, CC_UINT (over 2^63: the bits), CC_POINTER: the address */
    double f;
    const char *text;     /* CC_TEXT: decoded bytes, NUL-terminated */
    size_t len;
} CConst;

typedef struct CDecl {
    CDeclKind kind;
    const char *name;     /* in the program; types by tag or typedef name */
    const char *symbol;   /* in the library: the name, or what asm("…") says */
    Span at;              /* the name in the source */
    const CType *type;    /* function, variable, type */
    CConst value;         /* CD_CONSTANT: an enumerator or `#define` */
} CDecl;

/* What one block declares, in order; a name once (a prototype may be repeated). */
typedef struct CUnit {
    CDecl *decls;
    uint32_t count;
} CUnit;

typedef struct CScope CScope;
CScope *cscope_new(Ctx *);
void cscope_free(CScope *);
/* A block had an #include, which reads nothing: a name that is missing later may have been hoped
 * for there. */
bool cscope_included(const CScope *);
/* Parses the text of `source` from span.from to span.to. On an error raises `syntax` with its place
 * in the block and leaves the scope as it was. Everything lives in the scope's arena. */
CUnit *cdecl_parse(CScope *, Source *, Span);
/* A type's name alone (`unsigned long`, `struct point *`, `double[3]`): sizeof("…"). Raises
 * `ffi`. */
const CType *cdecl_type(CScope *, const char *text, size_t len);
/* One declaration from C (`double f(double x[n], size_t n);`), for libricci. Raises `ffi`. */
const CDecl *cdecl_one(CScope *, const char *text, size_t len);

/* The declaration of a type of the C library that a program has to paste (div_t, tm); NULL: no
 * such. */
const char *cdecl_of_libc(const char *name);

size_t ctype_size(const CType *);         /* 0: incomplete, void or a function */
uint32_t ctype_align(const CType *);
bool ctype_is_record(const CType *);      /* a struct or union */
bool ctype_is_integer(const CType *);     /* bool, char and enumerations too */
/* As C writes it: `const double *`, `int (*)(const void *, const void *)`, `struct point`. */
void ctype_text(struct Buf *, const CType *);
/* The field of that name, through anonymous members; its offset in *offset. NULL: none. */
const CField *ctype_field(const CType *, const char *name, size_t len, size_t *offset);
/* Same representation: pointers may differ in const, records are the same or equal in tag and
 * layout. */
bool ctype_same(const CType *, const CType *);
/* The basic types of C by their canonical spelling ("int", "unsigned long", "double", "void"). */
const CType *ctype_basic(const char *name);

#endif
