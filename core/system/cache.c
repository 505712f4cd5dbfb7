/* The folder of what can be made again (cache.h). */
#include "core/system/cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool folder_made(const char *path)
{
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

bool cache_folder(char *out, size_t n, const char *inside, bool make)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool own = base && base[0] == '/';
    size_t more = sizeof "/.cache/ricci/" + (inside ? strlen(inside) : 0);
    errno = ENOENT;
    if (!own && (!home || home[0] != '/'))
        return false;
    errno = ENAMETOOLONG;
    if (strlen(own ? base : home) + more > n)
        return false;
    int used = snprintf(out, n, "%s%s", own ? base : home, own ? "" : "/.cache");
    if (make && !folder_made(out))
        return false;
    used += snprintf(out + used, n - (size_t)used, "/ricci");
    if (make && !folder_made(out))
        return false;
    if (inside)
        snprintf(out + used, n - (size_t)used, "/%s", inside);
    return !make || !inside || folder_made(out);
}
