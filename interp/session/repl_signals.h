/* The signals of the program `ricci`: Ctrl-C and what is said while something cannot be stopped,
 * Ctrl-Z, and the ends from outside. */
#ifndef RICCI_INTERP_REPL_SIGNALS_H
#define RICCI_INTERP_REPL_SIGNALS_H

#include "interp/state/interp.h"

/* Before the interpreter's thread starts: handlers, in force for the whole process. */
void signals_install(void);
/* This interpreter runs on this thread from now on (NULL: it is gone): it polls the flag, and its
 * progress line is taken away when the process stops or ends. */
void signals_for(Interp *);
/* A session goes on where a program would end. */
void signals_keep_session(void);
/* The same where nobody presses keys: an interrupt comes once, nothing is said, and a native call
 * that has not ended a moment later is left halfway. */
void signals_remote(void);
/* What was asked to stop before is over. */
void signals_forget(void);
/* A new entry begins: nothing is said of what was waited for before. */
void signals_settled(void);
/* Was Ctrl-C pressed, and did nobody poll since? */
bool signals_interrupted(void);
/* How long a program may run, and an entry of a session: then it is interrupted, and ended two
 * seconds later if it did not stop. INFINITY: as long as it likes. On the thread that takes
 * signals. */
void signals_limit(double seconds);
/* The same of a part of the run, as a test is: it is interrupted, and a native call in it left
 * halfway, and the run goes on. Limit.part_over says that it was, until the next call of this;
 * INFINITY: that part is over. */
void signals_part(double seconds);
/* A folder that goes when the process is ended by a signal or here; it stays where it is. */
void signals_remove(TempDir *);
/* The same where there is no interpreter: for a program that only waits for others. */
void signals_leave(void);
/* Keys are being waited for: nothing that runs is named. */
void signals_at_prompt(bool);

#endif
