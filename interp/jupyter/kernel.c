/* The kernel's life: the connection file, the sockets, and the loop of the interpreter's thread,
 * which answers one request after the other. */
#include "interp/jupyter/kernel.h"

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/system/c_locale.h"
#include "interp/jupyter/jupyter.h"
#include "interp/session/repl_signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef RICCI_VERSION
#define RICCI_VERSION "0.1.0"
#endif

/* ---- the connection file ---- */
static char *text_of(Kernel *k, const JsonValue *v, const char *key, const char *other)
{
    const char *text = json_string(json_get(v, key), other);
    return text ? mem_strdup(&k->in->ctx, text) : NULL;
}

static int64_t port_of(Kernel *k, const JsonValue *v, const char *key, const char *path)
{
    int64_t port = json_int(json_get(v, key), -1);
    if (port < 1 || port > 65535)
        err_raise(&k->in->ctx, ERR_IO, "%s: %s is no port", path, key);
    return port;
}

static void read_connection(Kernel *k, const JsonValue *v, const char *path)
{
    Connection *c = &k->connection;
    const char *scheme = json_string(json_get(v, "signature_scheme"), "hmac-sha256");
    c->transport = text_of(k, v, "transport", "tcp");
    c->ip = text_of(k, v, "ip", "127.0.0.1");
    c->key = text_of(k, v, "key", "");
    c->curve = text_of(k, v, "curve_secretkey", NULL);
    c->shell = port_of(k, v, "shell_port", path);
    c->iopub = port_of(k, v, "iopub_port", path);
    c->control = port_of(k, v, "control_port", path);
    c->stdin_port = port_of(k, v, "stdin_port", path);
    c->heartbeat = port_of(k, v, "hb_port", path);
    if (strcmp(scheme, "hmac-sha256") != 0 && c->key[0])
        err_raise(&k->in->ctx, ERR_IO, "%s: messages are signed by %s, and hmac-sha256 is known",
                  path, scheme);
    if (strcmp(c->transport, "tcp") != 0 && strcmp(c->transport, "ipc") != 0)
        err_raise(&k->in->ctx, ERR_IO, "%s: the transport %s is neither tcp nor ipc", path,
                  c->transport);
}

static void load_connection(Kernel *k, const char *path)
{
    Ctx *ctx = &k->in->ctx;
    Source *file = source_read(ctx, path);
    ErrFrame frame;
    Arena arena;
    arena_init(&arena, ctx);
    if (!ERR_TRY(ctx, &frame)) {
        arena_free(&arena);
        source_release(file);
        err_rethrow(ctx);
    }
    const JsonValue *v = json_read(ctx, &arena, file->text, file->len, json_limits);
    read_connection(k, v, path);
    ERR_END(ctx, &frame);
    arena_free(&arena);
    source_release(file);
}

static void free_connection(Kernel *k)
{
    char *const texts[] = { k->connection.transport, k->connection.ip, k->connection.key,
                            k->connection.curve };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i])
            mem_free(&k->in->ctx, texts[i], strlen(texts[i]) + 1);
}

/* ---- sockets ---- */
enum { LINGER_MS = 1000, MESSAGE_BYTES = 256 << 20, PUBLISHED_MOST = 4000 };

static void *open_socket(Kernel *k, int type, int64_t port)
{
    Ctx *ctx = &k->in->ctx;
    const Connection *c = &k->connection;
    char address[512];
    const int linger = LINGER_MS, server = 1, most = PUBLISHED_MOST, handover = 1, all = 1;
    const int64_t bytes = MESSAGE_BYTES;
    void *s = k->zmq->socket(k->context, type);
    if (!s)
        err_raise(ctx, ERR_IO, "no socket can be made: %s", k->zmq->error_text(k->zmq->error()));
    snprintf(address, sizeof address, "%s://%s%c%lld", c->transport, c->ip,
             strcmp(c->transport, "ipc") == 0 ? '-' : ':', (long long)port);
    k->zmq->set(s, ZMQ_LINGER, &linger, sizeof linger);
    k->zmq->set(s, ZMQ_MAXMSGSIZE, &bytes, sizeof bytes);
    if (type == ZMQ_XPUB) {                    /* all who subscribe are welcomed, not the first */
        k->zmq->set(s, ZMQ_SNDHWM, &most, sizeof most);
        k->zmq->set(s, ZMQ_XPUB_VERBOSE, &all, sizeof all);
    }
    if (type == ZMQ_ROUTER)
        k->zmq->set(s, ZMQ_ROUTER_HANDOVER, &handover, sizeof handover);
    if (c->curve && (k->zmq->set(s, ZMQ_CURVE_SERVER, &server, sizeof server) != 0 ||
                     k->zmq->set(s, ZMQ_CURVE_SECRETKEY, c->curve, strlen(c->curve)) != 0))
        err_raise(ctx, ERR_IO, "the connection's keys cannot be used: %s",
                  k->zmq->error_text(k->zmq->error()));
    if (k->zmq->bind(s, address) != 0)
        err_raise(ctx, ERR_IO, "%s cannot be opened: %s", address,
                  k->zmq->error_text(k->zmq->error()));
    return s;
}

