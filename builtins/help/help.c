/* Help: of an operation from its row, of a program's function from its signature and ##
 * text, of syntax from the topics below. The manual prints all rows as Markdown. */
#include "builtins/help/help.h"
#include "interp/state/stdlib_files.h"
#include "interp/show/place_facts.h"

#include "core/system/ascii.h"
#include "core/base/error.h"
#include "core/base/plain.h"
#include "interp/state/format.h"
#include "interp/state/kind.h"
#include "interp/op/peers.h"
#include "interp/device/place.h"
#include "interp/eval/module.h"
#include "interp/show/show.h"
#include "kernels/rational/rational.h"
#include "kernels/sparse/sparse.h"

#include <stdio.h>
#include <string.h>

/* ---- topics: what is no operation ---- */
static const struct Topic { const char *names, *text; } topics[] = {
    { ":= index indices einstein notation",
      "C[i,k] := A[i,j] * B[j,k]    t := A[i,i]    [A[i,j] for j,i]    sum[k] x[k]^2\n"
      "Definition by index notation. A name that stands alone between brackets is an index; one that is not on\n"
      "the left is summed over the product it occurs twice in. A variable there needs parentheses: A[i,(n)].\n"
      "Reductions: sum[k] prod max min mean any all argmax argmin, with ranges: max[k in 1:n] …; they bind\n"
      "like a product: any[j] (A[i,j] > 0). An index is also a number: 1/(i+j+1) for i in 0:3, j in 0:3.\n"
      "Subscripts: x[2*i+1], E[tok[n],d], and x[clamp(i+k)], x[mod(i+k)], x[pad(i+k)], which take a for.\n"
      "where(c, x, y) chooses. explain C[i,k] := … shows the plan, explain as latex … the formula." },
    { "precision accumulate saturate flush reproducible",
      "precision f32 { … }    precision bf16 accumulate f32 { … }    precision mp(200) round up { … }\n"
      "Computes in a format: floating operands, literals and casts are rounded to it, + - * / sqrt fma give the\n"
      "exact result rounded once, linear algebra runs in it. Formats: f64 f32 tf32 f16 bf16 e4m3 e5m2 e3m2 e2m3\n"
      "e2m1 float(e, p) decimal(d) mp(bits) rational interval; a variable that holds one, too.\n"
      "accumulate FORMAT: what sums and products of matrices add up in (f32 for 16 bits and less, else the format).\n"
      "round nearest|away|zero|up|down|odd|stochastic; saturate: overflow gives the largest number; flush: no\n"
      "subnormals; reproducible: every sum in its order, the same bits on every machine. backward FORMAT: see autocast.\n"
      "The scope holds in functions called inside it; an inner scope replaces the outer; a value that leaves keeps\n"
      "its dtype. flags() counts overflows and the like; compare F, G { … } shows formats side by side.\n"
      "shadow FORMAT: each value has a second one in a wider format, and digits(x) compares the two (see shadow)." },
    { "interval",
      "interval(lo, hi) makes intervals of two numbers or of tensors that broadcast; interval(x) and interval(\"1/3\")\n"
      "enclose a number. precision interval { … } computes with them: each result encloses the exact one.\n"
      "lower upper mid radius width take them apart, in f64. A comparison that is not certain is a numeric error.\n"
      "    x = interval(1.9, 2.1)\n"
      "    x * x - 2                         an enclosure of [1.61, 2.41]\n"
      "    (lower(x), upper(x), mid(x))\n"
      "    interval([1, 2, 3], [1, 2.5, 4])  a vector of three" },
    { "autocast backward", "autocast bf16 { … }    autocast i8 { … }    autocast f16 accumulate f16 round up { … }    autocast e4m3 backward e5m2 { … }\n"
      "Matrix products, einsum, contractions and convolution cast wider floating operands (f64 too) to the format;\n"
      "exp, log, sums, norms, softmax and linear algebra raise narrower ones to f32; elementwise operations take\n"
      "the widest operand. One class per operation, on its help page, the same on every device. mp, decimal and\n"
      "rational operands are left alone. A precision scope inside switches it off.\n"
      "The modifiers of precision say how the products are computed; reproducible holds for all sums. It is an entry of\n"
      "compare, too. backward FORMAT: products of a gradient's backward pass take their cotangents in it, and products\n"
      "of formats of at most 8 bits give f32, forward as well.\n"
      "autocast i8: products, einsum, contractions and convolutions round both operands to 8 bits as they come, with a\n"
      "scale for each row of the left and each column of the right, sum exactly and give f32; all else stays. Not for\n"
      "grad; a value error of nan and infinities." },
    { "on strict fallback narrow quiet verbose",
      "on gpu { … }    on gpu fallback cpu { … }    on cuda:1 strict { … }    on sim.mps narrow verbose { … }\n"
      "Runs the operations inside, and in functions called there, on a device: cpu, gpu (the best accelerator), cuda,\n"
      "cuda:1, opencl, opencl:0, sim.mps, sim.tpu, or a value in parentheses: on (d) { … }. Operands are copied there\n"
      "once, results stay there, and so does what is made inside, in the device's widest float. The innermost block\n"
      "decides. An operation that the device lacks runs on the cpu, and its result goes back: one notice per line,\n"
      "operation, dtype and reason, and once a summary of the block's operations, copies and bytes.\n"
      "fallback D: where that happens; and where the whole block runs if the device is not there.\n"
      "strict: a missing operation or an operand elsewhere is an error; what is missing by name is listed before\n"
      "anything ran. ricci --strict-devices makes every block so. narrow: f64 operands are computed in the device's\n"
      "widest float, which nothing does unasked. verbose: the summary every time; quiet: neither that nor notices." },
    { "mpi ranks grid",
      "on mpi { … }    on mpi(2, 3) { … }    on mpi(2, 2, block=32) strict { … }    mpi(2, 2).ranks\n"
      "A grid of processes of an MPI as a device: of as many as there are cores, or p x q, on this machine or many.\n"
      "They are started with the first block and end with the session or release(mpi(2, 2)). Matrices lie there in\n"
      "pieces, dealt out in blocks; ScaLAPACK multiplies, solves and factors them, in f32 f64 c64 c128; bools and\n"
      "ints are held and computed elementwise. Random numbers and elementwise results have the bits of the cpu.\n"
      "The rest falls back to the cpu, as on every device, and is told once.\n"
      "verbose counts what went up to the processes, down from them, and between them for slices, transposes and\n"
      "broadcasts; what ScaLAPACK sends inside is not counted. memory(mpi(2, 2)) has live, peak, largest, between.\n"
      "print(devices()) says which MPI and ScaLAPACK there are, or which package brings them." },
    { "if else", "if c { … } else if d { … } else { … }\n"
      "The condition is one bool; of a tensor say any(…) or all(…). The block's last value is the value." },
    { "for in", "for x in range, tensor, tuple or string { … }    for i, x in enumerate(v) { … }\n"
      "0:n counts from 0 to n-1; break and continue work on the innermost loop." },
    { "while", "while c { … }" },
    { "fn return", "fn f(x, tol=1e-8, rest...) { … }\n"
      "The result is the last statement's value, or what return gives; return a, b gives a tuple.\n"
      "Assigning makes a local. Lines of ## above are its help." },
    { "->", "x -> x^2    (a, b) -> a + b    () -> 1    x -> { … }\nA function without a name; it captures values." },
    { "|>", "x |> f(y) is f(x, y); x |> f is f(x)." },
    { "try catch throw", "try { … } catch e { e.kind, e.message, e.where }    throw \"…\"\n"
      "throw (kind=\"value\", message=\"…\", help=\"…\") raises an error of that kind.\n"
      "Kinds: syntax name type shape index value dtype device numeric memory io ffi interrupt assert throw." },
    { "assert", "assert cond, \"why\"" },
    { "test", "test \"name\" { … }\n"
      "Runs under `ricci test FILE`, alone and after the file's other statements; at the prompt at once." },
    { "import from as", "import stats    import \"lib/poly.ric\" as poly    import hilb, vander from gallery" },
    { "compare against", "compare f64, f32, precision f16 accumulate f16 against mp(200) { … }\n"
      "Runs the block once in each format, from the same random state and with its assignments discarded, and\n"
      "prints one table: unit roundoff u, the value if it is short, the relative error |x - r| / |r| in the 2-norm\n"
      "and the digits that are right, overflows, underflows and nans if there were any, time and peak bytes. Of a\n"
      "tuple the worst field counts, and each has a line of its own; where the block's value is the solution of\n"
      "A \\ b or solve(A, b), the backward error |b - A x| / (|A| |x| + |b|) is shown too. Time is marked `sim`\n"
      "where the arithmetic is simulated, an entry `~` where a library's roundings are not counted.\n"
      "Without `against` the reference is mp(256), or more bits until two precisions agree; where an operation has\n"
      "no form there, the first entry. Errors that the reference cannot resolve count as 0. An entry that fails\n"
      "shows its error; what the block prints is headed by its entry, the reference prints nothing.\n"
      "Returns a tuple of (format, u, value, error, digits, overflows, underflows, nans, time, bytes, failed,\n"
      "backward), one per entry: t = compare f64, f32 { 1/3 }; t[1].error" },
    { "explain", "explain A \\ b    x = explain A \\ b    explain { … }\n"
      "Runs it and says of each operation what it saw, which routine ran, FLOPs and bytes; of a solution also\n"
      "the condition number, the digits to trust and the residual. Inside an expression: (explain …).\n"
      "explain as latex C[i,k] := … prints the formula and runs nothing. explain as digits { … } says of each variable\n"
      "that is assigned how many of its digits are right and which operation lost the others (see shadow)." },
    { "profile", "profile { … }    profile to \"t.json\" { … }\n"
      "Runs the block and prints a row per operation, device, dtype and kernel, the longest first: calls, time and\n"
      "its share, GFLOP/s where FLOPs are known, GB/s of operands and results, copies between devices and their\n"
      "bytes, the kernel. Copies have rows of their own; (outside) is what passed in no operation: the interpreter,\n"
      "printing, files. Below it the peak memory of each device. Devices are waited for after every operation;\n"
      "the time of simulated ones is the model's. The value is the block's. Blocks nest; functions called inside\n"
      "are heard. `to` writes every operation as Chrome trace events too (chrome://tracing, Perfetto)." },
    { "timeit", "timeit EXPRESSION    t = timeit { … }\n"
      "Runs it about half a second, 3 to 25 samples, and prints the median, the quartiles and the first run alone;\n"
      "then, where there is something to say, GFLOP/s, GB/s of operands and results, copies between devices in a\n"
      "run, the memory that a run needs beyond what was in use, and the error of the result against f64 on the cpu.\n"
      "That error is for results of fewer digits than f64 or from a device, and for expressions that assign nothing:\n"
      "they run once more in f64 and print nothing. Returns the median in seconds." },
    { "lazy", "lazy { … }    explain lazy { … }    explain as dot lazy { … }    explain as svg lazy { … }\n"
      "Operations on tensors wait until the block ends or a value is needed (print, a condition, a number taken out, a\n"
      "store); then what they make is simplified and run, with the bits of without it: dead (what nobody holds is never\n"
      "run), common (computed once), constant, folded (a transposition into a product), fused (an elementwise chain;\n"
      "a product with what follows it). Two change roundings and are not done in a reproducible scope: reordered (a\n"
      "chain of products) and recognised (attention). explain lazy shows the operations before and after. The scope\n"
      "is dynamic: functions called inside are part of it. Errors of shapes and dtypes come at the operation, those\n"
      "that need numbers when it runs, with its place. lazy_stats() counts; graph(f, …) keeps a graph." },
    { "pictures",
      "plot(x, y)    plot(f, a, b)    scatter(x, y, groups=g)    bar(x, h)    hist(x)    heat(A)    contour(x, y, Z)\n"
      "Draw in the terminal at once: braille dots and blocks, in colour where the terminal has it and NO_COLOR is\n"
      "not set, in ASCII where the locale is not UTF-8. At the prompt of a terminal that shows images (kitty's\n"
      "protocol or sixel: it is asked once) the picture is an image. to=\"a.svg\", \".pdf\" or \".png\" writes a\n"
      "file; for PDF, PNG and images cairo is loaded. RICCI_PICTURES=text, ascii, sixel, kitty or none in the\n"
      "environment decides otherwise. ?plot says how series are given, and which options all pictures have." },
    { "extern native callback struct",
      "extern \"libm.so.6\" { double cbrt(double x); }    extern \"-lfftw3\" as fftw { … }\n"
      "Declares C as a header does and makes its names variables (with `as`, members of one): functions, global\n"
      "variables (as pointers), enumerators and #define constants, types (div_t(7, 2) makes a struct). The library\n"
      "is a name the loader knows, a path (\"./lib.so\" lies beside this file), -lname or a plain name; \"\" is this\n"
      "program with libc. \"-lgsl -lgslcblas\" opens both.\n"
      "A tensor passes to T* without a copy if its dtype is T; `double x[n]` checks its length against n. const is\n"
      "input; any other pointer is written, so it takes a variable, a pointer value or null. `int *e` takes a\n"
      "variable that holds an int. Functions pass as callbacks; strings as const char *. A NULL result is null.\n"
      "ptr(x, n), as_tensor(p, dtype, shape), cstring(p), sizeof, offsetof, errno(), pin(x), unpin(x)." },
    { "null", "notation  null where it is not called is the pointer to nothing: p == null, strtod(text, null)." },
    { "'", "A'\n"
      "Conjugate transpose of the last two axes. v' of a vector is its covector: v' @ w is a scalar,\n"
      "v @ w' the outer product, v' @ A a covector." },
    { "[", "[1, 2, 3]    [1, 2; 3, 4]    [A, B; C, D]    [x^2 for x in v if x > 0]\n"
      "A[i, j]   A[1:, ::-1]   A[mask]   A[..., none]: 0-based, slices half-open, negative counts from the end." },
    { "and or not", "Short-circuit logic on bool scalars; on tensors: & | !" },
    { "none true false", "none is no value; true and false are the bools." },
    { "pi π", "pi is 3.141592653589793; like a literal it adapts to the other operand: f32(2) * pi is an f32.\n"
      "sin(pi / 6) is about 0.5." },
    { "inf", "inf is larger than every number: 1 / 0 is inf, -inf < 0; isinf(x) tells." },
    { "nan", "nan is no number: 0 / 0 is nan, nan == nan is false; isnan(x) tells, nansum(x) skips it." },
    { "cpu gpu cuda opencl sim",
      "cpu is this machine's processor; gpu the best accelerator there is: CUDA, else an OpenCL device that is\n"
      "no CPU; cuda and opencl are the first of each, device(\"cuda:1\") another; sim.mps and sim.tpu are simulated,\n"
      "and so is sim.toy after simulate(\"toy\", lacks=[\"solve\"]). print(devices()) shows all, what each has, and\n"
      "why one is missing. on gpu { … } computes there, to(x, sim.mps) moves, device(x) tells where x is,\n"
      "zeros(2, device=cpu) makes there. ?on has more." },
};

