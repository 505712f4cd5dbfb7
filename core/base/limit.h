/* What a run may use: bytes of memory, seconds, bytes of files (`--limit
 * memory=1e9,seconds=60,file=1e8`). Memory is counted by the funnel (mem.h), seconds by the
 * program's timer (repl_signals.c), files by the system and here; where the account could miss
 * something the process has limits of its own.
 * Without a limit Ctx.limit is NULL. */
#ifndef RICCI_CORE_LIMIT_H
#define RICCI_CORE_LIMIT_H

#include "core/base/ctx.h"

typedef struct Limit {
    double memory, seconds, file;          /* INFINITY: none */
    double written;                        /* bytes, into files */
    double part;                           /* seconds that a part of the run may take: a test */
    /* The seconds are over, of the run and of the part: set by a signal's handler. */
    volatile sig_atomic_t out_of_time, part_over;
} Limit;

Limit limit_none(void);
bool limit_is_over(const Limit *);         /* is it time that interrupts, not the user? */
/* Where nothing else is said for programs of strangers. */
void limit_defaults(Limit *);
/* `seconds=60`, several with commas; false: `*what` is the part that is none. */
bool limit_read(Limit *, const char *text, char what[64]);
/* Limits of the process that stand behind the account; children inherit them. */
void limit_process(const Limit *, int threads);
/* Counts bytes before they are written into a file; false with EFBIG where they are too many. */
bool limit_write(Ctx *, size_t bytes);
/* `1e8`, `60`: as it would be typed. */
const char *limit_text(char out[32], double amount);
/* strerror, or for EFBIG under a limit its name. Valid until the next call with this buffer. */
const char *limit_why(const Ctx *, int why, char text[96]);

#endif
