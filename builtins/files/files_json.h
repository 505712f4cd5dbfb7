/* Files that hold JSON: core/json over the bytes of a file, with errors that name it, and values
 * of the language. Used by files_safetensors.c and files_graph_load.c. */
#ifndef RICCI_BUILTINS_FILES_JSON_H
#define RICCI_BUILTINS_FILES_JSON_H

#include "builtins/stored/files.h"
#include "core/json/json.h"

typedef struct Json {
    JsonWalk walk;                        /* first; its `at` counts in b */
    const Bytes *b;
    Str **text;                           /* that is being read; NULL: none */
    int64_t values;                       /* that json_value has read */
} Json;

void json_start(Json *, const Bytes *, int64_t at, int64_t end);
/* A string, decoded, into *text of file_text, which is emptied before. */
void json_text(Json *, Str **text, const char *what);
/* Any value, its numbers whole ones of 64 bits: null, bools, ints, strings, arrays as tuples and
 * objects as named tuples; owned. */
Value json_value(Json *);
void json_write_text(OpCall *, Str **, const char *text, size_t len);     /* in quotes */

#endif
