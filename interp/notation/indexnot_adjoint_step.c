/* One operation in a notation: what the cotangent of its result is multiplied with to be that of an
 * operand. The slope is a formula in the operands x, y, z and the result r; or, with w in it, the
 * cotangent itself where that is no product. What is finite anyway becomes another factor; else a
 * cotangent of 0 stays 0: where(w != 0, w * slope, 0). */
#include "interp/notation/indexnot_adjoint.h"
#include "interp/op/slopes.h"

#include "core/system/ascii.h"

#include <stdlib.h>
#include <string.h>

/* ---- reading a formula ---- */
typedef struct Reader {
    Ad *a;
    const char *at, *end;
    AdEx *x;                    /* the operation */
    const AdWeight *w;
    bool whole;                 /* w was asked for */
    const char *lacks;          /* a call of what is no elementwise row */
    const AdEx *operand;        /* whose slope it is */
} Reader;

static AdEx *formula(Reader *r, int level);

static char next(Reader *r)
{
    while (r->at < r->end && *r->at == ' ')
        r->at++;
    return r->at < r->end ? *r->at : '\0';
}

/* A leaf of floats in x: of its dtype are the constants of a slope. */
static const AdEx *wanted_leaf(const AdEx *x)
{
    if (x->leaf >= 0)
        return x->needs ? x : NULL;
    for (int i = 0; i < x->args; i++) {
        const AdEx *found = x->arg[i]->needs ? wanted_leaf(x->arg[i]) : NULL;
        if (found)
            return found;
    }
    return NULL;
}

static bool casts(const Ad *a, const char *name, size_t n)
{
    Interp *in = a->b->in;
    const Name *known = names_find(&in->names, name, n);
    const Op *op = known ? op_find(in, known) : NULL;
    return op && op->devices & DEV_CASTS;
}

/* cast(2, dtype(x)): a constant of the operand's dtype, with all its digits. */
static AdEx *read_constant(Reader *r)
{
    const char *from = r->at + 1, *comma = memchr(from, ',', (size_t)(r->end - from));
    const AdEx *leaf = wanted_leaf(r->operand);
    r->at = comma + strcspn(comma, ")") + 2;                            /* , dtype(x)) */
    int n = (int)(comma - from);
    const char *text = leaf ? ad_format(r->a, "cast(%.*s, dtype(%s))", n, from,
                                        r->a->leaf[leaf->leaf].name)
                            : arena_copy(r->a->arena, from, (size_t)n);
    AdEx *x = ad_text(r->a, text);
    x->literal = true;
    return x;
}

static AdEx *read_name(Reader *r)
{
    const char *from = r->at;
    while (r->at < r->end && (ascii_alpha(*r->at) || ascii_digit(*r->at)))
        r->at++;
    size_t n = (size_t)(r->at - from);
    if (next(r) == '(') {
        AdEx *arg[3];
        if (casts(r->a, from, n))
            return read_constant(r);
        int args = 0;
        while (args < 3 && *r->at != ')') {
            r->at++;
            arg[args++] = formula(r, 0);
            next(r);
        }
        r->at++;
        const char *name = arena_copy(r->a->arena, from, n);
        AdEx *x = ad_call(r->a, name, arg, args);
        if (!x->op && args == 1)
            return ad_call_whole(r->a, name, arg[0]);
        if (!x->op)
            r->lacks = name;
        if (ad_calls(x, EW_WHERE))
            return ad_where(r->a, arg[0], arg[1], arg[2]);
        return ad_calls(x, EW_CONJ) && !arg[0]->is_complex ? arg[0] : x;
    }
    switch (n == 1 ? *from : '\0') {
    case 'x': case 'y': case 'z': return ad_hoist(r->a, r->x->arg[*from - 'x']);
    case 'r': return ad_value(r->a, r->x);
    case 'w': r->whole = true; return ad_product(r->a, r->w);
    default: break;
    }
    AdEx *x = ad_text(r->a, arena_copy(r->a->arena, from, n));    /* pi */
    x->literal = true;
    return x;
}