static void open_sockets(Kernel *k)
{
    const Connection *c = &k->connection;
    k->heartbeat = open_socket(k, ZMQ_REP, c->heartbeat);
    k->iopub = open_socket(k, ZMQ_XPUB, c->iopub);
    k->control = open_socket(k, ZMQ_ROUTER, c->control);
    k->stdin_socket = open_socket(k, ZMQ_ROUTER, c->stdin_port);
    k->shell = open_socket(k, ZMQ_ROUTER, c->shell);
}

static void close_sockets(Kernel *k)
{
    void *const sockets[] = { k->shell, k->control, k->iopub, k->stdin_socket, k->heartbeat };
    for (size_t i = 0; i < sizeof sockets / sizeof *sockets; i++)
        if (sockets[i])
            k->zmq->close(sockets[i]);
    if (k->context)
        while (k->zmq->ctx_term(k->context) != 0 && k->zmq->error() == EINTR)
            continue;
}

/* ---- answers ---- */
JsonWriter kernel_content(Kernel *k)
{
    buf_clear(&k->content);
    buf_clear(&k->metadata);
    JsonWriter w = { &k->content, false };
    json_open(&w, '{');
    return w;
}

void kernel_publish(Kernel *k, const char *type)
{
    queue_message(&k->queue, WAY_PUBLISH, NULL, type, k->now->header,
                  (Frame){ k->metadata.data, k->metadata.len },
                  (Frame){ k->content.data, k->content.len });
}

static void publish_status(Kernel *k, const char *state)
{
    JsonWriter w = kernel_content(k);
    json_pair(&w, "execution_state", state);
    json_close(&w, '}');
    kernel_publish(k, "status");
}

void kernel_reply(Kernel *k, const char *type)
{
    const Message *m = k->now;
    Frame content = { k->content.data, k->content.len };
    if (k->by_control && m->name_count > 0)
        queue_message(&k->queue, WAY_CONTROL, &m->names[0], type, m->header, (Frame){ 0 },
                      content);
    else if (!wire_send(&k->wire, k->shell, m->names, m->name_count, type, m->header,
                        (Frame){ k->metadata.data, k->metadata.len }, content))
        wire_complain("a reply cannot be sent: %s", k->zmq->error_text(k->zmq->error()));
}

static void put_language(JsonWriter *w)
{
    json_key(w, "language_info");
    json_open(w, '{');
    json_pair(w, "name", "ricci");
    json_pair(w, "version", RICCI_VERSION);
    json_pair(w, "mimetype", "text/x-ricci");
    json_pair(w, "file_extension", ".ric");
    json_pair(w, "pygments_lexer", "julia");         /* the nearest that others know */
    json_pair(w, "codemirror_mode", "julia");
    json_pair(w, "nbconvert_exporter", "script");
    json_close(w, '}');
}

static void put_kernel_info(JsonWriter *w)
{
    json_pair(w, "protocol_version", JUPYTER_PROTOCOL);
    json_pair(w, "implementation", "ricci");
    json_pair(w, "implementation_version", RICCI_VERSION);
    put_language(w);
    json_pair(w, "banner", "Ricci " RICCI_VERSION ", a small language for tensor mathematics");
    json_key(w, "debugger");
    json_put_bool(w, false);
    json_key(w, "help_links");
    json_open(w, '[');
    json_close(w, ']');
}

static void put_ports(JsonWriter *w, const Connection *c)
{
    const struct { const char *key; int64_t port; } ports[] = {
        { "shell_port", c->shell }, { "iopub_port", c->iopub }, { "stdin_port", c->stdin_port },
        { "hb_port", c->heartbeat }, { "control_port", c->control } };
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        json_key(w, ports[i].key);
        json_put_int(w, ports[i].port);
    }
}

