/* What hosts with a language of their own need of libricci: blocks held open around calls,
 * operators, subscripts, arguments by name, functions that go with their last use, memory that both
 * write, old capsules, forks, a display. Leaks are the sanitizer's. */
#include "interp/embed/api.h"
#include "tests/unit/check.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static Ricci *r;

static bool result_is(const char *text, const char *wanted)
{
    if (ricci_eval(r, text) != 0) {
        fprintf(stderr, "%s: %s", text, ricci_error(r));
        return false;
    }
    bool same = strcmp(ricci_result(r), wanted) == 0;
    if (!same)
        fprintf(stderr, "%s: %s, not %s\n", text, ricci_result(r), wanted);
    return same;
}

static bool failed_with(const char *kind)
{
    const RicciError *e = ricci_error_parts(r);
    if (!e || strcmp(e->kind, kind) != 0)
        fprintf(stderr, "not %s: %s\n", kind, ricci_error(r));
    return e && strcmp(e->kind, kind) == 0;
}

#define RESULT(text, wanted) CHECK(result_is(text, wanted))
#define FAILS(call, kind) CHECK((call) && failed_with(kind))

static RicciValue *value_of(const char *text)
{
    return ricci_eval(r, text) == 0 ? ricci_value(r) : NULL;
}

static bool shows(RicciValue *v, const char *wanted)
{
    bool same = v && strcmp(ricci_text(v), wanted) == 0;
    if (!same)
        fprintf(stderr, "%s, not %s\n", v ? ricci_text(v) : ricci_error(r), wanted);
    ricci_free(v);
    return same;
}

static void blocks(void)
{
    RESULT("g = () -> 1 / 3.0; x = [1.0, 3]", "");
    CHECK(ricci_begin(r, "precision decimal(3)") == 0);
    RESULT("1 / 3", "0.333");
    RESULT("g()", "0.333");
    CHECK(ricci_begin(r, "on sim.mps quiet") == 0);
    CHECK(ricci_end(r) == 0);
    CHECK(ricci_begin(r, "precision f32 round up") == 0);
    RESULT("dtype(x / 3)", "f32");
    FAILS(ricci_eval(r, "nothing"), "name");
    RESULT("dtype(x / 3)", "f32");
    CHECK(ricci_end(r) == 0);
    RESULT("1 / 3", "0.333");
    CHECK(ricci_end(r) == 0);
    RESULT("dtype(1 / 3)", "f64");
    FAILS(ricci_end(r), "value");
    FAILS(ricci_begin(r, "precision"), "syntax");
    FAILS(ricci_begin(r, "precision f99"), "name");
    FAILS(ricci_begin(r, "on nowhere"), "name");
    FAILS(ricci_begin(r, "1 + 1; lazy"), "value");
    FAILS(ricci_begin(r, NULL), "value");
    CHECK(ricci_begin(r, "autocast bf16") == 0);
    RESULT("dtype([1.0; 2] @ [1.0, 2]')", "bf16");
    CHECK(ricci_end(r) == 0);
}

static void operators(void)
{
    RicciValue *x = value_of("f32([1, 2])"), *two = ricci_double(r, 2), *z = value_of("2i");
    CHECK(shows(ricci_operate(r, "*", 2, (RicciValue *[]){ x, two }, 2), "[2.0, 4.0]"));
    RicciValue *literal = ricci_operate(r, "*", 2, (RicciValue *[]){ x, z }, 2);
    CHECK(literal && strcmp(ricci_dtype(literal), "c64") == 0);
    ricci_free(literal);
    CHECK(shows(ricci_operate(r, "-", 1, (RicciValue *[]){ x }, 0), "[-1.0, -2.0]"));
    CHECK(shows(ricci_operate(r, "==", 2, (RicciValue *[]){ x, two }, 0), "[false, true]"));
    FAILS(!ricci_operate(r, "<>", 2, (RicciValue *[]){ x, x }, 0), "value");
    FAILS(!ricci_operate(r, NULL, 1, (RicciValue *[]){ x }, 0), "value");
    FAILS(!ricci_operate(r, "+", 2, (RicciValue *[]){ x, NULL }, 0), "value");
    ricci_free(x);
    ricci_free(two);
    ricci_free(z);
}

