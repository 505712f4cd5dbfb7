/* Devices: where tensors lie and what runs there. A backend is one static table of functions
 * (DeviceOps); a Device is one machine behind it. Tensors know nothing of devices but that a
 * buffer may have a Residence: its copies, and which of them are valid. Only this file's
 * functions allocate on a device, copy, and write those valid bits, and all of it is counted
 * here, so whoever asks (notices, summaries, profile, memory(), tests) reads the same numbers.
 *
 * Which device an operation runs on is the door's business (interp/device/place.h); kernels for
 * devices that run generated source are gpu.h's.
 *
 * Files: device.c (the set, counted memory and copies), device_name.c (names), device_residence.c
 * (tensors on devices), device_cache.c (built kernels on disk), device_sim.c. */
#ifndef RICCI_KERNELS_DEVICE_H
#define RICCI_KERNELS_DEVICE_H

#include "core/base/buf.h"
#include "core/base/ctx.h"
#include "kernels/tensor/tensor.h"

typedef struct Device Device;
struct Nest;
struct Lack;

/* What a backend's function returns; the reason stands in Device.fault. */
typedef enum DevStatus { DEV_OK, DEV_NO_MEMORY, DEV_FAILED, DEV_LACKS } DevStatus;

/* Memory on a device. The handle is the backend's: an address (cuda), a cl_mem (opencl), a
 * Buffer of the host that only the device looks at (sim). */
typedef struct DevMem {
    uint64_t handle;
    size_t bytes;
} DevMem;

/* What memory is made for: a grid of processes deals it out by the tensor's shape. */
typedef struct DevLayout {
    DType dtype;
    int rank;
    const int64_t *shape;
} DevLayout;

/* An argument of a generated kernel: device memory from byte `at` on, or a value of the host. */
typedef struct DevArg {
    const DevMem *mem;           /* NULL: `value` */
    size_t at;
    const void *value;
    size_t bytes;                /* of value */
} DevArg;

typedef struct DevGrid {
    size_t groups[3], local[3];  /* work groups (blocks), work items (threads) in each */
    size_t shared;               /* bytes of local memory, beyond what the source declares */
} DevGrid;

typedef struct DevKernel DevKernel;      /* the backend's */

/* Matrices for the libraries, row-major: element (i, j) of matrix b at
 * at + b*batch + i*ld + j elements, or (transposed) at + b*batch + j*ld + i. */
typedef struct DevMatrix {
    const DevMem *mem;
    int64_t at, ld, batch;
    bool transposed;
} DevMatrix;

/* C = A B, all matrices of one dtype (f64 f32 f16 bf16; the narrow ones accumulate in f32),
 * A m x k, B k x n; `count` of them. */
typedef struct DevGemm {
    DType dtype;
    int64_t m, n, k, count;
    DevMatrix a, b, c;
} DevGemm;

/* LAPACK on a device, f32 and f64, one matrix at a time; n x n but where said. Inputs are
 * overwritten as LAPACK does, row-major conventions are the caller's (see
 * builtins/devices/devices_linalg.c). info is LAPACK's. */
typedef struct DevMath {
    DevStatus (*gemm)(Device *, const DevGemm *);
    /* LU in place (column-major, leading dimension ld), pivots as int32 1-based in `pivots`. */
    DevStatus (*getrf)(Device *, DType, int64_t m, int64_t n, const DevMem *a, int64_t ld,
                       const DevMem *pivots, int *info);
    DevStatus (*getrs)(Device *, DType, bool transposed, int64_t n, int64_t nrhs, const DevMem *a,
                       int64_t lda, const DevMem *pivots, const DevMem *b, int64_t ldb, int *info);
    DevStatus (*potrf)(Device *, DType, bool upper, int64_t n, const DevMem *a,
                       int64_t ld, int *info);
    /* QR: R in the upper triangle, reflectors below, tau; then Q (m x k) in place of them. */
    DevStatus (*geqrf)(Device *, DType, int64_t m, int64_t n, const DevMem *a, int64_t ld,
                       const DevMem *tau, int *info);
    DevStatus (*orgqr)(Device *, DType, int64_t m, int64_t n, int64_t k,
                       const DevMem *a, int64_t ld, const DevMem *tau, int *info);
    /* SVD of m x n with m >= n: s (n), u (m x n), vt (n x n), column-major. */
    DevStatus (*gesvd)(Device *, DType, int64_t m, int64_t n, const DevMem *a, const DevMem *s,
                       const DevMem *u, const DevMem *vt, int *info);
    /* Eigenvalues (ascending) in w, vectors in place of a where `vectors`. */
    DevStatus (*syevd)(Device *, DType, bool vectors, int64_t n, const DevMem *a,
                       const DevMem *w, int *info);
} DevMath;

