/* Structures and what is kept of them. The key of a run holds all that its steps depend on: the
 * operations and how they hang together, dtypes, shapes and strides of what comes from outside,
 * numbers that say how, scopes, and whose results somebody holds. The values of scalars beside
 * tensors are no part of it. */
#include "interp/lazy/lazy.h"

#include "core/base/error.h"
#include "interp/device/place.h"
#include "interp/state/scope.h"

#include <string.h>

/* ---- the key ---- */
enum { LEAF_BITS = 7, SCALARS = 32 };

/* A tensor from outside, and its number. */
typedef struct Leaf {
    const Tensor *t;
    uint64_t number;
} Leaf;

typedef struct Key {
    Ctx *ctx;
    uint64_t few[512], *word;
    size_t length, room;
    Leaf few_leaves[1 << LEAF_BITS], *leaf;     /* by address; not full */
    int leaf_bits;
    uint64_t leaves;
    Value scalar[SCALARS];              /* those that differ */
    uint32_t scalars;
} Key;

static void key_grow(Key *k)
{
    size_t room = 2 * k->room;
    uint64_t *more = mem_alloc(k->ctx, room * sizeof *more);
    memcpy(more, k->word, k->length * sizeof *more);
    if (k->word != k->few)
        mem_free(k->ctx, k->word, k->room * sizeof *more);
    k->word = more;
    k->room = room;
}

static void put(Key *k, uint64_t word)
{
    if (k->length == k->room)
        key_grow(k);
    k->word[k->length++] = word;
}

/* A tensor from outside: its number, and its form where it is new. */
static void put_leaf(Key *k, const Tensor *t)
{
    size_t mask = ((size_t)1 << k->leaf_bits) - 1,
           at = ((uintptr_t)t >> 5) * 0x9e3779b97f4a7c15u >> (64 - k->leaf_bits);
    while (k->leaf[at].t && k->leaf[at].t != t)
        at = (at + 1) & mask;
    if (k->leaf[at].t) {
        put(k, (uint64_t)2 << 56 | k->leaf[at].number);
        return;
    }
    k->leaf[at] = (Leaf){ t, k->leaves++ };
    put(k, (uint64_t)3 << 56 | (uint64_t)t->flags << 48 | (uint64_t)t->rank << 40 | t->dtype);
    for (int i = 0; i < 2 * t->rank; i++)
        put(k, (uint64_t)t->dims[i]);
}

/* Which scalars are the same, not what they are; but for those that find no room. */
static void put_scalar(Key *k, Value v)
{
    uint64_t tag = (uint64_t)4 << 56 | (uint64_t)v.tag << 32;
    uint32_t i = 0;
    if (v.tag == V_UNDEF || v.tag == V_NONE) {
        put(k, tag);
        return;
    }
    while (i < k->scalars && (k->scalar[i].tag != v.tag || k->scalar[i].i != v.i))
        i++;
    put(k, tag | i);
    if (i == SCALARS)
        put(k, (uint64_t)v.i);
    else if (i == k->scalars)
        k->scalar[k->scalars++] = v;
}

static void put_value(Key *k, const Run *run, const Deferred *d, Value v)
{
    const Deferred *o = deferred_of(v);
    if (o && o->run == d->run)
        put(k, (uint64_t)1 << 56 | (uint64_t)o->index);
    else if (v.tag == V_TENSOR)
        put_leaf(k, v.tensor);
    else if (v.tag == V_TUPLE) {
        put(k, (uint64_t)5 << 56 | v.tuple->count);
        for (uint32_t i = 0; i < v.tuple->count; i++)
            put_value(k, run, d, v.tuple->items[i]);
    } else {
        put_scalar(k, v);
        /* what a number is decides how: of a power, and of a mask's other side */
        if (d->op->cls != OPC_EW || d->op->ew == EW_POWER ||
            ew_info[d->op->ew].result == RES_WHERE)
            put(k, v.tag == V_UNDEF || v.tag == V_NONE ? 0 : (uint64_t)v.i);
    }
}

static void put_scope(Key *k, const Deferred *d)
{
    const Scope *s = d->scope;
    put(k, (uintptr_t)(d->place ? d->place->device : NULL));
    if (s) {
        put(k, (uint64_t)s->format << 32 | s->autocast);
        put(k, s->reproducible);
    }
}

