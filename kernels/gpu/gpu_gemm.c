/* Matrix products on devices: the library's where it is worth calling, else a tiled kernel of ours
 * for any strides and every dtype but complex ones. Halves accumulate in f32, integers wrap in
 * i64. A nest that is a product (`C[i,j] := sum(A[i,k]*B[k,j])`, batched too) is read as one
 * here. */
#include "kernels/gpu/gpu_source.h"

#include "core/base/error.h"

#include <string.h>

/* ---- our kernel ----
 * A group makes 64 x 64 elements of C, a work item 4 x 4 of them, 16 steps of k at a time from
 * tiles in local memory. Whether a tile is read along its rows or columns follows its strides. */
static const char gemm_text[] =
    "KERNEL void gemm(GLOBAL char *a_, u64 a_at, GLOBAL char *b_, u64 b_at, GLOBAL char *c_, u64 "
    "c_at,\n"
    "                 i64 m, i64 n, i64 k, i64 count, i64 a_row, i64 a_col, i64 a_next, i64 b_row, "
    "i64 b_col,\n"
    "                 i64 b_next, i64 c_row, i64 c_col, i64 c_next)\n"
    "{\n"
    "    LOCAL A ta[16][65], tb[16][65];\n"
    "    const int at = (int)ID(0), ti = at / 16, tj = at % 16;\n"
    "    const bool along_a = a_col == 1, along_b = b_col == 1;\n"
    "    for (i64 batch = GROUP(2); batch < count; batch += GROUPS(2))\n"
    "    for (i64 i0 = (i64)GROUP(1)*64; i0 < m; i0 += (i64)GROUPS(1)*64)\n"
    "    for (i64 j0 = (i64)GROUP(0)*64; j0 < n; j0 += (i64)GROUPS(0)*64) {\n"
    "        GLOBAL const S *a = (GLOBAL const S *)(a_ + a_at) + batch*a_next + i0*a_row;\n"
    "        GLOBAL const S *b = (GLOBAL const S *)(b_ + b_at) + batch*b_next + j0*b_col;\n"
    "        GLOBAL S *c = (GLOBAL S *)(c_ + c_at) + batch*c_next + i0*c_row + j0*c_col;\n"
    "        A sum[4][4];\n"
    "        for (int r = 0; r < 4; r++) for (int q = 0; q < 4; q++) sum[r][q] = 0;\n"
    "        for (i64 k0 = 0; k0 < k; k0 += 16) {\n"
    "            for (int part = at; part < 1024; part += 256) {\n"
    "                int i = along_a ? part / 16 : part % 64, d = along_a ? part % 16 : part / "
    "64;\n"
    "                ta[d][i] = i0 + i < m && k0 + d < k ? (A)VALUE(a[i*a_row + (k0 + d)*a_col]) : "
    "(A)0;\n"
    "                int j = along_b ? part % 64 : part / 16;\n"
    "                d = along_b ? part / 64 : part % 16;\n"
    "                tb[d][j] = j0 + j < n && k0 + d < k ? (A)VALUE(b[(k0 + d)*b_row + j*b_col]) : "
    "(A)0;\n"
    "            }\n"
    "            BARRIER;\n"
    "            for (int d = 0; d < 16; d++)\n"
    "                for (int r = 0; r < 4; r++)\n"
    "                    for (int q = 0; q < 4; q++)\n"
    "                        sum[r][q] += ta[d][ti + 16*r] * tb[d][tj + 16*q];\n"
    "            BARRIER;\n"
    "        }\n"
    "        for (int r = 0; r < 4; r++) for (int q = 0; q < 4; q++) {\n"
    "            const int i = ti + 16*r, j = tj + 16*q;\n"
    "            if (i0 + i < m && j0 + j < n) c[i*c_row + j*c_col] = KEPT(sum[r][q]);\n"
    "        }\n"
    "    }\n"
    "}\n";

/* The same for a processor, where a work item is a thread and local memory is memory: a block of
 * 64 x 64 elements, 64 steps of k at a time from packed copies, 4 rows of two vectors in
 * registers. */
