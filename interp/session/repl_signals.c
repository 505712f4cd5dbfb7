/* Signals of the program: see repl_signals.h. The handlers run on the interpreter's thread, which
 * is the only one that lets signals in, so they may read what it is doing; they allocate nothing,
 * take no locks and write with write(2).
 *
 * A computation polls the interrupt flag. One that does not within a third of a second (a native
 * call, LAPACK where it cannot be stopped) is named, again at the second Ctrl-C; the third ends
 * a program, and in a session leaves a native call halfway. */
#include "interp/session/repl_signals.h"

#include "core/base/limit.h"
#include "core/memory/progress.h"
#include "interp/state/wing.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { STATUS_ERROR = 1, STATUS_INTERRUPT = 130, QUOTED = 60 };
static const long PATIENCE = 350000000, REMOTE_PATIENCE = 120000000;      /* nanoseconds */

typedef struct Timer { int signal, id; bool made; } Timer;

/* What the process knows of its signals: handlers have no other way to it. */
static struct Signals {
    InterruptFlag interrupted;                /* how often, until somebody polls */
    volatile sig_atomic_t keep_session, at_prompt, remote;
    Interp *_Atomic running;
    struct timespec first;                    /* when it was pressed */
    TempDir *_Atomic removed;                 /* the folder that goes with the process */
    Timer limit_timer, part_timer, patience_timer;
    double limit_seconds;
    volatile sig_atomic_t part_runs;          /* a part of the run with a limit of its own */
} signals;

bool signals_interrupted(void)
{
    return signals.interrupted != 0;
}

void signals_keep_session(void)
{
    signals.keep_session = 1;
}

void signals_remote(void)
{
    signals.keep_session = signals.remote = 1;
}

void signals_forget(void)
{
    signals.interrupted = 0;
}

static void start_limit(bool on);

void signals_at_prompt(bool on)
{
    signals.at_prompt = on;
    start_limit(!on);
}

/* ---- saying what is being waited for ---- */
typedef struct Line { char text[256]; size_t n; } Line;

static void put_bytes(Line *l, const char *text, size_t n)
{
    size_t room = sizeof l->text - l->n;
    n = n < room ? n : room;
    memcpy(l->text + l->n, text, n);
    l->n += n;
}

static void put_text(Line *l, const char *text)
{
    put_bytes(l, text, strlen(text));
}

static void put_number(Line *l, long n)
{
    char digits[24];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + n % 10);
    while ((n /= 10) > 0);
    put_bytes(l, digits + at, sizeof digits - at);
}

static void put_time_since_first(Line *l)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    long tenths = (now.tv_sec - signals.first.tv_sec) * 10 +
                  (now.tv_nsec - signals.first.tv_nsec) / 100000000;
    put_number(l, tenths / 10);
    put_text(l, ".");
    put_number(l, tenths % 10);
    put_text(l, " s");
}

/* The user's text of what runs, if it is known: up to the end of its line, and not long. */
static void put_source(Line *l, Interp *in)
{
    Where w = { 0 };
    in->ctx.locate(&in->ctx, &w);
    if (!w.source || w.span.from >= w.span.to || w.span.to > w.source->len) {
        put_text(l, "this");
        return;
    }
    const char *text = w.source->text + w.span.from;
    size_t n = w.span.to - w.span.from;
    const char *end = memchr(text, '\n', n);
    bool cut = end != NULL;
    n = end ? (size_t)(end - text) : n;
    for (; n > QUOTED; cut = true)
        for (n = QUOTED; n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80;)
            n--;
    put_text(l, "`");
    put_bytes(l, text, n);
    put_text(l, cut ? "…`" : "`");
}

/* A native call that runs, or NULL. */
static const char *out_of_reach(const Interp *in)
{
    const char *name = NULL;
    for (const Wing *const *w = in->wings; *w && !name; w++)
        name = (*w)->running ? (*w)->running() : NULL;
    return name;
}

static void tell(void)
{
    Interp *in = signals.running;
    Line l = { .n = 0 };
    if (!in || signals.at_prompt)
        return;
    const char *native = out_of_reach(in);
    progress_erase(&in->ctx);
    put_text(&l, "\nwaiting for ");
    if (native) {
        put_text(&l, "the native call ");
        put_text(&l, native);
    } else {
        put_source(&l, in);
    }
    put_text(&l, " to end, ");
    put_time_since_first(&l);
    put_text(&l, " since Ctrl-C");
    if (native)
        put_text(&l, "; the third leaves it halfway");
    else if (!signals.keep_session)
        put_text(&l, "; the third ends the program");
    put_text(&l, "\n");
    ssize_t done = write(STDERR_FILENO, l.text, l.n);
    (void)done;
}

