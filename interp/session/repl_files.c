/* The session's entries as files: the log of what ran and `:save`, `:load`, `:edit` with its
 * temporary file, `:history`. */
#include "interp/session/repl_commands.h"

#include "core/system/ascii.h"
#include "core/system/c_locale.h"
#include "core/system/fd.h"
#include "core/base/fence.h"
#include "core/base/limit.h"
#include "interp/eval/module.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_CAP = 1024 };      /* of a temporary file */

/* An entry in the log: its bytes, and the statement whose value became `ans` (empty: none). */
typedef struct ReplMark {
    size_t from, to, ans_from, ans_to;
    bool uses_ans;
} ReplMark;

/* ---- paths ---- */
const char *repl_path(Repl *r, const char *typed)
{
    size_t n = strlen(typed);
    const char *home = getenv("HOME");
    while (n > 0 && ascii_space(typed[n - 1]))
        n--;
    if (n >= 2 && typed[0] == '"' && typed[n - 1] == '"') {
        typed++;
        n -= 2;
    }
    buf_clear(&r->page);
    if (typed[0] == '~' && (typed[1] == '/' || n == 1) && home) {
        buf_puts(&r->page, home);
        typed++;
        n--;
    }
    buf_put(&r->page, typed, n);
    return buf_cstr(&r->page);
}

static const char *need_path(Repl *r, const char *typed, const char *command)
{
    if (!*typed)
        err_raise(&r->in->ctx, ERR_VALUE, ":%s needs a file name", command);
    return repl_path(r, typed);
}

/* ---- the log ---- */
/* Perhaps in a string or a comment, which does no harm. */
static bool uses_ans(const char *text, size_t len)
{
    for (const char *at = text, *end = text + len; at + 3 <= end; at++)
        if (strncmp(at, "ans", 3) == 0 && (at == text || !repl_in_name(at[-1])) &&
            (at + 3 == end || !repl_in_name(at[3])))
            return true;
    return false;
}

void repl_log(Repl *r, const char *text, size_t len, const Chunk *chunk, bool sets_ans)
{
    ReplMark mark = { .from = r->log.len, .uses_ans = uses_ans(text, len) };
    const Node *root = sets_ans && chunk ? chunk->root : NULL;
    if (root && root->count > 0) {
        Span last = root->list[root->count - 1]->span;
        mark.ans_from = mark.from + last.from;
        mark.ans_to = mark.from + last.to;
    }
    buf_put(&r->log, text, len);
    mark.to = r->log.len;
    buf_put(&r->marks, (const char *)&mark, sizeof mark);
}

/* The program that the entries are: where a later one reads `ans`, the one that set it says so. */
static void put_program(Repl *r, Buf *out)
{
    ReplMark *marks = (ReplMark *)(void *)r->marks.data;
    size_t count = r->marks.len / sizeof *marks;
    buf_clear(out);
    for (size_t i = 0; i < count; i++) {
        const ReplMark *m = &marks[i];
        bool named = false;
        for (size_t k = i + 1; m->ans_to > m->ans_from && k < count && !named; k++) {
            named = marks[k].uses_ans;
            if (marks[k].ans_to > marks[k].ans_from)
                break;
        }
        size_t from = named ? m->ans_from : m->to, to = named ? m->ans_to : m->to;
        buf_put(out, r->log.data + m->from, from - m->from);
        if (named) {
            buf_puts(out, "ans = (");
            buf_put(out, r->log.data + from, to - from);
            buf_puts(out, ")");
        }
        buf_put(out, r->log.data + to, m->to - to);
        if (out->len == 0 || out->data[out->len - 1] != '\n')
            buf_putc(out, '\n');
    }
}

/* ---- :save ---- */
/* Returns errno. What is no plain file is nothing to save a session in. */
static int save_as(const char *path, const Buf *text, bool force)
{
    FdWhole w;
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && force)
        return S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
    if (!(force ? fd_whole_open(&w, path) : fd_whole_open_new(&w, path)))
        return errno;
    return fd_whole_end(&w, fd_write_all(w.fd, text->data, text->len)) ? 0 : errno;
}

void repl_save(Repl *r, const char *typed, bool force)
{
    Ctx *ctx = &r->in->ctx;
    char held[FENCE_PATH];
    const char *path = fence_target(ctx, need_path(r, typed, "save"), held);
    put_program(r, &r->rows);
    int error = limit_write(ctx, r->rows.len) ? save_as(path, &r->rows, force) : errno;
    if (error == EEXIST) {
        Error *e = err_new(ctx, ERR_IO, "there is a file \"%s\" already", path);
        err_help(e, ":save! %s replaces it", typed);
        err_throw(e);
    }
    if (error)
        err_raise(ctx, ERR_IO, "cannot write \"%s\": %s", path,
                  error == EINVAL ? "it is no plain file" : limit_why(ctx, error, (char[96]){ 0 }));
}

