/* Several pictures in one. A panel is a function that draws: while its board is open, what it
 * draws comes to the board, in the place of its panel, instead of to the terminal. So figures are
 * drawn while they are whole, and nothing has to keep them. */
#include "builtins/pictures/picture_paper.h"
#include "builtins/pictures/picture_screen.h"
#include "builtins/rows/rows.h"
#include "core/base/error.h"
#include "interp/op/arith.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PANELS_MAX = 100, GAP = 2, LEAST_COLS = 24, LEAST_ROWS = 12 };

struct Board {
    Value functions;         /* a tuple */
    int count, columns;
    int at;                  /* the panel whose function runs */
    bool drawn, mute;        /* has it drawn? was all mute before? */
    Paper *paper;            /* of all panels; NULL: they are drawn in characters */
    Screen screen;
    int line, used;          /* where this row of panels begins, and how many lines it has */
    double width, height;    /* of a panel, in cells or the paper's units */
    double top;              /* of the first row of panels */
};

/* The board that is open, if one is. */
static const OpState board_kept = { sizeof(Board *), NULL };
static Board **board_open(Interp *in) { return op_state(in, &board_kept); }

static int board_rows(const Board *b) { return (b->count + b->columns - 1) / b->columns; }

/* ---- a panel ---- */

static void refuse_option(OpCall *c, const char *name)
{
    char help[64];
    int at = picture_arg(c, name);
    snprintf(help, sizeof help, "give panels %s=, and leave it out here", name);
    if (arg_given(c, at))
        arg_error_help(c, at, ERR_VALUE, help, "a panel has no %s of its own", name);
}

static void on_paper(OpCall *c, const Board *b, const Figure *f)
{
    Paper panel = { .lib = b->paper->lib, .pen = b->paper->pen, .call = c, .f = f,
                    .width = b->width, .height = b->height, .vector = b->paper->vector,
                    .svg = b->paper->svg, .u = paper_unit(b->width, b->height) };
    panel.lib->save(panel.pen);
    panel.lib->translate(panel.pen, b->at % b->columns * b->width,
                         b->top + b->at / b->columns * b->height);
    panel.lib->rectangle(panel.pen, 0, 0, b->width, b->height);
    panel.lib->clip(panel.pen);
    paper_figure(&panel);
    panel.lib->restore(panel.pen);
}

static void on_screen(OpCall *c, Board *b, const Figure *f)
{
    Screen panel = text_screen(c, f, (int)b->width, (int)b->height), *to = &b->screen;
    int left = b->at % b->columns * ((int)b->width + GAP);
    if (left == 0) {
        b->line += b->used;
        b->used = 0;
    }
    int rows = panel.rows < to->rows - b->line ? panel.rows : to->rows - b->line;
    int cols = panel.cols < to->cols - left ? panel.cols : to->cols - left;
    for (int i = 0; i < rows; i++)
        memcpy(to->cells + (b->line + i) * to->cols + left, panel.cells + i * panel.cols,
               (size_t)cols * sizeof(Cell));
    b->used = rows > b->used ? rows : b->used;
}

bool board_takes(OpCall *c, const Figure *f)
{
    Board *b = *board_open(c->in);
    if (!b)
        return false;
    refuse_option(c, "to");
    refuse_option(c, "size");
    if (c->in->out_mute && !b->mute)
        return true;
    if (b->drawn)
        err_raise_help(&c->in->ctx, ERR_VALUE,
                       "several series of one picture are a tuple: plot(x, (u, v))",
                       "panel %d has a picture already", b->at);
    b->drawn = true;
    Figure named = *f;
    const Tuple *t = b->functions.tuple;
    if (!*named.title && t->named && t->names[b->at])
        named.title = t->names[b->at]->text;
    if (b->paper)
        on_paper(c, b, &named);
    else
        on_screen(c, b, &named);
    return true;
}

/* ---- all of them ---- */

static void run_panel(OpCall *c, Board *b)
{
    Value *mark = c->in->sp;
    b->drawn = false;
    v_push(c->in, picture_call(c, b->functions.tuple->items[b->at], NULL, 0));
    stack_cut(c->in, mark);
    if (!b->drawn)
        arg_error(c, 0, ERR_VALUE, "panel %d draws nothing", b->at);
}

/* The board is closed where an error passes. */
static void run_panels(OpCall *c, Board *b)
{
    Ctx *ctx = &c->in->ctx;
    Board **open = board_open(c->in);
    ErrFrame frame;
    *open = b;
    if (!ERR_TRY(ctx, &frame)) {
        *open = NULL;
        err_rethrow(ctx);
    }
    for (; b->at < b->count; b->at++)
        run_panel(c, b);
    ERR_END(ctx, &frame);
    *open = NULL;
}

