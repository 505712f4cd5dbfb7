/* NumPy's .npy format, versions 1 to 3 (numpy/lib/format.py): magic, header length, a
 * Python dictionary literal with descr, fortran_order and shape, then raw data. */
#include "builtins/files.h"

#include <byteswap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct NpyHeader {
    char order;              /* < > | = */
    char kind;               /* b i u f c */
    int bytes;
    bool fortran;
    int rank;
    int64_t shape[TENSOR_RANK_MAX];
    int64_t count, data_offset;
} NpyHeader;

/* ---- the header's dictionary ---- */

static const char *skip_blanks(const char *p)
{
    while (*p == ' ' || *p == '\t' || *p == '\n')
        p++;
    return p;
}

/* The text after `'key':`, or an error: keys may stand in any order. */
static const char *npy_key(OpCall *c, const char *path, const char *header, const char *key)
{
    size_t n = strlen(key);
    for (const char *p = header; (p = strstr(p, key)) != NULL; p++) {
        if (p > header && (p[-1] == '\'' || p[-1] == '"') && p[n] == p[-1]) {
            p = skip_blanks(p + n + 1);
            if (*p == ':')
                return skip_blanks(p + 1);
        }
    }
    file_error(c, path, "the .npy header has no '%s'", key);
}

static void npy_descr(OpCall *c, const char *path, const char *p, NpyHeader *h)
{
    char quote = *p++;
    if (quote == '[')
        file_error(c, path, "structured dtypes are not numbers; save each field by itself");
    if (quote != '\'' && quote != '"')
        file_error(c, path, "the .npy header's descr is not a string");
    h->order = strchr("<>|=", *p) && *p ? *p++ : '=';
    h->kind = *p ? *p++ : '?';
    h->bytes = (int)strtol(p, NULL, 10);
    static const char *const known[] = { "b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8",
                                         "f2", "f4", "f8", "c8", "c16" };
    char name[16];
    snprintf(name, sizeof name, "%c%d", h->kind, h->bytes);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], name) == 0)
            return;
    file_error(c, path, "dtype %.16s is not one that Ricci holds (b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16)", p - 1);
}

static void npy_shape(OpCall *c, const char *path, const char *p, NpyHeader *h)
{
    if (*p != '(')
        file_error(c, path, "the .npy header's shape is not a tuple");
    h->count = 1;
    for (p = skip_blanks(p + 1); *p != ')'; p = skip_blanks(p)) {
        char *end;
        long long n = strtoll(p, &end, 10);
        if (end == p || n < 0 || h->rank == TENSOR_RANK_MAX)
            file_error(c, path, "the .npy header's shape is malformed");
        h->shape[h->rank++] = n;
        if (__builtin_mul_overflow(h->count, n, &h->count))
            file_error(c, path, "the .npy header's shape is too large");
        p = skip_blanks(end);
        if (*p == ',')
            p++;
    }
}

static void npy_header(OpCall *c, const char *path, NpyHeader *h)
{
    unsigned char head[12];
    int64_t size = file_size(c, path);
    if (size < 10)
        file_error(c, path, "%lld bytes are too few for a .npy file", (long long)size);
    file_read_at(c, path, 0, head, 10);
    if (memcmp(head, "\x93NUMPY", 6) != 0)
        file_error(c, path, "not a .npy file: it does not start with \\x93NUMPY");
    int64_t length = head[8] | head[9] << 8, start = 10;
    if (head[6] >= 2) {
        file_read_at(c, path, 8, head + 8, 4);
        length = (int64_t)head[8] | head[9] << 8 | head[10] << 16 | (int64_t)head[11] << 24;
        start = 12;
    }
    if (head[6] < 1 || head[6] > 3)
        file_error(c, path, ".npy version %d is unknown", head[6]);
    if (length > size - start || length > 1 << 20)
        file_error(c, path, "the .npy header claims %lld bytes, the file has %lld", (long long)length, (long long)size);
    Buf copy;
    buf_init(&copy, &c->in->ctx);
    buf_fill(&copy, ' ', (size_t)length);
    Str *text = str_from_buf(&c->in->ctx, &copy);
    v_push(c->in, v_str(text));
    file_read_at(c, path, start, text->text, (size_t)length);
    npy_descr(c, path, npy_key(c, path, text->text, "descr"), h);
    h->fortran = *npy_key(c, path, text->text, "fortran_order") == 'T';
    npy_shape(c, path, npy_key(c, path, text->text, "shape"), h);
    h->data_offset = start + length;
    int64_t bytes;
    if (__builtin_mul_overflow(h->count, h->bytes, &bytes) || bytes > size - h->data_offset)
        file_error(c, path, "the shape needs %lld elements of %d bytes, the file holds %lld bytes of data",
                   (long long)h->count, h->bytes, (long long)(size - h->data_offset));
}

