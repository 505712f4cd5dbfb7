/* Threads other than the interpreter's take no signals: a thread inherits the mask of the one that
 * starts it, so signals are held wherever we, or a library, may start one. A Ctrl-C that such a
 * thread took would not end the wait for a key. */
#ifndef RICCI_CORE_HELD_SIGNALS_H
#define RICCI_CORE_HELD_SIGNALS_H

#include <signal.h>

/* Those that a thread raises itself by a fault still come (SIGBUS of a mapped file). */
void signals_hold(sigset_t *before);
void signals_let(const sigset_t *before);

#endif
