/* Literals and comprehensions as work of the door (interp/op/aspect.h). In a device block numbers
 * are gathered on the host; floats among them become the widest float of the block's device, as
 * tensors that are made there do, and the tensor goes to it. Literals of tensors are work of the
 * device. */
#include "interp/index/literal.h"

#include "interp/door/pipeline.h"

#include <string.h>

typedef struct Literal {
    const bool *weak;
    const int *lengths;             /* of the rows of a matrix; NULL: a vector */
    int rows;
} Literal;

static Value build(Interp *in, const Value *items, int n, const Literal *l)
{
    return l->lengths ? build_matrix_weak(in, items, l->weak, l->lengths, l->rows)
                      : build_vector_weak(in, items, l->weak, n);
}

typedef struct Building {
    const Literal *literal;
    int n;
} Building;

static Value build_here(Interp *in, const Value *args, void *data)
{
    const Building *w = data;
    return build(in, args, w->n, w->literal);
}

/* Numbers of the program, none of which has a dtype of its own. */
static bool plain_numbers(const Value *items, int n)
{
    for (int i = 0; i < n; i++)
        if (items[i].tag == V_TENSOR || items[i].tag == V_TUPLE)
            return false;
    return true;
}

static bool any_array(const Value *items, int n)
{
    for (int i = 0; i < n; i++)
        if (items[i].tag == V_TENSOR && items[i].tensor->rank > 0)
            return true;
    return false;
}

/* Takes v. */
static Value made(Interp *in, Value v, bool plain)
{
    DType want = place_float(in);
    if (v.tag != V_TENSOR || v.tensor->rank == 0)
        return v;
    if (plain && v.tensor->dtype == DT_F64 && want != DT_F64) {
        v_push(in, v);
        Tensor *cast = tensor_cast(&in->ctx, v.tensor, want);
        stack_cut(in, in->sp - 1);
        v = v_tensor_raw(cast);
    }
    return v_tensor_raw(place_made(in, v.tensor));
}

enum { STACK_MOST = 16 };

/* Tensors of one shape, as `stack` takes them: a row that every device has. */
static bool stacks(Interp *in, const Value *items, int n, const Literal *l)
{
    bool alike = !l->lengths && n <= STACK_MOST && !(in->place->device->caps & DEVCAP_SIM);
    for (int i = 0; i < n && alike; i++)
        alike = items[i].tag == V_TENSOR && items[i].tensor->rank == items[0].tensor->rank &&
                memcmp(tensor_shape(items[i].tensor), tensor_shape(items[0].tensor),
                       items[0].tensor->rank * sizeof(int64_t)) == 0;
    return alike;
}

static Value stacked(Interp *in, const Value *items, int n)
{
    Value args[STACK_MOST + 1] = { v_undef() };      /* axis */
    memcpy(args + 1, items, (size_t)n * sizeof *items);
    return op_call(in, op_named(in, "stack"), args, n + 1, 0);
}

static Value literal(Interp *in, const Value *items, int n, const Literal *l)
{
    Building w = { l, n };
    bool arrays = any_array(items, n);
    if (in->place && arrays && stacks(in, items, n, l))
        return stacked(in, items, n);
    if (!in->place || arrays)
        return work_call(in, &(Work){ .name = "the literal", .dtype = DT_NONE, .moves = true,
                                      .run = build_here,
                                      .data = &w }, items, n);
    for (int i = 0; i < n; i++)
        place_home(in, items[i]);
    return made(in, build(in, items, n, l), !in->scope && plain_numbers(items, n));
}

Value literal_vector(Interp *in, const Value *items, const bool *weak, int n)
{
    if (!aspects_on(in))
        return build_vector_weak(in, items, weak, n);
    return literal(in, items, n, &(Literal){ .weak = weak });
}

Value literal_matrix(Interp *in, const Value *items, const bool *weak, const int *lengths, int rows)
{
    if (!aspects_on(in))
        return build_matrix_weak(in, items, weak, lengths, rows);
    int n = 0;
    for (int i = 0; i < rows; i++)
        n += lengths[i];
    return literal(in, items, n, &(Literal){ weak, lengths, rows });
}