/* ---- leaving ---- */

void signals_remove(TempDir *folder)
{
    signals.removed = folder;
}

static _Noreturn void leave(int status)
{
    Interp *in = signals.running;
    progress_erase(in ? &in->ctx : NULL);
    tempdir_remove(signals.removed);
    _exit(status);
}

/* ---- timers: each has a signal, directed at the thread that takes them, which is this one ---- */

static int patience_signal(void)
{
    return SIGRTMAX - 2;
}

static int limit_signal(void)
{
    return SIGRTMAX - 3;
}

static int part_signal(void)
{
    return SIGRTMAX - 4;
}

static void timer_set(Timer *t, const struct itimerspec *when)
{
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = t->signal };
    event._sigev_un._tid = gettid();
    if (!t->made)
        t->made = syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &t->id) == 0;
    if (t->made)
        syscall(SYS_timer_settime, t->id, 0, when, NULL);
}

/* ---- how long it may run ---- */
static const long GRACE = 2;                 /* seconds that an interrupted program has to stop */

/* seconds 0: the timer stops. */
static void count_down(Timer *t, int signal, double seconds)
{
    struct itimerspec when = { .it_interval.tv_sec = GRACE };
    when.it_value.tv_sec = (time_t)seconds;
    when.it_value.tv_nsec = (long)((seconds - (double)when.it_value.tv_sec) * 1e9);
    when.it_value.tv_nsec += seconds > 0 && when.it_value.tv_nsec < 999999999;
    t->signal = signal;
    timer_set(t, &when);
}

static void start_limit(bool on)
{
    Interp *in = signals.running;
    if (!(signals.limit_seconds < 1e9))
        return;
    if (in && in->ctx.limit)
        in->ctx.limit->out_of_time = 0;
    count_down(&signals.limit_timer, limit_signal(), on ? signals.limit_seconds : 0);
}

void signals_limit(double seconds)
{
    if (!(seconds < 1e9))
        start_limit(false);
    signals.limit_seconds = seconds;
    start_limit(true);
}

/* The second time it did not stop. */
static void on_limit(int sig)
{
    Interp *in = signals.running;
    Line l = { .n = 0 };
    (void)sig;
    if (!in || !in->ctx.limit)
        return;
    if (!in->ctx.limit->out_of_time) {
        in->ctx.limit->out_of_time = 1;
        signals.interrupted = signals.interrupted ? signals.interrupted : 1;
        return;
    }
    put_text(&l, "ricci: ended: it ran longer than --limit seconds=");
    put_number(&l, (long)signals.limit_seconds);
    put_text(&l, " and did not stop\n");
    ssize_t done = write(STDERR_FILENO, l.text, l.n);
    (void)done;
    leave(STATUS_ERROR);
}

/* An interrupt that nobody polled was meant for the part alone. */
static void end_part(Limit *l)
{
    count_down(&signals.part_timer, part_signal(), 0);
    if (l->part_over)
        signals.interrupted = 0;
    l->part_over = 0;
}

void signals_part(double seconds)
{
    Limit *l = signals.running ? signals.running->ctx.limit : NULL;
    if (!l)
        return;
    if (signals.part_runs)
        end_part(l);
    l->part = seconds;
    signals.part_runs = seconds < 1e9;
    if (signals.part_runs)
        count_down(&signals.part_timer, part_signal(), seconds);
}

static void abandon_native(const Interp *in)
{
    for (const Wing *const *w = in ? in->wings : NULL; w && *w; w++)
        if ((*w)->abandon)
            (*w)->abandon();
}

/* The second time a native call does not end, which is left halfway. */
static void on_part(int sig)
{
    Interp *in = signals.running;
    (void)sig;
    if (!in || !in->ctx.limit || !signals.part_runs)
        return;
    if (in->ctx.limit->part_over) {
        abandon_native(in);
        return;
    }
    in->ctx.limit->part_over = 1;
    signals.interrupted = signals.interrupted ? signals.interrupted : 1;
}

