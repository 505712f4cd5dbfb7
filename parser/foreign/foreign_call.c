/* Calls, methods, fields and constants of other languages, by the table foreign.def: np.dot(A,
 * B) to A @ B, A.sum(axis=0) to sum(A, axis=0). A member of a module that the table does not
 * have keeps its name where Ricci knows it. */
#include "parser/foreign/foreign_parts.h"

#include "core/system/c_locale.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum RowKind { ROW_CALL, ROW_MODULE, ROW_METHOD, ROW_FIELD, ROW_CONSTANT,
                       ROW_MEMBER, ROW_DRAW } RowKind;

/* home: a module of ours, in which it is, or NULL. */
static const struct { RowKind kind; const char *home, *theirs, *ours; } rows[] = {
#define CALL(a, b) { ROW_CALL, NULL, a, b },
#define MODULE(a, b) { ROW_MODULE, NULL, a, b },
#define METHOD(a, b) { ROW_METHOD, NULL, a, b },
#define FIELD(a, b) { ROW_FIELD, NULL, a, b },
#define CONSTANT(a, b) { ROW_CONSTANT, NULL, a, b },
#define MEMBER(a, b) { ROW_MEMBER, NULL, a, b },
#define FROM(home, a, b) { ROW_CALL, home, a, b },
#define MODULE_FROM(home, a, b) { ROW_MODULE, home, a, b },
#define DRAW(a, b) { ROW_DRAW, "random", a, b },
#include "parser/foreign/foreign.def"
};
enum { ROWS = sizeof rows / sizeof *rows };

static const char modules[] =
    "np numpy jnp cp cupy torch tf jax sp scipy plt pd math cmath Math LinearAlgebra "
                              "Statistics "
                              "Random Base F nn functional linalg console os sys random mx keras "
                              "sympy mpmath "
                              "string table System process builtins operator itertools functools "
                              "time xp sparse fft";
/* What sum(A, 0) means by its second argument is an axis, given by name here. */
static const char along_axis[] =
    "sum prod mean var std min max argmin argmax any all cumsum cumprod median softmax "
                                 "logsumexp count amax amin log_softmax concat stack sort argsort "
                                 "flip norm";

bool foreign_module(const char *name)
{
    size_t n = strlen(name);
    for (const char *w = modules; *w; w += strcspn(w, " "), w += *w == ' ')
        if (strcspn(w, " ") == n && memcmp(w, name, n) == 0)
            return true;
    return false;
}

/* ---- arguments ---- */

enum { ARGUMENTS = 12 };

typedef struct Call {
    int from, to;                /* pieces that are replaced */
    int base_from, base_to;      /* of a method */
    int count, named;            /* by position first */
    int a[ARGUMENTS], b[ARGUMENTS];
    bool has_call;
} Call;

static bool read_arguments(const Fix *f, Call *c, int open)
{
    int close = f->piece[open].match;
    if (close < 0)
        return false;
    c->to = close;
    c->has_call = true;
    for (int k = open + 1; k < close;) {
        int comma = piece_find(f, k - 1, ", ;"), end = comma < 0 || comma > close ? close : comma;
        if (end == k || c->count + c->named == ARGUMENTS)
            return false;
        int n = c->count + c->named;
        c->a[n] = k;
        c->b[n] = end - 1;
        if (piece_kind(f, k) == PIECE_NAME && piece_is(f, k + 1, "="))
            c->named++;
        else if (c->named)
            return false;
        else
            c->count++;
        k = end + 1;
    }
    return true;
}

/* ---- templates ---- */

typedef struct Out {
    char text[FOREIGN_TEXT];
    size_t len;
    bool failed;
} Out;

