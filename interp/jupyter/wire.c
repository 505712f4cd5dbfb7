/* Messages on sockets: see wire.h. */
#include "interp/jupyter/wire.h"

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/plain.h"
#include "core/digest/sha256.h"
#include "core/system/c_locale.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum { FRAMES_MAX = 64, MESSAGE_MAX = 256 << 20, HEX = 2 * SHA256_BYTES };
static const char delimiter[] = "<IDS|MSG>";

void wire_complain(const char *fmt, ...)
{
    char text[400];
    va_list args;
    va_start(args, fmt);
    c_vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    fprintf(stderr, "ricci jupyter: %s\n", plain_line(text));
}

void wire_uuid(char out[WIRE_UUID])
{
    uint8_t b[16];
    if (getrandom(b, sizeof b, 0) != sizeof b)
        for (size_t i = 0; i < sizeof b; i++)
            b[i] = (uint8_t)((uint64_t)clock() >> i);
    b[6] = (uint8_t)(0x40 | (b[6] & 15));
    b[8] = (uint8_t)(0x80 | (b[8] & 63));
    for (int i = 0, at = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            out[at++] = '-';
        out[at++] = "0123456789abcdef"[b[i] >> 4];
        out[at++] = "0123456789abcdef"[b[i] & 15];
    }
    out[WIRE_UUID - 1] = '\0';
}

void wire_init(Wire *w, Ctx *ctx, const Zmq *zmq, const char *key, const char *session)
{
    *w = (Wire){ .ctx = ctx, .zmq = zmq, .key = key, .session = session };
    buf_init(&w->header, ctx);
    buf_init(&w->parts, ctx);
}

void wire_free(Wire *w)
{
    buf_free(&w->header);
    buf_free(&w->parts);
}

/* ---- receiving ---- */
void message_free(Message *m)
{
    arena_free(&m->arena);
}

int wire_frames(Wire *w, void *socket, Arena *arena, Frame **frames)
{
    ZmqMessage part;
    int count = 0;
    size_t bytes = 0;
    bool more = true;
    *frames = arena_alloc(arena, FRAMES_MAX * sizeof **frames);
    for (int flags = ZMQ_DONTWAIT; more; flags = 0) {
        w->zmq->msg_init(&part);
        if (w->zmq->msg_receive(&part, socket, flags) < 0) {
            w->zmq->msg_close(&part);
            if (count > 0 && w->zmq->error() == EINTR)
                continue;
            return count > 0 ? -1 : 0;
        }
        size_t n = w->zmq->msg_size(&part);
        more = w->zmq->msg_more(&part);
        if ((bytes += n) <= MESSAGE_MAX && count < FRAMES_MAX)
            (*frames)[count] = (Frame){ arena_copy(arena, w->zmq->msg_data(&part), n), n };
        count++;
        w->zmq->msg_close(&part);
    }
    return bytes > MESSAGE_MAX || count > FRAMES_MAX ? -1 : count;
}

static void sign(const Wire *w, const Frame four[4], char hex[HEX + 1])
{
    Hmac h;
    uint8_t code[SHA256_BYTES];
    hex[0] = '\0';
    if (!w->key[0])
        return;
    hmac_begin(&h, w->key, strlen(w->key));
    for (int i = 0; i < 4; i++)
        hmac_add(&h, four[i].data, four[i].n);
    hmac_end(&h, code);
    sha256_hex(code, hex);
}

/* Takes as long whatever the first difference is. */
static bool same_signature(const char *hex, Frame given)
{
    unsigned char differ = 0;
    if (given.n != HEX)
        return false;
    for (size_t i = 0; i < HEX; i++)
        differ |= (unsigned char)(hex[i] ^ given.data[i]);
    return differ == 0;
}

/* A cell with a NUL or half of a pair is answered as one with a character that no program has. */
static JsonValue *read_object(Wire *w, Message *m, Frame f, const char *what)
{
    JsonLimits limits = json_limits;
    limits.replaces = true;
    JsonValue *v = json_read(w->ctx, &m->arena, f.data, f.n, limits);
    if (v->kind != JSON_OBJECT)
        err_raise(w->ctx, ERR_VALUE, "its %s is no object", what);
    return v;
}

