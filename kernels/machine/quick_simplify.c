/* What need not be computed, or not in a loop: constants, values that are there already (by
 * dominators), what variables are known to hold, conditions that were asked, what nobody uses. */
#include "kernels/machine/quick_ir.h"

#include <string.h>

enum { BUCKETS = 1024, CONSTANTS = 4 };

/* All that a variable is ever set to. */
typedef struct Settings {
    bool other;
    uint32_t count;
    int64_t i[CONSTANTS];
    LlValue first;
} Settings;

typedef struct Simplify {
    QuickFunction *f;
    LlValue *buckets;
    Settings *settings;
    LlBlock b;
} Simplify;

static bool is_const(const struct LlValueOf *v) { return v->op == QV_INT || v->op == QV_REAL; }

/* ---- what variables are set to ---- */
static void setting(Settings *s, LlValue v)
{
    uint32_t i = 0;
    if (v->op != QV_INT) {
        s->other = true;
        return;
    }
    while (i < s->count && s->i[i] != v->i)
        i++;
    if (i < s->count)
        return;
    if (i == CONSTANTS) {
        s->other = true;
        return;
    }
    s->i[s->count++] = v->i;
    s->first = v;
}

static void settings_find(Simplify *s)
{
    QuickFunction *f = s->f;
    s->settings = quick_alloc(f->q, (f->variable_count + 1) * sizeof *s->settings);
    memset(s->settings, 0, f->variable_count * sizeof *s->settings);
    for (uint32_t i = 0; i < f->count; i++)
        for (LlValue v = f->order[i]->first; v; v = v->next)
            if (v->op == QV_WRITE)
                setting(&s->settings[v->a->index], quick_real(v->b));
}

/* ---- constants ---- */
static int64_t signed_of(const struct LlValueOf *v)
{
    unsigned bits = quick_bits(v->type);
    return bits == 64 ? v->i : (int64_t)((uint64_t)v->i << (64 - bits)) >> (64 - bits);
}

static bool compare(int predicate, const struct LlValueOf *a, const struct LlValueOf *b)
{
    uint64_t x = (uint64_t)a->i, y = (uint64_t)b->i;
    int64_t p = signed_of(a), q = signed_of(b);
    switch (predicate) {
    case LL_EQ: return x == y;
    case LL_NE: return x != y;
    case LL_UGT: return x > y;
    case LL_UGE: return x >= y;
    case LL_ULT: return x < y;
    case LL_ULE: return x <= y;
    case LL_SGT: return p > q;
    case LL_SGE: return p >= q;
    case LL_SLT: return p < q;
    default: return p <= q;
    }
}

static LlValue fold_ints(LlValue v, LlValue a, LlValue b)
{
    uint64_t x = (uint64_t)a->i, y = (uint64_t)b->i;
    switch (v->code) {
    case LL_ADD: return quick_int(v->type, (int64_t)(x + y));
    case LL_SUB: return quick_int(v->type, (int64_t)(x - y));
    case LL_MUL: return quick_int(v->type, (int64_t)(x * y));
    case LL_AND: return quick_int(v->type, (int64_t)(x & y));
    case LL_OR: return quick_int(v->type, (int64_t)(x | y));
    case LL_XOR: return quick_int(v->type, (int64_t)(x ^ y));
    case LL_SHL: return quick_int(v->type, (int64_t)(x << y));
    case LL_ASHR: return quick_int(v->type, a->i >> y);
    default: return v;
    }
}

static bool commutes(const struct LlValueOf *v)
{
    return v->code == LL_ADD || v->code == LL_MUL || v->code == LL_AND || v->code == LL_OR ||
           v->code == LL_XOR;
}

/* not (a ? b) is a comparison too. */
static bool invert(LlValue v, LlValue c)
{
    static const uint8_t ints[] = { LL_NE, LL_EQ, LL_ULE, LL_ULT, LL_UGE, LL_UGT, LL_SLE, LL_SLT,
                                    LL_SGE, LL_SGT };
    if (c->op != QV_ICMP && c->op != QV_FCMP)
        return false;
    v->op = c->op;
    v->code = c->op == QV_ICMP ? ints[c->code - LL_EQ] : (uint8_t)(15 - c->code);
    v->a = c->a;
    v->b = c->b;
    return true;
}

