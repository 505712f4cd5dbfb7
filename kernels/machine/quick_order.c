/* The blocks of a function: which are reached, loops, dominators, what variables hold where a block
 * begins. */
#include "kernels/machine/quick_ir.h"

#include <string.h>

static int successors(const struct LlBlockOf *b, LlBlock *out)
{
    const struct LlValueOf *end = b->last;
    int n = 0;
    if (end->op == QV_JUMP || end->op == QV_BRANCH)
        out[n++] = end->yes;
    if (end->op == QV_BRANCH && end->no != end->yes)
        out[n++] = end->no;
    return n;
}

/* Whatever has no end traps. */
static void ended(QuickFunction *f, LlBlock b)
{
    if (!b->last || !quick_ends(b->last))
        quick_insert(quick_value(f->q, QV_UNREACHABLE, NULL), b, NULL);
}

/* Each block before those that follow it, but for jumps back: of two that follow the one that is
 * looked at first comes last. */
static void number(QuickFunction *f)
{
    typedef struct Visit { LlBlock b, next[2]; int left; } Visit;
    Visit *stack = quick_alloc(f->q, (f->block_count + 1) * sizeof *stack);
    uint32_t depth = 0, n = f->block_count;
    LlBlock *order = quick_alloc(f->q, (n + 1) * sizeof *order);
    f->blocks->reached = true;
    stack[depth++] = (Visit){ .b = f->blocks };
    stack[0].left = successors(f->blocks, stack[0].next);
    while (depth) {
        Visit *v = &stack[depth - 1];
        if (v->left == 0) {
            order[--n] = v->b;
            depth--;
            continue;
        }
        LlBlock to = v->next[--v->left];
        if (to->reached)
            continue;
        to->reached = true;
        stack[depth++] = (Visit){ .b = to };
        stack[depth - 1].left = successors(to, stack[depth - 1].next);
    }
    f->order = order + n;
    f->count = f->block_count - n;
    for (uint32_t i = 0; i < f->count; i++)
        f->order[i]->mark = i;
}

static void begin(QuickFunction *f)
{
    for (LlBlock b = f->blocks; b; b = b->list) {
        b->reached = false;
        ended(f, b);
        if (!b->entered) {
            b->entered = true;
            b->place = f->entered++;
        }
    }
}

static void predecessors(QuickFunction *f)
{
    LlBlock next[2];
    for (uint32_t i = 0; i < f->count; i++)
        f->order[i]->pred_count = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < f->count; i++)
            for (int n = successors(f->order[i], next); n > 0; n--) {
                LlBlock to = next[n - 1];
                if (pass)
                    to->preds[to->pred_count] = f->order[i];
                to->pred_count++;
            }
        for (uint32_t i = 0; i < f->count && !pass; i++) {
            LlBlock b = f->order[i];
            b->preds = quick_alloc(f->q, (b->pred_count + 1) * sizeof *b->preds);
            b->pred_count = 0;
        }
    }
}

/* ---- loops ---- */
static void written_by(LlBlock header, LlBlock b)
{
    for (LlValue v = b->first; v; v = v->next) {
        if (v->op != QV_WRITE)
            continue;
        uint64_t *word = &header->written[v->a->index / 64], bit = (uint64_t)1 << v->a->index % 64;
        LlValue *only = &header->only[v->a->index], to = quick_real(v->b);
        if (to->op != QV_INT || (*word & bit && !quick_same(*only, to)))
            to = NULL;
        *only = to;
        *word |= bit;
    }
}