static void put(Out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void put(Out *o, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = c_vsnprintf(o->text + o->len, sizeof o->text - o->len, fmt, args);
    va_end(args);
    o->failed |= n < 0 || o->len + (size_t)n >= sizeof o->text;
    o->len = o->failed ? o->len : o->len + (size_t)n;
}

/* An argument between operators or before brackets is put in parentheses if it needs them. */
static void put_operand(Out *o, const Fix *f, int a, int b, const char *template, const char *after)
{
    size_t n = o->len;
    while (n > 0 && o->text[n - 1] == ' ')
        n--;
    after += strspn(after, " ");
    bool opens = n == 0 ? template[0] == '$' : strchr("([,=;:{", o->text[n - 1]) != NULL;
    bool closes = *after == '\0' || strchr(")],;}:", *after);
    bool bare = (opens && closes) || !piece_loose(f, a, b);
    put(o, bare ? "%.*s" : "(%.*s)", PIECE_RANGE(f, a, b));
}

/* One more than an argument: the end of a range that counts it in. */
static void put_next(Out *o, const Fix *f, int a, int b)
{
    const char *s = f->text + f->piece[a].from;
    if (a == b && (int)strspn(s, "0123456789") == piece_length(f, a, a) &&
        piece_length(f, a, a) < 10)
        put(o, "%ld", strtol(s, NULL, 10) + 1);
    else
        put(o, "%.*s + 1", PIECE_RANGE(f, a, b));
}

/* "Nelder-Mead" as "nelder_mead", 'RK45' as "rk45". */
static void put_method(Out *o, const Fix *f, int k)
{
    put(o, "method=\"");
    for (int at = f->piece[k].from + 1; at < f->piece[k].to - 1; at++)
        put(o, "%c", f->text[at] == '-' ? '_' : f->text[at] >= 'A' && f->text[at] <= 'Z'
                                                ? f->text[at] | 32 : f->text[at]);
    put(o, "\"");
}

/* What a parameter of SciPy is called here, or NULL. */
static const char *named_here(const Fix *f, int k)
{
    static const char *const names[][2] = {
        { "bc_type", "kind" }, { "t_eval", "at" }, { "A_ub", "A" }, { "b_ub", "b" },
        { "A_eq", "Aeq" }, { "b_eq", "beq" }, { "fprime", "jac" },
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (piece_is(f, k, names[i][0]))
            return names[i][1];
    return NULL;
}

/* dim=0 of PyTorch is axis=0, dims=1 of Julia axis=0; `end=""` and the like have no meaning
 * here. size= of the module random is its own. */
static void put_named(Out *o, const Fix *f, int a, int b)
{
    if (piece_in(f, a, "dim dims axis") && b > a + 1) {
        bool julia = piece_is(f, a, "dims") && b == a + 2 && piece_in(f, b, "1 2 3 4");
        if (julia)
            put(o, "axis=%d", f->text[f->piece[b].from] - '1');
        else
            put(o, "axis=%.*s", PIECE_RANGE(f, a + 2, b));
    } else if (piece_is(f, a, "device") && b == a + 2 &&
               piece_in(f, b, "\"cuda\" 'cuda' \"cpu\" 'cpu'")) {
        put(o, "device=%s", f->text[f->piece[b].from + 2] == 'u' ? "gpu" : "cpu");
    } else if (piece_is(f, a, "size") && b > a + 1 && strncmp(o->text, "random.", 7) != 0) {
        put(o, "%.*s", PIECE_RANGE(f, a + 2, b));
    } else if (piece_in(f, a, "reverse rev")) {
        put(o, "descending=%.*s", PIECE_RANGE(f, a + 2, b));
    } else if (piece_is(f, a, "keepdim")) {
        put(o, "keepdims=%.*s", PIECE_RANGE(f, a + 2, b));
    } else if (named_here(f, a)) {
        put(o, "%s=%.*s", named_here(f, a), PIECE_RANGE(f, a + 2, b));
    } else if (piece_is(f, a, "method") && b == a + 2 &&
               (piece_kind(f, b) == PIECE_STRING || piece_kind(f, b) == PIECE_QUOTED)) {
        put_method(o, f, b);
    } else {
        put(o, "%.*s", PIECE_RANGE(f, a, b));
    }
}

static void put_arguments(Out *o, const Fix *f, const Call *c, int first, bool axis)
{
    for (int i = first; i < c->count + c->named; i++) {
        if (i >= c->count && piece_in(f, c->a[i], "requires_grad copy order out"))
            continue;                          /* nothing here has to be told that */
        if (i > first)
            put(o, ", ");
        if (i >= c->count)
            put_named(o, f, c->a[i], c->b[i]);
        else if (axis && i == 1 && c->count == 2)
            put(o, "axis=%.*s", PIECE_RANGE(f, c->a[i], c->b[i]));
        else
            put(o, "%.*s", PIECE_RANGE(f, c->a[i], c->b[i]));
    }
}

/* "%d of %.3f\n", n, x as "{n} of {x:.3f}"; {} and {:.3f} as well. False if they do not fit. */
static bool put_format(Out *o, const Fix *f, const Call *c, int first)
{
    if (first >= c->count || (piece_kind(f, c->a[first]) != PIECE_STRING &&
                              piece_kind(f, c->a[first]) != PIECE_QUOTED) ||
        c->a[first] != c->b[first])
        return false;
    int i = first + 1, end = f->piece[c->a[first]].to - 1;
    put(o, "\"");
    for (int at = f->piece[c->a[first]].from + 1; at < end; at++) {
        char ch = f->text[at];
        bool percent = ch == '%' && f->text[at + 1] != '%',
             brace = ch == '{' && strchr("}:", f->text[at + 1]);
        if (ch == '\\' && f->text[at + 1] == 'n' && at + 2 == end)
            break;
        if (ch == '%' && f->text[at + 1] == '%')
            at++;
        if (!percent && !brace) {
            put(o, "%c", ch);
            continue;
        }
        size_t spec = strspn(f->text + at + 1,
                             percent ? "-+ 0123456789.l" : ":-+<>^0123456789.defgx");
        char kind = f->text[at + 1 + (int)spec];
        if (i >= c->count || (percent ? !strchr("diufegsxGE", kind) : kind != '}'))
            return false;
        put(o, "{%.*s", PIECE_RANGE(f, c->a[i], c->b[i]));
        if (brace)
            put(o, "%.*s}", (int)spec, f->text + at + 1);
        else if (spec == 0 && strchr("digsu", kind))
            put(o, "}");
        else
            put(o, ":%.*s%c}", (int)spec, f->text + at + 1,
                kind == 'i' || kind == 'u' ? 'd' : kind);
        at += (int)spec + 1;
        i++;
    }
    put(o, "\"");
    return i == c->count;
}

/* concatenate([A, B], axis=1) and cat(1, A, B): the list is taken out of its brackets. `last`:
 * along the last axis. */
static bool put_join(Out *o, const Fix *f, const Call *c, bool last)
{
    if (c->count < 1)
        return false;
    bool list = piece_in(f, c->a[0], "[ (") && f->piece[c->a[0]].match == c->b[0];
    put(o, "(");
    if (list)
        put(o, "%.*s", PIECE_RANGE(f, c->a[0] + 1, c->b[0] - 1));
    else
        put(o, "%.*s", PIECE_RANGE(f, c->a[0], c->b[0]));
    if (list && c->count == 2)
        put(o, ", axis=%.*s", PIECE_RANGE(f, c->a[1], c->b[1]));
    for (int i = 1; i < c->count && !(list && c->count == 2); i++)
        put(o, ", %.*s", PIECE_RANGE(f, c->a[i], c->b[i]));
    for (int i = c->count; i < c->count + c->named; i++) {
        put(o, ", ");
        put_named(o, f, c->a[i], c->b[i]);
    }
    put(o, last ? ", axis=-1)" : ")");
    return true;
}

/* vstack((A, B)) puts matrices one below the other, vectors as rows: names tell which is meant. */
static bool put_rows(Out *o, const Fix *f, const Call *c)
{
    if (c->count != 1 || c->named)
        return false;
    int matrices = 0, vectors = 0;
    for (int k = c->a[0]; k <= c->b[0]; k++)
        if (piece_kind(f, k) == PIECE_NAME)
            *(piece_is_capital(f, k) ? &matrices : &vectors) += 1;
    put(o, matrices ? "concat" : "stack");
    return !(matrices && vectors) && put_join(o, f, c, false);
}

/* "cuda" and 'cuda:0' as gpu; a dtype as itself. */
static bool put_device(Out *o, const Fix *f, const Call *c)
{
    if (c->count != 1 ||
        (piece_kind(f, c->a[0]) != PIECE_STRING && piece_kind(f, c->a[0]) != PIECE_QUOTED))
        return false;
    int from = f->piece[c->a[0]].from + 1;
    put(o, "%s", strncmp(f->text + from, "cpu", 3) == 0 ? "cpu" : "gpu");
    return true;
}

/* parts.join(", ") of JavaScript and ", ".join(parts) of Python: the separator comes last. */
static bool put_joined(Out *o, const Fix *f, const Call *c)
{
    if (c->count != 1 || c->named)
        return false;
    bool last = piece_kind(f, c->a[0]) == PIECE_STRING && c->a[0] == c->b[0];
    if (last)
        put(o, "join(%.*s, %.*s)", PIECE_RANGE(f, c->base_from, c->base_to),
            PIECE_RANGE(f, c->a[0], c->b[0]));
    else
        put(o, "join(%.*s, %.*s)", PIECE_RANGE(f, c->a[0], c->b[0]),
            PIECE_RANGE(f, c->base_from, c->base_to));
    return true;
}

static bool put_dtype(Out *o, const Fix *f, Call *c)
{
    for (int i = c->count; i < c->count + c->named; i++)
        if (piece_is(f, c->a[i], "dtype") && c->named == 1) {
            put(o, "%.*s", PIECE_RANGE(f, c->a[i] + 2, c->b[i]));
            c->named = 0;
            return true;
        }
    if (c->count == 1 && c->named == 0 && piece_kind(f, c->a[0]) == PIECE_NAME) {
        put(o, "%.*s", PIECE_RANGE(f, c->a[0], c->b[0]));
        return true;
    }
    return false;
}

/* "float32" of x.astype("float32") as the name of a format. */
static bool put_type(Out *o, const Fix *f, const Call *c)
{
    if (c->count != 1 || c->named || c->a[0] != c->b[0])
        return false;
    bool quoted = piece_kind(f, c->a[0]) == PIECE_STRING || piece_kind(f, c->a[0]) == PIECE_QUOTED;
    const Piece *p = &f->piece[c->a[0]];
    int from = p->from + quoted, n = p->to - p->from - 2 * quoted;
    for (size_t i = 0; quoted && i < ROWS; i++)
        if (rows[i].kind == ROW_CONSTANT && strlen(rows[i].theirs) == (size_t)n &&
            memcmp(rows[i].theirs, f->text + from, (size_t)n) == 0) {
            put(o, "%s", rows[i].ours);
            return true;
        }
    put(o, "%.*s", n, f->text + from);
    return !quoted || !f->facts->known ||
           f->facts->known(f->facts->who, f->text + from, (size_t)n);
}

/* dict(a=1) is a named tuple, dict(pairs) is none. */
static bool put_named_alone(Out *o, const Fix *f, const Call *c)
{
    put_arguments(o, f, c, 0, false);
    return c->count == 0 && c->named > 0;
}

/* What takes all arguments, by a word of the template. */
static bool put_format_first(Out *o, const Fix *f, const Call *c) { return put_format(o, f, c, 0); }
static bool put_join_first(Out *o, const Fix *f, const Call *c) { return put_join(o, f, c, false); }
static bool put_join_last(Out *o, const Fix *f, const Call *c) { return put_join(o, f, c, true); }

static const struct { const char *word; bool (*put)(Out *, const Fix *, const Call *); } whole[] = {
    { "format", put_format_first }, { "joined", put_joined },
    { "join", put_join_first }, { "last", put_join_last },
    { "rows", put_rows }, { "device", put_device }, { "type", put_type },
    { "named", put_named_alone },
};

/* Length of such a word at s that is filled in; 0: it is none, -1: the arguments do not fit. */
static int put_whole(Out *o, const Fix *f, const Call *c, const char *s)
{
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (strncmp(s, whole[i].word, strlen(whole[i].word)) == 0)
            return whole[i].put(o, f, c) ? (int)strlen(whole[i].word) : -1;
    return 0;
}

/* [a, b] and [a b] and c(a, b) as (a, b); a name as it stands. */
static bool put_pair(Out *o, const Fix *f, int a, int b)
{
    a += piece_is(f, a, "c") && piece_is(f, a + 1, "(");
    if (piece_kind(f, a) == PIECE_NAME && a == b) {
        put(o, "(%.*s[0], %.*s[-1])", PIECE_RANGE(f, a, a), PIECE_RANGE(f, a, a));
        return true;
    }
    if (!piece_in(f, a, "[ (") || f->piece[a].match != b || b < a + 3)
        return false;
    int comma = piece_find(f, a, ","), from = comma + 1;
    for (int k = a + 2; k < b && comma < 0; k++)
        if (f->piece[k].space)
            comma = from = k;
    if (comma <= a + 1 || comma >= b || (from < b && piece_find(f, from - 1, ",") > 0))
        return false;
    put(o, "(%.*s, %.*s)", PIECE_RANGE(f, a + 1, comma - 1), PIECE_RANGE(f, from, b - 1));
    return true;
}

/* Is it the string "word", or [] where the word is empty? */
static bool is_said(const Fix *f, int a, int b, const char *word, size_t n)
{
    if (n == 0)
        return piece_is(f, a, "[") && b == a + 1;
    const Piece *p = &f->piece[a];
    return a == b && (p->kind == PIECE_STRING || p->kind == PIECE_QUOTED) &&
           (size_t)(p->to - p->from) == n + 2 && memcmp(f->text + p->from + 1, word, n) == 0;
}

/* $0 and $1 to $9; $2! is one more, $2() a pair, $4~word~ nothing where it is that string. Its
 * length; -1 where there are not so many, or it is something else. */
static int put_digit(Out *o, const Fix *f, const Call *c, const char *ours,
                      const char *s, int *used)
{
    int i = *s - '1';
    if (i >= c->count)
        return -1;
    *used = i >= *used ? i + 1 : *used;
    if (i < 0) {
        put_operand(o, f, c->base_from, c->base_to, ours, s + 1);
    } else if (s[1] == '!') {
        put_next(o, f, c->a[i], c->b[i]);
        return 2;
    } else if (s[1] == '(' && s[2] == ')') {
        return put_pair(o, f, c->a[i], c->b[i]) ? 3 : -1;
    } else if (s[1] == '~') {
        size_t n = strcspn(s + 2, "~");
        return is_said(f, c->a[i], c->b[i], s + 2, n) ? (int)n + 3 : -1;
    } else {
        put_operand(o, f, c->a[i], c->b[i], ours, s + 1);
    }
    return 1;
}

/* $.p0 is the argument of that name. */
static int put_by_name(Out *o, const Fix *f, const Call *c, const char *s, int *used)
{
    char name[32];
    size_t n = strcspn(s + 1, " ,)([]-.");
    snprintf(name, sizeof name, "%.*s", (int)n, s + 1);
    for (int i = c->count; i < c->count + c->named; i++)
        if (piece_is(f, c->a[i], name) && c->b[i] > c->a[i] + 1) {
            put(o, "%.*s", PIECE_RANGE(f, c->a[i] + 2, c->b[i]));
            ++*used;
            return (int)n + 1;
        }
    return -1;
}

typedef struct Filled {
    int used, named;             /* arguments by position up to there; by name */
    bool all;
} Filled;

/* What stands at s behind a $: its length, -1 where the arguments do not fit. */
static int fill_one(Out *o, const Fix *f, Call *c, const char *ours, const char *s, Filled *to)
{
    if (*s >= '0' && *s <= '9')
        return put_digit(o, f, c, ours, s, &to->used);
    if (*s == '.')
        return put_by_name(o, f, c, s, &to->named);
    if (*s == '*' || *s == '+') {
        put_arguments(o, f, c, *s == '+', false);
        to->all = true;
        return 1;
    }
    if (strncmp(s, "dtype", 5) == 0) {
        to->used += c->named == 0;
        return put_dtype(o, f, c) ? 5 : -1;
    }
    int word = put_whole(o, f, c, s);
    to->all |= word > 0;
    return word;
}

/* Fills `ours`; false where the arguments do not fit it. */
static bool fill(Out *o, const Fix *f, const Call *given, const char *ours)
{
    Call c = *given;
    Filled to = { 0 };
    o->failed = false;
    o->text[o->len] = '\0';
    for (const char *s = ours; *s; s++) {
        if (*s != '$') {
            put(o, "%c", *s);
            continue;
        }
        int n = fill_one(o, f, &c, ours, s + 1, &to);
        if (n < 0)
            return false;
        s += n;
    }
    return !o->failed && (to.all || (to.used == c.count && c.named == to.named));
}

/* Puts what was filled in the place of the call, in parentheses between operators. */
static bool place(Fix *f, const Call *c, const Out *o)
{
    bool loose = false;
    int depth = 0;
    for (size_t i = 0; i < o->len; i++) {
        depth += strchr("([{", o->text[i]) != NULL;
        depth -= strchr(")]}", o->text[i]) != NULL;
        loose |= depth == 0 && o->text[i] == ' ' && i > 0 && o->text[i - 1] != ',' &&
                 o->text[0] != '"';
        loose |= depth == 0 && o->text[i] == ':' && o->text[0] != '"';
        loose |= depth == 0 && i == 0 && strchr("-!", o->text[i]);
    }
    bool before = (piece_kind(f, c->from - 1) == PIECE_SIGN &&
                   !piece_in(f, c->from - 1, "= := -> => |> ( += -= *= /=")) ||
                   piece_in(f, c->from - 1, "not and or");
    bool after = (piece_kind(f, c->to + 1) == PIECE_SIGN && !piece_in(f, c->to + 1, "= := |> :")) ||
                 piece_in(f, c->to + 1, "[ (");
    if (c->to + 1 < f->count && piece_in(f, c->to + 1, "(") && f->piece[c->to + 1].space)
        after = false;
    bool statement = strncmp(o->text, "throw ", 6) == 0 || strncmp(o->text, "for ", 4) == 0;
    if (statement && c->from > 0 && !piece_in(f, c->from - 1, "{ ; then else do") &&
        piece_kind(f, c->from - 1) != PIECE_LINE)
        return false;
    return piece_replace(f, c->from, c->to,
                         loose && !statement && (before || after) ? "(%s)" : "%s", o->text);
}

/* Is there such a module of ours? Where nobody says, a mistake of syntax is looked at. */
static bool is_home(const Fix *f, const char *home)
{
    return !home || !f->facts->module || f->facts->module(f->facts->who, home, strlen(home));
}

/* What comes out wants `import home` before it, unless it stands there already. */
static bool wants_import(Fix *f, const char *home)
{
    if (f->import && home && strcmp(f->import, home) != 0)
        f->failed = true;
    f->import = home ? home : f->import;
    return true;
}

static bool use_rows(Fix *f, const Call *c, RowKind kind, int name)
{
    for (size_t i = 0; i < ROWS; i++) {
        Out o = { .len = 0 };
        if (rows[i].kind != kind || !piece_is(f, name, rows[i].theirs) || !is_home(f, rows[i].home))
            continue;
        if (rows[i].home)
            put(&o, "%s.", rows[i].home);
        if (fill(&o, f, c, rows[i].ours) && place(f, c, &o))
            return wants_import(f, rows[i].home);
    }
    return false;
}

static bool use_name(Fix *f, const Call *c, RowKind kind, int name)
{
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].kind == kind && piece_is(f, name, rows[i].theirs)) {
            Out o = { .len = strlen(rows[i].ours) };
            memcpy(o.text, rows[i].ours, o.len + 1);
            return place(f, c, &o);
        }
    return false;
}

