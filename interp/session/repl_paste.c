/* Pasted text: read as a whole between the marks that the terminal puts around it, cleaned of
 * what no program holds (terminal codes, prompts, the output between them), and inserted as if it
 * had been typed, without indentation being added to it. It runs when Enter is pressed, once. */
#include "interp/session/repl_edit.h"

#include "core/system/ascii.h"

#include <stdlib.h>
#include <string.h>

/* bytes of a statement up to which the parser is asked if it ends */
enum { PASTE_ASK = 1 << 14 };

/* Text that grows; readline's callbacks must not raise, so what finds no memory is left out. */
typedef struct Text { char *data; size_t len, cap; } Text;

static void text_put(Text *t, const char *bytes, size_t n)
{
    if (t->len + n + 1 > t->cap) {
        size_t cap = 2 * t->cap + n + 4096;
        char *data = realloc(t->data, cap);
        if (!data)
            return;
        t->data = data;
        t->cap = cap;
    }
    if (n > 0)
        memcpy(t->data + t->len, bytes, n);
    t->len += n;
    t->data[t->len] = '\0';
}

/* ---- prompts ---- */
static size_t starts(const char *line, size_t len, const char *prompt)
{
    size_t n = strlen(prompt), bare = n - 1;
    if (len >= n && memcmp(line, prompt, n) == 0)
        return n;
    return len == bare && memcmp(line, prompt, bare) == 0 ? bare : 0;      /* an empty line */
}

/* `In [3]: ` and `octave:3> `. */
static size_t starts_numbered(const char *line, size_t len, const char *before, const char *after)
{
    size_t n = strlen(before), from = n;
    if (len <= n || memcmp(line, before, n) != 0)
        return 0;
    while (n < len && ascii_digit(line[n]))
        n++;
    size_t rest = n > from ? starts(line + n, len - n, after) : 0;
    return rest ? n + rest : 0;
}

static size_t one_prompt(const char *line, size_t len, bool more)
{
    static const char *const first[] = { REPL_PROMPT, "julia> ", ">>> ", ">> " };
    static const char *const next[] = { REPL_CONTINUE, "... " };
    size_t n = starts_numbered(line, len, "In [", "]: "), blank = 0;
    n = n ? n : starts_numbered(line, len, "octave:", "> ");
    for (size_t i = 0; i < sizeof first / sizeof *first && !n; i++)
        n = starts(line, len, first[i]);
    for (size_t i = 0; i < sizeof next / sizeof *next && !n && more; i++)
        n = starts(line, len, next[i]);
    while (blank < len && line[blank] == ' ')
        blank++;
    if (!n && more && blank > 0)
        n = starts(line + blank, len - blank, "...: ");
    return n && more && line[blank] == '.' && blank > 0 && line[blank + 3] == ':' ? blank + n : n;
}

size_t paste_prompt(const char *line, size_t len, bool more)
{
    size_t n = 0, found;
    while ((found = one_prompt(line + n, len - n, more)) > 0)
        n += found;
    return n;
}

static size_t line_length(const char *text, size_t len)
{
    const char *end = memchr(text, '\n', len);
    return end ? (size_t)(end - text) : len;
}

/* Does the statement that a session's copy has come to need more lines? */
static bool needs_more(const Text *t, size_t from, EntryDone *done, void *arg)
{
    return t->len - from > PASTE_ASK || !done(arg, t->data + from, t->len - from);
}

/* A session with its prompts: what was entered is kept, what was answered is not. */
static Text take_session(const char *text, size_t len, EntryDone *done, void *arg)
{
    Text kept = { 0 };
    size_t statement = 0;
    for (size_t at = 0; at < len;) {
        size_t n = line_length(text + at, len - at), prompt = paste_prompt(text + at, n, true);
        bool begins = prompt && paste_prompt(text + at, n, false);
        if (begins || prompt || (kept.len > 0 && needs_more(&kept, statement, done, arg))) {
            if (kept.len > 0)
                text_put(&kept, "\n", 1);
            if (begins)
                statement = kept.len;
            text_put(&kept, text + at + prompt, n - prompt);
        }
        at += n + 1;
    }
    return kept;
}

char *paste_take(const char *text, size_t len, EntryDone *done, void *arg)
{
    if (!paste_prompt(text, line_length(text, len), false))
        return NULL;
    Text kept = take_session(text, len, done, arg);
    text_put(&kept, "", 1);
    return kept.data;
}

