/* core/json: what RFC 8259 calls JSON and nothing else, limits, texts, what the writer makes of
 * everything and reads back; random bytes, and random changes of good ones, never do harm. */
#include "core/json/json_tree.h"
#include "tests/unit/check.h"

static Ctx ctx_storage, *ctx = &ctx_storage;
static Arena arena;

/* NULL where it is refused; then the byte that the error names. */
static JsonValue *parse_bytes(const char *text, size_t n, JsonLimits limits, long *at)
{
    ErrFrame frame;
    arena_free(&arena);
    arena_init(&arena, ctx);
    if (ERR_TRY(ctx, &frame)) {
        JsonValue *v = json_read(ctx, &arena, text, n, limits);
        ERR_END(ctx, &frame);
        return v;
    }
    if (at)
        CHECK(sscanf(ctx->error->message, "byte %ld:", at) == 1);
    CHECK(ctx->error->kind == ERR_VALUE);
    err_free(ctx->error);
    ctx->error = NULL;
    return NULL;
}

static JsonValue *parse(const char *text)
{
    return parse_bytes(text, strlen(text), json_limits, NULL);
}

/* Is it refused, with this byte? */
static bool refused(const char *text, long where)
{
    long at = -1;
    bool good = !parse_bytes(text, strlen(text), json_limits, &at) && at == where;
    if (!good)
        fprintf(stderr, "%s: byte %ld\n", text, at);
    return good;
}

static void values(void)
{
    JsonValue *v = parse(" { \"a\" : [1, -2.5e1, true, false, null, \"x\"], \"b\": {} } \n");
    const JsonValue *a = json_get(v, "a"), *e = a ? a->first : NULL;
    if (!CHECK(v && a && a->kind == JSON_LIST && a->len == 6))
        return;
    CHECK(e->kind == JSON_INT && e->i == 1 && e->number == 1);
    e = e->next;
    CHECK(e->kind == JSON_NUMBER && e->number == -25);
    e = e->next;
    CHECK(e->kind == JSON_BOOL && e->truth && json_truth(e, false));
    CHECK(e->next->kind == JSON_BOOL && !e->next->truth);
    CHECK(e->next->next->kind == JSON_NULL);
    CHECK(strcmp(json_string(e->next->next->next, ""), "x") == 0);
    CHECK(json_get(v, "b")->kind == JSON_OBJECT && json_get(v, "b")->len == 0);
    CHECK(!json_get(v, "c") && !json_get(NULL, "c") && !json_get(a, "c"));
    CHECK(a->from == 9 && a->to == 44);
    CHECK(parse("9223372036854775807")->i == INT64_MAX);
    CHECK(parse("-9223372036854775808")->i == INT64_MIN);
    CHECK(parse("9223372036854775808")->kind == JSON_NUMBER);
    CHECK(parse("1e400")->number == INFINITY);
    CHECK(json_int(json_get(parse("{\"k\":1,\"k\":2}"), "k"), 0) == 2);
}

static void texts(void)
{
    JsonValue *v = parse("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\u20ac\\ud83d\\ude00é\"");
    CHECK(v && strcmp(v->text, "\"\\/\b\f\n\r\té€😀é") == 0 && v->len == strlen(v->text));
    CHECK(parse("\"\"")->len == 0);
    CHECK(refused("\"\\u0000\"", 3));                    /* no text has one */
    CHECK(refused("\"\\ud800\"", 3));                    /* half of a pair */
    CHECK(refused("\"\\ud800\\u0041\"", 3));
    CHECK(refused("\"\\udc00\"", 3));
    JsonLimits replacing = json_limits;
    replacing.replaces = true;
    const char *none = "\"a\\u0000b\\ud800\"";
    v = parse_bytes(none, strlen(none), replacing, NULL);
    CHECK(v && strcmp(v->text, "a\uFFFDb\uFFFD") == 0);
    CHECK(refused("\"\\u12g4\"", 5));
    CHECK(refused("\"\\x\"", 2));
    CHECK(refused("\"a\nb\"", 2));
    CHECK(refused("\"\xff\"", 1));
    CHECK(refused("\"\xed\xa0\x80\"", 1));               /* a surrogate in UTF-8 */
    CHECK(refused("\"open", 0));
    CHECK(refused("\"open\\", 6));
}

