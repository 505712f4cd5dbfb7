/* The makers of nodes. Each one checks what the grammar left general and reports it; a
 * wrong node is kept, since a text with mistakes never runs. */
#include "parser/build.h"

#include "core/base/error.h"
#include "grammar.h"

#include <stdio.h>
#include <string.h>

/* NULL when memory ran out, which ends the parse. */
static void *build_alloc(ParseState *ps, size_t bytes)
{
    ErrFrame frame;
    if (ps->memory)
        return NULL;
    if (!ERR_TRY(ps->ctx, &frame)) {
        ps->memory = true;
        return NULL;
    }
    void *p = arena_alloc(&ps->chunk->arena, bytes);
    ERR_END(ps->ctx, &frame);
    return p;
}

static Node *node_new(ParseState *ps, NodeKind kind, Span span, Span mark)
{
    Node *n = build_alloc(ps, sizeof *n);
    if (!n)
        n = &ps->spare;
    *n = (Node){ .kind = (uint8_t)kind, .span = span, .mark = mark, .slot = -1, .depth = 1 };
    return n;
}

static void node_deepen(Node *n, const Node *child)
{
    if (child && child->depth >= n->depth)
        n->depth = child->depth + 1;
}

static Node *node_check_depth(ParseState *ps, Node *n)
{
    if (n->depth > ps->depth_max && !ps->deep) {
        ps->deep = ps->stop = true;
        syntax_report(ps, n->mark, "name parts of it, or use sum, prod or a loop",
                      "expression nested too deeply");
    }
    return n;
}

/* computes the depth */
static Node *node_finish(ParseState *ps, Node *n)
{
    node_deepen(n, n->a);
    node_deepen(n, n->b);
    node_deepen(n, n->c);
    for (uint32_t i = 0; i < n->count; i++)
        node_deepen(n, n->list[i]);
    return node_check_depth(ps, n);
}

Node *node_make(ParseState *ps, NodeKind kind, Span span, Span mark, Node *a, Node *b, Node *c)
{
    Node *n = node_new(ps, kind, span, mark);
    n->a = a;
    n->b = b;
    n->c = c;
    return node_finish(ps, n);
}

static void node_take(Node *n, Seq seq)
{
    n->list = seq.items;
    n->count = seq.count;
}

Node *node_list(ParseState *ps, NodeKind kind, Span span, Span mark, Seq seq)
{
    Node *n = node_new(ps, kind, span, mark);
    node_take(n, seq);
    return node_finish(ps, n);
}

void seq_add(ParseState *ps, Seq *seq, Node *n)
{
    if (seq->count == seq->cap) {
        uint32_t cap = seq->cap ? seq->cap * 2 : 4;
        Node **items = build_alloc(ps, cap * sizeof *items);
        if (!items)
            return;
        if (seq->count)
            memcpy(items, seq->items, seq->count * sizeof *items);
        seq->items = items;
        seq->cap = cap;
    }
    seq->items[seq->count++] = n;
}

/* ---- long rows of operators: a + b + …, x |> f |> …, t.a[0].b … ---- */

static bool is_long(const Node *left)
{
    return left->kind == ND_LONG && !(left->flags & NF_PARENS);
}

/* What an operator with `left` before it is built on: that, or the value of all before it. */
static Node *operand_left(ParseState *ps, Node *left)
{
    Node *last = is_long(left) ? left->list[left->count - 1] : left;
    if (last->depth < NODE_PART_MAX || last->flags & NF_PARENS)
        return last;
    return node_new(ps, ND_SOFAR, left->span, left->mark);
}

/* The capacity of the list of parts is the power of two from their number on. */
static void add_part(ParseState *ps, Node *whole, Node *part)
{
    if (whole->count > 1 && (whole->count & (whole->count - 1)) == 0) {
        Node **list = build_alloc(ps, 2 * whole->count * sizeof *list);
        if (!list)
            return;
        memcpy(list, whole->list, whole->count * sizeof *list);
        whole->list = list;
    }
    whole->list[whole->count++] = part;
}

