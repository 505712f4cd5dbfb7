/* Airy's functions: by Taylor's series around the quarters from -10 to 10, of which a table has the
 * values in pairs, beyond by the expansions for large arguments (DLMF 9.7). The last digits near a
 * zero come from the same series in pairs. */

typedef enum AiryKind { AIRY_AI, AIRY_AIP, AIRY_BI, AIRY_BIP } AiryKind;

enum { AIRY_TERMS = 18 };

/* y'' = x y gives a(k + 2) = (c a(k) + a(k - 1)) / ((k + 1) (k + 2)). */
static Pair airy_taylor_pair(double c, Pair a0, Pair a1, double h, bool slope)
{
    Pair a[AIRY_TERMS] = { a0, a1, pair_scale(a0, c / 2) };
    for (int k = 1; k + 2 < AIRY_TERMS; k++)
        a[k + 2] = pair_over(pair_add(pair_scale(a[k], c), a[k - 1]), (k + 1) * (k + 2));
    Pair s = { 0, 0 };
    for (int k = AIRY_TERMS - 1; k >= slope; k--)
        s = pair_add(pair_scale(s, h), slope ? pair_scale(a[k], k) : a[k]);
    return s;
}

/* The same but for the two leading terms in doubles. */
static bool airy_taylor(AiryKind kind, double x, double *r)
{
    double c = rint(4 * x) / 4, h = x - c, a[AIRY_TERMS];
    const Pair *row = airy_table[(int)(4 * c) + AIRY_LOW] + (kind >= AIRY_BI ? 2 : 0);
    bool slope = kind == AIRY_AIP || kind == AIRY_BIP;
    a[0] = row[0].h;
    a[1] = row[1].h;
    a[2] = c * a[0] / 2;
    for (int k = 1; k + 2 < AIRY_TERMS; k++)
        a[k + 2] = fma(c * airy_inverse[k], a[k], a[k - 1] * airy_inverse[k]);
    if (slope)
        for (int k = 3; k < AIRY_TERMS; k++)
            a[k - 1] = k * a[k];
    double square = h * h, even = 0, odd = 0;
    for (int k = AIRY_TERMS - 2 - 2 * slope; k >= 2; k -= 2) {
        even = fma(even, square, a[k]);
        odd = fma(odd, square, a[k + 1]);
    }
    double rest = fma(odd, h, even) * square;
    Pair first = slope ? row[1] : row[0], second = slope ? pair_scale(row[0], c) : row[1];
    Pair sum = pair_add(first, pair_scale(second, h));
    *r = sum.h + (sum.l + rest);
    if (fabs(*r) > fabs(rest))
        return true;
    *r = airy_taylor_pair(c, row[0], row[1], h, slope).h;
    return fabs(*r) > 0x1p-40 * fabs(first.h) || fabs(*r) > 0x1p-40 * fabs(second.h * h);
}

/* Sums of c(2k) (-s)^k and c(2k + 1) (-s)^k z, z = 1 / zeta, s = z^2; the first without its 1. */
static void airy_sums(const double *c, double z, double *even, double *odd)
{
    double term = z;
    *even = *odd = 0;
    for (int k = 1; k + 1 < 26 && fabs(term * c[k]) > 1e-19; k += 2) {
        *odd += c[k] * term;
        term *= z;
        *even -= c[k + 1] * term;
        term *= -z;
    }
}

static double airy_sum(const double *c, double z)
{
    double rest = 0, term = z;
    for (int k = 1; k < 26 && fabs(term * c[k]) > 1e-19; k++) {
        rest += c[k] * term;
        term *= z;
    }
    return 1 + rest;
}

static bool airy_left(AiryKind kind, Pair zeta, Pair scale, double *r)
{
    static const Pair eighth = { 0.7853981633974483, 3.061616997868383e-17 };
    double p, q;
    Pair sine, cosine;
    bool slope = kind == AIRY_AIP || kind == AIRY_BIP, first = kind == AIRY_AI || kind == AIRY_BIP;
    if (!(zeta.h < 1e5))
        return false;
    pair_sincos(pair_sub(zeta, eighth), &sine, &cosine);
    airy_sums(slope ? airy_v : airy_u, 1 / zeta.h, &p, &q);
    Pair most = first ? cosine : sine;
    double rest = (first ? sine.h * q : -cosine.h * q) + most.h * p;
    double sum = most.h + (most.l + rest);
    if (kind == AIRY_BI)
        sum = -sum;
    *r = fma(sum, scale.h, sum * scale.l);
    return fabs(sum) > 0.5 * fabs(rest);
}

static bool airy_right(AiryKind kind, Pair zeta, Pair scale, double *r)
{
    bool slope = kind == AIRY_AIP || kind == AIRY_BIP;
    if (!(zeta.h < 690))
        return false;
    double z = kind >= AIRY_BI ? 1 / zeta.h : -1 / zeta.h;
    double sum = airy_sum(slope ? airy_v : airy_u, z);
    Pair e = pair_mul(pair_exp(kind >= AIRY_BI ? zeta : pair_negative(zeta)), scale);
    *r = fma(sum, e.h, sum * e.l) * (kind == AIRY_AI ? 0.5 : kind == AIRY_AIP ? -0.5 : 1);
    return true;
}

static bool airy(AiryKind kind, double x, double *r)
{
    static const Pair inverse_root_pi = { 0.5641895835477563, 7.66772980658294e-18 };
    double size = fabs(x);
    if (size <= 10)
        return airy_taylor(kind, x, r);
    if (!(size < 1e8))
        return false;
    Pair root = pair_root(pair_of(size)), zeta = pair_over(pair_scale(root, 2 * size), 3);
    /* 1 / (sqrt(pi) x^(1/4)), of slopes x^(1/4) / sqrt(pi) */
    Pair fourth = pair_root(root);
    bool slope = kind == AIRY_AIP || kind == AIRY_BIP;
    Pair scale = slope ? pair_mul(fourth, inverse_root_pi) : pair_div(inverse_root_pi, fourth);
    return x > 0 ? airy_right(kind, zeta, scale, r) : airy_left(kind, zeta, scale, r);
}

static bool fast_airy_ai(const double *x, double *r) { return airy(AIRY_AI, x[0], r); }
static bool fast_airy_aip(const double *x, double *r) { return airy(AIRY_AIP, x[0], r); }
static bool fast_airy_bi(const double *x, double *r) { return airy(AIRY_BI, x[0], r); }
static bool fast_airy_bip(const double *x, double *r) { return airy(AIRY_BIP, x[0], r); }
