/* Faults of devices: the k-th allocation, copy or launch from when a statement begins fails, for
 * every k until none is left. The statement raises (device or memory) or is not touched by the
 * fault; either way every variable that was there has its old value, on the host and on the
 * device, nothing is left behind on the device, and the statement runs as ever when nothing
 * fails. Sanitized builds look for what leaked on the host. */
#include "core/base/error.h"
#include "interp/state/interp.h"
#include "tests/unit/check.h"
#include "interp/life.h"
#include "interp/eval/module.h"
#include "interp/show/show.h"

static const char setup[] =
    "seed(5)\n"
    "A = f32(randn(6, 6) + 4 * eye(6))\n"
    "D = randn(6, 6)\n"
    "v = f32([1, 2, 3, 4, 5, 6])\n"
    "m = sim.mps\n"
    "G = to(A, m)\n"
    "w = to(v, m)\n"
    "t = (a=to(v, m), b=1)\n"
    "H = to(A, sim.tpu)\n"
    "I = to([1, 2, 3], m)\n";

/* What must stay; each is looked at on the host and, where it lies on the device, there. */
static const char look[] =
    "(string(A), string(D), string(v), string(G), string(w), string(t), string(H), string(I),\n"
    " device(G), device(w), device(t.a), device(H), device(A))";

static const char *const statements[] = {
    "on (m) quiet { x = G @ G + A }",
    "on (m) quiet { x = solve(G, v) }",
    "on (m) quiet { x = D @ D }",
    "on (m) narrow quiet { x = D @ w + D[0] }",
    "on (m) quiet { x = qr(G).R + svd(A).S[0] }",
    "on (m) quiet { x = (sum(G), max(w), G' , reshape(G, 4, 9), concat((A, G)), split(w, 2)) }",
    "on (m) quiet { x = zeros(3, 3) + rand(3); y = [1.5, 2.5]; z = [y, y] }",
    "on (m) quiet { x = map(s -> s * 2, w); y = filter(s -> s > 2, w); z = reduce((p, q) -> p + q, "
    "w) }",
    "on (m) quiet { w[1] = 9; w[2:4] += 1; x = w }",
    "on (m) quiet { x = w; x[0] = 7; G[1, :] = v; x = G[[0, 1], 2] }",
    "on (m) quiet { x[i,k] := G[i,j] * A[j,k]; y = exp(-G * 2 + 1) / 3 }",
    "on (m) fallback sim.tpu quiet { x = solve(G, w) + H[0] }",
    "on sim.tpu quiet { x = H @ H; y = einsum(\"ij,jk->ik\", A, H) }",
    "x = G + 1; y = \"{w}\"; z = to(H, m); u = to(G, cpu)",
    "t.a = to(2 * v, sim.tpu); x = t.a + 1",
    "on (m) quiet { precision bf16 { x = G @ G }; autocast f16 { y = G @ D } }",
    "x = rand(4, device=m); y = like(G, 1); z = full((2,), 2.5, device=sim.tpu)",
    "on (m) quiet { for q in w { x = q }; a, b = split(w, 2); x = fft(w); y = I / 2; z = i8(I) }",
};

typedef enum Fault { FAULT_ALLOC, FAULT_COPY, FAULT_LAUNCH, FAULTS } Fault;

static Device *named(Interp *in, const char *name) { return device_find(&in->ctx, name); }

static void arm(Interp *in, Fault f, uint64_t k)
{
    Device *devices[] = { named(in, "sim.mps"), named(in, "sim.tpu") };
    for (int i = 0; i < 2; i++) {
        devices[i]->fail_alloc = f == FAULT_ALLOC ? k : 0;
        devices[i]->fail_copy = f == FAULT_COPY ? k : 0;
        devices[i]->fail_launch = f == FAULT_LAUNCH ? k : 0;
    }
}

/* Did one of them count down to its failure? */
static bool fired(Interp *in, Fault f)
{
    const Device *devices[] = { named(in, "sim.mps"), named(in, "sim.tpu") };
    for (int i = 0; i < 2; i++)
        if ((f == FAULT_ALLOC  ? devices[i]->fail_alloc
             : f == FAULT_COPY ? devices[i]->fail_copy
                               : devices[i]->fail_launch) == 0)
            return true;
    return false;
}

