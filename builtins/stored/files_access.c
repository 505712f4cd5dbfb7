/* Access to files: where they are looked for, reading and mapping them, replacing them as
 * a whole. Knows nothing of formats; the only file here that opens anything. */
#include "builtins/stored/files.h"
#include "core/system/c_locale.h"
#include "core/base/fence.h"
#include "core/base/limit.h"
#include "core/base/nearby.h"
#include "core/base/plain.h"
#include "core/system/fd.h"
#include "interp/op/heard.h"
#include "interp/output/output.h"
#include "kernels/tensor/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAP_FROM = 1 << 20,   /* smaller files are read: a mapping costs a system call and pages */
    WRITE_STEP = 16 << 20 /* between looks at the interrupt flag */
};

/* ---- errors ---- */

static _Noreturn void raise_io(OpCall *c, const char *help, const char *place, const char *fmt,
                               va_list args)
{
    char text[1800];
    int n = snprintf(text, sizeof text, "%.1000s: ", place);
    c_vsnprintf(text + n, sizeof text - (size_t)n, fmt, args);
    plain_line(text);
    err_raise_help(&c->in->ctx, ERR_IO, help, "%s", text);
}

void file_error(OpCall *c, const char *path, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    raise_io(c, NULL, path, fmt, args);
}

void file_error_help(OpCall *c, const char *path, const char *help, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    raise_io(c, help, path, fmt, args);
}

void bytes_error(const Bytes *b, int64_t at, const char *help, const char *fmt, ...)
{
    char place[1024];
    int n = snprintf(place, sizeof place, "%.600s%s%.200s", b->path, b->member ? ": " : "",
                     b->member ? b->member : "");
    if (at >= 0)
        snprintf(place + n, sizeof place - (size_t)n, ": byte %lld", (long long)at);
    va_list args;
    va_start(args, fmt);
    raise_io(b->call, help, place, fmt, args);
}

/* ---- finding and opening ---- */

/* What cannot be read, but is there, is found, so that its error tells. */
static bool is_there(OpCall *c, const char *path)
{
    struct stat st;
    return c->in->ctx.fence ? fence_sees(&c->in->ctx, path) : stat(path, &st) == 0;
}

static const char *find_in(OpCall *c, const char *folder, int length, const char *path, bool there)
{
    char beside[4096];
    int n = snprintf(beside, sizeof beside, "%.*s/%s", length, folder, path);
    if (n >= (int)sizeof beside || (there && !is_there(c, beside)))
        return NULL;
    Str *found = str_new(&c->in->ctx, beside, (size_t)n);
    v_push(c->in, v_str(found));
    return found->text;
}

const char *file_find(OpCall *c, Str *path)
{
    if (strlen(path->text) != path->len)
        err_raise(&c->in->ctx, ERR_IO, "the path contains a NUL byte");
    if (path->len == 0)
        err_raise(&c->in->ctx, ERR_IO, "the path is empty");
    if (path->text[0] == '/' || is_there(c, path->text))
        return path->text;
    Where where = { 0 };
    if (c->in->ctx.locate)
        c->in->ctx.locate(&c->in->ctx, &where);
    const char *beside = where.source ? where.source->name : "", *slash = strrchr(beside, '/');
    int folder = slash ? (int)(slash - beside) : 0;
    const char *found = slash ? find_in(c, beside, folder, path->text, true) : NULL;
    for (const char *const *at = c->in->look_in; !found && at && *at; at++)
        found = find_in(c, *at, (int)strlen(*at), path->text, true);
    /* missed in the program's own folder */
    if (!found && slash && !fence_holds(&c->in->ctx, path->text))
        found = find_in(c, beside, folder, path->text, false);
    return found ? found : path->text;
}

/* Opening a pipe waits for its writer: Ctrl-C ends that. */
static int open_waiting(OpCall *c, const char *path)
{
    int fd;
    while ((fd = fence_open(&c->in->ctx, path)) < 0 && errno == EINTR)
        poll_interrupt(c->in);
    return fd;
}

