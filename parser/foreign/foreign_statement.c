/* Statements of other languages by their first word or their form: def and function, let and
 * int, for (int i = 0; …), if c: …, import numpy as np, f(x) = x^2, [Q, R] = qr(A). A block
 * without braces gets them: from `then … end`, from a colon, from indented lines. */
#include "parser/foreign/foreign_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where a statement begins: the first piece, or what follows a brace, a `;` or a line break. */
static bool begins(const Fix *f, int k)
{
    return k == 0 || piece_in(f, k - 1, "{ } ; then do begin else") ||
           piece_kind(f, k - 1) == PIECE_LINE;
}

static bool is_name(const Fix *f, int k)
{
    return piece_kind(f, k) == PIECE_NAME;
}

/* ---- functions ---- */

static const char types[] =
    "int float double long short char bool void auto string size_t float32 float64 i32 i64 f32 "
                            "f64 unsigned const var let Real Integer number any String Float64 Int";

/* One past the end of a type: double, float*, double[], std::vector<double>& */
static int pass_type(const Fix *f, int k)
{
    if (!piece_in(f, k, types))
        return k;
    while (piece_in(f, k, types))
        k++;
    while (piece_in(f, k, "* & **") || (piece_is(f, k, "[") && piece_is(f, k + 1, "]")))
        k += piece_is(f, k, "[") ? 2 : 1;
    return k;
}

/* `x: float`, `float x`, `x::Real` in the parameters between open and close. */
static bool rule_parameter(Fix *f, int open)
{
    int close = f->piece[open].match;
    for (int k = open + 1; k < close; k++) {
        bool first = piece_in(f, k - 1, "( ,");
        if (first && piece_is(f, k, "*") && is_name(f, k + 1))          /* *args */
            return piece_replace(f, k, k + 1, "%.*s...", PIECE_RANGE(f, k + 1, k + 1));
        int name = pass_type(f, k);
        /* Go */
        if (first && name == k && is_name(f, k) && is_name(f, k + 1) && pass_type(f, k + 1) > k + 1)
            return piece_replace(f, k, pass_type(f, k + 1) - 1, "%.*s", PIECE_RANGE(f, k, k));
        if (first && name > k && is_name(f, name) && name < close)
            return piece_replace(f, k, name, "%.*s", PIECE_RANGE(f, name, name));
        if (first && is_name(f, k) && piece_in(f, k + 1, ": ::")) {
            int end = piece_find(f, k + 1, ", =");
            end = end < 0 || end > close ? close : end;
            return piece_replace(f, k, end - 1, "%.*s", PIECE_RANGE(f, k, k));
        }
    }
    return false;
}

/* k: the first word of `def f(x)`, `function y = f(x)`, `void f(int x)`, `fn f(x: float) ->
 * float` */
static bool rule_function(Fix *f, int k)
{
    bool word = piece_in(f, k, "def function func fun sub proc fn defn");
    int name = k + 1;
    if (!word) {
        name = pass_type(f, k);
        if (name == k || !is_name(f, name) || !piece_is(f, name + 1, "(") ||
            f->piece[name + 1].match < 0 || !piece_is(f, f->piece[name + 1].match + 1, "{"))
            return false;
        return piece_replace(f, k, name - 1, "fn");
    }
    if (piece_is(f, k, "function")) {
        int equals = piece_find(f, k, "=");
        if (equals > 0 && is_name(f, equals + 1) && !is_name(f, k + 2))
            name = equals + 1;
        if (!is_name(f, name))
            return false;
        if (!piece_is(f, name + 1, "("))
            return name == f->count - 1 &&
                   piece_replace(f, k, name, "fn %.*s() { … }", PIECE_RANGE(f, name, name));
        return piece_replace(f, k, name - 1, "fn ");
    }
    if (!is_name(f, name) || !piece_is(f, name + 1, "(") || f->piece[name + 1].match < 0)
        return false;
    if (!piece_is(f, k, "fn"))
        return piece_replace(f, k, k, "fn");
    int close = f->piece[name + 1].match;
    if (rule_parameter(f, name + 1))
        return true;
    if (piece_in(f, close + 1, "-> ::") && is_name(f, close + 2)) {
        int end = close + 2;
        if (piece_is(f, end + 1, "[") && f->piece[end + 1].match > 0)
            end = f->piece[end + 1].match;
        return piece_replace(f, close + 1, end, "%s", "");
    }
    if (piece_is(f, close + 1, ":") && piece_is(f, close + 2, "{"))
        return piece_replace(f, close + 1, close + 1, "%s", "");
    if (is_name(f, close + 1) && piece_in(f, close + 1, types) && piece_is(f, close + 2, "{"))
        return piece_replace(f, close + 1, close + 1, "%s", "");
    if (piece_in(f, close + 1, "= := => ->") && close + 1 < f->count - 1 &&
        !piece_is(f, close + 2, "{"))
        return piece_replace(f, close + 1, f->count - 1, "{ %.*s }",
                             PIECE_RANGE(f, close + 2, f->count - 1));
    return false;
}

