/* Zip archives (PKWARE APPNOTE 6.3.9). Sizes and places are taken from the directory at the
 * end and each is checked against the file; what a member inflates to must be what the
 * directory claims, no more and no less, and no more than deflate can make of its bytes,
 * so a small file cannot ask for much memory. zlib is opened when first needed. */
#include "builtins/stored/files_zip.h"
#include "core/system/library.h"

#include <string.h>
#include <zlib.h>

enum {
    END_BYTES = 22, END64_BYTES = 56, LOCATOR_BYTES = 20, ENTRY_BYTES = 46, HEAD_BYTES = 30,
    STORED = 0, DEFLATED = 8,
    ZIP64 = 45,                    /* version needed, and 20 without it */
    EXTRA64 = 1, EXTRA_PAD = 0xD935,   /* ids of extra fields; the second is zipalign's */
    ALIGN = 64,
    STEP = 4 << 20                 /* bytes between looks at the interrupt flag */
};
#define MAX32 0xFFFFFFFFLL
#define DEFLATE_RATIO 1032         /* zlib's technical notes: no stream does better */

static uint32_t get16(const uint8_t *p) { return (uint32_t)p[0] | (uint32_t)p[1] << 8; }
static uint32_t get32(const uint8_t *p) { return get16(p) | get16(p + 2) << 16; }
static uint64_t get64(const uint8_t *p) { return get32(p) | (uint64_t)get32(p + 4) << 32; }

/* ---- zlib ---- */

typedef struct Zlib {
    int (*inflateInit2_)(z_stream *, int bits, const char *version, int bytes);
    int (*inflate)(z_stream *, int flush);
    int (*inflateEnd)(z_stream *);
    uLong (*crc32)(uLong crc, const Bytef *data, uInt n);
} Zlib;

static Zlib zlib_open(OpCall *c)
{
    Zlib z = { 0 };
    const LibraryEntry entries[] = {
        { "inflateInit2_", &z.inflateInit2_ }, { "inflate", &z.inflate },
        { "inflateEnd", &z.inflateEnd }, { "crc32", &z.crc32 },
    };
    const char *lacks;
    if (!library_open("libz.so.1", entries, sizeof entries / sizeof *entries, &lacks))
        err_raise_help(&c->in->ctx, ERR_IO, "on Debian and Ubuntu it is in the package zlib1g",
                       "zip archives need zlib, which was not found (libz.so.1)");
    return z;
}

static uint32_t crc_of(OpCall *c, const Zlib *z, uint32_t crc, const uint8_t *p, int64_t n)
{
    for (int64_t at = 0; at < n; at += STEP) {
        crc = (uint32_t)z->crc32(crc, p + at, (uInt)(n - at < STEP ? n - at : STEP));
        poll_interrupt(c->in);
    }
    return crc;
}

uint32_t zip_crc(OpCall *c, const FilePart *parts, int count)
{
    Zlib z = zlib_open(c);
    uint32_t crc = 0;
    for (int i = 0; i < count; i++)
        crc = crc_of(c, &z, crc, parts[i].data, (int64_t)parts[i].bytes);
    return crc;
}

/* ---- the directory ---- */

/* The end record: the last place whose signature fits and whose comment reaches exactly to
 * the end of the file. */
static int64_t find_end(const Bytes *b)
{
    int64_t lowest = b->size - END_BYTES - 0xFFFF;
    for (int64_t at = b->size - END_BYTES; at >= 0 && at >= lowest; at--)
        if (get32(b->data + at) == 0x06054b50 &&
            at + END_BYTES + (int64_t)get16(b->data + at + 20) == b->size)
            return at;
    const char *kind = strrchr(b->path, '.');
    if (b->size >= 4 && get32(b->data) == 0x04034b50)
        bytes_error(b, -1, NULL,
                    "the archive is cut off: its directory, which stands at the end, is missing");
    bytes_error(b, -1, NULL, "not an %s file: it is no zip archive", kind ? kind : "archive");
}

/* The zip64 end record that a locator in front of `end` names, or -1. */
static int64_t find_end64(const Bytes *b, int64_t end)
{
    int64_t locator = end - LOCATOR_BYTES;
    if (locator < 0 || get32(b->data + locator) != 0x07064b50)
        return -1;
    uint64_t at = get64(b->data + locator + 8);
    if (locator < END64_BYTES || at > (uint64_t)(locator - END64_BYTES) ||
        get32(b->data + at) != 0x06064b50)
        bytes_error(b, locator + 8, NULL,
                    "the zip64 locator names byte %llu, where no zip64 record stands",
                    (unsigned long long)at);
    return (int64_t)at;
}

