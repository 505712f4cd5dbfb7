/* The elements of a .npy file, each rank its own: by pread and pwrite where they stand. The header
 * is the session's. */
#include "kernels/grid/grid_rank.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct File {
    GridRank *g;
    GridTensor *t;
    int fd;
    bool write, fortran, swap;
    int64_t offset;
    char *line;                  /* elements that stand one behind another in the file */
    int error;                   /* errno; -1: the file ends too early */
} File;

static void swap_bytes(const GridTensor *t, char *x, int64_t n)
{
    size_t bytes = dtype_info(dtype_real(t->dtype))->bytes;
    for (size_t at = 0, all = (size_t)n * grid_bytes(t); at < all; at += bytes)
        for (size_t k = 0; k < bytes / 2; k++) {
            char c = x[at + k];
            x[at + k] = x[at + bytes - 1 - k];
            x[at + bytes - 1 - k] = c;
        }
}

static void transfer(File *f, int64_t from, int64_t n)
{
    size_t bytes = (size_t)n * grid_bytes(f->t), done = 0;
    int64_t at = f->offset + from * (int64_t)grid_bytes(f->t);
    while (done < bytes && !f->error) {
        ssize_t some = f->write ? pwrite(f->fd, f->line + done, bytes - done, at + (int64_t)done)
                                : pread(f->fd, f->line + done, bytes - done, at + (int64_t)done);
        if (some < 0 && errno != EINTR)
            f->error = errno;
        else if (some == 0)
            f->error = -1;
        else if (some > 0)
            done += (size_t)some;
    }
}

/* n pieces of `inner` elements, `step` pieces apart in the slab, which stand together in the file.
 * */
static void line(File *f, int64_t from, int64_t n, int64_t at, int64_t step)
{
    size_t piece = (size_t)f->t->slab.inner * grid_bytes(f->t);
    char *slab = grid_data(f->t) + (size_t)at * piece;
    for (int64_t k = 0; f->write && k < n; k++)
        memcpy(f->line + (size_t)k * piece, slab + (size_t)(k * step) * piece, piece);
    transfer(f, from * f->t->slab.inner, n * f->t->slab.inner);
    if (!f->write && f->swap)
        swap_bytes(f->t, f->line, n * f->t->slab.inner);
    for (int64_t k = 0; !f->write && k < n; k++)
        memcpy(slab + (size_t)(k * step) * piece, f->line + (size_t)k * piece, piece);
}

static int64_t block_of(const GridRank *g, int procs, int64_t i, int64_t n)
{
    int64_t left = procs == 1 ? n - i : g->grid.nb - i % g->grid.nb;
    return left < n - i ? left : n - i;
}

static void by_rows(File *f)
{
    const GridSlab *s = &f->t->slab;
    int64_t wide = f->t->axes > 1 ? f->t->shape[1] : 1, some;
    for (int64_t i = 0; i < s->rows && !f->error; i++)
        for (int64_t j = 0; j < s->cols && !f->error; j += some) {
            some = block_of(f->g, f->g->grid.q, j, s->cols);
            line(f, grid_row(f->g, i) * wide + grid_col(f->g, j), some, i + j * s->rows, s->rows);
        }
}

static void by_columns(File *f)
{
    const GridSlab *s = &f->t->slab;
    int64_t tall = f->t->shape[0], some;
    for (int64_t j = 0; j < s->cols && !f->error; j++)
        for (int64_t i = 0; i < s->rows && !f->error; i += some) {
            some = block_of(f->g, f->g->grid.p, i, s->rows);
            line(f, grid_col(f->g, j) * tall + grid_row(f->g, i), some, i + j * s->rows, 1);
        }
}

static void transfer_all(File *f, const char *path, Buf *out)
{
    const GridSlab *s = &f->t->slab;
    int64_t most = s->rows > s->cols ? s->rows : s->cols;
    f->line = grid_work(f->g, (size_t)(most * s->inner) + 1, grid_bytes(f->t));
    grid_need(f->g);
    f->fd = s->size ? open(path, (f->write ? O_WRONLY : O_RDONLY) | O_CLOEXEC) : -1;
    if (s->size && f->fd < 0)
        f->error = errno;
    if (f->fd >= 0) {
        bool columns = f->fortran || f->t->axes == 1 || (f->t->axes == 2 && f->t->shape[1] == 1);
        (columns ? by_columns : by_rows)(f);
        if (close(f->fd) != 0 && !f->error)
            f->error = errno;
    }
    wire_u64(out, f->error < 0 ? EIO : (uint64_t)f->error);
    wire_u64(out, f->error < 0);
}

void grid_do_save(GridRank *g, Wire *in, Buf *out)
{
    const char *path = wire_get_text(in);
    File f = { .g = g, .t = grid_find(g, wire_get_u64(in)), .write = true };
    f.offset = (int64_t)wire_get_u64(in);
    f.fortran = wire_get_u64(in) && f.t->axes == 2;
    transfer_all(&f, path, out);
}

void grid_do_load(GridRank *g, Wire *in, Buf *out)
{
    int64_t shape[TENSOR_RANK_MAX];
    File f = { .g = g };
    uint64_t id = wire_get_u64(in);
    DType dt = grid_read_dtype(g, in);
    int axes = grid_read_shape(g, in, shape);
    const char *path = wire_get_text(in);
    f.offset = (int64_t)wire_get_u64(in);
    f.fortran = wire_get_u64(in) && axes == 2;
    f.swap = wire_get_u64(in) != 0;
    f.t = grid_tensor(g, dt, axes, shape, false);
    grid_need(g);
    transfer_all(&f, path, out);
    if (!f.error)
        grid_keep(g, id, f.t);
}

void grid_do_see(GridRank *g, Wire *in, Buf *out)
{
    struct stat st = { 0 };
    (void)g;
    bool there = stat(wire_get_text(in), &st) == 0;
    wire_u64(out, there ? 0 : (uint64_t)errno);
    wire_u64(out, (uint64_t)st.st_ino);
    wire_u64(out, (uint64_t)st.st_size);
}
