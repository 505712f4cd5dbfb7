/* `explain as latex STATEMENT`: the formula in LaTeX, from the syntax alone; nothing runs. The
 * sums that index notation leaves out are written: C[i,k] := A[i,j]*B[j,k] becomes C_{ik} =
 * \sum_{j} A_{ij} B_{jk}. Names and calls are latex_names.c's. */
#include "interp/measure/latex.h"
#include "interp/show/show.h"

#include "core/base/error.h"
#include "interp/measure/explain.h"
#include "interp/notation/indexnot.h"
#include "interp/output/output.h"
#include "interp/lower/lower.h"

#include <stdlib.h>
#include <string.h>

enum { LOOSE, OR, AND, NOT, COMPARED, RANGED, SUM, PRODUCT, PREFIX, POWER, ATOM };

void latex_paren(Latex *t, const Node *n)
{
    buf_puts(&t->out, "\\left(");
    latex_put(t, n, LOOSE);
    buf_puts(&t->out, "\\right)");
}

static void put_list(Latex *t, Node *const *list, uint32_t count, const char *between)
{
    for (uint32_t i = 0; i < count; i++) {
        buf_puts(&t->out, i ? between : "");
        latex_put(t, list[i], LOOSE);
    }
}

static void put_two(Latex *t, const Node *n, const char *sign, int left, int right)
{
    latex_put(t, n->a, left);
    buf_puts(&t->out, sign);
    latex_put(t, n->b, right);
}

/* ---- numbers ---- */

/* 6.02e23 as 6.02 \cdot 10^{23}. */
static void put_number(Latex *t, const Node *n)
{
    bool exponent = false;
    bool hex = n->text_len > 1 && n->text[0] == '0' && n->text[1] > '9';
    for (uint32_t i = 0; i < n->text_len; i++) {
        char c = n->text[i];
        if (c == '_')
            continue;
        if (!hex && (c == 'e' || c == 'E')) {
            bool one = i == 1 && n->text[0] == '1';
            t->out.len -= one;
            buf_puts(&t->out, one ? "10^{" : " \\cdot 10^{");
            exponent = true;
        } else if (c != '+') {
            buf_putc(&t->out, c);
        }
    }
    buf_puts(&t->out, exponent ? "}" : "");
}

/* ---- operators ---- */

static bool starts_with_digit(const Node *n)
{
    while (n->kind == ND_BINARY && (n->op == TK_MUL || n->op == TK_POW))
        n = n->a;
    return n->kind == ND_INT || n->kind == ND_FLOAT || n->kind == ND_IMAG;
}

/* A capital letter is taken for a matrix, where a * between two is no matrix product. */
static bool is_matrix(const Node *n)
{
    bool letter = n->kind == ND_NAME && n->name->len == 1;
    return n->kind == ND_TRANSPOSE ||
           (letter && n->name->text[0] >= 'A' && n->name->text[0] <= 'Z');
}

static bool ends_in_word(const Node *n)
{
    return n->kind == ND_NAME && n->name->len > 1;
}

static void put_product(Latex *t, const Node *n)
{
    const char *sign = " ";
    if (!t->indexed && is_matrix(n->a) && is_matrix(n->b))
        sign = " \\odot ";
    else if (starts_with_digit(n->b) || n->b->kind == ND_REDUCE)
        sign = " \\cdot ";
    else if (ends_in_word(n->a) || (ends_in_word(n->b) && n->a->kind != ND_INT))
        sign = t->tight ? "\\," : " \\, ";
    else if (t->tight)
        sign = "";
    put_two(t, n, sign, PRODUCT, n->b->kind == ND_UNARY ? POWER : PRODUCT + 1);
}

static void put_wrapped(Latex *t, const char *before, const Node *n, const char *after)
{
    buf_puts(&t->out, before);
    latex_put(t, n, LOOSE);
    buf_puts(&t->out, after);
}

static void put_fraction(Latex *t, const Node *n, const char *before, const char *after)
{
    buf_puts(&t->out, before);
    put_wrapped(t, "\\frac{", n->a, "}");
    put_wrapped(t, "{", n->b, "}");
    buf_puts(&t->out, after);
}

