/* The rules of rows. An elementwise row has its slopes in Op.gradient: a formula for each operand,
 * parted by `;`, of the operands x, y, z and the result r. `-` stands for an operand without one.
 * A formula with w in it is the whole cotangent, and a tangent of t follows it behind a `|`: rows
 * that are not holomorphic. What the formulas mention is kept, nothing else. They are functions of
 * the language, so chains in them run fused, in any format.
 *
 * A cotangent that is exactly 0 stays 0, whatever the slope is there.
 *
 * All other rows have a function in rules.ric, d_NAME, whose parameters say what is kept: the row's
 * own by their names, NAME_shape, result; w is the cotangent, needs says which are asked for. */
#include "interp/gradient/gradient.h"
#include "interp/eval/module.h"
#include "interp/op/slopes.h"
#include "interp/op/heard.h"
#include "interp/state/exec.h"
#include "interp/state/stdlib_files.h"

#include "core/base/error.h"
#include "core/base/mem.h"

#include <stdio.h>
#include <string.h>

struct Gradients {
    Module *module;                 /* rules.ric, and once whole tangents.ric */
    bool whole;
    Value *written;                 /* functions of library_text: the module keeps their code */
    size_t written_count, written_cap;
    int rules;
    Rule rule[];                    /* by row */
};

/* ---- the module ---- */
static Value library_run(Interp *in, Module *module, const char *text)
{
    return module_library(in, "builtins/gradients/rules", module, text);
}

static size_t gradients_size(int rules)
{
    return sizeof(struct Gradients) + (size_t)rules * sizeof(Rule);
}

static struct Gradients *gradients(Interp *in)
{
    if (!in->gradients) {
        Value module = library_run(in, NULL, NULL);
        int rules = op_count(in);
        in->gradients = mem_zalloc(&in->ctx, gradients_size(rules));
        in->gradients->module = module.module;
        in->gradients->rules = rules;
    }
    struct Gradients *g = in->gradients;
    if (!g->whole)
        library_run(in, g->module, stdlib_file("builtins/gradients/tangents")->text);
    g->whole = true;
    return g;
}

Value library_text(Interp *in, const char *text)
{
    struct Gradients *g = gradients(in);
    size_t len = strlen(text);
    for (size_t i = g->written_count; i-- > 0;) {
        const Source *s = g->written[i].fn->chunk->source;
        if (s->len == len && memcmp(s->text, text, len) == 0)
            return v_retain(g->written[i]);
    }
    if (g->written_count == g->written_cap) {
        size_t cap = g->written_cap * 2 + 32;
        g->written = mem_realloc(&in->ctx, g->written, g->written_cap * sizeof *g->written,
                                 cap * sizeof *g->written);
        g->written_cap = cap;
    }
    Value f = library_run(in, g->module, text);
    if (f.tag == V_FUNCTION)
        g->written[g->written_count++] = v_retain(f);
    return f;
}

static void slope_free(Ctx *ctx, Slope *s)
{
    for (int i = 0; i < 3; i++)
        v_release(ctx, s->back[i]);
    for (int i = 0; i < 2; i++)
        v_release(ctx, s->forward[i]);
    v_release(ctx, s->alone);
    if (s->text)
        mem_free(ctx, s->text, strlen(s->text) + 1);
    if (s->tangent)
        mem_free(ctx, s->tangent, strlen(s->tangent) + 1);
}

void gradients_free(Interp *in)
{
    struct Gradients *g = in->gradients;
    if (!g)
        return;
    for (int i = 0; i < g->rules; i++) {
        for (int k = 0; k < 3; k++)
            slope_free(&in->ctx, &g->rule[i].slope[k]);
        v_release(&in->ctx, g->rule[i].back.function);
        v_release(&in->ctx, g->rule[i].forward.function);
    }
    for (size_t i = 0; i < g->written_count; i++)
        v_release(&in->ctx, g->written[i]);
    if (g->written)
        mem_free(&in->ctx, g->written, g->written_cap * sizeof *g->written);
    mem_free(&in->ctx, g, gradients_size(g->rules));
    in->gradients = NULL;
}

Value gradient_function(Interp *in, const char *name)
{
    Module *m = gradients(in)->module;
    const Name *interned = names_find(&in->names, name, strlen(name));
    int64_t i = interned ? globals_find(&m->globals, interned) : -1;
    return i < 0 ? v_undef() : m->slots[i];
}

