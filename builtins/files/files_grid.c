/* .npy files and grids of processes: each rank reads and writes its own elements where they stand
 * in the file, if all of them see the file that the session sees. Nothing goes through the session
 * but the header. */
#include "builtins/stored/files.h"
#include "builtins/mpi/grid.h"

#include "core/system/c_locale.h"
#include "interp/output/output.h"
#include "interp/precision/precise.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Absolute: ranks elsewhere need not stand in the session's folder. */
static bool all_see(OpCall *c, Device *d, const char *path, char full[PATH_MAX])
{
    Ctx *ctx = &c->in->ctx;
    struct stat st;
    const MpiState *s = mpi_state(d);
    bool all = realpath(path, full) && stat(full, &st) == 0;
    if (!all)
        return false;
    wire_text(mpi_begin(ctx, d, GRID_SEE), full);
    mpi_send(ctx, d);
    for (int r = 0; r < s->p * s->q; r++) {
        Wire w = wire_from(ctx, &s->replies[r]);
        all &= wire_get_u64(&w) == 0;
        all &= wire_get_u64(&w) == (uint64_t)st.st_ino;
        all &= wire_get_u64(&w) == (uint64_t)st.st_size;
    }
    return all;
}

static void tell_unseen(OpCall *c, const Device *d, const char *path, const char *does)
{
    if (!c->in->place || !c->in->place->quiet)
        notice(c->in, "not all ranks of %s see %s: the session %s it", d->name, path, does);
}

/* What ranks answer to LOAD and SAVE: 0, errno, or -1: the file ends too early. */
static int trouble(Ctx *ctx, Device *d)
{
    int why = 0;
    for (int r = 0; r < mpi_state(d)->p * mpi_state(d)->q && !why; r++) {
        Wire w = wire_from(ctx, &mpi_state(d)->replies[r]);
        why = (int)wire_get_u64(&w);
        if (wire_get_u64(&w))
            why = -1;
    }
    return why;
}

static void count(OpCall *c, Device *d, Tensor *t, double start)
{
    place_ran(c->in, &(PlaceRun){ .name = c->op->name, .op = c->op, .device = d,
                                  .dtype = (DType)t->dtype, .bytes = v_bytes(v_tensor_raw(t)),
                                  .seconds = device_clock() - start });
}

/* The same elements, the last axis first. */
static Tensor *turned(OpCall *c, Tensor *t)
{
    int64_t shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX];
    for (int a = 0; a < t->rank; a++) {
        shape[a] = tensor_shape(t)[t->rank - 1 - a];
        strides[a] = tensor_strides(t)[t->rank - 1 - a];
    }
    return op_keep(c, tensor_view(&c->in->ctx, t, t->rank, shape, strides, t->data));
}

/* ---- load ---- */
/* A file has 1 byte for a bool; what is not 0 is true. */
static void load_bools(Ctx *ctx, Device *d, MpiTensor *to, const MpiTensor *bytes)
{
    static const _Alignas(16) char zero[ELEMENT_BYTES_MAX];
    const MpiOperand x[] = { { .tensor = bytes }, { .dtype = DT_U8, .cell = zero } };
    mpi_ew(ctx, d, EW_NOT_EQUAL, DT_U8, to, x, 2);
}

static int load_into(OpCall *c, Device *d, Tensor *t, const NpyForm *f, const char *full)
{
    Ctx *ctx = &c->in->ctx;
    MpiTensor *g = grid_made(c, d, t);
    Buf *b = mpi_begin(ctx, d, GRID_LOAD);
    mpi_put_new(ctx, d, b, g);
    wire_u64(b, t->dtype);
    mpi_put_ints(b, tensor_shape(t), t->rank);
    wire_text(b, full);
    wire_u64(b, (uint64_t)f->at);
    wire_u64(b, false);
    wire_u64(b, f->stored.swapped);
    mpi_send(ctx, d);
    return trouble(ctx, d);
}

/* A Fortran file has the last axis first: a view of what it holds, as on the host. */
Tensor *npy_grid_load(const Bytes *file)
{
    OpCall *c = file->call;
    const DeviceBlock *p = c->in->place;
    Device *d = p && !p->running ? p->device : NULL;
    DType dt;
    char full[PATH_MAX];
    double start = device_clock();
    if (!d || !(d->caps & DEVCAP_GRID) || precise_scope(c->in) || !file->whole)
        return NULL;
    NpyForm f = npy_form(file);
    if (!f.rank || !shape_size(f.rank, f.shape) || !stored_plainly(f.stored, &dt) ||
        !device_holds(d, dt))
        return NULL;
    if (!all_see(c, d, file->path, full)) {
        tell_unseen(c, d, file->path, "reads");
        return NULL;
    }
    bool back = f.fortran && f.rank > 1;
    for (int a = 0; back && a < f.rank / 2; a++) {
        int64_t n = f.shape[a];
        f.shape[a] = f.shape[f.rank - 1 - a];
        f.shape[f.rank - 1 - a] = n;
    }
    Tensor *t = place_new(c->in, d, dt == DT_BOOL ? DT_U8 : dt, f.rank, f.shape);
    int why = load_into(c, d, t, &f, full);
    if (why < 0)
        file_error(c, file->path, "the file became shorter while it was read");
    if (why)
        file_error(c, file->path, "%s", c_strerror(why));
    if (dt == DT_BOOL) {
        Tensor *bytes = t;
        t = place_new(c->in, d, dt, f.rank, f.shape);
        load_bools(&c->in->ctx, d, grid_made(c, d, t), grid_made(c, d, bytes));
    }
    count(c, d, t, start);
    return back ? turned(c, t) : t;
}

/* ---- save ---- */
typedef struct Saving {
    Device *d;
    const MpiTensor *g;
    uint64_t at;
    bool unseen;
} Saving;

static int save_from(OpCall *c, const char *name, void *with)
{
    Ctx *ctx = &c->in->ctx;
    Saving *s = with;
    char full[PATH_MAX];
    if (!all_see(c, s->d, name, full)) {
        s->unseen = true;
        return FILE_DECLINED;
    }
    Buf *b = mpi_begin(ctx, s->d, GRID_SAVE);
    wire_text(b, full);
    mpi_put_id(ctx, s->d, b, s->g);
    wire_u64(b, s->at);
    wire_u64(b, false);
    mpi_send(ctx, s->d);
    int why = trouble(ctx, s->d);
    return why < 0 ? EIO : why;
}

bool npy_grid_save(OpCall *c, const char *path, Tensor *t, const char *as)
{
    tensor_settle(&c->in->ctx, t);
    Device *d = t->rank && t->size ? device_only(t) : NULL;
    Stored stored;
    double start = device_clock();
    if (!d || !(d->caps & DEVCAP_GRID) || (as && dtype_find(as, strlen(as)) != (DType)t->dtype) ||
        !dtype_stored((DType)t->dtype, &stored))
        return false;
    bool fortran = column_order(t);
    Tensor *x = fortran ? turned(c, t) : t;
    Saving s = { .d = d, .g = grid_operand(c, d, x, (DType)t->dtype) };
    Str **head = file_text(c);
    npy_head(c, head, stored, fortran, t->rank, tensor_shape(t), arg_text(c, 1));
    s.at = (*head)->len;
    FilePart part = { (*head)->text, (*head)->len };
    if (!file_replace_by(c, path, &part, (size_t)t->size * stored.bytes, save_from, &s)) {
        if (s.unseen)
            tell_unseen(c, d, path, "writes");
        return false;
    }
    count(c, d, t, start);
    return true;
}