static void looking(void)
{
    RicciValue *x = value_of("zeros(2, 3, dtype=bf16)"), *t = value_of("(a=1, 2)");
    CHECK(ricci_rank(x) == 2 && ricci_shape(x)[1] == 3 && strcmp(ricci_dtype(x), "bf16") == 0);
    CHECK(strcmp(ricci_device(x), "cpu") == 0 && strcmp(ricci_repr(t), "(a=1, 2)") == 0);
    CHECK(ricci_rank(t) == -1 && !ricci_shape(t) && !*ricci_dtype(t) && !*ricci_device(t));
    CHECK(strcmp(ricci_field_name(t, 0), "a") == 0 && !ricci_field_name(t, 1) &&
          !ricci_field_name(t, 7));
    RicciValue *range = ricci_range(r, 0, 10, 3);
    int64_t start, stop, step;
    CHECK(ricci_to_range(range, &start, &stop, &step) == 0 && stop == 10 && step == 3);
    CHECK(ricci_to_range(x, &start, &stop, &step) == 1 && !ricci_range(r, 0, 1, 0));
    RicciValue *m = value_of("reshape(arange(12), (3, 4))"), *one = ricci_int(r, 1),
               *back = ricci_int(r, -1), *many = ricci_int(r, 9);
    RicciIndex at[] = { { .kind = RICCI_VALUE, .value = one },
                        { .kind = RICCI_SLICE, .step = back } };
    CHECK(shows(ricci_index(m, 2, at), "[7, 6, 5, 4]"));
    RicciIndex rest[] = { { .kind = RICCI_ELLIPSIS }, { .kind = RICCI_VALUE, .value = one } };
    CHECK(shows(ricci_index(m, 2, rest), "[1, 5, 9]"));
    FAILS(!ricci_index(m, 1, &(RicciIndex){ .kind = RICCI_VALUE, .value = many }), "index");
    FAILS(!ricci_index(m, 1, &(RicciIndex){ .kind = RICCI_VALUE }), "value");
    FAILS(!ricci_index(m, 1000, at), "index");
    RicciValue *all[] = { x, t, range, m, one, back, many };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ricci_free(all[i]);
}

static void naming(void)
{
    RicciValue *f = value_of("f = (x, y=1) -> x - y; f"), *a = ricci_int(r, 5),
               *b = ricci_int(r, 3);
    CHECK(ricci_callable(f) && !ricci_callable(a));
    const char *y = "y", *z = "z";
    CHECK(shows(ricci_call_named(f, 1, 1, (RicciValue *[]){ a, b }, &y), "2"));
    FAILS(!ricci_call_named(f, 1, 1, (RicciValue *[]){ a, b }, &z), "type");
    ricci_free(f);
    ricci_free(a);
    ricci_free(b);
    CHECK(ricci_has(r, "f") && ricci_unset(r, "f") == 0 && !ricci_has(r, "f"));
    FAILS(ricci_unset(r, "f"), "name");
    bool found = false;
    for (int i = 0; ricci_name(r, i); i++)
        found |= strcmp(ricci_name(r, i), "x") == 0;
    CHECK(found && !ricci_name(r, -1));
    FAILS(ricci_eval(r, "throw (code=3)"), "throw");
    CHECK(shows(ricci_error_value(r), "(code=3,)"));
}

static int released;
static void count_release(void *user) { released += user == &released; }

static RicciValue *difference(Ricci *in, void *user, int count, RicciValue *const *args, int named,
                              const char *const *names)
{
    (void)user;
    if (named == 1 && strcmp(names[0], "open") == 0)
        return ricci_begin(in, "precision f16") ? NULL : ricci_int(in, 1);
    if (count + named != 2)
        return ricci_fail(in, "value", "two, not %d", count + named);
    return ricci_operate(in, "-", 2, args, 0);
}

static void functions(void)
{
    RicciValue *f = ricci_function(r, "difference", difference, &released, count_release);
    CHECK(f && ricci_set(r, "d", f) == 0 && ricci_function_user(f) == &released);
    ricci_free(f);
    RESULT("d(5, 3)", "2");
    RESULT("d(5, by=3)", "2");
    RESULT("map(x -> d(x, 1), [1, 2])", "[0, 1]");
    FAILS(ricci_eval(r, "d(1)"), "value");
    FAILS(ricci_eval(r, "grad(x -> d(x, 1.0))(2.0)"), "grad");
    RESULT("d(open=1); dtype(1.0)", "f64");        /* what it left open ends with it */
    RESULT("e = d; d = none; e(2, 1)", "1");
    CHECK(released == 0);
    RESULT("e = none", "");
    CHECK(released == 1);
    FAILS(!ricci_function(r, "none", NULL, &released, count_release), "value");
    CHECK(released == 2);
}

static void sharing(void)
{
    double x[] = { 1, 2, 3, 4 };
    int64_t n = 4;
    CHECK(ricci_share(r, "s", ricci_wrap("f64", 1, &n, x, count_release, &released)) == 0);
    RESULT("t = s; s[1] = 7; t[1]", "2.0");
    CHECK(x[1] == 7);
    x[0] = 9;
    RESULT("(s[0], t[0])", "(9.0, 1.0)");
    DLManagedTensorVersioned *m = ricci_wrap("f64", 1, &n, x, count_release, &released);
    m->flags = DLPACK_FLAG_BITMASK_READ_ONLY;
    FAILS(ricci_share(r, "u", m), "value");
    FAILS(ricci_share(r, "u", NULL), "value");
}

