/* The gradient of attention for one real type. With P = e^(score - lse), which is made again tile
 * by tile, and W the cotangent of the result: dV = P' W, dS = P (W V' - rowsum(W out) + w_lse),
 * dK = scale dS' Q, dQ = scale dS K. One pass: a thread takes a block of keys through all queries,
 * and the sums of dQ take their blocks of keys in turn, in the same order whoever comes first.
 * Included by attention_type.tmpl.h. */

static bool FN(direct)(const Attention *a, const AttentionMat *x, int64_t cols)
{
    return a->dt == KERNEL_TYPE && x->col == 1 && cols % LANES == 0;
}

static int64_t FN(lay_head)(const Attention *a, AttentionHead *h, char *memory)
{
    int64_t n = attention_filled(a->n, ATTENTION_QUERIES), at = 0;
#define LAY(name, count, type) \
    h->name = (void *)(memory ? memory + at : NULL), \
    at += attention_filled((count) * (int64_t)sizeof(type), 64)
    LAY(qt, n * a->d, T);
    LAY(wt, n * a->e, T);
    LAY(q, FN(direct)(a, &a->q, a->d) ? 0 : n * attention_filled(a->d, LANES), T);
    LAY(w, FN(direct)(a, &a->w, a->e) ? 0 : n * attention_filled(a->e, LANES), T);
    LAY(lse, n, T);
    LAY(share, n, T);
    LAY(delta, n, T);
    LAY(dqt, n * a->d, T);
    LAY(least_q, FN(dot)(a) ? n / PANEL : 0, int);
    LAY(least_w, FN(dot)(a) ? n / PANEL : 0, int);
    LAY(turn, n / ATTENTION_QUERIES, int64_t);
#undef LAY
    return at;
}

static int64_t FN(head_bytes)(const Attention *a)
{
    AttentionHead h;
    return FN(lay_head)(a, &h, NULL);
}
static void FN(head_parts)(const Attention *a, AttentionHead *h, char *memory)
{
    FN(lay_head)(a, h, memory);
}

typedef struct FN(Back) { T *s, *ds, *k, *v, *k_pairs, *v_pairs, *dk, *dv; } FN(Back);

static int64_t FN(back_parts)(const Attention *a, FN(Back) *p, T *memory)
{
    int64_t at = 0, rows = ATTENTION_KEYS > PANEL ? ATTENTION_KEYS : PANEL;
    int64_t d = attention_filled(a->d, LANES), e = attention_filled(a->e, LANES);
    PART(s, ATTENTION_KEYS * PANEL);
    PART(ds, ATTENTION_KEYS * PANEL);
    PART(k, rows * d);
    PART(v, rows * e);
    PART(k_pairs, FN(dot)(a) ? ATTENTION_KEYS * d : 0);
    PART(v_pairs, FN(dot)(a) ? ATTENTION_KEYS * e : 0);
    PART(dk, ATTENTION_KEYS * d);
    PART(dv, ATTENTION_KEYS * e);
    return at * (int64_t)sizeof(T);
}

static int64_t FN(back_scratch)(const Attention *a)
{
    FN(Back) p;
    return FN(back_parts)(a, &p, NULL);
}

/* sum(w out) - w_lse, which is taken off every slope of a query. */
static T FN(delta_of)(const Attention *a, int64_t head, int64_t i)
{
    T w[64], out[64];
    int64_t bytes = dtype_info(a->dt)->bytes;
    double sum = 0;
    for (int64_t c = 0; c < a->e; c += 64) {
        int64_t many = a->e - c < 64 ? a->e - c : 64;
        cast_plain(KERNEL_TYPE, w, 1, a->dt,
                   a->w.data + (FN(start)(&a->w, head, i) + c * a->w.col) * bytes, a->w.col, many);
        cast_plain(KERNEL_TYPE, out, 1, a->dt,
                   a->out.data + (FN(start)(&a->out, head, i) + c * a->out.col) * bytes,
                   a->out.col, many);
        for (int64_t k = 0; k < many; k++)
            sum += (double)w[k] * (double)out[k];
    }
    if (a->w_lse.data)
        sum -= (double)((const T *)a->w_lse.data)[FN(start)(&a->w_lse, head, i)];
    return (T)sum;
}

