/* Products of matrices where they lie, by panels. Without transpositions: panels of what is summed
 * over travel along the rows and columns of the grid, and every rank multiplies its parts of them
 * into its own part of the result. Where a factor is transposed its panels travel, the other one
 * stays, and the ranks' parts of a panel of the result are added up where it belongs. PBLAS does so
 * one block of the layout at a time; here a panel has as many blocks as keep the multiplier busy,
 * since each of them goes once through the result. */
#include "kernels/grid/grid_product.h"

#include "kernels/grid/scalapack.h"
#include "kernels/lapack/lapack.h"

#include <string.h>

enum { DEPTH = 384 };            /* columns of a panel, or rows */

/* Blocks s, s + turn, s + 2 turn … of an axis lie in one column of the grid where the axis goes
 * along columns, and in one row where it goes along rows: a panel is of such blocks. */
typedef struct Panels {
    GridRank *g;
    const GridFactors *f;
    GridTensor *c;
    int64_t length, blocks, turn, at_once;       /* of the axis that is cut */
    size_t bytes;
    char *left, *right;          /* room: rows x depth, depth x columns */
} Panels;

typedef struct Panel { int64_t block, count, depth; } Panel;

static int64_t turn_of(int p, int q)
{
    int64_t turn = p;
    while (turn % q)
        turn += p;
    return turn;
}

static int64_t width(const Panels *s, int64_t block)
{
    int64_t nb = s->g->grid.nb, left = s->length - block * nb;
    return left < nb ? left : nb;
}

/* Between the blocks of a panel, side by side, and a matrix that has them among its columns. */
static void copy_columns(const Panels *s, const GridTensor *t, const Panel *p, char *at, bool in)
{
    const GridShape *grid = &s->g->grid;
    size_t column = (size_t)t->slab.rows * s->bytes;
    for (int64_t i = 0, from = p->block; i < p->count; i++, from += s->turn) {
        char *own = grid_data(t) + (size_t)(from / grid->q * grid->nb) * column;
        size_t n = (size_t)width(s, from) * column;
        memcpy(in ? own : at, in ? at : own, n);
        at += n;
    }
}

/* The same among its rows: those of the panel stand below one another. */
static void copy_rows(const Panels *s, const GridTensor *t, const Panel *p, char *at, bool in)
{
    const GridShape *grid = &s->g->grid;
    for (int64_t j = 0; j < t->slab.cols; j++) {
        char *column = grid_data(t) + (size_t)(j * t->slab.rows) * s->bytes;
        for (int64_t i = 0, from = p->block; i < p->count; i++, from += s->turn) {
            char *own = column + (size_t)(from / grid->p * grid->nb) * s->bytes;
            size_t n = (size_t)width(s, from) * s->bytes;
            memcpy(in ? own : at, in ? at : own, n);
            at += n;
        }
    }
}

/* A panel of A's columns, known to the grid row: where it lies, if that is in one piece. */
static char *left_panel(const Panels *s, const Panel *p)
{
    GridRank *g = s->g;
    const GridTensor *a = s->f->a;
    int owner = (int)(p->block % g->grid.q);
    size_t column = (size_t)a->slab.rows * s->bytes;
    char *at = s->left;
    if (g->col == owner && s->turn == g->grid.q)
        at = grid_data(a) + (size_t)(p->block / g->grid.q * g->grid.nb) * column;
    else if (g->col == owner)
        copy_columns(s, a, p, at, false);
    grid_share(g, SCOPE_ROW, owner, at, (size_t)p->depth * column);
    return at;
}

/* A panel of B's rows, known to the grid column. */
static char *right_panel(const Panels *s, const Panel *p)
{
    GridRank *g = s->g;
    int owner = (int)(p->block % g->grid.p);
    if (g->row == owner)
        copy_rows(s, s->f->b, p, s->right, false);
    grid_share(g, SCOPE_COLUMN, owner, s->right,
               (size_t)(p->depth * s->f->b->slab.cols) * s->bytes);
    return s->right;
}

typedef struct Part { const char *at; char how; int64_t rows; } Part;

/* c = a b, or c += a b, of what this rank has: m x n, k is summed over. */
static void multiply(const Panels *s, int64_t m, int64_t n, int64_t k, Part a, Part b, char *c,
                     bool add)
{
    BlasType type = blas_type(s->c->dtype);
    int mi = (int)m, ni = (int)n, ki = (int)k, ldc = m ? mi : 1;
    int lda = a.rows ? (int)a.rows : 1, ldb = b.rows ? (int)b.rows : 1;
    _Alignas(16) char one[16], before[16];
    mat_store(type, one, 0, 1, 0);
    mat_store(type, before, 0, add, 0);
    if (m && n)
        scalapack.own_gemm[type](&a.how, &b.how, &mi, &ni, &ki, one, a.at, &lda, b.at, &ldb,
                                 before, c, &ldc, 1, 1);
}

