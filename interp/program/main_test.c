/* `ricci test`: the test blocks of files and folders, each alone, after the other statements of
 * its file ran once. Failures go to stderr as errors do; the last line is `N passed, N failed`. */
#include "interp/program/main.h"

#include "core/system/ascii.h"
#include "interp/output/output.h"
#include "interp/output/verdict.h"
#include "interp/eval/module.h"
#include "interp/session/repl_signals.h"
#include "kernels/device/device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOW_SECONDS 1.0

static const char *colour(bool on, const char *code)
{
    return on ? code : "";
}

static void say(App *app, Text *line)
{
    out_write(app->in, line->data, line->len);
    text_free(line);
}

/* Where it begins, and how long it was given: the error below says where it was by then. */
static void took_too_long(App *app, const Module *module, const char *path, int i)
{
    Text place = { 0 };
    char why[96], seconds[32];
    text_printf(&place, "%s:%u", path, module_test_line(module, i));
    snprintf(why, sizeof why, ": ran longer than %s s, what --timeout gives a test",
             limit_text(seconds, app->options.timeout));
    verdict_failed(app->in, place.data, module_test_name(module, i), why);
    text_free(&place);
}

static void failed(App *app, const Module *module, const char *path, int i, bool late)
{
    app->failed++;
    if (late && !app->in->out_closed)
        took_too_long(app, module, path, i);
    else if (!app->in->out_closed)
        verdict_failed(app->in, path, module_test_name(module, i), "");
}

static void run_test(App *app, Module *module, const char *path, int i)
{
    Interp *in = app->in;
    double start = device_clock();
    signals_part(app->options.timeout > 0 ? app->options.timeout : INFINITY);
    bool passed = module_test_run(in, module, i), late = app->limit.part_over;
    if (!passed || late)
        failed(app, module, path, i, late);
    if (!passed)
        app_report(app);
    signals_part(INFINITY);
    if (!passed || late)
        return;
    double seconds = device_clock() - start;
    app->passed++;
    if (app->options.verbose || seconds >= SLOW_SECONDS)
        verdict_passed(in, path, module_test_name(module, i), seconds, !app->options.verbose);
}

static bool wanted(const App *app, const char *path, const char *name)
{
    const char *word = app->options.keyword;
    return !word || ascii_casestr(path, word) || ascii_casestr(name, word);
}

/* The file's other statements once, then each test for itself. */
static void test_file(App *app, const char *path)
{
    Interp *in = app->in;
    Module *module = module_new(in, path);
    v_release(&in->ctx, app_run_source(app, module, app_read_source(in, path)));
    module->done = true;                   /* a later file may import it */
    for (int i = 0; i < module_test_count(module) && !app_stopped(app); i++)
        if (wanted(app, path, module_test_name(module, i)))
            run_test(app, module, path, i);
}

/* Tests stand at the top of a file or in scopes there: they are found without running it. */
static void list_tests(App *app, const char *path, const Node *node, const Source *source)
{
    if (node->kind == ND_TEST) {
        Text line = { 0 };
        const char *name = node->a ? node->a->text : "";
        text_plain(&line, "%s:%u: %s\n", path, source_place(source, node->span.from).line, name);
        if (wanted(app, path, name))
            say(app, &line);
        text_free(&line);
        return;
    }
    for (uint32_t i = 0; i < node->count; i++)
        list_tests(app, path, node->list[i], source);
    if (node->kind == ND_PRECISION || node->kind == ND_AUTOCAST || node->kind == ND_ON)
        list_tests(app, path, node->b, source);
}

static void list_file(App *app, const char *path)
{
    Interp *in = app->in;
    app->source = app_read_source(in, path);
    app->chunk = parse_source(&in->ctx, &in->names, app->source);
    list_tests(app, path, app->chunk->root, app->source);
}

/* A file that failed while it ran is loaded anew by a later one that imports it. */
static void forget_unfinished(Interp *in)
{
    for (Module *m = in->modules; m; m = m->next)
        if (!m->done)
            ((char *)m->name)[0] = '\0';
}

static void visit(void *with, const char *path)
{
    App *app = with;
    if (app_stopped(app) || app_guarded(app, app->options.list ? list_file : test_file, path))
        return;
    app->failed++;
    forget_unfinished(app->in);
}

void test_files(App *app)
{
    char *here[] = { (char *)"." }, **names = app->name_count ? app->names : here;
    Text line = { 0 };
    bool colours = output_colours(1);
    if (!files_each(names, app->name_count ? app->name_count : 1, ".ric", visit, app))
        app->failed++;
    if (app->failed > 0 && app->status == 0)
        app->status = STATUS_ERROR;
    if (app->options.list)
        return;
    if (app->passed + app->failed == 0 && app->options.keyword) {
        text_plain(&line, "ricci: no test has '%s' in its name", app->options.keyword);
        err_write(app->in, line.data);
        text_free(&line);
    }
    text_printf(&line, "%s%d passed, %d failed%s\n",
                colour(colours, app->failed ? "\033[31m" : "\033[32m"), app->passed, app->failed,
                colour(colours, "\033[0m"));
    say(app, &line);
}
