/* Quicksort of signed keys in vectors. Included by sort_quick_avx2.c and _avx512.c with
 *   K, F         the key's type and the float of its size; LARGEST, the largest key
 *   V, LANES     a vector of keys (GCC's vector type) and how many they are
 *   MIN, MAX(a, b)      TOP(m, a, b): b in the lanes where bit m of the lane's number is set
 *   AHEAD        vectors that a split reads at a time, 8 at most
 *   SPLIT(v, pivot, left, right)   writes a vector twice, to `left` with the keys up to the pivot
 *                first, to `right` with the others last; gives how many are up to it
 *   SWAP(v, m)   lane l from lane l ^ m
 *   NAME(f)      the function's name */

enum { NAME(LEAF) = 16 * LANES };

static inline V NAME(get)(const K *p)
{
    V v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void NAME(put)(K *p, V v)
{
    memcpy(p, &v, sizeof v);
}

/* ---- up to LEAF keys: a matrix of registers, whose columns are sorted and merged ---- */

#define ORDER(i, j) do { V low_ = MIN(v[i], v[j]); v[j] = MAX(v[i], v[j]); v[i] = low_; } while (0)

/* Networks of the least number of comparators known: 19 and 60. */
static inline __attribute__((always_inline)) void NAME(columns)(V *v, int rows)
{
    ORDER(0, 1); ORDER(2, 3); ORDER(4, 5); ORDER(6, 7);
    if (rows == 8) {
        ORDER(0, 2); ORDER(1, 3); ORDER(4, 6); ORDER(5, 7); ORDER(1, 2); ORDER(5, 6); ORDER(0, 4);
        ORDER(3, 7); ORDER(1, 5); ORDER(2, 6); ORDER(1, 4); ORDER(3, 6); ORDER(2, 4); ORDER(3, 5);
        ORDER(3, 4);
        return;
    }
    ORDER(8, 9); ORDER(10, 11); ORDER(12, 13); ORDER(14, 15);
    ORDER(0, 2); ORDER(1, 3); ORDER(4, 6); ORDER(5, 7);
    ORDER(8, 10); ORDER(9, 11); ORDER(12, 14); ORDER(13, 15);
    ORDER(0, 4); ORDER(1, 5); ORDER(2, 6); ORDER(3, 7);
    ORDER(8, 12); ORDER(9, 13); ORDER(10, 14); ORDER(11, 15);
    ORDER(0, 8); ORDER(1, 9); ORDER(2, 10); ORDER(3, 11);
    ORDER(4, 12); ORDER(5, 13); ORDER(6, 14); ORDER(7, 15);
    ORDER(5, 10); ORDER(6, 9); ORDER(3, 12); ORDER(13, 14); ORDER(4, 8); ORDER(7, 11); ORDER(1, 2);
    ORDER(1, 4); ORDER(7, 13); ORDER(2, 8); ORDER(11, 14);
    ORDER(2, 4); ORDER(5, 6); ORDER(9, 10); ORDER(11, 13); ORDER(3, 8); ORDER(7, 12);
    ORDER(6, 8); ORDER(10, 12); ORDER(3, 5); ORDER(7, 9);
    ORDER(3, 4); ORDER(5, 6); ORDER(7, 8); ORDER(9, 10); ORDER(11, 12);
    ORDER(6, 7); ORDER(8, 9);
}

/* Bitonic columns become sorted ones. */
static inline __attribute__((always_inline)) void NAME(clean)(V *v, int rows)
{
    if (rows == 16)
        for (int i = 0; i < 8; i++) ORDER(i, i + 8);
    for (int h = 0; h < rows; h += 8)
        for (int i = h; i < h + 4; i++) ORDER(i, i + 4);
    for (int h = 0; h < rows; h += 4)
        for (int i = h; i < h + 2; i++) ORDER(i, i + 2);
    for (int h = 0; h < rows; h += 2)
        ORDER(h, h + 1);
}
#undef ORDER

/* Sequences over `m` + 1 columns, each of two sorted halves, become bitonic halves in order … */
#define TURN_OVER(m, top)                                                     \
    for (int i = 0; i < rows / 2; i++) {                                      \
        V a_ = v[i], b_ = v[rows - 1 - i], ra_ = SWAP(a_, m), rb_ = SWAP(b_, m); \
        v[i] = TOP(top, MIN(a_, rb_), MAX(a_, rb_));                          \
        v[rows - 1 - i] = TOP(top, MIN(b_, ra_), MAX(b_, ra_));               \
    }
/* … and those the same at half the distance. */
#define HALVE(m)                                                              \
    for (int i = 0; i < rows; i++) {                                          \
        V o_ = SWAP(v[i], m);                                                 \
        v[i] = TOP(m, MIN(v[i], o_), MAX(v[i], o_));                          \
    }
/* Lane l of row i and lane l ^ m of row i + m change places, where l has the bit m. */
#define TRADE(m)                                                              \
    for (int i = 0; i < rows; i++)                                            \
        if (!(i & m)) {                                                       \
            V a_ = v[i], b_ = v[i + m];                                       \
            v[i] = TOP(m, a_, SWAP(b_, m));                                   \
            v[i + m] = TOP(m, SWAP(a_, m), b_);                               \
        }

/* rows * LANES keys; rows is 8 or 16, and at least LANES. */
static inline __attribute__((always_inline)) void NAME(network)(K *k, int rows)
{
    V v[16];
    for (int i = 0; i < rows; i++) v[i] = NAME(get)(k + i * LANES);
    NAME(columns)(v, rows);
    TURN_OVER(1, 1)
    NAME(clean)(v, rows);
    TURN_OVER(3, 2)
    HALVE(1)
    NAME(clean)(v, rows);
#if LANES >= 8
    TURN_OVER(7, 4)
    HALVE(2)
    HALVE(1)
    NAME(clean)(v, rows);
#endif
#if LANES == 16
    TURN_OVER(15, 8)
    HALVE(4)
    HALVE(2)
    HALVE(1)
    NAME(clean)(v, rows);
    TRADE(8)
#endif
#if LANES >= 8
    TRADE(4)
#endif
    TRADE(2)
    TRADE(1)
    for (int i = 0; i < rows; i++)
        NAME(put)(k + i % LANES * rows + i / LANES * LANES, v[i]);
}
#undef TURN_OVER
#undef HALVE
#undef TRADE

static __attribute__((noinline)) void NAME(large_network)(K *k)
{
    NAME(network)(k, 16);
}

#if LANES < 16
static __attribute__((noinline)) void NAME(small_network)(K *k)
{
    NAME(network)(k, 8);
}
#endif

static void NAME(leaf)(K *k, int64_t n)
{
    if (n < 12) {
        for (int64_t i = 1; i < n; i++) {
            K key = k[i];
            int64_t j = i;
            for (; j > 0 && k[j - 1] > key; j--)
                k[j] = k[j - 1];
            k[j] = key;
        }
        return;
    }
    int64_t size = LANES < 16 && n <= 8 * LANES ? 8 * LANES : NAME(LEAF);
    _Alignas(64) K copy[NAME(LEAF)];
    K *at = n == size ? k : copy;
    if (n < size) {
        const V last = (V){ 0 } + LARGEST;
        int64_t i = n / LANES * LANES;
        for (int64_t j = i; j < size; j += LANES) NAME(put)(copy + j, last);
        memcpy(copy, k, (size_t)n * sizeof *k);
    }
#if LANES < 16
    if (size < NAME(LEAF))
        NAME(small_network)(at);
    else
#endif
        NAME(large_network)(at);
    if (n < size)
        memcpy(k, copy, (size_t)n * sizeof *k);
}

/* ---- quicksort above ---- */

#define ORDER(i, j) do {                                                      \
        K low_ = m[i] < m[j] ? m[i] : m[j];                                   \
        m[j] = m[i] < m[j] ? m[j] : m[i];                                     \
        m[i] = low_;                                                          \
    } while (0)

