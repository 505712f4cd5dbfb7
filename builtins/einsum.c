/* einsum: parses the specification by NumPy's rules (implicit result, "...", diagonals,
 * axes of length 1 that broadcast), finds every label's length and hands a loop nest with
 * strides to kernels/einsum. Its row is in shape.def. */
#include "builtins/rational.h"
#include "kernels/einsum.h"
#include "interp/explain.h"
#include "interp/op.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

Value op_run_einsum(OpCall *);

enum { LABELS = 52, DOTS = TENSOR_RANK_MAX };

/* Index numbers: 0 … 51 letters in alphabetical order (A … Z, a … z), then the axes of "...",
 * counted from the right. */
typedef struct Spec {
    OpCall *call;
    const char *text;
    int operands;
    Tensor *tensor[EINSUM_OPERANDS];
    int axis_index[EINSUM_OPERANDS][TENSOR_RANK_MAX];    /* index of each axis */
    int64_t length[EINSUM_INDICES];                      /* 0-based; -1: not seen */
    int first_operand[EINSUM_INDICES], first_axis[EINSUM_INDICES];   /* who set the length */
    int uses[EINSUM_INDICES];
    int dots;                                            /* axes that "..." stands for, at most */
    int result[TENSOR_RANK_MAX], result_rank;
} Spec;

static _Noreturn void bad_spec(Spec *s, const char *what)
{
    arg_error(s->call, 0, ERR_VALUE, "%s in \"%.60s\"", what, s->text);
}

static int label_of(char ch)
{
    return ch >= 'a' ? ch - 'a' + 26 : ch - 'A';
}

static char label_char(int index)
{
    return (char)(index < 26 ? 'A' + index : 'a' + index - 26);
}

static const char *index_name(int index, char *out, size_t cap)
{
    if (index < LABELS)
        snprintf(out, cap, "label %c", label_char(index));
    else
        snprintf(out, cap, "axis -%d of ...", index - LABELS + 1);
    return out;
}

static _Noreturn void lengths_differ(Spec *s, int index, int operand, int axis)
{
    OpCall *c = s->call;
    char name[32];
    int other = s->first_operand[index];
    int64_t n = tensor_shape(s->tensor[operand])[axis];
    char first[80];
    snprintf(first, sizeof first, "%s", arg_text(c, other + 1));
    Error *e = err_new(&c->in->ctx, ERR_SHAPE, "einsum: %s is %lld along axis %d of %s (operand %d) but %lld "
                       "along axis %d of %s (operand %d)", index_name(index, name, sizeof name),
                       (long long)s->length[index], s->first_axis[index], first, other + 1, (long long)n, axis,
                       arg_text(c, operand + 1), operand + 1);
    err_underline(e, other + 1);
    err_underline(e, operand + 1);
    err_throw(e);
}

/* Axis `axis` of an operand has this index; lengths agree, or one of them is 1. */
static void use_index(Spec *s, int index, int operand, int axis)
{
    int64_t n = tensor_shape(s->tensor[operand])[axis];
    s->axis_index[operand][axis] = index;
    s->uses[index]++;
    if (s->length[index] < 0 || (s->length[index] == 1 && n != 1)) {
        s->length[index] = n;
        s->first_operand[index] = operand;
        s->first_axis[index] = axis;
    } else if (n != s->length[index] && n != 1) {
        lengths_differ(s, index, operand, axis);
    }
}

/* One operand's labels, [text, end). */
static void read_operand(Spec *s, int operand, const char *text, const char *end)
{
    Tensor *t = s->tensor[operand];
    OpCall *c = s->call;
    int labels = 0, dots_at = -1;
    char letters[TENSOR_RANK_MAX + 1], shape[128];
    for (; text < end; text++) {
        if (*text == ' ')
            continue;
        if (end - text >= 3 && memcmp(text, "...", 3) == 0 && dots_at < 0) {
            dots_at = labels;
            text += 2;
        } else if (isalpha((unsigned char)*text)) {
            if (labels < TENSOR_RANK_MAX)
                letters[labels] = *text;
            labels++;
        } else {
            bad_spec(s, *text == '.' ? "a stray dot" : "something that is neither a letter nor \"...\"");
        }
    }
    int dots = t->rank - labels;
    if (dots_at < 0 ? dots != 0 : dots < 0)
        arg_error(c, operand + 1, ERR_INDEX, "operand %d, %s, is %s with %d ax%ss, but \"%s\" has %d label%s for it",
                  operand + 1, arg_text(c, operand + 1), shape_text(shape, sizeof shape, t->rank, tensor_shape(t)),
                  t->rank, t->rank == 1 ? "i" : "e", s->text, labels, labels == 1 ? "" : "s");
    for (int a = 0, label = 0; a < t->rank; a++)
        if (dots_at >= 0 && a >= dots_at && a < dots_at + dots)
            use_index(s, LABELS + dots_at + dots - 1 - a, operand, a);
        else
            use_index(s, label_of(letters[label++]), operand, a);
    s->dots = dots_at >= 0 && dots > s->dots ? dots : s->dots;
}

static void add_result(Spec *s, int index)
{
    char name[32], what[80];
    if (s->result_rank == TENSOR_RANK_MAX)
        bad_spec(s, "too many axes of the result");
    for (int a = 0; a < s->result_rank; a++)
        if (s->result[a] == index) {
            snprintf(what, sizeof what, "%s stands twice in the result", index_name(index, name, sizeof name));
            bad_spec(s, what);
        }
    s->result[s->result_rank++] = index;
}

static void add_dots(Spec *s)
{
    for (int d = s->dots - 1; d >= 0; d--)
        add_result(s, LABELS + d);
}

