/* The fenced code of a Markdown text, by the rules of CommonMark: a fence is three or more
 * backticks or tildes, closed by at least as many of the same; what stands in a longer fence is no
 * fence. Any indentation is allowed, as lists need it, and taken off the lines of the block. Says
 * nothing about what the code does. */
#include "interp/program/main.h"

#include "core/system/c_locale.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEAR_LINES = 2 };      /* a text block is the output of what ended this close above it */

typedef struct Line { size_t from, end, next; } Line;     /* end: without its newline */

static Line line_at(const Text *text, size_t from)
{
    const char *newline = memchr(text->data + from, '\n', text->len - from);
    size_t next = newline ? (size_t)(newline - text->data) + 1 : text->len;
    size_t end = newline ? next - 1 : next;
    if (end > from && text->data[end - 1] == '\r')
        end--;
    return (Line){ from, end, next };
}

/* How many marks open or close a fence here, and where what follows them begins; 0: none. */
static size_t fence_marks(const Text *text, Line line, char *mark, size_t *indent, size_t *after)
{
    size_t i = line.from;
    while (i < line.end && text->data[i] == ' ')
        i++;
    *indent = i - line.from;
    if (i == line.end || (text->data[i] != '`' && text->data[i] != '~'))
        return 0;
    *mark = text->data[i];
    size_t from = i;
    while (i < line.end && text->data[i] == *mark)
        i++;
    *after = i;
    /* Backticks in what follows: it is code within a line of prose. */
    bool prose = *mark == '`' && memchr(text->data + i, '`', line.end - i);
    return i - from >= 3 && !prose ? i - from : 0;
}

static BlockKind kind_of(const char *word)
{
    static const struct { const char *name; BlockKind kind; } kinds[] = {
        { "ricci", BLOCK_RICCI }, { "ricci-error", BLOCK_ERROR }, { "session", BLOCK_SESSION },
        { "text", BLOCK_TEXT } };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(word, kinds[i].name) == 0)
            return kinds[i].kind;
    return BLOCK_OTHER;
}

__attribute__((format(printf, 2, 0)))
static void complain(Block *block, const char *what, const char *word, const char *ours)
{
    c_snprintf(block->problem, sizeof block->problem, what, word, ours);
}

/* A word after the kind. Other tools have words of their own there: only what looks like a
 * slip of ours is complained about. */
static void read_word(Block *block, const char *word)
{
    static const char *const known[] = { "skip", "continue", "tolerance" };
    char *end = NULL, name[16];
    if (strcmp(word, "skip") == 0) {
        block->skip = true;
    } else if (strcmp(word, "continue") == 0) {
        block->follow = true;
    } else if (strncmp(word, "tolerance=", 10) == 0) {
        block->tolerance = c_strtod(word + 10, &end);
        if (end == word + 10 || *end || !(block->tolerance >= 0))
            complain(block, "`%.60s` needs a number that is not negative", word, "");
    } else {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
        const char *close = strlen(word) < sizeof name ? err_closest(name, known, 3) : NULL;
        if (close)
            complain(block, "`%.60s` after the fence: did you mean `%s`?", word, close);
    }
}

static void read_info(Block *block, const char *info, size_t n)
{
    char words[256], *rest = NULL;
    snprintf(words, sizeof words, "%.*s", (int)(n < sizeof words ? n : sizeof words - 1), info);
    char *word = strtok_r(words, " \t", &rest);
    block->tolerance = -1;
    block->output = -1;
    block->kind = word ? kind_of(word) : BLOCK_OTHER;
    while (block->kind != BLOCK_OTHER && (word = strtok_r(NULL, " \t", &rest)) != NULL)
        read_word(block, word);
}

static Block *add_block(Markdown *md)
{
    md->blocks = app_grow(md->blocks, md->count, &md->cap, sizeof *md->blocks);
    return &md->blocks[md->count++];
}

/* Only blank lines between the fences of code and its output. */
static bool blank_between(const Text *text, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (!strchr(" \t\r\n", text->data[i]))
            return false;
    return true;
}

void markdown_parse(Markdown *md)
{
    const Text *text = &md->text;
    Block *open = NULL;
    char mark = 0, other = 0;
    size_t number = 0, closed_line = 0, closed_end = 0, indent = 0, after = 0;
    md->crlf = text->len > 1 && memmem(text->data, text->len, "\r\n", 2) != NULL;
    for (size_t at = 0; at < text->len;) {
        Line line = line_at(text, at);
        size_t marks = fence_marks(text, line, &other, &indent, &after);
        number++;
        if (!open && marks) {
            open = add_block(md);
            *open = (Block){ .line = number, .from = line.next, .to = text->len, .indent = indent,
                             .fence = marks };
            read_info(open, text->data + after, line.end - after);
            mark = other;
            if (open->kind == BLOCK_TEXT && md->count > 1 && number - closed_line <= NEAR_LINES &&
                blank_between(text, closed_end, line.from))
                md->blocks[md->count - 2].output = (long)md->count - 1;
        } else if (open && marks >= open->fence && other == mark &&
                   blank_between(text, after, line.end)) {
            open->to = line.from;
            open->end = line.next;
            open->closed = true;
            open = NULL;
            closed_line = number;
            closed_end = line.next;
        }
        at = line.next;
    }
}

/* The lines of a block as they were meant: without the fence's indentation, and without \r. */
void markdown_code(const Markdown *md, const Block *block, Text *out)
{
    for (size_t at = block->from; at < block->to;) {
        Line line = line_at(&md->text, at);
        size_t from = line.from;
        while (from < line.end && from < line.from + block->indent && md->text.data[from] == ' ')
            from++;
        text_put(out, md->text.data + from, line.end - from);
        text_put(out, "\n", 1);
        at = line.next;
    }
}

void markdown_free(Markdown *md)
{
    text_free(&md->text);
    free(md->blocks);
    *md = (Markdown){ 0 };
}
