/* Linear algebra through the one door, in every dtype and layout: products against a plain
 * sum in long double, factors by their reconstruction and orthogonality, solutions by
 * their residual, and the errors of matrices that have no answer. */
#include "core/base/error.h"
#include "interp/op/op.h"
#include "interp/life.h"
#include "kernels/gemm/sums.h"
#include "kernels/tensor/cpu.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static Interp *in;
static Ctx *ctx;
static int passed, failed;
static uint64_t state = 88172645463325252u;

static void check(bool ok, const char *fmt, ...)
{
    va_list args;
    if (ok) {
        passed++;
        return;
    }
    failed++;
    va_start(args, fmt);
    printf("FAILED: ");
    vprintf(fmt, args);
    printf("\n");
    va_end(args);
}

static double uniform(void)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double)(state >> 11) * 0x1p-52 - 1;
}

/* Everything made here lives on the value stack until the case ends. */
static Tensor *keep(Tensor *t)
{
    v_push(in, v_tensor_raw(t));
    return t;
}

static Tensor *fresh(DType dt, int rank, const int64_t *shape)
{
    bool is_complex = dtype_info(dt)->kind == 'c';
    Tensor *wide = keep(tensor_new(ctx, is_complex ? DT_C128 : DT_F64, rank, shape));
    double *x = (double *)(void *)wide->data;
    for (int64_t i = 0; i < wide->size * (1 + is_complex); i++) {
        x[i] = uniform();
        if (dtype_info(dt)->kind == 'i')
            x[i] = floor(x[i] * 9) + (dt == DT_U8 ? 9 : 0);
        if (dtype_info(dt)->kind == 'b')
            x[i] = x[i] > 0;
    }
    return keep(tensor_cast(ctx, wide, dt));
}

static Tensor *matrix(DType dt, int64_t m, int64_t n)
{
    return fresh(dt, 2, (int64_t[]){ m, n });
}

static int64_t offset(const Tensor *t, const int64_t *index)
{
    int64_t at = 0;
    for (int d = 0; d < t->rank; d++)
        at += index[d] * tensor_strides(t)[d];
    return at;
}

static double _Complex at(const Tensor *t, const int64_t *index)
{
    return element_c128(t->dtype, t->data + offset(t, index) * dtype_info(t->dtype)->bytes);
}

static double _Complex at2(const Tensor *t, int64_t i, int64_t j)
{
    return at(t, (int64_t[]){ i, j });
}

static Value call1(const char *name, Tensor *a)
{
    Value r = op_unary(in, op_named(in, name), v_tensor_raw(a), 0);
    v_push(in, r);
    return r;
}

static Value call2(const char *name, Tensor *a, Tensor *b)
{
    Value r = op_binary(in, op_named(in, name), v_tensor_raw(a), v_tensor_raw(b), 0);
    v_push(in, r);
    return r;
}

static Tensor *as_tensor(Value v)
{
    return keep(v_to_tensor(in, v, 0));
}

static Tensor *field(Value v, int i)
{
    return as_tensor(v.tuple->items[i]);
}

static double eps_of(DType dt)
{
    switch (dt) {
    case DT_BF16: return 0x1p-8;
    case DT_F16: return 0x1p-11;
    case DT_F32: case DT_C64: return 0x1p-23;
    default: return 0x1p-52;
    }
}

static Tensor *product(Tensor *a, Tensor *b)
{
    return as_tensor(call2("matmul", a, b));
}

static Tensor *dagger(Tensor *a)
{
    return as_tensor(call1("ctranspose", a));
}

/* Largest difference of two tensors of one shape; infinite if the shapes differ. */
static double distance(const Tensor *a, const Tensor *b)
{
    int64_t index[TENSOR_RANK_MAX] = { 0 };
    double top = 0;
    if (a->rank != b->rank || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof(int64_t)))
        return INFINITY;
    for (int64_t i = 0; i < a->size; i++) {
        int64_t rest = i;
        for (int d = a->rank - 1; d >= 0; d--) {
            index[d] = rest % tensor_shape(a)[d];
            rest /= tensor_shape(a)[d];
        }
        double v = cabs(at(a, index) - at(b, index));
        if (!(v <= top))
            top = v;
    }
    return top;
}

static double from_identity(const Tensor *a)
{
    double top = 0;
    for (int64_t i = 0; i < tensor_shape(a)[0]; i++)
        for (int64_t j = 0; j < tensor_shape(a)[1]; j++)
            top = fmax(top, cabs(at2(a, i, j) - (i == j)));
    return top;
}