/* `made`, of operand_left(left), is the end of the row that `left` is the beginning of. */
static Node *row_of(ParseState *ps, Node *left, Node *made)
{
    Node *whole = left;
    if (!is_long(left)) {
        if (made->a == left || ps->memory)
            return made;
        whole = node_new(ps, ND_LONG, left->span, left->mark);
        whole->list = build_alloc(ps, 2 * sizeof *whole->list);
        if (!whole->list)
            return made;
        whole->list[0] = left;
        whole->count = 1;
        node_deepen(whole, left);
    }
    if (made->a == whole->list[whole->count - 1])
        whole->list[whole->count - 1] = made;
    else
        add_part(ps, whole, made);
    whole->span.to = made->span.to;
    whole->mark = made->mark;
    node_deepen(whole, made);
    return node_check_depth(ps, whole);
}

/* An operator after its left operand. */
Node *build_link(ParseState *ps, NodeKind kind, Span span, Span mark, Node *left, Node *right)
{
    return row_of(ps, left, node_make(ps, kind, span, mark, operand_left(ps, left), right, NULL));
}

/* ---- leaves ---- */

Node *build_literal(ParseState *ps, NodeKind kind, const Token *t)
{
    Node *n = node_new(ps, kind, t->span, t->span);
    n->text = t->text;
    n->text_len = t->len;
    n->flags = t->flags & TF_RAW ? NF_RAW : 0;
    return n;
}

Node *build_bool(ParseState *ps, const Token *t, bool value)
{
    Node *n = node_new(ps, ND_BOOL, t->span, t->span);
    n->op = value;
    return n;
}

Node *build_name(ParseState *ps, const Token *t)
{
    Node *n = node_new(ps, ND_NAME, t->span, t->span);
    n->name = t->name;
    return n;
}

Node *build_format(ParseState *ps, Span span, Node *value, const Token *spec)
{
    Node *n = node_make(ps, ND_FORMATTED, span, span, value, NULL, NULL);
    if (spec) {
        n->text = spec->text;
        n->text_len = spec->len;
    }
    return n;
}

/* ---- operators ---- */

static Span join(const Node *left, const Node *right)
{
    return (Span){ left->span.from, right->span.to };
}

Node *build_unary(ParseState *ps, const Token *op, Node *a)
{
    Node *n = node_make(ps, ND_UNARY, (Span){ op->span.from, a->span.to }, op->span, a, NULL, NULL);
    n->op = op->op == TK_ADD ? TK_POS : op->op == TK_SUB ? TK_NEG : op->op;
    return n;
}

Node *build_binary(ParseState *ps, Node *a, const Token *op, Node *b)
{
    Node *n = node_make(ps, ND_BINARY, join(a, b), op->span, operand_left(ps, a), b, NULL);
    n->op = op->op;
    return row_of(ps, a, n);
}

/* The capacity of a comparison's lists is the power of two above their length. */
static bool compare_grow(ParseState *ps, Node *n)
{
    uint32_t cap = n->count * 2;
    Node **list = build_alloc(ps, cap * sizeof *list);
    uint8_t *ops = build_alloc(ps, cap);
    if (!list || !ops)
        return false;
    memcpy(list, n->list, n->count * sizeof *list);
    memcpy(ops, n->ops, n->count - 1);
    n->list = list;
    n->ops = ops;
    return true;
}

Node *build_compare(ParseState *ps, Node *a, const Token *op, Node *b)
{
    if (a->kind == ND_COMPARE && !(a->flags & NF_PARENS)) {
        if ((a->count & (a->count - 1)) == 0 && !compare_grow(ps, a))
            return a;
        a->ops[a->count - 1] = op->op;
        a->list[a->count++] = b;
        a->span.to = b->span.to;
        node_deepen(a, b);
        return node_check_depth(ps, a);
    }
    Node *n = node_new(ps, ND_COMPARE, join(a, b), op->span);
    n->list = build_alloc(ps, 2 * sizeof *n->list);
    n->ops = build_alloc(ps, 2);
    if (!n->list || !n->ops)
        return node_new(ps, ND_NONE, n->span, n->mark);
    n->list[0] = a;
    n->list[1] = b;
    n->ops[0] = op->op;
    n->count = 2;
    return node_finish(ps, n);
}

static bool is_bare_range(const Node *n)
{
    return n && n->kind == ND_RANGE && !(n->flags & NF_PARENS);
}

static void too_many_colons(ParseState *ps, Span mark)
{
    syntax_error(ps, mark, NULL, "a range is start:stop or start:stop:step");
}

