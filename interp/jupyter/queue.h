/* What is on its way to the clients: the interpreter's thread and the other one put in, the other
 * one alone takes out and sends. Texts of one stream gather until somebody sends them. Memory here
 * is the process's, since it passes from thread to thread. */
#ifndef RICCI_INTERP_JUPYTER_QUEUE_H
#define RICCI_INTERP_JUPYTER_QUEUE_H

#include "interp/jupyter/wire.h"

#include <pthread.h>

typedef enum Way { WAY_PUBLISH, WAY_CONTROL } Way;

typedef struct Outgoing {
    struct Outgoing *next;
    Way way;
    int stream;                      /* 1 stdout, 2 stderr; 0: a message that is ready */
    Frame name;                      /* of who asked on control */
    char *type;
    Frame parent, metadata, content; /* content: of a stream its text */
    size_t room;                     /* of the content */
    double since;                    /* when the first of a stream's text came, in seconds */
} Outgoing;

/* A message that another thread received, for the interpreter's. */
typedef struct Incoming {
    struct Incoming *next;
    Frame *frames;
    int count;
} Incoming;

enum { STREAM_MOST = 1 << 16 };      /* bytes of text in a message */

typedef struct Queue {
    pthread_mutex_t lock;
    pthread_cond_t drained;
    Outgoing *first, *last;
    size_t bytes;
    Incoming *in_first, *in_last;
    int to_sender, to_interpreter;   /* eventfds: something was put in */
} Queue;

bool queue_open(Queue *);
void queue_close(Queue *);
double queue_clock(void);
void queue_wake(int fd);
void queue_settle(int fd);           /* takes what woke */

/* Text of a stream. Where far too much waits, it waits too, until `stop` is set. False: no memory,
 * or it was stopped. */
bool queue_text(Queue *, int stream, Frame parent, const char *text, size_t n,
                const InterruptFlag *stop);
/* A message, copied. False: no memory. */
bool queue_message(Queue *, Way, const Frame *name, const char *type, Frame parent,
                   Frame metadata, Frame content);
/* The first that is to be sent now, the caller's to free; NULL: there is none, and *wait says for
 * how many milliseconds (-1: until something comes). `all`: text that could gather more, too. */
Outgoing *queue_take(Queue *, bool all, int *wait);
void outgoing_free(Outgoing *);

bool queue_hand_over(Queue *, const Frame *frames, int count);
Incoming *queue_handed(Queue *);     /* NULL: none */
void incoming_free(Incoming *);

#endif
