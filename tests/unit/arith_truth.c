/* Arithmetic in binary formats against its definition (truth.h): every operation, mode and
 * format on numbers where rounding is decided (zeros, subnormals, powers of two, ties and their
 * neighbours, the overflow threshold), on random ones, and on all pairs of the small formats;
 * the counts of flags; loads, stores and casts; the probabilities of stochastic rounding. The
 * definition itself is compared with the processor's f64 and f32.
 * RICCI_SOAK=n runs n times as many cases. */
#include "kernels/cast/tensor_cast.h"
#include "kernels/number/number.h"
#include "kernels/arith/arith_quick.h"
#include "tests/unit/truth.h"
#include "tests/unit/check.h"

#include <fenv.h>
#include <stdlib.h>

static Ctx ctx_storage, *ctx = &ctx_storage;
static InterruptFlag no_interrupt;
static int64_t soak = 1, cases;

static const char *const mode_names[] = {
    "nearest", "away", "zero", "up", "down", "odd", "stochastic"
};

typedef struct Format {
    char name[24];
    DType dtype;
    TruthFormat facts;
} Format;

static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

/* ---- formats ---- */

static Format format_ieee(int e, int p)
{
    Format f = { .dtype = dtype_mini(e, p, MINI_IEEE), .facts = truth_ieee(e, p) };
    snprintf(f.name, sizeof f.name, "float(%d, %d)", e, p);
    return f;
}

/* The ones of OFP8 and of the microscaling specification, which end in their own ways. */
static const struct { const char *name; int p, emin, emax; double max; char over; } OWN[] = {
    { "e4m3", 4, -6, 8, 448, 'n' },
    { "e3m2", 3, -2, 4, 28, 's' },
    { "e2m3", 4, 0, 2, 7.5, 's' },
    { "e2m1", 2, 0, 2, 6, 's' },
};

static const struct { const char *name; int e, p; } NAMED[] = {
    { "f64", 11, 53 }, { "f32", 8, 24 }, { "tf32", 8, 11 }, { "f16", 5, 11 }, { "bf16", 8, 8 },
    { "e5m2", 5, 3 },
};

enum { NAMES = 10 };

static Format format_named(int n)
{
    Format f;
    if (n < 6) {
        f = format_ieee(NAMED[n].e, NAMED[n].p);
        snprintf(f.name, sizeof f.name, "%s", NAMED[n].name);
    } else {
        n -= 6;
        f.facts = (TruthFormat){ OWN[n].p, OWN[n].emin, OWN[n].emax, OWN[n].max, OWN[n].over };
        snprintf(f.name, sizeof f.name, "%s", OWN[n].name);
    }
    f.dtype = dtype_find(f.name, strlen(f.name));
    return f;
}

static void test_facts(void)
{
    for (int n = 0; n < NAMES; n++) {
        Format f = format_named(n);
        BinaryFormat b;
        CHECK(f.dtype != DT_NONE);
        if (n < 6)
            CHECK(f.dtype == dtype_mini(NAMED[n].e, NAMED[n].p, MINI_IEEE));
        if (CHECK(binary_format(f.dtype, &b)))
            CHECK(b.p == f.facts.p && b.emin == f.facts.emin && b.emax == f.facts.emax &&
                  b.max == f.facts.max && b.over == f.facts.over);
    }
}

/* ---- operands ---- */

static uint64_t below(uint64_t n) { return check_random() % n; }
static double some_sign(double v) { return check_random() & 1 ? -v : v; }

/* A random number of the format: significand and exponent each near its ends or anywhere. */
static double random_number(const TruthFormat *f)
{
    uint64_t top = (uint64_t)1 << (f->p - 1), n;
    int e;
    switch (below(6)) {
    case 0: n = top + below(f->p > 2 ? 3 : 1); break;
    case 1: n = 2 * top - 1 - below(f->p > 2 ? 3 : 1); break;
    case 2: n = top + (below(top) & (top - ((uint64_t)1 << below((uint64_t)f->p)))); break;
    default: n = top + below(top); break;
    }
    switch (below(8)) {
    case 0: e = f->emin; n = below(2 * top); break;         /* subnormals mostly */
    case 1: e = f->emin + (int)below(3); break;
    case 2: e = f->emax - (int)below(3); break;
    case 3: case 4: e = (int)below(7) - 3; break;
    default: e = f->emin + (int)below((uint64_t)(f->emax - f->emin + 1)); break;
    }
    if (e < f->emin) e = f->emin;
    if (e > f->emax) e = f->emax;
    double v = ldexp((double)n, e - (f->p - 1));
    return some_sign(v > f->max ? f->max : v);
}

