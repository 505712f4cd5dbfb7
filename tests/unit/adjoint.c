/* Gradients of index notation as statements (interp/notation/indexnot_adjoint.h): the texts of
 * some, and the numbers of many against central differences of Re⟨w, result⟩ in f64. With two
 * arguments, a program and a statement, its gradient is shown. */
#include "check.h"

#include "interp/eval/call.h"
#include "interp/eval/eval_name.h"
#include "interp/eval/module.h"
#include "interp/life.h"
#include "interp/lower/lower.h"
#include "interp/notation/indexnot_adjoint.h"
#include "interp/show/show.h"
#include "interp/state/frames.h"

#include <complex.h>
#include <stdlib.h>

static Interp *in;
static EvalFn notation;

/* ---- a statement as its site ---- */
static const Exec *find(const Exec *x)
{
    const Exec *found = NULL;
    if (!x || x->eval == notation)
        return x;
    for (uint32_t i = 0; x->list && i < x->count && !found; i++)
        found = find(x->list[i]);
    found = found ? found : find(x->a);
    return found ? found : find(x->b);
}

static Module *module;
static Chunk *kept[4000];
static int chunks;

static const Exec *lowered(const char *text)
{
    Source *source = source_new(&in->ctx, "<test>", text, strlen(text));
    Chunk *chunk = parse_source(&in->ctx, &in->names, source);
    source_release(source);
    if (chunks < (int)(sizeof kept / sizeof *kept))
        kept[chunks++] = chunk;
    resolve_chunk(&in->ctx, &in->names, &module->globals, chunk);
    module_room(in, module);
    module->fixed = true;
    return lower_chunk(in, module, chunk);
}

/* ---- numbers ---- */
static double draw(void)
{
    static uint64_t state = 42;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 33) / (double)(1u << 30) - 1;
}

static Value pair(double complex z)
{
    return v_element(&in->ctx, DT_C128, (const char *)&z);
}

static bool pairs(Value v)
{
    return dtype_info(v_dtype(v))->kind == 'c';
}

static int64_t count(Value v)
{
    return v.tag == V_TENSOR ? v.tensor->size : 1;
}

static double complex at(Value v, int64_t i)
{
    Tensor *t = v_to_tensor(in, v, 0), *c, *d;
    v_push(in, v_tensor_raw(t));
    d = tensor_cast(&in->ctx, t, DT_C128);
    v_push(in, v_tensor_raw(d));
    c = tensor_compact(&in->ctx, d);
    v_push(in, v_tensor_raw(c));
    double complex z = ((const double complex *)(const void *)c->data)[i];
    stack_cut(in, in->sp - 3);
    return z;
}

/* A copy with an element changed by so much. */
static Value moved(Value v, int64_t i, double complex by)
{
    if (v.tag != V_TENSOR)
        return pairs(v) ? pair(at(v, 0) + by) : v_float(creal(at(v, 0) + by));
    Tensor *t = tensor_copy(&in->ctx, v.tensor);
    if (pairs(v))
        ((double complex *)(void *)t->data)[i] += by;
    else
        ((double *)(void *)t->data)[i] += creal(by);
    return v_tensor_raw(t);
}

static Value random_like(Value v)
{
    int64_t n = count(v);
    if (v.tag != V_TENSOR)
        return pairs(v) ? pair(draw() + I * draw()) : v_float(draw());
    Tensor *t = tensor_new(&in->ctx, pairs(v) ? DT_C128 : DT_F64, v.tensor->rank,
                           tensor_shape(v.tensor));
    for (int64_t i = 0; i < n; i++)
        if (pairs(v))
            ((double complex *)(void *)t->data)[i] = draw() + I * draw();
        else
            ((double *)(void *)t->data)[i] = draw();
    return v_tensor_raw(t);
}

static double inner(Value w, Value r)
{
    double sum = 0;
    for (int64_t i = 0; i < count(r); i++)
        sum += creal(conj(at(w, i)) * at(r, i));
    return sum;
}

