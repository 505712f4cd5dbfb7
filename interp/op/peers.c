/* The tables behind peers.h. A name that is one edit away from ours needs no entry: the
 * search for a similar name finds it; one that this search would answer with nonsense
 * (`inner` is near `invert`) does. Neither table is sorted: an error may take its time. */
#include "interp/op/peers.h"
#include "interp/state/frames.h"

#include "interp/state/exec.h"
#include "interp/state/predefined.h"
#include "interp/state/stdlib_files.h"

#include "core/base/error.h"
#include "core/system/ascii.h"

#include <string.h>

typedef struct PeerName { const char *theirs, *help; } PeerName;

static const PeerName names[] = {
    /* linear algebra */
    { "cholesky", "chol(A) gives the lower L with A = L @ L'" },
    { "matrix_rank", "rank(A)" },
    { "matrix_power", "matpow(A, n)" }, { "mpower", "matpow(A, n)" },
    { "null_space", "null(A)" }, { "nullspace", "null(A)" },
    { "hessenberg", "hess(A)" },
    { "kronecker", "kron(A, B)" },
    { "eigen", "eig(A), or eigh(A) of a symmetric matrix" },
    { "eigvecs", "eig(A).vectors" },
    { "eigsh", "eigs(A, 6): which=\"largest\", \"smallest\" or \"near\" with sigma=" },
    { "logdet", "slogdet(A).logdet" }, { "logabsdet", "slogdet(A).logdet" },
    { "opnorm", "norm(A, 2)" }, { "normest", "norm(A, 2)" }, { "vecnorm", "norm(A, axis=0)" },
    { "inner", "dot(u, v) or u · v of vectors, A @ B' of matrices" },
    { "vdot", "dot(u, v) or u · v: the left one is conjugated" },
    { "multi_dot", "A @ B @ C" }, { "mm", "A @ B" }, { "bmm", "A @ B" }, { "mv", "A @ v" },
    { "fit", "lstsq(X, y) is least squares; line and regression are in stats, polyfit in poly" },
    { "linregress", "line(x, y) of stats, or lstsq(X, y)" },
    { "regress", "lstsq(X, y), or regression of stats" },
    { "linsolve", "A \\ b" }, { "mldivide", "A \\ b" }, { "mrdivide", "(B' \\ A')' is A inv(B)" },
    { "solve_triangular", "A \\ b sees that A is triangular" },
    { "solve_banded", "A \\ b sees that A is banded" },
    { "cho_solve", "F \\ b with F = factorize(A), or A \\ b" },
    { "lu_solve", "F \\ b with F = factorize(A), or A \\ b" },
    { "lu_factor", "factorize(A), or lu(A) for the factors themselves" },
    { "cho_factor", "factorize(A), or chol(A) for the factor itself" },
    { "decomposition", "factorize(A)" },
    { "rcond", "1 / cond(A, 1)" },
    { "diagm", "diag(v)" },
    { "polyeig", "eig(A)" }, { "qz", "schur(A)" }, { "bidiag", "svd(A)" },
    { "funm", "expm, sqrtm and logm are there" },
    /* sparse matrices */
    { "csr_matrix", "sparse(i, j, v, (m, n)), or sparse(A)" },
    { "csc_matrix", "sparse(i, j, v, (m, n)), or sparse(A)" },
    { "coo_matrix", "sparse(i, j, v, (m, n)), or sparse(A)" },
    { "csr_array", "sparse(i, j, v, (m, n)), or sparse(A)" },
    { "csc_array", "sparse(i, j, v, (m, n)), or sparse(A)" },
    { "coo_array", "sparse(i, j, v, (m, n)), or sparse(A)" },
    { "lil_matrix", "sparse(i, j, v, (m, n)): equal places add" },
    { "dok_matrix", "sparse(i, j, v, (m, n)): equal places add" },
    { "SparseMatrixCSC", "sparse(i, j, v, (m, n)), or sparse(A)" },
    { "diags", "spdiags((-1, 2, -1), (-1, 0, 1), (n, n))" },
    { "spdiagm", "spdiags((-1, 2, -1), (-1, 0, 1), (n, n))" },
    { "sprand", "sparse(randint(0, m, (k,)), randint(0, n, (k,)), rand(k), (m, n))" },
    { "sprandn", "sparse(randint(0, m, (k,)), randint(0, n, (k,)), randn(k), (m, n))" },
    { "ilu", "ilu0(A)" }, { "ichol", "ic0(A)" },
    { "lobpcg", "eigs(A, 6)" }, { "normest1", "condest(A), norm(A, 1)" },
    { "pcg", "import cg from iter: cg(A, b, precond=\"ic0\")" },
    { "conjugate_gradient", "import cg from iter" },
    /* numerical methods, where no call of theirs says what it would be here */
    { "fsolve", "import root from optimize" }, { "fzero", "import root from optimize" },
    { "root_scalar", "import root from optimize" }, { "brentq", "import root from optimize" },
    { "NonlinearProblem", "import root from optimize" },
    { "minimize_scalar", "import minimize from optimize" },
    { "fminsearch", "import minimize from optimize" },
    { "fminunc", "import minimize from optimize" }, { "fmincon", "import minimize from optimize" },
    { "fminbnd", "import minimize from optimize" }, { "optim", "import minimize from optimize" },
    { "lsqnonlin", "import least_squares from optimize" },
    { "lsqcurvefit", "import curve_fit from optimize" },
    { "nls", "import curve_fit from optimize" },
    { "lsqnonneg", "import nnls from optimize" },
    { "quadgk", "import quad from integrate" }, { "integral", "import quad from integrate" },
    { "dblquad", "import quad from integrate" }, { "hquadrature", "import quad from integrate" },
    { "trapz", "trapezoid(y, x)" }, { "fixed_quad", "import gauss from integrate" },
    { "ode45", "import solve_ivp from integrate" }, { "ode15s", "import solve_ivp from integrate" },
    { "ode23s", "import solve_ivp from integrate" },
    { "odeint", "import solve_ivp from integrate" },
    { "ODEProblem", "import solve_ivp from integrate" },
    { "RK45", "import solve_ivp from integrate" },
    { "CubicSpline", "import spline from interpolate" },
    { "UnivariateSpline", "import spline from interpolate" },
    { "PchipInterpolator", "import pchip from interpolate" },
    { "BSpline", "import bspline from interpolate" },
    { "BarycentricInterpolator", "import lagrange from interpolate" },
    { "interp1", "interp(t, x, y); spline and pchip are in interpolate" },
    { "interp1d", "interp(t, x, y); spline and pchip are in interpolate" },
    { "RegularGridInterpolator", "import interp2 from interpolate" },
    { "griddedInterpolant", "import interp2 from interpolate" },
    /* of the module random, or of one of its streams */
    { "default_rng", "random.stream(7)" }, { "RandomState", "random.stream(7)" },
    { "PCG64", "random.stream(7)" }, { "Philox", "random.stream(7)" },
    { "RandStream", "random.stream(7)" }, { "MersenneTwister", "random.stream(7)" },
    { "Xoshiro", "random.stream(7)" }, { "random_sample", "random.rand(3)" },
    { "random", "random.rand(3)" }, { "standard_normal", "random.randn(3)" },
    { "integers", "random.randint(0, 6, (3,))" }, { "randrange", "random.randint(0, 6)" },
    { "gauss", "random.normal(0, 1)" }, { "normalvariate", "random.normal(0, 1)" },
    { "normrnd", "random.normal(0, 1, (2, 3))" }, { "rnorm", "random.normal(0, 1, (3,))" },
    { "unifrnd", "random.uniform(0, 1, (2, 3))" }, { "runif", "random.uniform(0, 1, (3,))" },
    { "expovariate", "random.exponential(2)" }, { "rexp", "random.exponential(2, (3,))" },
    { "gammavariate", "random.gamma(2, 1)" }, { "betavariate", "random.beta(2, 3)" },
    { "lognormvariate", "random.lognormal(0, 1)" }, { "chisquare", "random.gamma(5 / 2, 2)" },
    { "standard_exponential", "random.exponential()" },
    { "standard_gamma", "random.gamma(2)" }, { "standard_t", "random.student(5)" },
    { "rgamma", "random.gamma(2, 1, (3,))" }, { "rbinom", "random.binomial(10, 0.5, (3,))" },
    { "randsample", "random.sample(10, 3)" }, { "datasample", "random.sample(10, 3)" },
    { "choices", "random.sample(10, 3, replace=true)" }, { "spawn", "random.split(2)" },
    { "permuted", "random.permutation(5)" },
    { "jv", "bessel_j(n, x)" }, { "besselj", "bessel_j(n, x)" },
    /* pictures */
    { "semilogy", "plot(x, y, log=\"y\")" }, { "semilogx", "plot(x, y, log=\"x\")" },
    { "loglog", "plot(x, y, log=\"xy\")" }, { "imshow", "heat(A)" }, { "imagesc", "heat(A)" },
    { "heatmap", "heat(A)" }, { "matshow", "heat(A)" }, { "pcolor", "heat(A)" },
    { "pcolormesh", "heat(A)" },
    { "surf", "contour(x, y, Z)" }, { "contourf", "contour(x, y, Z)" },
    { "fplot", "plot(f, -1, 1)" },
    { "ezplot", "plot(f, -1, 1)" }, { "lineplot", "plot(x, y)" },
    { "scatterplot", "scatter(x, y)" },
    { "figure", "size= of a picture: plot(x, y, size=(60, 20))" },
    { "subplot", "panels((() -> plot(x, y), () -> heat(A)), columns=2)" },
    { "subplots", "panels((() -> plot(x, y), () -> heat(A)), columns=2)" },
    { "errorbar", "plot(x, y, error=e, points=true)" },
    { "fill_between", "band= of a picture: plot(x, y, band=(lo, hi))" },
    { "annotate", "a layer of a picture: plot(((x=x, y=y), (x=1, y=2, text=\"here\")))" },
    { "text", "a layer of a picture: plot(((x=x, y=y), (x=1, y=2, text=\"here\")))" },
    { "quiver", "arrows of a layer: plot(((x=x, y=y, arrow=(x + u, y + v)),))" },
    { "stem", "bar(x, y)" }, { "barh", "bar(labels, y)" }, { "histplot", "hist(x)" },
    { "axis", "equal=true, xlim= and ylim= of a picture" },
    { "hold", "several series in one call: plot(x, (u, v))" },
    { "legend", "labels= of a picture: plot(x, (u, v), labels=(\"u\", \"v\"))" },
    { "xlabel", "xlabel= of a picture: plot(x, y, xlabel=\"x\")" },
    { "ylabel", "ylabel= of a picture: plot(x, y, ylabel=\"y\")" },
    { "title", "title= of a picture: plot(x, y, title=\"…\")" },
    { "savefig", "to= of a picture: plot(x, y, to=\"a.svg\")" },
    { "xlim", "xlim= of a picture: plot(x, y, xlim=(0, 1))" },
    { "ylim", "ylim= of a picture: plot(x, y, ylim=(0, 1))" },
    /* making and shape */
    { "array", "a literal: [1, 2, 3], [1, 2; 3, 4]" }, { "asarray", "a literal: [1, 2, 3]" },
    { "tensor", "a literal: [1, 2, 3], [1, 2; 3, 4]" },
    { "identity", "eye(n)" }, { "I", "eye(n); the imaginary unit is 1i" },
    { "zeros_like", "zeros(shape(A)), or like(A, 0)" },
    { "ones_like", "ones(shape(A)), or like(A, 1)" },
    { "full_like", "like(A, v)" }, { "empty_like", "zeros(shape(A))" }, { "empty", "zeros(2, 3)" },
    { "concatenate", "concat(a, b, axis=0)" }, { "cat", "concat(a, b, axis=0)" },
    { "hcat", "matrices side by side are [A, B;], vectors as columns [u, v]'" },
    { "horzcat", "matrices side by side are [A, B;], vectors as columns [u, v]'" },
    { "vcat", "[A; B]" },
    { "hstack", "[A, B;], or concat(a, b, axis=-1)" },
    { "vstack", "[A; B], or concat(a, b, axis=0)" }, { "vertcat", "[A; B]" },
    { "column_stack", "[a, b] stacks rows; [a, b]' has them as columns" },
    { "length", "len(x), or size(x) for all elements" }, { "numel", "size(x)" },
    { "isempty", "size(x) == 0" }, { "ravel", "flatten(x)" }, { "vec", "flatten(x)" },
    { "float16", "f16" }, { "bfloat16", "bf16" }, { "float32", "f32" }, { "float64", "f64" },
    { "float8_e4m3fn", "e4m3" }, { "float8_e5m2", "e5m2" },
    { "BigFloat", "mp(200)(x), or precision mp(200) { … }" },
    { "mpf", "mp(200)(x), or precision mp(200) { … }" },
    { "setprecision", "precision mp(200) { … }" },
    { "vpa", "precision mp(200) { … }" },
    { "Decimal", "decimal(3)(x), or precision decimal(3) { … }" },
    { "Fraction", "rational(x), or precision rational { … }" },
    { "Rational", "rational(x), or precision rational { … }" },
    { "astype", "f32(x), cast(x, f32)" }, { "single", "f32(x)" }, { "double", "f64(x)" },
    { "permute", "transpose(x, axes)" }, { "permutedims", "transpose(x, axes)" },
    { "expand_dims", "x[none], x[:, none]" }, { "unsqueeze", "x[none], x[:, none]" },
    { "fliplr", "A[:, ::-1]" }, { "flipud", "A[::-1]" },
    { "circshift", "roll(x, n)" }, { "repmat", "tile(x, (2, 3))" },
    { "tri", "tril(ones(n, n))" },
    /* tables */
    { "dict", "a named tuple: d = (a=1), d[\"b\"] = 2; keys(d), \"a\" in d" },
    { "DataFrame", "a table is a named tuple of columns: t = (name=(\"a\", \"b\"), x=[1, 2])" },
    { "head", "v[:5], and of each column of a table map(c -> c[:5], t)" },
    { "tail", "v[-5:], and of each column of a table map(c -> c[-5:], t)" },
    { "sortrows", "A[argsort(A[:, 0])], and of a table map(c -> c[argsort(t.x)], t)" },
    { "CSV", "load(\"data.csv\", columns=true) reads a table, save(\"data.csv\", t) writes it" },
    /* elementwise, reductions */
    { "ln", "log(x)" }, { "pow", "x ^ y" }, { "absolute", "abs(x)" }, { "fabs", "abs(x)" },
    { "conjugate", "conj(x)" }, { "fix", "trunc(x)" }, { "arcsin", "asin(x)" },
    { "arccos", "acos(x)" }, { "arctan", "atan(x)" }, { "arctan2", "atan2(y, x)" },
    { "arcsinh", "asinh(x)" }, { "arccosh", "acosh(x)" }, { "arctanh", "atanh(x)" },
    { "logical_and", "a & b" }, { "logical_or", "a | b" }, { "logical_not", "!a" },
    { "amax", "max(x, axis=0)" }, { "amin", "min(x, axis=0)" }, { "product", "prod(x)" },
    { "clip", "clamp(x, lo, hi)" }, { "percentile", "quantile(x, q), q from 0 to 1" },
    { "argwhere", "nonzero(x)" }, { "isapprox", "A ≈ B" }, { "array_equal", "all(A == B)" },
    { "convolve", "conv(a, b, mode)" }, { "corr", "corrcoef(x, y)" },
    /* floats */
    { "finfo", "eps(f32), realmax(f32), realmin(f32)" },
    { "epsilon", "eps(f32); eps() in a scope" },
    { "machine_epsilon", "eps(f64)" }, { "machep", "eps(f64)" }, { "spacing", "ulp(x)" },
    { "floatmax", "realmax(f32)" }, { "floatmin", "realmin(f32)" },
    { "typemax", "realmax(f32) of floats" },
    { "tiny", "realmin(f32)" }, { "huge", "realmax(f32)" },
    { "nextfloat", "nextafter(x, inf)" }, { "prevfloat", "nextafter(x, -inf)" },
    { "bitstring", "bits(x)" }, { "float_hex", "bits(x), or exact(x)" },
    { "as_integer_ratio", "exact(x)" },
    { "rationalize", "rational(x) reads the digits, exact(x) the float" },
    { "setprecision", "precision mp(200) { … }" },
    { "mpf", "mp(200)(x), and precision mp(200) { … }" },
    { "BigFloat", "mp(256)(x), and precision mp(256) { … }" }, { "vpa", "precision mp(113) { … }" },
    { "setrounding", "precision f64 round up { … }" }, { "geterr", "flags() in a precision scope" },
    { "disp", "print(x)" }, { "println", "print(x)" },
    { "input", "args() has the words of the command line, lines(\"a.txt\") those of a file" },
    { "struct", "a record is a named tuple: (x=1, y=2)" },
    { "isinstance", "type(x) == \"int\" compares the name of a type" },
    /* words of blocks and of the prompt */
    { "end", "a block ends with }, the last index is -1" },
    { "_", "ans is the last value" }, { "Out", "ans is the last value" },
    { "In", ":history shows what was typed" },
    { "dofile", "import \"a.ric\" runs a file; :load a.ric does at the prompt" },
    { "open", "read(\"a.txt\") gives a file's text, write(\"a.txt\", text) writes it" },
    { "endif", "a block ends with }" }, { "endfor", "a block ends with }" },
    { "endwhile", "a block ends with }" },
    { "endfunction", "a block ends with }" }, { "fi", "a block ends with }" },
    { "done", "a block ends with }" },
    { "pass", "a block without statements is { }" },
    { "otherwise", "a last choice is written } else { … }" },
    { "tic", "timeit f(x) measures, time() is the clock" },
    { "toc", "timeit f(x) measures, time() is the clock" },
    { "this", "functions take what they use as arguments" },
    { "self", "functions take what they use as arguments" },
    /* C */
    { "NULL", "null is C's pointer to nothing, none is no value" },
    { "nullptr", "null is C's pointer to nothing, none is no value" },
};

