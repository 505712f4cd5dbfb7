/* The quick generator of machine code: small functions made through its table, run beside plain C:
 * every operation and predicate with nan and extremes, overflow, spilled values, loops, calls. */
#include "kernels/machine/code.h"
#include "tests/unit/check.h"

#include <math.h>

enum { FP_TO_SI = 34 };

typedef struct Maker {
    MachineDraft d;
    MachineCode code;
    LlType flag, byte, small, word, real, pointer;
    LlValue function;
    LlBuilder b;
    const Llvm *ll;
} Maker;

static bool maker(Maker *m) {
    if (!machine_begin(&m->d, MACHINE_QUICK)) return false;
    const Llvm *ll = m->ll = m->d.ll;
    LlContext c = m->d.context;
    m->b = m->d.builder;
    m->flag = ll->IntTypeInContext(c, 1);
    m->byte = ll->IntTypeInContext(c, 8);
    m->small = ll->IntTypeInContext(c, 32);
    m->word = ll->IntTypeInContext(c, 64);
    m->real = ll->DoubleTypeInContext(c);
    m->pointer = ll->PointerType(m->word, 0);
    return true;
}

static LlBlock block(Maker *m) {
    return m->ll->AppendBasicBlockInContext(m->d.context, m->function, "");
}

static void enter(Maker *m, LlBlock b) { m->ll->PositionBuilderAtEnd(m->b, b); }

static void begin(Maker *m, const char *name, LlType result, LlType *types, unsigned n) {
    LlType type = m->ll->FunctionType(result, types, n, false);
    m->function = machine_function(&m->d, name, type, false);
    enter(m, block(m));
}

static LlValue arg(Maker *m, unsigned i) { return m->ll->GetParam(m->function, i); }
static LlValue word(Maker *m, int64_t i) { return m->ll->ConstInt(m->word, (uint64_t)i, true); }

static void *finish(Maker *m, const char *name) {
    void *at = machine_finish(&m->d, name, false, &m->code);
    CHECK(at != NULL);
    return at;
}

static const int64_t ints[] = { 0, 1, -1, 2, 7, -13, 1000003, INT64_MAX, INT64_MIN, INT64_MAX - 1,
                                INT64_MIN + 1, (int64_t)1 << 32, -((int64_t)1 << 31), 4294967295 };
static const double reals[] = { 0.0, -0.0, 1.0, -1.5, 3.25, 1e300, -1e300, INFINITY, -INFINITY, NAN,
                                5e-324 };
enum { INTS = sizeof ints / sizeof *ints, REALS = sizeof reals / sizeof *reals };

