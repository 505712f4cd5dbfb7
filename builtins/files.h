/* What the file formats share: finding, reading and replacing files. Each format has a
 * reader and a writer; builtins/files.c picks by extension. Contents come from outside
 * and are treated as hostile: every size is checked before anything is allocated. */
#ifndef RICCI_BUILTINS_FILES_H
#define RICCI_BUILTINS_FILES_H

#include "interp/op.h"

/* The whole file as a string rooted on the value stack. Raises ERR_IO. */
Str *file_read(OpCall *, const char *path);
/* Reads exactly n bytes at offset into dst; ERR_IO if the file ends before. */
void file_read_at(OpCall *, const char *path, int64_t offset, void *dst, size_t n);
int64_t file_size(OpCall *, const char *path);
/* Replaces path by head followed by body, through a temporary file in its folder: an
 * interrupted or failed save leaves the old file as it was. */
void file_replace(OpCall *, const char *path, const Buf *head, const void *body, size_t body_bytes);
_Noreturn void file_error(OpCall *, const char *path, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

Value npy_load(OpCall *, const char *path);
void npy_save(OpCall *, const char *path, Tensor *t, const char *as);
Value mtx_load(OpCall *, const char *path);
void mtx_save(OpCall *, const char *path, Tensor *t);
Value csv_load(OpCall *, const char *path);
void csv_save(OpCall *, const char *path, Tensor *t, Str *header);

#endif