static void grammar(void)
{
    static const struct { const char *text; long at; } wrong[] = {
        { "", 0 }, { "  ", 2 }, { "[1,]", 3 }, { "[,1]", 1 }, { "[1 2]", 3 }, { "[1", 2 },
        { "{\"a\"}", 4 }, { "{\"a\":}", 5 }, { "{\"a\":1,}", 7 }, { "{a:1}", 1 }, { "{1:1}", 1 },
        { "01", 0 }, { "-", 1 }, { "-01", 1 }, { "1.", 2 }, { ".5", 0 }, { "1e", 2 }, { "1e+", 3 },
        { "+1", 0 }, { "0x10", 1 }, { "NaN", 0 }, { "Infinity", 0 }, { "tru", 0 }, { "nulL", 0 },
        { "1 1", 2 }, { "[]]", 2 }, { "{]", 1 }, { "[}", 1 }, { "'a'", 0 }, { "// no\n1", 0 },
        { "\xef\xbb\xbf" "1", 0 },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(refused(wrong[i].text, wrong[i].at));
    CHECK(!parse_bytes("1\0", 2, json_limits, NULL));
    CHECK(!parse_bytes("\"a\0b\"", 5, json_limits, NULL));
    CHECK(parse_bytes("12", 1, json_limits, NULL)->i == 1);
}

static void limits(void)
{
    char deep[2 * 101];
    for (int i = 0; i < 101; i++)
        deep[i] = '[', deep[201 - i] = ']';
    CHECK(!parse_bytes(deep, 202, json_limits, NULL));
    CHECK(parse_bytes(deep + 1, 200, json_limits, NULL));
    CHECK(parse_bytes("[1,2]", 5, (JsonLimits){ 1, 3 }, NULL));
    CHECK(!parse_bytes("[1,2,3]", 7, (JsonLimits){ 1, 3 }, NULL));
    CHECK(!parse_bytes("[[]]", 4, (JsonLimits){ 1, 3 }, NULL));
}

static void writing(void)
{
    Buf out;
    JsonWriter w = { &out, false };
    buf_init(&out, ctx);
    json_open(&w, '{');
    json_pair(&w, "a", "x\"\\\n\t\x01é");
    json_key(&w, "b");
    json_open(&w, '[');
    json_put_int(&w, INT64_MIN);
    json_put_number(&w, 0.1);
    json_put_number(&w, NAN);
    json_put_bool(&w, true);
    json_open(&w, '[');
    json_close(&w, ']');
    json_put_raw(&w, "{}", 2);
    json_put_null(&w);
    json_close(&w, ']');
    json_close(&w, '}');
    CHECK(strcmp(out.data, "{\"a\":\"x\\\"\\\\\\n\\u0009\\u0001é\",\"b\":[-9223372036854775808,"
                           "0.10000000000000001,null,true,[],{},null]}") == 0);
    CHECK(strcmp(json_string(json_get(parse(out.data), "a"), ""), "x\"\\\n\t\x01é") == 0);
    buf_clear(&out);
    json_put_quoted(&out, "a\xff\xe2\x82z\0\xed\xa0\x80", 9);
    CHECK(strcmp(out.data, "\"a\uFFFD\uFFFD\uFFFDz\\u0000\uFFFD\uFFFD\uFFFD\"") == 0);
    buf_free(&out);
}

/* Whatever is read is written and read again to the same; the sanitizers look on. */
static void hostile(void)
{
    static const char seed[] = "{\"a\":[1,2.5e-3,\"\\u00e9\\ud83d\\ude00\"],\"b\":{\"c\":null}}";
    char text[sizeof seed];
    int good = 0;
    for (int round = 0; round < 20000; round++) {
        memcpy(text, seed, sizeof seed);
        for (int k = (int)(check_random() % 4); k >= 0; k--)
            text[check_random() % (sizeof seed - 1)] =
                check_random() % 2 ? (char)check_random() : "{}[]\",:\\u0e-"[check_random() % 12];
        good += parse_bytes(text, check_random() % sizeof seed, json_limits, NULL) != NULL;
        for (size_t i = 0; i < 40; i++)
            text[i] = (char)check_random();
        good += parse_bytes(text, 40, json_limits, NULL) != NULL;
    }
    CHECK(good < 20000);
}

int main(void)
{
    mem_init(ctx);
    arena_init(&arena, ctx);
    values();
    texts();
    grammar();
    limits();
    writing();
    hostile();
    arena_free(&arena);
    CHECK(ctx->mem.live == 0);
    return check_result();
}
