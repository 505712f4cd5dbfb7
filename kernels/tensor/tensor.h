/* Tensors: shape, strides, a reference-counted buffer, views and copy on write.
 * Kernels read the raw fields; only this file's functions make or free tensors.
 * Strides are in elements and may be zero (broadcast) or negative. */
#ifndef RICCI_KERNELS_TENSOR_H
#define RICCI_KERNELS_TENSOR_H

#include "core/base/mem.h"
#include <assert.h>
#include <complex.h>

typedef enum DType {
#define DTYPE(id, name, ctype, compute, bytes, kind, rank) DT_##id,
#include "kernels/tensor/dtypes.def"
#undef DTYPE
    DT_COUNT,
    DT_NONE = DT_COUNT,
    DT_WIDTH = 0x7fffffff    /* the low 8 bits are the base, those above its parameters */
} DType;

/* An element of a rational tensor; what it holds is rational.c's business. */
typedef struct Rational {
    int64_t num;
    uint64_t tail;       /* denominator - 1, or a mark that num is a pointer */
} Rational;

typedef struct RationalPair { Rational re, im; } RationalPair;

enum { ELEMENT_BYTES_MAX = 32 };          /* of one element of any dtype */

typedef struct DTypeInfo {
    const char *name;
    uint8_t bytes;
    char kind;           /* 'b' 'i' 'q' 'f' 'c' */
    uint8_t rank;        /* order of promotion */
    bool half;           /* stored in 16 bits, computed in f32 */
    int64_t low, high;   /* of ints and bools */
} DTypeInfo;

extern const DTypeInfo dtype_table[DT_COUNT + 1];   /* the last: DT_NONE */

/* ---- parametric dtypes ---- */
/* How a binary format ends: IEEE (infinities and NaN), E4M3's way (NaN, no infinity, one more
 * binade), or numbers only (overflow gives the largest). */
typedef enum MiniStyle { MINI_IEEE, MINI_NAN, MINI_FINITE } MiniStyle;
enum { MP_BITS_MAX = 1 << 20, DECIMAL_DIGITS_MAX = 300000 };

static inline DType dtype_base(DType dt) { return (DType)(dt & 0xff); }
static inline const DTypeInfo *dtype_info(DType dt) { return &dtype_table[dt & 0xff]; }
/* f16, bf16: a float that is stored in 16 bits and computed in f32. */
static inline bool dtype_half(DType dt) { return dtype_info(dt)->half; }
/* What elements of a dtype with kernels are computed in. */
static inline DType dtype_computed(DType dt) { return dtype_half(dt) ? DT_F32 : dt; }
/* Is i one of an int dtype's values? True for all others. */
static inline bool dtype_fits(DType dt, int64_t i)
{
    const DTypeInfo *d = dtype_info(dt);
    return d->kind != 'i' || (i >= d->low && i <= d->high);
}
/* i in an int's element, its low bits if it does not fit: false. */
bool dtype_store_int(DType, void *to, int64_t i);
/* "-128 to 127"; returns out. */
const char *dtype_range(DType, char out[48]);
/* The i-th dtype or format with a name of its own, as they are listed; NULL after the last. */
const char *dtype_listed(int i);
/* The bits of a half's infinity; greater ones, without the sign, are nan. */
uint16_t dtype_half_infinity(DType);
/* The dtypes that any device of generated source holds, as a mask of 1 << dtype. */
uint32_t dtype_device_mask(bool doubles);
/* e exponent and p significand bits, the hidden one included: the storage dtype where it is one
 * (float(5, 11) is f16), else MINI. */
DType dtype_mini(int e, int p, MiniStyle);
/* The parameters of any real binary float; false for other dtypes. */
bool dtype_mini_read(DType, int *e, int *p, MiniStyle *);
DType dtype_decimal(int digits);
DType dtype_mp(int bits);
/* of DECIMAL digits, of MP bits */
static inline int dtype_digits(DType dt) { return (int)(dt >> 8); }
/* Complex numbers of a real format, in which both parts are of it: c64, c128, CMINI, CMP …; c128
 * of ints. Back: dtype_real. */
DType dtype_complex_of(DType real);
/* What the parts of a complex number are stored as (f32, f64, mp …); a real dtype itself. */
DType dtype_part(DType);
/* Complex numbers of rational, decimal, mp or interval: pairs of 16 bytes. */
static inline bool dtype_wide_pair(DType dt)
{
    return dtype_base(dt) >= DT_CRATIONAL && dtype_base(dt) <= DT_CINTERVAL;
}
/* interval, and complex numbers of them: bounds that must not round inwards. */
static inline bool dtype_bounds(DType dt)
{
    return dtype_base(dt) == DT_INTERVAL || dtype_base(dt) == DT_CINTERVAL;
}
/* The dtypes that the tables per dtype have: C's own numbers, f16 and bf16. */
static inline bool dtype_plain(DType dt) { return dt < DT_RATIONAL; }
/* The dtypes that have no kernels of their own per dtype: they compute through arith.h. */
static inline bool dtype_foreign(DType dt) { return dtype_base(dt) > DT_RATIONAL &&
                                             dtype_base(dt) < DT_COUNT; }
