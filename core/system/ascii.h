/* Letters, digits and blanks of ASCII. <ctype.h> and <strings.h> ask the locale of the process,
 * which belongs to the program around us: in a Turkish one "I" and "i" are different letters, in an
 * 8-bit one the bytes of UTF-8 may be letters or blanks. Keywords, names, numbers and the words of
 * file formats are ASCII whatever it says, so nobody else classifies or compares letters (a lint
 * rule); numbers have core/system/c_locale.h. A char may be negative: it is none of these. */
#ifndef RICCI_CORE_ASCII_H
#define RICCI_CORE_ASCII_H

#include <stdbool.h>
#include <stddef.h>

static inline bool ascii_digit(int c)
{
    return c >= '0' && c <= '9';
}

static inline bool ascii_is_lower(int c)
{
    return c >= 'a' && c <= 'z';
}

static inline bool ascii_is_upper(int c)
{
    return c >= 'A' && c <= 'Z';
}

static inline bool ascii_alpha(int c)
{
    return ascii_is_lower(c) || ascii_is_upper(c);
}

static inline bool ascii_alnum(int c)
{
    return ascii_alpha(c) || ascii_digit(c);
}

static inline bool ascii_xdigit(int c)
{
    return ascii_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static inline bool ascii_blank(int c)
{
    return c == ' ' || c == '\t';
}

/* Blanks, and what ends or feeds a line: \n \v \f \r. */
static inline bool ascii_space(int c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline char ascii_to_lower(char c)
{
    return ascii_is_upper(c) ? (char)(c - 'A' + 'a') : c;
}

static inline char ascii_to_upper(char c)
{
    return ascii_is_lower(c) ? (char)(c - 'a' + 'A') : c;
}

/* As strcasecmp, strncasecmp and strcasestr do; letters outside ASCII are themselves. */
int ascii_casecmp(const char *a, const char *b);
int ascii_ncasecmp(const char *a, const char *b, size_t n);
char *ascii_casestr(const char *text, const char *word);

#endif