/* The numbers of a format where something begins or ends. */
static int edges(const TruthFormat *f, double *v)
{
    double least = ldexp(1, f->emin - (f->p - 1)), normal = ldexp(1, f->emin);
    double u = ldexp(1, 1 - f->p), last = ldexp(u, f->emax);
    double list[] = { 0, least, 2 * least, 3 * least, normal - least, normal, normal + least,
                      2 * normal, 1, 1 + u, 2 - u, 2, 3, ldexp(1, f->emax), f->max, f->max - last,
                      f->max / 2, INFINITY, NAN };
    int n = 0;
    for (int i = 0; i < (int)(sizeof list / sizeof *list); i++) {
        double x = list[i];
        if ((isinf(x) && f->over != 'i') || (isnan(x) && f->over == 's'))
            continue;
        if (isfinite(x) && !same(truth_load(x, f, ROUND_NEAREST).value, x))
            continue;                           /* 3 has two bits, 1 + u may be 2 … */
        v[n++] = x;
        if (!isnan(x))
            v[n++] = -x;
    }
    return n;
}

static double any_operand(const TruthFormat *f)
{
    double v[64];
    if (below(8))
        return random_number(f);
    int n = edges(f, v);
    return v[below((uint64_t)n)];
}

/* z so that x y + z is near a tie or cancels. */
static double near_product(const TruthFormat *f, double x, double y)
{
    double z = -truth_mul(x, y, f, (RoundMode)below(5)).value;
    if (!isfinite(z) || (f->over != 'i' && isnan(z)))
        return any_operand(f);
    int places = (int)below(2u * (unsigned)f->p + 3) - f->p;
    switch (below(4)) {
    case 0: return z;
    case 3: return z < 0 ? f->max : -f->max;
    case 1: return truth_load(ldexp(z, places - 1), f, ROUND_ZERO).value;
    default:
        return truth_load(ldexp(some_sign(1), places + ilogb(z == 0 ? 1 : z)), f, ROUND_ZERO).value;
    }
}

/* ---- comparing ---- */

enum { BATCH = 512 };

typedef struct Batch {
    double x[BATCH], y[BATCH], z[BATCH], out[BATCH * 3];
    int n;
} Batch;

static const EwOp OPS[] = { EW_ADD, EW_SUBTRACT, EW_MULTIPLY, EW_DIVIDE, EW_SQRT, EW_FMA };
enum { OP_COUNT = 6 };

static Truth model(EwOp op, double x, double y, double z, const TruthFormat *f, RoundMode mode)
{
    switch (op) {
    case EW_ADD: return truth_add(x, y, f, mode);
    case EW_SUBTRACT: return truth_add(x, -y, f, mode);
    case EW_MULTIPLY: return truth_mul(x, y, f, mode);
    case EW_DIVIDE: return truth_div(x, y, f, mode);
    case EW_SQRT: return truth_sqrt(x, f, mode);
    default: return truth_fma(x, y, z, true, f, mode);
    }
}

static bool right(const Truth *t, RoundMode mode, double got)
{
    if (mode != ROUND_STOCHASTIC || t->exact)
        return same(got, t->value);
    return same(got, t->value) || same(got, t->up);
}

static void flags_count(ArithFlags *to, const ArithFlags *from)
{
    to->overflow += from->overflow;
    to->underflow += from->underflow;
    to->inexact += from->inexact;
    to->invalid += from->invalid;
    to->divzero += from->divzero;
}

static bool flags_equal(const ArithFlags *a, const ArithFlags *b, RoundMode mode)
{
    bool ends = a->overflow == b->overflow && a->underflow == b->underflow;
    return (ends || mode == ROUND_STOCHASTIC) && a->inexact == b->inexact &&
           a->invalid == b->invalid && a->divzero == b->divzero;
}

static const char *flags_text(char *to, const ArithFlags *f)
{
    sprintf(to, "o%d u%d x%d i%d z%d", (int)f->overflow, (int)f->underflow, (int)f->inexact,
            (int)f->invalid, (int)f->divzero);
    return to;
}

