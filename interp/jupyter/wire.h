/* Jupyter's messages on ZeroMQ's sockets: names of who asked, a signature, then header, parent's
 * header, metadata and content as JSON (protocol 5.4). Each thread has a Wire of its own. */
#ifndef RICCI_INTERP_JUPYTER_WIRE_H
#define RICCI_INTERP_JUPYTER_WIRE_H

#include "core/json/json_tree.h"
#include "interp/jupyter/zmq.h"

#define JUPYTER_PROTOCOL "5.4"

typedef struct Wire {
    Ctx *ctx;
    const Zmq *zmq;
    const char *key;                 /* "": messages are not signed */
    const char *session;             /* of the kernel: a UUID */
    Buf header, parts;               /* scratch */
} Wire;

enum { WIRE_UUID = 37 };
void wire_uuid(char out[WIRE_UUID]);
void wire_init(Wire *, Ctx *, const Zmq *, const char *key, const char *session);
void wire_free(Wire *);

typedef struct Frame { const char *data; size_t n; } Frame;

/* What was received, in an arena of its own. */
typedef struct Message {
    Arena arena;
    Frame *names;                    /* of who asked */
    int name_count;
    Frame header;                    /* as it was written: the parent's header of what answers */
    const char *type, *id;
    const JsonValue *content;
} Message;

typedef enum WireStatus { WIRE_NOTHING, WIRE_DROPPED, WIRE_GOOD } WireStatus;
/* The next message of a socket, without waiting. A bad one is dropped with a line on stderr, which
 * names the channel. What is not WIRE_GOOD needs no message_free. */
WireStatus wire_receive(Wire *, void *socket, const char *channel, Message *);
/* The same of frames that another thread received. */
WireStatus wire_read(Wire *, const Frame *, int count, const char *channel, Message *);
/* All frames of the next message, in the arena; 0: there is none; -1: it is too long, and gone. */
int wire_frames(Wire *, void *socket, Arena *, Frame **);
void message_free(Message *);

/* Sends what may be NULL or empty as {}: parent, metadata. False: it cannot be sent. */
bool wire_send(Wire *, void *socket, const Frame *names, int name_count, const char *type,
               Frame parent, Frame metadata, Frame content);

/* A line on stderr: what went wrong, and is no matter of a program's. */
void wire_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