static void FN(back_begin)(const Attention *a, const AttentionHead *h, int64_t head, int64_t block,
                           char *scratch)
{
    FN(Back) p;
    FN(back_parts)(a, &p, (T *)scratch);
    int64_t i0 = block * ATTENTION_QUERIES, queries = a->n - i0;
    int64_t d = attention_filled(a->d, LANES), e = attention_filled(a->e, LANES), from, to;
    queries = queries < ATTENTION_QUERIES ? queries : ATTENTION_QUERIES;
    if (FN(dot)(a)) {
        FN(turn_pairs)((uint32_t *)h->qt + i0 * ((a->d + 1) / 2), p.k, h->least_q + i0 / PANEL,
                       &a->q, a->d, head, i0, queries);
        FN(turn_pairs)((uint32_t *)h->wt + i0 * ((a->e + 1) / 2), p.v, h->least_w + i0 / PANEL,
                       &a->w, a->e, head, i0, queries);
    } else {
        FN(turn_block)((T *)h->qt + i0 * a->d, p.k, a, &a->q, a->d, head, i0, queries, (T)a->scale);
        FN(turn_block)((T *)h->wt + i0 * a->e, p.v, a, &a->w, a->e, head, i0, queries, 1);
    }
    if (!FN(direct)(a, &a->q, a->d))
        FN(copy)((T *)h->q + i0 * d, d, &a->q, a->dt, head, i0, queries, a->d);
    if (!FN(direct)(a, &a->w, a->e))
        FN(copy)((T *)h->w + i0 * e, e, &a->w, a->dt, head, i0, queries, a->e);
    for (int64_t i = 0; i < ATTENTION_QUERIES; i++) {
        T lse = (T)INFINITY, rest = 0;
        if (i < queries && a->rest.data)
            rest = ((const T *)a->rest.data)[FN(start)(&a->rest, head, i0 + i)];
        if (i < queries)
            lse = ((const T *)a->lse.data)[FN(start)(&a->lse, head, i0 + i)];
        ((T *)h->lse)[i0 + i] = lse == -(T)INFINITY ? (T)INFINITY : lse;
        ((T *)h->share)[i0 + i] = 1 - rest;
        ((T *)h->delta)[i0 + i] = i < queries ? FN(delta_of)(a, head, i0 + i) : 0;
    }
    memset((T *)h->dqt + i0 * a->d, 0, (size_t)(ATTENTION_QUERIES * a->d) * sizeof(T));
    attention_seen(a, i0, i0 + queries, &from, &to);
    atomic_init(&h->turn[block], from / ATTENTION_KEYS);
}

/* Weights from scores, and slopes of the scores from the products of w and v. */
static void FN(slopes)(const FN(Tile) *t, T *ds, const AttentionHead *h)
{
    const T *lse = (const T *)h->lse + t->i0, *share = (const T *)h->share + t->i0,
            *delta = (const T *)h->delta + t->i0;
    for (int64_t v = 0; v < t->vectors; v++) {
        V l = FN(load)(lse + v * LANES), part = FN(load)(share + v * LANES),
          off = FN(load)(delta + v * LANES);
        for (int64_t j = 0; j < t->keys; j++) {
            T *s = t->s + j * PANEL + v * LANES, *x = ds + j * PANEL + v * LANES;
            V p = FN(exp)(FN(load)(s) - l) * part;
            FN(store)(s, p);
            FN(store)(x, p * (FN(load)(x) - off));
        }
    }
}

/* ds added to the gradient of the bias; where that has one row or column for all, their sums. */
static void FN(give_bias)(const FN(Tile) *t, const T *ds)
{
    const AttentionMat *b = &t->a->dbias;
    T *to = (T *)b->data + FN(start)(b, t->head, t->i0) + t->j0 * b->col;
    if (b->row && b->col == 1) {
        FN(add_turned)(to, b->row, ds, PANEL, t->queries, t->keys);
        return;
    }
    for (int64_t i = 0; i < t->queries; i++)
        for (int64_t j = 0; j < t->keys; j++)
            to[i * b->row + j * b->col] += ds[j * PANEL + i];
}

