/* printf and scanf: the format says what each argument in place of `...` has to be. C does not
 * look, and reads whatever lies there; here it is compared before the call, for functions whose
 * names end in printf or scanf and that take a format. Ints under %f go as doubles. */
#include "interp/native/native_call.h"

#include "core/system/c_locale.h"

#include <stdio.h>
#include <string.h>

typedef struct Directive {
    const char *from;     /* its % */
    int length;
    char kind;            /* d f s p n c, of scanf [ too; * a width */
    char size[2];         /* h hh l ll z j t L */
    int stars;            /* ints that come before the value: %*d of printf */
    bool skips;           /* %*d of scanf */
} Directive;

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), k = strlen(end);
    return n >= k && strcmp(name + n - k, end) == 0;
}

/* The next conversion of a format, or the next `*` of one; NULL at the end. */
static const char *directive_next(const char *at, bool scans, Directive *d)
{
    for (;;) {
        at = strchr(at, '%');
        if (!at)
            return NULL;
        if (at[1] != '%')
            break;
        at += 2;
    }
    *d = (Directive){ .from = at++ };
    while (*at && strchr("-+ #0'123456789.*$m", *at)) {
        if (*at == '*' && !scans)
            d->stars++;
        d->skips |= *at == '*' && scans;
        at++;
    }
    for (int k = 0; *at && strchr("hlzjtqL", *at); at++)
        if (k < 2)
            d->size[k++] = *at;
    d->kind = *at;
    if (*at == '[') {
        at += at[1] == '^' ? 2 : 1;
        at += *at == ']';
        while (*at && *at != ']')
            at++;
    }
    at += *at != '\0';
    d->length = (int)(at - d->from);
    return at;
}

static _Noreturn void raise_count(const NativeCall *c, int wanted)
{
    uint32_t given = c->count - c->plan->count;
    Error *e = err_new(&c->in->ctx, ERR_FFI,
                       "%s: the format asks for %d argument%s, and %u %s given",
                       c->f->name, wanted, wanted == 1 ? "" : "s", given,
                       given == 1 ? "is" : "are");
    if (c->args[c->plan->count - 1].operand >= 0)
        err_underline(e, c->args[c->plan->count - 1].operand);
    err_help(e, "%%%% is a percent sign");
    err_throw(e);
}

static _Noreturn void raise_unlike(const NativeCall *c, uint32_t i, const Directive *d,
                                   const char *help)
{
    const NativeArg *a = &c->args[i];
    NativeWhere where = native_where(c, i);
    char what[96], text[120];
    const char *x = native_text(c->in, &where);
    v_describe_a(a->held ? *a->slot : a->v, what, sizeof what);
    Error *e = err_new(&c->in->ctx, ERR_FFI,
                       "%s: %.*s stands for argument %u, which is %s", c->f->name,
                       d->length, d->from, i + 1, what);
    if (where.operand >= 0)
        err_underline(e, where.operand);
    c_snprintf(text, sizeof text, help, x);
    err_help(e, "%s", text);
    err_throw(e);
}

