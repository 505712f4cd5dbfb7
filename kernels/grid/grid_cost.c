/* What routines cost by grid, block and network: a count of what the algorithms do, along the lines
 * of the ScaLAPACK Users' Guide, chapter 5, with p and q apart. Each is a sum of: operations shared
 * by all ranks; panels that travel along rows and columns of the grid by trees; and, in
 * factorisations, messages for every column (pivots, reflectors). What it leaves out: that ranks
 * wait for each other, that messages overlap with work, uneven blocks at the end. */
#include "kernels/grid/grid.h"

#include <math.h>
#include <string.h>

/* Fitted to one rank of a machine with AVX-512; the unit test grid_cost measures when asked to. */
const GridNetwork grid_network_here = { 2e-6, 3e9, 6e10, 2.5e10 };

typedef struct Model {
    double m, n, k, p, q, nb, ranks, size;
    double hops_p, hops_q;       /* of a tree over a grid column, a grid row */
    double by;                   /* real operations in one of the type */
    GridCost *c;
} Model;

/* `flops` shared by all; `slow` of them read a matrix once for a vector. */
static void work(Model *m, double flops, double slow)
{
    m->c->flops += m->by * flops / m->ranks;
    m->c->slow += m->by * slow / m->ranks;
}

/* Factorising a panel: one grid column works, column by column, and the others wait. */
static void panels(Model *m, double flops)
{
    m->c->slow += m->by * flops / m->p;
    m->c->flops += m->by * flops * (1 / m->p - 1 / m->ranks);
}

/* Elements that a rank receives, and in how many messages. */
static void moved(Model *m, double elements, double messages)
{
    m->c->bytes += elements * m->size;
    m->c->messages += messages;
}

static void held(Model *m, double elements) { m->c->memory += elements / m->ranks * m->size; }

static double others(double procs) { return (procs - 1) / procs; }

/* Panels of nb columns: each rank gets its rows of what the column has, and its columns of rows. */
static void gemm(Model *m)
{
    work(m, 2 * m->m * m->n * m->k, 0);
    moved(m, m->k * (m->m / m->p * others(m->q) + m->n / m->q * others(m->p)),
          ceil(m->k / m->nb) * (m->hops_p + m->hops_q));
    held(m, m->m * m->k + m->k * m->n + m->m * m->n);
}

static void transpose(Model *m)
{
    moved(m, m->m * m->n / m->ranks * others(m->ranks), 3 * (m->ranks - 1));
    held(m, 2 * m->m * m->n);
}

/* Pivots are sought along a grid column, rows exchanged, panels sent along rows and columns. */
static void lu(Model *m)
{
    double k = fmin(m->m, m->n);
    work(m, 2 * (m->m * m->n * k - (m->m + m->n) * k * k / 2 + k * k * k / 3), 0);
    panels(m, m->nb * k * (m->m - k / 2));
    moved(m, k * (m->m - k / 2) / m->p * others(m->q) + k * (m->n - k / 2) / m->q * others(m->p) +
          m->n * k / m->q * others(m->p),
          k * 2 * m->hops_p + ceil(k / m->nb) * (2 * m->hops_q + m->hops_p + m->nb * others(m->p)));
    held(m, 2 * m->m * m->n);
}

/* Two triangles, block after block of the diagonal. */
static void triangles(Model *m, double n)
{
    work(m, 2 * n * n * m->k, 0);
    moved(m, 2 * n * m->k * (others(m->p) / m->q + others(m->q) / m->p),
          2 * ceil(n / m->nb) * (m->hops_p + m->hops_q));
    held(m, 2 * n * m->k);
}

static void solve(Model *m)
{
    lu(m);
    triangles(m, m->n);
}

static void chol(Model *m)
{
    work(m, m->n * m->n * m->n / 3, 0);
    moved(m, m->n * m->n / 2 * (others(m->q) / m->p + others(m->p) / m->q),
          ceil(m->n / m->nb) * (2 * m->hops_p + 2 * m->hops_q));
    held(m, 2 * m->m * m->n);
}

/* Norms and products with a vector for each column, then panels. */
static void qr(Model *m)
{
    double k = fmin(m->m, m->n);
    work(m, 4 * (m->m * m->n * k - (m->m + m->n) * k * k / 2 + k * k * k / 3), 0);
    panels(m, 2 * m->nb * k * (m->m - k / 2));
    moved(m, 2 * k * (m->m - k / 2) / m->p * others(m->q) + 2 * k * m->n / m->q * others(m->p),
          k * 4 * m->hops_p + ceil(k / m->nb) * 2 * (m->hops_q + m->hops_p));
    held(m, 3 * m->m * m->n);
}

static void lstsq(Model *m)
{
    qr(m);
    triangles(m, fmin(m->m, m->n));
}

/* To a tridiagonal matrix (half of it products with vectors), its values and vectors by divide and
 * conquer, and back. */
static void eigh(Model *m)
{
    double n3 = m->n * m->n * m->n, n2 = m->n * m->n;
    work(m, 4 * n3 / 3 + 8 * n3 / 3 + 2 * n3, 2 * n3 / 3);
    moved(m, 3 * n2 * (others(m->q) / m->p + others(m->p) / m->q),
          m->n * 4 * (m->hops_p + m->hops_q));
    held(m, 6 * n2);
}

/* To a bidiagonal matrix (half of it products with vectors), vectors formed, QR sweeps over them.
 * */
static void svd(Model *m)
{
    double k = fmin(m->m, m->n), big = fmax(m->m, m->n), reduce = 4 * k * k * (big - k / 3);
    work(m, reduce + 4 * k * k * (big - k / 3) + 6 * k * k * (big + k), reduce / 2 +
         6 * k * k * (big + k) / 2);
    moved(m, 4 * m->m * m->n * (others(m->q) / m->p + others(m->p) / m->q),
          k * 8 * (m->hops_p + m->hops_q));
    held(m, 4 * m->m * m->n + 2 * k * k);
}

static void (*const models[GRID_OPS])(Model *) = {
    [GRID_GEMM] = gemm, [GRID_PACK] = transpose, [GRID_LU] = lu, [GRID_DET] = lu,
    [GRID_SOLVE] = solve, [GRID_CHOL] = chol, [GRID_QR] = qr, [GRID_LSTSQ] = lstsq,
    [GRID_EIGH] = eigh, [GRID_SVD] = svd,
};

bool grid_cost(GridOp op, DType dt, int64_t m, int64_t n, int64_t k, const GridShape *g,
               const GridNetwork *net, GridCost *c)
{
    *c = (GridCost){ 0 };
    Model model = { .m = (double)m, .n = (double)n, .k = (double)k, .p = g->p, .q = g->q,
                    .nb = g->nb, .ranks = (double)g->p * g->q, .size = dtype_info(dt)->bytes,
                    .hops_p = ceil(log2(g->p)), .hops_q = ceil(log2(g->q)),
                    .by = dtype_info(dt)->kind == 'c' ? 4 : 1, .c = c };
    if (!models[op])
        return false;
    models[op](&model);
    /* a slow operation reads half an element; the others compute */
    c->seconds = (c->flops - c->slow) / net->flops +
                 c->slow * model.size / 2 / model.by / net->memory +
                 c->bytes / net->bandwidth + c->messages * net->latency;
    return true;
}
