/* Packing and products of packed panels for one element type. Complex products run on the
 * real kernel: with A packed as [re -im; im re] and B as [re; im], the rows of the real
 * product are the parts of C's elements in turn (Van Zee & Smith, "Implementing
 * high-performance complex matrix multiplication via the 1m method", SIAM J. Sci. Comput.
 * 2020). Included by contract_pair_isa.tmpl.h with REAL, T, LANES, TYPE and PARTS. */

#define FN(name) GLUE(name, TYPE)
#define RN(name) GLUE(name, REAL)
#define MR (2 * LANES / PARTS)      /* elements of a panel of A */
#define A_STEP (2 * LANES * PARTS)  /* reals of a panel of A per element of depth */
#define B_STEP (NR * PARTS)
#define STRIP 4                     /* panels of rows that go past the cache at a time */
#define STRIP_PIECES (4 * STRIP)    /* that follow each other in C, at most */
#define STREAM_B (24 << 10)         /* bytes of B that stay in the first cache beside them */
#define CHUNK 32                    /* depth that one sweep over the panels packs: the lines it
                                     * touches stay in the first cache for the next panel */

static inline bool FN(unit)(const int64_t *offset, int64_t n)
{
    for (int64_t i = 1; i < n; i++)
        if (offset[i] != offset[0] + i)
            return false;
    return true;
}

static inline void FN(put_a)(T *to, const T *from, T sign)
{
#if PARTS == 2
    T re = from[0], im = sign * from[1];
    to[0] = re;
    to[1] = im;
    to[2 * LANES] = -im;
    to[2 * LANES + 1] = re;
#else
    (void)sign;
    to[0] = from[0];
#endif
}

#if PARTS == 1
/* Where LANES elements of depth that follow each other begin which reach from `q`, or from before
 * it, to the end of its run or farther; -1: the run is too short. */
static inline int64_t FN(along_from)(const PairPack *p, int64_t q, int64_t end)
{
    int64_t n = 1;
    while (n < LANES && q + n < end && p->column[q + n] == p->column[q] + n)
        n++;
    int64_t from = q + n - LANES;
    return n == LANES || (from >= 0 && FN(unit)(p->column + from, LANES)) ? from : -1;
}

/* Rows of a panel that lacks some: the last one stands for them, they are computed and not used. */
static inline const int64_t *FN(filled)(const int64_t *row, int64_t rows, int64_t *all,
                                        int64_t most)
{
    for (int64_t i = 0; i < most; i++)
        all[i] = row[i < rows ? i : rows - 1];
    return all;
}

/* Whole vectors of rows by LANES elements of depth that follow each other. */
static inline void FN(pack_turned)(T *to, const PairPack *p, const T *src, const int64_t *row,
                                   int64_t q)
{
    for (int h = 0; h < 2; h++) {
        V x[LANES];
        for (int l = 0; l < LANES; l++)
            memcpy(&x[l], src + row[h * LANES + l] + p->column[q], sizeof(V));
        RN(turn)(x);
        for (int l = 0; l < LANES; l++)
            memcpy(to + l * A_STEP + h * LANES, &x[l], sizeof(V));
    }
}
#endif

#if PARTS == 1
/* How many of a vector's rows follow each other, where the others do too: a run may end within it.
 * 0: there are more runs. */
static int64_t FN(two_runs)(const int64_t *row)
{
    int64_t take = 1;
    while (take < LANES && row[take] == row[0] + take)
        take++;
    return take == LANES || FN(unit)(row + take, LANES - take) ? take : 0;
}

/* Depth [q0, q1) of a panel whose vectors are two runs each. */
static __attribute__((noinline)) bool FN(pack_a_runs)(T *to, const PairPack *p, const int64_t *row,
                                                      int64_t q0, int64_t q1)
{
    int64_t take[2], second[2];
    for (int h = 0; h < 2; h++) {
        take[h] = FN(two_runs)(row + h * LANES);
        if (!take[h])
            return false;
        second[h] = row[h * LANES + LANES - 1] - (LANES - 1);
    }
    for (int64_t q = q0; q < q1; q++, to += A_STEP) {
        const T *from = (const T *)p->src + p->column[q];
        for (int h = 0; h < 2; h++) {
            V x = RN(load_two)(from + row[h * LANES], from + second[h], take[h]);
            memcpy(to + h * LANES, &x, sizeof x);
        }
    }
    return true;
}
#endif

