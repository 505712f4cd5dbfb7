/* eig(A, B) of two matrices of hardware floats, by LAPACK's QZ; everything else about pencils, and
 * what is wrong with them, is linear.ric's. */
#include "builtins/linalg/linalg.h"
#include "builtins/linalg/linalg_pencil.h"
#include "builtins/rows/rows.h"
#include "kernels/tensor/tensor.h"

#include <math.h>

typedef struct Pencil {
    Stack a, b;
    BlasType cplx;             /* the type of values and vectors */
    Out values, vectors, left;
    bool real, wants_left;
    double size_a, size_b;     /* below these, alpha and beta are rounding */
} Pencil;

static bool matrix(Value v)
{
    return v.tag == V_TENSOR && v.tensor->rank == 2 && dtype_plain((DType)v.tensor->dtype) &&
           tensor_shape(v.tensor)[0] == tensor_shape(v.tensor)[1] && v.tensor->size > 0;
}

static bool all_finite(Stack *s)
{
    int64_t row, col;
    return mat_finite(s->type, s->m, s->n, linalg_item(s, 0), &row, &col);
}

static bool pencil_read(OpCall *c, Pencil *p)
{
    if (!matrix(c->args[0]) || !matrix(c->args[1]) ||
        tensor_shape(c->args[0].tensor)[0] != tensor_shape(c->args[1].tensor)[0])
        return false;
    p->a = linalg_stack(c, 0);
    p->b = linalg_stack(c, 1);
    DType dt = dtype_promote(p->a.dt, p->b.dt), given = dtype_promote(p->a.given, p->b.given);
    linalg_stack_retype(&p->a, dt);
    linalg_stack_retype(&p->b, dt);
    p->a.given = given;
    if (!all_finite(&p->a) || !all_finite(&p->b))
        return false;
    int64_t n = p->a.n;
    p->cplx = blas_type(dtype_complex(dt));
    p->size_a = (double)n * mat_eps(p->a.type) * mat_norm1(p->a.type, n, n, linalg_item(&p->a, 0));
    p->size_b = (double)n * mat_eps(p->b.type) * mat_norm1(p->b.type, n, n, linalg_item(&p->b, 0));
    p->values = linalg_out(&p->a, dtype_complex(dt), n, -1, false);
    p->vectors = linalg_out(&p->a, dtype_complex(dt), n, n, true);
    p->left = linalg_out(&p->a, dtype_complex(dt), n, n, true);
    return true;
}

/* The imaginary part is the real one of what stands half an element further. */
static double imag_of(BlasType cplx, const char *data, int64_t i)
{
    return mat_real(cplx, data + blas_bytes(cplx) / 2, i);
}

/* alpha / beta, inf where beta is nothing but rounding; false where alpha is that as well: any
 * number is a value then. */
static bool pencil_values(Pencil *p, const char *alpha, const char *beta)
{
    for (int64_t i = 0; i < p->a.n; i++) {
        double re = mat_real(p->cplx, alpha, i), im = imag_of(p->cplx, alpha, i);
        double by = mat_real(p->cplx, beta, i), by_im = imag_of(p->cplx, beta, i);
        double size = hypot(by, by_im);
        if (size <= p->size_b && hypot(re, im) <= p->size_a)
            return false;
        if (size <= p->size_b / 8)
            mat_store(p->cplx, p->values.data, i, INFINITY, 0);
        else if (by_im == 0)
            mat_store(p->cplx, p->values.data, i, re / by, im / by);
        else
            mat_store(p->cplx, p->values.data, i, (re / size * by + im / size * by_im) / size,
                      (im / size * by - re / size * by_im) / size);
    }
    return true;
}

/* Columns of length 1. */
static void unit_columns(Pencil *p, void *v)
{
    for (int64_t j = 0; j < p->a.n; j++) {
        double length = 0;
        for (int64_t i = 0; i < p->a.n; i++)
            length = hypot(length, mat_abs(p->cplx, v, j * p->a.n + i));
        for (int64_t i = 0; length > 0 && i < p->a.n; i++) {
            int64_t at = j * p->a.n + i;
            mat_store(p->cplx, v, at, mat_real(p->cplx, v, at) / length,
                      imag_of(p->cplx, v, at) / length);
        }
    }
}

bool pencil_run(OpCall *c, bool left, Value *result)
{
    Pencil p = { .wants_left = left };
    Scratch work = { 0 };
    if (!pencil_read(c, &p))
        return false;
    Stack *a = &p.a;
    int64_t n = a->n;
    linalg_check_lengths(a);
    const Blas *blas = linalg_blas(c);
    void *A = linalg_matrix(c, n, n, a->bytes), *B = linalg_matrix(c, n, n, a->bytes);
    char *alpha = linalg_work(c, (size_t)n, blas_bytes(p.cplx)),
         *beta = linalg_work(c, (size_t)n, blas_bytes(p.cplx));
    lapack_pencil(blas, a->type, n, A, B, alpha, beta, p.vectors.data, p.left.data, &p.real, &work);
    scratch_allocate(c, &work);
    lapack_threads(&c->in->ctx, blas, LAPACK_EIG, n);
    mat_copy(a->bytes, n, n, linalg_item(a, 0), mat_columns(A, n));
    mat_copy(a->bytes, n, n, linalg_item(&p.b, 0), mat_columns(B, n));
    linalg_explain_routines(c, a->type, "ggev", "ggev");
    int info = lapack_pencil(blas, a->type, n, A, B, alpha, beta, p.vectors.data, p.left.data,
                             &p.real, &work);
    if (info || !pencil_values(&p, alpha, beta))
        return false;
    unit_columns(&p, p.vectors.data);
    unit_columns(&p, p.left.data);
    if (p.real) {
        linalg_take_real(a, &p.values, -1);
        linalg_take_real(a, &p.vectors, n);
        linalg_take_real(a, &p.left, n);
    }
    Value w = op_root(c, linalg_value(a, &p.values)), v = op_root(c, linalg_value(a, &p.vectors));
    if (!left) {
        *result = tuple_make(c->in, "values", v_retain(w), "vectors", v_retain(v), NULL);
        return true;
    }
    Value u = op_root(c, linalg_value(a, &p.left));
    *result = tuple_make(c->in, "values", v_retain(w), "vectors", v_retain(v), "left", v_retain(u),
                         NULL);
    return true;
}
