/* Tuples: items, optional field names and, from 16 fields on, a hash index of the names,
 * so that a named tuple serves as a dictionary. Names are interned: equal names are equal
 * pointers. Values are owned by the tuple that holds them. */
#include "interp/state/interp.h"

#include <stdarg.h>
#include <string.h>

enum { INDEX_FROM = 16 };

/* ---- the index: open addressing, entries are field number + 1 ---- */

static void index_add(Tuple *t, uint32_t field)
{
    const Name *name = t->names[field];
    uint32_t mask = t->index_cap - 1;
    for (uint32_t at = name->hash & mask;; at = (at + 1) & mask) {
        if (t->index[at] == 0) {
            t->index[at] = field + 1;
            return;
        }
        if (t->names[t->index[at] - 1] == name)
            return;                              /* the first field of a name is the one found */
    }
}

static void index_build(Ctx *ctx, Tuple *t, uint32_t fields)
{
    uint32_t cap = 64;
    while (cap < fields * 2)
        cap *= 2;
    uint32_t *index = mem_zalloc(ctx, cap * sizeof *index);
    if (t->index)
        mem_free(ctx, t->index, t->index_cap * sizeof *t->index);
    t->index = index;
    t->index_cap = cap;
    for (uint32_t i = 0; i < t->count; i++)
        if (t->names[i])
            index_add(t, i);
}

int64_t tuple_find(const Tuple *t, const Name *name)
{
    if (!t->names || !name)
        return -1;
    if (!t->index) {
        for (uint32_t i = 0; i < t->count; i++)
            if (t->names[i] == name)
                return i;
        return -1;
    }
    uint32_t mask = t->index_cap - 1;
    for (uint32_t at = name->hash & mask; t->index[at]; at = (at + 1) & mask)
        if (t->names[t->index[at] - 1] == name)
            return t->index[at] - 1;
    return -1;
}

/* ---- making ---- */

Tuple *tuple_new(Ctx *ctx, uint64_t items_wanted)
{
    if (items_wanted > INT32_MAX)
        err_raise(ctx, ERR_MEMORY, "%llu items are too many for a tuple",
                  (unsigned long long)items_wanted);
    uint32_t count = (uint32_t)items_wanted;
    Value *items = count ? mem_zalloc(ctx, mem_mul(ctx, count, sizeof *items)) : NULL;
    Tuple *t = mem_try_alloc(ctx, sizeof *t);
    if (!t) {
        mem_free(ctx, items, count * sizeof *items);
        mem_raise(ctx, sizeof *t);
    }
    *t = (Tuple){ .refs = 1, .count = count, .cap = count, .items = items };
    return t;
}

void tuple_name(Ctx *ctx, Tuple *t, uint32_t i, const Name *name)
{
    if (!t->names) {
        if (!name)
            return;
        t->names = mem_zalloc(ctx, t->cap * sizeof *t->names);
        t->named = true;
    }
    bool renamed = t->names[i] && t->names[i] != name;
    t->names[i] = name;
    if (t->count < INDEX_FROM)
        return;
    if (!t->index || renamed || t->index_cap < t->count * 2)
        index_build(ctx, t, t->count);
    else if (name)
        index_add(t, i);
}

/* Both blocks are had before either replaces the old one: running out of memory leaves
 * the tuple as it was. */
static void tuple_grow(Ctx *ctx, Tuple *t, uint32_t more)
{
    uint32_t grown = t->cap < 4 ? 4 : t->cap + t->cap / 2;
    uint32_t cap = grown - t->count < more ? t->count + more : grown;
    if (cap < t->cap || cap > INT32_MAX)
        err_raise(ctx, ERR_MEMORY, "a tuple of %u items cannot grow", t->cap);
    Value *items = mem_zalloc(ctx, cap * sizeof *items);
    if (t->names) {
        const Name **names = mem_try_alloc(ctx, cap * sizeof *names);
        if (!names) {
            mem_free(ctx, items, cap * sizeof *items);
            mem_raise(ctx, cap * sizeof *names);
        }
        memcpy(names, t->names, t->cap * sizeof *names);
        memset(names + t->cap, 0, (cap - t->cap) * sizeof *names);
        mem_free(ctx, t->names, t->cap * sizeof *names);
        t->names = names;
    }
    if (t->items) {
        memcpy(items, t->items, t->count * sizeof *items);
        mem_free(ctx, t->items, t->cap * sizeof *t->items);
    }
    t->items = items;
    t->cap = cap;
}

/* A copy with the same items, one more reference to each. */
static Tuple *tuple_copy(Ctx *ctx, const Tuple *t)
{
    Tuple *copy = tuple_new(ctx, t->count);
    for (uint32_t i = 0; i < t->count; i++)
        copy->items[i] = v_retain(t->items[i]);
    if (!t->names)
        return copy;
    Interp *in = (Interp *)ctx;
    v_push(in, v_tuple(copy));                   /* naming may run out of memory */
    for (uint32_t i = 0; i < t->count; i++)
        tuple_name(ctx, copy, i, t->names[i]);
    in->sp--;
    return copy;
}

void tuple_unshare(Ctx *ctx, Tuple **slot)
{
    Tuple *t = *slot;
    if (t->refs == 1)
        return;
    *slot = tuple_copy(ctx, t);
    v_release(ctx, v_tuple(t));
}

void tuple_push(Ctx *ctx, Tuple **slot, const Name *name, Value v)
{
    Interp *in = (Interp *)ctx;                  /* Ctx is the first member of Interp */
    v_push(in, v);                               /* owned here whatever is raised */
    tuple_unshare(ctx, slot);
    Tuple *t = *slot;
    assert(t->refs == 1 && t->count <= t->cap);
    if (t->count == t->cap)
        tuple_grow(ctx, t, 1);
    t->items[t->count++] = v_undef();
    if (name || t->names)
        tuple_name(ctx, t, t->count - 1, name);
    t->items[t->count - 1] = v;
    in->sp--;
}

void tuple_extend(Ctx *ctx, Tuple **slot, const Tuple *more)
{
    tuple_unshare(ctx, slot);
    if (more->count > (*slot)->cap - (*slot)->count)
        tuple_grow(ctx, *slot, more->count);
    for (uint32_t i = 0; i < more->count; i++)
        tuple_push(ctx, slot, NULL, v_retain(more->items[i]));
}

Value tuple_make(Interp *in, const char *name, ...)
{
    Ctx *ctx = &in->ctx;
    Value *mark = in->sp;
    va_list args;
    va_start(args, name);
    for (const char *at = name; at; at = va_arg(args, const char *))
        v_push(in, va_arg(args, Value));         /* owned before anything can raise */
    va_end(args);
    uint32_t count = (uint32_t)(in->sp - mark);
    Tuple *t = tuple_new(ctx, count);
    v_push(in, v_tuple(t));
    const char *field = name;
    va_start(args, name);
    for (uint32_t i = 0; i < count; i++) {
        tuple_name(ctx, t, i, names_intern(&in->names, field, strlen(field)));
        (void)va_arg(args, Value);
        field = va_arg(args, const char *);
    }
    va_end(args);
    memcpy(t->items, mark, count * sizeof *mark);
    in->sp = mark;
    return v_tuple(t);
}