static double value_with(const Exec *x, Value *base, int leaf, Value v, Value w)
{
    Value old = base[leaf];
    base[leaf] = v;
    Value r = ix_run(in, x, x->data, base, DT_NONE);
    base[leaf] = old;
    double sum = inner(w, r);
    v_release(&in->ctx, r);
    v_release(&in->ctx, v);
    return sum;
}

static double complex difference(const Exec *x, Value *base, int leaf, int64_t i, Value w)
{
    const double h = 1e-5;
    double complex d =
        (value_with(x, base, leaf, moved(base[leaf], i, h), w) -
         value_with(x, base, leaf, moved(base[leaf], i, -h), w)) / (2 * h);
    if (pairs(base[leaf]))
        d += I * (value_with(x, base, leaf, moved(base[leaf], i, I * h), w) -
                  value_with(x, base, leaf, moved(base[leaf], i, -I * h), w)) / (2 * h);
    return d;
}

/* ---- one statement ---- */
static bool show;

static void compare(const char *text, const Exec *x, Value *base, int leaves, Value grads, Value w)
{
    for (int k = 0; k < leaves; k++) {
        Value g = grads.tuple->items[k], v = base[k];
        bool floats = v_is_numeric(v) && strchr("fc", dtype_info(v_dtype(v))->kind);
        for (int64_t i = 0; floats && i < count(v); i++) {
            const IxTree *tree = &((IxSite *)x->data)->tree;
            if (k < tree->leaves && exec_weak(tree->leaf[k].exec))
                continue;
            double complex want = difference(x, base, k, i, w);
            double complex got = g.tag == V_NONE ? 0 : at(g, i);
            bool ok = g.tag == V_NONE ? cabs(want) < 1e-7
                                      : count(g) == count(v) &&
                                            cabs(want - got) <= 2e-6 * (1 + cabs(want));
            if (!ok)
                printf("FAIL %s: leaf %d [%d]: %g%+gi, not %g%+gi\n", text, k, (int)i, creal(got),
                       cimag(got), creal(want), cimag(want));
            check_that(ok, text, __FILE__, __LINE__);
            if (!ok)
                return;
        }
    }
}

static void compare_shown(const char *text, Value grads, const char *want)
{
    Buf out;
    buf_init(&out, &in->ctx);
    show_value(in, &out, grads);
    if (!check_that(strcmp(buf_cstr(&out), want) == 0, text, __FILE__, __LINE__))
        printf("FAIL %s\n  wants %s\n  has %s\n", text, want, buf_cstr(&out));
    buf_free(&out);
}

static int deep;
static void again(const char *text, const Value *args, int count);

static uint64_t wanted = UINT64_MAX;

/* want: a part of the text, or `!` and of why there is none; `=`: the gradients by a cotangent of
 * ones. */
