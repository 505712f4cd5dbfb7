/* A picture before anybody draws it: series, cells, two axes, a scale of colours, words. The rows
 * (picture.c) make a Figure of their arguments, renderers draw it: picture_text.c in characters,
 * picture_page.c on paper and pixels. A Figure borrows everything: elements belong to tensors and
 * text to strings on the value stack of the call that draws. */
#ifndef RICCI_BUILTINS_PICTURE_H
#define RICCI_BUILTINS_PICTURE_H

#include "interp/op/op.h"
#include "kernels/sparse/sparse.h"

/* ---- axes and their ticks (picture_axis.c, picture_ticks.c) ---- */
typedef struct Axis {
    double lo, hi;           /* what is seen, lo < hi, both finite; positive when log */
    bool log, flipped;       /* flipped: lo is at the top (rows of a matrix) */
    bool whole;              /* ticks at whole numbers only: subscripts */
    const char *label;       /* "" if none */
    const char *const *names;/* of 0, 1, 2, …, in the place of numbers; NULL: none */
    int name_count;
    /* a power of two: hi * unit - lo * unit neither overflows nor is lost */
    double unit;
    double log_lo, log_hi;
} Axis;

enum { TICKS_MAX = 40, TICK_TEXT = 28 };
typedef struct Tick { double at; char text[TICK_TEXT]; } Tick;
typedef struct Ticks {
    int count, minor_count;
    int exponent;            /* the texts are to be multiplied by 10^exponent */
    Tick tick[TICKS_MAX];
    double minor[TICKS_MAX * 9];
} Ticks;

/* lo and hi as they are to be seen: swapped, equal, tiny or huge ones are made a range that
 * has room for ticks. */
void axis_fix(Axis *);
/* Where v lies: 0 at lo, 1 at hi. */
double axis_fraction(const Axis *, double v);
/* About `wanted` ticks inside the axis, none outside. */
void axis_ticks(const Axis *, int wanted, Ticks *);
/* `wanted` nice numbers inside (lo, hi), for levels: returns how many. */
int nice_levels(double lo, double hi, int wanted, double *out, int cap);
/* A number of few digits for legends and bars: 0.25, 1e-5. */
void tick_number(char out[TICK_TEXT], double v);
/* 10^e in Unicode's raised digits, and ×10^e beside an axis. */
void tick_factor(char out[TICK_TEXT], int e);

/* ---- colours (picture_map.c) ---- */
typedef struct Rgb { uint8_t r, g, b; } Rgb;
typedef enum ColorMap { MAP_VIRIDIS, MAP_DIVERGING, MAP_GREY, MAPS } ColorMap;
Rgb map_color(ColorMap, double t);               /* t in [0, 1] */
bool map_find(const char *name, ColorMap *);
extern const char *const map_names[MAPS];

/* Of a series, light enough for a dark terminal, or dark enough for paper. */
enum { STYLES = 8 };
Rgb style_color(int style, bool paper);

/* ---- marks ---- */
typedef enum MarkKind { MARK_LINE, MARK_POINTS, MARK_BARS, MARK_LEVEL, MARK_COLUMNS } MarkKind;

typedef struct Series {
    MarkKind kind;
    const double *x;         /* NULL: 0, 1, 2, … ; of bars n + 1 edges, ascending */
    const double *y;
    int64_t n, sx, sy;       /* elements, strides */
    int64_t gaps;            /* elements that are nan on purpose: jumps of a function */
    const char *label;       /* "" if none */
    int style;               /* which colour, dash and marker */
    bool sampled;            /* of a function: its whole range is shown */
    bool points;             /* a line with a marker at each of its points */
    const double *error[2];  /* how far y may lie below and above; NULL: not said */
    const double *band[2];   /* from here to there an area is shaded; NULL: none */
    const char *const *words;/* of each point; NULL: none */
    const double *tip[2];    /* x and y of where an arrow from each point ends; NULL: none */
    double width, shift;     /* MARK_COLUMNS: of a column; its middle is so far from x */
    double level;            /* MARK_LEVEL: its lines have this height, and nan between them */
} Series;

