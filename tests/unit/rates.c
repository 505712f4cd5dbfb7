/* The file of rates: what is kept is found again by this machine and this version alone, whole or
 * not at all; nothing of it is ever needed. A process reads it once: every look is one of its own. */
#include "kernels/pair/contract_pair_ways.h"
#include "kernels/pair/rates.h"

#include "check.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64], path[128];

static Calibration numbers(double first)
{
    Calibration c;
    for (int i = 0; i < calibration_row_count; i++)
        *(double *)(void *)((char *)&c + calibration_rows[i].offset) =
            calibration_rows[i].unit * (first + i);
    return c;
}

/* In a process of its own: is this kept (NULL: nothing), and is the model its rate? */
static bool kept(const Calibration *wanted)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        const Calibration *c = calibration_kept();
        double model = pair_rates(DT_F64)->flops;
        bool same = c && wanted ? fabs(c->memory / wanted->memory - 1) < 1e-5 &&
                                  fabs(c->real[1].block / wanted->real[1].block - 1) < 1e-5 &&
                                  fabs(model / c->real[1].block - 1) < 1e-5
                                : !c && !wanted && model >= 40e9;
        _exit(same ? 0 : 1);
    }
    int status;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static size_t file_text(char *text, size_t n)
{
    int fd = open(path, O_RDONLY);
    ssize_t got = read(fd, text, n - 1);
    close(fd);
    text[got > 0 ? got : 0] = 0;
    return got > 0 ? (size_t)got : 0;
}

static void put_text(const char *text, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(write(fd, text, n) == (ssize_t)n);
    close(fd);
}

static void replaced(const char *text, const char *old, const char *by)
{
    char changed[4096];
    const char *at = strstr(text, old);
    CHECK(at != NULL);
    int n = at ? snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, by,
                          at + strlen(old)) : 0;
    put_text(changed, (size_t)n);
}

static void test_damage(const Calibration *c)
{
    static const char *const changes[][2] = {
        { "ricci rates", "ricci rules" }, { "\nf32.block ", "\nf32.block -" },
        { "\nf64.unit ", "\nf64.unit nan" }, { "\nf64.unit ", "\nf64.unit 1e300" },
        { "\nf64.turned ", "\nf64.turn " }, { "memory ", "memory 1e400" }, { "\nend\n", "\nend" },
        { "\nend\n", "\nend\nmore\n" }, { " ", " 9 " },
        { "ricci rates\n", "ricci rates\n0.0.1 base another processor\n" },
    };
    char text[4096];
    size_t n = file_text(text, sizeof text);
    CHECK(n > 200 && kept(c));
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        replaced(text, changes[i][0], changes[i][1]);
        CHECK(kept(NULL));
    }
    for (size_t i = 0; i < n; i += 7) {
        put_text(text, i);
        CHECK(kept(NULL));
    }
    char zeros[8192] = { 0 };
    put_text(zeros, sizeof zeros);
    CHECK(kept(NULL));
    put_text(text, n);
    CHECK(kept(c));
    setenv("RICCI_CALIBRATION", "0", 1);
    CHECK(kept(NULL));
    unsetenv("RICCI_CALIBRATION");
    CHECK(unlink(path) == 0 && mkdir(path, 0700) == 0 && kept(NULL));
}

static void test_places(const Calibration *c)
{
    char where[3200], other[100];
    CHECK(!calibration_keep(c, where, sizeof where) && strcmp(where, path) == 0);  /* a folder */
    CHECK(rmdir(path) == 0 && calibration_keep(c, where, sizeof where) && kept(c));
    Calibration second = numbers(3);
    CHECK(calibration_keep(&second, where, sizeof where) && kept(&second));
    setenv("XDG_CACHE_HOME", path, 1);          /* a file where a folder should be */
    CHECK(!calibration_keep(c, where, sizeof where) && kept(NULL));
    setenv("XDG_CACHE_HOME", "/proc", 1);       /* where nobody writes */
    CHECK(!calibration_keep(c, where, sizeof where) && kept(NULL));
    setenv("XDG_CACHE_HOME", "here", 1);        /* relative: as if it were not there */
    snprintf(other, sizeof other, "%s/home", folder);
    setenv("HOME", other, 1);
    CHECK(mkdir(other, 0700) == 0 && kept(NULL));
    CHECK(calibration_keep(c, where, sizeof where) && strstr(where, "/.cache/ricci/rates") &&
          kept(c));
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    CHECK(!calibration_keep(c, where, sizeof where) && where[0] == 0 && kept(NULL));
}

static void test_measure(void)
{
    Ctx ctx = { 0 };
    InterruptFlag stop = 0;
    Calibration c = { .memory = 0 };
    ctx.interrupt = &stop;
    mem_init(&ctx);
    CHECK(calibration_measure(&ctx, &c));
    for (int i = 0; i < calibration_row_count; i++) {
        const CalibrationRow *row = &calibration_rows[i];
        double x = *(double *)(void *)((char *)&c + row->offset);
        CHECK(x >= row->least && x <= row->most);
    }
    stop = 1;
    CHECK(!calibration_measure(&ctx, &c));
    pool_shutdown(&ctx);
    CHECK(ctx.mem.live == 0);
    mem_shutdown(&ctx);
}

int main(void)
{
    char command[160], here[32] = "/tmp/ricci-rates.XXXXXX";
    CHECK(mkdtemp(here) != NULL);
    snprintf(folder, sizeof folder, "%s", here);
    snprintf(path, sizeof path, "%s/ricci/rates", folder);
    unsetenv("RICCI_CALIBRATION");
    setenv("XDG_CACHE_HOME", folder, 1);
    CHECK(kept(NULL));
    char where[3200];
    Calibration c = numbers(2);
    CHECK(calibration_keep(&c, where, sizeof where) && strcmp(where, path) == 0);
    test_damage(&c);
    test_places(&c);
    test_measure();
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    CHECK(system(command) == 0);
    return check_result();
}
