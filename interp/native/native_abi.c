/* CType to libffi's picture of it, made once per type and freed with the interpreter. Structs and
 * unions by value follow the System V ABI of x86-64 (section 3.2.3: eightbytes and their classes),
 * which libffi knows for structs alone: a record of at most two eightbytes is shown to it as a
 * struct whose elements have the classes that the record's members have together. */
#include "interp/native/native_call.h"

#include <string.h>

typedef struct NativeBlock {
    struct NativeBlock *next;
    size_t bytes;
    _Alignas(16) char data[];
} NativeBlock;

void *native_block(Interp *in, size_t bytes)
{
    NativeState *state = native_state(in);
    NativeBlock *b = mem_zalloc(&in->ctx, sizeof *b + bytes);
    b->bytes = bytes;
    b->next = state->blocks;
    state->blocks = b;
    return b->data;
}

void native_blocks_free(Interp *in, NativeState *state)
{
    while (state->blocks) {
        NativeBlock *b = state->blocks;
        state->blocks = b->next;
        mem_free(&in->ctx, b, sizeof *b + b->bytes);
    }
}

static _Noreturn void refuse(Interp *in, const CType *t, const char *why)
{
    Buf text;
    buf_init(&text, &in->ctx);
    ctype_text(&text, t);
    Error *e = err_new(&in->ctx, ERR_FFI, "%s cannot pass by value: %s", buf_cstr(&text), why);
    buf_free(&text);
    err_help(e, "C functions that take a pointer to it can be called");
    err_throw(e);
}

/* ---- records ---- */
enum { LEAVES_MAX = 64 };      /* of records that may pass in registers on any machine */

typedef struct Leaf {
    const CType *type;         /* a number or pointer */
    size_t at;
} Leaf;

typedef struct Leaves {
    Leaf leaf[LEAVES_MAX];
    int count;
    /* inside a union; at an offset that its type does not have */
    bool too_many, overlap, crooked;
} Leaves;

static void leaves_add(Leaves *, const CType *, size_t at);

static void leaves_record(Leaves *l, const CType *t, size_t at)
{
    l->overlap |= t->kind == CK_UNION && t->record->count > 1;
    for (uint32_t i = 0; i < t->record->count && !l->too_many; i++)
        leaves_add(l, t->record->fields[i].type, at + t->record->fields[i].offset);
}

static void leaves_add(Leaves *l, const CType *t, size_t at)
{
    if (ctype_is_record(t)) {
        leaves_record(l, t, at);
        return;
    }
    if (t->kind == CK_ARRAY) {
        for (size_t i = 0; i < t->count && !l->too_many; i++)
            leaves_add(l, t->of, at + i * ctype_size(t->of));
        return;
    }
    l->crooked |= at % ctype_align(t) != 0;
    l->too_many |= l->count == LEAVES_MAX;
    if (!l->too_many)
        l->leaf[l->count++] = (Leaf){ t, at };
}

/* An IEEE half or bfloat16 inside a struct: of class SSE, two bytes. */
static const ffi_type half_type = { .size = 2, .alignment = 2, .type = FFI_TYPE_FLOAT };

#define half ((ffi_type *)(uintptr_t)&half_type)    /* libffi reads it */

#if defined __x86_64__ && !defined _WIN32
enum { CLASS_NONE, CLASS_SSE, CLASS_INTEGER };

/* Classes of the two eightbytes of a record of at most 16 bytes. */
static void classify(const Leaves *l, int class[2])
{
    for (int i = 0; i < l->count; i++) {
        const CType *t = l->leaf[i].type;
        int c = t->kind == CK_FLOAT || t->kind == CK_COMPLEX ? CLASS_SSE : CLASS_INTEGER;
        size_t last = l->leaf[i].at + ctype_size(t) - 1;
        for (size_t k = l->leaf[i].at / 8; k <= last / 8 && k < 2; k++)
            if (c > class[k])
                class[k] = c;
    }
}

static int eightbyte(ffi_type **out, int class, size_t bytes)
{
    int n = 0;
    if (class == CLASS_SSE) {
        if (bytes == 8)
            out[n++] = &ffi_type_double;
        else if (bytes >= 4)
            out[n++] = &ffi_type_float;
        if (bytes % 4)
            out[n++] = half;
    } else if (class == CLASS_INTEGER && bytes == 8) {
        out[n++] = &ffi_type_uint64;
    } else if (class == CLASS_INTEGER) {
        while (n < (int)bytes)
            out[n++] = &ffi_type_uint8;
    }
    return n;
}