static bool is_known(const Fix *f, int k)
{
    return !f->facts->known || f->facts->known(f->facts->who, f->text + f->piece[k].from,
                                               (size_t)piece_length(f, k, k));
}

/* ---- the rules ---- */

/* Nothing is said of bounds or moments: uniform(), normal(size=3). */
static bool draws_standard(const Fix *f, const Call *c)
{
    return c->count == 0 && (c->named == 0 || (c->named == 1 && piece_is(f, c->a[0], "size")));
}

/* np.random.rand(…): torch, numpy and MATLAB draw rand(2, 3) alike; random.random() is rand(). */
static bool member_name(Fix *f, const Call *c, int name, bool random)
{
    Out o = { .len = 0 };
    const char *ours = random && piece_in(f, name, "random random_sample rand") ? "rand" :
                       random && piece_in(f, name, "uniform normal gauss") &&
                       !draws_standard(f, c) ? NULL :
                       random && piece_is(f, name, "uniform") ? "rand" :
                       random && piece_in(f, name, "normal standard_normal gauss") ? "randn" :
                       piece_in(f, name, "log warn info") && c->from == 0 && piece_is(f, 0,
                           "console") ? "print" :
                       piece_in(f, name, "println print") ? "print" : NULL;
    if (piece_is(f, name, "exit"))
        ours = "exit";
    char word[64];
    snprintf(word, sizeof word, "%.*s", PIECE_RANGE(f, name, name));
    const char *home = ours || random || !f->facts->home ? NULL
                       : f->facts->home(f->facts->who, word);
    if (!ours && !is_known(f, name) && !home)
        return false;
    home = ours || is_known(f, name) ? NULL : home;
    if (ours)
        put(&o, "%s(", ours);
    else if (home)
        put(&o, "%s.%s(", home, word);
    else
        put(&o, "%.*s(", PIECE_RANGE(f, name, name));
    put_arguments(&o, f, c, 0, !ours && piece_in(f, name, along_axis));
    put(&o, ")");
    return !o.failed && piece_replace(f, c->from, c->to, "%s", o.text) && wants_import(f, home);
}

