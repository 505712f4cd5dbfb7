/* `compare` where memory ends: the n-th allocation fails, for every n until all succeed. The error
 * is `memory` or an entry's own, the interpreter is as it was before: stack, scope, output, and
 * what lives. And errors of accuracy.h that can be said exactly. */
#include "core/base/error.h"
#include "interp/precision/accuracy.h"
#include "interp/state/interp.h"
#include "tests/unit/check.h"
#include "interp/eval/call.h"
#include "interp/life.h"
#include "interp/eval/module.h"

/* Calls g, which was made before, so that nothing is read or parsed. */
static bool runs(Interp *in, Value g)
{
    Guard guard;
    guard_enter(in, &guard);
    if (ERR_TRY(&in->ctx, &guard.frame)) {
        Value v = call_value(in, g, NULL, 0);
        ERR_END(&in->ctx, &guard.frame);
        v_release(&in->ctx, v);
        return true;
    }
    guard_restore(in, &guard);
    check_that(in->ctx.error->kind == ERR_MEMORY, in->ctx.error->message, __FILE__, __LINE__);
    err_free(in->ctx.error);
    in->ctx.error = NULL;
    return false;
}

static void memory_ends(Interp *in)
{
    static const char text[] =
        "A = [4.0, 1, 0; 1, 3, 1; 0, 1, 2]\nseed(1)\n"
        "fn g() { return compare f64, bf16, precision decimal(3) round up { x = rand(3); (A \\ x, \"t\", x[0]/3) } }\n"
        "g";
    MemAccount *mem = &in->ctx.mem;
    Value g = run_text(in, in->main, "<test>", text, strlen(text));
    v_push(in, g);
    CHECK(runs(in, g));
    uint64_t before = mem->allocations;
    CHECK(runs(in, g));
    uint64_t need = mem->allocations - before, step = need / 1000 + 1;
    for (uint64_t n = 1; n <= need; n += step) {
        Value *sp = in->sp;
        mem->fail_at = mem->allocations + n;
        runs(in, g);
        mem->fail_at = 0;
        if (in->sp != sp || in->scope || in->solved || in->out_mute || in->out_heading ||
            in->ctx.frame) {
            CHECK(!"everything is put back");
            break;
        }
    }
    CHECK(runs(in, g));
    stack_cut(in, in->sp - 1);
}

/* Accuracy of a pair `(x, r)` that the text gives. */
static Accuracy measured(Interp *in, const char *text)
{
    Accuracy a = { NAN, NAN };
    Guard g;
    guard_enter(in, &g);
    if (ERR_TRY(&in->ctx, &g.frame)) {
        Value v = run_text(in, in->main, "<test>", text, strlen(text));
        v_push(in, v);
        a = accuracy_of(in, v.tuple->items[0], v.tuple->items[1]);
        ERR_END(&in->ctx, &g.frame);
        stack_cut(in, in->sp - 1);
        return a;
    }
    guard_restore(in, &g);
    check_that(false, in->ctx.error->message, __FILE__, __LINE__);
    err_free(in->ctx.error);
    in->ctx.error = NULL;
    return a;
}

static void errors_are_exact(Interp *in)
{
    static const struct { const char *pair; double error; } known[] = {
        { "(1.0, 1.0)", 0 },
        { "(3.0, 2.0)", 0.5 },
        { "(0.0, 2.0)", 1 },
        { "([3.0, 4], [3.0, 0])", 4.0 / 3 },
        { "([0.0, 0], [0.0, 0])", 0 },
        { "([1.0, 0], [0.0, 0])", INFINITY },
        { "([inf, 1.0], [inf, 1.0])", 0 },
        { "([inf, 1.0], [-inf, 1.0])", INFINITY },
        { "([nan, 1.0], [nan, 2.0])", 0.5 },
        { "(1.7e308, -1.7e308)", 2 },
        { "(5e-324, 1e-323)", 0.5 },
        { "([1e200, 3e200], [1e200, 1e200])", 0x1.6a09e667f3bcdp+0 },
        { "(f16(1.5), 1)", 0.5 },
        { "(2i, 1i)", 1 },
        { "(4611686018427387905, 4611686018427387904)", 0x1p-62 },
        { "(rational(1) / 3, rational(1) / 2)", 1.0 / 3 },
        { "(precision mp(300) { 1 + 2.0^-250 }, 1.0)", 0x1p-250 },
        { "(decimal(3)(0.5), 1)", 0.5 },
        { "((a=1.0, b=3.0), (a=1.0, b=2.0))", 0.5 },
        { "((1.0, \"t\"), (1.0, \"u\"))", INFINITY },
        { "([1.0, 2], [1.0, 2, 3])", INFINITY },
        { "(true, false)", INFINITY },
        { "(none, none)", 0 },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        Accuracy a = measured(in, known[i].pair);
        bool good = a.error == known[i].error ||
                    fabs(a.error - known[i].error) <= 1e-15 * known[i].error;
        check_that(good, known[i].pair, __FILE__, __LINE__);
        bool digits = a.error == 0 ? isinf(a.digits)
                    : a.error >= 1 ? a.digits == 0 : fabs(a.digits + log10(a.error)) < 1e-12;
        check_that(digits, known[i].pair, __FILE__, __LINE__);
    }
}

int main(void)
{
    Interp *in = interp_new();
    in->out_failed = true;                  /* the tables go nowhere */
    errors_are_exact(in);
    memory_ends(in);
    interp_free(in);
    return check_result();
}
