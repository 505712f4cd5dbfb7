/* `ricci doctest`: runs the fenced code of Markdown files (main_block.c) and compares what comes
 * out with what the document shows, block by block, of sessions entry by entry; --fix writes what
 * came out. It has no interpreter of its own. */
#include "interp/program/main.h"

#include "core/system/c_locale.h"
#include "core/system/fd.h"
#include "interp/output/output.h"
#include "interp/session/repl.h"
#include "interp/session/repl_signals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DIFF_LINES = 24, DIFF_AROUND = 2, HEAD_LINES = 12 };

typedef struct Edit { size_t from, to; Text text; } Edit;

typedef struct Doctest {
    App *app;
    const Options *options;
    const char *path;                      /* of the file being tested */
    Markdown md;
    Pictures pictures;                     /* that its blocks made */
    Edit *edits;                           /* in order of place */
    size_t edit_count, edit_cap;
    int passed, failed, fixed;
    bool colours;
} Doctest;

/* Is what comes out to be kept, in the document or in a page? */
static bool writes(const Doctest *d)
{
    return d->options->fix || d->options->html;
}

/* ---- reporting ---- */
static const char *colour(const Doctest *d, const char *code)
{
    return d->colours ? code : "";
}

static void fail(Doctest *d, size_t line, const char *what, const Text *more, const char *help)
{
    d->failed++;
    printf("%sFAIL%s ", colour(d, "\033[1;31m"), colour(d, "\033[0m"));
    say_plain(stdout, "%s:%zu: %s\n", d->path, line, what);
    if (more && more->len)
        fwrite(more->data, 1, more->len, stdout);
    if (help)
        say_plain(stdout, "    help: %s\n", help);
}

static void pass(Doctest *d, const Block *block)
{
    d->passed++;
    if (!d->options->verbose)
        return;
    printf("%sok%s   ", colour(d, "\033[32m"), colour(d, "\033[0m"));
    say_plain(stdout, "%s:%zu\n", d->path, block->line);
}

/* The first lines of a text, indented. */
static void put_head(Text *out, const Text *text, size_t most)
{
    Lines lines = lines_of(text->data, text->len);
    for (size_t i = 0; i < lines.count && i < most; i++)
        text_plain(out, "    %.*s\n", (int)lines.len[i], lines.at[i]);
    if (lines.count > most)
        text_printf(out, "    … %zu more lines\n", lines.count - most);
    lines_free(&lines);
}

/* How the child ended, in words; false: it ended by itself. */
static bool broke_off(const Outcome *o, const Options *options, Text *why)
{
    if (o->timed_out)
        text_printf(why, "did not end within %g s", options->timeout);
    else if (o->flooded)
        text_printf(why, "printed more than %d MB", BLOCK_OUTPUT_MAX >> 20);
    else if (WIFSIGNALED(o->status))
        text_printf(why, "crashed: %s", c_strsignal(WTERMSIG(o->status)));
    return why->len > 0;
}

/* ---- comparing ---- */
static void trim_end(Text *text)
{
    while (text->len > 0 && strchr(" \t\r\n", text->data[text->len - 1]))
        text->len--;
    if (text->len > 0)
        text_put(text, "\n", 1);
}

/* As written; or, if some number or time is only near, whatever the columns do. */
static Diff compare(const Lines *want, const Lines *got, double tolerance)
{
    MatchRule rule = { tolerance, false, 0 };
    LineRule lines = { match_line, match_any_lines, &rule };
    Diff strict = diff_lines(want, got, &lines);
    if (strict.same)
        return strict;
    rule = (MatchRule){ tolerance, true, 0 };
    Diff loose = diff_lines(want, got, &lines);
    bool excused = rule.near > 0;          /* else blanks that differ are a difference */
    diff_free(excused ? &strict : &loose);
    return excused ? loose : strict;
}

/* What the document is to show: its own lines where they match, what came where they do not. */
static void put_fixed(Text *out, const Diff *diff, const Lines *want, const Lines *got)
{
    size_t i = 0, j = 0;
    for (size_t k = 0; k < diff->count; k++) {
        char what = diff->steps[k];
        if (what == '=' || what == '*') {
            text_put(out, want->at[i], want->len[i]);
            text_put(out, "\n", 1);
        } else if (what == '+') {
            size_t n = got->len[j];
            while (n > 0 && strchr(" \t\r", got->at[j][n - 1]))
                n--;
            text_put(out, got->at[j], n);
            text_put(out, "\n", 1);
        }
        i += strchr("=-*", what) != NULL;
        j += strchr("=+~", what) != NULL;
    }
}