static uint64_t key_hash(const Key *k)
{
    uint64_t h = 0x243f6a8885a308d3u;
    for (size_t i = 0; i < k->length; i++) {
        h = (h ^ k->word[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return h;
}

/* Room for all operands, half of it free. */
static void leaf_room(Key *k, const Run *run)
{
    size_t operands = 0;
    for (int i = 0; i < run->n; i++)
        operands += run->node[i]->count;
    k->leaf = k->few_leaves;
    k->leaf_bits = LEAF_BITS;
    while (2 * operands > (size_t)1 << k->leaf_bits)
        k->leaf_bits++;
    if (k->leaf_bits == LEAF_BITS)
        memset(k->few_leaves, 0, sizeof k->few_leaves);
    else
        k->leaf = mem_zalloc(k->ctx, sizeof *k->leaf << k->leaf_bits);
}

static void key_free(Key *k)
{
    if (k->word != k->few)
        mem_free(k->ctx, k->word, k->room * sizeof *k->word);
    if (k->leaf != k->few_leaves)
        mem_free(k->ctx, k->leaf, sizeof *k->leaf << k->leaf_bits);
}

/* Whose results does somebody hold who is no part of the run? */
static void count_held(const Run *run)
{
    for (int i = 0; i < run->n; i++)
        for (int j = 0; j < run->node[i]->count; j++) {
            Deferred *o = deferred_of(run->node[i]->args[j]);
            if (o && o->run == run->node[i]->run)
                o->held++;
        }
}

static bool is_out(const Run *run, int i)
{
    return run->head[i]->refs > run->node[i]->held + 1;        /* and the run */
}

static void make_key(Key *k, const Run *run)
{
    put(k, (uint64_t)run->n << 1 | run->state->exact);
    for (int i = 0; i < run->n; i++) {
        const Deferred *d = run->node[i];
        put(k, (uintptr_t)d->op);
        put(k, (uint64_t)d->count | (uint64_t)d->weak << 8 | (uint64_t)is_out(run, i) << 40);
        put(k, (uint64_t)d->head->dtype | (uint64_t)d->compute << 8);
        put_scope(k, d);
        for (int j = 0; j < d->count; j++)
            put_value(k, run, d, d->args[j]);
    }
}

/* ---- what is kept ---- */
void compiled_release(Ctx *ctx, Compiled *c)
{
    if (--c->refs)
        return;
    buf_free(&c->told);
    mem_free(ctx, c->key, c->length * sizeof *c->key);
    mem_free(ctx, c->step, (size_t)c->n * sizeof *c->step);
    mem_free(ctx, c->pool, (size_t)c->pool_cap * sizeof *c->pool);
    mem_free(ctx, c, sizeof *c);
}

static bool same_key(const Compiled *c, const Key *k, uint64_t hash)
{
    return c && c->hash == hash && c->length == k->length &&
           memcmp(c->key, k->word, k->length * sizeof *k->word) == 0;
}

enum { WAYS = 8 };

/* Where it is, or would be: one of a few places, if all are taken that of the oldest. */
static Compiled **slot_of(LazyState *r, const Key *k, uint64_t hash)
{
    Compiled **oldest = NULL;
    for (int i = 0; i < WAYS; i++) {
        Compiled **slot = &r->kept[((hash >> 40) + (uint64_t)i) & (KEPT - 1)];
        if (!*slot || same_key(*slot, k, hash))
            return slot;
        if (!oldest || (*slot)->used < (*oldest)->used)
            oldest = slot;
    }
    return oldest;
}

int32_t pool_add(Draft *d, int32_t number)
{
    Compiled *c = d->c;
    if (c->pooled == c->pool_cap) {
        int32_t room = c->pool_cap ? 2 * c->pool_cap : 16;
        int32_t *more = mem_alloc(&d->in->ctx, (size_t)room * sizeof *more);
        if (c->pooled)
            memcpy(more, c->pool, (size_t)c->pooled * sizeof *more);
        mem_free(&d->in->ctx, c->pool, (size_t)c->pool_cap * sizeof *more);
        c->pool = more;
        c->pool_cap = room;
    }
    c->pool[c->pooled] = number;
    return c->pooled++;
}

/* How long each result stays, and how many kernels there are. */
static void finish(Draft *d)
{
    static const bool free_of_charge[STEP_KINDS] = {
        [STEP_VIEW] = true, [STEP_SAME] = true, [STEP_INSIDE] = true, [STEP_BARE] = true,
    };
    LazyStep *step = d->step;
    int32_t *last = d->reader;
    for (int i = 0; i < d->n; i++) {
        last[i] = i;
        step[i].frees = -1;
    }
    for (int i = 0; i < d->n; i++) {
        int by = step[i].kind == STEP_SAME ? i : step_whole(step, i);
        for (int j = 0; step[i].kind != STEP_SAME && j < d->run->node[i]->count; j++) {
            int k = step_operand(d->run, NULL, i, j);
            for (; k >= 0; k = step[k].kind == STEP_SAME ? step[k].into : -1) {
                last[k] = by > last[k] ? by : last[k];
                step[k].reads++;
            }
        }
        /* of n factors in another order, each of which is a number and each product one */
        d->c->kernels += step[i].kind == STEP_ORDERED ? step[i].pooled / 2
                                                      : !free_of_charge[step[i].kind];
    }
    for (int i = d->n - 1; i >= 0; i--)         /* what is the same stays while either is read */
        if (step[i].kind == STEP_SAME) {
            step[step[i].into].reads += 2;
            if (last[i] > last[step[i].into])
                last[step[i].into] = last[i];
        }
    for (int i = 0; i < d->n; i++) {
        step[i].next = step[last[i]].frees;
        step[last[i]].frees = i;
    }
}

static Compiled *compile(Interp *in, Run *run, const Key *k, uint64_t hash)
{
    Ctx *ctx = &in->ctx;
    Compiled *c = mem_zalloc(ctx, sizeof *c);
    c->refs = 1;
    buf_init(&c->told, ctx);
    run->compiled = c;                  /* an error lets go of it */
    c->key = mem_alloc(ctx, k->length * sizeof *c->key);
    c->length = k->length;
    memcpy(c->key, k->word, k->length * sizeof *c->key);
    c->hash = hash;
    c->step = mem_zalloc(ctx, (size_t)run->n * sizeof *c->step);
    c->n = run->n;
    Draft d = { .in = in, .run = run, .c = c, .step = c->step, .n = run->n,
                .reproducible = in->lazy->exact };
    for (int i = 0; i < run->n; i++) {
        c->step[i] = (LazyStep){ .kind = run->node[i]->view ? STEP_VIEW : STEP_ROW,
                                 .out = is_out(run, i) };
        const Scope *s = run->node[i]->scope;
        d.reproducible |= s && s->reproducible;
    }
    Value *mark = in->sp;
    Tuple *room = tuple_new(ctx, (uint64_t)run->n);     /* of two numbers each */
    v_push(in, v_tuple(room));
    d.readers = (int32_t *)(void *)room->items;
    d.reader = d.readers + run->n;
    room->count = 0;
    lazy_rewrite(&d);
    finish(&d);
    stack_cut(in, mark);
    in->lazy->counts.compiled++;
    lazy_tell_compiled(in, run);
    return c;
}

static Compiled *look_up(Interp *in, Run *run, const Key *k)
{
    LazyState *r = in->lazy;
    uint64_t hash = key_hash(k);
    Compiled **slot = slot_of(r, k, hash), *c = *slot;
    if (same_key(c, k, hash)) {
        c->used = r->run;
        r->counts.hits++;
        c->refs++;
        return c;
    }
    c = compile(in, run, k, hash);
    run->compiled = NULL;
    if (*slot)
        compiled_release(&in->ctx, *slot);
    c->refs++;
    c->used = r->run;
    return *slot = c;
}

Compiled *lazy_compile(Interp *in, Run *run)
{
    Key k;
    ErrFrame frame;
    k.ctx = &in->ctx;
    k.word = k.few;
    k.length = 0;
    k.room = sizeof k.few / sizeof *k.few;
    k.leaves = 0;
    k.scalars = 0;
    leaf_room(&k, run);
    count_held(run);
    if (ERR_TRY(&in->ctx, &frame)) {
        make_key(&k, run);
        Compiled *c = look_up(in, run, &k);
        ERR_END(&in->ctx, &frame);
        key_free(&k);
        return c;
    }
    key_free(&k);
    err_rethrow(&in->ctx);
}