/* lambda x, y: e; @(x) e; \(x) e; function(x) e; function(x) { return e } */
static bool rule_lambda(Fix *f, int k)
{
    if (piece_is(f, k, "lambda")) {
        int colon = piece_find(f, k, ":");
        if (colon < 0)
            return false;
        bool one = colon == k + 2;
        return piece_replace(f, k, colon, one ? "%.*s ->" : "(%.*s) ->",
                             PIECE_RANGE(f, k + 1, colon - 1));
    }
    bool word = piece_in(f, k, "function func fn fun"),
         sign = piece_in(f, k, "@ \\") && !piece_ends_operand(f, k - 1);
    int close = (word || sign) && piece_is(f, k + 1, "(") ? f->piece[k + 1].match : -1;
    if (close < 0)
        return false;
    if (rule_parameter(f, k + 1))
        return true;
    bool one = close == k + 3 && is_name(f, k + 2);
    int last = piece_is(f, close + 1, "=>") ? close + 1 : close;
    if (word && piece_is(f, f->count - 1, "end") && !piece_is(f, close + 1, "{"))
        piece_replace(f, f->count - 1, f->count - 1, "%s", "");
    if (piece_is(f, close + 1, "return"))
        last = close + 1;
    int from = k + (one ? 2 : 1), to = one ? k + 2 : close;
    return piece_replace(f, k, last, "%.*s ->", PIECE_RANGE(f, from, to));
}

/* Does the name at k occur from piece `from` on? */
static bool is_used(const Fix *f, int k, int from)
{
    for (int i = from; i < f->count; i++)
        if (is_name(f, i) && piece_length(f, i, i) == piece_length(f, k, k) &&
            memcmp(f->text + f->piece[i].from, f->text + f->piece[k].from,
                   (size_t)piece_length(f, k, k)) == 0)
            return true;
    return false;
}

/* f(x) = x^2 and f(x, y) := … where every argument is a name; x(k) = 0 stores into an element. */
static bool rule_definition(Fix *f, int k)
{
    if (k > 0 || !is_name(f, k) || piece_in(f, k, "fn if while for function def return") ||
        !piece_is(f, k + 1, "("))
        return false;
    int close = f->piece[k + 1].match;
    if (close < 0 || !piece_in(f, close + 1, "= :=") || close + 1 == f->count - 1)
        return false;
    for (int i = k + 2; i < close; i++)
        if (!is_name(f, i) || (i + 1 < close && !piece_is(f, ++i, ",")))
            return false;
    bool one = close == k + 3, index = one && piece_in(f, k + 2, "i j k n m");
    bool element = piece_is_own(f, k) || !is_used(f, k + 2, close + 2) ||
                   (index && piece_is_own(f, k + 2)) ||
                   (index && piece_is_capital(f, k) && piece_length(f, k, k) == 1);
    if (element && close > k + 2) {
        f->note = "indices start at 0";
        return piece_replace(f, k + 1, close, "[%.*s]", PIECE_RANGE(f, k + 2, close - 1));
    }
    return piece_replace(f, k, close + 1, one ? "%.*s = %.*s ->" : "%.*s = (%.*s) ->",
                         PIECE_RANGE(f, k, k),
                       PIECE_RANGE(f, k + 2, close - 1));
}

/* ---- variables ---- */