static AdEx *read_number(Reader *r)
{
    const char *from = r->at;
    bool whole = true;
    while (r->at < r->end && (ascii_digit(*r->at) || *r->at == '.'))
        whole &= *r->at++ != '.';
    if (r->at < r->end && *r->at == 'e') {
        whole = false;
        r->at += 2;
        while (r->at < r->end && ascii_digit(*r->at))
            r->at++;
    }
    bool imaginary = r->at < r->end && *r->at == 'i';
    r->at += imaginary;
    if (whole && !imaginary)
        return ad_whole(r->a, strtoll(from, NULL, 10));
    AdEx *x = ad_text(r->a, arena_copy(r->a->arena, from, (size_t)(r->at - from)));
    x->literal = true;
    x->is_complex = imaginary;
    return x;
}

static AdEx *read_atom(Reader *r)
{
    char c = next(r);
    AdEx *x;
    if (c == '-') {
        r->at++;
        return ad_minus(r->a, formula(r, 5));
    }
    if (c == '(') {
        r->at++;
        x = formula(r, 0);
        next(r);
        r->at++;
        return x;
    }
    return ascii_alpha(c) ? read_name(r) : read_number(r);
}

/* The binary operators, loosest first. */
static const char *const signs[][6] = {
    { "|" }, { "&" }, { "<=", ">=", "==", "!=", "<", ">" }, { "+", "-" },
    { "*", "//", "/", "%" }, { NULL },
    { "^" },
};
enum { LEVELS = sizeof signs / sizeof *signs };

static const char *sign_at(Reader *r, int level)
{
    next(r);
    for (int i = 0; i < 6 && signs[level][i]; i++) {
        size_t n = strlen(signs[level][i]);
        if ((size_t)(r->end - r->at) >= n && memcmp(r->at, signs[level][i], n) == 0) {
            r->at += n;
            return signs[level][i];
        }
    }
    return NULL;
}

static AdEx *formula(Reader *r, int level)
{
    v_check_depth(r->a->b->in);
    if (level == LEVELS)
        return read_atom(r);
    AdEx *x = formula(r, level + 1);
    for (const char *sign; (sign = sign_at(r, level)) != NULL;)
        x = ad_infix(r->a, sign, x, formula(r, level == LEVELS - 1 ? level : level + 1));
    return x;
}

/* ---- the weight ---- */
static bool push(Ad *a, AdWeight *w, AdEx *x)
{
    if (x->kind == AD_MINUS) {
        w->minus = !w->minus;
        x = x->arg[0];
    }
    if (ad_is(x, 1))
        return true;
    if (x->kind == AD_INFIX && strcmp(x->text, "*") == 0)
        return push(a, w, x->arg[0]) && push(a, w, x->arg[1]);
    if (w->count == AD_FACTORS) {
        ad_lack(a, "a product in it has more than %d factors", AD_FACTORS);
        return false;
    }
    w->factor[w->count++] = x;
    return true;
}

static void replace(AdWeight *w, AdEx *x)
{
    w->minus = x->kind == AD_MINUS;
    w->factor[0] = w->minus ? x->arg[0] : x;
    w->count = 1;
}

/* A real part of the way takes real cotangents. */
static void keep_real(Ad *a, const AdEx *x, AdWeight *w)
{
    if (x->is_complex || x->leaf >= 0 || !ad_weight_complex(w))
        return;
    AdEx *all = ad_product(a, w);
    replace(w, ad_call(a, "real", &all, 1));
}

/* conj of a product factor by factor, of what is real nothing. */
static AdEx *conjugate(Ad *a, AdEx *x)
{
    if (!x->is_complex)
        return x;
    if (x->kind == AD_MINUS)
        return ad_minus(a, conjugate(a, x->arg[0]));
    if (x->kind == AD_INFIX && (strcmp(x->text, "*") == 0 || strcmp(x->text, "/") == 0))
        return ad_infix(a, x->text, conjugate(a, x->arg[0]), conjugate(a, x->arg[1]));
    if (ad_calls(x, EW_CONJ))
        return x->arg[0];
    return ad_call(a, "conj", &x, 1);
}

/* w * by, but 0 where w is, of a single number w: what has no index is computed and differentiated
 * as in any program. By w it is the slope, where w is 0 too. */
