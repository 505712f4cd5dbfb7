/* The rules of the shapes that rows give: they hold the right result, and no other. */
#include "interp/life.h"
#include "interp/op/op.h"
#include "interp/state/interp.h"
#include "kernels/tensor/tensor.h"
#include "tests/unit/check.h"

#include <string.h>

static Value made(Interp *in, const char *shape)
{
    int64_t n[8];
    int rank = 0;
    for (; *shape; shape++)
        n[rank++] = *shape - '0';
    Value v = v_tensor_raw(tensor_zeros(&in->ctx, DT_F64, rank, n));
    v_push(in, v);
    return v;
}

static bool holds(Interp *in, const char *row, Value a, Value b, const char *result)
{
    Value args[3] = { a, b, v_undef() };
    OpCall c = { .in = in, .op = op_named(in, row), .args = args };
    c.count = c.fixed = op_sig(in, c.op)->fixed;
    return op_shape_holds(&c, made(in, result));
}

static void products(Interp *in)
{
    Value A = made(in, "23"), B = made(in, "34"), x = made(in, "3"), stack = made(in, "523");
    CHECK(holds(in, "matmul", A, B, "24"));
    CHECK(!holds(in, "matmul", A, B, "42"));
    CHECK(!holds(in, "matmul", A, B, "2"));
    CHECK(holds(in, "matmul", A, x, "2"));
    CHECK(holds(in, "matmul", x, B, "4"));
    CHECK(holds(in, "matmul", x, x, ""));
    CHECK(!holds(in, "matmul", x, x, "1"));
    CHECK(holds(in, "matmul", stack, B, "524"));
    CHECK(!holds(in, "matmul", stack, B, "24"));
    Value row = made(in, "13");
    row.tensor->flags |= TENSOR_COVECTOR;
    CHECK(holds(in, "matmul", row, x, ""));
    CHECK(holds(in, "matmul", x, row, "33"));
}

static void solutions(Interp *in)
{
    Value A = made(in, "23"), stack = made(in, "533");
    CHECK(holds(in, "solve", A, made(in, "2"), "3"));
    CHECK(holds(in, "solve", A, made(in, "24"), "34"));
    CHECK(!holds(in, "solve", A, made(in, "24"), "24"));
    CHECK(holds(in, "solve", stack, made(in, "3"), "53"));
    CHECK(holds(in, "solve", stack, made(in, "534"), "534"));
    CHECK(!holds(in, "solve", stack, made(in, "534"), "34"));
}

static void others(Interp *in)
{
    Value A = made(in, "234"), keep = v_bool(true), axis = v_int(-1);
    CHECK(holds(in, "triu", A, v_undef(), "234"));
    CHECK(!holds(in, "triu", A, v_undef(), "243"));
    CHECK(holds(in, "det", made(in, "533"), v_undef(), "5"));
    CHECK(!holds(in, "det", made(in, "533"), v_undef(), ""));
    CHECK(holds(in, "sum", A, v_undef(), ""));
    CHECK(holds(in, "sum", A, axis, "23"));
    CHECK(!holds(in, "sum", A, axis, "24"));
    Value args[3] = { A, axis, keep };
    OpCall c = { .in = in, .op = op_named(in, "sum"), .args = args, .count = 3, .fixed = 3 };
    CHECK(op_shape_holds(&c, made(in, "231")));
    CHECK(!op_shape_holds(&c, made(in, "23")));
    Value two[2] = { made(in, "31"), made(in, "4") };
    CHECK(op_shape_broadcasts(two, 2, made(in, "34")));
    CHECK(!op_shape_broadcasts(two, 2, made(in, "43")));
    CHECK(!op_shape_broadcasts(two, 2, v_float(1)));
}

int main(void)
{
    Interp *in = interp_new();
    products(in);
    solutions(in);
    others(in);
    interp_free(in);
    return check_result();
}
