/* Building: what the table's functions do. */
#include "kernels/machine/quick_ir.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#if defined __x86_64__ && defined __linux__
/* ---- the arena: pages are there once they are touched ---- */
enum { ARENA = 1 << 29, ALIGN = 16, LAST = 1 << 26 };

/* Nothing of use is as large. When it is used up what comes then is rubbish that nobody reads. */
void *quick_alloc(LlContext q, size_t bytes)
{
    bytes = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (bytes > ARENA - LAST - q->used) {
        q->failed = true;
        return (char *)q + ARENA - LAST;
    }
    void *p = (char *)q + q->used;
    q->used += bytes;
    return p;
}

/* The first pages of one that was used little are kept: to zero them takes less than new ones. */
enum { KEPT = 1 << 20 };
static _Atomic(LlContext) spare;

static LlContext spare_take(void)
{
    LlContext q = atomic_exchange(&spare, NULL);
    if (!q)
        return MAP_FAILED;
    memset(q, 0, q->used);
    LlContext all = mremap(q, KEPT, ARENA, MREMAP_MAYMOVE);
    if (all == MAP_FAILED)
        munmap(q, KEPT);
    return all;
}

static LlContext context_create(void)
{
    LlContext q = spare_take();
    if (q == MAP_FAILED)
        q = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                 -1, 0);
    if (q == MAP_FAILED)
        return NULL;
    q->used = sizeof *q;
    q->flag = (struct LlTypeOf){ .q = q, .kind = QT_INT, .bits = 1 };
    return q;
}

static void context_dispose(LlContext q)
{
    if (!q)
        return;
    bool keep = q->used <= KEPT && !q->failed && munmap((char *)q + KEPT, ARENA - KEPT) == 0;
    if (!keep)
        munmap(q, ARENA);
    else if ((q = atomic_exchange(&spare, q)))
        munmap(q, KEPT);
}

static LlModule module_create(const char *name, LlContext q) { (void)name; return (LlModule)q; }
static void module_dispose(LlModule m) { (void)m; }
static LlBuilder builder_create(LlContext q) { return (LlBuilder)q; }
static void builder_dispose(LlBuilder b) { (void)b; }

/* ---- types ---- */
static LlType type_new(LlContext q, TypeKind kind, unsigned bits)
{
    LlType t = quick_alloc(q, sizeof *t);
    *t = (struct LlTypeOf){ .q = q, .kind = kind, .bits = bits };
    return t;
}

static LlType type_int(LlContext q, unsigned bits)
{
    bool known = bits == 1 || bits == 8 || bits == 32 || bits == 64;
    return type_new(q, known ? QT_INT : QT_OTHER, bits);
}

static LlType type_double(LlContext q) { return type_new(q, QT_REAL, 64); }
/* Nothing is computed with one: it is its bits, until it is extended. */
static LlType type_float(LlContext q) { return type_new(q, QT_INT, 32); }
static LlType type_void(LlContext q) { return type_new(q, QT_VOID, 0); }

static LlType type_pointer(LlType to, unsigned space)
{
    (void)space;
    return type_new(to->q, QT_POINTER, 64);
}

static LlType type_parts(LlContext q, TypeKind kind, LlType *parts, unsigned count)
{
    LlType t = type_new(q, kind, 64);
    t->parts = quick_alloc(q, count * sizeof *parts + 1);
    if (count)
        memcpy(t->parts, parts, count * sizeof *parts);
    t->count = count;
    return t;
}

static LlType type_function(LlType result, LlType *parts, unsigned count, int variadic)
{
    LlType t = type_parts(result->q, variadic ? QT_OTHER : QT_FUNCTION, parts, count);
    t->result = result;
    return t;
}

/* Two members, the second a flag: what two registers return. */
static LlType type_struct(LlContext q, LlType *parts, unsigned count, int packed)
{
    bool pair = count == 2 && parts[1]->kind == QT_INT && !packed;
    return type_parts(q, pair ? QT_PAIR : QT_OTHER, parts, count);
}

/* ---- values ---- */
LlValue quick_value(LlContext q, ValueOp op, LlType type)
{
    LlValue v = quick_alloc(q, sizeof *v);
    *v = (struct LlValueOf){ .op = (uint8_t)op, .type = type, .index = -1, .homes = { -1, -1 } };
    return v;
}

LlValue quick_int(LlType type, int64_t i)
{
    LlValue v = quick_value(type->q, QV_INT, type);
    unsigned bits = quick_bits(type);
    v->i = bits == 64 ? i : i & (((int64_t)1 << bits) - 1);
    return v;
}

