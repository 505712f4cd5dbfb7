/* Text that is longer than the screen, a screen at a time: space for the next one, Enter for a
 * line, q to stop, and any other key begins the next entry. Only on a terminal that moves its
 * cursor; pipes and dumb terminals get it whole. */
#include "interp/session/repl_commands.h"

#include "core/system/ascii.h"
#include "interp/output/output.h"
#include "interp/show/show.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static const char more_text[] = "\033[7m-- more: space, Enter: a line, q: stop --\033[0m";
static const char more_plain[] = "-- more: space, Enter: a line, q: stop --";
static const char more_erase[] = "\r\033[K";

/* ---- a key ---- */
/* What follows the ESC of an arrow and the like at once (ESC [ B, ESC O B, ESC [ 6 ~): the key that
 * does the same here, \a for those that do nothing, ESC where it came alone. */
static int rest_of_key(void)
{
    enum { TOGETHER_MS = 30 };
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
    char text[16] = "";
    size_t n = 0;
    while (n + 1 < sizeof text && poll(&input, 1, TOGETHER_MS) > 0 &&
           read(STDIN_FILENO, text + n, 1) == 1)
        if (n++ > 0 ? text[n - 1] >= '@' : text[0] != '[' && text[0] != 'O')
            break;
    bool down = n == 2 && text[1] == 'B';
    return n == 0 ? '\033' : down ? '\n' : strcmp(text, "[6~") == 0 ? ' ' : '\a';
}

/* Signals are let in by ppoll alone, so that none slips in between the look at the flag and
 * the wait. */
static int read_key(Interp *in)
{
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
    sigset_t all, before;
    unsigned char key = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int ready = 0;
    while (!*in->ctx.interrupt && (ready = ppoll(&input, 1, NULL, &before)) < 0 && errno == EINTR)
        continue;
    bool stopped = *in->ctx.interrupt != 0;
    *in->ctx.interrupt = 0;
    if (stopped || ready < 0 || read(STDIN_FILENO, &key, 1) != 1)
        key = 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return key == '\033' ? rest_of_key() : key;
}

int repl_key(Interp *in)
{
    struct termios before, raw;
    if (tcgetattr(STDIN_FILENO, &before) != 0)
        return 0;
    raw = before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_lflag |= ISIG;
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    int key = read_key(in);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
    return key;
}

/* ---- pages ---- */
/* Cells of a line; colours take none. */
static int line_width(const char *line, size_t len)
{
    int width = 0;
    size_t from = 0;
    for (size_t i = 0; i < len; i++) {
        if (line[i] != '\033')
            continue;
        width += text_width(line + from, i - from);
        while (i + 1 < len && !ascii_alpha(line[i]))
            i++;
        from = i + 1;
    }
    return from < len ? width + text_width(line + from, len - from) : width;
}

/* The end of what fits into `rows` rows of the terminal from `at` on. */
static const char *page_end(const Interp *in, const char *at, const char *end, int rows)
{
    while (at < end && rows > 0) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        line = line ? line : end;
        int width = line_width(at, (size_t)(line - at));
        rows -= width > 0 ? (width + in->show.width - 1) / in->show.width : 1;
        if (rows < 0)
            break;
        at = line < end ? line + 1 : end;
    }
    return at;
}

static bool can_page(Interp *in)
{
    const char *term = getenv("TERM");
    output_measure_terminal(in);
    return isatty(STDIN_FILENO) && in->show.height > 2 && in->show.width > 0 && term && *term &&
           strcmp(term, "dumb") != 0;
}

/* False: the reader has seen enough; a key of the next entry is kept for it. rows: how many of the
 * next page to show. */
static bool ask_more(Interp *in, int *rows)
{
    const char *more = in->show.color ? more_text : more_plain;
    out_write(in, more, strlen(more));
    out_flush(in);
    int key;
    do {
        key = repl_key(in);
    } while (key == '\a');
    out_write(in, more_erase, sizeof more_erase - 1);
    out_flush(in);
    output_measure_terminal(in);
    bool line = key == '\r' || key == '\n', more_wanted = line || key == ' ';
    if (!more_wanted && key && key != 'q' && key != '\033')
        entry_type((char)key);
    *rows = line ? 1 : in->show.height - 1;
    return more_wanted;
}

void repl_page(Interp *in, Buf *text)
{
    bool paging = can_page(in);
    show_fold(text, 0, in->show.width);
    const char *at = buf_cstr(text), *end = at + text->len;
    int rows = in->show.height - 1;
    while (at < end) {
        const char *stop = paging ? page_end(in, at, end, rows) : end;
        if (stop == at)                    /* one line is more than the screen */
            stop = end;
        out_write(in, at, (size_t)(stop - at));
        at = stop;
        if (at < end && !ask_more(in, &rows))
            return;
    }
}