static bool word_in(const char *words, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = words; *at;) {
        size_t len = strcspn(at, " ");
        if (len == n && strncmp(at, name, n) == 0)
            return true;
        at += len + (at[len] == ' ' ? 1 : 0);
    }
    return false;
}

static const struct Topic *find_topic(const char *name)
{
    for (size_t i = 0; i < sizeof topics / sizeof topics[0]; i++)
        if (word_in(topics[i].names, name))
            return &topics[i];
    return NULL;
}

bool help_topic(int i, char name[HELP_TOPIC_CAP], const char **text)
{
    for (size_t k = 0; k < sizeof topics / sizeof topics[0]; k++)
        for (const char *at = topics[k].names; *at; i--) {
            size_t n = strcspn(at, " ");
            if (i == 0) {
                snprintf(name, HELP_TOPIC_CAP, "%.*s", (int)n, at);
                if (text)
                    *text = at == topics[k].names ? topics[k].text : "";
                return true;
            }
            at += n + (at[n] == ' ');
        }
    snprintf(name, HELP_TOPIC_CAP, "operations");        /* the overview */
    if (text)
        *text = "";
    return i == 0;
}

bool help_topic_name(int i, char name[HELP_TOPIC_CAP])
{
    return help_topic(i, name, NULL);
}

