/* Every row of the registry on every device: the cases of cases.def, and a call of each elementwise
 * row, on operands of several dtypes and layouts, compared with what the cpu makes of them: values,
 * dtypes, shapes, or the error. Whether a row ran on the device or fell back is what the operation
 * matrix (docs/devices.md) says of it.
 *   matrix DEVICE…       runs them. A device whose kernels are compiled runs the first case of each
 *                        row that has a form, on f32 in one layout; --full: everything;
 *                        --part=K/N: one row in N. `opencl:0+math` lends it the host's LAPACK,
 *                        `opencl:0+items` gives a processor the texts of accelerators
 *   matrix --run=FILE D  runs a program with the device's name in args()
 *   matrix --table       prints docs/devices.md */
#include "tests/devices/math.h"
#include "tests/unit/check.h"

#include "interp/life.h"
#include "interp/eval/module.h"
#include "interp/output/output.h"
#include "interp/op/op.h"
#include "interp/device/place.h"
#include "interp/show/show.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Case { const char *row, *call, *what; } Case;

static const Case cases[] = {
#define CASE(row, call, what) { #row, call, what },
#include "tests/devices/cases.def"
#undef CASE
};
enum { CASES = sizeof cases / sizeof cases[0] };

static const char *const layouts[] =
    { "contiguous", "transposed", "sliced", "negative", "broadcast", "one", "empty" };
static const char *const dtypes[] = { "f32", "f64", "i64", "bool" };
enum { LAYOUTS = 7, DTYPES = 4 };

/* Ways for one and the same matrix or vector to lie. */
static const char setup[] =
    "fn lay_own(x) { return concat((x,)) }\n"
    "fn lay_contiguous(x) { return lay_own(x) }\n"
    "fn lay_transposed(x) { return transpose(lay_own(transpose(x))) }\n"
    "fn lay_sliced(x) { if ndim(x) == 1 { return pad(repeat(x, 2), 1)[1:-1:2] }\n"
    "    return pad(repeat(repeat(x, 2, axis=0), 2, axis=1), 1)[1:-1:2, 1:-1:2] }\n"
    "fn lay_negative(x) { return flip(lay_own(flip(x))) }\n"
    "fn lay_broadcast(x) { return broadcast_to(x[0:1], shape(x)) }\n"
    "fn lay_one(x) { return if ndim(x) == 1 { x[0:1] } else { x[0:1, 0:1] } }\n"
    "fn lay_empty(x) { return if ndim(x) == 1 { x[0:0] } else { x[0:0, 0:0] } }\n"
    "base_x = [1.5, -2, 0.5, 3; 0.25, 4, -1, 2; 2.5, 1, 3, -0.5; -3, 0.75, 1.25, 2]\n"
    "base_y = [2, 1, -1, 0.5; 1, 3, 0.5, -2; 0.125, -1, 2, 1; 3, 0.5, 1, 4]\n"
    "base_v = [1.5, -2, 3, 0.5]\nbase_w = [2, 1, -1.5, 4]\n"
    "base_S = [9, 1, 2, 1; 1, 8, 1, 2; 2, 1, 10, 1; 1, 2, 1, 7]\n"
    "fn in_dtype(x, D) { return if D == bool { x > 0 } else if D == i64 { i64(round(x)) } else { "
    "cast(x, D) } }\n";

typedef struct Run {
    PlaceListener listener;     /* first */
    Interp *in;
    Device *d;                  /* NULL: the cpu, without a block */
    const char *row;
    bool there, fell;
    bool brief;                 /* the first case of a row is enough */
} Run;

static void heard(Interp *in, PlaceListener *l, const PlaceRun *r)
{
    (void)in;
    Run *run = (Run *)l;
    if (!r->op || strcmp(r->op->name, run->row) != 0)
        return;
    run->fell |= r->fell_back;
    run->there |= !r->fell_back && r->device == run->d;
}

static void moved(Interp *in, PlaceListener *l, const PlaceMove *m) { (void)in, (void)l, (void)m; }

/* Runs a text; an error becomes the text of it in `why` and V_UNDEF. */
static Value run_one(Interp *in, const char *text, char *why, size_t cap)
{
    Guard g;
    volatile Value kept = v_undef();
    why[0] = '\0';
    guard_enter(in, &g);
    if (ERR_TRY(&in->ctx, &g.frame)) {
        kept = run_text(in, in->main, "<case>", text, strlen(text));
        ERR_END(&in->ctx, &g.frame);
    } else {
        snprintf(why, cap, "%s: %s", err_kind_name(in->ctx.error->kind), in->ctx.error->message);
    }
    guard_restore(in, &g);
    return kept;
}

