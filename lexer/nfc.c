/* Normal form C of names (Unicode Standard Annex 15): full decomposition, marks in
 * canonical order, composition. Hangul is computed, the rest stands in nfc.def. */
#include "lexer/nfc.h"

#include <string.h>

typedef struct Mapping { uint32_t a, b, c; } Mapping;
#define DECOMPOSE(c, a, b) { c, a, b },
static const Mapping decompositions[] = {
#include "lexer/nfc.def"
};
#undef DECOMPOSE
#define COMPOSE(a, b, c) { a, b, c },
static const Mapping compositions[] = {
#include "lexer/nfc.def"
};
#undef COMPOSE
#define MARKS(a, b, class) { a, b, class },
static const Mapping marks[] = {
#include "lexer/nfc.def"
};
#undef MARKS

/* Last row at or before (a, b). */
static const Mapping *find_mapping(const Mapping *rows, size_t count, uint32_t a, uint32_t b)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (rows[middle].a < a || (rows[middle].a == a && rows[middle].b <= b))
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &rows[low - 1] : NULL;
}

#define ROWS(table) table, sizeof table / sizeof *table

static uint32_t combining_class(uint32_t c)
{
    const Mapping *row = find_mapping(ROWS(marks), c, UINT32_MAX);
    return row && c <= row->b ? row->c : 0;
}

enum { HANGUL = 0xAC00, HANGUL_L = 0x1100, HANGUL_V = 0x1161, HANGUL_T = 0x11A7 };

static uint32_t compose_pair(uint32_t a, uint32_t b)
{
    if (a - HANGUL_L < 19 && b - HANGUL_V < 21)
        return HANGUL + ((a - HANGUL_L) * 21 + (b - HANGUL_V)) * 28;
    if (a - HANGUL < 11172 && (a - HANGUL) % 28 == 0 && b > HANGUL_T && b - HANGUL_T < 28)
        return a + (b - HANGUL_T);
    const Mapping *row = find_mapping(ROWS(compositions), a, b);
    return row && row->a == a && row->b == b ? row->c : 0;
}

/* Appends c in full decomposition. */
static size_t decompose(uint32_t c, uint32_t *out, size_t n)
{
    const Mapping *row = find_mapping(ROWS(decompositions), c, UINT32_MAX);
    if (row && row->a == c) {
        n = decompose(row->b, out, n);
        return row->c ? decompose(row->c, out, n) : n;
    }
    if (c - HANGUL < 11172) {
        c -= HANGUL;
        out[n++] = HANGUL_L + c / 588;
        out[n++] = HANGUL_V + c % 588 / 28;
        if (c % 28)
            out[n++] = HANGUL_T + c % 28;
        return n;
    }
    out[n] = c;
    return n + 1;
}

/* A run of combining marks in the order of their classes, stably: counted, so that a name
 * of a million marks takes no longer than its letters. */
static void order_run(uint32_t *run, size_t n, uint32_t *scratch)
{
    size_t start[257] = { 0 };
    for (size_t i = 0; i < n; i++)
        start[combining_class(run[i]) + 1]++;
    for (size_t k = 1; k < 257; k++)
        start[k] += start[k - 1];
    for (size_t i = 0; i < n; i++)
        scratch[start[combining_class(run[i])]++] = run[i];
    memcpy(run, scratch, n * sizeof *run);
}

static void order_marks(uint32_t *c, size_t n, uint32_t *scratch)
{
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && combining_class(c[end]); end++) { }
        if (end - i > 1)
            order_run(c + i, end - i, scratch);
        if (end == i)
            end++;
    }
}

static size_t compose(uint32_t *c, size_t n)
{
    size_t kept = 0, starter = SIZE_MAX;
    uint32_t last_class = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t class = combining_class(c[i]);
        bool adjacent = starter != SIZE_MAX && (kept == starter + 1 || (last_class < class));
        uint32_t joined = adjacent ? compose_pair(c[starter], c[i]) : 0;
        if (joined) {
            c[starter] = joined;
            continue;
        }
        if (class == 0)
            starter = kept;
        last_class = class;
        c[kept++] = c[i];
    }
    return kept;
}

/* A character decomposes into four at most, one of a single byte into one: two for each
 * byte, and the other half of the 4 * len places in out is scratch. */
size_t nfc_compose(const char *text, size_t len, uint32_t *out)
{
    size_t n = 0;
    for (size_t at = 0; at < len;)
        n = decompose(utf8_next(text, len, &at), out, n);
    order_marks(out, n, out + 2 * len);
    return compose(out, n);
}
