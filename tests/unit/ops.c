/* Every row of the registry: it has help, its example prints what it says, and each
 * elementwise row gives through the door what its reference kernel gives, for every dtype
 * and layout. Scalars and tensors must agree bit for bit. */
#include "core/base/error.h"
#include "interp/op/elementwise.h"
#include "interp/op/optable.h"
#include "interp/device/place.h"
#include "interp/life.h"
#include "interp/eval/module.h"
#include "interp/show/show.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int passed, failed;

static void check(bool ok, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void check(bool ok, const char *fmt, ...)
{
    if (ok) {
        passed++;
        return;
    }
    failed++;
    va_list args;
    va_start(args, fmt);
    printf("FAILED ");
    vprintf(fmt, args);
    printf("\n");
    va_end(args);
}

/* ---- rows and their examples ---- */
static void test_rows(Interp *in)
{
    for (int i = 0; i < op_count(in); i++) {
        const Op *op = op_row(in, i);
        const Name *name = names_find(&in->names, op->name, strlen(op->name));
        check(op->help && *op->help && op->help[0] != ' ', "%s has help", op->name);
        check(op->example && op->expect, "%s has an example with its result", op->name);
        check(op->params && op_sig(in, op)->required <= op_sig(in, op)->fixed,
              "%s has parameters", op->name);
        check(name && op_find(in, name) == op, "%s is found by its name, once", op->name);
        check(op->cls == OPC_EW || op->run, "%s can run", op->name);
        if (op->cls == OPC_EW)
            check(op_sig(in, op)->required == ew_info[op->ew].arity,
                  "%s: parameters are operands", op->name);
    }
}

/* Rows that stand on rows end at one that does not. */
static void test_stands_on(Interp *in)
{
    for (int i = 0; i < op_count(in); i++) {
        const Op *op = op_row(in, i);
        int steps = 0;
        for (const char *on = op->stands_on; on && steps < op_count(in); steps++) {
            const Name *name = names_find(&in->names, on, strlen(on));
            const Op *next = name ? op_find(in, name) : NULL;
            check(next != NULL, "%s stands on %s, a row", op->name, on);
            on = next ? next->stands_on : NULL;
        }
        check(steps < op_count(in), "%s does not stand on itself", op->name);
    }
}

static const char *lacked(Interp *in, const char *device, const char *row)
{
    const char *missing = place_lacked(in, device_find(&in->ctx, device), op_named(in, row));
    return missing ? missing : "";
}

/* sim.mps says that it lacks svd, eig and others: so whatever stands on them, at one remove or
 * two. */
static void test_lacked(Interp *in)
{
    static const struct { const char *device, *row, *missing; } cases[] = {
        { "sim.mps", "svd", "svd" }, { "sim.mps", "cond", "svd" }, { "sim.mps", "inv", "" },
        { "sim.mps", "logm", "eig" }, { "sim.mps", "corrcoef", "" }, { "sim.tpu", "logm", "" },
        { "cpu", "svd", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *missing = lacked(in, cases[i].device, cases[i].row);
        check(strcmp(missing, cases[i].missing) == 0, "%s on %s lacks \"%s\", not \"%s\"",
              cases[i].row, cases[i].device, cases[i].missing, missing);
    }
}

/* What the text prints, then its value unless that is silent. */
static const char *run_example(Interp *in, const char *text, char *out, size_t cap)
{
    Guard g;
    guard_enter(in, &g);
    buf_clear(&in->out);
    if (ERR_TRY(&in->ctx, &g.frame)) {
        Value v = run_text(in, in->main, "<example>", text, strlen(text));
        v_push(in, v);
        show_value(in, &in->out, v);
        ERR_END(&in->ctx, &g.frame);
        guard_restore(in, &g);
        snprintf(out, cap, "%s", buf_cstr(&in->out));
    } else {
        guard_restore(in, &g);
        snprintf(out, cap, "error: %s", in->ctx.error->message);
    }
    buf_clear(&in->out);
    return out;
}

static void test_examples(Interp *in)
{
    char out[2048];
    for (int i = 0; i < op_count(in); i++) {
        const Op *op = op_row(in, i);
        if (!op->example || !op->expect)
            continue;
        run_example(in, op->example, out, sizeof out);
        check(strcmp(out, op->expect) == 0, "%s: %s\n  is       %s\n  expected %s", op->name,
              op->example, out, op->expect);
    }
}

/* ---- elementwise rows: dtypes and layouts ---- */
enum { ROWS = 5, COLUMNS = 37 };

typedef enum Layout { CONTIGUOUS, STRIDED, REVERSED, BROADCAST, EMPTY, LAYOUTS } Layout;
static const char *const layout_names[] =
    { "contiguous", "strided", "reversed", "broadcast", "empty" };

static uint64_t random_state = 88172645463325252ull;
static double uniform(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(random_state >> 11) * 0x1p-53;
}

/* A value that operand k of a row takes without trouble. */
static double sample(const Op *op, int k, DType dt)
{
    char kind = dtype_info(dt)->kind;
    bool shift = op->ew == EW_SHL || op->ew == EW_SHR || op->ew == EW_POWER;
    if (kind == 'b')
        return uniform() < 0.5 || (k == 1 && ew_divides(op->ew));
    if (kind == 'i') {
        double x = floor(uniform() * 100) - (dt == DT_U8 ? 0 : 50);
        if (k == 1 && shift)
            return fabs(fmod(x, 7));
        return k == 1 && x == 0 ? 3 : x;
    }
    if (uniform() < 0.02)
        return uniform() < 0.5 ? NAN : uniform() < 0.5 ? INFINITY : 0;
    return (uniform() - 0.3) * 6;
}

static void fill(const Op *op, int k, Tensor *t)
{
    int bytes = dtype_info(t->dtype)->bytes;
    for (int64_t i = 0; i < t->size; i++) {
        DType dt = (DType)t->dtype;
        double x = sample(op, k, dt);
        double _Complex z = x + (dtype_info(dt)->kind == 'c' ? sample(op, k, dt) : 0) * _Complex_I;
        DType from = dtype_info(dt)->kind == 'c' ? DT_C128 : DT_F64;
        cast_run(dt, t->data + i * bytes, 1, from, from == DT_C128 ? (void *)&z : (void *)&x, 1, 1);
    }
}

static Tensor *operand(Interp *in, const Op *op, int k, DType dt, Layout layout)
{
    Ctx *ctx = &in->ctx;
    int64_t shape[2] = { ROWS, COLUMNS };
    if (layout == EMPTY)
        shape[0] = 0;
    if (layout == BROADCAST)
        shape[k % 2] = 1;
    int64_t full[2] = { shape[0], shape[1] * (layout == STRIDED ? 3 : 1) };
    Tensor *base = tensor_new(ctx, dt, 2, full);
    v_push(in, v_tensor_raw(base));
    fill(op, k, base);
    if (layout != STRIDED && layout != REVERSED)
        return base;
    int64_t strides[2] = { full[1], 3 };
    char *data = base->data;
    if (layout == REVERSED) {
        strides[0] = -shape[1];
        strides[1] = -1;
        data += (base->size - 1) * dtype_info(dt)->bytes;
    }
    Tensor *view = tensor_view(ctx, base, 2, shape, strides, data);
    v_push(in, v_tensor_raw(view));
    return view;
}

static const char *element_at(const Tensor *t, int64_t i, int64_t j)
{
    const int64_t *shape = t->dims, *strides = t->dims + t->rank;
    int64_t at = (shape[0] == 1 ? 0 : i) * strides[0] + (shape[1] == 1 ? 0 : j) * strides[1];
    return t->data + at * dtype_info(t->dtype)->bytes;
}

static bool near(double a, double b, double scale, DType dt, double ulps)
{
    double unit = dt == DT_F16 ? 0x1p-10 : dt == DT_BF16 ? 0x1p-7 : dt == DT_F32 || dt == DT_C64
                  ? 0x1p-23 : 0x1p-52;
    double tiny = dt == DT_F16 ? 0x1p-23 : dt == DT_BF16 || dt == DT_F32 || dt == DT_C64
                  ? 0x1p-125 : 0x1p-1021;
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    return a == b || fabs(a - b) <= ulps * unit * fmax(fabs(b), scale) + tiny;
}

static bool same_element(DType dt, const void *a, const void *b, double ulps)
{
    char kind = dtype_info(dt)->kind;
    if (kind == 'b' || kind == 'i')
        return memcmp(a, b, dtype_info(dt)->bytes) == 0;
    if (kind == 'f')
        return near(element_f64(dt, a), element_f64(dt, b), 0, dt, ulps);
    double _Complex x = element_c128(dt, a), y = element_c128(dt, b);
    double scale = fmax(fabs(creal(y)), fabs(cimag(y)));
    if (!isfinite(creal(y)) || !isfinite(cimag(y)))
        return true;                     /* infinite complex values: the kernels' own test */
    return near(creal(x), creal(y), scale, dt, ulps) && near(cimag(x), cimag(y), scale, dt, ulps);
}

static bool agrees(const Op *op, DType compute, Tensor *out, Tensor **x, int n, int64_t *bad)
{
    EwFn reference = ew_reference(op->ew, compute);
    static const int64_t one[3] = { 1, 1, 1 };
    for (*bad = 0; *bad < out->size; ++*bad) {
        int64_t i = *bad / COLUMNS, j = *bad % COLUMNS;
        _Alignas(16) char cell[3][16], expected[16];
        const void *at[3] = { cell[0], cell[1], cell[2] };
        for (int k = 0; k < n; k++) {
            DType to = op->ew == EW_WHERE && k == 0 ? DT_BOOL : compute;
            cast_run(to, cell[k], 1, (DType)x[k]->dtype, element_at(x[k], i, j), 1, 1);
        }
        reference(expected, 1, at, one, 1);
        if (!same_element((DType)out->dtype, out->data + *bad * dtype_info(out->dtype)->bytes,
                          expected, 4))
            return false;
    }
    return true;
}

static void test_layout(Interp *in, const Op *op, DType dt, DType compute, Layout layout)
{
    Value *mark = in->sp, args[3];
    Tensor *x[3];
    int n = ew_info[op->ew].arity;
    for (int k = 0; k < n; k++) {
        x[k] = operand(in, op, k, op->ew == EW_WHERE && k == 0 ? DT_BOOL : dt, layout);
        args[k] = v_tensor_raw(x[k]);
    }
    Value r = op_call(in, op, args, n, 0);
    v_push(in, r);
    int64_t bad = 0;
    bool ok = r.tag == V_TENSOR && r.tensor->dtype == ew_result_dtype(op->ew, compute) &&
              tensor_contiguous(r.tensor) && agrees(op, compute, r.tensor, x, n, &bad);
    check(ok, "%s of %s, %s (element %lld)", op->name, dtype_name(dt), layout_names[layout],
          (long long)bad);
    stack_cut(in, mark);
}

static void test_elementwise(Interp *in)
{
    for (int i = 0; i < op_count(in); i++) {
        const Op *op = op_row(in, i);
        for (int dt = 0; op->cls == OPC_EW && dt < DT_COUNT; dt++) {
            if (dtype_foreign((DType)dt))               /* these have no kernels: tests/precision */
                continue;
            DType compute = ew_compute_dtype(op->ew, (DType)dt);
            bool listed = strchr(op->dtypes, dtype_info(dt)->kind) != NULL;
            check(listed == (compute != DT_NONE), "%s lists its dtypes (%s)", op->name,
                  dtype_name(dt));
            for (int l = 0; compute != DT_NONE && l < LAYOUTS; l++)
                test_layout(in, op, (DType)dt, compute, (Layout)l);
        }
    }
}

/* ---- scalars are elements ---- */
static const double grid[] =
    { 0, 1, -1, 2, 3, -7, 10, 0.5, -2.5, 1e300, -1e-300, 1e16, INFINITY, NAN };
enum { GRID = sizeof grid / sizeof grid[0] };

static Value grid_value(int kind, double x)
{
    return kind == 2 ? v_float(x) : kind == 1 ? v_int((int64_t)x) : v_bool(x != 0);
}

static bool grid_has(int kind, double x)
{
    return kind == 2 || (kind == 1 && x == floor(x) && fabs(x) < 1e15) || x == 0 || x == 1;
}

static Value as_vector(Interp *in, Value v)
{
    static const DType dtypes[] = { DT_BOOL, DT_I64, DT_F64 };
    int64_t one = 1;
    Tensor *t = tensor_new(&in->ctx, dtypes[v.tag - V_BOOL], 1, &one);
    v_push(in, v_tensor_raw(t));
    if (v.tag == V_BOOL)
        t->data[0] = v.i != 0;
    else
        memcpy(t->data, &v.i, 8);
    return v_tensor_raw(t);
}

static Value try_call(Interp *in, const Op *op, Value *args, int n, bool *raised)
{
    Guard g;
    volatile Value r = v_none();
    guard_enter(in, &g);
    *raised = false;
    if (ERR_TRY(&in->ctx, &g.frame)) {
        Value got = op_call(in, op, args, n, 0);
        r.tag = got.tag;
        r.i = got.i;
        ERR_END(&in->ctx, &g.frame);
    } else {
        guard_restore(in, &g);
        *raised = true;
    }
    return (Value){ .tag = r.tag, .i = r.i };
}

static bool same_bits(Value scalar, Value vector)
{
    const Tensor *t = vector.tensor;
    if (vector.tag != V_TENSOR || t->size != 1)
        return false;
    if (scalar.tag == V_FLOAT && t->dtype == DT_F64) {
        double x;
        memcpy(&x, t->data, sizeof x);
        return memcmp(&x, &scalar.f, sizeof x) == 0 || (isnan(x) && isnan(scalar.f));
    }
    return (scalar.tag == V_INT && t->dtype == DT_I64 &&
            element_i64(DT_I64, t->data) == scalar.i) ||
           (scalar.tag == V_BOOL && t->dtype == DT_BOOL && t->data[0] == scalar.i);
}

/* Where a scalar raises because it leaves its range, the tensor wraps: nothing to compare. */
static void test_pair(Interp *in, const Op *op, Value a, Value b, int n)
{
    Value *mark = in->sp, args[2] = { a, b };
    bool raised, wide_raised;
    Value scalar = try_call(in, op, args, n, &raised);
    args[0] = as_vector(in, a);
    args[1] = as_vector(in, b);
    Value vector = try_call(in, op, args, n, &wide_raised);
    if (!wide_raised)
        v_push(in, vector);
    bool ok = raised ? wide_raised || in->ctx.error->kind == ERR_VALUE
                     : !wide_raised && same_bits(scalar, vector);
    if (!ok)
        check(false, "%s: scalar and tensor differ for tags %u %u, bits %llx %llx", op->name,
              a.tag, b.tag, (unsigned long long)a.i, (unsigned long long)b.i);
    stack_cut(in, mark);
}

static void test_scalars(Interp *in)
{
    for (int r = 0; r < op_count(in); r++) {
        const Op *op = op_row(in, r);
        if (op->cls != OPC_EW || ew_info[op->ew].arity > 2)
            continue;
        int n = ew_info[op->ew].arity, before = failed;
        for (int ka = 0; ka < 3; ka++)
            for (int kb = 0; kb < (n == 1 ? 1 : 3); kb++)
                for (int i = 0; i < GRID; i++)
                    for (int j = 0; j < (n == 1 ? 1 : GRID); j++)
                        if (grid_has(ka, grid[i]) && (n == 1 || grid_has(kb, grid[j])))
                            test_pair(in, op, grid_value(ka, grid[i]), grid_value(kb, grid[j]), n);
        check(failed == before, "%s of scalars is %s of an element", op->name, op->name);
    }
}

static void quiet(Ctx *ctx, const char *text)
{
    (void)ctx;
    (void)text;
}

int main(void)
{
    Interp *in = interp_new();
    in->ctx.notice = quiet;
    test_rows(in);
    test_stands_on(in);
    test_lacked(in);
    test_elementwise(in);
    test_scalars(in);
    test_examples(in);
    interp_free(in);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
