/* Expressions over indices while gradients are made: names, parts, what is known of them, sums of
 * ints with like terms together, one index in place of another. */
#include "interp/notation/indexnot_adjoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *formatted(Ad *a, const char *fmt, va_list args)
{
    Buf out;
    buf_init(&out, &a->b->in->ctx);
    buf_vprintf(&out, fmt, args);
    const char *text = arena_copy(a->arena, buf_cstr(&out), out.len);
    buf_free(&out);
    return text;
}

void ad_lack(Ad *a, const char *fmt, ...)
{
    va_list args;
    if (a->out->lack[0])
        return;
    va_start(args, fmt);
    snprintf(a->out->lack, sizeof a->out->lack, "%s", formatted(a, fmt, args));
    va_end(args);
}

const char *ad_format(Ad *a, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *text = formatted(a, fmt, args);
    va_end(args);
    return text;
}

/* ---- names ---- */
/* A variable or parameter of the function, or what an operation or number is called. */
bool ad_taken(const Ad *a, const char *name)
{
    static const char *const more[] = { "pi", "inf", "nan", "π" };
    for (int i = 0; i < a->names; i++)
        if (strcmp(a->name[i], name) == 0)
            return true;
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (strcmp(more[i], name) == 0)
            return true;
    Interp *in = a->b->in;
    const Name *known = names_find(&in->names, name, strlen(name));
    return known && op_find(in, known);
}

static void take_name(Ad *a, const char *name)
{
    if (a->names == (int)(sizeof a->name / sizeof *a->name))
        ad_lack(a, "it has too many parts");
    else
        a->name[a->names++] = name;
}

const char *ad_name(Ad *a, const char *like)
{
    const char *name = like;
    for (int i = 2; ad_taken(a, name); i++)
        name = ad_format(a, "%s%s%d", like, strchr("0123456789", like[strlen(like) - 1]) ? "_" : "",
                         i);
    name = arena_copy(a->arena, name, strlen(name));
    take_name(a, name);
    return name;
}

int ad_index_new(Ad *a, const char *name, const char *length, int64_t extent)
{
    if (a->ids == AD_IDS) {
        ad_lack(a, "it has more than %d indices", AD_IDS);
        return 0;
    }
    a->index[a->ids] = (AdIndex){ .name = name, .length = length, .extent = extent };
    return a->ids++;
}

/* ---- making ---- */
static AdEx *node(Ad *a, AdKind kind, const char *text, int args)
{
    AdEx *x = arena_alloc(a->arena, sizeof *x);
    if (++a->nodes == AD_NODES)
        ad_lack(a, "it is too large");
    x->kind = (uint8_t)kind;
    x->text = text;
    x->leaf = x->id = -1;
    x->args = args;
    x->arg = args ? arena_alloc(a->arena, (size_t)args * sizeof *x->arg) : NULL;
    return x;
}

AdEx *ad_text(Ad *a, const char *text)
{
    return node(a, AD_TEXT, text, 0);
}

AdEx *ad_whole(Ad *a, int64_t value)
{
    AdEx *x = ad_text(a, ad_format(a, "%lld", (long long)value));
    x->literal = x->whole = true;
    x->value = value;
    return x;
}

AdEx *ad_index(Ad *a, int id)
{
    AdEx *x = node(a, AD_INDEX, NULL, 0);
    x->id = id;
    x->free = UINT64_C(1) << id;
    return x;
}

AdEx *ad_load(Ad *a, const char *tensor, int rank)
{
    AdEx *x = node(a, AD_LOAD, tensor, rank);
    x->wrap = rank ? arena_alloc(a->arena, (size_t)rank * sizeof *x->wrap) : NULL;
    return x;
}

AdEx *ad_done(AdEx *x)
{
    for (int i = 0; i < x->args; i++) {
        const AdEx *y = x->arg[i];
        x->free |= y->free;
        if (x->kind == AD_LOAD)
            continue;
        x->reduces |= y->reduces;
        x->height = y->height > x->height ? y->height : x->height;
        x->risky |= y->risky;
        x->is_complex |= y->is_complex;
        x->needs |= y->needs;
    }
    x->free &= ~x->over;
    return x;
}

