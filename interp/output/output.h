/* What few call of output.c: the interpreter's maker, the composition root, and who prints
 * durations; the rest is in interp.h. */
#ifndef RICCI_INTERP_OUTPUT_H
#define RICCI_INTERP_OUTPUT_H

#include "interp/state/interp.h"

struct Display;

/* What takes over where Ricci is a part of another program (libricci). */
typedef struct Host {
    /* stream 1: what programs print; 2: notices. False, with errno set: it cannot be written. */
    bool (*write)(struct Host *, int stream, const char *text, size_t n);
    /* Something in several forms, to be shown behind what was written. False, with errno set: it
     * cannot be. NULL: texts are all that it takes. */
    bool (*display)(struct Host *, const struct Display *);
    bool live;                   /* text is written as it is printed, not when there is much */
    int exit_code;               /* of exit(), which ends the evaluation; -1: it was not called */
} Host;

/* For Ctx.notice: kernels and core write notices through it. */
void notice_from_ctx(Ctx *, const char *text);
/* Writes the error just caught (ctx.error) on stderr, in colour if show.color says so.
 * Never raises. */
void err_report(Interp *);
/* Frees what output.c allocated in an Interp, after the last flush. */
void output_free(Interp *);
/* Before something is put into Interp.out directly: false where nothing is to be written;
 * else an entry of `compare` that writes for the first time has its name put above. */
bool out_begins(Interp *);
/* A write failed, errno says why: nobody reads any more? */
void output_note_closed(Interp *);
/* The exit status of a program that would end with this one, after the last flush. */
int output_status(const Interp *, int status);
bool output_colours(int fd);     /* is it a terminal that takes colours? */
/* The size of the terminal behind stdout in in->show (zeros if it is none), and whether
 * stderr takes colours. */
void output_measure_terminal(Interp *);
/* The size alone, where there is a terminal: windows change between two prints. */
void output_measure_window(Interp *);
/* Is this the first time that this key is asked for? For what is said once in a run. */
bool output_first(Interp *, const char *key);
/* A duration in three digits with the unit that suits it: `1.79 ms`. Returns out. */
const char *seconds_text(char *out, size_t cap, double seconds);

void out_write(Interp *, const char *text, size_t n);
void out_flush(Interp *);
/* Text, and a line, on stderr, after flushing stdout. `notice` texts are printed once per place. */
void err_put(Interp *, const char *text);
void err_write(Interp *, const char *text);
void notice(Interp *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