/* Depth [q0, q1) of one panel of A whose rows start at row[]. */
static void FN(pack_a_panel)(T *to, const PairPack *p, const int64_t *row, int64_t rows, int64_t q0,
                             int64_t q1)
{
    const T *src = p->src;
    T sign = p->conj ? -1 : 1;
    bool full = rows == MR;
    int64_t q = q0;
    to += q * A_STEP;
#if PARTS == 1
    bool along = p->depth > 1 && p->column[1] - p->column[0] == 1;
    int64_t all[MR];
    if (!full && along) {
        row = FN(filled)(row, rows, all, MR);
        full = true;
    }
    if (full && STORES_SOME && !along && FN(pack_a_runs)(to, p, row, q0, q1))
        return;
#endif
    for (; q < q1; q++, to += A_STEP) {
        const T *from = src + p->column[q] * PARTS;
#if PARTS == 1
        int64_t begin = full ? FN(along_from)(p, q, q1) : -1;
        if (begin >= 0) {
            FN(pack_turned)(to - (q - begin) * A_STEP, p, src, row, begin);
            to += (begin + LANES - 1 - q) * A_STEP;
            q = begin + LANES - 1;
            continue;
        }
#endif
        if (full)
            for (int i = 0; i < MR; i++)
                FN(put_a)(to + i * PARTS, from + row[i] * PARTS, sign);
        else {
            memset(to, 0, A_STEP * sizeof(T));
            for (int64_t i = 0; i < rows; i++)
                FN(put_a)(to + i * PARTS, from + row[i] * PARTS, sign);
        }
    }
}

/* LANES panels whose rows are the right neighbours of the panel's before: their rows of one
 * element of depth are a block to be turned over. `step`: reals from panel to panel. */
static inline void FN(pack_a_block)(T *to, const PairPack *p, const int64_t *row, int64_t step,
                                    int64_t q)
{
    const T *src = (const T *)p->src + p->column[q] * PARTS;
    to += q * A_STEP;
#if PARTS == 1
    for (int h = 0; h < 2; h++) {
        V x[LANES];
#pragma GCC unroll 16
        for (int l = 0; l < LANES; l++)
            memcpy(&x[l], src + row[h * LANES + l], sizeof(V));
        RN(turn)(x);
#pragma GCC unroll 16
        for (int l = 0; l < LANES; l++)
            memcpy(to + l * step + h * LANES, &x[l], sizeof(V));
    }
#else
    for (int i = 0; i < MR; i++)
        for (int l = 0; l < LANES; l++)
            FN(put_a)(to + l * step + i * PARTS, src + (row[i] + l) * PARTS, p->conj ? -1 : 1);
#endif
}

static bool FN(is_block)(const int64_t *row, int64_t rows)
{
    if (rows < LANES * MR)
        return false;
    for (int l = 1; l < LANES; l++)
        for (int i = 0; i < MR; i++)
            if (row[l * MR + i] != row[i] + l)
                return false;
    return true;
}

/* How many rows from `i` on are panels that memory holds side by side: they are read along
 * their rows, one element of depth after the other, as the processor reads ahead. */
static int64_t FN(side_by_side)(const PairPack *p, int64_t i, bool *block)
{
    int64_t end = i;
    *block = FN(is_block)(p->row + i, p->rows - i);
    if (*block)
        for (; FN(is_block)(p->row + end, p->rows - end); end += LANES * MR)
            continue;
    else
        for (; PARTS == 1 && p->rows - end >= MR && FN(unit)(p->row + end, MR); end += MR)
            continue;
    return end - i;
}

static void FN(pack_a_sides)(T *to, const PairPack *p, int64_t i, int64_t count, bool block)
{
    int64_t step = A_STEP * p->depth, panels = block ? LANES : 1;
    for (int64_t q = 0; q < p->depth; q++) {
        T *at = to;
        for (int64_t r = i; r < i + count; r += panels * MR, at += panels * step)
            if (block)
                FN(pack_a_block)(at, p, p->row + r, step, q);
            else
                memcpy(at + q * A_STEP, (const T *)p->src + p->row[r] + p->column[q],
                       MR * sizeof(T));
    }
}

static void FN(pack_a)(const PairPack *p)
{
    int64_t step = A_STEP * p->depth;
    int64_t chunk = p->depth > 1 && p->column[1] - p->column[0] == 1 ? p->depth : CHUNK;
    T *to = p->dst;
    for (int64_t i = 0; i < p->rows;) {
        bool block;
        int64_t count = FN(side_by_side)(p, i, &block);
        if (count) {
            FN(pack_a_sides)(to, p, i, count, block);
        } else {
            do
                count += MR;
            while (i + count < p->rows && FN(side_by_side)(p, i + count, &block) == 0);
            for (int64_t q = 0; q < p->depth; q += chunk)
                for (int64_t r = 0; r < count && i + r < p->rows; r += MR)
                    FN(pack_a_panel)(to + r / MR * step, p, p->row + i + r,
                                     p->rows - i - r < MR ? p->rows - i - r : MR, q,
                                     q + chunk < p->depth ? q + chunk : p->depth);
        }
        to += (count + MR - 1) / MR * step;
        i += count;
    }
}

#if PARTS == 1
/* A whole panel of B by LANES elements of depth that follow each other. */
static inline void FN(pack_b_turned)(T *to, const T *src, const int64_t *row)
{
    for (int h = 0; h < NR; h += LANES) {
        int rows = NR - h < LANES ? NR - h : LANES;
        V x[LANES];
#pragma GCC unroll 16
        for (int l = 0; l < LANES; l++)
            memcpy(&x[l], src + row[h + (l < rows ? l : 0)], sizeof(V));
        RN(turn)(x);
#pragma GCC unroll 16
        for (int l = 0; l < LANES; l++)
            memcpy(to + l * B_STEP + h, &x[l], (size_t)rows * sizeof(T));
    }
}
#endif