/* x + (y + 3) is (x + y) + 3: the constant goes into an address, x + y may be there. */
static void reassociate(LlValue v)
{
    LlValue x = v->a, y = v->b;
    if (x->op == QV_BINARY && x->code == LL_ADD && x->b->op == QV_INT) {
        LlValue t = x;
        x = y;
        y = t;
    }
    if (y->op != QV_BINARY || y->code != LL_ADD || quick_real(y->b)->op != QV_INT)
        return;
    LlValue constant = quick_real(y->b), inner = quick_real(y->a);
    if (x->op == QV_INT) {
        v->a = inner;
        v->b = quick_int(v->type, x->i + constant->i);
        return;
    }
    LlValue sum = quick_value(v->block->function->q, QV_BINARY, v->type);
    sum->code = LL_ADD;
    sum->a = x;
    sum->b = inner;
    quick_insert(sum, v->block, v);
    v->a = sum;
    v->b = constant;
}

/* Is b one of what was or'd to a? */
static bool ored(LlValue a, LlValue b)
{
    while (a->op == QV_BINARY && a->code == LL_OR && quick_real(a->b) != b)
        a = quick_real(a->a);
    return a == b || (a->op == QV_BINARY && a->code == LL_OR);
}

/* To divide by a power of two is to multiply by its inverse: both round the same number. */
static void divide_by_power(LlValue v)
{
    enum { MANTISSA = 52, ONE = 1023, TWICE = 2 * ONE };
    LlValue b = v->b;
    uint64_t bits = (uint64_t)b->i, exponent = bits >> MANTISSA & 0x7FF;
    if (v->code != LL_FDIV || b->op != QV_REAL || bits << (64 - MANTISSA) || exponent == 0 ||
        exponent >= TWICE)
        return;
    v->code = LL_FMUL;
    v->b = quick_value(v->type->q, QV_REAL, v->type);
    v->b->i = (int64_t)((bits >> 63) << 63 | (TWICE - exponent) << MANTISSA);
}

static LlValue fold_binary(LlValue v)
{
    LlValue a = v->a, b = v->b;
    if (v->type->kind == QT_REAL)
        divide_by_power(v);
    if (v->type->kind != QT_INT)
        return v;
    if (a->op == QV_INT && b->op == QV_INT)
        return fold_ints(v, a, b);
    if (a->op == QV_INT && commutes(v)) {
        v->a = b;
        v->b = a;
        a = v->a;
        b = v->b;
    }
    bool flag = quick_bits(v->type) == 1, zero = quick_is(b, 0), one = quick_is(b, 1);
    switch (v->code) {
    case LL_ADD: case LL_SUB:
        if (zero)
            return a;
        if (v->code == LL_SUB && b->op == QV_INT && quick_bits(v->type) == 64) {
            v->code = LL_ADD;
            v->b = quick_int(v->type, (int64_t)(0 - (uint64_t)b->i));
        }
        if (v->code == LL_ADD && quick_bits(v->type) == 64)
            reassociate(v);
        return v;
    case LL_MUL: return one ? a : v;
    case LL_AND: return zero ? b : flag && one ? a : v;
    case LL_OR: return zero || ored(a, b) ? a : flag && one ? b : v;
    case LL_XOR:
        if (flag && one)
            invert(v, a);
        return zero ? a : v;
    default: return v;
    }
}

static LlValue fold_cast(LlValue v)
{
    LlValue a = v->a, r;
    if (a->op != QV_INT)
        return v;
    switch (v->code) {
    case LL_ZEXT: case LL_TRUNC: return quick_int(v->type, a->i);
    case LL_SEXT: return quick_int(v->type, signed_of(a));
    case LL_SI_TO_FP:
        r = quick_value(v->type->q, QV_REAL, v->type);
        r->f = (double)signed_of(a);
        return r;
    default: return v;
    }
}

