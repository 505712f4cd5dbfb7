/* Libraries that are loaded when they are first wanted (library.c): a table says what is wanted of
 * one. */
#ifndef RICCI_CORE_LIBRARY_H
#define RICCI_CORE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

typedef struct LibraryEntry {
    const char *symbol;
    void *to;                    /* a pointer to a function, which is set */
} LibraryEntry;

/* Opens `file` and sets all entries. NULL: there is no such library (*lacks NULL; dlerror says
 * more), or it lacks the symbol *lacks. A library stays open. */
void *library_open(const char *file, const LibraryEntry *, size_t count, const char **lacks);
/* false: it has none, *to is NULL */
bool library_symbol(void *handle, const char *symbol, void *to);

#endif
