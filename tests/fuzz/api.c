/* Random sequences of calls of interp/embed/ricci.h, for the address sanitizer: tensors of DLPack
 * with odd strides, offsets and dtypes, values, callbacks that fail or run programs themselves,
 * interpreters inside each other, memory limits, interrupts, output that cannot be written.
 *
 *     api [--seconds N] [--seed N] [--rounds N] [--round K] [--show]
 *
 * Every round is a process of its own, so that it can end as it likes; round K of seed S is always
 * the same. What must hold: no round ends by a signal or a report, every tensor that was handed
 * over is let go of once, and what was handed over reads back as it was. Ends with `N passed, N
 * failed`. */
#include "interp/embed/ricci.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { VALUES = 24, LENT = 8, HANDED = 600, STEPS = 80, DEEP = 3 };

typedef struct Block {           /* memory behind a tensor that was handed over */
    void *memory;
    int released;
    int64_t shape[40], strides[40];
    DLManagedTensorVersioned dl;
} Block;

static uint64_t state;
static Ricci *open_now[DEEP];
static RicciValue *values[VALUES];
static Ricci *owner[VALUES];
static DLManagedTensorVersioned *lent[LENT];
static Block *handed[HANDED];
static int handed_count, deep, bad, show;
static volatile double sink;