/* ---- rows ---- */
static const char *const class_text[] = {
    [AC_LOWER] = "takes the format of an autocast scope",
    [AC_RAISE] = "raises narrow floats to f32 under autocast",
    [AC_WIDEST] = "takes its widest operand under autocast",
};

static bool takes_rationals(const Op *op)
{
    RationalForm form;
    return op->cls == OPC_EW ? rational_form(op->ew, &form) : op->exact != NULL;
}

static void put_kinds(Buf *out, const Op *op)
{
    static const char letters[] = "biqfc";
    static const char *const words[] = { "bool", "int", "rational", "float", "complex" };
    bool first = true;
    for (int i = 0; i < 5; i++) {
        if (letters[i] == 'q' ? !takes_rationals(op) : !strchr(op->dtypes, letters[i]))
            continue;
        buf_printf(out, "%s%s", first ? "" : ", ", words[i]);
        first = false;
    }
}

/* `operator: A @ B`; the sign of a one-operand row stands before. */
static void put_operator(Interp *in, Buf *out, const Op *op)
{
    const OpSig *sig = op_sig(in, op);
    if (!op->infix)
        return;
    if (sig->fixed >= 2)
        buf_printf(out, "operator  %s %s %s\n", sig->params[0].name->text, op->infix, sig->params[1].name->text);
    else
        buf_printf(out, "operator  %s%s\n", op->infix, sig->params[0].name->text);
}