/* ---- data ---- */

/* Elements of a complex number are swapped one part at a time. */
static void swap_bytes(char *data, int64_t count, int bytes, bool is_complex)
{
    if (is_complex) {
        bytes /= 2;
        count *= 2;
    }
    for (int64_t i = 0; i < count; i++, data += bytes) {
        if (bytes == 2) {
            uint16_t v; memcpy(&v, data, 2); v = bswap_16(v); memcpy(data, &v, 2);
        } else if (bytes == 4) {
            uint32_t v; memcpy(&v, data, 4); v = bswap_32(v); memcpy(data, &v, 4);
        } else if (bytes == 8) {
            uint64_t v; memcpy(&v, data, 8); v = bswap_64(v); memcpy(data, &v, 8);
        }
    }
}

static DType npy_dtype(const NpyHeader *h)
{
    switch (h->kind) {
    case 'b': return DT_BOOL;
    case 'f': return h->bytes == 2 ? DT_F16 : h->bytes == 4 ? DT_F32 : DT_F64;
    case 'c': return h->bytes == 8 ? DT_C64 : DT_C128;
    case 'i': return h->bytes == 1 ? DT_I8 : h->bytes <= 4 ? DT_I32 : DT_I64;
    default:  return h->bytes == 1 ? DT_U8 : h->bytes == 2 ? DT_I32 : DT_I64;
    }
}

/* i16, u16, u32 and u64 have no storage dtype: they widen while they are copied. */
static void npy_widen(OpCall *c, const char *path, const NpyHeader *h, const char *raw, Tensor *t)
{
    for (int64_t i = 0; i < h->count; i++, raw += h->bytes) {
        if (h->bytes == 2) {
            uint16_t u; memcpy(&u, raw, 2);
            ((int32_t *)t->data)[i] = h->kind == 'i' ? (int16_t)u : u;
        } else if (h->bytes == 4) {
            uint32_t u; memcpy(&u, raw, 4);
            ((int64_t *)t->data)[i] = u;
        } else {
            uint64_t u; memcpy(&u, raw, 8);
            if (u > INT64_MAX)
                file_error(c, path, "element %lld is %llu, which does not fit i64", (long long)i,
                           (unsigned long long)u);
            ((int64_t *)t->data)[i] = (int64_t)u;
        }
    }
}

Value npy_load(OpCall *c, const char *path)
{
    NpyHeader h = { 0 };
    npy_header(c, path, &h);
    DType dt = npy_dtype(&h);
    Ctx *ctx = &c->in->ctx;
    int64_t shape[TENSOR_RANK_MAX];
    for (int i = 0; i < h.rank; i++)
        shape[i] = h.fortran ? h.shape[h.rank - 1 - i] : h.shape[i];
    Tensor *t = op_keep(c, tensor_new(ctx, dt, h.rank, shape));
    bool widened = h.kind != 'b' && h.bytes != dtype_info[dt].bytes;
    widened |= h.kind == 'u' && h.bytes == 8;
    if (widened) {
        int64_t n = h.count * h.bytes;
        Tensor *raw = op_keep(c, tensor_new(ctx, DT_U8, 1, &n));
        file_read_at(c, path, h.data_offset, raw->data, (size_t)n);
        if (h.order == '>')
            swap_bytes(raw->data, h.count, h.bytes, false);
        npy_widen(c, path, &h, raw->data, t);
    } else {
        file_read_at(c, path, h.data_offset, t->data, (size_t)(h.count * h.bytes));
        if (h.order == '>')
            swap_bytes(t->data, h.count, h.bytes, h.kind == 'c');
    }
    for (int64_t i = 0; dt == DT_BOOL && i < h.count; i++)
        t->data[i] = t->data[i] != 0;
    if (!h.fortran || h.rank < 2)
        return op_result(c, t);
    int64_t strides[TENSOR_RANK_MAX], step = 1;
    for (int i = 0; i < h.rank; i++) {
        strides[i] = step;
        step *= h.shape[i];
    }
    return op_result(c, op_keep(c, tensor_view(ctx, t, h.rank, h.shape, strides, t->data)));
}

