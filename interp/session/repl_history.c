/* The history: what was entered, this session and before, oldest first. Readline holds the list
 * (its searches walk it); this file keeps it free of duplicates and keeps the file behind it.
 *
 * The file has one line for each entry, `\n` for its newlines and `\\` for its backslashes. An
 * entry is appended with one write as soon as it was typed, so that neither a crash nor a second
 * session loses any. Now and then the file is written anew without duplicates, under a lock that
 * appending takes too. What is damaged in it is an odd entry at worst, never an error. */
#include "interp/session/repl_edit.h"

#include "core/system/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    HISTORY_MAX = 10000,
    HISTORY_SLACK = 1000,            /* lines too many before the file is written anew */
    ENTRY_MAX = 1 << 18,             /* bytes of an entry of the file: longer ones are left out */
    FILE_MAX = 1 << 26,              /* of a longer file only the end is read */
    /* places of the set of entries: a power of 2, > 2 HISTORY_MAX */
    TABLE_SIZE = 1 << 15
};

static char *history_file;           /* its path, NULL if there is none */

/* ---- the file ---- */
/* Makes every folder above `path`, for this user alone. */
static void make_folders(char *path)
{
    for (char *p = path + 1; *p; p++)
        if (*p == '/') {
            *p = '\0';
            mkdir(path, 0700);
            *p = '/';
        }
}

/* $XDG_STATE_HOME/ricci/history or ~/.local/state/ricci/history; NULL if there is no home. */
static char *history_path(void)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char *path = NULL;
    int n = -1;
    if (state && state[0] == '/')
        n = asprintf(&path, "%s/ricci/history", state);
    else if (home && home[0] == '/')
        n = asprintf(&path, "%s/.local/state/ricci/history", home);
    return n < 0 ? NULL : path;
}

/* Another session may hold the lock for a moment; one that was stopped there is not waited for. */
static bool lock(int fd)
{
    for (int i = 0; i < 50; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return true;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return false;
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    }
    return false;
}

/* The file, locked, and still the one at that path: it may have been replaced while the lock
 * was waited for. -1 if it is no plain file of this user. */
static int open_locked(bool *locked)
{
    for (;;) {
        struct stat here, there;
        int fd = open(history_file, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC |
                      O_NONBLOCK, 0600);
        if (fd < 0)
            return -1;
        if (fstat(fd, &here) != 0 || !S_ISREG(here.st_mode) || here.st_uid != geteuid()) {
            close(fd);
            return -1;
        }
        /* What is entered is for this user alone, also where the file came with another mode. Some
         * file systems have none. */
        if ((here.st_mode & 07777) != 0600)
            fchmod(fd, 0600);
        *locked = lock(fd);
        if (lstat(history_file, &there) == 0 && here.st_ino == there.st_ino &&
            here.st_dev == there.st_dev)
            return fd;
        close(fd);
    }
}

/* The end of the file, whole lines, as text; the caller's to free. NULL: it is empty. */
static char *read_end(int fd, size_t *len)
{
    struct stat info;
    if (fstat(fd, &info) != 0 || info.st_size == 0)
        return NULL;
    off_t from = info.st_size > FILE_MAX ? info.st_size - FILE_MAX : 0;
    char *text = malloc((size_t)(info.st_size - from) + 1);
    *len = 0;
    while (text && from < info.st_size) {
        ssize_t n = pread(fd, text + *len, (size_t)(info.st_size - from), from);
        if (n <= 0)
            break;
        *len += (size_t)n;
        from += n;
    }
    if (text)
        text[*len] = '\0';
    return text;
}

/* ---- lines and entries ---- */
/* A line of the file, which ends at `end`, becomes its entry, in place. Bytes that no key types
 * are left out. */
static void unescape(char *line, const char *end)
{
    char *to = line;
    for (const char *p = line; p < end; p++) {
        if (*p == '\\' && p + 1 < end && (p[1] == 'n' || p[1] == '\\'))
            *to++ = *++p == 'n' ? '\n' : '\\';
        else if ((unsigned char)*p >= ' ' || *p == '\t')
            *to++ = *p;
    }
    *to = '\0';
}

/* The entry's line, with its newline; the caller's to free. */
static char *escape(const char *entry, size_t *len)
{
    char *line = malloc(2 * strlen(entry) + 3), *to = line;
    if (!line)
        return NULL;
    for (; *entry; entry++) {
        if (*entry == '\n' || *entry == '\\')
            *to++ = '\\';
        *to++ = *entry == '\n' ? 'n' : *entry;
    }
    *to++ = '\n';
    *len = (size_t)(to - line);
    return line;
}

