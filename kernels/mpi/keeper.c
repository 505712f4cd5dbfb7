/* Whoever starts a launcher may be killed at any time. A launcher whose ranks went by themselves
 * ends and removes its files; one that hangs has to be ended. So this waits beside it for the
 * session to go, and then as long as a launcher that is well may take. (The kernel could tell a
 * launcher that its parent died, but it tells each of the session's threads' deaths, and a second
 * signal makes launchers leave without removing anything.) */
#include "kernels/mpi/keeper.h"

#include "core/system/c_locale.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WELL_MS = 2000, ASKED_MS = 2000 };

static volatile sig_atomic_t asked;

static void ask(int signal) { asked = signal == SIGTERM; }
static void wake(int signal) { (void)signal; }

static void handle(int signal, void (*handler)(int))
{
    struct sigaction a = { .sa_handler = handler };
    sigemptyset(&a.sa_mask);
    sigaction(signal, &a, NULL);
}

static _Noreturn void become(char **argv, const sigset_t *mask, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(127);
    int null = open("/dev/null", O_RDONLY);
    if (null >= 0)
        dup2(null, STDIN_FILENO);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    execv(argv[0], argv);
    fprintf(stderr, "%s cannot be started: %s\n", argv[0], c_strerror(errno));
    _exit(127);
}

/* Sleeps until something may have changed. */
static void nap(bool session, const sigset_t *mask, int ms)
{
    struct pollfd p = { .fd = session ? STDIN_FILENO : -1, .events = POLLIN };
    struct timespec t = { ms / 1000, ms % 1000 * 1000000L };
    ppoll(&p, 1, ms < 0 ? NULL : &t, mask);
}

static bool session_there(void)
{
    struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
    char byte;
    return poll(&p, 1, 0) <= 0 || read(STDIN_FILENO, &byte, 1) != 0;
}

static int status_of(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static long since(const struct timespec *begin)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (t.tv_sec - begin->tv_sec) * 1000 + (t.tv_nsec - begin->tv_nsec) / 1000000;
}

int keeper_main(char **argv)
{
    sigset_t held, mask;
    int status;
    bool session = true, told = false;
    struct timespec gone = { 0 };
    sigemptyset(&held);
    sigaddset(&held, SIGCHLD);
    sigaddset(&held, SIGTERM);
    sigprocmask(SIG_BLOCK, &held, &mask);
    sigdelset(&mask, SIGCHLD);
    sigdelset(&mask, SIGTERM);
    signal(SIGINT, SIG_IGN);
    /* Its words may find nobody when the session is gone: it still has files to remove. */
    signal(SIGPIPE, SIG_IGN);
    handle(SIGCHLD, wake);
    handle(SIGTERM, ask);
    pid_t parent = getpid(), child = fork();
    if (child == 0)
        become(argv, &mask, parent);
    while (child > 0 && waitpid(child, &status, WNOHANG) != child) {
        if (session && !session_there()) {
            session = false;
            clock_gettime(CLOCK_MONOTONIC, &gone);
        }
        if (!told && (asked || (!session && since(&gone) >= WELL_MS))) {
            kill(child, SIGTERM);
            told = true;
        }
        if (!session && since(&gone) >= WELL_MS + ASKED_MS)
            kill(0, SIGKILL);              /* this too */
        nap(session, &mask, session ? -1 : 20);
    }
    return child > 0 ? status_of(status) : 127;
}