/* k: the name of a module, with a point behind it. */
static bool rule_module(Fix *f, int k)
{
    int name = k;
    bool random = piece_is(f, k, "random");
    while (piece_is(f, name + 1, ".") && piece_kind(f, name + 2) == PIECE_NAME) {
        name += 2;
        if (piece_is(f, name + 1, "("))
            break;
        random |= piece_is(f, name, "random");
        Call c = { .from = k, .to = name };
        if (use_name(f, &c, ROW_MEMBER, name) || use_name(f, &c, ROW_CONSTANT, name))
            return true;
    }
    Call c = { .from = k, .to = name };
    if (!piece_is(f, name + 1, "(")) {
        return name > k && !piece_in(f, name, modules) && f->facts->known && is_known(f, name) &&
               piece_replace(f, k, name, "%.*s", PIECE_RANGE(f, name, name));
    }
    return read_arguments(f, &c, name + 1) &&
           ((random && use_rows(f, &c, ROW_DRAW, name)) || use_rows(f, &c, ROW_MODULE, name) ||
            (!(piece_in(f, name, "max min") && !piece_is(f, k, "Math") &&
               !piece_is(f, k, "math")) &&
             use_rows(f, &c, ROW_CALL, name)) ||
            member_name(f, &c, name, random));
}