static void complain(const Format *f, RoundMode mode, const char *what, const double *x,
                     double want, double got, const ArithFlags *wanted, const ArithFlags *found)
{
    char a[64], b[64];
    if (check_failed++ >= 60)
        return;
    fprintf(stderr, "FAIL %s %s%s%s %s(%a, %a, %a): ", f->name, mode_names[mode],
            f->facts.saturate ? " saturate" : "", f->facts.flush ? " flush" : "", what, x[0], x[1],
            x[2]);
    fprintf(stderr, "%a (%s), not %a (%s)\n", want, flags_text(a, wanted), got,
            flags_text(b, found));
}

static bool open_arith(Arith *a, const Format *f, RoundMode mode)
{
    const TruthFormat *facts = &f->facts;
    ArithStatus s = arith_open(ctx, a, f->dtype, mode, facts->saturate, facts->flush);
    if (s != ARITH_OK || a->carrier != DT_F64 || a->size != 8)
        return check_that(false, "the format opens", __FILE__, __LINE__);
    a->seed[0] = check_random();
    a->seed[1] = check_random();
    return true;
}

/* One element after another, to say which one is counted wrongly. */
static void find_flags(Arith *a, const Format *f, RoundMode mode, EwOp op, const Batch *b)
{
    for (int i = 0; i < b->n; i++) {
        const void *in[] = { b->x + i, b->y + i, b->z + i };
        const int64_t one[] = { 1, 1, 1 };
        double got, x[] = { b->x[i], b->y[i], b->z[i] };
        Truth t = model(op, b->x[i], b->y[i], b->z[i], &f->facts, mode);
        a->flags = (ArithFlags){ 0 };
        a->ops->ew(a, op, &got, 1, in, one, 1);
        if (!flags_equal(&t.flags, &a->flags, mode))
            complain(f, mode, ew_info[op].name, x, t.value, got, &t.flags, &a->flags);
    }
}

/* The way that scalars take: what it gives and counts, where it does, is the same. */
static void compare_quick(Arith *a, const Format *f, RoundMode mode, EwOp op, const Batch *b)
{
    for (int i = 0; i < b->n; i++) {
        double got, x[] = { b->x[i], b->y[i], b->z[i] };
        a->flags = (ArithFlags){ 0 };
        if (!arith_quick(a, op, x[0], x[1], &got))
            continue;
        Truth t = model(op, x[0], x[1], x[2], &f->facts, mode);
        if (!right(&t, mode, got) || !flags_equal(&t.flags, &a->flags, mode))
            complain(f, mode, ew_info[op].name, x, t.value, got, &t.flags, &a->flags);
    }
}

static void compare_batch(Arith *a, const Format *f, RoundMode mode, EwOp op, Batch *b)
{
    /* rows with gaps, rows that are dense, and results over an operand */
    int64_t step = 1 + (int64_t)below(3), one[] = { 1, 1, 1 };
    bool over = step == 1 && below(2);
    double *out = b->out;
    const void *in[] = { b->x, b->y, b->z };
    if (over) {
        memcpy(out, b->x, sizeof b->x);
        in[0] = out;
    }
    a->flags = (ArithFlags){ 0 };
    int64_t length = below(3) ? b->n : 1 + (int64_t)below(6);       /* short rows go another way */
    for (int64_t i = 0; i < b->n; i += length) {
        const double *x = in[0];
        const void *row[] = { x + i, b->y + i, b->z + i };
        int64_t n = length < b->n - i ? length : b->n - i;
        if (a->ops->ew(a, op, out + i * step, step, row, one, n) != ARITH_OK)
            check_that(false, "the operation runs", __FILE__, __LINE__);
    }
    ArithFlags wanted = { 0 }, found = a->flags;
    int wrong = check_failed;
    for (int i = 0; i < b->n; i++) {
        double x[] = { b->x[i], b->y[i], b->z[i] };
        Truth t = model(op, b->x[i], b->y[i], b->z[i], &f->facts, mode);
        flags_count(&wanted, &t.flags);
        if (!right(&t, mode, out[i * step]))
            complain(f, mode, ew_info[op].name, x, t.value, out[i * step], &t.flags, &found);
    }
    cases += b->n;
    if (check_failed == wrong && !flags_equal(&wanted, &found, mode)) {
        check_failed++;
        find_flags(a, f, mode, op, b);
    }
}