static uint64_t random_bits(void)
{
    uint64_t z = (state += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

static int below(int n) { return (int)(random_bits() % (uint64_t)n); }
#define PICK(array) ((array)[below((int)(sizeof(array) / sizeof *(array)))])

static void wrong(const char *what)
{
    fprintf(stderr, "WRONG: %s\n", what);
    bad = 1;
}

/* ---- texts ---- */
static const char *const names[] =
    { "t0", "t1", "t2", "x", "y", "s", "d", "f", "sum", "nothing", "pi", "A", "B" };
static const char *const programs[] = {
    "x = 1", "x = x + 1; x", "t0 = t0 * 2", "t1 = t0", "t0[0] = 5", "y = sum(t0)", "y = t0 + t1",
    "A = t0 @ t1",
    "d = (a=t0, b=\"q\", c=x)", "d.a[0] = 1", "print(t0)", "print(d)", "s = \"{t0}\"",
    "s = repr(d)", "t2 = t0[::-1]",
    "B = reshape(t1, (-1,))", "t0 = none", "fn f(a, b=2) { a + b }", "f = a -> a", "f(t0)",
    "throw \"bad\"", "1 +",
    "undefined_name", "x = back(t0, 1)", "x = back(d)", "back()",
    "try { back(x) } catch e { y = e.message }",
    "for k in 0:20 { x = back(k) }", "x = twice(3.5)", "x = twice(t0)", "fill(A)",
    "A = zeros(4); fill(A); y = A",
    "y = total(A, len(A))", "t0 := sum[i] t1[i]", "y[i] := t0[i] * 2", "on cpu { y = t0 + 1 }",
    "y = sort(t0)",
    "precision f32 { y = t0 / 3 }", "explain { y = t0 @ t0 }", "y = cast(t0, f32)",
    "y = solve(eye(3), ones(3))",
    "t1 = append(t1, 1)", "t0 += 1", "t0 *= t1", "y = t0'", "exit(3)", "y = [t0, t0]",
    "y = concat(t0, t1)", "y = t0 == t1",
    "y = bits(t0)", "y = memory()", "x = 1; while x > 0 { x = x - 0.001 }",
    "fn r(k) { r(k + 1) }\nr(0)", "f = back",
    "y = any(t0)", "t2 = t0[t0 > 0]", "s = s + s", "y = zeros(1000, 100)", "import stats",
    "y = stats.mean(t0)",
    "test \"one\" { assert x == 1 }", "d[\"z\"] = d", "y = map(back, (1, 2, 3))",
    "A = ones(3, 3); A[1, :] = t0",
    "y = copysign(t0, -1)", "y = isfinite(t0)", "p = pin(t0)", "y = fft(t0)", "y = t0[0:0]",
    "y = broadcast_to(t0, (3, 3))",
};

static const char *some_name(void) { return PICK(names); }

/* ---- interpreters and what they hold ---- */
static void step(Ricci *r);

static RicciValue *back(Ricci *r, void *user, int count, RicciValue *const *args)
{
    (void)user;
    for (int k = below(3); k > 0; k--)
        step(r);
    switch (below(6)) {
    case 0: return ricci_fail(r, below(2) ? "value" : "no such kind", "failed %d of %s",
                              count, "purpose");
    case 1: return NULL;
    case 2: return count && args[0] ? args[0] : ricci_none(r);
    case 3: return count && args[0] ? ricci_copy(args[0]) : ricci_int(r, 7);
    case 4: ricci_eval(r, PICK(programs)); return ricci_double(r, 2.5);
    default: return ricci_string(r, "back", 4);
    }
}

static double twice(double x)
{
    if (deep && below(8) == 0)
        ricci_fail(open_now[deep - 1], "value", "not twice");
    return 2 * x;
}

static void fill(double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (double)i;
}

static double total(const double *x, size_t n)
{
    double s = 0;
    for (size_t i = 0; i < n; i++)
        s += x[i];
    return s;
}

static int output(void *user, int stream, const char *text, size_t bytes)
{
    (void)user, (void)stream;
    for (size_t i = 0; i < bytes; i++)
        sink += text[i];
    return below(40) == 0;
}

static Ricci *begin(void)
{
    Ricci *r = ricci_open();
    if (!r)
        return NULL;
    open_now[deep++] = r;
    ricci_output(r, output, NULL);
    if (ricci_register_function(r, "back(first=1, rest...)", below(2) ? "Calls back." : NULL,
                                back, NULL))
        wrong("back cannot be registered");
    ricci_register(r, "double twice(double x);", (void (*)(void))twice);
    ricci_register(r, "void fill(double x[n], size_t n);", (void (*)(void))fill);
    ricci_register(r, "double total(const double x[n], size_t n);", (void (*)(void))total);
    return r;
}

static void end(void)
{
    Ricci *r = open_now[--deep];
    for (int i = 0; i < VALUES; i++)
        if (owner[i] == r) {
            if (below(2))
                ricci_free(values[i]);
            values[i] = NULL;
            owner[i] = NULL;
        }
    ricci_close(r);
}

static void keep(Ricci *r, RicciValue *v)
{
    int at = below(VALUES);
    if (values[at])
        ricci_free(values[at]);
    values[at] = v;
    owner[at] = v ? r : NULL;
}

static RicciValue *some_value(const Ricci *r)
{
    int from = below(VALUES);
    for (int i = 0; i < VALUES; i++)
        if (owner[(from + i) % VALUES] == r)
            return values[(from + i) % VALUES];
    return NULL;
}

/* ---- tensors ---- */
static void let_go(DLManagedTensorVersioned *self)
{
    Block *b = self->manager_ctx;
    if (b->released++)
        wrong("a tensor was let go of twice");
    free(b->memory);
    b->memory = NULL;
}

static const DLDataType dtypes[] = {
    { kDLFloat, 64, 1 }, { kDLFloat, 64, 1 }, { kDLFloat, 32, 1 }, { kDLFloat, 16, 1 },
    { kDLBfloat, 16, 1 },
    { kDLInt, 64, 1 }, { kDLInt, 32, 1 }, { kDLInt, 8, 1 }, { kDLUInt, 8, 1 }, { kDLBool, 8, 1 },
    { kDLComplex, 128, 1 }, { kDLComplex, 64, 1 }, { kDLFloat8_e5m2, 8, 1 },
    { kDLFloat8_e4m3fn, 8, 1 },
    { kDLInt, 16, 1 }, { kDLUInt, 64, 1 }, { kDLFloat, 64, 2 }, { kDLFloat4_e2m1fn, 4, 1 },
    { 99, 0, 0 },
};

/* The block from the lowest to the highest element that the strides reach, not a byte more. */
static DLManagedTensorVersioned *made(int *good)
{
    static const int64_t extents[] = { 0, 1, 1, 2, 2, 3, 3, 4, 5, 9 };
    static const int64_t steps[] = { 1, 1, 2, 3, 4, -1, -1, -2, 0, 7, 9 };
    Block *b = calloc(1, sizeof *b);
    DLTensor *t = &b->dl.dl_tensor;
    int64_t low = 0, high = 0, row = 1;
    int strided = below(3) > 0;
    t->dtype = PICK(dtypes);
    t->ndim = below(30) == 0 ? 33 : below(5);
    int64_t each = (t->dtype.bits * (t->dtype.lanes ? t->dtype.lanes : 1) + 7) / 8;
    for (int a = t->ndim - 1; a >= 0; a--) {
        b->shape[a] = t->ndim > 4 ? 1 : PICK(extents);
        b->strides[a] = strided ? PICK(steps) : row;
        row *= b->shape[a];
        if (b->shape[a] > 1)
            *(b->strides[a] < 0 ? &low : &high) += b->strides[a] * (b->shape[a] - 1);
    }
    t->byte_offset = below(4) ? 0 : (uint64_t)(below(3) ? 8 * below(4) : below(9));
    size_t bytes = (size_t)((high - low + 1) * each) + t->byte_offset;
    b->memory = malloc(bytes ? bytes : 1);
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)b->memory)[i] = t->dtype.code == kDLBool ? (uint8_t)below(2)
                                                             : (uint8_t)random_bits();
    t->data = row == 0 && below(2) ? NULL : (char *)b->memory - low * each;
    t->shape = t->ndim ? b->shape : NULL;
    t->strides = strided ? b->strides : NULL;
    t->device = (DLDevice){ below(25) ? kDLCPU : (DLDeviceType)(1 + below(17)), below(25) ? 0 : 3 };
    b->dl.version = (DLPackVersion){ below(30) ? 1 : 2, (uint32_t)below(3) };
    b->dl.flags = below(3) ? 0 : DLPACK_FLAG_BITMASK_READ_ONLY;
    b->dl.deleter = let_go;
    b->dl.manager_ctx = b;
    handed[handed_count++] = b;
    *good = t->dtype.code == kDLFloat && t->dtype.bits == 64 && t->dtype.lanes == 1 &&
            t->device.device_type == kDLCPU &&
            t->ndim <= 4 && b->dl.version.major == 1;
    return &b->dl;
}

