/* Launching: which program starts the ranks, what it is told in its environment, what it says, and
 * its end. */
#include "kernels/mpi/group_life.h"

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/plain.h"
#include "core/system/c_locale.h"
#include "core/system/child.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- what there is ---- */
static bool find_program(const char *name, char out[PATH_MAX])
{
    const char *path = strchr(name, '/') ? "" : getenv("PATH");
    for (const char *at = path ? path : "/usr/bin:/bin"; ; at++) {
        size_t n = strcspn(at, ":");
        c_snprintf(out, PATH_MAX, "%.*s%s%s", (int)n, at, n ? "/" : "", name);
        if (access(out, X_OK) == 0)
            return true;
        at += n;
        if (!*at)
            return false;
    }
}

/* By what the launcher's name leads to: Debian's mpirun is a link to mpirun.openmpi. */
static const struct Maker { const char *word, *mpi; } makers[] = {
    { "openmpi", "Open MPI" }, { "orterun", "Open MPI" }, { "prterun", "Open MPI" },
    { "mpich", "MPICH" }, { "hydra", "MPICH" }, { "srun", "Slurm" },
};

static const char *maker_of(const char *launcher)
{
    char real[PATH_MAX];
    if (!realpath(launcher, real))
        return "";
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        if (strstr(real, makers[i].word))
            return makers[i].mpi;
    return "";
}

static int count_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

static GroupTools look(char launcher[PATH_MAX], char lacks[256])
{
    static const char *const names[] = { "mpirun", "mpiexec", "srun" };
    const char *own = getenv("RICCI_MPIRUN");
    GroupTools t = { .mpi = "", .cores = count_cores() };
    if (own && *own) {
        char word[PATH_MAX];
        c_snprintf(word, sizeof word, "%.*s", (int)strcspn(own, " "), own);
        if (find_program(word, launcher))
            t.launcher = launcher;
        else
            c_snprintf(lacks, 256, "RICCI_MPIRUN names %.100s, which is no program here", word);
    }
    for (size_t i = 0; !(own && *own) && i < sizeof names / sizeof *names && !t.launcher; i++)
        if (find_program(names[i], launcher))
            t.launcher = launcher;
    if (t.launcher)
        t.mpi = maker_of(launcher);
    else if (!lacks[0])
        strcpy(lacks, "there is no mpirun, mpiexec or srun: install openmpi-bin and "
                      "libscalapack-openmpi2.2 (Debian), or what your cluster has");
    t.lacks = t.launcher ? NULL : lacks;
    return t;
}

const GroupTools *group_tools(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char launcher[PATH_MAX], lacks[256], before[PATH_MAX];
    static GroupTools tools;
    const char *own = getenv("RICCI_MPIRUN");
    pthread_mutex_lock(&lock);
    if (!tools.cores || strncmp(before, own ? own : "", sizeof before - 1)) {
        lacks[0] = '\0';
        tools = look(launcher, lacks);
        c_snprintf(before, sizeof before, "%s", own ? own : "");
    }
    pthread_mutex_unlock(&lock);
    return &tools;
}

/* ---- what it is given ---- */
typedef struct Vector { char **at; int count, cap; } Vector;

static void vector_add(Ctx *ctx, Vector *v, const char *text)
{
    if (v->count + 1 >= v->cap) {
        int cap = v->cap ? 2 * v->cap : 64;
        v->at = mem_realloc(ctx, v->at, (size_t)v->cap * sizeof *v->at,
                            (size_t)cap * sizeof *v->at);
        v->cap = cap;
    }
    v->at[v->count] = mem_strdup(ctx, text);
    v->at[++v->count] = NULL;
}

static void vector_free(Ctx *ctx, Vector *v)
{
    for (int i = 0; i < v->count; i++)
        mem_free(ctx, v->at[i], strlen(v->at[i]) + 1);
    if (v->at)
        mem_free(ctx, v->at, (size_t)v->cap * sizeof *v->at);
}

/* What launchers are asked for by their variables, which leaves the command line to all alike.
 * Where the user has set one, it stays. */