/* What a tile of keys and queries reads. */
typedef struct FN(Reads) {
    const T *k, *v, *q, *w;
    int64_t ldk, ldv, ldq, ldw;
    /* what queries, turned, are multiplied with: k and v, or their pairs */
    const void *by_k, *by_v;
    int64_t ld_by_k, ld_by_v;
    int least_k, least_v;
} FN(Reads);

/* Adds to dk and dv of the block of keys, and leaves the slopes in p->ds. True: a part of it is
 * not seen, and something in it is not finite. */
static bool FN(back_tile)(FN(Tile) *t, const AttentionHead *h, const FN(Back) *p,
                          const FN(Reads) *r)
{
    const Attention *a = t->a;
    int64_t d = attention_filled(a->d, LANES), e = attention_filled(a->e, LANES);
    bool exact = t->dot && bf16_may_flush(r->least_v, h->least_w[t->i0 / PANEL]);
    t->exact = t->dot && bf16_may_flush(r->least_k, h->least_q[t->i0 / PANEL]);
    FN(scores)(t, r->by_k, r->ld_by_k,
               (const T *)h->qt + t->i0 * FN(turned_depth)(a->d, t->dot != NULL));
    FN(with_turned)(t, r->by_v, r->ld_by_v,
                    (const T *)h->wt + t->i0 * FN(turned_depth)(a->e, t->dot != NULL), a->e, 1,
                    exact, p->ds);
    FN(slopes)(t, p->ds, h);
    bool odd = false;
    if (FN(partial)(t)) {
        odd = !(FN(finite)(r->k, t->keys, a->d, r->ldk) &&
                FN(finite)(r->q, t->queries, a->d, r->ldq) &&
                FN(finite)(r->v, t->keys, a->e, r->ldv) &&
                FN(finite)(r->w, t->queries, a->e, r->ldw));
        FN(Tile) slopes = *t;
        slopes.s = p->ds;
        FN(hide)(&slopes, odd ? -(T)0 : 0);
        FN(hide)(t, odd ? -(T)0 : 0);
    }
    if (odd) {
        FN(marked)(t->keys, a->e, t->queries, t->s, PANEL, 1, r->w, r->ldw, p->dv, e);
        FN(marked)(t->keys, a->d, t->queries, p->ds, PANEL, 1, r->q, r->ldq, p->dk, d);
        return true;
    }
    FN(by_rows)(t->keys, e / LANES, t->queries, t->s, PANEL, r->w, r->ldw, p->dv, e, true);
    FN(by_rows)(t->keys, d / LANES, t->queries, p->ds, PANEL, r->q, r->ldq, p->dk, d, true);
    return false;
}

/* Until all blocks of keys before this one have added to a block of queries. */
static bool FN(wait_turn)(Ctx *ctx, _Atomic int64_t *turn, int64_t block)
{
    for (int tries = 0; atomic_load_explicit(turn, memory_order_acquire) != block; tries++) {
        if (*ctx->interrupt)
            return false;
        if (tries > 1000)
            sched_yield();
    }
    return true;
}

/* A block of keys with a block of queries. */
static bool FN(back_pair)(Ctx *ctx, const Attention *a, const AttentionHead *h, int64_t head,
                          int64_t block, int64_t i0, int64_t end, const FN(Back) *p, FN(Reads) *r)
{
    int64_t j0 = block * ATTENTION_KEYS, keys = a->m - j0, i;
    int64_t d = attention_filled(a->d, LANES), e = attention_filled(a->e, LANES);
    _Atomic int64_t *turn = &h->turn[i0 / ATTENTION_QUERIES];
    bool waited = false;
    keys = keys < ATTENTION_KEYS ? keys : ATTENTION_KEYS;
    for (i = i0; i < end; i += PANEL) {
        FN(Tile) t = FN(tile_at)(a, head, i, end, j0, keys, p->s);
        if (FN(unseen)(&t))
            continue;
        bool direct = FN(direct)(a, &a->q, a->d);
        r->ldq = direct ? a->q.row : d;
        r->q = direct ? (const T *)a->q.data + FN(start)(&a->q, head, i) : (const T *)h->q + i * d;
        direct = FN(direct)(a, &a->w, a->e);
        r->ldw = direct ? a->w.row : e;
        r->w = direct ? (const T *)a->w.data + FN(start)(&a->w, head, i) : (const T *)h->w + i * e;
        bool odd = FN(back_tile)(&t, h, p, r);
        if (!waited && !FN(wait_turn)(ctx, turn, block))
            return false;
        waited = true;
        T *dqt = (T *)h->dqt + i * a->d;
        if (odd)
            FN(marked)(a->d, t.queries, keys, r->k, 1, r->ldk, p->ds, PANEL, dqt, PANEL);
        else
            FN(by_columns)(a->d, t.vectors, keys, r->k, r->ldk, p->ds, PANEL, dqt, PANEL, true);
        if (a->dbias.data)
            FN(give_bias)(&t, p->ds);
    }
    if (!waited && !FN(wait_turn)(ctx, turn, block))
        return false;
    atomic_store_explicit(turn, block + 1, memory_order_release);
    return true;
}