static Value run(Interp *in, const char *text)
{
    return run_text(in, in->main, "fault.ric", text, strlen(text));
}

/* False: it raised, and the error is taken away. *kind: which. */
static bool attempt(Interp *in, const char *text, ErrKind *kind)
{
    Guard g;
    guard_enter(in, &g);
    if (ERR_TRY(&in->ctx, &g.frame)) {
        v_release(&in->ctx, run(in, text));
        ERR_END(&in->ctx, &g.frame);
        return true;
    }
    *kind = in->ctx.error->kind;
    guard_restore(in, &g);
    err_free(in->ctx.error);
    in->ctx.error = NULL;
    return false;
}

/* What all variables print, as a string of the caller's. */
static char *state(Interp *in, char *out, size_t cap)
{
    Buf b;
    ErrKind kind;
    buf_init(&b, &in->ctx);
    Guard g;
    guard_enter(in, &g);
    if (ERR_TRY(&in->ctx, &g.frame)) {
        Value v = run(in, look);
        v_push(in, v);
        show_value(in, &b, v);
        stack_cut(in, in->sp - 1);
        ERR_END(&in->ctx, &g.frame);
    } else {
        guard_restore(in, &g);
        kind = in->ctx.error->kind;
        buf_printf(&b, "the variables cannot be read: %d", (int)kind);
    }
    snprintf(out, cap, "%s", buf_cstr(&b));
    buf_free(&b);
    return out;
}

static Interp *fresh(void)
{
    ErrKind kind;
    Interp *in = interp_new();
    CHECK(attempt(in, setup, &kind));
    return in;
}

/* What the statement leaves on the devices when nothing fails, its own variables dropped again. */
static size_t live(Interp *in)
{
    ErrKind kind;
    attempt(in, "x = y = z = u = a = b = q = none", &kind);
    attempt(in, "x = none; y = none; z = none; u = none; a = none; b = none; q = none", &kind);
    return named(in, "sim.mps")->live + named(in, "sim.tpu")->live;
}

/* The k-th of f fails in the statement. False: it has not so many. */
static bool trial(const char *statement, Fault f, uint64_t k, const char *before)
{
    char after[8192];
    ErrKind kind = ERR_DEVICE;
    Interp *in = fresh();
    arm(in, f, k);
    bool ran = attempt(in, statement, &kind), there = fired(in, f);
    arm(in, f, 0);
    bool changes = strstr(statement, "w[1]") || strstr(statement, "G[1, :]") ||
                   strstr(statement, "t.a =");
    if (!ran) {
        if (!check_that(kind == ERR_DEVICE || kind == ERR_MEMORY, statement, __FILE__, (int)k))
            fprintf(stderr, "    an error of kind %d\n", (int)kind);
        if (!changes && !check_that(strcmp(before, state(in, after, sizeof after)) == 0, statement,
                                    __FILE__, (int)k))
            fprintf(stderr, "  before %s\n  after  %s\n", before, after);
        check_that(strstr(state(in, after, sizeof after), "cannot be read") == NULL, statement,
                   __FILE__, (int)k);
    }
    check_that(in->place == NULL && in->scope == NULL, "a block is left behind", __FILE__, (int)k);
    if (!check_that(attempt(in, statement, &kind), "runs again", __FILE__, (int)k))
        fprintf(stderr, "    %s: kind %d\n", statement, (int)kind);
    live(in);
    attempt(in, "A = D = v = none", &kind);
    attempt(in, "A = none; D = none; v = none; G = none; w = none; t = none; H = none; I = none",
            &kind);
    if (!check_that(live(in) == 0, "memory of the devices is free again", __FILE__, (int)k))
        fprintf(stderr, "    %s: %zu bytes\n", statement, live(in));
    interp_free(in);
    return there;
}

int main(void)
{
    enum { MOST = 64 };
    char before[8192];
    Interp *in = fresh();
    state(in, before, sizeof before);
    CHECK(strstr(before, "cannot be read") == NULL);
    interp_free(in);
    for (size_t s = 0; s < sizeof statements / sizeof statements[0]; s++)
        for (int f = 0; f < FAULTS; f++) {
            uint64_t k = 1;
            while (k < MOST && trial(statements[s], (Fault)f, k, before))
                k += k < 12 ? 1 : 1 + k / 4;
            CHECK(k < MOST);
        }
    return check_result();
}
