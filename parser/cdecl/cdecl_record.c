/* struct, union and enum: their tags, fields and enumerators. A tag that another block completed
 * may be given again: the same layout changes nothing, another one replaces the tag. */
#include "parser/cdecl/cdecl_parts.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

const char *cd_kind_word(uint8_t kind)
{
    return kind == CK_UNION ? "union" : kind == CK_ENUM ? "enum" : "struct";
}

static void declare_tag(CParser *p, const Tok *name, const CType *type)
{
    TagDecl *d = arena_alloc(&p->tmp, sizeof *d);
    *d = (TagDecl){ p->tags, name->name, type, name->at };
    p->tags = d;
}

static Tag *put_tag(CParser *p, const Name *name, const CType *type, bool complete)
{
    Tag *tag = arena_alloc(p->arena, sizeof *tag);
    *tag = (Tag){ type, complete, p->scope->block + 1 };
    cd_change(p, name)->tag = tag;
    return tag;
}

static const CType *new_record(CParser *p, uint8_t kind, const Tok *tag)
{
    CType *t = arena_alloc(p->arena, sizeof *t);
    t->record = arena_alloc(p->arena, sizeof *t->record);
    *t->record = (CRecord){ .tag = tag ? tag->name->text : NULL, .align = 1 };
    t->kind = kind;
    t->align = 1;
    if (tag) {
        buf_clear(&p->piece);
        buf_printf(&p->piece, "%s %s", cd_kind_word(kind), tag->name->text);
        t->name = arena_copy(p->arena, p->piece.data, p->piece.len);
    }
    return t;
}

static void check_kind(CParser *p, const Tok *name, const Tag *tag, uint8_t kind)
{
    if (tag->type->kind != kind)
        cd_error(p, name->at, cd_say(p, "%s %s", cd_kind_word(tag->type->kind), name->name->text),
                 "%s was declared as %s %s", name->name->text,
                 tag->type->kind == CK_STRUCT ? "a" : "an", cd_kind_word(tag->type->kind));
}

/* ---- fields ---- */

typedef struct Fields {
    CField *items;
    Span *at;
    uint32_t *align;             /* that the declaration asks for; 0 */
    bool *packed;
    uint32_t count, cap;
    uint8_t depth;
    bool flexible;               /* the last one has no length: nothing follows */
} Fields;

static void grow(CParser *p, Fields *f)
{
    f->cap = f->cap ? f->cap * 2 : 8;
    f->items = cd_grown(p, f->items, sizeof *f->items, f->count, f->cap);
    f->at = cd_grown(p, f->at, sizeof *f->at, f->count, f->cap);
    f->align = cd_grown(p, f->align, sizeof *f->align, f->count, f->cap);
    f->packed = cd_grown(p, f->packed, sizeof *f->packed, f->count, f->cap);
}

/* How deep a field's type is, by value and through pointers: up to the tags that those point to. */
static int field_depth(const CType *t)
{
    int depth = ctype_depth(t);
    while (t->kind == CK_ARRAY)
        t = t->of;
    return ctype_depth(t) > depth ? ctype_depth(t) : depth;
}

static void add_field(CParser *p, Fields *f, const char *name, const CType *type, Span at,
                      const Attributes *a, const Attributes *b)
{
    if (f->flexible)
        cd_error(p, at, NULL, "an array without a length is the last field of a struct");
    if (type->kind == CK_FUNCTION)
        cd_error(p, at, cd_say(p, "(*%s), a pointer to one", name), "a field is no function");
    if (!ctype_complete(type))
        cd_error(p, at, cd_say(p, "%s *%s;", cd_type_text(p, type), name),
                 "the field %s is %s, which has no size yet", name, cd_type_text(p, type));
    if (f->count == f->cap)
        grow(p, f);
    int depth = field_depth(type) + 1;
    if (depth > CD_TYPE_DEPTH)
        cd_error(p, at, NULL, "structs inside each other more than %d deep", CD_TYPE_DEPTH);
    if (depth > f->depth)
        f->depth = (uint8_t)depth;
    f->flexible = type->kind == CK_ARRAY && type->count == 0;
    f->items[f->count] = (CField){ .name = name, .type = type };
    f->at[f->count] = at;
    f->align[f->count] = a->align > b->align ? a->align : b->align;
    f->packed[f->count++] = a->packed || b->packed;
}

