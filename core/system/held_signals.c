/* Signals that threads of libraries do not take (held_signals.h). */
#include "core/system/held_signals.h"

#include <stddef.h>

void signals_hold(sigset_t *before)
{
    static const int own[] = { SIGBUS, SIGSEGV, SIGFPE, SIGILL };
    sigset_t held;
    sigfillset(&held);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&held, own[i]);
    pthread_sigmask(SIG_SETMASK, &held, before);
}

void signals_let(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}
