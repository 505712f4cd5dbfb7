/* What the files of the program `ricci` share: the composition root's own header, for
 * interp/program/main*.c alone. main.c reads the command line and leads the interpreter's life; a
 * file main_NAME.c holds one subcommand, or what two of them need. */
#ifndef RICCI_INTERP_MAIN_H
#define RICCI_INTERP_MAIN_H

#include "interp/state/interp.h"
#include "core/base/fence.h"
#include "core/base/limit.h"
#include "interp/jupyter/jupyter.h"

#include <signal.h>
#include <stdio.h>

enum { STATUS_ERROR = 1, STATUS_USAGE = 2, STATUS_INTERRUPT = 130, STATUS_PIPE = 128 + SIGPIPE };

typedef enum Mode {
    MODE_REPL, MODE_FILE, MODE_STDIN, MODE_CODE, MODE_TEST, MODE_FORMAT, MODE_DOC, MODE_EXPLAIN,
    MODE_DOCTEST, MODE_BLOCKS, MODE_JUPYTER, MODE_CALIBRATE
} Mode;

/* The options of all subcommands; each looks at its own. */
typedef struct Options {
    bool in_place, check, diff;            /* fmt -w, --check, --diff */
    bool list, verbose;                    /* test --list, -v */
    bool fix;                              /* doctest --fix */
    bool all;                              /* doc --all */
    const char *keyword;                   /* test -k WORD */
    const char *html;                      /* doctest --html FILE */
    double tolerance;                      /* doctest --tolerance REL */
    double timeout;                        /* test and doctest --timeout SECONDS; 0: none */
    bool trust;                            /* doctest --trust */
    JupyterSpec jupyter;                   /* jupyter --name …; NULL: its own */
    bool placed;                           /* jupyter --user … was given */
} Options;

typedef struct App {
    Interp *in;
    char *stack;                           /* where the interpreter runs */
    sigset_t signals;                      /* the mask it runs with */
    Mode mode;
    bool print;                            /* -p: print the value */
    bool interactive;                      /* -i: then a REPL */
    bool strict_devices;
    bool no_notices;
    const char *safe_by;                   /* which switch fences programs in; NULL: none */
    Fence *fence;
    Limit limit;                           /* --limit */
    TempDir tempdir;                       /* made before there is an interpreter, if it is */
    const char *const *look_in;            /* more folders to find files in, up to NULL */
    const char *text;                      /* FILE or CODE */
    char **names;                          /* FILE… or NAME… of a subcommand */
    int name_count;
    Options options;
    int passed, failed;                    /* tests */
    Source *source;                        /* of what runs, and its syntax */
    Chunk *chunk;
    Buf text_out;                          /* text on its way to a file, a pager or stderr */
    const struct Step *steps;              /* what a block of a document runs */
    int step_count;
    int argc;                              /* of the program */
    char **argv;
    int status;
    bool left;                             /* a thread still runs: Interp.left */
} App;

/* Makes the interpreter, does what app->mode says, ends it; returns the exit status. */
int app_run(App *);
/* Calls body; an error is reported and sets the status. Returns whether there was none. */
bool app_guarded(App *, void (*body)(App *, const char *), const char *argument);
void app_report(App *);                    /* the error just caught */
bool app_stopped(const App *);             /* by Ctrl-C, a closed pipe, --limit: that is all */
_Noreturn void app_output_failed(void);    /* errno says why; for who has no interpreter */
/* Reads and runs a file, or a text, in a module; source and syntax end with app_guarded. */
Value app_run_source(App *, Module *, Source *);
Source *app_read_source(Interp *, const char *path);      /* "-" is standard input */
extern const ReplHelp app_help;            /* what a session asks of those above it */
void app_session(App *);                   /* a REPL until its input ends */

/* ---- subcommands: each is given app->names ---- */
void test_files(App *);
void format_files(App *);
void doc_names(App *);
void explain_kinds(App *);
void jupyter_command(App *);
void calibrate(App *);
int doctest_files(App *);                  /* without an interpreter of its own */
void doctest_steps(App *);                 /* in a child: what its blocks say */

/* ---- what a run may reach and use (main_safe.c) ---- */
void safe_begin(App *);                    /* before the interpreter, and before a second thread */
void safe_give(App *);                     /* to the interpreter, on its thread */
void safe_end(App *);

/* ---- the command line (main_usage.c) ---- */
void usage_read(App *, int argc, char **argv);

