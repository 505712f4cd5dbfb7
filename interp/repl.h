/* The interactive session; called by the composition root only. */
#ifndef RICCI_INTERP_REPL_H
#define RICCI_INTERP_REPL_H

#include "interp/interp.h"

/* What the session asks of those above it. */
typedef struct ReplHelp {
    void (*show)(Interp *, Buf *, const char *name);     /* ?name */
    void (*search)(Interp *, Buf *, const char *words);  /* ??words */
    bool (*kind)(Interp *, Buf *, const char *kind);     /* :explain KIND; false: there is none */
} ReplHelp;

/* Reads, runs and echoes entries until the end of input or :quit. With readline where
 * stdin and stdout are terminals, line by line otherwise. Returns the exit status. */
int repl_run(Interp *, const ReplHelp *help);

/* ---- lines (repl_line.c) ---- */
#define REPL_PROMPT "ricci> "
#define REPL_CONTINUE "  ...> "

typedef enum LineStatus { LINE_READ, LINE_INTERRUPTED, LINE_END } LineStatus;

/* Opens the terminal and the history file; `terminal` says whether to use readline. */
void line_open(Interp *, bool terminal);
/* Appends one line, without its newline, to `text`. Interrupted: what was typed is gone. */
LineStatus line_read(Interp *, const char *prompt, Buf *text);
/* Puts a finished entry into the history. */
void line_remember(const char *entry);
void line_close(void);

#endif