/* ---- comparing ---- */
static double number_at(const Tensor *t, int64_t i, int part)
{
    int64_t at = 0;
    for (int a = t->rank - 1; a >= 0; a--) {
        at += i % tensor_shape(t)[a] * tensor_strides(t)[a];
        i /= tensor_shape(t)[a];
    }
    double _Complex z = element_c128((DType)t->dtype,
                                     t->data + at * dtype_info((DType)t->dtype)->bytes);
    return part ? __imag__ z : __real__ z;
}

static bool same_tensor(Interp *in, Tensor *a, Tensor *b, double tolerance)
{
    double top = 0, off = 0;
    tensor_home(&in->ctx, a);
    tensor_home(&in->ctx, b);
    if (a->dtype != b->dtype || a->rank != b->rank || a->flags != b->flags ||
        memcmp(tensor_shape(a), tensor_shape(b), (size_t)a->rank * sizeof(int64_t)) != 0)
        return false;
    for (int64_t i = 0; i < a->size; i++)
        for (int part = 0; part < 2; part++) {
            double x = number_at(a, i, part), y = number_at(b, i, part);
            if (x == y || (isnan(x) && isnan(y)))
                continue;
            if (!isfinite(x) || !isfinite(y))
                return false;
            off = fmax(off, fabs(x - y));
            top = fmax(top, fmax(fabs(x), fabs(y)));
        }
    return off <= tolerance * fmax(top, 1);
}

static bool same(Interp *in, Value a, Value b, double tolerance)
{
    if (a.tag == V_TUPLE && b.tag == V_TUPLE && a.tuple->count == b.tuple->count) {
        for (uint32_t i = 0; i < a.tuple->count; i++)
            if (!same(in, a.tuple->items[i], b.tuple->items[i], tolerance))
                return false;
        return true;
    }
    if (!v_is_numeric(a) || !v_is_numeric(b))
        return a.tag == b.tag;
    Tensor *x = v_to_tensor(in, a, 0), *y = v_to_tensor(in, b, 0);
    bool equal = same_tensor(in, x, y, tolerance);
    tensor_release(&in->ctx, x);
    tensor_release(&in->ctx, y);
    return equal;
}

/* ---- a case ---- */
static void place_operands(Interp *in, const char *dtype, const char *layout)
{
    char text[512], why[400];
    snprintf(text, sizeof text, "x = lay_%s(in_dtype(base_x, %s))\ny = lay_%s(in_dtype(base_y, "
                                "%s))\nv = lay_%s(in_dtype(base_v, %s))\n"
             "w = lay_%s(in_dtype(base_w, %s))\nS = lay_%s(in_dtype(base_S, %s))\n", layout, dtype,
             layout, dtype, layout, dtype, layout, dtype, layout, dtype);
    v_release(&in->ctx, run_one(in, text, why, sizeof why));
    if (why[0])
        printf("setup: %s\n", why), check_failed++;
}

static double tolerance_of(const Run *run, const Op *op, const char *dtype)
{
    bool narrow = strcmp(dtype, "f64") != 0 || (run->d && !device_holds(run->d, DT_F64));
    if (run->d && run->d->product != DT_NONE &&
        (op->autocast == AC_LOWER || strcmp(op->name, "expm") == 0))
        return 0.05;
    return narrow ? 2e-5 : 1e-12;
}

static void run_case(Run *run, const Op *op, const Case *k, const char *dtype, const char *layout)
{
    Interp *in = run->in;
    char text[1024], want[500], got[500];
    snprintf(text, sizeof text, "seed(7)\nr = %s\n%s", k->call, k->what);
    Value a = run_one(in, text, want, sizeof want);
    snprintf(text, sizeof text, "seed(7)\non (device(\"%s\")) quiet { r = %s }\n%s", run->d->name,
             k->call, k->what);
    run->row = op->name;
    in->listener = &run->listener;
    Value b = run_one(in, text, got, sizeof got);
    in->listener = NULL;
    bool good = strcmp(want, got) == 0 && same(in, a, b, tolerance_of(run, op, dtype));
    if (!check_that(good, k->call, k->row, 0)) {
        Buf out;
        buf_init(&out, &in->ctx);
        buf_printf(&out, "FAIL %s: %s of %s %s on %s\n  cpu: %s", k->row, k->call, layout, dtype,
                   run->d->name, want);
        show_value(in, &out, a);
        buf_printf(&out, "\n  %s: %s", run->d->name, got);
        if (b.tag != V_UNDEF) {
            place_home(in, b);
            show_value(in, &out, b);
        }
        printf("%s\n", buf_cstr(&out));
        buf_free(&out);
    }
    v_release(&in->ctx, a);
    v_release(&in->ctx, b);
}

