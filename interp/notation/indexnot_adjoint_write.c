/* Statements of expressions over indices: names of indices that clash with nothing, ranges where no
 * subscript tells them, Einstein's sums where they say the same as written ones, and what is
 * computed before. */
#include "interp/notation/indexnot_adjoint.h"

#include <string.h>

/* ---- writing ---- */
enum { ANY, OR, AND, COMPARED, SUM, PRODUCT, PREFIX, POWER, ATOM };

static int level_of(const AdEx *x)
{
    switch ((AdKind)x->kind) {
    case AD_INFIX: break;
    case AD_MINUS: return PREFIX;
    case AD_REDUCE: return SUM;
    case AD_TEXT: return strchr(x->text, '/') ? PRODUCT : x->text[0] == '-' ? PREFIX : ATOM;
    default: return ATOM;
    }
    switch (x->text[0]) {
    case '|': return OR;
    case '&': return AND;
    case '+': case '-': return SUM;
    case '*': case '/': case '%': return PRODUCT;
    case '^': return POWER;
    default: return COMPARED;
    }
}

static bool alone(const AdEx *x, int id)
{
    if (!(x->free >> id & 1))
        return false;
    if (x->kind == AD_LOAD)
        for (int i = 0; i < x->args; i++)
            if (!x->wrap[i] && x->arg[i]->kind == AD_INDEX && x->arg[i]->id == id)
                return true;
    for (int i = 0; i < x->args; i++)
        if (alone(x->arg[i], id))
            return true;
    return false;
}

/* Does a subscript in x tell the range of an index? */
static bool told(const Ad *a, const AdEx *x, int id)
{
    return !a->index[id].forced && alone(x, id);
}

static bool in_use(const Ad *a, const char *name)
{
    for (int i = 0; i < a->binds; i++)
        if (strcmp(a->bind[i], name) == 0)
            return true;
    return ad_taken(a, name);
}

static void name_index(Ad *a, int id)
{
    const char *like = a->canonical ? ad_format(a, "$%d", a->binds) : a->index[id].name;
    const char *name = like;
    for (int i = 2; !a->canonical && in_use(a, name); i++)
        name = ad_format(a, "%s%d", like, i);
    if (a->binds == (int)(sizeof a->bind / sizeof *a->bind))
        ad_lack(a, "its sums are nested too deeply");
    else
        a->bind[a->binds++] = name;
    a->active[id] = name;
}

void ad_names_start(Ad *a, const int *ids, int count)
{
    memset(a->active, 0, sizeof a->active);
    a->binds = 0;
    for (int i = 0; i < count; i++)
        name_index(a, ids[i]);
}

static void put(Ad *a, Buf *out, const AdEx *x, int level);

static void put_reduce(Ad *a, Buf *out, const AdEx *x)
{
    const char *before[AD_IDS];
    int binds = a->binds;
    memcpy(before, a->active, sizeof before);
    for (uint64_t m = x->over; m; m &= m - 1)
        name_index(a, __builtin_ctzll(m));
    for (uint64_t m = x->over; m; m &= m - 1) {
        int id = __builtin_ctzll(m);
        buf_printf(out, "%s%s", m == x->over ? x->text : "", m == x->over ? "[" : ", ");
        buf_puts(out, a->active[id]);
        if (a->canonical || !told(a, x->arg[0], id))
            buf_printf(out, " in 0:%s", a->index[id].length);
    }
    buf_puts(out, "] ");
    put(a, out, x->arg[0], PRODUCT);
    memcpy(a->active, before, sizeof before);
    a->binds = binds;
}

static void put_load(Ad *a, Buf *out, const AdEx *x)
{
    static const char *const wraps[] = { "", "clamp(", "mod(", "pad(" };
    buf_printf(out, "%s[", x->text);
    a->inside++;
    for (int i = 0; i < x->args; i++) {
        bool variable = x->arg[i]->kind == AD_TEXT && !x->arg[i]->literal;
        buf_printf(out, "%s%s%s", i ? "," : "", wraps[x->wrap[i]], variable ? "(" : "");
        put(a, out, x->arg[i], ANY);
        buf_printf(out, "%s%s", variable ? ")" : "", x->wrap[i] ? ")" : "");
    }
    a->inside--;
    buf_putc(out, ']');
}

