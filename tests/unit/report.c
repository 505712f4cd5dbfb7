/* How errors are laid out on a terminal: nothing is wider than it, carets stay under what they
 * mark, and the plain text is all there. */
#include "interp/output/report.h"

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/source.h"

#include <stdio.h>
#include <string.h>

static int passed, failed;

static void check(bool ok, const char *what, int width)
{
    passed += ok;
    failed += !ok;
    if (!ok)
        printf("FAIL %s at %d cells\n", what, width);
}

static int widest(const char *text)
{
    int most = 0;
    while (*text) {
        const char *end = strchrnul(text, '\n');
        int width = text_width(text, (size_t)(end - text));
        most = width > most ? width : most;
        text = *end ? end + 1 : end;
    }
    return most;
}

/* The text of the source line above the carets that they mark. */
static void marked(const char *text, char *out, size_t cap)
{
    const char *caret = strchr(text, '^'), *below = caret, *above;
    *out = '\0';
    if (!caret)
        return;
    while (below > text && below[-1] != '\n')
        below--;
    above = below - 1;
    while (above > text && above[-1] != '\n')
        above--;
    int from = text_width(below, (size_t)(caret - below)),
        to = from + (int)strspn(caret, "^"), cell = 0;
    size_t n = 0;
    for (size_t at = 0, len = (size_t)(below - 1 - above); at < len && n + 8 < cap;) {
        size_t start = at;
        utf8_next(above, len, &at);
        if (cell >= from && cell < to) {
            memcpy(out + n, above + start, at - start);
            n += at - start;
        }
        cell += text_width(above + start, at - start);
    }
    out[n] = '\0';
}

static void check_report(Ctx *ctx, const char *what, const char *text, const char *mark)
{
    static const int widths[] = { 20, 40, 41, 60, 80, 100, 200 };
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        Buf out;
        char found[256];
        buf_init(&out, ctx);
        report_style(&out, text, widths[i], false);
        check(widest(buf_cstr(&out)) <= widths[i], what, widths[i]);
        marked(buf_cstr(&out), found, sizeof found);
        if (mark)
            check(strcmp(found, mark) == 0, found, widths[i]);
        buf_free(&out);
    }
}

/* Colours add escape codes and nothing else. */
static void check_colours(Ctx *ctx, const char *text)
{
    Buf plain, coloured, stripped;
    buf_init(&plain, ctx), buf_init(&coloured, ctx), buf_init(&stripped, ctx);
    report_style(&plain, text, 60, false);
    report_style(&coloured, text, 60, true);
    for (const char *p = buf_cstr(&coloured); *p; p++)
        if (*p == '\033')
            p = strchr(p, 'm');
        else
            buf_putc(&stripped, *p);
    check(strcmp(buf_cstr(&plain), buf_cstr(&stripped)) == 0, "colours change the text", 60);
    check(strstr(buf_cstr(&coloured), "\033[1;31merror[type]\033[0m") != NULL,
          "the kind is bold and red", 60);
    report_style(&coloured, text, 0, false);
    check(strstr(buf_cstr(&coloured), text) != NULL, "without a width the text stays", 0);
    buf_free(&plain), buf_free(&coloured), buf_free(&stripped);
}

/* What err_render writes of spans over several lines, in one line after another. */
static void check_source(Ctx *ctx)
{
    const char *text = "a = f(1,\n      2)\nb = 3\n\n\nc = g(a,\n\tb)\n";
    Source *s = source_new(ctx, "t.ric", text, strlen(text));
    Buf out;
    buf_init(&out, ctx);
    Span over = { 4, 17 };
    source_render(&out, s, &over, 1);
    check(strcmp(buf_cstr(&out), "  --> t.ric:1:5\n 1 | a = f(1,\n   |     ^^^^\n 2 |       2)\n   "
                                 "|       ^^\n") == 0,
          "a span of two lines", 0);
    buf_clear(&out);
    Span apart[2] = { { 0, 1 }, { 26, 27 } };
    source_render(&out, s, apart, 2);
    check(strstr(buf_cstr(&out), "\n   ⋮\n 6 | c = g(a,\n   | ^\n") != NULL, buf_cstr(&out), 0);
    buf_free(&out);
    source_release(s);
}

int main(void)
{
    Ctx ctx = { 0 };
    ErrFrame frame;
    mem_init(&ctx);
    if (!ERR_TRY(&ctx, &frame))
        return 1;
    static const char operands[] =
        "error[shape]: design is 3×4 and observations is 3×2: the inner lengths 4 and 3 differ\n"
        "  --> some/folder/with/a/long/name/and/another/one/file.ric:1:63\n"
        " 1 | fn normal_equations(design, observations, weights) { return design @ observations + "
        "weights }\n"
        "   |                                                             ^^^^^^\n"
        "  in normal_equations(3×4 f64, 3×2 f64, 3), called at some/folder/file.ric:3:5\n"
        "help: transpose the left operand: design' @ observations\n";
    static const char wide[] =
        "error[type]: `+` cannot take a string and an int\n  --> w.ric:1:45\n"
        " 1 | x = \"日本語日本語日本語\" + \"日本語日本語日本語日本語日本語\" + zahl + \"日本語日本語日本語\"\n"
        "   |                                                               ^^^^\n";
    static const char word[] =
        "error[name]: `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa` "
                               "is not defined\nnotice: "
                               "λλλλλλλλλλλλλλλλλλλλλλλλλλλλλλλλλλλλλλλλλλλλλλλλλλλλλλλλ\n";
    check_report(&ctx, "operands", operands, NULL);
    check_report(&ctx, "wide characters", wide, "zahl");
    check_report(&ctx, "a long word", word, NULL);
    check_report(&ctx, "no text", "", NULL);
    check_report(&ctx, "a caret after the end",
                 "error[syntax]: x\n  --> t.ric:1:4\n 1 | a +\n   |    ^\n", NULL);
    check_colours(&ctx, wide);
    check_source(&ctx);
    ERR_END(&ctx, &frame);
    mem_shutdown(&ctx);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