enum When { ALWAYS, AS_ROOT, LITTLE_SHARED };
static const struct Setting { const char *name, *value; enum When when; } settings[] = {
    { "OMPI_ALLOW_RUN_AS_ROOT", "1", AS_ROOT },
    { "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", AS_ROOT },
    { "PRTE_ALLOW_RUN_AS_ROOT", "1", AS_ROOT },
    { "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1", AS_ROOT },
    { "OMPI_MCA_rmaps_base_oversubscribe", "1", ALWAYS },
    { "PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", ALWAYS },
    { "OMPI_MCA_hwloc_base_binding_policy", "none", ALWAYS },
    { "PRTE_MCA_hwloc_default_binding_policy", "none", ALWAYS },
    /* A rank that is to end has nothing to save: no waiting between asking it and forcing it. */
    { "OMPI_MCA_odls_base_sigkill_timeout", "0", ALWAYS },
    /* Ranks that wait for one another leave the processor to whoever has work: with others on the
     * machine, or more ranks than cores, they would wait for one that does not get it. */
    { "OMPI_MCA_mpi_yield_when_idle", "1", ALWAYS },
    /* Containers may have next to no shared memory, and ranks that find none wait for ever. */
    { "OMPI_MCA_btl_vader_backing_directory", "/tmp", LITTLE_SHARED },
    { "OMPI_MCA_btl_sm_backing_directory", "/tmp", LITTLE_SHARED },
    /* To other hosts too. */
    { "OMPI_MCA_mca_base_env_list", TOKEN_VARIABLE, ALWAYS },
};

/* Room in /dev/shm for what each rank keeps there, 4 MiB and some more. */
static bool little_shared(const Group *g)
{
    struct statvfs fs;
    return statvfs("/dev/shm", &fs) || fs.f_bavail < ((uint64_t)g->ranks << 23) / fs.f_frsize;
}

static bool is_due(const Group *g, enum When when)
{
    return when == ALWAYS || (when == AS_ROOT ? !geteuid() : little_shared(g));
}

static void make_environment(Ctx *ctx, Group *g, Vector *v)
{
    char text[128 + TOKEN_TEXT];
    for (char **e = environ; *e; e++)
        if (strncmp(*e, TOKEN_VARIABLE "=", sizeof TOKEN_VARIABLE))
            vector_add(ctx, v, *e);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const struct Setting *s = &settings[i];
        if (getenv(s->name) || !is_due(g, s->when))
            continue;
        c_snprintf(text, sizeof text, "%s=%s", s->name, s->value);
        vector_add(ctx, v, text);
    }
    c_snprintf(text, sizeof text, TOKEN_VARIABLE "=%s", g->life->token);
    vector_add(ctx, v, text);
}

/* The program that was built or installed with this library: in the folder bin beside it or beside
 * its folder, or in the folder above. */
static bool beside(char out[PATH_MAX])
{
    static const char *const places[] = { "bin/ricci", "../bin/ricci", "../ricci" };
    char found[PATH_MAX];
    Dl_info info;
    if (!dladdr((const void *)(uintptr_t)group_tools, &info) || !info.dli_fname)
        return false;
    const char *name = strrchr(info.dli_fname, '/');
    int folder = name ? (int)(name - info.dli_fname) : 0;
    for (size_t i = 0; name && i < sizeof places / sizeof *places; i++) {
        c_snprintf(found, sizeof found, "%.*s/%s", folder, info.dli_fname, places[i]);
        if (find_program(found, out))
            return true;
    }
    return false;
}

/* The program of the ranks: $RICCI_PROGRAM; this one, if it is `ricci`; the one that stands beside
 * the library; or what the path finds. */
static void find_ricci(Ctx *ctx, char out[PATH_MAX])
{
    const char *own = getenv("RICCI_PROGRAM");
    ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
    out[n > 0 ? n : 0] = '\0';
    const char *name = strrchr(out, '/');
    if (own && *own)
        c_snprintf(out, PATH_MAX, "%s", own);
    else if ((!name || strcmp(name, "/ricci")) && !beside(out) && !find_program("ricci", out))
        err_raise_help(ctx, ERR_DEVICE, "put `ricci` into the PATH, or its path into RICCI_PROGRAM",
                       "the ranks of mpi are processes of the program `ricci`, which is not found");
}

static void make_words(Ctx *ctx, Group *g, Vector *v)
{
    char text[PATH_MAX];
    const char *own = getenv("RICCI_MPIRUN");
    find_ricci(ctx, text);
    vector_add(ctx, v, text);
    vector_add(ctx, v, "--mpi-run");
    vector_add(ctx, v, group_tools()->launcher);
    if (own)
        own += strcspn(own, " ");
    while (own && *(own += strspn(own, " "))) {
        size_t n = strcspn(own, " ");
        c_snprintf(text, sizeof text, "%.*s", (int)n, own);
        vector_add(ctx, v, text);
        own += n;
    }
    vector_add(ctx, v, "-n");
    c_snprintf(text, sizeof text, "%d", g->ranks);
    vector_add(ctx, v, text);
    find_ricci(ctx, text);
    vector_add(ctx, v, text);
    vector_add(ctx, v, "--mpi-rank");
    vector_add(ctx, v, g->life->address);
    vector_add(ctx, v, "-");
}