/* Written between bars or brackets of its own. */
static bool is_bracketed(const Latex *t, const Node *n)
{
    const Op *op = n->kind == ND_CALL && n->count == 1 && n->a->kind == ND_NAME
                   ? op_find(t->lo->in, n->a->name) : NULL;
    return op && op->latex && strncmp(op->latex, "\\left", 5) == 0;
}

static void put_power(Latex *t, const Node *n)
{
    bool plain = n->a->kind == ND_NAME || n->a->kind == ND_INDEX || n->a->kind == ND_INT ||
                 is_bracketed(t, n->a);
    if (plain)
        latex_put(t, n->a, ATOM);
    else
        latex_paren(t, n->a);
    put_wrapped(t, "^{", n->b, "}");
}

static void put_inverse_product(Latex *t, const Node *n)
{
    latex_put(t, n->a, POWER);
    buf_puts(&t->out, "^{-1} ");
    latex_put(t, n->b, PRODUCT + 1);
}

static void put_binary(Latex *t, const Node *n)
{
    switch (n->op) {
    case TK_ADD: put_two(t, n, t->tight ? "+" : " + ", SUM, SUM); break;
    case TK_SUB: put_two(t, n, t->tight ? "-" : " - ", SUM, SUM + 1); break;
    case TK_MUL: put_product(t, n); break;
    case TK_DIV: put_fraction(t, n, "", ""); break;
    case TK_FLOORDIV: put_fraction(t, n, "\\left\\lfloor ", " \\right\\rfloor"); break;
    case TK_MOD: put_two(t, n, " \\bmod ", PRODUCT, PRODUCT + 1); break;
    case TK_MATMUL: put_two(t, n, " ", PRODUCT, PRODUCT + 1); break;
    case TK_SOLVE: put_inverse_product(t, n); break;
    case TK_DOT: put_two(t, n, " \\cdot ", PRODUCT, PRODUCT + 1); break;
    case TK_OUTER: put_two(t, n, " \\otimes ", PRODUCT, PRODUCT + 1); break;
    case TK_CROSS: put_two(t, n, " \\times ", PRODUCT, PRODUCT + 1); break;
    case TK_POW: put_power(t, n); break;
    case TK_BITAND: put_two(t, n, " \\wedge ", AND, AND + 1); break;
    default: put_two(t, n, " \\vee ", OR, OR + 1);
    }
}

static int binary_level(const Node *n)
{
    switch (n->op) {
    case TK_ADD: case TK_SUB: return SUM;
    case TK_POW: return POWER;
    case TK_DIV: case TK_FLOORDIV: return POWER;       /* a fraction is as tight as its bar */
    case TK_BITAND: return AND;
    case TK_BITOR: return OR;
    default: return PRODUCT;
    }
}

static void put_unary(Latex *t, const Node *n)
{
    if (n->op == TK_SQRT) {
        put_wrapped(t, "\\sqrt{", n->a, "}");
        return;
    }
    buf_puts(&t->out, n->op == TK_NEG ? "-" : n->op == TK_POS ? "+" : "\\lnot ");
    latex_put(t, n->a, PREFIX);
}

static void put_comparison(Latex *t, const Node *n)
{
    for (uint32_t i = 0; i < n->count; i++) {
        if (i > 0)
            switch (n->ops[i - 1]) {
            case TK_EQ: buf_puts(&t->out, " = "); break;
            case TK_NE: buf_puts(&t->out, " \\ne "); break;
            case TK_LE: buf_puts(&t->out, " \\le "); break;
            case TK_GE: buf_puts(&t->out, " \\ge "); break;
            case TK_APPROX: buf_puts(&t->out, " \\approx "); break;
            case TK_IN: buf_puts(&t->out, " \\in "); break;
            case TK_NOTIN: buf_puts(&t->out, " \\notin "); break;
            default: buf_printf(&t->out, " %s ", operator_symbol(n->ops[i - 1]));
            }
        latex_put(t, n->list[i], COMPARED + 1);
    }
}

static void put_transpose(Latex *t, const Node *n)
{
    bool plain = n->a->kind == ND_NAME || n->a->kind == ND_INDEX;
    if (plain)
        latex_put(t, n->a, ATOM);
    else
        latex_paren(t, n->a);
    buf_puts(&t->out, "^{\\mathsf{T}}");
}

