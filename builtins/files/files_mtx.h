/* Matrix Market files, between files_mtx.c, which knows the head and reads line by line,
 * files_mtx_quick.c, which reads plain files of coordinates by all threads, and the writer. */
#ifndef RICCI_BUILTINS_FILES_MTX_H
#define RICCI_BUILTINS_FILES_MTX_H

#include "builtins/stored/files.h"

typedef enum MtxField { MTX_REAL, MTX_INTEGER, MTX_COMPLEX, MTX_PATTERN } MtxField;
typedef enum MtxSymmetry { MTX_GENERAL, MTX_SYMMETRIC, MTX_SKEW, MTX_HERMITIAN } MtxSymmetry;

/* Entries as they are read, for a sparse matrix: vectors with room for all. */
typedef struct MtxEntries {
    Tensor *row, *column, *value;
    int64_t count;
} MtxEntries;

typedef struct MtxReader {
    OpCall *call;
    const char *path, *at, *end;
    int64_t line;
    bool coordinate;
    MtxField field;
    MtxSymmetry symmetry;
    int64_t rows, columns, entries;
    Tensor *t;               /* the dense matrix … */
    MtxEntries *into;        /* … or, where this is not NULL, its entries */
} MtxReader;

/* The entries behind the size line as a sparse matrix, rooted, where each line is an entry and
 * nothing is wrong with any of them; NULL: one is not so, and is to be read line by line. */
Tensor *mtx_quick(MtxReader *);

#endif
