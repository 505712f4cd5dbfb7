/* Graphs out of files. Nothing of a file is believed and nothing of it runs: every operation has to
 * be one that only computes, every operand an earlier node or a constant that is there, and counts,
 * shapes and dtypes are compared with what the archive holds. What does not belong is an `io` error
 * that names the node. */
#include "builtins/files/files_graph.h"
#include "interp/index/index.h"
#include "interp/precision/cast.h"
#include "kernels/number/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NPY_HEAD_MAX = 70000 };

typedef struct Loader {
    OpCall *call;
    const Bytes *b;                 /* graph.json */
    Graph *graph;
    Value whole;                    /* what it says */
    Tuple *constants;               /* tensors; on the value stack */
    const char *part;               /* which is read, for errors: node, scope */
    int64_t at;
} Loader;

#define BAD(l, ...) bad((l), __VA_ARGS__)

static _Noreturn __attribute__((format(printf, 2, 3))) void bad(Loader *l, const char *fmt, ...)
{
    Buf *text = &l->call->in->scratch;
    va_list args;
    buf_clear(text);
    if (l->part)
        buf_printf(text, "%s %lld: ", l->part, (long long)l->at);
    va_start(args, fmt);
    buf_vprintf(text, fmt, args);
    va_end(args);
    bytes_error(l->b, -1, NULL, "%s", buf_cstr(text));
}

/* ---- objects ---- */
/* A field of an object; V_UNDEF: it has none. */
static Value field(Loader *l, Value object, const char *key)
{
    Interp *in = l->call->in;
    const Name *name = names_find(&in->names, key, strlen(key));
    int64_t i = object.tag == V_TUPLE && name ? tuple_find(object.tuple, name) : -1;
    return i < 0 ? v_undef() : object.tuple->items[i];
}

static bool is_object(Value v) { return v.tag == V_TUPLE && (v.tuple->named || !v.tuple->count); }

static Value array(Loader *l, Value object, const char *key, int64_t most)
{
    Value v = field(l, object, key);
    if (v.tag != V_TUPLE || v.tuple->named)
        BAD(l, "%s is no list", key);
    if (v.tuple->count > most)
        BAD(l, "%s has %u entries, more than %lld", key, v.tuple->count, (long long)most);
    return v;
}

static int64_t whole(Loader *l, Value object, const char *key, int64_t low, int64_t high,
                     int64_t fallback)
{
    Value v = field(l, object, key);
    if (v.tag == V_UNDEF)
        return fallback;
    if (high < low)
        BAD(l, "%s is one that is not there", key);
    if (v.tag != V_INT || v.i < low || v.i > high)
        BAD(l, "%s is no whole number from %lld to %lld", key, (long long)low, (long long)high);
    return v.i;
}

static bool flag(Loader *l, Value object, const char *key)
{
    Value v = field(l, object, key);
    if (v.tag != V_UNDEF && v.tag != V_BOOL)
        BAD(l, "%s is neither true nor false", key);
    return v.tag == V_BOOL && v.i;
}

static const Str *text(Loader *l, Value v, const char *what)
{
    if (v.tag != V_STRING || strlen(v.str->text) != v.str->len)
        BAD(l, "%s is no text", what);
    return v.str;
}

static const Name *name(Loader *l, Value v, const char *what)
{
    if (v.tag == V_NONE)
        return NULL;
    const Str *s = text(l, v, what);
    for (size_t i = 0; i < s->len; i++)
        if ((unsigned char)s->text[i] < 0x20 || s->text[i] == 0x7f || s->len > 200)
            BAD(l, "%s is no name", what);
    return names_intern(&l->call->in->names, s->text, s->len);
}

/* Is it the name of a dtype, decimal(3), mp(200) and float(5, 4) among them? */
static DType dtype_of(Loader *l, Value v)
{
    const Str *s = text(l, v, "a dtype");
    int a = 0, b = 0;
    DType dt = dtype_find(s->text, s->len);
    if (dt == DT_NONE && s->len < 40) {
        if (sscanf(s->text, "decimal(%9d)", &a) == 1 && a >= 1 && a <= DECIMAL_DIGITS_MAX)
            dt = dtype_decimal(a);
        else if (sscanf(s->text, "mp(%9d)", &a) == 1 && a >= 1 && a <= MP_BITS_MAX)
            dt = dtype_mp(a);
        else if (sscanf(s->text, "float(%2d, %2d)", &a, &b) == 2 && a >= 2 && a <= 11 && b >= 1 &&
                 b <= 53)
            dt = dtype_mini(a, b, MINI_IEEE);
        if (dt != DT_NONE && strcmp(dtype_name(dt), s->text) != 0)
            dt = DT_NONE;
    }
    if (dt == DT_NONE)
        BAD(l, "\"%.60s\" is no dtype", s->text);
    return dt;
}