static void put_indented(Buf *out, const char *text, const char *indent)
{
    while (*text) {
        size_t len = strcspn(text, "\n");
        buf_printf(out, "%s%.*s\n", indent, (int)len, text);
        text += len + (text[len] == '\n' ? 1 : 0);
    }
}

/* What the word means in index notation, where it has a meaning of its own there. */
static void put_notation(Buf *out, const char *name)
{
    if (word_in("sum prod max min mean any all argmax argmin", name))
        buf_printf(out, "notation  %s[k] x[k], over an index: ?:=\n", name);
    else if (word_in("clamp mod pad", name))
        buf_printf(out, "notation  x[%s(i+k)], a subscript beyond the ends: ?:=\n", name);
}

/* How far a float result is off at most, where it is not rounded correctly. */
static void put_error(Buf *out, const Op *op, const char *before, const char *after)
{
    bool real = op->ulps > 0.5, also = op->dtypes && strchr(op->dtypes, 'c') && op->ulps_complex > 1;
    if (op->cls != OPC_EW || ew_info[op->ew].result == RES_BOOL || strcmp(ew_info[op->ew].formula[0], "NONE") == 0 ||
        (!real && !also))
        return;
    buf_puts(out, before);
    if (real)
        buf_printf(out, "at most %g ulp%s", op->ulps, also ? ", " : "");
    if (also)
        buf_printf(out, "complex %s%g ulps of the modulus", real ? "" : "at most ", op->ulps_complex);
    buf_puts(out, after);
}

