/* Two interpreters in two threads, each at every kind of work that meets something of the process:
 * the pool, BLAS and LAPACK, FFTW's planner, GMP's memory functions, MPFR's caches, libraries that
 * are opened when first used, mapped files, errors for want of memory. A third thread interrupts
 * both.
 * Results are those of one interpreter alone. Built with MODE=tsan it finds races; what is not
 * built with it is left out by tests/tools/tsan.supp. */
#include "interp/embed/ricci.h"
#include "tests/unit/check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { INTERPRETERS = 2, TURNS = 2, INTERRUPTED_TURNS = 2, RESULT = 200 };

/* Each ends in a value that does not depend on how a library rounds. %s is a folder of the test, %d
 * the number of the interpreter. */
static const char *const programs[] = {
    "x = linspace(0, 1, 400000); round(sum(x * x + 1))",
    "A = ones(220, 220); sum(A @ A)",
    "B = ones(40, 40); C = [b * 0.0 + 40 for b in 0:30]; len(C)",
    "x = eye(650) * 2 \\ ones(650); round(sum(x))",
    "round(sum(svd(eye(330) * 3).S))",
    "round(sum(eigvals(eye(60) * 2) |> real))",
    "s = 0; for n in (64, 100, 1000, 777, 4096, 33) { s = s + round(real(fft(ones(n))[0])) }; s",
    "round(sum(real(ifft(fft(ones(64, 64))))))",
    "x = linspace(0, 3, 200000); round(sum(exp(sin(x)) - exp(sin(x))))",
    "precision rational { s = 0; for i in 1:60 { s = s + 1 / i }; s }",
    "precision mp(400) { x = exp(1) * log(2) + sqrt(3); x > 3 }",
    "precision decimal(30) { 1 / 7 }",
    "precision interval { sqrt(2) > 1 }",
    "precision mp(100) { t = \"{dtype(1.0)}\"; t }",
    "r = 0; try { zeros(1000000, 1000000, 1000) } catch e { r = e.kind }; r",
    "n = 300; D[i,k] := ones(300, 300)[i,j] * ones(300, 300)[j,k]; sum(D)",
    "A = ones(90, 90); M[i,k] := max[j](A[i,j] + A[j,k]); sum(M)",
    "v = sort(linspace(1, 0, 200000)); v[0]",
    "len(devices()) > 0",
    "extern \"libm.so.6\" { double cbrt(double x); }; cbrt(27.0)",
    "save(\"%s/m%d.npy\", ones(300000)); sum(load(\"%s/m%d.npy\"))",
    "write(\"%s/t%d\", \"text\"); read(\"%s/t%d\")",
    "plot([1, 2, 3], to=\"%s/p%d.svg\"); 1",
    "conv(ones(5000), ones(3000))[0] |> round",
    "seed(1); a = rand(100000); seed(1); b = rand(100000); all(a == b)",
    "r = 0; for i in 0:200 { try { [1, 2] @ [1, 2, 3] } catch e { r = r + 1 } }; r",
    "on sim.mps { x = ones(50, 50) @ ones(50, 50) }; sum(x)",
    "s = \"\"; for i in 0:500 { s = \"{i}\" }; s",
};
enum { PROGRAMS = sizeof programs / sizeof *programs };

static char folder[64];
static char right[PROGRAMS][RESULT];

typedef struct Runner {
    pthread_t thread;
    int number;
    Ricci *r;                    /* behind the lock: whoever interrupts it keeps it alive */
    pthread_mutex_t lock;
    bool interrupted;            /* somebody interrupts it: an error `interrupt` is right too */
    int passed, failed, stopped;
    char wrong[600];
} Runner;

static int no_output(void *user, int stream, const char *text, size_t bytes)
{
    (void)user, (void)stream, (void)text, (void)bytes;
    return 0;
}

/* The program with the folder and the number in their places. */
static void text_of(int program, int number, char out[600])
{
    size_t n = 0;
    for (const char *p = programs[program]; *p && n < 500; p++)
        if (p[0] == '%' && p[1] == 's')
            n += (size_t)snprintf(out + n, 600 - n, "%s", folder), p++;
        else if (p[0] == '%' && p[1] == 'd')
            n += (size_t)snprintf(out + n, 600 - n, "%d", number), p++;
        else
            out[n++] = *p;
    out[n] = '\0';
}

