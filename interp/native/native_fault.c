/* Running C: what surrounds a call, and what becomes of a crash inside one. native_run is the only
 * place that calls C for `extern`. A signal that a crash raises on the thread of the call, while C
 * itself runs, leaves the call by siglongjmp and becomes an `ffi` error; every other one (a bug of
 * ours, also in Ricci code that C called back; a thread of the library's own) goes to whoever was
 * asked before. The state here is the thread's and the process's, as signals are. */
#include "interp/native/native_frame.h"
#include "interp/output/output.h"

#include "core/system/c_locale.h"
#include "core/memory/mapping.h"
#include "core/base/mem.h"
#include "core/memory/progress.h"
#include "kernels/blas/blas_stop.h"

#include <errno.h>
#include <ffi.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

typedef struct Crash {
    int signal, code;
    char *address, *sp;              /* what it touched, its stack; NULL: unknown */
    enum { ACCESS_UNKNOWN, ACCESS_READ, ACCESS_WRITE, ACCESS_RUN } access;
} Crash;

typedef struct Thread {
    NativeFrame *volatile inside;    /* the call that C runs in now; NULL: our own code runs */
    bool ready;
    uint64_t calls;
    bool c_fp_set;                   /* C changed its floating-point control, to c_fp */
    fenv_t c_fp;
    sigset_t mask;
    Crash crash;                     /* the last one */
} Thread;

/* Reading it in a handler allocates nothing: a program has it from the start, and where libricci
 * was loaded later a thread that calls C wrote to it before. (Initial-exec would ask for room that
 * a process which loads libraries late may not have left.) */
static _Thread_local Thread me;

static const int crashes[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
enum { CRASHES = sizeof crashes / sizeof *crashes, ALT_STACK = 64 << 10 };
static struct sigaction before[CRASHES];     /* what the signals did before us */
static pthread_once_t installed = PTHREAD_ONCE_INIT;
static pthread_key_t stack_key;
static atomic_uint refusals;                 /* calls that callbacks refused, of all interpreters */

/* ---- the handler ---- */
/* Not a crash of C: by the rule that held before. A fault repeats itself when the handler returns;
 * what was sent is sent again. */
static void pass_on(int sig, siginfo_t *info, void *machine)
{
    int i = 0;
    while (crashes[i] != sig)
        i++;
    const struct sigaction *old = &before[i];
    if (old->sa_flags & SA_SIGINFO)
        old->sa_sigaction(sig, info, machine);
    else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN)
        old->sa_handler(sig);
    else if (old->sa_handler == SIG_DFL || info->si_code > 0) {
        signal(sig, SIG_DFL);
        if (info->si_code <= 0)
            raise(sig);
    }
}

static void note_crash(Crash *c, int sig, const siginfo_t *info, const ucontext_t *machine)
{
    *c = (Crash){ .signal = sig, .code = info->si_code };
    if (info->si_code > 0 && (sig == SIGSEGV || sig == SIGBUS))
        c->address = info->si_addr;
#ifdef __x86_64__
    const greg_t *r = machine->uc_mcontext.gregs;
    c->sp = (char *)r[REG_RSP];
    if (sig == SIGSEGV || sig == SIGBUS)  /* a page fault's error code: bit 1 write, bit 4 fetch */
        c->access = r[REG_ERR] & 16 ? ACCESS_RUN : r[REG_ERR] & 2 ? ACCESS_WRITE : ACCESS_READ;
#else
    (void)machine;
#endif
}

/* The mask is the one that the thread came with: the handler's own signal is blocked here, and C
 * may have blocked others. */
static _Noreturn void leave(NativeFrame *frame, int sig)
{
    me.inside = NULL;
    pthread_sigmask(SIG_SETMASK, &me.mask, NULL);
    siglongjmp(frame->escape, sig);
}

static void on_crash(int sig, siginfo_t *info, void *machine)
{
    NativeFrame *frame = me.inside;
    if (sig == SIGBUS && info->si_code > 0 && mapping_fault(info->si_addr))
        return;
    bool timer = info->si_code == SI_TIMER, sent = info->si_code <= 0 && !timer;
    if (timer && !frame)
        return;                          /* that of `answers`, too late */
    if (!frame || (sent && info->si_pid != getpid())) {
        pass_on(sig, info, machine);
        return;
    }
    note_crash(&me.crash, sig, info, machine);
    leave(frame, sig);
}