static Device *device_of(Loader *l, Value v)
{
    const Str *s = text(l, v, "a device");
    Device *d = device_find(&l->call->in->ctx, s->text);
    char why[200];
    if (!d)
        BAD(l, "\"%.60s\" is no device", s->text);
    if (device_absent(d))
        BAD(l, "it was recorded on the device %.60s, which cannot be used here: %s", s->text,
            device_reason(&l->call->in->ctx, d, why, sizeof why));
    return d;
}

static int shape_of(Loader *l, Value object, int64_t *shape)
{
    Value list = array(l, object, "shape", TENSOR_RANK_MAX);
    int rank = (int)list.tuple->count;
    for (int i = 0; i < rank; i++) {
        Value v = list.tuple->items[i];
        if (v.tag != V_INT || v.i < 0)
            BAD(l, "a shape holds something that is no length");
        shape[i] = v.i;
    }
    if (shape_size(rank, shape) < 0)
        BAD(l, "a shape has more elements than can be counted");
    return rank;
}

/* ---- constants ---- */
static void check_shape(Loader *l, const Tensor *t, DType dt, int rank, const int64_t *shape)
{
    bool same = (DType)t->dtype == dt && t->rank == rank;
    for (int i = 0; same && i < rank; i++)
        same = tensor_shape(t)[i] == shape[i];
    char has[96], wants[96];
    if (same)
        return;
    shape_text(has, sizeof has, t->rank, tensor_shape(t));
    shape_text(wants, sizeof wants, rank, shape);
    BAD(l, "its member holds %s of shape %s, not %s of shape %s", dtype_name((DType)t->dtype), has,
        dtype_name(dt), wants);
}

/* Bytes as numbers of dt: each has to be one of its numbers. */
static Tensor *from_bytes(Loader *l, const Tensor *raw, DType dt, int rank, const int64_t *shape)
{
    Ctx *ctx = &l->call->in->ctx;
    Tensor *bytes = op_keep(l->call, tensor_compact(ctx, (Tensor *)raw));
    Tensor *t = op_keep(l->call, tensor_new(ctx, dt, rank, shape));
    size_t size = (size_t)t->size * dtype_info(dt)->bytes;
    memcpy(t->data, bytes->data, size);
    if (dtype_base(dt) == DT_INTERVAL) {
        for (int64_t i = 0; i < t->size; i++)
            if (((double *)t->data)[2 * i] > ((double *)t->data)[2 * i + 1])
                BAD(l, "element %lld is an interval that ends before it begins", (long long)i);
        return t;
    }
    DType wide = dtype_info(dt)->kind == 'c' ? DT_C128 : DT_F64;
    Tensor *back = op_keep(l->call, tensor_cast(ctx, op_keep(l->call, tensor_cast(ctx, t, wide)),
                                                dt));
    Tensor *again = op_keep(l->call, tensor_cast(ctx, back, wide));
    Tensor *first = op_keep(l->call, tensor_cast(ctx, t, wide));
    const double *x = (const double *)first->data, *y = (const double *)again->data;
    int64_t parts = wide == DT_C128 ? 2 : 1;
    for (int64_t i = 0; i < t->size * parts; i++)
        if (x[i] != y[i] && (x[i] == x[i] || y[i] == y[i]))
            BAD(l, "element %lld is no number of %s", (long long)(i / parts), dtype_name(dt));
    return t;
}

/* Onto the value stack; false: the text is none. */
static bool read_number(Interp *in, Value text, DType dt)
{
    Guard g;
    guard_enter(in, &g);
    if (ERR_TRY(&in->ctx, &g.frame)) {
        v_push(in, op_cast(in, text, dt));
        ERR_END(&in->ctx, &g.frame);
        return true;
    }
    guard_restore(in, &g);
    if (in->ctx.error->kind != ERR_VALUE && in->ctx.error->kind != ERR_DTYPE)
        err_rethrow(&in->ctx);
    err_free(in->ctx.error);
    in->ctx.error = NULL;
    return false;
}

