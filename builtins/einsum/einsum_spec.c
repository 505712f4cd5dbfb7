/* The specification of einsum by NumPy's rules: terms, "...", the implied result, lengths
 * with axes of length 1 that broadcast, diagonals that do not; and everything that can be
 * wrong with it, said in the user's names with a specification that would fit. */
#include "builtins/einsum/einsum.h"
#include "core/system/ascii.h"
#include "core/base/error.h"
#include "interp/op/elementwise.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Argument number of an operand; the operand of the call as written that an argument is. */
static int argument(const EinsumSpec *s, int operand)
{
    return s->call->fixed + operand;
}

static void underline(EinsumSpec *s, Error *e, int arg)
{
    const OpCall *c = s->call;
    err_underline(e, c->operand && arg < 128 ? c->operand[arg] : arg);
}

static const char *tensor_text(EinsumSpec *s, int operand)
{
    return arg_text(s->call, argument(s, operand));
}

static _Noreturn void bad_spec(EinsumSpec *s, const char *what)
{
    arg_error(s->call, 0, ERR_VALUE, "%s in \"%.60s\"", what, s->text);
}

static int letter_index(char ch)
{
    return ch >= 'a' ? ch - 'a' + 26 : ch - 'A';
}

static char index_letter(int index)
{
    return (char)(index < 26 ? 'A' + index : 'a' + index - 26);
}

static const char *index_name(int index, char *out, size_t cap)
{
    if (index < EINSUM_LETTERS)
        snprintf(out, cap, "label %c", index_letter(index));
    else
        snprintf(out, cap, "axis -%d of ...", index - EINSUM_LETTERS + 1);
    return out;
}

/* The sign at `at`, whole where it is more than one byte, and what is wrong with it. */
static _Noreturn void bad_sign(EinsumSpec *s, const char *at, const char *where)
{
    char what[96];
    int bytes = 1;
    while ((at[bytes] & 0xc0) == 0x80 && bytes < 4)
        bytes++;
    if (*at == '.')
        bad_spec(s, "a dot that is no part of \"...\"");
    if (*at == '-')
        bad_spec(s, at[1] == '>' ? "a second \"->\"" : "a \"-\" without its \">\"");
    snprintf(what, sizeof what, "\"%.*s\" is neither a letter nor \"...\"%s", bytes, at, where);
    bad_spec(s, what);
}

static void put_tensors(EinsumSpec *s, char *out, size_t cap)
{
    size_t n = 0;
    out[0] = '\0';
    for (int k = 0; k < s->operands && n + 1 < cap; k++)
        n += (size_t)snprintf(out + n, cap - n, ", %s", tensor_text(s, k));
}

/* The specification with ... before a term and before the result. */
static void offer_dots(EinsumSpec *s, Error *e, const char *term)
{
    char tensors[160];
    const char *arrow = strstr(s->text, "->");
    const char *result = arrow ? arrow + 2 : s->text + strlen(s->text);
    put_tensors(s, tensors, sizeof tensors);
    while (*result == ' ')
        result++;
    err_help(e, "... stands for the axes without a label: einsum(\"%.*s...%.*s%s%s\"%s)",
             (int)(term - s->text), s->text, (int)(result - term), term, arrow ? "..." : "", result,
             tensors);
}

static const char *const plural_axes[] = { "axis", "axes" };

static _Noreturn void wrong_rank(EinsumSpec *s, int operand, int labels, bool dots)
{
    OpCall *c = s->call;
    const Tensor *t = s->operand[operand].tensor;
    char shape[128];
    Error *e = err_new(&c->in->ctx, ERR_INDEX,
                       "einsum: operand %d, %s, is %s with %d %s, but \"%.60s\" has %d label%s "
                       "for it", operand + 1, tensor_text(s, operand),
                       t->rank ? shape_text(shape, sizeof shape, t->rank, tensor_shape(t))
                               : "a scalar", t->rank,
                       plural_axes[t->rank != 1], s->text, labels, labels == 1 ? "" : "s");
    underline(s, e, argument(s, operand));
    if (t->rank > labels && !dots && !strstr(s->text, "..."))
        offer_dots(s, e, s->operand[operand].term);
    err_throw(e);
}

/* ---- terms ---- */