static LlValue const_int(LlType type, unsigned long long i, int sign)
{
    (void)sign;
    return quick_int(type, (int64_t)i);
}

static LlValue const_real(LlType type, double f)
{
    LlValue v = quick_value(type->q, QV_REAL, type);
    v->f = f;
    return v;
}

static LlValue undef(LlType type) { return quick_value(type->q, QV_UNDEF, type); }

void quick_insert(LlValue v, LlBlock b, LlValue before)
{
    v->block = b;
    v->next = before;
    v->before = before ? before->before : b->last;
    *(v->before ? &v->before->next : &b->first) = v;
    *(before ? &before->before : &b->last) = v;
}

void quick_remove(LlValue v)
{
    *(v->before ? &v->before->next : &v->block->first) = v->next;
    *(v->next ? &v->next->before : &v->block->last) = v->before;
}

/* ---- functions and blocks ---- */
static LlValue function_add(LlModule m, const char *name, LlType type)
{
    LlContext q = (LlContext)m;
    QuickFunction *f = quick_alloc(q, sizeof *f);
    LlValue v = quick_value(q, QV_FUNCTION, type);
    size_t length = strlen(name) + 1;
    *f = (QuickFunction){ .q = q, .name = memcpy(quick_alloc(q, length), name, length), .value = v,
                          .type = type };
    f->params = quick_alloc(q, (type->count + 1) * sizeof *f->params);
    for (unsigned i = 0; i < type->count; i++) {
        f->params[i] = quick_value(q, QV_PARAM, type->parts[i]);
        f->params[i]->index = (int32_t)i;
    }
    *(q->last ? &q->last->next : &q->functions) = f;
    q->last = f;
    v->function = f;
    return v;
}

static LlValue param(LlValue f, unsigned i) { return f->function->params[i]; }
static void linkage(LlValue f, int how) { (void)f, (void)how; }

static LlAttribute attribute(LlContext q, const char *a, unsigned n, const char *b, unsigned m)
{
    (void)q, (void)a, (void)n, (void)b, (void)m;
    return NULL;
}

static void attribute_add(LlValue f, unsigned at, LlAttribute a) { (void)f, (void)at, (void)a; }

static LlBlock block_append(LlContext q, LlValue function, const char *name)
{
    QuickFunction *f = function->function;
    LlBlock b = quick_alloc(q, sizeof *b);
    (void)name;
    *b = (struct LlBlockOf){ .function = f };
    *(f->blocks_end ? &f->blocks_end->list : &f->blocks) = b;
    f->blocks_end = b;
    f->block_count++;
    return b;
}

static void position(LlBuilder builder, LlBlock b)
{
    ((LlContext)builder)->here = b;
    if (!b->entered)
        b->place = b->function->entered++;
    b->entered = true;
}

static LlBlock insert_block(LlBuilder b) { return ((LlContext)b)->here; }

static LlValue terminator(LlBlock b)
{
    return b->last && quick_ends(b->last) ? b->last : NULL;
}

/* ---- intrinsics ---- */
static const struct { const char *name; uint8_t op, code; bool sign; } intrinsics[] = {
    { "llvm.sadd.with.overflow", QV_CHECKED, LL_ADD, true },
    { "llvm.ssub.with.overflow", QV_CHECKED, LL_SUB, true },
    { "llvm.smul.with.overflow", QV_CHECKED, LL_MUL, true },
    { "llvm.uadd.with.overflow", QV_CHECKED, LL_ADD, false },
    { "llvm.usub.with.overflow", QV_CHECKED, LL_SUB, false },
    { "llvm.umul.with.overflow", QV_CHECKED, LL_MUL, false },
    { "llvm.sqrt", QV_SQRT, 0, false },
    { "llvm.fabs", QV_ABS, 0, false },
};

static unsigned intrinsic_id(const char *name, size_t length)
{
    unsigned i = 0, n = sizeof intrinsics / sizeof *intrinsics;
    while (i < n && (strlen(intrinsics[i].name) != length ||
                     memcmp(intrinsics[i].name, name, length) != 0))
        i++;
    return i < n ? i + 1 : 0;
}

static LlValue intrinsic(LlModule m, unsigned id, LlType *types, size_t count)
{
    LlContext q = (LlContext)m;
    LlValue v = quick_value(q, QV_INTRINSIC, count ? types[0] : NULL);
    v->index = (int32_t)id - 1;
    q->failed |= !id;
    return v;
}

static LlType intrinsic_type(LlContext q, unsigned id, LlType *types, size_t count)
{
    return type_function(count && id ? types[0] : type_void(q), types, (unsigned)count, false);
}