static void put(Ad *a, Buf *out, const AdEx *x, int level)
{
    int own = level_of(x);
    bool parens = own < level;
    v_check_depth(a->b->in);
    if (parens)
        buf_putc(out, '(');
    switch ((AdKind)x->kind) {
    case AD_TEXT: buf_puts(out, x->text); break;
    case AD_INDEX: buf_puts(out, a->active[x->id] ? a->active[x->id] : "?"); break;
    case AD_LOAD: put_load(a, out, x); break;
    case AD_REDUCE: put_reduce(a, out, x); break;
    case AD_MINUS:
        buf_putc(out, '-');
        put(a, out, x->arg[0], PREFIX);
        break;
    case AD_CALL:
        buf_printf(out, "%s(", x->text);
        for (int i = 0; i < x->args; i++) {
            buf_puts(out, i ? ", " : "");
            put(a, out, x->arg[i], ANY);
        }
        buf_putc(out, ')');
        break;
    default:
        put(a, out, x->arg[0], own == POWER ? ATOM : own);
        buf_printf(out, a->inside || own == POWER ? "%s" : " %s ", x->text);
        put(a, out, x->arg[1], own + 1);
    }
    if (parens)
        buf_putc(out, ')');
}

void ad_put(Ad *a, Buf *out, const AdEx *x)
{
    put(a, out, x, ANY);
}

void ad_define(Ad *a, const char *name, const int *left, int rank, const AdEx *x,
               uint64_t einstein, bool more)
{
    Buf *out = &a->out->text;
    int ids[AD_IDS], count = rank, fors = 0;
    memcpy(ids, left, (size_t)rank * sizeof *ids);
    for (uint64_t m = einstein; m; m &= m - 1)
        ids[count++] = __builtin_ctzll(m);
    ad_names_start(a, ids, count);
    for (int pass = 0; pass <= more; pass++) {
        buf_printf(out, "%s%s", pass ? "" : "    ", name);
        for (int i = 0; i < rank; i++)
            buf_printf(out, "%s%s", i ? "," : "[", a->active[ids[i]]);
        buf_printf(out, "%s%s", rank ? "]" : "",
                   pass ? " + " : count == 0 && !x->reduces ? " = " : " := ");
    }
    put(a, out, x, more ? PRODUCT : ANY);
    for (int i = 0; i < count; i++)
        if (!told(a, x, ids[i]))
            buf_printf(out, "%s%s in 0:%s", fors++ ? ", " : " for ", a->active[ids[i]],
                       a->index[ids[i]].length);
    buf_putc(out, '\n');
}

/* ---- products ---- */
AdEx *ad_product(Ad *a, const AdWeight *w)
{
    AdEx *x = NULL;
    for (int i = 0; i < w->count; i++)
        x = x ? ad_infix(a, "*", x, w->factor[i]) : w->factor[i];
    return w->minus ? ad_minus(a, x) : x;
}

bool ad_weight_complex(const AdWeight *w)
{
    for (int i = 0; i < w->count; i++)
        if (w->factor[i]->is_complex)
            return true;
    return false;
}

/* Einstein's rule would sum exactly these: each has two places, all of them in elements, and no two
 * in one subscript. */
static bool einsteins(const AdWeight *w, uint64_t over)
{
    for (uint64_t m = over; m; m &= m - 1) {
        int id = __builtin_ctzll(m), places = 0;
        for (int i = 0; i < w->count; i++) {
            const AdEx *x = w->factor[i];
            bool inverse = x->kind == AD_INFIX && x->text[0] == '/' && ad_is(x->arg[0], 1);
            int n = ad_places(x, id);
            x = inverse ? x->arg[1] : x;
            if (n && x->kind != AD_LOAD)
                return false;
            for (int k = 0; n && k < x->args; k++)
                if (ad_places(x->arg[k], id) > 1)
                    return false;
            places += n;
        }
        if (places < 2)
            return false;
    }
    return true;
}