static void FN(pack_b_panel)(T *to, const PairPack *p, const int64_t *row, int64_t rows, int64_t q0,
                             int64_t q1)
{
    const T *src = p->src;
    bool full = rows == NR;
    int64_t q = q0;
    to += q0 * B_STEP;
#if PARTS == 1
    int64_t all[NR];
    if (!full && p->depth > 1 && p->column[1] - p->column[0] == 1) {
        row = FN(filled)(row, rows, all, NR);
        full = true;
    }
    if (full && FN(unit)(row, NR)) {
        for (; q < q1; q++, to += B_STEP)
            memcpy(to, src + row[0] + p->column[q], NR * sizeof(T));
        return;
    }
#else
    T sign = p->conj ? -1 : 1;
#endif
    for (; q < q1; q++, to += B_STEP) {
        const T *from = src + p->column[q] * PARTS;
#if PARTS == 1
        int64_t begin = full ? FN(along_from)(p, q, q1) : -1;
        if (begin >= 0) {
            FN(pack_b_turned)(to - (q - begin) * B_STEP, src + p->column[begin], row);
            to += (begin + LANES - 1 - q) * B_STEP;
            q = begin + LANES - 1;
            continue;
        }
#endif
        if (!full)
            memset(to, 0, B_STEP * sizeof(T));
        for (int64_t j = 0; j < (full ? NR : rows); j++) {
            to[j] = from[row[j] * PARTS];
#if PARTS == 2
            to[NR + j] = sign * from[row[j] * PARTS + 1];
#endif
        }
    }
}

/* What a panel is packed from, along its rows, on its way from memory. */
static inline void FN(fetch_b)(const PairPack *p, int64_t j)
{
    for (int64_t l = j; l < j + NR && l < p->rows; l++)
        for (int64_t q = 0; q < p->depth; q += 64 / (int64_t)(PARTS * sizeof(T)))
            __builtin_prefetch((const T *)p->src + (p->row[l] + p->column[q]) * PARTS);
}

/* Do lines of memory hold elements of depth? Then a panel is packed in one go. */
static bool FN(is_deep)(const PairPack *p)
{
    for (int64_t q = 1; q < p->depth; q++)
        if (p->column[q] - p->column[0] == 1)
            return true;
    return false;
}

static void FN(pack_b)(const PairPack *p)
{
    bool along = p->depth > 1 && p->column[1] - p->column[0] == 1;
    int64_t chunk = FN(is_deep)(p) ? p->depth : CHUNK;
    for (int64_t q = 0; q < p->depth; q += chunk) {
        T *to = p->dst;
        for (int64_t j = 0; j < p->rows; j += NR, to += B_STEP * p->depth) {
            if (along)
                FN(fetch_b)(p, j + NR);
            FN(pack_b_panel)(to, p, p->row + j, p->rows - j < NR ? p->rows - j : NR, q,
                             q + chunk < p->depth ? q + chunk : p->depth);
        }
    }
}

#if PARTS == 1
/* Where the tile of C goes: the upper half of column j at column[j], the lower `half` on. */
typedef struct RN(Place) {
    T *column[NR];
    int64_t half;
    bool add, stream, local;            /* local: a buffer that is in the cache, … */
    /* … where runs of `pitch` reals are side by side as C holds them: of each half `take` lanes of
     * the first column belong at run[h][0], the others at run[h][1], or nowhere; or pitch is 0 */
    int64_t pitch, take[2];
    T *run[2][2];
    const T *ahead;                     /* NULL, or what is fetched on the way, … */
    const int64_t *at;                  /* … from it on, for each real of depth */
} RN(Place);

static inline __attribute__((always_inline)) void RN(store_runs)(const RN(Place) *c, V (*sum)[2],
                                                                 int columns, int halves)
{
    for (int h = 0; h < halves; h++)
        for (int part = 0; part < 2; part++) {
            int64_t begin = part ? c->take[h] : 0, end = part ? LANES : c->take[h];
            T *to = c->run[h][part];
            if (!to || begin == end)
                continue;
#pragma GCC unroll 16
            for (int j = 0; j < columns; j++)
                RN(store_some)(to + j * c->pitch, sum[j][h], begin, end);
        }
}

/* `columns` columns of two vectors (+)= panel of A times panel of B; depth counts reals. B is
 * packed where `step` is 0, else its columns begin `step` apart and are broadcast from where they
 * are. Of the panel of A the first of two `halves` may be enough. `columns` and `halves` are
 * constants in every call, and whether there is a step. */
