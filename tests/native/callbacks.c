/* What calls back, and what crashes: C that the tests of callbacks and crashes call. */
#include <complex.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- callbacks of every kind ---- */
double cb_sum(double (*f)(double, void *), void *data, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += f(i, data);
    return sum;
}

int cb_count(int (*f)(void), int most)
{
    int n = 0;
    while (n < most && f())
        n++;
    return n;
}

/* Until f is not 0 any more, which a callback that failed never says. */
int cb_forever(int (*f)(void))
{
    while (!f())
        continue;
    return 1;
}

int8_t cb_i8(int8_t (*f)(int8_t), int8_t x) { return f(x); }
uint8_t cb_u8(uint8_t (*f)(uint8_t), uint8_t x) { return f(x); }
short cb_i16(short (*f)(short), short x) { return f(x); }
unsigned short cb_u16(unsigned short (*f)(unsigned short), unsigned short x) { return f(x); }
int cb_i32(int (*f)(int), int x) { return f(x); }
unsigned cb_u32(unsigned (*f)(unsigned), unsigned x) { return f(x); }
long cb_i64(long (*f)(long), long x) { return f(x); }
unsigned long cb_u64(unsigned long (*f)(unsigned long), unsigned long x) { return f(x); }
_Bool cb_bool(_Bool (*f)(_Bool), _Bool x) { return f(x); }
char cb_char(char (*f)(char), char x) { return f(x); }
float cb_float(float (*f)(float), float x) { return f(x); }
double cb_double(double (*f)(double), double x) { return f(x); }
long double cb_long_double(long double (*f)(long double), long double x) { return f(x); }
double complex cb_complex(double complex (*f)(double complex), double complex x) { return f(x); }
float complex cb_complex_float(float complex (*f)(float complex), float complex x) { return f(x); }
size_t cb_text(const char *(*f)(const char *), const char *x) { const char *s = f(x); return s ? strlen(s) : 999; }
int cb_two_texts(const char *(*f)(const char *)) { const char *a = f("a"), *b = f("b"); return strcmp(a, b); }
void cb_void(void (*f)(int), int n) { for (int i = 0; i < n; i++) f(i); }
void cb_talk(void (*f)(int), int n) { for (int i = 0; i < n; i++) { printf("C %d\n", i); f(i); } printf("C ends\n"); }
double cb_read(double (*f)(const double *, int), const double *x, int n) { return f(x, n); }
int cb_null(int (*f)(void *)) { return f ? f(NULL) : -1; }
int cb_many(int (*f)(int, double, int, double, int, double, int, double, int, int, float, int8_t))
{
    return f(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11.5f, -12);
}

typedef struct Point { double x, y; } Point;
typedef struct Wide { int64_t n; double at[4]; char tag; } Wide;
typedef struct Small { char a; short b; } Small;
Point cb_point(Point (*f)(Point), Point p) { return f(p); }
Wide cb_wide(Wide (*f)(Wide), Wide w) { return f(w); }
Small cb_small(Small (*f)(Small), Small s) { return f(s); }

/* ---- callbacks that are kept, and called from elsewhere ---- */
static double (*kept)(double);
void cb_keep(double (*f)(double)) { kept = f; }
double cb_kept(double x) { return kept(x); }
int cb_same(double (*f)(double), double (*g)(double)) { return f == g; }

static void *on_thread(void *out)
{
    *(double *)out = kept(1);
    return NULL;
}
/* What f gave on a thread of its own. */
double cb_thread(double (*f)(double))
{
    pthread_t thread;
    double out = -1;
    kept = f;
    if (pthread_create(&thread, NULL, on_thread, &out) == 0)
        pthread_join(thread, NULL);
    return out;
}

static void *later(void *unused)
{
    (void)unused;
    usleep(10000);
    kept(1);
    return NULL;
}
static pthread_t waiting;
int cb_thread_later(double (*f)(double)) { kept = f; return pthread_create(&waiting, NULL, later, NULL); }

int cb_join(void) { return pthread_join(waiting, NULL); }

static void at_end(void) { printf("at the end: %g\n", kept(1)); }
int cb_at_end(double (*f)(double)) { kept = f; return atexit(at_end); }

static void on_signal(int sig) { kept(sig); }
int cb_on_signal(double (*f)(double), int sig) { kept = f; return signal(sig, on_signal) == SIG_ERR; }
int cb_raise(int sig) { return raise(sig); }

/* ---- crashes ---- */
int crash_at(size_t address) { return *(volatile int *)address; }
void crash_write_at(size_t address) { *(volatile int *)address = 1; }
void crash_call_null(void) { void (*volatile f)(void) = NULL; f(); }
int crash_divide(int a, int b) { return a / b; }
void crash_trap(void) { __builtin_trap(); }
void crash_abort(void) { abort(); }
void crash_text(void) { *(volatile char *)"text" = 'T'; }
static volatile int endless = 1;
__attribute__((noinline)) static int deep(volatile char *up)
{
    volatile char room[4096];
    room[0] = up ? up[0] : 1;
    return endless ? deep(room) + room[0] : 0;
}
int crash_stack(void) { return deep(NULL); }
double crash_after(double (*f)(double), double x) { f(x); return crash_at(0); }
int crash_printed(void) { printf("before the crash\n"); return crash_at(0); }
static void *crash_here(void *unused) { (void)unused; *(volatile int *)NULL = 1; return NULL; }
void crash_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, crash_here, NULL);
    pthread_join(thread, NULL);
}
void crash_format(size_t address) { printf("%s%d\n", (char *)address, 1); }
void crash_blocked(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    abort();
}
int set_errno(int e) { int old = errno; errno = e; return old; }