bool kernel_simple(const Kernel *k, const Message *m, Buf *content, const char **reply)
{
    JsonWriter w = { content, false };
    bool info = strcmp(m->type, "kernel_info_request") == 0;
    bool connect = strcmp(m->type, "connect_request") == 0;
    bool comms = strcmp(m->type, "comm_info_request") == 0;
    if (!info && !connect && !comms)
        return false;
    buf_clear(content);
    json_open(&w, '{');
    json_pair(&w, "status", "ok");
    if (info)
        put_kernel_info(&w);
    if (connect)
        put_ports(&w, &k->connection);
    if (comms) {
        json_key(&w, "comms");
        json_open(&w, '{');
        json_close(&w, '}');
    }
    json_close(&w, '}');
    *reply = info ? "kernel_info_reply" : connect ? "connect_reply" : "comm_info_reply";
    return true;
}

/* ---- requests ---- */
static void answer_simple(Kernel *k)
{
    const char *reply;
    buf_clear(&k->metadata);
    if (kernel_simple(k, k->now, &k->content, &reply))
        kernel_reply(k, reply);
}

static void answer_shutdown(Kernel *k)
{
    JsonWriter w = kernel_content(k);
    json_pair(&w, "status", "ok");
    json_key(&w, "restart");
    json_put_bool(&w, json_truth(json_get(k->now->content, "restart"), false));
    json_close(&w, '}');
    kernel_reply(k, "shutdown_reply");
    kernel_publish(k, "shutdown_reply");
    k->quit = true;
}

/* Nothing runs: what is asked on this channel comes after the cell. */
static void answer_interrupt(Kernel *k)
{
    JsonWriter w = kernel_content(k);
    json_pair(&w, "status", "ok");
    json_close(&w, '}');
    kernel_reply(k, "interrupt_reply");
}

/* There are no widgets: whoever opens one is told that it is closed. */
static void answer_comm(Kernel *k)
{
    JsonWriter w = kernel_content(k);
    json_pair(&w, "comm_id", json_string(json_get(k->now->content, "comm_id"), ""));
    json_key(&w, "data");
    json_open(&w, '{');
    json_close(&w, '}');
    json_close(&w, '}');
    kernel_publish(k, "comm_close");
}

static const struct { const char *type; void (*answer)(Kernel *); } answers[] = {
    { "execute_request", cell_execute }, { "complete_request", ask_complete },
    { "inspect_request", ask_inspect }, { "is_complete_request", ask_is_complete },
    { "history_request", ask_history }, { "kernel_info_request", answer_simple },
    { "connect_request", answer_simple }, { "comm_info_request", answer_simple },
    { "shutdown_request", answer_shutdown }, { "interrupt_request", answer_interrupt },
    { "comm_open", answer_comm },
};

static void answer(Kernel *k)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        if (strcmp(k->now->type, answers[i].type) == 0)
            answers[i].answer(k);
}

/* busy, the answer, idle: also where there is no memory for more than that. */
static void take_with(Kernel *k, const Message *m, bool by_control, void (*body)(Kernel *))
{
    Interp *in = k->in;
    Guard guard;
    k->now = m;
    k->by_control = by_control;
    guard_enter(in, &guard);
    if (ERR_TRY(&in->ctx, &guard.frame)) {
        publish_status(k, "busy");
        body(k);
        ERR_END(&in->ctx, &guard.frame);
    } else {
        guard_restore(in, &guard);
        wire_complain("%s was not answered: %s", m->type, in->ctx.error->message);
        err_free(in->ctx.error);
        in->ctx.error = NULL;
    }
    guard_enter(in, &guard);
    if (ERR_TRY(&in->ctx, &guard.frame)) {
        publish_status(k, "idle");
        ERR_END(&in->ctx, &guard.frame);
    } else {
        guard_restore(in, &guard);
        err_free(in->ctx.error);
        in->ctx.error = NULL;
    }
    k->now = NULL;
}

/* A client that runs a whole notebook sends its cells at once: what is on its way gets so long. */
enum { QUEUED_MS = 20, QUEUED_MOST = 10000 };

