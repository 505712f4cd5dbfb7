/* Literals and comprehensions as work of the door (interp/op/aspect.h). In a device block numbers
 * are gathered on the host; floats among them become the widest float of the block's device, as
 * tensors that are made there do, and the tensor goes to it. Literals of tensors are work of the
 * device. */
#include "interp/index/literal.h"

#include "interp/door/pipeline.h"
#include "interp/precision/cast.h"

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

/* ---- of sparse matrices ---- */
/* The same of what has the dtypes and shapes of the items, and takes no memory: for its errors. */
static Value build_nothing(Interp *in, const Value *items, const Building *w)
{
    Value *mark = in->sp;
    for (int i = 0; i < w->n; i++)
        v_push(in, sparse_standing_in(in, items[i]));
    return build(in, mark, w->n, w->literal);
}

static bool is_number(Value v)
{
    return v.tag == V_INT || v.tag == V_FLOAT || v.tag == V_BOOL ||
           (v.tag == V_TENSOR && v.tensor->rank == 0);
}

static int64_t block_length(Value v, int axis)
{
    return is_number(v) ? 1 : v.tensor->dims[axis];
}

/* Blocks of one height in each row, rows of one width. */
static bool blocks_fit(const Value *items, const Literal *l)
{
    int64_t first = 0;
    for (int i = 0; i < l->rows; items += l->lengths[i++]) {
        int64_t width = 0;
        for (int j = 0; j < l->lengths[i]; j++) {
            const Value v = items[j];
            if (!is_number(v) && (v.tag != V_TENSOR || v.tensor->rank != 2))
                return false;
            if (block_length(v, 0) != block_length(items[0], 0))
                return false;
            width += block_length(v, 1);
        }
        first = i ? first : width;
        if (width != first || l->lengths[i] == 0)
            return false;
    }
    return true;
}

/* The dtype of the literal: what it is of one element of each item. */
static DType blocks_dtype(Interp *in, const Value *items, const Building *w)
{
    static const _Alignas(16) char zero[ELEMENT_BYTES_MAX];
    const int64_t one[2] = { 1, 1 };
    Value *mark = in->sp;
    for (int i = 0; i < w->n; i++) {
        v_push(in, is_number(items[i]) ? v_retain(items[i])
                   : v_tensor_raw(tensor_scalar(&in->ctx, (DType)items[i].tensor->dtype, zero)));
        if (!is_number(items[i])) {
            Tensor *t = tensor_broadcast(&in->ctx, in->sp[-1].tensor, 2, one);
            v_release(&in->ctx, in->sp[-1]);
            in->sp[-1] = v_tensor_raw(t);
        }
    }
    Value v = build_matrix_weak(in, mark, w->literal->weak, &w->n, 1);
    const DType dt = v_dtype(v);
    v_release(&in->ctx, v);
    stack_cut(in, mark);
    return dt;
}

/* The item as a matrix of that dtype; owned. */
static Value block_of(Interp *in, Value v, DType dt)
{
    const int64_t one[2] = { 1, 1 };
    const Sparse *s = v_sparse(v);
    Value *mark = in->sp;
    if (s)
        return sparse_with(in, s, op_cast(in, sparse_values(s), dt));
    v_push(in, op_cast(in, v, dt));
    if (!is_number(v))
        return *--in->sp;
    v_push(in, v_tensor_raw(v_to_tensor(in, *mark, 0)));
    Tensor *t = tensor_broadcast(&in->ctx, in->sp[-1].tensor, 2, one);
    stack_cut(in, mark);
    return v_tensor_raw(t);
}

/* What stands on the value stack from `args` on, an axis and matrices, become what concat makes of
 * them. */
static void joined(Interp *in, Value *args)
{
    Value v = op_call(in, op_named(in, "concat"), args, (int)(in->sp - args), 0);
    stack_cut(in, args);
    v_push(in, v);
}

/* Would a vector of them be a stack of tensors? */
static bool shapes_agree(const Value *items, int n)
{
    bool alike = true;
    for (int i = 0; i < n && alike; i++)
        alike = items[i].tag == V_TENSOR && items[i].tensor->rank == 2 &&
                memcmp(items[i].tensor->dims, items[0].tensor->dims, 2 * sizeof(int64_t)) == 0;
    return alike;
}

/* Blocks: rows of them, one below the other; a number is a block of one element. */
static Value build_sparse(Interp *in, const Value *items, void *data)
{
    const Building *w = data;
    const Literal *l = w->literal;
    for (int i = 0; i < w->n; i++)
        if (items[i].tag == V_TRACED)               /* a derivative is to hear of the blocks */
            return build(in, items, w->n, l);
    if (!l->lengths)
        return shapes_agree(items, w->n) ? v_undef() : build_nothing(in, items, w);
    if (!blocks_fit(items, l))
        return build_nothing(in, items, w);
    const DType dt = blocks_dtype(in, items, w);
    Value *rows = in->sp;
    v_push(in, v_int(0));
    for (int i = 0; i < l->rows; items += l->lengths[i++]) {
        Value *row = in->sp;
        v_push(in, v_int(1));
        for (int j = 0; j < l->lengths[i]; j++)
            v_push(in, block_of(in, items[j], dt));
        joined(in, row);
    }
    joined(in, rows);
    return v_retain(in->sp[-1]);
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
                                      .run = build_here, .sparse = build_sparse,
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