static _Noreturn void no_bit_field(CParser *p, const Specifiers *s, const Declarator *d)
{
    cd_error(p, d->at, cd_say(p, "%s bits;   for all of them, which bitand and shr take apart",
                              cd_type_text(p, s->type)),
             "%s is a bit-field, which has no place of its own", d->name ? d->name->text : "this");
}

static void one_field(CParser *p, Fields *f)
{
    Specifiers s;
    cd_specifiers(p, &s);
    if (cd_is(p, ';')) {
        bool record = ctype_is_record(s.type);
        if (record && !s.type->record->tag)
            add_field(p, f, NULL, s.type, s.at, &s.attributes, &(Attributes){ 0 });
        else if (!s.defines)
            cd_unexpected(p, "the name of a field");
        return;
    }
    do {
        Declarator d;
        if (cd_is(p, ':'))
            no_bit_field(p, &s, &(Declarator){ .at = cd_peek(p)->at });
        cd_declarator(p, s.type, NAMED, false, &d);
        if (cd_is(p, ':'))
            no_bit_field(p, &s, &d);
        cd_attributes(p, &d.attributes);
        const CType *type = cd_moded(cd_moded(d.type, &s.attributes), &d.attributes);
        add_field(p, f, d.name->text, type, d.at, &s.attributes, &d.attributes);
    } while (cd_accept(p, ','));
}

/* Names are interned: equal ones are neighbours after sorting. */
static int by_address(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    return (x > y) - (x < y);
}

static uint32_t count_names(const CField *fields, uint32_t count, const char **out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        const CRecord *inside = fields[i].name ? NULL : fields[i].type->record;
        if (inside)
            n += count_names(inside->fields, inside->count, out ? out + n : NULL);
        else if (out)
            out[n++] = fields[i].name;
        else
            n++;
    }
    return n;
}

static void check_names(CParser *p, const Fields *f)
{
    uint32_t n = count_names(f->items, f->count, NULL);
    const char **names = arena_alloc(&p->tmp, (n + 1) * sizeof *names);
    count_names(f->items, f->count, names);
    qsort(names, n, sizeof *names, by_address);
    for (uint32_t i = 1; i < n; i++) {
        if (names[i] != names[i - 1])
            continue;
        uint32_t last = f->count - 1;
        while (last > 0 && f->items[last].name != names[i])
            last--;
        cd_error(p, f->at[last], NULL, "two fields are called %s", names[i]);
    }
}

static void read_fields(CParser *p, Fields *f)
{
    while (!cd_is(p, '}')) {
        if (cd_accept(p, ';'))
            continue;
        if (cd_word(p, "_Static_assert") || cd_word(p, "static_assert")) {
            cd_static_assert(p);
            continue;
        }
        if (cd_peek(p)->kind == TK_END)
            cd_unexpected(p, "a } after the fields");
        one_field(p, f);
        cd_expect(p, ';', "after this field");
    }
}

static void complete_record(CParser *p, const CType *t, Fields *f, const Attributes *a,
                            uint8_t pack, Span at)
{
    CRecord *r = t->record;
    if (r->complete)
        cd_error(p, at, NULL, "%s is defined inside itself", t->name ? t->name : "this");
    cd_change_record(p, r);
    r->count = f->count;
    r->fields = arena_alloc(p->arena, (f->count + 1) * sizeof *r->fields);
    memcpy(r->fields, f->items, f->count * sizeof *r->fields);
    r->depth = f->depth;
    CLayout layout = { .is_union = t->kind == CK_UNION, .align = a->align, .field_align = f->align,
                       .field_packed = f->packed, .packed = a->packed, .limit = pack };
    if (!crecord_layout(r, &layout))
        cd_error(p, at, NULL, "%s is larger than memory", t->name ? t->name : "this struct");
    r->complete = true;
}

