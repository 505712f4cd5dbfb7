/* The queue between the two threads: see queue.h. */
#include "interp/jupyter/queue.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* Text waits for more so long; what is in the queue, so much, before who writes has to wait. */
static const double GATHER = 0.04;
enum { QUEUE_MOST = 32 << 20 };

double queue_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool queue_open(Queue *q)
{
    *q = (Queue){ .to_sender = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                  .to_interpreter = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->drained, NULL);
    return q->to_sender >= 0 && q->to_interpreter >= 0;
}

void queue_close(Queue *q)
{
    int wait;
    for (Outgoing *o; (o = queue_take(q, true, &wait)) != NULL;)
        outgoing_free(o);
    for (Incoming *i; (i = queue_handed(q)) != NULL;)
        incoming_free(i);
    close(q->to_sender);
    close(q->to_interpreter);
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->drained);
}

void queue_wake(int fd)
{
    uint64_t one = 1;
    ssize_t n = write(fd, &one, sizeof one);
    (void)n;
}

void queue_settle(int fd)
{
    uint64_t count;
    ssize_t n = read(fd, &count, sizeof count);
    (void)n;
}

static bool copy(Frame *to, Frame from)
{
    char *data = malloc(from.n + 1);
    if (!data)
        return false;
    if (from.n)
        memcpy(data, from.data, from.n);
    data[from.n] = '\0';
    *to = (Frame){ data, from.n };
    return true;
}

static size_t bytes_of(const Outgoing *o)
{
    return sizeof *o + o->parent.n + o->metadata.n + (o->room ? o->room : o->content.n);
}

void outgoing_free(Outgoing *o)
{
    if (!o)
        return;
    free(o->type);
    free((char *)o->name.data);
    free((char *)o->parent.data);
    free((char *)o->metadata.data);
    free((char *)o->content.data);
    free(o);
}

/* Under the lock. */
static void put_last(Queue *q, Outgoing *o)
{
    if (q->last)
        q->last->next = o;
    else
        q->first = o;
    q->last = o;
    q->bytes += bytes_of(o);
}

/* The last of the queue, if this text belongs behind its own and there is room; under the lock. */
static Outgoing *same_stream(Queue *q, int stream, Frame parent)
{
    Outgoing *o = q->last;
    bool same = o && o->stream == stream && o->content.n < STREAM_MOST &&
                o->parent.n == parent.n && memcmp(o->parent.data, parent.data, parent.n) == 0;
    return same ? o : NULL;
}

static Outgoing *new_stream(int stream, Frame parent)
{
    Outgoing *o = calloc(1, sizeof *o);
    if (!o || !copy(&o->parent, parent)) {
        outgoing_free(o);
        return NULL;
    }
    o->stream = stream;
    o->since = queue_clock();
    return o;
}

/* How much of n bytes ends with a whole character, where not all of them are taken. */
static size_t whole_characters(const char *text, size_t n, size_t room)
{
    if (n <= room)
        return n;
    size_t at = room;
    while (at > 0 && room - at < 4 && ((unsigned char)text[at] & 0xC0) == 0x80)
        at--;
    return at > 0 ? at : room;
}

/* Puts some of the text behind what is there; returns how much, 0 where there is no memory. */
static size_t gather(Queue *q, int stream, Frame parent, const char *text, size_t n)
{
    Outgoing *o = same_stream(q, stream, parent);
    size_t take = o ? whole_characters(text, n, STREAM_MOST - o->content.n) : 0;
    if (o && take < n && STREAM_MOST - o->content.n < 4)
        o = NULL;                                  /* no room for a character */
    if (!o) {
        if (!(o = new_stream(stream, parent)))
            return 0;
        take = whole_characters(text, n, STREAM_MOST);
        put_last(q, o);
    }
    if (o->content.n + take + 1 > o->room) {
        size_t room = 2 * o->room + take + 256;
        char *data = realloc((char *)o->content.data, room);
        if (!data)
            return 0;
        q->bytes += room - o->room;
        o->content.data = data;
        o->room = room;
    }
    memcpy((char *)o->content.data + o->content.n, text, take);
    o->content.n += take;
    return take;
}

/* Under the lock. False: it was stopped. */
static bool wait_for_room(Queue *q, const InterruptFlag *stop)
{
    while (q->bytes > QUEUE_MOST) {
        struct timespec until;
        if (*stop)
            return false;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 20000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&q->drained, &q->lock, &until);
    }
    return true;
}

bool queue_text(Queue *q, int stream, Frame parent, const char *text, size_t n,
                const InterruptFlag *stop)
{
    pthread_mutex_lock(&q->lock);
    const Outgoing *before = q->last;
    bool ok = wait_for_room(q, stop);
    for (size_t done; ok && n > 0; text += done, n -= done)
        ok = (done = gather(q, stream, parent, text, n)) > 0;
    bool news = q->last != before || (q->last && q->last->content.n >= STREAM_MOST);
    pthread_mutex_unlock(&q->lock);
    if (news)
        queue_wake(q->to_sender);
    return ok;
}

bool queue_message(Queue *q, Way way, const Frame *name, const char *type, Frame parent,
                   Frame metadata, Frame content)
{
    Outgoing *o = calloc(1, sizeof *o);
    bool ok = o && (!name || copy(&o->name, *name)) && copy(&o->parent, parent) &&
              copy(&o->metadata, metadata) && copy(&o->content, content) &&
              (o->type = strdup(type)) != NULL;
    if (!ok) {
        outgoing_free(o);
        return false;
    }
    o->way = way;
    pthread_mutex_lock(&q->lock);
    put_last(q, o);
    pthread_mutex_unlock(&q->lock);
    queue_wake(q->to_sender);
    return true;
}

Outgoing *queue_take(Queue *q, bool all, int *wait)
{
    *wait = -1;
    pthread_mutex_lock(&q->lock);
    Outgoing *o = q->first;
    if (o && o->stream && !o->next && !all && o->content.n < STREAM_MOST) {
        double left = o->since + GATHER - queue_clock();
        if (left > 0) {
            *wait = (int)(1000 * left) + 1;
            o = NULL;
        }
    }
    if (o) {
        q->first = o->next;
        if (!q->first)
            q->last = NULL;
        q->bytes -= bytes_of(o);
        pthread_cond_signal(&q->drained);
    }
    pthread_mutex_unlock(&q->lock);
    return o;
}

/* ---- the other way ---- */
void incoming_free(Incoming *i)
{
    for (int k = 0; k < i->count; k++)
        free((char *)i->frames[k].data);
    free(i->frames);
    free(i);
}

bool queue_hand_over(Queue *q, const Frame *frames, int count)
{
    Incoming *i = calloc(1, sizeof *i);
    if (!i)
        return false;
    i->frames = calloc((size_t)count, sizeof *i->frames);
    while (i->frames && i->count < count && copy(&i->frames[i->count], frames[i->count]))
        i->count++;
    if (i->count < count) {
        incoming_free(i);
        return false;
    }
    pthread_mutex_lock(&q->lock);
    if (q->in_last)
        q->in_last->next = i;
    else
        q->in_first = i;
    q->in_last = i;
    pthread_mutex_unlock(&q->lock);
    queue_wake(q->to_interpreter);
    return true;
}

Incoming *queue_handed(Queue *q)
{
    pthread_mutex_lock(&q->lock);
    Incoming *i = q->in_first;
    if (i) {
        q->in_first = i->next;
        if (!q->in_first)
            q->in_last = NULL;
    }
    pthread_mutex_unlock(&q->lock);
    return i;
}
