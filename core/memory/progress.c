/* The progress line of progress.h: what runs, kept under one mutex, and the thread that draws
 * it. The interpreter's thread takes the mutex when an entry, its outermost work or a write to
 * the terminal begins or ends, never per step. */
#include "core/memory/progress.h"

#include "core/system/c_locale.h"
#include "core/system/held_signals.h"
#include "core/base/mem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { TEXT = 160, LINE = 640 };
static const double WATCH = 2.0;           /* seconds before anything is shown */
static const double REFRESH = 0.2;
static const double SETTLED = 0.75;        /* seconds until work's own text and rate are shown */

struct Progress {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    bool started, ends;
    double watch;
    bool colour;
    /* the entry */
    bool runs;
    double began;
    char entry[TEXT];
    _Atomic int hidden;         /* how many want the terminal for themselves */
    bool line_start;            /* does the cursor stand at the start of a line? */
    /* the work that owns the line */
    bool owned;
    const char *frame;          /* where on the stack its function stands */
    double work_began;
    int64_t total;
    char work[TEXT];
    _Atomic int64_t done;
    /* what is drawn: also read by signal handlers */
    _Atomic bool drawn;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- drawing; the lock is held ---- */
static void put(const char *text, size_t n)
{
    ssize_t done = write(STDERR_FILENO, text, n);
    (void)done;                 /* a terminal that is gone shows nothing */
}

static void erase(Progress *p)
{
    if (atomic_exchange(&p->drawn, false))
        put("\r\033[K", 4);
}

/* Bytes of `text` that fit into `cells`; a byte that begins a character is a cell. */
static size_t fitting(const char *text, int cells)
{
    size_t n = 0;
    for (; text[n]; n++)
        if (((unsigned char)text[n] & 0xC0) != 0x80 && cells-- == 0)
            break;
    return n;
}

static int cells_of(const char *text)
{
    int cells = 0;
    for (; *text; text++)
        cells += ((unsigned char)*text & 0xC0) != 0x80;
    return cells;
}

static void duration(char *out, size_t cap, double seconds)
{
    long s = (long)(seconds + 0.5);
    if (s < 60)
        snprintf(out, cap, "%ld s", s);
    else if (s < 3600)
        snprintf(out, cap, "%ld min %ld s", s / 60, s % 60);
    else
        snprintf(out, cap, "%ld h %ld min", s / 3600, s % 3600 / 60);
}

/* `   37 %   12 s left`, or the time that it has run. */
static void measure(const Progress *p, double time, bool settled, char *out, size_t cap)
{
    char text[48];
    int64_t done = atomic_load_explicit(&p->done, memory_order_relaxed);
    double part = settled && p->total > 0 ? (double)done / (double)p->total : -1;
    part = part > 1 ? 1 : part;
    double spent = time - p->work_began, left = part > 0 ? spent * (1 - part) / part : -1;
    duration(text, sizeof text, left >= 0 ? left : time - p->began);
    if (part < 0)
        snprintf(out, cap, "   %s", text);
    else
        snprintf(out, cap, "   %d %%   %s%s", (int)(100 * part), text, left >= 0 ? " left" : "");
}

static int columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

static void draw(Progress *p, double time)
{
    char line[LINE], rest[64];
    bool settled = p->owned && time - p->work_began >= SETTLED * (p->watch < 1 ? p->watch : 1);
    measure(p, time, settled, rest, sizeof rest);
    const char *text = settled && *p->work ? p->work : p->entry;
    int room = columns() - 1 - cells_of(rest), all = cells_of(text);
    size_t n = fitting(text, all <= room ? all : room > 1 ? room - 1 : 0);
    const char *told = room < 0 ? rest + 3 : rest;      /* too narrow even for the numbers */
    int length = snprintf(line, sizeof line, "\r%s%.*s%s%.*s%s\033[K", p->colour ? "\033[2m" : "",
                          (int)n, text, all > room && room > 1 ? "…" : "",
                          (int)fitting(told, columns() - 1), told, p->colour ? "\033[0m" : "");
    bool was = atomic_exchange(&p->drawn, true);
    if (atomic_load(&p->hidden) > 0) {      /* just now: who hides it looks at `drawn` after that */
        if (!was)
            atomic_store(&p->drawn, false);
        return;
    }
    put(line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);
}

static void wait_for(Progress *p, double seconds)
{
    static const double LONGEST = 3600;        /* RICCI_PROGRESS may be inf */
    struct timespec t;
    seconds = seconds < LONGEST ? seconds : LONGEST;
    clock_gettime(CLOCK_MONOTONIC, &t);
    double at = (double)t.tv_nsec * 1e-9 + seconds;
    t.tv_sec += (time_t)at;
    t.tv_nsec = (long)((at - (double)(time_t)at) * 1e9);
    pthread_cond_timedwait(&p->wake, &p->lock, &t);
}

static void *watch(void *arg)
{
    Progress *p = arg;
    pthread_mutex_lock(&p->lock);
    while (!p->ends) {
        double time = now(), ran = time - p->began;
        if (!p->runs) {
            pthread_cond_wait(&p->wake, &p->lock);
            continue;
        }
        if (ran >= p->watch && p->line_start && atomic_load(&p->hidden) == 0)
            draw(p, time);
        wait_for(p, ran < p->watch ? p->watch - ran : REFRESH);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* ---- its life ---- */
static bool wanted(double *seconds)
{
    const char *term = getenv("TERM"), *text = getenv("RICCI_PROGRESS");
    char *end;
    *seconds = WATCH;
    if (!isatty(STDERR_FILENO) || !term || !*term || strcmp(term, "dumb") == 0)
        return false;
    if (!text || !*text)
        return true;
    *seconds = c_strtod(text, &end);
    return *end == '\0' && *seconds >= 0;
}

void progress_open(Ctx *ctx)
{
    double seconds;
    if (ctx->progress || !wanted(&seconds))
        return;
    Progress *p = mem_try_alloc(ctx, sizeof *p);
    if (!p)
        return;
    const char *plain = getenv("NO_COLOR");
    memset(p, 0, sizeof *p);
    p->watch = seconds;
    p->colour = !(plain && *plain);
    p->line_start = true;
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, &clock);
    pthread_condattr_destroy(&clock);
    ctx->progress = p;
}

static void start_thread(Progress *p)
{
    sigset_t before;
    signals_hold(&before);
    p->started = pthread_create(&p->thread, NULL, watch, p) == 0;
    signals_let(&before);
}

void progress_close(Ctx *ctx)
{
    Progress *p = ctx->progress;
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->ends = true;
    erase(p);
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
    if (p->started)
        pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    ctx->progress = NULL;
    mem_free(ctx, p, sizeof *p);
}

/* The first line of a text, without what stands behind an opening brace at its end. */
static void keep_text(char *out, const char *text, size_t n)
{
    const char *end = memchr(text, '\n', n);
    size_t length = end ? (size_t)(end - text) : n;
    while (length > 0 && strchr(" \t{;\r", text[length - 1]))
        length--;
    if (length >= TEXT)
        for (length = TEXT - 1; length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80;)
            length--;
    memcpy(out, text, length);
    out[length] = '\0';
    for (char *c = out; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
}

void progress_start(Ctx *ctx, const char *text)
{
    Progress *p = ctx->progress;
    if (!p)
        return;
    if (!p->started)
        start_thread(p);
    pthread_mutex_lock(&p->lock);
    keep_text(p->entry, text, strlen(text));
    p->runs = p->line_start = true;
    p->owned = false;
    atomic_store(&p->hidden, 0);
    p->began = now();
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

void progress_stop(Ctx *ctx)
{
    Progress *p = ctx->progress;
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->runs = p->owned = false;
    erase(p);
    pthread_mutex_unlock(&p->lock);
}

/* ---- the terminal ---- */
void progress_hide_slow(Ctx *ctx)
{
    Progress *p = ctx->progress;
    atomic_fetch_add(&p->hidden, 1);
    if (!atomic_load(&p->drawn))
        return;
    pthread_mutex_lock(&p->lock);
    erase(p);
    pthread_mutex_unlock(&p->lock);
}

void progress_show_slow(Ctx *ctx)
{
    atomic_fetch_sub(&ctx->progress->hidden, 1);
}

void progress_write_begin(Ctx *ctx)
{
    if (!ctx->progress)
        return;
    pthread_mutex_lock(&ctx->progress->lock);
    erase(ctx->progress);
}

void progress_write_end(Ctx *ctx, bool line_start)
{
    if (!ctx->progress)
        return;
    ctx->progress->line_start = line_start;
    pthread_mutex_unlock(&ctx->progress->lock);
}

void progress_erase(Ctx *ctx)
{
    if (ctx && ctx->progress)
        erase(ctx->progress);
}

/* ---- work ---- */
bool progress_enter_slow(Ctx *ctx, const char *text, size_t length, int64_t total,
                         const void *frame)
{
    Progress *p = ctx->progress;
    if (!progress_free(ctx))
        return false;
    pthread_mutex_lock(&p->lock);
    p->owned = true;
    p->frame = frame;
    p->work_began = now();
    p->total = total;
    atomic_store_explicit(&p->done, 0, memory_order_relaxed);
    keep_text(p->work, text ? text : "", text ? length : 0);
    pthread_mutex_unlock(&p->lock);
    return true;
}

bool progress_free(const Ctx *ctx)
{
    const Progress *p = ctx->progress;
    return p && p->runs && !p->owned;
}

void progress_at(Ctx *ctx, int64_t done)
{
    atomic_store_explicit(&ctx->progress->done, done, memory_order_relaxed);
}

_Atomic int64_t *progress_counter(Ctx *ctx)
{
    return &ctx->progress->done;
}

void progress_leave(Ctx *ctx)
{
    Progress *p = ctx->progress;
    pthread_mutex_lock(&p->lock);
    p->owned = false;
    pthread_mutex_unlock(&p->lock);
}

void progress_unwound(Ctx *ctx, const void *frame)
{
    Progress *p = ctx->progress;
    if (p && p->owned && p->frame < (const char *)frame)
        progress_leave(ctx);
}