/* `#1700000000` stood above each entry once. */
static bool is_time(const char *line, const char *end)
{
    return line[0] == '#' && end > line + 1 &&
           strspn(line + 1, "0123456789") >= (size_t)(end - line - 1);
}

/* Is it new? Then it is in the set. */
static bool set_add(const char **set, const char *entry)
{
    uint32_t h = 2166136261u;
    for (const char *p = entry; *p; p++)
        h = (h ^ (unsigned char)*p) * 16777619u;
    for (;; h++) {
        const char **place = &set[h % TABLE_SIZE];
        if (!*place)
            return *place = entry, true;
        if (strcmp(*place, entry) == 0)
            return false;
    }
}

/* The newest HISTORY_MAX different entries of the file's text, newest first; they are parts of
 * the text. Returns how many; *lines: how many lines were looked at. */
static size_t pick_entries(char *text, size_t len, const char **entries, size_t *lines)
{
    const char **set = calloc(TABLE_SIZE, sizeof *set);
    size_t count = 0;
    char *end = text + len;
    *lines = 0;
    while (set && end > text && count < HISTORY_MAX) {
        char *stop = end[-1] == '\n' ? end - 1 : end;
        char *start = memrchr(text, '\n', (size_t)(stop - text));
        start = start ? start + 1 : text;
        end = start;
        ++*lines;
        if (is_time(start, stop) || stop - start > ENTRY_MAX)
            continue;
        unescape(start, stop);
        if (*start && set_add(set, start))
            entries[count++] = start;
    }
    for (const char *p = text; p < end; p = (const char *)memchr(p, '\n', (size_t)(end - p)) + 1)
        ++*lines;                                  /* what is left ends in a newline */
    free(set);
    return count;
}

static void write_anew(const char **entries, size_t count)
{
    FdWhole w;
    if (!fd_whole_open(&w, history_file))
        return;
    bool ok = fchmod(w.fd, 0600) == 0;
    for (size_t i = count; ok && i-- > 0;) {
        size_t len;
        char *line = escape(entries[i], &len);
        ok = line && (len > ENTRY_MAX || fd_write_all(w.fd, line, len));
        free(line);
    }
    fd_whole_end(&w, ok);
}

static void append(const char *entry)
{
    bool locked;
    size_t len;
    char last = '\n', *line = escape(entry, &len);
    int fd = line && len <= ENTRY_MAX ? open_locked(&locked) : -1;
    if (fd >= 0) {
        off_t size = lseek(fd, 0, SEEK_END);
        if (size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n')
            fd_write_all(fd, "\n", 1);             /* a line that a crash has cut */
        fd_write_all(fd, line, len);
        close(fd);
    }
    free(line);
}

/* ---- the list ---- */
/* What the file says is put into the list; where much of it is not needed, it is written anew. */
static void load(void)
{
    bool locked;
    size_t len, lines;
    int fd = open_locked(&locked);
    if (fd < 0) {
        free(history_file);
        history_file = NULL;
        return;
    }
    char *text = read_end(fd, &len);
    const char **entries = text ? malloc(HISTORY_MAX * sizeof *entries) : NULL;
    if (entries) {
        size_t count = pick_entries(text, len, entries, &lines);
        for (size_t i = count; i-- > 0;)
            add_history(entries[i]);
        if (locked && (lines > count + HISTORY_SLACK || len >= FILE_MAX))
            write_anew(entries, count);
    }
    free(entries);
    free(text);
    close(fd);
}

/* `kept`: in the file too. */
void history_open(bool kept)
{
    using_history();
    stifle_history(HISTORY_MAX);
    history_file = kept ? history_path() : NULL;
    if (!history_file)
        return;
    make_folders(history_file);
    load();
}

void history_close(void)
{
    free(history_file);
    history_file = NULL;
    clear_history();
}

size_t history_count(void)
{
    return (size_t)history_length;
}

const char *history_text(size_t number)
{
    HIST_ENTRY **list = history_list();
    return list && number < (size_t)history_length ? list[number]->line : NULL;
}

/* The entry stands at the end alone, however often it was typed. */
static void forget(const char *text)
{
    HIST_ENTRY **list = history_list();
    for (int i = history_length; list && i-- > 0;)
        if (strcmp(list[i]->line, text) == 0) {
            free_history_entry(remove_history(i));
            return;
        }
}

void history_add(const char *text)
{
    if (!*text || strchr(" \t\n", *text))
        return;
    HIST_ENTRY **list = history_list();
    if (history_length > 0 && strcmp(list[history_length - 1]->line, text) == 0)
        return;
    forget(text);
    add_history(text);
    if (history_file)
        append(text);
}
