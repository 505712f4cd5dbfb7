/* `??words`: everything that speaks of all of these words, best first: operations, topics, the
 * standard library's functions, variables with ## text, kinds of error. Called through help.h. */
#include "builtins/help/help.h"

#include "core/system/ascii.h"
#include "core/base/plain.h"
#include "interp/output/cells.h"
#include "interp/op/peers.h"
#include "interp/state/stdlib_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 8, LINE_CELLS = 100 };

typedef struct Found {
    int score;
    char name[72];             /* how ? asks for it */
    const char *line;          /* what it does, first line */
    int len;
} Found;

typedef struct Query {
    Interp *in;
    char text[400];
    const char *words[WORDS_MAX];
    int count;
    Buf found;                 /* of Found */
} Query;

/* ---- how well something fits ---- */
static bool letter(char c)
{
    return ascii_alnum(c) || c == '_' || (c & 0x80);
}

/* 3: as a word, 2: at the start of one, 1: somewhere inside, 0: not at all. */
static int word_rank(const char *text, size_t len, const char *word)
{
    size_t n = strlen(word);
    int best = 0;
    for (size_t i = 0; i + n <= len && best < 3; i++) {
        if (ascii_ncasecmp(text + i, word, n) != 0)
            continue;
        bool starts = i == 0 || !letter(text[i - 1]), ends = i + n == len || !letter(text[i + n]);
        int rank = starts && ends ? 3 : starts ? 2 : n > 2;
        best = rank > best ? rank : best;
    }
    return best;
}

/* The name counts most, then the first line, then the rest; every word must occur somewhere. */
static int score(const Query *q, const char *name, const char *text, size_t len)
{
    int sum = 0;
    size_t line = 0;
    while (line < len && text[line] != '\n')
        line++;
    for (int i = 0; i < q->count; i++) {
        size_t name_len = strlen(name);
        int in_name = word_rank(name, name_len, q->words[i]);
        int in_line = word_rank(text, line, q->words[i]);
        int in_rest = word_rank(text + line, len - line, q->words[i]);
        if (!in_name && !in_line && !in_rest)
            return 0;
        bool whole = name_len == strlen(q->words[i]) && in_name == 3;
        sum += (whole ? 1000 : 0) + 100 * in_name + 20 * in_line + 2 * in_rest;
    }
    return sum;
}

static void hit(Query *q, int points, const char *name, const char *line, size_t len)
{
    if (points <= 0)
        return;
    size_t n = 0;
    while (n < len && line[n] != '\n')
        n++;
    Found f = { .score = points, .line = line, .len = (int)n };
    snprintf(f.name, sizeof f.name, "%s", name);
    buf_put(&q->found, (const char *)&f, sizeof f);
}

/* ---- where ---- */
/* The word that another language has for this operation, if it was asked for: cholesky is chol. */
static const char *meant(const Query *q, const char *name)
{
    size_t n = strlen(name);
    for (int i = 0; i < q->count; i++) {
        const char *ours = peer_name(q->words[i]);
        if (ours && strncmp(ours, name, n) == 0 && ours[n] == '(')
            return q->words[i];
    }
    return NULL;
}

static void search_operations(Query *q)
{
    char text[4096];
    for (int i = 0; i < op_count(q->in); i++) {
        const Op *op = op_row(q->in, i);
        const char *help = op->help ? op->help : "";
        const char *other = meant(q, op->name);
        snprintf(text, sizeof text, "%s\n%s\n%s\n%s\n%s", help, op->name,
                 op->params ? op->params : "",
                 op->section ? op->section : "", op->example ? op->example : "");
        hit(q, score(q, other ? other : op->name, text, strlen(text)), op->name, help,
            strlen(help));
    }
}

static void search_topics(Query *q)
{
    const char *text;
    char name[HELP_TOPIC_CAP];
    for (int i = 0; help_topic(i, name, &text); i++)
        hit(q, *text ? score(q, name, text, strlen(text)) : 0, name, text, strlen(text));
}

static void search_kinds(Query *q)
{
    static const char *const meanings[] = {
#define KIND(id, name, meaning) meaning,
#include "core/base/errors.def"
#undef KIND
    };
    for (int i = 0; i < ERR_KINDS; i++) {
        char name[72];
        snprintf(name, sizeof name, ":explain %s", err_kind_name((ErrKind)i));
        int points = score(q, err_kind_name((ErrKind)i), meanings[i], strlen(meanings[i]));
        hit(q, points > 0 ? points - 1 : 0, name, meanings[i], strlen(meanings[i]));
    }
}

