/* Types as declarations write them: specifiers in any order, declarators inside out, parameter
 * lists with their lengths, attributes. Structs, unions and enums are in cdecl_record.c. */
#include "parser/cdecl/cdecl_parts.h"

#include <stdio.h>
#include <string.h>

enum { CD_PARAMS = 1000 };

CType *cd_type_copy(CParser *p, const CType *t)
{
    CType *copy = arena_alloc(p->arena, sizeof *copy);
    *copy = *t;
    copy->abi = NULL;
    return copy;
}

static const CType *qualify(CParser *p, const CType *t, bool is_const, bool is_volatile)
{
    if ((t->is_const || !is_const) && (t->is_volatile || !is_volatile))
        return t;
    CType *copy = cd_type_copy(p, t);
    copy->is_const |= is_const;
    copy->is_volatile |= is_volatile;
    if (t->kind == CK_ARRAY)
        copy->of = qualify(p, t->of, is_const, is_volatile);
    return copy;
}

/* ---- attributes ---- */

static bool same_word(const char *a, const char *b)
{
    size_t n = strlen(b);
    if (strncmp(a, "__", 2) == 0 && strlen(a) == n + 4 && strcmp(a + 2 + n, "__") == 0)
        return memcmp(a + 2, b, n) == 0;
    return strcmp(a, b) == 0;
}

