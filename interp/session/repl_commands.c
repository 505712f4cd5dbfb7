/* The session's commands: a table of `:name argument`, found by any beginning that says which;
 * `?name` and `??words`. Others of the table are in the files that repl_commands.h lists. */
#include "interp/session/repl_commands.h"

#include "core/system/ascii.h"
#include "core/system/c_locale.h"
#include "core/base/fence.h"
#include "core/base/mem.h"
#include "core/base/plain.h"
#include "interp/output/output.h"
#include "interp/show/show.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void command_help(Repl *, const char *, bool);

void repl_say(Repl *r, const char *text)
{
    Buf line;
    buf_init(&line, &r->in->ctx);
    buf_puts(&line, text);
    plain_lines(line.data);
    show_fold(&line, 0, r->in->show.width);
    out_write(r->in, line.data, line.len);
    buf_free(&line);
}

Value repl_variable(const Repl *r, const char *text, size_t len)
{
    const Name *name = names_find(&r->in->names, text, len);
    int64_t slot = name ? globals_find(&r->in->main->globals, name) : -1;
    return slot < 0 ? v_undef() : r->in->main->slots[slot];
}

static void need(Repl *r, const char *argument, const char *what, const char *example)
{
    if (!*argument)
        err_raise_help(&r->in->ctx, ERR_VALUE, example, "%s", what);
}

/* ---- ?name ---- */
static void show_page(Repl *r)
{
    if (r->document)
        r->document->page(r, &r->page);
    else
        repl_page(r->in, &r->page);
}

static void page_help(Repl *r, void (*write)(Interp *, Buf *, const char *), const char *name)
{
    buf_clear(&r->page);
    output_measure_terminal(r->in);
    write(r->in, &r->page, name);
    show_page(r);
}

static bool mentions(const ReplCommand *c, const char *words)
{
    bool asked = false;                        /* for more than words of one or two letters */
    for (const char *at = words; *at;) {
        char word[64];
        size_t n = strcspn(at, " \t,");
        snprintf(word, sizeof word, "%.*s", (int)n, at);
        if (n > 2 && !ascii_casestr(c->name, word) && !ascii_casestr(c->help, word))
            return false;
        asked |= n > 2;
        at += n + strspn(at + n, " \t,");
    }
    return asked;
}

/* The registry knows nothing of the session's commands: they stand below. */
static void search_help(Repl *r, const char *words)
{
    buf_clear(&r->page);
    output_measure_terminal(r->in);
    r->help->search(r->in, &r->page, words);
    for (int i = 0, shown = 0; repl_command_row(i) && shown < 3; i++)
        if (mentions(repl_command_row(i), words) && ++shown)
            buf_printf(&r->page, "  %s  %s\n", repl_command_row(i)->usage,
                       repl_command_row(i)->help);
    show_page(r);
}

/* `?name`, `??words`; what `text` holds after the first `?`. */
void repl_help(Repl *r, const char *text)
{
    bool search = text[0] == '?';
    text += search;
    text += strspn(text, " \t");
    if (!search && text[0] == ':' && ascii_alpha(text[1])) {
        command_help(r, text, false);          /* ?:vars */
        return;
    }
    if (!search) {
        page_help(r, r->help->show, text);
        return;
    }
    need(r, text, "?? searches the help for words", "for example ??least squares");
    search_help(r, text);
}

/* ---- :time ---- */
static void bytes_text(char *out, size_t cap, double bytes)
{
    static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
    int i = 0;
    while (i < 4 && bytes >= 1024) {
        bytes /= 1024;
        i++;
    }
    c_snprintf(out, cap, i ? "%.3g %s" : "%.0f %s", bytes, units[i]);
}

