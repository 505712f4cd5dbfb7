/* Lines for the REPL: readline with its history file and completion on a terminal, plain
 * reading elsewhere. Called by repl.c. Readline keeps its own global state and takes
 * callbacks without an argument, so this file has one static record beside it. */
#include "interp/repl.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define _FUNCTION_DEF        /* readline's old typedef Function would clash with ours */
#include <readline/history.h>
#include <readline/readline.h>

enum { HISTORY_MAX = 10000, NAMES_MAX = 4096 };

static struct Line {
    Interp *in;
    bool terminal, done;
    char *read;                /* what readline gave, NULL at the end of input */
    char *history;             /* path of the history file, NULL if there is none */
    int added;                 /* entries of this session */
} line;

/* ---- completion ---- */
static const struct Symbol { const char *name, *text; } symbols[] = {
    { "cdot", "·" }, { "dot", "·" }, { "times", "×" }, { "cross", "×" }, { "otimes", "⊗" },
    { "approx", "≈" }, { "le", "≤" }, { "leq", "≤" }, { "ge", "≥" }, { "geq", "≥" },
    { "ne", "≠" }, { "neq", "≠" }, { "sqrt", "√" }, { "alpha", "α" }, { "beta", "β" },
    { "gamma", "γ" }, { "delta", "δ" }, { "epsilon", "ε" }, { "zeta", "ζ" }, { "eta", "η" },
    { "theta", "θ" }, { "iota", "ι" }, { "kappa", "κ" }, { "lambda", "λ" }, { "mu", "μ" },
    { "nu", "ν" }, { "xi", "ξ" }, { "pi", "π" }, { "rho", "ρ" }, { "sigma", "σ" },
    { "tau", "τ" }, { "upsilon", "υ" }, { "phi", "φ" }, { "chi", "χ" }, { "psi", "ψ" },
    { "omega", "ω" }, { "Gamma", "Γ" }, { "Delta", "Δ" }, { "Theta", "Θ" },
    { "Lambda", "Λ" }, { "Xi", "Ξ" }, { "Pi", "Π" }, { "Sigma", "Σ" }, { "Phi", "Φ" },
    { "Psi", "Ψ" }, { "Omega", "Ω" }, { "_0", "₀" }, { "_1", "₁" }, { "_2", "₂" },
    { "_3", "₃" }, { "_4", "₄" }, { "_5", "₅" }, { "_6", "₆" }, { "_7", "₇" },
    { "_8", "₈" }, { "_9", "₉" } };

static const char *const words[] = { "fn", "return", "if", "else", "for", "in", "while",
    "break", "continue", "and", "or", "not", "true", "false", "none", "precision", "autocast",
    "on", "lazy", "compare", "explain", "timeit", "profile", "extern", "import", "try",
    "catch", "throw", "assert", "test", "from", "accumulate", "round", "against", "strict",
    "fallback", "saturate", "narrow", "verbose", "quiet" };

static const char *const commands[] = { "help", "vars", "load", "save", "time", "reset", "quit" };

#define COUNT(array) (sizeof(array) / sizeof *(array))

static char *if_starts(const char *name, const char *text, size_t len)
{
    return strncmp(name, text, len) == 0 ? strdup(name) : NULL;
}

static Value global(const Module *m, const char *text, size_t len)
{
    const Name *name = names_find(&line.in->names, text, len);
    int64_t slot = name ? globals_find(&m->globals, name) : -1;
    return slot >= 0 ? m->slots[slot] : v_undef();
}

/* `t.na`: the fields of a named tuple and the members of a module. */
static char *member(const char *text, const char *point, size_t *k)
{
    Value v = global(line.in->main, text, (size_t)(point - text));
    uint32_t count = v.tag == V_TUPLE && v.tuple->named ? v.tuple->count
                   : v.tag == V_MODULE ? v.module->globals.count : 0;
    while (*k < count) {
        size_t i = (*k)++;
        const Name *field = v.tag == V_TUPLE ? v.tuple->names[i] : v.module->globals.names[i];
        if (v.tag == V_MODULE && v.module->slots[i].tag == V_UNDEF)
            continue;
        if (field && strncmp(field->text, point + 1, strlen(point + 1)) == 0) {
            char *whole = NULL;
            if (asprintf(&whole, "%.*s.%s", (int)(point - text), text, field->text) >= 0)
                return whole;
        }
    }
    return NULL;
}

