/* Which OpenCL devices are there, what they hold, and why one cannot be used. Called once, when a
 * program first speaks of devices. Nothing is created on a device here. */
#include "kernels/opencl/opencl.h"
#include "kernels/opencl/opencl_probe.h"

#include "core/system/child.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- questions to a device ---- */
/* Empty where the driver does not answer; blanks around it are cut off (some pad their names). */
void opencl_text(const OpenCl *cl, cl_device_id device, cl_uint what, char *out, size_t cap)
{
    char text[1024] = "";
    size_t bytes = 0;
    if (cl->clGetDeviceInfo(device, what, sizeof text - 1, text, &bytes) != CL_SUCCESS)
        text[0] = '\0';
    const char *from = text + strspn(text, " \t");
    size_t n = strlen(from);
    while (n && strchr(" \t\n", from[n - 1]))
        n--;
    snprintf(out, cap, "%.*s", (int)n, from);
}

/* A number of 4 bytes (cl_uint, cl_bool) or 8 (cl_ulong, size_t): the driver says which. */
cl_ulong opencl_number(const OpenCl *cl, cl_device_id device, cl_uint what)
{
    union { cl_ulong wide; cl_uint narrow; } number = { 0 };
    size_t bytes = 0;
    if (cl->clGetDeviceInfo(device, what, sizeof number, &number, &bytes) != CL_SUCCESS)
        return 0;
    return bytes == sizeof number.narrow ? number.narrow : number.wide;
}

/* The list of extensions has no bound that a caller could know. */
static bool opencl_has(const OpenCl *cl, cl_device_id device, const char *extension)
{
    char list[16384] = " ";
    size_t bytes = 0;
    if (cl->clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof list - 3, list + 1, &bytes))
        return false;
    char name[64];
    strcat(list, " ");
    snprintf(name, sizeof name, " %s ", extension);
    return strstr(list, name) != NULL;
}

/* ---- signals ---- */
void opencl_signals_keep(ClSignals *s)
{
    sigset_t every;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &s->mask);
    sigaltstack(NULL, &s->stack);
    for (int i = 1; i < NSIG; i++)
        if (sigaction(i, NULL, &s->action[i]))
            s->action[i].sa_handler = SIG_ERR;      /* the C library's own */
}

void opencl_signals_restore(const ClSignals *s)
{
    for (int i = 1; i < NSIG; i++)
        if (s->action[i].sa_handler != SIG_ERR && i != SIGFPE && i != SIGKILL && i != SIGSTOP)
            sigaction(i, &s->action[i], NULL);
    sigaltstack(&s->stack, NULL);
    pthread_sigmask(SIG_SETMASK, &s->mask, NULL);
}

/* ---- the list ---- */
typedef struct Found {
    cl_platform_id *platforms;
    cl_device_id *devices;
    int count, max;
} Found;

/* Those of one platform: processors, or all else. */
static void list_platform(const OpenCl *cl, cl_platform_id platform, bool processors, Found *f)
{
    cl_device_id here[CL_DEVICES_MAX];
    cl_uint n = 0;
    if (cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, CL_DEVICES_MAX, here, &n) != CL_SUCCESS)
        return;
    for (cl_uint i = 0; i < n && i < CL_DEVICES_MAX && f->count < f->max; i++) {
        bool processor = opencl_number(cl, here[i], CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU;
        if (processor != processors)
            continue;
        f->platforms[f->count] = platform;
        f->devices[f->count++] = here[i];
    }
}

/* This process ends then, whatever the one that made it does with the signal. */
static void end_after(unsigned seconds)
{
    sigset_t it;
    signal(SIGALRM, SIG_DFL);
    sigemptyset(&it);
    sigaddset(&it, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &it, NULL);
    alarm(seconds);
}

/* One interpreter of the process looks at a time: a child that is made while another thread is
 * inside the loader finds its lock taken for ever. */
static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;

/* Drivers may end the process instead of failing (PoCL does where it cannot read the machine's
 * memory under /sys), or never come back. So a child looks first: false, if it did not live through
 * it within a minute. */