static Tensor *from_texts(Loader *l, Value object, DType dt, int rank, const int64_t *shape)
{
    Interp *in = l->call->in;
    Value list = array(l, object, "text", GRAPH_JSON_MAX);
    if (list.tuple->count != (uint64_t)shape_size(rank, shape))
        BAD(l, "it has %u texts for %lld elements", list.tuple->count,
            (long long)shape_size(rank, shape));
    Tensor *t = op_keep(l->call, tensor_zeros(&in->ctx, dt, rank, shape));
    size_t bytes = dtype_info(dt)->bytes;
    for (uint32_t i = 0; i < list.tuple->count; i++) {
        Value *mark = in->sp;
        text(l, list.tuple->items[i], "an element");
        if (!read_number(in, list.tuple->items[i], dt))
            BAD(l, "element %u is no number of %s", i, dtype_name(dt));
        if (mark->tag != V_TENSOR || (DType)mark->tensor->dtype != dt || mark->tensor->rank)
            BAD(l, "element %u is no number of %s", i, dtype_name(dt));
        memcpy(t->data + i * bytes, mark->tensor->data, bytes);
        stack_cut(in, mark);
    }
    return t;
}

static void load_constant(Loader *l, Value object, const Bytes *archive, const ZipMember *m,
                          Tuple **into)
{
    OpCall *c = l->call;
    Interp *in = c->in;
    Value *mark = in->sp;
    int64_t shape[TENSOR_RANK_MAX + 1];
    char file[40];
    if (!is_object(object))
        BAD(l, "it is no object");
    DType dt = dtype_of(l, field(l, object, "dtype"));
    int rank = shape_of(l, object, shape);
    GraphStored how = graph_stored(dt);
    Tensor *t;
    if (how == GRAPH_AS_TEXT) {
        t = from_texts(l, object, dt, rank, shape);
    } else {
        if (!m->name)
            BAD(l, "the archive has no member c%lld.npy", (long long)l->at);
        snprintf(file, sizeof file, "c%lld.npy", (long long)l->at);
        double bytes = (double)shape_size(rank, shape) * dtype_info(dt)->bytes;
        if ((double)m->size < bytes || (double)m->size > bytes + NPY_HEAD_MAX)
            BAD(l, "its member has %lld bytes, and its shape asks for %.0f", (long long)m->size,
                bytes);
        Bytes contents = zip_contents(archive, m, file);
        t = npy_read(&contents);
        if (how == GRAPH_AS_BYTES)
            shape[rank++] = (int64_t)dtype_info(dt)->bytes;
        check_shape(l, t, how == GRAPH_AS_BYTES ? DT_U8 : dt, rank, shape);
        if (how == GRAPH_AS_BYTES)
            t = from_bytes(l, t, dt, rank - 1, shape);
    }
    tuple_push(&in->ctx, into, NULL, v_tensor_raw(tensor_retain(t)));
    stack_cut(in, mark);
}

/* ---- values ---- */
static Value value(Loader *l, Value v, uint32_t nodes);

static Value tuple_value(Loader *l, Value object, uint32_t nodes)
{
    Interp *in = l->call->in;
    Value items = array(l, object, "tuple", GRAPH_NODES_MAX), names = field(l, object, "names");
    Tuple *t = tuple_new(&in->ctx, items.tuple->count);
    v_push(in, v_tuple(t));
    if (names.tag != V_UNDEF && array(l, object, "names", GRAPH_NODES_MAX).tuple->count != t->count)
        BAD(l, "a tuple has as many names as items");
    for (uint32_t i = 0; i < t->count; i++) {
        t->items[i] = value(l, items.tuple->items[i], nodes);
        if (t->items[i].tag == V_UNDEF)
            BAD(l, "an item of a tuple is missing");
        const Name *n = names.tag == V_UNDEF ? NULL : name(l, names.tuple->items[i], "a field");
        if (n && tuple_find(t, n) >= 0)
            BAD(l, "a tuple has a field twice");
        if (n)
            tuple_name(&in->ctx, t, i, n);
    }
    return *--in->sp;
}

