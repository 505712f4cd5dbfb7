/* Delimited text as load reads it. The reader walks over the bytes of a file, which is mapped where
 * it is large and may then change: every walk ends at `end`, and what the second one finds is
 * checked again. Records and fields: files_csv_read.c; their numbers: files_csv_number.c; what
 * the arguments of load say: files_csv_options.c; rows=: files_csv_rows.c. */
#ifndef RICCI_BUILTINS_CSV_H
#define RICCI_BUILTINS_CSV_H

#include "builtins/stored/files.h"
#include "interp/state/scope.h"

typedef struct CsvReader {
    OpCall *call;
    const char *path, *at, *end;
    char delimiter;              /* ' ': runs of blanks and tabs */
    char decimal;                /* '.', or what decimal= says */
    const Str *thousands;        /* NULL: none */
    Value na;                    /* V_UNDEF, a string, or a tuple of strings */
    bool stated;                 /* dtype= was given */
    DType dtype;                 /* of numbers: that, or the precision scope's format, or f64 */
    Arith *arith;                /* reads it from text; NULL: f64 as ever, ints, bools */
    int64_t line;                /* where the next record starts */
    int64_t columns, rows;
    int64_t first, before;       /* of a piece: the byte of the file's first row, rows before it */
    bool piece;
    const Tuple *names;          /* of the columns, strings */
    const int64_t *slot;         /* by column: its place in the result, -1: not selected */
    int64_t selected;            /* columns of the result */
    const char *field;           /* the field just read, without its quotes */
    size_t len;
    Str **unquoted;              /* holds it where quotes stood inside */
    Str **plain;                 /* … and a number with the point and without separators */
} CsvReader;

/* ---- records and fields (files_csv_read.c) ---- */
bool csv_field(CsvReader *);            /* true: it was the record's last */
bool csv_more(CsvReader *);             /* skips lines without a field; false: the file ends */
void csv_pass(CsvReader *);             /* over one record, without looking at its fields */
void csv_trim(CsvReader *);

/* ---- numbers (files_csv_number.c) ---- */
/* What a field is; as bits, what the fields of a column are. */
typedef enum CsvKind {
    CSV_MISSING = 1,
    CSV_BOOL = 2,
    CSV_INT = 4,
    CSV_FLOAT = 8,
    CSV_TEXT = 16
} CsvKind;
bool csv_listed(const CsvReader *);     /* na= has the field, which was trimmed */
CsvKind csv_kind(CsvReader *);          /* trims the field */
/* The field as one element of dt, rounded once from its digits; j is its column. Raises where it is
 * no number, or none of dt. line: where its record starts. */
void csv_store(CsvReader *, DType dt, void *element, int64_t line, int64_t j);
/* Raises: line and column, then the sentence. */
_Noreturn void csv_error(const CsvReader *, int64_t line, int64_t j, const char *help,
                         const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* ---- arguments (files_csv_options.c) ---- */
/* decimal= thousands= na= dtype=; a is the room for the reader's arithmetic. */
void csv_options(CsvReader *, Arith *a);
char csv_delimiter(const CsvReader *);  /* given, or found in the first lines */
bool csv_all_numbers(CsvReader, int64_t *fields);   /* of the record; how many fields it has */
/* Sets names, from the header that starts at it, from header=, or c0, c1, …; and by select=
 * slot and selected. */
void csv_columns_of(CsvReader *, CsvReader header, bool named);

/* ---- rows= (files_csv_rows.c) ---- */
/* Reads rows=, goes to the first row of the piece, and returns how many it may have. b is the file:
 * of a large one it is kept where the piece ended, so that reading in pieces is linear. */
int64_t csv_rows_begin(CsvReader *, const Bytes *b);
/* r stands behind the last row of the piece. */
void csv_rows_end(const CsvReader *r, const Bytes *b);

#endif