/* A variable that is never set to this is not equal to it. */
static LlValue fold_icmp(const Simplify *s, LlValue v)
{
    LlValue a = v->a, b = v->b;
    LlType flag = &s->f->q->flag;
    bool equality = v->code == LL_EQ || v->code == LL_NE;
    if (a->op == QV_INT && b->op == QV_INT)
        return quick_int(flag, compare(v->code, a, b));
    if (a == b)
        return quick_int(flag, v->code == LL_EQ || v->code == LL_UGE || v->code == LL_ULE ||
                               v->code == LL_SGE || v->code == LL_SLE);
    if (a->op == QV_READ && b->op == QV_INT && equality) {
        const Settings *set = &s->settings[a->a->index];
        bool may = set->other;
        for (uint32_t i = 0; i < set->count; i++)
            may |= set->i[i] == b->i;
        if (!may)
            return quick_int(flag, v->code == LL_NE);
    }
    if (v->code == LL_NE && quick_is(b, 0) && a->op == QV_CAST && a->code == LL_ZEXT &&
        quick_bits(a->a->type) == 1)
        return quick_real(a->a);
    return v;
}

/* ---- values that are there ---- */
static bool dominates(LlBlock a, LlBlock b)
{
    while (b->depth > a->depth)
        b = b->parent;
    return a == b;
}

static LlValue existing(Simplify *s, LlValue v)
{
    uint64_t h = (uint64_t)v->op * 31 + v->code;
    const LlValue parts[] = { v->a, v->b, v->c };
    for (int i = 0; i < 3; i++) {
        uint64_t k = !parts[i] ? 0 : is_const(parts[i]) ? (uint64_t)parts[i]->i
                   : (uint64_t)(uintptr_t)parts[i] >> 4;
        h = (h ^ k) * 0x9E3779B97F4A7C15u;
        h ^= h >> 29;
    }
    LlValue *bucket = &s->buckets[h % BUCKETS];
    for (LlValue w = *bucket; w; w = w->chain) {
        const LlValue others[] = { w->a, w->b, w->c };
        bool same = w->op == v->op && w->code == v->code && w->epoch == v->epoch &&
                    w->count == v->count && w->sign == v->sign && w->type->kind == v->type->kind &&
                    quick_bits(w->type) == quick_bits(v->type);
        for (int i = 0; i < 3 && same; i++)
            same = parts[i] == others[i] ||
                   (parts[i] && others[i] && is_const(parts[i]) && parts[i]->op == others[i]->op &&
                    parts[i]->i == others[i]->i);
        if (same && dominates(w->block, s->b))
            return w;
    }
    v->chain = *bucket;
    *bucket = v;
    return v;
}

/* ---- the walk ---- */
static bool known(const Simplify *s, LlValue c, bool *is)
{
    enum { FAR = 256 };
    int steps = 0;
    for (LlBlock b = s->b; b && steps < FAR; b = b->parent, steps++)
        if (b->fact && quick_real(b->fact) == c) {
            *is = b->fact_is;
            return true;
        }
    return false;
}

static void branch_known(const Simplify *s, LlValue v)
{
    bool is;
    if (v->a->op == QV_INT)
        is = v->a->i & 1;
    else if (v->yes == v->no)
        is = true;
    else if (!known(s, v->a, &is))
        return;
    v->op = QV_JUMP;
    v->yes = is ? v->yes : v->no;
    v->a = NULL;
    v->no = NULL;
    v->rare = false;
}

static LlValue read_known(Simplify *s, LlValue v)
{
    LlValue *now = &s->b->now[v->a->index];
    const Settings *set = &s->settings[v->a->index];
    if (!set->other && set->count == 1)
        return set->first;
    if (*now)
        return quick_real(*now);
    *now = v;
    return v;
}

static void checked(Simplify *s, LlValue v)
{
    LlValue w = existing(s, v);
    if (w == v)
        return;
    v->same = w;
    quick_remove(v);
    if (v->second && w->second) {
        v->second->same = w->second;
        quick_remove(v->second);
    }
}