/* ---- matrices ---- */

static void put_matrix(Latex *t, Node *const *rows, uint32_t count)
{
    buf_puts(&t->out, "\\begin{pmatrix} ");
    for (uint32_t i = 0; i < count; i++) {
        buf_puts(&t->out, i ? " \\\\ " : "");
        put_list(t, rows[i]->list, rows[i]->count, " & ");
    }
    buf_puts(&t->out, " \\end{pmatrix}");
}

static void put_vector(Latex *t, const Node *n)
{
    bool nested = n->count > 0;
    for (uint32_t i = 0; i < n->count; i++)
        nested &= n->list[i]->kind == ND_VECTOR && n->list[i]->count == n->list[0]->count &&
                  n->list[i]->count > 0;
    if (nested) {
        put_matrix(t, n->list, n->count);
        return;
    }
    if (n->count == 0) {
        buf_puts(&t->out, "\\begin{pmatrix} \\end{pmatrix}");
        return;
    }
    buf_puts(&t->out, "\\begin{pmatrix} ");
    put_list(t, n->list, n->count, " \\\\ ");
    buf_puts(&t->out, " \\end{pmatrix}");
}

/* ---- indices ---- */

/* One letter or digit each: A_{ij}; otherwise with commas between. */
static bool short_subscripts(const Node *n)
{
    for (uint32_t i = 0; i < n->count; i++) {
        const Node *s = n->list[i];
        bool letter = s->kind == ND_NAME && s->name->len == 1;
        if (!letter && !(s->kind == ND_INT && s->text_len == 1))
            return false;
    }
    return true;
}

static void put_index(Latex *t, const Node *n)
{
    bool outer = t->tight;
    bool plain = n->a->kind == ND_NAME;
    if (plain)
        latex_put(t, n->a, ATOM);
    else
        latex_paren(t, n->a);
    t->tight = true;
    buf_puts(&t->out, "_{");
    put_list(t, n->list, n->count, short_subscripts(n) ? "" : ",");
    buf_puts(&t->out, "}");
    t->tight = outer;
}

/* The last value of start:stop. */
static void put_last(Latex *t, const Node *stop)
{
    if (stop->kind == ND_INT && stop->text_len < 10 && !memchr(stop->text, '_', stop->text_len) &&
        !memchr(stop->text, 'x', stop->text_len) && !memchr(stop->text, 'b', stop->text_len)) {
        buf_printf(&t->out, "%lld", strtoll(stop->text, NULL, 10) - 1);
        return;
    }
    bool one = stop->kind == ND_BINARY && stop->op == TK_ADD && stop->b->kind == ND_INT &&
               stop->b->text_len == 1 && stop->b->text[0] == '1';
    latex_put(t, one ? stop->a : stop, SUM);
    buf_puts(&t->out, one ? "" : "-1");
}

/* k=1}^{n, or k, or k \in S. */
static void put_binding(Latex *t, const Node *bind)
{
    const Node *range = bind->b;
    latex_put(t, bind->a, LOOSE);
    if (!range)
        return;
    if (range->kind != ND_RANGE || !range->a || !range->b) {
        put_wrapped(t, " \\in ", range, "");
        return;
    }
    put_wrapped(t, "=", range->a, "");
    if (!range->c) {
        buf_puts(&t->out, "}^{");
        put_last(t, range->b);
        return;
    }
    buf_puts(&t->out, ",");
    latex_put(t, range->a, SUM);
    if (range->c->kind != ND_UNARY)
        buf_puts(&t->out, "+");
    latex_put(t, range->c, SUM);
    put_wrapped(t, ",\\dots}^{<", range->b, "");
}

static void put_binder(Latex *t, const Name *name)
{
    const Op *op = op_find(t->lo->in, name);
    if (op && op->latex_over)
        buf_puts(&t->out, op->latex_over);
}

