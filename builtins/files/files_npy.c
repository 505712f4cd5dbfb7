/* NumPy's .npy format, versions 1 to 3 (numpy/lib/format.py): magic, header length, a
 * Python dictionary literal with descr, fortran_order and shape, then raw data. The members
 * of an .npz archive are such files, too. */
#include "builtins/stored/files.h"

#include "interp/device/place.h"

#include <stdio.h>
#include <string.h>

enum { HEADER_MAX = 1 << 20, DESCR_MAX = 64 };

typedef struct NpyReader {
    const Bytes *b;
    int64_t at, end;               /* in the header */
    Stored stored;
    bool fortran;
    int rank;
    int64_t shape[TENSOR_RANK_MAX];
    unsigned seen;                 /* bit i: key i of the dictionary */
} NpyReader;

static const char *const keys[] = { "descr", "fortran_order", "shape" };
static const char dtypes_help[] =
    "the dtypes that load are b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16";

/* ---- the header's dictionary ---- */

/* The next character that is no blank; NUL at the end. */
static char npy_peek(NpyReader *r)
{
    while (r->at < r->end && strchr(" \t\r\n", r->b->data[r->at]) && r->b->data[r->at])
        r->at++;
    return r->at < r->end ? (char)r->b->data[r->at] : '\0';
}

static void npy_want(NpyReader *r, char ch, const char *where)
{
    if (npy_peek(r) != ch)
        bytes_error(r->b, r->at, NULL, "the header needs '%c' %s", ch, where);
    r->at++;
}

/* A quoted text into out, cut to cap; returns where it starts. */
static int64_t npy_text(NpyReader *r, char *out, size_t cap, const char *what)
{
    char quote = npy_peek(r);
    int64_t start = r->at;
    if (quote != '\'' && quote != '"')
        bytes_error(r->b, start, NULL, "%s is not a quoted text", what);
    const uint8_t *from = r->b->data + start + 1;
    const uint8_t *to = memchr(from, quote, (size_t)(r->end - start - 1));
    if (!to)
        bytes_error(r->b, start, NULL, "the quote is not closed");
    snprintf(out, cap, "%.*s", (int)(to - from < (int)cap ? to - from : (int)cap),
             (const char *)from);
    r->at = to + 1 - r->b->data;
    return start;
}

static _Noreturn void descr_error(NpyReader *r, int64_t at, const char *descr)
{
    char kind = descr[strspn(descr, "<>|=")];
    const char *why = kind == 'O' ? "Python objects"
                    : kind == 'U' || kind == 'S' || kind == 'a' ? "text"
                    : kind == 'M' || kind == 'm' ? "dates and times"
                    : kind == 'V' ? "raw bytes"
                    : kind == 'f' || kind == 'c' ? "floats of another width" : "unknown";
    bytes_error(r->b, at, dtypes_help, "dtype '%s' (%s) is not one that Ricci holds", descr, why);
}

static void npy_descr(NpyReader *r)
{
    static const char *const known[] = { "b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8",
                                         "f2", "f4", "f8", "c8", "c16" };
    char descr[DESCR_MAX];
    if (npy_peek(r) == '[')
        bytes_error(r->b, r->at, "save each field by itself",
                    "a structured dtype is not one that Ricci holds");
    int64_t at = npy_text(r, descr, sizeof descr, "descr");
    const char *name = descr + (descr[0] && strchr("<>|=", descr[0]));
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], name) == 0) {
            r->stored.kind = name[0];
            r->stored.bytes = (uint8_t)(name[1] == '1' && name[2] == '6' ? 16 : name[1] - '0');
            r->stored.swapped = descr[0] == '>' && r->stored.bytes > 1;
            return;
        }
    descr_error(r, at, descr);
}

