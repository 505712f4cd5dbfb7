/* Limits of a run: see limit.h. Reading them, the process's own (RLIMIT_AS, RLIMIT_FSIZE), and the
 * count of what was written. */
#include "core/base/limit.h"

#include "core/system/c_locale.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Addresses that no account knows: stacks, slots and value stacks that are reserved, libraries. */
#define BESIDE ((double)((uint64_t)3 << 30))
#define BESIDE_THREAD ((double)((uint64_t)256 << 20))

Limit limit_none(void)
{
    return (Limit){ .memory = INFINITY, .seconds = INFINITY, .file = INFINITY };
}

bool limit_is_over(const Limit *l)
{
    return l->out_of_time || l->part_over;
}

void limit_defaults(Limit *l)
{
    l->memory = isinf(l->memory) ? 1e9 : l->memory;
    l->seconds = isinf(l->seconds) ? 60 : l->seconds;
    l->file = isinf(l->file) ? 1e8 : l->file;
}

/* Digits, a point, an exponent: no sign, no infinity, nothing hexadecimal. */
static bool read_amount(const char *text, size_t n, double *out)
{
    char number[40], *end;
    if (n == 0 || n >= sizeof number || strspn(text, "0123456789.eE+") < n || strchr("eE+", *text))
        return false;
    snprintf(number, sizeof number, "%.*s", (int)n, text);
    *out = c_strtod(number, &end);
    return end == number + n && isfinite(*out);
}

static double *amount_named(Limit *l, const char *name, size_t n)
{
    const struct { const char *name; double *at; } all[] = {
        { "memory", &l->memory }, { "seconds", &l->seconds }, { "file", &l->file } };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strlen(all[i].name) == n && memcmp(all[i].name, name, n) == 0)
            return all[i].at;
    return NULL;
}

bool limit_read(Limit *l, const char *text, char what[64])
{
    do {
        size_t n = strcspn(text, ","), name = strcspn(text, "=,");
        double *at = amount_named(l, text, name);
        snprintf(what, 64, "%.*s", n < 60 ? (int)n : 60, text);
        if (!at || name >= n || !read_amount(text + name + 1, n - name - 1, at) ||
            (*at == 0 && at != &l->file))
            return false;
        text += n;
    } while (*text++ == ',');
    return true;
}

static void lower(int which, double to)
{
    struct rlimit now;
    if (!(to < 9e18) || getrlimit((__rlimit_resource_t)which, &now) != 0)
        return;
    rlim_t most = (rlim_t)to;
    if (now.rlim_max == RLIM_INFINITY || now.rlim_max > most)
        now.rlim_max = most;
    now.rlim_cur = now.rlim_max;
    setrlimit((__rlimit_resource_t)which, &now);
}

void limit_process(const Limit *l, int threads)
{
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__     /* they reserve terabytes */
    lower(RLIMIT_AS, l->memory + BESIDE + threads * BESIDE_THREAD);
#endif
    (void)threads;
    if (isinf(l->file))
        return;
    lower(RLIMIT_FSIZE, l->file);
    signal(SIGXFSZ, SIG_IGN);              /* write says EFBIG then */
}

bool limit_write(Ctx *ctx, size_t bytes)
{
    Limit *l = ctx->limit;
    if (!l)
        return true;
    if (l->written + (double)bytes > l->file) {
        errno = EFBIG;
        return false;
    }
    l->written += (double)bytes;
    return true;
}

/* 1.50000e+08 becomes 1.5e8. */
static void shorten(char *text)
{
    char *e = strchr(text, 'e'), *from = e;
    while (from[-1] == '0')
        from--;
    from -= from[-1] == '.';
    const char *power = e + 1 + (e[1] == '+');
    power += strspn(power, "0");
    *from++ = 'e';
    memmove(from, power, strlen(power) + 1);
}

const char *limit_text(char out[32], double amount)
{
    char plain[32];
    c_snprintf(plain, sizeof plain, "%.6g", amount);
    c_snprintf(out, 32, "%.5e", amount);
    shorten(out);
    if (!strchr(plain, 'e') && strlen(plain) <= strlen(out))
        memcpy(out, plain, sizeof plain);
    return out;
}

const char *limit_why(const Ctx *ctx, int why, char text[96])
{
    if (why != EFBIG || !ctx->limit || isinf(ctx->limit->file))
        return c_strerror(why);
    char most[32];
    snprintf(text, 96, "that is more than --limit file=%s lets a run write",
             limit_text(most, ctx->limit->file));
    return text;
}
