/* The program `ricci`: the composition root. Makes the interpreter on a stack that is large
 * enough for deep recursion, and runs a file, a text, a session, or a subcommand; what it was
 * asked for is read in main_usage.c, the subcommands are in main_test.c, main_format.c,
 * main_doc.c and main_doctest.c. It holds no language.
 *
 * Exit status: 0; 1 for an error in the program or its output; 2 for a wrong command
 * line; 130 when interrupted; 141 when nobody reads what it writes. */
#include "interp/program/main.h"

#include "core/system/c_locale.h"
#include "core/base/mem.h"
#include "core/memory/progress.h"
#include "kernels/blas/blas_stop.h"
#include "kernels/blas/lapacke.h"
#include "kernels/elimination/suitesparse.h"
#include "kernels/mpi/keeper.h"
#include "kernels/mpi/rank.h"
#include "interp/native/native.h"
#include "interp/session/repl_signals.h"
#include "interp/output/output.h"
#include "interp/session/repl.h"
#include "interp/show/show.h"
#include "interp/life.h"
#include "interp/eval/module.h"
#include "builtins/help/help.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#define STACK_BYTES ((size_t)8 << 20)     /* its longjmp clears the shadow of the whole stack */
#else
#define STACK_BYTES ((size_t)256 << 20)
#endif
#define STACK_MARGIN ((size_t)2 << 20)     /* what native libraries may need below us */

/* ---- running under a catch point ---- */
void app_report(App *app)
{
    int kind = (int)app->in->ctx.error->kind;
    app->status = kind == ERR_INTERRUPT && !limit_is_over(&app->limit) ? STATUS_INTERRUPT
                                                                       : STATUS_ERROR;
    err_report(app->in);
    if (app->in->out_closed)
        app->status = STATUS_PIPE;
}

bool app_stopped(const App *app)
{
    return app->status == STATUS_INTERRUPT || app->status == STATUS_PIPE ||
           app->limit.out_of_time;
}

void app_output_failed(void)
{
    if (errno == EPIPE)
        exit(STATUS_PIPE);
    fprintf(stderr, "ricci: cannot write to standard output: %s\n", c_strerror(errno));
    exit(STATUS_ERROR);
}

static void end_source(App *app)
{
    if (app->chunk)
        chunk_release(app->chunk);
    if (app->source)
        source_release(app->source);
    app->chunk = NULL;
    app->source = NULL;
}

/* Calls body; an error is reported and sets the status. Returns whether there was none. */
bool app_guarded(App *app, void (*body)(App *, const char *), const char *argument)
{
    Interp *in = app->in;
    Guard guard;
    guard_enter(in, &guard);
    if (!ERR_TRY(&in->ctx, &guard.frame)) {
        guard_restore(in, &guard);
        progress_stop(&in->ctx);
        app_report(app);
        end_source(app);
        return false;
    }
    progress_start(&in->ctx, argument);
    body(app, argument);
    ERR_END(&in->ctx, &guard.frame);
    progress_stop(&in->ctx);
    end_source(app);
    return true;
}

static void print_result(App *app, Value v)
{
    Interp *in = app->in;
    v_push(in, v);
    if (app->print && v.tag != V_NONE) {
        show_print(in, &in->out, v, true);
        buf_putc(&in->out, '\n');
    }
    stack_cut(in, in->sp - 1);
}

static Source *read_stdin(Interp *in)
{
    Buf text;
    char block[1 << 14];
    ssize_t n;
    buf_init(&text, &in->ctx);
    while ((n = read(STDIN_FILENO, block, sizeof block)) != 0) {
        if (n > 0)
            buf_put(&text, block, (size_t)n);
        else if (errno != EINTR || signals_interrupted())
            break;
    }
    int error = n < 0 && !signals_interrupted() ? errno : 0;
    Source *source = source_new(&in->ctx, "<stdin>", buf_cstr(&text), text.len);
    buf_free(&text);
    if (error || signals_interrupted())
        source_release(source);
    poll_interrupt(in);
    if (error)
        err_raise(&in->ctx, ERR_IO, "cannot read standard input: %s", c_strerror(error));
    return source;
}

Source *app_read_source(Interp *in, const char *path)
{
    return strcmp(path, "-") == 0 ? read_stdin(in) : source_read(&in->ctx, path);
}

Value app_run_source(App *app, Module *module, Source *source)
{
    Interp *in = app->in;
    app->source = source;
    app->chunk = parse_source(&in->ctx, &in->names, source);
    return run_chunk(in, module, app->chunk);
}

static void run_file(App *app, const char *path)
{
    print_result(app, app_run_source(app, app->in->main, app_read_source(app->in, path)));
}

static void run_code(App *app, const char *code)
{
    print_result(app, run_text(app->in, app->in->main, "<-e>", code, strlen(code)));
}