static int file_open(OpCall *c, const char *path, struct stat *st)
{
    int fd = open_waiting(c, path);
    if (fd < 0)
        nearby_raise(&c->in->ctx, path);
    if (fstat(fd, st) != 0 || S_ISDIR(st->st_mode)) {
        close(fd);
        err_raise(&c->in->ctx, ERR_IO, "%s is a directory", path);
    }
    return fd;
}

/* ---- reading ---- */

static Str *read_stream(OpCall *c, const char *path, int fd)
{
    Interp *in = c->in;
    Str **text = file_text(c);
    char block[65536];
    ssize_t got;
    while ((got = read(fd, block, sizeof block)) != 0) {
        if (got < 0 && errno != EINTR)
            file_error(c, path, "%s", c_strerror(errno));
        if (got > 0)
            str_append(&in->ctx, text, block, (size_t)got);
        poll_interrupt(in);
    }
    return *text;
}

/* All of a regular file into a new tensor; it may have become shorter since fstat. */
static Tensor *read_regular(OpCall *c, const char *path, int fd, int64_t size)
{
    Tensor *t = op_keep(c, tensor_new(&c->in->ctx, DT_U8, 1, &size));
    for (int64_t done = 0; done < size;) {
        int64_t step = size - done < WRITE_STEP ? size - done : WRITE_STEP;
        ssize_t got = pread(fd, t->data + done, (size_t)step, done);
        if (got < 0 && errno != EINTR)
            file_error(c, path, "%s", c_strerror(errno));
        if (got == 0)
            file_error(c, path, "the file ended at byte %lld while it was read, %lld are needed",
                       (long long)done, (long long)size);
        done += got > 0 ? got : 0;
        poll_interrupt(c->in);
    }
    return t;
}