/* ---- fixing ---- */
static size_t longest_marks(const Text *text)
{
    size_t marks = 0, longest = 0;
    for (size_t i = 0; i < text->len; i++) {
        marks = strchr("`~", text->data[i]) ? marks + 1 : 0;
        longest = marks > longest ? marks : longest;
    }
    return longest;
}

/* Would the text close the fence that it is to stand in? */
static bool holds_fence(const Text *text, const Block *block)
{
    return longest_marks(text) >= block->fence;
}

/* One that the text does not close. */
static Text longer_fence(const Text *text)
{
    size_t marks = longest_marks(text);
    Text fence = { 0 };
    text_puts(&fence, "```");
    for (size_t i = 3; i <= marks; i++)
        text_puts(&fence, "`");
    return fence;
}

/* The lines replace what stands between `from` and `to`, with the block's indentation and the
 * document's line ends. */
static void add_edit(Doctest *d, const Block *block, size_t from, size_t to, const Text *text)
{
    d->edits = app_grow(d->edits, d->edit_count, &d->edit_cap, sizeof *d->edits);
    Edit *edit = &d->edits[d->edit_count++];
    *edit = (Edit){ from, to, { 0 } };
    Lines lines = lines_of(text->data, text->len);
    for (size_t i = 0; i < lines.count; i++) {
        for (size_t k = 0; k < block->indent && lines.len[i]; k++)
            text_put(&edit->text, " ", 1);
        text_put(&edit->text, lines.at[i], lines.len[i]);
        text_puts(&edit->text, d->md.crlf ? "\r\n" : "\n");
    }
    lines_free(&lines);
}

/* A part of the document, and what came out in its place. */
typedef struct Part {
    const Block *block;                    /* it stands in */
    size_t at;                             /* the line that is to blame */
    size_t first;                          /* the line of the document where it begins, */
    size_t from, to;                       /* and its bytes */
    Lines want, got;
} Part;

/* A difference: fixed where that was asked for, else reported. Returns whether it was fixed. */
static bool differs(Doctest *d, const Part *part, const Diff *diff)
{
    Text more = { 0 }, fixed = { 0 }, help = { 0 };
    put_fixed(&fixed, diff, &part->want, &part->got);
    bool fence = d->options->fix && holds_fence(&fixed, part->block);
    bool done = d->options->fix && !fence;
    if (done) {
        add_edit(d, part->block, part->from, part->to, &fixed);
    } else {
        diff_show(&more, diff, &part->want, &part->got, "    ", DIFF_AROUND, DIFF_LINES,
                  part->first, d->colours);
        if (fence)
            text_puts(&help, "what came out holds a fence: fix it by hand, with a longer one");
        else
            text_printf(&help, "ricci doctest --fix %s writes what came out", d->path);
        fail(d, part->at, "what comes out differs (- shown, + came out)", &more, help.data);
    }
    text_free(&more);
    text_free(&fixed);
    text_free(&help);
    return done;
}

static void fixed_block(Doctest *d, const Block *block)
{
    d->fixed++;
    d->passed++;
    printf("%sfixed%s ", colour(d, "\033[33m"), colour(d, "\033[0m"));
    say_plain(stdout, "%s:%zu\n", d->path, block->line);
}

static double tolerance_of(const Doctest *d, const Block *block, const Block *shown)
{
    if (shown->tolerance >= 0)
        return shown->tolerance;
    return block->tolerance >= 0 ? block->tolerance : d->options->tolerance;
}

typedef enum Verdict { SAME, FIXED, DIFFERENT } Verdict;

/* Frees the lines of the part. */
static Verdict judge_part(Doctest *d, Part *part, double tolerance)
{
    Diff diff = compare(&part->want, &part->got, tolerance);
    Verdict verdict = diff.same ? SAME : differs(d, part, &diff) ? FIXED : DIFFERENT;
    diff_free(&diff);
    lines_free(&part->want);
    lines_free(&part->got);
    return verdict;
}