/* ---- :load ---- */
static void run_file(Repl *r, const char *path)
{
    Interp *in = r->in;
    r->source = source_read(&in->ctx, path);
    r->chunk = parse_source(&in->ctx, &in->names, r->source);
    v_release(&in->ctx, run_chunk(in, in->main, r->chunk));
    repl_log(r, r->source->text, r->source->len, r->chunk, false);
}

void repl_load(Repl *r, const char *typed, bool force)
{
    const char *path = need_path(r, typed, "load");
    size_t n = strlen(path);
    (void)force;
    Ctx *ctx = &r->in->ctx;
    bool bare = n > 0 && !fence_sees(ctx, path) && !strchr(path + (n > 4 ? n - 4 : 0), '.');
    if (bare)
        buf_puts(&r->page, ".ric");            /* :load demo, as import demo */
    if (bare && !fence_sees(ctx, buf_cstr(&r->page))) {
        r->page.len -= 4;
        r->page.data[r->page.len] = '\0';
    }
    run_file(r, buf_cstr(&r->page));
}

/* ---- :edit ---- */
static const char *editor(void)
{
    static const char *const known[] = { "VISUAL", "EDITOR" };
    for (int i = 0; i < 2; i++) {
        const char *name = getenv(known[i]);
        if (name && *name)
            return name;
    }
    return "vi";
}

/* Runs `$EDITOR file` until it ends; raises where it failed. */
static void run_editor(Repl *r, const char *path)
{
    if (!r->terminal)
        err_raise(&r->in->ctx, ERR_IO, ":edit needs a terminal");
    buf_clear(&r->rest);
    buf_printf(&r->rest, "%s \"$1\"", editor());
    int status = repl_spawn(r, buf_cstr(&r->rest), path);
    if (status == 127 || status == 126)
        err_raise_help(&r->in->ctx, ERR_IO, "EDITOR or VISUAL names it, as in `EDITOR=nano ricci`",
                       "the editor `%s` cannot be run", editor());
    if (status != 0)
        err_raise(&r->in->ctx, ERR_IO, "the editor `%s` ended with status %d; nothing was run",
                  editor(), status);
}

/* The text of a function as it was typed, its ## lines included; nothing if there is none. */
static void function_source(Repl *r, const char *name, Buf *out)
{
    Value v = repl_variable(r, name, strlen(name));
    buf_clear(out);
    if (v.tag != V_FUNCTION || !v.fn->chunk->source)
        return;
    const Node *node = v.fn->code->node;
    const Source *source = v.fn->chunk->source;
    if (node->kind == ND_FN && node->text)
        for (const char *at = node->text; *at;) {
            size_t n = strcspn(at, "\n");
            buf_printf(out, "## %.*s\n", (int)n, at);
            at += n + (at[n] == '\n');
        }
    if (node->kind != ND_FN)
        buf_printf(out, "%s = ", name);
    buf_put(out, source->text + node->span.from, node->span.to - node->span.from);
    buf_putc(out, '\n');
}

/* A file of its own for the editor, `NAME.ric` so that the editor knows the language. */
static void temporary_file(Repl *r, const char *name, const Buf *text, char path[PATH_CAP])
{
    const char *folder = getenv("TMPDIR");
    int error = 0;
    bool usable = folder && *folder && strlen(folder) < PATH_CAP - 64;
    snprintf(path, PATH_CAP, "%s/ricci-%.24s-XXXXXX.ric", usable ? folder : "/tmp", name);
    int fd = mkstemps(path, 4);
    bool ended = text->len > 0 && text->data[text->len - 1] == '\n';
    if (fd < 0 || !fd_write_all(fd, text->data, text->len) || !fd_write_all(fd, "\n", !ended))
        error = errno;
    if (fd >= 0)
        close(fd);
    if (error)
        err_raise(&r->in->ctx, ERR_IO, "cannot write \"%s\" for the editor: %s", path,
                  c_strerror(error));
}

