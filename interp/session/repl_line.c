/* Entries for the REPL: here keys are waited for and lines become entries. On a terminal readline
 * edits (what its keys do is repl_edit.c) and repl_draw.c draws; on a dumb terminal readline does
 * both, a line at a time; elsewhere lines are read as they come. Readline keeps its own global
 * state and takes callbacks without an argument, so this file has one static record beside it. */
#include "interp/session/repl_complete.h"
#include "interp/session/repl_edit.h"
#include "interp/session/repl_signals.h"
#include "interp/output/output.h"

#include "core/base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { BLOCK = 1 << 16, DUMB_COLUMNS = 8 };

static struct Line {
    Interp *in;
    bool terminal;             /* readline edits; `rich`: entries of several lines, drawn here */
    bool rich, done, ended;    /* ended: the terminal is gone */
    bool hinted;               /* it was said what the entry waits for */
    char *read;                /* what readline gave, NULL at the end of input */
    const char *mark;          /* stands before each prompt without a terminal, or NULL */
    EntryDone *is_done;        /* of the caller, and its argument */
    void *arg;
    /* what is in force while readline runs; 0: there is none to be had */
    locale_t utf8;
    /* keys: where they are read, without waiting */
    int keys;
    /* no key was there when it was asked for: the next one, the last one */
    bool blocked, waited;
    bool blocks;
    char *block;               /* keys that were read and not asked for yet */
    size_t block_at, block_len;
    volatile sig_atomic_t continued;   /* the process was stopped */
} line;

/* ---- keys ---- */
bool key_is_there(void)
{
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
    return line.block_at < line.block_len || poll(&input, 1, 0) > 0;
}

bool key_is_alone(void)
{
    return line.waited && !key_is_there();
}

bool key_has_ended(void)
{
    return line.ended;
}

bool key_was_interrupted(void)
{
    return *line.in->ctx.interrupt != 0;
}

static int block_is_there(void)
{
    return line.block_at < line.block_len;
}

void key_in_blocks(bool on)
{
    if (on && !line.block)
        line.block = malloc(BLOCK);
    line.blocks = on && line.block;
    rl_input_available_hook = block_is_there() ? block_is_there : NULL;
}

void entry_type(char key)
{
    if (!line.rich || block_is_there())
        return;
    if (!line.block)
        line.block = malloc(BLOCK);
    if (!line.block)
        return;
    line.block[0] = key;
    line.block_at = 0;
    line.block_len = 1;
    rl_input_available_hook = block_is_there;
}

/* A signal came that the prompt answers. */
static bool is_signalled(void)
{
    return *line.in->ctx.interrupt || rl_pending_signal() || line.continued;
}

/* A signal came that ends a question, and no key before it. */
static bool wants_to_stop(void)
{
    int pending = rl_pending_signal();
    return ((pending && pending != SIGWINCH) || *line.in->ctx.interrupt) && !key_is_there();
}

/* Waits for a key; false if there was a signal first. Signals are let in by ppoll alone, so that
 * none can slip in between the look at the flags and the wait. */
static bool await_key(bool (*stopped)(void))
{
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool pending = stopped();
    int ready = pending ? -1 : ppoll(&input, 1, NULL, &before);
    bool signalled = pending || (ready < 0 && errno == EINTR);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !signalled;
}

/* Reads what is there, one byte where another program may want the rest. False: nothing came. */
static bool read_keys(char *byte)
{
    size_t room = line.blocks ? BLOCK : 1;
    char *into = line.blocks ? line.block : byte;
    ssize_t n = read(line.keys, into, room);
    if (n < 0 && errno == EAGAIN)
        await_key(wants_to_stop);
    else if (n == 0 || (n < 0 && errno != EINTR))
        line.ended = true;
    if (n > 0 && line.blocks) {
        line.block_len = (size_t)n;
        line.block_at = 1;
        *byte = line.block[0];
    }
    return n > 0;
}

