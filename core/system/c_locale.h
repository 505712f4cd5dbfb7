/* Numbers and messages as the "C" locale has them. The locale of the process belongs to the program
 * around us, or to C code that a program called: where it says that decimals have a comma, strtod
 * reads 1.5 as 1 and printf writes 1,5. These ask a locale object of our own, for this thread and
 * this call alone, and leave the host's as it is. A lint rule keeps everybody else from strtod,
 * the v…printf family, printf with %e %f %g %a, strerror and their like; letters have
 * core/system/ascii.h.
 * Nothing here raises or takes memory of the interpreter; all of it may be called on any thread. */
#ifndef RICCI_CORE_C_LOCALE_H
#define RICCI_CORE_C_LOCALE_H

#include <locale.h>
#include <stdarg.h>
#include <stddef.h>

double c_strtod(const char *text, char **end);
float c_strtof(const char *text, char **end);
long double c_strtold(const char *text, char **end);

int c_snprintf(char *out, size_t cap, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int c_vsnprintf(char *out, size_t cap, const char *fmt,
                va_list) __attribute__((format(printf, 3, 0)));
int c_vasprintf(char **out, const char *fmt, va_list) __attribute__((format(printf, 2, 0)));

/* What the C library calls an error, in its own words and not in the user's language: messages are
 * the same everywhere. As strerror's, the text may change with the next call on this thread. */
const char *c_strerror(int error);
const char *c_strsignal(int signal);
const char *c_dlerror(void);

/* Around calls of other libraries that read or write numbers as text. What stands between must
 * neither raise nor call back. */
locale_t c_locale_enter(void);
void c_locale_leave(locale_t before);

#endif