/* ---- texts that need no interpreter (main_text.c): no memory ends the program ---- */
typedef struct Text { char *data; size_t len, cap; } Text;
void *app_alloc(size_t bytes);
/* The array with room for one more item behind its `count`. */
void *app_grow(void *items, size_t count, size_t *cap, size_t item);
void text_put(Text *, const char *bytes, size_t n);
void text_puts(Text *, const char *);
void text_printf(Text *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same of texts from outside: no character in it steers a terminal (core/base/plain.h). */
void text_plain(Text *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void say_plain(FILE *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_free(Text *);
bool text_read(Text *, const char *path);  /* a whole file; false with errno set */
/* Replaces a file by a new one beside it, so that a full disk loses nothing; what may not be
 * written stays. False with errno set. */
bool text_write(const char *path, const char *text, size_t n);
/* Calls visit for each name that is a file, and for what the folders among them hold with this
 * ending, sorted; false if a folder cannot be read (it was reported on stderr). */
bool files_each(char **names, int count, const char *ending,
                void (*visit)(void *, const char *path), void *with);

/* ---- differences of two texts, by lines (main_diff.c) ---- */
typedef struct Lines { const char **at; size_t *len; size_t count; } Lines;
typedef struct LineRule {
    bool (*equal)(void *, const char *want, size_t n, const char *got, size_t m);
    bool (*any)(const char *want, size_t n);   /* a line that stands for any lines; NULL: none */
    void *with;
} LineRule;
/* What becomes of each line, in order: '=' both go on, '-' is wanted alone, '+' came alone,
 * '*' stands for any lines, '~' came and is one of those. */
typedef struct Diff { char *steps; size_t count; bool same; } Diff;
Lines lines_of(const char *text, size_t n);
void lines_free(Lines *);
Diff diff_lines(const Lines *want, const Lines *got, const LineRule *);
void diff_free(Diff *);
/* Changed lines with `around` others about them, each behind `indent`; `most` lines at most.
 * first: the number of the first wanted line, for the headings; 0: no headings. */
void diff_show(Text *, const Diff *, const Lines *want, const Lines *got, const char *indent,
               size_t around, size_t most, size_t first, bool colours);
extern const LineRule line_exact;

/* ---- lines that hold numbers (main_match.c) ---- */
typedef struct MatchRule {
    double tolerance;                      /* relative; 0: as written */
    bool loose;                            /* blanks and the length of rules do not count */
    int near;                              /* how many tokens matched that are not the same text */
} MatchRule;
bool match_line(void *rule, const char *want, size_t n, const char *got, size_t m);
bool match_any_lines(const char *want, size_t n);

/* ---- the code of Markdown (main_markdown.c) ---- */
typedef enum BlockKind {
    BLOCK_OTHER, BLOCK_RICCI, BLOCK_ERROR, BLOCK_SESSION, BLOCK_TEXT
} BlockKind;
typedef struct Block {
    BlockKind kind;
    size_t line;                           /* of its opening fence, 1-based */
    size_t from, to, end;                  /* bytes between its fences; behind the closing one */
    size_t indent;                         /* of the fence: taken off its lines */
    size_t fence;                          /* how many marks the fence has */
    bool closed, skip, follow;             /* follow: `continue` */
    double tolerance;                      /* its own, or < 0 */
    long output;                           /* the block that is its output, or -1 */
    char problem[128];                     /* what its opening line gets wrong, or "" */
} Block;
typedef struct Markdown { Text text; Block *blocks; size_t count, cap; bool crlf; } Markdown;
void markdown_parse(Markdown *);           /* text is there; finds the blocks */
void markdown_code(const Markdown *, const Block *, Text *out);
void markdown_free(Markdown *);

/* ---- blocks of a document, run (main_block.c) ---- */
enum { BLOCK_OUTPUT_MAX = 16 << 20 };      /* what prints more is stopped */
#define BLOCK_PROMPT "\x1e\x02prompt\x1e"  /* stands before each prompt of a session */

typedef struct Step {
    bool session;
    Text code;
    size_t before;                         /* lines of it that belong to sessions it continues */
} Step;

/* What a child did: stdout and stderr, and how it ended. */
typedef struct Outcome {
    Text out, err;
    int status;                            /* of waitpid */
    TempDir folder;                        /* where the last step ran, with what it left there */
    size_t before;                         /* prompts that are not this block's own */
    bool timed_out, flooded;
} Outcome;

/* Both streams of a session are in o->out, as on a terminal. False: a block that the last one
 * continues did not end well. */
bool block_run(const App *, const Step *steps, int count, Outcome *o);
void block_forget(Outcome *);              /* its folder too */

/* ---- pictures that the blocks of a document make (main_pictures.c) ---- */
typedef struct Picture {
    char name[256];                        /* of a file, without a folder */
    size_t block;                          /* that made it: 1 is the first that is no output */
    Text bytes;
} Picture;
typedef struct Pictures { Picture *items; size_t count, cap; } Pictures;
/* Takes the pictures in a block's folder; one of a name that is known takes its place. */
void pictures_take(Pictures *, const char *folder, size_t block);
/* Does the document show it, as ![…](name)? */
bool picture_linked(const Picture *, const Text *document);
/* Writes it beside the document, unless it is there. 1: written, 0: it was there, -1: errno. */
int picture_land(const Picture *, const char *folder);
void pictures_free(Pictures *);

/* ---- a document as one page (main_html.c) ---- */
void html_page(Text *, const Markdown *, const char *path, const char *folder, const Pictures *);

/* ---- paging (main_doc.c) ---- */

#endif
