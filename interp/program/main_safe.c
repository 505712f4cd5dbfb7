/* What a run may reach and use: `--safe` and `--limit`, made of the command line before there is an
 * interpreter or a second thread, and given to the interpreter when it is there. The program's
 * folder is that of the file that runs; without one, the current folder. */
#include "interp/program/main.h"

#include "core/system/c_locale.h"
#include "core/system/loader_search.h"
#include "interp/session/repl_signals.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_kind(const char *path, mode_t kind)
{
    struct stat info;
    return stat(path, &info) == 0 && (info.st_mode & S_IFMT) == kind;
}

/* What is no plain file (`ricci <(…)`) stands in no folder of its own. */
static void allow_program(Fence *fence, const char *path)
{
    const char *slash = strrchr(path, '/');
    char folder[FENCE_PATH] = ".";
    if (is_kind(path, S_IFDIR)) {
        fence_allow(fence, path, false);
        return;
    }
    fence_allow_file(fence, path);
    if (slash && is_kind(path, S_IFREG))
        snprintf(folder, sizeof folder, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    fence_allow(fence, folder, false);
}

static void allow_folders(App *app)
{
    for (const char *const *at = app->look_in; at && *at; at++)
        fence_allow(app->fence, *at, false);
    if (app->mode == MODE_FILE)
        allow_program(app->fence, app->text);
    for (int i = 0; app->mode == MODE_TEST && i < app->name_count; i++)
        allow_program(app->fence, app->names[i]);
    if (app->mode != MODE_FILE && !app->look_in && (app->mode != MODE_TEST || app->name_count == 0))
        fence_allow(app->fence, ".", false);
}

/* The first wall. What runs no program needs none. */
static void build_fence(App *app)
{
    if (!app->safe_by || app->mode == MODE_FORMAT || app->mode == MODE_DOC ||
        app->mode == MODE_EXPLAIN)
        return;
    if (!tempdir_make(&app->tempdir)) {
        fprintf(stderr, "ricci: cannot make a folder for temporary files: %s\n", c_strerror(errno));
        exit(STATUS_ERROR);
    }
    app->fence = fence_new(app->safe_by);
    fence_allow(app->fence, app->tempdir.path, true);
    allow_folders(app);
}

/* The second one. Libraries are opened later, from where the loader looks for them. */
static void close_walls(const App *app)
{
    LibrarySearch *s = app_alloc(sizeof *s);
    search_loader_folders(s);
    fence_close(app->fence, app->tempdir.path, s->folders, s->count);
    free(s);
}

void safe_begin(App *app)
{
    double seconds = app->limit.seconds;
    build_fence(app);
    if (app->fence) {
        limit_defaults(&app->limit);
        if (app->mode == MODE_BLOCKS)          /* who waits for a block has its own --timeout */
            app->limit.seconds = seconds;
    }
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    limit_process(&app->limit, cores > 0 ? (int)cores : 1);
    if (app->fence)
        close_walls(app);
}

void safe_give(App *app)
{
    Interp *in = app->in;
    in->ctx.fence = app->fence;
    in->ctx.limit = &app->limit;
    in->look_in = app->look_in;
    in->tempdir = app->tempdir;
    if (app->limit.memory < (double)in->ctx.mem.limit)
        in->ctx.mem.limit = (size_t)app->limit.memory;
    signals_remove(&in->tempdir);
    signals_limit(app->limit.seconds);
}

void safe_end(App *app)
{
    fence_free(app->fence);
    app->fence = NULL;
}