/* ---- slopes ---- */
static char *text_copy(Ctx *ctx, const char *from, size_t len)
{
    char *s = mem_alloc(ctx, len + 1);
    memcpy(s, from, len);
    s[len] = 0;
    return s;
}

static uint8_t names_in(const char *text, size_t len)
{
    static const char names[] = "xyzrw";
    uint8_t set = 0;
    for (int i = 0; names[i]; i++)
        set |= slope_mentions(text, len, names[i]) ? 1 << i : 0;
    return set;
}

static void slopes_read(Interp *in, Rule *rule, const Op *op)
{
    for (int i = 0; i < 3; i++) {
        OpSlope from;
        Slope *s = &rule->slope[i];
        if (!op_slope(op, i, &from))
            continue;
        slope_free(&in->ctx, s);        /* of a reading that memory ended */
        *s = (Slope){ 0 };
        s->text = text_copy(&in->ctx, from.text, from.len);
        s->keeps = names_in(from.text, from.len);
        s->whole = s->keeps & SLOPE_W;
        s->constant = strcmp(s->text, "1") == 0 ? 1 : strcmp(s->text, "-1") == 0 ? -1 : 0;
        if (from.tangent) {
            s->tangent = text_copy(&in->ctx, from.tangent, from.tangent_len);
            s->keeps |= names_in(from.tangent, from.tangent_len);
        }
        s->keeps &= (uint8_t)~SLOPE_W;
    }
    rule->kind = RULE_SLOPES;
}

/* (t, x, r) -> …, of a formula that is put between `before` and `after`. */
static Value slope_function(Interp *in, uint8_t keeps, const char *first, const char *before,
                            const char *formula, const char *after)
{
    static const char names[] = "xyzr";
    Buf b;
    Value f;
    ErrFrame frame;
    buf_init(&b, &in->ctx);
    if (!ERR_TRY(&in->ctx, &frame)) {
        buf_free(&b);
        err_rethrow(&in->ctx);
    }
    buf_printf(&b, "(%s", first);
    for (int i = 0; names[i]; i++)
        if (keeps >> i & 1)
            buf_printf(&b, ", %c", names[i]);
    buf_printf(&b, ") -> %s%s%s\n", before, formula, after);
    f = library_text(in, buf_cstr(&b));
    ERR_END(&in->ctx, &frame);
    buf_free(&b);
    return f;
}

/* A cotangent of 0 stays 0 whatever the slope is. Whether an interval that holds 0 is 0 cannot be
 * told, and need not: times a slope it holds 0. */
static bool encloses(Value w)
{
    return w.tag == V_TENSOR && w.tensor->dtype == DT_INTERVAL;
}

static Value slope_back(Interp *in, Slope *s, DType of, bool plain)
{
    int which = plain ? 0 : dtype_info(of)->kind == 'c' ? 2 : 1;
    if (s->back[which].tag == V_UNDEF) {
        const char *before = s->whole ? which == 0 ? "" : "where(w == 0, 0, "
                           : which == 0 ? "w * (" : which == 1 ? "where(w == 0, 0, w * ("
                                                               : "where(w == 0, 0, w * conj(";
        const char *after = s->whole ? which == 0 ? "" : ")" : which == 0 ? ")" : "))";
        s->back[which] = slope_function(in, s->keeps, "w", before, s->text, after);
    }
    return s->back[which];
}

static Value slope_forward(Interp *in, Slope *s, bool plain)
{
    Value *f = &s->forward[plain];
    const char *text = s->tangent ? s->tangent : s->text;
    const char *before = s->tangent ? plain ? "" : "where(t == 0, 0, "
                                    : plain ? "t * (" : "where(t == 0, 0, t * (";
    const char *after = s->tangent ? plain ? "" : ")" : plain ? ")" : "))";
    if (f->tag == V_UNDEF)
        *f = slope_function(in, s->keeps, "t", before, text, after);
    return *f;
}

/* ---- functions ---- */
/* The parameter of the row that a parameter of its rule names: text, so many letters. */
int row_param(Interp *in, const Op *op, const char *text, size_t len)
{
    const OpSig *sig = op_sig(in, op);
    int all = sig->fixed + sig->variadic;
    for (int i = 0; i < all; i++)
        if (strlen(sig->params[i].name->text) == len &&
            memcmp(sig->params[i].name->text, text, len) == 0)
            return i;
    return -1;
}

