/* The device that a group of processes is: mpi(p, q, block=nb). Its memory is tensors of the group
 * by number, laid out by their shape (DEVCAP_GRID); what runs there are the commands of grid.def.
 * All of these may raise: `device` where a rank is lost or was, `memory` with rank and bytes.
 *
 * Files: mpi_device.c (the backend: probe, memory, copies), mpi_tensor.c (commands), mpi_nest.c
 * (nests as commands). */
#ifndef RICCI_KERNELS_MPI_DEVICE_H
#define RICCI_KERNELS_MPI_DEVICE_H

#include "kernels/device/device.h"
#include "kernels/elementwise/ew.h"
#include "kernels/grid/grid.h"
#include "kernels/mpi/group.h"

/* Behind DevMem.handle. */
typedef struct MpiTensor {
    uint64_t id;                 /* its number with the ranks; of rank 0: none, it is `cell` */
    uint64_t group;              /* MpiState.groups when it was made */
    bool made;                   /* the ranks have it, or may have parts of it */
    DType dtype;
    int rank;
    int64_t shape[TENSOR_RANK_MAX];
    _Alignas(16) char cell[ELEMENT_BYTES_MAX];
    struct MpiTensor *next;     /* of those that the ranks are still to forget */
} MpiTensor;

/* Device.state. */
typedef struct MpiState {
    Ctx *ctx;
    Group *group;                /* NULL: there is none now */
    int p, q, block;
    uint64_t groups, last_id;    /* groups so far, this one included; numbers given */
    char lost[256];              /* why the last one that was lost is gone: "lost rank 3 …" */
    MpiTensor *gone;
    Buf args, *replies;          /* of the command that is made or was answered */
    uint32_t op;
} MpiState;

static inline MpiState *mpi_state(const Device *d) { return d->state; }
static inline MpiTensor *mpi_tensor(const DevMem *m) { return (MpiTensor *)(uintptr_t)m->handle; }

extern const DeviceOps mpi_ops;
/* The device of that grid, there or absent with the reason; made where there is none yet. */
Device *mpi_device(Ctx *, int p, int q, int block);
/* Ends the group; elements that are there alone come home first. */
void mpi_release(Ctx *, Device *);
/* Is its group over since the last command? Then the next use of the device starts another. */
void mpi_renew(Ctx *, Device *);
/* Brings Device.counts.between up to date; the bytes that ranks hold: of all, and of the
 * largest. */
void mpi_look(Ctx *, Device *, uint64_t *all, uint64_t *largest);

/* ---- a command (mpi_tensor.c): begin, arguments by wire_…, send; the answer of rank 0 ---- */
Buf *mpi_begin(Ctx *, Device *, GridOp);
Wire mpi_send(Ctx *, Device *);
/* The largest of the numbers that the ranks' last answers begin with: trouble, what does not
 * fit. */
uint64_t mpi_worst(Ctx *, Device *);
Wire mpi_send_pieces(Ctx *, Device *, const GroupPieces *);
/* Its group is over: of what the host has too, there is no copy there any more. */
void mpi_copies_over(Ctx *, Device *);
/* Group.losses, of a device's group. */
void mpi_losses(Ctx *, void *device, Buf *out);
/* Arguments: a tensor that is to be made, or written; one that is there. */
void mpi_put_new(Ctx *, Device *, Buf *, MpiTensor *);
void mpi_put_id(Ctx *, Device *, Buf *, const MpiTensor *);
void mpi_put_ints(Buf *, const int64_t *, int n);
void mpi_put_cell(Buf *, DType, const void *cell);
void mpi_get_cell(Wire *, DType *, void *cell);          /* dtype, 16 bytes */

/* A view of a dense row-major tensor, in elements; lists: of axes that have one, else NULL. */
typedef struct MpiView {
    int rank;
    const int64_t *shape, *strides;
    int64_t at;
    const int64_t *list[TENSOR_RANK_MAX];
} MpiView;

void mpi_pack(Ctx *, Device *, MpiTensor *to, const MpiTensor *from, const MpiView *);
void mpi_assign(Ctx *, Device *, MpiTensor *to, const MpiView *, const MpiTensor *from);
void mpi_fill(Ctx *, Device *, MpiTensor *, const void *cell);
void mpi_element(Ctx *, Device *, const MpiTensor *, int64_t index, void *to);

typedef struct MpiOperand {
    const MpiTensor *tensor;    /* NULL: a number */
    DType dtype;
    const void *cell;
} MpiOperand;

EwTrouble mpi_ew(Ctx *, Device *, EwOp, DType compute, MpiTensor *to, const MpiOperand *, int n);
/* False: some element does not fit. */
bool mpi_cast(Ctx *, Device *, MpiTensor *to, const MpiTensor *from);
/* RedOp over the axes of a mask; `to` of rank 0: all of them, the number is its cell. False: an int
 * left i64. */
bool mpi_reduce(Ctx *, Device *, MpiTensor *to, const MpiTensor *from, int op, uint64_t axes,
                double ddof);
/* 0 as it is, 1 transposed. */
void mpi_gemm(Ctx *, Device *, MpiTensor *to, const MpiTensor *a, int ta, const MpiTensor *b,
              int tb);

/* DeviceOps.takes and nest. */
bool mpi_takes(const Device *, const struct Nest *, struct Lack *);
int mpi_nest(Ctx *, Device *, const struct Nest *, const int64_t *out_stride, const DevArg *out,
             const DevArg *data);

#endif