static const char *element(const DLTensor *t, int64_t number, int64_t each)
{
    int64_t at = 0, step_of = 1;
    for (int a = t->ndim - 1; a >= 0; a--) {
        at += number % t->shape[a] * (t->strides ? t->strides[a] : step_of);
        step_of *= t->shape[a];
        number /= t->shape[a];
    }
    return (const char *)t->data + t->byte_offset + at * each;
}

static int64_t elements(const DLTensor *t)
{
    int64_t n = 1;
    for (int a = 0; a < t->ndim; a++)
        n *= t->shape[a];
    return n;
}

/* Reads, and writes where that is allowed, every element: the sanitizer knows whose they are. */
static void touch(DLManagedTensorVersioned *m)
{
    const DLTensor *t = &m->dl_tensor;
    int64_t each = t->dtype.bits / 8, n = elements(t);
    for (int64_t i = 0; i < n && i < 5000; i++) {
        char *at = (char *)element(t, i, each);
        for (int64_t k = 0; k < each; k++)
            sink += at[k];
        if (!(m->flags & DLPACK_FLAG_BITMASK_READ_ONLY))
            at[0] = at[0];
    }
}

/* What was handed over is read back, element by element. */
static void hand_over(Ricci *r)
{
    int good;
    if (handed_count == HANDED)
        return;
    DLManagedTensorVersioned *m = made(&good);
    DLTensor before = m->dl_tensor;
    Block *b = m->manager_ctx;
    const char *name = some_name();
    int64_t n = elements(&before);
    double *copy = malloc((size_t)(n + 1) * sizeof *copy);
    for (int64_t i = 0; good && i < n; i++)
        memcpy(&copy[i], element(&before, i, 8), sizeof *copy);
    if (below(3) == 0) {
        keep(r, ricci_tensor(r, m));
    } else if (ricci_set_tensor(r, name, m) == 0 && good) {
        DLManagedTensorVersioned *again = ricci_get_tensor(r, name);
        for (int64_t i = 0; again && i < n; i++)
            if (memcmp(element(&again->dl_tensor, i, 8), &copy[i], 8) != 0 && copy[i] == copy[i])
                wrong("a tensor reads back differently");
        if (!again && !*ricci_error(r))
            wrong("no tensor and no error");
        if (again)
            again->deleter(again);
    }
    (void)b;
    free(copy);
}

