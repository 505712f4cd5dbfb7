/* What the files behind printing share: decimal digits of floats, the layout of tensors,
 * quoted strings. Callers outside interp/show, format.c and repl.c need only the
 * show_* functions of interp.h and those at the end. */
#ifndef RICCI_INTERP_SHOW_H
#define RICCI_INTERP_SHOW_H

#include "interp/state/interp.h"

#include <limits.h>

void show_value(Interp *, Buf *, Value);         /* print(x) */
void show_repr(Interp *, Buf *, Value);          /* repr(x): reads back */
void show_echo(Interp *, Buf *, Value);          /* the REPL's echo: header, quoted strings */
/* Python's format spec: "{x:.3e}". Raises ERR_VALUE for a spec that x does not have. */
void format_value(Interp *, Buf *, Value, const char *spec, size_t len);
/* Shortest decimal that reads back in dtype dt, always with a point or exponent. */
void show_float(Buf *, double, DType);

enum { SHOW_WIDTH = 80, SHOW_DIGITS = 5 };    /* cells of a line where there is no terminal */

/* ---- decimals (show_float.c) ---- */
typedef enum DecimalKind { DECIMAL_FINITE, DECIMAL_INF, DECIMAL_NAN } DecimalKind;

/* A number as 0.d1d2…dn × 10^point; zero has count 0. */
typedef struct Decimal {
    DecimalKind kind;
    bool negative;
    int count, point;
    char digits[24];
} Decimal;

#define DECIMAL_TEXT_MAX 48

/* Significand bits of a binary format and the exponent of its smallest subnormal. */
void decimal_format(DType, int *bits, int *least);
/* The shortest decimal that reads back as x in format dt (and the closest of those). */
void decimal_shortest(Decimal *, double x, DType dt);
/* The same, or x correctly rounded to `digits` significant ones (1 … 17) if that is shorter. */
void decimal_rounded(Decimal *, double x, DType dt, int digits);
/* Text with a point or an exponent: fixed notation where 10^low <= |x| < 10^high
 * (high <= 17), an exponent elsewhere. Returns the length; out holds DECIMAL_TEXT_MAX. */
int decimal_text(char *out, const Decimal *, int low, int high);
/* 10^k for -324 <= k <= 324 as 128 bits with the top one set, the upper 64 first; what is behind
 * them is cut off, or (up) counts as one more. */
void decimal_power_bits(int k, bool up, uint64_t out[2]);
/* ---- elements of tensors ---- */
/* A number is cut where its shortest decimal has more than `digits` digits (a whole number
 * below 1e10 is none of them). The cut numbers of a column end at one place: the one that gives
 * the largest of them `digits` digits, less the zeros that all of them end in then. What is below
 * one unit of the place has an exponent and CUT_SMALL digits. All of them have exponents where the
 * largest needs one. */
enum { CUT_SMALL = 2, CUT_NOTHING = INT_MIN };
/* Of one column: where the first digit of its largest cut number stands (the exponent of
 * 0.d1d2…) and that of the others, and the decimals that are no zeros in all of its cut numbers.
 * Beside larger numbers, tiny ones end where those would be cut. */
typedef struct CutPart { int point, other, decimals; } CutPart;

bool decimal_is_cut(const Decimal *, int digits);
int decimal_uncut_text(char *out, const Decimal *, int digits);
/* The point of a cut number once it is rounded to `digits` digits. */
int decimal_cut_point(const Decimal *, int digits);
typedef struct Cut {
    int digits, place;       /* place: decimals of the cut numbers, at least 1 */
    bool exponent;
} Cut;
Cut decimal_cut(int point, int digits);
static inline bool decimal_is_small(const Decimal *d, Cut c)
{
    return !c.exponent && d->point + c.place < 1;
}
void cut_settle(CutPart *, int digits);         /* when all numbers were looked at */
void cut_point_of(CutPart *, const Decimal *, int digits);                 /* looks at one */
int decimal_cut_text(char *out, double x, const Decimal *, Cut);       /* all its zeros included */
/* Decimals of a text of n bytes up to its last one that is no zero; without those behind `keep`
 * (-1: its own zeros), the new length. */
int decimal_decimals(const char *text, int n);
int decimal_trim(char *text, int n, int keep);
/* How an element prints in such a column, or (NULL) alone. */
int decimal_element_text(char *out, double x, DType dt, int digits, const CutPart *);

/* The floating dtype of the parts of dt: f32 for c64, f64 for c128, else dt. */
static inline DType show_part(DType dt) { return dtype_real(dt); }

/* ---- decimal, mp, interval (show_number.c) ---- */
bool show_is_number(DType);              /* is dt one of them? */
/* As an element of a tensor prints in such a column (NULL: alone); an interval's bounds are
 * rounded outwards. */
void show_number_element(Buf *, DType, const void *cell, int digits, const CutPart *);
/* What the column has in common, with this number in it: its points, and, once all of them were
 * looked at, its decimals. */
void show_number_look(CutPart *, Buf *scratch, DType, const void *cell, int digits, bool decimals);
/* Reads back where a cast to dt stands around it; what is not plain holds that cast itself. */
void show_number_repr(Buf *, DType, const void *cell);
bool show_number_plain(Buf *scratch, DType, const void *cell);
/* |x| of a finite decimal or mp number by a format spec: type 0 e E f F g G n %, precision -1 where
 * none is written. Returns the digits before the point. */