static void npy_order(NpyReader *r)
{
    npy_peek(r);
    const char *p = (const char *)r->b->data + r->at;
    size_t left = (size_t)(r->end - r->at);
    r->fortran = left >= 4 && memcmp(p, "True", 4) == 0;
    if (!r->fortran && (left < 5 || memcmp(p, "False", 5) != 0))
        bytes_error(r->b, r->at, NULL, "fortran_order is neither True nor False");
    r->at += r->fortran ? 4 : 5;
}

static int64_t npy_extent(NpyReader *r)
{
    int64_t at = r->at, n = 0;
    for (; r->at < r->end && r->b->data[r->at] >= '0' && r->b->data[r->at] <= '9'; r->at++)
        if (__builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, r->b->data[r->at] - '0', &n))
            bytes_error(r->b, at, NULL, "an axis of the shape is too long to count");
    if (r->at == at)
        bytes_error(r->b, at, NULL, "the shape is not a tuple of whole numbers from 0 on");
    if (r->at < r->end && r->b->data[r->at] == 'L')
        r->at++;                               /* Python 2 wrote 3L */
    return n;
}

static void npy_shape(NpyReader *r)
{
    npy_want(r, '(', "where the shape begins");
    while (npy_peek(r) != ')') {
        if (r->rank == TENSOR_RANK_MAX)
            bytes_error(r->b, r->at, NULL,
                        "the shape has more than the %d axes that a tensor may have",
                        TENSOR_RANK_MAX);
        r->shape[r->rank++] = npy_extent(r);
        if (npy_peek(r) != ')')
            npy_want(r, ',', "between the axes of the shape");
    }
    r->at++;
}

static void npy_entry(NpyReader *r)
{
    char key[DESCR_MAX];
    int64_t at = npy_text(r, key, sizeof key, "a key of the header");
    unsigned k = 0;
    while (k < 3 && strcmp(keys[k], key) != 0)
        k++;
    if (k == 3)
        bytes_error(r->b, at, NULL, "the header has an unknown key '%s'", key);
    if (r->seen >> k & 1)
        bytes_error(r->b, at, NULL, "the header has '%s' twice", key);
    r->seen |= 1u << k;
    npy_want(r, ':', "after a key");
    if (k == 0)
        npy_descr(r);
    else if (k == 1)
        npy_order(r);
    else
        npy_shape(r);
}

static void npy_dictionary(NpyReader *r)
{
    int64_t start = r->at;
    npy_want(r, '{', "at its start");
    while (npy_peek(r) != '}') {
        npy_entry(r);
        if (npy_peek(r) != '}')
            npy_want(r, ',', "between its entries");
    }
    r->at++;
    for (unsigned k = 0; k < 3; k++)
        if (!(r->seen >> k & 1))
            bytes_error(r->b, start, NULL, "the header has no '%s'", keys[k]);
    if (npy_peek(r) != '\0' || r->at < r->end)
        bytes_error(r->b, r->at, NULL, "the header goes on after its dictionary");
}

/* Finds the header's ends, checked against the file. */
static void npy_preamble(NpyReader *r)
{
    const uint8_t *p = r->b->data;
    int64_t size = r->b->size;
    if (size < 6 || memcmp(p, "\x93NUMPY", 6) != 0)
        bytes_error(r->b, 0, NULL, "not a .npy file: it does not start with \\x93NUMPY");
    if (size < 10 || (p[6] > 1 && size < 12))
        bytes_error(r->b, size, NULL, "the file ends before the length of its header");
    if (p[6] < 1 || p[6] > 3 || p[7] != 0)
        bytes_error(r->b, 6, NULL, ".npy version %d.%d is unknown: 1.0, 2.0 and 3.0 are read", p[6],
                    p[7]);
    int64_t length = p[8] | p[9] << 8;
    r->at = 10;
    if (p[6] > 1) {
        length |= (int64_t)p[10] << 16 | (int64_t)p[11] << 24;
        r->at = 12;
    }
    if (length > size - r->at || length > HEADER_MAX)
        bytes_error(r->b, 8, NULL, "the header claims %lld bytes, the file has %lld after it",
                    (long long)length, (long long)(size - r->at));
    r->end = r->at + length;
}

