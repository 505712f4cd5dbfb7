/* The program `ricci`: the composition root. Reads the command line, makes the
 * interpreter on a stack that is large enough for deep recursion, and runs a file, a
 * text, the tests of a file, the formatter, the help or the REPL. It holds no language.
 *
 * Exit status: 0; 1 for an error in the program or its output; 2 for a wrong command
 * line; 130 when interrupted. */
#include "core/mem.h"
#include "interp/native.h"
#include "interp/output.h"
#include "interp/repl.h"
#include "builtins/help.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef RICCI_VERSION
#define RICCI_VERSION "0.1.0"
#endif

enum { STATUS_ERROR = 1, STATUS_USAGE = 2, STATUS_INTERRUPT = 130 };
#ifdef __SANITIZE_ADDRESS__
#define STACK_BYTES ((size_t)8 << 20)     /* its longjmp clears the shadow of the whole stack */
#else
#define STACK_BYTES ((size_t)256 << 20)
#endif
#define STACK_MARGIN ((size_t)2 << 20)     /* what native libraries may need below us */

typedef enum Mode {
    MODE_REPL, MODE_FILE, MODE_STDIN, MODE_CODE, MODE_TEST, MODE_FORMAT, MODE_DOC
} Mode;

typedef struct App {
    Interp *in;
    char *stack;               /* where the interpreter runs */
    sigset_t signals;          /* the mask it runs with */
    Mode mode;
    bool print;                /* -p: print the value */
    bool interactive;          /* -i: then a REPL */
    bool in_place;             /* fmt -w */
    bool strict_devices;
    const char *text;          /* FILE or CODE */
    char **names;              /* FILE… or NAME… of test, fmt, doc */
    int name_count;
    int passed, failed;        /* tests */
    Source *source;            /* of what runs, and its syntax */
    Chunk *chunk;
    Buf text_out;              /* fmt */
    int argc;                  /* of the program */
    char **argv;
    int status;
} App;

static const char usage_text[] =
    "usage: ricci                        interactive session (a program, if stdin is no terminal)\n"
    "       ricci FILE [ARGS]            run a file; - is stdin\n"
    "       ricci -e CODE [ARGS]         run CODE\n"
    "       ricci -p CODE [ARGS]         run CODE and print its value\n"
    "       ricci -i [FILE [ARGS]]       run FILE, then an interactive session\n"
    "       ricci test FILE...           run the test blocks of files\n"
    "       ricci fmt [-w] FILE...       print files as canonical text (-w: rewrite them)\n"
    "       ricci doc NAME...            help on operations, functions and topics; --all: all of it\n"
    "       ricci --version | --help\n"
    "option --strict-devices, before the rest: every device block is strict\n";

/* ---- interrupts ---- */
static volatile sig_atomic_t interrupted;
static volatile sig_atomic_t keep_session;

/* A computation polls the flag. One that never does (a native call) is ended by the third
 * Ctrl-C; in a session that call alone is left. */
static void on_interrupt(int sig)
{
    (void)sig;
    if (interrupted < 3)
        interrupted++;
    if (interrupted < 3)
        return;
    if (!keep_session)
        _exit(STATUS_INTERRUPT);
    native_abandon();
}

static void install_handlers(void)
{
    struct sigaction action = { .sa_handler = on_interrupt };
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN);              /* a closed pipe is a write error */
}