static void command_time(Repl *r, const char *text, bool force)
{
    MemAccount *mem = &r->in->ctx.mem;
    char line[160], time[48], bytes[32];
    (void)force;
    need(r, text, ":time needs an expression", "for example :time rand(1000, 1000) @ rand(1000)");
    size_t live = mem->live, peak = mem->peak;
    uint64_t count = mem->allocations;
    mem->peak = live;
    ErrFrame frame;
    if (!ERR_TRY(&r->in->ctx, &frame)) {
        mem->peak = mem->peak > peak ? mem->peak : peak;
        err_rethrow(&r->in->ctx);
    }
    repl_run_logged(r, text);
    ERR_END(&r->in->ctx, &frame);
    bytes_text(bytes, sizeof bytes, (double)(mem->peak - live));
    mem->peak = mem->peak > peak ? mem->peak : peak;
    snprintf(line, sizeof line, "%s, %llu allocations, %s more in use at most\n",
             seconds_text(time, sizeof time, r->seconds),
             (unsigned long long)(mem->allocations - count), bytes);
    repl_say(r, line);
}

/* ---- :reset ---- */
static void forget(Repl *r, Value *slot)
{
    Value old = *slot;
    *slot = v_undef();
    v_release(&r->in->ctx, old);
}

/* The names are looked at before the first of them is forgotten. */
static void reset_names(Repl *r, const char *text)
{
    Module *m = r->in->main;
    for (int pass = 0; pass < 2; pass++)
        for (const char *at = text; *at;) {
            size_t n = strcspn(at, ", \t");
            Value v = repl_variable(r, at, n);
            if (n > 0 && v.tag == V_UNDEF && pass == 0)
                err_raise_help(&r->in->ctx, ERR_NAME, ":vars lists the variables",
                               "there is no variable `%.*s`", (int)n, at);
            if (v.tag != V_UNDEF && pass == 1)
                forget(r, &m->slots[globals_find(&m->globals, names_find(&r->in->names, at, n))]);
            at += n + strspn(at + n, ", \t");
        }
}

static void command_reset(Repl *r, const char *names, bool force)
{
    Interp *in = r->in;
    (void)force;
    if (*names) {
        reset_names(r, names);
        return;
    }
    for (uint32_t i = 0; i < in->main->globals.count; i++)
        forget(r, &in->main->slots[i]);
    forget(r, &in->ans);
    buf_clear(&r->log);
    buf_clear(&r->marks);
}

/* ---- :explain ---- */
/* The last error once more, and what its kind means. */
static void explain_last(Repl *r, Buf *out)
{
    if (r->error_kind < 0) {
        buf_puts(out, "There was no error yet. :explain KIND tells of one (name, shape, index …),\n"
                      ":explain EXPRESSION what runs: which routines, FLOPs, bytes.\n");
        return;
    }
    buf_puts(out, buf_cstr(&r->error));
    buf_putc(out, '\n');
    r->help->kind(r->in, out, err_kind_name((ErrKind)r->error_kind));
}

static void command_explain(Repl *r, const char *what, bool force)
{
    Buf *text = &r->page;
    (void)force;
    buf_clear(text);
    if (!*what) {
        explain_last(r, text);
        repl_page(r->in, text);
        return;
    }
    bool variable = repl_variable(r, what, strlen(what)).tag != V_UNDEF;
    if (!variable && r->help->kind(r->in, text, what)) {
        repl_page(r->in, text);
        return;
    }
    buf_clear(text);
    buf_printf(text, "explain %s", what);
    repl_run_logged(r, buf_cstr(text));
}

/* The last entry, or this one, run with shadows. */
static void command_digits(Repl *r, const char *what, bool force)
{
    Buf *text = &r->page;
    (void)force;
    if (!*what && r->last.len == 0)
        err_raise_help(&r->in->ctx, ERR_VALUE, ":digits y = (1 - cos(x)) / x^2",
                       "there is no entry yet whose digits could be told");
    buf_clear(text);
    buf_printf(text, "explain as digits {\n%s\n}", *what ? what : buf_cstr(&r->last));
    repl_run_logged(r, buf_cstr(text));
}

