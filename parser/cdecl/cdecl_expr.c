/* Constant expressions of C: in #if, enumerators, array lengths, and the values of #define. They
 * are worked out while they are read, with C's own types and conversions, so no tree can be deep;
 * only lengths that name parameters (`double a[m*n]`) leave one, for the call to work out. */
#include "parser/cdecl/cdecl_parts.h"

#include "core/system/ascii.h"
#include "core/system/c_locale.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { PARAM_DEPTH = 60 };

/* ---- lengths that name parameters ---- */

static bool shift_value(int op, int64_t a, int64_t b, int64_t *out)
{
    if (b < 0 || b > 62 || a < 0 || (op == 'L' && a > INT64_MAX >> b))
        return false;
    *out = op == 'L' ? a << b : a >> b;
    return true;
}

static bool binary_value(int op, int64_t a, int64_t b, int64_t *out)
{
    switch (op) {
    case '+': return !__builtin_add_overflow(a, b, out);
    case '-': return !__builtin_sub_overflow(a, b, out);
    case '*': return !__builtin_mul_overflow(a, b, out);
    case '/':
    case '%':
        if (b == 0 || (a == INT64_MIN && b == -1))
            return false;
        *out = op == '/' ? a / b : a % b;
        return true;
    case 'L':
    case 'R': return shift_value(op, a, b, out);
    case '<': *out = a < b; return true;
    case '>': *out = a > b; return true;
    case 'l': *out = a <= b; return true;
    case 'g': *out = a >= b; return true;
    case '=': *out = a == b; return true;
    case 'n': *out = a != b; return true;
    case '&': *out = a & b; return true;
    case '^': *out = a ^ b; return true;
    case '|': *out = a | b; return true;
    default: return false;
    }
}

bool cexpr_value(const CExpr *e, const int64_t *params, int64_t *out)
{
    int64_t a, b;
    switch (e->kind) {
    case CX_INT: *out = e->value; return true;
    case CX_PARAM: *out = params[e->value]; return true;
    case CX_UNARY:
        if (!cexpr_value(e->a, params, &a))
            return false;
        if (e->op == '-')
            return !__builtin_sub_overflow((int64_t)0, a, out);
        *out = e->op == '~' ? ~a : !a;
        return true;
    case CX_BINARY:
        if (!cexpr_value(e->a, params, &a))
            return false;
        if (e->op == 'a' || e->op == 'o') {
            if ((a != 0) == (e->op == 'o')) {
                *out = e->op == 'o';
                return true;
            }
            if (!cexpr_value(e->b, params, &b))
                return false;
            *out = b != 0;
            return true;
        }
        return cexpr_value(e->b, params, &b) && binary_value(e->op, a, b, out);
    case CX_CHOOSE:
        return cexpr_value(e->a, params, &a) && cexpr_value(a ? e->b : e->c, params, out);
    }
    return false;
}

static CExpr *expr_new(CParser *p, CExprKind kind, int op, const CExpr *a, const CExpr *b)
{
    CExpr *e = arena_alloc(p->arena, sizeof *e);
    *e = (CExpr){ .kind = kind, .op = op, .a = a, .b = b };
    return e;
}

static const CExpr *expr_int(CParser *p, int64_t value)
{
    CExpr *e = expr_new(p, CX_INT, 0, NULL, NULL);
    e->value = value;
    return e;
}

const CExpr *cd_expr_times(CParser *p, const CExpr *a, const CExpr *b)
{
    int64_t product;
    if (a->kind == CX_INT && b->kind == CX_INT &&
        !__builtin_mul_overflow(a->value, b->value, &product))
        return expr_int(p, product);
    if (b->kind == CX_INT && b->value == 1)
        return a;
    return expr_new(p, CX_BINARY, '*', a, b);
}

/* ---- values ---- */

static Val val_int(int64_t i, const CType *type, Span at)
{
    return (Val){ .kind = VL_INT, .i = i, .type = type, .at = at };
}

static const CType *plain_int(void) { return ctype_basic("int"); }

