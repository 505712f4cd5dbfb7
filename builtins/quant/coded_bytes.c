/* Products of codes by the processor's instruction for bytes (kernels/eight): rows by a matrix, and
 * what a text of two tensors says where it can be written so. An index that only x and the result
 * have is one of rows, one that only w and the result have is one of columns, one of both operands
 * alone is summed over; a window, x[i + a], is rows that overlap in x and are copied out. */
#include "builtins/quant/coded.h"
#include "interp/op/heard.h"
#include "kernels/eight/eight.h"
#include "kernels/tensor/cpu.h"

#include "core/base/error.h"

#include <string.h>

enum { ROWS = 1024, BYTES = 1 << 22 };  /* of a part: at least so many rows, or bytes */
/* Rows that are multiplied one by one: for them it does not pay to lay out the matrix anew. */
enum { FEW = 4 };
/* Columns, depth and both from which on bytes are quicker than floats, as far as these are laid
 * out anew in each product; multiply-adds of a few rows. */
enum { WIDE = 32, DEEP = 64, MATRIX = 8192, SMALL = 4096 };

static bool is_few(int64_t m, int64_t n, int64_t k)
{
    return m > 0 && m <= FEW && n >= WIDE && n * k >= SMALL && cpu_isa() >= ISA_AVX2;
}

const char *coded_bytes_why(int64_t m, int64_t n, int64_t k)
{
    if (is_few(m, n, k))
        return NULL;
    if (!eight_pays(1 << 10, 1 << 10, 1 << 10))
        return "no instruction for bytes here";
    return n >= WIDE && k >= DEEP && n * k >= MATRIX && eight_pays(m, n, k)
         ? NULL : "too small for bytes to pay";
}

void coded_tell(OpCall *c, const char *why, int64_t m, int64_t n, int64_t k)
{
    if (!heard_on(c->in))
        return;
    if (why)
        explain_note(c->in, "sums", "exact in floats: %s", why);
    else if (is_few(m, n, k))
        explain_routine(c->in, "our own loop", NULL, "our own loop over bytes, exact in 32 and "
                        "64 bits: too few rows to lay out the matrix for them");
    else
        explain_routine(c->in, eight_routine(), NULL, "%s, exact in 32 and 64 bits",
                        eight_routine());
}

/* zero times the sum of each column of B, which is a row of ones by it. */
static int64_t *columns_of(OpCall *c, int64_t n, int64_t k, EightMat b, int zero)
{
    Ctx *ctx = &c->in->ctx;
    int64_t *sum = (int64_t *)op_keep(c, tensor_zeros(ctx, DT_I64, 1, &n))->data;
    if (!zero)
        return sum;
    Value *mark = c->in->sp;
    int8_t *ones = (int8_t *)op_keep(c, tensor_new(ctx, DT_I8, 1, &k))->data;
    memset(ones, 1, (size_t)k);
    ranges_few(ctx, ones, b.data, b.rs, k, n, sum);
    for (int64_t j = 0; j < n; j++)
        sum[j] *= zero;
    stack_cut(c->in, mark);
    return sum;
}

void coded_bytes(OpCall *c, int64_t m, int64_t n, int64_t k, EightMat a, EightMat b,
                 const CodedEnd *end, char *out)
{
    Ctx *ctx = &c->in->ctx;
    Value *mark = c->in->sp;
    int64_t part = BYTES / (8 * n) > ROWS ? BYTES / (8 * n) : ROWS;
    part = part < m ? part : m;
    bool few = is_few(m, n, k);
    int64_t bytes = few ? 0 : (int64_t)eight_bytes(part, n, k), count = part * n;
    int64_t *less = columns_of(c, n, k, b, end->zero);
    int64_t *sums = (int64_t *)op_keep(c, tensor_new(ctx, DT_I64, 1, &count))->data;
    char *memory = op_keep(c, tensor_new(ctx, DT_U8, 1, &bytes))->data;
    for (int64_t i = 0; i < m; i += part) {
        int64_t rows = m - i < part ? m - i : part;
        EightMat x = { (const int8_t *)a.data + i * a.rs, a.rs, 1, true };
        for (int64_t r = 0; few && r < rows; r++)
            ranges_few(ctx, (const int8_t *)x.data + r * x.rs, b.data, b.rs, k, n, sums + r * n);
        if (!few)
            eight_product(ctx, rows, n, k, x, b, sums, memory);
        poll_interrupt(c->in);
        ranges_sums(ctx, end->dt, sums, rows, n, less, end->scales, end->bias, end->relu,
                    out + (size_t)(i * n) * dtype_info(end->dt)->bytes);
        poll_interrupt(c->in);
    }
    stack_cut(c->in, mark);
}