static void lend(DLManagedTensorVersioned *m)
{
    int at = below(LENT);
    if (lent[at])
        lent[at]->deleter(lent[at]);
    lent[at] = m;
    if (m)
        touch(m);
}

/* ---- one call ---- */
static void call_something(Ricci *r)
{
    static const char *const called[] = {
        "sum", "shape", "concat", "reshape", "f", "back", "twice", "sort", "append", "solve",
        "repr", "print", "keys", "map", "zeros", "nothing", "fill", "total", "max", "pow"
    };
    RicciValue *args[4];
    int count = below(4);
    for (int i = 0; i < count; i++)
        if (!(args[i] = some_value(r)))
            count = i;
    RicciValue *f = some_value(r);
    keep(r, below(4) || !f ? ricci_call(r, PICK(called), count, args)
                           : ricci_call_value(f, count, args));
}

static void make_tuple(Ricci *r)
{
    RicciValue *items[5];
    const char *fields[5];
    int count = below(5);
    for (int i = 0; i < count; i++) {
        fields[i] = below(4) ? some_name() : NULL;
        if (!(items[i] = some_value(r)))
            count = i;
    }
    keep(r, ricci_tuple(r, count, items, below(2) ? fields : NULL));
}

static void make_value(Ricci *r)
{
    switch (below(7)) {
    case 0: keep(r, ricci_none(r)); break;
    case 1: keep(r, ricci_int(r, (int64_t)random_bits() >> below(64))); break;
    case 2: keep(r, ricci_double(r, (double)below(9) - 4)); break;
    case 3: keep(r, ricci_bool(r, below(2))); break;
    case 4: keep(r, ricci_string(r, "h\xc3\xa9llo\0\xff", (size_t)below(9))); break;
    case 5: keep(r, ricci_get(r, some_name())); break;
    default: make_tuple(r);
    }
}

static void read_value(Ricci *r)
{
    const RicciValue *v = some_value(r);
    int64_t i;
    double d;
    bool b;
    size_t n;
    if (!v)
        return;
    sink += (double)strlen(ricci_type(v));
    switch (below(9)) {
    case 0: sink += ricci_to_int(v, &i); break;
    case 1: sink += ricci_to_double(v, &d); break;
    case 2: sink += ricci_to_bool(v, &b); break;
    case 3: if (ricci_to_string(v, &n)) sink += (double)n; break;
    case 4: lend(ricci_to_tensor(v)); break;
    case 5: if (ricci_text(v)) sink += (double)strlen(ricci_text(v)); break;
    case 6: keep(r, ricci_item(v, below(4) - 1)); break;
    case 7: keep(r, ricci_field(v, some_name())); break;
    default: keep(r, ricci_copy(v));
    }
}

static void set_or_get(Ricci *r)
{
    const RicciValue *v = some_value(r);
    const char *name = below(12) ? some_name() : "no name";
    int64_t i;
    double d;
    bool b;
    size_t n;
    switch (below(9)) {
    case 0: ricci_set_int(r, name, below(100)); break;
    case 1: ricci_set_double(r, name, 0.5); break;
    case 2: ricci_set_bool(r, name, true); break;
    case 3: ricci_set_string(r, name, "text", (size_t)below(5)); break;
    case 4: ricci_get_int(r, name, &i); break;
    case 5: ricci_get_double(r, name, &d); break;
    case 6: ricci_get_bool(r, name, &b); break;
    case 7: if (ricci_get_string(r, name, &n)) sink += (double)n; break;
    default: if (v) ricci_set(r, name, v);
    }
}

static void release_wrapped(void *memory) { free(memory); }