void native_escape(NativeFrame *frame)
{
    leave(frame, SIGINT);
}

const char *native_running(void)
{
    NativeFrame *frame = me.inside;
    return frame && frame->f ? frame->f->name : NULL;
}

void native_abandon(void)
{
    NativeFrame *frame = me.inside;
    if (frame && frame->f)
        native_escape(frame);
}

/* ---- making ready ---- */
static void free_stack(void *stack)
{
    sigaltstack(&(stack_t){ .ss_flags = SS_DISABLE }, NULL);
    munmap(stack, ALT_STACK);
}

static void install(void)
{
    struct sigaction action = { .sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    sigemptyset(&action.sa_mask);
    pthread_key_create(&stack_key, free_stack);
    for (int i = 0; i < CRASHES; i++)
        sigaction(crashes[i], &action, &before[i]);
}

/* A handler needs a stack of its own where C has used up the thread's. */
static __attribute__((noinline)) void make_ready(void)
{
    stack_t stack = { 0 };
    pthread_once(&installed, install);
    pthread_sigmask(SIG_SETMASK, NULL, &me.mask);
    sigaltstack(NULL, &stack);
    if ((stack.ss_flags & SS_DISABLE) || stack.ss_size < (size_t)sysconf(_SC_SIGSTKSZ)) {
        void *at = mmap(NULL, ALT_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                        -1, 0);
        if (at != MAP_FAILED) {
            sigaltstack(&(stack_t){ .ss_sp = at, .ss_size = ALT_STACK }, NULL);
            pthread_setspecific(stack_key, at);
        }
    }
    me.ready = true;
}

/* ---- the floating-point environment ---- */
/* C's rounding mode, traps and flushing of subnormals are its own: what one call sets holds in the
 * next ones and never in our arithmetic, which counts on round to nearest. */
#ifdef __SSE2__
static inline unsigned fp_control(void)
{
    return __builtin_ia32_stmxcsr() & ~0x3fu;        /* without the flags of what happened */
}
#else
static inline unsigned fp_control(void)
{
    return (unsigned)fegetround();
}
#endif

static void fp_restore(unsigned control)
{
    fesetenv(FE_DFL_ENV);
#ifdef __SSE2__
    __builtin_ia32_ldmxcsr(control);
#else
    fesetround((int)control);
#endif
}

static __attribute__((noinline)) void fp_keep(fenv_t *c_fp, unsigned ours)
{
    fegetenv(c_fp);
    fp_restore(ours);
}

/* ---- touching memory that only C vouches for ---- */
int native_guard(Interp *in, void (*fn)(void *), void *arg)
{
    NativeFrame frame;
    if (!me.ready)
        make_ready();
    frame.outer = me.inside;
    frame.in = in;
    frame.f = NULL;
    frame.fp = fp_control();
    frame.c_fp_waits = false;
    int sig = sigsetjmp(frame.escape, 0);
    if (sig == 0) {
        me.inside = &frame;
        fn(arg);
    } else {
        fp_restore(frame.fp);        /* the handler ran in a fresh one */
    }
    me.inside = frame.outer;
    return sig;
}

/* ---- what a crash says ---- */
static bool stack_is_full(const Interp *in, const Crash *c)
{
    ptrdiff_t away = c->sp - c->address;
    return c->address && c->address < in->ctx.stack_limit && away > -(1 << 16) && away < 1 << 20;
}

/* What C's recursion touched of the stack, below what is in use, goes back to the system. */
static void give_stack_back(const Interp *in)
{
    enum { PAGE = 4096, IN_USE = 1 << 20 };
    uintptr_t low = ((uintptr_t)in->ctx.stack_limit + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    uintptr_t high = ((uintptr_t)__builtin_frame_address(0) - IN_USE) & ~(uintptr_t)(PAGE - 1);
    if (low < high)
        madvise((void *)low, high - low, MADV_DONTNEED);
}

static void memory_text(const Interp *in, const Crash *c, char *out, size_t cap)
{
    static const char *const null[] = { "used", "read through", "wrote through", "called" };
    static const char *const other[] = { "used", "read from", "wrote to", "called" };
    if (stack_is_full(in, c))
        snprintf(out, cap, "it used up the stack: a recursion without end, or a large array there");
    else if (c->code <= 0)
        snprintf(out, cap, "it raised the signal itself");
    else if (c->signal == SIGSEGV && c->code != SEGV_MAPERR && c->code != SEGV_ACCERR)
        snprintf(out, cap, "it used an address that cannot be, or is not aligned");
    else if (!c->address)
        snprintf(out, cap, "it %s a null pointer", null[c->access]);
    else
        snprintf(out, cap, "it %s address %p%s", other[c->access], (void *)c->address,
                 c->address < (char *)4096 ? ", close to a null pointer" :
                 c->code == SEGV_ACCERR ? ", where that is not allowed" : ", where nothing is");
}

static const char *crash_text(const Interp *in, const Crash *c, char *out, size_t cap)
{
    const char *said = "it raised the signal itself";
    switch (c->signal) {
    case SIGSEGV: case SIGBUS:
        memory_text(in, c, out, cap);
        return out;
    case SIGFPE:
        if (c->code > 0)
            said = c->code == FPE_INTDIV || c->code == FPE_INTOVF
                       ? "it divided an integer by zero, or the quotient has no room"
                       : "a floating-point exception that it had asked for";
        break;
    case SIGILL:
        if (c->code > 0)
            said = "it met an instruction that the processor does not have, or a compiler's trap";
        break;
    default:
        said = "it called abort(), as a failed assertion or a damaged heap does";
    }
    snprintf(out, cap, "%s", said);
    return out;
}

static const char *signal_name(int sig)
{
    switch (sig) {
    case SIGSEGV: return "SIGSEGV";
    case SIGBUS: return "SIGBUS";
    case SIGFPE: return "SIGFPE";
    case SIGILL: return "SIGILL";
    default: return "SIGABRT";
    }
}

static void take_and_free(void *unused)
{
    void *volatile block = aligned_alloc(64, 8192);  /* more than what a thread keeps for itself */
    (void)unused;
    free(block);
}

static void ask_main_arena(void *unused)
{
    (void)unused;
    mallopt(0, 0);                   /* sets nothing, under the lock */
}

/* The allocator notices a damaged heap under its lock, and then keeps it: who asks next waits for
 * ever. So it is asked under a timer, which is a crash like another. */
static bool answers_soon(Interp *in, void (*ask)(void *))
{
    const struct itimerspec patience = { .it_value.tv_nsec = 500000000 };
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGABRT };
    int timer;
    event._sigev_un._tid = gettid();
    if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) < 0)
        return true;
    syscall(SYS_timer_settime, timer, 0, &patience, NULL);
    bool answered = native_guard(in, ask, NULL) == 0;
    syscall(SYS_timer_delete, timer);
    return answered;
}

