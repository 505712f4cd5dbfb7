/* One block of a document, for `ricci doctest`: it runs in a child, made by fork before there is
 * an interpreter, so that a crash, an endless loop or exit() ends that block alone. doctest_steps
 * is what the child's interpreter does.
 *
 * A block is one or more steps: what it continues, and itself. The child puts a mark into its
 * output where the last one begins. In a session a mark stands before every prompt. */
#include "interp/program/main.h"

#include "core/system/c_locale.h"
#include "interp/session/repl.h"
#include "interp/output/output.h"
#include "kernels/device/device.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TICK_MS = 20 };

#define MARK_BLOCK "\x1e\x02block\x1e"      /* bytes that no program prints by accident */

/* ---- in the child ---- */
static void run_source_step(App *app, const char *text)
{
    Interp *in = app->in;
    Source *source = source_new(&in->ctx, "<stdin>", text, strlen(text));
    v_release(&in->ctx, app_run_source(app, in->main, source));
}

static void run_session_step(App *app, const Text *typed)
{
    int fd = memfd_create("typed", MFD_CLOEXEC);
    if (fd < 0 || write(fd, typed->data, typed->len) != (ssize_t)typed->len ||
        lseek(fd, 0, SEEK_SET) < 0 || dup2(fd, STDIN_FILENO) < 0)
        exit(STATUS_ERROR);
    close(fd);
    __fpurge(stdin);
    clearerr(stdin);
    entry_mark(BLOCK_PROMPT);
    app->in->interactive = true;
    app_session(app);
    app->in->interactive = false;
}

static void put_mark(App *app, const char *mark)
{
    out_flush(app->in);
    size_t n = strlen(mark);
    if (write(STDOUT_FILENO, mark, n) < 0 || write(STDERR_FILENO, mark, n) < 0)
        exit(STATUS_ERROR);
}

void doctest_steps(App *app)
{
    for (int i = 0; i < app->step_count && app->status == 0; i++) {
        const Step *step = &app->steps[i];
        if (i == app->step_count - 1)
            put_mark(app, MARK_BLOCK);
        if (step->session)
            run_session_step(app, &step->code);
        else
            app_guarded(app, run_source_step, step->code.data ? step->code.data : "");
    }
}

/* It works in the folder that tempdir() names, which the parent made and removes. */
_Noreturn static void child(const App *parent, const Step *steps, int count, int out, int err)
{
    App app = { .mode = MODE_BLOCKS, .steps = steps, .step_count = count,
                .safe_by = parent->safe_by,
                .limit = parent->limit, .look_in = parent->look_in, .tempdir = parent->tempdir };
    app.tempdir.owner = 0;
    int null = open("/dev/null", O_RDONLY);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("LC_ALL", "C.UTF-8", 1);        /* a document says the same on every machine */
    setenv("RICCI_PICTURES", "text", 1);
    setpgid(0, 0);
    if (chdir(app.tempdir.path) != 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
        _exit(STATUS_ERROR);
    exit(app_run(&app));
}

/* ---- running a block ---- */
/* Takes what is there; false at the end of it. */
static bool drain(int fd, Text *into)
{
    char bytes[1 << 14];
    ssize_t n;
    while ((n = read(fd, bytes, sizeof bytes)) > 0)
        text_put(into, bytes, (size_t)n);
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Until the child has ended and its output is read. What it left running may keep the pipes
 * open: then the end of the child is enough. */
static void watch(pid_t pid, int out, int err, double seconds, Outcome *o)
{
    double end = seconds > 0 ? device_clock() + seconds : INFINITY;
    bool more_out = true, more_err = err >= 0, ended = false;
    while (!ended) {
        struct pollfd fds[2] = { { more_out ? out : -1, POLLIN, 0 },
                                 { more_err ? err : -1, POLLIN, 0 } };
        poll(fds, 2, more_out || more_err ? TICK_MS : 1);
        ended = waitpid(pid, &o->status, WNOHANG) == pid;
        more_out = more_out && drain(out, &o->out);
        more_err = more_err && drain(err, &o->err);
        o->flooded = o->out.len + o->err.len > BLOCK_OUTPUT_MAX;
        o->timed_out = !ended && device_clock() > end;
        if (!ended && (o->flooded || o->timed_out)) {
            kill(-pid, SIGKILL);
            ended = waitpid(pid, &o->status, 0) == pid;
        }
    }
    kill(-pid, SIGKILL);                   /* what it left behind */
}

/* Cuts off what came before the last mark; false: the last step did not begin. */
static bool cut_to_mark(Text *text)
{
    size_t n = strlen(MARK_BLOCK);
    char *at = text->data ? memmem(text->data, text->len, MARK_BLOCK, n) : NULL;
    if (!at)
        return false;
    text->len -= (size_t)(at - text->data) + n;
    memmove(text->data, at + n, text->len + 1);
    return true;
}

static bool open_pipe(int ends[2])
{
    return pipe2(ends, O_CLOEXEC) == 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

/* A folder per block, below that of the run. */
static void make_folder(App *app)
{
    static const char mark[] = "/block";
    size_t n = strlen(app->tempdir.path);
    if (n + sizeof mark > sizeof app->tempdir.path ||
        mkdir(strcat(app->tempdir.path, mark), 0700) != 0) {
        fprintf(stderr, "ricci: cannot make a folder for a block: %s\n", c_strerror(errno));
        exit(STATUS_ERROR);
    }
}

bool block_run(const App *parent, const Step *steps, int count, Outcome *o)
{
    App app = *parent;
    int out[2], err[2] = { -1, -1 };
    bool one = steps[count - 1].session;
    fflush(NULL);
    if (!open_pipe(out) || (!one && !open_pipe(err))) {
        fprintf(stderr, "ricci: cannot make a pipe: %s\n", c_strerror(errno));
        exit(STATUS_ERROR);
    }
    make_folder(&app);
    pid_t pid = fork();
    if (pid == 0)
        child(&app, steps, count, out[1], one ? out[1] : err[1]);
    close(out[1]);
    if (!one)
        close(err[1]);
    if (pid < 0) {
        fprintf(stderr, "ricci: cannot start a process: %s\n", c_strerror(errno));
        exit(STATUS_ERROR);
    }
    watch(pid, out[0], err[0], app.options.timeout, o);
    o->folder = app.tempdir;
    o->folder.owner = getpid();
    close(out[0]);
    if (!one)
        close(err[0]);
    bool began = cut_to_mark(&o->out);
    return (one ? cut_to_mark(&o->out) : cut_to_mark(&o->err)) && began;
}

void block_forget(Outcome *o)
{
    tempdir_remove(&o->folder);
    text_free(&o->out);
    text_free(&o->err);
}