/* ---- starting ---- */
/* In the child: calls that a handler of signals may make too. */
static _Noreturn void become(char *const *words, char *const *environment, int line, int print)
{
    sigset_t none;
    sigemptyset(&none);
    setpgid(0, 0);                         /* a Ctrl-C at the terminal is for the session */
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(line, 0) >= 0 && dup2(print, 1) >= 0 && dup2(print, 2) >= 0)
        execve(words[0], words, environment);
    dprintf(2, "%s cannot be started\n", words[0]);
    _exit(127);
}

/* With two pipes: by one it sees that the session is there, by the other it is heard. */
static bool start(GroupLife *life, const Vector *words, const Vector *environment)
{
    int line[2], print[2];
    if (pipe2(line, O_CLOEXEC))
        return false;
    if (pipe2(print, O_CLOEXEC)) {
        close(line[0]);
        close(line[1]);
        return false;
    }
    fcntl(print[0], F_SETFL, O_NONBLOCK);
    life->line_fd = line[1];
    life->words_fd = print[0];
    pid_t child = child_fork();
    if (child == 0)
        become(words->at, environment->at, line[0], print[1]);
    int error = errno;
    life->launcher = child > 0 ? child : 0;
    close(line[0]);
    close(print[1]);
    errno = error;
    return child > 0;
}

static void launch_with(Ctx *ctx, Group *g, Vector *words, Vector *environment)
{
    ErrFrame frame;
    if (!ERR_TRY(ctx, &frame)) {
        vector_free(ctx, words);
        vector_free(ctx, environment);
        err_rethrow(ctx);
    }
    make_words(ctx, g, words);
    make_environment(ctx, g, environment);
    if (!start(g->life, words, environment))
        err_raise(ctx, ERR_DEVICE, "%s cannot be started: %s", words->at[0], c_strerror(errno));
    ERR_END(ctx, &frame);
    vector_free(ctx, words);
    vector_free(ctx, environment);
}

void group_launch(Ctx *ctx, Group *g)
{
    Vector words = { 0 }, environment = { 0 };
    launch_with(ctx, g, &words, &environment);
}

/* ---- what it says ---- */
static void keep_words(GroupLife *life, const char *text, size_t n)
{
    enum { MOST = GROUP_WORDS - 1 };
    if (n > MOST) {
        text += n - MOST;
        n = MOST;
    }
    if (life->words_len + n > MOST) {      /* the oldest go */
        size_t cut = life->words_len + n - MOST;
        memmove(life->words, life->words + cut, life->words_len - cut);
        life->words_len -= cut;
    }
    memcpy(life->words + life->words_len, text, n);
    life->words_len += n;
    life->words[life->words_len] = '\0';
}

void group_hear(GroupLife *life)
{
    char block[4096];
    ssize_t n = 0;
    while (life->words_fd >= 0 && (n = read(life->words_fd, block, sizeof block)) > 0)
        keep_words(life, block, (size_t)n);
    if (life->words_fd >= 0 && n == 0) {
        close(life->words_fd);
        life->words_fd = -1;
    }
    if (!life->launcher)
        return;
    int status;
    pid_t ended = waitpid(life->launcher, &status, WNOHANG);
    if (ended == life->launcher || (ended < 0 && errno == ECHILD)) {
        life->launcher = 0;
        life->status = ended > 0 ? status : -1;
    }
}

/* Lines of dashes and empty ones say nothing; others follow one another. */
void group_words(const GroupLife *life, char *out, size_t n)
{
    size_t len = 0;
    out[0] = '\0';
    for (const char *at = life->words; *at; ) {
        size_t line = strcspn(at, "\n"), blank = strspn(at, " \t\r-=_*");
        if (blank < line) {
            const char *from = at + strspn(at, " \t\r");
            size_t bytes = line - (size_t)(from - at);
            c_snprintf(out + len, n - len, "%s%.*s", len ? " " : "", (int)bytes, from);
            len += strlen(out + len);
        }
        at += line + (at[line] == '\n');
    }
    plain_line(out);
}

/* ---- its end ---- */
static bool ended_within(GroupLife *life, double seconds)
{
    double until = group_clock() + seconds;
    for (int ms = 1; ; ms = ms < 16 ? 2 * ms : ms) {
        group_hear(life);
        if (!life->launcher)
            return true;
        if (group_clock() >= until)
            return false;
        poll(NULL, 0, ms);
    }
}

void group_unlaunch(GroupLife *life, bool hard)
{
    if (life->launcher && (hard || !ended_within(life, 1.0))) {
        kill(life->launcher, SIGTERM);
        if (!ended_within(life, hard ? 2.0 : 1.0)) {
            kill(-life->launcher, SIGKILL);
            kill(life->launcher, SIGKILL);
            ended_within(life, 5.0);
        }
    }
    if (life->words_fd >= 0)
        close(life->words_fd);
    life->words_fd = -1;
    if (life->line_fd >= 0)
        close(life->line_fd);
    life->line_fd = -1;
}
