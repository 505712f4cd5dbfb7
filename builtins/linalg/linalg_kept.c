/* factorize: a matrix as a value together with its factors, one set for each dtype that solutions
 * were computed in. The value holds the matrix; rows that take it (Op.factors) run on that, with
 * OpCall.factors beside it, and solve (linalg_solve.c) asks here for what is kept. What a set of
 * factors stands in are tensors, which a tuple holds. */
#include "builtins/exact/rational.h"
#include "builtins/linalg/linalg_factor.h"
#include "core/base/mem.h"
#include "interp/show/show.h"
#include "interp/state/exec.h"
#include "interp/state/kind.h"

#include <stdio.h>
#include <string.h>

typedef struct KeptFactors {
    Tensor *matrices;            /* NULL: none are kept */
    const void *factors;         /* as many: Factor, or of matrices that are not square fits */
    Value memory;
} KeptFactors;

typedef struct Factors {
    FactorsValue base;           /* first */
    KeptFactors kept[4];         /* by BlasType */
} Factors;

/* ---- the value ---- */
static void factors_release(Ctx *ctx, Native *n)
{
    Factors *f = (Factors *)n;
    for (int i = 0; i < 4; i++)
        v_release(ctx, f->kept[i].memory);
    v_release(ctx, f->base.a);
    mem_free(ctx, f, sizeof *f);
}

const char *factors_describe(Value v, char *out, size_t cap)
{
    char what[64];
    const FactorsValue *f = v.ptr;
    snprintf(out, cap, "factorization of %s", v_describe(f->a, what, sizeof what));
    return out;
}

bool factors_equal(Value a, Value b)
{
    const FactorsValue *f = a.ptr, *g = b.ptr;
    return f == g || f->a.ptr == g->a.ptr;
}

static const char *factors_word(const Factors *f)
{
    static const char *const words[] = {
        [FACTOR_DIAGONAL] = ": diagonal", [FACTOR_TRIANGLE] = ": triangular",
        [FACTOR_TRIDIAGONAL_PD] = ": tridiagonal, positive definite",
        [FACTOR_TRIDIAGONAL] = ": tridiagonal", [FACTOR_BAND_PD] = ": banded, positive definite",
        [FACTOR_BAND] = ": banded", [FACTOR_PERMUTED] = ": triangular, in another order",
        [FACTOR_CHOLESKY] = ": Cholesky", [FACTOR_HERMITIAN] = ": Bunch-Kaufman",
        [FACTOR_SYMMETRIC] = ": Bunch-Kaufman", [FACTOR_LU] = ": LU",
    };
    const Tensor *t = NULL;
    for (int i = 0; i < 4 && !t; i++)
        t = f->kept[i].matrices;
    if (!t || !t->size)
        return "";
    const int64_t *shape = tensor_shape(t) + t->rank - 2;
    const Factor *first = f->kept[blas_type(t->dtype)].factors;
    return shape[0] == shape[1] ? words[first->kind] : ": QR";
}

static void factors_show(Interp *in, Buf *out, Value v, bool repr)
{
    char what[96];
    (void)in, (void)repr;
    buf_printf(out, "%s%s", factors_describe(v, what, sizeof what), factors_word(v.ptr));
}

Value factors_stand(Value v) { return ((const FactorsValue *)v.ptr)->a; }

const char *factors_instead(char *out, size_t cap, const char *text)
{
    snprintf(out, cap, "%s \\ b solves; whatever else is done takes the matrix itself", text);
    return out;
}

static const Kind factors_kind = {
    .release = factors_release, .describe = factors_describe, .equal = factors_equal,
    .show = factors_show, .stands = factors_stand, .instead = factors_instead,
};

static Value factors_new(OpCall *c, Tensor *a)
{
    Value matrix = op_root(c, v_share(c->in, v_tensor_raw(a)));
    Factors *f = mem_zalloc(&c->in->ctx, sizeof *f);
    f->base = (FactorsValue){ { .refs = 1, .kind = &factors_kind }, v_retain(matrix) };
    return (Value){ .tag = V_FACTORS, .ptr = f };
}

/* ---- the factors ---- */
/* All that was rooted since `mark`, which the factors stand in. */
static Value memory_since(OpCall *c, const Value *mark)
{
    Interp *in = c->in;
    uint32_t count = (uint32_t)(in->sp - mark);
    Tuple *t = tuple_new(&in->ctx, count);
    for (uint32_t i = 0; i < count; i++)
        t->items[i] = v_retain(mark[i]);
    return v_tuple(t);
}

static void factors_make(KeptFactors *kept, Stack *a, void *(*make)(Stack *))
{
    OpCall *c = a->call;
    const Value *mark = c->in->sp;
    Tensor *t = op_keep(c, tensor_retain(a->t));
    const void *all = make(a);
    *kept = (KeptFactors){ t, all, memory_since(c, mark) };
}

static Factors *factors_given(OpCall *c)
{
    Factors *f = (Factors *)c->factors;
    return f && c->args[0].tag == V_TENSOR && c->args[0].ptr == f->base.a.ptr ? f : NULL;
}

Tensor *factors_matrices(OpCall *c)
{
    const Factors *f = factors_given(c);
    if (!f)
        return NULL;
    DType dt = linalg_compute_dtype(dtype_promote(f->base.a.tensor->dtype,
                                                  arg_tensor(c, 1)->dtype));
    Tensor *t = f->kept[blas_type(dt)].matrices;
    return t ? t : f->base.a.tensor;
}

const void *factors_of(Stack *a, void *(*make)(Stack *), bool *made)
{
    Factors *f = factors_given(a->call);
    if (!f)
        return NULL;
    KeptFactors *kept = &f->kept[a->type];
    *made = kept->matrices == NULL;
    if (*made)
        factors_make(kept, a, make);
    return kept->factors;
}

/* ---- rows ---- */
void linalg_refuse_ordering(OpCall *c)
{
    if (arg_given(c, 1))
        arg_error_help(c, 1, ERR_TYPE, "leave it out, or take sparse(A)",
                       "%s= is for sparse matrices", arg_name(c, 1));
}

Value op_run_factorize(OpCall *c)
{
    linalg_refuse_ordering(c);
    Tensor *t = arg_tensor(c, 0);
    Stack a = linalg_stack_of(c, 0, t);
    Value v = op_root(c, factors_new(c, t));
    Factors *f = v.ptr;
    linalg_check_lengths(&a);
    factors_make(&f->kept[a.type], &a, a.m == a.n ? factor_all : linalg_fit_all);
    if (a.m != a.n)
        linalg_explain_routines(c, a.type, "geqp3", "geqp3");
    else if (heard_on(c->in) && t->size)
        factor_explain_made(f->kept[a.type].factors);
    return v_retain(v);
}

/* The matrix alone: solutions in such numbers take it apart each time. */
Value op_exact_factorize(OpCall *c)
{
    Tensor *t = arg_tensor(c, 0);
    linalg_stack_as(c, 0, t);
    return factors_new(c, t);
}
