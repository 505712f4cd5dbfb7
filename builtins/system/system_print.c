/* print: values one after the other. Matrices beside each other, or behind a label, stand
 * as blocks side by side, as on paper; a block that does not fit the line starts a new one. */
#include "builtins/strings/text.h"

#include "interp/gradient/gradient.h"
#include "interp/output/output.h"
#include "interp/show/show.h"
#include <string.h>

enum { BLOCKS_MAX = 64 };        /* more arguments than these are printed in a row */

/* The text of one argument on its way to the page. */
typedef struct Block {
    const char *line;            /* next line of it */
    const char *end;
    int width;                   /* of its widest line */
    bool tall;                   /* more than one line */
} Block;

static void put_text(Interp *in, Buf *out, void *v)
{
    show_print(in, out, *(Value *)v, false);
}

static bool may_be_tall(Value v)
{
    return (v.tag == V_TENSOR && v.tensor->rank >= 2) || v.tag == V_TUPLE;
}

static size_t line_length(const Block *b)
{
    const char *newline = memchr(b->line, '\n', (size_t)(b->end - b->line));
    return (size_t)((newline ? newline : b->end) - b->line);
}

static Block block_of(const Str *text)
{
    Block b = { .line = text->text, .end = text->text + text->len };
    b.tall = memchr(text->text, '\n', text->len) != NULL;
    for (Block at = b; at.line <= at.end; at.line += line_length(&at) + 1) {
        int width = text_width(at.line, line_length(&at));
        if (width > b.width)
            b.width = width;
    }
    return b;
}

static void write_spaces(Interp *in, int n)
{
    buf_fill(&in->out, ' ', (size_t)(n > 0 ? n : 0));
}

/* Blocks first … last-1 line by line; blanks are written only before something. */
static void write_band(Interp *in, Block *blocks, int first, int last, const Str *sep)
{
    for (bool more = true, top = true; more; top = false) {
        more = false;
        int behind = 0;
        if (!top)
            out_write(in, "\n", 1);
        for (int i = first; i < last; i++) {
            Block *b = &blocks[i];
            if (i > first && top) {
                write_spaces(in, behind);
                behind = 0;
                out_write(in, sep->text, sep->len);
            } else if (i > first) {
                behind += text_width(sep->text, sep->len);
            }
            size_t n = b->line <= b->end ? line_length(b) : 0;
            if (n > 0) {
                write_spaces(in, behind);
                behind = 0;
                out_write(in, b->line, n);
            }
            behind += b->width - (n > 0 ? text_width(b->line, n) : 0);
            b->line += b->line <= b->end ? n + 1 : 0;
            more |= b->line <= b->end;
        }
    }
}

static void print_blocks(OpCall *c, const Str *sep)
{
    Interp *in = c->in;
    int n = c->count - c->fixed, first = 0, gap = text_width(sep->text, sep->len), used = 0;
    int room = in->show.width > 0 ? in->show.width : SHOW_WIDTH;
    bool tall = false;
    Block blocks[BLOCKS_MAX];
    for (int i = 0; i < n; i++) {
        Value text = text_build(in, put_text, &c->args[c->fixed + i]);
        v_push(in, text);
        blocks[i] = block_of(text.str);
        tall |= blocks[i].tall;
    }
    for (int i = 0; i < n; i++) {
        int width = blocks[i].width + (i > first ? gap : 0);
        if ((tall || in->show.width > 0) && i > first && used + width > room) {
            bool margin = i == first + 1 &&
                          (int)strspn(blocks[first].line, " ") >= blocks[first].width;
            if (!margin) {
                write_band(in, blocks, first, i, sep);
                out_write(in, "\n", 1);
            }
            first = i;
            used = width = blocks[i].width;
        }
        used += width;
    }
    write_band(in, blocks, first, n, sep);
}

/* Blocks are for values; a string with line breaks of its own is printed as it is. */
static bool wants_blocks(const OpCall *c)
{
    bool tall = false;
    if (c->in->show.style == SHOW_LATEX)
        return false;
    for (int i = c->fixed; i < c->count; i++) {
        Value v = c->args[i];
        if (v.tag == V_STRING && memchr(v.str->text, '\n', v.str->len))
            return false;
        tall |= may_be_tall(v);
    }
    return tall && c->count - c->fixed > 1 && c->count - c->fixed <= BLOCKS_MAX;
}

/* Is there too little left of a terminal's line for a vector or a tuple? It starts a new one. */
static bool is_crowded(const Interp *in, Value v)
{
    enum { LEAST = 24 };
    bool several = v.tag == V_TENSOR && v.tensor->rank > 0 && v.tensor->size > 1;
    return (several || v.tag == V_TUPLE) && in->show.width > LEAST &&
           show_column(&in->out) > in->show.width - LEAST;
}

/* The separator at `at` becomes the end of a line where the value behind it, which takes one line,
 * would run over the edge of the terminal. */
static void break_line(Interp *in, size_t at, size_t separator)
{
    Buf *out = &in->out;
    if (in->show.width == 0 || separator == 0 || out->len < at + separator ||
        memchr(out->data + at, '\n', out->len - at) || show_column(out) <= in->show.width)
        return;
    out->data[at] = '\n';
    memmove(out->data + at + 1, out->data + at + separator, out->len - at - separator);
    out->len -= separator - 1;
}

/* sep NULL: the first one. */
static void print_one(Interp *in, Value v, const Str *sep)
{
    if (sep && is_crowded(in, v))
        out_write(in, "\n", 1);
    else if (sep)
        out_write(in, sep->text, sep->len);
    if (v.tag == V_STRING) {
        out_write(in, v.str->text, v.str->len);
        return;
    }
    size_t from = in->out.len;
    show_print(in, &in->out, v, true);
    if (sep && from >= sep->len)
        break_line(in, from - sep->len, sep->len);
}

/* Matrices stand side by side whatever is remembered of them. */
static void take_plain(OpCall *c)
{
    Value *args = c->in->sp;
    stack_room(c->in, (size_t)c->count + 16);
    for (int i = 0; i < c->count; i++)
        v_push(c->in, value_detached_all(c->in, c->args[i]));
    c->args = args;
}

Value op_run_print(OpCall *c)
{
    Interp *in = c->in;
    if (traced_on(in))
        take_plain(c);
    Str *sep = arg_given(c, 0) ? arg_str(c, 0) : NULL,
        *end = arg_given(c, 1) ? arg_str(c, 1) : NULL;
    if (!sep) {
        sep = str_new(&in->ctx, " ", 1);
        v_push(in, v_str(sep));
    }
    if (!out_begins(in))
        return v_none();
    output_measure_window(in);
    if (wants_blocks(c) && !memchr(sep->text, '\n', sep->len)) {
        print_blocks(c, sep);
    } else {
        for (int i = c->fixed; i < c->count; i++)
            print_one(in, c->args[i], i > c->fixed ? sep : NULL);
    }
    out_write(in, end ? end->text : "\n", end ? end->len : 1);
    return v_none();
}