/* ---- what a text says, as matrices ---- */
static int find(const int *list, int n, int label)
{
    for (int i = 0; i < n; i++)
        if (list[i] == label)
            return i;
    return -1;
}

static bool twice(const int *list, int n)
{
    for (int i = 1; i < n; i++)
        if (find(list, i, list[i]) >= 0)
            return true;
    return false;
}

/* The term of a label in a subscript of x; -1: none. */
static int term_of(const GraphAxis *a, int label) { return find(a->label, a->terms, label); }

/* How far apart x's elements are along a label, and on how many subscripts it stands. */
static int64_t step_of(const GraphLabels *l, const Tensor *x, int label, int *on)
{
    int64_t step = 0;
    *on = 0;
    for (int i = 0; i < l->nx; i++) {
        int t = term_of(&l->axis[i], label);
        if (t >= 0) {
            step += l->axis[i].factor[t] * tensor_strides(x)[i];
            ++*on;
        }
    }
    return step;
}

/* What is left of axis i of x for a label of rows, -1: nothing, or the axis has two of these. Of
 * an axis without one 1, if the rest fits in it. */
static int64_t room_of(const GraphLabels *l, const Tensor *x, const Tensor *w, int i)
{
    const GraphAxis *a = &l->axis[i];
    int64_t last = tensor_shape(x)[i] - 1, factor = 0;
    for (int t = 0; t < a->terms; t++) {
        int at = find(l->w, l->nw, a->label[t]);
        if (at < 0 && factor)
            return -1;
        if (at < 0)
            factor = a->factor[t];
        else
            last -= a->factor[t] * (tensor_shape(w)[at] - 1);
    }
    if (a->terms == 1 && !factor && last != 0)
        return -1;                  /* an index alone, and its lengths are not the same */
    return last < 0 ? -1 : factor ? last / factor + 1 : 1;
}

static void add_axis(CodedAxes *a, int label, int64_t length, int64_t step, int of_w)
{
    int at = a->rank++;
    for (; of_w >= 0 && at > 0 && a->step[at - 1] < step; at--) {
        a->label[at] = a->label[at - 1];
        a->length[at] = a->length[at - 1];
        a->step[at] = a->step[at - 1];
        a->of_w[at] = a->of_w[at - 1];
    }
    a->label[at] = label;
    a->length[at] = length;
    a->step[at] = step;
    a->of_w[at] = of_w;
}

/* Rows: labels of x that w has not, in the result's order. */
static const char *find_rows(const GraphLabels *l, const Tensor *x, const Tensor *w, CodedShape *s)
{
    int all = 0, on;
    for (int o = 0; o < l->nout; o++) {
        int label = l->out[o];
        int64_t step = step_of(l, x, label, &on);
        if (find(l->w, l->nw, label) >= 0) {
            if (on)
                return "an index is in both operands and the result";
            continue;
        }
        if (on != 1)
            return on ? "an index is on two axes" : "the result has an index of no operand";
        for (int i = 0; i < l->nx; i++)
            if (term_of(&l->axis[i], label) >= 0)
                add_axis(&s->m, label, room_of(l, x, w, i), step, -1);
        all++;
    }
    for (int i = 0; i < l->nx; i++)
        for (int t = 0; t < l->axis[i].terms; t++)
            if (find(l->w, l->nw, l->axis[i].label[t]) < 0 &&
                find(l->out, l->nout, l->axis[i].label[t]) < 0)
                return "an operand is summed alone";
    return NULL;
}

static const char *find_others(const GraphLabels *l, const Tensor *x, const Tensor *w,
                               CodedShape *s)
{
    int on;
    for (int i = 0; i < l->nw; i++) {
        int64_t step = step_of(l, x, l->w[i], &on);
        bool column = find(l->out, l->nout, l->w[i]) >= 0;
        if (!column && !on)
            return "an operand is summed alone";
        if (column)
            add_axis(&s->n, l->w[i], tensor_shape(w)[i], 0, i);
        else
            add_axis(&s->k, l->w[i], tensor_shape(w)[i], step, i);
    }
    return NULL;
}

