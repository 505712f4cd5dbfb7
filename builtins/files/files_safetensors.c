/* The .safetensors format: eight bytes of header length, a JSON object that names dtype,
 * shape and place of every tensor, then their bytes. The header is read twice: first all
 * places are checked (inside the file, no overlap, no gap), then tensors are made. It loads
 * as a named tuple; __metadata__ is checked and left out. */
#include "builtins/files/files_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_MAX = 100 << 20, LENGTH_BYTES = 8, ALIGN = 64 };

/* What the format has and Ricci cannot hold so far. */
static const char *const unbuilt[] = {
    "F8_E8M0", "F6_E2M3", "F6_E3M2", "F4"
};

/* ---- reading ---- */

typedef struct Entry {
    Stored stored;
    int rank;
    int64_t shape[TENSOR_RANK_MAX];
    int64_t from, to;              /* bytes of the data */
    int64_t at;                    /* of its name, in the file */
    unsigned seen;                 /* 1 dtype, 2 shape, 4 data_offsets */
} Entry;

typedef struct Reader {
    Json json;
    int64_t data, data_bytes;
    Str **name, **text;            /* scratch */
    Str **spans;                   /* first reading: a Span64 of each tensor */
    Tuple **into;                  /* second reading */
} Reader;

typedef struct Span64 { int64_t from, to, at; } Span64;

static void read_dtype(Reader *r, Entry *e)
{
    json_walk_peek(&r->json.walk);
    int64_t at = r->json.walk.at;
    json_text(&r->json, r->text, "dtype");
    const char *name = (*r->text)->text;
    if (stored_named(name, &e->stored))
        return;
    for (size_t i = 0; i < sizeof unbuilt / sizeof *unbuilt; i++)
        if (strcmp(unbuilt[i], name) == 0)
            bytes_error(r->json.b, at, NULL, "tensor %.100s has dtype %s, which is not built yet",
                        (*r->name)->text, name);
    bytes_error(r->json.b, at, NULL,
                "tensor %.100s has dtype \"%.40s\", which the format does not have",
                (*r->name)->text, name);
}

static void read_shape(Reader *r, Entry *e)
{
    json_walk_want(&r->json.walk, '[', "where a shape begins");
    if (json_walk_peek(&r->json.walk) == ']') {
        r->json.walk.at++;
        return;
    }
    do {
        if (e->rank == TENSOR_RANK_MAX)
            bytes_error(r->json.b, r->json.walk.at, NULL,
                        "tensor %.100s has more than the %d axes that a tensor may have",
                        (*r->name)->text, TENSOR_RANK_MAX);
        e->shape[e->rank++] = json_walk_count(&r->json.walk, "an axis");
    } while (json_walk_more(&r->json.walk, ']'));
}

static void read_offsets(Reader *r, Entry *e)
{
    json_walk_want(&r->json.walk, '[', "where data_offsets begin");
    e->from = json_walk_count(&r->json.walk, "an offset");
    json_walk_want(&r->json.walk, ',', "between the two data_offsets");
    e->to = json_walk_count(&r->json.walk, "an offset");
    json_walk_want(&r->json.walk, ']', "after two data_offsets");
}

static void read_fact(Reader *r, Entry *e)
{
    json_walk_peek(&r->json.walk);
    int64_t at = r->json.walk.at;
    json_text(&r->json, r->text, "a key");
    const char *key = (*r->text)->text;
    unsigned bit = strcmp(key, "dtype") == 0 ? 1 : strcmp(key, "shape") == 0 ? 2
                 : strcmp(key, "data_offsets") == 0 ? 4 : 0;
    if (e->seen & bit)
        bytes_error(r->json.b, at, NULL, "tensor %.100s has its %s twice", (*r->name)->text, key);
    e->seen |= bit;
    json_walk_want(&r->json.walk, ':', "after a key");
    if (bit == 1)
        read_dtype(r, e);
    else if (bit == 2)
        read_shape(r, e);
    else if (bit == 4)
        read_offsets(r, e);
    else
        json_walk_skip(&r->json.walk);
}