/* `sim.m`: simulated devices, where sim is no variable. */
static char *simulated(const char *text, size_t *k)
{
    const Name *name = names_find(&line.in->names, "sim", 3);
    int64_t slot = name ? globals_find(&line.in->main->globals, name) : -1;
    if (strncmp(text, "sim.", 4) != 0 || (slot >= 0 && line.in->main->slots[slot].tag != V_UNDEF))
        return NULL;
    size_t i = 0;
    for (const Device *d = line.in->ctx.devices->first; d; d = d->next, i++)
        if (i >= *k && strncmp(d->name, text, strlen(text)) == 0) {
            *k = i + 1;
            return strdup(d->name);
        }
    return NULL;
}

static char *next_name(const char *text, int state)
{
    static const char *names[NAMES_MAX];
    static size_t k, count;
    const char *point = strrchr(text, '.');
    if (state == 0) {
        k = 0;
        count = point ? 0 : interp_names(line.in, names, NAMES_MAX);
        count = count < NAMES_MAX ? count : NAMES_MAX;
    }
    if (point && strncmp(text, "sim.", 4) == 0) {
        char *device = simulated(text, &k);
        return device ? device : member(text, point, &k);
    }
    if (point)
        return member(text, point, &k);
    while (k < count + COUNT(words)) {
        const char *name = k < count ? names[k] : words[k - count];
        char *found = if_starts(name, text, strlen(text));
        k++;
        if (found)
            return found;
    }
    return NULL;
}

static char *next_command(const char *text, int state)
{
    static size_t k;
    if (state == 0)
        k = 0;
    while (k < COUNT(commands)) {
        char *found = if_starts(commands[k++], text, strlen(text));
        if (found)
            return found;
    }
    return NULL;
}

static char *next_symbol(const char *text, int state)
{
    static size_t k;
    if (state == 0)
        k = 0;
    for (; k < COUNT(symbols); k++)
        if (strncmp(symbols[k].name, text + 1, strlen(text + 1)) == 0) {
            char *found = NULL;
            if (asprintf(&found, "\\%s", symbols[k++].name) < 0)
                return NULL;
            return found;
        }
    return NULL;
}

/* `\otimes` complete becomes ⊗; a beginning of one is completed to its name. */
static char **complete_symbol(const char *text)
{
    for (size_t i = 0; i < COUNT(symbols); i++)
        if (strcmp(symbols[i].name, text + 1) == 0) {
            char **matches = calloc(2, sizeof *matches);
            if (matches)
                matches[0] = strdup(symbols[i].text);
            return matches;
        }
    return rl_completion_matches(text, next_symbol);
}

/* `fma(`: what a C function takes is shown below the line. */
static void show_parameters(int bracket)
{
    int from = bracket;
    while (from > 0 && (isalnum((unsigned char)rl_line_buffer[from - 1]) || strchr("_.", rl_line_buffer[from - 1])))
        from--;
    const char *name = rl_line_buffer + from, *point = memchr(name, '.', (size_t)(bracket - from));
    size_t len = (size_t)(bracket - from), module = point ? (size_t)(point - name) : 0;
    Value v = global(line.in->main, name, point ? module : len);
    if (point)
        v = v.tag == V_MODULE ? global(v.module, point + 1, len - module - 1) : v_undef();
    if (v.tag != V_CFUNC)
        return;
    rl_crlf();
    buf_clear(&line.in->scratch);
    show_value(line.in, &line.in->scratch, v);
    fprintf(rl_outstream, "%s\n", buf_cstr(&line.in->scratch));
    rl_forced_update_display();
}

/* Readline's entry: file names inside strings and after :load and :save, names elsewhere. */
static char **complete(const char *text, int start, int end)
{
    (void)end;
    bool files = strncmp(rl_line_buffer, ":load ", 6) == 0 ||
                 strncmp(rl_line_buffer, ":save ", 6) == 0 ||
                 (start > 0 && rl_line_buffer[start - 1] == '"');
    if (files)
        return NULL;
    rl_attempted_completion_over = 1;
    rl_completion_append_character = '\0';
    if (text[0] == '\\')
        return complete_symbol(text);
    if (start == 1 && rl_line_buffer[0] == ':')
        return rl_completion_matches(text, next_command);
    if (!*text && start > 0 && rl_line_buffer[start - 1] == '(')
        show_parameters(start - 1);
    return *text ? rl_completion_matches(text, next_name) : NULL;
}

/* ---- history ---- */
/* Makes every folder above `path`, for this user alone. */
static void make_folders(char *path)
{
    for (char *p = path + 1; *p; p++)
        if (*p == '/') {
            *p = '\0';
            mkdir(path, 0700);
            *p = '/';
        }
}

/* $XDG_STATE_HOME/ricci/history or ~/.local/state/ricci/history; NULL if there is no
 * home, or something is in its place that is no plain file of this user. */
