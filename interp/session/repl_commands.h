/* The session and what a line may be besides an entry. repl.c reads and runs entries; the
 * others here are called by it, under its catch point: what is wrong is raised and ends
 * the line alone.
 *
 *   repl_commands.c  `:commands`, `?help`         repl_words.c  what other systems' users type
 *   repl_vars.c      `:vars`                      repl_shell.c  `!command`, editors
 *   repl_files.c     `:load :save :edit :history`, the log
 *   repl_page.c      text that is longer than the screen */
#ifndef RICCI_INTERP_REPL_COMMANDS_H
#define RICCI_INTERP_REPL_COMMANDS_H

#include "interp/session/repl.h"

#include "core/system/ascii.h"

typedef struct Repl Repl;

/* A session whose entries are the cells of a document (interp/jupyter): where things go that a
 * terminal has its own ways for. */
typedef struct ReplDocument {
    void (*page)(Repl *, const Buf *text);       /* help, to be read beside the document */
    void (*echo)(Repl *, Value);
    void (*clear)(Repl *);                       /* what the entry has shown */
} ReplDocument;

struct Repl {
    Interp *in;
    const ReplHelp *help;
    const ReplDocument *document;    /* NULL: none */
    bool terminal, quit;
    int number;                /* of the entry: <repl:3> */
    Buf entry;                 /* the entry as it was read */
    Buf log, marks;            /* entries that ran, and a ReplMark for each: what :save writes */
    Buf last;                  /* the last entry, whether or not it ran: what :edit opens */
    Buf page;                  /* what a command writes or makes: cleared before use */
    Buf rows;                  /* of a table that a command makes, or a file's text */
    Buf rest;                  /* what a habit's words become (repl_words.c) */
    Buf error;                 /* the last error as it was shown, … */
    int error_kind;            /* … its kind; -1: there was none */
    Source *source;            /* of the running entry, and its syntax: freed after it */
    Chunk *chunk;
    double seconds;            /* how long it ran */
    bool echoed;               /* its value was shown, and is `ans` now */
};

/* One command of the table in repl_commands.c. */
typedef struct ReplCommand {
    const char *name;
    void (*run)(Repl *, const char *argument, bool force);    /* force: `:name!` */
    char takes;                /* what TAB completes: repl_candidates.c */
    const char *usage, *help;
    bool terminal;             /* it makes no sense in a document */
} ReplCommand;

/* ---- repl.c ---- */
/* A session without anything that it is read from, and its end. */
void repl_begin(Repl *, Interp *, const ReplHelp *);
void repl_end(Repl *);
/* Runs what is an entry or a command, under the caller's catch point; the text is changed. */
void repl_run_text(Repl *, char *text);
/* What is kept while an entry runs, also where it raises, goes. */
void repl_forget_source(Repl *);
/* Keeps the error just caught for :explain. */
void repl_keep_error(Repl *);
/* For entry_read: a command, help text that is ended by an empty line, or a whole program. */
EntryDone repl_is_entry;
/* The same, and what ran goes to the log. */
void repl_run_logged(Repl *, const char *text);

/* ---- repl_commands.c ---- */
/* Does this byte stand in names? All beyond ASCII may. */
static inline bool repl_in_name(char c)
{
    return ascii_alnum(c) || c == '_' || (c & 0x80);
}

void repl_say(Repl *, const char *text);
/* Is the line whole as it stands, whatever the parser would say: a command, help, the shell's? */
bool repl_is_command(const Repl *, const char *text);
/* Does what a line asks that is no entry; false: it is one. */
bool repl_command(Repl *, const char *text);
/* The i-th command; NULL after the last. */
const ReplCommand *repl_command_row(int i);
/* Runs `:name argument`. */
void repl_run_command(Repl *, const char *text);
void repl_help(Repl *, const char *name);      /* ?name */
/* A variable of the session, by its name; undefined if there is none. */
Value repl_variable(const Repl *, const char *name, size_t len);

/* ---- repl_words.c ---- */
/* What is typed out of the habits of IPython, Julia, MATLAB and shells: done or answered. */
bool repl_habit(Repl *, const char *text);
bool repl_is_habit(const Repl *, const char *text);

/* ---- repl_vars.c ---- */
void repl_vars(Repl *, const char *pattern, bool force);

/* ---- repl_files.c ---- */
void repl_load(Repl *, const char *path, bool force);
void repl_save(Repl *, const char *path, bool force);
void repl_edit(Repl *, const char *what, bool force);
void repl_history(Repl *, const char *which, bool force);
/* Puts an entry that ran into the log, with the place of the statement that set `ans`. */
void repl_log(Repl *, const char *text, size_t len, const Chunk *, bool sets_ans);
/* A path as the user typed it: without quotes around it, `~/` at its front resolved. Stands in
 * Repl.page. */
const char *repl_path(Repl *, const char *typed);

/* ---- repl_shell.c ---- */
void repl_shell(Repl *, const char *command);
/* Runs `program "$1"` with the terminal its own; returns the exit status, 128 + the signal that
 * ended it. Raises `io` where there is no shell. argument may be NULL. */
int repl_spawn(Repl *, const char *program, const char *argument);
/* The same without a terminal: what it writes is written here as it comes, its input is empty, and
 * an interrupt ends it. */
int repl_spawn_read(Repl *, const char *program);

/* ---- repl_page.c ---- */
/* Writes a text, a screen at a time where the output is a terminal that can. */
void repl_page(Interp *, Buf *text);
/* Waits for a key in the middle of such a text; 0: Ctrl-C or the end of input. Down is Enter,
 * PageDown a blank, and \a stands for keys that mean nothing there. */
int repl_key(Interp *);

#endif
