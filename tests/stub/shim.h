/* CUDA C++ of generated kernels for the host's compiler: a block's threads run one after another,
 * each on a stack of its own, to the next barrier; blocks one after another. For nvrtc.c. */
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <utility>
#include <ucontext.h>
using namespace std;

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __restrict__
#define __launch_bounds__(...)
#define __shared__ static

struct dim { unsigned x, y, z; };
static dim threadIdx, blockIdx, blockDim, gridDim;

static inline unsigned __float_as_uint(float f) { unsigned u; memcpy(&u, &f, 4); return u; }
static inline float __uint_as_float(unsigned u) { float f; memcpy(&f, &u, 4); return f; }
static inline int __float_as_int(float f) { int u; memcpy(&u, &f, 4); return u; }
static inline float __int_as_float(int u) { float f; memcpy(&f, &u, 4); return f; }
static inline long long __double_as_longlong(double f) { long long u; memcpy(&u, &f, 8); return u; }
static inline double __longlong_as_double(long long u) { double f; memcpy(&f, &u, 8); return f; }
template <class T> static T atomicMax(T *at, T v) { T old = *at; *at = old > v ? old : v; return old; }
template <class T> static T atomicAdd(T *at, T v) { T old = *at; *at = old + v; return old; }
template <class T> static T atomicOr(T *at, T v) { T old = *at; *at = old | v; return old; }
template <class T> static T min(T a, unsigned long b) { return a < (T)b ? a : (T)b; }

/* What the device does by one instruction. */
static inline float shim_f16_value(unsigned short h) { _Float16 v; memcpy(&v, &h, 2); return (float)v; }
static inline unsigned short shim_f16_bits(float f)
{
    _Float16 v = (_Float16)f;
    unsigned short h;
    memcpy(&h, &v, 2);
    return h;
}

/* ---- threads of a block ---- */
enum { SHIM_STACK = 64 << 10, SHIM_THREADS = 1024 };
static ucontext_t shim_main, shim_thread[SHIM_THREADS];
static char *shim_stacks;
static unsigned shim_at, shim_left;
static bool shim_done[SHIM_THREADS];
static void (*shim_body)(void *);
static void *shim_data;

static void shim_place(unsigned t)
{
    shim_at = t;
    threadIdx = { t % blockDim.x, t / blockDim.x % blockDim.y, t / blockDim.x / blockDim.y };
}

static void shim_start()
{
    shim_body(shim_data);
    shim_done[shim_at] = true;
    shim_left--;
    swapcontext(&shim_thread[shim_at], &shim_main);
}

static bool shim_fibers;
static void __syncthreads()
{
    if (!shim_fibers)
        abort();
    swapcontext(&shim_thread[shim_at], &shim_main);
}

static void shim_block(unsigned threads)
{
    if (!shim_stacks)
        shim_stacks = (char *)malloc((size_t)SHIM_STACK * SHIM_THREADS);
    for (unsigned t = 0; t < threads; t++) {
        getcontext(&shim_thread[t]);
        shim_thread[t].uc_stack.ss_sp = shim_stacks + (size_t)t * SHIM_STACK;
        shim_thread[t].uc_stack.ss_size = SHIM_STACK;
        shim_thread[t].uc_link = &shim_main;
        makecontext(&shim_thread[t], shim_start, 0);
        shim_done[t] = false;
    }
    for (shim_left = threads; shim_left;)
        for (unsigned t = 0; t < threads; t++)
            if (!shim_done[t]) {
                shim_place(t);
                swapcontext(&shim_main, &shim_thread[t]);
            }
}

template <class... A, size_t... I> static void shim_call(void (*kernel)(A...), void **p, index_sequence<I...>)
{
    kernel(*(A *)p[I]...);
}

template <class... A> struct ShimCall {
    void (*kernel)(A...);
    void **p;
    static void run(void *data)
    {
        ShimCall *c = (ShimCall *)data;
        shim_call(c->kernel, c->p, index_sequence_for<A...>());
    }
};

template <class... A> static void shim_run(void (*kernel)(A...), void **p, const unsigned *g, const unsigned *b)
{
    ShimCall<A...> c = { kernel, p };
    gridDim = { g[0], g[1], g[2] };
    blockDim = { b[0], b[1], b[2] };
    shim_body = ShimCall<A...>::run;
    shim_data = &c;
    shim_fibers = SHIM_BARRIERS;
    for (unsigned z = 0; z < g[2]; z++)
        for (unsigned y = 0; y < g[1]; y++)
            for (unsigned x = 0; x < g[0]; x++) {
                blockIdx = { x, y, z };
                if (shim_fibers)
                    shim_block(b[0] * b[1] * b[2]);
                else
                    for (unsigned t = 0; t < b[0] * b[1] * b[2]; t++) {
                        shim_place(t);
                        shim_body(shim_data);
                    }
            }
}
