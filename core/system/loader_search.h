/* Where this system keeps libraries, and what it calls them. Used by native_library.c and
 * native_extern.c. */
#ifndef RICCI_INTERP_NATIVE_SEARCH_H
#define RICCI_INTERP_NATIVE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __APPLE__
#define LIBRARY_SUFFIX ".dylib"
#else
#define LIBRARY_SUFFIX ".so"
#endif

enum { SEARCH_FOLDERS = 64, SEARCH_TEXT = 8192, SEARCH_PATH = 4096 };

/* No memory is asked for, so that an error can be raised anywhere. Folders beyond the limits are
 * left out. */
typedef struct LibrarySearch {
    const char *folders[SEARCH_FOLDERS];
    int count;
    char text[SEARCH_TEXT];          /* of the folders */
    size_t used;
    char found[SEARCH_PATH];         /* by the last look that found something */
} LibrarySearch;

void search_folder(LibrarySearch *, const char *folder);
/* Adds the folders of the system's loader, in its order. */
void search_loader_folders(LibrarySearch *);
/* Is `file` in one of the first `folders` folders? Its path is in found. */
bool search_file(LibrarySearch *, const char *file, int folders);
/* libNAME.so where that is a library and no linker script, else the libNAME.so.N with the highest N
 * of the first folder that has any. */
bool search_library(LibrarySearch *, const char *name, int folders);

#endif