Node *build_range(ParseState *ps, Span span, Node *a, const Token *colon, Node *b)
{
    if (!is_bare_range(a))
        return node_make(ps, ND_RANGE, span, colon->span, a, b, NULL);
    if (a->c)
        too_many_colons(ps, colon->span);
    a->c = b;
    a->span = span;
    return node_finish(ps, a);
}

/* Slices with parts left out; `1:2` inside `:1:2` or `1:2:` was read as a range first. */
Node *build_slice(ParseState *ps, Span span, Node *from, Node *to, Node *step, Span mark)
{
    if (is_bare_range(to) && !from && !step) {
        step = to->b;
        if (to->c)
            too_many_colons(ps, mark);
        to = to->a;
    } else if (is_bare_range(from) && !to && !step) {
        to = from->b;
        if (from->c)
            too_many_colons(ps, mark);
        from = from->a;
    } else if (is_bare_range(from) || is_bare_range(to) || is_bare_range(step)) {
        too_many_colons(ps, mark);
    }
    return node_make(ps, ND_RANGE, span, mark, from, to, step);
}

/* ( … ): one plain expression is itself, everything else a tuple. */
Node *build_group(ParseState *ps, Span span, Seq args, bool comma)
{
    bool single = args.count == 1 && !comma && args.items[0]->kind != ND_NAMED &&
                  args.items[0]->kind != ND_SPREAD;
    if (single) {
        args.items[0]->flags |= NF_PARENS;
        args.items[0]->span = span;
        return args.items[0];
    }
    Node *n = node_list(ps, ND_TUPLE, span, span, args);
    n->flags = NF_PARENS | (comma && args.count ? NF_TRAILING_COMMA : 0);
    return n;
}

Node *build_named(ParseState *ps, Span span, Node *name, Node *value)
{
    if (name->kind != ND_NAME || name->flags & NF_PARENS)
        syntax_error(ps, name->span, "== compares", "a named argument is written name=value");
    Node *n = node_make(ps, ND_NAMED, span, name->span, value, NULL, NULL);
    n->name = name->name;
    return n;
}

static void check_arguments(ParseState *ps, Seq args)
{
    bool named = false;
    for (uint32_t i = 0; i < args.count; i++) {
        const Node *arg = args.items[i];
        if (named && arg->kind != ND_NAMED)
            syntax_error(ps, arg->span, NULL,
                         "an argument without a name stands after a named one");
        named = arg->kind == ND_NAMED;
        for (uint32_t j = 0; named && j < i && args.count <= 64; j++)
            if (args.items[j]->kind == ND_NAMED && args.items[j]->name == arg->name)
                syntax_error(ps, arg->mark, NULL, "the argument %s is given twice",
                             arg->name->text);
    }
}

Node *build_call(ParseState *ps, Span span, Node *callee, Seq args, Span mark)
{
    check_arguments(ps, args);
    Node *n = node_new(ps, ND_CALL, span, (Span){ mark.from, span.to });
    n->a = operand_left(ps, callee);
    node_take(n, args);
    return row_of(ps, callee, node_finish(ps, n));
}

Node *build_index(ParseState *ps, Span span, Node *base, Seq subscripts, Span mark)
{
    Node *n = node_new(ps, ND_INDEX, span, mark);
    n->a = operand_left(ps, base);
    node_take(n, subscripts);
    return row_of(ps, base, node_finish(ps, n));
}

Node *build_field(ParseState *ps, Span span, Node *base, const Token *name)
{
    Node *n = node_make(ps, ND_FIELD, span, name->span, operand_left(ps, base), NULL, NULL);
    n->name = name->name;
    return row_of(ps, base, n);
}

Node *build_expressions(ParseState *ps, Span span, Seq seq)
{
    if (seq.count == 1)
        return seq.items[0];
    return node_list(ps, ND_TUPLE, span, span, seq);
}

/* ---- functions ---- */

static Node *build_param(ParseState *ps, const Node *arg)
{
    Node *n = node_new(ps, ND_PARAM, arg->span, arg->span);
    const Node *name = arg->kind == ND_SPREAD ? arg->a : arg;
    if (arg->kind == ND_NAMED) {
        n->a = arg->a;
        n->mark = arg->mark;
    } else if (name->kind != ND_NAME) {
        syntax_error(ps, arg->span, "write (a, b=1, rest...)", "a parameter is a name");
    }
    if (arg->kind == ND_SPREAD)
        n->flags = NF_VARIADIC;
    n->name = name->name;
    return node_finish(ps, n);
}

