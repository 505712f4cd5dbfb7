/* Entering and leaving precision and autocast scopes; the nodes that stand for operators and
 * literals inside of them. See eval_scope.h. Which kernel runs, and what is rounded, is the
 * door's business (dispatch.c). */
#include "interp/eval/eval_scope.h"
#include "core/system/c_locale.h"
#include "interp/op/arith.h"
#include "interp/op/deferred.h"
#include "interp/op/traced.h"
#include "interp/precision/accuracy.h"
#include "interp/state/format.h"
#include "interp/op/scalar.h"
#include "interp/eval/eval_binary.h"
#include "interp/eval/eval_make.h"
#include "interp/eval/eval_name.h"
#include "interp/lower/lower.h"
#include "interp/state/predefined.h"

#include "core/base/error.h"
#include "kernels/number/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>

/* ---- headers ---- */
/* op of a modifier's node. */
enum {
    MOD_ACCUMULATE, MOD_ROUND, MOD_SATURATE, MOD_FLUSH, MOD_REPRODUCIBLE, MOD_BACKWARD, MOD_SHADOW,
    MODIFIERS
};
static const char *const modifier_names[MODIFIERS] = { "accumulate", "round", "saturate", "flush",
                                                       "reproducible", "backward", "shadow" };
static const char *const mode_names[ROUND_MODES] = { "nearest", "away", "zero",  "up",
                                                     "down",    "odd",  "stochastic" };

static int word_index(const Name *name, const char *const *words, int n)
{
    int i = 0;
    while (i < n && strcmp(name->text, words[i]) != 0)
        i++;
    return i;
}

/* MODIFIER: op says which; a: the format of accumulate or backward; sa: the mode of round. */
static const Exec *lower_modifier(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, NULL, n);
    x->op = (uint8_t)word_index(n->name, modifier_names, MODIFIERS);
    if (x->op == MOD_ACCUMULATE || x->op == MOD_BACKWARD || x->op == MOD_SHADOW)
        x->a = lower_operand(lo, n->a);
    else if (x->op == MOD_ROUND)
        x->sa = (uint32_t)word_index(n->a->name, mode_names, ROUND_MODES);
    return x;
}

/* sa of a header: what asks for its format. */
enum { HEAD_COMPARE, HEAD_PRECISION, HEAD_AUTOCAST };
static const char *const head_words[] = { "compare", "precision", "autocast" };

bool scope_has_header(const Node *n)
{
    return n->kind == ND_PRECISION || n->kind == ND_AUTOCAST;
}

/* a: the format; list: modifiers; sa: HEAD; node: PRECISION, AUTOCAST, or the operand itself. */
const Exec *lower_scope_header(Lower *lo, const Node *n)
{
    bool full = scope_has_header(n);
    uint32_t count = full ? n->count : 0;
    Node *place = node_copy(lo, n);
    if (!full)                             /* what errors point at: a header with this operand */
        *place = (Node){ .kind = ND_PRECISION, .span = n->span, .mark = n->span, .a = (Node *)n };
    Exec *x = exec_new(lo, NULL, place);
    x->sa = n->kind == ND_PRECISION ? HEAD_PRECISION : full ? HEAD_AUTOCAST : HEAD_COMPARE;
    const Exec **list = lower_alloc(lo, (count + 1) * sizeof *list);
    x->a = lower_operand(lo, full ? n->a : n);
    for (uint32_t i = 0; i < count; i++)
        list[i] = lower_modifier(lo, n->list[i]);
    x->list = list;
    x->count = count;
    return x;
}

#define FORMATS "f64 f32 tf32 f16 bf16 e4m3 e5m2 e3m2 e2m3 e2m1 float(e, p) decimal(d) mp(bits) " \
                "rational interval"

_Noreturn static void raise_no_format(Interp *in, const char *word, Value v)
{
    char given[96];
    Error *e = err_new(&in->ctx, ERR_TYPE, "%s takes a format: %s is %s", word,
                       err_operand_text(&in->ctx, 0), v_article(v, given, sizeof given));
    err_underline(e, 0);
    DType meant = v.tag == V_STRING ? dtype_find(v.str->text, v.str->len) : v_dtype(v);
    if (v.tag == V_STRING && meant != DT_NONE)
        err_help(e, "without the quotes: %s", v.str->text);
    else if (v.tag == V_OP && v.op->as_format)
        err_help(e, "with its parameters: %s", v.op->as_format);
    else if (v.tag == V_TENSOR || v.tag == V_FLOAT)
        err_help(e, "in its format: %s (dtype(%s))", word, err_operand_text(&in->ctx, 0));
    else
        err_help(e, "formats are " FORMATS);
    err_throw(e);
}