static void fill_random(Batch *b, const TruthFormat *f, EwOp op)
{
    b->n = BATCH - (int)below(9);
    for (int i = 0; i < b->n; i++) {
        b->x[i] = any_operand(f);
        b->y[i] = any_operand(f);
        if (op < EW_MULTIPLY && below(2) && isfinite(b->x[i]))      /* near in magnitude, ties */
            b->y[i] = near_product(f, b->x[i], 1);
        if (op == EW_DIVIDE && below(4) == 0 && isfinite(b->x[i]) && isfinite(b->y[i]))
            b->x[i] = truth_mul(b->x[i], b->y[i], f, ROUND_ZERO).value;
        if (op == EW_SQRT && below(8))
            b->x[i] = fabs(below(3) ? b->x[i] : truth_mul(b->x[i], b->x[i], f, ROUND_AWAY).value);
        if (op == EW_FMA)
            b->z[i] = below(2) ? near_product(f, b->x[i], b->y[i]) : any_operand(f);
    }
}

static void test_random(const Format *f, int64_t batches)
{
    static Batch b;
    for (int m = 0; m < ROUND_MODES; m++)
        for (int o = 0; o < OP_COUNT; o++)
            for (int64_t i = 0; i < batches; i++) {
                Arith a;
                if (!open_arith(&a, f, (RoundMode)m))
                    return;
                fill_random(&b, &f->facts, OPS[o]);
                compare_batch(&a, f, (RoundMode)m, OPS[o], &b);
                if (m == ROUND_NEAREST)
                    compare_quick(&a, f, ROUND_NEAREST, OPS[o], &b);
            }
}

/* Edges with edges, in every operation. */
static void test_edges(const Format *f)
{
    static Batch b;
    double v[64];
    int n = edges(&f->facts, v);
    for (int m = 0; m < ROUND_MODES; m++)
        for (int o = 0; o < OP_COUNT; o++)
            for (int i = 0; i < n; i++) {
                Arith a;
                if (!open_arith(&a, f, (RoundMode)m))
                    return;
                for (int j = 0; j < n; j++) {
                    b.x[j] = v[i];
                    b.y[j] = v[j];
                    b.z[j] = below(2) ? v[below((uint64_t)n)] : near_product(&f->facts, v[i], v[j]);
                }
                b.n = n;
                compare_batch(&a, f, (RoundMode)m, OPS[o], &b);
            }
}

/* All numbers of a small format; the number of them. */
static int enumerate(const TruthFormat *f, double *v)
{
    int n = 0;
    double least = ldexp(1, f->emin - (f->p - 1));
    for (double x = 0; x <= f->max && n < 140; n++) {
        v[n] = x;
        x += x < ldexp(1, f->emin + 1) ? least : ldexp(1, ilogb(x) - (f->p - 1));
    }
    for (int i = 0; i < n; i++)
        v[n + i] = -v[i];
    n *= 2;
    if (f->over == 'i') {
        v[n++] = INFINITY;
        v[n++] = -INFINITY;
    }
    if (f->over != 's')
        v[n++] = NAN;
    return n;
}

static void test_all_pairs(const Format *f)
{
    static Batch b;
    double v[300];
    int n = enumerate(&f->facts, v);
    for (int m = 0; m < ROUND_MODES; m++)
        for (int o = 0; o < OP_COUNT; o++)
            for (int i = 0; i < (OPS[o] == EW_SQRT ? 1 : n); i++) {
                Arith a;
                if (!open_arith(&a, f, (RoundMode)m))
                    return;
                b.n = 0;
                for (int j = 0; j < n; j++) {
                    b.x[b.n] = v[OPS[o] == EW_SQRT ? j : i];
                    b.y[b.n] = v[j];
                    b.z[b.n++] = v[below((uint64_t)n)];
                }
                compare_batch(&a, f, (RoundMode)m, OPS[o], &b);
            }
}

/* ---- loads and stores ---- */

/* A double beside which rounding to f turns: a number, a tie, their neighbours as doubles. */
static double random_source(const TruthFormat *f)
{
    double v = any_operand(f);
    if (below(12) == 0) {
        uint64_t bits = check_random();
        memcpy(&v, &bits, sizeof v);
        return v;
    }
    if (!isfinite(v))
        return v;
    if (below(12) == 0)
        v = some_sign(f->max);
    if (below(3)) {             /* half a unit of the last place away from it */
        int e = v == 0 ? f->emin : ilogb(v);
        v += some_sign(ldexp(1, (e > f->emin ? e : f->emin) - f->p));
    }
    if (below(3) == 0)
        v = nextafter(v, below(2) ? INFINITY : -INFINITY);
    return v;
}