static inline __attribute__((always_inline)) void RN(panel)(int64_t depth, const T *a, const T *b,
                                                            int64_t step, const RN(Place) *c,
                                                            int columns, int halves)
{
    const V zero = { 0 };
    const T *third[NR / 3];
    for (int j = 0; j < NR / 3; j++)
        third[j] = b + 3 * j * step;
    V sum[NR][2];
    for (int j = 0; j < columns; j++)
        sum[j][0] = sum[j][1] = zero;
    if (!c->stream && !c->local)
        for (int j = 0; j < columns; j++)
            __builtin_prefetch(c->column[j], 1);
    for (int64_t q = 0; q < depth; q++, a += 2 * LANES, b += NR) {
        V low, high;
        memcpy(&low, a, sizeof(V));
        if (halves > 1)
            memcpy(&high, a + LANES, sizeof(V));
        if (c->ahead)
            __builtin_prefetch(c->ahead + c->at[q], 0, 2);
        if (step)
            __builtin_prefetch(b + NR * step);
        for (int j = 0; j < columns; j++) {
            V x = (step ? third[j / 3][q + j % 3 * step] : b[j]) - zero;
            sum[j][0] = RN(fma)(low, x, sum[j][0]);
            if (halves > 1)
                sum[j][1] = RN(fma)(high, x, sum[j][1]);
        }
    }
    if (STORES_SOME && c->pitch) {
        RN(store_runs)(c, sum, columns, halves);
        return;
    }
    if (c->stream) {
#pragma GCC unroll 16
        for (int j = 0; j < columns; j++) {
            RN(stream)(c->column[j], sum[j][0]);
            RN(stream)(c->column[j] + LANES, sum[j][1]);
        }
        return;
    }
#pragma GCC unroll 16
    for (int j = 0; j < columns; j++)
#pragma GCC unroll 2
        for (int h = 0; h < halves; h++) {
            T *to = c->column[j] + (h ? c->half : 0);
            V old = zero;
            if (c->add) {
                memcpy(&old, to, sizeof(V));
                sum[j][h] += old;
            }
            memcpy(to, &sum[j][h], sizeof(V));
        }
}

#define COLUMNS(n) case n: RN(panel)(depth, a, b, 0, c, n, 2); return;
static void RN(panels)(int64_t depth, const T *a, const T *b, const RN(Place) *c, int columns)
{
    switch (columns) {
    COLUMNS(1) COLUMNS(2) COLUMNS(3) COLUMNS(4) COLUMNS(5)
#if NR > 6
    COLUMNS(6) COLUMNS(7) COLUMNS(8) COLUMNS(9) COLUMNS(10) COLUMNS(11)
#endif
    default: RN(panel)(depth, a, b, 0, c, NR, 2);
    }
}
#undef COLUMNS

static __attribute__((noinline)) void RN(panel_in_place)(int64_t depth, const T *a, const T *b,
                                                         int64_t step, const RN(Place) *c)
{
    RN(panel)(depth, a, b, step ? step : 1, c, NR, 2);
}

static __attribute__((noinline)) void RN(panel_half)(int64_t depth, const T *a, const T *b,
                                                     const RN(Place) *c)
{
    RN(panel)(depth, a, b, 0, c, NR, 1);
}
#endif

/* A panel of A, of which there are so many rows, times the columns from j on, whose packed panel
 * is b. */
static inline void FN(multiply)(const PairTile *t, const T *a, const T *b, int64_t j,
                                const RN(Place) *c, int64_t rows, int64_t columns)
{
    if (columns == NR && t->place)
        RN(panel_in_place)(t->depth * PARTS, a, (const T *)t->place + j * t->step, t->step, c);
    else if (columns == NR && rows * PARTS <= LANES)
        RN(panel_half)(t->depth * PARTS, a, b, c);
    else
        RN(panels)(t->depth * PARTS, a, b, c, (int)columns);
}

/* Where the tile's next step fetches from, or NULL. */
static inline const T *FN(ahead)(const PairTile *t)
{
    PairAhead *x = t->ahead;
    if (!x || PARTS == 2)
        return NULL;
    int64_t from = x->call * x->lines / x->calls, to = ++x->call * x->lines / x->calls;
    return from < to ? (const T *)x->src + x->line[from] : NULL;
}

/* A tile of C whose rows do not follow each other, or are not all there, by way of a buffer. */
static void FN(tile_scattered)(const PairTile *t, const T *a, const T *b, int64_t i, int64_t j,
                               int64_t rows, int64_t columns)
{
    T buffer[NR][2 * LANES] __attribute__((aligned(64))), *c = t->c;
    RN(Place) place = { .half = LANES, .ahead = FN(ahead)(t),
                        .at = t->ahead ? t->ahead->at : NULL };
    for (int l = 0; l < NR; l++)
        place.column[l] = buffer[l];
    FN(multiply)(t, a, b, j, &place, rows, columns);
    if (!t->add && FN(unit)(t->row + i, rows)) {
        for (int64_t l = 0; l < columns; l++)
            memcpy(c + (t->row[i] + t->column[j + l]) * PARTS, buffer[l],
                   (size_t)(rows * PARTS) * sizeof(T));
        return;
    }
    for (int64_t l = 0; l < columns; l++)
        for (int64_t r = 0; r < rows; r++) {
            T *cell = c + (t->row[i + r] + t->column[j + l]) * PARTS;
            for (int p = 0; p < PARTS; p++)
                cell[p] = buffer[l][r * PARTS + p] + (t->add ? cell[p] : 0);
        }
}

