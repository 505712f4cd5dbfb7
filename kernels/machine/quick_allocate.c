/* Registers for vregs: what lives where, instructions that nobody needs, values computed straight
 * into the variables they are for, then registers to those used most for their length. */
#include "kernels/machine/quick_ir.h"

#include <stdlib.h>
#include <string.h>

/* ---- sets ---- */
static bool has(const uint64_t *set, int32_t i) { return set[i / 64] >> i % 64 & 1; }
static void put(uint64_t *set, int32_t i) { set[i / 64] |= (uint64_t)1 << i % 64; }
static void drop(uint64_t *set, int32_t i) { set[i / 64] &= ~((uint64_t)1 << i % 64); }

int quick_each_use(Ins *i, Operand **uses, int most)
{
    Operand *all[] = { &i->a, &i->b, &i->x, &i->y };
    int n = 0;
    for (int k = 0; k < 4; k++)
        if (all[k]->kind == O_VREG)
            uses[n++] = all[k];
    for (uint32_t k = 0; k < i->count && n < most; k++)
        if (i->args[k].kind == O_VREG)
            uses[n++] = &i->args[k];
    return n;
}

static void ins_remove(LlBlock b, Ins *i)
{
    *(i->before ? &i->before->next : &b->head) = i->next;
    *(i->next ? &i->next->before : &b->tail) = i->before;
}

/* ---- what lives at the ends of blocks ---- */
static uint64_t *set_new(QuickFunction *f)
{
    uint64_t *s = quick_alloc(f->q, f->words * sizeof *s);
    return memset(s, 0, f->words * sizeof *s);
}

static void reads_and_kills(QuickFunction *f, LlBlock b, uint64_t *reads, uint64_t *kills)
{
    Operand *uses[USES_MOST];
    (void)f;
    for (Ins *i = b->head; i; i = i->next) {
        int n = quick_each_use(i, uses, USES_MOST);
        while (n-- > 0)
            if (!has(kills, uses[n]->vreg))
                put(reads, uses[n]->vreg);
        if (i->d.kind == O_VREG)
            put(kills, i->d.vreg);
    }
}

static bool into(QuickFunction *f, LlBlock b, const uint64_t *reads, const uint64_t *kills)
{
    const LlBlock next[] = { b->tail->yes, b->tail->no };
    bool grew = false;
    for (int k = 0; k < 2; k++)
        for (uint32_t w = 0; next[k] && w < f->words; w++)
            b->out[w] |= next[k]->in[w];
    for (uint32_t w = 0; w < f->words; w++) {
        uint64_t in = reads[w] | (b->out[w] & ~kills[w]);
        grew |= in != b->in[w];
        b->in[w] = in;
    }
    return grew;
}

static void lives(QuickFunction *f)
{
    uint64_t **sets = quick_alloc(f->q, 2 * (f->count + 1) * sizeof *sets);
    bool grew = true;
    for (uint32_t i = 0; i < f->count; i++) {
        LlBlock b = f->order[i];
        b->in = set_new(f);
        b->out = set_new(f);
        sets[2 * i] = set_new(f);
        sets[2 * i + 1] = set_new(f);
        reads_and_kills(f, b, sets[2 * i], sets[2 * i + 1]);
    }
    while (grew) {
        grew = false;
        for (uint32_t i = f->count; i > 0; i--)
            grew |= into(f, f->order[i - 1], sets[2 * i - 2], sets[2 * i - 1]);
    }
}

/* ---- what nobody needs ---- */
static bool pure(const Ins *i)
{
    return i->op <= I_LEA && i->op != I_CHECKED && i->op != I_STORE && i->d.kind == O_VREG;
}

static bool remove_dead(QuickFunction *f)
{
    Operand *uses[USES_MOST];
    uint64_t *live = set_new(f);
    bool any = false;
    for (uint32_t k = 0; k < f->count; k++) {
        LlBlock b = f->order[k];
        memcpy(live, b->out, f->words * sizeof *live);
        for (Ins *i = b->tail, *before; i; i = before) {
            before = i->before;
            bool self = i->op == I_MOVE && i->a.kind == O_VREG && i->a.vreg == i->d.vreg;
            if (pure(i) && (self || !has(live, i->d.vreg))) {
                ins_remove(b, i);
                any = true;
                continue;
            }
            if (i->d.kind == O_VREG)
                drop(live, i->d.vreg);
            for (int n = quick_each_use(i, uses, USES_MOST); n > 0; n--)
                put(live, uses[n - 1]->vreg);
        }
    }
    return any;
}

/* ---- straight into variables ---- */
static bool uses_vreg(Ins *i, int32_t v, uint32_t *count)
{
    Operand *uses[USES_MOST];
    bool any = false;
    for (int n = quick_each_use(i, uses, USES_MOST); n > 0; n--)
        if (uses[n - 1]->vreg == v) {
            any = true;
            ++*count;
        }
    return any;
}

