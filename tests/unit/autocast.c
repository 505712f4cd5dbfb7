/* Every row of the registry under `autocast bf16`: its class is what the policy says (the lists
 * below are the language's, written out once more), and its result is that of operands which
 * were cast by hand outside of the scope: same dtype, same value. Operands of f64, f32, bf16. */
#include "core/base/error.h"
#include "interp/state/interp.h"
#include "interp/op/op.h"
#include "tests/unit/check.h"
#include "interp/life.h"
#include "interp/eval/module.h"

/* Products, convolutions and attention. */
static const char lower[] =
    " matmul dot matpow einsum conv conv2 attention attention_lse attention_back ";
/* exp log pow and their relatives, sums and averages, what LAPACK does, transforms. */
static const char raise_[] =
    " power ldexp exp expm1 log log2 log10 log1p tan asin acos sinh cosh softplus sum prod mean var std "
    "nansum "
    "cumsum cumprod softmax logsumexp trace norm cond solve factorize inv det slogdet lu chol lstsq "
    "qr svd svdvals eig "
    "eigvals eigh eigvalsh pinv rank null orth expm sqrtm logm schur hess ldl rref fft ifft rfft "
    "irfft fft2 "
    "ifft2 fftn ifftn cov corrcoef "
    "factorial digamma polygamma erfinv erfcinv zeta bessel_j bessel_y bessel_i bessel_k "
    "airy ellipk ellipe gammainc gammaincinv betainc betaincinv logit legendre hermite "
    "laguerre chebyshev_t ";
static const char widest[] =
    " add subtract multiply divide floor_divide mod fma equal not_equal less less_equal greater "
    "greater_equal "
    "maximum minimum clamp where atan2 hypot nextafter copysign fmod outer cross kron concat stack allclose "
    "isclose "
    "comb beta lbeta xlogy logaddexp ";

static bool listed(const char *list, const char *name)
{
    char word[64];
    snprintf(word, sizeof word, " %s ", name);
    return strstr(list, word) != NULL;
}

static AutocastClass policy(const char *name)
{
    return listed(lower, name) ? AC_LOWER : listed(raise_, name) ? AC_RAISE : listed(widest, name)
           ? AC_WIDEST : AC_NONE;
}

/* The operands that a row is called with where A alone will not do; %: the operand in the dtype
 * that is tried, M a matrix, v a vector, w one of three. NULL: not a row about floats. */
static const struct { const char *name, *call; } calls[] = {
    { "fma", "(M, M, M)" }, { "clamp", "(M, M, M)" }, { "where", "(M > 2, M, M)" },
    { "asin", "(M/8)" },
    { "acos", "(M/8)" }, { "atanh", "(M/8)" }, { "acosh", "(M + 1)" }, { "dot", "(v, v)" },
    { "cross", "(w, w)" },
    { "matpow", "(M, 3)" }, { "solve", "(M, v)" }, { "lstsq", "(M, v)" },
    { "einsum", "(\"ij,jk->ik\", M, M)" },
    { "quantile", "(M, 0.3)" }, { "reshape", "(M, (8, 2))" }, { "transpose", "(M)" },
    { "expand", "(M, axis=0)" },
    { "split", "(M, 2)" }, { "tile", "(M, (2, 1))" }, { "repeat", "(M, 2)" }, { "roll", "(M, 1)" },
    { "broadcast_to", "(v, (4, 4))" }, { "take", "(v, [1, 2])" }, { "pad", "(v, 1)" },
    { "searchsorted", "(v, 2.5)" },
    { "conv", "(v, v)" }, { "conv2", "(M, M)" }, { "interp", "(v, v, v)" }, { "conj", "(M)" },
    { "histogram", "(v)" },
    { "like", "(M, 2)" }, { "outer", "(v, v)" }, { "choice", NULL }, { "rank", "(M)" },
    { "logm", "(M)" }, { "irfft", "(v)" },
    { "einsum_path", NULL }, { "complex", "(M)" }, { "int", "(v[1])" }, { "float", "(v[1])" },
    { "shuffle", NULL },
    { "cast", "(M, f32)" }, { "isclose", "(M, M)" }, { "allclose", "(M, M)" }, { "full", NULL },
    { "bitand", NULL },
    { "zeros", NULL }, { "ones", NULL }, { "eye", NULL }, { "arange", NULL }, { "linspace", NULL },
    { "logspace", NULL },
    { "numerator", NULL }, { "denominator", NULL }, { "save", NULL }, { "load", NULL },
    { "bincount", NULL },
    { "randint", NULL }, { "rand", NULL }, { "randn", NULL }, { "fftfreq", NULL },
    { "rfftfreq", NULL },
    { "draw", NULL }, { "draw_counts", NULL }, { "draw_vectors", NULL }, { "streams", NULL },
    { "seed", NULL }, { "round", "(M)" }, { "meshgrid", "(v, v)" }, { "concat", "(M, M)" },
    { "stack", "(M, M)" }, { "attention", "(M, M, M)" }, { "attention_lse", "(M, M, M)" },
    { "attention_back", NULL },
    { "moveaxis", "(M, 0, 1)" }, { "swapaxes", "(M, 0, 1)" }, { "insert", "(M, 0, v, axis=0)" },
    { "delete", "(M, 0, axis=0)" }, { "take_along", "(v, [1, 2])" }, { "block_diag", "((M, v))" },
    { "tril_indices", NULL }, { "triu_indices", NULL }, { "unravel_index", NULL },
    { "ravel_index", NULL },
    { "comb", "(M, 2)" }, { "polygamma", "(1, M)" }, { "beta", "(M, M)" }, { "lbeta", "(M, M)" },
    { "bessel_j", "(1, M)" }, { "bessel_y", "(1, M)" }, { "bessel_i", "(1, M)" },
    { "bessel_k", "(1, M)" }, { "gammainc", "(M, M)" }, { "gammaincinv", "(M, M / 32)" },
    { "betainc", "(M, M, M / 32)" }, { "betaincinv", "(M, M, M / 32)" }, { "logit", "(M / 32)" },
    { "erfinv", "(M / 32)" }, { "erfcinv", "(M / 32)" }, { "airy", NULL }, { "xlogy", "(M, M)" },
    { "logaddexp", "(M, M)" }, { "legendre", "(2, M)" }, { "hermite", "(2, M)" },
    { "laguerre", "(2, M)" }, { "chebyshev_t", "(2, M)" },
    { "matmul_i8", "(M, i8(ones(4, 2)), 0.5, [1.0, 2])" },
    { "product_i8", "(M, i8([1, 2]), \"(p0, p1) -> conv(p0, p1)\", 0.5, 1.0)" },
};

