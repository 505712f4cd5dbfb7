/* Access to files: where they are looked for, reading and mapping them, replacing them as
 * a whole. Knows nothing of formats; the only file here that opens anything. */
#include "builtins/files.h"
#include "core/nearby.h"
#include "core/fd.h"
#include "interp/explain.h"
#include "kernels/mapped.h"

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

/* Names and fields out of a file may hold anything: what is no text, or would steer the
 * terminal, shows as a question mark. */
static void make_printable(char *text)
{
    size_t len = strlen(text);
    for (size_t at = 0, next; at < len; at = next) {
        next = at;
        uint32_t code = utf8_next(text, len, &next);
        if (code < 0x20 || (code >= 0x7F && code < 0xA0) || (code == 0xFFFD && next == at + 1))
            memset(text + at, '?', next - at);
    }
}

static _Noreturn void raise_io(OpCall *c, const char *help, const char *place, const char *fmt,
                               va_list args)
{
    char text[1800];
    int n = snprintf(text, sizeof text, "%.1000s: ", place);
    vsnprintf(text + n, sizeof text - (size_t)n, fmt, args);
    make_printable(text);
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

const char *file_find(OpCall *c, Str *path)
{
    if (strlen(path->text) != path->len)
        err_raise(&c->in->ctx, ERR_IO, "the path contains a NUL byte");
    if (path->len == 0)
        err_raise(&c->in->ctx, ERR_IO, "the path is empty");
    struct stat st;
    if (path->text[0] == '/' || stat(path->text, &st) == 0 || !c->in->ctx.locate)
        return path->text;
    Where where = { 0 };
    c->in->ctx.locate(&c->in->ctx, &where);
    const char *slash = where.source ? strrchr(where.source->name, '/') : NULL;
    if (!slash)
        return path->text;
    int folder = (int)(slash - where.source->name);
    char beside[4096];
    int n = snprintf(beside, sizeof beside, "%.*s/%s", folder, where.source->name, path->text);
    if (n >= (int)sizeof beside || stat(beside, &st) != 0)
        return path->text;
    Str *found = str_new(&c->in->ctx, beside, (size_t)n);
    v_push(c->in, v_str(found));
    return found->text;
}

/* Opening a pipe waits for its writer: Ctrl-C ends that. */
static int open_waiting(OpCall *c, const char *path)
{
    int fd;
    while ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0 && errno == EINTR)
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
            file_error(c, path, "%s", strerror(errno));
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
            file_error(c, path, "%s", strerror(errno));
        if (got == 0)
            file_error(c, path, "the file ended at byte %lld while it was read, %lld are needed",
                       (long long)done, (long long)size);
        done += got > 0 ? got : 0;
        poll_interrupt(c->in);
    }
    return t;
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
    int n = vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    str_append(&c->in->ctx, text, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

/* EINTR when Ctrl-C was pressed. */
static bool write_all(OpCall *c, int fd, const char *bytes, size_t n)
{
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
    int why = errno;
    if (close(fd) != 0 && good)
        return false;
    errno = why;
    return good;
}

/* A new file has the permissions of the one it replaces, and its owner if that is allowed. */
static bool like_old(int fd, const struct stat *old)
{
    struct stat now;
    if (fstat(fd, &now) == 0 && (now.st_uid != old->st_uid || now.st_gid != old->st_gid) &&
        fchown(fd, old->st_uid, old->st_gid) != 0)
        errno = 0;
    return fchmod(fd, old->st_mode & 07777) == 0;
}

static bool replace_regular(OpCall *c, const char *target, const struct stat *old,
                            const FilePart *parts, size_t count)
{
    char name[4096];
    int fd = fd_open_beside(target, name, sizeof name);
    if (fd < 0)
        return false;
    bool good = !old || like_old(fd, old);
    if (!good)
        close(fd);
    else
        good = write_parts(c, fd, parts, count) && rename(name, target) == 0;
    int why = errno;
    if (!good)
        unlink(name);
    errno = why;
    return good;
}

static bool write_special(OpCall *c, const char *path, const FilePart *parts, size_t count)
{
    int fd;
    while ((fd = open(path, O_WRONLY | O_CLOEXEC)) < 0 && errno == EINTR)
        poll_interrupt(c->in);
    return fd >= 0 && write_parts(c, fd, parts, count);
}

void file_replace(OpCall *c, const char *path, const FilePart *parts, size_t count)
{
    struct stat st;
    char target[4096];
    bool there = stat(path, &st) == 0;
    if (there && S_ISDIR(st.st_mode))
        err_raise(&c->in->ctx, ERR_IO, "cannot write %s: it is a directory", path);
    /* A symbolic link stays one: the file that it names is replaced. */
    char *real = there ? realpath(path, NULL) : NULL;
    bool fits = snprintf(target, sizeof target, "%s", real ? real : path) < (int)sizeof target;
    free(real);
    errno = ENAMETOOLONG;
    bool good = fits && (there && !S_ISREG(st.st_mode)
                             ? write_special(c, path, parts, count)
                             : replace_regular(c, target, there ? &st : NULL, parts, count));
    int why = errno;
    if (good)
        return;
    poll_interrupt(c->in);
    err_raise(&c->in->ctx, ERR_IO, "cannot write %s: %s", path,
              why == EFAULT ? "its values lie in a mapped file that was cut short" : strerror(why));
}