/* The value as a number of this integer type: cut to its bits. */
static int64_t wrap(int64_t i, const CType *t)
{
    if (t->kind == CK_BOOL)
        return i != 0;
    if (t->size >= 8)
        return i;
    int shift = 64 - 8 * (int)t->size;
    uint64_t bits = (uint64_t)i << shift;
    return t->is_unsigned ? (int64_t)(bits >> shift) : (int64_t)bits >> shift;
}

static Span join(Span a, Span b)
{
    return (Span){ a.from < b.from ? a.from : b.from, a.to > b.to ? a.to : b.to };
}

const CExpr *cd_length_expr(CParser *p, const Val *v)
{
    return v->kind == VL_PARAM ? v->expr : expr_int(p, v->i);
}

static bool truth(const Val *v)
{
    switch (v->kind) {
    case VL_FLOAT: return v->f != 0;
    case VL_TEXT: return true;
    default: return v->i != 0;
    }
}

static double as_double(const Val *v)
{
    return v->kind == VL_FLOAT    ? v->f
           : v->type->is_unsigned ? (double)(uint64_t)v->i
                                  : (double)v->i;
}

static void need_integer(CParser *p, const Val *v, const char *what)
{
    if (v->kind != VL_INT && v->kind != VL_PARAM)
        cd_error(p, v->at, NULL, "%s is an integer", what);
}

/* ---- literals ---- */

static Val number_wrong(CParser *p, const Tok *t)
{
    cd_error(p, t->at, NULL, "%s is no number of C", t->name->text);
}

/* The first of int, long and their unsigned kin that holds it: decimals are signed without a u. */
static const CType *literal_type(uint64_t n, bool is_unsigned, int longs, bool decimal)
{
    if (!longs && n <= INT_MAX && !is_unsigned)
        return plain_int();
    if (!longs && n <= UINT_MAX && (is_unsigned || !decimal))
        return ctype_int(4, true);
    if (!is_unsigned && n <= INT64_MAX)
        return ctype_int(8, false);
    return ctype_int(8, true);
}

static Val integer_literal(CParser *p, const Tok *t)
{
    const char *s = t->name->text;
    int base = 10;
    if (s[0] == '0' && (s[1] | 32) == 'x')
        base = 16, s += 2;
    else if (s[0] == '0' && (s[1] | 32) == 'b')
        base = 2, s += 2;
    else if (s[0] == '0')
        base = 8;
    char *end;
    errno = 0;
    uint64_t n = strtoull(s, &end, base);
    if (end == s || *s == '-' || *s == '+')
        return number_wrong(p, t);
    if (errno == ERANGE)
        cd_error(p, t->at, NULL, "%s does not fit into 64 bits", t->name->text);
    bool is_unsigned = false;
    int longs = 0;
    for (; *end; end++) {
        if ((*end | 32) == 'u' && !is_unsigned)
            is_unsigned = true;
        else if ((*end | 32) == 'l' && !longs)
            longs = end[1] == end[0] ? (end++, 2) : 1;
        else
            return number_wrong(p, t);
    }
    return val_int((int64_t)n, literal_type(n, is_unsigned, longs, base == 10), t->at);
}

