/* load and save: the format by extension, and the file access that formats share. */
#include "builtins/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define OP(name, ...) Value op_run_##name(OpCall *);
#include "builtins/files.def"
#undef OP

void file_error(OpCall *c, const char *path, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    err_raise(&c->in->ctx, ERR_IO, "%s: %s", path, text);
}

/* The path itself, or the same path in the folder of the program that asks. */
static const char *find_file(OpCall *c, Str *path)
{
    if (strlen(path->text) != path->len)
        err_raise(&c->in->ctx, ERR_IO, "the path contains a NUL byte");
    struct stat st;
    if (path->len == 0 || path->text[0] == '/' || stat(path->text, &st) == 0 || !c->in->ctx.locate)
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

static int file_open(OpCall *c, const char *path, struct stat *st)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        err_raise(&c->in->ctx, ERR_IO, "cannot open %s: %s", path, strerror(errno));
    if (fstat(fd, st) != 0 || S_ISDIR(st->st_mode)) {
        close(fd);
        err_raise(&c->in->ctx, ERR_IO, "%s is a directory", path);
    }
    return fd;
}

int64_t file_size(OpCall *c, const char *path)
{
    struct stat st;
    int fd = file_open(c, path, &st);
    close(fd);
    if (!S_ISREG(st.st_mode))
        file_error(c, path, "not a regular file");
    return st.st_size;
}

void file_read_at(OpCall *c, const char *path, int64_t offset, void *dst, size_t n)
{
    struct stat st;
    int fd = file_open(c, path, &st);
    size_t done = 0;
    while (done < n) {
        ssize_t got = pread(fd, (char *)dst + done, n - done, offset + (int64_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    close(fd);
    if (done < n)
        file_error(c, path, "the file ends at byte %lld, %lld are needed", (long long)(offset + (int64_t)done),
                   (long long)(offset + (int64_t)n));
}

Str *file_read(OpCall *c, const char *path)
{
    struct stat st;
    int fd = file_open(c, path, &st);
    Interp *in = c->in;
    ErrFrame frame;
    Value *slot = in->sp;
    if (!ERR_TRY(&in->ctx, &frame)) {
        close(fd);
        err_rethrow(&in->ctx);
    }
    v_push(in, v_str(str_new(&in->ctx, "", 0)));
    char block[65536];
    ssize_t got;
    while ((got = read(fd, block, sizeof block)) != 0) {
        if (got < 0 && errno != EINTR)
            file_error(c, path, "%s", strerror(errno));
        if (got > 0)
            str_append(&in->ctx, &slot->str, block, (size_t)got);
        poll_interrupt(in);
    }
    ERR_END(&in->ctx, &frame);
    close(fd);
    return slot->str;
}

static bool write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t put = write(fd, bytes, n);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        bytes += put;
        n -= (size_t)put;
    }
    return true;
}

/* Devices and pipes are written directly: they cannot be renamed over. */
void file_replace(OpCall *c, const char *path, const Buf *head, const void *body, size_t body_bytes)
{
    char temporary[4096];
    struct stat st;
    bool regular = stat(path, &st) != 0 || S_ISREG(st.st_mode);
    int n = snprintf(temporary, sizeof temporary, regular ? "%s.%ld.part" : "%s", path, (long)getpid());
    if (n >= (int)sizeof temporary)
        file_error(c, path, "the path is too long");
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        err_raise(&c->in->ctx, ERR_IO, "cannot write %s: %s", path, strerror(errno));
    bool good = write_all(fd, head->data ? head->data : "", head->len) && write_all(fd, body, body_bytes);
    int why = errno;
    if (close(fd) != 0 && good) {
        good = false;
        why = errno;
    }
    if (good && regular && rename(temporary, path) != 0) {
        good = false;
        why = errno;
    }
    if (!good) {
        if (regular)
            unlink(temporary);
        err_raise(&c->in->ctx, ERR_IO, "cannot write %s: %s", path, strerror(why));
    }
}

static bool has_extension(const char *path, const char *extension)
{
    const char *dot = strrchr(path, '.');
    return dot && strcasecmp(dot, extension) == 0;
}

static _Noreturn void extension_error(OpCall *c, const char *path)
{
    Error *e = err_new(&c->in->ctx, ERR_IO,
                       "%s: the extension does not name a format that is read and written here", path);
    err_help(e, "use .npy, .mtx or .csv; read(\"%s\") gives a file's text", path);
    err_throw(e);
}

Value op_run_load(OpCall *c)
{
    const char *path = find_file(c, arg_str(c, 0));
    if (has_extension(path, ".npy"))
        return npy_load(c, path);
    if (has_extension(path, ".mtx"))
        return mtx_load(c, path);
    if (has_extension(path, ".csv"))
        return csv_load(c, path);
    if (has_extension(path, ".npz") || has_extension(path, ".safetensors"))
        err_raise(&c->in->ctx, ERR_IO, "%s: reading %s files is not built yet", path, strrchr(path, '.'));
    extension_error(c, path);
}

Value op_run_save(OpCall *c)
{
    if (c->args[0].tag != V_STRING && c->args[1].tag == V_STRING)
        err_raise_help(&c->in->ctx, ERR_TYPE, "the path comes first: save(\"x.npy\", A)",
                       "save(path, x) needs a path first, this is %s", v_type_name(c->args[0]));
    const char *path = arg_str(c, 0)->text;
    Tensor *t = arg_tensor(c, 1);
    Str *as = arg_given(c, 2) && c->args[2].tag == V_STRING ? c->args[2].str : NULL;
    if (arg_given(c, 2) && !as)
        t = op_keep(c, tensor_cast(&c->in->ctx, t, arg_dtype(c, 2, (DType)t->dtype)));
    if (has_extension(path, ".npy"))
        npy_save(c, path, t, as ? as->text : NULL);
    else if (has_extension(path, ".mtx"))
        mtx_save(c, path, t);
    else if (has_extension(path, ".csv"))
        csv_save(c, path, t, arg_given(c, 3) ? arg_str(c, 3) : NULL);
    else if (has_extension(path, ".npz") || has_extension(path, ".safetensors"))
        err_raise(&c->in->ctx, ERR_IO, "%s: writing %s files is not built yet", path, strrchr(path, '.'));
    else
        extension_error(c, path);
    return v_none();
}