/* Both halves of the panel's rows follow each other, each for itself. */
static inline bool FN(in_halves)(const int64_t *row)
{
    return FN(unit)(row, MR / 2) && FN(unit)(row + MR / 2, MR / 2);
}

/* Rows of a strip that follow each other in C: those from first[q] to first[q + 1]. */
typedef struct FN(Strip) {
    int64_t panels, pieces, first[STRIP_PIECES + 2];
    int64_t even;                       /* rows of every piece, a vector's or more, or 0 */
} FN(Strip);

/* The panels from row `i` on, at most STRIP, whose pieces are not too short: they go out past the
 * cache one piece after the other, which memory takes better than a line of each column in turn.
 * Where it can a strip ends as a piece does: lines that two strips share are read and written. */
static void FN(strip)(const PairTile *t, int64_t i, FN(Strip) *s)
{
    const int64_t *row = t->row + i;
    int64_t pieces = 0, whole = 0, left = t->m - i;
    s->panels = s->pieces = 0;
    for (int64_t n = 1; n <= STRIP && left > (n - 1) * MR; n++) {
        int64_t end = left < n * MR ? left : n * MR;
        if (t->live && t->live[i / MR + n - 1] < MR)
            break;
        for (int64_t r = (n - 1) * MR; r < end && pieces <= STRIP_PIECES; r++)
            if (r == 0 || row[r] != row[r - 1] + 1)
                s->first[pieces++] = r;
        if (pieces > STRIP_PIECES)
            break;
        s->panels = n, s->pieces = pieces;
        if (left == end || row[end] != row[end - 1] + 1)
            whole = n;
    }
    if (whole)
        s->panels = whole;
    while (s->pieces && s->first[s->pieces - 1] >= s->panels * MR)
        s->pieces--;
    s->first[s->pieces] = left < s->panels * MR ? left : s->panels * MR;
    bool whole_lines = s->pieces == 1 && s->first[1] * PARTS % LANES == 0;
    s->even = STORES_SOME && s->first[1] * PARTS >= LANES && !whole_lines ? s->first[1] : 0;
    for (int64_t q = 1; q < s->pieces && s->even; q++)
        if (s->first[q + 1] - s->first[q] != s->even)
            s->even = 0;
}

/* Past the cache, but for the ends that fill no line. */
static inline void FN(emit)(T *to, const T *from, int64_t n)
{
    int64_t i = (int64_t)(-(uintptr_t)to & (VECTOR_BYTES - 1)) / (int64_t)sizeof(T);
    if (i > n)
        i = n;
    if (i)
        memcpy(to, from, (size_t)i * sizeof(T));
    for (; i + LANES <= n; i += LANES) {
        V x;
        memcpy(&x, from + i, sizeof x);
        RN(stream)(to + i, x);
    }
    if (i < n)
        memcpy(to + i, from + i, (size_t)(n - i) * sizeof(T));
}

/* Rows of each of some columns from `first` on, `n` reals; the columns that C holds side by side
 * go out as one, so that lines which two of them share are whole. */
static void FN(emit_piece)(const PairTile *t, T (*from)[STRIP * 2 * LANES], const int64_t *column,
                           int64_t columns, int64_t row, int64_t first, int64_t n)
{
    T side[(NR * STRIP * 2 + 1) * LANES] __attribute__((aligned(64)));
    for (int64_t l = 0; l < columns;) {
        T *to = (T *)t->c + (row + column[l]) * PARTS;
        int64_t last = l + 1;
        while (last < columns && (column[last] - column[last - 1]) * PARTS == n)
            last++;
        if (last == l + 1)
            FN(emit)(to, from[l] + first, n);
        else {
            /* what a column's last vector has too much goes under the next one's first */
            for (int64_t r = (n - 1) / LANES * LANES; r >= 0; r -= LANES)
                for (int64_t q = l; q < last; q++)
                    memcpy(side + (q - l) * n + r, from[q] + first + r, sizeof(V));
            FN(emit)(to, side, (last - l) * n);
        }
        l = last;
    }
}

/* Where the two halves of a strip's panel q go in runs that lie in the buffer as C holds them. */
static void FN(runs_of_panel)(RN(Place) *place, const FN(Strip) *s, T *buffer, int64_t columns,
                              int64_t q)
{
    int64_t n = s->even * PARTS;
    place->pitch = n;
    for (int h = 0; h < 2; h++) {
        int64_t row = (2 * q + h) * LANES, piece = row / n, at = row % n;
        place->take[h] = n - at < LANES ? n - at : LANES;
        place->run[h][0] = piece < s->pieces ? buffer + piece * columns * n + at : NULL;
        place->run[h][1] = piece + 1 < s->pieces ?
                           buffer + (piece + 1) * columns * n - place->take[h] : NULL;
    }
}

