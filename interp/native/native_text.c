/* Text of C declarations: the prototype that a C function prints as, and what help says of C
 * functions and types. */
#include "interp/native/native.h"

#include <dlfcn.h>
#include <string.h>

static void reverse(char *from, char *to)
{
    while (from < to) {
        char c = *from;
        *from++ = *--to;
        *to = c;
    }
}

/* Swaps two neighbours: `left` bytes and the `right` bytes behind them. */
static void swap(char *at, size_t left, size_t right)
{
    reverse(at, at + left);
    reverse(at + left, at + left + right);
    reverse(at, at + left + right);
}

/* Where in a type's text what it declares stands: behind the stars of a function or array pointer,
 * in front of brackets, or at the end. */
static size_t hole(const char *text)
{
    const char *star = strstr(text, "(*)"), *array = strchr(text, '[');
    star = star ? star : strstr(text, "(*");
    if (!star)
        return array ? (size_t)(array - text) : strlen(text);
    for (star++; *star == '*' || strncmp(star, "const", 5) == 0;)
        star += *star == '*' ? 1 : 5;
    return (size_t)(star - text);
}

/* Puts the type; returns where the name goes, which put_name moves there. */
static size_t put_type(Buf *out, const CType *type)
{
    size_t from = out->len;
    ctype_text(out, type);
    size_t at = from + hole(out->data + from);
    if (at > from && strchr("* ([", out->data[at - 1]) == NULL) {
        buf_putc(out, ' ');
        swap(out->data + at, out->len - 1 - at, 1);
        at++;
    }
    return at;
}

static void put_declared(Buf *out, const CType *type, const char *name)
{
    if (!name) {
        ctype_text(out, type);
        return;
    }
    size_t at = put_type(out, type), end = out->len;
    buf_puts(out, name);
    swap(out->data + at, end - at, out->len - end);
}

static void put_parameters(Buf *out, const CType *function)
{
    buf_putc(out, '(');
    for (uint32_t i = 0; i < function->param_count; i++) {
        buf_puts(out, i ? ", " : "");
        put_declared(out, function->params[i].type, function->params[i].name);
    }
    if (function->variadic)
        buf_puts(out, function->param_count ? ", ..." : "...");
    else if (function->param_count == 0 && !function->unprototyped)
        buf_puts(out, "void");
    buf_putc(out, ')');
}

void native_prototype(Buf *out, const CType *function, const char *name)
{
    size_t at = put_type(out, function->of), end = out->len;
    buf_puts(out, name);
    put_parameters(out, function);
    swap(out->data + at, end - at, out->len - end);
}

static void put_fields(Buf *out, const CRecord *r, size_t offset, const char *indent)
{
    for (uint32_t i = 0; i < r->count; i++) {
        const CField *f = &r->fields[i];
        if (!f->name && f->type->record) {
            put_fields(out, f->type->record, offset + f->offset, indent);
            continue;
        }
        size_t from = out->len;
        buf_puts(out, indent);
        put_declared(out, f->type, f->name);
        size_t width = out->len - from;
        buf_fill(out, ' ', width < 30 ? 30 - width : 2);
        buf_printf(out, "byte %zu\n", offset + f->offset);
    }
}

/* What a typedef stands for. */
static void put_plain(Buf *out, const CType *t)
{
    CType bare = *t;
    bare.name = NULL;
    if (t->kind == CK_INT)
        buf_printf(out, "%s integer", t->is_unsigned ? "unsigned" : "signed");
    else if (t->kind == CK_POINTER || t->kind == CK_ARRAY || t->kind == CK_FUNCTION)
        ctype_text(out, &bare);
    else
        ctype_text(out, t);
}

static void help_type(Buf *out, const CTypeValue *t)
{
    size_t size = ctype_size(t->type);
    const CRecord *record = t->type->record;
    buf_printf(out, "%s: the C type ", t->name);
    if (record)
        buf_printf(out, "%s%s%s", t->type->kind == CK_UNION ? "union" : "struct",
                   record->tag ? " " : "", record->tag ? record->tag : "");
    else
        put_plain(out, t->type);
    if (size)
        buf_printf(out, ", %zu byte%s", size, size == 1 ? "" : "s");
    buf_putc(out, '\n');
    if (record && record->complete)
        put_fields(out, record, 0, "  ");
    else if (record)
        buf_puts(out, "  Its fields are not declared: only pointers to it can be used.\n");
}

void native_help(Buf *out, Value v)
{
    if (v.tag == V_CTYPE) {
        help_type(out, v.ptr);
        return;
    }
    const CFunction *f = v.ptr;
    Dl_info where;
    native_prototype(out, f->type, f->name);
    buf_putc(out, '\n');
    if (dladdr((void *)f->at, &where) && where.dli_fname)
        buf_printf(out, "  A C function of %s.\n", where.dli_fname);
}
