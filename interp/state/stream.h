/* A stream of random numbers as a value: a key of Philox, and the block that comes next. What draws
 * makes a variable's stream the interpreter's own meanwhile (interp/eval/method.c), so all rows that
 * draw draw from it. */
#ifndef RICCI_INTERP_STREAM_H
#define RICCI_INTERP_STREAM_H

#include "interp/state/kind.h"

typedef struct Stream {
    Native native;
    uint64_t key, counter;
} Stream;

Value stream_new(Ctx *, uint64_t key, uint64_t counter);
static inline const Stream *v_stream(Value v) { return v.ptr; }
/* Puts the stream in *slot forward to a counter; whoever has the same value keeps it. */
void stream_move(Ctx *, Value *slot, uint64_t counter);

#endif