/* The type whose fields follow: the one that waits for them, or a new one. */
static const CType *begin_definition(CParser *p, uint8_t kind, const Tok *name)
{
    if (!name)
        return new_record(p, kind, NULL);
    const Tag *old = cd_slot(p, name->name)->tag;
    if (old && old->type->kind == kind && !old->type->record->complete)
        return old->type;
    if (old && old->block == p->scope->block + 1)
        check_kind(p, name, old, kind);
    const CType *t = new_record(p, kind, name);
    put_tag(p, name->name, t, false);
    return t;
}

static const CType *define_record(CParser *p, uint8_t kind, const Tok *name, Attributes *a)
{
    Tag *old = name ? cd_slot(p, name->name)->tag : NULL;
    Span at = name ? name->at : cd_peek(p)->at;
    if (name && p->only_type)
        cd_error(p, at, cd_say(p, "%s { … }", cd_kind_word(kind)),
                 "a tag is declared by a block, not by a type's name");
    const CType *t = begin_definition(p, kind, name);
    ParamList *params = p->params;
    Fields f = { 0 };
    cd_enter(p, at);
    cd_next(p);
    p->params = NULL;
    read_fields(p, &f);
    p->params = params;
    uint8_t pack = cd_next(p)->pack;
    cd_leave(p);
    cd_attributes(p, a);
    if (f.count == 0)
        cd_error(p, at, name ? cd_say(p, "%s %s;", cd_kind_word(kind), name->name->text) : NULL,
                 "a %s without fields", cd_kind_word(kind));
    check_names(p, &f);
    complete_record(p, t, &f, a, pack, at);
    if (name && old && old->type != t) {
        if (ctype_same(old->type, t)) {
            cd_change(p, name->name)->tag = old;
            t = old->type;
        } else if (old->block == p->scope->block + 1) {
            cd_error(p, at, NULL, "%s was defined in this block with other fields", t->name);
        }
    }
    if (name)
        declare_tag(p, name, t);
    return t;
}

const CType *cd_record(CParser *p, bool is_union)
{
    uint8_t kind = is_union ? CK_UNION : CK_STRUCT;
    Attributes a = { 0 };
    cd_attributes(p, &a);
    const Tok *name =
        cd_peek(p)->kind == TK_NAME && !cd_keyword(cd_peek(p)->name) ? cd_next(p) : NULL;
    cd_attributes(p, &a);
    if (cd_is(p, '{'))
        return define_record(p, kind, name, &a);
    if (!name)
        cd_unexpected(p, cd_say(p, "the tag or the fields of the %s", cd_kind_word(kind)));
    const Tag *tag = cd_slot(p, name->name)->tag;
    if (tag) {
        check_kind(p, name, tag, kind);
        return tag->type;
    }
    if (p->only_type)
        cd_unknown_tag(p, name, cd_kind_word(kind));
    const CType *t = new_record(p, kind, name);
    put_tag(p, name->name, t, false);
    if (cd_is(p, ';'))
        declare_tag(p, name, t);
    return t;
}

/* ---- enum ---- */