/* For readline. It asks when a key is there, but for questions; Ctrl-C answers those with ^G. */
static int next_key(FILE *stream)
{
    char byte = '\a';
    (void)stream;
    /* of several bytes the first counts */
    if (!RL_ISSTATE(RL_STATE_MULTIKEY | RL_STATE_METANEXT))
        line.waited = line.blocked;
    line.blocked = false;
    if (line.block_at < line.block_len) {
        byte = line.block[line.block_at++];
        if (line.block_at == line.block_len && !line.blocks)
            rl_input_available_hook = NULL;
        return (unsigned char)byte;
    }
    while (!line.ended && !wants_to_stop())
        if (read_keys(&byte))
            return (unsigned char)byte;
    return line.ended ? EOF : '\a';
}

static bool wait_key(void)
{
    line.blocked = !key_is_there();
    if (line.blocked && line.rich)
        draw();
    return block_is_there() || await_key(is_signalled);
}

/* ---- signals ---- */
static void note_continued(int signal)
{
    line.continued = signal;
}

static bool interrupted(void)
{
    if (!*line.in->ctx.interrupt)
        return false;
    *line.in->ctx.interrupt = 0;
    return true;
}

/* What a signal prints stands behind the entry; the entry is drawn again under it. */
static void take_signals(void)
{
    int pending = rl_pending_signal();
    bool stops = pending == SIGTSTP || pending == SIGTTIN || pending == SIGTTOU;
    if (line.rich && (stops || pending == SIGINT)) {
        draw_leave();
        if (stops)
            rl_crlf();
    }
    rl_check_signals();
    if (line.continued) {
        line.continued = 0;
        /* whoever ran meanwhile has set the terminal as he likes */
        rl_deprep_terminal();
        rl_prep_terminal(1);
        if (line.rich)
            draw_begin();
        else
            rl_forced_update_display();
    }
}

/* Ctrl-C at the prompt: the entry is dropped and the next one starts afresh. */
static LineStatus drop_line(void)
{
    rl_free_line_state();
    rl_callback_sigcleanup();
    rl_replace_line("", 1);
    rl_crlf();
    rl_callback_handler_remove();
    line.block_len = line.block_at = 0;
    rl_input_available_hook = NULL;
    return LINE_INTERRUPTED;
}

/* ---- readline ---- */
static void take_line(char *text)
{
    line.read = text;
    line.done = true;
    rl_callback_handler_remove();
}

static void draw_later(void) {}

/* Readline's own drawing divides by the columns: of a window with one, none is left for it. */
static void measure_dumb(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        rl_set_screen_size(size.ws_row, size.ws_col > DUMB_COLUMNS ? size.ws_col : DUMB_COLUMNS);
}

/* ---- letters ---- */
/* Text is UTF-8, whatever the locale of the user says, and readline asks what a letter is and how
 * wide: while it runs, this thread has a locale of its own. Readline also sets the one of the
 * process, from the environment and at every prompt; that belongs to the C code that a program may
 * call, and is put back. */
typedef struct Letters {
    locale_t thread;
    char *process;
} Letters;

static Letters letters_begin(void)
{
    static const char *const names[] = { "C.UTF-8", "C.utf8", "en_US.UTF-8" };
    const char *process = setlocale(LC_CTYPE, NULL);
    for (size_t i = 0; !line.utf8 && i < sizeof names / sizeof *names; i++)
        line.utf8 = newlocale(LC_CTYPE_MASK, names[i], (locale_t)0);
    return (Letters){ uselocale(line.utf8), process ? strdup(process) : NULL };
}

static void letters_end(Letters before)
{
    if (before.process)
        setlocale(LC_CTYPE, before.process);
    free(before.process);
    uselocale(before.thread);
}

/* Under LC_ALL=C readline takes a letter's bytes for Meta and a key. */
static void keep_letters(void)
{
    rl_variable_bind("input-meta", "on");
    rl_variable_bind("convert-meta", "off");
    rl_variable_bind("output-meta", "on");
}