static void check_load(Arith *a, const Format *f, RoundMode mode, DType from, const void *rows,
                       const Truth *want, const double *source, int n)
{
    double got[BATCH * 2];
    int64_t step = 1 + (int64_t)below(2);
    a->flags = (ArithFlags){ 0 };
    if (a->ops->load(a, got, step, from, rows, 1, n) != ARITH_OK) {
        check_that(false, "the numbers load", __FILE__, __LINE__);
        return;
    }
    ArithFlags wanted = { 0 }, found = a->flags;
    int wrong = check_failed;
    char what[40];
    snprintf(what, sizeof what, "load %s", dtype_name(from));
    for (int i = 0; i < n; i++) {
        double x[] = { source[i], 0, 0 };
        flags_count(&wanted, &want[i].flags);
        if (!right(&want[i], mode, got[i * step]))
            complain(f, mode, what, x, want[i].value, got[i * step], &want[i].flags, &found);
    }
    cases += n;
    if (check_failed > wrong || flags_equal(&wanted, &found, mode))
        return;
    for (int i = 0; i < n; i++) {
        double x[] = { source[i], 0, 0 };
        a->flags = (ArithFlags){ 0 };
        a->ops->load(a, got, 1, from,
                     (const char *)rows + i * dtype_info(from)->bytes, 1, 1);
        if (!flags_equal(&want[i].flags, &a->flags, mode))
            complain(f, mode, what, x, want[i].value, got[0], &want[i].flags, &a->flags);
    }
}

/* Numbers of g in its storage, loaded into f. */
static void test_load_from(const Format *f, const Format *g, RoundMode mode)
{
    double x[BATCH];
    char rows[BATCH * 8];
    Truth want[BATCH];
    Arith a;
    int n = BATCH / 2;
    if (!open_arith(&a, f, mode))
        return;
    for (int i = 0; i < n; i++) {
        x[i] = below(4) ? random_source(&f->facts) : any_operand(&g->facts);
        x[i] = truth_load(x[i], &g->facts, ROUND_NEAREST).value;
        want[i] = truth_load(x[i], &f->facts, mode);
    }
    binary_pack(g->dtype, rows, x, n);
    check_load(&a, f, mode, g->dtype, rows, want, x, n);
}

static int64_t random_int(const TruthFormat *f)
{
    double v = random_source(f);
    uint64_t top = (uint64_t)1 << f->p;
    if (below(3) == 0 || !(fabs(v) < 0x1p62))
        return (int64_t)(check_random() >> below(64)) * (check_random() & 1 ? 1 : -1);
    if (below(2) && f->p < 40)      /* near a tie of large numbers */
        v = some_sign(ldexp((double)(top + below(top)) + 0.5, (int)below((uint64_t)(62 - f->p))));
    return (int64_t)v + (int64_t)below(3) - 1;
}

static void test_load_ints(const Format *f, RoundMode mode)
{
    int64_t x[BATCH];
    double shown[BATCH];
    Truth want[BATCH];
    Arith a;
    Exact e;
    if (!open_arith(&a, f, mode))
        return;
    truth_begin(&e);
    for (int i = 0; i < BATCH; i++) {
        x[i] = i == 0 ? INT64_MIN : i == 1 ? INT64_MAX : random_int(&f->facts);
        shown[i] = (double)x[i];
        exact_int(&e, x[i]);
        want[i] = x[i] == 0 ? truth_is(0) : truth_round(&e, &f->facts, mode);
    }
    truth_end(&e);
    check_load(&a, f, mode, DT_I64, x, want, shown, BATCH);
}

static void test_loads(const Format *f)
{
    for (int m = 0; m < ROUND_MODES; m++) {
        for (int n = 0; n < NAMES; n++) {
            Format g = format_named(n);
            test_load_from(f, &g, (RoundMode)m);
        }
        test_load_ints(f, (RoundMode)m);
    }
}

/* Numbers of the format survive its storage, and loading them again. */
static void test_store(const Format *f)
{
    double x[BATCH], back[BATCH], loaded[BATCH];
    char rows[BATCH * 8];
    Arith a;
    if (!open_arith(&a, f, ROUND_NEAREST))
        return;
    for (int i = 0; i < BATCH; i++)
        x[i] = any_operand(&f->facts);
    CHECK(a.ops->store(&a, rows, 1, x, 1, BATCH) == ARITH_OK);
    binary_unpack(f->dtype, back, rows, BATCH);
    CHECK(a.ops->load(&a, loaded, 1, f->dtype, rows, 1, BATCH) == ARITH_OK);
    bool good = true, lossy = f->facts.flush || f->facts.saturate;    /* subnormals, infinities */
    for (int i = 0; i < BATCH; i++)
        good &= same(x[i], back[i]) && (lossy || same(x[i], loaded[i]));
    CHECK(good);
}

