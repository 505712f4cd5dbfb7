/* Exact elimination: fractions to the nearest f64 (against IEEE division and by hand at
 * ties, subnormals and overflow), and echelon forms against a definition. */
#include "tests/unit/check.h"

#include "kernels/exact.h"

#include <math.h>

static double nearest(const char *above, const char *below)
{
    mpz_t n, d;
    mpz_init_set_str(n, above, 0);
    mpz_init_set_str(d, below, 0);
    double x = exact_nearest_f64(n, d);
    mpz_clears(n, d, NULL);
    return x;
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 11;                /* 53 bits: exact in f64 */
}

static void check_quotients(void)
{
    uint64_t state = 1;
    mpz_t n, d;
    mpz_inits(n, d, NULL);
    for (int i = 0; i < 20000; i++) {
        uint64_t p = next_random(&state) >> (i % 50), q = (next_random(&state) >> (i / 7 % 50)) + 1;
        int e = i % 400 - 200;
        mpz_set_ui(n, p);
        mpz_set_ui(d, q);
        if (e > 0)
            mpz_mul_2exp(n, n, (mp_bitcnt_t)e);
        else
            mpz_mul_2exp(d, d, (mp_bitcnt_t)-e);
        if (i % 3 == 0)
            mpz_neg(n, n);
        double expected = ldexp((double)p / (double)q, e) * (i % 3 ? 1 : -1);
        CHECK(exact_nearest_f64(n, d) == expected);
    }
    mpz_clears(n, d, NULL);
}

static void check_edges(void)
{
    char big[400], small[400];
    snprintf(big, sizeof big, "0x1%0256d", 0);                     /* 2^1024 */
    CHECK(nearest(big, "1") == INFINITY);
    CHECK(nearest(big, "2") == 0x1p1023);
    snprintf(small, sizeof small, "0x8%0268d", 0);                 /* 2^1075 */
    CHECK(nearest("1", small) == 0);                               /* half the least: to even */
    CHECK(nearest("3", small) == 0x1p-1073);                       /* 1.5: to even */
    CHECK(nearest("5", small) == 0x1p-1073);                       /* 2.5: to even */
    CHECK(nearest("0x20000000000001", small) == 0x1p-1022);        /* 2^53 + 1 halves */
    CHECK(nearest("0x20000000000001", "1") == 0x1p53);             /* ties to even */
    CHECK(nearest("0x20000000000003", "1") == 0x1p53 + 4);
    CHECK(nearest("0x2000000000000100000000000000000000001", "0x100000000000000000000000") ==
          0x1p53 + 2);                                             /* just above a tie */
    CHECK(nearest("-1", "3") == -1.0 / 3);
    CHECK(nearest("0", "7") == 0);
}

typedef struct Result { double x[64]; int64_t cols; } Result;

static void keep(void *to, int64_t i, int64_t j, mpz_srcptr above, mpz_srcptr below)
{
    Result *r = to;
    r->x[i * r->cols + j] = exact_nearest_f64(above, below);
}

static int64_t echelon(int64_t rows, int64_t cols, const int64_t *a, Result *out)
{
    volatile sig_atomic_t flag = 0;
    mpz_t room[64];
    int64_t rank = -1;
    out->cols = cols;
    CHECK(exact_rref(rows, cols, a, keep, out, &rank, room, &flag));
    return rank;
}

static void check_echelon(void)
{
    Result r;
    const int64_t extreme[] = { INT64_MIN, INT64_MAX, 1, INT64_MAX, INT64_MIN, 1 };
    CHECK(echelon(2, 3, extreme, &r) == 2);
    CHECK(r.x[0] == 1 && r.x[1] == 0 && r.x[3] == 0 && r.x[4] == 1);
    CHECK(r.x[2] == -1 && r.x[5] == -1);           /* MIN + MAX = -1: both unknowns are -1 */
    const int64_t skipping[] = { 0, 2, 4, 1, 0, 3, 6, 2, 0, 5, 10, 7 };
    CHECK(echelon(3, 4, skipping, &r) == 2);
    CHECK(r.x[1] == 1 && r.x[2] == 2 && r.x[3] == 0 && r.x[7] == 1 && r.x[11] == 0);
    volatile sig_atomic_t flag = 1;
    mpz_t room[64];
    CHECK(!exact_rref(2, 3, extreme, keep, &r, NULL, room, &flag));
}

int main(void)
{
    check_quotients();
    check_edges();
    check_echelon();
    return check_result();
}