/* Who has a piece of memory to give back: end(owner), once, on whatever thread. */
typedef struct DevOwner {
    void (*end)(void *owner);
    void *owner;
} DevOwner;

/* What a device needs whose memory other libraries of the process use too (DLPack). */
typedef struct DevLending {
    /* Where it works, as the others name it (cuda: the CUstream): who lends lets it wait. */
    uintptr_t (*queue)(Device *);
    /* What waits in `other` from now on comes after all that was asked for until now. */
    DevStatus (*order)(Device *, uintptr_t other);
    /* Nobody in the process uses it any more. */
    DevStatus (*idle)(Device *);
    /* The memory outlives the device: takes it. No owner: it could not. */
    DevOwner (*part)(Device *, DevMem *);
} DevLending;

/* A backend. Functions never raise: they return a status and leave a sentence in d->fault.
 * put and get are done when they return. launch may run behind; sync waits for all of it. */
typedef struct DeviceOps {
    const char *backend;                             /* "cpu", "sim", "opencl", "cuda" */
    DevStatus (*open)(Device *);                     /* context and queue: before the first use */
    DevStatus (*alloc)(Device *, size_t bytes, DevMem *);
    void (*release)(Device *, DevMem *);
    DevStatus (*put)(Device *, const DevMem *, size_t at, const void *from, size_t bytes);
    DevStatus (*get)(Device *, const DevMem *, size_t at, void *to, size_t bytes);
    DevStatus (*copy)(Device *, const DevMem *to, size_t to_at, const DevMem *from, size_t from_at,
                      size_t bytes);
    DevStatus (*sync)(Device *);
    void (*close)(Device *);                         /* syncs first */
    /* NULL where the device runs no generated source. */
    /* gpu.h caches */
    DevStatus (*build)(Device *, const char *source, const char *entry, DevKernel **);
    void (*drop)(Device *, DevKernel *);
    DevStatus (*launch)(Device *, DevKernel *, const DevGrid *, const DevArg *, int n);
    void (*forget)(Ctx *, Device *);                 /* frees Device.kernels; before close */
    /* t, which lies there with any strides, into `to`, which is contiguous there: this one raises.
     * NULL only where no tensor can be. */
    void (*pack)(Ctx *, Device *, Tensor *to, Tensor *t);
    /* The same, of element list[i] of an axis its element i (NULL: of each i), list by list of an
     * axis. NULL: whoever wants a few elements has all of them brought home. */
    void (*pick)(Ctx *, Device *, Tensor *to, Tensor *t, const int64_t *const *lists);
    const DevLending *lending;                       /* NULL: its memory stays its own */
    /* Of a grid of processes (DEVCAP_GRID) alone, else NULL. Its memory is laid out by shape
     * (in place of alloc), and it runs nests by commands: gpu_takes and gpu_nest ask here.
     * These raise. */
    DevStatus (*alloc_laid)(Device *, const DevLayout *, DevMem *);
    void (*shape)(const Device *, int *p, int *q, int *block);
    void (*rank)(const Device *, int r, char *host, size_t cap, long *pid);   /* it is open */
    /* is it over since it was used? Then device_open starts another */
    void (*renew)(Ctx *, Device *);
    /* ends what device_open started; elements that are there alone come home first */
    void (*give_back)(Ctx *, Device *);
    /* brings counts.between up to date; what its processes hold: all, and the largest of them */
    void (*look)(Ctx *, Device *, uint64_t *all, uint64_t *largest);
    bool (*takes)(const Device *, const struct Nest *, struct Lack *);
    /* an EwTrouble */
    int (*nest)(Ctx *, Device *, const struct Nest *, const int64_t *out_stride, const DevArg *out,
                const DevArg *data);
} DeviceOps;

/* Of grids of processes: the block where none is said, the most processes and the longest block. */
enum { GRID_BLOCK = 64, GRID_RANKS = 1024, GRID_BLOCK_MAX = 4096 };

