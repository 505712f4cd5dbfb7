/* What calling C says about values that it does not take: whose they are, what they are, and what
 * to write instead, with the user's own text of the argument. */
#include "interp/native/native_call.h"

#include "core/system/c_locale.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `cblas_ddot: x (parameter 2, const double *) `, in as few words as are known. */
static void subject(Interp *in, Buf *b, const NativeWhere *w, const CType *t)
{
    char type[96];
    const CType pointer = ctype_pointer_to(t);
    native_type_text(in, w->variable ? &pointer : t, type, sizeof type);
    if (w->of)
        buf_printf(b, "%s: ", w->of);
    if (w->index >= 0 && w->name)
        buf_printf(b, "%s (parameter %d, %s) ", w->name, w->index + 1, type);
    else if (w->index >= 0)
        buf_printf(b, "parameter %d (%s) ", w->index + 1, type);
    else if (w->name)
        buf_printf(b, "%s (%s) ", w->name, type);
    else
        buf_printf(b, "the %s ", type);
}

void native_refuse(Interp *in, const NativeWhere *w, const CType *t, const char *help,
                   const char *fmt, ...)
{
    Buf text;
    buf_init(&text, &in->ctx);
    subject(in, &text, w, t);
    va_list args;
    va_start(args, fmt);
    buf_vprintf(&text, fmt, args);
    va_end(args);
    Error *e = err_new(&in->ctx, ERR_FFI, "%s", buf_cstr(&text));
    buf_free(&text);
    if (w->operand >= 0)
        err_underline(e, w->operand);
    if (help)
        err_help(e, "%s", help);
    err_throw(e);
}

const char *native_text(Interp *in, const NativeWhere *w)
{
    const char *text = w->operand >= 0 ? err_operand_name(&in->ctx, w->operand) : NULL;
    if (!text)
        text = "x";
    if (w->item == 0)
        return text;
    char *out = in->ctx.operand_text[in->ctx.operand_next++ % 4];
    snprintf(out, sizeof in->ctx.operand_text[0], "%.60s[%u]", text, w->item - 1);
    return out;
}

const char *native_assigns(const NativeWhere *w, bool written, const char *x, char out[80])
{
    bool assigns = (w->variable || written) && strlen(x) < 60;
    snprintf(out, 80, "%s%s", assigns ? x : "", assigns ? " = " : "");
    return out;
}

enum { HELP = 300 };

/* ---- a number was wanted ---- */
static void help_plain(char help[HELP], const CType *t)
{
    snprintf(help, HELP, t->kind == CK_BOOL ? "true or false" : t->kind < CK_FLOAT
             ? "a number, as 0"
             : "a number, as 0.0 or nan");
}

/* How an element of dtype dt becomes a t: what stands around it. */
static const char *element_cast(const CType *t, DType dt)
{
    char kind = dtype_info(dt)->kind;
    if (t->kind == CK_BOOL && kind != 'b')
        return "%s != 0";
    if (t->kind < CK_FLOAT && kind != 'i' && kind != 'b')
        return kind == 'c' ? "int(real(%s))" : "int(%s)";
    return t->kind == CK_FLOAT && kind == 'c' ? "real(%s)" : "%s";
}

static void help_element(char help[HELP], const CType *t, const char *x, const Tensor *v,
                         const NativeWhere *w)
{
    char element[120];
    int n = snprintf(element, sizeof element, "%.60s[", x), many = 0;
    if (v->size == 0) {
        help_plain(help, t);
        return;
    }
    for (int i = 0; i < v->rank && n < 110; i++)
        n += snprintf(element + n, sizeof element - (size_t)n, i ? ", 0" : "0");
    snprintf(element + n, sizeof element - (size_t)n, "]");
    const char *cast = element_cast(t, (DType)v->dtype);
    if (v->size > 1 && w->of && w->index == 0 && strcmp(cast, "%s") == 0)
        many = snprintf(help, HELP, "map(%.40s, %.40s) takes all of them; one: ", w->of, x);
    c_snprintf(help + many, (size_t)(HELP - many), cast, element);
}

static void help_float_to_int(char help[HELP], const char *set, const char *x, double f)
{
    if (!isfinite(f))
        snprintf(help, HELP, "no int is %s", isnan(f) ? "nan" : f > 0 ? "inf" : "-inf");
    else if (f == floor(f))
        snprintf(help, HELP, "%sint(%s)", set, x);
    else
        snprintf(help, HELP, "%sint(%s) cuts it off, %sint(round(%s)) is the nearest",
                 set, x, set, x);
}