static char *history_path(void)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char *path = NULL;
    int n = -1;
    if (state && state[0] == '/')
        n = asprintf(&path, "%s/ricci/history", state);
    else if (home && home[0] == '/')
        n = asprintf(&path, "%s/.local/state/ricci/history", home);
    if (n < 0)
        return NULL;
    make_folders(path);
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    struct stat info;
    bool ok = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid();
    if (fd >= 0)
        close(fd);
    if (!ok) {
        free(path);
        path = NULL;
    }
    return path;
}

static void history_open(void)
{
    history_comment_char = '#';
    history_write_timestamps = 1;      /* entries of several lines survive */
    using_history();
    stifle_history(HISTORY_MAX);
    line.history = history_path();
    if (line.history)
        read_history(line.history);
}

void line_remember(const char *entry)
{
    HIST_ENTRY *last = history_length > 0 ? history_get(history_base + history_length - 1) : NULL;
    if (!line.terminal || !*entry || (last && strcmp(last->line, entry) == 0))
        return;
    add_history(entry);
    line.added++;
    if (line.history && append_history(1, line.history) == 0 && line.added % 100 == 0)
        history_truncate_file(line.history, HISTORY_MAX);
}

/* ---- reading ---- */
static void take_line(char *text)
{
    line.read = text;
    line.done = true;
    rl_callback_handler_remove();
}

void line_open(Interp *in, bool terminal)
{
    const char *term = getenv("TERM");
    line.in = in;
    line.terminal = terminal;
    if (!terminal)
        return;
    setlocale(LC_CTYPE, "");
    rl_readline_name = "ricci";
    rl_persistent_signal_handlers = 1;
    rl_attempted_completion_function = complete;
    rl_completer_word_break_characters = (char *)" \t\n\"`@$><=;:|&{([,+-*/%^!?)]}'";
    rl_basic_quote_characters = "\"";
    if (!term || !*term || strcmp(term, "dumb") == 0)
        rl_variable_bind("enable-bracketed-paste", "off");
    history_open();
}

static bool interrupted(void)
{
    if (!*line.in->ctx.interrupt)
        return false;
    *line.in->ctx.interrupt = 0;
    return true;
}

/* Ctrl-C at the prompt: the line is dropped and the next one starts afresh. */
static LineStatus drop_line(void)
{
    rl_free_line_state();
    rl_callback_sigcleanup();
    rl_replace_line("", 1);
    rl_crlf();
    rl_callback_handler_remove();
    return LINE_INTERRUPTED;
}

/* Waits for a key; false if a signal came first. Signals are let in by ppoll alone, so that
 * none can slip in between the look at the flags and the wait. */
static bool wait_key(void)
{
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool pending = *line.in->ctx.interrupt || rl_pending_signal();
    int ready = pending ? -1 : ppoll(&input, 1, NULL, &before);
    bool signalled = pending || (ready < 0 && errno == EINTR);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !signalled;
}

static LineStatus read_terminal(const char *prompt, Buf *text)
{
    line.done = false;
    rl_callback_handler_install(prompt, take_line);
    while (!line.done) {
        if (wait_key())
            rl_callback_read_char();
        else
            rl_check_signals();
        if (!line.done && interrupted())
            return drop_line();
    }
    if (!line.read)
        return LINE_END;
    buf_puts(text, line.read);
    free(line.read);
    return LINE_READ;
}

/* One byte at a time is never needed: nobody else reads this stdin. */
static LineStatus read_plain(const char *prompt, Buf *text)
{
    char *bytes = NULL;
    size_t cap = 0;
    out_write(line.in, prompt, strlen(prompt));
    out_flush(line.in);
    ssize_t n = getline(&bytes, &cap, stdin);
    if (n < 0) {
        bool again = ferror(stdin) && errno == EINTR && interrupted();
        clearerr(stdin);
        free(bytes);
        if (again)
            out_write(line.in, "\n", 1);
        return again ? LINE_INTERRUPTED : LINE_END;
    }
    if (n > 0 && bytes[n - 1] == '\n')
        n--;
    if (n > 0 && bytes[n - 1] == '\r')
        n--;
    buf_put(text, bytes, (size_t)n);
    free(bytes);
    return LINE_READ;
}

LineStatus line_read(Interp *in, const char *prompt, Buf *text)
{
    line.in = in;
    return line.terminal ? read_terminal(prompt, text) : read_plain(prompt, text);
}

void line_close(void)
{
    if (line.history && line.added)
        history_truncate_file(line.history, HISTORY_MAX);
    free(line.history);
    line.history = NULL;
}