/* ---- the interpreter's life ---- */
const ReplHelp app_help = { help_show, help_search, help_kind, help_topic_name, help_known };

void app_session(App *app)
{
    signals_keep_session();
    app->status = repl_run(app->in, &app_help);
}

static void run_mode(App *app)
{
    switch (app->mode) {
    case MODE_REPL: case MODE_DOCTEST: break;
    case MODE_FILE: app_guarded(app, run_file, app->text); break;
    case MODE_STDIN: app_guarded(app, run_file, "-"); break;
    case MODE_CODE: app_guarded(app, run_code, app->text); break;
    case MODE_TEST: test_files(app); break;
    case MODE_FORMAT: format_files(app); break;
    case MODE_DOC: doc_names(app); break;
    case MODE_EXPLAIN: explain_kinds(app); break;
    case MODE_BLOCKS: doctest_steps(app); break;
    case MODE_JUPYTER: jupyter_command(app); break;
    case MODE_CALIBRATE: calibrate(app); break;
    }
    if (app->mode == MODE_REPL || app->interactive)
        app_session(app);
}

static void *run_interpreter(void *argument)
{
    App *app = argument;
    pthread_sigmask(SIG_SETMASK, &app->signals, NULL);
    Interp *in = app->in = interp_new();
    if (app->mode != MODE_JUPYTER)             /* whose stderr nobody watches */
        progress_open(&in->ctx);
    signals_for(in);
    in->ctx.stack_limit = app->stack + STACK_MARGIN;
    in->argc = app->argc;
    in->argv = app->argv;
    in->interactive = app->mode == MODE_REPL || app->interactive;
    in->errors_end = (app->mode == MODE_FILE || app->mode == MODE_STDIN) && !app->interactive;
    in->strict_devices = app->strict_devices;
    in->no_notices = app->no_notices;
    safe_give(app);
    output_measure_terminal(in);
    buf_init(&app->text_out, &in->ctx);
    run_mode(app);
    signals_limit(INFINITY);
    buf_free(&app->text_out);
    progress_close(&in->ctx);
    out_flush(in);
    app->status = output_status(in, app->status);
    signals_for(NULL);
    in->leaves = true;
    interp_end(in);
    app->left = in->left;
    if (!in->left)
        interp_free_memory(in);
    return NULL;
}

/* A thread whose stack is reserved here, committed as it is used; a smaller one where
 * the limits of the process do not allow that much. This thread takes no signals: they
 * are for the one that reads the terminal. */
static bool run_on_large_stack(App *app)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
    size_t bytes = mem_address_share(STACK_BYTES);
    bytes = bytes > 2 * STACK_MARGIN ? bytes : 2 * STACK_MARGIN;
    char *stack;
    while ((stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0)) == MAP_FAILED)
        if ((bytes /= 2) < 2 * STACK_MARGIN)
            return false;
    mprotect(stack, (size_t)sysconf(_SC_PAGESIZE), PROT_NONE);
    app->stack = stack;
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &app->signals);
    pthread_attr_init(&attributes);
    bool ok = pthread_attr_setstack(&attributes, stack, bytes) == 0 &&
              pthread_create(&thread, &attributes, run_interpreter, app) == 0;
    pthread_attr_destroy(&attributes);
    return ok && pthread_join(thread, NULL) == 0;
}

int app_run(App *app)
{
    safe_begin(app);
    signals_install();
    blas_stop_allow();
    lapacke_allow();
    suitesparse_allow();
    bool ran = run_on_large_stack(app);
    safe_end(app);
    if (ran && app->left) {                    /* libraries' ends are not for a thread that runs */
        fflush(NULL);
        _exit(app->status);
    }
    if (ran)
        return app->status;
    char most[32];
    size_t limit = mem_address_limit();
    fprintf(stderr, "ricci: not enough memory for a stack%s%s\n",
            limit == SIZE_MAX ? "" : ": the limit on address space (ulimit -v) is ",
            limit == SIZE_MAX ? "" : mem_bytes_text(most, (double)limit));
    return STATUS_ERROR;
}

/* A program that is started without one of them would open a file in its place, and print into it.
 * Such a descriptor is held, and still cannot be used. */
static void hold_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            return;
}

int main(int argc, char **argv)
{
    hold_standard_streams();
    /* Not for users: what starts the ranks of mpi(p, q), and a rank. */
    if (argc > 2 && strcmp(argv[1], "--mpi-run") == 0)
        return keeper_main(argv + 2);
    if (argc == 4 && strcmp(argv[1], "--mpi-rank") == 0)
        return rank_main(argv[2], argv[3]);
    App app = { .mode = MODE_REPL, .limit = limit_none() };
    usage_read(&app, argc - 1, argv + 1);
    if (app.mode == MODE_DOCTEST)
        return doctest_files(&app);
    return app_run(&app);
}