/* ---- running under a catch point ---- */
static void report(App *app)
{
    int kind = (int)app->in->ctx.error->kind;
    app->status = kind == ERR_INTERRUPT ? STATUS_INTERRUPT : STATUS_ERROR;
    err_report(app->in);
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
static bool guarded(App *app, void (*body)(App *, const char *), const char *argument)
{
    Interp *in = app->in;
    Guard guard;
    guard_enter(in, &guard);
    if (!ERR_TRY(&in->ctx, &guard.frame)) {
        guard_restore(in, &guard);
        report(app);
        end_source(app);
        return false;
    }
    body(app, argument);
    ERR_END(&in->ctx, &guard.frame);
    end_source(app);
    return true;
}

static void print_result(App *app, Value v)
{
    Interp *in = app->in;
    v_push(in, v);
    if (app->print && v.tag != V_NONE) {
        show_value(in, &in->out, v);
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
        else if (errno != EINTR || interrupted)
            break;
    }
    int error = n < 0 && !interrupted ? errno : 0;
    Source *source = source_new(&in->ctx, "<stdin>", buf_cstr(&text), text.len);
    buf_free(&text);
    if (error || interrupted)
        source_release(source);
    poll_interrupt(in);
    if (error)
        err_raise(&in->ctx, ERR_IO, "cannot read standard input: %s", strerror(error));
    return source;
}

static Source *read_source(Interp *in, const char *path)
{
    return strcmp(path, "-") == 0 ? read_stdin(in) : source_read(&in->ctx, path);
}

/* Reads and runs a file in a module; its source and syntax are freed by end_source. */
static Value run_source(App *app, Module *module, const char *path)
{
    Interp *in = app->in;
    app->source = read_source(in, path);
    app->chunk = parse_source(&in->ctx, &in->names, app->source);
    return run_chunk(in, module, app->chunk);
}

static void run_file(App *app, const char *path)
{
    print_result(app, run_source(app, app->in->main, path));
}

static void run_code(App *app, const char *code)
{
    print_result(app, run_text(app->in, app->in->main, "<-e>", code, strlen(code)));
}

/* ---- test ---- */
static void run_test(App *app, Module *module, const char *path, int i)
{
    Interp *in = app->in;
    if (module_test_run(in, module, i)) {
        app->passed++;
        return;
    }
    char line[256];
    snprintf(line, sizeof line, "FAIL %s: %s", path, module_test_name(module, i));
    app->failed++;
    err_write(in, line);
    report(app);
}

/* The file's other statements once, then each test for itself. */
static void test_file(App *app, const char *path)
{
    Module *module = module_new(app->in, path);
    v_release(&app->in->ctx, run_source(app, module, path));
    module->done = true;                   /* a later file may import it */
    for (int i = 0; i < module_test_count(module) && app->status != STATUS_INTERRUPT; i++)
        run_test(app, module, path, i);
}

/* A file that failed while it ran is loaded anew by a later one that imports it. */
static void forget_unfinished(Interp *in)
{
    for (Module *m = in->modules; m; m = m->next)
        if (!m->done)
            ((char *)m->name)[0] = '\0';
}

static void test_files(App *app)
{
    char line[64];
    for (int i = 0; i < app->name_count && app->status != STATUS_INTERRUPT; i++)
        if (!guarded(app, test_file, app->names[i])) {
            app->failed++;
            forget_unfinished(app->in);
        }
    int n = snprintf(line, sizeof line, "%d passed, %d failed\n", app->passed, app->failed);
    buf_put(&app->in->out, line, (size_t)n);
    if (app->failed > 0 && app->status == 0)
        app->status = STATUS_ERROR;
}

/* ---- fmt ---- */
/* Replaces a file by a new one beside it, so that a full disk loses nothing. */
static void replace_file(Ctx *ctx, const char *path, const char *text, size_t n)
{
    char *real = realpath(path, NULL), *temporary = NULL;
    struct stat info;
    int fd = -1;
    bool ok = real && stat(real, &info) == 0 &&
              asprintf(&temporary, "%s.%d.new", real, (int)getpid()) >= 0;
    if (ok && (fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) >= 0) {
        while (n > 0) {
            ssize_t done = write(fd, text, n);
            if (done <= 0)
                break;
            text += done;
            n -= (size_t)done;
        }
        ok = n == 0 && fchmod(fd, info.st_mode & 07777) == 0;
        ok = close(fd) == 0 && ok && rename(temporary, real) == 0;
    } else {
        ok = false;
    }
    int error = errno;
    if (!ok && fd >= 0)
        unlink(temporary);
    free(temporary);
    free(real);
    if (!ok)
        err_raise(ctx, ERR_IO, "cannot write \"%s\": %s", path, strerror(error));
}

static void format_file(App *app, const char *path)
{
    Interp *in = app->in;
    Buf *text = &app->text_out;
    buf_clear(text);
    Source *source = app->source = read_source(in, path);
    app->chunk = parse_source(&in->ctx, &in->names, source);
    print_chunk(text, app->chunk);
    bool same = text->len == source->len && memcmp(buf_cstr(text), source->text, text->len) == 0;
    if (!app->in_place || strcmp(path, "-") == 0)
        out_write(in, buf_cstr(text), text->len);
    else if (!same)
        replace_file(&in->ctx, path, buf_cstr(text), text->len);
}

/* ---- doc ---- */
static void show_doc(App *app, const char *name)
{
    if (strcmp(name, "--all") == 0) {
        help_manual(app->in, &app->in->out);
        return;
    }
    if (help_known(app->in, name)) {
        help_show(app->in, &app->in->out, name);
        return;
    }
    buf_clear(&app->text_out);
    help_show(app->in, &app->text_out, name);
    err_write(app->in, buf_cstr(&app->text_out));
    app->status = STATUS_ERROR;
}

static void each_name(App *app, void (*body)(App *, const char *))
{
    for (int i = 0; i < app->name_count && app->status != STATUS_INTERRUPT; i++)
        guarded(app, body, app->names[i]);
}

/* ---- the interpreter's life ---- */
static void run_mode(App *app)
{
    switch (app->mode) {
    case MODE_REPL: break;
    case MODE_FILE: guarded(app, run_file, app->text); break;
    case MODE_STDIN: guarded(app, run_file, "-"); break;
    case MODE_CODE: guarded(app, run_code, app->text); break;
    case MODE_TEST: test_files(app); break;
    case MODE_FORMAT: each_name(app, format_file); break;
    case MODE_DOC: each_name(app, show_doc); break;
    }
    if (app->mode == MODE_REPL || app->interactive) {
        keep_session = 1;
        static const ReplHelp help = { help_show, help_search, help_kind };
        app->status = repl_run(app->in, &help);
    }
}

static void *run_interpreter(void *argument)
{
    App *app = argument;
    pthread_sigmask(SIG_SETMASK, &app->signals, NULL);
    Interp *in = app->in = interp_new();
    in->ctx.interrupt = &interrupted;
    in->c_stack_limit = app->stack + STACK_MARGIN;
    in->argc = app->argc;
    in->argv = app->argv;
    in->interactive = app->mode == MODE_REPL || app->interactive;
    in->strict_devices = app->strict_devices;
    output_measure_terminal(in);
    buf_init(&app->text_out, &in->ctx);
    run_mode(app);
    buf_free(&app->text_out);
    out_flush(in);
    if (in->out_failed && app->status == 0)
        app->status = STATUS_ERROR;
    interp_free(in);
    return NULL;
}

/* A thread whose stack is reserved here, committed as it is used; a smaller one where
 * the limits of the process do not allow that much. This thread takes no signals: they
 * are for the one that reads the terminal. */
static bool run_on_large_stack(App *app)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
    size_t bytes = STACK_BYTES;
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

/* ---- the command line ---- */
_Noreturn static void usage_error(const char *what, const char *which)
{
    fprintf(stderr, "ricci: %s%s%s%s\ntry 'ricci --help'\n", what, which ? " '" : "",
            which ? which : "", which ? "'" : "");
    exit(STATUS_USAGE);
}

_Noreturn static void finish(const char *text)
{
    fputs(text, stdout);
    if (fflush(stdout) != 0) {
        fprintf(stderr, "ricci: cannot write to standard output: %s\n", strerror(errno));
        exit(STATUS_ERROR);
    }
    exit(0);
}

/* FILE… or NAME… of a subcommand. */
static void read_names(App *app, Mode mode, int argc, char **argv)
{
    static const char *const needs[] = { [MODE_TEST] = "test needs a file",
        [MODE_FORMAT] = "fmt needs a file", [MODE_DOC] = "doc needs a name" };
    app->mode = mode;
    while (mode == MODE_FORMAT && argc > 0 && strcmp(argv[0], "-w") == 0) {
        app->in_place = true;
        argc--, argv++;
    }
    if (argc > 0 && strcmp(argv[0], "--") == 0)
        argc--, argv++;
    else if (argc > 0 && mode != MODE_DOC && argv[0][0] == '-' && argv[0][1])
        usage_error("unknown option", argv[0]);
    if (argc == 0)
        usage_error(needs[mode], NULL);
    app->names = argv;
    app->name_count = argc;
}

static bool read_subcommand(App *app, int argc, char **argv)
{
    static const struct { const char *name; Mode mode; } commands[] = {
        { "test", MODE_TEST }, { "fmt", MODE_FORMAT }, { "doc", MODE_DOC } };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(argv[0], commands[i].name) == 0) {
            read_names(app, commands[i].mode, argc - 1, argv + 1);
            return true;
        }
    return false;
}