/* Casts between storage dtypes round once, to nearest. */
static void test_cast(const Format *f, const Format *g)
{
    double x[BATCH], back[BATCH];
    char rows[BATCH * 8], cast[BATCH * 8];
    int n = BATCH / 2;
    for (int i = 0; i < n; i++)
        x[i] = truth_load(random_source(&f->facts), &g->facts, ROUND_NEAREST).value;
    binary_pack(g->dtype, rows, x, n);
    CHECK(cast_run(f->dtype, cast, 1, g->dtype, rows, 1, n) == -1);
    binary_unpack(f->dtype, back, cast, n);
    for (int i = 0; i < n; i++) {
        Truth t = truth_load(x[i], &f->facts, ROUND_NEAREST);
        double shown[] = { x[i], 0, 0 };
        char what[40];
        snprintf(what, sizeof what, "cast %s", dtype_name(g->dtype));
        if (!same(t.value, back[i]))
            complain(f, ROUND_NEAREST, what, shown, t.value, back[i], &t.flags, &t.flags);
    }
    cases += n;
}

/* Ints as numbers of the format, to nearest; and back, where they are ints. */
static void test_cast_ints(const Format *f)
{
    enum { N = 128 };
    int64_t x[N], back[N];
    double numbers[N];
    char rows[N * 8];
    for (int i = 0; i < N; i++)
        x[i] = i < 2 ? (i ? INT64_MIN : INT64_MAX) : random_int(&f->facts);
    CHECK(cast_run(f->dtype, rows, 1, DT_I64, x, 1, N) == -1);
    binary_unpack(f->dtype, numbers, rows, N);
    for (int i = 0; i < N; i++) {
        exact_int(&truth_x, x[i]);
        Truth t = x[i] ? truth_round(&truth_x, &f->facts, ROUND_NEAREST) : truth_is(0);
        double shown[] = { (double)x[i], 0, 0 };
        if (!same(t.value, numbers[i]))
            complain(f, ROUND_NEAREST, "cast i64", shown, t.value, numbers[i], &t.flags, &t.flags);
        bool fits = fabs(numbers[i]) < 0x1p63 && numbers[i] == trunc(numbers[i]);
        if (!fits)
            continue;
        char one[8];
        binary_pack(f->dtype, one, numbers + i, 1);
        if (cast_run(DT_I64, back, 1, f->dtype, one, 1, 1) != -1 || back[0] != (int64_t)numbers[i])
            complain(f, ROUND_NEAREST, "to i64", shown, numbers[i], (double)back[0], &t.flags,
                     &t.flags);
    }
    cases += N;
}

/* ---- stochastic rounding ---- */

/* How often the upper neighbour comes, within five standard deviations; never where exact. */
static void test_frequency(const Format *f, EwOp op, double x, double y, double z)
{
    enum { DRAWS = 4096 };
    double out[DRAWS];
    const void *in[] = { &x, &y, &z };
    const int64_t none[] = { 0, 0, 0 };
    Arith a;
    Truth t = model(op, x, y, z, &f->facts, ROUND_STOCHASTIC);
    if (!open_arith(&a, f, ROUND_STOCHASTIC) || same(t.value, t.up))
        return;
    CHECK(a.ops->ew(&a, op, out, 1, in, none, DRAWS) == ARITH_OK);
    double ups = 0;
    for (int i = 0; i < DRAWS; i++)
        ups += same(out[i], t.up);
    double sigma = sqrt(DRAWS * t.part * (1 - t.part));
    double shown[] = { x, y, z };
    if (fabs(ups - DRAWS * t.part) > 5 * sigma + 1)
        complain(f, ROUND_STOCHASTIC, "frequency", shown, t.part, ups / DRAWS, &t.flags, &a.flags);
    else
        check_passed++;
}

static void test_frequencies(const Format *f)
{
    for (int i = 0; i < 6 * (int)(soak < 20 ? soak : 20); i++)
        for (int o = 0; o < OP_COUNT; o++) {
            double x = fabs(random_number(&f->facts)), y = random_number(&f->facts), z;
            for (int k = 0; k < 20 && !(fabs(x) > 0x1p-3 && fabs(x) < 0x1p3); k++)
                x = fabs(random_number(&f->facts));
            for (int k = 0; k < 20 && !(fabs(y) > 0x1p-3 && fabs(y) < 0x1p3); k++)
                y = random_number(&f->facts);
            z = random_number(&f->facts);
            test_frequency(f, OPS[o], x, y, z);
        }
}

