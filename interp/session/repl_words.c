/* What the hands type out of habit: `quit`, `whos`, `ls`, `svd?`, `%timeit x`, `@time x`. What is
 * harmless is done, under a line that says how it is typed here; the rest is answered. A word that
 * is a variable is an entry, of course. */
#include "interp/session/repl_commands.h"

#include <stdio.h>
#include <string.h>

typedef struct Habit {
    const char *word;
    const char *command;        /* what it is here, done; NULL: answered only */
    const char *answer;
    bool clears;                /* in a document, what the cell has shown */
} Habit;

/* All of a line. */
static const Habit words[] = {
    { "quit", ":quit", NULL }, { "exit", ":quit", NULL }, { "exit()", ":quit", NULL },
    { "quit()", ":quit", NULL },
    { "q", NULL, ":q leaves, and so does Ctrl-D." },
    { "clear", NULL, ":reset forgets all variables, :reset x these; Ctrl-L clears the screen." },
    { "clear all", NULL, ":reset forgets all variables." },
    { "clc", NULL, "Ctrl-L clears the screen.", true },
    { "cls", NULL, "Ctrl-L clears the screen.", true },
    { "reset", NULL, ":reset forgets all variables, :reset x these." },
    { "edit", NULL, ":edit opens the last entry in an editor, :edit f a function or a file." },
    { "ls", "!ls", NULL }, { "dir", "!ls", NULL }, { "pwd", ":pwd", NULL },
    { "cd", NULL, ":cd FOLDER goes there, :cd alone home; :pwd shows where that is." },
    { "who", ":vars", NULL }, { "whos", ":vars", NULL }, { "vars", ":vars", NULL },
    { "varinfo()", ":vars", NULL }, { "dir()", ":vars", NULL }, { "who()", ":vars", NULL },
    { "locals()", ":vars", NULL }, { "globals()", ":vars", NULL },
    { "help", "?", NULL }, { "help()", "?", NULL }, { "man", "?", NULL },
    { "history", ":history", NULL },
};

/* The first word of a line that begins with % or @; what follows it goes on. */
static const Habit magics[] = {
    { "%time", ":time", NULL }, { "@time", ":time", NULL }, { "%%time", ":time", NULL },
    { "@elapsed", ":time", NULL }, { "@allocated", ":time", NULL },
    { "%timeit", "timeit", NULL }, { "@btime", "timeit", NULL }, { "@benchmark", "timeit", NULL },
    { "%whos", ":vars", NULL }, { "%who", ":vars", NULL }, { "%who_ls", ":vars", NULL },
    { "%run", ":load", NULL }, { "%load", ":load", NULL }, { "%hist", ":history", NULL },
    { "%history", ":history", NULL }, { "%edit", ":edit", NULL }, { "@edit", ":edit", NULL },
    { "%cd", ":cd", NULL }, { "%pwd", ":pwd", NULL }, { "%ls", "!ls", NULL },
    { "%reset", NULL, ":reset forgets all variables, :reset x these." },
    { "%save", ":save", NULL }, { "%quickref", ":help", NULL }, { "%lsmagic", ":help", NULL },
    { "%magic", ":help", NULL }, { "%prun", "profile", NULL }, { "@profile", "profile", NULL },
    { "%pdoc", "?", NULL }, { "@doc", "?", NULL }, { "%matplotlib", NULL,
      "Pictures need no setting: plot(x, y) draws here, plot(x, y, to=\"a.svg\") a file." },
    { "@which", "explain", NULL },
    { "%paste", NULL, "Paste it as it is: prompts are taken off, and it runs once." },
    { "%cpaste", NULL, "Paste it as it is: prompts are taken off, and it runs once." },
    { "@show", NULL, "An expression shows its value; print(\"x = {x}\") says more." },
    { "%precision", NULL,
      "format(digits=8) sets the digits shown; precision f32 { … } computes in a format." },
};