/* Columns of a strip on their way from their buffer to C. */
typedef struct FN(Out) {
    T (*from)[STRIP * 2 * LANES];
    const int64_t *column;
    int64_t columns, piece, next;       /* next: the piece's first column that has not gone */
} FN(Out);

/* Writes on until `end` columns of pieces have gone; those of a piece that C holds side by side go
 * together. */
static void FN(send)(const PairTile *t, const FN(Strip) *s, int64_t i, FN(Out) *out, int64_t end)
{
    while (out->piece * out->columns + out->next < end) {
        int64_t first = s->first[out->piece], row = t->row[i + first];
        int64_t n = (s->first[out->piece + 1] - first) * PARTS, next = out->columns;
        if (s->even) {
            const int64_t l = out->next, *column = out->column;
            for (next = l + 1; next < out->columns; next++)
                if ((column[next] - column[next - 1]) * PARTS != n)
                    break;
            FN(emit)((T *)t->c + (row + column[l]) * PARTS,
                     out->from[0] + (out->piece * out->columns + l) * n, (next - l) * n);
        } else if (n % LANES)
            FN(emit_piece)(t, out->from, out->column, next, row, first * PARTS, n);
        else {
            FN(emit)((T *)t->c + (row + out->column[out->next]) * PARTS,
                     out->from[out->next] + first * PARTS, n);
            next = out->next + 1;
        }
        out->next = next < out->columns ? next : 0;
        out->piece += out->next == 0;
    }
}

/* A strip by the columns from j to `end`, by way of two buffers: what the one holds goes out piece
 * by piece while the other is filled, so that the products do not wait for the memory. */
static void FN(tile_strip)(const PairTile *t, const FN(Strip) *s, const T *a, const T *b,
                           int64_t i, int64_t j, int64_t end)
{
    /* one column more: a piece is copied by vectors, the last of which may reach past its end */
    T buffer[2][NR + 1][STRIP * 2 * LANES] __attribute__((aligned(64)));
    FN(Out) out = { .columns = 0 };
    for (int turn = 0; j < end; j += NR, b += B_STEP * t->depth, turn = !turn) {
        T (*to)[STRIP * 2 * LANES] = buffer[turn];
        int64_t columns = t->n - j < NR ? t->n - j : NR, all = s->pieces * out.columns;
        for (int64_t q = 0; q < s->panels; q++) {
            RN(Place) place = { .half = LANES, .local = true, .ahead = FN(ahead)(t),
                                .at = t->ahead ? t->ahead->at : NULL };
            if (s->even)
                FN(runs_of_panel)(&place, s, to[0], columns, q);
            for (int l = 0; l < NR; l++)
                place.column[l] = to[l] + q * 2 * LANES;
            const T *panel = a + q * A_STEP * t->depth;
            int64_t rows = s->first[s->pieces] - q * MR;
            if (columns == NR && !t->place && rows * PARTS > LANES)
                RN(panel)(t->depth * PARTS, panel, b, 0, &place, NR, 2);
            else
                FN(multiply)(t, panel, b, j, &place, rows, columns);
            FN(send)(t, s, i, &out, (q + 1) * all / s->panels);
        }
        out = (FN(Out)){ to, t->column + j, columns, 0, 0 };
    }
    FN(send)(t, s, i, &out, s->pieces * out.columns);
}

/* One panel of rows by at most NR columns. */
static void FN(tile_panel)(const PairTile *t, const T *a, const T *b, int64_t i, int64_t j)
{
    int64_t columns = t->n - j < NR ? t->n - j : NR;
    int64_t rows = t->live ? t->live[i / MR] : t->m - i < MR ? t->m - i : MR;
    if (rows < MR || !FN(in_halves)(t->row + i)) {
        FN(tile_scattered)(t, a, b, i, j, rows, columns);
        return;
    }
    RN(Place) place = { .half = (t->row[i + MR / 2] - t->row[i]) * PARTS, .add = t->add,
                        .ahead = FN(ahead)(t), .at = t->ahead ? t->ahead->at : NULL };
    uintptr_t skew = place.half == LANES && t->stream ? 0 : 1;
    for (int64_t l = 0; l < columns; l++) {
        place.column[l] = (T *)t->c + (t->row[i] + t->column[j + l]) * PARTS;
        skew |= (uintptr_t)place.column[l] & (2 * VECTOR_BYTES - 1);
    }
    place.stream = skew == 0;
    FN(multiply)(t, a, b, j, &place, rows, columns);
}

/* Rows from `i` on in one go: a strip where C is written past the cache, else a panel. */
static int64_t FN(tile_rows)(const PairTile *t, const T *a, const T *b, int64_t i, int64_t j,
                             int64_t end)
{
    FN(Strip) strip = { .panels = 0 };
    if (t->stream)
        FN(strip)(t, i, &strip);
    if (strip.panels > 1 || strip.pieces > 1) {
        FN(tile_strip)(t, &strip, a, b, i, j, end);
        return strip.panels;
    }
    for (; j < end; j += NR, b += B_STEP * t->depth)
        FN(tile_panel)(t, a, b, i, j);
    return 1;
}

