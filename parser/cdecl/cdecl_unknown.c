/* Errors about names that mean nothing in a C declaration: what the name may have been meant to be,
 * by spelling, by the language it comes from, or by what stands beside it. The parser calls them
 * when it has given up; nothing here changes anything. */
#include "parser/cdecl/cdecl_parts.h"

#include "core/system/ascii.h"

#include <string.h>

typedef struct NameList {
    const char **items;
    size_t count;
} NameList;

/* Room for every name of the scope and `more`. */
static NameList list_new(CParser *p, size_t more)
{
    return (NameList){ arena_alloc(&p->tmp, (p->scope->names.count + more) * sizeof(char *)), 0 };
}

static const Slot *slot_at(CParser *p, size_t i)
{
    static const Slot none;
    const Name *n = p->scope->names.table[i];
    return n && n->id < p->scope->slot_count ? &p->scope->slots[n->id] : &none;
}

static bool is_among(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, words[i]) == 0)
            return true;
    return false;
}

/* ---- types ---- */

static const char *const c_words[] = {
    "void",   "char",     "short", "int",      "long",   "float", "double",
    "signed", "unsigned", "const", "struct",   "union",  "enum",  "typedef",
    "extern", "static",   "_Bool", "volatile", "inline",
};

/* How other languages and libraries call what C has. */
static const struct { const char *name, *is; } foreign[] = {
    { "string", "const char *" }, { "byte", "uint8_t" },
    { "u8", "uint8_t" },          { "u16", "uint16_t" },
    { "u32", "uint32_t" },        { "u64", "uint64_t" },
    { "i8", "int8_t" },           { "i16", "int16_t" },
    { "i32", "int32_t" },         { "i64", "int64_t" },
    { "f32", "float" },           { "f64", "double" },
    { "uint8", "uint8_t" },       { "uint16", "uint16_t" },
    { "uint32", "uint32_t" },     { "uint64", "uint64_t" },
    { "int8", "int8_t" },         { "int16", "int16_t" },
    { "int32", "int32_t" },       { "int64", "int64_t" },
    { "boolean", "bool" },        { "usize", "size_t" },
    { "isize", "ssize_t" },       { "DWORD", "uint32_t" },
    { "WORD", "uint16_t" },       { "c128", "double _Complex" },
    { "c64", "float _Complex" },
};

/* Types of the C library that a header would bring: what to paste in front, as this machine has
 * them. */
static const struct { const char *name, *text; } of_libc[] = {
    { "div_t", "typedef struct { int quot, rem; } div_t;" },
    { "ldiv_t", "typedef struct { long quot, rem; } ldiv_t;" },
    { "lldiv_t", "typedef struct { long long quot, rem; } lldiv_t;" },
    { "imaxdiv_t", "typedef struct { intmax_t quot, rem; } imaxdiv_t;" },
    { "regmatch_t", "typedef struct { int rm_so, rm_eo; } regmatch_t;" },
    { "tm", "struct tm { int tm_sec, tm_min, tm_hour, tm_mday, tm_mon, tm_year, tm_wday, tm_yday, "
            "tm_isdst; "
            "long tm_gmtoff; const char *tm_zone; };" },
    { "timespec", "struct timespec { time_t tv_sec; long tv_nsec; };" },
    { "timeval", "struct timeval { time_t tv_sec; long tv_usec; };" },
    { "pollfd", "struct pollfd { int fd; short events, revents; };" },
};

const char *cdecl_of_libc(const char *name)
{
    for (size_t i = 0; i < sizeof of_libc / sizeof *of_libc; i++)
        if (strcmp(name, of_libc[i].name) == 0)
            return of_libc[i].text;
    return NULL;
}

static const char *of_another_language(const char *name)
{
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (ascii_casecmp(name, foreign[i].name) == 0)
            return foreign[i].is;
    return NULL;
}

static void check_language(CParser *p, const Tok *t)
{
    static const char *const cpp[] = {
        "class",   "template", "namespace", "using",     "public",
        "private", "virtual",  "operator",  "constexpr", "std",
    };
    static const char *const ricci[] = { "fn", "import", "print", "let", "true", "false", "none" };
    if (is_among(t->name->text, cpp, sizeof cpp / sizeof *cpp))
        cd_error(p, t->at, "the functions that its headers declare extern \"C\", without a class",
                 "%s is C++, and extern takes declarations of C", t->name->text);
    if (is_among(t->name->text, ricci, sizeof ricci / sizeof *ricci))
        cd_error(p, t->at, "a } before it ends the extern block", "%s is no declaration of C",
                 t->name->text);
}

static const char *near_type(CParser *p, const char *name)
{
    size_t known = 0;
    while (ctype_known_name(known))
        known++;
    NameList all = list_new(p, known + sizeof c_words / sizeof *c_words);
    for (size_t i = 0; i < sizeof c_words / sizeof *c_words; i++)
        all.items[all.count++] = c_words[i];
    for (size_t i = 0; i < known; i++)
        all.items[all.count++] = ctype_known_name(i);
    for (size_t i = 0; i < p->scope->names.cap; i++) {
        const Slot *s = slot_at(p, i);
        if (s->symbol && s->symbol->kind == SY_TYPE)
            all.items[all.count++] = p->scope->names.table[i]->text;
        else if (s->tag && s->tag->type->name)
            all.items[all.count++] = s->tag->type->name;
    }
    const char *near = err_closest(name, all.items, all.count);
    /* `foo_t` is not a misspelt `float`, and not every short word one of another */
    bool alike =
        near && !strchr(name, '_') == !strchr(near, '_') && (strlen(name) > 3 || strlen(near) <= 3);
    return alike ? near : NULL;
}