AdEx *ad_own(Ad *a, const char *tensor, const int *ids, int rank)
{
    if (!rank)
        return ad_text(a, tensor);
    AdEx *x = ad_load(a, tensor, rank);
    for (int i = 0; i < rank; i++)
        x->arg[i] = ad_index(a, ids[i]);
    x->own = true;
    return ad_done(x);
}

bool ad_is(const AdEx *x, int64_t value)
{
    return x->kind == AD_TEXT && x->whole && x->value == value;
}

static bool compares(const char *sign)
{
    return sign[0] == '<' || sign[0] == '>' || sign[0] == '=' || sign[0] == '!' || sign[0] == '&' ||
           sign[0] == '|';
}

/* 1/x, 1/x/y */
static bool inverse(const AdEx *x)
{
    return x->kind == AD_INFIX && strcmp(x->text, "/") == 0 &&
           (ad_is(x->arg[0], 1) || inverse(x->arg[0]));
}

AdEx *ad_infix(Ad *a, const char *sign, AdEx *l, AdEx *r)
{
    bool plus = strcmp(sign, "+") == 0, minus = strcmp(sign, "-") == 0;
    if ((plus || minus) && ad_is(r, 0))
        return l;
    if (plus && ad_is(l, 0))
        return r;
    if (minus && ad_is(l, 0))
        return ad_minus(a, r);
    if ((plus || minus) && l->whole && r->whole && llabs(l->value) < 1 << 30 &&
        llabs(r->value) < 1 << 30)
        return ad_whole(a, plus ? l->value + r->value : l->value - r->value);
    if (strcmp(sign, "==") == 0 && l->whole && r->whole)
        return ad_text(a, l->value == r->value ? "true" : "false");
    if (strcmp(sign, "*") == 0) {
        if (ad_is(l, 1) || ad_is(r, 0))
            return r;
        if (ad_is(r, 1) || ad_is(l, 0))
            return l;
        if (inverse(r))                                 /* a * (1/b/c) is a/b/c */
            return ad_infix(a, "/", ad_infix(a, "*", l, r->arg[0]), r->arg[1]);
    }
    return ad_binary(a, sign, l, r);
}

AdEx *ad_binary(Ad *a, const char *sign, AdEx *l, AdEx *r)
{
    AdEx *x = node(a, AD_INFIX, sign, 2);
    x->arg[0] = l;
    x->arg[1] = r;
    ad_done(x);
    if (compares(sign))
        x->is_complex = x->risky = x->needs = false;
    if (strcmp(sign, "/") == 0 || strcmp(sign, "%") == 0 || strcmp(sign, "//") == 0)
        x->risky |= !r->literal;
    if (strcmp(sign, "^") == 0)
        x->risky |= !(r->whole && r->value >= 0);
    return x;
}

AdEx *ad_minus(Ad *a, AdEx *y)
{
    return y->kind == AD_MINUS ? y->arg[0] : ad_negative(a, y);
}

AdEx *ad_negative(Ad *a, AdEx *y)
{
    AdEx *x = node(a, AD_MINUS, "-", 1);
    x->arg[0] = y;
    return ad_done(x);
}

/* A cast if there is no operation of that name. */
AdEx *ad_call(Ad *a, const char *name, AdEx *const *arg, int args)
{
    Interp *in = a->b->in;
    const Name *known = names_find(&in->names, name, strlen(name));
    AdEx *x = node(a, AD_CALL, name, args);
    for (int i = 0; i < args; i++)
        x->arg[i] = arg[i];
    ad_done(x);
    const Op *op = known ? op_find(in, known) : NULL;
    x->op = op && op->cls == OPC_EW ? op : NULL;
    x->risky |= !x->op || !(x->op->traits & TRAIT_FINITE);
    x->is_complex &= !x->op || ew_info[x->op->ew].result != RES_REAL;
    return x;
}

