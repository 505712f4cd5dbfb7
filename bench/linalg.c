/* Dense linear algebra, one table from one run: Ricci through its door, the same routine of
 * LAPACK (BLAS for products) called from C with one and with all threads, and the peers that
 * are installed, which wait at the other end of a pipe (linalg_peer.py, linalg_peer.m). All
 * take turns in every round, so a busy moment hits them alike; times are medians, ratios are
 * medians of the ratios in each round. `linalg [ROUTINE or ORDER …]` measures a part. */
#include "core/memory/pool.h"
#include "interp/life.h"
#include "interp/op/op.h"
#include "kernels/blas/lapacke.h"
#include "kernels/lapack/lapack.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 9, ROUNDS_LEAST = 3, BATCH = 1000 };
enum { WAY_ONE, WAY_ALL, WAY_OWN, WAY_NUMPY, WAY_OCTAVE, WAYS };
static const double SLOT = 0.012;        /* seconds per way and round, at least one call */
static const double CASE_SECONDS = 10;   /* then no further round is begun */
/* Threads of OpenBLAS, also those of the peers, look for work for 27 ms before they sleep. */
static const struct timespec PAUSE = { 0, 30000000 };

typedef struct Peer {
    FILE *to, *from;                     /* NULL: not installed */
    char version[128];
} Peer;

/* What one direct call works on. */
typedef struct Direct {
    const Blas *blas;
    int n, lwork, liwork;
    const double *a, *b;                 /* operands, never written */
    double *x, *y, *z, *w, *work;
    int *pivots, *iwork;
} Direct;

typedef struct Routine {
    const char *name;
    bool two, symmetric;                 /* takes a right side; its matrix is symmetric */
    bool as_it_lies;                     /* LAPACK is given A', as Ricci gives it */
    void (*call)(Direct *);
    int64_t most;                        /* order up to which it is measured */
} Routine;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- LAPACK as a C program calls it: column-major, work space kept ---- */
static void copy_in(Direct *d, const double *a)
{
    memcpy(d->x, a, (size_t)d->n * (size_t)d->n * sizeof *a);
}

static void direct_matmul(Direct *d)
{
    int n = d->n;
    d->blas->gemm[BLAS_D]("N", "N", &n, &n, &n, blas_one(BLAS_D), d->a, &n, d->b, &n,
                          blas_zero(BLAS_D), d->x, &n, 1, 1);
}

static int direct_factor(Direct *d)
{
    copy_in(d, d->a);
    return lapack_getrf(d->blas, BLAS_D, d->n, d->n, d->x, d->n, d->pivots);
}

static void direct_solve(Direct *d)
{
    direct_factor(d);
    memcpy(d->y, d->b, (size_t)d->n * sizeof *d->y);
    lapack_getrs(d->blas, BLAS_D, 'N', d->n, 1, d->x, d->n, d->pivots, d->y, d->n);
}

static void direct_inv(Direct *d)
{
    direct_factor(d);
    lapack_getri(d->blas, BLAS_D, d->n, d->x, d->n, d->pivots, d->work, d->lwork);
}

static void direct_det(Direct *d)
{
    double product = 1;
    direct_factor(d);
    for (int i = 0; i < d->n; i++)
        product *= d->pivots[i] == i + 1 ? d->x[i * (d->n + 1)] : -d->x[i * (d->n + 1)];
    d->y[0] = product;
}

/* The dense matrix of the order in iwork, in y. */
static void permutation(Direct *d)
{
    size_t n = (size_t)d->n;
    memset(d->y, 0, n * n * sizeof *d->y);
    for (size_t i = 0; i < n; i++)
        d->y[i * n + (size_t)d->iwork[i]] = 1;
}

