/* The interactive session; called by the composition root only. */
#ifndef RICCI_INTERP_REPL_H
#define RICCI_INTERP_REPL_H

#include "interp/state/interp.h"

/* What the session asks of those above it. */
typedef struct ReplHelp {
    void (*show)(Interp *, Buf *, const char *name);     /* ?name */
    void (*search)(Interp *, Buf *, const char *words);  /* ??words */
    bool (*kind)(Interp *, Buf *, const char *kind);     /* :explain KIND; false: there is none */
    /* what ?TAB offers besides; false: the end */
    bool (*topic)(int i, char name[32]);
    bool (*known)(Interp *, const char *name);           /* has `show` anything of that name? */
} ReplHelp;

/* Reads, runs and echoes entries until the end of input or :quit. With readline where
 * stdin and stdout are terminals, line by line otherwise. Returns the exit status. */
int repl_run(Interp *, const ReplHelp *help);

/* ---- entries (repl_line.c) ---- */
#define REPL_PROMPT "ricci> "
#define REPL_CONTINUE "  ...> "

typedef enum LineStatus { LINE_READ, LINE_INTERRUPTED, LINE_END } LineStatus;
/* Is this text, of one line or several, all of an entry? Asked after each line. It may raise. */
typedef bool EntryDone(void *arg, const char *text, size_t len);

/* Opens the terminal and the history; `terminal` says whether to use readline. */
void entry_open(Interp *, bool terminal);
/* Reads an entry into `text`: on a terminal all its lines are edited together, elsewhere and
 * on a dumb terminal one is read after the other. Prompts that were pasted are taken off. It
 * is in the history then. Interrupted: what was typed is gone. */
LineStatus entry_read(Interp *, EntryDone *done, void *arg, Buf *text);
/* A key that was read elsewhere and is meant for the entry: it is the next one. */
void entry_type(char key);
void entry_close(void);
/* Without a terminal: this text stands before each prompt, for who takes the output apart. */
void entry_mark(const char *mark);

/* What a key prints while an entry is typed stands below it: print (on rl_outstream, no
 * last newline) between these two. The entry is then shown again, under what was printed. */
void entry_below_begin(void);
void entry_below_end(void);

/* What a session's copy, prompts and answers, comes from (repl_paste.c), malloc'ed; NULL: no prompt
 * begins it. `done` is asked as by entry_read. */
char *paste_take(const char *text, size_t len, EntryDone *done, void *arg);

/* ---- history (repl_history.c): the oldest entry is number 0 ---- */
/* Reads the file, and opens it for new entries if they are `kept`. */
void history_open(bool kept);
void history_close(void);
size_t history_count(void);
const char *history_text(size_t number);       /* NULL: there is none */
void history_add(const char *text);            /* as entry_read does; not one with a blank first */

#endif