/* What other languages and libraries call a format, or NULL. */
static const char *format_elsewhere(const char *name)
{
    static const char *const names[][2] = {
        { "half", "f16" }, { "float16", "f16" }, { "fp16", "f16" }, { "single", "f32" },
        { "float32", "f32" },
        { "fp32", "f32" }, { "double", "f64" }, { "float64", "f64" }, { "fp64", "f64" },
        { "bfloat16", "bf16" },
        { "fp8", "e4m3" }, { "float8_e4m3fn", "e4m3" }, { "float8_e5m2", "e5m2" },
        { "fp4", "e2m1" },
        { "quad", "mp(113)" }, { "float128", "mp(113)" }, { "f128", "mp(113)" },
        { "longdouble", "mp(64)" },
        { "BigFloat", "mp(200)" }, { "mpfr", "mp(200)" }, { "exact", "rational" },
        { "Fraction", "rational" },
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i][0]) == 0)
            return names[i][1];
    return NULL;
}

/* A name that is nothing: an unknown format. */
static void check_known(Interp *in, const Exec *site, const Exec *x, const char *word)
{
    const GlobalRef *ref = x->eval == eval_global ? x->data : NULL;
    const char *names[64];
    size_t n = 0;
    if (!ref || ref->slot->tag != V_UNDEF || predefined_find(in, ref->name->text).tag != V_UNDEF ||
        op_find(in, ref->name))
        return;
    in->at = site;
    while (n < 60 && format_name((int)n)) {
        names[n] = format_name((int)n);
        n++;
    }
    names[n++] = "mp(200)";
    names[n++] = "decimal(3)";
    const char *close = err_closest(ref->name->text, names, n),
               *ours = format_elsewhere(ref->name->text);
    Error *e = err_new(&in->ctx, ERR_NAME, "there is no format `%s`", ref->name->text);
    err_underline(e, 0);
    if (ours)
        err_help(e, "it is called %s here: %s %s", ours, word, ours);
    else if (close)
        err_help(e, "did you mean %s %s?", word, close);
    else
        err_help(e, "formats are " FORMATS);
    err_throw(e);
}

/* The real floating format that x evaluates to; `word` is what asks for it. */
static DType header_format(Interp *in, const Exec *site, const Exec *x, const char *word)
{
    check_known(in, site, x, word);
    Value v = exec_run(in, x);
    v_push(in, v);
    in->at = site;
    if (v.tag != V_FORMAT)
        raise_no_format(in, word, v);
    in->sp--;
    DType dt = v_format_dtype(v);
    char kind = dtype_info(dt)->kind;
    if (kind == 'f' || kind == 'q' || (dt == DT_I8 && word == head_words[HEAD_AUTOCAST]))
        return dt;
    Error *e = err_new(&in->ctx, ERR_DTYPE, kind == 'c' ? "%s takes a real format: %s is complex"
                       : kind == 'b' ? "%s takes a float format: %s holds true and false"
                                     : "%s takes a float format: %s holds integers",
                       word, dtype_name(dt));
    err_underline(e, 0);
    if (kind == 'c')
        err_help(e, "complex numbers follow the real format: %s %s", word,
                 dtype_name(dtype_real(dt)));
    else if (kind == 'i' && word == head_words[HEAD_AUTOCAST])
        err_help(e, "of whole numbers it has i8: autocast i8; floats are " FORMATS);
    else
        err_help(e, "formats are " FORMATS);
    err_throw(e);
}