static const char gemm_rows_text[] =
    "KERNEL void gemm(GLOBAL char *a_, u64 a_at, GLOBAL char *b_, u64 b_at, GLOBAL char *c_, u64 "
    "c_at,\n"
    "                 i64 m, i64 n, i64 k, i64 count, i64 a_row, i64 a_col, i64 a_next, i64 b_row, "
    "i64 b_col,\n"
    "                 i64 b_next, i64 c_row, i64 c_col, i64 c_next)\n"
    "{\n"
    "    A ta[64][64], tb[64][64], sum[64][64];\n"
    "    for (i64 batch = GROUP(2); batch < count; batch += GROUPS(2))\n"
    "    for (i64 i0 = (i64)GROUP(1)*64; i0 < m; i0 += (i64)GROUPS(1)*64)\n"
    "    for (i64 j0 = (i64)GROUP(0)*64; j0 < n; j0 += (i64)GROUPS(0)*64) {\n"
    "        const int rows = m - i0 < 64 ? (int)(m - i0) : 64, columns = n - j0 < 64 ? (int)(n - "
    "j0) : 64;\n"
    "        const int down = (rows + 3) & ~3, across = (columns + 2*LANES - 1) & ~(2*LANES - 1);\n"
    "        GLOBAL const S *a = (GLOBAL const S *)(a_ + a_at) + batch*a_next + i0*a_row;\n"
    "        GLOBAL const S *b = (GLOBAL const S *)(b_ + b_at) + batch*b_next + j0*b_col;\n"
    "        GLOBAL S *c = (GLOBAL S *)(c_ + c_at) + batch*c_next + i0*c_row + j0*c_col;\n"
    "        for (int i = 0; i < down; i++) for (int j = 0; j < across; j++) sum[i][j] = 0;\n"
    "        for (i64 k0 = 0; k0 < k; k0 += 64, a += 64*a_col, b += 64*b_row) {\n"
    "            const int depth = k - k0 < 64 ? (int)(k - k0) : 64;\n"
    "            for (int i = 0; i < down; i++)\n"
    "                for (int d = 0; d < depth; d++)\n"
    "                    ta[d][i] = i < rows ? (A)VALUE(a[i*a_row + d*a_col]) : (A)0;\n"
    "            for (int d = 0; d < depth; d++)\n"
    "                for (int j = 0; j < across; j++)\n"
    "                    tb[d][j] = j < columns ? (A)VALUE(b[d*b_row + j*b_col]) : (A)0;\n"
    "            for (int j = 0; j < across; j += 2*LANES)\n"
    "                for (int i = 0; i < down; i += 4) {\n"
    "                    V s0 = 0, s1 = 0, s2 = 0, s3 = 0, t0 = 0, t1 = 0, t2 = 0, t3 = 0;\n"
    "                    for (int d = 0; d < depth; d++) {\n"
    "                        const V x = GET(&tb[d][j]), y = GET(&tb[d][j + LANES]);\n"
    "                        s0 += ta[d][i]*x;     t0 += ta[d][i]*y;\n"
    "                        s1 += ta[d][i + 1]*x; t1 += ta[d][i + 1]*y;\n"
    "                        s2 += ta[d][i + 2]*x; t2 += ta[d][i + 2]*y;\n"
    "                        s3 += ta[d][i + 3]*x; t3 += ta[d][i + 3]*y;\n"
    "                    }\n"
    "                    ADD(s0, &sum[i][j]);     ADD(t0, &sum[i][j + LANES]);\n"
    "                    ADD(s1, &sum[i + 1][j]); ADD(t1, &sum[i + 1][j + LANES]);\n"
    "                    ADD(s2, &sum[i + 2][j]); ADD(t2, &sum[i + 2][j + LANES]);\n"
    "                    ADD(s3, &sum[i + 3][j]); ADD(t3, &sum[i + 3][j + LANES]);\n"
    "                }\n"
    "        }\n"
    "        for (int i = 0; i < rows; i++)\n"
    "            for (int j = 0; j < columns; j++) c[i*c_row + j*c_col] = KEPT(sum[i][j]);\n"
    "    }\n"
    "}\n";