static void put_reduction(Latex *t, const Node *n)
{
    bool outer = t->tight, open = false;
    t->tight = true;
    for (uint32_t i = 0; i < n->count; i++) {
        const Node *bind = n->list[i];
        if (open && !bind->b) {
            buf_puts(&t->out, ",");                    /* \sum_{k,l} */
        } else {
            buf_puts(&t->out, open ? "} " : "");
            put_binder(t, n->name);
            buf_puts(&t->out, "_{");
        }
        put_binding(t, bind);
        open = !bind->b;
        buf_puts(&t->out, open ? "" : "} ");
    }
    buf_puts(&t->out, open ? "} " : "");
    t->tight = outer;
    latex_put(t, n->a, PRODUCT);
}

/* The sums that the notation leaves out, where they begin. */
static LatexSum *find_sum(Latex *t, const Node *n)
{
    for (LatexSum *s = t->sums; s; s = s->next)
        if (s->node == n && !s->written)
            return s;
    return NULL;
}

static void put_sum(Latex *t, const Node *n)
{
    LatexSum *s = find_sum(t, n);
    s->written = true;
    buf_puts(&t->out, "\\sum_{");
    for (int i = 0; i < s->count; i++) {
        buf_puts(&t->out, i ? "," : "");
        latex_name(t, s->name[i]);
    }
    buf_puts(&t->out, "} ");
}

/* `for i in 0:5, j in 0:5` of a definition, the binds of a comprehension. */
static void put_ranges(Latex *t, const Node *n, const char *before)
{
    for (uint32_t i = 0; i < n->count; i++) {
        const Node *range = n->list[i]->b;
        buf_puts(&t->out, i ? ", \\; " : before);
        latex_put(t, n->list[i]->a, LOOSE);
        if (range && range->kind == ND_RANGE && range->a && range->b && !range->c) {
            put_wrapped(t, " = ", range->a, ", \\dots, ");
            put_last(t, range->b);
        } else if (range) {
            put_wrapped(t, " \\in ", range, "");
        }
    }
}

static void put_comprehension(Latex *t, const Node *n)
{
    bool plain = !n->b;
    for (uint32_t i = 0; i < n->count; i++)
        plain &= !n->list[i]->b && n->list[i]->a->kind == ND_NAME && n->list[i]->a->name->len == 1;
    latex_paren(t, n->a);
    buf_puts(&t->out, "_{");
    if (plain)
        put_list(t, n->list, n->count, "");
    else
        put_ranges(t, n, "");
    if (n->b)
        put_wrapped(t, ", \\; ", n->b, "");
    buf_puts(&t->out, "}");
}

static void put_range(Latex *t, const Node *n)
{
    if (n->a)
        latex_put(t, n->a, SUM);
    buf_puts(&t->out, ":");
    if (n->b)
        latex_put(t, n->b, SUM);
    if (n->c)
        put_wrapped(t, ":", n->c, "");
}

/* ---- statements ---- */

static void put_cases(Latex *t, const Node *n)
{
    buf_puts(&t->out, "\\begin{cases} ");
    for (uint32_t i = 0; i <= n->count; i += 2) {
        latex_put(t, i ? n->list[i - 1] : n->b, LOOSE);
        put_wrapped(t, " & \\text{if } ", i ? n->list[i - 2] : n->a, " \\\\ ");
    }
    if (n->c) {
        latex_put(t, n->c, LOOSE);
        buf_puts(&t->out, " & \\text{otherwise}");
    }
    buf_puts(&t->out, " \\end{cases}");
}

static void put_function(Latex *t, const Node *n)
{
    latex_name(t, n->b->name);
    buf_puts(&t->out, "\\left(");
    for (uint32_t i = 0; i < n->count; i++) {
        buf_puts(&t->out, i ? ", " : "");
        latex_name(t, n->list[i]->name);
    }
    put_wrapped(t, "\\right) = ", n->a, "");
}

static void put_lambda(Latex *t, const Node *n)
{
    buf_puts(&t->out, n->count == 1 ? "" : "\\left(");
    for (uint32_t i = 0; i < n->count; i++) {
        buf_puts(&t->out, i ? ", " : "");
        latex_name(t, n->list[i]->name);
    }
    put_wrapped(t, n->count == 1 ? " \\mapsto " : "\\right) \\mapsto ", n->a, "");
}