static void read_term(EinsumSpec *s, int k)
{
    EinsumOperand *x = &s->operand[k];
    const Tensor *t = x->tensor;
    int labels = 0, dots_at = -1;
    char letters[TENSOR_RANK_MAX];
    for (const char *p = x->term; p < x->end; p++) {
        if (*p == ' ')
            continue;
        if (x->end - p >= 3 && memcmp(p, "...", 3) == 0 && dots_at < 0) {
            dots_at = labels;
            p += 2;
        } else if (ascii_alpha(*p)) {
            if (labels < TENSOR_RANK_MAX)
                letters[labels] = *p;
            labels++;
        } else {
            bad_sign(s, p, "");
        }
    }
    int dots = t->rank - labels;
    if (dots_at < 0 ? dots != 0 : dots < 0)
        wrong_rank(s, k, labels, dots_at >= 0);
    for (int a = 0, label = 0; a < t->rank; a++) {
        bool dot = dots_at >= 0 && a >= dots_at && a < dots_at + dots;
        int index = dot ? EINSUM_LETTERS + dots_at + dots - 1 - a : letter_index(letters[label++]);
        x->index[a] = (uint8_t)index;
        s->uses[index]++;
    }
    s->dots = dots_at >= 0 && dots > s->dots ? dots : s->dots;
}

static void add_result(EinsumSpec *s, int index)
{
    char name[32], what[80];
    if (s->rank == TENSOR_RANK_MAX)
        bad_spec(s, "too many axes of the result");
    for (int a = 0; a < s->rank; a++)
        if (s->result[a] == index) {
            snprintf(what, sizeof what, "%s stands twice in the result",
                     index_name(index, name, sizeof name));
            bad_spec(s, what);
        }
    s->result[s->rank++] = index;
}

static void add_dots(EinsumSpec *s)
{
    for (int d = s->dots - 1; d >= 0; d--)
        add_result(s, EINSUM_LETTERS + d);
}

static _Noreturn void dots_missing(EinsumSpec *s, const char *result)
{
    char tensors[160];
    put_tensors(s, tensors, sizeof tensors);
    while (*result == ' ')
        result++;
    Error *e = err_new(&s->call->in->ctx, ERR_VALUE,
                       "einsum: \"...\" is missing after -> in \"%.60s\": it stands for %d %s of "
                       "the operands", s->text, s->dots, plural_axes[s->dots != 1]);
    underline(s, e, 0);
    err_help(e, "einsum(\"%.*s...%s\"%s)", (int)(result - s->text), s->text, result, tensors);
    err_throw(e);
}

static void read_result(EinsumSpec *s, const char *text)
{
    bool dots = false;
    char what[80];
    for (const char *p = text; *p; p++) {
        if (*p == ' ')
            continue;
        if (strncmp(p, "...", 3) == 0 && !dots) {
            dots = true;
            add_dots(s);
            p += 2;
            continue;
        }
        if (!ascii_alpha(*p))
            bad_sign(s, p, " after ->");
        if (!s->uses[letter_index(*p)]) {
            snprintf(what, sizeof what, "label %c of the result is in no operand", *p);
            bad_spec(s, what);
        }
        add_result(s, letter_index(*p));
    }
    if (!dots && s->dots > 0)
        dots_missing(s, text);
}

/* Without ->: what "..." stands for, then the labels that occur once, by code point. */
static void imply_result(EinsumSpec *s)
{
    add_dots(s);
    for (int i = 0; i < EINSUM_LETTERS; i++)
        if (s->uses[i] == 1)
            add_result(s, i);
}

/* ---- lengths ---- */

/* Two axes whose lengths do not go together. */
typedef struct Conflict {
    int index, operand[2], axis[2];
} Conflict;

/* Fills in s->length. A label within one operand is a diagonal: equal lengths only; between
 * operands a length of 1 goes with any other. */
static bool find_lengths(EinsumSpec *s, Conflict *conflict)
{
    int operand[EINSUM_LABELS] = { 0 }, axis[EINSUM_LABELS] = { 0 };
    for (int i = 0; i < EINSUM_LABELS; i++)
        s->length[i] = -1;
    for (int k = 0; k < s->operands; k++) {
        const EinsumOperand *x = &s->operand[k];
        const int64_t *shape = tensor_shape(x->tensor);
        for (int a = 0; a < x->tensor->rank; a++) {
            int i = x->index[a];
            for (int b = 0; b < a; b++)
                if (x->index[b] == i && shape[a] != shape[b]) {
                    *conflict = (Conflict){ i, { k, k }, { b, a } };
                    return false;
                }
            if (s->length[i] < 0 || (s->length[i] == 1 && shape[a] != 1)) {
                s->length[i] = shape[a];
                operand[i] = k;
                axis[i] = a;
            } else if (shape[a] != s->length[i] && shape[a] != 1) {
                *conflict = (Conflict){ i, { operand[i], k }, { axis[i], a } };
                return false;
            }
        }
    }
    return true;
}