bool ad_calls(const AdEx *x, EwOp ew)
{
    return x->kind == AD_CALL && x->op && x->op->ew == ew;
}

AdEx *ad_where(Ad *a, AdEx *condition, AdEx *yes, AdEx *no)
{
    if (condition->kind == AD_TEXT && strcmp(condition->text, "true") == 0)
        return yes;
    if (condition->kind == AD_TEXT && strcmp(condition->text, "false") == 0)
        return no;
    AdEx *x = ad_call(a, "where", (AdEx *[]){ condition, yes, no }, 3);
    x->is_complex = yes->is_complex || no->is_complex;
    x->risky = yes->risky || no->risky;
    return x;
}

AdEx *ad_reduce(Ad *a, IxReduce reduce, uint64_t over, AdEx *body)
{
    AdEx *x = node(a, AD_REDUCE, ix_reduce_word(reduce), 1);
    x->reduce = (uint8_t)reduce;
    x->arg[0] = body;
    x->over = over;
    ad_done(x);
    x->reduces = true;
    x->height++;
    return x;
}

/* ---- looking and changing ---- */
static bool outside_loads(const AdEx *x, int id)
{
    if (!(x->free >> id & 1) || x->kind == AD_LOAD)
        return false;
    if (x->kind == AD_INDEX)
        return true;
    for (int i = 0; i < x->args; i++)
        if (outside_loads(x->arg[i], id))
            return true;
    return false;
}

AdEx *ad_like(Ad *a, const AdEx *x)
{
    AdEx *y = node(a, (AdKind)x->kind, x->text, x->args), **args = y->arg;
    *y = *x;
    y->arg = args;
    if (x->wrap) {
        y->wrap = arena_alloc(a->arena, (size_t)x->args * sizeof *y->wrap);
        memcpy(y->wrap, x->wrap, (size_t)x->args * sizeof *y->wrap);
    }
    return y;
}

AdEx *ad_put_in(Ad *a, const AdEx *x, int id, AdEx *for_it, const AdEx *solved, int axis)
{
    if (!(x->free >> id & 1))
        return (AdEx *)x;
    if (x->kind == AD_INDEX)
        return for_it;
    AdEx *arg[2];
    if (x->kind == AD_INFIX || x->kind == AD_MINUS) {
        for (int i = 0; i < x->args; i++)
            arg[i] = ad_put_in(a, x->arg[i], id, for_it, solved, axis);
        return x->kind == AD_MINUS ? ad_minus(a, arg[0]) : ad_infix(a, x->text, arg[0], arg[1]);
    }
    AdEx *y = ad_like(a, x);
    y->free = 0;
    for (int i = 0; i < x->args; i++) {
        y->arg[i] = ad_put_in(a, x->arg[i], id, for_it, solved, axis);
        if (x->kind == AD_LOAD && solved && outside_loads(x->arg[i], id)) {
            y->arg[i] = ad_tidy(a, y->arg[i]);
            bool same = i == axis && y->arg[i]->kind == AD_INDEX &&
                        strcmp(x->text, solved->text) == 0;
            if (!x->wrap[i] && !same)
                y->wrap[i] = WRAP_PAD;
        }
        y->free |= y->arg[i]->free;
    }
    y->free &= ~y->over;
    return y;
}

void ad_rename(Ad *a, AdWeight *w, int rank, const int *from, const int *to)
{
    int between[AD_IDS], ids = a->ids;
    for (int i = 0; i < rank; i++)
        between[i] = ad_index_new(a, "i", a->index[to[i]].length, 0);
    for (int k = 0; k < w->count; k++) {
        AdEx *x = w->factor[k];
        for (int i = 0; i < rank; i++)
            x = ad_put_in(a, x, from[i], ad_index(a, between[i]), NULL, 0);
        for (int i = 0; i < rank; i++)
            x = ad_put_in(a, x, between[i], ad_index(a, to[i]), NULL, 0);
        w->factor[k] = x;
    }
    a->ids = ids;
}

