/* THE redistribution: a dense tensor and a view of another one, element by element in either
 * direction. Each rank walks over its slab of the dense one, which tells it whose every element is;
 * what ranks want of each other they say as runs, in rounds of bounded room. In a round every pair
 * of ranks meets once, the lower one speaking first. */
#include "kernels/grid/grid_walk.h"

#include <stdlib.h>
#include <string.h>

enum { RUNS = 1 << 14, ELEMENTS = 1 << 20 };     /* the most of a round */

typedef struct Move {
    GridRank *g;
    GridTensor *base, *dense;
    bool pack;                   /* dense = base's; else the other way */
    size_t bytes;
    GridWalk walk;
    GridRun ahead;               /* a run that had no room in the last round */
    bool has_ahead, more;
    GridRun *found, *runs, *theirs;      /* as they were found; by owner; a partner's */
    int64_t count, elements, room;
    int64_t *first, *last;       /* of each owner: its part of `runs`; its newest in `found` */
    char *data, *their_data;
} Move;

typedef struct Head { int64_t runs, elements, more; } Head;

/* ---- what is wanted ---- */
/* Goes on with the newest run of that owner where both are one. */
static bool joined(Move *m, const GridRun *r)
{
    int64_t at = m->last[r->owner];
    GridRun *l = at < 0 ? NULL : &m->found[at];
    if (!l || l->to + l->count != r->to)
        return false;
    int64_t step = l->count == 1 ? r->at - l->at : l->step;
    if ((r->count > 1 && r->step != step) || r->at != l->at + step * l->count)
        return false;
    l->step = step;
    l->count += r->count;
    return true;
}

static void take_run(Move *m, const GridRun *r)
{
    if (!joined(m, r)) {
        m->last[r->owner] = m->count;
        m->found[m->count++] = *r;
    }
    m->elements += r->count;
}

/* The runs of a round: what has room. A run that has not is cut. */
static void find_runs(Move *m)
{
    m->count = m->elements = 0;
    for (int k = 0; k < m->g->ranks; k++)
        m->last[k] = -1;
    while (m->count < RUNS && m->elements < m->room) {
        if (!m->has_ahead && !grid_walk_next(&m->walk, &m->ahead))
            break;
        GridRun r = m->ahead;
        int64_t left = m->room - m->elements;
        m->has_ahead = r.count > left;
        if (m->has_ahead) {
            m->ahead.count -= left;
            m->ahead.at += left * r.step;
            m->ahead.to += left;
            r.count = left;
        }
        take_run(m, &r);
    }
    m->more = m->has_ahead || m->walk.left || m->walk.to < m->walk.slab.size;
}

static void by_owner(Move *m)
{
    memset(m->first, 0, (size_t)(m->g->ranks + 1) * sizeof *m->first);
    for (int64_t k = 0; k < m->count; k++)
        m->first[m->found[k].owner + 1]++;
    for (int k = 0; k < m->g->ranks; k++) {
        m->first[k + 1] += m->first[k];
        m->last[k] = m->first[k];
    }
    for (int64_t k = 0; k < m->count; k++)
        m->runs[m->last[m->found[k].owner]++] = m->found[k];
}

/* ---- how it goes ---- */
/* Elements of runs as they stand in base (or in dense), to or from one row of them. */
static void row_of_runs(Move *m, const GridRun *runs, int64_t count, bool base, bool gather,
                        char *row)
{
    char *data = grid_data(base ? m->base : m->dense);
    for (int64_t k = 0; k < count; k++) {
        const GridRun *r = &runs[k];
        char *at = data + (base ? r->at : r->to) * (int64_t)m->bytes;
        int64_t step = base ? r->step : 1;
        grid_copy_strided(m->bytes, r->count, gather ? row : at, gather ? 1 : step,
                          gather ? at : row, gather ? step : 1);
        row += (size_t)r->count * m->bytes;
    }
}

static void own_runs(Move *m)
{
    for (int64_t k = m->first[m->g->rank]; k < m->first[m->g->rank + 1]; k++) {
        const GridRun *r = &m->runs[k];
        char *base = grid_data(m->base) + r->at * (int64_t)m->bytes;
        char *dense = grid_data(m->dense) + r->to * (int64_t)m->bytes;
        grid_copy_strided(m->bytes, r->count, m->pack ? dense : base, m->pack ? 1 : r->step,
                          m->pack ? base : dense, m->pack ? r->step : 1);
    }
}

static void trade(Move *m, int with, const void *mine, size_t my_bytes, void *theirs,
                  size_t their_bytes)
{
    bool first = m->g->rank < with;
    if (first)
        grid_send(m->g, with, mine, my_bytes);
    grid_receive(m->g, with, theirs, their_bytes);
    if (!first)
        grid_send(m->g, with, mine, my_bytes);
}