static void check_params(ParseState *ps, Seq params)
{
    bool defaults = false;
    for (uint32_t i = 0; i < params.count; i++) {
        const Node *p = params.items[i];
        bool variadic = p->flags & NF_VARIADIC;
        if (variadic && i + 1 < params.count)
            syntax_error(ps, p->span, NULL, "a parameter with ... is the last one");
        if (defaults && !p->a && !variadic)
            syntax_error(ps, p->span, "give it a default too, or move it to the front",
                         "a parameter without a default stands after one with a default");
        defaults |= p->a != NULL;
        for (uint32_t j = 0; j < i && params.count <= 256; j++)
            if (p->name && params.items[j]->name == p->name)
                syntax_error(ps, p->mark, NULL, "the parameter %s stands twice", p->name->text);
    }
}

static Seq build_params(ParseState *ps, Node *const *args, uint32_t count)
{
    Seq params = { 0 };
    for (uint32_t i = 0; i < count; i++)
        seq_add(ps, &params, build_param(ps, args[i]));
    check_params(ps, params);
    return params;
}

Node *build_lambda(ParseState *ps, Span span, Node *left, const Token *arrow, Node *body)
{
    bool list = left->kind == ND_TUPLE;
    Seq params = build_params(ps, list ? left->list : &left, list ? left->count : 1);
    Node *n = node_new(ps, ND_LAMBDA, span, arrow->span);
    n->a = body;
    node_take(n, params);
    return node_finish(ps, n);
}

/* Whether only blanks and one line break stand between two offsets. */
static bool directly_above(const char *text, uint32_t from, uint32_t to)
{
    int lines = 0;
    for (; from < to; from++) {
        if (!memchr(" \t\r\n", text[from], 4))
            return false;
        lines += text[from] == '\n';
    }
    return lines == 1;
}

static bool is_doc(const char *text, const LexComment *c)
{
    return c->own_line && c->span.to - c->span.from >= 2 && text[c->span.from + 1] == '#' &&
           (c->span.to - c->span.from == 2 || text[c->span.from + 2] != '#');
}

/* The run of ## lines directly above `from` as help text of n. */
static void attach_help(ParseState *ps, Node *n, uint32_t from)
{
    const LexComment *comments = ps->lexer.comments;
    const char *text = ps->lexer.text;
    size_t low = 0, high = ps->lexer.comment_count, bytes = 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (comments[middle].span.from < from)
            low = middle + 1;
        else
            high = middle;
    }
    size_t first = low;
    for (uint32_t below = from; first > 0 && is_doc(text, &comments[first - 1]) &&
                                directly_above(text, comments[first - 1].span.to, below); first--) {
        below = comments[first - 1].span.from;
        bytes += comments[first - 1].span.to - below;
    }
    char *help = first < low ? build_alloc(ps, bytes + 1) : NULL;
    if (!help)
        return;
    n->text = help;
    for (size_t i = first; i < low; i++) {
        uint32_t at = comments[i].span.from + 2, to = comments[i].span.to;
        at += at < to && text[at] == ' ';
        if (i > first)
            *help++ = '\n';
        memcpy(help, text + at, to - at);
        help += to - at;
    }
    n->text_len = (uint32_t)(help - n->text);
}

Node *build_fn(ParseState *ps, Span span, const Token *word, const Token *name,
               Seq args, Node *body)
{
    Node *n = node_new(ps, ND_FN, span, name->span);
    n->name = name->name;
    n->a = body;
    n->b = build_name(ps, name);
    node_take(n, build_params(ps, args.items, args.count));
    attach_help(ps, n, word->span.from);
    return node_finish(ps, n);
}

Node *build_if(ParseState *ps, Span span, Node *condition, Node *block, Seq others,
               Node *last, Span mark)
{
    Node *n = node_new(ps, ND_IF, span, mark);
    n->a = condition;
    n->b = block;
    n->c = last;
    node_take(n, others);
    return node_finish(ps, n);
}

/* ---- index notation and comprehensions ---- */