/* Elements for libffi; -1: the type passes as a long double. */
static int record_elements(Interp *in, const CType *t, const Leaves *l, ffi_type **out)
{
    size_t size = ctype_size(t);
    if (size > 16 || l->too_many) {
        out[0] = &ffi_type_uint8;        /* in memory, whatever it holds */
        return 1;
    }
    int class[2] = { CLASS_NONE, CLASS_NONE }, extended = 0;
    for (int i = 0; i < l->count; i++)
        extended += l->leaf[i].type->kind == CK_FLOAT && l->leaf[i].type->size == 16;
    if (extended == l->count && extended)
        return -1;
    if (extended)
        refuse(in, t, "it lays a long double over something else");
    if (l->crooked)
        refuse(in, t, "it is packed");
    classify(l, class);
    int n = eightbyte(out, class[0], size < 8 ? size : 8);
    return n + (size > 8 ? eightbyte(out + n, class[1], size - 8) : 0);
}
#else
static int record_elements(Interp *in, const CType *t, const Leaves *l, ffi_type **out)
{
    if (l->overlap)
        refuse(in, t, "libffi has no unions on this machine");
    if (l->crooked)
        refuse(in, t, "it is packed");
    int n = 0;
    for (int i = 0; i < l->count && !l->too_many; i++) {
        const CType *leaf = l->leaf[i].type;
        bool halves = leaf->kind == CK_FLOAT && leaf->size == 2, pair = leaf->kind == CK_COMPLEX;
        ffi_type *part = pair
                         ? (leaf->size == 8 ? &ffi_type_float : leaf->size == 16 ? &ffi_type_double
                                 : &ffi_type_longdouble) : halves ? half : native_abi(in, leaf);
        out[n++] = part;
        if (pair)
            out[n++] = part;
    }
    if (l->too_many)
        out[n++] = &ffi_type_uint8;
    return n;
}
#endif

static ffi_type *record_abi(Interp *in, const CType *t)
{
    if (t->abi)
        return t->abi;
    if (ctype_size(t) == 0)
        refuse(in, t, t->record->complete ? "it has no size" : "its fields were not declared");
    Leaves l = { 0 };
    ffi_type *elements[2 * LEAVES_MAX + 1];
    leaves_add(&l, t, 0);
    int n = record_elements(in, t, &l, elements);
    ffi_type *abi = &ffi_type_longdouble;
    if (n >= 0) {
        size_t list = (size_t)(n + 1) * sizeof *elements;
        abi = native_block(in, sizeof *abi + list);
        abi->size = ctype_size(t);
        abi->alignment = (unsigned short)ctype_align(t);
        abi->type = FFI_TYPE_STRUCT;
        abi->elements = (ffi_type **)(void *)(abi + 1);
        memcpy(abi->elements, elements, list - sizeof *elements);
    }
    /* made where the type was made: not in read-only memory */
    ((CType *)(uintptr_t)t)->abi = abi;
    return abi;
}

/* ---- everything else ---- */
static ffi_type *int_abi(Interp *in, const CType *t)
{
    switch (t->size) {
    case 1: return t->is_unsigned ? &ffi_type_uint8 : &ffi_type_sint8;
    case 2: return t->is_unsigned ? &ffi_type_uint16 : &ffi_type_sint16;
    case 4: return t->is_unsigned ? &ffi_type_uint32 : &ffi_type_sint32;
    case 8: return t->is_unsigned ? &ffi_type_uint64 : &ffi_type_sint64;
    default: refuse(in, t, "libffi has no integers of that size");
    }
}

/* A half passes in the low bits of a vector register, as a float does: libffi moves its bytes
 * so. */
static ffi_type *float_abi(const CType *t)
{
    return t->size <= sizeof(float) ? &ffi_type_float : t->size == sizeof(double) ? &ffi_type_double
                                                      : &ffi_type_longdouble;
}

static ffi_type *complex_abi(Interp *in, const CType *t)
{
#ifdef FFI_TARGET_HAS_COMPLEX_TYPE
    (void)in;
    return t->size == 8 ? &ffi_type_complex_float : t->size == 16 ? &ffi_type_complex_double
                                                  : &ffi_type_complex_longdouble;
#else
    refuse(in, t, "libffi has no complex numbers on this machine");
#endif
}

struct _ffi_type *native_abi(Interp *in, const CType *t)
{
    switch ((CKind)t->kind) {
    case CK_VOID: return &ffi_type_void;
    case CK_BOOL: case CK_CHAR: case CK_INT: case CK_ENUM: return int_abi(in, t);
    case CK_FLOAT: return float_abi(t);
    case CK_COMPLEX: return complex_abi(in, t);
    case CK_STRUCT: case CK_UNION: return record_abi(in, t);
    default: return &ffi_type_pointer;
    }
}
