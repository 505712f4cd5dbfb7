/* The command line of `ricci`: what is asked for, with what options, and the text of --help. A
 * word that is not known is answered with the nearest one that is. Nothing runs here. */
#include "interp/program/main.h"

#include "core/system/c_locale.h"
#include "kernels/tensor/cpu.h"
#ifndef RICCI_WITHOUT_JIT
#include "interp/hot/hot.h"
#endif

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef RICCI_VERSION
#define RICCI_VERSION "0.1.0"
#endif

static const char usage_text[] =
    "Ricci " RICCI_VERSION ", a small language for tensor mathematics\n"
    "\n"
    "usage: ricci                       a session (a program, if standard input is no terminal)\n"
    "       ricci FILE [ARGS]           run a file; - is standard input\n"
    "       ricci -e CODE [ARGS]        run CODE\n"
    "       ricci -p CODE [ARGS]        run CODE and print its value\n"
    "       ricci -i [FILE [ARGS]]      run FILE, then a session with its variables\n"
    "\n"
    "commands; ricci COMMAND --help says more\n"
    "       ricci test [FILE]...        run the test blocks of files and folders\n"
    "       ricci fmt FILE...           print files as canonical text; -w rewrites them\n"
    "       ricci doc NAME...           help on operations, functions and topics\n"
    "       ricci doctest FILE.md...    run the code of Markdown and compare what it prints\n"
    "       ricci jupyter install       let Jupyter's notebooks run Ricci\n"
    "\n"
    "options\n"
    "       --explain [KIND]            the story of a kind of error, with an example\n"
    "       --safe                      for programs of strangers: they read their own folder,\n"
    "                                   write in tempdir(), and reach nothing else\n"
    "       --limit WHAT=NUMBER,...     memory= bytes, seconds=, file= bytes that a run may take\n"
    "                                   (under --safe 1e9, 60 and 1e8)\n"
    "       --calibrate                 measure for a second how fast this machine\n"
    "                                   multiplies; products are planned by that from now on\n"
    "       --strict-devices            every device block is strict\n"
    "       --no-notices                no notices on stderr; errors stay\n"
    "       -V, --version               the version\n"
    "       -h, --help                  this text\n"
    "\n"
    "Inside a session, :help lists its commands and ?NAME shows help. man ricci has the rest.\n";

static const char test_text[] =
    "usage: ricci test [-k WORD] [--list] [--timeout SECONDS] [-v] [FILE | FOLDER]...\n"
    "\n"
    "Runs the test blocks of files, and of all *.ric in folders (. if none is named), each block\n"
    "alone, after the other statements of its file. The last line is `N passed, N failed`.\n"
    "\n"
    "  -k WORD         only tests with WORD in their name or their file's (small and capital "
    "alike)\n"
    "  --list          list the tests, run none\n"
    "  --timeout S     how long a test may run (10); 0: as long as it likes\n"
    "  -v, --verbose   name each test and its time; without it, those that took a second\n";

static const char format_text[] =
    "usage: ricci fmt [-w | --check | --diff] FILE...\n"
    "\n"
    "Prints files as canonical text; - is standard input. Folders stand for their *.ric, but not\n"
    "where texts are printed.\n"
    "\n"
    "  -w, --write     rewrite the files\n"
    "  --check         name the files that would change, with the first line; exit 1 if there are "
    "any\n"
    "  --diff          show all that would change; exit 1 if anything would\n";

static const char doc_text[] =
    "usage: ricci doc NAME...\n"
    "\n"
    "Help on operations, functions, operators and topics, as ?NAME gives it in a session.\n"
    "On a terminal long texts go through $PAGER (less).\n"
    "\n"
    "  --all           the reference of all operations, as Markdown\n";