static bool meet(Move *m, int with)
{
    const GridRun *mine = m->runs + m->first[with];
    Head head = { m->first[with + 1] - m->first[with], 0, m->more }, their;
    for (int64_t k = 0; k < head.runs; k++)
        head.elements += mine[k].count;
    trade(m, with, &head, sizeof head, &their, sizeof their);
    trade(m, with, mine, (size_t)head.runs * sizeof *mine, m->theirs,
          (size_t)their.runs * sizeof *m->theirs);
    size_t my_bytes = (size_t)head.elements * m->bytes;
    size_t their_bytes = (size_t)their.elements * m->bytes;
    if (m->pack) {
        row_of_runs(m, m->theirs, their.runs, true, true, m->their_data);
        trade(m, with, m->their_data, their_bytes, m->data, my_bytes);
        row_of_runs(m, mine, head.runs, false, false, m->data);
        m->g->between += their_bytes;
    } else {
        row_of_runs(m, mine, head.runs, false, true, m->data);
        trade(m, with, m->data, my_bytes, m->their_data, their_bytes);
        row_of_runs(m, m->theirs, their.runs, true, false, m->their_data);
        m->g->between += my_bytes;
    }
    return their.more != 0;
}

static void move(GridRank *g, GridTensor *base, const GridView *v, GridTensor *dense, bool pack)
{
    Move m = { .g = g, .base = base, .dense = dense, .pack = pack, .bytes = grid_bytes(base) };
    bool more;
    /* rank 0 has as much as any: the room for what partners ask for is its */
    int64_t most = grid_slab(&g->grid, 0, v->axes, v->shape).size;
    m.room = most < ELEMENTS ? most + !most : ELEMENTS;
    int64_t runs = m.room < RUNS ? m.room : RUNS;
    m.found = grid_work(g, (size_t)runs + 1, sizeof(GridRun));
    m.runs = grid_work(g, (size_t)runs + 1, sizeof(GridRun));
    m.theirs = grid_work(g, (size_t)runs + 1, sizeof(GridRun));
    m.first = grid_work(g, (size_t)g->ranks + 1, sizeof *m.first);
    m.last = grid_work(g, (size_t)g->ranks, sizeof *m.last);
    if (g->ranks > 1) {
        m.data = grid_work(g, (size_t)m.room, m.bytes);
        m.their_data = grid_work(g, (size_t)m.room, m.bytes);
    }
    grid_agree(g);
    grid_walk_start(&m.walk, g, v, base);
    do {
        find_runs(&m);
        by_owner(&m);
        own_runs(&m);
        more = m.more;
        for (int k = 0; k < g->ranks; k++) {
            int with = (k - g->rank + g->ranks) % g->ranks;
            if (with != g->rank)
                more |= meet(&m, with);
        }
    } while (more);
}

void grid_pack(GridRank *g, GridTensor *dense, const GridTensor *base, const GridView *v)
{
    move(g, (GridTensor *)base, v, dense, true);
}

void grid_assign(GridRank *g, GridTensor *base, const GridView *v, const GridTensor *dense)
{
    move(g, base, v, (GridTensor *)dense, false);
}

/* ---- views ---- */
GridView grid_view_dense(int axes, const int64_t *shape)
{
    GridView v = { .axes = axes };
    int64_t step = 1;
    for (int a = axes - 1; a >= 0; a--) {
        v.shape[a] = shape[a];
        v.stride[a] = step;
        step *= shape[a];
    }
    return v;
}

GridView grid_view_broadcast(const GridTensor *base, int axes, const int64_t *shape)
{
    GridView own = grid_view_dense(base->axes, base->shape), v = { .axes = axes };
    for (int a = 0; a < axes; a++) {
        int b = a - (axes - base->axes);
        v.shape[a] = shape[a];
        v.stride[a] = b >= 0 && base->shape[b] != 1 ? own.stride[b] : 0;
    }
    return v;
}

GridView grid_view_turned(const GridTensor *base)
{
    GridView v = { .axes = 2, .shape = { base->shape[1], base->shape[0] },
                   .stride = { 1, base->shape[1] } };
    return v;
}

/* ---- commands ---- */
void grid_do_pack(GridRank *g, Wire *in, Buf *out)
{
    GridView v;
    uint64_t id = wire_get_u64(in);
    const GridTensor *from = grid_find(g, wire_get_u64(in));
    (void)out;
    grid_read_view(g, in, from, &v);
    GridTensor *t = grid_tensor(g, from->dtype, v.axes, v.shape, false);
    grid_pack(g, t, from, &v);
    grid_keep(g, id, t);
}

static void unshare(GridRank *g, void *with)
{
    tensor_unshare(g->ctx, &((GridTensor *)with)->local);
}

void grid_do_assign(GridRank *g, Wire *in, Buf *out)
{
    GridView v;
    GridTensor *to = grid_find(g, wire_get_u64(in));
    (void)out;
    grid_read_view(g, in, to, &v);
    const GridTensor *from = grid_find(g, wire_get_u64(in));
    if (from->dtype != to->dtype || from->axes != v.axes ||
        memcmp(from->shape, v.shape, (size_t)v.axes * sizeof *v.shape) != 0)
        err_raise(g->ctx, ERR_DEVICE, "what is assigned does not fit the view");
    const GridTensor *own = from == to ? grid_twin(g, from) : from;
    grid_try(g, unshare, to);
    grid_agree(g);
    grid_assign(g, to, &v, own);
}
