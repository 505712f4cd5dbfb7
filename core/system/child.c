/* fork without handlers, where there is one. */
#include "core/system/child.h"

#include <unistd.h>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if __GLIBC_PREREQ(2, 34)
#define PLAIN_FORK
#endif
#endif

/* The sanitizers have handlers of their own, without which the child would hang. */
pid_t child_fork(void)
{
#ifdef PLAIN_FORK
    return _Fork();
#else
    return fork();
#endif
}