static const char doctest_text[] =
    "usage: ricci doctest [--fix] [--html FILE] [--tolerance REL] [--timeout SECONDS] [--trust]\n"
    "                     [-v] FILE.md...\n"
    "\n"
    "Runs the fenced code of Markdown files, and of all *.md in folders, each block in a fresh\n"
    "interpreter and a fresh folder, and compares what comes out with what the document shows.\n"
    "Blocks run as programs of strangers do; files are found beside the document and in the "
    "current\n"
    "folder.\n"
    "\n"
    "  ```ricci        a program: it has to run; a ```text block below it is what it prints\n"
    "  ```ricci-error  a program that has to fail; a ```text block below it is its error\n"
    "  ```session      what is typed after `ricci> `, and what comes out\n"
    "\n"
    "Words after these: `skip`; `continue` (with the variables of the block before);\n"
    "`tolerance=1e-3`. In what is shown, … matches any text, and any lines where it is alone on\n"
    "one; durations and rates match any others.\n"
    "\n"
    "  --fix           write what came out into the documents, and pictures that they show\n"
    "                  beside them\n"
    "  --html FILE     write one page with the document, its outputs and its pictures\n"
    "  --tolerance REL relative tolerance of numbers with a point or an exponent (1e-6)\n"
    "  --timeout S     how long a block may run (60); 0: as long as it likes\n"
    "  --trust         blocks may do anything: extern, env, files anywhere\n"
    "  -v, --verbose   name each block that passed\n"
    "\n"
    "The last line is `N passed, N failed`.\n";

static const char jupyter_text[] =
    "usage: ricci jupyter install [--user | --sys-prefix | --prefix DIR] [--name NAME]\n"
    "                             [--display-name TEXT]\n"
    "       ricci jupyter uninstall [--user | --sys-prefix | --prefix DIR] [--name NAME]\n"
    "       ricci jupyter list\n"
    "       ricci jupyter run CONNECTION_FILE\n"
    "\n"
    "Notebooks whose kernel is this program. install writes a kernelspec, by which Jupyter finds\n"
    "it; run is what Jupyter calls. The library ZeroMQ is opened then (libzmq.so.5).\n"
    "\n"
    "  --user          for this user (unless another place is named)\n"
    "  --sys-prefix    in the Python environment that is in force, or that this program is in\n"
    "  --prefix DIR    in DIR/share/jupyter\n"
    "  --name NAME     the folder's name (ricci)\n"
    "  --display-name TEXT  what Jupyter shows (Ricci)\n";

typedef enum OptionId {
    OPT_HELP, OPT_VERBOSE, OPT_KEYWORD, OPT_LIST, OPT_WRITE, OPT_CHECK, OPT_DIFF, OPT_ALL, OPT_FIX,
    OPT_HTML, OPT_TOLERANCE, OPT_TIMEOUT, OPT_TRUST, OPT_USER, OPT_SYS_PREFIX, OPT_PREFIX, OPT_NAME,
    OPT_DISPLAY_NAME, OPTIONS
} OptionId;

static const struct Option {
    const char *name, *shorter;
    bool value;                            /* a word or number follows it */
    unsigned modes;                        /* of which subcommands */
} options[OPTIONS] = {
#define IN(mode) (1u << (mode))
    [OPT_HELP] = { "--help", "-h", false, ~0u },
    [OPT_VERBOSE] = { "--verbose", "-v", false, IN(MODE_TEST) | IN(MODE_DOCTEST) },
    [OPT_KEYWORD] = { "--keyword", "-k", true, IN(MODE_TEST) },
    [OPT_LIST] = { "--list", NULL, false, IN(MODE_TEST) },
    [OPT_WRITE] = { "--write", "-w", false, IN(MODE_FORMAT) },
    [OPT_CHECK] = { "--check", NULL, false, IN(MODE_FORMAT) },
    [OPT_DIFF] = { "--diff", NULL, false, IN(MODE_FORMAT) },
    [OPT_ALL] = { "--all", NULL, false, IN(MODE_DOC) },
    [OPT_FIX] = { "--fix", NULL, false, IN(MODE_DOCTEST) },
    [OPT_HTML] = { "--html", NULL, true, IN(MODE_DOCTEST) },
    [OPT_TOLERANCE] = { "--tolerance", NULL, true, IN(MODE_DOCTEST) },
    [OPT_TIMEOUT] = { "--timeout", NULL, true, IN(MODE_TEST) | IN(MODE_DOCTEST) },
    [OPT_TRUST] = { "--trust", NULL, false, IN(MODE_DOCTEST) },
    [OPT_USER] = { "--user", NULL, false, IN(MODE_JUPYTER) },
    [OPT_SYS_PREFIX] = { "--sys-prefix", NULL, false, IN(MODE_JUPYTER) },
    [OPT_PREFIX] = { "--prefix", NULL, true, IN(MODE_JUPYTER) },
    [OPT_NAME] = { "--name", NULL, true, IN(MODE_JUPYTER) },
    [OPT_DISPLAY_NAME] = { "--display-name", NULL, true, IN(MODE_JUPYTER) },
#undef IN
};