static void settle(Doctest *d, const Block *block, Verdict verdict)
{
    if (verdict == SAME)
        pass(d, block);
    else if (verdict == FIXED)
        fixed_block(d, block);
}

/* ---- programs ---- */
static void check_output(Doctest *d, const Block *block, Text *came)
{
    const Block *shown = &d->md.blocks[block->output];
    Text expected = { 0 };
    markdown_code(&d->md, shown, &expected);
    trim_end(&expected);
    trim_end(came);
    Part part = { shown, block->line, shown->line + 1, shown->from, shown->to,
                  lines_of(expected.data, expected.len), lines_of(came->data, came->len) };
    settle(d, block, judge_part(d, &part, tolerance_of(d, block, shown)));
    text_free(&expected);
}

/* A text block for what came out, below a block that has none. */
static void add_output(Doctest *d, const Block *block, Text *came)
{
    const Text *document = &d->md.text;
    Text lines = { 0 };
    trim_end(came);
    if (came->len == 0 || !writes(d)) {
        pass(d, block);
        return;
    }
    if (document->data[block->end - 1] != '\n')
        text_puts(&lines, "\n");
    Text fence = longer_fence(came);
    text_printf(&lines, "%stext\n%s%s\n", fence.data, came->data, fence.data);
    text_free(&fence);
    add_edit(d, block, block->end, block->end, &lines);
    (d->options->fix ? fixed_block : pass)(d, block);
    text_free(&lines);
}

static void judge_program(Doctest *d, const Block *block, Outcome *o)
{
    Text more = { 0 };
    int status = WEXITSTATUS(o->status);
    if (block->kind == BLOCK_RICCI && status != 0) {
        char what[64];
        snprintf(what, sizeof what, "fails with exit status %d", status);
        put_head(&more, &o->err, HEAD_LINES);
        fail(d, block->line, what, &more,
             status == 1 ? "a block that has to fail is ```ricci-error" : NULL);
    } else if (block->kind == BLOCK_ERROR && status != 1) {
        put_head(&more, &o->out, HEAD_LINES);
        fail(d, block->line,
             status == 0 ? "has to fail, but runs" : "has to fail with exit status 1", &more, NULL);
    } else {
        bool program = block->kind == BLOCK_RICCI;
        if (program)
            text_put(&o->out, o->err.data ? o->err.data : "", o->err.len);
        (block->output < 0 ? add_output : check_output)(d, block, program ? &o->out : &o->err);
    }
    text_free(&more);
}

/* ---- sessions ---- */
typedef struct Typed { const char *line; size_t len; bool more; size_t at; } Typed;

/* What stands behind a prompt at the beginning of a line, or NULL; *more: it is `  ...> `. */
static const char *behind_prompt(const char *line, size_t n, bool *more)
{
    static const char *const prompts[] = { REPL_PROMPT, REPL_CONTINUE };
    for (int i = 0; i < 2; i++) {
        size_t len = strlen(prompts[i]);
        *more = i == 1;
        if (n >= len && memcmp(line, prompts[i], len) == 0)
            return line + len;
        if (n == len - 1 && memcmp(line, prompts[i], n) == 0)   /* the blank was trimmed */
            return line + n;
    }
    return NULL;
}

/* The lines that are typed, as a session's input. */
static void typed_text(const Text *code, Text *out)
{
    Lines lines = lines_of(code->data, code->len);
    bool more;
    for (size_t i = 0; i < lines.count; i++) {
        const char *typed = behind_prompt(lines.at[i], lines.len[i], &more);
        if (!typed)
            continue;
        text_put(out, typed, (size_t)(lines.at[i] + lines.len[i] - typed));
        text_put(out, "\n", 1);
    }
    lines_free(&lines);
}

/* Output without the blank lines around it. */
static Lines inner_lines(const char *text, size_t n, size_t *skipped)
{
    Lines lines = lines_of(text, n);
    size_t from = 0;
    while (from < lines.count && lines.len[from] == strspn(lines.at[from], " \t\r"))
        from++;
    while (lines.count > from) {
        size_t k = lines.count - 1, blank = 0;
        while (blank < lines.len[k] && strchr(" \t\r", lines.at[k][blank]))
            blank++;
        if (blank < lines.len[k])
            break;
        lines.count--;
    }
    memmove(lines.at, lines.at + from, (lines.count - from) * sizeof *lines.at);
    memmove(lines.len, lines.len + from, (lines.count - from) * sizeof *lines.len);
    lines.count -= from;
    *skipped = from;
    return lines;
}

