/* A host with a locale of its own: numbers, letters and messages of libricci are the same in a
 * German and in a Turkish process, on the threads of the pool too, and the host's locale is
 * afterwards what it was. The locales are made by tests/tools/locales.sh; where that fails the test
 * says so. */
#include "core/system/ascii.h"
#include "core/system/c_locale.h"
#include "interp/embed/api.h"
#include "tests/unit/check.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

static Ricci *r;
static char folder[] = "/tmp/ricci-locale.XXXXXX";

static void result_is(const char *text, const char *wanted)
{
    bool ran = ricci_eval(r, text) == 0;
    const char *got = ran ? ricci_result(r) : ricci_error(r);
    if (!CHECK(ran && strcmp(got, wanted) == 0))
        fprintf(stderr, "in %s: %s: %s, not %s\n", setlocale(LC_ALL, NULL), text, got, wanted);
}

/* ---- the homes ---- */
/* As <ctype.h> says in the "C" locale, of every char. */
static void letters(void)
{
    CHECK(strcmp(setlocale(LC_CTYPE, NULL), "C") == 0);
    for (int i = -128; i < 128; i++) {
        char c = (char)i;
        int u = (unsigned char)c;
        CHECK(ascii_alpha(c) == !!isalpha(u) && ascii_digit(c) == !!isdigit(u) &&
              ascii_alnum(c) == !!isalnum(u));
        CHECK(ascii_space(c) == !!isspace(u) && ascii_blank(c) == !!isblank(u) &&
              ascii_xdigit(c) == !!isxdigit(u));
        CHECK(ascii_is_upper(c) == !!isupper(u) && ascii_is_lower(c) == !!islower(u));
        CHECK(ascii_to_lower(c) == (char)tolower(u) && ascii_to_upper(c) == (char)toupper(u));
    }
    static const char *const words[] =
        { "", "i", "I", "Inf", "iNFinity", "info", "\xc4\xb0", "z[", "Z{" };
    enum { WORDS = sizeof words / sizeof *words };
    for (int i = 0; i < WORDS; i++)
        for (int k = 0; k < WORDS; k++) {
            int wanted = strcasecmp(words[i], words[k]), got = ascii_casecmp(words[i], words[k]);
            CHECK((wanted > 0) == (got > 0) && (wanted < 0) == (got < 0));
            for (size_t n = 0; n < 9; n++)
                CHECK((strncasecmp(words[i], words[k], n) == 0) == (ascii_ncasecmp(words[i],
                    words[k], n) == 0));
            CHECK(strcasestr(words[i], words[k]) == ascii_casestr(words[i], words[k]));
        }
}

static void numbers(void)
{
    char text[64], *end;
    CHECK(c_strtod("1.5,5", &end) == 1.5 && *end == ',');
    CHECK(c_strtof("1.5,5", &end) == 1.5f && *end == ',');
    CHECK(c_strtold("-1.5e3", &end) == -1500 && !*end);
    CHECK(c_strtod("0x1.8p1", NULL) == 3);
    CHECK(c_snprintf(text, sizeof text, "%.2f %g %e %a %'d %Lg", 1.5, 2.5, 0.5, 1.5, 12345,
                     0.25L) > 0);
    CHECK(strcmp(text, "1.50 2.5 5.000000e-01 0x1.8p+0 12345 0.25") == 0);
    CHECK(strcmp(c_strerror(ENOENT), "No such file or directory") == 0);
    CHECK(strcmp(c_strsignal(9), "Killed") == 0);
}

/* ---- libricci ---- */
static void programs(void)
{
    double x;
    RicciValue *v;
    result_is("x = 1.5; x", "1.5");
    CHECK(ricci_get_double(r, "x", &x) == 0 && x == 1.5);
    result_is("[float(\"2.5\"), float(\" -1.5e-3 \"), float(\"INFINITY\"), float(\"Inf\")]",
              "[2.5, -0.0015, inf, inf]");
    result_is("\"{1.5:.2f} {1.5:e} {0.25:.0%} {1234.5:,.1f}\"", "1.50 1.500000e+00 25% 1,234.5");
    result_is("try { float(\"2,5\") } catch e { e.kind }", "value");
    result_is("0x1F + 1e-1", "31.1");
    result_is("try { [2.5, 2,5] + [1, 2] } catch e { e.kind }", "shape");
    result_is("mp(100)(1.5) / 4", "0.375");
    result_is("decimal(5)(\"2.25\")", "2.25");
    result_is("rational(\"1.25\")", "5/4");
    result_is("[1.5 + 2.5i, -0.5]", "[1.5+2.5i, -0.5+0.0i]");
    result_is("f16(0.1)", "0.1");
    result_is("try { [1, 2] + [1, 2, 3] } catch e { e.kind }", "shape");
    result_is("INFO = 2; info = 3; INFO - info", "-1");
    result_is("on sim.tpu { string(bf16(1.5)) }", "1.5");
    CHECK((v = ricci_double(r, 0.1)) && strcmp(ricci_text(v), "0.1") == 0);
    ricci_free(v);
}