/* The call's text after the row's name, or NULL. */
static const char *call_of(const Op *op)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (strcmp(calls[i].name, op->name) == 0)
            return calls[i].call;
    bool floats = op->dtypes && strchr(op->dtypes, 'f');
    if (op->section && strcmp(op->section, "pictures") == 0)       /* draws, and gives nothing */
        return NULL;
    if (op->cls == OPC_EW && floats)
        return ew_info[op->ew].arity == 1 ? "(M)" : ew_info[op->ew].arity == 2 ? "(M, M)" : NULL;
    return floats || op->autocast != AC_NONE || (op->section && strcmp(op->section, "shape") == 0)
               ? strncmp(op->params, "x, y", 4) == 0 || strncmp(op->params, "A, B", 4) == 0
               ? "(M, M)" : "(M)"
               : NULL;
}

static const char *result(Interp *in, const char *text, char *out, size_t cap)
{
    Guard g;
    guard_enter(in, &g);
    if (ERR_TRY(&in->ctx, &g.frame)) {
        Value v = run_text(in, in->main, "<test>", text, strlen(text));
        snprintf(out, cap, "%s", v.tag == V_STRING ? v.str->text : "no text");
        v_release(&in->ctx, v);
        ERR_END(&in->ctx, &g.frame);
        guard_restore(in, &g);
    } else {
        guard_restore(in, &g);
        snprintf(out, cap, "error: %s", in->ctx.error->message);
    }
    return out;
}

static const char *const told = "string(dtype_of(r)) + \" \" + repr(r)";

/* What the row gives for operands of `stored`, cast by hand to `given`, in a scope or none. */
static const char *try(Interp *in, const Op *op, const char *call, const char *stored,
                       const char *given, bool scope, char *out, size_t cap)
{
    char text[1024];
    snprintf(text, sizeof text,
             "M = %s(%s([4, 1, 0.3, 0.2; 1, 5, 0.7, 0.1; 0.3, 0.7, 6, 0.5; 0.2, 0.1, 0.5, 3]))\n"
             "v = %s(%s([1.1, 2.3, 3.7, 4.1]))\nw = v[1:]\n%s r = %s%s%s\n%s", given, stored,
             given, stored,
             scope ? "autocast bf16 {" : "", op->name, call, scope ? " }" : "", told);
    return result(in, text, out, cap);
}

static void test_row(Interp *in, const Op *op)
{
    static const char *const stored[] = { "f64", "f32", "bf16" };
    static char inside[1 << 14], outside[1 << 14];
    const char *call = call_of(op);
    if (!check_that(op->autocast == policy(op->name), op->name, "class", op->autocast) || !call)
        return;
    for (int i = 0; i < 3; i++) {
        const char *cast = op->autocast == AC_LOWER ? "bf16" : op->autocast == AC_RAISE && i == 2
                           ? "f32" : stored[i];
        try(in, op, call, stored[i], stored[i], true, inside, sizeof inside);
        try(in, op, call, stored[i], cast, false, outside, sizeof outside);
        if (!check_that(strcmp(inside, outside) == 0 && strncmp(inside, "error", 5) != 0, op->name,
                        stored[i], 0))
            fprintf(stderr, "  %s%s of %s\n  autocast: %.300s\n  by hand:  %.300s\n", op->name,
                    call, stored[i], inside, outside);
    }
}

int main(void)
{
    Interp *in = interp_new();
    char out[256];
    result(in, "fn dtype_of(r) { if type(r) == \"tuple\" { return dtype_of(r[0]) }; "
           "if type(r) == \"string\" { return r }; "
           "if type(r) == \"factorization\" { return repr(r) }; return dtype(r) }\n\"\"", out, sizeof out);
    for (int i = 0; i < op_count(in); i++)
        test_row(in, op_row(in, i));
    interp_free(in);
    return check_result();
}