/* The first word of a line whose second one is a name or a number: no program begins so. */
static const Habit verbs[] = {
    { "help", "?", NULL }, { "doc", "?", NULL }, { "man", "?", NULL }, { "which", "?", NULL },
    { "lookfor", "??", NULL }, { "apropos", "??", NULL }, { "clear", ":reset", NULL },
    { "clearvars", ":reset", NULL }, { "del", ":reset", NULL }, { "who", ":vars", NULL },
    { "whos", ":vars", NULL }, { "vars", ":vars", NULL }, { "cd", ":cd", NULL },
    { "ls", "!ls", NULL },
    { "cat", "!cat", NULL }, { "edit", ":edit", NULL }, { "run", ":load", NULL },
    { "source", ":load", NULL },
    { "load", NULL, "load(\"x.npy\") reads a tensor, :load FILE runs a program." },
    { "save", NULL, "save(\"x.npy\", A) writes a tensor, :save FILE the session's entries." },
    { "time", ":time", NULL }, { "history", ":history", NULL },
    { "format", NULL,
      "format(digits=16) shows all digits of a matrix, format(digits=5) as many as at first." },
    { "close", NULL, "Pictures need no closing: plot(x, y) draws in the terminal at once." },
    { "hold", NULL, "One picture takes several series: plot(x, (u, v)). ?plot tells more." },
    { "pkg", NULL,
      "What Octave has in packages is an import here: import stats. ?import tells more." },
    { "git", "!git", NULL },
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Does what `habit` is here with `rest` after it, or says it. */
static void follow(Repl *r, const Habit *habit, const char *rest)
{
    char line[256];
    if (habit->clears && r->document) {
        r->document->clear(r);
        return;
    }
    if (!habit->command) {
        snprintf(line, sizeof line, "%s\n", habit->answer);
        repl_say(r, line);
        return;
    }
    bool quits = strcmp(habit->command, ":quit") == 0;
    bool apart = *rest && habit->command[0] != '?' && habit->command[0] != '!';
    snprintf(line, sizeof line, "(that is %s%s%.120s here)\n", habit->command, apart ? " " : "",
             rest);
    if (!quits)
        repl_say(r, line);
    Buf *text = &r->rest;
    buf_clear(text);
    buf_printf(text, "%s %s", habit->command, rest);
    while (text->len > 0 && text->data[text->len - 1] == ' ')
        text->data[--text->len] = '\0';
    if (strchr(":?!", text->data[0]))
        repl_command(r, text->data);
    else
        repl_run_logged(r, text->data);
}

static bool name_char(char c)
{
    return repl_in_name(c) || c == '.';
}

/* `svd?` and `svd??`, help as in IPython: the length of the name; 0: it is not that. */
static size_t asked_name(const char *text)
{
    size_t n = 0;
    while (name_char(text[n]))
        n++;
    size_t marks = strspn(text + n, "?");
    return marks == 0 || marks > 2 || text[n + marks] ? 0 : n;
}

static const Habit *find_habit(const Habit *table, size_t count, const char *word, size_t n)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(table[i].word) == n && strncmp(table[i].word, word, n) == 0)
            return &table[i];
    return NULL;
}

/* Words that stand between two names in a program. */
static bool is_infix(const char *text)
{
    static const char *const infix[] = { "in", "and", "or", "not", "as", "from", "for", "if",
                                         "else" };
    size_t n = strcspn(text, " \t(");
    for (size_t i = 0; i < COUNT(infix); i++)
        if (strlen(infix[i]) == n && strncmp(infix[i], text, n) == 0)
            return true;
    return false;
}

/* The habit that a line is, and what follows its word; NULL: it is none. */
static const Habit *habit_of(const Repl *r, const char *text, const char **rest)
{
    size_t n = strcspn(text, " \t\n");
    *rest = text + n + strspn(text + n, " \t\n");
    if (n == 0 || strchr(*rest, '\n'))
        return NULL;
    if (text[0] == '%' || text[0] == '@')
        return find_habit(magics, COUNT(magics), text, n);
    if (repl_variable(r, text, strcspn(text, "( \t\n")).tag != V_UNDEF)
        return NULL;
    const Habit *whole = find_habit(words, COUNT(words), text, strlen(text));
    if (whole || !**rest)
        return whole;
    bool name = repl_in_name(**rest) || strchr("~./\"-*", **rest);
    const Habit *verb = name ? find_habit(verbs, COUNT(verbs), text, n) : NULL;
    bool asks = verb && verb->command && verb->command[0] == '?';
    if (verb && !asks && is_infix(*rest))
        return NULL;
    bool sign = strchr("./-*", **rest) != NULL;    /* ls *.ric, but time * 2 */
    const char *command = verb && verb->command ? verb->command : "";
    bool shell = command[0] == '!' || strcmp(command, ":cd") == 0;
    return sign && !shell ? NULL : verb;
}

bool repl_is_habit(const Repl *r, const char *text)
{
    const char *rest;
    return asked_name(text) > 0 || habit_of(r, text, &rest) != NULL;
}

bool repl_habit(Repl *r, const char *text)
{
    const char *rest;
    const Habit *habit = habit_of(r, text, &rest);
    size_t asked = asked_name(text);
    if (habit) {
        follow(r, habit, rest);
    } else if (asked > 0) {
        buf_clear(&r->rest);
        buf_put(&r->rest, text, asked);
        repl_help(r, buf_cstr(&r->rest));
    }
    return habit != NULL || asked > 0;
}
