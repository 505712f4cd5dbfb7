/* Roots, weights and vectors of the secular equation in REAL (secular.h):
 *
 *     f(x) = 1 / rho + sum z_i^2 / (d_i - x) = 0
 *
 * has one root between each two poles and one above the last. A root is kept as its distance tau
 * from the nearer pole, and so the differences d_i - x are exact to the last bits; they are the
 * columns of q until the vectors are made of them. */

/* f = 1 / rho + psi + phi at a point, psi from the poles below it, phi from those above. */
typedef struct FN(Value) { REAL f, psi, phi, dpsi, dphi; } FN(Value);

static inline REAL FN(total)(const V *v)
{
    REAL sum = 0;
    for (int i = 0; i < LANES; i++)
        sum += (*v)[i];
    return sum;
}

/* Terms of poles below are negative, those of poles above positive, those of the padding 0. */
static inline FN(Value) FN(value)(const Secular *s, REAL pole, REAL tau)
{
    const REAL *d = s->d, *z2 = s->z2;
    V psi = { 0 }, phi = { 0 }, dpsi = { 0 }, dphi = { 0 };
    for (int64_t i = 0; i < s->k; i += LANES) {
        V inverse = 1 / ((*(const V *)(d + i) - pole) - tau), term = *(const V *)(z2 + i) * inverse;
        V slope = term * inverse;
        M below = (M)(term < 0);
        psi += KEEP(term, below), phi += KEEP(term, ~below);
        dpsi += KEEP(slope, below), dphi += KEEP(slope, ~below);
    }
    FN(Value) v = { 0, FN(total)(&psi), FN(total)(&phi), FN(total)(&dpsi), FN(total)(&dphi) };
    v.f = 1 / (REAL)s->rho + v.psi + v.phi;
    return v;
}

/* For the root above all poles: the last pole's terms in place of those above. */
static inline void FN(part_last)(const Secular *s, REAL tau, FN(Value) *v)
{
    REAL inverse = -1 / tau, term = ((const REAL *)s->z2)[s->k - 1] * inverse;
    v->psi -= term, v->dpsi -= term * inverse;
    v->phi = term, v->dphi = term * inverse;
}

/* The smaller step to a zero of c x^2 - a x + b, written so that nothing cancels. */
static inline REAL FN(quadratic)(REAL a, REAL b, REAL c, bool last)
{
    REAL root = SQRT(ABS(a * a - 4 * b * c));
    if (last)
        return a >= 0 ? (a + root) / (2 * c) : 2 * b / (a - root);
    return a <= 0 ? (a - root) / (2 * c) : 2 * b / (a + root);
}

/* A first tau in (low, high): the zero of f with the two poles at left and right as they are and
 * the others' terms as at the point v was computed at. */
static inline REAL FN(first)(const Secular *s, int64_t left, int64_t right, REAL pole, REAL tau,
                             const FN(Value) *v)
{
    const REAL *d = s->d, *z2 = s->z2;
    REAL x = d[left] - pole, y = d[right] - pole;
    REAL c = v->f - z2[left] / (x - tau) - z2[right] / (y - tau);
    REAL a = c * (x + y) + z2[left] + z2[right], b = c * x * y + z2[left] * y + z2[right] * x;
    return FN(quadratic)(a, b, c, right == s->k - 1 && pole == d[right] && tau > 0);
}

/* The next step: f replaced by what has its value and slopes, psi and phi each by one pole. */
static inline REAL FN(step)(REAL left, REAL right, bool last, const FN(Value) *v)
{
    REAL slope = v->dpsi + v->dphi;
    REAL c = v->f - left * v->dpsi - right * v->dphi;
    REAL a = (left + right) * v->f - left * right * slope, b = left * right * v->f;
    REAL eta = last ? FN(quadratic)(a, b, ABS(c), true) : FN(quadratic)(a, b, c, false);
    return v->f * eta < 0 ? eta : -v->f / slope;
}