static void help_scalar(char help[HELP], const CType *t, const char *x, Value v,
                        const NativeWhere *w)
{
    char set[80];
    native_assigns(w, false, x, set);
    DType dt = v_dtype(v);
    bool integer = t->kind < CK_FLOAT;
    if (t->kind == CK_BOOL)
        snprintf(help, HELP, "%s%s != 0", set, x);
    else if (dt == DT_INTERVAL)
        snprintf(help, HELP, integer ? "%sint(float(%s))" : "%sfloat(%s)", set, x);
    else if (dtype_info(dt)->kind == 'c')
        snprintf(help, HELP, integer ? "%sint(real(%s))" : "%sreal(%s)", set, x);
    else if (v.tag == V_FLOAT)
        help_float_to_int(help, set, x, v.f);
    else
        snprintf(help, HELP, "%sint(%s)", set, x);
}

static bool is_number_text(const Str *s, bool integer)
{
    char *end;
    if (s->len == 0 || memchr(s->text, 0, s->len))
        return false;
    if (integer)
        strtoll(s->text, &end, 10);
    else
        c_strtod(s->text, &end);
    return *end == '\0';
}

static void help_text(char help[HELP], const CType *t, const char *x, Str *s)
{
    size_t at = 0;
    if (t->kind != CK_BOOL && t->kind != CK_CHAR && is_number_text(s, t->kind < CK_FLOAT))
        snprintf(help, HELP, t->kind < CK_FLOAT ? "int(%s)" : "float(%s)", x);
    else if (t->kind == CK_CHAR)
        snprintf(help, HELP, "one ASCII character, as \"a\", or its code");
    else if (t->kind < CK_FLOAT && t->kind != CK_BOOL && str_chars(s) == 1)
        snprintf(help, HELP, "the code of that character: %u", utf8_next(s->text, s->len, &at));
    else
        help_plain(help, t);
}

/* The first of a tuple or range, or what a pointer points to. */
static void help_first(char help[HELP], const CType *t, const char *x, Value v)
{
    DType dt = DT_NONE;
    if (v.tag == V_RANGE)
        dt = v.range->count ? DT_I64 : DT_NONE;
    else if (v.tag == V_TUPLE && v.tuple->count && native_is_scalar(v.tuple->items[0]))
        dt = v_dtype(v.tuple->items[0]);
    else if (v.tag == V_POINTER && ((Pointer *)v.ptr)->at &&
             native_is_number(((Pointer *)v.ptr)->to))
        dt = native_dtype(((Pointer *)v.ptr)->to);
    if (dt == DT_NONE) {
        help_plain(help, t);
        return;
    }
    char element[120];
    snprintf(element, sizeof element, "%.100s[0]", x);
    c_snprintf(help, HELP, element_cast(t, dt), element);
}

static const char *field_of_number(const CType *t)
{
    for (uint32_t i = 0; i < t->record->count; i++)
        if (t->record->fields[i].name && native_is_number(t->record->fields[i].type))
            return t->record->fields[i].name;
    return NULL;
}

static void help_number(Interp *in, char help[HELP], const CType *t, Value v, const NativeWhere *w)
{
    const char *x = native_text(in, w), *field;
    switch ((Tag)v.tag) {
    case V_INT: case V_BOOL: case V_FLOAT:
        help_scalar(help, t, x, v, w);
        break;
    case V_TENSOR:
        if (v.tensor->rank == 0)
            help_scalar(help, t, x, v, w);
        else
            help_element(help, t, x, v.tensor, w);
        break;
    case V_STRING:
        help_text(help, t, x, v.str);
        break;
    case V_TUPLE: case V_RANGE: case V_POINTER:
        help_first(help, t, x, v);
        break;
    case V_STRUCT:
        field = field_of_number(((Struct *)v.ptr)->type);
        snprintf(help, HELP, field ? "one of its fields: %s.%s" : "one of its fields", x, field);
        break;
    case V_FUNCTION: case V_OP: case V_CFUNC:
        snprintf(help, HELP, "what it gives, and not it: %s(…)", x);
        break;
    default:
        help_plain(help, t);
    }
}