static void run_one(Runner *me, Ricci *r, int program)
{
    char text[600];
    text_of(program, me->number, text);
    bool failed = ricci_eval(r, text);
    const RicciError *e = failed ? ricci_error_parts(r) : NULL;
    if (e && me->interrupted && strcmp(e->kind, "interrupt") == 0)
        me->stopped++;
    else if (!failed && strcmp(ricci_result(r), right[program]) == 0)
        me->passed++;
    else if (me->failed++ == 0)
        snprintf(me->wrong, sizeof me->wrong, "%.200s: %.300s", programs[program],
                 failed ? ricci_error(r) : ricci_result(r));
}

static void set_interpreter(Runner *me, Ricci *r)
{
    pthread_mutex_lock(&me->lock);
    me->r = r;
    pthread_mutex_unlock(&me->lock);
}

/* A new interpreter each turn: one begins while the other is at work. */
static void *run_all(void *argument)
{
    Runner *me = argument;
    for (int turn = 0; turn < (me->interrupted ? INTERRUPTED_TURNS : TURNS); turn++) {
        Ricci *r = ricci_open();
        ricci_output(r, no_output, NULL);
        set_interpreter(me, r);
        for (int i = 0; i < PROGRAMS; i++)
            run_one(me, r, (me->number * 7 + i) % PROGRAMS);
        set_interpreter(me, NULL);
        ricci_close(r);
    }
    return NULL;
}

static _Atomic bool over;

static void *interrupt_both(void *argument)
{
    Runner *runners = argument;
    for (unsigned i = 0; !over; i++) {
        Runner *one = &runners[i % INTERPRETERS];
        pthread_mutex_lock(&one->lock);
        ricci_interrupt(one->r);
        pthread_mutex_unlock(&one->lock);
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 + (long)(i * 7919 % 40) * 1000000 }, NULL);
    }
    return NULL;
}

static void find_right(void)
{
    Ricci *r = ricci_open();
    ricci_output(r, no_output, NULL);
    for (int i = 0; i < PROGRAMS; i++) {
        char text[600];
        text_of(i, 9, text);
        if (!CHECK(ricci_eval(r, text) == 0))
            printf("%s\n%s\n", text, ricci_error(r));
        snprintf(right[i], RESULT, "%s", ricci_result(r));
    }
    ricci_close(r);
}

static void together(bool interrupted)
{
    Runner runners[INTERPRETERS];
    pthread_t interrupter;
    memset(runners, 0, sizeof runners);
    over = false;
    for (int i = 0; i < INTERPRETERS; i++) {
        runners[i].number = i;
        pthread_mutex_init(&runners[i].lock, NULL);
        runners[i].interrupted = interrupted;
        pthread_create(&runners[i].thread, NULL, run_all, &runners[i]);
    }
    if (interrupted)
        pthread_create(&interrupter, NULL, interrupt_both, runners);
    for (int i = 0; i < INTERPRETERS; i++) {
        pthread_join(runners[i].thread, NULL);
        if (!CHECK(runners[i].failed == 0))
            printf("%d of %d: %s\n", runners[i].failed, PROGRAMS, runners[i].wrong);
        CHECK(runners[i].passed > 0 || interrupted);
    }
    over = true;
    if (interrupted)
        pthread_join(interrupter, NULL);
}

int main(void)
{
    char command[128];
    const char *tmp = getenv("TMPDIR");
    setenv("RICCI_THREADS", "3", 1);
    snprintf(folder, sizeof folder, "%.40s/threads.XXXXXX", tmp && strlen(tmp) < 40 ? tmp : "/tmp");
    if (!mkdtemp(folder))
        return 1;
    /* First together: libraries are opened, and caches filled, by whoever comes first. */
    pthread_t early[2];
    Runner first[2];
    memset(first, 0, sizeof first);
    for (int i = 0; i < 2; i++) {
        first[i].number = i + 4;
        pthread_mutex_init(&first[i].lock, NULL);
        first[i].interrupted = true;             /* results are not known yet */
        pthread_create(&early[i], NULL, run_all, &first[i]);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(early[i], NULL);
    find_right();
    together(false);
    together(true);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0)
        return 1;
    return check_result();
}
