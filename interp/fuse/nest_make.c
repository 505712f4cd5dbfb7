/* Elementwise rows as nodes of nests (nest_make.h): the vote over dtypes, the checks of scalar
 * values, and the errors of interp/op/elementwise.c, about nodes instead of values. */
#include "interp/fuse/nest_make.h"

#include "interp/op/arith.h"
#include "interp/op/elementwise.h"
#include "interp/precision/autocast.h"
#include "interp/precision/precise.h"
#include <string.h>

typedef struct Choice {
    DType promoted;
    const Kernel *kernel;
} Choice;

static bool is_int(DType dt) { return dtype_info(dt)->kind == 'i'; }
static bool is_whole(DType dt) { return is_int(dt) || dt == DT_BOOL; }

/* The value of a scalar int, if args[i] is one; the nest then depends on it. */
static bool int_scalar(NestMaker *m, int arg, int64_t *value)
{
    const NestNode *x = &m->nest->node[arg];
    if (x->kind != NEST_CONST || !is_int((DType)x->dtype))
        return false;
    m->values |= UINT64_C(1) << (x->slot < 63 ? x->slot : 63);
    *value = element_i64((DType)x->dtype, m->cell[x->slot]);
    return true;
}

typedef struct Asked {
    NestMaker *maker;
    const int *args;
} Asked;

static bool int_value(const EwVotes *v, int i, int64_t *value)
{
    const Asked *a = v->from;
    return int_scalar(a->maker, a->args[i], value);
}

static Choice choose(NestMaker *m, const Op *op, const int *args, int n)
{
    OpTable *table = m->in->ops;
    const Scope *s = precise_scope(m->in);
    DTypeVote votes[3];
    EwVotes v = { .vote = votes, .real = s ? s->format : DT_F64, .float_powers = m->float_powers,
                  .int_value = int_value, .from = &(Asked){ m, args } };
    for (int i = 0; i < n; i++) {
        const NestNode *x = &m->nest->node[args[i]];
        votes[i] = (DTypeVote){ (DType)x->dtype, x->scalar, x->weak };
    }
    Choice c = { .promoted = ew_dtype(table, op->ew, &v, n) };
    c.kernel = op_kernel(table, op->ew, c.promoted);
    if (s && is_whole(c.promoted) && c.kernel->fn && c.kernel->compute == DT_F64)
        /* ints are converted to it */
        c.kernel = op_kernel(table, op->ew, c.promoted = s->format);
    return c;
}

/* ---- errors: the door's, about values that look like the nodes ---- */
typedef struct Likeness {
    _Alignas(16) char head[3][sizeof(Tensor)];
    _Alignas(16) char zero[ELEMENT_BYTES_MAX];
    Value value[3];
} Likeness;

static void likeness(const NestMaker *m, const int *args, int n, Likeness *like)
{
    static const char zero[ELEMENT_BYTES_MAX];
    memcpy(like->zero, zero, sizeof zero);
    for (int i = 0; i < n; i++) {
        const NestNode *x = &m->nest->node[args[i]];
        Tensor *t = (Tensor *)(void *)like->head[i];
        *t = (Tensor){ .refs = 1, .dtype = x->dtype, .size = 1, .data = like->zero };
        bool immediate = x->kind == NEST_CONST &&
                         (x->dtype == DT_BOOL || x->dtype == DT_I64 || x->dtype == DT_F64);
        like->value[i] = immediate ? v_element(&m->in->ctx, (DType)x->dtype, like->zero)
                                   : v_tensor_raw(t);
    }
}

static void check_kinds(NestMaker *m, const Op *op, const int *args, int n, const Choice *c)
{
    Likeness like;
    const NestNode *x = &m->nest->node[args[0]];
    bool where = ew_info[op->ew].result == RES_WHERE;
    bool mask = where && x->dtype != DT_BOOL;
    bool bits = (op->traits & TRAIT_BITS) && is_whole(c->promoted) &&
                (x->dtype == DT_BOOL) != (m->nest->node[args[1]].dtype == DT_BOOL);
    if (!mask && !bits && c->kernel->fn)
        return;
    likeness(m, args, n, &like);
    if (mask)
        ew_mask_error(m->in, op, like.value[0]);
    if (bits)
        arith_bits_error(m->in, op, like.value);
    arith_type_error(m->in, op, like.value, n);
}

/* A scalar int takes the dtype that is computed in, and must fit it. */
static void check_values(NestMaker *m, const Op *op, const int *args, int n, DType compute)
{
    int64_t value;
    if (!is_int(compute) || compute == DT_I64)
        return;
    for (int i = ew_info[op->ew].result == RES_WHERE ? 1 : 0; i < n; i++)
        if (m->nest->node[args[i]].dtype != compute && int_scalar(m, args[i], &value) &&
            !dtype_fits(compute, value))
            ew_literal_error(m->in, op, i, value, compute);
}

int nest_make_ew(NestMaker *m, const Op *op, const int *given, int n)
{
    int args[3];
    for (int i = 0; i < n; i++)
        args[i] = op->autocast == AC_RAISE ? autocast_node(m->in, m->nest, AC_RAISE, given[i])
                                           : given[i];
    Choice c = choose(m, op, args, n);
    check_kinds(m, op, args, n, &c);
    check_values(m, op, args, n, (DType)c.kernel->compute);
    return nest_ew(&m->in->ctx, m->nest, op->ew, (DType)c.kernel->compute, args, n);
}