static void check_entry(Reader *r, const Entry *e)
{
    static const char *const facts[] = { "dtype", "shape", "data_offsets" };
    const Bytes *b = r->json.b;
    const char *name = (*r->name)->text;
    int64_t count, bytes;
    char shape[256];
    for (unsigned i = 0; i < 3; i++)
        if (!(e->seen >> i & 1))
            bytes_error(b, e->at, NULL, "tensor %.100s has no %s", name, facts[i]);
    shape_text(shape, sizeof shape, e->rank, e->shape);
    if (!stored_size(e->stored, e->rank, e->shape, &count, &bytes))
        bytes_error(b, e->at, NULL,
                    "tensor %.100s of shape %s has more elements than can be counted", name, shape);
    if (e->from > e->to || e->to > r->data_bytes)
        bytes_error(b, e->at, NULL,
                    "tensor %.100s lies at data bytes %lld to %lld, the file has %lld", name,
                    (long long)e->from, (long long)e->to, (long long)r->data_bytes);
    if (e->to - e->from != bytes)
        bytes_error(b, e->at, NULL,
                    "tensor %.100s of shape %s needs %lld bytes, its data_offsets give it %lld",
                    name, shape, (long long)bytes, (long long)(e->to - e->from));
}

static void take_entry(Reader *r, const Entry *e)
{
    OpCall *c = r->json.b->call;
    Ctx *ctx = &c->in->ctx;
    if (!r->into) {
        Span64 span = { e->from, e->to, e->at };
        str_append(ctx, r->spans, (const char *)&span, sizeof span);
        return;
    }
    const Name *name = names_intern(&c->in->names, (*r->name)->text, (*r->name)->len);
    if (tuple_find(*r->into, name) >= 0)
        bytes_error(r->json.b, e->at, NULL, "two tensors are called %.100s", (*r->name)->text);
    Value *mark = c->in->sp;
    Tensor *t = stored_tensor(r->json.b, e->stored, r->data + e->from, e->rank, e->shape, false);
    tuple_push(ctx, r->into, name, v_tensor(ctx, tensor_retain(t)));
    stack_cut(c->in, mark);
}

static void read_entry(Reader *r)
{
    Entry e = { 0 };
    json_walk_peek(&r->json.walk);
    e.at = r->json.walk.at;
    json_text(&r->json, r->name, "the name of a tensor");
    json_walk_want(&r->json.walk, ':', "after a name");
    if (strcmp((*r->name)->text, "__metadata__") == 0) {
        json_walk_skip(&r->json.walk);
        return;
    }
    json_walk_want(&r->json.walk, '{', "after the name of a tensor");
    if (json_walk_peek(&r->json.walk) == '}') {
        r->json.walk.at++;
    } else {
        do
            read_fact(r, &e);
        while (json_walk_more(&r->json.walk, '}'));
    }
    check_entry(r, &e);
    take_entry(r, &e);
}

static void read_header(Reader *r)
{
    json_walk_want(&r->json.walk, '{', "at its start");
    if (json_walk_peek(&r->json.walk) == '}') {
        r->json.walk.at++;
    } else {
        do {
            read_entry(r);
            poll_interrupt(r->json.b->call->in);
        } while (json_walk_more(&r->json.walk, '}'));
    }
    if (json_walk_peek(&r->json.walk) != '\0' || r->json.walk.at < r->json.walk.end)
        bytes_error(r->json.b, r->json.walk.at, NULL, "the header goes on after its object");
}

