/* The kernel's insides: what the files of this room share. */
#ifndef RICCI_INTERP_JUPYTER_KERNEL_H
#define RICCI_INTERP_JUPYTER_KERNEL_H

#include "interp/jupyter/queue.h"
#include "interp/output/display.h"
#include "interp/output/output.h"
#include "interp/session/repl_commands.h"

#include <stdatomic.h>
#include <sys/types.h>

typedef struct Connection {
    char *transport, *ip, *key, *curve;      /* curve: the secret key; NULL: none */
    int64_t shell, iopub, control, stdin_port, heartbeat;
} Connection;

/* A cell that ran, for `history`. */
typedef struct Past { char *input, *output; int number; } Past;
enum { PAST_MOST = 10000, PAST_OUTPUT = 4000 };

/* A request that was queued behind a cell that failed. */
typedef struct Waiting { struct Waiting *next; Message message; } Waiting;

typedef struct Kernel {
    Interp *in;
    Host host;                       /* whose write and display come here */
    Repl repl;
    Wire wire;                       /* of the interpreter's thread */
    Zmq library;
    const Zmq *zmq;                  /* the same, once it is open */
    Connection connection;
    char session[WIRE_UUID];
    void *context, *shell, *control, *iopub, *stdin_socket, *heartbeat;
    Queue queue;
    pthread_t thread;
    pid_t parent;                    /* that started this process */
    atomic_bool running;             /* a cell */
    atomic_bool quit;                /* it is to end */
    atomic_bool ended;               /* the interpreter's thread has */

    /* ---- of the interpreter's thread alone ---- */
    int count;                       /* cells that ran */
    const Message *now;              /* that is answered */
    bool by_control;                 /* it came there */
    bool silent;                     /* nothing of it is published */
    Buf content, metadata;           /* a message's, being written */
    Buf reply;                       /* a content that waits until others were published */
    Buf pages;                       /* payload of the reply: items of a list */
    Buf shown;                       /* the value's text, for `history` */
    Past *past;
    int past_count, past_from;       /* a ring */
    bool read_file;                  /* the prompt's history was */
    Waiting *waiting, *waiting_last;
} Kernel;

/* ---- kernel.c ---- */
/* Publishes k->content (and metadata) as an answer to what is answered now. */
void kernel_publish(Kernel *, const char *type);
/* Takes in what is queued behind the cell that failed: its cells are aborted. */
void kernel_take_queued(Kernel *);
/* The reply, from k->content. */
void kernel_reply(Kernel *, const char *type);
/* Empties k->content and k->metadata, and opens an object in the first. */
JsonWriter kernel_content(Kernel *);
/* Requests that need no interpreter: the content of their reply, and its type; false: it is none of
 * them. Called by both threads. */
bool kernel_simple(const Kernel *, const Message *, Buf *content, const char **reply);

/* ---- control.c: the other thread ---- */
void *control_run(void *kernel);

/* ---- cell.c ---- */
void cell_execute(Kernel *);
/* k->now is an execute_request that an error before it aborts. */
void cell_abort(Kernel *);
bool cell_write(Host *, int stream, const char *text, size_t n);
bool cell_display(Host *, const Display *);
extern const ReplDocument cell_document;
void past_free(Kernel *);

/* ---- ask.c ---- */
void ask_complete(Kernel *);
void ask_inspect(Kernel *);
void ask_is_complete(Kernel *);
void ask_history(Kernel *);

#endif