static LlValue better(Simplify *s, LlValue v)
{
    LlValue w = v;
    switch (v->op) {
    case QV_READ: return read_known(s, v);
    case QV_BINARY: w = fold_binary(v); break;
    case QV_CAST: w = fold_cast(v); break;
    case QV_ICMP: w = fold_icmp(s, v); break;
    case QV_SELECT:
        w = v->c->op == QV_INT ? (v->c->i & 1 ? v->a : v->b) : v->a == v->b ? v->a : v;
        break;
    case QV_FCMP: case QV_NEGATE: case QV_SQRT: case QV_ABS: case QV_ADDRESS: break;
    case QV_LOAD:
        v->epoch = s->b->epoch;
        return v->is_volatile ? v : existing(s, v);
    default: return v;
    }
    return w == v ? existing(s, v) : w;
}

static void operands(LlValue v)
{
    v->a = quick_real(v->a);
    v->b = quick_real(v->b);
    v->c = quick_real(v->c);
    for (uint32_t i = 0; v->args && i < v->count; i++)
        v->args[i] = quick_real(v->args[i]);
}

static void walk_block(Simplify *s, LlBlock b)
{
    QuickFunction *f = s->f;
    s->b = b;
    quick_enter(f, b);
    for (LlValue v = b->first, next; v; v = next) {
        next = v->next;
        operands(v);
        if (v->op == QV_WRITE) {
            if (quick_same(b->now[v->a->index], v->b))
                quick_remove(v);
            b->now[v->a->index] = v->b;
        } else if (v->op == QV_STORE || v->op == QV_CALL) {
            b->epoch = ++f->q->epochs;
        } else if (v->op == QV_CHECKED) {
            checked(s, v);
            next = v->same ? v->second->next : next;
        } else if (v->op == QV_BRANCH) {
            branch_known(s, v);
        } else if (!quick_ends(v)) {
            LlValue w = better(s, v);
            if (w != v) {
                v->same = w;
                quick_remove(v);
            }
        }
    }
}

static void walk(QuickFunction *f)
{
    Simplify s = { .f = f };
    quick_order(f);
    if (f->q->failed)
        return;
    s.buckets = quick_alloc(f->q, BUCKETS * sizeof *s.buckets);
    memset(s.buckets, 0, BUCKETS * sizeof *s.buckets);
    settings_find(&s);
    for (uint32_t i = 0; i < f->count; i++)
        walk_block(&s, f->order[i]);
}

/* ---- out of loops ---- */
static bool movable(const struct LlValueOf *v, const struct LlBlockOf *header)
{
    switch (v->op) {
    case QV_READ: return !(header->written[v->a->index / 64] >> v->a->index % 64 & 1);
    case QV_BINARY: return v->code != LL_SDIV && v->code != LL_UDIV && v->code != LL_SREM;
    case QV_CAST: case QV_NEGATE: case QV_SQRT: case QV_ABS: case QV_ADDRESS: return true;
    default: return false;
    }
}

static bool outside(LlValue v, LlBlock header)
{
    return !v || !v->block || v->op == QV_VARIABLE || (v->block != header &&
           dominates(v->block, header));
}

static LlValue sum_new(LlValue like, LlValue a, LlValue b, LlValue before)
{
    LlValue v = quick_value(before->block->function->q, QV_BINARY, like->type);
    v->code = LL_ADD;
    v->a = a;
    v->b = b;
    quick_insert(v, before->block, before);
    return v;
}

/* p[x + y + 3] where x does not change in the loop is q[y + 3], q = &p[x] of before. */
static void address_split(LlValue v, LlBlock header)
{
    LlValue sum = quick_real(v->b), constant = NULL;
    if (sum->op == QV_BINARY && sum->code == LL_ADD && quick_real(sum->b)->op == QV_INT) {
        constant = quick_real(sum->b);
        sum = quick_real(sum->a);
    }
    if (sum->op != QV_BINARY || sum->code != LL_ADD || outside(sum, header) ||
        !outside(v->a, header))
        return;
    LlValue x = quick_real(sum->a), y = quick_real(sum->b);
    if (!outside(x, header)) {
        LlValue t = x;
        x = y;
        y = t;
    }
    if (!outside(x, header) || is_const(x))
        return;
    LlValue inner = quick_value(v->block->function->q, QV_ADDRESS, v->type);
    inner->count = v->count;
    inner->a = v->a;
    inner->b = x;
    quick_insert(inner, header->parent, header->parent->last);
    v->a = inner;
    v->b = constant ? sum_new(y, y, constant, v) : y;
}