/* Blocks from which a jump back to the header is reached without passing it. */
static void loop_of(QuickFunction *f, LlBlock header)
{
    size_t words = (f->variable_count + 63) / 64 + 1;
    LlBlock *m = quick_alloc(f->q, (f->count + 1) * sizeof *m);
    uint32_t last = header->place;
    bool *inside = quick_alloc(f->q, f->count + 1);
    memset(inside, 0, f->count + 1);
    header->written = quick_alloc(f->q, words * sizeof *header->written);
    header->only = quick_alloc(f->q, (f->variable_count + 1) * sizeof *header->only);
    memset(header->written, 0, words * sizeof *header->written);
    header->members = m;
    header->member_count = 0;
    m[header->member_count++] = header;
    inside[header->mark] = true;
    for (uint32_t i = 0; i < header->pred_count; i++)
        if (header->preds[i]->mark >= header->mark && !inside[header->preds[i]->mark]) {
            inside[header->preds[i]->mark] = true;
            m[header->member_count++] = header->preds[i];
        }
    for (uint32_t done = 0; done < header->member_count; done++) {
        LlBlock b = m[done];
        f->q->failed |= b->mark < header->mark;      /* entered elsewhere: no structure */
        last = b->place > last ? b->place : last;
        b->level++;
        written_by(header, b);
        for (uint32_t i = 0; b != header && i < b->pred_count; i++)
            if (!inside[b->preds[i]->mark]) {
                inside[b->preds[i]->mark] = true;
                m[header->member_count++] = b->preds[i];
            }
    }
    for (uint32_t i = header->mark; i < f->count; i++)
        f->order[i]->cold |= !inside[i] && f->order[i]->place > header->place &&
                             f->order[i]->place < last;
}

static bool is_header(const struct LlBlockOf *b)
{
    for (uint32_t i = 0; i < b->pred_count; i++)
        if (b->preds[i]->mark >= b->mark)
            return true;
    return false;
}

/* All ways to it are; of a loop those that enter it. */
static bool is_cold(const struct LlBlockOf *b)
{
    for (uint32_t i = 0; i < b->pred_count; i++) {
        const struct LlBlockOf *p = b->preds[i];
        if (p->mark < b->mark && !p->cold && !(p->last->rare && p->last->yes == b))
            return false;
    }
    return b->pred_count > 0;
}

/* ---- dominators ---- */
static LlBlock common(LlBlock a, LlBlock b)
{
    while (a != b) {
        if (a->depth >= b->depth)
            a = a->parent;
        else
            b = b->parent;
    }
    return a;
}

static void dominator(LlBlock b)
{
    LlBlock p = NULL;
    for (uint32_t i = 0; i < b->pred_count; i++)
        if (b->preds[i]->mark < b->mark)
            p = p ? common(p, b->preds[i]) : b->preds[i];
    b->parent = p;
    b->depth = p ? p->depth + 1 : 0;
    b->fact = NULL;
    if (b->pred_count == 1 && p && p->last->op == QV_BRANCH && p->last->yes != p->last->no) {
        b->fact = quick_real(p->last->a);
        b->fact_is = p->last->yes == b;
    }
}

void quick_order(QuickFunction *f)
{
    begin(f);
    number(f);
    predecessors(f);
    for (uint32_t i = 0; i < f->count; i++) {
        LlBlock b = f->order[i];
        b->level = 0;
        b->header = is_header(b);
        b->cold = false;
        f->q->failed |= i > 0 && b->pred_count > 0 && b->header && b->preds[0]->mark >= b->mark &&
                        b->pred_count == 1;
    }
    for (uint32_t i = 0; i < f->count && !f->q->failed; i++) {
        f->order[i]->cold |= is_cold(f->order[i]);
        if (f->order[i]->header)
            loop_of(f, f->order[i]);
    }
    for (uint32_t i = 1; i < f->count && !f->q->failed; i++) {
        dominator(f->order[i]);
        f->q->failed |= !f->order[i]->parent;
    }
}

/* What all ways that lead here agree on; of a loop what it does not change. */
void quick_enter(QuickFunction *f, LlBlock b)
{
    size_t n = f->variable_count;
    bool any = false;
    if (!b->now)
        b->now = quick_alloc(f->q, (n + 1) * sizeof *b->now);
    memset(b->now, 0, n * sizeof *b->now);
    b->epoch = b->pred_count == 1 ? b->preds[0]->epoch : ++f->q->epochs;
    for (uint32_t i = 0; i < b->pred_count; i++) {
        LlBlock p = b->preds[i];
        if (p->mark >= b->mark)
            continue;
        if (!any)
            memcpy(b->now, p->now, n * sizeof *b->now);
        for (size_t k = 0; any && k < n; k++)
            if (!quick_same(b->now[k], p->now[k]))
                b->now[k] = NULL;
        any = true;
    }
    for (size_t k = 0; b->header && k < n; k++)
        if (b->written[k / 64] >> k % 64 & 1 &&
            !(b->only[k] && b->now[k] && quick_same(b->only[k], b->now[k])))
            b->now[k] = NULL;
}