/* What a modifier cannot mean in a format, or NULL. */
static const char *modifier_misfit(DType format, int modifier, uint32_t mode)
{
    DType base = dtype_base(format);
    int e, p;
    MiniStyle style;
    bool binary = dtype_mini_read(format, &e, &p, &style);
    if (format == DT_I8 && modifier != MOD_REPRODUCIBLE &&
        (modifier != MOD_ROUND || mode != ROUND_NEAREST))
        return modifier == MOD_BACKWARD ? "its products have no derivative"
                                        : "its sums are exact, and scales leave nothing outside";
    if (modifier == MOD_ROUND && mode != ROUND_NEAREST && base == DT_RATIONAL)
        return "fractions are exact, nothing is rounded";
    if (modifier == MOD_ROUND && mode != ROUND_NEAREST && base == DT_INTERVAL)
        return "the bounds of an interval are always rounded outwards";
    if (modifier == MOD_SATURATE && !binary)
        return "its numbers do not overflow";
    if (modifier == MOD_FLUSH && !binary)
        return "it has no subnormal numbers";
    return NULL;
}

/* Sums that go through another format: what comes back must be a number of this one. */
static void check_accumulate(Interp *in, DType format, DType acc)
{
    bool interval = dtype_base(format) == DT_INTERVAL || dtype_base(acc) == DT_INTERVAL;
    if (format == acc || (!interval && dtype_promote(format, acc) != DT_NONE))
        return;
    Error *e = err_new(&in->ctx, ERR_DTYPE, "%s cannot accumulate in %s: %s", dtype_name(format),
                       dtype_name(acc),
                       interval ? "an interval is no one number"
                                : "one is decimal, the other binary");
    err_underline(e, 0);
    if (dtype_base(format) == DT_DECIMAL)
        err_help(e, "accumulate decimal(%d)",
                 dtype_digits(format) < 100000 ? 2 * dtype_digits(format)
                                                                            : dtype_digits(format));
    else
        err_help(e, "accumulate %s", dtype_name(format));
    err_throw(e);
}

/* The format in which products of a backward pass take cotangents. */
static void apply_backward(Interp *in, const Exec *m, Scope *s)
{
    int e, p;
    MiniStyle style;
    DType dt = header_format(in, m, m->a, "backward");
    if (!dtype_mini_read(dt, &e, &p, &style)) {
        Error *err = err_new(&in->ctx, ERR_DTYPE, "backward takes a binary float format, not %s",
                             dtype_name(dt));
        err_underline(err, 0);
        err_help(err, "backward e5m2");
        err_throw(err);
    }
    s->backward = dt;
}

/* What the shadows of a scope are in: numbers of more digits than its own. */
static void apply_shadow(Interp *in, const Exec *m, Scope *s)
{
    DType dt = header_format(in, m, m->a, "shadow");
    bool interval = dtype_base(dt) == DT_INTERVAL;
    if (!interval && accuracy_bits(dt) > accuracy_bits(s->format)) {
        s->shadow = dt;
        return;
    }
    int bits = accuracy_bits(s->format);
    Error *e = interval
               ? err_new(&in->ctx, ERR_VALUE, "shadows are numbers, and an interval is two of them")
               : err_new(&in->ctx, ERR_VALUE,
                         "shadows have more digits than the scope: %s has no more than %s",
                         dtype_name(dt), dtype_name(s->format));
    err_underline(e, 0);
    err_help(e, "shadow mp(%d)", bits > 100 ? 2 * bits : 200);
    err_throw(e);
}

static void modifier_apply(Interp *in, const Exec *m, Scope *s)
{
    DType format = scope_format(s);
    const char *misfit = modifier_misfit(format, m->op, m->sa);
    if (misfit) {
        in->at = m;
        err_raise_help(&in->ctx, ERR_VALUE, "leave it out", "%s has no meaning in %s: %s",
                       modifier_names[m->op], dtype_name(format), misfit);
    }
    if (format == DT_I8)                /* what holds anyway */
        return;
    if (m->op == MOD_BACKWARD) {
        apply_backward(in, m, s);
        return;
    }
    if (m->op == MOD_SHADOW) {
        apply_shadow(in, m, s);
        return;
    }
    if (m->op == MOD_ACCUMULATE) {
        DType acc = header_format(in, m, m->a, "accumulate");
        check_accumulate(in, format, acc);
        s->accumulate = acc;
        s->accumulate_given = true;
        return;
    }
    in->at = m;
    switch (m->op) {
    case MOD_ROUND: s->round = (RoundMode)m->sa; break;
    case MOD_SATURATE: s->saturate = true; break;
    case MOD_FLUSH: s->flush = true; break;
    default: s->reproducible = true; break;
    }
}