/* What the editor left; false: it is what it was, or the file is gone. */
static bool read_back(Repl *r, const char *path, const Buf *before, Buf *after)
{
    char block[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = 0;
    buf_clear(after);
    while (fd >= 0 && (n = read(fd, block, sizeof block)) > 0)
        buf_put(after, block, (size_t)n);
    if (fd >= 0)
        close(fd);
    while (after->len > 0 && ascii_space(after->data[after->len - 1]))
        after->data[--after->len] = '\0';
    size_t len = before->len;
    while (len > 0 && ascii_space(before->data[len - 1]))
        len--;
    return fd >= 0 && n >= 0 && after->len > 0 && !(*r->in->ctx.interrupt) &&
           (after->len != len || memcmp(after->data, before->data, len) != 0);
}

/* The editor is open on a copy. Nothing else may hold r->rows meanwhile. */
static void edit_text(Repl *r, const char *name, Buf *text)
{
    char path[PATH_CAP];
    if (!r->terminal)
        err_raise(&r->in->ctx, ERR_IO, ":edit needs a terminal");
    temporary_file(r, name, text, path);
    ErrFrame frame;
    if (!ERR_TRY(&r->in->ctx, &frame)) {
        unlink(path);
        err_rethrow(&r->in->ctx);
    }
    run_editor(r, path);
    bool changed = read_back(r, path, text, &r->rows);
    ERR_END(&r->in->ctx, &frame);
    unlink(path);
    if (!changed) {
        repl_say(r, "nothing changed, nothing was run\n");
        return;
    }
    if (memchr(r->rows.data, '\0', r->rows.len))
        err_raise(&r->in->ctx, ERR_VALUE, "what the editor left holds a NUL byte; nothing was run");
    buf_clear(&r->last);
    buf_put(&r->last, r->rows.data, r->rows.len);
    history_add(buf_cstr(&r->last));
    repl_run_logged(r, buf_cstr(&r->last));
}

static void edit_file(Repl *r, const char *path)
{
    struct stat before, after;
    bool there = stat(path, &before) == 0;
    run_editor(r, path);
    if (stat(path, &after) != 0 ||
        (there && before.st_ino == after.st_ino && before.st_size == after.st_size &&
         before.st_mtim.tv_sec == after.st_mtim.tv_sec &&
         before.st_mtim.tv_nsec == after.st_mtim.tv_nsec)) {
        repl_say(r, "nothing changed, nothing was run\n");
        return;
    }
    run_file(r, path);
}

static bool is_name(const char *text)
{
    if (ascii_digit(*text))
        return false;
    while (repl_in_name(*text))
        text++;
    return !*text;
}

void repl_edit(Repl *r, const char *what, bool force)
{
    (void)force;
    fence_check(&r->in->ctx, REACH_PROCESS, ":edit");
    if (!*what) {
        edit_text(r, "entry", &r->last);
        return;
    }
    Value v = repl_variable(r, what, strlen(what));
    function_source(r, what, &r->page);
    if (r->page.len > 0) {
        edit_text(r, what, &r->page);
        return;
    }
    if (v.tag != V_UNDEF)
        err_raise_help(&r->in->ctx, ERR_VALUE, ":edit takes a function of this session or a file",
                       "%s is no function that was written here", what);
    const char *path = repl_path(r, what);
    if (is_name(path) && access(path, F_OK) != 0)
        err_raise_help(&r->in->ctx, ERR_NAME, "a new file needs an ending, as in :edit demo.ric",
                       "there is no function and no file `%s`", what);
    edit_file(r, path);
}

/* ---- :history ---- */
/* An entry of several lines has them indented below its number. */
static void put_entry(Buf *out, int number, int width, const char *text)
{
    buf_printf(out, "%*d  ", width, number);
    for (; *text; text++) {
        buf_putc(out, *text);
        if (*text == '\n')
            buf_fill(out, ' ', (size_t)width + 2);
    }
    buf_putc(out, '\n');
}

void repl_history(Repl *r, const char *which, bool force)
{
    enum { SHOWN = 50 };
    char *end;
    unsigned long asked = strtoul(which, &end, 10);
    bool counted = ascii_digit(*which) && !*end;
    size_t n = history_count(), last = counted ? asked : SHOWN;
    int digits = 1;
    (void)force;
    for (size_t k = n; k >= 10; k /= 10)
        digits++;
    bool search = *which && !counted;
    buf_clear(&r->page);
    for (size_t i = search || last > n ? 0 : n - last; i < n; i++) {
        const char *text = history_text(i);
        if (text && (!search || ascii_casestr(text, which)))
            put_entry(&r->page, (int)i + 1, digits, text);
    }
    if (r->page.len == 0)
        buf_puts(&r->page, r->terminal ? "no such entry\n"
                                       : "there is a history on a terminal only\n");
    repl_page(r->in, &r->page);
}
