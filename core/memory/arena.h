/* Bump allocation for syntax and lowered code: everything of one chunk of source is
 * freed at once. Names are interned here too, so equal names are equal pointers
 * within one Names table (an interpreter has one). */
#ifndef RICCI_CORE_ARENA_H
#define RICCI_CORE_ARENA_H

#include "core/base/ctx.h"

typedef struct Arena {
    Ctx *ctx;
    struct ArenaBlock *blocks;
    size_t used, bytes;
} Arena;

void arena_init(Arena *, Ctx *);
void arena_free(Arena *);
void *arena_alloc(Arena *, size_t bytes);   /* zeroed, 16-byte aligned */
char *arena_copy(Arena *, const char *bytes, size_t n);  /* NUL-terminated copy */

typedef struct Name {
    uint32_t hash, len;
    uint32_t id;              /* dense, by first appearance */
    char text[];              /* NFC UTF-8, NUL-terminated */
} Name;

typedef struct Names {
    Ctx *ctx;
    const Name **table;
    size_t count, cap;
} Names;

void names_init(Names *, Ctx *);
void names_free(Names *);
const Name *names_intern(Names *, const char *text, size_t len);
/* NULL if the text was never interned. */
const Name *names_find(const Names *, const char *text, size_t len);

#endif