/* A backend whose driver is looked for when a program speaks of its devices. */
typedef struct DeviceBackend {
    const char *name;            /* as programs name its first device */
    void (*probe)(Ctx *);        /* adds its devices, or an absent one with the reason */
    /* Its devices are grids of processes: not numbered but called, mpi(2, 2), and never `gpu`. The
     * one of that grid, there or absent with the reason. NULL: they are numbered */
    struct Device *(*grid)(Ctx *, int p, int q, int block);
} DeviceBackend;

enum {                          /* Device.caps */
    DEVCAP_SIM = 1,             /* simulated: its time is printed as such */
    DEVCAP_SOURCE = 2,          /* runs generated kernels */
    DEVCAP_CPU = 4,             /* an OpenCL device of type CPU: for testing, never `gpu` */
    DEVCAP_CUDA = 8,            /* its source is CUDA's, else OpenCL's */
    /* no device but a name for one that was not looked for yet: device_name.c */
    DEVCAP_NAME = 16,
    DEVCAP_GRID = 32            /* a grid of processes: commands in place of generated source */
};

/* A simulated device: what it costs. Seconds. */
typedef struct DevModel {
    double bandwidth;           /* of transfers, bytes a second; 0: they cost nothing */
    double latency;             /* of a transfer */
    double launch;              /* of an operation */
    double memory_bandwidth;    /* of its own memory: what an operation reads and writes */
    double flops;               /* a second, of products */
} DevModel;

typedef struct DevCounts {
    uint64_t launches;
    uint64_t up, down;                  /* copies to it, from it */
    uint64_t bytes_up, bytes_down;
    uint64_t between;                   /* bytes that its processes sent each other */
} DevCounts;

struct Device {
    const DeviceOps *ops;
    char name[48];              /* "cpu", "sim.mps", "cuda:0" */
    char title[96];             /* "NVIDIA H200", "pthread-haswell-AMD EPYC" */
    char why[200];              /* not empty: it cannot be used, and why (no full stop) */
    /* what devices() adds: "f32 products in bf16 with f32 accumulation" */
    char note[200];
    char fault[400];            /* what went wrong last */
    int index;                  /* of its backend */
    bool opened;
    unsigned caps;
    uint32_t dtypes;            /* bit 1 << base dtype: what it holds and computes in */
    /* DT_BF16: f32 products are taken in it, accumulated in f32; DT_NONE */
    DType product;
    const char **lacks;         /* names of rows that it has not, NULL at the end; or NULL */
    size_t memory;              /* bytes it has; 0: not known */
    /* most work items in a group, and bytes of memory that a group shares; 0: not known */
    size_t group, local;
    size_t live, peak;
    uint64_t allocations;
    DevModel model;
    DevCounts counts;           /* since the start */
    DevMath math;               /* entries NULL: missing */
    /* libraries that are missing: "no libcusolver: solve, svd run on cpu" */
    char missing[200];
    /* the k-th from now fails (0: never): for tests */
    uint64_t fail_alloc, fail_copy, fail_launch;
    struct GpuCache *kernels;   /* built ones: whose forget is among the ops */
    void *state;                /* the backend's */
    Device *next;               /* in the set */
};

/* All devices of an interpreter: cpu first, then simulated ones, then what was probed. */
typedef struct DeviceSet {
    Device *first, *cpu;
    /* gpu, cuda:1 …: what stands for a device, see device_named */
    Device *names;
    const DeviceBackend *backends;      /* the last is the one that `gpu` likes best */
    int backend_count;
    bool probed;                        /* they were looked for */
    struct Residence *oldest, *newest;  /* buffers with copies on devices, by last use */
    uint64_t clock;
    /* Told of every copy, after it was made. NULL: nobody listens. */
    void (*copied)(Ctx *, const Device *from, const Device *to, size_t bytes, double seconds);
    /* What the program calls a buffer, or NULL: for errors about elements that are lost. */
    const char *(*named)(Ctx *, const Buffer *);
} DeviceSet;