/* A matrix as coloured cells, or as the places of what is not zero. */
typedef struct Cells {
    const double *z;
    int64_t rows, cols;
    bool pattern;
    double tol;              /* pattern: what counts as zero */
    const Csr *entries;      /* z has the values of these alone (NULL: all elements); pattern */
} Cells;
/* Of a pattern of entries, how many are in each of rows × cols blocks: all are found at once. */
typedef struct CellBins {
    int64_t rows, cols;
    const uint32_t *count;
    uint32_t most;           /* of one block */
    int64_t full;            /* blocks with any */
} CellBins;
/* Which of n elements part p of so many shows: [*from, *from + *count). */
void cells_part(int64_t n, int64_t parts, int64_t part, int64_t *from, int64_t *count);
/* The mean of a block's finite elements (nan: it has none); of a pattern, how many are not zero. */
double cells_block(const Cells *, int64_t row, int64_t rows, int64_t col, int64_t cols);
/* How the entries are spread over a picture of down × across dots; NULL bins.count: c has all
 * elements. An axis shorter than that has a block for each index. */
CellBins cells_bins(OpCall *, const Cells *, int64_t down, int64_t across);
/* Those of dot (i, j). */
uint32_t cells_bin(const CellBins *, int64_t i, int64_t down, int64_t j, int64_t across);

typedef struct Scale {       /* what the colours mean */
    Axis axis;
    ColorMap map;
    bool bar;
} Scale;
/* The colour of a value; false: it has none. */
bool scale_color(const Scale *, double v, Rgb *out);

typedef struct Figure {
    Interp *in;
    Axis x, y;
    Series *series;
    int count;
    Series *notes;           /* of words and arrows alone: no colour, no place in the legend */
    int note_count;
    Cells cells;             /* z NULL: none */
    Scale scale;
    const char *title;
    bool equal;              /* one unit is as long on both axes */
    bool legend;
    int width, height;       /* size=; 0: the renderer's own */
    const struct Board *board;   /* NULL, or the figure is panels, and has nothing else but words */
} Figure;

/* Do colours stand for numbers in it? */
bool figure_has_scale(const Figure *);

/* Points on their way to a device: one polyline per run of finite points inside the frame.
 * `to` draws from where the last call was, unless `start`. */
typedef struct View {        /* the frame in the device's units, y downwards */
    double left, top, width, height;
    double column;           /* points of one column of so many units are merged: 0, none */
} View;
typedef void (*PathSink)(void *arg, double x, double y, bool start);
double view_x(const View *, const Axis *, double v);
double view_y(const View *, const Axis *, double v);
/* The series as polylines clipped to the view; of each column only the first, lowest, highest and
 * last point (Jugel, Jerzak, Hackenbroich, Markl: M4, PVLDB 7(10), 2014), which leaves the picture
 * as it is. */
void series_path(const Figure *, const Series *, const View *, PathSink, void *arg);
/* Where a column begins, in units of y: at 0, or at the foot of a logarithmic axis. */
double column_foot(const Figure *);
/* Each point that has no neighbour to draw a line to. */
void series_lonely(const Figure *, const Series *, const View *, PathSink, void *arg);
/* The part of what lies between lo[i] and hi[i] that is inside the view, for every point or, of
 * very many, for each column of the view: x, top and bottom in its units. */
typedef void (*SpanSink)(void *arg, double x, double top, double bottom, bool start);
void series_spans(const Figure *, const Series *, const View *, bool error, SpanSink, void *arg);
/* The words and the arrow of a point. */
typedef struct Word {
    const char *text;        /* NULL: none that is seen */
    double x, y;             /* of the point */
    int side;                /* the text stands left (-1) or right (1) of it, or on it (0) */
    bool arrow, head;        /* is a part of the arrow seen? its tip? */
    double from[2], to[2];   /* what is seen of the arrow */
} Word;
typedef void (*WordSink)(void *arg, const Word *);
/* All words and arrows that are inside the view; `note`: there is nothing else at the points. */
void series_words(const Figure *, const Series *, const View *, bool note, WordSink, void *arg);
/* Every point inside the view. */
void series_points(const Figure *, const Series *, const View *, PathSink, void *arg);