static void direct_lu(Direct *d)
{
    int n = d->n;
    direct_factor(d);
    for (int i = 0; i < n; i++)
        d->iwork[i] = i;
    for (int i = 0; i < n; i++) {
        int other = d->pivots[i] - 1, t = d->iwork[i];
        d->iwork[i] = d->iwork[other];
        d->iwork[other] = t;
    }
    permutation(d);
    for (int j = 0; j < n; j++) {           /* L stays where it is */
        double *l = d->x + (size_t)j * (size_t)n, *u = d->z + (size_t)j * (size_t)n;
        memcpy(u, l, (size_t)(j + 1) * sizeof *u);
        memset(u + j + 1, 0, (size_t)(n - j - 1) * sizeof *u);
        memset(l, 0, (size_t)j * sizeof *l);
        l[j] = 1;
    }
}

/* sytrf and what becomes of its pivots: L is taken to need no further interchanges. */
static void direct_ldl(Direct *d)
{
    int n = d->n;
    copy_in(d, d->a);
    lapack_sytrf(d->blas, BLAS_D, 'L', n, d->x, n, d->pivots, d->work, d->lwork);
    if (d->lwork < 0)
        return;
    for (int i = 0; i < n; i++)
        d->iwork[i] = i;
    permutation(d);
    memset(d->z, 0, (size_t)n * (size_t)n * sizeof *d->z);
    for (int j = 0; j < n; j++) {
        double *l = d->x + (size_t)j * (size_t)n;
        d->z[(size_t)j * (size_t)(n + 1)] = l[j];
        memset(l, 0, (size_t)j * sizeof *l);
        l[j] = 1;
    }
}

static void direct_chol(Direct *d)
{
    copy_in(d, d->a);
    lapack_potrf(d->blas, BLAS_D, 'L', d->n, d->x, d->n);
    for (int j = 1; j < d->n; j++)
        memset(d->x + (size_t)j * (size_t)d->n, 0, (size_t)j * sizeof *d->x);
}

static void direct_qr(Direct *d)
{
    int n = d->n;
    copy_in(d, d->a);
    lapack_geqrf(d->blas, BLAS_D, n, n, d->x, n, d->w, d->work, d->lwork);
    for (int j = 0; j < n; j++) {
        memcpy(d->y + j * n, d->x + j * n, (size_t)(j + 1) * sizeof *d->y);
        memset(d->y + j * n + j + 1, 0, (size_t)(n - j - 1) * sizeof *d->y);
    }
    lapack_orgqr(d->blas, BLAS_D, n, n, n, d->x, n, d->w, d->work, d->lwork);
}

static void direct_svd(Direct *d)
{
    copy_in(d, d->a);
    lapack_gesdd(d->blas, BLAS_D, 'S', d->n, d->n, d->x, d->n, d->w, d->y, d->n, d->z, d->n,
                 d->work, d->lwork, d->iwork);
}

static void direct_eigh(Direct *d)
{
    copy_in(d, d->a);
    lapack_syevd(d->blas, BLAS_D, 'V', 'L', d->n, d->x, d->n, d->w, d->work, d->lwork, d->iwork,
                 d->liwork);
}

static void direct_eig(Direct *d)
{
    copy_in(d, d->a);
    lapack_geev(d->blas, BLAS_D, 'N', 'V', d->n, d->x, d->n, d->w, d->w + d->n, NULL, 1, d->y, d->n,
                d->work, d->lwork);
}

static const Routine routines[] = {
    { "matmul", true, false, false, direct_matmul, 1000 },
    { "solve", true, false, false, direct_solve, 1000 },
    { "inv", false, false, false, direct_inv, 1000 },
    { "det", false, false, false, direct_det, 1000 },
    { "lu", false, false, false, direct_lu, 1000 },
    { "ldl", false, true, false, direct_ldl, 1000 },
    { "chol", false, true, false, direct_chol, 1000 },
    { "qr", false, false, false, direct_qr, 1000 },
    { "svd", false, false, true, direct_svd, 1000 },
    { "eigh", false, true, false, direct_eigh, 1000 },
    { "eig", false, false, false, direct_eig, 500 },
};

/* Called with lwork = -1 LAPACK only says how much it wants; the factorisations before it
 * in the same function do no harm. */