static bool defines(const Ins *i, int32_t v) { return i->d.kind == O_VREG && i->d.vreg == v; }

static void rename_uses(Ins *i, int32_t from, int32_t to)
{
    Operand *uses[USES_MOST];
    for (int n = quick_each_use(i, uses, USES_MOST); n > 0; n--)
        if (uses[n - 1]->vreg == from)
            uses[n - 1]->vreg = to;
}

/* x = v, where v is computed above in this block and x is not looked at in between. */
static bool compute_into(QuickFunction *f, LlBlock b, Ins *move)
{
    int32_t x = move->d.vreg, v = move->a.vreg;
    uint32_t seen = 1, others = 0;
    Ins *i = move->before;
    for (; i && !defines(i, v); i = i->before) {
        if (uses_vreg(i, x, &others) || defines(i, x))
            return false;
        uses_vreg(i, v, &seen);
    }
    if (!i || seen != f->vregs[v].uses || f->vregs[v].defs != 1)
        return false;
    i->d.vreg = x;
    for (i = i->next; i != move; i = i->next)
        rename_uses(i, v, x);
    ins_remove(b, move);
    return true;
}

/* v = x + c; leaves on overflow; x = v: done in place, and undone where it leaves. */
static bool compute_undoing(QuickFunction *f, LlBlock b)
{
    Ins *end = b->tail, *i = end->before, *move;
    uint32_t seen = 0, others = 0;
    LlBlock next = end->no;
    if (end->op != I_BRANCH || end->asks != A_OVER || next->pred_count != 1 || !end->sign ||
        end->code == LL_MUL)
        return false;
    while (i && i->op != I_CHECKED)
        i = i->before;
    if (!i || i->d.kind != O_VREG)
        return false;
    int32_t v = i->d.vreg, x;
    for (move = next->head; move && !(move->op == I_MOVE && move->a.kind == O_VREG &&
                                      move->a.vreg == v); move = move->next)
        ;
    if (!move || !f->vregs[move->d.vreg].is_variable)
        return false;
    x = move->d.vreg;
    if (i->code == LL_ADD && i->b.kind == O_VREG && i->b.vreg == x) {
        Operand t = i->a;
        i->a = i->b;
        i->b = t;
    }
    if (i->a.kind != O_VREG || i->a.vreg != x || (i->b.kind == O_VREG && i->b.vreg == x) ||
        (i->b.kind == O_INT && i->b.i != (int32_t)i->b.i))
        return false;
    for (Ins *k = i->next; k != end; k = k->next)
        if (uses_vreg(k, x, &others) || defines(k, x) ||
            (i->b.kind == O_VREG && defines(k, i->b.vreg)))
            return false;
        else
            uses_vreg(k, v, &seen);
    for (Ins *k = next->head; k != move; k = k->next)
        if (uses_vreg(k, x, &others) || defines(k, x))
            return false;
        else
            uses_vreg(k, v, &seen);
    if (seen + 1 != f->vregs[v].uses || f->vregs[v].defs != 1)
        return false;
    i->d.vreg = x;
    for (Ins *k = i->next; k != end; k = k->next)
        rename_uses(k, v, x);
    for (Ins *k = next->head; k != move; k = k->next)
        rename_uses(k, v, x);
    ins_remove(next, move);
    end->undo = true;
    end->a = i->a;
    end->x = i->b;
    return true;
}

static void count_uses(QuickFunction *f)
{
    Operand *uses[USES_MOST];
    for (uint32_t i = 0; i < f->vreg_count; i++)
        f->vregs[i].uses = f->vregs[i].defs = 0;
    for (uint32_t k = 0; k < f->count; k++)
        for (Ins *i = f->order[k]->head; i; i = i->next) {
            for (int n = quick_each_use(i, uses, USES_MOST); n > 0; n--)
                f->vregs[uses[n - 1]->vreg].uses++;
            if (i->d.kind == O_VREG)
                f->vregs[i->d.vreg].defs++;
        }
}

static void coalesce(QuickFunction *f)
{
    count_uses(f);
    for (uint32_t k = 0; k < f->count; k++) {
        for (Ins *i = f->order[k]->head, *next; i; i = next) {
            next = i->next;
            if (i->op == I_MOVE && i->a.kind == O_VREG && f->vregs[i->d.vreg].is_variable &&
                !f->vregs[i->a.vreg].is_variable &&
                f->vregs[i->a.vreg].is_real == f->vregs[i->d.vreg].is_real)
                compute_into(f, f->order[k], i);
        }
        compute_undoing(f, f->order[k]);
    }
}

/* ---- ranges ---- */
typedef struct Ranges {
    QuickFunction *f;
    uint64_t *live;
    uint32_t *end;
    float weight;
} Ranges;

