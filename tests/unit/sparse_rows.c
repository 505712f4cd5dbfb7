/* Every row of the registry with a sparse matrix in each of its places, among operands of all
 * kinds: what it gives is what it gives of the dense matrix, or an error as there, and the matrix
 * is sparse afterwards. */
#include "core/base/error.h"
#include "interp/life.h"
#include "interp/op/op.h"
#include "interp/sparse/sparse_door.h"
#include "interp/state/scope.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int passed, failed, told;

enum { N = 4, SHOWN = 3 };               /* failures told of one row */

static void fail(const Op *op, const char *call, const char *what, const char *more)
{
    failed++;
    if (told++ < SHOWN)
        printf("FAILED %s(%s): %s%s\n", op->name, call, what, more);
}

/* ---- operands ---- */
typedef enum Operand {
    NONE, ONE, HALF, VECTOR, MATRIX, SHAPE, TEXT, FUNCTION, OTHER, OPERANDS
} Operand;
static const char *const operand_names[] =
    { "", "1", "2.5", "v", "D", "(4, 4)", "\"fro\"", "abs", "T" };

static const double of_S[N][N] =
    { { 4, 0, 1, 0 }, { 0, 5, 0, 0 }, { 1, 0, 6, 2 }, { 0, 0, 2, 3 } };
static const double of_T[N][N] =
    { { 0, 2, 0, 0 }, { 0, 0, 0, 0 }, { -1, 0, 7, 0 }, { 0, 0, 0, 1 } };
static const double of_D[N][N] =
    { { 2, 1, -1, 3 }, { 0, 4, 1, 1 }, { 1, 1, 5, -2 }, { 1, 0, 2, 6 } };

static Tensor *matrix(Interp *in, const double x[N][N])
{
    Tensor *t = tensor_new(&in->ctx, DT_F64, 2, (int64_t[]){ N, N });
    memcpy(t->data, x, sizeof(double) * N * N);
    return t;
}

/* The sparse one of the same elements; onto the value stack. */
static Value push_sparse(Interp *in, const double x[N][N])
{
    v_push(in, v_tensor_raw(matrix(in, x)));
    Tensor *t = sparse_of_dense(&in->ctx, in->sp[-1].tensor);
    stack_cut(in, in->sp - 1);
    v_push(in, v_tensor_raw(t));
    return v_tensor_raw(t);
}

static void push_operand(Interp *in, Operand what, bool sparse)
{
    static const double v[N] = { 1.5, -2, 0.5, 3 };
    Tensor *t;
    Tuple *shape;
    switch (what) {
    case NONE: v_push(in, v_undef()); return;
    case ONE: v_push(in, v_int(1)); return;
    case HALF: v_push(in, v_float(2.5)); return;
    case VECTOR:
        t = tensor_new(&in->ctx, DT_F64, 1, (int64_t[]){ N });
        memcpy(t->data, v, sizeof v);
        v_push(in, v_tensor_raw(t));
        return;
    case MATRIX: v_push(in, v_tensor_raw(matrix(in, of_D))); return;
    case SHAPE:
        shape = tuple_new(&in->ctx, 2);
        shape->items[0] = shape->items[1] = v_int(N);
        v_push(in, v_tuple(shape));
        return;
    case TEXT: v_push(in, v_str(str_new(&in->ctx, "fro", 3))); return;
    case FUNCTION: v_push(in, v_op(op_named(in, "abs"))); return;
    case OTHER:
        if (sparse)
            push_sparse(in, of_T);
        else
            v_push(in, v_tensor_raw(matrix(in, of_T)));
        return;
    case OPERANDS: return;
    }
}

/* ---- results ---- */
static bool near(double _Complex a, double _Complex b)
{
    if (a == b || (isnan(creal(a)) && isnan(creal(b))))
        return true;
    return cabs(a - b) <= 1e-9 * (1 + cabs(b));
}

static bool alike(Interp *in, Value a, Value b);

static bool tensors_alike(Interp *in, Tensor *a, Tensor *b)
{
    if (a->rank != b->rank || a->dtype != b->dtype ||
        memcmp(tensor_shape(a), tensor_shape(b), a->rank * sizeof(int64_t)))
        return false;
    Value *mark = in->sp;
    const size_t each = dtype_info((DType)a->dtype)->bytes;
    const DType dt = (DType)a->dtype;
    const bool plain = strchr("bifc", dtype_info(dt)->kind) != NULL;
    if (tensor_sparse(a))
        v_push(in, v_tensor_raw(a = sparse_to_dense(&in->ctx, tensor_sparse(a))));
    v_push(in, v_tensor_raw(a = tensor_compact(&in->ctx, a)));
    v_push(in, v_tensor_raw(b = tensor_compact(&in->ctx, b)));
    tensor_home(&in->ctx, a);
    tensor_home(&in->ctx, b);
    int64_t i = 0;
    while (plain && i < a->size &&
           near(element_c128(dt, a->data + (size_t)i * each),
                element_c128(dt, b->data + (size_t)i * each)))
        i++;
    bool all = !plain || i == a->size;
    stack_cut(in, mark);
    return all;
}

static bool alike(Interp *in, Value a, Value b)
{
    if (a.tag == V_TUPLE && b.tag == V_TUPLE) {
        bool all = a.tuple->count == b.tuple->count;
        for (uint32_t i = 0; all && i < a.tuple->count; i++)
            all = alike(in, a.tuple->items[i], b.tuple->items[i]);
        return all;
    }
    if (a.tag != b.tag)
        return false;
    if (a.tag == V_TENSOR)
        return tensors_alike(in, a.tensor, b.tensor);
    if (a.tag == V_FLOAT)
        return near(a.f, b.f);
    if (a.tag == V_INT || a.tag == V_BOOL)
        return a.i == b.i;
    return true;
}