/* The file to run, or stdin; what follows belongs to the program. */
static void read_program(App *app, int argc, char **argv)
{
    if (argc == 0) {
        bool terminal = isatty(STDIN_FILENO);
        app->mode = terminal || app->interactive ? MODE_REPL : MODE_STDIN;
        return;
    }
    app->mode = strcmp(argv[0], "-") == 0 ? MODE_STDIN : MODE_FILE;
    app->text = argv[0];
    app->argc = argc - 1;
    app->argv = argv + 1;
}

static void read_code(App *app, int argc, char **argv)
{
    if (argc < 2)
        usage_error("code is missing after", argv[0]);
    app->mode = MODE_CODE;
    app->print = argv[0][1] == 'p';
    app->text = argv[1];
    app->argc = argc - 2;
    app->argv = argv + 2;
}

static void read_command_line(App *app, int argc, char **argv)
{
    for (; argc > 0 && strcmp(argv[0], "--strict-devices") == 0; argc--, argv++)
        app->strict_devices = true;
    if (argc > 0 && read_subcommand(app, argc, argv))
        return;
    for (; argc > 0 && argv[0][0] == '-' && argv[0][1]; argc--, argv++) {
        if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)
            finish(usage_text);
        if (strcmp(argv[0], "--version") == 0 || strcmp(argv[0], "-V") == 0)
            finish("ricci " RICCI_VERSION "\n");
        if (strcmp(argv[0], "--") == 0) {
            argc--, argv++;
            break;
        }
        if (strcmp(argv[0], "-e") == 0 || strcmp(argv[0], "-p") == 0) {
            read_code(app, argc, argv);
            return;
        }
        if (strcmp(argv[0], "-i") == 0)
            app->interactive = true;
        else if (strcmp(argv[0], "--strict-devices") == 0)
            app->strict_devices = true;
        else
            usage_error("unknown option", argv[0]);
    }
    read_program(app, argc, argv);
}

int main(int argc, char **argv)
{
    App app = { .mode = MODE_REPL };
    read_command_line(&app, argc - 1, argv + 1);
    install_handlers();
    if (!run_on_large_stack(&app)) {
        fprintf(stderr, "ricci: not enough memory for a stack\n");
        return STATUS_ERROR;
    }
    return app.status;
}
