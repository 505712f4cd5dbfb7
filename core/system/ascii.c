/* Texts compared without regard to the case of ASCII letters; see core/system/ascii.h for why the C
 * library's own functions are not asked. */
#include "core/system/ascii.h"

#include <stdint.h>
#include <string.h>

int ascii_ncasecmp(const char *a, const char *b, size_t n)
{
    for (; n > 0; n--, a++, b++) {
        unsigned char x = (unsigned char)ascii_to_lower(*a), y = (unsigned char)ascii_to_lower(*b);
        if (x != y || !x)
            return x - y;
    }
    return 0;
}

int ascii_casecmp(const char *a, const char *b)
{
    return ascii_ncasecmp(a, b, SIZE_MAX);
}

char *ascii_casestr(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (;; text++) {
        if (ascii_ncasecmp(text, word, n) == 0)
            return (char *)text;
        if (!*text)
            return NULL;
    }
}
