/* Texts, files and folders of the program's subcommands, which may run without an interpreter:
 * memory is the C library's, and the program ends where there is none. */
#include "interp/program/main.h"

#include "core/system/c_locale.h"
#include "core/system/fd.h"
#include "core/base/plain.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Noreturn static void no_memory(void)
{
    fputs("ricci: not enough memory\n", stderr);
    exit(STATUS_ERROR);
}

void *app_alloc(size_t bytes)
{
    void *block = calloc(1, bytes ? bytes : 1);
    if (!block)
        no_memory();
    return block;
}

void *app_grow(void *items, size_t count, size_t *cap, size_t item)
{
    if (count < *cap)
        return items;
    *cap = 2 * *cap + 16;
    items = realloc(items, *cap * item);
    if (!items)
        no_memory();
    return items;
}

static void text_reserve(Text *text, size_t more)
{
    if (text->cap - text->len > more)
        return;
    text->cap = 2 * text->cap + more + 64;
    text->data = realloc(text->data, text->cap);
    if (!text->data)
        no_memory();
}

void text_put(Text *text, const char *bytes, size_t n)
{
    text_reserve(text, n);
    memcpy(text->data + text->len, bytes, n);
    text->data[text->len += n] = '\0';
}

void text_puts(Text *text, const char *words)
{
    text_put(text, words, strlen(words));
}

static void put_words(Text *text, const char *fmt, va_list args, bool plain)
{
    char *words = NULL;
    int n = c_vasprintf(&words, fmt, args);
    if (n < 0)
        no_memory();
    text_put(text, plain ? plain_lines(words) : words, (size_t)n);
    free(words);
}

void text_printf(Text *text, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    put_words(text, fmt, args, false);
    va_end(args);
}

void text_plain(Text *text, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    put_words(text, fmt, args, true);
    va_end(args);
}

void say_plain(FILE *to, const char *fmt, ...)
{
    Text text = { 0 };
    va_list args;
    va_start(args, fmt);
    put_words(&text, fmt, args, true);
    va_end(args);
    fputs(text.data, to);
    text_free(&text);
}

void text_free(Text *text)
{
    free(text->data);
    *text = (Text){ 0 };
}

bool text_read(Text *text, const char *path)
{
    int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = -1;
    while (fd >= 0) {
        text_reserve(text, 1 << 16);
        n = read(fd, text->data + text->len, text->cap - text->len - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        text->len += (size_t)n;
    }
    int error = errno;
    if (fd >= 0)
        close(fd);
    text_reserve(text, 1);
    text->data[text->len] = '\0';
    errno = error;
    return n == 0;
}

bool text_write(const char *path, const char *text, size_t n)
{
    return access(path, F_OK) == 0 && fd_whole_write(path, text, n);
}

/* ---- folders ---- */
typedef struct Walk {
    const char *ending;
    void (*visit)(void *, const char *path);
    void *with;
} Walk;

static bool ends_with(const char *text, const char *ending)
{
    size_t n = strlen(text), m = strlen(ending);
    return n > m && strcmp(text + n - m, ending) == 0;
}

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Not what is hidden, and no folder behind a symbolic link: it may lead back up. */
static int worth_a_look(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && (entry->d_type != DT_LNK || strchr(entry->d_name, '.'));
}

/* By bytes: alphasort would order as the user's language does. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool walk_folder(const Walk *walk, const char *folder)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, worth_a_look, by_name);
    bool ok = n >= 0;
    if (!ok)
        say_plain(stderr, "ricci: cannot read the folder %s: %s\n", folder, c_strerror(errno));
    for (int i = 0; i < n; i++) {
        Text path = { 0 };
        text_printf(&path, "%s%s%s", folder, ends_with(folder, "/") ? "" : "/", entries[i]->d_name);
        if (entries[i]->d_type != DT_LNK && is_folder(path.data))
            ok = walk_folder(walk, path.data) && ok;
        else if (ends_with(path.data, walk->ending) && !is_folder(path.data))
            walk->visit(walk->with, path.data);
        text_free(&path);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return ok;
}

bool files_each(char **names, int count, const char *ending,
                void (*visit)(void *, const char *path), void *with)
{
    Walk walk = { ending, visit, with };
    bool ok = true;
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], "-") != 0 && is_folder(names[i]))
            ok = walk_folder(&walk, names[i]) && ok;
        else
            visit(with, names[i]);
    return ok;
}