/* Twice: the process may have been stopped just then. */
static bool answers(Interp *in, void (*ask)(void *))
{
    return answers_soon(in, ask) || answers_soon(in, ask);
}

static _Noreturn void give_up(Interp *in, const char *name)
{
    static const char why[] =
        " crashed inside the allocator, which stays locked: nothing can go on\n";
    struct iovec parts[] = { { (void *)"ricci: ", 7 }, { (void *)name, strlen(name) },
                             { (void *)why, sizeof why - 1 } };
    out_flush(in);
    ssize_t done = writev(STDERR_FILENO, parts, 3);
    (void)done;
    _exit(1);
}

static void flush_quietly(void *unused)
{
    (void)unused;
    if (ftrylockfile(stdout) != 0)       /* another thread's, for ever perhaps */
        return;
    fflush(stdout);
    funlockfile(stdout);
}

static _Noreturn void raise_crash(Interp *in, NativeFrame *frame, int sig)
{
    char text[160];
    Error *e;
    Crash crash = me.crash;
    if (!answers(in, take_and_free))
        give_up(in, frame->f->name);
    bool heap_works = answers(in, ask_main_arena);
    native_guard(in, flush_quietly, NULL);
    if (stack_is_full(in, &crash))
        give_stack_back(in);
    if (sig == SIGINT) {
        *in->ctx.interrupt = 0;
        e = err_new(&in->ctx, ERR_INTERRUPT, "interrupted: %s was left halfway", frame->f->name);
    } else {
        e = err_new(&in->ctx, ERR_FFI, "%s crashed: %s (%s)", frame->f->name,
                    crash_text(in, &crash, text, sizeof text), signal_name(sig));
    }
    err_help(e, "%s: save what you need and start anew",
             heap_works ? "C stopped halfway, so this process may be unsound"
                        : "C's heap is damaged and stays locked, so its next call may hang");
    if (frame->pending) {
        if (frame->pending->kind != ERR_INTERRUPT)
            err_append(e, frame->pending);
        err_free(frame->pending);
    }
    err_throw(e);
}

