/* Lines of equal height by marching squares: each square of four samples is crossed by none, one
 * or two pieces, whose ends are found by linear interpolation. Where opposite corners lie on one
 * side the mean of the four decides which pair is joined. A corner on the level counts as above,
 * so every sign pattern is one of sixteen. Squares with a corner that is not finite are empty.
 * Pieces are joined into lines at the edges of squares that they share. */
#include "builtins/pictures/picture.h"

#include <math.h>
#include <stdlib.h>

/* Corners: 0 1 below, 3 2 above; `edge`: the numbers of its edges, as in crossing(). */
typedef struct Square { double z[4], x0, x1, y0, y1; int64_t edge[4]; } Square;

/* Where the level crosses edge e: 0 bottom, 1 right, 2 top, 3 left. Halves, since differences of
 * large numbers overflow. */
static void crossing(const Square *s, double level, int e, double out[2])
{
    double a = s->z[e], b = s->z[(e + 1) % 4];
    double t = (level / 2 - a / 2) / (b / 2 - a / 2);
    t = t > 0 ? t < 1 ? t : 1 : 0;
    double across = e == 0 ? t : e == 2 ? 1 - t : e == 1, up = e == 1 ? t : e == 3 ? 1 - t : e == 2;
    out[0] = s->x0 + (s->x1 - s->x0) * across;
    out[1] = s->y0 + (s->y1 - s->y0) * up;
}

typedef struct Pieces { Piece *out; int64_t count; double level; } Pieces;

static void add_piece(Pieces *p, const Square *s, int from, int to)
{
    Piece *out = p->out ? p->out + p->count : NULL;
    p->count++;
    if (!out)
        return;
    crossing(s, p->level, from, out->end[0]);
    crossing(s, p->level, to, out->end[1]);
    out->edge[0] = s->edge[from];
    out->edge[1] = s->edge[to];
}

static void add_square(Pieces *p, const Square *s)
{
    /* The edges that a piece joins, for the pattern of corners above; -1: none. */
    static const int8_t edges[16][2] = {
        { -1, -1 }, { 3, 0 }, { 0, 1 }, { 3, 1 }, { 1, 2 }, { -2, -2 }, { 0, 2 }, { 3, 2 },
        { 2, 3 }, { 2, 0 }, { -2, -2 }, { 2, 1 }, { 1, 3 }, { 1, 0 }, { 0, 3 }, { -1, -1 }
    };
    int above = 0;
    for (int i = 0; i < 4; i++)
        above |= (s->z[i] >= p->level) << i;
    int from = edges[above][0];
    if (from >= 0)
        add_piece(p, s, from, edges[above][1]);
    if (from != -2)
        return;
    bool centre = s->z[0] / 4 + s->z[1] / 4 + s->z[2] / 4 + s->z[3] / 4 >= p->level;
    /* Corners 0 and 2 above: with the centre above they are joined, and 1 and 3 are cut off. */
    bool cut_odd = centre == (above == 5);
    add_piece(p, s, cut_odd ? 0 : 3, cut_odd ? 1 : 0);
    add_piece(p, s, cut_odd ? 2 : 1, cut_odd ? 3 : 2);
}

/* The edge to the right of sample (i, j) has the number 2 (i cols + j), the one up from it the
 * next. */
static Square square_at(const Field *f, int64_t i, int64_t j)
{
    const double *below = f->z + i * f->cols + j, *up = below + f->cols;
    int64_t first = 2 * (i * f->cols + j), next = first + 2 * f->cols;
    return (Square){ { below[0], below[1], up[1], up[0] }, f->x[j], f->x[j + 1], f->y[i],
                     f->y[i + 1],
                     { first, first + 3, next, first + 1 } };
}

int64_t contour_pieces(Interp *in, const Field *f, double level, Piece *out)
{
    Pieces p = { out, 0, level };
    for (int64_t i = 0; i + 1 < f->rows; i++) {
        poll_interrupt(in);
        for (int64_t j = 0; j + 1 < f->cols; j++) {
            Square s = square_at(f, i, j);
            if (isfinite(s.z[0]) && isfinite(s.z[1]) && isfinite(s.z[2]) && isfinite(s.z[3]))
                add_square(&p, &s);
        }
    }
    return p.count;
}

/* ---- lines ---- */

static int compare_ends(const void *a, const void *b)
{
    int64_t x = ((const PieceEnd *)a)->edge, y = ((const PieceEnd *)b)->edge;
    return (x > y) - (x < y);
}

/* End number 2 k + s is end s of piece k. *other[e]: the end of another piece on its edge, or
 * -1. */
static void pair_ends(const Piece *pieces, int64_t n, PieceEnd *ends, int64_t *other)
{
    for (int64_t e = 0; e < 2 * n; e++) {
        ends[e] = (PieceEnd){ pieces[e / 2].edge[e % 2], e };
        other[e] = -1;
    }
    qsort(ends, (size_t)(2 * n), sizeof *ends, compare_ends);
    for (int64_t e = 0; e + 1 < 2 * n; e++)
        if (ends[e].edge == ends[e + 1].edge) {
            other[ends[e].end] = ends[e + 1].end;
            other[ends[e + 1].end] = ends[e].end;
        }
}

static double *put_point(double *xy, const Piece *pieces, int64_t e)
{
    *xy++ = pieces[e / 2].end[e % 2][0];
    *xy++ = pieces[e / 2].end[e % 2][1];
    return xy;
}

/* The pieces from end e on, as far as they are joined; other[] of what is written becomes -2. */
static double *put_line(double *xy, const Piece *pieces, int64_t *other, int64_t e)
{
    xy = put_point(xy, pieces, e);
    while (e >= 0 && other[e] != -2) {
        int64_t far = e ^ 1;
        xy = put_point(xy, pieces, far);
        e = other[far];
        other[far] = other[far ^ 1] = -2;
    }
    *xy++ = NAN;
    *xy++ = NAN;
    return xy;
}

int64_t contour_lines(const Piece *pieces, int64_t n, PieceEnd *ends, int64_t *other, double *xy)
{
    double *to = xy;
    pair_ends(pieces, n, ends, other);
    for (int64_t e = 0; e < 2 * n; e++)
        if (other[e] == -1)
            to = put_line(to, pieces, other, e);
    for (int64_t e = 0; e < 2 * n; e++)          /* what is left are rings */
        if (other[e] != -2)
            to = put_line(to, pieces, other, e);
    return (to - xy) / 2;
}