/* The format of an autocast: a binary float, or i8. */
static Scope autocast_of(Interp *in, DType dt)
{
    int e, p;
    MiniStyle style;
    Scope s = scope_of(dt);
    if (dt != DT_I8 && !dtype_mini_read(dt, &e, &p, &style)) {
        Error *err = err_new(&in->ctx, ERR_DTYPE,
                             "autocast takes a binary float format: it leaves numbers of %s alone",
                             dtype_name(dt));
        err_underline(err, 0);
        err_help(err, "every operation in it: precision %s", dtype_name(dt));
        err_throw(err);
    }
    s.format = DT_NONE;
    s.autocast = dt;
    return s;
}

void scope_header_read(Interp *in, const Exec *header, Scope *s)
{
    Arith probe;
    DType dt = header_format(in, header, header->a, head_words[header->sa]);
    *s = header->sa == HEAD_AUTOCAST ? autocast_of(in, dt) : scope_of(dt);
    for (uint32_t i = 0; i < header->count; i++)
        modifier_apply(in, header->list[i], s);
    in->at = header;
    if (dt == DT_I8)
        return;
    /* f32 where that is the default asks for nothing: index notation keeps its nests */
    if (s->format == DT_NONE && s->accumulate == DT_F32 && scope_of(dt).accumulate == DT_F32)
        s->accumulate_given = false;
    Scope asked = scope_in(s, dt);
    scope_arith(in, &asked, &probe);
    scope_accumulator(in, &asked, &probe);
    if (s->round == ROUND_STOCHASTIC)
        scope_seed(in, s);
}

/* ---- scopes ---- */
static Value scope_run(Interp *in, Scope *s, const Exec *body)
{
    s->waits = true;
    scope_enter(in, s);
    Value v = s->shadow == DT_NONE ? exec_run(in, body)
                                   : in->shadows->block(in, body, s->shadow);
    deferred_barrier(in, v);
    scope_leave(in, s);
    return v;
}

/* a: the header, b: the block. */
static Value eval_scope(Interp *in, const Exec *x)
{
    Scope s;
    if (in->scope && in->scope->pinned)
        return exec_run(in, x->b);
    scope_header_read(in, x->a, &s);
    return scope_run(in, &s, x->b);
}

/* The block keeps the position of the statement: what leaves it travels on as ever. */
const Exec *lower_scope(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, eval_scope, n);
    bool outer = lo->scoped;
    x->a = lower_scope_header(lo, n);
    lo->scoped = true;
    x->b = lower(lo, n->b);
    lo->scoped = outer;
    return x;
}

/* ---- functions ---- */
const FnCode *code_scoped(Interp *in, const Function *fn)
{
    FnCode *code = (FnCode *)fn->code;
    if (!code->scoped) {
        Lower lo = { .in = in, .module = fn->module, .chunk = fn->chunk };
        code->scoped = lower_code_scoped(&lo, code->node);
    }
    return code->scoped;
}

/* ---- operators ---- */
bool scoped_ints(int op, Value a, Value b, Value *out)
{
    if (a.tag == V_INT && b.tag == V_INT && op != TK_DIV)
        return scalar_ints(op, a.i, b.i, out);
    return a.tag == V_BOOL && b.tag == V_BOOL && scalar_binary(op, a, b, out);
}

static Value eval_binary_scoped(Interp *in, const Exec *x)
{
    Value a = exec_run(in, x->a), out;
    v_push(in, a);
    Value b = exec_run(in, x->b);
    in->sp--;
    return scoped_ints(x->op, a, b, &out) ? out : binary_slow(in, x, a, b);
}

void lower_binary_scoped(Exec *x)
{
    x->eval = eval_binary_scoped;
    x->count = 3;                /* both operands are owned */
}

Value eval_unary_scoped(Interp *in, const Exec *x)
{
    Value v = exec_run(in, x->a);
    if (x->op == TK_NEG && v.tag == V_INT && v.i != INT64_MIN)
        return v_int(-v.i);
    if (x->op == TK_LNOT && v.tag == V_BOOL)
        return v_bool(!v.i);
    if (x->op == TK_NEG && v.tag == V_FLOAT && isinf(v.f) && in->scope &&
        in->scope->format == DT_RATIONAL)                       /* of norm(A, -inf) */
        return v_float(-v.f);
    return unary_door(in, x, v);
}