static void read_result(Spec *s, const char *text)
{
    bool dots = false;
    char what[80];
    for (; *text; text++) {
        if (*text == ' ')
            continue;
        if (strncmp(text, "...", 3) == 0 && !dots) {
            dots = true;
            add_dots(s);
            text += 2;
            continue;
        }
        if (!isalpha((unsigned char)*text))
            bad_spec(s, "something that is neither a letter nor \"...\" after ->");
        if (s->length[label_of(*text)] < 0) {
            snprintf(what, sizeof what, "label %c of the result is in no operand", *text);
            bad_spec(s, what);
        }
        add_result(s, label_of(*text));
    }
    if (!dots && s->dots > 0)
        bad_spec(s, "\"...\" is missing after ->");
}

/* Without ->: what "..." stands for, then the labels that occur once, alphabetically. */
static void imply_result(Spec *s)
{
    add_dots(s);
    for (int i = 0; i < LABELS; i++)
        if (s->uses[i] == 1)
            add_result(s, i);
}

static void read_spec(Spec *s)
{
    const char *arrow = strstr(s->text, "->"), *end = arrow ? arrow : s->text + strlen(s->text), *at = s->text;
    OpCall *c = s->call;
    for (int i = 0; i < EINSUM_INDICES; i++)
        s->length[i] = -1;
    int lists = 1;
    for (const char *p = s->text; p < end; p++)
        lists += *p == ',';
    if (lists != s->operands)
        arg_error(c, 0, ERR_TYPE, "\"%.60s\" names %d operand%s, but %d %s given", s->text, lists,
                  lists == 1 ? "" : "s", s->operands, s->operands == 1 ? "is" : "are");
    for (int k = 0; k < s->operands; k++) {
        const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end;
        read_operand(s, k, at, stop);
        at = stop + 1;
    }
    if (arrow)
        read_result(s, arrow + 2);
    else
        imply_result(s);
}

/* ---- from labels to a nest ---- */

static DType common_dtype(const Spec *s)
{
    DType dt = (DType)s->tensor[0]->dtype;
    for (int k = 1; k < s->operands; k++)
        dt = dtype_promote(dt, (DType)s->tensor[k]->dtype);
    return dt;
}

/* Numbers the indices that occur densely and gives each operand its strides; an operand's
 * axis of length 1 that broadcasts does not move. */
static void build_nest(const Spec *s, const Tensor *out, EinsumNest *nest)
{
    int number[EINSUM_INDICES];
    memset(nest, 0, sizeof *nest);
    nest->operands = s->operands;
    for (int i = 0; i < EINSUM_INDICES; i++) {
        number[i] = -1;
        if (s->length[i] < 0)
            continue;
        number[i] = nest->indices;
        nest->n[nest->indices++] = s->length[i];
    }
    for (int a = 0; a < s->result_rank; a++) {
        nest->kept[number[s->result[a]]] = true;
        nest->out[number[s->result[a]]] = tensor_strides(out)[a];
    }
    for (int k = 0; k < s->operands; k++)
        for (int a = 0; a < s->tensor[k]->rank; a++)
            if (tensor_shape(s->tensor[k])[a] != 1)
                nest->in[k][number[s->axis_index[k][a]]] += tensor_strides(s->tensor[k])[a];
}

static void read_operands(Spec *s)
{
    OpCall *c = s->call;
    s->operands = c->count - c->fixed;
    if (s->operands < 1)
        arg_error_help(c, 0, ERR_TYPE, "einsum(\"ij,jk->ik\", A, B)", "no tensors are given");
    if (s->operands > EINSUM_OPERANDS)
        arg_error(c, 0, ERR_VALUE, "at most %d tensors, not %d", EINSUM_OPERANDS, s->operands);
    for (int k = 0; k < s->operands; k++)
        s->tensor[k] = arg_tensor(c, c->fixed + k);
}

/* One multiplication less than operands, and an addition, in each innermost step. */
static void explain_nest(OpCall *c, const EinsumNest *nest, int operands)
{
    double steps = 1;
    for (int i = 0; i < nest->indices; i++)
        steps *= (double)nest->n[i];
    explain_note(c->in, "routine", "a loop nest over %d label%s", nest->indices,
                 nest->indices == 1 ? "" : "s");
    explain_flops(c->in, operands * steps, "the product of all lengths, by operands");
}

Value op_run_einsum(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    Spec s = { .call = c, .text = arg_str(c, 0)->text };
    int64_t shape[TENSOR_RANK_MAX];
    const void *data[EINSUM_OPERANDS];
    EinsumNest nest;
    bool empty = false;
    read_operands(&s);
    read_spec(&s);
    DType dt = common_dtype(&s), compute = einsum_compute_dtype(dt);
    for (int k = 0; k < s.operands; k++) {
        s.tensor[k] = op_keep(c, tensor_cast(ctx, s.tensor[k], compute));
        data[k] = s.tensor[k]->data;
    }
    for (int a = 0; a < s.result_rank; a++)
        shape[a] = s.length[s.result[a]];
    Tensor *out = op_keep(c, tensor_zeros(ctx, compute, s.result_rank, shape));
    build_nest(&s, out, &nest);
    for (int i = 0; i < nest.indices; i++)
        empty |= nest.n[i] == 0;
    explain_nest(c, &nest, s.operands);
    if (!empty && compute == DT_RATIONAL)
        exact_check(c, rational_einsum(ctx, &nest, exact_data(out), (const Rational *const *)data));
    else if (!empty)
        einsum_run(ctx, &nest, compute, out->data, data);
    poll_interrupt(c->in);
    return op_result(c, op_keep(c, tensor_cast(ctx, out, dt)));
}