static int mode_bytes(const char *mode)
{
    static const struct { const char *name; int bytes; } all[] = {
        { "QI", 1 },   { "byte", 1 },    { "HI", 2 }, { "SI", 4 }, { "DI", 8 },
        { "word", 8 }, { "pointer", 8 }, { "SF", 4 }, { "DF", 8 },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (same_word(mode, all[i].name))
            return all[i].bytes;
    return 0;
}

static uint32_t alignment(CParser *p, int64_t n, Span at)
{
    if (n < 0 || n > 1 << 28 || (n & (n - 1)))
        cd_error(p, at, NULL, "an alignment is a power of 2");
    return (uint32_t)n;
}

static void one_attribute(CParser *p, Attributes *a)
{
    const Tok *t = cd_next(p);
    const char *s = t->name->text;
    if (same_word(s, "packed")) {
        a->packed = true;
    } else if (same_word(s, "aligned")) {
        a->align = 16;
        if (cd_accept(p, '(')) {
            Span at = cd_peek(p)->at;
            a->align = alignment(p, cd_integer(p, "an alignment"), at);
            cd_expect(p, ')', "after the alignment");
        }
    } else if (same_word(s, "mode") && cd_is(p, '(')) {
        a->mode = mode_bytes(cd_ahead(p, 1)->name->text);
    } else if (same_word(s, "vector_size") || same_word(s, "ext_vector_type")) {
        cd_error(p, t->at, NULL, "vector types cannot be passed to a function here");
    }
    if (cd_is(p, '('))
        cd_skip_brackets(p);
}

static void gnu_attributes(CParser *p, Attributes *a)
{
    cd_next(p);
    cd_expect(p, '(', "after __attribute__");
    cd_expect(p, '(', "after __attribute__(");
    while (!cd_is(p, ')') && cd_peek(p)->kind != TK_END)
        if (!cd_accept(p, ','))
            one_attribute(p, a);
    cd_expect(p, ')', "after the attributes");
    cd_expect(p, ')', "after the attributes");
}

static void symbol_name(CParser *p, Attributes *a)
{
    cd_next(p);
    cd_expect(p, '(', "after asm");
    buf_clear(&p->piece);
    while (cd_peek(p)->kind == TK_TEXT)
        if (!cd_text_decode(cd_next(p), &p->piece))
            cd_unexpected(p, "the name in the library in quotes");
    if (p->piece.len == 0)
        cd_unexpected(p, "the name in the library in quotes");
    a->symbol = arena_copy(p->arena, p->piece.data, p->piece.len);
    cd_expect(p, ')', "after the name in the library");
}

static void align_as(CParser *p, Attributes *a)
{
    cd_next(p);
    cd_expect(p, '(', "after _Alignas");
    Span at = cd_peek(p)->at;
    int64_t n = cd_type_starts(p, cd_peek(p)) ? ctype_align(cd_type_name(p))
                                              : cd_integer(p, "an alignment");
    uint32_t align = alignment(p, n, at);
    if (align > a->align)
        a->align = align;
    cd_expect(p, ')', "after the alignment");
}

static bool is_one_of(const Tok *t, const char *const *words, size_t count)
{
    for (size_t i = 0; t->kind == TK_NAME && i < count; i++)
        if (strcmp(t->name->text, words[i]) == 0)
            return true;
    return false;
}
#define WORD_LIST(...) (const char *const[]){ __VA_ARGS__ }
#define ONE_OF(t, ...) \
    is_one_of(t, WORD_LIST(__VA_ARGS__), sizeof WORD_LIST(__VA_ARGS__) / sizeof(char *))

void cd_attributes(CParser *p, Attributes *a)
{
    for (;;) {
        const Tok *t = cd_peek(p);
        if (ONE_OF(t, "__attribute__", "__attribute"))
            gnu_attributes(p, a);
        else if (ONE_OF(t, "asm", "__asm__", "__asm"))
            symbol_name(p, a);
        else if (ONE_OF(t, "_Alignas", "alignas"))
            align_as(p, a);
        else if (ONE_OF(t, "__cdecl", "__stdcall", "__fastcall", "__vectorcall", "_Nonnull",
                        "_Nullable", "__extension__", "_Noreturn", "noreturn", "__noreturn"))
            cd_next(p);
        else if (ONE_OF(t, "__declspec", "_Pragma", "__pragma"))
            cd_next(p), cd_skip_brackets(p);
        else if (cd_is(p, '[') && cd_ahead(p, 1)->kind == TK_PUNCT && cd_ahead(p, 1)->punct == '[')
            cd_skip_brackets(p);
        else
            return;
    }
}

const CType *cd_moded(const CType *t, const Attributes *a)
{
    if (a->mode && t->kind == CK_INT)
        return ctype_int(a->mode, t->is_unsigned);
    if (a->mode && t->kind == CK_FLOAT)
        return ctype_basic(a->mode == 4 ? "float" : "double");
    return t;
}

const CType *cd_with_attributes(CParser *p, const CType *t, const Attributes *a)
{
    t = cd_moded(t, a);
    if (!a->align || t->kind == CK_FUNCTION || t->kind == CK_VOID)
        return t;
    CType *copy = cd_type_copy(p, t);
    copy->align = a->align;
    return copy;
}

/* ---- specifiers ---- */

typedef enum Word {
    W_VOID, W_CHAR, W_SHORT, W_INT, W_LONG, W_FLOAT, W_DOUBLE, W_SIGNED, W_UNSIGNED, W_BOOL,
    W_COMPLEX, W_HALF, W_BF16, W_QUAD, W_INT128, WORDS
} Word;

static const struct { const char *text; uint8_t word, other; } type_words[] = {
    { "void", W_VOID, WORDS },         { "char", W_CHAR, WORDS },
    { "short", W_SHORT, WORDS },       { "int", W_INT, WORDS },
    { "long", W_LONG, WORDS },         { "float", W_FLOAT, WORDS },
    { "double", W_DOUBLE, WORDS },     { "signed", W_SIGNED, WORDS },
    { "__signed__", W_SIGNED, WORDS }, { "__signed", W_SIGNED, WORDS },
    { "unsigned", W_UNSIGNED, WORDS }, { "_Bool", W_BOOL, WORDS },
    { "_Complex", W_COMPLEX, WORDS },  { "__complex__", W_COMPLEX, WORDS },
    { "_Float16", W_HALF, WORDS },     { "__fp16", W_HALF, WORDS },
    { "__bf16", W_BF16, WORDS },       { "_Float32", W_FLOAT, WORDS },
    { "_Float64", W_DOUBLE, WORDS },   { "_Float32x", W_DOUBLE, WORDS },
    { "_Float64x", W_DOUBLE, W_LONG }, { "_Float128", W_QUAD, WORDS },
    { "__float128", W_QUAD, WORDS },   { "__int128", W_INT128, WORDS },
    { "__int128_t", W_INT128, WORDS }, { "__uint128_t", W_INT128, W_UNSIGNED },
};

enum { COMPLEX_ROW = 12 };                        /* its row */

static int type_word(const Tok *t)
{
    for (size_t i = 0; t->kind == TK_NAME && i < sizeof type_words / sizeof *type_words; i++)
        if (strcmp(t->name->text, type_words[i].text) == 0)
            return (int)i;
    return -1;
}

typedef struct Words {
    uint8_t count[WORDS];
    int total;
} Words;

/* <complex.h> makes a macro of `complex`: a word beside float or double, and else a name. */
static bool complex_word(const CParser *p, const Tok *t, const Words *before)
{
    if (t->kind != TK_NAME || strcmp(t->name->text, "complex") != 0)
        return false;
    int next = before->total ? -1 : type_word(cd_ahead(p, 1));
    if (next >= 0)
        return type_words[next].word == W_FLOAT || type_words[next].word == W_DOUBLE ||
               type_words[next].word == W_LONG;
    return before->count[W_FLOAT] || before->count[W_DOUBLE];
}

/* The one spelling of each arithmetic type. NULL: words that do not go together. */
static const CType *words_type(const Words *w)
{
    const uint8_t *n = w->count;
    bool is_unsigned = n[W_UNSIGNED];
    int left = w->total - n[W_SIGNED] - n[W_UNSIGNED];
    if (n[W_SIGNED] + n[W_UNSIGNED] > 1)
        return NULL;
    if (left == w->total) {                      /* types without a sign */
        int real = w->total - n[W_COMPLEX];
        const char *z = n[W_COMPLEX] ? " _Complex" : "";
        char name[32];
        if (n[W_COMPLEX] <= 1 && real == 1 && n[W_FLOAT])
            return snprintf(name, sizeof name, "float%s", z), ctype_basic(name);
        if (n[W_COMPLEX] <= 1 && n[W_DOUBLE] == 1 && real == 1 + n[W_LONG] && n[W_LONG] <= 1)
            return snprintf(name, sizeof name, "%sdouble%s", n[W_LONG] ? "long " : "", z),
                   ctype_basic(name);
        if (n[W_COMPLEX] == 1 && real == 0)
            return ctype_basic("double _Complex");
        if (n[W_QUAD] && real == 1)
            return ctype_known(*z ? "_Float128 _Complex" : "_Float128", *z ? 18 : 9);
        if (w->total == 1 && (n[W_VOID] || n[W_BOOL] || n[W_HALF] || n[W_BF16] || n[W_CHAR]))
            return ctype_basic(n[W_VOID] ? "void" : n[W_BOOL] ? "_Bool" : n[W_HALF] ? "_Float16" :
                               n[W_BF16] ? "__bf16" : "char");
    }
    if (n[W_INT128] && left == 1)
        return ctype_known(is_unsigned ? "unsigned __int128" : "__int128", is_unsigned ? 17 : 8);
    if (n[W_CHAR] && left == 1)
        return ctype_basic(is_unsigned ? "unsigned char" : "signed char");
    if (left != n[W_INT] + n[W_SHORT] + n[W_LONG] || n[W_INT] > 1 || n[W_SHORT] > 1 ||
        n[W_LONG] > 2 || (n[W_SHORT] && n[W_LONG]))
        return NULL;
    if (n[W_LONG] == 2)
        return ctype_basic(is_unsigned ? "unsigned long long" : "long long");
    return ctype_basic(n[W_SHORT] ? is_unsigned ? "unsigned short" : "short"
                       : n[W_LONG] ? is_unsigned ? "unsigned long" : "long"
                                   : is_unsigned ? "unsigned int" : "int");
}

static const CType *named_type(const CParser *p, const Tok *t)
{
    if (t->kind != TK_NAME)
        return NULL;
    const Symbol *s =
        t->name->id < p->scope->slot_count ? p->scope->slots[t->name->id].symbol : NULL;
    if (s)
        return s->kind == SY_TYPE ? s->type : NULL;
    return ctype_known(t->name->text, t->name->len);
}

#define QUALIFIERS "const", "__const", "__const__", "volatile", "__volatile__", "__volatile", \
    "restrict", "__restrict", "__restrict__", "_Atomic"
#define STORAGE "typedef", "extern", "static", "auto", "register", "inline", "__inline", \
    "__inline__", "_Thread_local", "thread_local", "__thread", "constexpr"
#define ATTRIBUTES "__attribute__", "__attribute", "__extension__", "_Noreturn", "noreturn", \
    "_Alignas", "alignas", "__declspec"
#define TAGS "struct", "union", "enum"
#define TYPEOF "typeof", "__typeof__", "__typeof", "typeof_unqual"

bool cd_keyword(const Name *name)
{
    Tok t = { .kind = TK_NAME, .name = name };
    if (ONE_OF(&t, QUALIFIERS, STORAGE, TAGS, "_Noreturn", "_Alignas", "__attribute__",
               "__extension__", "sizeof", "_Static_assert", "if", "else", "for", "while", "do",
               "return", "switch", "case", "goto", "break", "continue", "default"))
        return true;
    for (size_t i = 0; i < sizeof type_words / sizeof *type_words; i++)
        if (strcmp(name->text, type_words[i].text) == 0)
            return true;
    return false;
}

bool cd_type_starts(const CParser *p, const Tok *t)
{
    return t->kind == TK_NAME &&
           (type_word(t) >= 0 || complex_word(p, t, &(Words){ 0 }) || named_type(p, t) ||
            ONE_OF(t, QUALIFIERS, STORAGE, TAGS, TYPEOF, ATTRIBUTES));
}

static void type_of(CParser *p, Specifiers *s)
{
    cd_next(p);
    cd_expect(p, '(', "after typeof");
    if (!cd_type_starts(p, cd_peek(p)))
        cd_unexpected(p, "a type");
    s->type = cd_type_name(p);
    cd_expect(p, ')', "after the type");
}

/* One that is no type: true if it was. */
static bool storage(CParser *p, Specifiers *s)
{
    const Tok *t = cd_peek(p);
    if (!ONE_OF(t, STORAGE))
        return false;
    s->is_typedef |= ONE_OF(t, "typedef");
    s->is_static |= ONE_OF(t, "static", "constexpr");
    s->is_inline |= ONE_OF(t, "inline", "__inline", "__inline__");
    cd_next(p);
    return true;
}

typedef struct Reading {
    Words words;
    bool is_const, is_volatile, atomic;
} Reading;

static bool qualifier(CParser *p, Specifiers *s, Reading *r)
{
    const Tok *t = cd_peek(p);
    if (!ONE_OF(t, QUALIFIERS))
        return false;
    cd_next(p);
    r->is_const |= ONE_OF(t, "const", "__const", "__const__");
    r->is_volatile |= ONE_OF(t, "volatile", "__volatile__", "__volatile");
    if (ONE_OF(t, "_Atomic") && cd_accept(p, '(')) {
        s->type = cd_type_name(p);
        cd_expect(p, ')', "after the type");
    }
    return true;
}

static void two_types(CParser *p, const Tok *t)
{
    cd_error(p, t->at, NULL, "two types in one declaration: a name or a ; is missing before %s",
             t->name->text);
}

/* One token or more that name the type; false: the type is over. */
static bool type_specifier(CParser *p, Specifiers *s, Reading *r)
{
    const Tok *t = cd_peek(p);
    if (t->kind != TK_NAME)
        return false;
    int word = type_word(t);
    bool none = !s->type && r->words.total == 0;
    if (word < 0 && !s->type && complex_word(p, t, &r->words))
        word = COMPLEX_ROW;
    const CType *named = none ? named_type(p, t) : NULL;
    if (word < 0 && !named && !ONE_OF(t, TAGS, TYPEOF))
        return false;
    if (none)
        s->at = t->at;
    if (word >= 0) {
        if (s->type)
            two_types(p, t);
        r->words.count[type_words[word].word]++;
        r->words.total++;
        if (type_words[word].other != WORDS)
            r->words.count[type_words[word].other]++, r->words.total++;
        if (r->words.total > 5)
            two_types(p, t);
        s->at.to = t->at.to;
        cd_next(p);
        return true;
    }
    if (!none)
        two_types(p, t);
    if (ONE_OF(t, TYPEOF)) {
        type_of(p, s);
    } else if (named) {
        s->type = named;
        cd_next(p);
    } else {
        cd_next(p);
        s->defines = true;
        s->type = t->name->text[0] == 'e' ? cd_enum(p) : cd_record(p, t->name->text[0] == 'u');
    }
    return true;
}

void cd_specifiers(CParser *p, Specifiers *s)
{
    *s = (Specifiers){ .at = cd_peek(p)->at };
    Reading r = { 0 };
    Span start = cd_peek(p)->at;
    uint32_t before;
    cd_enter(p, start);
    do {
        before = p->at;
        cd_attributes(p, &s->attributes);
        if (!storage(p, s) && !qualifier(p, s, &r))
            type_specifier(p, s, &r);
    } while (p->at > before);
    if (!s->type && r.words.total == 0) {
        const Tok *t = cd_peek(p);
        if (t->kind == TK_NAME && !cd_keyword(t->name))
            cd_unknown_type(p, t);
        cd_unexpected(p, "a type");
    }
    if (!s->type)
        s->type = words_type(&r.words);
    if (!s->type) {
        uint32_t len = s->at.to - s->at.from;
        cd_error(p, s->at, NULL, "%.*s is no type of C", (int)(len > 60 ? 60 : len),
                 s->at.from >= start.from ? p->text + s->at.from : "this");
    }
    s->type = qualify(p, s->type, r.is_const, r.is_volatile);
    cd_leave(p);
}

/* ---- declarators ---- */

typedef enum DerivKind { DERIV_POINTER, DERIV_ARRAY, DERIV_FUNCTION } DerivKind;

/* One step from the name outwards. */
typedef struct Deriv {
    struct Deriv *prev, *next;
    DerivKind kind;
    bool is_const, is_volatile;
    bool sized;                  /* an array's length was given */
    bool star;                   /* it is [*]: some length */
    Val length;
    CParam *params;
    uint32_t param_count;
    bool variadic, unprototyped;
    Span at;
} Deriv;

typedef struct Chain {
    Deriv *first, *last;
    int count;
} Chain;

static Deriv *chain_add(CParser *p, Chain *c, DerivKind kind, Span at)
{
    if (++c->count > CD_TYPE_DEPTH)
        cd_error(p, at, NULL, "a declarator of more than %d parts", CD_TYPE_DEPTH);
    Deriv *d = arena_alloc(&p->tmp, sizeof *d);
    *d = (Deriv){ .kind = kind, .at = at, .prev = c->last };
    if (c->last)
        c->last->next = d;
    else
        c->first = d;
    c->last = d;
    return d;
}

static void read_qualifiers(CParser *p, Deriv *d, Attributes *a)
{
    uint32_t before;
    do {
        before = p->at;
        cd_attributes(p, a);
        const Tok *t = cd_peek(p);
        if (ONE_OF(t, QUALIFIERS)) {
            d->is_const |= ONE_OF(t, "const", "__const", "__const__");
            d->is_volatile |= ONE_OF(t, "volatile", "__volatile__", "__volatile");
            cd_next(p);
        }
    } while (p->at > before);
}

static void array_suffix(CParser *p, Chain *c)
{
    Deriv *d = chain_add(p, c, DERIV_ARRAY, cd_next(p)->at);
    Attributes none = { 0 };
    cd_take_word(p, "static");
    read_qualifiers(p, d, &none);
    cd_take_word(p, "static");
    d->star = cd_is(p, '*') && cd_ahead(p, 1)->kind == TK_PUNCT && cd_ahead(p, 1)->punct == ']';
    if (d->star) {
        cd_next(p);
    } else if (!cd_is(p, ']')) {
        d->length = cd_expression(p);
        d->sized = true;
        if (d->length.kind != VL_INT && d->length.kind != VL_PARAM)
            cd_error(p, d->length.at, NULL, "the length of an array is an integer");
        if (d->length.kind == VL_INT && d->length.i < 0)
            cd_error(p, d->length.at, NULL, "the length of an array is not %s",
                     d->length.type->is_unsigned ? "2^63 and more" : "negative");
    }
    d->at.to = cd_expect(p, ']', "after the length").to;
}

static uint32_t find_param(const ParamList *list, const Name *name)
{
    uint32_t i = 0;
    while (i < list->count && list->names[i] != name)
        i++;
    return i;
}

static void check_length_param(CParser *p, const Pending *w, const CParam *param)
{
    if (!ctype_is_integer(param->type))
        cd_error(p, w->at, NULL, "%s, which this length needs, is %s and no integer", w->name->text,
                 cd_type_text(p, param->type));
}

/* The names in lengths become numbers of parameters; a function pointer inside the list of another
 * function may name its parameters, which no call of it can see. */
static void resolve_lengths(CParser *p, ParamList *list)
{
    bool outer = false;
    for (const Pending *w = list->pending; w; w = w->next) {
        uint32_t i = find_param(list, w->name);
        if (i < list->count) {
            check_length_param(p, w, &list->params[i]);
            w->expr->value = i;
            continue;
        }
        for (const ParamList *up = list->up; up; up = up->up)
            outer |= find_param(up, w->name) < up->count;
        if (outer)
            continue;
        const char **names = arena_alloc(&p->tmp, (list->count + 1) * sizeof *names);
        size_t count = 0;
        for (uint32_t k = 0; k < list->count; k++)
            if (list->names[k])
                names[count++] = list->names[k]->text;
        cd_error(p, w->at, err_closest(w->name->text, names, count),
                 "%s is neither a parameter of this function nor a constant", w->name->text);
    }
    for (uint32_t i = 0; outer && i < list->count; i++)
        list->params[i].length = list->params[i].needs = NULL;
}

static void list_add(CParser *p, ParamList *list, const Declarator *d)
{
    if (list->count == CD_PARAMS)
        cd_error(p, d->at, NULL, "more than %d parameters", CD_PARAMS);
    if (list->count == list->cap) {
        list->cap = list->cap ? list->cap * 2 : 8;
        list->names = cd_grown(p, list->names, sizeof *list->names, list->count, list->cap);
        list->params = cd_grown(p, list->params, sizeof *list->params, list->count, list->cap);
    }
    if (d->name && find_param(list, d->name) < list->count)
        cd_error(p, d->at, NULL, "two parameters are called %s", d->name->text);
    list->names[list->count] = d->name;
    list->params[list->count++] =
        (CParam){ d->name ? d->name->text : NULL, d->type, d->length, d->needs };
}

static void one_param(CParser *p, ParamList *list)
{
    Specifiers s;
    Declarator d;
    cd_specifiers(p, &s);
    cd_declarator(p, s.type, EITHER, true, &d);
    if (d.type->kind == CK_VOID)
        cd_error(p, s.at, NULL,
                 "void is no type of a parameter: (void) alone says that there are none");
    list_add(p, list, &d);
}

static _Noreturn void no_param_end(CParser *p, bool variadic)
{
    if (cd_is(p, '='))
        cd_error(p, cd_peek(p)->at, "a , or ) here", "C has no default arguments");
    cd_unexpected(p, variadic ? "a ) after ..." : "a , or ) after this parameter");
}

static void function_suffix(CParser *p, Chain *c)
{
    Span open = cd_next(p)->at;
    Deriv *d = chain_add(p, c, DERIV_FUNCTION, open);
    ParamList list = { .up = p->params };
    if (cd_accept(p, ')')) {
        d->unprototyped = true;
        return;
    }
    cd_enter(p, open);
    p->params = &list;
    const Tok *after = cd_ahead(p, 1);
    if (cd_word(p, "void") && after->kind == TK_PUNCT && after->punct == ')') {
        cd_next(p);
    } else {
        do {
            if (cd_accept(p, P3('.', '.', '.'))) {
                d->variadic = true;
                break;
            }
            one_param(p, &list);
        } while (cd_accept(p, ','));
    }
    if (!cd_is(p, ')'))
        no_param_end(p, d->variadic);
    d->at.to = cd_next(p)->at.to;
    p->params = list.up;
    cd_leave(p);
    resolve_lengths(p, &list);
    d->param_count = list.count;
    d->params = arena_alloc(p->arena, (list.count + 1) * sizeof *d->params);
    if (list.count)
        memcpy(d->params, list.params, list.count * sizeof *d->params);
}

static void read_declarator(CParser *p, Naming naming, Declarator *d, Chain *c);

static bool groups(const CParser *p, Naming naming)
{
    if (!cd_is(p, '('))
        return false;
    const Tok *t = cd_ahead(p, 1);
    if (naming == NAMED)
        return true;
    return !(t->kind == TK_PUNCT && (t->punct == ')' || t->punct == P3('.', '.', '.'))) &&
           (ONE_OF(t, "__attribute__", "__attribute", "__cdecl", "__stdcall") ||
            !cd_type_starts(p, t));
}

static void direct_declarator(CParser *p, Naming naming, Declarator *d, Chain *c)
{
    const Tok *t = cd_peek(p);
    if (groups(p, naming)) {
        cd_next(p);
        read_declarator(p, naming, d, c);
        cd_expect(p, ')', "to close this declarator");
    } else if (t->kind == TK_NAME && naming != UNNAMED && !cd_keyword(t->name)) {
        d->name = t->name;
        d->at = t->at;
        cd_next(p);
    } else {
        d->at = t->at;
        if (cd_is(p, '&') && !p->quiet)
            cd_error(p, t->at, "*, a pointer", "C has no references");
        if (naming == NAMED)
            cd_unexpected(p, "a name");
    }
    cd_attributes(p, &d->attributes);
    while (cd_is(p, '[') || cd_is(p, '(')) {
        if (cd_is(p, '['))
            array_suffix(p, c);
        else
            function_suffix(p, c);
    }
}

static void read_declarator(CParser *p, Naming naming, Declarator *d, Chain *c)
{
    cd_enter(p, cd_peek(p)->at);
    Chain stars = { 0 };
    cd_attributes(p, &d->attributes);
    while (cd_is(p, '*') || cd_is(p, '^'))
        read_qualifiers(p, chain_add(p, &stars, DERIV_POINTER, cd_next(p)->at), &d->attributes);
    direct_declarator(p, naming, d, c);
    for (const Deriv *s = stars.last; s; s = s->prev) {
        Deriv *star = chain_add(p, c, DERIV_POINTER, s->at);
        star->is_const = s->is_const;
        star->is_volatile = s->is_volatile;
    }
    cd_leave(p);
}

/* ---- from the steps to a type ---- */

/* Records with a tag are known by it: types that point to them nest no deeper. */
static uint8_t nested(CParser *p, const CType *t, Span at)
{
    bool by_tag = ctype_is_record(t) && t->record->tag;
    int depth = by_tag ? 1 : ctype_depth(t) + 1;
    if (depth > CD_TYPE_DEPTH)
        cd_error(p, at, NULL, "types inside each other more than %d deep", CD_TYPE_DEPTH);
    return (uint8_t)depth;
}

static const CType *pointer_to(CParser *p, const CType *of, const Deriv *d)
{
    CType *t = arena_alloc(p->arena, sizeof *t);
    *t = (CType){ .kind = CK_POINTER,
                  .size = sizeof(void *),
                  .align = sizeof(void *),
                  .of = of,
                  .is_const = d->is_const,
                  .is_volatile = d->is_volatile,
                  .depth = nested(p, of, d->at) };
    return t;
}

static void check_element(CParser *p, const CType *of, Span at)
{
    if (of->kind == CK_FUNCTION || of->kind == CK_VOID)
        cd_error(p, at, of->kind == CK_VOID ? "void *" : "pointers to them: (*name[…])(…)",
                 "an array of %s", of->kind == CK_VOID ? "void" : "functions");
    if (!ctype_complete(of) && !ctype_opaque(of))
        cd_error(p, at, NULL, "an array of %s, whose fields were not given", cd_type_text(p, of));
    if (of->kind == CK_ARRAY && of->count == 0)
        cd_error(p, at, NULL, "only the first length of an array may be left out");
}

static const CType *array_of(CParser *p, const CType *of, const Deriv *d, bool param)
{
    bool variable = d->sized && d->length.kind == VL_PARAM;
    if (variable && !param)
        cd_error(p, d->length.at, NULL, "the length of this array is no constant");
    /* an array inside whose length is a parameter's value is as good as any */
    if (!(param && of->kind == CK_ARRAY && of->count == 0))
        check_element(p, of, d->at);
    CType *t = arena_alloc(p->arena, sizeof *t);
    *t = (CType){ .kind = CK_ARRAY,
                  .of = of,
                  .align = ctype_align(of),
                  .depth = nested(p, of, d->at),
                  .is_const = of->is_const,
                  .is_volatile = of->is_volatile };
    if (ctype_is_record(of) && ctype_depth(of) >= t->depth)
        t->depth = (uint8_t)(ctype_depth(of) + 1);
    t->count = d->sized && !variable ? (size_t)d->length.i : 0;
    if (__builtin_mul_overflow(t->count, ctype_size(of), &t->size) || t->size > PTRDIFF_MAX)
        cd_error(p, d->sized ? d->length.at : d->at, NULL, "an array larger than memory");
    return t;
}

static const CType *function_of(CParser *p, const CType *result, const Deriv *d)
{
    if (result->kind == CK_FUNCTION || result->kind == CK_ARRAY)
        cd_error(p, d->at,
                 result->kind == CK_ARRAY ? cd_say(p, "%s *", cd_type_text(p, result->of))
                                          : "a pointer to it",
                 "a function does not return %s",
                 result->kind == CK_ARRAY ? "an array" : "a function");
    CType *t = arena_alloc(p->arena, sizeof *t);
    *t = (CType){ .kind = CK_FUNCTION,
                  .align = 1,
                  .of = result,
                  .params = d->params,
                  .param_count = d->param_count,
                  .variadic = d->variadic,
                  .unprototyped = d->unprototyped,
                  .depth = nested(p, result, d->at) };
    for (uint32_t i = 0; i < d->param_count; i++) {
        uint8_t depth = nested(p, d->params[i].type, d->at);
        t->depth = depth > t->depth ? depth : t->depth;
    }
    return t;
}

/* What an array parameter promises: as many elements as its first length says, and in all as many
 * of the innermost type as all lengths together say. */
static void param_lengths(CParser *p, const Chain *c, const CType *base, Declarator *d)
{
    const Deriv *a = c->first;
    if (!a->sized)
        return;
    const CExpr *length = cd_length_expr(p, &a->length), *needs = length;
    for (a = a->next; a && a->kind == DERIV_ARRAY; a = a->next) {
        if (!a->sized)
            return;
        needs = cd_expr_times(p, needs, cd_length_expr(p, &a->length));
    }
    for (const CType *t = a ? NULL : base; t && t->kind == CK_ARRAY; t = t->of) {
        Val count = { .kind = VL_INT, .i = (int64_t)t->count };
        needs = cd_expr_times(p, needs, cd_length_expr(p, &count));
    }
    d->length = length;
    d->needs = needs;
}

/* Parameters are never arrays or functions: pointers stand for them. */
static const CType *adjust_param(CParser *p, const CType *t, const Deriv *first, Declarator *d)
{
    Deriv plain = { .kind = DERIV_POINTER, .at = d->at };
    if (t->kind == CK_FUNCTION)
        return pointer_to(p, t, &plain);
    if (t->kind != CK_ARRAY || first)
        return t;
    Deriv whole = { .sized = t->count > 0, .length = { .kind = VL_INT, .i = (int64_t)t->count } };
    param_lengths(p, &(Chain){ .first = &whole }, t->of, d);
    return pointer_to(p, t->of, &plain);
}

void cd_declarator(CParser *p, const CType *base, Naming naming, bool param, Declarator *d)
{
    Chain c = { 0 };
    *d = (Declarator){ 0 };
    read_declarator(p, naming, d, &c);
    cd_attributes(p, &d->attributes);
    const CType *t = base;
    for (const Deriv *s = c.last; s; s = s->prev) {
        if (s->kind == DERIV_ARRAY && !s->sized && !s->star && s->prev &&
            s->prev->kind == DERIV_ARRAY)
            cd_error(p, s->at, NULL, "only the first length of an array may be left out");
        if (param && s == c.first && s->kind == DERIV_ARRAY) {
            if (!(t->kind == CK_ARRAY && t->count == 0))
                check_element(p, t, s->at);
            t = pointer_to(p, t, s);
            param_lengths(p, &c, base, d);
        } else {
            t = s->kind == DERIV_POINTER ? pointer_to(p, t, s) :
                s->kind == DERIV_ARRAY ? array_of(p, t, s, param) : function_of(p, t, s);
        }
    }
    if (param)
        t = adjust_param(p, t, c.first, d);
    d->function = c.first && c.first->kind == DERIV_FUNCTION;
    d->type = t;
}

const CType *cd_type_name(CParser *p)
{
    Specifiers s;
    Declarator d;
    cd_specifiers(p, &s);
    cd_declarator(p, s.type, UNNAMED, false, &d);
    return cd_with_attributes(p, d.type, &s.attributes);
}
