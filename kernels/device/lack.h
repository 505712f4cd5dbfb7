/* Why a device does not do something, as a fact: whoever asks reads it, and lack.c alone has the
 * words (lack.def). */
#ifndef RICCI_KERNELS_LACK_H
#define RICCI_KERNELS_LACK_H

#include "core/base/buf.h"
#include "kernels/tensor/tensor.h"

typedef enum LackKind {
    LACK_NONE,                          /* nothing: it does */
#define DEVICE(id, words) LACK_##id,
#define REASON(id, words) LACK_##id,
#include "kernels/device/lack.def"
#undef DEVICE
#undef REASON
} LackKind;

typedef struct Lack {
    LackKind kind;
    DType dtype, from;                  /* where the words have them */
    const char *row;                    /* the row that is missing; it outlives the record */
} Lack;

/* `, which has no f64` or ` because its result is f64`: the end of a sentence that named the
 * device. */
void lack_put(Buf *, const Lack *);

#endif