/* ---- literals ---- */
/* What a literal or constant is in the scope that it was last evaluated in. */
typedef struct Literal {
    const char *text;            /* without underscores */
    size_t len;
    double value;                /* outside of scopes, and in f64 to nearest */
    GlobalRef *ref;              /* of a name, which may be a variable's; or NULL */
    bool imaginary, negative;
    bool known;                  /* the rest holds: */
    bool saturate, flush;
    RoundMode round;
    DType format;
    uint32_t pool;               /* where Interp.constants keeps the value */
} Literal;

/* Nobody rounds a constant by chance: programs keep theirs. */
static RoundMode literal_mode(const Scope *s)
{
    return s->round == ROUND_STOCHASTIC ? ROUND_NEAREST : s->round;
}

static void literal_check(Interp *in, ArithStatus status, DType dt, const Literal *l)
{
    if (status == ARITH_NO_NUMBER || status == ARITH_INEXACT)
        err_raise(&in->ctx, ERR_VALUE, "%s is no number of %s", l->text, dtype_name(dt));
    if (status != ARITH_OK)
        arith_raise(&in->ctx, status, dt, l->text);
}

/* The carrier of the literal's number; the sign of a negative one is applied to it exactly. */
static void literal_carrier(Interp *in, Arith *a, const Literal *l, void *carrier)
{
    bool pi = l->ref && l->value > 3 && l->value < 4;
    ArithStatus status = pi ? number_constant(a, NUMBER_PI, carrier)
                            : number_from_text(a, carrier, l->text, l->len);
    literal_check(in, status, a->dtype, l);
    if (!l->negative)
        return;
    static const int64_t one = 1;
    literal_check(in, a->ops->ew(a, EW_NEGATIVE, carrier, 1, (const void *const[]){ carrier }, &one,
                                 1), a->dtype, l);
}

static Value literal_imaginary(Interp *in, Arith *a, const char *carrier)
{
    double part;
    if (a->carrier != DT_F64) {
        RationalPair pair = { { 0 }, { 0 } };
        memcpy(&pair.im, carrier, sizeof pair.im);
        return v_tensor_raw(tensor_scalar(&in->ctx, dtype_complex_of(a->dtype), &pair));
    }
    memcpy(&part, carrier, sizeof part);
    DType dt = dtype_complex_of(a->dtype);
    double _Complex z = __builtin_complex(0.0, part);
    float _Complex narrow = (float _Complex)z;
    return v_tensor_raw(tensor_scalar(&in->ctx, dt, dt == DT_C64 ? (void *)&narrow : (void *)&z));
}

static Value literal_make(Interp *in, const Literal *l, const Scope *s)
{
    Arith a;
    _Alignas(16) char carrier[16] = { 0 }, element[16] = { 0 };
    /* no fraction, but what norm(A, inf) and an infinite bound are written with */
    if (l->ref && isinf(l->value) && s->format == DT_RATIONAL)
        return v_float(l->negative ? -fabs(l->value) : l->value);
    literal_check(in, arith_open(&in->ctx, &a, s->format, literal_mode(s), s->saturate, s->flush),
                  s->format, l);
    literal_carrier(in, &a, l, carrier);
    if (l->imaginary)
        return literal_imaginary(in, &a, carrier);
    literal_check(in, a.ops->store(&a, element, 1, carrier, 1, 1), s->format, l);
    return v_element(&in->ctx, s->format, element);
}

static bool literal_kept(const Literal *l, const Scope *s)
{
    return l->known && l->format == s->format && l->round == literal_mode(s) &&
           l->saturate == s->saturate && l->flush == s->flush;
}

static Value literal_outside(Interp *in, const Literal *l)
{
    if (!l->imaginary)
        return v_float(l->value);
    double _Complex z = __builtin_complex(0.0, l->value);
    return v_tensor_raw(tensor_scalar(&in->ctx, DT_C128, &z));
}