static Value range_value(Loader *l, Value object)
{
    Value list = array(l, object, "range", 3);
    for (uint32_t i = 0; i < list.tuple->count; i++)
        if (list.tuple->items[i].tag != V_INT)
            BAD(l, "a range is three whole numbers");
    if (list.tuple->count != 3 || list.tuple->items[2].i == 0)
        BAD(l, "a range is three whole numbers");
    return v_range(range_new(&l->call->in->ctx, list.tuple->items[0].i, list.tuple->items[1].i,
                             list.tuple->items[2].i));
}

static Value float_value(Loader *l, Value v)
{
    double x;
    const Str *s = text(l, v, "a float");
    if (!text_float(s->text, s->len, &x))
        BAD(l, "\"%.40s\" is no number", s->text);
    return v_float(x);
}

static const Op *op_of(Loader *l, Value v)
{
    Interp *in = l->call->in;
    const Str *s = text(l, v, "an operation");
    const Name *n = names_find(&in->names, s->text, s->len);
    const Op *op = n ? op_find(in, n) : NULL;
    if (!op)
        BAD(l, "there is no operation \"%.60s\"", s->text);
    if (!graph_op_allowed(op))
        BAD(l, "%s does not belong in a graph, whose operations only compute", op->name);
    return op;
}

/* A constant, a reference to one of the first so many nodes, or a tuple of these; owned. */
static Value value(Loader *l, Value v, uint32_t nodes)
{
    stack_check(l->call->in);
    stack_room(l->call->in, 64);
    if (v.tag == V_NONE || v.tag == V_BOOL || v.tag == V_INT || v.tag == V_STRING)
        return v_retain(v);
    if (v.tag != V_TUPLE || !v.tuple->named || !v.tuple->names[0])
        BAD(l, "an operand is no value");
    Value what = v.tuple->items[0];
    int key = 0;
    while (key < GRAPH_KEYS && strcmp(v.tuple->names[0]->text, graph_keys[key]) != 0)
        key++;
    switch (key) {
    case KEY_NODE:
        if (what.tag != V_INT || what.i < 0 || what.i >= (int64_t)nodes)
            BAD(l, "an operand is no earlier node");
        if (graph_at(l->graph, (uint32_t)what.i)->kind == GRAPH_GUARD)
            BAD(l, "node %lld gives no value", (long long)what.i);
        return v_ref((uint32_t)what.i);
    case KEY_CONSTANT:
        if (what.tag != V_INT || what.i < 0 || what.i >= (int64_t)l->constants->count)
            BAD(l, "an operand is a constant that is not there");
        return v_retain(l->constants->items[what.i]);
    case KEY_TUPLE: return tuple_value(l, v, nodes);
    case KEY_GIVEN:
        if (what.tag != V_BOOL || what.i)
            BAD(l, "an operand is no value");
        return v_undef();
    case KEY_FLOAT: return float_value(l, what);
    case KEY_RANGE: return range_value(l, v);
    case KEY_DTYPE: return v_format(dtype_of(l, what));
    case KEY_DEVICE: return v_device(device_of(l, what));
    case KEY_OPERATION: return v_op(op_of(l, what));
    default: BAD(l, "an operand is no value");
    }
}

/* ---- nodes ---- */
static void operands(Loader *l, Value object, uint32_t node)
{
    Interp *in = l->call->in;
    Value list = field(l, object, "of");
    if (list.tag == V_UNDEF)
        return;
    list = array(l, object, "of", GRAPH_NODES_MAX);
    for (uint32_t i = 0; i < list.tuple->count; i++) {
        v_push(in, value(l, list.tuple->items[i], node));
        graph_operand(l->graph, in->sp[-1]);
        stack_cut(in, in->sp - 1);
    }
}

static bool is_whole_or_missing(Value v) { return v.tag == V_INT || v.tag == V_UNDEF; }

static void check_subs(Loader *l, const Value *v, uint32_t count)
{
    if (count % 4 || count / 4 > TENSOR_RANK_MAX + 8 || !count)
        BAD(l, "its subscripts are not complete");
    for (uint32_t i = 0; i < count; i += 4) {
        if (v[i].tag != V_INT || v[i].i < SUB_VALUE || v[i].i > SUB_ELLIPSIS)
            BAD(l, "a subscript is of no kind");
        bool one = v[i].i == SUB_VALUE;
        if (one ? v[i + 1].tag == V_UNDEF : !is_whole_or_missing(v[i + 1]))
            BAD(l, "a subscript is no position");
        if (!is_whole_or_missing(v[i + 2]) || !is_whole_or_missing(v[i + 3]))
            BAD(l, "a slice has a part that is no whole number");
    }
}