static void install(const char *prompt)
{
    line.done = false;
    if (!line.rich)
        measure_dumb();
    rl_callback_handler_install(prompt, take_line);
    if (line.rich)
        edit_bind(line.in);
}

/* A signal that readline caught while it took the line is the entry's: on to our handler. */
static void pass_signals_on(void)
{
    if (!rl_pending_signal())
        return;
    rl_check_signals();
    rl_deprep_terminal();
    rl_clear_signals();
}

static LineStatus edit_line(const char *prompt, Buf *text)
{
    install(prompt);
    while (!line.done) {
        if (wait_key())
            rl_callback_read_char();
        else
            take_signals();
        if (!line.done && interrupted())
            return drop_line();
        if (!line.done && line.ended)
            drop_line();
        if (line.ended)
            return LINE_END;
    }
    pass_signals_on();
    if (!line.read)
        return LINE_END;
    buf_puts(text, line.read);
    free(line.read);
    return LINE_READ;
}

static LineStatus read_terminal(const char *prompt, Buf *text)
{
    Letters before = letters_begin();
    LineStatus status = edit_line(prompt, text);
    letters_end(before);
    return status;
}

/* One byte at a time is never needed: nobody else reads this stdin. */
static LineStatus read_plain(const char *prompt, Buf *text)
{
    char *bytes = NULL;
    size_t cap = 0;
    if (line.mark)
        out_write(line.in, line.mark, strlen(line.mark));
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

/* ---- entries ---- */
/* The parser may raise; nothing may jump over readline. */
bool entry_is_done(const char *text, size_t len)
{
    Ctx *ctx = &line.in->ctx;
    ErrFrame frame;
    if (!ERR_TRY(ctx, &frame)) {
        err_free(ctx->error);
        ctx->error = NULL;
        return true;
    }
    bool done = line.is_done(line.arg, text, len);
    ERR_END(ctx, &frame);
    return done;
}

/* Two blank lines in a row end it, and more is waited for? */
static bool is_at_a_loss(const char *text, size_t len)
{
    int lines = 0;
    size_t end = len;
    while (end > 0 && strchr(" \t\n", text[end - 1]))
        lines += text[--end] == '\n';
    return lines >= 2 && end > 0;
}

void entry_hint(const char *text, size_t len)
{
    Ctx *ctx = &line.in->ctx;
    Span open;
    ErrFrame frame;
    if (line.hinted || !is_at_a_loss(text, len))
        return;
    line.hinted = true;
    if (!ERR_TRY(ctx, &frame)) {
        err_free(ctx->error);
        ctx->error = NULL;
        return;
    }
    bool is_open = parse_is_open(ctx, text, len, &open);
    ERR_END(ctx, &frame);
    if (!is_open)
        return;
    int at = 1;
    for (uint32_t i = 0; i < open.from; i++)
        at += text[i] == '\n';
    if (line.rich)
        entry_below_begin();
    printf("%.*s from line %d is still open; Ctrl-C drops the entry", (int)(open.to - open.from),
           text + open.from, at);
    if (line.rich)
        entry_below_end();
    else
        printf("\n");
    fflush(stdout);
}

/* A line read may be an entry of several lines, out of the history. */
static void add_lines(Buf *text, const char *lines, bool first)
{
    for (bool more = true; more; first = false) {
        const char *end = strchrnul(lines, '\n');
        size_t prompt = paste_prompt(lines, (size_t)(end - lines), text->len > 0);
        if (!first)
            buf_putc(text, '\n');
        buf_put(text, lines + prompt, (size_t)(end - lines) - prompt);
        more = *end;
        lines = end + more;
    }
}

static LineStatus read_lines(Buf *text)
{
    Buf *got = &line.in->scratch;
    for (bool first = true;; first = false) {
        const char *prompt = first ? REPL_PROMPT : REPL_CONTINUE;
        buf_clear(got);
        LineStatus status = line.terminal ? read_terminal(prompt, got) : read_plain(prompt, got);
        if (status == LINE_END)
            out_write(line.in, "\n", 1);
        if (status == LINE_INTERRUPTED || (status == LINE_END && first))
            return status;
        if (status == LINE_READ)
            add_lines(text, buf_cstr(got), first);
        if (status == LINE_END || line.is_done(line.arg, buf_cstr(text), text->len))
            return LINE_READ;
        if (line.terminal)
            entry_hint(buf_cstr(text), text->len);
    }
}

/* At the end of input readline's terminal codes for pasting bring a newline with them. */
static LineStatus read_whole(Buf *text)
{
    out_flush(line.in);
    draw_begin();
    LineStatus status = read_terminal(REPL_PROMPT, text);
    const char *pasting = rl_variable_value("enable-bracketed-paste");
    if (status == LINE_END && !(pasting && strcmp(pasting, "on") == 0))
        rl_crlf();
    return status;
}

LineStatus entry_read(Interp *in, EntryDone *done, void *arg, Buf *text)
{
    line.in = in;
    line.is_done = done;
    line.arg = arg;
    line.hinted = false;
    signals_at_prompt(true);
    LineStatus status = line.rich ? read_whole(text) : read_lines(text);
    signals_at_prompt(false);
    size_t len = text->len;
    while (len > 0 && strchr(" \t\n", text->data[len - 1]))
        len--;
    if (status == LINE_READ && line.terminal && len > 0) {
        char last = text->data[len];
        text->data[len] = '\0';
        history_add(text->data);
        text->data[len] = last;
    }
    return status;
}

void entry_mark(const char *mark)
{
    line.mark = mark;
}

void entry_below_begin(void)
{
    if (line.rich)
        draw_leave();
    rl_crlf();
}

void entry_below_end(void)
{
    rl_crlf();
    if (line.rich)
        fflush(rl_outstream);
    else
        rl_forced_update_display();
}

/* ---- opening and closing ---- */
static void open_rich(Interp *in)
{
    struct sigaction action = { .sa_handler = note_continued };
    sigemptyset(&action.sa_mask);
    sigaction(SIGCONT, &action, NULL);
    rl_instream = stdin;
    rl_outstream = stdout;
    draw_open(in);
    /* before the next line: readline asks no terminal that it does not draw on */
    rl_initialize();
    rl_redisplay_function = draw_later;
}

static void open_dumb(void)
{
    rl_variable_bind("enable-bracketed-paste", "off");
    rl_catch_sigwinch = 0;     /* the window is measured for every line */
    rl_initialize();
}

/* The terminal once more. Ctrl-C takes the keys that wait with it: keys that were there a moment
 * ago may be gone, and reading them must not wait for others. */
static int open_keys(void)
{
    int keys = open("/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return keys < 0 ? STDIN_FILENO : keys;
}

void entry_open(Interp *in, bool terminal)
{
    const char *term = getenv("TERM");
    bool dumb = !term || !*term || strcmp(term, "dumb") == 0;
    line.in = in;
    line.terminal = terminal;
    line.rich = terminal && !dumb;
    if (!terminal)
        return;
    Letters before = letters_begin();
    rl_readline_name = "ricci";
    rl_persistent_signal_handlers = 1;
    rl_variable_bind("revert-all-at-newline", "on");
    /* 8.2 crashes on Ctrl-R Ctrl-X x */
    rl_variable_bind("isearch-terminators", "\\e\\C-j\\C-x");
    complete_open(in);
    if (line.rich)
        open_rich(in);
    else
        open_dumb();
    line.keys = open_keys();
    rl_getc_function = next_key;
    keep_letters();
    letters_end(before);
    history_open(!in->ctx.fence);
}

void entry_close(void)
{
    free(line.block);
    line.block = NULL;
    line.block_len = line.block_at = 0;
    if (line.rich)
        draw_close();
    if (line.keys != STDIN_FILENO)
        close(line.keys);
    line.keys = STDIN_FILENO;
    if (line.terminal)
        history_close();
}