static void put_update(Latex *t, const Node *n)
{
    Node both = { .kind = ND_BINARY, .op = n->op, .a = n->a, .b = n->b };
    latex_put(t, n->a, LOOSE);
    buf_puts(&t->out, " \\gets ");
    latex_put(t, &both, LOOSE);
}

/* A block of one statement is that statement. */
static void put_block(Latex *t, const Node *n)
{
    put_list(t, n->list, n->count, " \\\\ ");
}

static void put_definition(Latex *t, const Node *n)
{
    bool outer = t->indexed;
    t->indexed = true;
    latex_put(t, n->a, LOOSE);
    buf_puts(&t->out, " = ");
    latex_put(t, n->b, LOOSE);
    put_ranges(t, n, " \\quad ");
    t->indexed = outer;
}

static bool put_statement(Latex *t, const Node *n)
{
    switch (n->kind) {
    case ND_ASSIGN: put_two(t, n, " = ", LOOSE, LOOSE); return true;
    case ND_OPASSIGN: put_update(t, n); return true;
    case ND_DEFINE: put_definition(t, n); return true;
    case ND_BLOCK: put_block(t, n); return true;
    case ND_IF: put_cases(t, n); return true;
    case ND_FN: put_function(t, n); return true;
    case ND_RETURN:
        if (n->a)
            latex_put(t, n->a, LOOSE);
        return true;
    default: return false;
    }
}

static bool put_expression(Latex *t, const Node *n)
{
    switch (n->kind) {
    case ND_NONE: buf_puts(&t->out, "\\mathrm{none}"); return true;
    case ND_BOOL: buf_puts(&t->out, n->op ? "\\mathrm{true}" : "\\mathrm{false}"); return true;
    case ND_INT: case ND_FLOAT: put_number(t, n); return true;
    case ND_IMAG:
        if (n->text_len != 1 || n->text[0] != '1')
            put_number(t, n);
        buf_puts(&t->out, "\\mathrm{i}");
        return true;
    case ND_STRING: latex_text(&t->out, n->text, n->text_len); return true;
    case ND_NAME: latex_name(t, n->name); return true;
    case ND_ELLIPSIS: buf_puts(&t->out, "\\dots"); return true;
    case ND_VECTOR: put_vector(t, n); return true;
    case ND_MATRIX: put_matrix(t, n->list, n->count); return true;
    case ND_TUPLE:
        buf_puts(&t->out, "\\left(");
        put_list(t, n->list, n->count, ", ");
        buf_puts(&t->out, "\\right)");
        return true;
    case ND_NAMED: latex_name(t, n->name); put_wrapped(t, " = ", n->a, ""); return true;
    case ND_RANGE: put_range(t, n); return true;
    case ND_BIND: put_binding(t, n); return true;
    case ND_COMPREHENSION: put_comprehension(t, n); return true;
    case ND_UNARY: put_unary(t, n); return true;
    case ND_BINARY: put_binary(t, n); return true;
    case ND_COMPARE: put_comparison(t, n); return true;
    case ND_AND: put_two(t, n, " \\land ", AND, AND + 1); return true;
    case ND_OR: put_two(t, n, " \\lor ", OR, OR + 1); return true;
    case ND_NOT: buf_puts(&t->out, "\\lnot "); latex_put(t, n->a, NOT); return true;
    case ND_TRANSPOSE: put_transpose(t, n); return true;
    case ND_CALL: case ND_PIPE: latex_call(t, n); return true;
    case ND_INDEX: put_index(t, n); return true;
    case ND_FIELD:
        latex_put(t, n->a, ATOM);
        buf_puts(&t->out, ".");
        latex_name(t, n->name);
        return true;
    case ND_LAMBDA: put_lambda(t, n); return true;
    case ND_REDUCE: put_reduction(t, n); return true;
    default: return put_statement(t, n);
    }
}

static int level_of(const Node *n)
{
    switch (n->kind) {
    case ND_UNARY: return n->op == TK_SQRT ? ATOM : PREFIX;
    case ND_BINARY: return binary_level(n);
    case ND_COMPARE: return COMPARED;
    case ND_AND: return AND;
    case ND_OR: return OR;
    case ND_NOT: return NOT;
    case ND_REDUCE: return PRODUCT;
    case ND_LAMBDA: case ND_ASSIGN: case ND_DEFINE: case ND_OPASSIGN: return LOOSE;
    default: return ATOM;
    }
}

