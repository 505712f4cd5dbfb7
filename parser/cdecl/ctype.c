/* C types as facts: the basic ones with the sizes of this machine's compiler, the layout of
 * records, types as C writes them, and when two of them are the same. Nothing here raises or reads
 * source text. */
#include "parser/cdecl/cdecl_parts.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <wchar.h>

/* What a member of this type is aligned to: on some machines less than _Alignof says. */
#define ALIGN(T) (uint32_t)offsetof(struct { char before; T it; }, it)
#define SCALAR(ck, T, text) { .kind = ck, .size = sizeof(T), .align = ALIGN(T), .name = text }
#define INTEGER(T, text) \
    { .kind = CK_INT, .is_unsigned = (T)-1 > (T)0, .size = sizeof(T), .align = ALIGN(T), \
      .name = text }
#define BOOL(text) \
    { .kind = CK_BOOL, .is_unsigned = true, .size = sizeof(_Bool), .align = ALIGN(_Bool), \
      .name = text }

enum { PLAIN_CHAR_UNSIGNED = CHAR_MIN == 0 };

static const CType basics[] = {
    { .kind = CK_VOID, .align = 1, .name = "void" },
    BOOL("_Bool"),
    { .kind = CK_CHAR, .is_unsigned = PLAIN_CHAR_UNSIGNED, .size = 1, .align = 1, .name = "char" },
    INTEGER(signed char, "signed char"),
    INTEGER(unsigned char, "unsigned char"),
    INTEGER(short, "short"),
    INTEGER(unsigned short, "unsigned short"),
    INTEGER(int, "int"),
    INTEGER(unsigned, "unsigned int"),
    INTEGER(long, "long"),
    INTEGER(unsigned long, "unsigned long"),
    INTEGER(long long, "long long"),
    INTEGER(unsigned long long, "unsigned long long"),
    { .kind = CK_FLOAT, .size = 2, .align = 2, .name = "_Float16" },
    { .kind = CK_FLOAT, .size = 2, .align = 2, .bf16 = true, .name = "__bf16" },
    SCALAR(CK_FLOAT, float, "float"),
    SCALAR(CK_FLOAT, double, "double"),
    SCALAR(CK_FLOAT, long double, "long double"),
    SCALAR(CK_COMPLEX, float _Complex, "float _Complex"),
    SCALAR(CK_COMPLEX, double _Complex, "double _Complex"),
    SCALAR(CK_COMPLEX, long double _Complex, "long double _Complex"),
};

/* Opaque: a pointer to one can be passed on, and a function that takes one can be declared. */
#define RECORD(text) (CRecord *)&(const CRecord){ .tag = text, .align = 1 }
#define OPAQUE(text) { .kind = CK_STRUCT, .align = 1, .name = text, .record = RECORD(text) }
static const CType opaque[] = {
    OPAQUE("FILE"), OPAQUE("DIR"), OPAQUE("fpos_t"), OPAQUE("jmp_buf"), OPAQUE("sigjmp_buf"),
    OPAQUE("va_list"), OPAQUE("__builtin_va_list"), OPAQUE("__gnuc_va_list"),
    OPAQUE("__int128"), OPAQUE("unsigned __int128"), OPAQUE("_Float128"), OPAQUE("__float128"),
    OPAQUE("_Float128 _Complex"), OPAQUE("_Decimal32"), OPAQUE("_Decimal64"), OPAQUE("_Decimal128"),
};