/* ---- rows ---- */
static bool wants_device(const Op *op) { return !(op->devices & (DEV_ANYWHERE | DEV_HOST)); }

static const char *elementwise_call(const Op *op)
{
    int n = ew_info[op->ew].arity;
    static char text[64];
    bool bits = op->dtypes && !strchr(op->dtypes, 'f');
    if (op->ew == EW_WHERE)
        return "where(x > 0, x, y)";
    if (bits)
        snprintf(text, sizeof text,
                 n == 1 ? "%s(x > 0)" : strcmp(op->name, "shl") && strcmp(op->name, "shr")
                 ? "%s(x > 0, y > 0)" : "%s([1, 2, 3], 2)", op->name);
    else
        snprintf(text, sizeof text,
                 n == 1 ? "%s(x)" : n == 2 ? "%s(x, y)" : "%s(x, y, 2)", op->name);
    return text;
}

/* All cases of a row; 0: it has none. */
static int run_row(Run *run, const Op *op, const char *dtype, const char *layout)
{
    int count = 0;
    if (op->cls == OPC_EW) {
        run_case(run, op, &(Case){ op->name, elementwise_call(op), "r" }, dtype, layout);
        return 1;
    }
    for (int i = 0; i < CASES; i++)
        if (strcmp(cases[i].row, op->name) == 0) {
            run_case(run, op, &cases[i], dtype, layout);
            count++;
            if (run->brief)
                break;
        }
    return count;
}

/* What place_lacked says of a device of generated source must be what happened to plain f32
 * operands. (Simulations have rows that make dtypes which they do not hold: the table shows what
 * they did.) */
static void check_claim(Run *run, const Op *op)
{
    bool has = !place_lacked(run->in, run->d, op);
    if (run->d->caps & DEVCAP_SIM || (op->devices & DEV_MAKES))
        return;
    if (!check_that(has == run->there, "the operation matrix is right", op->name, 0))
        printf("FAIL %s on %s: the matrix says %s, but it ran %s\n", op->name, run->d->name,
               has ? "yes" : "no", run->there ? "there" : "on the fallback");
}

typedef struct Choice {
    bool full;
    const char *only, *program;
    int part, parts;
} Choice;

static bool chosen(const Choice *c, const Run *run, int i)
{
    const Op *op = op_row(run->in, i);
    if (c->only)
        return strcmp(c->only, op->name) == 0;
    return wants_device(op) && i % c->parts == c->part && !(run->brief && op->cls == OPC_EW);
}

static void run_device(Interp *in, Device *d, const Choice *choice)
{
    bool source = !(d->caps & DEVCAP_SIM);
    Run run = { .listener = { heard, moved }, .in = in, .d = d, .brief = source && !choice->full };
    for (int t = 0; t < (run.brief ? 1 : DTYPES); t++)
        for (int l = 0; l < LAYOUTS; l++) {
            if (run.brief && strcmp(layouts[l], "negative") != 0)
                continue;
            place_operands(in, dtypes[t], layouts[l]);
            for (int i = 0; i < op_count(in); i++) {
                const Op *op = op_row(in, i);
                if (!chosen(choice, &run, i))
                    continue;
                run.there = run.fell = false;
                if (!check_that(run_row(&run, op, dtypes[t], layouts[l]) > 0, "the row has a case",
                                op->name, 0))
                    printf("FAIL %s has no case in tests/devices/cases.def\n", op->name);
                if (t == 0 && strcmp(layouts[l], source ? "negative" : "contiguous") == 0)
                    check_claim(&run, op);
            }
        }
}

/* A program that counts for itself. */
static void run_program(Interp *in, const char *path, char *device, bool full)
{
    char brief[] = "brief", *args[] = { device, brief };
    static char text[1 << 16];
    char why[500];
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = '\0';
    in->argc = full ? 1 : 2;
    in->argv = args;
    v_release(&in->ctx, run_one(in, text, why, sizeof why));
    out_flush(in);
    if (!check_that(n > 0 && !why[0], "the program runs", path, 0))
        printf("FAIL %s\n0 passed, 1 failed\n", why);
}

/* ---- the table ---- */
static Device imagined(unsigned caps, bool math)
{
    Device d = { .caps = caps, .dtypes = ~0u, .product = DT_NONE };
    if (math)
        test_math(&d);
    return d;
}

/* Simulations are asked by running it. */
static bool has_row(Interp *in, Device *d, const Op *op)
{
    Run run = { .listener = { heard, moved }, .in = in, .d = d };
    if (!(d->caps & DEVCAP_SIM))
        return !place_lacked(in, d, op);
    run_row(&run, op, "f32", "contiguous");
    return run.there;
}

