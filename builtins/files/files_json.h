/* A strict reader of JSON (RFC 8259) over bytes from outside, which walks instead of
 * building a tree: its caller says what it expects next. Depth is bounded; every error
 * names its byte. Used by files_safetensors.c and
 * files_graph_load.c. */
#ifndef RICCI_BUILTINS_FILES_JSON_H
#define RICCI_BUILTINS_FILES_JSON_H

#include "builtins/files/files.h"

typedef struct Json {
    const Bytes *b;
    int64_t at, end;
    int64_t values;                       /* that json_value has read */
} Json;

char json_peek(Json *);                  /* the next character that is no blank; NUL at the end */
void json_want(Json *, char, const char *where);
/* After an element: true and past the comma if another follows, else past the bracket. */
bool json_more(Json *, char close);
/* A string, decoded, into *text of file_text, which is emptied before. */
void json_text(Json *, Str **text, const char *what);
int64_t json_count(Json *, const char *what);   /* a whole number from 0 to 2^63 - 1 */
void json_skip(Json *);                       /* any value */
/* Any value, its numbers whole ones of 64 bits: null, bools, ints, strings, arrays as tuples and
 * objects as named tuples; owned. */
Value json_value(Json *);
void json_put_text(OpCall *, Str **, const char *text, size_t len);     /* in quotes */

#endif