static void show_op(Interp *in, Buf *out, const Op *op)
{
    buf_printf(out, "%s\n", op_signature(in, op, true));
    put_indented(out, op->help ? op->help : "", "  ");
    buf_putc(out, '\n');
    put_operator(in, out, op);
    put_notation(out, op->name);
    if (op->dtypes) {
        buf_puts(out, "dtypes    ");
        put_kinds(out, op);
        buf_putc(out, '\n');
    }
    if (op->autocast != AC_NONE)
        buf_printf(out, "autocast  %s%s\n", class_text[op->autocast],
                   op->eight ? "; i8 rounds both operands to 8 bits" : "");
    if (op->flops)
        buf_printf(out, "flops     %s\n", op->flops);
    put_error(out, op, "error     ", "\n");
    if (op->section)
        buf_printf(out, "section   %s\n", op->section);
    if (op->example) {
        buf_printf(out, "example   %s\n", op->example);
        if (op->expect)
            put_indented(out, op->expect, "          ");
    }
}

/* ---- functions of the program ---- */
static void show_function(Buf *out, const Function *fn)
{
    const Node *node = fn->code->node;
    if (node->kind == ND_FN)
        print_signature(out, node);
    else
        print_node(out, node);
    buf_putc(out, '\n');
    if (node->kind == ND_FN && node->text)
        put_indented(out, node->text, "  ");
}

static Value find_global(Interp *in, const char *name)
{
    const Name *n = names_find(&in->names, name, strlen(name));
    Module *m = in->main;
    int64_t slot = n && m ? globals_find(&m->globals, n) : -1;
    return slot >= 0 ? m->slots[slot] : v_undef();
}

/* The ## text above the assignment of a variable, or NULL. */
static const char *variable_doc(Interp *in, const char *name)
{
    const Name *n = names_find(&in->names, name, strlen(name));
    return n && in->main ? module_doc(in->main, n) : NULL;
}

/* The name that a function value has among the variables, or NULL: help(f) gets a value. */
static const char *function_variable(Interp *in, const Function *fn)
{
    const Module *m = in->main;
    for (uint32_t i = 0; m && i < m->globals.count; i++)
        if (m->slots[i].tag == V_FUNCTION && m->slots[i].fn == fn && m->docs[i])
            return m->globals.names[i]->text;
    return NULL;
}

/* The length of the first line up to the first full stop, colon or semicolon. */
static int headline(const char *text)
{
    size_t n = strcspn(text, "\n");
    for (size_t i = 0; i < n; i++)
        if (strchr(".:;", text[i]) && (i + 1 == n || text[i + 1] == ' '))
            return (int)i;
    return (int)n;
}

/* The functions of a module that have ## text, each with its headline; C functions as C declares them. */
static void show_module(Interp *in, Buf *out, const Module *m)
{
    for (uint32_t i = 0; i < m->globals.count; i++) {
        const Value v = m->slots[i];
        const Node *node = v.tag == V_FUNCTION ? v.fn->code->node : NULL;
        if (v.tag == V_CFUNC)
            v_kind(v)->help(out, v, true);
        if (!node || node->kind != ND_FN || !node->text)
            continue;
        buf_clear(&in->scratch);
        print_signature(&in->scratch, node);
        const char *signature = buf_cstr(&in->scratch);
        if (in->scratch.len <= 28)
            buf_printf(out, "  %-28s ", signature);
        else
            buf_printf(out, "  %s\n%31s", signature, "");
        buf_put(out, node->text, (size_t)headline(node->text));
        buf_putc(out, '\n');
    }
    buf_puts(out, "?MODULE.NAME shows one of them.\n");
}