ZipReader zip_open(const Bytes *b)
{
    int64_t end = find_end(b), end64 = find_end64(b, end);
    const uint8_t *p = b->data + (end64 >= 0 ? end64 : end);
    uint64_t count = end64 >= 0 ? get64(p + 32) : get16(p + 10);
    uint64_t bytes = end64 >= 0 ? get64(p + 40) : get32(p + 12);
    uint64_t start = end64 >= 0 ? get64(p + 48) : get32(p + 16);
    int64_t before = end64 >= 0 ? end64 : end;
    if (end64 < 0 && (get16(p + 4) || get16(p + 6) || get16(p + 8) != get16(p + 10)))
        bytes_error(b, end, NULL, "archives in several parts are not read");
    if (start > (uint64_t)before || bytes > (uint64_t)before - start)
        bytes_error(b, before, NULL,
                    "the directory claims bytes %llu to %llu, it must end before byte %lld",
                    (unsigned long long)start, (unsigned long long)(start + bytes),
                    (long long)before);
    if (count > bytes / ENTRY_BYTES)
        bytes_error(b, before, NULL, "the directory claims %llu members in %llu bytes",
                    (unsigned long long)count, (unsigned long long)bytes);
    return (ZipReader){ .b = b,
                        .start = (int64_t)start,
                        .at = (int64_t)start,
                        .end = (int64_t)(start + bytes),
                        .count = (int64_t)count };
}

/* Sizes and places of 2^32 - 1 stand in the zip64 extra field, in this order. */
static void read_extra64(const ZipReader *r, const uint8_t *extra, int64_t n, uint64_t value[3])
{
    for (int64_t at = 0; at + 4 <= n;) {
        int64_t id = get16(extra + at), len = get16(extra + at + 2), from = at + 4;
        if (len > n - from)
            bytes_error(r->b, extra + at - r->b->data, NULL,
                        "an extra field of the directory is cut off");
        for (int i = 0; id == EXTRA64 && i < 3; i++) {
            if (value[i] != MAX32)
                continue;
            if (from + 8 > at + 4 + len)
                bytes_error(r->b, extra + at - r->b->data, NULL,
                            "a zip64 extra field is too short");
            value[i] = get64(extra + from);
            from += 8;
        }
        at += 4 + len;
    }
}

/* Where the packed bytes start: behind the member's own head, which is to lie in front of
 * the directory, as its contents are. */
static int64_t member_data(const ZipReader *r, int64_t entry, uint64_t head, uint64_t packed)
{
    int64_t start = r->start;
    if (start < HEAD_BYTES || head > (uint64_t)(start - HEAD_BYTES) ||
        get32(r->b->data + head) != 0x04034b50)
        bytes_error(r->b, entry + 42, NULL, "the directory names byte %llu, where no member starts",
                    (unsigned long long)head);
    const uint8_t *p = r->b->data + head;
    int64_t data = (int64_t)head + HEAD_BYTES + get16(p + 26) + get16(p + 28);
    if (data > start || packed > (uint64_t)(start - data))
        bytes_error(r->b, entry + 20, NULL,
                    "a member of %llu bytes at byte %lld does not fit into the archive",
                    (unsigned long long)packed, (long long)data);
    return data;
}

bool zip_next(ZipReader *r, ZipMember *m)
{
    const uint8_t *p = r->b->data + r->at;
    int64_t entry = r->at, left = r->end - r->at;
    if (r->count == 0 && left > 0)
        bytes_error(r->b, entry, NULL,
                    "the directory goes on after the members that it claims to have");
    if (r->count == 0)
        return false;
    if (left < ENTRY_BYTES || get32(p) != 0x02014b50)
        bytes_error(r->b, entry, NULL, "the directory has %lld members fewer than it claims",
                    (long long)r->count);
    int64_t name = get16(p + 28), extra = get16(p + 30), comment = get16(p + 32);
    if (ENTRY_BYTES + name + extra + comment > left)
        bytes_error(r->b, entry, NULL, "an entry of the directory is cut off");
    uint64_t value[3] = { get32(p + 24), get32(p + 20), get32(p + 42) };
    read_extra64(r, p + ENTRY_BYTES + name, extra, value);
    *m = (ZipMember){ .name = (const char *)p + ENTRY_BYTES,
                      .name_len = name,
                      .method = (int)get16(p + 10),
                      .crc = get32(p + 16),
                      .size = (int64_t)value[0],
                      .packed = (int64_t)value[1] };
    if (utf8_check(m->name, (size_t)name) != (size_t)name || memchr(m->name, 0, (size_t)name))
        bytes_error(r->b, entry + ENTRY_BYTES, NULL, "the name of a member is not UTF-8 text");
    if (get16(p + 8) & 1)
        bytes_error(r->b, entry + 8, NULL, "member %.*s is encrypted", (int)name, m->name);
    m->data = member_data(r, entry, value[2], value[1]);
    if (m->size < 0)
        bytes_error(r->b, entry + 24, NULL, "member %.*s claims more bytes than can be counted",
                    (int)name, m->name);
    r->at += ENTRY_BYTES + name + extra + comment;
    r->count--;
    return true;
}