typedef struct NumberSpec { char type; int precision; bool alternate; } NumberSpec;
size_t show_number_magnitude(Buf *, DType, const void *cell, const NumberSpec *);

/* One element in full: ints, bools, shortest floats, complex numbers. */
void show_element(Buf *, DType, const void *element);
/* The text between the quotes of a literal that reads back, quotes included. */
void show_quoted(Buf *, const char *text, size_t len);

/* ---- elements as the options say (show_cell.c) ---- */
/* What the cut numbers of a column have in common, real and imaginary parts: found by looking at
 * all its elements twice, for their points and then for their decimals. */
typedef struct CutColumn { CutPart part[2]; } CutColumn;
#define CUT_PART_EMPTY { CUT_NOTHING, CUT_NOTHING, 0 }
#define CUT_COLUMN_EMPTY ((CutColumn){ { CUT_PART_EMPTY, CUT_PART_EMPTY } })
void cut_look(CutColumn *, Buf *scratch, const ShowOptions *, DType, const void *element,
              bool decimals);
void cut_settled(CutColumn *, const ShowOptions *);        /* between the two */
static inline bool cut_any(const CutColumn *c)
{
    return c->part[0].point != CUT_NOTHING || c->part[1].point != CUT_NOTHING;
}
/* In an empty column the element stands alone; column NULL: a scalar, all digits of a float. */
void show_cell(Buf *, const ShowOptions *, const CutColumn *column, DType, const void *element);
/* A scalar: all its digits, in the notation of the options. */
void show_scalar(Buf *, const ShowOptions *, DType, const void *element);
void show_int(Buf *, const ShowOptions *, int64_t);
bool show_is_zero(DType, const void *element);       /* exactly, and not -0 */

/* The zeros that format(dots=true) writes as ·: outside the band of a matrix (a triangle is one),
 * all of them where they are at least half of it, none of a matrix of zeros. */
typedef struct Zeros { bool any, all; int64_t below, above; } Zeros;
/* of the matrix that starts there */
Zeros zeros_find(Interp *, const Tensor *, const char *base);
static inline bool zeros_structural(const Zeros *z, int64_t i, int64_t j)
{
    return z->any && (z->all || i - j > z->below || j - i > z->above);
}

/* ---- tensors (show_tensor.c) ---- */
/* The lines of a tensor in options.width cells (0: SHOW_WIDTH) and options.height lines (0: no
 * limit). `stream`: what is ready may be written at once, since out is Interp.out and nobody
 * holds a place in it. */
void show_tensor(Interp *, Buf *, const Tensor *, const ShowOptions *, bool stream);
/* `2×2 f32`, `vector of 3 i64`, `1×3 f64 covector`, `3×3 f64, sparse, 4 entries (44 %)`; of one of
 * entries, what is shown begins with it. */
void show_tensor_header(Buf *, const Tensor *);
/* Text that reads back to the same elements, shape and dtype. */
void show_tensor_repr(Interp *, Buf *, const Tensor *);
/* The same layout with each element written by `cell`: format specs on tensors. */
typedef void (*ShowCell)(void *arg, Buf *, DType, const void *element);
void show_tensor_cells(Interp *, Buf *, const Tensor *, ShowCell cell, void *arg);

void show_sparse_header(Buf *, const Tensor *);
void show_sparse_repr(Interp *, Buf *, const Tensor *);     /* sparse([0], [1], [2.0], (3, 3)) */

/* ---- LaTeX (show_latex.c) ---- */
void show_latex(Interp *, Buf *, Value, const ShowOptions *);
void latex_text(Buf *, const char *text, size_t len);  /* \text{…}, escaped */

/* ---- several forms (show_display.c) ---- */
struct Display;
void show_display(Interp *, struct Display *, Value);  /* the echo, and what suits a page */

/* ---- reports (show_fold.c) ---- */
/* The lines from `from` on that are wider than `width` cells (0: no limit) go on in the next. */
void show_fold(Buf *, size_t from, int width);

/* ---- callers outside ---- */
/* What print writes, in the format that format("latex") and so on set; show_value (interp.h) is
 * always plain: what programs make of values never depends on that. stream: as show_tensor. */
void show_print(Interp *, Buf *, Value, bool stream);
int show_column(const Buf *);                       /* cells on the last line of what out holds */
/* format("latex"): false if there is no mode of that name. */
bool show_set_style(Interp *, const char *name);
extern const char *const show_style_names;          /* for messages */
/* format(digits=n): significant digits inside tensors. Raises ERR_VALUE outside 1 … 17. */
void show_check_digits(Interp *, int64_t digits);

/* ---- complex numbers of decimal, mp, rational and interval (show_pair.c) ---- */
/* A part of one: its real dtype, its cell, and whether a minus stands before it, and not in it. */
typedef struct ShowPart { DType dtype; _Alignas(16) char cell[16]; bool minus; } ShowPart;
ShowPart show_pair_part(DType, const void *element, int which);
/* `1.0-0.5i`, `1/3+2i/3`, `[1.0, 2.0]+[0.5, 0.6]i`; column NULL: with all digits. */
void show_pair(Buf *, const ShowOptions *, const CutColumn *, DType, const void *element);
/* What reads back in a scope of the real format. */
void show_pair_repr(Buf *, DType, const void *element, bool conjugate);
/* The byte where the imaginary part starts, with its sign; n: there is none. */
size_t show_sign_between(const char *text, size_t n);

#endif