/* A module of that name: a variable's, or one of the standard library. */
static const Module *find_module(Interp *in, const char *name)
{
    Value v = find_global(in, name);
    if (v.tag != V_UNDEF)
        return v.tag == V_MODULE ? v.module : NULL;
    if (!module_in_stdlib(name))
        return NULL;
    Value m = module_import(in, name, false, NULL);
    const Module *module = m.module;        /* modules live as long as the interpreter */
    v_release(&in->ctx, m);
    return module;
}

/* The function that "module.name" says, the device sim.NAME, or undefined. */
static Value find_member(Interp *in, const char *path)
{
    const char *dot = strchr(path, '.');
    char module[64];
    Device *device = dot ? device_find(&in->ctx, path) : NULL;
    if (device)
        return v_device(device);
    if (!dot || (size_t)(dot - path) >= sizeof module)
        return v_undef();
    snprintf(module, sizeof module, "%.*s", (int)(dot - path), path);
    const Module *m = find_module(in, module);
    const Name *n = m ? names_find(&in->names, dot + 1, strlen(dot + 1)) : NULL;
    int64_t slot = n ? globals_find(&m->globals, n) : -1;
    Value v = slot >= 0 ? m->slots[slot] : v_undef();
    return v.tag == V_FUNCTION || v.tag == V_CFUNC || v.tag == V_CTYPE ? v : v_undef();
}

/* name: NULL where only the value is known. */
static void show_variable(Interp *in, Buf *out, const char *name, Value v)
{
    char text[96];
    if (v.tag == V_OP) {
        show_op(in, out, v.op);
        return;
    }
    if (v.tag == V_FUNCTION) {
        show_function(out, v.fn);
        bool lambda = v.fn->code->node->kind != ND_FN;
        name = !lambda ? NULL : name ? name : function_variable(in, v.fn);
    } else if (v.tag == V_MODULE) {
        show_module(in, out, v.module);
    } else if (v_kind(v) && v_kind(v)->help) {
        v_kind(v)->help(out, v, false);
    } else if (v.tag == V_DEVICE && device_real(&in->ctx, v.device)) {
        Value real = v_device(device_real(&in->ctx, v.device));
        place_put_table(out, &real, 1);
        buf_putc(out, '\n');
    } else {
        buf_printf(out, "%s is a variable: %s", name ? name : "it", v_describe(v, text, sizeof text));
        if (v.tag == V_TENSOR && tensor_sparse(v.tensor))
            buf_printf(out, ", %lld entries", (long long)tensor_sparse(v.tensor)->value->size);
        if (v.tag < V_STRING) {
            buf_puts(out, " = ");
            show_repr(in, out, v);
        }
        buf_putc(out, '\n');
    }
    const char *doc = name ? variable_doc(in, name) : NULL;
    if (doc)
        put_indented(out, doc, "  ");
}

/* ---- finding ---- */
static const Op *find_row(Interp *in, const char *name)
{
    static const struct { const char *symbol, *op; } operators[] = {
#define OPERATOR(id, symbol, ascii, op) { symbol, op },
#include "lexer/ops.def"
#undef OPERATOR
    };
    const Name *n = names_find(&in->names, name, strlen(name));
    const Op *op = n ? op_find(in, n) : NULL;
    for (size_t i = 0; !op && i < sizeof operators / sizeof operators[0]; i++)
        if (strcmp(operators[i].symbol, name) == 0)
            op = find_row(in, operators[i].op);
    return op;
}

/* `?` alone: what to type first. */
static const char first_screen[] =
    "Ricci is tensor mathematics as it stands on the blackboard. Five things to try:\n"
    "\n"
    "  A = [2, 1; 1, 3]; b = [1, 2]   a matrix and a vector; ; ends rows, statements\n"
    "  x = A \\ b                      solves A x = b\n"
    "  C[i,k] := A[i,j] * A[j,k]      index notation: j is summed over\n"
    "  precision rational { A \\ b }   the same, exactly; also f32, bf16, mp(200)\n"
    "  explain A \\ b                  the routine that ran, its cost, digits to trust\n"
    "\n"
    "A @ B is the matrix product, A * B works element by element, A' transposes,\n"
    "x^2 is a power. Indices start at 0 and slices end before their end: A[0, :],\n"
    "x[1:3], x[-1]. # is a comment.\n"
    "\n"
    "  ?svd             help on a name; svd? works too\n"
    "  ??least squares  searches all help\n"
    "  ?operations      all operations; topics: ?:= ?precision ?on ?for ?import\n"
    "  :help            commands: :vars :load :save :edit :time :history …\n"
    "  TAB              completes names, shows arguments after (, makes α of \\alpha\n"
    "  Ctrl-D           leaves\n";