/* Every format that keeps numbers as text, written and read; a header in capitals. */
static void files(void)
{
    char text[512];
    snprintf(text, sizeof text, "save(\"%s/a.csv\", [1.5, 2.25; 3.125, -0.5]); load(\"%s/a.csv\")",
             folder, folder);
    result_is(text, "⎡1.5     2.25⎤\n⎣3.125  -0.5 ⎦");
    snprintf(text, sizeof text, "save(\"%s/a.mtx\", [1.5, 0; 0, 2.5]); load(\"%s/a.mtx\")",
             folder, folder);
    result_is(text, "⎡1.5  0.0⎤\n⎣0.0  2.5⎦");
    snprintf(text, sizeof text, "%s/I.MTX", folder);
    FILE *file = fopen(text, "w");
    fputs("%%MATRIXMARKET MATRIX COORDINATE INTEGER GENERAL\n1 2 2\n1 1 4\n1 2 5\n", file);
    fclose(file);
    snprintf(text, sizeof text, "load(\"%s/I.MTX\")", folder);
    result_is(text, "[4  5]");
    snprintf(text, sizeof text, "%s/t.csv", folder);
    file = fopen(text, "w");
    /* decimals of a comma are a matter of asking, not of the host */
    fputs("a;b\n1,5;2\n", file);
    fclose(file);
    snprintf(text, sizeof text, "try { load(\"%s/t.csv\"); 0 } catch e { 1 }", folder);
    result_is(text, "1");
    snprintf(text, sizeof text, "try { load(\"%s/none.npy\") } catch e { e.message }", folder);
    snprintf(text + 256, 256, "cannot open %s/none.npy: No such file or directory", folder);
    result_is(text, text + 256);
}

/* Texts that threads of the pool make or read, and a host's thread with a locale of its own. */
static void threads(void)
{
    result_is("sum(full((300, 300), 0.5) @ full((300, 300), 0.5))", "6750000.0");
    locale_t own = duplocale(LC_GLOBAL_LOCALE), before = uselocale(own);
    char text[16];
    result_is("\"{1.5:.1f}\"", "1.5");
    numbers();
    CHECK(uselocale((locale_t)0) == own);
    snprintf(text, sizeof text, "%.1f", 1.5);
    CHECK(strcmp(text, "1,5") == 0);
    uselocale(before);
    freelocale(own);
}

static void in_locale(const char *name)
{
    char text[16];
    if (!CHECK(setlocale(LC_ALL, name) != NULL))
        return;
    r = ricci_open();
    numbers();
    programs();
    files();
    threads();
    ricci_close(r);
    CHECK(strcmp(setlocale(LC_ALL, NULL), name) == 0);
    snprintf(text, sizeof text, "%.1f", 1.5);
    CHECK(strcmp(text, "1,5") == 0 && strtod("2,5", NULL) == 2.5);
    setlocale(LC_ALL, "C");
}

static bool find_locales(void)
{
    char path[512] = "";
    FILE *made = popen("bash tests/tools/locales.sh", "r");
    bool good = made && fgets(path, sizeof path, made);
    path[strcspn(path, "\n")] = '\0';
    return made && pclose(made) == 0 && good && setenv("LOCPATH", path, 1) == 0;
}

int main(void)
{
    char text[64];
    letters();
    numbers();
    if (!find_locales()) {
        printf("not run: unit locale: the locales could not be made\n");
        return check_result();
    }
    if (!mkdtemp(folder))
        return 1;
    in_locale("de_DE.UTF-8");
    in_locale("tr_TR.UTF-8");
    snprintf(text, sizeof text, "rm -rf %s", folder);
    CHECK(system(text) == 0);
    return check_result();
}