static int64_t nanoseconds(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void read_bytes(Bytes *b, int fd, const struct stat *st)
{
    OpCall *c = b->call;
    if (!S_ISREG(st->st_mode)) {
        Str *text = read_stream(c, b->path, fd);
        b->data = (const uint8_t *)text->text;
        b->size = (int64_t)text->len;
        return;
    }
    b->size = st->st_size;
    b->stamp = (FileStamp){ st->st_dev, st->st_ino, st->st_size, nanoseconds(st->st_mtim),
                            nanoseconds(st->st_ctim) };
    if (b->size >= MAP_FROM &&
        (b->whole = tensor_map(&c->in->ctx, fd, (size_t)b->size, b->path)) != NULL)
        op_keep(c, b->whole);
    else
        b->whole = read_regular(c, b->path, fd, b->size);
    b->data = (const uint8_t *)b->whole->data;
    if (explain_on(c->in))
        explain_note(c->in, "file", "%lld bytes, %s", (long long)b->size,
                     b->whole->buffer->flags & BUFFER_MAPPED
                         ? "mapped: pages are read when they are used"
                         : "read");
}

Bytes file_bytes(OpCall *c, const char *path)
{
    Bytes b = { .call = c, .path = path };
    struct stat st;
    ErrFrame frame;
    int fd = file_open(c, path, &st);
    if (!ERR_TRY(&c->in->ctx, &frame)) {
        close(fd);
        err_rethrow(&c->in->ctx);
    }
    read_bytes(&b, fd, &st);
    ERR_END(&c->in->ctx, &frame);
    close(fd);
    return b;
}

Str *file_read(OpCall *c, const char *path)
{
    struct stat st;
    ErrFrame frame;
    int fd = file_open(c, path, &st);
    if (!ERR_TRY(&c->in->ctx, &frame)) {
        close(fd);
        err_rethrow(&c->in->ctx);
    }
    Str *text = read_stream(c, path, fd);
    ERR_END(&c->in->ctx, &frame);
    close(fd);
    return text;
}

/* ---- writing ---- */

Str **file_text(OpCall *c)
{
    v_push(c->in, v_str(str_new(&c->in->ctx, "", 0)));
    return &c->in->sp[-1].str;
}

void file_put(OpCall *c, Str **text, const char *fmt, ...)
{
    char line[512];
    va_list args;
    va_start(args, fmt);
    int n = c_vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    str_append(&c->in->ctx, text, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

/* EINTR when Ctrl-C was pressed. */
static bool write_all(OpCall *c, int fd, const char *bytes, size_t n)
{
    if (!limit_write(&c->in->ctx, n))
        return false;
    while (n > 0) {
        ssize_t put = write(fd, bytes, n < WRITE_STEP ? n : WRITE_STEP);
        if (*c->in->ctx.interrupt) {
            errno = EINTR;
            return false;
        }
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        bytes += put;
        n -= (size_t)put;
    }
    return true;
}

static bool write_parts(OpCall *c, int fd, const FilePart *parts, size_t count)
{
    bool good = true;
    for (size_t i = 0; good && i < count; i++)
        good = write_all(c, fd, parts[i].data, parts[i].bytes);
    return good;
}

static _Noreturn void raise_write(OpCall *c, const char *path, int why)
{
    poll_interrupt(c->in);
    if (why == EISDIR)
        err_raise(&c->in->ctx, ERR_IO, "cannot write %s: it is a directory", path);
    char text[96];
    err_raise(&c->in->ctx, ERR_IO, "cannot write %s: %s", path,
              why == EFAULT ? "its values lie in a mapped file that was cut short"
                            : limit_why(&c->in->ctx, why, text));
}

static void begin_whole(OpCall *c, FdWhole *w, const char *path)
{
    bool open;
    char held[FENCE_PATH];
    const char *target = fence_target(&c->in->ctx, path, held);
    while (!(open = fd_whole_open(w, target)) && errno == EINTR)
        poll_interrupt(c->in);
    if (!open)
        raise_write(c, path, errno);
}

/* What was printed goes out first: `path` may be where that goes. */
void file_replace(OpCall *c, const char *path, const FilePart *parts, size_t count)
{
    FdWhole w;
    begin_whole(c, &w, path);
    if (!w.beside)
        out_flush(c->in);
    if (!fd_whole_end(&w, write_parts(c, w.fd, parts, count)))
        raise_write(c, path, errno);
}

/* Its length is there before `write` is asked, which sees by it whether it is this file. */
static int write_by(OpCall *c, const FdWhole *w, const FilePart *head, size_t bytes,
                    FileWriter write, void *with)
{
    Limit *limit = c->in->ctx.limit;
    if (!write_parts(c, w->fd, head, 1) || !limit_write(&c->in->ctx, bytes) ||
        ftruncate(w->fd, (off_t)(head->bytes + bytes)) != 0)
        return errno;
    int why = write(c, w->name, with);
    if (why == FILE_DECLINED && limit)
        limit->written -= (double)(head->bytes + bytes);
    return why;
}

bool file_replace_by(OpCall *c, const char *path, const FilePart *head, size_t bytes,
                     FileWriter write, void *with)
{
    FdWhole w;
    ErrFrame frame;
    struct stat st;
    if (c->in->ctx.fence || (stat(path, &st) == 0 && !S_ISREG(st.st_mode)))
        return false;
    begin_whole(c, &w, path);
    if (!ERR_TRY(&c->in->ctx, &frame)) {
        fd_whole_end(&w, false);
        err_rethrow(&c->in->ctx);
    }
    int why = w.beside ? write_by(c, &w, head, bytes, write, with) : FILE_DECLINED;
    ERR_END(&c->in->ctx, &frame);
    errno = why;
    if (!fd_whole_end(&w, why == 0) && why != FILE_DECLINED)
        raise_write(c, path, errno);
    return why != FILE_DECLINED;
}

void file_append(OpCall *c, const char *path, const FilePart *part)
{
    int fd;
    char held[FENCE_PATH];
    const char *target = fence_target(&c->in->ctx, path, held);
    while ((fd = fd_append_open(target)) < 0 && errno == EINTR)
        poll_interrupt(c->in);
    if (fd < 0)
        raise_write(c, path, errno);
    out_flush(c->in);
    bool good = write_parts(c, fd, part, 1);
    int why = errno;
    if (close(fd) != 0 && good) {
        good = false;
        why = errno;
    }
    if (!good)
        raise_write(c, path, why);
}