static void show_overview(Interp *in, Buf *out)
{
    const char *section = "";
    for (int i = 0; i < op_count(in); i++) {
        const Op *op = op_row(in, i);
        if (strcmp(section, op->section) != 0)
            buf_printf(out, "%s%s\n ", i ? "\n" : "", section = op->section);
        buf_printf(out, " %s", op->name);
    }
    buf_puts(out, "\nformats\n ");
    for (int i = 0; format_name(i); i++)
        buf_printf(out, " %s", format_name(i));
    buf_puts(out, "\ntopics\n ");
    for (size_t i = 0; i < sizeof topics / sizeof topics[0]; i++)
        buf_printf(out, " %s", topics[i].names);
    buf_puts(out, "\n?NAME (or help(\"NAME\")) shows one of them; ??WORDS searches.\n");
}

static bool mentions(const char *text, const char *word)
{
    return text && ascii_casestr(text, word) != NULL;
}

static void show_search(Interp *in, Buf *out, const char *word)
{
    int found = 0;
    if (strpbrk(word, " \t")) {
        help_search(in, out, word);
        return;
    }
    const char *close = op_closest(in, word), *peer = peer_name(word);
    buf_puts(out, "there is no help on ");
    plain_put(out, word, strlen(word));
    buf_putc(out, '\n');
    if (peer)
        buf_printf(out, "here it is: %s\n", peer);
    else if (close)
        buf_printf(out, "did you mean %s?\n", close);
    const char *home = module_of_stdlib(word);
    if (home)
        buf_printf(out, "%s has it: ?%s.%s, and import %s from %s\n", home, home, word, word, home);
    for (int i = 0; i < op_count(in) && strlen(word) > 1; i++) {
        const Op *op = op_row(in, i);
        if (!mentions(op->name, word) && !mentions(op->help, word))
            continue;
        if (found++ == 0)
            buf_puts(out, "mentioned by\n");
        buf_printf(out, "  %-14s %.*s\n", op->name, op->help ? (int)strcspn(op->help, "\n") : 0,
                   op->help ? op->help : "");
    }
    if (found == 0 && !peer && !close && !home && in->interactive)
        buf_puts(out, "??WORDS searches all help\n");
}

bool help_known(Interp *in, const char *name)
{
    return strcmp(name, "operations") == 0 || find_global(in, name).tag != V_UNDEF ||
           find_row(in, name) || find_topic(name) ||
           dtype_find(name, strlen(name)) != DT_NONE || find_module(in, name) ||
           find_member(in, name).tag != V_UNDEF;
}

/* And what is told of it as a topic. */
static void show_format(Buf *out, DType dt)
{
    const DTypeInfo *info = dtype_info(dt);
    const char *name = dtype_name(dt);
    buf_printf(out, "%s\n  A dtype of %d byte%s (%s); %s(x) casts to it, dtype=%s makes tensors of it.\n", name,
               info->bytes, info->bytes == 1 ? "" : "s",
               info->kind == 'b' ? "bool" : info->kind == 'i' ? "integer" : info->kind == 'f' ? "float" :
               info->kind == 'q' ? "exact fractions of any length" : "complex", name, name);
    const struct Topic *topic = find_topic(name);
    if (topic)
        buf_printf(out, "%s\n", topic->text);
}

/* Where a line that is too wide is cut: at the last blank that fits; 0: nowhere. */
static size_t line_cut(const char *line, size_t len, size_t indent, int width)
{
    size_t end = 0, cut = 0;
    while (end < len && text_width(line, end) <= width) {
        cut = line[end] == ' ' && end > indent ? end : cut;
        utf8_next(line, len, &end);
    }
    return cut;
}

/* Texts are written in lines of some 110 cells. From one on that is too wide, the full lines of its
 * paragraph become one line; in place. */
static void join_lines(char *text, int width)
{
    enum { FULL = 85 };
    char *to = text;
    bool joined = false;
    for (char *at = text; *at;) {
        size_t len = strcspn(at, "\n"), indent = strspn(at, " ");
        const char *next = at[len] ? at + len + 1 : at + len;
        int cells = text_width(at, len);
        bool table = memmem(at + indent, len > indent ? len - indent : 0, "    ", 4) != NULL;
        bool joins = cells >= FULL && !table && at[len - 1] != '.' &&
                     (joined || cells > width) && *next && *next != '\n' &&
                     strspn(next, " ") == indent && !ascii_is_upper(next[indent]);
        bool ended = at[len] == '\n';
        size_t skip = joined ? indent : 0;
        memmove(to, at + skip, len - skip);
        to += len - skip;
        if (ended)
            *to++ = joins ? ' ' : '\n';
        at += len + ended;
        joined = joins;
    }
    *to = '\0';
}