/* ---- Ctrl-C ---- */

static void on_late(int sig)
{
    (void)sig;
    if (signals.remote && signals.interrupted && !signals.at_prompt)
        abandon_native(signals.running);
    else if (signals.interrupted == 1)
        tell();
}


static void start_patience(void)
{
    struct itimerspec patience = { .it_value.tv_nsec = PATIENCE };
    if (signals.remote)
        patience.it_value.tv_nsec = REMOTE_PATIENCE;
    clock_gettime(CLOCK_MONOTONIC, &signals.first);
    signals.patience_timer.signal = patience_signal();
    timer_set(&signals.patience_timer, &patience);
}

/* The timer of a Ctrl-C at the prompt would end a sleep() of the entry. One that came since the
 * entry was accepted is the entry's own: it stops it. */
void signals_settled(void)
{
    const struct itimerspec never = { 0 };
    if (signals.patience_timer.made && !signals.interrupted)
        timer_set(&signals.patience_timer, &never);
}

static void on_interrupt(int sig)
{
    (void)sig;
    if (signals.remote) {
        signals.interrupted = 1;
        start_patience();
        return;
    }
    if (signals.interrupted < 3)
        signals.interrupted++;
    if (signals.interrupted == 1)
        start_patience();
    else if (signals.interrupted == 2)
        tell();
    if (signals.interrupted < 3)
        return;
    if (!signals.keep_session)
        leave(STATUS_INTERRUPT);
    abandon_native(signals.running);
    tell();
}

/* ---- ends and stops ---- */
static bool is_left_to_us(int sig)
{
    struct sigaction before;
    return sigaction(sig, NULL, &before) == 0 && before.sa_handler == SIG_DFL;
}

/* What the signal does anyhow, after the line was taken away; afterwards, if there is one (Ctrl-Z
 * and back), we hear of it again. */
static void on_leaving(int sig)
{
    Interp *in = signals.running;
    sigset_t it, before;
    struct sigaction again, plain = { .sa_handler = SIG_DFL };
    progress_erase(in ? &in->ctx : NULL);
    if (sig != SIGTSTP)
        tempdir_remove(signals.removed);
    sigaction(sig, &plain, &again);
    sigemptyset(&it);
    sigaddset(&it, sig);
    raise(sig);
    pthread_sigmask(SIG_UNBLOCK, &it, &before);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    sigaction(sig, &again, NULL);
}

void signals_for(Interp *in)
{
    static const int leaving[] = { SIGTERM, SIGHUP, SIGTSTP };
    struct sigaction action = { .sa_handler = on_leaving, .sa_flags = SA_RESTART };
    signals.running = in;
    if (!in)
        return;
    in->ctx.interrupt = &signals.interrupted;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof leaving / sizeof *leaving; i++)
        if ((in->ctx.progress || leaving[i] != SIGTSTP) && is_left_to_us(leaving[i]))
            sigaction(leaving[i], &action, NULL);
}

void signals_leave(void)
{
    static const int leaving[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action = { .sa_handler = on_leaving, .sa_flags = SA_RESTART };
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof leaving / sizeof *leaving; i++)
        if (is_left_to_us(leaving[i]))
            sigaction(leaving[i], &action, NULL);
}

static void on_nothing(int sig)
{
    (void)sig;
}

/* What cannot be written says errno. A handler that does nothing, since what is ignored would stay
 * so in the programs that C code starts, where `yes | head` is to end by SIGPIPE. */
static void leave_to_errno(int sig)
{
    struct sigaction action = { .sa_handler = on_nothing, .sa_flags = SA_RESTART };
    sigemptyset(&action.sa_mask);
    if (is_left_to_us(sig))
        sigaction(sig, &action, NULL);
}

void signals_install(void)
{
    struct sigaction action = { .sa_handler = on_interrupt }, late = { .sa_handler = on_late };
    sigemptyset(&action.sa_mask);
    sigemptyset(&late.sa_mask);
    late.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, NULL);
    sigaction(patience_signal(), &late, NULL);
    leave_to_errno(SIGPIPE);               /* a closed pipe */
    leave_to_errno(SIGXFSZ);               /* ulimit -f */
    late.sa_handler = on_limit;
    sigaction(limit_signal(), &late, NULL);
    late.sa_handler = on_part;
    sigaction(part_signal(), &late, NULL);
}
