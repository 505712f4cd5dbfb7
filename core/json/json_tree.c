/* The tree of json_tree.h. */
#include "core/json/json_tree.h"

#include "core/base/error.h"
#include "core/system/c_locale.h"

#include <string.h>

const JsonLimits json_limits = { .depth = 100, .values = 1000000 };

typedef struct TreeReader {
    JsonWalk walk;
    Ctx *ctx;
    Arena *arena;
    char *text;                      /* being read: as long as its source at most */
    size_t len, values;
    JsonLimits limits;
} TreeReader;

static _Noreturn void fail(JsonWalk *j, int64_t at, const char *message)
{
    TreeReader *r = j->owner;
    err_raise(r->ctx, ERR_VALUE, "byte %lld: %s", (long long)at, message);
}

static void put(JsonWalk *j, const char *bytes, size_t n)
{
    TreeReader *r = j->owner;
    memcpy(r->text + r->len, bytes, n);
    r->len += n;
}

/* Where the string that begins here ends, at the latest: decoding makes nothing longer. */
static size_t text_bytes(const JsonWalk *j)
{
    int64_t at = j->at + 1;
    while (at < j->end && j->data[at] != '"')
        at += 1 + (j->data[at] == '\\');
    return (size_t)((at < j->end ? at : j->end) - j->at);
}

static const char *read_text(TreeReader *r, const char *what)
{
    if (json_walk_peek(&r->walk) == '"')
        r->text = arena_alloc(r->arena, text_bytes(&r->walk) + 1);
    r->len = 0;
    json_walk_text(&r->walk, what);
    r->text[r->len] = '\0';
    return r->text;
}

static void read_number(TreeReader *r, JsonValue *v)
{
    JsonWalk *j = &r->walk;
    int64_t start = j->at;
    bool whole = json_walk_number(j, &v->i);
    v->kind = whole ? JSON_INT : JSON_NUMBER;
    v->number = (double)v->i;
    if (!whole) {
        char *digits = arena_copy(r->arena, (const char *)j->data + start, (size_t)(j->at - start));
        v->number = c_strtod(digits, NULL);
        v->i = 0;
    }
}

static JsonValue *read_value(TreeReader *r, int depth);

static void read_elements(TreeReader *r, JsonValue *v, char close, int depth)
{
    JsonWalk *j = &r->walk;
    JsonValue **to = &v->first;
    if (depth == r->limits.depth)
        json_walk_fail(j, j->at, "nested more than %d levels deep", depth);
    j->at++;
    if (json_walk_peek(j) == close) {
        j->at++;
        return;
    }
    do {
        const char *key = NULL;
        if (close == '}') {
            key = read_text(r, "a key");
            json_walk_want(j, ':', "after a key");
        }
        *to = read_value(r, depth + 1);
        (*to)->key = key;
        to = &(*to)->next;
        v->len++;
    } while (json_walk_more(j, close));
}

static JsonValue *read_value(TreeReader *r, int depth)
{
    JsonWalk *j = &r->walk;
    char open = json_walk_peek(j);
    if (++r->values > r->limits.values)
        json_walk_fail(j, j->at, "more than %zu values", r->limits.values);
    JsonValue *v = arena_alloc(r->arena, sizeof *v);
    v->from = (size_t)j->at;
    int word = -1;
    if (open == '"') {
        v->kind = JSON_TEXT;
        v->text = read_text(r, "a value");
        v->len = r->len;
    } else if (open == '{' || open == '[') {
        v->kind = open == '{' ? JSON_OBJECT : JSON_LIST;
        read_elements(r, v, open == '{' ? '}' : ']', depth);
    } else if ((word = json_walk_word(j)) >= 0) {
        v->kind = word == 2 ? JSON_NULL : JSON_BOOL;
        v->truth = word == 0;
    } else {
        read_number(r, v);
    }
    v->to = (size_t)j->at;
    return v;
}

JsonValue *json_read(Ctx *ctx, Arena *arena, const char *text, size_t n, JsonLimits limits)
{
    TreeReader r = { .walk = { .data = (const uint8_t *)text, .end = (int64_t)n, .fail = fail,
                               .put = put, .name = "it", .replaces = limits.replaces },
                     .ctx = ctx, .arena = arena, .limits = limits };
    r.walk.owner = &r;
    JsonValue *v = read_value(&r, 0);
    if (json_walk_peek(&r.walk) != '\0' || r.walk.at < r.walk.end)
        json_walk_fail(&r.walk, r.walk.at, "something follows the value");
    return v;
}

const JsonValue *json_get(const JsonValue *v, const char *key)
{
    const JsonValue *found = NULL;
    if (!v || v->kind != JSON_OBJECT)
        return NULL;
    for (const JsonValue *e = v->first; e; e = e->next)
        if (strcmp(e->key, key) == 0)
            found = e;
    return found;
}

const char *json_string(const JsonValue *v, const char *other)
{
    return v && v->kind == JSON_TEXT ? v->text : other;
}

bool json_truth(const JsonValue *v, bool other)
{
    return v && v->kind == JSON_BOOL ? v->truth : other;
}

int64_t json_int(const JsonValue *v, int64_t other)
{
    return v && v->kind == JSON_INT ? v->i : other;
}