Node *build_bind(ParseState *ps, Span span, Node *target, Node *range)
{
    return node_make(ps, ND_BIND, span, target->span, target, range, NULL);
}

Node *build_comprehension(ParseState *ps, Span span, Node *element, Seq binds,
                          Node *condition, Span mark)
{
    if (condition && binds.count != 1)
        syntax_error(ps, condition->span, "leave out elements with a mask: M[M > 0]",
                     "`if` in a comprehension goes with one variable");
    Node *n = node_new(ps, ND_COMPREHENSION, span, mark);
    n->a = element;
    n->b = condition;
    node_take(n, binds);
    return node_finish(ps, n);
}

Node *build_reduce(ParseState *ps, Span span, const Token *name, Seq binds, Node *body)
{
    Node *n = node_new(ps, ND_REDUCE, span, name->span);
    n->name = name->name;
    n->a = body;
    node_take(n, binds);
    return node_finish(ps, n);
}

Node *build_define(ParseState *ps, Span span, Node *left, const Token *op, Node *right, Seq binds)
{
    bool name = left->kind == ND_NAME, element = left->kind == ND_INDEX && left->a->kind == ND_NAME;
    if ((!name && !element) || left->flags & NF_PARENS)
        syntax_error(ps, left->span, "= assigns",
                     "the left side of := is a name, or a name with indices: C[i,k]");
    Node *n = node_new(ps, ND_DEFINE, span, op->span);
    n->a = left;
    n->b = right;
    node_take(n, binds);
    attach_help(ps, n, span.from);
    return node_finish(ps, n);
}

/* ---- scopes ---- */

static bool is_word(const Name *name, const char *words)
{
    size_t len = name ? name->len : 0;
    for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == len && memcmp(at, name->text, len) == 0)
            return true;
    return false;
}

Node *build_modifier(ParseState *ps, Span span, const Token *word, Node *operand)
{
    static const char modes[] = "nearest away zero up down odd stochastic";
    Node *n = node_make(ps, ND_MODIFIER, span, word->span, operand, NULL, NULL);
    n->name = word->name;
    if (is_word(word->name, "round") && operand &&
        (operand->kind != ND_NAME || !is_word(operand->name, modes)))
        syntax_error(ps, operand->span, NULL, "rounding modes are %s", modes);
    if (is_word(word->name, "accumulate backward shadow") && operand &&
        operand->kind == ND_DEVICE_INDEX)
        syntax_error(ps, operand->span, NULL, "%s takes a format", word->name->text);
    return n;
}

Node *build_device_index(ParseState *ps, Span span, Node *name, const Token *index)
{
    if (name->kind != ND_NAME)
        syntax_error(ps, span, NULL, "a numbered device is written cuda:1");
    Node *n = node_new(ps, ND_DEVICE_INDEX, span, span);
    n->name = name->name;
    n->text = index->text;
    n->text_len = index->len;
    return n;
}

/* Of scopes of formats and of device blocks, each as it is written. */
static const struct { const char *word, *operand; bool device, precision; } modifiers_of[] = {
    { "accumulate", " f32", false, false }, { "round", " up", false, false },
    { "saturate", "", false, false }, { "flush", "", false, false },
    { "reproducible", "", false, false }, { "backward", " e5m2", false, false },
    { "shadow", " mp(200)", false, true }, { "fallback", " cpu", true, false },
    { "strict", "", true, false }, { "narrow", "", true, false },
    { "verbose", "", true, false }, { "quiet", "", true, false },
};
enum { MODIFIERS = sizeof modifiers_of / sizeof *modifiers_of };

static bool modifies(int i, NodeKind kind)
{
    return modifiers_of[i].device == (kind == ND_ON) &&
           (!modifiers_of[i].precision || kind == ND_PRECISION);
}