/* ---- the three of them ---- */
static void panel_plain(const Panels *s, const Panel *p)
{
    const GridSlab *c = &s->c->slab;
    Part a = { left_panel(s, p), 'N', c->rows }, b = { right_panel(s, p), 'N', p->depth };
    multiply(s, c->rows, c->cols, p->depth, a, b, grid_data(s->c), p->block != 0);
}

/* A' B: rows of the result, from columns of A and from the rows of B that each has. */
static void panel_left(const Panels *s, const Panel *p)
{
    GridRank *g = s->g;
    const GridTensor *b = s->f->b;
    int owner = (int)(p->block % g->grid.p);
    Part left = { left_panel(s, p), s->f->ta, s->f->a->slab.rows };
    Part right = { grid_data(b), 'N', b->slab.rows };
    multiply(s, p->depth, b->slab.cols, b->slab.rows, left, right, s->right, false);
    grid_sum_to(g, SCOPE_COLUMN, owner, s->c->dtype, p->depth * b->slab.cols, s->right);
    if (g->row == owner)
        copy_rows(s, s->c, p, s->right, true);
}

/* A B': columns of the result, from rows of B and from the columns of A that each has. */
static void panel_right(const Panels *s, const Panel *p)
{
    GridRank *g = s->g;
    const GridTensor *a = s->f->a;
    int owner = (int)(p->block % g->grid.q);
    Part left = { grid_data(a), 'N', a->slab.rows };
    Part right = { right_panel(s, p), s->f->tb, p->depth };
    multiply(s, a->slab.rows, p->depth, a->slab.cols, left, right, s->left, false);
    grid_sum_to(g, SCOPE_ROW, owner, s->c->dtype, p->depth * a->slab.rows, s->left);
    if (g->col == owner)
        copy_columns(s, s->c, p, s->left, true);
}

bool grid_product_pays(const GridRank *g, const GridFactors *f)
{
    int64_t m = 4 * f->m, n = 4 * f->n, k = 4 * f->k;
    if (!f->m || !f->n || !f->k || g->ranks == 1)
        return f->m && f->n && f->k;
    if (f->b->axes == 1 || (f->ta != 'N' && f->tb != 'N'))
        return false;
    if (f->ta != 'N')
        return n >= f->m && (g->grid.p == 1 || k >= f->m);
    if (f->tb != 'N')
        return m >= f->n && (g->grid.q == 1 || k >= f->n);
    return m >= f->k && n >= f->k;
}

static void all_panels(Panels *s, void (*one)(const Panels *, const Panel *))
{
    GridRank *g = s->g;
    int64_t nb = g->grid.nb, most;
    s->turn = turn_of(g->grid.p, g->grid.q);
    s->blocks = (s->length + nb - 1) / nb;
    s->at_once = (DEPTH + nb - 1) / nb;
    most = (s->blocks + s->turn - 1) / s->turn;
    s->at_once = s->at_once < most ? s->at_once : most;
    s->left = grid_work(g, (size_t)(s->at_once * nb * s->f->a->slab.rows), s->bytes);
    s->right = grid_work(g, (size_t)(s->at_once * nb * s->f->b->slab.cols), s->bytes);
    grid_agree(g);
    for (int64_t kind = 0; kind < s->turn; kind++)
        for (int64_t at = kind; at < s->blocks; at += s->at_once * s->turn) {
            Panel p = { at, 0, 0 };
            for (int64_t i = at; p.count < s->at_once && i < s->blocks; i += s->turn, p.count++)
                p.depth += width(s, i);
            one(s, &p);
        }
}

void grid_product(GridRank *g, GridTensor *c, const GridFactors *f)
{
    Panels s = { .g = g, .f = f, .c = c, .bytes = grid_bytes(c) };
    if (g->ranks == 1) {
        Part a = { grid_data(f->a), f->ta, f->a->slab.rows };
        Part b = { grid_data(f->b), f->tb, f->b->slab.rows };
        multiply(&s, f->m, f->n, f->k, a, b, grid_data(c), false);
        return;
    }
    s.length = f->ta != 'N' ? f->m : f->tb != 'N' ? f->n : f->k;
    all_panels(&s, f->ta != 'N' ? panel_left : f->tb != 'N' ? panel_right : panel_plain);
}