static void check_row(Loader *l, const GraphNode *n, const Value *v)
{
    const OpSig *sig = op_sig(l->call->in, n->op);
    bool many = n->operands >= (uint32_t)sig->fixed && sig->variadic;
    if (!many && n->operands != (uint32_t)sig->fixed)
        BAD(l, "%s takes %d operands, and %u stand there", n->op->name, sig->fixed, n->operands);
    for (uint32_t i = 0; i < n->operands; i++)
        if (v[i].tag == V_UNDEF && ((int)i < sig->required || (int)i >= sig->fixed ||
                                    n->op->cls == OPC_EW))
            BAD(l, "operand %u of %s is missing", i, n->op->name);
    const char *why = n->op->refuses ? n->op->refuses(l->call->in, v, (int)n->operands) : NULL;
    if (why)
        BAD(l, "%s: %s", n->op->name, why);
}

static void check_literal(Loader *l, const GraphNode *n, const Value *v)
{
    uint32_t items = n->operands < 2 ? 0 : n->operands - 2, sum = 0;
    if (!items || (v[0].tag != V_NONE && v[0].tag != V_TUPLE) ||
        (v[1].tag != V_NONE && v[1].tag != V_TUPLE))
        BAD(l, "a literal has the lengths of its rows, which items are literals, and items");
    for (uint32_t i = 0; v[0].tag == V_TUPLE && i < v[0].tuple->count; i++) {
        Value row = v[0].tuple->items[i];
        if (row.tag != V_INT || row.i < 1 || row.i > (int64_t)items - sum)
            BAD(l, "the rows of a literal are not as long as its items are many");
        sum += (uint32_t)row.i;
    }
    if (v[0].tag == V_TUPLE && sum != items)
        BAD(l, "the rows of a literal are not as long as its items are many");
    for (uint32_t i = 0; v[1].tag == V_TUPLE && i < v[1].tuple->count; i++)
        if (v[1].tuple->items[i].tag != V_BOOL)
            BAD(l, "which items of a literal are literals is not said by bools");
    if (v[1].tag == V_TUPLE && v[1].tuple->count != items)
        BAD(l, "which items of a literal are literals is not said of all");
    for (uint32_t i = 2; i < n->operands; i++)
        if (v[i].tag == V_UNDEF)
            BAD(l, "an item of a literal is missing");
}

static void check_guard(Loader *l, const GraphNode *n, const Value *v)
{
    bool dtype = n->field == LENGTH_DTYPE;
    if (n->operands != 2 || !is_ref(v[0]) || v[1].tag != (dtype ? V_FORMAT : V_INT) ||
        n->field == LENGTH_ALL)
        BAD(l, "what is expected of a value is its length along an axis, its axes, or its dtype");
}

static void check_node(Loader *l, const GraphNode *n)
{
    const Value *v = graph_args(l->graph, n);
    for (uint32_t i = 0; n->kind != GRAPH_ROW && n->kind != GRAPH_INDEX && n->kind != GRAPH_STORE &&
                         i < n->operands; i++)
        if (v[i].tag == V_UNDEF)
            BAD(l, "operand %u is missing", i);
    switch ((GraphKind)n->kind) {
    case GRAPH_ARGUMENT:
        if (n->dtype == DT_NONE || n->operands)
            BAD(l, "an argument has a dtype and a shape");
        break;
    case GRAPH_ROW: check_row(l, n, v); break;
    case GRAPH_FIELD:
        if (n->operands != 1 || !is_ref(v[0]) || n->field < 0)
            BAD(l, "a field is of a node");
        break;
    case GRAPH_INDEX:
        if (n->operands < 1 || v[0].tag == V_UNDEF)
            BAD(l, "what has subscripts is missing");
        check_subs(l, v + 1, n->operands - 1);
        break;
    case GRAPH_STORE:
        if (n->operands < 2 || v[0].tag == V_UNDEF || v[1].tag == V_UNDEF)
            BAD(l, "what is stored, or where, is missing");
        check_subs(l, v + 2, n->operands - 2);
        break;
    case GRAPH_LITERAL: check_literal(l, n, v); break;
    case GRAPH_NOTATION:
        if (n->operands < 1 || v[0].tag != V_STRING ||
            !graph_text_fits(l->call->in, v[0].str, n->operands - 1))
            BAD(l, "its text is no index notation of %u operands", n->operands - 1);
        break;
    case GRAPH_PRODUCT:
        if (n->operands != 2)
            BAD(l, "a product is of two");
        break;
    default: check_guard(l, n, v); break;
    }
}