/* ---- products ---- */
static void product_case(Tensor *a, Tensor *b, const char *what)
{
    int64_t m = tensor_shape(a)[0], k = tensor_shape(a)[1], n = tensor_shape(b)[1];
    Tensor *c = product(a, b);
    double worst = 0, size = 0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double magnitude = 0;
            long double re = 0, im = 0;
            for (int64_t p = 0; p < k; p++) {
                double _Complex x = at2(a, i, p), y = at2(b, p, j);
                magnitude += cabs(x) * cabs(y);
                re += (long double)creal(x) * creal(y) - (long double)cimag(x) * cimag(y);
                im += (long double)creal(x) * cimag(y) + (long double)cimag(x) * creal(y);
            }
            size = fmax(size, magnitude);
            worst = fmax(worst, cabs(at2(c, i, j) - (double)re - (double)im * I));
        }
    double allowed = c->dtype == DT_I64 ? 0 : (dtype_info(c->dtype)->bytes == 2
                                               ? 1 : sqrt((double)k) + 4) *
                                              size * eps_of(c->dtype);
    check(worst <= allowed, "%s: %lldx%lldx%lld %s @ %s is off by %g", what, (long long)m,
          (long long)k,
          (long long)n, dtype_name(a->dtype), dtype_name(b->dtype), worst);
}

static Tensor *view2(Tensor *t, int64_t m, int64_t n, int64_t rs, int64_t cs, int64_t from)
{
    return keep(tensor_view(ctx, t, 2, (int64_t[]){ m, n }, (int64_t[]){ rs, cs },
                            t->data + from * dtype_info(t->dtype)->bytes));
}

static void products(DType da, DType db)
{
    static const int64_t sizes[][3] = {
        { 1, 1, 1 }, { 2, 3, 4 }, { 4, 4, 4 }, { 5, 7, 3 }, { 1, 9, 6 }, { 6, 9, 1 },
        { 1, 40, 1 }, { 17, 33, 9 }, { 64, 20, 70 }, { 3, 0, 2 }, { 0, 3, 2 }, { 40, 40, 40 }
    };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        Value *mark = in->sp;
        int64_t m = sizes[s][0], k = sizes[s][1], n = sizes[s][2];
        Tensor *a = matrix(da, m, k), *b = matrix(db, k, n);
        Tensor *at_ = matrix(da, k, m), *bt = matrix(db, n, k);
        product_case(a, b, "plain");
        product_case(view2(at_, m, k, 1, m, 0), b, "left transposed");
        product_case(a, view2(bt, k, n, 1, k, 0), "right transposed");
        product_case(view2(at_, m, k, 1, m, 0), view2(bt, k, n, 1, k, 0), "both transposed");
        if (m && n && k) {
            Tensor *big = matrix(da, 2 * m, 2 * k), *tall = matrix(db, 2 * k, 2 * n);
            product_case(view2(big, m, k, 2 * k, 1, 1), view2(tall, k, n, 2 * n, 1, 0),
                         "rows of a larger one");
            product_case(view2(big, m, k, 4 * k, 2, 0), view2(tall, k, n, 4 * n, 2, 1),
                         "every other");
            product_case(view2(a, m, k, -k, 1, (m - 1) * k), view2(b, k, n, n, -1, n - 1),
                         "reversed");
            product_case(view2(a, m, k, 0, 1, 0), view2(b, k, n, n, 0, 0), "broadcast");
        }
        stack_cut(in, mark);
    }
}