static const struct Subcommand {
    const char *name;
    Mode mode;
    const char *usage, *needs;
} subcommands[] = {
    { "test", MODE_TEST, test_text, NULL },
    { "fmt", MODE_FORMAT, format_text, "fmt needs a file" },
    { "doc", MODE_DOC, doc_text, "doc needs a name" },
    { "doctest", MODE_DOCTEST, doctest_text, "doctest needs a file" },
    { "jupyter", MODE_JUPYTER, jupyter_text,
      "jupyter needs install, uninstall, list or run CONNECTION_FILE" } };

#define COUNT(array) (sizeof(array) / sizeof *(array))

static _Noreturn void usage_error(const char *what, const char *which, const char *help)
{
    if (which)
        say_plain(stderr, "ricci: %s '%s'\n", what, which);
    else
        say_plain(stderr, "ricci: %s\n", what);
    if (help)
        say_plain(stderr, "help: %s\n", help);
    fputs("try 'ricci --help'\n", stderr);
    exit(STATUS_USAGE);
}

_Noreturn static void finish(const char *text)
{
    fputs(text, stdout);
    if (fflush(stdout) != 0)
        app_output_failed();
    exit(0);
}

_Noreturn static void unknown_option(const char *word, const char *const *names, size_t count)
{
    char help[128];
    const char *close = err_closest(word, names, count);
    snprintf(help, sizeof help, "did you mean %s?", close ? close : "");
    usage_error("unknown option", word, close ? help : NULL);
}

/* ---- subcommands ---- */
static const struct Option *find_option(const App *app, const char *word, const char **value)
{
    size_t n = strcspn(word, "=");
    for (size_t i = 0; i < OPTIONS; i++) {
        const struct Option *o = &options[i];
        bool whole = strcmp(word, o->name) == 0 || (o->shorter && strcmp(word, o->shorter) == 0);
        bool joined = o->value && word[n] && strlen(o->name) == n && memcmp(word, o->name, n) == 0;
        if (!(o->modes >> app->mode & 1) || (!whole && !joined))
            continue;
        *value = joined ? word + n + 1 : NULL;
        return o;
    }
    const char *names[OPTIONS];
    size_t count = 0;
    for (size_t i = 0; i < OPTIONS; i++)
        if (options[i].modes >> app->mode & 1)
            names[count++] = options[i].name;
    unknown_option(word, names, count);
}

static double read_number(const char *option, const char *text)
{
    char *end, what[64];
    double x = c_strtod(text, &end);
    snprintf(what, sizeof what, "%s needs a number that is not negative, not", option);
    if (end == text || *end || !(x >= 0) || isinf(x))
        usage_error(what, text, NULL);
    return x;
}

static void set_place(Options *o, JupyterPlace place)
{
    if (o->placed)
        usage_error("jupyter takes one of --user, --sys-prefix and --prefix", NULL, NULL);
    o->placed = true;
    o->jupyter.place = place;
}

static void set_option(App *app, const struct Subcommand *command, OptionId id, const char *value)
{
    Options *o = &app->options;
    switch (id) {
    case OPT_HELP: finish(command->usage);
    case OPT_VERBOSE: o->verbose = true; break;
    case OPT_KEYWORD: o->keyword = value; break;
    case OPT_LIST: o->list = true; break;
    case OPT_WRITE: o->in_place = true; break;
    case OPT_CHECK: o->check = true; break;
    case OPT_DIFF: o->diff = true; break;
    case OPT_ALL: o->all = true; break;
    case OPT_FIX: o->fix = true; break;
    case OPT_HTML: o->html = value; break;
    case OPT_TOLERANCE: o->tolerance = read_number("--tolerance", value); break;
    case OPT_TIMEOUT: o->timeout = read_number("--timeout", value); break;
    case OPT_TRUST: o->trust = true; break;
    case OPT_USER: set_place(o, JUPYTER_USER); break;
    case OPT_SYS_PREFIX: set_place(o, JUPYTER_ENVIRONMENT); break;
    case OPT_PREFIX: set_place(o, JUPYTER_PREFIX); o->jupyter.prefix = value; break;
    case OPT_NAME: o->jupyter.name = value; break;
    case OPT_DISPLAY_NAME: o->jupyter.display = value; break;
    case OPTIONS: break;
    }
}