const char *peer_name(const char *name)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].theirs, name) == 0)
            return names[i].help;
    return NULL;
}

const char *peer_member(const char *text, size_t len)
{
    char name[64] = "";
    size_t at = 0, n;
    for (; at < len && text[at] == '.'; at += n + 1) {
        for (n = 0; at + 1 + n < len; n++)
            if (!ascii_alnum(text[at + 1 + n]) && text[at + 1 + n] != '_')
                break;
        if (n == 0 || n >= sizeof name)
            break;
        memcpy(name, text + at + 1, n);
        name[n] = '\0';
    }
    return peer_name(name);
}

/* `op` NULL: any. An entry whose help is a bare name holds where the operation has that
 * parameter, and the first entry that holds is taken. */
typedef struct PeerParameter { const char *op, *theirs, *ours; } PeerParameter;

static const PeerParameter parameters[] = {
    { NULL, "full_matrices", "full" }, { NULL, "thin", "full" },
    { "svd", "compute_uv", "svdvals(A) gives the singular values alone" },
    { "svd", "econ", "thin unless full=true" }, { "qr", "econ", "thin unless full=true" },
    { "qr", "mode", "mode=\"complete\" is full=true; thin unless that is said" },
    { "qr", "pivoting", "lstsq and rank pivot; qr does not" },
    { "norm", "p", "ord" }, { "cond", "ord", "p" },
    { NULL, "dim", "axis" }, { NULL, "dims", "axis" }, { NULL, "dims", "axes" },
    { NULL, "perm", "axes" }, { NULL, "axes", "axis" },
    { NULL, "reverse", "descending" }, { NULL, "rev", "descending" },
    { NULL, "keepdim", "keepdims" }, { NULL, "correction", "ddof" },
    { NULL, "rcond", "rtol" }, { NULL, "cond", "rcond" }, { NULL, "tol", "rtol" },
    { NULL, "tol", "rcond" },
    { NULL, "rtol", "rcond" }, { NULL, "atol", "rtol" },
    { "rank", "hermitian", "leave it out: the singular values decide" },
    { "pinv", "hermitian", "leave it out: the singular values decide" },
    { "eigh", "UPLO", "leave it out: both triangles are looked at, and have to agree" },
    { "eigvalsh", "UPLO", "leave it out: both triangles are looked at, and have to agree" },
    { "eigh", "lower", "leave it out: both triangles are looked at, and have to agree" },
    { "eigvalsh", "lower", "leave it out: both triangles are looked at, and have to agree" },
    { "chol", "lower", "chol gives the lower L; the upper factor is chol(A)'" },
    { "chol", "upper", "chol gives the lower L; the upper factor is chol(A)'" },
    { "ldl", "lower", "leave it out: L is lower triangular" },
    { "ldl", "hermitian", "leave it out: a complex A is taken as Hermitian" },
    { "solve", "lower", "leave it out: A \\ b sees by itself that A is triangular" },
    { "solve", "assume_a", "leave it out: A \\ b looks at A by itself" },
    { "solve", "hermitian", "leave it out: A \\ b looks at A by itself" },
    { "solve", "transposed", "A' \\ b" }, { "solve", "trans", "A' \\ b" },
    { "schur", "output", "output=\"complex\" is complex=true" },
    { "hess", "calc_q", "both factors are given: hess(A).H" },
    { "lu", "permute_l", "P @ L is that; lu gives (P, L, U)" },
    { "lu", "p_indices", "p = argmax(P, axis=1) has A = L[p] @ U" },
    { "lu", "pivot", "factor.lu_nopivot(A) does not exchange rows" },
    { "eig", "right", "leave it out: the right vectors are given" },
    { "eig", "left", "the left vectors are eig(A').vectors" },
    { "trace", "offset", "sum(diag(A, k))" },
    { "load", "sep", "delimiter" }, { "load", "delim", "delimiter" },
    { "load", "names", "header" }, { "load", "usecols", "select" }, { "load", "skiprows", "skip" },
    { "load", "skip_header", "skip" }, { "load", "na_values", "na" },
    { "load", "missing_values", "na" }, { "load", "missingstring", "na" },
    { "load", "nrows", "rows=0:100 reads the first hundred" },
    { "load", "skipfooter", "rows=0:n reads the first n" },
    { "load", "unpack", "columns=true gives a tuple of columns" },
    { "load", "encoding", "leave it out: text is UTF-8" },
    { "load", "index_col", "leave it out: rows are numbered from 0" },
    { "load", "parse_dates", "leave it out: dates are text, and 2024-02-29 sorts as it stands" },
    { "string", "digits", "in a string: \"{x:.3f}\"" },
    { NULL, "yerr", "error" }, { NULL, "figsize", "size" }, { NULL, "label", "labels" },
    { NULL, "color", "leave it out: the series have their colours by themselves" },
    { NULL, "colour", "leave it out: the series have their colours by themselves" },
    { NULL, "marker", "points=true puts a marker at each point" },
    { NULL, "linestyle", "leave it out: points=true puts a marker at each point" },
    { "scatter", "text", "text is a layer's: plot(((x=x, y=y, points=true, text=names),))" },
    { NULL, "text", "text is a layer's: plot(((x=x, y=y), (x=1, y=2, text=\"here\")))" },
    { NULL, "driver", "leave it out: the help says which LAPACK routine runs" },
    { NULL, "lapack_driver", "leave it out: the help says which LAPACK routine runs" },
    { NULL, "method", "leave it out: the help says which routine runs" },
    { NULL, "overwrite_a", "leave it out: values never alias" },
    { NULL, "overwrite_b", "leave it out: values never alias" },
    { NULL, "out", "leave it out: assign the result" },
    { NULL, "check_finite", "leave it out: it costs nothing to speak of" },
};

