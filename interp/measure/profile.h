/* `profile { … }` and `profile to "t.json" { … }`: a listener (heard.h) that adds the records up
 * by operation, device, dtype and kernel, prints one table when the block is done, and writes
 * the records as Chrome trace events. Private to profile*.c, but eval_profile. */
#ifndef RICCI_INTERP_PROFILE_H
#define RICCI_INTERP_PROFILE_H

#include "interp/op/heard.h"

/* Operations that are alike, or the copies between two devices. */
typedef struct ProfileRow {
    char name[32];
    const Device *device;               /* of a copy: the one that is not the host */
    DType dtype;
    char kernel[HEARD_KERNEL];
    uint64_t calls, copies;             /* copies: that the operations caused */
    double seconds, flops, bytes;       /* flops, bytes: 0 where nothing is known */
    double moved;                       /* bytes of those copies */
    double between;                     /* bytes that processes of a grid sent each other */
} ProfileRow;

enum { PROFILE_ROWS = 200, PROFILE_DEVICES = 64 };

typedef struct Trace Trace;

typedef struct Profile {
    Explain base;                       /* first */
    ProfileRow row[PROFILE_ROWS + 1];   /* the last: all that found no room */
    int rows;
    uint64_t operations, copies;
    double start, total, inside;        /* on the clock: all of it, and in operations and copies */
    double seconds;                     /* of the rows, simulated ones as they say */
    /* bytes in use at the start: the host's, then the devices' */
    size_t before[PROFILE_DEVICES];
    Trace *trace;                       /* NULL: none is written */
} Profile;

/* The table (profile_table.c). */
void profile_print(Interp *, Profile *);

/* ---- the trace (profile_trace.c) ---- */
/* Raises ERR_IO now where `path` could not be written later. */
Trace *trace_new(Interp *, const char *path);
void trace_operation(Interp *, Trace *, const Heard *);
void trace_copy(Interp *, Trace *, const PlaceMove *);
/* Replaces the file by what was heard; raises ERR_IO. */
void trace_write(Interp *, Trace *);
void trace_free(Interp *, Trace *);

#endif