/* What does not change in a loop is computed before it. */
static void hoist(QuickFunction *f, LlBlock header)
{
    LlBlock before = header->parent;
    if (!before || before->last->op != QV_JUMP || before->last->yes != header)
        return;
    for (uint32_t i = 0; i < header->member_count; i++)
        header->members[i]->loop = header;
    for (uint32_t i = header->mark; i < f->count; i++) {
        LlBlock b = f->order[i];
        for (LlValue v = b->loop == header ? b->first : NULL, next; v; v = next) {
            next = v->next;
            operands(v);
            if (v->op == QV_ADDRESS)
                address_split(v, header);
            if (!movable(v, header) || !outside(v->a, header) || !outside(v->b, header))
                continue;
            quick_remove(v);
            quick_insert(v, before, before->last);
        }
    }
}

/* ---- what is used ---- */
static void mark(LlValue v, LlValue *stack, uint32_t *depth)
{
    if (v && !v->live) {
        v->live = true;
        stack[(*depth)++] = v;
    }
}

static bool is_root(const struct LlValueOf *v)
{
    return quick_ends(v) || v->op == QV_STORE || v->op == QV_CALL;
}

static void used_by(LlValue v, LlValue *writes, LlValue *stack, uint32_t *depth)
{
    LlValue parts[] = { v->a, v->b, v->c, v->op == QV_CHECKED ? v->second : NULL };
    for (int i = 0; i < 4; i++)
        mark(parts[i], stack, depth);
    for (uint32_t i = 0; v->args && v->op == QV_CALL && i < v->count; i++)
        mark(v->args[i], stack, depth);
    if (v->op == QV_READ)
        for (LlValue w = writes[v->a->index]; w; w = w->chain)
            mark(w, stack, depth);
}

static void remove_unused(QuickFunction *f)
{
    uint32_t depth = 0, count = f->variable_count + 16;
    LlValue *writes = quick_alloc(f->q, (f->variable_count + 1) * sizeof *writes);
    memset(writes, 0, f->variable_count * sizeof *writes);
    for (uint32_t i = 0; i < f->count; i++)
        for (LlValue v = f->order[i]->first; v; v = v->next) {
            operands(v);
            count += 4 + (v->op == QV_CALL ? v->count : 0);
        }
    LlValue *stack = quick_alloc(f->q, count * sizeof *stack);
    for (uint32_t i = 0; i < f->count; i++)
        for (LlValue v = f->order[i]->first; v; v = v->next) {
            v->live = false;
            if (v->op == QV_WRITE) {
                v->chain = writes[v->a->index];
                writes[v->a->index] = v;
            }
            if (is_root(v))
                mark(v, stack, &depth);
        }
    while (depth) {
        LlValue v = stack[--depth];
        used_by(v, writes, stack, &depth);
    }
    for (uint32_t i = 0; i < f->count; i++)
        for (LlValue v = f->order[i]->first, next; v; v = next) {
            next = v->next;
            if (!v->live && v->op != QV_SECOND)
                quick_remove(v);
            else if (!v->live && !v->a->live)
                quick_remove(v);
        }
}

void quick_simplify(QuickFunction *f)
{
    for (int pass = 0; pass < 2 && !f->q->failed; pass++)
        walk(f);
    if (f->q->failed)
        return;
    quick_order(f);
    for (uint32_t i = 0; i < f->count && !f->q->failed; i++)
        if (f->order[i]->header)
            hoist(f, f->order[i]);
    if (!f->q->failed)
        walk(f);
    if (f->q->failed)
        return;
    quick_order(f);
    remove_unused(f);
}