static bool same(double a, double b) {
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

/* ---- ints ---- */
static int64_t of_ints(int op, int64_t a, int64_t b) {
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (op) {
    case LL_ADD: return (int64_t)(x + y);
    case LL_SUB: return (int64_t)(x - y);
    case LL_MUL: return (int64_t)(x * y);
    case LL_AND: return a & b;
    case LL_OR: return a | b;
    case LL_XOR: return a ^ b;
    case LL_UDIV: return (int64_t)(x / y);
    case LL_SDIV: return a / b;
    default: return a % b;
    }
}

/* constant: 0 neither, 1 the second, 2 the first is one. */
static void try_ints(int op, int64_t a, int64_t b, int constant) {
    Maker m;
    bool division = op == LL_UDIV || op == LL_SDIV || op == LL_SREM;
    if ((division && (b == 0 || b == -1)) || !maker(&m)) return;
    begin(&m, "f", m.word, (LlType[]){ m.word, m.word }, 2);
    LlValue x = constant == 2 ? word(&m, a) : arg(&m, 0), y = constant == 1 ? word(&m, b) : arg(&m, 1);
    m.ll->BuildRet(m.b, m.ll->BuildBinOp(m.b, op, x, y, ""));
    int64_t (*f)(int64_t, int64_t) = (int64_t (*)(int64_t, int64_t))finish(&m, "f");
    if (f) CHECK(f(a, b) == of_ints(op, a, b));
    machine_free(&m.code);
}

static void test_ints(void) {
    static const int ops[] = { LL_ADD, LL_SUB, LL_MUL, LL_AND, LL_OR, LL_XOR, LL_UDIV, LL_SDIV,
                               LL_SREM };
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
        for (int i = 0; i < INTS; i++)
            for (int j = 0; j < INTS; j++)
                try_ints(ops[k], ints[i], ints[j], (i + j) % 3);
}

/* ---- comparisons: as a value, as a choice and as a branch at once ---- */
static void compare_returned(Maker *m, LlValue c) {
    const Llvm *ll = m->ll;
    LlBlock yes = block(m), no = block(m), end = block(m);
    LlValue v = ll->BuildCast(m->b, LL_ZEXT, c, m->word, "");
    LlValue s = ll->BuildSelect(m->b, c, word(m, 20), word(m, 10), "");
    LlValue r = ll->BuildSelect(m->b, c, ll->ConstReal(m->real, 4), ll->ConstReal(m->real, 2), "");
    ll->BuildCondBr(m->b, c, yes, no);
    enter(m, yes);
    ll->BuildBr(m->b, end);
    enter(m, no);
    ll->BuildBr(m->b, end);
    enter(m, end);
    LlValue phi = ll->BuildPhi(m->b, m->word, "");
    LlValue both[] = { word(m, 200), word(m, 100) };
    ll->AddIncoming(phi, both, (LlBlock[]){ yes, no }, 2);
    LlValue sum = ll->BuildBinOp(m->b, LL_ADD, ll->BuildBinOp(m->b, LL_ADD, v, s, ""), phi, "");
    LlValue bits = ll->BuildCast(m->b, LL_BITCAST, r, m->word, "");
    LlValue four = ll->BuildICmp(m->b, LL_EQ, bits, word(m, 0x4010000000000000), "");
    LlValue times = ll->BuildSelect(m->b, four, word(m, 1000), word(m, 2000), "");
    ll->BuildRet(m->b, ll->BuildBinOp(m->b, LL_ADD, sum, times, ""));
}

static int64_t compared(bool c) { return c ? 1 + 20 + 200 + 1000 : 0 + 10 + 100 + 2000; }

static bool icompare(int p, int64_t a, int64_t b) {
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    const bool all[] = { a == b, a != b, x > y, x >= y, x < y, x <= y, a > b, a >= b, a < b, a <= b };
    return all[p - LL_EQ];
}

static bool fcompare(int p, double a, double b) {
    bool un = isnan(a) || isnan(b);
    const bool all[] = { false, a == b, a > b, a >= b, a < b, a <= b, a < b || a > b, !un, un,
                         un || a == b, un || a > b, un || a >= b, un || a < b, un || a <= b, a != b };
    return all[p];
}

static void test_comparisons(void) {
    Maker m;
    for (int p = LL_EQ; p <= LL_SLE && maker(&m); p++) {
        begin(&m, "f", m.word, (LlType[]){ m.word, m.word }, 2);
        compare_returned(&m, m.ll->BuildICmp(m.b, p, arg(&m, 0), arg(&m, 1), ""));
        int64_t (*f)(int64_t, int64_t) = (int64_t (*)(int64_t, int64_t))finish(&m, "f");
        for (int i = 0; f && i < INTS * INTS; i++) {
            int64_t a = ints[i / INTS], b = ints[i % INTS];
            CHECK(f(a, b) == compared(icompare(p, a, b)));
        }
        machine_free(&m.code);
    }
    for (int p = LL_OEQ; p <= LL_UNE && maker(&m); p++) {
        begin(&m, "f", m.word, (LlType[]){ m.real, m.real }, 2);
        compare_returned(&m, m.ll->BuildFCmp(m.b, p, arg(&m, 0), arg(&m, 1), ""));
        int64_t (*f)(double, double) = (int64_t (*)(double, double))finish(&m, "f");
        for (int i = 0; f && i < REALS * REALS; i++) {
            double a = reals[i / REALS], b = reals[i % REALS];
            CHECK(f(a, b) == compared(fcompare(p, a, b)));
        }
        machine_free(&m.code);
    }
}

/* ---- floats ---- */
static double of_reals(int op, double a, double b) {
    switch (op) {
    case LL_FADD: return a + b;
    case LL_FSUB: return a - b;
    case LL_FMUL: return a * b;
    case LL_FDIV: return a / b;
    default: return -fabs(sqrt(a)) - (-b);
    }
}

static LlValue unary(Maker *m, const char *name, LlValue x) {
    const Llvm *ll = m->ll;
    unsigned id = ll->LookupIntrinsicID(name, strlen(name));
    LlValue f = ll->GetIntrinsicDeclaration(m->d.module, id, &m->real, 1);
    return ll->BuildCall2(m->b, ll->IntrinsicGetType(m->d.context, id, &m->real, 1), f, &x, 1, "");
}

static void test_reals(void) {
    static const int ops[] = { LL_FADD, LL_FSUB, LL_FMUL, LL_FDIV, 0 };
    Maker m;
    for (int k = 0; k < 5 && maker(&m); k++) {
        begin(&m, "f", m.real, (LlType[]){ m.real, m.real }, 2);
        LlValue a = arg(&m, 0), b = arg(&m, 1), r;
        if (ops[k]) r = m.ll->BuildBinOp(m.b, ops[k], a, b, "");
        else r = m.ll->BuildBinOp(m.b, LL_FSUB, m.ll->BuildFNeg(m.b, unary(&m, "llvm.fabs",
                                  unary(&m, "llvm.sqrt", a)), ""), m.ll->BuildFNeg(m.b, b, ""), "");
        m.ll->BuildRet(m.b, r);
        double (*f)(double, double) = (double (*)(double, double))finish(&m, "f");
        for (int i = 0; f && i < REALS * REALS; i++) {
            double x = reals[i / REALS], y = reals[i % REALS];
            CHECK(same(f(x, y), of_reals(ops[k], x, y)));
        }
        machine_free(&m.code);
    }
}

/* By a power of two, which becomes a product, and by what only looks like one. */
static void test_divisors(void) {
    static const double by[] = { 2, -0.5, 1024, 0x1p1022, 0x1p1023, 0x1p-1022, 0x1p-1023, 5e-324, 3, 0,
                                 -0.0, INFINITY, NAN, 1, -1, 0x1.8p3 };
    Maker m;
    for (size_t k = 0; k < sizeof by / sizeof *by && maker(&m); k++) {
        begin(&m, "f", m.real, (LlType[]){ m.real }, 1);
        LlValue divisor = m.ll->ConstReal(m.real, by[k]);
        m.ll->BuildRet(m.b, m.ll->BuildBinOp(m.b, LL_FDIV, arg(&m, 0), divisor, ""));
        double (*f)(double) = (double (*)(double))finish(&m, "f");
        for (int i = 0; f && i < REALS; i++)
            CHECK(same(f(reals[i]), reals[i] / by[k]));
        for (double x = 0x1.fffffffffffffp-1020; f && x > 0; x *= 0.37)
            CHECK(same(f(x), x / by[k]));
        machine_free(&m.code);
    }
}

/* ---- overflow ---- */
static LlValue checked(Maker *m, const char *name, LlValue a, LlValue b, LlValue *over) {
    const Llvm *ll = m->ll;
    unsigned id = ll->LookupIntrinsicID(name, strlen(name));
    LlValue f = ll->GetIntrinsicDeclaration(m->d.module, id, &m->word, 1);
    LlType type = ll->IntrinsicGetType(m->d.context, id, &m->word, 1);
    LlValue both = ll->BuildCall2(m->b, type, f, (LlValue[]){ a, b }, 2, "");
    *over = ll->BuildExtractValue(m->b, both, 1, "");
    return ll->BuildExtractValue(m->b, both, 0, "");
}

static bool overflows(int k, int64_t a, int64_t b, int64_t *r) {
    uint64_t u;
    switch (k) {
    case 0: return __builtin_add_overflow(a, b, r);
    case 1: return __builtin_sub_overflow(a, b, r);
    case 2: return __builtin_mul_overflow(a, b, r);
    case 3: *r = (int64_t)((uint64_t)a + (uint64_t)b);
        return __builtin_add_overflow((uint64_t)a, (uint64_t)b, &u);
    case 4: *r = (int64_t)((uint64_t)a - (uint64_t)b);
        return __builtin_sub_overflow((uint64_t)a, (uint64_t)b, &u);
    default: *r = (int64_t)((uint64_t)a * (uint64_t)b);
        return __builtin_mul_overflow((uint64_t)a, (uint64_t)b, &u);
    }
}

/* x op= b in place: where it overflows, x is what it was. */
static void test_overflow(void) {
    static const char *const names[] = {
        "llvm.sadd.with.overflow", "llvm.ssub.with.overflow", "llvm.smul.with.overflow",
        "llvm.uadd.with.overflow", "llvm.usub.with.overflow", "llvm.umul.with.overflow" };
    Maker m;
    for (int k = 0; k < 12 && maker(&m); k++) {
        begin(&m, "f", m.word, (LlType[]){ m.word, m.word, m.pointer }, 3);
        LlValue x = m.ll->BuildAlloca(m.b, m.word, ""), over;
        LlBlock leave = block(&m), on = block(&m);
        m.ll->BuildStore(m.b, arg(&m, 0), x);
        LlValue r = checked(&m, names[k % 6], m.ll->BuildLoad2(m.b, m.word, x, ""), arg(&m, 1), &over);
        if (k >= 6)                              /* the flag as a value too */
            m.ll->BuildStore(m.b, m.ll->BuildCast(m.b, LL_ZEXT, over, m.word, ""), arg(&m, 2));
        m.ll->BuildCondBr(m.b, over, leave, on);
        enter(&m, on);
        m.ll->BuildStore(m.b, r, x);
        m.ll->BuildRet(m.b, m.ll->BuildLoad2(m.b, m.word, x, ""));
        enter(&m, leave);
        m.ll->BuildRet(m.b, m.ll->BuildLoad2(m.b, m.word, x, ""));
        int64_t (*f)(int64_t, int64_t, int64_t *) =
            (int64_t (*)(int64_t, int64_t, int64_t *))finish(&m, "f");
        for (int i = 0; f && i < INTS * INTS; i++) {
            int64_t a = ints[i / INTS], b = ints[i % INTS], wanted, told = -1;
            bool is = overflows(k % 6, a, b, &wanted);
            CHECK(f(a, b, &told) == (is ? a : wanted));
            CHECK(told == (k >= 6 ? is : -1));
        }
        machine_free(&m.code);
    }
}

/* ---- memory and conversions ---- */
static void test_memory(void) {
    Maker m;
    if (!maker(&m)) return;
    begin(&m, "f", m.word, (LlType[]){ m.pointer, m.pointer, m.word }, 3);
    const Llvm *ll = m.ll;
    LlValue i = arg(&m, 2), j = ll->BuildNSWAdd(m.b, i, word(&m, 1), ""), k = word(&m, 2);
    LlValue p = ll->BuildGEP2(m.b, m.real, arg(&m, 0), &i, 1, "");
    LlValue q = ll->BuildGEP2(m.b, m.real, arg(&m, 0), &j, 1, "");
    LlValue b = ll->BuildGEP2(m.b, m.byte, arg(&m, 1), &i, 1, "");
    LlValue s = ll->BuildGEP2(m.b, m.small, arg(&m, 1), &k, 1, "");
    LlValue byte = ll->BuildLoad2(m.b, m.byte, b, ""), small = ll->BuildLoad2(m.b, m.small, s, "");
    LlValue x = ll->BuildLoad2(m.b, m.real, p, "");
    ll->BuildStore(m.b, ll->BuildBinOp(m.b, LL_FADD, x, ll->BuildCast(m.b, LL_SI_TO_FP,
                   ll->BuildCast(m.b, LL_SEXT, byte, m.word, ""), m.real, ""), ""), q);
    ll->BuildStore(m.b, ll->BuildCast(m.b, LL_TRUNC, small, m.byte, ""), b);
    ll->BuildStore(m.b, ll->ConstInt(m.small, 77, false), s);
    LlValue all = ll->BuildCast(m.b, LL_SEXT, small, m.word, "");
    all = ll->BuildBinOp(m.b, LL_SUB, all, ll->BuildCast(m.b, LL_ZEXT, byte, m.word, ""), "");
    ll->BuildRet(m.b, ll->BuildBinOp(m.b, LL_ADD, all, ll->BuildCast(m.b, FP_TO_SI, x, m.word, ""),
                                     ""));
    int64_t (*f)(double *, void *, int64_t) = (int64_t (*)(double *, void *, int64_t))finish(&m, "f");
    double data[4] = { 1.5, 2.5, 3.75, 9 };
    union { int8_t b[12]; int32_t s[3]; } u = { .s = { 0, 0, -1234567 } };
    u.b[2] = -7;
    if (f) CHECK(f(data, &u, 2) == -1234567 - (uint8_t)-7 + 3);
    CHECK(data[3] == 3.75 - 7 && u.b[2] == (int8_t)-1234567 && u.s[2] == 77 && u.b[3] == 0);
    machine_free(&m.code);
}

/* ---- more values than registers, in a loop ---- */
enum { MANY = 40 };

static void test_spilling(void) {
    Maker m;
    if (!maker(&m)) return;
    begin(&m, "f", m.real, (LlType[]){ m.word }, 1);
    const Llvm *ll = m.ll;
    LlValue x[MANY], y[MANY], i = ll->BuildAlloca(m.b, m.word, ""), sum = ll->ConstReal(m.real, 0);
    for (int k = 0; k < MANY; k++) {
        ll->BuildStore(m.b, word(&m, k), x[k] = ll->BuildAlloca(m.b, m.word, ""));
        ll->BuildStore(m.b, ll->ConstReal(m.real, k), y[k] = ll->BuildAlloca(m.b, m.real, ""));
    }
    ll->BuildStore(m.b, word(&m, 0), i);
    LlBlock ask = block(&m), body = block(&m), end = block(&m);
    ll->BuildBr(m.b, ask);
    enter(&m, ask);
    LlValue at = ll->BuildLoad2(m.b, m.word, i, "");
    ll->BuildCondBr(m.b, ll->BuildICmp(m.b, LL_SLT, at, arg(&m, 0), ""), body, end);
    enter(&m, body);
    for (int k = 0; k < MANY; k++) {             /* all move on by one: each takes its neighbour's */
        LlValue v = ll->BuildLoad2(m.b, m.word, x[(k + 1) % MANY], "");
        ll->BuildStore(m.b, ll->BuildBinOp(m.b, LL_SUB, word(&m, k), v, ""), x[k]);
        LlValue w = ll->BuildLoad2(m.b, m.real, y[(k + 7) % MANY], "");
        LlValue own = ll->BuildLoad2(m.b, m.real, y[k], "");
        ll->BuildStore(m.b, ll->BuildBinOp(m.b, LL_FSUB, w, own, ""), y[k]);
    }
    ll->BuildStore(m.b, ll->BuildNSWAdd(m.b, at, word(&m, 1), ""), i);
    ll->BuildBr(m.b, ask);
    enter(&m, end);
    for (int k = 0; k < MANY; k++) {
        LlValue v = ll->BuildCast(m.b, LL_SI_TO_FP, ll->BuildLoad2(m.b, m.word, x[k], ""), m.real, "");
        v = ll->BuildBinOp(m.b, LL_FADD, v, ll->BuildLoad2(m.b, m.real, y[k], ""), "");
        sum = ll->BuildBinOp(m.b, LL_FADD, ll->BuildBinOp(m.b, LL_FMUL, sum,
                             ll->ConstReal(m.real, 0.5), ""), v, "");
    }
    ll->BuildRet(m.b, sum);
    double (*f)(int64_t) = (double (*)(int64_t))finish(&m, "f"), wanted = 0, q[MANY];
    int64_t p[MANY];
    for (int k = 0; k < MANY; k++) q[k] = (double)(p[k] = k);
    for (int n = 0; n < 9; n++)
        for (int k = 0; k < MANY; k++) {
            p[k] = k - p[(k + 1) % MANY];
            q[k] = q[(k + 7) % MANY] - q[k];
        }
    for (int k = 0; k < MANY; k++) wanted = wanted * 0.5 + ((double)p[k] + q[k]);
    if (f) CHECK(f(9) == wanted);
    machine_free(&m.code);
}

/* ---- calls: of C, of functions of the module, with two results ---- */
static double eight(int64_t a, double x, int64_t b, double y, int64_t c, int64_t d, double z) {
    return (double)(a - 2 * b + 3 * c - 4 * d) + x - 2 * y + 3 * z;
}

static void make_pair(Maker *m, LlType pair) {
    begin(m, "both", pair, (LlType[]){ m->word, m->word }, 2);
    LlValue over, sum = checked(m, "llvm.sadd.with.overflow", arg(m, 0), arg(m, 1), &over);
    LlValue r = m->ll->BuildInsertValue(m->b, m->ll->GetUndef(pair), sum, 0, "");
    m->ll->BuildRet(m->b, m->ll->BuildInsertValue(m->b, r, over, 1, ""));
}

static void test_calls(void) {
    Maker m;
    if (!maker(&m)) return;
    LlType pair = m.ll->StructTypeInContext(m.d.context, (LlType[]){ m.word, m.flag }, 2, false);
    make_pair(&m, pair);
    const Llvm *ll = m.ll;
    LlValue both = m.function;
    begin(&m, "f", m.real, (LlType[]){ m.word, m.word, m.real }, 3);
    LlValue a = arg(&m, 0), b = arg(&m, 1), x = arg(&m, 2);
    LlType two = ll->FunctionType(pair, (LlType[]){ m.word, m.word }, 2, false);
    LlValue r = ll->BuildCall2(m.b, two, both, (LlValue[]){ b, a }, 2, "");
    LlValue sum = ll->BuildExtractValue(m.b, r, 0, ""), over = ll->BuildExtractValue(m.b, r, 1, "");
    LlValue told = ll->BuildCast(m.b, LL_ZEXT, over, m.word, "");
    LlType w = m.word, d = m.real;
    LlType type = ll->FunctionType(d, (LlType[]){ w, d, w, d, w, w, d }, 7, false);
    LlValue f = ll->BuildCast(m.b, LL_INT_TO_PTR, word(&m, (int64_t)(intptr_t)eight),
                              ll->PointerType(type, 0), "");
    LlValue y = ll->ConstReal(m.real, 2.5);
    LlValue v = ll->BuildCall2(m.b, type, f, (LlValue[]){ b, x, a, y, told, sum, x }, 7, "");
    LlValue z = ll->BuildCall2(m.b, type, f, (LlValue[]){ a, v, b, x, sum, told, y }, 7, "");
    ll->BuildRet(m.b, ll->BuildBinOp(m.b, LL_FADD, ll->BuildBinOp(m.b, LL_FADD, v, z, ""), x, ""));
    double (*run)(int64_t, int64_t, double) = (double (*)(int64_t, int64_t, double))finish(&m, "f");
    for (int i = 0; run && i < INTS * INTS; i++) {
        int64_t p = ints[i / INTS] / 16, q = ints[i % INTS] / 16, s = p + q;
        double one = eight(q, 0.5, p, 2.5, 0, s, 0.5);
        CHECK(run(p, q, 0.5) == one + eight(p, one, q, 0.5, s, 0, 2.5) + 0.5);
    }
    machine_free(&m.code);
}

/* fib by itself: an int and whether it worked. */
static void test_recursion(void) {
    typedef struct Both { int64_t i; bool ok; } Both;
    Maker m;
    if (!maker(&m)) return;
    const Llvm *ll = m.ll;
    LlType pair = ll->StructTypeInContext(m.d.context, (LlType[]){ m.word, m.flag }, 2, false);
    LlType type = ll->FunctionType(pair, &m.word, 1, false);
    begin(&m, "fib", pair, &m.word, 1);
    LlBlock small = block(&m), large = block(&m);
    LlValue n = arg(&m, 0), self = m.function, none = ll->GetUndef(pair), over;
    ll->BuildCondBr(m.b, ll->BuildICmp(m.b, LL_SLT, n, word(&m, 2), ""), small, large);
    enter(&m, small);
    LlValue r = ll->BuildInsertValue(m.b, none, n, 0, "");
    ll->BuildRet(m.b, ll->BuildInsertValue(m.b, r, ll->ConstInt(m.flag, 1, false), 1, ""));
    enter(&m, large);
    LlValue one = ll->BuildNSWSub(m.b, n, word(&m, 1), ""), two = ll->BuildNSWSub(m.b, n, word(&m, 2), "");
    LlValue x = ll->BuildCall2(m.b, type, self, &one, 1, ""), y = ll->BuildCall2(m.b, type, self, &two, 1, "");
    LlValue sum = checked(&m, "llvm.sadd.with.overflow", ll->BuildExtractValue(m.b, x, 0, ""),
                          ll->BuildExtractValue(m.b, y, 0, ""), &over);
    LlValue ok = ll->BuildBinOp(m.b, LL_XOR, over, ll->ConstInt(m.flag, 1, false), "");
    ok = ll->BuildBinOp(m.b, LL_AND, ok, ll->BuildExtractValue(m.b, x, 1, ""), "");
    r = ll->BuildInsertValue(m.b, none, sum, 0, "");
    ll->BuildRet(m.b, ll->BuildInsertValue(m.b, r, ok, 1, ""));
    Both (*f)(int64_t) = (Both (*)(int64_t))finish(&m, "fib");
    if (f) CHECK(f(20).i == 6765 && f(20).ok);
    machine_free(&m.code);
}

/* What is not known makes no code. */
static void test_refused(void) {
    Maker m;
    if (!maker(&m)) return;
    begin(&m, "f", m.word, (LlType[]){ m.word }, 1);
    LlType odd = m.ll->IntTypeInContext(m.d.context, 128);
    m.ll->BuildRet(m.b, m.ll->BuildCast(m.b, 33, m.ll->BuildCast(m.b, LL_SEXT, arg(&m, 0), odd, ""),
                                        m.word, ""));
    CHECK(machine_finish(&m.d, "f", false, &m.code) == NULL);
    machine_free(&m.code);
}

int main(void) {
    test_ints();
    test_comparisons();
    test_reals();
    test_divisors();
    test_overflow();
    test_memory();
    test_spilling();
    test_calls();
    test_recursion();
    test_refused();
    return check_result();
}