void kernel_take_queued(Kernel *k)
{
    for (int n = 0; n < QUEUED_MOST; n++) {
        ZmqPoll item = { k->shell, 0, ZMQ_POLLIN, 0 };
        if (k->zmq->poll(&item, 1, QUEUED_MS) <= 0)
            return;
        Waiting *w = mem_zalloc(&k->in->ctx, sizeof *w);
        if (wire_receive(&k->wire, k->shell, "shell", &w->message) != WIRE_GOOD) {
            mem_free(&k->in->ctx, w, sizeof *w);
            continue;
        }
        if (k->waiting_last)
            k->waiting_last->next = w;
        else
            k->waiting = w;
        k->waiting_last = w;
    }
}

static void take_waiting(Kernel *k)
{
    for (Waiting *w; (w = k->waiting) != NULL;) {
        k->waiting = w->next;
        if (!k->waiting)
            k->waiting_last = NULL;
        bool cell = strcmp(w->message.type, "execute_request") == 0;
        if (!k->quit)
            take_with(k, &w->message, false, cell ? cell_abort : answer);
        message_free(&w->message);
        mem_free(&k->in->ctx, w, sizeof *w);
    }
}

static void take_handed_over(Kernel *k)
{
    Message m;
    for (Incoming *i; !k->quit && (i = queue_handed(&k->queue)) != NULL;) {
        if (wire_read(&k->wire, i->frames, i->count, "control", &m) == WIRE_GOOD) {
            take_with(k, &m, true, answer);
            message_free(&m);
        }
        incoming_free(i);
    }
}

static void loop(Kernel *k)
{
    Message m;
    while (!k->quit) {
        ZmqPoll items[] = { { k->shell, 0, ZMQ_POLLIN, 0 },
                            { NULL, k->queue.to_interpreter, ZMQ_POLLIN, 0 } };
        if (k->zmq->poll(items, 2, -1) < 0)
            continue;                          /* a signal */
        if (items[1].ready)
            queue_settle(k->queue.to_interpreter);
        take_handed_over(k);
        if (k->quit || !items[0].ready ||
            wire_receive(&k->wire, k->shell, "shell", &m) != WIRE_GOOD)
            continue;
        take_with(k, &m, false, answer);
        message_free(&m);
        take_waiting(k);
    }
}

/* ---- life ---- */
/* The other thread takes no signals: they are for what runs. */
static bool start_control(Kernel *k)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool ok = pthread_create(&k->thread, NULL, control_run, k) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ok;
}

/* A program reads nothing, and what native code prints goes where the kernel's messages go. */
static void close_input(void)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0) {
        dup2(nothing, STDIN_FILENO);
        close(nothing);
    }
}

static void run(Kernel *k, const char *path)
{
    load_connection(k, path);
    zmq_open(&k->in->ctx, &k->library);
    k->zmq = &k->library;
    wire_uuid(k->session);
    if (!(k->context = k->zmq->ctx_new()) || !queue_open(&k->queue))
        err_raise(&k->in->ctx, ERR_IO, "ZeroMQ cannot be started: %s", c_strerror(errno));
    open_sockets(k);
    wire_init(&k->wire, &k->in->ctx, k->zmq, k->connection.key, k->session);
    close_input();
    if (!start_control(k))
        err_raise(&k->in->ctx, ERR_IO, "no thread can be started");
    k->in->host = &k->host;
    loop(k);
    k->in->host = NULL;
    k->ended = true;
    queue_wake(k->queue.to_sender);
    pthread_join(k->thread, NULL);
    queue_close(&k->queue);
    wire_free(&k->wire);
}

void jupyter_run(Interp *in, const ReplHelp *help, const char *path)
{
    Kernel k = { .in = in, .parent = getppid(),
                 .host = { .write = cell_write, .display = cell_display, .live = true,
                           .exit_code = -1 } };
    Buf *const texts[] = { &k.content, &k.metadata, &k.reply, &k.pages, &k.shown };
    ErrFrame frame;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        buf_init(texts[i], &in->ctx);
    repl_begin(&k.repl, in, help);
    k.repl.document = &cell_document;
    in->interactive = true;
    signals_remote();
    signals_at_prompt(true);
    bool ok = ERR_TRY(&in->ctx, &frame);
    if (ok) {
        run(&k, path);
        ERR_END(&in->ctx, &frame);
    }
    close_sockets(&k);
    free_connection(&k);
    past_free(&k);
    repl_end(&k.repl);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        buf_free(texts[i]);
    if (!ok)
        err_rethrow(&in->ctx);
}