/* The same seed and counter give the same bits, in one row or in many. */
static void test_draws(const Format *f)
{
    static Batch b;
    double again[BATCH];
    const int64_t one[] = { 1, 1, 1 };
    Arith a, c;
    if (!open_arith(&a, f, ROUND_STOCHASTIC))
        return;
    c = a;
    fill_random(&b, &f->facts, EW_MULTIPLY);
    const void *in[] = { b.x, b.y };
    CHECK(a.ops->ew(&a, EW_MULTIPLY, b.out, 1, in, one, b.n) == ARITH_OK);
    bool good = true;
    for (int i = 0, n; i < b.n; i += n) {
        n = 1 + (int)below(40);
        if (n > b.n - i)
            n = b.n - i;
        const void *part[] = { b.x + i, b.y + i };
        CHECK(c.ops->ew(&c, EW_MULTIPLY, again + i, 1, part, one, n) == ARITH_OK);
    }
    for (int i = 0; i < b.n; i++)
        good &= same(b.out[i], again[i]);
    CHECK(good);
    CHECK(a.draw == c.draw);
}

/* ---- sums of products ---- */

/* dot, sum and both forms of axpy are chains of the operations above. */
static void test_chains(const Format *f, RoundMode mode)
{
    enum { N = 24 };
    double x[N], y[N], out, sum, axpy[N], axmy[N], c = random_number(&f->facts);
    Arith a;
    if (!open_arith(&a, f, mode))
        return;
    for (int i = 0; i < N; i++) {
        x[i] = random_number(&f->facts);
        y[i] = random_number(&f->facts);
        if (below(2))
            x[i] = truth_load(some_sign(1 + check_uniform() / 2), &f->facts, ROUND_NEAREST).value;
        if (below(2))
            y[i] = truth_load(some_sign(1 + check_uniform() / 2), &f->facts, ROUND_NEAREST).value;
        axpy[i] = axmy[i] = y[i];
    }
    ArithStatus worst = ARITH_OK;
    worst |= a.ops->dot(&a, &out, x, 1, y, 1, N);
    worst |= a.ops->sum(&a, &sum, x, 1, N);
    worst |= a.ops->axpy(&a, EW_ADD, axpy, 1, &c, x, 1, N);
    worst |= a.ops->axpy(&a, EW_SUBTRACT, axmy, 1, &c, x, 1, N);
    double s = 0, t = truth_load(x[0], &f->facts, mode).value;
    bool good = worst == ARITH_OK;
    for (int i = 0; i < N; i++) {
        double p = truth_mul(x[i], y[i], &f->facts, mode).value;
        double q = truth_mul(c, x[i], &f->facts, mode).value;
        s = i ? truth_add(s, p, &f->facts, mode).value : p;
        t = i ? truth_add(t, x[i], &f->facts, mode).value : t;
        good &= same(axpy[i], truth_add(y[i], q, &f->facts, mode).value);
        good &= same(axmy[i], truth_add(y[i], -q, &f->facts, mode).value);
    }
    double shown[] = { x[0], y[0], c };
    cases += 6 * N;
    CHECK(good);
    if (!same(out, s))
        complain(f, mode, "dot", shown, s, out, &a.flags, &a.flags);
    if (!same(sum, t))
        complain(f, mode, "sum", shown, t, sum, &a.flags, &a.flags);
}

/* C = A B, each operand in rows or in columns: chains in order of k. */
static void test_matmul(const Format *f, RoundMode mode)
{
    enum { MOST = 20 };
    static double x[MOST * MOST], y[MOST * MOST], z[MOST * MOST];
    int64_t m = 1 + (int64_t)below(MOST), n = 1 + (int64_t)below(MOST);
    int64_t k = 1 + (int64_t)below(MOST);
    bool across = below(2), down = below(2);
    Arith a;
    if (!open_arith(&a, f, mode))
        return;
    for (int i = 0; i < MOST * MOST; i++) {
        x[i] = truth_load(2 * check_uniform(), &f->facts, ROUND_NEAREST).value;
        y[i] = truth_load(check_uniform(), &f->facts, ROUND_NEAREST).value;
        if (below(20) == 0)
            y[i] = any_operand(&f->facts);
    }
    ArithMatrix A = { (char *)x, across ? 1 : k, across ? m : 1 };
    ArithMatrix B = { (char *)y, down ? 1 : n, down ? k : 1 }, C = { (char *)z, n, 1 };
    bool good = arith_matmul(&a, C, A, B, m, n, k) == ARITH_OK;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double s = 0;
            for (int64_t l = 0; l < k; l++) {
                double v = x[i * A.row + l * A.col], w = y[l * B.row + j * B.col];
                double p = truth_mul(v, w, &f->facts, mode).value;
                s = l ? truth_add(s, p, &f->facts, mode).value : p;
            }
            good &= same(s, z[i * n + j]);
        }
    cases += m * n * k;
    if (!CHECK(good))
        fprintf(stderr, "matmul %s %s %d %d %d\n", f->name, mode_names[mode], (int)m, (int)n,
                (int)k);
}

