/* Zip archives as .npz files need them: the directory, stored and deflated members, zip64.
 * Between files_zip.c, which knows zip and zlib, and files_npz.c, which knows tensors. */
#ifndef RICCI_BUILTINS_FILES_ZIP_H
#define RICCI_BUILTINS_FILES_ZIP_H

#include "builtins/stored/files.h"

typedef struct ZipMember {
    const char *name;              /* name_len bytes in the archive, UTF-8 without NULs */
    int64_t name_len;
    int method;                    /* 0 stored, 8 deflated */
    uint32_t crc;
    int64_t packed, size;          /* bytes in the archive, and of the member */
    int64_t data;                  /* where the packed bytes start */
} ZipMember;

typedef struct ZipReader {
    const Bytes *b;
    int64_t start, at, end;        /* of the directory: its start, the next entry, its end */
    int64_t count;                 /* members that the archive claims to have */
} ZipReader;

/* Finds the directory. Raises ERR_IO where it is not one, as the next two do. */
ZipReader zip_open(const Bytes *);
/* The next member of the directory, its place checked against the file; false at the end. */
bool zip_next(ZipReader *, ZipMember *);
/* The member's contents, its checksum compared: bytes of the archive, or inflated ones.
 * name is for errors. */
Bytes zip_contents(const Bytes *, const ZipMember *, const char *name);

/* Writing: the head of a stored member, padded so that its contents start at a multiple of
 * 64 bytes; its entry of the directory; and the archive's end. at: bytes of the archive so
 * far. zip64 fields appear where sizes or places need them. */
typedef struct ZipEntry {
    const char *name;
    size_t name_len;
    uint32_t crc;
    int64_t size, at;
} ZipEntry;
void zip_put_head(OpCall *, Str **, const ZipEntry *);
void zip_put_entry(OpCall *, Str **, const ZipEntry *);
void zip_put_end(OpCall *, Str **, int64_t count, int64_t directory, int64_t bytes);
/* An archive being put together (files_npz.c): heads of members, texts at their start, and tensors
 * behind these. */
typedef struct ZipWriter {
    OpCall *call;
    Str **heads;                   /* heads of all members and their texts, one after the other */
    Str **directory;
    Str **spans;
    Tuple **held;                  /* the data */
    int64_t at, count;
} ZipWriter;
void zip_begin(OpCall *, ZipWriter *);
/* A member: `text`, then so many bytes of `data` (NULL: none). */
void zip_add(ZipWriter *, const char *name, const Str *text, Tensor *data, size_t bytes);
void zip_write(ZipWriter *, const char *path);
/* Raises where two members lie over one another. */
void zip_check_overlap(OpCall *, const Bytes *, ZipReader);
/* CRC-32 over the parts, one after the other. */
uint32_t zip_crc(OpCall *, const FilePart *, int count);

#endif
