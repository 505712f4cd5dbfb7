/* C declarations: layout against the compiler that compiles this file, types as text and back,
 * constants against C's own arithmetic, every error with its place, several blocks in one scope,
 * and texts that no header writes. */
#include "parser/cdecl/cdecl.h"
#include "tests/unit/check.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>
#include <wchar.h>

static Ctx ctx;
static InterruptFlag interrupt;
static CScope *scope;
static size_t spare;             /* bytes that a parse may take; 0: any */

static void fail(const char *what, const char *text, const char *got)
{
    check_that(false, what, __FILE__, __LINE__);
    fprintf(stderr, "    %s\n    %s\n", text, got);
}

static void check_text(const char *what, const char *text, const char *got, const char *wanted)
{
    if (strcmp(got, wanted) == 0)
        check_passed++;
    else {
        fail(what, text, got);
        fprintf(stderr, "    wanted: %s\n", wanted);
    }
}

/* NULL where the text is wrong: the error is in ctx.error. */
static CUnit *parse(const char *text, size_t len)
{
    ErrFrame frame;
    Source *volatile source = NULL;
    CUnit *volatile unit = NULL;
    if (ERR_TRY(&ctx, &frame)) {
        source = source_new(&ctx, "t", text, len);
        if (spare)
            ctx.mem.limit = ctx.mem.live + spare;
        unit = cdecl_parse(scope, source, (Span){ 0, (uint32_t)len });
        ERR_END(&ctx, &frame);
    } else {
        unit = NULL;
    }
    ctx.mem.limit = (size_t)8 << 30;
    source_release(source);
    return unit;
}

static void drop_error(void)
{
    err_free(ctx.error);
    ctx.error = NULL;
}

static CUnit *parse_good(const char *text)
{
    CUnit *u = parse(text, strlen(text));
    if (u)
        return u;
    fail("parse", text, ctx.error->message);
    drop_error();
    static CUnit none;
    return &none;
}

static void fresh(void)
{
    cscope_free(scope);
    scope = cscope_new(&ctx);
}

/* ---- layout ---- */

#define EACH_1(m, t, a) m(t, a)
#define EACH_2(m, t, a, ...) m(t, a) EACH_1(m, t, __VA_ARGS__)
#define EACH_3(m, t, a, ...) m(t, a) EACH_2(m, t, __VA_ARGS__)
#define EACH_4(m, t, a, ...) m(t, a) EACH_3(m, t, __VA_ARGS__)
#define EACH_5(m, t, a, ...) m(t, a) EACH_4(m, t, __VA_ARGS__)
#define EACH_6(m, t, a, ...) m(t, a) EACH_5(m, t, __VA_ARGS__)
#define EACH_7(m, t, a, ...) m(t, a) EACH_6(m, t, __VA_ARGS__)
#define EACH_8(m, t, a, ...) m(t, a) EACH_7(m, t, __VA_ARGS__)
#define COUNT_(a, b, c, d, e, f, g, h, n, ...) EACH_##n
#define PICK(a, b, c, d, e, f, g, h, n, ...) EACH_##n
#define EACH(m, t, ...) PICK(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)(m, t, __VA_ARGS__)
#define OPEN(...) __VA_ARGS__

#define RECORD(kind, tag, fields, ...) kind tag __VA_ARGS__;
#define ENUM(tag, ...) enum tag __VA_ARGS__;
#include "tests/unit/cdecl_records.def"
#undef RECORD
#undef ENUM

static const char records_text[] =
#define RECORD(kind, tag, fields, ...) #kind " " #tag " " #__VA_ARGS__ ";\n"
#define ENUM(tag, ...) "enum " #tag " " #__VA_ARGS__ ";\n"
#include "tests/unit/cdecl_records.def"
#undef RECORD
#undef ENUM
    ;

typedef struct RecordFact { const char *name; size_t size, align; } RecordFact;
static const RecordFact record_facts[] = {
#define RECORD(kind, tag, fields, ...) { #kind " " #tag, sizeof(kind tag), _Alignof(kind tag) },
#define ENUM(tag, ...) { "enum " #tag, sizeof(enum tag), _Alignof(enum tag) },
#include "tests/unit/cdecl_records.def"
#undef RECORD
#undef ENUM
};

typedef struct FieldFact { const char *record, *field; size_t offset; } FieldFact;
static const FieldFact field_facts[] = {
#define FACT(t, f) { #t, #f, offsetof(t, f) },
#define FACTS(t, ...) EACH(FACT, t, __VA_ARGS__)
#define RECORD(kind, tag, fields, ...) FACTS(kind tag, OPEN fields)
#define ENUM(tag, ...)
#include "tests/unit/cdecl_records.def"
#undef RECORD
#undef ENUM
};