/* ---- calls ---- */
/* The value, onto the value stack, or V_UNDEF and the kind of error. */
static bool called(Interp *in, const Op *op, Value *args, int n, ErrKind *kind, char *message)
{
    Guard g;
    guard_enter(in, &g);
    if (ERR_TRY(&in->ctx, &g.frame)) {
        Value r = op_call(in, op, args, n, 0);
        ERR_END(&in->ctx, &g.frame);
        v_push(in, r);
        buf_clear(&in->out);
        return true;
    }
    guard_restore(in, &g);
    *kind = in->ctx.error->kind;
    snprintf(message, 120, " (%.110s)", in->ctx.error->message);
    buf_clear(&in->out);
    v_push(in, v_undef());
    return false;
}

/* Of several arguments that are wrong any may be told first. */
static bool of_machine(ErrKind kind)
{
    return kind != ERR_TYPE && kind != ERR_VALUE && kind != ERR_SHAPE && kind != ERR_INDEX &&
           kind != ERR_NAME;
}

static void spell(char *out, size_t cap, const Operand *which, int at, int n)
{
    size_t used = 0;
    out[0] = 0;
    for (int i = 0; i < n && used < cap; i++)
        used += (size_t)snprintf(out + used, cap - used, "%s%s", i ? ", " : "",
                                 i == at ? "S" : operand_names[which[i]]);
}

static void try_row(Interp *in, const Op *op, const Operand *which, int at, int n)
{
    Value *mark = in->sp;
    char call[128], message[2][128] = { "", "" };
    ErrKind kind[2] = { 0 };
    bool ok[2];
    Value result[2];
    Tensor *S = NULL, *T = NULL;
    spell(call, sizeof call, which, at, n);
    if (getenv("RICCI_SPELL"))
        fprintf(stderr, "%s(%s)\n", op->name, call);
    for (int sparse = 0; sparse < 2; sparse++) {
        Value *args = in->sp;
        for (int i = 0; i < n; i++) {
            if (i == at && sparse)
                S = push_sparse(in, of_S).tensor;
            else if (i == at)
                v_push(in, v_tensor_raw(matrix(in, of_S)));
            else
                push_operand(in, which[i], sparse);
            if (i != at && sparse && which[i] == OTHER)
                T = in->sp[-1].tensor;
        }
        ok[sparse] = called(in, op, args, n, &kind[sparse], message[sparse]);
        result[sparse] = in->sp[-1];
    }
    if (ok[0] != ok[1])
        fail(op, call, ok[0] ? "raises of sparse ones" : "raises of dense ones only",
             message[ok[0]]);
    else if (!ok[0] && kind[0] != kind[1] && (of_machine(kind[0]) || of_machine(kind[1])))
        fail(op, call, "raises another kind of error", message[1]);
    else if (ok[0] && !alike(in, result[1], result[0]))
        fail(op, call, "differs from that of dense ones", "");
    else if (!tensor_sparse(S) || (T && !tensor_sparse(T)))
        fail(op, call, "makes its operand dense", "");
    else
        passed++;
    stack_cut(in, mark);
}

/* Draws, what looks at the world or changes it, what is asked whether a matrix is sparse, and
 * factors, which have permutations of sparse ones. */
static bool apart(const Op *op)
{
    static const char *const names[] = {
        "lu", "chol", "qr", "lstsq", "factorize", "prune",
        "exit", "save", "load", "write", "read", "lines", "warn", "progress", "notices", "time",
        "measure", "memory", "release", "simulate", "env", "tempdir", "args", "lazy_stats",
        "issparse",
        "ptr", "pin", "unpin", "seed", "streams", "stream", "help", "devices", "to",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(op->name, names[i]) == 0)
            return true;
    return op->draws;
}

/* All other places, one or two of them, with operands of each kind. */
static void try_places(Interp *in, const Op *op)
{
    const OpSig *sig = op_sig(in, op);
    const int required = sig->required, most = sig->variadic ? sig->fixed + 2 : sig->fixed;
    for (int n = required > 0 ? required : 1; n <= most && n <= required + 2 && n <= 4; n++)
        for (int at = 0; at < n; at++) {
            Operand which[8] = { 0 };
            int free[8], frees = 0;
            for (int i = 0; i < n; i++)
                if (i != at)
                    free[frees++] = i;
            const int used = frees < 2 ? frees : 2;
            const int all = used == 0 ? 1 : used == 1 ? OPERANDS : OPERANDS * OPERANDS;
            for (int k = 0; k < all; k++) {
                for (int i = 0; i < frees; i++)
                    which[free[i]] = (Operand)((i % 2 ? k / OPERANDS : k) % OPERANDS);
                bool given = true;
                for (int i = 0; i < frees; i++)
                    given &= which[free[i]] != NONE || free[i] >= required;
                if (given)
                    try_row(in, op, which, at, n);
            }
        }
}

static void quiet(Ctx *ctx, const char *text)
{
    (void)ctx;
    (void)text;
}

int main(int argc, char **argv)
{
    Interp *in = interp_new();
    in->ctx.notice = quiet;
    for (int i = 0; i < op_count(in); i++) {
        const Op *op = op_row(in, i);
        if (argc > 1 && strcmp(op->name, argv[1]) != 0)
            continue;
        told = 0;
        if (!apart(op))
            try_places(in, op);
    }
    interp_free(in);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