/* What follows the data is left alone, as NumPy does. */
NpyForm npy_form(const Bytes *b)
{
    NpyReader r = { .b = b };
    npy_preamble(&r);
    npy_dictionary(&r);
    int64_t count, bytes;
    char shape[256];
    shape_text(shape, sizeof shape, r.rank, r.shape);
    if (!stored_size(r.stored, r.rank, r.shape, &count, &bytes))
        bytes_error(b, r.end, NULL, "a tensor of shape %s has more elements than can be counted",
                    shape);
    if (bytes > b->size - r.end)
        bytes_error(b, r.end, NULL,
                    "shape %s of %d-byte elements needs %lld bytes, %lld are left in the file",
                    shape, r.stored.bytes, (long long)bytes, (long long)(b->size - r.end));
    NpyForm f = { .stored = r.stored, .fortran = r.fortran, .rank = r.rank, .at = r.end };
    memcpy(f.shape, r.shape, sizeof f.shape);
    return f;
}

Tensor *npy_read(const Bytes *b)
{
    NpyForm f = npy_form(b);
    return stored_tensor(b, f.stored, f.at, f.rank, f.shape, f.fortran);
}

/* ---- writing ---- */

static void npy_describe(OpCall *c, Stored s, const char *what, char *out, size_t cap)
{
    if (s.kind == 'B')
        err_raise_help(&c->in->ctx, ERR_DTYPE,
                       "f32 holds every bf16 value, and .safetensors files hold bf16",
                       "the .npy format has no bf16, and %s is bf16", what);
    if (s.kind == '4' || s.kind == '5')
        err_raise_help(&c->in->ctx, ERR_DTYPE,
                       "f16 holds every value of it, and .safetensors files hold it",
                       "the .npy format has no %s, and %s is that",
                       s.kind == '4' ? "e4m3" : "e5m2", what);
    snprintf(out, cap, "%c%c%d", s.bytes == 1 || s.kind == 'S' ? '|' : '<', s.kind, s.bytes);
}

/* Padded so that data behind it start at a multiple of 64 bytes, as NumPy does. */
void npy_head(OpCall *c, Str **text, Stored s, bool fortran, int rank, const int64_t *shape,
              const char *what)
{
    char descr[16], pad[64];
    npy_describe(c, s, what, descr, sizeof descr);
    size_t start = (*text)->len;
    str_append(&c->in->ctx, text, "\x93NUMPY\x01\x00\x00\x00", 10);
    file_put(c, text, "{'descr': '%s', 'fortran_order': %s, 'shape': (", descr,
             fortran ? "True" : "False");
    for (int i = 0; i < rank; i++)
        file_put(c, text, "%lld,%s", (long long)shape[i], i + 1 < rank ? " " : "");
    file_put(c, text, "), }");
    size_t fill = 63 - ((*text)->len - start) % 64;
    memset(pad, ' ', sizeof pad);
    pad[fill] = '\n';
    str_append(&c->in->ctx, text, pad, fill + 1);
    size_t length = (*text)->len - start - 10;     /* 32 axes stay far below 64 KiB */
    (*text)->text[start + 8] = (char)(length & 0xFF);
    (*text)->text[start + 9] = (char)(length >> 8);
}

void npy_save(OpCall *c, const char *path, Tensor *t, const char *as)
{
    Stored s;
    bool fortran = true;
    if (npy_grid_save(c, path, t, as))
        return;
    value_home(c->in, c->args[1]);
    Tensor *raw = stored_raw(c, t, as, arg_text(c, 1), &s, &fortran);
    Str **head = file_text(c);
    npy_head(c, head, s, fortran, t->rank, tensor_shape(t), arg_text(c, 1));
    FilePart parts[] = { { (*head)->text, (*head)->len },
                         { raw->data, (size_t)t->size * s.bytes } };
    file_replace(c, path, parts, 2);
}
