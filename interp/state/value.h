/* Values: 16 bytes, a tag and an immediate scalar or an object pointer. Objects are
 * reference counted; the language has no cycles, so counting frees everything at once.
 * A function that returns a Value gives its caller one reference; arguments are borrowed. */
#ifndef RICCI_INTERP_VALUE_H
#define RICCI_INTERP_VALUE_H

#include "kernels/cast/tensor_cast.h"
#include "kernels/device/device.h"
#include "parser/parse.h"

#include <assert.h>
#include <string.h>

typedef struct Interp Interp;

typedef enum Tag {
    V_UNDEF,       /* an empty slot, a missing argument; never seen by a program */
    V_NONE,
    V_BOOL,
    V_INT,         /* int64 */
    V_FLOAT,       /* f64; scalars of every other dtype are rank-0 tensors */
    V_FORMAT,      /* a dtype or precision format: f32, bf16, … */
    V_DEVICE,
    V_FLOW,        /* break, continue or return on its way out; never stored */
    V_OP,          /* a built-in operation as a value: `sqrt` */
    V_OBJECT,      /* first of the reference-counted ones */
    V_STRING = V_OBJECT,
    V_RANGE,
    V_TUPLE,
    V_TENSOR,
    V_FUNCTION,
    V_MODULE,
    V_POINTER,
    V_STRUCT,
    V_CFUNC,       /* a C function: native.h */
    V_CTYPE,       /* a C type */
    V_FACTORS,     /* a matrix with its factors: builtins/linalg/linalg_kept.c */
    V_STREAM,      /* where random numbers come from: builtins/random/streams.c */
    V_TRACED,      /* a number or tensor whose derivative is asked for: struct Traced */
    V_TRANSFORM,   /* a function made of another: grad(f), checkpoint(f) (interp/gradient) */
    V_LAZY         /* an elementwise operation that waits for the one above it: fuse.h */
} Tag;

typedef struct Str {
    uint32_t refs;
    uint32_t hash;       /* 0: not computed */
    size_t len, cap;     /* cap: bytes that text may hold, the NUL included */
    char *text;          /* UTF-8, NUL-terminated; behind the Str itself or a block of its own */
    size_t chars;        /* code points; 0 while not counted: ask str_chars */
    size_t seen, seen_at;    /* the code point that was asked for last, and its byte */
    size_t *mark;            /* the bytes of code points 0, STR_STEP, …, as far as was asked */
    size_t marks, mark_cap;
} Str;
enum { STR_STEP = 64 };

typedef struct Range {   /* start, start+step, …; count is what it holds */
    uint32_t refs;
    int64_t start, stop, step, count;
} Range;

struct Value;
typedef struct Tuple Tuple;
typedef struct Function Function;
typedef struct Module Module;
typedef struct Op Op;
typedef struct Native Native;

typedef struct Value {
    uint32_t tag, aux;
    union {
        int64_t i;       /* V_INT, V_BOOL; V_FORMAT: the DType */
        double f;
        uint32_t *refs;  /* every object starts with its count */
        Str *str;
        Range *range;
        Tuple *tuple;
        Tensor *tensor;
        Function *fn;
        Module *module;
        const Op *op;
        Device *device;
        void *ptr;
    };
} Value;

struct Tuple {
    uint32_t refs, count, cap;
    bool named;                 /* any field has a name */
    const Name **names;         /* NULL unless named; an entry may be NULL */
    uint32_t *index;            /* hash of names, built from 16 fields on; NULL before */
    uint32_t index_cap;
    Value *items;               /* cap entries; names too has cap */
};

/* What the objects of V_POINTER and the tags behind it start with. */
struct Native {
    uint32_t refs;
    bool pinned;                 /* C may write to it: pinned.h */
    const struct Kind *kind;     /* kind.h */
};

/* A value inside a function whose derivative is taken: what it is, and what made it. It is what it
 * holds to all who do not ask; interp/gradient alone looks at the rest. */
typedef struct Traced {
    Native native;
    Value value;                 /* as the level below sees it: plain, or traced there */
    Value tangent;               /* forward mode; V_UNDEF: zero */
    struct Tape *tape;           /* retained */
    uint32_t node;               /* on a reverse tape; 0: none */
    /* a step function was applied to it: whoever asks for its derivative is told */
    bool step;
    /* it depends on the argument through bools and ints only, the first of which `cut` made; or
     * through a step function, which `cut` is */
    const struct Op *cut;
    const struct Exec *cut_at;
} Traced;

static inline Value v_none(void) { return (Value){ .tag = V_NONE }; }
static inline Value v_undef(void) { return (Value){ .tag = V_UNDEF }; }
static inline Value v_bool(bool b) { return (Value){ .tag = V_BOOL, .i = b }; }
static inline Value v_int(int64_t i) { return (Value){ .tag = V_INT, .i = i }; }
static inline Value v_float(double f) { return (Value){ .tag = V_FLOAT, .f = f }; }
static inline Value v_str(Str *s) { return (Value){ .tag = V_STRING, .str = s }; }
static inline Value v_tuple(Tuple *t) { return (Value){ .tag = V_TUPLE, .tuple = t }; }
static inline Value v_range(Range *r) { return (Value){ .tag = V_RANGE, .range = r }; }
static inline Value v_op(const Op *op) { return (Value){ .tag = V_OP, .op = op }; }
static inline Value v_format(DType dt) { return (Value){ .tag = V_FORMAT, .i = (int64_t)dt }; }
static inline Value v_device(Device *d) { return (Value){ .tag = V_DEVICE, .device = d }; }
static inline DType v_format_dtype(Value v) { return (DType)v.i; }
/* A tensor as a value. Rank-0 bool, i64 and f64 become immediates (t is released). */
Value v_tensor(Ctx *, Tensor *t);
static inline Value v_tensor_raw(Tensor *t) { return (Value){ .tag = V_TENSOR, .tensor = t }; }