static void range_add(Ranges *r, int32_t v, uint32_t from, uint32_t to)
{
    Vreg *g = &r->f->vregs[v];
    if (g->ranges && g->ranges->from == to) {
        g->ranges->from = from;
        return;
    }
    Range *one = quick_alloc(r->f->q, sizeof *one);
    *one = (Range){ from, to, g->ranges };
    g->ranges = one;
}

static void call_crossed(Ranges *r)
{
    for (uint32_t w = 0; w < r->f->words; w++)
        for (uint64_t bits = r->live[w]; bits; bits &= bits - 1)
            r->f->vregs[w * 64 + (uint32_t)__builtin_ctzll(bits)].calls += r->weight;
}

static void used_here(Ranges *r, int32_t v)
{
    Vreg *g = &r->f->vregs[v];
    g->weight += r->weight;
    g->most = g->most > r->weight ? g->most : r->weight;
}

static void block_ranges(Ranges *r, LlBlock b)
{
    Operand *uses[USES_MOST];
    memcpy(r->live, b->out, r->f->words * sizeof *r->live);
    for (uint32_t w = 0; w < r->f->words; w++)
        for (uint64_t bits = r->live[w]; bits; bits &= bits - 1)
            r->end[w * 64 + (uint32_t)__builtin_ctzll(bits)] = b->to;
    for (Ins *i = b->tail; i; i = i->before) {
        uint32_t p = 2 * i->at;
        if (i->d.kind == O_VREG) {
            int32_t v = i->d.vreg;
            range_add(r, v, p + 1, has(r->live, v) ? r->end[v] : p + 2);
            drop(r->live, v);
            used_here(r, v);
        }
        if (i->op == I_CALL)
            call_crossed(r);
        for (int n = quick_each_use(i, uses, USES_MOST); n > 0; n--) {
            int32_t v = uses[n - 1]->vreg;
            used_here(r, v);
            if (!has(r->live, v))
                r->end[v] = p + 1;
            put(r->live, v);
        }
    }
    for (uint32_t w = 0; w < r->f->words; w++)
        for (uint64_t bits = r->live[w]; bits; bits &= bits - 1) {
            uint32_t v = w * 64 + (uint32_t)__builtin_ctzll(bits);
            range_add(r, (int32_t)v, b->from, r->end[v]);
        }
}

static uint32_t ranges_find(QuickFunction *f)
{
    uint32_t at = 1;
    for (uint32_t k = 0; k < f->count; k++) {
        LlBlock b = f->order[k];
        b->from = 2 * at;
        for (Ins *i = b->head; i; i = i->next)
            i->at = at++;
        b->to = 2 * at;
    }
    Ranges r = { .f = f, .live = set_new(f) };
    r.end = quick_alloc(f->q, (f->vreg_count + 1) * sizeof *r.end);
    for (uint32_t k = f->count; k > 0 && !f->q->failed; k--) {
        LlBlock b = f->order[k - 1];
        r.weight = b->cold ? 0.1f : 1;
        for (uint32_t l = 0; l < b->level && !b->cold; l++)
            r.weight *= 10;
        block_ranges(&r, b);
    }
    return 2 * at + 2;
}

/* ---- registers ---- */
static const int8_t general_first[] = { 1, 6, 7, 8, 9, 10, 11, 3, 5, 12, 13, 14, 15, -1 };
static const int8_t general_kept[] = { 3, 5, 12, 13, 14, 15, 1, 6, 7, 8, 9, 10, 11, -1 };
static const int8_t reals[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, -1 };

typedef struct Assign {
    QuickFunction *f;
    uint64_t *taken[GENERAL_REGS + REAL_REGS];
} Assign;

static uint64_t mask_of(uint32_t w, uint32_t from, uint32_t to)
{
    uint64_t m = ~(uint64_t)0;
    if (from > w * 64)
        m &= ~(uint64_t)0 << (from - w * 64);
    if (to < w * 64 + 64)
        m &= ~(~(uint64_t)0 << (to - w * 64));
    return m;
}

static bool is_free(const uint64_t *taken, const Vreg *v)
{
    for (const Range *r = v->ranges; r; r = r->next)
        for (uint32_t w = r->from / 64; w <= (r->to - 1) / 64; w++)
            if (taken[w] & mask_of(w, r->from, r->to))
                return false;
    return true;
}

static void take(uint64_t *taken, const Vreg *v)
{
    for (const Range *r = v->ranges; r; r = r->next)
        for (uint32_t w = r->from / 64; w <= (r->to - 1) / 64; w++)
            taken[w] |= mask_of(w, r->from, r->to);
}

static bool kept(const Vreg *v, int8_t reg) { return !v->is_real && KEPT_GENERAL >> reg & 1; }