/* The place in the text of the label of an axis; NULL if "..." covers it. */
static const char *label_place(const EinsumOperand *x, int axis)
{
    int seen = 0, dots = 0, labels = 0;
    for (const char *p = x->term; p < x->end; p++)
        labels += ascii_alpha(*p) != 0;
    dots = x->tensor->rank - labels;
    for (const char *p = x->term; p < x->end; p++) {
        if (*p == '.') {
            seen += dots;
            p += 2;
        } else if (*p != ' ' && seen++ == axis) {
            return p;
        }
    }
    return NULL;
}

/* Would all lengths agree with two labels of operand k exchanged? Then says so. */
static bool offer_exchange(EinsumSpec *s, Error *e, int k)
{
    EinsumOperand *x = &s->operand[k];
    Conflict ignored;
    char text[128], tensors[160];
    if (strlen(s->text) >= sizeof text)
        return false;
    for (int a = 0; a < x->tensor->rank; a++)
        for (int b = a + 1; b < x->tensor->rank; b++) {
            const char *p = label_place(x, a), *q = label_place(x, b);
            if (!p || !q || *p == *q)
                continue;
            uint8_t keep = x->index[a];
            x->index[a] = x->index[b];
            x->index[b] = keep;
            bool fits = find_lengths(s, &ignored);
            x->index[b] = x->index[a];
            x->index[a] = keep;
            if (!fits)
                continue;
            snprintf(text, sizeof text, "%s", s->text);
            text[p - s->text] = *q;
            text[q - s->text] = *p;
            put_tensors(s, tensors, sizeof tensors);
            err_help(e, "with its axes the other way round %s fits: einsum(\"%s\"%s)",
                     tensor_text(s, k), text, tensors);
            return true;
        }
    return false;
}

static _Noreturn void lengths_differ(EinsumSpec *s, const Conflict *x)
{
    OpCall *c = s->call;
    char name[32], first[80];
    bool diagonal = x->operand[0] == x->operand[1];
    int64_t n[2];
    for (int i = 0; i < 2; i++)
        n[i] = tensor_shape(s->operand[x->operand[i]].tensor)[x->axis[i]];
    snprintf(first, sizeof first, "%s", tensor_text(s, x->operand[0]));
    Error *e = diagonal
        ? err_new(&c->in->ctx, ERR_SHAPE, "einsum: %s is %lld along axis %d but %lld along axis %d "
                  "of %s (operand %d): a diagonal needs equal lengths",
                  index_name(x->index, name, sizeof name), (long long)n[0], x->axis[0],
                  (long long)n[1], x->axis[1], first, x->operand[0] + 1)
        : err_new(&c->in->ctx, ERR_SHAPE, "einsum: %s is %lld along axis %d of %s (operand %d) but "
                  "%lld along axis %d of %s (operand %d)", index_name(x->index, name, sizeof name),
                  (long long)n[0], x->axis[0], first, x->operand[0] + 1, (long long)n[1],
                  x->axis[1], tensor_text(s, x->operand[1]), x->operand[1] + 1);
    underline(s, e, argument(s, x->operand[0]));
    underline(s, e, argument(s, x->operand[1]));
    if (!diagonal && !offer_exchange(s, e, x->operand[1]))
        offer_exchange(s, e, x->operand[0]);
    err_throw(e);
}

/* ---- the whole ---- */

static void split_terms(EinsumSpec *s, const char *end)
{
    OpCall *c = s->call;
    const char *at = s->text;
    int lists = 1;
    for (const char *p = s->text; p < end; p++)
        lists += *p == ',';
    if (lists != s->operands)
        arg_error(c, 0, ERR_TYPE, "\"%.60s\" names %d operand%s, but %d %s given", s->text, lists,
                  lists == 1 ? "" : "s", s->operands, s->operands == 1 ? "is" : "are");
    for (int k = 0; k < s->operands; k++) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        s->operand[k].term = at;
        s->operand[k].end = comma ? comma : end;
        at = s->operand[k].end + 1;
    }
}

