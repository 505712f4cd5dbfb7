/* Pictures that the blocks of a document make: plain files with the endings below that a block left
 * in its folder. They are read before the folder goes, and land beside the document where it shows
 * them; a document writes nothing else, and nowhere else. */
#include "interp/program/main.h"

#include "core/system/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PICTURE_MAX = 16 << 20 };

static bool is_picture(const char *name)
{
    const char *ending = strrchr(name, '.');
    return name[0] != '.' && ending && strlen(name) < sizeof((Picture *)0)->name &&
           (strcmp(ending, ".svg") == 0 || strcmp(ending, ".png") == 0);
}

/* A file of the block's own: through a link it might show any other. */
static bool read_picture(int folder, const char *name, Text *into)
{
    char bytes[1 << 14];
    struct stat info;
    ssize_t n = -1;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool good = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size <= PICTURE_MAX;
    while (good && (n = read(fd, bytes, sizeof bytes)) > 0)
        text_put(into, bytes, (size_t)n);
    close(fd);
    return good && n == 0 && into->len > 0;
}

static Picture *picture_of(Pictures *all, const char *name)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->items[i].name, name) == 0)
            return &all->items[i];
    all->items = app_grow(all->items, all->count, &all->cap, sizeof *all->items);
    Picture *p = &all->items[all->count++];
    *p = (Picture){ 0 };
    snprintf(p->name, sizeof p->name, "%s", name);
    return p;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

void pictures_take(Pictures *all, const char *folder, size_t block)
{
    struct dirent **entries;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int n = fd < 0 ? -1 : scandir(folder, &entries, NULL, by_name);
    for (int i = 0; i < n; i++) {
        Text bytes = { 0 };
        if (is_picture(entries[i]->d_name) && read_picture(fd, entries[i]->d_name, &bytes)) {
            Picture *p = picture_of(all, entries[i]->d_name);
            text_free(&p->bytes);
            p->bytes = bytes;
            p->block = block;
        } else {
            text_free(&bytes);
        }
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    if (fd >= 0)
        close(fd);
}

/* Is what ends here, before `](`, the text of an image? */
static bool is_image(const Text *document, const char *at)
{
    while (at > document->data && *at != '\n' && *at != '[')
        at--;
    return at > document->data && *at == '[' && at[-1] == '!';
}

bool picture_linked(const Picture *p, const Text *document)
{
    size_t n = strlen(p->name);
    for (const char *at = document->data; at && (at = strstr(at, "](")) != NULL; at += 2)
        if (strncmp(at + 2, p->name, n) == 0 && strchr(") ", at[2 + n]) && at[2 + n] &&
            is_image(document, at))
            return true;
    return false;
}

int picture_land(const Picture *p, const char *folder)
{
    Text path = { 0 }, old = { 0 };
    text_printf(&path, "%s/%s", folder, p->name);
    bool same = text_read(&old, path.data) && old.len == p->bytes.len &&
                memcmp(old.data, p->bytes.data, old.len) == 0;
    int landed = same ? 0 : fd_whole_write(path.data, p->bytes.data, p->bytes.len) ? 1 : -1;
    int error = errno;
    text_free(&path);
    text_free(&old);
    errno = error;
    return landed;
}

void pictures_free(Pictures *all)
{
    for (size_t i = 0; i < all->count; i++)
        text_free(&all->items[i].bytes);
    free(all->items);
    *all = (Pictures){ 0 };
}