static bool has_parameter(const OpSig *sig, const char *name)
{
    for (int i = 0; i < sig->fixed; i++)
        if (strcmp(sig->params[i].name->text, name) == 0)
            return true;
    return false;
}

const char *peer_parameter(const OpSig *sig, const char *op, const char *given)
{
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
        const PeerParameter *p = &parameters[i];
        if (strcmp(p->theirs, given) != 0 || (p->op && strcmp(p->op, op) != 0))
            continue;
        if (strchr(p->ours, ' ') || strchr(p->ours, '\'') || has_parameter(sig, p->ours))
            return p->ours;
    }
    return NULL;
}

/* ---- the user's own text ---- */

static bool is_variable(void *who, const char *text, size_t len)
{
    Interp *in = who;
    const Name *name = names_find(&in->names, text, len);
    const Function *fn = in->calls ? in->calls->fn : NULL;
    for (uint32_t i = 0; name && fn && fn->code->info->slot_names && i < fn->code->slots; i++)
        if (fn->code->info->slot_names[i] == name)
            return true;
    Module *m = name ? interp_module(in) : NULL;
    int64_t i = m ? globals_find(&m->globals, name) : -1;
    return i >= 0 && m->slots[i].tag != V_UNDEF;
}

static bool is_known(void *who, const char *text, size_t len)
{
    Interp *in = who;
    const Name *name = names_find(&in->names, text, len);
    return name && (op_find(in, name) || predefined_find(in, name->text).tag != V_UNDEF);
}