static void load_node(Loader *l, Value object)
{
    Interp *in = l->call->in;
    Graph *g = l->graph;
    int64_t shape[TENSOR_RANK_MAX];
    if (!is_object(object))
        BAD(l, "it is no object");
    const Str *kind = text(l, field(l, object, "op"), "op");
    uint8_t k = GRAPH_ROW;
    for (uint8_t i = 0; i < GRAPH_KINDS; i++)
        if (i != GRAPH_ROW && strcmp(graph_kinds[i], kind->text) == 0)
            k = i;
    const Op *op = k == GRAPH_ROW ? op_of(l, field(l, object, "op")) : NULL;
    if (k == GRAPH_STORE && field(l, object, "by").tag != V_UNDEF) {
        op = op_of(l, field(l, object, "by"));
        if (op->cls != OPC_EW || op_sig(in, op)->fixed != 2)
            BAD(l, "%s does not stand before =", op->name);
    }
    uint32_t node = graph_node(in, g, (GraphKind)k);
    graph_at(g, node)->op = op;
    operands(l, object, node);
    GraphNode *n = graph_at(g, node);
    n->field = (int32_t)whole(l, object, "at", LENGTH_DTYPE, INT32_MAX, 0);
    n->weak = (unsigned)whole(l, object, "weak", 0, UINT32_MAX, 0);
    n->rule = flag(l, object, "rule");
    n->scope = (int32_t)whole(l, object, "scope", 0, (int64_t)g->scopes - 1, -1);
    n->place = (int32_t)whole(l, object, "on", 0, (int64_t)g->places - 1, -1);
    n->line = (int32_t)whole(l, object, "line", 0, (int64_t)g->lines - 1, -1);
    if (field(l, object, "dtype").tag != V_UNDEF) {
        DType dt = dtype_of(l, field(l, object, "dtype"));
        int rank = shape_of(l, object, shape);
        graph_result(g, node, dt, rank, shape);
    }
    check_node(l, graph_at(g, node));
}

/* ---- scopes, devices ---- */
static bool binary(DType dt)
{
    int e, p;
    MiniStyle style;
    return dtype_mini_read(dt, &e, &p, &style);
}

static bool scope_fits(const Scope *s, DType dt)
{
    if (dt == DT_I8)
        return s->format == DT_NONE && !s->accumulate_given && s->backward == DT_NONE &&
               s->round == ROUND_NEAREST && !s->saturate && !s->flush;
    DType base = dtype_base(dt), acc = dtype_base(s->accumulate);
    bool interval = base == DT_INTERVAL || acc == DT_INTERVAL;
    char kind = dtype_info(dt)->kind, sums = dtype_info(s->accumulate)->kind;
    return (kind == 'f' || kind == 'q') && (sums == 'f' || sums == 'q') &&
           (s->format != DT_NONE || binary(dt)) &&
           (s->backward == DT_NONE || binary(s->backward)) &&
           (dt == s->accumulate || (!interval && dtype_promote(dt, s->accumulate) != DT_NONE)) &&
           (s->round == ROUND_NEAREST || (base != DT_RATIONAL && base != DT_INTERVAL)) &&
           ((!s->saturate && !s->flush) || binary(dt));
}