/* Typedefs that headers include other headers for. A declaration of the same name wins. */
#define KNOWN(T) INTEGER(T, #T)
static const CType known[] = {
    KNOWN(int8_t), KNOWN(int16_t), KNOWN(int32_t), KNOWN(int64_t),
    KNOWN(uint8_t), KNOWN(uint16_t), KNOWN(uint32_t), KNOWN(uint64_t),
    KNOWN(int_least8_t), KNOWN(int_least16_t), KNOWN(int_least32_t), KNOWN(int_least64_t),
    KNOWN(uint_least8_t), KNOWN(uint_least16_t), KNOWN(uint_least32_t), KNOWN(uint_least64_t),
    KNOWN(int_fast8_t), KNOWN(int_fast16_t), KNOWN(int_fast32_t), KNOWN(int_fast64_t),
    KNOWN(uint_fast8_t), KNOWN(uint_fast16_t), KNOWN(uint_fast32_t), KNOWN(uint_fast64_t),
    KNOWN(intptr_t), KNOWN(uintptr_t), KNOWN(intmax_t), KNOWN(uintmax_t),
    KNOWN(size_t), KNOWN(ssize_t), KNOWN(ptrdiff_t), KNOWN(wchar_t), KNOWN(wint_t),
    KNOWN(off_t), KNOWN(time_t), KNOWN(clock_t), KNOWN(suseconds_t), KNOWN(clockid_t),
    KNOWN(pid_t), KNOWN(uid_t), KNOWN(gid_t), KNOWN(mode_t), KNOWN(dev_t), KNOWN(ino_t),
    KNOWN(socklen_t), KNOWN(u_char), KNOWN(u_short), KNOWN(u_int), KNOWN(u_long),
    KNOWN(uint), KNOWN(ushort), KNOWN(ulong),
    INTEGER(uint_least16_t, "char16_t"), INTEGER(uint_least32_t, "char32_t"),
    BOOL("bool"),
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

const CType *ctype_basic(const char *name)
{
    for (size_t i = 0; i < COUNT(basics); i++)
        if (strcmp(basics[i].name, name) == 0)
            return &basics[i];
    return NULL;
}

const CType *ctype_known(const char *name, size_t len)
{
    for (size_t i = 0; i < COUNT(known); i++)
        if (strlen(known[i].name) == len && memcmp(known[i].name, name, len) == 0)
            return &known[i];
    for (size_t i = 0; i < COUNT(opaque); i++)
        if (strlen(opaque[i].name) == len && memcmp(opaque[i].name, name, len) == 0)
            return &opaque[i];
    return NULL;
}

const char *ctype_known_name(size_t i)
{
    return i < COUNT(known) ? known[i].name : NULL;
}

const CType *ctype_int(int size, bool is_unsigned)
{
    switch (size) {
    case 1: return ctype_basic(is_unsigned ? "unsigned char" : "signed char");
    case 2: return ctype_basic(is_unsigned ? "unsigned short" : "short");
    case 4: return ctype_basic(is_unsigned ? "unsigned int" : "int");
    default: return ctype_basic(is_unsigned ? "unsigned long" : "long");
    }
}

bool ctype_is_record(const CType *t)
{
    return t->kind == CK_STRUCT || t->kind == CK_UNION;
}

bool ctype_is_integer(const CType *t)
{
    return t->kind == CK_BOOL || t->kind == CK_CHAR || t->kind == CK_INT || t->kind == CK_ENUM;
}

bool ctype_opaque(const CType *t)
{
    for (size_t i = 0; ctype_is_record(t) && i < COUNT(opaque); i++)
        if (opaque[i].record == t->record)
            return true;
    return false;
}

bool ctype_complete(const CType *t)
{
    while (t->kind == CK_ARRAY)
        t = t->of;
    return ctype_is_record(t) ? t->record->complete : t->kind != CK_VOID && t->kind != CK_FUNCTION;
}

size_t ctype_size(const CType *t)
{
    return ctype_is_record(t) ? t->record->complete ? t->record->size : 0 : t->size;
}

/* A typedef may ask for more than its record does. */
uint32_t ctype_align(const CType *t)
{
    return ctype_is_record(t) && t->record->align > t->align ? t->record->align : t->align;
}

int ctype_depth(const CType *t)
{
    return ctype_is_record(t) ? t->record->depth : t->depth;
}

static const CField *find_field(const CRecord *r, const char *name, size_t len, size_t *offset)
{
    for (uint32_t i = 0; i < r->count; i++) {
        const CField *f = &r->fields[i];
        size_t inside = 0;
        bool named = f->name && strlen(f->name) == len && memcmp(f->name, name, len) == 0;
        const CField *found = named ? f : NULL;
        if (!f->name)
            found = find_field(f->type->record, name, len, &inside);
        if (found) {
            *offset = f->offset + inside;
            return found;
        }
    }
    return NULL;
}

const CField *ctype_field(const CType *t, const char *name, size_t len, size_t *offset)
{
    size_t at = 0;
    const CField *f =
        ctype_is_record(t) && t->record->complete ? find_field(t->record, name, len, &at) : NULL;
    if (f && offset)
        *offset = at;
    return f;
}

/* ---- layout: System V ABI, and AAPCS64 where it is the same ---- */

static bool round_up(size_t *n, size_t align)
{
    if (__builtin_add_overflow(*n, align - 1, n))
        return false;
    *n &= ~(align - 1);
    return *n <= PTRDIFF_MAX;
}

bool crecord_layout(CRecord *r, const CLayout *l)
{
    size_t end = 0;
    r->align = 1;
    for (uint32_t i = 0; i < r->count; i++) {
        CField *f = &r->fields[i];
        uint32_t a = l->packed || l->field_packed[i] ? 1 : ctype_align(f->type);
        if (l->field_align[i] > a)
            a = l->field_align[i];
        if (l->limit && a > l->limit)
            a = l->limit;
        if (a > r->align)
            r->align = a;
        size_t at = l->is_union ? 0 : end, size = ctype_size(f->type);
        if (!round_up(&at, a))
            return false;
        f->offset = at;
        if (__builtin_add_overflow(at, size, &at) || at > PTRDIFF_MAX)
            return false;
        if (at > end)
            end = at;
    }
    if (l->align > r->align)
        r->align = l->align;
    r->size = end;
    return round_up(&r->size, r->align);
}

/* ---- sameness ---- */

/* Records inside records can double at every level: past so many comparisons they differ. */
enum { SAME_BUDGET = 20000 };

static bool same_type(const CType *a, const CType *b, bool pointed, int *budget);

/* Behind a pointer a tag says enough: a list may point to itself. */
static bool same_record(const CRecord *a, const CRecord *b, bool pointed, int *budget)
{
    if (a == b)
        return true;
    if (!a->tag != !b->tag || (a->tag && strcmp(a->tag, b->tag) != 0))
        return false;
    if (!a->complete || !b->complete)
        return a->tag && (pointed || a->complete == b->complete);
    if (a->count != b->count || a->size != b->size || a->align != b->align)
        return false;
    if (pointed && a->tag)
        return true;
    for (uint32_t i = 0; i < a->count; i++) {
        const CField *f = &a->fields[i], *g = &b->fields[i];
        if (f->offset != g->offset || !f->name != !g->name ||
            (f->name && strcmp(f->name, g->name) != 0) ||
            !same_type(f->type, g->type, false, budget))
            return false;
    }
    return true;
}

static bool same_function(const CType *a, const CType *b, int *budget)
{
    if (!same_type(a->of, b->of, false, budget))
        return false;
    if (a->unprototyped || b->unprototyped)
        return true;
    if (a->param_count != b->param_count || a->variadic != b->variadic)
        return false;
    for (uint32_t i = 0; i < a->param_count; i++)
        if (!same_type(a->params[i].type, b->params[i].type, false, budget))
            return false;
    return true;
}

static bool same_type(const CType *a, const CType *b, bool pointed, int *budget)
{
    if (a == b)
        return true;
    if (--*budget < 0)
        return false;
    bool a_int = a->kind == CK_INT || a->kind == CK_ENUM;
    bool b_int = b->kind == CK_INT || b->kind == CK_ENUM;
    if (a_int && b_int)
        return a->size == b->size && a->is_unsigned == b->is_unsigned;
    if (a->kind != b->kind)
        return false;
    switch ((CKind)a->kind) {
    case CK_POINTER: return same_type(a->of, b->of, true, budget);
    case CK_ARRAY: return a->count == b->count && same_type(a->of, b->of, pointed, budget);
    case CK_STRUCT:
    case CK_UNION: return same_record(a->record, b->record, pointed, budget);
    case CK_FUNCTION: return same_function(a, b, budget);
    default: return a->size == b->size && a->is_unsigned == b->is_unsigned && a->bf16 == b->bf16;
    }
}

bool ctype_same(const CType *a, const CType *b)
{
    int budget = SAME_BUDGET;
    return same_type(a, b, false, &budget);
}

/* ---- text ---- */

/* C writes a type around the name that it declares, so a type is put in two halves: what stands
 * before the name, and what stands after it. */
static void put_before(Buf *out, const CType *t);
static void put_after(Buf *out, const CType *t);

static void put_qualifiers(Buf *out, const CType *t)
{
    if (t->is_const)
        buf_puts(out, "const ");
    if (t->is_volatile)
        buf_puts(out, "volatile ");
}

static void put_fields(Buf *out, const CType *t)
{
    buf_puts(out, t->kind == CK_UNION ? "union {" : "struct {");
    for (uint32_t i = 0; i < t->record->count; i++) {
        const CField *f = &t->record->fields[i];
        buf_putc(out, ' ');
        put_before(out, f->type);
        if (f->name) {
            if (!strchr("*( ", out->data[out->len - 1]))
                buf_putc(out, ' ');
            buf_puts(out, f->name);
        }
        put_after(out, f->type);
        buf_putc(out, ';');
    }
    buf_puts(out, " }");
}

static const char *type_name(const CType *t)
{
    return t->name ? t->name : ctype_is_record(t) ? t->record->tag : NULL;
}

static bool wraps(const CType *t)
{
    return !type_name(t) && (t->kind == CK_ARRAY || t->kind == CK_FUNCTION);
}

static void put_pointer(Buf *out, const CType *t)
{
    put_before(out, t->of);
    if (!strchr("*( ", out->data[out->len - 1]))
        buf_putc(out, ' ');
    if (wraps(t->of))
        buf_putc(out, '(');
    buf_putc(out, '*');
    put_qualifiers(out, t);
}

static void put_before(Buf *out, const CType *t)
{
    const char *name = type_name(t);
    if (name) {
        put_qualifiers(out, t);
        buf_puts(out, name);
    } else if (t->kind == CK_POINTER) {
        put_pointer(out, t);
    } else if (t->kind == CK_ARRAY || t->kind == CK_FUNCTION) {
        put_before(out, t->of);
    } else if (ctype_is_record(t)) {
        put_qualifiers(out, t);
        put_fields(out, t);
    } else {
        put_qualifiers(out, t);
        buf_puts(out, t->is_unsigned ? "unsigned int" : "int");
    }
}

static void put_params(Buf *out, const CType *t)
{
    buf_putc(out, '(');
    for (uint32_t i = 0; i < t->param_count; i++) {
        buf_puts(out, i ? ", " : "");
        ctype_text(out, t->params[i].type);
    }
    if (t->variadic)
        buf_puts(out, t->param_count ? ", ..." : "...");
    else if (!t->param_count && !t->unprototyped)
        buf_puts(out, "void");
    buf_putc(out, ')');
}

static void put_after(Buf *out, const CType *t)
{
    if (type_name(t))
        return;
    if (t->kind == CK_POINTER) {
        buf_puts(out, wraps(t->of) ? ")" : "");
        put_after(out, t->of);
    } else if (t->kind == CK_ARRAY) {
        if (t->count)
            buf_printf(out, "[%zu]", t->count);
        else
            buf_puts(out, "[]");
        put_after(out, t->of);
    } else if (t->kind == CK_FUNCTION) {
        put_params(out, t);
        put_after(out, t->of);
    }
}

/* `int (*)(void)`, `double [3]`, `char *[3]`: a space stands for the name where one is needed. */
void ctype_text(Buf *out, const CType *t)
{
    put_before(out, t);
    if (out->data[out->len - 1] == ' ')          /* after `* const` */
        out->data[--out->len] = '\0';
    else if (wraps(t) && !strchr("*(", out->data[out->len - 1]))
        buf_putc(out, ' ');
    put_after(out, t);
}