/* f(…) of a plain name that is no function here, or one whose arguments say whose it is. */
static bool rule_call(Fix *f, int k)
{
    bool range = piece_in(f, k, "range xrange ipairs pairs seq_len seq_along eachindex");
    bool point = f->facts->what == FOREIGN_NAME && f->at >= f->piece[k].from &&
                 f->at < f->piece[k].to;
    bool said = piece_in(f, k,
            "numel length println disp printf fprintf nrow ncol isempty zeros_like ones_like "
            "ifelse error");
    bool other = f->facts->what == FOREIGN_NAME && f->facts->known;   /* beside the one at fault */
    if (!range && !point && !said && !other)
        return false;
    if (f->facts->known &&
        f->facts->known(f->facts->who, f->text + f->piece[k].from, (size_t)piece_length(f, k, k)))
        return false;
    Call c = { .from = k };
    return read_arguments(f, &c, k + 1) && use_rows(f, &c, ROW_CALL, k);
}

/* x | length of jq: k is the name that is none here. */
static bool rule_filter(Fix *f, int k)
{
    if (f->facts->what != FOREIGN_NAME || f->at != f->piece[k].from ||
        !piece_in(f, k - 1, "| |>") || !piece_ends_operand(f, k - 2) || piece_is(f, k + 1, "("))
        return false;
    int from = piece_operand_start(f, k - 2);
    Call c = { .from = from, .to = k, .count = 1, .a = { from }, .b = { k - 2 } };
    return use_rows(f, &c, ROW_CALL, k);
}

