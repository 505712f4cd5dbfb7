/* All derivatives of a function: a pass backward for each element of its result, or one forward for
 * each of its argument. */
#include "interp/gradient/transform.h"
#include "interp/index/index.h"

#include "core/base/error.h"

#include <string.h>

static int64_t size_of(Value v)
{
    v = v_measured(v, LENGTH_ALL);
    return v.tag == V_TENSOR ? v.tensor->size : v.tag == V_RANGE ? v.range->count : 1;
}

static int64_t sizes(Value x, bool whole)
{
    if (x.tag != V_TUPLE)
        return trace_leaves(x, whole) ? size_of(x) : 0;
    int64_t n = 0;
    for (uint32_t i = 0; i < x.tuple->count; i++)
        n += sizes(x.tuple->items[i], false);
    return n;
}

/* The k-th unit vector of v's shape and dtype; owned. */
static Value unit(Interp *in, Value v, int64_t k, Value one)
{
    v = v_measured(v, LENGTH_ALL);
    if (v.tag == V_FLOAT)
        return one.tag == V_FLOAT ? one : v_retain(one);
    if (v.tag == V_TENSOR && v.tensor->rank == 0)
        return call_row_of(in, "cast", (Value[]){ one, v_format(v_dtype(v)) }, 2);
    Value *mark = in->sp;
    int rank = v.tensor->rank;
    Sub subs[TENSOR_RANK_MAX];
    Value zeros = call_row_of(in, "like", (Value[]){ v, v_int(0) }, 2);
    v_push(in, zeros);
    for (int i = rank - 1; i >= 0; i--) {
        int64_t n = tensor_shape(v.tensor)[i];
        subs[i] = (Sub){ .kind = SUB_VALUE, .v = v_int(k % n) };
        k /= n;
    }
    index_set(in, mark, subs, rank, one);
    return *--in->sp;
}

/* Rows on top of the value stack, from `from` on, as one tensor with a first axis; owned. */
static Value stacked(Interp *in, Value *from)
{
    Tuple *all = tuple_new(&in->ctx, (uint64_t)(in->sp - from));
    for (uint32_t i = 0; i < all->count; i++)
        all->items[i] = v_retain(from[i]);
    v_push(in, v_tuple(all));
    Value args[2] = { v_undef(), in->sp[-1] };           /* axis, tensors… */
    Value r = call_row_of(in, "stack", args, 2);
    stack_cut(in, in->sp - 1);
    return r;
}

/* rows, which is taken, of shape (n, …): in the shape of `first`, then of `then`. */
static Value reshaped(Interp *in, Value rows, Value first, Value then)
{
    Value parts[2] = { v_measured(first, LENGTH_ALL), v_measured(then, LENGTH_ALL) };
    Value *mark = in->sp;
    v_push(in, rows);
    v_push(in, v_tuple(tuple_new(&in->ctx, 0)));
    for (int p = 0; p < 2; p++) {
        int64_t length = size_of(parts[p]);
        int rank = parts[p].tag == V_TENSOR ? parts[p].tensor->rank : parts[p].tag == V_RANGE;
        for (int i = 0; i < rank; i++)
            tuple_push(&in->ctx, &mark[1].tuple, NULL,
                       v_int(parts[p].tag == V_TENSOR ? tensor_shape(parts[p].tensor)[i]
                                                      : length));
    }
    if (mark[1].tuple->count == 0) {
        Sub start = { .kind = SUB_VALUE, .v = v_int(0) }, zero[2] = { start, start };
        Value plain = v_plain(rows);
        int rank = plain.tag == V_TENSOR ? plain.tensor->rank : 0;
        Value r = rank ? index_get(in, rows, zero, rank) : v_retain(rows);
        stack_cut(in, mark);
        return r;
    }
    Value args[2] = { rows, mark[1] };
    Value r = call_row_of(in, "reshape", args, 2);
    stack_cut(in, mark);
    return r;
}

/* Without any elements; owned. */
static Value nothing(Interp *in, DType dt, Value first, Value then)
{
    int64_t none = 0;
    return reshaped(in, v_tensor_raw(tensor_new(&in->ctx, dt, 1, &none)), first, then);
}

typedef struct Jacobian {
    const Transform *tr;
    const Args *a;
    Run *run;
    Value argument;
    Tuple *nodes;                   /* of the leaves of the result, in order; ints */
    Value leaf;                     /* of the result, which is gone over now */
    uint32_t node, at;              /* at: the argument's leaf, from 0 */
    bool complex_result;
} Jacobian;