static void try_statement(const char *text, const char *want)
{
    const Exec *x = find(lowered(text));
    Value *base = in->sp;
    IxSite *site = x->data;
    IxAdjoint adjoint;
    in->fp = module->slots;
    stack_room(in, IX_LEAVES + 64);
    ix_eval_leaves(in, &site->tree, base);
    Value result = ix_run(in, x, site, base, DT_NONE);
    if (!ix_adjoint_text(in, x, site, base, wanted, deep > 0, &adjoint)) {
        check_that(want && want[0] == '!' && strstr(adjoint.lack, want + 1) && adjoint.at &&
                       adjoint.op, text, __FILE__, __LINE__);
        if (!want || want[0] != '!' || show)
            printf("%s: %s\n", text, adjoint.lack);
        buf_free(&adjoint.text);
        v_release(&in->ctx, result);
        stack_cut(in, base);
        return;
    }
    if (show)
        printf("%s\n%s\n\n", text, buf_cstr(&adjoint.text));
    bool ones = want && want[0] == '=';
    if (want && !ones && !strstr(buf_cstr(&adjoint.text), want)) {
        check_that(false, text, __FILE__, __LINE__);
        printf("FAIL %s\n  wants %s\n  has %s\n", text, want, buf_cstr(&adjoint.text));
    }
    Value *args = in->sp;
    for (int i = 0; i < adjoint.leaves; i++)
        v_push(in, v_retain(base[i]));
    v_push(in, result);
    Value w = ones ? op_call(in, op_named(in, "like"), (Value[]){ result, v_int(1) }, 2, 0)
                   : random_like(result);
    v_push(in, w);
    Value fn = run_text(in, module_new(in, "gradient"), "<gradient>", adjoint.text.data,
                        adjoint.text.len);
    v_push(in, fn);
    in->fp = module->slots;
    Value grads = call_value(in, fn, args, adjoint.leaves + 2);
    v_push(in, grads);
    /* calls' leaves are right above the notation's: args stood above them all */
    Value *top = in->sp;
    if (ones)
        compare_shown(text, grads, want + 1);
    else
        compare(text, x, base, adjoint.leaves, grads, w);
    stack_cut(in, top);
    if (!ones && deep == 0)
        again(buf_cstr(&adjoint.text), args, adjoint.leaves + 2);
    buf_free(&adjoint.text);
    stack_cut(in, base);
}

static void guarded(const char *text, const char *want)
{
    Guard g;
    guard_enter(in, &g);
    if (ERR_TRY(&in->ctx, &g.frame)) {
        CallFrame frame = { .up = in->calls, .module = module };
        in->calls = &frame;
        in->module = module;
        in->fp = module->slots;
        try_statement(text, want);
        ERR_END(&in->ctx, &g.frame);
        guard_restore(in, &g);
    } else {
        guard_restore(in, &g);
        printf("FAIL %s: %s: %s\n", text, err_kind_name(in->ctx.error->kind),
               in->ctx.error->message);
        check_that(false, text, __FILE__, __LINE__);
    }
}

static const char setup[] =
    "seed(7)\n"
    "A = randn(3, 4); B = randn(4, 5); D = randn(5, 2); S = randn(4, 4); W = randn(4, 4)\n"
    "R3 = randn(2, 3, 2); big = randn(300); few = randn(2)\n"
    "x = randn(7); w = randn(3); a = rand(5) + 0.5; b = randn(5); u = randn(4); v = randn(4)\n"
    "X = randn(3, 2); Y = randn(4, 2); E = randn(6, 3); tok = [1, 4, 1, 0]\n"
    "Q = randn(4, 3); K = randn(5, 3); V = randn(5, 2); T = randn(2, 3, 4)\n"
    "z = randn(4) + 2i*randn(4)\n"
    "Z = randn(4, 4) + 1i*randn(4, 4); s = 1.5; n = 4; ties = [1.0, 3, 3, 2]\n"
    "nils = [2.0, 0, 3, 0.5]\n"
    "e = [4.0, 0.0]; mask = [true, false]; half = bf16([0.3, 0.7, 1.2])\n"
    "H2 = bf16([0.3, 1, 0; 0.1, 1, 2])\n"
    "single = f32([1, 2, 3])\n"
    "i2 = 2; tok2 = [2, 0, 3, 2]; tab = [0, 1, 2, 6; 3, 3, 3, 1; 0, 0, 5, 5; 2, 2, 2, 2]\n"
    "norm2 = (p, q) -> sqrt(p^2 + q^2); q2 = randn(4); h2 = p -> max[j] p*q2[j]\n"
    "V2 = randn(2, 4, 3)\n"
    "dy = randn(4); p1 = randn(4); dC = randn(4); result = randn(4); C = randn(4)\n"
    "nil2 = [0.0, 2, 0, 3]; image = randn(6, 7); kernel = randn(3, 2); r = 1:4\n"
    "f = t -> t*exp(-t); g = (p, q) -> p*q + f(p); h = p -> sum[j] p*u[j]; c = s*2\n"
    "k = (t, y=c) -> t*y\n";

