/* Errors: one raise, setjmp frames, messages with the user's own names, carets and a
 * help line. Raising copies everything it needs, then unwinds to the innermost frame;
 * live values are released there by the interpreter (its value stack is cut to the
 * frame's mark), so no builtin has cleanup code.
 *
 *     err_raise(ctx, ERR_SHAPE, "A is 2x3 but B is 4x5");
 *
 *     Error *e = err_new(ctx, ERR_SHAPE, "…");     a message in pieces
 *     err_help(e, "transpose B: A @ B'");
 *     err_throw(e);
 *
 * Until it is thrown, kept or freed, an error in pieces belongs to the frame that it was made in:
 * when another error (a piece had no memory) unwinds to that frame, it is freed. */
#ifndef RICCI_CORE_ERROR_H
#define RICCI_CORE_ERROR_H

#include "core/base/buf.h"
#include "core/base/source.h"
#include <assert.h>
#include <setjmp.h>

typedef enum ErrKind {
#define KIND(id, name, meaning) ERR_##id,
#include "core/base/errors.def"
#undef KIND
    ERR_KINDS
} ErrKind;

typedef struct TraceEntry {
    char *text;          /* `power_iteration(2x2 f64, 50)` */
    Source *source;
    Span span;           /* the call */
} TraceEntry;

struct Error {
    Ctx *ctx;
    ErrKind kind;
    char *message;
    char *help;                  /* NULL if none */
    bool example;                /* help has names of its own: there is nothing to check */
    Error *below;                /* in Ctx.making */
    ErrFrame *frame;             /* innermost when it was made */
    char *more;                  /* rendered errors that follow this one, or NULL */
    Where where;                 /* source retained */
    bool carets[WHERE_OPERANDS]; /* which operands get an underline */
    TraceEntry *trace;
    int trace_count, trace_cap, trace_total;
    bool no_memory;              /* a static error: nothing in it is to be freed */
    void *payload;               /* `throw v`: the interpreter's copy of v */
    void (*release)(Ctx *, void *payload);
};

struct ErrFrame {
    jmp_buf jump;
    ErrFrame *up;
};

/* Usage: ErrFrame f; if (ERR_TRY(ctx, &f)) { … ERR_END(ctx, &f); } else { ctx->error … }
 * In the else branch the frame is already popped: what was entered inside has ended. Locals changed
 * inside must be volatile. */
#define ERR_TRY(ctx, f) ((f)->up = (ctx)->frame, (ctx)->frame = (f), setjmp((f)->jump) == 0)
#define ERR_END(ctx, f) (assert((ctx)->frame == (f)), (void)((ctx)->frame = (f)->up))

const char *err_kind_name(ErrKind);

/* Raises with the place of the running operation (Ctx.locate). */
_Noreturn void err_raise(Ctx *, ErrKind, const char *fmt,
                         ...) __attribute__((format(printf, 3, 4)));
/* The same with a help line; help is a ready text (may be NULL). */
_Noreturn void err_raise_help(Ctx *, ErrKind, const char *help, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

Error *err_new(Ctx *, ErrKind, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void err_help(Error *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Room for the `shown` innermost of `total` calls; false if there is none to be had. */
bool err_trace_begin(Error *, int shown, int total);
/* Adds a call, innermost first: its text, and where it stands (source NULL: unknown). */
void err_trace_add(Error *, const char *text, Source *, Span call);
/* Renders `next` below everything that `first` shows; `next` stays the caller's. */
void err_append(Error *first, const Error *next);
void err_append_line(Error *, const char *line);      /* below that, such as `… and 12 more` */
void err_at(Error *, Source *, Span span);           /* instead of the running operation */
/* underline operand i of the running operation */
void err_underline(Error *, int operand);
_Noreturn void err_throw(Error *);
/* Ctrl-C, or the seconds of the run are over; the flag is down */
_Noreturn void err_interrupted(Ctx *);
/* it is the caller's, whatever is unwound; returns it */
Error *err_keep(Error *);
_Noreturn void err_rethrow(Ctx *);                   /* ctx->error goes on to the next frame */
void err_free(Error *);
/* The user's own text of operand i of the running operation if it is short and on one line, else
 * NULL. Returned text is valid for the next three calls. */
const char *err_operand_name(Ctx *, int i);
/* The same for a sentence: "the left operand", "operand 1" where there is no such text. */
const char *err_operand_text(Ctx *, int i);

/* error[shape]: message, place, source line with carets, trace, help. */
void err_render(Buf *, const Error *);
/* Closest of `names` to `text` by edit distance (at most a third of its length), or NULL. */
const char *err_closest(const char *text, const char *const *names, size_t count);

#endif