static bool is_module(void *who, const char *text, size_t len)
{
    (void)who;
    (void)len;
    return module_in_stdlib(text);
}

static const char *home_of(void *who, const char *name)
{
    (void)who;
    return module_of_stdlib(name);
}

bool peer_translate(Interp *in, Error *e, ForeignWhat what, uint32_t at)
{
    enum { SHOWN = 110 };
    const Source *s = e->where.source;
    if (!s || at >= s->len)
        return false;
    Span text = foreign_statement(s->text, s->len, at);
    ForeignFacts facts = { .what = what, .at = at - text.from, .who = in, .own = is_variable,
                           .known = is_known, .module = is_module, .home = home_of,
                           .accepts = parse_accepts };
    ForeignAnswer answer;
    if (at < text.from || text.to <= text.from ||
        !foreign_rewrite(&in->ctx, &in->names, s->text + text.from, text.to - text.from,
                         &facts, &answer) ||
        strlen(answer.text) > SHOWN)
        return false;
    err_help(e, "%s%s%s", answer.note ? answer.note : "", answer.note ? ": " : "", answer.text);
    return true;
}

bool peer_translate_call(Interp *in, Error *e, ForeignWhat what, const Node *call)
{
    return call && call->kind == ND_CALL && peer_translate(in, e, what, call->mark.from);
}