/* ---- the definition and the processor ---- */

static void test_processor(void)
{
    static const int modes[] = { FE_TONEAREST, -1, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD };
    TruthFormat f64 = truth_ieee(11, 53), f32 = truth_ieee(8, 24);
    bool good = true;
    for (int64_t i = 0; i < 6000 * soak; i++) {
        int m = i % 4 == 0 ? 0 : 1 + (int)(i % 4);
        volatile double x = any_operand(&f64), y = any_operand(&f64), z = near_product(&f64, x, y);
        volatile float a = (float)any_operand(&f32), b = (float)any_operand(&f32);
        fesetround(modes[m]);
        volatile double r[] = { x + y, x * y, x / y, sqrt(x), fma(x, y, z) };
        volatile float s[] = { a + b, a * b, a / b, (float)x };
        fesetround(FE_TONEAREST);
        RoundMode mode = (RoundMode)m;
        good &= same(r[0], truth_add(x, y, &f64, mode).value);
        good &= same(r[1], truth_mul(x, y, &f64, mode).value);
        good &= same(r[2], truth_div(x, y, &f64, mode).value);
        good &= same(r[3], truth_sqrt(x, &f64, mode).value);
        good &= same(r[4], truth_fma(x, y, z, true, &f64, mode).value);
        good &= same(s[0], truth_add(a, b, &f32, mode).value);
        good &= same(s[1], truth_mul(a, b, &f32, mode).value);
        good &= same(s[2], truth_div(a, b, &f32, mode).value);
        good &= same(s[3], truth_load(x, &f32, mode).value);
    }
    CHECK(good);
}

/* ---- all of it ---- */

static void test_format(Format f, int64_t batches)
{
    int only = (int)below(4);
    for (int i = 0; i < 4; i++) {
        f.facts.saturate = i & 1;
        f.facts.flush = i >> 1;
        if (soak == 1 && batches == 1 && i != only)
            continue;
        if (soak > 1 || i == 0 || i == only)
            test_edges(&f);
        test_random(&f, i == 0 ? batches : (batches + 3) / 4);
        test_loads(&f);
        test_store(&f);
        for (int m = 0; m < ROUND_STOCHASTIC; m++)
            for (int k = 0; k < 4; k++)
                test_chains(&f, (RoundMode)m);
        test_matmul(&f, (RoundMode)below(ROUND_STOCHASTIC));
    }
    f.facts.saturate = f.facts.flush = false;
    test_frequencies(&f);
    test_draws(&f);
}

int main(void)
{
    mem_init(ctx);
    ctx->interrupt = &no_interrupt;
    truth_start();
    const char *more = getenv("RICCI_SOAK");
    if (more)
        soak = atoll(more) > 0 ? atoll(more) : 1;
    test_facts();
    test_processor();
    for (int n = 0; n < NAMES; n++) {
        Format f = format_named(n);
        test_format(f, 4 * soak);
        for (int k = 0; k < NAMES; k++) {
            Format g = format_named(k);
            test_cast(&f, &g);
        }
        test_cast_ints(&f);
        if (f.facts.max == 57344 || f.facts.over != 'i')
            test_all_pairs(&f);
    }
    for (int e = 2; e <= 11; e++)
        for (int p = 1; p <= 53; p++) {
            if (soak == 1 && (e * 53 + p) % 17 != 0 && p > 1)
                continue;
            Format f = format_ieee(e, p);
            test_format(f, 1);
            Format g = format_named((int)below(NAMES));
            test_cast(&f, &g);
            test_cast(&g, &f);
            test_cast_ints(&f);
            if (soak > 1 && e + p <= 8)
                test_all_pairs(&f);
        }
    fprintf(stderr, "%lld cases\n", (long long)cases);
    check_passed += (int)(cases / 1000);
    return check_result();
}