/* ---- contents ---- */

/* Inflates in steps; zlib's verdict, Z_STREAM_END when all of it came out. */
static int inflate_steps(OpCall *c, const Zlib *z, z_stream *s, const ZipMember *m, Tensor *out)
{
    int64_t in_left = m->packed, out_left = m->size;
    uint8_t spare;                 /* room for the byte too many that a lying size would hide */
    int status = Z_OK;
    s->next_out = (Bytef *)out->data;
    while (status == Z_OK) {
        if (s->avail_in == 0) {
            s->avail_in = (uInt)(in_left < STEP ? in_left : STEP);
            in_left -= s->avail_in;
        }
        if (s->avail_out == 0) {
            s->avail_out = (uInt)(out_left < STEP ? out_left : STEP);
            out_left -= s->avail_out;
            if (s->avail_out == 0) {
                s->next_out = &spare;
                s->avail_out = 1;
            }
        }
        status = z->inflate(s, Z_NO_FLUSH);
        if (s->next_out == &spare + 1)
            return Z_BUF_ERROR;
        if (*c->in->ctx.interrupt)
            break;
    }
    return status;
}

static Tensor *inflate_member(const Bytes *b, const Zlib *z, const ZipMember *m)
{
    OpCall *c = b->call;
    if (m->size / DEFLATE_RATIO > m->packed + 1)
        bytes_error(b, -1, NULL,
                    "it claims %lld bytes out of %lld deflated ones, more than deflate can make",
                    (long long)m->size, (long long)m->packed);
    Tensor *out = op_keep(c, tensor_new(&c->in->ctx, DT_U8, 1, &m->size));
    z_stream s = { .next_in = (Bytef *)(uintptr_t)(b->data + m->data) };
    if (z->inflateInit2_(&s, -15, ZLIB_VERSION, (int)sizeof s) != Z_OK)
        mem_raise(&c->in->ctx, 64 << 10);
    int status = inflate_steps(c, z, &s, m, out);
    int64_t made = (int64_t)s.total_out, used = (int64_t)s.total_in;
    z->inflateEnd(&s);
    poll_interrupt(c->in);
    if (status != Z_STREAM_END && status != Z_OK && status != Z_BUF_ERROR)
        bytes_error(b, m->data + used, NULL, "its deflated data are damaged");
    if (status != Z_STREAM_END || made != m->size)
        bytes_error(b, m->data + used, NULL, "%lld bytes came out, the directory claims %lld",
                    (long long)made, (long long)m->size);
    return out;
}

Bytes zip_contents(const Bytes *archive, const ZipMember *m, const char *name)
{
    Bytes b = *archive;
    Zlib z = zlib_open(b.call);
    b.member = name;
    if (m->method == DEFLATED) {
        b.whole = inflate_member(&b, &z, m);
        b.data = (const uint8_t *)b.whole->data;
    } else if (m->method != STORED) {
        bytes_error(&b, -1,
                    "write it stored or deflated, as numpy.savez and numpy.savez_compressed do",
                    "compression method %d is not read", m->method);
    } else if (m->packed != m->size) {
        bytes_error(&b, -1, NULL, "a stored member of %lld bytes claims %lld", (long long)m->packed,
                    (long long)m->size);
    } else {
        b.data += m->data;
    }
    b.size = m->size;
    uint32_t crc = crc_of(b.call, &z, 0, b.data, b.size);
    if (crc != m->crc)
        bytes_error(&b, -1, NULL,
                    "its checksum is %08x, the archive says %08x: the file is damaged", crc,
                    m->crc);
    return b;
}

/* ---- writing ---- */