/* ---- instructions ---- */
static LlValue add(LlBuilder builder, ValueOp op, LlType type, LlValue a, LlValue b)
{
    LlContext q = (LlContext)builder;
    LlValue v = quick_value(q, op, type);
    v->a = a;
    v->b = b;
    if (terminator(q->here))
        q->here->odd = true;             /* nothing comes behind an end */
    else
        quick_insert(v, q->here, NULL);
    v->block = q->here;
    return v;
}

static LlValue build_alloca(LlBuilder builder, LlType type, const char *name)
{
    LlContext q = (LlContext)builder;
    QuickFunction *f = q->here->function;
    LlValue v = quick_value(q, QV_VARIABLE, type);
    (void)name;
    if (f->variable_count == f->variable_room) {
        LlValue *old = f->variables;
        f->variable_room = 2 * f->variable_room + 64;
        f->variables = quick_alloc(q, f->variable_room * sizeof *old);
        if (old)
            memcpy(f->variables, old, f->variable_count * sizeof *old);
    }
    v->index = (int32_t)f->variable_count;
    f->variables[f->variable_count++] = v;
    return v;
}

static LlValue build_load(LlBuilder builder, LlType type, LlValue from, const char *name)
{
    (void)name;
    ((LlContext)builder)->failed |= from->op == QV_VARIABLE &&
                                    (from->type->kind == QT_REAL) != (type->kind == QT_REAL);
    return add(builder, from->op == QV_VARIABLE ? QV_READ : QV_LOAD, type, from, NULL);
}

static LlValue build_store(LlBuilder builder, LlValue value, LlValue to)
{
    ((LlContext)builder)->failed |= value->op == QV_VARIABLE;
    return add(builder, to->op == QV_VARIABLE ? QV_WRITE : QV_STORE, value->type, to, value);
}

static unsigned size_of(LlContext q, LlType t)
{
    unsigned bits = quick_bits(t);
    q->failed |= t->kind != QT_INT && t->kind != QT_REAL && t->kind != QT_POINTER;
    return bits < 8 ? 1 : bits / 8;
}

static LlValue build_address(LlBuilder builder, LlType element, LlValue base, LlValue *index,
                             unsigned count, const char *name)
{
    LlContext q = (LlContext)builder;
    (void)name;
    LlValue v = add(builder, QV_ADDRESS, base->type, base, index[0]);
    v->count = size_of(q, element);
    q->failed |= count != 1 || base->op == QV_VARIABLE || quick_bits(index[0]->type) != 64;
    return v;
}

static LlValue build_binary(LlBuilder builder, int code, LlValue a, LlValue b, const char *name)
{
    (void)name;
    LlValue v = add(builder, QV_BINARY, a->type, a, b);
    v->code = (uint8_t)code;
    return v;
}

static LlValue build_add(LlBuilder b, LlValue x, LlValue y, const char *name)
{
    return build_binary(b, LL_ADD, x, y, name);
}

static LlValue build_sub(LlBuilder b, LlValue x, LlValue y, const char *name)
{
    return build_binary(b, LL_SUB, x, y, name);
}

static LlValue build_mul(LlBuilder b, LlValue x, LlValue y, const char *name)
{
    return build_binary(b, LL_MUL, x, y, name);
}

static LlValue build_negate(LlBuilder b, LlValue x, const char *name)
{
    (void)name;
    return add(b, QV_NEGATE, x->type, x, NULL);
}

static LlValue build_icmp(LlBuilder b, int predicate, LlValue x, LlValue y, const char *name)
{
    (void)name;
    LlValue v = add(b, QV_ICMP, &((LlContext)b)->flag, x, y);
    v->code = (uint8_t)predicate;
    return v;
}

static LlValue build_fcmp(LlBuilder b, int predicate, LlValue x, LlValue y, const char *name)
{
    (void)name;
    LlValue v = add(b, QV_FCMP, &((LlContext)b)->flag, x, y);
    v->code = (uint8_t)predicate;
    return v;
}

static LlValue build_select(LlBuilder b, LlValue c, LlValue x, LlValue y, const char *name)
{
    (void)name;
    LlValue v = add(b, QV_SELECT, x->type, x, y);
    v->c = c;
    return v;
}