static void check_jupyter(const App *app)
{
    static const char *const names[] = { "install", "uninstall", "list", "run" };
    const char *word = app->names[0], *close;
    char help[64];
    bool run = strcmp(word, "run") == 0, known = false;
    for (size_t i = 0; i < COUNT(names); i++)
        known |= strcmp(word, names[i]) == 0;
    close = err_closest(word, names, COUNT(names));
    snprintf(help, sizeof help, "did you mean %s?", close ? close : "");
    if (!known)
        usage_error("jupyter does not know", word, close ? help : NULL);
    if (run && app->name_count != 2)
        usage_error("jupyter run needs a connection file", NULL, NULL);
    if (!run && app->name_count > 1)
        usage_error("jupyter has no use for", app->names[1], NULL);
}

/* Options may stand before, between and after the names, up to `--`. In a name of `doc` a sign
 * is an operator. */
static bool is_option(const App *app, const char *word)
{
    if (word[0] != '-' || !word[1])
        return false;
    return app->mode != MODE_DOC || strcmp(word, "-h") == 0 || (word[1] == '-' && word[2]);
}

static void read_subcommand(App *app, const struct Subcommand *command, int argc, char **argv)
{
    bool more = true;
    app->mode = command->mode;
    app->options.tolerance = 1e-6;
    app->options.timeout = command->mode == MODE_TEST ? 10 : 60;
    app->names = argv;
    for (int i = 0; i < argc; i++) {
        const char *value = NULL;
        if (more && strcmp(argv[i], "--") == 0) {
            more = false;
        } else if (more && is_option(app, argv[i])) {
            const struct Option *o = find_option(app, argv[i], &value);
            if (o->value && !value && (value = i + 1 < argc ? argv[++i] : NULL) == NULL)
                usage_error("a value is missing after", argv[i], NULL);
            set_option(app, command, (OptionId)(o - options), value);
        } else {
            app->names[app->name_count++] = argv[i];
        }
    }
    if (app->options.in_place + app->options.check + app->options.diff > 1)
        usage_error("fmt takes one of -w, --check and --diff", NULL, NULL);
    if (app->mode == MODE_JUPYTER && app->name_count > 0)
        check_jupyter(app);
    if (app->options.html && app->name_count > 1)
        usage_error("doctest --html takes one document", NULL, NULL);
    if (app->name_count == 0 && command->needs && !app->options.all)
        usage_error(command->needs, NULL, NULL);
}

/* ---- programs ---- */
/* No such file, and no ending or folder in the name: a slip in a command, or another tool's. */
static void check_command(const char *word)
{
    static const struct { const char *word, *ours; } others[] = {
        { "run", "a file is run by its name: ricci FILE" }, { "format", "ricci fmt FILE..." },
        { "help", "ricci --help" }, { "version", "ricci --version" }, { "repl", "ricci" },
        { "eval", "ricci -e CODE" }, { "explain", "ricci --explain KIND" } };
    const char *names[COUNT(subcommands)];
    char help[128];
    if (strpbrk(word, "./") || access(word, F_OK) == 0)
        return;
    for (size_t i = 0; i < COUNT(others); i++)
        if (strcmp(word, others[i].word) == 0)
            usage_error("there is no command or file", word, others[i].ours);
    for (size_t i = 0; i < COUNT(subcommands); i++)
        names[i] = subcommands[i].name;
    const char *close = err_closest(word, names, COUNT(names));
    snprintf(help, sizeof help, "did you mean ricci %s?", close ? close : "");
    if (close)
        usage_error("there is no command or file", word, help);
}

/* The file to run, or stdin; what follows belongs to the program. */
static void read_program(App *app, int argc, char **argv)
{
    if (argc == 0) {
        bool terminal = isatty(STDIN_FILENO);
        app->mode = terminal || app->interactive ? MODE_REPL : MODE_STDIN;
        return;
    }
    app->mode = strcmp(argv[0], "-") == 0 ? MODE_STDIN : MODE_FILE;
    app->text = argv[0];
    app->argc = argc - 1;
    app->argv = argv + 1;
    if (app->mode == MODE_FILE)
        check_command(argv[0]);
}

static void read_code(App *app, int argc, char **argv)
{
    if (argc < 2)
        usage_error("code is missing after", argv[0], NULL);
    app->mode = MODE_CODE;
    app->print = argv[0][1] == 'p';
    app->text = argv[1];
    app->argc = argc - 2;
    app->argv = argv + 2;
}

static const char SAFE[] = "--safe", LIMIT[] = "--limit", STRICT[] = "--strict-devices",
                  QUIET[] = "--no-notices";

static void read_limit(App *app, const char *text)
{
    char what[64];
    if (!limit_read(&app->limit, text, what))
        usage_error("--limit takes memory=, seconds= and file= with numbers, not", what,
                    "ricci --limit memory=2e9,seconds=60 FILE");
}