/* Raises: a word that is none of this kind of scope. */
static void no_modifier(ParseState *ps, NodeKind kind, const Node *m)
{
    char words[128] = "", help[96] = "";
    const char *list[MODIFIERS];
    size_t n = 0, used = 0;
    for (int i = 0; i < MODIFIERS; i++) {
        const char *word = modifiers_of[i].word;
        bool device = modifiers_of[i].device;
        if (modifies(i, kind))
            used += (size_t)snprintf(words + used, sizeof words - used, " %s", list[n++] = word);
        else if (is_word(m->name, word))
            snprintf(help, sizeof help, "%s has it: %s %s%s { … }",
                     device ? "a device block" : "a precision scope",
                     device ? "on cpu" : "precision f32", word, modifiers_of[i].operand);
    }
    const char *close = err_closest(m->name->text, list, n);
    if (!help[0] && close)
        snprintf(help, sizeof help, "did you mean %s?", close);
    syntax_error(ps, m->mark, help[0] ? help : NULL, "%s is no modifier of %s: there are%s",
                 m->name->text, kind == ND_PRECISION ? "a precision scope" :
                 kind == ND_AUTOCAST ? "autocast" : "a device block", words);
}

static bool has_modifier(NodeKind kind, const Name *word)
{
    for (int i = 0; i < MODIFIERS; i++)
        if (modifies(i, kind) && is_word(word, modifiers_of[i].word))
            return true;
    return false;
}

static void check_modifiers(ParseState *ps, NodeKind kind, Seq modifiers, bool block)
{
    for (uint32_t i = 0; i < modifiers.count; i++) {
        const Node *m = modifiers.items[i];
        /* what follows may be its operand: one error is enough */
        if (!has_modifier(kind, m->name)) {
            no_modifier(ps, kind, m);
            return;
        }
        if (is_word(m->name, "shadow") && !block)
            syntax_error(ps, m->mark, "precision f32 shadow mp(200) { … }",
                         "shadow stands in a precision scope with a block");
        for (uint32_t k = 0; k < i; k++) {
            const Name *before = ((const Node *)modifiers.items[k])->name;
            if (m->name == before)
                syntax_error(ps, m->span, "leave one out", "%s is written twice", m->name->text);
            else if (is_word(m->name, "verbose quiet") && is_word(before, "verbose quiet"))
                syntax_error(ps, m->span, "leave one out", "%s and %s exclude each other",
                             before->text, m->name->text);
        }
    }
}

Node *build_scope(ParseState *ps, NodeKind kind, Span span, const Token *word,
                  Node *operand, Seq list, Node *block)
{
    if (kind != ND_COMPARE_BLOCK)
        check_modifiers(ps, kind, list, block != NULL);
    Node *n = node_new(ps, kind, span, word->span);
    n->a = operand;
    n->b = block;
    node_take(n, list);
    return node_finish(ps, n);
}

/* ---- statements ---- */

/* Names, elements and fields may be assigned, and tuples of them. */
static bool check_target(ParseState *ps, const Node *n, bool tuple)
{
    const Node *base = n;
    while (base->kind == ND_INDEX || base->kind == ND_FIELD)
        base = base->a;
    if (base->kind == ND_NAME)
        return true;
    if (base != n) {
        syntax_error(ps, base->span, "give it a name first",
                     "only elements and fields of a variable can be assigned");
        return false;
    }
    if (n->kind == ND_TUPLE && tuple && n->count > 0) {
        bool good = true;
        for (uint32_t i = 0; i < n->count; i++)
            good &= check_target(ps, n->list[i], true);
        return good;
    }
    const char *help = !tuple                   ? NULL
                       : n->kind == ND_CALL    ? "define a function as fn f(x) { … } or f = x -> …"
                       : n->kind == ND_COMPARE ? "= stands once, between one target and its value"
                                               : NULL;
    syntax_error(ps, n->span, help, "only names, elements and fields can be assigned%s",
                 n->kind == ND_BOOL || n->kind == ND_NONE ? "; this word is a value" : "");
    return false;
}

Node *build_assign(ParseState *ps, Span span, Node *target, const Token *op, Node *value)
{
    check_target(ps, target, true);
    Node *n = node_make(ps, ND_ASSIGN, span, op->span, target, value, NULL);
    attach_help(ps, n, span.from);
    return n;
}

Node *build_update(ParseState *ps, Span span, Node *target, const Token *op, Node *value)
{
    check_target(ps, target, false);
    Node *n = node_make(ps, ND_OPASSIGN, span, op->span, target, value,
                        build_gather(ps, target, value));
    n->op = op->op;
    return n;
}

Node *build_for(ParseState *ps, Span span, const Token *word, Seq targets, Span targets_span,
                Node *range, Node *block)
{
    Node *target = build_expressions(ps, targets_span, targets);
    return node_make(ps, ND_FOR, span, word->span, target, range, block);
}