/* One pointer is as good as another, and as an int of 64 bits. */
static LlValue build_cast(LlBuilder b, int code, LlValue x, LlType type, const char *name)
{
    (void)name;
    bool reals = (x->type->kind == QT_REAL) != (type->kind == QT_REAL);
    if (code == LL_INT_TO_PTR || (code == LL_BITCAST && !reals))
        return x;
    bool rounds = code == LL_FP_EXT && x->op == QV_CAST && x->code == LL_FP_TRUNC;
    LlValue v = add(b, QV_CAST, type, rounds ? x->a : x, NULL);
    v->code = rounds ? QUICK_ROUND : (uint8_t)code;
    return v;
}

static LlValue build_call(LlBuilder builder, LlType type, LlValue f, LlValue *args, unsigned count,
                          const char *name)
{
    LlContext q = (LlContext)builder;
    (void)name;
    if (f->op == QV_INTRINSIC) {
        uint8_t op = f->index < 0 ? QV_ABS : intrinsics[f->index].op;
        LlValue v = add(builder, op, f->type, args[0], count > 1 ? args[1] : NULL);
        if (op != QV_CHECKED)
            return v;
        v->code = intrinsics[f->index].code;
        v->sign = intrinsics[f->index].sign;
        v->second = add(builder, QV_SECOND, &q->flag, v, NULL);
        return v;
    }
    LlType result = type->result;
    LlValue v = add(builder, QV_CALL, result->kind == QT_PAIR ? result->parts[0] : result, f, NULL);
    v->args = quick_alloc(q, (count + 1) * sizeof *args);
    if (count)
        memcpy(v->args, args, count * sizeof *args);
    v->count = count;
    q->failed |= result->kind == QT_OTHER || type->kind != QT_FUNCTION;
    if (result->kind == QT_PAIR)
        v->second = add(builder, QV_SECOND, result->parts[1], v, NULL);
    return v;
}

static LlValue build_extract(LlBuilder b, LlValue v, unsigned i, const char *name)
{
    LlContext q = (LlContext)b;
    (void)name;
    if (v->op == QV_PAIR)
        return i ? v->b : v->a;
    q->failed |= !v->second;
    return i && v->second ? v->second : v;
}

static LlValue build_insert(LlBuilder b, LlValue pair, LlValue v, unsigned i, const char *name)
{
    (void)name;
    LlValue other = pair->op == QV_PAIR ? (i ? pair->a : pair->b) : NULL;
    ((LlContext)b)->failed |= pair->op != QV_PAIR && pair->op != QV_UNDEF;
    LlValue both = quick_value((LlContext)b, QV_PAIR, pair->type);
    both->a = i ? other : v;
    both->b = i ? v : other;
    return both;
}

static LlValue build_jump(LlBuilder b, LlBlock to)
{
    LlValue v = add(b, QV_JUMP, NULL, NULL, NULL);
    v->yes = to;
    return v;
}

static LlValue build_branch(LlBuilder b, LlValue c, LlBlock yes, LlBlock no)
{
    LlValue v = add(b, QV_BRANCH, NULL, c, NULL);
    v->yes = yes;
    v->no = no;
    return v;
}

static LlValue build_return(LlBuilder b, LlValue v)
{
    if (v->op == QV_PAIR)
        return add(b, QV_RETURN, v->type, v->a, v->b);
    return add(b, QV_RETURN, v->type, v, v->second);
}

static LlValue build_unreachable(LlBuilder b) { return add(b, QV_UNREACHABLE, NULL, NULL, NULL); }

static LlValue build_phi(LlBuilder b, LlType type, const char *name)
{
    LlValue v = add(b, QV_PHI, type, build_alloca(b, type, name), NULL);
    return v;
}

static void incoming(LlValue phi, LlValue *values, LlBlock *blocks, unsigned count)
{
    LlContext q = phi->a->type->q;
    LlValue *all = quick_alloc(q, (phi->count + count) * sizeof *all);
    LlBlock *from = quick_alloc(q, (phi->count + count) * sizeof *from);
    for (uint32_t i = 0; i < phi->count + count; i++) {
        all[i] = i < phi->count ? phi->args[i] : values[i - phi->count];
        from[i] = i < phi->count ? phi->from[i] : blocks[i - phi->count];
    }
    phi->args = all;
    phi->from = from;
    phi->count += count;
}

static void set_volatile(LlValue v, int on) { v->is_volatile = on; }

/* ---- metadata: a branch with any is rare ---- */
static LlMetadata md_string(LlContext q, const char *text, size_t n)
{
    (void)q, (void)text, (void)n;
    return NULL;
}

static LlMetadata md_node(LlContext q, LlMetadata *parts, size_t n)
{
    (void)q, (void)parts, (void)n;
    return NULL;
}

static LlMetadata md_of(LlValue v) { (void)v; return NULL; }
static LlValue md_value(LlContext q, LlMetadata m) { (void)q, (void)m; return NULL; }