static bool is_punct(const Tok *t, uint32_t punct)
{
    return t->kind == TK_PUNCT && t->punct == punct;
}

/* A name that is declared, but no type stands before it. */
static void check_missing_type(CParser *p, const Tok *t)
{
    const Tok *after = cd_ahead(p, 1);
    const char *name = t->name->text;
    if (p->params && (is_punct(after, ')') || is_punct(after, ',') || is_punct(after, '[')))
        cd_error(p, t->at, cd_say(p, "double %s", name),
                 "no type is called %s, and a parameter needs one", name);
    if (!p->params && is_punct(after, '('))
        cd_error(p, t->at, cd_say(p, "int %s", name), "the type that %s returns is missing", name);
    if (!p->params && (is_punct(after, '=') || is_punct(after, ';') || is_punct(after, '[')))
        cd_error(p, t->at, cd_say(p, "int %s", name), "the type of %s is missing", name);
}

static void check_tag(CParser *p, const Tok *t)
{
    const Tag *tag = cd_slot(p, t->name)->tag;
    if (!tag)
        return;
    const char *kind = cd_kind_word(tag->type->kind);
    cd_error(p, t->at, cd_say(p, "%s %s", kind, t->name->text),
             "no type is called %s alone: it is the tag of %s %s", t->name->text,
             tag->type->kind == CK_ENUM ? "an" : "a", kind);
}

void cd_unknown_type(CParser *p, const Tok *t)
{
    const char *name = t->name->text;
    if (p->quiet)
        cd_error(p, t->at, NULL, "no type");
    check_tag(p, t);
    check_language(p, t);
    const char *libc = cdecl_of_libc(name);
    if (libc && strncmp(libc, "struct", 6) == 0)
        cd_error(p, t->at, cd_say(p, "struct %s", name), "no type is called %s alone", name);
    if (libc)
        cd_error(p, t->at, cd_say(p, "before it: %s", libc), "no type is called %s", name);
    const char *is = of_another_language(name);
    if (!is && t->name->len < 60 && ctype_known(cd_say(p, "%s_t", name), t->name->len + 2))
        is = cd_say(p, "%s_t", name);
    if (!is)
        is = near_type(p, name);
    if (is)
        cd_error(p, t->at, is, "no type is called %s", name);
    const Tok *after = cd_ahead(p, 1);
    if (cd_type_starts(p, after) || (after->kind == TK_NAME && cd_ahead(p, 2)->kind == TK_NAME))
        cd_error(p, t->at,
                 cd_say(p, "if %s is a macro that means nothing here: #define %s", name, name),
                 "no type is called %s", name);
    check_missing_type(p, t);
    if (p->included)
        cd_error(p, t->at, cd_say(p, "paste what the header says about %s in front of it", name),
                 "no type is called %s, and #include reads no file in an extern block", name);
    const char *help =
        cd_say(p, "before it: typedef struct %s %s;   if only pointers to it are used",
                              name, name);
    cd_error(p, t->at, p->only_type ? NULL : help, "no type is called %s", name);
}

void cd_unknown_tag(CParser *p, const Tok *t, const char *kind)
{
    NameList all = list_new(p, 1);
    for (size_t i = 0; i < p->scope->names.cap; i++)
        if (slot_at(p, i)->tag)
            all.items[all.count++] = p->scope->names.table[i]->text;
    const char *near = err_closest(t->name->text, all.items, all.count);
    cd_error(p, t->at, near ? cd_say(p, "%s %s", kind, near) : NULL, "no %s is called %s", kind,
             t->name->text);
}

/* ---- constants ---- */

void cd_unknown_constant(CParser *p, const Tok *t)
{
    const char *name = t->name->text;
    if (p->quiet)
        cd_error(p, t->at, NULL, "no constant");
    const Symbol *s = cd_slot(p, t->name)->symbol;
    if (s && s->kind == SY_OBJECT)
        cd_error(p, t->at, NULL, "%s is no constant, and C needs one here", name);
    NameList all = list_new(p, 1);
    for (size_t i = 0; i < p->scope->names.cap; i++) {
        const Slot *slot = slot_at(p, i);
        if (slot->macro || (slot->symbol && slot->symbol->kind == SY_CONSTANT))
            all.items[all.count++] = p->scope->names.table[i]->text;
    }
    const char *near = err_closest(name, all.items, all.count);
    const char *help = near;
    if (!near && !p->only_type)
        help = cd_say(p, "before it: #define %s 10   or whatever its value is", name);
    cd_error(p, t->at, help,
             "%s has no value here: a constant is a number, an enumerator or a #define", name);
}