static bool FN(root)(const Secular *s, int64_t j)
{
    enum { STEPS = 100 };
    const REAL *d = s->d;
    bool last = j == s->k - 1;
    int64_t left = last && j > 0 ? j - 1 : j, right = last ? j : j + 1;
    REAL low = 0, high, pole = d[j], tau;
    if (last) {
        REAL norm = 0;
        for (int64_t i = 0; i < s->k; i++)
            norm += ((const REAL *)s->z2)[i];
        high = (REAL)s->rho * norm * (1 + 8 * EPS);
    } else {
        high = (d[j + 1] - d[j]) / 2;
    }
    tau = last ? high / 2 : high;
    FN(Value) v = FN(value)(s, pole, tau);
    if (!last && v.f < 0) {                     /* in the right half */
        pole = d[j + 1];
        low = tau = -high, high = 0;
    } else if (v.f < 0) {
        low = tau;
    } else {
        high = tau;
    }
    REAL guess = s->k == 1 ? high : FN(first)(s, left, right, pole, tau, &v);
    tau = guess > low && guess < high ? guess : (low + high) / 2;
    bool found = false;
    for (int step = 0; step < STEPS && !found; step++) {
        v = FN(value)(s, pole, tau);
        if (last)
            FN(part_last)(s, tau, &v);
        REAL sum = ABS(v.psi) + ABS(v.phi);
        REAL error = (8 + (REAL)s->k / LANES) * sum + 1 / (REAL)s->rho +
                     ABS(tau) * (v.dpsi + v.dphi);
        found = !(ABS(v.f) > EPS * error);
        if (found)
            break;
        if (v.f < 0)
            low = tau;
        else
            high = tau;
        REAL to = tau + FN(step)((d[left] - pole) - tau, (d[right] - pole) - tau, last, &v);
        if (!(to > low && to < high) || step > STEPS / 2)
            to = (low + high) / 2;
        found = ABS(to - tau) <= EPS * ABS(tau);
        tau = to;
    }
    REAL *column = s->q ? (REAL *)s->q + j * s->ld : NULL;
    for (int64_t i = 0; i < s->k && column; i += LANES)
        *(V *)(column + i) = (*(const V *)(d + i) - pole) - tau;
    ((REAL *)s->lambda)[j] = pole + tau;
    return found;
}

static bool FN(roots)(const Secular *s, int64_t from, int64_t to)
{
    bool found = true;
    for (int64_t j = from; j < to; j++)
        found &= FN(root)(s, j);
    return found;
}

/* The z of which the computed roots are exactly those (Gu and Eisenstat): with it the vectors are
 * orthogonal however close the roots are. In place of z, poles [from, to), from a whole vector. */
static void FN(weights)(const Secular *s, int64_t from, int64_t to)
{
    const REAL *d = s->d, *q = s->q;
    REAL *z = s->z;
    for (int64_t i = from; i < to; i += LANES) {
        V product = 1 - (V){ 0 }, at = *(const V *)(d + i);
        for (int64_t j = 0; j < s->k; j++) {
            V gap = at - d[j];
            M own = (M)(gap == 0);
            gap = (V)(((M)gap & ~own) | ((M)(1 - (V){ 0 }) & own));
            product *= *(const V *)(q + j * s->ld + i) / gap;
        }
        for (int64_t p = 0; p < LANES && i + p < to; p++)
            z[i + p] = z[i + p] < 0 ? -SQRT(ABS(product[p])) : SQRT(ABS(product[p]));
    }
}

static void FN(vectors)(const Secular *s, int64_t from, int64_t to, void *room)
{
    const REAL *z = s->z;
    REAL *x = room;
    for (int64_t j = from; j < to; j++) {
        REAL *column = (REAL *)s->q + j * s->ld, most = 0;
        V largest = { 0 }, sum = { 0 };
        for (int64_t i = 0; i < s->k; i += LANES) {
            V v = *(const V *)(z + i) / *(const V *)(column + i);
            V size = KEEP(v, (M)(v > 0)) - KEEP(v, (M)(v < 0));
            M more = (M)(size > largest);
            *(V *)(x + i) = v;
            largest = (V)((M)KEEP(size, more) | (M)KEEP(largest, ~more));
        }
        for (int i = 0; i < LANES; i++)
            most = largest[i] > most ? largest[i] : most;
        REAL scale = 1 / most;
        for (int64_t i = 0; i < s->k; i += LANES) {
            V v = *(const V *)(x + i) * scale;
            *(V *)(x + i) = v;
            sum += v * v;
        }
        scale = 1 / SQRT(FN(total)(&sum));
        for (int64_t i = 0; i < s->k; i++)
            column[i] = x[s->order[i]] * scale;
    }
}

#undef REAL
#undef FN
#undef V
#undef M
#undef LANES
#undef EPS
#undef ABS
#undef SQRT
