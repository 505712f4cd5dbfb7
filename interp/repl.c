/* The interactive session: entries are read until they are complete, run as a source of
 * their own (<repl:3>), and their values echoed. An error or Ctrl-C ends the entry, never
 * the session, and every variable keeps its value. Called by main.c; lines come from
 * repl_line.c. */
#include "interp/repl.h"

#include "core/mem.h"
#include "interp/output.h"
#include "interp/show.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct Repl {
    Interp *in;
    const ReplHelp *help;
    bool terminal, quit;
    int number;                /* of the entry: <repl:3> */
    Buf line, entry;           /* the line just read, and the lines of the entry so far */
    Buf log;                   /* entries that ran: what :save writes */
    Source *source;            /* of the running entry, and its syntax: freed after it */
    Chunk *chunk;
    double seconds;            /* how long it ran */
} Repl;

static const char help_text[] =
    "Type an expression to see its value; end it with ; to see nothing. ans is the last value.\n"
    "  ?name        help on an operation, function or topic, as in ?svd\n"
    "  :vars        variables with their types\n"
    "  :load FILE   run a file here\n"
    "  :save FILE   write this session's entries to a new file\n"
    "  :time EXPR   run and say how long it took\n"
    "  :reset       forget all variables\n"
    "  :quit        leave (also Ctrl-D)\n"
    "  !command     run a shell command\n"
    "Ctrl-C stops a computation or drops the line. TAB completes names, and \\otimes to ⊗.\n";

/* Runs body under a catch point; reports an error. Returns whether there was none. */
static bool guarded(Repl *r, void (*body)(Repl *, const char *), const char *argument)
{
    Interp *in = r->in;
    Guard guard;
    guard_enter(in, &guard);
    if (!ERR_TRY(&in->ctx, &guard.frame)) {
        guard_restore(in, &guard);
        err_report(in);
        return false;
    }
    body(r, argument);
    ERR_END(&in->ctx, &guard.frame);
    return true;
}

/* ---- running an entry ---- */
/* Does a statement of this kind show its value? Statements that make or do something
 * stay silent, as in Python; a block shows what its last statement would. */
static bool echoes(const Node *n)
{
    switch ((NodeKind)n->kind) {
    case ND_ASSIGN: case ND_OPASSIGN: case ND_DEFINE: case ND_FN: case ND_TEST: case ND_IMPORT:
    case ND_FOR: case ND_WHILE: case ND_ASSERT: case ND_EXTERN: case ND_COMPARE_BLOCK:
    case ND_EXPLAIN: case ND_PROFILE:
        return false;
    case ND_BLOCK:
        return n->count > 0 && echoes(n->list[n->count - 1]);
    case ND_IF:
        return echoes(n->b) || (n->c && echoes(n->c));
    case ND_TRY:
        return echoes(n->a);
    case ND_PRECISION: case ND_ON: case ND_AUTOCAST:
        return echoes(n->b);
    case ND_LAZY:
        return echoes(n->a);
    default:
        return true;
    }
}

static bool wants_echo(const Chunk *chunk)
{
    const Node *root = chunk->root;
    if (root->count == 0)
        return false;
    const Node *last = root->list[root->count - 1];
    return !(last->flags & NF_SEMICOLON) && echoes(last);
}

