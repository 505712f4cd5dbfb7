/* Completion at the prompt. repl_line.c opens it with the terminal; inside, repl_spot.c says
 * what stands at the cursor, repl_candidates.c what could stand there, repl_complete.c shows and
 * inserts it. */
#ifndef RICCI_INTERP_REPL_COMPLETE_H
#define RICCI_INTERP_REPL_COMPLETE_H

#include "interp/session/repl.h"

/* Tells readline where completions come from. */
void complete_open(Interp *);
void complete_with(const ReplHelp *);       /* whose topics ?TAB completes */
void complete_close(void);

/* ---- what stands at the cursor (repl_spot.c) ---- */
typedef enum SpotKind {
    SPOT_NOTHING,            /* a number, a comment: nothing to complete */
    SPOT_INDENT,             /* only blanks before it on its line */
    SPOT_NAME,               /* a name of the program, or an argument of the call around it */
    SPOT_MEMBER,             /* after `t.`: `path` is t */
    SPOT_SYMBOL,             /* \alpha */
    SPOT_STRING, SPOT_RAW,   /* inside a string that opened at `from`: a file */
    SPOT_MODULE,             /* after import, or from */
    SPOT_FORMAT, SPOT_DTYPE, SPOT_MODE,      /* after precision; dtype=; round */
    SPOT_PRECISION_WORD,     /* after precision FORMAT: accumulate, round, … */
    SPOT_DEVICE, SPOT_ON_WORD,
    SPOT_COMMAND,            /* after `:` */
    SPOT_ARGUMENT,           /* of a command: `takes` says of what kind */
    SPOT_HELP,               /* after ? */
    SPOT_SHELL               /* after !: a file, and of the first word a program too */
} SpotKind;

typedef struct Spot {
    SpotKind kind;
    size_t from;             /* where the text to be replaced begins; it ends at the cursor */
    size_t path;             /* MEMBER: where `t` begins */
    size_t callee, callee_len;   /* the name before the innermost open parenthesis; len 0: none */
    size_t argument;         /* where the argument in which the cursor stands begins */
    int position;            /* its number */
    bool first;              /* SHELL: the first word */
    bool starts;             /* only blanks stand between `argument` and `from` */
    char takes;              /* ARGUMENT: as in the table of commands */
} Spot;

Spot spot_find(const char *text, size_t cursor);

/* ---- what could stand there (repl_candidates.c) ---- */
typedef struct Candidate {
    char *text;              /* what replaces text from Spot.from on; malloc'ed */
    const char *shown;       /* in the list, if not text; lies in text, or for ever */
    const char *note;        /* in the list behind it; for ever; or: */
    Value v;                 /* a borrowed value that the note describes */
    const Op *op;
} Candidate;

typedef struct Candidates {
    Candidate *items;
    size_t count, cap;
} Candidates;

/* Those that the text from Spot.from to the cursor begins; where there are none, those that it
 * begins in other letter case; where there are none, the only one that holds it. Never raises. */
void candidates_find(Interp *, const ReplHelp *, const char *text, size_t cursor, const Spot *,
                     Candidates *);
void candidates_free(Candidates *);
void candidates_add(Candidates *, const char *text, const char *note);
/* The function that is called at the spot; undefined if that is no function. */
Value candidates_callee(Interp *, const char *text, const Spot *);
/* The value that `a.b.c` names, as far as it can be had by looking: undefined otherwise. */
Value candidates_value(Interp *, const char *path, size_t len);
/* `f(a, b=2)` of an operation, a function, a C function; nothing for other values. May raise. */
void candidates_signature(Interp *, Buf *, Value);
/* Files that begin with `typed`; quote: '"' or '`' inside such a string, '\\' for the shell, 0 as
 * they are. (repl_candidates_file.c) */
void candidates_files(Candidates *, const char *typed, size_t len, char quote, bool folders_only);
void candidates_programs(Candidates *, const char *typed, size_t len);

#endif
