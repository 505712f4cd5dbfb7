/* The "C" locale, for one thread and one call at a time (core/system/c_locale.h). glibc's object
 * for it is static, so newlocale takes no memory and cannot fail; where a C library has none to
 * give, the process's locale is asked as it ever was. Changing a thread's locale and back costs a
 * fiftieth of what it costs to print a double. */
#include "core/system/c_locale.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic(locale_t) opened;

/* Two threads that are the first at the same time open it twice, which is harmless. */
static locale_t c_locale(void)
{
    locale_t c = atomic_load_explicit(&opened, memory_order_acquire);
    if (!c && (c = newlocale(LC_ALL_MASK, "C", (locale_t)0)))
        atomic_store_explicit(&opened, c, memory_order_release);
    return c;
}

locale_t c_locale_enter(void)
{
    return uselocale(c_locale());
}

void c_locale_leave(locale_t before)
{
    uselocale(before);
}

/* ---- numbers ---- */
double c_strtod(const char *text, char **end)
{
    locale_t c = c_locale();
    return c ? strtod_l(text, end, c) : strtod(text, end);
}

float c_strtof(const char *text, char **end)
{
    locale_t c = c_locale();
    return c ? strtof_l(text, end, c) : strtof(text, end);
}

long double c_strtold(const char *text, char **end)
{
    locale_t c = c_locale();
    return c ? strtold_l(text, end, c) : strtold(text, end);
}

int c_vsnprintf(char *out, size_t cap, const char *fmt, va_list args)
{
    locale_t before = c_locale_enter();
    int n = vsnprintf(out, cap, fmt, args);
    c_locale_leave(before);
    return n;
}

int c_snprintf(char *out, size_t cap, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = c_vsnprintf(out, cap, fmt, args);
    va_end(args);
    return n;
}

int c_vasprintf(char **out, const char *fmt, va_list args)
{
    locale_t before = c_locale_enter();
    int n = vasprintf(out, fmt, args);
    c_locale_leave(before);
    return n;
}

/* ---- messages ---- */
const char *c_strerror(int error)
{
    locale_t before = c_locale_enter();
    const char *text = strerror(error);
    c_locale_leave(before);
    return text;
}

const char *c_strsignal(int signal)
{
    locale_t before = c_locale_enter();
    const char *text = strsignal(signal);
    c_locale_leave(before);
    return text;
}

const char *c_dlerror(void)
{
    locale_t before = c_locale_enter();
    const char *text = dlerror();
    c_locale_leave(before);
    return text;
}