static void batched(DType dt)
{
    Value *mark = in->sp;
    Tensor *a = fresh(dt, 4, (int64_t[]){ 2, 1, 5, 6 }), *b = fresh(dt, 3, (int64_t[]){ 3, 6, 7 });
    Tensor *c = product(a, b);
    double worst = 0;
    check(c->rank == 4 && tensor_shape(c)[0] == 2 && tensor_shape(c)[1] == 3, "batched shape");
    for (int64_t p = 0; p < 2; p++)
        for (int64_t q = 0; q < 3; q++)
            for (int64_t i = 0; i < 5; i++)
                for (int64_t j = 0; j < 7; j++) {
                    double _Complex sum = 0;
                    for (int64_t k = 0; k < 6; k++)
                        sum += at(a, (int64_t[]){ p, 0, i, k }) * at(b, (int64_t[]){ q, k, j });
                    worst = fmax(worst, cabs(sum - at(c, (int64_t[]){ p, q, i, j })));
                }
    check(worst < 50 * eps_of(dt), "batched %s: %g", dtype_name(dt), worst);
    Tensor *v = fresh(dt, 1, (int64_t[]){ 6 }), *flat = fresh(dt, 2, (int64_t[]){ 6, 3 });
    Tensor *av = product(a, v), *af = product(a, flat);
    check(av->rank == 3 && tensor_shape(av)[2] == 5,
          "batched matrix times vector has shape (2, 1, 5)");
    check(af->rank == 4 && tensor_shape(af)[3] == 3, "batched times one matrix");
    double _Complex sum = 0;
    for (int64_t k = 0; k < 6; k++)
        sum += at(a, (int64_t[]){ 1, 0, 4, k }) * at(flat, (int64_t[]){ k, 2 });
    check(cabs(sum - at(af, (int64_t[]){ 1, 0, 4, 2 })) < 50 * eps_of(dt), "merged rows");
    stack_cut(in, mark);
}

static void covectors(void)
{
    Value *mark = in->sp;
    Tensor *v = fresh(DT_F64, 1, (int64_t[]){ 4 }), *w = fresh(DT_F64, 1, (int64_t[]){ 4 });
    Tensor *a = matrix(DT_F64, 4, 4), *vt = dagger(v), *wt = dagger(w);
    check(vt->rank == 2 && (vt->flags & TENSOR_COVECTOR), "v' is a covector");
    check(call2("matmul", vt, w).tag == V_FLOAT, "v' @ w is a scalar");
    check(call2("matmul", v, w).tag == V_FLOAT, "v @ w is a scalar");
    Tensor *o = product(v, wt), *va = product(vt, a);
    check(o->rank == 2 && !(o->flags & TENSOR_COVECTOR) &&
          cabs(at2(o, 1, 2) - at(v, (int64_t[]){ 1 }) * at(w, (int64_t[]){ 2 })) < 1e-15,
          "v @ w' is the outer product");
    check(va->rank == 2 && (va->flags & TENSOR_COVECTOR), "v' @ A is a covector");
    check(call2("matmul", va, v).tag == V_FLOAT, "v' @ A @ v is a scalar");
    check(product(a, v)->rank == 1, "A @ v is a vector");
    check(product(v, a)->rank == 1, "v @ A is a vector");
    check(dagger(vt)->rank == 1 && distance(dagger(vt), v) == 0, "v'' is v");
    Tensor *z = fresh(DT_C128, 1, (int64_t[]){ 4 });
    double _Complex norm2 = at(as_tensor(call2("matmul", dagger(z), z)), NULL);
    check(fabs(cimag(norm2)) < 1e-15 && creal(norm2) > 0, "z' @ z is real and positive");
    check(cabs(at(as_tensor(call2("dot", z, z)), NULL) - norm2) < 1e-14,
          "z · z conjugates the left");
    stack_cut(in, mark);
}

static void integers(void)
{
    Value *mark = in->sp;
    Tensor *a = keep(tensor_zeros(ctx, DT_I64, 2, (int64_t[]){ 1, 2 }));
    Tensor *b = keep(tensor_zeros(ctx, DT_I64, 2, (int64_t[]){ 2, 1 }));
    ((int64_t *)(void *)a->data)[0] = INT64_MAX, ((int64_t *)(void *)a->data)[1] = 1;
    ((int64_t *)(void *)b->data)[0] = 2, ((int64_t *)(void *)b->data)[1] = 5;
    check(*(int64_t *)(void *)product(a, b)->data == 3, "integers wrap: 2 (2^63-1) + 5 is 3");
    Tensor *p = matrix(DT_I64, 70, 60), *q = matrix(DT_I64, 60, 50);
    product_case(p, q, "exact through f64");
    for (int64_t i = 0; i < p->size; i++)
        ((int64_t *)(void *)p->data)[i] *= (int64_t)1 << 44;
    Tensor *wide = product(p, q);
    uint64_t sum = 0;
    for (int64_t k = 0; k < 60; k++)
        sum += ((uint64_t *)(void *)p->data)[3 * 60 + k] *
               ((uint64_t *)(void *)q->data)[k * 50 + 7];
    check(((uint64_t *)(void *)wide->data)[3 * 50 + 7] == sum, "large integers keep every bit");
    stack_cut(in, mark);
}