static int span_order(const void *a, const void *b)
{
    const Span64 *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

/* The tensors tile the data: each begins where the one before it ends. */
static void check_spans(Reader *r)
{
    const Bytes *b = r->json.b;
    Span64 *s = (Span64 *)(*r->spans)->text;
    size_t n = (*r->spans)->len / sizeof *s;
    int64_t end = 0;
    qsort(s, n, sizeof *s, span_order);
    for (size_t i = 0; i < n; i++) {
        if (s[i].from != end)
            bytes_error(
                b, s[i].at, NULL,
                "a tensor lies at data bytes %lld to %lld, the one before it ends at %lld: %s",
                (long long)s[i].from, (long long)s[i].to, (long long)end,
                s[i].from < end ? "they overlap" : "there is a gap");
        end = s[i].to;
    }
    if (end != r->data_bytes)
        bytes_error(b, r->data + end, NULL, "%lld bytes of data belong to no tensor",
                    (long long)(r->data_bytes - end));
}

/* Finds the header's ends, checked against the file. */
static void find_header(Reader *r)
{
    const Bytes *b = r->json.b;
    uint64_t length = 0;
    if (b->size < LENGTH_BYTES + 2)
        bytes_error(b, b->size, NULL, "the file ends before a header");
    memcpy(&length, b->data, sizeof length);
    if (length > (uint64_t)(b->size - LENGTH_BYTES) || length > HEADER_MAX)
        bytes_error(b, 0, NULL,
                    "the header claims %llu bytes, the file has %lld after its length%s",
                    (unsigned long long)length, (long long)(b->size - LENGTH_BYTES),
                    length > HEADER_MAX ? " and 100 MB is the most a header may have" : "");
    r->data = LENGTH_BYTES + (int64_t)length;
    json_start(&r->json, b, LENGTH_BYTES, r->data);
    r->data_bytes = b->size - r->data;
}

Value safetensors_load(OpCall *c, const char *path)
{
    Bytes b = file_bytes(c, path);
    Reader r = { .json = { .b = &b } };
    r.name = file_text(c);
    r.text = file_text(c);
    r.spans = file_text(c);
    find_header(&r);
    read_header(&r);
    check_spans(&r);
    json_start(&r.json, &b, LENGTH_BYTES, r.data);
    r.into = &c->in->sp->tuple;
    v_push(c->in, v_tuple(tuple_new(&c->in->ctx, 0)));
    read_header(&r);
    return v_retain(v_tuple(*r.into));
}

/* ---- writing ---- */

typedef struct Piece {
    Tensor *own, *raw;             /* the field, and the bytes to be written */
    int64_t bytes, at;             /* at: where its data start, from the first of all */
    Stored stored;
    uint32_t field;
} Piece;

static int field_order(const void *a, const void *b)
{
    const Piece *x = a, *y = b;
    return (x->field > y->field) - (x->field < y->field);
}

/* Data of wide elements first, so that all stay aligned. */
static int data_order(const void *a, const void *b)
{
    const Piece *x = a, *y = b;
    return x->stored.bytes != y->stored.bytes ? y->stored.bytes - x->stored.bytes
                                              : field_order(a, b);
}

/* The data of field i as it is to be written; its tensors are held by the tuple. */
static Piece make_piece(OpCall *c, const Tuple *t, uint32_t i, const char *as, Tuple **held)
{
    Interp *in = c->in;
    char what[128];
    Value x = t->items[i];
    snprintf(what, sizeof what, "field %.100s", t->names[i]->text);
    if (!v_is_numeric(x) && x.tag != V_RANGE)
        err_raise_help(&in->ctx, ERR_TYPE, "save numbers and tensors; write() saves text",
                       "%s is of type %s, and .safetensors files hold tensors", what,
                       v_type_name(x));
    Value *mark = in->sp;
    bool fortran = false;
    Piece p = { .field = i };
    p.own = op_keep(c, v_to_tensor(in, x, 1));
    p.raw = stored_raw(c, p.own, as, what, &p.stored, &fortran);
    if (!stored_name(p.stored))
        err_raise_help(&in->ctx, ERR_DTYPE, "save real(x) and imag(x), or c64(x), or use .npz",
                       "the .safetensors format has no c128, and %s is c128", what);
    p.bytes = p.own->size * p.stored.bytes;
    tuple_push(&in->ctx, held, NULL, v_tensor_raw(tensor_retain(p.own)));
    tuple_push(&in->ctx, held, NULL, v_tensor_raw(tensor_retain(p.raw)));
    stack_cut(in, mark);
    return p;
}

static void check_fields(OpCall *c, Value x)
{
    const char *help = "name every tensor: save(\"x.safetensors\", (weights=…, bias=…))";
    char text[128];
    if (x.tag != V_TUPLE || (x.tuple->count > 0 && !x.tuple->names))
        err_raise_help(&c->in->ctx, ERR_TYPE, help,
                       ".safetensors files hold a named tuple of tensors, this is %s",
                       x.tag == V_TUPLE ? "a tuple without names"
                                        : v_describe_a(x, text, sizeof text));
    for (uint32_t i = 0; i < x.tuple->count; i++) {
        const Name *name = x.tuple->names[i];
        if (!name)
            err_raise_help(&c->in->ctx, ERR_TYPE, help, "item %u of the tuple has no name", i);
        if (tuple_find(x.tuple, name) != (int64_t)i || strcmp(name->text, "__metadata__") == 0)
            err_raise(&c->in->ctx, ERR_VALUE, "a tensor cannot be called %s%s", name->text,
                      tuple_find(x.tuple, name) != (int64_t)i ? ": another one is"
                                                              : " in this format");
    }
}

/* In the order of the fields; padded with blanks so that the data start at a multiple of
 * 64 bytes. */
static void put_header(OpCall *c, Str **head, const Tuple *t, const Piece *p)
{
    uint64_t length;
    str_append(&c->in->ctx, head, "\0\0\0\0\0\0\0\0{", LENGTH_BYTES + 1);
    for (uint32_t i = 0; i < t->count; i++, p++) {
        json_write_text(c, head, t->names[i]->text, t->names[i]->len);
        file_put(c, head, ":{\"dtype\":\"%s\",\"shape\":[", stored_name(p->stored));
        for (int k = 0; k < p->own->rank; k++)
            file_put(c, head, "%s%lld", k ? "," : "", (long long)tensor_shape(p->own)[k]);
        file_put(c, head, "],\"data_offsets\":[%lld,%lld]}%s", (long long)p->at,
                 (long long)(p->at + p->bytes), i + 1 < t->count ? "," : "");
    }
    str_append(&c->in->ctx, head, "}", 1);
    while ((*head)->len % ALIGN)
        str_append(&c->in->ctx, head, " ", 1);
    length = (*head)->len - LENGTH_BYTES;
    memcpy((*head)->text, &length, sizeof length);
}

/* Places the data, and lists it behind room for the header. */
static void place_pieces(OpCall *c, Piece *p, uint32_t count, Str **list)
{
    int64_t at = 0;
    qsort(p, count, sizeof *p, data_order);
    str_append(&c->in->ctx, list, (const char *)&(FilePart){ 0 }, sizeof(FilePart));
    for (uint32_t i = 0; i < count; i++) {
        FilePart part = { p[i].raw->data, (size_t)p[i].bytes };
        str_append(&c->in->ctx, list, (const char *)&part, sizeof part);
        p[i].at = at;
        at += p[i].bytes;
    }
    qsort(p, count, sizeof *p, field_order);
}

void safetensors_save(OpCall *c, const char *path, Value x, const char *as)
{
    Interp *in = c->in;
    check_fields(c, x);
    uint32_t count = x.tuple->count;
    Str **pieces = file_text(c), **head = file_text(c), **list = file_text(c);
    Tuple **held = &in->sp->tuple;
    v_push(in, v_tuple(tuple_new(&in->ctx, 0)));
    for (uint32_t i = 0; i < count; i++) {
        Piece p = make_piece(c, x.tuple, i, as, held);
        str_append(&in->ctx, pieces, (const char *)&p, sizeof p);
    }
    Piece *p = (Piece *)(*pieces)->text;
    place_pieces(c, p, count, list);
    put_header(c, head, x.tuple, p);
    FilePart *parts = (FilePart *)(*list)->text;
    parts[0] = (FilePart){ (*head)->text, (*head)->len };
    file_replace(c, path, parts, count + 1);
}