static RuleParam param_read(Interp *in, const Op *op, const char *p)
{
    size_t len = strlen(p);
    int arg = row_param(in, op, p, len), what = PARAM_VALUE;
    if (strcmp(p, "w") == 0)
        what = PARAM_W;
    else if (strcmp(p, "result") == 0)
        what = PARAM_RESULT;
    else if (strcmp(p, "needs") == 0)
        what = PARAM_NEEDS;
    else if (arg < 0 && len > 6 && strcmp(p + len - 6, "_shape") == 0)
        arg = row_param(in, op, p, len - 6), what = PARAM_SHAPE;
    else if (arg < 0 && len > 2 && strcmp(p + len - 2, "_t") == 0)
        arg = row_param(in, op, p, len - 2), what = PARAM_TANGENT;
    else if (arg < 0 && p[len - 1] == '_')
        arg = row_param(in, op, p, len - 1);
    return (RuleParam){ (uint8_t)what, (int8_t)arg };
}

/* The function PREFIX_NAME of the library and what its parameters want; false: there is none. */
static bool function_read(Interp *in, RuleFunction *f, const Op *op, const char *prefix)
{
    char name[80];
    snprintf(name, sizeof name, "%s_%s", prefix, op->name);
    Value found = gradient_function(in, name);
    if (found.tag != V_FUNCTION)
        return false;
    const FnCode *code = found.fn->code;
    f->function = v_retain(found);
    for (uint32_t i = 0; i < code->params && i < RULE_PARAMS; i++)
        f->param[f->params++] = param_read(in, op, code->node->list[i]->name->text);
    return true;
}

static void rule_read(Interp *in, Rule *rule, const Op *op)
{
    rule->known = true;
    if (op_has_slopes(op)) {
        slopes_read(in, rule, op);
        return;
    }
    if (op_steps(op))
        rule->kind = RULE_STEP;
    else if (op->gradient)
        rule->kind = RULE_CONSTANT;
    else if (function_read(in, &rule->back, op, "d"))
        rule->kind = RULE_FUNCTION;
    if (rule->kind == RULE_FUNCTION)
        function_read(in, &rule->forward, op, "t");
}

Rule *rule_of(Interp *in, const Op *op)
{
    static const Rule none;
    struct Gradients *g = gradients(in);
    int64_t i = op - op_row(in, 0);
    if (op->added || i < 0 || i >= g->rules)
        return (Rule *)&none;
    Rule *rule = &g->rule[i];
    if (!rule->known)
        rule_read(in, rule, op);
    return rule;
}

/* ---- what is kept ---- */
/* Of the slopes of all operands that have a node. */
static uint8_t slopes_keep(const Rule *rule, const Tape *t, const Entry *e)
{
    uint8_t keeps = 0;
    for (int i = 0; i < (int)e->operands; i++)
        if (t->mode == TAPE_FORWARD || t->operand[e->operand + i].node)
            keeps |= rule->slope[i].keeps;
    return keeps;
}

static Value shape_of(Interp *in, Value v)
{
    v = v_measured(v, LENGTH_ALL);
    if (v.tag == V_UNDEF)
        return v_none();
    return call_row_of(in, "shape", &v, 1);
}

/* A parameter's argument as the function wants it: the variadic ones as a tuple. */
Value param_value(Interp *in, const Op *op, const Value *args, int count, int i)
{
    const OpSig *sig = op_sig(in, op);
    if (i < sig->fixed)
        return args[i].tag == V_UNDEF ? v_none() : v_retain(args[i]);
    Tuple *rest = tuple_new(&in->ctx, (uint64_t)(count > sig->fixed ? count - sig->fixed : 0));
    for (uint32_t k = 0; k < rest->count; k++)
        rest->items[k] = v_retain(args[sig->fixed + (int)k]);
    return v_tuple(rest);
}

Value shapes_of(Interp *in, Value v)
{
    if (v.tag != V_TUPLE)
        return shape_of(in, v);
    Tuple *all = tuple_new(&in->ctx, v.tuple->count);
    v_push(in, v_tuple(all));
    for (uint32_t i = 0; i < v.tuple->count; i++)
        all->items[i] = shapes_of(in, v.tuple->items[i]);
    in->sp--;
    return v_tuple(all);
}

