/* A child process without the handlers that libraries want to run before one is made (OpenBLAS ends
 * its threads there, and waits for ever where another interpreter of the process is inside it). For
 * children that run another program, or end, by calls that a handler of signals may make too. */
#ifndef RICCI_CORE_CHILD_H
#define RICCI_CORE_CHILD_H

#include <sys/types.h>

pid_t child_fork(void);          /* as fork */

#endif