/* ---- a record or pointer was wanted ---- */
/* The name that makes one: the typedef's or the tag. */
const char *native_record_name(const CType *t)
{
    if (t->record->tag)
        return t->record->tag;
    const char *space = t->name ? strrchr(t->name, ' ') : NULL;
    return space ? space + 1 : t->name;
}

static bool all_numbers(Value v)
{
    if (v.tag == V_TENSOR)
        return v.tensor->rank == 1;
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        if (!native_is_scalar(v.tuple->items[i]))
            return false;
    return v.tag == V_TUPLE && v.tuple->count > 0;
}

static void help_record(Interp *in, char help[HELP], const CType *t, bool written, Value v,
                        const NativeWhere *w)
{
    const char *name = native_record_name(t), *x = native_text(in, w);
    char set[80];
    if (!name)
        snprintf(help, HELP, "a value of that type");
    else if (v.tag == V_TUPLE && v.tuple->count && v.tuple->items[0].tag == V_STRUCT)
        snprintf(help, HELP, "a tuple goes as an array where each of its items is a %s", name);
    else if (all_numbers(v))
        snprintf(help, HELP, "%s%s(%s...)", native_assigns(w, written, x, set), name, x);
    else
        snprintf(help, HELP, "%s() makes one", name);
}

static void help_function(char help[HELP], const CType *fn)
{
    int n = snprintf(help, HELP, "a function, as (");
    for (uint32_t i = 0; i < fn->param_count && n < HELP - 40; i++) {
        const char *name = fn->params[i].name;
        char letter[2] = { (char)('a' + i % 26), 0 };
        n += snprintf(help + n, (size_t)(HELP - n), i ? ", %s" : "%s", name ? name : letter);
    }
    snprintf(help + n, (size_t)(HELP - n), ") -> %s", fn->of->kind == CK_VOID ? "none"
             : fn->of->kind == CK_POINTER ? "null" : fn->of->kind >= CK_FLOAT ? "0.0" : "0");
}

static void help_elements(char help[HELP], const CType *to, const char *x, Value v,
                          const NativeWhere *w)
{
    size_t n;
    DType dt = native_dtype(native_innermost(to, &n));
    const char *cast = dt == DT_NONE ? "f64" : dtype_name(dt);
    char set[80];
    native_assigns(w, !native_is_const(to), x, set);
    if (native_is_scalar(v))
        snprintf(help, HELP, dtype_cells(v_dtype(v)) ? "%s[f64(%s)]" : "%s[%s]", set, x);
    else if (v.tag == V_RANGE)
        snprintf(help, HELP, "%s%s(%s)", set, cast, x);
    else if (all_numbers(v))
        snprintf(help, HELP, "%s%s([v for v in %s])", set, cast, x);
    else if (v.tag == V_STRING && is_number_text(v.str, false))
        snprintf(help, HELP, "%s%s([float(%s)])", set, cast, x);
    else
        snprintf(help, HELP, "a tensor, as %s([0, 0])", cast);
}

/* Bytes are buffers: C seldom writes one, and a number has no room for more. `own`: x is a
 * variable. */
static void help_buffer(char help[HELP], const CType *to, const char *x, bool own)
{
    const char *dtype = to->kind == CK_VOID || to->is_unsigned ? "u8" : "i8";
    int n = own && strncmp(x, "ptr(", 4) == 0 ? (int)strcspn(x + 4, ",)") : 0;
    if (n)
        x += 4;                          /* the x of ptr(x, n) */
    n = n ? n : (int)strlen(x);
    if (!own)
        snprintf(help, HELP, "a buffer: s = zeros(256, dtype=%s), and s in its place", dtype);
    else if (to->kind == CK_VOID)
        snprintf(help, HELP, "a buffer: %.*s = zeros(256, dtype=u8); one number: %.*s = [%.*s]", n,
                 x, n, x, n, x);
    else
        snprintf(help, HELP, "a buffer: %.*s = zeros(256, dtype=%s)", n, x, dtype);
}

static bool takes_bytes(const CType *to)
{
    return (native_is_text(to) || to->kind == CK_VOID) && !native_is_const(to);
}