/* The median of medians of 8 vectors. Needs 8 * LANES keys. */
static inline K NAME(quick_middle)(const K *k, int64_t n)
{
    V v[16];
    K m[LANES];
    int64_t step = (n - LANES) / 7;
    for (int i = 0; i < 8; i++) v[i] = NAME(get)(k + i * step);
    NAME(columns)(v, 8);
    NAME(put)(m, v[LANES > 4 ? 3 : 4]);
#if LANES > 4
    ORDER(0, 1); ORDER(2, 3); ORDER(4, 5); ORDER(6, 7);
    ORDER(0, 2); ORDER(1, 3); ORDER(4, 6); ORDER(5, 7); ORDER(1, 2); ORDER(5, 6); ORDER(0, 4);
    ORDER(3, 7); ORDER(1, 5); ORDER(2, 6); ORDER(1, 4); ORDER(3, 6); ORDER(2, 4); ORDER(3, 5);
    ORDER(3, 4);
    return m[4];
#else
    ORDER(0, 1); ORDER(2, 3); ORDER(0, 2); ORDER(1, 3); ORDER(1, 2);
    return m[1];
#endif
}
#undef ORDER

/* Longer ranges have a better pivot, from 64 places. */
static K NAME(middle)(const K *k, int64_t n)
{
    enum { SAMPLE = 8 * (LANES < 8 ? LANES : 8), LONG = 4096 };
    _Alignas(64) K some[SAMPLE];
    int64_t step = n / SAMPLE;
    if (n < LONG)
        return NAME(quick_middle)(k, n);
    for (int i = 0; i < SAMPLE; i++)
        some[i] = k[i * step + step / 2];
    NAME(leaf)(some, SAMPLE);
    return some[SAMPLE / 2 - 1];
}

/* A few vectors at each end are kept aside, which makes room; then the next come from the end
 * that has less. Needs 2 * AHEAD vectors. */