static bool gets(Assign *s, Vreg *v, int8_t reg)
{
    uint64_t *taken = s->taken[reg + (v->is_real ? GENERAL_REGS : 0)];
    if ((!kept(v, reg) && v->weight <= 2 * v->calls) || !is_free(taken, v))
        return false;
    take(taken, v);
    v->reg = reg;
    if (kept(v, reg))
        s->f->saved |= 1u << reg;
    return true;
}

static void assign(Assign *s, Vreg *v)
{
    const int8_t *list = v->is_real ? reals : v->calls > 0 ? general_kept : general_first;
    for (int k = 0; k < 3; k++) {
        int8_t reg = v->hints[k] < 0 ? -1 : s->f->vregs[v->hints[k]].reg;
        if (reg >= 0 && (v->calls <= 0 || kept(v, reg)) && gets(s, v, reg))
            return;
    }
    for (; *list >= 0; list++)
        if (gets(s, v, *list))
            return;
}

/* Those of innermost loops come first, whatever they are as long as: each use counts ten times. */
typedef struct Rank { float most, density; uint32_t vreg; } Rank;

static int by_density(const void *a, const void *b)
{
    const Rank *x = a, *y = b;
    if (x->most != y->most)
        return x->most < y->most ? 1 : -1;
    return x->density < y->density ? 1 : x->density > y->density ? -1 : 0;
}

static void registers_assign(QuickFunction *f, uint32_t positions)
{
    Assign s = { .f = f };
    uint32_t n = 0;
    Rank *ranks = quick_alloc(f->q, (f->vreg_count + 1) * sizeof *ranks);
    for (int r = 0; r < GENERAL_REGS + REAL_REGS; r++)
        s.taken[r] = memset(quick_alloc(f->q, positions / 8 + 16), 0, positions / 8 + 16);
    for (uint32_t i = 0; i < f->vreg_count; i++) {
        uint32_t length = 0;
        for (const Range *r = f->vregs[i].ranges; r; r = r->next)
            length += r->to - r->from;
        if (length)
            ranks[n++] = (Rank){ f->vregs[i].most, f->vregs[i].weight / (float)(length + 4), i };
    }
    qsort(ranks, n, sizeof *ranks, by_density);
    for (uint32_t i = 0; i < n; i++)
        assign(&s, &f->vregs[ranks[i].vreg]);
    for (uint32_t i = 0; i < f->vreg_count; i++)
        if (f->vregs[i].ranges && (f->vregs[i].reg < 0 || f->vregs[i].calls > 0))
            f->vregs[i].slot = f->slots++;
}

/* As they were filled, which is the program's order; what is rarely run stands behind. */
static void lay_out(QuickFunction *f)
{
    LlBlock *order = quick_alloc(f->q, (f->count + 1) * sizeof *order);
    LlBlock *by_place = quick_alloc(f->q, (f->entered + 1) * sizeof *by_place);
    uint32_t n = 0;
    memset(by_place, 0, f->entered * sizeof *by_place);
    for (uint32_t i = 0; i < f->count; i++)
        by_place[f->order[i]->place] = f->order[i];
    order[n++] = f->order[0];
    for (int cold = 0; cold < 2; cold++)
        for (uint32_t i = 0; i < f->entered; i++)
            if (by_place[i] && by_place[i] != order[0] && by_place[i]->cold == cold)
                order[n++] = by_place[i];
    f->order = order;
}

/* What only jumps on is passed over. */
static LlBlock past_jumps(LlBlock b)
{
    enum { FAR = 16 };
    for (int i = 0; b && i < FAR && b->head->op == I_JUMP; i++)
        b = b->head->yes;
    return b;
}

static void reach(LlBlock b)
{
    if (b)
        b->reached = true;
}

static void jumps_shorten(QuickFunction *f)
{
    uint32_t n = 1;
    for (uint32_t i = 0; i < f->count; i++)
        f->order[i]->reached = false;
    for (uint32_t i = 0; i < f->count; i++) {
        Ins *end = f->order[i]->tail;
        end->yes = past_jumps(end->yes);
        end->no = past_jumps(end->no);
        reach(end->yes);
        reach(end->no);
    }
    for (uint32_t i = 1; i < f->count; i++)
        if (f->order[i]->reached || f->order[i]->head->op != I_JUMP)
            f->order[n++] = f->order[i];
    f->count = n;
}

void quick_allocate(QuickFunction *f)
{
    enum { DEAD_PASSES = 4 };
    f->words = f->vreg_count / 64 + 1;
    lay_out(f);
    for (int pass = 0; pass < DEAD_PASSES; pass++) {
        lives(f);
        if (!remove_dead(f))
            break;
    }
    coalesce(f);
    lives(f);
    registers_assign(f, ranges_find(f));
    jumps_shorten(f);
}
