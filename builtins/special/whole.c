/* Rows of whole numbers: divisors, multiples, primes. */
#include "builtins/rows/rows.h"
#include "builtins/special/special.h"
#include "core/base/error.h"
#include "interp/op/elementwise.h"
#include "kernels/special/primes.h"

#include <stdio.h>
#include <string.h>

/* Argument i in i64, contiguous. Raises for what has a fraction. */
static Tensor *whole(OpCall *c, int i)
{
    char help[160];
    Tensor *t = arg_tensor(c, i);
    char kind = dtype_info((DType)t->dtype)->kind;
    if (kind != 'i' && kind != 'b') {
        snprintf(help, sizeof help, "i64(%s) converts whole numbers", arg_text(c, i));
        arg_error_help(c, i, ERR_DTYPE, help, "%s is %s; %s takes ints", arg_text(c, i),
                       dtype_name((DType)t->dtype), c->op->name);
    }
    t = op_keep(c, tensor_cast(&c->in->ctx, t, DT_I64));
    return op_keep(c, tensor_compact(&c->in->ctx, t));
}

static int64_t *ints(const Tensor *t) { return (int64_t *)(void *)t->data; }

static Value given(OpCall *c, Tensor *out, DType dt)
{
    return out->rank == 0 ? v_element(&c->in->ctx, dt, out->data) : op_result(c, out);
}

/* f of both, element by element, in i64. */
static Value of_two(OpCall *c, bool (*f)(int64_t, int64_t, int64_t *))
{
    Ctx *ctx = &c->in->ctx;
    int64_t shape[TENSOR_RANK_MAX];
    Tensor *t[2] = { whole(c, 0), whole(c, 1) };
    int rank = special_shape(c, t, 2, shape);
    for (int i = 0; i < 2; i++) {
        t[i] = op_keep(c, tensor_broadcast(ctx, t[i], rank, shape));
        t[i] = op_keep(c, tensor_compact(ctx, t[i]));
    }
    Tensor *out = op_keep(c, tensor_new(ctx, DT_I64, rank, shape));
    for (int64_t i = 0; i < out->size; i++) {
        int64_t a = ints(t[0])[i], b = ints(t[1])[i];
        if (!f(a, b, &ints(out)[i]))
            arg_error_help(c, 0, ERR_VALUE, "in fractions: rational(a) * b / gcd(a, b)",
                           "the %s of %lld and %lld does not fit i64", c->op->name, (long long)a,
                           (long long)b);
        if ((i & 0xffff) == 0)
            poll_interrupt(c->in);
    }
    return given(c, out, DT_I64);
}

static bool divisor(int64_t a, int64_t b, int64_t *r)
{
    *r = greatest_divisor(a, b);
    return *r >= 0;
}

static bool multiple(int64_t a, int64_t b, int64_t *r)
{
    int64_t g = greatest_divisor(a, b);
    *r = 0;
    if (a == 0 || b == 0)
        return true;
    if (a == INT64_MIN || b == INT64_MIN || g < 0)
        return false;
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    return !__builtin_mul_overflow(a / g, b, r);
}

Value op_run_gcd(OpCall *c) { return of_two(c, divisor); }
Value op_run_lcm(OpCall *c) { return of_two(c, multiple); }

Value op_run_isprime(OpCall *c)
{
    Tensor *n = whole(c, 0);
    Tensor *out = op_keep(c, tensor_new(&c->in->ctx, DT_BOOL, n->rank, tensor_shape(n)));
    for (int64_t i = 0; i < n->size; i++) {
        out->data[i] = (char)prime_is(ints(n)[i]);
        if ((i & 0xff) == 0)
            poll_interrupt(c->in);
    }
    return given(c, out, DT_BOOL);
}

Value op_run_primes(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    int64_t n = arg_int(c, 0), count;
    if (n > (INT64_C(1) << 40))
        arg_error_help(c, 0, ERR_VALUE, "isprime(n) tests a single number",
                       "%s is %lld: the primes up to that do not fit any memory", arg_text(c, 0),
                       (long long)n);
    n = n < 0 ? 0 : n;
    Tensor *sieve = op_keep(c, tensor_zeros(ctx, DT_I64, 1, &(int64_t){ n / 128 + 1 }));
    uint64_t *bits = (uint64_t *)(void *)sieve->data;
    count = prime_sieve(ctx, n, bits);
    poll_interrupt(c->in);
    Tensor *out = op_keep(c, tensor_new(ctx, DT_I64, 1, &count));
    int64_t *to = ints(out);
    if (count)
        *to++ = 2;
    for (int64_t i = 1; 2 * i + 1 <= n; i++)
        if (!(bits[i / 64] >> (i % 64) & 1))
            *to++ = 2 * i + 1;
    return op_result(c, out);
}

Value op_run_factor(OpCall *c)
{
    int64_t n = arg_int(c, 0), factors[PRIME_FACTORS];
    if (n < 1)
        arg_error(c, 0, ERR_VALUE, "%s is %lld: only whole numbers from 1 on have prime factors",
                  arg_text(c, 0), (long long)n);
    int64_t count = prime_factors(n, factors);
    Tensor *out = op_keep(c, tensor_new(&c->in->ctx, DT_I64, 1, &count));
    memcpy(out->data, factors, (size_t)count * sizeof *factors);
    return op_result(c, out);
}