void rule_keep(Interp *in, Tape *t, const Op *op, const Value *args, int count, Value result)
{
    Rule *rule = rule_of(in, op);
    if (rule->kind == RULE_SLOPES) {
        uint8_t keeps = slopes_keep(rule, t, &t->entry[t->entries - 1]);
        for (int i = 0; i < 3; i++)
            if (keeps >> i & 1)
                tape_keep(t, args[i]);
        if (keeps & KEEP_R)
            tape_keep(t, result);
        return;
    }
    for (int i = 0; i < rule->back.params; i++) {
        const RuleParam *p = &rule->back.param[i];
        int arg = p->arg;
        Value *mark = in->sp;
        switch ((RuleWhat)p->what) {
        case PARAM_RESULT: v_push(in, v_retain(result)); break;
        case PARAM_VALUE:
        case PARAM_SHAPE:
            v_push(in, arg < 0 ? v_none() : param_value(in, op, args, count, arg));
            if (p->what == PARAM_SHAPE) {
                Value shape = shapes_of(in, *mark), old = *mark;
                *mark = shape;
                v_release(&in->ctx, old);
            }
            break;
        default: continue;
        }
        tape_keep(t, *mark);
        stack_cut(in, mark);
    }
}

/* ---- backward ---- */
/* w and what a slope mentions, of what an entry kept; borrowed. */
static int slope_args(const Rule *rule, const Tape *t, const Entry *e, const Slope *s, Value first,
                      Value args[6])
{
    uint8_t kept = slopes_keep(rule, t, e);
    uint32_t at = e->keep;
    int n = 0;
    args[n++] = first;
    for (int i = 0; i < 4; i++) {
        if (s->keeps >> i & 1)
            args[n++] = t->keep[at];
        at += kept >> i & 1;
    }
    return n;
}

/* One record for a listener, whatever the formula consists of. */
typedef struct Formula {
    Value f;
    int n;
} Formula;

static Value run_formula(Interp *in, const Value *args, void *data)
{
    const Formula *f = data;
    return call_rule(in, f->f, args, f->n);
}

static Value call_slope(Interp *in, const Op *op, const char *pass, Value f, const Value *args,
                        int n)
{
    char name[64];
    if (!heard_on(in))
        return call_rule(in, f, args, n);
    snprintf(name, sizeof name, "%s of %s", pass, op->name);
    Formula formula = { f, n };
    return work_call(in, &(Work){ .name = name, .dtype = DT_NONE, .run = run_formula,
                                  .data = &formula }, args, n);
}

/* a * b, 0 where a is 0 whatever b is there. Of traced values it is one operation with the
 * derivatives of a product: where(a == 0, 0, a * b) would have none by a where a is 0, which second
 * derivatives need. */
static void strong_back(Interp *in, const Tape *t, const Entry *e, Value *w, Value *out)
{
    const Value *kept = t->keep + e->keep;
    for (int i = 0; i < 2; i++) {
        if (!t->operand[e->operand + i].node)
            continue;
        Value other = kept[1 - i];
        bool complex_other = dtype_info(v_dtype(v_plain(other)))->kind == 'c';
        v_push(in, complex_other ? call_row_of(in, "conj", &other, 1) : v_retain(other));
        out[i] = strong_product(in, *w, in->sp[-1]);
        stack_cut(in, in->sp - 1);
    }
}

Value strong_product(Interp *in, Value a, Value b)
{
    Value *mark = in->sp, args[2] = { a, b }, out;
    Tape *t = tape_of(a, tape_of(b, NULL));
    if (!t)
        return call_rule(in, gradient_function(in, "strong_product"), args, 2);
    v_push(in, value_below(in, a, t));
    v_push(in, value_below(in, b, t));
    v_push(in, strong_product(in, mark[0], mark[1]));
    if (t->recorder) {
        out = t->recorder->product(in, t, a, b, mark[2]);
        stack_cut(in, mark);
        return out;
    }
    uint32_t node = tape_entry(in, t, ENTRY_CALL, mark[2]);
    tape_at(t, node)->op = op_operator(in, TK_MUL);
    tape_at(t, node)->back = strong_back;
    list_operands(in, t, args, 2);
    tape_keep(t, mark[0]);
    tape_keep(t, mark[1]);
    out = entry_value(in, t, node, mark[2], mark + 3);
    stack_cut(in, mark);
    return out;
}