/* ---- systems ---- */
static void residual_case(Tensor *a, Tensor *b, const char *what)
{
    Tensor *x = as_tensor(call2("solve", a, b)), *ax = product(a, x);
    double off = distance(ax, b), n = (double)tensor_shape(a)[a->rank - 1];
    check(off < 200 * n * eps_of(x->dtype), "solve %s: residual %g", what, off);
}

/* a + n on the diagonal. */
static void dominate(Tensor *a, double by)
{
    int64_t n = tensor_shape(a)[a->rank - 1];
    for (int64_t i = 0; i < a->size; i += n * n)
        for (int64_t d = 0; d < n; d++) {
            char *p = a->data + (i + d * (n + 1)) * dtype_info(a->dtype)->bytes;
            switch (a->dtype) {
            case DT_F32: *(float *)(void *)p += (float)by; break;
            case DT_F64: *(double *)(void *)p += by; break;
            case DT_C64: *(float _Complex *)(void *)p += (float)by; break;
            default: *(double _Complex *)(void *)p += by; break;
            }
        }
}

static void clear_where(Tensor *a, bool (*out)(int64_t i, int64_t j))
{
    int64_t n = tensor_shape(a)[1];
    for (int64_t i = 0; i < tensor_shape(a)[0]; i++)
        for (int64_t j = 0; j < n; j++)
            if (out(i, j))
                memset(a->data + (i * n + j) * dtype_info(a->dtype)->bytes, 0,
                       dtype_info(a->dtype)->bytes);
}

static bool below(int64_t i, int64_t j) { return i > j; }
static bool above(int64_t i, int64_t j) { return i < j; }
static bool off_band(int64_t i, int64_t j) { return i - j > 2 || j - i > 1; }

static void systems(DType dt)
{
    for (int64_t n = 1; n <= 65; n += n < 5 ? 1 : 15) {
        Value *mark = in->sp;
        Tensor *a = matrix(dt, n, n), *b = fresh(dt, 1, &n), *bs = matrix(dt, n, 3);
        dominate(a, 2 + sqrt((double)n));
        residual_case(a, b, "general");
        residual_case(a, bs, "general, several");
        residual_case(keep(tensor_transpose_last(ctx, a)), bs, "by columns");
        Tensor *spd = product(dagger(a), a);
        residual_case(spd, b, "A'A");
        Tensor *tri = keep(tensor_copy(ctx, a));
        clear_where(tri, below);
        residual_case(tri, bs, "upper");
        residual_case(keep(tensor_transpose_last(ctx, tri)), b, "transposed upper");
        tri = keep(tensor_copy(ctx, a));
        clear_where(tri, above);
        residual_case(tri, b, "lower");
        Tensor *band = keep(tensor_copy(ctx, a));
        clear_where(band, off_band);
        residual_case(band, bs, "band");
        residual_case(keep(tensor_transpose_last(ctx, band)), b, "transposed band");
        Tensor *x = as_tensor(call1("inv", a));
        check(from_identity(product(a, x)) < 100 * (double)n * eps_of(dt), "inv %s",
              dtype_name(dt));
        Value lu = call1("lu", a);
        check(distance(product(product(field(lu, 0), field(lu, 1)), field(lu, 2)),
                       a) < 50 * (double)n * eps_of(dt), "lu");
        Tensor *l = as_tensor(call1("chol", spd));
        check(distance(product(l, dagger(l)), spd) < 100 * (double)(n * n) * eps_of(dt), "chol %s",
              dtype_name(dt));
        stack_cut(in, mark);
    }
    Value *mark = in->sp;
    Tensor *a = fresh(dt, 3, (int64_t[]){ 4, 6, 6 }), *b = fresh(dt, 3, (int64_t[]){ 4, 6, 2 });
    dominate(a, 4);
    residual_case(a, b, "batched");
    Tensor *one = matrix(dt, 6, 6);
    dominate(one, 4);
    Tensor *x = as_tensor(call2("solve", one, b));
    check(distance(product(one, x), b) < 1000 * eps_of(dt), "one matrix, many right sides");
    stack_cut(in, mark);
}

/* ---- factors ---- */
static Tensor *scaled_columns(Tensor *a, Tensor *s)
{
    Tensor *r = keep(tensor_copy(ctx, a));
    return as_tensor(call2("multiply", r, s));
}