static const struct { const char *text, *want; } cases[] = {
    { "C[i,k] := A[i,j] * B[j,k]", "dA[i,j] := dC[i,k] * B[j,k]\n" },
    { "C[i,k] := A[i,j] * B[j,k]", "dB[j,k] := dC[i,k] * A[i,j]\n" },
    { "t := S[i,i]", NULL },
    { "y[i] := A[i,j]*u[j] + w[i]", "dw[i] := dy[i]\n" },
    { "D2[i,j] := sqrt(sum[k] (X[i,k] - Y[j,k])^2)", NULL },
    { "M[i,j] := min[k] (S[i,k] + W[k,j])", NULL },
    { "y[i] := x[i+k] * w[k]", "dx[n] := dy[pad(n-k)] * w[k] for n in 0:shape(x)[0]\n" },
    { "H[i,j] := s/(i+j+1) for i in 0:5, j in 0:5", NULL },
    { "y[m,d] := E[tok[m], d]", "dE[tok[m],d] += dy[m,d]\n" },
    { "P[i,j] := exp(Q[i,d]*K[j,d]) / (sum[m] exp(Q[i,d]*K[m,d]))", NULL },
    { "[A[i,j]*B[j,k] for i,k]", "dA[i,j] := dresult[i,k] * B[j,k]\n" },
    { "sum[i] a[i]*b[i] + 1", NULL },
    { "sum[i] a[i]", NULL },
    { "y[i] := a[i]^3", NULL },
    { "y[i] := a[i]^b[i]", NULL },
    { "y[i] := a[i]^s", NULL },
    { "y[i] := s^a[i]", NULL },
    { "y[i] := b[i]/a[i]", NULL },
    { "y[i] := -b[i]*a[i]/s", NULL },
    { "y[i] := sin(a[i])*cos(b[i]) + tanh(a[i]*b[i])", NULL },
    { "y[i] := sigmoid(b[i]) + relu(b[i]) + gelu(b[i]) + silu(b[i]) + softplus(b[i]) + erf(b[i])",
      NULL },
    { "y[i] := log(a[i]) + log2(a[i]) + log10(a[i]) + log1p(a[i]) + expm1(a[i])", NULL },
    { "y[i] := atan2(b[i], a[i]) + hypot(a[i], b[i])", NULL },
    { "y[i] := asin(0.3*a[i]) + acos(0.3*a[i]) + atan(a[i]) + tan(0.5*a[i])", NULL },
    { "y[i] := sinh(b[i]) + cosh(b[i]) + asinh(b[i]) + acosh(a[i]+1) + atanh(0.3*a[i])", NULL },
    { "y[i] := abs(b[i]) + cbrt(a[i])", NULL },
    { "y[i] := maximum(a[i], b[i]) * minimum(a[i], 1)", NULL },
    { "y[i] := clamp(b[i], -0.5, 0.5)", NULL },
    { "y[i] := where(b[i] > 0, a[i]*b[i], s*a[i])", NULL },
    { "y[i] := b[i] % a[i]", NULL },
    { "y[i] := fma(a[i], b[i], s)", NULL },
    { "C[i,l] := A[i,j]*B[j,k]*D[k,l]", NULL },
    { "t := A[i,j]*A[i,j]", NULL },
    { "t := x[i]*x[i]", NULL },
    { "y[i] := mean[j] A[i,j]^2", NULL },
    { "m := mean[i,j] A[i,j]", NULL },
    { "m := max[i] ties[i]*s", NULL },
    { "m := max[i] b[i]", NULL },
    { "y[i] := max[j] A[i,j]*u[j]", NULL },
    { "y[i] := min[j] (A[i,j] - u[j])^2", NULL },
    { "m := prod[i] a[i]", NULL },
    { "m := prod[i] nils[i]", NULL },
    { "m := prod[i] nil2[i]", NULL },
    { "y[i] := prod[j] (A[i,j] + 1)", NULL },
    { "m := prod[i,j] (A[i,j] + 1)", NULL },
    { "y[i] := argmax[j] A[i,j]", NULL },
    { "y[i] := a[i] * (argmax[j] S[j,j])", NULL },
    { "y[i] := b[i] * (sum[j] a[j]*b[j])", NULL },
    { "y[i] := x[2*i+1]", NULL },
    { "y[i] := x[6-i]", NULL },
    { "y[i] := x[n+2-i]*x[i]", NULL },
    { "y[i] := x[2*i+k]*w[k]", NULL },
    { "y[i] := x[i+2*k]*w[k]", NULL },
    { "O[i,j] := image[i+k,j+l]*kernel[k,l]", NULL },
    { "O[i,j] := image[2*i+k,j+2*l]*kernel[k,l]", NULL },
    { "y[i] := x[clamp(i+k-1)]*w[k] for i in 0:7", NULL },
    { "y[i] := x[mod(i+k-1)]*w[k] for i in 0:7", NULL },
    { "y[i] := x[pad(i+k-1)]*w[k] for i in 0:7", NULL },
    { "y[i] := x[pad(2*i+k-1)]*w[k] for i in 0:4", NULL },
    { "y[i] := S[i,i]*u[i]", NULL },
    { "y[i] := S[i,0] + S[1,i]*S[(n)-1,i]", NULL },
    { "t := S[1,2]*x[3]", NULL },
    { "y[i] := a[i]*i for i in 0:5", NULL },
    { "y[i] := a[i] for i in 1:4", NULL },
    { "y[i] := a[i]*b[i] for i in 4:0:-2", NULL },
    { "y[i] := x[i]*u[i] for i in 0:3", NULL },
    { "t := sum[k in 1:5] b[k]/k^2", NULL },
    { "y[i] := a[i]*s for i in r", NULL },
    { "C[i,k] := A[i,j]*B[j,k] for j in 0:3", "dA[:,0:3] += g1\n" },
    { "C[i,k] := A[i,j]*B[j,k] for j in 1:n", NULL },
    { "C[i,k] := A[i,j]*B[j,k] for j in 2:n-3, i in 0:n-6", NULL },
    { "C[i,k] := A[i,j]*B[j,k] for j in 1:4:2, i in 0:2", NULL },
    { "y[i] := f(a[i])", NULL },
    { "y[i] := g(a[i], b[i]*s)", NULL },
    { "y[i] := h(a[i])*s", NULL },
    { "y[i] := k(a[i])", NULL },
    { "y[i] := k(y=a[i], t=b[i])", NULL },
    { "Y2[i,j] := f(A[i,k]*B[k,j])", NULL },
    { "y[i] := f(f(a[i]))", NULL },
    { "y[i] := z[i]*u[i]", NULL },
    { "y[i] := Z[i,j]*z[j]", "dZ[i,j] := dy[i] * conj(z[j])" },
    { "y[i] := conj(z[i])*Z[i,j]*z[j]", NULL },
    { "y[i] := abs(z[i])^2", NULL },
    { "y[i] := real(z[i]*Z[i,j]*z[j])", NULL },
    { "y[i] := imag(z[i])*u[i] + angle(z[i])", NULL },
    { "y[i] := exp(z[i]*2i) + sin(z[i])*u[i]", NULL },
    { "y[i] := real(z[i])*z[i]", NULL },
    { "y[i] := (u[i] + 1)/z[i]", NULL },
    { "y[i] := sum[j] S[i,j]*exp(u[j])*v[j]", NULL },
    { "L := log(sum[j] exp(u[j]))", NULL },
    { "L[i] := log(sum[j] exp(A[i,j] - max[m] A[i,m])) + max[m] A[i,m]", NULL },
    { "y[b2,i] := T[b2,i,j]*u[j]", NULL },
    { "y[b2,i,k2] := T[b2,i,j]*B[j,k2]*s", NULL },
    { "y[i,j] := u[i]*v[j]", NULL },
    { "y[i,j] := u[i] + v[j]", NULL },
    { "C := s*2.0 + s", NULL },
    { "y[m] := E[tok[m], d]*E[tok[m], d]", NULL },
    { "y[m] := E[tok[m]+1, d]*w[d]", NULL },
    { "y[m] := u[tok[m] % 3]*v[m]", NULL },
    { "y[i,j] := S[j,i]", NULL },
    { "A[i,j] := A[i,j]*2.0", NULL },
    { "y[j] := sum[i] R3[i,j,i]", NULL },
    { "y[i] := floor(a[i])", "!floor" },
    { "y[i] := a[i]*(b[i] > 0)", NULL },
    { "y[i] := f64(a[i])*b[i]", NULL },
    { "y[i] := not (a[i] > 1)", NULL },
    { "y[i,d] := (sum[j] (exp(Q[i,e]*K[j,e]))*V[j,d]) / (sum[m] exp(Q[i,e]*K[m,e]))", NULL },
    { "y[i] := (sum[j] S[i,j]*u[j])^2 + (sum[j] S[i,j])*(sum[j] W[i,j])", NULL },
    { "t := sum[i] (x[i] - (mean[j] x[j]))^2", NULL },
    { "y[i] := 1/(1 + exp(-a[i]*b[i]))", NULL },
    { "y[i] := x[i+1] - x[i] for i in 0:6", NULL },
    { "L[i,j] := image[i,j+1] + image[i+2,j+1] - 4*image[i+1,j+1] for i in 0:4, j in 0:5", NULL },
    { "y[i] := where(a[i] > 1, sqrt(a[i] - 1), 0)", NULL },
    /* zeros stay zeros, ties share */
    { "y[i] := where(e[i] > 0, sqrt(e[i]), 0)", "=(none, [0.25, 0.0], none, none)" },
    { "y[i] := where(e[i] > 0, 1/e[i], 0)*e[i]", "=(none, [0.0, 0.0], none, none)" },
    { "y[i] := where(e[i] < 800, exp(e[i]*400), 1)*0",
      "=(none, [0.0, 0.0], none, none, none, none, none)" },
    { "t := max[i] ties[i]", "=([0.0, 0.5, 0.5, 0.0],)" },
    { "t := max[i] mask[i]", "=(none,)" },
    { "t := prod[i] nils[i]", "=([0.0, 3.0, 0.0, 0.0],)" },
    { "t := prod[i] nil2[i]", "=([0.0, 0.0, 0.0, 0.0],)" },
    { "y[i] := e[i]^0 + e[i]^1", "=([1.0, 1.0], none, none)" },
    { "y[i] := e[i]^2.0 + clamp(e[i], 0, 4) + relu(e[i]) + abs(e[i])",
      "=([11.0, 1.0], none, none, none, none, none, none)" },
    { "t := max[i] half[i]*half[i]", "=([0.0, 0.0, 2.4],)" },
    { "y[i] := max[j] H2[i,j]*half[j]",
      "=(⎡0.0  0.7  0.0⎤\n ⎣0.0  0.0  1.2⎦,\n [0.0, 1.0, 2.0])" },
    { "t := mean[i] half[i]*half[i]", "=([0.201, 0.467, 0.805],)" },
    { "t := sum[i] single[i]^2*s/4", "=([0.75, 1.5, 2.25], none, 3.5, none)" },
    { "t := max[i] exp(half[i])*sin(half[i])", "=(none, [0.0, 0.0, 4.3], none)" },
    /* gradients are statements of this kind again */
    { "dx[m] := few[pad(m - k)] * w[k] for m in 0:4", NULL },
    { "da[i] := where(b[i] == 0, 0, b[i] * where(a[i] == 0, 0, a[i]^s * log(a[i])))", NULL },
    { "t1[i] := prod[i2] where(i2 == i, 1, nils[i2]) for i in 0:shape(nils)[0]", NULL },
    { "dA[i,j] := sum[k] where(A[i,j] + u[j] == 3.0, 1, 0) * B[j,k]", NULL },
    { "y[i] := big[3*i+k]*w[k]", NULL },
    { "y[m] := sum[d] E[tok[m],d] * E[tok[m],mod(d+1)]", NULL },
    { "y[i,j] := S[clamp(i-1),j] + S[pad(i+1),mod(j-1)]*2 - S[i,j] for i in 0:4, j in 0:4", NULL },
    { "y[m] := x[clamp(tok[m]*2)]*u[m]", NULL },
    { "y[m] := x[pad(tok[m]*2-1)]*u[m]", NULL },
    { "t := sum[i, j in 0:4] a[i]", NULL },
    { "y[i,j] := a[i] for j in 0:3", NULL },
    { "y[i,j] := s*2 for i in 0:2, j in 0:3", NULL },
    { "y[i] := sum[j in 0:i2] x[j]*a[i]", NULL },
    { "y[i] := sum[j] where(j <= i, x[j], 0) for i in 0:7", NULL },
    { "y[i] := max[k in 0:3] x[i+k] for i in 0:5", NULL },
    { "y[i] := max[k] x[2*i+k]*(w[k]-w[k]+1)", NULL },
    { "y[i] := (max[j] A[i,j])/(sum[j] A[i,j]^2)", NULL },
    { "y[i] := sqrt(mean[j] (A[i,j] - (mean[m] A[i,m]))^2)", NULL },
    { "N[i,j] := (A[i,j] - (mean[m] A[i,m]))/sqrt((mean[m] (A[i,m] - (mean[l] A[i,l]))^2) + s)",
      NULL },
    { "O[b2,i,d] := T[b2,i,j]*V2[b2,j,d]", "dT[b2,i,j] := dO[b2,i,d] * V2[b2,j,d]\n" },
    { "y[i] := u[i]*v[j]*S[j,k]*u[k]", NULL },
    { "y[i] := S[i,j]/v[j]*u[j]", NULL },
    { "y[i] := (S[i,j]+W[i,j])*(u[j]-v[j])", NULL },
    { "y[i] := real(z[i])^2 + imag(z[i])^2", NULL },
    { "t := abs(Z[i,j]*z[j]*conj(z[i]))", NULL },
    { "t := prod[i] z[i]", NULL },
    { "t := mean[i] z[i]*conj(z[i])*u[i]", NULL },
    { "y[i] := sqrt(z[i]) + log(z[i]) + z[i]^3 + tanh(z[i])", NULL },
    { "y[i] := z[i]^s + z[i]/u[i]", NULL },
    { "y[i] := u[i]^z[i] for i in 0:0", NULL },
    { "y[i] := a[i]^2.5 + a[i]^-1 + a[i]^1 + a[i]^0 + a[i]^-2", NULL },
    { "y[i] := 2^a[i] + exp(2*a[i]) + 1/a[i] + 3/(2 - a[i]*0.1)", NULL },
    { "y[i] := -(-a[i]) - (-b[i]) + (+a[i])", NULL },
    { "y[i] := √a[i] + !true*a[i]", NULL },
    { "y[i] := where(a[i] > 1 and b[i] < 0 or not (a[i] < 0.7), a[i]*b[i], b[i])", NULL },
    { "y[i] := where(0 < b[i] < 1, a[i], -a[i])", NULL },
    { "y[i] := k(k(a[i]), h(b[i]))", NULL },
    { "y[i] := sum[j] g(S[i,j], u[j])", NULL },
    { "y[i,j] := norm2(X[i,0], Y[j,1])", NULL },
    { "y[i] := a[i] |> f", NULL },
    { "t := any[i] a[i] > 1", NULL },
    { "t := sum[i,j] (any[k] S[i,k] > 1) * S[i,j]", NULL },
    { "y[sum1] := a[sum1]*b[sum1]", NULL },
    { "y[p] := dy[p]*p1[p]", NULL },
    { "dC[i] := dC[i]*result[i] + C[i]", NULL },
    { "y[i] := (argmin[j] S[i,j])*u[i] + S[i,argmin[j] S[i,j]]", NULL },
    { "y[i] := u[tok2[i]]*u[tok2[tok2[i]]]", NULL },
    { "y[i] := S[tok2[i],tok2[i]] + S[tok2[i],i]*S[i,tok2[i]]", NULL },
    { "y[i,j] := S[tok2[i],tok2[j]]", NULL },
    { "y[i,j] := x[tab[i,j]]*S[i,j]", NULL },
    { "y[i] := x[i*i2]*a[i] for i in 0:3", NULL },
    { "y[i] := x[i*i]*a[i] for i in 0:3", NULL },
    { "y[i,j] := x[i+j]*x[i-j+3] for i in 0:4, j in 0:3", NULL },
    { "y := x[i+j]*u[i]*v[j]", NULL },
    { "y[i] := image[i+k,i+l]*kernel[k,l]", NULL },
    { "t := sum[i in 0:3, j in 0:4] x[i+j]", NULL },
    { "t := sum[i] x[2*i]", NULL },
    { "t := sum[i,k] x[i+k]*w[k]", NULL },
    { "y[i] := h2(a[i])", NULL },
    { "t := sum[i] h(x[i+i])", NULL },
    { "y[i] := sign(b[i])", "!sign" },
    { "y[i] := a[i] // 0.3", "!floor_divide" },
    { "y[i] := 3*tok2[i]", NULL },
    { "y[i] := tok2[i]*u[i]", NULL },
};