static void help_pointer(Interp *in, char help[HELP], const CType *t, Value v, const NativeWhere *w)
{
    const CType *to = t->of;
    const char *x = native_text(in, w);
    if (v.tag == V_NONE)
        snprintf(help, HELP, "null is the pointer to nothing");
    else if (to->kind == CK_FUNCTION)
        help_function(help, to);
    else if (v.tag == V_POINTER)
        snprintf(help, HELP, "declared `%svoid *`, it takes any pointer",
                 native_is_const(to) ? "const " : "");
    else if (v.tag == V_CTYPE)
        snprintf(help, HELP, "%s() makes a value", x);
    else if (to->kind == CK_POINTER && v.tag != V_STRING)
        snprintf(help, HELP, native_is_const(to) || w->index < 0 ? "texts, as (\"a\", \"b\")"
                                                                 : "%s = null", x);
    else if (native_is_scalar(v) && takes_bytes(to))
        help_buffer(help, to, x, true);
    else if (native_is_text(to) && native_is_scalar(v))
        snprintf(help, HELP, "\"{%s}\"", x);
    else if (to->kind == CK_POINTER && v.tag == V_STRING)
        snprintf(help, HELP, "(%s,)", x);
    else if (ctype_is_record(to))
        help_record(in, help, to, !native_is_const(to), v, w);
    else if (native_is_text(to))
        snprintf(help, HELP, "a string, as \"text\"");
    else
        help_elements(help, to, x, v, w);
}

/* What v is: for pointers and C functions their type says more than `a pointer`. */
static void describe(Interp *in, char *out, size_t cap, Value v)
{
    char type[96];
    if (v.tag == V_POINTER) {
        const CType pointer = ctype_pointer_to(((Pointer *)v.ptr)->to);
        native_type_text(in, &pointer, type, sizeof type);
        snprintf(out, cap, "%s %s", strchr("aeiou", type[0]) ? "an" : "a", type);
    } else if (v.tag == V_STRUCT) {
        snprintf(out, cap, "a %s",
                 native_type_text(in, ((Struct *)v.ptr)->type, type, sizeof type));
    } else if (v.tag == V_CFUNC) {
        snprintf(out, cap, "a C function, %s",
                 native_type_text(in, ((CFunction *)v.ptr)->type, type, sizeof type));
    } else if (v.tag == V_CTYPE) {
        snprintf(out, cap, "a C type");
    } else if (v.tag == V_TENSOR && v.tensor->rank == 0 &&
               dtype_info(v.tensor->dtype)->kind == 'c') {
        snprintf(out, cap, "complex");
    } else {
        v_describe_a(v, out, cap);
    }
}

void native_refuse_value(Interp *in, const NativeWhere *w, const CType *t, Value v)
{
    char help[HELP] = "", what[160];
    if (v.tag == V_TRACED)
        err_raise_help(&in->ctx, ERR_GRAD,
                       "detach(…) of the argument makes it a constant, custom_rule gives a "
                       "function around the call a rule",
                       "%s is a C function, which has no derivative", w->of);
    describe(in, what, sizeof what, v);
    if (ctype_is_record(t))
        help_record(in, help, t, false, v, w);
    else if (t->kind == CK_FUNCTION)
        help_function(help, t);
    else if (t->kind == CK_POINTER)
        help_pointer(in, help, t, v, w);
    else
        help_number(in, help, t, v, w);
    native_refuse(in, w, t, help, "is %s", what);
}

/* ---- C writes there ---- */
void native_refuse_target(Interp *in, const NativeWhere *w, const CType *t, Value v)
{
    char help[HELP], what[160];
    const char *x = native_text(in, w);
    describe(in, what, sizeof what, v);
    if (v.tag == V_STRING && (native_is_text(t->of) || t->of->kind == CK_VOID))
        snprintf(help, HELP,
                 "a buffer: s = zeros(256, dtype=i8); declared `const %s *`, where C only reads, "
                 "it takes a text", t->of->kind == CK_VOID ? "void" : "char");
    else if (v.tag == V_STRING)
        snprintf(help, HELP, t->of->kind == CK_POINTER ? "a variable that holds null: %s = null"
                 : "a variable that holds a number, as %s = 0", x);
    else if (native_is_scalar(v) && takes_bytes(t->of))
        help_buffer(help, t->of, x, false);
    else if (w->index < 0)
        snprintf(help, HELP, "pin the variable and give ptr of it: pin(…), then ptr(…)");
    else
        snprintf(help, HELP, "give C a variable: y = %s, and y in its place", x);
    native_refuse(in, w, t, help, v.tag == V_STRING ? "is written by C, and %s never changes"
                                                    : "is written by C, and this is %s without a "
                                                      "variable", what);
}