static void factor_shape(DType dt, int64_t m, int64_t n)
{
    Value *mark = in->sp;
    double allowed = 60 * (double)(m + n) * eps_of(dt);
    for (int turned = 0; turned < 2; turned++) {
        Tensor *a = turned ? keep(tensor_transpose_last(ctx, matrix(dt, n, m))) : matrix(dt, m, n);
        Value qr = call1("qr", a), svd = call1("svd", a);
        Tensor *q = field(qr, 0), *u = field(svd, 0), *vt = field(svd, 2);
        check(distance(product(q, field(qr, 1)), a) < allowed, "qr %s %lldx%lld",
              dtype_name(dt), (long long)m, (long long)n);
        check(from_identity(product(dagger(q), q)) < allowed, "Q orthonormal");
        check(distance(product(scaled_columns(u, field(svd, 1)), vt), a) < allowed,
              "svd %s %lldx%lld",
              dtype_name(dt), (long long)m, (long long)n);
        check(from_identity(product(dagger(u), u)) < allowed, "U orthonormal");
        check(from_identity(product(vt, dagger(vt))) < allowed, "Vt orthonormal");
        Tensor *p = as_tensor(call1("pinv", a));
        check(distance(product(product(a, p), a), a) < 20 * allowed, "pinv");
        Value args[2] = { v_tensor_raw(a), v_bool(true) };
        Value full = op_call(in, op_named(in, "svd"), args, 2, 0);
        v_push(in, full);
        check(tensor_shape(field(full, 0))[1] == m && tensor_shape(field(full, 2))[0] == n,
              "full svd shapes");
        check(from_identity(product(dagger(field(full, 0)), field(full, 0))) < allowed, "full U");
        full = op_call(in, op_named(in, "qr"), args, 2, 0);
        v_push(in, full);
        check(distance(product(field(full, 0), field(full, 1)), a) < allowed, "full qr");
    }
    stack_cut(in, mark);
}

static void spectra(DType dt, int64_t n)
{
    Value *mark = in->sp;
    double allowed = 100 * (double)n * eps_of(dt);
    Tensor *a = matrix(dt, n, n), *h = as_tensor(call2("add", a, dagger(a)));
    Value eigh = call1("eigh", h), eig = call1("eig", a);
    Tensor *w = field(eigh, 0), *v = field(eigh, 1);
    check(distance(product(h, v), scaled_columns(v, w)) < allowed, "eigh %s %lld",
          dtype_name(dt), (long long)n);
    check(from_identity(product(dagger(v), v)) < allowed, "eigenvectors orthonormal");
    for (int64_t i = 1; i < n; i++)
        check(creal(at(w, &i)) >= creal(at(w, (int64_t[]){ i - 1 })), "eigh ascending");
    check(distance(as_tensor(call1("eigvalsh", h)), w) < allowed, "eigvalsh");
    w = field(eig, 0), v = field(eig, 1);
    Tensor *av = product(a, v), *vw = scaled_columns(v, w);
    check(distance(av, vw) < 10 * allowed, "eig %s %lld: %g", dtype_name(dt), (long long)n,
          distance(av, vw));
    stack_cut(in, mark);
}

static void least_squares(DType dt, int64_t m, int64_t n)
{
    Value *mark = in->sp;
    Tensor *a = matrix(dt, m, n), *b = matrix(dt, m, 2);
    Value fit = call2("lstsq", a, b);
    Tensor *x = field(fit, 0), *best = product(as_tensor(call1("pinv", a)), b);
    check(distance(x, best) < 2000 * (double)(m + n) * eps_of(dt), "lstsq %s %lldx%lld: %g",
          dtype_name(dt),
          (long long)m, (long long)n, distance(x, best));
    stack_cut(in, mark);
}

/* ---- errors ---- */
static void raises(ErrKind kind, const char *name, Tensor *a, Tensor *b, const char *part)
{
    Guard guard;
    guard_enter(in, &guard);
    if (ERR_TRY(ctx, &guard.frame)) {
        if (b)
            call2(name, a, b);
        else
            call1(name, a);
        ERR_END(ctx, &guard.frame);
        check(false, "%s raises nothing", name);
        return;
    }
    check(ctx->error->kind == kind && strstr(ctx->error->message, part), "%s raises %s: %s", name,
          err_kind_name(ctx->error->kind), ctx->error->message);
    guard_restore(in, &guard);
}