/* ---- the set (device.c) ---- */
/* cpu, sim.mps, sim.tpu; nothing is loaded. The table ends with no name, and stays the caller's. */
void devices_init(Ctx *, const DeviceBackend *);
void devices_free(Ctx *);                               /* finishes, closes and forgets all */
void devices_probe(Ctx *);                              /* all backends, once */
/* The one whose name `name` begins with ("cuda:1"), or NULL. */
const DeviceBackend *device_backend(const DeviceSet *, const char *name);
/* ---- names (device_name.c) ---- */
/* The device that a name means, without probing: what is there already, or a DEVCAP_NAME that
 * stands for it (gpu, cuda, opencl, cuda:1, sim). NULL: no device can have this name. */
Device *device_named(Ctx *, const char *name);
/* What d stands for now: itself, or what its name finds, which probes. NULL: there is none. */
Device *device_real(Ctx *, Device *d);
bool device_same(Ctx *, Device *a, Device *b);          /* `==` */
/* Why d cannot be used, in `out`: a phrase without a full stop. */
const char *device_reason(Ctx *, Device *d, char *out, size_t cap);
/* The names of all devices that can be used: "cpu, sim.mps and opencl:0". */
void device_list(Buf *, Ctx *);
/* The name that `text` may have meant, or NULL: did-you-mean, and what others call it. */
const char *device_closest(Ctx *, const char *text);
/* What a program writes where it wants d: sim.mps, device("cuda:1"). */
const char *device_expression(const Device *d, char *out, size_t cap);

/* "cpu", "sim.mps", "cuda:1"; "cuda" and "opencl" are the first of each, "gpu" the best that
 * counts as one. Probes where the name asks for it. NULL: no such name. A device that
 * is absent is found too, with its `why`. */
Device *device_find(Ctx *, const char *name);
Device *device_add(Ctx *, const DeviceOps *, const char *name);     /* at the end of the set */
/* Under a fence there is one that says so, and true comes back: its driver is left alone. */
bool device_fenced(Ctx *, const DeviceOps *, const char *name);
static inline bool device_absent(const Device *d) { return d->why[0] != '\0'; }
static inline bool device_holds(const Device *d, DType dt) { return d->dtypes >> (dt & 0xff) & 1; }
/* f64, or f32 where it has no f64. */
DType device_widest(const Device *);
/* What it lacked is forgotten; room for n names, all of which the caller writes at once: texts that
 * stay, as those of rows do. */
const char **device_set_lacks(Ctx *, Device *, size_t n);
/* Does the device say that it has not the row of that name? Rows that stand on it:
 * interp/device/place.h. */
bool device_lacks(const Device *, const char *op);
/* Opens it if that was not done. Raises ERR_DEVICE with its reason. */
void device_open(Ctx *, Device *);
/* Raises what a status stands for; `what` was being done: "copying A", "solve". */
void device_check(Ctx *, Device *, DevStatus, const char *what);

/* Counted. alloc raises ERR_MEMORY with what was asked, is used and the limit, after clean
 * copies were dropped; freeing never raises. */
DevMem device_alloc(Ctx *, Device *, size_t bytes);
DevMem device_alloc_laid(Ctx *, Device *, const DevLayout *);
/* The same for memory that is there already: counts it, against the limit. */
void device_take(Ctx *, Device *, size_t bytes);
void device_free(Ctx *, Device *, DevMem *);
void device_put(Ctx *, Device *, const DevMem *, size_t at, const void *from, size_t bytes);
void device_get(Ctx *, Device *, const DevMem *, size_t at, void *to, size_t bytes);
/* Counts a copy home of bytes that the host has as it happens: a number that a simulation gave. */
void device_carry(Ctx *, Device *, size_t bytes);
double device_clock(void);                              /* seconds, monotonic */
/* A simulation is about to run an operation: counts the launch, raises where it is made to fail. */
void device_launch(Ctx *, Device *);
/* A new operation begins: what it uses is not dropped for room until the next one does. */
void device_begin(Ctx *);
void device_sync(Ctx *, Device *);
/* What the model says of an operation that touched `bytes` and made `flops`. */
double device_model_seconds(const Device *, double bytes, double flops);

/* ---- tensors on devices (device_residence.c) ---- */
typedef struct DevCopy {
    Device *device;
    DevMem mem;
    bool valid;
    DevOwner lent;               /* by somebody else, who may write there at any time; or nobody */
    struct DevCopy *next;
} DevCopy;