static const char lanes_text[] =
    "#define JOINED(x, y) x##y\n#define JOIN(x, y) JOINED(x, y)\n"
    "#define GET(at) JOIN(vload, LANES)(0, at)\n"
    "#define ADD(v, at) JOIN(vstore, LANES)(GET(at) + v, 0, at)\n";

static void write_gemm(Ctx *ctx, Buf *b, unsigned caps, DType dt)
{
    GpuForm form = { .n = NULL };
    GpuSource s = { .ctx = ctx, .form = &form, .caps = caps, .seen = 1u << dt };
    bool real = dtype_info(dt)->kind == 'f', half = gpu_runs_in(dt) != dt;
    gpu_prelude(&s, b);
    buf_printf(b, "#define S %s\n#define A %s\n", gpu_stored(dt),
               real ? gpu_type(gpu_runs_in(dt)) : "u64");
    buf_printf(b, half ? "#define VALUE(x) %s_value(x)\n" : "#define VALUE(x) x\n", dtype_name(dt));
    buf_printf(b, half ? "#define KEPT(x) %s_bits(x)\n" : "#define KEPT(x) (S)(x)\n",
               dtype_name(dt));
    if (caps & DEVCAP_CPU) {                /* vectors of 32 bytes */
        int lanes = gpu_runs_in(dt) == DT_F32 ? 8 : 4;
        buf_printf(b, "#define LANES %d\n#define V %s%d\n", lanes,
                   !real ? "ulong" : lanes == 8 ? "float" : "double", lanes);
        buf_puts(b, lanes_text);
    }
    buf_puts(b, caps & DEVCAP_CPU ? gemm_rows_text : gemm_text);
}

static DevArg number(const int64_t *v) { return (DevArg){ .value = v, .bytes = sizeof *v }; }

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }

static void run_tiled(Ctx *ctx, Device *d, const GpuProduct *p)
{
    char key[8] = "gemm";
    key[5] = (char)p->dtype;
    const GpuKernel *kernel = gpu_find(d, key, sizeof key);
    if (!kernel) {
        Buf text;
        buf_init(&text, ctx);
        write_gemm(ctx, &text, d->caps, p->dtype);
        kernel = gpu_build(ctx, d, key, sizeof key, buf_cstr(&text), "gemm", NULL, 0);
        buf_free(&text);
    }
    DevArg arg[] = {
        p->a.at, p->b.at, p->c.at, number(&p->m), number(&p->n), number(&p->k), number(&p->count),
        number(&p->a.row), number(&p->a.column), number(&p->a.batch), number(&p->b.row),
        number(&p->b.column),
        number(&p->b.batch), number(&p->c.row), number(&p->c.column), number(&p->c.batch),
    };
    DevGrid grid = { .groups = { (size_t)at_most(ceil_div(p->n, 64), 65535),
                                 (size_t)at_most(ceil_div(p->m, 64), 65535),
                                 (size_t)at_most(p->count, 65535) },
                     .local = { d->caps & DEVCAP_CPU ? 1 : GPU_GROUP, 1, 1 } };
    gpu_launch(ctx, d, kernel, &grid, arg, (int)(sizeof arg / sizeof *arg));
}

/* ---- the library's ---- */
/* Small products are not worth a library that builds a kernel for each kind first: a processor's
 * compiler takes seconds for one. */
static bool worth_a_library(const Device *d, DType dt, int64_t m, int64_t n, int64_t k,
                            int64_t count)
{
    double work = (double)m * (double)n * (double)k * (double)count;
    double least = d->caps & DEVCAP_CUDA ? 4096 : d->caps & DEVCAP_CPU ? 512 * 512 * 512
                                                                       : 64 * 64 * 64;
    return d->math.gemm && dtype_info(dt)->kind == 'f' && work >= least;
}