/* ---- contours (picture_contour.c) ---- */
typedef struct Field {
    const double *z, *x, *y; /* x of cols, y of rows elements */
    int64_t rows, cols;
} Field;
/* A piece of z = level inside one square of samples, and the edges of it that the ends lie on. */
typedef struct Piece { double end[2][2]; int64_t edge[2]; } Piece;
typedef struct PieceEnd { int64_t edge, end; } PieceEnd;
/* Writes the pieces (NULL: none) and returns how many there are. */
int64_t contour_pieces(Interp *, const Field *, double level, Piece *out);
/* Joins n pieces: points x, y in xy, a line after the other, nan behind each; returns how many.
 * There must be room for 2 n ends, 2 n numbers in `other`, and 3 n points. */
int64_t contour_lines(const Piece *, int64_t n, PieceEnd *ends, int64_t *other, double *xy);

/* ---- arguments (picture_data.c) ---- */
int picture_arg(const OpCall *, const char *name);       /* -1: the row has no such parameter */
void *picture_room(OpCall *, size_t count, size_t bytes);/* zeroed, lives as long as the call */
/* A tensor of real numbers as f64 on the host, contiguous, kept; `what` names it in errors. */
Tensor *picture_numbers(OpCall *, Value, const char *what, int arg);
/* The parts of `(a, b)` or `[a, b]'` as the user wrote them: NULL unless there are n. */
const char **picture_written(OpCall *, const char *text, int n);
bool picture_callable(Value);
Value picture_call(OpCall *, Value f, const Value *args, int count);
/* x and y of a row as series: see ?plot. */
void picture_series(OpCall *, Figure *, MarkKind);
void picture_bars(OpCall *, Figure *, bool named);
void picture_groups(OpCall *, Figure *, int arg);
/* ---- layers, errors and bands (picture_layers.c) ---- */
/* Is it a tuple of series that say themselves what they look like? */
bool picture_is_layers(Value);
/* Such a tuple as series; x (V_UNDEF: the subscripts) for those that have none. */
void picture_layers(OpCall *, Figure *, MarkKind, Value layers, Value x, int arg);
/* error= and band= of a row, which belong to its one series. */
void picture_errors(OpCall *, Figure *);
/* Gives the columns of all series their widths and places. */
void picture_columns(Figure *);
/* y= of a layer or row as numbers, of a function its values. */
Tensor *picture_heights(OpCall *, Value y, Tensor *x, const char *what, int arg);
void picture_labels(OpCall *, Figure *);
/* Title, labels, limits, size, log. */
void picture_options(OpCall *, Figure *);
/* Ranges of the axes from the series; says what was left out. */
void picture_ranges(OpCall *, Figure *, double margin_x, double margin_y);
void picture_limits(OpCall *, Figure *);

/* ---- panels (picture_panels.c) ---- */
typedef struct Board Board;
/* Does the figure come to a board that is open? Then it is drawn there. */
bool board_takes(OpCall *, const Figure *);
void board_text(OpCall *, const Figure *, Buf *to);
/* A page for panels, from the page of one picture. */
void board_page(const Board *, int *width, int *height);

/* ---- renderers ---- */
void picture_show(OpCall *, const Figure *);             /* to= or the terminal */
void picture_text(OpCall *, const Figure *, Buf *to);    /* to NULL: printed */
/* In all forms that a page may have: see interp/output/display.h. */
void picture_display(OpCall *, const Figure *);
void picture_file(OpCall *, const Figure *, const char *path);
/* The picture as PNG, or as pixels (0xAARRGGBB, width × height): false where cairo is missing. */
bool picture_png(OpCall *, const Figure *, int width, int height, Buf *out);
bool picture_pixels(OpCall *, const Figure *, int width, int height, uint32_t *pixels);
/* The picture as SVG: needs no library. */
void picture_svg(OpCall *, const Figure *, double width, double height, Buf *out);
void picture_base64(Buf *out, const uint8_t *data, size_t n);
/* On a terminal that shows images: true if it was drawn. */
bool picture_image(OpCall *, const Figure *);

/* One character of a label: what steers a terminal or is no text becomes a replacement. */
uint32_t picture_next(const char *text, size_t *at);
/* The plain form of a raised digit or minus; 0: it is neither. */
uint32_t picture_lowered(uint32_t);
size_t picture_utf8(char out[4], uint32_t);
bool picture_ascii(void);                                /* is the locale not UTF-8? */

#endif
