/* What the parts of the prompt share: repl_line.c waits for keys, repl_edit.c is what keys do,
 * repl_draw.c shows the entry, repl_colour.c colours it, repl_paste.c reads what is pasted,
 * repl_history.c keeps what was entered. Nobody else includes this. Readline's callbacks take no
 * argument, so the parts have static records beside its own. */
#ifndef RICCI_INTERP_REPL_EDIT_H
#define RICCI_INTERP_REPL_EDIT_H

#include "interp/session/repl.h"

#include <stdio.h>
#define _FUNCTION_DEF        /* readline's old typedef Function would clash with ours */
#include <readline/history.h>
#include <readline/readline.h>

/* ---- repl_line.c ---- */
bool entry_is_done(const char *text, size_t len);    /* asks the caller of entry_read */
/* Says once below an entry that waits, and that blank lines did not end, what is open in it. */
void entry_hint(const char *text, size_t len);
bool key_is_there(void);         /* that nobody has read yet */
/* Did the last key come alone, from a hand? What is pasted or was typed ahead comes in bursts. */
bool key_is_alone(void);
bool key_has_ended(void);        /* the terminal is gone */
bool key_was_interrupted(void);  /* Ctrl-C, which the prompt has not answered yet */
/* While it is on, keys are read in blocks. */
void key_in_blocks(bool on);

/* ---- repl_edit.c ---- */
/* Puts the commands for entries of several lines where readline's own for one line are bound. */
void edit_bind(Interp *);

/* ---- repl_paste.c ---- */
int paste_read(int count, int key);                  /* bound to the begin of a bracketed paste */
/* Length of the prompts that a line begins with; 0: none. `more`: of the lines that go on too. */
size_t paste_prompt(const char *line, size_t len, bool more);

/* ---- repl_colour.c ---- */
typedef enum Paint {
    PAINT_PLAIN, PAINT_KEYWORD, PAINT_NUMBER, PAINT_STRING, PAINT_ESCAPE, PAINT_COMMENT,
    PAINT_KNOWN, PAINT_COMMAND, PAINT_BRACKET, PAINT_WRONG,
    PAINT_PAIR, PAINT_PROMPT, PAINT_MORE, PAINT_CONTROL,       /* put by repl_draw.c */
    PAINTS,
    PAINT_REGION = 128           /* added to the others */
} Paint;

/* What is open where a line begins. */
enum { SCAN_DEEP = 45 };
typedef struct Scan {
    /* of brackets; what is deeper than SCAN_DEEP is counted, not kept */
    uint16_t depth;
    bool inside;                 /* the entry's first line is over */
    /* ( [ {, ` raw string, C braces of C, * its comments; within a line " string, i
     * interpolation */
    char open[SCAN_DEEP];
} Scan;

/* Says how each byte of a line is shown (`paint` NULL: nobody asks), and moves on to the begin of
 * the next one. */
void colour_line(Interp *, Scan *, const char *text, size_t len, uint8_t *paint);

/* ---- repl_draw.c: the entry in rl_line_buffer, as the terminal shows it ---- */
void draw_open(Interp *);
void draw_close(void);
/* What follows is drawn where the cursor stands, at the begin of a new line of the terminal. */
void draw_begin(void);
/* Shows the entry as it is now: what has changed of it. Never raises. */
void draw(void);
/* Draws the entry as it is, without what helps while it is edited; the cursor goes behind its last
 * line, and what was drawn is not touched any more. */
void draw_leave(void);
/* The same with all lines of an entry that is higher than the terminal, and a new line. */
void draw_finish(void);
void draw_again(void);           /* as if nothing stood there */
void draw_clear(const char *how);/* wipes the terminal */
/* Is a bracket or a string surely open at the entry's end? False: ask the parser. */
bool draw_is_open(void);

#endif
