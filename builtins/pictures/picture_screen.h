/* A rectangle of character cells with colours, and a canvas of dots inside of it: what
 * picture_text.c draws on. Nothing here knows of figures. */
#ifndef RICCI_BUILTINS_PICTURE_SCREEN_H
#define RICCI_BUILTINS_PICTURE_SCREEN_H

#include "builtins/pictures/picture.h"

typedef struct Cell {
    uint32_t ch;             /* 0: the second half of a wide character */
    Rgb fg, bg;
    bool has_fg, has_bg;
} Cell;

typedef enum ColorDepth { DEPTH_NONE, DEPTH_256, DEPTH_TRUE } ColorDepth;

typedef struct Screen {
    int cols, rows;
    Cell *cells;             /* rows × cols */
    ColorDepth depth;
    bool ascii;
} Screen;

enum { SCREEN_LEAST_COLS = 16, SCREEN_LEAST_ROWS = 6 };
Screen screen_new(OpCall *, int cols, int rows);         /* blank; lives as long as the call */
/* How many columns and rows a picture may take in the terminal. */
void screen_size(OpCall *, const Figure *, int *cols, int *rows);
/* A figure in characters (picture_text.c), on about so many. */
Screen text_screen(OpCall *, const Figure *, int cols, int rows);
void screen_char(Screen *, int col, int row, uint32_t ch, const Rgb *ink);
/* Text from col on, cut at the right edge; its width. Control characters are replaced. */
int screen_text(Screen *, int col, int row, const char *text, const Rgb *ink);
int screen_width(const Screen *, const char *text);
void screen_write(OpCall *, const Screen *, Buf *to);    /* to NULL: printed */
ColorDepth screen_depth(const Interp *);

/* Dots in the cells from (left, top) on: 2×4 in each as braille, 1×2 in ASCII. */
typedef struct Canvas {
    Screen *screen;
    int left, top, cols, rows;
    int dx, dy;              /* dots per cell */
    uint8_t *dots;           /* a mask per cell */
    Rgb ink;
} Canvas;

Canvas canvas_new(OpCall *, Screen *, int left, int top, int cols, int rows);
void canvas_dot(Canvas *, int x, int y);
void canvas_line(Canvas *, int x0, int y0, int x1, int y1);
/* A character over the cell of a dot. */
void canvas_mark(Canvas *, int x, int y, uint32_t ch);

#endif