static int64_t size_of(const CodedAxes *a)
{
    int64_t n = 1;
    for (int i = 0; i < a->rank; i++)
        n *= a->length[i];
    return n;
}

const char *coded_shape(Interp *in, const Str *text, const Tensor *x, const Tensor *w,
                        CodedShape *s)
{
    GraphLabels l;
    *s = (CodedShape){ .plain = true };
    if (!graph_labels(in, text, false, &l))
        return "it is no product of matrices";
    s->written = true;
    if (l.nx != x->rank || l.nw != w->rank || twice(l.w, l.nw) || twice(l.out, l.nout))
        return "an index is on two axes";
    for (int i = 0; i < l.nx; i++) {
        if (!l.axis[i].terms)
            return "a subscript is no sum of indices";
        if (room_of(&l, x, w, i) < 0)
            return "its lengths are no product's";
    }
    const char *why = find_rows(&l, x, w, s);
    why = why ? why : find_others(&l, x, w, s);
    if (why)
        return why;
    if (s->m.rank + s->k.rank > TENSOR_RANK_MAX)
        return "it has too many indices";
    for (int o = 0; o < l.nout; o++) {
        int at = find(s->m.label, s->m.rank, l.out[o]);
        s->place[o] = at >= 0 ? at : s->m.rank + find(s->n.label, s->n.rank, l.out[o]);
        s->plain &= s->place[o] == o;
    }
    s->rank = l.nout;
    s->rows = size_of(&s->m);
    s->sums = size_of(&s->k);
    s->columns = size_of(&s->n);
    return coded_bytes_why(s->rows, s->columns, s->sums);
}

/* ---- its product ---- */
/* w by rows of what is summed over; on the value stack. */
static const int8_t *matrix_of(OpCall *c, const CodedShape *s, Tensor *w)
{
    Ctx *ctx = &c->in->ctx;
    const CodedAxes *parts[2] = { &s->k, &s->n };
    int64_t shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX];
    int rank = 0;
    for (int p = 0; p < 2; p++)
        for (int i = 0; i < parts[p]->rank; i++) {
            shape[rank] = tensor_shape(w)[parts[p]->of_w[i]];
            strides[rank++] = tensor_strides(w)[parts[p]->of_w[i]];
        }
    Tensor *t = op_keep(c, tensor_view(ctx, w, rank, shape, strides, w->data));
    return (const int8_t *)op_keep(c, tensor_compact(ctx, t))->data;
}

Tensor *coded_product(OpCall *c, const CodedShape *s, Tensor *x, Tensor *w, const CodedEnd *end)
{
    Ctx *ctx = &c->in->ctx;
    int64_t shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX], all[2 * TENSOR_RANK_MAX];
    int rank = 0;
    for (int i = 0; i < s->m.rank; i++)
        all[rank++] = s->m.length[i];
    for (int i = 0; i < s->n.rank; i++)
        all[rank++] = s->n.length[i];
    Tensor *out = op_keep(c, tensor_new(ctx, end->dt, rank, all));
    EightMat b = { matrix_of(c, s, w), s->columns, 1, true };
    int64_t first = s->m.rank ? s->m.length[0] : 1, rows = s->rows / first;
    int64_t part = BYTES / (rows * s->sums) > ROWS / rows ? BYTES / (rows * s->sums) : ROWS / rows;
    part = part > 0 ? part : 1;
    size_t bytes = (size_t)(rows * s->columns) * dtype_info(end->dt)->bytes;
    for (int64_t i = 0; i < first; i += part) {
        Value *mark = c->in->sp;
        int64_t to = first - i < part ? first : i + part;
        EightMat a = coded_gather(c, s, x, i, to);
        coded_bytes(c, (to - i) * rows, s->columns, s->sums, a, b, end,
                    out->data + (size_t)i * bytes);
        stack_cut(c->in, mark);
    }
    for (int o = 0; o < s->rank; o++) {
        shape[o] = all[s->place[o]];
        strides[o] = tensor_strides(out)[s->place[o]];
    }
    return s->plain ? out : op_keep(c, tensor_view(ctx, out, s->rank, shape, strides, out->data));
}
