/* libzmq as it is found at run time: the parts of zmq.h that a kernel wants. */
#ifndef RICCI_INTERP_JUPYTER_ZMQ_H
#define RICCI_INTERP_JUPYTER_ZMQ_H

#include "core/base/ctx.h"

typedef struct ZmqMessage { _Alignas(void *) unsigned char bytes[64]; } ZmqMessage;
typedef struct ZmqPoll { void *socket; int fd; short events, ready; } ZmqPoll;

enum {
    ZMQ_ROUTER = 6, ZMQ_REP = 4, ZMQ_XPUB = 9,
    ZMQ_POLLIN = 1, ZMQ_DONTWAIT = 1, ZMQ_SNDMORE = 2,
    ZMQ_LINGER = 17, ZMQ_MAXMSGSIZE = 22, ZMQ_SNDHWM = 23, ZMQ_ROUTER_HANDOVER = 56,
    ZMQ_XPUB_VERBOSE = 40,
    ZMQ_CURVE_SERVER = 47, ZMQ_CURVE_SECRETKEY = 49
};

typedef struct Zmq {
#define ROUTINE(id, result, name, proto) result (*id) proto;
#include "interp/jupyter/zmq.def"
#undef ROUTINE
} Zmq;

/* Raises `io` where there is no libzmq. */
void zmq_open(Ctx *, Zmq *);

#endif
