/* The runtime context that every layer shares: memory account, error frames,
 * interrupt flag and worker pool. It is the first member of Interp, so nothing
 * global is needed and the whole of Ricci is a library. It holds no language
 * values; only core/ and the interpreter write its fields. */
#ifndef RICCI_CORE_CTX_H
#define RICCI_CORE_CTX_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Ctx Ctx;
typedef struct Pool Pool;
typedef struct ErrFrame ErrFrame;
typedef struct Error Error;
typedef struct Source Source;
struct Cells;
struct DeviceSet;
struct Fence;
struct Limit;

/* Set by a signal handler or another thread, read by the pool's: atomic for the threads, and
 * without a lock for the handler. */
typedef _Atomic int InterruptFlag;
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a signal handler writes it");

/* Half-open byte range of a source text. */
typedef struct Span {
    uint32_t from, to;
} Span;

/* Where the running operation stands: filled by Ctx.locate when an error is raised,
 * so the fast path stores nothing but one pointer. */
#define WHERE_OPERANDS 8
typedef struct Where {
    Source *source;                /* NULL: no source is known */
    Span span;                     /* the whole construct */
    Span mark;                     /* its operator, name or bracket */
    int operands;                  /* how many of the following are known */
    Span operand[WHERE_OPERANDS];  /* the operands as the user wrote them */
} Where;

/* Memory account. Bytes are what was asked for, not what malloc rounds up to. */
typedef struct MemAccount {
    size_t live, peak;       /* bytes now, and the most since the last reset */
    uint64_t allocations;    /* count of calls that handed out memory */
    size_t limit;            /* a request that would pass this raises `memory` */
    uint64_t fail_at;        /* debug builds: the n-th allocation fails (0: never) */
    void *freelists[33];     /* small blocks by 16-byte class */
    struct MemSlab *slabs;   /* where small blocks come from */
    struct MemBig *cache;    /* freed large blocks kept warm */
    size_t cached;
} MemAccount;

struct Ctx {
    MemAccount mem;
    ErrFrame *frame;                             /* innermost catch point */
    Error *error;                                /* the error being raised or just caught */
    /* made and not thrown yet, the newest first: error.h */
    Error *making;
    InterruptFlag *interrupt;            /* set by SIGINT, polled at loop edges */
    /* recursion past this address of the C stack is a memory error */
    char *stack_limit;
    Pool *pool;                                  /* created on first use */
    /* that BLAS keeps for this one: kernels/blas/blas_room.c */
    int blas_buffers;
    struct Cells *cells;                     /* NULL: no rational, decimal or mp yet */
    struct DeviceSet *devices;                   /* NULL before an interpreter exists */
    /* how far long work is: progress.h; NULL: nobody looks */
    struct Progress *progress;
    /* what a program of strangers is kept in: fence.h; NULL: none */
    struct Fence *fence;
    /* what the run may use: limit.h; NULL: all there is */
    struct Limit *limit;
    /* a tensor was put on a device: buffers may be away */
    bool remote;
    uint32_t pending;    /* tensors whose elements are still to be made; `remote` while there are */
    uint32_t sparse;     /* tensors of which only entries are stored; likewise */
    /* a tensor was made whose dtype has no kernels of its own */
    bool foreign;
    void (*locate)(Ctx *, Where *);              /* NULL before an interpreter exists */
    void (*trace)(Ctx *, Error *);               /* adds the call trace to an error; may be NULL */
    void (*notice)(Ctx *, const char *text);     /* a line for stderr: warnings, notices */
    char operand_text[4][72];                    /* ring behind err_operand_text */
    unsigned operand_next;
};

#endif
