/* How far long work is: one line on a terminal, `for i in 0:1000   37 %   12 s left`. Ctx.progress
 * is NULL where nobody looks (pipes, plain terminals, libricci), and then all of this is one test.
 *
 * Work that knows its length says so while it runs: the outermost such work owns the line, and
 * what it calls is not heard, so that the line never goes backwards. A thread of its own draws,
 * first when an entry has run for two seconds and then five times a second, also while the
 * interpreter is inside a call that takes long. RICCI_PROGRESS names other seconds, or `off`.
 *
 * Everybody who writes to the terminal takes the line away first: progress_write_begin.
 * All functions but progress_erase are for the interpreter's thread. */
#ifndef RICCI_CORE_PROGRESS_H
#define RICCI_CORE_PROGRESS_H

#include "core/base/ctx.h"

typedef struct Progress Progress;

/* Somebody looks from now on, if stderr is a terminal that can take a line back. */
void progress_open(Ctx *);
void progress_close(Ctx *);

/* An entry or a program begins: its text is shown where nothing better is known. */
void progress_start(Ctx *, const char *text);
void progress_stop(Ctx *);

/* Others use the terminal meanwhile (a native call, a shell command, a pager). */
void progress_hide_slow(Ctx *);
void progress_show_slow(Ctx *);
static inline void progress_hide(Ctx *ctx) { if (ctx->progress) progress_hide_slow(ctx); }
static inline void progress_show(Ctx *ctx) { if (ctx->progress) progress_show_slow(ctx); }

/* Around one write to stdout or stderr. line_start: does what was written end in a newline?
 * Elsewhere the line would overwrite it, so none is drawn until one comes. */
void progress_write_begin(Ctx *);
void progress_write_end(Ctx *, bool line_start);

/* Work in `total` steps begins (0: it is not known how many); `text` up to a newline or an
 * opening brace says which, NULL: the entry's text will do. True: it owns the line, tells how
 * far it is and leaves. An error that unwinds it leaves for it (progress_unwound). */
bool progress_enter_slow(Ctx *, const char *text, size_t length, int64_t total, const void *frame);
static inline bool progress_enter(Ctx *ctx, const char *text, size_t length, int64_t total)
{
    return __builtin_expect(ctx->progress != NULL, 0) &&
           progress_enter_slow(ctx, text, length, total, __builtin_frame_address(0));
}
/* Would progress_enter give true? For those to whom the text costs something. */
bool progress_free(const Ctx *);
void progress_at(Ctx *, int64_t done);
/* Where progress_at writes, for loops whose steps are short. */
_Atomic int64_t *progress_counter(Ctx *);
void progress_leave(Ctx *);
/* Frames of the C stack below (newer than) this address are gone. */
void progress_unwound(Ctx *, const void *frame);

/* Takes the line away; for signal handlers. */
void progress_erase(Ctx *);

#endif