static void one_enumerator(CParser *p, int64_t *value, bool *first)
{
    const Tok *name = cd_peek(p);
    if (name->kind != TK_NAME || cd_keyword(name->name))
        cd_unexpected(p, "the name of an enumerator");
    cd_next(p);
    Attributes a = { 0 };
    cd_attributes(p, &a);
    if (cd_accept(p, '='))
        *value = cd_integer(p, "the value of an enumerator");
    else if (*first)
        *value = 0;
    else if (__builtin_add_overflow(*value, 1, value))
        cd_error(p, name->at, NULL, "the value of %s does not fit into 64 bits", name->name->text);
    *first = false;
    const CType *type =
        *value >= INT_MIN && *value <= INT_MAX ? ctype_basic("int") : ctype_basic("long");
    cd_declare_constant(p, name, type, (CConst){ .kind = CC_INT, .i = *value });
}

/* As the compiler chooses: unsigned int unless a value is negative, long if int is too small. */
static const CType *enum_type(CParser *p, const Tok *name, bool packed, int64_t least, int64_t most)
{
    CType *t = arena_alloc(p->arena, sizeof *t);
    int size = packed ? 1 : 4;
    for (bool holds = false; !holds && size < 8; size *= holds ? 1 : 2) {
        int64_t half = (int64_t)1 << (8 * size - 1);
        holds = least < 0 ? least >= -half && most < half : most < 2 * half;
    }
    *t = *ctype_int(size, least >= 0);
    t->kind = CK_ENUM;
    t->name = NULL;
    if (name) {
        buf_clear(&p->piece);
        buf_printf(&p->piece, "enum %s", name->name->text);
        t->name = arena_copy(p->arena, p->piece.data, p->piece.len);
    }
    return t;
}

static const CType *enum_of(CParser *p, const CType *base, const char *name)
{
    CType *t = cd_type_copy(p, base);
    t->kind = CK_ENUM;
    t->name = name;
    return t;
}

/* `enum e : uint8_t`: NULL where nothing is said. */
static const CType *enum_base(CParser *p)
{
    if (!cd_accept(p, ':'))
        return NULL;
    Span at = cd_peek(p)->at;
    const CType *t = cd_type_name(p);
    if (!ctype_is_integer(t))
        cd_error(p, at, NULL, "the values of an enum are of an integer type");
    return t;
}

static const CType *define_enum(CParser *p, const Tok *name, Attributes *a, const CType *base)
{
    int64_t value = 0, least = 0, most = 0;
    bool first = true;
    Span at = cd_next(p)->at;
    while (!cd_is(p, '}')) {
        one_enumerator(p, &value, &first);
        least = value < least ? value : least;
        most = value > most ? value : most;
        if (!cd_accept(p, ',') && !cd_is(p, '}'))
            cd_unexpected(p, "a , or }");
    }
    cd_next(p);
    cd_attributes(p, a);
    if (first)
        cd_error(p, at, NULL, "an enum without enumerators");
    const CType *t = enum_type(p, name, a->packed, least, most);
    if (base)
        t = enum_of(p, base, t->name);
    const Tag *old = name ? cd_slot(p, name->name)->tag : NULL;
    if (old && old->block == p->scope->block + 1) {
        check_kind(p, name, old, CK_ENUM);
        if (old->complete && !ctype_same(old->type, t))
            cd_error(p, name->at, NULL, "%s was defined in this block with other values", t->name);
    }
    if (name) {
        put_tag(p, name->name, t, true);
        declare_tag(p, name, t);
    }
    return t;
}

const CType *cd_enum(CParser *p)
{
    Attributes a = { 0 };
    cd_attributes(p, &a);
    const Tok *name =
        cd_peek(p)->kind == TK_NAME && !cd_keyword(cd_peek(p)->name) ? cd_next(p) : NULL;
    cd_attributes(p, &a);
    const CType *base = enum_base(p);
    if (cd_is(p, '{'))
        return define_enum(p, name, &a, base);
    if (!name)
        cd_unexpected(p, "the tag or the enumerators of the enum");
    const Tag *tag = cd_slot(p, name->name)->tag;
    if (tag) {
        check_kind(p, name, tag, CK_ENUM);
        return tag->type;
    }
    return put_tag(p, name->name, enum_type(p, name, false, 0, 0), false)->type;
}