#define SCALARS(SCALAR)                                                                            \
    SCALAR(char)                                                                                   \
    SCALAR(signed char) SCALAR(unsigned char) SCALAR(short) SCALAR(unsigned short int) SCALAR(int) \
        SCALAR(unsigned) SCALAR(signed) SCALAR(long) SCALAR(unsigned long int)                     \
            SCALAR(long unsigned) SCALAR(long long) SCALAR(long unsigned int long) SCALAR(_Bool)   \
                SCALAR(float) SCALAR(double) SCALAR(long double) SCALAR(double long)               \
                    SCALAR(float _Complex) SCALAR(double _Complex) SCALAR(long double _Complex)    \
                        SCALAR(void *) SCALAR(char **) SCALAR(int (*)(void)) SCALAR(double(*)[3])  \
                            SCALAR(double[3][4]) SCALAR(char *[7]) SCALAR(int8_t) SCALAR(uint8_t)  \
                                SCALAR(int16_t) SCALAR(uint32_t) SCALAR(int64_t) SCALAR(intptr_t)  \
                                    SCALAR(size_t) SCALAR(ssize_t) SCALAR(ptrdiff_t) SCALAR(off_t) \
                                        SCALAR(time_t) SCALAR(wchar_t) SCALAR(int_fast16_t)        \
                                            SCALAR(bool) SCALAR(uint_least8_t) SCALAR(intmax_t)    \
                                                SCALAR(const int) SCALAR(int const volatile)       \
                                                    SCALAR(volatile double *const)