/* ---- cleaning ---- */
/* Length of a terminal's code that begins here: ESC [ … letter, ESC ] … BEL, ESC and one more. */
static size_t code_length(const char *text, size_t len)
{
    size_t n = 2;
    if (len < 2)
        return len;
    if (text[1] == '[') {
        while (n < len && n < 64 && (unsigned char)text[n] >= ' ' && (unsigned char)text[n] < '@')
            n++;
        return n < len ? n + 1 : n;
    }
    if (text[1] != ']')
        return (unsigned char)text[1] >= ' ' && (unsigned char)text[1] < 0x7F ? 2 : 1;
    while (n < len && n < 4096 && text[n] != '\a' && text[n] != '\033' && text[n] != '\n' &&
           text[n] != '\r')
        n++;
    if (n + 1 < len && text[n] == '\033' && text[n + 1] == '\\')
        return n + 2;
    return n < len && text[n] == '\a' ? n + 1 : n;
}

/* Length without the line ends and empty lines at the end. */
static size_t without_last_lines(const char *text, size_t len)
{
    for (size_t end = len; end > 0; end--)
        if (text[end - 1] == '\n')
            len = end - 1;
        else if (text[end - 1] != ' ' && text[end - 1] != '\t')
            break;
    return len;
}

/* In place: line ends become \n, codes and control characters go. */
static void clean(Text *t)
{
    size_t to = 0;
    for (size_t at = 0; at < t->len;) {
        unsigned char c = (unsigned char)t->data[at];
        if (c == '\033') {
            at += code_length(t->data + at, t->len - at);
            continue;
        }
        if (c == '\r') {
            at += at + 1 < t->len && t->data[at + 1] == '\n';
            c = '\n';
        }
        at++;
        if (c >= ' ' ? c != 0x7F : c == '\n' || c == '\t')
            t->data[to++] = (char)c;
    }
    t->len = without_last_lines(t->data, to);
    to = t->len;
    if (t->data)
        t->data[to] = '\0';
}

static size_t blanks(const char *text, size_t len)
{
    size_t n = 0;
    while (n < len && (text[n] == ' ' || text[n] == '\t'))
        n++;
    return n;
}

/* A piece of a deeper block: the blanks that all its lines begin with are taken off. */
static void shift_left(Text *t)
{
    size_t least = blanks(t->data, t->len), to = 0;
    for (size_t at = 0; at < t->len && least > 0;
         at += line_length(t->data + at, t->len - at) + 1) {
        size_t n = line_length(t->data + at, t->len - at), indent = blanks(t->data + at, n);
        if (indent < n && (indent < least || memcmp(t->data, t->data + at, least) != 0))
            least = indent < least ? indent : 0;
    }
    for (size_t at = 0; at < t->len && least > 0;) {
        size_t n = line_length(t->data + at, t->len - at), skip = n < least ? n : least;
        bool end = at + n < t->len;
        memmove(t->data + to, t->data + at + skip, n - skip + end);
        to += n - skip + end;
        at += n + 1;
    }
    if (least > 0) {
        t->len = to;
        t->data[to] = '\0';
    }
}

static void read_text(Text *t)
{
    static const char end[] = "\033[201~";
    size_t n = sizeof end - 1;
    key_in_blocks(true);
    for (;;) {
        int c = rl_read_key();
        if (key_has_ended() || key_was_interrupted())
            break;
        char byte = (char)c;
        text_put(t, &byte, 1);
        if (byte == '~' && t->len >= n && memcmp(t->data + t->len - n, end, n) == 0) {
            t->len -= n;
            break;
        }
    }
    key_in_blocks(false);
}

static bool at_prompt_done(void *arg, const char *text, size_t len)
{
    (void)arg;
    return entry_is_done(text, len);
}

int paste_read(int count, int key)
{
    Text t = { 0 };
    (void)count, (void)key;
    read_text(&t);
    clean(&t);
    if (t.len > 0 && paste_prompt(t.data, line_length(t.data, t.len), false)) {
        Text kept = take_session(t.data, t.len, at_prompt_done, NULL);
        free(t.data);
        t = kept;
    }
    if (t.len > 0 && rl_point == 0)
        shift_left(&t);
    if (t.len > 0 && t.data)
        rl_insert_text(t.data);
    free(t.data);
    return 0;
}