/* ---- writing ---- */

static const char *npy_descr_of(OpCall *c, DType dt)
{
    static const char *const descr[DT_COUNT] = {
        [DT_BOOL] = "|b1", [DT_I8] = "|i1", [DT_U8] = "|u1", [DT_I32] = "<i4", [DT_I64] = "<i8",
        [DT_F16] = "<f2", [DT_F32] = "<f4", [DT_F64] = "<f8", [DT_C64] = "<c8", [DT_C128] = "<c16",
    };
    if (!descr[dt])
        err_raise_help(&c->in->ctx, ERR_DTYPE, "save f32(x): it holds every bf16 value exactly",
                       "the .npy format has no %s", dtype_info[dt].name);
    return descr[dt];
}

/* dtype="u16" and so on: ints narrowed with a range check into raw bytes. */
static Tensor *npy_narrow(OpCall *c, Tensor *t, int bytes, bool is_signed, const char *as)
{
    int64_t low = is_signed ? -(1LL << (8 * bytes - 1)) : 0;
    int64_t high = is_signed ? -(low + 1) : bytes == 8 ? INT64_MAX : (1LL << (8 * bytes)) - 1;
    Tensor *wide = op_keep(c, tensor_compact(&c->in->ctx, op_keep(c, tensor_cast(&c->in->ctx, t, DT_I64))));
    int64_t n = t->size * bytes;
    Tensor *raw = op_keep(c, tensor_new(&c->in->ctx, DT_U8, 1, &n));
    for (int64_t i = 0; i < t->size; i++) {
        int64_t v = ((int64_t *)wide->data)[i];
        if (v < low || v > high)
            err_raise(&c->in->ctx, ERR_VALUE, "element %lld is %lld, which does not fit %s", (long long)i,
                      (long long)v, as);
        memcpy(raw->data + i * bytes, &v, (size_t)bytes);    /* little-endian machines */
    }
    return raw;
}

void npy_save(OpCall *c, const char *path, Tensor *t, const char *as)
{
    Ctx *ctx = &c->in->ctx;
    const char *descr = NULL;
    Tensor *raw = NULL;
    static const struct { const char *name, *descr; int bytes; bool is_signed; } narrow[] = {
        { "i16", "<i2", 2, true }, { "u16", "<u2", 2, false }, { "u32", "<u4", 4, false }, { "u64", "<u8", 8, false },
    };
    for (size_t i = 0; as && i < sizeof narrow / sizeof *narrow; i++)
        if (strcmp(as, narrow[i].name) == 0) {
            raw = npy_narrow(c, t, narrow[i].bytes, narrow[i].is_signed, as);
            descr = narrow[i].descr;
        }
    if (!raw) {
        DType dt = as ? dtype_find(as, strlen(as)) : (DType)t->dtype;
        if (dt == DT_NONE)
            err_raise(ctx, ERR_DTYPE, "\"%s\" is not a dtype of .npy files", as);
        descr = npy_descr_of(c, dt);
        raw = op_keep(c, tensor_compact(ctx, op_keep(c, tensor_cast(ctx, t, dt))));
    }
    Buf text;
    buf_init(&text, ctx);
    buf_put(&text, "\x93NUMPY\x01\x00\x00\x00", 10);
    buf_printf(&text, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int i = 0; i < t->rank; i++)
        buf_printf(&text, "%lld,%s", (long long)tensor_shape(t)[i], i + 1 < t->rank ? " " : "");
    buf_puts(&text, "), }");
    buf_fill(&text, ' ', 63 - text.len % 64);
    buf_putc(&text, '\n');
    text.data[8] = (char)((text.len - 10) & 0xFF);
    text.data[9] = (char)((text.len - 10) >> 8);
    Str *header = str_from_buf(ctx, &text);
    v_push(c->in, v_str(header));
    Buf view = { .ctx = ctx, .data = header->text, .len = header->len };
    file_replace(c, path, &view, raw->data, (size_t)raw->size * dtype_info[raw->dtype].bytes);
}
