/* A counter that pthread_atfork moves on. */
#include "core/system/forks.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_uint forks;
static pthread_once_t watched = PTHREAD_ONCE_INIT;

static void forked(void) { atomic_fetch_add(&forks, 1); }
static void watch(void) { pthread_atfork(NULL, NULL, forked); }

unsigned forks_seen(void)
{
    pthread_once(&watched, watch);
    return atomic_load_explicit(&forks, memory_order_relaxed);
}