static void errors(void)
{
    Tensor *zero = keep(tensor_zeros(ctx, DT_F64, 2, (int64_t[]){ 3, 3 }));
    Tensor *a = matrix(DT_F64, 3, 3), *wide = matrix(DT_F64, 2, 3), *b = fresh(DT_F64, 1,
                                                                               (int64_t[]){ 3 });
    Tensor *ones = keep(tensor_copy(ctx, a)), *bad = keep(tensor_copy(ctx, a));
    for (int i = 0; i < 9; i++)
        ((double *)(void *)ones->data)[i] = 1;
    ((double *)(void *)bad->data)[5] = NAN;
    raises(ERR_NUMERIC, "solve", zero, b, "diagonal element 0");
    raises(ERR_NUMERIC, "solve", ones, b, "pivot 1");
    raises(ERR_NUMERIC, "inv", ones, NULL, "singular");
    raises(ERR_SHAPE, "inv", wide, NULL, "2×3");
    raises(ERR_SHAPE, "matmul", a, wide, "3×3");
    raises(ERR_SHAPE, "solve", a, wide, "rows");
    raises(ERR_VALUE, "svd", bad, NULL, "[1, 2]");
    raises(ERR_VALUE, "eig", bad, NULL, "finite");
    raises(ERR_VALUE, "eigh", bad, NULL, "finite");
    raises(ERR_VALUE, "eigh", a, NULL, "symmetric");
    raises(ERR_VALUE, "chol", a, NULL, "symmetric");
    raises(ERR_NUMERIC, "chol", zero, NULL, "1×1");
    raises(ERR_SHAPE, "det", b, NULL, "vector");
    raises(ERR_SHAPE, "cross", wide, a, "");
}

/* Sums of products: right, and the same bits on every level that this processor has. */
static void sums_of_products(void)
{
    enum { N = 997 };
    static double x[2 * N], y[2 * N];
    static float xf[2 * N], yf[2 * N];
    const SumKernels *level[] = { &sums_base,
#if defined(__x86_64__) || defined(__i386__)
                                  &sums_avx2, &sums_avx512
#endif
    };
    for (int i = 0; i < 2 * N; i++) {
        x[i] = xf[i] = (float)sin(i), y[i] = yf[i] = (float)cos(3 * i);
    }
    for (int isa = ISA_BASE; isa <= (int)cpu_isa(); isa++)
        for (int64_t n = 0; n < N; n += 16) {
            double squares = 0, want[4] = { 0 }, sums[4], base[4];
            float sums_f[4], base_f[4];
            for (int64_t i = 0; i < n; i++) {
                squares += x[i] * x[i];
                want[0] += x[2 * i] * y[2 * i], want[1] += x[2 * i + 1] * y[2 * i + 1];
                want[2] += x[2 * i] * y[2 * i + 1], want[3] += x[2 * i + 1] * y[2 * i];
            }
            double found = level[isa]->squares_f64(n, x), narrow = level[isa]->squares_f32(n, xf);
            check(fabs(found - squares) <= 1e-13 * squares && found == narrow, "squares");
            check(found == sums_base.squares_f64(n, x), "the bits of squares");
            level[isa]->pairs_f64(n, x, y, sums);
            level[isa]->pairs_f32(n, xf, yf, sums_f);
            sums_base.pairs_f64(n, x, y, base);
            sums_base.pairs_f32(n, xf, yf, base_f);
            for (int k = 0; k < 4; k++) {
                check(fabs(sums[k] - want[k]) < 1e-11, "products of pairs in f64");
                check(fabs(sums_f[k] - want[k]) < 1e-3, "products of pairs in f32");
                check(sums[k] == base[k] && sums_f[k] == base_f[k], "the bits of pairs");
            }
        }
}

int main(void)
{
    sums_of_products();
    static const DType floats[] = { DT_F32, DT_F64, DT_C64, DT_C128 };
    in = interp_new();
    ctx = &in->ctx;
    for (int i = 0; i < 4; i++) {
        products(floats[i], floats[i]);
        batched(floats[i]);
        systems(floats[i]);
        for (int64_t m = 1; m <= 40; m += 13)
            for (int64_t n = 1; n <= 40; n += 13)
                factor_shape(floats[i], m, n), least_squares(floats[i], m, n);
        for (int64_t n = 1; n < 40; n += 12)
            spectra(floats[i], n);
    }
    for (int dt = DT_BOOL; dt < DT_COUNT; dt++) {
        if (dtype_foreign((DType)dt))
            continue;
        products((DType)dt, DT_F64);
        products((DType)dt, DT_U8);
        products((DType)dt, (DType)dt);
    }
    products(DT_F16, DT_BF16);
    covectors();
    integers();
    errors();
    interp_free(in);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