static void direct_query(Direct *d, const Routine *r)
{
    d->lwork = d->liwork = -1;
    d->work[0] = 0, d->iwork[0] = 0;
    r->call(d);
    d->lwork = d->work[0] > 1 ? (int)d->work[0] : 1;
    d->liwork = d->iwork[0] > 1 ? d->iwork[0] : 1;
}

static void *room(size_t count)
{
    void *p = calloc(count, sizeof(double));
    if (!p)
        abort();
    return p;
}

static Direct direct_make(const Blas *blas, const Routine *r, int64_t n)
{
    size_t nn = (size_t)(n * n);
    Direct d = { .blas = blas, .n = (int)n };
    d.x = room(nn), d.y = room(nn), d.z = room(nn), d.w = room(2 * (size_t)n);
    d.work = room(8 * nn + 600 * (size_t)n + 100);
    d.pivots = room((size_t)n), d.iwork = room(8 * (size_t)n + 100);
    d.a = d.b = d.y;
    direct_query(&d, r);
    return d;
}

static void direct_free(Direct *d)
{
    free(d->x), free(d->y), free(d->z), free(d->w), free(d->work), free(d->pivots), free(d->iwork);
}

/* ---- one measurement ---- */
typedef struct Case {
    Interp *in;
    const Routine *routine;
    const Op *op;
    Direct direct;
    Peer *peers;
    int64_t n, batch;                    /* batch 0: one matrix */
    Tensor *a, *b;                       /* b NULL: takes one operand */
    double *columns;                     /* a as LAPACK wants it: the same problem for all */
} Case;

static void run_direct(Case *c)
{
    int64_t items = c->batch ? c->batch : 1, step = c->n * c->n;
    for (int64_t i = 0; i < items; i++) {
        c->direct.a = c->columns + i * step;
        if (c->b)
            c->direct.b = (const double *)(void *)c->b->data + i * (c->b->size / items);
        c->routine->call(&c->direct);
    }
}

static void run_own(Case *c)
{
    Value a = v_tensor_raw(c->a);
    v_release(&c->in->ctx, c->b ? op_binary(c->in, c->op, a, v_tensor_raw(c->b), 0)
                                : op_unary(c->in, c->op, a, 0));
}

/* Seconds per call, NAN where a peer is missing or does not have it. */
static double measure(Case *c, int way, int threads)
{
    if (way >= WAY_NUMPY) {
        Peer *p = &c->peers[way];
        double seconds = NAN;
        if (!p->to)
            return NAN;
        fprintf(p->to, "%s %lld %lld %g\n", c->routine->name, (long long)c->n,
                (long long)c->batch, SLOT);
        fflush(p->to);
        char line[64];
        if (!fgets(line, sizeof line, p->from) || sscanf(line, "%lf", &seconds) != 1)
            fclose(p->to), p->to = NULL;
        return seconds;
    }
    if (way != WAY_OWN)
        blas_enter(&c->in->ctx, c->direct.blas, 1, way == WAY_ALL ? threads : 1);
    int64_t calls = 0;
    double start = now(), spent = 0;
    do {
        (way == WAY_OWN ? run_own : run_direct)(c);
        calls++;
        spent = now() - start;
    } while (spent < SLOT);
    return spent / (double)calls;
}

