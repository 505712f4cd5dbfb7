/* A strict reader of JSON (RFC 8259) over bytes from outside, which walks instead of building a
 * tree: its caller says what it expects next. Every error names its byte. A text is UTF-8 and has
 * no NUL; half of a surrogate pair is none of its characters. And a writer, which appends.
 * json_tree.h builds a tree for those who do not know what comes. */
#ifndef RICCI_CORE_JSON_H
#define RICCI_CORE_JSON_H

#include "core/base/buf.h"

typedef struct JsonWalk JsonWalk;
struct JsonWalk {
    const uint8_t *data;
    int64_t at, end;
    const char *name;                    /* of what is read, in errors: `the header` */
    void *owner;
    /* Says that something is wrong at this byte; it does not return. */
    void (*fail)(JsonWalk *, int64_t at, const char *message) __attribute__((noreturn));
    /* A piece of the text that is being read, decoded; NULL: nobody wants it. */
    void (*put)(JsonWalk *, const char *bytes, size_t n);
    bool replaces;                       /* what is escaped and no character is U+FFFD, no error */
};

enum { JSON_DEPTH_MAX = 32 };            /* of what json_walk_skip passes over */

/* `message` is a format. */
_Noreturn void json_walk_fail(JsonWalk *, int64_t at, const char *message, ...)
    __attribute__((format(printf, 3, 4)));
char json_walk_peek(JsonWalk *);         /* the next character that is no blank; NUL at the end */
void json_walk_want(JsonWalk *, char, const char *where);
/* After an element: true and past the comma if another follows, else past the bracket. */
bool json_walk_more(JsonWalk *, char close);
/* A string, decoded, piece by piece into `put`. */
void json_walk_text(JsonWalk *, const char *what);
int64_t json_walk_count(JsonWalk *, const char *what);   /* a whole number from 0 to 2^63 - 1 */
void json_walk_skip(JsonWalk *);                         /* any value */
/* `true`, `false` or `null` (0, 1, 2), which are passed; -1: none of them stands here. */
int json_walk_word(JsonWalk *);
/* Past a number; returns whether it is a whole one, *value, that fits 64 bits. */
bool json_walk_number(JsonWalk *, int64_t *value);

/* ---- writing ---- */
/* Text between quotes: bytes that are no UTF-8 become U+FFFD. */
void json_put_quoted(Buf *, const char *text, size_t len);

/* Commas are put where they belong. */
typedef struct JsonWriter {
    Buf *out;
    bool comma;                          /* something stands before the next one */
} JsonWriter;

void json_open(JsonWriter *, char bracket);              /* { or [ */
void json_close(JsonWriter *, char bracket);
void json_key(JsonWriter *, const char *key);
void json_put_text(JsonWriter *, const char *text, size_t len);
void json_put_string(JsonWriter *, const char *text);
void json_put_int(JsonWriter *, int64_t);
void json_put_number(JsonWriter *, double);              /* null where it is not finite */
void json_put_bool(JsonWriter *, bool);
void json_put_null(JsonWriter *);
void json_put_raw(JsonWriter *, const char *json, size_t len);   /* a value that is JSON already */
/* "key": "text" */
void json_pair(JsonWriter *, const char *key, const char *text);

#endif
