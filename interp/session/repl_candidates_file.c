/* Files and programs as completions: read from the folder, written as the string, the shell or the
 * command around them needs them. */
#include "interp/session/repl_complete.h"

#include "core/system/ascii.h"
#include "core/base/source.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_CAP = 4096 };

/* ---- quoting ---- */
/* What was typed, as the file's name; false: too long, or an interpolation. */
static bool unquote(char out[PATH_CAP], const char *typed, size_t len, char quote)
{
    size_t n = 0;
    for (size_t i = 0; i < len && n + 1 < PATH_CAP; i++) {
        char c = typed[i], next = i + 1 < len ? typed[i + 1] : 0;
        if ((quote == '\\' || quote == '"') && c == '\\' && next) {
            i++;
            c = quote == '"' && next == 'n' ? '\n' : quote == '"' && next == 't' ? '\t' : next;
        } else if (quote == '"' && (c == '{' || c == '}')) {
            if (next != c)
                return false;
            i++;
        }
        out[n++] = c;
    }
    out[n] = '\0';
    return n + 1 < PATH_CAP;
}

/* The name as it is written there; NULL: it cannot be. malloc'ed. */
static char *quoted(const char *name, char quote)
{
    char *out = malloc(4 * strlen(name) + 1), *to = out;
    for (; out && *name; name++) {
        char c = *name;
        bool control = (unsigned char)c < 32 || c == 127;
        bool escape = quote == '"' && (c == '\n' || c == '\t');
        if ((quote == '`' && c == '`') || (control && !escape)) {
            free(out);
            return NULL;
        }
        if (quote == '"' && control) {
            *to++ = '\\';
            c = c == '\n' ? 'n' : 't';
        } else if (quote == '"' && strchr("\"\\", c)) {
            *to++ = '\\';
        } else if (quote == '"' && strchr("{}", c)) {
            *to++ = c;
        } else if (quote == '\\' && strchr(" \\\"'`$&|;<>()*?[]#~!{}", c)) {
            *to++ = '\\';
        }
        *to++ = c;
    }
    if (out)
        *to = '\0';
    return out;
}

/* ---- folders ---- */
static bool is_folder(const char *folder, const char *name)
{
    char path[2 * PATH_CAP];
    struct stat info;
    snprintf(path, sizeof path, "%s%s", folder, name);
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* The folder part of what was typed, `~/` resolved: where to look. */
static void folder_of(char out[PATH_CAP], const char *path, size_t len)
{
    const char *home = getenv("HOME");
    if (len == 0)
        snprintf(out, PATH_CAP, "./");
    else if (path[0] == '~' && path[1] == '/' && home)
        snprintf(out, PATH_CAP, "%s/%.*s", home, (int)len - 2, path + 2);
    else
        snprintf(out, PATH_CAP, "%.*s", (int)len, path);
}

static void add_file(Candidates *out, const char *typed_folder, const char *name, bool folder,
                     char quote)
{
    char *path = NULL;
    if (asprintf(&path, "%s%s%s", typed_folder, name, folder ? "/" : "") < 0)
        return;
    char *text = utf8_check(path, strlen(path)) == strlen(path) ? quoted(path, quote) : NULL;
    free(path);
    if (!text)
        return;
    candidates_add(out, text, folder ? "folder" : "");
    free(text);
}

static void list_folder(Candidates *out, const char *typed, char quote, bool folders_only,
                        bool any_case)
{
    const char *slash = strrchr(typed, '/'), *name = slash ? slash + 1 : typed;
    char where[PATH_CAP], before[PATH_CAP];
    size_t len = strlen(name);
    folder_of(where, typed, (size_t)(name - typed));
    snprintf(before, sizeof before, "%.*s", (int)(name - typed), typed);
    if (where[0] == '~' || (quote && before[0] == '~' && quote != '\\'))
        snprintf(before, sizeof before, "%s", where);      /* a program knows no ~ */
    DIR *folder = opendir(where);
    for (struct dirent *e; folder && (e = readdir(folder));) {
        const char *file = e->d_name;
        bool fits = any_case ? ascii_ncasecmp(file, name, len) == 0 : strncmp(file, name, len) == 0;
        bool dots = strcmp(file, ".") == 0 || strcmp(file, "..") == 0;
        if (!fits || dots || (file[0] == '.' && name[0] != '.'))
            continue;
        bool inner = is_folder(where, e->d_name);
        if (inner || !folders_only)
            add_file(out, before, e->d_name, inner, quote);
    }
    if (folder)
        closedir(folder);
}

void candidates_files(Candidates *out, const char *typed, size_t len, char quote, bool folders_only)
{
    char path[PATH_CAP];
    size_t before = out->count;
    if (!unquote(path, typed, len, quote))
        return;
    list_folder(out, path, quote, folders_only, false);
    if (out->count == before)
        list_folder(out, path, quote, folders_only, true);
    for (size_t i = before; i < out->count; i++) {         /* the list shows the last part */
        char *text = out->items[i].text, *end = text + strlen(text), *slash = end;
        while (slash > text && !(slash[-1] == '/' && slash < end))
            slash--;
        out->items[i].shown = slash;
    }
}

/* Programs on PATH, for the first word after `!`. */
void candidates_programs(Candidates *out, const char *typed, size_t len)
{
    const char *at = getenv("PATH");
    while (len > 0 && at && *at) {
        size_t n = strcspn(at, ":");
        char path[PATH_CAP], file[2 * PATH_CAP];
        snprintf(path, sizeof path, "%.*s", (int)n, at);
        DIR *folder = n > 0 ? opendir(path) : NULL;
        for (struct dirent *e; folder && (e = readdir(folder));) {
            if (strncmp(e->d_name, typed, len) != 0 || e->d_name[0] == '.')
                continue;
            snprintf(file, sizeof file, "%s/%s", path, e->d_name);
            if (access(file, X_OK) == 0)
                candidates_add(out, e->d_name, "program");
        }
        if (folder)
            closedir(folder);
        at += n + (at[n] == ':');
    }
}