/* ---- folders ---- */
static void command_cd(Repl *r, const char *typed, bool force)
{
    (void)force;
    const char *folder = repl_path(r, *typed ? typed : "~/");
    fence_check_read(&r->in->ctx, folder);
    if (chdir(folder) != 0)
        err_raise(&r->in->ctx, ERR_IO, "cannot go to \"%s\": %s", folder, c_strerror(errno));
    if (r->terminal)
        repl_run_command(r, "pwd");
}

static void command_pwd(Repl *r, const char *argument, bool force)
{
    char folder[PATH_MAX + 1];
    (void)argument, (void)force;
    if (!getcwd(folder, sizeof folder - 1))
        err_raise(&r->in->ctx, ERR_IO, "the folder of this session is gone: %s", c_strerror(errno));
    repl_say(r, strcat(folder, "\n"));
}

static void command_quit(Repl *r, const char *argument, bool force)
{
    (void)argument, (void)force;
    r->quit = true;
}

/* ---- the table ---- */
/* In the order of :help. Two of them may begin alike: the first letter alone is the first one's. */
static const ReplCommand commands[] = {
    { "help", command_help, 'c', ":help [COMMAND]", "this list, or what a command does" },
    { "vars", repl_vars, 'v', ":vars [PATTERN]",
      "variables with dtype, shape, device and bytes" },
    { "load", repl_load, 'f', ":load FILE", "run a file here; its variables stay" },
    { "save", repl_save, 'f', ":save[!] FILE",
      "write what ran as a program; ! replaces a file" },
    { "edit", repl_edit, 'e', ":edit [NAME | FILE]",
      "edit the last entry, a function, a file, and run it", .terminal = true },
    { "history", repl_history, 0, ":history [N | WORD]",
      "the last N entries, or those with a word" },
    { "time", command_time, 'x', ":time EXPR", "how long it took and what it allocated" },
    { "explain", command_explain, 'k', ":explain [KIND | EXPR]",
      "the last error, a kind of error, or what runs" },
    { "digits", command_digits, 'x', ":digits [ENTRY]",
      "run the last entry again: where its digits were lost" },
    { "reset", command_reset, 'v', ":reset [NAME ...]", "forget these variables, or all of them" },
    { "cd", command_cd, 'd', ":cd [FOLDER]", "go to a folder; :pwd shows which it is" },
    { "pwd", command_pwd, 0, ":pwd", "the folder of this session" },
    { "quit", command_quit, 0, ":quit", "leave, as Ctrl-D does" },
    { "exit", command_quit, 0, ":exit", "leave, as :quit does" },
};
enum { COMMANDS = sizeof commands / sizeof *commands };

const ReplCommand *repl_command_row(int i)
{
    return i >= 0 && i < COMMANDS ? &commands[i] : NULL;
}

_Noreturn static void raise_unknown(Repl *r, const char *name, size_t n)
{
    char given[32];
    const char *names[COMMANDS];
    for (int i = 0; i < COMMANDS; i++)
        names[i] = commands[i].name;
    snprintf(given, sizeof given, "%.*s", (int)n, name);
    const char *close = err_closest(given, names, COMMANDS);
    Error *e = err_new(&r->in->ctx, ERR_NAME, "there is no command :%.*s", (int)n, name);
    if (close)
        err_help(e, "did you mean :%s?", close);
    else
        err_help(e, ":help lists the commands");
    err_throw(e);
}

/* By its whole name or a beginning that is no other's; a first letter alone is the first
 * command's that has it. Raises. */
static const ReplCommand *find_command(Repl *r, const char *name, size_t n)
{
    const ReplCommand *found = NULL, *other = NULL;
    for (int i = 0; n > 0 && i < COMMANDS; i++) {
        if (strncmp(commands[i].name, name, n) != 0)
            continue;
        if (strlen(commands[i].name) == n || (n == 1 && !found))
            return &commands[i];
        other = found ? &commands[i] : NULL;
        found = found ? found : &commands[i];
    }
    if (!found)
        raise_unknown(r, name, n);
    if (other)
        err_raise(&r->in->ctx, ERR_NAME, ":%.*s may be :%s or :%s", (int)n, name, found->name,
                  other->name);
    return found;
}