/* The slope alone, as a function of what it mentions, with a first argument that it has no use for
 * where it is not the whole cotangent. */
static Value slope_alone(Interp *in, Slope *s)
{
    if (s->alone.tag == V_UNDEF)
        s->alone = slope_function(in, s->keeps, "w", "", s->text, "");
    return s->alone;
}

/* w times the slope where w itself is traced. */
static Value slope_traced(Interp *in, Slope *s, const Value *args, int n)
{
    Value *mark = in->sp, r;
    v_push(in, call_rule(in, slope_alone(in, s), args, n));
    if (s->whole) {
        r = v_retain(*mark);
    } else {
        if (v_is_numeric(v_plain(*mark)) && dtype_info(v_dtype(v_plain(*mark)))->kind == 'c')
            v_push(in, call_row_of(in, "conj", mark, 1));
        r = strong_product(in, args[0], in->sp[-1]);
    }
    stack_cut(in, mark);
    return r;
}

static Value tangent_traced(Interp *in, Slope *s, const Value *args, int n)
{
    Value *mark = in->sp;
    v_push(in, call_rule(in, slope_alone(in, s), args, n));
    Value r = strong_product(in, args[0], *mark);
    stack_cut(in, mark);
    return r;
}

static void slopes_back(Interp *in, Rule *rule, const Tape *t, const Entry *e, Value w, Value *out)
{
    bool scalar = w.tag == V_FLOAT;
    for (int i = 0; i < (int)e->operands; i++) {
        Slope *s = &rule->slope[i];
        Value args[6];
        if (!t->operand[e->operand + i].node || !s->text)
            continue;
        if (s->constant == 1 || (scalar && w.f == 0)) {
            out[i] = v_retain(w);
        } else if (s->constant == -1) {
            out[i] = call_row_of(in, "negative", &w, 1);
        } else {
            int n = slope_args(rule, t, e, s, w, args);
            Value *mark = in->sp, like = e->pattern ? entries_push(in, t, e, args, n) : v_undef();
            Value f = args[0].tag == V_TRACED
                      ? v_undef() : slope_back(in, s, e->dtype, scalar || encloses(args[0]));
            Value g = f.tag == V_UNDEF ? slope_traced(in, s, args, n)
                                       : call_slope(in, e->op, "gradient", f, args, n);
            out[i] = e->pattern ? entries_from(in, like, g) : g;
            stack_cut(in, mark);
        }
    }
}

/* What operand i adds to the tangent of the result; owned. */
static Value slope_tangent(Interp *in, Rule *rule, const Tape *t, const Entry *e, int i,
                           Value tangent)
{
    Slope *s = &rule->slope[i];
    Value args[6];
    if (s->constant == 1)
        return v_retain(tangent);
    if (s->constant == -1)
        return call_row_of(in, "negative", &tangent, 1);
    int n = slope_args(rule, t, e, s, tangent, args);
    Value *mark = in->sp, like = e->pattern ? entries_push(in, t, e, args, n) : v_undef();
    Value d = args[0].tag == V_TRACED && !s->tangent && !s->whole
              ? tangent_traced(in, s, args, n)
              : call_slope(in, e->op, "tangent", slope_forward(in, s, encloses(args[0])), args, n);
    d = e->pattern ? entries_from(in, like, d) : d;
    stack_cut(in, mark);
    return d;
}

Value rule_forward(Interp *in, const Tape *t, const Entry *e, const Value *tangents)
{
    Rule *rule = rule_of(in, e->op);
    Value *sum = in->sp;
    v_push(in, v_undef());
    for (int i = 0; i < (int)e->operands; i++) {
        if (tangents[i].tag != V_UNDEF && rule->slope[i].text)
            sum_add(in, sum, slope_tangent(in, rule, t, e, i, tangents[i]));
    }
    return *--in->sp;
}