/* The bytes of the document that hold lines `from` to `to` of a block's code. */
static size_t line_offset(const Markdown *md, const Block *block, size_t line)
{
    size_t at = block->from;
    while (line-- > 0 && at < block->to) {
        const char *newline = memchr(md->text.data + at, '\n', block->to - at);
        at = newline ? (size_t)(newline - md->text.data) + 1 : block->to;
    }
    return at;
}

/* Is the prompt that came (what the answer begins with) the one that the document shows? */
static bool prompt_fits(Doctest *d, const Block *block, size_t line, bool wanted, bool came)
{
    if (came == wanted)
        return true;
    fail(d, block->line + 1 + line,
         came ? "the entry before is not complete: this line would continue it"
              : "the entry before is complete: this line would be one of its own", NULL, NULL);
    return false;
}

/* One typed line: the output that the document shows below it (lines up to `to` of the block)
 * against what came after its prompt. */
static Verdict check_answer(Doctest *d, const Block *block, const Lines *all, size_t typed,
                            size_t to, const char *answer, size_t n)
{
    bool more = false, wanted = false;
    size_t before_want, before_got, prompt = strlen(REPL_PROMPT);
    behind_prompt(all->at[typed], all->len[typed], &wanted);
    const char *came = behind_prompt(answer, n < prompt ? n : prompt, &more);
    if (came && !prompt_fits(d, block, typed, wanted, more))
        return DIFFERENT;
    came = came ? came : answer;
    const char *end = all->at[to - 1] + all->len[to - 1];
    const char *begin = to > typed + 1 ? all->at[typed + 1] : end;
    Part part = { .block = block, .at = block->line + 1 + typed };
    part.want = inner_lines(begin, (size_t)(end - begin), &before_want);
    part.got = inner_lines(came, n - (size_t)(came - answer), &before_got);
    size_t first = typed + 1 + (part.want.count ? before_want : 0);
    part.first = block->line + 1 + first;
    part.from = line_offset(&d->md, block, first);
    part.to = line_offset(&d->md, block, first + part.want.count);
    return judge_part(d, &part, tolerance_of(d, block, block));
}

/* Where the next answer begins, behind the mark of its prompt; NULL: there is none. */
static const char *next_answer(const char *at, const char *end)
{
    const char *mark = memmem(at, (size_t)(end - at), BLOCK_PROMPT, strlen(BLOCK_PROMPT));
    return mark ? mark + strlen(BLOCK_PROMPT) : NULL;
}

static void judge_session(Doctest *d, const Block *block, const Text *code, const Outcome *o)
{
    Lines all = lines_of(code->data, code->len);
    const char *at = o->out.data ? o->out.data : "", *end = at + o->out.len;
    Verdict verdict = SAME;
    bool more;
    for (size_t k = 0; at && k < o->before; k++)
        at = next_answer(at, end);
    if (all.count > 0 && !behind_prompt(all.at[0], all.len[0], &more)) {
        fail(d, block->line + 1, "a session begins with `ricci> `", NULL, NULL);
        verdict = DIFFERENT;
    }
    for (size_t i = 0, to; i < all.count && verdict != DIFFERENT; i = to) {
        for (to = i + 1; to < all.count && !behind_prompt(all.at[to], all.len[to], &more);)
            to++;
        at = at ? next_answer(at, end) : NULL;
        if (!at) {
            fail(d, block->line + 1 + i, "the session ended before this line", NULL, NULL);
            verdict = DIFFERENT;
            break;
        }
        const char *next = next_answer(at, end);
        const char *stop = next ? next - strlen(BLOCK_PROMPT) : end;
        Verdict one = check_answer(d, block, &all, i, to, at, (size_t)(stop - at));
        verdict = one == SAME ? verdict : one;
    }
    settle(d, block, verdict);
    lines_free(&all);
}