/* Where C is written past the cache, as many columns at a time as the first cache takes of
 * B: the lines of a row of blocks then follow each other sooner. */
static void FN(tile)(const PairTile *t)
{
    const T *b = t->b;
    int64_t panels = t->stream ? STREAM_B / (int64_t)(B_STEP * sizeof(T)) / t->depth : 1;
    int64_t wide = NR * (panels ? panels : 1);
    for (int64_t j = 0; j < t->n; j += wide, b += wide * PARTS * t->depth) {
        const T *a = t->a;
        for (int64_t i = 0; i < t->m;) {
            int64_t done = FN(tile_rows)(t, a, b, i, j, j + wide < t->n ? j + wide : t->n);
            i += done * MR;
            a += done * A_STEP * t->depth;
        }
    }
#ifdef __AVX2__
    if (t->stream)
        _mm_sfence();
#endif
}

/* ---- sums along a row ---- */

#if PARTS == 1
/* Partial sums of a piece short enough that what one lane adds up stays exact to a few ulps;
 * pieces are joined in f64. */
static inline T RN(piece)(int64_t n, const T *a, int64_t sa, const T *b, int64_t sb)
{
    const V zero = { 0 };
    V sum[4] = { zero, zero, zero, zero };
    T left[4] = { 0, 0, 0, 0 };
    int64_t i = 0;
    if (sa == 1 && (!b || sb == 1))
        for (; i + 4 * LANES <= n; i += 4 * LANES)
            for (int v = 0; v < 4; v++) {
                V x, y = zero;
                memcpy(&x, a + i + v * LANES, sizeof(V));
                if (b) {
                    memcpy(&y, b + i + v * LANES, sizeof(V));
                    sum[v] = RN(fma)(x, y, sum[v]);
                } else
                    sum[v] += x;
            }
    for (; i + 4 <= n; i += 4)
        for (int v = 0; v < 4; v++)
            left[v] += b ? a[(i + v) * sa] * b[(i + v) * sb] : a[(i + v) * sa];
    for (; i < n; i++)
        left[0] += b ? a[i * sa] * b[i * sb] : a[i * sa];
    V all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    T total = (left[0] + left[1]) + (left[2] + left[3]);
    for (int l = 0; l < LANES; l++)
        total += all[l];
    return total;
}
#endif

#define PIECE 4096

static void FN(run)(const PairRows *r, const T *a, const T *b, double *sum)
{
    for (int64_t i = 0; i < r->length; i += PIECE) {
        int64_t n = r->length - i < PIECE ? r->length - i : PIECE;
        const T *x = a + i * r->sa * PARTS, *y = b ? b + i * r->sb * PARTS : NULL;
#if PARTS == 1
        sum[0] += (double)RN(piece)(n, x, r->sa, y, r->sb);
#else
        T re[2] = { 0, 0 }, im[2] = { 0, 0 }, sa = r->conj_a ? -1 : 1, sb = r->conj_b ? -1 : 1;
        for (int64_t q = 0; q < n; q++) {
            const T *u = x + q * r->sa * 2;
            if (!y) {
                re[q & 1] += u[0];
                im[q & 1] += sa * u[1];
                continue;
            }
            const T *w = y + q * r->sb * 2;
            T ui = sa * u[1], wi = sb * w[1];
            re[q & 1] += u[0] * w[0] - ui * wi;
            im[q & 1] += u[0] * wi + ui * w[0];
        }
        sum[0] += (double)(re[0] + re[1]);
        sum[1] += (double)(im[0] + im[1]);
#endif
    }
}

static void FN(rows)(const PairRows *r)
{
    const T *a = r->a, *b = r->b;
    T *c = r->c;
    for (int64_t i = 0; i < r->rows; i++) {
        double sum[2] = { 0, 0 };
        for (int64_t k = 0; k < r->runs; k++)
            FN(run)(r, a + (r->arow[i] + r->arun[k]) * PARTS,
                    b ? b + (r->brow[i] + r->brun[k]) * PARTS : NULL, sum);
        for (int p = 0; p < PARTS; p++)
            c[r->crow[i] * PARTS + p] = (T)sum[p];
    }
}
#if PARTS == 1
/* ---- a large operand read in place ---- */

/* Two vectors of A's closest axis, from `low` and `high` on, by `columns` columns of B; the sums of
 * a column go `pitch` reals behind the one before. `columns` is a constant in each call. */