static void wrap(Ricci *r)
{
    static const char *const kinds[] =
        { "f64", "f32", "i32", "c128", "bool", "u8", "f16", "mp(20)", "nothing" };
    int64_t shape[2] = { below(4), below(4) };
    void *memory = calloc(16, 16);
    DLManagedTensorVersioned *m =
        ricci_wrap(PICK(kinds), below(3), shape, memory, release_wrapped, memory);
    if (!m)
        free(memory);
    else if (below(4) == 0)
        m->deleter(m);
    else
        ricci_set_tensor(r, some_name(), m);
}

static void look_at_errors(Ricci *r)
{
    const RicciError *e = ricci_error_parts(r);
    if (e)
        sink += (double)(strlen(e->kind) + strlen(e->message) + strlen(e->help) +
                         strlen(e->source));
    sink += (double)(strlen(ricci_error(r)) + strlen(ricci_result(r))) + ricci_exit_code(r);
}

/* An interpreter inside the call of another. */
static void nest(void)
{
    Ricci *r = deep < DEEP ? begin() : NULL;
    if (!r)
        return;
    for (int k = below(6); k > 0; k--)
        step(r);
    end();
}

static void step(Ricci *r)
{
    static int inside;
    int what = below(22);
    if (inside > 6)
        return;
    inside++;
    if (show)
        fprintf(stderr, "%*s%d\n", 2 * inside, "", what);
    switch (what) {
    case 0: case 1: case 2: case 3: case 4: {
        const char *text = PICK(programs);
        if (show)
            fprintf(stderr, "%*s  %s\n", 2 * inside, "", text);
        ricci_eval(r, text);
        break;
    }
    case 5: case 6: case 7: hand_over(r); break;
    case 8: lend(ricci_get_tensor(r, some_name())); break;
    case 9: lend(ricci_get_tensor_writable(r, some_name())); break;
    case 10: case 11: call_something(r); break;
    case 12: case 13: make_value(r); break;
    case 14: case 15: read_value(r); break;
    case 16: set_or_get(r); break;
    case 17: wrap(r); break;
    case 18: look_at_errors(r); break;
    case 19: ricci_memory_limit(r, below(3) ? 0 : (size_t)below(400000)); break;
    case 20:
        ricci_interrupt(r);
        if (below(2))
            ricci_interrupt_clear(r);
        break;
    default: below(3) ? keep(r, ricci_value(r)) : nest();
    }
    inside--;
}

static void run_round(uint64_t seed, uint64_t number)
{
    state = seed * 1000003 + number;
    Ricci *r = begin();
    for (int k = 0; r && k < STEPS; k++)
        step(r);
    if (r)
        end();
    for (int i = 0; i < LENT; i++)
        if (lent[i]) {
            touch(lent[i]);
            lent[i]->deleter(lent[i]);
        }
    for (int i = 0; i < handed_count; i++) {
        if (handed[i]->released != 1)
            wrong("a tensor was not let go of once");
        free(handed[i]);
    }
    exit(bad ? 3 : 0);
}

int main(int argc, char **argv)
{
    uint64_t seed = 1, rounds = UINT64_MAX, passed = 0, failed = 0, from = 0;
    double seconds = 60;
    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--seconds") == 0)
            seconds = atof(next);
        else if (strcmp(argv[i], "--seed") == 0)
            seed = strtoull(next, NULL, 10);
        else if (strcmp(argv[i], "--rounds") == 0)
            rounds = strtoull(next, NULL, 10);
        else if (strcmp(argv[i], "--round") == 0)
            from = strtoull(next, NULL, 10), rounds = from + 1;
        show |= strcmp(argv[i], "--show") == 0;
    }
    printf("api: seed %llu\n", (unsigned long long)seed);
    time_t start = time(NULL);
    for (uint64_t k = from; k < rounds && difftime(time(NULL), start) < seconds; k++) {
        int status = 0;
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            run_round(seed, k);
        }
        if (child < 0 || waitpid(child, &status, 0) < 0)
            return 2;
        passed += status == 0;
        failed += status != 0;
        if (status)
            printf("FAIL api: round %llu of seed %llu ended with status %d\n",
                   (unsigned long long)k, (unsigned long long)seed, status);
    }
    printf("%llu passed, %llu failed\n", (unsigned long long)passed, (unsigned long long)failed);
    return failed ? 1 : 0;
}