Node *build_try(ParseState *ps, Span span, const Token *word, Node *block, const Token *name,
                Node *handler)
{
    Node *n = node_make(ps, ND_TRY, span, word->span, block,
                        name ? build_name(ps, name) : NULL, handler);
    n->name = name ? name->name : NULL;
    return n;
}

static const Name *build_intern(ParseState *ps, const char *text, size_t len)
{
    ErrFrame frame;
    if (ps->memory)
        return NULL;
    if (!ERR_TRY(ps->ctx, &frame)) {
        ps->memory = true;
        return NULL;
    }
    const Name *name = names_intern(ps->lexer.names, text, len);
    ERR_END(ps->ctx, &frame);
    return name;
}

/* The name under which `import "lib/poly.ric"` is known: poly. */
static const Name *module_name(ParseState *ps, const Token *path)
{
    const char *text = path->text ? path->text : "";
    size_t to = path->len, from;
    if (to > 4 && memcmp(text + to - 4, ".ric", 4) == 0)
        to -= 4;
    for (from = to; from > 0 && text[from - 1] != '/'; from--)
        continue;
    for (size_t i = from; i < to; i++)
        if (memchr(" .-+*()[]{}", text[i], 11))
            return NULL;
    return from < to ? build_intern(ps, text + from, to - from) : NULL;
}

Node *build_import(ParseState *ps, Span span, const Token *word, Seq names, const Token *module,
                   const Token *alias)
{
    const Token *path = names.count == 0 || (module && module->kind == T_STRING) ? module : NULL;
    if (names.count > 1 && !module)
        syntax_error(ps, span, "import several modules with several statements",
                     "import takes one module, or names with `from` and a module");
    Node *n = node_new(ps, ND_IMPORT, span, word->span);
    n->a = path ? build_literal(ps, ND_STRING, path) : NULL;
    n->b = alias ? build_name(ps, alias) : NULL;
    if (module && names.count) {
        node_take(n, names);
        n->name = path ? NULL : module->name;
    } else if (path && !alias) {
        n->b = build_name(ps, path);
        n->b->name = module_name(ps, path);
        if (!n->b->name)
            syntax_error(ps, path->span, "say it: import \"…\" as m", "this module needs a name");
    } else if (names.count) {
        n->name = names.items[0]->name;
        n->mark = names.items[0]->span;
        n->b = n->b ? n->b : names.items[0];
    }
    return node_finish(ps, n);
}

Node *build_extern(ParseState *ps, Span span, const Token *library, const Token *alias,
                   const Token *body)
{
    Node *n = node_new(ps, ND_EXTERN, span, library->span);
    n->mark = (Span){ body->span.from + 1, body->span.to - 1 };    /* between the braces */
    n->a = build_literal(ps, ND_STRING, library);
    n->b = alias ? build_name(ps, alias) : NULL;
    n->text = body->text;
    n->text_len = body->len;
    return node_finish(ps, n);
}

Node *build_explain(ParseState *ps, Span span, const Token *word, const Token *as, Node *what)
{
    Node *n = node_make(ps, ND_EXPLAIN, span, word->span, what, NULL, NULL);
    static const char *const forms[EXPLAIN_FORMS] = { "", "latex", "dot", "svg", "digits" };
    n->name = as ? as->name : NULL;
    const char *form = as ? as->name->text : "";
    while (n->op < EXPLAIN_FORMS && strcmp(form, forms[n->op]) != 0)
        n->op++;
    bool graph = n->op == EXPLAIN_DOT || n->op == EXPLAIN_SVG;
    if (n->op == EXPLAIN_FORMS)
        syntax_error(ps, as->span,
                     "explain as latex …, explain as dot lazy { … }, explain as digits …",
                     "explain has the forms latex, dot, svg and digits, and none called %s", form);
    if (graph && what && what->kind != ND_LAZY)
        syntax_error(ps, as->span, "explain as dot lazy { … }",
                     "explain as %s draws the graph of a lazy block", form);
    return n;
}

Node *build_block(ParseState *ps, Span span, Seq statements, bool braces)
{
    Node *n = node_list(ps, ND_BLOCK, span, (Span){ span.from, span.from + braces }, statements);
    n->flags = braces ? NF_BRACES : 0;
    return n;
}