/* ---- blocks ---- */
static bool runs(const Block *block)
{
    return !block->skip && (block->kind == BLOCK_RICCI || block->kind == BLOCK_ERROR ||
                            block->kind == BLOCK_SESSION);
}

/* The block that this one continues: the one before it that runs. -1: none. */
static long before(const Doctest *d, long i)
{
    for (i--; i >= 0; i--)
        if (runs(&d->md.blocks[i]) && d->md.blocks[i].kind != BLOCK_ERROR)
            return i;
    return -1;
}

static Step make_step(const Doctest *d, const Block *block)
{
    Step step = { .session = block->kind == BLOCK_SESSION };
    Text code = { 0 };
    markdown_code(&d->md, block, &code);
    if (!step.session) {
        step.code = code;
        return step;
    }
    typed_text(&code, &step.code);
    text_free(&code);
    return step;
}

/* Sessions in a row are one: entries are counted through, and `ans` stays. */
static bool join_sessions(Step *first, Step *next)
{
    if (!first->session || !next->session)
        return false;
    size_t lines = 0;
    for (size_t i = 0; i < first->code.len; i++)
        lines += first->code.data[i] == '\n';
    first->before = lines;
    text_put(&first->code, next->code.data ? next->code.data : "", next->code.len);
    text_free(&next->code);
    return true;
}

/* What the block continues, and the block; -1: there is nothing to continue. */
static int collect_steps(const Doctest *d, long i, Step **steps)
{
    size_t chain = 1, count = 0;
    for (long k = i; k >= 0 && d->md.blocks[k].follow; k = before(d, k))
        chain++;
    long *blocks = app_alloc(chain * sizeof *blocks);
    *steps = app_alloc(chain * sizeof **steps);
    for (size_t n = chain; n-- > 0; i = i >= 0 ? before(d, i) : i)
        blocks[n] = i;
    bool whole = blocks[0] >= 0;
    for (size_t n = 0; whole && n < chain; n++) {
        Step step = make_step(d, &d->md.blocks[blocks[n]]);
        if (count == 0 || !join_sessions(&(*steps)[count - 1], &step))
            (*steps)[count++] = step;
    }
    free(blocks);
    return whole ? (int)count : -1;
}

static void judge(Doctest *d, const Block *block, Outcome *o, bool began)
{
    Text why = { 0 }, code = { 0 };
    if (broke_off(o, d->options, &why)) {
        fail(d, block->line, why.data, NULL, NULL);
    } else if (!began) {
        put_head(&why, o->err.len ? &o->err : &o->out, HEAD_LINES);
        fail(d, block->line, "the block that this one continues fails", &why, NULL);
    } else if (block->kind == BLOCK_SESSION) {
        markdown_code(&d->md, block, &code);
        judge_session(d, block, &code, o);
    } else {
        judge_program(d, block, o);
    }
    text_free(&why);
    text_free(&code);
}

/* Which block it is of those that are no output: 1, 2, … also when outputs were added. */
static size_t ordinal(const Doctest *d, long i)
{
    size_t n = 0;
    for (; i >= 0; i--)
        n += d->md.blocks[i].kind != BLOCK_TEXT;
    return n;
}

static void check_block(Doctest *d, long i)
{
    const Block *block = &d->md.blocks[i];
    Step *steps;
    Outcome o = { 0 };
    if (block->problem[0] && block->kind != BLOCK_OTHER) {
        fail(d, block->line, block->problem, NULL, NULL);
        return;
    }
    if (!block->closed && block->kind != BLOCK_OTHER) {
        fail(d, block->line, "this fence is never closed", NULL, NULL);
        return;
    }
    if (!runs(block))
        return;
    int count = collect_steps(d, i, &steps);
    if (count < 0) {
        fail(d, block->line, "there is no block before this one to continue", NULL, NULL);
    } else {
        bool began = block_run(d->app, steps, count, &o);
        o.before = steps[count - 1].before;
        judge(d, block, &o, began);
        if (writes(d))
            pictures_take(&d->pictures, o.folder.path, ordinal(d, i));
        block_forget(&o);
    }
    for (int k = 0; k < count; k++)
        text_free(&steps[k].code);
    free(steps);
}