static void put(OpCall *c, Str **text, uint64_t v, int bytes)
{
    char out[8];
    for (int i = 0; i < bytes; i++)
        out[i] = (char)(v >> (8 * i));
    str_append(&c->in->ctx, text, out, (size_t)bytes);
}

static uint64_t capped(int64_t v) { return v >= MAX32 ? (uint64_t)MAX32 : (uint64_t)v; }

/* What heads and entries share: version needed, flags (UTF-8 name), method, time (1 January
 * 1980: the same values make the same file), checksum and sizes. */
static void put_common(OpCall *c, Str **text, const ZipEntry *e, bool wide)
{
    put(c, text, wide ? ZIP64 : 20, 2);
    put(c, text, 0x0800, 2);
    put(c, text, STORED, 2);
    put(c, text, 0, 2);
    put(c, text, 0x0021, 2);
    put(c, text, e->crc, 4);
    put(c, text, capped(e->size), 4);
    put(c, text, capped(e->size), 4);
    put(c, text, e->name_len, 2);
}

void zip_put_head(OpCall *c, Str **text, const ZipEntry *e)
{
    bool wide = e->size >= MAX32;
    int64_t fixed = HEAD_BYTES + (int64_t)e->name_len + (wide ? 20 : 0) + 4;
    int64_t pad = (ALIGN - (e->at + fixed) % ALIGN) % ALIGN;
    put(c, text, 0x04034b50, 4);
    put_common(c, text, e, wide);
    put(c, text, (uint64_t)(wide ? 24 : 4) + (uint64_t)pad, 2);
    str_append(&c->in->ctx, text, e->name, e->name_len);
    if (wide) {
        put(c, text, EXTRA64, 2);
        put(c, text, 16, 2);
        put(c, text, (uint64_t)e->size, 8);
        put(c, text, (uint64_t)e->size, 8);
    }
    put(c, text, EXTRA_PAD, 2);
    put(c, text, (uint64_t)pad, 2);
    for (int64_t i = 0; i < pad; i++)
        put(c, text, 0, 1);
}

void zip_put_entry(OpCall *c, Str **text, const ZipEntry *e)
{
    bool big = e->size >= MAX32, far = e->at >= MAX32;
    int extra = big && far ? 28 : big ? 20 : far ? 12 : 0;
    put(c, text, 0x02014b50, 4);
    put(c, text, 3 << 8 | (extra ? ZIP64 : 20), 2);          /* made on Unix, for its permissions */
    put_common(c, text, e, extra > 0);
    put(c, text, (uint64_t)extra, 2);
    put(c, text, 0, 2);                                    /* comment */
    put(c, text, 0, 2);                                    /* part */
    put(c, text, 0, 2);
    put(c, text, 0100644u << 16, 4);
    put(c, text, capped(e->at), 4);
    str_append(&c->in->ctx, text, e->name, e->name_len);
    if (!extra)
        return;
    put(c, text, EXTRA64, 2);
    put(c, text, (uint64_t)extra - 4, 2);
    if (big) {
        put(c, text, (uint64_t)e->size, 8);
        put(c, text, (uint64_t)e->size, 8);
    }
    if (far)
        put(c, text, (uint64_t)e->at, 8);
}

void zip_put_end(OpCall *c, Str **text, int64_t count, int64_t directory, int64_t bytes)
{
    if (count >= 0xFFFF || directory >= MAX32 || bytes >= MAX32) {
        put(c, text, 0x06064b50, 4);
        put(c, text, END64_BYTES - 12, 8);
        put(c, text, 3 << 8 | ZIP64, 2);
        put(c, text, ZIP64, 2);
        put(c, text, 0, 8);                                /* parts */
        put(c, text, (uint64_t)count, 8);
        put(c, text, (uint64_t)count, 8);
        put(c, text, (uint64_t)bytes, 8);
        put(c, text, (uint64_t)directory, 8);
        put(c, text, 0x07064b50, 4);
        put(c, text, 0, 4);
        put(c, text, (uint64_t)(directory + bytes), 8);
        put(c, text, 1, 4);
    }
    put(c, text, 0x06054b50, 4);
    put(c, text, 0, 4);
    put(c, text, count >= 0xFFFF ? 0xFFFF : (uint64_t)count, 2);
    put(c, text, count >= 0xFFFF ? 0xFFFF : (uint64_t)count, 2);
    put(c, text, capped(bytes), 4);
    put(c, text, capped(directory), 4);
    put(c, text, 0, 2);
}