/* Behind Buffer.device. Either the host's bytes or a copy's are valid, or several, then equal. */
typedef struct Residence {
    const ResidenceOps *ops;    /* first, where tensor.h looks for it */
    Buffer *buffer;
    Device *home;               /* what device(x) says */
    bool host;                  /* the host's bytes are valid */
    /* the host's bytes are a reserved range (core/memory/reserve.h) … */
    bool reserved;
    bool committed;             /* … with memory behind it */
    DevCopy *copies;
    /* the whole buffer in a dtype that devices have, on the host; or NULL */
    Tensor *narrow;
    uint64_t used;
    struct Residence *older, *newer;
} Residence;

/* Ctx.remote, after a buffer that was away, waited or had entries only is gone. */
void devices_remote(Ctx *);
static inline Residence *tensor_residence(const Tensor *t) { return t->buffer->device; }
/* Where x is: cpu where nothing is known. */
Device *tensor_device(Ctx *, const Tensor *);
/* Behind tensor_home. */
void device_bring_home(Ctx *, Buffer *);
/* Would tensor_home copy? */
static inline bool tensor_away(const Tensor *t)
{
    return t->buffer->device && !tensor_residence(t)->host;
}
/* The host's bytes were, or are about to be, written: device copies are stale and go. Home
 * stays. */
void device_stale(Ctx *, Buffer *);
/* The buffer dies. */
void device_forget(Ctx *, Buffer *);
/* A new contiguous tensor whose home is d; contents undefined; no memory of the host. On cpu:
 * tensor_new. */
Tensor *device_tensor_new(Ctx *, Device *, DType, int rank, const int64_t *shape);
/* d's memory of t's whole buffer, with valid contents: copied there if need be, counted. *at:
 * the byte where t's first element lies. */
const DevMem *device_ensure(Ctx *, Device *, Tensor *t, size_t *at);
bool device_has(const Device *, const Tensor *);        /* valid there now? */
/* The device that has its elements, where the host has not; or NULL. */
Device *device_only(const Tensor *);
/* Those elements that the lists of DeviceOps.pick name, as a tensor of that shape at home; d has
 * pick. */
Tensor *device_picked(Ctx *, Device *d, Tensor *, const int64_t *shape,
                      const int64_t *const *lists);
/* t in that dtype, from the host, as tensor_cast has it: kept beside the buffer until that is
 * written, so that an operand of a `narrow` block is cast and copied once. */
Tensor *device_narrowed(Ctx *, Tensor *t, DType);
/* t, which nobody else holds, stands in like's place now, whose home becomes its own: whether a
 * store could write where it was or had to copy is no difference to device(x). */
void device_same_home(Ctx *, Tensor *t, const Tensor *like);
/* tensor_copy, for one that is about to be written in t's place: its home is t's. */
Tensor *device_copy_at_home(Ctx *, Tensor *t);
/* A kernel on d wrote into t's buffer: only d's copy is valid now. */
void device_wrote(Ctx *, Device *, Tensor *);
/* A tensor over somebody else's memory on d, which is read-only: `bytes` from `mem` on, with the
 * first element at byte `at` and those strides (in elements). It takes the owner where it
 * succeeds. */
Tensor *device_borrow(Ctx *, Device *, DType, int rank, const int64_t *shape,
                      const int64_t *strides, DevMem mem, size_t at, DevOwner);
/* The memory of d that t's buffer has is given to somebody who outlives the device. */
DevOwner device_part(Ctx *, Device *, Tensor *t);
/* One element, without moving the rest: `to` gets its bytes. Counted as a copy where it is away. */
void device_get_element(Ctx *, const Tensor *, const char *at, void *to);
/* t on d as its home: a new tensor (contiguous), or t itself (retained) where d is home already. */
Tensor *device_move(Ctx *, Device *, Tensor *);

/* ---- simulated devices (device_sim.c) ---- */
extern const DeviceOps sim_ops;
/* A tensor of the host over the simulation's own memory of t, with t's shape and strides. */
Tensor *sim_shadow(Ctx *, Device *, Tensor *t);
/* `made`, a view of `shadow` that a kernel gave, as a view of `from`, whose shadow that is. */
Tensor *sim_view(Ctx *, const Tensor *made, Tensor *from, const Tensor *shadow);
/* A tensor of the host as one of the device, without a copy where nobody else holds it. Takes
 * it. */
Tensor *sim_take(Ctx *, Device *, Tensor *);
/* Makers of the two that are always there, and of simulate(…). */
void sim_standard(Ctx *);

#endif