AdEx *ad_summed(Ad *a, const AdWeight *w, uint64_t over, bool real, uint64_t *einstein)
{
    AdEx *x = ad_product(a, w);
    bool implied = over && einsteins(w, over);
    if (over && !implied)
        x = ad_reduce(a, IXR_SUM, over, x);
    *einstein = implied ? over : 0;
    return real ? ad_call(a, "real", &x, 1) : x;
}

/* ---- what is computed before ---- */
const char *ad_key(Ad *a, const AdEx *x, const int *ids, int rank)
{
    Buf key;
    buf_init(&key, &a->b->in->ctx);
    a->canonical = true;
    ad_names_start(a, ids, rank);
    ad_put(a, &key, x);
    for (int i = 0; i < rank; i++)
        buf_printf(&key, " $%d:%s", i, a->index[ids[i]].length);
    a->canonical = false;
    const char *text = arena_copy(a->arena, buf_cstr(&key), key.len);
    buf_free(&key);
    return text;
}

/* The name of what the key says; NULL: it is not computed yet, and *made is to be. */
static const char *computed(Ad *a, const char *key, const char **made)
{
    for (const AdTemp *t = a->temp; t; t = t->next)
        if (strcmp(t->key, key) == 0)
            return t->name;
    AdTemp *t = arena_alloc(a->arena, sizeof *t);
    *made = ad_name(a, ad_format(a, "t%d", ++a->temps));
    *t = (AdTemp){ key, *made, a->temp };
    a->temp = t;
    return NULL;
}

/* x as a tensor; of a function: that of it. */
static AdEx *temporary(Ad *a, const AdEx *x, const char *function)
{
    int ids[AD_IDS], rank = ad_order(x, x->free, ids);
    if (rank > IX_AXES) {
        ad_lack(a, "a part of it has more than %d indices", IX_AXES);
        return ad_whole(a, 0);
    }
    const char *key = ad_key(a, x, ids, rank), *made = NULL, *name = computed(a, key, &made);
    if (!name)
        ad_define(a, name = made, ids, rank, x, 0, false);
    if (function) {
        const char *of = name;
        name = computed(a, ad_format(a, "%s of %s", function, of), &made);
        if (!name)
            buf_printf(&a->out->text, "    %s = %s(%s)\n", name = made, function, of);
    }
    AdEx *load = ad_own(a, name, ids, rank);
    load->is_complex = x->is_complex;
    load->risky = x->risky;
    return load;
}

AdEx *ad_hoist(Ad *a, AdEx *x)
{
    if (!x->reduces)
        return x;
    v_check_depth(a->b->in);
    AdEx *y = ad_like(a, x);
    for (int i = 0; i < x->args; i++)
        y->arg[i] = ad_hoist(a, x->arg[i]);
    y->reduces = x->kind == AD_REDUCE;
    return y->reduces ? temporary(a, y, NULL) : y;
}

AdEx *ad_call_whole(Ad *a, const char *function, AdEx *x)
{
    return temporary(a, ad_hoist(a, x), function);
}

AdEx *ad_value(Ad *a, AdEx *x)
{
    return x == a->root && a->root_value ? a->root_value : ad_hoist(a, x);
}

AdEx *ad_copy_to(Ad *a, const AdWeight *w, uint64_t free)
{
    int ids[AD_IDS];
    uint64_t einstein;
    AdEx *x = ad_summed(a, w, w->over & ~free, false, &einstein);
    int rank = ad_order(x, free, ids);
    if (rank > IX_AXES) {
        ad_lack(a, "a part of it has more than %d indices", IX_AXES);
        return ad_whole(a, 0);
    }
    const char *name = ad_name(a, ad_format(a, "w%d", ++a->weights));
    ad_define(a, name, ids, rank, x, einstein, false);
    AdEx *load = ad_own(a, name, ids, rank);
    load->is_complex = x->is_complex;
    load->risky = x->risky;
    return load;
}
