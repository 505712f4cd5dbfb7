/* Did you mean, for files: the folder of a missing file is read once, when the error is made.
 * Called by who opens files; it opens none itself. */
#include "core/base/nearby.h"

#include "core/system/c_locale.h"
#include "core/base/plain.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { NAMES_MOST = 4000 };

/* The name in the path's folder that is closest to it, with the folder as it was given; false:
 * there is none that is close. */
static bool nearby_file(const char *path, char *out, size_t cap)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char folder[1024];
    size_t n = slash ? (size_t)(slash - path) : 0, count = 0;
    if (n + 2 > sizeof folder || strlen(name) < 3)
        return false;
    snprintf(folder, sizeof folder, "%.*s", slash ? (n ? (int)n : 1) : 1, slash ? path : ".");
    DIR *dir = opendir(folder);
    if (!dir)
        return false;
    char best[256] = "";
    for (struct dirent *d; (d = readdir(dir)) && count < NAMES_MOST; count++) {
        const char *pair[2] = { d->d_name, best };
        const char *close = err_closest(name, pair, *best ? 2 : 1);
        char shown[256];
        snprintf(shown, sizeof shown, "%s", d->d_name);
        if (strcmp(plain_line(shown), d->d_name) != 0)
            continue;                        /* a name that messages do not show is no help */
        if (close && close != best)
            snprintf(best, sizeof best, "%.255s", close);
    }
    closedir(dir);
    int written = *best ? snprintf(out, cap, "%.*s%s", (int)(name - path), path, best) : 0;
    return written > 0 && (size_t)written < cap;
}

void nearby_raise(Ctx *ctx, const char *path)
{
    char close[1400];
    int why = errno;
    Error *e = err_new(ctx, ERR_IO, "cannot open %s: %s", path, c_strerror(why));
    if (why == ENOENT && nearby_file(path, close, sizeof close))
        err_help(e, "did you mean \"%s\"?", close);
    err_throw(e);
}