void board_page(const Board *b, int *width, int *height)
{
    *width = *width * 2 / 3 * b->columns;
    *height = *height * 2 / 3 * board_rows(b);
}

void board_paper(Paper *p)
{
    Board b = *p->f->board;
    double title = *p->f->title ? floor(34 * p->u) : 0;
    b.paper = p;
    b.top = title;
    b.width = floor(p->width / b.columns);
    b.height = floor(fmax(p->height - title, 1) / board_rows(&b));
    if (title > 0)
        paper_text(p, p->width / 2, 24 * p->u, p->f->title, 17 * p->u, ALIGN_CENTRE);
    run_panels(p->call, &b);
}

/* Panels stand beside each other as far as the width allows. */
static void place_on_screen(Board *b, const Figure *f, int cols, int rows)
{
    int asked = board_rows(b), fit = (cols + GAP) / (LEAST_COLS + GAP);
    b->columns = b->columns < fit ? b->columns : fit > 1 ? fit : 1;
    b->width = (cols + GAP) / b->columns - GAP;
    b->height = f->width ? rows / asked : fmin(fmax(round(b->width * 0.35), LEAST_ROWS), rows);
    b->width = fmax(b->width, SCREEN_LEAST_COLS);
    b->height = fmax(b->height, SCREEN_LEAST_ROWS);
}

void board_text(OpCall *c, const Figure *f, Buf *to)
{
    Board b = *f->board;
    int cols, rows;
    screen_size(c, f, &cols, &rows);
    place_on_screen(&b, f, cols, rows);
    cols = b.columns * ((int)b.width + GAP) - GAP;
    b.screen = screen_new(c, cols, (*f->title != 0) + board_rows(&b) * (int)b.height);
    if (*f->title) {
        int at = (cols - screen_width(&b.screen, f->title)) / 2;
        screen_text(&b.screen, at < 0 ? 0 : at, b.line++, f->title, NULL);
    }
    run_panels(c, &b);
    b.screen.rows = b.line + b.used;
    screen_write(c, &b.screen, to);
}

/* ---- the row ---- */

/* A picture that is there already was drawn as an argument: the help puts it into a function. */
static _Noreturn void no_function(OpCall *c, Value panels, uint32_t at)
{
    char given[96], help[240] = "a panel is a function that draws: () -> plot([1, 2])";
    Value v = panels.tuple->items[at];
    const char **parts = picture_written(c, arg_text(c, 0), (int)panels.tuple->count);
    int n = 0;
    for (uint32_t i = 0; parts && i < panels.tuple->count && n < (int)sizeof help; i++)
        n += snprintf(help + n, sizeof help - (size_t)n, "%s%s%s", i ? ", " : "panels((",
                      picture_callable(panels.tuple->items[i]) ? "" : "() -> ", parts[i]);
    if (n > 0 && n < (int)sizeof help)
        snprintf(help + n, sizeof help - (size_t)n, "%s))", panels.tuple->count == 1 ? "," : "");
    arg_error_help(c, 0, ERR_TYPE, n < (int)sizeof help ? help : NULL,
                   v.tag == V_NONE ? "panel %u is none: what draws at once is no function"
                                   : "panel %u is %s, and no function that draws",
                   at, v_article(v, given, sizeof given));
}

static void check_panels(OpCall *c, Value panels)
{
    char given[96];
    if (panels.tag != V_TUPLE)
        arg_error_help(c, 0, ERR_TYPE, "panels((() -> plot([1, 2]), () -> heat([1, 2; 3, 4])))",
                       "panels are a tuple of functions that draw, not %s",
                       v_article(panels, given, sizeof given));
    if (panels.tuple->count < 1 || panels.tuple->count > PANELS_MAX)
        arg_error(c, 0, ERR_VALUE, "there are %u panels; there must be from 1 to %d",
                  panels.tuple->count, PANELS_MAX);
    for (uint32_t i = 0; i < panels.tuple->count; i++)
        if (!picture_callable(panels.tuple->items[i]))
            no_function(c, panels, i);
}

Value op_run_panels(OpCall *c)
{
    Figure f = { .count = 0 };
    Board b = { .functions = c->args[0], .mute = c->in->out_mute };
    int columns = picture_arg(c, "columns");
    if (*board_open(c->in))
        err_raise(&c->in->ctx, ERR_VALUE, "panels do not stand in a panel");
    check_panels(c, c->args[0]);
    picture_options(c, &f);
    b.count = (int)c->args[0].tuple->count;
    int64_t wanted = arg_given(c, columns) ? arg_int(c, columns) : (int64_t)ceil(sqrt(b.count));
    if (wanted < 1)
        arg_error(c, columns, ERR_VALUE, "columns=%lld; there must be one at least",
                  (long long)wanted);
    b.columns = wanted < b.count ? (int)wanted : b.count;
    f.board = &b;
    picture_show(c, &f);
    return v_none();
}
