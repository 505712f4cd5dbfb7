/* The story of each kind of error: `ricci --explain KIND` and `:explain KIND`. A story is what the
 * kind means, a program that has the error, the error as it is printed, how to read that, and the
 * usual ways out. tests/tools/kinds.py runs every program and compares, so a changed message
 * changes here too. */
#include "builtins/help/help.h"

#include <string.h>

typedef struct Story {
    const char *means;           /* one or two sentences */
    const char *program;         /* example.ric */
    const char *report;          /* what it prints on stderr, to the letter */
    const char *reads;           /* how to read it */
    const char *ways[5];         /* out of it */
} Story;

static const Story stories[ERR_KINDS] = {
    [ERR_SYNTAX] = {
        .means = "The text is not a program: nothing of it has run. All such errors of a file\n"
                 "come in one run, in the order of the lines, and each says what would be right\n"
                 "there.",
        .program = "total = (1 + 2\n"
                   "print(\"total\", total)\n",
        .report = "error[syntax]: this ( is never closed\n"
                  "  --> example.ric:1:9\n"
                  " 1 | total = (1 + 2\n"
                  "   |         ^\n"
                  "help: total = (1 + 2)\n",
        .reads = "The caret is where the text stops making sense, or at the bracket that nobody\n"
                 "closed.",
        .ways = { "close the bracket or the string that the caret is under",
                  "[1 -2] is one element or two: write [1, -2] or [1 - 2]",
                  "`==` compares, `=` assigns, `:=` defines by index notation",
                  "`else` and `catch` stand on the line of the } before them" },
    },
    [ERR_NAME] = {
        .means = "A name that is nothing here: a variable or function that does not exist (yet),\n"
                 "a field that a tuple does not have, a member that a module does not have.",
        .program = "velocity = 3.0\n"
                   "print(velocty * 2)\n",
        .report = "error[name]: `velocty` is not defined\n"
                  "  --> example.ric:2:7\n"
                  " 2 | print(velocty * 2)\n"
                  "   |       ^^^^^^^\n"
                  "help: did you mean `velocity`?\n",
        .reads = "The carets are under the name. A name one letter away is offered; so is the\n"
                 "import of a function that the standard library has, and what NumPy's or\n"
                 "MATLAB's name is here.",
        .ways = { "spell it as it is spelt where it is made; names are case-sensitive",
                  "import it: import hilb from gallery",
                  "`??word` at the prompt searches all help for a word",
                  "a function reads globals but does not change them: return the new value" },
    },
    [ERR_TYPE] = {
        .means = "A value of the wrong kind, or a wrong call: a string where a number is needed,\n"
                 "an argument too many, a condition that is no bool, a call of what is no\n"
                 "function.",
        .program = "n = 7\n"
                   "if n & 1 == 1 { print(\"odd\") }\n",
        .report =
            "error[type]: `&` of an int and a bool: it is logical on bools and bitwise on ints\n"
                  "  --> example.ric:2:4\n"
                  " 2 | if n & 1 == 1 { print(\"odd\") }\n"
                  "   |    ^   ^^^^^^\n"
                  "help: comparisons bind tighter than `&`: (n & 1) == 1\n",
        .reads = "The message names what was found and what is taken; a call shows the\n"
                 "signature.",
        .ways = { "convert: int(x), float(x), string(x), or a dtype: f32(x)",
                  "compare: `x != 0` where a number stood as a condition",
                  "any(…) or all(…) where a tensor stood as a condition",
                  "`?name` at the prompt shows what a function takes" },
    },
    [ERR_SHAPE] = {
        .means = "Shapes or lengths that do not fit: of a sum, a product, rows of a literal, a\n"
                 "mask, an index of index notation with two lengths.",
        .program = "A = ones(2, 3)\n"
                   "B = ones(4, 3)\n"
                   "C = A @ B\n",
        .report = "error[shape]: A is 2×3 and B is 4×3: the inner lengths 3 and 4 differ\n"
                  "  --> example.ric:3:5\n"
                  " 3 | C = A @ B\n"
                  "   |     ^   ^\n"
                  "help: transpose the right operand: A @ B'\n",
        .reads = "Every operand is named as you wrote it, with its shape; the carets are under\n"
                 "them. Help is shown only where it was tried and fits.",
        .ways = { "transpose one of them: A @ B'",
                  "a vector as a column is v[:, none], as a row v'",
                  "print(shape(A), shape(B)) shows them",
                  "index notation names the axes: C[i,k] := A[i,j] * B[k,j]" },
    },
    [ERR_INDEX] = {
        .means = "An index out of range, more subscripts than axes, or index notation that\n"
                 "breaks its rules: an index that nothing sums, a range that cannot be inferred.",
        .program = "x = [1.0, 4, 9]\n"
                   "d[i] := x[i+1] - x[i] for i in 0:3\n",
        .report = "error[index]: the subscript i+1 runs from 1 to 3, and axis 0 of x has length 3\n"
                  "  --> example.ric:2:11\n"
                  " 2 | d[i] := x[i+1] - x[i] for i in 0:3\n"
                  "   |           ^^^\n"
                  "help: what fits: d[i] := x[i+1] - x[i] for i in 0:2\n",
        .reads = "The index letter, the axis, its length and the values that the subscript takes\n"
                 "are in the message. Indices count from 0; -1 is the last element, but not\n"
                 "after `:=`.",
        .ways = { "the last element is x[-1], the first is x[0]; a:b stops before b",
                  "narrow the range: for i in 0:2",
                  "at the ends: x[clamp(i+1)], x[mod(i+1)], x[pad(i+1)]",
                  "an index that is not on the left is summed over two factors, else by sum[j]" },
    },
    [ERR_VALUE] = {
        .means = "The right kind of value, but one that cannot be used: a division of ints by\n"
                 "zero, a number that does not fit its dtype, text that is no number, too many\n"
                 "items to unpack.",
        .program = "fn mean_of(total, n) { return total // n }\n"
                   "mean_of(12, 0)\n",
        .report = "error[value]: 12 // 0: integers have no infinity\n"
                  "  --> example.ric:1:40\n"
                  " 1 | fn mean_of(total, n) { return total // n }\n"
                  "   |                                        ^\n"
                  "  in mean_of(12, 0), called at example.ric:2:1\n"
                  "help: floats have one: total // f64(n)\n",
        .reads = "The line below the carets is the call trace: which call, with which arguments.",
        .ways = { "floats have infinities: 12 / 0 is inf, 12 // 0 is an error",
                  "compute wider: i64(x) of small ints, float(x) of large ones",
                  "test before: if n == 0 { … }",
                  "catch it: try { … } catch e { print(e.message) }" },
    },
    [ERR_DTYPE] = {
        .means = "A dtype or format that the operation does not have: the order of complex\n"
                 "numbers, bits of a float, logarithms of fractions, two formats that no third\n"
                 "one holds.",
        .program = "z = [3+4i, 1i]\n"
                   "order = sort(z)\n",
        .report = "error[dtype]: sort: z is c128, and complex numbers have no order\n"
                  "  --> example.ric:2:14\n"
                  " 2 | order = sort(z)\n"
                  "   |              ^\n"
                  "help: sort(abs(z)) compares magnitudes\n",
        .reads = "The message names the operand, its dtype, and what the operation wants\n"
                 "instead.",
        .ways = { "a part of a complex number: real(z), imag(z), abs(z), angle(z)",
                  "cast: f64(x), i64(x), decimal(3)(x); dtype(x) tells what x is",
                  "compute elsewhere: precision f64 { … }, precision mp(200) { … }" },
    },
    [ERR_GRAD] = {
        .means = "An operation between the argument and the result has no gradient: a step, an\n"
                 "operation without a rule, C, a choice that is not unique. Zeros would say that\n"
                 "the argument does not matter.",
        .program = "labels = [true, false, true]\n"
                   "accuracy = scores -> mean((scores > 0) == labels)\n"
                   "print(grad(accuracy)([0.5, -1.0, 2.0]))\n",
        .report =
            "error[grad]: the result depends on the argument only through `>`, which gives no "
                  "floats: its derivative is 0 almost everywhere\n"
                  "  --> example.ric:2:35\n"
                  " 2 | accuracy = scores -> mean((scores > 0) == labels)\n"
                  "   |                                   ^\n"
                  "help: detach(…) around it says that it is meant as a constant\n",
        .reads = "The carets are under the operation in your function, not under `grad`. Here the\n"
                 "scores reach the mean only as bools, so moving them a little changes nothing.",
        .ways = { "a smooth loss, not a count: -log of the probability of the right label",
                  "as a constant, on purpose: detach(x) before the operation",
                  "a rule of your own: custom_rule(f, vjp=(x, y, w) -> …)",
                  "another operation: eigvals for schur, qr without full=true",
                  "equal eigenvalues: a loss that does not depend on the choice of vectors" },
    },
    [ERR_DEVICE] = {
        .means = "A device that is not there, or lacks an operation or a dtype, or a copy that a\n"
                 "strict block does not make by itself.",
        .program = "A = f32([1, 2, 3])\n"
                   "on sim.mps strict { B = exp(A) }\n",
        .report =
            "error[device]: A is on cpu and exp wants it on sim.mps, and the block is strict\n"
                  "  --> example.ric:2:29\n"
                  " 2 | on sim.mps strict { B = exp(A) }\n"
                  "   |                             ^\n"
                  "help: A = to(A, sim.mps)\n",
        .reads = "It says what is where, who wants it where, and why nothing was copied:\n"
                 "`strict`.",
        .ways = { "move it before: A = to(A, sim.mps)",
                  "without strict it is copied, counted and told: on sim.mps { … }",
                  "another device where there is none: on gpu fallback cpu { … }",
                  "print(devices()) lists what there is, and why what is missing is missing" },
    },
    [ERR_NUMERIC] = {
        .means = "The mathematics has no answer, or none was reached: a singular matrix, one\n"
                 "that is not positive definite, an iteration that does not converge, uncertain\n"
                 "intervals.",
        .program = "A = [1, 2; 2, 4]\n"
                   "b = [1, 3]\n"
                   "x = A \\ b\n",
        .report = "error[numeric]: solve: A is singular: pivot 1 is exactly zero (column 1 depends "
                  "on those before it)\n"
                  "  --> example.ric:3:5\n"
                  " 3 | x = A \\ b\n"
                  "   |     ^\n"
                  "help: lstsq(A, b) gives the least-squares solution of least norm\n",
        .reads = "It says where it was seen: the pivot, and which rows depend on each other.",
        .ways = { "least squares has an answer for any A: lstsq(A, b).x, pinv(A) @ b",
                  "cond(A) and rank(A) tell how near to singular A is",
                  "exactly: precision rational { rref(A) } shows what depends on what",
                  "more digits: precision mp(200) { … }" },
    },
    [ERR_MEMORY] = {
        .means = "More memory was asked for than there is, or a recursion went too deep. Nothing\n"
                 "is harmed: all variables are as they were.",
        .program = "A = zeros(10^12)\n",
        .report = "error[memory]: 8.0 TB asked for, 25 GB of memory\n"
                  "  --> example.ric:1:10\n"
                  " 1 | A = zeros(10^12)\n"
                  "   |          ^^^^^^^\n",
        .reads = "The first number is what the operation needs, the second what the machine has.\n"
                 "Of a deep recursion the first and last calls are shown, and how many lie\n"
                 "between.",
        .ways = { "a narrower dtype: zeros(n, dtype=f32) takes half of it",
                  "index notation makes no large intermediates: sum[i,j] A[i,j] * B[i,j]",
                  "a loop, or a case that ends the recursion",
                  "memory() shows what is in use, :vars which variables hold it" },
    },
    [ERR_IO] = {
        .means = "Files and modules: missing, unreadable, damaged, of an unknown kind, or a full\n"
                 "disk.",
        .program = "X = load(\"measurements.csv\")\n",
        .report = "error[io]: cannot open measurements.csv: No such file or directory\n"
                  "  --> example.ric:1:9\n"
                  " 1 | X = load(\"measurements.csv\")\n"
                  "   |         ^^^^^^^^^^^^^^^^^^^^\n",
        .reads = "The name is the one you gave, from the folder in which ricci was started; what\n"
                 "is wrong inside a file is told with its line or byte.",
        .ways = { "the path: a file name close to yours is offered if there is one",
                  "read(path) gives any text, lines(path) its lines",
                  "modules are searched beside the importing file, in RICCI_PATH, the library",
                  "catch it: try { load(path) } catch e { zeros(3) }" },
    },
    [ERR_FFI] = {
        .means = "Native code: a library or a symbol that is missing, an argument that C cannot\n"
                 "take, a crash inside C (which ends the call, not the session).",
        .program = "extern \"libm.so.6\" { double cbrt(double x); }\n"
                   "text = \"27\"\n"
                   "print(cbrt(text))\n",
        .report = "error[ffi]: cbrt: x (parameter 1, double) is a string\n"
                  "  --> example.ric:3:12\n"
                  " 3 | print(cbrt(text))\n"
                  "   |            ^^^^\n"
                  "help: float(text)\n",
        .reads = "The parameter is named as the declaration names it, with its C type.",
        .ways = { "convert: float(text), or the dtype that C wants: f32(x), i32(x)",
                  "an array has its pointer's dtype: float * takes f32, double * takes f64",
                  "an output is a variable: y = zeros(n), then pass y",
                  "the header is not read: paste the declarations that you use" },
    },
    [ERR_INTERRUPT] = {
        .means = "Ctrl-C. The computation stopped and the session goes on; `try` does not catch\n"
                 "it. A program ends with status 130.",
        .program = "while true { }\n",
        .report = "error[interrupt]: interrupted\n"
                  "  --> example.ric:1:1\n"
                  " 1 | while true { }\n"
                  "   | ^^^^^\n",
        .reads = "The caret is where the program was. Variables hold what they held before the\n"
                 "statement that was stopped, or what the loop had done so far.",
        .ways = { "a long call into a library is waited for: it says so at once",
                  "print in the loop, or profile { … }, to see where the time goes" },
    },
    [ERR_ASSERT] = {
        .means = "`assert` was given a condition that is false.",
        .program = "before = 2.5\n"
                   "after = 2.4999\n"
                   "assert before == after\n",
        .report = "error[assert]: assertion failed: before == after is false (before is 2.5, after "
                  "is 2.4999)\n"
                  "  --> example.ric:3:8\n"
                  " 3 | assert before == after\n"
                  "   |        ^^^^^^    ^^^^^\n",
        .reads = "Both sides of a comparison are shown with their values; with a message after a\n"
                 "comma, the message is.",
        .ways = { "floats are rarely equal: before ≈ after, or allclose(a, b, rtol=1e-3)",
                  "of tensors: assert all(A == B), assert A ≈ B",
                  "say why: assert n > 0, \"n is a count, not {n}\"" },
    },
    [ERR_THROW] = {
        .means = "The program threw it, with `throw`. What it says is up to who wrote it.",
        .program = "fn root(x) {\n"
                   "    if x < 0 { throw \"no real root of {x}\" }\n"
                   "    return sqrt(x)\n"
                   "}\n"
                   "root(-4)\n",
        .report = "error[throw]: no real root of -4\n"
                  "  --> example.ric:2:16\n"
                  " 2 |     if x < 0 { throw \"no real root of {x}\" }\n"
                  "   |                ^^^^^\n"
                  "  in root(-4), called at example.ric:5:1\n",
        .reads = "The caret is at the throw, the trace tells which call led there.",
        .ways = { "give it what it asks for: the message says what was wrong",
                  "catch it: try { root(-4) } catch e { print(e.message) }",
                  "e.value is what was thrown, `throw e` throws it again" },
    },
};

static void put_indented(Buf *out, const char *text, int indent)
{
    while (*text) {
        const char *end = strchrnul(text, '\n');
        if (end > text)
            buf_fill(out, ' ', (size_t)indent);
        buf_put(out, text, (size_t)(end - text));
        buf_putc(out, '\n');
        text = *end ? end + 1 : end;
    }
}

static void put_story(Buf *out, ErrKind kind)
{
    const Story *s = &stories[kind];
    buf_printf(out, "error[%s]\n%s\n\nexample.ric:\n", err_kind_name(kind), s->means);
    put_indented(out, s->program, 4);
    buf_puts(out, "\nprints:\n");
    put_indented(out, s->report ? s->report : "", 4);
    buf_printf(out, "\n%s\n\nWays out:\n", s->reads);
    for (size_t i = 0; i < sizeof s->ways / sizeof *s->ways && s->ways[i]; i++)
        buf_printf(out, "  - %s\n", s->ways[i]);
}

bool help_kind(Interp *in, Buf *out, const char *kind)
{
    (void)in;
    for (int i = 0; i < ERR_KINDS; i++)
        if (strcmp(kind, err_kind_name((ErrKind)i)) == 0) {
            put_story(out, (ErrKind)i);
            return true;
        }
    return false;
}
