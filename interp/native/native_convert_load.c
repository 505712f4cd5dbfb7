/* C's values as Ricci's: results, out parameters, fields, arguments of callbacks. */
#include "interp/native/native_call.h"

#include <string.h>

int64_t native_get_int(const CType *t, const void *from)
{
    switch (t->size) {
    case 1: return t->is_unsigned ? *(const uint8_t *)from : *(const int8_t *)from;
    case 2: {
        uint16_t i;
        memcpy(&i, from, sizeof i);
        return t->is_unsigned ? i : (int16_t)i;
    }
    case 4: {
        uint32_t i;
        memcpy(&i, from, sizeof i);
        return t->is_unsigned ? (int64_t)i : (int32_t)i;
    }
    default: {
        int64_t i;
        memcpy(&i, from, sizeof i);
        return i;
    }
    }
}

static Value load_int(Interp *in, const CType *t, const void *from)
{
    int64_t i = native_get_int(t, from);
    if (i < 0 && t->is_unsigned) {
        char text[64];
        err_raise_help(&in->ctx, ERR_VALUE, "declared `long`, it is the int with the same bits",
                       "C gave the %s %llu, which is larger than any int",
                       native_type_text(in, t, text, sizeof text), (unsigned long long)i);
    }
    return v_int(i);
}

static Value load_float(Interp *in, const CType *t, const void *from)
{
    if (t->size <= sizeof(double)) {
        _Alignas(8) char cell[8];
        memcpy(cell, from, t->size);
        return v_element(&in->ctx, native_dtype(t), cell);
    }
    long double x;
    memcpy(&x, from, sizeof x);
    return v_float((double)x);
}

static Value load_complex(Interp *in, const CType *t, const void *from)
{
    _Alignas(16) char cell[16];
    if (t->size <= sizeof cell) {
        memcpy(cell, from, t->size);
        return v_element(&in->ctx, native_dtype(t), cell);
    }
    long double part[2];
    memcpy(part, from, sizeof part);
    double rounded[2] = { (double)part[0], (double)part[1] };
    return v_element(&in->ctx, DT_C128, rounded);
}

Value native_load_text(Interp *in, const CType *t, const char *at, const char *of)
{
    size_t n = native_text_length(in, at, SIZE_MAX, true);
    if (utf8_check(at, n) != n) {
        char text[64];
        err_raise_help(&in->ctx, ERR_FFI,
                       "declare it `const unsigned char *` and read it with cstring or as_tensor",
                       "%s%sthe %s holds bytes that are no UTF-8 text", of ? of : "",
                       of ? ": " : "", native_type_text(in, t, text, sizeof text));
    }
    return v_str(str_new(&in->ctx, at, n));
}

static Value load_pointer(Interp *in, const CType *t, const void *from, Value owner)
{
    void *at;
    memcpy(&at, from, sizeof at);
    if (t->of->kind == CK_FUNCTION)
        return at ? cfunction_new(in, t->of, t->name ? t->name : "the C function",
                                  (void (*)(void))at)
                  : v_retain(native_null(in));
    if (t->of->kind == CK_CHAR)
        return at ? native_load_text(in, t, at, NULL) : v_retain(native_null(in));
    return pointer_new(in, t->of, at, owner, SIZE_MAX);
}

Value native_load(Interp *in, const CType *t, const void *from, Value owner)
{
    switch ((CKind)t->kind) {
    case CK_VOID: return v_none();
    case CK_BOOL: return v_bool(*(const uint8_t *)from != 0);
    case CK_CHAR: case CK_INT: case CK_ENUM: return load_int(in, t, from);
    case CK_FLOAT: return load_float(in, t, from);
    case CK_COMPLEX: return load_complex(in, t, from);
    case CK_POINTER: return load_pointer(in, t, from, owner);
    case CK_STRUCT: case CK_UNION: return struct_new(in, t, from);
    default: return native_read(in, (NativePlace){ .type = t, .at = (char *)(uintptr_t)from,
                                                   .owner = owner });
    }
}
