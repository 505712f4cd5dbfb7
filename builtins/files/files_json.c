/* JSON of files: see files_json.h. */
#include "builtins/files/files_json.h"

#include <string.h>

enum { VALUES_MAX = 16000000 };

static _Noreturn void fail(JsonWalk *walk, int64_t at, const char *message)
{
    bytes_error(((Json *)walk)->b, at, NULL, "%s", message);
}

static void put(JsonWalk *walk, const char *bytes, size_t n)
{
    Json *j = (Json *)walk;
    str_append(&j->b->call->in->ctx, j->text, bytes, n);
}

void json_start(Json *j, const Bytes *b, int64_t at, int64_t end)
{
    *j = (Json){ .walk = { .data = b->data, .at = at, .end = end, .name = "the header",
                           .fail = fail, .put = put },
                 .b = b };
}

void json_text(Json *j, Str **text, const char *what)
{
    j->text = text;
    (*text)->len = 0;
    (*text)->text[0] = '\0';
    json_walk_text(&j->walk, what);
}

static Value plain_value(Json *j)
{
    const Value values[] = { v_bool(true), v_bool(false), v_none() };
    int word = json_walk_word(&j->walk);
    int64_t start = j->walk.at, v;
    if (word >= 0)
        return values[word];
    bool fits = json_walk_number(&j->walk, &v), whole = true;
    for (int64_t at = start; at < j->walk.at; at++)
        whole &= !memchr(".eE", j->walk.data[at], 3);
    if (!fits)
        bytes_error(j->b, start, NULL, whole ? "a number is too large"
                                             : "not a value that is read here");
    return v_int(v);
}

static Value value_at(Json *j, int depth);

/* An array, or an object, whose keys are the names. */
static Value items(Json *j, char close, int depth)
{
    Interp *in = j->b->call->in;
    Str **key = file_text(j->b->call);
    Value *slot = in->sp;
    v_push(in, v_tuple(tuple_new(&in->ctx, 0)));
    if (depth == 2 * JSON_DEPTH_MAX)
        bytes_error(j->b, j->walk.at, NULL, "nested more than %d levels deep",
                    2 * JSON_DEPTH_MAX);
    j->walk.at++;
    if (json_walk_peek(&j->walk) == close) {
        j->walk.at++;
        return v_retain(*slot);
    }
    do {
        const Name *name = NULL;
        if (close == '}') {
            int64_t at = j->walk.at;
            json_text(j, key, "a key");
            name = names_intern(&in->names, (*key)->text, (*key)->len);
            if (tuple_find(slot->tuple, name) >= 0)
                bytes_error(j->b, at, NULL, "a key stands twice");
            json_walk_want(&j->walk, ':', "after a key");
        }
        poll_interrupt(in);
        v_push(in, value_at(j, depth + 1));
        tuple_push(&in->ctx, &slot->tuple, name, v_retain(in->sp[-1]));
        stack_cut(in, in->sp - 1);
    } while (json_walk_more(&j->walk, close));
    return v_retain(*slot);
}

static Value value_at(Json *j, int depth)
{
    Interp *in = j->b->call->in;
    Value *mark = in->sp, r;
    char open = json_walk_peek(&j->walk);
    if (++j->values > VALUES_MAX)
        bytes_error(j->b, j->walk.at, NULL, "more than %d values", VALUES_MAX);
    stack_check(in);
    stack_room(in, 64);
    if (open == '"') {
        Str **text = file_text(j->b->call);
        json_text(j, text, "a value");
        r = v_str(str_new(&in->ctx, (*text)->text, (*text)->len));
    } else if (open == '{' || open == '[') {
        r = items(j, open == '{' ? '}' : ']', depth);
    } else {
        r = plain_value(j);
    }
    stack_cut(in, mark);
    return r;
}

Value json_value(Json *j)
{
    return value_at(j, 0);
}

void json_write_text(OpCall *c, Str **out, const char *text, size_t len)
{
    Ctx *ctx = &c->in->ctx;
    ErrFrame frame;
    Buf quoted;
    buf_init(&quoted, ctx);
    if (!ERR_TRY(ctx, &frame)) {
        buf_free(&quoted);
        err_rethrow(ctx);
    }
    json_put_quoted(&quoted, text, len);
    str_append(ctx, out, quoted.data, quoted.len);
    ERR_END(ctx, &frame);
    buf_free(&quoted);
}