static void load_scope(Loader *l, Value object)
{
    Value format = field(l, object, "precision"), cast = field(l, object, "autocast");
    Value acc = field(l, object, "accumulate"), back = field(l, object, "backward");
    Value round = field(l, object, "round");
    bool casts = format.tag == V_UNDEF;
    DType dt = dtype_of(l, casts ? cast : format);
    Scope s = scope_of(dt);
    if (casts) {
        s.format = DT_NONE;
        s.autocast = dt;
    }
    if (acc.tag != V_UNDEF) {
        s.accumulate = dtype_of(l, acc);
        s.accumulate_given = true;
    }
    if (back.tag != V_UNDEF)
        s.backward = dtype_of(l, back);
    if (round.tag != V_UNDEF) {
        const Str *way = text(l, round, "round");
        int i = 0;
        while (i < ROUND_MODES && strcmp(graph_rounds[i], way->text) != 0)
            i++;
        if (i == ROUND_MODES)
            BAD(l, "round is no way of rounding");
        s.round = (RoundMode)i;
    }
    s.saturate = flag(l, object, "saturate");
    s.flush = flag(l, object, "flush");
    s.reproducible = flag(l, object, "reproducible");
    if (!scope_fits(&s, dt))
        BAD(l, "no scope has these formats and modifiers together");
    if (graph_scope(l->graph, &s) != l->at)
        BAD(l, "it stands there twice");
}

static void load_place(Loader *l, Value object)
{
    DeviceBlock p = { .device = device_of(l, field(l, object, "device")),
                      .fallback = device_of(l, field(l, object, "fallback")),
                      .strict = flag(l, object, "strict"), .narrow = flag(l, object, "narrow"),
                      .quiet = flag(l, object, "quiet") };
    p.plain = flag(l, object, "plain") && !p.strict && !(p.device->caps & DEVCAP_SIM) &&
              strcmp(p.device->name, "cpu") == 0;
    if (graph_place(l->graph, &p) != l->at)
        BAD(l, "it stands there twice");
}

static void load_line(Loader *l, Value v)
{
    text(l, v, "a line");
    graph_line(l->graph, v);
}

/* ---- the whole ---- */
static void each(Loader *l, const char *list, const char *part, void (*load)(Loader *, Value))
{
    Value items = array(l, l->whole, list, GRAPH_NODES_MAX);
    l->part = part;
    for (l->at = 0; l->at < items.tuple->count; l->at++) {
        Value *mark = l->call->in->sp;
        poll_interrupt(l->call->in);
        load(l, items.tuple->items[l->at]);
        stack_cut(l->call->in, mark);
    }
    l->part = NULL;
}

/* Every argument node stands at one place among the arguments. */
static uint32_t count_arguments(Loader *l, Value v, bool *seen)
{
    uint32_t n = 0;
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        n += count_arguments(l, v.tuple->items[i], seen);
    if (!is_ref(v))
        return n;
    if (graph_at(l->graph, (uint32_t)v.i)->kind != GRAPH_ARGUMENT || seen[v.i])
        BAD(l, "its arguments are not its nodes that are arguments");
    return seen[v.i] = true;
}

/* What a result is made of says what it is: print shows it. */
static void check_result(Loader *l, Value v)
{
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        check_result(l, v.tuple->items[i]);
    if (is_ref(v) && graph_at(l->graph, (uint32_t)v.i)->dtype == DT_NONE)
        BAD(l, "its result is a node without a dtype");
}

static void load_signature(Loader *l)
{
    OpCall *c = l->call;
    Graph *g = l->graph;
    Interp *in = c->in;
    Value params = array(l, l->whole, "parameters", 10000), called = field(l, l->whole, "name");
    if (called.tag != V_UNDEF)
        g->name = name(l, called, "name");
    if (params.tuple->count) {
        g->param = mem_zalloc(&in->ctx, params.tuple->count * sizeof *g->param);
        g->params = params.tuple->count;
    }
    for (uint32_t i = 0; i < g->params; i++)
        g->param[i] = name(l, params.tuple->items[i], "a parameter");
    g->arguments = value(l, field(l, l->whole, "arguments"), g->nodes);
    if (g->arguments.tag != V_TUPLE || g->arguments.tuple->count != g->params)
        BAD(l, "it has %u parameters and arguments for others", g->params);
    g->result = value(l, field(l, l->whole, "result"), g->nodes);
    if (g->result.tag == V_UNDEF)
        BAD(l, "it has no result");
    check_result(l, g->result);
    int64_t nodes = g->nodes;
    Tensor *seen = op_keep(c, tensor_zeros(&in->ctx, DT_BOOL, 1, &nodes));
    uint32_t arguments = 0;
    for (uint32_t i = 0; i < g->nodes; i++)
        arguments += graph_at(g, i)->kind == GRAPH_ARGUMENT;
    if (count_arguments(l, g->arguments, (bool *)seen->data) != arguments || !arguments)
        BAD(l, "its arguments are not its nodes that are arguments");
}