static bool same_text(const Fix *f, int a, int b, int c, int d)
{
    int n = piece_length(f, a, b);
    return n == piece_length(f, c, d) &&
           memcmp(f->text + f->piece[a].from, f->text + f->piece[c].from, (size_t)n) == 0;
}

/* Is x of x.name the value that has no such field, or the result of a call that has none? */
static bool is_fieldless(Fix *f, int from, int to)
{
    static const char tuples[] = "lu qr svd eig eigh slogdet lstsq schur hess ldl flags memory";
    if (f->facts->what == FOREIGN_FIELD)
        for (int k = 0; k < f->count; k++)
            if (f->at >= f->piece[k].from && f->at < f->piece[k].to && piece_is(f, k - 1, ".")) {
                int start = piece_operand_start(f, k - 2);
                bool same = same_text(f, from, to, start, k - 2);
                if (same && (size_t)piece_length(f, from, to) < sizeof f->fieldless)
                    snprintf(f->fieldless, sizeof f->fieldless, "%.*s", PIECE_RANGE(f, from, to));
                return same;
            }
    size_t n = strlen(f->fieldless);
    if (f->facts->what == FOREIGN_FIELD && n > 0 && n == (size_t)piece_length(f, from, to) &&
        memcmp(f->text + f->piece[from].from, f->fieldless, n) == 0)
        return true;
    return piece_kind(f, to) != PIECE_NAME && piece_kind(f, from) == PIECE_NAME &&
           is_known(f, from) &&
        f->facts->known &&
           !piece_in(f, from, tuples);
}