/* Elements are cells of the heap of rational.h: buffers are registered, all zero is the number
 * 0. */
static inline bool dtype_cells(DType dt)
{
    DType base = dtype_base(dt);
    return base == DT_RATIONAL || base == DT_MP || base == DT_DECIMAL ||
           (base >= DT_CRATIONAL && base <= DT_CMP);
}
/* `f32`, `float(5, 3)`, `mp(200)`. Of parametric ones valid for the next fifteen calls. */
const char *dtype_name(DType);
/* DT_NONE if unknown; parametric ones: tf32 … only */
DType dtype_find(const char *name, size_t len);
/* The dtype that holds both (rule 3 of "Which dtype"): u8 with i8 gives i32, f16 with
 * bf16 f32, int with a float that float, real with complex the complex of that width, two
 * binary floats the narrowest of both, f16, bf16, f32 and f64 that holds both. DT_NONE: there is
 * none (decimal with binary, complex with mp). */
DType dtype_promote(DType, DType);
/* f32 for c64, f64 for c128, itself otherwise; and the complex of a float's width. */
DType dtype_real(DType);
DType dtype_complex(DType);

#define TENSOR_RANK_MAX 32
/* The most elements that a shape may have, an extent of 0 counted as 1: so every product of extents
 * of one tensor, empty or not, fits an int64_t. Elements that are stored are held to their bytes
 * besides. */
#define TENSOR_SIZE_MAX (INT64_C(1) << 62)
/* The most that an operation goes through: more than any memory holds, so only views that repeat
 * their elements have them, and below it bytes and estimates of work have room. The door holds rows
 * to it. */
#define TENSOR_READ_MAX (INT64_C(1) << 47)

struct Tensor;
struct Buffer;

/* What tensors ask of a buffer that has been on a device, or is still to be made. */
typedef struct ResidenceOps {
    void (*bring_home)(Ctx *, struct Buffer *);  /* the host's bytes are valid after this */
    void (*stale)(Ctx *, struct Buffer *);       /* they are about to be written: copies go */
    void (*forget)(Ctx *, struct Buffer *);      /* the buffer dies */
    struct Tensor *(*copy)(Ctx *, struct Tensor *);      /* with the same home */
    /* Elements that are still to be made (interp/lazy): they are, wherever that is, and the one
     * tensor of the buffer has them, in a buffer of theirs. NULL: they are there. */
    void (*settle)(Ctx *, struct Buffer *);
} ResidenceOps;

typedef struct Buffer {
    uint32_t refs;
    uint32_t flags;      /* of tensor.c: the data stands behind this struct, in one block; of
                          * cells.c: where it is registered */
    size_t bytes;
    char *data;          /* 64-byte aligned, or a mapping */
    void *device;        /* its Residence (device.h), which begins with a pointer to ResidenceOps;
                          * NULL: it lies on the host alone */
    /* the one Tensor that writes here in place, as C may at any time: its elements are never shared
     * with another variable; NULL: an ordinary buffer */
    const void *pinned;
    void (*release)(Ctx *, struct Buffer *);   /* NULL: mem_free_data */
    void *owner;         /* what release needs to know of whose the data are; else NULL */
} Buffer;

enum { TENSOR_COVECTOR = 1 };   /* Tensor.flags: v', a 1 x n row that remembers what it is */

typedef struct Tensor {
    uint32_t refs;
    uint8_t rank, flags;
    uint16_t _pad;
    uint32_t dtype;      /* DType */
    uint32_t _pad2;
    int64_t size;        /* number of elements */
    Buffer *buffer;
    char *data;          /* first element */
    int64_t dims[];      /* rank extents, then rank strides */
} Tensor;

static inline int64_t *tensor_shape(const Tensor *t) { return (int64_t *)t->dims; }
static inline int64_t *tensor_strides(const Tensor *t) { return (int64_t *)t->dims + t->rank; }

/* THE product of extents, which are not negative: the number of elements, or -1 where they are more
 * than TENSOR_SIZE_MAX. Whoever makes a shape asks it, or one of the two below. */
int64_t shape_size(int rank, const int64_t *shape);
/* The same, raising ERR_MEMORY (ERR_VALUE for a negative extent or too many axes). */
int64_t shape_checked(Ctx *, int rank, const int64_t *shape);
/* x times n elements, both not negative; INT64_MAX where they are more: for bounds and for
 * estimates. */
