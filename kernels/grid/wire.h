/* The bytes between the session and a rank: numbers in the order of this machine, one behind the
 * other, packed into a Buf and read by a Wire. Who reads says what it expects; a message that ends
 * too early, and one that says more, raise. A message may be followed by a piece, the slab of a
 * tensor, which is read straight to where it belongs and never lies in a Buf. */
#ifndef RICCI_KERNELS_GRID_WIRE_H
#define RICCI_KERNELS_GRID_WIRE_H

#include "core/base/buf.h"
#include "core/base/error.h"

enum { WIRE_MAGIC = 0x43495253 };

/* Before every message, either way. `what`: a command, or what became of it. */
typedef struct WireHead {
    uint32_t magic, what;
    uint64_t seq;                /* a reply has its command's */
    uint64_t bytes;              /* of the message */
    uint64_t piece;              /* of the piece behind it */
} WireHead;

/* Commands above those of grid.def, which the loop of a rank answers itself: the end (not
 * answered), nothing, and the message and the piece back. */
enum { WIRE_END = 0x10000, WIRE_PING, WIRE_ECHO };

/* What became of a command. WIRE_TAKEN comes at once when a rank has read one: from then on it
 * computes, for however long. Then the answer. WIRE_FAILED: wire_put_failure's message. */
enum { WIRE_TAKEN = 1, WIRE_DONE, WIRE_FAILED };

void wire_u64(Buf *, uint64_t);
void wire_i64(Buf *, int64_t);
void wire_f64(Buf *, double);
void wire_i64s(Buf *, const int64_t *, int n);        /* without their count */
void wire_bytes(Buf *, const void *, size_t n);       /* with it */
void wire_text(Buf *, const char *);

typedef struct Wire {
    Ctx *ctx;
    const char *at, *end;        /* the message, of which `at` is still to be read */
    uint64_t piece;              /* bytes of the piece still to be read */
    void (*more)(struct Wire *, void *to, size_t n);     /* reads them; raises */
    void *with;
    /* What is to follow the answer; it stays where it is until the next command. */
    const void *give;
    size_t give_bytes;
} Wire;

Wire wire_from(Ctx *, const Buf *);
uint64_t wire_get_u64(Wire *);
int64_t wire_get_i64(Wire *);
double wire_get_f64(Wire *);
void wire_get_i64s(Wire *, int64_t *, int n);
const void *wire_get_bytes(Wire *, size_t *n);        /* where they lie in the message */
const char *wire_get_text(Wire *);                    /* with its NUL */
void wire_get_piece(Wire *, void *to, size_t n);      /* the next n bytes of it */
void wire_get_end(Wire *);                            /* is there more? then it raises */

/* An error of a rank on its way: kind, text, help or "". */
void wire_put_failure(Buf *, const Error *);

#endif