static void put_fitted(Buf *out, const char *line, size_t len, int width)
{
    size_t indent = strspn(line, " "), skip = indent, cut;
    int room = width;
    while (text_width(line, len) > room && (cut = line_cut(line, len, skip, room)) > 0) {
        buf_put(out, line, cut);
        buf_putc(out, '\n');
        buf_fill(out, ' ', indent);
        cut += strspn(line + cut, " ");
        line += cut;
        len -= cut;
        skip = 0;
        room = width - (int)indent > 20 ? width - (int)indent : 20;
    }
    buf_put(out, line, len);
}

/* Lines that are wider than the terminal go on below, under their own beginning. */
static void fit_lines(Interp *in, Buf *out, size_t from)
{
    Buf *copy = &in->scratch;
    if (in->show.width < 20 || out->len == from)
        return;
    buf_clear(copy);
    buf_put(copy, out->data + from, out->len - from);
    out->len = from;
    join_lines(copy->data, in->show.width);
    for (const char *at = buf_cstr(copy); *at;) {
        size_t len = strcspn(at, "\n");
        put_fitted(out, at, len, in->show.width);
        at += len;
        if (*at)
            buf_putc(out, *at++);
    }
}

static void show_name(Interp *in, Buf *out, const char *name)
{
    while (ascii_space(*name))
        name++;
    Value v = find_global(in, name);
    if (!*name || (v.tag == V_UNDEF && strcmp(name, "operations") == 0)) {
        if (*name)
            show_overview(in, out);
        else
            buf_puts(out, first_screen);
        return;
    }
    const Op *op = find_row(in, name);
    const struct Topic *topic = find_topic(name);
    const Module *module = v.tag == V_UNDEF && !op && !topic ? find_module(in, name) : NULL;
    if (module) {
        show_module(in, out, module);
        return;
    }
    if (v.tag == V_UNDEF && !op && !topic)
        v = find_member(in, name);
    if (v.tag != V_UNDEF)
        show_variable(in, out, name, v);
    else if (op)
        show_op(in, out, op);
    else if (dtype_find(name, strlen(name)) != DT_NONE)
        show_format(out, dtype_find(name, strlen(name)));
    if (topic && v.tag == V_UNDEF && dtype_find(name, strlen(name)) == DT_NONE)
        buf_printf(out, "%s\n", topic->text);
    if (v.tag == V_UNDEF && !op && !topic && dtype_find(name, strlen(name)) == DT_NONE)
        show_search(in, out, name);
}

void help_show(Interp *in, Buf *out, const char *name)
{
    size_t from = out->len;
    show_name(in, out, name);
    fit_lines(in, out, from);
}

void help_value(Interp *in, Buf *out, Value v)
{
    size_t from = out->len;
    if (v.tag == V_STRING)
        show_name(in, out, v.str->text);
    else if (v.tag == V_FORMAT)
        show_format(out, v_format_dtype(v));
    else
        show_variable(in, out, NULL, v);
    fit_lines(in, out, from);
}

/* ---- the manual ---- */
static void manual_entry(Interp *in, Buf *out, const Op *op)
{
    buf_printf(out, "### `%s`\n\n", op_signature(in, op, true));
    if (op->help) {
        put_indented(out, op->help, "");
        buf_putc(out, '\n');
    }
    if (op->infix)
        buf_printf(out, "Operator `%s`. ", op->infix);
    if (op->dtypes) {
        buf_puts(out, "Dtypes: ");
        put_kinds(out, op);
        buf_puts(out, ". ");
    }
    if (op->flops)
        buf_printf(out, "FLOPs: %s.", op->flops);
    put_error(out, op, " Error: ", ".");
    if (op->sparse && op->cls != OPC_EW)
        buf_printf(out, "%sOn the entries of sparse operands.",
                   op->infix || op->dtypes || op->flops ? " " : "");
    if (op->infix || op->dtypes || op->flops || op->sparse)
        buf_puts(out, "\n\n");
    if (!op->example)
        return;
    buf_printf(out, "```\n%s\n", op->example);
    if (op->expect)
        put_indented(out, op->expect, "# ");
    buf_puts(out, "```\n\n");
}

void help_manual(Interp *in, Buf *out)
{
    const char *section = "";
    buf_puts(out, "# Operations\n\n");
    for (int i = 0; i < op_count(in); i++) {
        const Op *op = op_row(in, i);
        if (strcmp(section, op->section) != 0)
            buf_printf(out, "## %c%s\n\n", ascii_to_upper(op->section[0]), (section = op->section) + 1);
        manual_entry(in, out, op);
    }
}