/* All gradients of one leaf of the argument, one for each element of a leaf of the result. */
static Value jacobian_block(Interp *in, Value x, void *data)
{
    Jacobian *j = data;
    Tape *t = j->run->tape;
    uint32_t leaf = j->run->first[0] + j->at++;
    int64_t m = size_of(j->leaf);
    Value *mark = in->sp;
    bool imaginary = j->complex_result && !j->tr->holomorphic;
    for (int64_t k = 0; k < m; k++) {
        Value *row = in->sp;
        stack_room(in, 64);
        for (int part = 0; part <= imaginary; part++) {
            Tuple *cotangents = cotangents_new(in, t);
            Value one = v_float(1);
            if (part)
                one = call_rule(in, gradient_function(in, "complex_of"),
                                 (Value[]){ v_int(0), v_int(1) }, 2);
            v_push(in, one);
            if (j->node)
                cotangent_add(in, t, cotangents, j->node, unit(in, j->leaf, k, one));
            tape_back(in, t, cotangents, true);
            Value g = cotangent_of(in, t, cotangents, leaf);
            stack_cut(in, in->sp - 2);
            v_push(in, g);
        }
        if (j->tr->holomorphic) {
            Value g = call_row_of(in, "conj", row, 1), old = *row;
            *row = g;
            v_release(&in->ctx, old);
        }
        if (imaginary) {
            Value g = call_rule(in, gradient_function(in, "complex_of"), row, 2);
            stack_cut(in, row);
            v_push(in, g);
        }
    }
    if (m == 0) {
        DType dt = tape_at(t, leaf)->dtype;
        return nothing(in, imaginary ? dtype_complex_of(dt) : dt, j->leaf, x);
    }
    v_push(in, stacked(in, mark));
    Value rows = v_retain(in->sp[-1]);
    stack_cut(in, mark);
    return reshaped(in, rows, j->leaf, x);
}

static Value jacobian_rows(Interp *in, Value leaf, void *data)
{
    Jacobian *j = data;
    j->leaf = leaf;
    j->node = result_node(j->run->tape, leaf);
    j->at = 0;
    j->complex_result = dtype_info(v_dtype(v_plain(leaf)))->kind == 'c';
    return trace_map(in, j->argument, true, jacobian_block, j);
}

static void check_complex(Interp *in, const Transform *tr, Value r, Value x)
{
    Value y = v_plain(r), v = v_plain(x);
    bool complex_result = v_is_numeric(y) && dtype_info(v_dtype(y))->kind == 'c';
    bool complex_argument = v_is_numeric(v) && dtype_info(v_dtype(v))->kind == 'c';
    if (complex_result && complex_argument && !tr->holomorphic)
        err_raise_help(&in->ctx, ERR_DTYPE, "where f is holomorphic: jacobian(f, holomorphic=true)",
                       "jacobian: a complex result by a complex argument is no matrix of complex "
                       "numbers unless the function is holomorphic");
}

static Value jacobian_reverse(Interp *in, const Transform *tr, const Args *a, bool *many)
{
    Run run;
    Value *mark = in->sp;
    run_traced(in, tr, a, TAPE_REVERSE, NULL, &run);
    Value x = argument(a, run.place[0]);
    check_result(in, tr->name, *run.result);
    check_cut(in, run.tape, *run.result);
    check_complex(in, tr, *run.result, x);
    *many = tr->mode == MODE_AUTO && sizes(*run.result, false) > sizes(x, true);
    Value r = v_undef();
    if (!*many) {
        Jacobian j = { .tr = tr, .a = a, .run = &run, .argument = x };
        r = trace_map(in, *run.result, false, jacobian_rows, &j);
    }
    stack_cut(in, mark);
    return r;
}

/* Columns by forward passes: one for each element of the argument, leaf by leaf. */
typedef struct Forward {
    const Transform *tr;
    const Args *a;
    Value argument;
    int64_t at, leaves;             /* the leaf; how many there are */
    Value results;                  /* for each leaf, a tuple of structures of tangents */
} Forward;

static Value unit_or_none(Interp *in, Value x, void *data)
{
    int64_t *at = data;                        /* { leaf to go, element } */
    return at[0]-- == 0 ? unit(in, x, at[1], v_float(1)) : v_none();
}

static Value zeros_leaf(Interp *in, Value x, void *data)
{
    (void)data;
    return call_row_of(in, "like", (Value[]){ v_measured(x, LENGTH_ALL), v_float(0) }, 2);
}

/* Tangents of f for the unit vector of one element of the argument; owned. leaf < 0: of all leaves
 * at once, for the structure of the result, and whether it depends on them through floats. */