/* v.append(5) as a statement changes v; here what it gives is assigned. */
static bool put_change(Fix *f, const Call *c, const char *text)
{
    if (c->from != 0 || c->base_to != 0 || c->to != f->count - 1 || piece_kind(f, 0) != PIECE_NAME)
        return piece_replace(f, c->from, c->to, "%s", text);
    f->note = "values never alias: what a call changes is assigned";
    return piece_replace(f, 0, c->to, "%.*s = %s", PIECE_RANGE(f, 0, 0), text);
}

/* k: the point. */
static bool rule_method(Fix *f, int k)
{
    if (!piece_ends_operand(f, k - 1) || piece_kind(f, k + 1) != PIECE_NAME)
        return false;
    Call c = { .base_to = k - 1, .base_from = piece_operand_start(f, k - 1), .to = k + 1 };
    c.from = c.base_from;
    bool string = piece_kind(f, c.base_from) == PIECE_STRING && c.base_from == c.base_to;
    if (string && piece_is(f, k + 1, "format") && piece_is(f, k + 2, "(")) {
        Call with = { .from = c.from, .count = 1, .a = { c.base_from }, .b = { c.base_from } };
        Call args = { .from = c.from };
        Out o = { .len = 0 };
        if (!read_arguments(f, &args, k + 2) || args.named || args.count + 1 > ARGUMENTS)
            return false;
        for (int i = 0; i < args.count; i++) {
            with.a[i + 1] = args.a[i];
            with.b[i + 1] = args.b[i];
        }
        with.count += args.count;
        with.to = args.to;
        return put_format(&o, f, &with, 0) && !o.failed &&
               piece_replace(f, with.from, with.to, "%s", o.text);
    }
    if (!is_fieldless(f, c.base_from, c.base_to))
        return false;
    if (!piece_is(f, k + 2, "(")) {
        if (use_rows(f, &c, ROW_FIELD, k + 1))
            return true;
        if (!f->facts->known || !is_known(f, k + 1))
            return false;
        return piece_replace(f, c.from, c.to, "%.*s(%.*s)", PIECE_RANGE(f, k + 1, k + 1),
                             PIECE_RANGE(f, c.base_from, c.base_to));
    }
    Out o = { .len = 0 };
    if (!read_arguments(f, &c, k + 2))
        return false;
    bool grows = piece_in(f, k + 1, "append push push_back") && c.count == 1;
    if ((grows || (piece_in(f, k + 1, "sort reverse") && c.count == 0)) && c.named == 0) {
        put(&o, "%s(%.*s%s", grows ? "append" : piece_is(f, k + 1, "sort") ? "sort" : "flip",
            PIECE_RANGE(f, c.base_from, c.base_to), c.count ? ", " : ")");
        if (c.count)
            put(&o, "%.*s)", PIECE_RANGE(f, c.a[0], c.b[0]));
        return !o.failed && put_change(f, &c, o.text);
    }
    bool axis = piece_in(f, k + 1, along_axis) && c.count == 1;
    if (!axis && use_rows(f, &c, ROW_METHOD, k + 1))
        return true;
    if (!f->facts->known || !is_known(f, k + 1))
        return false;
    put(&o, "%.*s(%.*s", PIECE_RANGE(f, k + 1, k + 1), PIECE_RANGE(f, c.base_from, c.base_to));
    if (c.count + c.named)
        put(&o, axis ? ", axis=" : ", ");
    put_arguments(&o, f, &c, 0, false);
    put(&o, ")");
    return !o.failed && piece_replace(f, c.from, c.to, "%s", o.text);
}