/* ---- the call ---- */
static _Noreturn void raise_output(Interp *in)
{
    in->out_failed = true;
    output_note_closed(in);
    poll_interrupt(in);
    err_raise(&in->ctx, ERR_IO, "cannot write to standard output: %s", c_strerror(errno));
}

NativeFrame *native_suspend(void)
{
    NativeFrame *frame = me.inside;
    me.inside = NULL;
    if (frame && __builtin_expect(fp_control() != frame->fp, 0)) {
        fp_keep(&frame->c_fp, frame->fp);
        frame->c_fp_waits = true;
    }
    return frame;
}

void native_resume(NativeFrame *frame)
{
    blas_stop_by(NULL);
    if (frame && __builtin_expect(frame->c_fp_waits, 0)) {
        fesetenv(&frame->c_fp);
        frame->c_fp_waits = false;
    }
    me.inside = frame;
}

void native_count_refusal(void)
{
    atomic_fetch_add(&refusals, 1);
}

static inline bool news_of_refusals(const NativeState *state)
{
    return atomic_load_explicit(&refusals, memory_order_relaxed) != state->refusals_seen;
}

static __attribute__((noinline)) void tell_refusals(Interp *in, const NativeFrame *frame)
{
    in->native->refusals_seen = atomic_load(&refusals);
    native_refused(in, frame);
}

/* errno is 0 when C begins, so that afterwards it is what this call said, or 0. */
void native_run(Interp *in, const CFunction *f, void *cif, void *result, void **args)
{
    NativeState *state = native_state(in);
    if (in->out.len)
        out_flush(in);
    if (__builtin_expect(!me.ready, 0))
        make_ready();
    if (__builtin_expect(news_of_refusals(state), 0))
        tell_refusals(in, NULL);
    NativeFrame frame;
    frame.up = state->frame;
    frame.outer = me.inside;
    frame.in = in;
    frame.f = f;
    frame.serial = ++me.calls;
    frame.pending = NULL;
    frame.fp = fp_control();
    frame.c_fp_waits = false;
    int sig = sigsetjmp(frame.escape, 0);
    if (__builtin_expect(sig, 0)) {
        me.inside = frame.outer;
        in->native->frame = frame.up;
        fp_restore(frame.fp);
        progress_show(&in->ctx);
        if (in->native->bool_pins)
            native_pins_bools(in);
        raise_crash(in, &frame, sig);
    }
    state->frame = &frame;
    if (__builtin_expect(me.c_fp_set, 0))
        fesetenv(&me.c_fp);
    progress_hide(&in->ctx);
    blas_stop_by(NULL);
    errno = 0;
    me.inside = &frame;
    ffi_call(cif, f->at, result, args);
    me.inside = frame.outer;
    state->last_errno = errno;
    state->frame = frame.up;
    progress_show(&in->ctx);
    if (__builtin_expect(state->bool_pins, 0))
        native_pins_bools(in);
    bool fp_changed = fp_control() != frame.fp;
    if (__builtin_expect(fp_changed, 0))
        fp_keep(&me.c_fp, frame.fp);
    me.c_fp_set = fp_changed;
    bool written = !__fpending(stdout) || fflush(stdout) == 0;
    if (__builtin_expect(frame.pending != NULL, 0))
        err_throw(frame.pending);
    if (__builtin_expect(!written && !in->out_failed, 0))
        raise_output(in);
    if (__builtin_expect(news_of_refusals(state), 0))
        tell_refusals(in, &frame);
    poll_interrupt(in);
}