/* A matrix with one dense direction; one of a single row or column has any. */
static bool as_library(const GpuMatrix *m, int64_t rows, int64_t columns, int64_t bytes,
                       DevMatrix *out)
{
    *out = (DevMatrix){ .mem = m->at.mem, .at = (int64_t)m->at.at / bytes, .batch = m->batch };
    if (m->at.at % (size_t)bytes)
        return false;
    if ((m->column == 1 || columns == 1) && (m->row >= columns || rows == 1)) {
        out->ld = rows == 1 ? columns : m->row;
        return true;
    }
    out->transposed = true;
    out->ld = columns == 1 ? rows : m->column;
    return (m->row == 1 || rows == 1) && (m->column >= rows || columns == 1);
}

static bool run_library(Ctx *ctx, Device *d, const GpuProduct *p)
{
    int64_t bytes = dtype_info(p->dtype)->bytes;
    DevGemm g = { .dtype = p->dtype, .m = p->m, .n = p->n, .k = p->k, .count = p->count };
    if (!worth_a_library(d, p->dtype, p->m, p->n, p->k, p->count) ||
        !as_library(&p->a, p->m, p->k, bytes, &g.a) ||
        !as_library(&p->b, p->k, p->n, bytes, &g.b) || !as_library(&p->c, p->m, p->n, bytes, &g.c))
        return false;
    if (g.c.transposed) {               /* C' = B' A' */
        DevMatrix a = g.a;
        g.a = g.b;
        g.b = a;
        g.a.transposed = !g.a.transposed;
        g.b.transposed = !g.b.transposed;
        g.c.transposed = false;
        g.m = p->n;
        g.n = p->m;
    }
    gpu_poll(ctx, d);
    DevStatus s = d->math.gemm(d, &g);
    if (s == DEV_LACKS)
        return false;
    device_check(ctx, d, s, "a matrix product");
    d->counts.launches++;
    return true;
}

static void run_one(Ctx *ctx, Device *d, const GpuProduct *p)
{
    if (p->k == 0 || !run_library(ctx, d, p))
        run_tiled(ctx, d, p);
}

/* Where matrices lie at position `at` of loop l. */
static void step_to(GpuProduct *p, int l, int64_t at)
{
    int64_t bytes = at * dtype_info(p->dtype)->bytes;
    p->a.at.at += (size_t)(p->loop[l].step[0] * bytes);
    p->b.at.at += (size_t)(p->loop[l].step[1] * bytes);
    p->c.at.at += (size_t)(p->loop[l].step[2] * bytes);
}

void gpu_product(Ctx *ctx, Device *d, const GpuProduct *p)
{
    int64_t times = 1;
    if (p->m == 0 || p->n == 0 || p->count == 0)
        return;
    device_open(ctx, d);
    for (int l = 0; l < p->loops; l++)
        times *= p->loop[l].extent;
    for (int64_t t = 0; t < times; t++) {
        GpuProduct one = *p;
        int64_t left = t;
        for (int l = 0; l < p->loops; l++) {
            step_to(&one, l, left % p->loop[l].extent);
            left /= p->loop[l].extent;
        }
        run_one(ctx, d, &one);
    }
}

const char *gpu_gemm_library(const Device *d, const DevGemm *g)
{
    if (d->caps & DEVCAP_GRID)
        return "ScaLAPACK";
    bool taken = d->caps & DEVCAP_CUDA || g->dtype == DT_F32 || g->dtype == DT_F64;
    if (g->k == 0 || !taken || !worth_a_library(d, g->dtype, g->m, g->n, g->k, g->count))
        return NULL;
    return d->caps & DEVCAP_CUDA ? "cuBLAS" : "CLBlast";
}

/* ---- a nest that is a product ---- */
static int stripped(const Nest *n, int id)
{
    const NestNode *node = &n->node[id];
    bool widens = node->kind == NEST_CAST &&
                  gpu_runs_in((DType)n->node[node->arg[0]].dtype) == (DType)node->dtype;
    return widens ? node->arg[0] : id;
}

/* root = (cast) sum (cast) of (cast) load * (cast) load, loads and root of one float dtype or i64;
 * the casts are those of halves to f32. */