/* True, None, NaN: where they are not defined, or beside another mistake. */
static bool rule_constant(Fix *f, int k)
{
    if (piece_is(f, k - 1, ".") || piece_in(f, k + 1, "( =") ||
        piece_in(f, k, "float32 float64 missing im NA exports NULL"))
        if (!(f->facts->what == FOREIGN_NAME && f->at == f->piece[k].from) ||
            piece_in(f, k + 1, "( ="))
            return false;
    if (f->facts->known &&
        f->facts->known(f->facts->who, f->text + f->piece[k].from, (size_t)piece_length(f, k, k)))
        return false;
    Call c = { .from = k, .to = k };
    return use_name(f, &c, ROW_CONSTANT, k);
}

/* linspace(0:1), linspace(0:0.1:1): the parts of the range were meant as arguments. */
static bool rule_linspace(Fix *f, int k)
{
    int close = f->piece[k + 1].match, first = piece_find(f, k + 1, ":"),
        comma = piece_find(f, k + 1, ",");
    if (close < 0 || first < 0 || comma >= 0)
        return false;
    int second = piece_find(f, first, ":");
    if (second < 0)
        return piece_replace(f, first, first, ",%s", f->piece[first + 1].space ? "" : " ");
    return piece_replace(f, k, close, "arange(%.*s, %.*s, %.*s)", PIECE_RANGE(f, k + 2, first - 1),
                       PIECE_RANGE(f, second + 1, close - 1),
                       PIECE_RANGE(f, first + 1, second - 1));
}

/* "%d of %s" % (n, x) of Python; k is the sign. */
static bool rule_percent(Fix *f, int k)
{
    Call c = { .from = k - 1, .count = 1, .a = { k - 1 }, .b = { k - 1 } }, list = { .from = k };
    Out o = { .len = 0 };
    if (piece_kind(f, k - 1) != PIECE_STRING || !piece_starts_operand(f, k + 1))
        return false;
    c.to = piece_operand_end(f, k + 1);
    if (piece_is(f, k + 1, "(") && f->piece[k + 1].match == c.to) {
        if (!read_arguments(f, &list, k + 1) || list.named || list.count >= ARGUMENTS)
            return false;
    } else {
        list.count = 1;
        list.a[0] = k + 1;
        list.b[0] = c.to;
    }
    for (int i = 0; i < list.count; i++) {
        c.a[i + 1] = list.a[i];
        c.b[i + 1] = list.b[i];
    }
    c.count += list.count;
    return put_format(&o, f, &c, 0) && !o.failed && piece_replace(f, c.from, c.to, "%s", o.text);
}

bool foreign_calls(Fix *f)
{
    for (int k = 0; k < f->count; k++) {
        if (piece_is(f, k, "%") && rule_percent(f, k))
            return true;
        if (piece_is(f, k, ".") && rule_method(f, k))
            return true;
        if (piece_kind(f, k) != PIECE_NAME || piece_is_own(f, k) ||
            (f->import && piece_is(f, k, f->import)))
            continue;
        bool member = k > 1 && piece_is(f, k - 1, ".") && piece_ends_operand(f, k - 2);
        if (!member && piece_is(f, k + 1, ".") && piece_in(f, k, modules) && rule_module(f, k))
            return true;
        if (!member && piece_in(f, k, "linspace logspace") && piece_is(f, k + 1, "(") &&
            rule_linspace(f, k))
            return true;
        if (!member && piece_is(f, k + 1, "(") && rule_call(f, k))
            return true;
        if (!member && (rule_filter(f, k) || rule_constant(f, k)))
            return true;
    }
    return false;
}