static void take_operands(EinsumSpec *s)
{
    OpCall *c = s->call;
    Ctx *ctx = &c->in->ctx;
    s->operands = c->count - c->fixed;
    if (s->operands < 1)
        arg_error_help(c, 0, ERR_TYPE, "they follow the labels: einsum(\"ij,jk->ik\", …, …)",
                       "no tensors are given");
    int64_t bytes = (int64_t)mem_mul(ctx, (size_t)s->operands, sizeof *s->operand);
    s->operand = (void *)op_keep(c, tensor_zeros(ctx, DT_U8, 1, &bytes))->data;
    for (int k = 0; k < s->operands; k++)
        s->operand[k].tensor = arg_tensor(c, c->fixed + k);
}

void einsum_read(EinsumSpec *s, OpCall *c)
{
    Conflict conflict;
    memset(s, 0, sizeof *s);
    s->call = c;
    s->text = arg_str(c, 0)->text;
    take_operands(s);
    const char *arrow = strstr(s->text, "->");
    split_terms(s, arrow ? arrow : s->text + strlen(s->text));
    for (int k = 0; k < s->operands; k++)
        read_term(s, k);
    if (!find_lengths(s, &conflict))
        lengths_differ(s, &conflict);
    if (arrow)
        read_result(s, arrow + 2);
    else
        imply_result(s);
}

DType einsum_dtype(const EinsumSpec *s, DType *compute)
{
    const OpCall *c = s->call;
    DTypeVote *votes = (void *)op_keep(s->call, tensor_new(&c->in->ctx, DT_U8, 1,
        (int64_t[]){ s->operands * (int64_t)sizeof(DTypeVote) }))->data;
    for (int k = 0; k < s->operands; k++) {
        const Tensor *t = s->operand[k].tensor;
        int arg = c->fixed + k;
        votes[k] = (DTypeVote){ (DType)t->dtype, t->rank == 0, arg < 32 && (c->weak >> arg & 1) };
    }
    DType dt = dtype_vote(votes, s->operands);
    *compute = dtype_computed(dt);
    return dt;
}

void einsum_contraction(const EinsumSpec *s, DType compute, const int64_t *out_stride,
                        Contraction *c, ContractOperand *operand, char (*names)[8],
                        const char **name)
{
    int number[EINSUM_LABELS];
    memset(c, 0, offsetof(Contraction, out_stride));
    memset(c->out_stride, 0, sizeof c->out_stride);
    c->dtype = compute;
    c->semiring = compute == DT_BOOL ? SR_OR_AND : SR_PLUS_TIMES;
    c->operands = s->operands;
    c->operand = operand;
    for (int i = 0; i < EINSUM_LABELS; i++) {
        number[i] = -1;
        if (s->length[i] < 0 || s->length[i] == 1)
            continue;
        if (c->labels == CONTRACT_LABELS)
            arg_error(s->call, 0, ERR_VALUE, "more than %d labels of lengths other than 1",
                      CONTRACT_LABELS);
        if (names) {
            snprintf(names[c->labels], 8, i < EINSUM_LETTERS ? "%c" : "…%d",
                     i < EINSUM_LETTERS ? index_letter(i) : i - EINSUM_LETTERS + 1);
            name[c->labels] = names[c->labels];
        }
        number[i] = c->labels;
        c->extent[c->labels++] = s->length[i];
    }
    for (int a = 0; a < s->rank; a++)
        if (number[s->result[a]] >= 0) {
            c->out |= (uint64_t)1 << number[s->result[a]];
            c->out_stride[number[s->result[a]]] = out_stride[a];
        }
    for (int k = 0; k < s->operands; k++) {
        const EinsumOperand *x = &s->operand[k];
        memset(&operand[k], 0, sizeof operand[k]);
        operand[k].stored = einsum_stored(x->tensor, compute) ? (uint8_t)x->tensor->dtype : 0;
        for (int a = 0; a < x->tensor->rank; a++)
            if (tensor_shape(x->tensor)[a] != 1) {
                operand[k].labels |= (uint64_t)1 << number[x->index[a]];
                operand[k].stride[number[x->index[a]]] += tensor_strides(x->tensor)[a];
            }
    }
}

void einsum_operand_names(EinsumSpec *s, char (*text)[24], const char **name)
{
    for (int k = 0; k < s->operands; k++) {
        const char *own = tensor_text(s, k);
        if (strlen(own) < 16 && !strpbrk(own, " ()[]{}+-*/\"'.,"))
            snprintf(text[k], sizeof text[k], "%s", own);
        else
            snprintf(text[k], sizeof text[k], "#%d", k + 1);
        name[k] = text[k];
    }
}
