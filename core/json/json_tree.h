/* JSON as a tree, for messages of other programs. */
#ifndef RICCI_CORE_JSON_TREE_H
#define RICCI_CORE_JSON_TREE_H

#include "core/json/json.h"
#include "core/memory/arena.h"

typedef enum JsonKind {
    JSON_NULL, JSON_BOOL, JSON_INT, JSON_NUMBER, JSON_TEXT, JSON_LIST, JSON_OBJECT
} JsonKind;

typedef struct JsonValue {
    JsonKind kind;
    bool truth;
    int64_t i;                       /* of an int */
    double number;                   /* of an int too */
    const char *text;                /* decoded, NUL-terminated; it has no other NUL */
    size_t len;                      /* bytes of the text; elements of a list or object */
    const char *key;                 /* where it is an element of an object */
    size_t from, to;                 /* bytes of the source that it was read from */
    struct JsonValue *first, *next;  /* its elements; the next one of what it is an element of */
} JsonValue;

typedef struct JsonLimits {
    int depth;                       /* of nested lists and objects */
    size_t values;
    bool replaces;                   /* JsonWalk.replaces */
} JsonLimits;
extern const JsonLimits json_limits;         /* 100 levels, a million values */

/* The one value of n bytes, in the arena. Raises `value` where they are no JSON, with the byte, or
 * pass a limit. */
JsonValue *json_read(Ctx *, Arena *, const char *text, size_t n, JsonLimits);

/* What follows takes NULL, and gives NULL or the other value where there is no such thing. Of a key
 * that stands several times the last one counts. */
const JsonValue *json_get(const JsonValue *, const char *key);
const char *json_string(const JsonValue *, const char *other);
bool json_truth(const JsonValue *, bool other);
int64_t json_int(const JsonValue *, int64_t other);

#endif
