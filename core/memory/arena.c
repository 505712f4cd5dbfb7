/* Arenas hold the syntax and the lowered code of one chunk; Names interns identifiers
 * so that equal names are equal pointers. Interned names live as long as their table. */
#include "core/memory/arena.h"

#include "core/base/mem.h"

#include <string.h>

typedef struct ArenaBlock {
    struct ArenaBlock *next;
    size_t bytes, used;
    _Alignas(16) char data[];
} ArenaBlock;

enum { ARENA_BLOCK = 8192 };

void arena_init(Arena *a, Ctx *ctx)
{
    *a = (Arena){ .ctx = ctx };
}

void arena_free(Arena *a)
{
    for (ArenaBlock *b = a->blocks, *next; b; b = next) {
        next = b->next;
        mem_free(a->ctx, b, sizeof *b + b->bytes);
    }
    a->blocks = NULL;
    a->used = a->bytes = 0;
}

void *arena_alloc(Arena *a, size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    ArenaBlock *b = a->blocks;
    if (!b || b->bytes - b->used < bytes) {
        size_t size = b ? b->bytes * 2 : ARENA_BLOCK / 4;   /* grow: a short entry stays small */
        if (size > 1 << 20)
            size = 1 << 20;
        if (size < bytes)
            size = bytes;
        b = mem_zalloc(a->ctx, sizeof *b + size);
        b->bytes = size;
        b->next = a->blocks;
        a->blocks = b;
        a->bytes += size;
    }
    void *p = b->data + b->used;
    b->used += bytes;
    a->used += bytes;
    return p;
}

char *arena_copy(Arena *a, const char *bytes, size_t n)
{
    char *copy = arena_alloc(a, n + 1);
    if (n)
        memcpy(copy, bytes, n);
    return copy;
}

/* FNV-1a: names are short, and the low bits are good enough for a power-of-two table. */
static uint32_t hash_bytes(const char *text, size_t len)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)text[i]) * 16777619u;
    return h ^ h >> 15;
}

void names_init(Names *n, Ctx *ctx)
{
    *n = (Names){ .ctx = ctx };
}

void names_free(Names *n)
{
    for (size_t i = 0; i < n->cap; i++)
        if (n->table[i])
            mem_free(n->ctx, (void *)n->table[i], sizeof(Name) + n->table[i]->len + 1);
    if (n->table)
        mem_free(n->ctx, n->table, n->cap * sizeof *n->table);
    *n = (Names){ .ctx = n->ctx };
}

/* The slot that holds the name, or the empty one where it belongs. */
static size_t names_slot(const Names *n, const char *text, size_t len, uint32_t hash)
{
    size_t mask = n->cap - 1, i = hash & mask;
    while (n->table[i]) {
        const Name *name = n->table[i];
        if (name->hash == hash && name->len == len && memcmp(name->text, text, len) == 0)
            break;
        i = (i + 1) & mask;
    }
    return i;
}

static void names_grow(Names *n)
{
    Names bigger = { .ctx = n->ctx, .count = n->count, .cap = n->cap ? n->cap * 2 : 1024 };
    bigger.table = mem_zalloc(n->ctx, bigger.cap * sizeof *bigger.table);
    for (size_t i = 0; i < n->cap; i++) {
        const Name *name = n->table[i];
        if (name)
            bigger.table[names_slot(&bigger, name->text, name->len, name->hash)] = name;
    }
    if (n->table)
        mem_free(n->ctx, n->table, n->cap * sizeof *n->table);
    *n = bigger;
}

const Name *names_intern(Names *n, const char *text, size_t len)
{
    if (n->count * 4 >= n->cap * 3)
        names_grow(n);
    uint32_t hash = hash_bytes(text, len);
    size_t i = names_slot(n, text, len, hash);
    if (!n->table[i]) {
        Name *name = mem_alloc(n->ctx, sizeof *name + len + 1);
        *name = (Name){ .hash = hash, .len = (uint32_t)len, .id = (uint32_t)n->count };
        memcpy(name->text, text, len);
        name->text[len] = '\0';
        n->table[i] = name;
        n->count++;
    }
    return n->table[i];
}

const Name *names_find(const Names *n, const char *text, size_t len)
{
    if (!n->cap)
        return NULL;
    return n->table[names_slot(n, text, len, hash_bytes(text, len))];
}
