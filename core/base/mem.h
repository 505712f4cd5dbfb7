/* The one allocator funnel. Every byte of a running Ricci comes through here: it is
 * counted, a failure raises ERR_MEMORY (it never returns NULL), and all builds but the
 * released one can make the n-th allocation fail (RICCI_FAIL_ALLOC=n). Frees are sized, so
 * small blocks carry no header.
 * Small blocks (<= 512 bytes) come from free lists; large ones (>= 1 MiB) are mapped
 * with huge pages and kept warm in a bounded cache, since fresh pages cost more than
 * the arithmetic done in them. */
#ifndef RICCI_CORE_MEM_H
#define RICCI_CORE_MEM_H

#include "core/base/ctx.h"

void mem_init(Ctx *);
/* returns slabs and caches; asserts nothing: leaks are reported by tests */
void mem_shutdown(Ctx *);

void *mem_alloc(Ctx *, size_t bytes);
void *mem_zalloc(Ctx *, size_t bytes);
/* NULL instead of raising: for the second block of a pair. The caller frees the first one
 * and calls mem_raise. */
void *mem_try_alloc(Ctx *, size_t bytes);
_Noreturn void mem_raise(Ctx *, size_t bytes);
void *mem_realloc(Ctx *, void *old, size_t old_bytes, size_t bytes);
void mem_free(Ctx *, void *block, size_t bytes);
/* Tensor data: 64-byte aligned, from the large-block cache when it is large.
 * `zeroed` memory is zero (cheap for fresh pages). */
void *mem_alloc_data(Ctx *, size_t bytes, bool zeroed);
void mem_free_data(Ctx *, void *block, size_t bytes);
/* Raises ERR_MEMORY with what was asked and what is free if `bytes` cannot be had. */
void mem_check(Ctx *, size_t bytes);
/* The limit on the addresses of this process (ulimit -v); SIZE_MAX: none. And what of `most` bytes
 * one part of the program may reserve under it, so that the others find room. */
size_t mem_address_limit(void);
size_t mem_address_share(size_t most);
/* Before a library that ends the process where it gets no memory: raises ERR_MEMORY if a limit does
 * not leave it this much. */
void mem_room(Ctx *, size_t bytes);
/* count * size, raising ERR_MEMORY on overflow. */
size_t mem_mul(Ctx *, size_t count, size_t size);
char *mem_strdup(Ctx *, const char *);
/* `1.3 MB`, `416 bytes`: decimal units. Returns out. */
const char *mem_bytes_text(char out[32], double bytes);

#endif