/* let x = 1; const int n = 3; double y = 2.0; x: int = 3; x <- 3; 3 -> x; x =: 3 */
static bool rule_declaration(Fix *f, int k)
{
    static const char words[] = "let var const val local my our static auto mut final";
    if (piece_is(f, k, "global") && is_name(f, k + 1) && piece_is(f, k + 2, "="))
        return piece_replace(f, k, k, "%s", "");
    int name = k;
    while (piece_in(f, name, words) && is_name(f, name + 1))
        name++;
    int after = pass_type(f, name);
    if (after > name && (is_name(f, after) || (piece_is(f, after, "[") && name > k)))
        name = after;
    if (piece_is(f, name, "function") || piece_is(f, name, "fn"))
        return name > k && piece_replace(f, k, name - 1, "%s", "");
    if (name > k && is_name(f, name) && piece_in(f, name + 1, "= , :"))
        return piece_replace(f, k, name - 1, "%s", "");
    if (name > k && is_name(f, name) && piece_is(f, name + 1, "[") &&
        f->piece[name + 1].match > 0 && piece_is(f, f->piece[name + 1].match + 1, "="))
        return piece_replace(f, k, f->piece[name + 1].match, "%.*s", PIECE_RANGE(f, name, name));
    if (is_name(f, k) && piece_in(f, k + 1, ": ::") && is_name(f, k + 2)) {
        int equals = k + 3;
        if (piece_is(f, equals, "[") && f->piece[equals].match > 0)
            equals = f->piece[equals].match + 1;
        if (piece_is(f, equals, "="))
            return piece_replace(f, k + 1, equals - 1, "%s", "");
    }
    if (is_name(f, k) && piece_is(f, k + 1, "<-"))
        return piece_replace(f, k + 1, k + 1, "%s=", f->piece[k + 1].space ? "" : " ");
    if (is_name(f, k) && piece_is(f, k + 1, "=") && piece_is(f, k + 2, ":") &&
        !f->piece[k + 2].space)
        return piece_replace(f, k + 1, k + 2, "=");
    if (k == 0 && f->count >= 3 && is_name(f, f->count - 1) && piece_is(f, f->count - 2, "->") &&
        piece_kind(f, 0) == PIECE_NUMBER)
        return piece_replace(f, 0, f->count - 1, "%.*s = %.*s",
                             PIECE_RANGE(f, f->count - 1, f->count - 1),
                           PIECE_RANGE(f, 0, f->count - 3));
    return false;
}

/* Where ours gives its results in another order: lu (P, L, U), eig (values, vectors). */
static bool unpack_order(Fix *f, int close)
{
    int op = close + 2;
    if (!piece_is(f, op + 1, "("))
        return false;
    if (close == 6 && piece_is(f, op, "svd"))
        f->note = "the second is the vector of singular values, the third V'";
    if (close == 4 && piece_in(f, op, "eig eigh"))
        return piece_replace(f, 0, close, "%.*s, %.*s", PIECE_RANGE(f, 3, 3), PIECE_RANGE(f, 1, 1));
    if (close == 6 && piece_is(f, op, "lu"))
        return piece_replace(f, 0, close, "%.*s, %.*s, %.*s", PIECE_RANGE(f, 5, 5),
                             PIECE_RANGE(f, 1, 1), PIECE_RANGE(f, 3, 3));
    return false;
}

/* [Q, R] = qr(A): the names alone; [m, n] = size(A): shape */
static bool rule_unpack(Fix *f, int k)
{
    int close = k == 0 && piece_is(f, 0, "[") ? f->piece[0].match : -1;
    if (close > 1 && piece_is(f, close + 1, "=")) {
        for (int i = 1; i < close; i++)
            if (!piece_is(f, i, ",") && !is_name(f, i) && !piece_is(f, i, "~"))
                return false;
        for (int i = close - 1; i > 0; i--)
            if (piece_is(f, i, "~"))
                piece_replace(f, i, i, "_");
        return unpack_order(f, close) ||
               piece_replace(f, 0, close, "%.*s", PIECE_RANGE(f, 1, close - 1));
    }
    if (k == 0 && is_name(f, 0) && piece_is(f, 1, ",") && is_name(f, 2) && piece_is(f, 3, "=") &&
        piece_is(f, 4, "size") &&
        piece_is(f, 5, "(") && f->piece[5].match == f->count - 1)
        return piece_replace(f, 4, 4, "shape");
    return false;
}

/* ---- words ---- */

/* print x, sin x, echo "a": a call without its parentheses, to the end of the statement. */
static bool rule_command(Fix *f, int k)
{
    static const char spoken[] = "print println echo puts disp display say display show";
    static const char functions[] =
        "len sum prod max min mean sin cos tan asin acos atan sinh cosh tanh exp log "
                                    "log2 log10 "
                                    "sqrt abs sort det inv norm trace rank svd qr lu eig eigh "
                                    "zeros ones eye size "
                                    "shape "
                                    "ndim rand randn round floor ceil sign real imag conj string "
                                    "repr type load help";
    if (!piece_in(f, k, spoken) && !(piece_in(f, k, functions) && f->piece[k + 1].space))
        return false;
    if (piece_is(f, k, "print") && piece_is(f, k + 1, "("))
        return false;
    bool bracket = piece_is(f, k + 1, "(") || (piece_is(f, k + 1, "[") && !f->piece[k + 1].space);
    if (bracket || !piece_starts_operand(f, k + 1) || piece_is(f, k - 1, "."))
        return false;
    int end = piece_in(f, k, spoken) ? k + 1 : piece_operand_end(f, k + 1);
    while (piece_in(f, k, spoken) && end + 1 < f->count && !piece_in(f, end + 1, "; } end else"))
        end++;
    return piece_replace(f, k, end, "%.*s(%.*s)",
                         piece_in(f, k, spoken) ? 5 : piece_length(f, k, k),
                       piece_in(f, k, spoken) ? "print" : f->text + f->piece[k].from,
                       PIECE_RANGE(f, k + 1, end));
}

