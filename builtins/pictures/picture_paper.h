/* What the two halves of the cairo renderer share: picture_cairo.c finds the library, opens
 * surfaces and places the parts; picture_paper.c draws marks and words on them. */
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
    View frame;
    Ticks xt, yt, st;
    double bar_width;        /* of the scale with its labels; 0: none */
    float crowd[CROWD][CROWD];   /* how much was drawn where, for the legend */
} Paper;

typedef enum Align { ALIGN_LEFT, ALIGN_CENTRE, ALIGN_RIGHT } Align;

/* Text with raised digits set as exponents. */
double paper_text_width(Paper *, const char *, double size);
void paper_text(Paper *, double x, double y, const char *, double size, Align);
void paper_color(Paper *, Rgb, double alpha);
void paper_series(Paper *);
void paper_cells(Paper *);
void paper_legend(Paper *);
/* The colours of the scale in a box. */
void paper_bar(Paper *, double x, double y, double width, double height);

#endif