/* A sum sign binds the whole product that follows it, so what carries one is a product. */
void latex_put(Latex *t, const Node *n, int level)
{
    const LatexSum *sum = find_sum(t, n);
    int mine = sum ? PRODUCT : level_of(n);
    if (mine < level || (sum && level == PRODUCT + 1)) {
        latex_paren(t, n);
        return;
    }
    if (sum) {
        put_sum(t, n);
        if (level_of(n) < PRODUCT) {
            latex_paren(t, n);
            return;
        }
    }
    if (!put_expression(t, n) && !t->misfit)
        t->misfit = n;
}

/* ---- the sums of index notation ---- */

static void add_sum(Latex *t, const IxTree *tree, const IxNode *x)
{
    LatexSum *s = lower_alloc(t->lo, sizeof *s);
    s->node = x->at->node;
    for (uint64_t m = x->over; m; m &= m - 1)
        s->name[s->count++] = tree->index[__builtin_ctzll(m)].name;
    s->next = t->sums;
    t->sums = s;
}

static void collect_sums(Latex *t, const IxTree *tree, const IxNode *x)
{
    if (x->kind == IX_REDUCE && x->einstein)
        add_sum(t, tree, x);
    for (int k = 0; k < x->args; k++)
        collect_sums(t, tree, x->arg[k]);
    for (int k = 0; k < x->subs; k++)
        collect_sums(t, tree, x->sub[k].at);
}

static bool is_notation(const Node *n)
{
    bool indices = false;
    for (uint32_t i = 0; n->kind == ND_COMPREHENSION && i < n->count; i++)
        indices |= !n->list[i]->b;
    return n->kind == ND_DEFINE || n->kind == ND_REDUCE || indices;
}

/* Finds index notation in the tree; false: it is wrong, and *failed raises that. */
static bool find_notation(Latex *t, const Node *n, const Exec **failed)
{
    if (!n)
        return true;
    if (is_notation(n)) {
        const Exec *x = lower_indexnot(t->lo, n);
        const IxSite *site = x->data;
        if (site->tree.fail) {
            *failed = x;
            return false;
        }
        collect_sums(t, &site->tree, site->tree.root);
        return true;
    }
    for (uint32_t i = 0; i < n->count; i++)
        if (!find_notation(t, n->list[i], failed))
            return false;
    return find_notation(t, n->a, failed) && find_notation(t, n->b, failed) &&
           find_notation(t, n->c, failed);
}

/* ---- running ---- */

static Value eval_latex(Interp *in, const Exec *x)
{
    const char *text = x->data;
    out_write(in, text, strlen(text));
    return v_none();
}

static void put_lines(Latex *t, const Node *n)
{
    bool block = n->kind == ND_BLOCK;
    for (uint32_t i = 0; i < (block ? n->count : 1); i++) {
        latex_put(t, block ? n->list[i] : n, LOOSE);
        buf_putc(&t->out, '\n');
    }
}

static const Exec *lower_formula(Latex *t, const Node *n)
{
    const Exec *failed = NULL;
    if (!find_notation(t, n->a, &failed))
        return failed;
    put_lines(t, n->a);
    if (t->misfit)
        return exec_raise(t->lo, t->misfit, ERR_TYPE, "give it an expression or a definition",
                          "no formula can be written for this: %s",
                          node_kind_name((NodeKind)t->misfit->kind));
    Exec *x = exec_new(t->lo, eval_latex, n);
    x->data = arena_copy(&t->lo->chunk->arena, t->out.data, t->out.len);
    return x;
}

const Exec *lower_latex(Lower *lo, const Node *n)
{
    Latex t = { .lo = lo };
    ErrFrame frame;
    Ctx *ctx = &lo->in->ctx;
    buf_init(&t.out, ctx);
    if (ERR_TRY(ctx, &frame)) {
        const Exec *x = lower_formula(&t, n);
        ERR_END(ctx, &frame);
        buf_free(&t.out);
        return x;
    }
    buf_free(&t.out);
    err_rethrow(ctx);
}