/* What stands before the file or the command alike; returns how many words it is. */
static int read_common(App *app, int argc, char **argv)
{
    size_t n = sizeof LIMIT - 1;
    bool limit = strncmp(argv[0], LIMIT, n) == 0 && (!argv[0][n] || argv[0][n] == '=');
    if (strcmp(argv[0], SAFE) == 0) {
        app->safe_by = SAFE;
    } else if (strcmp(argv[0], STRICT) == 0) {
        app->strict_devices = true;
    } else if (strcmp(argv[0], QUIET) == 0) {
        app->no_notices = true;
    } else if (limit) {
        bool joined = argv[0][n] == '=';
        if (!joined && argc < 2)
            usage_error("a value is missing after", argv[0], NULL);
        read_limit(app, joined ? argv[0] + n + 1 : argv[1]);
        return joined ? 1 : 2;
    } else {
        return 0;
    }
    return 1;
}

/* With the instruction set that kernels are chosen by. */
_Noreturn static void print_version(void)
{
    char text[64];
    snprintf(text, sizeof text, "ricci " RICCI_VERSION " (%s)\n", cpu_isa_name(cpu_isa()));
    finish(text);
}

/* An option of `ricci` itself; true if what follows it was read too. */
static bool read_option(App *app, int argc, char **argv)
{
    static const char *const names[] = { "--help", "--version", STRICT, QUIET, SAFE, LIMIT,
        "--explain", "--calibrate", "-e", "-p", "-i", "-V", "-h" };
    const char *word = argv[0];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        finish(usage_text);
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        print_version();
    if (strcmp(word, "-e") == 0 || strcmp(word, "-p") == 0) {
        read_code(app, argc, argv);
        return true;
    }
    if (strcmp(word, "--explain") == 0) {
        app->mode = MODE_EXPLAIN;
        app->names = argv + 1;
        app->name_count = argc - 1;
        return true;
    }
    if (strcmp(word, "--calibrate") == 0) {
        if (argc > 1)
            usage_error("--calibrate takes nothing more, not", argv[1], "ricci --calibrate");
        app->mode = MODE_CALIBRATE;
        return true;
    }
    if (strcmp(word, "-i") != 0)
        unknown_option(word, names, COUNT(names));
    app->interactive = true;
    return false;
}

/* `doctest` is safe by itself. What the command line says comes before the environment. */
static void decide_safety(App *app)
{
    const char *asked = getenv("RICCI_SAFE");
    if (app->mode == MODE_DOCTEST && app->options.trust) {
        if (app->safe_by)
            usage_error("doctest takes --safe or --trust, not both", NULL, NULL);
    } else if (app->mode == MODE_DOCTEST) {
        app->safe_by = "doctest without --trust";
    } else if (!app->safe_by && asked && *asked && strcmp(asked, "0") != 0) {
        app->safe_by = "RICCI_SAFE";
    }
}

static void read_words(App *app, int argc, char **argv)
{
    int words;
    for (; argc > 0 && (words = read_common(app, argc, argv)) > 0; argc -= words, argv += words)
        continue;
    if (cpu_isa_unknown())
        usage_error("RICCI_ISA names no instruction set:", cpu_isa_unknown(),
                    "base, avx2 and avx512 are known; without RICCI_ISA it is the processor's");
#ifndef RICCI_WITHOUT_JIT
    if (hot_unknown())
        usage_error("RICCI_JIT is 0, 1, now or quick, not", hot_unknown(),
                    "RICCI_JIT=0 leaves loops to the evaluator");
#endif
    for (size_t i = 0; argc > 0 && i < COUNT(subcommands); i++)
        if (strcmp(argv[0], subcommands[i].name) == 0) {
            read_subcommand(app, &subcommands[i], argc - 1, argv + 1);
            return;
        }
    for (; argc > 0 && argv[0][0] == '-' && argv[0][1]; argc--, argv++) {
        if (strcmp(argv[0], "--") == 0) {
            argc--, argv++;
            break;
        }
        words = read_common(app, argc, argv);
        argc -= words > 1 ? 1 : 0;
        argv += words > 1 ? 1 : 0;
        if (words == 0 && read_option(app, argc, argv))
            return;
    }
    read_program(app, argc, argv);
}

void usage_read(App *app, int argc, char **argv)
{
    read_words(app, argc, argv);
    decide_safety(app);
}