/* raise ValueError("a"), throw new Error("a") */
static bool rule_raise(Fix *f, int k)
{
    if (!piece_in(f, k, "raise throw"))
        return false;
    int name = k + 1 + piece_is(f, k + 1, "new");
    bool call = is_name(f, name) && piece_is(f, name + 1, "(") &&
                f->piece[name + 1].match > name + 2;
    if (call && !piece_is_own(f, name) && piece_is_capital(f, name))
        return piece_replace(f, k, f->piece[name + 1].match, "throw %.*s",
                           PIECE_RANGE(f, name + 2, f->piece[name + 1].match - 1));
    return piece_is(f, k, "raise") && piece_replace(f, k, k, "throw");
}

/* x is None, x is not None, a mod b, a div b, a if c else b, x instanceof … */
static bool rule_word(Fix *f, int k)
{
    if (!is_name(f, k) || piece_is(f, k - 1, ".") || piece_is_own(f, k))
        return false;
    bool between = piece_ends_operand(f, k - 1) && f->piece[k].space && f->piece[k + 1].space &&
                   (piece_starts_operand(f, k + 1) || piece_in(f, k + 1, "not -"));
    if (between && piece_is(f, k, "is"))
        return piece_is(f, k + 1, "not") ? piece_replace(f, k, k + 1, "!=")
                                         : piece_replace(f, k, k, "==");
    if (between && piece_is(f, k, "mod"))
        return piece_replace(f, k, k, "%%");
    if (between && piece_is(f, k, "div"))
        return piece_replace(f, k, k, "//");
    if (piece_is(f, k, "if") && piece_ends_operand(f, k - 1) && !piece_in(f, k - 1, "else } end") &&
        piece_around(f, k) < 0) {
        int other = piece_find(f, k, "else"), from = k - 1, to = f->count - 1;
        while (from > 0 && !piece_in(f, from - 1, "= := , return ; { -> :"))
            from = piece_kind(f, from - 1) == PIECE_CLOSE && f->piece[from - 1].match >= 0
                ? f->piece[from - 1].match : from - 1;
        if (other > 0 && other < to && !piece_is(f, other + 1, "{"))
            return piece_replace(f, from, to, "if %.*s { %.*s } else { %.*s }",
                                 PIECE_RANGE(f, k + 1, other - 1),
                               PIECE_RANGE(f, from, k - 1), PIECE_RANGE(f, other + 1, to));
    }
    return false;
}

static const char libraries[] =
    "collections pathlib datetime copy pickle statistics dataclasses io glob logging subprocess "
    "decimal fractions Dates FileIO JLD2 readr dplyr "
    "numpy scipy torch math cmath jax tensorflow matplotlib pandas LinearAlgebra "
                                "Statistics "
                                "Random Plots Printf SparseArrays sys os namespace tidyverse "
                                "ggplot2 Matrix cupy sympy "
                                "mpmath random seaborn sklearn Pkg time itertools functools typing "
                                "re "
                                "CSV csv json JSON DataFrames DelimitedFiles Symbolics FFTW "
                                "StatsBase Makie CairoMakie";

static bool is_listed(const char *words, const char *name)
{
    size_t n = strlen(name);
    for (const char *w = words; *w; w += strcspn(w, " "), w += *w == ' ')
        if (strcspn(w, " ") == n && memcmp(w, name, n) == 0)
            return true;
    return false;
}