static Value forward_pass(Interp *in, const Forward *f, int64_t leaf, int64_t k)
{
    Run run;
    Value *mark = in->sp;
    int64_t at[2] = { leaf, k };
    v_push(in, trace_map(in, f->argument, true, leaf < 0 ? zeros_leaf : unit_or_none, at));
    run_traced(in, f->tr, f->a, TAPE_FORWARD, mark, &run);
    check_result(in, f->tr->name, *run.result);
    if (leaf < 0 || f->leaves == 1)
        check_cut(in, run.tape, *run.result);
    check_complex(in, f->tr, *run.result, f->argument);
    TangentOf of = { run.tape };
    Value r = trace_map(in, *run.result, false, leaf_tangent, &of);
    stack_cut(in, mark);
    return r;
}

static Value leaf_number(Value structure, int64_t *at)
{
    if (structure.tag != V_TUPLE)
        return structure.tag == V_NONE || (*at)-- != 0 ? v_undef() : structure;
    for (uint32_t i = 0; i < structure.tuple->count; i++) {
        Value v = leaf_number(structure.tuple->items[i], at);
        if (v.tag != V_UNDEF)
            return v;
    }
    return v_undef();
}

typedef struct Column { Forward *f; int64_t result_leaf; Value like; } Column;

static Value forward_block(Interp *in, Value x, void *data)
{
    Column *c = data;
    Forward *f = c->f;
    const Tuple *passes = f->results.tuple->items[f->at++].tuple;
    Value *mark = in->sp;
    if (passes->count == 0)
        return nothing(in, v_dtype(v_plain(c->like)), c->like, x);
    stack_room(in, passes->count + 16);
    for (uint32_t k = 0; k < passes->count; k++) {
        int64_t at = c->result_leaf;
        v_push(in, v_retain(leaf_number(passes->items[k], &at)));
    }
    v_push(in, stacked(in, mark));
    Value n = v_int(passes->count), rest = v_int(-1);
    if (size_of(c->like) > 0) {
        Value flat = call_row_of(in, "reshape", (Value[]){ in->sp[-1], n, rest }, 3);
        v_push(in, flat);
        v_push(in, call_row_of(in, "transpose", in->sp - 1, 1));
    }
    Value r = v_retain(in->sp[-1]);
    stack_cut(in, mark);
    return reshaped(in, r, c->like, x);
}

static Value forward_rows(Interp *in, Value leaf, void *data)
{
    Column *c = data;
    c->like = leaf;
    c->f->at = 0;
    Value r = trace_map(in, c->f->argument, true, forward_block, c);
    c->result_leaf++;
    return r;
}

static Value leaf_itself(Interp *in, Value x, void *data)
{
    tuple_push(&in->ctx, data, NULL, v_retain(x));
    return v_none();
}

static Value jacobian_forward(Interp *in, const Transform *tr, const Args *a)
{
    Value *mark = in->sp, wrt[WRT_MOST];
    wrt_list(tr, wrt);
    Forward f = { .tr = tr, .a = a, .argument = argument(a, wrt_place(in, tr, wrt[0], a)) };
    check_argument(in, tr, f.argument);
    v_push(in, v_tuple(tuple_new(&in->ctx, 0)));
    Value *leaves = in->sp - 1;
    v_release(&in->ctx, trace_map(in, f.argument, true, leaf_itself, &leaves->tuple));
    v_push(in, v_tuple(tuple_new(&in->ctx, leaves->tuple->count)));
    f.results = in->sp[-1];
    f.leaves = leaves->tuple->count;
    int64_t passes_all = 0;
    for (uint32_t i = 0; i < leaves->tuple->count; i++)
        passes_all += size_of(leaves->tuple->items[i]);
    Value like = v_undef();
    if (f.leaves != 1 || passes_all == 0)
        v_push(in, like = forward_pass(in, &f, -1, 0));
    for (uint32_t i = 0; i < leaves->tuple->count; i++) {
        int64_t n = size_of(leaves->tuple->items[i]);
        Tuple *passes = tuple_new(&in->ctx, (uint64_t)n);
        f.results.tuple->items[i] = v_tuple(passes);
        for (int64_t k = 0; k < n; k++)
            passes->items[k] = forward_pass(in, &f, i, k);
    }
    if (like.tag == V_UNDEF)
        like = f.results.tuple->items[0].tuple->items[0];
    Column c = { .f = &f };
    Value r = trace_map(in, like, false, forward_rows, &c);
    stack_cut(in, mark);
    return r;
}

Value jacobian_run(Interp *in, const Transform *tr, const Args *a)
{
    bool many = tr->mode == MODE_FORWARD;
    if (!many) {
        Value r = jacobian_reverse(in, tr, a, &many);
        if (!many)
            return r;
    }
    return jacobian_forward(in, tr, a);
}