/* Without what is remembered of it; borrowed. */
static inline Value v_plain(Value v)
{
    while (__builtin_expect(v.tag == V_TRACED, 0))
        v = ((const Traced *)v.ptr)->value;
    return v;
}

static inline bool v_is_object(Value v) { return v.tag >= V_OBJECT; }
static inline Value v_retain(Value v)
{
    assert(!v_is_object(v) || *v.refs > 0);
    if (v_is_object(v))
        ++*v.refs;
    return v;
}
void v_free(Ctx *, Value v);    /* the last reference is gone */
static inline void v_release(Ctx *c, Value v)
{
    assert(!v_is_object(v) || *v.refs > 0);
    if (v_is_object(v) && --*v.refs == 0)
        v_free(c, v);
}

Str *str_new(Ctx *, const char *text, size_t len);
Str *str_from_buf(Ctx *, Buf *);                /* frees the buffer */
void str_append(Ctx *, Str **slot, const char *text, size_t len);  /* in place when unshared */
static inline bool str_has_room(const Str *s, size_t len)          /* and is nobody else's */
{
    return s->refs == 1 && s->len + len < s->cap;
}
/* str_append where it has. */
static inline void str_put(Str *s, const char *text, size_t len)
{
    size_t chars = s->chars;
    bool counted = chars || s->len == 0;
    char *to = s->text + s->len;
    if (len > 8)
        memcpy(to, text, len);
    for (size_t i = 0; len <= 8 && i < len; i++)         /* sooner than a call */
        to[i] = text[i];
    to[len] = '\0';
    for (size_t i = 0; i < len; i++)
        chars += (to[i] & 0xc0) != 0x80;
    s->len += len;
    s->hash = 0;
    s->chars = counted ? chars : 0;
}
size_t str_chars(Str *);                        /* code points, counted once; len for ASCII */
/* the byte where code point i starts: STR_STEP steps at most, once the string was walked along */
size_t str_offset(Ctx *, Str *, size_t i);
Range *range_new(Ctx *, int64_t start, int64_t stop, int64_t step);   /* step 0 raises ERR_VALUE */
Tuple *tuple_new(Ctx *, uint64_t count);        /* items V_UNDEF */
void tuple_name(Ctx *, Tuple *, uint32_t i, const Name *);
int64_t tuple_find(const Tuple *, const Name *);   /* -1 if absent */
/* takes v; in place when unshared */
void tuple_push(Ctx *, Tuple **slot, const Name *name, Value v);
/* the items of another, without names */
void tuple_extend(Ctx *, Tuple **slot, const Tuple *more);
void tuple_unshare(Ctx *, Tuple **slot);
/* A named tuple from C: tuple_make(in, "Q", q, "R", r, NULL). Takes the values. */
Value tuple_make(Interp *, const char *name, ...);

/* The language's name of a value's type: int, float, complex, tensor, … (`type(x)`). */
const char *v_type_name(Value);
/* dtype of a numeric value (V_BOOL, V_INT, V_FLOAT, V_TENSOR); DT_NONE for the rest. */
DType v_dtype(Value);
bool v_is_numeric(Value);
/* An int or a rank-0 integer tensor (no bool) as int64. */
bool v_as_int(Value, int64_t *);
/* The element at data as a value: an immediate for bool, i64 and f64. */
Value v_element(Ctx *, DType, const void *data);
/* Writes a scalar (immediate or rank 0) as one element of dtype dt, rounded to nearest
 * even. False, and nothing written, if an int does not fit dt's range. The value's kind
 * must not be wider than dt's. To rationals: exact_store (exact.h), which needs a context. */
bool v_store(Ctx *, DType dt, void *dst, Value);
/* A tensor of any numeric value (rank 0 for immediates); ranges and tuples of numbers
 * too. Raises ERR_TYPE naming operand `i` otherwise. Returns a new reference. */
Tensor *v_to_tensor(Interp *, Value, int operand);
bool v_equal(Interp *, Value, Value);           /* `==` as one bool, for tuples, strings, keys */
double v_bytes(Value);                          /* of the elements of all tensors in it */
/* Raises ERR_MEMORY when recursion over nested values comes near the end of the C stack. */
void v_check_depth(Interp *);

/* `2×3 f32`, `int`, `string`, `f64 tensor (3)`: for messages and the call trace. */
const char *v_describe(Value, char *out, size_t cap);
const char *tensor_describe(DType, int rank, const int64_t *shape, char *out, size_t cap);
/* The same with its article: `a 2×3 f32`, `an int`, `none`. */
const char *v_describe_a(Value, char *out, size_t cap);

#endif
