/* Other programs from the session: `!command`, and the editor of :edit. They get the terminal as
 * the session was given it: signals at their defaults, and Ctrl-C is theirs alone. */
#include "interp/session/repl_commands.h"
#include "interp/output/output.h"

#include "core/system/ascii.h"
#include "core/system/c_locale.h"
#include "core/base/fence.h"

#include <errno.h>
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
    int status = repl_spawn(r, command, NULL);
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