static AdEx *finite_product(Ad *a, AdEx *w, AdEx *by)
{
    AdEx *zero = ad_whole(a, 0), *finite = ad_call(a, "isfinite", &by, 1);
    finite->is_complex = finite->risky = finite->needs = false;
    AdEx *some = ad_infix(a, "|", finite, ad_infix(a, "!=", w, zero));
    AdEx *x = ad_infix(a, "*", w, ad_where(a, some, by, zero));
    x->risky = false;
    return x;
}

/* w * by, but 0 where w is: of a choice that has a 0 the other branch alone. */
static AdEx *guarded(Ad *a, AdEx *w, AdEx *by)
{
    AdEx *zero = ad_whole(a, 0), *some;
    bool choice = ad_calls(w, EW_WHERE);
    if (choice && !w->guard && ad_is(w->arg[2], 0))
        return ad_where(a, w->arg[0], guarded(a, w->arg[1], by), zero);
    if (choice && !w->guard && ad_is(w->arg[1], 0))
        return ad_where(a, w->arg[0], zero, guarded(a, w->arg[2], by));
    if (!w->free && !w->reduces && !by->reduces)
        return finite_product(a, w, by);
    some = ad_infix(a, "!=", w->guard ? w->arg[1] : w, zero);
    if (w->guard) {
        some = ad_infix(a, "&", w->arg[0], some);
        w = w->arg[1];
    }
    AdEx *x = ad_where(a, some, ad_infix(a, "*", w, by), zero);
    x->guard = true;
    return x;
}

/* ---- such a product differentiated ---- */
static bool same(const Ad *a, const AdEx *x, const AdEx *y)
{
    if (x->kind == AD_TEXT && y->kind == AD_TEXT && x->leaf >= 0 && y->leaf >= 0)
        return strcmp(a->leaf[x->leaf].source, a->leaf[y->leaf].source) == 0;
    bool alike = x->kind == y->kind && x->id == y->id && x->args == y->args && x->over == y->over;
    if (!alike || (x->text && y->text ? strcmp(x->text, y->text) != 0 : x->text != y->text))
        return false;
    for (int i = 0; i < x->args; i++)
        if (!same(a, x->arg[i], y->arg[i]) || (x->wrap && x->wrap[i] != y->wrap[i]))
            return false;
    return true;
}

/* Is it a factor of x, or a divisor? */
static bool holds(const Ad *a, const AdEx *x, const AdEx *factor, bool divides)
{
    if (!divides && same(a, x, factor))
        return true;
    if (x->kind == AD_MINUS)
        return holds(a, x->arg[0], factor, divides);
    if (x->kind != AD_INFIX || (strcmp(x->text, "*") != 0 && strcmp(x->text, "/") != 0))
        return false;
    bool quotient = x->text[0] == '/';
    return holds(a, x->arg[0], factor, divides) || holds(a, x->arg[1], factor, divides != quotient);
}

static bool all_held(const Ad *a, const AdEx *x, const AdEx *w, bool divides)
{
    if (w->kind == AD_MINUS)
        return all_held(a, x, w->arg[0], divides);
    if (w->kind == AD_INFIX && (strcmp(w->text, "*") == 0 || strcmp(w->text, "/") == 0))
        return all_held(a, x, w->arg[0], divides) &&
               all_held(a, x, w->arg[1], divides != (w->text[0] == '/'));
    return holds(a, x, w, divides) || ad_is(w, 1);
}

static bool nonzero(const Ad *a, const AdEx *x, const AdEx *condition)
{
    if (condition->kind == AD_INFIX && strcmp(condition->text, "&") == 0)
        return nonzero(a, x, condition->arg[0]) && nonzero(a, x, condition->arg[1]);
    return condition->kind == AD_INFIX && strcmp(condition->text, "!=") == 0 &&
           ad_is(condition->arg[1], 0) && all_held(a, x, condition->arg[0], false);
}

/* where(w != 0, w * slope, 0) in a gradient is the product when it is differentiated again: its
 * derivative by w is the slope, where w is 0 too. */
static bool kept_zero(const Ad *a, const AdEx *x)
{
    return a->again && ad_is(x->arg[2], 0) && nonzero(a, x->arg[1], x->arg[0]);
}