enum { COLUMNS = 5, ROWS_MOST = 1024 };

/* Rows of one section that the same devices have stand on one line. */
static void print_section(Interp *in, const unsigned *has, int from, int to)
{
    bool done[ROWS_MOST] = { false };
    printf("\n## %s\n\n| operations | sim.mps | sim.tpu | opencl | cuda | mpi |\n"
           "|---|---|---|---|---|---|\n",
           op_row(in, from)->section);
    for (int i = from; i < to; i++) {
        if (done[i] || !wants_device(op_row(in, i)))
            continue;
        printf("| `");
        for (int k = i; k < to; k++)
            if (wants_device(op_row(in, k)) && has[k] == has[i]) {
                printf("%s%s", k > i ? " " : "", op_row(in, k)->name);
                done[k] = true;
            }
        printf("` |");
        for (int d = 0; d < COLUMNS; d++)
            printf(" %s |", has[i] >> d & 1 ? "yes" : "cpu");
        puts("");
    }
}

static void print_table(Interp *in)
{
    Device opencl = imagined(DEVCAP_SOURCE, false),
           cuda = imagined(DEVCAP_SOURCE | DEVCAP_CUDA, true),
           mpi = imagined(DEVCAP_GRID, false);
    Device *devices[] = { device_find(&in->ctx, "sim.mps"), device_find(&in->ctx, "sim.tpu"),
                          &opencl, &cuda, &mpi };
    unsigned has[ROWS_MOST] = { 0 };
    place_operands(in, "f32", "contiguous");
    for (int i = 0; i < op_count(in); i++)
        for (int d = 0; d < COLUMNS && wants_device(op_row(in, i)); d++)
            has[i] |= (unsigned)has_row(in, devices[d], op_row(in, i)) << d;
    puts("# Which operation runs on which device\n\n"
         "Made from the registry by the test that runs all of them on all devices (`make manual`). "
         "*yes*: the device\n"
         "computes it, in the dtypes that it holds; *cpu*: it runs on the block's fallback, with a "
         "notice. Operations\n"
         "that look at no elements (`shape`, `dtype`, `device` …) run anywhere, and those that "
         "belong to the host (text,\n"
         "files, functions of functions) run there; neither is listed. Random tensors have the "
         "same bits everywhere:\n"
         "where a device does not make them, they are made on the cpu and copied. A single call "
         "can fall back for another\n"
         "reason (a dtype, an order of `norm`, counts that differ in `repeat`, a sparse operand "
         "but in `S @ x`); its\n"
         "notice says which.");
    for (int from = 0, to; from < op_count(in); from = to) {
        bool any = false;
        for (to = from; to < op_count(in) &&
             strcmp(op_row(in, to)->section, op_row(in, from)->section) == 0; to++)
            any |= wants_device(op_row(in, to));
        if (any)
            print_section(in, has, from, to);
    }
}

int main(int argc, char **argv)
{
    Interp *in = interp_new();
    char why[400], name[64];
    Choice choice = { .parts = 1 };
    v_release(&in->ctx, run_one(in, setup, why, sizeof why));
    if (why[0])
        printf("setup: %s\n", why), check_failed++;
    for (int i = 1; i < argc; i++) {
        char *plus;
        if (strcmp(argv[i], "--table") == 0) {
            print_table(in);
            interp_free(in);
            return 0;
        }
        if (argv[i][0] == '-') {
            choice.full |= strcmp(argv[i], "--full") == 0;
            choice.program = strncmp(argv[i], "--run=", 6) == 0 ? argv[i] + 6 : choice.program;
            choice.only = strncmp(argv[i], "--only=", 7) == 0 ? argv[i] + 7 : choice.only;
            sscanf(argv[i], "--part=%d/%d", &choice.part, &choice.parts);
            continue;
        }
        snprintf(name, sizeof name, "%s", argv[i]);
        if ((plus = strchr(name, '+')))
            *plus = '\0';
        Device *d = device_named(&in->ctx, name);
        d = d ? device_real(&in->ctx, d) : NULL;
        if (!d || device_absent(d)) {
            printf("not run: %s: there is none\n", argv[i]);
            continue;
        }
        DevMath own = d->math;
        bool items = plus && strcmp(plus + 1, "items") == 0;
        if (plus && !items)
            test_math(d);
        if (items)                      /* accelerators have texts of their own */
            d->caps &= ~(unsigned)DEVCAP_CPU;
        if (choice.program)
            run_program(in, choice.program, name, choice.full);
        else
            run_device(in, d, &choice);
        d->math = own;
    }
    interp_free(in);
    return choice.program ? check_failed != 0 : check_result();
}
