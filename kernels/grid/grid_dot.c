/* Inner products of tensors that lie alike. */
#include "kernels/cast/ew_run.h"
#include "kernels/cast/tensor_cast.h"
#include "kernels/grid/grid_rank.h"
#include "kernels/lapack/lapack.h"
#include "kernels/reduce/reduce.h"

#include <string.h>

typedef struct Inner {
    const GridTensor *x, *y;
    bool conj;
    _Alignas(16) char sum[16];
    Tensor *tensors[3];
    bool overflow;
} Inner;

static void inner_slab(GridRank *g, void *with)
{
    Inner *d = with;
    Tensor *x = d->x->local, *y = d->y->local;
    DType dt = d->x->dtype, sum = reduce_result_dtype(RED_SUM, dt);
    d->tensors[0] = tensor_new(g->ctx, dt, x->rank, tensor_shape(x));
    if (d->conj) {
        d->tensors[1] = tensor_new(g->ctx, dt, x->rank, tensor_shape(x));
        ew_run(g->ctx, EW_CONJ, dt, d->tensors[1], &x);
        x = d->tensors[1];
    }
    ew_run(g->ctx, EW_MULTIPLY, dt, d->tensors[0], (Tensor *[]){ x, y });
    d->tensors[2] = tensor_new(g->ctx, sum, 0, NULL);
    d->overflow = !reduce_run(g->ctx, RED_SUM, d->tensors[0],
                              (UINT64_C(1) << d->tensors[0]->rank) - 1, d->tensors[2], NULL);
    memcpy(d->sum, d->tensors[2]->data, dtype_info(sum)->bytes);
}

void grid_do_dot(GridRank *g, Wire *in, Buf *out)
{
    Inner d = { .x = grid_find(g, wire_get_u64(in)) };
    d.y = grid_find(g, wire_get_u64(in));
    d.conj = wire_get_u64(in) && dtype_info(d.x->dtype)->kind == 'c';
    if (d.x->dtype != d.y->dtype || blas_type(d.x->dtype) == BLAS_TYPES ||
        d.x->axes != d.y->axes ||
        memcmp(d.x->shape, d.y->shape, (size_t)d.x->axes * sizeof *d.x->shape) != 0)
        err_raise(g->ctx, ERR_DEVICE, "an inner product of tensors that differ");
    grid_try(g, inner_slab, &d);
    for (int k = 0; k < 3; k++)
        if (d.tensors[k])
            tensor_release(g->ctx, d.tensors[k]);
    grid_agree(g);
    double _Complex part = element_c128(d.x->dtype, d.sum), all;
    double re = grid_sum(g, SCOPE_ALL, creal(part)), im = cimag(part);
    if (dtype_info(d.x->dtype)->kind == 'c')
        im = grid_sum(g, SCOPE_ALL, im);
    all = CMPLX(re, im);
    _Alignas(16) char sum[16] = { 0 };
    if (dtype_info(d.x->dtype)->kind == 'c')
        cast_run(d.x->dtype, sum, 1, DT_C128, &all, 1, 1);
    else
        cast_run(d.x->dtype, sum, 1, DT_F64, &re, 1, 1);
    grid_write_scalar(out, d.x->dtype, sum);
}