static void set_ans(Interp *in, Value v)
{
    Module *m = in->main;
    uint32_t slot = globals_slot(&m->globals, names_intern(&in->names, "ans", 3));
    Value old = m->slots[slot], older = in->ans;
    m->slots[slot] = v_retain(v);
    in->ans = v_retain(v);
    v_release(&in->ctx, old);
    v_release(&in->ctx, older);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void echo(Repl *r, Value v)
{
    Interp *in = r->in;
    output_measure_terminal(in);
    show_echo(in, &in->out, v);
    buf_putc(&in->out, '\n');
}

/* Runs the text of an entry in the main module. */
static void run_entry(Repl *r, const char *text)
{
    Interp *in = r->in;
    char name[32];
    snprintf(name, sizeof name, "<repl:%d>", ++r->number);
    r->source = source_new(&in->ctx, name, text, strlen(text));
    r->chunk = parse_source(&in->ctx, &in->names, r->source);
    bool shown = wants_echo(r->chunk);
    double start = now();
    Value v = run_chunk(in, in->main, r->chunk);
    r->seconds = now() - start;
    v_push(in, v);
    if (shown && v.tag != V_NONE && v.tag != V_UNDEF) {
        set_ans(in, v);
        echo(r, v);
    }
    stack_cut(in, in->sp - 1);
}

static void forget_source(Repl *r)
{
    if (r->chunk)
        chunk_release(r->chunk);
    if (r->source)
        source_release(r->source);
    r->chunk = NULL;
    r->source = NULL;
}

/* ---- commands ---- */
static void say(Repl *r, const char *text)
{
    out_write(r->in, text, strlen(text));
}

static void command_help(Repl *r, const char *name)
{
    if (*name)
        r->help->show(r->in, &r->in->out, name);
    else
        say(r, help_text);
}

static int by_text(const void *a, const void *b)
{
    return strcmp((*(const Name *const *)a)->text, (*(const Name *const *)b)->text);
}

static void put_variable(Repl *r, const Name *name, size_t width)
{
    Interp *in = r->in;
    Value v = in->main->slots[globals_slot(&in->main->globals, name)];
    char text[128];
    buf_puts(&in->out, name->text);
    buf_fill(&in->out, ' ', width - (size_t)text_width(name->text, name->len) + 2);
    if (v.tag == V_CFUNC)
        show_value(in, &in->out, v);
    else
        buf_puts(&in->out, v_describe(v, text, sizeof text));
    if (v.tag < V_STRING || v.tag == V_RANGE) {
        buf_puts(&in->out, " = ");
        show_repr(in, &in->out, v);
    }
    buf_putc(&in->out, '\n');
}

static void command_vars(Repl *r, const char *argument)
{
    Interp *in = r->in;
    const Globals *g = &in->main->globals;
    const Name **names = malloc((g->count + 1) * sizeof *names);
    size_t count = 0, width = 0;
    (void)argument;
    for (uint32_t i = 0; names && i < g->count; i++)
        if (in->main->slots[i].tag != V_UNDEF) {
            size_t w = (size_t)text_width(g->names[i]->text, g->names[i]->len);
            names[count++] = g->names[i];
            width = w > width ? w : width;
        }
    if (names)
        qsort(names, count, sizeof *names, by_text);
    for (size_t i = 0; i < count; i++)
        put_variable(r, names[i], width);
    free(names);
}

static void need(Repl *r, const char *argument, const char *what)
{
    if (!*argument)
        err_raise(&r->in->ctx, ERR_VALUE, "%s", what);
}

static void command_load(Repl *r, const char *path)
{
    Interp *in = r->in;
    need(r, path, ":load needs a file name");
    r->source = source_read(&in->ctx, path);
    r->chunk = parse_source(&in->ctx, &in->names, r->source);
    v_release(&in->ctx, run_chunk(in, in->main, r->chunk));
    buf_put(&r->log, r->source->text, r->source->len);
}

static void command_save(Repl *r, const char *path)
{
    need(r, path, ":save needs a file name");
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    bool ok = fd >= 0;
    for (size_t at = 0; ok && at < r->log.len;) {
        ssize_t n = write(fd, r->log.data + at, r->log.len - at);
        ok = n > 0;
        at += ok ? (size_t)n : 0;
    }
    int error = errno;
    if (fd >= 0)
        ok = close(fd) == 0 && ok;
    if (!ok)
        err_raise_help(&r->in->ctx, ERR_IO,
                       error == EEXIST ? ":save writes new files only; choose another name" : NULL,
                       "cannot write \"%s\": %s", path, strerror(error));
}

static void command_time(Repl *r, const char *text)
{
    char line[64];
    need(r, text, ":time needs an expression");
    run_entry(r, text);
    size_t len = strlen(seconds_text(line, sizeof line - 1, r->seconds));
    memcpy(line + len, "\n", 2);
    say(r, line);
}

static void command_reset(Repl *r, const char *argument)
{
    Interp *in = r->in;
    (void)argument;
    for (uint32_t i = 0; i < in->main->globals.count; i++) {
        Value old = in->main->slots[i];
        in->main->slots[i] = v_undef();
        v_release(&in->ctx, old);
    }
    v_release(&in->ctx, in->ans);
    in->ans = v_undef();
    buf_clear(&r->log);
}

static void command_quit(Repl *r, const char *argument)
{
    (void)argument;
    r->quit = true;
}

static const struct Command {
    const char *name;
    void (*run)(Repl *, const char *argument);
} commands[] = {
    { "help", command_help }, { "vars", command_vars }, { "load", command_load },
    { "save", command_save }, { "time", command_time }, { "reset", command_reset },
    { "quit", command_quit }, { "exit", command_quit } };

/* `:name argument`; a beginning of a name is enough. */
static void run_command(Repl *r, const char *text)
{
    size_t n = strcspn(text, " \t");
    const char *argument = text + n + strspn(text + n, " \t");
    for (size_t i = 0; n > 0 && i < sizeof commands / sizeof *commands; i++)
        if (strncmp(commands[i].name, text, n) == 0) {
            commands[i].run(r, argument);
            return;
        }
    err_raise_help(&r->in->ctx, ERR_NAME, ":help lists the commands",
                   "there is no command :%.*s", (int)n, text);
}

static void run_shell(Repl *r, const char *text)
{
    char line[64];
    int status = system(text);
    if (status == -1)
        err_raise(&r->in->ctx, ERR_IO, "cannot run a shell: %s", strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0) {
        snprintf(line, sizeof line, "exit status %d\n", WEXITSTATUS(status));
        say(r, line);
    }
}

/* Directly before a variable's name or a parenthesis `!` is the operator. */
static bool is_shell(const Repl *r, const char *text)
{
    if (text[0] != '!' || text[1] == '(')
        return false;
    size_t n = 0;
    while (isalnum((unsigned char)text[1 + n]) || text[1 + n] == '_' || (text[1 + n] & 0x80))
        n++;
    const Name *name = names_find(&r->in->names, text + 1, n);
    int64_t slot = name ? globals_find(&r->in->main->globals, name) : -1;
    return slot < 0 || r->in->main->slots[slot].tag == V_UNDEF;
}

/* ---- reading ---- */
/* Prompts that were copied with the text are taken off the front of each line. */
static const char *without_prompt(const char *line)
{
    for (;;) {
        if (strncmp(line, REPL_PROMPT, sizeof REPL_PROMPT - 1) == 0)
            line += sizeof REPL_PROMPT - 1;
        else if (strncmp(line, REPL_CONTINUE, sizeof REPL_CONTINUE - 1) == 0)
            line += sizeof REPL_CONTINUE - 1;
        else
            return line;
    }
}

static void add_line(Repl *r, const char *text)
{
    while (*text) {
        const char *start = without_prompt(text), *end = strchrnul(start, '\n');
        if (r->entry.len > 0)
            buf_putc(&r->entry, '\n');
        buf_put(&r->entry, start, (size_t)(end - start));
        text = *end ? end + 1 : end;
    }
}

/* Only lines of `##`: the help text of the definition that follows. */
static bool is_help_text(const char *text)
{
    for (; *text; text += *text == '\n') {
        text += strspn(text, " \t");
        if (strncmp(text, "##", 2) != 0)
            return false;
        text += strcspn(text, "\n");
    }
    return true;
}

/* A complete entry, a command or the end. Returns false at the end of input. */
static bool read_entry(Repl *r)
{
    Interp *in = r->in;
    buf_clear(&r->entry);
    for (;;) {
        bool first = r->entry.len == 0;
        buf_clear(&r->line);
        LineStatus status = line_read(in, first ? REPL_PROMPT : REPL_CONTINUE, &r->line);
        if (status == LINE_INTERRUPTED) {
            buf_clear(&r->entry);
            continue;
        }
        if (status == LINE_END) {
            say(r, "\n");
            return !first;
        }
        if (!first && r->line.len == 0)
            buf_putc(&r->entry, '\n');
        add_line(r, buf_cstr(&r->line));
        const char *text = buf_cstr(&r->entry);
        if (r->line.len > 0 && is_help_text(text))
            continue;
        if (strchr("?:", text[0]) || is_shell(r, text) ||
            !parse_incomplete(&in->ctx, text, r->entry.len))
            return true;
    }
}

static void run_logged(Repl *r, const char *text)
{
    run_entry(r, text);
    buf_puts(&r->log, text);
    buf_putc(&r->log, '\n');
}

static void run_line(Repl *r)
{
    char *text = r->entry.data;
    size_t n = r->entry.len;
    if (n == 0)
        return;
    while (n > 0 && isspace((unsigned char)text[n - 1]))
        text[--n] = '\0';
    text += strspn(text, " \t");
    if (text[0] == '?')
        command_help(r, text + 1 + strspn(text + 1, " \t"));
    else if (text[0] == ':')
        run_command(r, text + 1);
    else if (is_shell(r, text))
        run_shell(r, text + 1);
    else if (text[0])
        run_logged(r, text);
}

/* One turn: false at the end of the session. */
static void turn(Repl *r, const char *argument)
{
    (void)argument;
    if (!read_entry(r)) {
        r->quit = true;
        return;
    }
    line_remember(buf_cstr(&r->entry));
    *r->in->ctx.interrupt = 0;
    run_line(r);
}

int repl_run(Interp *in, const ReplHelp *help)
{
    Repl r = { .in = in, .help = help };
    r.terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    buf_init(&r.line, &in->ctx);
    buf_init(&r.entry, &in->ctx);
    buf_init(&r.log, &in->ctx);
    line_open(in, r.terminal);
    if (r.terminal)
        say(&r, "Ricci. :help for help, Ctrl-D to leave.\n");
    while (!r.quit && !in->out_failed) {
        guarded(&r, turn, NULL);
        forget_source(&r);
        out_flush(in);
    }
    line_close();
    buf_free(&r.line);
    buf_free(&r.entry);
    buf_free(&r.log);
    return 0;
}