static int ascending(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double median(const double *v, int rounds)
{
    double sorted[ROUNDS];
    memcpy(sorted, v, (size_t)rounds * sizeof *v);
    qsort(sorted, (size_t)rounds, sizeof *sorted, ascending);
    return sorted[rounds / 2];
}

static double median_ratio(const double *v, const double *w, int rounds)
{
    double ratio[ROUNDS];
    for (int i = 0; i < rounds; i++)
        ratio[i] = v[i] / w[i];
    return median(ratio, rounds);
}

static const char *duration(char *out, size_t cap, double t)
{
    if (isnan(t))
        snprintf(out, cap, "-");
    else if (t < 1e-3)
        snprintf(out, cap, "%.2f us", 1e6 * t);
    else
        snprintf(out, cap, "%.2f ms", 1e3 * t);
    return out;
}

static const char *factor(char *out, size_t cap, double t)
{
    if (isnan(t))
        snprintf(out, cap, "-");
    else
        snprintf(out, cap, "%.2f", t);
    return out;
}

static void print_heading(const Blas *blas, const Peer *peers, int threads)
{
    printf("Linear algebra, f64: medians of up to %d interleaved rounds. Direct calls from C go\n"
           "to %s with one or %d threads, the better of both (1 or a); they copy A and keep\n"
           "their work space. Peers: %s; %s.\n\n", ROUNDS, blas->name, threads,
           peers[WAY_NUMPY].version, peers[WAY_OCTAVE].version);
    printf("%-7s %10s %11s %14s %12s %7s %11s %7s %11s %7s\n", "", "n", "ricci",
           "LAPACK from C", "over it", "", "numpy", "/ricci", "octave", "/ricci");
}

static void print_row(const Case *c, double times[WAYS][ROUNDS], int rounds)
{
    int best = median(times[WAY_ALL], rounds) < median(times[WAY_ONE], rounds) ? WAY_ALL : WAY_ONE;
    char size[32], cell[6][24];
    double own = median(times[WAY_OWN], rounds), direct = median(times[best], rounds);
    double over = own - direct;
    double ratio = median_ratio(times[WAY_OWN], times[best], rounds);
    if (c->batch)
        snprintf(size, sizeof size, "%lldx%lldx%lld", (long long)c->batch, (long long)c->n,
                 (long long)c->n);
    else
        snprintf(size, sizeof size, "%lld", (long long)c->n);
    printf("%-7s %10s %11s %10s (%c) %9.2f us %+6.1f%% %11s %7s %11s %7s\n", c->routine->name, size,
           duration(cell[0], 24, own), duration(cell[1], 24, direct), best == WAY_ALL ? 'a' : '1',
           1e6 * over, 100 * (ratio - 1), duration(cell[2], 24, median(times[WAY_NUMPY], rounds)),
           factor(cell[3], 24, median_ratio(times[WAY_NUMPY], times[WAY_OWN], rounds)),
           duration(cell[4], 24, median(times[WAY_OCTAVE], rounds)),
           factor(cell[5], 24, median_ratio(times[WAY_OCTAVE], times[WAY_OWN], rounds)));
    fflush(stdout);
}

/* A uniform matrix (or stack of them), made symmetric and positive definite on demand. */
static Tensor *random_operand(Interp *in, int rank, const int64_t *shape, bool symmetric)
{
    Tensor *t = tensor_new(&in->ctx, DT_F64, rank, shape);
    double *x = (double *)(void *)t->data;
    uint64_t s = 88172645463325252u;
    for (int64_t i = 0; i < t->size; i++) {
        s ^= s << 13, s ^= s >> 7, s ^= s << 17;
        x[i] = (double)(s >> 11) * 0x1p-52 - 1;
    }
    int64_t n = shape[rank - 1];
    for (int64_t i = 0; i < n && symmetric; i++) {
        for (int64_t j = 0; j < i; j++)
            x[i * n + j] = x[j * n + i];
        x[i * n + i] += 2 * (double)n;
    }
    v_push(in, v_tensor_raw(t));
    return t;
}

/* The singular values of A and A' are found in different numbers of steps, so both are to
 * see the same. */
static double *by_columns(const Tensor *a, int64_t n, bool as_it_lies)
{
    double *to = room((size_t)a->size);
    const double *from = (const double *)(const void *)a->data;
    for (int64_t at = 0; at < a->size; at += n * n)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                to[at + j * n + i] = from[at + (as_it_lies ? j * n + i : i * n + j)];
    return to;
}

static void bench_case(Interp *in, Peer *peers, const Routine *r, int64_t n, int64_t batch)
{
    Value *mark = in->sp;
    int threads = pool_threads(&in->ctx);
    Case c = { .in = in, .routine = r, .op = op_named(in, r->name), .peers = peers, .n = n,
               .batch = batch, .direct = direct_make(blas_open(NULL), r, n) };
    bool vector = r->two && strcmp(r->name, "matmul");
    int64_t shape[] = { batch, n, n }, sides[] = { batch, n, 1 };
    c.a = random_operand(in, batch ? 3 : 2, batch ? shape : shape + 1, r->symmetric);
    if (r->two)
        c.b = vector ? random_operand(in, batch ? 3 : 1, batch ? sides : sides + 1, false)
                     : random_operand(in, batch ? 3 : 2, batch ? shape : shape + 1, false);
    c.columns = by_columns(c.a, n, r->as_it_lies);
    double times[WAYS][ROUNDS];
    double start = now();
    int round = -1;
    for (; round < ROUNDS && (round < ROUNDS_LEAST || now() - start < CASE_SECONDS); round++)
        for (int way = 0; way < WAYS; way++) {
            if (n >= 100)
                nanosleep(&PAUSE, NULL);
            double t = measure(&c, way, threads);
            if (round >= 0)
                times[way][round] = t;
        }
    print_row(&c, times, round);
    direct_free(&c.direct);
    free(c.columns);
    stack_cut(in, mark);
}

/* ---- peers ---- */
static Peer peer_start(const char *const *command)
{
    int to[2], from[2];
    Peer none = { NULL, NULL, "not installed" }, peer = none;
    if (!command[0] || pipe(to) || pipe(from))
        return none;
    pid_t child = fork();
    if (child < 0)
        return none;
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(127);
        dup2(to[0], 0), dup2(from[1], 1);
        close(to[0]), close(to[1]), close(from[0]), close(from[1]);
        execvp(command[0], (char *const *)command);
        _exit(127);
    }
    close(to[0]), close(from[1]);
    peer.to = fdopen(to[1], "w"), peer.from = fdopen(from[0], "r");
    fprintf(peer.to, "version 0 0 0\n");
    fflush(peer.to);
    if (!fgets(peer.version, sizeof peer.version, peer.from))
        return none;
    peer.version[strcspn(peer.version, "\n")] = 0;
    return peer;
}

