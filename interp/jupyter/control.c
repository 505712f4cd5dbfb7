/* The kernel's other thread: it owns the sockets of control, heartbeat and iopub, sends what is in
 * the queue, and answers while a cell runs. It never touches the interpreter, and takes memory from
 * an account of its own. */
#include "interp/jupyter/kernel.h"

#include "core/base/error.h"
#include "core/base/mem.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* How often the parent is looked after, and how long a cell has to end when the kernel does. */
enum { PARENT_MS = 500 };
static const double GRACE = 1.0;

typedef struct Control {
    Kernel *k;
    Ctx ctx;
    Wire wire;
    Buf content;
    double quitting;                 /* since when; 0: it is not */
} Control;

/* ---- sending ---- */
static void send_outgoing(Control *c, Outgoing *o)
{
    Kernel *k = c->k;
    Frame content = o->content;
    const char *type = o->type ? o->type : "stream";
    const Frame topic = { type, strlen(type) };
    if (o->stream) {
        JsonWriter w = { &c->content, false };
        buf_clear(&c->content);
        json_open(&w, '{');
        json_pair(&w, "name", o->stream == 1 ? "stdout" : "stderr");
        json_key(&w, "text");
        json_put_text(&w, content.data, content.n);
        json_close(&w, '}');
        content = (Frame){ c->content.data, c->content.len };
    }
    bool publish = o->way == WAY_PUBLISH;
    wire_send(&c->wire, publish ? k->iopub : k->control, publish ? &topic : &o->name, 1, type,
              o->parent, o->metadata, content);
}

static void send_all(Control *c, bool all, int *wait)
{
    ErrFrame frame;
    for (Outgoing *o; (o = queue_take(&c->k->queue, all, wait)) != NULL; outgoing_free(o))
        if (ERR_TRY(&c->ctx, &frame)) {
            send_outgoing(c, o);
            ERR_END(&c->ctx, &frame);
        } else {
            wire_complain("a message was not sent: %s", c->ctx.error->message);
            err_free(c->ctx.error);
            c->ctx.error = NULL;
        }
}

/* ---- the end ---- */
static void end_kernel(Control *c)
{
    if (c->quitting == 0)
        c->quitting = queue_clock();
    c->k->quit = true;
    queue_wake(c->k->queue.to_interpreter);
    if (c->k->running)
        kill(getpid(), SIGINT);
}

/* What could not be stopped is ended with the process, which takes its folders away. */
static void end_hard(Control *c)
{
    int wait;
    send_all(c, true, &wait);
    usleep(100000);                  /* for what is on its way to the clients */
    kill(getpid(), SIGTERM);
    while (!c->k->ended)             /* or it ends by itself after all */
        usleep(10000);
}

/* ---- requests ---- */
static void publish(Control *c, const Message *m, const char *type, const char *content)
{
    queue_message(&c->k->queue, WAY_PUBLISH, NULL, type, m->header, (Frame){ 0 },
                  (Frame){ content, strlen(content) });
}

static void reply(Control *c, const Message *m, const char *type)
{
    wire_send(&c->wire, c->k->control, m->names, m->name_count, type, m->header, (Frame){ 0 },
              (Frame){ c->content.data, c->content.len });
}

/* Those that must be answered while a cell runs; false: it is for the interpreter's thread, which
 * says busy and idle itself. */
static bool is_ours(const Message *m)
{
    static const char *const theirs[] = { "execute_request", "complete_request", "inspect_request",
                                          "is_complete_request", "history_request" };
    for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++)
        if (strcmp(m->type, theirs[i]) == 0)
            return false;
    return true;
}

static void answer(Control *c, const Message *m)
{
    const char *type;
    bool shutdown = strcmp(m->type, "shutdown_request") == 0;
    publish(c, m, "status", "{\"execution_state\":\"busy\"}");
    buf_clear(&c->content);
    if (kernel_simple(c->k, m, &c->content, &type)) {
        reply(c, m, type);
    } else if (strcmp(m->type, "interrupt_request") == 0) {
        if (c->k->running)
            kill(getpid(), SIGINT);
        buf_puts(&c->content, "{\"status\":\"ok\"}");
        reply(c, m, "interrupt_reply");
    } else if (shutdown) {
        bool restart = json_truth(json_get(m->content, "restart"), false);
        buf_printf(&c->content, "{\"status\":\"ok\",\"restart\":%s}", restart ? "true" : "false");
        reply(c, m, "shutdown_reply");
        publish(c, m, "shutdown_reply", buf_cstr(&c->content));
    }
    publish(c, m, "status", "{\"execution_state\":\"idle\"}");
    if (shutdown)
        end_kernel(c);
}