/* Of types wider than double the value is a double all the same. */
static bool is_float_suffix(const char *s)
{
    static const char *const all[] = {
        "l", "f16", "f32", "f64", "f128", "f32x", "f64x", "bf16", "q", "w", "df", "dd", "dl",
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (ascii_casecmp(s, all[i]) == 0)
            return true;
    return false;
}

static Val number_literal(CParser *p, const Tok *t)
{
    const char *s = t->name->text;
    bool hex = s[0] == '0' && (s[1] | 32) == 'x';
    if (!strpbrk(s, hex ? ".pP" : ".eE"))
        return integer_literal(p, t);
    char *end;
    double f = c_strtod(s, &end);
    const CType *type = ctype_basic("double");
    if (ascii_casecmp(end, "f") == 0) {
        f = c_strtof(s, &end);
        type = ctype_basic("float");
    } else if (*end && !is_float_suffix(end)) {
        return number_wrong(p, t);
    }
    return (Val){ .kind = VL_FLOAT, .f = f, .type = type, .at = t->at };
}

static Val char_literal(CParser *p, const Tok *t)
{
    buf_clear(&p->piece);
    if (!cd_text_decode(t, &p->piece) || p->piece.len == 0 || p->piece.len > 4)
        cd_error(p, t->at, NULL, "%s is no character of one byte", t->name->text);
    if (p->piece.len == 1)
        return val_int((char)p->piece.data[0], plain_int(), t->at);
    uint32_t value = 0;
    for (size_t i = 0; i < p->piece.len; i++)
        value = value << 8 | (unsigned char)p->piece.data[i];
    return val_int((int32_t)value, plain_int(), t->at);
}

/* Neighbours are one string. */
static Val text_literal(CParser *p)
{
    Span at = cd_peek(p)->at;
    buf_clear(&p->piece);
    while (cd_peek(p)->kind == TK_TEXT) {
        const Tok *t = cd_next(p);
        at = join(at, t->at);
        if (!cd_text_decode(t, &p->piece))
            cd_error(p, t->at, NULL, "this string is wide, or one of its escapes is none of C");
    }
    return (Val){ .kind = VL_TEXT, .text = arena_copy(p->arena, buf_cstr(&p->piece), p->piece.len),
                  .len = p->piece.len, .at = at };
}

/* ---- names ---- */

static Val val_constant(const CConst *c, const CType *type, Span at)
{
    switch (c->kind) {
    case CC_FLOAT: return (Val){ .kind = VL_FLOAT, .f = c->f, .type = type, .at = at };
    case CC_TEXT: return (Val){ .kind = VL_TEXT, .text = c->text, .len = c->len, .at = at };
    case CC_POINTER: return (Val){ .kind = VL_POINTER, .i = c->i, .type = type, .at = at };
    default: return val_int(c->i, type, at);
    }
}

CConst cd_constant(const Val *v)
{
    switch (v->kind) {
    case VL_FLOAT: return (CConst){ .kind = CC_FLOAT, .f = v->f };
    case VL_TEXT: return (CConst){ .kind = CC_TEXT, .text = v->text, .len = v->len };
    case VL_POINTER: return (CConst){ .kind = CC_POINTER, .i = v->i };
    default:
        return (CConst){ .kind = v->type->is_unsigned && v->i < 0 ? CC_UINT : CC_INT, .i = v->i };
    }
}

static bool is_param(const CParser *p, const Name *name)
{
    for (uint32_t i = 0; p->params && i < p->params->count; i++)
        if (p->params->names[i] == name)
            return true;
    return false;
}

static Val pending_param(CParser *p, const Tok *t)
{
    CExpr *e = expr_new(p, CX_PARAM, 0, NULL, NULL);
    Pending *w = arena_alloc(&p->tmp, sizeof *w);
    *w = (Pending){ p->params->pending, e, t->name, t->at };
    p->params->pending = w;
    return (Val){ .kind = VL_PARAM, .expr = e, .at = t->at };
}

static Val name_value(CParser *p)
{
    const Tok *t = cd_next(p);
    const char *s = t->name->text;
    const Symbol *symbol = cd_slot(p, t->name)->symbol;
    if (p->condition) {
        if (cd_is(p, '('))                       /* a macro of a file that is not read: 0 as well */
            cd_skip_brackets(p);
        return val_int(strcmp(s, "true") == 0, plain_int(), t->at);
    }
    if (p->params && is_param(p, t->name))
        return pending_param(p, t);
    if (symbol && symbol->kind == SY_CONSTANT)
        return val_constant(&symbol->value, symbol->type, t->at);
    if (strcmp(s, "true") == 0 || strcmp(s, "false") == 0)
        return val_int(*s == 't', plain_int(), t->at);
    if (strcmp(s, "nullptr") == 0)
        return (Val){ .kind = VL_POINTER, .at = t->at };
    if (p->params)
        return pending_param(p, t);
    cd_unknown_constant(p, t);
}

/* ---- operators ---- */

static Val unary(CParser *p);

static Val val_param(CParser *p, const CExpr *e, int depth, Span at)
{
    if (depth > PARAM_DEPTH)
        cd_error(p, at, NULL, "this length is too long an expression");
    return (Val){ .kind = VL_PARAM, .expr = e, .depth = depth, .at = at };
}

static Val cast(CParser *p, const CType *t, Val v, Span at)
{
    at = join(at, v.at);
    if (v.kind == VL_PARAM && ctype_is_integer(t))
        return val_param(p, v.expr, v.depth, at);
    if (ctype_is_integer(t) && (v.kind == VL_INT || v.kind == VL_FLOAT || v.kind == VL_POINTER)) {
        int64_t i = v.i;
        if (v.kind == VL_FLOAT && t->kind == CK_BOOL)
            i = v.f != 0;
        else if (v.kind == VL_FLOAT && !(v.f > -0x1p63 - 1 && v.f < 0x1p63))
            cd_error(p, at, NULL, "this number does not fit into an integer");
        else if (v.kind == VL_FLOAT)
            i = (int64_t)v.f;
        return val_int(wrap(i, t), t, at);
    }
    if (t->kind == CK_FLOAT && (v.kind == VL_INT || v.kind == VL_FLOAT)) {
        double f = as_double(&v);
        return (Val){ .kind = VL_FLOAT, .f = t->size == 4 ? (float)f : f, .type = t, .at = at };
    }
    if (t->kind == CK_POINTER && (v.kind == VL_INT || v.kind == VL_POINTER))
        return (Val){ .kind = VL_POINTER, .i = v.i, .type = t, .at = at };
    if (t->kind == CK_POINTER && v.kind == VL_TEXT)
        return v;
    cd_error(p, at, NULL, "a cast that is no constant");
}

static size_t size_of_value(CParser *p, const Val *v)
{
    if (v->kind == VL_PARAM)
        cd_error(p, v->at, "sizeof(type)", "sizeof a parameter is no constant here");
    return v->kind == VL_TEXT ? v->len + 1 : v->kind == VL_POINTER ? sizeof(void *) : v->type->size;
}

static Val size_value(CParser *p, const CType *t, bool align, Span at)
{
    if (!ctype_complete(t))
        cd_error(p, at, NULL, "%s has no size: its fields were not given",
                 t->name ? t->name : "this type");
    return val_int(align ? (int64_t)ctype_align(t) : (int64_t)ctype_size(t),
                   ctype_basic("unsigned long"), at);
}

/* sizeof and _Alignof of a type, an expression or a variable. */
static Val size_operator(CParser *p, bool align)
{
    Span at = cd_next(p)->at;
    if (cd_is(p, '(') && cd_type_starts(p, cd_ahead(p, 1))) {
        cd_next(p);
        const CType *t = cd_type_name(p);
        at = join(at, cd_expect(p, ')', "after the type"));
        return size_value(p, t, align, at);
    }
    const Tok *name = cd_is(p, '(') ? cd_ahead(p, 1) : cd_peek(p);
    const Symbol *s = name->kind == TK_NAME ? cd_slot(p, name->name)->symbol : NULL;
    if (s && s->kind == SY_OBJECT) {
        bool wrapped = cd_accept(p, '(');
        cd_next(p);
        if (wrapped)
            cd_expect(p, ')', "after the name");
        return size_value(p, s->type, align, join(at, name->at));
    }
    Val v = unary(p);
    return val_int((int64_t)size_of_value(p, &v), ctype_basic("unsigned long"), join(at, v.at));
}

static Val offset_operator(CParser *p)
{
    Span at = cd_next(p)->at;
    cd_expect(p, '(', "after offsetof");
    const CType *t = cd_type_name(p);
    cd_expect(p, ',', "after the type");
    size_t offset = 0;
    do {
        const Tok *name = cd_next(p);
        size_t inside = 0;
        const CField *f = ctype_field(t, name->name->text, name->name->len, &inside);
        if (!f)
            cd_error(p, name->at, NULL, "%s has no field %s", t->name ? t->name : "this type",
                     name->name->text);
        offset += inside;
        t = f->type;
    } while (cd_accept(p, '.'));
    at = join(at, cd_expect(p, ')', "after the field"));
    return val_int((int64_t)offset, ctype_basic("unsigned long"), at);
}

static Val primary(CParser *p)
{
    const Tok *t = cd_peek(p);
    switch (t->kind) {
    case TK_NUMBER: cd_next(p); return number_literal(p, t);
    case TK_CHAR: cd_next(p); return char_literal(p, t);
    case TK_TEXT: return text_literal(p);
    case TK_NAME: return name_value(p);
    default: break;
    }
    if (!cd_accept(p, '('))
        cd_unexpected(p, "a constant");
    Val v = cd_expression(p);
    v.at = join(join(t->at, v.at), cd_expect(p, ')', "to close this parenthesis"));
    return v;
}

static const CType *promote(const CType *t)
{
    return t->size < 4          ? plain_int()
           : t->kind == CK_ENUM ? ctype_int((int)t->size, t->is_unsigned)
                                : t;
}

static Val sign_operator(CParser *p, uint32_t op)
{
    Span from = cd_next(p)->at;
    Val v = unary(p);
    v.at = join(from, v.at);
    if (op == '!' && v.kind != VL_PARAM)
        return val_int(!truth(&v), plain_int(), v.at);
    if (v.kind == VL_PARAM)
        return op == '+' ? v : val_param(p, expr_new(p, CX_UNARY, (int)op, v.expr, NULL),
                                         v.depth + 1, v.at);
    if (v.kind == VL_FLOAT && op != '~') {
        v.f = op == '-' ? -v.f : v.f;
        return v;
    }
    need_integer(p, &v, "the operand");
    v.type = promote(v.type);
    v.i = wrap(op == '-' ? (int64_t)(0 - (uint64_t)v.i) : op == '~' ? ~v.i : v.i, v.type);
    return v;
}

static Val unary_here(CParser *p)
{
    const Tok *t = cd_peek(p);
    if (t->kind == TK_PUNCT &&
        (t->punct == '-' || t->punct == '+' || t->punct == '~' || t->punct == '!'))
        return sign_operator(p, t->punct);
    if (p->condition || t->kind == TK_TEXT)
        return primary(p);
    if (cd_word(p, "sizeof"))
        return size_operator(p, false);
    if (cd_word(p, "_Alignof") || cd_word(p, "alignof") || cd_word(p, "__alignof__") ||
        cd_word(p, "__alignof"))
        return size_operator(p, true);
    if (cd_word(p, "offsetof") || cd_word(p, "__builtin_offsetof"))
        return offset_operator(p);
    if (cd_word(p, "__extension__")) {
        cd_next(p);
        return unary(p);
    }
    if (cd_is(p, '(') && cd_type_starts(p, cd_ahead(p, 1))) {
        cd_next(p);
        const CType *type = cd_type_name(p);
        cd_expect(p, ')', "after the type of this cast");
        return cast(p, type, unary(p), t->at);
    }
    return primary(p);
}

static Val unary(CParser *p)
{
    cd_enter(p, cd_peek(p)->at);
    Val v = unary_here(p);
    cd_leave(p);
    return v;
}

/* The codes of CExpr, from the weakest binding to the strongest. */
static int operator_of(const Tok *t, int *level)
{
    static const struct { uint32_t punct; char op, level; } all[] = {
        { P2('|', '|'), 'o', 1 }, { P2('&', '&'), 'a', 2 }, { '|', '|', 3 },
        { '^', '^', 4 },          { '&', '&', 5 },          { P2('=', '='), '=', 6 },
        { P2('!', '='), 'n', 6 }, { '<', '<', 7 },          { '>', '>', 7 },
        { P2('<', '='), 'l', 7 }, { P2('>', '='), 'g', 7 }, { P2('<', '<'), 'L', 8 },
        { P2('>', '>'), 'R', 8 }, { '+', '+', 9 },          { '-', '-', 9 },
        { '*', '*', 10 },         { '/', '/', 10 },         { '%', '%', 10 },
    };
    for (size_t i = 0; t->kind == TK_PUNCT && i < sizeof all / sizeof *all; i++)
        if (all[i].punct == t->punct) {
            *level = all[i].level;
            return all[i].op;
        }
    return 0;
}

static Val compare(int op, int order, Span at)
{
    bool less = order == -1, equal = order == 0, more = order == 1, is = false;
    switch (op) {
    case '<': is = less; break;
    case '>': is = more; break;
    case '=': is = equal; break;
    case 'n': is = !equal; break;
    case 'l': is = less || equal; break;
    default: is = more || equal;
    }
    return val_int(is, plain_int(), at);
}

static bool compares(int op) { return strchr("<>lg=n", op); }

static Val float_binary(CParser *p, int op, const Val *a, const Val *b, Span at)
{
    double x = as_double(a), y = as_double(b), f = 0;
    if (compares(op))
        return compare(op, x < y ? -1 : x > y ? 1 : x == y ? 0 : 2, at);
    switch (op) {
    case '+': f = x + y; break;
    case '-': f = x - y; break;
    case '*': f = x * y; break;
    case '/': f = x / y; break;
    default: cd_error(p, at, NULL, "this operator takes integers");
    }
    bool narrow =
        (a->kind != VL_FLOAT || a->type->size == 4) && (b->kind != VL_FLOAT || b->type->size == 4);
    return (Val){ .kind = VL_FLOAT, .f = narrow ? (float)f : f, .at = at,
                  .type = ctype_basic(narrow ? "float" : "double") };
}

/* Division as C does it; an operand that C does not evaluate may divide by 0. */
static int64_t divide(CParser *p, int op, int64_t a, int64_t b, bool is_unsigned, Span at)
{
    if (b == 0) {
        if (!p->idle)
            cd_error(p, at, NULL, "division by zero");
        return 0;
    }
    if (is_unsigned)
        return (int64_t)(op == '/' ? (uint64_t)a / (uint64_t)b : (uint64_t)a % (uint64_t)b);
    if (b == -1)
        return op == '/' ? (int64_t)(0 - (uint64_t)a) : 0;
    return op == '/' ? a / b : a % b;
}

static int64_t shift(CParser *p, int op, const CType *t, int64_t a, int64_t b, Span at)
{
    if (b < 0 || b >= 8 * (int64_t)t->size) {
        if (!p->idle)
            cd_error(p, at, NULL, "a shift by %lld in %zu bits", (long long)b, 8 * t->size);
        return 0;
    }
    if (op == 'L')
        return (int64_t)((uint64_t)a << b);
    return t->is_unsigned ? (int64_t)((uint64_t)a >> b) : a >> b;
}

static const CType *common(const CType *a, const CType *b)
{
    a = promote(a);
    b = promote(b);
    if (a->size != b->size)
        return a->size > b->size ? a : b;
    return a->is_unsigned ? a : b;
}

static Val int_binary(CParser *p, int op, const Val *a, const Val *b, Span at)
{
    bool shifts = op == 'L' || op == 'R';
    /* #if counts in 64 bits */
    const CType *t = shifts ? promote(a->type) : common(a->type, b->type);
    if (p->condition)
        t = ctype_int(8, t->is_unsigned);
    int64_t x = wrap(a->i, t), y = shifts ? b->i : wrap(b->i, t), r = 0;
    if (compares(op)) {
        bool less = t->is_unsigned ? (uint64_t)x < (uint64_t)y : x < y;
        return compare(op, x == y ? 0 : less ? -1 : 1, at);
    }
    switch (op) {
    case '+': r = (int64_t)((uint64_t)x + (uint64_t)y); break;
    case '-': r = (int64_t)((uint64_t)x - (uint64_t)y); break;
    case '*': r = (int64_t)((uint64_t)x * (uint64_t)y); break;
    case '&': r = x & y; break;
    case '^': r = x ^ y; break;
    case '|': r = x | y; break;
    case 'L':
    case 'R': r = shift(p, op, t, x, y, at); break;
    default: r = divide(p, op, x, y, t->is_unsigned, at);
    }
    return val_int(wrap(r, t), t, at);
}

static Val param_binary(CParser *p, int op, const Val *a, const Val *b, Span at)
{
    need_integer(p, a, "a length");
    need_integer(p, b, "a length");
    int depth = (a->depth > b->depth ? a->depth : b->depth) + 1;
    return val_param(p, expr_new(p, CX_BINARY, op, cd_length_expr(p, a), cd_length_expr(p, b)),
                     depth, at);
}

static Val apply(CParser *p, int op, const Val *a, const Val *b)
{
    Span at = join(a->at, b->at);
    if (a->kind == VL_PARAM || b->kind == VL_PARAM)
        return param_binary(p, op, a, b, at);
    if (op == 'a' || op == 'o')
        return val_int(op == 'a' ? truth(a) && truth(b) : truth(a) || truth(b), plain_int(), at);
    if (a->kind == VL_POINTER && b->kind == VL_POINTER && compares(op))
        return compare(op, a->i == b->i ? 0 : (uint64_t)a->i < (uint64_t)b->i ? -1 : 1, at);
    if ((a->kind != VL_INT && a->kind != VL_FLOAT) || (b->kind != VL_INT && b->kind != VL_FLOAT))
        cd_error(p, at, NULL, "C has no constant for an operator between strings or pointers");
    if (a->kind == VL_FLOAT || b->kind == VL_FLOAT)
        return float_binary(p, op, a, b, at);
    return int_binary(p, op, a, b, at);
}

static Val binary(CParser *p, int weakest)
{
    Val a = unary(p);
    for (int level, op; (op = operator_of(cd_peek(p), &level)) && level >= weakest;) {
        cd_next(p);
        bool idle = a.kind != VL_PARAM && ((op == 'a' && !truth(&a)) || (op == 'o' && truth(&a)));
        p->idle += idle;
        Val b = binary(p, level + 1);
        p->idle -= idle;
        a = apply(p, op, &a, &b);
    }
    return a;
}

static Val choose(CParser *p, const Val *test, const Val *yes, const Val *no)
{
    Span at = join(test->at, no->at);
    if (test->kind != VL_PARAM && yes->kind != VL_PARAM && no->kind != VL_PARAM) {
        Val v = truth(test) ? *yes : *no;
        if (yes->kind == VL_INT && no->kind == VL_INT)
            v = val_int(wrap(v.i, common(yes->type, no->type)), common(yes->type, no->type), at);
        v.at = at;
        return v;
    }
    need_integer(p, test, "a condition here");
    need_integer(p, yes, "a length");
    need_integer(p, no, "a length");
    CExpr *e = expr_new(p, CX_CHOOSE, 0, cd_length_expr(p, test), cd_length_expr(p, yes));
    e->c = cd_length_expr(p, no);
    int depth = test->depth > yes->depth ? test->depth : yes->depth;
    return val_param(p, e, (depth > no->depth ? depth : no->depth) + 1, at);
}

Val cd_expression(CParser *p)
{
    cd_enter(p, cd_peek(p)->at);
    Val v = binary(p, 1);
    if (cd_accept(p, '?')) {
        bool idle = v.kind != VL_PARAM && !truth(&v), other = v.kind != VL_PARAM && truth(&v);
        p->idle += idle;
        Val yes = cd_expression(p);
        p->idle -= idle;
        cd_expect(p, ':', "between the two values of ?");
        p->idle += other;
        Val no = cd_expression(p);
        p->idle -= other;
        v = choose(p, &v, &yes, &no);
    }
    cd_leave(p);
    return v;
}

int64_t cd_integer(CParser *p, const char *what)
{
    Val v = cd_expression(p);
    if (v.kind != VL_INT)
        cd_error(p, v.at, NULL, "%s is an integer constant", what);
    if (v.type->is_unsigned && v.i < 0)
        cd_error(p, v.at, NULL, "%s is less than 2^63", what);
    return v.i;
}