static Value literal_value(Interp *in, const Exec *x, Literal *l)
{
    const Scope *s = in->scope;
    if (!s || s->format == DT_NONE)
        return literal_outside(in, l);
    if (!literal_kept(l, s)) {
        in->at = x;
        Value v = literal_make(in, l, s);
        v_push(in, v);
        if (!l->known) {
            tuple_push(&in->ctx, &in->constants, NULL, v_none());
            l->pool = in->constants->count - 1;
        }
        in->sp--;
        slot_put(in, &in->constants->items[l->pool], v);
        l->known = true;
        l->format = s->format;
        l->round = literal_mode(s);
        l->saturate = s->saturate;
        l->flush = s->flush;
    }
    return v_retain(in->constants->items[l->pool]);
}

/* The literal v, which is taken, and beside it what its text says in the format of shadows. */
static Value literal_shaded(Interp *in, const Exec *x, Value v, const Literal *l)
{
    DType against = in->shadows->against(in);
    if (against == DT_NONE || l->imaginary)
        return v;
    Scope s = scope_of(against);
    in->at = x;
    v_push(in, v);
    Value shadow = literal_make(in, l, &s);
    in->sp--;
    return in->shadows->literal(in, v, shadow);
}

static Value literal_here(Interp *in, const Exec *x, Literal *l)
{
    Value v = literal_value(in, x, l);
    return __builtin_expect(traced_on(in), 0) ? literal_shaded(in, x, v, l) : v;
}

static Value eval_literal(Interp *in, const Exec *x)
{
    return literal_here(in, x, x->data);
}

static Value eval_constant(Interp *, const Exec *);

bool scoped_number(Interp *in, const Exec *x, double *out)
{
    const Literal *l = x->eval == eval_literal ? x->data : x->eval == eval_constant ? x->c->data
                                                                                    : NULL;
    Arith a;
    _Alignas(16) char carrier[16] = { 0 };
    const Scope *s = in->scope;
    bool native = s->format == DT_F32 || s->format == DT_F64 || dtype_half(s->format);
    if (!l || l->imaginary || !native ||
        arith_open(&in->ctx, &a, s->format, literal_mode(s), s->saturate, s->flush) != ARITH_OK)
        return false;
    bool pi = l->ref && l->value > 3 && l->value < 4;
    if ((pi ? number_constant(&a, NUMBER_PI, carrier)
            : number_from_text(&a, carrier, l->text, l->len)) != ARITH_OK)
        return false;
    memcpy(out, carrier, sizeof *out);
    *out = l->negative ? -*out : *out;
    return true;
}

const Exec *lower_scoped_number(Lower *lo, const Node *n, bool negative)
{
    Exec *x = exec_new(lo, eval_literal, n);
    Literal *l = lower_alloc(lo, sizeof *l);
    char *text = lower_alloc(lo, n->text_len + 1), *to = text;
    for (uint32_t i = 0; i < n->text_len; i++)
        if (n->text[i] != '_' && n->text[i] != 'i')
            *to++ = n->text[i];
    *to = '\0';
    *l = (Literal){ .text = text, .len = (size_t)(to - text), .imaginary = n->kind == ND_IMAG,
                    .negative = negative };
    l->value = negative ? -c_strtod(text, NULL) : c_strtod(text, NULL);
    x->data = l;
    x->flags |= XF_WEAK;
    return x;
}

static Value eval_large(Interp *in, const Exec *x)
{
    bool fits = in->scope && dtype_cells(in->scope->format);
    return fits ? literal_here(in, x, x->data) : exec_run(in, x->a);
}

const Exec *lower_scoped_large(Lower *lo, const Node *n, bool negative, const Exec *raise)
{
    Exec *x = (Exec *)lower_scoped_number(lo, n, negative);
    x->eval = eval_large;
    x->a = raise;
    return x;
}

/* data stays the GlobalRef, by which others know the node; the literal stands behind c. */
static Value eval_constant(Interp *in, const Exec *x)
{
    const GlobalRef *ref = x->data;
    if (ref->slot->tag != V_UNDEF)
        return v_share(in, *ref->slot);
    return literal_here(in, x, x->c->data);
}

void scoped_constant(Lower *lo, Exec *x, const Name *name)
{
    Literal *l = lower_alloc(lo, sizeof *l);
    Exec *holder = exec_new(lo, NULL, x->node);
    double value = predefined_find(lo->in, name->text).f;
    *l = (Literal){ .text = name->text, .len = name->len, .ref = x->data, .value = value };
    holder->data = l;
    x->c = holder;
    x->eval = eval_constant;
}