/* The statements of a gradient are index notation, whose gradients are tried likewise: in a module
 * in which its parameters are variables. */
static void again(const char *text, const Value *args, int count)
{
    Module *old = module;
    char line[4096];
    module = module_new(in, "again");
    deep++;
    const char *at = text + 1;
    for (int i = 0; i < count; i++) {
        size_t n = strcspn(at, ",)");
        uint32_t slot = globals_slot(&module->globals, names_intern(&in->names, at, n));
        module_room(in, module);
        module->slots[slot] = v_retain(args[i]);
        at += n + 2;
    }
    for (at = strchr(at, '\n') + 1; strncmp(at, "    ", 4) == 0; at = strchr(at, '\n') + 1) {
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        if (at[4] == '(')
            break;
        /* shares of an extreme stand still where the extreme does, which no difference shows */
        if (strstr(line, " := ") && !strstr(line, ", 1, 0) / t"))
            guarded(line, NULL);
        v_release(&in->ctx, run_text(in, module, "<again>", line, strlen(line)));
    }
    deep--;
    module = old;
}

int main(int argc, char **argv)
{
    in = interp_new();
    module = module_new(in, "test");
    run_text(in, module, "<setup>", setup, sizeof setup - 1);
    show = getenv("ADJOINT_SHOW") != NULL;
    notation = NULL;
    const Exec *first = lowered("Q9[i] := a[i]");
    while (first && !(first->node && first->node->kind == ND_DEFINE && first->eval && first->data))
        first = first->list && first->count ? first->list[0] : first->a;
    notation = first ? first->eval : NULL;
    if (!CHECK(notation != NULL))
        return check_result();
    if (argc == 3) {
        show = true;
        run_text(in, module, "<arguments>", argv[1], strlen(argv[1]));
        guarded(argv[2], NULL);
    }
    for (size_t i = 0; argc < 3 && i < sizeof cases / sizeof *cases; i++)
        guarded(cases[i].text, cases[i].want);
    wanted = 2;
    if (argc < 3)
        guarded("t2 := nils[i] * ties[i]", "=(none, [2.0, 0.0, 3.0, 0.5])");
    while (chunks)
        chunk_release(kept[--chunks]);
    interp_free(in);
    return check_result();
}