static int64_t NAME(parted)(K *k, int64_t n, K pivot)
{
    enum { CHUNK = AHEAD * LANES };
    K aside[3 * CHUNK];
    const V p = (V){ 0 } + pivot;
    int64_t extra = n % CHUNK, low = 0, high = n, from = extra + CHUNK, to = n - CHUNK;
    memcpy(aside, k, (size_t)from * sizeof *k);
    memcpy(aside + from, k + to, CHUNK * sizeof *k);
    while (from < to) {
        V v[AHEAD];
        const K *next = k + from;
        if (from - low > high - to) {
            to -= CHUNK;
            next = k + to;
        } else
            from += CHUNK;
        for (int i = 0; i < AHEAD; i++) v[i] = NAME(get)(next + i * LANES);
        for (int i = 0; i < AHEAD; i++) {
            int lower = SPLIT(v[i], p, k + low, k + high - LANES);
            low += lower;
            high -= LANES - lower;
        }
    }
    const K *rest = aside, *end = aside + extra + 2 * CHUNK;
    for (; end - rest >= 2 * LANES; rest += LANES) {
        int lower = SPLIT(NAME(get)(rest), p, k + low, k + high - LANES);
        low += lower;
        high -= LANES - lower;
    }
    for (; rest < end; rest++) {
        bool lower = *rest <= pivot;
        k[low] = k[high - 1] = *rest;
        low += lower;
        high -= !lower;
    }
    return low;
}

/* Where pivots are bad again and again. */
static void NAME(heap)(K *k, int64_t n, const InterruptFlag *stop)
{
    for (int64_t start = n / 2, end = n; end > 1 && !(stop && *stop);) {
        if (start > 0)
            start--;
        else {
            K swap = k[--end];
            k[end] = k[0];
            k[0] = swap;
        }
        int64_t hole = start, child;
        K key = k[hole];
        for (; (child = 2 * hole + 1) < end; hole = child) {
            if (child + 1 < end && k[child] < k[child + 1])
                child++;
            if (k[child] <= key)
                break;
            k[hole] = k[child];
        }
        k[hole] = key;
    }
}

/* All keys lie between the bounds. A pivot that is the upper one goes to the right with its
 * equals, which are then in place. */
static void NAME(quick)(K *k, int64_t n, K low, K high, int depth, const InterruptFlag *stop)
{
    while (n > NAME(LEAF) && low < high && !(stop && *stop)) {
        if (depth-- == 0) {
            NAME(heap)(k, n, stop);
            return;
        }
        K pivot = NAME(middle)(k, n);
        bool equal = pivot == high;
        int64_t lower = NAME(parted)(k, n, pivot - equal);
        if (equal)
            high = pivot - 1;
        else if (lower < n - lower) {
            NAME(quick)(k, lower, low, pivot, depth, stop);
            k += lower;
            n -= lower;
            low = pivot + 1;
            continue;
        } else {
            NAME(quick)(k + lower, n - lower, pivot + 1, high, depth, stop);
            high = pivot;
        }
        n = lower;
    }
    if (n <= NAME(LEAF) && low < high)
        NAME(leaf)(k, n);
}

static void NAME(sort)(void *keys, int64_t n, int64_t low, int64_t high,
                       const InterruptFlag *stop)
{
    int depth = 8;
    for (int64_t rest = n; rest > 0; rest /= 2)
        depth += 2;
    NAME(quick)(keys, n, (K)low, (K)high, depth, stop);
}

static int64_t NAME(pivot)(const void *keys, int64_t n)
{
    return NAME(middle)(keys, n);
}

static int64_t NAME(split)(void *keys, int64_t n, int64_t pivot)
{
    return NAME(parted)(keys, n, (K)pivot);
}

/* ---- floats to keys and back: the bits, where negative all but the sign turned over ---- */

static void NAME(load)(void *keys, const void *x, int64_t n, bool descending)
{
    K *k = keys;
    const F *f = x;
    for (int64_t i = 0; i < n; i++) {
        K u = 0, turn = descending ? -1 : 0;
        memcpy(&u, f + i, sizeof u);
        u = (u < 0 ? u ^ LARGEST : u) ^ turn;
        k[i] = f[i] != f[i] ? LARGEST : u;
    }
}

static void NAME(store)(void *x, const void *keys, int64_t n, bool descending)
{
    const K *k = keys;
    const F nan = (F)NAN;
    K *to = x, number;
    memcpy(&number, &nan, sizeof number);
    for (int64_t i = 0; i < n; i++) {
        K u = k[i] ^ (descending ? -1 : 0);
        u = u < 0 ? u ^ LARGEST : u;
        to[i] = k[i] == LARGEST ? number : u;
    }
}

const SortQuick TABLE = { NAME(sort), NAME(pivot), NAME(split), NAME(load), NAME(store) };
#undef K
#undef F
#undef V
#undef LARGEST
#undef LANES
#undef MIN
#undef MAX
#undef TOP
#undef SPLIT
#undef SWAP
#undef NAME
#undef TABLE