/* ---- sums of ints ---- */
enum { PARTS = 12 };
typedef struct Parts {
    int64_t times[PARTS], constant;
    AdEx *of[PARTS];
    int count;
    bool bad;
} Parts;

static bool same_part(const AdEx *x, const AdEx *y)
{
    return x == y || (x->kind == AD_INDEX && y->kind == AD_INDEX && x->id == y->id) ||
           (x->kind == AD_TEXT && y->kind == AD_TEXT && strcmp(x->text, y->text) == 0);
}

static void take_apart(Parts *p, AdEx *x, int64_t times)
{
    int64_t by;
    if (p->bad)
        return;
    if (x->kind == AD_TEXT && x->whole) {
        p->bad |= __builtin_mul_overflow(x->value, times, &by) ||
                  __builtin_add_overflow(p->constant, by, &p->constant);
        return;
    }
    if (x->kind == AD_MINUS && times != INT64_MIN) {
        take_apart(p, x->arg[0], -times);
        return;
    }
    bool infix = x->kind == AD_INFIX, sum = infix && strchr("+-", x->text[0]) && !x->text[1];
    if (sum && times != INT64_MIN) {
        take_apart(p, x->arg[0], times);
        take_apart(p, x->arg[1], x->text[0] == '-' ? -times : times);
        return;
    }
    for (int k = 0; infix && k < 2 && x->text[0] == '*'; k++)
        if (x->arg[k]->whole && !__builtin_mul_overflow(x->arg[k]->value, times, &by)) {
            take_apart(p, x->arg[1 - k], by);
            return;
        }
    int i = 0;
    while (i < p->count && !same_part(p->of[i], x))
        i++;
    if (i == PARTS) {
        p->bad = true;
        return;
    }
    if (i == p->count) {
        p->of[i] = x;
        p->times[p->count++] = 0;
    }
    p->bad |= __builtin_add_overflow(p->times[i], times, &p->times[i]) || p->times[i] == INT64_MIN;
}

/* Those with a sign stand behind the others. */
AdEx *ad_tidy(Ad *a, AdEx *x)
{
    Parts p = { 0 };
    take_apart(&p, x, 1);
    if (p.bad || p.constant == INT64_MIN)
        return x;
    AdEx *sum = ad_whole(a, 0);
    for (int i = 0; i < p.count; i++)
        if (p.times[i] > 0)
            sum = ad_infix(a, "+", sum, ad_infix(a, "*", ad_whole(a, p.times[i]), p.of[i]));
    bool first = ad_is(sum, 0) && p.constant > 0;
    sum = first ? ad_whole(a, p.constant) : sum;
    for (int i = 0; i < p.count; i++)
        if (p.times[i] < 0)
            sum = ad_infix(a, "-", sum, ad_infix(a, "*", ad_whole(a, -p.times[i]), p.of[i]));
    if (first || p.constant == 0)
        return sum;
    return p.constant < 0 ? ad_infix(a, "-", sum, ad_whole(a, -p.constant))
                          : ad_infix(a, "+", sum, ad_whole(a, p.constant));
}

int ad_places(const AdEx *x, int id)
{
    int n = 0;
    if (!(x->free >> id & 1))
        return 0;
    if (x->kind == AD_INDEX)
        return 1;
    for (int i = 0; i < x->args; i++)
        n += ad_places(x->arg[i], id);
    return n;
}

static void order(const AdEx *x, uint64_t *which, int *ids, int *count)
{
    uint64_t bound = x->over & *which;
    if (x->kind == AD_INDEX && (*which >> x->id & 1)) {
        *which &= ~(UINT64_C(1) << x->id);
        ids[(*count)++] = x->id;
    }
    *which &= ~bound;
    for (int i = 0; i < x->args; i++)
        order(x->arg[i], which, ids, count);
    *which |= bound;
}

int ad_order(const AdEx *x, uint64_t which, int *ids)
{
    int count = 0;
    order(x, &which, ids, &count);
    for (; which; which &= which - 1)
        ids[count++] = __builtin_ctzll(which);
    return count;
}