/* False: there was nothing. */
static bool take_control(Control *c)
{
    Message m;
    Arena arena;
    Frame *frames;
    arena_init(&arena, &c->ctx);
    int count = wire_frames(&c->wire, c->k->control, &arena, &frames);
    if (count > 0 && wire_read(&c->wire, frames, count, "control", &m) == WIRE_GOOD) {
        if (is_ours(&m))
            answer(c, &m);
        else if (!queue_hand_over(&c->k->queue, frames, count))
            wire_complain("a message on control was dropped: there is no memory");
        message_free(&m);
    } else if (count < 0) {
        wire_complain("a message on control was dropped: it is too long");
    }
    arena_free(&arena);
    return count != 0;
}

/* Sends back what came. */
static void take_heartbeat(Control *c)
{
    Arena arena;
    Frame *frames;
    arena_init(&arena, &c->ctx);
    int count = wire_frames(&c->wire, c->k->heartbeat, &arena, &frames);
    for (int i = 0; i < count; i++)
        c->k->zmq->send(c->k->heartbeat, frames[i].data, frames[i].n,
                        i < count - 1 ? ZMQ_SNDMORE : 0);
    arena_free(&arena);
}

/* Who subscribes is told from when on messages come (protocol 5.4). */
static void take_subscription(Control *c)
{
    Arena arena;
    Frame *frames;
    arena_init(&arena, &c->ctx);
    int count = wire_frames(&c->wire, c->k->iopub, &arena, &frames);
    if (count == 1 && frames[0].n >= 1 && frames[0].data[0] == 1) {
        Frame topic = { frames[0].data + 1, frames[0].n - 1 };
        JsonWriter w = { &c->content, false };
        buf_clear(&c->content);
        json_open(&w, '{');
        json_key(&w, "subscription");
        json_put_text(&w, topic.data, topic.n);
        json_close(&w, '}');
        wire_send(&c->wire, c->k->iopub, &topic, 1, "iopub_welcome", (Frame){ 0 }, (Frame){ 0 },
                  (Frame){ c->content.data, c->content.len });
    }
    arena_free(&arena);
}

/* ---- the loop ---- */
static void turn(Control *c, int *wait)
{
    Kernel *k = c->k;
    ZmqPoll items[] = { { k->control, 0, ZMQ_POLLIN, 0 }, { k->heartbeat, 0, ZMQ_POLLIN, 0 },
                        { k->iopub, 0, ZMQ_POLLIN, 0 },
                        { NULL, k->queue.to_sender, ZMQ_POLLIN, 0 } };
    if (*wait < 0 || *wait > PARENT_MS)
        *wait = PARENT_MS;
    if (k->zmq->poll(items, 4, *wait) < 0)
        return;
    if (items[3].ready)
        queue_settle(k->queue.to_sender);
    if (items[1].ready)
        take_heartbeat(c);
    if (items[2].ready)
        take_subscription(c);
    if (items[0].ready)
        take_control(c);
}

static void guarded_turn(Control *c, int *wait)
{
    ErrFrame frame;
    if (ERR_TRY(&c->ctx, &frame)) {
        turn(c, wait);
        ERR_END(&c->ctx, &frame);
        return;
    }
    wire_complain("%s", c->ctx.error->message);
    err_free(c->ctx.error);
    c->ctx.error = NULL;
}

void *control_run(void *kernel)
{
    Kernel *k = kernel;
    Control c = { .k = k };
    int wait = 0;
    mem_init(&c.ctx);
    buf_init(&c.content, &c.ctx);
    wire_init(&c.wire, &c.ctx, k->zmq, k->connection.key, k->session);
    while (!k->ended) {
        guarded_turn(&c, &wait);
        send_all(&c, false, &wait);
        if (k->parent > 1 && getppid() != k->parent)
            end_kernel(&c);
        if (c.quitting > 0 && !k->ended && queue_clock() - c.quitting > GRACE)
            end_hard(&c);
    }
    send_all(&c, true, &wait);
    wire_free(&c.wire);
    buf_free(&c.content);
    mem_shutdown(&c.ctx);
    return NULL;
}
