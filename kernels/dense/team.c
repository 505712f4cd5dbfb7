/* Rounds of blocks (team.h). */
#include "kernels/dense/team.h"

#include "core/memory/pool.h"

#include <sched.h>

/* A round is its number, the end of the blocks that are left, and the first of them. The leader
 * takes the first, the others the last: so each finds in its cache what it read a round ago. */
enum { BITS = 20, SPINS = 200 };

static bool take_block(Team *t, bool leader, int worker)
{
    const uint64_t mask = (1 << BITS) - 1;
    uint64_t round = atomic_load_explicit(&t->round, memory_order_acquire);
    uint64_t first = round & mask, end = round >> BITS & mask;
    if (first >= end || !atomic_compare_exchange_strong(
                            &t->round, &round, leader ? round + 1 : round - (mask + 1)))
        return false;
    t->block(t->data, (int64_t)(leader ? first : end - 1), worker);
    atomic_fetch_add_explicit(&t->done, 1, memory_order_release);
    return true;
}

static void wait_a_little(int *turn)
{
    if ((*turn)++ >= SPINS)
        sched_yield();
#if defined(__x86_64__) || defined(__i386__)
    else
        __builtin_ia32_pause();
#endif
}

void team_share(Team *t, int64_t count)
{
    uint64_t number = (atomic_load_explicit(&t->round, memory_order_relaxed) >> 2 * BITS) + 1;
    int turn = 0;
    atomic_store_explicit(&t->done, 0, memory_order_relaxed);
    atomic_store_explicit(&t->round, number << 2 * BITS | (uint64_t)count << BITS,
                          memory_order_release);
    while (atomic_load_explicit(&t->done, memory_order_acquire) < count)
        if (!take_block(t, true, t->worker))
            wait_a_little(&turn);
}

static void member(void *arg, int64_t begin, int64_t end, int worker)
{
    Team *t = arg;
    int turn = 0;
    (void)begin, (void)end;
    if (!atomic_exchange(&t->led, true)) {
        t->worker = worker;
        t->lead(t);
        atomic_store(&t->over, true);
        return;
    }
    while (!atomic_load_explicit(&t->over, memory_order_acquire))
        if (take_block(t, false, worker))
            turn = 0;
        else
            wait_a_little(&turn);
}

void team_run(Team *t, bool alone)
{
    pool_for(t->ctx, alone ? 1 : pool_threads(t->ctx), 1, member, t);
}
