/* What draws on paper shares: picture_page.c places the parts, picture_paper.c draws marks and
 * words. Both call a table of cairo's functions, which are cairo's own (picture_cairo.c) or those
 * of picture_svg.c, which write SVG. */
#ifndef RICCI_BUILTINS_PICTURE_PAPER_H
#define RICCI_BUILTINS_PICTURE_PAPER_H

#include "builtins/pictures/picture.h"

typedef struct CairoPen CairoPen;
typedef struct CairoSurface CairoSurface;
typedef struct CairoPattern CairoPattern;
typedef int (*CairoWrite)(void *, const unsigned char *, unsigned);
typedef struct CairoExtents { double x_bearing, y_bearing, width, height, x_advance, y_advance;
                              } CairoExtents;

typedef struct Cairo {
#define ROUTINE(id, result, name, proto) result (*id) proto;
#include "builtins/pictures/cairo.def"
#undef ROUTINE
} Cairo;

enum { CROWD = 32 };
typedef struct Paper {
    const Cairo *lib;
    CairoPen *pen;
    OpCall *call;
    const Figure *f;
    double width, height;
    double u;                /* one unit of line widths and letters */
    bool vector;             /* a file of shapes, not of pixels */
    struct Svg *svg;         /* NULL: cairo draws */
    View frame;
    Ticks xt, yt, st;
    CellBins bins;           /* of a pattern of entries */
    double bar_width;        /* of the scale with its labels; 0: none */
    float crowd[CROWD][CROWD];   /* how much was drawn where, for the legend */
} Paper;

typedef enum Align { ALIGN_LEFT, ALIGN_CENTRE, ALIGN_RIGHT } Align;

double paper_unit(double width, double height);
void paper_page(Paper *);    /* all of it */
void paper_figure(Paper *);  /* one figure, on a white ground */
/* Text with raised digits set as exponents. */
double paper_text_width(Paper *, const char *, double size);
void paper_text(Paper *, double x, double y, const char *, double size, Align);
void paper_color(Paper *, Rgb, double alpha);
void paper_series(Paper *);
void paper_cells(Paper *);
void paper_legend(Paper *);
/* The colours of the scale in a box. */
void paper_bar(Paper *, double x, double y, double width, double height);

/* Panels on paper (picture_panels.c). */
void board_paper(Paper *);

/* ---- what cairo's table has no words for (picture_svg.c) ---- */
typedef struct Svg Svg;
/* Letters stay letters: runs of one <text>, aligned by who shows it. */
void svg_text_begin(Svg *, double x, double y, double size, Align);
void svg_text_run(Svg *, const char *run, double size, bool raised);
void svg_text_end(Svg *);
/* An image of cols × rows pixels over a rectangle; index 0 is blank. */
void svg_image(Svg *, const View *, const uint8_t *index, int cols, int rows, const Rgb *palette);

#endif