static void start_peers(Peer *peers)
{
    const char *python = getenv("PYTHON"), *octave = getenv("OCTAVE");
    const char *const with_python[] = { python, "bench/linalg_peer.py", NULL };
    const char *const with_octave[] = { octave, "--no-gui", "-q", "bench/linalg_peer.m", NULL };
    signal(SIGPIPE, SIG_IGN);
    peers[WAY_NUMPY] = peer_start(with_python);
    peers[WAY_OCTAVE] = peer_start(with_octave);
}

/* Is it named, or is nothing of its kind (routines, orders) named? */
static bool wanted(const char *name, int argc, char **argv)
{
    bool digit = *name <= '9', any = false;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], name))
            return true;
        any |= (*argv[i] <= '9') == digit;
    }
    return !any;
}

static bool wanted_order(int64_t n, int argc, char **argv)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)n);
    return wanted(text, argc, argv);
}

int main(int argc, char **argv)
{
    static const int64_t orders[] = { 8, 32, 100, 300, 500, 1000 };
    static const char *const batched[] = { "matmul", "solve", "inv", "det" };
    Peer peers[WAYS] = { { .to = NULL } };
    start_peers(peers);
    lapacke_allow();
    Interp *in = interp_new();
    const Blas *blas = lapack_open(NULL);
    if (!blas)
        return 1;
    print_heading(blas, peers, pool_threads(&in->ctx));
    for (size_t r = 0; r < sizeof routines / sizeof *routines; r++)
        for (int i = 0; i < 6 && orders[i] <= routines[r].most; i++)
            if (wanted(routines[r].name, argc, argv) && wanted_order(orders[i], argc, argv))
                bench_case(in, peers, &routines[r], orders[i], 0);
    for (size_t r = 0; r < sizeof batched / sizeof *batched; r++)
        if (wanted(batched[r], argc, argv) && wanted("1000x", argc, argv)) {
            bench_case(in, peers, &routines[r], 4, BATCH);
            bench_case(in, peers, &routines[r], 8, BATCH);
            bench_case(in, peers, &routines[r], 16, BATCH);
        }
    interp_free(in);
    return 0;
}