static bool child_survives(const OpenCl *cl)
{
    int status = 0;
    pid_t child = child_fork();
    if (child == 0) {
        cl_platform_id all[CL_DEVICES_MAX];
        cl_device_id here[CL_DEVICES_MAX];
        cl_uint n = 0, k = 0;
        int null = open("/dev/null", O_WRONLY);
        dup2(null, 1);
        dup2(null, 2);
        signal(SIGABRT, SIG_DFL);
        end_after(60);
        if (cl->clGetPlatformIDs(CL_DEVICES_MAX, all, &n) == CL_SUCCESS)
            for (cl_uint p = 0; p < n && p < CL_DEVICES_MAX; p++)
                cl->clGetDeviceIDs(all[p], CL_DEVICE_TYPE_ALL, CL_DEVICES_MAX, here, &k);
        _exit(0);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return child < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* What one child found out holds for the process. */
static bool survives(const OpenCl *cl)
{
    static enum { UNKNOWN, LIVES, DIES } known;
    if (known == UNKNOWN)
        known = child_survives(cl) ? LIVES : DIES;
    return known == LIVES;
}

/* `opencl` is the first of them: an accelerator where there is one. */
int opencl_list(const OpenCl *cl, cl_platform_id *platforms, cl_device_id *devices, int max,
                cl_int *code)
{
    Found f = { platforms, devices, 0, max };
    cl_platform_id all[CL_DEVICES_MAX];
    cl_uint n = 0;
    ClSignals signals;
    opencl_signals_keep(&signals);
    *code = cl->clGetPlatformIDs(CL_DEVICES_MAX, all, &n);
    if (*code == CL_SUCCESS && n == 0)
        *code = CL_PLATFORM_NOT_FOUND_KHR;
    for (int pass = 0; *code == CL_SUCCESS && pass < 2; pass++)
        for (cl_uint p = 0; p < n && p < CL_DEVICES_MAX; p++)
            list_platform(cl, all[p], pass == 1, &f);
    opencl_signals_restore(&signals);
    return f.count;
}

/* ---- one device ---- */
/* What generated kernels need; NULL: it has all of it. */
static const char *unusable(const OpenCl *cl, cl_device_id device)
{
    char text[96];
    int major = 0, minor = 0;
    if (!opencl_number(cl, device, CL_DEVICE_AVAILABLE))
        return "the driver says that it is not available";
    if (!opencl_number(cl, device, CL_DEVICE_COMPILER_AVAILABLE))
        return "its driver has no compiler for kernels";
    if (!opencl_number(cl, device, CL_DEVICE_ENDIAN_LITTLE))
        return "it stores the high byte first";
    opencl_text(cl, device, CL_DEVICE_PROFILE, text, sizeof text);
    if (strcmp(text, "FULL_PROFILE") != 0)
        return "it has OpenCL's embedded profile only";
    opencl_text(cl, device, CL_DEVICE_VERSION, text, sizeof text);
    if (sscanf(text, "OpenCL %d.%d", &major, &minor) != 2 || major * 10 + minor < 12)
        return "it is older than OpenCL 1.2";
    return NULL;
}

static void add_device(Ctx *ctx, const OpenCl *cl, cl_device_id device, int index)
{
    char name[24];
    snprintf(name, sizeof name, "opencl:%d", index);
    Device *d = device_add(ctx, &opencl_ops, name);
    d->state = ctx;
    d->index = index;
    d->caps = DEVCAP_SOURCE;
    opencl_text(cl, device, CL_DEVICE_NAME, d->title, sizeof d->title);
    const char *why = unusable(cl, device);
    if (why) {
        snprintf(d->why, sizeof d->why, "%s", why);
        return;
    }
    if (opencl_number(cl, device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) {
        d->caps |= DEVCAP_CPU;
        snprintf(d->note, sizeof d->note, "runs on the processor, for testing: never `gpu`");
    }
    d->memory = opencl_number(cl, device, CL_DEVICE_GLOBAL_MEM_SIZE);
    d->group = opencl_number(cl, device, CL_DEVICE_MAX_WORK_GROUP_SIZE);
    d->local = opencl_number(cl, device, CL_DEVICE_LOCAL_MEM_SIZE);
    d->dtypes = dtype_device_mask(opencl_has(cl, device, "cl_khr_fp64"));
    if (clblast_open())
        d->math.gemm = opencl_gemm;
    else
        snprintf(d->missing, sizeof d->missing,
                 "no libclblast.so.1 (Debian: libclblast1): products "
                 "run in a kernel of Ricci's own");
}

static void add_absent(Ctx *ctx, const char *why)
{
    Device *d = device_add(ctx, &opencl_ops, "opencl");
    snprintf(d->why, sizeof d->why, "%s", why);
}

void opencl_probe(Ctx *ctx)
{
    const char *why;
    if (device_fenced(ctx, &opencl_ops, "opencl"))
        return;
    const OpenCl *cl = opencl_open(&why);
    cl_platform_id platforms[CL_DEVICES_MAX];
    cl_device_id devices[CL_DEVICES_MAX];
    if (!cl) {
        add_absent(ctx, why);
        return;
    }
    pthread_mutex_lock(&looking);
    bool lives = survives(cl);
    cl_int code = CL_SUCCESS;
    int count = lives ? opencl_list(cl, platforms, devices, CL_DEVICES_MAX, &code) : 0;
    pthread_mutex_unlock(&looking);
    if (!lives) {
        add_absent(ctx, "its driver ends the process that looks for devices (PoCL does so without "
                        "/sys)");
        return;
    }
    for (int i = 0; i < count; i++)
        add_device(ctx, cl, devices[i], i);
    if (count == 0 && (code == CL_SUCCESS || code == CL_PLATFORM_NOT_FOUND_KHR))
        add_absent(ctx, code ? "no OpenCL platform found (Debian: pocl-opencl-icd)"
                             : "the OpenCL platforms that are installed have no device");
    else if (count == 0)
        add_absent(ctx, opencl_error(code));
}