static const RecordFact scalar_facts[] = {
#define SCALAR(...)                                                                                \
    { #__VA_ARGS__, sizeof(__VA_ARGS__),                                                           \
      offsetof(                                                                                    \
          struct {                                                                                 \
              char c;                                                                              \
              __typeof__(__VA_ARGS__) x;                                                           \
          },                                                                                       \
          x) },
    SCALARS(SCALAR)
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const CType *type_of(const char *text)
{
    ErrFrame frame;
    if (ERR_TRY(&ctx, &frame)) {
        const CType *t = cdecl_type(scope, text, strlen(text));
        ERR_END(&ctx, &frame);
        return t;
    }
    fail("type", text, ctx.error->message);
    drop_error();
    return ctype_basic("void");
}

static void check_layout(void)
{
    fresh();
    parse_good(records_text);
    for (size_t i = 0; i < COUNT(record_facts); i++) {
        const CType *t = type_of(record_facts[i].name);
        if (!CHECK(ctype_size(t) == record_facts[i].size &&
                   ctype_align(t) == record_facts[i].align))
            fprintf(stderr, "    %s: %zu, %u\n", record_facts[i].name, ctype_size(t),
                    ctype_align(t));
    }
    for (size_t i = 0; i < COUNT(field_facts); i++) {
        const FieldFact *f = &field_facts[i];
        size_t at = SIZE_MAX;
        const CField *field = ctype_field(type_of(f->record), f->field, strlen(f->field), &at);
        if (!CHECK(field && at == f->offset))
            fprintf(stderr, "    %s.%s: %zu\n", f->record, f->field, at);
    }
    CHECK(!ctype_field(type_of("struct anonymous"), "q", 1, NULL));
    for (size_t i = 0; i < COUNT(scalar_facts); i++) {
        const CType *t = type_of(scalar_facts[i].name);
        if (!CHECK(ctype_size(t) == scalar_facts[i].size &&
                   ctype_align(t) == scalar_facts[i].align))
            fprintf(stderr, "    %s: %zu, %u\n", scalar_facts[i].name, ctype_size(t),
                    ctype_align(t));
    }
}

#pragma pack(push, 2)
struct packed_2 { char a; double b; int c __attribute__((aligned(8))); };
#pragma pack(1)
struct packed_1 { char a; double b; };
#pragma pack(pop)
struct packed_0 { char a; double b; };

static void check_pack(void)
{
    fresh();
    parse_good("#pragma pack(push, 2)\nstruct p2 { char a; double b; int c "
               "__attribute__((aligned(8))); };\n"
               "#pragma pack(1)\nstruct p1 { char a; double b; };\n#pragma pack(pop)\nstruct p0 { "
               "char a; double b; };");
    CHECK(ctype_size(type_of("struct p2")) == sizeof(struct packed_2));
    CHECK(ctype_align(type_of("struct p2")) == _Alignof(struct packed_2));
    CHECK(ctype_size(type_of("struct p1")) == sizeof(struct packed_1));
    CHECK(ctype_size(type_of("struct p0")) == sizeof(struct packed_0));
}

/* ---- constants: C's own value, and ours ---- */

#define CONSTANTS(INT, FLOAT)                                                                      \
    INT(42)                                                                                        \
    INT(0x7fffffff) INT(0xffffffff) INT(0755) INT(0b1011) INT(1u - 2) INT(1ul - 2) INT(-1 / 2)     \
        INT(-7 % 3) INT(1 << 31 >> 31) INT(1u << 31 >> 31) INT(-8 >> 1) INT(~0) INT(~0u) INT(      \
            !5 + !0) INT('a') INT('\n') INT('\x41') INT('\'') INT('\0') INT('\377') INT(1 ? 2 : 3) \
            INT(0 ? 1 / 1 : 5) INT(0 && 1) INT(1 || 0) INT(3 < 2 || 2 <= 2) INT(-1 < 0u)           \
                INT(-1L < 0u) INT(7 & 5 | 8 ^ 3) INT((char)200) INT((unsigned char)-1) INT(        \
                    (short)70000) INT((int)3.99) INT((int)-3.99) INT((_Bool)0.25)                  \
                    INT(sizeof(double)) INT(sizeof(char[3]) * 2) INT(sizeof 1L) INT(               \
                        sizeof "abc"                                                               \
                               "de") INT(sizeof('a')) INT(_Alignof(short))                         \
                        INT((int)sizeof(int) - 5) INT(2 + 3 * 4 - 10 / 5) INT((1 + 2) * (3 + 4))   \
                            INT(1 - 2 - 3) INT(100 / 10 / 2) INT(1 == 1 == 1) INT(5 > 4 > 3)       \
                                INT(- -5) INT(-(-5)) INT(2147483647 + 1L) INT(4294967296)          \
                                    INT(0x100000000 >> 4) INT((uint8_t)511) INT((size_t)-1 / 2)    \
                                        INT(1.5 < 2) INT(offsetof(struct mixed, d))                \
                                            INT((1.0 / 4 == 0.25) + !0.0) INT(10 == 012 ? 1 : 2)   \
                                                INT(0xAUL + 0Xa) INT(1 ? -1 : 0u) INT(             \
                                                    (long)(int)0x80000000) INT(-2147483647 - 1)    \
                                                    INT(1ll << 40) INT(0   ? 1                     \
                                                                       : 0 ? 2                     \
                                                                           : 3) FLOAT(1.5)         \
                                                        FLOAT(3.14159f) FLOAT(1e-3) FLOAT(.5)      \
                                                            FLOAT(5.) FLOAT(0x1.8p3)               \
                                                                FLOAT(1.0 / 3) FLOAT(1.0f / 3)     \
                                                                    FLOAT(2 * 1.5) FLOAT(-2.5e10)  \
                                                                        FLOAT((double)1 / 3)       \
                                                                            FLOAT((float)0.1)      \
                                                                                FLOAT(1 ? 2.5 : 1)

typedef struct ConstFact { const char *text; bool is_float; int64_t i; double f; } ConstFact;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wsign-compare"
static void check_constants(void)
{
    static const ConstFact facts[] = {
#define INT(...) { #__VA_ARGS__, false, (int64_t)(__VA_ARGS__), 0 },
#define FLOAT(...) { #__VA_ARGS__, true, 0, (double)(__VA_ARGS__) },
        CONSTANTS(INT, FLOAT)
    };
    fresh();
    parse_good(records_text);
    for (size_t i = 0; i < COUNT(facts); i++) {
        char text[200];
        snprintf(text, sizeof text, "#define X%zu %s", i, facts[i].text);
        const CUnit *u = parse_good(text);
        if (!CHECK(u->count == 1 && u->decls[0].kind == CD_CONSTANT))
            continue;
        const CConst *c = &u->decls[0].value;
        if (!CHECK(facts[i].is_float
                       ? c->kind == CC_FLOAT && c->f == facts[i].f
                       : (c->kind == CC_INT || c->kind == CC_UINT) && c->i == facts[i].i))
            fprintf(stderr, "    %s: %d %" PRId64 " %g\n", facts[i].text, (int)c->kind, c->i, c->f);
    }
}
#pragma GCC diagnostic pop

/* ---- what a block declares, as lines ---- */

static void put_const(Buf *b, const CConst *c)
{
    switch (c->kind) {
    case CC_FLOAT: buf_printf(b, " = %.17g", c->f); break;
    case CC_TEXT: buf_printf(b, " = \"%s\"", c->text); break;
    case CC_UINT: buf_printf(b, " = %" PRIu64 "u", (uint64_t)c->i); break;
    case CC_POINTER: buf_printf(b, " = pointer %" PRId64, c->i); break;
    case CC_INT: buf_printf(b, " = %" PRId64, c->i); break;
    }
}

static void put_length(Buf *b, const CExpr *e)
{
    static const int64_t params[8] = { 5, 7, 11, 13, 17, 19, 23, 29 };
    int64_t n;
    if (cexpr_value(e, params, &n))
        buf_printf(b, "%" PRId64, n);
    else
        buf_puts(b, "?");
}

static void put_decl(Buf *b, const CDecl *d)
{
    static const char kinds[] = "fvtc";
    buf_printf(b, "%c %s", kinds[d->kind], d->name);
    if (strcmp(d->name, d->symbol) != 0)
        buf_printf(b, " (%s)", d->symbol);
    if (d->kind == CD_CONSTANT) {
        put_const(b, &d->value);
    } else {
        buf_puts(b, ": ");
        ctype_text(b, d->type);
    }
    for (uint32_t i = 0; d->kind == CD_FUNCTION && i < d->type->param_count; i++) {
        const CParam *p = &d->type->params[i];
        if (p->length) {
            buf_printf(b, " %s[", p->name ? p->name : "");
            put_length(b, p->length);
            buf_puts(b, " of ");
            put_length(b, p->needs);
            buf_puts(b, "]");
        }
    }
    buf_puts(b, "\n");
}

typedef struct Case { const char *text, *wanted; } Case;

static const Case cases[] = {
    { "double cbrt(double x);", "f cbrt: double (double)\n" },
    { "int a, *b, f(void), (*g)(int), c[3];",
      "v a: int\nv b: int *\nf f: int (void)\nv g: int (*)(int)\nv c: int [3]\n" },
    { "void (*signal(int sig, void (*func)(int)))(int);",
      "f signal: void (*(int, void (*)(int)))(int)\n" },
    { "int (*(*f(void))[3])(const char *);", "f f: int (*(*(void))[3])(const char *)\n" },
    { "int printf(const char *, ...); int old();",
      "f printf: int (const char *, ...)\nf old: int ()\n" },
    { "typedef int handler(int, void *); handler h; handler *k; void on(handler f);",
      "t handler: handler\nf h: handler\nv k: handler *\nf on: void (handler *)\n" },
    { "typedef double fftw_complex[2]; void f(int n, const fftw_complex *in, fftw_complex out[n], "
      "fftw_complex z);",
      "t fftw_complex: fftw_complex\n"
      "f f: void (int, const fftw_complex *, fftw_complex *, double *) out[5 of 10] z[2 of 2]\n" },
    { "void f(double x[n], double y[static 2*n+1], size_t n, double z[restrict n], double w[const "
      "4], double v[*], char u[]);",
      "f f: void (double *, double *, size_t, double *, double *const, double *, char *)"
      " x[11 of 11] y[23 of 23] z[11 of 11] w[4 of 4]\n" },
    { "void f(int m, int n, double a[m][n], double b[3][n][2], double c[][n], double (*d)[n]);",
      "f f: void (int, int, double (*)[], double (*)[][2], double (*)[], double (*)[])"
      " a[5 of 35] b[3 of 42]\n" },
    { "enum { N = 4 }; void f(double x[N], double y[N*k], long k, int z[(size_t)k], int w[k > 4 && "
      "N ? k/2 : -k]);",
      "c N = 4\nf f: void (double *, double *, long, int *, int *) x[4 of 4] y[44 of 44] z[11 of "
      "11] w[5 of 5]\n" },
    { "void f(int n, double x[n/0], double y[n*9223372036854775807], double z[~n & !n | -n]);",
      "f f: void (int, double *, double *, double *) x[? of ?] y[? of ?] z[-5 of -5]\n" },
    { "void each(int n, double x[n], double (*f)(int k, double y[k], double z[n]));",
      "f each: void (int, double *, double (*)(int, double *, double *)) x[5 of 5]\n" },
    { "typedef struct { int quot, rem; } div_t; div_t div(int, int), *last;",
      "t div_t: div_t\nf div: div_t (int, int)\nv last: div_t *\n" },
    { "struct node; struct node *find(struct node *, int); struct node { struct node *next; int v; "
      "};",
      "t node: struct node\nf find: struct node *(struct node *, int)\n" },
    { "typedef struct point point; struct point { double x, y; }; double norm(point p), dist(const "
      "point *, point const *);",
      "t point: point\nf norm: double (point)\nf dist: double (const point *, const point *)\n" },
    { "struct stat { int mode; }; int stat(const char *, struct stat *);",
      "f stat: int (const char *, struct stat *)\n" },
    { "struct { int x; } origin; union { char c; float f; } *u;",
      "v origin: struct { int x; }\nv u: union { char c; float f; } *\n" },
    { "enum color { RED, GREEN = 5, BLUE, LAST = BLUE + GREEN } paint(enum color c);",
      "t color: enum color\nc RED = 0\nc GREEN = 5\nc BLUE = 6\nc LAST = 11\nf paint: enum color "
      "(enum color)\n" },
    { "extern \"C\" { int f(void); extern int v; } extern \"C\" int g(void); extern int h(void);",
      "f f: int (void)\nv v: int\nf g: int (void)\nf h: int (void)\n" },
    { "static inline int twice(int x) { return x { 2 }; } int after(void); static int "
      "hidden(void), n; inline int out(int x) { }",
      "f after: int (void)\nf out: int (int)\n" },
    { "static const int limit = 3 * 4; static const double half = 0.5; const int seen = 7; static "
      "const char *s = \"a;b\"; int z;",
      "c limit = 12\nc half = 0.5\nv seen: const int\nv z: int\n" },
    { "extern double y0_(double) __asm__(\"y\" \"0\"), j; int v asm(\"w\");",
      "f y0_ (y0): double (double)\nv j: double\nv v (w): int\n" },
    { "_Noreturn void stop(int) __attribute__((noreturn)); __attribute__((const)) int id(int) "
      "__attribute__((nothrow, nonnull(1)));"
      "__extension__ typedef long long big; [[nodiscard]] int checked(void); __declspec(dllexport) "
      "int __cdecl w(void);",
      "f stop: void (int)\nf id: int (int)\nt big: big\nf checked: int (void)\nf w: int (void)\n" },
    { "_Static_assert(sizeof(int) == 4, \"ints\"); int f(void);;", "f f: int (void)\n" },
    { "int sscanf(const char *restrict s, const char *__restrict__ f, ...); const volatile int "
      "*const volatile p;",
      "f sscanf: int (const char *, const char *, ...)\nv p: const volatile int *const "
      "volatile\n" },
    { "int f(int), f(int n), f(int);  int g(); int g(int x); extern int v; extern int v;",
      "f f: int (int)\nf g: int (int)\nv v: int\n" },
    { "enum small : uint8_t { X = 255 }; struct s { char a; enum small b; };",
      "t small: enum small\nc X = 255\nt s: struct s\n" },
    { "typedef int t; typedef int t; typedef t u; struct s { t t; u u; }; t f(t t, u);",
      "t t: t\nt u: u\nt s: struct s\nf f: t (t, u)\n" },
    { "typedef unsigned int size_t; size_t f(uint8_t a, bool b, FILE *c, va_list d);",
      "t size_t: size_t\nf f: size_t (uint8_t, bool, FILE *, va_list)\n" },
    { "complex double f(float complex z); __int128 wide(_Float128 q, unsigned __int128); _Float64x "
      "x; int complex;",
      "f f: double _Complex (float _Complex)\nf wide: __int128 (_Float128, unsigned __int128)\nv "
      "x: long double\n"
      "v complex: int\n" },
    /* the preprocessor */
    { "#define N 10\n#define M (N*2+1)\n#define PI 3.5 /* half */\n#define NAME \"ab\" "
      "\"\\x63\\n\"\nint a[M];",
      "c N = 10\nc M = 21\nc PI = 3.5\nc NAME = \"abc\n\"\nv a: int [21]\n" },
    { "#define BIG 0xffffffffffffffff\n#define MINUS -1\n#define NUL ((void *)0)\n#define DESTROY "
      "((void(*)(void*))-1)\n"
      "#define CH 'x'\n#define SZ sizeof(struct s)\nstruct s { int a[4]; };",
      "c BIG = 18446744073709551615u\nc MINUS = -1\nc NUL = pointer 0\nc DESTROY = pointer -1\nc "
      "CH = 120\nc SZ = 16\n"
      "t s: struct s\n" },
    { "#define ZEXPORT\n#define OF(args) args\n#define REAL double\n#define CAT(a, b) "
      "a##b\n#define STR(x) #x\n"
      "REAL ZEXPORT f OF((REAL x, int n)); int CAT(g, 2)(void); int h(void) asm(STR(real_h));",
      "f f: double (double, int)\nf g2: int (void)\nf h (real_h): int (void)\n" },
    { "#define LOG(f, ...) f(__VA_ARGS__)\n#define SELF SELF + 1\n#define A B\n#define B A\nint "
      "LOG(f, int, char); int A, SELF_;",
      "v B (A): int\nf f: int (int, char)\nv A: int\nv SELF_: int\n" },
    { "#ifndef H\n#define H\n#ifdef __cplusplus\nextern \"C\" {\n#endif\nint f(void);\n#ifdef "
      "__cplusplus\n}\n#endif\n#endif",
      "f f: int (void)\n" },
    { "#if defined(X) || !defined Y && __STDC_VERSION__ >= 199901L\nint a;\n#elif 1\nint "
      "b;\n#else\nint c;\n#endif\n"
      "#if 0\nint d; it's \"not C\n#if 1\n#else\n#endif\n#elif MISSING(1, 2) + OTHER\nint "
      "e;\n#else\nint g;\n#endif\n",
      "v a: int\nv g: int\n" },
    { "#define X 1\n#undef X\n#define X 2\n#include <stdio.h>\n#pragma once\n#line 7\n# 3 \"f.h\" "
      "2\n#\nint a[X];",
      "c X = 2\nv a: int [2]\n" },
    { "#define LO\\\nNG 1 + \\\n 2\nint lo\\\nng_name; /\\\n* gone *\\\n/ int b; // gone \\\n "
      "too\nint c;",
      "c LONG = 3\nv long_name: int\nv b: int\nv c: int\n" },
    { "#define open64 open\nint open(const char *, int);\n#define no\n#define self self\nint self;",
      "f open64 (open): int (const char *, int)\nf open: int (const char *, int)\nv self: int\n" },
    { "#define EACH(T) T b_##T(void); T a_##T(void);\nEACH(int) EACH(double)",
      "f b_int: int (void)\nf a_int: int (void)\nf b_double: double (void)\nf a_double: double "
      "(void)\n" },
    { "#define F(x, ...) int x(char, ## __VA_ARGS__)\n#define G(x, ...) , ## __VA_ARGS__ ## "
      "x\nF(f); F(g, int);\n"
      "#define P(a, b, c) a ## b ## c\nint P(x,,) P(,,) P(,,;) int P(,y,z);\nint v G();",
      "f f: int (char)\nf g: int (char, int)\nv x: int\nv yz: int\nv v: int\n" },
    { "#define F(a, b) a ## b\n#define LESS F(1)\n#define BAD F(+, -)\n#define OPEN F(1,\n#define "
      "TEXT L\"w\"\n"
      "#define ATTR __attribute__((x\n#define DIV 1/0\n#define GOOD F(1, 2)\n#define STOP 'ab\nint "
      "v;",
      "c GOOD = 12\nv v: int\n" },
    { "", "" },
    { "/* nothing */ ; // at all", "" },
};

static void check_cases(void)
{
    Buf got;
    buf_init(&got, &ctx);
    for (size_t i = 0; i < COUNT(cases); i++) {
        fresh();
        const CUnit *u = parse_good(cases[i].text);
        buf_clear(&got);
        for (uint32_t k = 0; k < u->count; k++)
            put_decl(&got, &u->decls[k]);
        check_text("declares", cases[i].text, buf_cstr(&got), cases[i].wanted);
    }
    buf_free(&got);
}

/* ---- types as text ---- */

static const char *const type_texts[] = {
    "int",
    "unsigned long",
    "long double _Complex",
    "void *",
    "const char *",
    "char *const",
    "char *const *",
    "int *[3]",
    "int (*)[3]",
    "int (*)(void)",
    "int (*[4])(int, ...)",
    "void (*(*)(int, void (*)(int)))(int)",
    "double [2][3]",
    "double (*(*)[2])[3]",
    "const volatile int *volatile *const",
    "struct mixed",
    "const struct mixed *",
    "union either",
    "enum hue *",
    "size_t",
    "uint8_t *",
    "FILE *",
    "int ()",
    "double (double, double)",
    "char *(*)(const char *, int)",
    "struct chain *[2]",
    "int (*(*)(double))(int)",
    "_Float16 *",
    "__bf16 *",
    "_Bool",
    "struct { int a; double *b[2]; }",
    "union { struct { char c; int (*f)(void); }; float g; } *",
};

static void check_type_texts(void)
{
    Buf b;
    buf_init(&b, &ctx);
    fresh();
    parse_good(records_text);
    for (size_t i = 0; i < COUNT(type_texts); i++) {
        const CType *t = type_of(type_texts[i]);
        buf_clear(&b);
        ctype_text(&b, t);
        check_text("type", type_texts[i], buf_cstr(&b), type_texts[i]);
        CHECK(ctype_same(t, type_of(buf_cstr(&b))));
        for (size_t k = 0; k < i; k++)
            if (!CHECK(!ctype_same(t, type_of(type_texts[k])) || strpbrk(type_texts[k], "cs")))
                fprintf(stderr, "    %s, %s\n", type_texts[i], type_texts[k]);
    }
    buf_free(&b);
    CHECK(ctype_same(type_of("const char *"), type_of("char *")));
    CHECK(ctype_same(type_of("enum hue"), type_of("unsigned")));
    CHECK(ctype_same(type_of("int(int)"), type_of("int()")));
    CHECK(!ctype_same(type_of("int(int)"), type_of("int(long)")));
    CHECK(!ctype_same(type_of("char"), type_of("signed char")));
    CHECK(!ctype_same(type_of("_Float16"), type_of("__bf16")));
    CHECK(!ctype_same(type_of("struct mixed"), type_of("struct chain")));
    CHECK(ctype_basic("int") == type_of("signed int") && !ctype_basic("integer"));
}

/* ---- several blocks ---- */

static void check_scopes(void)
{
    fresh();
    parse_good("typedef struct v2 { double x, y; } v2; enum { N = 3 };\n#define M 4\n"
               "struct later; struct later *make(void);");
    const CType *old = type_of("v2");
    parse_good("double f(v2 a, struct v2 b[N]); struct v2 { double x, y; };");
    CHECK(type_of("struct v2")->record == old->record);
    CHECK(ctype_size(type_of("struct later")) == 0);
    const char *broken =
        "struct later { int a; }; typedef long v2; struct w { int q; };\n#undef M\nint x = ";
    CHECK(!parse(broken, strlen(broken)));
    drop_error();
    CHECK(ctype_size(type_of("struct later")) == 0 && type_of("v2")->record == old->record);
    CHECK_RAISES(&ctx, ERR_FFI, cdecl_type(scope, "struct w", 8));
    drop_error();
    parse_good("struct later { int a[N]; };");
    CHECK(ctype_size(type_of("struct later")) == 12);
    parse_good("struct v2 { float x, y, z; }; enum { N = 5 }; int later(struct later *);");
    CHECK(ctype_size(type_of("struct v2")) == 12 && ctype_size(type_of("v2")) == 16);
    CHECK(ctype_size(type_of("int[N]")) == 20 && ctype_size(type_of("char[M]")) == 4);
    CHECK(!ctype_same(type_of("struct v2"), old));
    CHECK(type_of("double[3]") == type_of("double[3]"));
    const CDecl *d = cdecl_one(scope, "double g(double x[n], size_t n);", 32);
    CHECK(d->kind == CD_FUNCTION && strcmp(d->name, "g") == 0 && d->type->params[0].length);
    CHECK_RAISES(&ctx, ERR_FFI, cdecl_one(scope, "int a, b;", 9));
    drop_error();
    CHECK_RAISES(&ctx, ERR_FFI, cdecl_type(scope, "int x", 5));
    drop_error();
}

/* ---- errors: the place between « and », what is said, and the way out ---- */

typedef struct Wrong { const char *text, *message, *help; } Wrong;

static const Wrong wrongs[] = {
#include "tests/unit/cdecl_errors.def"
};

/* The text without its marks, and what stood between them. */
static Span unmark(const char *text, char *out)
{
    Span at = { 0 };
    uint32_t n = 0;
    for (const char *s = text; *s;) {
        if (strncmp(s, "«", 2) == 0)
            at.from = n, s += 2;
        else if (strncmp(s, "»", 2) == 0)
            at.to = n, s += 2;
        else
            out[n++] = *s++;
    }
    out[n] = '\0';
    return at;
}

static void check_errors(void)
{
    for (size_t i = 0; i < COUNT(wrongs); i++) {
        char text[2000];
        Span at = unmark(wrongs[i].text, text);
        fresh();
        if (parse(text, strlen(text))) {
            fail("an error", text, "none");
            continue;
        }
        const Error *e = ctx.error;
        CHECK(e->kind == ERR_SYNTAX);
        check_text("message", text, e->message, wrongs[i].message);
        check_text("help", text, e->help ? e->help : "", wrongs[i].help ? wrongs[i].help : "");
        if (!CHECK(e->where.span.from == at.from && e->where.span.to == at.to))
            fprintf(stderr, "    %s: %u..%u\n", wrongs[i].text, e->where.span.from,
                    e->where.span.to);
        drop_error();
    }
}

/* ---- texts that no header writes ---- */

/* Good or wrong, but it ends, and an error leaves the scope as it was. */
static const CUnit *try_text(const char *text, size_t len)
{
    const CUnit *u = parse(text, len);
    if (!u) {
        Buf b;
        buf_init(&b, &ctx);
        err_render(&b, ctx.error);
        CHECK(ctx.error->kind == ERR_SYNTAX && b.len > 0);
        buf_free(&b);
        drop_error();
    }
    return u;
}

static void repeat(const char *head, const char *piece, size_t times, const char *tail)
{
    Buf b;
    buf_init(&b, &ctx);
    buf_puts(&b, head);
    for (size_t i = 0; i < times; i++)
        buf_puts(&b, piece);
    buf_puts(&b, tail);
    fresh();
    try_text(b.data, b.len);
    buf_free(&b);
}

static void check_deep(void)
{
    static const char *const pieces[] = {
        "(",
        "*",
        "[",
        "{",
        "[3]",
        "(*",
        "int (*)(",
        "struct {",
        "sizeof(",
        "-",
        "1+",
        "1?",
        "1?1:",
        "a##",
        "((int)",
        "struct s { union {",
        "enum { A = (",
        "_Atomic(",
        "typeof(",
        "__attribute__((",
        "f(int (*",
        "\\\n",
        "/*",
        "\"",
        "'",
        "const ",
        "extern \"C\" {",
        "#if 1\n",
        "#define A A A\n",
        "#pragma pack(push,1)\n",
        "[n*",
        "int x, ",
        "a ",
        "long ",
    };
    for (size_t i = 0; i < COUNT(pieces); i++) {
        repeat("", pieces[i], 2000, "");
        repeat("int x", pieces[i], 2000, "");
        repeat("int x = ", pieces[i], 2000, ";");
        repeat("#define X ", pieces[i], 2000, "\nint y[X];");
        repeat("#if ", pieces[i], 2000, "\n#endif");
        repeat("struct s { int x", pieces[i], 2000, "");
        repeat("void f(int n, double x[", pieces[i], 2000, "n]);");
        repeat("typedef int (*t)(", pieces[i], 2000, ");");
    }
}

/* Each line doubles or nests what the one before it made. */
static void ladder(const char *head, const char *step, int times, const char *tail)
{
    Buf b;
    buf_init(&b, &ctx);
    buf_puts(&b, head);
    for (int i = 0; i < times; i++)
        for (const char *s = step; *s; s++) {
            if (*s == '%')
                buf_printf(&b, "%d", i);
            else if (*s == '@')
                buf_printf(&b, "%d", i + 1);
            else
                buf_putc(&b, *s);
        }
    buf_puts(&b, tail);
    fresh();
    const CUnit *u = try_text(b.data, b.len), *v = try_text(b.data, b.len);
    for (uint32_t i = 0; u && v && i < u->count && i < v->count; i++)
        if (u->decls[i].type && v->decls[i].type && i + 3 > u->count)
            ctype_same(u->decls[i].type, v->decls[i].type);
    buf_free(&b);
}

/* A large argument, many times in the body. */
static void check_wide_macro(void)
{
    Buf b;
    buf_init(&b, &ctx);
    buf_puts(&b, "#define M(x) ");
    for (int i = 0; i < 20000; i++)
        buf_puts(&b, "x ");
    buf_puts(&b, "\nM(");
    for (int i = 0; i < 20000; i++)
        buf_puts(&b, "y ");
    buf_puts(&b, ")");
    fresh();
    CHECK(!try_text(b.data, b.len));
    buf_free(&b);
}

static void check_ladders(void)
{
    check_wide_macro();
    ladder("typedef int t0;", "typedef t% *t@;", 5000, "");
    ladder("typedef int t0;", "typedef t% t@[2];", 5000, "");
    ladder("typedef int t0;", "typedef t% (*t@)(t%, t%);", 5000, "");
    ladder("struct s0 { int x; };", "struct s@ { struct s% a, b; };", 5000, "");
    ladder("struct s0 { int x; };", "struct s@ { struct s% *a, *b; };", 5000, "");
    ladder("struct s0 { int x; };", "struct s@ { struct s% a; union { struct s% b; int x%; }; };",
           100, "");
    ladder("typedef int *t0;", "typedef struct { t% p; } *t@;", 5000, "");
    ladder("typedef int *t0;", "typedef struct { t% p, q; } *t@;", 100, "int f(t100);");
    ladder("struct s0 { int x; };", "struct s@ { struct s% a, b; };", 50, "");
    ladder("struct s0 { int x; };", "struct s@ { struct { struct s% a; } *a, *b; };", 100, "");
    ladder("#define a0 x\n", "#define a@ a% a%\n", 60, "int a60;");
    ladder("#define a0(x) x x\n", "#define a@(x) a%(a%(x))\n", 30, "int a30(y);");
    ladder("enum { e0 = 1,", "e@ = e% + e%,", 200, "};");
    ladder("", "int f%(int n, double x[n]);", 3000, "");
    ladder("void f(", "int a%, double b%[a%],", 2000, "int z);");
    ladder("void f(", "int a%, double b%[a%],", 400, "int z);");
    ladder("struct s {", "int a%;", 2000, "};");
    ladder("", "#define M% % + 1\n", 3000, "");
}

static const char *pick_text(void)
{
    size_t i = check_random() % (COUNT(cases) + COUNT(wrongs) + 1);
    return i < COUNT(cases)                   ? cases[i].text
           : i < COUNT(cases) + COUNT(wrongs) ? wrongs[i - COUNT(cases)].text
                                              : records_text;
}

/* Pieces of good texts cut and glued, with bytes changed. */
static void mutate(Buf *b)
{
    static const char *const words[] = {
        "struct", "(", ")", "[", "]", "{", "}", "*", ";", ",", "int ", "typedef ", "#define ",
        "\n", "\\\n", "##", "...", "sizeof", "0x", "\"", "'", "/*", "*/", "//", "?", ":",
        "#if ", "#endif\n", "enum ", "n", "-1", "9223372036854775807", "__attribute__((",
        "aligned", "(char)", "union ", "double ", "\0", "\xff", "1e", "%", "/", "<<", "const ",
        "void",
    };
    buf_clear(b);
    for (uint64_t k = 1 + check_random() % 3; k > 0; k--) {
        const char *text = pick_text();
        size_t len = strlen(text), from = check_random() % (len + 1),
               to = from + check_random() % (len - from + 1);
        if (check_random() % 2)
            from = 0, to = len;
        buf_put(b, text + from, to - from);
    }
    for (uint64_t k = check_random() % 6; k > 0 && b->len > 0; k--) {
        size_t at = check_random() % b->len;
        const char *word = words[check_random() % COUNT(words)];
        size_t n = *word ? strlen(word) : 1;
        if (check_random() % 3 == 0)
            b->data[at] = (char)check_random();
        else if (at + n <= b->len)
            memcpy(b->data + at, word, n);
    }
}

static void try_type(const char *text, size_t len)
{
    ErrFrame frame;
    if (ERR_TRY(&ctx, &frame)) {
        const CType *t = cdecl_type(scope, text, len);
        CHECK(t == cdecl_type(scope, text, len));
        ERR_END(&ctx, &frame);
    } else {
        CHECK(ctx.error->kind == ERR_FFI);
        drop_error();
    }
}

static void check_mutations(int count)
{
    Buf b;
    buf_init(&b, &ctx);
    for (int i = 0; i < count; i++) {
        if (i % 8 == 0)
            fresh();
        mutate(&b);
        try_text(b.data ? b.data : "", b.len);
        try_type(b.data ? b.data : "", b.len < 40 ? b.len : 40);
    }
    buf_free(&b);
}

/* Memory that runs out at any point leaves nothing behind, and the scope can still be used. */
static void check_memory(void)
{
    fresh();
    for (spare = 1; spare < 60000; spare += 997)
        if (!parse(records_text, strlen(records_text))) {
            CHECK(ctx.error->kind == ERR_MEMORY);
            drop_error();
        }
    spare = 0;
    for (size_t more = 1; more < 60000; more += 997) {
        ErrFrame frame;
        ctx.mem.limit = ctx.mem.live + more;
        if (ERR_TRY(&ctx, &frame)) {
            cscope_free(cscope_new(&ctx));
            ERR_END(&ctx, &frame);
        } else {
            CHECK(ctx.error->kind == ERR_MEMORY);
            drop_error();
        }
    }
    ctx.mem.limit = (size_t)8 << 30;
    CHECK(parse_good(records_text)->count > 30);
}

int main(int argc, char **argv)
{
    mem_init(&ctx);
    ctx.mem.limit = (size_t)8 << 30;
    ctx.interrupt = &interrupt;
    check_layout();
    check_pack();
    check_constants();
    check_cases();
    check_type_texts();
    check_scopes();
    check_errors();
    check_deep();
    check_ladders();
    check_memory();
    check_mutations(argc > 1 ? atoi(argv[1]) : 4000);
    cscope_free(scope);
    CHECK(ctx.mem.live == 0);
    mem_shutdown(&ctx);
    return check_result();
}
