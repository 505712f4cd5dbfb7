/* How often this process forked on its way from the one that began: a child has none of its
 * parent's threads, and finds locks as they happened to be. */
#ifndef RICCI_CORE_SYSTEM_FORKS_H
#define RICCI_CORE_SYSTEM_FORKS_H

/* Another number in a child than in its parent; cheap. Forks before the first call do not count. */
unsigned forks_seen(void);

#endif