static const char help_head[] =
    "Type an expression to see its value, with ; at its end to see nothing. ans is\n"
    "the last value.\n"
    "\n";
static const struct { const char *usage, *help; } marks[] = {
    { "!COMMAND", "run a shell command" },
    { "?NAME", "help on an operation, a function, a variable, a topic" },
    { "??WORDS", "search all help" },
};
static const char help_tail[] =
    "\n"
    "The beginning of a command is enough: :v is :vars. TAB completes names,\n"
    "arguments, fields, files and \\alpha. Ctrl-C stops a computation or drops the\n"
    "line, never the session.\n";

/* Beside the usage, or below it where the terminal is narrow. */
static void put_usage(Interp *in, Buf *out, const char *usage, const char *help)
{
    bool narrow = in->show.width > 0 && in->show.width < 79;
    if (narrow)
        buf_printf(out, "  %s\n      %s\n", usage, help);
    else
        buf_printf(out, "  %-22s %s\n", usage, help);
}

static void put_help(Interp *in, Buf *out, const char *argument)
{
    (void)argument;
    buf_puts(out, help_head);
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, "exit") != 0)
            put_usage(in, out, commands[i].usage, commands[i].help);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        put_usage(in, out, marks[i].usage, marks[i].help);
    buf_puts(out, help_tail);
}

static void command_help(Repl *r, const char *name, bool force)
{
    (void)force;
    name += *name == ':';
    if (!*name) {
        page_help(r, put_help, "");
        return;
    }
    char line[160];
    const ReplCommand *c = find_command(r, name, strcspn(name, " \t!"));
    snprintf(line, sizeof line, "%s\n  %s\n", c->usage, c->help);
    repl_say(r, line);
}

void repl_run_command(Repl *r, const char *text)
{
    size_t n = 0;
    text += strspn(text, " \t");
    while (ascii_alpha(text[n]))
        n++;
    bool force = n > 0 && text[n] == '!';
    size_t end = n + force;
    if (n == 0 || (text[end] && !ascii_space(text[end])))
        raise_unknown(r, text, strcspn(text, " \t\n"));
    const ReplCommand *c = find_command(r, text, n);
    if (r->document && c->terminal)
        err_raise(&r->in->ctx, ERR_VALUE, ":%s needs a terminal, and this is a cell of a document",
                  c->name);
    c->run(r, text + end + strspn(text + end, " \t"), force);
}

/* ---- what is no entry ---- */
/* Directly before a variable's name, a call, a parenthesis, true or false `!` is the operator: no
 * command is called so, but two that do nothing. */
static bool repl_is_shell(const Repl *r, const char *text)
{
    if (text[0] != '!' || text[1] == '(')
        return false;
    size_t n = 0;
    while (repl_in_name(text[1 + n]))
        n++;
    bool value = (n == 4 && strncmp(text + 1, "true", n) == 0) ||
                 (n == 5 && strncmp(text + 1, "false", n) == 0);
    return text[1 + n] != '(' && !value && repl_variable(r, text + 1, n).tag == V_UNDEF;
}

bool repl_is_command(const Repl *r, const char *text)
{
    return text[0] == '?' || text[0] == ':' || repl_is_shell(r, text) || repl_is_habit(r, text);
}

bool repl_command(Repl *r, const char *text)
{
    if (text[0] == '?')
        repl_help(r, text + 1);
    else if (text[0] == ':')
        repl_run_command(r, text + 1);
    else if (repl_is_shell(r, text))
        repl_shell(r, text + 1 + strspn(text + 1, " \t"));
    else
        return repl_habit(r, text);
    return true;
}
