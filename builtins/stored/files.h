/* What the file formats share: finding, reading and replacing files, elements as files keep
 * them, numbers in text. Each format has a reader and a writer; builtins/files/files.c picks by
 * extension. Contents come from outside and are treated as hostile: every size is checked
 * against the bytes that are there before anything is allocated. */
#ifndef RICCI_BUILTINS_FILES_H
#define RICCI_BUILTINS_FILES_H

#include "interp/op/op.h"

/* ---- access (files_access.c) ---- */

/* Which file it was, and how it was last changed, in nanoseconds. */
typedef struct FileStamp {
    uint64_t device, inode;
    int64_t size, modified, changed;
} FileStamp;

/* The bytes of a file, or of a member of an archive: mapped, or read into memory. Rooted
 * on the value stack, valid until the operation returns. */
typedef struct Bytes {
    OpCall *call;
    const char *path;
    const char *member;      /* in an archive; NULL: the file itself */
    const uint8_t *data;
    int64_t size;
    FileStamp stamp;         /* of the file; all 0: it is no regular one */
    Tensor *whole;           /* u8, over data; tensors may be views of it; NULL: they may not */
} Bytes;

/* The path itself, or the same path in the folder of the program that asks. */
const char *file_find(OpCall *, Str *path);
Bytes file_bytes(OpCall *, const char *path);
/* The whole file as a NUL-terminated string rooted on the value stack. Raises ERR_IO. */
Str *file_read(OpCall *, const char *path);
/* `path: …`; with a help line, a ready text or NULL. */
_Noreturn void file_error(OpCall *, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void file_error_help(OpCall *, const char *path, const char *help, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* `path: member: byte at: …`, counting from 0 in the member or file; at < 0: no byte. */
_Noreturn void bytes_error(const Bytes *, int64_t at, const char *help, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

typedef struct FilePart { const void *data; size_t bytes; } FilePart;
/* Replaces path by the parts, one after the other, through a temporary file in its folder:
 * an interrupted or failed save leaves the old file as it was, and what is mapped from it
 * stays. Its permissions are kept. Devices and pipes are written directly. */
void file_replace(OpCall *, const char *path, const FilePart *parts, size_t count);
/* The same, where `bytes` behind the head are written by `write`, by the name of a file of that
 * length: it returns 0, why it failed (errno), or FILE_DECLINED, when nothing happened. False: it
 * declined, or what is there is no plain file. */
enum { FILE_DECLINED = -1 };
typedef int (*FileWriter)(OpCall *, const char *name, void *with);
bool file_replace_by(OpCall *, const char *path, const FilePart *head, size_t bytes, FileWriter,
                     void *with);
/* At the end of the file, which is made where there is none. */
void file_append(OpCall *, const char *path, const FilePart *);
/* An empty string rooted on the value stack, to be grown by str_append: files are put
 * together in such ones, since an error on the way releases them. */
Str **file_text(OpCall *);
void file_put(OpCall *, Str **text, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* ---- elements (files_stored.c) ---- */

/* How a file keeps an element. kind: b(ool) i u f c, and B for bfloat16. */
typedef struct Stored {
    char kind;
    uint8_t bytes;
    bool swapped;            /* big-endian */
} Stored;

/* Its name in .safetensors, NULL: none; and what such a name says, false: nothing. */
const char *stored_name(Stored);
bool stored_named(const char *name, Stored *);
/* How files keep numbers of dt; false: none does. */
bool dtype_stored(DType dt, Stored *);
/* Elements and bytes of a shape; false if they cannot be counted. */
bool stored_size(Stored, int rank, const int64_t *shape, int64_t *count, int64_t *bytes);
/* The tensor at byte offset `at`, whose bytes are known to be there. A view of the file
 * where its layout is that of a tensor, else a converted copy. Rooted. */
Tensor *stored_tensor(const Bytes *, Stored, int64_t at, int rank, const int64_t *shape,
                      bool fortran);
/* Has a tensor of *dt the bytes that the file has, but for their order in a number, and for bools
 * that are neither 0 nor 1? */
bool stored_plainly(Stored, DType *dt);
/* Do its elements lie without gaps, the first axis fastest? */
bool column_order(const Tensor *);
/* Raises ERR_DTYPE: no file holds numbers of dt. */
_Noreturn void stored_refuse(OpCall *, DType dt, const char *what);
/* x as a file is to keep it: dtype `as` (i16 u16 u32 u64 or a storage dtype; NULL: its own),
 * values checked. The result is rooted; for the four it holds raw bytes. *fortran: it may
 * (in) and does (out) hold its elements in column order. what names x in errors. */
Tensor *stored_raw(OpCall *, Tensor *x, const char *as, const char *what, Stored *, bool *fortran);

/* ---- numbers in text (files_stored.c) ---- */

/* Of exactly the n bytes at p: decimal, inf or nan. */
bool text_float(const char *p, size_t n, double *out);
bool text_int(const char *p, size_t n, int64_t *out);   /* false if it does not fit, too */

/* ---- formats ---- */
Tensor *npy_read(const Bytes *);                        /* rooted */
/* What the header says; the elements that it speaks of are there. */
typedef struct NpyForm {
    Stored stored;
    bool fortran;
    int rank;
    int64_t shape[TENSOR_RANK_MAX];
    int64_t at;                                         /* where they start */
} NpyForm;
NpyForm npy_form(const Bytes *);
/* Through the ranks of a grid, each its own elements. load: rooted; NULL, save: false: that is not
 * to be, and nothing happened (files_grid.c). */
Tensor *npy_grid_load(const Bytes *);
bool npy_grid_save(OpCall *, const char *path, Tensor *, const char *as);
/* The header of a .npy file for `shape`, appended to text. */
void npy_head(OpCall *, Str **text, Stored, bool fortran, int rank, const int64_t *shape,
              const char *what);
void npy_save(OpCall *, const char *path, Tensor *t, const char *as);
Value npz_load(OpCall *, const char *path);
void npz_save(OpCall *, const char *path, Value x, const char *as);
void graph_save(OpCall *, const char *path, Value x);
Value graph_load(OpCall *, const char *path);
Value safetensors_load(OpCall *, const char *path);
void safetensors_save(OpCall *, const char *path, Value x, const char *as);
Value mtx_load(OpCall *, const char *path);
void mtx_save(OpCall *, const char *path, Tensor *t);
Value csv_load(OpCall *, const char *path);
/* Reads the arguments of load and save that are for .csv files alone. */
void csv_save(OpCall *, const char *path, const char *as);

enum {                                                        /* parameters of load … */
    LOAD_HEADER = 1, LOAD_COLUMNS, LOAD_DELIMITER, LOAD_DECIMAL, LOAD_THOUSANDS, LOAD_NA, LOAD_SKIP,
    LOAD_SELECT, LOAD_DTYPE, LOAD_ROWS, LOAD_SPARSE
};
enum { SAVE_DTYPE = 2, SAVE_HEADER, SAVE_DELIMITER };         /* … and save */
/* Argument x as the dtype asked for, for formats of text. Rooted. */
Tensor *text_tensor(OpCall *, const char *as);

#endif