/* ---- files ---- */
/* The page shows the document with its outputs, whether or not they are written into it. */
static void write_page(Doctest *d, const Text *text, const char *folder)
{
    Text page = { 0 };
    Markdown md = { .text = *text };
    markdown_parse(&md);
    html_page(&page, &md, d->path, folder, &d->pictures);
    if (!fd_whole_write(d->options->html, page.data, page.len)) {
        say_plain(stdout, "FAIL %s: cannot be written: %s\n", d->options->html, c_strerror(errno));
        d->failed++;
    }
    free(md.blocks);
    text_free(&page);
}

static void write_fixes(Doctest *d, const char *folder)
{
    Text out = { 0 };
    size_t at = 0;
    for (size_t i = 0; i < d->edit_count; i++) {
        text_put(&out, d->md.text.data + at, d->edits[i].from - at);
        text_put(&out, d->edits[i].text.data ? d->edits[i].text.data : "", d->edits[i].text.len);
        at = d->edits[i].to;
        text_free(&d->edits[i].text);
    }
    text_put(&out, d->md.text.data + at, d->md.text.len - at);
    if (d->options->html)
        write_page(d, &out, folder);
    if (d->options->fix && d->edit_count && !text_write(d->path, out.data, out.len)) {
        say_plain(stdout, "FAIL %s: cannot be written: %s\n", d->path, c_strerror(errno));
        d->failed += d->fixed;
        d->passed -= d->fixed;
    }
    d->edit_count = 0;
    d->fixed = 0;
    text_free(&out);
}

/* Where the document shows them. */
static void land_pictures(Doctest *d, const char *folder)
{
    for (size_t i = 0; i < d->pictures.count; i++) {
        const Picture *p = &d->pictures.items[i];
        bool shown = d->options->fix && picture_linked(p, &d->md.text);
        int landed = shown ? picture_land(p, folder) : 0;
        if (landed > 0)
            say_plain(stdout, "wrote %s beside %s\n", p->name, d->path);
        if (landed < 0)
            say_plain(stdout, "FAIL %s: %s cannot be written: %s\n", d->path, p->name,
                      c_strerror(errno));
        d->failed += landed < 0;
    }
}

static void check_file(void *with, const char *path)
{
    Doctest *d = with;
    const char *slash = strrchr(path, '/');
    Text beside = { 0 };
    text_printf(&beside, "%.*s", slash ? (int)(slash - path) + (slash == path) : 1,
                slash ? path : ".");
    char *folder = realpath(beside.data, NULL), *here = getcwd(NULL, 0);
    const char *look_in[] = { folder, here, NULL };
    d->app->look_in = folder && here ? look_in : look_in + 2;
    d->path = path;
    d->md = (Markdown){ 0 };
    if (!text_read(&d->md.text, path)) {
        say_plain(stdout, "FAIL %s: cannot be read: %s\n", path, c_strerror(errno));
        d->failed++;
    } else if (memchr(d->md.text.data, '\0', d->md.text.len)) {
        say_plain(stdout, "FAIL %s: is no text: it holds NUL bytes\n", path);
        d->failed++;
    } else {
        markdown_parse(&d->md);
        for (size_t i = 0; i < d->md.count; i++)
            check_block(d, (long)i);
        land_pictures(d, beside.data);
        write_fixes(d, beside.data);
    }
    pictures_free(&d->pictures);
    markdown_free(&d->md);
    text_free(&beside);
    free(folder);
    free(here);
}

int doctest_files(App *app)
{
    Doctest d = { .app = app, .options = &app->options, .colours = output_colours(STDOUT_FILENO) };
    if (!tempdir_make(&app->tempdir)) {
        fprintf(stderr, "ricci: cannot make a folder for the blocks: %s\n", c_strerror(errno));
        return STATUS_ERROR;
    }
    signals_remove(&app->tempdir);
    signals_leave();
    if (!files_each(app->names, app->name_count, ".md", check_file, &d))
        d.failed++;
    free(d.edits);
    tempdir_remove(&app->tempdir);
    printf("%s%d passed, %d failed%s\n", colour(&d, d.failed ? "\033[31m" : "\033[32m"), d.passed,
           d.failed, colour(&d, "\033[0m"));
    if (fflush(stdout) != 0)
        app_output_failed();
    return d.failed ? STATUS_ERROR : 0;
}