/* The line behind `at`'s. */
static const char *next_line(const char *at)
{
    at += strcspn(at, "\n");
    return *at ? at + 1 : at;
}

/* Runs of `##` lines right above `fn name(`, as the module's text has them. */
static void search_module(Query *q, const struct StdlibFile *file)
{
    for (const char *at = file->text; *at;) {
        if (strncmp(at, "##", 2) != 0) {
            at = next_line(at);
            continue;
        }
        const char *start = at;
        while (strncmp(at, "##", 2) == 0)
            at = next_line(at);
        if (strncmp(at, "fn ", 3) != 0)
            continue;
        char name[72];
        size_t n = strcspn(at + 3, "(");
        snprintf(name, sizeof name, "%s.%.*s", file->name, (int)(n < 40 ? n : 40), at + 3);
        const char *text = start + 2 + strspn(start + 2, " ");
        hit(q, score(q, name, text, (size_t)(at - text)), name, text, (size_t)(at - text));
    }
}

static void search_variables(Query *q)
{
    const Module *m = q->in->main;
    for (uint32_t i = 0; m && i < m->globals.count; i++) {
        const Name *name = m->slots[i].tag != V_UNDEF ? m->globals.names[i] : NULL;
        const char *doc = name ? m->docs[i] : NULL;
        if (doc)
            hit(q, score(q, name->text, doc, strlen(doc)), name->text, doc, strlen(doc));
    }
}

/* ---- the answer ---- */
static int better(const void *a, const void *b)
{
    const Found *x = a, *y = b;
    int order = (x->score < y->score) - (x->score > y->score);
    return order ? order : strcmp(x->name, y->name);
}

static void split(Query *q, const char *words)
{
    snprintf(q->text, sizeof q->text, "%s", words);
    char *rest = NULL;
    char *w = strtok_r(q->text, " \t\n,", &rest);
    for (; w && q->count < WORDS_MAX; w = strtok_r(NULL, " \t\n,", &rest))
        q->words[q->count++] = w;
}

static void put_found(Query *q, Buf *out)
{
    Found *found = (Found *)(void *)q->found.data;
    size_t hits = q->found.len / sizeof *found;
    int width = q->in->show.width > 0 ? q->in->show.width : LINE_CELLS;
    size_t rows = q->in->show.height > 6 ? (size_t)q->in->show.height - 5 : 20;
    size_t shown = hits < rows ? hits : rows;
    int names = 0;
    qsort(found, hits, sizeof *found, better);
    for (size_t i = 0; i < shown; i++) {
        int w = text_width(found[i].name, strlen(found[i].name));
        names = w > names ? w : names;
    }
    for (size_t i = 0; i < shown; i++) {
        const Found *f = &found[i];
        buf_printf(out, "  %s", f->name);
        buf_fill(out, ' ', (size_t)(names - text_width(f->name, strlen(f->name)) + 2));
        cells_put(out, f->line, (size_t)f->len, width - names - 5, 0);
        buf_putc(out, '\n');
    }
    if (shown < hits)
        buf_printf(out, "… and %zu more: another word narrows it\n", hits - shown);
    else
        buf_puts(out, "?NAME shows one of them.\n");
}

static void put_nothing(const Query *q, Buf *out, const char *words)
{
    buf_puts(out, "no help speaks of ");
    plain_put(out, words, strlen(words));
    buf_puts(out, q->count > 1 ? "; fewer words find more\n" : "\n");
}

static void search(Query *q, Buf *out, const char *words)
{
    split(q, words);
    search_operations(q);
    search_topics(q);
    search_kinds(q);
    search_variables(q);
    for (const struct StdlibFile *f = ricci_stdlib; f->name; f++)
        search_module(q, f);
    if (q->count == 0 || q->found.len == 0)
        put_nothing(q, out, words);
    else
        put_found(q, out);
}

void help_search(Interp *in, Buf *out, const char *words)
{
    Query q = { .in = in };
    ErrFrame frame;
    buf_init(&q.found, &in->ctx);
    if (!ERR_TRY(&in->ctx, &frame)) {
        buf_free(&q.found);
        err_rethrow(&in->ctx);
    }
    search(&q, out, words);
    ERR_END(&in->ctx, &frame);
    buf_free(&q.found);
}