static bool multiply(Ad *a, AdWeight *w, AdEx *by, bool guard)
{
    by = conjugate(a, by);
    if (!by->risky || !guard)
        return push(a, w, by);
    bool minus = w->minus;
    w->minus = false;
    if (by->kind == AD_MINUS)
        minus = !minus, by = by->arg[0];
    replace(w, guarded(a, ad_product(a, w), by));
    w->minus ^= minus;
    return true;
}

/* x^n with a number for n that is not 0. */
static AdEx *power_slope(Ad *a, AdEx *x)
{
    AdEx *n = x->arg[1], *base = ad_hoist(a, x->arg[0]);
    if (!n->literal || ad_is(n, 0) || n->is_complex)
        return NULL;
    if (ad_is(n, 1) || ad_is(n, 2))
        return ad_infix(a, "*", n, ad_is(n, 2) ? base : ad_whole(a, 1));
    return ad_infix(a, "*", n, ad_infix(a, "^", base, ad_infix(a, "-", n, ad_whole(a, 1))));
}

/* What divides fewer indices than the cotangent has is divided by after the sum. */
static bool divisor(Ad *a, AdEx *x, AdWeight *w)
{
    AdEx *y = ad_hoist(a, x->arg[1]);
    bool root = x == a->root && a->root_value;
    AdEx *by = root ? a->root_value : ad_hoist(a, x->arg[0]);
    if (!multiply(a, w, by, !(w->over & ~by->free)))
        return false;
    *w = (AdWeight){ .factor = { ad_copy_to(a, w, y->free) }, .count = 1, .over = y->free };
    AdEx *slope = ad_infix(a, "/", ad_whole(a, 1), y);
    w->minus = true;
    return multiply(a, w, root ? slope : ad_infix(a, "/", slope, y), true);
}

/* The operation has none here; where a gradient is differentiated it counts as a constant. */
static bool lacks(Ad *a, const AdEx *x)
{
    if (!a->again && !a->out->lack[0]) {
        ad_lack(a, "%s has no gradient", x->op->name);
        a->out->at = x->at;
        a->out->op = x->op;
    }
    return false;
}

bool ad_step(Ad *a, AdEx *x, int k, AdWeight *w)
{
    const Op *op = x->op;
    if (!x->arg[k]->needs)
        return false;
    if (op && !op_has_slopes(op))
        return lacks(a, x);
    OpSlope slope = { .text = "1", .len = 1 };      /* of what was made here: a mean's sum */
    AdEx *s = NULL;
    if (op && !op_slope(op, k, &slope))
        return false;
    if (op && (op->ew == EW_IMAG || op->ew == EW_ANGLE) && !x->arg[k]->is_complex)
        return false;
    if (op && op->ew == EW_DIVIDE && k == 1 && (w->over & ~x->arg[1]->free)) {
        if (!divisor(a, x, w))
            return false;
        keep_real(a, x->arg[k], w);
        return true;
    }
    if (op && op->ew == EW_WHERE && k == 1 && kept_zero(a, x))
        return true;
    /* a cotangent is summed over what the part has not before it meets such a slope */
    if (op && !(op->traits & TRAIT_LINEAR) && (w->over & ~x->free))
        *w = (AdWeight){ .factor = { ad_copy_to(a, w, x->free) }, .count = 1, .over = x->free };
    /* a factor of a product that is summed afterwards: contractions have no conditions in them */
    bool guard = !op || op->ew != EW_MULTIPLY || !(w->over & ~x->arg[k]->free);
    if (op && op->ew == EW_POWER && k == 0)
        s = power_slope(a, x);
    if (op && op->ew == EW_DIVIDE && k == 0)        /* a factor: contractions stay contractions */
        s = ad_infix(a, "/", ad_whole(a, 1), ad_hoist(a, x->arg[1]));
    Reader r = { .a = a, .at = slope.text, .end = slope.text + slope.len, .x = x, .w = w,
                 .operand = x->arg[k] };
    s = s ? s : formula(&r, 0);
    if (r.lacks)
        return lacks(a, x);
    if (r.whole) {
        replace(w, s);
        keep_real(a, x->arg[k], w);
        return true;
    }
    if (ad_is(s, 0)) {                      /* a gradient all the same, of the cotangent's dtype */
        s = ad_text(a, "0.0");
        s->literal = true;
    }
    if (!multiply(a, w, s, guard))
        return false;
    keep_real(a, x->arg[k], w);
    return true;
}
