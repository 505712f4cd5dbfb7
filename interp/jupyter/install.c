/* Kernelspecs: folders in which Jupyter looks for kernels, each with a kernel.json that says what
 * to run, and pictures for its menus. */
#include "interp/jupyter/jupyter.h"
#include "interp/jupyter/logo.h"

#include "core/base/error.h"
#include "core/json/json_tree.h"
#include "core/system/c_locale.h"
#include "core/system/fd.h"
#include "interp/output/output.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const file_names[] = { "kernel.json", "logo-64x64.png", "logo-svg.svg" };
enum { FILES = sizeof file_names / sizeof *file_names };

/* ---- places ---- */
static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] == '/' ? value : NULL;
}

/* Where this program lies. */
static void program_path(Interp *in, char out[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
    if (n <= 0)
        err_raise(&in->ctx, ERR_IO, "where this program lies cannot be found: %s",
                  c_strerror(errno));
    out[n] = '\0';
}

/* The Python environment that is active, or in which this program lies. False: there is none. */
static bool python_prefix(Interp *in, char out[PATH_MAX])
{
    const char *active = environment("VIRTUAL_ENV");
    active = active ? active : environment("CONDA_PREFIX");
    if (active) {
        snprintf(out, PATH_MAX, "%s", active);
        return true;
    }
    program_path(in, out);
    for (char *slash; (slash = strrchr(out, '/')) != NULL && slash > out;) {
        char mark[PATH_MAX + 16];
        *slash = '\0';
        snprintf(mark, sizeof mark, "%s/pyvenv.cfg", out);
        if (access(mark, F_OK) == 0)
            return true;
    }
    return false;
}

/* The folder that holds kernels' folders. False: there is none of that kind. */
static bool kernels_folder(Interp *in, JupyterPlace place, const char *prefix, Buf *out)
{
    char folder[PATH_MAX];
    const char *data = environment("JUPYTER_DATA_DIR"), *share = environment("XDG_DATA_HOME"),
               *home = environment("HOME");
    buf_clear(out);
    if (place == JUPYTER_PREFIX)
        buf_printf(out, "%s/share/jupyter", prefix);
    else if (place == JUPYTER_ENVIRONMENT && python_prefix(in, folder))
        buf_printf(out, "%s/share/jupyter", folder);
    else if (place == JUPYTER_USER && data)
        buf_puts(out, data);
    else if (place == JUPYTER_USER && share)
        buf_printf(out, "%s/jupyter", share);
    else if (place == JUPYTER_USER && home)
        buf_printf(out, "%s/.local/share/jupyter", home);
    if (out->len > 0)
        buf_puts(out, "/kernels");
    return out->len > 0;
}

static void check_name(Interp *in, const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
    if (!*name || name[n] || name[0] == '.')
        err_raise(&in->ctx, ERR_VALUE,
                  "a kernel's name has letters of ASCII, digits, . _ and - alone, unlike \"%s\"",
                  name);
}

/* The kernel's own folder. */
static void spec_folder(Interp *in, const JupyterSpec *s, Buf *out)
{
    check_name(in, s->name);
    if (!kernels_folder(in, s->place, s->prefix, out))
        err_raise_help(&in->ctx, ERR_IO,
                       s->place == JUPYTER_ENVIRONMENT
                       ? "activate the environment, or use --user or --prefix DIR"
                       : "use --prefix DIR",
                       s->place == JUPYTER_ENVIRONMENT
                       ? "no Python environment is active, and this program lies in none"
                       : "there is no folder of this user: HOME is not set");
    buf_printf(out, "/%s", s->name);
}

/* ---- writing ---- */
static void make_folders(Interp *in, char *path)
{
    for (char *p = path + 1;; p++) {
        if (*p && *p != '/')
            continue;
        char was = *p;
        *p = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            err_raise(&in->ctx, ERR_IO, "cannot make the folder %s: %s", path, c_strerror(errno));
        *p = was;
        if (!was)
            return;
    }
}

static void write_file(Interp *in, const char *folder, const char *name, const Buf *bytes)
{
    char path[PATH_MAX + 32];
    FdWhole w;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    bool ok = fd_whole_open(&w, path);
    if (ok) {
        ok = fchmod(w.fd, 0644) == 0 && fd_write_all(w.fd, bytes->data, bytes->len);
        ok = fd_whole_end(&w, ok) && ok;
    }
    if (!ok)
        err_raise(&in->ctx, ERR_IO, "cannot write %s: %s", path, c_strerror(errno));
}

static void put_spec(Interp *in, Buf *out, const JupyterSpec *s)
{
    char program[PATH_MAX];
    JsonWriter w = { out, false };
    program_path(in, program);
    const char *const words[] = { program, "jupyter", "run", "{connection_file}" };
    json_open(&w, '{');
    json_key(&w, "argv");
    json_open(&w, '[');
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        json_put_string(&w, words[i]);
    json_close(&w, ']');
    json_pair(&w, "display_name", s->display);
    json_pair(&w, "language", "ricci");
    json_pair(&w, "interrupt_mode", "signal");
    json_pair(&w, "kernel_protocol_version", "5.4");
    json_key(&w, "metadata");
    json_open(&w, '{');
    json_pair(&w, "supported_encryption", "curve");
    json_key(&w, "debugger");
    json_put_bool(&w, false);
    json_close(&w, '}');
    json_close(&w, '}');
    buf_putc(out, '\n');
}

static void install(Interp *in, const JupyterSpec *s, Buf *folder, Buf *bytes)
{
    spec_folder(in, s, folder);
    make_folders(in, folder->data);
    put_spec(in, bytes, s);
    write_file(in, folder->data, file_names[0], bytes);
    buf_clear(bytes);
    logo_png(bytes);
    write_file(in, folder->data, file_names[1], bytes);
    buf_clear(bytes);
    logo_svg(bytes);
    write_file(in, folder->data, file_names[2], bytes);
    out_write(in, folder->data, folder->len);
    out_write(in, "\n", 1);
}

/* Two texts that are freed whatever is raised. */
static void with_texts(Interp *in, const JupyterSpec *s,
                       void (*body)(Interp *, const JupyterSpec *, Buf *, Buf *))
{
    Buf folder, bytes;
    ErrFrame frame;
    buf_init(&folder, &in->ctx);
    buf_init(&bytes, &in->ctx);
    bool ok = ERR_TRY(&in->ctx, &frame);
    if (ok) {
        body(in, s, &folder, &bytes);
        ERR_END(&in->ctx, &frame);
    }
    buf_free(&folder);
    buf_free(&bytes);
    if (!ok)
        err_rethrow(&in->ctx);
}

void jupyter_install(Interp *in, const JupyterSpec *s)
{
    with_texts(in, s, install);
}

/* ---- what is there ---- */
/* Does a kernel's folder hold a kernel of ours? */
static bool is_ours(Interp *in, const char *folder, Buf *text)
{
    char path[PATH_MAX + 16];
    ErrFrame frame;
    Arena arena;
    volatile bool ours = false;
    snprintf(path, sizeof path, "%s/kernel.json", folder);
    buf_clear(text);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    arena_init(&arena, &in->ctx);
    if (ERR_TRY(&in->ctx, &frame)) {
        char block[4096];
        for (size_t n; (n = fread(block, 1, sizeof block, file)) > 0 && text->len < 1 << 20;)
            buf_put(text, block, n);
        const JsonValue *v = json_read(&in->ctx, &arena, buf_cstr(text), text->len, json_limits);
        ours = strcmp(json_string(json_get(v, "language"), ""), "ricci") == 0;
        ERR_END(&in->ctx, &frame);
    } else {                                       /* broken: none of ours */
        err_free(in->ctx.error);
        in->ctx.error = NULL;
    }
    arena_free(&arena);
    fclose(file);
    return ours;
}

/* Nothing but what an installation wrote is taken away. */
static void uninstall(Interp *in, const JupyterSpec *s, Buf *folder, Buf *text)
{
    spec_folder(in, s, folder);
    if (!is_ours(in, folder->data, text))
        err_raise_help(&in->ctx, ERR_IO, "ricci jupyter list shows where there is one",
                       "%s holds no kernel of Ricci", folder->data);
    for (int i = 0; i < FILES; i++) {
        buf_clear(text);
        buf_printf(text, "%s/%s", folder->data, file_names[i]);
        if (unlink(text->data) != 0 && errno != ENOENT)
            err_raise(&in->ctx, ERR_IO, "cannot remove %s: %s", text->data, c_strerror(errno));
    }
    rmdir(folder->data);                           /* unless something else is in it */
    buf_clear(text);
    buf_printf(text, "removed %s\n", folder->data);
    out_write(in, text->data, text->len);
}

void jupyter_uninstall(Interp *in, const JupyterSpec *s)
{
    with_texts(in, s, uninstall);
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void list_folder(Interp *in, const char *kernels, Buf *text)
{
    struct dirent **names;
    int n = scandir(kernels, &names, NULL, compare_names);
    for (int i = 0; i < n; i++) {
        char folder[PATH_MAX], line[PATH_MAX + 300];
        int len = snprintf(folder, sizeof folder, "%s/%s", kernels, names[i]->d_name);
        if (names[i]->d_name[0] != '.' && len < (int)sizeof folder && is_ours(in, folder, text)) {
            len = snprintf(line, sizeof line, "%-16s %s\n", names[i]->d_name, folder);
            out_write(in, line, (size_t)len);
        }
        free(names[i]);
    }
    if (n >= 0)
        free(names);
}

static void list(Interp *in, const JupyterSpec *s, Buf *folder, Buf *text)
{
    static const struct { JupyterPlace place; const char *prefix; } places[] = {
        { JUPYTER_USER, NULL }, { JUPYTER_ENVIRONMENT, NULL }, { JUPYTER_PREFIX, "/usr/local" },
        { JUPYTER_PREFIX, "/usr" } };
    (void)s;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (kernels_folder(in, places[i].place, places[i].prefix, folder))
            list_folder(in, folder->data, text);
}

void jupyter_list(Interp *in)
{
    with_texts(in, NULL, list);
}
