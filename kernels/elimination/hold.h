/* Arrays that are released together: by whoever catches an error, or when their factorization is.
 * Also the room's count of work between two looks at the interrupt flag. */
#ifndef RICCI_KERNELS_ELIMINATION_HOLD_H
#define RICCI_KERNELS_ELIMINATION_HOLD_H

#include "core/base/mem.h"

typedef struct HoldBlock HoldBlock;
typedef struct Hold {
    Ctx *ctx;
    HoldBlock *first;
    size_t bytes;
    int64_t work;
} Hold;

/* Raise; blocks begin on 32 bytes of malloc's alignment. */
void *hold_new(Hold *, int64_t count, size_t each);
void *hold_zero(Hold *, int64_t count, size_t each);
void *hold_grow(Hold *, void *old, int64_t count, size_t each);      /* old NULL: a new one */
void hold_drop(Hold *, void *);                                      /* NULL: nothing */
void hold_end(Hold *);

static inline int64_t *hold_ints(Hold *h, int64_t count)
{
    return hold_new(h, count, sizeof(int64_t));
}

void hold_look(Hold *);          /* raises `interrupt` if Ctrl-C was pressed */
/* So many operations were done: looks when they are some milliseconds. */
static inline void hold_work(Hold *h, int64_t operations)
{
    enum { BETWEEN = 1 << 21 };
    if ((h->work += operations) > BETWEEN)
        hold_look(h);
}

#endif