static bool find_factors(const Nest *n, const NestLoad **a, const NestLoad **b, uint64_t *bound)
{
    const NestNode *sum = &n->node[n->root];
    DType dt = (DType)sum->dtype;
    if (sum->kind == NEST_CAST)
        sum = &n->node[sum->arg[0]];
    if (sum->kind != NEST_REDUCE || sum->op != NEST_SUM || (DType)sum->dtype != gpu_runs_in(dt))
        return false;
    const NestNode *product = &n->node[stripped(n, sum->arg[0])];
    DType in = (DType)product->compute;
    if (product->kind != NEST_EW || product->op != EW_MULTIPLY ||
        (in != dt && in != gpu_runs_in(dt)) || product->watch)
        return false;
    const NestNode *x = &n->node[stripped(n, product->arg[0])],
                   *y = &n->node[stripped(n, product->arg[1])];
    if (x->kind != NEST_LOAD || y->kind != NEST_LOAD ||
        (dtype_info(dt)->kind != 'f' && dt != DT_I64) ||
        n->load[x->slot].dtype != dt || n->load[y->slot].dtype != dt)
        return false;
    *a = &n->load[x->slot];
    *b = &n->load[y->slot];
    *bound = sum->bound;
    return !(*a)->gathers && !(*b)->gathers;
}

/* Axes by what they are: m, n, k, batch; the longest of each, the others are loops. */
static bool find_roles(const Nest *n, const NestLoad *a, const NestLoad *b, uint64_t bound,
                       int axis[4], uint64_t *loops)
{
    double times = 1;
    for (int i = 0; i < n->indices; i++) {
        bool in_a = a->stride[i] != 0, in_b = b->stride[i] != 0, summed = bound >> i & 1;
        int role = in_a && in_b ? (summed ? 2 : 3) : in_a ? 0 : 1, other = i;
        if ((!in_a && !in_b) || (summed && role != 2) || (summed && axis[role] >= 0))
            return false;
        if (axis[role] < 0 || n->index[i].extent > n->index[axis[role]].extent) {
            other = axis[role];
            axis[role] = i;
        }
        if (other >= 0) {
            *loops |= UINT64_C(1) << other;
            times *= (double)n->index[other].extent;
        }
    }
    return times <= 256 && __builtin_popcountll(*loops) <= GPU_LOOPS;
}

bool gpu_product_read(const GpuForm *f, const DevArg *out, const DevArg *data, GpuProduct *p)
{
    const Nest *n = f->n;
    const NestLoad *a, *b;
    uint64_t bound, loops = 0;
    int axis[4] = { -1, -1, -1, -1 };
    if (f->reduces != 1 || !find_factors(n, &a, &b, &bound) ||
        !find_roles(n, a, b, bound, axis, &loops))
        return false;
    for (int r = 0; r < 3; r++)
        if (axis[r] < 0 || n->index[axis[r]].extent < 8)
            return false;
    int mi = axis[0], ni = axis[1], ki = axis[2], bi = axis[3];
    *p = (GpuProduct){
        .dtype = a->dtype, .m = n->index[mi].extent, .n = n->index[ni].extent,
        .k = n->index[ki].extent,
        .count = bi < 0 ? 1 : n->index[bi].extent,
        .a = { data[a->slot], a->stride[mi], a->stride[ki], bi < 0 ? 0 : a->stride[bi] },
        .b = { data[b->slot], b->stride[ki], b->stride[ni], bi < 0 ? 0 : b->stride[bi] },
        .c = { *out, f->out_stride[mi], f->out_stride[ni], bi < 0 ? 0 : f->out_stride[bi] },
    };
    for (int i = 0; i < n->indices; i++)
        if (loops >> i & 1) {
            p->loop[p->loops].extent = n->index[i].extent;
            p->loop[p->loops].step[0] = a->stride[i];
            p->loop[p->loops].step[1] = b->stride[i];
            p->loop[p->loops++].step[2] = f->out_stride[i];
        }
    return true;
}
