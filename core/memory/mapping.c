/* The mappings of mapping.h: a table of the process, since a signal handler serves the
 * process. The handler reads it without a lock, everybody else under one: an entry is
 * complete before its base is stored, and its base is cleared before it is unmapped. */
#include "core/memory/mapping.h"
#include "core/base/error.h"
#include "core/base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SLOTS = 256 };              /* more mappings than that at a time: files are read instead */

typedef struct Slot {
    _Atomic(char *) base;          /* NULL: closed, and free unless it has a hole to tell of */
    _Atomic(char *) hole;          /* lost data were read from here on; NULL: none were */
    char *start;                   /* base, also when closed */
    size_t bytes, span;            /* of the file, and with the rest of its last page */
    Ctx *ctx;
    char *name;
    size_t name_bytes;
} Slot;

static Slot slots[SLOTS];
static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction others;    /* what SIGBUS did before */
static bool installed;
static size_t page_bytes;

/* ---- the handler: only calls that are plain system calls ---- */

static void note_hole(Slot *s, char *page)
{
    char *old = atomic_load(&s->hole);
    while ((!old || page < old) && !atomic_compare_exchange_weak(&s->hole, &old, page))
        continue;
    InterruptFlag *interrupt = s->ctx->interrupt;
    if (interrupt)
        atomic_compare_exchange_strong(interrupt, &(int){ 0 }, 1);
}

bool mapping_fault(void *address)
{
    int saved = errno;
    char *at = address;
    for (Slot *s = slots; s < slots + SLOTS; s++) {
        char *base = atomic_load(&s->base);
        if (!base || at < base || at >= base + s->span)
            continue;
        char *page = base + (size_t)(at - base) / page_bytes * page_bytes;
        void *zeros = mmap(page, s->span - (size_t)(page - base), PROT_READ,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (zeros == MAP_FAILED)
            break;
        note_hole(s, page);
        errno = saved;
        return true;
    }
    errno = saved;
    return false;
}

/* Not ours: another handler's, or the instruction runs again under the old rule. */
static void on_bus_error(int sig, siginfo_t *info, void *machine)
{
    if (mapping_fault(info->si_addr))
        return;
    if (others.sa_flags & SA_SIGINFO)
        others.sa_sigaction(sig, info, machine);
    else if (others.sa_handler != SIG_DFL && others.sa_handler != SIG_IGN)
        others.sa_handler(sig);
    else
        sigaction(sig, &others, NULL);
}

static bool install(void)
{
    if (installed)
        return true;
    struct sigaction action = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };
    sigemptyset(&action.sa_mask);
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    return installed = sigaction(SIGBUS, &action, &others) == 0;
}

/* ---- opening and closing ---- */

static Slot *free_slot(void)
{
    for (Slot *s = slots; s < slots + SLOTS; s++)
        if (!atomic_load(&s->base) && !atomic_load(&s->hole))
            return s;
    return NULL;
}

static char *map_into_slot(Ctx *ctx, int fd, size_t bytes, char *name, size_t name_bytes)
{
    Slot *s = install() ? free_slot() : NULL;
    if (!s)
        return NULL;
    char *base = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (base == MAP_FAILED)
        return NULL;
    s->start = base;
    s->bytes = bytes;
    s->span = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    s->ctx = ctx;
    s->name = name;
    s->name_bytes = name_bytes;
    atomic_store(&s->hole, NULL);
    atomic_store(&s->base, base);
    return base;
}

char *mapping_open(Ctx *ctx, int fd, size_t bytes, const char *name)
{
    size_t name_bytes = strlen(name) + 1;
    char *copy = mem_strdup(ctx, name);
    pthread_mutex_lock(&slots_lock);
    char *base = map_into_slot(ctx, fd, bytes, copy, name_bytes);
    pthread_mutex_unlock(&slots_lock);
    if (!base)
        mem_free(ctx, copy, name_bytes);
    return base;
}

void mapping_close(Ctx *ctx, char *data)
{
    pthread_mutex_lock(&slots_lock);
    for (Slot *s = slots; s < slots + SLOTS; s++)
        if (atomic_load(&s->base) == data) {
            atomic_store(&s->base, NULL);
            munmap(data, s->span);
            if (!atomic_load(&s->hole))
                mem_free(ctx, s->name, s->name_bytes);
            break;
        }
    pthread_mutex_unlock(&slots_lock);
}

size_t mapping_bytes(const Ctx *ctx)
{
    size_t sum = 0;
    pthread_mutex_lock(&slots_lock);
    for (const Slot *s = slots; s < slots + SLOTS; s++)
        sum += atomic_load(&s->base) && s->ctx == ctx ? s->bytes : 0;
    pthread_mutex_unlock(&slots_lock);
    return sum;
}

/* ---- telling of it ---- */

/* An empty file in place of the zeros: its pages are past its end, so reading them is a
 * bus error again. Where that cannot be had the zeros stay. */
static void open_hole(Slot *s, char *hole)
{
    int fd = memfd_create("hole", MFD_CLOEXEC);
    if (fd < 0)
        return;
    mmap(hole, s->span - (size_t)(hole - s->start), PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0);
    close(fd);
}

/* Takes a hole off the table: its file's name into `name`, and the first byte lost. */
static bool take_hole(Ctx *ctx, char *name, size_t cap, size_t *from)
{
    bool found = false;
    pthread_mutex_lock(&slots_lock);
    for (Slot *s = slots; s < slots + SLOTS; s++) {
        char *hole = s->ctx == ctx ? atomic_load(&s->hole) : NULL;
        if (!hole)
            continue;
        *from = (size_t)(hole - s->start);
        snprintf(name, cap, "%s", s->name);
        found = true;
        if (atomic_load(&s->base))
            open_hole(s, hole);
        else
            mem_free(ctx, s->name, s->name_bytes);
        atomic_store(&s->hole, NULL);
    }
    pthread_mutex_unlock(&slots_lock);
    return found;
}

void mapping_check(Ctx *ctx)
{
    char name[512];
    size_t from = 0;
    if (!take_hole(ctx, name, sizeof name, &from))
        return;
    if (ctx->interrupt)
        *ctx->interrupt = 0;
    err_raise_help(
        ctx, ERR_IO, "load the file again, when whoever writes it has finished",
        "%s was cut short while its values were in use: its bytes from %zu on cannot be read", name,
        from);
}
