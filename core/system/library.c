/* Loading a library and the functions that a table names. dlopen gives a process one copy of a
 * library: what is found belongs to the process, and whoever calls this does so once. */
#include "core/system/library.h"

#include <dlfcn.h>
#include <string.h>

bool library_symbol(void *handle, const char *symbol, void *to)
{
    void *found = dlsym(handle, symbol);
    memcpy(to, &found, sizeof found);
    return found != NULL;
}

/* The same of a library that is open already: the first symbol that it lacks, or NULL. */
static const char *library_lacks(void *handle, const LibraryEntry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!library_symbol(handle, entries[i].symbol, entries[i].to))
            return entries[i].symbol;
    return NULL;
}

void *library_open(const char *file, const LibraryEntry *entries, size_t count, const char **lacks)
{
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    *lacks = handle ? library_lacks(handle, entries, count) : NULL;
    return *lacks ? NULL : handle;
}