static inline __attribute__((always_inline)) void RN(large_pair)(const PairLarge *t, const T *low,
                                                                 const T *high, const T *b, T *to,
                                                                 const T *ahead, int columns)
{
    const V zero = { 0 };
    const int64_t *at = t->at, pitch = t->pitch;
    V sum[NR][2];
    for (int j = 0; j < columns; j++)
        sum[j][0] = sum[j][1] = zero;
    for (int64_t q = 0; q < t->depth; q++, b += NR) {
        V x, y;
        memcpy(&x, low + at[q], sizeof(V));
        memcpy(&y, high + at[q], sizeof(V));
        if (ahead)
            __builtin_prefetch(ahead + at[q], 0, 2);
        for (int j = 0; j < columns; j++) {
            V w = b[j] - zero;
            sum[j][0] = RN(fma)(x, w, sum[j][0]);
            sum[j][1] = RN(fma)(y, w, sum[j][1]);
        }
    }
#pragma GCC unroll 16
    for (int j = 0; j < columns; j++) {
        memcpy(to + j * pitch, &sum[j][0], sizeof(V));
        memcpy(to + j * pitch + t->pitch * t->n, &sum[j][1], sizeof(V));
    }
}

#define COLUMNS(k) case k: RN(large_pair)(t, low, high, b, to, ahead, k); return;
static void RN(large_pairs)(const PairLarge *t, const T *low, const T *high, const T *b, T *to,
                            const T *ahead, int columns)
{
    switch (columns) {
    COLUMNS(1) COLUMNS(2) COLUMNS(3) COLUMNS(4) COLUMNS(5)
#if NR > 6
    COLUMNS(6) COLUMNS(7) COLUMNS(8) COLUMNS(9) COLUMNS(10) COLUMNS(11)
#endif
    default: RN(large_pair)(t, low, high, b, to, ahead, NR);
    }
}
#undef COLUMNS

/* One position of C's closest axis: all of the tile's vectors by all columns. */
static void RN(large_line)(const PairLarge *t, const T *a, const T *next, T *buffer)
{
    const int64_t *from = t->from, *after = t->after;
    for (int64_t v = 0; v < t->vectors; v += 2) {
        int64_t other = v + 1 < t->vectors ? v + 1 : v;
        T *to = buffer + v * t->n * t->pitch;
        for (int64_t j = 0; j < t->n; j += NR) {
            int64_t columns = t->n - j < NR ? t->n - j : NR;
            const T *ahead = next && j < 2 * NR ? next + after[j ? other : v] : NULL;
            RN(large_pairs)(t, a + from[v], a + from[other], (const T *)t->b + j * t->depth,
                            to + j * t->pitch, ahead, (int)columns);
        }
    }
}

/* Lanes [begin, end) of vectors along C's closest axis, the first of which would be at `c`; the
 * buffer has LANES vectors along A's. */
static inline __attribute__((always_inline)) void RN(large_block)(T *c, const int64_t *row,
                                                                  int64_t skip, const T *buffer,
                                                                  int64_t begin, int64_t end,
                                                                  bool stream)
{
    V x[LANES];
#pragma GCC unroll 16
    for (int l = 0; l < LANES; l++)
        memcpy(&x[l], buffer + l * LANES, sizeof(V));
    RN(turn)(x);
    if (end - begin < LANES)
        for (int64_t l = skip; l < LANES; l++)
            RN(store_some)(c + row[l], x[l], begin, end);
    else if (stream)
        for (int64_t l = skip; l < LANES; l++)
            RN(stream)(c + row[l], x[l]);
    else
        for (int64_t l = skip; l < LANES; l++)
            memcpy(c + row[l], &x[l], sizeof(V));
}

/* The buffer's vectors, each along A's closest axis, go to C as ones along its own; where the lanes
 * of a vector are whole vectors apart in C, as the lines of the cache are there. */
static void RN(large_turn)(const PairLarge *t, const T *buffer)
{
    for (int64_t v = 0; v < t->vectors; v++) {
        const int64_t *row = t->row + v * LANES;
        bool stream = t->stream;
        for (int64_t l = 1; l < LANES; l++)
            stream &= (row[l] - row[0]) % LANES == 0;
        for (int64_t j = 0; j < t->n; j++, buffer += t->pitch) {
            T *c = (T *)t->c + t->column[j];
            uintptr_t over = (uintptr_t)(c + row[0]) & (VECTOR_BYTES - 1);
            for (int64_t i = stream ? -(int64_t)(over / sizeof(T)) : 0; i < t->lines; i += LANES)
                RN(large_block)(c + i, row, t->skip[v], buffer + i * LANES, i < 0 ? -i : 0,
                                t->lines - i < LANES ? t->lines - i : LANES, stream);
        }
    }
}

static void RN(large)(const PairLarge *t)
{
    const T *a = t->a;
    for (int64_t i = 0; i < t->lines; i++) {
        const T *next = i + 1 < t->lines ? a + t->step : t->next;
        PairLarge line = *t;
        if (i + 1 < t->lines)
            line.after = t->from;
        RN(large_line)(&line, a, next, (T *)t->buffer + i * LANES);
        a += t->step;
    }
    RN(large_turn)(t, t->buffer);
#ifdef __AVX2__
    if (t->stream)
        _mm_sfence();
#endif
}
#endif
#undef PIECE
#undef CHUNK
#undef STRIP
#undef STRIP_PIECES
#undef STREAM_B
#undef A_STEP
#undef B_STEP
#undef MR
#undef FN
#undef RN
