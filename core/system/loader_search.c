/* Where the system's loader looks for libraries, and what lies there: the folders that it says
 * itself, those of /etc/ld.so.conf, /usr/local/lib. The loader finds a library whose name is known
 * in full; here a plain name (`gsl`) becomes one. */
#include "core/system/loader_search.h"

#include "core/system/c_locale.h"

#include <dirent.h>
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- folders ---- */
static bool same_folder(const char *a, const struct stat *b)
{
    struct stat info;
    return stat(a, &info) == 0 && info.st_dev == b->st_dev && info.st_ino == b->st_ino;
}

void search_folder(LibrarySearch *s, const char *folder)
{
    struct stat info;
    size_t n = strlen(folder);
    if (n == 0 || stat(folder, &info) != 0 || !S_ISDIR(info.st_mode))
        return;
    for (int i = 0; i < s->count; i++)
        if (same_folder(s->folders[i], &info))
            return;
    if (s->count == SEARCH_FOLDERS || n >= SEARCH_TEXT - s->used)
        return;
    s->folders[s->count++] = memcpy(s->text + s->used, folder, n + 1);
    s->used += n + 1;
}

/* What the running loader says, LD_LIBRARY_PATH first. */
static void add_loader(LibrarySearch *s)
{
#if defined __GLIBC__ || defined __FreeBSD__
    union {
        Dl_serinfo info;
        char bytes[SEARCH_TEXT];
    } u;
    void *self = dlopen(NULL, RTLD_NOW);
    if (self && dlinfo(self, RTLD_DI_SERINFOSIZE, &u.info) == 0 && u.info.dls_size <= sizeof u &&
        dlinfo(self, RTLD_DI_SERINFO, &u.info) == 0)
        for (unsigned i = 0; i < u.info.dls_cnt; i++)
            search_folder(s, u.info.dls_serpath[i].dls_name);
    if (self)
        dlclose(self);
#else
    static const char *const variables[] = {
        "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"
    };
    char folder[SEARCH_PATH];
    for (int i = 0; i < 3; i++)
        for (const char *at = getenv(variables[i]); at && *at; at += *at == ':') {
            int n = (int)strcspn(at, ":");
            if (snprintf(folder, sizeof folder, "%.*s", n, at) < (int)sizeof folder)
                search_folder(s, folder);
            at += n;
        }
#endif
}

/* The folders of the loader's cache, as its configuration has them; `include` names more files. */
static void add_configured(LibrarySearch *s, const char *path, int depth)
{
    char line[1024];
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "#\n")] = '\0';
        char *word = line + strspn(line, " \t");
        size_t n = strcspn(word, " \t");
        const char *pattern = word + n + strspn(word + n, " \t");
        bool include = n == 7 && strncmp(word, "include", n) == 0;
        word[include ? strlen(word) : n] = '\0';
        if (!include)
            search_folder(s, word);
        if (!include || depth == 4)
            continue;
        glob_t names;
        locale_t before = c_locale_enter();        /* it sorts */
        int none = glob(pattern, 0, NULL, &names);
        c_locale_leave(before);
        if (none == 0) {
            for (size_t i = 0; i < names.gl_pathc; i++)
                add_configured(s, names.gl_pathv[i], depth + 1);
            globfree(&names);
        }
    }
    if (file)
        fclose(file);
}

void search_loader_folders(LibrarySearch *s)
{
    static const char *const usual[] = {
        "/usr/local/lib", "/usr/local/lib64", "/opt/homebrew/lib", "/lib64", "/usr/lib64"
    };
    add_loader(s);
    add_configured(s, "/etc/ld.so.conf", 0);
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        search_folder(s, usual[i]);
}

/* ---- files ---- */
static bool join(LibrarySearch *s, const char *folder, const char *file)
{
    int n = snprintf(s->found, sizeof s->found, "%s/%s", folder, file);
    return n > 0 && n < (int)sizeof s->found;
}

bool search_file(LibrarySearch *s, const char *file, int folders)
{
    for (int i = 0; i < folders && i < s->count; i++)
        if (join(s, s->folders[i], file) && access(s->found, R_OK) == 0)
            return true;
    return false;
}

/* ELF of this machine's word size: no linker script, no library of another architecture. */
static bool is_library(const char *path)
{
#ifdef __APPLE__
    return access(path, R_OK) == 0;
#else
    unsigned char head[5] = { 0 }, class = sizeof(void *) == 8 ? 2 : 1;
    FILE *file = fopen(path, "re");
    size_t n = file ? fread(head, 1, sizeof head, file) : 0;
    if (file)
        fclose(file);
    return n == sizeof head && memcmp(head, "\177ELF", 4) == 0 && head[4] == class;
#endif
}

/* The version of libNAME.so.VERSION or libNAME.VERSION.dylib: its digits and dots, or NULL. */
static const char *file_version(const char *file, const char *name, char version[64])
{
    size_t n = strlen(name), suffix = sizeof LIBRARY_SUFFIX - 1, len = strlen(file);
    if (strncmp(file, "lib", 3) != 0 || strncmp(file + 3, name, n) != 0 || len < 3 + n + suffix + 2)
        return NULL;
    const char *from = file + 3 + n, *end = file + len;
#ifdef __APPLE__
    if (strcmp(end -= suffix, LIBRARY_SUFFIX) != 0)
        return NULL;
#else
    if (strncmp(from, LIBRARY_SUFFIX, suffix) != 0)
        return NULL;
    from += suffix;
#endif
    if (*from++ != '.' || end - from >= 64 || strspn(from, "0123456789.") < (size_t)(end - from))
        return NULL;
    snprintf(version, 64, "%.*s", (int)(end - from), from);
    return version;
}

/* Is version a newer than b? Of 6 and 6.1 the short one is taken: programs use that name. */
static bool newer(const char *a, const char *b)
{
    while (*a && *b) {
        char *a_end, *b_end;
        unsigned long x = strtoul(a, &a_end, 10), y = strtoul(b, &b_end, 10);
        if (x != y)
            return x > y;
        a = a_end + (*a_end == '.');
        b = b_end + (*b_end == '.');
    }
    return *a == '\0' && *b != '\0';
}

static bool newest_in(LibrarySearch *s, const char *folder, const char *name)
{
    char version[64], best[64] = "";
    bool found = false;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[SEARCH_PATH];
        if (!file_version(e->d_name, name, version) || (found && !newer(version, best)))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (!is_library(path))
            continue;
        memcpy(s->found, path, sizeof path);
        memcpy(best, version, sizeof best);
        found = true;
    }
    if (dir)
        closedir(dir);
    return found;
}

bool search_library(LibrarySearch *s, const char *name, int folders)
{
    for (int i = 0; i < folders && i < s->count; i++) {
        int n = snprintf(s->found, sizeof s->found, "%s/lib%s" LIBRARY_SUFFIX, s->folders[i], name);
        if (n < (int)sizeof s->found && is_library(s->found))
            return true;
        if (newest_in(s, s->folders[i], name))
            return true;
    }
    return false;
}