/* x += factor times rows that are `ld` apart. */
static void FN(add_rows)(const AttentionMat *x, int64_t head, int64_t row, int64_t rows,
                         int64_t cols, const T *from, int64_t ld, T factor)
{
    for (int64_t i = 0; i < rows; i++) {
        T *to = (T *)x->data + FN(start)(x, head, row + i);
        for (int64_t c = 0; c < cols; c++)
            to[c] += factor * from[i * ld + c];
    }
}

static bool FN(back_keys)(Ctx *ctx, const Attention *a, const AttentionHead *h, int64_t head,
                          int64_t block, char *scratch)
{
    FN(Back) p;
    FN(Reads) r;
    FN(back_parts)(a, &p, (T *)scratch);
    int64_t j0 = block * ATTENTION_KEYS, keys = a->m - j0;
    int64_t d = attention_filled(a->d, LANES), e = attention_filled(a->e, LANES);
    keys = keys < ATTENTION_KEYS ? keys : ATTENTION_KEYS;
    memset(p.dk, 0, (size_t)(ATTENTION_KEYS * d) * sizeof(T));
    memset(p.dv, 0, (size_t)(ATTENTION_KEYS * e) * sizeof(T));
    r.k = FN(rows)(p.k, &r.ldk, &a->k, a->dt, head, j0, keys, a->d);
    r.v = FN(rows)(p.v, &r.ldv, &a->v, a->dt, head, j0, keys, a->e);
    r.by_k = r.k, r.ld_by_k = r.ldk, r.by_v = r.v, r.ld_by_v = r.ldv;
    if (FN(dot)(a)) {
        r.by_k = FN(pair_rows)((uint16_t *)p.k_pairs, &r.ld_by_k, &r.least_k, &a->k, head, j0,
                               keys, a->d);
        r.by_v = FN(pair_rows)((uint16_t *)p.v_pairs, &r.ld_by_v, &r.least_v, &a->v, head, j0,
                               keys, a->e);
    }
    for (int64_t i0 = 0; i0 < a->n; i0 += ATTENTION_QUERIES) {
        int64_t end = i0 + ATTENTION_QUERIES, from, to;
        end = end < a->n ? end : a->n;
        attention_seen(a, i0, end, &from, &to);
        if (to == from || block < from / ATTENTION_KEYS || block > (to - 1) / ATTENTION_KEYS)
            continue;
        if (*ctx->interrupt || !FN(back_pair)(ctx, a, h, head, block, i0, end, &p, &r))
            return false;
    }
    FN(add_rows)(&a->dk, head, j0, keys, a->d, p.dk, d, (T)a->scale);
    FN(add_rows)(&a->dv, head, j0, keys, a->e, p.dv, e, 1);
    return true;
}

static void FN(back_end)(const Attention *a, const AttentionHead *h, int64_t head, int64_t block)
{
    int64_t i0 = block * ATTENTION_QUERIES, end = i0 + ATTENTION_QUERIES;
    end = end < a->n ? end : a->n;
    for (int64_t i = i0; i < end; i++) {
        T *to = (T *)a->dq.data + FN(start)(&a->dq, head, i);
        const T *from = (const T *)h->dqt + i / PANEL * PANEL * a->d + i % PANEL;
        for (int64_t c = 0; c < a->d; c++)
            to[c] += (T)a->scale * from[c * PANEL];
    }
}