const char *foreign_library(const char *name)
{
    static const struct { const char *names, *help; } rows[] = {
#define LIBRARY(names, help) { names, "leave it out: " help },
#include "parser/foreign/foreign.def"
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (is_listed(rows[i].names, name))
            return rows[i].help;
    return is_listed(libraries, name) || foreign_module(name)
               ? "leave it out: what Ricci has of it is built in and has no prefix" : NULL;
}

/* from stats import mean; using stats; require "a.ric" */
static bool rule_import(Fix *f, int k)
{
    if (piece_in(f, k + 1, libraries))
        return false;
    if (is_name(f, k) && piece_is(f, k + 1, "=") && piece_is(f, k + 2, "require") &&
        piece_is(f, k + 3, "(") && f->count == k + 6 && piece_kind(f, k + 4) == PIECE_STRING)
        return piece_replace(f, k, k + 5, "import %.*s as %.*s", piece_length(f, k + 4, k + 4) - 2,
                             f->text + f->piece[k + 4].from + 1, PIECE_RANGE(f, k, k));
    if (piece_is(f, k, "from") && is_name(f, k + 1) && piece_is(f, k + 2, "import") &&
        !piece_is(f, k + 3, "*") && k + 3 < f->count)
        return piece_replace(f, k, f->count - 1, "import %.*s from %.*s",
                             PIECE_RANGE(f, k + 3, f->count - 1),
                           PIECE_RANGE(f, k + 1, k + 1));
    if (piece_in(f, k, "using include require source load") &&
        piece_kind(f, k + 1) == PIECE_STRING && k + 1 == f->count - 1)
        return piece_replace(f, k, k, "import");
    if (piece_in(f, k, "using use require library") && is_name(f, k + 1) && k + 1 == f->count - 1)
        return piece_replace(f, k, k, "import");
    if (piece_in(f, k, "library require source") && piece_is(f, k + 1, "(") &&
        f->piece[k + 1].match == f->count - 1 && !piece_in(f, k + 2, libraries) &&
        f->count == k + 4 && (!f->facts->known || f->facts->what == FOREIGN_NAME))
        return piece_kind(f, k + 2) == PIECE_NAME
                   ? piece_replace(f, k, f->count - 1, "import %.*s", PIECE_RANGE(f, k + 2, k + 2))
                   : piece_replace(f, k, f->count - 1, "import %.*s",
                                   piece_length(f, k + 2, k + 2) - 2,
                                   f->text + f->piece[k + 2].from + 1);
    return false;
}

/* cout << n << endl */
static bool rule_stream(Fix *f, int k)
{
    int first = piece_in(f, k, "cout") ? k + 1
                                       : piece_is(f, k, "std") && piece_is(f, k + 1, "::") &&
        piece_is(f, k + 2, "cout") ? k + 3 : -1;
    if (first < 0 || !piece_is(f, first, "<<"))
        return false;
    int last = f->count - 1;
    if (piece_is(f, last, "endl"))
        last -= piece_is(f, last - 1, "::") ? 4 : 2;
    if (last <= first)
        return false;
    int next = piece_find(f, first, "<<");
    if (next > 0 && next < last)
        return piece_replace(f, next, next, ",");
    return piece_replace(f, k, f->count - 1, "print(%.*s)", PIECE_RANGE(f, first + 1, last));
}

/* n = 5 // note, x = 1 % note, y = 2 -- note: words where no operand can be. */
static bool rule_comment(Fix *f, int k)
{
    bool mark = piece_in(f, k, "// % -- /* ;") && (f->piece[k].space || k == 0);
    if (!mark)
        return false;
    bool words = is_name(f, k + 1) && is_name(f, k + 2) && f->piece[k + 2].space;
    bool pointed = f->facts->what == FOREIGN_NAME && piece_is(f, k, "--") && f->at == f->piece[k +
    1].from &&
        f->piece[k + 1].space &&
                   k + 1 == f->count - 1 && !piece_is(f, k, ";");
    bool block = piece_is(f, k, "/*");
    if ((piece_is(f, k, ";") && k > 0) || !(words || pointed || block))
        return false;
    int end = block ? piece_find(f, k, "*/") : -1, last = end > 0 ? end : f->count - 1;
    if (k == 0 && last == f->count - 1)
        return false;
    f->note = "comments start with #";
    return piece_replace(f, k, last, "%s", "");
}

bool foreign_statements(Fix *f)
{
    for (int k = 0; k < f->count; k++) {
        if (begins(f, k) && (rule_function(f, k) || rule_declaration(f, k) || rule_unpack(f, k) ||
                             rule_raise(f, k) ||
                             rule_import(f, k) || rule_stream(f, k) || rule_definition(f, k)))
            return true;
        if (rule_lambda(f, k) || rule_command(f, k) || rule_word(f, k) || rule_comment(f, k))
            return true;
    }
    return false;
}

/* ---- blocks ---- */

/* One step beyond `end`, to either side: a literal is counted, `n - 1` becomes n, anything else
 * gets `+ 1`. */
static void put_beyond(const Fix *f, char *stop, size_t cap, int end, int end_to, bool down)
{
    const char *digits = f->text + f->piece[end].from;
    bool number = end == end_to && piece_kind(f, end) == PIECE_NUMBER &&
                  piece_length(f, end, end) < 10 &&
                  (int)strspn(digits, "0123456789") == piece_length(f, end, end);
    bool undone = end_to > end + 1 && piece_is(f, end_to, "1") &&
                  piece_is(f, end_to - 1, down ? "+" : "-") && piece_ends_operand(f, end_to - 2);
    if (number)
        snprintf(stop, cap, "%ld", strtol(digits, NULL, 10) + (down ? -1 : 1));
    else if (undone)
        snprintf(stop, cap, "%.*s", PIECE_RANGE(f, end, end_to - 2));
    else
        snprintf(stop, cap, "%.*s %c 1", PIECE_RANGE(f, end, end_to), down ? '-' : '+');
}

/* A range that counts its end in. Where a step goes only shows if it is a number or a sum of
 * them. */
static bool put_range(Fix *f, int a, int b, const char *name, int from, int from_to, int step,
                      int step_to, int end, int end_to)
{
    char stop[FOREIGN_TEXT];
    bool down = step && piece_is(f, step, "-");
    if (step && piece_kind(f, step + down) != PIECE_NUMBER)
        return false;
    put_beyond(f, stop, sizeof stop, end, end_to, down);
    f->note = "a range leaves out its end";
    if (step)
        return piece_replace(f, a, b, "%s in %.*s:%s:%.*s", name,
                             PIECE_RANGE(f, from, from_to), stop, PIECE_RANGE(f, step, step_to));
    return piece_replace(f, a, b, "%s in %.*s:%s", name, PIECE_RANGE(f, from, from_to), stop);
}

/* Where the header of a block ends at the latest. */
static int header_end(const Fix *f, int k)
{
    int end = piece_find(f, k, "{ do then");
    return end < 0 ? f->count : end;
}

/* for (int i = 0; i < n; i++) */
static bool rule_for_c(Fix *f, int k)
{
    int open = k + 1, close = piece_is(f, open, "(") ? f->piece[open].match : -1;
    int first = close > 0 ? piece_find(f, open, ";") : -1,
        second = first > 0 ? piece_find(f, first, ";") : -1;
    if (second < 0)
        return false;
    int name = pass_type(f, open + 1);
    if (piece_in(f, name, "let var const"))
        name++;
    bool up = piece_in(f, first + 2, "< <="),
         same = name + 2 < first && piece_is(f, name + 1, "=") &&
        is_name(f, name) &&
              piece_length(f, name, name) == piece_length(f, first + 1, first + 1);
    char variable[64];
    if (!up || !same || piece_length(f, name, name) > 60)
        return false;
    memcpy(variable, f->text + f->piece[name].from, (size_t)piece_length(f, name, name));
    variable[piece_length(f, name, name)] = '\0';
    int step = piece_find(f, second, "+=") > 0 ? piece_find(f, second, "+=") + 1 : 0;
    int from = name + 2, end = first + 3;
    if (piece_is(f, first + 2, "<=")) {
        bool done = put_range(f, open, close, variable, from, first - 1, step, close - 1, end,
                              second - 1);
        f->note = NULL;
        return done;
    }
    if (step)
        return piece_replace(f, open, close, "%s in %.*s:%.*s:%.*s", variable,
                             PIECE_RANGE(f, from, first - 1),
                           PIECE_RANGE(f, end, second - 1), PIECE_RANGE(f, step, close - 1));
    return piece_replace(f, open, close, "%s in %.*s:%.*s", variable,
                         PIECE_RANGE(f, from, first - 1),
                       PIECE_RANGE(f, end, second - 1));
}

/* for i = 1:3; for i = 1, 3 do; for x of v; for (x in v); foreach */
static bool rule_for(Fix *f, int k)
{
    if (piece_in(f, k, "foreach For FOR") || (piece_is(f, k, "for") && piece_is(f, k + 1, "each")))
        return piece_replace(f, k, piece_is(f, k + 1, "each") ? k + 1 : k, "for");
    if (!piece_is(f, k, "for") || piece_ends_operand(f, k - 1))
        return false;
    if (rule_for_c(f, k))
        return true;
    if (piece_in(f, k + 1, "let const var") && is_name(f, k + 2))
        return piece_replace(f, k + 1, k + 1, "%s", "");
    int open = k + 1, close = piece_is(f, open, "(") ? f->piece[open].match : -1;
    int in = close > 0 ? piece_find(f, open, "in of = :") : -1;
    if (in > 0 && in < close && !piece_is(f, close + 1, "in")) {
        piece_replace(f, close, close, "%s", "");
        return piece_replace(f, open, open, "%s", "");
    }
    if (is_name(f, k + 1) && piece_in(f, k + 2, "of ∈"))
        return piece_replace(f, k + 2, k + 2, "in");
    if (!is_name(f, k + 1) || !piece_is(f, k + 2, "="))
        return false;
    int end = header_end(f, k), colon = piece_find(f, k + 2, ":"),
        comma = piece_find(f, k + 2, ",");
    char name[64];
    if (piece_length(f, k + 1, k + 1) > 60)
        return false;
    memcpy(name, f->text + f->piece[k + 1].from, (size_t)piece_length(f, k + 1, k + 1));
    name[piece_length(f, k + 1, k + 1)] = '\0';
    if (colon > 0 && colon < end && (comma < 0 || colon < comma)) {
        int stop = comma > 0 && comma < end ? comma : end, line = k + 3;
        while (line < stop && piece_kind(f, line) != PIECE_LINE && !piece_is(f, line, ";"))
            line++;
        stop = line;
        int second = piece_find(f, colon, ":");
        if (second > 0 && second < stop - 1)
            return put_range(f, k + 1, stop - 1, name, k + 3, colon - 1, colon + 1, second - 1,
                             second + 1, stop - 1);
        if (second == stop - 1)
            stop--;
        return colon + 1 < stop &&
               put_range(f, k + 1, stop - 1, name, k + 3, colon - 1, 0, 0, colon + 1, stop - 1);
    }
    if (comma > 0 && comma < end) {
        int second = piece_find(f, comma, ",");
        int stop = second > 0 && second < end ? second : end;
        return put_range(f, k + 1, end - 1, name, k + 3, comma - 1, stop < end ? stop + 1 : 0,
                         end - 1, comma + 1, stop - 1);
    }
    return piece_replace(f, k + 2, k + 2, "in");
}

/* `=` in a condition, `unless`, `until`, elif, except, catch (e) */
static bool rule_header(Fix *f, int k)
{
    if (piece_in(f, k, "elif elseif elsif")) {
        return piece_replace(f, k, k, piece_is(f, k - 1, "}") ? "else if" : "} else if");
    }
    if (piece_is(f, k, "else") && k == 0 && piece_in(f, 1, ": {"))
        return piece_replace(f, 0, 0, "} else");
    if (piece_is(f, k, "unless") && k == 0)
        return piece_replace(f, k, k, "if not");
    if (piece_is(f, k, "until") && k == 0)
        return piece_replace(f, k, k, "while not");
    if (piece_is(f, k, "except")) {
        bool named = piece_find(f, k, "as") > 0;
        int end = piece_find(f, k, ": {");
        if (end < 0)
            return false;
        return piece_replace(f, k, end - 1, "%scatch %.*s",
                             piece_is(f, k - 1, "}") ? "" : "} ", named
                             ? piece_length(f, end - 1, end - 1) : 1,
                           named ? f->text + f->piece[end - 1].from : "e");
    }
    if (piece_is(f, k, "catch") && piece_is(f, k + 1, "(") && f->piece[k + 1].match > 0) {
        int close = f->piece[k + 1].match;
        return piece_replace(f, k + 1, close, "%.*s", PIECE_RANGE(f, close - 1, close - 1));
    }
    if (piece_in(f, k, "if while") && !piece_ends_operand(f, k - 1)) {
        int equals = piece_find(f, k, "=");
        int inside = piece_is(f, k + 1, "(") ? piece_find(f, k + 1, "=") : -1;
        int brace = piece_find(f, k, "{ then do :");
        if (inside > 0)
            return piece_replace(f, inside, inside, "==");
        if (equals > 0 && (brace < 0 || equals < brace) && brace > 0)
            return piece_replace(f, equals, equals, "==");
    }
    return false;
}

/* The lines below a header that ends in a colon, as far as they are indented alike, joined by
 * `;`; false where there are none, or deeper ones. */
static bool indented(const Fix *f, char *out, size_t cap)
{
    const char *s = f->facts->body, *end = s + f->facts->body_len;
    size_t n = 0, column = 0;
    int lines = 0;
    while (s < end) {
        const char *stop = memchr(s, '\n', (size_t)(end - s));
        stop = stop ? stop : end;
        size_t blank = 0, len = (size_t)(stop - s);
        while (blank < len && strchr(" \t", s[blank]))
            blank++;
        while (len > blank && strchr(" \t\r", s[len - 1]))
            len--;
        if (len > blank) {
            if (blank <= f->facts->indent)
                break;
            if ((lines && blank != column) || s[len - 1] == ':' ||
                n + len - blank + 4 > cap || lines == 4)
                return false;
            column = blank;
            n += (size_t)snprintf(out + n, cap - n, "%s%.*s", lines++ ? "; " : "",
                                  (int)(len - blank), s + blank);
        }
        s = stop + 1;
    }
    return lines > 0;
}

/* Ends the block at the last piece: a closing word becomes the brace. */
static void close_block(Fix *f, int last)
{
    if (piece_in(f, last, "end fi done"))
        piece_replace(f, last, last, "}");
    else
        piece_replace(f, last, last, "%.*s }", PIECE_RANGE(f, last, last));
}

/* The colon that ends the header at k, as in Python: it stands close, and a blank or the end
 * follows. */
static int header_colon(const Fix *f, int k)
{
    int colon = -1, last = f->count - 1;
    for (int i = piece_find(f, k, ":"); i > 0; i = piece_find(f, i, ":"))
        if (!f->piece[i].space &&
            (i == last || f->piece[i + 1].space || piece_kind(f, i + 1) == PIECE_LINE))
            colon = i;
    return colon;
}

/* if c: x = 1, and the indented lines below `if c:`, in braces. */
static bool put_colon_block(Fix *f, int colon)
{
    char body[FOREIGN_TEXT];
    int last = f->count - 1;
    if (colon < last)
        return piece_replace(f, last, last, "%.*s }", PIECE_RANGE(f, last, last)) &&
               piece_replace(f, colon, colon, " {");
    if (f->facts->body && indented(f, body, 90))
        return piece_replace(f, colon, colon, " { %s }", body);
    return piece_replace(f, colon, colon, " { … }");
}

/* Gives the header that starts at k its braces. */
static bool rule_block(Fix *f, int k)
{
    bool word = piece_in(f, k, "if while for fn else try catch") &&
                (!piece_ends_operand(f, k - 1) || piece_is(f, k - 1, "}"));
    if (!word || (piece_is(f, k, "else") && piece_is(f, k + 1, "if")))
        return false;
    bool bare = piece_in(f, k, "else try");
    int brace = piece_find(f, k, "{"), mark = piece_find(f, k, "then do begin"),
        last = f->count - 1;
    if (brace > 0 && (mark < 0 || mark > brace))
        return false;
    if (mark > 0) {
        if (mark == last)
            return piece_replace(f, mark, mark, "{ … }");
        if (!piece_is(f, last, "}"))
            close_block(f, last);
        for (int i = last - 1; i > mark; i--)
            if (piece_is(f, i, "else") && !piece_is(f, i - 1, "}") && !piece_is(f, i + 1, "if"))
                piece_replace(f, i, i, "} else {");
        return piece_replace(f, mark, mark, "{");
    }
    if (header_colon(f, k) > 0)
        return put_colon_block(f, header_colon(f, k));
    int comma = piece_find(f, k, ", ;");
    /* MATLAB's one line */
    if (piece_is(f, last, "end") && comma > 0 && !piece_is(f, k, "fn")) {
        int before = piece_in(f, last - 1, ", ;") ? last - 1 : last;
        piece_replace(f, before, last, " }");
        for (int i = before - 1; i > comma; i--)
            if (piece_is(f, i, ",") && piece_around(f, i) < 0)
                piece_replace(f, i, i, ";");
        return piece_replace(f, comma, comma, " {");
    }
    int close = piece_in(f, k, "if while for") && piece_is(f, k + 1, "(")
                ? f->piece[k + 1].match : -1;
    if (piece_is(f, k, "fn"))
        close = piece_is(f, k + 2, "(") ? f->piece[k + 2].match : -1;
    if (close > 0 && close < last && piece_starts_operand(f, close + 1)) {       /* if (c) x = 1 */
        close_block(f, last);
        if (!piece_is(f, k, "fn"))
            return piece_replace(f, k + 1, close, "%.*s {", PIECE_RANGE(f, k + 2, close - 1));
        return piece_replace(f, close, close, ") {");
    }
    /* if n == 3 print(n) */
    if (piece_in(f, k, "for if while") && last > k + 1) {
        for (int i = k + 2; i <= last; i++)
            if (f->piece[i].space && piece_ends_operand(f, i - 1) && piece_starts_operand(f, i) &&
                piece_around(f, i) < k) {
                close_block(f, last);
                return piece_replace(f, i - 1, i - 1, "%.*s {", PIECE_RANGE(f, i - 1, i - 1));
            }
    }
    if (f->facts->what != FOREIGN_SYNTAX || strstr(f->text, "{ … }") || (bare && last > k))
        return false;
    return piece_replace(f, last, last, "%.*s { … }", PIECE_RANGE(f, last, last));
}

bool foreign_blocks(Fix *f)
{
    for (int k = 0; k < f->count; k++)
        if (rule_for(f, k) || rule_header(f, k))
            return true;
    for (int k = f->count - 1; k >= 0; k--)
        if (rule_block(f, k))
            return true;
    return false;
}