static unsigned md_kind(LlContext q, const char *name, unsigned n)
{
    (void)q, (void)name, (void)n;
    return 1;
}

static void md_set(LlValue v, unsigned kind, LlValue what)
{
    (void)kind, (void)what;
    v->rare = true;
}

/* ---- the table ---- */
static const Llvm table = {
    .ContextCreate = context_create, .ContextDispose = context_dispose,
    .ModuleCreateWithNameInContext = module_create, .DisposeModule = module_dispose,
    .CreateBuilderInContext = builder_create, .DisposeBuilder = builder_dispose,
    .IntTypeInContext = type_int, .DoubleTypeInContext = type_double,
    .FloatTypeInContext = type_float, .VoidTypeInContext = type_void,
    .PointerType = type_pointer, .FunctionType = type_function, .StructTypeInContext = type_struct,
    .ConstInt = const_int, .ConstReal = const_real, .GetUndef = undef,
    .AddFunction = function_add, .GetParam = param, .SetLinkage = linkage,
    .CreateStringAttribute = attribute, .AddAttributeAtIndex = attribute_add,
    .AppendBasicBlockInContext = block_append, .PositionBuilderAtEnd = position,
    .GetInsertBlock = insert_block, .GetBasicBlockTerminator = terminator,
    .LookupIntrinsicID = intrinsic_id, .GetIntrinsicDeclaration = intrinsic,
    .IntrinsicGetType = intrinsic_type,
    .BuildAlloca = build_alloca, .BuildLoad2 = build_load, .BuildStore = build_store,
    .BuildGEP2 = build_address, .BuildBinOp = build_binary, .BuildNSWAdd = build_add,
    .BuildNSWSub = build_sub, .BuildNSWMul = build_mul, .BuildFNeg = build_negate,
    .BuildICmp = build_icmp, .BuildFCmp = build_fcmp, .BuildSelect = build_select,
    .BuildCast = build_cast, .BuildCall2 = build_call, .BuildExtractValue = build_extract,
    .BuildInsertValue = build_insert, .BuildBr = build_jump, .BuildCondBr = build_branch,
    .BuildRet = build_return, .BuildUnreachable = build_unreachable, .BuildPhi = build_phi,
    .AddIncoming = incoming, .SetVolatile = set_volatile,
    .MDStringInContext2 = md_string, .MDNodeInContext2 = md_node, .ValueAsMetadata = md_of,
    .MetadataAsValue = md_value, .GetMDKindIDInContext = md_kind, .SetMetadata = md_set,
};

const Llvm *quick_open(void) { return &table; }

/* ---- finishing ---- */
/* What is larger than any program that a person wrote is not for a quick generator. */
enum { VALUES_MOST = 1 << 23, PRODUCT_MOST = 1 << 24 };

/* A phi becomes a variable that those before write last. */
static void phis_lower(QuickFunction *f)
{
    for (LlBlock b = f->blocks; b; b = b->list)
        for (LlValue v = b->first; v; v = v->next) {
            for (uint32_t i = 0; v->op == QV_PHI && i < v->count; i++) {
                LlValue w = quick_value(f->q, QV_WRITE, v->type), end = terminator(v->from[i]);
                w->a = v->a;
                w->b = v->args[i];
                quick_insert(w, v->from[i], end);
            }
            if (v->op == QV_PHI)
                v->op = QV_READ;
        }
}

void *quick_finish(LlContext q, const char *name, QuickPages *pages)
{
    *pages = (QuickPages){ NULL, 0 };
    for (QuickFunction *f = q->functions; f; f = f->next) {
        if (q->failed || q->used > VALUES_MOST || !f->blocks)
            return NULL;
        phis_lower(f);
        quick_simplify(f);
        if (q->failed || q->used > 2 * (size_t)VALUES_MOST)
            return NULL;
        quick_select(f);
        if (q->failed || (uint64_t)f->vreg_count * f->count > PRODUCT_MOST)
            return NULL;
        quick_allocate(f);
    }
    return q->failed ? NULL : quick_emit(q, name, pages);
}

void quick_pages_free(QuickPages *pages)
{
    if (pages->at)
        munmap(pages->at, pages->bytes);
    *pages = (QuickPages){ NULL, 0 };
}
#else
const Llvm *quick_open(void) { return NULL; }

void *quick_finish(LlContext q, const char *name, QuickPages *pages)
{
    (void)q, (void)name, (void)pages;
    return NULL;
}

void quick_pages_free(QuickPages *pages) { (void)pages; }
#endif
