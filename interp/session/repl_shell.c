/* Other programs from the session: `!command`, and the editor of :edit. They get the terminal as
 * the session was given it: signals at their defaults, and Ctrl-C is theirs alone. */
#include "interp/session/repl_commands.h"
#include "interp/output/output.h"

#include "core/system/ascii.h"
#include "core/system/c_locale.h"
#include "core/base/error.h"
#include "core/base/fence.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

extern char **environ;

/* What the session catches or ignores must not be inherited: `yes | head` ends by SIGPIPE. */
static int start(pid_t *pid, const char *program, const char *argument)
{
    static const int defaults[] = { SIGINT, SIGQUIT, SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU, SIGCHLD };
    char *const argv[] = { (char *)"sh", (char *)"-c", (char *)program, (char *)"sh",
                           (char *)argument, NULL };
    posix_spawnattr_t how;
    sigset_t set;
    posix_spawnattr_init(&how);
    sigemptyset(&set);
    posix_spawnattr_setsigmask(&how, &set);
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        sigaddset(&set, defaults[i]);
    posix_spawnattr_setsigdefault(&how, &set);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int error = posix_spawn(pid, "/bin/sh", NULL, &how, argv, environ);
    posix_spawnattr_destroy(&how);
    return error;
}

/* Ctrl-C and Ctrl-\ go to the whole foreground group: they end the program, not the session. A
 * SIGCHLD that is ignored (some programs start others so) would take the exit status away. */
static void keep_signals(struct sigaction before[3])
{
    struct sigaction ignore = { .sa_handler = SIG_IGN }, plain = { .sa_handler = SIG_DFL };
    sigemptyset(&ignore.sa_mask);
    sigemptyset(&plain.sa_mask);
    sigaction(SIGINT, &ignore, &before[0]);
    sigaction(SIGQUIT, &ignore, &before[1]);
    sigaction(SIGCHLD, &plain, &before[2]);
}

static void restore_signals(const struct sigaction before[3])
{
    sigaction(SIGINT, &before[0], NULL);
    sigaction(SIGQUIT, &before[1], NULL);
    sigaction(SIGCHLD, &before[2], NULL);
}