static void check_head(Loader *l)
{
    Value format = field(l, l->whole, "format");
    if (!is_object(l->whole) || format.tag != V_STRING ||
        strcmp(format.str->text, "ricci graph") != 0)
        BAD(l, "it is no graph");
    int64_t version = whole(l, l->whole, "version", 1, INT32_MAX, 0);
    if (version != GRAPH_VERSION)
        BAD(l, "it is of version %lld, and %d is read here", (long long)version, GRAPH_VERSION);
}

/* Members by their number: c7.npy at 7, graph.json at last; name NULL: it is not there. */
static ZipMember *members(OpCall *c, const Bytes *b, int64_t *count)
{
    ZipReader r = zip_open(b);
    ZipMember m;
    zip_check_overlap(c, b, r);
    int64_t n = 0;
    for (ZipReader all = r; zip_next(&all, &m);)
        n++;
    int64_t bytes = (n + 1) * (int64_t)sizeof(ZipMember);
    ZipMember *list = (ZipMember *)(void *)op_keep(c, tensor_zeros(&c->in->ctx, DT_U8, 1,
                                                                   &bytes))->data;
    while (zip_next(&r, &m)) {
        char name[32] = "";
        int64_t k = n;
        if (m.name_len < (int64_t)sizeof name)
            memcpy(name, m.name, (size_t)m.name_len);
        bool json = strcmp(name, "graph.json") == 0, npy = false;
        if (name[0] == 'c' && name[1] >= '0' && name[1] <= '9') {
            char again[32];
            k = strtol(name + 1, NULL, 10);
            snprintf(again, sizeof again, "c%lld.npy", (long long)k);
            npy = strcmp(again, name) == 0;
        }
        if (!json && (!npy || k >= n))
            bytes_error(b, -1, NULL, "a member %.*s does not belong in a graph",
                        (int)(m.name_len < 60 ? m.name_len : 60), m.name);
        if (list[json ? n : k].name)
            bytes_error(b, -1, NULL, "two members are called %s", name);
        list[json ? n : k] = m;
    }
    *count = n;
    return list;
}

static void load_constants(Loader *l, const Bytes *archive, const ZipMember *list, int64_t members)
{
    Interp *in = l->call->in;
    Value items = array(l, l->whole, "constants", GRAPH_NODES_MAX);
    static const ZipMember none = { .name = NULL };
    Value *slot = in->sp;
    int64_t used = 1;
    v_push(in, v_tuple(tuple_new(&in->ctx, 0)));
    l->part = "constant";
    for (l->at = 0; l->at < items.tuple->count; l->at++) {
        const ZipMember *m = l->at < members ? &list[l->at] : &none;
        poll_interrupt(in);
        load_constant(l, items.tuple->items[l->at], archive, m, &slot->tuple);
        used += m->name != NULL;
    }
    l->part = NULL;
    if (used != members)
        BAD(l, "the archive has members that are none of its constants");
    l->constants = slot->tuple;
}

Value graph_load(OpCall *c, const char *path)
{
    Interp *in = c->in;
    int64_t count;
    Bytes archive = file_bytes(c, path);
    ZipMember *list = members(c, &archive, &count), *m = &list[count];
    if (!m->name)
        bytes_error(&archive, -1, NULL, "the archive has no member graph.json");
    if (m->size > GRAPH_JSON_MAX)
        bytes_error(&archive, -1, NULL, "graph.json has %lld bytes, more than %d",
                    (long long)m->size, GRAPH_JSON_MAX);
    Bytes b = zip_contents(&archive, m, "graph.json");
    Json json;
    Loader l = { .call = c, .b = &b };
    json_start(&json, &b, 0, b.size);
    l.whole = op_root(c, json_value(&json));
    if (json_walk_peek(&json.walk) != '\0' || json.walk.at < json.walk.end)
        bytes_error(&b, json.walk.at, NULL, "it goes on after its object");
    check_head(&l);
    l.graph = graph_new(in);
    op_root(c, v_graph(l.graph));
    load_constants(&l, &archive, list, count);
    each(&l, "lines", "line", load_line);
    each(&l, "scopes", "scope", load_scope);
    each(&l, "devices", "device", load_place);
    each(&l, "nodes", "node", load_node);
    load_signature(&l);
    graph_settle(in, l.graph);
    return v_retain(v_graph(l.graph));
}