static void old_delete(DLManagedTensor *m) { released += m->manager_ctx == &released; }

static void old_capsules(void)
{
    double x[] = { 1, 2, 3 };
    int64_t shape = 3;
    DLManagedTensor old = { .dl_tensor = { .data = x, .device = { kDLCPU, 0 }, .ndim = 1,
                                           .dtype = { kDLFloat, 64, 1 }, .shape = &shape },
                            .manager_ctx = &released, .deleter = old_delete };
    int before = released;
    CHECK(ricci_set_tensor(r, "o", ricci_versioned(&old)) == 0);
    RESULT("o[0] = 5; o", "[5.0, 2.0, 3.0]");
    CHECK(x[0] == 1 && released == before + 1);
    CHECK(!ricci_versioned(NULL));
}

/* A pool was made before, by the product. */
static void forking(void)
{
    RESULT("A = rand(300, 300); B = A @ A; sum(rand(2000, 500)) > 0", "true");
    for (int k = 0; k < 2; k++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            bool good = result_is("norm(A @ A - B) < 1e-9 and sum(rand(2000, 500)) > 0", "true");
            _exit(good ? 0 : 1);
        }
        int status = 1;
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    }
    RESULT("norm(A @ A - B) < 1e-9", "true");
}

/* ---- values and pictures in several forms ---- */
static char printed[8000];
static int write_here(void *user, int stream, const char *text, size_t bytes)
{
    (void)user;
    size_t used = strlen(printed);
    if (stream == 1 && used + bytes < sizeof printed) {
        memcpy(printed + used, text, bytes);
        printed[used + bytes] = '\0';
    }
    return 0;
}

static RicciForms shown;             /* which forms there were, and the start of the text */
static char shown_text[64];

static int show_here(void *user, const RicciForms *f)
{
    shown = *f;
    snprintf(shown_text, sizeof shown_text, "%.60s", f->text);
    return user == r && ricci_eval(r, "1") == 0;     /* it may not use the interpreter */
}

static int show_nothing(void *user, const RicciForms *f)
{
    (void)user;
    (void)f;
    return 1;
}

static void displaying(void)
{
    ricci_output(r, write_here, NULL);
    CHECK(ricci_eval(r, "[1, 2; 3, 4]") == 0);
    FAILS(ricci_show(r), "value");
    CHECK(strstr(ricci_error(r), "no display function"));
    ricci_display(r, show_here, r);
    CHECK(ricci_eval(r, "[1, 2; 3, 4]") == 0 && ricci_show(r) == 0);
    CHECK(shown.result && shown.latex && !shown.svg && !shown.png && !shown.html);
    CHECK(strncmp(shown_text, "2×2 i64\n", 9) == 0);
    CHECK(ricci_eval(r, "x = 1") == 0 && ricci_show(r) == 0);
    CHECK(ricci_eval(r, "1.5") == 0 && ricci_show(r) == 0 && !shown.latex);
    CHECK(strcmp(shown_text, "1.5") == 0);
    CHECK(ricci_eval(r, "devices()") == 0 && ricci_show(r) == 0 && shown.html && !shown.latex);
    printed[0] = '\0';
    CHECK(ricci_eval(r, "print(1); plot([1, 4, 9]); print(2)") == 0);
    CHECK(!shown.result && shown.svg && shown.width > 0 && shown.height > 0 && !shown.html);
    CHECK(strcmp(printed, "1\n2\n") == 0);
    ricci_display(r, show_nothing, NULL);
    FAILS(ricci_eval(r, "plot([1, 4, 9])"), "io");
    CHECK(strstr(ricci_error(r), "cannot show"));
    ricci_display(r, NULL, NULL);
    printed[0] = '\0';
    CHECK(ricci_eval(r, "plot([1, 4, 9])") == 0 && printed[0]);
    ricci_output(r, NULL, NULL);
}

int main(void)
{
    r = ricci_open();
    CHECK(r != NULL);
    blocks();
    operators();
    looking();
    naming();
    functions();
#ifndef RICCI_HOSTILE                            /* whose writes always copy */
    sharing();
    old_capsules();
#endif
    forking();
    displaying();
    CHECK(ricci_begin(r, "precision f16") == 0);     /* closed with it */
    ricci_close(r);
    CHECK(ricci_begin(NULL, "precision f16") == 1 && ricci_end(NULL) == 1 &&
          !ricci_index(NULL, 0, NULL) && ricci_rank(NULL) == -1 && !*ricci_repr(NULL));
    return check_result();
}