/* Raises what is wrong with it. */
static void read_frames(Wire *w, Message *m, const Frame *f, int count)
{
    char hex[HEX + 1];
    while (m->name_count < count && (f[m->name_count].n != sizeof delimiter - 1 ||
                                     memcmp(f[m->name_count].data, delimiter,
                                            sizeof delimiter - 1) != 0))
        m->name_count++;
    if (count - m->name_count < 6)
        err_raise(w->ctx, ERR_VALUE, "it has %s", m->name_count == count ? "no delimiter"
                                                                         : "too few parts");
    const Frame *rest = f + m->name_count + 1;
    sign(w, rest + 1, hex);
    if (w->key[0] && !same_signature(hex, rest[0]))
        err_raise(w->ctx, ERR_VALUE, "its signature is not that of the connection's key");
    m->names = arena_alloc(&m->arena, ((size_t)m->name_count + 1) * sizeof *m->names);
    for (int i = 0; i < m->name_count; i++)
        m->names[i] = (Frame){ arena_copy(&m->arena, f[i].data, f[i].n), f[i].n };
    m->header = (Frame){ arena_copy(&m->arena, rest[1].data, rest[1].n), rest[1].n };
    const JsonValue *header = read_object(w, m, m->header, "header");
    read_object(w, m, rest[2], "parent_header");
    read_object(w, m, rest[3], "metadata");
    m->content = read_object(w, m, rest[4], "content");
    m->type = json_string(json_get(header, "msg_type"), NULL);
    m->id = json_string(json_get(header, "msg_id"), NULL);
    if (!m->type || !m->id)
        err_raise(w->ctx, ERR_VALUE, "its header has no msg_type or no msg_id");
}

WireStatus wire_read(Wire *w, const Frame *f, int count, const char *channel, Message *m)
{
    ErrFrame frame;
    *m = (Message){ 0 };
    arena_init(&m->arena, w->ctx);
    if (ERR_TRY(w->ctx, &frame)) {
        read_frames(w, m, f, count);
        ERR_END(w->ctx, &frame);
        return WIRE_GOOD;
    }
    wire_complain("a message on %s was dropped: %s", channel, w->ctx->error->message);
    err_free(w->ctx->error);
    w->ctx->error = NULL;
    arena_free(&m->arena);
    return WIRE_DROPPED;
}

WireStatus wire_receive(Wire *w, void *socket, const char *channel, Message *m)
{
    ErrFrame frame;
    Arena arena;
    Frame *frames;
    volatile WireStatus status = WIRE_DROPPED;
    arena_init(&arena, w->ctx);
    if (ERR_TRY(w->ctx, &frame)) {
        int count = wire_frames(w, socket, &arena, &frames);
        if (count > 0)
            status = wire_read(w, frames, count, channel, m);
        else if (count == 0)
            status = WIRE_NOTHING;
        else
            wire_complain("a message on %s was dropped: it is too long", channel);
        ERR_END(w->ctx, &frame);
    } else {
        wire_complain("a message on %s was dropped: %s", channel, w->ctx->error->message);
        err_free(w->ctx->error);
        w->ctx->error = NULL;
    }
    arena_free(&arena);
    return status;
}

/* ---- sending ---- */
static void put_header(Wire *w, const char *type)
{
    char id[WIRE_UUID], date[128];
    struct timespec now;
    struct tm utc;
    JsonWriter j = { &w->header, false };
    wire_uuid(id);
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    snprintf(date, sizeof date, "%04d-%02d-%02dT%02d:%02d:%02d.%06ldZ", utc.tm_year + 1900,
             utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
             now.tv_nsec / 1000);
    buf_clear(&w->header);
    json_open(&j, '{');
    json_pair(&j, "msg_id", id);
    json_pair(&j, "msg_type", type);
    json_pair(&j, "session", w->session);
    json_pair(&j, "username", "ricci");
    json_pair(&j, "date", date);
    json_pair(&j, "version", JUPYTER_PROTOCOL);
    json_close(&j, '}');
}

/* A signal may come between the parts of a message: they go on. */
static bool send_part(const Wire *w, void *socket, Frame f, int flags)
{
    while (w->zmq->send(socket, f.n ? f.data : "", f.n, flags) < 0)
        if (w->zmq->error() != EINTR)
            return false;
    return true;
}

bool wire_send(Wire *w, void *socket, const Frame *names, int name_count, const char *type,
               Frame parent, Frame metadata, Frame content)
{
    char hex[HEX + 1];
    put_header(w, type);
    const Frame empty = { "{}", 2 };
    const Frame four[4] = { { w->header.data, w->header.len }, parent.n ? parent : empty,
                            metadata.n ? metadata : empty, content.n ? content : empty };
    sign(w, four, hex);
    bool ok = true;
    for (int i = 0; i < name_count; i++)
        ok = ok && send_part(w, socket, names[i], ZMQ_SNDMORE);
    ok = ok && send_part(w, socket, (Frame){ delimiter, sizeof delimiter - 1 }, ZMQ_SNDMORE) &&
         send_part(w, socket, (Frame){ hex, strlen(hex) }, ZMQ_SNDMORE);
    for (int i = 0; i < 4; i++)
        ok = ok && send_part(w, socket, four[i], i < 3 ? ZMQ_SNDMORE : 0);
    return ok;
}