/* ---- printf ---- */
static void check_printed(NativeCall *c, uint32_t i, const Directive *d)
{
    NativeArg *a = &c->args[i];
    Value v = a->held ? *a->slot : a->v;
    bool scalar = native_is_scalar(v);
    char kind = scalar ? dtype_info(v_dtype(v))->kind : 0;
    bool is_int = kind == 'i' || kind == 'b';
    if (v.tag == V_NONE)
        return;                          /* is no argument at all: native_vary says so */
    switch (d->kind) {
    case 'd': case 'i': case 'u': case 'x': case 'X': case 'o': case 'c':
        if (!is_int)
            raise_unlike(c, i, d, scalar && kind != 'c' ? "int(%s), or %%g in the format"
                                                        : "a number");
        if (!d->size[0] && v.tag == V_INT && (v.i < INT32_MIN || v.i > UINT32_MAX))
            raise_unlike(c, i, d, "%%ld takes ints of 64 bits");
        break;
    case 'e': case 'E': case 'f': case 'F': case 'g': case 'G': case 'a': case 'A':
        if (!scalar || kind == 'c')
            raise_unlike(c, i, d, kind == 'c' ? "real(%s) and imag of it, each with its own %%g"
                                              : "a number");
        if (d->size[0] == 'L')
            raise_unlike(c, i, d, "numbers go as double: %%g without the L");
        if (is_int)
            a->v = v_float((double)(v.tag == V_TENSOR
                                    ? element_i64((DType)v.tensor->dtype, v.tensor->data) : v.i));
        break;
    case 's':
        if (scalar || d->size[0] == 'l' || (v.tag != V_STRING && v.tag != V_POINTER &&
                                            v_dtype(v) != DT_I8 && v_dtype(v) != DT_U8))
            raise_unlike(c, i, d, d->size[0] == 'l' ? "%%s is a text" : "\"{%s}\"");
        break;
    case 'p': case 'n':
        if (scalar || v.tag == V_STRUCT || (d->kind == 'n' && v.tag == V_STRING))
            raise_unlike(c, i, d, "a pointer, as ptr(%s)");
        break;
    default:
        break;
    }
}

/* ---- scanf ---- */
/* The dtype that a conversion writes; DT_NONE: not known. */
static DType scanned_dtype(const Directive *d)
{
    bool wide = strchr("lzjtq", d->size[0]) && d->size[0];
    switch (d->kind) {
    case 'd': case 'i': case 'u': case 'x': case 'X': case 'o': case 'n':
        return d->size[0] == 'h' ? (d->size[1] == 'h' ? DT_I8 : DT_NONE) : wide ? DT_I64 : DT_I32;
    case 'e': case 'E': case 'f': case 'F': case 'g': case 'G': case 'a': case 'A':
        return d->size[0] == 'L' ? DT_NONE : wide ? DT_F64 : DT_F32;
    case 's': case 'c': case '[':
        return DT_I8;
    default:
        return DT_NONE;
    }
}

static void check_scanned(NativeCall *c, uint32_t i, const Directive *d)
{
    NativeArg *a = &c->args[i];
    Value v = a->held ? *a->slot : a->v;
    DType want = scanned_dtype(d), is = v_dtype(v);
    char help[120];
    if (v.tag == V_POINTER)
        return;
    if (!a->held) {
        snprintf(help, sizeof help, "C writes there: a tensor, %%s = zeros(1, dtype=%s)",
                 dtype_name(want == DT_NONE ? DT_I64 : want));
        raise_unlike(c, i, d, help);
    }
    if (want == DT_NONE || is == want || (want == DT_I8 && is == DT_U8))
        return;
    const char *dtype = dtype_name(want);
    snprintf(help, sizeof help, "it writes elements of %s: %%s = zeros(1, dtype=%s)", dtype, dtype);
    raise_unlike(c, i, d, help);
}

void native_format_check(NativeCall *c)
{
    const char *name = c->f->name;
    bool scans = ends_with(name, "scanf");
    if (!scans && !ends_with(name, "printf"))
        return;
    const NativeArg *format = &c->args[c->plan->count - 1];
    const CType *t = format->type;
    if (format->v.tag != V_STRING || t->kind != CK_POINTER || t->of->kind != CK_CHAR ||
        strchr(format->v.str->text, '$'))
        return;
    uint32_t i = c->plan->count;
    int wanted = 0;
    Directive d;
    for (const char *at = format->v.str->text; (at = directive_next(at, scans, &d)); ) {
        for (int k = 0; k < d.stars; k++, i++, wanted++)
            if (i < c->count)
                check_printed(c, i, &(Directive){ .from = "*", .length = 1, .kind = 'd' });
        if (d.skips || (d.kind == 'm' && !scans) || d.kind == '\0')
            continue;
        if (i < c->count)
            (scans ? check_scanned : check_printed)(c, i, &d);
        i++;
        wanted++;
    }
    if (wanted != (int)(c->count - c->plan->count))
        raise_count(c, wanted);
}
