/* Which module of the library written in Ricci has what. */
#include "interp/state/stdlib_files.h"

#include <stdio.h>
#include <string.h>

const struct StdlibFile *stdlib_file(const char *name)
{
    for (const struct StdlibFile *f = ricci_stdlib; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

bool module_in_stdlib(const char *name)
{
    return stdlib_file(name) != NULL;
}

/* Does the line that ends at `end` start with ##? What has no help is the module's own. */
static bool help_line(const char *text, const char *end)
{
    const char *from = end;
    while (from > text && from[-1] != '\n')
        from--;
    return strncmp(from, "##", 2) == 0;
}

const char *module_of_stdlib(const char *function)
{
    char head[80];
    int n = snprintf(head, sizeof head, "\nfn %s(", function);
    for (const struct StdlibFile *f = ricci_stdlib; f->name && n < (int)sizeof head; f++) {
        const char *at = strstr(f->text, head);
        if (at && help_line(f->text, at))
            return f->name;
    }
    return NULL;
}