/* Which operands are asked for, by the row's names; of the variadic one a tuple. */
static Value needs_of(Interp *in, const Tape *t, const Entry *e)
{
    const OpSig *sig = op_sig(in, e->op);
    int all = sig->fixed + sig->variadic;
    Tuple *needs = tuple_new(&in->ctx, (uint64_t)all);
    v_push(in, v_tuple(needs));
    for (int i = 0; i < all; i++) {
        needs->items[i] = v_bool(false);
        tuple_name(&in->ctx, needs, (uint32_t)i, sig->params[i].name);
    }
    for (int i = 0; i < (int)e->operands; i++) {
        const TapeOperand *o = &t->operand[e->operand + i];
        if (o->arg >= 0 && o->arg < sig->fixed && o->node)
            needs->items[o->arg] = v_bool(true);
        if (o->arg < sig->fixed || o->item >= 0) {
            if (o->arg >= sig->fixed && o->node)
                needs->items[sig->fixed] = v_bool(true);
            continue;
        }
        Value *rest = &needs->items[sig->fixed];
        if (rest->tag != V_TUPLE)
            *rest = v_tuple(tuple_new(&in->ctx, 0));
        tuple_push(&in->ctx, &rest->tuple, NULL, v_bool(o->node != 0));
    }
    in->sp--;
    return v_tuple(needs);
}

static Value item_of(Value v, int i)
{
    return v.tag == V_TUPLE && i >= 0 && (uint32_t)i < v.tuple->count ? v.tuple->items[i]
                                                                      : v_none();
}

/* An operand's part of the named tuple that a rule gave; borrowed. */
static Value given(Interp *in, const Op *op, Value all, const TapeOperand *o)
{
    const OpSig *sig = op_sig(in, op);
    bool rest = o->arg >= sig->fixed;
    const Name *name = sig->params[rest ? sig->fixed : o->arg].name;
    int64_t i = all.tag == V_TUPLE ? tuple_find(all.tuple, name) : -1;
    if (i < 0 && all.tag == V_TUPLE) {
        char other[80];
        int n = snprintf(other, sizeof other, "%s_", name->text);
        const Name *longer = names_find(&in->names, other, (size_t)n);
        i = longer ? tuple_find(all.tuple, longer) : -1;
    }
    if (i < 0)
        grad_raise_argument(in, op, name);
    Value v = all.tuple->items[i];
    if (rest)
        v = item_of(v, o->arg - sig->fixed);
    return o->item >= 0 ? item_of(v, o->item) : v;
}

static void say_before(Interp *in, const Rule *rule, const Op *op, const Value *args)
{
    Value of_row[RULE_PARAMS];
    for (int i = 0; i < RULE_PARAMS; i++)
        of_row[i] = v_undef();
    for (int i = 0; i < rule->back.params; i++) {
        const RuleParam *p = &rule->back.param[i];
        if (p->what == PARAM_VALUE && p->arg >= 0 && p->arg < RULE_PARAMS)
            of_row[p->arg] = args[i];
    }
    op->before_rule(in, op, of_row, false);
}

static void function_back(Interp *in, Rule *rule, const Tape *t, const Entry *e, Value w,
                          Value *out)
{
    Value *mark = in->sp, args[RULE_PARAMS];
    uint32_t kept = e->keep;
    for (int i = 0; i < rule->back.params; i++) {
        switch ((RuleWhat)rule->back.param[i].what) {
        case PARAM_W: args[i] = w; break;
        case PARAM_NEEDS: v_push(in, args[i] = needs_of(in, t, e)); break;
        default: args[i] = t->keep[kept++]; break;
        }
    }
    if (e->op->before_rule)
        say_before(in, rule, e->op, args);
    Value all = call_rule(in, rule->back.function, args, rule->back.params);
    v_push(in, all);
    for (int i = 0; i < (int)e->operands; i++) {
        const TapeOperand *o = &t->operand[e->operand + i];
        Value g = o->node ? given(in, e->op, all, o) : v_none();
        if (g.tag != V_NONE)
            out[i] = v_retain(g);
    }
    stack_cut(in, mark);
}

void rule_back(Interp *in, const Tape *t, const Entry *e, Value *w, Value *out)
{
    Rule *rule = rule_of(in, e->op);
    if (rule->kind == RULE_SLOPES)
        slopes_back(in, rule, t, e, *w, out);
    else
        function_back(in, rule, t, e, *w, out);
}
