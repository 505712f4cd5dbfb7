/* Texts that are deep, run by threads whose C stack is small: an error or a value, never a crash. A
 * program around libricci chooses the stack; what fits is asked when a text is read and when a
 * function is called. */
#include "interp/embed/ricci.h"
#include "tests/unit/check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct Text { const char *name, *first, *left, *middle, *right; } Text;
static const Text texts[] = {
    { "indices", "A = [1.0, 2]\n", "", "A", "[0]" }, { "slices", "A = [1.0, 2]\n", "", "A", "[:]" },
    { "many subscripts", "A = ones(1, 1, 1, 1, 1)\n", "", "A", "[:, :, :, :, :]" },
    { "fields", "x = (a=1)\n", "", "x", ".a" }, { "transposes", "A = [1.0, 2]\n", "", "A", "'" },
    { "calls", "f = x -> f\n", "", "f", "(0)" }, { "calls inside", "f = x -> x\n", "f(", "1", ")" },
    { "operations inside", "x = 1\n", "abs(", "x", ")" },
    { "indices inside", "A = [1, 0]\n", "A[", "0", "]" },
    { "places", "t = (1, 2)\n", "", "t", "[0]" }, { "minus", "x = [1.0]\n", "-(", "x", ")" },
    { "vectors", "", "[", "1", "]" },
    { "sums", "x = [1.0]\n", "x + (", "x", ")" }, { "and", "x = true\n", "x and (", "x", ")" },
    { "powers", "x = 1.0\n", "x^", "1", "" },
    { "lambdas", "", "x -> ", "1", "" }, { "if", "", "if true { ", "1", " }" },
    { "for", "", "for i in 0:1 { ", "1", " }" },
    { "else", "", "if false { 1 } else { ", "2", " }" },
    { "try", "", "try { ", "1", " } catch e { 2 }" }, { "tuples", "", "(a=", "1", ")" },
    { "scopes", "", "precision f32 { ", "1", " }" },
    { "autocast", "", "autocast f16 { ", "1", " }" }, { "devices", "", "on cpu { ", "1", " }" },
    { "comprehensions", "", "[", "i", " for i in 0:1]" },
    { "notation", "A = [1.0, 2]\ny[i] := ", "abs(", "A[i]", ")" },
    { "rational", "precision rational { ", "(1 + ", "1", ")" },
};

static char *repeated(const Text *t, int n, const char *before, const char *after)
{
    size_t left = strlen(t->left), right = strlen(t->right);
    size_t rest = strlen(before) + strlen(t->first) + strlen(t->middle) + strlen(after) + 1;
    char *text = malloc(rest + (left + right) * (size_t)n), *at = text;
    at = stpcpy(stpcpy(at, t->first), before);
    for (int i = 0; i < n; i++)
        at = stpcpy(at, t->left);
    at = stpcpy(at, t->middle);
    for (int i = 0; i < n; i++)
        at = stpcpy(at, t->right);
    stpcpy(at, after);
    return text;
}

static int drop(void *user, int stream, const char *text, size_t bytes)
{
    (void)user, (void)stream, (void)text, (void)bytes;
    return 0;
}

static bool ends(Ricci *r, const char *text, const char *name, int depth, size_t stack,
                 const char *where)
{
    int status = ricci_eval(r, text);
    char what[160];
    snprintf(what, sizeof what, "%s, %d deep%s, on %zu kB: status %d", name, depth, where,
             stack >> 10, status);
    return check_that(status == 0 || status == 1, what, __FILE__, __LINE__);
}

static void *run(void *argument)
{
    static const int depths[] = { 50, 300, 1500, 4900 };
    Ricci *r = ricci_open();
    ricci_output(r, drop, NULL);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (size_t d = 0; d < sizeof depths / sizeof depths[0]; d++) {
            char *text = repeated(&texts[i], depths[d], "",
                                  strcmp(texts[i].name, "rational") == 0 ? "}" : "");
            ends(r, text, texts[i].name, depths[d], *(size_t *)argument, "");
            free(text);
            if (i > 13 || texts[i].first[0] == 'y')
                continue;
            /* the same at the bottom of a recursion */
            text = repeated(&texts[i], depths[d],
                            "fn down(n) { if n > 0 { return down(n - 1) }; return ",
                            " }\nfor k in 0:8 { try { down(10^k) } catch e { } }");
            ends(r, text, texts[i].name, depths[d], *(size_t *)argument, " in a recursion");
            free(text);
            text = repeated(&texts[i], depths[d], "for k in 0:3 { ", " }");
            ends(r, text, texts[i].name, depths[d], *(size_t *)argument, " in a loop");
            free(text);
        }
    CHECK(ricci_eval(r, "1 + 1") == 0);
    ricci_close(r);
    return NULL;
}

int main(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    /* what a sanitizer puts into frames is none of ours */
    size_t stacks[] = { (size_t)16 << 20 };
#else
    size_t stacks[] = { (size_t)256 << 10, (size_t)512 << 10, (size_t)1 << 20, (size_t)8 << 20 };
#endif
    /* loops that are machine code from their second iteration on, too */
    for (size_t i = 0; i < 2 * sizeof stacks / sizeof stacks[0]; i++) {
        size_t *bytes = &stacks[i / 2];
        if (i % 2)
            setenv("RICCI_JIT", "quick", 1);
        else
            unsetenv("RICCI_JIT");
        pthread_t thread;
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, *bytes);
        if (pthread_create(&thread, &attributes, run, bytes) == 0)
            pthread_join(thread, NULL);
        pthread_attr_destroy(&attributes);
    }
    return check_result();
}