int repl_spawn(Repl *r, const char *program, const char *argument)
{
    struct sigaction before[3];
    struct termios modes;
    pid_t pid = 0;
    int status = 0;
    fence_check(&r->in->ctx, REACH_PROCESS, "this command");
    out_flush(r->in);
    keep_signals(before);
    bool terminal = tcgetattr(STDIN_FILENO, &modes) == 0;
    int error = start(&pid, program, argument);
    while (!error && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            error = errno;
    if (terminal && status != 0)               /* one that failed may have left it raw */
        tcsetattr(STDIN_FILENO, TCSADRAIN, &modes);
    restore_signals(before);
    *r->in->ctx.interrupt = 0;
    if (error)
        err_raise(&r->in->ctx, ERR_IO, "cannot run a shell: %s", c_strerror(error));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- without a terminal ---- */
enum { SHELL_LOOK_MS = 50, SHELL_GRACE = 6 };      /* looks until what was interrupted is killed */

/* One end of a pipe that a command writes to, and the stream that it comes out of here. */
typedef struct Stream { int fd[2], number; } Stream;

static int start_piped(pid_t *pid, const char *program, const Stream *streams)
{
    char *const argv[] = { (char *)"sh", (char *)"-c", (char *)program, NULL };
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none, pipe_only;
    sigemptyset(&none);
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    sigaddset(&pipe_only, SIGINT);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    for (int i = 0; i < 2; i++)
        posix_spawn_file_actions_adddup2(&files, streams[i].fd[1], streams[i].number);
    posix_spawnattr_init(&how);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &pipe_only);
    posix_spawnattr_setpgroup(&how, 0);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                             POSIX_SPAWN_SETPGROUP);
    int error = posix_spawn(pid, "/bin/sh", &files, &how, argv, environ);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

/* False: the stream is over. */
static bool pass_on(Repl *r, Stream *s)
{
    char text[4097];
    ssize_t n = read(s->fd[0], text, sizeof text - 1);
    if (n < 0 && errno == EINTR)
        return true;
    if (n <= 0)
        return false;
    text[n] = '\0';
    if (s->number == STDOUT_FILENO)
        out_write(r->in, text, (size_t)n);
    else
        err_put(r->in, text);
    return true;
}

/* Until both streams are over, or the command was interrupted and did not end. */
static void pass_all_on(Repl *r, Stream *streams, pid_t pid)
{
    int looks = 0;
    while (streams[0].fd[0] >= 0 || streams[1].fd[0] >= 0) {
        struct pollfd ready[2] = { { streams[0].fd[0], POLLIN, 0 },
                                   { streams[1].fd[0], POLLIN, 0 } };
        poll(ready, 2, SHELL_LOOK_MS);
        if (*r->in->ctx.interrupt)
            kill(-pid, looks++ < SHELL_GRACE - 2 ? SIGINT : SIGKILL);
        if (looks > SHELL_GRACE)
            return;
        for (int i = 0; i < 2; i++)
            if (streams[i].fd[0] >= 0 && ready[i].revents && !pass_on(r, &streams[i])) {
                close(streams[i].fd[0]);
                streams[i].fd[0] = -1;
            }
    }
}

static void close_all(Stream *streams)
{
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            if (streams[i].fd[k] >= 0) {
                close(streams[i].fd[k]);
                streams[i].fd[k] = -1;
            }
}

int repl_spawn_read(Repl *r, const char *program)
{
    Stream streams[2] = { { { -1, -1 }, STDOUT_FILENO }, { { -1, -1 }, STDERR_FILENO } };
    pid_t pid = 0;
    int status = 0;
    fence_check(&r->in->ctx, REACH_PROCESS, "this command");
    bool piped = pipe2(streams[0].fd, O_CLOEXEC) == 0 && pipe2(streams[1].fd, O_CLOEXEC) == 0;
    int error = piped ? start_piped(&pid, program, streams) : errno;
    ErrFrame frame;
    if (error) {
        close_all(streams);
        err_raise(&r->in->ctx, ERR_IO, "cannot run a shell: %s", c_strerror(error));
    }
    for (int i = 0; i < 2; i++) {
        close(streams[i].fd[1]);
        streams[i].fd[1] = -1;
    }
    if (!ERR_TRY(&r->in->ctx, &frame)) {                /* what it writes cannot be written */
        close_all(streams);
        kill(-pid, SIGKILL);
        waitpid(pid, NULL, 0);
        err_rethrow(&r->in->ctx);
    }
    pass_all_on(r, streams, pid);
    ERR_END(&r->in->ctx, &frame);
    close_all(streams);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    poll_interrupt(r->in);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* `cd folder` alone: it would change the shell's folder, which ends with it. */
static bool changes_folder(Repl *r, const char *command)
{
    char line[400];
    if (strncmp(command, "cd", 2) != 0 || (command[2] && !ascii_space(command[2])) ||
        strpbrk(command, ";|&`$"))
        return false;
    snprintf(line, sizeof line, "A shell command cannot change the session's folder: its shell "
             "ends at once.\n:cd%s changes it.\n", command + 2);
    repl_say(r, line);
    return true;
}

void repl_shell(Repl *r, const char *command)
{
    char line[64];
    if (!*command)
        err_raise_help(&r->in->ctx, ERR_VALUE, "for example !ls", "! runs a shell command");
    fence_check(&r->in->ctx, REACH_PROCESS, "!command");
    if (changes_folder(r, command))
        return;
    int status = r->document ? repl_spawn_read(r, command) : repl_spawn(r, command, NULL);
    if (status == 128 + SIGINT)
        repl_say(r, "\n");
    else if (status > 128 && status < 128 + 65)
        snprintf(line, sizeof line, "ended by signal %d (%s)\n", status - 128,
                 c_strsignal(status - 128));
    else
        snprintf(line, sizeof line, "exit status %d\n", status);
    if (status != 0 && status != 128 + SIGINT)
        repl_say(r, line);
}
