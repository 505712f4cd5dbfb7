/* Opening libzmq: see zmq.h. The program does it once, when a kernel starts. */
#include "interp/jupyter/zmq.h"

#include "core/base/error.h"
#include "core/system/library.h"

void zmq_open(Ctx *ctx, Zmq *zmq)
{
#define ROUTINE(id, result, name, proto) { "zmq_" name, &zmq->id },
    const LibraryEntry entries[] = {
#include "interp/jupyter/zmq.def"
    };
#undef ROUTINE
    const char *lacks;
    void *handle = library_open("libzmq.so.5", entries, sizeof entries / sizeof *entries, &lacks);
    if (!handle && lacks)
        err_raise_help(ctx, ERR_IO, "on Debian and Ubuntu it is in the package libzmq5",
                       "libzmq.so.5 has no function %s", lacks);
    if (!handle)
        err_raise_help(ctx, ERR_IO,
                       "on Debian and Ubuntu it is in the package libzmq5: apt-get install libzmq5",
                       "the library ZeroMQ, by which notebooks speak with kernels, was not found "
                       "(libzmq.so.5)");
}