static inline int64_t count_times(int64_t x, int64_t n)
{
    int64_t r;
    return __builtin_mul_overflow(x, n, &r) ? INT64_MAX : r;
}
/* A new contiguous (row-major) tensor; contents undefined or zero. Raises ERR_MEMORY, also
 * when the size overflows. */
Tensor *tensor_new(Ctx *, DType, int rank, const int64_t *shape);
Tensor *tensor_zeros(Ctx *, DType, int rank, const int64_t *shape);
/* A view of t's buffer. data points into it. */
Tensor *tensor_view(Ctx *, Tensor *t, int rank, const int64_t *shape, const int64_t *strides,
                    char *data);
/* The same, whose elements are of another dtype: strides count those, data is aligned for it. */
Tensor *tensor_view_as(Ctx *, Tensor *t, DType, int rank, const int64_t *shape,
                       const int64_t *strides, char *data);
/* A tensor over memory that somebody else frees (release is called with the buffer). */
Tensor *tensor_adopt(Ctx *, DType, int rank, const int64_t *shape, void *data, size_t bytes,
                     void (*release)(Ctx *, Buffer *));
/* A tensor of a checked shape without elements: whoever reads them is stopped by the machine. */
Tensor *tensor_without(Ctx *, DType, int rank, const int64_t *shape, int64_t size);
Tensor *tensor_scalar(Ctx *, DType, const void *value);    /* rank 0 */
static inline Tensor *tensor_retain(Tensor *t)
{
    assert(t->refs > 0);
    t->refs++;
    return t;
}
void tensor_release(Ctx *, Tensor *);
/* for those who hold one without a tensor */
void buffer_unref(Ctx *, Buffer *);
static inline const ResidenceOps *buffer_residence(const Buffer *b)
{
    return *(const ResidenceOps *const *)b->device;
}
/* The tensor has elements after this, on whatever device. */
static inline void tensor_settle(Ctx *ctx, const Tensor *t)
{
    if (__builtin_expect(t->buffer && t->buffer->device, 0) && buffer_residence(t->buffer)->settle)
        buffer_residence(t->buffer)->settle(ctx, t->buffer);
}
/* The host's bytes are valid after this: copies them home if need be (counted). Everybody who
 * looks at t->data of a value calls it first; quick where the tensor never left. */
static inline void tensor_home(Ctx *ctx, const Tensor *t)
{
    if (__builtin_expect(t->buffer && t->buffer->device, 0))     /* a scalar's head has no buffer */
        buffer_residence(t->buffer)->bring_home(ctx, t->buffer);
}
/* The host is about to write: it has the bytes, and copies on devices go. */
static inline void tensor_about_to_write(Ctx *ctx, const Tensor *t)
{
    if (__builtin_expect(t->buffer->device == NULL, 1))
        return;
    tensor_home(ctx, t);
    if (t->buffer->device)                      /* what was only to be made has none by now */
        buffer_residence(t->buffer)->stale(ctx, t->buffer);
}
bool tensor_contiguous(const Tensor *);
/* Contiguous tensor with t's elements: t itself (retained) where it already is. */
Tensor *tensor_compact(Ctx *, Tensor *t);
Tensor *tensor_copy(Ctx *, Tensor *t);                     /* always a new contiguous buffer */
/* The elements of src, which has dst's dtype and broadcasts to it, into dst; without overlap. */
void tensor_copy_into(Ctx *, Tensor *dst, const Tensor *src);
/* Makes *slot safe to write in place: copies if the tensor or its buffer is shared.
 * The result is the only owner and is dense enough that no two indices share an element. */
void tensor_unshare(Ctx *, Tensor **slot);
bool tensor_sole(const Tensor *);                          /* is it that already? */
/* One more element at the end of a long vector that nobody else holds, with room for more after it:
 * pushing n of them takes time in proportion to n. False: do it another way. */
bool tensor_push(Ctx *, Tensor **slot, const void *element);
/* View with axes reversed in their last two (rank 1: itself). No conjugation. */
Tensor *tensor_transpose_last(Ctx *, Tensor *t);
/* View with the axes of the mask last, the others before, both in their order. */
Tensor *tensor_axes_last(Ctx *, Tensor *t, uint64_t axes);
/* Broadcast shapes (NumPy). Returns the rank or -1; on -1 *bad is the axis from the right. */
int shape_broadcast(int ra, const int64_t *a, int rb, const int64_t *b, int64_t *out, int *bad);
/* View of t broadcast to a shape that it broadcasts to (strides 0). */
Tensor *tensor_broadcast(Ctx *, Tensor *t, int rank, const int64_t *shape);
/* `2×3`, `3`, `()`: for messages. */
const char *shape_text(char *out, size_t cap, int rank, const int64_t *shape);
/* What a sentence says of it: "is 2×3", "has length 3", "is a scalar". */
const char *shape_fact(char *out, size_t cap, int rank, const int64_t *shape);

#endif
